//! What an operation of a stage costs the store's machines. The one place where this is derived: comparison, exports, the
//! report and the terminal read it from here.
//!
//! All that the machines did in the window counts, also what they would have done without the load: it is what was paid.

use std::collections::BTreeMap;

use super::machines;
use super::quantity as q;
use crate::results::{Better, Metric, Names, Reading, Statistic, Unit};
use crate::{ClientRecord, NodeResult, OperationResult, QuantityResult};

/// What the figures have in common: they stand in [`OperationResult::metrics`] of [`of_stage`].
const COST: Metric = Metric {
    id: "",
    unit: Unit::Ms,
    better: Better::Less,
    title: "",
    help: "",
    reading: Reading::Sums(|_, _| None),
    statistic: Statistic::Value,
    column: "",
    names: Names::NONE,
};

const fn named(compare: &'static str, export: &'static str) -> Names {
    Names { compare, export, ..Names::NONE }
}

/// The figures of a whole stage that its machines give, in the order in which they are shown.
pub const COSTS: &[Metric] = &[
    Metric {
        id: "server_cpu_ms_per_op",
        title: "Server CPU per operation",
        help: "Processor time of all listed machines per operation; the same number is CPU seconds per 1000 operations",
        names: named("server_cpu", "cosmark_server_cpu_seconds_per_operation"),
        ..COST
    },
    Metric {
        id: "server_cpu_ms_per_mb",
        title: "Server CPU per megabyte",
        help: "Processor time of all listed machines per 10^6 body bytes; the same number is CPU seconds per GB",
        names: named("server_cpu_per_mb", "cosmark_server_cpu_seconds_per_megabyte"),
        ..COST
    },
    Metric {
        id: "device_bytes_read_per_byte",
        unit: Unit::Count("byte"),
        title: "Read from disks per byte read",
        help: "Bytes that disks read per body byte that clients read; below 1 what was read came out of memory",
        names: named("read_amplification", "cosmark_device_bytes_read_per_byte"),
        ..COST
    },
    Metric {
        id: "device_bytes_written_per_byte",
        unit: Unit::Count("byte"),
        title: "Written to disks per byte written",
        help: "Bytes that disks wrote per body byte that clients wrote: copies, journals and metadata",
        names: named("write_amplification", "cosmark_device_bytes_written_per_byte"),
        ..COST
    },
    Metric {
        id: "joules_per_op",
        unit: Unit::Count("joule"),
        title: "Energy per operation",
        help: "Joules of the processors' packages (RAPL) per operation",
        names: named("joules", "cosmark_server_joules_per_operation"),
        ..COST
    },
];

/// Of the processor time per operation, what is no work of the store: shown beside it, and part of no comparison.
const OF_THE_CLIENT: Metric = Metric {
    id: "client_cpu_ms_per_op",
    title: "of it the client's own work on the same machine",
    help: "Processor time that the load client itself used per operation on a machine that it shares with the store",
    ..COST
};

/// What measures nothing: it prepares, or clears up.
const SETUP: [&str; 5] = ["init", "prepare", "mprepare", "cleanup", "dispose"];

