//! The answer's decoder: bytes in, events and body pieces out, no I/O. It holds the rules of RFC 9112 for where a head
//! and a body end, and a bound on everything that a peer could make endless.

use std::mem::MaybeUninit;

use cosmark_adaptor_api::{Error, ErrorKind, Result};
use httparse::{Header, Status};

/// Longest head (and longest trailer section) of an answer, in bytes.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;
/// Most header lines of an answer.
const LINES_LIMIT: usize = 128;
/// Longest line that announces a chunk, extensions included, in bytes.
const CHUNK_LINE_LIMIT: usize = 4096;
/// Most interim (1xx) answers before the final one.
const INTERIM_LIMIT: u32 = 16;

/// What the bytes pushed so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// All bytes are used; more are needed.
    More,
    /// An interim answer (1xx) ended; the next head follows.
    Interim,
    /// The head of the final answer ended; the body follows.
    Head,
    /// The answer ended.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Sized(u64),
    ChunkLine { value: u64, digits: u8, in_extension: bool, length: usize },
    ChunkData(u64),
    ChunkEnd,
    Trailers { length: usize, line_is_empty: bool },
    UntilClose,
    Done,
}

const CHUNK_START: State = State::ChunkLine { value: 0, digits: 0, in_extension: false, length: 0 };

/// Decodes one answer after the other.
#[derive(Debug)]
pub(crate) struct Decoder {
    state: State,
    is_head: bool,
    interim: u32,
    /// The head of the current answer, as received.
    head: Vec<u8>,
    /// How far `head` has been searched for its end.
    searched: usize,
    /// Status of the current answer; 0 before its head is complete.
    pub(crate) status: u16,
    /// Its `Content-Length`.
    pub(crate) content_length: Option<u64>,
    /// Its body bytes so far.
    pub(crate) body_bytes: u64,
    /// The connection may be used again after it.
    pub(crate) keep_alive: bool,
}

