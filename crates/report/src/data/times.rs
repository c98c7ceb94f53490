//! Response, service and first-byte times from the histogram log: percentiles per bin, distributions of the window, and
//! the heat map. Histograms are merged and never averaged; one stage is in memory at a time.

use std::collections::HashMap;

use cosmark_archive::{HistogramLog, LoggedHistogram, Run, TimeKind};
use cosmark_metrics::Phase;

use super::axis::{Axis, Place};
use super::model::{Distribution, HeatMap, LatencySeries};
use super::sparse::{Sparse, VALUES_BEYOND};
use crate::ReportError;

/// Rows of a heat map per factor of ten: about 15 % each.
const ROWS_PER_DECADE: u32 = 16;
/// Points of a distribution per factor of ten of "one in N".
const POINTS_PER_DECADE: u32 = 30;
/// A series keeps at least this many points where wider bins would support more percentiles.
const LEAST_POINTS: usize = 20;

/// What one operation took over time.
#[derive(Debug, Default)]
pub struct OperationTimes {
    /// Successes per bin.
    pub count: Vec<u64>,
    pub latency: Vec<LatencySeries>,
    pub distributions: Vec<Distribution>,
    pub heat: Option<HeatMap>,
}

/// Times of each operation of each stage; `None` for a stage without an axis.
pub type AllTimes = Vec<Option<Vec<OperationTimes>>>;

/// What is collected of one operation.
struct Collected {
    /// One per kind and bin.
    bins: [Vec<Sparse>; 3],
    window: [Sparse; 3],
}

impl Collected {
    fn new(bins: usize) -> Self {
        Self { bins: std::array::from_fn(|_| vec![Sparse::default(); bins]), window: Default::default() }
    }
}

/// Reads the log of a run; the second value counts lines that came after their stage was over.
pub fn read(
    run: &Run,
    places: &HashMap<String, Place>,
    axes: &[Option<Axis>],
    most_columns: u32,
) -> Result<(AllTimes, u64), ReportError> {
    let mut all: AllTimes = axes.iter().map(|_| None).collect();
    let mut open: Option<(usize, Vec<Collected>)> = None;
    let mut late = 0;
    let close = |open: Option<(usize, Vec<Collected>)>, all: &mut AllTimes| {
        let Some((stage, collected)) = open else { return };
        if let Some(slot) = all.get_mut(stage) {
            *slot = Some(collected.iter().map(|one| reduce(one, most_columns)).collect());
        }
    };
    for line in HistogramLog::open(&run.path)? {
        let line = line?;
        let Some(place) = places.get(&line.tag) else { continue };
        let Some(Some(axis)) = axes.get(place.stage) else { continue };
        if open.as_ref().is_none_or(|(stage, _)| *stage != place.stage) {
            if all.get(place.stage).is_some_and(Option::is_some) {
                late += 1;
                continue;
            }
            close(open.take(), &mut all);
            let operations = run.record.stages.get(place.stage).map_or(0, |stage| stage.operations.len());
            let bins = axis.time.bins as usize;
            open = Some((place.stage, (0..operations).map(|_| Collected::new(bins)).collect()));
        }
        if let Some(collected) = open.as_mut().and_then(|(_, ops)| ops.get_mut(place.operation)) {
            add(collected, place, axis, &line);
        }
    }
    close(open.take(), &mut all);
    Ok((all, late))
}

fn kind_index(kind: TimeKind) -> usize {
    TimeKind::ALL.iter().position(|one| *one == kind).unwrap_or(0)
}

fn add(collected: &mut Collected, place: &Place, axis: &Axis, line: &LoggedHistogram) {
    let kind = kind_index(place.kind);
    let bin = axis.bin(line.start, line.length);
    if let Some(sparse) = collected.bins.get_mut(kind).and_then(|bins| bins.get_mut(bin)) {
        sparse.add(&line.histogram);
    }
    if place.phase == Phase::Window
        && let Some(window) = collected.window.get_mut(kind)
    {
        window.add(&line.histogram);
    }
}