/// The figures of a stage by these machines and operations, as metrics of a result that stands for all of it; none where the
/// machines tell nothing.
#[must_use]
pub fn of_stage(nodes: &[NodeResult], operations: &[OperationResult]) -> OperationResult {
    let per_s = per_s(operations);
    let bytes = |which: &dyn Fn(&str) -> bool| -> f64 {
        let moved = measured(operations).filter(|op| which(&op.op));
        moved.filter_map(|op| op.bandwidth_bytes_per_s).sum()
    };
    let (read, written) = (bytes(&|op| op.contains("read")), bytes(&|op| op.contains("write")));
    // Under a load processors are busy: who says nothing of them was not asked, or cannot know.
    let cpu = sum(nodes, |node| of(node, q::CPU_BUSY.id).filter(|cores| !cores.is_empty()).map(total));
    let disks = |id: &'static str| sum(nodes, move |node| of(node, id).map(whole_disks));
    let joules = sum(nodes, |node| of(node, q::ENERGY.id).filter(|packages| !packages.is_empty()).map(total));
    let over = |amount: Option<f64>, whole: f64| amount.filter(|_| whole > 0.0).map(|amount| amount / whole);
    let values = [
        over(cpu, per_s).map(|s| s * 1e3),
        over(cpu, read + written).map(|s| s * 1e9),
        over(disks(q::DISK_READ_BYTES.id), read),
        over(disks(q::DISK_WRITTEN_BYTES.id), written),
        over(joules, per_s),
    ];
    let known = COSTS.iter().zip(values).filter_map(|(cost, value)| Some((cost.id.to_owned(), value?)));
    OperationResult {
        work: String::new(),
        name: "store".to_owned(),
        op: "store".to_owned(),
        metrics: known.collect(),
        ..OperationResult::default()
    }
}

/// What goes to a disk of the client and not to the store.
const LOCAL: &str = "localwrite";

fn measured(operations: &[OperationResult]) -> impl Iterator<Item = &OperationResult> {
    operations.iter().filter(|op| !SETUP.contains(&op.op.as_str()) && op.op != LOCAL)
}

fn per_s(operations: &[OperationResult]) -> f64 {
    measured(operations).filter_map(|op| op.throughput_per_s).sum()
}

/// All units of a quantity on a machine; `None` where it does not tell.
fn of<'a>(node: &'a NodeResult, id: &str) -> Option<Vec<&'a QuantityResult>> {
    let units: Vec<_> = node.quantities.iter().filter(|one| one.quantity == id).collect();
    // A machine that was read and whose counter never moved did nothing of the kind.
    (!units.is_empty() || (node.readings >= 2 && is_of_a_machine(node))).then_some(units)
}

/// Whether it tells of a machine, and not of a store's daemons alone, as `perf dump`, recon, StatsD, and a store's own
/// metrics do, or of a switch: what is not 0 on every machine under load.
fn is_of_a_machine(node: &NodeResult) -> bool {
    static OF_A_MACHINE: &[&q::Quantity] =
        &[&q::CPU_BUSY, &q::DISK_BUSY, &q::DISK_WRITES, &q::DISK_READ_BYTES, &q::DISK_WRITTEN_BYTES];
    node.quantities.iter().any(|one| OF_A_MACHINE.iter().any(|row| row.id == one.quantity))
}

fn total(units: Vec<&QuantityResult>) -> f64 {
    // The sum of nothing is -0 where iterators make it, and people read it as less than nothing.
    units.iter().map(|unit| unit.mean).fold(0.0, |sum, mean| sum + mean)
}

/// Bytes per second that the disks of a machine read, each of them once; `None` where it does not tell.
#[must_use]
pub fn read_by_disks(node: &NodeResult) -> Option<f64> {
    of(node, q::DISK_READ_BYTES.id).map(whole_disks)
}

/// A volume (of ZFS: `zd`), an array, a cache or a loop: it may lie on other disks.
#[must_use]
pub fn is_stacked(name: &str) -> bool {
    const STACKED: [&str; 7] = ["dm-", "md", "loop", "drbd", "zram", "zd", "bcache"];
    STACKED.iter().any(|stacked| name.starts_with(stacked))
}

