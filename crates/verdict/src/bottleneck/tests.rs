//! Tests of [`super`].
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;
use cosmark_metrics::results::Bound;
use cosmark_metrics::{Latencies, QuantityResult, UnitResult};
use serde_json::json;

fn unit(kind: ResourceKind, name: &str, busy: f64, queue: f64) -> UnitResult {
    let waiting = Some(Waiting::Queue(queue));
    UnitResult { kind, name: name.to_owned(), busy, highest_busy: busy, waiting }
}

fn node(units: Vec<UnitResult>) -> NodeResult {
    NodeResult { name: "s1".into(), role: "storage".into(), readings: 9, units, ..NodeResult::default() }
}

/// Reads of 4 KiB by `workers`, each 2 ms of one disk and 3 ms elsewhere.
fn stage(workers: u32, bytes_each: u64) -> StageRecord {
    let many = f64::from(workers);
    let rate = (many / 0.005).min(500.0);
    let service_ms = Latencies { mean: Some(many / rate * 1e3), ..Latencies::default() };
    let operation = OperationResult {
        name: "read".into(),
        op: "read".into(),
        ok: 1000,
        bytes: 1000 * bytes_each,
        throughput_per_s: Some(rate),
        in_flight_mean: Some(many),
        service_ms,
        ..OperationResult::default()
    };
    let text = json!({"id": format!("s{workers}-w"), "name": "w", "state": "completed"});
    let mut stage: StageRecord = serde_json::from_value(text).unwrap();
    stage.operations = vec![operation];
    let waits = (many - 2.5).max(0.1);
    stage.nodes = vec![node(vec![
        unit(ResourceKind::Disk, "sda", rate / 500.0, waits),
        unit(ResourceKind::Machine, "cpu", 0.05 + rate / 2500.0, 0.2),
    ])];
    stage
}

fn run(stages: Vec<StageRecord>) -> RunRecord {
    let text = json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n", "description": null, "state": "finished",
        "reason": null, "seed": 1, "submitted": null, "started": null, "ended": null, "process": null});
    let mut run: RunRecord = serde_json::from_value(text).unwrap();
    run.idle_nodes = vec![node(vec![
        unit(ResourceKind::Disk, "sda", 0.0, 0.0),
        unit(ResourceKind::Machine, "cpu", 0.05, 0.1),
    ])];
    run.stages = stages;
    run
}

#[test]
fn the_disk_that_is_full_is_named_with_its_ceiling_and_another_size_is_another_load() {
    let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
    stages.push(stage(32, 1 << 20));
    let found = bottlenecks(&run(stages));
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.answer.as_str(), one.units.as_slice()), ("named", ["s1 disk sda".to_owned()].as_slice()));
    assert_eq!((one.stages.len(), one.plateau_per_s), (5, Some(500.0)));
    assert!((one.ceiling_per_s.unwrap() - 500.0).abs() < 25.0, "{one:?}");
    let (low, high) = (one.ceiling_low_per_s.unwrap(), one.ceiling_high_per_s.unwrap());
    assert!(low <= one.ceiling_per_s.unwrap() && one.ceiling_per_s.unwrap() <= high, "{one:?}");
    assert_eq!(one.ceiling_by.as_deref(), Some("line"));
    assert!(one.second.is_some() && one.refute.is_some(), "{one:?}");
}

/// Seconds of a processor that this thread has had so far: what runs beside it takes none of them.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // In hundredths, as a user and within the kernel: the 14th and 15th field. The second is a name of any signs.
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11..13].iter().map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Whoever answers may make up as many parts as it likes.
#[test]
fn a_machine_of_thousands_of_disks_takes_no_minutes() {
    let stages = [1, 2, 4, 8, 16].map(|workers| {
        let mut stage = stage(workers, 4096);
        let others = (0..10_000).map(|at| unit(ResourceKind::Disk, &format!("sd-of-many-{at}"), 0.1, 0.0));
        stage.nodes[0].units.extend(others);
        stage
    });
    let began_s = processor_s();
    let found = bottlenecks(&run(stages.into()));
    let took_s = processor_s() - began_s;
    assert_eq!(found[0].units, ["s1 disk sda"], "{}", found[0].text);
    assert!(took_s < 8.0, "{took_s} s");
}

/// As ceph-volume makes them: each OSD on a logical volume of its own.
#[test]
fn a_volume_that_is_as_busy_as_its_disk_is_no_second_one() {
    let with = |name: &str, times: f64| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages {
            let disk = &stage.nodes[0].units[0];
            let other =
                UnitResult { name: name.to_owned(), busy: (disk.busy * times).min(1.0), ..disk.clone() };
            stage.nodes[0].units.push(other);
        }
        let run = run(stages);
        let units = ladder(&run, &run.stages.iter().collect::<Vec<_>>()).units;
        let mut disks: Vec<String> =
            units.into_iter().filter(|unit| unit.kind == ResourceKind::Disk).map(|unit| unit.name).collect();
        disks.sort();
        let found = bottlenecks(&run);
        (disks, found[0].units.clone())
    };
    for (name, times) in [("dm-0", 1.0), ("dm-3", 0.97), ("bcache0", 1.04)] {
        let (disks, named) = with(name, times);
        assert_eq!(
            (disks, named),
            (vec!["sda".to_owned()], vec!["s1 disk sda".to_owned()]),
            "{name} {times}"
        );
    }
    // A slow one, one on part of which something else is, and another disk.
    for (name, times) in [("dm-1", 1.5), ("dm-0", 0.6), ("loop0", 1.0), ("sdb", 1.0)] {
        assert_eq!(with(name, times).0.len(), 2, "{name} {times}");
    }
}

#[test]
fn a_link_that_others_carry_for_is_no_second_one() {
    let links = |names: &[(&str, ResourceKind, f64)]| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages {
            let rate = load_of(stage).unwrap().0;
            let one = |(name, kind, times): &(&str, ResourceKind, f64)| {
                unit(*kind, name, (rate / 500.0 * times).min(1.0), 0.0)
            };
            stage.nodes = vec![node(names.iter().map(one).collect())];
        }
        let run = run(stages);
        let units = ladder(&run, &run.stages.iter().collect::<Vec<_>>()).units;
        units.into_iter().map(|unit| unit.name).collect::<BTreeSet<String>>()
    };
    let (sends, receives) = (ResourceKind::NetworkTransmit, ResourceKind::NetworkReceive);
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let all = [("eth0", sends, 0.9), ("eth0.7", sends, 0.9), ("br0", sends, 0.88), ("bond0", sends, 0.9)];
    assert_eq!(links(&all), of(&["eth0"]));
    // Another direction, one that carries for several, and two links of their own.
    let others = [("eth0", sends, 0.9), ("br0", receives, 0.9), ("bond1", sends, 0.4), ("eth1", sends, 0.9)];
    assert_eq!(links(&others), of(&["bond1", "br0", "eth0", "eth1"]));
}

