//! Runs of ours, built row by row: what faults that were made, a kill, loads that were meant to be too much, and drivers that
//! were away leave of the verdict.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;

use cosmark_archive::{
    Check, CheckStatus, LoopKind, MissingRecord, OperationResult, Overall, PauseRecord, Run, RunRecord,
    SearchRecord, StageRecord, StageState, Verdict,
};
use cosmark_metrics::{ClientRecord, FaultResult, Latencies, Latency, SlotResult};
use cosmark_verdict::judge;

const ARRIVALS_PER_S: u64 = 50;
const HEAD: &str = "stage,tag,driver,phase,start_s,end_s,count,failures,missed,delayed,bytes,partial_bytes,in_flight_mean,\
                    requests,retries,connections,errors,accepted_only,renewals,unfinished,intended,checked\n";

/// What became of the arrivals of a second.
#[derive(Clone, Copy)]
struct Second {
    failed: u64,
    missed: u64,
    in_flight: f64,
}

const AS_USUAL: Second = Second { failed: 0, missed: 0, in_flight: 0.05 };

fn times(each_ms: u64, count: u64) -> Latencies {
    let mut latency = Latency::default();
    (0..count).for_each(|k| latency.record((each_ms * 1_000 + k % 50) * 1_000));
    Latencies::of(&latency)
}

/// A load of so many seconds, with what was counted in each.
struct Load {
    seconds: Vec<Second>,
    class: &'static str,
    per_s: u64,
    id: &'static str,
}

impl Load {
    fn of(seconds: usize) -> Self {
        Self { seconds: vec![AS_USUAL; seconds], class: "timeout", per_s: ARRIVALS_PER_S, id: "s1-main" }
    }

    fn ok(&self, second: &Second) -> u64 {
        self.per_s - second.failed - second.missed
    }

    fn sum(&self, of: impl Fn(&Second) -> u64) -> u64 {
        self.seconds.iter().map(of).sum()
    }

    fn intervals(&self) -> String {
        let (mut text, id) = (String::new(), self.id);
        for (at, second) in self.seconds.iter().enumerate() {
            let (ok, Second { failed, missed, in_flight }) = (self.ok(second), *second);
            let errors = if failed > 0 { format!("{}={failed}", self.class) } else { String::new() };
            writeln!(
                text,
                "{id},{id}.read,local,window,{at},{},{ok},{failed},{missed},0,{},0,{in_flight},{},0,0,{errors},0,0,0,{},0",
                at + 1,
                1000 * ok,
                ok + failed,
                self.per_s
            )
            .unwrap();
        }
        text
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a minute")]
    fn operation(&self) -> OperationResult {
        let (ok, failed) = (self.sum(|second| self.ok(second)), self.sum(|second| second.failed));
        let window_s = self.seconds.len() as f64;
        let in_flight: f64 = self.seconds.iter().map(|second| second.in_flight).sum();
        OperationResult {
            work: "main".to_owned(),
            name: "read".to_owned(),
            op: "read".to_owned(),
            sample: "read".to_owned(),
            tag: format!("{}.read", self.id),
            workers: 16,
            arrival: Some(LoopKind::Open),
            window_s,
            intended: Some(self.per_s * self.seconds.len() as u64),
            ok,
            failed,
            missed: self.sum(|second| second.missed),
            bytes: 1000 * ok,
            requests: ok + failed,
            connections: 16,
            throughput_per_s: Some(ok as f64 / window_s),
            in_flight_mean: Some(in_flight / window_s),
            response_ms: times(1, ok),
            service_ms: times(1, ok),
            errors: (failed > 0).then(|| (self.class.to_owned(), failed)).into_iter().collect(),
            ..OperationResult::default()
        }
    }

    fn stage(&self) -> StageRecord {
        let stage = serde_json::json!({"id": self.id, "name": self.id, "state": "completed"});
        let mut stage: StageRecord = serde_json::from_value(stage).unwrap();
        stage.operations = vec![self.operation()];
        stage.window_s = Some(stage.operations[0].window_s);
        stage
    }

    /// Judges it, as a stage of which `change` says more.
    fn judged(&self, change: impl FnOnce(&mut StageRecord, &mut RunRecord)) -> Verdict {
        judged(&[self], |run| {
            let mut stage = run.stages.remove(0);
            change(&mut stage, run);
            run.stages.push(stage);
        })
    }
}

/// Judges a run of these loads, one after the other.
fn judged(loads: &[&Load], change: impl FnOnce(&mut RunRecord)) -> Verdict {
    let directory = tempfile::tempdir().unwrap();
    let lines: String = loads.iter().map(|load| load.intervals()).collect();
    std::fs::write(directory.path().join("intervals.csv"), format!("{HEAD}{lines}")).unwrap();
    let record =
        serde_json::json!({"schema": 1, "cosmark": "0.1.0", "id": "w1", "name": "x", "state": "finished"});
    let mut record: RunRecord = serde_json::from_value(record).unwrap();
    record.stages = loads.iter().map(|load| load.stage()).collect();
    change(&mut record);
    judge(&Run { path: directory.path().to_owned(), record }, None, &[])
}

fn check<'a>(verdict: &'a Verdict, id: &str) -> &'a Check {
    verdict.checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no {id}: {verdict:#?}"))
}

