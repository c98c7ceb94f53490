//! The data of an archive that is written here with known times, and the page's types.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cosmark_archive::{
    Archive, ClientRecord, HistogramLog, HostRecord, IntervalLine, NewRun, RunState, StageState, StageTables,
    TimeKind, TimelineRow, Timestamp, open_run,
};
use cosmark_metrics::nodes::quantity as q;
use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, Reading};
use cosmark_metrics::{HealthSample, Latency, OpSnapshot, Outcome, Phase, Sample, Snapshot, ThreadHealth};
use cosmark_workload::Format;
use ts_rs::{Config, TS};

use super::model::*;
use super::*;

/// 40 s of ramp-up and window in slices of 1 s; reads take between 1 and 50 ms, one in 50 fails.
fn archive(root: &Path) -> PathBuf {
    let text = "name: known\nstorage: {type: none}\nstages:\n  - name: main\n    works:\n      - name: main\n        workers: 4\n        \
                runtime: 30s\n        operations:\n          - {type: read, ratio: 80, containers: \"u(1,2)\", objects: \"u(1,9)\"}\n          \
                - {type: write, ratio: 20, containers: \"u(1,2)\", objects: \"u(1,9)\", sizes: c(1)KB}\n";
    let (workload, mistakes) =
        cosmark_workload::parse(text, Format::Yaml, &cosmark_workload::Environment::default());
    let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
    let mut clock: Timestamp = "2026-01-05T08:00:00Z".parse().unwrap();
    let mut run = Archive::open(root)
        .unwrap()
        .begin(&NewRun {
            number: None,
            workload: &workload,
            seed: Some(7),
            source: None,
            config_xml: "<workload/>",
            config_yaml: &cosmark_workload::to_yaml(&workload),
            host: HostRecord { hostname: "here".into(), cpus: 2, kernel: "none".into() },
            submitted: clock,
        })
        .unwrap();
    clock += jiff_seconds(3);
    run.set_load_started(0, clock);
    run.enter_stage(0, StageState::Running, clock).unwrap();
    let mut window = vec![OpSnapshot::default(); 2];
    for slice in 0..40_u64 {
        let ops: Vec<OpSnapshot> = (0..2).map(|op| slice_of(slice, op)).collect();
        let phase = if slice < 10 { Phase::Rampup } else { Phase::Window };
        if phase == Phase::Window {
            window.iter_mut().zip(&ops).for_each(|(sum, op)| sum.merge(op));
        }
        let snapshot = Snapshot { work: 0, phase, start_ns: 0, end_ns: 1_000_000_000, ops: ops.clone() };
        run.append_histograms(0, clock, &snapshot).unwrap();
        let lines = ops
            .iter()
            .map(|op| IntervalLine::of("d1", phase, slice as f64, slice as f64 + 1.0, op))
            .collect();
        run.append_work_interval(0, 0, lines).unwrap();
        run.append_client(0, "d1", 0, &health(slice)).unwrap();
        run.append_nodes(looks(slice)).unwrap();
        clock += jiff_seconds(1);
        let row = TimelineRow { ended: clock, seconds: 1.0, operations: ops.iter().collect() };
        run.append_interval(0, &row).unwrap();
    }
    let mut record = run.record().stages[0].clone();
    record.set_results(&workload.stages[0], 0, &[(30.0, window.clone())]);
    record.clients = vec![ClientRecord { driver: "d1".into(), load_threads: 1, ..ClientRecord::default() }];
    record.enter(StageState::Completed, clock);
    run.end_stage(0, record).unwrap();
    let mut record = run.record().clone();
    (record.state, record.ended) = (RunState::Finished, Some(clock));
    run.finish(&record, &[StageTables::of(&window)]).unwrap();
    run.path().to_owned()
}

/// When the load began, nanoseconds since 1970.
fn began_ns() -> u64 {
    let began: Timestamp = "2026-01-05T08:00:03Z".parse().unwrap();
    u64::try_from(began.as_nanosecond()).unwrap()
}

