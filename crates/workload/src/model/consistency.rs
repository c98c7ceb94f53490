//! What is probed beside a load: `consistency:` of a workload or of a stage.

use std::time::Duration;

/// No more requests than this for each million operations of the load.
pub const MOST_SHARE_PER_MILLION: u32 = 100_000;
/// More connections do not read.
pub const MOST_READERS: u32 = 64;
/// Looks reach no farther after an acknowledgement.
pub const LONGEST_REACH: Duration = Duration::from_secs(60);
/// And no less far.
pub const SHORTEST_REACH: Duration = Duration::from_millis(10);

/// How soon readers see what was written, asked beside the load of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencySpec {
    /// Requests for each million operations of the load, at most.
    pub share_per_million: u32,
    /// Connections that only read and list, of each driver.
    pub readers: u32,
    /// Listings are looked at, too.
    pub lists: bool,
    /// Looks reach so far after an acknowledgement.
    pub reach: Duration,
    /// An existing container or bucket; `None` = one of its own, made before the load and taken away after it.
    pub container: Option<String>,
}

impl Default for ConsistencySpec {
    fn default() -> Self {
        Self { share_per_million: 10_000, readers: 4, lists: true, reach: LONGEST_REACH, container: None }
    }
}
