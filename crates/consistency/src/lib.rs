//! How soon readers see what was written: a prober with one writer a key and several readers on connections of their own, that read
//! and list at drawn times after each acknowledgement. What they saw is judged by time since the acknowledgement, with exact intervals
//! (Clopper and Pearson), and as a history of atomic registers.
//!
//! Sources: D. Bermbach and S. Tai, "Eventual consistency: how soon is eventual?", MW4SOC 2011 (the last stale read counts, not the
//! first fresh one); P. Bailis and others, "Probabilistically bounded staleness", VLDB 2012 (t-visibility).

mod beside;
mod change;
mod judge;
mod life;
mod when;

use std::time::Duration;

use cosmark_adaptor_api::Client;

pub use beside::{Beside, Control, Joined, Lines, Sharing, beside, most_recorded};
pub use cosmark_metrics::LookClass as Class;
pub use judge::{ClassOutcome, History, Outcome, Point};

/// Steps of the times after an acknowledgement at which is read, ms: one time is drawn from each to the next, anew for each change.
pub const OFFSETS_MS: [u64; 16] =
    [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/// Those of most probes: the others take long. What is still not seen is looked at until it is.
const SHORT: usize = 10;

/// How to probe.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How long; offsets that do not fit are left out.
    pub runtime: Duration,
    /// Requests per second of all probes together, at most.
    pub rate_per_s: f64,
    /// Readers of each key.
    pub readers: usize,
    /// Keys that are probed at the same time.
    pub keys: usize,
    /// Listings, too.
    pub lists: bool,
    /// A request without an answer is given up after this.
    pub patience: Duration,
    /// Where the keys are.
    pub container: String,
    /// How the keys begin.
    pub prefix: String,
}

/// Probes; `connect` gives connections of their own. It ends by itself soon after [`Plan::runtime`], whatever the store does.
///
/// # Errors
/// One sentence, when there are no connections.
pub async fn probe(
    plan: &Plan,
    connect: &mut dyn FnMut() -> Result<Box<dyn Client>, String>,
) -> Result<Outcome, String> {
    let seen = life::live(plan, connect).await?;
    Ok(judge::judge(seen))
}
