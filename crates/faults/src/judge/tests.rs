//! Slots whose truth is known.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{MissingRecord, PauseRecord};
use cosmark_metrics::{Latency, OpSnapshot, Outcome};
use cosmark_workload::model::faults::{FaultAt, ProxyFault};

use super::*;

fn spec(kind: FaultKind, keep_s: u64) -> FaultSpec {
    FaultSpec {
        name: "f".into(),
        kind,
        at: FaultAt::Steady,
        hold: Duration::from_secs(10),
        slot: Duration::from_secs(60),
        repeats: 3,
        keep: Duration::from_secs(keep_s),
        within: Duration::from_secs(1),
        noticed: None,
        whole: None,
        whole_within: Duration::ZERO,
        limit: Some(Duration::from_millis(200)),
        span: cosmark_workload::Span::default(),
    }
}

fn stall() -> FaultKind {
    FaultKind::Proxy { of: "h:1".into(), how: ProxyFault::Stall }
}

/// A second in which so many operations of 1000 bytes took `ms` each.
fn second(ok: u64, failed: u64, ms: u64) -> OpSnapshot {
    let mut response = Latency::preallocated();
    response.record_many(ms * 1_000_000, u32::try_from(ok).unwrap());
    let errors = (failed > 0).then_some((Outcome::failed("http_503"), failed)).into_iter().collect();
    OpSnapshot { ok, failed, bytes: ok * 1000, response, errors, ..OpSnapshot::default() }
}

/// 100/s; from 100, 200 and 300 on ten seconds of 20/s with failures and 500 ms, then 60/s for five.
fn three_dips() -> Seconds {
    let mut seconds = Seconds::default();
    for at in 0..400_u64 {
        let op = match at {
            100..110 | 200..210 | 300..310 => second(20, 3, 500),
            110..115 | 210..215 | 310..315 => second(60, 0, 300),
            _ => second(100, 0, 10),
        };
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &op);
    }
    seconds
}

fn played(from_s: f64) -> Played {
    Played {
        from_s,
        landed: Some((from_s + 0.2, "seen".into())),
        heal_s: Some(from_s + 10.0),
        healed_s: Some(from_s + 10.5),
        noticed_s: Some(from_s + 4.0),
        whole_s: Some(from_s + 15.0),
        to_s: from_s + 60.0,
        steps: 1,
        ..Played::default()
    }
}

const LOAD: Stretch = Stretch { from: 0, to: 400 };

#[test]
fn the_course_of_a_slot_has_nothing_of_the_fault_that_follows_it() {
    // Slots follow each other at once, a part of a second after the load's own seconds begin.
    let slot = |from_s: f64| Played { to_s: from_s + 100.0, ..played(from_s) };
    let slots = vec![vec![slot(100.0), slot(200.04), slot(300.08)]];
    let found = results(&[spec(stall(), 30)], &slots, &three_dips(), LOAD, true);
    for slot in &found[0].slots {
        let course: Vec<f64> = slot.course_per_s.clone();
        assert_eq!((slot.course_from_s, slot.course_step_s), (slot.from_s.floor() - 20.0, 1.0));
        assert_eq!((course.len(), course[..20].iter().sum::<f64>()), (120, 2000.0), "{}", slot.number);
        assert_eq!((course[20], course[119]), (20.0, 100.0), "{}", slot.number);
    }
}

#[test]
fn what_three_equal_slots_cost_is_what_was_planted() {
    let slots = vec![vec![played(100.0), played(200.0), played(300.0)]];
    let found = results(&[spec(stall(), 30)], &slots, &three_dips(), LOAD, true);
    let [result] = &found[..] else { panic!("{found:?}") };
    let healthy = result.healthy.as_ref().unwrap();
    assert_eq!((healthy.median_per_s, healthy.level_per_s, healthy.to_s), (100.0, 100.0, 100.0));
    for slot in &result.slots {
        assert_eq!((slot.dip, slot.void.as_ref()), (Some(true), None));
        assert_eq!(slot.lost_operations, Some(1000.0), "{slot:?}");
        assert_eq!(slot.lost_bytes, Some(1_000_000.0));
        assert_eq!((slot.depth, slot.failed_operations), (Some(0.8), Some(30)));
        assert_eq!(slot.errors, BTreeMap::from([("http_503".to_owned(), 30)]));
        assert_eq!((slot.first_error_after_s, slot.dip_after_s), (Some(0.0), Some(0.0)));
        assert_eq!((slot.back_after_s, slot.beyond_limit_s), (Some(15.0), Some(15.0)));
        assert_eq!((slot.below_tenth_s, slot.manual_steps), (Some(0.0), Some(1)));
        assert!((slot.resiliency.unwrap() - (60.0 * 100.0 - 1000.0) / 6000.0).abs() < 1e-9);
        assert_eq!(slot.noticed_after_s, Some(4.0));
        assert!(slot.unknown.get("p99_ms").is_some_and(|why| why.contains("fewer than 1000")));
        let parts: Vec<_> = slot.parts.iter().map(|part| part.part.as_str()).collect();
        assert_eq!(parts, ["injection", "detection", "initiation", "recovery", "keep"]);
    }
    let figure = |name: &str| result.figures.iter().find(|one| one.figure == name).unwrap();
    let lost = figure("lost_operations");
    assert_eq!((lost.mean, lost.low, lost.high, lost.slots), (Some(1000.0), Some(1000.0), Some(1000.0), 3));
    assert!(figure("p99_ms").reason.is_some());
    let quiet = result.false_dips.as_ref().unwrap();
    assert_eq!((quiet.stretches, quiet.dips), (1, 0));
}

