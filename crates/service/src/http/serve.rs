//! Listening: TLS or not, what a connection may take, and a graceful end.

use data_encoding::HEXUPPER;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::ServiceError;
use crate::auth::keys::digest;
use crate::http::places::{Place, Places};
use crate::state::StateDir;

/// Certificate and key that the controller made itself.
const CERT: &str = "tls-cert.pem";
const KEY: &str = "tls-key.pem";
/// A head of a request has to come within this time, and so has a TLS handshake.
const HEAD_PATIENCE: Duration = Duration::from_secs(15);
/// A client that takes nothing for so long is cut.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// How it is spoken to.
#[derive(Debug, Clone)]
pub enum Tls {
    /// In the clear.
    Off,
    /// With a certificate that is made at the first start and kept.
    Own,
    /// With these files (PEM).
    Given {
        /// The certificate and those above it.
        cert: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// What TLS needs, and the SHA-256 of the certificate for who wants to compare.
pub struct Secured {
    config: Arc<ServerConfig>,
    /// As browsers show it.
    pub fingerprint: String,
}

/// Reads or makes the certificate; `None` = in the clear.
///
/// # Errors
/// When a file cannot be read or is none.
pub fn secure(tls: &Tls, state: &StateDir, names: &[String]) -> Result<Option<Secured>, ServiceError> {
    let (cert, key) = match tls {
        Tls::Off => return Ok(None),
        Tls::Given { cert, key } => (cert.clone(), key.clone()),
        Tls::Own => {
            if state.read(CERT)?.is_none() || state.read(KEY)?.is_none() {
                let made = rcgen::generate_simple_self_signed(names.to_vec())
                    .map_err(|cause| ServiceError::Tls(format!("no certificate could be made: {cause}")))?;
                state.write(KEY, made.signing_key.serialize_pem().as_bytes())?;
                state.write(CERT, made.cert.pem().as_bytes())?;
            }
            (state.path(CERT), state.path(KEY))
        }
    };
    let bad = |path: &PathBuf, cause: &dyn std::fmt::Display| {
        ServiceError::Tls(format!(
            "{}: {cause}; give PEM files with --tls-cert and --tls-key",
            path.display()
        ))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&cert)
        .and_then(Iterator::collect)
        .map_err(|cause| bad(&cert, &cause))?;
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|cause| bad(&key, &cause))?;
    let first = chain.first().ok_or_else(|| bad(&cert, &"there is no certificate in it"))?;
    let fingerprint = fingerprint_of(first);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| bad(&cert, &cause))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|cause| bad(&cert, &cause))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Secured { config: Arc::new(config), fingerprint }))
}

/// The SHA-256 of a certificate, as browsers show it.
#[must_use]
pub fn fingerprint_of(certificate: &CertificateDer<'_>) -> String {
    let hex = HEXUPPER.encode(digest(certificate).as_ref());
    let pairs: Vec<&str> = (0..hex.len()).step_by(2).filter_map(|at| hex.get(at..at + 2)).collect();
    pairs.join(":")
}

/// Opens the address.
///
/// # Errors
/// When it is taken or not ours.
pub fn listen(address: SocketAddr) -> Result<TcpListener, ServiceError> {
    let fail = |cause| ServiceError::Listen { listen: address, cause };
    let listener = TcpListener::bind(address).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    Ok(listener)
}

/// Answers until the handle says that it is enough, each connection in a place of its own.
///
/// # Errors
/// When the listener breaks.
pub async fn serve(
    listener: TcpListener,
    secured: Option<Secured>,
    router: Router,
    handle: Handle<SocketAddr>,
    places: Arc<Places>,
) -> Result<(), ServiceError> {
    serve_within(listener, secured, router, handle, places, HEAD_PATIENCE).await
}

/// The same with another patience for heads and handshakes. HTTP/1.1 is all that is spoken: who would tell versions apart first
/// waits without end for a client that sends nothing, and HTTP/2 has no such limit.
async fn serve_within(
    listener: TcpListener,
    secured: Option<Secured>,
    router: Router,
    handle: Handle<SocketAddr>,
    places: Arc<Places>,
    patience: Duration,
) -> Result<(), ServiceError> {
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let mut server = axum_server::from_tcp(listener).map_err(ServiceError::Start)?.handle(handle);
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(patience);
    let bounded = Bounded { places };
    let served = match secured {
        None => server.acceptor(bounded).http1_only().serve(service).await,
        Some(secured) => {
            let config = RustlsConfig::from_config(secured.config);
            let acceptor = RustlsAcceptor::new(config).handshake_timeout(patience).acceptor(bounded);
            server.acceptor(acceptor).http1_only().serve(service).await
        }
    };
    served.map_err(ServiceError::Start)
}

