//! The auths: each obtains a [`cosmark_adaptor_api::Session`] for a storage adaptor, by one login with no hidden retry.

pub mod aws;
pub mod digest;
pub mod google;
pub(crate) mod http_credential;
pub mod httpauth;
pub mod keystone;
mod login;
pub mod mock;
pub mod none;
pub mod swauth;

use cosmark_adaptor_api::{Key, KeyKind, Settings};

/// COSBench's `retry`, which the driver acts on and counts.
const RETRY: Key = Key::new(
    "retry",
    KeyKind::Int(0, 1000),
    "further login attempts after a failure other than wrong credentials",
)
.default("0");

/// COSBench's `caching`.
const CACHING: Key = Key::new(
    "caching",
    KeyKind::Bool,
    "accepted for COSBench's sake: the workers of a driver share one session anyway",
)
.default("false");

/// COSBench's `logging`.
const LOGGING: Key = Key::new(
    "logging",
    KeyKind::Bool,
    "accepted for COSBench's sake, no effect: logins are counted and timed",
)
.default("false");

fn retries(settings: &Settings) -> u32 {
    settings.int("retry").and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}
