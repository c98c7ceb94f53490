//! COSBench's own files are the oracle: fed with COSBench's numbers, the writer has to give COSBench's bytes.

use cosmark_archive::{
    OperationResult, RunRecord, RunState, StageRecord, StageState, StageTables, TimelineRow, Timestamp,
    layout_of,
};
use cosmark_metrics::OpSnapshot;
use serde::Deserialize;

use crate::support::{cosbench, new_run, open, successes, text, workload};

fn number(field: &str) -> Option<f64> {
    field.trim_end_matches('%').parse().ok()
}

fn state_change(field: &str) -> (StageState, Timestamp) {
    let (state, at) = field.split_once(" @ ").unwrap();
    let state =
        StageState::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(state));
    (state.unwrap(), format!("{}Z", at.replace(' ', "T")).parse().unwrap())
}

/// What a summary line of COSBench says, as one of our records.
fn operation_of(fields: &[&str], empty: &OperationResult) -> OperationResult {
    let mut operation = empty.clone();
    operation.ok = fields[3].parse().unwrap();
    operation.bytes = fields[4].parse().unwrap();
    operation.first_byte_ms.mean = number(fields[6]);
    let response = &mut operation.response_ms;
    response.mean = number(fields[5]);
    [response.p60, response.p80, response.p90, response.p95, response.p99, response.max] =
        [7, 8, 9, 10, 11, 12].map(|at| number(fields[at]));
    operation.throughput_per_s = number(fields[13]);
    operation.bandwidth_bytes_per_s = number(fields[14]);
    operation.success_ratio = number(fields[15]).map(|percent| percent / 100.0);
    operation
}

/// Fills a record with what COSBench's summary says of the same workload.
fn record_of(summary: &str, mut record: RunRecord, model: &cosmark_workload::Workload) -> RunRecord {
    let empty = |stage: &StageRecord, index: usize| {
        let mut filled = stage.clone();
        let model = &model.stages[index];
        let none = model.works.iter().map(|work| (1.0, vec![OpSnapshot::default(); work.operations.len()]));
        filled.set_results(model, index, &none.collect::<Vec<_>>());
        filled.operations
    };
    let lines: Vec<Vec<&str>> = summary.lines().skip(1).map(|line| line.split(',').collect()).collect();
    for (index, stage) in record.stages.iter_mut().enumerate() {
        let mine: Vec<_> =
            lines.iter().filter(|fields| fields[0] == stage.id || fields[0] == stage.name).collect();
        stage.history.clear();
        for field in &mine[0][17..] {
            let (state, at) = state_change(field);
            stage.enter(state, at);
        }
        stage.operations = mine
            .iter()
            .zip(empty(stage, index))
            .map(|(fields, empty)| operation_of(fields, &empty))
            .collect();
    }
    record
}

#[test]
fn fed_with_cosbenchs_numbers_the_tables_are_cosbenchs_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let model = workload(&cosbench("mock-full.xml"));
    let archive = open(dir.path());
    let mut run = archive.begin(&cosmark_archive::NewRun { number: Some(3), ..new_run(&model) }).unwrap();
    let summary = cosbench("w3-mock-full.csv");
    let mut record = record_of(&summary, run.record().clone(), &model);
    record.state = RunState::Finished;
    let history = cosbench("run-history.csv");
    let dates: Vec<Timestamp> = history
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .skip(2)
        .take(3)
        .map(|date| format!("{}Z", date.replace(' ', "T")).parse().unwrap())
        .collect();
    (record.submitted, record.started, record.ended) = (Some(dates[0]), Some(dates[1]), Some(dates[2]));
    let tables: Vec<_> = layout_of(&model).iter().map(|_| StageTables::default()).collect();
    run.finish(&record, &tables).unwrap();
    let file = |name: &str| text(run.path().join(name));
    assert_eq!(file("w3-mock-full.csv"), summary);
    assert_eq!(file("scripts.log"), cosbench("scripts.log"));
    assert_eq!(text(dir.path().join("run-history.csv")), history);
    let ours = text(dir.path().join("workloads.csv"));
    let theirs = cosbench("workloads.csv");
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        // Config-Info: COSBench repeats inherited settings up to four times over.
        let without_config = |line: &str| line.rsplit_once(',').map(|(rest, _)| rest.to_owned());
        assert_eq!(without_config(ours), without_config(theirs));
    }
    let config =
        |text: &str, row: usize| text.lines().nth(row).unwrap().rsplit(',').next().unwrap().to_owned();
    assert_eq!(config(&ours, 4), config(&theirs, 4), "a write of the mix");
    assert_eq!(
        config(&ours, 4),
        "20% containers=u(1-4) objects=u(51-100) sizes=h(1|64|10-64|512|70-512|2048|20)KB"
    );
}

