//! Slots in which a driver made no load: that less was done then is no word of the store.

use cosmark_archive::{MissingRecord, PauseRecord};

use super::Played;

/// Drivers that made no load for less than this in a slot, all together, change its figures by little.
const LEAST_S: f64 = 1.0;
/// Who was away for such a share of the seconds before the first slot, and stayed so, is no part of the rate that slots
/// are compared with.
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

/// The slots, those void in which drivers made no load; the seconds that count begin at `counted_s`.
pub(crate) fn without(played: &[Vec<Played>], away: &[Away], counted_s: f64) -> Vec<Vec<Played>> {
    let begins = played.iter().flatten().filter(|slot| slot.to_s > slot.from_s).map(|slot| slot.from_s);
    let before = (counted_s, begins.fold(f64::INFINITY, f64::min));
    let mut all = played.to_vec();
    for slot in all.iter_mut().flatten().filter(|slot| slot.void.is_none()) {
        slot.void = why_not(slot, away, before);
    }
    all
}

fn why_not(slot: &Played, away: &[Away], before: (f64, f64)) -> Option<String> {
    let unusual = away.iter().filter(|one| !one.is_usual(slot, before));
    let parts: Vec<(&Away, f64)> = unusual.map(|one| (one, one.within_s(slot))).collect();
    if parts.iter().map(|part| part.1).sum::<f64>() < LEAST_S {
        return None;
    }
    let (one, within_s) = parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "driver {} made no load that is known of for {within_s:.1} s of it, so that less was done for another reason, too",
        one.driver
    ))
}
