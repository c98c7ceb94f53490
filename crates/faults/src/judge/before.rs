//! Whether the rate was back from what was before a slot: one that begins while the last one still lasts measures both.

use super::seconds::Seconds;
use super::{Healthy, Played, mean, whole};

/// Seconds before a slot that are looked at.
const LOOKED_AT_S: usize = 5;

/// The slots, those void that began before the store had come back from the slot before. The first one has nothing before it.
pub(super) fn apart(
    played: &[Vec<Played>],
    seconds: &Seconds,
    healthy: Option<&Healthy>,
) -> Vec<Vec<Played>> {
    let mut all = played.to_vec();
    let mut in_order: Vec<&mut Played> =
        all.iter_mut().flatten().filter(|slot| slot.to_s > slot.from_s).collect();
    in_order.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut healed_s = None;
    for slot in in_order {
        if let Some(healed_s) = healed_s
            && slot.void.is_none()
        {
            slot.void = why_not(slot.from_s, healed_s, seconds, healthy);
        }
        let last = slot.healed_s.unwrap_or(slot.from_s);
        healed_s = Some(healed_s.map_or(last, |before: f64| before.max(last)));
    }
    all
}

/// Why what is measured from `from_s` on is not of its own; `healed_s`: the last healing of a slot before.
fn why_not(from_s: f64, healed_s: f64, seconds: &Seconds, healthy: Option<&Healthy>) -> Option<String> {
    if healed_s > from_s {
        return Some("the fault before it was still there".to_owned());
    }
    let healthy = healthy?;
    let from = whole(from_s);
    let rates = seconds.ok.get(from.checked_sub(LOOKED_AT_S)?..from)?;
    // Seconds without a fault may have a pause of their own.
    let own = seconds.ok.get(healthy.from..healthy.to).unwrap_or_default().windows(LOOKED_AT_S).map(mean);
    let least = own.fold(healthy.band.low, f64::min);
    let rate = mean(rates);
    (rate < least).then(|| {
        format!("the rate was not back from what was before it ({rate:.1}/s of {:.1}/s)", healthy.band.level)
    })
}
