//! The arguments of `cosmark study`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark study`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark study list                                 the studies that come with Cosmark
  cosmark study slides --plan                        what would be run, how long it takes, how much room it needs
  cosmark study slides --scale quick                 run it on the test bed; the same command continues after a kill
  cosmark study slides --system swift=target.yaml    the same on a store of your own
  cosmark study status                               how far each study of this directory is
  cosmark study status slides                        the same of one, with its cells as a table
  cosmark study status slides --json                 the same for programs, with every figure of every cell
  cosmark controller --local                         in the same directory: all of it in the browser, under Studies
  cosmark study slides --report                      make the report again from what was measured so far
  cosmark study new mine                             write mine/study.yaml, then: cosmark study mine/study.yaml --plan
  cosmark study schema                               the JSON Schema of study.yaml, for editors

A study writes a directory study-NAME-SCALE: archive (one run for each cell), journal.jsonl, report.html, report.md, tables.tex and \
figures. Ctrl-C ends the current cell, deletes what it wrote, and stops what was started; the same command continues.")]
pub struct StudyArgs {
    /// Name of a study, a study.yaml or its directory; or list, status, new, schema
    #[arg(value_name = "STUDY")]
    pub what: String,
    /// With `new`: the directory to make; with `status`: the study
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// How much of it: quick shows that it works, scaled shows shapes, full is as published
    #[arg(long, value_name = "SCALE", default_value = "quick", value_parser = ["quick", "scaled", "full"])]
    pub scale: String,
    /// Repeat the flaws of the published workload, each named in the report
    #[arg(long)]
    pub as_published: bool,
    /// Show cells, time and room; run nothing
    #[arg(long, conflicts_with = "report")]
    pub plan: bool,
    /// Make the report of what was measured so far; run nothing
    #[arg(long)]
    pub report: bool,
    /// Only cells with these levels, such as system=swift or workers=1,16; may be given several times
    #[arg(long, value_name = "FACTOR=LEVEL,..")]
    pub only: Vec<String>,
    /// The system NAME is at this target, instead of a test bed; may be given several times
    #[arg(long, value_name = "NAME=FILE")]
    pub system: Vec<String>,
    /// Start no cell that would not end within this time, such as 40m
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Run cells that failed, or whose run cannot be read, once more
    #[arg(long)]
    pub retry: bool,
    /// Seed of the order of cells and of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory of the study's results; default: study-NAME-SCALE
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Directory of the test beds
    #[arg(long, value_name = "DIR", default_value = "testbeds")]
    pub testbeds: PathBuf,
    /// Directory for fio's file, on the disk to be measured; default: the study's own
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Load threads; default: processors minus one, at least one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Do not look at the machines of the store that `nodes:` names
    #[arg(long)]
    pub no_nodes: bool,
    /// Allow the `faults:` of the study's workload to run commands and signal processes on this machine: read them first
    #[arg(long)]
    pub allow_faults: bool,
    /// With `list` and `status`: print as JSON; `status NAME` includes all cells and figures
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}