#[test]
fn a_stage_that_only_waits_looks_as_in_cosbench() {
    let dir = tempfile::tempdir().unwrap();
    let model = workload(&cosbench("delay.xml"));
    let mut run =
        open(dir.path()).begin(&cosmark_archive::NewRun { number: Some(2), ..new_run(&model) }).unwrap();
    let summary = cosbench("w2-delay-test.csv");
    let record = record_of(&summary, run.record().clone(), &model);
    run.finish(&record, &vec![StageTables::default(); 3]).unwrap();
    assert_eq!(text(run.path().join("w2-delay-test.csv")), summary);
    assert_eq!(text(run.path().join("s2-delay.csv")), "");
    let histogram = text(run.path().join("w2-delay-test-rt-histogram.csv"));
    assert!(histogram.starts_with("ResTime\n0~10\n10~20\n"), "COSBench's form without any operation");
    let history = text(dir.path().join("run-history.csv"));
    assert!(history.lines().nth(1).unwrap().contains(",init delay dispose,"), "{history}");
}

#[test]
fn timelines_have_cosbenchs_two_header_lines() {
    let dir = tempfile::tempdir().unwrap();
    let model = workload(&cosbench("mock-full.xml"));
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    for (stage, name) in [(0, "s1-init.csv"), (2, "s3-main.csv"), (3, "s4-two.csv")] {
        run.enter_stage(stage, StageState::Running, crate::support::at("18:54:00")).unwrap();
        let head = |text: String| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(head(text(run.path().join(name))), head(cosbench(name)));
    }
}

#[test]
fn the_histogram_has_cosbenchs_columns_and_those_that_cosbench_leaves_out() {
    let dir = tempfile::tempdir().unwrap();
    let model = workload(&cosbench("mock-full.xml"));
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let tables: Vec<_> = layout_of(&model)
        .iter()
        .map(|stage| {
            let ops: Vec<_> = stage.operations().map(|_| successes(3, 12.0, 1)).collect();
            StageTables::of(&ops)
        })
        .collect();
    let record = run.record().clone();
    run.finish(&record, &tables).unwrap();
    let ours = text(run.path().join("w1-mock-full-rt-histogram.csv"));
    let columns = |text: &str| text.lines().next().unwrap().split(',').map(str::to_owned).collect::<Vec<_>>();
    let mine = columns(&ours);
    assert!(columns(&cosbench("w3-mock-full-rt-histogram.csv")).iter().all(|label| mine.contains(label)));
    for left_out in [
        "s2-prepare-w1-prepare-prepare",
        "s4-two-w1-ra-1-read",
        "s4-two-w1-ra-2-read",
        "s5-cleanup-w1-cleanup-cleanup",
    ] {
        assert!(mine.contains(&left_out.to_owned()), "{left_out} is not in {mine:?}");
    }
    assert!(!mine.iter().any(|label| label.contains("init") || label.contains("dispose")));
    assert_eq!(ours.lines().count(), 50_002, "COSBench's 50 001 rows and the header");
    assert!(ours.contains("\n0~10,0,0%,0,0%") && ours.contains("\n10~20,3,100%,3,100%"));
    assert!(ours.contains("\n499990~500000,0,100%") && ours.ends_with('\n'));
    assert!(ours.lines().last().unwrap().starts_with("500000~+INF,0,100%,"));
}

#[test]
fn a_row_of_the_timeline_says_what_happened_in_its_interval() {
    let dir = tempfile::tempdir().unwrap();
    let model = workload(&cosbench("mock-full.xml"));
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    run.enter_stage(2, StageState::Running, crate::support::at("18:54:06")).unwrap();
    let (read, write) = (successes(9741, 1.2, 4000), successes(7, 1000.0, 5_000_000));
    let (mut delete, list) = (successes(3, 2.0, 0), crate::support::failures(2, "http_404"));
    delete.merge(&crate::support::failures(1, "timeout"));
    let row = TimelineRow {
        ended: crate::support::at("18:54:12"),
        seconds: 3.0,
        operations: vec![&read, &write, &delete, &list],
    };
    run.append_interval(2, &row).unwrap();
    run.append_interval(2, &row).unwrap();
    let file = text(run.path().join("s3-main.csv"));
    let expected = "18:54:12,9741,7,3,0,38964000,35000000,0,0,1.2,1000,2,N/A,0.6,500,1,N/A,3247,2.33,1,0,\
                    12988000,11666666.67,0,0,100%,100%,75%,0%,";
    let rows: Vec<_> = file.lines().skip(2).collect();
    assert_eq!(rows, [format!("{expected}0,0,0"), format!("{expected}1,1,1")]);
}