/// A closed loop without pacing has service times alone: with 5 s of 500 ms in a slot of 60 s, of 100 operations each.
#[test]
fn response_times_of_a_closed_loop_are_its_service_times() {
    let mut seconds = Seconds::default();
    for at in 0..400_u64 {
        let mut op = second(100, 0, if (105..110).contains(&at) { 500 } else { 10 });
        std::mem::swap(&mut op.response, &mut op.service);
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &op);
    }
    let played = Played { heal_s: Some(115.0), healed_s: Some(115.0), ..played(100.0) };
    let result = results(&[spec(stall(), 30)], &[vec![played]], &seconds, LOAD, false).remove(0);
    let slot = &result.slots[0];
    assert_eq!((slot.void.as_ref(), slot.dip, slot.beyond_limit_s), (None, Some(false), Some(5.0)));
    assert!(slot.p99_ms.is_some_and(|p99| (495.0..505.0).contains(&p99)), "{slot:?}");
}

#[test]
fn a_void_slot_says_nothing_and_why_and_is_in_no_mean() {
    let void = Played { void: Some("nothing proves it".into()), ..played(200.0) };
    let slots = vec![vec![played(100.0), void]];
    let result = results(&[spec(stall(), 30)], &slots, &three_dips(), LOAD, true).remove(0);
    let slot = &result.slots[1];
    assert_eq!((slot.dip, slot.lost_operations, slot.resiliency), (None, None, None));
    assert_eq!(slot.unknown["lost_operations"], "nothing proves it");
    assert!(result.figures.iter().all(|figure| figure.slots <= 1 && figure.low.is_none()));
}

#[test]
fn a_slot_that_ends_before_the_rate_has_stayed_says_so() {
    let mut short = played(100.0);
    short.to_s = 130.0;
    let result = results(&[spec(stall(), 30)], &[vec![short]], &three_dips(), LOAD, true).remove(0);
    assert_eq!(result.slots[0].back_after_s, None);
    assert!(result.slots[0].unknown["back_after_s"].contains("for 30 s"));
}

/// 5/s as chance has them: one second in ten is empty.
const BY_CHANCE: [u64; 10] = [6, 4, 9, 3, 5, 0, 7, 8, 2, 6];

#[test]
fn seconds_in_which_operations_failed_are_of_an_outage_however_few_they_are() {
    let mut seconds = Seconds::default();
    for (at, ok) in (0..400_u64).zip(BY_CHANCE.into_iter().cycle()) {
        let op = if (200..203).contains(&at) { second(0, 5, 10) } else { second(ok, 0, 10) };
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &op);
    }
    let result = results(&[spec(stall(), 30)], &[vec![played(195.0)]], &seconds, LOAD, true).remove(0);
    let below_s = result.slots[0].below_tenth_s.unwrap();
    assert!((3.0..=4.0).contains(&below_s), "{below_s}");
}

#[test]
fn seconds_in_which_nothing_came_by_chance_are_none_of_an_outage() {
    let mut seconds = Seconds::default();
    for (at, ok) in (0..400_u64).zip(BY_CHANCE.into_iter().cycle()) {
        let ok = if (200..220).contains(&at) { 0 } else { ok };
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &second(ok, 0, 10));
    }
    let slots = [vec![played(100.0), played(195.0)]];
    let result = results(&[spec(stall(), 30)], &slots, &seconds, LOAD, true).remove(0);
    let below: Vec<_> = result.slots.iter().map(|slot| slot.below_tenth_s.unwrap()).collect();
    assert_eq!(result.slots[0].dip, Some(false), "{result:?}");
    assert!(below[0] < 0.5 && (20.0..=21.0).contains(&below[1]), "{below:?}");
}

