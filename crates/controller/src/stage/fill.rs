//! The rate of a pass over a data set, kept as it runs: a bounded number of stretches of time, made twice as long where they
//! become too many.

use cosmark_metrics::{FillPoint, FillResult, Snapshot};
use cosmark_workload::FillPass;
use cosmark_workload::model::{Stage, slice_of};

/// Most stretches.
const MOST: usize = 240;
/// The first ones are at least so long.
const FIRST_NS: u64 = 1_000_000_000;

/// What was done in each stretch since the load began.
pub struct FillCurve {
    pass: FillPass,
    width_ns: u64,
    bins: Vec<Bin>,
}

/// What was done in one stretch.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    ok: u64,
    bytes: u64,
    /// The last that was known in it of how full the store is.
    full: Option<f64>,
}

impl FillCurve {
    /// Of a stage that is a pass over a data set.
    pub fn of(stage: &Stage) -> Option<Self> {
        let pass = stage.works.first()?.pass.as_deref()?.clone();
        // Each has as many slices as the others.
        let slice_ns = u64::try_from(slice_of(stage.interval()).as_nanos()).unwrap_or(FIRST_NS);
        let width_ns = FIRST_NS.div_ceil(slice_ns.max(1)) * slice_ns;
        Some(Self { pass, width_ns, bins: Vec::new() })
    }

    /// Adds what ended in a slice that began at `start_ns` after the load.
    pub fn add(&mut self, start_ns: u64, snapshot: &Snapshot) {
        let ok = snapshot.ops.iter().map(|op| op.ok).sum::<u64>();
        let bytes = snapshot.ops.iter().map(|op| op.bytes).sum::<u64>();
        if ok > 0
            && let Some(bin) = self.bin(start_ns)
        {
            (bin.ok, bin.bytes) = (bin.ok + ok, bin.bytes + bytes);
        }
    }

    /// The store was so full `since_ns` after the load began. No stretch begins with that.
    pub fn add_full(&mut self, since_ns: u64, share: f64) {
        let last = self.bins.len().saturating_sub(1);
        let at = usize::try_from(since_ns / self.width_ns).unwrap_or(last).min(last);
        if let Some(bin) = self.bins.get_mut(at) {
            bin.full = Some(share);
        }
    }

    fn bin(&mut self, start_ns: u64) -> Option<&mut Bin> {
        while start_ns / self.width_ns >= MOST as u64 {
            self.width_ns = self.width_ns.saturating_mul(2);
            let pairs = self.bins.chunks(2);
            self.bins = pairs
                .map(|pair| {
                    pair.iter().fold(Bin::default(), |sum, one| Bin {
                        ok: sum.ok + one.ok,
                        bytes: sum.bytes + one.bytes,
                        full: one.full.or(sum.full),
                    })
                })
                .collect();
        }
        let at = usize::try_from(start_ns / self.width_ns).unwrap_or(MOST);
        if self.bins.len() <= at {
            self.bins.resize(at + 1, Bin::default());
        }
        self.bins.get_mut(at)
    }

    /// Of so many acknowledgements those of what was not done before: what is done again lies evenly among the rest.
    fn new_of(&self, ok: u64) -> u64 {
        let left = u128::from(self.pass.left()).max(1);
        let new = u128::from(ok) * left.saturating_sub(u128::from(self.pass.again)) / left;
        u64::try_from(new).unwrap_or(ok)
    }

    /// What came of it in `window_s` seconds.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn result(&self, window_s: f64) -> FillResult {
        let before = self.pass.before();
        let (mut sum, width_s) = (0_u64, self.width_ns as f64 / 1e9);
        let last = self.bins.len().saturating_sub(1);
        let mut curve = Vec::with_capacity(self.bins.len());
        let mut full = None;
        for (at, Bin { ok, bytes, full: own }) in self.bins.iter().enumerate() {
            full = own.or(full);
            sum += ok;
            let from_s = at as f64 * width_s;
            // The last one is as long as there was load in it.
            let to_s = from_s + width_s;
            let to_s = if at == last && window_s > from_s { to_s.min(window_s) } else { to_s };
            let seconds = (to_s - from_s).max(1e-3);
            curve.push(FillPoint {
                objects: before + self.new_of(sum),
                at_s: to_s,
                rate_per_s: *ok as f64 / seconds,
                bytes_per_s: *bytes as f64 / seconds,
                full,
            });
        }
        // A moment at the end is no stretch.
        if let [.., second, end] = curve.as_mut_slice()
            && end.at_s - second.at_s < width_s / 5.0
        {
            (second.objects, second.full) = (end.objects, end.full);
            curve.pop();
        }
        FillResult {
            dataset: self.pass.dataset.clone(),
            objects: self.pass.count,
            before,
            done: (before + self.new_of(sum)).min(self.pass.count),
            dataset_objects: self.pass.objects,
            curve,
            full: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use cosmark_metrics::{OpSnapshot, Phase};
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    fn curve(left: &str) -> FillCurve {
        let pass = format!("d objects=100000 count=100000 {left}").parse().unwrap();
        FillCurve { pass, width_ns: FIRST_NS, bins: Vec::new() }
    }

    fn slice(ok: u64) -> Snapshot {
        let op = OpSnapshot { ok, bytes: ok * 10, ..OpSnapshot::default() };
        Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 0, ops: vec![op] }
    }

