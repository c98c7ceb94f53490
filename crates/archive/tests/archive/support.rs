//! Workloads, samples and runs for the tests.

use std::path::{Path, PathBuf};

use cosmark_archive::{
    Archive, HostRecord, NewRun, RunDir, RunRecord, RunState, Source, StageState, StageTables, TimeZone,
    Timestamp,
};
use cosmark_metrics::{OpSnapshot, Outcome, Phase, Sample, Snapshot};
use cosmark_workload::{Format, Workload};

/// Reports that this test could not run here. It writes past the capture of the test program's output: `make test` counts
/// such lines, as skipped and not as passed.
pub fn skipped(why: &str) {
    use std::io::Write;
    let test = std::thread::current();
    drop(writeln!(std::io::stderr(), "SKIPPED test {}: {why}", test.name().unwrap_or("?")));
}

/// A file that COSBench wrote.
pub fn cosbench(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cosbench").join(name);
    std::fs::read_to_string(path).unwrap()
}

pub fn workload(xml: &str) -> Workload {
    let (workload, mistakes) = cosmark_workload::parse(xml, Format::Xml, &Default::default());
    workload.unwrap_or_else(|| panic!("{mistakes:?}"))
}

/// One stage `main` with one work: 80 % reads, 20 % writes.
pub fn mixed(name: &str) -> Workload {
    let mut workload = workload(
        r#"<workload name="x"><storage type="none"/><workflow><workstage name="main">
           <work name="main" workers="4" runtime="30">
             <operation type="read" ratio="80" config="containers=u(1,2);objects=u(1,9)"/>
             <operation type="write" ratio="20" config="containers=u(1,2);objects=u(1,9);sizes=c(4)KB"/>
           </work></workstage></workflow></workload>"#,
    );
    workload.name = name.to_owned();
    workload
}

pub fn at(text: &str) -> Timestamp {
    format!("2026-11-21T{text}Z").parse().unwrap()
}

pub fn new_run(workload: &Workload) -> NewRun<'_> {
    NewRun {
        number: None,
        workload,
        seed: Some(7),
        source: Some(Source { file_name: "s3-sample.xml", text: "<workload/>" }),
        config_xml: "<workload/>\n",
        config_yaml: "name: x\n",
        host: HostRecord { hostname: "bench1".into(), cpus: 4, kernel: "Linux 6.1".into() },
        submitted: at("18:53:50"),
    }
}

pub fn open(root: &Path) -> Archive {
    Archive::open(root).unwrap().with_zone(TimeZone::UTC)
}

/// `count` successes of `ms` each, first byte after half of it.
pub fn successes(count: u64, ms: f64, bytes: u64) -> OpSnapshot {
    let ns = (ms * 1e6) as u64;
    let sample = Sample {
        due_ns: 1,
        sent_ns: 1,
        first_byte_ns: 1 + ns / 2,
        end_ns: 1 + ns,
        bytes,
        requests: 1,
        ..Sample::default()
    };
    let mut op = OpSnapshot::default();
    (0..count).for_each(|_| op.add(&sample, false));
    op
}

/// `count` failures.
pub fn failures(count: u64, label: &str) -> OpSnapshot {
    let sample = Sample { end_ns: 5, outcome: Outcome::failed(label), requests: 1, ..Sample::default() };
    let mut op = OpSnapshot::default();
    (0..count).for_each(|_| op.add(&sample, false));
    op
}

pub fn slice(work: u16, phase: Phase, seconds: u64, ops: Vec<OpSnapshot>) -> Snapshot {
    Snapshot { work, phase, start_ns: 0, end_ns: seconds * 1_000_000_000, ops }
}

/// Runs the one stage of [`mixed`] to its end.
pub fn run_to_the_end(mut run: RunDir, workload: &Workload, ops: &[OpSnapshot]) -> PathBuf {
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let mut stage = run.record().stages[0].clone();
    stage.set_results(&workload.stages[0], 0, &[(30.0, ops.to_vec())]);
    stage.enter(StageState::Completed, at("18:54:30"));
    run.end_stage(0, stage).unwrap();
    let mut record: RunRecord = run.record().clone();
    record.state = RunState::Finished;
    record.ended = Some(at("18:54:31"));
    run.finish(&record, &[StageTables::of(ops)]).unwrap();
    run.path().to_owned()
}

pub fn text(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
