//! Loads that were meant to be too much: trials beyond the answer of a search, and the last rungs of a ladder of rates. What such a
//! load does to a store is what it was to show, and makes no run false.

use cosmark_archive::{Check, CheckStatus, LoopKind, Overall, Run, SearchRecord, StageRecord, TrialRecord};
use cosmark_workload::model::{Stage, WorkKind};
use cosmark_workload::schedule::due_in_window;

use crate::from_archive::measured;
use crate::numbers::plain;

/// What more load than a store serves does to a stage: workers wait after refusals, a queue grows, the client fills, operations
/// fail or do not end, and nobody knows how long they would have taken.
const OF_OVERLOAD: &[&str] = &["V2", OFFERED, "V5", "V8", "V10", "V12", "V25"];
/// The same of a rung: nobody said that it may fail, and failures are told from a queue.
const OF_A_RUNG: &[&str] = &[OFFERED, "V5", "V8", "V10", "V25"];
/// Whether the store served what was offered; and the figure that a store which does not moves.
const OFFERED: &str = "V4";
const MOVED: &str = "response_ms.p50";

/// Fewer rungs make no ladder, and fewer that were served below the others say nothing of where it ends.
const LEAST_RUNGS: usize = 3;
const LEAST_SERVED: usize = 2;

/// A rung lies above the one before by more than this share of it, by more than what counts at both ends of two windows
/// can differ, and by more than so many times what chance makes of arrivals: else the same rate was offered twice.
const LEAST_STEP: f64 = 0.01;
const AT_ENDS: f64 = 2.0;
const CHANCE: f64 = 3.0;

/// The trial that a stage is, with its search.
pub fn trial_of<'a>(run: &'a Run, stage: &StageRecord) -> Option<(&'a SearchRecord, &'a TrialRecord)> {
    run.record.searches.iter().find_map(|search| {
        search.trials.iter().find(|trial| trial.stage == stage.id).map(|trial| (search, trial))
    })
}

/// A trial beyond the answer of its search was made to bound it: that it was too much says nothing against the run. Of a search
/// without an answer nothing is excused.
pub fn bound_the_answer(checks: &mut [Check], search: &SearchRecord, trial: &TrialRecord) {
    let Some(best) = search.best.filter(|best| trial.load > *best) else { return };
    let unit = if search.over == "rate" { "/s" } else { " workers" };
    let why = format!(
        "the search found {}{unit}, and this trial of more bounds that from above: that it was too much is no fault",
        plain(best)
    );
    let own = checks.iter_mut().filter(|check| OF_OVERLOAD.contains(&check.id.as_str()));
    own.for_each(|check| lessen(check, &why));
}

fn lessen(check: &mut Check, why: &str) {
    if check.allows <= Overall::TrueWithLimits {
        return;
    }
    if check.status == CheckStatus::Fail {
        check.status = CheckStatus::Warn;
    }
    check.allows = Overall::TrueWithLimits;
    check.message = format!("{why} ({})", check.message);
}

/// A stage of an open loop with what was offered per second.
struct Rung<'a> {
    stage: &'a StageRecord,
    offered_per_s: f64,
    /// Standard deviation of that where chance has a part.
    spread_per_s: f64,
    window_s: f64,
}

impl Rung<'_> {
    fn is_above(&self, other: &Self) -> bool {
        let chance = CHANCE * self.spread_per_s.hypot(other.spread_per_s);
        let ends = AT_ENDS / self.window_s.min(other.window_s);
        self.offered_per_s - other.offered_per_s > LEAST_STEP * other.offered_per_s + ends + chance
    }
}

/// Standard deviation of how many operations a stage has due in its window; `None` where no clock says that.
pub fn spread_of(plan: &Stage) -> Option<f64> {
    let normal = plan.works.iter().filter(|work| work.kind == WorkKind::Normal);
    normal
        .map(|work| due_in_window(work).map(|due| due.spread))
        .try_fold(0.0, |sum: f64, spread| Some(sum.hypot(spread?)))
}

