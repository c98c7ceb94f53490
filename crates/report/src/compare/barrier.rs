//! What forbids to compare the runs of an operation: all of them count, in whatever order they are named.

use cosmark_workload::asked::AskedSizes;

use super::load::LoadedOperation;

/// Sizes further apart than this are different objects.
const SAME_SIZE: f64 = 0.02;
/// So many standard errors of sizes that are drawn at random show no difference.
const ERRORS: f64 = 3.0;
/// Where nothing tells how sizes were drawn, single runs further apart than this did not draw from the same.
const BEYOND_DRAWING: f64 = 0.25;

/// What forbids to compare two operations, if anything does.
pub fn barrier(a: &[LoadedOperation], b: &[LoadedOperation]) -> Option<String> {
    let all = || a.iter().chain(b);
    if all().any(|op| op.open == Some(true)) && all().any(|op| op.open == Some(false)) {
        return Some(
            "one is an open loop, the other a closed one: their times mean different things".to_owned(),
        );
    }
    if let Some(text) = other_rates(a, b).or_else(|| other_sizes(a, b)) {
        return Some(text);
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

/// Rates further apart than this are other loads.
const SAME_RATE: f64 = 0.005;

/// Says how rates differ that the clock asks for: what is done then follows from them, and times are of another load.
fn other_rates(a: &[LoadedOperation], b: &[LoadedOperation]) -> Option<String> {
    let ends = |side: &[LoadedOperation]| {
        let rates = side.iter().filter_map(|op| op.asked_per_s).map(|rate| (rate, rate));
        rates.reduce(|(least, most), (rate, _)| (rate.min(least), rate.max(most)))
    };
    let (of_a, of_b) = (ends(a)?, ends(b)?);
    let are_apart = |least: f64, most: f64| most > (1.0 + SAME_RATE) * least;
    let text = |(least, most): (f64, f64)| {
        let digits = |rate: f64| {
            let scale = if rate < 1.0 { 1e6 } else { 1e2 };
            (rate * scale).round() / scale
        };
        let (least, most) = (digits(least), digits(most));
        if are_apart(least, most) { format!("{least} to {most}/s") } else { format!("{least}/s") }
    };
    are_apart(of_a.0.min(of_b.0), of_a.1.max(of_b.1))
        .then(|| format!("{} are asked for on one side, {} on the other", text(of_a), text(of_b)))
}

/// A number, or the least and the greatest of several.
fn range(values: impl Iterator<Item = f64>) -> String {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0), |(least, most), one| (one.min(least), one.max(most)));
    let (least, most) = (format!("{least:.0}"), format!("{most:.0}"));
    if least == most { least } else { format!("{least} to {most}") }
}

/// Says how sizes differ: those that were asked for, or those that were moved, by more than chance explains.
fn other_sizes(a: &[LoadedOperation], b: &[LoadedOperation]) -> Option<String> {
    let moved = |side: &[LoadedOperation]| -> Vec<Moved> { side.iter().filter_map(Moved::of).collect() };
    let (a, b) = (moved(a), moved(b));
    let (mean_a, mean_b) = (Mean::of_side(&a)?, Mean::of_side(&b)?);
    let all: Vec<&Moved> = a.iter().chain(&b).collect();
    let any = |differ: &dyn Fn(&Moved, &Moved) -> bool| {
        all.iter().any(|one| all.iter().any(|other| differ(one, other)))
    };
    // What is drawn of the same differs from draw to draw.
    let first = all.first()?.asked.as_ref();
    let are_asked_alike =
        first.is_some_and(|first| first.is_settled) && all.iter().all(|one| one.asked.as_ref() == first);
    let are_other = if are_asked_alike {
        any(&|one, other| one.lies_apart(other) && one.mean.differs(&other.mean))
    } else {
        any(&|one, other| one.mean.differs(&other.mean)) || mean_a.differs(&mean_b)
    };
    if are_other {
        let of = |side: &[Moved]| range(side.iter().map(|one| one.mean.bytes));
        return Some(format!("objects of {} bytes against objects of {} bytes", of(&a), of(&b)));
    }
    other_asked(&a, &b)
}

