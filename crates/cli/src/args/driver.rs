//! The arguments of drivers, of runs over them, and of NATS between them.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// A run over drivers on other machines.
#[derive(ClapArgs, Clone, Default)]
#[command(next_help_heading = "Many machines")]
pub struct ManyArgs {
    /// Have the load made by the drivers that joined this NATS, such as nats://host:4222
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// How many drivers, or which: a number, names or labels (zone=a), separated by commas; default: what the workload says,
    /// else all
    #[arg(long, value_name = "LIST", requires = "nats")]
    pub drivers: Option<String>,
    /// How long to wait for drivers that have not joined, such as 2m; then the run ends with the reason
    #[arg(long, value_name = "TIME", requires = "nats")]
    pub wait_for_drivers: Option<String>,
    /// Take over a run whose controller died: the id that it printed when it began
    #[arg(long, value_name = "RUN", requires = "nats")]
    pub take_over: Option<String>,
    /// State directory with the key that signs orders to drivers (cluster.key); default: $XDG_STATE_HOME/cosmark or
    /// ~/.local/state/cosmark
    #[arg(long, value_name = "DIR", requires = "nats")]
    pub state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub login: NatsArgs,
}

/// How to log in at NATS.
#[derive(ClapArgs, Clone, Default)]
#[command(next_help_heading = "NATS")]
pub struct NatsArgs {
    /// File with a token
    #[arg(long, value_name = "FILE")]
    pub nats_token_file: Option<PathBuf>,
    /// User at the NATS server
    #[arg(long, value_name = "NAME", requires = "nats_password_file")]
    pub nats_user: Option<String>,
    /// File with the user's password
    #[arg(long, value_name = "FILE", requires = "nats_user")]
    pub nats_password_file: Option<PathBuf>,
    /// File with an NKey seed
    #[arg(long, value_name = "FILE")]
    pub nats_nkey_file: Option<PathBuf>,
    /// File with credentials (a JWT and its NKey), as `nsc` makes it
    #[arg(long, value_name = "FILE")]
    pub nats_creds: Option<PathBuf>,
    /// Certificates of authorities to trust beside the machine's own, for tls://
    #[arg(long, value_name = "FILE")]
    pub nats_ca: Option<PathBuf>,
    /// Client certificate, for NATS that wants one
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    pub nats_cert: Option<PathBuf>,
    /// Private key of that certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub nats_key: Option<PathBuf>,
}

/// What workloads from elsewhere may reach on a machine that makes load. Without these options nothing.
#[derive(ClapArgs, Clone, Default)]
#[command(next_help_heading = "What workloads may reach on this machine (default: nothing)")]
pub struct ReachArgs {
    /// Files below this directory: storage `file`, certificates and key files, filewrite, localwrite, recorded arrivals
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// Libraries below this directory, whose code then runs here: storage `plugin`, `library` of librados
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<PathBuf>,
    /// Trigger scripts of this directory
    #[arg(long, value_name = "DIR")]
    pub scripts: Option<PathBuf>,
    /// Connect to stores from this address of the machine, and from no other
    #[arg(long, value_name = "IP")]
    pub source_address: Option<std::net::IpAddr>,
}

impl ReachArgs {
    /// The first option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--files", self.files.is_some()),
            ("--plugins", self.plugins.is_some()),
            ("--scripts", self.scripts.is_some()),
            ("--source-address", self.source_address.is_some()),
        ];
        given.into_iter().find(|one| one.1).map(|one| one.0)
    }
}

/// The heading of what is of a driver without a controller.
const MISSION: &str = "One mission, without a controller";

/// `cosmark driver`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark driver --join nats://controller:4222 --nats-token-file token --labels zone=a
  cosmark driver --mission main.yaml --share 1/4

It only makes outgoing connections. Several may run on a machine, each with its own --name. \
Ctrl-C once: operations in flight have 5 s to end, or as many as --drain of the run says, and everything is reported. Twice: at once.")]
pub struct DriverArgs {
    /// NATS to join, such as nats://host:4222
    #[arg(long, value_name = "URL", required_unless_present = "mission")]
    pub join: Option<String>,
    /// Name of this driver; default: the host's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Join as this many drivers, called NAME-1, NAME-2 and so on, in one process
    #[arg(long, value_name = "N", default_value_t = 1, requires = "join", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub copies: u16,
    /// Labels that works can be pinned to, such as zone=a,rack=7
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Directory for its key and for reports that wait for NATS; default: $XDG_STATE_HOME/cosmark or ~/.local/state/cosmark
    #[arg(long, value_name = "DIR", alias = "state-dir")]
    pub state: Option<PathBuf>,
    /// Obey the controllers with this public key, which a controller prints when it starts; may be repeated. Default: the
    /// key that is published when this driver first joins, and only that one from then on
    #[arg(long, value_name = "KEY", requires = "join")]
    pub trust: Vec<String>,
    /// Load threads (of each copy); default: processors minus one, shared by the copies, at least one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Seconds that operations in flight may take after the load has ended, where the run does not say
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub drain: u64,
    /// How many MiB of reports may wait on disk while NATS is away
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub outbox: u64,
    /// Do not measure what this driver could do at most
    #[arg(long)]
    pub no_ceiling: bool,
    /// Do one mission with no controller: a stage of this workload file; events come on stdout, one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with = "join", help_heading = MISSION)]
    pub mission: Option<PathBuf>,
    /// Which share of the mission's works: i/n, i from 1
    #[arg(long, value_name = "I/N", default_value = "1/1", requires = "mission", help_heading = MISSION)]
    pub share: String,
    /// Which stage of the mission's workload; default: the first
    #[arg(long, value_name = "NAME", requires = "mission", help_heading = MISSION)]
    pub stage: Option<String>,
    /// Seed of the mission's random choices
    #[arg(long, value_name = "N", requires = "mission", help_heading = MISSION)]
    pub seed: Option<u64>,
    /// File with the auth and storage to use instead of the mission's
    #[arg(long, value_name = "FILE", requires = "mission", help_heading = MISSION)]
    pub target: Option<PathBuf>,
    #[command(flatten)]
    pub reach: ReachArgs,
    #[command(flatten)]
    pub login: NatsArgs,
}

