//! Damaged archives: the file and the line are named, nothing panics.

use cosmark_archive::{TimelineRow, list, open_run};

use crate::support::{at, mixed, new_run, open, run_to_the_end, successes, text};

#[test]
fn a_damaged_record_is_named_with_its_line_and_hides_no_other_run() {
    let dir = tempfile::tempdir().unwrap();
    let archive = open(dir.path());
    let mut paths = Vec::new();
    for name in ["good", "bad"] {
        let model = mixed(name);
        let run = archive.begin(&new_run(&model)).unwrap();
        paths.push(run_to_the_end(run, &model, &[successes(1, 1.0, 1), successes(1, 1.0, 1)]));
    }
    std::fs::create_dir(dir.path().join("w9-by-cosbench")).unwrap();
    let record = paths[1].join("run.json");
    let whole = text(&record);
    let newer = whole.replacen("\"schema\": 1", "\"schema\": 2", 1);
    let cut: String = whole.lines().take(12).collect::<Vec<_>>().join("\n");
    let wrong = whole.replacen("\"count\": 1", "\"count\": -1", 1);
    let line = |text: &str, part: &str| 1 + text[..text.find(part).unwrap()].matches('\n').count();
    let cases = [
        (cut, "line 12".to_owned()),
        (String::new(), "line 1".to_owned()),
        (wrong.clone(), format!("line {}", line(&wrong, "\"count\": -1"))),
        ("\u{0}".repeat(100), "line 1".to_owned()),
        (newer, "use a newer Cosmark".to_owned()),
        // Added up with one more they would be none, and the run one that failed nothing.
        (
            whole.replace("\"failures\": 0", "\"failures\": 18446744073709551615"),
            "more than a run can have".to_owned(),
        ),
    ];
    for (damage, expected) in cases {
        std::fs::write(&record, damage).unwrap();
        let error = open_run(&paths[1]).unwrap_err().to_string();
        assert!(error.contains("run.json") && error.contains(&expected), "{error}: no {expected}");
        let found = list(dir.path()).unwrap();
        assert!(matches!(found[0].record, Some(Ok(_))));
        assert!(matches!(found[1].record, Some(Err(_))));
        assert!(found[2].record.is_none(), "not ours, but there");
    }
    std::fs::write(&record, [b'{', b'\n', 0xff]).unwrap();
    assert!(open_run(&paths[1]).unwrap_err().to_string().contains("line 2: not UTF-8"));
    let error = open_run(dir.path()).unwrap_err().to_string();
    assert!(error.contains("no run.json here"), "{error}");
}

#[test]
fn a_record_of_somebody_else_reaches_no_terminal_with_signs_that_command_it() {
    let dir = tempfile::tempdir().unwrap();
    let archive = open(dir.path());
    let model = mixed("good");
    let run = archive.begin(&new_run(&model)).unwrap();
    let path = run_to_the_end(run, &model, &[successes(1, 1.0, 1), successes(1, 1.0, 1)]);
    let record = path.join("run.json");
    let hostile = text(&record).replacen(
        "\"name\": \"good\"",
        "\"name\": \"a\\u001b]0;title\\u0007 \\u202eb \u{9b}31m <b>&amp; \\\\u001b\"",
        1,
    );
    assert_ne!(hostile, text(&record));
    std::fs::write(&record, hostile).unwrap();
    assert_eq!(open_run(&path).unwrap().record.name, "a?]0;title? ?b ?31m <b>&amp; \\u001b");
}

#[test]
fn a_damaged_timeline_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("t");
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let op = successes(10, 1.5, 7);
    for _ in 0..3 {
        let row = TimelineRow { ended: at("18:54:05"), seconds: 5.0, operations: vec![&op, &op] };
        run.append_interval(0, &row).unwrap();
    }
    let path = run.path().join("s1-main.csv");
    let whole = text(&path);
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let run = open_run(run.path()).unwrap();
        run.timeline(&run.record.stages[0]).map_err(|error| error.to_string())
    };
    let good = read(&whole).unwrap();
    assert_eq!(good.len(), 3);
    let value = &good[2].operations[1];
    assert_eq!((value.count, value.bytes, value.label.as_str()), (10, 70, "write"));
    assert_eq!((value.response_ms, value.processing_ms), (Some(1.5), Some(0.75)));
    assert_eq!((value.throughput_per_s, value.success_ratio), (2.0, Some(1.0)));
    // A kill in the middle of a line costs that line and no other.
    assert_eq!(read(&whole[..whole.len() - 5]).unwrap().len(), 2);
    assert_eq!(read("").unwrap(), []);
    let cases = [
        (whole.replacen("\n18:54:05,10", "\n18:54:05,ten", 1), "line 3: `ten` is not a count"),
        (whole.replacen(",100%", ",many%", 1), "line 3: `many` is not a number"),
        (whole.replacen(",0,0,0\n", "\n", 1), "line 3: 15 fields instead of 18"),
        (whole.replacen("Timestamp", "Time", 1), "line 1: not the header"),
        (whole.replacen(",read,write", ",read", 1), "line 2: 17 columns do not make a timeline"),
        (whole.replacen("18:54:05", "\"18:54:05", 1), "line 3: "),
    ];
    for (damage, expected) in cases {
        let error = read(&damage).unwrap_err();
        assert!(error.contains(&format!("s1-main.csv: {expected}")), "{error}: no {expected}");
    }
}

