//! The tables where COSBench gives no example: odd names, withheld percentiles, stages that never ran.

use cosmark_archive::{RunState, StageState, StageTables, open_run};
use cosmark_metrics::OpSnapshot;

use crate::support::{at, mixed, new_run, open, run_to_the_end, successes, text};

#[test]
fn names_with_commas_quotes_slashes_and_unicode_survive() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = mixed("4 KB, \"hot\" / ünï");
    model.stages[0].name = "a,b/c \"d\"".to_owned();
    model.stages[0].works[0].operations[0].name = "my,read".to_owned();
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let note = run.renamed().unwrap();
    assert!(note.contains("w1-4 KB, \"hot\" _ ünï"), "{note}");
    let path = run_to_the_end(run, &model, &[successes(5, 1.0, 10), successes(5, 1.0, 10)]);
    assert_eq!(path, dir.path().join("w1-4 KB, \"hot\" _ ünï"));
    let summary = text(path.join("w1-4 KB, \"hot\" _ ünï.csv"));
    let row = summary.lines().nth(1).unwrap();
    assert!(row.starts_with("\"s1-a,b/c \"\"d\"\"\",\"my,read-read\",read,5,50,1,0.5,N/A,"), "{row}");
    assert!(path.join("s1-a,b_c \"d\".csv").is_file(), "the timeline of the stage");
    let history = text(dir.path().join("run-history.csv"));
    assert!(history.contains("\nw1,\"4 KB, \"\"hot\"\" / ünï\",2026-11-21 18:53:50,"), "{history}");
    let run = open_run(&path).unwrap();
    assert_eq!(run.record.name, "4 KB, \"hot\" / ünï");
    let timeline = run.timeline(&run.record.stages[0]).unwrap();
    assert_eq!(timeline[0].operations[0].label, "my,read-read");
}

#[test]
fn a_percentile_that_the_data_cannot_support_is_not_available() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("few");
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let path = run_to_the_end(run, &model, &[successes(100, 4.0, 10), OpSnapshot::default()]);
    let summary = text(path.join("w1-few.csv"));
    let rows: Vec<_> = summary.lines().collect();
    let values = |row: &str| row.split(',').skip(3).take(13).map(str::to_owned).collect::<Vec<_>>().join(",");
    // 100 operations carry the 90th percentile (10 beyond it), not the 95th. HdrHistogram's values are 0.1 % wide.
    let response: Vec<_> = rows[1].split(',').skip(7).take(6).collect();
    assert_eq!((response[3], response[4]), ("N/A", "N/A"), "{}", rows[1]);
    for value in [response[0], response[1], response[2], response[5]] {
        let ms: f64 = value.parse().unwrap();
        assert!((4.0..4.01).contains(&ms), "{}", rows[1]);
    }
    assert_eq!(values(rows[2]), "0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,0,0,N/A");
    let histogram = text(path.join("w1-few-rt-histogram.csv"));
    let head = histogram.lines().next().unwrap();
    assert_eq!(head, "ResTime,s1-main-w1-main-read,(%)", "no column for an operation without a success");
}

#[test]
fn a_cancelled_run_has_all_its_files_and_says_what_never_ran() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = mixed("cancelled");
    let second = cosmark_workload::model::Stage { name: "later".into(), ..model.stages[0].clone() };
    model.stages.push(second);
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    run.enter_stage(0, StageState::Cancelled, at("18:54:10")).unwrap();
    run.enter_stage(1, StageState::Aborted, at("18:54:10")).unwrap();
    let mut record = run.record().clone();
    record.state = RunState::Cancelled;
    record.reason = Some("cancelled by the user".into());
    record.ended = Some(at("18:54:11"));
    run.finish(&record, &[StageTables::default(), StageTables::default()]).unwrap();
    let summary = text(run.path().join("w1-cancelled.csv"));
    let fields: Vec<_> = summary.lines().nth(2).unwrap().split(',').collect();
    assert_eq!(fields[0], "later", "COSBench gives the bare name of a stage without results");
    assert!(fields[1..16].iter().all(|field| *field == "N/A") && fields[16] == "aborted", "{fields:?}");
    assert_eq!(text(run.path().join("s2-later.csv")), "");
    let history = text(dir.path().join("run-history.csv"));
    assert!(history.lines().nth(1).unwrap().ends_with(
        ",read write,cancelled,queuing @ 2026-11-21 18:53:50,processing @ 2026-11-21 18:54:00,cancelled @ 2026-11-21 18:54:11"
    ), "{history}");
    // A second call, after an error say, does not add the run to the index again.
    run.finish(&record, &[StageTables::default(), StageTables::default()]).unwrap();
    assert_eq!(text(dir.path().join("run-history.csv")), history);
    let read = open_run(run.path()).unwrap().record;
    assert_eq!((read.state, read.process), (RunState::Cancelled, None));
    assert_eq!(read.stages[1].started, None);
}

#[test]
fn the_given_files_are_kept_and_hidden_from_scripts_that_look_for_stages() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("kept");
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    assert_eq!(run.renamed(), None);
    assert_eq!(text(run.path().join("source/s3-sample.xml")), "<workload/>");
    assert_eq!(text(run.path().join("workload.yaml")), "name: x\n");
    assert_eq!(text(run.path().join("workload-config.xml")), "<workload/>\n");
    let stray = std::fs::read_dir(run.path()).unwrap().any(|entry| {
        let name = entry.unwrap().file_name();
        name.to_string_lossy().starts_with('s') && name.to_string_lossy().as_bytes()[1].is_ascii_digit()
    });
    assert!(!stray, "no stage ran, so nothing may look like a stage's timeline");
}

#[test]
fn logs_have_cosbenchs_form_and_a_bounded_size() {
    use cosmark_archive::ScriptLevel;
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("logs");
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    run.log(at("18:54:00.123"), "INFO", "controller", "first\nsecond").unwrap();
    let bars = |text: &str| format!("{0} {text} {0}\n", "=".repeat(50));
    assert_eq!(
        text(run.path().join("workload.log")),
        bars("stage: s1-main") + "2026-11-21 18:54:00,123 [INFO] [controller] - first\n    second\n"
    );
    run.script_output(ScriptLevel::Stage(0), "iostat").unwrap();
    run.script_output(ScriptLevel::Workload, &"ä".repeat(1 << 20)).unwrap();
    run.script_output(ScriptLevel::Workload, "more").unwrap();
    let log = text(run.path().join("scripts.log"));
    assert!(log.len() < (1 << 20) + 1000 && log.contains("[the rest was cut]\n"));
    assert!(log.ends_with(&(bars("stage: s1-main") + "iostat\n")));
    assert!(run.script_output(ScriptLevel::Stage(9), "x").is_err());
}