/// One second of two machines: the proxy is half busy, and does not answer from second 20 to second 30; an exporter renews the
/// figures of the disk every 15 s.
fn looks(slice: u64) -> Vec<NodeLook> {
    let node = |name: &str, role: &str| {
        Arc::new(NodeName { name: name.into(), role: role.into(), source: "prometheus".into() })
    };
    let at_ns = began_ns() + slice * 1_000_000_000;
    let (mut proxy, mut disk) =
        (Reading { at_ns, samples: Vec::new() }, Reading { at_ns, samples: Vec::new() });
    proxy.add(&q::CPU_BUSY, "cpu0", slice as f64 * 0.75);
    proxy.add(&q::CPU_BUSY, "cpu1", slice as f64 * 0.25);
    disk.add(&q::DISK_READ_BYTES, "sda", (slice / 15 * 15) as f64 * 100.0);
    let found = |reading| Found::Reading { reading: Arc::new(reading), age_ns: 0 };
    let mut looks = vec![NodeLook { node: node("disk", "storage"), found: found(disk) }];
    let answers = !(20..30).contains(&slice);
    if answers {
        looks.push(NodeLook { node: node("proxy", "proxy"), found: found(proxy) });
    } else if slice == 20 {
        let found = Found::Lost { at_ns, why: "it is away".into() };
        looks.push(NodeLook { node: node("proxy", "proxy"), found });
    }
    looks
}

/// The load thread is busier every second; the machine pauses once, in second 17.
fn health(slice: u64) -> HealthSample {
    let mut pause = Latency::default();
    pause.record(if slice == 17 { 40_000_000 } else { 100_000 });
    HealthSample {
        at_ns: (slice + 1) * 1_000_000_000,
        span_ns: 1_000_000_000,
        threads: vec![ThreadHealth {
            name: "load-0".into(),
            cpu_ns: slice * 10_000_000,
            run_queue_wait_ns: Some(1_000_000),
        }],
        pause,
        ..HealthSample::default()
    }
}

fn jiff_seconds(seconds: u64) -> std::time::Duration {
    std::time::Duration::from_secs(seconds)
}

fn slice_of(slice: u64, op: u64) -> OpSnapshot {
    let mut sum = OpSnapshot::default();
    for n in 0..if op == 0 { 400 } else { 100 } {
        let failed = n % 50 == 49;
        // Spread evenly over the range, and differently in every slice.
        let ns = 1_000_000 + (n * 1_299_709 + slice * 7_368_787 + op * 13) % 49_000_000;
        let sample = Sample {
            due_ns: 1,
            sent_ns: 1,
            first_byte_ns: 1 + ns / 2,
            end_ns: 1 + ns,
            bytes: if failed { 0 } else { 1000 },
            status: if failed { 503 } else { 200 },
            outcome: if failed { Outcome::failed("http_503") } else { Outcome::OK },
            requests: 1,
            ..Sample::default()
        };
        sum.add(&sample, false);
    }
    sum
}

#[test]
fn sums_over_the_bins_are_those_of_the_record_however_coarse_they_are() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let record = open_run(&path).unwrap().record;
    for bins in [600, 13, 1] {
        let data = read(&path, Some(Detail { bins, heat_columns: 7 })).unwrap();
        let stage = &data.stages[0];
        let axis = stage.time.unwrap();
        assert!(axis.bins <= bins && (axis.end_s - 40.0).abs() < 0.01, "{axis:?}");
        for (operation, recorded) in stage.operations.iter().zip(&record.stages[0].operations) {
            assert_eq!(operation.result.ok, recorded.ok);
            assert_eq!(operation.result.failed, recorded.failed);
            let series = operation.series.as_ref().unwrap();
            assert_eq!(series.count.len(), axis.bins as usize);
            // The window is three quarters of the load.
            assert_eq!(series.count.iter().sum::<u64>() * 3 / 4, recorded.ok);
            assert_eq!(series.bytes.as_ref().unwrap().iter().sum::<u64>() * 3 / 4, recorded.bytes);
            assert_eq!(series.failures.as_ref().unwrap().iter().sum::<u64>() * 3 / 4, recorded.failed);
            let classes: u64 = series.errors.values().flatten().sum();
            assert_eq!(classes * 3 / 4, recorded.errors.values().sum::<u64>());
            let heat = operation.heat.as_ref().unwrap();
            assert_eq!(heat.cells.chunks(3).map(|cell| cell[2]).sum::<u64>() * 3 / 4, recorded.ok);
            let latency = &operation.latency[0];
            assert_eq!(latency.count.iter().sum::<u64>() * 3 / 4, recorded.ok);
        }
    }
}

