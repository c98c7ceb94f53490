//! The figures of a fault over its slots: means, and Student's intervals of them.

use cosmark_metrics::{FaultFigure, SLOT_FIGURES, SlotFigure, SlotResult};

use crate::amounts::interval_of_mean;

/// The share of the rate that is lost, which is not more than all of it.
const DEPTH: &str = "depth";

/// Each figure over the slots that count; of one run or of several.
#[must_use]
pub fn figures<'a>(slots: impl Iterator<Item = &'a SlotResult> + Clone) -> Vec<FaultFigure> {
    let figure = |row: &SlotFigure| {
        let counted = slots.clone().filter(|slot| slot.void.is_none());
        let why = match counted.clone().next() {
            Some(_) => "it was not asked in these slots",
            None => "there is no slot that counts",
        };
        let values: Vec<f64> = counted.filter_map(row.of).collect();
        let (low, high) = interval_of_mean(&values).unzip();
        let mut reasons = slots.clone().filter_map(|slot| slot.unknown.get(row.figure));
        let reason = values.is_empty().then(|| reasons.next().cloned().unwrap_or_else(|| why.to_owned()));
        FaultFigure {
            figure: row.figure.to_owned(),
            title: row.title.to_owned(),
            unit: row.unit.to_owned(),
            mean: (!values.is_empty()).then(|| mean(&values)),
            low: low.map(|low| low.max(0.0)),
            high: high.map(|high| if row.figure == DEPTH { high.min(1.0) } else { high }),
            slots: u32::try_from(values.len()).unwrap_or(u32::MAX),
            reason,
        }
    };
    SLOT_FIGURES.iter().map(figure).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real(values.len().max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a count of slots")]
fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn what_no_slot_was_asked_is_not_said_to_be_for_want_of_slots() {
        let reason = |slots: &[SlotResult]| {
            let all = figures(slots.iter());
            let landed = all.iter().find(|one| one.figure == "landed_after_s").unwrap();
            (landed.mean, landed.reason.clone().unwrap())
        };
        let void = SlotResult { void: Some("no load".to_owned()), ..SlotResult::default() };
        assert_eq!(reason(&[void]), (None, "there is no slot that counts".to_owned()));
        assert_eq!(reason(&[SlotResult::default()]), (None, "it was not asked in these slots".to_owned()));
    }

    #[test]
    fn nothing_below_0_and_no_more_than_the_whole_rate_is_said_to_be_lost() {
        let slot = |depth: f64, resiliency: f64| SlotResult {
            depth: Some(depth),
            resiliency: Some(resiliency),
            back_after_s: Some(depth * 10.0),
            ..SlotResult::default()
        };
        let slots = [slot(0.0, 1.0), slot(1.0, 1.02), slot(1.0, 1.04)];
        let found = figures(slots.iter());
        let ends = |name: &str| {
            let one = found.iter().find(|one| one.figure == name).unwrap();
            (one.low.unwrap(), one.high.unwrap())
        };
        assert_eq!(ends(DEPTH), (0.0, 1.0));
        // A rate may be higher than before, and a time longer than any seen.
        assert!(ends("resiliency").1 > 1.04 && ends("back_after_s").1 > 10.0, "{found:?}");
        assert_eq!(ends("back_after_s").0, 0.0);
    }
}
