//! Choosing at run time: container numbers, object numbers, sizes. No allocation, no lock, nothing shared; every stream
//! is fixed by seed and worker. Sources: unbiased bounded integers after Lemire, "Fast Random Integer Generation in an
//! Interval" (2019); Zipf by rejection-inversion after Hörmann and Derflinger, "Rejection-inversion to generate variates
//! from monotone discrete distributions" (1996).

use std::fmt;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use crate::model::selector::{IntSelector, MAX_THETA, MAX_ZIPF_NUMBERS, SizeSelector};
use crate::plan::permutation::Permutation;
use crate::plan::share::{Slice, WorkerIndex, slice_of};

/// Why a worker cannot choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChooseError {
    /// There are more workers than numbers and each has to have its own.
    EmptySlice {
        /// The selector as written.
        selector: String,
        /// Which worker, 0-based.
        worker: u32,
        /// Of how many.
        workers: u32,
    },
    /// `h()` and `z()` have no slices.
    NotDivisible {
        /// The selector as written.
        selector: String,
    },
    /// `r(0,0)`, an empty `h()` or a theta outside its range.
    NothingToChoose {
        /// The selector as written.
        selector: String,
    },
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChooseError::EmptySlice { selector, worker, workers } => write!(
                f,
                "{selector} has no number for worker {} of {workers}: lower `workers`, widen the range or drop the \
                 division",
                worker + 1
            ),
            ChooseError::NotDivisible { selector } => {
                write!(f, "{selector} cannot be divided among workers: use u(), r() or division=none")
            }
            ChooseError::NothingToChoose { selector } => {
                write!(f, "{selector} chooses nothing: give a range that starts at 1 or more")
            }
        }
    }
}

impl std::error::Error for ChooseError {}

/// Chooses numbers for one worker.
#[derive(Debug, Clone)]
pub struct Chooser {
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    Constant(u64),
    Uniform {
        lo: u64,
        len: u64,
    },
    /// `lo + position`, position moves by `step` modulo `len`.
    Walk {
        lo: u64,
        len: u64,
        position: u64,
        step: u64,
    },
    Histogram(Box<[CumulativeBucket]>),
    Zipf {
        lo: u64,
        zipf: Zipf,
        scatter: Permutation,
    },
}

#[derive(Debug, Clone, Copy)]
struct CumulativeBucket {
    /// Weights up to and including this bucket.
    up_to: f64,
    lo: u64,
    len: u64,
}

impl Chooser {
    /// A chooser for `worker`.
    ///
    /// `s()` and, without a division, `r()` give worker i of N the positions i, i+N, i+2N .. modulo the range, so that N
    /// workers that draw `range length` numbers between them touch each number exactly once. No division cuts an `s()`, as in
    /// COSBench.
    ///
    /// # Errors
    /// [`ChooseError`] when this worker has nothing to choose from, or the selector has no slices.
    pub fn new(selector: &IntSelector, slice: Slice, worker: WorkerIndex) -> Result<Chooser, ChooseError> {
        let nothing = || ChooseError::NothingToChoose { selector: selector.to_string() };
        if selector.is_nothing() {
            return Err(nothing());
        }
        let whole = selector.count();
        let part = match (selector, slice) {
            (IntSelector::Sequential { .. }, _) | (_, Slice::Whole) => None,
            (_, Slice::Own) => Some(slice_of(whole, worker)),
        };
        let empty = matches!(part, Some(part) if part.len == 0);
        let rule = match selector {
            IntSelector::Constant(n) => Rule::Constant(*n),
            IntSelector::Histogram { .. } | IntSelector::Zipf { .. } if part.is_some() => {
                return Err(ChooseError::NotDivisible { selector: selector.to_string() });
            }
            IntSelector::Histogram { buckets } => {
                let mut up_to = 0.0;
                let cumulative: Box<[CumulativeBucket]> = buckets
                    .iter()
                    .map(|b| {
                        up_to += b.weight;
                        CumulativeBucket { up_to, lo: b.lo, len: b.hi.saturating_sub(b.lo).saturating_add(1) }
                    })
                    .collect();
                if cumulative.is_empty() || !up_to.is_finite() || up_to <= 0.0 {
                    return Err(nothing());
                }
                Rule::Histogram(cumulative)
            }
            IntSelector::Zipf { lo, theta, .. } => {
                let usable = *theta > 0.0 && *theta <= MAX_THETA && whole <= MAX_ZIPF_NUMBERS;
                if !usable {
                    return Err(nothing());
                }
                Rule::Zipf { lo: *lo, zipf: Zipf::new(whole, *theta), scatter: Permutation::new(whole) }
            }
            _ if empty => {
                return Err(ChooseError::EmptySlice {
                    selector: selector.to_string(),
                    worker: worker.index,
                    workers: worker.total,
                });
            }
            IntSelector::Uniform { lo, .. } => match part {
                Some(part) => Rule::Uniform { lo: lo + part.offset, len: part.len },
                None => Rule::Uniform { lo: *lo, len: whole },
            },
            IntSelector::Sequential { lo, .. } | IntSelector::Range { lo, .. } => match part {
                Some(part) => {
                    Rule::Walk { lo: lo + part.offset, len: part.len, position: 0, step: 1 % part.len }
                }
                None => Rule::Walk {
                    lo: *lo,
                    len: whole,
                    position: u64::from(worker.index) % whole,
                    step: u64::from(worker.total.max(1)) % whole,
                },
            },
        };
        Ok(Chooser { rule })
    }

