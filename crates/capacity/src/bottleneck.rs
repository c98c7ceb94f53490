//! The sentence that names what limits a store, or says honestly that nothing that was looked at does. A unit is named only
//! when its ceiling, predicted from the steps below 60 % of the plateau, is the least and meets the plateau, when it was
//! full there or its queue took up all that was added, and when neither the client nor refusals were the limit.
//!
//! In a closed network another unit is busy by the share of its demand in that of the bottleneck. So a unit that is full but
//! for 3 % either is the bottleneck or would be it 3 % later; one that is less busy needs a queue that goes on growing.
//!
//! Sources: Denning and Buzen (1978) for the laws; B. Gregg, Thinking Methodically about Performance (ACM Queue 10, 2012)
//! for utilisation and saturation of each resource.

mod batching;
mod cheaper;
mod cores;
mod creeping;
mod in_turn;
mod queued;

pub use cosmark_metrics::nodes::skew::Skew;
use cosmark_metrics::nodes::skew::{self, Peer};

use crate::ceiling::{self, Predicted};
use crate::demand::{Demand, of_unit};
use crate::ladder::{FULL, Kind, LEVEL, Ladder, Step, Unit, lacks_workers, level, plateau};
use crate::number::real;
use crate::regression::quantile;
use crate::saturation::{LEAST_THROTTLED, Waits, stopped, waits};

/// The ceiling is predicted from steps up to this share of the plateau.
pub const PREDICTED_FROM: f64 = 0.6;
/// A ceiling meets the plateau within this share.
pub const MEETS: f64 = 0.10;
/// A unit that is less busy than this at the plateau does not limit it.
pub const BUSY: f64 = 0.9;
/// A thread that never sleeps may wait for its processor for the rest of the time, beside others that need it now and then.
const READY: f64 = 0.8;
/// Where more of the operations fail, the throughput of those that succeed says nothing of resources.
pub const FAILED: f64 = 0.02;
/// A machine of which the client itself uses more than this is no machine of the store's alone.
pub const SHARED: f64 = 0.1;
/// Of what a unit is busy with at the plateau, operations have to account for this share.
pub const OWN: f64 = 0.5;
/// Where no unit is busier than this, something that is no resource limits the store.
pub const IDLE: f64 = 0.70;
/// Another unit that is full, and whose ceiling lies within this share of the plateau, may be what limits it as well: steps with
/// noise predict no better.
const AS_NEAR: f64 = 0.25;
/// A ceiling of which the steps let more than so many times the plateau be true, or less than one part of so many, meets it by
/// chance.
const LOOSE: f64 = 1.5;

/// What is known of one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its place in the ladder's units.
    pub unit: usize,
    /// What one operation costs it, by the steps below [`PREDICTED_FROM`].
    pub demand: Demand,
    /// Share of the time it was busy at the plateau; `None` where that was not measured.
    pub busy_at_plateau: Option<f64>,
    /// Of that, what the client itself did on the same machine.
    pub by_client: f64,
    /// Whether work waits for it.
    pub waits: Waits,
    /// Seconds that an operation costs it at the plateau, where it is full there and an operation costs it more at the low steps:
    /// its ceiling rises with the load, and no straight line through these steps predicts it. Of a disk whose queue takes up what
    /// is added: what it may cost at most, by the plateau.
    pub when_full: Option<f64>,
    /// Of such a unit: the ceiling by laws whose costs fall with the load; `None` where the steps below [`PREDICTED_FROM`] are
    /// too few for one.
    pub predicted: Option<Predicted>,
    /// Why it is not the bottleneck; empty for one that may be.
    pub against: Vec<Against>,
}

impl Candidate {
    /// Operations per second at which it has no time left, by the low steps; by what an operation costs it at the plateau where
    /// that is less.
    #[must_use]
    pub fn ceiling_per_s(&self) -> f64 {
        self.when_full.map_or(self.demand.ceiling_per_s(), |seconds| (1.0 - self.demand.idle) / seconds)
    }

