//! Archives that COSBench wrote, read back.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cosmark_archive::cosbench::{CosbenchRun, CosbenchStage, LAST_BUCKET_MS, Variant};
use cosmark_archive::{ArchiveError, RunState, StageTables};

use crate::support::{mixed, new_run, open, run_to_the_end, successes};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cosbench-runs").join(name)
}

/// A copy that a test may damage.
fn copied(name: &str) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join(name);
    fs::create_dir(&run).unwrap();
    for entry in fs::read_dir(kept(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), run.join(entry.file_name())).unwrap();
    }
    (home, run)
}

#[test]
fn a_mixed_run_of_cosbench_is_read_whole() {
    let run = CosbenchRun::open(&kept("w3-mock-full")).unwrap();
    assert_eq!((run.id.as_str(), run.name.as_str(), run.variant), ("w3", "mock-full", Variant::Plain));
    let stages: Vec<_> = run.stages.iter().map(|stage| (stage.id.as_str(), stage.operations.len())).collect();
    let expected = [
        ("s1-init", 1),
        ("s2-prepare", 1),
        ("s3-main", 4),
        ("s4-two", 3),
        ("s5-cleanup", 1),
        ("s6-dispose", 1),
    ];
    assert_eq!(stages, expected);
    let main = &run.stages[2];
    let read = &main.operations[0];
    assert_eq!(
        (read.label.as_str(), read.op.as_str(), read.count, read.bytes),
        ("read", "read", 48940, 195_760_000)
    );
    assert_eq!(
        (read.response_ms, read.p99_ms, read.max_ms, read.throughput_per_s, read.success_ratio),
        (Some(1.06), Some(10.0), Some(20.0), Some(4078.67), Some(1.0))
    );
    assert_eq!(read.workers, Some(8));
    assert!(read.config_info.as_ref().unwrap().starts_with("60% containers="));
    assert_eq!(main.running_s(), Some(18.0));
    let init = &run.stages[0].operations[0];
    assert_eq!((init.count, init.response_ms, init.success_ratio), (0, None, None));
    let timeline = run.timeline(main).unwrap();
    assert_eq!((timeline.len(), timeline[0].operations[3].count), (6, 1594));
    let history = run.history.as_ref().unwrap();
    assert_eq!(history.state, "finished");
    assert_eq!(history.started.unwrap().to_string(), "2026-11-21T18:53:50");
    assert!(run.config_xml.as_ref().unwrap().contains("<workload name=\"mock-full\""));
}

#[test]
fn the_columns_of_a_histogram_find_their_stage_and_operation() {
    let run = CosbenchRun::open(&kept("w3-mock-full")).unwrap();
    let columns = run.histogram().unwrap();
    let placed: Vec<_> = columns
        .iter()
        .map(|column| {
            let stage = column.stage.as_deref().unwrap();
            (stage, column.work_number, column.work.as_str(), column.operation.as_str(), column.count())
        })
        .collect();
    assert_eq!(
        placed,
        [
            ("s3-main", Some(1), "main", "read", 48940),
            ("s3-main", Some(1), "main", "write", 16282),
            ("s3-main", Some(1), "main", "delete", 7996),
            ("s3-main", Some(1), "main", "list", 8170),
            ("s4-two", Some(2), "wb", "write", 500),
        ]
    );
    assert!(columns.iter().all(|column| !column.complete), "the file was cut, and says so");
    assert_eq!(columns[0].buckets[1].to_ms, 20.0);
}

/// A run some of whose operations (their stage, name and column) have no response times, as COSBench leaves one that was
/// cancelled, or that ran with `histogram=false`: the column has its head, and no row has its cells.
fn without_times(lost: &[(&str, &str, usize)]) -> (tempfile::TempDir, PathBuf) {
    let (home, dir) = copied("w3-mock-full");
    let change = |file: &str, of_line: &dyn Fn(usize, Vec<&str>) -> Vec<String>| {
        let path = dir.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let lines =
            text.lines().enumerate().map(|(at, line)| of_line(at, line.split(',').collect()).join(","));
        fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    };
    change("w3-mock-full.csv", &|_, cells| {
        let is_lost = lost.iter().any(|(stage, name, _)| cells[..2] == [*stage, *name]);
        let cell = |(at, cell): (usize, &&str)| match at {
            7..=12 if is_lost => "N/A".to_owned(),
            _ => (*cell).to_owned(),
        };
        cells.iter().enumerate().map(cell).collect()
    });
    change("w3-mock-full-rt-histogram.csv", &|line, cells| {
        let stays =
            |at: usize| line == 0 || at == 0 || lost.iter().all(|(.., column)| (at - 1) / 2 != *column);
        cells.iter().enumerate().filter(|(at, _)| stays(*at)).map(|(_, cell)| (*cell).to_owned()).collect()
    });
    (home, dir)
}

