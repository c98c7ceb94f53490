//! Each check with evidence that makes its condition true and with evidence that does not.

use cosmark_metrics::{
    ClientRecord, Latencies, Latency, NicRecord, NodeResult, QuantityResult, ResourceKind, UnitResult,
};

use super::*;
use crate::evidence::*;
use crate::finding::*;

/// Times around `centre_ms`, as many as `count`, with a tail up to three times that.
fn times(centre_ms: f64, count: u64) -> Latencies {
    let mut latency = Latency::default();
    (0..count.min(20_000)).for_each(|k| {
        let share = (k as f64 + 0.5) / count.min(20_000) as f64;
        let tail = if share > 0.98 { 1.0 + (share - 0.98) * 100.0 } else { 0.9 + 0.2 * share };
        latency.record((centre_ms * tail * 1e6) as u64);
    });
    let mut summary = Latencies::of(&latency);
    summary.count = count;
    summary
}

/// Less was in flight than the times say, and the client once paused for so long.
fn stood_still_at_the_edge(evidence: &mut Evidence, share: f64, pause_ms: f64) {
    *evidence.operations[0].in_flight_mean.as_mut().unwrap() *= share;
    evidence.clients[0].pause_max_ms = Some(pause_ms);
}

/// So much was in flight on average, the ages of what was are not known, and the load was cut or was not.
fn cut_while_frozen(evidence: &mut Evidence, is_cut: bool, in_flight: f64) {
    evidence.is_cut = is_cut;
    evidence.operations[0].in_flight_mean = Some(in_flight);
}

/// As a run that was put together again has it: failures by class, without their times.
fn failures_without_times(evidence: &mut Evidence, in_flight: f64) {
    wrong(evidence, "timeout", 48);
    evidence.operations[0].failed = 48;
    evidence.operations[0].in_flight_mean = Some(in_flight);
}

/// 0.03 in flight, of which so much was counted, and the client once paused for so long.
fn hardly_any(evidence: &mut Evidence, share: f64, pause_ms: f64) {
    let op = &mut evidence.operations[0];
    (op.ok, op.service) = (1800, times(1.0, 1800));
    op.in_flight_mean = Some(share * 1800.0 / 60.0 * op.service.mean.unwrap() / 1000.0);
    (op.age_at_start_s, op.age_at_end_s) = (Some(0.0), Some(0.0));
    evidence.clients[0].pause_max_ms = Some(pause_ms);
}

/// Reads whose bytes were not compared, of objects whose sizes are known.
fn unverified(evidence: &mut Evidence, sizes: (u64, u64)) {
    evidence.operations[0].checked = Some(0);
    evidence.operations[0].sizes = Some(sizes);
}

/// A minute of reads, 8 workers, 10 ms each; nothing is wrong with it.
fn healthy() -> Evidence {
    let service = times(10.0, 47_000);
    let mean_s = service.mean.unwrap() / 1000.0;
    let read = OperationEvidence {
        work: "main".into(),
        name: "read".into(),
        kind: "read".into(),
        window_s: 60.0,
        ok: 47_000,
        bytes: 47_000 * 65_536,
        requests: 47_000,
        connections: 8,
        unfinished: 8,
        in_flight_mean: Some(47_000.0 / 60.0 * mean_s),
        response: service.clone(),
        service,
        unfinished_age: Some(times(2.0, 8)),
        checked: Some(47_000),
        ..OperationEvidence::default()
    };
    Evidence {
        window_s: 60.0,
        rampup_s: Some(5.0),
        works: vec![WorkEvidence {
            name: "main".into(),
            workers: 8,
            window_s: 60.0,
            pacing: Pacing::Closed,
            pace_per_s: None,
            schedule: None,
        }],
        operations: vec![read],
        series: vec![Series {
            work: "main".into(),
            start_s: Some(5.0),
            head_s: 0.0,
            step_s: 1.0,
            failed_per_s: Vec::new(),
            rate_per_s: (0..60).map(|k| 783.0 + f64::from(k * 37 % 11) - 5.0).collect(),
            response_ms: (0..60).map(|k| Some(10.0 + f64::from(k * 37 % 11) / 50.0)).collect(),
            in_flight: vec![8.0; 60],
            due: Vec::new(),
        }],
        clients: vec![client()],
        drivers: 1,
        misses: Some(Vec::new()),
        store: StoreEvidence {
            kinds: vec!["s3".into()],
            read_bytes: Some(1e12),
            replicas: None,
            ram_bytes: Some(64e9),
            cache_intended: false,
            short_intended: false,
            new_connections_intended: false,
            writes_zeros: Some(false),
            background: Some("none".into()),
        },
        repetitions: vec![783.0, 785.0, 781.0, 784.0, 782.0, 786.0],
        ..Evidence::default()
    }
}

fn client() -> ClientRecord {
    ClientRecord {
        driver: "local".into(),
        load_threads: 2,
        pause_beyond: naps(0.2, 0.001),
        thread_busy_max: Some(0.2),
        thread_busy_over_85_share: Some(0.0),
        run_queue_wait_share_max: Some(0.001),
        steal_share: Some(0.0),
        pause_p99_9_ms: Some(0.2),
        pause_max_ms: Some(0.9),
        suspended_ms: Some(0.0),
        tcp_segments_out: Some(1_000_000),
        tcp_retransmitted: Some(3),
        nics: vec![NicRecord {
            name: "eth0".into(),
            rx_bytes_per_s_max: 55e6,
            tx_bytes_per_s_max: 1e6,
            speed_bits_per_s: Some(10_000_000_000),
        }],
        time_wait_max: Some(4),
        ephemeral_ports: Some(28_000),
        ..ClientRecord::default()
    }
}

/// A machine of the store with memory, whose disks deliver a share of what is read; its memory is not said by the user.
#[expect(clippy::cast_precision_loss, reason = "a test")]
fn looked_at(evidence: &mut Evidence, memory_bytes: f64, from_disks: f64) {
    evidence.store.ram_bytes = None;
    let read = evidence.operations[0].bytes as f64 / evidence.operations[0].window_s;
    tells(evidence, "memory_total_bytes", memory_bytes);
    tells(evidence, "disk_read_bytes", from_disks * read);
}

/// A node with one more quantity.
fn tells(evidence: &mut Evidence, quantity: &str, mean: f64) {
    let disk = UnitResult {
        kind: ResourceKind::Disk,
        name: "sda".into(),
        busy: 0.1,
        highest_busy: 0.1,
        waiting: None,
    };
    let of = |quantity: &str, mean: f64| QuantityResult {
        quantity: quantity.into(),
        unit: String::new(),
        mean,
        highest: mean,
    };
    if evidence.nodes.is_empty() {
        let quantities = vec![of("tcp_segments_sent", 4000.0)];
        let (name, source) = ("s1".to_owned(), "ceph".to_owned());
        let node =
            NodeResult { name, source, readings: 60, units: vec![disk], quantities, ..NodeResult::default() };
        evidence.nodes = vec![node];
    }
    evidence.nodes[0].quantities.push(of(quantity, mean));
}

/// A link with so many packets a second, and so many of them lost.
fn drops(evidence: &mut Evidence, packets: f64, lost: f64) {
    tells(evidence, "network_received_packets", packets * 0.75);
    tells(evidence, "network_sent_packets", packets * 0.25);
    tells(evidence, "network_receive_drops", lost * 0.5);
    tells(evidence, "network_errors", lost * 0.5);
    let links = evidence.nodes[0].quantities.iter_mut().filter(|one| one.quantity.starts_with("network_"));
    links.for_each(|link| link.unit = "eth0".to_owned());
}

/// A source that says this, of a store of whose background nobody says anything.
fn of_source(evidence: &mut Evidence, source: &str, quantity: &str, mean: f64) {
    tells(evidence, quantity, mean);
    evidence.nodes[0].source = source.to_owned();
    evidence.store.background = None;
}

/// A figure before the load and under it.
fn grows(evidence: &mut Evidence, quantity: &str, before: f64, under_load: f64) {
    tells(evidence, quantity, before);
    evidence.idle_nodes = std::mem::take(&mut evidence.nodes);
    tells(evidence, quantity, under_load);
}

fn busy_before(evidence: &mut Evidence, busy: f64) {
    tells(evidence, "disk_reads", 1.0);
    evidence.idle_nodes = evidence.nodes.clone();
    evidence.idle_nodes[0].units[0].busy = busy;
}

/// A clock that is ahead and does not move.
fn clock(driver: &str, offset_ms: f64) -> ClockEvidence {
    ClockEvidence {
        driver: driver.to_owned(),
        offset_ms,
        offset_after_ms: Some(offset_ms),
        error_ms: 0.05,
        strayed_ms: Some(0.02),
        drift: Some(2e-7),
        drift_error: 1e-5,
    }
}

/// The second driver's clock goes too fast, for a minute.
fn drifting(evidence: &mut Evidence, drift: f64) {
    let clock = &mut evidence.clocks[1];
    (clock.drift, clock.strayed_ms) = (Some(drift), Some(60_000.0 * drift.abs()));
}

/// Naps: this share was late by so many ms, some by twice that, the others by 20 us or a little more.
fn naps(ms: f64, share: f64) -> Vec<(f64, f64)> {
    vec![(0.02, 1.0), (0.03, share), (ms, share / 10.0), (2.0 * ms, 0.0)]
}

fn paused(evidence: &mut Evidence, ms: f64, share: f64) {
    let client = &mut evidence.clients[0];
    client.pause_beyond = naps(ms, share);
    (client.pause_p99_9_ms, client.pause_max_ms) = (Some(ms), Some(2.0 * ms));
}

/// Bytes that the link carried in its busiest second, and that the run moved in each.
fn link_carries(evidence: &mut Evidence, most: f64, of_run: f64) {
    evidence.clients[0].nics[0].rx_bytes_per_s_max = most;
    evidence.operations[0].bytes = (60.0 * of_run) as u64;
}

/// Each with heads that are larger than what they carry.
fn many_small(evidence: &mut Evidence) {
    evidence.operations[0].requests = 60 * 700_000;
}

/// Three times the mean in each third second, nothing in the others.
fn in_bursts(evidence: &mut Evidence) {
    let rates = evidence.series[0].rate_per_s.iter_mut().enumerate();
    rates.for_each(|(at, rate)| *rate *= if at % 3 == 0 { 3.0 } else { 0.0 });
}

/// Three objects of a gigabyte each came whole, and so many others failed or were still on their way.
fn few_huge(evidence: &mut Evidence, class: &str, failed: u64, unfinished: u64) {
    link_carries(evidence, 1.18e9, 50e6);
    let op = &mut evidence.operations[0];
    (op.ok, op.failed, op.unfinished) = (3, failed, unfinished);
    op.errors = [(class.to_owned(), failed)].into();
}