#[test]
fn percentiles_are_read_from_merged_histograms() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let record = open_run(&path).unwrap().record;
    // Five bins of 8 s.
    let data = read(&path, Some(Detail { bins: 5, heat_columns: 4 })).unwrap();
    let operation = &data.stages[0].operations[0];
    let response = operation.distributions.iter().find(|one| one.kind == "response").unwrap();
    let merged = HistogramLog::merged(&path, &operation.result.tag, TimeKind::Response).unwrap().unwrap();
    assert_eq!(response.count, record.stages[0].operations[0].ok);
    for (nines, ms) in response.nines.iter().zip(&response.ms) {
        let expected = merged.value_at_quantile(1.0 - 10_f64.powf(-nines)) as f64 / 1e6;
        assert!((ms / expected - 1.0).abs() < 0.002, "{nines}: {ms} instead of {expected}");
    }
    let latency = operation.latency.iter().find(|one| one.kind == "response").unwrap();
    assert_eq!((latency.every, latency.p99.len()), (1, 5));
    let whole = record.stages[0].operations[0].response_ms.p99.unwrap();
    for p99 in &latency.p99 {
        assert!((p99.unwrap() / whole - 1.0).abs() < 0.05, "{p99:?} {whole}");
    }
    assert_eq!(
        data.stages[0].phases.iter().map(|one| one.phase.as_str()).collect::<Vec<_>>(),
        ["rampup", "window"]
    );
}

#[test]
fn an_archive_that_lacks_files_still_gives_what_it_has_and_says_what_is_missing() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    for file in ["histograms.hlog", "workload.yaml", "s1-main.csv"] {
        std::fs::remove_file(path.join(file)).unwrap();
    }
    let data = read(&path, None).unwrap();
    assert_eq!(data.stages[0].operations[0].result.ok, 30 * 392);
    let operation = &data.stages[0].operations[0];
    assert!(data.workload.is_none() && operation.latency.is_empty() && operation.heat.is_none());
    assert!(operation.series.is_some(), "counts over time are in intervals.csv");
    for file in ["histograms.hlog", "workload.yaml"] {
        assert!(data.notes.iter().any(|note| note.contains(file)), "{:?}", data.notes);
    }
}

#[test]
fn without_our_tables_counts_come_from_cosbenchs_table() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let full = read(&path, None).unwrap();
    for file in ["intervals.csv", "clients.csv"] {
        std::fs::remove_file(path.join(file)).unwrap();
    }
    let old = read(&path, None).unwrap();
    let (full, old_stage) = (&full.stages[0], &old.stages[0]);
    assert_eq!(full.time, old_stage.time);
    for (full, old) in full.operations.iter().zip(&old_stage.operations) {
        let (full, old) = (full.series.as_ref().unwrap(), old.series.as_ref().unwrap());
        assert_eq!((&full.count, &full.bytes), (&old.count, &old.bytes));
        assert_eq!((&old.failures, &old.in_flight), (&None, &None));
    }
    for file in ["intervals.csv", "clients.csv"] {
        assert!(old.notes.iter().any(|note| note.contains(file)), "{:?}", old.notes);
    }
}

/// A run of COSBench that may be changed.
fn made_by_cosbench(home: &Path) -> PathBuf {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/cosbench-runs/w3-mock-full");
    let path = home.join("w3-mock-full");
    std::fs::create_dir(&path).unwrap();
    for file in std::fs::read_dir(made).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), path.join(file.file_name())).unwrap();
    }
    path
}

#[test]
fn works_of_cosbench_whose_operations_have_one_name_have_times_of_their_own() {
    let home = tempfile::tempdir().unwrap();
    let path = made_by_cosbench(home.path());
    for (file, from, to) in [
        ("w3-mock-full.csv", "s3-main,write,write,", "s3-main,read,read,"),
        ("w3-mock-full-rt-histogram.csv", "s3-main-w1-main-write", "s3-main-w2-more-read"),
    ] {
        let text = std::fs::read_to_string(path.join(file)).unwrap();
        std::fs::write(path.join(file), text.replace(from, to)).unwrap();
    }
    let data = read(&path, None).unwrap();
    let main = data.stages.iter().find(|stage| stage.id == "s3-main").unwrap();
    let shown: Vec<_> = main.operations.iter().map(|one| one.distributions[0].count).collect();
    assert_eq!(shown, [48_940, 16_282, 7_996, 8_170]);
    let run = crate::plot::PlotRun::open(&path, None).unwrap();
    let stage = run.stages.iter().find(|stage| stage.id == "s3-main").unwrap();
    let times = |op| run.distribution(stage, op).unwrap().map_or(0, |times| times.count());
    let drawn: Vec<u64> = stage.operations.iter().map(times).collect();
    assert_eq!(drawn, shown);
}