#[test]
fn columns_without_cells_cost_the_others_no_times() {
    let whole = CosbenchRun::open(&kept("w3-mock-full")).unwrap().histogram().unwrap();
    let all = [
        ("s3-main", "read", 0),
        ("s3-main", "write", 1),
        ("s3-main", "delete", 2),
        ("s3-main", "list", 3),
        ("s4-two", "write", 4),
    ];
    for lost in [&all[4..], &all[1..2], &all[..4], &all[..]] {
        let (_home, dir) = without_times(lost);
        let columns = CosbenchRun::open(&dir).unwrap().histogram().unwrap();
        let is_lost = |at: usize| lost.iter().any(|(.., column)| *column == at);
        let left: Vec<_> = whole
            .iter()
            .enumerate()
            .filter(|(at, _)| !is_lost(*at))
            .map(|(_, column)| column.clone())
            .collect();
        assert_eq!(columns, left, "{lost:?}");
    }
    // A row that is cut is damage as before, whatever has no times.
    let (_home, dir) = without_times(&all[3..]);
    let path = dir.join("w3-mock-full-rt-histogram.csv");
    let text = fs::read_to_string(&path).unwrap();
    let second = text.lines().nth(1).unwrap();
    fs::write(&path, text.replacen(second, second.rsplitn(3, ',').last().unwrap(), 1)).unwrap();
    let error = CosbenchRun::open(&dir).unwrap().histogram().unwrap_err().to_string();
    assert!(error.contains("line 2: counts of 2 operations instead of 5"), "{error}");
}

#[test]
fn works_whose_operations_have_one_name_have_columns_of_their_own() {
    let all = [(Some(0), 48940), (Some(1), 16282), (Some(2), 7996), (Some(3), 8170)];
    for (lost, expected) in [(None, &all[..]), (Some(("s3-main", "read", 0)), &all[1..])] {
        let (_home, dir) = without_times(lost.as_slice());
        for (file, from, to) in [
            ("w3-mock-full.csv", "s3-main,write,write,", "s3-main,read,read,"),
            ("w3-mock-full-rt-histogram.csv", "s3-main-w1-main-write", "s3-main-w2-more-read"),
        ] {
            let path = dir.join(file);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{file}");
            fs::write(&path, text.replace(from, to)).unwrap();
        }
        let columns = CosbenchRun::open(&dir).unwrap().histogram().unwrap();
        let main = columns.iter().filter(|column| column.stage.as_deref() == Some("s3-main"));
        let placed: Vec<_> = main.map(|column| (column.operation_at, column.count())).collect();
        assert_eq!(placed, expected, "{lost:?}");
    }
}

#[test]
fn a_zipped_histogram_reads_like_a_plain_one() {
    let run = CosbenchRun::open(&kept("w23-swift-real")).unwrap();
    let columns = run.histogram().unwrap();
    let read = &run.stages[2].operations[0];
    assert_eq!((columns[0].count(), columns[0].operation.as_str()), (read.count, "read"));
    let longest = columns[0].buckets.last().unwrap();
    assert_eq!(Some(longest.to_ms), read.max_ms);
}

#[test]
fn a_stage_without_results_keeps_its_place() {
    let run = CosbenchRun::open(&kept("w2-delay-test")).unwrap();
    let delay = &run.stages[1];
    assert_eq!((delay.id.as_str(), delay.name.as_str()), ("s2-delay", "delay"));
    assert!(delay.operations.is_empty() && run.timeline(delay).unwrap().is_empty());
    assert_eq!(run.history.as_ref().unwrap().state, "terminated");
    assert!(run.histogram().unwrap().is_empty());
}

#[test]
fn the_tables_of_c4_are_told_from_stages() {
    let run = CosbenchRun::open(&kept("w7-c4")).unwrap();
    assert_eq!((run.variant, run.drivers.as_slice()), (Variant::C4, ["driver1".to_owned()].as_slice()));
    let stage = &run.stages[0];
    assert_eq!((run.stages.len(), stage.id.as_str()), (1, "s1-8KB, 4 workers"), "a comma in a name");
    let read = &stage.operations[0];
    assert_eq!((read.p99_ms, read.max_ms), (Some(f64::INFINITY), Some(501_220.0)));
    assert_eq!((read.throughput_per_s, read.bandwidth_bytes_per_s), (Some(12.5), Some(f64::INFINITY)));
    // A list has it as the slowest, and a record as what is not known.
    let (_home, dir) = copied("w7-c4");
    let headline = cosmark_archive::overview_of(&dir).unwrap().headline.unwrap();
    assert_eq!((headline.p99_ms, headline.p99_is_least), (Some(LAST_BUCKET_MS), true), "{headline:?}");
    assert_eq!(run.record().stages[0].operations[0].response_ms.p99, None);
    let workers = run.workers(stage).unwrap().unwrap();
    assert_eq!(workers.iter().map(|worker| worker.count).collect::<Vec<_>>(), [70, 50]);
    assert_eq!(run.timeline(stage).unwrap()[0].operations[0].throughput_per_s, f64::INFINITY);
    assert!(run.history.is_none() && read.workers.is_none(), "the index files do not know it");
}

#[test]
fn our_own_tables_read_like_those_of_cosbench() {
    let home = tempfile::tempdir().unwrap();
    let workload = mixed("a, b");
    let ops = [successes(2000, 12.5, 4000), successes(500, 510.0, 4000)];
    let dir = open(home.path()).begin(&new_run(&workload)).unwrap();
    let path = run_to_the_end(dir, &workload, &ops);
    drop(StageTables::of(&ops));
    let run = CosbenchRun::open(&path).unwrap();
    assert_eq!(run.name, "a, b");
    let read = &run.stages[0].operations[0];
    assert_eq!((read.count, read.bytes, read.workers), (2000, 8_000_000, Some(4)));
    assert!((read.response_ms.unwrap() - 12.5).abs() < 0.01);
    assert_eq!(run.history.as_ref().unwrap().state, "finished");
    let columns = run.histogram().unwrap();
    assert!(columns.iter().all(|column| column.complete));
    assert_eq!((columns[1].count(), columns[1].buckets[0].from_ms), (500, 510.0));
}

