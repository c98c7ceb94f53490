//! Selectors: how container numbers, object numbers and sizes are written (`u(1,100)`, `h(1|64|10,64|512|70)KB` ..).
//! Grammar: COSBench user guide, "Selection expression"; `z(lo,hi,theta)`, binary units, 64-bit numbers and weights with
//! a fraction are Cosmark's.

use std::fmt;

mod parse;

pub use cosmark_units::SizeUnit;

/// Upper end of an open range (`u(5)`, `h(5||10)`): COSBench's largest number.
pub const OPEN_END: u64 = 2_147_483_647;
/// Largest exponent that `z()` takes; beyond it only the first number would ever be drawn.
pub const MAX_THETA: f64 = 100.0;
/// Most numbers a `z()` covers: the sampler works in `f64`, which counts exactly up to here.
pub const MAX_ZIPF_NUMBERS: u64 = 1 << 53;
/// Most buckets an `h()` has.
pub const MAX_BUCKETS: usize = 10_000;

/// How a number is chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum IntSelector {
    /// `c(n)`: always n.
    Constant(u64),
    /// `u(lo,hi)`: uniform, both ends included.
    Uniform {
        /// First number.
        lo: u64,
        /// Last number.
        hi: u64,
    },
    /// `s(lo,hi)`: in order, each number once over all workers, then again from `lo`, whatever the division.
    Sequential {
        /// First number.
        lo: u64,
        /// Last number.
        hi: u64,
    },
    /// `r(lo,hi)` or `lo-hi`: in order; with a division each worker walks its own slice. `r(0,0)` means nothing.
    Range {
        /// First number.
        lo: u64,
        /// Last number.
        hi: u64,
    },
    /// `h(lo|hi|weight,..)`: a bucket by weight, then uniform inside it.
    Histogram {
        /// Buckets, sorted by their first number; never empty after a parse.
        buckets: Vec<Bucket>,
    },
    /// `z(lo,hi,theta)`: Zipf; the number of rank k is drawn with a probability proportional to `1/k^theta`.
    Zipf {
        /// First number.
        lo: u64,
        /// Last number.
        hi: u64,
        /// Exponent; > 0.
        theta: f64,
    },
}

/// One bucket of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// First number.
    pub lo: u64,
    /// Last number.
    pub hi: u64,
    /// Weight; > 0, finite.
    pub weight: f64,
}

/// How a size in bytes is chosen: a number times a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeSelector {
    /// The number.
    pub values: IntSelector,
    /// What it counts.
    pub unit: SizeUnit,
}

/// Why a selector cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorError {
    /// Byte offset in the text that was parsed.
    pub at: usize,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.hint)
    }
}

impl std::error::Error for SelectorError {}

impl IntSelector {
    /// True for `r(0,0)` and `0-0`, which choose nothing at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, IntSelector::Range { lo: 0, hi: 0 })
    }

    /// Smallest and largest number it can choose.
    #[must_use]
    pub fn bounds(&self) -> (u64, u64) {
        match self {
            IntSelector::Constant(n) => (*n, *n),
            IntSelector::Uniform { lo, hi }
            | IntSelector::Sequential { lo, hi }
            | IntSelector::Range { lo, hi }
            | IntSelector::Zipf { lo, hi, .. } => (*lo, *hi),
            IntSelector::Histogram { buckets } => (
                buckets.iter().map(|b| b.lo).min().unwrap_or(0),
                buckets.iter().map(|b| b.hi).max().unwrap_or(0),
            ),
        }
    }

    /// How many numbers lie between its bounds; 0 for `r(0,0)`.
    #[must_use]
    pub fn count(&self) -> u64 {
        if self.is_nothing() {
            return 0;
        }
        let (lo, hi) = self.bounds();
        hi.saturating_sub(lo).saturating_add(1)
    }

    /// Mean of the numbers it chooses (`z()`: mean over its range, as its hot numbers are scattered).
    #[must_use]
    pub fn mean(&self) -> f64 {
        let middle = |lo: u64, hi: u64| (lo as f64 + hi as f64) / 2.0;
        match self {
            IntSelector::Histogram { buckets } => {
                let total: f64 = buckets.iter().map(|b| b.weight).sum();
                buckets.iter().map(|b| b.weight / total * middle(b.lo, b.hi)).sum()
            }
            other => {
                let (lo, hi) = other.bounds();
                middle(lo, hi)
            }
        }
    }
}

impl fmt::Display for IntSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntSelector::Constant(n) => write!(f, "c({n})"),
            IntSelector::Uniform { lo, hi } => write!(f, "u({lo},{hi})"),
            IntSelector::Sequential { lo, hi } => write!(f, "s({lo},{hi})"),
            IntSelector::Range { lo, hi } => write!(f, "r({lo},{hi})"),
            IntSelector::Zipf { lo, hi, theta } => write!(f, "z({lo},{hi},{theta})"),
            IntSelector::Histogram { buckets } => {
                f.write_str("h(")?;
                for (index, bucket) in buckets.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    if bucket.hi == OPEN_END {
                        write!(f, "{comma}{}||{}", bucket.lo, bucket.weight)?;
                    } else {
                        write!(f, "{comma}{}|{}|{}", bucket.lo, bucket.hi, bucket.weight)?;
                    }
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for SizeSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.values, self.unit)
    }
}

impl SizeSelector {
    /// Smallest and largest size in bytes.
    #[must_use]
    pub fn bounds_bytes(&self) -> (u64, u64) {
        let (lo, hi) = self.values.bounds();
        (lo.saturating_mul(self.unit.bytes()), hi.saturating_mul(self.unit.bytes()))
    }

    /// Mean size in bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        self.values.mean() * self.unit.bytes() as f64
    }
}
