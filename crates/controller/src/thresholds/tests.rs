//! Thresholds over results that are given.

use cosmark_metrics::{Outcome, Sample};
use cosmark_workload::{Environment, Format, parse};

use super::*;

fn stage(thresholds: &str, rate: &str) -> Stage {
    let text = format!(
        "name: x\nstorage: {{type: mock}}\nstages:\n  - name: main\n    thresholds: {thresholds}\n    works:\n      \
         - {{name: main, workers: 1, runtime: 20s, {rate} operations: [{{type: read, containers: c(1), objects: c(1)}}]}}\n"
    );
    let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
    workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0)
}

/// 20 batches of one second; the response times of each, in ms, and failures of 1 ms.
fn measured(times_ms: &[u64], failed: u64) -> Measured {
    let mut sum = OpSnapshot::default();
    let mut batches = Batches::new(1_000_000_000);
    for second in 0..20_u64 {
        let mut op = OpSnapshot::default();
        let failures = (0..failed).map(|_| (1, Outcome::failed("http_503")));
        for (ms, outcome) in times_ms.iter().map(|ms| (*ms, Outcome::OK)).chain(failures) {
            let sample = Sample { end_ns: ms * 1_000_000, bytes: 10_000, outcome, ..Sample::default() };
            op.add(&sample, false);
        }
        batches.add(second * 1_000_000_000, &op);
        sum.merge(&op);
    }
    Measured::new(vec![(20.0, vec![sum])], vec![vec![batches]])
}

fn statuses(thresholds: &str, measured: &Measured) -> Vec<GoalStatus> {
    judge(&stage(thresholds, ""), "s1-main", measured).iter().map(|record| record.status).collect()
}

#[test]
fn each_metric_is_met_or_missed_by_what_was_measured() {
    let mut times = vec![10; 96];
    times.extend([30; 4]);
    let measured = measured(&times, 0);
    let thresholds = "[p50 <= 11 ms, p50 <= 9 ms, mean <= 11 ms, max <= 29 ms, throughput >= 99/s, throughput >= 101/s, \
         bandwidth >= 0.9 MB/s, error_rate <= 1 %, error_rate <= 0 %, \"p95 <= 1 ms + size / 1 MB/s\"]";
    use GoalStatus::{Fail, Pass};
    let expected = [Pass, Fail, Pass, Fail, Pass, Fail, Pass, Pass, Pass, Pass];
    assert_eq!(statuses(thresholds, &measured), expected);
}

#[test]
fn a_mean_or_a_rate_near_its_limit_is_not_decided() {
    let mut sum = OpSnapshot::default();
    let mut batches = Batches::new(1_000_000_000);
    for second in 0..20_u64 {
        let mut op = OpSnapshot::default();
        // 80 to 120 a second, of 8 to 12 ms, in bursts of five seconds.
        let high = second / 5 % 2 == 0;
        for _ in 0..if high { 120 } else { 80 } {
            let end_ns = if high { 12_000_000 } else { 8_000_000 };
            op.add(&Sample { end_ns, outcome: Outcome::OK, ..Sample::default() }, false);
        }
        batches.add(second * 1_000_000_000, &op);
        sum.merge(&op);
    }
    let measured = Measured::new(vec![(20.0, vec![sum])], vec![vec![batches]]);
    use GoalStatus::{Fail, NotDecided, Pass};
    let thresholds = "[mean <= 10.5 ms, mean <= 20 ms, mean <= 5 ms, throughput >= 95/s, throughput >= 30/s, throughput >= 200/s]";
    assert_eq!(statuses(thresholds, &measured), [NotDecided, Pass, Fail, NotDecided, Pass, Fail]);
}

#[test]
fn a_rate_that_is_even_has_narrow_bounds_though_the_window_begins_in_a_slice() {
    let (head_ns, slice_ns, window_ns) = (625_000_000, 937_500_000, 30_000_000_000);
    let mut batches = Batches::behind(head_ns, slice_ns);
    let mut sum = OpSnapshot::default();
    let (mut from_ns, mut to_ns) = (0, head_ns);
    while from_ns < window_ns {
        // 1600 a second.
        let op = OpSnapshot { ok: (to_ns - from_ns) / 625_000, ..OpSnapshot::default() };
        batches.add(from_ns, &op);
        sum.merge(&op);
        (from_ns, to_ns) = (to_ns, (to_ns + slice_ns).min(window_ns));
    }
    let measured = Measured::new(vec![(30.0, vec![sum])], vec![vec![batches]]);
    let record = judge(&stage("[throughput >= 1/s]", ""), "s1-main", &measured).remove(0);
    let (low, high) = (record.low.unwrap(), record.high.unwrap());
    assert!((record.value.unwrap() - 1600.0).abs() < 1e-6 && high - low < 1.0, "{record:?}");
}

