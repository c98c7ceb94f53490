//! What is read of runs: figures of several operations, of fio, of a followed disk, of machines, of searches and of
//! faults.

use cosmark_archive::{GoalStatus, HostRecord, SearchRecord, Timestamp, TrialRecord};
use cosmark_metrics::{FaultFigure, FaultResult, QuantityResult, SlotResult};
use cosmark_workload::{Environment, Format};

use super::*;
use crate::design::{Choice, Design};

#[test]
fn two_operations_that_do_the_same_have_the_times_of_both_or_none() {
    let latency = |ms: u64, count: u32| {
        let mut times = Latency::default();
        times.record_many(ms * 1_000_000, count);
        times
    };
    let result = |times: &Latency, rate: f64| OperationResult {
        ok: times.count(),
        throughput_per_s: Some(rate),
        in_flight_mean: Some(1.0),
        response_ms: Latencies::of(times),
        ..OperationResult::default()
    };
    let (hot, cold) = (latency(20, 270), latency(900, 730));
    let (first, second) = (result(&hot, 27.0), result(&cold, 73.0));
    let both = [&first, &second];
    let alone = figures(&both[..1], None);
    assert!((alone["response_ms.p95"] - 20.0).abs() < 0.1 && alone["in_flight_mean"] == 1.0, "{alone:?}");
    let unknown = figures(&both, None);
    assert_eq!((unknown["throughput_per_s"], unknown["count"]), (100.0, 1000.0));
    for figure in ["response_ms.p50", "response_ms.p95", "response_ms.mean", "in_flight_mean", "workers"] {
        assert!(!unknown.contains_key(figure), "{figure} is that of the first alone: {unknown:?}");
    }
    let mut times = hot.clone();
    times.merge(&cold);
    let known = figures(&both, Some(Latencies::of(&times)));
    assert!((known["response_ms.p95"] / 900.0 - 1.0).abs() < 0.01, "{known:?}");
    assert!((mean_ms(&both).unwrap() / 662.4 - 1.0).abs() < 0.001, "{:?}", mean_ms(&both));
    // Without a log there is nothing to put together.
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(merged(directory.path(), &both), None);
}

#[test]
fn figures_of_fio_say_why_they_are_not_proven() {
    let text = "name: t
title: t
question: q
systems: [{name: image, bed: ceph, block: rbd}, {name: disk, block: file}]
factors: [{name: rw, levels: [randread]}]
scales: {quick: {}}
fio: {rw: randread, bs: 4KiB, iodepth: 1, size: 1GiB, runtime: 5s}
";
    let (spec, mistakes) = crate::spec::read(text);
    let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
    let choice = crate::design::Choice { scale: "quick".into(), ..Default::default() };
    let design = crate::design::Design::new(&spec, choice).unwrap();
    let why = |cell: usize, op: &str, error: u64| {
        let order = Order { design: &design, cell: &design.cells[cell], repetition: 1, run: "t" };
        let side = serde_json::json!({"total_ios": 5, "iops": 1.0, "bw_bytes": 4096.0});
        let mut value =
            serde_json::json!({"jobs": [{"error": error}], "cosmark": {"memory_bytes": 8_u64 << 30}});
        value["jobs"][0][op] = side;
        let found = of_fio(&order, &value, "t.json");
        assert_eq!(found.iter().map(|one| one.op.as_str()).collect::<Vec<_>>(), [op, "all"]);
        assert_eq!(found[0].why, found[1].why);
        (found[0].verdict, found[0].why.clone().unwrap())
    };
    let (verdict, said) = why(0, "read", 0);
    assert_eq!(verdict, Overall::NotProven);
    assert!(said.contains("5 s are short of 60 s") && said.contains("the image of 1073 MB fits"), "{said}");
    assert!(!why(0, "write", 0).1.contains("fits"), "what is written was not read from memory");
    assert!(!why(1, "read", 0).1.contains("fits"), "a file is read past the memory");
    assert_eq!(why(1, "read", 5), (Overall::False, "fio ended with error 5".to_owned()));
}