#[test]
fn a_run_whose_history_is_gone_ended_as_its_stages_did() {
    for (word, expected) in [
        ("completed", RunState::Finished),
        ("failed", RunState::Failed),
        ("terminated", RunState::Terminated),
        ("cancelled", RunState::Cancelled),
    ] {
        let (_home, dir) = copied("w3-mock-full");
        let table = dir.join("w3-mock-full.csv");
        let text = fs::read_to_string(&table).unwrap();
        let of_stage = |line: &str| {
            let changed = line.starts_with("s3-main,");
            (if changed { line.replace("completed", word) } else { line.to_owned() }) + "\n"
        };
        fs::write(&table, text.lines().map(of_stage).collect::<String>()).unwrap();
        let record = CosbenchRun::open(&dir).unwrap().record();
        assert_eq!(record.state, expected, "{word}");
        assert_eq!(record.reason.is_some(), word != "completed", "{word}: {:?}", record.reason);
    }
}

#[test]
fn a_table_without_a_stage_is_of_no_run_that_finished() {
    let (_home, dir) = copied("w3-mock-full");
    let table = dir.join("w3-mock-full.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let record = CosbenchRun::open(&dir).unwrap().record();
    assert_eq!((record.state, record.stages.len()), (RunState::Terminated, 0));
    assert_eq!(record.reason.as_deref(), Some("its result table has no stage"));
    assert_eq!(CosbenchRun::open(&kept("w3-mock-full")).unwrap().record().reason, None);
}

#[test]
fn every_damage_names_its_file_and_line() {
    let table = "w3-mock-full.csv";
    let histogram = "w3-mock-full-rt-histogram.csv";
    let cases: &[(&str, &str, &str, &str)] = &[
        (
            table,
            "48940,195760000,1.06",
            "48940,195760000,abc",
            "w3-mock-full.csv: line 4: `abc` is not a number",
        ),
        (
            table,
            "48940,195760000,1.06",
            "48940,195760000,1,06",
            "w3-mock-full.csv: line 4: 18 cells instead of 17",
        ),
        (table, "s3-main,read,", "main,read,", "line 4: `main` is not the id of a stage"),
        (
            table,
            "100%,completed,waiting @ 2026-11-21 18:53:50,booting @ 2026-11-21 18:53:58",
            "\n",
            "line 3: 16 cells instead of 17",
        ),
        (histogram, "0~10,48922", "0~10,x", "w3-mock-full-rt-histogram.csv: line 2: `x` is not a count"),
        (histogram, "10~20,", "20~10,", "line 3: `20~10` is not a bucket"),
        (histogram, "ResTime", "Time", "line 1: not the head"),
        ("s3-main.csv", "11725,", "-1,", "s3-main.csv: line 4: `-1` is not a count"),
        ("s3-main.csv", "100%,1,1,1", "100%,1,1", "s3-main.csv: line 4: 31 fields instead of 32"),
    ];
    for (file, from, to, expected) in cases {
        let (_home, dir) = copied("w3-mock-full");
        let text = fs::read_to_string(dir.join(file)).unwrap();
        assert!(text.contains(from), "{file} has {from}");
        fs::write(dir.join(file), text.replacen(from, to, 1)).unwrap();
        let read = |dir: &Path| -> Result<(), ArchiveError> {
            let run = CosbenchRun::open(dir)?;
            run.histogram()?;
            run.stages.iter().try_for_each(|stage| run.timeline(stage).map(drop))
        };
        let error = read(&dir).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n  should say: {expected}");
    }
}

/// A copy with its index files, every table changed.
fn changed(change: &dyn Fn(&str) -> Vec<u8>) -> (tempfile::TempDir, PathBuf) {
    let (home, run) = copied("w3-mock-full");
    for index in ["run-history.csv", "workloads.csv"] {
        fs::copy(kept(index), home.path().join(index)).unwrap();
    }
    for dir in [home.path(), &run] {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            if entry.path().extension().is_some_and(|ending| ending == "csv") {
                let text = fs::read_to_string(entry.path()).unwrap();
                fs::write(entry.path(), change(&text)).unwrap();
            }
        }
    }
    (home, run)
}

/// Numbers as a locale with decimal commas writes them, quoted as little as everything else.
fn with_commas(text: &str) -> Vec<u8> {
    let is_number = |cell: &str| {
        let digits = cell.trim_end_matches('%');
        digits.parse::<f64>().is_ok() && digits.contains('.')
    };
    let cell = |cell: &str| if is_number(cell) { cell.replace('.', ",") } else { cell.to_owned() };
    let line = |line: &str| line.split(',').map(cell).collect::<Vec<_>>().join(",") + "\n";
    text.lines().map(line).collect::<String>().into_bytes()
}

#[test]
fn line_ends_marks_and_decimal_commas_of_other_machines_change_no_figure() {
    type Change<'a> = &'a dyn Fn(&str) -> Vec<u8>;
    let expected = CosbenchRun::open(&kept("w3-mock-full")).unwrap();
    let cases: [(&str, Change); 4] = [
        ("line ends of Windows", &|text| text.replace('\n', "\r\n").into_bytes()),
        ("a mark before the text", &|text| format!("\u{feff}{text}").into_bytes()),
        ("decimal commas", &with_commas),
        ("empty lines behind the last", &|text| format!("{text}\n\n").into_bytes()),
    ];
    for (what, change) in cases {
        let (_home, dir) = changed(change);
        assert!(CosbenchRun::is_at(&dir), "{what}");
        let run = CosbenchRun::open(&dir).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(run.stages, expected.stages, "{what}");
        assert_eq!(run.history, expected.history, "{what}");
        assert_eq!(run.histogram().unwrap(), expected.histogram().unwrap(), "{what}");
        for stage in &expected.stages {
            assert_eq!(
                run.timeline(stage).unwrap(),
                expected.timeline(stage).unwrap(),
                "{what}: {}",
                stage.id
            );
        }
    }
}

