//! The arguments of `cosmark import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark import`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  fio --output-format=json+ --output=disk.json --write_iops_log=disk --log_avg_msec=1000 job.fio
  cosmark import disk.json --iops-log disk_iops.1.log
  cosmark import raw.json && cosmark import rbd.json && cosmark compare w1 w2

Of json+ the histogram of all times is imported, of json the percentiles that fio printed. A log of rates gives the course over
time, by which the verdict sees whether the rate was steady. Archives of COSBench need no import: name their directory.")]
pub struct ImportArgs {
    /// What fio 3 printed with --output-format=json or json+
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Log of rates of a job (--write_iops_log with --log_avg_msec); several in the order of the jobs
    #[arg(long, value_name = "FILE")]
    pub iops_log: Vec<PathBuf>,
    /// Memory of the machine that fio ran on, such as 64GiB: whether data came from its page cache is judged by it
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Name of the run; default: that of the file
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Directory that keeps the results
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Do not write report.html at the end
    #[arg(long)]
    pub no_report: bool,
}