/// Gives each connection a place and a limit on how long it may take nothing. One that finds no place is closed.
#[derive(Clone)]
struct Bounded {
    places: Arc<Places>,
}

impl<S> Accept<TcpStream, S> for Bounded {
    type Stream = Patient;
    type Service = S;
    type Future = std::future::Ready<io::Result<(Patient, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        std::future::ready(self.seat(stream).map(|patient| (patient, service)))
    }
}

impl Bounded {
    fn seat(&self, stream: TcpStream) -> io::Result<Patient> {
        let from = stream.peer_addr()?.ip();
        let place = self.places.take(from).ok_or(io::ErrorKind::ConnectionRefused)?;
        stream.set_nodelay(true)?;
        Ok(Patient { stream, waiting: None, place })
    }
}

/// A connection that breaks when nothing can be written to it for [`WRITE_PATIENCE`], or its place was given away.
struct Patient {
    stream: TcpStream,
    waiting: Option<Pin<Box<Sleep>>>,
    place: Place,
}

impl Patient {
    fn bounded<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.waiting = None;
            return poll;
        }
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + WRITE_PATIENCE)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.place.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.place.check(cx)?;
        let poll = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.bounded(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.place.check(cx)?;
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.bounded(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(cx);
        self.bounded(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// What comes until the connection is cut.
    async fn heard(address: SocketAddr, sent: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut answer = Vec::new();
        // It may be reset as well as closed.
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "held open after {:?}", String::from_utf8_lossy(sent));
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn who_sends_no_head_is_cut_whatever_it_began_with() {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let (router, handle) = (Router::new().route("/", get(|| async { "here" })), Handle::new());
        let places = Places::here(Arc::new(|_: &str| {}));
        // Longer than a busy machine takes from a connection to its head.
        let patience = Duration::from_secs(6);
        let serving = tokio::spawn(serve_within(listener, None, router, handle.clone(), places, patience));
        let http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let (nothing, a_letter, half, other, whole) = tokio::join!(
            heard(address, b""),
            heard(address, b"P"),
            heard(address, b"GET / HTTP/1.1\r\nHost: x\r\n"),
            heard(address, http2),
            heard(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        );
        for answer in [nothing, a_letter, half, other] {
            assert!(!answer.contains("here"), "{answer}");
        }
        // It is served, and cut when no other request comes.
        assert!(whole.starts_with("HTTP/1.1 200") && whole.ends_with("here"), "{whole}");
        handle.shutdown();
        serving.await.unwrap().unwrap();
    }

    /// A connection from this address that was answered, so that it has its place.
    async fn seated(from: [u8; 4], to: SocketAddr) -> io::Result<TcpStream> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((from, 0)))?;
        let mut stream = socket.connect(to).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"here") {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(stream)
    }

    async fn is_cut(stream: &mut TcpStream) -> bool {
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut [0; 1])).await;
        matches!(read, Ok(Ok(0) | Err(_)))
    }

    #[tokio::test]
    async fn who_opens_more_connections_than_are_free_is_cut_at_once_and_shuts_nobody_out() {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let (router, handle) = (Router::new().route("/", get(|| async { "here" })), Handle::new());
        let places = Places::of(7, Arc::new(|_: &str| {}));
        // Nobody is cut for saying nothing.
        let patience = Duration::from_secs(600);
        let serving = tokio::spawn(serve_within(listener, None, router, handle.clone(), places, patience));
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(seated([127, 0, 0, 1], address).await.unwrap());
        }
        for _ in 0..20 {
            let mut more = TcpStream::connect(address).await.unwrap();
            assert!(is_cut(&mut more).await);
        }
        let mut others = Vec::new();
        for last in 2..6 {
            others.push(seated([127, 0, 0, last], address).await.unwrap());
        }
        // Three places were free; the fourth was the newest of who has the most.
        let mut newest = held.pop().unwrap();
        assert!(is_cut(&mut newest).await);
        for stream in held.iter_mut().chain(&mut others) {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            assert!(stream.read(&mut [0; 512]).await.unwrap() > 0);
        }
        // Who has left has no place any more, once that was seen.
        drop((held, others));
        let mut again = seated([127, 0, 0, 1], address).await;
        for _ in 0..3000 {
            if again.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            again = seated([127, 0, 0, 1], address).await;
        }
        assert!(again.is_ok(), "{again:?}");
        handle.shutdown();
        serving.await.unwrap().unwrap();
    }
}
