//! The head of a request: request line and header fields, with what the server must know of them.
//!
//! Parsing is `httparse`'s; this file bounds it, keeps the text, and rejects what RFC 9112 (section 6.3)
//! calls ambiguous: lengths that disagree, a length beside a transfer coding.

use std::ops::Range;

/// Longest head that is read.
pub(crate) const MAX_HEAD: usize = 32 * 1024;
/// Most header fields in a head.
const MAX_FIELDS: usize = 128;

/// Methods the protocols know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
    Head,
    Delete,
    Post,
    Copy,
    Other,
}

impl Method {
    fn from_name(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "PUT" => Method::Put,
            "HEAD" => Method::Head,
            "DELETE" => Method::Delete,
            "POST" => Method::Post,
            "COPY" => Method::Copy,
            _ => Method::Other,
        }
    }
}

/// How the end of the body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// Why a head is refused: the status and a sentence for the answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadHead {
    pub(crate) status: u16,
    pub(crate) message: &'static str,
}

fn bad(message: &'static str) -> BadHead {
    BadHead { status: 400, message }
}

/// A parsed head. Reused from request to request, so that the steady state allocates nothing.
#[derive(Debug)]
pub(crate) struct Head {
    text: Vec<u8>,
    fields: Vec<(Range<usize>, Range<usize>)>,
    target: Range<usize>,
    pub(crate) method: Method,
    pub(crate) framing: Framing,
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
}

impl Head {
    pub(crate) fn new() -> Head {
        Head {
            text: Vec::new(),
            fields: Vec::new(),
            target: 0..0,
            method: Method::Other,
            framing: Framing::Length(0),
            keep_alive: true,
            expects_continue: false,
        }
    }

    /// Parses the head at the beginning of `input` and returns its length, or `None` if it is not
    /// complete yet. Empty lines before the request line are part of it.
    pub(crate) fn parse(&mut self, input: &[u8]) -> Result<Option<usize>, BadHead> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let length = match request.parse(input) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if input.len() >= MAX_HEAD => return Err(TOO_LONG),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(TOO_LONG),
            Err(_) => return Err(bad("The request line or a header field is malformed.")),
        };
        if length > MAX_HEAD {
            return Err(TOO_LONG);
        }
        let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version)
        else {
            return Err(bad("The request line is incomplete."));
        };
        let base = input.as_ptr() as usize;
        let place = |part: &[u8]| {
            let from = part.as_ptr() as usize - base;
            from..from + part.len()
        };
        self.method = Method::from_name(method);
        self.target = place(target.as_bytes());
        self.fields.clear();
        self.fields
            .extend(request.headers.iter().map(|field| (place(field.name.as_bytes()), place(field.value))));
        self.text.clear();
        self.text.extend_from_slice(&input[..length]);
        self.read_framing(version)?;
        Ok(Some(length))
    }

    fn read_framing(&mut self, version: u8) -> Result<(), BadHead> {
        let (mut length, mut chunked) = (None, false);
        (self.keep_alive, self.expects_continue) = (version == 1, false);
        for (name, value) in self.fields.iter().map(|(n, v)| (&self.text[n.clone()], &self.text[v.clone()])) {
            match name.len() {
                14 if name.eq_ignore_ascii_case(b"content-length") => {
                    let this = parse_length(value).ok_or(bad("Content-Length is not a number."))?;
                    if length.replace(this).is_some_and(|other| other != this) {
                        return Err(bad("Two Content-Length fields disagree."));
                    }
                }
                17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                    if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                        return Err(BadHead {
                            status: 501,
                            message: "The only transfer coding served is chunked.",
                        });
                    }
                    chunked = true;
                }
                10 if name.eq_ignore_ascii_case(b"connection") => {
                    for option in value.split(|byte| *byte == b',') {
                        match option.trim_ascii() {
                            o if o.eq_ignore_ascii_case(b"close") => self.keep_alive = false,
                            o if o.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                            _ => {}
                        }
                    }
                }
                6 if name.eq_ignore_ascii_case(b"expect") => {
                    if !value.eq_ignore_ascii_case(b"100-continue") {
                        return Err(BadHead {
                            status: 417,
                            message: "The only expectation met is 100-continue.",
                        });
                    }
                    self.expects_continue = true;
                }
                _ => {}
            }
        }
        self.framing = match (length, chunked) {
            (Some(_), true) => return Err(bad("Content-Length and Transfer-Encoding exclude each other.")),
            (_, true) => Framing::Chunked,
            (length, false) => Framing::Length(length.unwrap_or(0)),
        };
        Ok(())
    }

    /// The request target as sent.
    pub(crate) fn target(&self) -> &str {
        // httparse lets only valid text through; the fallback is never taken.
        std::str::from_utf8(&self.text[self.target.clone()]).unwrap_or("/")
    }

    /// The value of the first field of this name, if it is text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields()
            .find(|(n, _)| n.len() == name.len() && n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All fields whose values are text, in their order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().filter_map(|(name, value)| {
            let name = std::str::from_utf8(&self.text[name.clone()]).ok()?;
            let value = std::str::from_utf8(&self.text[value.clone()]).ok()?;
            Some((name, value.trim()))
        })
    }

    /// Whether the request has a body, as far as its head says.
    pub(crate) fn has_body(&self) -> bool {
        self.framing != Framing::Length(0)
    }

    /// Length of the head, bytes.
    pub(crate) fn len(&self) -> u64 {
        self.text.len() as u64
    }
}