    /// The ceiling that the low steps predict, with its 95 % interval, whatever was seen at the plateau; `None` where they
    /// predict none.
    #[must_use]
    pub fn forecast_per_s(&self) -> Option<(f64, f64, f64)> {
        let (value, low, high) = if self.when_full.is_none() {
            let (low, high) = self.demand.ceiling_interval();
            (self.demand.ceiling_per_s(), low, high)
        } else {
            let found = self.predicted.as_ref()?;
            (found.per_s, found.low, found.high)
        };
        value.is_finite().then_some((value, low, high))
    }

    /// The ceiling to report beside this plateau; `None` where an operation does not need the unit. One of a unit that is named
    /// because it was full, and whose operations cost less there, is a prediction only if it is as near as that of any other
    /// name has to be.
    #[must_use]
    pub fn reported(&self, plateau_per_s: f64) -> Option<Reported> {
        let forecast = self.forecast_per_s();
        let meets = |(per_s, ..): (f64, f64, f64)| (per_s / plateau_per_s - 1.0).abs() <= MEETS;
        if self.when_full.is_some() && !forecast.is_some_and(meets) {
            return Some(Reported::WhenFull(self.ceiling_per_s()));
        }
        forecast.map(|(per_s, low, high)| Reported::Predicted(per_s, low, high))
    }
}

/// A ceiling as it is reported, operations per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reported {
    /// What the low steps predict, and its 95 % interval.
    Predicted(f64, f64, f64),
    /// By what an operation costs the unit where it is full, which the low steps did not predict.
    WhenFull(f64),
}

/// What speaks against a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Its ceiling lies away from the plateau.
    CeilingElsewhere,
    /// It had time left at the plateau.
    NotBusy,
    /// How busy it was at the plateau was not measured.
    NotMeasured,
    /// It had a little time left at the plateau, and no queue that grows shows that it is the limit all the same.
    NotFull,
    /// Nothing waited for it while operations took longer.
    NothingWaits,
    /// An operation costs it more or less at other loads: nothing can be predicted.
    DemandChanges,
    /// Most of what it was busy with is there without any operation.
    BusyAnyway,
    /// One of several processors that are nearly as busy: work goes to whichever has time, so that all of them are full or none.
    SharesWork,
}

/// How sure the name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// What waits for it was not measured.
    Low,
    /// Another unit's ceiling lies within a quarter above, another's was exceeded although its demand says that it cannot be,
    /// one step alone is the ground of the prediction, its interval reaches far beyond the plateau, or no straight line predicts
    /// the ceiling because operations cost less while it is full.
    Medium,
    /// All conditions hold, and the next ceiling is far.
    High,
}

/// What limits the store.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// These units, alike in kind and role, or all of one machine's CPU: the most loaded first.
    Named {
        /// The units, by their place in the ladder.
        units: Vec<usize>,
        /// How sure.
        confidence: Confidence,
    },
    /// Several kinds of unit are full at the same rate; which of them comes first is not known.
    Several(Vec<usize>),
    /// The client's own checks failed where throughput was level: nothing is known of the store.
    Client,
    /// This unit is full, and the client, on the same machine, itself took this share of it: what the store could do alone is
    /// not known.
    Shared(usize, f64),
    /// This share of the operations failed, or had to be repeated, where throughput was level: the store refuses, or breaks.
    Refused(f64),
    /// No unit that was looked at is busy. By Little's law so many operations were under way inside, each as long as alone: a
    /// whole number is the sign of as many workers, any other of a rate, a link or a lock.
    Limit(f64),
    /// Units are busy, and none of them explains the plateau.
    Unexplained,
    /// Throughput still grew with the last step, by this share.
    NotReached(f64),
    /// No step, or one and no look at the idle machines, below [`PREDICTED_FROM`]: the ceiling cannot be predicted.
    TooFewSteps,
    /// No unit was measured.
    NothingMeasured,
}