#[test]
fn the_run_of_a_job_of_fio_has_its_directions_and_both_together() {
    let text = "name: t
title: t
question: q
systems: [{name: disk, block: file}]
factors: [{name: rw, levels: [randrw]}]
scales: {quick: {}}
fio: {rw: randrw, bs: 4KiB, iodepth: 1, size: 1GiB, runtime: 60s}
";
    let spec = crate::spec::read(text).0.unwrap();
    let choice = Choice { scale: "quick".to_owned(), ..Choice::default() };
    let design = Design::new(&spec, choice).unwrap();
    let order = Order { design: &design, cell: &design.cells[0], repetition: 1, run: "t.c1.r1" };
    let workload = cosmark_workload::parse(WORKLOAD, Format::Yaml, &Environment::default()).0.unwrap();
    let mut record =
        RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
    let of = |op: &str, ok: u64, rate: f64| OperationResult {
        op: op.to_owned(),
        ok,
        bytes: ok * 4096,
        throughput_per_s: Some(rate),
        bandwidth_bytes_per_s: Some(rate * 4096.0),
        response_ms: Latencies { count: ok, mean: Some(1.0), p50: Some(1.0), ..Latencies::default() },
        window_s: 60.0,
        ..OperationResult::default()
    };
    record.stages[0].state = StageState::Completed;
    record.stages[0].operations = vec![of("read", 4200, 70.0), of("write", 1800, 30.0)];
    record.verdict.overall = Overall::TrueWithLimits;
    let found = of_fio_run(&order, &record, "w1-t.c1.r1");
    let ops: Vec<&str> = found.iter().map(|one| one.op.as_str()).collect();
    assert_eq!(ops, ["read", "write", "all"]);
    assert_eq!(found[0].values.get("response_ms.p50"), Some(&1.0));
    assert_eq!(found[2].values.get("throughput_per_s"), Some(&100.0));
    assert_eq!(found[2].values.get("bandwidth_bytes_per_s"), Some(&409_600.0));
    assert!(found.iter().all(|one| one.verdict == Overall::TrueWithLimits && !one.unreadable));
    assert_eq!(bytes_of(&record), 6000 * 4096);
    // One that failed has nothing, and one that was written whole and is empty cannot be read.
    record.stages[0].operations.clear();
    assert!(of_fio_run(&order, &record, "w1-t.c1.r1").is_empty());
}

#[test]
fn distances_of_a_followed_disk_become_shares_and_none_of_none() {
    let found =
        distances(r#"{"requests": 41, "distances": 40, "far": 4, "beyond_125000": 10, "by_log2": {}}"#);
    assert_eq!(found.get("lbn_beyond_125000_share"), Some(&0.25));
    assert_eq!(found.get("lbn_beyond_2500000_share"), Some(&0.1));
    assert_eq!(found.len(), 2, "without a histogram there are no bins: {found:?}");
    let text = r#"{"distances": 40, "by_log2": {"0": 10, "2": 4, "3": 6, "7": 8, "19": 8, "22": 4}}"#;
    let found = distances(text);
    let shares: Vec<f64> = (0..BINS.len()).map(|at| found[&bin_id(at)]).collect();
    assert_eq!(shares, [0.25, 0.25, 0.0, 0.2, 0.0, 0.0, 0.0, 0.2, 0.1]);
    for nothing in [r#"{"requests": 1, "distances": 0, "far": 0, "beyond_125000": 0}"#, "{", "[]"] {
        assert!(distances(nothing).is_empty(), "{nothing}");
    }
}

const STUDY: &str = "name: t
title: t
question: q
systems: [{name: a}]
factors: [{name: n, within: true, levels: [1]}]
scales: {quick: {}}
workload: {point: '- name: p-${{ n }}', measured: 'p-${{ n }}'}
";
const WORKLOAD: &str = "name: w
storage: {type: none}
stages:
  - name: p-1
    works: [{name: main, workers: 1, runtime: 9s, operations: [{type: write, containers: c(1), objects: c(1), sizes: c(1)KB}]}]
";

#[test]
fn a_point_has_what_it_cost_the_stores_machines_and_how_unevenly_it_was_served() {
    let spec = crate::spec::read(STUDY).0.unwrap();
    let choice = Choice { scale: "quick".to_owned(), ..Choice::default() };
    let design = Design::new(&spec, choice).unwrap();
    let order = Order { design: &design, cell: &design.cells[0], repetition: 1, run: "r" };
    let workload = cosmark_workload::parse(WORKLOAD, Format::Yaml, &Environment::default()).0.unwrap();
    let mut record =
        RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
    let cpu = QuantityResult { quantity: "cpu_busy_s".into(), unit: String::new(), mean: 0.5, highest: 0.5 };
    record.stages[0].nodes = vec![NodeResult { readings: 9, quantities: vec![cpu], ..NodeResult::default() }];
    record.stages[0].operations = vec![OperationResult {
        op: "write".to_owned(),
        ok: 900,
        failed: 300,
        throughput_per_s: Some(100.0),
        response_ms: Latencies { p50: Some(4.0), p99: Some(10.0), ..Latencies::default() },
        ..OperationResult::default()
    }];
    let share = |of: &str, raw_per_s: f64, share: f64| EfficiencyResult {
        direction: "write".to_owned(),
        of: of.to_owned(),
        user_per_s: raw_per_s * share,
        raw_per_s,
        share,
    };
    record.stages[0].efficiency = vec![share("disk_bytes", 4e8, 0.25), share("network_bytes", 1e8, 0.5)];
    let nowhere = Path::new("nowhere");
    let found = of_run(&order, &record, nowhere, "r");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].values.get("server_cpu_ms_per_op"), Some(&5.0));
    assert_eq!(found[0].values.get("server_cpu_share"), Some(&0.5));
    assert_eq!(found[0].values.get("server_disk_share"), None, "no disk was looked at");
    for (id, value) in [
        ("share_of_raw_disk", 0.25),
        ("raw_disk_bytes_per_s", 4e8),
        ("share_of_raw_network", 0.5),
        ("raw_network_bytes_per_s", 1e8),
    ] {
        assert_eq!(found[0].values.get(id), Some(&value), "{id}");
    }
    assert!(raw(&record.stages[0].efficiency, "read").is_empty(), "of the other direction");
    assert_eq!(found[0].values.get(SPREAD.0), Some(&2.5));
    let tried = found[0].values[ATTEMPTS.0];
    assert!((tried - 400.0 / 3.0).abs() < 1e-6, "a quarter of them failed: {tried}");
    // Where a percentile is withheld there is no ratio of it, and without machines no cost.
    record.stages[0].operations[0].response_ms.p99 = None;
    record.stages[0].nodes.clear();
    let values = &of_run(&order, &record, nowhere, "r")[0].values;
    assert!(!values.contains_key(SPREAD.0) && !values.contains_key("server_cpu_ms_per_op"), "{values:?}");
}

