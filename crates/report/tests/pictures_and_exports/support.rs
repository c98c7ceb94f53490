//! Runs to draw and to export: some that COSBench wrote, and one of ours with an operation log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cosmark_archive::{
    Archive, HostRecord, NewRun, OpBatch, OpLog, RunState, StageState, StageTables, TimeZone, TimelineRow,
    Timestamp,
};
use cosmark_metrics::nodes::quantity::CPU_BUSY;
use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, Reading};
use cosmark_metrics::{OpSnapshot, Outcome, Phase, ProbeKind, ProbeOperation, Sample, SlicePlan, Snapshot};
use cosmark_workload::Format;

/// Successes of the reads of [`ours`].
pub const READS: u64 = 2000;
/// Its failures.
pub const FAILED: u64 = 20;

/// A run that COSBench wrote.
pub fn cosbench(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/cosbench-runs").join(name)
}

pub fn at(text: &str) -> Timestamp {
    format!("2026-11-21T{text}Z").parse().unwrap()
}

/// One look at a machine of the store.
fn look(at: Timestamp, busy_s: f64) -> NodeLook {
    let node = NodeName { name: "proxy1".to_owned(), role: "proxy".to_owned(), source: "local".to_owned() };
    let at_ns = u64::try_from(at.as_nanosecond()).unwrap();
    let mut reading = Reading { at_ns, samples: Vec::new() };
    reading.add(&CPU_BUSY, "cpu0", busy_s);
    NodeLook { node: Arc::new(node), found: Found::Reading { reading: Arc::new(reading), age_ns: 0 } }
}

/// The n-th sample: 1 to 101 ms.
fn sample(n: u64, bytes: u64, failed: bool) -> Sample {
    let sent_ns = 1_000_000_000 + n * 14_000_000;
    Sample {
        op: 0,
        worker: (n % 4) as u32,
        container: 1,
        object: n,
        due_ns: sent_ns,
        sent_ns,
        first_byte_ns: if failed { 0 } else { sent_ns + 500_000 },
        end_ns: sent_ns + 1_000_000 + (n % 100) * 1_000_000,
        bytes,
        status: if failed { 503 } else { 200 },
        outcome: if failed { Outcome::failed("http_503") } else { Outcome::OK },
        requests: 1,
        ..Sample::default()
    }
}

/// A run of ours called `name` in `root`: 2020 reads in one stage, logged one by one; its workers are `workers`.
pub fn ours(root: &Path, name: &str, workers: u32, slower: u64) -> PathBuf {
    ours_of_sizes(root, name, workers, slower, |_| 4000)
}

/// The same with objects of these sizes, by number.
pub fn ours_of_sizes(root: &Path, name: &str, workers: u32, slower: u64, size: fn(u64) -> u64) -> PathBuf {
    // One of a hundred fails.
    ours_of(root, name, workers, slower, |n| sample(n, size(n), n % 101 == 50))
}

/// A run of which every operation failed.
pub fn failed(root: &Path) -> PathBuf {
    ours_of(root, "failed", 4, 1, |n| sample(n, 0, true))
}

/// A run of 5 s in intervals of a quarter of one: 2 and 3 reads in turn, and one that ended 69 ms behind the load.
pub fn quick(root: &Path) -> PathBuf {
    let path = ours(root, "quick", 4, 1);
    let mut record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path.join("run.json")).unwrap()).unwrap();
    record["stages"][0]["load_started"] = "2026-11-21T18:54:00.2Z".into();
    std::fs::write(path.join("run.json"), record.to_string()).unwrap();
    let workload = "name: quick\nstorage: {type: none}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, runtime: 5s, \
                    interval: 250ms, operations: [{type: read, containers: c(1), objects: \"u(1,9)\"}]}\n";
    std::fs::write(path.join("workload.yaml"), workload).unwrap();
    let mut lines =
        "stage,tag,driver,phase,start_s,end_s,count,failures,missed,delayed,bytes,partial_bytes,in_flight_mean,requests,\
         retries,connections,errors\n"
            .to_owned();
    let columns = "Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio";
    let mut rows = format!(
        "Timestamp,{columns},Version-Info,,\n{},Min-Version,Version,Max-Version\n",
        ",read".repeat(7)
    );
    for at in 0..=20_u64 {
        let is_rest = at == 20;
        let (count, phase) = if is_rest { (1, "drain") } else { (2 + at % 2, "window") };
        let (start_ms, end_ms) = (at * 250, if is_rest { 5_069 } else { at * 250 + 250 });
        let seconds = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
        let (from, to) = (seconds(start_ms), seconds(end_ms));
        let line = format!(
            "s1-main,s1-main.read,local,{phase},{from},{to},{count},0,0,0,{count}000,0,1,{count},0,0,\n"
        );
        lines.push_str(&line);
        let second = (200 + end_ms) / 1_000;
        let rate = count * 1_000 / (end_ms - start_ms);
        rows.push_str(&format!(
            "18:54:{second:02},{count},{count}000,100,99,{rate},{rate}000,100%,{at},{at},{at}\n"
        ));
    }
    std::fs::write(path.join("intervals.csv"), lines).unwrap();
    std::fs::write(path.join("s1-main.csv"), rows).unwrap();
    path
}