/// Says how the sizes differ that were asked for: on both sides, or else in the runs of one.
fn other_asked(a: &[Moved], b: &[Moved]) -> Option<String> {
    let of = |runs: &[Moved]| {
        let asked = runs.iter().filter_map(|one| one.asked.as_ref());
        range(asked.flat_map(|asked| [float(asked.least_bytes), float(asked.most_bytes)]))
    };
    if a.iter().any(|one| b.iter().any(|other| one.asks_other_than(other))) {
        let (a, b) = (of(a), of(b));
        return Some(format!("objects of {a} bytes were asked for on one side, of {b} bytes on the other"));
    }
    let (one, other) = [a, b].into_iter().find_map(|side| {
        let differs = |one: &Moved| side.iter().find(|other| one.asks_other_than(other));
        side.iter().find_map(|one| Some((one, differs(one)?)))
    })?;
    let of = |run: &Moved| of(std::slice::from_ref(run));
    Some(format!("runs of one side asked for objects of {} bytes and of {} bytes", of(one), of(other)))
}

#[expect(clippy::cast_precision_loss, reason = "sizes and counts need no more than 53 bits")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Sizes of what a run moved.
struct Moved {
    mean: Mean,
    /// From the least size to the greatest that it may have moved, as far as classes of sizes tell.
    range: Option<(u64, u64)>,
    /// What the workload asks for; `None` also where that is not what was moved.
    asked: Option<AskedSizes>,
}

impl Moved {
    fn of(op: &LoadedOperation) -> Option<Self> {
        let mean = Mean::of(op)?;
        let classes = || op.published.size_classes.iter().filter(|class| class.sums.ok > 0);
        let range = classes().map(|class| class.least_bytes).min();
        let range = range.zip(classes().map(|class| class.most_bytes).max());
        let is_within = |asked: &&AskedSizes| {
            let least = float(asked.least_bytes) * (1.0 - SAME_SIZE);
            (least..=float(asked.most_bytes) * (1.0 + SAME_SIZE)).contains(&mean.bytes)
        };
        let asked = op.sizes.as_ref().filter(is_within).cloned();
        Some(Self { mean, range, asked })
    }

    fn lies_apart(&self, other: &Self) -> bool {
        self.range.zip(other.range).is_some_and(|(own, others)| own.1 < others.0 || others.1 < own.0)
    }

    fn asks_other_than(&self, other: &Self) -> bool {
        let is_far = |one: u64, other: u64| float(one.abs_diff(other)) > SAME_SIZE * float(one.max(other));
        self.asked.as_ref().zip(other.asked.as_ref()).is_some_and(|(own, others)| {
            is_far(own.least_bytes, others.least_bytes) || is_far(own.most_bytes, others.most_bytes)
        })
    }
}

/// A mean size, and how far draws may have moved it.
struct Mean {
    bytes: f64,
    /// Its standard error, where classes of sizes tell it.
    error: Option<f64>,
    /// What it may differ by where they do not, as a share.
    unknown: f64,
}

impl Mean {
    fn of(op: &LoadedOperation) -> Option<Self> {
        let published = &op.published;
        if published.ok == 0 {
            return None;
        }
        let (number, mean) = (float(published.ok), float(published.bytes) / float(published.ok));
        let classes = || published.size_classes.iter().filter(|class| class.sums.ok > 0);
        // Of each class how far its own mean is off, and as much as sizes in it may differ.
        let squares: f64 = classes()
            .map(|class| {
                let ok = float(class.sums.ok);
                let own = float(class.sums.bytes) / ok;
                let width = float(class.most_bytes.saturating_sub(class.least_bytes));
                ok * ((own - mean).powi(2) + width.powi(2) / 12.0)
            })
            .sum();
        let error = classes().next().is_some().then(|| squares.sqrt() / number);
        Some(Self { bytes: mean, error, unknown: BEYOND_DRAWING })
    }

