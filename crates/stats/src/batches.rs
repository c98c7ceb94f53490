//! Results of one operation over time: counts and distributions in a bounded number of batches of equal length. What the
//! bootstrap draws from.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use cosmark_metrics::OpSnapshot;

/// More batches are merged in pairs: enough for any block length, little in memory.
pub const MOST_BATCHES: usize = 512;

/// What is missing to a whole batch is nothing where it is no more than this part of it.
const NEARLY_WHOLE: u32 = 100;

/// What ended in one batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Successes.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// Response times of successes: time in ns and how many.
    times: BTreeMap<u64, u64>,
    /// How much longer than its width it is.
    more_ns: u64,
}

/// Batches from the start of the measured window on.
#[derive(Debug, Clone, PartialEq)]
pub struct Batches {
    width_ns: u64,
    /// How much longer the first of them is.
    head_ns: u64,
    batches: Vec<Batch>,
}

impl Batch {
    /// Response times of successes in ns, by growing time, and how often each occurred.
    pub fn times(&self) -> impl Iterator<Item = (u64, u64)> {
        self.times.iter().map(|(value, count)| (*value, *count))
    }

    /// Successes that took longer than `limit_ns`.
    #[must_use]
    pub fn beyond(&self, limit_ns: u64) -> u64 {
        self.times.range(limit_ns.saturating_add(1)..).map(|(_, count)| count).sum()
    }

    fn merge(&mut self, other: &Self) {
        let Self { ok, failed, bytes, times, more_ns } = other;
        self.ok += ok;
        self.failed += failed;
        self.bytes += bytes;
        self.more_ns = self.more_ns.saturating_add(*more_ns);
        for (value, count) in times {
            *self.times.entry(*value).or_default() += count;
        }
    }

    fn add_times(&mut self, times: &Histogram<u64>) {
        for step in times.iter_recorded() {
            // The middle of the bucket, not its end: a limit in the middle of a bucket then counts right on average.
            let value = times.median_equivalent(step.value_iterated_to());
            *self.times.entry(value).or_default() += step.count_since_last_iteration();
        }
    }
}

impl Batches {
    /// Empty; batches begin with this length.
    #[must_use]
    pub fn new(width_ns: u64) -> Self {
        Self::behind(0, width_ns)
    }

    /// The same of a window that begins `head_ns` before a whole slice does: the slice that its start cuts off belongs to
    /// the first batch, which is longer by that. Its requests count like all others, and [`Batches::per_width`] has its
    /// rate.
    #[must_use]
    pub fn behind(head_ns: u64, width_ns: u64) -> Self {
        Self { width_ns: width_ns.max(1), head_ns, batches: Vec::new() }
    }

    /// Length of a batch in ns.
    #[must_use]
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// The batches, in order of time.
    #[must_use]
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// What each batch has of an amount in the length that they all have.
    #[expect(clippy::cast_precision_loss, reason = "lengths need no more than 53 bits")]
    pub fn per_width(&self, amount: impl Fn(&Batch) -> f64) -> impl Iterator<Item = f64> {
        let width_ns = self.width_ns as f64;
        self.batches.iter().map(move |batch| amount(batch) / (1.0 + batch.more_ns as f64 / width_ns))
    }

    fn at(&mut self, offset_ns: u64) -> &mut Batch {
        let offset_ns = offset_ns.saturating_sub(self.head_ns);
        while offset_ns / self.width_ns >= MOST_BATCHES as u64 {
            self.halve();
        }
        let at = usize::try_from(offset_ns / self.width_ns).unwrap_or(MOST_BATCHES - 1);
        if self.batches.len() <= at {
            self.batches.resize(at + 1, Batch::default());
        }
        &mut self.batches[at]
    }

    fn halve(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        self.batches = self
            .batches
            .chunks(2)
            .map(|pair| {
                let mut sum = Batch::default();
                pair.iter().for_each(|batch| sum.merge(batch));
                sum
            })
            .collect();
    }

    /// Adds what ended `offset_ns` after the start of the window.
    pub fn add(&mut self, offset_ns: u64, op: &OpSnapshot) {
        let batch = self.at(offset_ns);
        batch.ok += op.ok;
        batch.failed += op.failed;
        batch.bytes += op.bytes;
        if let Some(times) = op.response_or_service().filled() {
            batch.add_times(&times);
        }
    }

    /// Adds one success that took `response_ns`.
    pub fn add_one(&mut self, offset_ns: u64, response_ns: u64) {
        let batch = self.at(offset_ns);
        batch.ok += 1;
        *batch.times.entry(response_ns).or_default() += 1;
    }

    /// Adds a distribution of successes that was written down.
    pub fn add_times(&mut self, offset_ns: u64, times: &Histogram<u64>) {
        let batch = self.at(offset_ns);
        batch.ok += times.len();
        batch.add_times(times);
    }