/// `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`; `nvme0n10` is another one than `nvme0n1`.
fn is_part(name: &str, disk: &str) -> bool {
    let ends_in_a_number = disk.ends_with(|last: char| last.is_ascii_digit());
    let rest = name.strip_prefix(disk);
    let number = if ends_in_a_number { rest.and_then(|rest| rest.strip_prefix('p')) } else { rest };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Without partitions, and without what lies on other disks: volumes, arrays, loops. Where there is nothing else, these.
fn whole_disks(units: Vec<&QuantityResult>) -> f64 {
    let of_another = |name: &str| units.iter().any(|other| is_part(name, &other.unit));
    let whole: Vec<_> =
        units.iter().copied().filter(|one| !is_stacked(&one.unit) && !of_another(&one.unit)).collect();
    if whole.is_empty() { total(units) } else { total(whole) }
}

/// Over all machines, each once however many ways it is read by; `None` where one of them does not tell, unless it does
/// nothing of the kind.
fn sum(nodes: &[NodeResult], of: impl Fn(&NodeResult) -> Option<f64>) -> Option<f64> {
    let each = machines::distinct(nodes, |node| of(node).is_some_and(|amount| amount > 0.0));
    let known: Vec<f64> = each.into_iter().filter_map(of).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// The figures with their values, for whoever shows them.
pub fn known(result: &OperationResult) -> impl Iterator<Item = (&'static Metric, f64)> + '_ {
    let values: &BTreeMap<String, f64> = &result.metrics;
    COSTS.iter().filter_map(|cost| Some((cost, *values.get(cost.id)?)))
}

/// The same for whoever shows them to a person: where the client runs on a machine that is read as the store's, the figure
/// of processor time is followed by what of it the client's own processes used, in ms per operation.
#[must_use]
pub fn shown(
    nodes: &[NodeResult],
    clients: &[ClientRecord],
    operations: &[OperationResult],
) -> Vec<(&'static Metric, f64)> {
    let mut all: Vec<_> = known(&of_stage(nodes, operations)).collect();
    let per_s = per_s(operations);
    if let Some(at) = all.iter().position(|(cost, _)| cost.id == "server_cpu_ms_per_op")
        && let Some(processors) = of_clients_here(nodes, clients)
    {
        all.insert(at + 1, (&OF_THE_CLIENT, (processors / per_s * 1e3).min(all[at].1)));
    }
    all
}

/// Processors that clients use on a machine of the store, on average; `None` where they share none as far as is known.
fn of_clients_here(nodes: &[NodeResult], clients: &[ClientRecord]) -> Option<f64> {
    let of_the_store = |client: &&ClientRecord| {
        nodes.iter().any(|node| of(node, q::CPU_BUSY.id).is_some() && machines::runs(node, client))
    };
    let here = clients.iter().filter(of_the_store);
    here.filter_map(|client| client.process_cpu_share).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(quantities: &[(&str, &str, f64)]) -> NodeResult {
        let one = |(quantity, unit, mean): &(&str, &str, f64)| QuantityResult {
            quantity: (*quantity).to_owned(),
            unit: (*unit).to_owned(),
            mean: *mean,
            highest: *mean,
        };
        NodeResult { readings: 9, quantities: quantities.iter().map(one).collect(), ..NodeResult::default() }
    }

    fn operation(op: &str, per_s: f64, bytes_per_s: f64) -> OperationResult {
        OperationResult {
            op: op.to_owned(),
            throughput_per_s: Some(per_s),
            bandwidth_bytes_per_s: Some(bytes_per_s),
            ..OperationResult::default()
        }
    }

    fn values(nodes: &[NodeResult], operations: &[OperationResult]) -> Vec<(&'static str, f64)> {
        known(&of_stage(nodes, operations)).map(|(cost, value)| (cost.names.compare, value)).collect()
    }

    #[test]
    fn costs_are_what_all_machines_did_by_what_the_clients_got() {
        let proxy = node(&[("cpu_busy_s", "cpu0", 0.5), ("cpu_busy_s", "cpu1", 1.0)]);
        let storage = node(&[
            ("cpu_busy_s", "cpu0", 0.5),
            ("disk_written_bytes", "sda", 3e6),
            ("disk_written_bytes", "sda1", 3e6),
            ("disk_written_bytes", "dm-0", 3e6),
            ("disk_written_bytes", "bcache0", 3e6),
            ("disk_written_bytes", "zd16", 1e6),
            ("disk_written_bytes", "nvme0n1", 1e6),
            ("disk_written_bytes", "nvme0n1p2", 1e6),
            ("energy_j", "package-0", 40.0),
        ]);
        let operations = [
            operation("write", 60.0, 6e5),
            operation("mwrite", 40.0, 4e5),
            operation("read", 300.0, 9e6),
            operation("prepare", 7e9, 7e9),
            operation("localwrite", 7e9, 7e9),
        ];
        assert_eq!(
            values(&[proxy, storage], &operations),
            [
                ("server_cpu", 5.0),
                ("server_cpu_per_mb", 200.0),
                ("read_amplification", 0.0),
                ("write_amplification", 4.0),
                ("joules", 0.1),
            ]
        );
    }

    #[test]
    fn what_the_client_itself_did_on_the_stores_machine_stands_beside_what_all_of_it_did() {
        let with = |source: &str, drivers: &[(f64, Option<f64>)]| {
            let mut machine = node(&[("cpu_busy_s", "cpu0", 0.9), ("cpu_busy_s", "cpu1", 0.6)]);
            source.clone_into(&mut machine.source);
            let client = |(share, offset): &(f64, Option<f64>)| ClientRecord {
                process_cpu_share: Some(*share),
                clock_offset_ms: *offset,
                ..ClientRecord::default()
            };
            let clients: Vec<ClientRecord> = drivers.iter().map(client).collect();
            let all =
                shown(&[machine], &clients, &[operation("read", 100.0, 0.0), operation("prepare", 9.0, 0.0)]);
            all.iter().filter(|one| one.0.id.contains("cpu_ms_per_op")).map(|one| one.1).collect::<Vec<_>>()
        };
        assert_eq!(with("local", &[(0.4, None), (0.1, None)]), [15.0, 5.0]);
        assert_eq!(with("local", &[(0.4, None), (7.0, Some(0.2))]), [15.0, 4.0], "a driver elsewhere");
        assert_eq!(with("local", &[(7.0, Some(0.2))]), [15.0]);
        assert_eq!(with("ssh", &[(0.4, None)]), [15.0]);
        assert_eq!(with("local", &[]), [15.0]);
        assert_eq!(shown(&[], &[], &[operation("read", 100.0, 0.0)]), []);
    }

    #[test]
    fn a_machine_that_is_read_by_two_ways_costs_once_and_the_client_on_it_is_seen_by_either() {
        let machine = |source: &str, booted_s: f64| {
            let mut machine = node(&[
                ("cpu_busy_s", "cpu0", 0.5),
                ("disk_written_bytes", "sda", 2e6),
                ("boot_time_s", "", booted_s),
                ("memory_total_bytes", "", 8e9),
            ]);
            source.clone_into(&mut machine.source);
            machine
        };
        let writes = [operation("write", 100.0, 1e6)];
        let of = |nodes: &[NodeResult]| {
            let all = values(nodes, &writes);
            let one = |name: &str| all.iter().find(|one| one.0 == name).map(|one| one.1);
            (one("server_cpu"), one("write_amplification"))
        };
        let once = (Some(5.0), Some(2.0));
        assert_eq!(of(&[machine("local", 1e9)]), once);
        assert_eq!(of(&[machine("local", 1e9), machine("prometheus", 1e9)]), once);
        assert_eq!(of(&[machine("local", 1e9), machine("prometheus", 2e9)]), (Some(10.0), Some(4.0)));
        let mut with_energy = machine("prometheus", 1e9);
        with_energy.quantities.push(QuantityResult {
            quantity: "energy_j".to_owned(),
            unit: "0".to_owned(),
            mean: 50.0,
            highest: 50.0,
        });
        assert_eq!(values(&[machine("local", 1e9), with_energy], &writes).last(), Some(&("joules", 0.5)));
        let client = ClientRecord {
            process_cpu_share: Some(0.2),
            boot_time_s: Some(1e9),
            memory_bytes: Some(8_000_000_000),
            ..ClientRecord::default()
        };
        let own = |booted_s: f64| {
            let all = shown(&[machine("prometheus", booted_s)], std::slice::from_ref(&client), &writes);
            all.iter().find(|one| one.0.id == "client_cpu_ms_per_op").map(|one| one.1)
        };
        assert_eq!((own(1e9), own(2e9)), (Some(2.0), None));
    }

    /// Namespaces, drives of a controller and devices of a network that are numbered beyond nine.
    #[test]
    fn the_tenth_disk_is_no_part_of_the_first() {
        let disks = [
            "nvme0n1",
            "nvme0n1p2",
            "nvme0n10",
            "cciss/c0d1",
            "cciss/c0d1p1",
            "cciss/c0d12",
            "nbd1",
            "nbd15",
        ];
        let disks: Vec<(&str, &str, f64)> = disks
            .into_iter()
            .chain(["sdb", "sdb2", "sdbc"])
            .map(|unit| ("disk_read_bytes", unit, 1e6))
            .collect();
        assert_eq!(read_by_disks(&node(&disks)), Some(8e6));
        assert_eq!(read_by_disks(&NodeResult::default()), None);
    }

    #[test]
    fn what_no_machine_tells_and_what_nobody_asked_for_has_no_cost() {
        let reads = [operation("read", 10.0, 1e3)];
        assert_eq!(values(&[], &reads), []);
        assert_eq!(values(&[NodeResult::default()], &reads), [], "a machine that was never read");
        assert_eq!(values(&[node(&[("cpu_busy_s", "cpu0", 1.0)])], &[]), []);
        let only_loops = node(&[("disk_read_bytes", "loop0", 500.0), ("cpu_busy_s", "cpu0", 0.0)]);
        assert_eq!(values(&[only_loops], &reads).last(), Some(&("read_amplification", 0.5)));
    }

    #[test]
    fn what_tells_of_daemons_alone_has_no_cost_and_hides_none() {
        let daemons = |source: &str, quantity: &str, unit: &str| {
            let mut daemons = node(&[(quantity, unit, 7.0)]);
            source.clone_into(&mut daemons.source);
            daemons
        };
        let all = [
            daemons("ceph", "server_requests", "osd.0 read"),
            daemons("recon", "store_updates_pending", ""),
            daemons("statsd", "device_put_ms_per_kb", "sdb1"),
            daemons("prometheus", "network_received_bytes", "port7"),
        ];
        let operations = [operation("read", 10.0, 1e3), operation("write", 10.0, 1e3)];
        assert_eq!(values(&all, &operations), []);
        let machine = node(&[("cpu_busy_s", "cpu0", 0.1), ("disk_written_bytes", "sda", 3e3)]);
        let with: Vec<NodeResult> = all.into_iter().chain([machine.clone()]).collect();
        assert_eq!(values(&with, &operations), values(&[machine], &operations));
        // An exporter that is not asked for processors.
        let disks = values(&[node(&[("disk_written_bytes", "sda", 3e3)])], &operations);
        assert_eq!(disks, [("read_amplification", 0.0), ("write_amplification", 3.0)]);
    }

    #[test]
    fn disks_that_read_nothing_cost_nothing_and_not_less() {
        let idle = node(&[("cpu_busy_s", "cpu0", 1.0)]);
        let all = values(&[idle], &[operation("read", 10.0, 1e3)]);
        let read = all.iter().find(|(name, _)| *name == "read_amplification").unwrap().1;
        assert!(read == 0.0 && read.is_sign_positive(), "{read:?}");
    }

    #[test]
    fn no_figure_of_a_store_has_the_name_of_one_of_an_operation() {
        for cost in COSTS {
            let names = |metric: &Metric| [metric.id, metric.names.compare, metric.names.export];
            let taken = crate::results::METRICS.iter().flat_map(names).collect::<Vec<_>>();
            assert!(names(cost).iter().all(|name| !name.is_empty() && !taken.contains(name)), "{}", cost.id);
        }
    }
}