/// Nothing ended, with so many under way and so many arrivals dropped.
fn never_asked(evidence: &mut Evidence, in_flight_mean: Option<f64>, missed: u64) {
    let OperationEvidence { work, name, kind, window_s, .. } = evidence.operations[0].clone();
    let nothing = OperationEvidence { work, name, kind, window_s, ..OperationEvidence::default() };
    evidence.operations[0] = OperationEvidence { in_flight_mean, missed, ..nothing };
}

/// All of eight operations on large objects take longer than the window, with bytes that move all the time; behind it so
/// many of them end well, and so many fail.
fn outlast(evidence: &mut Evidence, ok_after: u64, failed_after: u64) {
    never_asked(evidence, Some(8.0), 0);
    let op = &mut evidence.operations[0];
    (op.unfinished, op.unfinished_age, op.intended) = (8, Some(times(58_000.0, 8)), Some(8));
    op.outside = Outside { before: 0, ok_after, failed_after, bytes_after: 4_000_000_000 * ok_after };
    evidence.moving = Some(1.0);
}

/// The same with objects of this size, and bytes that moved for such a part of the window.
fn outlast_of(evidence: &mut Evidence, size: u64, moving: Option<f64>) {
    outlast(evidence, 8, 0);
    evidence.operations[0].outside.bytes_after = 8 * size;
    evidence.moving = moving;
}

/// Half of the workers, from this moment on.
fn gap(from_s: f64) -> GapEvidence {
    GapEvidence { driver: "d2".to_owned(), workers: 4, from_s }
}

/// A driver that stopped until it knew that its run lived.
fn no_load(driver: &str, workers: u64, from_s: f64, to_s: f64) -> PauseEvidence {
    let (driver, reason) = (driver.to_owned(), "nobody renewed the lease of the run".to_owned());
    PauseEvidence { driver, workers, from_s, to_s, reason }
}

/// The same offered by the clock.
fn open() -> Evidence {
    let mut evidence = healthy();
    evidence.works[0].pacing = Pacing::Open;
    evidence.works[0].workers = 100;
    let op = &mut evidence.operations[0];
    op.intended = Some(47_000);
    op.lag = Some(times(0.1, 47_000));
    evidence
}

fn finding(evidence: &Evidence, id: &str) -> Finding {
    findings(evidence).into_iter().find(|(row, _)| row.id == id).unwrap().1
}

fn two_drivers(p50: f64, rate: f64) -> Evidence {
    let mut evidence = healthy();
    evidence.drivers = 2;
    evidence.clocks = vec![clock("a", 0.0), clock("b", 0.0)];
    (evidence.start_skew_s, evidence.start_skew_error_s) = (Some(0.01), Some(0.001));
    let part = |driver: &str, p50, rate_per_s| DriverEvidence {
        driver: driver.into(),
        workers: 4,
        rate_per_s,
        response: Latencies { p50: Some(p50), p99: Some(3.0 * p50), ..Latencies::default() },
    };
    evidence.operations[0].drivers = vec![part("a", 10.0, 400.0), part("b", p50, rate)];
    evidence
}

/// Two drivers of which a store answers such shares in 1 ms, and the others in 10.
fn hits_and_misses(first: f64, second: f64) -> Evidence {
    let of = |hits: f64| {
        let mut latency = Latency::default();
        let ns = |k: u32| if f64::from(k) < hits * 1e4 { 1_000_000 } else { 10_000_000 };
        (0..10_000).for_each(|k| latency.record(ns(k)));
        Latencies::of(&latency)
    };
    let mut evidence = two_drivers(10.0, 400.0);
    let op = &mut evidence.operations[0];
    for (driver, hits) in op.drivers.iter_mut().zip([first, second]) {
        driver.response = of(hits);
    }
    op.response = of(f64::midpoint(first, second));
    evidence
}

#[test]
fn a_healthy_run_passes_every_check_that_it_can_be_asked() {
    for evidence in [healthy(), open(), two_drivers(10.1, 395.0)] {
        for (row, found) in findings(&evidence) {
            let closed = row.id == "V3" && found.message.starts_with("closed loop: stalls are under-sampled");
            let applies = found.status == Status::Pass || found.allows == Allows::True || closed;
            assert!(applies, "{} {}: {found:?}", row.id, row.name);
            assert!(found.message.len() > 10 && !found.message.ends_with('.'), "{}", found.message);
        }
    }
}

#[test]
fn nothing_known_is_never_a_pass_and_never_a_panic() {
    for evidence in [Evidence::default(), Evidence { window_s: f64::NAN, ..Evidence::default() }] {
        for (row, found) in findings(&evidence) {
            assert!(found.status != Status::Pass || row.id == "V24", "{} {found:?}", row.id);
        }
        assert!(findings(&evidence).iter().any(|(_, found)| found.allows >= Allows::NotProven));
    }
}

/// Name of the case, check, what it does to the evidence, how the check must come out, words of its sentence.
type Case = (&'static str, fn() -> Evidence, fn(&mut Evidence), Status, &'static str);