#[test]
fn a_course_of_cosbench_that_is_not_shown_for_works_that_are_left_out_is_said_not_to_be() {
    let home = tempfile::tempdir().unwrap();
    let path = made_by_cosbench(home.path());
    let of_two = |data: &ReportData| {
        let stage = data.stages.iter().find(|stage| stage.id == "s4-two").unwrap();
        let notes = data.notes.iter().filter(|note| note.contains("s4-two")).cloned().collect::<Vec<_>>();
        (stage.operations[0].series.is_some(), notes)
    };
    assert_eq!(of_two(&read(&path, None).unwrap()), (true, Vec::new()));
    let file = path.join("s4-two.csv");
    let text = std::fs::read_to_string(&file).unwrap();
    let rows = text.lines().count() - 2;
    std::fs::write(&file, text + "18:54:50,40,800,2.5,2.5,8,160,100%,6,6,6\n").unwrap();
    let (shown, notes) = of_two(&read(&path, None).unwrap());
    assert!(!shown && notes.len() == 1, "{notes:?}");
    assert!(notes[0].contains(&format!("1 of {} intervals", rows + 1)), "{notes:?}");
}

#[test]
fn the_client_is_shown_on_the_axis_of_its_stage() {
    let root = tempfile::tempdir().unwrap();
    let data = read(&archive(root.path()), Some(Detail { bins: 5, heat_columns: 4 })).unwrap();
    let client = &data.stages[0].clients[0];
    let series = client.series.as_ref().unwrap();
    assert_eq!(series.thread_busy_max, [Some(0.07), Some(0.15), Some(0.23), Some(0.31), Some(0.39)]);
    let pauses: Vec<f64> = series.pause_max_ms.iter().map(|ms| ms.unwrap().round()).collect();
    assert_eq!(pauses, [0.0, 0.0, 40.0, 0.0, 0.0]);
    assert_eq!(series.machine_busy, [None; 5], "what the system did not tell is not 0");
}

#[test]
fn a_share_of_a_client_that_an_archive_says_to_be_above_all_is_all() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let file = path.join("clients.csv");
    let text = std::fs::read_to_string(&file).unwrap();
    // Where the last look was read behind its clock.
    let (before, last) = text.rsplit_once(",load-0,0.39,").unwrap();
    let last = last.replacen(",machine,,", ",machine,1.14,", 1);
    let more = format!("{before},load-0,1.14,{last}");
    assert!(more.contains(",machine,1.14,"), "{last}");
    std::fs::write(&file, more).unwrap();
    let data = read(&path, Some(Detail { bins: 5, heat_columns: 4 })).unwrap();
    let series = data.stages[0].clients[0].series.as_ref().unwrap();
    assert_eq!(series.thread_busy_max, [Some(0.07), Some(0.15), Some(0.23), Some(0.31), Some(1.0)]);
    // One second of eight: 0.1425 of them, were it not bounded.
    assert_eq!(series.machine_busy[..], [None, None, None, None, Some(0.125)]);
}

#[test]
fn machines_of_the_store_are_shown_on_the_axis_of_the_stage_and_nothing_is_made_up() {
    let root = tempfile::tempdir().unwrap();
    let data = read(&archive(root.path()), Some(Detail { bins: 40, heat_columns: 4 })).unwrap();
    let stage = &data.stages[0];
    let ids: Vec<_> = stage.node_charts.iter().map(|chart| (chart.id.as_str(), chart.lines.len())).collect();
    assert_eq!(ids, [("processors-proxy", 2), ("disk-bytes-storage", 1)]);
    let line = |chart: usize, line: usize| &stage.node_charts[chart].lines[line].values;
    let expected = |known: &dyn Fn(usize) -> bool, value: f64| -> Vec<Option<f64>> {
        (0..40).map(|bin| known(bin).then_some(value)).collect()
    };
    let answered = |bin: usize| bin < 19 || (30..39).contains(&bin);
    assert_eq!(line(0, 0), &expected(&answered, 0.5), "a mean of both, and a gap");
    assert_eq!(line(0, 1), &expected(&answered, 0.75));
    assert_eq!(
        line(1, 0),
        &expected(&|bin| bin < 30, 100.0),
        "steps, and nothing before the next one is known"
    );
    let gap = NodeGap {
        node: "proxy".into(),
        role: "proxy".into(),
        from_s: 20.0,
        to_s: 30.0,
        why: "it is away".into(),
    };
    assert_eq!(stage.node_gaps, [gap]);
}

