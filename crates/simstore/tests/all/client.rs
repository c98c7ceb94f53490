//! The smallest HTTP client that can see everything: it reads answers byte by byte and believes nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use cosmark_simstore::{Behaviour, Handle, SimStore};

/// Starts a store with this behaviour in YAML on a free port.
pub fn store(yaml: &str) -> Handle {
    SimStore::start(Behaviour::from_yaml(yaml).unwrap(), "127.0.0.1:0").unwrap()
}

/// Starts a store that has the bucket `bkt`.
pub fn with_bucket(yaml: &str) -> (Handle, Client) {
    let handle = store(yaml);
    let mut client = Client::new(handle.addr());
    assert_eq!(client.ask("PUT /bkt").status, 200);
    (handle, client)
}

/// Starts a store that has the bucket `bkt` and the object `key` of this length; its rules come into force
/// afterwards, so that they count only what the test does.
pub fn with_object(yaml: &str, length: usize) -> (Handle, Client, Vec<u8>) {
    let handle = store("");
    let mut client = Client::new(handle.addr());
    assert_eq!(client.ask("PUT /bkt").status, 200);
    let body = pattern(length);
    assert_eq!(client.send("PUT /bkt/key", &[], &body).status, 200);
    handle.set_behaviour(Behaviour::from_yaml(yaml).unwrap()).unwrap();
    handle.clear().unwrap();
    (handle, client, body)
}

pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + i / 256) as u8).collect()
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The body had the length that was stated, or its last chunk.
    pub whole: bool,
    /// How the connection broke, if it did.
    pub broken: Option<ErrorKind>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The text between the first tags of this name.
    pub fn tag(&self, name: &str) -> String {
        self.tags(name).into_iter().next().unwrap_or_else(|| panic!("no <{name}> in {}", self.text()))
    }

    pub fn tags(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        text.split(&open)
            .skip(1)
            .filter_map(|rest| rest.split_once(&close))
            .map(|(t, _)| t.to_owned())
            .collect()
    }
}

pub struct Client<S = TcpStream> {
    stream: S,
    buffer: Vec<u8>,
}

impl Client {
    pub fn new(addr: SocketAddr) -> Client {
        let stream = TcpStream::connect(addr).unwrap();
        // Far beyond any scripted wait: it only keeps a failing test from hanging.
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: Vec::new() }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

impl<S: Read + Write> Client<S> {
    #[cfg(feature = "tls")]
    pub fn over(stream: S) -> Client<S> {
        Client { stream, buffer: Vec::new() }
    }

    /// Writes bytes as they are; a store that hung up already is no failure of the client.
    pub fn raw(&mut self, bytes: &[u8]) {
        let _hung_up = self.stream.write_all(bytes);
    }

    /// A request without body and without further header fields; `line` is `METHOD /path`.
    pub fn ask(&mut self, line: &str) -> Reply {
        self.send(line, &[], b"")
    }

    pub fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.raw(&request(line, headers, body));
        self.reply(line.starts_with("HEAD "))
    }

    /// Reads more; `None` when the connection ended or broke.
    fn more(&mut self) -> Result<bool, ErrorKind> {
        let mut part = [0; 64 * 1024];
        match self.stream.read(&mut part) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.buffer.extend_from_slice(&part[..count]);
                Ok(true)
            }
            Err(error) => Err(error.kind()),
        }
    }

    /// Everything until the connection ends or breaks, or until there are so many bytes.
    pub fn rest(&mut self, most: usize) -> (Vec<u8>, Option<ErrorKind>) {
        let mut broken = None;
        while self.buffer.len() < most {
            match self.more() {
                Ok(true) => {}
                Ok(false) => break,
                Err(kind) => {
                    broken = Some(kind);
                    break;
                }
            }
        }
        (std::mem::take(&mut self.buffer), broken)
    }

    /// Whether the store closes the connection now without another byte.
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !matches!(self.more(), Ok(true))
    }

    /// Reads an answer; status 0 if the connection ended or broke before its headers were complete.
    pub fn reply(&mut self, to_head: bool) -> Reply {
        let mut reply =
            Reply { status: 0, headers: Vec::new(), body: Vec::new(), whole: false, broken: None };
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            match self.more() {
                Ok(true) => {}
                Ok(false) => return reply,
                Err(kind) => {
                    reply.broken = Some(kind);
                    return reply;
                }
            }
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        reply.status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        reply.headers =
            lines.map(|l| l.split_once(": ").unwrap()).map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        if reply.status == 100 {
            return reply;
        }
        let bodiless = to_head || reply.status == 204 || reply.status == 304;
        if bodiless {
            reply.whole = true;
        } else if reply.header("transfer-encoding") == Some("chunked") {
            self.chunks(&mut reply);
        } else {
            let length: usize = reply.header("content-length").unwrap().parse().unwrap();
            self.until(length, &mut reply);
            reply.body = self.take(length);
            reply.whole = reply.body.len() == length;
        }
        reply
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let count = count.min(self.buffer.len());
        self.buffer.drain(..count).collect()
    }

    /// Reads until there are so many bytes; `false` if the connection ended before.
    fn until(&mut self, count: usize, reply: &mut Reply) -> bool {
        while self.buffer.len() < count {
            match self.more() {
                Ok(true) => {}
                Ok(false) => return false,
                Err(kind) => {
                    reply.broken = Some(kind);
                    return false;
                }
            }
        }
        true
    }

    fn chunks(&mut self, reply: &mut Reply) {
        loop {
            let line = loop {
                if let Some(at) = self.buffer.iter().position(|b| *b == b'\n') {
                    break self.take(at + 1);
                }
                if !self.until(self.buffer.len() + 1, reply) {
                    return;
                }
            };
            let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
            let there = self.until(size + 2, reply);
            let mut data = self.take(size + 2);
            data.truncate(size);
            reply.body.extend(data);
            if !there {
                return;
            }
            if size == 0 {
                reply.whole = true;
                return;
            }
        }
    }
}

pub fn request(line: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("{line} HTTP/1.1\r\nHost: test\r\n");
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    let framed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"));
    if !framed && (!body.is_empty() || line.starts_with("PUT") || line.starts_with("POST")) {
        out.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    out
}
