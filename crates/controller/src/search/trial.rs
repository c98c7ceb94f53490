//! The outcome of one trial: its thresholds, whether the queue grew, and whether the client itself may have caused a
//! miss.

use cosmark_archive::{GoalStatus, ThresholdRecord};
use cosmark_stats::settle::Decision;
use cosmark_stats::steady::drift;
use cosmark_workload::model::{Load, Stage};

use super::client::{ClientState, Excess};
use super::machine::Outcome;
use crate::thresholds::{Measured, judgements};

/// A trial that was judged.
pub struct Judged {
    pub outcome: Outcome,
    pub status: GoalStatus,
    /// The first condition that was not met, or what else spoke against it.
    pub reason: Option<String>,
    pub thresholds: Vec<ThresholdRecord>,
    /// What it measured may be put together with other trials of its load: more of it is what it lacks. What the client made
    /// miss, or spoiled so that both are possible, is better made anew.
    pub pools: bool,
    /// Seconds of window at this load that would decide it, about, where that can be told.
    pub settles_s: Option<f64>,
}

/// Judges a trial by what all trials that it continues have measured (`pooled`, itself included) and by itself (`last`).
/// `failed` is why the stage failed, if it did; `client` is the worst that is known of the client in all of them.
pub fn judged(
    stage: &Stage,
    id: &str,
    pooled: &Measured,
    last: &Measured,
    failed: Option<String>,
    client: &ClientState,
) -> Judged {
    let mut missed = Vec::new();
    let mut open = None;
    let judged = judgements(stage, id, pooled);
    for one in &judged {
        let record = &one.record;
        let text = || format!("{} {}: {}", record.threshold, record.status.word(), record.message);
        match record.status {
            GoalStatus::Fail => missed.push((one.excess.clone(), text())),
            GoalStatus::Pass => {}
            _ => open = open.or_else(|| Some(text())),
        }
    }
    missed.extend(overloaded(stage, pooled, last));
    missed.extend(growing(stage, last));
    missed.extend(failed.map(|text| (Excess::Share(failed_share(last)), text)));
    let is_starved = judged.iter().any(|one| one.is_starved);
    let lacks = judged.iter().filter_map(|one| one.lacks).reduce(f64::max);
    let thresholds: Vec<ThresholdRecord> = judged.into_iter().map(|one| one.record).collect();
    let limit_ms = thresholds.iter().filter(|t| t.unit == "ms").filter_map(|t| t.limit).reduce(f64::min);
    // Meeting them in spite of the client's trouble is meeting them; missing them says nothing where that may be why.
    let (mut proven, mut excused) = (None, None);
    for (excess, text) in missed {
        match client.explains(&excess) {
            None => proven = proven.or(Some(text)),
            Some(trouble) => excused = excused.or_else(|| Some(format!("{trouble}; {text}"))),
        }
    }
    let (mut pools, is_open) = (false, open.is_some());
    let (status, outcome, reason) = match (proven, excused, open) {
        (Some(missed), _, _) => (GoalStatus::Fail, Outcome::Decided(Decision::Fail), Some(missed)),
        (None, Some(excused), _) => (GoalStatus::NotProven, Outcome::NotProven, Some(excused)),
        (None, None, Some(open)) => match (client.unusable(), client.blurs(limit_ms)) {
            (None, Some(trouble)) => {
                pools = is_starved;
                (GoalStatus::NotProven, Outcome::NotProven, Some(format!("{trouble}; {open}")))
            }
            (Some(trouble), _) => {
                (GoalStatus::NotProven, Outcome::NotProven, Some(format!("{trouble}; {open}")))
            }
            (None, None) => {
                pools = true;
                (GoalStatus::NotDecided, Outcome::Decided(Decision::Undecided), Some(open))
            }
        },
        (None, None, None) => (GoalStatus::Pass, Outcome::Decided(Decision::Pass), None),
    };
    let settles_s = lacks.filter(|_| is_open && pools).map(|factor| factor * pooled.longest_s());
    Judged { outcome, status, reason, thresholds, pools, settles_s }
}

/// The same, and where all trials of a load together decide nothing, by the last one alone: the client may have been well in it.
pub fn judged_with(
    stage: &Stage,
    id: &str,
    (pooled, all): (&Measured, &ClientState),
    (last, client): (&Measured, &ClientState),
    failed: Option<String>,
) -> Judged {
    let together = judged(stage, id, pooled, last, failed.clone(), all);
    if !matches!(together.outcome, Outcome::NotProven | Outcome::Decided(Decision::Undecided)) {
        return together;
    }
    let alone = judged(stage, id, last, last, failed, client);
    if matches!(alone.outcome, Outcome::Decided(Decision::Pass | Decision::Fail)) { alone } else { together }
}

/// A client explains no more failures than it has lost time for. A stage that failed without any operation of its own failing has
/// a share of 0.
#[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
fn failed_share(measured: &Measured) -> f64 {
    let total = measured.total();
    total.failed as f64 / total.total().max(1) as f64
}

