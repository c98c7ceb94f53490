//! The `gcs` storage: Google Cloud Storage's JSON API. Source: Google, "Cloud Storage JSON API" and "Resumable uploads".
//!
//! A write is one media upload. A write in parts is a resumable upload: its chunks go one after the other, as the API
//! demands, so its concurrency has no effect; the XML API (`gcs_xml`, a name of the `s3` storage) takes parts side by side.
//!
//! The token comes from the auth `google`. For COSBench's sake this storage also takes `jsonkeyfile` itself: then each worker
//! sends tokens that it has signed with that key ("self-signed JWT"), which Google takes without a login, and signs a new one
//! before the old one expires (about a millisecond in every 55 minutes).

mod client;
mod errors;

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Capability, Client, Error, ErrorKind, Key, KeyKind, Result, Secret, Session,
    SessionPart, Settings,
};

use crate::common_keys::{LOGGING, TIMEOUT};
use crate::http::{Endpoint, STORE_KEYS, concat_keys};
use crate::service_account::ServiceAccount;
use client::GcsClient;

const OWN_KEYS: &[Key] = &[
    Key::new("endpoint", KeyKind::Url, "URL of the store or of an emulator")
        .alias(&["url"])
        .default("https://storage.googleapis.com"),
    Key::new("project", KeyKind::Text, "id of the project that created buckets belong to")
        .alias(&["projectid", "project_id"])
        .default(""),
    Key::new(
        "jsonkeyfile",
        KeyKind::File,
        "key file of a service account, to sign requests with when the auth gives no token",
    )
    .alias(&["json_key_file"]),
    Key::new("token", KeyKind::Text, "OAuth token to use when the auth gives none; without any, anonymous")
        .alias(&["access_token"])
        .secret(),
    Key::new("location", KeyKind::Text, "where created buckets are, such as EU or us-central1").default(""),
    Key::new("storage_class", KeyKind::Text, "storage class of created buckets, such as NEARLINE")
        .default(""),
    Key::new(
        "part_size",
        KeyKind::Size,
        "size of chunks where the operation names none; rounded up to 256 KiB",
    )
    .default("8MiB"),
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
    Capability::MULTIPART,
    Capability::CHUNKED,
    Capability::COPY,
    Capability::METADATA,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "gcs",
    aliases: &[],
    summary: "Google Cloud Storage by its JSON API",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: |_| &[SessionPart::BearerToken],
};

/// What the keys say.
struct Options {
    endpoint: Arc<Endpoint>,
    project: String,
    location: String,
    storage_class: String,
    token: Option<Secret>,
    account: Option<ServiceAccount>,
    part_bytes: u64,
    timeout: Option<Duration>,
}

struct Gcs {
    options: Arc<Options>,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let token = Some(settings.secret("token")).filter(|token| !token.is_empty());
    let account = settings.path("jsonkeyfile").map(|file| ServiceAccount::read(&file)).transpose()?;
    if token.is_some() && account.is_some() {
        return Err(Error::new(ErrorKind::Config, "token and jsonkeyfile are both given")
            .with_hint("give one of them"));
    }
    let options = Options {
        endpoint: Endpoint::new(&settings.required("endpoint")?, settings)?,
        project: settings.text("project"),
        location: settings.text("location"),
        storage_class: settings.text("storage_class"),
        token,
        account,
        part_bytes: settings.size_bytes("part_size").filter(|size| *size > 0).unwrap_or(8 << 20),
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
    };
    Ok(Arc::new(Gcs { options: Arc::new(options) }))
}

impl Adaptor for Gcs {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    fn endpoints(&self) -> Vec<String> {
        self.options.endpoint.spread()
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(GcsClient::new(&self.options, session)?))
    }
}

#[cfg(test)]
mod tests;
