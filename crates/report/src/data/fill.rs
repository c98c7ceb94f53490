//! A pass over a data set, from `run.json`.

use cosmark_metrics::{FillPoint, FillResult};

use super::model::{FillData, FillPointData};

/// The rate over the objects that were stored by then.
#[expect(clippy::cast_precision_loss, reason = "counts of objects fit 53 bits")]
pub fn pass(fill: &FillResult) -> FillData {
    let mut from = fill.before;
    let point = |point: &FillPoint| {
        // A rate is that of a stretch: it stands in its middle.
        let middle = (from as f64 + point.objects as f64) / 2.0;
        from = point.objects;
        FillPointData {
            objects: middle,
            at_s: point.at_s,
            per_s: point.rate_per_s,
            bytes_per_s: point.bytes_per_s,
        }
    };
    let curve = fill.curve.iter().map(point).collect();
    FillData {
        dataset: fill.dataset.clone(),
        objects: fill.objects,
        before: fill.before,
        done: fill.done,
        curve,
        over_full: over_full(&fill.curve),
    }
}

/// The rate of all stretches in which the store was said to be equally full: figures of that come more rarely than stretches.
fn over_full(curve: &[FillPoint]) -> Vec<(f64, f64)> {
    let mut from_s = 0.0;
    let mut known: Vec<(f64, f64, f64)> = Vec::new();
    for point in curve {
        let seconds = (point.at_s - from_s).max(0.0);
        from_s = point.at_s;
        known.extend(point.full.map(|share| (share, seconds, point.rate_per_s * seconds)));
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let alike = known.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    let rate = |stretches: &[(f64, f64, f64)]| {
        let (share, ..) = *stretches.first()?;
        let seconds: f64 = stretches.iter().map(|one| one.1).sum();
        let done: f64 = stretches.iter().map(|one| one.2).sum();
        (seconds > 0.0).then(|| (share, done / seconds))
    };
    alike.filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_stands_in_the_middle_of_the_objects_that_it_is_of() {
        let at = |objects, at_s| FillPoint { objects, at_s, rate_per_s: 10.0, bytes_per_s: 50.0, full: None };
        let curve = vec![at(120, 1.0), at(160, 5.0)];
        let fill = FillResult { objects: 1000, before: 100, done: 160, curve, ..FillResult::default() };
        let shown = pass(&fill);
        assert_eq!(shown.curve.iter().map(|point| point.objects).collect::<Vec<_>>(), [110.0, 140.0]);
        assert_eq!((shown.before, shown.done, shown.curve[1].per_s), (100, 160, 10.0));
        assert!(shown.over_full.is_empty(), "nobody was asked how full the store was");
    }

    #[test]
    fn a_rate_by_how_full_a_store_was_is_that_of_all_the_time_in_which_it_was_so_full() {
        let at = |at_s, rate_per_s, full| FillPoint { at_s, rate_per_s, full, ..FillPoint::default() };
        let curve = vec![
            at(1.0, 99.0, None),
            at(2.0, 40.0, Some(0.25)),
            at(5.0, 20.0, Some(0.25)),
            at(6.0, 10.0, Some(0.5)),
            at(6.0, 7.0, Some(0.75)),
            at(8.0, 5.0, Some(0.25)),
        ];
        let shown = pass(&FillResult { curve, ..FillResult::default() });
        assert_eq!(shown.over_full, [(0.25, (40.0 + 60.0 + 10.0) / 6.0), (0.5, 10.0)]);
    }
}
