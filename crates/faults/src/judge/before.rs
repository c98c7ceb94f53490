//! Whether the rate was what it is without a fault when a slot began: one that begins in a dip of another cause measures both.
//! And whether it is known what was done in a slot at all.

use super::seconds::Seconds;
use super::{Healthy, Played, mean, whole};

/// Seconds before a slot that are looked at.
const LOOKED_AT_S: usize = 5;
/// So many seconds of a slot may be missing at its end, and such a part of it: the last of a load come late, or never.
const MISSING_S: usize = 3;
const MISSING_PART: usize = 10;

/// The slots, those void that began before the store had come back from the slot before, or from whatever was before
/// the first one, and those of which it is not known what was done in them.
pub(super) fn apart(
    played: &[Vec<Played>],
    seconds: &Seconds,
    healthy: Option<&Healthy>,
) -> Vec<Vec<Played>> {
    let mut all = played.to_vec();
    let mut in_order: Vec<&mut Played> =
        all.iter_mut().flatten().filter(|slot| slot.to_s > slot.from_s).collect();
    in_order.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut healed_s: Option<f64> = None;
    for slot in in_order {
        if slot.void.is_none() {
            let why = why_not(slot.from_s, healed_s, seconds, healthy);
            slot.void = why.or_else(|| healthy.and_then(|_| unseen(slot, seconds)));
        }
        let last = slot.healed_s.unwrap_or(slot.from_s);
        healed_s = Some(healed_s.map_or(last, |before| before.max(last)));
    }
    all
}

/// Why nothing can be said of a slot of which seconds are missing: these are neither without operations nor a dip.
fn unseen(slot: &Played, seconds: &Seconds) -> Option<String> {
    let (from, to) = (whole(slot.from_s), whole(slot.to_s));
    let (all, missing) = (to.saturating_sub(from), to.saturating_sub(seconds.len().max(from)));
    let is_much = missing > MISSING_S && missing.saturating_mul(MISSING_PART) > all;
    is_much.then(|| {
        format!("what was done in {missing} of its {all} s is not known by the second: a load is followed for a day so")
    })
}

/// Why what is measured from `from_s` on is not of its own; `healed_s`: the last healing of a slot before.
fn why_not(
    from_s: f64,
    healed_s: Option<f64>,
    seconds: &Seconds,
    healthy: Option<&Healthy>,
) -> Option<String> {
    if healed_s.is_some_and(|healed_s| healed_s > from_s) {
        return Some("the fault before it was still there".to_owned());
    }
    let healthy = healthy?;
    let from = whole(from_s);
    let begin = from.checked_sub(LOOKED_AT_S)?;
    let rate = mean(seconds.ok.get(begin..from)?);
    // Seconds without a fault may have a pause of their own.
    let own = healthy.from..own_until(begin, seconds, healthy);
    let own = seconds.ok.get(own).unwrap_or_default().windows(LOOKED_AT_S).map(mean);
    let least = own.fold(healthy.band.low, f64::min);
    let what = if healed_s.is_some() {
        "the rate was not back from what was before it"
    } else {
        "the rate had fallen before it, and without a fault"
    };
    (rate < least).then(|| format!("{what} ({rate:.1}/s of {:.1}/s)", healthy.band.level))
}

/// Up to where the seconds before `begin` have pauses that are the load's own: a dip in which the first slot begins is
/// none. What takes up more than half of these seconds is no dip, for it would make their median: this load goes so.
fn own_until(begin: usize, seconds: &Seconds, healthy: &Healthy) -> usize {
    let end = healthy.to.min(begin);
    let is_low = |until: usize| {
        let last = until.checked_sub(LOOKED_AT_S).and_then(|begin| seconds.ok.get(begin..until));
        last.is_some_and(|last| mean(last) < healthy.band.low)
    };
    let mut until = end;
    while until > healthy.from && is_low(until) {
        until -= 1;
    }
    if until.saturating_sub(healthy.from) < end - until { end } else { until }
}
