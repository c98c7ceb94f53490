//! Slots in which a driver made no load, or which are compared with seconds in which it made none: that less was done
//! then is no word of the store.

use cosmark_archive::{MissingRecord, PauseRecord};

use super::seconds::Seconds;
use super::{BEGINNING_S, Healthy, Played, Stretch, real, undisturbed};

/// A slot in which drivers made no load for less than this, however many at the same time, has about the same figures.
const LEAST_S: f64 = 1.0;
/// Who was away for such a share of the seconds that slots are compared with, and stayed so, is no part of their rate.
/// Whoever was away for more than what is left of them, a quarter, and came back, has made it less than in a slot.
const USUAL: f64 = 0.75;

/// A time in which a driver made no load, or nothing was heard of what it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Away {
    /// Its name.
    pub driver: String,
    /// From when, seconds since the load began.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
}

impl Away {
    /// What is missing of drivers that were lost, and when drivers made no load although they were to.
    #[must_use]
    pub fn of(missing: &[MissingRecord], pauses: &[PauseRecord]) -> Vec<Self> {
        let missing = missing.iter().map(|one| (&one.driver, one.from_s, f64::INFINITY));
        let pauses = pauses.iter().map(|one| (&one.driver, one.from_s, one.to_s));
        let away =
            |(driver, from_s, to_s): (&String, f64, f64)| Self { driver: driver.clone(), from_s, to_s };
        missing.chain(pauses).map(away).collect()
    }

    fn within_s(&self, slot: &Played) -> f64 {
        (self.to_s.min(slot.to_s) - self.from_s.max(slot.from_s)).max(0.0)
    }

    /// It was so for most of the seconds that a slot is compared with, and until that ended.
    fn is_usual(&self, slot: &Played, (from_s, to_s): (f64, f64)) -> bool {
        self.to_s >= slot.to_s && to_s - self.from_s.max(from_s) >= USUAL * (to_s - from_s)
    }
}

/// The slots, those void in which drivers made no load, or which are compared with seconds in which they made none.
pub(crate) fn without(
    played: &[Vec<Played>],
    away: &[Away],
    seconds: &Seconds,
    load: Stretch,
) -> Vec<Vec<Played>> {
    let healthy = Healthy::of(seconds, load.from + BEGINNING_S, undisturbed(played, load));
    let before = healthy.map_or((0.0, 0.0), |healthy| (real(healthy.from), real(healthy.to)));
    let mut all = played.to_vec();
    for slot in all.iter_mut().flatten().filter(|slot| slot.void.is_none()) {
        slot.void = why_not(slot, away, before);
    }
    all
}

fn why_not(slot: &Played, away: &[Away], before: (f64, f64)) -> Option<String> {
    let unusual: Vec<&Away> = away.iter().filter(|one| !one.is_usual(slot, before)).collect();
    if covered_s(&unusual, (slot.from_s, slot.to_s)) >= LEAST_S {
        let within = unusual.iter().map(|one| (one, one.within_s(slot)));
        let (one, within_s) = within.max_by(|a, b| a.1.total_cmp(&b.1))?;
        return Some(format!(
            "driver {} made no load that is known of for {within_s:.1} s of it, so that less was done for another reason, too",
            one.driver
        ));
    }
    let (covered_s, all_s) = (covered_s(&unusual, before), before.1 - before.0);
    (covered_s > LEAST_S.max((1.0 - USUAL) * all_s)).then(|| {
        format!(
            "drivers made no load that is known of for {covered_s:.1} of the {all_s:.0} s that it is compared with, and made it \
             in the slot"
        )
    })
}

/// How much of a stretch somebody was away.
fn covered_s(away: &[&Away], (from_s, to_s): (f64, f64)) -> f64 {
    let mut parts: Vec<(f64, f64)> =
        away.iter().map(|one| (one.from_s.max(from_s), one.to_s.min(to_s))).collect();
    parts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut end) = (0.0, from_s);
    for (begin, until) in parts {
        sum += (until - begin.max(end)).max(0.0);
        end = end.max(until);
    }
    sum
}
