//! Operations that take about as long as a step of the series, or longer: a healthy store, whatever their length.

use super::*;
use crate::evidence::{OperationEvidence, WorkEvidence};
use crate::finding::Status;
use cosmark_metrics::{Latencies, Latency};

/// How workers begin.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// All at once: they go in step for ever.
    Together,
    /// Evenly over one operation.
    Spread,
}

/// A closed loop of `workers` whose operations each take `takes_s`, seen in steps of `step_s` from `from_s` on. Between
/// `stands_from_s` and `stands_to_s` nothing is answered.
fn closed(
    workers: u32,
    takes_s: f64,
    window_s: f64,
    step_s: f64,
    start: Start,
    stands: Option<(f64, f64)>,
) -> Evidence {
    let from_s = 1.7 * takes_s;
    let mut ends = Vec::new();
    for worker in 0..workers {
        let mut at = match start {
            Start::Together => 0.0,
            Start::Spread => takes_s * f64::from(worker) / f64::from(workers),
        };
        while at < from_s + window_s {
            let mut end = at + takes_s;
            if let Some((from, to)) = stands.map(|(from, to)| (from_s + from, from_s + to))
                && end > from
                && at < to
            {
                end += to - from.max(at);
            }
            ends.push((end - from_s, end - at));
            at = end;
        }
    }
    of_ends(&ends, workers, window_s, step_s, Pacing::Closed)
}

/// Evidence of operations that ended at these seconds of the window and took so long.
fn of_ends(ends: &[(f64, f64)], workers: u32, window_s: f64, step_s: f64, pacing: Pacing) -> Evidence {
    let steps = (window_s / step_s).floor() as usize;
    let (mut counts, mut sums) = (vec![0.0; steps], vec![0.0; steps]);
    let mut latency = Latency::default();
    let mut ok = 0;
    for (end_s, took_s) in ends.iter().filter(|(end, _)| (0.0..window_s).contains(end)) {
        let at = ((end_s / step_s) as usize).min(steps - 1);
        (counts[at], sums[at], ok) = (counts[at] + 1.0, sums[at] + took_s * 1000.0, ok + 1);
        latency.record((took_s * 1e9) as u64);
    }
    let service = Latencies::of(&latency);
    let operation = OperationEvidence {
        work: "main".into(),
        name: "read".into(),
        kind: "read".into(),
        window_s,
        ok,
        response: service.clone(),
        service,
        ..OperationEvidence::default()
    };
    Evidence {
        window_s,
        works: vec![WorkEvidence {
            name: "main".into(),
            workers: u64::from(workers),
            window_s,
            pacing,
            pace_per_s: None,
            schedule: None,
        }],
        operations: vec![operation],
        series: vec![Series {
            work: "main".into(),
            step_s,
            rate_per_s: counts.iter().map(|count| count / step_s).collect(),
            response_ms: counts.iter().zip(&sums).map(|(n, sum)| (*n > 0.0).then(|| sum / n)).collect(),
            ..Series::default()
        }],
        drivers: 1,
        ..Evidence::default()
    }
}

