//! The run directory: sole reader and writer of everything that a run leaves behind. Beside COSBench's own files (same
//! names, same header lines) lie `run.json`, the histogram log and, if asked for, the operation log. What each file and
//! column means: `docs/reference/archive.md`.
//!
//! The way of a run: [`Archive::open`], [`Archive::begin`] before the first byte of load (a full or read-only disk fails
//! here), [`RunDir::enter_stage`], [`RunDir::append_interval`] and [`RunDir::append_histograms`] while it runs,
//! [`RunDir::end_stage`], [`RunDir::finish`]. A run that is killed in between leaves what it had, and [`open_run`] says so.

pub mod cosbench;
mod csv;
mod datasets;
mod directory;
mod error;
pub mod fio;
mod ledger;
mod nodelog;
mod oplog;
mod output;
mod parts;
mod readback;
mod record;
mod recover;
mod regular;
mod strict_modes;

pub use cosmark_metrics::{
    ClientRecord, DriverResult, EndpointResult, LoopKind, NicRecord, OperationResult, PartResult,
    SizeClassResult,
};
pub use csv::clients::ClientLine;
pub use csv::cosbench::{OperationBuckets, StageTables, TimelineRow};
pub use csv::intervals::IntervalLine;
pub use csv::layout::{OperationLayout, StageLayout, WorkLayout, layout_of};
pub use csv::line::harmless;
pub use csv::probes::ProbeLine;
pub use csv::timeline::{TimelineEntry, TimelineValue};
pub use datasets::{
    DataSet, DataSetFull, DataSetHold, DataSetRecord, DataSetRun, DataSetState, Done, admit, known_datasets,
    note_full, passes_as_begun,
};
pub use directory::files::{place_named, run_directory, text_of_name, write_whole};
pub use directory::fio::{FioRun, NewFio};
pub use directory::histograms::{HistogramLog, LoggedHistogram, TimeKind};
pub use directory::in_force::{Claim, FaultInForce, FaultJournal, FaultNote, Heal, LimitedGroup};
pub use directory::index::{
    Headline, LONGEST_TAG, MOST_TAGS, RunOverview, baselines, change_tags, newest, overview, overview_of,
    set_baseline, tags,
};
pub use directory::log::{LoggedLine, append_log, last_lines};
pub use directory::notes::add_note;
pub use directory::open::{open_run, open_so_far};
pub use directory::process::is_this_process;
pub use directory::raw::{newest_raw_limits, raw_limits};
pub use directory::reader::{FoundRun, Run, killed_runs, list, run_numbered};
pub use directory::remove::{remove_run, remove_unbegun};
pub use directory::run_dir::{RunDir, ScriptLevel};
pub use directory::tickets::{FaultTicket, FaultTickets, TicketEnd};
pub use directory::{Archive, KilledRun, NewRun, Source, directory_named};
pub use error::ArchiveError;
pub use jiff::{Timestamp, civil::DateTime as LocalTime, tz::TimeZone};
pub use ledger::{Ledger, LedgerEntries, LedgerHead};
pub use nodelog::read::NodeLogReader;
pub use oplog::read::{OpLogReader, OpRow};
pub use oplog::{OpBatch, OpLog, OpLogSender, SendError};
pub use output::write_output;
pub use readback::{ReadBackFiles, ReadBackProgress, add_durability};
pub use record::containers::ContainersRecord;
pub use record::durability::{DurabilityFinding, DurabilityRecord};
pub use record::events::{
    EventKind, EventRecord, FAULT_HEALED, FAULT_LANDED, FAULT_NOTICED, FAULT_VOID, FAULT_WHOLE,
};
pub use record::fio::{FioJobRecord, FioRecord, FioTimes};
pub use record::gaps::{BesideRecord, MissingRecord, PauseRecord};
pub use record::goals::{GoalStatus, IntervalRecord, SearchRecord, ThresholdRecord, TrialRecord, UslRecord};
pub use record::loops::DriversRecord;
pub use record::state::{RunState, StageState};
pub use record::verdict::{Check, CheckStatus, Moved, Overall, Verdict};
pub use record::{HostRecord, ProcessRecord, RunRecord, StageRecord, StateChange};
pub use regular::open as open_file;
pub use strict_modes::{check_strict_modes, has_strict_modes};

/// Number of the format that this version writes, and the latest that it reads.
pub const SCHEMA: u32 = 1;
