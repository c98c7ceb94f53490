//! Rates that look simple and are not: lower than one operation in the window's last second, steps down to next to nothing,
//! pauses longer than what is left, operations longer than the window. What is reported is what a store of our own logged.

use cosmark_archive::{OperationResult, RunRecord, open_run};
use cosmark_simstore::{Behaviour, LogRecord, Op, SimStore};

use crate::support::{cosmark, stderr};
use crate::table::Attacks;

/// Name, how it is started, seconds of its window, and how many are due in it; `None` where no clock says it.
type Row = (&'static str, &'static str, f64, Option<u64>);

const ROWS: &[Row] = &[
    ("second", "rate: 1/s, runtime: 6s", 6.0, Some(6)),
    ("rare", "rate: 0.4/s, runtime: 6s", 6.0, Some(3)),
    ("once", "rate: 0.1/s, runtime: 6s", 6.0, Some(1)),
    (
        "step",
        "rate: {shape: step, steps: [{rate: 100/s, for: 1500ms}, {rate: 0.1/s, for: 10s}]}, runtime: 6s",
        6.0,
        Some(151),
    ),
    (
        "quiet",
        "rate: {shape: step, steps: [{rate: 20/s, for: 2s}, {rate: 0.01/s, for: 1s}]}, runtime: 5s",
        5.0,
        Some(41),
    ),
    ("ramp", "rate: {shape: ramp, from: 40/s, to: 0.1/s}, runtime: 4s", 4.0, Some(81)),
    ("ramps", "rate: 0.5/s, rampup: 1s, runtime: 4s, rampdown: 1s", 4.0, Some(2)),
    ("fast", "rate: 300/s, runtime: 3s", 3.0, Some(900)),
    ("think", "pace: {think_time: 1700ms}, runtime: 6s", 6.0, None),
    ("pace", "pace: {rate_per_worker: 0.3/s}, runtime: 6s", 6.0, None),
    ("closed", "runtime: 2s", 2.0, None),
];

fn workload(url: &str) -> String {
    let mut text = format!(
        "name: rates\nseed: 7\nstorage: {{type: s3, endpoint: '{url}', accesskey: a, secretkey: b, path_style_access: true}}\n\
         stages:\n  - name: main\n    thresholds: ['second.p50 <= 10 s', 'throughput >= 1/s']\n    works:\n"
    );
    for (name, load, ..) in ROWS {
        text.push_str(&format!(
            "      - {{name: {name}, workers: 2, interval: 2s, {load}, operations: [{{type: read, name: {name}, containers: c(1), \
             objects: 'u(1,9)', object_prefix: {name}-}}]}}\n"
        ));
    }
    text
}

fn of<'a>(record: &'a RunRecord, name: &str) -> &'a OperationResult {
    record.stages[0].operations.iter().find(|op| op.work == name).unwrap()
}

/// What is wrong with a row, if anything.
fn against_the_log(row: &Row, op: &OperationResult, log: &[LogRecord]) -> Result<String, String> {
    let (name, _, seconds, due) = row;
    let served =
        log.iter().filter(|one| one.op == Op::Get && one.object.starts_with(&format!("{name}-"))).count();
    let ended = op.ok + op.failed;
    let reported = op.throughput_per_s.unwrap_or(f64::NAN) * seconds;
    let told =
        format!("{:.4}/s reported, {served} requests in the log", op.throughput_per_s.unwrap_or(f64::NAN));
    let wrong = |what: String| Err(format!("{what}; {told}"));
    if (op.window_s - seconds).abs() > 1e-6 {
        return wrong(format!("a window of {} s for {seconds} s", op.window_s));
    }
    if (reported - op.ok as f64).abs() > 1e-6 * reported.max(1.0) {
        return wrong(format!("{} operations, the rate says {reported}", op.ok));
    }
    // What is in the log and did not end in the window was sent in a ramp, or had not ended; on a machine that stands still
    // over an edge that is more than one.
    let ramps = if *name == "ramps" { 2 } else { 0 };
    if !(ended..=ended + op.unfinished + ramps).contains(&(served as u64)) {
        return wrong(format!("{ended} ended and {} had not", op.unfinished));
    }
    if let Some(due) = due.filter(|due| Some(*due) != op.intended) {
        return wrong(format!("{due} are due, {:?} were", op.intended));
    }
    Ok(told)
}

