//! Rows of a comparison: which operations belong together, and the test of each metric.

use std::collections::BTreeSet;

use cosmark_metrics::results::{Metric, Statistic};
use cosmark_stats::bootstrap::{Estimate, mean, median};
use cosmark_stats::difference::{longer_by, of_logarithms};
use cosmark_stats::rank::{least_p, mann_whitney};
use cosmark_stats::settle::share;
use cosmark_stats::special::normal_cdf;
use cosmark_stats::steady::mser5_cut;

use super::barrier::barrier;
use super::bounds::{Ends, Room};
use super::estimates::{of_batches, of_intervals};
use super::load::{Loaded, LoadedOperation};
use super::{Options, Outcome, Row, Within, compared, unit};

const SEED: u64 = 0xc0_5a;
/// Shorter runs than this are never recommended.
const SHORTEST_S: f64 = 30.0;

/// What one pair of sides gives before the size of the family is known.
pub struct Drafts {
    pub rows: Vec<Draft>,
    pub warnings: Vec<String>,
    /// Operations that measure something and that only one side has.
    pub unmatched: Vec<String>,
}

/// A row without its verdict.
pub struct Draft {
    row: Row,
    data: Data,
    room: Room,
}

enum Data {
    /// Nothing to test with.
    None,
    /// Logarithms with their errors, and the seconds of the longer window.
    Single(Estimate, Estimate, f64),
    /// Logarithms of one value per run.
    Runs(Vec<f64>, Vec<f64>),
    /// Failures and all that ended, as many as they are worth.
    Counts([f64; 2], [f64; 2]),
}

impl Draft {
    pub fn can_be_tested(&self) -> bool {
        !matches!(self.data, Data::None)
    }

    /// Gives the verdict at this chance of a false one.
    pub fn finish(self, alpha: f64, options: &Options) -> Row {
        let (mut row, room) = (self.row, self.room);
        match self.data {
            Data::None => {}
            Data::Single(a, b, window_s) => single(&mut row, (a, b, &room), window_s, alpha, options),
            Data::Runs(a, b) => runs(&mut row, (&a, &b, &room), alpha, options),
            Data::Counts(a, b) => counts(&mut row, a, b, alpha),
        }
        let beyond = |change: f64, ratio: f64| {
            if change > 0.0 { ratio > 1.0 + change } else { ratio < 1.0 + change }
        };
        let shown = matches!(row.outcome, Outcome::Better | Outcome::Worse);
        row.fails = shown
            && options
                .fail_on
                .iter()
                .any(|fail| fail.metric == row.metric && row.ratio.is_some_and(|r| beyond(fail.change, r)));
        row
    }
}

/// Data that would not show so great a difference show nothing.
const HIDING: f64 = 1.0;

fn verdict(row: &Row, ends: Ends, least: f64) -> Outcome {
    let is_more = ends.low.is_some_and(|low| low > 1.0 + least);
    let is_less = ends.high.is_some_and(|high| high < 1.0 / (1.0 + least));
    match (is_more, is_less, row.metric.more_is_better()) {
        (true, _, true) | (_, true, false) => Outcome::Better,
        (true, _, false) | (_, true, true) => Outcome::Worse,
        (false, false, _) => Outcome::NoDifferenceShown,
    }
}

/// The verdict by the interval with the clients' part; where only the clients' part forbids one that the data alone would give, it
/// is said.
fn decide(row: &mut Row, data: Ends, with_clients: Ends, least: f64, room: &Room) {
    (row.low, row.high) = (with_clients.low, with_clients.high);
    row.outcome = verdict(row, with_clients, least);
    if row.outcome != verdict(row, data, least) {
        row.outcome = Outcome::WithinBounds;
        row.note = room.why().map(str::to_owned);
    }
}

