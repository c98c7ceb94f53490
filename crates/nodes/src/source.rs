//! The table of ways to a machine's figures, and from a node of a workload to its collector.

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Key, KeyKind, Settings, times_without_unit};
use cosmark_metrics::nodes::machines::SOURCE;
use cosmark_workload::model::ConfigValue;
use cosmark_workload::model::nodes::NodeSpec;

use crate::collect::ceph::AdminSockets;
use crate::collect::check_daemons;
use crate::collect::http::Login;
use crate::collect::promql::Server;
use crate::collect::recon::Recon;
use crate::collect::scrape::Exporter;
use crate::collect::ssh::SshSession;
use crate::collect::statsd::StatsdReceiver;
use crate::filesystems::checked;

/// One way.
#[derive(Debug)]
pub struct SourceRow {
    /// Its `type` in a workload.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

const INTERVAL: Key =
    Key::new("interval", KeyKind::Duration, "Time between two readings; whole seconds over ssh.")
        .default("1s");
const DAEMONS: Key = Key::new(
    "daemons",
    KeyKind::List,
    "Names of processes, or how they begin, whose threads and quotas are looked at one by one.",
);
const FILESYSTEMS: Key = Key::new(
    "filesystems",
    KeyKind::List,
    "Directories: the file systems that are mounted there or below hold what the store stores, and say how full it is.",
);

const TOKEN: Key = Key::new("token", KeyKind::Text, "Bearer token.").secret();
const USERNAME: Key = Key::new("username", KeyKind::Text, "Name of Basic access authentication.");
const PASSWORD: Key = Key::new("password", KeyKind::Text, "Its password.").secret();
const CA: Key = Key::new("ca", KeyKind::File, "PEM file of the certificates that its own is signed with.");

/// All ways.
pub static SOURCES: &[SourceRow] = &[
    SourceRow {
        name: "local",
        help: "The files of /proc of the machine that Cosmark runs on.",
        keys: &[
            INTERVAL,
            DAEMONS,
            FILESYSTEMS,
            Key::new(
                "requests",
                KeyKind::Bool,
                "Follow each request of its disks by the kernel's tracing, for how far apart they lie; needs root.",
            )
            .default("false"),
        ],
    },
    SourceRow {
        name: "ssh",
        help: "The same files of another machine over one held session of `ssh`, with nothing installed there.",
        keys: &[
            Key::new(
                "host",
                KeyKind::Text,
                "HOST or USER@HOST, as `ssh` takes it; its configuration and keys hold.",
            ),
            INTERVAL,
            DAEMONS,
            FILESYSTEMS,
        ],
    },
    SourceRow {
        name: "prometheus",
        help: "An exporter that is there already: node_exporter, Ceph's manager or exporter, MinIO's metrics v3, cAdvisor, \
               snmp_exporter.",
        keys: &[
            Key::new("url", KeyKind::Url, "Where it answers: http://storage1:9100/metrics."),
            INTERVAL,
            FILESYSTEMS,
            TOKEN,
            USERNAME,
            PASSWORD,
            CA,
        ],
    },
    SourceRow {
        name: "promql",
        help: "A Prometheus server that scrapes the machine already.",
        keys: &[
            Key::new("url", KeyKind::Url, "The server: http://prometheus:9090."),
            Key::new(
                "select",
                KeyKind::Text,
                "Matchers that select the series of this machine: instance=\"storage1:9100\".",
            ),
            Key::new(
                "interval",
                KeyKind::Duration,
                "Time between two questions; each brings all scrapes since the last.",
            )
            .default("5s"),
            FILESYSTEMS,
            TOKEN,
            USERNAME,
            PASSWORD,
            CA,
        ],
    },
    SourceRow {
        name: "ceph",
        help: "The daemons of Ceph on the machine that Cosmark runs on, by their administration sockets.",
        keys: &[
            Key::new("sockets", KeyKind::Directory, "Directory of the sockets.").default("/var/run/ceph"),
            INTERVAL,
        ],
    },
    SourceRow {
        name: "recon",
        help: "The recon of a storage node of Swift: what is pending and what is damaged.",
        keys: &[
            Key::new("url", KeyKind::Url, "The object server: http://storage1:6200/recon."),
            Key::new("interval", KeyKind::Duration, "Time between two questions.").default("5s"),
        ],
    },
    SourceRow {
        name: "statsd",
        help: "Timings and counters that servers of the store send over UDP, as Swift does with log_statsd_host.",
        keys: &[
            Key::new("listen", KeyKind::OwnAddress, "Address to listen on; anybody who reaches it can send.")
                .default("127.0.0.1:8125"),
            INTERVAL,
        ],
    },
];

/// From where a node's figures come.
#[derive(Debug, Clone)]
pub enum Source {
    /// This machine.
    Local {
        /// Time between two readings.
        interval: Duration,
        /// Daemons whose threads are looked at.
        daemons: Vec<String>,
        /// Directories at or below which is mounted what holds what the store stores.
        filesystems: Vec<String>,
        /// Whether the requests of its disks are followed.
        requests: bool,
    },
    /// Another one over ssh.
    Ssh(SshSession),
    /// An exporter.
    Prometheus(Arc<Exporter>),
    /// A server that has scraped it.
    PromQl(Arc<Server>),
    /// Ceph's daemons on this machine.
    Ceph(Arc<AdminSockets>),
    /// Swift's own telemetry.
    Recon(Arc<Recon>),
    /// Whoever sends timings.
    Statsd(Arc<StatsdReceiver>),
}

/// Readings are no rarer.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// And no more frequent.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(200);

impl Source {
    /// The source of a node whose references are resolved.
    ///
    /// # Errors
    /// One sentence that names the node, the key and the remedy.
    pub fn of(node: &NodeSpec) -> Result<Self, String> {
        read(node).map_err(|why| format!("node {}: {why}", node.name))
    }
}

fn read(node: &NodeSpec) -> Result<Source, String> {
    let kind = node.source.kind.as_str();
    let known: Vec<&str> = SOURCES.iter().map(|row| row.name).collect();
    let row = SOURCES.iter().find(|row| row.name.eq_ignore_ascii_case(kind));
    let row = row.ok_or_else(|| format!("unrecognized type `{kind}`; known are {}", known.join(", ")))?;
    let entries = node.source.config.entries.iter().filter_map(|entry| match &entry.value {
        ConfigValue::Text(text) => Some((entry.key.as_str(), text.as_str())),
        _ => None,
    });
    let (settings, problems) = Settings::parse(row.keys, entries.clone());
    if let Some(problem) = problems.into_iter().chain(times_without_unit(row.keys, entries)).next() {
        let keys: Vec<&str> = row.keys.iter().map(|key| key.name).collect();
        let hint =
            problem.hint.unwrap_or_else(|| format!("the keys of {} are {}", row.name, keys.join(", ")));
        return Err(format!("{}; {hint}", problem.message));
    }
    let interval = settings.duration("interval").unwrap_or_default();
    if !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) {
        return Err("interval: give 200ms to 60s".to_owned());
    }
    let required =
        |key: &str| settings.get(key).map(str::to_owned).ok_or_else(|| format!("{kind} needs `{key}`"));
    match row.name {
        "ssh" => {
            let seconds = u32::try_from(interval.as_secs()).unwrap_or(1);
            let session = SshSession::to(&required("host")?, seconds, daemons(&settings)?)?;
            Ok(Source::Ssh(session.with_filesystems(filesystems(&settings)?)))
        }
        "prometheus" => {
            let exporter = Exporter::new(&required("url")?, login(&settings), interval)?;
            Ok(Source::Prometheus(Arc::new(exporter.with_filesystems(filesystems(&settings)?))))
        }
        "promql" => {
            let (url, select) = (required("url")?, required("select")?);
            let server = Server::new(&url, &select, login(&settings), interval)?;
            Ok(Source::PromQl(Arc::new(server.with_filesystems(filesystems(&settings)?))))
        }
        "ceph" => Ok(Source::Ceph(Arc::new(AdminSockets::new(&required("sockets")?, interval)))),
        "recon" => Ok(Source::Recon(Arc::new(Recon::new(&required("url")?, interval)?))),
        "statsd" => Ok(Source::Statsd(Arc::new(StatsdReceiver::on(&required("listen")?, interval)?))),
        _ => {
            let (requests, filesystems) = (settings.flag("requests"), filesystems(&settings)?);
            Ok(Source::Local { interval, daemons: daemons(&settings)?, filesystems, requests })
        }
    }
}

