//! The arguments of a controller and of those who speak to one.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{NatsArgs, ReachArgs};

/// How a controller is reached.
#[derive(ClapArgs, Clone)]
#[command(next_help_heading = "Controller")]
pub struct ClientArgs {
    /// Address of the controller; default: the one on this machine, http://127.0.0.1:19088
    #[arg(long, value_name = "URL", env = "COSMARK_CONTROLLER")]
    pub controller: Option<String>,
    /// File with the token; default: the environment variable COSMARK_TOKEN, or on the controller's own machine the
    /// token in its state directory
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Accept the certificates of this file (PEM) beside those of the machine
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// State directory of the controller on this machine; default: $XDG_STATE_HOME/cosmark or ~/.local/state/cosmark
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

/// The heading of what is done with tokens.
const TOKENS: &str = "Tokens of the console and of REST";

/// `cosmark controller`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark controller --local                             one machine: queue, console and load in one process
  cosmark controller --local --listen 0.0.0.0:19088 --tls --archive /srv/cosmark
  cosmark controller --add-token wall-screen --role view
  cosmark controller --write-nats-config /etc/cosmark/nats --nats-listen 0.0.0.0 --nats-driver d1 --nats-driver d2

At its first start it prints a token, once. In the browser, open the address that it prints, and log in with the token. \
Ctrl-C ends it: the queue stays, and with --local the current run is stopped and archived.")]
pub struct ControllerArgs {
    /// Make the load in this process; without it, drivers join over NATS
    #[arg(long)]
    pub local: bool,
    /// Address to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:19088")]
    pub listen: SocketAddr,
    /// Speak TLS with a certificate that is made at the first start
    #[arg(long)]
    pub tls: bool,
    /// Speak TLS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Listen without TLS also where other machines can reach it
    #[arg(long)]
    pub insecure: bool,
    /// Archive: the directory of the results
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Show the studies (`cosmark study`) whose directories are in this one; default: the directory in which the
    /// directory of the results is
    #[arg(long, value_name = "DIR")]
    pub studies: Option<PathBuf>,
    /// Let users with the role operate repeat the last command of a study from the console, as this user
    #[arg(long)]
    pub studies_go_on: bool,
    /// Directory for the queue, tokens and secrets; default: $XDG_STATE_HOME/cosmark or ~/.local/state/cosmark
    #[arg(long, value_name = "DIR", alias = "state-dir")]
    pub state: Option<PathBuf>,
    /// Runs at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub concurrency: u16,
    /// Name of this controller; default: the host's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Load threads of the driver in this process; default: processors minus one, at least one
    #[arg(long, value_name = "N", requires = "local", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Do not measure what the driver in this process could do at most
    #[arg(long, requires = "local")]
    pub no_ceiling: bool,
    /// NATS with JetStream, such as nats://host:4222; without it a nats-server is started on this machine
    #[arg(long, value_name = "URL", conflicts_with = "local")]
    pub nats: Option<String>,
    /// Address of this machine at which the nats-server that is started here listens for drivers
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1", conflicts_with_all = ["local", "nats"])]
    pub nats_listen: std::net::IpAddr,
    /// Port of the nats-server that is started here; default: the one that it had, or any free one
    #[arg(long, value_name = "PORT", conflicts_with_all = ["local", "nats"])]
    pub nats_port: Option<u16>,
    /// Write the configuration of a nats-server with a login for each role (controller, driver, observer) into this directory
    /// and end. Written again, every login whose file (*.nk) lies there stays, and so do lines of nats.conf that somebody else
    /// wrote; to take a login away, delete its file first
    #[arg(long, value_name = "DIR", conflicts_with_all = ["local", "nats"])]
    pub write_nats_config: Option<PathBuf>,
    /// In that configuration the driver of this name has a login of its own; may be repeated. Where none has: one for all
    /// drivers
    #[arg(long, value_name = "NAME", requires = "write_nats_config")]
    pub nats_driver: Vec<String>,
    /// In that configuration the agent of this name (`cosmark node`) has a login of its own; may be repeated. Where none has:
    /// one for all agents
    #[arg(long, value_name = "NAME", requires = "write_nats_config")]
    pub nats_node: Vec<String>,
    /// Give work only to drivers that are admitted: name and public key, as `cosmark drivers --json` shows them; may be
    /// repeated. Default: to every driver that joins
    #[arg(long, value_name = "NAME=KEY", conflicts_with = "local")]
    pub admit: Vec<String>,
    /// Look at the machines (`nodes:`) that this target file names while runs use its store; may be repeated. Machines that a
    /// submission itself names are left out
    #[arg(long, value_name = "TARGET.yaml")]
    pub nodes: Vec<PathBuf>,
    /// Let programs on this machine use COSBench's endpoints without a login, as its `cli.sh` does: then every user of this
    /// machine may submit and cancel runs. Requests from browsers and through proxies are not accepted in this way
    #[arg(long)]
    pub anonymous_loopback: bool,
    /// Address at which others reach this controller when it leads; default: the address that it listens on
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Make a token of this name, print it and end
    #[arg(long, value_name = "NAME", help_heading = TOKENS)]
    pub add_token: Option<String>,
    /// What the token allows
    #[arg(long, value_name = "ROLE", default_value = "operate", value_parser = ["view", "operate"], help_heading = TOKENS)]
    pub role: String,
    /// Make the token of this name invalid and end
    #[arg(long, value_name = "NAME", conflicts_with = "add_token", help_heading = TOKENS)]
    pub remove_token: Option<String>,
    /// List the tokens' names and roles and end
    #[arg(long, conflicts_with_all = ["add_token", "remove_token"], help_heading = TOKENS)]
    pub tokens: bool,
    #[command(flatten)]
    pub reach: ReachArgs,
    #[command(flatten)]
    pub login: NatsArgs,
}

/// `cosmark submit`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark submit workloads/mixed.yaml --target ceph.yaml
  cosmark submit workload-config.xml --set main.runtime=60s --priority 5 --wait
  cosmark submit workload.yaml --controller https://bench:19088 --ca tls-cert.pem --token-file token

{env: NAME} and {file: PATH} are read here and travel with the workload; {secret: NAME} stays with the controller.")]
pub struct SubmitArgs {
    /// Workload file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Change a field: [stage.[work.]]key=value, e.g. workers=16, main.runtime=60s, storage.timeout=5s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// File with the auth and storage to use instead of the workload's
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Runs with a higher priority come first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// How many drivers, or which, by labels or names: 3, zone=a, 3,zone=a; default: what the workload says, else all that are
    /// not drained
    #[arg(long, value_name = "LIST")]
    pub drivers: Option<String>,
    /// How long to wait for drivers that have not joined, such as 2m; then the run ends with the reason
    #[arg(long, value_name = "TIME")]
    pub wait_for_drivers: Option<String>,
    /// Tag for the history; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep one record per operation (operations.parquet)
    #[arg(long)]
    pub oplog: bool,
    /// Only check: mistakes, stages, estimates; nothing is queued
    #[arg(long)]
    pub dry_run: bool,
    /// Wait until it is over, show the results, and end with the run's own exit code
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    /// As JSON: what the controller answers; with --wait run.json
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `cosmark cancel`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark cancel w12            operations in flight may finish; what was measured is archived
  cosmark cancel w12 --abort    operations in flight are dropped")]
pub struct CancelArgs {
    /// Id of the run, such as w12
    #[arg(value_name = "ID")]
    pub id: String,
    /// Abort at once: operations in flight are dropped
    #[arg(long)]
    pub abort: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `cosmark logs`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark logs w12 --follow
  cosmark logs w12 --tail 50 --json")]
pub struct LogsArgs {
    /// Id of the run, such as w12
    #[arg(value_name = "ID")]
    pub id: String,
    /// Show this many of the last lines
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub tail: u32,
    /// Follow the log until the run is over
    #[arg(long, short)]
    pub follow: bool,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `cosmark drivers`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark drivers                 what each does, its load, its clock, when it was last heard of
  cosmark drivers --drain d1      d1 finishes its work and gets nothing new
  cosmark drivers --json          for programs, with the drivers' public keys")]
pub struct DriversArgs {
    /// Give this driver no new work
    #[arg(long, value_name = "NAME")]
    pub drain: Option<String>,
    /// Give this driver work again
    #[arg(long, value_name = "NAME", conflicts_with = "drain")]
    pub undrain: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}
