//! A run that is killed, and disks that refuse.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{
    EventKind, IntervalLine, NewRun, OpBatch, OpLog, RunState, Source, StageRecord, StageState, TimeKind,
    TimelineEntry, TimelineRow, add_note, list, open_run,
};
use cosmark_metrics::{OpSnapshot, Phase, Sample, SlicePlan};
use cosmark_workload::model::Stage;
use cosmark_workload::{Format, Workload};

use crate::support::{at, mixed, new_run, open, run_to_the_end, skipped, slice, successes, text};

const ROOT: &str = "COSMARK_TEST_ROOT";

/// The body of the process that is killed: see the test below.
#[test]
#[ignore = "started by a_killed_run_leaves_what_it_had_and_says_so"]
fn child_waits_to_be_killed() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let model = mixed("killed");
    let mut run = open(root.as_ref()).begin(&new_run(&model)).unwrap();
    let log = OpLog::create(run.path(), run.layout(), at("18:53:50")).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let (read, write) = (successes(30, 2.0, 100), successes(10, 4.0, 100));
    for _ in 0..3 {
        let row = TimelineRow { ended: at("18:54:05"), seconds: 5.0, operations: vec![&read, &write] };
        run.append_interval(0, &row).unwrap();
        let snapshot = slice(0, Phase::Window, 5, vec![read.clone(), write.clone()]);
        run.append_histograms(0, at("18:54:00"), &snapshot).unwrap();
    }
    // A full part and a rest: the part has to survive.
    let samples = vec![Sample { end_ns: 5, ..Sample::default() }; 1 << 16];
    let plan = SlicePlan { start_ns: 0, window_start_ns: 0, window_end_ns: 9, stop_ns: 9, slice_ns: 1 };
    for _ in 0..17 {
        let batch = OpBatch {
            driver: Arc::from("d"),
            stage: 0,
            work: 0,
            clock_offset_ns: 0,
            clock_error_ns: 0,
            plan,
            samples: samples.clone(),
        };
        log.sender().send(batch).unwrap();
    }
    let part = run.path().join("operations.part-00001.parquet");
    for _ in 0..18_000 {
        if part.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut out = std::io::stdout();
    out.write_all(b"\nready\n").unwrap();
    out.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(120));
}

#[test]
fn a_killed_run_leaves_what_it_had_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_waits_to_be_killed", "--ignored", "--nocapture"])
        .env(ROOT, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    let path = dir.path().join("w1-killed");
    assert_eq!(open_run(&path).unwrap().record.state, RunState::Running, "while its process lives");
    child.kill().unwrap();
    child.wait().unwrap();

    let run = open_run(&path).unwrap();
    assert_eq!(run.record.state, RunState::Killed);
    assert!(run.record.reason.as_deref().unwrap().contains("killed"));
    assert_eq!(run.record.stages[0].state, StageState::Terminated);
    let reason = run.record.stages[0].reason.as_deref().unwrap();
    assert!(reason.starts_with("cut while running") && reason.contains("workload.yaml"), "{reason}");
    let timeline = run.timeline(&run.record.stages[0]).unwrap();
    assert_eq!(timeline.iter().map(|row| row.operations[0].count).sum::<u64>(), 90);
    let read =
        cosmark_archive::HistogramLog::merged(&path, "s1-main.read", TimeKind::Response).unwrap().unwrap();
    assert_eq!(read.len(), 90);
    let rows = run.operations().unwrap().unwrap();
    let count = rows.map(Result::unwrap).count();
    assert!(count >= 1_000_000, "{count} rows of the part that was closed");
    assert!(text(path.join("run.json")).contains("\"state\": \"running\""), "the file itself is not touched");
    let listed = cosmark_archive::list(dir.path()).unwrap();
    assert_eq!(listed[0].record.as_ref().unwrap().as_ref().unwrap().state, RunState::Killed);
    assert_eq!(cosmark_archive::killed_runs(dir.path()).unwrap(), [(1, path)]);
}

