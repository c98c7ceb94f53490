//! The kinds of pictures. What they share: which operations are meant, what they are called, and what is said below.

mod against;
mod faults;
mod nodes;
mod over_time;
mod response;
mod shape;
mod time;
mod violin;

pub use against::{compare, knee, maximum, scatter, workers};
pub use faults::faults;
pub use nodes::nodes;
pub use over_time::{aggregate, timeline};
pub use response::{cdf, histogram, percentiles};
pub use shape::{ccdf, ecdf, heat, sizes};
pub use time::time;
pub use violin::violin;

use std::collections::BTreeMap;

use cosmark_metrics::results::Metric;
use cosmark_workload::units::rounded_share;

use super::metric::named;
use super::pattern::stars;
use super::{PlotError, PlotOperation, PlotRun, PlotStage, Wishes};
use crate::rounds;

/// So many stages are named where none is the one that was meant.
const MOST_NAMED: usize = 20;

/// An operation that is drawn.
#[derive(Clone)]
struct Pick<'r> {
    run: &'r PlotRun,
    /// Number of the run.
    run_at: usize,
    stage: &'r PlotStage,
    /// Number of the stage in its run.
    stage_at: usize,
    op: &'r PlotOperation,
    /// Number of the operation in its stage.
    op_at: usize,
    /// What the operation is called: its label, with its work where its stage has several of that label.
    label: String,
    /// What the stage is called: its name, or its id where its run has several of that name.
    stage_name: String,
    /// The same, or what the stars of a pattern stood for.
    caption: String,
    /// The stage's name without the round of a repeated one.
    stem: String,
    /// The round, of a repeated stage: each is a repetition.
    round: Option<u32>,
}

impl Pick<'_> {
    /// Which repetition it is of.
    fn repetition(&self) -> (usize, Option<u32>) {
        (self.run_at, self.round)
    }

    /// What the rounds of its stage are called together.
    fn joined_caption(&self) -> String {
        let round = self.round.map(|round| format!("-r{round}"));
        let joined = round.and_then(|round| self.caption.strip_suffix(&round));
        joined.unwrap_or(&self.caption).to_owned()
    }
}

/// The operations that are meant.
fn picks<'r>(runs: &'r [PlotRun], options: &Wishes) -> Result<Vec<Pick<'r>>, PlotError> {
    let mut all = Vec::new();
    for (run_at, run) in runs.iter().enumerate() {
        let named = counts(run.stages.iter().map(|stage| stage.name.as_str()));
        for ((stage_at, stage), (stem, round)) in run.stages.iter().enumerate().zip(rounds_of(run)) {
            let Some(caption) = caption_of(stage, options) else { continue };
            let is_alone = named.get(stage.name.as_str()) == Some(&1);
            let stage_name = if is_alone { &stage.name } else { &stage.id };
            // Of stages of one name the stars of a pattern stand for the same.
            let caption = if is_alone && caption != stage.name { &caption } else { stage_name };
            for ((op_at, op), label) in stage.operations.iter().enumerate().zip(labels_of(stage)) {
                if op.result.ok + op.failures.unwrap_or(0) > 0 {
                    let (stage_name, caption, stem) = (stage_name.clone(), caption.clone(), stem.to_owned());
                    let own = Pick {
                        run,
                        run_at,
                        stage,
                        stage_at,
                        op,
                        op_at,
                        label,
                        stage_name,
                        caption,
                        stem,
                        round,
                    };
                    all.push(own);
                }
            }
        }
    }
    if all.is_empty() {
        return Err(PlotError::Nothing(why_none(runs, options)));
    }
    if options.operations.is_empty() {
        // A run that only prepares is drawn too.
        if all.iter().any(|pick| pick.op.is_main()) {
            all.retain(|pick| pick.op.is_main());
        }
    } else {
        let mut known: Vec<String> = all.iter().map(|pick| pick.label.clone()).collect();
        all.retain(|pick| {
            let op = pick.op;
            options.operations.iter().any(|wish| [&pick.label, &op.label, &op.name, &op.op].contains(&wish))
        });
        if all.is_empty() {
            known.sort();
            known.dedup();
            let (asked, known) = (options.operations.join(", "), known.join(", "));
            return Err(PlotError::Nothing(format!("no operation {asked}; there are {known}")));
        }
    }
    Ok(all)
}

/// Why no kind has anything to show: no operation is meant.
pub fn why_nothing(runs: &[PlotRun], options: &Wishes) -> String {
    match picks(runs, options) {
        Err(PlotError::Nothing(why)) => why,
        _ => why_none(runs, options),
    }
}

/// Why no stage has an operation with results: there is none of the name, or it measured nothing.
fn why_none(runs: &[PlotRun], options: &Wishes) -> String {
    let stages = || runs.iter().flat_map(|run| &run.stages);
    if stages().any(|stage| caption_of(stage, options).is_some()) {
        return "no operation of these stages has results".to_owned();
    }
    let known = distinct(stages().map(|stage| stage.name.as_str()));
    if known.is_empty() {
        return "these runs have no stages".to_owned();
    }
    let more = known.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let shown = known.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", ");
    format!("no stage {}; there are {shown}{more}", options.stages.join(", "))
}

/// Names of the stages without rounds, and rounds.
fn rounds_of(run: &PlotRun) -> Vec<(&str, Option<u32>)> {
    let does = |stage: &PlotStage| -> Option<Vec<(String, String, Option<u64>)>> {
        let each = stage.operations.iter();
        let own = each.map(|op| (format!("{} {}", op.work, op.name), op.op.clone(), op.workers));
        Some(own.collect()).filter(|all: &Vec<_>| !all.is_empty())
    };
    let own: Vec<_> = run.stages.iter().map(|stage| (stage.name.as_str(), does(stage))).collect();
    rounds::of(&own)
}