/// What the machine of each node is called by whom its figures are asked of, where that is an exporter or a server: by the place
/// of the first node that asks the same. An address, and what it may hold of a password, is nobody's business who reads results,
/// and could be guessed from a number that is made of it.
#[must_use]
pub fn asked_of(nodes: &[NodeSpec]) -> Vec<Option<String>> {
    let asked: Vec<_> = nodes.iter().map(asked).collect();
    let places = asked.iter().map(|one| asked.iter().position(|other| one.is_some() && other == one));
    places.map(|place| place.map(|at| format!("{SOURCE}{}", at + 1))).collect()
}

/// The type of a node that asks an exporter or a server, its address, and which of its figures.
fn asked(node: &NodeSpec) -> Option<(String, &str, Option<&str>)> {
    let kind = node.source.kind.to_ascii_lowercase();
    let text = |key: &str| {
        // A repeated key: the last one holds.
        let entry = node.source.config.entries.iter().rfind(|entry| entry.key.eq_ignore_ascii_case(key))?;
        match &entry.value {
            ConfigValue::Text(text) => Some(text.as_str()),
            _ => None,
        }
    };
    let url = text("url").filter(|_| ["prometheus", "promql"].contains(&kind.as_str()))?;
    Some((kind, url, text("select")))
}

fn login(settings: &Settings) -> Login<'_> {
    let [token, username, password, ca] =
        ["token", "username", "password", "ca"].map(|key| settings.get(key));
    Login { token, username, password, ca }
}

fn daemons(settings: &Settings) -> Result<Vec<String>, String> {
    let names = settings.list("daemons");
    check_daemons(&names)?;
    Ok(names)
}

