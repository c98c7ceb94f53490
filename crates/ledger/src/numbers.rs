//! A set of numbers in little memory: 2 bytes each where they are scattered, 1 bit each where they are dense.

use std::collections::BTreeMap;

/// Numbers of a block that are kept one by one; with more of them a bit for each number of the block is smaller.
const MOST_LISTED: usize = 4096;
const BLOCK: usize = 1 << 16;

#[derive(Debug, Clone)]
enum Block {
    /// Sorted.
    Few(Vec<u16>),
    Many(Box<[u64; BLOCK / 64]>, u32),
}

/// Numbers, each at most once.
#[derive(Debug, Clone, Default)]
pub struct NumberSet {
    blocks: BTreeMap<u64, Block>,
    len: u64,
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest 16 bits are wanted")]
fn split(number: u64) -> (u64, u16) {
    (number >> 16, number as u16)
}

impl NumberSet {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// None is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds one; false when it was there.
    pub fn insert(&mut self, number: u64) -> bool {
        let (high, low) = split(number);
        let block = self.blocks.entry(high).or_insert_with(|| Block::Few(Vec::new()));
        let is_new = match block {
            Block::Few(few) => match few.binary_search(&low) {
                Ok(_) => false,
                Err(at) => {
                    few.insert(at, low);
                    true
                }
            },
            Block::Many(bits, count) => {
                let (word, bit) = (&mut bits[usize::from(low) / 64], 1 << (low % 64));
                let is_new = *word & bit == 0;
                *word |= bit;
                *count += u32::from(is_new);
                is_new
            }
        };
        if let Block::Few(few) = block
            && few.len() > MOST_LISTED
        {
            let mut bits = Box::new([0; BLOCK / 64]);
            few.iter().for_each(|low| bits[usize::from(*low) / 64] |= 1 << (low % 64));
            *block = Block::Many(bits, u32::try_from(few.len()).unwrap_or(0));
        }
        self.len += u64::from(is_new);
        is_new
    }

    /// True when it is there.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let (high, low) = split(number);
        match self.blocks.get(&high) {
            None => false,
            Some(Block::Few(few)) => few.binary_search(&low).is_ok(),
            Some(Block::Many(bits, _)) => bits[usize::from(low) / 64] & (1 << (low % 64)) != 0,
        }
    }

    /// Takes one away; true when it was there.
    pub fn remove(&mut self, number: u64) -> bool {
        let (high, low) = split(number);
        let was_there = match self.blocks.get_mut(&high) {
            None => false,
            Some(Block::Few(few)) => few.binary_search(&low).map(|at| few.remove(at)).is_ok(),
            Some(Block::Many(bits, count)) => {
                let (word, bit) = (&mut bits[usize::from(low) / 64], 1 << (low % 64));
                let was_there = *word & bit != 0;
                *word &= !bit;
                *count -= u32::from(was_there);
                was_there
            }
        };
        self.len -= u64::from(was_there);
        was_there
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.blocks.iter().flat_map(|(high, block)| {
            let all: Box<dyn Iterator<Item = u64>> = match block {
                Block::Few(few) => Box::new(few.iter().map(|low| u64::from(*low))),
                Block::Many(bits, _) => Box::new((0..BLOCK as u64).filter(|low| {
                    let at = usize::try_from(*low / 64).unwrap_or(0);
                    bits[at] & (1 << (low % 64)) != 0
                })),
            };
            all.map(move |low| high << 16 | low)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_a_set_whether_its_numbers_are_dense_or_scattered() {
        let (mut set, mut truth) = (NumberSet::default(), BTreeSet::new());
        let mut state = 7_u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = match state >> 62 {
                0 => state >> 20,
                _ => 65_000 + (state >> 40) % 30_000,
            };
            if state.is_multiple_of(5) {
                assert_eq!(set.remove(number), truth.remove(&number));
            } else {
                assert_eq!(set.insert(number), truth.insert(number));
            }
            assert_eq!(set.contains(number), truth.contains(&number));
        }
        assert_eq!(set.len(), truth.len() as u64);
        assert!(set.iter().eq(truth.iter().copied()));
        assert!(set.blocks.values().any(|block| matches!(block, Block::Many(..))));
    }
}