#[test]
fn what_a_live_page_shows_of_machines_is_what_the_report_shows() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let run = open_run(&path).unwrap();
    for bins in [40, 7, 1] {
        let detail = Detail { bins, heat_columns: 4 };
        let mut live = StageSeries::new(2, detail);
        let (mut shown, mut seen) = (SeriesShown::default(), BTreeMap::new());
        let mut intervals = Vec::new();
        run.intervals(|line| intervals.push(line)).unwrap();
        for slice in 0..40 {
            let own = intervals.iter().filter(|line| line.start_s == slice as f64);
            own.enumerate().for_each(|(operation, line)| live.add_interval(operation, line));
            looks(slice).iter().for_each(|look| live.add_node(look, began_ns()));
            let changed_us = live.take_changed_us().unwrap();
            let news = live.news("s1-main", None, &run.record.stages[0].operations, changed_us, &mut shown);
            for chart in news.unwrap().node_charts {
                let before: &mut Vec<NodeLine> = seen.entry(chart.id).or_default();
                for (at, line) in chart.lines.into_iter().enumerate() {
                    let mut values = before.get(at).map_or(Vec::new(), |known| known.values.clone());
                    values.truncate(chart.from as usize);
                    assert_eq!(values.len(), chart.from as usize, "what is left out was there before");
                    values.extend(&line.values);
                    let line = NodeLine { values, ..line };
                    if at < before.len() { before[at] = line } else { before.push(line) }
                }
            }
        }
        let data = read(&path, Some(detail)).unwrap();
        let shown = data.stages[0].node_charts.iter().map(|chart| (chart.id.clone(), chart.lines.clone()));
        assert_eq!(seen, shown.collect(), "{bins}");
    }
}

#[test]
fn a_verdict_that_nobody_made_says_so() {
    let root = tempfile::tempdir().unwrap();
    let data = read(&archive(root.path()), None).unwrap();
    assert_eq!(data.verdict.overall, "not_proven");
    assert!(data.verdict.reason.contains("No checks were made"), "{}", data.verdict.reason);
}

#[test]
fn thresholds_and_searches_of_a_run_are_in_the_data_of_its_page() {
    let root = tempfile::tempdir().unwrap();
    let path = archive(root.path());
    let file = path.join("run.json");
    let mut record: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    // The writes are of another work; records of older versions say none.
    record["stages"][0]["operations"][1]["work"] = "other".into();
    let threshold = |status: &str| {
        let work = (status == "fail").then_some("main");
        serde_json::json!({ "stage": "s1-main", "operation": "read", "work": work, "threshold": "p95 <= 20 ms", "metric": "p95",
            "unit": "ms", "value": 45.0, "low": null, "high": null, "limit": 20.0, "status": status, "message": "45 ms" })
    };
    let trial = |load: f64, status: &str| {
        serde_json::json!({ "stage": format!("s1-main-w{load}"), "load": load, "purpose": "step",
            "throughput_per_s": load * 100.0, "bandwidth_bytes_per_s": null, "mean_ms": 5.0, "p95_ms": 10.0 + load,
            "error_ratio": 0.0, "status": status, "reason": null, "thresholds": [threshold(status)] })
    };
    let of = |value: f64| serde_json::json!({ "value": value, "low": value * 0.9, "high": value * 1.1 });
    record["thresholds"] = serde_json::json!([threshold("fail"), threshold("not_decided")]);
    record["searches"] = serde_json::json!([{ "name": "main", "over": "workers", "thresholds": ["p95 <= 20 ms"],
        "best": 8.0, "missed_at": 16.0, "settled": true, "confirmed": 2, "notes": ["what else to know"],
        "trials": [trial(8.0, "pass"), trial(16.0, "fail")],
        "usl": { "one_per_s": of(100.0), "contention": of(0.1), "coherence": of(0.01), "peak_workers": of(9.5),
            "largest_residual": 0.02, "points": 5 } }]);
    std::fs::write(&file, record.to_string()).unwrap();
    let data = read(&path, None).unwrap();
    let words: Vec<_> = data
        .thresholds
        .iter()
        .map(|one| (one.operation.as_deref(), one.threshold.as_str(), one.status.as_str()))
        .collect();
    assert_eq!(
        words,
        [(Some("main read"), "p95 <= 20 ms", "missed"), (Some("read"), "p95 <= 20 ms", "not decided")]
    );
    let search = &data.searches[0];
    assert_eq!(
        search.answer,
        "8 workers meet p95 <= 20 ms, 16 is too much. Settled; confirmed by fresh trials: 2."
    );
    let trials: Vec<_> =
        search.trials.iter().map(|one| (one.load, one.p95_ms, one.status.as_str())).collect();
    assert_eq!(trials, [(8.0, Some(18.0), "met"), (16.0, Some(26.0), "missed")]);
    assert_eq!(search.notes, ["what else to know"]);
    let law = search.law.as_ref().unwrap();
    assert_eq!((law.parts.len(), law.curve.last().map(|at| at.0)), (4, Some(16.0)));
}