    /// The next number.
    #[inline]
    pub fn pick(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match &mut self.rule {
            Rule::Constant(n) => *n,
            Rule::Uniform { lo, len } => *lo + below(rng, *len),
            Rule::Walk { lo, len, position, step } => {
                let number = *lo + *position;
                // position + step may pass 2^64 for ranges of nearly that length.
                let room = *len - *position;
                *position = if *step < room { *position + *step } else { *step - room };
                number
            }
            Rule::Histogram(buckets) => {
                let total = buckets[buckets.len() - 1].up_to;
                let draw = unit(rng) * total;
                let index = buckets.partition_point(|b| b.up_to <= draw).min(buckets.len() - 1);
                buckets[index].lo + below(rng, buckets[index].len)
            }
            Rule::Zipf { lo, zipf, scatter } => *lo + scatter.apply(zipf.rank(rng) - 1),
        }
    }
}

/// Chooses sizes in bytes for one worker.
#[derive(Debug, Clone)]
pub struct SizeChooser {
    values: Chooser,
    unit_bytes: u64,
}

impl SizeChooser {
    /// A chooser for `worker`; sizes are never divided.
    ///
    /// # Errors
    /// [`ChooseError`] as for [`Chooser::new`].
    pub fn new(selector: &SizeSelector, worker: WorkerIndex) -> Result<SizeChooser, ChooseError> {
        let values = Chooser::new(&selector.values, Slice::Whole, worker)?;
        Ok(SizeChooser { values, unit_bytes: selector.unit.bytes() })
    }

    /// The next size in bytes.
    #[inline]
    pub fn pick(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        self.values.pick(rng).saturating_mul(self.unit_bytes)
    }
}

/// A uniform number below `len` without modulo bias (Lemire). `len` = 0 stands for 2^64.
#[inline]
pub fn below(rng: &mut Xoshiro256PlusPlus, len: u64) -> u64 {
    if len == 0 {
        return rng.next_u64();
    }
    let mut product = u128::from(rng.next_u64()) * u128::from(len);
    if (product as u64) < len {
        let threshold = len.wrapping_neg() % len;
        while (product as u64) < threshold {
            product = u128::from(rng.next_u64()) * u128::from(len);
        }
    }
    (product >> 64) as u64
}

/// A uniform number in [0, 1) with 53 random bits.
#[inline]
pub fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Draws ranks 1..=n with probability proportional to `1/rank^theta` in constant expected time: a point under the
/// integral of the continuous hat `x^-theta` is inverted, rounded to a rank and accepted or drawn again.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: f64,
    theta: f64,
    /// Integral at 1.5, less the whole mass of rank 1.
    low: f64,
    /// Integral at n + 0.5.
    high: f64,
    /// Distance from a rank below which a point is accepted without looking further.
    sure: f64,
}

impl Zipf {
    /// `n` ≥ 1 ranks, `theta` > 0.
    #[must_use]
    pub fn new(n: u64, theta: f64) -> Zipf {
        let n = n.max(1) as f64;
        let mut zipf = Zipf { n, theta, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.hat(2.0));
        zipf
    }

    /// The next rank, 1..=n.
    #[inline]
    pub fn rank(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let area = self.high + unit(rng) * (self.low - self.high);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.n);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.hat(rank) {
                return rank as u64;
            }
        }
    }

    fn hat(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// `(x^(1-theta) - 1) / (1-theta)`, which is `ln x` for theta = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * exp_m1_over((1.0 - self.theta) * log)
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding may push the argument of the logarithm below its pole.
        let t = (area * (1.0 - self.theta)).max(-1.0);
        (area * ln_1p_over(t)).exp()
    }
}

/// `(e^t - 1) / t`, 1 at 0.
fn exp_m1_over(t: f64) -> f64 {
    if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 }
}

/// `ln(1 + t) / t`, 1 at 0.
fn ln_1p_over(t: f64) -> f64 {
    if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 }
}
