//! A distribution of few times as a list: what a snapshot of a second holds at a modest rate. A histogram of hundreds of
//! kilobytes would cost more to make and to look through than all else that is done with a snapshot.

/// Longer times are recorded as this: one hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// More are kept as a histogram.
const MOST: usize = 256;

/// Bits of a bucket's number within its power of two: 3 significant digits need 2048 buckets of width 1.
const SUB_BUCKET_BITS: u32 = 11;
const HALF: u64 = 1 << (SUB_BUCKET_BITS - 1);

/// First bytes of the V2 encoding, uncompressed.
const COOKIE: u32 = 0x1c84_9313;

/// The greatest time of each bucket that occurred and how often, in the order of time. Buckets are those of the histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Few(Vec<(u64, u64)>);

/// Least and greatest time of bucket number `index` of a histogram.
fn bounds(index: u64) -> (u64, u64) {
    let magnitude = (index / HALF).saturating_sub(1);
    let within = if index < HALF { index } else { index % HALF + HALF };
    let least = within << magnitude;
    (least, least + (1 << magnitude) - 1)
}

/// Least time of the bucket with this greatest one.
fn least_of(greatest: u64) -> u64 {
    let magnitude = (u64::BITS - greatest.leading_zeros()).saturating_sub(SUB_BUCKET_BITS);
    greatest >> magnitude << magnitude
}

/// A number of the V2 encoding: LEB128 of at most 9 bytes, of which the last has 8 bits, zigzag.
fn number(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            value |= u64::from(*byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
}

impl Few {
    /// Reads HdrHistogram's V2 encoding with this crate's bounds, which the caller has looked at. `None` for whatever is not
    /// plainly that, or is not few: a real reader decides then.
    pub fn read(encoded: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(encoded.get(at..at + 4)?.try_into().ok()?));
        let mut counts = encoded.get(40..)?;
        let is_plain = word(0)? == COOKIE && usize::try_from(word(4)?) == Ok(counts.len()) && word(8)? == 0;
        if !is_plain {
            return None;
        }
        let mut few = Vec::new();
        let mut index = 0_u64;
        while !counts.is_empty() {
            let count = number(&mut counts)?;
            if count <= 0 {
                index = index.checked_add(count.unsigned_abs().max(1)).filter(|index| *index < 40 * HALF)?;
                continue;
            }
            let (least, greatest) = bounds(index);
            if least > HIGHEST_NS || few.len() == MOST {
                return None;
            }
            few.push((greatest, count.unsigned_abs()));
            index += 1;
        }
        Some(Self(few))
    }

    /// Adds all times of another; `None` when they are too many together, and then nothing was added.
    pub fn join(&mut self, other: &Self) -> Option<()> {
        let mut sum = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut ours, mut theirs) = (self.0.iter().copied().peekable(), other.0.iter().copied().peekable());
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(one), Some(two)) if one.0 == two.0 => (one.0, one.1.saturating_add(two.1)),
                (Some(one), Some(two)) if one.0 > two.0 => *two,
                (Some(one), _) => *one,
                (None, Some(two)) => *two,
                (None, None) => break,
            };
            ours.next_if(|one| one.0 == next.0);
            theirs.next_if(|one| one.0 == next.0);
            sum.push(next);
        }
        if sum.len() > MOST {
            return None;
        }
        self.0 = sum;
        Some(())
    }

    /// The greatest time of each bucket and how often it occurred.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    pub fn min_ns(&self) -> Option<u64> {
        self.0.first().map(|(greatest, _)| least_of(*greatest))
    }

    pub fn max_ns(&self) -> Option<u64> {
        self.0.last().map(|(greatest, _)| *greatest)
    }

    /// As `Histogram::value_at_quantile`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the histogram's own arithmetic, for the same answer"
    )]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let wanted = ((quantile.min(1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut passed = 0_u64;
        for (greatest, count) in &self.0 {
            passed = passed.saturating_add(*count);
            if passed >= wanted {
                return Some(if quantile == 0.0 { least_of(*greatest) } else { *greatest });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_the_histogram() {
        let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
        for power in 0..42 {
            for ns in
                [1_u64 << power, (1 << power) + 1, 3 << power, (1 << power) - 1, 1000 * 10_u64.pow(power % 9)]
            {
                let greatest = histogram.highest_equivalent(ns);
                assert_eq!(least_of(greatest), histogram.lowest_equivalent(ns), "{ns}");
            }
        }
        let mut next = 0;
        for index in 0..30_000 {
            let (least, greatest) = bounds(index);
            assert_eq!((least, histogram.highest_equivalent(least)), (next, greatest), "{index}");
            next = greatest + 1;
        }
    }
}
