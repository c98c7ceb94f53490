//! A mergeable distribution of times: HdrHistogram (hdrhistogram.org), nanoseconds, 3 significant digits, up to 1 h.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Longer times are recorded as this: one hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Times and their exact sum. The histogram (about 290 KiB) is made with the first time that is recorded.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    histogram: Option<Box<Histogram<u64>>>,
    sum_ns: u128,
}

fn new_histogram() -> Option<Box<Histogram<u64>>> {
    // The bounds are constants that the library accepts (1 <= low, 2 low <= high, digits 0..=5).
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).ok().map(Box::new)
}

impl Latency {
    /// Empty, with the histogram made at once so that recording never allocates.
    #[must_use]
    pub fn preallocated() -> Self {
        Self { histogram: new_histogram(), sum_ns: 0 }
    }

    /// Adds one time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if self.histogram.is_none() {
            self.histogram = new_histogram();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns.clamp(1, HIGHEST_NS));
            self.sum_ns += u128::from(ns);
        }
    }

    /// Adds all times of another.
    pub fn merge(&mut self, other: &Self) {
        let Self { histogram, sum_ns } = other;
        self.sum_ns += sum_ns;
        let Some(theirs) = histogram else { return };
        if theirs.is_empty() {
            return;
        }
        match &mut self.histogram {
            // Same bounds on both sides, so adding cannot fail.
            Some(ours) => ours.add(theirs.as_ref()).unwrap_or_default(),
            None => self.histogram = Some(theirs.clone()),
        }
    }

    /// How many times were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// Sum of all times.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Mean in ns; `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        #[expect(clippy::cast_precision_loss, reason = "a mean of nanoseconds needs no more than 53 bits")]
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// Least time in ns.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        self.filled().map(|histogram| histogram.min())
    }

    /// Greatest time in ns (upper edge of its bucket, at most 0.1 % above).
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.filled().map(|histogram| histogram.max())
    }

    /// The time that the share `quantile` (0..=1) of all times does not exceed.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        self.filled().map(|histogram| histogram.value_at_quantile(quantile))
    }

    /// Counts in buckets of equal width; the last entry holds all that is beyond.
    #[must_use]
    pub fn buckets(&self, width_ns: u64, buckets: usize) -> Vec<u64> {
        let mut counts = vec![0; buckets + 1];
        if let Some(histogram) = &self.histogram {
            for step in histogram.iter_recorded() {
                let at = usize::try_from(step.value_iterated_to() / width_ns.max(1)).unwrap_or(usize::MAX);
                counts[at.min(buckets)] += step.count_since_last_iteration();
            }
        }
        counts
    }

    /// The histogram, if anything was recorded; for the histogram log.
    #[must_use]
    pub fn filled(&self) -> Option<&Histogram<u64>> {
        self.histogram.as_deref().filter(|histogram| !histogram.is_empty())
    }
}

/// The same as counts of what occurred: some kilobytes where a histogram has hundreds, for those who keep very many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SparseLatency {
    counts: BTreeMap<u64, u64>,
    sum_ns: u128,
}

impl SparseLatency {
    /// Adds all times of a distribution.
    pub fn add(&mut self, times: &Latency) {
        self.sum_ns += times.sum_ns;
        if let Some(histogram) = times.filled() {
            for step in histogram.iter_recorded() {
                *self.counts.entry(step.value_iterated_to()).or_default() += step.count_at_value();
            }
        }
    }

    /// The distribution.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let mut histogram = if self.counts.is_empty() { None } else { new_histogram() };
        if let Some(histogram) = &mut histogram {
            for (ns, count) in &self.counts {
                histogram.saturating_record_n((*ns).clamp(1, HIGHEST_NS), *count);
            }
        }
        Latency { histogram, sum_ns: self.sum_ns }
    }
}

/// Bytes of the exact sum before the histogram.
const SUM_BYTES: usize = 16;
/// Bytes before the counts of the V2 encoding.
const HEAD_BYTES: usize = 40;
/// A longer encoding is damage: 30 000 counts of at most 9 bytes.
const MOST_BYTES: usize = 1 << 19;

impl Latency {
    /// The exact sum and, if anything was recorded, the histogram in HdrHistogram's V2 encoding.
    fn encoded(&self) -> Option<Vec<u8>> {
        let mut bytes = self.sum_ns.to_be_bytes().to_vec();
        if let Some(histogram) = self.filled() {
            V2Serializer::new().serialize(histogram, &mut bytes).ok()?;
        }
        Some(bytes)
    }

    fn decoded(bytes: &[u8]) -> Result<Self, &'static str> {
        let (sum, histogram) = bytes.split_at_checked(SUM_BYTES).ok_or("a distribution is cut short")?;
        let sum_ns = u128::from_be_bytes(sum.try_into().map_err(|_| "a distribution is cut short")?);
        if histogram.is_empty() {
            return Ok(Self { histogram: None, sum_ns });
        }
        // Looked at before anything is allocated: others could not be merged with ours.
        let number = |at: usize, len: usize| histogram.get(at..at + len).unwrap_or_default();
        let ours = histogram.len() >= HEAD_BYTES
            && histogram.len() <= MOST_BYTES
            && number(12, 4) == 3_u32.to_be_bytes()
            && number(16, 8) == 1_u64.to_be_bytes()
            && number(24, 8) == HIGHEST_NS.to_be_bytes();
        if !ours {
            return Err("a distribution has other bounds than this version's");
        }
        let mut cursor = histogram;
        let histogram =
            Deserializer::new().deserialize(&mut cursor).map_err(|_| "a distribution is damaged")?;
        Ok(Self { histogram: Some(Box::new(histogram)), sum_ns })
    }
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let bytes = self.encoded().ok_or_else(|| S::Error::custom("a distribution cannot be encoded"))?;
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Latency;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the bytes of a distribution")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Latency, E> {
                Latency::decoded(bytes).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Latency, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element::<u8>()? {
                    if bytes.len() > SUM_BYTES + MOST_BYTES {
                        return Err(A::Error::custom("a distribution is too long"));
                    }
                    bytes.push(byte);
                }
                Latency::decoded(&bytes).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.sum_ns == other.sum_ns && self.filled() == other.filled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

        #[test]
        fn sparse_sums_are_the_sums(
            one in proptest::collection::vec(0u64..5_000_000_000_000, 0..100),
            two in proptest::collection::vec(1u64..1_000_000, 0..100),
        ) {
            let of = |times: &[u64]| {
                let mut latency = Latency::default();
                times.iter().for_each(|ns| latency.record(*ns));
                latency
            };
            let mut sparse = SparseLatency::default();
            sparse.add(&of(&one));
            sparse.add(&of(&two));
            proptest::prop_assert_eq!(sparse.latency(), of(&[one, two].concat()));
        }
    }
}
