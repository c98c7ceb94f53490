//! Writes the archive of a whole study without a store: two systems, twelve workloads each, eighteen stages a workload,
//! with times drawn from a fixed law. For trying out what reads archives, such as plot scripts:
//! `cargo run -p cosmark-archive --example synthetic_matrix -- DIRECTORY [INTERVALS [WORKLOADS]]`;
//! with a third argument only so many of the workloads.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use cosmark_archive::{
    Archive, HostRecord, NewRun, RunDir, RunState, StageState, StageTables, TimelineRow, Timestamp,
};
use cosmark_metrics::{OpSnapshot, Outcome, Phase, Sample, Snapshot};
use cosmark_workload::model::OpKind;
use cosmark_workload::{Format, Workload};

const SIZES: [(&str, &str, u64); 6] = [
    ("4kb", "(4)KB", 4_000),
    ("128kb", "(128)KB", 128_000),
    ("512kb", "(512)KB", 512_000),
    ("1024kb", "(1024)KB", 1_024_000),
    ("5mb", "(5)MB", 5_000_000),
    ("10mb", "(10)MB", 10_000_000),
];
const WORKERS: [u32; 6] = [1, 16, 64, 128, 256, 512];
const MIXES: [(u32, u32, u32); 3] = [(80, 15, 5), (100, 0, 0), (0, 100, 0)];
const INTERVAL_S: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let root = PathBuf::from(args.next().ok_or("give a directory for the archive")?);
    let intervals = args.next().map_or(Ok(12), |text| text.parse())?;
    let most = args.next().map_or(Ok(usize::MAX), |text| text.parse())?;
    let archive = Archive::open(&root)?;
    let mut noise = Noise(42);
    let cells = [1.0, 1.6].into_iter().flat_map(|system| {
        [1, 20].into_iter().flat_map(move |containers| SIZES.map(|size| (system, containers, size)))
    });
    for (system, containers, (name, sizes, bytes)) in cells.take(most) {
        let workload = workload(&format!("{containers}cont_{name}"), containers, sizes)?;
        // A system's speed, and what its network adds for each byte.
        let base_ms = 2.0 * system + bytes as f64 / 100_000.0;
        write_run(&archive, &workload, base_ms, bytes, intervals, &mut noise)?;
    }
    Ok(())
}

/// A workload of the matrix, named as COSBench's matrix form names them.
fn workload(name: &str, containers: u32, sizes: &str) -> Result<Workload, Box<dyn Error>> {
    let all = format!("containers=r(1,{containers});objects=r(1,1000)");
    let some = format!("containers=u(1,{containers});objects=u(1,1000)");
    let mut xml = format!("<workload name=\"{name}\"><storage type=\"none\"/><workflow>");
    write!(
        xml,
        "<workstage name=\"init\"><work type=\"init\" workers=\"1\" config=\"{all}\"/></workstage>\
         <workstage name=\"prepare\"><work type=\"prepare\" workers=\"8\" config=\"{all};sizes=c{sizes}\"/></workstage>"
    )?;
    for workers in WORKERS {
        for (r, w, d) in MIXES {
            let stage = format!("w{sizes}_c{containers}_o1000_r{r}w{w}d{d}_{workers}");
            write!(
                xml,
                "<workstage name=\"{stage}\"><work name=\"main\" workers=\"{workers}\" runtime=\"600\">"
            )?;
            for (kind, ratio, sizes) in [
                ("read", r, String::new()),
                ("write", w, format!(";sizes=c{sizes}")),
                ("delete", d, String::new()),
            ] {
                if ratio > 0 {
                    write!(xml, "<operation type=\"{kind}\" ratio=\"{ratio}\" config=\"{some}{sizes}\"/>")?;
                }
            }
            xml.push_str("</work></workstage>");
        }
    }
    write!(
        xml,
        "<workstage name=\"cleanup\"><work type=\"cleanup\" workers=\"8\" config=\"{all}\"/></workstage>\
         <workstage name=\"dispose\"><work type=\"dispose\" workers=\"1\" config=\"{all}\"/></workstage>\
         </workflow></workload>"
    )?;
    let (workload, mistakes) =
        cosmark_workload::parse(&xml, Format::Xml, &cosmark_workload::Environment::default());
    workload.ok_or_else(|| format!("{mistakes:?}").into())
}

