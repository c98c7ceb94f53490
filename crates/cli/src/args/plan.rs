//! The arguments of `cosmark plan`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark plan`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark plan w12                                what limits the measured store, and what would limit it next
  cosmark plan w12 --nodes 2x                     twice the machines of every role
  cosmark plan w12 --nodes proxy=3 --workers 96   three proxies, 96 workers
  cosmark plan w12 --units swift-proxy-server=2x  twice the processes of a daemon on the same machines
  cosmark plan w12 --mix read=50,write=50 --size 1MiB --rate 800/s
  cosmark plan w12 --workers-of read=48,write=16  workers that only read beside workers that only write
  cosmark plan w12 --check                        leaves out the upper third of the loads, and predicts it

RUN is a ladder: a run with `nodes:` that did the same operations at three or more loads (workloads/ladder.yaml). Another mix or \
size can be predicted if the run measured several of them.

A file of prices, for --prices (all parts may be left out):
  currency: EUR
  node_hour: {proxy: 0.35, storage: 0.52}       of one machine of each role
  gigabyte: 0.01                                of what is moved
  million_operations: 0.40")]
pub struct PlanArgs {
    /// Run: a directory, its number (12 or w12), `last` or `baseline`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Machines: 2x (of every role), ROLE=2x, ROLE=COUNT; several with commas
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    pub nodes: Vec<String>,
    /// More of one kind of unit on each machine: disk=2x, cpu=2x, network=2x, quota=2x, or DAEMON=2x for its processes
    #[arg(long, value_name = "UNIT=FACTORx", value_delimiter = ',')]
    pub units: Vec<String>,
    /// Operations and their shares: read=80,write=20
    #[arg(long, value_name = "MIX")]
    pub mix: Option<String>,
    /// Object size
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Concurrent workers of all drivers; default: the most that was measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "rate")]
    pub workers: Option<u32>,
    /// Workers that do one kind of operation only: read=48,write=16
    #[arg(long, value_name = "WORKERS", conflicts_with_all = ["workers", "rate", "mix"])]
    pub workers_of: Option<String>,
    /// Open loop: operations per second, whatever the store does
    #[arg(long, value_name = "N/s")]
    pub rate: Option<String>,
    /// What machines and bytes cost (YAML)
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Leave out the upper third of the loads, predict it, and compare
    #[arg(long, conflicts_with_all = ["nodes", "units", "mix", "size", "workers", "workers_of", "rate", "prices"])]
    pub check: bool,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