    /// Adds empty batches up to this length, and leaves out what lies behind the last whole batch: the last, short one
    /// would look slow. One that is whole but for a hundredth is whole: windows are some ms longer or shorter than they
    /// were to be.
    pub fn close(&mut self, window_ns: u64) {
        let reach_ns = window_ns.saturating_sub(self.head_ns);
        let whole = reach_ns.saturating_add(self.width_ns / u64::from(NEARLY_WHOLE)) / self.width_ns;
        let whole = usize::try_from(whole).unwrap_or(MOST_BATCHES).clamp(1, MOST_BATCHES);
        self.batches.resize(whole, Batch::default());
        if let Some(first) = self.batches.first_mut() {
            first.more_ns = self.head_ns;
        }
    }

    /// Leaves out the first `count` batches.
    pub fn cut(&mut self, count: usize) {
        self.batches.drain(..count.min(self.batches.len()));
    }

    /// Joins two runs of the same thing, one behind the other.
    pub fn append(&mut self, other: &Self) {
        let mut other = other.clone();
        while other.width_ns < self.width_ns {
            other.halve();
        }
        while self.width_ns < other.width_ns {
            self.halve();
        }
        self.batches.extend(other.batches);
        while self.batches.len() > MOST_BATCHES {
            self.halve();
        }
    }

    /// The sum of all batches.
    #[must_use]
    pub fn total(&self) -> Batch {
        let mut sum = Batch::default();
        self.batches.iter().for_each(|batch| sum.merge(batch));
        sum
    }

    /// Prepares reading quantiles of weighted batches.
    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        let values: Vec<u64> = self.total().times.into_keys().collect();
        let below = self
            .batches
            .iter()
            .map(|batch| {
                let mut sum = 0_u64;
                let count = |value| {
                    sum += batch.times.get(value).copied().unwrap_or(0);
                    sum
                };
                values.iter().map(count).collect()
            })
            .collect();
        Quantiles { values, below }
    }
}

impl Batch {
    /// Quantile of the response times of successes; `None` when there is none.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let count: u64 = self.times.values().sum();
        let mut left = wanted(count, quantile)?;
        for (value, count) in &self.times {
            if *count >= left {
                return Some(*value);
            }
            left -= count;
        }
        None
    }

    /// Mean response time of successes in ns; `None` when there is none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
    pub fn mean_ns(&self) -> Option<f64> {
        let count: u64 = self.times.values().sum();
        let sum: f64 = self.times.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }
}

/// Logged slices that differ by less than this part of them are of one length.
const JITTER: u32 = 50;
/// Logs have whole ms, of a start and of a length.
const ROUNDED: Duration = Duration::from_millis(2);
/// Slices are never shorter, unless the window is.
const SHORTEST: Duration = Duration::from_millis(50);

/// The slices in which the window of one operation was logged, counted from any moment. One in which nothing ended is not
/// there, and those at both ends of a window may be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    /// When the first of the longest begins, and how long these are.
    origin: Duration,
    width: Duration,
    /// From when to when there are any.
    first: Duration,
    last: Duration,
}

impl Slices {
    /// Those before, if there are any, and one more.
    #[must_use]
    pub fn and(before: Option<Self>, start: Duration, length: Duration) -> Self {
        let (end, width) = (start.saturating_add(length), length.max(SHORTEST));
        let Some(before) = before else { return Self { origin: start, width, first: start, last: end } };
        let all = Self { first: before.first.min(start), last: before.last.max(end), ..before };
        if width > all.width + all.width / JITTER {
            Self { origin: start, width, ..all }
        } else if start < all.origin && width + width / JITTER >= all.width {
            Self { origin: start, ..all }
        } else {
            all
        }
    }

    /// The whole slices of a window that is so long and began then, where that is known: else it began with the first slice.
    /// Those that are not there because nothing ended in them count, too.
    #[must_use]
    pub fn whole(&self, began: Option<Duration>, window: Option<Duration>) -> WholeSlices {
        let Self { origin, width, first, last } = *self;
        let window = window.unwrap_or(last.saturating_sub(first));
        let began = began.unwrap_or(first).min(first);
        // Nothing that is logged lies outside of its window: the other end tells where that is.
        let is_possible = last <= began.saturating_add(window).saturating_add(width);
        let began = if is_possible { began } else { first };
        let room = (width / JITTER / 2).max(ROUNDED);
        let late = origin.saturating_add(room).saturating_sub(began).as_nanos() % width.as_nanos();
        let late = Duration::from_nanos(u64::try_from(late).unwrap_or(u64::MAX));
        let missing = if late > 2 * room { late.saturating_sub(room) } else { Duration::ZERO };
        WholeSlices {
            origin: began.saturating_add(late).saturating_sub(room),
            width,
            reach: window.saturating_sub(missing),
        }
    }
}