#[test]
fn a_percentile_that_the_data_cannot_support_is_not_decided() {
    let records = judge(&stage("[p99_9 <= 20 ms]", ""), "s1-main", &measured(&[10; 100], 0));
    assert_eq!((records[0].status, records[0].value), (GoalStatus::NotDecided, None));
    assert!(records[0].message.contains("p99.9 needs 10000"), "{}", records[0].message);
    let near: Vec<u64> = (0..100).map(|k| if k < 95 { 10 } else { 30 }).collect();
    assert_eq!(
        statuses("[p95 <= 20 ms]", &measured(&near, 0)),
        [GoalStatus::NotDecided],
        "5 of 100 at a limit of 5 %"
    );
    assert_eq!(statuses("[p95 <= 20 ms]", &Measured::default()), [GoalStatus::NotDecided]);
}

#[test]
fn a_threshold_says_of_which_work_its_operation_is() {
    let mut two = stage("[read.p50 <= 20 ms, throughput >= 1/s]", "");
    let other = two.works[0].clone();
    two.works.push(cosmark_workload::model::Work { name: "other".into(), ..other });
    let mut both = measured(&[10; 100], 0);
    both.works.append(&mut measured(&[30; 100], 0).works);
    let records = judge(&two, "s1-main", &both);
    let of = |at: usize| (records[at].work.as_deref(), records[at].operation.as_deref(), records[at].status);
    assert_eq!(of(0), (Some("main"), Some("read"), GoalStatus::Pass));
    assert_eq!(of(1), (Some("other"), Some("read"), GoalStatus::Fail));
    assert_eq!(of(2), (None, None, GoalStatus::Pass), "all of them together");
    // Records of older versions do not say it.
    let mut older = serde_json::to_value(&records[0]).unwrap();
    older.as_object_mut().unwrap().remove("work");
    let older: ThresholdRecord = serde_json::from_value(older).unwrap();
    assert_eq!(older, ThresholdRecord { work: None, ..records[0].clone() });
}

#[test]
fn failures_do_not_make_a_percentile_better() {
    let fast = measured(&[10; 90], 10);
    assert_eq!(statuses("[p95 <= 20 ms, error_rate <= 5 %]", &fast), [GoalStatus::Fail, GoalStatus::Fail]);
    assert_eq!(statuses("[p50 <= 20 ms]", &fast), [GoalStatus::Pass]);
    assert_eq!(statuses("[error_rate <= 0 %]", &measured(&[10; 999], 1)), [GoalStatus::Fail]);
}

#[test]
fn an_open_loop_that_leaves_work_behind_does_not_meet_its_percentile() {
    let mut measured = measured(&[10; 100], 0);
    measured.works[0].ops[0].unfinished = 300;
    let open = stage("[p95 <= 20 ms]", "rate: 100/s,");
    // All of it is left by one moment, which is not enough to say that it is missed.
    assert_eq!(judge(&open, "s1-main", &measured)[0].status, GoalStatus::NotDecided);
    let age = |ms: u64| {
        let mut ages = cosmark_metrics::Latency::default();
        (0..300).for_each(|_| ages.record(ms * 1_000_000));
        ages
    };
    measured.works[0].ops[0].unfinished_age = age(30);
    assert_eq!(judge(&open, "s1-main", &measured)[0].status, GoalStatus::NotDecided);
    measured.works[0].ops[0].unfinished_age = age(10);
    assert_eq!(judge(&open, "s1-main", &measured)[0].status, GoalStatus::Pass, "younger than the limit");
    assert_eq!(statuses("[p95 <= 20 ms]", &measured), [GoalStatus::Pass], "a closed loop always has some");
}

#[test]
fn repeated_trials_are_judged_together() {
    let mut pooled = Measured::default();
    for _ in 0..6 {
        pooled.append(&measured(&[10; 100], 0));
    }
    assert_eq!(statuses("[p99_9 <= 20 ms]", &pooled), [GoalStatus::Pass]);
    assert_eq!(pooled.longest_s(), 120.0);
}

#[test]
fn what_is_not_decided_says_how_much_more_would_decide_it() {
    let lacks = |thresholds: &str, times: &[u64]| {
        let judged = judgements(&stage(thresholds, ""), "s1-main", &measured(times, 0));
        judged.into_iter().map(|one| one.lacks).next().flatten()
    };
    // 100 requests, of which a p95 needs 200.
    let twice = lacks("[p95 <= 20 ms]", &[10; 5]).unwrap();
    assert!((twice - 2.0).abs() < 0.05, "{twice}");
    assert_eq!(lacks("[p95 <= 20 ms]", &[10; 50]), None);
    assert_eq!(lacks("[p95 <= 5 ms]", &[10; 50]), None);
}
