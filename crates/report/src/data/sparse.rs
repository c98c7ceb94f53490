//! A histogram that holds only its filled buckets: hundreds of them fit where one HdrHistogram of an hour in ns takes
//! 290 KiB. Values and percentiles are the same as those of the HdrHistogram it was filled from.

use std::cmp::Ordering;

use hdrhistogram::Histogram;

/// A percentile is shown when at least this many values lie beyond it; the rule of `cosmark_metrics::PERCENTILES`.
pub const VALUES_BEYOND: u64 = 10;

/// The values in ns of a histogram and how many there are of each.
pub fn steps_of(histogram: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
}

/// Filled buckets: the greatest value that each holds, in ns, and how many values, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sparse {
    counts: Vec<(u64, u64)>,
    total: u64,
}

impl Sparse {
    /// Values in ns, ascending, with how many there are of each.
    pub fn of_steps(steps: impl Iterator<Item = (u64, u64)>) -> Self {
        let counts: Vec<(u64, u64)> = steps.collect();
        let total = counts.iter().map(|(_, count)| count).sum();
        Self { counts, total }
    }

    /// Adds all values of another.
    pub fn add_all(&mut self, other: &Self) {
        let Self { counts, total } = other;
        self.total += total;
        if self.counts.is_empty() {
            self.counts.clone_from(counts);
            return;
        }
        let mut sum = Vec::with_capacity(self.counts.len() + counts.len());
        let (mut mine, mut theirs) = (self.counts.as_slice(), counts.as_slice());
        while let (Some((one, left)), Some((other, right))) = (mine.split_first(), theirs.split_first()) {
            match one.0.cmp(&other.0) {
                Ordering::Less => {
                    sum.push(*one);
                    mine = left;
                }
                Ordering::Greater => {
                    sum.push(*other);
                    theirs = right;
                }
                Ordering::Equal => {
                    sum.push((one.0, one.1 + other.1));
                    (mine, theirs) = (left, right);
                }
            }
        }
        sum.extend_from_slice(mine);
        sum.extend_from_slice(theirs);
        self.counts = sum;
    }

    /// How many values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Values in ns and how many there are of each, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().copied()
    }

    /// The least value in ns.
    pub fn min(&self) -> Option<u64> {
        self.counts.first().map(|(ns, _)| *ns)
    }

    /// The greatest value in ns.
    pub fn max(&self) -> Option<u64> {
        self.counts.last().map(|(ns, _)| *ns)
    }

    /// The values in ns that the shares `quantiles` (0..=1, ascending) of all values do not exceed.
    pub fn at_quantiles(&self, quantiles: &[f64]) -> Vec<u64> {
        let mut found = Vec::with_capacity(quantiles.len());
        let mut steps = self.counts.iter();
        let (mut value, mut so_far) = (0, 0);
        for quantile in quantiles {
            #[expect(clippy::cast_precision_loss, reason = "as HdrHistogram does it")]
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive, at most total"
            )]
            let wanted = ((quantile * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
            while so_far < wanted {
                let Some((next, count)) = steps.next() else { break };
                value = *next;
                so_far += count;
            }
            found.push(value);
        }
        found
    }

    /// The percentile in ns, if at least [`VALUES_BEYOND`] values lie beyond it.
    pub fn supported(&self, quantile: f64) -> Option<u64> {
        let needed = cosmark_metrics::PERCENTILES
            .iter()
            .find(|percentile| (percentile.quantile - quantile).abs() < 1e-9)
            .map(cosmark_metrics::Percentile::needs)?;
        (self.total >= needed).then(|| self.at_quantiles(&[quantile]).first().copied()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(seed: u64, values: u64) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        let mut state = seed;
        for _ in 0..values {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            histogram.record(1 + (state >> 40) * (state >> 60)).unwrap();
        }
        histogram
    }

    #[test]
    fn percentiles_are_those_of_the_histograms_that_were_added() {
        let (a, b) = (filled(1, 700), filled(2, 2301));
        let mut whole = a.clone();
        whole.add(&b).unwrap();
        let mut sparse = Sparse::of_steps(steps_of(&a));
        sparse.add_all(&Sparse::of_steps(steps_of(&b)));
        let quantiles = [0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0];
        let expected: Vec<u64> =
            quantiles.iter().map(|quantile| whole.value_at_quantile(*quantile)).collect();
        assert_eq!(sparse.at_quantiles(&quantiles), expected);
        assert_eq!((sparse.total(), sparse.max()), (whole.len(), Some(whole.max())));
    }

    #[test]
    fn a_percentile_without_ten_values_beyond_it_is_withheld() {
        let mut sparse = Sparse::of_steps(steps_of(&filled(3, 999)));
        assert_eq!(sparse.supported(0.99), None);
        assert!(sparse.supported(0.95).is_some());
        sparse.add_all(&Sparse::of_steps(steps_of(&filled(4, 1))));
        assert!(sparse.supported(0.99).is_some());
    }
}
