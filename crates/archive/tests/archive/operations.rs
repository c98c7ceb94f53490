//! The operation log gives back what went in, from many threads and in many parts.

use std::sync::Arc;

use cosmark_archive::{NodeLogReader, OpBatch, OpLog, OpLogReader, OpRow, SendError, layout_of, open_run};
use cosmark_metrics::nodes::reading::Found;
use cosmark_metrics::{OpSnapshot, Outcome, Phase, Sample, SlicePlan, WireTimes};

use crate::support::{at, mixed, new_run, open};

const PLAN: SlicePlan =
    SlicePlan { start_ns: 0, window_start_ns: 100, window_end_ns: 900, stop_ns: 1000, slice_ns: 50 };

fn batch(samples: Vec<Sample>) -> OpBatch {
    OpBatch {
        driver: Arc::from("driver1"),
        stage: 0,
        work: 0,
        clock_offset_ns: 1_000,
        clock_error_ns: 0,
        plan: PLAN,
        samples,
    }
}

#[test]
fn every_field_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let run = open(dir.path()).begin(&new_run(&mixed("log"))).unwrap();
    let log = OpLog::create(run.path(), run.layout(), at("18:53:50.123456789")).unwrap();
    let full = Sample {
        op: 1,
        worker: 3,
        container: 2,
        object: 9,
        due_ns: 10,
        sent_ns: 20,
        first_byte_ns: 40,
        end_ns: 60,
        connect_ns: 5,
        tls_ns: 0,
        request_sent_ns: 0,
        stands_for: 0,
        bytes: 4096,
        asked_bytes: 8192,
        version: 0x8000_0001,
        endpoint: 2,
        status: 503,
        outcome: Outcome::failed("http_503"),
        requests: 3,
        retries: 2,
        connections: 1,
        accepted_only: true,
        wire: WireTimes { sent_ns: 25, first_byte_ns: 35, end_ns: 50, spent_ns: 24, weight: 16 },
    };
    let bare = Sample { due_ns: 850, sent_ns: 850, end_ns: 901, ..Sample::default() };
    log.sender().send(batch(vec![full, bare])).unwrap();
    let other = OpBatch { driver: Arc::from("driver2"), clock_offset_ns: -5_000, ..batch(vec![bare]) };
    log.sender().try_send(other).unwrap();
    assert_eq!(log.finish().unwrap(), 3);
    let reader = open_run(run.path()).unwrap().operations().unwrap().unwrap();
    assert_eq!(reader.epoch(), at("18:53:50.123456789"));
    let rows: Vec<_> = reader.map(Result::unwrap).collect();
    let names = |at: usize| {
        let row = &rows[at];
        (&*row.driver, &*row.stage, &*row.work, &*row.operation, row.phase)
    };
    assert_eq!(names(0), ("driver1", "s1-main", "main", "write", Phase::Rampup));
    assert_eq!(names(1), ("driver1", "s1-main", "main", "read", Phase::Rampdown));
    assert_eq!(names(2), ("driver2", "s1-main", "main", "read", Phase::Rampdown));
    // Times move to the log's epoch; the operation's number in its work becomes its name.
    let moved = Sample {
        op: 0,
        due_ns: 1010,
        sent_ns: 1020,
        first_byte_ns: 1040,
        end_ns: 1060,
        wire: WireTimes { sent_ns: 1025, first_byte_ns: 1035, end_ns: 1050, ..full.wire },
        ..full
    };
    assert_eq!(rows[0].sample, moved);
    assert_eq!(rows[1].sample, Sample { due_ns: 1850, sent_ns: 1850, end_ns: 1901, ..bare });
    assert_eq!(rows[2].sample.end_ns, 0, "nothing is before the epoch");
}