#[test]
fn killed_runs_are_found_among_those_that_live_are_over_or_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let archive = open(dir.path());
    let model = mixed("any");
    let paths: Vec<_> = (0..6).map(|_| archive.begin(&new_run(&model)).unwrap().path().to_owned()).collect();
    let write = |at: usize, change: &dyn Fn(&mut serde_json::Value)| {
        let file = paths[at].join("run.json");
        let mut record: serde_json::Value = serde_json::from_str(&text(&file)).unwrap();
        // No process was ever started so early.
        record["process"]["started_ticks"] = 0.into();
        change(&mut record);
        std::fs::write(file, record.to_string()).unwrap();
    };
    // The first lives: it is this process.
    write(1, &|_| {});
    write(2, &|record| record["state"] = "finished".into());
    write(3, &|record| record["schema"] = 99.into());
    write(4, &|record| record["process"]["hostname"] = "elsewhere.example".into());
    std::fs::write(paths[5].join("run.json"), "{\"schema\": 1, \"state\": \"running\"").unwrap();
    std::fs::create_dir(dir.path().join("w9-hollow")).unwrap();
    assert_eq!(cosmark_archive::killed_runs(dir.path()).unwrap(), [(2, paths[1].clone())]);
    assert!(cosmark_archive::killed_runs(&dir.path().join("nowhere")).is_err());
}

#[test]
fn a_run_that_is_dropped_in_the_middle_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("dropped");
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let path = run.path().to_owned();
    drop(run);
    let run = open_run(&path).unwrap();
    assert_eq!((run.record.state, run.record.seed), (RunState::Running, Some(7)));
    assert_eq!(run.timeline(&run.record.stages[0]).unwrap(), []);
    assert_eq!(run.histograms().unwrap().count(), 0);
    assert!(run.operations().unwrap().is_none());
}

#[test]
fn stages_that_the_workload_does_not_have_take_nothing_from_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = mixed("renamed");
    for name in ["lost", "known"] {
        let stage = Stage { name: name.to_owned(), ..model.stages[0].clone() };
        model.stages.push(stage);
    }
    // Two of its stages have other names by now.
    let mut other = model.clone();
    (other.stages[0].name, other.stages[1].name) = ("one".to_owned(), "two".to_owned());
    let yaml = cosmark_workload::to_yaml(&other);
    let archive = open(dir.path());
    let mut run = archive.begin(&NewRun { config_yaml: &yaml, ..new_run(&model) }).unwrap();
    let ops = [successes(30, 2.0, 100), successes(10, 4.0, 100)];
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let mut stage = run.record().stages[0].clone();
    stage.set_results(&model.stages[0], 0, &[(30.0, ops.to_vec())]);
    stage.enter(StageState::Completed, at("18:54:30"));
    run.end_stage(0, stage).unwrap();
    for at_stage in [1, 2] {
        run.enter_stage(at_stage, StageState::Running, at("18:55:00")).unwrap();
        run.append_histograms(at_stage, at("18:55:00"), &slice(0, Phase::Window, 5, ops.to_vec())).unwrap();
    }
    let path = run.path().to_owned();
    drop(run);
    let table = path.join("intervals.csv");
    let line = |stage: &str| format!("{stage},{stage}.read,d,window,0,5,30,0,0,0,3000,0,,30,0,1,\n");
    std::fs::write(&table, text(&table) + &line("s2-lost") + &line("s3-known")).unwrap();

    let killed = archive.take_up_killed(&path, true).unwrap().unwrap();
    let record = killed.run.record.clone();
    killed.end(&record).unwrap();
    let [main, lost, known] = record.stages.as_slice() else { panic!("{:?}", record.stages) };
    assert_eq!((main.operations[0].ok, known.operations[0].ok, lost.operations.len()), (30, 30, 0));
    assert_eq!((known.cut_s, lost.cut_s), (Some(5.0), None));
    let says = |stage: &StageRecord| {
        stage.reason.clone().is_some_and(|reason| reason.contains("no stage of this name"))
    };
    assert_eq!((says(main), says(lost), says(known)), (false, true, false), "{lost:?}");
    let rows = text(path.join("w1-renamed.csv"));
    for begin in ["s1-main,read,read,30,", "s1-main,write,write,10,", "lost,N/A,", "s3-known,read,read,30,"] {
        assert_eq!(rows.lines().filter(|line| line.starts_with(begin)).count(), 1, "{begin}: {rows}");
    }
    assert!(text(dir.path().join("workloads.csv")).contains("w1-s3-known-1,read,30,"));
}

