//! Standard errors of what is read from a series of intervals, with regard to how much each interval resembles the last.
//!
//! The stationary bootstrap (Politis and Romano, JASA 89, 1994) with the automatic block length of Politis and White
//! (Econometric Reviews 23, 2004) as corrected by Patton, Politis and White (Econometric Reviews 28, 2009). Short series
//! make every bootstrap too sure of itself, so the error is never taken below that of a few long batch means, nor, where
//! neighbours resemble each other for certain, below that of an autoregressive series.

use super::special::t_critical;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small, seeded, the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 <= x < 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 0 <= k < n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = u128::from(self.next_u64()) * (n as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// Puts a list into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series are far below 2^53")]
fn real(n: usize) -> f64 {
    n as f64
}

/// Mean of a series; 0 when empty.
#[must_use]
pub fn mean(series: &[f64]) -> f64 {
    if series.is_empty() { 0.0 } else { series.iter().sum::<f64>() / real(series.len()) }
}

fn autocovariances(series: &[f64], most: usize) -> Vec<f64> {
    let center = mean(series);
    let n = real(series.len());
    (0..=most)
        .map(|lag| {
            series.iter().zip(series.iter().skip(lag)).map(|(a, b)| (a - center) * (b - center)).sum::<f64>()
                / n
        })
        .collect()
}

/// The mean block length that the series asks for, between 1 and what its length allows.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers, bounded by the length of the series"
)]
pub fn block_length(series: &[f64]) -> f64 {
    let n = series.len();
    if n < 8 {
        return 1.0;
    }
    let longest = (3.0 * real(n).sqrt()).min(real(n) / 3.0).ceil().max(1.0);
    let run = (real(n).log10().sqrt().ceil() as usize).max(5);
    let most = (real(n).sqrt().ceil() as usize + run).min(n - 1);
    let covariance = autocovariances(series, (2 * most).min(n - 1));
    let Some(variance) = covariance.first().copied().filter(|v| *v > 0.0) else { return 1.0 };
    // The lag after which `run` correlations in a row cannot be told from 0.
    let insignificant = 2.0 * (real(n).log10() / real(n)).sqrt();
    let small = |lag: usize| covariance.get(lag).is_none_or(|c| (c / variance).abs() < insignificant);
    let last = (0..=most).find(|m| (1..=run).all(|k| small(m + k))).unwrap_or(most);
    let width = (2 * last.max(1)).min(covariance.len() - 1);
    let (mut slope, mut level) = (0.0, variance);
    for (lag, value) in covariance.iter().enumerate().take(width + 1).skip(1) {
        let share = real(lag) / real(width);
        // The flat-top window: 1 up to the middle, then down to 0.
        let weight = if share <= 0.5 { 1.0 } else { 2.0 * (1.0 - share) };
        slope += 2.0 * weight * real(lag) * value;
        level += 2.0 * weight * value;
    }
    if level <= 0.0 {
        // Neighbours that contradict each other: single intervals overstate the error, and that is the safe side.
        return 1.0;
    }
    let length = (2.0 * slope * slope / (2.0 * level * level)).cbrt() * real(n).cbrt();
    length.clamp(1.0, longest)
}

/// How often each of the `weights.len()` intervals is in one resample of blocks with this mean length.
pub fn resample(block: f64, random: &mut Random, weights: &mut [u32]) {
    weights.fill(0);
    let n = weights.len();
    let leave = 1.0 / block.max(1.0);
    let mut at = random.below(n);
    for _ in 0..n {
        if let Some(weight) = weights.get_mut(at) {
            *weight += 1;
        }
        at = if random.unit() < leave { random.below(n) } else { (at + 1) % n };
    }
}

/// A value and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error: how many independent pieces the series is worth, minus 1.
    pub degrees: f64,
}

/// Fewer intervals are not resampled.
const LEAST_RESAMPLED: usize = 8;

/// Rounds of resampling; the error of the error is then about 3 %.
pub const ROUNDS: usize = 600;

/// Estimates `statistic`, a function of how often each of `series.len()` intervals counts. `series` is what the block length
/// is chosen by. `None` when the statistic has no value on the whole series, or there are fewer than 3 intervals.
pub fn estimate(
    series: &[f64],
    seed: u64,
    mut statistic: impl FnMut(&[u32]) -> Option<f64>,
) -> Option<Estimate> {
    let found = estimate_by_blocks(series, seed, &mut statistic)?;
    let Some((error, degrees)) = error_by_memory(series, seed, &mut statistic) else { return Some(found) };
    let reach = |error: f64, degrees: f64| t_critical(ALPHA, degrees) * error;
    let is_wider = reach(error, degrees) > reach(found.error, found.degrees);
    Some(if is_wider { Estimate { error, degrees, ..found } } else { found })
}

