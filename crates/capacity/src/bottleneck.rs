//! The sentence that names what limits a store, or says honestly that nothing that was looked at does. A unit is named only
//! when its ceiling, predicted from the steps below 60 % of the plateau, is the least and meets the plateau, when it was
//! busy there, when work waits for it as the service time rises, and when the client was not the limit.
//!
//! Sources: Denning and Buzen (1978) for the laws; B. Gregg, Thinking Methodically about Performance (ACM Queue 10, 2012)
//! for utilisation and saturation of each resource.

use crate::demand::{Demand, of_unit, real};
use crate::ladder::{Kind, Ladder, Step, Unit, Waiting};

/// The ceiling is predicted from steps up to this share of the plateau.
pub const PREDICTED_FROM: f64 = 0.6;
/// A ceiling meets the plateau within this share.
pub const MEETS: f64 = 0.10;
/// A unit that is less busy than this at the plateau does not limit it.
pub const BUSY: f64 = 0.9;
/// Where no unit is busier than this, something that is no resource limits the store.
pub const IDLE: f64 = 0.70;
/// A unit this much busier than the mean of its peers is a sentence of its own.
pub const SKEWED: f64 = 1.5;

/// What is known of one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its place in the ladder's units.
    pub unit: usize,
    /// What one operation costs it, by the steps below [`PREDICTED_FROM`].
    pub demand: Demand,
    /// Share of the time it was busy at the plateau.
    pub busy_at_plateau: f64,
    /// Whether work waits for it the longer the higher the service time; `None` where waiting was not measured.
    pub waits: Option<bool>,
    /// Why it is not the bottleneck; empty for one that may be.
    pub against: Vec<Against>,
}

/// What speaks against a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Its ceiling lies away from the plateau.
    CeilingElsewhere,
    /// It had time left at the plateau.
    NotBusy,
    /// Nothing waited for it while operations took longer.
    NothingWaits,
    /// An operation costs it more or less at other loads: nothing can be predicted.
    DemandChanges,
}

/// How sure the name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Waiting was not measured for it.
    Low,
    /// Another unit's ceiling lies within a quarter above, or one step alone is the ground of the prediction.
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
    /// Several kinds of unit are full at the same rate; which of them comes first cannot be told.
    Several(Vec<usize>),
    /// The client's own checks failed where throughput was level: nothing is known of the store.
    Client,
    /// No unit that was looked at is busy: something lets only about so many operations in at once.
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

/// A unit that is much busier than its peers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// Its place in the ladder's units.
    pub unit: usize,
    /// How many peers there are, with itself.
    pub peers: usize,
    /// Its utilisation over the peers' mean.
    pub times: f64,
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
    let steps = ladder.sorted();
    let skewed = skewed(ladder, &steps);
    let Some(plateau) = ladder.plateau() else {
        let grew = last_growth(&steps);
        let answer = grew.map_or(Answer::TooFewSteps, Answer::NotReached);
        return Diagnosis { answer, plateau_per_s: None, candidates: Vec::new(), skewed };
    };
    let level: Vec<&Step> = level(&steps, plateau);
    let mut candidates: Vec<Candidate> =
        (0..ladder.units.len()).filter_map(|unit| candidate(ladder, unit, plateau, &steps, &level)).collect();
    candidates.sort_by(|a, b| a.demand.ceiling_per_s().total_cmp(&b.demand.ceiling_per_s()));
    let answer = answer(ladder, &candidates, plateau, &steps, &level);
    Diagnosis { answer, plateau_per_s: Some(plateau), candidates, skewed }
}

/// The steps at which throughput is level.
fn level<'a>(steps: &[&'a Step], plateau: f64) -> Vec<&'a Step> {
    let high = |step: &&&Step| step.throughput_per_s >= plateau * (1.0 - crate::ladder::LEVEL);
    steps.iter().filter(high).copied().collect()
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
    let busy: Vec<f64> = level.iter().filter_map(|step| step.usage.get(unit)?.busy).collect();
    let busy_at_plateau = busy.iter().copied().fold(0.0, f64::max);
    let waits = waits(unit, steps, level);
    let ceiling = demand.ceiling_per_s();
    let mut against = Vec::new();
    if (ceiling / plateau - 1.0).abs() > MEETS {
        against.push(Against::CeilingElsewhere);
    }
    if busy.is_empty() || busy_at_plateau < BUSY {
        against.push(Against::NotBusy);
    }
    if waits == Some(false) {
        against.push(Against::NothingWaits);
    }
    if !demand.constant {
        against.push(Against::DemandChanges);
    }
    Some(Candidate { unit, demand, busy_at_plateau, waits, against })
}

/// Waiting rises with the service time: their order over the steps agrees (Spearman's rank correlation of at least 0.6),
/// and more waits at the last step than at the first. Beyond the knee of the throughput all that is added waits for the
/// bottleneck, while the queues of other units stay what they are however busy these are: so a queue also has to grow about
/// as the load in flight does.
fn waits(unit: usize, steps: &[&Step], level: &[&Step]) -> Option<bool> {
    let waiting = |step: &&Step| step.usage.get(unit).and_then(|usage| usage.waiting);
    let seen: Vec<(f64, f64)> =
        steps.iter().filter_map(|step| Some((step.service_s, waiting(step)?.amount()))).collect();
    if seen.len() < 3 {
        return None;
    }
    let (first, last) = (seen.first()?.1, seen.last()?.1);
    let rises = last > first * 1.5 && last > 0.0 && rank_correlation(&seen) >= 0.6;
    let queues: Vec<(f64, f64)> = level
        .iter()
        .filter_map(|step| match waiting(step)? {
            Waiting::Queue(queue) => Some((step.in_flight, queue)),
            _ => None,
        })
        .collect();
    let keeps_growing = match queues.as_slice() {
        [(load, queue), .., (more_load, longer)] => longer / queue >= GROWS * more_load / load,
        _ => true,
    };
    Some(rises && keeps_growing)
}

