//! The histogram log says the same as the run.

use cosmark_archive::{HistogramLog, IntervalLine, TimeKind, open_run};
use cosmark_metrics::{OpSnapshot, Phase, Sample};

use crate::support::{at, mixed, new_run, open, run_to_the_end, slice, successes, text};

/// Times from 0.05 to about 400 ms in no order, 1000 a slice.
fn slices(paced: bool) -> Vec<OpSnapshot> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let times = (0..20).map(|_| {
        let mut op = OpSnapshot::default();
        for _ in 0..1000 {
            let ns = 50_000 + next() % 1_000 * (next() % 400_000) + next() % 1_000;
            let sent_ns = 1 + if paced { next() % 5_000_000 } else { 0 };
            let sample = Sample {
                due_ns: 1,
                sent_ns,
                first_byte_ns: sent_ns + ns / 3,
                end_ns: sent_ns + ns,
                ..Sample::default()
            };
            op.add(&sample, paced);
        }
        op
    });
    times.collect()
}

#[test]
fn percentiles_from_the_log_are_those_of_the_run() {
    for paced in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut run = open(dir.path()).begin(&new_run(&mixed("log"))).unwrap();
        let mut whole = OpSnapshot::default();
        for (n, op) in slices(paced).into_iter().enumerate() {
            let phase = if n == 0 { Phase::Rampup } else { Phase::Window };
            if phase == Phase::Window {
                whole.merge(&op);
            }
            let snapshot = slice(0, phase, 1, vec![op, OpSnapshot::default()]);
            run.append_histograms(0, at("18:54:00"), &snapshot).unwrap();
        }
        let sums = [
            (TimeKind::Response, whole.response_or_service()),
            (TimeKind::Service, &whole.service),
            (TimeKind::FirstByte, &whole.first_byte),
        ];
        for (kind, times) in sums {
            let merged = HistogramLog::merged(run.path(), "s1-main.read", kind).unwrap().unwrap();
            assert_eq!(merged.len(), times.count());
            for quantile in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let (ours, theirs) =
                    (merged.value_at_quantile(quantile), times.quantile_ns(quantile).unwrap());
                let off = (ours as f64 / theirs as f64 - 1.0).abs();
                assert!(off < 1e-3, "{kind:?} {quantile}: {ours} against {theirs}");
            }
        }
        assert!(HistogramLog::merged(run.path(), "s1-main.write", TimeKind::Service).unwrap().is_none());
    }
}

#[test]
fn each_class_of_sizes_has_its_times_whatever_operations_are_called() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open(dir.path()).begin(&new_run(&mixed("sizes"))).unwrap();
    let mut several = OpSnapshot::default();
    for n in 1..=300_u64 {
        let (bytes, ms) = if n % 3 == 0 { (1 << 20, 50) } else { (5000, 2) };
        several.add(&Sample { sent_ns: 1, end_ns: 1 + ms * 1_000_000, bytes, ..Sample::default() }, false);
    }
    let one = crate::support::successes(5, 2.5, 1);
    let window = (at("18:54:00"), std::time::Duration::from_secs(30));
    run.append_size_histograms(0, 0, window, &[several, one]).unwrap();
    assert!(run.append_size_histograms(9, 0, window, &[]).is_err());
    let found = HistogramLog::by_size(run.path(), "s1-main.read").unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|(least_bytes, times)| (*least_bytes, times.len(), (times.max() as f64 / 1e6).round()))
        .collect();
    assert_eq!(told, [(4096, 200, 2.0), (1 << 20, 100, 50.0)]);
    assert!(HistogramLog::by_size(run.path(), "s1-main.write").unwrap().is_empty(), "all are of one class");
    // No other operation can be taken for a class, nor a class for an operation.
    for other in ["s1-main", "s1-main.read.response", "s1-main.read.response.size_4096"] {
        assert!(HistogramLog::by_size(run.path(), other).unwrap().is_empty(), "{other}");
        for kind in TimeKind::ALL {
            assert!(HistogramLog::merged(run.path(), other, kind).unwrap().is_none(), "{other}");
        }
    }
}

