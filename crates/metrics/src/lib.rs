//! What was measured, and the arithmetic on it. Pure: no I/O, no clock, no async.
//!
//! [`Sample`] is one operation's record. A [`Recorder`] turns samples into [`Snapshot`]s, one per slice of time;
//! snapshots merge in any order; an
//! [`OperationResult`] is what is read from a merged snapshot and a window, figure by figure as the table
//! [`results::METRICS`] names them. [`HealthSample`]s say how the client itself was doing meanwhile. Percentiles are
//! only ever read from merged histograms.

mod breakdown;
mod health;
mod latency;
pub mod nodes;
mod outcome;
mod recorder;
pub mod results;
mod sample;
mod snapshot;
mod sparse;
mod wire_time;

pub use breakdown::{PartSums, SizeClass, SizeClasses};
pub use health::{
    ClientFacts, HealthSample, HealthSummary, MachineHealth, NicHealth, SATURATED_SHARE, ThreadHealth,
};
pub use latency::{HIGHEST_NS, Latency, SparseLatency};
pub use outcome::Outcome;
pub use recorder::{Recorder, SlicePlan};
pub use results::{
    BottleneckResult, CandidateResult, ChangeCell, ClientRecord, ConsistencyClass, ConsistencyFrom,
    ConsistencyPoint, ConsistencyResult, ConsistencySums, ConsistencyVisible, DiskPattern, DriverResult,
    EfficiencyResult, EndpointResult, FalseDips, FaultFigure, FaultResult, HealthyResult, LOOK_EDGES_US,
    LadderStepResult, Latencies, LookBin, LookCell, LookClass, LookFrom, LoopKind, NicRecord, NodeResult,
    OperationResult, PERCENTILES, PartResult, Percentile, ProxyCost, QuantityResult, RawCluster, RawDisk,
    RawLimits, RawNetwork, RawNode, ResourceKind, SLOT_FIGURES, SizeClassResult, SlotFigure, SlotPart,
    SlotResult, UnitResult, Waiting,
};
pub use sample::Sample;
pub use snapshot::{OpSnapshot, Phase, Snapshot};
pub use wire_time::{WireSums, WireTimes};
