//! Tests only: an HTTP server on threads of its own that answers what the test scripted. It checks nothing by itself; the
//! test looks at the requests that came.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What to answer.
#[derive(Clone)]
pub(crate) struct Script {
    answer: Vec<u8>,
}

impl Script {
    /// These bytes.
    pub(crate) fn answer(bytes: impl Into<Vec<u8>>) -> Self {
        Self { answer: bytes.into() }
    }

    /// Status, header lines (each with its CR LF) and a body.
    pub(crate) fn status(status: &str, lines: &str, body: &str) -> Self {
        Self::answer(format!("HTTP/1.1 {status}\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// The answer to a HEAD request: the length without the body.
    pub(crate) fn head(status: &str, length: u64) -> Self {
        Self::answer(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n"))
    }
}

type Handler = dyn Fn(&str) -> Script + Send + Sync;

struct Shared {
    handler: Box<Handler>,
    requests: Mutex<Vec<String>>,
    done: AtomicBool,
}

/// A running server.
pub(crate) struct Scripted {
    port: u16,
    shared: Arc<Shared>,
}

/// Serves the answers in the order of the requests; further requests get status 599.
pub(crate) fn serve(scripts: Vec<Script>) -> Scripted {
    let scripts = Mutex::new(VecDeque::from(scripts));
    serve_with(move |_| {
        scripts.lock().unwrap().pop_front().unwrap_or_else(|| Script::status("599 Off Script", "", ""))
    })
}

/// Serves what `handler` makes of each request (head and body as text).
pub(crate) fn serve_with(handler: impl Fn(&str) -> Script + Send + Sync + 'static) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let shared = Arc::new(Shared {
        handler: Box::new(handler),
        requests: Mutex::default(),
        done: AtomicBool::new(false),
    });
    let accepting = Arc::clone(&shared);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if accepting.done.load(Ordering::SeqCst) {
                return;
            }
            let shared = Arc::clone(&accepting);
            let stream = stream.unwrap();
            std::thread::spawn(move || converse(stream, &shared));
        }
    });
    Scripted { port, shared }
}

impl Scripted {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests that came so far, head and body as text.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.shared.done.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// A URL where nothing listens.
pub(crate) fn closed_port_url(path: &str) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}{path}")
}

fn converse(mut stream: TcpStream, shared: &Shared) {
    // Ends the thread of a client that neither asks nor goes.
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    while let Some(request) = read_request(&mut stream) {
        shared.requests.lock().unwrap().push(request.clone());
        let script = (shared.handler)(&request);
        if stream.write_all(&script.answer).is_err() {
            return;
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        // A TLS hello: no request, but it wants an answer.
        if bytes.first() == Some(&0x16) {
            return Some("TLS".to_owned());
        }
        if let Some(end) = complete(&bytes) {
            bytes.truncate(end);
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
        }
    }
}

/// Where the request ends, by its `Content-Length` or its last chunk.
fn complete(bytes: &[u8]) -> Option<usize> {
    let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        let last = bytes[head_end..].windows(5).position(|window| window == b"0\r\n\r\n")?;
        return Some(head_end + last + 5);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
    (bytes.len() >= head_end + length).then_some(head_end + length)
}