fn reduce(collected: &Collected, most_columns: u32) -> OperationTimes {
    let mut times = OperationTimes::default();
    for ((kind, bins), window) in TimeKind::ALL.iter().zip(&collected.bins).zip(&collected.window) {
        if bins.iter().any(|bin| bin.total() > 0) {
            times.latency.push(series(kind.word(), bins));
        }
        if window.total() > 0 {
            times.distributions.push(distribution(kind.word(), window));
        }
    }
    if let Some(response) = collected.bins.first() {
        times.count = response.iter().map(Sparse::total).collect();
        times.heat = heat_map(response, most_columns);
    }
    times
}

/// How many bins have to be taken together so that the 99th percentile, or else the 95th, is supported in most of them,
/// with [`LEAST_POINTS`] points left.
fn bins_together(bins: &[Sparse]) -> usize {
    let mut counts: Vec<u64> = bins.iter().map(Sparse::total).filter(|total| *total > 0).collect();
    counts.sort_unstable();
    let usual = counts.get(counts.len() / 2).copied().unwrap_or(0).max(1);
    let most = (bins.len() / LEAST_POINTS).max(1);
    let wanted = [0.99, 0.95].iter().filter_map(|quantile| {
        let percentile = cosmark_metrics::PERCENTILES.iter().find(|one| one.quantile == *quantile)?;
        usize::try_from(percentile.needs().div_ceil(usual)).ok()
    });
    let nice = [1, 2, 3, 5, 10, 15, 20, 30, 60, 120];
    wanted
        .filter_map(|wanted| nice.iter().copied().find(|every| *every >= wanted))
        .find(|every| *every <= most)
        .unwrap_or(1)
}

fn series(kind: &str, bins: &[Sparse]) -> LatencySeries {
    let every = bins_together(bins);
    let groups: Vec<Sparse> = bins.chunks(every).map(merged).collect();
    let at = |quantile| groups.iter().map(|group| group.supported(quantile).map(ms)).collect();
    LatencySeries {
        kind: kind.to_owned(),
        every: u32::try_from(every).unwrap_or(1),
        count: groups.iter().map(Sparse::total).collect(),
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: groups.iter().map(|group| group.max().map(ms)).collect(),
    }
}

fn merged(bins: &[Sparse]) -> Sparse {
    let mut sum = Sparse::default();
    bins.iter().for_each(|bin| sum.merge(bin));
    sum
}

/// Milliseconds with the four digits that the histogram has.
fn ms(ns: u64) -> f64 {
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

fn heat_map(bins: &[Sparse], most_columns: u32) -> Option<HeatMap> {
    let every = bins.len().div_ceil(most_columns.max(1) as usize).max(1);
    let values = || bins.iter().flat_map(Sparse::iter).map(|(ns, _)| ns);
    let (first_row, last_row) = (row_of(values().min()?), row_of(values().max()?));
    let mut cells = Vec::new();
    for (column, group) in (0_u64..).zip(bins.chunks(every)) {
        let mut filled = std::collections::BTreeMap::<u64, u64>::new();
        for (ns, count) in group.iter().flat_map(Sparse::iter) {
            let row = u64::try_from(row_of(ns) - first_row).unwrap_or(0);
            *filled.entry(row).or_default() += count;
        }
        filled.into_iter().for_each(|(row, count)| cells.extend([column, row, count]));
    }
    Some(HeatMap {
        every: u32::try_from(every).unwrap_or(u32::MAX),
        first_row,
        rows_per_decade: ROWS_PER_DECADE,
        rows: u32::try_from(last_row - first_row + 1).unwrap_or(1),
        cells,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn sparse(values: impl IntoIterator<Item = u64>) -> Sparse {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        values.into_iter().for_each(|value| histogram.record(value).unwrap());
        let mut sparse = Sparse::default();
        sparse.add(&histogram);
        sparse
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
        let heat = heat_map(&bins, 2).unwrap();
        assert_eq!(heat.every, 2);
        assert_eq!(heat.cells.chunks(3).map(|cell| cell[2]).sum::<u64>(), 43);
        assert!(heat.cells.chunks(3).all(|cell| cell[0] < 2 && cell[1] < u64::from(heat.rows)));
        assert_eq!(heat_map(&[Sparse::default()], 2), None);
    }

    #[test]
    fn bins_are_taken_together_until_a_tail_can_be_seen() {
        let bins = |count: u64, bins: usize| vec![sparse((0..count).map(|n| 1000 + n)); bins];
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
