//! What faults cost, from what was done in each second and when what happened to them. Pure. The parts of a slot and
//! resiliency: ISO/IEC 25045:2010; the band: A. Brown, D. A. Patterson, "Towards Availability Benchmarks" (USENIX 2000).

mod away;
mod before;
pub mod seconds;
mod slot;
mod trend;

use cosmark_metrics::{FalseDips, FaultResult, HealthyResult, SlotResult};
use cosmark_stats::dip::{Band, LEAST_SECONDS, find};
use cosmark_stats::proportions::clopper_pearson;
use cosmark_stats::slots::figures;
use cosmark_workload::model::faults::{FaultKind, FaultSpec};

pub use away::Away;
pub(crate) use away::without;
use seconds::Seconds;
use slot::Shape;
use trend::{Trend, steady_from};

/// What happened to one repetition of a fault; times are seconds since the load began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Played {
    /// Why nothing can be said of it.
    pub void: Option<String>,
    /// It was asked for.
    pub from_s: f64,
    /// It was proved to be there, and by what.
    pub landed: Option<(f64, String)>,
    /// Healing began.
    pub heal_s: Option<f64>,
    /// Healing was done.
    pub healed_s: Option<f64>,
    /// The store's own state showed it.
    pub noticed_s: Option<f64>,
    /// Why that is not known.
    pub noticed_unknown: Option<String>,
    /// Redundancy was whole again.
    pub whole_s: Option<f64>,
    /// Why that is not known.
    pub whole_unknown: Option<String>,
    /// End of the slot.
    pub to_s: f64,
    /// Steps that were taken to heal it.
    pub steps: u32,
    /// What was killed ran again before it was healed.
    pub runs_again: bool,
}

/// Seconds of a load, `from..to`, of which the healthy ones are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first second of the load that counts: after the ramp.
    pub from: usize,
    /// The end of the load.
    pub to: usize,
}

/// Of fewer seconds a band is so uncertain that up to one slot in ten shows a dip by chance; their halves make none.
const ENOUGH_SECONDS: usize = 2 * LEAST_SECONDS;

/// At the beginning of a load connections are made.
const BEGINNING_S: usize = 2;

/// What the faults of a stage cost: `played` has the slots of each fault of `specs`.
#[must_use]
pub fn results(
    specs: &[FaultSpec],
    played: &[Vec<Played>],
    seconds: &Seconds,
    load: Stretch,
    is_open: bool,
) -> Vec<FaultResult> {
    let until = undisturbed(played, load);
    let healthy = Healthy::of(seconds, load.from + BEGINNING_S, until);
    let played = &before::apart(played, seconds, healthy.as_ref());
    let controls: Vec<&Played> = specs
        .iter()
        .zip(played)
        .filter(|(spec, _)| matches!(spec.kind, FaultKind::None))
        .flat_map(|(_, slots)| slots.iter().filter(|slot| slot.void.is_none()))
        .collect();
    let basis = slot::Basis { seconds, healthy: healthy.as_ref(), controls: &controls, end: load.to };
    let false_dips = false_dips(&basis);
    let load = Load {
        is_open,
        healthy_s: until.saturating_sub(load.from + BEGINNING_S),
        unsteady: healthy
            .as_ref()
            .and_then(|healthy| unsteady(seconds.ok.get(load.from + BEGINNING_S..until)?, healthy)),
    };
    specs
        .iter()
        .zip(played)
        .map(|(spec, slots)| {
            let judged = (1..).zip(slots).map(|(number, played)| basis.judge(spec, number, played));
            let (slots, shapes): (Vec<_>, Vec<_>) = judged.unzip();
            let result = FaultResult {
                name: spec.name.clone(),
                what: spec.kind.text(),
                kind: spec.kind.word().to_owned(),
                healthy: healthy.as_ref().map(Healthy::result),
                figures: figures(slots.iter()),
                slots,
                false_dips: false_dips.clone(),
                proxy: None,
                remarks: Vec::new(),
            };
            FaultResult { remarks: remarks(&result, &shapes, &load), ..result }
        })
        .collect()
}

