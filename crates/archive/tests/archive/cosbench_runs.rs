//! Archives that COSBench wrote, read back.

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_archive::cosbench::{CosbenchRun, Variant};
use cosmark_archive::{ArchiveError, StageTables};

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
