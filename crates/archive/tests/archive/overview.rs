//! The list of runs, its index, tags and baselines.

use std::fs::{self, FileTimes, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cosmark_archive::{
    ArchiveError, RunOverview, RunState, baselines, change_tags, list, newest, open_run, overview,
    overview_of, remove_run, run_numbered, set_baseline, tags,
};

use crate::support::{mixed, new_run, open, run_to_the_end, successes};

fn a_run(root: &Path, name: &str) -> std::path::PathBuf {
    let workload = mixed(name);
    let run = open(root).begin(&new_run(&workload)).unwrap();
    run_to_the_end(run, &workload, &[successes(5, 2.0, 10), successes(1, 2.0, 10)])
}

#[test]
fn runs_are_listed_from_the_index_and_read_again_when_they_changed() {
    let home = tempfile::tempdir().unwrap();
    let first = a_run(home.path(), "a");
    a_run(home.path(), "b");
    fs::create_dir(home.path().join("w9-cosbench")).unwrap();
    let runs = overview(home.path()).unwrap();
    let seen: Vec<_> =
        runs.iter().map(|run| (run.number, run.name.as_str(), run.state, run.operations)).collect();
    let finished = Some(RunState::Finished);
    assert_eq!(seen, [(1, "a", finished, 6), (2, "b", finished, 6), (9, "cosbench", None, 0)]);
    let index = home.path().join(".runs.index");
    let text = fs::read_to_string(&index).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    // What the index says is believed as long as run.json is the same..
    fs::write(&index, text.replace("\"name\":\"b\"", "\"name\":\"from the index\"")).unwrap();
    assert_eq!(overview(home.path()).unwrap()[1].name, "from the index");
    // ..and not when it is another.
    let record = first.join("run.json");
    let changed = fs::read_to_string(&record).unwrap().replacen("\"name\": \"a\"", "\"name\": \"other\"", 1);
    fs::write(&record, changed).unwrap();
    assert_eq!(overview(home.path()).unwrap()[0].name, "other");
    // A damaged index is no index; a run that is gone is gone.
    fs::write(&index, b"\xff\xfe{").unwrap();
    fs::remove_dir_all(&first).unwrap();
    let names: Vec<_> = overview(home.path()).unwrap().into_iter().map(|run| run.name).collect();
    assert_eq!(names, ["b", "cosbench"]);
}

#[test]
fn one_run_of_an_archive_is_found_by_its_number_and_no_other_is_read() {
    let home = tempfile::tempdir().unwrap();
    let paths: Vec<_> = ["a", "b", "c"].map(|name| a_run(home.path(), name)).into();
    fs::create_dir(home.path().join("w9-cosbench")).unwrap();
    // Times of access that every reading changes, where the file system notes any.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
    for path in &paths {
        let record = fs::File::options().write(true).open(path.join("run.json")).unwrap();
        record.set_times(FileTimes::new().set_accessed(old)).unwrap();
    }
    let found = run_numbered(home.path(), 2).unwrap().unwrap();
    assert_eq!((found.number, &found.path), (2, &paths[1]));
    assert_eq!(found.record.unwrap().unwrap().name, "b");
    for other in [&paths[0], &paths[2]] {
        let accessed = fs::metadata(other.join("run.json")).unwrap().accessed().unwrap();
        assert_eq!(accessed, old, "{}", other.display());
    }
    assert!(run_numbered(home.path(), 9).unwrap().unwrap().record.is_none());
    assert!(run_numbered(home.path(), 4).unwrap().is_none());
    assert!(run_numbered(&home.path().join("nowhere"), 1).is_err());
}

/// An archive that came from elsewhere, or that others may write, has an index that says what its maker likes.
#[test]
fn an_index_that_another_may_have_written_is_not_believed() {
    let home = tempfile::tempdir().unwrap();
    let first = a_run(home.path(), "a");
    overview(home.path()).unwrap();
    let index = home.path().join(".runs.index");
    let lie = fs::read_to_string(&index).unwrap().replace("\"name\":\"a\"", "\"name\":\"a lie\"");
    let names =
        |root: &Path| -> Vec<String> { overview(root).unwrap().into_iter().map(|run| run.name).collect() };
    fs::write(&index, &lie).unwrap();
    assert_eq!(names(home.path()), ["a lie"], "this one is believed, or the rest proves nothing");
    for mode in [0o620, 0o602] {
        fs::write(&index, &lie).unwrap();
        fs::set_permissions(&index, Permissions::from_mode(mode)).unwrap();
        assert_eq!(names(home.path()), ["a"], "{mode:o}");
        assert_eq!(fs::metadata(&index).unwrap().mode() & 0o777, 0o600, "{mode:o}");
    }
    // Unpacked elsewhere: the same bytes, with the same times, by the same user.
    let other = tempfile::tempdir().unwrap();
    let copy = other.path().join(first.file_name().unwrap());
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&first).unwrap().map(Result::unwrap) {
        if !entry.file_type().unwrap().is_file() {
            continue;
        }
        let to = copy.join(entry.file_name());
        fs::copy(entry.path(), &to).unwrap();
        let modified = entry.metadata().unwrap().modified().unwrap();
        fs::File::options().write(true).open(&to).unwrap().set_modified(modified).unwrap();
    }
    let place = other.path().join(".runs.index");
    fs::write(&place, &lie).unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(names(other.path()), ["a"]);
}

