//! The arguments of `cosmark baseline`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark baseline`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark baseline                       the baselines of this archive
  cosmark baseline w12                   runs of the same workload are compared with w12
  cosmark baseline target.yaml --directory storage1=/srv/node/sdb --directory storage2=/srv/node/sdb
  cosmark baseline target.yaml --import storage1=fio.json --import proxy1=iperf3.json

With a target file: measures what the machines under `nodes:` can do by themselves, without the store. Programs run only on machines of \
type local or ssh: fio in the directories that are named (a file of --size, which is removed at the end, also after Ctrl-C), iperf3 \
between this machine and each of them, and openssl. This disturbs everything else on these machines: do it while nobody needs the \
store. The result is an entry of the archive; later runs of the same machines say which share of it they reach. Measure again after a \
run to see whether the machines have changed.")]
pub struct BaselineArgs {
    /// Run: a directory, its number (12 or w12) or `last`; or a target file. Without it, all baselines are shown
    #[arg(value_name = "RUN|FILE")]
    pub run: Option<String>,
    /// Make the run no longer the baseline
    #[arg(long, requires = "run")]
    pub remove: bool,
    /// Archive to look for the run in, and to write results to
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Measure the disk that this directory of a node lies on; several times for several disks
    #[arg(long, value_name = "NODE=DIR", help_heading = "Measuring the machines of a target")]
    pub directory: Vec<String>,
    /// Size of the file for each disk
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1GiB",
        help_heading = "Measuring the machines of a target"
    )]
    pub size: String,
    /// Seconds for each of four patterns of a disk, and for each direction of the network
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600), help_heading = "Measuring the machines of a target")]
    pub seconds: u64,
    /// Use the iperf3 server at this address for a node, instead of starting one there
    #[arg(long, value_name = "NODE=HOST[:PORT]", help_heading = "Measuring the machines of a target")]
    pub iperf3: Vec<String>,
    /// Read what fio, iperf3, rados bench or ceph tell osd.N bench printed as JSON, instead of running anything on that
    /// node but fio in a --directory of it
    #[arg(long, value_name = "NODE=FILE", help_heading = "Measuring the machines of a target")]
    pub import: Vec<String>,
    /// Leave the network out
    #[arg(long, help_heading = "Measuring the machines of a target")]
    pub no_network: bool,
    /// Print what was measured as JSON
    #[arg(long, help_heading = "Measuring the machines of a target")]
    pub json: bool,
}

impl BaselineArgs {
    /// Options that mean nothing for a run were given.
    #[must_use]
    pub fn measures_something(&self) -> bool {
        self.no_network
            || self.json
            || [&self.directory, &self.iperf3, &self.import].iter().any(|given| !given.is_empty())
    }
}