/// A table as COSBench 0.3.3 writes it: without the mean time to about the first byte.
fn as_before_0_4(text: &str) -> String {
    let head: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let Some(at) = head.iter().position(|cell| *cell == "Avg-ProcTime") else { return text.to_owned() };
    // A timeline has a column of each operation.
    let many = 1 + head.iter().skip(at + 1).take_while(|cell| cell.is_empty()).count();
    let line = |line: &str| -> String {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[..at], &cells[at + many..]].concat().join(",") + "\n"
    };
    text.lines().map(line).collect()
}

#[test]
fn archives_of_0_3_3_are_read_without_the_time_that_it_does_not_measure() {
    type Change<'a> = &'a dyn Fn(&str) -> Vec<u8>;
    let expected = CosbenchRun::open(&kept("w3-mock-full")).unwrap();
    let mut stages = expected.stages.clone();
    for operation in stages.iter_mut().flat_map(|stage| &mut stage.operations) {
        operation.processing_ms = None;
    }
    let cases: [(&str, Change); 2] = [
        ("points", &|text| as_before_0_4(text).into_bytes()),
        ("decimal commas", &|text| with_commas(&as_before_0_4(text))),
    ];
    for (what, change) in cases {
        let (_home, dir) = changed(change);
        assert!(CosbenchRun::is_at(&dir), "{what}");
        let run = CosbenchRun::open(&dir).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((run.variant, &run.stages), (Variant::Old, &stages), "{what}");
        assert_eq!(run.record().made_by.as_deref(), Some("COSBench 0.3.3"), "{what}");
        for stage in &expected.stages {
            let mut timeline = expected.timeline(stage).unwrap();
            for value in timeline.iter_mut().flat_map(|entry| &mut entry.operations) {
                value.processing_ms = None;
            }
            assert_eq!(run.timeline(stage).unwrap(), timeline, "{what}: {}", stage.id);
        }
    }
}

#[test]
fn tables_of_builds_before_0_3_3_are_refused_by_their_version() {
    let columns = "Op-Count,Byte-Count,Avg-ResTime,60%-ResTime,80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,\
                   100%-ResTime,Throughput,Bandwidth,Succ-Ratio";
    for (head, row) in [("Op-Type", "read"), ("Stage,Op-Type", "s1,read")] {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("w5-old");
        fs::create_dir(&dir).unwrap();
        let text = format!("{head},{columns}\n{row},10,40,1.5,10,10,10,10,10,10,2,8,100%\n");
        fs::write(dir.join("w5-old.csv"), text).unwrap();
        assert!(CosbenchRun::is_at(&dir) && CosbenchRun::made(&dir), "{head}");
        let error = CosbenchRun::open(&dir).unwrap_err().to_string();
        for part in ["w5-old.csv", "COSBench before 0.3.3", "0.3.3 and later", "workload-config.xml"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let listed = cosmark_archive::overview(home.path()).unwrap();
        assert_eq!(listed[0].problem.as_deref(), Some(error.as_str()), "{head}");
    }
}

/// A result table with further columns before and behind that of the stage, as sine-io's fork has `Interval` and `Op-Id`.
fn with_columns(table: &str, run: &CosbenchRun, before: &[&str], behind: &[&str]) -> String {
    let list = |cells: &[&str]| cells.iter().map(|cell| format!("{cell},")).collect::<String>();
    let line = |(number, line): (usize, &str)| {
        let names = run.stages.iter().flat_map(|stage| [stage.id.as_str(), stage.name.as_str()]);
        let is_first = |name: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(','));
        let (stage, before, behind) = match number {
            0 => ("Stage", list(before), list(behind)),
            _ => {
                let stage = names.filter(is_first).max_by_key(|name| name.len()).unwrap();
                let none = line[stage.len()..].starts_with(",N/A,N/A");
                let value = if none { "N/A" } else { "op1" };
                (stage, list(&vec![value; before.len()]), list(&vec![value; behind.len()]))
            }
        };
        format!("{before}{stage},{behind}{}\n", &line[stage.len() + 1..])
    };
    table.lines().enumerate().map(line).collect()
}

