//! The behaviour file: everything that a simulated store does, as plain values.
//!
//! YAML in, or built in Rust from [`Behaviour::default`], which is a correct, fast store with no rule.
//! Unknown fields are errors. Times in seconds (`_s`) count from the script's time zero; all other times
//! are milliseconds (`_ms`). File names are relative to the working directory.

mod check;
mod faults;
mod law;
mod ops;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use faults::*;
pub use law::{Law, MAX_BLOCK, MAX_LIST, Part};
pub use ops::{Op, OpSet};

/// What a simulated store does. See the fields; every one has a default.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Behaviour {
    /// Seed of every random choice. Each rule draws from a stream of its own, in the order in which the
    /// requests reach it, so the same seed and the same order of requests give the same choices.
    pub seed: u64,
    /// When the script's clock starts.
    pub time_zero: TimeZero,
    /// What is kept of the objects.
    pub store: StoreOptions,
    /// How ETags are made.
    pub etag: EtagKind,
    /// S3 access keys. Empty: any signature or none is accepted. Otherwise the access key id of a request
    /// must be one of these. Signatures are not verified, so the secrets are not used.
    pub keys: BTreeMap<String, String>,
    /// Options of the Swift protocol.
    pub swift: SwiftOptions,
    /// Add `x-simstore-version: N` to the answers that concern one version of an object.
    pub version_header: bool,
    /// Options of the request log.
    pub log: LogOptions,
    /// Connections beyond this number are closed at once.
    pub max_connections: usize,
    /// Close connections on which nothing moved for so long, s; 0 never closes. Waits of the script do not count.
    pub idle_timeout_s: u32,
    /// Spin for the last microseconds before a scripted time instead of sleeping, for a finer clock at the
    /// cost of a busy core. 0 only sleeps.
    pub spin_us: u32,
    /// Pin the server's thread to this core (Linux).
    pub core: Option<usize>,
    /// Serve TLS instead of plain TCP (needs the crate's feature `tls`).
    pub tls: Option<TlsOptions>,

    /// Delays before the answer's headers.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub delay: Vec<DelayRule>,
    /// Times in which the whole server holds still. They must not overlap.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub stalls: Vec<Stall>,
    /// A FIFO queue with k servers.
    pub capacity: Option<Capacity>,
    /// Token buckets; requests beyond are refused at once.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub rate_cap: Vec<RateCapRule>,
    /// Capacity over time; requests beyond are refused at once.
    pub schedule: Option<Schedule>,
    /// Paced bodies. The first rule that selects a request counts.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub bandwidth: Vec<BandwidthRule>,
    /// A network link that all connections share.
    pub link: Option<LinkOptions>,
    /// Errors instead of the operation.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub errors: Vec<ErrorRule>,
    /// Redirects to the same URL instead of the operation.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub redirect_loop: Vec<RedirectRule>,
    /// Status 200 with an error document instead of the operation.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub error_body_with_200: Vec<HiddenErrorRule>,
    /// Resets of the connection.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub reset: Vec<ResetRule>,
    /// Bodies that end too early.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub truncate: Vec<TruncateRule>,
    /// Bodies with one wrong bit.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub flip_byte: Vec<FlipRule>,
    /// Answers with a wrong Content-Length.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub wrong_content_length: Vec<WrongLengthRule>,
    /// Answers that do not begin like HTTP.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub garbage_status_line: Vec<GarbageRule>,
    /// Answers whose headers never end.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub endless_headers: Vec<EndlessHeadersRule>,
    /// Bodies sent in small pieces.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub slow_trickle: Vec<TrickleRule>,
    /// Right bodies with chunked transfer coding.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub chunked: Vec<ChunkedRule>,
    /// Reads that may show the past.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub stale: Vec<StaleRule>,
    /// Listings that may show the past.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub stale_list: Vec<StaleListRule>,
    /// Changes that are acknowledged and not done, or not as asked.
    #[serde(deserialize_with = "faults::one_or_many")]
    pub broken_promise: Vec<BrokenPromiseRule>,
    /// The n-th answer on each connection says `Connection: close` and the connection is closed after it.
    pub close_after: Option<u32>,
    /// Each connection is closed after its n-th answer, without a word.
    pub close_silently_after: Option<u32>,
    /// Serve a new connection only after this time, ms. The kernel completes the TCP handshake before, so
    /// clients see a slow first answer (or a slow TLS handshake), not a slow connect.
    pub accept_delay_ms: f64,
    /// `Retry-After`, s, on every 503 and 429 that says nothing of its own.
    pub retry_after_s: Option<u32>,
}

