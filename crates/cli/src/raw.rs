//! What the machines of a store can do by themselves: measured where a target says that they are, kept, and put beside the
//! results of runs.

use std::net::TcpListener;
use std::path::Path;

use cosmark_archive::{Archive, Timestamp, newest_raw_limits};
use cosmark_metrics::{RawLimits, RawNode};
use cosmark_nodes::raw::import::{Imported, import};
use cosmark_nodes::raw::measure::{DiskTask, Iperf3, hashes, memory};
use cosmark_nodes::raw::shell::Shell;
use cosmark_nodes::source::Source;
use cosmark_workload::model::ConfigValue;
use cosmark_workload::model::nodes::NodeSpec;
use cosmark_workload::units::parse_size;

use crate::args::BaselineArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::{load_target, read_text};
use crate::registry::READING;
use crate::{host, signals};

mod text;

pub use text::{shares_text, text};

/// Which machines: the same text for the same machines, whatever protocol their store is reached by. Nothing secret is in it.
#[must_use]
pub fn machines(nodes: &[NodeSpec]) -> String {
    let place = |node: &NodeSpec| {
        let own = node.source.config.entries.iter().find_map(|entry| match &entry.value {
            ConfigValue::Text(text) if entry.key == "host" => Some(text.clone()),
            ConfigValue::Text(text) if entry.key == "url" => {
                let address =
                    text.split("://").last().unwrap_or(text).split(['/', '?']).next().unwrap_or_default();
                Some(address.rsplit('@').next().unwrap_or_default().to_owned())
            }
            _ => None,
        });
        format!("{} ({}) at {}", node.name, node.role, own.unwrap_or_else(host::hostname))
    };
    let mut all: Vec<String> = nodes.iter().map(place).collect();
    all.sort();
    all.join(", ")
}

/// The newest entry of an archive for these machines.
#[must_use]
pub fn newest(archive: &Path, nodes: &[NodeSpec]) -> Option<(String, RawLimits)> {
    if nodes.is_empty() { None } else { newest_raw_limits(archive, &machines(nodes)) }
}

/// `cosmark baseline FILE`.
pub fn measure(args: &BaselineArgs, file: &Path) -> Outcome {
    let target = load_target(&READING, file)?;
    if target.nodes.is_empty() {
        return Err(Problem::usage(format!(
            "{} names no machines: list them under nodes: (docs/guide/system-under-test.md)",
            file.display()
        )));
    }
    let tasks = target.nodes.iter().map(|node| Task::of(node, args)).collect::<Result<Vec<_>, _>>()?;
    check_names(&target.nodes, args)?;
    let began = Timestamp::now();
    let runtime = host::runtime()?;
    let measured = runtime.block_on(async {
        tokio::select! {
            all = measure_all(tasks) => Some(all),
            () = signals::first() => None,
        }
    });
    let Some(all) = measured else {
        eprintln!(
            "cosmark: ended by the user: running programs are being stopped and their files removed; no result is stored"
        );
        return Ok(Exit::Cancelled);
    };
    let mut limits =
        RawLimits { machines: machines(&target.nodes), taken: began.to_string(), ..RawLimits::default() };
    for (node, clusters) in all {
        limits.nodes.push(node);
        limits.clusters.extend(clusters);
    }
    if limits.clusters.is_empty() && limits.nodes.iter().all(text::is_empty) {
        let why: Vec<String> = limits
            .nodes
            .iter()
            .flat_map(|node| node.not_measured.iter().map(|why| format!("{}: {why}", node.name)))
            .collect();
        return Err(Problem::usage(format!("nothing was measured; {}", why.join("; "))));
    }
    keep(args, file, &limits, began)
}

fn keep(args: &BaselineArgs, file: &Path, limits: &RawLimits, began: Timestamp) -> Outcome {
    let before = newest_raw_limits(&args.archive, &limits.machines);
    let archive = Archive::open(&args.archive)?;
    let name = file.file_stem().map_or_else(|| "target".into(), |name| name.to_string_lossy());
    let path = archive.keep_raw_limits(&name, limits, host::record(), (began, Timestamp::now()))?;
    if args.json {
        verbatim!("{}", crate::output::json(limits)?);
        return Ok(Exit::Done);
    }
    println!("{}", text(limits));
    if let Some((name, before)) = before {
        text::drift(&name, &before, limits).iter().for_each(|line| println!("{line}"));
    }
    println!("archive: {}", path.display());
    Ok(Exit::Done)
}

