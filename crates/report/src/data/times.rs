//! Response, service and first-byte times of one operation: percentiles per bin, distributions of the window, and the heat
//! map. Histograms are merged and never averaged.

use cosmark_archive::TimeKind;
use cosmark_metrics::Phase;

use super::axis::{Axis, Span};
use super::bins::{Bins, Sum};
use super::model::{Distribution, HeatMap, HeatNews, LatencyNews, LatencySeries};
use super::sparse::{Sparse, VALUES_BEYOND};

/// Rows of a heat map per factor of ten: about 15 % each.
const ROWS_PER_DECADE: u32 = 16;
/// Points of a distribution per factor of ten of "one in N".
const POINTS_PER_DECADE: u32 = 30;
/// A series keeps at least this many points where wider bins would support more percentiles.
const LEAST_POINTS: usize = 20;

impl Sum for Sparse {
    fn merge(&mut self, other: &Self) {
        self.add_all(other);
    }
}

/// What one operation took over time, kind by kind.
#[derive(Debug, Clone, Default)]
pub struct Times {
    bins: [Bins<Sparse>; 3],
    window: [Sparse; 3],
}

/// How many bins made one point when a series was last shown; 0 = it was not.
pub type BinsPerPoint = [u32; 3];

impl Times {
    /// Adds the times of a stretch.
    pub fn add(&mut self, kind: TimeKind, phase: Phase, span: Span, times: &Sparse) {
        let at = TimeKind::ALL.iter().position(|one| *one == kind).unwrap_or(0);
        let (Some(bins), Some(window)) = (self.bins.get_mut(at), self.window.get_mut(at)) else { return };
        bins.at(span).add_all(times);
        if phase == Phase::Window {
            window.add_all(times);
        }
    }

    /// Keeps memory bounded: see [`Bins::fold_if_many`].
    pub fn fold_if_many(&mut self, axis: &Axis, most_bins: u32) {
        self.bins.iter_mut().for_each(|bins| bins.fold_if_many(axis, most_bins));
    }

    /// Puts everything into the bins of an axis that will not change.
    pub fn settle(&mut self, axis: &Axis) {
        self.bins.iter_mut().for_each(|bins| bins.fold(axis.bin_us));
    }

    /// Successes per bin; empty where nothing succeeded.
    pub fn counts(&self, axis: &Axis) -> Vec<u64> {
        let [response, ..] = &self.bins;
        if response.is_empty() { Vec::new() } else { totals(response, axis) }
    }

    /// Percentiles over time from bin `from` on, kind by kind. A kind whose points are made of another number of bins than
    /// `shown` says comes as a whole; `shown` then says what was given.
    pub fn latency(&self, axis: &Axis, from: u32, shown: &mut BinsPerPoint) -> Vec<LatencyNews> {
        let kinds = TimeKind::ALL.iter().zip(&self.bins).zip(shown);
        let filled = kinds.filter(|((_, bins), _)| !bins.is_empty() && has_a_course(bins, axis));
        filled.map(|((kind, bins), shown)| series(kind.word(), bins, axis, from, shown)).collect()
    }

    /// Distributions of the window.
    pub fn distributions(&self) -> Vec<Distribution> {
        let filled = TimeKind::ALL.iter().zip(&self.window).filter(|(_, window)| window.total() > 0);
        filled.map(|(kind, window)| distribution(kind.word(), window)).collect()
    }

    /// The heat map of the response times, from the column that holds bin `from` on; as a whole where a column is made of
    /// another number of bins than `shown`.
    pub fn heat(&self, axis: &Axis, most_columns: u32, from: u32, shown: &mut u32) -> Option<HeatNews> {
        let [response, ..] = &self.bins;
        has_a_course(response, axis).then(|| heat_map(response, axis, most_columns, from, shown)).flatten()
    }
}

/// Whether times can be drawn over time: one histogram of several bins, as fio has it of its whole run, belongs to none of
/// them.
fn has_a_course(bins: &Bins<Sparse>, axis: &Axis) -> bool {
    !bins.only_is_longer_than(axis.bin_us)
}

/// Values per bin.
pub fn totals(bins: &Bins<Sparse>, axis: &Axis) -> Vec<u64> {
    let mut totals = vec![0; axis.time.bins as usize];
    for (span, sparse) in bins.iter() {
        if let Some(total) = totals.get_mut(axis.bin(span) as usize) {
            *total += sparse.total();
        }
    }
    totals
}