const CASES: &[Case] = &[
    ("V1", healthy, |e| e.operations[0].in_flight_mean = Some(9.5), Status::Fail, "missing from the record"),
    ("V1", healthy, |e| *e.operations[0].in_flight_mean.as_mut().unwrap() *= 1.03, Status::Warn, "off by"),
    ("V1", healthy, |e| stood_still_at_the_edge(e, 0.97, 1200.0), Status::Pass, "off by"),
    ("V1", healthy, |e| hardly_any(e, 0.95, 60.0), Status::Pass, "off by"),
    ("V1", healthy, |e| hardly_any(e, 0.80, 1.0), Status::Fail, "missing from the record"),
    ("V1", healthy, |e| few_long(e, Some((9.0, 21.0))), Status::Pass, "off by 0 %"),
    ("V1", healthy, |e| few_long(e, Some((9.0, 3.0))), Status::Fail, "missing from the record"),
    ("V1", healthy, |e| few_long(e, None), Status::Pass, "off by 6.3 %"),
    ("V1", healthy, |e| stood_still_at_the_edge(e, 0.97, 200.0), Status::Warn, "off by"),
    // Killed while its store was frozen: every worker was in an operation that ended in no record.
    ("V1", healthy, |e| cut_while_frozen(e, true, 16.0), Status::NotRun, "when the load was cut"),
    ("V1", healthy, |e| cut_while_frozen(e, false, 16.0), Status::Fail, "missing from the record"),
    ("V1", healthy, |e| cut_while_frozen(e, true, 4.0), Status::Fail, "more ended than was under way"),
    ("V1", healthy, |e| cut_while_frozen(e, true, 7.95), Status::Pass, "off by"),
    (
        "V1",
        healthy,
        |e| {
            cut_while_frozen(e, false, 16.0);
            e.missing = vec![gap(15.0)];
        },
        Status::NotRun,
        "a driver that was lost had under way",
    ),
    ("V1", healthy, |e| failures_without_times(e, 16.0), Status::NotRun, "is not recorded"),
    ("V1", healthy, |e| failures_without_times(e, 4.0), Status::Fail, "more ended than was under way"),
    (
        "V2",
        healthy,
        |e| e.operations[0].in_flight_mean = Some(6.6),
        Status::Fail,
        "the client, not the store",
    ),
    (
        "V2",
        healthy,
        |e| e.operations[0].in_flight_mean = Some(7.6),
        Status::Warn,
        "5 % of their time outside",
    ),
    ("V2", healthy, |e| e.works[0].pacing = Pacing::Paced, Status::NotRun, "may be idle"),
    ("V2", healthy, |e| few_of_one_worker(e, 5, 0.7), Status::NotRun, "too few to judge"),
    ("V2", healthy, |e| few_of_one_worker(e, 5, 0.99), Status::Pass, "99 % of their time in requests"),
    ("V2", healthy, |e| few_of_one_worker(e, 5, 0.2), Status::Fail, "80 % of their time outside"),
    ("V2", healthy, |e| few_of_one_worker(e, 5000, 0.7), Status::Fail, "outside requests"),
    ("V2", healthy, |e| waited_for_slow_ones(e, 6.5, 1.5), Status::Warn, "waited for slower ones for 18.8 %"),
    ("V2", healthy, |e| waited_for_slow_ones(e, 7.7, 0.3), Status::Pass, "until they were done"),
    ("V2", healthy, |e| waited_for_slow_ones(e, 5.0, 1.5), Status::Fail, "the client, not the store"),
    (
        "V2",
        healthy,
        |e| {
            e.missing = vec![gap(15.0)];
            few_of_one_worker(e, 5000, 0.7);
        },
        Status::Fail,
        "lost sent nothing any more",
    ),
    ("V2", healthy, |e| one_operation(e, None), Status::NotRun, "too few to judge"),
    ("V2", healthy, |e| one_operation(e, planned(60.0, None)), Status::Fail, "outside requests"),
    (
        "V3",
        open,
        |e| e.operations[0].lag = Some(times(3.0, 47_000)),
        Status::Warn,
        "although a worker was free: p99 of read may be up to",
    ),
    ("V3", open, |e| e.operations[0].lag = Some(times(0.2, 47_000)), Status::Pass, "of when they were due"),
    ("V3", open, |e| e.operations[0].intended = Some(48_000), Status::Fail, "never sent"),
    // A load that was cut, and a driver that was lost, had as many under way as they had workers.
    (
        "V3",
        open,
        |e| few_arrivals(e, 1000, 960),
        Status::Fail,
        "3.2 % of the arrivals that were due were never sent",
    ),
    (
        "V3",
        open,
        |e| {
            few_arrivals(e, 1000, 960);
            e.is_cut = true;
        },
        Status::Pass,
        "of when they were due",
    ),
    (
        "V3",
        open,
        |e| {
            few_arrivals(e, 1000, 860);
            e.is_cut = true;
        },
        Status::Fail,
        "never sent",
    ),
    (
        "V3",
        open,
        |e| {
            few_arrivals(e, 1000, 985);
            e.missing = vec![gap(64.0)];
        },
        Status::Pass,
        "of when they were due",
    ),
    ("V4", open, |e| e.operations[0].intended = Some(56_400), Status::Fail, "offered 940/s, served 783/s"),
    (
        "V4",
        open,
        |e| e.series[0].in_flight = (0..60).map(|k| 8.0 + 9.0 * f64::from(k)).collect(),
        Status::Warn,
        "the queue grew",
    ),
    (
        "V4",
        healthy,
        |e| (e.works[0].schedule, e.works[0].window_s) = (planned(60.0, None), 54.0),
        Status::Fail,
        "11.1 % too high",
    ),
    ("V4", healthy, |e| e.works[0].schedule = planned(60.0, None), Status::NotRun, "no open loop"),
    ("V4", open, |e| e.works[0].schedule = planned(60.0, Some(47_000.0)), Status::Pass, "offered 783/s"),
    (
        "V4",
        open,
        |e| e.works[0].schedule = planned(60.0, Some(46_500.0)),
        Status::Fail,
        "46 500 operations due in its window, 47 000",
    ),
    ("V4", healthy, |e| paced(e, 800.0), Status::Warn, "was to make 800/s and made 783/s"),
    ("V4", healthy, |e| paced(e, 784.0), Status::Pass, "work main was to make 784/s and made 783/s"),
    ("V4", healthy, |e| paced(e, 1600.0), Status::Warn, "longer than its workers have time for"),
    ("V4", healthy, |e| slowed_by_its_client(e, 800.0), Status::Warn, "the client can have added as much"),
    ("V4", open, |e| paced_beside(e, 784.0), Status::Pass, "offered 783/s"),
    ("V4", open, |e| paced_beside(e, 800.0), Status::Warn, "work second was to make 800/s"),
    ("V4", open, |e| few_arrivals(e, 4, 3), Status::Pass, "offered 0.067/s, served 0.05/s"),
    ("V4", open, |e| few_arrivals(e, 4, 2), Status::Fail, "offered 0.067/s, served 0.033/s"),
    // One a second of a second each: three more under way at the end than at the beginning are chance, ten are not.
    ("V4", open, |e| long_and_few(e, 60, 57), Status::Pass, "offered 1/s"),
    ("V4", open, |e| long_and_few(e, 60, 50), Status::Fail, "the store fell behind"),
    ("V5", healthy, |e| e.clients[0].thread_busy_over_85_share = Some(0.4), Status::Warn, "over 85 % busy"),
    (
        "V5",
        healthy,
        |e| e.clients[0].thread_busy_max = Some(0.99),
        Status::Warn,
        "99 % busy: throughput of read may be",
    ),
    (
        "V5",
        healthy,
        |e| e.clients[0].run_queue_wait_share_max = Some(0.5),
        Status::Warn,
        "no processor for 50 %",
    ),
    (
        "V5",
        healthy,
        |e| {
            e.clients[0].thread_busy_max = Some(0.72);
            e.clients[0].run_queue_wait_share_max = Some(0.18);
        },
        Status::Warn,
        "work for 90 % of a processor",
    ),
    ("V5", healthy, |e| e.clients[0].steal_share = Some(0.3), Status::Warn, "hypervisor took 30 %"),
    ("V5", healthy, |e| e.clients[0].steal_share = Some(0.02), Status::Pass, "hypervisor took 2 %"),
    (
        "V5",
        healthy,
        |e| {
            paused(e, 90.0, 0.3);
            e.clients[0].quota_stopped_share = Some(0.95);
        },
        Status::Warn,
        "used up its quota of processor time in 95 % of the periods",
    ),
    (
        "V5",
        open,
        |e| {
            e.clients[0].quota_stopped_share = Some(0.95);
            few_arrivals(e, 40, 20);
        },
        Status::Fail,
        "the client, not the store, could not keep up",
    ),
    ("V5", healthy, |e| e.clients[0].quota_stopped_share = Some(0.02), Status::Pass, "busiest load thread"),
    ("V5", healthy, |e| e.clients.clear(), Status::NotRun, "not watched"),
    (
        "V6",
        healthy,
        |e| paused(e, 40.0, 0.02),
        Status::Warn,
        "paused 40 ms in 1 of 1 000 samples (longest 80 ms): ",
    ),
    ("V6", healthy, |e| paused(e, 3.6, 0.002), Status::Pass, "paused 3.6 ms in 1 of 1 000 samples"),
    ("V6", healthy, |e| e.clients[0].suspended_ms = Some(1000.0), Status::Warn, "suspended for 1 000 ms"),
    ("V6", healthy, |e| e.clients[0].suspended_ms = Some(9000.0), Status::Fail, "suspended for 9 000 ms"),
    ("V7", healthy, |e| link_carries(e, 1.18e9, 1.1e9), Status::Fail, "add drivers"),
    (
        "V7",
        healthy,
        |e| link_carries(e, 1.18e9, 50e6),
        Status::Warn,
        "other programs of that machine used it",
    ),
    // Bodies are the smaller part of what small objects move, and a store that answers in bursts fills a link in these.
    ("V7", healthy, |e| (link_carries(e, 1.18e9, 50e6), many_small(e)).1, Status::Fail, "add drivers"),
    ("V7", healthy, |e| (link_carries(e, 1.18e9, 250e6), in_bursts(e)).1, Status::Fail, "add drivers"),
    // Of huge objects most are under way, or were given up, and the link was full of them all the same.
    ("V7", healthy, |e| few_huge(e, "timeout", 0, 40), Status::Fail, "add drivers"),
    ("V7", healthy, |e| few_huge(e, "timeout", 40, 0), Status::Fail, "add drivers"),
    (
        "V7",
        healthy,
        |e| {
            few_huge(e, "timeout", 0, 40);
            (e.operations[0].ok, e.operations[0].bytes) = (0, 0);
        },
        Status::Fail,
        "add drivers",
    ),
    (
        "V7",
        healthy,
        |e| few_huge(e, "http_503", 40, 0),
        Status::Warn,
        "other programs of that machine used it",
    ),
    (
        "V7",
        healthy,
        |e| e.clients[0].nics[0].tx_bytes_per_s_max = 1.06e9,
        Status::Warn,
        "eth0 of driver local",
    ),
    // Two of a card's seconds in one of the clock's: it was full, and no less a link for that.
    ("V7", healthy, |e| link_carries(e, 2.5e9, 1.1e9), Status::Fail, "add drivers"),
    ("V7", healthy, |e| e.clients[0].nics[0].speed_bits_per_s = None, Status::NotRun, "speed of any link"),
    (
        "V7",
        healthy,
        |e| e.clients[0].nics[0].speed_bits_per_s = Some(10_000_000),
        Status::NotRun,
        "speed of any link",
    ),
    ("V8", healthy, |e| slope(e, 0.5), Status::Fail, "throughput fell by 66.3 % of its mean"),
    (
        "V8",
        healthy,
        |e| (slope(e, 0.5), starved(e, 0.6)).0,
        Status::Warn,
        "60 % of the time, which may be why",
    ),
    (
        "V8",
        healthy,
        |e| (slope(e, 0.5), starved(e, 0.2)).0,
        Status::Fail,
        "throughput fell by 66.3 % of its mean",
    ),
    (
        "V8",
        healthy,
        |e| (step(e, 30, 0.0), starved(e, 0.6)).0,
        Status::Fail,
        "no operation succeeded in 30 s",
    ),
    ("V8", healthy, |e| step(e, 30, 0.8), Status::Warn, "after 30 s"),
    ("V8", healthy, |e| step(e, 30, 0.0), Status::Fail, "no operation succeeded in 30 s"),
    (
        "V8",
        healthy,
        |e| e.series[0].rate_per_s[7] = 0.0,
        Status::Warn,
        "succeeded in 1 s of the window (from 7 s to 8 s)",
    ),
    ("V8", healthy, |e| e.series[0].rate_per_s.truncate(8), Status::NotRun, "too short to tell"),
    ("V8", open, |e| slower(e, 3.0), Status::Fail, "the response time rose"),
    // A stall that warns does not hide that it is too much for a store that answers nothing.
    ("V8", healthy, |e| lull(e, 20..24, 0.0), Status::Fail, "no operation succeeded in 4 s"),
    ("V8", healthy, |e| lull(e, 20..23, 0.0), Status::Warn, "3 s of the window (from 20 s to 23 s)"),
    // Neither a short silence nor a stall hides that the rest is a curve.
    ("V8", healthy, |e| (lull(e, 20..22, 0.0), slope(e, 0.5)).1, Status::Fail, "throughput fell by"),
    ("V8", healthy, |e| (lull(e, 20..26, 0.1), slope(e, 0.5)).1, Status::Fail, "throughput fell by"),
    (
        "V8",
        healthy,
        |e| lull(e, 20..24, 0.2),
        Status::Warn,
        "in the middle of the window (from 20 s to 24 s)",
    ),
    ("V8", healthy, |e| lull(e, 0..25, 0.6), Status::Warn, "still belong to the start-up"),
    (
        "V8",
        open,
        |e| spike(e, 20..23),
        Status::Warn,
        "times its usual in the middle of the window (from 20 s to 23 s)",
    ),
    (
        "V8",
        healthy,
        |e| silent_and_paused(e, &[20], 900.0, None),
        Status::Fail,
        "the store stood still or was gone",
    ),
    ("V8", healthy, |e| lull(e, 20..25, 0.0), Status::Fail, "a closed loop sends nothing meanwhile"),
    ("V8", open, |e| lull(e, 20..25, 0.0), Status::Fail, "what came due meanwhile waited or was dropped"),
    (
        "V8",
        healthy,
        |e| silent_and_paused(e, &[20], 5_100.0, None),
        Status::Warn,
        "machine paused for up to 5.1 s (V6)",
    ),
    (
        "V8",
        healthy,
        |e| silent_and_paused(e, &[20, 40], 5_100.0, None),
        Status::Fail,
        "the store stood still",
    ),
    (
        "V8",
        healthy,
        |e| silent_and_paused(e, &[20, 40], 5_100.0, Some(0.09)),
        Status::Fail,
        "the store stood still",
    ),
    (
        "V8",
        healthy,
        |e| silent_and_paused(e, &[20, 40], 5_100.0, Some(0.17)),
        Status::Warn,
        "says nothing of the store",
    ),
    (
        "V8",
        open,
        |e| (spike(e, 20..23), e.clients[0].pause_max_ms = Some(450.0)).1,
        Status::Warn,
        "nothing of the store",
    ),
    (
        "V8",
        healthy,
        |e| (silent_and_paused(e, &[20], 5_100.0, None), slope(e, 0.5)).1,
        Status::Fail,
        "throughput fell by",
    ),
    ("V8", healthy, |e| long_operations(e, 3), Status::Pass, "no more than chance does"),
    ("V8", healthy, |e| other_work(e, 20), Status::Pass, "moved by"),
    ("V8", healthy, |e| other_work(e, 8), Status::NotRun, "work second: too short to tell"),
    ("V8", open, |e| sparse(e, 60), Status::Pass, "moved by"),
    ("V8", open, |e| sparse(e, 12), Status::Fail, "from 13 s to 60 s"),
    ("V9", healthy, |e| e.window_s = 15.0, Status::NotRun, "shorter than 60 s"),
    ("V9", healthy, |e| e.window_s = 15.0, Status::NotRun, "set runtime to 60 s or more"),
    (
        "V9",
        healthy,
        |e| (e.window_s, e.operations[0].unfinished) = (15.0, 0),
        Status::NotRun,
        "a total ended it: ask for more operations",
    ),
    (
        "V9",
        healthy,
        |e| (e.window_s, e.operations[0].unfinished, e.rampup_s) = (15.0, 0, None),
        Status::NotRun,
        "set runtime to 60 s or more",
    ),
    (
        "V9",
        healthy,
        |e| (e.window_s, e.rampup_s, e.store.short_intended) = (15.0, Some(2.0), true),
        Status::Warn,
        "short on purpose",
    ),
    (
        "V9",
        healthy,
        |e| (e.window_s, e.store.short_intended) = (15.0, true),
        Status::NotRun,
        "5 times the rampup",
    ),
    ("V9", healthy, |e| e.store.short_intended = true, Status::Pass, "60 s"),
    ("V9", healthy, |e| e.works[0].workers = 5000, Status::NotRun, "only 9.4 operations per worker"),
    (
        "V9",
        healthy,
        |e| e.works[0].workers = 5000,
        Status::NotRun,
        "times longer than the window are missing",
    ),
    (
        "V9",
        healthy,
        |e| (e.works[0].workers, e.operations[0].unfinished) = (5000, 0),
        Status::NotRun,
        "too few to tell what is usual; ask for more operations",
    ),
    (
        "V9",
        healthy,
        |e| {
            (e.works[0].workers, e.operations[0].unfinished) = (5000, 0);
            e.works[0].schedule = planned(60.0, None);
        },
        Status::NotRun,
        "times longer than the window are missing",
    ),
    // Workers of an open loop wait for arrivals: that each ends few says nothing.
    ("V9", healthy, |e| beside_open_work(e, 10_000), Status::Pass, "60 s"),
    (
        "V9",
        healthy,
        |e| (beside_open_work(e, 10_000), e.works[0].workers = 5000).1,
        Status::NotRun,
        "only 9.4 operations",
    ),
    ("V9", healthy, |e| e.rampup_s = Some(30.0), Status::NotRun, "5 times the rampup"),
    ("V10", healthy, |e| stuck(e, 2560, 108_000.0), Status::Fail, "the oldest for"),
    ("V10", healthy, |e| stuck(e, 1000, 2_000.0), Status::Fail, "true percentiles are higher"),
    ("V10", healthy, |e| stuck(e, 4, 40_000.0), Status::Fail, "the rate is that of fewer workers"),
    ("V10", open, |e| stuck(e, 4, 40_000.0), Status::Warn, "which the mean lacks"),
    (
        "V10",
        healthy,
        |e| stuck(e, 8, 9_000.0),
        Status::Warn,
        "15 % of the workers' time, which the mean lacks",
    ),
    ("V10", healthy, |e| stuck(e, 1, 20_000.0), Status::Pass, "1 operation was still running"),
    ("V10", healthy, |e| few_and_stuck(e, 16, 1, 40_000.0), Status::Warn, "which the mean lacks"),
    ("V10", healthy, |e| few_and_stuck(e, 12, 2, 40_000.0), Status::Warn, "percentiles are higher"),
    ("V10", healthy, |e| few_and_stuck(e, 80, 40, 40_000.0), Status::Fail, "percentiles are higher"),
    ("V10", healthy, |e| stuck(e, 4, 2_000.0), Status::Warn, "4 operations were still running"),
    ("V11", healthy, |e| few(e, 900), Status::Warn, "withheld"),
    ("V11", healthy, |e| few(e, 5000), Status::Warn, "rests on 50 operations"),
    (
        "V12",
        healthy,
        |e| fail(e, 12_000, 0.2),
        Status::Fail,
        "20.3 % of all operations failed (http_404 12 000)",
    ),
    ("V12", healthy, |e| fail(e, 200, 0.2), Status::Warn, "0.42 %"),
    (
        "V12",
        healthy,
        |e| two_fail(e, ("http_500", 60), ("http_503", 8)),
        Status::Warn,
        "failed (http_500 60 and http_503 8), of write 2 % (http_503 8): the rate of successes",
    ),
    (
        "V12",
        healthy,
        |e| two_fail(e, ("http_500", 0), ("http_503", 80)),
        Status::Warn,
        "failed (http_503 80), of write 20 %: the rate of successes",
    ),
    ("V12", healthy, |e| fail(e, 30, 2000.0), Status::Fail, "of the time in requests"),
    (
        "V12",
        healthy,
        |e| (e.operations[0].ok, e.operations[0].failed) = (0, 0),
        Status::Fail,
        "no answer at all",
    ),
    (
        "V12",
        healthy,
        |e| with_faults(e, "timeout", 4_000, 4_000),
        Status::Warn,
        "4 000 operations failed in the slots",
    ),
    (
        "V12",
        healthy,
        |e| with_faults(e, "timeout", 4_030, 4_000),
        Status::Warn,
        "made (timeout 4 000), which say what each cost, and 30 of 51 030 beside them (timeout 30)",
    ),
    (
        "V12",
        healthy,
        |e| with_faults(e, "timeout", 4_200, 4_000),
        Status::Warn,
        "0.39 % of all operations failed beside",
    ),
    (
        "V12",
        healthy,
        |e| with_faults(e, "timeout", 5_000, 4_000),
        Status::Fail,
        "beside the faults that were made (timeout 1 000)",
    ),
    (
        "V12",
        healthy,
        |e| with_faults(e, "timeout", 5_000, 0),
        Status::Fail,
        "9.6 % of all operations failed (timeout 5 000)",
    ),
    (
        "V12",
        healthy,
        |e| with_faults(e, "timeout", 10, 4_000),
        Status::Pass,
        "10 operations failed in the slots",
    ),
    // What was measured decides: all were found, whatever the workload alone says.
    ("V13", healthy, |e| e.misses = Some(vec![miss(0.25, false)]), Status::Warn, "deletes deleted anything"),
    (
        "V13",
        healthy,
        |e| e.misses = Some(vec![of_a_run_before(0.5)]),
        Status::Pass,
        "a run before it wrote them",
    ),
    ("V13", healthy, |e| e.misses = Some(vec![miss(0.5, true)]), Status::Warn, "S3 calls that a success"),
    ("V13", healthy, |e| e.misses = None, Status::Pass, "all 47 000 of read found"),
    (
        "V13",
        healthy,
        |e| fail(e, 15_000, 1.0),
        Status::Fail,
        "24.2 % of read find nothing (http_404): what is read was never",
    ),
    ("V13", healthy, |e| fail(e, 200, 1.0), Status::Warn, "0.42 % of read find nothing"),
    (
        "V13",
        healthy,
        |e| two_fail(e, ("http_404", 900), ("http_404", 200)),
        Status::Fail,
        "50 % of write find nothing",
    ),
    (
        "V13",
        healthy,
        |e| two_fail(e, ("http_404", 900), ("http_404", 6)),
        Status::Fail,
        "1.9 % of read find nothing",
    ),
    ("V13", healthy, |e| wrong(e, "http_503", 15_000), Status::Pass, "found their object"),
    ("V13", healthy, |e| refused(e, 15_000), Status::NotRun, "with what is not recorded"),
    (
        "V13",
        healthy,
        |e| (refused(e, 15_000), e.misses = Some(vec![miss(0.2, false)])).0,
        Status::Fail,
        "20 % of read find nothing: the stage deletes objects 1 to 1000",
    ),
    // No store answers what it is not asked: a rare arrival, or a think time, may be longer than the window.
    ("V12", healthy, |e| never_asked(e, Some(0.0), 0), Status::NotRun, "nothing was asked of the store"),
    ("V12", healthy, |e| never_asked(e, Some(0.0), 7), Status::Fail, "no answer at all"),
    ("V12", healthy, |e| never_asked(e, Some(8.0), 0), Status::Fail, "no answer at all"),
    ("V12", healthy, |e| never_asked(e, None, 0), Status::Fail, "no answer at all"),
    // Ended by its user before the rampup was over.
    (
        "V12",
        healthy,
        |e| (never_asked(e, None, 0), e.window_s = 0.0).0,
        Status::NotRun,
        "the stage was ended before its window began",
    ),
    // As COSBench has it, which tells no window of a store that answered nothing.
    (
        "V12",
        healthy,
        |e| {
            (
                never_asked(e, None, 0),
                e.window_s = 0.0,
                e.operations.iter_mut().for_each(|op| op.work = ALL_WORKS.into()),
            )
                .0
        },
        Status::Fail,
        "no answer at all",
    ),
    // Operations that are longer than the window are none that the store does not answer: how they ended says so.
    ("V12", healthy, |e| outlast(e, 8, 0), Status::NotRun, "set a longer runtime"),
    (
        "V12",
        healthy,
        |e| outlast(e, 0, 0),
        Status::Fail,
        "no answer at all; if operations are meant to take longer",
    ),
    ("V12", healthy, |e| outlast(e, 0, 8), Status::Fail, "no answer at all"),
    ("V12", healthy, |e| outlast(e, 7, 1), Status::Fail, "no answer at all"),
    ("V12", healthy, |e| outlast(e, 4, 0), Status::Fail, "no answer at all"),
    // Something ended before the window: in it the store hung.
    (
        "V12",
        healthy,
        |e| (outlast(e, 8, 0), e.operations[0].outside.before = 3, e.moving = None).1,
        Status::Fail,
        "no answer at all",
    ),
    // Or its operations are longer than the window, and it lies between two of them.
    (
        "V12",
        healthy,
        |e| (outlast(e, 8, 0), e.operations[0].outside.before = 3).1,
        Status::NotRun,
        "set a longer runtime",
    ),
    (
        "V12",
        healthy,
        |e| (outlast_of(e, 4_000_000_000, Some(0.02)), e.operations[0].outside.before = 3).1,
        Status::Fail,
        "until it was over",
    ),
    (
        "V8",
        healthy,
        |e| (e.series[0].rate_per_s.fill(0.0), outlast(e, 8, 0)).1,
        Status::NotRun,
        "longer runtime",
    ),
    ("V8", healthy, |e| (e.series[0].rate_per_s.fill(0.0), outlast(e, 4, 0)).1, Status::Fail, "stood still"),
    ("V10", healthy, |e| outlast(e, 8, 0), Status::NotRun, "no figure is there"),
    // A store that stands still for the window and goes on behind it answers as late: by what moved, or by the sizes.
    ("V12", healthy, |e| outlast_of(e, 4_000_000_000, Some(0.02)), Status::Fail, "until it was over"),
    ("V12", healthy, |e| outlast_of(e, 4096, Some(0.02)), Status::Fail, "until it was over"),
    ("V12", healthy, |e| outlast_of(e, 4096, Some(0.98)), Status::NotRun, "set a longer runtime"),
    ("V12", healthy, |e| outlast_of(e, 0, Some(0.98)), Status::Fail, "until it was over"),
    ("V12", healthy, |e| outlast_of(e, 4096, None), Status::Fail, "until it was over"),
    ("V12", healthy, |e| outlast_of(e, 10_000_000_000, None), Status::NotRun, "set a longer runtime"),
    ("V4", open, |e| outlast_of(e, 4096, Some(0.02)), Status::Fail, "the store fell behind"),
    ("V4", open, |e| outlast(e, 8, 0), Status::NotRun, "ended well behind it"),
    ("V4", open, |e| outlast(e, 4, 0), Status::Fail, "the store fell behind"),
    ("V4", open, |e| (outlast(e, 8, 0), e.operations[0].missed = 9).1, Status::Fail, "the store fell behind"),
    ("V13", healthy, |e| e.store.kinds = vec!["mock".into()], Status::NotRun, "holds no objects"),
    (
        "V13",
        healthy,
        |e| (e.operations[0].kind, e.misses) = ("write".into(), None),
        Status::NotRun,
        "had to be there",
    ),
    (
        "V13",
        healthy,
        |e| (e.operations[0].ok, e.operations[0].failed) = (0, 0),
        Status::NotRun,
        "nothing ended",
    ),
    ("V13", unsent, |e| e.misses = None, Status::NotRun, "not at hand"),
    ("V13", unsent, |e| e.misses = Some(vec![miss(0.25, false)]), Status::Fail, "25 % of read find nothing"),
    ("V13", unsent, |e| e.misses = Some(vec![of_a_run_before(0.5)]), Status::Warn, "unless a run before"),
    ("V14", healthy, |e| e.store.read_bytes = Some(4e6), Status::Fail, "memory, not disks"),
    ("V14", healthy, |e| e.store.read_bytes = Some(1e11), Status::Warn, "can come from it"),
    (
        "V14",
        healthy,
        |e| (e.store.ram_bytes, e.store.read_bytes) = (None, Some(4e6)),
        Status::Warn,
        "any machine",
    ),
    ("V14", healthy, |e| e.store.ram_bytes = None, Status::NotRun, "give sut_ram"),
    ("V14", healthy, |e| looked_at(e, 4e12, 0.0), Status::Warn, "delivered 0 % of the bytes that were read"),
    (
        "V14",
        healthy,
        |e| {
            looked_at(e, 4e12, 0.0);
            e.store.ram_bytes = Some(4e12);
        },
        Status::Fail,
        "delivered 0 % of the bytes that were read",
    ),
    ("V14", healthy, |e| looked_at(e, 1e12, 0.9), Status::Pass, "delivered 90 %"),
    ("V14", healthy, |e| looked_at(e, 1e6, 0.1), Status::Warn, "the rest came from a cache"),
    ("V14", healthy, |e| e.store.cache_intended = true, Status::NotRun, "sut_cache"),
    (
        "V15",
        || two_drivers(10.0, 400.0),
        |e| e.clocks[1].error_ms = 140.0,
        Status::Fail,
        "may be 140 ms apart",
    ),
    ("V15", || two_drivers(10.0, 400.0), |e| e.clocks[1].error_ms = 20.0, Status::Warn, "not known below"),
    (
        "V15",
        || two_drivers(10.0, 400.0),
        |e| (e.clocks[1].offset_ms, e.clocks[1].offset_after_ms) = (2000.0, Some(2000.0)),
        Status::Pass,
        "driver b is 2 000 ms ahead of that of a, which is corrected for; after that their times agree within 0.1 ms, before",
    ),
    (
        "V15",
        || two_drivers(10.0, 400.0),
        |e| drifting(e, 0.01),
        Status::Fail,
        "driver b goes 1 % too fast (give or take 0.001 %)",
    ),
    ("V15", || two_drivers(10.0, 400.0), |e| drifting(e, -0.002), Status::Warn, "0.2 % too slow"),
    ("V15", || two_drivers(10.0, 400.0), |e| drifting(e, 0.0003), Status::Warn, "may be 18 ms apart"),
    (
        "V15",
        || two_drivers(10.0, 400.0),
        |e| e.clocks[1].offset_after_ms = Some(-500.0),
        Status::Pass,
        "was set by -500 ms meanwhile",
    ),
    (
        "V15",
        || two_drivers(10.0, 400.0),
        |e| e.clocks[0].strayed_ms = None,
        Status::Pass,
        "not compared again",
    ),
    ("V15", || two_drivers(10.0, 400.0), |e| e.clocks.clear(), Status::NotRun, "was not measured"),
    ("V16", || two_drivers(10.0, 400.0), |e| e.start_skew_s = Some(8.0), Status::Fail, "8 s after the first"),
    ("V16", || two_drivers(10.0, 400.0), |e| e.start_skew_s = Some(1.2), Status::Warn, "2 % of the window"),
    (
        "V16",
        || two_drivers(10.0, 400.0),
        |e| e.start_skew_error_s = Some(1.2),
        Status::Warn,
        "known to 1 200 ms",
    ),
    (
        "V16",
        || two_drivers(10.0, 400.0),
        |e| e.missing = vec![gap(15.0)],
        Status::Fail,
        "driver d2 from 15 s on",
    ),
    // Half of the workers for 12 of 60 s, all of them for 2 s, and one pause that was over before the window began.
    (
        "V16",
        || two_drivers(10.0, 400.0),
        |e| e.pauses = vec![no_load("b", 4, 25.0, 37.0)],
        Status::Fail,
        "10 % of the load",
    ),
    (
        "V16",
        healthy,
        |e| e.pauses = vec![no_load("local", 8, 25.0, 27.0)],
        Status::Warn,
        "local made no load from 25 s to 27 s",
    ),
    ("V16", healthy, |e| e.pauses = vec![no_load("local", 8, 1.0, 4.0)], Status::Pass, "outside the window"),
    (
        "V16",
        || two_drivers(10.0, 400.0),
        |e| (e.missing, e.pauses) = (vec![gap(62.0)], vec![no_load("a", 4, 10.0, 11.0)]),
        Status::Warn,
        "is missing, and driver a made no load",
    ),
    (
        "V16",
        || two_drivers(10.0, 400.0),
        |e| (e.start_skew_s, e.pauses) = (Some(8.0), vec![no_load("a", 4, 10.0, 11.0)]),
        Status::Fail,
        "8 s after the first",
    ),
    (
        "V2",
        healthy,
        |e| {
            e.pauses = vec![no_load("local", 8, 25.0, 40.0)];
            e.operations[0].in_flight_mean = Some(6.0);
        },
        Status::Fail,
        "drivers made no load for a while (V16)",
    ),
    // It had gone on when the window began.
    (
        "V2",
        healthy,
        |e| {
            e.pauses = vec![no_load("local", 8, 1.0, 4.0)];
            e.operations[0].in_flight_mean = Some(6.0);
        },
        Status::Fail,
        "the client, not the store",
    ),
    (
        "V8",
        healthy,
        |e| {
            e.pauses = vec![no_load("local", 8, 25.0, 30.2)];
            lull(e, 20..25, 0.0);
        },
        Status::Warn,
        "no driver made load for up to 5.2 s (V16)",
    ),
    // It went on long before, or paused later.
    ("V8", healthy, |e| silent_and_away(e, (1.0, 6.5)), Status::Fail, "the store stood still"),
    ("V8", healthy, |e| silent_and_away(e, (45.0, 51.0)), Status::Fail, "the store stood still"),
    (
        "V8",
        healthy,
        |e| {
            silent_and_away(e, (45.0, 51.0));
            e.clients[0].pause_max_ms = Some(5_100.0);
        },
        Status::Warn,
        "machine paused for up to 5.1 s (V6)",
    ),
    ("V17", || two_drivers(1000.0, 400.0), |_| {}, Status::Fail, "100 times as high on driver b as on a"),
    (
        "V17",
        || two_drivers(10.0, 0.0),
        |_| {},
        Status::Fail,
        "driver b delivered nothing of read, and driver a did",
    ),
    ("V17", || two_drivers(10.0, 300.0), |_| {}, Status::Warn, "rate per worker"),
    // Half of the reads come from a cache, by chance a little more or less.
    ("V17", || hits_and_misses(0.51, 0.49), |_| {}, Status::Pass, "mean of read is 1.03 times"),
    ("V17", || hits_and_misses(0.55, 0.1), |_| {}, Status::Warn, "mean of read is 1.8 times"),
    ("V17", || hits_and_misses(0.7, 0.3), |_| {}, Status::Fail, "median of read is 10 times"),
    // Three and eight deletions of 60 s each, and none and five, are chance; none and forty are not.
    ("V17", healthy, |e| few_of_two(e, 3.0, 8.0), Status::Pass, "median of read"),
    ("V17", healthy, |e| few_of_two(e, 0.0, 5.0), Status::Pass, "median of read"),
    ("V17", healthy, |e| few_of_two(e, 0.0, 40.0), Status::Fail, "nothing of delete"),
    ("V17", healthy, |e| few_of_two(e, 30.0, 300.0), Status::Fail, "10 times as high"),
    ("V18", healthy, |e| e.operations[0].connections = 47_000, Status::Fail, "opened a new connection"),
    ("V18", healthy, |e| e.operations[0].connections = 1_000, Status::Warn, "2.1 %"),
    ("V18", healthy, |e| e.clients[0].time_wait_max = Some(20_000), Status::Warn, "of the ports"),
    ("V18", healthy, only_new_connections, Status::NotRun, "sut_connections"),
    (
        "V18",
        healthy,
        |e| {
            only_new_connections(e);
            e.clients[0].time_wait_max = Some(20_000);
        },
        Status::Warn,
        "of the ports",
    ),
    (
        "V19",
        healthy,
        |e| e.clients[0].tcp_retransmitted = Some(20_000),
        Status::Fail,
        "2 % of the TCP segments to the store",
    ),
    ("V19", healthy, |e| e.clients[0].tcp_retransmitted = Some(2_000), Status::Warn, "shapes the tail"),
    ("V19", healthy, |e| tells(e, "tcp_segments_resent", 20.0), Status::Warn, "that s1 sent were sent again"),
    ("V19", healthy, |e| tells(e, "tcp_segments_resent", 0.1), Status::Pass, "to the store were sent again"),
    ("V19", healthy, |e| tells(e, "tcp_listen_drops", 2.0), Status::Warn, "a listening queue was full"),
    (
        "V19",
        healthy,
        |e| drops(e, 20_000.0, 40.0),
        Status::Warn,
        "0.2 % of the packets at eth0 of s1 were dropped",
    ),
    ("V19", healthy, |e| drops(e, 20_000.0, 10.0), Status::Pass, "to the store were sent again"),
    // A link without traffic drops what its switch sends.
    ("V19", healthy, |e| drops(e, 20.0, 5.0), Status::Pass, "to the store were sent again"),
    ("V19", healthy, |e| drops(e, 1_500.0, 0.1), Status::Pass, "to the store were sent again"),
    ("V19", healthy, |e| e.clients[0].tcp_segments_out = None, Status::NotRun, "is not judged"),
    (
        "V20",
        healthy,
        |_| {},
        Status::Pass,
        "all right; whether of the last write of their object is not known",
    ),
    ("V20", healthy, |e| read_back(e, 100, 0, 0), Status::Pass, "all right; what was written cannot be"),
    ("V20", healthy, |e| wrong(e, "corrupt_body", 3), Status::Fail, "3 bodies were wrong"),
    ("V20", healthy, |e| wrong(e, "short_body", 1), Status::Fail, "until this is explained"),
    (
        "V20",
        healthy,
        |e| (wrong(e, "wrong_length", 3), e.operations[0].kind = "head".into()).1,
        Status::Fail,
        "3 answers were wrong or short, of 47 000 operations",
    ),
    (
        "V20",
        healthy,
        |e| (lists_wrong(e, 0), e.operations[1].checked = Some(480)).1,
        Status::Pass,
        "480 of 500 listings had every name that must be in them",
    ),
    (
        "V20",
        healthy,
        |e| (lists_wrong(e, 0), e.operations.remove(0), e.operations[0].checked = Some(480)).2,
        Status::Pass,
        "480 of 500 listings had every name that must be in them",
    ),
    (
        "V20",
        healthy,
        |e| (lists_wrong(e, 0), e.operations.remove(0), e.operations[0].checked = Some(0)).2,
        Status::NotRun,
        "nothing was read, and no listing was held against what must be in it",
    ),
    (
        "V20",
        healthy,
        |e| lists_wrong(e, 3),
        Status::Fail,
        "3 of 500 listings lacked names that must be in them or had some twice (the listing of c1 ends): speed does not matter \
         until this is explained; set settle where the store lists late",
    ),
    (
        "V20",
        healthy,
        |e| (wrong(e, "corrupt_body", 2), lists_wrong(e, 3)).1,
        Status::Fail,
        "2 bodies were wrong or short, of 47 000 reads: speed does not matter until this is explained; 3 of 500 listings",
    ),
    (
        "V20",
        healthy,
        |e| with_faults(e, "short_body", 5, 5),
        Status::Pass,
        "5 bodies broke off in the slots of faults",
    ),
    ("V20", healthy, |e| with_faults(e, "short_body", 6, 5), Status::Fail, "1 bodies were wrong or short"),
    ("V20", healthy, |e| with_faults(e, "corrupt_body", 5, 5), Status::Fail, "5 bodies were wrong"),
    ("V20", healthy, |e| e.operations[0].checked = Some(0), Status::NotRun, "verify: true"),
    ("V20", healthy, |e| unverified(e, (65_536, 65_536)), Status::NotRun, "as long as what was written"),
    ("V20", healthy, |e| unverified(e, (1024, 70_000)), Status::NotRun, "as long as what was written"),
    ("V20", healthy, |e| unverified(e, (70_000, 80_000)), Status::Fail, "these are not its objects"),
    ("V20", healthy, |e| unverified(e, (0, 60_000)), Status::Fail, "something else answers"),
    ("V20", healthy, |e| e.store.writes_zeros = Some(true), Status::Warn, "zeros were written"),
    ("V21", healthy, |e| e.operations[0].retries = 3, Status::Warn, "3 of 47 000 requests"),
    ("V21", healthy, |e| e.operations[0].retries = 3000, Status::Fail, "retries inside"),
    ("V22", healthy, |e| e.repetitions = vec![783.0], Status::NotRun, "one run"),
    (
        "V22",
        healthy,
        |e| e.repetitions = vec![700.0, 750.0, 783.0, 800.0, 860.0],
        Status::Warn,
        "prove nothing",
    ),
    ("V22", healthy, |e| e.repetitions = vec![300.0, 750.0, 783.0, 800.0, 1500.0], Status::Fail, "5 runs"),
    ("V23", healthy, |e| e.store.background = None, Status::NotRun, "sut_background"),
    (
        "V23",
        healthy,
        |e| tells(e, "store_objects_degraded", 12.0),
        Status::Warn,
        "12 copies are missing (s1)",
    ),
    ("V23", healthy, |e| tells(e, "store_scrubbing", 1.0), Status::Warn, "placement groups were scrubbed"),
    ("V23", healthy, |e| tells(e, "store_drives_offline", 1.0), Status::Warn, "1 drives were offline (s1)"),
    ("V23", healthy, |e| busy_before(e, 0.6), Status::Warn, "disk sda of s1: 60 % busy before the load"),
    ("V23", healthy, |e| busy_before(e, 0.1), Status::Pass, "nothing else"),
    (
        "V23",
        healthy,
        |e| (tells(e, "server_queue", 1.0), e.store.background = None).1,
        Status::NotRun,
        "no recovery was seen; scrubbing is not in perf dump",
    ),
    (
        "V23",
        healthy,
        |e| of_source(e, "prometheus", "store_drives_online", 3.0),
        Status::Pass,
        "no recovery and no scrubbing",
    ),
    (
        "V23",
        healthy,
        |e| {
            of_source(e, "agent", "server_requests", 40.0);
            e.nodes[0].quantities.iter_mut().for_each(|one| one.unit = "osd.3 read".to_owned());
        },
        Status::NotRun,
        "no recovery was seen; scrubbing is not in perf dump",
    ),
    ("V23", healthy, |e| of_source(e, "recon", "server_queue", 3.0), Status::NotRun, "is not known: look"),
    (
        "V23",
        healthy,
        |e| of_source(e, "recon", "store_partitions_compared", 20.0),
        Status::NotRun,
        "no recovery was seen; recon does not tell of audits",
    ),
    (
        "V23",
        healthy,
        |e| {
            of_source(e, "recon", "store_partitions_compared", 20.0);
            tells(e, "store_partitions_sent", 5.0);
        },
        Status::Warn,
        "other copies lacked something of 25 % of the partitions (s1)",
    ),
    (
        "V23",
        healthy,
        |e| of_source(e, "recon", "store_objects_scanned", 5.0),
        Status::Warn,
        "objects were audited (s1)",
    ),
    (
        "V23",
        healthy,
        |e| tells(e, "store_drive_errors", 0.02),
        Status::Warn,
        "0.02 requests a second to drives failed",
    ),
    ("V23", healthy, |e| grows(e, "store_objects_quarantined", 7.0, 7.0), Status::Pass, "nothing else"),
    (
        "V23",
        healthy,
        |e| grows(e, "store_objects_quarantined", 0.0, 2.0),
        Status::Warn,
        "2 copies were found damaged (s1)",
    ),
    ("V23", healthy, |e| grows(e, "store_updates_pending", 100.0, 104.0), Status::Pass, "nothing else"),
    (
        "V23",
        healthy,
        |e| grows(e, "store_updates_pending", 4.0, 904.0),
        Status::Warn,
        "900 updates of listings",
    ),
    ("V23", healthy, |e| tells(e, "store_updates_pending", 904.0), Status::Pass, "nothing else"),
    ("V23", healthy, |e| e.store.background = Some("recovery".into()), Status::Warn, "(recovery)"),
    ("V24", healthy, |e| e.operations[0].bytes = 0, Status::Fail, "gave no byte"),
    (
        "V24",
        healthy,
        |e| (e.operations[0].bytes, e.operations[0].sizes) = (0, Some((0, 0))),
        Status::Pass,
        "nothing contradicts itself",
    ),
    ("V24", healthy, |e| e.operations[0].in_flight_mean = Some(12.0), Status::Fail, "with 8 workers"),
    ("V24", healthy, |e| e.operations[0].service.p50 = Some(900.0), Status::Fail, "that cannot be"),
    (
        "V24",
        healthy,
        |e| {
            let nic = &mut e.clients[0].nics[0];
            (nic.speed_bits_per_s, nic.rx_bytes_per_s_max) = (Some(100_000_000), 12e6);
        },
        Status::Fail,
        "not really transferred",
    ),
    (
        "V24",
        healthy,
        |e| e.clients[0].nics[0].speed_bits_per_s = Some(10_000_000),
        Status::Pass,
        "nothing contradicts itself",
    ),
    ("V24", healthy, |e| e.store.kinds = vec!["mock".into()], Status::Warn, "only pretends"),
    ("V25", healthy, |_| {}, Status::Pass, "the headline figures hold: throughput within"),
    ("V25", healthy, |e| paused(e, 40.0, 0.02), Status::Warn, "because the client's machine paused"),
    ("V25", healthy, |e| hopeless(e), Status::Fail, "no headline figure holds"),
    (
        "V25",
        healthy,
        |e| slow_client_on_the_wire(e),
        Status::Warn,
        "of which the store took 19 ms by the kernel's",
    ),
    ("V25", healthy, |e| e.operations.clear(), Status::NotRun, "no figure to bound"),
    // More were dropped than ended: no figure is known, and the client is not why.
    ("V25", open, |e| e.operations[0].missed = 60_000, Status::NotRun, "no headline figure is known"),
    ("V25", healthy, |e| tiny(e, 4), Status::NotRun, "no headline figure is known"),
    ("V26", healthy, |_| {}, Status::NotRun, "was not read back"),
    (
        "V26",
        healthy,
        |e| e.operations[0].kind = "mwrite".into(),
        Status::NotRun,
        "the store has what it was given",
    ),
    ("V26", healthy, |e| e.operations[0].kind = "localwrite".into(), Status::NotRun, "was not read back"),
    (
        "V26",
        healthy,
        |e| (e.operations[0].kind, e.reads_back) = ("write".into(), true),
        Status::NotRun,
        "is read back when the load is over and has not been so far",
    ),
    (
        "V26",
        healthy,
        |e| (e.operations[0].kind, e.operations[0].is_compared) = ("write".into(), true),
        Status::NotRun,
        "what was written was read and compared",
    ),
    ("V26", healthy, |e| read_back(e, 100, 0, 0), Status::Pass, "all 100 objects were read back"),
    ("V26", healthy, |e| read_back(e, 100, 2, 0), Status::Fail, "2 lost: what this store acknowledges"),
    ("V26", healthy, |e| read_back(e, 100, 0, 3), Status::Warn, "3 were late, undecided"),
    ("V26", healthy, |e| read_back(e, 40, 0, 0), Status::Warn, "40 of 100 objects"),
    ("V26", healthy, |e| read_back(e, 0, 0, 0), Status::NotRun, "was to be read back and was not"),
];

