//! The `librados` storage: Ceph's objects by Ceph's own protocol, through Ceph's C library, without a gateway between. A
//! container is a pool, as in COSBench, or, with `pool=`, a namespace of one pool, so that any workload runs on it.
//!
//! Reads, writes, deletes and stats are asynchronous calls (`rados_aio_*`) that wake the worker's task when librados
//! completes them ([`flight`]); one connection to the cluster serves all workers ([`cluster`]). Listings and what is done to
//! pools block in C and run on the runtime's blocking pool ([`pool`]). librados sends a call again by itself when the
//! cluster's map changes, as its protocol wants it; Cosmark adds no retry. Source: include/rados/librados.h.

mod client;
mod cluster;
mod config;
mod errors;
mod flight;
mod library;
mod monitor;
mod pool;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Alias, Capability, Client, Error, ErrorKind, Key, KeyKind, Result, Session, Settings,
};

use client::{RadosClient, Shared};
use config::Config;

use crate::common_keys::{LOGGING, TIMEOUT};

const KEYS: &[Key] = &[
    Key::new(
        "endpoint",
        KeyKind::Text,
        "monitors, `host`, `host:port` or Ceph's `[v2:..,v1:..]`, several separated by commas",
    )
    .alias(&["mon_host"]),
    Key::new(
        "accesskey",
        KeyKind::Text,
        "the user, without `client.` before it",
    )
    .alias(&["user", "id"])
    .default("admin"),
    Key::new("secretkey", KeyKind::Text, "the user's cephx key, as `ceph auth get-key` prints it")
        .alias(&["key"])
        .secret(),
    Key::new("keyring", KeyKind::File, "a file with the user's key, instead of `secretkey`"),
    Key::new("conf", KeyKind::File, "a configuration file of Ceph; instead of `endpoint`, or for other options"),
    Key::new("pool", KeyKind::Text, "all containers are namespaces of this pool; without it each container is a pool"),
    Key::new("namespace", KeyKind::Text, "the namespace of all objects, where containers are pools"),
    Key::new(
        "create_pools",
        KeyKind::Bool,
        "init creates pools that are missing, and dispose deletes the empty ones among those; false: pools are used as \
         they are",
    )
    .default("false"),
    Key::new(
        "piece",
        KeyKind::Size,
        "most bytes of one read or write, 4 KiB to 64 MiB; longer objects take several, one after another",
    )
    .default("16MiB"),
    Key::new("connect_timeout", KeyKind::Duration, "time for the first answer of a monitor, in whole seconds")
        .alias(&["client_mount_timeout"])
        .default("5s"),
    TIMEOUT,
    Key::new("library", KeyKind::Library, "Ceph's C library, a path or a name that the dynamic linker finds")
        .default("librados.so.2"),
    LOGGING,
];

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::MULTIPART,
    Capability::CHUNKED,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "librados",
    aliases: &[Alias { name: "rados", implied: &[], note: "the same" }],
    summary: "Ceph by its own protocol, through librados (which has to be installed)",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks,
    takes: AdaptorDef::takes_nothing,
};

/// Far below `osd_max_write_size` (90 MB) and well above what is written in one piece usually.
const MAX_PIECE_BYTES: u64 = 64 << 20;
const MIN_PIECE_BYTES: u64 = 4096;

struct Rados {
    shared: Arc<Shared>,
    timeout: Option<Duration>,
}

/// A monitor has to be named, by its address and not by a URL, and containers are pools or namespaces.
fn lacks(settings: &Settings) -> Result<()> {
    let given = |key| settings.get(key).filter(|text| !text.is_empty());
    let wrong = |message: &str, hint: &str| Err(Error::new(ErrorKind::Config, message).with_hint(hint));
    match given("endpoint") {
        None if !settings.is_given("conf") => {
            return wrong("no monitor is given", "add `endpoint=HOST` or `conf=/etc/ceph/ceph.conf`");
        }
        Some(endpoint) if endpoint.contains("://") => {
            return wrong(
                "`endpoint` is a URL, and Ceph's monitors are no web servers",
                "name them as `endpoint=HOST:3300`; a gateway at that URL is spoken to with the storage s3 or swift",
            );
        }
        _ => {}
    }
    if given("pool").is_some() && given("namespace").is_some() {
        return wrong(
            "`pool` and `namespace` exclude each other",
            "with `pool` each container is a namespace; drop one of the two keys",
        );
    }
    Ok(())
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    lacks(settings)?;
    let given = |key| settings.get(key).filter(|text| !text.is_empty()).map(str::to_owned);
    let (mon_host, conf) = (given("endpoint"), settings.path("conf"));
    let (pool, namespace) = (given("pool"), settings.text("namespace"));
    let timeout = settings.duration("timeout").filter(|limit| !limit.is_zero());
    let user = settings.text("accesskey");
    let config = Config {
        library: settings.text("library"),
        mon_host,
        conf,
        user: user.strip_prefix("client.").unwrap_or(&user).to_owned(),
        key: settings.secret("secretkey"),
        keyring: settings.path("keyring"),
        usual_keyrings: !settings.is_from_outside(),
        connect_timeout: settings.duration("connect_timeout").unwrap_or(Duration::from_secs(5)),
        timeout,
    };
    let piece_bytes =
        settings.size_bytes("piece").unwrap_or(16 << 20).clamp(MIN_PIECE_BYTES, MAX_PIECE_BYTES);
    let create_pools = settings.flag("create_pools");
    let shared = Shared { config, pool, namespace, create_pools, piece_bytes, cluster: OnceLock::new() };
    Ok(Arc::new(Rados { shared: Arc::new(shared), timeout }))
}

impl Adaptor for Rados {
    fn capability(&self) -> Capability {
        let has_containers = self.shared.pool.is_some() || self.shared.create_pools;
        if has_containers { CAPABILITY } else { CAPABILITY.without(Capability::CONTAINERS) }
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn client(&self, _session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(RadosClient::new(Arc::clone(&self.shared))))
    }
}

#[cfg(test)]
mod tests;