#[test]
fn empty_seconds_that_are_so_by_chance_are_not_beyond_the_limit() {
    let mut seconds = Seconds::default();
    for (at, ok) in (0..400_u64).zip(BY_CHANCE.into_iter().cycle()) {
        let (ok, ms) = match at {
            200..220 => (0, 10),
            130..134 => (ok, 500),
            _ => (ok, 10),
        };
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &second(ok, 0, ms));
    }
    let slots = [vec![played(100.0), played(195.0)]];
    let result = results(&[spec(stall(), 30)], &slots, &seconds, LOAD, true).remove(0);
    let beyond: Vec<_> = result.slots.iter().map(|slot| slot.beyond_limit_s.unwrap()).collect();
    assert!((beyond[0] - 4.0).abs() < 1e-9, "slow ones alone: {beyond:?}");
    assert!((20.0..=21.0).contains(&beyond[1]), "an outage has no answers: {beyond:?}");
}

#[test]
fn seconds_in_which_more_fails_than_a_percentile_has_room_for_are_beyond_its_limit() {
    // All that is answered is so at once. Failures of a second: before, and in eight seconds of the slot.
    for (before, within, beyond_s) in [(0, 40, 8.0), (0, 2, 8.0), (0, 1, 0.0), (2, 2, 0.0), (2, 3, 8.0)] {
        let mut seconds = Seconds::default();
        for at in 0..400_u64 {
            let failed = if (103..111).contains(&at) { within } else { before };
            seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &second(100, failed, 10));
        }
        let slot = judged(&seconds, &[played(100.0)], 20).slots.remove(0);
        assert_eq!(slot.beyond_limit_s, Some(beyond_s), "{before} {within}: {slot:?}");
    }
}

#[test]
fn a_store_that_is_only_slow_has_the_percentile_of_when_it_was() {
    let mut seconds = Seconds::default();
    for at in 0..400_u64 {
        let ms = if (100..111).contains(&at) { 300 } else { 10 };
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &second(200, 0, ms));
    }
    let quiet = Played { from_s: 200.0, to_s: 260.0, ..Played::default() };
    let specs = [spec(stall(), 30), spec(FaultKind::None, 30)];
    let found = results(&specs, &[vec![played(100.0)], vec![quiet]], &seconds, LOAD, true);
    let p99_ms = |at: usize| found[at].slots[0].p99_ms.unwrap();
    assert_eq!((found[0].slots[0].dip, found[0].slots[0].beyond_limit_s), (Some(false), Some(11.0)));
    assert!((p99_ms(0) / 300.0 - 1.0).abs() < 0.02 && (p99_ms(1) / 10.0 - 1.0).abs() < 0.02, "{found:?}");
}

#[test]
fn what_waited_for_a_store_that_stood_still_is_in_the_percentile_of_its_dip() {
    // Nothing for ten seconds, then what had waited: up to 8 s each; or twice as much for good.
    for (until, p99_ms) in [(115, Some(8000.0)), (400, None)] {
        let mut seconds = Seconds::default();
        for at in 0..400_u64 {
            let op = match at {
                100..110 => second(0, 0, 10),
                at if (110..until).contains(&at) => second(1500, 0, 8000),
                _ => second(500, 0, 10),
            };
            seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &op);
        }
        let slot = judged(&seconds, &[played(100.0)], 20).slots.remove(0);
        assert_eq!((slot.lost_operations, slot.below_tenth_s), (Some(5000.0), Some(10.0)), "{slot:?}");
        match (slot.p99_ms, p99_ms) {
            (Some(found), Some(truth)) => assert!((found / truth - 1.0).abs() < 0.02, "{found}"),
            (found, truth) => assert_eq!(found, truth, "{until}: {slot:?}"),
        }
    }
}

#[test]
fn a_slot_without_a_fault_is_compared_with_others_and_not_with_itself() {
    let quiet = |from_s: f64| Played { from_s, to_s: from_s + 60.0, ..Played::default() };
    let found = |slots: Vec<Played>| {
        let specs = [spec(FaultKind::None, 30)];
        results(&specs, &[slots], &three_dips(), LOAD, true).remove(0).slots
    };
    let lost = (6000.0 - 1000.0) / 6000.0;
    let alone = found(vec![quiet(100.0)]);
    assert!((alone[0].resiliency.unwrap() - lost).abs() < 1e-9, "{alone:?}");
    let two = found(vec![quiet(100.0), quiet(130.0)]);
    assert!((two[0].resiliency.unwrap() - lost).abs() < 1e-9, "{two:?}");
    assert!((two[1].resiliency.unwrap() - 1.0 / lost).abs() < 1e-9, "{two:?}");
}