/// Three workers and operations of 20 s: 9 ended, with 9 s of them before the window, and three are at work at its end.
fn few_long(evidence: &mut Evidence, ages_s: Option<(f64, f64)>) {
    let op = &mut evidence.operations[0];
    (op.ok, op.failed) = (9, 0);
    op.service = Latencies { count: 9, mean: Some(20_000.0), ..Latencies::default() };
    op.in_flight_mean = Some((9.0 * 20.0 - 9.0 + 21.0) / 60.0);
    (op.age_at_start_s, op.age_at_end_s) = ages_s.unzip();
}

/// A total of one, by eight workers.
fn one_operation(evidence: &mut Evidence, schedule: Option<ScheduleEvidence>) {
    evidence.works[0].schedule = schedule;
    evidence.operations[0].ok = 1;
    evidence.operations[0].in_flight_mean = Some(1.0);
}

/// A total of so many by one worker, who was in requests for this share of the time.
fn few_of_one_worker(evidence: &mut Evidence, ended: u64, busy: f64) {
    evidence.works[0].workers = 1;
    evidence.works[0].schedule = None;
    evidence.operations[0].ok = ended;
    evidence.operations[0].in_flight_mean = Some(busy);
}

/// A total that eight workers shared: so many were in requests, and so many had done their share.
fn waited_for_slow_ones(evidence: &mut Evidence, in_flight: f64, done: f64) {
    evidence.works[0].workers = 8;
    evidence.works[0].schedule = None;
    evidence.operations[0].in_flight_mean = Some(in_flight);
    evidence.operations[0].workers_done_mean = Some(done);
}

