//! A dip of known depth and length, played by the store under a slot of `faults:`: is it reported as it was, and nothing else?

use cosmark_metrics::SlotResult;

use crate::bench::{Figure, READS, Ran, against, time, timed};

/// Arrivals per second.
const RATE: f64 = 200.0;
/// A dip is one of whole seconds.
const EFFECT_MS: f64 = 1000.0;
/// One pause that is longer makes a second of the load another one, wherever it falls.
const LONG_MS: f64 = 500.0;

/// A load with a slot that makes no fault: what dips in it is the store's own doing.
fn slot(work: &str) -> String {
    format!(
        "name: truth\nseed: 7\nstorage: ${{STORE}}\nstages:\n  - name: main\n    faults:\n      - {{name: played, type: none, at: 26s, slot: \
         15s, keep: 3s, repeats: 1}}\n    works:\n      - {{name: main, acceptable_failure_ratio: 1, interval: 1s, runtime: 42s, {work}, {READS}}}\n"
    )
}

fn only_slot(ran: &Ran) -> &SlotResult {
    let [fault] = &ran.record.stages[0].faults[..] else { panic!("{:?}", ran.record.stages[0].faults) };
    &fault.slots[0]
}

/// What was played, by the client's log: from when to when, seconds since the load began, how deep, and what it cost.
struct Played {
    from_s: f64,
    to_s: f64,
    depth: f64,
    lost: f64,
}

/// Within one second and five hundredths.
fn figures(ran: &Ran, played: &Played) -> Vec<Figure> {
    let slot = only_slot(ran);
    // Where the machine itself made the rate fall before the slot, nothing is said of it, and that proves nothing.
    let is_long = ran.longest_ms() > LONG_MS;
    let is_noisy = ran.noise_ms() > EFFECT_MS / 10.0 || is_long;
    let effect_ms = if is_long { 0.0 } else { EFFECT_MS };
    assert!((slot.void.is_none() || is_noisy) && slot.landed_s.is_none(), "{slot:?}");
    let second = |name: &str, at_s: f64, reported_s: Option<f64>| {
        let after_s = at_s - slot.from_s;
        assert!(after_s > 1.0, "played before the slot: {slot:?}");
        time(name, 1e3 * after_s, reported_s.map(|s| 1e3 * s)).within(1.0 / after_s).showing(effect_ms)
    };
    let share = |name: &str, truth: f64, reported: Option<f64>| {
        time(name, truth, reported).within(0.05).moved_by(0.0).showing(effect_ms)
    };
    vec![
        second("begins after, ms", played.from_s, slot.dip_after_s),
        second("back after, ms", played.to_s, slot.back_after_s),
        share("depth", played.depth, slot.depth),
        share("lost operations", played.lost, slot.lost_operations),
    ]
}

/// A run in which nobody was kept from a processor for long, if one of two is such.
fn without_long_pauses(once: impl Fn() -> Ran) -> Ran {
    let first = once();
    if first.longest_ms() > LONG_MS { once() } else { first }
}

/// When the load began, by its first arrival.
fn began_ns(ran: &Ran) -> u64 {
    ran.rows.iter().map(|row| row.sample.due_ns).min().unwrap()
}

fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[test]
fn a_store_that_refuses_37_of_100_for_some_seconds_is_reported_as_it_was() {
    let once = || {
        against(
            "store: {mode: 'null', null_bytes: 1024}\ntime_zero: first_request\nerrors: {op: get, status: 503, exact: {count: 37, of: \
             100}, from_s: 30.4, until_s: 36.9}\n",
            "30s",
            &slot(&format!("workers: 16, rate: {RATE}/s")),
        )
    };
    let attempt = || without_long_pauses(once);
    timed("dip of 37 % for 6.5 s", attempt, |ran| {
        let began = began_ns(ran);
        let failed = || ran.rows.iter().map(|row| &row.sample).filter(|sample| !sample.outcome.is_ok());
        let lost = ran.counters.rule("errors[0]");
        assert_eq!(failed().count() as u64, lost);
        let slot = only_slot(ran);
        assert!(slot.void.is_some() || slot.failed_operations == Some(lost), "{slot:?}, {lost} failed");
        let played = Played {
            from_s: seconds(began, failed().map(|sample| sample.sent_ns).min().unwrap()),
            to_s: seconds(began, failed().map(|sample| sample.end_ns).max().unwrap()),
            depth: 0.37,
            lost: lost as f64,
        };
        figures(ran, &played)
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn a_store_that_holds_still_for_some_seconds_is_reported_as_it_did() {
    let attempt = || {
        against(
            "store: {mode: 'null', null_bytes: 1024}\ntime_zero: first_request\nstalls: {at_s: 30.4, for_s: 4.3}\n",
            "30s",
            &slot(&format!("workers: 8, rate: {{shape: constant, rate: {RATE}/s, when_full: drop}}")),
        )
    };
    timed("halt of 4.3 s", attempt, |ran| {
        let began = began_ns(ran);
        let mut ends: Vec<u64> = ran.rows.iter().map(|row| row.sample.end_ns).collect();
        ends.sort_unstable();
        let gap = ends.windows(2).max_by_key(|two| two[1] - two[0]).unwrap();
        // Eight operations wait, and are answered in its last second.
        let played = Played {
            from_s: seconds(began, gap[0]),
            to_s: seconds(began, gap[1]),
            depth: 1.0,
            lost: RATE * seconds(gap[0], gap[1]) - 8.0,
        };
        figures(ran, &played)
    });
}
