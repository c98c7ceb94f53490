//! The arguments of what makes load on this machine: `demo`, `run` and `quick`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use cosmark_workload::units::parse_duration;

use super::ManyArgs;

/// What every run takes.
#[derive(ClapArgs, Clone)]
pub struct RunOptions {
    /// Archive: the directory of the results
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Load threads; default: processors minus one, at least one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Seed of every random choice; with the same seed a run sends the same operations
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run the measuring stages this many times, the cells of a matrix in a drawn order each time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub repeat: Option<u32>,
    /// Keep one record per operation (operations.parquet)
    #[arg(long)]
    pub oplog: bool,
    /// Keep a ledger of what the store acknowledges, for `cosmark verify-data`; `check: durability` does so too
    #[arg(long)]
    pub ledger: bool,
    /// Do not write report.html at the end
    #[arg(long)]
    pub no_report: bool,
    /// Do not look at the machines of the store that `nodes:` names
    #[arg(long)]
    pub no_nodes: bool,
    /// Let the workload's `faults:` run its commands and signal processes on this machine: read them first
    #[arg(long)]
    pub allow_faults: bool,
    /// Print run.json on stdout and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// End with exit code 7 when the verdict is FALSE
    #[arg(long)]
    pub strict: bool,
    /// Seconds that operations in flight may take after the load has ended (10), and after the first Ctrl-C (5)
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub drain: Option<u64>,
    /// The same of a load that ends by itself, where nobody says it
    #[arg(skip = 10_u64)]
    pub usual_drain: u64,
    #[command(flatten)]
    pub live: LiveOptions,
}

/// Metrics that leave while a run lasts.
#[derive(ClapArgs, Clone, Default)]
#[command(next_help_heading = "Metrics while the run lasts")]
pub struct LiveOptions {
    /// Serve Prometheus metrics at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics_listen: Option<SocketAddr>,
    /// Accept a metrics address that other machines can reach
    #[arg(long, requires = "metrics_listen")]
    pub metrics_allow_remote: bool,
    /// Send metrics to a Prometheus remote-write receiver
    #[arg(long, value_name = "URL")]
    pub remote_write: Option<String>,
    /// Send metrics to an OpenTelemetry receiver (OTLP over HTTP, JSON)
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// Send metrics to InfluxDB, such as http://host:8086/api/v2/write?org=O&bucket=B
    #[arg(long, value_name = "URL")]
    pub influx: Option<String>,
}

/// `cosmark demo`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark demo                       half a minute of load, a verdict, a table, and archive/w1-demo
  cosmark demo --runtime 2m --oplog  longer, with one record per operation

The figures describe this machine and no store: go on with `cosmark quick URL`.")]
pub struct DemoArgs {
    /// How long the main stage measures: 1s to 3600s
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = seconds_of_demo)]
    pub runtime: u64,
    #[command(flatten)]
    pub options: RunOptions,
}

/// Whole seconds.
fn seconds_of_demo(text: &str) -> Result<u64, String> {
    let time = parse_duration(text).ok().filter(|time| time.subsec_nanos() == 0);
    time.map(|time| time.as_secs())
        .filter(|seconds| (1..=3600).contains(seconds))
        .ok_or_else(|| "give 1s to 3600s, such as 20s or 2m".to_owned())
}

/// `cosmark run`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark run workloads/mixed.yaml --target testbeds/swift/target.yaml
  cosmark run workload-config.xml --set main.runtime=60s --set main.workers=64
  cosmark run workload.xml --json > result.json
  cosmark run workload.yaml --nats nats://host:4222 --drivers 4     the load is made by drivers on other machines

`cosmark check FILE` shows mistakes and what would be done, without sending anything. Exit codes: `cosmark --help`. \
Ctrl-C once: operations in flight have 5 s to end, or as many as --drain says, and the archive is written. Twice: at once.")]
pub struct RunArgs {
    /// Workload file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Change a field: [stage.[work.]]key=value, e.g. workers=16, main.runtime=60s, storage.timeout=5s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// File with the auth and storage to use instead of the workload's
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Directory of trigger scripts; default: `scripts` beside the workload file
    #[arg(long, value_name = "DIR")]
    pub scripts: Option<PathBuf>,
    #[command(flatten)]
    pub options: RunOptions,
    #[command(flatten)]
    pub many: ManyArgs,
}