fn caption_of(stage: &PlotStage, options: &Wishes) -> Option<String> {
    if options.stages.is_empty() {
        return Some(stage.name.clone());
    }
    options.stages.iter().find_map(|pattern| {
        let found = stars(pattern, &stage.name).or_else(|| stars(pattern, &stage.id))?;
        let joined = found.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        Some(if joined.is_empty() { stage.name.clone() } else { joined })
    })
}

/// Values in the order in which they first occur.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Names of the operations, in order.
fn labels<'p>(picks: &'p [Pick<'_>]) -> Vec<&'p str> {
    distinct(picks.iter().map(|pick| pick.label.as_str()))
}

/// How often each value occurs.
fn counts<T: Ord>(values: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::<T, usize>::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

/// What the operations of a stage are called, each by a name of its own: two works may read, and are not repetitions.
fn labels_of(stage: &PlotStage) -> Vec<String> {
    let label = |op: &PlotOperation| op.label.clone();
    let with_work = |op: &PlotOperation| format!("{} of {}", op.label, op.work);
    let alike = counts(stage.operations.iter().map(label));
    let alike_in_work = counts(stage.operations.iter().map(with_work));
    let name = |(at, op): (usize, &PlotOperation)| {
        if alike.get(&op.label) == Some(&1) {
            return label(op);
        }
        let whole = with_work(op);
        if alike_in_work.get(&whole) == Some(&1) { whole } else { format!("{} {}", op.label, at + 1) }
    };
    stage.operations.iter().enumerate().map(name).collect()
}

/// The metrics that were asked for, or else these.
fn metrics(options: &Wishes, or_else: &[&str]) -> Vec<&'static Metric> {
    if options.metrics.is_empty() {
        or_else.iter().filter_map(|name| named(name)).collect()
    } else {
        options.metrics.clone()
    }
}

/// Run and stage, as short as they tell the picks apart.
fn name_of(pick: &Pick<'_>, picks: &[Pick<'_>]) -> String {
    let runs = distinct(picks.iter().map(|pick| pick.run_at)).len();
    let stages = distinct(picks.iter().map(|pick| pick.caption.as_str())).len();
    match (runs > 1, stages > 1) {
        (true, false) => pick.run.label.clone(),
        (false, _) => pick.caption.clone(),
        (true, true) => format!("{}: {}", pick.run.label, pick.caption),
    }
}

fn title(options: &Wishes, text: String) -> String {
    if options.no_title { String::new() } else { options.title.clone().unwrap_or(text) }
}

/// What a reader has to know of these operations: failures, and how coarse COSBench's times are.
fn note(picks: &[Pick<'_>], times: bool) -> String {
    let mut parts = Vec::new();
    let failed = |pick: &&Pick<'_>| pick.op.result.success_ratio.is_some_and(|ratio| ratio < 1.0);
    let failing: Vec<String> = picks
        .iter()
        .filter(failed)
        .map(|pick| {
            let share = rounded_share(1.0 - pick.op.result.success_ratio.unwrap_or(1.0));
            format!("{} {} {share}", name_of(pick, picks), pick.label)
        })
        .collect();
    if !failing.is_empty() {
        let more = failing.len().saturating_sub(4);
        let shown = failing.into_iter().take(4).collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        parts.push(format!("Failed operations: {shown}{more}."));
    }
    if times && picks.iter().any(|pick| pick.run.is_cosbench()) {
        parts.push("COSBench's archives hold response times in steps of 10 ms.".to_owned());
    }
    parts.join(" ")
}

/// The name of the first trial of its load, for one that a search makes again (`main-w8-confirm1`, `main-rate50-2`); every other
/// name as it is.
fn first_trial(name: &str) -> &str {
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(|number| number > 0.0);
    let is_trial = |trial: &str| {
        let load = trial.rsplit_once('-').map(|(_, load)| load);
        load.and_then(|load| load.strip_prefix('w').or_else(|| load.strip_prefix("rate")))
            .is_some_and(is_number)
    };
    let is_again = |suffix: &str| {
        let word = suffix.trim_end_matches(|c: char| c.is_ascii_digit());
        suffix == "above" || (word != suffix && ["", "again", "repeat", "confirm"].contains(&word))
    };
    name.rsplit_once('-')
        .filter(|(trial, suffix)| is_trial(trial) && is_again(suffix))
        .map_or(name, |(trial, _)| trial)
}

/// The workload that a stage of a matrix belongs to: its name without the number of workers, which stands at its end or is the
/// value of an axis (`main-workers8-size64`). A trial that a search makes again belongs to the first one of its load, the rounds of
/// a stage belong together.
fn group_of(pick: &Pick<'_>) -> String {
    let name = pick.stem.as_str();
    let without_workers = |name: &str| {
        let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name.get(without.len()..).and_then(|digits| digits.parse::<u64>().ok());
        let is_number = number.is_some() && number == pick.op.workers && !without.is_empty();
        is_number.then(|| without.trim_end_matches(['_', '-', ' ', '.']).to_owned())
    };
    let among_axes = || {
        let axis = format!("-workers{}-", pick.op.workers?);
        name.split_once(&axis).map(|(before, behind)| format!("{before}-{behind}"))
    };
    // The axis first: a size may be the same number as the workers.
    among_axes().or_else(|| without_workers(first_trial(name))).unwrap_or_else(|| name.to_owned())
}