fn planned(planned_s: f64, due: Option<f64>) -> Option<ScheduleEvidence> {
    Some(ScheduleEvidence { planned_s, due, spread: 0.0 })
}

/// A rate per worker that makes this much of all of them.
fn paced(evidence: &mut Evidence, rate_per_s: f64) {
    evidence.works[0].pacing = Pacing::Paced;
    evidence.works[0].schedule = planned(60.0, Some(60.0 * rate_per_s));
}

/// The same, of which time stamps say that the client made a fifth of each operation.
fn slowed_by_its_client(evidence: &mut Evidence, rate_per_s: f64) {
    paced(evidence, rate_per_s);
    evidence.operations[0].client_share = Some(times(2.0, 47_000));
}

/// A second work with such a rate per worker beside the first one.
fn paced_beside(evidence: &mut Evidence, rate_per_s: f64) {
    let mut second = evidence.clone();
    paced(&mut second, rate_per_s);
    let (mut work, mut operation) = (second.works.remove(0), second.operations.remove(0));
    (work.name, operation.work, operation.intended) = ("second".into(), "second".into(), None);
    evidence.works.push(work);
    evidence.operations.push(operation);
}

/// So many failures of a class of each 47 000 reads, and of each 400 writes beside them.
fn two_fail(evidence: &mut Evidence, read: (&str, u64), write: (&str, u64)) {
    let mut beside = evidence.operations[0].clone();
    (beside.name, beside.kind, beside.ok) = ("write".into(), "write".into(), 400);
    evidence.operations.push(beside);
    for (op, (class, count)) in evidence.operations.iter_mut().zip([read, write]) {
        (op.ok, op.failed) = (op.ok - count, count);
        op.errors = (count > 0).then(|| (class.to_owned(), count)).into_iter().collect();
    }
}

