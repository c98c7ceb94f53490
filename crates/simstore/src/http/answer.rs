//! Writes answers: quickly when they are sound, piece by piece when the script wants them paced or harmed.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::sock::{Sock, arm_reset};
use super::text::{push_http_date, push_number};
use crate::behaviour::ResetAt;
use crate::clock::Clock;
use crate::content::Slice;
use crate::rules::{Faults, Pace};
use crate::timer::Timer;

/// The body of an answer.
#[derive(Default)]
pub(crate) enum Payload {
    #[default]
    None,
    /// Made for this answer: listings, errors.
    Text(Vec<u8>),
    /// Part of an object, shared with the store.
    Object(Slice),
}

impl Payload {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Payload::None => 0,
            Payload::Text(text) => text.len() as u64,
            Payload::Object(slice) => slice.len(),
        }
    }

    /// Bytes from this place on, as many as lie together; empty only at the end.
    fn at(&self, place: u64) -> &[u8] {
        match self {
            Payload::None => &[],
            Payload::Text(text) => &text[(place as usize).min(text.len())..],
            Payload::Object(slice) => slice.at(place),
        }
    }
}

/// An answer before it is written. Reused from request to request.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Header lines, each with its end.
    pub(crate) headers: Vec<u8>,
    pub(crate) payload: Payload,
    /// Length to state when there is no payload: that of the object a HEAD asked about.
    pub(crate) head_length: Option<u64>,
    /// Version of the object that the answer is about; 0 if it is about none.
    pub(crate) version: u64,
    pub(crate) container: Option<Arc<str>>,
    pub(crate) object: Option<Arc<str>>,
    /// A rule that shaped the content (staleness).
    pub(crate) rule: Option<Arc<str>>,
}

impl Answer {
    pub(crate) fn clear(&mut self) {
        let mut headers = std::mem::take(&mut self.headers);
        headers.clear();
        *self = Answer { status: 200, headers, ..Answer::default() };
    }

    /// Adds a header line. Values come from request headers (which hold no line ends) or from us.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        self.headers.extend_from_slice(name.as_bytes());
        self.headers.extend_from_slice(b": ");
        self.headers.extend_from_slice(value.as_bytes());
        self.headers.extend_from_slice(b"\r\n");
    }

    /// Adds a header line with a number.
    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.headers.extend_from_slice(name.as_bytes());
        self.headers.extend_from_slice(b": ");
        push_number(&mut self.headers, value);
        self.headers.extend_from_slice(b"\r\n");
    }

    /// Adds a header line with a date.
    pub(crate) fn date(&mut self, name: &str, unix_s: u64) {
        self.headers.extend_from_slice(name.as_bytes());
        self.headers.extend_from_slice(b": ");
        push_http_date(&mut self.headers, unix_s);
        self.headers.extend_from_slice(b"\r\n");
    }
}

/// The reason phrase of a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        416 => "Requested Range Not Satisfiable",
        417 => "Expectation Failed",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        507 => "Insufficient Storage",
        _ => "Status",
    }
}

/// How the length of a body is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framed {
    Length(u64),
    Chunked,
    /// No body by definition (204, 304).
    Nothing,
}

/// Renders the head of an answer.
pub(crate) fn render(out: &mut Vec<u8>, answer: &Answer, unix_s: u64, framed: Framed, close: bool) {
    out.extend_from_slice(b"HTTP/1.1 ");
    push_number(out, u64::from(answer.status));
    out.push(b' ');
    out.extend_from_slice(reason(answer.status).as_bytes());
    out.extend_from_slice(b"\r\nServer: simstore\r\nDate: ");
    push_http_date(out, unix_s);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&answer.headers);
    match framed {
        Framed::Length(length) => {
            out.extend_from_slice(b"Content-Length: ");
            push_number(out, length);
            out.extend_from_slice(b"\r\n");
        }
        Framed::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        Framed::Nothing => {}
    }
    if close {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// How the sending of an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole answer was handed to the kernel.
    Done,
    /// The script ended the answer early and closed the connection.
    Cut,
    /// The script reset the connection.
    Reset,
    /// The client went away.
    Gone,
}

impl Outcome {
    /// The name used in logs.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Cut => "cut",
            Outcome::Reset => "reset",
            Outcome::Gone => "gone",
        }
    }
}

/// When an answer left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Just before the write that carried the headers.
    pub(crate) headers_ns: u64,
    /// Just after the last write.
    pub(crate) end_ns: u64,
    /// Bytes of body content handed to the kernel.
    pub(crate) body: u64,
    pub(crate) outcome: Outcome,
}

/// Largest single write.
const PIECE: u64 = 1 << 20;

/// One answer on its way.
pub(crate) struct Sender<'a, S> {
    pub(crate) sock: &'a mut S,
    pub(crate) timer: &'a Timer,
    pub(crate) clock: Clock,
    /// Time of the last sign of life.
    pub(crate) alive: &'a Cell<u64>,
    pub(crate) head: &'a [u8],
    pub(crate) payload: &'a Payload,
    /// Length of the body to send; 0 for answers to HEAD.
    pub(crate) length: u64,
}

