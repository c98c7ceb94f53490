//! Serves a behaviour file until it is interrupted: `serve [BEHAVIOUR.yaml|-] [ADDRESS]`.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::path::Path;

use cosmark_simstore::{Behaviour, SimStore};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let behaviour = match args.next().as_deref() {
        None | Some("-") => Behaviour::default(),
        Some(file) => Behaviour::from_file(Path::new(file))?,
    };
    let address = args.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let store = SimStore::start(behaviour, &address)?;
    println!("{}", store.url());
    if let Some(certificate) = store.certificate() {
        println!("{certificate}");
    }
    loop {
        std::thread::park();
    }
}