/// Stages of the same operations at different rates are a ladder. Where it was served up to a rung and from the next one on no more,
/// those above show where the store ends: their figures are those of an overloaded store, and the run is no less true for it.
/// `spread` is that of [`spread_of`] by the 0-based place of a stage.
pub fn excuse_last_rungs(
    checks: &mut [Check],
    stages: &[StageRecord],
    spread: &dyn Fn(usize) -> Option<f64>,
) {
    for ladder in ladders(stages, spread) {
        let of = |rung: &Rung<'_>| {
            let own = |check: &&Check| {
                check.id == OFFERED && check.stage.as_deref() == Some(rung.stage.id.as_str())
            };
            checks.iter().find(own)
        };
        let is_served = |rung: &Rung<'_>| of(rung).is_some_and(|check| check.status == CheckStatus::Pass);
        let is_too_much = |rung: &Rung<'_>| {
            of(rung).is_some_and(|check| {
                check.status == CheckStatus::Fail
                    && check.moves.as_ref().is_some_and(|moved| moved.figure == MOVED)
            })
        };
        let served = ladder.iter().take_while(|rung| is_served(rung)).count();
        let (below, above) = ladder.split_at(served);
        let Some(last) = below.last().filter(|_| served >= LEAST_SERVED) else { continue };
        if above.is_empty() || !above.iter().all(is_too_much) {
            continue;
        }
        let why = format!(
            "of a ladder of {} rates the store served those up to {}/s, and this one is beyond: its figures are those of an \
             overloaded store",
            ladder.len(),
            plain(last.offered_per_s)
        );
        let ids: Vec<&str> = above.iter().map(|rung| rung.stage.id.as_str()).collect();
        for check in checks.iter_mut() {
            let is_own = check.stage.as_deref().is_some_and(|stage| ids.contains(&stage));
            if is_own && OF_A_RUNG.contains(&check.id.as_str()) {
                lessen(check, &why);
            }
        }
    }
}

/// Stages that did the same at three or more rates, by growing rate.
fn ladders<'a>(stages: &'a [StageRecord], spread: &dyn Fn(usize) -> Option<f64>) -> Vec<Vec<Rung<'a>>> {
    let mut found: Vec<Vec<Rung<'a>>> = Vec::new();
    let rungs = stages.iter().enumerate().filter_map(|(at, stage)| rung_of(stage, spread(at)));
    for rung in rungs {
        let alike = |ladder: &&mut Vec<Rung<'a>>| {
            ladder.first().is_some_and(|first| done_in(first.stage).eq(done_in(rung.stage)))
        };
        match found.iter_mut().find(alike) {
            Some(ladder) => ladder.push(rung),
            None => found.push(vec![rung]),
        }
    }
    for ladder in &mut found {
        ladder.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    }
    let is_one = |ladder: &Vec<Rung<'_>>| {
        let grows = ladder.windows(2).all(|pair| match pair {
            [a, b] => b.is_above(a),
            _ => true,
        });
        ladder.len() >= LEAST_RUNGS && grows
    };
    found.retain(is_one);
    found
}

/// What a stage did, whatever how often.
fn done_in(stage: &StageRecord) -> impl Iterator<Item = (&str, &str, &str)> {
    measured(stage).map(|own| (own.work.as_str(), own.name.as_str(), own.op.as_str()))
}

/// Where nobody says by how much chance makes arrivals differ, each is taken to come by itself.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn rung_of(stage: &StageRecord, spread: Option<f64>) -> Option<Rung<'_>> {
    let (mut offered_per_s, mut due, mut window_s) = (0.0, 0.0_f64, f64::INFINITY);
    for own in measured(stage) {
        let intended = own.intended.filter(|_| own.arrival == Some(LoopKind::Open) && own.window_s > 0.0)?;
        offered_per_s += intended as f64 / own.window_s;
        due += intended as f64;
        window_s = window_s.min(own.window_s);
    }
    let spread_per_s = spread.unwrap_or_else(|| due.sqrt()) / window_s;
    (offered_per_s > 0.0).then_some(Rung { stage, offered_per_s, spread_per_s, window_s })
}