/// 100/s; from 100 on 20/s for `low_s` seconds, then 100/s.
fn one_dip(low_s: u64) -> Seconds {
    let mut seconds = Seconds::default();
    for at in 0..400_u64 {
        let op = if (100..100 + low_s).contains(&at) { second(20, 0, 500) } else { second(100, 0, 10) };
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &op);
    }
    seconds
}

#[test]
fn a_slot_that_begins_before_the_rate_is_back_is_void_and_no_control() {
    // Held for 10 s, back after 40 s, and the next slots begin after 30 s, 60 s and 90 s.
    let slot = |from_s: f64| Played { to_s: from_s + 30.0, ..played(from_s) };
    let quiet = Played { from_s: 130.0, to_s: 160.0, ..Played::default() };
    let specs = [spec(stall(), 5), spec(FaultKind::None, 5)];
    let slots = vec![vec![slot(100.0), slot(160.0), slot(190.0)], vec![quiet]];
    let found = results(&specs, &slots, &one_dip(40), LOAD, true);
    let first = &found[0].slots[0];
    assert_eq!((first.void.as_ref(), first.dip, first.lost_operations), (None, Some(true), Some(2400.0)));
    assert_eq!(first.back_after_s, None);
    assert!(
        found[0].remarks[0].contains("when slot 1 ended the rate was not back"),
        "{:?}",
        found[0].remarks
    );
    assert!(found[1].remarks.is_empty(), "{:?}", found[1].remarks);
    let control = &found[1].slots[0];
    let why = control.void.as_deref().unwrap_or_default();
    assert_eq!(why, "the rate was not back from what was before it (20.0/s of 100.0/s)");
    assert_eq!((control.dip, control.lost_operations), (None, None));
    // Only the second half of the healthy seconds is left to look for false dips, and nothing else to compare with.
    let quiet = found[0].false_dips.as_ref().unwrap();
    assert_eq!((quiet.stretches, quiet.dips), (1, 0));
    assert!((found[0].slots[1].resiliency.unwrap() - 1.0).abs() < 1e-9, "{:?}", found[0].slots[1]);
    assert_eq!(found[0].slots[2].void, None);
}

#[test]
fn a_slot_after_a_pause_such_as_healthy_seconds_have_counts() {
    let pause = |pauses: &[u64]| {
        let mut seconds = Seconds::default();
        for at in 0..400_u64 {
            let op = second(if pauses.contains(&at) { 40 } else { 100 }, 0, 10);
            seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &op);
        }
        seconds
    };
    let slot = |from_s: f64| Played { to_s: from_s + 30.0, ..played(from_s) };
    let slots = vec![vec![slot(100.0), slot(200.0)]];
    let void = |pauses: &[u64]| {
        let found = results(&[spec(stall(), 5)], &slots, &pause(pauses), LOAD, true);
        found[0].slots[1].void.clone()
    };
    assert_eq!(void(&[50, 198]), None, "one second of 40/s, as before the first fault");
    assert!(void(&[50, 197, 198]).is_some(), "two of them");
    assert!(void(&[198]).is_some(), "none before the first fault");
}

/// 400 seconds of these rates.
fn rates(rate: impl Fn(u64) -> u64) -> Seconds {
    let mut seconds = Seconds::default();
    for at in 0..400_u64 {
        seconds.add(at * 1_000_000_000, (at + 1) * 1_000_000_000, &second(rate(at), 0, 10));
    }
    seconds
}

fn judged(seconds: &Seconds, slots: &[Played], keep_s: u64) -> FaultResult {
    results(&[spec(stall(), keep_s)], &[slots.to_vec()], seconds, LOAD, true).remove(0)
}

#[test]
fn a_first_slot_that_begins_in_a_dip_of_another_cause_is_void() {
    for (from, is_void) in [(90, true), (95, true), (98, true), (101, false)] {
        let found =
            judged(&rates(|at| if (from..115).contains(&at) { 40 } else { 100 }), &[played(100.0)], 30);
        let slot = &found.slots[0];
        assert_eq!(slot.void.is_some(), is_void, "from {from}: {slot:?}");
        assert!(slot.void.as_ref().is_none_or(|why| why.contains("had fallen before it")), "{slot:?}");
        assert_eq!(slot.lost_operations.is_none(), is_void, "from {from}: {slot:?}");
    }
}