/// A fault from second 26 on, in a slot up to this second.
fn frozen(to_s: f64, landed: bool, failed: Option<u64>) -> Vec<FaultResult> {
    let slot = SlotResult {
        number: 1,
        from_s: 26.02,
        landed_s: landed.then_some(26.12),
        to_s,
        failed_operations: failed,
        ..SlotResult::default()
    };
    let name = "hangs".to_owned();
    vec![FaultResult { name, kind: "signal".to_owned(), slots: vec![slot], ..FaultResult::default() }]
}

/// Sixteen workers wait for a store that stands still, and give up each third second.
fn stand_still(load: &mut Load, seconds: std::ops::Range<usize>) {
    for (at, second) in load.seconds[seconds].iter_mut().enumerate() {
        let failed = if at % 3 == 2 { 16 } else { 0 };
        *second = Second { failed, missed: ARRIVALS_PER_S - failed, in_flight: 16.0 };
    }
}

#[test]
fn a_run_that_was_killed_while_its_store_was_frozen_is_not_proven_and_nothing_of_it_is_false() {
    let mut load = Load::of(36);
    stand_still(&mut load, 27..36);
    let cut = |landed: bool| {
        load.judged(|stage, _| {
            (stage.state, stage.cut_s) = (StageState::Terminated, Some(36.0));
            stage.faults = frozen(38.97, landed, None);
        })
    };
    let verdict = cut(true);
    assert_eq!(verdict.overall, Overall::NotProven, "{verdict:#?}");
    assert_eq!(check(&verdict, "V1").status, CheckStatus::NotRun, "{verdict:#?}");
    let errors = check(&verdict, "V12");
    assert!(
        errors.status == CheckStatus::Warn && errors.message.starts_with("48 operations failed in the slots"),
        "{errors:?}"
    );
    // The same without a fault that is known: a store that stands still is no matter of the kill.
    assert_eq!(cut(false).overall, Overall::False);
}

#[test]
fn what_failed_in_the_slots_of_a_fault_is_what_it_cost_and_only_the_rest_counts_against_the_store() {
    let word = |before: u64, in_slot: Option<u64>, landed: bool| {
        let mut load = Load::of(90);
        stand_still(&mut load, 27..30);
        load.seconds[10].failed = before;
        let verdict = load.judged(|stage, _| stage.faults = frozen(46.0, landed, in_slot));
        let errors = check(&verdict, "V12");
        (errors.status, errors.allows, errors.value.unwrap() > 0.01)
    };
    let (warn, fail) = (CheckStatus::Warn, CheckStatus::Fail);
    assert_eq!(word(0, Some(16), true), (warn, Overall::TrueWithLimits, false));
    assert_eq!(word(0, None, true), (warn, Overall::TrueWithLimits, false), "counted by the intervals");
    assert_eq!(word(50, Some(16), true), (fail, Overall::False, true));
    assert_eq!(word(50, Some(16), false), (fail, Overall::False, true));
    // Of a long interval no more is the fault's than its slot counted.
    let mut load = Load::of(90);
    load.seconds[27] = Second { failed: 50, ..AS_USUAL };
    let verdict = load.judged(|stage, _| stage.faults = frozen(46.0, true, Some(2)));
    assert_eq!(check(&verdict, "V12").status, fail, "{verdict:#?}");
}