/// What is to be done for one machine.
struct Task {
    node: RawNode,
    /// Where programs may run; none where they may not.
    shell: Option<Shell>,
    /// What was imported stands for all that would be run, but for disks that are named.
    only_disks: bool,
    /// As this machine reaches it.
    host: Option<String>,
    disks: Vec<DiskTask>,
    server: Option<Iperf3>,
    seconds: u64,
    network: bool,
    imported: Vec<Imported>,
}

/// The values of `NODE=VALUE` for one node.
fn of_node<'a>(given: &'a [String], node: &'a str) -> impl Iterator<Item = &'a str> {
    given.iter().filter_map(move |text| {
        text.split_once('=').filter(|(name, _)| *name == node).map(|(_, value)| value)
    })
}

fn check_names(nodes: &[NodeSpec], args: &BaselineArgs) -> Result<(), Problem> {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let flags = [("directory", &args.directory), ("iperf3", &args.iperf3), ("import", &args.import)];
    for (flag, text) in flags.iter().flat_map(|(flag, given)| given.iter().map(move |text| (flag, text))) {
        let known =
            text.split_once('=').is_some_and(|(name, value)| names.contains(&name) && !value.is_empty());
        if !known {
            let names = names.join(", ");
            return Err(Problem::usage(format!(
                "--{flag} {text}: write --{flag} NODE=..; the nodes are {names}"
            )));
        }
    }
    Ok(())
}

/// A port that nobody uses now.
fn free_port() -> Option<u16> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .ok()
}

/// iperf3's own.
const IPERF3_PORT: u16 = 5201;

/// `HOST[:PORT]`; an address with colons has its port behind brackets.
fn host_and_port(text: &str) -> (String, u16) {
    let split = text.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
    let (host, port) =
        split.and_then(|(host, port)| Some((host, port.parse().ok()?))).unwrap_or((text, IPERF3_PORT));
    (host.trim_start_matches('[').trim_end_matches(']').to_owned(), port)
}

impl Task {
    fn of(node: &NodeSpec, args: &BaselineArgs) -> Result<Self, Problem> {
        let (shell, host) = match Source::of(node) {
            Ok(Source::Local { .. }) => (Some(Shell::local()), Some("127.0.0.1".to_owned())),
            Ok(Source::Ssh(session)) => (Some(Shell::over(&session)), Some(session.host.clone())),
            // Its key may be a reference to a secret, which is not needed here.
            _ => (None, None),
        };
        let wrong = |flag: &str, text: &str, why: String| Problem::usage(format!("--{flag} {text}: {why}"));
        let bytes = parse_size(&args.size)
            .map_err(|(what, remedy)| wrong("size", &args.size, format!("{what}; {remedy}")))?;
        if !(1 << 20..=1 << 40).contains(&bytes) {
            return Err(wrong("size", &args.size, "give 1MiB to 1TiB".to_owned()));
        }
        let directory =
            |directory: &str| DiskTask { directory: directory.to_owned(), bytes, seconds: args.seconds };
        let disks: Vec<DiskTask> = of_node(&args.directory, &node.name).map(directory).collect();
        if shell.is_none() && !disks.is_empty() {
            return Err(Problem::usage(format!(
                "--directory {}=..: programs run only on nodes of type local or ssh; this one is {}: run fio there and use \
                 --import {}=FILE",
                node.name, node.source.kind, node.name
            )));
        }
        let mut imported = Vec::new();
        for file in of_node(&args.import, &node.name) {
            let text = read_text(Path::new(file))?;
            imported.push(import(&text, "").map_err(|why| wrong("import", file, why))?);
        }
        let server = of_node(&args.iperf3, &node.name).last().map(|text| {
            let (host, port) = host_and_port(text);
            Iperf3 { host, port, seconds: args.seconds }
        });
        Ok(Self {
            node: RawNode { name: node.name.clone(), role: node.role.clone(), ..RawNode::default() },
            shell,
            only_disks: !imported.is_empty(),
            host,
            disks,
            server,
            seconds: args.seconds,
            network: !args.no_network,
            imported,
        })
    }
}