#[test]
fn bytes_are_lost_in_the_seconds_in_which_operations_are() {
    for rise in [0, 3, 8, 15, 25] {
        let of = |at: u64| match at {
            110..120 => 10,
            120.. => 100.min(10 + 90 * (at - 119) / (rise + 1)),
            _ => 100,
        };
        let found = judged(&rates(|at| of(at) + at % 2), &[played(100.0)], 30);
        let slot = &found.slots[0];
        let each = slot.lost_bytes.unwrap() / slot.lost_operations.unwrap();
        assert!((each / 1000.0 - 1.0).abs() < 0.01, "{rise}: {slot:?}");
    }
}

#[test]
fn a_load_that_pauses_every_few_seconds_has_no_slot_void_for_that() {
    for every in [3, 4, 5, 10] {
        let pauses = rates(|at| if at % every == 0 { 40 } else { 100 + at % 3 });
        let found = judged(&pauses, &[played(100.0), played(200.0)], 30);
        assert!(found.slots.iter().all(|slot| slot.void.is_none()), "{every}: {:?}", found.slots);
    }
}

#[test]
fn what_chance_takes_while_a_store_rebuilds_is_not_lost_to_that() {
    let lost = |missing: u64| {
        let own = |at: u64| if at.is_multiple_of(2) { 103 } else { 97 };
        let seconds = rates(|at| if (130..145).contains(&at) { own(at) - missing } else { own(at) });
        let slot = Played { whole_s: Some(171.0), to_s: 200.0, ..played(100.0) };
        judged(&seconds, &[slot], 20).slots[0].rebuild_lost_operations.unwrap()
    };
    assert!((lost(20) - 297.0).abs() < 1e-9, "{}", lost(20));
    assert!(lost(1).abs() < 1e-9, "{}", lost(1));
}

#[test]
fn what_rebuilding_costs_is_not_known_where_the_load_ended_before_it_did() {
    let seconds = rates(|at| if at < 350 { 100 } else { 80 });
    for (whole_s, lost) in [(390.0, Some(600.0)), (400.4, Some(800.0)), (460.0, None)] {
        let slot = Played { whole_s: Some(whole_s), healed_s: Some(360.0), ..played(340.0) };
        let found = judged(&seconds, &[slot], 20).slots.remove(0);
        assert_eq!((found.void.as_ref(), found.rebuild_lost_operations), (None, lost), "{found:?}");
        let why = found.unknown.get("rebuild_lost_operations");
        assert_eq!(why.is_some_and(|why| why.starts_with("the load ended")), lost.is_none(), "{found:?}");
        assert_eq!(found.whole_after_s, Some(whole_s - 340.0));
    }
}

#[test]
fn pauses_that_a_store_makes_anyway_are_not_charged_to_a_fault() {
    let found = judged(
        &rates(|at| if at % 10 == 0 || (113..118).contains(&at) { 0 } else { 100 }),
        &[played(100.0)],
        30,
    );
    let slot = &found.slots[0];
    let near = |figure: Option<f64>, truth: f64| figure.is_some_and(|figure| (figure - truth).abs() <= 1.0);
    assert!(near(slot.dip_after_s, 13.0) && near(slot.back_after_s, 18.0), "{slot:?}");
    // A second without a fault is worth nine tenths of one without a pause.
    let (operations, bytes) = (slot.lost_operations.unwrap(), slot.lost_bytes.unwrap());
    assert!((operations / 450.0 - 1.0).abs() < 0.05, "{slot:?}");
    assert!((bytes / operations / 1000.0 - 1.0).abs() < 0.01, "{slot:?}");
    assert_eq!(slot.below_tenth_s, Some(5.0), "{slot:?}");
    let quiet = judged(&rates(|at| if at % 10 == 0 { 0 } else { 100 }), &[played(100.0)], 30);
    assert_eq!((quiet.slots[0].dip, quiet.slots[0].below_tenth_s), (Some(false), Some(0.0)), "{quiet:?}");
}

