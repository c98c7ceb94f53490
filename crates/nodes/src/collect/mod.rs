//! Collectors: each brings readings of one machine, again and again, until it is stopped.

pub mod ceph;
pub mod http;
pub mod local;
pub mod promql;
pub mod recon;
pub mod scrape;
pub mod ssh;
pub mod statsd;

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::reading::Reading;

/// What a collector tells.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// What the machine did.
    Reading(Reading),
    /// By how much the machine's clock is ahead of this one's, in nanoseconds, as well as that is known: too small by the
    /// shortest time that a message took.
    Ahead(i64),
    /// Nothing comes any more, or for a while; one sentence why.
    Lost(String),
    /// Who of the machine does not answer while readings of the others come, in one sentence; `None` when all do.
    Missing(Option<String>),
}

/// Nanoseconds since 1970 by the machine's clock, which may be set at any time.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since 1970 by a clock that nobody sets: what the machine's clock said when this was asked first, and what
/// a monotonic one says since. Times of readings are of this clock until [`crate::watch`] puts them on that of a run.
#[must_use]
pub fn now_ns() -> u64 {
    static BEGAN: LazyLock<(Instant, u64)> = LazyLock::new(|| (Instant::now(), wall_ns()));
    let (began, began_ns) = *BEGAN;
    began_ns.saturating_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// By how many nanoseconds the machine's clock is ahead of [`now_ns`]: what it was set by since.
#[must_use]
pub fn set_by_ns() -> i64 {
    let now_ns = now_ns();
    wall_ns().cast_signed().saturating_sub(now_ns.cast_signed())
}

/// Which daemons' threads are looked at: the names of their processes as the kernel has them, or how these begin.
///
/// # Errors
/// For a name that is none: the kernel keeps 15 signs, and what a shell could take for something else is refused.
pub fn check_daemons(names: &[String]) -> Result<(), String> {
    let of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-+".contains(&byte);
    match names.iter().find(|name| name.is_empty() || !name.bytes().all(of_a_name)) {
        Some(name) => Err(format!("`{name}` is no name of a daemon: letters, digits and ._@-+ only")),
        None => Ok(()),
    }
}

/// The kernel keeps so much of a name.
pub(crate) fn kept(name: &str) -> &str {
    name.get(..15).unwrap_or(name)
}
