//! The client against scripted servers on real sockets, each telling one kind of lie.

mod bodies;
mod lies;
mod reuse;
mod secure;
mod server;
#[cfg(target_os = "linux")]
mod wire_time;

use std::future::Future;
use std::sync::Arc;

use cosmark_adaptor_api::{Marks, Result, Settings};

use super::*;

/// Runs a test's client side on a runtime like the engine's: one thread.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn endpoint(url: &str, entries: &[(&str, &str)]) -> Arc<Endpoint> {
    let (settings, problems) = Settings::parse(TRANSPORT_KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    Endpoint::new(url, &settings).unwrap()
}

fn connection(port: u16) -> Connection {
    Connection::new(&endpoint(&format!("http://127.0.0.1:{port}"), &[]))
}

const GET: &[u8] = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n";

async fn get(connection: &mut Connection, marks: &mut Marks) -> Result<Answer> {
    connection.exchange(Request::new(GET), Take::Discard, marks).await
}

fn put_head(length: u64) -> Vec<u8> {
    format!("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}
