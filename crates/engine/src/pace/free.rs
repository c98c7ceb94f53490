//! The free workers of an open loop, and which of them the next arrival goes to.

use std::collections::BinaryHeap;

/// Free workers by number.
pub(super) enum FreeWorkers {
    /// The last freed goes first: few connections stay warm rather than many lukewarm.
    LastFreed(Vec<usize>),
    /// Who has the most left of a share goes first, and among equals the last freed. If the same workers always went first,
    /// they would have made their shares before the last arrivals come, and the others would be too few for the load.
    MostLeft {
        /// (left, turn, number)
        free: BinaryHeap<(u64, u64, usize)>,
        turn: u64,
    },
}

impl FreeWorkers {
    pub fn new(has_shares: bool) -> Self {
        if has_shares {
            Self::MostLeft { free: BinaryHeap::new(), turn: 0 }
        } else {
            Self::LastFreed(Vec::new())
        }
    }

    /// Room for so many, so that none is made while load runs.
    pub fn reserve(&mut self, workers: usize) {
        match self {
            Self::LastFreed(free) => free.reserve(workers.saturating_sub(free.len())),
            Self::MostLeft { free, .. } => free.reserve(workers.saturating_sub(free.len())),
        }
    }

    /// `worker` is free, and has so much `left` of its share.
    pub fn push(&mut self, worker: usize, left: u64) {
        match self {
            Self::LastFreed(free) => free.push(worker),
            Self::MostLeft { free, turn } => {
                *turn += 1;
                free.push((left, *turn, worker));
            }
        }
    }

    /// Who takes the next arrival.
    pub fn pop(&mut self) -> Option<usize> {
        match self {
            Self::LastFreed(free) => free.pop(),
            Self::MostLeft { free, .. } => free.pop().map(|(_, _, worker)| worker),
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::LastFreed(free) => free.is_empty(),
            Self::MostLeft { free, .. } => free.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_freed_goes_first_and_where_there_are_shares_who_has_the_most_left() {
        for (has_shares, order) in [(false, [4, 3, 2, 1, 0]), (true, [3, 1, 4, 0, 2])] {
            let mut free = FreeWorkers::new(has_shares);
            free.reserve(5);
            for (worker, left) in [3, 5, 2, 5, 3].into_iter().enumerate() {
                free.push(worker, left);
            }
            let taken: Vec<usize> = std::iter::from_fn(|| free.pop()).collect();
            assert_eq!(taken, order);
            assert!(free.is_empty());
        }
    }
}