/// `console/src/data/types.ts`.
fn types() -> String {
    let config = Config::new().with_large_int("number");
    let declared = [
        ReportData::decl(&config),
        RunFacts::decl(&config),
        VerdictData::decl(&config),
        CheckData::decl(&config),
        StageData::decl(&config),
        TimeAxis::decl(&config),
        PhaseSpan::decl(&config),
        OperationData::decl(&config),
        GroupData::decl(&config),
        CountSeries::decl(&config),
        LatencySeries::decl(&config),
        Distribution::decl(&config),
        HeatMap::decl(&config),
        ClientData::decl(&config),
        Fact::decl(&config),
        ClientSeries::decl(&config),
        ClientNews::decl(&config),
        SeriesNews::decl(&config),
        OperationNews::decl(&config),
        LatencyNews::decl(&config),
        HeatNews::decl(&config),
        PartNews::decl(&config),
        NodeChartData::decl(&config),
        NodeLine::decl(&config),
        NodeGap::decl(&config),
        EventMark::decl(&config),
        FaultData::decl(&config),
        FaultSlotData::decl(&config),
        FaultSlotPart::decl(&config),
        ConsistencyData::decl(&config),
        ConsistencyClassData::decl(&config),
        ConsistencyPointData::decl(&config),
        FaultFigureData::decl(&config),
        FillData::decl(&config),
        FillPointData::decl(&config),
        NodeData::decl(&config),
        NodeUnit::decl(&config),
        ThresholdData::decl(&config),
        SearchData::decl(&config),
        TrialData::decl(&config),
        LawData::decl(&config),
        LawPart::decl(&config),
        LadderData::decl(&config),
        LadderStep::decl(&config),
        LadderUnit::decl(&config),
        RawShare::decl(&config),
        TimeSpent::decl(&config),
        TimePartData::decl(&config),
        TimeRow::decl(&config),
        ServerTimeData::decl(&config),
    ];
    let mut text = "// Generated from crates/report/src/data/model.rs, which says what each field means:\n\
                    // UPDATE_TYPES=1 cargo test -p cosmark-report --lib types\n\
                    import type { OperationResult, PartResult } from \"./results\";\n"
        .to_owned();
    for one in declared {
        text.push_str(&format!("\nexport {one}\n"));
    }
    text
}

#[test]
fn the_types_of_the_page_are_these() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console/src/data/types.ts");
    if std::env::var_os("UPDATE_TYPES").is_some() {
        std::fs::write(&path, types()).unwrap();
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(is == types(), "run UPDATE_TYPES=1 cargo test -p cosmark-report --lib types");
}

#[test]
fn what_a_lost_driver_did_not_do_is_shown_as_a_stretch_of_the_axis() {
    let missing =
        |from_s, to_s| MissingRecord { driver: "d2".into(), from_s, to_s, ..MissingRecord::default() };
    let shown = missing_spans(&[missing(12.0, Some(90.0)), missing(30.0, None), missing(70.0, None)], 60.0);
    let spans: Vec<_> = shown.iter().map(|one| (one.phase.as_str(), one.from_s, one.to_s)).collect();
    assert_eq!(spans, [("without driver d2", 12.0, 60.0), ("without driver d2", 30.0, 60.0)]);
}

#[test]
fn stages_of_one_name_are_called_by_their_ids() {
    let home = tempfile::tempdir().unwrap();
    let path = archive(home.path());
    let file = path.join("run.json");
    let mut record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let mut again = record["stages"][0].clone();
    again["id"] = "s2-main".into();
    let mut other = again.clone();
    (other["id"], other["name"]) = ("s3-clean".into(), "clean".into());
    record["stages"].as_array_mut().unwrap().extend([again, other]);
    std::fs::write(&file, record.to_string()).unwrap();
    let data = read(&path, None).unwrap();
    let names: Vec<&str> = data.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["s1-main", "s2-main", "clean"]);
}
