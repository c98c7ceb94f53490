//! A connection's socket. It reads and writes as tokio's does, and can be asked when the bytes of one exchange left this
//! host and reached it ([`Socket::stamp`], [`Socket::stamped`]). An exchange that is not asked about costs nothing more.
//!
//! Who waits here: stamps of sending come through the socket's error queue. epoll reports that as an error, which tokio
//! takes for the end of writing and never forgets: a full socket would then be tried without end. Therefore the queue is
//! read right after the stamped write, when nearly every stamp is there, and a socket that claims to be writable and is
//! not is registered anew.

mod clock;
mod control;
mod stamps;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use cosmark_adaptor_api::{OnWire, WireGap};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use stamps::{Flags, Stamps};

/// Tells the system that stamps will be asked for: it begins to stamp some milliseconds after the first socket has asked.
pub(crate) fn announce() {
    stamps::announce();
}

/// A socket, and its stamps if it was ever asked for them.
#[derive(Debug)]
pub(crate) struct Socket {
    /// Empty only while it is registered anew.
    tcp: Option<TcpStream>,
    stamps: Option<Box<Stamps>>,
}

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        Self { tcp: Some(tcp), stamps: None }
    }

    /// Asks about the exchange that begins now.
    ///
    /// # Errors
    /// `System` where it stamps nothing.
    pub(crate) fn stamp(&mut self) -> Result<(), WireGap> {
        let fd = self.fd().map_err(|_| WireGap::System)?;
        if self.stamps.is_none() {
            self.stamps = Some(Box::new(Stamps::enable(fd)?));
        }
        self.stamps.as_mut().ok_or(WireGap::System)?.begin(fd);
        Ok(())
    }

    /// The newest bytes that were read hold the first of the answer (or, not `has_come`, only an interim one).
    #[inline]
    pub(crate) fn note_first_byte(&mut self, has_come: bool) {
        if let Some(stamps) = &mut self.stamps {
            stamps.note_first_byte(has_come);
        }
    }

    /// Ends what [`Socket::stamp`] began: when the request left and the answer came. `None` = it was not asked for.
    pub(crate) fn stamped(&mut self) -> Option<Result<OnWire, WireGap>> {
        let fd = self.fd().ok()?;
        self.stamps.as_mut()?.end(fd)
    }

    pub(crate) fn tcp(&self) -> io::Result<&TcpStream> {
        self.tcp.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    pub(crate) fn fd(&self) -> io::Result<RawFd> {
        Ok(self.tcp()?.as_raw_fd())
    }

    fn is_stamping(&self) -> bool {
        self.stamps.as_ref().is_some_and(|stamps| stamps.is_active())
    }

    /// One read into `buffer`, with its stamp; as tokio's own, a read that did not fill it spares the one that would find
    /// nothing.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        flags: Flags,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp()?.poll_read_ready(cx))?;
            let (Some(tcp), stamps) = (&self.tcp, &mut self.stamps) else { return closed() };
            let mut partial = None;
            let wanted = buffer.len();
            let result = tcp.try_io(Interest::READABLE, || {
                let count = stamps::receive(tcp.as_raw_fd(), buffer, flags, stamps.as_deref_mut())?;
                if count > 0 && count < wanted {
                    partial = Some(count);
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(count)
            });
            match (result, partial) {
                (_, Some(count)) | (Ok(count), None) => return Poll::Ready(Ok(count)),
                (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => {}
                (Err(error), None) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Drops up to `buffer.len()` bytes in the kernel (`MSG_TRUNC`, tcp(7)); 0 = the peer closed.
    #[cfg(target_os = "linux")]
    pub(crate) fn poll_drop(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_receive(cx, buffer, Flags::DROP)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let mut refused = 0;
        loop {
            ready!(self.tcp()?.poll_write_ready(cx))?;
            let (Some(tcp), Some(stamps)) = (&self.tcp, &mut self.stamps) else { return closed() };
            match tcp.try_io(Interest::WRITABLE, || stamps.send(tcp.as_raw_fd(), pieces)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => refused += 1,
                result => return Poll::Ready(result),
            }
            if refused == 2 {
                self.register_again()?;
            }
        }
    }

    /// So that what tokio believes of it is true again.
    fn register_again(&mut self) -> io::Result<()> {
        let tcp = self.tcp.take().ok_or(io::ErrorKind::NotConnected)?.into_std()?;
        if let Some(stamps) = &mut self.stamps {
            stamps.drain(tcp.as_raw_fd());
        }
        self.tcp = Some(TcpStream::from_std(tcp)?);
        Ok(())
    }
}

fn closed<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_stamping() {
            let count = ready!(self.poll_receive(cx, out.initialize_unfilled(), Flags::NONE))?;
            out.advance(count);
            return Poll::Ready(Ok(()));
        }
        match &mut self.tcp {
            Some(tcp) => Pin::new(tcp).poll_read(cx, out),
            None => closed(),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.stamps.is_some() {
            return self.poll_send(cx, pieces);
        }
        match &mut self.tcp {
            Some(tcp) => Pin::new(tcp).poll_write_vectored(cx, pieces),
            None => closed(),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is held back here.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.tcp {
            Some(tcp) => Pin::new(tcp).poll_shutdown(cx),
            None => closed(),
        }
    }
}
