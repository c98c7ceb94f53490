//! The `sproxyd` storage: Scality RING's sproxyd connectors, which are plain HTTP by path over several hosts. Source: the
//! behaviour of COSBench's adaptor, whose keys and defaults these are.
//!
//! Each worker has a connection to every host and uses them in turn. A host that cannot be reached is left out for ten
//! seconds, unless no other is left. Nothing is sent twice: what COSBench retried (a write, up to three times) is a failure
//! here. There are no containers; their names are the beginning of the path. Ports and HTTPS are those of `port` and of
//! hosts that are written as URLs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, BodySink, BodySource, ByteRange, Capability, Client, Error, ErrorKind, Key, KeyKind,
    Marks, ObjectName, PutOptions, PutOutcome, ReadOutcome, Result, Session, Settings,
};

use crate::common_keys::{LOGGING, TIMEOUT};
use crate::forward::forward;
use crate::http::request::{Link, checked_name, one_line};
use crate::http::{
    Answer, Body, Endpoint, PlainChunks, STORE_KEYS, Take, concat_keys, header, header_number, push_escaped,
};

const OWN_KEYS: &[Key] = &[
    Key::new("hosts", KeyKind::List, "names or addresses of the connectors, or their URLs")
        .alias(&["host", "endpoint"])
        .default("127.0.0.1"),
    Key::new("port", KeyKind::Int(1, 65_535), "port of hosts that are written without one").default("81"),
    Key::new("base_path", KeyKind::Text, "path of the connectors' driver by path").default("/proxy/chord"),
    Key::new("pool_size", KeyKind::Text, "no effect: each worker has a connection to each host")
        .default("60,10"),
    TIMEOUT,
    LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + STORE_KEYS.len() }>(OWN_KEYS, STORE_KEYS);

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::HEAD,
    Capability::RANGE,
    Capability::CHUNKED,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "sproxyd",
    aliases: &[],
    summary: "Scality sproxyd by path, over a list of hosts; tried against a scripted server only, not against a product",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: AdaptorDef::takes_nothing,
};

/// How long a host that cannot be reached is left out.
const LEFT_OUT: Duration = Duration::from_secs(10);

struct Sproxyd {
    hosts: Arc<[Arc<Endpoint>]>,
    /// Escaped; empty or begins with a slash.
    base_path: Arc<str>,
    timeout: Option<Duration>,
    /// Workers begin with different hosts.
    turn: AtomicUsize,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let port = settings.int("port").unwrap_or(81);
    let hosts: Result<Vec<_>> =
        settings.list("hosts").iter().map(|host| Endpoint::new(&url_of(host, port), settings)).collect();
    let hosts = hosts?;
    if hosts.is_empty() {
        return Err(Error::new(ErrorKind::Config, "no such key defined: hosts")
            .with_hint("give the connectors' names, separated by commas"));
    }
    let mut base_path = Vec::new();
    for segment in settings.text("base_path").split('/').filter(|segment| !segment.is_empty()) {
        base_path.push(b'/');
        push_escaped(&mut base_path, segment, false);
    }
    Ok(Arc::new(Sproxyd {
        hosts: hosts.into(),
        base_path: String::from_utf8_lossy(&base_path).into(),
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
        turn: AtomicUsize::new(0),
    }))
}

fn url_of(host: &str, port: i64) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(name, port)| {
        !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && (!name.contains(':') || name.ends_with(']'))
    });
    match (host.contains("://"), has_port) {
        (true, _) => host.to_owned(),
        (false, true) => format!("http://{host}"),
        (false, false) if host.contains(':') && !host.starts_with('[') => format!("http://[{host}]:{port}"),
        (false, false) => format!("http://{host}:{port}"),
    }
}

impl Adaptor for Sproxyd {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn client(&self, _: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(SproxydClient {
            channels: self
                .hosts
                .iter()
                .map(|host| HostChannel { link: Link::new(host), out_until: None })
                .collect(),
            next: self.turn.fetch_add(1, Ordering::Relaxed) % self.hosts.len(),
            base_path: Arc::clone(&self.base_path),
        }))
    }
}

/// One host.
struct HostChannel {
    link: Link,
    out_until: Option<Instant>,
}

struct SproxydClient {
    channels: Vec<HostChannel>,
    next: usize,
    base_path: Arc<str>,
}