#[test]
fn further_columns_of_a_fork_before_the_operation_change_no_figure() {
    let fork = ["Interval", "Op-Id"];
    for name in ["w2-delay-test", "w3-mock-full", "w7-c4"] {
        let expected = CosbenchRun::open(&kept(name)).unwrap();
        let cases: [(&[&str], &[&str]); 4] = [
            (&[], &fork),
            (&[], &["Op-Id"]),
            (&["Driver-Name", "Driver-URL"], &[]),
            (&["Driver-Name"], &fork),
        ];
        for (before, behind) in cases {
            for commas in [false, true] {
                if commas && name == "w7-c4" {
                    continue; // A name with a comma and numbers with commas cannot be told apart.
                }
                let (_home, dir) = copied(name);
                let file = dir.join(format!("{name}.csv"));
                let table = fs::read_to_string(&file).unwrap();
                let table = with_columns(&table, &expected, before, behind);
                let table = if commas { with_commas(&table) } else { table.into_bytes() };
                fs::write(&file, table).unwrap();
                // The fork's tables of drivers say which tasks each had, and no results.
                fs::write(
                    dir.join("all-drivers.csv"),
                    "Driver,URL\r\ndriver1,http://127.0.0.1:18088/driver\r\n",
                )
                .unwrap();
                let task =
                    "Stage,Mission-ID,Task-ID,Task-Interval,Task-State,Schedule-offset,Work-Name,Workers\r\n";
                fs::write(dir.join("driver9.csv"), task).unwrap();
                assert!(CosbenchRun::is_at(&dir), "{name} {before:?} {behind:?}");
                let run =
                    CosbenchRun::open(&dir).unwrap_or_else(|error| panic!("{name} {behind:?}: {error}"));
                let figures =
                    |run: &CosbenchRun| run.stages.clone().into_iter().map(without_index).collect::<Vec<_>>();
                assert_eq!(figures(&run), figures(&expected), "{name} {before:?} {behind:?} {commas}");
                assert_eq!(run.drivers, expected.drivers, "{name}");
            }
        }
    }
    // A table that was cut names the columns that it should have.
    let (_home, dir) = copied("w3-mock-full");
    let file = dir.join("w3-mock-full.csv");
    let run = CosbenchRun::open(&dir).unwrap();
    let table = with_columns(&fs::read_to_string(&file).unwrap(), &run, &[], &fork);
    let cut = table.lines().take(2).collect::<Vec<_>>().join("\n") + "\ns3-main,5,op1,read,read,48940";
    fs::write(&file, cut).unwrap();
    let error = CosbenchRun::open(&dir).unwrap_err().to_string();
    assert!(error.contains("6 cells instead of 19 before the states"), "{error}");
}

/// Without what `workloads.csv` adds, which lies beside the runs as they were.
fn without_index(mut stage: CosbenchStage) -> CosbenchStage {
    for operation in &mut stage.operations {
        (operation.workers, operation.config_info) = (None, None);
    }
    stage
}

#[test]
fn names_in_the_encoding_of_the_controllers_machine_stay_readable() {
    let latin = |text: &str| {
        let renamed = text.replace("delete", "l\u{f6}schen");
        renamed.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect::<Vec<u8>>()
    };
    let (_home, dir) = copied("w3-mock-full");
    let table = dir.join("w3-mock-full.csv");
    let changed = latin(&fs::read_to_string(&table).unwrap());
    assert!(String::from_utf8(changed.clone()).is_err());
    fs::write(&table, changed).unwrap();
    fs::write(dir.join("workload-config.xml"), b"<workload name=\"m\xe4in\x9b\"/>").unwrap();
    let run = CosbenchRun::open(&dir).unwrap();
    let names: Vec<&str> = run.stages[2].operations.iter().map(|op| op.label.as_str()).collect();
    assert_eq!(names, ["read", "write", "l\u{f6}schen", "list"]);
    // What stands for a control there gives no order to a terminal.
    assert_eq!(run.config_xml.unwrap(), "<workload name=\"m\u{e4}in\u{fffd}\"/>");
}

#[test]
fn files_and_directories_in_the_encoding_of_the_controllers_machine_are_found() {
    let (home, from) = copied("w3-mock-full");
    let dir = home.path().join(OsStr::from_bytes(b"w3-pr\xfcfung"));
    fs::rename(&from, &dir).unwrap();
    for end in [".csv", "-rt-histogram.csv"] {
        let table = dir.join(format!("w3-mock-full{end}"));
        let text = fs::read_to_string(&table).unwrap().replace("s3-main", "s3-m\u{e4}in");
        let bytes: Vec<u8> = text.chars().map(|sign| u8::try_from(u32::from(sign)).unwrap()).collect();
        let name = [&b"w3-pr\xfcfung"[..], end.as_bytes()].concat();
        fs::write(dir.join(OsStr::from_bytes(&name)), bytes).unwrap();
        fs::remove_file(table).unwrap();
    }
    fs::rename(dir.join("s3-main.csv"), dir.join(OsStr::from_bytes(b"s3-m\xe4in.csv"))).unwrap();
    let listed = cosmark_archive::overview(home.path()).unwrap().remove(0);
    assert_eq!((listed.name.as_str(), &listed.problem), ("pr\u{fc}fung", &None), "{listed:?}");
    let place = cosmark_archive::place_named(home.path(), &listed.directory);
    assert_eq!(place, dir);
    assert_eq!(cosmark_archive::overview_of(&dir).unwrap(), listed);
    let (run, expected) =
        (CosbenchRun::open(&place).unwrap(), CosbenchRun::open(&kept("w3-mock-full")).unwrap());
    assert_eq!((run.id.as_str(), run.name.as_str()), ("w3", "pr\u{fc}fung"));
    assert_eq!(run.stages[2].id, "s3-m\u{e4}in");
    assert_eq!(run.histogram().unwrap().len(), expected.histogram().unwrap().len());
    let timeline = expected.timeline(&expected.stages[2]).unwrap();
    assert!(!timeline.is_empty());
    assert_eq!(run.timeline(&run.stages[2]).unwrap(), timeline);
    let opened = cosmark_archive::open_run(&place).unwrap();
    assert_eq!(opened.timeline(&opened.record.stages[2]).unwrap(), timeline);
    assert!(!opened.timeline_text(&opened.record.stages[2]).unwrap().is_empty());
}