#[test]
fn no_link_leads_out_of_an_archive() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let run = a_run(elsewhere.path(), "secret");
    let own = a_run(home.path(), "own");
    symlink(&run, home.path().join("w7-secret")).unwrap();
    let precious = elsewhere.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    drop(fs::remove_file(home.path().join(".runs.index")));
    symlink(&precious, home.path().join(".runs.index")).unwrap();
    symlink(&precious, own.join("report.html")).unwrap();
    let runs = overview(home.path()).unwrap();
    let seen: Vec<_> = runs.iter().map(|run| (run.number, run.name.as_str(), run.operations)).collect();
    assert_eq!(seen, [(1, "own", 6), (7, "secret", 0)], "its name is that of the link");
    assert!(runs[1].problem.as_ref().unwrap().contains("a link"), "{runs:?}");
    let found: Vec<_> = list(home.path()).unwrap().into_iter().map(|run| run.number).collect();
    assert_eq!(found, [1]);
    // Whoever names the run itself gets it, and what is written into an archive goes nowhere else.
    open_run(&own).unwrap().write_report(b"page").unwrap();
    assert!(!own.join("report.html").is_symlink() && !home.path().join(".runs.index").is_symlink());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(overview(elsewhere.path()).unwrap()[0].problem.is_none());
}

#[test]
fn no_baseline_lies_outside_of_the_archive() {
    let home = tempfile::tempdir().unwrap();
    let own = a_run(home.path(), "own");
    set_baseline(&own, "own", true).unwrap();
    let path = home.path().join(".baselines.json");
    let text = fs::read_to_string(&path).unwrap();
    for place in ["../elsewhere", "/etc", "w1-x/../../elsewhere", "own"] {
        fs::write(&path, text.replace("w1-own", place)).unwrap();
        assert!(baselines(home.path()).unwrap().is_empty(), "{place}");
    }
    fs::write(&path, &text).unwrap();
    assert_eq!(baselines(home.path()).unwrap()["own"], "w1-own");
}

#[test]
fn a_damaged_run_does_not_hide_the_others() {
    let home = tempfile::tempdir().unwrap();
    fs::write(a_run(home.path(), "a").join("run.json"), "{").unwrap();
    a_run(home.path(), "b");
    let runs = overview(home.path()).unwrap();
    assert!(runs[0].problem.as_ref().unwrap().contains("run.json: line 1") && runs[0].state.is_none());
    assert_eq!(runs[1].state, Some(RunState::Finished));
}