#[test]
fn a_ceiling_by_the_cost_where_a_quota_is_full_is_called_no_prediction_and_has_no_interval() {
    let loads = [
        (1, 25.0, 0.25, 0.02),
        (2, 50.0, 0.5, 0.1),
        (3, 75.0, 0.75, 0.3),
        (4, 95.0, 0.95, 0.45),
        (8, 130.0, 1.0, 0.95),
        (16, 160.0, 1.0, 1.0),
        (32, 181.0, 1.0, 1.0),
        (64, 182.0, 1.0, 1.0),
        (96, 181.0, 1.0, 1.0),
    ];
    let stages = loads.map(|(workers, rate, busy, stopped)| {
        let mut stage = stage(workers, 4096);
        stage.operations[0].throughput_per_s = Some(rate);
        stage.operations[0].service_ms.mean = Some(f64::from(workers) / rate * 1e3);
        let mut quota = unit(ResourceKind::CpuQuota, "osds", busy, 0.0);
        quota.waiting = Some(Waiting::Share(stopped));
        stage.nodes = vec![node(vec![quota])];
        stage
    });
    let found = bottlenecks(&run(stages.into()));
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(one.units, ["s1 CPU quota osds".to_owned()], "{one:?}");
    assert_eq!(one.ceiling_by.as_deref(), Some("when_full"));
    assert_eq!((one.ceiling_low_per_s, one.ceiling_high_per_s), (None, None));
    assert!((one.ceiling_per_s.unwrap() / 181.0 - 1.0).abs() < 0.02, "{one:?}");
    assert_eq!(one.candidates[0].ceiling_per_s, one.ceiling_per_s);
}

/// A machine that has time left, and a group of which only is known how often its quota stopped it.
fn quota_of_unknown_use(stage: &mut StageRecord, stopped: f64) {
    let figure = |quantity: &str, mean: f64| QuantityResult {
        quantity: quantity.to_owned(),
        unit: "proxies".to_owned(),
        mean,
        highest: mean,
    };
    let rate = load_of(stage).unwrap().0;
    stage.nodes = vec![NodeResult {
        quantities: vec![
            figure("quota_processors", 0.25),
            figure("quota_periods", 10.0),
            figure("quota_stopped_periods", 10.0 * stopped * rate / 500.0),
        ],
        ..node(vec![unit(ResourceKind::Machine, "cpu", 0.05 + rate / 2500.0, 0.2)])
    }];
}

#[test]
fn a_quota_whose_use_nobody_counts_is_not_spoken_of_as_idle() {
    let ladder = |stopped: f64| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        stages.iter_mut().for_each(|stage| quota_of_unknown_use(stage, stopped));
        let found = bottlenecks(&run(stages));
        (found[0].answer.clone(), found[0].text.clone())
    };
    let (answer, text) = ladder(0.95);
    assert_eq!(answer, "unexplained", "{text}");
    assert!(text.contains("how busy CPU quota proxies of s1 (storage) was there is not known"), "{text}");
    assert!(text.contains("cpuacct") && !text.contains("none is busier"), "{text}");
    // A group that is hardly ever stopped has time left.
    let (answer, text) = ladder(0.1);
    assert_eq!(answer, "limit", "{text}");
    assert!(text.contains("none is busier than 25 %"), "{text}");
}

#[test]
fn a_machine_whose_exporter_renews_its_figures_too_rarely_for_the_steps_is_said_to_be_unknown() {
    let rarely = |readings: u64| NodeResult {
        name: "s2".into(),
        role: "storage".into(),
        readings,
        ..NodeResult::default()
    };
    let text = |change: &dyn Fn(&mut StageRecord)| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        stages.iter_mut().for_each(change);
        let found = bottlenecks(&run(stages));
        (found[0].answer.clone(), found[0].text.clone())
    };
    let is_said = |text: &str| text.contains("nothing is known of s2 (storage): ");
    // The other machine has time left: the limit may be on this one.
    let (answer, said) = text(&|stage| {
        stage.nodes[0].units.remove(0);
        stage.nodes.push(rarely(1));
    });
    assert!(answer == "limit" && is_said(&said) && said.contains("came less than twice in a step"), "{said}");
    // Alone, too: it is listed, and not to be listed.
    let (answer, said) = text(&|stage| stage.nodes = vec![rarely(1)]);
    assert!(answer == "nothing_measured" && said.starts_with("nothing is known of s2"), "{said}");
    let (_, said) = text(&|stage| stage.nodes = vec![rarely(0)]);
    assert!(is_said(&said) && said.contains("no figures came"), "{said}");
    // A name needs no such word, nor a machine that was seen.
    let (answer, said) = text(&|stage| stage.nodes.push(rarely(1)));
    assert!(answer == "named" && !is_said(&said), "{said}");
    let (answer, said) = text(&|stage| {
        stage.nodes[0].units.remove(0);
        stage.nodes.push(rarely(9));
    });
    assert!(answer == "limit" && !is_said(&said), "{said}");
}

#[test]
fn memory_that_was_short_at_the_highest_load_is_said_where_it_may_be_the_limit() {
    let text = |share: fn(f64) -> f64, has_disk: bool| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages {
            let mean = share(load_of(stage).unwrap().1);
            let quantity = "memory_pressure_s".to_owned();
            stage.nodes[0].quantities =
                vec![QuantityResult { quantity, unit: String::new(), mean, highest: mean }];
            if !has_disk {
                stage.nodes[0].units.remove(0);
            }
        }
        let found = bottlenecks(&run(stages));
        (found[0].answer.clone(), found[0].text.clone())
    };
    let words = "tasks waited for it on s1 (storage) in 32 % of the time";
    for (has_disk, answer) in [(true, "named"), (false, "limit")] {
        let (said, short) = text(|workers| 0.02 * workers, has_disk);
        assert!(said == answer && short.contains(words), "{short}");
        // As much without load, or next to nothing.
        for share in [(|_| 0.3) as fn(f64) -> f64, |workers| 0.002 * workers] {
            let (said, short) = text(share, has_disk);
            assert!(said == answer && !short.contains("memory"), "{short}");
        }
    }
}