fn filesystems(settings: &Settings) -> Result<Vec<String>, String> {
    checked(&settings.list("filesystems")).map_err(|why| format!("filesystems: {why}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn source(yaml: &str) -> Result<Source, String> {
        let text = format!("storage: {{type: mock}}\nnodes:\n  - {{name: n, {yaml}}}\n");
        Source::of(&cosmark_workload::parse_target(&text).0.unwrap().nodes[0])
    }

    #[test]
    fn who_is_asked_by_one_url_is_called_by_one_name() {
        let exporter = "type: prometheus, url: 'http://h:9100/metrics'";
        let again = format!("{exporter}, interval: 5s");
        let of = |select: &str| format!("type: promql, url: 'http://h:9090', select: '{select}'");
        let (a, b) = (of("instance=\"a\""), of("instance=\"b\""));
        let nodes = [
            "type: local",
            exporter,
            "type: ssh, host: h",
            "type: prometheus, url: 'http://i:9100/metrics'",
            &again,
            &a,
            &b,
            &a,
            "type: recon, url: 'http://h:6200/recon'",
        ];
        let lines = nodes.iter().enumerate().map(|(at, node)| format!("  - {{name: n{at}, {node}}}\n"));
        let text = format!("storage: {{type: mock}}\nnodes:\n{}", lines.collect::<String>());
        let found = asked_of(&cosmark_workload::parse_target(&text).0.unwrap().nodes);
        let names: Vec<&str> = found.iter().map(|name| name.as_deref().unwrap_or_default()).collect();
        let expected = ["", "source 2", "", "source 4", "source 2", "source 6", "source 7", "source 6", ""];
        assert_eq!(names, expected);
        assert!(asked_of(&[]).is_empty());
    }

    #[test]
    fn each_way_is_read_with_its_keys() {
        assert!(
            matches!(source("type: local").unwrap(), Source::Local { interval, .. } if interval.as_secs() == 1)
        );
        let followed = source("type: local, requests: true").unwrap();
        assert!(matches!(followed, Source::Local { requests: true, .. }));
        let Source::Local { filesystems, .. } = source("type: local, filesystems: '/srv//a/,/b'").unwrap()
        else {
            panic!("another way")
        };
        assert_eq!(filesystems, ["/srv/a", "/b"]);
        let ssh = "type: ssh, host: me@h, interval: 2s, daemons: 'a,b', filesystems: /srv/a/";
        let Source::Ssh(session) = source(ssh).unwrap() else { panic!("no session") };
        assert_eq!((session.interval_s, session.daemons.len()), (2, 2));
        assert_eq!(session.filesystems, ["/srv/a"]);
        let one = |yaml: &str| source(yaml).unwrap();
        assert!(matches!(one("type: prometheus, url: 'http://h:9100/metrics'"), Source::Prometheus(_)));
        let with = one("type: prometheus, url: 'http://h:9100/metrics', filesystems: '/srv/a,/srv/b'");
        assert!(matches!(with, Source::Prometheus(_)));
        assert!(matches!(
            one("type: promql, url: 'http://h:9090', select: 'instance=\"a\"', filesystems: /srv"),
            Source::PromQl(_)
        ));
        assert!(matches!(one("type: ceph, sockets: /tmp"), Source::Ceph(_)));
        assert!(matches!(one("type: recon, url: 'http://h:6200/recon'"), Source::Recon(_)));
        assert!(matches!(one("type: statsd, listen: '127.0.0.1:0'"), Source::Statsd(_)));
    }

    #[test]
    fn what_is_wrong_is_named_with_the_node_and_the_remedy() {
        for (yaml, words) in [
            ("type: snmp", "known are local, ssh, prometheus, promql, ceph, recon, statsd"),
            ("type: promql, url: 'http://x'", "promql needs `select`"),
            ("type: promql, url: 'http://x', select: storage1", "instance=\"storage1:9100\""),
            ("type: statsd, listen: here", "give IP:PORT"),
            ("type: ssh", "ssh needs `host`"),
            ("type: ssh, host: -oX", "is no host for ssh"),
            ("type: local, hosts: a", "unknown key `hosts`"),
            ("type: local, interval: 5", "interval"),
            ("type: local, interval: 1ms", "200ms to 60s"),
            ("type: local, requests: often", "requests"),
            ("type: local, daemons: 'a b'", "is no name of a daemon"),
            ("type: local, filesystems: data", "filesystems: `data` is no directory"),
            ("type: ssh, host: h, filesystems: '/a,/b/../c'", "filesystems: `/b/../c` is no directory"),
            ("type: prometheus, url: 'http://x', filesystems: 'd'", "filesystems: `d` is no directory"),
            ("type: prometheus", "prometheus needs `url`"),
            ("type: prometheus, url: 'ftp://x'", "url"),
            ("type: prometheus, url: 'http://x', ca: /nonexistent.pem", "/nonexistent.pem"),
        ] {
            let said = source(yaml).unwrap_err();
            assert!(said.starts_with("node n: ") && said.contains(words), "{yaml}: {said}");
        }
    }
}
