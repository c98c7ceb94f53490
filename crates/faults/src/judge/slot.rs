//! One slot: what was lost in it, when the rate was back, and its five parts.

use std::collections::BTreeMap;

use cosmark_metrics::{SlotPart, SlotResult};
use cosmark_stats::dip::{Found, find};
use cosmark_workload::model::faults::{FaultKind, FaultSpec};

use super::seconds::Seconds;
use super::{Healthy, Played, mean, real, whole};

/// What slots are judged by.
pub(crate) struct Basis<'a> {
    pub seconds: &'a Seconds,
    pub healthy: Option<&'a Healthy>,
    /// Slots without a fault.
    pub controls: &'a [&'a Played],
    /// The second in which the load ended.
    pub end: usize,
}

/// What the figures of a slot do not say of its course.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The rate lay above what it is without a fault when the slot ended.
    pub ends_above: bool,
    /// The rate fell again after it had been back.
    pub falls_again: bool,
    /// What was killed ran again before it was healed.
    pub runs_again: bool,
}

/// Seconds before a fault that its course shows, and the most values of it.
const COURSE_BEFORE: usize = 20;
const MOST_COURSE: usize = 600;

/// What lies above the band until so many seconds before a slot ends lies above it at its end.
const LAST_S: f64 = 5.0;

/// A second with less than this share of the level has hardly any operations, and one that is so many standard deviations below
/// the level is not so by chance.
const TENTH: f64 = 0.1;
const BY_CHANCE: f64 = 3.0;

/// What is lost over some time is more than chance from so many standard deviations of its sum on.
const LEAST_ERRORS: f64 = 2.0;

/// A 99th percentile needs ten operations beyond it.
const LEAST_TIMES: u64 = 1000;
const BEYOND_P99: f64 = 0.01;