/// When the script's clock starts; before that its time is 0. `Handle::zero` starts it anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeZero {
    /// When the server starts.
    #[default]
    Start,
    /// With the first request.
    FirstRequest,
}

/// What is kept of the objects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreOptions {
    /// How much of an object is kept.
    pub mode: StoreMode,
    /// Size of every object in mode `null`, bytes.
    pub null_bytes: u64,
    /// Largest object or part, bytes; larger ones are refused.
    pub max_object_bytes: u64,
    /// Most memory for objects and uploads under way, bytes; beyond it writes get 507.
    pub max_total_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            mode: StoreMode::Full,
            null_bytes: 4096,
            max_object_bytes: 5 << 30,
            max_total_bytes: 4 << 30,
        }
    }
}

/// How much of an object is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreMode {
    /// Every byte: GET returns what was put.
    #[default]
    Full,
    /// Name, length, ETag and metadata. GET returns a fixed pattern of the right length, NOT what was put
    /// (see `pattern_byte`), and checksums are not returned. For large stores in little memory.
    Headers,
    /// Nothing: PUT reads and forgets, every GET of any name returns `null_bytes` bytes of the fixed
    /// pattern, listings are empty. The ceiling for benchmarks.
    Null,
}

impl<'de> Deserialize<'de> for StoreMode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<StoreMode, D::Error> {
        // In YAML a plain `null` is not a text but nothing, which is just what it means here.
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            Some("full") => Ok(StoreMode::Full),
            Some("headers") => Ok(StoreMode::Headers),
            Some("null") | None => Ok(StoreMode::Null),
            Some(other) => Err(serde::de::Error::custom(format!(
                "unknown store mode `{other}`, expected `full`, `headers` or `null`"
            ))),
        }
    }
}

/// How ETags are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EtagKind {
    /// 32 hexadecimal digits, unique to the version. Costs nothing; is NOT the MD5.
    #[default]
    Cheap,
    /// MD5 of the content (2.4 s of CPU per GB), as S3 and Swift have it. Also verifies `Content-MD5` and
    /// Swift's `ETag` request header.
    Md5,
}

/// Options of the Swift protocol.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwiftOptions {
    /// User (`account:user`) to key. Empty: any user and key get a token.
    pub users: BTreeMap<String, String>,
    /// Refuse requests without a valid token (401).
    pub check_tokens: bool,
    /// Tokens end after this time, ms.
    pub token_lifetime_ms: Option<f64>,
    /// Tokens end after so many requests.
    pub token_max_requests: Option<u64>,
    /// Storage policies that exist; the first is the default.
    pub policies: Vec<String>,
}

impl Default for SwiftOptions {
    fn default() -> Self {
        SwiftOptions {
            users: BTreeMap::new(),
            check_tokens: true,
            token_lifetime_ms: None,
            token_max_requests: None,
            policies: vec!["Policy-0".to_owned(), "gold".to_owned(), "silver".to_owned()],
        }
    }
}

/// Options of the request log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogOptions {
    /// Newest records kept in memory; 0 keeps none (about 200 bytes each).
    pub max_records: usize,
    /// Also write every record to this CSV file.
    pub csv: Option<PathBuf>,
    /// Count distinct object names (a hash set; 16 bytes per name).
    pub distinct_keys: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { max_records: 1_000_000, csv: None, distinct_keys: true }
    }
}