#[test]
fn bodies_that_a_fault_broke_off_are_no_wrong_bytes_and_others_are() {
    let word = |at: usize, class: &'static str| {
        let mut load = Load { class, ..Load::of(90) };
        load.seconds[at].failed = 3;
        let verdict = load.judged(|stage, _| stage.faults = frozen(46.0, true, None));
        check(&verdict, "V20").allows
    };
    assert_ne!(word(28, "short_body"), Overall::False);
    assert_eq!(word(60, "short_body"), Overall::False);
    assert_eq!(word(28, "corrupt_body"), Overall::False);
}

#[test]
fn a_trial_beyond_the_answer_of_its_search_bounds_it_and_says_nothing_against_the_run() {
    let mut load = Load::of(90);
    // Beyond the knee: a growing queue of refusals.
    load.seconds.iter_mut().skip(3).for_each(|second| {
        *second = Second { failed: 20, missed: 10, in_flight: 16.0 };
    });
    let word = |best: Option<f64>, stage_id: &str| {
        let search = serde_json::json!({
            "name": "main", "over": "rate", "thresholds": [], "best": best, "settled": true, "confirmed": 1, "notes": [],
            "trials": [{"stage": stage_id, "load": 50.0, "purpose": "above", "status": "fail", "thresholds": []}]
        });
        let search: SearchRecord = serde_json::from_value(search).unwrap();
        load.judged(|_, run| run.searches = vec![search])
    };
    let beyond = word(Some(40.0), "s1-main");
    let errors = check(&beyond, "V12");
    assert_eq!((errors.status, errors.allows), (CheckStatus::Warn, Overall::TrueWithLimits));
    assert!(
        errors.message.contains("the search found 40/s") && errors.message.contains("timeout"),
        "{errors:?}"
    );
    for id in ["V4", "V12", "V25"] {
        assert!(check(&beyond, id).allows <= Overall::TrueWithLimits, "{beyond:#?}");
    }
    // The answer itself, no answer at all, and a stage of no search.
    for (best, stage) in
        [(Some(50.0), "s1-main"), (Some(60.0), "s1-main"), (None, "s1-main"), (Some(40.0), "s9")]
    {
        let verdict = word(best, stage);
        assert_eq!(verdict.overall, Overall::False, "{best:?} {stage}: {verdict:#?}");
    }
}

/// A rung of so many arrivals per second, of which the store serves no more than 100.
fn rung(id: &'static str, per_s: u64) -> Load {
    let mut load = Load { id, per_s, ..Load::of(60) };
    let missed = per_s.saturating_sub(100);
    let in_flight = if missed > 0 { 16.0 } else { 0.1 };
    load.seconds.iter_mut().for_each(|second| *second = Second { failed: 0, missed, in_flight });
    load
}

#[test]
fn the_last_rungs_of_a_ladder_are_overloaded_and_the_run_is_not_false_for_it() {
    let word = |rates: &[u64], change: fn(&mut Load)| {
        let ids = ["s1-a", "s2-b", "s3-c", "s4-d"];
        let mut rungs: Vec<Load> = ids.into_iter().zip(rates).map(|(id, rate)| rung(id, *rate)).collect();
        rungs.iter_mut().for_each(change);
        let verdict = judged(&rungs.iter().collect::<Vec<_>>(), |_| {});
        let of = |check: &&Check| check.id == "V4" && check.message.starts_with("of a ladder of");
        let said = verdict.checks.iter().filter(of).count();
        let worst = verdict.checks.iter().filter(|check| check.id == "V4").map(|check| check.allows).max();
        (said, worst.unwrap())
    };
    let as_it_is: fn(&mut Load) = |_| {};
    assert_eq!(word(&[40, 80, 150, 300], as_it_is), (2, Overall::TrueWithLimits));
    assert_eq!(word(&[300, 40, 150, 80], as_it_is), (2, Overall::TrueWithLimits), "in any order");
    // One that was served says nothing of where it ends, two are no ladder, and in a hole in the middle something happened.
    assert_eq!(word(&[80, 150, 300], as_it_is), (0, Overall::False));
    assert_eq!(word(&[80, 150], as_it_is), (0, Overall::False));
    let hole: fn(&mut Load) = |load| {
        if load.per_s == 60 {
            load.seconds.iter_mut().for_each(|second| second.missed = 30);
        }
    };
    assert_eq!(word(&[40, 50, 60, 80], hole), (0, Overall::False));
    // One rate whose arrivals come by chance, and a store that broke down in the last of its stages.
    let breaks: fn(&mut Load) = |load| {
        if load.per_s >= 82 {
            let down = Second { failed: 0, missed: load.per_s / 2, in_flight: 16.0 };
            load.seconds.iter_mut().for_each(|second| *second = down);
        }
    };
    assert_eq!(word(&[80, 81, 82], breaks), (0, Overall::False));
    assert_eq!(word(&[40, 60, 82], breaks), (1, Overall::TrueWithLimits), "the same of a ladder");
}