/// Up to which second nothing was made to fail.
fn undisturbed(played: &[Vec<Played>], load: Stretch) -> usize {
    let slots = played.iter().flatten().filter(|slot| slot.to_s > slot.from_s);
    let first = slots.map(|slot| slot.from_s).fold(f64::INFINITY, f64::min);
    if first.is_finite() { whole(first).min(load.to) } else { load.to }
}

/// What is known of a load beside its rates.
struct Load {
    /// It has a rate of its own.
    is_open: bool,
    /// Seconds before the first slot.
    healthy_s: usize,
    /// How these rose or fell.
    unsteady: Option<String>,
}

/// How a rate without a fault rose or fell, and what that does to the figures; `rates`: all seconds before the first slot.
fn unsteady(rates: &[f64], healthy: &Healthy) -> Option<String> {
    let Trend { from, to } = Trend::of(rates)?;
    let verb = if to < from { "fell" } else { "rose" };
    let what = format!(
        "the rate was not steady without a fault: in the {} s before the first slot it {verb} from {from:.1}/s to {to:.1}/s",
        rates.len()
    );
    let last = healthy.to - healthy.from;
    let with = if last < rates.len() {
        format!("; slots are compared with the last {last} s of them")
    } else {
        String::new()
    };
    let means = if to < from {
        "what goes on falling is counted as lost"
    } else {
        "what goes on rising hides what is lost"
    };
    let is_steady_now = Trend::of(rates.get(rates.len().checked_sub(last)?..)?).is_none();
    let remedy = if !is_steady_now {
        "; begin later (at: steady)"
    } else if last < ENOUGH_SECONDS {
        "; these are few, and by chance a slot may show a dip: begin later (at: steady)"
    } else {
        ""
    };
    Some(format!("{what}{with}; {means}{remedy}"))
}

/// What has to be known with the figures of a fault.
fn remarks(result: &FaultResult, shapes: &[Shape], load: &Load) -> Vec<String> {
    let mut remarks = Vec::new();
    if !load.is_open {
        remarks.push(
            "the load is a closed loop: while the store is slow less is asked of it, so what is lost is more than what is \
             counted here; give the work a rate"
                .to_owned(),
        );
    }
    if result.healthy.is_none() {
        remarks.push(format!(
            "there is nothing to compare with: {} s without a fault came before the first slot, with too few \
             operations, or less than {LEAST_SECONDS} s; begin later (at:)",
            load.healthy_s
        ));
    }
    if result.kind != FaultKind::None.word() {
        remarks.extend(load.unsteady.clone());
    }
    let slots_that = |is_so: &dyn Fn(&SlotResult, &Shape) -> bool| {
        let slots = result.slots.iter().zip(shapes).filter(|(slot, shape)| is_so(slot, shape));
        let numbers: Vec<String> = slots.map(|(slot, _)| slot.number.to_string()).collect();
        (!numbers.is_empty()).then(|| numbers.join(", "))
    };
    let lasts = |slot: &SlotResult| slot.dip == Some(true) && slot.back_after_s.is_none();
    if let Some(slots) = slots_that(&|slot, shape| lasts(slot) && !shape.ends_above) {
        remarks.push(format!(
            "when slot {slots} ended the rate was not back: what was lost is at least what is counted here; give it a longer \
             slot:",
        ));
    }
    if let Some(slots) = slots_that(&|slot, shape| lasts(slot) && shape.ends_above) {
        remarks.push(format!(
            "when slot {slots} ended the rate lay above what it was before the first slot: more had waited than the slot \
             shows, or the store has become faster, and what was made up later is not only what had waited",
        ));
    }
    if let Some(slots) = slots_that(&|slot, _| is_proved_late(slot)) {
        remarks.push(format!(
            "in slot {slots} the fault was proved to be there only in the second half of its time, and may have been there for \
             less than half as long as it was to be; give it a longer hold:",
        ));
    }
    if let Some(slots) = slots_that(&|_, shape| shape.runs_again) {
        remarks.push(format!(
            "in slot {slots} what was killed ran again before it was to be healed: a program that looks after it had started it, \
             and the fault was over by then",
        ));
    }
    if let Some(slots) = slots_that(&|_, shape| shape.falls_again) {
        remarks.push(format!(
            "in slot {slots} the rate fell again after it had been back: what was lost counts all of it, the time until it \
             was back only the first",
        ));
    }
    remarks
}

