//! The stage machine: takes a workload through its stages, cuts shares for the drivers, merges what they send, writes
//! the archive and decides what became of it. It knows drivers only as [`cosmark_wire::DriverLink`]s.

mod acceptance;
mod archive_writer;
mod fullness;
mod job;
mod observe;
mod read_back;
mod recover;
mod run;
mod search;
mod settle;
mod stage;
mod tally;
mod thresholds;

pub use archive_writer::{ArchiveListener, ArchiveWriter, Measured};
pub use job::{EndClass, FaultNews, FaultsPlayed, NodesOfRun, ReadsBack, RunJob, StopLevel};
pub use observe::{Observer, Progress, SliceNews, StageNews};
pub use recover::{JudgesFaults, recover};
pub use run::{Ended, Unwritten, run_workload};
pub use settle::Settle;