#[test]
fn a_store_that_is_faster_after_a_fault_is_not_called_one_that_is_not_back() {
    let found = judged(
        &rates(|at| match at {
            100..117 => 37,
            117.. => 130,
            _ => 100,
        }),
        &[played(100.0)],
        30,
    );
    let slot = &found.slots[0];
    assert_eq!((slot.lost_operations, slot.back_after_s), (Some(17.0 * 63.0), None), "{slot:?}");
    assert!(slot.unknown["back_after_s"].contains("lay above"), "{:?}", slot.unknown);
    let [remark] = &found.remarks[..] else { panic!("{:?}", found.remarks) };
    assert!(remark.contains("when slot 1 ended the rate lay above"), "{remark}");
    // Work that had waited and is done before the slot ends is as before.
    let waited = judged(
        &rates(|at| match at {
            100..117 => 37,
            117..127 => 163,
            _ => 100,
        }),
        &[played(100.0)],
        30,
    );
    assert_eq!((waited.slots[0].back_after_s, &waited.remarks), (Some(27.0), &Vec::new()), "{waited:?}");
}

#[test]
fn a_second_dip_of_a_slot_that_came_after_the_rate_had_been_back_is_said() {
    let two = |second_from: u64| {
        let of = |at: u64| {
            if (103..111).contains(&at) || (second_from..second_from + 4).contains(&at) { 10 } else { 100 }
        };
        judged(&rates(of), &[played(100.0)], 20)
    };
    let apart = two(140);
    let slot = &apart.slots[0];
    assert_eq!((slot.lost_operations, slot.back_after_s), (Some(12.0 * 90.0), Some(11.0)), "{slot:?}");
    assert!(
        apart.remarks.iter().any(|one| one.contains("in slot 1 the rate fell again")),
        "{:?}",
        apart.remarks
    );
    // Before it had stayed, they are one time until it was back.
    let near = two(120);
    assert_eq!((near.slots[0].back_after_s, &near.remarks), (Some(24.0), &Vec::new()), "{near:?}");
}

#[test]
fn that_what_was_killed_ran_again_by_itself_is_said_of_its_slot() {
    let slots = [played(100.0), Played { runs_again: true, ..played(200.0) }];
    let found = judged(&three_dips(), &slots, 30);
    let [remark] = &found.remarks[..] else { panic!("{:?}", found.remarks) };
    assert!(remark.starts_with("in slot 2 what was killed ran again before it was to be healed"), "{remark}");
    assert_eq!(found.slots[1].void, None, "it is what such a store does");
}

#[test]
fn a_fault_that_was_proved_late_is_said_to_have_been_there_for_less_than_it_was_to_be() {
    for (after_s, is_late) in [(0.2, false), (4.9, false), (5.1, true), (9.9, true)] {
        let slot = Played { landed: Some((100.0 + after_s, "seen".into())), ..played(100.0) };
        let void = Played { void: Some("it was gone".into()), ..slot.clone() };
        let says = |slot: Played| {
            let found = judged(&three_dips(), &[slot], 30);
            found.remarks.iter().any(|one| one.contains("in slot 1 the fault was proved to be there only"))
        };
        assert_eq!((says(slot), says(void)), (is_late, false), "{after_s}");
    }
}

#[test]
fn a_rate_that_is_not_steady_before_the_first_slot_is_said_with_what_it_does_to_the_figures() {
    let said = |rate: &dyn Fn(u64) -> u64| {
        let found = judged(&rates(rate), &[played(100.0)], 30);
        found.remarks.into_iter().find(|one| one.contains("was not steady")).unwrap_or_default()
    };
    let falls = said(&|at| 1000 - at);
    assert!(falls.contains("it fell from 98") && falls.contains("counted as lost"), "{falls}");
    let rises = said(&|at| 1000 + at);
    assert!(rises.contains("it rose from 101") && rises.contains("hides what is lost"), "{rises}");
    for steady in [|_: u64| 1000_u64, |at: u64| 1000 + at % 7 * 20, |at: u64| 1000 - at / 10] {
        assert_eq!(said(&steady), "");
    }
}

#[test]
fn that_few_seconds_are_left_of_a_load_that_warms_up_is_said() {
    for (first_s, is_few) in [(62, true), (100, false)] {
        let found = judged(&rates(|at| 20 + 80 * at.min(30) / 30), &[played(f64::from(first_s))], 30);
        let said = found.remarks.iter().find(|one| one.contains("slots are compared with the last"));
        let is_said = said.is_some_and(|said| said.contains("these are few") && said.contains("begin later"));
        assert_eq!((said.is_some(), is_said), (true, is_few), "{first_s}: {:?}", found.remarks);
    }
}

/// Seconds around 1000/s that resemble those before them so far.
fn wandering(count: usize, seed: u64, alike: f64) -> Vec<f64> {
    let (mut state, mut apart) = (seed, 0.0);
    let mut next = || {
        // A linear congruence, between -1 and 1.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        apart = alike * apart + ((state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0) * 100.0;
        1000.0 + apart
    };
    (0..count + 50).map(|_| next()).skip(50).collect()
}