/// A run of the study whose numbers can be believed.
fn record() -> RunRecord {
    let workload = cosmark_workload::parse(WORKLOAD, Format::Yaml, &Environment::default()).0.unwrap();
    let mut record =
        RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
    record.verdict.overall = Overall::True;
    record.stages[0].state = StageState::Completed;
    record
}

/// What is seen of a run of the study.
fn seen(record: &RunRecord) -> Vec<Observation> {
    let spec = crate::spec::read(STUDY).0.unwrap();
    let design = Design::new(&spec, Choice { scale: "quick".to_owned(), ..Choice::default() }).unwrap();
    let order = Order { design: &design, cell: &design.cells[0], repetition: 1, run: "r" };
    of_run(&order, record, Path::new("nowhere"), "w1")
}

/// Trials of a search at these loads with what they came to; each is a stage of the run that did as much.
fn searched(trials: &[(f64, GoalStatus)], best: Option<f64>) -> RunRecord {
    let mut record = record();
    let stage = record.stages.remove(0);
    for (number, (load, _)) in trials.iter().enumerate() {
        let name = format!("p-1-rate{load}-{number}");
        let done = OperationResult {
            op: "write".to_owned(),
            ok: 900,
            window_s: 9.0,
            throughput_per_s: Some(*load),
            response_ms: Latencies { p95: Some(load / 10.0), ..Latencies::default() },
            ..OperationResult::default()
        };
        let id = format!("s{}-{name}", number + 1);
        record.stages.push(StageRecord { id, name, operations: vec![done], ..stage.clone() });
    }
    let trial = |(number, (load, status)): (usize, &(f64, GoalStatus))| TrialRecord {
        stage: record.stages[number].id.clone(),
        load: *load,
        purpose: "double".to_owned(),
        throughput_per_s: Some(*load),
        bandwidth_bytes_per_s: None,
        mean_ms: None,
        p95_ms: None,
        error_ratio: Some(0.25),
        status: *status,
        reason: Some(format!("{load} is too much")),
        thresholds: Vec::new(),
    };
    let trials = trials.iter().enumerate().map(trial).collect();
    record.searches.push(SearchRecord {
        name: "p-1".to_owned(),
        over: "rate".to_owned(),
        thresholds: vec!["p95 <= 20 ms".to_owned()],
        best,
        missed_at: best.map(|best| 2.0 * best),
        settled: true,
        unsettled: None,
        confirmed: 1,
        notes: Vec::new(),
        trials,
        usl: None,
    });
    record
}