fn client(driver: &str, drift_ppm: f64) -> ClientRecord {
    ClientRecord {
        driver: driver.to_owned(),
        clock_offset_ms: Some(0.01),
        clock_error_ms: Some(0.1),
        clock_offset_after_ms: Some(0.02),
        clock_error_after_ms: Some(0.1),
        clock_strayed_ms: Some(drift_ppm.abs() * 0.06),
        clock_drift_ppm: Some(drift_ppm),
        clock_drift_error_ppm: Some(90.0),
        ..ClientRecord::default()
    }
}

#[test]
fn a_driver_that_began_anew_has_no_clock_that_went_wrong_and_is_missing_all_the_same() {
    let word = |is_missing: bool| {
        let verdict = Load::of(60).judged(|stage, _| {
            stage.clients = vec![client("d1", 4.0), client("d2", -49_421.0)];
            if is_missing {
                let (driver, works) = ("d2".to_owned(), vec!["main".to_owned()]);
                stage.missing = vec![MissingRecord { driver, works, workers: 8, from_s: 0.0, to_s: None }];
            }
        });
        [check(&verdict, "V15").status, check(&verdict, "V16").status]
    };
    assert_eq!(word(false), [CheckStatus::Fail, CheckStatus::NotRun]);
    assert_eq!(word(true), [CheckStatus::Pass, CheckStatus::Fail]);
}

#[test]
fn a_driver_that_stopped_until_it_knew_that_its_run_lived_is_said_to_have_made_no_load() {
    let mut load = Load::of(60);
    load.seconds[20..26]
        .iter_mut()
        .for_each(|second| *second = Second { failed: 0, missed: 50, in_flight: 0.0 });
    let word = |pauses: Vec<PauseRecord>| {
        let verdict = load.judged(|stage, _| {
            stage.clients = vec![ClientRecord { driver: "d1".to_owned(), ..ClientRecord::default() }];
            stage.pauses = pauses;
        });
        (check(&verdict, "V16").clone(), check(&verdict, "V4").clone())
    };
    let (none, behind) = word(Vec::new());
    assert_eq!((none.status, behind.status), (CheckStatus::NotRun, CheckStatus::Fail), "{behind:?}");
    let pause = |from_s: f64, to_s: f64| {
        let reason = "nobody renewed the lease of the run".to_owned();
        vec![PauseRecord { driver: "d1".to_owned(), from_s, to_s, reason }]
    };
    // No store falls behind what nobody sends it, and none is excused by a pause that was too short for what it lacks.
    assert_eq!(word(pause(19.6, 21.0)).1.status, CheckStatus::Fail);
    let (found, behind) = word(pause(19.6, 26.3));
    assert_eq!(behind.status, CheckStatus::Warn, "{behind:?}");
    assert!(behind.message.contains("drivers made no load for a while (V16)"), "{behind:?}");
    assert_eq!((found.status, found.allows), (CheckStatus::Fail, Overall::False), "{found:?}");
    assert!(
        found.message.starts_with("driver d1 made no load from 19.6 s to 26.3 s (16 workers, nobody"),
        "{found:?}"
    );
}