impl<S: Sock> Sender<'_, S> {
    /// Sends a sound answer with as few writes as possible.
    pub(crate) async fn send(mut self) -> Sent {
        let headers_ns = self.clock.now_ns();
        let mut body = 0;
        let outcome = match self.whole(&mut body).await {
            Ok(()) => Outcome::Done,
            Err(_) => Outcome::Gone,
        };
        Sent { headers_ns, end_ns: self.clock.now_ns(), body, outcome }
    }

    async fn whole(&mut self, body: &mut u64) -> io::Result<()> {
        let mut head = self.head;
        while !head.is_empty() || *body < self.length {
            let piece = piece(self.payload, *body, self.length - *body);
            let slices = [IoSlice::new(head), IoSlice::new(piece)];
            let slices = if head.is_empty() { &slices[1..] } else { &slices[..] };
            let written = self.sock.write_vectored(slices).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            if (written as u64) < head.len() as u64 + self.length - *body {
                self.alive.set(self.clock.now_ns());
            }
            let of_head = written.min(head.len());
            head = &head[of_head..];
            *body += (written - of_head) as u64;
        }
        if S::PLAIN { Ok(()) } else { self.sock.flush().await }
    }

    /// Sends an answer that is paced or harmed.
    pub(crate) async fn send_scripted(
        mut self,
        faults: &Faults,
        pace: Option<Pace>,
        reset: Option<ResetAt>,
    ) -> Sent {
        if reset == Some(ResetAt::Reply) {
            let now_ns = self.clock.now_ns();
            arm_reset(self.sock.tcp());
            return Sent { headers_ns: now_ns, end_ns: now_ns, body: 0, outcome: Outcome::Reset };
        }
        let headers_ns = self.clock.now_ns();
        let mut body = 0;
        let outcome = match self.pieces(faults, pace, reset, headers_ns, &mut body).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Gone,
        };
        if outcome == Outcome::Reset {
            arm_reset(self.sock.tcp());
        }
        Sent { headers_ns, end_ns: self.clock.now_ns(), body, outcome }
    }

    async fn pieces(
        &mut self,
        faults: &Faults,
        pace: Option<Pace>,
        reset: Option<ResetAt>,
        headers_ns: u64,
        body: &mut u64,
    ) -> io::Result<Outcome> {
        if let Some(text) = &faults.garbage {
            self.write(&[text.as_bytes(), b"\r\n\r\n"].concat()).await?;
            return Ok(Outcome::Cut);
        }
        if let Some(limit) = faults.endless_limit {
            return self.endless(limit).await;
        }
        self.write(self.head).await?;
        let stop = match reset {
            Some(ResetAt::Headers) => 0,
            Some(ResetAt::Body) => self.length / 2,
            _ => faults.stop_at.unwrap_or(self.length).min(self.length),
        };
        let pace = pace.unwrap_or_default();
        let start_ns = headers_ns + pace.first_byte_ns;
        let size = piece_size(faults, &pace);
        let mut number = 0;
        while *body < stop {
            let piece = piece(self.payload, *body, size.min(stop - *body));
            if piece.is_empty() {
                return Err(io::ErrorKind::WriteZero.into());
            }
            number += 1;
            let end = *body + piece.len() as u64;
            if let Some((_, every_ns)) = faults.trickle {
                self.sleep_until(start_ns + number * every_ns).await;
            } else if let Some(per_s) = pace.download_per_s {
                self.sleep_until(start_ns + (end as f64 / per_s * 1e9) as u64).await;
            } else if number == 1 {
                self.sleep_until(start_ns).await;
            }
            if let Some(link) = &pace.download {
                self.sleep_until(link.pass(self.clock.now_ns(), piece.len() as u64)).await;
            }
            self.write_piece(piece, *body, faults).await?;
            *body = end;
        }
        match reset {
            Some(ResetAt::Headers | ResetAt::Body) => return Ok(Outcome::Reset),
            _ if stop < self.length => return Ok(Outcome::Cut),
            _ => {}
        }
        if faults.chunked {
            self.write(b"0\r\n\r\n").await?;
        }
        Ok(if faults.length_by.is_some() { Outcome::Cut } else { Outcome::Done })
    }

    async fn write_piece(&mut self, piece: &[u8], from: u64, faults: &Faults) -> io::Result<()> {
        if faults.chunked {
            self.write(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        }
        match faults.flip_at.and_then(|at| at.checked_sub(from)).filter(|at| *at < piece.len() as u64) {
            None => self.write(piece).await?,
            Some(at) => {
                let (before, rest) = piece.split_at(at as usize);
                self.write(before).await?;
                self.write(&[rest[0] ^ 0x10]).await?;
                self.write(&rest[1..]).await?;
            }
        }
        if faults.chunked { self.write(b"\r\n").await } else { Ok(()) }
    }

    async fn endless(&mut self, limit: u64) -> io::Result<Outcome> {
        let fields = b"x-endless: and there is more where this came from\r\n".repeat(256);
        self.write(b"HTTP/1.1 200 OK\r\n").await?;
        let mut sent = 0;
        while sent < limit {
            self.write(&fields).await?;
            sent += fields.len() as u64;
        }
        Ok(Outcome::Cut)
    }

    /// A wait of the script: it is no idleness.
    async fn sleep_until(&self, due_ns: u64) {
        if due_ns > self.clock.now_ns() {
            self.alive.set(u64::MAX);
            self.timer.until(due_ns).await;
            self.alive.set(self.clock.now_ns());
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_all(self.sock, bytes).await?;
        self.alive.set(self.clock.now_ns());
        Ok(())
    }
}

async fn write_all<W: AsyncWrite + Unpin>(to: &mut W, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

fn piece(payload: &Payload, from: u64, most: u64) -> &[u8] {
    let piece = payload.at(from);
    &piece[..(piece.len() as u64).min(most).min(PIECE) as usize]
}

/// Two milliseconds of a paced body, so that the clock of the body is fine and the writes are few.
fn piece_size(faults: &Faults, pace: &Pace) -> u64 {
    let own = match (faults.trickle, pace.download_per_s) {
        (Some((bytes, _)), _) => u64::from(bytes),
        (None, Some(per_s)) => ((per_s * 0.002) as u64).clamp(1, 256 * 1024),
        (None, None) => 256 * 1024,
    };
    pace.download.as_ref().map_or(own, |link| own.min(link.piece()))
}
