//! A mergeable distribution of times: HdrHistogram (hdrhistogram.org), nanoseconds, 3 significant digits, up to 1 h.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::sparse::{Few, HIGHEST_NS};

/// Times and their exact sum. The histogram (about 290 KiB) is made with the first time that is recorded; what was decoded
/// is a list while it is short.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    histogram: Option<Box<Histogram<u64>>>,
    /// All times while there is no histogram; empty otherwise.
    few: Few,
    sum_ns: u128,
}

fn new_histogram() -> Option<Box<Histogram<u64>>> {
    // The bounds are constants that the library accepts (1 <= low, 2 low <= high, digits 0..=5).
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).ok().map(Box::new)
}

fn add_few(histogram: &mut Histogram<u64>, few: &Few) {
    for (ns, count) in few.steps() {
        histogram.saturating_record_n(ns.clamp(1, HIGHEST_NS), count);
    }
}

impl Latency {
    /// Empty, with the histogram made at once so that recording never allocates.
    #[must_use]
    pub fn preallocated() -> Self {
        Self { histogram: new_histogram(), few: Few::default(), sum_ns: 0 }
    }

    /// Adds one time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if self.histogram.is_none() {
            self.unfold();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns.clamp(1, HIGHEST_NS));
            self.sum_ns += u128::from(ns);
        }
    }

    /// Adds a time that occurred `count` times.
    pub fn record_many(&mut self, ns: u64, count: u32) {
        if self.histogram.is_none() {
            self.unfold();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record_n(ns.clamp(1, HIGHEST_NS), u64::from(count));
            self.sum_ns += u128::from(ns) * u128::from(count);
        }
    }

    /// Makes the histogram.
    #[cold]
    fn unfold(&mut self) {
        self.histogram = new_histogram();
        if let Some(histogram) = &mut self.histogram {
            add_few(histogram, &std::mem::take(&mut self.few));
        }
    }

    /// Adds all times of another.
    pub fn merge(&mut self, other: &Self) {
        let Self { histogram, few, sum_ns } = other;
        self.sum_ns += sum_ns;
        if let Some(theirs) = histogram.as_ref().filter(|theirs| !theirs.is_empty()) {
            match &mut self.histogram {
                // Same bounds on both sides, so adding cannot fail.
                Some(ours) => ours.add(theirs.as_ref()).unwrap_or_default(),
                None => {
                    let mut ours = theirs.clone();
                    add_few(&mut ours, &std::mem::take(&mut self.few));
                    self.histogram = Some(ours);
                }
            }
        }
        if few.is_empty() {
            return;
        }
        if self.histogram.is_none() {
            if self.few.join(few).is_some() {
                return;
            }
            self.unfold();
        }
        if let Some(ours) = &mut self.histogram {
            add_few(ours, few);
        }
    }

    /// Adds what a histogram log kept: its buckets exactly, its sum as far as they tell it.
    pub fn add_histogram(&mut self, kept: &Histogram<u64>) {
        if self.histogram.is_none() {
            self.unfold();
        }
        if let Some(ours) = &mut self.histogram {
            for step in kept.iter_recorded() {
                let ns = kept.median_equivalent(step.value_iterated_to()).clamp(1, HIGHEST_NS);
                ours.saturating_record_n(ns, step.count_at_value());
                self.sum_ns += u128::from(ns) * u128::from(step.count_at_value());
            }
        }
    }

    /// How many times were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or_else(|| self.few.count(), |histogram| histogram.len())
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
        self.dense().map(Histogram::min).or_else(|| self.few.min_ns())
    }

    /// Greatest time in ns (upper edge of its bucket, at most 0.1 % above).
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.dense().map(Histogram::max).or_else(|| self.few.max_ns())
    }

    /// The time that the share `quantile` (0..=1) of all times does not exceed.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let of = |histogram: &Histogram<u64>| histogram.value_at_quantile(quantile);
        self.dense().map(of).or_else(|| self.few.quantile_ns(quantile))
    }

    /// Counts in buckets of equal width; the last entry holds all that is beyond.
    #[must_use]
    pub fn buckets(&self, width_ns: u64, buckets: usize) -> Vec<u64> {
        let mut counts = vec![0; buckets + 1];
        for (ns, count) in self.steps() {
            let at = usize::try_from(ns / width_ns.max(1)).unwrap_or(usize::MAX);
            counts[at.min(buckets)] += count;
        }
        counts
    }

    /// What occurred: the upper edge of each bucket that is not empty, ns, and how often, in the order of time.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        let dense = self.dense().into_iter().flat_map(Histogram::iter_recorded);
        dense.map(|step| (step.value_iterated_to(), step.count_at_value())).chain(self.few.steps())
    }

    fn dense(&self) -> Option<&Histogram<u64>> {
        self.histogram.as_deref().filter(|histogram| !histogram.is_empty())
    }

    /// The histogram, if anything was recorded; for the histogram log.
    #[must_use]
    pub fn filled(&self) -> Option<Cow<'_, Histogram<u64>>> {
        if let Some(histogram) = self.dense() {
            return Some(Cow::Borrowed(histogram));
        }
        let mut histogram = if self.few.is_empty() { None } else { new_histogram() }?;
        add_few(&mut histogram, &self.few);
        Some(Cow::Owned(*histogram))
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
        for (ns, count) in times.steps() {
            *self.counts.entry(ns).or_default() += count;
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
        Latency { histogram, few: Few::default(), sum_ns: self.sum_ns }
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
            V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
        }
        Some(bytes)
    }

    fn decoded(bytes: &[u8]) -> Result<Self, &'static str> {
        let (sum, histogram) = bytes.split_at_checked(SUM_BYTES).ok_or("a distribution is cut short")?;
        let sum_ns = u128::from_be_bytes(sum.try_into().map_err(|_| "a distribution is cut short")?);
        if histogram.is_empty() {
            return Ok(Self { sum_ns, ..Self::default() });
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
        if let Some(few) = Few::read(histogram) {
            return Ok(Self { histogram: None, few, sum_ns });
        }
        let mut cursor = histogram;
        let histogram =
            Deserializer::new().deserialize(&mut cursor).map_err(|_| "a distribution is damaged")?;
        Ok(Self { histogram: Some(Box::new(histogram)), few: Few::default(), sum_ns })
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
        self.sum_ns == other.sum_ns && self.steps().eq(other.steps())
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

        #[test]
        fn what_is_decoded_and_merged_is_what_a_histogram_of_all_times_says(
            parts in proptest::collection::vec(proptest::collection::vec(0u64..5_000_000_000_000, 0..180), 1..5),
            small in proptest::collection::vec(0u64..5_000, 0..50),
            dense in proptest::bits::u8::ANY,
        ) {
            let mut all = Latency::preallocated();
            let mut sum = Latency::default();
            for (number, times) in parts.iter().chain([&small, &parts[0]]).enumerate() {
                let mut part = Latency::default();
                for ns in times {
                    part.record(*ns);
                    all.record(*ns);
                }
                let decoded = Latency::decoded(&part.encoded().unwrap()).unwrap();
                proptest::prop_assert!(decoded.histogram.is_none() || times.len() > 100);
                proptest::prop_assert_eq!(&decoded, &part);
                sum.merge(if dense >> number & 1 == 1 { &part } else { &decoded });
            }
            proptest::prop_assert_eq!(&sum, &all);
            proptest::prop_assert_eq!(sum.count(), all.count());
            proptest::prop_assert_eq!((sum.min_ns(), sum.max_ns()), (all.min_ns(), all.max_ns()));
            proptest::prop_assert_eq!(sum.buckets(1_000_000, 50), all.buckets(1_000_000, 50));
            for quantile in [0.0, 1e-9, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0, 1.5] {
                proptest::prop_assert_eq!(sum.quantile_ns(quantile), all.quantile_ns(quantile));
            }
            proptest::prop_assert_eq!(sum.filled(), all.filled());
            proptest::prop_assert_eq!(sum.encoded(), all.encoded());
        }

        #[test]
        fn damage_is_read_as_a_histogram_would_be_or_refused(
            times in proptest::collection::vec(0u64..5_000_000_000, 1..30),
            at in 0usize..200,
            byte in proptest::num::u8::ANY,
        ) {
            let mut latency = Latency::default();
            times.iter().for_each(|ns| latency.record(*ns));
            let mut bytes = latency.encoded().unwrap();
            let place = SUM_BYTES + at % (bytes.len() - SUM_BYTES);
            bytes[place] = byte;
            let read = Few::read(&bytes[SUM_BYTES..]);
            let mut cursor = &bytes[SUM_BYTES..];
            let real: Option<Histogram<u64>> = Deserializer::new().deserialize(&mut cursor).ok();
            if let (Some(few), Some(real)) = (read, real) {
                let real: Vec<_> =
                    real.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
                if place >= SUM_BYTES + HEAD_BYTES {
                    proptest::prop_assert_eq!(few.steps().collect::<Vec<_>>(), real);
                }
            }
        }
    }
}