impl Basis<'_> {
    pub fn judge(&self, spec: &FaultSpec, number: u32, played: &Played) -> (SlotResult, Shape) {
        let mut slot = SlotResult {
            number,
            void: played.void.clone(),
            from_s: played.from_s,
            landed_s: played.landed.as_ref().map(|landed| landed.0),
            proof: played.landed.as_ref().map(|landed| landed.1.clone()),
            heal_s: played.heal_s,
            healed_s: played.healed_s,
            to_s: played.to_s,
            parts: Vec::new(),
            ..SlotResult::default()
        };
        let after = |at: Option<f64>| at.map(|at| (at - played.from_s).max(0.0));
        slot.noticed_after_s = after(played.noticed_s);
        slot.whole_after_s = after(played.whole_s);
        let (mut unknown, mut shape) = (Unknown(BTreeMap::new()), Shape::default());
        let asked = |why: &Option<String>| why.clone().unwrap_or_else(|| "nothing was asked".to_owned());
        let (noticed, is_whole) = (asked(&played.noticed_unknown), asked(&played.whole_unknown));
        unknown.add("noticed_after_s", slot.noticed_after_s.is_none(), Some(&noticed));
        unknown.add("whole_after_s", slot.whole_after_s.is_none(), Some(&is_whole));
        if let Some(void) = &played.void {
            unknown.all(&slot, void);
        } else if let Some(healthy) = self.healthy {
            if !matches!(spec.kind, FaultKind::None) {
                slot.manual_steps = Some(played.steps);
            }
            shape = self.measure(spec, played, healthy, &mut slot, &mut unknown);
        } else {
            unknown.all(&slot, "it is not known how the rate is without a fault");
        }
        slot.parts = parts(played, slot.back_after_s);
        self.course(played, &mut slot);
        slot.unknown = unknown.0;
        (slot, shape)
    }

    fn measure(
        &self,
        spec: &FaultSpec,
        played: &Played,
        healthy: &Healthy,
        slot: &mut SlotResult,
        unknown: &mut Unknown,
    ) -> Shape {
        let (from, to) = (whole(played.from_s), whole(played.to_s).min(self.end));
        let rates = &self.seconds.ok;
        let found = find(rates, from, to, &healthy.band);
        slot.dip = Some(!found.dips.is_empty());
        slot.depth = Some(found.depth());
        slot.lost_operations = Some(found.lost());
        slot.lost_bytes = Some(self.lost_bytes(&found, healthy));
        slot.made_up_operations = Some(found.made_up);
        slot.dip_after_s = found.extent().map(|extent| (extent.0 - played.from_s).max(0.0));
        unknown.add("dip_after_s", slot.dip_after_s.is_none(), Some("the rate did not fall"));
        let failed = self.seconds.failed.get(from..to).unwrap_or_default();
        slot.failed_operations = Some(count(failed.iter().sum()));
        let errors = self.seconds.errors(from, to).into_iter().map(|(class, sum)| (class, count(sum)));
        slot.errors = errors.filter(|(_, failed)| *failed > 0).collect();
        let first = failed.iter().position(|failed| *failed > healthy.failed);
        slot.first_error_after_s = first.map(|at| (real(from + at) - played.from_s).max(0.0));
        unknown.add(
            "first_error_after_s",
            first.is_none(),
            Some("no more operations failed than without a fault"),
        );
        slot.below_tenth_s = Some(self.below_tenth_s(healthy, (from, to), &found));
        self.times((spec, played), (from, to), (healthy, &found), slot, unknown);
        let ends_above = found.above_s.iter().any(|above| above.1 + LAST_S >= real(to));
        slot.back_after_s = back(spec, played, &found, (real(to), ends_above), unknown);
        let falls_again = slot.back_after_s.is_some_and(|after| {
            let back_s = played.from_s + after;
            found.dips.iter().any(|dip| dip.from_s >= back_s)
        });
        self.rebuilding(healthy, played, slot, unknown);
        let expected = self.rate_without(healthy, played) * real(to.saturating_sub(from));
        let done: f64 = rates.get(from..to).unwrap_or_default().iter().sum();
        slot.resiliency = (expected > 0.0).then(|| done / expected);
        Shape { ends_above, falls_again, runs_again: played.runs_again }
    }

    /// What it cost until redundancy was whole again: a load that had ended by then says nothing of the rest.
    fn rebuilding(&self, healthy: &Healthy, played: &Played, slot: &mut SlotResult, unknown: &mut Unknown) {
        let rebuilt = played.healed_s.zip(played.whole_s).map(|(from_s, to_s)| (whole(from_s), whole(to_s)));
        let seen = rebuilt.filter(|(_, to)| *to <= self.end);
        slot.rebuild_lost_operations = seen.map(|seconds| self.lost_beyond_chance(healthy, seconds));
        let why = match rebuilt {
            Some(_) => "the load ended before redundancy was whole again",
            None => "it is not known when redundancy was whole again",
        };
        unknown.add("rebuild_lost_operations", seen.is_none(), Some(why));
    }

    /// What was not done in these seconds; 0 where chance explains it, theirs and that of the level.
    fn lost_beyond_chance(&self, healthy: &Healthy, (from, to): (usize, usize)) -> f64 {
        let band = &healthy.band;
        let rates = self.seconds.ok.get(from..to.min(self.end)).unwrap_or_default();
        let lost = rates.iter().map(|rate| band.level - rate).sum::<f64>();
        let (count, known) = (real(rates.len()), real(healthy.to - healthy.from).max(1.0));
        let by_chance = band.spread * (band.memory * (count + count * count / known)).sqrt();
        if lost > LEAST_ERRORS * by_chance { lost } else { 0.0 }
    }

    /// Seconds in which hardly anything was done.
    fn below_tenth_s(&self, healthy: &Healthy, (from, to): (usize, usize), found: &Found) -> f64 {
        let least = healthy.band.level * TENTH;
        let says_it = self.says_it(healthy, found);
        let rates = self.seconds.ok.get(from..to).unwrap_or_default();
        let below = (from..).zip(rates).filter(|(at, rate)| **rate < least && says_it(*at));
        real(below.count())
    }

    /// Which seconds with hardly any operations say something of the store. Where there are such seconds by chance or without
    /// a fault, only those do that are of a dip, or in which more failed than without a fault.
    fn says_it(&self, healthy: &Healthy, found: &Found) -> impl Fn(usize) -> bool {
        let least = healthy.band.level * TENTH;
        let own = self.seconds.ok.get(healthy.from..healthy.to).unwrap_or_default();
        let may_be_chance = healthy.band.level - least < BY_CHANCE * healthy.band.noise
            || own.iter().any(|rate| *rate < least);
        let is_in_dip = move |at: usize| found.dips.iter().any(|dip| (dip.bins.0..dip.bins.1).contains(&at));
        let has_failed =
            move |at: usize| self.seconds.failed.get(at).is_some_and(|failed| *failed > healthy.failed);
        move |at: usize| !may_be_chance || is_in_dip(at) || has_failed(at)
    }

    /// What fails is beyond any limit: more than the 99th percentile leaves room for, and than in any second without a
    /// fault.
    fn fails_too_much(&self, healthy: &Healthy, second: usize) -> bool {
        let of = |counts: &[f64]| counts.get(second).copied().unwrap_or(0.0);
        let (ok, failed) = (of(&self.seconds.ok), of(&self.seconds.failed));
        failed > healthy.failed && failed > BEYOND_P99 * (ok + failed)
    }

    /// The rate in the slot and some time before it. The second in which a slot ends is the next one's, in which its fault was
    /// perhaps made already.
    fn course(&self, played: &Played, slot: &mut SlotResult) {
        let to = whole(played.to_s).min(self.end);
        let from = whole(played.from_s).saturating_sub(COURSE_BEFORE);
        let rates = self.seconds.ok.get(from..to).unwrap_or_default();
        if rates.is_empty() || played.to_s <= played.from_s {
            return;
        }
        let step = rates.len().div_ceil(MOST_COURSE);
        slot.course_from_s = real(from);
        slot.course_step_s = real(step);
        slot.course_per_s = rates.chunks(step).map(|one| (mean(one) * 1e3).round() / 1e3).collect();
    }

    /// Operations per second of the other slots without a fault; without any, of the healthy seconds.
    fn rate_without(&self, healthy: &Healthy, own: &Played) -> f64 {
        let others = self.controls.iter().filter(|slot| !std::ptr::eq(**slot, own));
        let rates = others.map(|slot| {
            let to = whole(slot.to_s).min(self.end);
            mean(self.seconds.ok.get(whole(slot.from_s)..to).unwrap_or_default())
        });
        let rates: Vec<f64> = rates.collect();
        if rates.is_empty() { healthy.mean } else { mean(&rates) }
    }

    fn lost_bytes(&self, found: &Found, healthy: &Healthy) -> f64 {
        let of = |dip: &cosmark_stats::dip::Dip| {
            let (from, to) = dip.bins;
            let bytes = self.seconds.bytes.get(from..to.min(self.end)).unwrap_or_default();
            bytes.iter().map(|bytes| healthy.bytes - bytes).sum::<f64>().max(0.0)
        };
        found.dips.iter().map(of).fold(0.0, |sum, lost| sum + lost)
    }

    fn times(
        &self,
        (spec, played): (&FaultSpec, &Played),
        (from, to): (usize, usize),
        (healthy, found): (&Healthy, &Found),
        slot: &mut SlotResult,
        unknown: &mut Unknown,
    ) {
        let ms = |ns: u64| {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
            let ms = ns as f64 / 1e6;
            ms
        };
        let in_dip = found.extent().map(|(from_s, to_s)| (whole(from_s), whole(to_s.ceil())));
        let (first, last) = in_dip.unwrap_or_else(|| in_force(played));
        let mut times = self.seconds.times(first, last);
        if in_dip.is_some() && times.count() < LEAST_TIMES {
            times = self.seconds.times(first, made_up_until(found, last, to));
        }
        let enough = Some(times).filter(|times| times.count() >= LEAST_TIMES);
        slot.p99_ms = enough.and_then(|times| times.quantile_ns(0.99)).map(ms);
        let within = match (in_dip, &played.landed) {
            (Some(_), _) => "in the dip",
            (None, Some(_)) => "while the fault was there",
            (None, None) => "in the slot",
        };
        let why = format!("fewer than 1000 operations were answered {within}");
        unknown.add("p99_ms", slot.p99_ms.is_none(), Some(&why));
        if let Some(limit) = spec.limit {
            let says_it = self.says_it(healthy, found);
            let beyond = |second: &usize| {
                let times = self.seconds.times(*second, *second + 1);
                let p99_ns = times.quantile_ns(0.99);
                p99_ns.map_or_else(|| says_it(*second), |ns| u128::from(ns) > limit.as_nanos())
                    || self.fails_too_much(healthy, *second)
            };
            slot.beyond_limit_s = Some(real((from..to).filter(beyond).count()));
        }
        unknown.add("beyond_limit_s", spec.limit.is_none(), Some("the fault has no limit:"));
    }
}

