//! What is sent to receivers every few seconds. Each receiver is a row of [`RECEIVERS`].

use std::sync::Arc;
use std::sync::mpsc::{Receiver as FromThread, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmark_report::export::encode::{influx, otlp_json, remote_write};
use cosmark_report::export::point::Point;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};
use url::{Host, Url};

use super::Shared;
use crate::args::LiveOptions;
use crate::exit::Problem;

/// Between two times.
const EVERY: Duration = Duration::from_secs(5);
/// One request takes no longer.
const PATIENCE: Duration = Duration::from_secs(3);
/// The last one, with what may still be under way.
const LAST_PATIENCE: Duration = Duration::from_secs(7);
/// Text of an answer that is told.
const MOST_ANSWER: u64 = 300;
/// Value of the header `Authorization` for all receivers.
const AUTHORIZATION: &str = "COSMARK_METRICS_AUTHORIZATION";
/// The proxy through which receivers on other machines are reached.
const PROXY: &str = "COSMARK_METRICS_PROXY";

/// A kind of receiver.
pub struct Receiver {
    /// Its flag.
    pub flag: &'static str,
    /// What the user gave.
    pub url: fn(&LiveOptions) -> Option<&str>,
    /// Headers besides `Authorization`.
    headers: &'static [(&'static str, &'static str)],
    /// Path that is used where the URL has none.
    path: &'static str,
    encode: fn(&[Point], Span) -> Result<Vec<u8>, String>,
}

/// From the start of the run until now, nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Span {
    start_ns: i128,
    now_ns: i128,
}

/// Every kind of receiver.
pub const RECEIVERS: &[Receiver] = &[
    Receiver {
        flag: "--remote-write",
        url: |options| options.remote_write.as_deref(),
        headers: &[
            ("Content-Type", "application/x-protobuf"),
            ("Content-Encoding", "snappy"),
            ("X-Prometheus-Remote-Write-Version", "0.1.0"),
        ],
        path: "/api/v1/write",
        encode: |points, span| {
            let now_ms = i64::try_from(span.now_ns / 1_000_000).unwrap_or(0);
            remote_write(points, now_ms).map_err(|error| error.to_string())
        },
    },
    Receiver {
        flag: "--otlp",
        url: |options| options.otlp.as_deref(),
        headers: &[("Content-Type", "application/json")],
        path: "/v1/metrics",
        encode: |points, span| {
            let version = env!("CARGO_PKG_VERSION");
            Ok(otlp_json(points, span.start_ns, span.now_ns, version).to_string().into_bytes())
        },
    },
    Receiver {
        flag: "--influx",
        url: |options| options.influx.as_deref(),
        headers: &[("Content-Type", "text/plain; charset=utf-8")],
        path: "/api/v2/write",
        encode: |points, span| Ok(influx(points, span.now_ns).into_bytes()),
    },
];

/// Where a receiver is reached, and through which proxy.
///
/// # Errors
/// When `text` is no URL of HTTP, or what names the proxy is none.
pub fn endpoint(receiver: &Receiver, text: &str) -> Result<(Url, Option<Proxy>), Problem> {
    let flag = receiver.flag;
    let mut url = Url::parse(text).map_err(|cause| {
        Problem::usage(format!("{flag}: not a URL ({cause}); such as http://host:port/path"))
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(Problem::usage(format!("{flag}: give a URL such as http://host:port/path")));
    }
    if url.path() == "/" {
        url.set_path(receiver.path);
    }
    let proxy = proxy_to(&url, std::env::var(PROXY).ok().as_deref())?;
    Ok((url, proxy))
}

/// The proxy that the user names for metrics; none to what is on this machine. It opens tunnels, and sees nothing of
/// what goes through to an `https` receiver.
fn proxy_to(url: &Url, named: Option<&str>) -> Result<Option<Proxy>, Problem> {
    let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(None) };
    let is_http = Url::parse(named).is_ok_and(|proxy| proxy.scheme() == "http" && proxy.has_host());
    let proxy = Proxy::new(named).ok().filter(|_| is_http).ok_or_else(|| {
        // It may have a password in it, and is not repeated.
        Problem::usage(format!("{PROXY} is not the URL of a proxy such as http://proxy.internal:3128"))
    })?;
    let is_here = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    Ok(Some(proxy).filter(|_| !is_here))
}

/// A receiver that is being sent to.
pub struct Push {
    flag: &'static str,
    /// Dropped at the end.
    stop: SyncSender<()>,
    done: FromThread<Count>,
}

/// How it went.
#[derive(Default)]
struct Count {
    sent: u64,
    failed: u64,
    last_failure: String,
}

