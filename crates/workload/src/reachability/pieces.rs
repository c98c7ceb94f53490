//! What one operation works on, as rectangles with shares: the ranges of its selectors, or the part of them that a count of
//! operations has come to.

use crate::model::selector::IntSelector;
use crate::model::{Division, OpKind, Operation, Work, WorkKind};
use crate::plan::share::{WorkerIndex, slice_of};
use crate::reachability::areas::Area;
use crate::reachability::{is_write, size};

/// Buckets of a histogram that are told apart.
const MOST_PIECES: usize = 64;

pub(super) fn is_in_order(operation: &Operation) -> bool {
    matches!(operation.objects, Some(IntSelector::Sequential { .. } | IntSelector::Range { .. }))
}

/// A selector as ranges with weights that add up to 1.
pub(super) fn ranges(selector: &IntSelector) -> Vec<((u64, u64), f64)> {
    match selector {
        IntSelector::Histogram { buckets } if buckets.len() <= MOST_PIECES => {
            let total: f64 = buckets.iter().map(|bucket| bucket.weight).sum();
            buckets.iter().map(|bucket| ((bucket.lo, bucket.hi), bucket.weight / total)).collect()
        }
        other => vec![(other.bounds(), 1.0)],
    }
}

pub(super) fn pieces(operation: &Operation) -> Vec<(Area, f64)> {
    let (Some(containers), Some(objects)) = (&operation.containers, &operation.objects) else {
        return Vec::new();
    };
    let objects = ranges(objects);
    let of_container = |(containers, share): ((u64, u64), f64)| {
        objects.iter().map(move |(objects, own)| (Area { containers, objects: *objects }, share * own))
    };
    ranges(containers).into_iter().flat_map(of_container).collect()
}

/// What `calls` writes or deletes that go through their numbers in order have come to, where that is not all of them: from the
/// first number on, in the whole range or in each worker's part of it. `None` for everything else.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of operations fit 53 bits and are not negative"
)]
pub(super) fn begun_pieces(work: &Work, operation: &Operation, calls: f64) -> Option<Vec<(Area, f64)>> {
    let changes = is_write(operation.kind) || operation.kind == OpKind::Delete;
    if work.kind != WorkKind::Normal || !changes || !is_in_order(operation) {
        return None;
    }
    let containers = operation.containers.as_ref().filter(|selector| selector.count() == 1)?.bounds();
    let objects = operation.objects.as_ref()?;
    let (first, count) = (objects.bounds().0, objects.count());
    let workers = match (operation.division, objects) {
        (Division::Container, _) => return None,
        (Division::Object, IntSelector::Range { .. }) => work.workers,
        (Division::Object | Division::None, _) => 1,
    };
    if calls < 1.0 || calls >= count as f64 || workers as usize > MOST_PIECES {
        return None;
    }
    let parts = (0..workers).filter_map(|index| {
        let own = slice_of(count, WorkerIndex { index, total: workers });
        let made = ((calls / f64::from(workers)).round() as u64).min(own.len);
        let lo = first + own.offset;
        (made > 0).then(|| Area { containers, objects: (lo, lo + made - 1) })
    });
    let parts: Vec<Area> = parts.collect();
    let all: f64 = parts.iter().map(|part| size(*part)).sum();
    (!parts.is_empty()).then(|| parts.into_iter().map(|part| (part, size(part) / all)).collect())
}