/// Until when what waited for a store that stood still was done, behind a dip that ends at `last`; that, where nothing
/// was, or where it was not done when the slot ended at `to`.
fn made_up_until(found: &Found, last: usize, to: usize) -> usize {
    let near = real(last) - 1.0..=real(last) + 1.0;
    let behind = found.above_s.iter().find(|above| near.contains(&above.0)).map(|above| above.1);
    let until = behind.filter(|until_s| until_s + LAST_S < real(to));
    until.map_or(last, |until_s| last.max(whole(until_s.ceil())))
}

/// The whole seconds in which a fault was there; of a slot without one, all of its.
fn in_force(played: &Played) -> (usize, usize) {
    let landed_s = played.landed.as_ref().map(|landed| landed.0);
    let (from_s, to_s) = landed_s.zip(played.heal_s).unwrap_or((played.from_s, played.to_s));
    (whole(from_s.ceil()), whole(to_s))
}

/// When the rate was back; it has to stay for a while to count. `ends_above`: of the slot's end at `end_s`.
fn back(
    spec: &FaultSpec,
    played: &Played,
    found: &Found,
    (end_s, ends_above): (f64, bool),
    unknown: &mut Unknown,
) -> Option<f64> {
    let keep_s = spec.keep.as_secs_f64();
    let at = found.back_s(played.from_s, keep_s, end_s);
    let why = if ends_above {
        "the rate lay above what it is without a fault when the slot ended".to_owned()
    } else {
        format!("it was not back in the band for {keep_s:.0} s before the slot ended")
    };
    unknown.add("back_after_s", at.is_none(), Some(&why));
    at.map(|at| (at - played.from_s).max(0.0))
}

