//! What was measured, and the arithmetic on it. Pure: no I/O, no clock, no async.
//!
//! [`Sample`] is one operation's record. A [`Recorder`] turns samples into [`Snapshot`]s, one per slice of time;
//! snapshots merge in any order; a [`Summary`] is what is read from a merged snapshot and a window. [`HealthSample`]s say how the client itself was doing meanwhile. Percentiles are only
//! ever read from merged histograms.

mod breakdown;
mod health;
mod latency;
mod outcome;
mod recorder;
mod sample;
mod snapshot;
mod sparse;
mod summary;

pub use breakdown::{PartSums, SizeClass, SizeClasses};
pub use health::{
    ClientFacts, ClientHealth, HealthSample, HealthSummary, MachineHealth, NicHealth, NicUse,
    SATURATED_SHARE, ThreadHealth,
};
pub use latency::{HIGHEST_NS, Latency, SparseLatency};
pub use outcome::Outcome;
pub use recorder::{Recorder, SlicePlan};
pub use sample::Sample;
pub use snapshot::{OpSnapshot, Phase, Snapshot};
pub use summary::{LatencySummary, PERCENTILES, Percentile, Summary};
