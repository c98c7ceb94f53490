//! What the server needs of a socket beyond reading and writing, for plain TCP and TLS alike.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A connected stream.
pub(crate) trait Sock: AsyncRead + AsyncWrite + Unpin {
    /// Whether bytes on the wire are the bytes of the stream, so that socket tricks work.
    const PLAIN: bool;

    /// The TCP socket below.
    fn tcp(&self) -> &TcpStream;
}

impl Sock for TcpStream {
    const PLAIN: bool = true;

    fn tcp(&self) -> &TcpStream {
        self
    }
}

#[cfg(feature = "tls")]
impl Sock for tokio_rustls::server::TlsStream<TcpStream> {
    const PLAIN: bool = false;

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Makes the next close of the socket a reset (RST) instead of an orderly end.
pub(crate) fn arm_reset(tcp: &TcpStream) {
    // If the option cannot be set the peer is gone already, and there is nobody to reset.
    let _gone = rustix::net::sockopt::set_socket_linger(tcp, Some(Duration::ZERO));
}

/// Bytes that one call discards at most.
const DRAIN: usize = 256 * 1024;

/// Discards up to `most` bytes of what the peer sent, without copying them where the system can do that
/// (MSG_TRUNC, tcp(7)). 0 means the peer ended.
pub(crate) async fn drain(tcp: &TcpStream, most: u64) -> io::Result<usize> {
    thread_local! { static SCRATCH: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; DRAIN]) }
    let most = most.min(DRAIN as u64) as usize;
    #[cfg(target_os = "linux")]
    return tcp
        .async_io(tokio::io::Interest::READABLE, || {
            use std::os::fd::AsRawFd as _;
            let taken = SCRATCH.with_borrow_mut(|scratch| {
                // SAFETY: the buffer holds DRAIN writable bytes and `most` is no larger.
                unsafe {
                    libc::recv(
                        tcp.as_raw_fd(),
                        scratch.as_mut_ptr().cast(),
                        most,
                        libc::MSG_TRUNC | libc::MSG_DONTWAIT,
                    )
                }
            });
            if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as usize) }
        })
        .await;
    #[cfg(not(target_os = "linux"))]
    loop {
        tcp.readable().await?;
        match SCRATCH.with_borrow_mut(|scratch| tcp.try_read(&mut scratch[..most])) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
    }
}
