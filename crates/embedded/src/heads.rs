//! A head of a request that has begun has to be whole within a minute. A connection on which nothing was sent since the
//! last request may stay: clients keep some for later, and each costs only itself.
//!
//! hyper says when it begins to wait for a head, and asks its timer whether that took too long; what it waits for
//! may be the first byte. [`Heard`] sees that byte on the stream, and the timer counts from there.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// How long a head may take, from its first byte on.
pub(crate) const HEAD_PATIENCE: Duration = Duration::from_secs(60);

/// When the first byte came of what is waited for on one connection; the timer of its head.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadClock(Arc<Mutex<Option<Instant>>>);

impl HeadClock {
    fn first_byte(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn heard(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }
}

impl Timer for HeadClock {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Sleep>> {
        self.begin();
        Box::pin(Wait { clock: self.clone(), alarm: Box::pin(tokio::time::sleep(HEAD_PATIENCE)) })
    }

    fn sleep_until(&self, _: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(HEAD_PATIENCE)
    }
}

/// Ends when a head has taken too long, and never while nothing of one has come.
struct Wait {
    clock: HeadClock,
    alarm: Pin<Box<tokio::time::Sleep>>,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            let now = Instant::now();
            let end = self.clock.first_byte().unwrap_or(now) + HEAD_PATIENCE;
            if end <= now {
                return Poll::Ready(());
            }
            self.alarm.as_mut().reset(end);
        }
    }
}

impl Sleep for Wait {}

/// A connection whose first byte of each head is noted.
#[derive(Debug)]
pub(crate) struct Heard<S> {
    stream: S,
    clock: HeadClock,
}

impl<S> Heard<S> {
    pub(crate) fn new(stream: S, clock: HeadClock) -> Self {
        Self { stream, clock }
    }

    pub(crate) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.clock.heard();
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