#[test]
fn a_steady_rate_whose_seconds_resemble_each_other_is_called_steady_and_one_that_falls_is_not() {
    for (count, alike, most) in [(120, 0.5, 3), (120, 0.8, 6), (240, 0.8, 3), (240, 0.9, 5)] {
        let of = |share: f64| {
            let falls = move |seed: u64| {
                let falling = |(at, rate): (usize, f64)| rate * (1.0 - share * real(at) / real(count));
                wandering(count, seed, alike).into_iter().enumerate().map(falling).collect::<Vec<f64>>()
            };
            (1..=100).filter(|seed| Trend::of(&falls(*seed)).is_some()).count()
        };
        let (steady, fell) = (of(0.0), of(0.5));
        assert!(steady <= most && fell >= 95, "{count} {alike}: {steady} and {fell} of 100");
    }
}

#[test]
fn a_load_that_warms_up_is_compared_with_what_it_was_when_the_fault_came() {
    for (warm_s, begins) in [(50, 60), (30, 20), (40, 80)] {
        let warming = |at: u64| begins + (100 - begins) * at.min(warm_s) / warm_s;
        let found = judged(
            &rates(|at| if (100..110).contains(&at) { 20 } else { warming(at) }),
            &[played(100.0)],
            30,
        );
        let healthy = found.healthy.as_ref().unwrap();
        assert!(healthy.from_s > 2.0 && healthy.median_per_s == 100.0, "{warm_s} {begins}: {healthy:?}");
        let lost = found.slots[0].lost_operations.unwrap();
        assert!((lost / 800.0 - 1.0).abs() < 0.02, "{warm_s} {begins}: {lost}");
        let said = found.remarks.iter().any(|one| one.contains("slots are compared with the last"));
        assert!(said, "{warm_s} {begins}: {:?}", found.remarks);
    }
}

#[test]
fn a_slot_whose_forerunner_was_healed_too_late_is_void() {
    let late = Played { healed_s: Some(170.0), to_s: 160.0, ..played(100.0) };
    let slots = vec![vec![late, played(165.0)]];
    let found = results(&[spec(stall(), 5)], &slots, &three_dips(), LOAD, true);
    assert_eq!(found[0].slots[0].void, None);
    assert_eq!(found[0].slots[1].void.as_deref(), Some("the fault before it was still there"));
}

