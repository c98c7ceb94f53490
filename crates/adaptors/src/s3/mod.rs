//! `type: s3`: Amazon S3's REST protocol (Amazon S3 API reference) and its many kin, over our own HTTP client and signer.

mod ask;
mod channel;
mod checksum;
mod choice;
mod client;
mod config;
mod errors;
pub(crate) mod listing;
mod sigv2;
mod sigv4;
mod streaming;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cosmark_adaptor_api::{Adaptor, AdaptorDef, Alias, Asker, Capability, Client, Result, Session, Settings};

use config::Config;

/// Most bytes of an answer that is kept whole (but listings).
pub(crate) const ANSWER_LIMIT: usize = 1 << 20;

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::MULTIPART,
    Capability::CHUNKED,
    Capability::COPY,
    Capability::BULK_DELETE,
    Capability::METADATA,
    Capability::RESTORE,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "s3",
    aliases: &[
        Alias {
            name: "s3v4",
            implied: &[("signature", "v4")],
            note: "s3 with signature version 4, the default",
        },
        Alias {
            name: "s3v2",
            implied: &[("signature", "v4")],
            note: "a fork's name for its second SDK; the same as s3",
        },
        Alias { name: "sio", implied: &[], note: "a fork's name for s3" },
        Alias {
            name: "siov1",
            implied: &[],
            note: "a fork's name for s3 with its first SDK; the same as s3",
        },
        Alias { name: "obs", implied: &[], note: "Huawei's store, by its S3 interface" },
        Alias { name: "ess", implied: &[], note: "a fork's name for s3" },
        Alias { name: "essv2", implied: &[], note: "a fork's name for s3" },
        Alias { name: "gdas", implied: &[], note: "a fork's name for s3" },
        Alias {
            name: "oss",
            implied: &[
                ("dialect", "oss"),
                ("endpoint", "oss-cn-hangzhou.aliyuncs.com"),
                ("signature", "v2"),
                ("timeout", "50000"),
            ],
            note: "Aliyun OSS by its S3-compatible interface",
        },
        Alias {
            name: "ecs",
            implied: &[("dialect", "ecs")],
            note: "Dell ECS by its S3 interface; endpoint lists are used in turn, namespace goes into a header",
        },
        Alias {
            name: "openio",
            implied: &[("dialect", "openio")],
            note: "OpenIO by its S3 gateway (endpoint, accesskey, secretkey)",
        },
        Alias {
            name: "gcs_xml",
            implied: &[
                ("endpoint", "https://storage.googleapis.com"),
                ("path_style_access", "true"),
                ("signature", "bearer"),
            ],
            note: "Google Cloud Storage by its XML API with the token of the auth google; with HMAC keys signature=v4",
        },
    ],
    summary: "Amazon S3 and compatible stores: Ceph RGW, MinIO, Swift's s3api and others",
    keys: config::KEYS,
    capability: CAPABILITY,
    open,
    lacks: config::lacks,
    takes: config::takes,
};

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    Ok(Arc::new(S3 { config: Arc::new(Config::read(settings)?), turn: AtomicUsize::new(0) }))
}

struct S3 {
    config: Arc<Config>,
    /// Workers use the endpoints in turn.
    turn: AtomicUsize,
}

impl Adaptor for S3 {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.config.timeout
    }

    fn endpoints(&self) -> Vec<String> {
        match self.config.addresses.as_slice() {
            [only] => only.endpoint.spread(),
            several => {
                several.iter().map(|one| format!("{}:{}", one.endpoint.host(), one.endpoint.port())).collect()
            }
        }
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(client::S3Client::new(&self.config, turn, session)?))
    }

    fn asker(&self, session: &Arc<Session>) -> Result<Option<Box<dyn Asker>>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Box::new(ask::S3Asker::new(&self.config, turn, session)?)))
    }
}