/// Where two errors with their degrees of freedom are compared: by 95 % intervals.
const ALPHA: f64 = 0.05;
/// The memory of a shorter series is not known.
const LEAST_REMEMBERED: usize = 20;
/// Standard errors that the correlation of neighbours has to be away from none: chance alone makes it in one of a thousand.
const CERTAIN: f64 = 3.0;

/// The error and its degrees of freedom, if the memory of the series is that of a first-order autoregressive one: blocks and
/// batches of a short series are too short for a long memory. The correlation of neighbours is seen too small by
/// (1 + 4 r) / n (Marriott and Pope, Biometrika 41, 1954), and the spread by what the mean takes with it. `None` where
/// nothing is certain of it.
fn error_by_memory(
    series: &[f64],
    seed: u64,
    statistic: &mut impl FnMut(&[u32]) -> Option<f64>,
) -> Option<(f64, f64)> {
    let n = real(series.len());
    if series.len() < LEAST_REMEMBERED {
        return None;
    }
    let [variance, covariance]: [f64; 2] = autocovariances(series, 1).try_into().ok()?;
    let seen = Some(covariance / variance).filter(|seen| *seen > CERTAIN / n.sqrt())?;
    let r = (seen + (1.0 + 4.0 * seen) / n).min(0.99);
    // So many intervals are worth one that is independent.
    let worth = ((1.0 + r) / (1.0 - r)).min(n / 3.0);
    let mut random = Random::new(!seed);
    let mut weights = vec![1_u32; series.len()];
    let mut values = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        resample(1.0, &mut random, &mut weights);
        values.extend(statistic(&weights).filter(|v| v.is_finite()));
    }
    let independent = deviation(&values) * (n / (n - 1.0)).sqrt();
    let error = independent * (worth / (1.0 - worth / n)).sqrt();
    Some((error, (n / worth - 1.0).max(LEAST_DEGREES)))
}

/// Of four batches, the fewest that an error is ever of.
const LEAST_DEGREES: f64 = 3.0;

/// The same by blocks and batches alone.
pub(crate) fn estimate_by_blocks(
    series: &[f64],
    seed: u64,
    statistic: &mut impl FnMut(&[u32]) -> Option<f64>,
) -> Option<Estimate> {
    let n = series.len();
    if n < 3 {
        return None;
    }
    let mut weights = vec![1_u32; n];
    let value = statistic(&weights).filter(|v| v.is_finite())?;
    if n < LEAST_RESAMPLED {
        // Too few to resample: each interval is a batch, and the few degrees of freedom widen what follows.
        let error = batch_error(n, n, &mut weights, statistic);
        return Some(Estimate { value, error, degrees: real(n - 1) });
    }
    let block = block_length(series);
    let mut random = Random::new(seed);
    let mut values = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        resample(block, &mut random, &mut weights);
        values.extend(statistic(&weights).filter(|v| v.is_finite()));
    }
    let effective = (real(n) / block).max(2.0);
    let bootstrap = deviation(&values) * (effective / (effective - 1.0)).sqrt();
    let batches = batch_pieces(n);
    let batch_error = batch_error(n, batches, &mut weights, statistic);
    let (error, degrees) =
        if batch_error > bootstrap { (batch_error, real(batches - 1)) } else { (bootstrap, effective - 1.0) };
    Some(Estimate { value, error, degrees })
}

/// Four to ten batches: enough of them to have a variance that is worth something, each long enough to forget the last as far
/// as the series allows.
fn batch_pieces(n: usize) -> usize {
    (n / 5).clamp(4, 10)
}

fn batch_error(
    n: usize,
    pieces: usize,
    weights: &mut [u32],
    statistic: &mut impl FnMut(&[u32]) -> Option<f64>,
) -> f64 {
    let mut values = Vec::with_capacity(pieces);
    for piece in 0..pieces {
        weights.fill(0);
        weights.iter_mut().take((piece + 1) * n / pieces).skip(piece * n / pieces).for_each(|w| *w = 1);
        values.extend(statistic(weights).filter(|v| v.is_finite()));
    }
    if values.len() < pieces { 0.0 } else { deviation(&values) / real(pieces).sqrt() }
}