    #[test]
    fn what_is_done_again_counts_once_and_what_is_left_for_later_not() {
        let mut curve = curve("left=0-59999 again=20000 later=1000");
        assert_eq!(curve.result(1.0).done, 59_000);
        curve.add(0, &slice(30_000));
        let half = curve.result(1.0);
        assert_eq!((half.before, half.done, half.curve[0].objects), (59_000, 79_000, 79_000));
        assert!((half.curve[0].rate_per_s - 30_000.0).abs() < 1e-6);
        curve.add(FIRST_NS, &slice(30_000));
        assert_eq!(curve.result(2.0).done, 99_000);
    }

    #[test]
    fn a_curve_counts_every_object_once_however_long_it_takes() {
        for seconds in [1_u64, 7, 240, 241, 5000] {
            let mut curve = curve("");
            (0..seconds).for_each(|second| curve.add(second * FIRST_NS, &slice(10)));
            let result = curve.result(seconds as f64);
            assert!(result.curve.len() <= MOST, "{}", result.curve.len());
            assert_eq!(result.curve.last().unwrap().objects, 10 * seconds);
            assert_eq!((result.done, result.before), (10 * seconds, 0));
            assert!(result.curve.iter().all(|point| (point.rate_per_s - 10.0).abs() < 1e-6), "{result:?}");
            assert!(result.curve.iter().all(|point| (point.bytes_per_s - 100.0).abs() < 1e-6));
            assert!(result.curve.windows(2).all(|pair| pair[0].objects < pair[1].objects));
        }
    }

    #[test]
    fn a_curve_of_an_even_load_is_even_whatever_the_interval_of_its_stage() {
        let text = "name: x\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: w, workers: 1, runtime: 9s, \
                    operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
        let (workload, mistakes) = parse_what_is_there(text, Format::Yaml, &Environment::default());
        let mut stage = workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0);
        stage.works[0].pass = Some(Arc::new(curve("").pass));
        for (interval_ms, slice_ms, width_ms) in
            [(5000, 1000, 1000), (1500, 750, 1500), (250, 250, 1000), (1200, 600, 1200)]
        {
            stage.works[0].interval = Duration::from_millis(interval_ms);
            let mut curve = FillCurve::of(&stage).unwrap();
            assert_eq!(curve.width_ns, width_ms * 1_000_000, "{interval_ms}");
            (0..8).for_each(|number| curve.add(number * slice_ms * 1_000_000, &slice(slice_ms)));
            let points = curve.result(8.0 * slice_ms as f64 / 1e3).curve;
            assert!(points.iter().all(|point| (point.rate_per_s - 1e3).abs() < 1e-6), "{points:?}");
        }
    }

    #[test]
    fn a_curve_has_how_full_the_store_was_by_the_end_of_each_stretch() {
        let mut curve = curve("");
        for second in 0..600 {
            curve.add(second * FIRST_NS, &slice(10));
            if second % 15 == 14 {
                curve.add_full(second * FIRST_NS, second as f64 / 1000.0);
            }
        }
        let points = curve.result(600.0).curve;
        assert_eq!(points[0].full, None, "nothing was known yet");
        assert!(points.windows(2).all(|pair| pair[0].full <= pair[1].full), "{points:?}");
        assert_eq!(points.last().unwrap().full, Some(0.599));
    }

    #[test]
    fn a_curve_goes_on_where_an_earlier_run_was() {
        let mut curve = curve("left=40000-99999");
        curve.add(0, &slice(500));
        let result = curve.result(0.5);
        assert_eq!((result.before, result.done), (40_000, 40_500));
        assert_eq!((result.curve[0].objects, result.curve[0].rate_per_s), (40_500, 1000.0));
    }
}
