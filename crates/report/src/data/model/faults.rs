//! What the page gets to see of faults, and of what happened to a run.

use serde::Serialize;

/// Something that happened while a stage ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EventMark {
    /// Seconds since the load began; below 0 before it.
    pub at_s: f64,
    /// `stage`, `driver`, `fault`, `command` or `note`.
    pub kind: String,
    /// One sentence, or what was printed.
    pub text: String,
}

/// A fault of a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FaultData {
    /// Apart from others of the page.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it was made.
    pub what: String,
    /// `bed`, `command`, `signal`, `proxy` or `none`.
    pub kind: String,
    /// Lower end of the band of the healthy rate.
    pub low_per_s: Option<f64>,
    /// Its upper end.
    pub high_per_s: Option<f64>,
    /// What a healthy second is worth.
    pub level_per_s: Option<f64>,
    /// Its slots.
    pub slots: Vec<FaultSlotData>,
    /// Its figures.
    pub figures: Vec<FaultFigureData>,
    /// What was seen without a fault, in words.
    pub quiet: Option<String>,
    /// What its proxy added, in words.
    pub proxy: Option<String>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// One repetition. Times are seconds since the load began.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FaultSlotData {
    /// From 1.
    pub number: u32,
    /// Why it says nothing.
    pub void: Option<String>,
    /// When the fault was asked for.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// What proved that it was there.
    pub proof: Option<String>,
    /// Whether the rate fell.
    pub dip: Option<bool>,
    /// Where the course begins.
    pub course_from_s: f64,
    /// Seconds of each of its values.
    pub course_step_s: f64,
    /// Operations per second.
    pub course_per_s: Vec<f64>,
    /// Its parts.
    pub parts: Vec<FaultSlotPart>,
    /// What happened in it.
    pub marks: Vec<EventMark>,
    /// Its values of the fault's figures, in their order.
    pub values: Vec<Option<f64>>,
}

/// A part of a slot.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FaultSlotPart {
    /// `injection`, `detection`, `initiation`, `recovery` or `keep`.
    pub part: String,
    /// Start.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// A figure of a fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FaultFigureData {
    /// For people.
    pub title: String,
    /// `s`, `ms`, `share`, `count` or `bytes`.
    pub unit: String,
    /// Mean of the slots that have it.
    pub mean: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Why there is none.
    pub reason: Option<String>,
}
