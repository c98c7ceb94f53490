//! The run directory: sole reader and writer of everything that a run leaves behind. Beside COSBench's own files (same
//! names, same header lines) lie `run.json`, the histogram log and, if asked for, the operation log. What each file and
//! column means: `docs/reference/archive.md`.
//!
//! The way of a run: [`Archive::open`], [`Archive::begin`] before the first byte of load (a full or read-only disk fails
//! here), [`RunDir::enter_stage`], [`RunDir::append_interval`] and [`RunDir::append_histograms`] while it runs,
//! [`RunDir::end_stage`], [`RunDir::finish`]. A run that is killed in between leaves what it had, and [`open_run`] says so.

mod client;
pub mod cosbench;
mod csv_text;
mod error;
mod files;
mod gaps;
mod goals;
mod hlog;
mod interval;
mod layout;
mod number;
mod oplog;
mod oplog_join;
mod oplog_read;
mod output;
mod overview;
mod parts;
mod process;
mod reader;
mod record;
mod recover;
mod root;
mod run_dir;
mod run_log;
mod series;
mod tables;
mod verdict;

pub use client::{ClientLine, ClientRecord, NicRecord};
pub use error::ArchiveError;
pub use gaps::{BesideRecord, MissingRecord, PauseRecord};
pub use goals::{GoalStatus, IntervalRecord, SearchRecord, ThresholdRecord, TrialRecord, UslRecord};
pub use hlog::{HistogramLog, LoggedHistogram, TimeKind};
pub use interval::{IntervalLine, phase_word};
pub use jiff::{Timestamp, civil::DateTime as LocalTime, tz::TimeZone};
pub use layout::{OperationLayout, StageLayout, WorkLayout, layout_of};
pub use oplog::{OpBatch, OpLog, OpLogSender, SendError};
pub use oplog_read::{OpLogReader, OpRow};
pub use output::write_output;
pub use overview::{LONGEST_TAG, MOST_TAGS, RunGlance, baselines, change_tags, overview, set_baseline, tags};
pub use parts::{DriverRecord, EndpointRecord, LoopKind, PartRecord, SizeClassRecord};
pub use reader::{FoundRun, Run, TimelineEntry, TimelineValue, list, open_run};
pub use record::{
    HostRecord, LatencyRecord, OperationRecord, ProcessRecord, RunRecord, RunState, SCHEMA, StageRecord,
    StageState, StateChange,
};
pub use root::{Archive, KilledRun, NewRun, Source};
pub use run_dir::{RunDir, ScriptLevel};
pub use run_log::{LoggedLine, append_log, last_lines};
pub use tables::{OperationBuckets, StageTables, TimelineRow};
pub use verdict::{Check, CheckStatus, Overall, Verdict};