/// Standard deviation of a sample; 0 for fewer than two values.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    (values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / (real(values.len()) - 1.0)).sqrt()
}

/// Median; `None` when empty.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        Some(upper)
    } else {
        sorted.get(middle - 1).map(|lower| f64::midpoint(*lower, upper))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A standard normal number by summing: good enough to 4 sigma.
    pub(crate) fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    /// A first-order autoregressive series around `level` with this relative spread.
    pub(crate) fn series(random: &mut Random, n: usize, phi: f64, level: f64, spread: f64) -> Vec<f64> {
        let mut last = normal(random);
        (0..n)
            .map(|_| {
                last = phi * last + (1.0 - phi * phi).sqrt() * normal(random);
                level * (1.0 + spread * last)
            })
            .collect()
    }

    fn weighted_mean(series: &[f64], weights: &[u32]) -> Option<f64> {
        let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
        Some(series.iter().zip(weights).map(|(x, w)| x * f64::from(*w)).sum::<f64>() / total)
    }

    #[test]
    fn blocks_grow_with_the_memory_of_the_series() {
        let mut random = Random::new(1);
        let mut average = |phi: f64| {
            mean(
                &(0..40).map(|_| block_length(&series(&mut random, 200, phi, 10.0, 0.1))).collect::<Vec<_>>(),
            )
        };
        let (none, some, strong) = (average(0.0), average(0.5), average(0.9));
        assert!(none < 4.0 && some > none && strong > 1.5 * some, "{none} {some} {strong}");
        assert_eq!(block_length(&[1.0; 50]), 1.0, "a constant series has no memory");
        assert_eq!(block_length(&[]), 1.0);
    }

    #[test]
    fn intervals_of_autocorrelated_series_cover_the_truth_about_as_often_as_they_say() {
        let mut random = Random::new(7);
        for (phi, least) in [(0.0, 92), (0.5, 90), (0.8, 85)] {
            let covered = (0..100)
                .filter(|trial| {
                    let series = series(&mut random, 120, phi, 100.0, 0.05);
                    let found = estimate(&series, *trial, |w| weighted_mean(&series, w)).unwrap();
                    (found.value - 100.0).abs() <= t_critical(0.05, found.degrees) * found.error
                })
                .count();
            assert!(covered >= least, "phi {phi}: {covered} of 100");
        }
    }

    /// A minute by the second: blocks and batches alone cover 85 of 100 at 0.8 and 70 at 0.9.
    #[test]
    fn intervals_of_a_minute_that_remembers_for_long_cover_the_truth_too() {
        let mut random = Random::new(19);
        for (phi, least) in [(0.0, 91), (0.7, 88), (0.8, 90), (0.9, 86)] {
            let (mut covered, mut wider) = (0, 0);
            for trial in 0..100 {
                let series = series(&mut random, 60, phi, 100.0, 0.05);
                let mut of = |w: &[u32]| weighted_mean(&series, w);
                let by_blocks = estimate_by_blocks(&series, trial, &mut of).unwrap();
                let found = estimate(&series, trial, of).unwrap();
                covered +=
                    usize::from((found.value - 100.0).abs() <= t_critical(0.05, found.degrees) * found.error);
                wider += usize::from(found != by_blocks);
            }
            assert!(covered >= least, "phi {phi}: {covered} of 100");
            assert!(if phi > 0.0 { wider > 60 } else { wider < 3 }, "phi {phi}: {wider} are wider");
        }
    }

    #[test]
    fn the_error_of_independent_numbers_is_that_of_the_textbook() {
        let mut random = Random::new(3);
        let errors: Vec<f64> = (0..20)
            .map(|seed| {
                let series = series(&mut random, 400, 0.0, 100.0, 0.05);
                estimate(&series, seed, |w| weighted_mean(&series, w)).unwrap().error
            })
            .collect();
        let typical = median(&errors).unwrap();
        assert!((0.2..0.36).contains(&typical), "5 / sqrt(400) = 0.25, found {typical}");
    }

    #[test]
    fn too_few_intervals_have_no_error() {
        assert!(estimate(&[1.0; 2], 1, |_| Some(1.0)).is_none());
        assert!(estimate(&[1.0; 9], 1, |_| None).is_none());
    }

    #[test]
    fn a_shuffle_keeps_everything_and_is_the_same_for_the_same_seed() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(4), order(4));
        assert_ne!(order(4), order(5));
        let mut sorted = order(4);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<u32>>());
    }
}
