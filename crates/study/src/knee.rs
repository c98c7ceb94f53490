//! What a search of a stage found: the highest load that met the thresholds, and the trial at it, whose figures are
//! those of the point. A search that found none has its reason.

use std::collections::BTreeMap;

use cosmark_archive::{GoalStatus, RunRecord, SearchRecord, StageRecord, TrialRecord};

/// Begins the reason of a cell whose knee was found and is not settled.
pub(crate) const UNSETTLED: &str = "the knee is not settled: ";

/// What a search came to.
pub(crate) struct Knee<'a> {
    /// The trial at the knee; of a search that found none, the one with the least load that measured something.
    pub(crate) trial: Option<&'a StageRecord>,
    /// Figures of the search by the ids of [`crate::metric::KNEE`].
    pub(crate) values: BTreeMap<String, f64>,
    /// Why there is no knee; `None` where there is one.
    pub(crate) none: Option<String>,
    /// Why it is not settled, where it is found and is not.
    pub(crate) unsettled: Option<String>,
    /// Share of the operations of that trial that failed.
    pub(crate) failed_share: f64,
}

impl<'a> Knee<'a> {
    /// What the search of the stage of this name came to; `None` where the stage has none.
    pub(crate) fn of(record: &'a RunRecord, stage: &str) -> Option<Self> {
        let search = record.searches.iter().find(|search| search.name == stage)?;
        let stage_of = |trial: &TrialRecord| record.stages.iter().find(|stage| stage.id == trial.stage);
        let at_knee = search.best.and_then(|best| trial_at(search, best));
        let mut values = BTreeMap::new();
        values.insert("knee_trials".to_owned(), count(search.trials.len()));
        if let (Some(best), Some(_)) = (search.best, at_knee) {
            let id = if search.over == "rate" { "knee_per_s" } else { "knee_workers" };
            values.insert(id.to_owned(), best);
            values.extend(search.missed_at.map(|load| ("knee_missed_at".to_owned(), load)));
            let highest = search.trials.iter().map(|trial| trial.load).fold(best, f64::max);
            values.insert("knee_highest".to_owned(), highest);
        }
        let measured = search.trials.iter().filter(|trial| trial.throughput_per_s.is_some());
        let shown = at_knee.or_else(|| measured.min_by(|a, b| a.load.total_cmp(&b.load)));
        let none = at_knee.is_none().then(|| why_none(search));
        Some(Self {
            trial: shown.and_then(stage_of),
            values,
            unsettled: search.unsettled.clone().filter(|_| none.is_none()),
            none,
            failed_share: shown.and_then(|trial| trial.error_ratio).unwrap_or(0.0),
        })
    }
}

/// The last trial of a load that met the thresholds; where trials did so only together, the last of them.
fn trial_at(search: &SearchRecord, load: f64) -> Option<&TrialRecord> {
    let of_load = || search.trials.iter().rev().filter(|trial| trial.load.total_cmp(&load).is_eq());
    of_load().find(|trial| trial.status == GoalStatus::Pass).or_else(|| of_load().next())
}

fn why_none(search: &SearchRecord) -> String {
    let why = search.unsettled.clone().or_else(|| search.trials.last()?.reason.clone());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("no load met {}{why}", search.thresholds.join(", "))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of trials")]
fn count(trials: usize) -> f64 {
    trials as f64
}