/// What it holds is looked at: nobody is named who wrote nothing.
#[test]
fn a_folder_that_holds_no_run_is_said_to_hold_none() {
    let home = tempfile::tempdir().unwrap();
    for (name, file, text) in [
        ("w1-empty", None, ""),
        ("w2-other", Some("notes.txt"), "nothing"),
        ("w3-alike", Some("w3-alike.csv"), "a,b\n1,2\n"),
        ("w4-cut", Some("w4-cut.csv"), "Stage,Op-Name,Op-Type,Op-Count\nmain,read"),
    ] {
        let folder = home.path().join(name);
        fs::create_dir(&folder).unwrap();
        file.into_iter().for_each(|file| fs::write(folder.join(file), text).unwrap());
    }
    let table =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cosbench-runs/w3-mock-full/w3-mock-full.csv");
    fs::create_dir(home.path().join("w5-mock-full")).unwrap();
    let whole = fs::read_to_string(table).unwrap();
    let damaged = whole.lines().next().unwrap().to_owned() + "\ns1-main,read";
    fs::write(home.path().join("w5-mock-full/w5-mock-full.csv"), damaged).unwrap();
    fs::create_dir(home.path().join("w6-begun")).unwrap();
    fs::write(home.path().join("w6-begun/workload.yaml"), "name: begun\n").unwrap();
    let runs = overview(home.path()).unwrap();
    let problem = |at: usize| runs[at].problem.as_deref().unwrap();
    assert_eq!(problem(0), "an empty folder");
    assert!(runs[5].is_hollow && problem(5).contains("a run that was cut off as it began"), "{runs:?}");
    for run in &runs[1..4] {
        let problem = run.problem.as_deref().unwrap();
        assert_eq!(problem, "neither run.json nor a result table of COSBench is in it", "{run:?}");
    }
    assert!(runs[..4].iter().all(|run| run.is_hollow && run.state.is_none()), "{runs:?}");
    assert!(problem(4).contains("w5-mock-full.csv: line 2"), "{}", problem(4));
    assert!(
        !runs[4].is_hollow && runs[4].state.is_none(),
        "a damaged table is one of COSBench's all the same"
    );
}

#[test]
fn tags_and_baselines_stay_beside_the_run_and_do_not_touch_it() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (a_run(home.path(), "a"), a_run(home.path(), "a"));
    let before = fs::read(first.join("run.json")).unwrap();
    let word = |text: &str| vec![text.to_owned()];
    change_tags(&first, &["fast".to_owned(), "nvme".to_owned()], &[]).unwrap();
    let now = change_tags(&first, &word("new"), &word("fast")).unwrap();
    assert_eq!(now.into_iter().collect::<Vec<_>>(), ["new", "nvme"]);
    assert_eq!(set_baseline(&first, "a", true).unwrap(), None);
    assert_eq!(set_baseline(&second, "a", true).unwrap().as_deref(), Some("w1-a"), "one per workload");
    let runs = overview(home.path()).unwrap();
    assert_eq!(runs.iter().map(|run| run.baseline).collect::<Vec<_>>(), [false, true]);
    assert_eq!(
        [overview_of(&first).unwrap(), overview_of(&second).unwrap()],
        [runs[0].clone(), runs[1].clone()]
    );
    symlink(&first, home.path().join("w7-a")).unwrap();
    for (none, why) in
        [("", "an archive"), ("w7-a", "a link"), ("w8-a", "nothing"), (".baselines.json", "a file")]
    {
        let found = overview_of(&home.path().join(none));
        assert!(matches!(found, Err(ArchiveError::NotARun { .. })), "{why} is no run: {found:?}");
    }
    fs::remove_file(home.path().join("w7-a")).unwrap();
    assert!(runs[0].tags.contains("nvme"));
    set_baseline(&first, "a", false).unwrap();
    assert!(overview(home.path()).unwrap()[1].baseline, "only its own is taken away");
    set_baseline(&second, "a", false).unwrap();
    assert!(!overview(home.path()).unwrap()[1].baseline);
    assert_eq!(fs::read(first.join("run.json")).unwrap(), before);
    for wrong in ["", "two words", "a,b", &"x".repeat(65)] {
        let error = change_tags(&first, &word(wrong), &[]).unwrap_err().to_string();
        assert!(error.contains("is not a tag"), "{error}");
    }
    let many: Vec<String> = (0..101).map(|n| format!("t{n}")).collect();
    assert!(change_tags(&first, &many, &[]).is_err());
    fs::write(first.join("tags.json"), "[").unwrap();
    assert!(tags(&first).unwrap_err().to_string().contains("tags.json: line 1"));
}