fn few_arrivals(evidence: &mut Evidence, due: u64, ended: u64) {
    evidence.operations[0].intended = Some(due);
    evidence.operations[0].ok = ended;
    evidence.series.clear();
}

/// A connection for each request, as is meant.
fn only_new_connections(evidence: &mut Evidence) {
    evidence.operations[0].connections = evidence.operations[0].requests;
    evidence.store.new_connections_intended = true;
}

/// Two drivers with so many deletions each.
fn few_of_two(evidence: &mut Evidence, first: f64, second: f64) {
    *evidence = two_drivers(10.0, 400.0);
    let mut few = evidence.operations[0].clone();
    (few.name, few.kind) = ("delete".into(), "delete".into());
    for (driver, count) in few.drivers.iter_mut().zip([first, second]) {
        (driver.rate_per_s, driver.response) = (count / few.window_s, Latencies::default());
    }
    evidence.operations.push(few);
}

/// An open loop of a few long operations of which some more are under way at the end than at the beginning.
fn long_and_few(evidence: &mut Evidence, due: u64, ended: u64) {
    few_arrivals(evidence, due, ended);
    evidence.operations[0].service = times(1000.0, ended);
}

/// Less of everything for a while.
fn lull(evidence: &mut Evidence, steps: std::ops::Range<usize>, factor: f64) {
    evidence.series[0].rate_per_s[steps].iter_mut().for_each(|rate| *rate *= factor);
}

