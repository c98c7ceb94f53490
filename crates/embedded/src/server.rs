//! HTTP/1.1 on threads of its own: accept, serve, end in bounded time.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use s3s::service::S3Service;
use s3s::{Body, S3Error, S3ErrorCode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::Error;
use crate::bodies::Flowing;
use crate::heads::{HEAD_PATIENCE, HeadClock, Heard};

/// Connections that wait to be accepted; the system may allow less (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;
/// For requests that run when the store is stopped.
const GRACE: Duration = Duration::from_secs(2);
/// For system calls that run after that.
const LAST_GRACE: Duration = Duration::from_secs(1);
/// Pause after a failed accept: the reason (no file descriptor left) takes time to pass.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long and how much is read from a client that was answered while it still sent its body.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: u64 = 64 << 20;
/// Threads beyond the cores, for those that wait for the disk.
const FEWEST_THREADS: usize = 4;

/// Binds the address.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Ports of connections in TIME_WAIT may be taken again; one that another socket listens on may not.
    net::sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the threads.
    pub(crate) fn start(listener: TcpListener, service: S3Service) -> Result<Self, Error> {
        let (stop, stopped) = watch::channel(false);
        let (tell, told) = sync_channel(1);
        let main = move || {
            let ready = runtime().and_then(|runtime| {
                let _inside = runtime.enter();
                let listener = tokio::net::TcpListener::from_std(listener)?;
                Ok((listener, runtime))
            });
            let (listener, runtime) = match ready {
                Ok(ready) => ready,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let _ = tell.send(Ok(()));
            runtime.block_on(accept(listener, Front::new(service), stopped));
            runtime.shutdown_timeout(LAST_GRACE);
        };
        let builder = std::thread::Builder::new().name("cosmark-store".into());
        let thread = builder.spawn(main).map_err(Error::Threads)?;
        match told.recv() {
            Ok(Ok(())) => Ok(Self { stop, thread: Some(thread) }),
            Ok(Err(error)) => Err(Error::Threads(error)),
            Err(_) => Err(Error::Threads(io::Error::other("the server's thread ended"))),
        }
    }

    /// Ends it: no new connections, then up to [`GRACE`] and [`LAST_GRACE`] for what runs. Safe to call twice.
    pub(crate) fn stop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.max(FEWEST_THREADS))
        .thread_name("cosmark-store")
        .enable_all()
        .build()
}