#[test]
fn rates_of_any_schedule_are_what_the_stores_log_says() {
    let store =
        Behaviour::from_yaml("store: {mode: 'null', null_bytes: 1024}\ntime_zero: first_request\n").unwrap();
    let store = SimStore::start(store, "127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("rates.yaml"), workload(&store.url())).unwrap();
    let output = cosmark(directory.path())
        .args(["run", "rates.yaml", "--json", "--quiet", "--archive", "archive"])
        .output()
        .unwrap();
    let record: RunRecord =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", stderr(&output)));
    let log = store.log().unwrap();
    store.stop();
    let mut attacks = Attacks::on("rates");
    for row in ROWS {
        attacks.tell(row.1, row.0, against_the_log(row, of(&record, row.0), &log));
    }
    let verdict = record.verdict.checks.iter().filter(|check| check.id == "V4");
    for check in
        verdict.filter(|check| check.message.contains("was to be") || check.message.contains("schedule of"))
    {
        attacks.tell("every schedule at once", "V4", Err(check.message.clone()));
    }
    tables(&mut attacks, &record, directory.path());
}

/// COSBench's tables, the intervals and the thresholds say the same.
fn tables(attacks: &mut Attacks, record: &RunRecord, directory: &std::path::Path) {
    let run = open_run(&directory.join("archive/w1-rates")).unwrap();
    let summary = std::fs::read_to_string(directory.join("archive/w1-rates/w1-rates.csv")).unwrap();
    let rows: Vec<Vec<&str>> = summary.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let timeline = run.timeline(&record.stages[0]).unwrap();
    let mut intervals: std::collections::BTreeMap<String, (u64, f64)> = std::collections::BTreeMap::new();
    run.intervals(|line| {
        if line.phase == "window" {
            let (count, end_s) = intervals.entry(line.tag).or_default();
            *count += line.ok;
            *end_s = end_s.max(line.end_s);
        }
    })
    .unwrap();
    for (at, op) in record.stages[0].operations.iter().enumerate() {
        let rate = op.throughput_per_s.unwrap_or(f64::NAN);
        let said: f64 = rows[at][13].parse().unwrap();
        let tells = |is_right: bool, what: String| if is_right { Ok(what) } else { Err(what) };
        let what = format!("{said}/s, run.json {rate}/s");
        attacks.tell("throughput of the CSV", &op.work, tells((said - rate).abs() <= 0.005 * rate, what));
        let (count, end_s) = intervals.get(&op.tag).copied().unwrap_or_default();
        let planned_s = op.window_s + if op.work == "ramps" { 1.0 } else { 0.0 };
        let what = format!("{count} of {} operations, to {end_s} s of {planned_s} s", op.ok);
        attacks.tell(
            "intervals.csv",
            &op.work,
            tells(count == op.ok && (end_s - planned_s).abs() < 0.002, what),
        );
        let row = |one: &cosmark_archive::TimelineEntry| one.operations.get(at).map_or(0, |own| own.count);
        let all: u64 = timeline.iter().map(row).sum();
        let most = op.ok + op.unfinished + 2;
        attacks.tell(
            "rows of the stage's CSV",
            &op.work,
            tells((op.ok..=most).contains(&all), format!("{all} of {}", op.ok)),
        );
    }
    let all: f64 = record.stages[0].operations.iter().filter_map(|op| op.throughput_per_s).sum();
    let threshold = record.thresholds.iter().find(|one| one.metric == "throughput").unwrap();
    let what = format!("{:?}, the rates add up to {all}", threshold.value);
    let is_right = threshold.value.is_some_and(|value| (value - all).abs() < 1e-6 * all);
    attacks.tell("a threshold on throughput", "all works", if is_right { Ok(what) } else { Err(what) });
}
