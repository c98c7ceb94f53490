//! The `cdmi` storage: SNIA's Cloud Data Management Interface (ISO/IEC 17826, CDMI 1.0.1 and later). Source: SNIA, "Cloud
//! Data Management Interface 1.0.2", clauses 6 (HTTP), 8 (data objects) and 9 (containers); keys and defaults are COSBench's.
//!
//! With `mode=cdmi` an object's content travels in JSON, in base64; with `mode=non-cdmi` as it is. Ranges and lengths are
//! always asked for in plain HTTP, which every CDMI server answers. Deleting a container deletes what is in it, so this
//! storage looks first and leaves a full one alone.
//!
//! `cdmi_swift` is CDMI as a filter in Swift's proxy: the account's URL with `root_path` in place of `/v1`, and Swift's token.

mod client;
mod json_body;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Alias, Capability, Client, Error, ErrorKind, Key, KeyKind, Result, Session,
    SessionPart, Settings,
};

use crate::auth::http_credential::Counters;
use crate::common_keys::{LOGGING, TIMEOUT};
use crate::http::{Endpoint, STORE_KEYS, concat_keys, push_escaped};
use client::CdmiClient;

const OWN_KEYS: &[Key] = &[
    Key::new(
        "mode",
        KeyKind::Choice(&["cdmi", "non-cdmi"]),
        "how content travels: in CDMI's JSON, or as it is (COSBench calls this key type)",
    )
    .alias(&["type"])
    .default("cdmi"),
    Key::new("endpoint", KeyKind::Url, "the server's URL; without it the auth's")
        .alias(&["url", "storage_url"]),
    Key::new("root_path", KeyKind::Text, "path under the endpoint that containers are in").default(""),
    Key::new(
        "over_swift",
        KeyKind::Bool,
        "CDMI in Swift's proxy: root_path stands in place of /v1 in the auth's URL",
    )
    .default("false"),
    Key::new(
        "custom_headers",
        KeyKind::List,
        "further header lines, each NAME:token for the auth's token, or NAME:storage_url for its URL",
    )
    .default(""),
    Key::new("cdmi_version", KeyKind::Text, "version that requests speak (X-CDMI-Specification-Version)")
        .default("1.0.1"),
    Key::new("recursive_delete", KeyKind::Bool, "deletes containers without looking whether they are empty")
        .default("false"),
    Key::new("raise_delete_errors", KeyKind::Bool, "no effect: a delete that fails is always a failure")
        .default("false"),
    TIMEOUT,
    LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + STORE_KEYS.len() }>(OWN_KEYS, STORE_KEYS);

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::CHUNKED,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "cdmi",
    aliases: &[Alias {
        name: "cdmi_swift",
        implied: &[("over_swift", "true"), ("root_path", "/cdmi")],
        note: "CDMI as a filter in Swift's proxy",
    }],
    summary: "SNIA's CDMI; tried against a scripted server only, not against a product",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: |_| &[SessionPart::AuthToken, SessionPart::HttpCredential],
};

/// What the keys say.
struct Options {
    settings: Settings,
    is_json: bool,
    endpoint: Option<String>,
    /// Escaped; empty or begins with a slash.
    root_path: String,
    over_swift: bool,
    custom_headers: Vec<(String, ContextKey)>,
    version: String,
    recursive_delete: bool,
    timeout: Option<Duration>,
    made: Mutex<Option<(String, Arc<Endpoint>)>>,
    counters: Counters,
}

/// What of a session a header line can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContextKey {
    Token,
    StorageUrl,
}

struct Cdmi {
    options: Arc<Options>,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let mut root_path = Vec::new();
    for segment in settings.text("root_path").split('/').filter(|segment| !segment.is_empty()) {
        root_path.push(b'/');
        push_escaped(&mut root_path, segment, false);
    }
    let custom_headers: Result<Vec<_>> =
        settings.list("custom_headers").iter().map(|entry| custom_header(entry)).collect();
    let options = Options {
        is_json: settings.text("mode").eq_ignore_ascii_case("cdmi"),
        endpoint: settings.get("endpoint").map(str::to_owned),
        root_path: String::from_utf8_lossy(&root_path).into_owned(),
        over_swift: settings.flag("over_swift"),
        custom_headers: custom_headers?,
        version: settings.text("cdmi_version"),
        recursive_delete: settings.flag("recursive_delete"),
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
        made: Mutex::default(),
        counters: Counters::default(),
        settings: settings.clone(),
    };
    Ok(Arc::new(Cdmi { options: Arc::new(options) }))
}

fn custom_header(entry: &str) -> Result<(String, ContextKey)> {
    let wrong = || {
        Error::new(
            ErrorKind::Config,
            format!("custom_headers: `{entry}` is not NAME:token or NAME:storage_url"),
        )
        .with_hint("such as X-Auth-Token:token")
    };
    let (name, key) = entry.split_once(':').ok_or_else(wrong)?;
    let name = name.trim();
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    {
        return Err(wrong());
    }
    match key.trim() {
        "token" => Ok((name.to_owned(), ContextKey::Token)),
        "storage_url" => Ok((name.to_owned(), ContextKey::StorageUrl)),
        _ => Err(wrong()),
    }
}

impl Options {
    /// The URL below which containers are.
    fn url_for(&self, session: &Session) -> Result<String> {
        let url = self.endpoint.as_deref().or(session.storage_url.as_deref()).ok_or_else(|| {
            Error::new(ErrorKind::Config, "no such key defined: endpoint")
                .with_hint("add `endpoint=http://host:port` or use an auth that gives a URL")
        })?;
        if self.over_swift
            && let Some((host, account)) = url.split_once("/v1/")
        {
            return Ok(format!("{host}{}/{account}", self.root_path));
        }
        let url = url.trim_end_matches('/');
        // COSBench's own default for cdmi_swift has the root path in it already.
        if !self.root_path.is_empty() && url.ends_with(&self.root_path) {
            return Ok(url.to_owned());
        }
        Ok(format!("{url}{}", self.root_path))
    }

    fn endpoint_for(&self, session: &Session) -> Result<Arc<Endpoint>> {
        let url = self.url_for(session)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((known, endpoint)) if *known == url => Ok(Arc::clone(endpoint)),
            _ => {
                let endpoint = Endpoint::new(&url, &self.settings)?;
                *made = Some((url, Arc::clone(&endpoint)));
                Ok(endpoint)
            }
        }
    }
}

impl Adaptor for Cdmi {
    fn capability(&self) -> Capability {
        if self.options.is_json { CAPABILITY.without(Capability::CHUNKED) } else { CAPABILITY }
    }

    fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    fn endpoints(&self) -> Vec<String> {
        let made = self.options.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.as_ref().map(|(_, endpoint)| endpoint.spread()).unwrap_or_default()
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(CdmiClient::new(&self.options, session)?))
    }
}

#[cfg(test)]
mod tests;
