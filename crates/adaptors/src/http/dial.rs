//! Opening a connection: addresses in turn, the proxy's CONNECT, the TLS handshake.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use cosmark_adaptor_api::{Error, ErrorKind, Result, clock};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::decode::{Decoder, Event};
use super::endpoint::{Endpoint, preferred};
use super::read_ahead::ReadAhead;
use super::socket::Socket;
use super::tls;

/// How long one address may take to answer while others are left to try.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_secs(5);

/// An open byte stream.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<ReadAhead>>),
}

impl Transport {
    pub(crate) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0.socket(),
        }
    }

    pub(crate) fn socket_mut(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_mut().0.socket_mut(),
        }
    }

    pub(crate) fn poll_write_pieces(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, pieces),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
        }
    }

    /// Sends what the layer under us still holds.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }
}

/// A connection that was opened.
pub(crate) struct Dialled {
    pub(crate) transport: Transport,
    /// Which address it came to.
    pub(crate) address: SocketAddr,
    /// What the TLS handshake took of the time.
    pub(crate) tls_ns: u64,
}

/// Opens a connection to the endpoint, starting with its address number `turn`.
pub(crate) async fn dial(endpoint: &Endpoint, turn: usize) -> Result<Dialled> {
    let addresses = endpoint.addresses().await?;
    let (mut socket, address) = match connect_any(endpoint, &addresses, turn).await {
        Ok(found) => found,
        Err(error) => {
            endpoint.forget_addresses();
            return Err(error);
        }
    };
    let Some(tls) = &endpoint.tls else {
        return Ok(Dialled { transport: Transport::Plain(Socket::new(socket)), address, tls_ns: 0 });
    };
    if endpoint.proxy.is_some() {
        open_tunnel(endpoint, &mut socket).await?;
    }
    let since_ns = clock::now_ns();
    let connector = TlsConnector::from(std::sync::Arc::clone(&tls.config));
    let stream = connector
        .connect(tls.name.clone(), ReadAhead::new(Socket::new(socket)))
        .await
        .map_err(|error| tls::describe(&error, endpoint.host_header()))?;
    let tls_ns = clock::now_ns().saturating_sub(since_ns);
    Ok(Dialled { transport: Transport::Tls(Box::new(stream)), address, tls_ns })
}

async fn connect_any(
    endpoint: &Endpoint,
    addresses: &[SocketAddr],
    turn: usize,
) -> Result<(TcpStream, SocketAddr)> {
    let (front, reserve) = addresses.split_at(preferred(addresses).len());
    let (second, first) = front.split_at(turn.checked_rem(front.len()).unwrap_or(0));
    let order: Vec<SocketAddr> = first.iter().chain(second).chain(reserve).copied().collect();
    let mut failure = None;
    for (at, address) in order.iter().enumerate() {
        let attempt = connect_one(endpoint, *address);
        let result = if at + 1 == order.len() {
            attempt.await
        } else {
            let limited = tokio::time::timeout(NEXT_ADDRESS_AFTER, attempt).await;
            limited.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        match result {
            Ok(socket) => return Ok((socket, *address)),
            Err(error) => failure = Some(describe_connect(endpoint, *address, &error)),
        }
    }
    Err(failure.unwrap_or_else(|| Error::new(ErrorKind::Connect, "the endpoint has no address")))
}

async fn connect_one(endpoint: &Endpoint, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_nodelay(true)?;
    if let Some(bytes) = endpoint.send_buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = endpoint.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    if let Some(source) = endpoint.source {
        choose_port_late(&socket)?;
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.connect(address).await
}

/// Without this every bound socket takes a local port of its own, whatever its peer (`IP_BIND_ADDRESS_NO_PORT`, ip(7)).
#[cfg(target_os = "linux")]
fn choose_port_late(socket: &TcpSocket) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let yes: libc::c_int = 1;
    // SAFETY: the value is a live int of the length given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const yes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn choose_port_late(_: &TcpSocket) -> io::Result<()> {
    Ok(())
}

fn describe_connect(endpoint: &Endpoint, address: SocketAddr, error: &io::Error) -> Error {
    let key = if endpoint.proxy.is_some() { "proxyhost and proxyport" } else { "the endpoint" };
    let code = error.raw_os_error();
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            Error::new(ErrorKind::Connect, format!("nothing listens at {address} (connection refused)"))
                .with_hint(format!("check {key} and that the service runs"))
        }
        io::ErrorKind::TimedOut => {
            Error::new(ErrorKind::Connect, format!("{address} does not answer (connection timed out)"))
                .with_hint(format!("check {key}, and firewalls on the way"))
        }
        io::ErrorKind::AddrNotAvailable if endpoint.source.is_some() => Error::new(
            ErrorKind::Connect,
            format!("no connection from source_address to {address} is possible ({error})"),
        )
        .with_hint("source_address must be an address of this machine with local ports left"),
        io::ErrorKind::AddrNotAvailable => Error::new(
            ErrorKind::LocalIo,
            format!("this machine has no local port left for {address}"),
        )
        .with_hint(
            "too many connections were opened and closed: keep connections alive, or use more drivers",
        ),
        _ if code == Some(libc::EMFILE) || code == Some(libc::ENFILE) => {
            Error::new(ErrorKind::LocalIo, "this process has too many open files to open a connection")
                .with_hint("raise the limit with `ulimit -n`, or use fewer workers")
        }
        _ => Error::new(ErrorKind::Connect, format!("{address} cannot be reached ({error})"))
            .with_hint(format!("check {key} and the network")),
    }
}

/// Asks the proxy for a tunnel (RFC 9110, section 9.3.6).
async fn open_tunnel(endpoint: &Endpoint, socket: &mut TcpStream) -> Result<()> {
    let authority = match endpoint.host() {
        host if host.contains(':') => format!("[{host}]:{}", endpoint.port()),
        host => format!("{host}:{}", endpoint.port()),
    };
    let proxy = endpoint.peer_text();
    let broken = |error: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::Connect,
            format!("{proxy} broke off while opening a tunnel to {authority}: {error}"),
        )
        .with_hint("check proxyhost and proxyport")
    };
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.map_err(|error| broken(&error))?;
    let mut decoder = Decoder::new();
    decoder.start(true);
    let mut buffer = [0_u8; 1024];
    loop {
        let count = socket.read(&mut buffer).await.map_err(|error| broken(&error))?;
        if count == 0 {
            return Err(broken(&"it closed the connection"));
        }
        let mut rest = &buffer[..count];
        loop {
            let (used, event) = decoder.push(rest, |_| {}).map_err(|error| broken(&error))?;
            rest = &rest[used..];
            match event {
                Event::More => break,
                Event::Interim => {}
                Event::Head | Event::Done if (200..300).contains(&decoder.status) => return Ok(()),
                Event::Head | Event::Done => {
                    let status = decoder.status;
                    let message = format!("{proxy} refuses a tunnel to {authority}: status {status}");
                    return Err(Error::new(ErrorKind::Connect, message)
                        .with_hint("the proxy must allow CONNECT to this host and port"));
                }
            }
        }
    }
}