#[test]
fn the_log_has_the_form_that_other_tools_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = mixed("form");
    model.stages[0].name = "a, b".into();
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let op = crate::support::successes(5, 2.5, 1);
    for phase in [Phase::Rampup, Phase::Window, Phase::Rampdown, Phase::Drain] {
        let snapshot = slice(0, phase, 5, vec![op.clone(), OpSnapshot::default()]);
        run.append_histograms(0, at("18:54:00.250"), &snapshot).unwrap();
    }
    let log = text(run.path().join("histograms.hlog"));
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert_eq!(lines[1], "#[StartTime: 1795287230.000 (seconds since epoch), 2026-11-21T18:53:50.000Z]");
    assert_eq!(lines[2], "#[BaseTime: 1795287230.000 (seconds since epoch)]");
    assert_eq!(
        lines[4],
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    );
    assert!(lines[5].starts_with("Tag=s1-a__b.read.response.rampup,"), "{}", lines[5]);
    assert!(lines[7].starts_with("Tag=s1-a__b.read.response,10.250,5.000,2.50"), "{}", lines[7]);
    // Base64 of 0x1c849314, the cookie of the compressed V2 encoding.
    assert!(lines[7].split(',').nth(4).unwrap().starts_with("HISTF"), "{}", lines[7]);
    let tags: Vec<_> =
        open_run(run.path()).unwrap().histograms().unwrap().map(|line| line.unwrap().tag).collect();
    let kinds = ["response", "first_byte"];
    let expected: Vec<_> = ["", ".rampup", ".rampdown", ".drain"]
        .iter()
        .map(|phase| kinds.map(|kind| format!("s1-a__b.read.{kind}{phase}")))
        .collect();
    assert_eq!(
        tags,
        [&expected[1], &expected[0], &expected[2], &expected[3]]
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_line_that_a_kill_cut_short_is_left_out_and_damage_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open(dir.path()).begin(&new_run(&mixed("cut"))).unwrap();
    let op = crate::support::successes(5, 2.5, 1);
    for _ in 0..2 {
        let snapshot = slice(0, Phase::Window, 5, vec![op.clone(), op.clone()]);
        run.append_histograms(0, at("18:54:00"), &snapshot).unwrap();
    }
    let path = run.path().join("histograms.hlog");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(HistogramLog::open(run.path()).unwrap().map(Result::unwrap).count(), 7);
    let text = String::from_utf8(whole).unwrap();
    for (from, to) in
        [("HISTF", "HIST*"), ("HISTF", "AAAAA"), ("Tag=s1-main.write.response,10.000", "Tag=x,ten")]
    {
        let line = 1 + text[..text.find(from).unwrap()].matches('\n').count();
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = HistogramLog::open(run.path()).unwrap().find_map(Result::err).unwrap().to_string();
        assert!(error.contains(&format!("histograms.hlog: line {line}: ")), "{error}");
    }
}

/// A run of 30 s whose log ends after 20 s and has no fewer times than the record counts;
/// the last success that its intervals know came in the one that began at `last_s`.
fn silent_from_20_s(root: &std::path::Path, last_s: f64) -> std::path::PathBuf {
    let mut run = open(root).begin(&new_run(&mixed("cut"))).unwrap();
    run.set_load_started(0, at("18:54:00"));
    let op = successes(100, 2.0, 100);
    for second in 0..20 {
        let snapshot = slice(0, Phase::Window, 1, vec![op.clone(), successes(10, 4.0, 100)]);
        run.append_histograms(0, at(&format!("18:54:{second:02}")), &snapshot).unwrap();
    }
    let line = IntervalLine::of("driver1", Phase::Window, last_s, last_s + 1.0, &op);
    run.append_work_interval(0, 0, vec![line]).unwrap();
    assert_eq!(open_run(run.path()).unwrap().lost_times(), None, "it goes on");
    run_to_the_end(run, &mixed("cut"), &[successes(2000, 2.0, 100), successes(200, 4.0, 100)])
}

#[test]
fn a_log_that_was_cut_is_known_by_its_end_and_that_of_a_silent_store_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let lost = |path: &std::path::Path| open_run(path).unwrap().lost_times();
    let said = |path: &std::path::Path| lost(path).unwrap();
    let silent = silent_from_20_s(home.path(), 19.0);
    assert_eq!(lost(&silent), None);
    let short = said(&silent_from_20_s(home.path(), 28.0));
    assert!(short.starts_with("histograms.hlog ends 8 s before the operations of stage s1-main:"), "{short}");
    let log = silent.join("histograms.hlog");
    let whole = text(&log);
    // What lies within the slack is counted, where the log is that of a short run.
    let mut lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let last = lines.iter().rposition(|line| line.starts_with("Tag=s1-main.read.response,")).unwrap();
    lines.remove(last);
    std::fs::write(&log, lines.concat()).unwrap();
    assert!(said(&silent).contains("has 1900 of 2000 response times of s1-main.read: "), "{}", said(&silent));
    std::fs::write(&log, &whole[..whole.len() - 9]).unwrap();
    assert!(said(&silent).contains("ends in the middle of a line: "));
    let head: String = whole.split_inclusive('\n').take_while(|line| !line.starts_with("Tag=")).collect();
    std::fs::write(&log, head).unwrap();
    assert!(said(&silent).contains("has nothing of stage s1-main: "));
    std::fs::write(&log, format!("{whole}{}\n", "x".repeat(5 << 20))).unwrap();
    assert!(said(&silent).contains("is damaged near its end: "));
    std::fs::remove_file(&log).unwrap();
    assert!(said(&silent).contains("is not there, or is empty: "));
}