/// Successes, and the mean of their times in ms, that the timeline of a run has row by row when it was killed after `rows` and
/// these `lines` (from, to, successes) were written, and was ended.
fn timeline_after(rows: &[u64], lines: &[(f64, f64, u64)]) -> Vec<(u64, Option<f64>)> {
    let dir = tempfile::tempdir().unwrap();
    let mut model = mixed("rows");
    model.stages[0].works[0].interval = Duration::from_secs(5);
    let yaml = cosmark_workload::to_yaml(&model);
    let archive = open(dir.path());
    let mut run = archive.begin(&NewRun { config_yaml: &yaml, ..new_run(&model) }).unwrap();
    run.set_load_started(0, at("18:54:00"));
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let nothing = OpSnapshot::default();
    for count in rows {
        let operations = [successes(*count, 2.0, 100), nothing.clone()];
        let ended = at("18:54:05");
        run.append_interval(0, &TimelineRow { ended, seconds: 5.0, operations: operations.iter().collect() })
            .unwrap();
    }
    for (from, to, count) in lines {
        let ops = [successes(*count, 2.0, 100), nothing.clone()];
        let began = at("18:54:00") + Duration::from_secs_f64(*from);
        run.append_histograms(0, began, &slice(0, Phase::Window, 1, ops.to_vec())).unwrap();
        let line = |op: &OpSnapshot| IntervalLine::of("d", Phase::Window, *from, *to, op);
        run.append_work_interval(0, 0, ops.iter().map(line).collect()).unwrap();
    }
    let path = run.path().to_owned();
    drop(run);
    let end = || {
        let killed = archive.take_up_killed(&path, true).unwrap().unwrap();
        let record = killed.run.record.clone();
        killed.end(&record).unwrap();
        text(path.join("s1-main.csv"))
    };
    let ended = end();
    // Killed as it was ended, and ended once more.
    std::fs::remove_file(path.join("w1-rows-rt-histogram.csv")).unwrap();
    assert_eq!(end(), ended);
    let run = open_run(&path).unwrap();
    let read = |row: &TimelineEntry| (row.operations[0].count, row.operations[0].response_ms);
    run.timeline(&run.record.stages[0]).unwrap().iter().map(read).collect()
}

/// What is damaged, the rows that are there, the lines as start, end and successes, and the rows that there are to be.
type OfRows<'a> = (&'a str, &'a [u64], &'a [(f64, f64, u64)], &'a [u64]);

#[test]
fn rows_that_a_kill_came_before_are_added_once_and_hold_all_that_was_counted() {
    let (first, second) = ((0.0, 5.0, 30), (5.0, 10.0, 20));
    let cases: [OfRows<'_>; 7] = [
        ("it is whole", &[30, 20], &[first, second], &[30, 20]),
        ("the last row", &[30], &[first, second], &[30, 20]),
        ("all rows", &[], &[first, second], &[30, 20]),
        ("nothing ended", &[30], &[first, (5.0, 10.0, 0)], &[30, 0]),
        ("a moment behind the load", &[30], &[first, second, (10.0, 10.003, 4)], &[30, 24]),
        ("it is in the last row", &[30, 24], &[first, second, (10.0, 10.003, 4)], &[30, 24]),
        ("told late", &[30], &[first, second, (0.0, 5.0, 7)], &[30, 27]),
    ];
    for (what, rows, lines, expected) in cases {
        let found = timeline_after(rows, lines);
        assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), expected, "{what}");
        let has_its_time = |(count, ms): &(u64, Option<f64>)| match ms {
            Some(ms) => *count > 0 && (ms - 2.0).abs() < 0.01,
            None => *count == 0,
        };
        assert!(found.iter().all(has_its_time), "{what}: {found:?}");
    }
    // What was told late of an interval that had its row is in the next one, whether or not that had begun.
    let late: Vec<u64> = timeline_after(&[30], &[first, (0.0, 5.0, 7)]).iter().map(|row| row.0).collect();
    assert_eq!(late, [30, 7]);
}