fn write_run(
    archive: &Archive,
    workload: &Workload,
    base_ms: f64,
    bytes: u64,
    intervals: u64,
    noise: &mut Noise,
) -> Result<(), Box<dyn Error>> {
    let mut clock: Timestamp = "2026-01-05T08:00:00Z".parse()?;
    let mut run = archive.begin(&NewRun {
        number: None,
        workload,
        seed: Some(42),
        source: None,
        config_xml: &cosmark_workload::to_expanded_xml(workload, |_, _| false).0,
        config_yaml: &cosmark_workload::to_yaml(workload),
        host: HostRecord { hostname: "synthetic".into(), cpus: 1, kernel: "none".into() },
        submitted: clock,
    })?;
    let mut tables = Vec::new();
    for stage in 0..workload.stages.len() {
        tables.push(write_stage(&mut run, workload, stage, &mut clock, (base_ms, bytes, intervals), noise)?);
    }
    let mut record = run.record().clone();
    (record.state, record.ended) = (RunState::Finished, Some(clock));
    run.finish(&record, &tables)?;
    Ok(())
}

fn write_stage(
    run: &mut RunDir,
    workload: &Workload,
    index: usize,
    clock: &mut Timestamp,
    (base_ms, bytes, intervals): (f64, u64, u64),
    noise: &mut Noise,
) -> Result<StageTables, Box<dyn Error>> {
    let stage = workload.stages.get(index).ok_or("no such stage")?;
    let work = stage.works.first().ok_or("every stage here has a work")?;
    let main = work.name == "main";
    let intervals = if main { intervals } else { 1 };
    run.enter_stage(index, StageState::Running, *clock)?;
    let mut sums = vec![OpSnapshot::default(); work.operations.len()];
    for _ in 0..intervals {
        let start = *clock;
        *clock += jiff::SignedDuration::from_secs(i64::try_from(INTERVAL_S)?);
        let ops: Vec<_> = work
            .operations
            .iter()
            .map(|operation| {
                let body = if matches!(operation.kind, OpKind::Delete | OpKind::Cleanup) { 0 } else { bytes };
                interval(operation.weight, work.workers, base_ms, body, noise)
            })
            .collect();
        sums.iter_mut().zip(&ops).for_each(|(sum, op)| sum.merge(op));
        let row = TimelineRow { ended: *clock, seconds: INTERVAL_S as f64, operations: ops.iter().collect() };
        run.append_interval(index, &row)?;
        let snapshot =
            Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: INTERVAL_S * 1_000_000_000, ops };
        run.append_histograms(index, start, &snapshot)?;
    }
    let mut record = run.record().stages.get(index).ok_or("no such stage")?.clone();
    record.set_results(stage, index, &[((intervals * INTERVAL_S) as f64, sums.clone())]);
    record.enter(StageState::Completed, *clock);
    run.end_stage(index, record)?;
    Ok(StageTables::of(&sums))
}

/// What one operation does in one interval: a store that saturates at about 128 workers.
fn interval(weight: f64, workers: u32, base_ms: f64, bytes: u64, noise: &mut Noise) -> OpSnapshot {
    let load = f64::from(workers) / 128.0;
    let mut op = OpSnapshot::default();
    let operations =
        (weight * f64::from(workers.min(128)) / (1.0 + load) / 4.0).max(2.0) * (0.9 + 0.2 * noise.next());
    for _ in 0..operations as u64 {
        let ms = base_ms * (1.0 + load) * (0.5 - noise.next().max(1e-9).ln());
        let ns = (ms * 1e6) as u64;
        let failed = noise.next() < 0.002;
        op.add(
            &Sample {
                due_ns: 1,
                sent_ns: 1,
                first_byte_ns: 1 + ns / 3,
                end_ns: 1 + ns,
                bytes,
                status: if failed { 503 } else { 200 },
                outcome: if failed { Outcome::failed("http_503") } else { Outcome::OK },
                requests: 1,
                ..Sample::default()
            },
            false,
        );
    }
    op
}

/// A fixed sequence of numbers in 0..1 (Knuth's MMIX generator).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