/// Of the growth of the load in flight, the least that the bottleneck's queue shows over the plateau.
const GROWS: f64 = 0.7;

fn rank_correlation(points: &[(f64, f64)]) -> f64 {
    let (a, b) = (ranks(points.iter().map(|point| point.0)), ranks(points.iter().map(|point| point.1)));
    let middle = (real(points.len()) + 1.0) / 2.0;
    let together: f64 = a.iter().zip(&b).map(|(a, b)| (a - middle) * (b - middle)).sum();
    let alone = |ranks: &[f64]| ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>();
    let both = (alone(&a) * alone(&b)).sqrt();
    if both > 0.0 { together / both } else { 0.0 }
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let below = |x: f64| real(values.iter().filter(|y| **y < x).count());
    let equal = |x: f64| real(values.iter().filter(|y| **y == x).count());
    values.iter().map(|x| below(*x) + (equal(*x) + 1.0) / 2.0).collect()
}

fn answer(
    ladder: &Ladder,
    candidates: &[Candidate],
    plateau: f64,
    steps: &[&Step],
    level: &[&Step],
) -> Answer {
    if level.iter().any(|step| !step.client_clear) {
        return Answer::Client;
    }
    let busiest = level.iter().flat_map(|step| &step.usage).filter_map(|usage| usage.busy);
    let Some(busiest) = busiest.reduce(f64::max) else { return Answer::NothingMeasured };
    if busiest < IDLE {
        // By Little's law, as many as fit in were under way at the plateau, each as long as at the lowest load.
        return Answer::Limit(plateau * steps.first().map_or(0.0, |step| step.service_s));
    }
    if candidates.is_empty() {
        return Answer::TooFewSteps;
    }
    let fitting: Vec<&Candidate> = candidates.iter().filter(|one| one.against.is_empty()).collect();
    let Some(least) = fitting.first() else { return Answer::Unexplained };
    // A unit that would have to be full before the named one was, and was not, contradicts the prediction.
    let contradicted = candidates.iter().any(|one| {
        one.demand.ceiling_interval().1 < least.demand.ceiling_per_s() * (1.0 - MEETS)
            && !family(ladder, one, least)
    });
    if contradicted {
        return Answer::Unexplained;
    }
    let (same, other): (Vec<&Candidate>, Vec<&Candidate>) =
        fitting.iter().copied().partition(|one| family(ladder, one, least));
    if !other.is_empty() {
        return Answer::Several(fitting.iter().map(|one| one.unit).collect());
    }
    let units: Vec<usize> = same.iter().map(|one| one.unit).collect();
    let next = candidates.iter().find(|one| !family(ladder, one, least));
    let near = next.is_some_and(|one| one.demand.ceiling_per_s() < least.demand.ceiling_per_s() * 1.25);
    let confidence = if same.iter().all(|one| one.waits.is_none()) {
        Confidence::Low
    } else if near || least.demand.steps < 3 {
        Confidence::Medium
    } else {
        Confidence::High
    };
    Answer::Named { units, confidence }
}

/// One name for both: units of one kind in one role, or everything that is processor time on one machine.
fn family(ladder: &Ladder, a: &Candidate, b: &Candidate) -> bool {
    let (a, b) = (&ladder.units[a.unit], &ladder.units[b.unit]);
    (a.kind == b.kind && a.role == b.role) || (is_cpu(a) && is_cpu(b) && a.node == b.node)
}

fn is_cpu(unit: &Unit) -> bool {
    matches!(unit.kind, Kind::Core | Kind::Machine | Kind::Thread | Kind::CpuQuota)
}

/// At the highest load: units that are more than [`SKEWED`] times as busy as the mean of their kind in their role.
fn skewed(ladder: &Ladder, steps: &[&Step]) -> Vec<Skew> {
    let Some(step) = steps.last() else { return Vec::new() };
    let busy = |unit: usize| step.usage.get(unit).and_then(|usage| usage.busy);
    let mut found = Vec::new();
    for (place, unit) in ladder.units.iter().enumerate() {
        let peer = |other: &Unit| other.kind == unit.kind && other.role == unit.role;
        // Threads differ by what they do.
        if unit.kind == Kind::Thread {
            continue;
        }
        let peers: Vec<f64> = ladder
            .units
            .iter()
            .enumerate()
            .filter(|(_, other)| peer(other))
            .filter_map(|(other, _)| busy(other))
            .collect();
        let mean = peers.iter().sum::<f64>() / real(peers.len().max(1));
        let Some(mine) = busy(place) else { continue };
        if peers.len() > 1 && mine >= WORTH_A_WORD && mine > mean * SKEWED {
            found.push(Skew { unit: place, peers: peers.len(), times: mine / mean });
        }
    }
    found
}

/// Below this utilisation nobody asks why a unit is busier than others.
const WORTH_A_WORD: f64 = 0.3;
