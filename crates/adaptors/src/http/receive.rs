//! Receiving an answer: bytes from the transport go through the decoder to whoever takes the body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use cosmark_adaptor_api::{Error, ErrorKind, Marks, Result};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::buffer::{BUFFER_BYTES, with_buffer};
use super::decode::{Decoder, Event};
use super::dial::Transport;
#[cfg(target_os = "linux")]
use super::socket::Socket;
use super::{ERROR_BODY_LIMIT, Take};

/// The first read where nobody looks at the body: enough for the head and a small body, while the rest of a large one
/// is dropped by the kernel.
const FIRST_READ: usize = 16 * 1024;

/// Reads once and gives the bytes (none = the peer closed) to `accept`, which must use them up.
pub(crate) fn poll_bytes<R>(
    transport: &mut Transport,
    cx: &mut Context<'_>,
    limit: usize,
    accept: impl FnOnce(&[u8]) -> R,
) -> Poll<io::Result<R>> {
    match transport {
        Transport::Plain(socket) => with_buffer(|buffer| {
            let mut read = ReadBuf::new(&mut buffer[..limit]);
            ready!(Pin::new(socket).poll_read(cx, &mut read))?;
            Poll::Ready(Ok(accept(read.filled())))
        }),
        Transport::Tls(stream) => {
            let mut stream = Pin::new(stream);
            let bytes = ready!(stream.as_mut().poll_fill_buf(cx))?;
            let count = bytes.len();
            let result = accept(bytes);
            stream.consume(count);
            Poll::Ready(Ok(result))
        }
    }
}

/// Drops up to `left` bytes in the kernel; 0 = the peer closed.
#[cfg(target_os = "linux")]
fn poll_drop(socket: &mut Socket, cx: &mut Context<'_>, left: u64) -> Poll<io::Result<u64>> {
    let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER_BYTES);
    with_buffer(|buffer| socket.poll_drop(cx, &mut buffer[..wanted])).map_ok(|count| count as u64)
}

/// Takes one answer.
pub(crate) struct Receiver<'a, 't> {
    pub(crate) decoder: &'a mut Decoder,
    pub(crate) kept: &'a mut Vec<u8>,
    pub(crate) take: Take<'t>,
    /// The answer's body counts as the operation's bytes.
    pub(crate) counted: bool,
    /// The first byte was marked before this exchange began.
    pub(crate) marked: bool,
    /// Bytes came after the answer's end.
    pub(crate) surplus: bool,
}