#[test]
fn runs_that_did_not_change_are_listed_without_reading_them() {
    let home = tempfile::tempdir().unwrap();
    let model = fs::read_to_string(a_run(home.path(), "a").join("run.json")).unwrap();
    // Each is a directory with a record; a few hundred stand for many.
    for number in 2..400 {
        let dir = home.path().join(format!("w{number}-a"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("run.json"), &model).unwrap();
    }
    let first = overview(home.path()).unwrap();
    // A word that stands in the index alone is given, and a record that was written again is read.
    let index = home.path().join(".runs.index");
    let text = fs::read_to_string(&index).unwrap();
    let marked = text.replace("\"name\":\"a\"", "\"name\":\"of the index\"");
    assert_ne!(marked, text);
    fs::write(&index, marked).unwrap();
    let again = home.path().join(&first[7].directory).join("run.json");
    fs::write(&again, &model).unwrap();
    for (at, run) in overview(home.path()).unwrap().into_iter().enumerate() {
        assert_eq!(run.name, if at == 7 { "a" } else { "of the index" }, "{}", run.directory);
        assert_eq!(RunOverview { name: first[at].name.clone(), ..run }, first[at]);
    }
}

/// Directories `w1-a` to `w<last>-a` with the record of a run that is over.
fn many_runs(root: &Path, last: u64) {
    let model = fs::read_to_string(a_run(root, "a").join("run.json")).unwrap();
    for number in 2..=last {
        let dir = root.join(format!("w{number}-a"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("run.json"), &model).unwrap();
    }
}

fn in_the_index(root: &Path) -> Vec<u64> {
    let text = fs::read_to_string(root.join(".runs.index")).unwrap_or_default();
    let numbers = text.lines().skip(1).map(|line| {
        let indexed: serde_json::Value = serde_json::from_str(line).unwrap();
        indexed["glance"]["number"].as_u64().unwrap()
    });
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn the_newest_runs_are_listed_without_a_look_at_older_ones_and_the_index_loses_none() {
    let home = tempfile::tempdir().unwrap();
    many_runs(home.path(), 60);
    let numbers = |most: usize| {
        let (runs, all) = newest(home.path(), most).unwrap();
        (runs.iter().map(|run| run.number).collect::<Vec<_>>(), all)
    };
    assert_eq!(numbers(3), (vec![58, 59, 60], 60));
    assert_eq!(in_the_index(home.path()), [58, 59, 60], "nobody read the others");
    assert_eq!(numbers(0), (vec![], 60));
    // What came to be known of other runs stays, and goes with them.
    assert_eq!(numbers(2), (vec![59, 60], 60));
    assert_eq!(in_the_index(home.path()), [58, 59, 60]);
    assert_eq!(overview(home.path()).unwrap().len(), 60);
    fs::remove_dir_all(home.path().join("w7-a")).unwrap();
    let again = home.path().join("w60-a/run.json");
    fs::write(&again, fs::read(&again).unwrap()).unwrap();
    assert_eq!(numbers(1), (vec![60], 59));
    assert_eq!(in_the_index(home.path()), (1..=60).filter(|number| *number != 7).collect::<Vec<_>>());
}

#[test]
fn a_list_that_learns_nothing_writes_no_index() {
    let home = tempfile::tempdir().unwrap();
    let first = a_run(home.path(), "a");
    a_run(home.path(), "b");
    overview(home.path()).unwrap();
    // Its record is the same file as before.
    let away = home.path().join("away");
    fs::rename(&first, &away).unwrap();
    symlink(&away, &first).unwrap();
    fs::create_dir(home.path().join("w9-empty")).unwrap();
    let written = || fs::metadata(home.path().join(".runs.index")).unwrap().ino();
    let before = written();
    for most in [usize::MAX, 1] {
        let (runs, all) = newest(home.path(), most).unwrap();
        assert_eq!((runs.len(), all), (most.min(3), 3));
        assert_eq!(written(), before, "of {most}");
    }
    let runs = overview(home.path()).unwrap();
    assert!(runs[0].problem.as_ref().unwrap().contains("a link") && runs[1].problem.is_none(), "{runs:?}");
}

#[test]
fn lists_that_are_made_at_once_write_one_index_and_wait_for_nobody() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path();
    many_runs(root, 40);
    std::thread::scope(|scope| {
        for most in [usize::MAX, 5, 1, usize::MAX] {
            scope.spawn(move || {
                let (runs, all) = newest(root, most).unwrap();
                assert_eq!((runs.len(), all), (most.min(40), 40));
            });
        }
    });
    assert_eq!(overview(home.path()).unwrap().len(), 40);
    assert_eq!(in_the_index(home.path()), (1..=40).collect::<Vec<_>>());
    // Somebody begins a run, or writes the index just now.
    fs::remove_file(home.path().join(".runs.index")).unwrap();
    let lock = fs::File::open(home.path().join(".lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(overview(home.path()).unwrap().len(), 40);
    assert!(in_the_index(home.path()).is_empty(), "it is written by whoever has the lock");
    drop(lock);
    // Who only looks at an archive leaves no lock of his own there.
    fs::remove_file(home.path().join(".lock")).unwrap();
    assert_eq!(overview(home.path()).unwrap().len(), 40);
    assert_eq!(in_the_index(home.path()).len(), 40);
    assert!(!home.path().join(".lock").exists());
}

#[test]
fn a_run_that_cosbench_made_is_listed_as_its_tables_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cosbench-runs");
    let home = tempfile::tempdir().unwrap();
    for name in ["run-history.csv", "workloads.csv"] {
        fs::copy(root.join(name), home.path().join(name)).unwrap();
    }
    for name in ["w3-mock-full", "w23-swift-real"] {
        fs::create_dir(home.path().join(name)).unwrap();
        for file in fs::read_dir(root.join(name)).unwrap().flatten() {
            fs::copy(file.path(), home.path().join(name).join(file.file_name())).unwrap();
        }
    }
    fs::create_dir(home.path().join("w9-nothing")).unwrap();
    let runs = overview(home.path()).unwrap();
    let seen: Vec<_> = runs.iter().map(|run| (run.number, run.name.as_str(), run.state)).collect();
    let finished = Some(RunState::Finished);
    assert_eq!(seen, [(3, "mock-full", finished), (9, "nothing", None), (23, "swift-real", finished)]);
    for run in [&runs[0], &runs[2]] {
        assert!(run.stages > 0 && run.stages_over == run.stages && run.operations > 0, "{run:?}");
        assert!(
            run.submitted <= run.started && run.started < run.ended && run.submitted.is_some(),
            "{run:?}"
        );
        assert!(run.headline.as_ref().is_some_and(|headline| headline.throughput_per_s > 0.0), "{run:?}");
        // Whose it is stands in the columns that every list has.
        assert_eq!(run.target.as_deref(), Some("COSBench"), "{run:?}");
        assert!(run.reason.as_ref().is_some_and(|why| why.starts_with("made by COSBench")), "{run:?}");
    }
    for run in &runs {
        let alone = overview_of(&home.path().join(&run.directory)).unwrap();
        assert_eq!(alone, *run, "by itself it is what it is among the others");
    }
    // A list reads the history once for all runs, whatever else is in it, and says of a damaged line whose it is.
    let history = home.path().join("run-history.csv");
    let text = fs::read_to_string(&history).unwrap();
    let cut: String = text
        .lines()
        .map(|line| if line.starts_with("w3,") { "w3,mock-full\n".to_owned() } else { format!("{line}\n") })
        .collect();
    let others: String = (1000..20_000).map(|number| format!("w{number},cut short as well\n")).collect();
    fs::write(&history, others + &cut).unwrap();
    let runs = overview(home.path()).unwrap();
    let problem = runs[0].problem.as_deref().unwrap();
    assert!(problem.contains("run-history.csv: line ") && problem.contains("cut short"), "{problem}");
    assert_eq!((runs[2].number, runs[2].state), (23, finished), "{:?}", runs[2]);
    // One that lies with the run itself goes first.
    let own = home.path().join("w3-mock-full/run-history.csv");
    fs::write(own, text.replace("finished", "cancelled")).unwrap();
    assert_eq!(overview(home.path()).unwrap()[0].state, Some(RunState::Cancelled));
}

#[test]
fn a_stage_of_cosbench_that_lacks_a_rate_has_no_sum_of_them() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("w3-mock-full");
    fs::create_dir(&dir).unwrap();
    let table = "w3-mock-full.csv";
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cosbench-runs");
    let text = fs::read_to_string(runs.join("w3-mock-full").join(table)).unwrap();
    let stage = |text: &str| {
        fs::write(dir.join(table), text).unwrap();
        overview_of(&dir).unwrap().headline.map(|headline| headline.stage)
    };
    assert_eq!(stage(&text).as_deref(), Some("s3-main"));
    for rate in [",N/A,", ",\u{221e},"] {
        let lacking = text.replacen(",4078.67,", rate, 1);
        assert_ne!(lacking, text);
        assert_eq!(stage(&lacking).as_deref(), Some("s4-two"), "{rate}");
    }
}

#[test]
fn a_run_that_is_deleted_is_gone_its_number_is_not_given_again_and_what_is_in_use_stays() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (a_run(home.path(), "a"), a_run(home.path(), "a"));
    set_baseline(&first, "a", true).unwrap();
    let refused = |dir: &Path| matches!(remove_run(dir), Err(ArchiveError::InUse { .. }));
    assert!(refused(&first) && first.join("run.json").is_file(), "a baseline stays");
    // One that was begun to be deleted before is no hindrance.
    fs::create_dir(home.path().join(".deleted-w2-a")).unwrap();
    remove_run(&second).unwrap();
    let left: Vec<_> = overview(home.path()).unwrap().into_iter().map(|run| run.number).collect();
    assert_eq!(left, [1]);
    assert!(!home.path().join(".deleted-w2-a").exists() && !second.exists());
    assert_eq!(a_run(home.path(), "a").file_name().unwrap(), "w3-a");
    let running = home.path().join("w3-a");
    let text = fs::read_to_string(running.join("run.json")).unwrap();
    fs::write(running.join("run.json"), text.replacen("\"finished\"", "\"running\"", 1)).unwrap();
    let state = overview(home.path()).unwrap()[1].state;
    assert_eq!(refused(&running), state == Some(RunState::Running), "{state:?}");
    let foreign = home.path().join("w9-cosbench");
    fs::create_dir(&foreign).unwrap();
    assert!(remove_run(&foreign).is_err() && foreign.is_dir(), "what cannot be read stays");
}