#[test]
fn a_point_with_a_search_has_the_figures_of_its_knee_or_says_why_there_is_none() {
    use GoalStatus::{Fail, Pass};
    let mut record =
        searched(&[(100.0, Pass), (200.0, Pass), (400.0, Fail), (200.0, Fail), (200.0, Pass)], Some(200.0));
    // The last one that passed at the answer is the one that is shown.
    record.stages[4].operations[0].throughput_per_s = Some(199.0);
    let found = seen(&record);
    assert_eq!(found.len(), 1, "{found:#?}");
    let value = |id: &str| found[0].values.get(id).copied();
    assert_eq!((value("knee_per_s"), value("knee_missed_at")), (Some(200.0), Some(400.0)));
    assert_eq!((value("throughput_per_s"), value("response_ms.p95")), (Some(199.0), Some(20.0)));
    assert_eq!((value("knee_trials"), value("knee_workers")), (Some(5.0), None));
    assert!(!found[0].no_knee && found[0].verdict == Overall::True, "{found:#?}");
    // What is not settled is not proven.
    record.searches[0].unsettled = Some("stopped after 5 trials".to_owned());
    let found = seen(&record);
    assert_eq!(found[0].verdict, Overall::NotProven);
    assert!(found[0].why.as_ref().is_some_and(|why| why.contains("stopped after 5 trials")), "{found:#?}");
    // Without a knee there is a row, with its reason and without figures of a load.
    let found = seen(&searched(&[(50.0, Fail), (25.0, Fail)], None));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].no_knee && !found[0].unreadable && found[0].is_false(), "{found:#?}");
    assert_eq!((found[0].op.as_str(), found[0].failed_share), ("write", 0.25));
    assert_eq!(found[0].values.keys().collect::<Vec<_>>(), ["knee_trials"]);
    assert_eq!(found[0].why.as_deref(), Some("no load met p95 <= 20 ms: 25 is too much"));
    // A search without a trial is no gap either.
    let found = seen(&searched(&[], None));
    assert!(found.len() == 1 && found[0].no_knee && found[0].op == "search", "{found:#?}");
}

#[test]
fn a_point_with_faults_has_what_they_cost_and_one_that_was_never_there_makes_it_unreadable() {
    let fault = |name: &str, kind: &str, depths: &[Option<f64>]| {
        let slot = |depth: &Option<f64>| SlotResult {
            depth: *depth,
            void: depth.is_none().then(|| "nothing proved it".to_owned()),
            ..SlotResult::default()
        };
        let known: Vec<f64> = depths.iter().copied().flatten().collect();
        let mean = (!known.is_empty()).then(|| cosmark_stats::bootstrap::mean(&known));
        let figures = vec![FaultFigure { figure: "depth".to_owned(), mean, ..FaultFigure::default() }];
        let slots = depths.iter().map(slot).collect();
        FaultResult { name: name.to_owned(), kind: kind.to_owned(), figures, slots, ..FaultResult::default() }
    };
    let found = |faults: Vec<FaultResult>| {
        let mut record = record();
        record.stages[0].operations = vec![OperationResult {
            op: "write".to_owned(),
            ok: 900,
            throughput_per_s: Some(100.0),
            ..OperationResult::default()
        }];
        record.stages[0].faults = faults;
        seen(&record).remove(0)
    };
    let control = || fault("no fault", "none", &[Some(0.0)]);
    let one = found(vec![control(), fault("slow", "proxy", &[Some(0.5), Some(0.7)])]);
    assert_eq!((one.values.get("fault.depth"), one.verdict), (Some(&0.6), Overall::True));
    assert_eq!(one.values.get("fault.depth of slow"), Some(&0.6));
    assert_eq!(one.values.get("fault.depth of no fault"), Some(&0.0));
    // Of two faults none is "the" fault.
    let two = found(vec![fault("slow", "proxy", &[Some(0.5)]), fault("gone", "bed", &[Some(1.0)])]);
    assert_eq!(two.values.get("fault.depth"), None, "{two:#?}");
    assert_eq!(two.values.get("fault.depth of gone"), Some(&1.0));
    // What says nothing is said, and a fault that was never there is not taken for one that cost nothing.
    let some = found(vec![fault("slow", "proxy", &[Some(0.5), None])]);
    assert_eq!((some.values.get("fault.depth"), some.verdict), (Some(&0.5), Overall::TrueWithLimits));
    assert!(some.why.as_ref().is_some_and(|why| why.contains("1 of 2 slots count")), "{some:#?}");
    for never in [&[None, None][..], &[]] {
        let none = found(vec![control(), fault("slow", "proxy", never)]);
        assert!(none.unreadable && none.values.is_empty() && none.is_false(), "{none:#?}");
        assert!(none.why.as_ref().is_some_and(|why| why.starts_with("fault slow: ")), "{none:#?}");
    }
    let control_alone = found(vec![fault("no fault", "none", &[None])]);
    assert!(!control_alone.unreadable, "{control_alone:#?}");
}