/// Where the whole slices of a window lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeSlices {
    origin: Duration,
    width: Duration,
    /// From the first of them to the end of the window.
    reach: Duration,
}

impl WholeSlices {
    /// Empty batches of their length.
    #[must_use]
    pub fn batches(&self) -> Batches {
        Batches::new(nanoseconds(self.width))
    }

    /// Adds what is logged of one slice. What lies before the first whole one is left out.
    pub fn add(&self, batches: &mut Batches, start: Duration, length: Duration, times: &Histogram<u64>) {
        // The middle of a slice tells its batch.
        let middle = start.saturating_add(length / 2);
        if let Some(offset) = middle.checked_sub(self.origin) {
            batches.add_times(nanoseconds(offset), times);
        }
    }

    /// When the first of them begins.
    #[must_use]
    pub fn start(&self) -> Duration {
        self.origin
    }

    /// How long each of them is.
    #[must_use]
    pub fn width(&self) -> Duration {
        self.width
    }

    /// How many of them there are up to the end of the window. One that is whole but for a hundredth is whole.
    #[must_use]
    pub fn count(&self) -> usize {
        let reach = self.reach.saturating_add(self.width / NEARLY_WHOLE);
        usize::try_from(reach.as_nanos() / self.width.as_nanos().max(1)).unwrap_or(usize::MAX)
    }

    /// Which of them a slice is; `None` before the first.
    #[must_use]
    pub fn place(&self, start: Duration, length: Duration) -> Option<usize> {
        // The middle of a slice tells it.
        let offset = start.saturating_add(length / 2).checked_sub(self.origin)?;
        usize::try_from(offset.as_nanos() / self.width.as_nanos().max(1)).ok()
    }

    /// Adds empty batches up to the end of the window, and leaves out what is no whole one there.
    pub fn close(&self, batches: &mut Batches) {
        batches.close(nanoseconds(self.reach));
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How many of `count` ordered values lie at or below the quantile, 1 or more.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and count"
)]
fn wanted(count: u64, quantile: f64) -> Option<u64> {
    (count > 0).then(|| ((count as f64 * quantile).ceil() as u64).clamp(1, count))
}

/// Sums of the counts of each batch up to each value: a quantile of any mix of batches is a search in them.
#[derive(Debug)]
pub struct Quantiles {
    values: Vec<u64>,
    below: Vec<Vec<u64>>,
}

