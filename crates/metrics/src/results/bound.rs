//! Between which values a figure lies: what a client that adds nothing would have measured. `docs/reference/error-bounds.md`
//! has the method; the crate `verdict` computes it.

use serde::{Deserialize, Serialize};

/// The interval of one figure, with its two parts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Bound {
    /// A client that adds nothing would have measured no less, in the unit of the figure; null where nothing is known.
    pub low: Option<f64>,
    /// And no more.
    pub high: Option<f64>,
    /// Systematic: what the client itself can have added to the value, or kept from it.
    pub client: Spread,
    /// Statistical: how far the value of a window as short as this one may be off (95 %).
    pub sampling: Spread,
    /// The longer side, as a share of the value; of a share in points. Null where a side is not known.
    pub within: Option<f64>,
    /// What widens it most.
    pub cause: Option<Cause>,
    /// Why the figure does not hold; null where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does_not_hold: Option<String>,
}

/// How far below and above the value, in its unit; null where no limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Spread {
    /// So much below.
    pub below: Option<f64>,
    /// So much above.
    pub above: Option<f64>,
}

/// What makes an interval wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The client's machine paused.
    Pauses,
    /// Load threads waited for a processor.
    RunQueue,
    /// Load threads were busy with other operations.
    BusyThreads,
    /// Operations were sent later than they were due although a worker was free.
    Lag,
    /// Operations that had not finished, or were dropped.
    Unfinished,
    /// The client's own share of each time, measured by the kernel's time stamps.
    Measured,
    /// Steps of the histogram.
    Resolution,
    /// Too few operations, or operations that resemble each other.
    Sampling,
}

impl Cause {
    /// In a sentence, after "because".
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Pauses => "the client's machine paused",
            Self::RunQueue => "load threads waited for a processor",
            Self::BusyThreads => "load threads were busy with other operations",
            Self::Lag => "operations were sent later than they were due",
            Self::Unfinished => "operations had not finished or were dropped",
            Self::Measured => "the client took that long itself, by the kernel's time stamps",
            Self::Resolution => "the histogram has steps",
            Self::Sampling => "there is too little data",
        }
    }
}

impl Bound {
    /// True where the interval is of use.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.does_not_hold.is_none()
    }
}
