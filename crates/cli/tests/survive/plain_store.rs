//! A store of names over HTTP (RFC 9112): it keeps what is written, forgets what is deleted, and lists nothing.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Kept {
    names: BTreeSet<String>,
    deletes: usize,
}

/// Lives as long as the process of the test.
pub struct PlainStore {
    pub url: String,
    kept: Arc<Mutex<Kept>>,
}

impl PlainStore {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&shared);
                std::thread::spawn(move || while answer(&stream, &kept).is_some() {});
            }
        });
        Self { url, kept }
    }

    /// Somebody else writes an object.
    pub fn put(&self, path: &str) {
        self.kept.lock().unwrap().names.insert(path.to_owned());
    }

    pub fn names(&self) -> Vec<String> {
        self.kept.lock().unwrap().names.iter().cloned().collect()
    }

    /// Requests to delete so far.
    pub fn deleted(&self) -> usize {
        self.kept.lock().unwrap().deletes
    }
}

/// Reads one request and answers it; `None` when the connection is over.
fn answer(mut stream: &TcpStream, kept: &Mutex<Kept>) -> Option<()> {
    // Nobody sends a request before the last one was answered: nothing is lost with the buffer.
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0_u64;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|bytes| *bytes > 0)?;
        let (name, value) = header.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
        if header.trim().is_empty() {
            break;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    let there = {
        let mut kept = kept.lock().unwrap();
        match method.as_str() {
            "PUT" => {
                kept.names.insert(path);
                true
            }
            "DELETE" => {
                kept.deletes += 1;
                kept.names.remove(&path)
            }
            _ => kept.names.contains(&path),
        }
    };
    let status = if there { "200 OK" } else { "404 Not Found" };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok()
}