fn ours_of(root: &Path, name: &str, workers: u32, slower: u64, sample: impl Fn(u64) -> Sample) -> PathBuf {
    let xml = format!(
        r#"<workload name="x"><storage type="none"/><workflow><workstage name="main">
           <work name="main" workers="{workers}" runtime="30">
             <operation type="read" ratio="100" config="containers=u(1,2);objects=u(1,9)"/>
           </work></workstage></workflow></workload>"#
    );
    let (workload, mistakes) = cosmark_workload::parse(&xml, Format::Xml, &Default::default());
    let mut workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
    workload.name = name.to_owned();
    let archive = Archive::open(root).unwrap().with_zone(TimeZone::UTC);
    let mut run = archive
        .begin(&NewRun {
            number: None,
            workload: &workload,
            seed: Some(7),
            source: None,
            config_xml: "<workload/>\n",
            config_yaml: "name: x\n",
            host: HostRecord::default(),
            submitted: at("18:53:50"),
        })
        .unwrap();
    let log = OpLog::create(run.path(), run.layout(), at("18:54:00")).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let mut all = OpSnapshot::default();
    let mut samples: Vec<Sample> = (0..READS + FAILED).map(sample).collect();
    samples.iter_mut().for_each(|sample| sample.end_ns += (sample.end_ns - sample.sent_ns) * (slower - 1));
    for (slice, part) in samples.chunks(101).enumerate() {
        let mut op = OpSnapshot::default();
        part.iter().for_each(|sample| op.add(sample, false));
        let (start_ns, end_ns) = (slice as u64 * 1_414_000_000, (slice as u64 + 1) * 1_414_000_000);
        let snapshot = Snapshot { work: 0, phase: Phase::Window, start_ns, end_ns, ops: vec![op.clone()] };
        let start = at("18:54:00") + std::time::Duration::from_nanos(start_ns);
        run.append_histograms(0, start, &snapshot).unwrap();
        let ended = start + std::time::Duration::from_nanos(1_414_000_000);
        run.append_interval(0, &TimelineRow { ended, seconds: 1.414, operations: vec![&op] }).unwrap();
        all.merge(&op);
    }
    let window = 30_000_000_000;
    let plan = SlicePlan {
        start_ns: 0,
        window_start_ns: 0,
        window_end_ns: window,
        stop_ns: window,
        slice_ns: 1_000,
    };
    let batch = OpBatch {
        driver: Arc::from("local"),
        stage: 0,
        work: 0,
        clock_offset_ns: 0,
        clock_error_ns: 0,
        plan,
        samples,
    };
    log.sender().send(batch).unwrap();
    log.finish().unwrap();
    let looks = [("18:54:10", 7.5), ("18:54:12", 8.0), ("18:54:16", 12.0)];
    run.append_nodes(looks.map(|(second, busy_s)| look(at(second), busy_s)).into()).unwrap();
    let probe = ProbeOperation {
        key: 0,
        process: 1,
        kind: ProbeKind::Write,
        call_ns: 5_000,
        return_ns: 6_000,
        value: 1,
        is_done: true,
    };
    let read = ProbeOperation { kind: ProbeKind::Read, call_ns: 7_000, return_ns: 8_000, ..probe };
    run.append_probes(0, "local", (1_000, 0), &[probe, read]).unwrap();
    let whole = (at("18:54:00"), std::time::Duration::from_nanos(window));
    run.append_size_histograms(0, 0, whole, std::slice::from_ref(&all)).unwrap();
    let mut stage = run.record().stages[0].clone();
    stage.set_results(&workload.stages[0], 0, &[(30.0, vec![all.clone()])]);
    stage.enter(StageState::Completed, at("18:54:30"));
    run.end_stage(0, stage).unwrap();
    let mut record = run.record().clone();
    record.state = RunState::Finished;
    record.ended = Some(at("18:54:31"));
    run.finish(&record, &[StageTables::of([&all])]).unwrap();
    run.path().to_owned()
}