#[test]
fn trials_of_a_search_have_their_own_load_and_rows_and_a_stage_that_only_begins_like_another_is_none_of_it() {
    const SEARCH: &str = "name: s\nstorage: {type: mock}\nstages:\n  - name: main\n    search: {over: workers, from: 2, to: 64}\n    \
        thresholds: ['p95 <= 10 ms']\n    works:\n      - {name: main, workers: 4, runtime: 30s, operations: [{type: read, \
        containers: 'u(1,2)', objects: 'u(1,9)'}]}\n";
    let dir = tempfile::tempdir().unwrap();
    let (planned, mistakes) =
        cosmark_workload::parse_what_is_there(SEARCH, Format::Yaml, &Default::default());
    let planned = planned.unwrap_or_else(|| panic!("{mistakes:?}"));
    let main = planned.stages[0].clone();
    let trial = main.search.as_ref().unwrap().trial(&main, 16.0, "");
    let mainly = Stage { name: "mainly".to_owned(), search: None, ..main };
    let model = Workload { stages: vec![trial, mainly], ..planned };
    let archive = open(dir.path());
    let mut run = archive.begin(&NewRun { config_yaml: SEARCH, ..new_run(&model) }).unwrap();
    let mut lines = String::new();
    for at_stage in 0..2 {
        run.enter_stage(at_stage, StageState::Running, at("18:54:00")).unwrap();
        let stage = &run.layout()[at_stage];
        let tag = &stage.works[0].operations[0].tag;
        for (from, to, count) in [("0", "1.875", 20), ("1.875", "3.75", 10)] {
            let sums = format!("{count},0,0,0,{}", 100 * count);
            lines += &format!("{},{tag},d,window,{from},{to},{sums},0,,{count},0,1,\n", stage.id);
        }
    }
    let path = run.path().to_owned();
    drop(run);
    let table = path.join("intervals.csv");
    std::fs::write(&table, text(&table) + &lines).unwrap();
    let killed = archive.take_up_killed(&path, true).unwrap().unwrap();
    let record = killed.run.record.clone();
    killed.end(&record).unwrap();
    let [trial, mainly] = record.stages.as_slice() else { panic!("{:?}", record.stages) };
    let counted: Vec<_> =
        trial.operations.iter().map(|operation| (operation.workers, operation.ok)).collect();
    assert_eq!(counted, [(16, 30)], "{trial:?}");
    // A sixteenth of 30 s each.
    let rows = open_run(&path).unwrap().timeline(trial).unwrap();
    assert_eq!(rows.iter().map(|row| row.operations[0].count).collect::<Vec<_>>(), [20, 10]);
    assert!(mainly.operations.is_empty(), "{mainly:?}");
    assert!(mainly.reason.as_ref().unwrap().contains("no stage of this name"), "{mainly:?}");
}

#[test]
fn each_note_is_in_the_timeline_once_also_of_a_run_that_was_killed_and_of_many_that_wait() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("noted");
    let archive = open(dir.path());
    let mut run = archive.begin(&new_run(&model)).unwrap();
    let path = run.path().to_owned();
    let add = |texts: &[String]| {
        let mut file =
            std::fs::OpenOptions::new().append(true).create(true).open(path.join("notes.log")).unwrap();
        for (at, text) in texts.iter().enumerate() {
            writeln!(file, "2026-11-21T18:54:00.{at:09}Z {text}").unwrap();
        }
    };
    add(&["first".to_owned(), "=1+1".to_owned(), "a\tb\u{1b}[2J \u{e4}".to_owned()]);
    run.take_notes(None).unwrap();
    drop(run);
    // More than is read at a time.
    let many: Vec<String> = (0..900).map(|number| format!("{number} {}", "x".repeat(3900))).collect();
    add(&many);
    let killed = archive.take_up_killed(&path, true).unwrap().unwrap();
    let record = killed.run.record.clone();
    killed.end(&record).unwrap();
    let events = open_run(&path).unwrap().record.events;
    let notes: Vec<&str> = events
        .iter()
        .filter(|event| event.kind == EventKind::Note)
        .map(|event| event.text.as_str())
        .collect();
    assert_eq!(notes[..3], ["first", "=1+1", "a\tb [2J \u{e4}"]);
    assert_eq!(notes[3..], many);
}

#[test]
fn no_note_that_was_accepted_is_lost_however_near_the_end_of_the_run_it_comes() {
    for round in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let run = open(dir.path()).begin(&new_run(&mixed("late"))).unwrap();
        let path = run.path().to_owned();
        let noting = {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut accepted = Vec::new();
                loop {
                    let text = format!("note {}", accepted.len());
                    let is_in_the_record = add_note(&path, &text).unwrap();
                    accepted.push(text);
                    if is_in_the_record {
                        return accepted;
                    }
                }
            })
        };
        while !path.join("notes.log").exists() {
            std::thread::yield_now();
        }
        run_to_the_end(run, &mixed("late"), &[successes(30, 2.0, 100), successes(10, 4.0, 100)]);
        let accepted = noting.join().unwrap();
        let events = open_run(&path).unwrap().record.events;
        let notes = events.into_iter().filter(|event| event.kind == EventKind::Note);
        assert_eq!(notes.map(|event| event.text).collect::<Vec<_>>(), accepted, "round {round}");
    }
}

