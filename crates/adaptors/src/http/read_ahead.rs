//! Reading ahead under TLS. rustls asks for 4 KiB at a time, which is two system calls for an answer of 4 KiB and five
//! for each 16 KiB record of a large one; here one call takes what is there, and rustls is served from memory.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::buffer::with_buffer;
use super::socket::Socket;

/// Most bytes taken at once: four of TLS's largest records.
const AHEAD: usize = 64 * 1024;
/// A store of bytes that grew beyond this is given back when it is empty, as most connections of many are idle.
const KEEP_ALLOCATED: usize = 16 * 1024;

/// A socket whose reads are served from what one larger read brought.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    socket: Socket,
    store: Vec<u8>,
    /// Bytes of `store` that were served.
    served: usize,
}

impl ReadAhead {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, store: Vec::new(), served: 0 }
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    fn serve(&mut self, out: &mut ReadBuf<'_>) {
        let left = &self.store[self.served..];
        let count = left.len().min(out.remaining());
        out.put_slice(&left[..count]);
        self.served += count;
        if self.served == self.store.len() {
            self.served = 0;
            if self.store.capacity() > KEEP_ALLOCATED {
                self.store = Vec::new();
            } else {
                self.store.clear();
            }
        }
    }
}

impl AsyncRead for ReadAhead {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.store.is_empty() {
            this.serve(out);
            return Poll::Ready(Ok(()));
        }
        if out.remaining() >= AHEAD {
            return Pin::new(&mut this.socket).poll_read(cx, out);
        }
        with_buffer(|buffer| {
            let mut read = ReadBuf::new(&mut buffer[..AHEAD]);
            ready!(Pin::new(&mut this.socket).poll_read(cx, &mut read))?;
            let (now, later) = read.filled().split_at(read.filled().len().min(out.remaining()));
            out.put_slice(now);
            this.store.extend_from_slice(later);
            Poll::Ready(Ok(()))
        })
    }
}

impl AsyncWrite for ReadAhead {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    #[tokio::test(flavor = "current_thread")]
    async fn small_reads_give_every_byte_once_and_in_order_and_then_the_end() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sent: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
        let copy = sent.clone();
        let writer = tokio::spawn(async move {
            let (mut peer, _) = listener.accept().await.unwrap();
            peer.write_all(&copy).await.unwrap();
        });
        let mut reader = ReadAhead::new(Socket::new(TcpStream::connect(address).await.unwrap()));
        let mut seen = Vec::new();
        for size in [1, 4096, 100_000, 7].into_iter().cycle() {
            let mut part = vec![0; size];
            let count = reader.read(&mut part).await.unwrap();
            if count == 0 {
                break;
            }
            seen.extend_from_slice(&part[..count]);
            assert!(reader.store.capacity() <= AHEAD);
        }
        assert!(seen == sent, "{} of {} bytes", seen.len(), sent.len());
        writer.await.unwrap();
    }
}