/// How many bins have to be taken together so that the 99th percentile, or else the 95th, is supported in most of them,
/// with [`LEAST_POINTS`] points left. `totals` are the values per bin.
pub fn bins_together(totals: &[u64]) -> u32 {
    let mut counts: Vec<u64> = totals.iter().copied().filter(|total| *total > 0).collect();
    counts.sort_unstable();
    let usual = counts.get(counts.len() / 2).copied().unwrap_or(0).max(1);
    let most = u32::try_from(totals.len() / LEAST_POINTS).unwrap_or(u32::MAX).max(1);
    let wanted = [0.99, 0.95].iter().filter_map(|quantile| {
        let percentile = cosmark_metrics::PERCENTILES.iter().find(|one| one.quantile == *quantile)?;
        u32::try_from(percentile.needs().div_ceil(usual)).ok()
    });
    let nice = [1, 2, 3, 5, 10, 15, 20, 30, 60, 120];
    wanted
        .filter_map(|wanted| nice.iter().copied().find(|every| *every >= wanted))
        .find(|every| *every <= most)
        .unwrap_or(1)
}

fn series(kind: &str, bins: &Bins<Sparse>, axis: &Axis, from: u32, shown: &mut u32) -> LatencyNews {
    let every = bins_together(&totals(bins, axis));
    let from = if std::mem::replace(shown, every) == every { from / every } else { 0 };
    let groups = bins.merged(axis, every, from);
    let at = |quantile| groups.iter().map(|group| group.supported(quantile).map(ms)).collect();
    let series = LatencySeries {
        kind: kind.to_owned(),
        every,
        count: groups.iter().map(Sparse::total).collect(),
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: groups.iter().map(|group| group.max().map(ms)).collect(),
    };
    LatencyNews { from, series }
}

/// Milliseconds with the four digits that the histogram has.
pub fn ms(ns: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
    let ms = ns as f64 / 1e6;
    rounded(ms, 4)
}

/// `value` with `digits` significant digits.
pub fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent of ten")]
    let exponent = digits - 1 - value.abs().log10().floor() as i32;
    // Dividing by a whole power keeps 0.1 at 0.1.
    if exponent >= 0 {
        let scale = 10_f64.powi(exponent);
        (value * scale).round() / scale
    } else {
        let scale = 10_f64.powi(-exponent);
        (value / scale).round() * scale
    }
}