#[test]
fn a_table_that_ends_in_the_middle_of_a_line_says_so() {
    let (_home, dir) = copied("w3-mock-full");
    let table = dir.join("w3-mock-full.csv");
    let whole = fs::read_to_string(&table).unwrap();
    let read = |text: &str| {
        fs::write(&table, text).unwrap();
        let run = CosbenchRun::open(&dir).unwrap();
        assert_eq!(run.is_cut, run.record().reason.is_some_and(|why| why.contains("middle of a line")));
        run.is_cut
    };
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert!(!read(&whole));
    assert!(!read(&lines[..5].concat()), "of fewer stages");
    let stage = lines[..5].concat();
    let (begin, _) = stage.rsplit_once(',').unwrap();
    assert!(read(begin), "in the middle of a line, between two cells");
    assert!(read(&format!("{begin}\n")), "a line of fewer states than the first of its stage");
    assert!(read(&stage[..stage.len() - 4]), "in the middle of a cell");
}

#[test]
fn a_table_that_a_spreadsheet_quoted_is_the_same_run() {
    for name in ["w3-mock-full", "w7-c4"] {
        let (_home, dir) = copied(name);
        let expected = CosbenchRun::open(&dir).unwrap();
        let quoted = |line: &str| {
            let cells: Vec<String> = line.split(',').map(|cell| format!("\"{cell}\"")).collect();
            cells.join(",") + "\n"
        };
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "csv") {
                let text = fs::read_to_string(&path).unwrap();
                fs::write(&path, text.lines().map(quoted).collect::<String>()).unwrap();
            }
        }
        let run = CosbenchRun::open(&dir).unwrap();
        assert_eq!((&run.stages, run.variant), (&expected.stages, expected.variant), "{name}");
        assert_eq!(run.drivers, expected.drivers, "{name}");
        assert_eq!(run.record().stages, expected.record().stages, "{name}");
        let timelines = |run: &CosbenchRun| {
            run.stages.iter().map(|stage| run.timeline(stage).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(timelines(&run), timelines(&CosbenchRun::open(&kept(name)).unwrap()), "{name}");
    }
}

#[test]
fn a_mean_below_nothing_is_unknown_and_hides_no_other_figure() {
    let (_home, dir) = copied("w3-mock-full");
    let table = dir.join("w3-mock-full.csv");
    let text = fs::read_to_string(&table).unwrap();
    let cells = "48940,195760000,1.06,";
    let rest = text.split_once(cells).unwrap().1;
    let processing = rest.split_once(',').unwrap().0;
    let negative = text.replacen(&format!("{cells}{processing},"), &format!("{cells}-0.5,"), 1);
    fs::write(&table, negative).unwrap();
    let run = CosbenchRun::open(&dir).unwrap();
    let read = &run.stages[2].operations[0];
    assert_eq!((read.response_ms, read.processing_ms, read.count), (Some(1.06), None, 48940));
}

#[test]
fn a_rate_that_a_locale_could_not_write_is_unknown_and_not_nothing() {
    let (_home, dir) = copied("w3-mock-full");
    for (file, rate) in [("w3-mock-full.csv", "4078.67"), ("s3-main.csv", "3246.05")] {
        let text = fs::read_to_string(dir.join(file)).unwrap();
        assert!(text.contains(rate));
        fs::write(dir.join(file), text.replace(rate, "?")).unwrap();
    }
    let run = CosbenchRun::open(&dir).unwrap();
    let read = &run.stages[2].operations[0];
    assert_eq!((read.count, read.throughput_per_s), (48940, None));
    assert_eq!(run.record().stages[2].operations[0].throughput_per_s, None);
    assert_eq!(run.timeline(&run.stages[2]).unwrap()[0].operations[0].throughput_per_s, f64::INFINITY);
}

/// The head that 0.4.2.c4's tables of workers and drivers share.
const SHARES: &str =
    "Op-Type,Sample-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio\n";

/// A task of a driver as CSVTaskExporter writes it: column by column, a line's end behind each share of successes.
fn task(operations: &[(&str, u64, u64, &str)]) -> String {
    type Cell<'a> = &'a dyn Fn(&(&str, u64, u64, &str)) -> String;
    let column = |of: Cell, end: &str| operations.iter().map(|op| of(op) + end).collect::<String>();
    [
        column(&|op| op.0.to_owned(), ","),
        column(&|op| op.0.to_owned(), ","),
        column(&|op| op.1.to_string(), ","),
        column(&|op| op.2.to_string(), ","),
        column(&|_| "1.5".to_owned(), ","),
        column(&|_| "N/A".to_owned(), ","),
        column(&|_| "12.25".to_owned(), ","),
        column(&|_| "100".to_owned(), ","),
        column(&|op| op.3.to_owned(), "\n"),
    ]
    .concat()
}