/// Making a fault, or proving it, took more than half of the time between when it was asked for and when its healing began.
fn is_proved_late(slot: &SlotResult) -> bool {
    let known = slot.landed_s.zip(slot.heal_s).filter(|_| slot.void.is_none());
    known.is_some_and(|(landed_s, heal_s)| heal_s - landed_s < (heal_s - slot.from_s) / 2.0)
}

/// The healthy seconds of a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Healthy {
    pub from: usize,
    pub to: usize,
    pub band: Band,
    /// Body bytes per second.
    pub bytes: f64,
    /// Mean operations per second.
    pub mean: f64,
    /// The most failures of a second.
    pub failed: f64,
}

impl Healthy {
    fn of(seconds: &Seconds, from: usize, to: usize) -> Option<Self> {
        let from = from + steady_from(seconds.ok.get(from..to)?);
        let rates = seconds.ok.get(from..to)?;
        let band = Band::of(rates)?;
        let within = |rate: &f64| (band.low..=band.high).contains(rate);
        let bytes = seconds.bytes.get(from..to)?.iter().zip(rates).filter(|(_, rate)| within(rate));
        let (bytes, usual): (Vec<f64>, Vec<f64>) = bytes.unzip();
        // Pauses that come again and again take of both alike.
        let bytes = mean(&bytes) * (band.level / mean(&usual));
        let failed = seconds.failed.get(from..to)?.iter().copied().fold(0.0, f64::max);
        Some(Self { from, to, band, bytes, mean: mean(rates), failed })
    }

    fn result(&self) -> HealthyResult {
        HealthyResult {
            from_s: real(self.from),
            to_s: real(self.to),
            median_per_s: self.band.median,
            deviation_per_s: self.band.deviation,
            low_per_s: self.band.low,
            high_per_s: self.band.high,
            level_per_s: self.band.level,
            level_bytes_per_s: self.bytes,
        }
    }
}

/// How often a dip is found where there was no fault: in the slots without one, and in the second half of the healthy seconds
/// as the first half has them.
fn false_dips(basis: &slot::Basis<'_>) -> Option<FalseDips> {
    let healthy = basis.healthy?;
    let (mut looked, mut dips, mut length) = (0_u32, 0_u32, 0.0);
    let rates = &basis.seconds.ok;
    for slot in basis.controls {
        let (from, to) = (whole(slot.from_s), whole(slot.to_s).min(basis.end));
        looked += 1;
        length += real(to.saturating_sub(from));
        dips += u32::from(!find(rates, from, to, &healthy.band).dips.is_empty());
    }
    let half = (healthy.to - healthy.from) / 2;
    let middle = healthy.from + half;
    if let Some(band) = rates.get(healthy.from..middle).and_then(Band::of) {
        looked += 1;
        length += real(half);
        dips += u32::from(!find(rates, middle, healthy.to, &band).dips.is_empty());
    }
    (looked > 0).then(|| FalseDips {
        stretches: looked,
        seconds: length / f64::from(looked),
        dips,
        share_at_most: clopper_pearson(u64::from(dips), u64::from(looked), 0.95).1,
    })
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / real(values.len()) }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run, at least 0")]
pub(crate) fn whole(seconds: f64) -> usize {
    seconds.max(0.0) as usize
}

#[cfg(test)]
mod tests;