fn single(
    row: &mut Row,
    (a, b, room): (Estimate, Estimate, &Room),
    window_s: f64,
    alpha: f64,
    options: &Options,
) {
    let found = of_logarithms(a, b, alpha);
    let (down, up) = room.of_single();
    (row.ratio, row.p) = (Some(found.ratio), Some(found.p));
    let own = (1.0 + options.least) * (1.0 + found.detectable);
    // No length makes the clients' part smaller.
    let part = up.max(1.0 / down);
    let seen = own * part - 1.0;
    row.detectable = seen.is_finite().then_some(seen);
    let wanted = (1.0 + options.effect) / (1.0 + options.least) / part - 1.0;
    if wanted > 0.0 {
        row.recommended_s = Some((window_s * longer_by(&found, wanted)).max(SHORTEST_S));
    }
    let end = |end: f64| Some(end).filter(|end| *end > 0.0 && end.is_finite());
    let data = Ends { low: Some(found.low), high: Some(found.high) };
    decide(row, data, Ends { low: end(found.low * down), high: end(found.high * up) }, options.least, room);
    if row.outcome == Outcome::NoDifferenceShown && seen > HIDING {
        row.outcome = if own - 1.0 > HIDING { Outcome::TooShort } else { Outcome::WithinBounds };
        if row.outcome == Outcome::WithinBounds {
            row.note = room.why().map(str::to_owned);
        }
    }
}

fn runs(row: &mut Row, (a, b, room): (&[f64], &[f64], &Room), alpha: f64, options: &Options) {
    let least = least_p(a.len(), b.len());
    let Some(found) = mann_whitney(a, b, alpha) else { return };
    row.ratio = Some(found.shift.exp());
    let data = Ends { low: found.low.map(f64::exp), high: found.high.map(f64::exp) };
    (row.low, row.high) = (data.low, data.high);
    (row.p, row.delta) = (Some(found.p), Some(found.delta));
    if least > alpha {
        row.outcome = Outcome::NotTested;
        let needed = cosmark_stats::rank::runs_needed(alpha);
        row.note = Some(format!(
            "{} and {} runs can never show a difference among so many rows: {needed} on each side can",
            a.len(),
            b.len()
        ));
        return;
    }
    if data.low.is_none() || data.high.is_none() {
        row.outcome = Outcome::NotTested;
        return;
    }
    decide(row, data, room.of_runs(alpha), options.least, room);
    let hides = |end: Option<f64>| end.is_none_or(|end| end.max(1.0 / end) > 1.0 + HIDING);
    if row.outcome == Outcome::NoDifferenceShown && (hides(data.low) || hides(data.high)) {
        row.outcome = Outcome::TooShort;
    }
}

/// Two shares of failures, pooled score test. Failures come in batches, so each side counts only as many operations as are
/// independent of each other.
fn counts(row: &mut Row, [ka, na]: [f64; 2], [kb, nb]: [f64; 2], alpha: f64) {
    let pooled = (ka + kb) / (na + nb);
    let error = (pooled * (1.0 - pooled) * (1.0 / na + 1.0 / nb)).sqrt();
    let shift = kb / nb - ka / na;
    let p = if error > 0.0 { 2.0 * normal_cdf(-(shift / error).abs()) } else { 1.0 };
    row.p = Some(p);
    row.ratio = (ka > 0.0).then(|| (kb / nb) / (ka / na));
    // A handful of failures is no rate.
    row.outcome = match (p <= alpha && ka + kb >= 10.0, shift > 0.0) {
        (false, _) => Outcome::NoDifferenceShown,
        (true, true) => Outcome::Worse,
        (true, false) => Outcome::Better,
    };
}