/// Five seconds without a success from each of these on, and a client that paused for so long at most, and for this share in all.
fn silent_and_paused(evidence: &mut Evidence, from: &[usize], longest_ms: f64, paused_share: Option<f64>) {
    from.iter().for_each(|from| lull(evidence, *from..from + 5, 0.0));
    let client = &mut evidence.clients[0];
    (client.seconds, client.pause_max_ms, client.paused_share) = (60.0, Some(longest_ms), paused_share);
}

/// Five seconds without a success from second 25 of the load on, and a driver that made none between these moments.
fn silent_and_away(evidence: &mut Evidence, (from_s, to_s): (f64, f64)) {
    lull(evidence, 20..25, 0.0);
    evidence.pauses = vec![no_load("local", 8, from_s, to_s)];
}

fn spike(evidence: &mut Evidence, steps: std::ops::Range<usize>) {
    evidence.series[0].response_ms[steps].iter_mut().flatten().for_each(|ms| *ms *= 40.0);
}

/// A client that took most of the time itself.
fn hopeless(evidence: &mut Evidence) {
    evidence.operations[0].client_share = Some(times(30.0, 47_000));
}

/// The same, but what is left of it was seen on the wire.
fn slow_client_on_the_wire(evidence: &mut Evidence) {
    hopeless(evidence);
    evidence.operations[0].wire = Some(times(9.5, 47_000));
}

/// Four operations and no course to speak of.
fn tiny(evidence: &mut Evidence, count: u64) {
    few(evidence, count);
    evidence.series[0].rate_per_s.truncate(2);
}

/// Two workers that go in step and take so many seconds each time.
fn long_operations(evidence: &mut Evidence, seconds: usize) {
    evidence.works[0].workers = 2;
    evidence.operations[0].service = times(1000.0 * seconds as f64, 40);
    let rates = (1..=60).map(|k| if k % seconds == 0 { 2.0 } else { 0.0 });
    evidence.series[0].rate_per_s = rates.collect();
}

/// A second work with a shorter window, at another rate.
fn other_work(evidence: &mut Evidence, seconds: usize) {
    let work = WorkEvidence { name: "second".into(), ..evidence.works[0].clone() };
    evidence.works.push(work);
    let mut series = evidence.series[0].clone();
    series.work = "second".into();
    series.rate_per_s.truncate(seconds);
    evidence.series.push(series);
}

/// An open loop with so many workers in the same stage, of which few are needed.
fn beside_open_work(evidence: &mut Evidence, workers: u64) {
    let work =
        WorkEvidence { name: "steady".into(), workers, pacing: Pacing::Open, ..evidence.works[0].clone() };
    let op = OperationEvidence { work: "steady".into(), ok: 6000, ..evidence.operations[0].clone() };
    evidence.works.push(work);
    evidence.operations.push(op);
}

/// Something due every fourth second, which is there until this one.
fn sparse(evidence: &mut Evidence, until: usize) {
    evidence.works[0].schedule = planned(60.0, Some(15.0));
    let series = &mut evidence.series[0];
    series.due = (0..60).map(|k| f64::from(u8::from(k % 4 == 0))).collect();
    let came = series.due.iter().enumerate().map(|(k, due)| if k > until { 0.0 } else { *due });
    series.rate_per_s = came.collect();
    series.response_ms = series.rate_per_s.iter().map(|rate| (*rate > 0.0).then_some(10.0)).collect();
}

fn slope(evidence: &mut Evidence, to: f64) {
    let series = &mut evidence.series[0];
    let last = series.rate_per_s.len() as f64;
    series
        .rate_per_s
        .iter_mut()
        .enumerate()
        .for_each(|(k, rate)| *rate *= 1.0 - (1.0 - to) * k as f64 / last);
}

/// The client waited for a processor for this share of the time.
fn starved(evidence: &mut Evidence, share: f64) {
    evidence.clients[0].run_queue_wait_share_max = Some(share);
}

fn step(evidence: &mut Evidence, at: usize, factor: f64) {
    evidence.series[0].rate_per_s.iter_mut().skip(at).for_each(|rate| *rate *= factor);
}

fn slower(evidence: &mut Evidence, factor: f64) {
    let response = &mut evidence.series[0].response_ms;
    response.iter_mut().skip(30).flatten().for_each(|ms| *ms *= factor);
}

fn stuck(evidence: &mut Evidence, count: u64, age_ms: f64) {
    evidence.works[0].workers = evidence.works[0].workers.max(count);
    evidence.operations[0].unfinished = count;
    evidence.operations[0].unfinished_age = Some(times(age_ms, count));
}

#[test]
fn what_was_still_running_says_how_many_took_longer_than_the_p99_that_is_shown() {
    let mut evidence = healthy();
    few(&mut evidence, 2900);
    stuck(&mut evidence, 100, 40_000.0);
    // 29 of the 2900 that ended, and all 100 that had not.
    let found = finding(&evidence, "V10");
    assert!(found.message.contains("than the p99, 4.3 % of all took longer, the oldest"), "{found:?}");
}

#[test]
fn a_moment_at_the_end_of_a_short_window_moves_percentiles_by_its_operations_and_says_nothing_of_the_rate() {
    let mut evidence = healthy();
    (evidence.window_s, evidence.works[0].workers) = (4.0, 4);
    let op = &mut evidence.operations[0];
    (op.ok, op.response) = (4000, times(3.4, 4000));
    stuck(&mut evidence, 4, 600.0);
    let found = finding(&evidence, "V10");
    assert_eq!(found.status, Status::Warn, "{found:?}");
    let (figure, share) = found.moves.unwrap();
    assert!(figure == "response_ms.p99" && share < 0.0011, "{figure} {share}");
    assert!(found.message.contains("15 % of the workers' time"), "{found:?}");
    // The same four from the beginning on: what was counted are the operations of nobody, or of others.
    stuck(&mut evidence, 4, 3_900.0);
    let found = finding(&evidence, "V10");
    assert_eq!((found.status, found.moves.unwrap().0), (Status::Fail, "throughput_per_s"), "{found:?}");
}

/// So few ended that no p95 is shown, or no percentile at all.
fn few_and_stuck(evidence: &mut Evidence, ended: u64, count: u64, age_ms: f64) {
    few(evidence, ended);
    let response = &mut evidence.operations[0].response;
    (response.p99, response.p95) = (None, None);
    if ended < 20 {
        response.p50 = None;
    }
    stuck(evidence, count, age_ms);
}