/// What a ladder says.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The answer.
    pub answer: Answer,
    /// Operations per second where more load adds nothing.
    pub plateau_per_s: Option<f64>,
    /// All units whose demand is known, the lowest ceiling first.
    pub candidates: Vec<Candidate>,
    /// Units that are much busier than their peers.
    pub skewed: Vec<Skew>,
    /// Share of the time that the busiest of all measured units was busy at the plateau, in the middle of its steps; `None`
    /// where none was measured.
    pub busiest_at_plateau: Option<f64>,
    /// Units that may have been full at the plateau: how busy they were there was not measured.
    pub unmeasured: Vec<usize>,
    /// By which share throughput still grew with the last step, where the named unit was full long before.
    pub still_grew: Option<f64>,
}

impl Diagnosis {
    /// The next limit once the named units are widened: the lowest ceiling of another kind.
    #[must_use]
    pub fn second(&self) -> Option<&Candidate> {
        let named: &[usize] = match &self.answer {
            Answer::Named { units, .. } | Answer::Several(units) => units,
            _ => &[],
        };
        self.candidates
            .iter()
            .find(|one| !named.contains(&one.unit) && one.demand.ceiling_per_s().is_finite())
    }
}

/// Looks for what limits the store.
#[must_use]
pub fn diagnose(ladder: &Ladder) -> Diagnosis {
    let all = ladder.sorted();
    let skewed = skewed(ladder, &all);
    let nothing = |answer| Diagnosis {
        answer,
        plateau_per_s: None,
        candidates: Vec::new(),
        skewed: skewed.clone(),
        busiest_at_plateau: None,
        unmeasured: Vec::new(),
        still_grew: None,
    };
    // Steps at which the client was full say nothing; the others may suffice.
    let steps: Vec<&Step> = all.iter().filter(|step| step.client_clear).copied().collect();
    let unreached = || {
        if let Some(found) = batching::named(ladder, &all, &steps) {
            return Diagnosis { skewed: skewed.clone(), ..found };
        }
        match steps.len() < all.len() && !grows_beside_the_client(&all) {
            true => nothing(Answer::Client),
            false => nothing(last_growth(&steps).map_or(Answer::TooFewSteps, Answer::NotReached)),
        }
    };
    let reached = plateau(&steps);
    let full = if reached.is_some() { Vec::new() } else { creeping::full_since_half(ladder, &steps) };
    // What it comes to is no less than the best step then: by a lower one its ceiling would be too easily met.
    let best = steps.iter().map(|step| step.throughput_per_s).reduce(f64::max);
    let reached = reached.or(best.filter(|_| !full.is_empty()));
    let Some(plateau) = reached.filter(|plateau| !is_exceeded(&all, *plateau)) else { return unreached() };
    let level = level(&steps);
    let mut candidates: Vec<Candidate> =
        (0..ladder.units.len()).filter_map(|unit| candidate(ladder, unit, plateau, &steps, &level)).collect();
    candidates.sort_by(|a, b| a.demand.ceiling_per_s().total_cmp(&b.demand.ceiling_per_s()));
    let mut found = Diagnosis {
        answer: Answer::NothingMeasured,
        plateau_per_s: Some(plateau),
        candidates,
        skewed: skewed.clone(),
        busiest_at_plateau: busiest(ladder, &level),
        unmeasured: unmeasured(ladder, &level),
        still_grew: last_growth(&steps).filter(|_| !full.is_empty()),
    };
    found.answer = answer(ladder, &found, plateau, &steps, &level);
    // A unit that is full says itself that more workers would not have helped.
    if matches!(found.answer, Answer::Unexplained | Answer::Limit(_)) && lacks_workers(&steps) {
        found.answer = Answer::NotReached(last_growth(&steps).unwrap_or_default());
    }
    queued::name(ladder, &mut found, plateau, &level);
    if full.is_empty() {
        return by_a_limit(ladder, found, plateau, &all, &steps);
    }
    // Where throughput is not level, nothing else is named than what has been full since half of that load.
    let Answer::Named { units, confidence } = &mut found.answer else { return unreached() };
    let is_sure = |unit: &usize| {
        let own = found.candidates.iter().find(|one| one.unit == *unit);
        full.contains(unit)
            && (own.is_some_and(|one| one.when_full.is_none())
                || creeping::is_level_but_for_the_last(ladder, *unit, &steps))
    };
    if !units.iter().any(is_sure) {
        return unreached();
    }
    *confidence = Confidence::Medium.min(*confidence);
    found
}