impl Quantiles {
    /// The quantile when batch k counts `weights[k]` times.
    #[must_use]
    pub fn weighted_ns(&self, weights: &[u32], quantile: f64) -> Option<u64> {
        let up_to = |at: usize| -> u64 {
            let parts = self.below.iter().zip(weights).filter(|(_, weight)| **weight > 0);
            parts.map(|(below, weight)| below.get(at).copied().unwrap_or(0) * u64::from(*weight)).sum()
        };
        let wanted = wanted(up_to(self.values.len().checked_sub(1)?), quantile)?;
        let (mut low, mut high) = (0, self.values.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if up_to(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        self.values.get(low).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_metrics::Latency;

    fn times(values: impl Iterator<Item = u64>) -> Latency {
        let mut latency = Latency::default();
        values.for_each(|ns| latency.record(ns));
        latency
    }

    #[test]
    fn weighted_quantiles_are_those_of_the_merged_times() {
        let mut batches = Batches::new(1_000);
        let parts = [times((1..500).map(|k| k * 1000)), times((300..900).map(|k| k * 1000))];
        for (k, part) in (0..).zip(&parts) {
            batches.add_times(k * 1_000, &part.filled().unwrap());
        }
        let quantiles = batches.quantiles();
        for quantile in [0.01, 0.5, 0.95, 1.0] {
            assert_eq!(quantiles.weighted_ns(&[1, 1], quantile), batches.total().quantile_ns(quantile));
            let first = batches.batches()[0].quantile_ns(quantile);
            assert_eq!(quantiles.weighted_ns(&[3, 0], quantile), first);
            let exact = parts[0].quantile_ns(quantile).unwrap();
            assert!((first.unwrap() as f64 / exact as f64 - 1.0).abs() < 2e-3);
        }
        assert_eq!(quantiles.weighted_ns(&[0, 0], 0.5), None);
        assert_eq!(Batches::new(5).quantiles().weighted_ns(&[], 0.5), None);
    }

    #[test]
    fn a_long_run_is_kept_in_a_bounded_number_of_batches_without_losing_anything() {
        let mut batches = Batches::new(1_000);
        let op = OpSnapshot { ok: 2, failed: 1, bytes: 10, ..OpSnapshot::default() };
        (0..10_000_u64).for_each(|k| batches.add(k * 1_000, &op));
        assert!(batches.batches().len() <= MOST_BATCHES, "{}", batches.batches().len());
        let total = batches.total();
        assert_eq!((total.ok, total.failed, total.bytes), (20_000, 10_000, 100_000));
        batches.add(u64::MAX, &op);
        assert_eq!(batches.total().ok, 20_002);
    }

    #[test]
    fn the_short_end_of_a_window_is_left_out_and_idle_time_is_not() {
        let mut batches = Batches::new(1_000);
        let op = OpSnapshot { failed: 1, ..OpSnapshot::default() };
        batches.add(0, &op);
        batches.add(4_100, &op);
        batches.close(4_200);
        assert_eq!(batches.batches().iter().map(|b| b.failed).collect::<Vec<_>>(), [1, 0, 0, 0]);
        let mut joined = batches.clone();
        joined.append(&batches);
        assert_eq!(joined.batches().len(), 8);
        joined.cut(5);
        assert_eq!(joined.total().failed, 0);
    }

    #[test]
    fn a_first_batch_that_is_longer_loses_nothing_and_has_the_rate_of_the_others() {
        let mut batches = Batches::behind(600, 1_000);
        for (offset_ns, ok) in [(0, 6), (600, 10), (1_600, 10), (2_600, 5)] {
            batches.add(offset_ns, &OpSnapshot { ok, ..OpSnapshot::default() });
        }
        batches.close(3_100);
        assert_eq!(batches.batches().iter().map(|batch| batch.ok).collect::<Vec<_>>(), [16, 10]);
        let mut joined = batches.clone();
        (0..300).for_each(|_| joined.append(&batches));
        assert_eq!((joined.width_ns(), joined.total().ok), (2_000, 301 * 26));
        for (batches, wanted) in [(batches, 10.0), (joined, 20.0)] {
            let rates: Vec<f64> = batches.per_width(|batch| batch.ok as f64).collect();
            assert!(rates.iter().all(|rate| (rate - wanted).abs() < 1e-9), "{rates:?}");
        }
        // A window that ends before a whole slice begins is one batch.
        let mut short = Batches::behind(600, 1_000);
        short.add(0, &OpSnapshot { ok: 3, ..OpSnapshot::default() });
        short.close(300);
        assert_eq!((short.batches().len(), short.total().ok), (1, 3));
    }

    #[test]
    fn the_whole_slices_of_a_window_are_all_of_it_but_for_some_ms_and_what_is_cut_off() {
        let ms = Duration::from_millis;
        // Ten a second; which slices there are, when the window began and how long it was: how many are whole, and in which
        // of them something ended.
        type Case<'a> = (&'a [(u64, u64)], Option<u64>, u64, &'a [u64]);
        let all: Vec<(u64, u64)> = (0..8).map(|k| (300 + k * 1000, 1000)).collect();
        let and = |own: &[(u64, u64)], more: &[(u64, u64)]| [own, more].concat();
        let (short, long) = (and(&all[..7], &[(7300, 990)]), and(&all, &[(8300, 10)]));
        let cut = and(&and(&[(800, 500)], &all[1..]), &[(8300, 500)]);
        let cases: [Case<'_>; 9] = [
            (&all, Some(300), 8000, &[1; 8]),
            (&short, Some(301), 7990, &[1; 8]),
            (&long, Some(299), 8010, &[1; 8]),
            (&all, None, 8000, &[1; 8]),
            // What is cut off at the ends is no slice.
            (&cut, Some(800), 8000, &[1; 7]),
            (&cut, None, 8000, &[1; 7]),
            // Nothing ended in the first two seconds, or in the last.
            (&all[2..], Some(300), 8000, &[0, 0, 1, 1, 1, 1, 1, 1]),
            (&all[..7], Some(300), 8000, &[1, 1, 1, 1, 1, 1, 1, 0]),
            // A clock that cannot be right.
            (&all, Some(0), 2000, &[1; 2]),
        ];
        for (slices, began, window, wanted) in cases {
            let seen = slices
                .iter()
                .fold(None, |seen, (start, length)| Some(Slices::and(seen, ms(*start), ms(*length))));
            let whole = seen.unwrap().whole(began.map(ms), Some(ms(window)));
            let (mut batches, ten) = (whole.batches(), times((1..=10).map(|k| k * 1_000_000)));
            for (start, length) in slices {
                whole.add(&mut batches, ms(*start), ms(*length), &ten.filled().unwrap());
            }
            whole.close(&mut batches);
            let found: Vec<u64> = batches.batches().iter().map(|batch| batch.ok / 10).collect();
            assert_eq!(found, wanted, "{slices:?} {began:?} {window}");
        }
    }
}
