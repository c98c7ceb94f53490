//! The `swift_object` storage: Swift's object servers without the proxy, as swift-bench's direct mode has it. The ring says
//! which node holds an object; the request goes to the one replica that `replica` names. Source: `swift/common/direct_client.py`
//! and `swift/obj/server.py`.
//!
//! It shows what the object servers and their disks can do when no proxy is in the way. What is written this way stands on
//! one node and in no container's listing until Swift's replicator and updater come by: it is for measuring, not for data.

mod ring;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, BodySink, BodySource, ByteRange, Capability, Client, Error, ErrorKind, Key, KeyKind,
    Marks, ObjectName, PutOptions, PutOutcome, ReadOutcome, Result, Session, Settings,
};

use crate::common_keys::TIMEOUT;
use crate::forward::forward;
use crate::http::request::{Link, checked_name};
use crate::http::{
    Answer, Body, Endpoint, PlainChunks, STORE_KEYS, Take, concat_keys, header, header_number,
};
use ring::{Device, HashPath, Ring};

const OWN_KEYS: &[Key] = &[
    Key::new(
        "ring",
        KeyKind::File,
        "a copy of the cluster's object.ring.gz (or object-POLICY.ring.gz) on the driver",
    ),
    Key::new(
        "swift_conf",
        KeyKind::File,
        "a copy of the cluster's swift.conf, for what is mixed into hashes of names",
    ),
    Key::new("hash_path_prefix", KeyKind::Text, "swift_hash_path_prefix, where swift_conf is not given")
        .secret(),
    Key::new("hash_path_suffix", KeyKind::Text, "swift_hash_path_suffix, where swift_conf is not given")
        .secret(),
    Key::new("account", KeyKind::Text, "account that the objects belong to").default("AUTH_test"),
    Key::new("policy_index", KeyKind::Int(0, 1000), "number of the storage policy, that of the ring")
        .default("0"),
    Key::new("replica", KeyKind::Int(1, 64), "which of an object's nodes is spoken to").default("1"),
    TIMEOUT,
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
    name: "swift_object",
    aliases: &[],
    summary: "Swift's object servers directly, past the proxy, by the ring",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: AdaptorDef::takes_nothing,
};

struct Cluster {
    ring: Ring,
    salt: HashPath,
    /// One for each object server, with its address.
    servers: Vec<((String, u16), Arc<Endpoint>)>,
    account: String,
    policy_index: i64,
    replica: usize,
    timeout: Option<Duration>,
}

struct SwiftObject {
    cluster: Arc<Cluster>,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let ring = Ring::read(&PathBuf::from(settings.required("ring")?))?;
    let replica = usize::try_from(settings.int("replica").unwrap_or(1)).unwrap_or(1);
    if replica > ring.replicas() {
        let message = format!("replica={replica}, but the ring has {} replicas", ring.replicas());
        return Err(Error::new(ErrorKind::Config, message).with_hint("give a replica that the ring has"));
    }
    let mut servers: Vec<((String, u16), Arc<Endpoint>)> = Vec::new();
    for device in ring.devices() {
        let address = (device.ip.clone(), device.port);
        if servers.iter().all(|(known, _)| *known != address) {
            let host = if device.ip.contains(':') { format!("[{}]", device.ip) } else { device.ip.clone() };
            let endpoint = Endpoint::new(&format!("http://{host}:{}", device.port), settings)?;
            servers.push((address, endpoint));
        }
    }
    Ok(Arc::new(SwiftObject {
        cluster: Arc::new(Cluster {
            salt: salt(settings)?,
            servers,
            account: settings.text("account"),
            policy_index: settings.int("policy_index").unwrap_or(0),
            replica: replica - 1,
            timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
            ring,
        }),
    }))
}

/// From swift.conf, or from the keys.
fn salt(settings: &Settings) -> Result<HashPath> {
    let Some(path) = settings.path("swift_conf") else {
        let text = |key: &str| settings.secret(key).expose().to_owned();
        return Ok(HashPath { prefix: text("hash_path_prefix"), suffix: text("hash_path_suffix") });
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Error::new(ErrorKind::Config, format!("{} cannot be read: {error}", path.display()))
            .with_hint("give a copy of the cluster's swift.conf, or hash_path_prefix and hash_path_suffix")
    })?;
    let value = |wanted: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines.filter(|(key, _)| key.trim() == wanted).map(|(_, value)| value.trim().to_owned()).next_back()
    };
    let (prefix, suffix) = (value("swift_hash_path_prefix"), value("swift_hash_path_suffix"));
    if prefix.is_none() && suffix.is_none() {
        let message =
            format!("{} has neither swift_hash_path_prefix nor swift_hash_path_suffix", path.display());
        return Err(Error::new(ErrorKind::Config, message).with_hint("is it the cluster's swift.conf?"));
    }
    Ok(HashPath { prefix: prefix.unwrap_or_default(), suffix: suffix.unwrap_or_default() })
}