/// Where throughput is level and nothing was named: a limit of input and output that ever more operations share, or for which they
/// wait in turn with its device.
fn by_a_limit(ladder: &Ladder, found: Diagnosis, plateau: f64, all: &[&Step], steps: &[&Step]) -> Diagnosis {
    let is_open = matches!(found.answer, Answer::Unexplained | Answer::TooFewSteps);
    let shared = if is_open { batching::named(ladder, all, steps) } else { None };
    if let Some(shared) = shared.filter(|shared| batching::is_counted(ladder, shared)) {
        let skewed = found.skewed;
        return Diagnosis { plateau_per_s: Some(plateau), skewed, still_grew: None, ..shared };
    }
    match found.answer {
        Answer::Unexplained => in_turn::named(ladder, found, plateau, steps),
        _ => found,
    }
}

/// The first of the level steps may still be on its way there.
fn beyond<'a, 'b>(level: &'b [&'a Step]) -> &'b [&'a Step] {
    &level[level.len() / 2..]
}

/// Of each unit the median over the steps at which throughput is level: where it was busier once, by what somebody else did,
/// as much was done at the others without.
fn busiest(ladder: &Ladder, level: &[&Step]) -> Option<f64> {
    let of = |unit: usize| {
        let seen = |steps: &[&Step]| -> Vec<f64> {
            steps.iter().filter_map(|step| step.usage.get(unit)?.busy).collect()
        };
        let last = seen(beyond(level));
        let mut ordered = if last.is_empty() { seen(level) } else { last };
        ordered.sort_by(f64::total_cmp);
        quantile(&ordered, 0.5)
    };
    (0..ladder.units.len()).filter_map(of).reduce(f64::max)
}

/// A group was stopped by its quota in most of its periods at any of the steps beyond the knee; `None` where that was not
/// counted. Of a quota whose use is not known one such step is enough to doubt every other name.
fn is_held_up(unit: usize, level: &[&Step]) -> Option<bool> {
    stopped(unit, beyond(level)).reduce(f64::max).map(|most| most >= LEAST_THROTTLED)
}

fn has_quota_that_stops(ladder: &Ladder, node: &str, level: &[&Step]) -> bool {
    let is_quota = |unit: &Unit| unit.kind == Kind::CpuQuota && unit.node == node;
    let mut quotas = ladder.units.iter().enumerate().filter(|(_, unit)| is_quota(unit));
    quotas.any(|(at, _)| is_held_up(at, level) == Some(true))
}

/// Units of whose use nothing is known at the plateau. A quota that hardly ever stopped its group was not used up, however
/// little else is known of it.
fn unmeasured(ladder: &Ladder, level: &[&Step]) -> Vec<usize> {
    let known = |unit: &usize| {
        let mut usage = beyond(level).iter().filter_map(|step| step.usage.get(*unit));
        usage.any(|usage| usage.busy.is_some())
    };
    let may_be_full =
        |unit: &usize| ladder.units[*unit].kind != Kind::CpuQuota || is_held_up(*unit, level).unwrap_or(true);
    (0..ladder.units.len()).filter(|unit| !known(unit) && may_be_full(unit)).collect()
}

/// A step at which the client was full came to more: the store was not at its limit.
fn is_exceeded(all: &[&Step], plateau: f64) -> bool {
    all.iter().any(|step| !step.client_clear && step.throughput_per_s > plateau * (1.0 + MEETS))
}

/// The client had time left at the two highest loads, and the last came to more: what it was full with before, a pause of its machine,
/// limits nothing there.
fn grows_beside_the_client(all: &[&Step]) -> bool {
    let [.., before, last] = all[..] else { return false };
    let is_clear = before.client_clear && last.client_clear;
    is_clear && last.throughput_per_s > before.throughput_per_s * (1.0 + LEVEL)
}

fn last_growth(steps: &[&Step]) -> Option<f64> {
    let [.., before, last] = steps else { return None };
    Some(last.throughput_per_s / before.throughput_per_s - 1.0)
}

