//! What forbids to compare the runs of an operation: all of them count, in whatever order they are named.

use super::load::LoadedOperation;

/// Mean sizes further apart than this are different objects.
const SAME_SIZE: f64 = 0.02;
/// So many standard errors of sizes that are drawn at random show no difference.
const ERRORS: f64 = 3.0;

/// What forbids to compare two operations, if anything does.
pub fn barrier(a: &[LoadedOperation], b: &[LoadedOperation]) -> Option<String> {
    let all = || a.iter().chain(b);
    if all().any(|op| op.open == Some(true)) && all().any(|op| op.open == Some(false)) {
        return Some(
            "one is an open loop, the other a closed one: their times mean different things".to_owned(),
        );
    }
    // What workloads say of sizes is the same whatever was drawn from it.
    let planned = all().next().and_then(|op| op.sizes.as_ref());
    let is_planned_alike = planned.is_some() && all().all(|op| op.sizes.as_ref() == planned);
    let sizes = |side: &[LoadedOperation]| -> Vec<Size> { side.iter().filter_map(Size::of).collect() };
    let (sizes_a, sizes_b) = (sizes(a), sizes(b));
    if !is_planned_alike && !sizes_a.is_empty() && !sizes_b.is_empty() {
        let known: Vec<&Size> = sizes_a.iter().chain(&sizes_b).collect();
        if known.iter().any(|one| known.iter().any(|other| one.differs(other))) {
            let (a, b) =
                (range(sizes_a.iter().map(|size| size.mean)), range(sizes_b.iter().map(|size| size.mean)));
            return Some(format!("objects of {a} bytes against objects of {b} bytes"));
        }
    }
    let mut workers = all().filter_map(|op| op.workers);
    let first = workers.next()?;
    if workers.all(|one| one == first) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "workers are few")]
    let of = |side: &[LoadedOperation]| range(side.iter().filter_map(|op| op.workers).map(|one| one as f64));
    Some(format!("{} workers against {}", of(a), of(b)))
}

/// A number, or the least and the greatest of several.
fn range(values: impl Iterator<Item = f64>) -> String {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0), |(least, most), one| (one.min(least), one.max(most)));
    let (least, most) = (format!("{least:.0}"), format!("{most:.0}"));
    if least == most { least } else { format!("{least} to {most}") }
}

/// Mean size of what a run moved, and its standard error as far as classes of sizes tell it.
struct Size {
    mean: f64,
    error: f64,
}

impl Size {
    #[expect(clippy::cast_precision_loss, reason = "sizes need no more than 53 bits")]
    fn of(op: &LoadedOperation) -> Option<Self> {
        let published = &op.published;
        if published.ok == 0 {
            return None;
        }
        let (number, mean) = (published.ok as f64, published.bytes as f64 / published.ok as f64);
        let classes = published.size_classes.iter().filter(|class| class.sums.ok > 0);
        // Of each class how far its own mean is off, and as much as sizes in it may differ.
        let squares: f64 = classes
            .map(|class| {
                let own = class.sums.bytes as f64 / class.sums.ok as f64;
                let width = class.most_bytes.saturating_sub(class.least_bytes) as f64;
                class.sums.ok as f64 * ((own - mean).powi(2) + width.powi(2) / 12.0)
            })
            .sum();
        Some(Self { mean, error: squares.sqrt() / number })
    }

    fn differs(&self, other: &Self) -> bool {
        let by_chance = ERRORS * self.error.hypot(other.error);
        (self.mean - other.mean).abs() > by_chance.max(SAME_SIZE * self.mean.max(other.mean))
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::{OperationResult, PartResult, SizeClassResult};

    use super::*;

    /// An operation that moved so many small objects and so many of four megabytes.
    fn mixed(small: u64, large: u64, sizes: Option<&str>) -> LoadedOperation {
        let class = |least_bytes: u64, most_bytes: u64, ok: u64, bytes: u64| SizeClassResult {
            least_bytes,
            most_bytes,
            sums: PartResult { ok, bytes: ok * bytes, ..PartResult::default() },
            ..SizeClassResult::default()
        };
        LoadedOperation {
            sizes: sizes.map(str::to_owned),
            published: OperationResult {
                ok: small + large,
                bytes: small * 2_500 + large * 4_000_000,
                size_classes: vec![
                    class(1024, 4095, small, 2_500),
                    class(1 << 20, (4 << 20) - 1, large, 4_000_000),
                ],
                ..OperationResult::default()
            },
            ..LoadedOperation::default()
        }
    }

    #[test]
    fn sizes_that_are_drawn_at_random_forbid_nothing_and_others_do_in_any_order_of_the_runs() {
        let plan = Some("h(1|4|90,1000|8000|10)KB");
        // A tenth more of the large ones: by plan, and by what so few of them may differ.
        for sizes in [plan, None] {
            assert_eq!(barrier(&[mixed(4_500, 500, sizes)], &[mixed(4_450, 550, sizes)]), None, "{sizes:?}");
        }
        let text = barrier(&[mixed(4_500, 500, plan)], &[mixed(5_000, 0, Some("c(2500)B"))]).unwrap();
        assert_eq!(text, "objects of 402250 bytes against objects of 2500 bytes");
        assert!(barrier(&[mixed(4_500, 500, None)], &[mixed(4_000, 1_000, None)]).is_some());
        // One of several is enough, wherever it stands.
        let (one, other) = (mixed(5_000, 0, None), mixed(0, 5_000, None));
        let sides = [[one.clone(), other.clone()], [other, one.clone()]];
        for side in &sides {
            let against = barrier(side, &[one.clone(), one.clone()]);
            let wanted = "objects of 2500 to 4000000 bytes against objects of 2500 bytes";
            assert_eq!(against.as_deref(), Some(wanted));
        }
        let workers = |workers: u64| LoadedOperation { workers: Some(workers), ..LoadedOperation::default() };
        for side in [[workers(4), workers(8)], [workers(8), workers(4)]] {
            assert_eq!(
                barrier(&[workers(4), workers(4)], &side).as_deref(),
                Some("4 workers against 4 to 8")
            );
        }
        assert_eq!(barrier(&[workers(4)], &[workers(4)]), None);
    }
}