/// What the header lines say about the body and the connection.
#[derive(Debug, Default)]
struct Framing {
    content_length: Option<u64>,
    coding: Coding,
    close: bool,
    keep_alive: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Coding {
    #[default]
    None,
    Chunked,
    Other,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Done,
            is_head: false,
            interim: 0,
            head: Vec::new(),
            searched: 0,
            status: 0,
            content_length: None,
            body_bytes: 0,
            keep_alive: false,
        }
    }

    /// Begins the next answer.
    pub(crate) fn start(&mut self, is_head: bool) {
        self.state = State::Head;
        self.is_head = is_head;
        self.interim = 0;
        self.head.clear();
        self.searched = 0;
        self.status = 0;
        self.content_length = None;
        self.body_bytes = 0;
        self.keep_alive = false;
    }

    /// Takes the next bytes; gives how many were used and what they ended. Body pieces go to `body`.
    ///
    /// # Errors
    /// `Protocol` for bytes that are no HTTP/1 answer or exceed a bound.
    pub(crate) fn push(&mut self, input: &[u8], mut body: impl FnMut(&[u8])) -> Result<(usize, Event)> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.state {
                State::Head => {
                    let (used, event) = self.push_head(rest)?;
                    return Ok((at + used, event));
                }
                State::Done => return Ok((at, Event::Done)),
                _ if rest.is_empty() => return Ok((at, Event::More)),
                State::UntilClose => {
                    self.body_bytes += rest.len() as u64;
                    body(rest);
                    return Ok((input.len(), Event::More));
                }
                State::Sized(left) => {
                    let taken = self.take(left, rest, &mut body);
                    at += taken;
                    let left = left - taken as u64;
                    self.state = if left == 0 { State::Done } else { State::Sized(left) };
                }
                State::ChunkData(left) => {
                    let taken = self.take(left, rest, &mut body);
                    at += taken;
                    let left = left - taken as u64;
                    self.state = if left == 0 { State::ChunkEnd } else { State::ChunkData(left) };
                }
                State::ChunkLine { .. } | State::ChunkEnd | State::Trailers { .. } => {
                    self.step(rest[0])?;
                    at += 1;
                }
            }
        }
    }

    fn take(&mut self, left: u64, rest: &[u8], body: &mut impl FnMut(&[u8])) -> usize {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        self.body_bytes += taken as u64;
        body(&rest[..taken]);
        taken
    }

    /// Bytes that are still to come of a body of known length, where the kernel may drop them unseen.
    pub(crate) fn sized_left(&self) -> u64 {
        match self.state {
            State::Sized(left) => left,
            _ => 0,
        }
    }

    /// Notes that `bytes` of [`Decoder::sized_left`] were dropped by the kernel.
    pub(crate) fn skip(&mut self, bytes: u64) {
        if let State::Sized(left) = self.state {
            self.body_bytes += bytes.min(left);
            self.state = if bytes >= left { State::Done } else { State::Sized(left - bytes) };
        }
    }

    /// True when the answer is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// A body in chunks may announce its length, too; then it has to be so long.
    ///
    /// # Errors
    /// `Protocol`.
    pub(crate) fn check_announced(&self) -> Result<()> {
        match self.content_length {
            Some(length) if length != self.body_bytes && !matches!(self.status, 204 | 304) => Err(broken(
                format!("the answer announces {length} body bytes and has {} in chunks", self.body_bytes),
            )
            .with_partial_bytes(self.body_bytes)),
            _ => Ok(()),
        }
    }

    /// True while the head is not complete.
    pub(crate) fn in_head(&self) -> bool {
        self.state == State::Head
    }

    /// True when nothing of the answer came yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.state == State::Head && self.head.is_empty() && self.interim == 0
    }

    /// The peer closed its side: true if that is how this body ends.
    pub(crate) fn end_of_stream(&mut self) -> bool {
        if self.state == State::UntilClose {
            self.state = State::Done;
        }
        self.state == State::Done
    }

    /// Values of a header line of the current answer.
    pub(crate) fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let mut lines = self.head.split(|byte| *byte == b'\n').skip(1);
        std::iter::from_fn(move || {
            lines.find_map(|line| {
                let colon = line.iter().position(|byte| *byte == b':')?;
                let value =
                    line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| &line[colon + 1..])?;
                std::str::from_utf8(value).ok().map(str::trim)
            })
        })
    }

    /// Every header line of the current answer whose value is UTF-8: name and value.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
            let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
            Some((name.trim(), value.trim()))
        })
    }

    fn push_head(&mut self, input: &[u8]) -> Result<(usize, Event)> {
        if self.head.is_empty()
            && let Some((length, event)) = self.parse(input)?
        {
            self.head.extend_from_slice(&input[..length]);
            return Ok((length, self.after_head(event)));
        }
        let room = HEAD_LIMIT - self.head.len();
        let before = self.head.len();
        self.head.extend_from_slice(&input[..input.len().min(room)]);
        // Parsing again at every byte of a slow head would be quadratic: only a complete one is parsed.
        if !self.find_end() {
            if self.head.len() >= HEAD_LIMIT {
                return Err(broken(format!("the answer's head is longer than {HEAD_LIMIT} bytes")));
            }
            return Ok((input.len(), Event::More));
        }
        let head = std::mem::take(&mut self.head);
        let parsed = self.parse(&head);
        self.head = head;
        let Some((length, event)) = parsed? else {
            return Err(broken("the answer's head is not valid HTTP/1.1"));
        };
        self.head.truncate(length);
        Ok((length.saturating_sub(before), self.after_head(event)))
    }

    fn find_end(&mut self) -> bool {
        let mut from = self.searched.saturating_sub(3);
        while let Some(newline) = memchr::memchr(b'\n', &self.head[from..]).map(|at| from + at) {
            if matches!(&self.head[newline + 1..], [b'\n', ..] | [b'\r', b'\n', ..]) {
                return true;
            }
            from = newline + 1;
        }
        self.searched = self.head.len();
        false
    }

    fn after_head(&mut self, event: Event) -> Event {
        if event == Event::Interim {
            self.head.clear();
            self.searched = 0;
        }
        event
    }

    /// Parses a head; `None` = not complete. Sets status, framing and the next state.
    fn parse(&mut self, input: &[u8]) -> Result<Option<(usize, Event)>> {
        let mut lines = [const { MaybeUninit::<Header<'_>>::uninit() }; LINES_LIMIT];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            input,
            &mut lines,
        );
        let length = match parsed {
            Ok(Status::Complete(length)) if length <= HEAD_LIMIT => length,
            Ok(Status::Complete(_)) => {
                return Err(broken(format!("the answer's head is longer than {HEAD_LIMIT} bytes")));
            }
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(broken(format!("the answer has more than {LINES_LIMIT} header lines")));
            }
            Err(error) => return Err(not_http(input, error)),
        };
        let status = response.code.unwrap_or(0);
        let is_old = response.version == Some(0);
        if (100..200).contains(&status) {
            self.interim += 1;
            if status == 101 || self.interim > INTERIM_LIMIT {
                return Err(broken(format!("unexpected interim answer {status}")));
            }
            return Ok(Some((length, Event::Interim)));
        }
        if !(200..1000).contains(&status) {
            return Err(broken(format!("the answer's status {status} does not exist")));
        }
        let framing = Framing::read(response.headers)?;
        self.status = status;
        self.content_length = framing.content_length;
        self.set_body(&framing, is_old)?;
        Ok(Some((length, Event::Head)))
    }

    fn set_body(&mut self, framing: &Framing, is_old: bool) -> Result<()> {
        self.keep_alive = !framing.close && (!is_old || framing.keep_alive);
        // Who announces chunks where none may be may send some all the same, as Ceph's gateway does.
        self.keep_alive &= self.status != 304 || self.is_head || framing.coding == Coding::None;
        self.state = if self.is_head || matches!(self.status, 204 | 304) {
            State::Done
        } else if framing.coding == Coding::Chunked {
            // Both announcements at once are how smuggled answers look: the coding counts, the connection ends.
            self.keep_alive &= framing.content_length.is_none();
            CHUNK_START
        } else if framing.coding == Coding::Other {
            return Err(broken("the answer's transfer coding is not `chunked`"));
        } else if let Some(length) = framing.content_length {
            if length == 0 { State::Done } else { State::Sized(length) }
        } else {
            self.keep_alive = false;
            State::UntilClose
        };
        Ok(())
    }

    /// One byte of what stands around chunks.
    fn step(&mut self, byte: u8) -> Result<()> {
        self.state = match self.state {
            State::ChunkLine { value, digits, in_extension, length } => {
                if length >= CHUNK_LINE_LIMIT {
                    return Err(broken(format!("a chunk's line is longer than {CHUNK_LINE_LIMIT} bytes")));
                }
                let length = length + 1;
                match byte {
                    b'\n' if digits == 0 => return Err(broken("a chunk has no size")),
                    b'\n' if value == 0 => State::Trailers { length: 0, line_is_empty: true },
                    b'\n' => State::ChunkData(value),
                    _ if in_extension => State::ChunkLine { value, digits, in_extension, length },
                    b';' | b' ' | b'\t' | b'\r' if digits > 0 => {
                        State::ChunkLine { value, digits, in_extension: true, length }
                    }
                    _ => {
                        let digit = char::from(byte).to_digit(16).filter(|_| digits < 15);
                        let digit = digit.ok_or_else(|| broken("a chunk's size is not a hex number"))?;
                        let value = value * 16 + u64::from(digit);
                        State::ChunkLine { value, digits: digits + 1, in_extension, length }
                    }
                }
            }
            State::ChunkEnd => match byte {
                b'\r' => State::ChunkEnd,
                b'\n' => CHUNK_START,
                _ => return Err(broken("a chunk is longer than its size says")),
            },
            State::Trailers { length, line_is_empty } => match byte {
                _ if length >= HEAD_LIMIT => {
                    return Err(broken(format!("the answer's trailer is longer than {HEAD_LIMIT} bytes")));
                }
                b'\n' if line_is_empty => State::Done,
                b'\n' => State::Trailers { length: length + 1, line_is_empty: true },
                b'\r' => State::Trailers { length: length + 1, line_is_empty },
                _ => State::Trailers { length: length + 1, line_is_empty: false },
            },
            other => other,
        };
        Ok(())
    }
}