/// One machine after the other, so that they do not disturb each other.
async fn measure_all(tasks: Vec<Task>) -> Vec<(RawNode, Vec<cosmark_metrics::RawCluster>)> {
    let mut all = Vec::new();
    for task in tasks {
        all.push(measure_one(task).await);
    }
    all
}

async fn measure_one(task: Task) -> (RawNode, Vec<cosmark_metrics::RawCluster>) {
    let (mut node, mut clusters) = (task.node, Vec::new());
    for imported in task.imported {
        match imported {
            Imported::Disks(disks) => node.disks.extend(disks),
            Imported::Network(network) => node.networks.push(network),
            Imported::Cluster(cluster) => clusters.push(cluster),
        }
    }
    for disk in &task.disks {
        let Some(shell) = &task.shell else { break };
        eprintln!("cosmark: {}: measuring the disk of {}", node.name, disk.directory);
        match disk.measure(shell).await {
            Ok(found) => node.disks.extend(found),
            Err(why) => node.not_measured.push(format!("disk of {}: {why}", disk.directory)),
        }
    }
    if node.disks.is_empty() && task.disks.is_empty() {
        node.not_measured.push(format!("disks: name a directory on each: --directory {}=DIR", node.name));
    }
    if task.network {
        let measured = match (&task.server, &task.shell, task.host) {
            (Some(server), ..) => Some(server.measure().await),
            (None, Some(shell), Some(host)) if !task.only_disks => {
                eprintln!("cosmark: {}: measuring the network", node.name);
                Some(with_server(shell, &host, task.seconds).await)
            }
            _ => None,
        };
        match measured {
            Some(Ok(found)) => node.networks.extend(found),
            Some(Err(why)) => node.not_measured.push(format!("network: {why}")),
            None => {}
        }
    }
    if let Some(shell) = task.shell.as_ref().filter(|_| !task.only_disks) {
        match hashes(shell).await {
            Ok([sha256, md5]) => {
                let missing = &mut node.not_measured;
                let mut speed = |found: Result<f64, String>| {
                    found.inspect_err(|why| missing.push(format!("hashing: {why}"))).ok()
                };
                (node.sha256_bytes_per_s, node.md5_bytes_per_s) = (speed(sha256), speed(md5));
            }
            Err(why) => node.not_measured.push(format!("hashing: {why}")),
        }
        if shell.is_local {
            node.memory_bytes_per_s = Some(memory());
        }
    }
    (node, clusters)
}

async fn with_server(
    shell: &Shell,
    host: &str,
    seconds: u64,
) -> Result<Vec<cosmark_metrics::RawNetwork>, String> {
    if shell.is_local {
        let port = free_port().ok_or("no port is free")?;
        return Iperf3 { host: host.to_owned(), port, seconds }.measure_with(shell).await;
    }
    // The name may be one of ssh's configuration.
    let script = format!("run ssh -G -- {}", cosmark_nodes::raw::shell::quoted(host));
    let said = Shell::local().run(&script, std::time::Duration::from_secs(20)).await?;
    let name = said.lines().find_map(|line| line.strip_prefix("hostname ")).unwrap_or(host).trim().to_owned();
    Iperf3 { host: name, port: IPERF3_PORT, seconds }.measure_with(shell).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_colons_has_a_port_only_behind_brackets() {
        for (text, host, port) in [
            ("s1", "s1", IPERF3_PORT),
            ("s1:5302", "s1", 5302),
            ("192.0.2.7:5302", "192.0.2.7", 5302),
            ("2001:db8::7", "2001:db8::7", IPERF3_PORT),
            ("[2001:db8::7]", "2001:db8::7", IPERF3_PORT),
            ("[2001:db8::7]:5302", "2001:db8::7", 5302),
            ("::1", "::1", IPERF3_PORT),
        ] {
            assert_eq!(host_and_port(text), (host.to_owned(), port), "{text}");
        }
    }
}