fn is_open(stage: &Stage) -> bool {
    stage.works.iter().any(|work| matches!(work.load, Load::Open { .. }))
}

/// An open loop that does not complete what is offered has no steady response time, whatever the completed ones say.
#[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
fn overloaded(stage: &Stage, pooled: &Measured, last: &Measured) -> Option<(Excess, String)> {
    // Works beside it that are no open loops have nothing due and are not asked.
    let (mut due, mut done) = (0, 0);
    pooled.of_works(stage, |work| matches!(work.load, Load::Open { .. })).for_each(|op| {
        due += op.intended;
        done += op.total();
    });
    let window_s = pooled.longest_s();
    if !is_open(stage) || window_s <= 0.0 {
        return None;
    }
    let (due, done) = (due as f64, done as f64);
    // What is in flight at the two ends of the window differs by chance.
    let least = due * 0.99 - 3.0 * due.sqrt().max(1.0);
    let text = || {
        let (due, done) = (due / window_s, done / window_s);
        format!("offered {due:.1}/s, completed {done:.1}/s: the queue grows all the time")
    };
    // What is left at the end of one trial, as the time in which it came due.
    let behind_ms = (1.0 - done / due.max(1.0)) * last.longest_s() * 1e3;
    (done < least).then(|| (Excess::Most(behind_ms), text()))
}

/// Response times of an open loop that grow by more than this every second, with no more than this chance of being wrong,
/// belong to a queue that grows: by as much as the load is above the capacity.
const GROWTH: f64 = 0.005;
const GROWTH_CHANCE: f64 = 0.001;
/// A delay that sets in halfway makes the line through all times rise by 1.5 times itself: 3 times its mean.
const RISES: f64 = 3.0;

/// A short trial a little above the capacity can be over before its queue is long enough to miss a threshold.
fn growing(stage: &Stage, last: &Measured) -> Option<(Excess, String)> {
    if !is_open(stage) {
        return None;
    }
    let (times_s, step_s) = last.response_over_time()?;
    let found = drift(&times_s).filter(|found| found.p_value < GROWTH_CHANCE)?;
    #[expect(clippy::cast_precision_loss, reason = "a number of intervals")]
    let span_s = step_s * times_s.len() as f64;
    let mean = times_s.iter().sum::<f64>() / (span_s / step_s);
    let growth = found.relative * mean / span_s;
    (growth > GROWTH).then(|| {
        let text = format!(
            "response times grew by {:.1} ms every second: the queue grows all the time",
            growth * 1e3
        );
        (Excess::Mean(growth * span_s * 1e3 / RISES), text)
    })
}

/// What to write so that as many trials of one load as may be put together are this long; trials of `own_s` may be long enough.
pub fn enough(seconds: f64, trials: u32, own_s: f64) -> String {
    let trials = trials.max(1);
    let each_s = (1.1 * seconds / f64::from(trials)).ceil();
    let of = if trials > 1 { format!(", in {trials} trials put together") } else { String::new() };
    let advice = if each_s > own_s {
        format!("set runtime to {each_s:.0} s")
    } else {
        format!("{own_s:.0} s each are enough")
    };
    format!("about {seconds:.0} s at this load would decide{of}: {advice}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use cosmark_metrics::OpSnapshot;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    #[test]
    fn a_runtime_that_is_shorter_than_what_would_decide_says_of_how_many_trials_it_is() {
        assert_eq!(enough(20.0, 1, 10.0), "about 20 s at this load would decide: set runtime to 22 s");
        let three = "about 20 s at this load would decide, in 3 trials put together: set runtime to 8 s";
        assert_eq!(enough(20.0, 3, 4.0), three);
        // Nobody is told to write what stands there.
        let long = "about 6 s at this load would decide, in 2 trials put together: 4 s each are enough";
        assert_eq!(enough(6.0, 2, 4.0), long);
    }

    #[test]
    fn a_client_explains_no_more_failures_than_it_has_lost_time_for() {
        let text = "name: s
storage: {type: mock}
stages:
  - {name: main, works: [{workers: 4, runtime: 10s, operations: [{type: read, objects: 'u(1,9)'}]}]}
";
        let workload = parse_what_is_there(text, Format::Yaml, &Environment::default()).0.unwrap();
        let stage = &workload.stages[0];
        let of = |failed: u64, lost: f64| {
            let op = OpSnapshot { ok: 1000 - failed, failed, ..OpSnapshot::default() };
            let measured = Measured::new(vec![(10.0, vec![op])], Vec::new());
            let client = ClientState { lost: (lost, "it was paused"), ..ClientState::default() };
            judged(stage, "s1", &measured, &measured, Some("too many failed".to_owned()), &client).status
        };
        assert_eq!(of(300, 0.004), GoalStatus::Fail);
        assert_eq!(of(30, 0.004), GoalStatus::NotProven);
        assert_eq!(of(300, 0.002), GoalStatus::Fail);
        assert_eq!(of(0, 0.004), GoalStatus::NotProven, "it failed for another reason");
    }
}