    /// That of the runs of a side; `None` without any.
    fn of_side(side: &[Moved]) -> Option<Self> {
        let runs = float(u64::try_from(side.len()).ok().filter(|runs| *runs > 0)?);
        let bytes = side.iter().map(|one| one.mean.bytes).sum::<f64>() / runs;
        let squares: Option<f64> = side.iter().map(|one| one.mean.error.map(|error| error.powi(2))).sum();
        Some(Self { bytes, error: squares.map(|squares| squares.sqrt() / runs), unknown: SAME_SIZE })
    }

    fn differs(&self, other: &Self) -> bool {
        let most = self.bytes.max(other.bytes);
        let by_chance = match self.error.zip(other.error) {
            Some((own, others)) => (ERRORS * own.hypot(others)).max(SAME_SIZE * most),
            None => self.unknown.max(other.unknown) * most,
        };
        (self.bytes - other.bytes).abs() > by_chance
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::{OperationResult, PartResult, SizeClassResult};

    use super::*;

    /// An operation that moved so many small objects and so many of four megabytes.
    fn mixed(small: u64, large: u64, sizes: Option<AskedSizes>) -> LoadedOperation {
        let class = |least_bytes: u64, most_bytes: u64, ok: u64, bytes: u64| SizeClassResult {
            least_bytes,
            most_bytes,
            sums: PartResult { ok, bytes: ok * bytes, ..PartResult::default() },
            ..SizeClassResult::default()
        };
        LoadedOperation {
            sizes,
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

    fn asked(text: &str, least_bytes: u64, most_bytes: u64) -> Option<AskedSizes> {
        Some(AskedSizes { text: text.into(), least_bytes, most_bytes, is_settled: true })
    }

    /// One of whose sizes nothing is known but the mean.
    fn of_mean(bytes: u64, sizes: Option<AskedSizes>) -> LoadedOperation {
        let published = OperationResult { ok: 5_000, bytes: bytes * 5_000, ..OperationResult::default() };
        LoadedOperation { sizes, published, ..LoadedOperation::default() }
    }

    #[test]
    fn sizes_that_were_asked_for_alike_forbid_only_what_no_draw_of_them_gives() {
        let plan = || asked("u(1,64)KB", 1_000, 64_000);
        assert_eq!(barrier(&[of_mean(32_000, plan())], &[of_mean(33_000, plan())]), None);
        let text = barrier(&[of_mean(32_000, plan())], &[of_mean(33_000, None)]);
        assert_eq!(text.as_deref(), Some("objects of 32000 bytes against objects of 33000 bytes"));
        // What was moved is not what was asked for: others lay there.
        let small = || asked("c(1)/u(1,9) of c(1)/r(1,9) c(4)KB", 4_000, 4_000);
        let text = barrier(&[of_mean(4_000, small())], &[of_mean(1_000_000, small())]);
        assert_eq!(text.as_deref(), Some("objects of 4000 bytes against objects of 1000000 bytes"));
        // Both wrote 64 kB over what was prepared, one most of it and the other little.
        let mut mixed_sizes = asked("c(4)KB, c(64)KB", 4_000, 64_000);
        if let Some(sizes) = &mut mixed_sizes {
            sizes.is_settled = false;
        }
        let of = |bytes: u64| of_mean(bytes, mixed_sizes.clone());
        let text = barrier(&[of(5_500)], &[of(58_600)]);
        assert_eq!(text.as_deref(), Some("objects of 5500 bytes against objects of 58600 bytes"));
        assert_eq!(barrier(&[of(5_500)], &[of(5_500)]), None);
        let wide = || asked("h(1|4|90,1000|8000|10)KB", 1_000, 8_000_000);
        assert!(barrier(&[mixed(5_000, 0, wide())], &[mixed(0, 5_000, wide())]).is_some());
        // Of the same mean, and not the same.
        let text =
            barrier(&[of_mean(32_500, plan())], &[of_mean(32_500, asked("c(32500)B", 32_500, 32_500))]);
        let wanted = "objects of 1000 to 64000 bytes were asked for on one side, of 32500 bytes on the other";
        assert_eq!(text.as_deref(), Some(wanted));
    }

    #[test]
    fn runs_of_one_side_that_asked_for_other_sizes_are_told_without_the_other_side() {
        let fixed = || asked("c(32500)B", 32_500, 32_500);
        let side = [of_mean(32_500, asked("u(1,64)KB", 1_000, 64_000)), of_mean(32_500, fixed())];
        let of_none = [of_mean(32_500, None)];
        let wanted = "runs of one side asked for objects of 1000 to 64000 bytes and of 32500 bytes";
        assert_eq!(barrier(&side, &of_none).as_deref(), Some(wanted));
        assert_eq!(barrier(&of_none, &side).as_deref(), Some(wanted));
        // Where both sides asked for something, these are compared.
        let wanted = "objects of 1000 to 64000 bytes were asked for on one side, of 32500 bytes on the other";
        assert_eq!(barrier(&side, &[of_mean(32_500, fixed())]).as_deref(), Some(wanted));
        assert_eq!(barrier(&side[1..], &of_none), None);
    }

    #[test]
    fn where_nothing_tells_how_sizes_were_drawn_a_side_is_compared_and_not_each_of_its_runs() {
        let of = |bytes: &[u64]| -> Vec<_> { bytes.iter().map(|bytes| of_mean(*bytes, None)).collect() };
        for side in [[4_000, 4_120], [4_120, 4_000]] {
            assert_eq!(barrier(&of(&side), &of(&[4_000])), None);
            assert_eq!(barrier(&of(&[4_000]), &of(&side)), None);
        }
        let text = barrier(&of(&[4_100, 4_140]), &of(&[4_000]));
        assert_eq!(text.as_deref(), Some("objects of 4100 to 4140 bytes against objects of 4000 bytes"));
        // The mean of a side hides no run that no draw explains.
        assert!(barrier(&of(&[4_000, 1_000_000]), &of(&[502_000])).is_some());
    }

    #[test]
    fn sizes_that_are_drawn_at_random_forbid_nothing_and_others_do_in_any_order_of_the_runs() {
        let plan = || asked("h(1|4|90,1000|8000|10)KB", 1_000, 8_000_000);
        // A tenth more of the large ones: by plan, and by what so few of them may differ.
        for sizes in [plan(), None] {
            let sides = [mixed(4_500, 500, sizes.clone()), mixed(4_450, 550, sizes.clone())];
            assert_eq!(barrier(&sides[..1], &sides[1..]), None, "{sizes:?}");
        }
        let text = barrier(&[mixed(4_500, 500, plan())], &[mixed(5_000, 0, asked("c(2500)B", 2_500, 2_500))]);
        assert_eq!(text.as_deref(), Some("objects of 402250 bytes against objects of 2500 bytes"));
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

    #[test]
    fn rates_that_the_clock_asks_for_are_a_load_and_no_result() {
        let side = |rates: &[f64]| -> Vec<LoadedOperation> {
            let asked = rates.iter().map(|rate| Some(*rate));
            asked.map(|asked_per_s| LoadedOperation { asked_per_s, ..LoadedOperation::default() }).collect()
        };
        let of = |a: &[f64], b: &[f64]| barrier(&side(a), &side(b));
        assert_eq!(of(&[20.0], &[30.0]).unwrap(), "20/s are asked for on one side, 30/s on the other");
        let several = of(&[20.0, 20.0], &[20.0, 100.0 / 3.0]);
        assert_eq!(several.unwrap(), "20/s are asked for on one side, 20 to 33.33/s on the other");
        assert_eq!(of(&[0.2], &[0.2]), None);
        assert_eq!(of(&[1000.0], &[1001.0]), None);
        assert_eq!(of(&[20.0], &[]), None);
    }
}
