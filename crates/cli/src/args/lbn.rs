//! The arguments of `cosmark lbn`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark lbn`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark lbn --device sdb --seconds 30     on the machine with the disk, while a run goes on
  cosmark lbn trace.txt                     a trace that was made elsewhere

A trace is text of the kernel's event block_rq_issue (tracefs, trace-cmd report, perf script) or of blkparse. Following requests \
needs root and a kernel with tracing.")]
pub struct LbnArgs {
    /// Trace; without it, requests of this machine are followed
    #[arg(value_name = "FILE", conflicts_with = "device")]
    pub file: Option<PathBuf>,
    /// Only this disk, such as sdb or /dev/sdb
    #[arg(long, value_name = "DISK")]
    pub device: Option<String>,
    /// How long requests are followed
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400), conflicts_with = "file")]
    pub seconds: u64,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