/// An agent on one of the store's machines.
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark node --join nats://controller:4222 --role storage --daemons swift-object,rsync --filesystems /srv/node
  cosmark node --join nats://controller:4222 --name proxy1 --role proxy --nats-nkey-file agent.nk --trust KEY
  cosmark node --join nats://controller:4222 --name s1 --trust KEY --faults /etc/cosmark/faults.yaml
  cosmark node --join nats://controller:4222 --ceph-sockets /var/run/ceph --links eth0=40Mbit/s

Runs over the same NATS (cosmark run --nats, cosmark controller --nats) see it by themselves, unless they say --no-nodes. \
While one asks, it reads the files of /proc and /sys once a second: processors, threads of the named daemons, disks, network, \
memory, pressure, control groups, TCP, and how full the file systems of --filesystems are. It opens no port, runs no program \
except `tc` with `show`, if it is installed (the queues of links), connects to nothing else except the sockets in --ceph-sockets, \
and stops reading if no run has asked for 15 seconds. It needs no rights except to read those files, and root for --requests.

With --faults, runs may make this machine fail, one fault at a time, and only in the ways that the file lists: a workload says \
`type: agent, agent: s1, fault: daemon hangs`, never a command. A file:

  faults:
    - {name: daemon hangs, type: signal, signal: STOP, process: my-store, longest: 2m}
    - {name: daemon dies, type: command, inject: systemctl kill -s KILL my-store, proof: '! systemctl is-active my-store',
       heal: systemctl start my-store, longest: 2m}

--faults needs --trust with the key of a controller, which a controller prints when it starts. Only root and the agent's user may \
have write access to the file and to the directories on the way to it. \
The agent heals a fault when its run asks for it, 5 s after its time, when it has heard nothing of the run for 10 s, and when it \
is stopped itself; after kill -9 a guardian heals it, or the next start. It has the rights of the user that starts it. \
Ctrl-C: it heals its faults and leaves.")]
pub struct NodeArgs {
    /// NATS to join, such as nats://host:4222
    #[arg(long, value_name = "URL")]
    pub join: String,
    /// Name of this machine in results; default: the host's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What this machine does for the store: storage, proxy, monitor, gateway or another word
    #[arg(long, value_name = "ROLE", default_value = "storage")]
    pub role: String,
    /// Processes whose threads and quotas are read one by one, by their names or the beginnings of them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub daemons: Vec<String>,
    /// Directories: the file systems mounted there or below hold the store's data, and show how full it is
    #[arg(long, value_name = "DIR", value_delimiter = ',')]
    pub filesystems: Vec<String>,
    /// File that lists the faults which runs may make on this machine; needs --trust; default: none
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Speed of a link, such as eth0=40Mbit/s, where the machine does not report it or reports a wrong one
    #[arg(long, value_name = "NAME=SPEED", value_delimiter = ',')]
    pub links: Vec<String>,
    /// Trace each request of the disks while a run asks, to show how far apart they lie; needs root
    #[arg(long)]
    pub requests: bool,
    /// Ask the daemons of Ceph on this machine for their counters, too, by the administration sockets in this directory
    #[arg(long, value_name = "DIR")]
    pub ceph_sockets: Option<PathBuf>,
    /// Directory for the keys that it trusts, and for what it has made to fail; default: $XDG_STATE_HOME/cosmark or
    /// ~/.local/state/cosmark
    #[arg(long, value_name = "DIR", alias = "state-dir")]
    pub state: Option<PathBuf>,
    /// Obey the controllers with this public key, which a controller prints when it starts; may be repeated. Default: the
    /// key that is published when this agent first joins, and only that one from then on
    #[arg(long, value_name = "KEY")]
    pub trust: Vec<String>,
    #[command(flatten)]
    pub login: NatsArgs,
}