impl Framing {
    fn read(lines: &[Header<'_>]) -> Result<Self> {
        let mut framing = Self::default();
        for line in lines {
            match line.name.len() {
                14 if line.name.eq_ignore_ascii_case("content-length") => framing.add_length(line.value)?,
                17 if line.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let last = line.value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                    let chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
                    let alone = line.value.trim_ascii().len() == 7 && framing.coding == Coding::None;
                    framing.coding = if chunked && alone { Coding::Chunked } else { Coding::Other };
                }
                10 if line.name.eq_ignore_ascii_case("connection") => {
                    for token in line.value.split(|byte| *byte == b',') {
                        framing.close |= token.trim_ascii().eq_ignore_ascii_case(b"close");
                        framing.keep_alive |= token.trim_ascii().eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        Ok(framing)
    }

    fn add_length(&mut self, value: &[u8]) -> Result<()> {
        for part in value.split(|byte| *byte == b',') {
            let digits = part.trim_ascii();
            let valid = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
            if !valid {
                return Err(broken("the answer's Content-Length is not a number"));
            }
            let length = digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            if self.content_length.is_some_and(|earlier| earlier != length) {
                return Err(broken("the answer has two different Content-Lengths"));
            }
            self.content_length = Some(length);
        }
        Ok(())
    }
}

fn broken(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, message)
        .with_hint("check that the endpoint is an HTTP/1.1 store and not behind a broken proxy")
}

fn not_http(input: &[u8], error: httparse::Error) -> Error {
    if matches!(input, [0x15 | 0x16, 0x03, ..]) {
        return Error::new(ErrorKind::Protocol, "the server answers in TLS")
            .with_hint("write the endpoint with https://");
    }
    let shown: String =
        input.iter().take(32).map(|byte| char::from(*byte).escape_default().to_string()).collect();
    broken(format!("the answer is not HTTP ({error}): it begins with `{shown}`"))
}

#[cfg(test)]
mod tests;