/// Rows of all operations that both sides have.
pub fn drafts(a: &[Loaded], b: &[Loaded]) -> Drafts {
    let mut warnings = warnings(a, b);
    let mut rows = Vec::new();
    let mut unmatched = Vec::new();
    let (mut seen, mut done) = (BTreeSet::new(), BTreeSet::new());
    // Repetitions may have other stages and operations than the first of them.
    for stage in a.iter().flat_map(|run| &run.stages) {
        if seen.insert(stage.name.as_str()) {
            warnings.extend(unlike_clients(&stage.name, a, b));
        }
        for operation in &stage.operations {
            if !has_figures(operation) || !done.insert((stage.name.clone(), operation.name.clone())) {
                continue;
            }
            let of = |side: &[Loaded]| -> Vec<LoadedOperation> {
                side.iter().flat_map(|run| find(run, &stage.name, &operation.name).cloned()).collect()
            };
            let (of_a, of_b) = (of(a), of(b));
            let is_setup = SETUP.contains(&operation.op.as_str());
            if of_b.is_empty() {
                let text = format!("{} {}: only on the first side", stage.name, operation.name);
                unmatched.extend((!is_setup).then(|| text.clone()));
                warnings.push(text);
                continue;
            }
            let barrier = barrier(&of_a, &of_b);
            if let Some(text) = &barrier {
                warnings.push(format!("{} {}: {text}", stage.name, operation.name));
            }
            for (side, runs, of) in [("first", a, &of_a), ("second", b, &of_b)] {
                warnings.extend(not_in_all(&stage.name, &operation.name, side, runs));
                let drifts = of.iter().find_map(start_up);
                warnings.extend(
                    drifts.map(|text| format!("{} {}, {side} side: {text}", stage.name, operation.name)),
                );
            }
            for metric in compared() {
                let draft = draft(&stage.name, &operation.name, metric, (&of_a, &of_b), barrier.as_deref());
                rows.extend(draft.map(|draft| Draft { row: Row { setup: is_setup, ..draft.row }, ..draft }));
            }
        }
    }
    if rows.is_empty() {
        warnings.push("no stage and operation of the same name on both sides: nothing to compare".to_owned());
    }
    for (stage, operation) in only_on_the_second(a, b) {
        let text = format!("{stage} {operation}: only on the second side");
        warnings.push(text.clone());
        unmatched.push(text);
    }
    Drafts { rows, warnings, unmatched }
}

/// What prepares a measurement and clears up after it.
const SETUP: [&str; 5] = ["init", "prepare", "mprepare", "cleanup", "dispose"];

/// What is told of an operation that some runs of a side lack.
fn not_in_all(stage: &str, operation: &str, side: &str, runs: &[Loaded]) -> Option<String> {
    let (all, has) =
        (runs.len(), runs.iter().filter(|run| find(run, stage, operation).next().is_some()).count());
    (has < all).then(|| format!("{stage} {operation}: only in {has} of {all} runs of the {side} side"))
}

/// Containers are made once; there is nothing to compare.
pub fn has_figures(operation: &LoadedOperation) -> bool {
    !matches!(operation.op.as_str(), "init" | "dispose")
}

/// Operations that measure something and that no run of the first side has.
fn only_on_the_second(a: &[Loaded], b: &[Loaded]) -> BTreeSet<(String, String)> {
    let stages = b.iter().flat_map(|run| &run.stages);
    let all = stages.flat_map(|stage| stage.operations.iter().map(move |operation| (stage, operation)));
    let own = all.filter(|(_, operation)| !SETUP.contains(&operation.op.as_str()));
    let only = own.filter(|(stage, operation)| {
        a.iter().all(|run| find(run, &stage.name, &operation.name).next().is_none())
    });
    only.map(|(stage, operation)| (stage.name.clone(), operation.name.clone())).collect()
}

/// Clients that waited for a processor for shares of the time that differ by more than this were not the same client.
const UNLIKE: f64 = 0.05;

/// What is told when one client was kept from its work for more of the time than the other.
fn unlike_clients(stage: &str, a: &[Loaded], b: &[Loaded]) -> Option<String> {
    let waits = |side: &[Loaded]| {
        let stages = side.iter().flat_map(|run| &run.stages).filter(|one| one.name == stage);
        median(&stages.filter_map(|one| one.waits).collect::<Vec<_>>())
    };
    let (first, second) = (waits(a)?, waits(b)?);
    ((first - second).abs() > UNLIKE).then(|| {
        format!(
            "{stage}: the client waited for a processor {:.0} % of the time on the first side and {:.0} % on the second: a \
             difference may be its own",
            first * 100.0,
            second * 100.0
        )
    })
}