impl Adaptor for SwiftObject {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.cluster.timeout
    }

    fn client(&self, _: &Arc<Session>) -> Result<Box<dyn Client>> {
        let links = self.cluster.servers.iter().map(|(_, endpoint)| Link::new(endpoint)).collect();
        Ok(Box::new(ObjectClient { cluster: Arc::clone(&self.cluster), links, path: String::new() }))
    }
}

struct ObjectClient {
    cluster: Arc<Cluster>,
    /// One for each object server, connected when it is first used.
    links: Vec<Link>,
    path: String,
}

impl ObjectClient {
    /// Begins a request at the object's node; gives the place of its link.
    fn start(&mut self, name: ObjectName<'_>) -> Result<usize> {
        checked_name(name.container)?;
        checked_name(name.object)?;
        let cluster = Arc::clone(&self.cluster);
        self.path.clear();
        for part in [cluster.account.as_str(), name.container, name.object] {
            self.path.push('/');
            self.path.push_str(part);
        }
        let (partition, device) =
            cluster.ring.place(&self.path, &cluster.salt, cluster.replica).ok_or_else(|| {
                Error::new(ErrorKind::Config, "the ring has no device for this object")
                    .with_hint("rebalance it")
            })?;
        let at = cluster.position(device);
        let link = self
            .links
            .get_mut(at)
            .ok_or_else(|| Error::new(ErrorKind::Config, "the ring names an unknown node"))?;
        link.start("");
        link.push_name(&device.device, false);
        link.push_name(&partition.to_string(), false);
        for part in [cluster.account.as_str(), name.container] {
            link.push_name(part, false);
        }
        link.push_name(name.object, true);
        header_number(
            &mut link.lines,
            "X-Backend-Storage-Policy-Index",
            u64::try_from(cluster.policy_index).unwrap_or(0),
        );
        Ok(at)
    }

    fn failure(&self, at: usize, method: &str, name: ObjectName<'_>, answer: Answer) -> Error {
        let host = self.links[at].connection.endpoint().host_header();
        let message = format!(
            "{method} {}/{} at object server {host}: status {}",
            name.container, name.object, answer.status
        );
        let error = Error::new(ErrorKind::Status(answer.status), message);
        match answer.status {
            404 => error.with_hint(
                "is it there, on this replica? check `replica`, swift_conf, account and policy_index",
            ),
            507 => error.with_hint("the device is unmounted or full"),
            _ => error.with_hint("look at the object server's log"),
        }
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
            self.links[at].push_range(range);
        }
        let answer = self.links[at].send("GET", Body::None, Take::from_sink(sink), marks).await?;
        match self.links[at].connection.checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(self.failure(at, "GET", name, answer)),
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
        let lines = &mut self.links[at].lines;
        push_timestamp(lines);
        header(lines, "Content-Type", "application/octet-stream");
        let mut chunks = PlainChunks;
        let content = if options.chunked {
            header(lines, "Transfer-Encoding", "chunked");
            Body::Coded(body, &mut chunks)
        } else {
            header_number(lines, "Content-Length", body.len());
            Body::Sized(body)
        };
        let answer = self.links[at].send("PUT", content, Take::Discard, marks).await?;
        match answer.status {
            201 => Ok(PutOutcome { bytes: body.len(), accepted_only: false }),
            _ => Err(self.failure(at, "PUT", name, answer)),
        }
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        let at = self.start(name)?;
        push_timestamp(&mut self.links[at].lines);
        let answer = self.links[at].send("DELETE", Body::None, Take::Discard, marks).await?;
        if answer.is_success() { Ok(()) } else { Err(self.failure(at, "DELETE", name, answer)) }
    }

    async fn inspect(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        let at = self.start(name)?;
        let answer = self.links[at].send("HEAD", Body::None, Take::Discard, marks).await?;
        if answer.is_success() {
            Ok(answer.content_length)
        } else {
            Err(self.failure(at, "HEAD", name, answer))
        }
    }

    /// Every object server answers `/healthcheck`; one that does is enough.
    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        let mut first = None;
        for link in &mut self.links {
            link.start("/healthcheck");
            match link.send("GET", Body::None, Take::Discard, marks).await {
                Ok(_) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), Err)
    }
}

impl Cluster {
    fn position(&self, device: &Device) -> usize {
        let is_its = |(address, _): &((String, u16), Arc<Endpoint>)| {
            address.0 == device.ip && address.1 == device.port
        };
        self.servers.iter().position(is_its).unwrap_or(usize::MAX)
    }
}

/// Swift's time of a change: seconds with five decimals, 16 characters.
fn push_timestamp(lines: &mut Vec<u8>) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    header(lines, "X-Timestamp", &format!("{:010}.{:05}", since.as_secs(), since.subsec_micros() / 10));
}

impl Client for ObjectClient {
    fn set_session(&mut self, _: &Arc<Session>) {}

    forward!(
        probe => check,
        get => read,
        put => write,
        delete => remove,
        head => inspect,
    );
}