#[test]
fn cosbenchs_own_timelines_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let model = crate::support::workload(&crate::support::cosbench("mock-full.xml"));
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    for (stage, name, rows) in [(0, "s1-init.csv", 1), (2, "s3-main.csv", 6), (3, "s4-two.csv", 2)] {
        std::fs::write(run.path().join(name), crate::support::cosbench(name)).unwrap();
        let read = open_run(run.path()).unwrap();
        let timeline = read.timeline(&read.record.stages[stage]).unwrap();
        assert_eq!(timeline.len(), rows, "{name}");
        if stage == 2 {
            let list = &timeline[0].operations[3];
            assert_eq!((list.label.as_str(), list.count, list.throughput_per_s), ("list", 1594, 531.18));
        }
    }
}

#[test]
fn rows_that_do_not_fit_the_workload_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open(dir.path()).begin(&new_run(&mixed("t"))).unwrap();
    let op = successes(1, 1.0, 1);
    let row = TimelineRow { ended: at("18:54:05"), seconds: 5.0, operations: vec![&op] };
    let error = run.append_interval(0, &row).unwrap_err().to_string();
    assert!(error.contains("a row of 1 operations for stage s1-main, which has 2,"), "{error}");
    assert!(run.append_interval(7, &row).is_err());
    let snapshot = crate::support::slice(3, cosmark_metrics::Phase::Window, 1, vec![]);
    assert!(run.append_histograms(0, at("18:54:05"), &snapshot).is_err());
}

#[test]
fn rows_of_a_stage_whose_timeline_could_not_be_made_at_its_start_are_in_it_when_it_can() {
    let op = successes(10, 1.5, 7);
    let row = || TimelineRow { ended: at("18:54:05"), seconds: 5.0, operations: vec![&op, &op] };
    for goes_on in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut run = open(dir.path()).begin(&new_run(&mixed("t"))).unwrap();
        // In the way of the file, as a full disk is.
        let path = run.path().join("s1-main.csv");
        std::fs::create_dir(&path).unwrap();
        assert!(run.append_interval(0, &row()).is_err() && run.append_interval(0, &row()).is_err());
        assert!(run.catch_up().is_err());
        std::fs::remove_dir(&path).unwrap();
        if goes_on {
            run.append_interval(0, &row()).unwrap();
        }
        assert!(run.catch_up().unwrap());
        let read = open_run(run.path()).unwrap();
        let timeline = read.timeline(&read.record.stages[0]).unwrap();
        assert_eq!(timeline.len(), if goes_on { 3 } else { 2 });
    }
}

#[test]
fn counts_that_no_run_can_have_are_damage_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("c");
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let path = run_to_the_end(run, &model, &[successes(1, 1.0, 1), successes(1, 1.0, 1)]);
    let table = path.join("intervals.csv");
    let head = text(&table).lines().next().unwrap().to_owned();
    let row = |count: u64, mean: &str, end: &str| {
        format!("s1-main,x,d,window,0,{end},{count},0,0,0,1,0,{mean},0,0,0,\n")
    };
    let read = |rows: &[String]| {
        std::fs::write(&table, format!("{head}\n{}", rows.concat())).unwrap();
        open_run(&path).unwrap().intervals(|_| {}).map_err(|error| error.to_string())
    };
    assert_eq!(read(&[row(5, "0.5", "1"), row(6, "", "2")]), Ok(true));
    // A large cluster moves more bytes than a run may have of anything else, and none more than a sum of 64 bits holds.
    let moved = |bytes: u64| format!("s1-main,x,d,window,0,1,1,0,0,0,{bytes},{bytes},,0,0,0,\n");
    let weeks = 7 * 86_400 * 1_000_000_000_000;
    assert_eq!(read(&[moved(weeks), moved(weeks)]), Ok(true));
    let half = (1 << 59) + 1;
    for (rows, line) in [
        (vec![row(u64::MAX, "", "1")], 2),
        (vec![moved(weeks), moved(u64::MAX / 4 + 1)], 3),
        (vec![row(half, "", "1"), row(half, "", "2")], 3),
        (vec![row(1, "1e308", "1")], 2),
        (vec![row(1, "", "1"), row(1, "", "1e300")], 3),
    ] {
        let error = read(&rows).unwrap_err();
        assert!(error.contains(&format!("intervals.csv: line {line}: ")), "{error}");
    }
}