/// A quantity, and what it comes to at so many workers.
type Figure = (&'static str, fn(f64) -> f64);

/// A server whose queue of connections is short, or a link on the way that nobody looks at and that drops what is too much.
#[test]
fn connections_and_segments_that_are_dropped_at_the_highest_load_are_said_where_nothing_is_named() {
    let text = |figures: &[Figure], by_client: fn(f64) -> f64, has_disk: bool| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages {
            let workers = load_of(stage).unwrap().1;
            let figure = |(quantity, of): &Figure| {
                let mean = of(workers);
                QuantityResult { quantity: (*quantity).to_owned(), unit: String::new(), mean, highest: mean }
            };
            stage.nodes[0].quantities = figures.iter().map(figure).collect();
            let mut client = ClientRecord { seconds: 10.0, ..ClientRecord::default() };
            client.tcp_segments_out = Some(100_000);
            client.tcp_retransmitted = Some(by_client(workers) as u64);
            stage.clients = vec![client];
            if !has_disk {
                stage.nodes[0].units.remove(0);
            }
        }
        bottlenecks(&run(stages))[0].text.clone()
    };
    let drops: Figure = ("tcp_listen_drops", |workers| 0.75 * workers);
    let sent: Figure = ("tcp_segments_sent", |_| 1000.0);
    let resent: Figure = ("tcp_segments_resent", |workers| 2.0 * workers);
    let said = text(&[drops], |_| 0.0, false);
    assert!(said.contains("12/s on s1 (storage): look at its length (backlog)"), "{said}");
    assert!(!said.contains("sent again"), "{said}");
    let said = text(&[sent, resent], |_| 0.0, false);
    assert!(
        said.contains("segments were sent again, 3.2 % of those of s1 (storage): look for a link"),
        "{said}"
    );
    let said = text(&[], |workers| 200.0 * workers, false);
    assert!(said.contains("segments were sent again, 3.2 % of those of the client"), "{said}");
    // As many at any load, too few, or beside a name.
    let always: Figure = ("tcp_listen_drops", |_| 12.0);
    let few: Figure = ("tcp_segments_resent", |workers| 0.5 * workers);
    for (figures, has_disk) in
        [(vec![always], false), (vec![sent, few], false), (vec![drops, sent, resent], true)]
    {
        let said = text(&figures, |_| 900.0, has_disk);
        assert!(!said.contains("dropped") && !said.contains("sent again"), "{said}");
    }
}

/// A client behind a link that is shaped where nobody looks.
#[test]
fn a_link_of_the_client_that_tells_no_speed_is_said_where_nothing_is_named() {
    let text = |name: &str, moved: f64, speed: Option<u64>, has_disk: bool| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages {
            let nic = |name: &str, moved: f64, speed_bits_per_s| cosmark_metrics::NicRecord {
                name: name.to_owned(),
                rx_bytes_per_s_max: moved,
                tx_bytes_per_s_max: 1e4,
                speed_bits_per_s,
            };
            let nics = vec![nic("lo", 2e4, None), nic(name, moved, speed)];
            stage.clients = vec![ClientRecord { nics, ..ClientRecord::default() }];
            if !has_disk {
                stage.nodes[0].units.remove(0);
            }
        }
        bottlenecks(&run(stages))[0].text.clone()
    };
    let said = text("eth0", 5.1e6, None, false);
    assert!(said.contains("the client's link eth0 (5.1 MB/s at most) tells no speed"), "{said}");
    let said = text("eth0", 1.25e9, None, false);
    assert!(said.contains("the client's link eth0 (1.25 GB/s at most) tells no speed"), "{said}");
    // One that tells it, hardly anything, the loopback, and a disk that is named.
    for (name, moved, speed, has_disk) in [
        ("eth0", 5.1e6, Some(1_000_000_000), false),
        ("eth0", 1e5, None, false),
        ("lo", 5.1e6, None, false),
        ("eth0", 5.1e6, None, true),
    ] {
        let said = text(name, moved, speed, has_disk);
        assert!(!said.contains("tells no speed"), "{name} {moved}: {said}");
    }
}

#[test]
fn a_machine_that_was_away_for_most_of_a_step_is_not_measured_there() {
    let answered = |covered: Option<f64>| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages[2..] {
            stage.nodes[0].covered_share = covered;
        }
        let run = run(stages);
        let stages: Vec<&StageRecord> = run.stages.iter().collect();
        let measured = ladder(&run, &stages).steps.iter().all(|step| step.usage[0].busy.is_some());
        (measured, bottlenecks(&run)[0].clone())
    };
    for covered in [None, Some(1.0), Some(0.6)] {
        let (measured, found) = answered(covered);
        assert!(measured && found.answer == "named", "{covered:?}: {found:?}");
    }
    let (measured, found) = answered(Some(0.03));
    assert!(!measured && found.answer == "nothing_measured", "{found:?}");
    assert!(found.text.contains("did not answer in most of the time"), "{}", found.text);
}

/// Processors that are full from four workers on, of a machine that is read by these ways, and a client that takes
/// 40 % of them.
fn on_one_machine(sources: &[&str], booted_s: f64) -> RunRecord {
    let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
    let figure = |quantity: &str, mean: f64| QuantityResult {
        quantity: quantity.to_owned(),
        unit: String::new(),
        mean,
        highest: mean,
    };
    for stage in &mut stages {
        let rate = load_of(stage).unwrap().0;
        let waits = stage.nodes[0].units[0].waiting;
        let nodes = sources.iter().map(|source| NodeResult {
            name: (*source).to_owned(),
            source: (*source).to_owned(),
            quantities: vec![figure("boot_time_s", booted_s), figure("memory_total_bytes", 8e9)],
            ..node(vec![UnitResult {
                waiting: waits,
                ..unit(ResourceKind::Machine, "cpu", rate / 500.0, 0.0)
            }])
        });
        stage.nodes = nodes.collect();
        stage.clients = vec![ClientRecord {
            process_cpu_share: Some(0.8 * rate / 500.0),
            cpus: Some(2),
            machine_busy_share: Some(rate / 500.0),
            boot_time_s: Some(1e9),
            memory_bytes: Some(8_000_000_000),
            ..ClientRecord::default()
        }];
    }
    let mut run = run(stages);
    run.idle_nodes = run.stages[0].nodes.clone();
    run.idle_nodes.iter_mut().for_each(|node| node.units[0].busy = 0.0);
    run
}

#[test]
fn a_client_on_the_stores_machine_is_seen_by_whatever_way_the_machine_is_read() {
    for source in ["local", "prometheus", "ssh", "agent"] {
        let found = &bottlenecks(&on_one_machine(&[source], 1e9))[0];
        assert_eq!(found.answer, "shared", "{source}: {}", found.text);
    }
    let found = &bottlenecks(&on_one_machine(&["prometheus"], 2e9))[0];
    assert_eq!(found.answer, "named", "another machine: {}", found.text);
}

