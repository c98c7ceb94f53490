//! The figures of a fault over its slots: means, and Student's intervals of them.

use cosmark_metrics::{FaultFigure, SLOT_FIGURES, SlotFigure, SlotResult};

use crate::special::t_critical;

/// Each figure over the slots that count; of one run or of several.
#[must_use]
pub fn figures<'a>(slots: impl Iterator<Item = &'a SlotResult> + Clone) -> Vec<FaultFigure> {
    let figure = |row: &SlotFigure| {
        let counted = slots.clone().filter(|slot| slot.void.is_none());
        let values: Vec<f64> = counted.filter_map(row.of).collect();
        let (low, high) = interval(&values).unzip();
        let mut reasons = slots.clone().filter_map(|slot| slot.unknown.get(row.figure));
        let reason = values
            .is_empty()
            .then(|| reasons.next().cloned().unwrap_or_else(|| "there is no slot that counts".to_owned()));
        FaultFigure {
            figure: row.figure.to_owned(),
            title: row.title.to_owned(),
            unit: row.unit.to_owned(),
            mean: (!values.is_empty()).then(|| mean(&values)),
            low: low.map(|low| low.max(0.0)),
            high,
            slots: u32::try_from(values.len()).unwrap_or(u32::MAX),
            reason,
        }
    };
    SLOT_FIGURES.iter().map(figure).collect()
}

/// Student's 95 % interval of the mean.
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let middle = mean(values);
    let free = real(values.len() - 1);
    let variance = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / free;
    let half = t_critical(0.05, free) * (variance / real(values.len())).sqrt();
    Some((middle - half, middle + half))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real(values.len().max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a count of slots")]
fn real(count: usize) -> f64 {
    count as f64
}