#[test]
fn what_each_driver_of_c4_did_stands_beside_the_results_where_it_adds_up_to_them() {
    let (_home, dir) = copied("w3-mock-full");
    let write = |driver: &str, tasks: &[String]| {
        fs::write(dir.join(format!("{driver}.csv")), SHARES.to_owned() + &tasks.concat()).unwrap();
    };
    let main = |read: u64, write: u64| {
        let other = [("delete", 7996 / 2, 0, "N/A"), ("list", 8170 / 2, 0, "100%")];
        task(
            &[
                &[("read", read, read * 4000, "99.5%"), ("write", write, 7_383_984_000 / 2, "100%")],
                other.as_slice(),
            ]
            .concat(),
        )
    };
    // The second driver took no part in the first stage; its table has commas and a driver's name has spaces.
    write(
        "10.0.0.1:18088",
        &[task(&[("init", 0, 0, "N/A")]), task(&[("prepare", 100, 400_000, "100%")]), main(40000, 8141)],
    );
    write("rack 2, node b", &[task(&[("prepare", 100, 400_000, "100%")]), main(8940, 8141)]);
    let run = CosbenchRun::open(&dir).unwrap();
    assert_eq!((run.variant, run.drivers.len()), (Variant::C4, 2));
    let tasks = run.tasks("rack 2, node b").unwrap();
    assert_eq!(tasks.iter().map(Vec::len).collect::<Vec<_>>(), [1, 4]);
    assert_eq!((tasks[1][0].success_ratio, tasks[1][2].success_ratio), (Some(0.995), None));
    let record = run.record();
    let parts = |stage: usize, op: usize| -> Vec<(String, u64, u64)> {
        let drivers = &record.stages[stage].operations[op].drivers;
        drivers.iter().map(|one| (one.driver.clone(), one.sums.ok, one.sums.failed)).collect()
    };
    let (first, second) = ("10.0.0.1:18088".to_owned(), "rack 2, node b".to_owned());
    assert_eq!(parts(2, 0), [(first.clone(), 40000, 201), (second.clone(), 8940, 45)]);
    assert_eq!(parts(1, 0), [(first, 100, 0), (second, 100, 0)]);
    assert!(parts(3, 0).is_empty(), "their tables have nothing of the stages that followed");
    // What does not add up to the results is nobody's.
    write("rack 2, node b", &[task(&[("prepare", 90, 360_000, "100%")]), main(8940, 8141)]);
    let record = CosbenchRun::open(&dir).unwrap().record();
    assert!(record.stages[1].operations[0].drivers.is_empty());
    assert_eq!(record.stages[2].operations[0].drivers.len(), 2);
}

#[test]
fn a_damaged_table_of_a_driver_is_named_and_costs_no_other_figure() {
    let (_home, dir) = copied("w3-mock-full");
    let whole = task(&[("read", 10, 40000, "100%"), ("write", 5, 20000, "100%")]);
    let cut = whole.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    let cases = [
        ("d1", cut.clone() + &whole, "a task of 2 operations lacks shares of successes"),
        ("d2", whole.replacen(",10,", ",ten,", 1), "line 2"),
        ("d3", "read\n".to_owned(), "1 words do not name operations and their samples"),
        ("d4", "read,read,1\n".to_owned(), "3 cells instead of 9 of 1 operations"),
    ];
    for (driver, text, expected) in &cases {
        fs::write(dir.join(format!("{driver}.csv")), SHARES.to_owned() + text).unwrap();
        let run = CosbenchRun::open(&dir).unwrap();
        let error = run.tasks(driver).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&format!("{driver}.csv")), "{error}");
        let record = run.record();
        assert!(record.stages.iter().flat_map(|stage| &stage.operations).all(|op| op.drivers.is_empty()));
    }
    // A run that was killed while it wrote has what was whole.
    fs::write(dir.join("d5.csv"), SHARES.to_owned() + &whole + &cut).unwrap();
    assert_eq!(CosbenchRun::open(&dir).unwrap().tasks("d5").unwrap().len(), 1);
}

#[test]
fn a_directory_without_a_result_table_is_refused() {
    let home = tempfile::tempdir().unwrap();
    assert!(!CosbenchRun::is_at(home.path()));
    let error = CosbenchRun::open(home.path()).unwrap_err().to_string();
    assert!(error.contains("no result table w<N>-<name>.csv here; give the directory of one run"), "{error}");
    assert!(CosbenchRun::is_at(&kept("w3-mock-full")));
}

#[test]
fn an_interval_in_which_nothing_was_seen_reads_as_nothing() {
    let (_home, dir) = copied("w3-mock-full");
    let file = dir.join("s3-main.csv");
    let text = fs::read_to_string(&file).unwrap() + "18:54:30,0,0,N/A,N/A,0,0,N/A,6,6,6\n";
    fs::write(&file, text).unwrap();
    let run = CosbenchRun::open(&dir).unwrap();
    let timeline = run.timeline(&run.stages[2]).unwrap();
    let last = timeline.last().unwrap();
    assert_eq!((last.operations.len(), last.operations[1].count), (4, 0));
}

#[test]
fn an_interval_in_which_a_work_had_nothing_new_to_say_costs_no_other() {
    let (_home, dir) = copied("w3-mock-full");
    let file = dir.join("s4-two.csv");
    let text = fs::read_to_string(&file).unwrap();
    let rows = text.lines().count() - 2;
    // Of the work of two reads, of that of one write, of both without a success, and of a work that the head does not know.
    let two = "18:54:50,40,41,800,820,2.5,2.6,2.5,2.6,8,8.2,160,164,100%,98%,6,6,6";
    let one = "18:54:55,40,800,2.5,N/A,8,160,100%,7,7,7";
    let failed = "18:55:00,0,0,0,0,N/A,N/A,N/A,N/A,0,0,0,0,N/A,N/A,8,8,8";
    let four = "18:55:05,1,2,3,4,1,2,3,4,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1%,1%,1%,1%,9,9,9";
    fs::write(&file, format!("{text}{two}\n{one}\n{failed}\n{four}\n")).unwrap();
    let run = CosbenchRun::open(&dir).unwrap();
    let timeline = run.timeline(&run.stages[3]).unwrap();
    assert_eq!(timeline.len(), rows + 4);
    let last: Vec<_> =
        timeline[rows..].iter().map(|entry| (entry.time.as_str(), entry.operations.len())).collect();
    assert_eq!(last, [("18:54:50", 0), ("18:54:55", 0), ("18:55:00", 3), ("18:55:05", 0)]);
    assert!(timeline[rows + 2].operations.iter().all(|op| op.count == 0));
    assert!(timeline[..rows].iter().all(|entry| entry.operations.len() == 3));
    // A row that was cut where as many cells are left is no such row.
    let whole = text.lines().nth(2).unwrap();
    for left in [18, 11] {
        let cut = whole.split(',').take(left).collect::<Vec<_>>().join(",");
        fs::write(&file, text.replacen(whole, &cut, 1)).unwrap();
        let error = run.timeline(&run.stages[3]).unwrap_err().to_string();
        assert!(error.contains(&format!("line 3: {left} fields instead of 25")), "{error}");
    }
}