/// `cosmark quick`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark quick s3+http://host:9000 --size 64KiB --workers 32       keys from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
  cosmark quick s3+http://host:9000 --rate 200/s --workers 64       an open loop: response times as users see them
  cosmark quick s3+http://host:9000 --search \"p95 <= 50 ms\"        the highest rate that is still good enough
  cosmark quick file:///mnt/nfs --mix read=50,write=50 --verify

URLs (percent-encode special characters; KEY and SECRET may come from AWS_ACCESS_KEY_ID and \
AWS_SECRET_ACCESS_KEY, from the profile of AWS_PROFILE in ~/.aws/credentials, or from ST_USER and ST_KEY):
  s3+http://KEY:SECRET@host:port[/bucket]       s3+https://..; several gateways: @a:9000,b:9000
  swift+http://ACCOUNT%3AUSER:KEY@host:port/auth/v1.0[?container=NAME]
  dav+http://USER:PASSWORD@host:port/path       file:///directory
  rados://USER@monitor:port/POOL?keyring=FILE   or USER:KEY@; ?conf=/etc/ceph/ceph.conf instead of the monitor

It creates its own container (or uses the one given), writes the objects, measures, and deletes what it wrote, \
also after Ctrl-C (twice: at once).")]
pub struct QuickArgs {
    /// Address of the store, with or without keys: see below
    #[arg(value_name = "URL")]
    pub url: String,
    /// Object size, or sizes to draw from: "u(1,64)KiB"
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub size: String,
    /// Operations and their shares: read, write, delete, list, head
    #[arg(long, value_name = "MIX", default_value = "read=80,write=20")]
    pub mix: String,
    /// Concurrent workers; default: 16, with --search at most 512
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub workers: Option<u32>,
    /// Open loop: arrivals per second, whatever the store does; at most --workers of them are under way at once
    #[arg(long, value_name = "N/s")]
    pub rate: Option<String>,
    /// How long to measure; default: until the headline figures are known within 5 %, with --search 10s for each trial
    #[arg(long, value_name = "TIME")]
    pub runtime: Option<String>,
    /// Without --runtime: measure no longer than this; no less than 60s is measured
    #[arg(long, value_name = "TIME", default_value = "5m", conflicts_with_all = ["runtime", "search"])]
    pub max: String,
    /// Look for the highest rate that still meets this, e.g. "p95 <= 50 ms" or "p99 <= 200 ms + size / 1 MB/s"; may be
    /// given several times. "error_rate <= 1 %" is always among the conditions, unless one of them names error_rate
    #[arg(long, value_name = "THRESHOLD", conflicts_with = "rate")]
    pub search: Vec<String>,
    /// What --search varies: rate (open loop), or workers (closed loop, as published tables of other tools)
    #[arg(long, value_name = "WHAT", default_value = "rate", value_parser = ["rate", "workers"])]
    pub over: String,
    /// Load at which --search begins; default: 50 per second, 1 worker
    #[arg(long, value_name = "LOAD")]
    pub from: Option<String>,
    /// Highest load that --search tries; default: 1000000 per second, 512 workers
    #[arg(long, value_name = "LOAD")]
    pub to: Option<String>,
    /// Objects to prepare
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub objects: u64,
    /// Compare every byte that is read with what was written
    #[arg(long)]
    pub verify: bool,
    /// Accept any TLS certificate
    #[arg(long)]
    pub insecure: bool,
    /// Print the workload instead of running it
    #[arg(long)]
    pub print: bool,
    #[command(flatten)]
    pub options: RunOptions,
}

#[cfg(test)]
mod tests {
    use super::seconds_of_demo;

    #[test]
    fn the_demo_takes_times_as_every_other_option_does() {
        assert_eq!(
            ["20", "20s", "2m", "1h"].map(|text| seconds_of_demo(text).ok()),
            [20, 20, 120, 3600].map(Some)
        );
        assert!(
            ["0s", "3601", "2h", "1.5s", "soon", "", "-1"].iter().all(|text| seconds_of_demo(text).is_err())
        );
    }
}