fn distribution(kind: &str, times: &Sparse) -> Distribution {
    #[expect(clippy::cast_precision_loss, reason = "a count on a logarithmic axis")]
    let total = times.total() as f64;
    let decades = total.log10();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 19 decades")]
    let steps = (decades * f64::from(POINTS_PER_DECADE)) as u32;
    let mut nines: Vec<f64> =
        (0..=steps).map(|step| f64::from(step) / f64::from(POINTS_PER_DECADE)).collect();
    let mut quantiles: Vec<f64> = nines.iter().map(|nines| 1.0 - 10_f64.powf(-nines)).collect();
    #[expect(clippy::cast_precision_loss, reason = "ten")]
    let supported =
        quantiles.iter().filter(|quantile| total * (1.0 - *quantile) >= VALUES_BEYOND as f64).count();
    nines.push(decades.max(0.0));
    quantiles.push(1.0);
    let ms = times.at_quantiles(&quantiles).into_iter().map(ms).collect();
    let nines = nines.into_iter().map(|nines| rounded(nines, 4)).collect();
    Distribution {
        kind: kind.to_owned(),
        count: times.total(),
        nines,
        ms,
        supported: u32::try_from(supported).unwrap_or(u32::MAX),
    }
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a row of a picture")]
fn row_of(ns: u64) -> i32 {
    ((ns.max(1) as f64).log10() * f64::from(ROWS_PER_DECADE)).floor() as i32
}

fn heat_map(
    bins: &Bins<Sparse>,
    axis: &Axis,
    most_columns: u32,
    from: u32,
    shown: &mut u32,
) -> Option<HeatNews> {
    let every = axis.time.bins.div_ceil(most_columns.max(1)).max(1);
    let ends = || bins.iter().filter_map(|(_, sparse)| sparse.min().zip(sparse.max()));
    let first_row = row_of(ends().map(|(min, _)| min).min()?);
    let last_row = row_of(ends().map(|(_, max)| max).max()?);
    let from = if std::mem::replace(shown, every) == every { from / every } else { 0 };
    let mut cells = Vec::new();
    for (column, group) in (u64::from(from)..).zip(bins.merged(axis, every, from)) {
        let mut filled = std::collections::BTreeMap::<u64, u64>::new();
        for (ns, count) in group.iter() {
            let row = u64::try_from(row_of(ns) - first_row).unwrap_or(0);
            *filled.entry(row).or_default() += count;
        }
        filled.into_iter().for_each(|(row, count)| cells.extend([column, row, count]));
    }
    let rows = u32::try_from(last_row - first_row + 1).unwrap_or(1);
    Some(HeatNews { from, map: HeatMap { every, first_row, rows_per_decade: ROWS_PER_DECADE, rows, cells } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::axis::Extent;
    use crate::data::sparse::steps_of;
    use hdrhistogram::Histogram;

    fn sparse(values: impl IntoIterator<Item = u64>) -> Sparse {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        values.into_iter().for_each(|value| histogram.record(value).unwrap());
        Sparse::of_steps(steps_of(&histogram))
    }

    /// One bin a second.
    fn binned(seconds: &[Sparse]) -> (Bins<Sparse>, Axis) {
        let (mut bins, mut extent) = (Bins::<Sparse>::default(), Extent::default());
        for (second, sparse) in (0_u32..).zip(seconds) {
            let span = Span::of(f64::from(second), 1.0);
            extent.add(Phase::Window, span);
            bins.at(span).merge(sparse);
        }
        (bins, Axis::of(&extent, 600))
    }

    #[test]
    fn one_histogram_of_a_whole_run_is_no_moment_of_it() {
        let (one, axis) = binned(&[sparse([5_000_000])]);
        assert!(has_a_course(&one, &axis), "a run that has just begun");
        let (many, axis) = binned(&vec![sparse([5_000_000]); 60]);
        assert!(has_a_course(&many, &axis));
        let mut whole = Bins::<Sparse>::default();
        whole.at(Span::of(0.0, 60.0)).merge(&sparse([5_000_000, 7_000_000]));
        assert!(!has_a_course(&whole, &axis));
        let mut times = Times::default();
        // As it is when a run is over, whichever of the two is read first.
        times.settle(&axis);
        let histogram = sparse([5_000_000, 7_000_000]);
        times.add(TimeKind::Response, Phase::Window, Span::of(0.0, 60.0), &histogram);
        times.settle(&axis);
        assert!(times.heat(&axis, 7, 0, &mut 0).is_none());
        assert!(times.latency(&axis, 0, &mut BinsPerPoint::default()).is_empty());
    }

    #[test]
    fn rounding_keeps_significant_digits_at_any_size() {
        let cases =
            [(0.0, 0.0), (12.3456, 12.35), (0.000_123_456, 0.000_123_5), (98_765.4, 98_770.0), (0.1, 0.1)];
        for (value, expected) in cases {
            assert_eq!(rounded(value, 4), expected);
        }
    }

    #[test]
    fn a_distribution_ends_at_the_greatest_and_says_from_where_on_it_is_uncertain() {
        let distribution = distribution("response", &sparse((1..=1000).map(|n| n * 1_000_000)));
        assert_eq!((distribution.count, distribution.nines.last()), (1000, Some(&3.0)));
        let last = *distribution.ms.last().unwrap();
        assert!((999.0..=1001.0).contains(&last), "{last}");
        let at = |nines: f64| distribution.nines.iter().position(|one| (*one - nines).abs() < 1e-9).unwrap();
        assert!((distribution.ms[at(1.0)] - 900.0).abs() < 1.0);
        assert_eq!(distribution.supported as usize, at(2.0) + 1, "ten of a thousand lie beyond p99");
    }

    #[test]
    fn cells_of_the_heat_map_hold_every_operation() {
        let bins = [sparse([100, 200_000, 200_001]), sparse([]), sparse([5_000_000; 40])];
        let (bins, axis) = binned(&bins);
        let heat = heat_map(&bins, &axis, 2, 0, &mut 0).unwrap().map;
        assert_eq!(heat.every, 2);
        assert_eq!(heat.cells.chunks(3).map(|cell| cell[2]).sum::<u64>(), 43);
        assert!(heat.cells.chunks(3).all(|cell| cell[0] < 2 && cell[1] < u64::from(heat.rows)));
        assert_eq!(heat_map(&Bins::default(), &axis, 2, 0, &mut 0), None);
        let rest = heat_map(&bins, &axis, 2, 2, &mut 2).unwrap();
        assert_eq!((rest.from, &rest.map.cells[..1]), (1, &[1][..]), "what was shown is not shown again");
    }

    #[test]
    fn bins_are_taken_together_until_a_tail_can_be_seen() {
        let bins = |count: u64, bins: usize| vec![count; bins];
        assert_eq!(bins_together(&bins(1000, 40)), 1);
        assert_eq!(bins_together(&bins(300, 100)), 5, "5 bins of 300 support p99");
        assert_eq!(
            bins_together(&bins(100, 60)),
            2,
            "p99 needs ten, which leaves too few points; p95 needs two"
        );
        assert_eq!(bins_together(&bins(1, 30)), 1);
    }
}
