//! What was measured, and the arithmetic on it. Pure: no I/O, no clock, no async.
//!
//! [`Sample`] is one operation's record. A [`Recorder`] turns samples into [`Snapshot`]s, one per slice of time;
//! snapshots merge in any order; an
//! [`OperationResult`] is what is read from a merged snapshot and a window, figure by figure as the table
//! [`results::METRICS`] names them. [`HealthSample`]s say how the client itself was doing meanwhile. Percentiles are
//! only ever read from merged histograms.

mod breakdown;
mod credible;
mod health;
mod latency;
pub mod nodes;
mod outcome;
mod recorder;
pub mod results;
mod sample;
mod snapshot;
mod sparse;
mod time_sums;
mod wire_time;

pub use breakdown::{PartSums, SizeClass, SizeClasses};
pub use health::{
    HealthSample, HealthSummary, MachineHealth, NicHealth, QuotaHealth, SATURATED_SHARE, STAND_FOR_DEVICES,
    STOPPED_SHARE, ThreadHealth, has_a_speed,
};
pub use latency::{Latency, SparseLatency};
pub use outcome::Outcome;
pub use recorder::{Recorder, SlicePlan};
pub use results::{
    BetweenDrivers, BottleneckResult, CandidateResult, ChangeCell, ClientFacts, ClientRecord,
    ConsistencyClass, ConsistencyFrom, ConsistencyPoint, ConsistencyResult, ConsistencySums,
    ConsistencyVisible, DiskPattern, DriverResult, EfficiencyResult, EndpointResult, FalseDips, FaultFigure,
    FaultResult, FillPoint, FillResult, FullResult, HealthyResult, LOOK_EDGES_US, LadderStepResult,
    Latencies, LookBin, LookCell, LookClass, LookFrom, LoopKind, NicRecord, NodeResult, OperationResult,
    PERCENTILES, PartResult, Percentile, ProbeKind, ProbeOperation, ProxyCost, QuantityResult, RawCluster,
    RawDisk, RawLimits, RawNetwork, RawNode, ResourceKind, SLOT_FIGURES, SizeClassResult, SlotFigure,
    SlotPart, SlotResult, TIME_PARTS, TimePart, TimeResult, UnitResult, Waiting,
};
pub use sample::{Sample, WireTimes};
pub use snapshot::{OpSnapshot, Phase, Snapshot};
pub use sparse::HIGHEST_NS;
pub use time_sums::TimeSums;
pub use wire_time::WireSums;

/// What is nothing is not sent: whoever reads fills it in.
pub(crate) fn is_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