fn candidate(
    ladder: &Ladder,
    unit: usize,
    plateau: f64,
    steps: &[&Step],
    level: &[&Step],
) -> Option<Candidate> {
    let demand = of_unit(ladder, unit, plateau * PREDICTED_FROM)?;
    let mean = |of: fn(&crate::ladder::Usage) -> Option<f64>| {
        let seen: Vec<f64> = beyond(level).iter().filter_map(|step| of(step.usage.get(unit)?)).collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / real(seen.len()))
    };
    let busy_at_plateau = mean(|usage| usage.busy);
    let by_client = mean(|usage| usage.by_client).unwrap_or(0.0);
    let own = &ladder.units[unit];
    let waits = match own.kind {
        // One that its quota stops is as ready, and for another reason.
        Kind::Thread if has_quota_that_stops(ladder, &own.node, level) => Waits::Unknown,
        Kind::Thread => waits(unit, own.kind, steps, beyond(level)),
        kind => waits(unit, kind, steps, level),
    };
    let never_sleeps = own.kind == Kind::Thread && waits == Waits::Rises;
    let mut against = Vec::new();
    if (demand.ceiling_per_s() / plateau - 1.0).abs() > MEETS {
        against.push(Against::CeilingElsewhere);
    }
    match busy_at_plateau {
        None => against.push(Against::NotMeasured),
        Some(busy) if busy < BUSY && !(never_sleeps && busy >= READY) => against.push(Against::NotBusy),
        Some(busy) if busy < FULL && waits != Waits::Grows && !never_sleeps => against.push(Against::NotFull),
        Some(_) => {}
    }
    if waits == Waits::Never {
        against.push(Against::NothingWaits);
    }
    if !demand.constant {
        against.push(Against::DemandChanges);
    }
    if busy_at_plateau.is_some_and(|busy| demand.seconds * plateau < OWN * busy) {
        against.push(Against::BusyAnyway);
    }
    if cores::shares_work(ladder, unit, beyond(level)) {
        against.push(Against::SharesWork);
    }
    let (when_full, predicted) = (None, None);
    let mut found =
        Candidate { unit, demand, busy_at_plateau, by_client, waits, when_full, predicted, against };
    found.when_full = cheaper::at_plateau(own, &found, plateau, steps, beyond(level));
    if found.when_full.is_some() {
        found.against.clear();
        let last = beyond(level);
        let in_flight = last.iter().map(|step| step.in_flight).sum::<f64>() / real(last.len().max(1));
        found.predicted = ceiling::of_unit(ladder, unit, plateau * PREDICTED_FROM, in_flight);
    }
    Some(found)
}

fn answer(ladder: &Ladder, found: &Diagnosis, plateau: f64, steps: &[&Step], level: &[&Step]) -> Answer {
    match queued::without_those_above(ladder, &found.candidates) {
        Some(candidates) => among(ladder, found, &candidates, plateau, steps, level),
        None => among(ladder, found, &found.candidates, plateau, steps, level),
    }
}