#[test]
fn a_slot_in_which_a_driver_made_no_load_is_void_and_says_nothing_of_the_store() {
    // Two drivers make 50/s each, and one of them makes none for twenty seconds.
    let seconds = rates(|at| if (205..225).contains(&at) { 50 } else { 100 });
    let slots = vec![vec![played(100.0), played(200.0), played(300.0)]];
    let void = |from_s: f64, to_s: f64| {
        let away = [Away { driver: "d2".into(), from_s, to_s }];
        let slots = without(&slots, &away, &seconds, LOAD);
        let found = results(&[spec(stall(), 30)], &slots, &seconds, LOAD, true).remove(0);
        for slot in &found.slots {
            assert_eq!(slot.void.is_some(), slot.lost_operations.is_none(), "{slot:?}");
            let by_driver = ["driver d2 made no load", "drivers made no load"];
            let is_said = |why: &String| by_driver.iter().any(|words| why.starts_with(*words));
            assert!(slot.void.as_ref().is_none_or(is_said), "{slot:?}");
        }
        found.slots.iter().map(|slot| slot.void.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(void(205.0, 225.0), [false, true, false]);
    assert_eq!(void(205.0, f64::INFINITY), [false, true, true], "it does not come back");
    assert_eq!(void(150.0, 210.0), [true, true, false]);
    assert_eq!(void(170.0, 190.0), [false; 3], "between two slots");
    assert_eq!(void(205.0, 205.9), [false; 3], "hardly any of it");
    // Whoever was away before, and stays so, is no part of what slots are compared with.
    assert_eq!(void(10.0, f64::INFINITY), [false; 3]);
    assert_eq!(void(60.0, f64::INFINITY), [true; 3]);
    // And whoever comes back after such a time makes a rate that no slot can be compared with.
    assert_eq!(void(0.0, 150.0), [true; 3]);
    assert_eq!((void(0.0, 90.0), void(30.0, 60.0)), (vec![true; 3], vec![true; 3]));
    assert_eq!((void(0.0, 25.0), void(70.0, 90.0)), (vec![false; 3], vec![false; 3]), "few of these seconds");
    let late = rates(|at| if at < 45 { 50 } else { 100 });
    let away = |from_s: f64, to_s: f64| Away { driver: "d2".into(), from_s, to_s };
    let found = without(&slots, &[away(0.0, 45.0)], &late, LOAD);
    assert!(found[0].iter().all(|slot| slot.void.is_none()), "these seconds are cut off: {found:?}");
    // Many that were away at the same time were so for no longer than one.
    for at in [50.0, 120.0] {
        let all: Vec<Away> = (0..40).map(|_| away(at, at + 0.9)).collect();
        let found = without(&slots, &all, &seconds, LOAD);
        assert!(found[0].iter().all(|slot| slot.void.is_none()), "{at}: {found:?}");
    }
}

#[test]
fn drivers_that_were_lost_are_away_to_the_end_and_those_that_paused_until_they_went_on() {
    let missing =
        [MissingRecord { driver: "a".into(), from_s: 5.0, to_s: Some(9.0), ..MissingRecord::default() }];
    let pauses = [PauseRecord { driver: "b".into(), from_s: 1.0, to_s: 2.0, ..PauseRecord::default() }];
    let away: Vec<_> =
        Away::of(&missing, &pauses).into_iter().map(|one| (one.driver, one.from_s, one.to_s)).collect();
    assert_eq!(away, [("a".to_owned(), 5.0, f64::INFINITY), ("b".to_owned(), 1.0, 2.0)]);
}

#[test]
fn a_slot_whose_seconds_are_not_known_is_void_and_no_slot_without_a_dip() {
    // Of 60 s none, half, and all but the last three are there.
    for (from_s, missing) in [(1000.0, Some(60)), (400.0, Some(60)), (370.0, Some(30)), (343.0, None)] {
        for kind in [stall(), FaultKind::None] {
            let specs = [spec(stall(), 30), spec(kind, 30)];
            let slots = vec![vec![played(100.0)], vec![played(from_s)]];
            let found = results(&specs, &slots, &one_dip(10), LOAD, true);
            let slot = &found[1].slots[0];
            let why = missing.map(|missing| format!("what was done in {missing} of its 60 s is not known"));
            let said = slot.void.as_ref().and_then(|void| void.split(" by the second").next());
            assert_eq!(said, why.as_deref(), "{from_s}: {slot:?}");
            assert_eq!(
                (slot.dip, slot.resiliency.is_none()),
                (missing.is_none().then_some(false), missing.is_some())
            );
            let first = found[0].slots[0].resiliency.unwrap();
            assert!((first - (60.0 * 100.0 - 800.0) / 6000.0).abs() < 1e-9, "{from_s}: {first}");
        }
    }
}

#[test]
fn without_healthy_seconds_nothing_is_said_and_a_closed_loop_is_warned_of() {
    let result = results(&[spec(stall(), 30)], &[vec![played(10.0)]], &three_dips(), LOAD, false).remove(0);
    assert!(result.healthy.is_none() && result.false_dips.is_none());
    assert_eq!(result.slots[0].lost_operations, None);
    assert_eq!(result.remarks.len(), 2, "{:?}", result.remarks);
    assert!(result.remarks[0].contains("closed loop"));
}

#[test]
fn slots_without_a_fault_are_what_others_are_compared_with() {
    let specs = [spec(FaultKind::None, 30), spec(stall(), 30)];
    let quiet = Played { from_s: 30.0, to_s: 90.0, ..Played::default() };
    let slots = vec![vec![quiet], vec![played(100.0)]];
    let found = results(&specs, &slots, &three_dips(), LOAD, true);
    assert_eq!(found[0].slots[0].dip, Some(false));
    assert_eq!((found[0].slots[0].lost_operations, found[0].slots[0].manual_steps), (Some(0.0), None));
    assert_eq!(
        found[1].false_dips.as_ref().unwrap().stretches,
        1,
        "the first seconds alone are too few to halve"
    );
    assert!(found[1].slots[0].lost_operations.is_some());
}

#[test]
fn no_input_panics() {
    let empty = Seconds::default();
    for (from_s, to_s) in [(0.0, 0.0), (-5.0, 10.0), (1e12, 2e12), (5.0, 1.0)] {
        let slot = Played { to_s, ..played(from_s) };
        let _ =
            results(&[spec(stall(), 30)], &[vec![slot.clone()]], &empty, Stretch { from: 9, to: 0 }, true);
        let _ = results(&[spec(stall(), 30)], &[vec![slot]], &three_dips(), LOAD, true);
    }
}