fn few(evidence: &mut Evidence, count: u64) {
    evidence.operations[0].ok = count;
    evidence.operations[0].response = times(10.0, count);
}

fn fail(evidence: &mut Evidence, count: u64, each_ms: f64) {
    let op = &mut evidence.operations[0];
    op.failed = count;
    op.failed_service = times(each_ms, count);
    op.errors = [("http_404".to_owned(), count)].into();
}

/// So many failures of a class, so many of them in the slots of a fault.
fn with_faults(evidence: &mut Evidence, class: &str, failed: u64, in_slots: u64) {
    fail(evidence, failed, 5_000.0);
    wrong(evidence, class, failed);
    let errors = [(class.to_owned(), in_slots)].into();
    evidence.in_faults = Some(FaultEvidence { failed: in_slots, errors });
}

fn wrong(evidence: &mut Evidence, class: &str, count: u64) {
    evidence.operations[0].errors = [(class.to_owned(), count)].into();
}

/// An operation beside the reads that lists.
fn lists_wrong(evidence: &mut Evidence, count: u64) {
    let list = OperationEvidence {
        name: "list".into(),
        kind: "list".into(),
        ok: 500 - count,
        failed: count,
        errors: [("wrong_listing".to_owned(), count)].into(),
        wrong_listing: Some("the listing of c1 ends".into()),
        ..evidence.operations[0].clone()
    };
    evidence.operations.push(list);
}

/// Failures of which nobody knows the class: as in COSBench's tables.
fn refused(evidence: &mut Evidence, count: u64) {
    fail(evidence, count, 1.0);
    evidence.operations[0].errors.clear();
}

/// A workload before anything was sent.
fn unsent() -> Evidence {
    Evidence { misses: Some(Vec::new()), ..Evidence::default() }
}

/// Objects that nothing in the workload writes.
fn of_a_run_before(share: f64) -> Miss {
    Miss { is_unwritten: true, ..miss(share, false) }
}

fn miss(share: f64, may_succeed: bool) -> Miss {
    Miss {
        work: "main".into(),
        operation: "read".into(),
        kind: "read".into(),
        share,
        may_succeed,
        is_unwritten: false,
        cause: "the stage deletes objects 1 to 1000 that it reads".into(),
    }
}

/// So many of 100 objects were read back.
fn read_back(evidence: &mut Evidence, read: u64, broken: u64, open: u64) {
    let words = format!("{broken} lost");
    evidence.durability.push(crate::evidence::DurabilityEvidence { objects: 100, read, broken, words, open });
}

#[test]
fn each_check_fires_when_its_condition_is_true() {
    let mut wrong = Vec::new();
    for (id, base, change, status, words) in CASES {
        let mut evidence = base();
        change(&mut evidence);
        let found = finding(&evidence, id);
        if found.status != *status || !found.message.contains(words) {
            wrong.push(format!("{id} should {status:?} with `{words}`: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_pause_that_the_stamps_saw_is_said_alike_by_the_client_and_by_the_figures() {
    let said = |change: fn(&mut Evidence), added_ms: f64| {
        let mut evidence = healthy();
        change(&mut evidence);
        evidence.operations[0].client_share = Some(times(added_ms, 47_000));
        ["V5", "V6", "V25"].map(|id| finding(&evidence, id).status)
    };
    let (pass, warn) = (Status::Pass, Status::Warn);
    // The client added a fifth of each time: whatever its drivers saw most of is why, and the other is not called so.
    assert_eq!(said(|e| paused(e, 40.0, 0.02), 2.0), [pass, warn, warn]);
    assert_eq!(said(|e| starved(e, 0.4), 2.0), [warn, pass, warn]);
    // It added next to nothing, however it looks from outside.
    assert_eq!(said(|e| paused(e, 40.0, 0.02), 0.01), [pass; 3]);
    assert_eq!(said(|e| starved(e, 0.4), 0.01), [pass; 3]);
}

#[test]
fn writes_of_which_nothing_was_read_back_are_not_called_true() {
    let allows = |kind: &str, store: &str| {
        let mut evidence = healthy();
        evidence.operations[0].kind = kind.into();
        evidence.store.kinds = vec![store.into()];
        finding(&evidence, "V26").allows
    };
    assert_eq!([allows("write", "s3"), allows("copy", "s3")], [Allows::WithLimits; 2]);
    assert_eq!([allows("read", "s3"), allows("write", "mock")], [Allows::True; 2]);
    let both = |compared: [bool; 2]| {
        let mut evidence = healthy();
        let write = OperationEvidence { kind: "write".into(), ..evidence.operations[0].clone() };
        let writes = compared.map(|is_compared| OperationEvidence { is_compared, ..write.clone() });
        evidence.operations.extend(writes);
        finding(&evidence, "V26").allows
    };
    assert_eq!([both([true; 2]), both([true, false])], [Allows::True, Allows::WithLimits]);
}

#[test]
fn every_check_has_a_case_and_the_table_is_in_order() {
    for (number, row) in CHECKS.iter().enumerate() {
        assert_eq!(row.id, format!("V{}", number + 1));
        assert!(CASES.iter().any(|case| case.0 == row.id), "{} has no case", row.id);
        let texts = [row.question, row.needs, row.warns, row.fails, row.remedy];
        assert!(texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')), "{}", row.id);
    }
    let names: std::collections::BTreeSet<_> = CHECKS.iter().map(|row| row.name).collect();
    assert_eq!((names.len(), CHECKS.len()), (26, 26));
}

#[test]
fn missing_objects_are_named_as_the_cause_of_failures() {
    let mut evidence = healthy();
    fail(&mut evidence, 11_700, 1.0);
    evidence.misses = Some(vec![miss(0.2, false)]);
    let found = finding(&evidence, "V12");
    assert!(found.message.contains("deletes objects 1 to 1000 that it reads"), "{}", found.message);
}

#[test]
fn a_dead_store_in_a_closed_loop_does_not_look_fine() {
    // 8 workers, 30 s of 783/s, then each failure is followed by a pause: few failures, little time in requests.
    let mut evidence = healthy();
    step(&mut evidence, 30, 0.0);
    fail(&mut evidence, 100, 0.1);
    evidence.operations[0].in_flight_mean = Some(4.0);
    let failed: Vec<&str> = findings(&evidence)
        .into_iter()
        .filter(|(_, found)| found.status == Status::Fail)
        .map(|(row, _)| row.id)
        .collect();
    assert!(failed.contains(&"V2") && failed.contains(&"V8"), "{failed:?}");
}

#[test]
fn what_decides_the_verdict_comes_first() {
    let mut found = [
        Finding::unknown("u"),
        Finding::warn(1.0, 0.0, "w"),
        Finding::pass(0.0, 1.0, "p"),
        Finding::too_little(1.0, 2.0, "t"),
        Finding::fail(1.0, 0.0, "f"),
        Finding::does_not_apply("n"),
    ];
    found.sort_by_key(rank);
    let order: String = found.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(order, "ftwupn");
}

#[test]
fn runs_of_any_shape_are_judged_without_a_panic_and_in_sentences() {
    type Shape = (&'static str, fn(&mut Evidence));
    let shapes: [Shape; 9] = [
        ("no operation", |e| e.operations.clear()),
        ("no window", |e| (e.window_s, e.operations[0].window_s, e.works[0].window_s) = (0.0, 0.0, 0.0)),
        ("nothing ended", |e| {
            e.operations[0] =
                OperationEvidence { work: "main".into(), kind: "read".into(), ..Default::default() };
        }),
        ("one operation of one worker", |e| {
            e.works[0].workers = 1;
            few(e, 1);
        }),
        ("all failed", |e| {
            e.operations[0].ok = 0;
            (e.operations[0].response, e.operations[0].service) = Default::default();
            fail(e, 100, 1.0);
        }),
        ("no workers", |e| e.works.clear()),
        ("no series", |e| e.series.clear()),
        ("steps of nothing", |e| e.series[0].step_s = 0.0),
        ("numbers that are none", |e| {
            e.series[0].rate_per_s[3] = f64::NAN;
        }),
    ];
    for (name, change) in shapes {
        let mut evidence = healthy();
        change(&mut evidence);
        for (row, found) in findings(&evidence) {
            assert!(found.message.len() > 10, "{name}, {}: {found:?}", row.id);
            let number = |word: &str| found.message.contains(word);
            assert!(
                !["inf", "NaN"].into_iter().any(|word| number(&format!(" {word} "))),
                "{name}, {}: {found:?}",
                row.id
            );
        }
    }
}

/// A volume that lies on a disk, as LVM and encryption make them.
#[test]
fn what_a_volume_read_from_its_disk_is_read_once() {
    let mut evidence = healthy();
    evidence.nodes.clear();
    looked_at(&mut evidence, 8e9, 0.25);
    let disk = evidence.nodes[0].quantities.iter_mut().find(|one| one.quantity == "disk_read_bytes").unwrap();
    disk.unit = "sda".to_owned();
    let disk = disk.clone();
    let share = nodes::share_from_disks(&evidence).unwrap();
    assert!(share > 0.0 && share <= 0.25, "{share}");
    for unit in ["dm-0", "sda1", "loop3"] {
        evidence.nodes[0].quantities.push(QuantityResult { unit: unit.to_owned(), ..disk.clone() });
        assert_eq!(nodes::share_from_disks(&evidence), Some(share), "{unit}");
    }
    evidence.nodes[0].quantities.push(QuantityResult { unit: "sdb".to_owned(), ..disk });
    assert!(nodes::share_from_disks(&evidence).is_some_and(|both| (both / share - 2.0).abs() < 1e-9));
}

#[test]
fn a_machine_that_is_read_by_two_ways_has_its_memory_and_its_disks_once() {
    let mut evidence = healthy();
    evidence.nodes.clear();
    tells(&mut evidence, "memory_total_bytes", 8e9);
    tells(&mut evidence, "boot_time_s", 1e9);
    tells(&mut evidence, "disk_read_bytes", 1e3);
    let from_disks = nodes::share_from_disks(&evidence);
    evidence.nodes.push(NodeResult { source: "ssh".to_owned(), ..evidence.nodes[0].clone() });
    // One of both ways may say nothing of disks, as an agent in a container.
    evidence.nodes[0].units.clear();
    evidence.nodes[0].quantities.retain(|one| one.quantity != "disk_read_bytes");
    assert!(from_disks.is_some_and(|share| share > 0.0), "{from_disks:?}");
    assert_eq!(nodes::share_from_disks(&evidence), from_disks);
    assert_eq!(nodes::memory_bytes(&evidence), Some(8e9));
    evidence.nodes[1].quantities.iter_mut().for_each(|one| one.mean *= 2.0);
    assert_eq!(nodes::memory_bytes(&evidence), Some(24e9), "two machines");
}