/// What limits the store, where it is one of these candidates.
fn among(
    ladder: &Ladder,
    found: &Diagnosis,
    candidates: &[Candidate],
    plateau: f64,
    steps: &[&Step],
    level: &[&Step],
) -> Answer {
    let failed = level.iter().map(|step| step.failed_share).fold(0.0, f64::max);
    if failed > FAILED {
        return Answer::Refused(failed);
    }
    let Some(busiest) = found.busiest_at_plateau else { return Answer::NothingMeasured };
    // A group that its quota stopped most of the time was held up by it, whatever else is full.
    if found.unmeasured.iter().any(|unit| is_held_up(*unit, level) == Some(true)) {
        return Answer::Unexplained;
    }
    if busiest < IDLE {
        if !found.unmeasured.is_empty() {
            return Answer::Unexplained;
        }
        // By Little's law, as many as fit in were under way at the plateau, each as long as at the lowest load.
        return Answer::Limit(plateau * steps.first().map_or(0.0, |step| step.service_s));
    }
    if candidates.is_empty() {
        // What had time left at the plateau needs no prediction to be cleared.
        return if busiest < BUSY { Answer::Unexplained } else { Answer::TooFewSteps };
    }
    let fitting: Vec<&Candidate> = candidates.iter().filter(|one| one.against.is_empty()).collect();
    let Some(least) = fitting.first() else { return Answer::Unexplained };
    let others = || candidates.iter().filter(|one| !family(ladder, one, least));
    // Another one whose queue takes up what is added contradicts the name, whatever its ceiling was predicted to be.
    let is_busy = |one: &Candidate| one.busy_at_plateau.is_some_and(|busy| busy >= BUSY);
    if others().any(|one| one.waits == Waits::Grows && is_busy(one) && !one.against.is_empty()) {
        return Answer::Unexplained;
    }
    let is_predicted = fitting.iter().any(|one| one.when_full.is_none());
    let is_proven = fitting.iter().any(|one| proves_itself(ladder, one, steps, level));
    let rivals = match is_predicted && !is_proven {
        true => rivals(ladder, &fitting, plateau, candidates),
        false => busier(ladder, &fitting, candidates),
    };
    if !rivals.is_empty() || fitting.iter().any(|one| !family(ladder, one, least)) {
        return Answer::Several(fitting.iter().map(|one| one.unit).chain(rivals).collect());
    }
    if let Some(shared) = fitting.iter().find(|one| one.by_client > SHARED) {
        return Answer::Shared(shared.unit, shared.by_client);
    }
    // One whose ceiling was predicted is better known than one that only was full.
    let predicted: Vec<&Candidate> = fitting.iter().filter(|one| one.when_full.is_none()).copied().collect();
    let fitting = if predicted.is_empty() { fitting } else { predicted };
    let Some(least) = fitting.first() else { return Answer::Unexplained };
    if least.when_full.is_some() && cheaper::is_contradicted(ladder, least, plateau, candidates) {
        return Answer::Unexplained;
    }
    let units: Vec<usize> = fitting.iter().map(|one| one.unit).collect();
    let confidence = match fitting.iter().all(|one| one.waits == Waits::Unknown) {
        true => Confidence::Low,
        false if is_open_to_doubt(ladder, least, plateau, others()) => Confidence::Medium,
        false => Confidence::High,
    };
    Answer::Named { units, confidence }
}

/// Another ceiling is near, or this one is not well known. All that is not of its family.
fn is_open_to_doubt<'a>(
    ladder: &Ladder,
    least: &Candidate,
    plateau: f64,
    mut others: impl Iterator<Item = &'a Candidate>,
) -> bool {
    let ceiling = least.ceiling_per_s();
    let near = others.any(|one| {
        // Cores and threads hand their work to each other.
        let is_near = one.demand.ceiling_per_s() < ceiling * 1.25;
        is_near && !matches!(ladder.units[one.unit].kind, Kind::Core | Kind::Thread)
    });
    near || least.demand.steps < 3 || least.when_full.is_some() || is_loose(least, plateau)
}

/// Whether a unit whose ceiling meets the plateau shows itself that it is the limit, whatever else is full: its queue takes up all
/// that is added, its quota stops it in nearly every period where it is used up and in few before, or it is a limit of input and
/// output that is used up while tasks wait.
fn proves_itself(ladder: &Ladder, one: &Candidate, steps: &[&Step], level: &[&Step]) -> bool {
    match ladder.units[one.unit].kind {
        Kind::CpuQuota => cheaper::stops_where_full(one.unit, steps, beyond(level)),
        Kind::IoLimit => one.waits == Waits::Rises,
        _ => one.waits == Waits::Grows,
    }
}

