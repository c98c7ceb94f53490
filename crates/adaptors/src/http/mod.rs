//! A lean HTTP/1.1 client (RFC 9110, RFC 9112) for load generation. It does what a store's protocol needs and costs
//! little more than the kernel's TCP: the adaptor writes the request head into its own reused buffer, one [`Connection`]
//! carries one exchange at a time, bodies are sent from borrowed pieces and drained through one buffer of the thread.
//!
//! * [`Endpoint`]: where to connect and how (addresses, TLS, proxy, socket options); shared by all workers of a work.
//! * [`Connection`]: one worker's keep-alive connection; opened when first needed, reopened after the peer closed it.
//! * [`Request`], [`Body`], [`Take`], [`Answer`]: one exchange.
//!
//! A usual call:
//! ```ignore
//! self.head.clear();
//! self.connection.endpoint().start_head(&mut self.head, "GET", path);  // request line and Host
//! http::header(&mut self.head, "X-Auth-Token", token);
//! self.head.extend_from_slice(b"\r\n");                                // ends the head
//! let request = Request::new(&self.head);
//! let answer = self.connection.exchange(request, Take::Discard, marks).await?;
//! if answer.status != 200 { return Err(my_error(answer.status, self.connection.body())) }
//! ```
//!
//! There is no retry and no redirect: a 3xx status is a result like any other. Dropping a call half-way is fine: the
//! next call opens a new connection.

mod buffer;
mod coder;
mod connection;
pub(crate) mod date;
mod decode;
mod dial;
mod echo;
mod endpoint;
mod escape;
mod facts;
pub(crate) mod path_names;
mod read_ahead;
mod receive;
pub(crate) mod request;
mod send;
pub(crate) mod signed_headers;
mod socket;
mod tls;
pub(crate) mod xml_scan;

#[cfg(test)]
mod tests;

use cosmark_adaptor_api::{BodySink, BodySource, Key};

pub(crate) use buffer::with_buffer;
pub(crate) use coder::push_hex;
pub use coder::{ChunkCoder, PlainChunks};
pub use connection::Connection;
pub(crate) use endpoint::parse_url;
pub use endpoint::{Endpoint, STORE_KEYS, TRANSPORT_KEYS};
pub use escape::{push_decimal, push_escaped, push_query_escaped};

/// How much of the body of an answer that is no success (not 2xx) is kept for the error's text, in bytes.
pub const ERROR_BODY_LIMIT: usize = 64 * 1024;

/// One request, ready to be sent.
pub struct Request<'a> {
    /// The whole head: request line, header lines, empty line.
    pub head: &'a [u8],
    /// What follows the head. The head must announce it: `Content-Length` for [`Body::Sized`],
    /// `Transfer-Encoding: chunked` (or what the coder makes) for [`Body::Coded`].
    pub body: Body<'a>,
    /// The method is HEAD: the answer has no body whatever its header lines say.
    pub is_head: bool,
    /// The head asks `Expect: 100-continue`: the body waits for the server's 100, but not longer than a second.
    pub expects_continue: bool,
}

impl<'a> Request<'a> {
    /// A request without a body.
    #[must_use]
    pub fn new(head: &'a [u8]) -> Self {
        Self { head, body: Body::None, is_head: false, expects_continue: false }
    }

    /// A HEAD request.
    #[must_use]
    pub fn head(head: &'a [u8]) -> Self {
        Self { is_head: true, ..Self::new(head) }
    }

    /// A request with a body.
    #[must_use]
    pub fn with_body(head: &'a [u8], body: Body<'a>) -> Self {
        Self { body, ..Self::new(head) }
    }
}

/// What follows a request's head.
#[derive(Default)]
pub enum Body<'a> {
    /// Nothing.
    #[default]
    None,
    /// Exactly the source's bytes.
    Sized(&'a dyn BodySource),
    /// The source's bytes as the coder frames them.
    Coded(&'a dyn BodySource, &'a mut dyn ChunkCoder),
}

impl<'a> Body<'a> {
    /// The same body for a shorter time, as a [`Request`] needs it whose head lives shorter.
    #[must_use]
    pub fn shorten<'s>(self) -> Body<'s>
    where
        'a: 's,
    {
        match self {
            Self::None => Body::None,
            Self::Sized(source) => Body::Sized(source),
            Self::Coded(source, coder) => Body::Coded(source, coder),
        }
    }
}

/// Where the body of a successful (2xx) answer goes. Other answers' bodies are kept for the error's text, see
/// [`Connection::body`].
#[derive(Default)]
pub enum Take<'a> {
    /// Nowhere; over plain TCP the kernel drops it unseen.
    #[default]
    Discard,
    /// To a receiver.
    Sink(&'a mut dyn BodySink),
    /// Into [`Connection::body`]; a longer one fails with `Protocol`.
    Keep {
        /// Bytes at most.
        limit: usize,
    },
}

impl<'a> Take<'a> {
    /// To the sink if there is one.
    #[must_use]
    pub fn from_sink(sink: Option<&'a mut dyn BodySink>) -> Self {
        sink.map_or(Self::Discard, Self::Sink)
    }
}

/// What came back, with the whole body read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Status of the final (not 1xx) answer.
    pub status: u16,
    /// Body bytes received, chunk framing not counted.
    pub body_bytes: u64,
    /// The `Content-Length` header line, also where no body followed (HEAD).
    pub content_length: Option<u64>,
}

impl Answer {
    /// True for 2xx.
    #[must_use]
    pub fn is_success(self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Appends a header line, `name: value` CR LF. Bytes that would end the line or be invalid in a header become blanks,
/// so that no value from a workload can smuggle in a second line.
pub fn header(head: &mut Vec<u8>, name: &str, value: &str) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend(
        value.bytes().map(|byte| if byte < 0x20 && byte != b'\t' || byte == 0x7f { b' ' } else { byte }),
    );
    head.extend_from_slice(b"\r\n");
}

/// Appends a header line with a number.
pub fn header_number(head: &mut Vec<u8>, name: &str, value: u64) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    push_decimal(head, value);
    head.extend_from_slice(b"\r\n");
}

/// Puts two key tables into one, at compile time:
/// `const KEYS: &[Key] = &concat_keys::<{ OWN.len() + TRANSPORT_KEYS.len() }>(OWN, TRANSPORT_KEYS);`
///
/// # Panics
/// At compile time, when `N` is not the sum of the two lengths.
#[must_use]
pub const fn concat_keys<const N: usize>(first: &[Key], second: &[Key]) -> [Key; N] {
    assert!(N == first.len() + second.len() && N > 0);
    let mut all = [if first.is_empty() { second[0] } else { first[0] }; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}