/// One per round of a repeated stage.
pub fn find<'r>(run: &'r Loaded, stage: &str, operation: &str) -> impl Iterator<Item = &'r LoadedOperation> {
    let stages = run.stages.iter().filter(move |one| one.name == stage);
    stages.filter_map(move |stage| stage.operations.iter().find(|one| one.name == operation))
}

/// A start-up inside the window (MSER-5) that is this far from the rest is told.
const START_UP: f64 = 0.05;

/// What the first part of a window is off by, if it is.
#[expect(clippy::cast_precision_loss, reason = "counts and times need no more than 53 bits")]
fn start_up(op: &LoadedOperation) -> Option<String> {
    let batches = op.batches.as_ref()?;
    let counts: Vec<f64> = batches.batches().iter().map(|batch| batch.ok as f64).collect();
    let cut = mser5_cut(&counts);
    let (first, rest) = counts.split_at_checked(cut).filter(|(first, _)| !first.is_empty())?;
    if mean(rest) <= 0.0 {
        return None;
    }
    let off = mean(first) / mean(rest) - 1.0;
    let seconds = cut as f64 * batches.width_ns() as f64 / 1e9;
    let word = if off > 0.0 { "above" } else { "below" };
    (off.abs() > START_UP).then(|| {
        format!(
            "the first {seconds:.0} s drift, throughput is {:.0} % {word} the rest there: a longer rampup keeps that out",
            off.abs() * 100.0
        )
    })
}

/// Runs that stand on both sides of a comparison.
fn same_runs(a: &[Loaded], b: &[Loaded]) -> Vec<String> {
    let is_same =
        |one: &Loaded, other: &Loaded| one.place == other.place && !one.place.as_os_str().is_empty();
    let mut said: Vec<String> = a
        .iter()
        .filter(|one| b.iter().any(|other| is_same(one, other)))
        .map(|one| format!("{} stands on both sides: a run does not differ from itself", one.label))
        .collect();
    said.sort();
    said.dedup();
    said
}

/// What makes two sides hard to compare as a whole.
fn warnings(a: &[Loaded], b: &[Loaded]) -> Vec<String> {
    let set = |of: fn(&Loaded) -> &str| -> BTreeSet<String> {
        a.iter().chain(b).map(|run| of(run).to_owned()).filter(|text| !text.is_empty()).collect()
    };
    let mut warnings = Vec::new();
    for (what, values) in
        [("workloads", set(|run| &run.workload)), ("machines that made the load", set(|run| &run.host))]
    {
        if values.len() > 1 {
            let list = values.into_iter().collect::<Vec<_>>().join(", ");
            warnings.push(format!("different {what}: {list}"));
        }
    }
    warnings.extend(same_runs(a, b));
    let ended = |run: &&Loaded| !run.state.is_empty() && run.state != "finished";
    for run in a.iter().chain(b).filter(ended) {
        warnings.push(format!("{} is {}", run.label, run.state));
    }
    for run in a.iter().chain(b) {
        let why = run.refuted.as_ref();
        warnings.extend(why.map(|why| format!("the verdict on {} is FALSE: {why}", run.label)));
    }
    let repeated = |side: &[Loaded]| {
        side.iter().any(|run| {
            let names: BTreeSet<&str> = run.stages.iter().map(|stage| stage.name.as_str()).collect();
            names.len() < run.stages.len()
        })
    };
    if a.len() == 1 && b.len() == 1 && !(repeated(a) && repeated(b)) {
        warnings.push(
            "one run on each side: what differs from run to run for no reason cannot be told apart; repeat both \
             (A1,A2,.. B1,B2,..) before you believe a small difference"
                .to_owned(),
        );
    }
    warnings
}

