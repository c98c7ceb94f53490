//! A pass over a data set, from `run.json`.

use cosmark_metrics::FillResult;

use super::model::{FillData, FillPointData};

/// The rate over the objects that were stored by then.
#[expect(clippy::cast_precision_loss, reason = "counts of objects fit 53 bits")]
pub fn pass(fill: &FillResult) -> FillData {
    let mut from = fill.before;
    let point = |point: &cosmark_metrics::FillPoint| {
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
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::FillPoint;

    use super::*;

    #[test]
    fn a_rate_stands_in_the_middle_of_the_objects_that_it_is_of() {
        let at = |objects, at_s| FillPoint { objects, at_s, rate_per_s: 10.0, bytes_per_s: 50.0, full: None };
        let curve = vec![at(120, 1.0), at(160, 5.0)];
        let fill = FillResult { objects: 1000, before: 100, done: 160, curve, ..FillResult::default() };
        let shown = pass(&fill);
        assert_eq!(shown.curve.iter().map(|point| point.objects).collect::<Vec<_>>(), [110.0, 140.0]);
        assert_eq!((shown.before, shown.done, shown.curve[1].per_s), (100, 160, 10.0));
    }
}
