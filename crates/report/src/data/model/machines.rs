//! What the page gets to see of the store's machines, and of what limits the store.

use serde::Serialize;

/// A chart of the machines of one role over time; bins as in the stage's axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeChartData {
    /// `processors-proxy`.
    pub id: String,
    /// What the machines do for the store.
    pub role: String,
    /// For people.
    pub title: String,
    /// What one reads there.
    pub hint: String,
    /// Of its values, as in [`super::Fact`]; `bytes`.
    pub unit: String,
    /// Machines of which something is known.
    pub machines: u32,
    /// How many of these have lines: the busiest.
    pub drawn: u32,
    /// The first bin that is here.
    pub from: u32,
    /// The lines.
    pub lines: Vec<NodeLine>,
}

/// A figure of a machine over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeLine {
    /// For people.
    pub name: String,
    /// Number of its colour.
    pub colour: u32,
    /// Number of its kind of line.
    pub dash: u32,
    /// Mean of each bin; null where nothing was seen.
    pub values: Vec<Option<f64>>,
}

/// When a machine of the store did not answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeGap {
    /// Its name.
    pub node: String,
    /// What it does for the store.
    pub role: String,
    /// From then on, seconds since the load began.
    pub from_s: f64,
    /// Until then.
    pub to_s: f64,
    /// Why.
    pub why: String,
}

/// What a machine of the store was busy with in the measured window.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeData {
    /// Its name.
    pub name: String,
    /// What it does for the store.
    pub role: String,
    /// Who gave its figures.
    pub source: String,
    /// The busiest unit of each kind, the busiest first.
    pub busiest: Vec<NodeUnit>,
    /// Bytes per second received by the interface that received most; null where nothing is known.
    pub received_bytes_per_s: Option<f64>,
    /// The same of sent bytes.
    pub sent_bytes_per_s: Option<f64>,
    /// What makes its figures doubtful, and parts that are much busier than others like them: sentences.
    pub remarks: Vec<String>,
}

/// Something of a machine that can be full.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeUnit {
    /// For people: `processor`, `disk`.
    pub kind: String,
    /// Its name on the machine.
    pub name: String,
    /// Share of the window, 0 to 1.
    pub busy: f64,
    /// The same between the two readings where it was highest.
    pub highest_busy: f64,
    /// How many waited for it; null where that was not counted.
    pub queue: Option<f64>,
    /// Share of the time in which something waited; null where that was not measured.
    pub waiting: Option<f64>,
}

/// What limits the store, from steps of one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LadderData {
    /// `named`, `several`, `client`, ..
    pub answer: String,
    /// `high`, `medium` or `low`; null unless something is named.
    pub confidence: Option<String>,
    /// The answer in words.
    pub text: String,
    /// What would be full next.
    pub second: Option<String>,
    /// What would prove it wrong.
    pub refute: Option<String>,
    /// Units that are much busier than others like them.
    pub skewed: Vec<String>,
    /// Operations per second where more load added nothing.
    pub plateau_per_s: Option<f64>,
    /// The steps by rising load.
    pub steps: Vec<LadderStep>,
    /// Units of the store's machines, the lowest ceiling first.
    pub candidates: Vec<LadderUnit>,
}

/// A step of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LadderStep {
    /// Id of its stage.
    pub stage: String,
    /// Name of its stage.
    pub name: String,
    /// Operations under way on average.
    pub in_flight: f64,
    /// Operations per second.
    pub throughput_per_s: f64,
    /// Mean service time in ms.
    pub service_ms: f64,
}

/// A unit of the store's machines, and what the steps say of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LadderUnit {
    /// For people.
    pub name: String,
    /// It is what limits the store, or a part of it.
    pub named: bool,
    /// What an operation costs it, in ms.
    pub demand_ms: f64,
    /// Operations per second at which it has no time left; null where an operation does not need it.
    pub ceiling_per_s: Option<f64>,
    /// Lower end of the 95 % interval of that.
    pub ceiling_low_per_s: Option<f64>,
    /// Upper end.
    pub ceiling_high_per_s: Option<f64>,
    /// Share of the time in which it was busy at each step; null where that was not measured.
    pub busy: Vec<Option<f64>>,
    /// Why it is not the limit.
    pub against: Vec<String>,
}

/// Which share users got in a stage of what the store's machines can do by themselves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RawShare {
    /// Id of the stage.
    pub stage: String,
    /// Its name.
    pub name: String,
    /// `read` or `write`.
    pub direction: String,
    /// Of what, for people: `disks`, `disk requests`, `network`.
    pub of: String,
    /// Unit of both rates, as in [`super::Fact`].
    pub unit: String,
    /// What users got per second.
    pub user_per_s: f64,
    /// What the machines can do per second.
    pub raw_per_s: f64,
    /// The one over the other, 0 to 1; more where what was read came out of memory.
    pub share: f64,
}