impl Receiver<'_, '_> {
    /// One read. `true` = the answer is complete.
    pub(crate) fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        transport: &mut Transport,
        marks: &mut Marks,
    ) -> Poll<Result<bool>> {
        #[cfg(target_os = "linux")]
        if let (Transport::Plain(socket), Some(left)) = (&mut *transport, self.unseen_bytes()) {
            let result = ready!(poll_drop(socket, cx, left));
            return Poll::Ready(match result {
                Ok(0) => self.closed(),
                Ok(count) => {
                    self.decoder.skip(count);
                    if self.counted {
                        marks.body_bytes += count;
                    }
                    Ok(self.decoder.is_done())
                }
                Err(error) => Err(self.failed(&error)),
            });
        }
        let limit = if self.decoder.in_head() && matches!(self.take, Take::Discard) {
            FIRST_READ
        } else {
            BUFFER_BYTES
        };
        let result = ready!(poll_bytes(transport, cx, limit, |bytes| {
            if bytes.is_empty() { self.closed() } else { self.accept(bytes, marks) }
        }));
        Poll::Ready(result.unwrap_or_else(|error| Err(self.failed(&error))))
    }

    /// Bytes that nobody wants to see.
    #[cfg(target_os = "linux")]
    fn unseen_bytes(&self) -> Option<u64> {
        let left = self.decoder.sized_left();
        (left > 0 && self.is_success() && matches!(self.take, Take::Discard)).then_some(left)
    }

    fn is_success(&self) -> bool {
        (200..300).contains(&self.decoder.status)
    }

    /// Takes bytes; `true` = the answer is complete.
    pub(crate) fn accept(&mut self, mut bytes: &[u8], marks: &mut Marks) -> Result<bool> {
        loop {
            if self.decoder.in_head() && !bytes.is_empty() {
                marks.first_byte();
            }
            let is_success = self.is_success();
            let (take, kept) = (&mut self.take, &mut *self.kept);
            let before = self.decoder.body_bytes;
            let mut overflow = None;
            let pushed = self.decoder.push(bytes, |piece| {
                overflow = overflow.or(give(take, kept, is_success, piece));
            });
            if self.counted && is_success {
                marks.body_bytes += self.decoder.body_bytes - before;
            }
            let (used, event) = pushed.map_err(|error| self.with_partial(error))?;
            if let Some(limit) = overflow {
                let message = format!("the answer's body is longer than {limit} bytes");
                return Err(self.with_partial(Error::new(ErrorKind::Protocol, message)));
            }
            bytes = &bytes[used..];
            match event {
                Event::More => return Ok(false),
                Event::Interim => self.forget_first_byte(marks),
                Event::Head => marks.status = self.decoder.status,
                Event::Done => {
                    marks.status = self.decoder.status;
                    self.surplus = !bytes.is_empty();
                    return Ok(true);
                }
            }
        }
    }

    /// An interim answer is not yet the answer.
    pub(crate) fn forget_first_byte(&self, marks: &mut Marks) {
        if !self.marked {
            marks.first_byte_ns = 0;
        }
    }

    fn closed(&mut self) -> Result<bool> {
        if self.decoder.end_of_stream() { Ok(true) } else { Err(self.cut("was closed", "")) }
    }

    fn failed(&self, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return self.cut("was closed without TLS's farewell", "");
        }
        if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
            return self.with_partial(super::tls::describe(error, "the server"));
        }
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => self.cut("was reset", ""),
            _ => self.cut("failed", &format!(" ({error})")),
        }
    }

    fn cut(&self, how: &str, detail: &str) -> Error {
        let decoder = &self.decoder;
        let error = if decoder.is_untouched() {
            Error::new(ErrorKind::Reset, format!("the connection {how} before any answer{detail}"))
                .with_hint("the server or something on the way dropped it: see the server's log")
        } else if decoder.in_head() {
            Error::new(
                ErrorKind::Reset,
                format!("the connection {how} in the middle of the answer's head{detail}"),
            )
            .with_hint("the server or something on the way dropped it: see the server's log")
        } else {
            let seen = decoder.body_bytes;
            let message = match decoder.content_length {
                Some(length) => format!("the connection {how} after {seen} of {length} body bytes{detail}"),
                None => format!("the connection {how} after {seen} body bytes, before their end{detail}"),
            };
            Error::new(ErrorKind::ShortBody, message).with_hint("see the server's log for why it gave up")
        };
        self.with_partial(error)
    }

    fn with_partial(&self, error: Error) -> Error {
        error.with_partial_bytes(self.decoder.body_bytes)
    }
}

/// Gives a piece of the body to whoever takes it; the limit, if it is exceeded.
fn give(take: &mut Take<'_>, kept: &mut Vec<u8>, is_success: bool, piece: &[u8]) -> Option<usize> {
    if !is_success {
        let room = ERROR_BODY_LIMIT.saturating_sub(kept.len()).min(piece.len());
        kept.extend_from_slice(&piece[..room]);
        return None;
    }
    match take {
        Take::Discard => None,
        Take::Sink(sink) => {
            sink.accept(piece);
            None
        }
        Take::Keep { limit } if kept.len() + piece.len() > *limit => Some(*limit),
        Take::Keep { .. } => {
            kept.extend_from_slice(piece);
            None
        }
    }
}
