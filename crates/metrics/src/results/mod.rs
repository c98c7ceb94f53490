//! What a run is found to be, written once: the types of a result ([`OperationResult`], [`Latencies`]) and the table of
//! figures ([`METRICS`]) that everything iterates that shows, writes, compares or judges results. The archive writes these
//! types, REST and the report contain them.

mod bound;
mod client;
mod consistency;
mod faults;
mod fill;
mod latencies;
mod metric;
mod nodes;
mod operation;
mod parts;
mod probes;
mod raw;
mod read;
mod table;
mod time;

pub use bound::{Bound, Cause, Spread};
pub use client::{ClientFacts, ClientRecord, NicRecord};
pub use consistency::{
    BetweenDrivers, ChangeCell, ConsistencyClass, ConsistencyFrom, ConsistencyPoint, ConsistencyResult,
    ConsistencySums, ConsistencyVisible, LOOK_EDGES_US, LookBin, LookCell, LookClass, LookFrom,
};
pub use faults::{
    FalseDips, FaultFigure, FaultResult, HealthyResult, ProxyCost, SLOT_FIGURES, SlotFigure, SlotPart,
    SlotResult,
};
pub use fill::{FillPoint, FillResult, FullResult};
pub use latencies::{Latencies, PERCENTILES, Percentile};
pub use metric::{Amount, Better, Metric, Names, Reading, Statistic, Times, Unit};
pub use nodes::{
    BottleneckResult, CandidateResult, LadderStepResult, NodeResult, QuantityResult, ResourceKind,
    UnitResult, Waiting,
};
pub use operation::{LoopKind, OperationResult};
pub use parts::{DriverResult, EndpointResult, PartResult, SizeClassResult};
pub use probes::{ProbeKind, ProbeOperation};
pub use raw::{DiskPattern, EfficiencyResult, RawCluster, RawDisk, RawLimits, RawNetwork, RawNode};
pub use read::TimeOf;
pub use table::METRICS;
pub use time::{TIME_PARTS, TimePart, TimeResult};

#[cfg(test)]
mod tests;