impl SproxydClient {
    /// The next host that is not left out; if all are, the next one all the same.
    fn choose(&mut self) -> usize {
        let first = self.next;
        let count = self.channels.len();
        let now = || Instant::now();
        let found = (0..count)
            .map(|step| (first + step) % count)
            .find(|at| self.channels[*at].out_until.is_none_or(|until| now() >= until));
        let chosen = found.unwrap_or(first);
        self.next = (chosen + 1) % count;
        chosen
    }

    /// Begins a request at the next host; gives its place.
    fn start(&mut self, name: ObjectName<'_>) -> Result<usize> {
        checked_name(name.container)?;
        checked_name(name.object)?;
        let at = self.choose();
        let link = &mut self.channels[at].link;
        link.start(&self.base_path);
        link.push_name(name.container, false);
        link.push_name(name.object, false);
        Ok(at)
    }

    async fn send(
        &mut self,
        at: usize,
        method: &str,
        body: Body<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        let channel = &mut self.channels[at];
        let result = channel.link.send(method, body, take, marks).await;
        let is_gone = matches!(&result, Err(error) if error.kind().is_unreachable());
        channel.out_until = if is_gone { Instant::now().checked_add(LEFT_OUT) } else { None };
        result
    }

    fn failure(&self, at: usize, method: &str, name: ObjectName<'_>, status: u16) -> Error {
        let connection = &self.channels[at].link.connection;
        let host = connection.endpoint().host_header();
        let mut message = format!("{method} {}/{} at {host}: status {status}", name.container, name.object);
        if let Some(told) =
            connection.header("x-scal-ring-status").or_else(|| connection.header("x-scal-message"))
        {
            message.push_str(": ");
            message.push_str(&one_line(told));
        }
        let error = Error::new(ErrorKind::Status(status), message);
        let hint = match status {
            404 => "it is not there, or base_path is not that of the connector's driver by path",
            422 | 400 => "the connector does not take this path: is base_path that of a driver by path?",
            423 => "another client is writing it",
            507 => "the ring is full",
            500..=599 => "look at the connector's log",
            _ => return error,
        };
        error.with_hint(hint)
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        let at = self.start(name)?;
        if let Some(range) = range {
            self.channels[at].link.push_range(range);
        }
        let answer = self.send(at, "GET", Body::None, Take::from_sink(sink), marks).await?;
        match self.channels[at].link.connection.checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(self.failure(at, "GET", name, answer.status)),
        }
    }

    async fn write(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        options: PutOptions,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        let at = self.start(name)?;
        let lines = &mut self.channels[at].link.lines;
        header(lines, "Content-Type", "application/octet-stream");
        let mut chunks = PlainChunks;
        let content = if options.chunked {
            header(lines, "Transfer-Encoding", "chunked");
            Body::Coded(body, &mut chunks)
        } else {
            header_number(lines, "Content-Length", body.len());
            Body::Sized(body)
        };
        let answer = self.send(at, "PUT", content, Take::Discard, marks).await?;
        match answer.status {
            200 | 201 | 204 => Ok(PutOutcome { bytes: body.len(), accepted_only: false }),
            status => Err(self.failure(at, "PUT", name, status)),
        }
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        let at = self.start(name)?;
        let answer = self.send(at, "DELETE", Body::None, Take::Discard, marks).await?;
        if answer.is_success() { Ok(()) } else { Err(self.failure(at, "DELETE", name, answer.status)) }
    }

    async fn inspect(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        let at = self.start(name)?;
        let answer = self.send(at, "HEAD", Body::None, Take::Discard, marks).await?;
        if answer.is_success() {
            return Ok(answer.content_length);
        }
        Err(self.failure(at, "HEAD", name, answer.status))
    }

    /// Asks every host for its configuration, as COSBench did; one that answers is enough.
    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        let mut first = None;
        for at in 0..self.channels.len() {
            let link = &mut self.channels[at].link;
            link.start(&self.base_path);
            link.target.extend_from_slice(b"/.conf");
            match self.send(at, "GET", Body::None, Take::Discard, marks).await {
                Ok(answer) if answer.status < 500 => return Ok(()),
                Ok(answer) => {
                    let name = ObjectName { container: "", object: ".conf" };
                    first.get_or_insert(self.failure(at, "GET", name, answer.status));
                }
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
        first.map_or(Ok(()), Err)
    }
}

impl Client for SproxydClient {
    fn set_session(&mut self, _: &Arc<Session>) {}

    forward!(
        probe => check,
        get => read,
        put => write,
        delete => remove,
        head => inspect,
    );
}

#[cfg(test)]
mod tests;
