//! Studies as the interface shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a study stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum StudyState {
    /// A process runs it.
    Running,
    /// A process runs it and was asked to stop.
    Stopping,
    /// Every cell was run as often as wanted.
    Complete,
    /// It was stopped, or not all of it was called for.
    Stopped,
    /// Its budget of time is spent.
    BudgetSpent,
    /// It could not go on; `reason` says why.
    Trouble,
    /// What ran it was killed.
    CutOff,
    /// Its journal or its text cannot be read; `reason` says why.
    Unreadable,
}

/// A study at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudySummary {
    /// Name of its directory, by which it is asked for.
    pub id: String,
    /// Name of the study; empty where that cannot be read.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How much of it is run: quick, scaled or full.
    pub scale: String,
    /// With the published flaws.
    pub as_published: bool,
    /// How it stands.
    pub state: StudyState,
    /// Why, one sentence.
    pub reason: Option<String>,
    /// When it was begun, RFC 3339.
    pub begun: Option<String>,
    /// When something was last written down, RFC 3339.
    pub changed: Option<String>,
    /// Runs that are over, of those that are planned.
    pub done: u32,
    /// Runs that are planned: the least number of repetitions of each cell.
    pub planned: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Seconds that its runs took so far.
    pub spent_s: f64,
    /// Seconds that the rest will take, as estimated and corrected by what is over; null where that is not known.
    pub left_s: Option<f64>,
    /// Name of the run that runs, or that was cut off.
    pub under_way: Option<String>,
    /// When that was begun, RFC 3339.
    pub under_way_since: Option<String>,
    /// Changes whenever something of the study does: what was asked for with the same is still right.
    pub version: String,
}

/// What is varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyFactor {
    /// Its name; `system` is one.
    pub name: String,
    /// For people, with unit.
    pub label: String,
    /// Its levels, for people, in the order of the study.
    pub levels: Vec<String>,
    /// Its levels are stages of one run.
    pub within: bool,
}

/// A conclusion as a hypothesis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyClaim {
    /// Its id.
    pub id: String,
    /// What it says.
    pub says: String,
    /// agrees, disagrees, not shown, emulated, or not testable here.
    pub finding: String,
    /// Why: values, intervals, what is missing.
    pub why: String,
}

/// A study without its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Study {
    /// The study at a glance.
    pub summary: StudySummary,
    /// What it asks.
    pub question: String,
    /// Where the published numbers are from.
    pub source: Option<String>,
    /// The machine that makes the load, a line each.
    pub machine: Vec<String>,
    /// What was made smaller at this scale, a sentence each.
    pub shrunk: Vec<String>,
    /// What is varied, systems first.
    pub factors: Vec<StudyFactor>,
    /// Figures that something was measured of, by their ids.
    pub metrics: Vec<String>,
    /// Operations that were measured.
    pub operations: Vec<String>,
    /// Bytes that its runs moved so far.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Runs that are over and not read yet: ask again.
    pub unread: u32,
    /// What the authors or readers concluded.
    pub claims: Vec<StudyClaim>,
    /// The command that goes on, for who may operate.
    pub command: Option<String>,
    /// Whether this controller may be asked to go on.
    pub may_go_on: bool,
}

/// How a run of a study stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum StudyRunState {
    /// It was not begun.
    Waiting,
    /// It was begun, and nobody runs it any more: the study runs it again when it goes on.
    CutOff,
    /// It runs.
    Running,
    /// It was run to its end.
    Done,
    /// It failed.
    Failed,
    /// It is not run; `refused` of its points says why.
    NotRun,
}

/// One run of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyRun {
    /// Its name, by which its results are asked for.
    pub name: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// How it stands.
    pub state: StudyRunState,
    /// Seconds that it took.
    pub took_s: Option<f64>,
    /// Why it failed.
    pub reason: Option<String>,
}

/// A cell: what is run together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyCell {
    /// System and levels.
    pub id: String,
    /// How its runs stand together.
    pub state: StudyRunState,
    /// Its runs.
    pub runs: Vec<StudyRun>,
}

/// A point of the grid: a level of each factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyPoint {
    /// Number of its cell in `cells`.
    pub cell: u32,
    /// For each factor the number of its level.
    pub levels: Vec<u32>,
    /// Why it is not run.
    pub refused: Option<String>,
    /// The gravest verdict of its repetitions: true, true_with_limits, not_proven or false.
    pub verdict: Option<String>,
    /// Why it is that, or why its responses are too long for the window.
    pub why: Option<String>,
    /// The operation whose figure is shown, where the point did not make the chosen one.
    pub operation: Option<String>,
    /// Mean of the figure over its repetitions.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval of the mean, of two repetitions or more.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Repetitions that have the figure.
    pub repetitions: u32,
}

/// All points with one figure of one operation, or of their own where they did not make that one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyGrid {
    /// The figure's id; empty where nothing was measured.
    pub metric: String,
    /// The operation; empty where nothing was measured.
    pub operation: String,
    /// Cells with their runs.
    pub cells: Vec<StudyCell>,
    /// Points.
    pub points: Vec<StudyPoint>,
    /// Points beyond the most that an answer has.
    pub left_out: u32,
    /// Of the study at this moment.
    pub version: String,
}

/// A cell of a table of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StudyField {
    /// Its text, with a word where its look says something.
    pub text: String,
    /// plain, false, hollow, best or not_run.
    pub look: String,
}

/// A part of the report of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum StudyPart {
    /// A heading.
    Heading {
        /// Its order: 2, 3 or 4.
        order: u8,
        /// Its text.
        text: String,
    },
    /// A paragraph.
    Text {
        /// Its text.
        text: String,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<String>,
    },
    /// A table.
    Table {
        /// Above it.
        caption: String,
        /// Names of its columns.
        columns: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<StudyField>>,
    },
    /// A picture.
    Figure {
        /// Below it.
        caption: String,
        /// SVG: to be shown as a picture, not as a part of the page.
        svg: String,
    },
}
