//! Runs of ours, built row by row: what faults that were made, a kill and trials of a search leave of the verdict.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::fmt::Write as _;
use std::path::Path;

use cosmark_archive::{
    Check, CheckStatus, LoopKind, OperationResult, Overall, Run, RunRecord, SearchRecord, StageRecord,
    StageState, Verdict,
};
use cosmark_metrics::{FaultResult, Latencies, Latency, SlotResult};
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
}

impl Load {
    fn of(seconds: usize) -> Self {
        Self { seconds: vec![AS_USUAL; seconds], class: "timeout" }
    }

    fn ok(second: &Second) -> u64 {
        ARRIVALS_PER_S - second.failed - second.missed
    }

    fn sum(&self, of: fn(&Second) -> u64) -> u64 {
        self.seconds.iter().map(of).sum()
    }

    fn intervals(&self) -> String {
        let mut text = HEAD.to_owned();
        for (at, second) in self.seconds.iter().enumerate() {
            let (ok, Second { failed, missed, in_flight }) = (Self::ok(second), *second);
            let errors = if failed > 0 { format!("{}={failed}", self.class) } else { String::new() };
            writeln!(
                text,
                "s1-main,s1-main.read,local,window,{at},{},{ok},{failed},{missed},0,{},0,{in_flight},{},0,0,{errors},0,0,0,{ARRIVALS_PER_S},0",
                at + 1,
                1000 * ok,
                ok + failed
            )
            .unwrap();
        }
        text
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a minute")]
    fn operation(&self) -> OperationResult {
        let (ok, failed) = (self.sum(Self::ok), self.sum(|second| second.failed));
        let window_s = self.seconds.len() as f64;
        let in_flight: f64 = self.seconds.iter().map(|second| second.in_flight).sum();
        OperationResult {
            work: "main".to_owned(),
            name: "read".to_owned(),
            op: "read".to_owned(),
            sample: "read".to_owned(),
            tag: "s1-main.read".to_owned(),
            workers: 16,
            arrival: Some(LoopKind::Open),
            window_s,
            intended: Some(ARRIVALS_PER_S * self.seconds.len() as u64),
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

    /// Judges it, as a stage of which `change` says more.
    fn judged(&self, change: impl FnOnce(&mut StageRecord, &mut RunRecord)) -> Verdict {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("intervals.csv"), self.intervals()).unwrap();
        let stage = serde_json::json!({"id": "s1-main", "name": "main", "state": "completed"});
        let mut stage: StageRecord = serde_json::from_value(stage).unwrap();
        stage.operations = vec![self.operation()];
        stage.window_s = Some(stage.operations[0].window_s);
        run_of(directory.path(), stage, change)
    }
}

fn run_of(
    path: &Path,
    mut stage: StageRecord,
    change: impl FnOnce(&mut StageRecord, &mut RunRecord),
) -> Verdict {
    let record =
        serde_json::json!({"schema": 1, "cosmark": "0.1.0", "id": "w1", "name": "x", "state": "finished"});
    let mut record: RunRecord = serde_json::from_value(record).unwrap();
    change(&mut stage, &mut record);
    record.stages = vec![stage];
    judge(&Run { path: path.to_owned(), record }, None, &[])
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