/// The five parts, as far as they are known.
fn parts(played: &Played, back_after_s: Option<f64>) -> Vec<SlotPart> {
    let heal = played.heal_s.unwrap_or(played.to_s);
    let noticed = played.noticed_s.unwrap_or(heal).clamp(played.from_s, heal.max(played.from_s));
    let healed = played.healed_s.unwrap_or(heal);
    let back = back_after_s.map_or(played.to_s, |after| played.from_s + after).max(healed);
    let borders = [
        ("injection", played.from_s, played.landed.as_ref().map_or(played.from_s, |landed| landed.0)),
        ("detection", played.from_s, noticed),
        ("initiation", noticed, heal),
        ("recovery", heal, back.min(played.to_s)),
        ("keep", back.min(played.to_s), played.to_s),
    ];
    let part = |(part, from_s, to_s): (&str, f64, f64)| SlotPart { part: part.to_owned(), from_s, to_s };
    borders.into_iter().filter(|(_, from, to)| to > from).map(part).collect()
}

/// Figures that are null, and why.
struct Unknown(BTreeMap<String, String>);

impl Unknown {
    fn add(&mut self, figure: &str, is_unknown: bool, why: Option<&str>) {
        if is_unknown {
            self.0.entry(figure.to_owned()).or_insert_with(|| why.unwrap_or("not known").to_owned());
        }
    }

    fn all(&mut self, slot: &SlotResult, why: &str) {
        for row in cosmark_metrics::SLOT_FIGURES {
            self.add(row.figure, (row.of)(slot).is_none(), Some(why));
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of operations, at least 0"
)]
fn count(sum: f64) -> u64 {
    sum.max(0.0).round() as u64
}
