//! One name for several machines: results are told apart by the address, over drivers whose resolvers know different ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bed::{Bed, assert_sums_are_those_of_the_logs};
use crate::clocks::library;

/// Takes every write; counts them, and the connections that brought any.
#[derive(Default)]
struct Counts {
    writes: AtomicU64,
    connections: AtomicU64,
}

fn serve(listener: TcpListener) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    let shared = Arc::clone(&counts);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counts = Arc::clone(&shared);
            std::thread::spawn(move || {
                let mut wrote = false;
                while let Some(is_write) = answer(&stream) {
                    counts.writes.fetch_add(u64::from(is_write), Ordering::Relaxed);
                    if is_write && !wrote {
                        wrote = true;
                        counts.connections.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    counts
}

/// Whether the next request is a write; `None` at the end of the connection.
fn answer(mut stream: &TcpStream) -> Option<bool> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let is_write = line.starts_with("PUT ");
    let mut length = 0;
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n").ok()?;
    Some(is_write)
}

/// The same port on three addresses of this machine.
fn three_stores() -> (u16, [Arc<Counts>; 3]) {
    loop {
        let first = TcpListener::bind("127.0.0.2:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let others = ["127.0.0.3", "127.0.0.4"].map(|host| TcpListener::bind((host, port)));
        if let [Ok(second), Ok(third)] = others {
            return (port, [first, second, third].map(serve));
        }
    }
}

fn knowing(mut command: Command, library: &Path, addresses: &str) -> Command {
    command.env("LD_PRELOAD", library).env("PLANTED_NAME", "store.test").env("PLANTED_ADDRESSES", addresses);
    command
}

#[test]
fn a_name_that_stands_for_several_addresses_is_several_endpoints_on_all_drivers() {
    let mut bed = Bed::new(0);
    let library = library(bed.path(), "names.c");
    // Each in an order of its own, and one of the addresses is known to both.
    for (number, addresses) in [(1, "127.0.0.3 127.0.0.2"), (2, "127.0.0.4 127.0.0.3")] {
        let command = knowing(bed.driver_command(number, &[]), &library, addresses);
        bed.start_driver_by(command, number);
    }
    let (port, stores) = three_stores();
    // Two works: what the first asks of the name, the second need not.
    let work = |name: &str| {
        format!(
            "  - {{name: {name}, workers: 8, total_ops: 160, pace: {{rate_per_worker: 10/s}}, operations: [{{type: write, containers: c(1), \
             objects: 'u(1,100)', sizes: c(1)KB}}]}}\n"
        )
    };
    let text = format!(
        "name: names\nstorage: {{type: s3, endpoint: 'http://store.test:{port}', accesskey: a, secretkey: s, path_style_access: true}}\n\
         stages:\n- name: main\n  works:\n{}{}",
        work("one"),
        work("two")
    );
    std::fs::write(bed.path().join("names.yaml"), text).unwrap();
    let mut run = bed.start_run("names.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    let run = bed.run();
    assert_sums_are_those_of_the_logs(&run);
    let operations = &run.record.stages[0].operations;
    let of = |host: u8, sums: fn(&cosmark_archive::EndpointResult) -> u64| -> u64 {
        let name = format!("store.test:{port} (127.0.0.{host})");
        let all = operations.iter().flat_map(|operation| &operation.endpoints);
        all.filter(|endpoint| endpoint.endpoint == name).map(sums).sum()
    };
    for (host, store) in (2..).zip(&stores) {
        let told = (of(host, |one| one.sums.ok), of(host, |one| one.connections));
        let true_ones = (store.writes.load(Ordering::Relaxed), store.connections.load(Ordering::Relaxed));
        assert!(true_ones.0 > 0, "127.0.0.{host} was never asked");
        assert_eq!(told, true_ones, "127.0.0.{host}: {operations:#?}");
    }
    assert!(operations.iter().all(|operation| operation.endpoints.len() == 3), "{operations:#?}");
    assert_eq!(operations.iter().map(|operation| operation.ok).sum::<u64>(), 320);
}