/// A network link that the bodies of all connections share, piece by piece. Headers pass freely.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkOptions {
    /// Rate of all answers' bodies together, bytes per second.
    pub download_bytes_per_s: Option<f64>,
    /// Rate of all requests' bodies together, bytes per second.
    pub upload_bytes_per_s: Option<f64>,
}

/// Certificate of the TLS server: both files, or a self-signed one made at the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsOptions {
    /// PEM file with the certificate chain.
    pub cert: Option<PathBuf>,
    /// PEM file with the private key.
    pub key: Option<PathBuf>,
    /// Names and addresses of the self-signed certificate; default `localhost` and 127.0.0.1.
    pub names: Vec<String>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            seed: 1,
            time_zero: TimeZero::Start,
            store: StoreOptions::default(),
            etag: EtagKind::Cheap,
            keys: BTreeMap::new(),
            swift: SwiftOptions::default(),
            version_header: false,
            log: LogOptions::default(),
            max_connections: 16_384,
            idle_timeout_s: 600,
            spin_us: 0,
            core: None,
            tls: None,
            delay: Vec::new(),
            stalls: Vec::new(),
            capacity: None,
            rate_cap: Vec::new(),
            schedule: None,
            bandwidth: Vec::new(),
            link: None,
            errors: Vec::new(),
            redirect_loop: Vec::new(),
            error_body_with_200: Vec::new(),
            reset: Vec::new(),
            truncate: Vec::new(),
            flip_byte: Vec::new(),
            wrong_content_length: Vec::new(),
            garbage_status_line: Vec::new(),
            endless_headers: Vec::new(),
            slow_trickle: Vec::new(),
            chunked: Vec::new(),
            stale: Vec::new(),
            stale_list: Vec::new(),
            broken_promise: Vec::new(),
            close_after: None,
            close_silently_after: None,
            accept_delay_ms: 0.0,
            retry_after_s: None,
        }
    }
}

/// Why a behaviour cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BehaviourError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}; check the name and the permissions")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not YAML, or a field that does not exist or has the wrong type. The text says where.
    #[error("the behaviour is not valid: {0}")]
    Yaml(String),
    /// Values that make no sense, all of them, each with its place and remedy.
    #[error("the behaviour is not valid:\n{}", .0.iter().map(|p| format!("  - {p}")).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<String>),
}

/// Longest behaviour file.
const MAX_FILE_BYTES: u64 = 16 << 20;

impl Behaviour {
    /// Reads a behaviour from YAML text and checks it. An empty text is the default behaviour.
    ///
    /// # Errors
    /// [`BehaviourError::Yaml`] with the place of the mistake, or [`BehaviourError::Invalid`] with all
    /// values that make no sense.
    pub fn from_yaml(text: &str) -> Result<Behaviour, BehaviourError> {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Behaviour::default());
        }
        let behaviour: Behaviour =
            serde_saphyr::from_str(text).map_err(|error| BehaviourError::Yaml(error.to_string()))?;
        behaviour.check()?;
        Ok(behaviour)
    }

    /// Reads a behaviour from a YAML file of at most 16 MiB and checks it.
    ///
    /// # Errors
    /// As [`Behaviour::from_yaml`], and [`BehaviourError::Read`].
    pub fn from_file(path: &Path) -> Result<Behaviour, BehaviourError> {
        let read = || {
            let length = std::fs::metadata(path)?.len();
            if length > MAX_FILE_BYTES {
                return Err(std::io::Error::other(format!(
                    "{length} bytes are too many, at most {MAX_FILE_BYTES}"
                )));
            }
            std::fs::read_to_string(path)
        };
        let text = read().map_err(|source| BehaviourError::Read { path: path.to_owned(), source })?;
        Behaviour::from_yaml(&text)
    }
}

#[cfg(test)]
mod tests;