#[test]
fn a_store_that_stands_still_is_found_whatever_its_operations_take() {
    let mut wrong = Vec::new();
    for &takes_s in LENGTHS_S.iter().filter(|takes_s| **takes_s <= 5.0) {
        for workers in [2, 8, 64] {
            for start in [Start::Together, Start::Spread] {
                let evidence = closed(workers, takes_s, 300.0, 5.0, start, Some((100.0, 160.0)));
                let found = steadiness(&evidence);
                let expected = 60.0 * f64::from(workers) / takes_s;
                if expected >= 30.0 && found.status != Status::Fail {
                    wrong.push(format!("{workers} of {takes_s} s, {start:?}: {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A number from 0 to 1 that looks random.
fn next(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Most take `short_s`, a share of them `long_s`: misses of a cache, or another kind of operation.
fn two_lengths(workers: u32, (short_s, long_s, share): (f64, f64, f64), seed: u64) -> Evidence {
    const WINDOW_S: f64 = 120.0;
    let mut state = seed;
    let mut ends = Vec::new();
    for _ in 0..workers {
        let mut at = -3.0 * long_s * next(&mut state);
        while at < WINDOW_S {
            let base_s = if next(&mut state) < share { long_s } else { short_s };
            let takes_s = base_s * (0.8 + 0.4 * next(&mut state));
            at += takes_s;
            ends.push((at, takes_s));
        }
    }
    of_ends(&ends, workers, WINDOW_S, 1.0, Pacing::Closed)
}

#[test]
fn short_and_long_operations_mixed_are_no_curve() {
    let mixes = [(0.01, 1.0, 0.1), (0.01, 3.0, 0.05), (0.05, 0.5, 0.3), (0.02, 5.0, 0.02), (0.1, 10.0, 0.05)];
    let (mut failed, mut all) = (Vec::new(), 0);
    for mix in mixes {
        for workers in [1, 4, 16] {
            for seed in 1..=5 {
                all += 1;
                let found = steadiness(&two_lengths(workers, mix, seed));
                if found.status == Status::Fail {
                    failed.push(format!("{workers} of {mix:?}, {seed}: {}", found.message));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} of {all}:\n{}", failed.len(), failed.join("\n"));
}

/// Between two changes there may be little time, in which few operations end: what chance does is told by these.
#[test]
fn rare_slow_operations_make_no_change_of_level() {
    let judged = |workers, seed| steadiness(&two_lengths(workers, (0.035, 2.0, 0.005), seed));
    let all = [4, 8, 16].into_iter().flat_map(|workers| (1..=60).map(move |seed| (workers, seed)));
    let failed: Vec<_> = all
        .map(|(workers, seed)| (workers, seed, judged(workers, seed)))
        .filter(|(.., found)| found.status == Status::Fail)
        .map(|(workers, seed, found)| format!("{workers} workers, {seed}: {}", found.message))
        .collect();
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

/// An open loop of `rate_per_s`, evenly, whose operations each take `takes_s`.
fn open(rate_per_s: f64, takes_s: f64) -> Evidence {
    let due = |k: u32| f64::from(k) / rate_per_s - 2.0 * takes_s;
    let ends: Vec<(f64, f64)> =
        (0..).map(|k| (due(k) + takes_s, takes_s)).take_while(|(end_s, _)| *end_s < 120.0).collect();
    let workers = (rate_per_s * takes_s * 2.0).ceil() as u32 + 1;
    of_ends(&ends, workers, 120.0, 1.0, Pacing::Open)
}

#[test]
fn arrivals_by_the_clock_are_steady_however_long_they_take() {
    for rate_per_s in [0.2, 0.5, 1.0, 3.0, 10.0] {
        for &takes_s in LENGTHS_S {
            let found = steadiness(&open(rate_per_s, takes_s));
            assert!(
                !matches!(found.status, Status::Warn | Status::Fail),
                "{rate_per_s}/s {takes_s} s: {found:?}"
            );
        }
    }
}

#[test]
fn what_did_not_end_by_the_clock_has_no_time_and_is_silence_alone() {
    let mut evidence = open(100.0, 0.006);
    evidence.series[0].rate_per_s[20..28].fill(0.0);
    evidence.series[0].response_ms[20..28].fill(None);
    let client = |pause_max_ms| ClientRecord {
        driver: "local".into(),
        seconds: 60.0,
        pause_max_ms: Some(pause_max_ms),
        ..ClientRecord::default()
    };
    for (pause_ms, status, words) in
        [(8000.0, Status::Warn, "machine paused for up to 8 s"), (5.0, Status::Fail, "the store stood still")]
    {
        evidence.clients = vec![client(pause_ms)];
        let found = steadiness(&evidence);
        assert!(found.status == status && found.message.contains(words), "{found:?}");
        assert!(found.message.contains("no operation succeeded in 8 s"), "{found:?}");
    }
}

#[test]
fn a_ramp_that_was_asked_for_is_no_drift_and_one_that_was_not_is() {
    let mut evidence = open(10.0, 0.05);
    let series = &mut evidence.series[0];
    for (k, ms) in series.response_ms.iter_mut().enumerate() {
        *ms = ms.map(|ms| ms * (1.0 + k as f64 / 30.0));
    }
    assert_eq!(steadiness(&evidence).status, Status::Fail);
    evidence.series[0].due = (0..120).map(|k| 4.0 + f64::from(k) / 10.0).collect();
    assert_eq!(steadiness(&evidence).status, Status::Pass);
}

const LENGTHS_S: &[f64] =
    &[0.05, 0.3, 0.5, 0.7, 1.0, 1.1, 1.5, 2.0, 2.5, 3.0, 3.7, 5.0, 7.0, 10.0, 13.0, 30.0];

#[test]
fn operations_of_any_constant_length_are_steady_with_any_number_of_workers() {
    let mut wrong = Vec::new();
    for &takes_s in LENGTHS_S {
        for workers in [1, 2, 8, 64] {
            for (window_s, step_s) in [(60.0, 1.0), (60.0, 5.0), (120.0, 5.0), (300.0, 5.0)] {
                for start in [Start::Together, Start::Spread] {
                    let found = steadiness(&closed(workers, takes_s, window_s, step_s, start, None));
                    if matches!(found.status, Status::Warn | Status::Fail) {
                        wrong.push(format!(
                            "{workers} of {takes_s} s, {window_s} s in {step_s} s, {start:?}: {}",
                            found.message
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A total of which each of sixteen workers has an equal share, while some are slower than others, or all from second `slow_from_s`
/// on: who is done waits for the rest.
fn shared_total(seed: u64, known: bool, slow_from_s: f64) -> Evidence {
    const WORKERS: u32 = 16;
    let mut state = seed;
    let mut of_workers = Vec::new();
    for _ in 0..WORKERS {
        let mean_s = 0.05 * (1.0 + 1.5 * next(&mut state));
        let (mut at, mut ends) = (0.0, Vec::new());
        for _ in 0..400 {
            let slower = if at > slow_from_s { 4.0 } else { 1.0 };
            let took = mean_s * (0.5 + next(&mut state)) * slower;
            at += took;
            ends.push((at, took));
        }
        of_workers.push((at, ends));
    }
    let window_s = of_workers.iter().map(|(last, _)| *last).fold(0.0, f64::max);
    let done: f64 = of_workers.iter().map(|(last, _)| window_s - last).sum::<f64>() / window_s;
    let lasts: Vec<f64> = of_workers.iter().map(|(last, _)| *last).collect();
    let ends: Vec<(f64, f64)> = of_workers.into_iter().flat_map(|(_, ends)| ends).collect();
    let mut evidence = of_ends(&ends, WORKERS, window_s + 1e-9, 1.0, Pacing::Closed);
    let busy = |k: usize| lasts.iter().map(|last| (last - k as f64).clamp(0.0, 1.0)).sum();
    evidence.series[0].in_flight = (0..evidence.series[0].rate_per_s.len()).map(busy).collect();
    evidence.operations[0].workers_done_mean = known.then_some(done);
    evidence
}

#[test]
fn workers_that_are_done_with_their_share_make_no_curve_of_a_steady_store() {
    let bad = |found: &Finding| matches!(found.status, Status::Warn | Status::Fail);
    let (mut wrong, mut without) = (Vec::new(), 0);
    for seed in 1..=40 {
        let found = steadiness(&shared_total(seed, true, f64::INFINITY));
        if bad(&found) {
            wrong.push(format!("{seed}: {}", found.message));
        }
        let mut finer = shared_total(seed, true, f64::INFINITY);
        finer.series[0].in_flight.clear();
        let found = steadiness(&finer);
        if bad(&found) {
            wrong.push(format!("{seed}, in flight not recorded: {}", found.message));
        }
        without += usize::from(bad(&steadiness(&shared_total(seed, false, f64::INFINITY))));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(without >= 30, "the same without what is known of the workers: {without} of 40");
    // A store that slows down while all work is found all the same.
    let found = steadiness(&shared_total(3, true, 12.0));
    assert_eq!(found.status, Status::Fail, "{found:?}");
}

/// A closed loop over 60 s, second by second: successes and failures per second.
fn by_second(rates: impl Fn(u32) -> (f64, f64)) -> Evidence {
    let mut evidence = closed(8, 0.04, 60.0, 1.0, Start::Spread, None);
    let (ok, failed) = (0..60).map(rates).unzip();
    evidence.series[0].rate_per_s = ok;
    evidence.series[0].failed_per_s = failed;
    evidence
}

/// A few per cent to and fro, never twice the same.
fn noise(second: u32) -> f64 {
    f64::from(second * 37 % 11) - 5.0
}

#[test]
fn places_in_a_window_are_counted_from_its_start_and_not_from_its_first_step() {
    let silent = |second: u32| if second < 6 { 0.0 } else { 200.0 + noise(second) };
    let dips = |second: u32| if (20..23).contains(&second) { 20.0 } else { 200.0 + noise(second) };
    let courses: [(&dyn Fn(u32) -> f64, &str); 2] =
        [(&silent, "(from 3.5 s to 9.5 s)"), (&dips, "(from 23.5 s to 26.5 s)")];
    for (course, place) in courses {
        let mut evidence = by_second(|second| (course(second), 0.0));
        evidence.series[0].head_s = 3.5;
        let found = steadiness(&evidence);
        assert!(found.message.contains(place), "{found:?}");
    }
}

#[test]
fn a_dip_is_found_where_the_window_ends_as_in_its_middle() {
    for (from, share, place) in [
        (28, 0.1, "in the middle of the window (from 28 s to 32 s)"),
        (56, 0.1, "at the end of the window (from 56 s to 60 s)"),
        (56, 0.4, "at the end of the window (from 56 s to 60 s)"),
    ] {
        let rate = |second: u32| if (from..from + 4).contains(&second) { share } else { 1.0 };
        let evidence = by_second(|second| (rate(second) * (200.0 + noise(second)), 0.0));
        let found = steadiness(&evidence);
        assert!(found.status == Status::Warn && found.message.contains(place), "{found:?}");
    }
    let evidence = by_second(|second| (200.0 + noise(second), 0.0));
    assert_eq!(steadiness(&evidence).status, Status::Pass);
}

#[test]
fn a_rate_that_falls_as_failures_come_falls_because_of_them() {
    let late = |second| f64::from(u32::from(second >= 40));
    // As quick as successes, of twice their time, and of a tenth of it.
    for (failed, taken) in [(30.0, 30.0), (20.0, 40.0), (200.0, 20.0)] {
        let found = steadiness(&by_second(|second| {
            (200.0 + noise(second) - taken * late(second), (failed + noise(second + 3)) * late(second))
        }));
        assert_eq!(found.because, Some("V12"), "{found:?}");
        assert!(found.message.contains("failures explain it (V12)"), "{}", found.message);
    }
    let outage = |second| f64::from(u32::from((20..26).contains(&second)));
    let found = steadiness(&by_second(|second| {
        ((200.0 + noise(second)) * (1.0 - outage(second)), 4000.0 * outage(second))
    }));
    assert_eq!(found.because, Some("V12"), "{found:?}");
}

#[test]
fn failures_that_come_as_evenly_as_successes_make_no_fall() {
    let falls = |second: u32| 1.0 - 0.005 * f64::from(second);
    let level = |second: u32| if second < 30 { 1.0 } else { 0.7 };
    let courses: [&dyn Fn(u32) -> f64; 2] = [&falls, &level];
    for course in courses {
        for share in [0.0, 0.002, 0.02, 0.1] {
            let found = steadiness(&by_second(|second| {
                let ended = 200.0 * course(second) + noise(second);
                (ended * (1.0 - share), ended * share + noise(second * 7 + 1).max(0.0) * share)
            }));
            assert_eq!((found.status, found.because), (Status::Fail, None), "{share}: {found:?}");
        }
    }
}
