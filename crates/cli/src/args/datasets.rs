//! Arguments of `cosmark datasets`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// Options of `cosmark datasets`.
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark run fill.yaml                             writes a data set; the same again continues after an interruption
  cosmark datasets list                             what there is, how far, in which store
  cosmark datasets show pebbles                     its numbers, passes and runs
  cosmark datasets check pebbles --sample 10000     is it there, byte by byte; says what the sample proves
  cosmark datasets clean pebbles --dry-run          what would be removed

A data set is written by a stage with fill:, and read by operations with dataset: NAME in any later run of the same archive. Its \
contents follow from its seed and numbers, which are in .datasets of the archive. The archive keeps no secrets: `check` and \
`clean` need --target for a store that asks for a login.")]
pub struct DatasetsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DatasetsCommand,
}

/// What to do.
#[derive(Subcommand)]
pub enum DatasetsCommand {
    /// List the data sets of an archive
    List {
        /// Archive of the runs
        #[arg(long, value_name = "DIR", default_value = "archive")]
        archive: PathBuf,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one: what it is, how far each of its passes is, which runs wrote it
    Show {
        /// Name of the data set
        #[arg(value_name = "NAME")]
        name: String,
        /// Archive of the runs
        #[arg(long, value_name = "DIR", default_value = "archive")]
        archive: PathBuf,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Read objects of one and compare them byte by byte with what was written; nothing is written to the store
    Check(DatasetCheckArgs),
    /// Remove one from its store: its objects, and its containers where runs made them; nothing else
    Clean {
        /// Name of the data set
        #[arg(value_name = "NAME")]
        name: String,
        /// Archive of the runs
        #[arg(long, value_name = "DIR", default_value = "archive")]
        archive: PathBuf,
        /// File with the auth and storage that wrote it
        #[arg(long, value_name = "FILE")]
        target: Option<PathBuf>,
        /// The target is another address of the store that the runs wrote to
        #[arg(long)]
        another_address: bool,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

/// `cosmark datasets check`
#[derive(ClapArgs)]
pub struct DatasetCheckArgs {
    /// Name of the data set
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Archive of the runs
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// File with the auth and storage to read through; another protocol of the same store is allowed
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Read this many objects, chosen at random; 0 = all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub sample: u64,
    /// Seed of the random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Most objects per second
    #[arg(long, value_name = "N", value_parser = super::verify_data::rate)]
    pub rate: Option<f64>,
    /// How many objects are read at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}