impl Push {
    /// Begins to send.
    ///
    /// # Errors
    /// When the URL is not one, or no thread can be started.
    pub fn start(receiver: &'static Receiver, url: &str, sums: Shared) -> Result<Self, Problem> {
        let (url, proxy) = endpoint(receiver, url)?;
        let (stop, stopped) = sync_channel(1);
        let (tell, done) = sync_channel(1);
        let start_ns = now_ns();
        let secure = url.scheme() == "https";
        let work = move || {
            let agent = agent(secure, proxy);
            let authorization = std::env::var(AUTHORIZATION).ok();
            let mut count = Count::default();
            loop {
                let last = stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
                let points = sums.lock().points();
                let sent = (receiver.encode)(&points, Span { start_ns, now_ns: now_ns() })
                    .and_then(|body| send(&agent, receiver, &url, authorization.as_deref(), &body));
                match sent {
                    Ok(()) => count.sent += 1,
                    Err(failure) => {
                        count.failed += 1;
                        count.last_failure = failure;
                    }
                }
                if last {
                    // Nobody may be waiting any more.
                    drop(tell.send(count));
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("metrics-push".to_owned())
            .spawn(work)
            .map_err(|cause| Problem::ours(format!("cannot start a thread: {cause}")))?;
        Ok(Self { flag: receiver.flag, stop, done })
    }

    /// Sends the last sums and says how it went.
    pub fn end(self) -> String {
        let Self { flag, stop, done } = self;
        drop(stop);
        match done.recv_timeout(LAST_PATIENCE) {
            Ok(Count { sent, failed: 0, .. }) => format!("{flag}: metrics sent {sent} times"),
            Ok(Count { sent, failed, last_failure }) => {
                format!("{flag}: metrics sent {sent} times, {failed} times not: {last_failure}")
            }
            Err(_) => format!("{flag}: the receiver did not answer in time; its last metrics are missing"),
        }
    }
}

fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or_default()
}

fn agent(secure: bool, proxy: Option<Proxy>) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        // A login goes where the user said, and nowhere else: no proxy is taken from the environment's `http_proxy`.
        .proxy(proxy)
        .max_redirects(0);
    if secure {
        let found = rustls_native_certs::load_native_certs();
        let roots: Vec<Certificate<'static>> =
            found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .root_certs(RootCerts::new_with_certs(&roots));
        config = config.tls_config(tls.build());
    }
    config.build().into()
}

fn send(
    agent: &Agent,
    receiver: &Receiver,
    url: &Url,
    authorization: Option<&str>,
    body: &[u8],
) -> Result<(), String> {
    let mut request = agent.post(url.as_str());
    for (name, value) in receiver.headers {
        request = request.header(*name, *value);
    }
    if let Some(authorization) = authorization {
        request = request.header("Authorization", authorization);
    }
    let mut answer = request.send(body).map_err(|error| error.to_string())?;
    if answer.status().is_success() {
        return Ok(());
    }
    let text = answer.body_mut().with_config().limit(MOST_ANSWER).lossy_utf8(true).read_to_string();
    let text: String =
        text.unwrap_or_default().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Err(format!("{} {}", answer.status(), text.trim()))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_proxy_is_what_the_user_names_for_metrics_and_none_to_this_machine() {
        let far = url("https://influx.example.com/api/v2/write");
        for named in [None, Some("")] {
            assert!(proxy_to(&far, named).unwrap().is_none());
        }
        for named in ["http://proxy.internal:3128", "http://user:word@10.0.0.1"] {
            assert!(proxy_to(&far, Some(named)).unwrap().is_some(), "{named}");
            for near in ["http://127.0.0.1:9090/", "http://localhost/", "http://[::1]:8086/write"] {
                assert!(proxy_to(&url(near), Some(named)).unwrap().is_none(), "{near}");
            }
        }
        for named in
            ["proxy.internal:3128", "socks5://proxy.internal", "ftp://user:word@x", "http://", "3128"]
        {
            let problem = proxy_to(&far, Some(named)).unwrap_err();
            assert!(!format!("{problem:?}").contains("word"), "{problem:?}");
        }
    }

    #[test]
    fn metrics_go_through_a_tunnel_of_the_proxy() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = std::thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut firsts = Vec::new();
            for answer in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"]
            {
                let head: Vec<String> =
                    stream.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
                firsts.extend(head.first().cloned());
                if firsts.len() == 2 {
                    stream.read_exact(&mut [0; 5]).unwrap();
                }
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            firsts
        });
        // Nobody but the proxy could find that machine.
        let url = url("http://metrics.invalid:8086/write");
        let through = proxy_to(&url, Some(&format!("http://{address}"))).unwrap();
        send(&agent(false, through), &RECEIVERS[0], &url, Some("Token abc"), b"a b=1").unwrap();
        let firsts = proxy.join().unwrap();
        assert_eq!(firsts, ["CONNECT metrics.invalid:8086 HTTP/1.1", "POST /write HTTP/1.1"]);
    }
}
