//! `cosmark serve`: the embedded store, or a simulated one with known behaviour, until Ctrl-C.

use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, SimStore};

use crate::args::ServeArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::read_text;
use crate::signals;

/// The variable that gives the secret key.
const SECRET: &str = "COSMARK_SERVE_SECRET";

/// Runs the subcommand.
pub fn run(args: &ServeArgs) -> Outcome {
    crate::host::raise_open_files();
    match &args.behaviour {
        Some(_) => simulated(args),
        None => embedded(args),
    }
}

fn embedded(args: &ServeArgs) -> Outcome {
    // Before anybody knows where the store is, and then ends it.
    let until_ended = signals::listen()?;
    let given = std::env::var(SECRET).ok().filter(|secret| !secret.is_empty());
    // Who gave it knows it; a screen, a log or a journal need not.
    let shown = given.as_ref().map(|_| format!("${SECRET}"));
    let store = EmbeddedStore::start(Options {
        bind: args.listen,
        allow_remote: args.allow_remote,
        directory: args.directory.clone(),
        access_key: args.access_key.clone(),
        secret_key: given,
        max_bytes: None,
    })
    .map_err(|error| Problem::usage(error.to_string()))?;
    println!("endpoint:   {}", store.endpoint());
    println!("access key: {}", store.access_key());
    println!("secret key: {}", shown.as_deref().unwrap_or_else(|| store.secret_key()));
    println!("objects in: {}", store.directory().display());
    println!("Ctrl-C stops it; try: cosmark quick s3+{}", url_with_keys(&store, shown.as_deref()));
    until_ended();
    store.stop().map_err(|error| Problem::ours(error.to_string()))?;
    Ok(Exit::Done)
}

fn url_with_keys(store: &EmbeddedStore, shown: Option<&str>) -> String {
    let escape = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let secret = shown.map_or_else(|| escape(store.secret_key()), str::to_owned);
    let keys = format!("http://{}:{secret}@", escape(store.access_key()));
    store.endpoint().replacen("http://", &keys, 1)
}

fn simulated(args: &ServeArgs) -> Outcome {
    let Some(file) = &args.behaviour else { return Ok(Exit::Usage) };
    let text = read_text(file)?;
    let shown = file.display();
    let behaviour =
        Behaviour::from_yaml(&text).map_err(|error| Problem::usage(format!("{shown}: {error}")))?;
    if !args.allow_remote && !args.listen.ip().is_loopback() {
        let text =
            format!("{} can be reached by other machines; say --allow-remote if that is meant", args.listen);
        return Err(Problem::usage(text));
    }
    let until_ended = signals::listen()?;
    let store = SimStore::start(behaviour, &args.listen.to_string())
        .map_err(|error| Problem::usage(error.to_string()))?;
    println!("simulated S3 and Swift store at {}", store.url());
    println!("any key is accepted unless the behaviour names keys; Swift login at {}/auth/v1.0", store.url());
    until_ended();
    if let Ok(counters) = store.counters() {
        println!("{} requests answered", counters.total());
    }
    store.stop();
    Ok(Exit::Done)
}