#[test]
fn published_numbers_can_be_recomputed_from_many_parts() {
    let dir = tempfile::tempdir().unwrap();
    let run = open(dir.path()).begin(&new_run(&mixed("parts"))).unwrap();
    let log = OpLog::create(run.path(), run.layout(), at("18:53:50")).unwrap();
    let sample = |n: u64| Sample {
        op: (n % 2) as u16,
        worker: (n % 7) as u32,
        sent_ns: 200 + n % 300,
        due_ns: 200,
        end_ns: 300 + n % 500,
        bytes: n % 1000,
        outcome: if n.is_multiple_of(97) { Outcome::failed("timeout") } else { Outcome::OK },
        ..Sample::default()
    };
    const ROWS: u64 = 2_100_000;
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let sender = log.sender();
            std::thread::spawn(move || {
                for start in (0..ROWS / 3).step_by(10_000) {
                    let samples = (start..start + 10_000).map(|n| sample(n * 3 + thread)).collect();
                    let mut next = batch(samples);
                    // A load thread never waits: it keeps the batch and comes back.
                    while let Err(error) = sender.try_send(next) {
                        let SendError::Full(back) = error else { panic!("the writer stopped") };
                        next = back;
                        std::thread::yield_now();
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(log.finish().unwrap(), ROWS);
    let names: Vec<_> = std::fs::read_dir(run.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("operations"))
        .collect();
    assert_eq!(names, ["operations.parquet"], "the parts were joined and are gone");
    let mut expected = [OpSnapshot::default(), OpSnapshot::default()];
    (0..ROWS).map(sample).for_each(|sample| expected[usize::from(sample.op)].add(&sample, true));
    let mut found = [OpSnapshot::default(), OpSnapshot::default()];
    for row in OpLogReader::open(run.path()).unwrap().unwrap() {
        let row = row.unwrap();
        assert_eq!(row.phase, Phase::Window);
        found[usize::from(&*row.operation == "write")].add(&row.sample, true);
    }
    assert_eq!(found, expected);
}

#[test]
fn a_run_without_operations_has_a_log_without_rows() {
    let dir = tempfile::tempdir().unwrap();
    let log = OpLog::create(dir.path(), &layout_of(&mixed("empty")), at("18:53:50")).unwrap();
    assert_eq!(log.finish().unwrap(), 0);
    assert_eq!(OpLogReader::open(dir.path()).unwrap().unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn mistakes_of_the_caller_and_lost_directories_are_errors_and_stop_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let layout = layout_of(&mixed("wrong"));
    let log = OpLog::create(dir.path(), &layout, at("18:53:50")).unwrap();
    let sender = log.sender();
    sender.send(batch(vec![Sample { op: 9, ..Sample::default() }])).unwrap();
    let error = log.finish().unwrap_err().to_string();
    assert!(error.contains("work 0 of stage 0"), "{error}");
    assert!(matches!(sender.try_send(batch(Vec::new())), Err(SendError::Stopped)));
    let error = OpLog::create(&dir.path().join("gone"), &layout, at("18:53:50")).unwrap_err().to_string();
    assert!(error.contains("gone") && error.contains("check the path"), "{error}");
}

#[test]
fn a_file_that_is_no_operation_log_is_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(OpLogReader::open(dir.path()).unwrap().is_none());
    for garbage in [&b""[..], b"PAR1", b"PAR1garbagePAR1", &[0xff; 4096]] {
        std::fs::write(dir.path().join("operations.parquet"), garbage).unwrap();
        let error = OpLogReader::open(dir.path()).err().unwrap().to_string();
        assert!(error.contains("operations.parquet") && error.contains("restore"), "{error}");
    }
}

/// A directory with this file of an earlier version as its `name`.
fn earlier(file: &str, name: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet").join(file);
    std::fs::copy(kept, dir.path().join(name)).unwrap();
    dir
}

#[test]
fn logs_that_other_writers_made_are_read() {
    for (file, asked_bytes, versions) in
        [("operations.parquet", 143_360, 32_942_743_807), ("operations-20-columns.parquet", 0, 0)]
    {
        let dir = earlier(file, "operations.parquet");
        let reader = OpLogReader::open(dir.path()).unwrap().unwrap();
        assert_eq!(reader.epoch(), "2026-11-23T20:51:47.691996967Z".parse().unwrap());
        let rows: Vec<_> = reader.map(Result::unwrap).collect();
        let count = |is: &dyn Fn(&OpRow) -> bool| rows.iter().filter(|row| is(row)).count();
        let sum = |of: &dyn Fn(&Sample) -> u64| rows.iter().map(|row| of(&row.sample)).sum::<u64>();
        assert_eq!((rows.len(), count(&|row| row.phase == Phase::Window)), (90, 90));
        assert_eq!(
            (count(&|row| &*row.operation == "read"), count(&|row| &*row.operation == "write")),
            (55, 35)
        );
        let failed = count(&|row| row.sample.outcome == Outcome::failed("http_500"));
        assert_eq!((count(&|row| row.sample.outcome == Outcome::OK), failed), (85, 5));
        assert!(
            rows.iter().all(|row| (&*row.driver, &*row.stage, &*row.work) == ("local", "s1-main", "main"))
        );
        assert_eq!(sum(&|sample| sample.due_ns), 123_279_568_113);
        assert_eq!(sum(&|sample| sample.first_byte_ns), 124_968_618_110);
        assert_eq!(sum(&|sample| sample.end_ns), 124_968_660_234);
        assert_eq!(sum(&|sample| sample.bytes), 194_360);
        assert_eq!(sum(&|sample| u64::from(sample.status)), 19_500);
        assert_eq!(sum(&|sample| u64::from(sample.worker)), 45);
        assert_eq!((sum(&|sample| sample.container), sum(&|sample| sample.object)), (139, 442));
        assert_eq!((sum(&|sample| u64::from(sample.requests)), sum(&|sample| sample.connect_ns)), (90, 0));
        assert_eq!(
            (sum(&|sample| sample.asked_bytes), sum(&|sample| sample.version.into())),
            (asked_bytes, versions)
        );
    }
    let dir = earlier("nodes.parquet", "nodes.parquet");
    let looks: Vec<_> = NodeLogReader::open(dir.path()).unwrap().unwrap().map(Result::unwrap).collect();
    let samples: Vec<_> = looks
        .iter()
        .filter_map(|look| match &look.found {
            Found::Reading { reading, .. } => Some(&reading.samples),
            Found::Lost { .. } => None,
        })
        .flatten()
        .collect();
    assert_eq!((looks.len(), samples.len()), (6, 672));
    assert_eq!(samples.iter().filter(|sample| sample.quantity.id == "disk_reads").count(), 54);
    let sum: f64 = samples.iter().map(|sample| sample.value).sum();
    assert!((sum - 17_070_914_230_590.785).abs() < 0.1, "{sum}");
}

#[test]
fn a_log_with_flipped_bytes_is_an_error_or_rows_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let log = OpLog::create(dir.path(), &layout_of(&mixed("flip")), at("18:53:50")).unwrap();
    let samples = (0..5000).map(|n| Sample { worker: n % 9, end_ns: u64::from(n), ..Sample::default() });
    log.sender().send(batch(samples.collect())).unwrap();
    log.finish().unwrap();
    let path = dir.path().join("operations.parquet");
    let whole = std::fs::read(&path).unwrap();
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    // The end of the file is its index: without it there is nothing to read.
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = OpLogReader::open(dir.path()).err().unwrap().to_string();
        assert!(error.contains("operations.parquet") && error.contains("restore"), "{length}: {error}");
    }
    let mut refused = 0;
    for _ in 0..300 {
        let mut damaged = whole.clone();
        for _ in 0..1 + next(3) {
            let at = next(damaged.len());
            damaged[at] = next(256) as u8;
        }
        std::fs::write(&path, &damaged).unwrap();
        let read = OpLogReader::open(dir.path()).map(|reader| reader.unwrap().all(|row| row.is_ok()));
        refused += usize::from(!matches!(read, Ok(true)));
    }
    assert!(refused > 0, "no damage was noticed at all");
}