async fn accept(listener: tokio::net::TcpListener, front: Front, mut stopped: watch::Receiver<bool>) {
    // Each connection holds a sender; when all are gone the receiver ends.
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                let (front, stopped, alive) = (front.clone(), stopped.clone(), alive.clone());
                tokio::spawn(async move {
                    connection(stream, front, stopped).await;
                    drop(alive);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    drop((listener, alive));
    let _ = timeout(GRACE, all_gone.recv()).await;
}

/// No time limit on idle connections: a client that keeps some for later is not wrong, and each costs only itself. A
/// head or a body that has begun has one.
async fn connection<S>(stream: S, front: Front, mut stopped: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let clock = HeadClock::default();
    let mut builder = http1::Builder::new();
    builder.timer(clock.clone()).header_read_timeout(HEAD_PATIENCE);
    let mut connection = builder.serve_connection(TokioIo::new(Heard::new(stream, clock)), front);
    {
        let mut stop = pin!(stopped.wait_for(|stop| *stop));
        let mut stopping = false;
        loop {
            tokio::select! {
                _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break,
                _ = &mut stop, if !stopping => {
                    stopping = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        }
    }
    let stream = connection.into_parts().io.into_inner().into_inner();
    tokio::select! {
        () = linger(stream) => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

/// Lets a client that still sends its body read the answer. Closing at once would reset the connection, and with it
/// the answer that says what was wrong.
async fn linger<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let drain = async {
        let mut rest = stream.take(LINGER_BYTES);
        let mut block = vec![0; 8 << 10];
        while rest.read(&mut block).await.is_ok_and(|n| n > 0) {}
    };
    let _ = timeout(LINGER, drain).await;
}

/// Passes requests to `s3s` and numbers the answers.
#[derive(Clone)]
struct Front {
    service: S3Service,
    answered: Arc<AtomicU64>,
}

impl Front {
    fn new(service: S3Service) -> Self {
        Self { service, answered: Arc::default() }
    }
}

impl hyper::service::Service<Request<Incoming>> for Front {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let Self { service, answered } = self.clone();
        Box::pin(async move {
            let mut response = match service.call(request.map(flowing)).await {
                Ok(response) => response,
                Err(_) => spoiled(),
            };
            let number = answered.fetch_add(1, Ordering::Relaxed);
            if let Ok(value) = HeaderValue::try_from(format!("{number:016X}")) {
                response.headers_mut().insert(HeaderName::from_static("x-amz-request-id"), value);
            }
            response.headers_mut().insert(hyper::header::SERVER, HeaderValue::from_static("Cosmark"));
            Ok(response)
        })
    }
}

/// A body that has to go on, where there is one.
fn flowing(body: Incoming) -> Body {
    if body.is_end_stream() { Body::from(body) } else { Body::http_body(Flowing::new(body)) }
}

/// The answer where one could not be spelled.
fn spoiled() -> Response<Body> {
    let error =
        S3Error::with_message(S3ErrorCode::InternalError, "the answer cannot be written in XML or headers");
    error.to_http_response().unwrap_or_else(|_| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use s3s::service::S3ServiceBuilder;
    use tokio::io::DuplexStream;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::bodies::BODY_PATIENCE;
    use crate::protocol::Protocol;
    use crate::store::Store;

    const FIRST_HALF: &[u8] = b"GET / HTTP/1.1\r\nHost: ";
    const SECOND_HALF: &[u8] = b"x\r\n\r\n";
    const NEARLY: Duration = Duration::from_secs(59);

    fn front(place: &tempfile::TempDir) -> Front {
        let store = Arc::new(Store::open(place.path(), None).unwrap());
        Front::new(S3ServiceBuilder::new(Protocol::new(store)).build())
    }

    async fn answered(client: &mut DuplexStream) {
        let mut head = [0; 9];
        client.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 ");
        // What is left of the answer comes at once.
        let mut rest = vec![0; 16 << 10];
        while timeout(Duration::from_secs(1), client.read(&mut rest))
            .await
            .is_ok_and(|read| read.unwrap() > 0)
        {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_ends_within_a_minute_and_a_connection_without_one_stays() {
        let place = tempfile::tempdir().unwrap();
        let (mut client, server) = tokio::io::duplex(64 << 10);
        let (_stop, stopped) = watch::channel(false);
        let served = tokio::spawn(connection(server, front(&place), stopped));
        for idle in [NEARLY, Duration::from_secs(3600), Duration::from_millis(61_500)] {
            sleep(idle).await;
            client.write_all(FIRST_HALF).await.unwrap();
            sleep(NEARLY).await;
            client.write_all(SECOND_HALF).await.unwrap();
            answered(&mut client).await;
        }
        assert!(!served.is_finished());
        let begun = Instant::now();
        client.write_all(FIRST_HALF).await.unwrap();
        client.read_to_end(&mut Vec::new()).await.unwrap();
        let took = begun.elapsed();
        assert!(took >= HEAD_PATIENCE && took < HEAD_PATIENCE + Duration::from_secs(1), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_drop_by_drop_is_cut_too() {
        let place = tempfile::tempdir().unwrap();
        let (mut client, server) = tokio::io::duplex(64 << 10);
        let (_stop, stopped) = watch::channel(false);
        let served = tokio::spawn(connection(server, front(&place), stopped));
        for byte in FIRST_HALF.iter().cycle().take(10) {
            let _ = client.write_all(&[*byte]).await;
            sleep(Duration::from_secs(10)).await;
        }
        assert!(served.is_finished());
    }
    #[tokio::test(start_paused = true)]
    async fn half_a_body_is_answered_after_two_minutes_and_its_connection_ends() {
        let place = tempfile::tempdir().unwrap();
        let (mut client, server) = tokio::io::duplex(64 << 10);
        let (_stop, stopped) = watch::channel(false);
        let served = tokio::spawn(connection(server, front(&place), stopped));
        client.write_all(b"PUT /bucket HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        answered(&mut client).await;
        let begun = Instant::now();
        client
            .write_all(b"PUT /bucket/key HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
            .await
            .unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        let took = begun.elapsed();
        assert!(took >= BODY_PATIENCE && took < BODY_PATIENCE + Duration::from_secs(1), "{took:?}");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("RequestTimeout"), "{answer}");
        drop(client);
        served.await.unwrap();
    }
}