#[test]
fn a_note_that_would_have_no_place_in_the_timeline_is_refused_while_the_run_is_written_and_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let run = open(dir.path()).begin(&new_run(&mixed("full"))).unwrap();
    let path = run.path().to_owned();
    let lines: String =
        (0..5_000).map(|number| format!("2026-11-21T18:54:00.{number:09}Z note {number}\n")).collect();
    std::fs::write(path.join("notes.log"), lines).unwrap();
    let refused = |when: &str| {
        let error = add_note(&path, "one more").unwrap_err().to_string();
        assert!(error.contains("too many events"), "{when}: {error}");
    };
    refused("while they wait");
    run_to_the_end(run, &mixed("full"), &[successes(30, 2.0, 100), successes(10, 4.0, 100)]);
    refused("when it is over");
    let events = open_run(&path).unwrap().record.events;
    assert!(
        events.iter().any(|event| event.text == "note 4999") && events.len() == 5_001,
        "{}",
        events.len()
    );
}

/// The body of the process with a tiny disk: see the test below.
#[test]
#[ignore = "started by a_full_disk_is_one_clear_error"]
fn child_fills_its_disk() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let model = mixed("full");
    let mut run = open(root.as_ref()).begin(&new_run(&model)).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let (read, write) = (successes(30, 2.0, 100), successes(10, 4.0, 100));
    let row = TimelineRow { ended: at("18:54:05"), seconds: 5.0, operations: vec![&read, &write] };
    let error = (0..100_000).find_map(|_| run.append_interval(0, &row).err()).unwrap().to_string();
    assert!(error.contains("s1-main.csv") && error.contains("the disk is full: free some space"), "{error}");
    let error = run.finish(&run.record().clone(), &[]).unwrap_err().to_string();
    assert!(error.contains("w1-full") && error.contains("--archive"), "{error}");
    // What had room is still whole.
    let read = open_run(run.path()).unwrap();
    assert!(read.timeline(&read.record.stages[0]).unwrap().len() > 100);
    // The room that was reserved for the end of that run is free now: somebody else takes it.
    let mut filler = std::fs::File::create(std::path::Path::new(&root).join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[0; 512]).is_ok() {}
    let error = open(root.as_ref()).begin(&new_run(&model)).err().unwrap().to_string();
    assert!(error.contains("disk is full"), "{error}");
    assert_eq!(list(root.as_ref()).unwrap().len(), 1, "what could not begin is no run");
    std::fs::write(std::path::Path::new(&root).join("../passed"), "yes").unwrap();
}

#[test]
fn a_full_disk_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=256k tiny '{}' || exit 77; exec '{}' --exact kill::child_fills_its_disk --ignored",
        disk.display(),
        exe.display()
    );
    // A mount of its own name space: it goes away with the process.
    let run = Command::new("unshare").args(["-rm", "sh", "-c", &script]).env(ROOT, &disk).output();
    let Ok(output) = run else {
        return skipped("there is no `unshare`: apt-get install util-linux");
    };
    if output.status.code() == Some(77) || !output.status.success() && output.stdout.is_empty() {
        return skipped("this user may not mount a file system");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(dir.path().join("passed").exists(), "the child did not come to its end");
}

#[test]
fn a_run_whose_beginning_cannot_be_written_leaves_no_directory_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (archive, model) = (open(dir.path()), mixed("late"));
    // A file without a name cannot be written, by which time others have been.
    let nameless = Some(Source { file_name: "", text: "" });
    for number in [None, Some(7)] {
        let new = NewRun { number, source: nameless, ..new_run(&model) };
        assert!(archive.begin(&new).is_err());
        assert!(list(dir.path()).unwrap().is_empty());
    }
    // The number is free for who begins it again, also where a kill came before the record.
    let again = || archive.begin_again(&NewRun { number: Some(7), ..new_run(&model) });
    let path = again().unwrap().path().to_owned();
    std::fs::remove_file(path.join("run.json")).unwrap();
    assert_eq!(again().unwrap().id(), "w7");
    std::fs::remove_file(path.join("run.json")).unwrap();
    std::fs::write(path.join("mine.txt"), "precious").unwrap();
    assert!(again().is_err() && path.join("mine.txt").exists(), "somebody else's file is in it");
}

#[test]
fn a_place_that_cannot_be_written_is_found_out_in_second_0() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in-the-way");
    std::fs::write(&file, "").unwrap();
    let error = cosmark_archive::Archive::open(&file.join("archive")).unwrap_err().to_string();
    assert!(error.contains("in-the-way") && error.contains("--archive"), "{error}");
    let error =
        cosmark_archive::Archive::open(std::path::Path::new("/proc/archive")).unwrap_err().to_string();
    assert!(error.contains("/proc/archive"), "{error}");
}