type Sides<'s> = (&'s [LoadedOperation], &'s [LoadedOperation]);

fn draft(
    stage: &str,
    operation: &str,
    metric: &'static Metric,
    (a, b): Sides<'_>,
    barrier: Option<&str>,
) -> Option<Draft> {
    let values =
        |side: &[LoadedOperation]| -> Vec<f64> { side.iter().filter_map(|op| value(op, metric)).collect() };
    let (of_a, of_b) = (values(a), values(b));
    let are_beyond = is_beyond(a, metric) || is_beyond(b, metric);
    if of_a.is_empty() && of_b.is_empty() && !are_beyond {
        return None;
    }
    let middle =
        |side: &[LoadedOperation], of: &[f64]| if is_beyond(side, metric) { None } else { median(of) };
    let (middle_a, middle_b) = (middle(a, &of_a), middle(b, &of_b));
    let mut row = Row {
        stage: stage.to_owned(),
        operation: operation.to_owned(),
        metric,
        unit: unit(metric),
        a: middle_a,
        b: middle_b,
        a_bounds: within(a, metric),
        b_bounds: within(b, metric),
        ratio: middle_a.zip(middle_b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
        low: None,
        high: None,
        p: None,
        delta: None,
        detectable: None,
        recommended_s: None,
        outcome: Outcome::NotTested,
        note: barrier.map(str::to_owned),
        fails: false,
        untested: false,
        setup: false,
    };
    let room = Room::of(a, b, metric);
    row.note = row.note.or_else(|| are_beyond.then(|| BEYOND.to_owned()));
    if row.note.is_some() {
        return Some(Draft { row, data: Data::None, room });
    }
    if let Some(note) = dead_runs(metric, &of_a, &of_b) {
        row.note = Some(note);
        return Some(Draft { row, data: Data::None, room });
    }
    let data = match (a, b) {
        _ if metric.statistic == Statistic::Failures => failures(a, b),
        ([a], [b]) => single_data(a, b, metric),
        _ => {
            let logs =
                |values: &[f64]| values.iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect::<Vec<_>>();
            let (a, b) = (logs(&of_a), logs(&of_b));
            if a.is_empty() || b.is_empty() { None } else { Some(Data::Runs(a, b)) }
        }
    };
    if data.is_none() {
        let alone = metric.statistic == Statistic::Value;
        let why = if alone {
            "one value of each run: repeat both"
        } else {
            "too few intervals or operations for a test"
        };
        row.note = Some(why.to_owned());
    }
    Some(Draft { row, data: data.unwrap_or(Data::None), room })
}

/// A run that delivered nothing is no value to leave out: the others would speak for it. `None` where each did something, or none.
fn dead_runs(metric: &Metric, of_a: &[f64], of_b: &[f64]) -> Option<String> {
    let dead = |values: &[f64]| values.iter().filter(|value| **value <= 0.0).count();
    let (dead_a, dead_b, all) = (dead(of_a), dead(of_b), of_a.len() + of_b.len());
    let some = dead_a + dead_b > 0 && dead_a + dead_b < all;
    (matches!(metric.statistic, Statistic::Rate(_)) && all > 2 && some).then(|| {
        format!(
            "{dead_a} of {} runs on the first side and {dead_b} of {} on the second delivered nothing: look at these first",
            of_a.len(),
            of_b.len()
        )
    })
}

/// What was published of the only run of a side.
fn within(side: &[LoadedOperation], metric: &Metric) -> Option<Within> {
    let [one] = side else { return None };
    let bound = one.published.bounds.get(metric.id)?;
    Some(Within { low: bound.low, high: bound.high })
}

/// As published, or null where the data do not support it.
pub fn value(op: &LoadedOperation, metric: &Metric) -> Option<f64> {
    if metric.statistic == Statistic::Failures {
        let failures = op.failures?;
        let total = failures + op.published.ok;
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        return (total > 0).then(|| failures as f64 / total as f64);
    }
    metric.of(&op.published).filter(|value| value.is_finite())
}

/// COSBench has no figure for a percentile beyond its last bucket, nor for a rate over no time.
fn is_beyond(side: &[LoadedOperation], metric: &Metric) -> bool {
    side.iter().any(|op| metric.of(&op.published).is_some_and(f64::is_infinite))
}

const BEYOND: &str = "COSBench has no figure here: a percentile above 500 s, or a rate over no time";

fn failures(a: &[LoadedOperation], b: &[LoadedOperation]) -> Option<Data> {
    #[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
    let sum = |side: &[LoadedOperation]| -> Option<[f64; 2]> {
        let failed: u64 = side.iter().map(|op| op.failures).sum::<Option<u64>>()?;
        let total = failed + side.iter().map(|op| op.published.ok).sum::<u64>();
        (total > 0).then_some([failed as f64, total as f64])
    };
    let (sums_a, sums_b) = (sum(a)?, sum(b)?);
    // A side without any failure cannot say how they would come: as on the other.
    let (of_a, of_b) = (clustering(a), clustering(b));
    let (of_a, of_b) = (of_a.or(of_b).unwrap_or(1.0), of_b.or(of_a).unwrap_or(1.0));
    Some(Data::Counts(sums_a.map(|n| n / of_a), sums_b.map(|n| n / of_b)))
}

/// How many operations one independent one stands for, as far as failures are concerned: 1 where they come one by one, more
/// where they come in batches. `None` where nothing failed or nothing is known over time.
#[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
fn clustering(side: &[LoadedOperation]) -> Option<f64> {
    let over_time = || side.iter().flat_map(|op| &op.ended);
    let total: Vec<u64> = over_time().map(|(ended, _)| *ended).collect();
    let failed: Vec<u64> = over_time().map(|(_, failed)| *failed).collect();
    if failed.iter().sum::<u64>() == 0 {
        return None;
    }
    let found = share(&total, &failed, 0.95, SEED)?;
    Some((total.iter().sum::<u64>() as f64 / found.effective).max(1.0))
}

fn single_data(a: &LoadedOperation, b: &LoadedOperation, metric: &Metric) -> Option<Data> {
    let window_s = a.window_s.into_iter().chain(b.window_s).reduce(f64::max);
    let of = |op: &LoadedOperation, seed: u64| match &op.batches {
        Some(batches) => of_batches(op, batches, metric, seed),
        None => of_intervals(&op.intervals, metric, seed),
    };
    let (of_a, of_b) = (of(a, SEED)?, of(b, SEED + 1)?);
    // Timelines of COSBench have intervals of any length: what they say has no unit.
    let shown = value(a, metric).zip(value(b, metric)).filter(|(a, b)| *a > 0.0 && *b > 0.0);
    let (of_a, of_b) = match shown {
        Some((shown_a, shown_b)) => (as_shown(a, of_a, shown_a), as_shown(b, of_b, shown_b)),
        None => (of_a, of_b),
    };
    // COSBench's default interval: it does not say how long its windows were.
    #[expect(clippy::cast_precision_loss, reason = "a number of intervals")]
    let guessed = 5.0 * a.intervals.len().max(b.intervals.len()) as f64;
    Some(Data::Single(of_a, of_b, window_s.unwrap_or(guessed)))
}

/// Resolution of the times: three significant digits.
const RESOLUTION: f64 = 1e-3;

/// A ratio is that of the figures that are shown. Batches lack what is no whole one at an end of the window: by how much a figure
/// is another one because of that is as far as it may be off, too.
fn as_shown(op: &LoadedOperation, found: Estimate, shown: f64) -> Estimate {
    let value = shown.ln();
    let moved = if op.batches.is_some() { ((value - found.value).abs() - RESOLUTION).max(0.0) } else { 0.0 };
    Estimate { value, error: found.error.hypot(moved), ..found }
}
