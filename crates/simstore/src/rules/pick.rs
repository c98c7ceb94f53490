//! Which of the requests that reach a rule it takes: by chance, by count, or in exact proportion.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use crate::behaviour::{Op, OpSet, Select};

/// The seeded source of every random choice.
pub(crate) type Random = Xoshiro256PlusPlus;

/// A stream of its own for each use: the same seed and label give the same stream for ever.
pub(crate) fn stream(seed: u64, label: &str) -> Random {
    // FNV-1a: the label only has to give different streams.
    let hash = label
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    Random::seed_from_u64(seed ^ hash)
}

/// A number in [0, 1) with 53 random bits.
pub(crate) fn unit(random: &mut Random) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A number in 0..bound, without bias worth speaking of (bound is far below 2^64).
pub(crate) fn below(random: &mut Random, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Fisher-Yates.
pub(crate) fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let other = below(random, last as u64 + 1) as usize;
        items.swap(last, other);
    }
}

enum Pick {
    All,
    Share(f64),
    EveryNth {
        n: u64,
        seen: u64,
    },
    /// Selection sampling (Knuth, TAOCP 3.4.2, algorithm S): exact in each block without holding it.
    Exact {
        count: u32,
        of: u32,
        left: u32,
        wanted: u32,
    },
}

/// The compiled selecting fields of one rule.
pub(crate) struct Picker {
    op: OpSet,
    key_prefix: Option<Box<str>>,
    from_ns: u64,
    until_ns: u64,
    pick: Pick,
    random: Random,
}

/// Seconds of the script as nanoseconds.
pub(crate) fn seconds_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Milliseconds of the script as nanoseconds.
pub(crate) fn millis_ns(millis: f64) -> u64 {
    (millis * 1e6).round() as u64
}

impl Picker {
    pub(crate) fn new(select: Select, seed: u64, label: &str) -> Picker {
        let pick = match (select.share, select.every_nth, select.exact) {
            (Some(share), _, _) => Pick::Share(share),
            (_, Some(n), _) => Pick::EveryNth { n: n.max(1), seen: 0 },
            (_, _, Some(e)) => Pick::Exact { count: e.count, of: e.of, left: e.of, wanted: e.count },
            _ => Pick::All,
        };
        Picker {
            op: select.op,
            key_prefix: select.key_prefix.map(String::into_boxed_str),
            from_ns: seconds_ns(select.from_s),
            until_ns: select.until_s.map_or(u64::MAX, seconds_ns),
            pick,
            random: stream(seed, label),
        }
    }

    /// Whether the rule takes this request; counts it if the conditions hold.
    #[inline]
    pub(crate) fn takes(&mut self, op: Op, key: &str, at_ns: u64) -> bool {
        self.op.contains(op)
            && self.key_prefix.as_deref().is_none_or(|prefix| key.starts_with(prefix))
            && (self.from_ns..self.until_ns).contains(&at_ns)
            && self.draw()
    }

    /// As [`Picker::takes`] for something that has no kind and no name: a connection.
    pub(crate) fn takes_connection(&mut self, at_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&at_ns) && self.draw()
    }

    /// The rule's own stream, for a second choice about a request that was taken.
    pub(crate) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    fn draw(&mut self) -> bool {
        match &mut self.pick {
            Pick::All => true,
            Pick::Share(share) => unit(&mut self.random) < *share,
            Pick::EveryNth { n, seen } => {
                *seen += 1;
                *seen % *n == 0
            }
            Pick::Exact { count, of, left, wanted } => {
                let taken = below(&mut self.random, u64::from(*left)) < u64::from(*wanted);
                *left -= 1;
                *wanted -= u32::from(taken);
                if *left == 0 {
                    (*left, *wanted) = (*of, *count);
                }
                taken
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::{Exact, FlipRule, Rule as _};

    fn fires(rule: &FlipRule, seed: u64, n: u64) -> Vec<bool> {
        let mut picker = Picker::new(rule.select(), seed, "test");
        (0..n).map(|_| picker.takes(Op::Get, "a", 0)).collect()
    }

    #[test]
    fn every_nth_takes_the_nth_the_2nth_and_no_other() {
        let taken = fires(&FlipRule { every_nth: Some(3), ..FlipRule::default() }, 1, 9);
        assert_eq!(taken, [false, false, true, false, false, true, false, false, true]);
    }

    #[test]
    fn exact_takes_its_count_in_every_block_at_changing_places() {
        let rule = FlipRule { exact: Some(Exact { count: 7, of: 100 }), ..FlipRule::default() };
        let taken = fires(&rule, 1, 1000);
        let blocks: Vec<&[bool]> = taken.chunks(100).collect();
        assert!(blocks.iter().all(|block| block.iter().filter(|t| **t).count() == 7));
        assert_ne!(blocks[0], blocks[1]);
    }

    #[test]
    fn the_same_seed_repeats_and_another_seed_does_not() {
        let rule = FlipRule { share: Some(0.3), ..FlipRule::default() };
        assert_eq!(fires(&rule, 5, 1000), fires(&rule, 5, 1000));
        assert_ne!(fires(&rule, 5, 1000), fires(&rule, 6, 1000));
    }

    #[test]
    fn a_share_is_met_within_its_binomial_bound() {
        let taken = fires(&FlipRule { share: Some(0.2), ..FlipRule::default() }, 1, 100_000);
        let count = taken.iter().filter(|t| **t).count() as f64;
        // Five standard deviations of Binomial(100000, 0.2).
        assert!((count - 20_000.0).abs() < 5.0 * (100_000.0_f64 * 0.2 * 0.8).sqrt(), "{count}");
    }

    #[test]
    fn other_kinds_names_and_times_are_neither_taken_nor_counted() {
        let rule = FlipRule {
            every_nth: Some(2),
            key_prefix: Some("hot/".to_owned()),
            from_s: 1.0,
            until_s: Some(2.0),
            ..FlipRule::default()
        };
        let mut picker = Picker::new(rule.select(), 1, "test");
        let inside = 1_500_000_000;
        assert!(!picker.takes(Op::Get, "hot/1", inside));
        assert!(!picker.takes(Op::Put, "hot/1", inside));
        assert!(!picker.takes(Op::Get, "cold/1", inside));
        assert!(!picker.takes(Op::Get, "hot/1", 999_999_999));
        assert!(!picker.takes(Op::Get, "hot/1", 2_000_000_000));
        assert!(picker.takes(Op::Get, "hot/1", inside));
    }
}
