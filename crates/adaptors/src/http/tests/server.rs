//! A server that does what a script says, connection by connection, in a thread of its own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// One step of a scripted connection.
#[derive(Debug, Clone)]
pub enum Step {
    /// Reads a request's head.
    Head,
    /// Reads so many bytes.
    Bytes(usize),
    /// Writes; the peer may have gone.
    Say(Vec<u8>),
    /// Writes the same until the peer goes (at most 64 MiB).
    SayForEver(&'static [u8]),
    /// Writes a byte every few milliseconds until the peer goes (at most a minute).
    Trickle,
    /// Waits for the peer to close (at most a minute).
    AwaitClose,
    /// Waits.
    Sleep(Duration),
    /// Closes with a reset.
    Reset,
}

pub fn say(text: &str) -> Step {
    Step::Say(text.as_bytes().to_vec())
}

/// The same steps so many times.
pub fn times(count: usize, steps: Vec<Step>) -> Vec<Step> {
    std::iter::repeat_n(steps, count).flatten().collect()
}

/// What takes longer is no slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Head, then an answer.
pub fn answer(text: &str) -> Vec<Step> {
    vec![Step::Head, say(text)]
}

pub struct Server {
    pub port: u16,
    /// Connections to which nothing more comes: those that were closed, and those that wait for the peer to close.
    over: Arc<AtomicUsize>,
    /// Bytes that have trickled.
    trickled: Arc<AtomicUsize>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Server {
    /// Serves one connection after the other by its script; then no more are taken.
    pub fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicUsize::new(0));
        let trickled = Arc::new(AtomicUsize::new(0));
        let counts = (Arc::clone(&over), Arc::clone(&trickled));
        let thread = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for script in scripts {
                let (stream, _) = listener.accept().unwrap();
                heard.push(play(stream, &script, &counts.0, &counts.1));
            }
            heard
        });
        Self { port, over, trickled, thread }
    }

    /// Until nothing more comes to so many connections, and the runtime has heard of all that came.
    pub async fn until_over(&self, connections: usize) {
        loop {
            let has_ended = self.thread.is_finished();
            if self.over.load(Ordering::Acquire) >= connections {
                break;
            }
            assert!(!has_ended, "the server ended before");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// The same without the runtime, which hears of nothing meanwhile.
    pub fn wait_until_over(&self, connections: usize) {
        loop {
            let has_ended = self.thread.is_finished();
            if self.over.load(Ordering::Acquire) >= connections {
                break;
            }
            assert!(!has_ended, "the server ended before");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Until so many bytes have trickled, and the runtime has heard of them.
    pub async fn until_trickled(&self, bytes: usize) {
        while self.trickled.load(Ordering::Acquire) < bytes {
            assert!(!self.thread.is_finished(), "the server ended before");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// What each connection's client sent.
    pub fn heard(self) -> Vec<Vec<u8>> {
        self.thread.join().unwrap()
    }
}

fn play(mut stream: TcpStream, script: &[Step], over: &AtomicUsize, trickled: &AtomicUsize) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut heard = Vec::new();
    for step in script {
        match step {
            Step::Head => read_head(&mut stream, &mut heard),
            Step::Bytes(count) => read_exactly(&mut stream, *count, &mut heard),
            Step::Say(bytes) => drop(stream.write_all(bytes)),
            Step::SayForEver(bytes) => {
                let block = bytes.repeat(65_536 / bytes.len());
                for _ in 0..1024 {
                    if stream.write_all(&block).is_err() {
                        break;
                    }
                }
            }
            Step::Trickle => {
                for _ in 0..PATIENCE.as_millis() / 5 {
                    if stream.write_all(b"x").is_err() {
                        break;
                    }
                    trickled.fetch_add(1, Ordering::AcqRel);
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            Step::AwaitClose => {
                over.fetch_add(1, Ordering::Release);
                let mut rest = [0; 4096];
                while stream.read(&mut rest).is_ok_and(|count| count > 0) {}
            }
            Step::Sleep(time) => std::thread::sleep(*time),
            Step::Reset => rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap(),
        }
    }
    drop(stream);
    if !script.iter().any(|step| matches!(step, Step::AwaitClose)) {
        over.fetch_add(1, Ordering::Release);
    }
    heard
}

/// Reads up to and with the empty line that ends a head.
pub fn read_head(stream: &mut impl Read, heard: &mut Vec<u8>) {
    let start = heard.len();
    let mut byte = [0];
    while !heard[start..].ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => heard.push(byte[0]),
            _ => return,
        }
    }
}

pub fn read_exactly(stream: &mut impl Read, count: usize, heard: &mut Vec<u8>) {
    let start = heard.len();
    heard.resize(start + count, 0);
    let mut got = 0;
    while got < count {
        match stream.read(&mut heard[start + got..]) {
            Ok(0) | Err(_) => break,
            Ok(more) => got += more,
        }
    }
    heard.truncate(start + got);
}