const TOO_LONG: BadHead = BadHead { status: 431, message: "The head of the request is too long." };

/// Digits only: no sign, no space, no overflow.
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Head, BadHead> {
        let mut head = Head::new();
        head.parse(text.as_bytes()).map(|length| {
            assert_eq!(length, Some(text.len()));
            head
        })
    }

    #[test]
    fn a_head_gives_its_parts_whatever_the_case_of_the_names() {
        let head =
            parse("PUT /b/k?x=1 HTTP/1.1\r\nHOST: h\r\ncontent-LENGTH: 12\r\nExpect: 100-Continue\r\n\r\n")
                .unwrap();
        assert_eq!((head.method, head.target()), (Method::Put, "/b/k?x=1"));
        assert_eq!(head.framing, Framing::Length(12));
        assert!(head.keep_alive && head.expects_continue && head.has_body());
        assert_eq!((head.get("host"), head.get("Host"), head.get("none")), (Some("h"), Some("h"), None));
    }

    #[test]
    fn the_version_and_the_connection_field_decide_about_keep_alive() {
        for (text, keep_alive) in [
            ("GET / HTTP/1.1\r\n\r\n", true),
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nConnection: foo, Close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ] {
            assert_eq!(parse(text).unwrap().keep_alive, keep_alive, "{text}");
        }
    }

    #[test]
    fn ambiguous_or_malformed_heads_are_refused() {
        for (text, status) in [
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
            ("GET / HTTP/1.1\r\nExpect: miracle\r\n\r\n", 417),
            ("GET /\r\n\r\n", 400),
            ("\u{1}\u{2}\r\n\r\n", 400),
        ] {
            assert_eq!(parse(text).err().map(|bad| bad.status), Some(status), "{text:?}");
        }
    }

    #[test]
    fn a_head_that_never_ends_is_refused_at_the_bound_and_not_before() {
        let mut head = Head::new();
        let mut text = b"GET / HTTP/1.1\r\nx: ".to_vec();
        text.resize(MAX_HEAD - 1, b'a');
        assert_eq!(head.parse(&text), Ok(None));
        text.push(b'a');
        assert_eq!(head.parse(&text), Err(TOO_LONG));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_FIELDS + 1));
        assert_eq!(Head::new().parse(many.as_bytes()), Err(TOO_LONG));
    }
}
