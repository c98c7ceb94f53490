//! Where a worker's next request comes from, and when it has made its share of a total.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::choice::{Choice, Mix, Walk};
use crate::fill::FillWalk;

/// A mix without end, or one pass over ranges.
pub enum Source {
    /// Random mix of a normal work.
    Mix(Mix),
    /// One pass of a special work.
    Walk(Walk),
    /// A pass over a data set.
    Fill(FillWalk),
}

impl Source {
    /// The next request; `None` when the pass is over.
    #[inline]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<Choice> {
        match self {
            Self::Mix(mix) => Some(mix.next(rng)),
            Self::Walk(walk) => walk.next(rng),
            Self::Fill(walk) => walk.advance(),
        }
    }
}

/// What is left of this worker's exact share of the work's totals. Operations count that were started in the window.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// Operations left; `None` = no limit.
    pub ops: Option<u64>,
    /// Bytes left; `None` = no limit. The operation that crosses the limit is the last.
    pub bytes: Option<u64>,
}

impl Quota {
    /// True when nothing more may be started.
    #[inline]
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.ops == Some(0) || self.bytes == Some(0)
    }

    /// Counts one that was started in the window.
    #[inline]
    pub fn take(&mut self, bytes: u64) {
        if let Some(ops) = &mut self.ops {
            *ops = ops.saturating_sub(1);
        }
        if let Some(left) = &mut self.bytes {
            *left = left.saturating_sub(bytes);
        }
    }
}