#[test]
fn a_client_that_is_bound_to_some_processors_takes_nothing_of_the_others() {
    let taken = |kind: ResourceKind, name: &str, bound_to: Option<Vec<u32>>| {
        let client =
            ClientRecord { process_cpu_share: Some(0.6), cpus: Some(4), bound_to, ..ClientRecord::default() };
        let (node, role) = ("s1".to_owned(), "storage".to_owned());
        by_one_client(&client, &Unit { node, role, kind, name: name.to_owned() }).unwrap()
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    near(taken(ResourceKind::Core, "cpu0", Some(vec![1, 3])), 0.0);
    near(taken(ResourceKind::Core, "cpu3", Some(vec![1, 3])), 0.3);
    near(taken(ResourceKind::Machine, "cpu", Some(vec![1, 3])), 0.15);
    near(taken(ResourceKind::Core, "cpu3", None), 0.15);
}

#[test]
fn a_machine_that_is_read_by_two_ways_has_its_parts_once() {
    let of = |run: &RunRecord| {
        let stages: Vec<&StageRecord> = run.stages.iter().collect();
        let units = ladder(run, &stages).units.into_iter();
        units.map(|unit| format!("{} {}", unit.node, unit.kind.word())).collect::<Vec<_>>()
    };
    let mut run = on_one_machine(&["local", "prometheus"], 1e9);
    let processors = ResourceKind::Machine.word();
    assert_eq!(of(&run), [format!("local {processors}")]);
    // The processors stay with the daemons' threads.
    for stage in &mut run.stages {
        stage.nodes[1].units.push(unit(ResourceKind::Thread, "osd/7", 0.3, 0.0));
    }
    let thread = ResourceKind::Thread.word();
    assert_eq!(of(&run), [format!("prometheus {processors}"), format!("prometheus {thread}")]);
    for stage in &mut run.stages {
        stage.nodes[1].quantities[0].mean = 2e9;
    }
    assert_eq!(of(&run).len(), 3, "two machines");
}

/// The same machine as two nodes that are read by one way, each with a daemon of another role; `called` is its name, where it
/// has one.
fn listed_twice(called: Option<&str>) -> RunRecord {
    let mut run = on_one_machine(&["ssh", "ssh"], 2e9);
    let RunRecord { stages, idle_nodes, .. } = &mut run;
    let listed = [("web", "proxy", "proxy-server/7"), ("disks", "storage", "object-server/9")];
    for nodes in stages.iter_mut().map(|stage| &mut stage.nodes).chain([idle_nodes]) {
        for (node, (name, role, thread)) in nodes.iter_mut().zip(listed) {
            node.name = name.to_owned();
            node.role = role.to_owned();
            let half = node.units[0].busy / 2.0;
            node.units.push(unit(ResourceKind::Thread, thread, half, 0.0));
            let figure = |quantity: &str, unit: &str, mean: f64| QuantityResult {
                quantity: quantity.to_owned(),
                unit: unit.to_owned(),
                mean,
                highest: mean,
            };
            node.quantities.extend(called.map(|called| figure("machine", called, 1.0)));
            node.quantities.push(figure("daemons_busy_s", "", half));
        }
    }
    run
}

#[test]
fn a_machine_that_is_listed_for_two_roles_has_its_parts_once_and_the_daemons_of_both() {
    let run = listed_twice(Some("boot 1"));
    let stages: Vec<&StageRecord> = run.stages.iter().collect();
    let ladder = ladder(&run, &stages);
    let said = |units: &[Unit]| -> Vec<String> {
        units.iter().map(|unit| format!("{} {} {}", unit.node, unit.role, unit.kind.word())).collect()
    };
    let expected = ["disks storage thread", "web proxy+storage processors", "web proxy thread"];
    assert_eq!(said(&ladder.units), expected);
    let machines = Machines::of(&stages, &ladder.units);
    // Threads of both are processor time of that machine, and more of it is more of the whole.
    assert!(machines.joined(&ladder).units.iter().all(|unit| unit.node == "web"));
    let wholes = machines.as_wholes(ladder.units.clone());
    assert!(wholes.iter().all(|unit| (unit.node.as_str(), unit.role.as_str()) == ("web", "proxy+storage")));
    let last = stages[4];
    let half = last.nodes[0].units[1].busy;
    assert!((machines.daemons_busy(last, "web") - 2.0 * half).abs() < 1e-9);
    let found = &bottlenecks(&run)[0];
    assert_eq!(
        (found.answer.as_str(), found.units.as_slice()),
        ("named", ["web processors cpu".to_owned()].as_slice())
    );
    assert!(found.text.contains("the processors of web (proxy+storage)"), "{}", found.text);
}

#[test]
fn a_machine_that_may_be_listed_twice_is_said_to_where_nothing_tells() {
    let found = &bottlenecks(&listed_twice(None))[0];
    assert_eq!(found.answer, "several", "{}", found.text);
    assert!(found.text.contains("whether web and disks are one machine cannot be known"), "{}", found.text);
    let found = &bottlenecks(&listed_twice(Some("boot 1")))[0];
    assert!(!found.text.contains("cannot be known"), "{}", found.text);
}

/// Both entries ask for the same daemons: each thread is there once.
#[test]
fn daemons_that_two_nodes_of_a_machine_show_count_once() {
    let mut run = listed_twice(Some("boot 1"));
    for node in run.stages.iter_mut().flat_map(|stage| &mut stage.nodes) {
        node.units[1].name = "osd/7".to_owned();
    }
    let stages: Vec<&StageRecord> = run.stages.iter().collect();
    let ladder = ladder(&run, &stages);
    let threads = ladder.units.iter().filter(|unit| unit.kind == ResourceKind::Thread).count();
    assert_eq!(threads, 1, "{:?}", ladder.units);
    let busy = Machines::of(&stages, &ladder.units).daemons_busy(stages[4], "disks");
    assert!((busy - stages[4].nodes[0].units[1].busy).abs() < 1e-9, "{busy}");
}

/// Each has a process 1 and a link eth0.
#[test]
fn containers_of_a_machine_share_its_processors_and_have_links_and_daemons_of_their_own() {
    let mut run = listed_twice(Some("boot 1"));
    for stage in &mut run.stages {
        for (node, share) in stage.nodes.iter_mut().zip([1.0, 0.3]) {
            let busy = node.units[0].busy * share;
            node.units[1] = unit(ResourceKind::Thread, "minio/1", busy / 2.0, 0.0);
            node.units.push(unit(ResourceKind::NetworkTransmit, "eth0", busy, 0.0));
            let daemons = node.quantities.iter_mut().filter(|one| one.quantity == "daemons_busy_s");
            daemons.for_each(|one| one.mean = busy / 2.0);
        }
    }
    let stages: Vec<&StageRecord> = run.stages.iter().collect();
    let ladder = ladder(&run, &stages);
    let said = |unit: &Unit| (unit.node.clone(), unit.role.clone(), unit.kind);
    let expected = [
        ("disks", "storage", ResourceKind::Thread),
        ("disks", "storage", ResourceKind::NetworkTransmit),
        ("web", "proxy+storage", ResourceKind::Machine),
        ("web", "proxy", ResourceKind::Thread),
        ("web", "proxy", ResourceKind::NetworkTransmit),
    ];
    let expected = expected.map(|(node, role, kind)| (node.to_owned(), role.to_owned(), kind));
    assert_eq!(ladder.units.iter().map(said).collect::<Vec<_>>(), expected);
    let last = stages[4];
    let of = |node: usize| last.nodes[node].units[1].busy;
    let busy = Machines::of(&stages, &ladder.units).daemons_busy(last, "web");
    assert!((busy - of(0) - of(1)).abs() < 1e-9, "{busy}");
}

#[test]
fn a_link_of_a_machine_counts_once_and_another_one_beside_it() {
    let links = |second: &str| {
        let mut run = listed_twice(Some("boot 1"));
        for stage in &mut run.stages {
            for (node, link) in stage.nodes.iter_mut().zip(["eth0", second]) {
                let busy = node.units[0].busy / 2.0;
                node.units.push(unit(ResourceKind::NetworkTransmit, link, busy, 0.0));
            }
        }
        let stages: Vec<&StageRecord> = run.stages.iter().collect();
        let units = ladder(&run, &stages).units.into_iter();
        units.filter(|unit| unit.kind == ResourceKind::NetworkTransmit).count()
    };
    assert_eq!((links("eth0"), links("eth1")), (1, 2));
}

#[test]
fn what_neither_the_client_nor_a_named_daemon_took_of_a_machine_is_known_where_daemons_are_named() {
    let with = |source: &str, daemons: f64, client: Option<f64>| {
        let mut stage = stage(4, 4096);
        let units = vec![
            unit(ResourceKind::Core, "cpu0", 0.9, 0.0),
            unit(ResourceKind::Core, "cpu1", 0.7, 0.0),
            unit(ResourceKind::Machine, "cpu", 0.8, 0.0),
            unit(ResourceKind::Thread, "osd/7", 0.4, 0.0),
        ];
        let figure = |quantity: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: String::new(),
            mean,
            highest: mean,
        };
        let quantities = vec![figure("cpu_interrupts_s", 0.1), figure("daemons_busy_s", daemons)];
        stage.nodes = vec![NodeResult { source: source.into(), quantities, ..node(units) }];
        stage.clients =
            vec![ClientRecord { process_cpu_share: client, cpus: Some(2), ..ClientRecord::default() }];
        let ladder = ladder(&run(vec![]), &[&stage]);
        let machine = ladder.units.iter().position(|unit| unit.kind == ResourceKind::Machine).unwrap();
        let others = ladder.steps[0].usage.iter().map(|usage| usage.by_others);
        assert!(others.enumerate().all(|(at, others)| at == machine || others.is_none()));
        ladder.steps[0].usage[machine].by_others
    };
    // Of 1.6 processors 0.5 are the daemons', 0.3 the client's, and 0.1 go to interrupts.
    assert!((with("local", 0.5, Some(0.3)).unwrap() - 0.35).abs() < 1e-9);
    // No client is on another machine.
    assert!((with("agent", 0.5, Some(0.3)).unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(with("agent", 1.9, None), Some(0.0));
    for (source, daemons, client) in [("local", 0.0, Some(0.3)), ("local", 0.3, None), ("ssh", 0.0, None)] {
        assert_eq!(with(source, daemons, client), None, "{source} {daemons:?} {client:?}");
    }
}

#[test]
fn the_busiest_unit_is_reported_also_where_no_load_is_low_enough_to_predict_from() {
    let stages: Vec<StageRecord> = [4, 8, 16, 32]
        .map(|workers| {
            let mut stage = stage(workers, 4096);
            stage.nodes[0].units.retain(|unit| unit.kind == ResourceKind::Machine);
            stage
        })
        .into();
    let mut run = run(stages);
    run.idle_nodes.clear();
    let text = bottlenecks(&run)[0].text.clone();
    assert!(text.contains("none is busier than 25 %"), "{text}");
}

#[test]
fn a_full_client_one_load_and_a_run_without_nodes_name_nothing() {
    let mut full = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
    let checks: Vec<_> = [4, 8, 16]
        .map(|workers| {
            json!({"id": "V5", "name": "client_cpu", "stage": format!("s{workers}-w"), "status": "fail",
                "allows": "false", "value": 1.0, "limit": 0.9, "message": "full"})
        })
        .into();
    full.verdict =
        serde_json::from_value(json!({"overall": "false", "reason": null, "checks": checks})).unwrap();
    assert_eq!(bottlenecks(&full)[0].answer, "client");
    // The highest load alone is left out; those below it suffice.
    full.verdict.checks.drain(..2);
    assert_eq!(bottlenecks(&full)[0].answer, "named");
    // Nor does a client say anything of the store that its own quota stops.
    let stopped = |share: f64| {
        let mut run = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
        let client = ClientRecord { quota_stopped_share: Some(share), ..ClientRecord::default() };
        run.stages[2..].iter_mut().for_each(|stage| stage.clients = vec![client.clone()]);
        bottlenecks(&run)[0].answer.clone()
    };
    assert_eq!((stopped(0.9).as_str(), stopped(0.1).as_str()), ("client", "named"));
    // Or from which a hypervisor takes the rest of the processor that it would need.
    let stolen = |share: f64| {
        let mut run = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
        let client =
            ClientRecord { thread_busy_max: Some(0.6), steal_share: Some(share), ..ClientRecord::default() };
        run.stages[2..].iter_mut().for_each(|stage| stage.clients = vec![client.clone()]);
        bottlenecks(&run)[0].answer.clone()
    };
    assert_eq!((stolen(0.35).as_str(), stolen(0.1).as_str()), ("client", "named"));
    assert_eq!(bottlenecks(&run(vec![stage(1, 4096), stage(2, 4096)])), []);
    let mut bare = run([1, 2, 4, 8].map(|workers| stage(workers, 4096)).into());
    bare.stages.iter_mut().for_each(|stage| stage.nodes.clear());
    assert_eq!(bottlenecks(&bare), []);
}

#[test]
fn a_store_that_turns_operations_away_is_the_limit_however_full_the_client_is_of_asking() {
    let with = |class: &str| {
        let mut run = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
        let client = ClientRecord { thread_busy_max: Some(0.99), ..ClientRecord::default() };
        for stage in &mut run.stages[2..] {
            stage.clients = vec![client.clone()];
            let op = &mut stage.operations[0];
            op.failed = op.ok;
            op.errors = BTreeMap::from([(class.to_owned(), op.ok)]);
        }
        bottlenecks(&run)[0].answer.clone()
    };
    assert_eq!((with("http_503").as_str(), with("http_429").as_str()), ("refused", "refused"));
    // Nobody refused what a client that has no time gives up.
    assert_eq!((with("timeout").as_str(), with("http_404").as_str()), ("client", "client"));
}

/// What a check of the client says of the upper steps, whose figure is known only within a share of it because of this.
fn widened(check: &str, status: &str, figure: &str, share: f64, cause: Cause) -> RunRecord {
    let mut run = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
    let checks: Vec<_> = [4, 8, 16]
        .map(|workers| {
            json!({"id": check, "name": "client", "stage": format!("s{workers}-w"), "status": status,
                "allows": "true", "value": 0.9, "limit": 0.05, "message": "held up"})
        })
        .into();
    run.verdict =
        serde_json::from_value(json!({"overall": "true", "reason": null, "checks": checks})).unwrap();
    for stage in &mut run.stages[2..] {
        let op = &mut stage.operations[0];
        let value = if figure == "throughput_per_s" { op.throughput_per_s } else { op.service_ms.mean };
        let by = value.map(|value| value * share);
        let client = Spread { below: by, above: by };
        op.bounds.insert(figure.to_owned(), Bound { client, cause: Some(cause), ..Bound::default() });
    }
    run
}

#[test]
fn a_client_that_is_held_up_is_the_limit_and_one_whose_tail_alone_that_moved_is_not() {
    for (check, status, figure, share, cause, said) in [
        ("V6", "warn", "service_ms.mean", 0.5, Cause::Pauses, "client"),
        ("V6", "warn", "throughput_per_s", 0.5, Cause::Pauses, "client"),
        ("V6", "fail", "service_ms.p99", 0.9, Cause::Pauses, "client"),
        ("V6", "warn", "service_ms.mean", 0.08, Cause::Pauses, "named"),
        ("V6", "warn", "service_ms.mean", 0.5, Cause::BusyThreads, "named"),
        ("V6", "warn", "service_ms.p99", 0.9, Cause::Pauses, "named"),
        ("V6", "pass", "service_ms.mean", 0.5, Cause::Pauses, "named"),
        ("V5", "fail", "service_ms.p99", 0.0, Cause::RunQueue, "client"),
        ("V5", "warn", "service_ms.mean", 0.5, Cause::RunQueue, "client"),
        ("V5", "warn", "throughput_per_s", 0.2, Cause::BusyThreads, "client"),
        ("V5", "warn", "throughput_per_s", 0.2, Cause::Sampling, "client"),
        // A hypervisor took processors from a client that had little to do with them.
        ("V5", "warn", "throughput_per_s", 0.01, Cause::Sampling, "named"),
        ("V5", "warn", "service_ms.mean", 0.05, Cause::RunQueue, "named"),
        ("V5", "warn", "service_ms.p99", 0.9, Cause::RunQueue, "named"),
    ] {
        let found = bottlenecks(&widened(check, status, figure, share, cause));
        assert_eq!(found[0].answer, said, "{check} {status} {figure} {share}: {}", found[0].text);
    }
    // A rate of which nobody can say how much higher it would have been.
    let mut run = widened("V6", "warn", "throughput_per_s", 0.0, Cause::Pauses);
    for stage in &mut run.stages[2..] {
        stage.operations[0].bounds.values_mut().for_each(|bound| bound.client.above = None);
    }
    assert_eq!(bottlenecks(&run)[0].answer, "client");
}

/// Reads that come by the clock, of which 64 workers take as many as they can: the disk does 500 a second.
fn by_the_clock(rate: u32) -> StageRecord {
    let offered = f64::from(rate);
    let served = offered.min(500.0);
    let in_flight = if offered < 500.0 { offered * 0.005 } else { 64.0 };
    let mut stage = stage(rate, 4096);
    let op = &mut stage.operations[0];
    (op.throughput_per_s, op.in_flight_mean) = (Some(served), Some(in_flight));
    (op.service_ms.mean, op.arrival) = (Some(in_flight / served * 1e3), Some(LoopKind::Open));
    (op.ok, op.intended) = (u64::from(rate.min(500)) * 60, Some(u64::from(rate) * 60));
    op.bandwidth_bytes_per_s = Some(served * 4096.0);
    op.bytes = op.ok * 4096;
    stage.nodes[0].units[0] = unit(ResourceKind::Disk, "sda", served / 500.0, in_flight * 0.9);
    stage.nodes[0].units[1] = unit(ResourceKind::Machine, "cpu", 0.05 + served / 2500.0, 0.2);
    stage
}

#[test]
fn rates_beyond_what_is_served_reach_the_limit_although_no_more_workers_are_in_use() {
    let rates = [50, 100, 200, 400, 1600, 800];
    let found = bottlenecks(&run(rates.map(by_the_clock).into()));
    assert_eq!(
        (found[0].answer.as_str(), found[0].units.as_slice()),
        ("named", ["s1 disk sda".to_owned()].as_slice()),
        "{}",
        found[0].text
    );
    let stages: Vec<&str> = found[0].steps.iter().map(|step| step.stage.as_str()).collect();
    assert_eq!(stages, ["s50-w", "s100-w", "s200-w", "s400-w", "s800-w", "s1600-w"]);
    assert_eq!(found[0].candidates[0].busy.last(), Some(&Some(1.0)));
    let run = run(rates.map(by_the_clock).into());
    let steps = ladder(&run, &run.stages.iter().collect::<Vec<_>>()).steps;
    assert_eq!((steps[4].offered_per_s, steps[4].bytes_each), (Some(1600.0), 4096.0));
    // A rate of a few operations is known less well than the same of many.
    assert_eq!((steps[0].counted, steps[4].counted), (Some(50 * 60), Some(500 * 60)));
}

#[test]
fn a_plan_takes_rates_that_were_not_served_for_loops_of_the_workers_that_were_all_in_use() {
    use cosmark_capacity::change::More;
    use cosmark_capacity::plan::{Demanded, Planner, Wanted};

    // A disk of 2 ms with its queue, and 3 ms elsewhere.
    let stages = [100, 200, 300, 400, 450, 550, 650].map(|rate: u32| {
        let mut stage = by_the_clock(rate);
        let served = f64::from(rate.min(499));
        let busy = served / 500.0;
        let in_flight = if rate < 499 { served * (0.003 + 0.002 / (1.0 - busy)) } else { 64.0 };
        let op = &mut stage.operations[0];
        (op.throughput_per_s, op.in_flight_mean) = (Some(served), Some(in_flight));
        op.service_ms.mean = Some(in_flight / served * 1e3);
        stage.nodes[0].units[0].busy = busy;
        stage
    });
    let found = crate::ladders(&run(stages.into())).remove(0);
    let open: Vec<bool> = found.observed.loads.iter().map(|load| load.open).collect();
    assert_eq!(open, [true, true, true, true, true, false, false]);
    let wanted =
        Wanted { mix: None, bytes_each: None, load: Demanded::Closed(64, 0.0), more: More::default() };
    let planned = Planner::of(&found.observed).and_then(|planner| planner.predict(&wanted)).unwrap();
    let rate = planned.throughput_per_s.value;
    assert!((rate / 500.0 - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn a_plan_is_made_from_loads_that_the_store_served_and_says_which_it_refused() {
    let with = |failed: [u64; 6]| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16, 32].map(|workers| stage(workers, 4096)).into();
        for (stage, failed) in stages.iter_mut().zip(failed) {
            stage.name = stage.id.clone();
            stage.operations[0].failed = failed;
        }
        crate::ladders(&run(stages)).remove(0)
    };
    let found = with([0, 0, 0, 5, 100, 400]);
    assert_eq!(found.stages, ["s1-w", "s2-w", "s4-w", "s8-w"]);
    assert_eq!(found.refused, ["s16-w", "s32-w"]);
    assert_eq!(found.observed.loads.len(), 4);
    // Reads of what is not there, at every load: what they cost is a part of each.
    let found = with([60; 6]);
    assert_eq!((found.stages.len(), found.refused.len()), (6, 0));
}

/// Processors that are full from 500/s on, of which a hypervisor gives this share to others: of what is left they do as much less.
fn stolen_from(stage: &mut StageRecord, workers: u32, share: f64) {
    let most = 500.0 * (1.0 - share);
    let rate = (f64::from(workers) / 0.005).min(most);
    stage.operations[0].throughput_per_s = Some(rate);
    stage.operations[0].service_ms.mean = Some(f64::from(workers) / rate * 1e3);
    let (busy, waits) = (rate / 500.0, f64::from(workers) / 40.0);
    let core = |at: u32| unit(ResourceKind::Core, &format!("cpu{at}"), busy, waits);
    let figure = |at: u32| QuantityResult {
        quantity: "cpu_steal_s".to_owned(),
        unit: format!("cpu{at}"),
        mean: share * busy / (1.0 - share),
        highest: share,
    };
    stage.nodes = vec![NodeResult {
        quantities: [0, 1].map(figure).into(),
        ..node(vec![core(0), core(1), unit(ResourceKind::Machine, "cpu", busy, waits)])
    }];
}

/// One thread of a store, on either of two processors, that does so many operations a second and comes to 460.
fn of_one_thread(rate: f64, in_flight: f64, taken: [f64; 2]) -> StageRecord {
    let mut stage = stage(1, 4096);
    stage.id = format!("s{in_flight}-w");
    stage.operations[0].throughput_per_s = Some(rate);
    stage.operations[0].in_flight_mean = Some(in_flight);
    stage.operations[0].service_ms.mean = Some(in_flight / rate * 1e3);
    let busy = 0.1 + rate / 1000.0;
    let figure = |at: usize| QuantityResult {
        quantity: "cpu_steal_s".to_owned(),
        unit: format!("cpu{at}"),
        mean: busy * taken[at],
        highest: busy * taken[at],
    };
    stage.nodes = vec![NodeResult {
        quantities: [0, 1].map(figure).into(),
        ..node(vec![
            unit(ResourceKind::Core, "cpu0", busy, 0.0),
            unit(ResourceKind::Core, "cpu1", busy, 0.0),
            unit(ResourceKind::Thread, "server/7", rate / 500.0, 0.0),
        ])
    }];
    stage
}

#[test]
fn a_thread_of_which_a_hypervisor_takes_what_is_left_is_full() {
    // Of 92 % that it ran: from both processors, from one that it need not have been on, from none.
    for (taken, answer) in
        [([0.087, 0.09], "named"), ([0.0, 0.2], "unexplained"), ([0.0, 0.0], "unexplained")]
    {
        let loads = [(100.0, 0.5), (200.0, 1.0), (400.0, 2.0), (460.0, 4.0), (460.0, 8.0), (460.0, 16.0)];
        let mut run = run(loads.map(|(rate, in_flight)| of_one_thread(rate, in_flight, taken)).into());
        let idle = ["cpu0", "cpu1"].map(|name| unit(ResourceKind::Core, name, 0.1, 0.0));
        run.idle_nodes = vec![node(idle.into())];
        let found = &bottlenecks(&run)[0];
        assert_eq!(found.answer, answer, "{taken:?}: {found:?}");
        assert!(answer != "named" || found.units == ["s1 thread server/7"], "{taken:?}: {found:?}");
    }
}

#[test]
fn processors_of_which_a_hypervisor_takes_what_is_left_are_full() {
    for share in [0.0, 0.2, 0.45] {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for (stage, workers) in stages.iter_mut().zip([1, 2, 4, 8, 16]) {
            stolen_from(stage, workers, share);
        }
        // No load lies below 60 % of what is left: half of the lowest.
        let mut low = stage(1, 4096);
        stolen_from(&mut low, 1, share);
        low.operations[0].throughput_per_s = Some(100.0);
        low.operations[0].in_flight_mean = Some(0.5);
        low.nodes[0].units.iter_mut().for_each(|unit| unit.busy = 0.2);
        low.nodes[0].quantities.iter_mut().for_each(|one| one.mean = share * 0.2 / (1.0 - share));
        stages.insert(0, low);
        let mut run = run(stages);
        run.idle_nodes =
            vec![node(["cpu0", "cpu1"].map(|name| unit(ResourceKind::Core, name, 0.0, 0.0)).into())];
        run.idle_nodes[0].units.push(unit(ResourceKind::Machine, "cpu", 0.0, 0.0));
        let found = &bottlenecks(&run)[0];
        assert_eq!(found.answer, "named", "{share}: {found:?}");
        assert!(found.units.iter().all(|unit| unit.contains("s1 ")), "{share}: {found:?}");
    }
}

#[test]
fn a_store_that_refuses_and_is_asked_again_refuses() {
    let answer = |repeated: u64| {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        for stage in &mut stages {
            let own = &mut stage.operations[0];
            (own.requests, own.retries) = (own.ok + repeated, repeated);
        }
        bottlenecks(&run(stages))[0].clone()
    };
    let found = answer(100);
    assert_eq!(found.answer, "refused");
    assert!(found.text.starts_with("9 % of the operations failed or were repeated"), "{}", found.text);
    assert_eq!(answer(5).answer, "named");
}

/// Reads and writes on processors that have time left, with what servers say of their own times, by the source that says it: their
/// requests for each operation, and those inside as parts of all operations that are under way.
fn with_times(said: &[(&str, &str, f64, f64)]) -> String {
    let stages = [1, 2, 4, 8, 16].map(|workers| {
        let mut stage = stage(workers, 4096);
        stage.nodes[0].units.retain(|unit| unit.kind == ResourceKind::Machine);
        let (rate, all) = (load_of(&stage).unwrap().0, f64::from(workers));
        stage.operations[0].bandwidth_bytes_per_s = Some(rate * 4096.0);
        let figure = |quantity: &str, unit: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            mean,
            highest: mean,
        };
        let sources: BTreeSet<&str> = said.iter().map(|one| one.0).collect();
        stage.nodes.extend(sources.into_iter().map(|source| {
            NodeResult {
                name: source.to_owned(),
                source: source.to_owned(),
                readings: 9,
                quantities: said
                    .iter()
                    .filter(|one| one.0 == source)
                    .flat_map(|&(_, unit, requests, inside)| {
                        [
                            figure("server_requests", unit, rate * requests),
                            figure("server_request_s", unit, all * inside),
                        ]
                    })
                    .collect(),
                ..NodeResult::default()
            }
        }));
        stage
    });
    let found = &bottlenecks(&run(stages.into()))[0];
    assert_eq!(found.answer, "limit", "{}", found.text);
    found.text.clone()
}

/// Writes through a gateway to three OSDs: operations inside the gateway, and of each OSD inside its writes and its copies.
fn through_a_gateway(gateway: f64, osds: [(f64, f64); 3]) -> String {
    let names = ["osd.0 write", "osd.0 copy", "osd.1 write", "osd.1 copy", "osd.2 write", "osd.2 copy"];
    let inside = osds.into_iter().flat_map(|(writes, copies)| [writes, copies]);
    let of_osds = names.into_iter().zip(inside).map(|(unit, inside)| ("ceph", unit, 1.0, inside));
    with_times(&of_osds.chain([("ceph", "client.rgw.a put", 1.0, gateway)]).collect::<Vec<_>>())
}

#[test]
fn where_no_resource_is_full_the_servers_say_where_operations_are() {
    let slow = through_a_gateway(1.0, [(0.31, 0.01), (0.31, 0.01), (0.31, 0.6)]);
    let counts = "of 15 more operations under way at the highest load than at the lowest there are, by the servers' own times, \
                  15 inside Ceph gateway and 14 inside Ceph OSD";
    assert!(slow.contains(counts) && slow.contains("look at Ceph OSD, most of all osd.2, first"), "{slow}");
    let even = through_a_gateway(1.0, [(0.3, 0.2), (0.3, 0.2), (0.3, 0.2)]);
    assert!(even.contains("look at Ceph OSD first") && !even.contains("osd."), "{even}");
    let gateway = through_a_gateway(0.9, [(0.01, 0.0), (0.01, 0.0), (0.01, 0.0)]);
    assert!(gateway.contains("look at Ceph gateway first"), "{gateway}");
    // What is waited for is neither.
    let neither = through_a_gateway(0.1, [(0.02, 0.0), (0.02, 0.0), (0.02, 0.0)]);
    assert!(!neither.contains("look at Ceph"), "{neither}");
}

#[test]
fn all_copies_of_an_operation_of_swift_and_all_ways_of_reading_a_daemon_count_once() {
    let proxy = |inside| ("statsd", "proxy-server.object.PUT.201", 1.0, inside);
    // Three copies at once, each of which takes a sixth of the time.
    let slow_proxy = with_times(&[proxy(1.0), ("statsd", "object-server.PUT", 3.0, 0.5)]);
    assert!(slow_proxy.contains("look at Swift proxy first"), "{slow_proxy}");
    let slow_objects = with_times(&[proxy(1.0), ("statsd", "object-server.PUT", 3.0, 2.76)]);
    assert!(
        slow_objects.contains("and 14 inside Swift object server: look at Swift object"),
        "{slow_objects}"
    );
    // Without a proxy that says how many there are, clients do, of what they ask for.
    let reads = |inside| with_times(&[("statsd", "object-server.GET", 2.0, inside)]);
    assert!(
        !reads(0.8).contains("look at Swift") && reads(1.8).contains("look at Swift object server first")
    );
    assert!(!with_times(&[("statsd", "object-server.PUT", 3.0, 2.7)]).contains("look at Swift"));

    let osd = |unit| ("ceph", unit, 1.0, 0.33);
    let all = [osd("osd.0 read"), osd("osd.1 read"), osd("osd.2 read")];
    let once = with_times(&all);
    let twice = with_times(&[&all[..], &[("prometheus", "osd.0 read", 1.0, 0.33)]].concat());
    assert!(once.contains("look at Ceph OSD first") && once == twice, "{once} {twice}");
    // Four reads of an OSD at once for one of a client.
    let four = with_times(&[("ceph", "osd.0 read", 4.0, 3.9)]);
    assert!(four.contains("15 inside Ceph OSD"), "{four}");
}

#[test]
fn bodies_that_an_http_server_waits_for_may_be_held_up_by_their_links() {
    let link = "at what is behind it and the links that bodies come and go by";
    let gateway = through_a_gateway(0.9, [(0.01, 0.0), (0.01, 0.0), (0.01, 0.0)]);
    assert!(gateway.contains(link), "{gateway}");
    let osds = through_a_gateway(1.0, [(0.3, 0.2), (0.3, 0.2), (0.3, 0.2)]);
    assert!(osds.contains("at what is behind it") && !osds.contains(link), "{osds}");
}