#[test]
fn works_that_had_nothing_to_say_are_left_out_of_rows_with_decimal_commas_as_well() {
    let (_home, dir) = copied("w3-mock-full");
    let file = dir.join("s4-two.csv");
    let text = fs::read_to_string(&file).unwrap();
    let expected = CosbenchRun::open(&dir).unwrap();
    let expected = expected.timeline(&expected.stages[3]).unwrap();
    // With its commas the first has as many cells as a row of all works.
    let two = "18:54:50,40,41,800,820,2.5,2.65,2.5,2.6,8.1,8.2,162,164,100%,98.12%,6,6,6";
    let one = "18:54:55,40,800,2.57,N/A,8.14,162.8,99.5%,7,7,7";
    assert_eq!(
        two.split(',').count() + two.matches('.').count(),
        text.lines().nth(1).unwrap().split(',').count()
    );
    fs::write(&file, with_commas(&format!("{text}{two}\n{one}\n"))).unwrap();
    let run = CosbenchRun::open(&dir).unwrap();
    let timeline = run.timeline(&run.stages[3]).unwrap();
    let (whole, some) = timeline.split_at(expected.len());
    assert_eq!(whole, expected);
    let some: Vec<_> = some.iter().map(|entry| (entry.time.as_str(), entry.operations.len())).collect();
    assert_eq!(some, [("18:54:50", 0), ("18:54:55", 0)]);
}

/// Whatever its tables hold, a run of COSBench is listed, and read or refused with the file that is damaged.
#[test]
fn changed_tables_of_cosbench_are_read_or_named() {
    const PIECES: [&str; 12] = [
        "18446744073709551615",
        "-1",
        "NaN",
        "∞",
        "1e308",
        "",
        "\"",
        ",,,",
        "\n",
        "\r\n",
        "\0",
        "completed @ 9999-99-99",
    ];
    let (home, run) = copied("w3-mock-full");
    let names: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
    let tables: Vec<_> =
        names.into_iter().filter(|path| path.extension().is_some_and(|end| end == "csv")).collect();
    assert!(tables.len() > 3, "{tables:?}");
    // A generator of numbers that needs none of its quality: Knuth's linear congruential one.
    let mut state = 20_261_127_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for round in 0..150 {
        let table = &tables[draw(tables.len())];
        let whole = fs::read(table).unwrap();
        let mut bytes = whole.clone();
        for _ in 0..=draw(3) {
            let at = draw(bytes.len());
            let cell =
                bytes.iter().skip(at).position(|byte| *byte == b',').map_or(bytes.len(), |more| at + more);
            match draw(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..cell)),
                _ => drop(bytes.splice(at..cell, PIECES[draw(PIECES.len())].bytes())),
            }
        }
        fs::write(table, &bytes).unwrap();
        let glances = cosmark_archive::overview(home.path()).unwrap();
        assert_eq!(glances.len(), 1, "round {round}");
        match CosbenchRun::open(&run) {
            Ok(read) => {
                let _record = read.record();
                for stage in &read.stages {
                    if let Err(error) = read.timeline(stage) {
                        assert!(error.to_string().contains(".csv"), "round {round}: {error}");
                    }
                }
                drop(read.histogram());
            }
            Err(error) => assert!(error.to_string().contains("w3-mock-full"), "round {round}: {error}"),
        }
        fs::write(table, &whole).unwrap();
    }
}

#[test]
fn a_table_of_cosbench_whose_counts_would_run_over_is_refused() {
    let (_home, run) = copied("w3-mock-full");
    let path = run.join("w3-mock-full.csv");
    let text = fs::read_to_string(&path).unwrap();
    let head = text.lines().next().unwrap();
    let row = text.lines().find(|line| line.starts_with("s3-main,")).unwrap();
    let table = |bytes: u64| {
        let mut rows = vec![head.to_owned()];
        rows.extend((0..20).map(|stage| {
            let mut cells: Vec<String> = row.split(',').map(str::to_owned).collect();
            (cells[0], cells[4]) = (format!("s{stage}-x"), bytes.to_string());
            cells.join(",")
        }));
        fs::write(&path, rows.join("\n") + "\n").unwrap();
        CosbenchRun::open(&run)
    };
    assert_eq!(table(1000).unwrap().stages.len(), 20);
    let error = table(1 << 56).unwrap_err().to_string();
    assert!(error.contains("more than a run can have"), "{error}");
    let error = table((1 << 56) + 1).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("is not a count"), "{error}");
}