/// Units of other kinds that are full, too, and against which nothing speaks but that their ceilings, by the low steps, lie a
/// little farther from the plateau: by these it is not known which comes first. Without single cores, the first of which are
/// full long before their machine is: but one that is full where the others of its machine are nearly so may be the first sign
/// that the machine is, though that has a little time left yet.
fn rivals(ladder: &Ladder, named: &[&Candidate], plateau: f64, all: &[Candidate]) -> Vec<usize> {
    const BY_PREDICTION: [Against; 2] = [Against::CeilingElsewhere, Against::DemandChanges];
    let is_rival = |one: &&Candidate| {
        let is_full = one.busy_at_plateau.is_some_and(|busy| busy >= FULL);
        let is_as_near = (one.demand.ceiling_per_s() / plateau - 1.0).abs() <= AS_NEAR;
        let speaks_against = !one.against.is_empty();
        let by_prediction = one.against.iter().all(|why| BY_PREDICTION.contains(why));
        let is_alone = by_prediction && ladder.units[one.unit].kind != Kind::Core;
        is_full
            && is_as_near
            && speaks_against
            && (is_alone || one.against == [Against::SharesWork])
            && !named.iter().any(|own| family(ladder, one, own))
    };
    all.iter().filter(is_rival).map(|one| one.unit).collect()
}

/// Units of other kinds that are busier than those that only their queues show, and whose ceilings meet the plateau as well: of two
/// that are nearly as slow both queues grow over a ladder that ends soon, and in a closed network the busier one is the slower.
fn busier(ladder: &Ladder, named: &[&Candidate], all: &[Candidate]) -> Vec<usize> {
    const BY_WAITING: [Against; 2] = [Against::NothingWaits, Against::NotFull];
    let by_queue = |one: &&Candidate| {
        one.waits == Waits::Grows
            && one.when_full.is_none()
            && one.busy_at_plateau.is_some_and(|busy| busy < FULL)
    };
    if !named.iter().all(by_queue) {
        return Vec::new();
    }
    let most = named.iter().filter_map(|one| one.busy_at_plateau).fold(0.0, f64::max);
    let is_busier = |one: &&Candidate| {
        one.busy_at_plateau.is_some_and(|busy| busy > most)
            && !one.against.is_empty()
            && one.against.iter().all(|why| BY_WAITING.contains(why))
            && !named.iter().any(|own| family(ladder, one, own))
    };
    all.iter().filter(is_busier).map(|one| one.unit).collect()
}

/// The low steps let ceilings be true that have nothing to do with the plateau.
fn is_loose(one: &Candidate, plateau: f64) -> bool {
    let (low, high) = one.demand.ceiling_interval();
    low * LOOSE < plateau || high > plateau * LOOSE
}

/// One name for both: units of one kind in one role, or everything that is processor time on one machine.
fn family(ladder: &Ladder, a: &Candidate, b: &Candidate) -> bool {
    let (a, b) = (&ladder.units[a.unit], &ladder.units[b.unit]);
    (a.kind == b.kind && a.role == b.role) || (is_cpu(a) && is_cpu(b) && a.node == b.node)
}

fn is_cpu(unit: &Unit) -> bool {
    matches!(unit.kind, Kind::Core | Kind::Machine | Kind::Thread | Kind::CpuQuota)
}

/// At the highest load: units that are much busier than others like them. Without the processors of a machine that the client
/// shares: it keeps some of them busy.
fn skewed(ladder: &Ladder, steps: &[&Step]) -> Vec<Skew> {
    let Some(step) = steps.last() else { return Vec::new() };
    let measured = |at: usize| {
        let usage = step.usage.get(at)?;
        let busy = usage.busy.filter(|_| usage.by_client.is_none_or(|share| share <= SHARED))?;
        let idle = ladder.idle.get(at).copied().flatten().unwrap_or(0.0);
        Some((at, peer(&ladder.units[at], busy, idle)))
    };
    let (places, peers): (Vec<usize>, Vec<Peer<'_>>) = (0..ladder.units.len()).filter_map(measured).unzip();
    skew::skewed(&peers).into_iter().map(|found| Skew { unit: places[found.unit], ..found }).collect()
}

/// A unit as it is compared with others.
pub(crate) fn peer(unit: &Unit, busy: f64, idle: f64) -> Peer<'_> {
    Peer { node: &unit.node, role: &unit.role, kind: unit.kind, name: &unit.name, busy, idle }
}
