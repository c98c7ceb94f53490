//! A fixed order of numbers as if by chance: a Feistel network with cycle walking, which can be turned round. Source: Black and
//! Rogaway, "Ciphers with Arbitrary Finite Domains" (2002).

/// A fixed bijection of 0..n: the same in every worker, operation, driver and run.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
}

/// Any constants do, as long as they never change: results of different runs are compared.
const ROUND_KEYS: [u64; 6] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6c,
];

impl Permutation {
    /// The bijection of 0..n; `n` ≥ 1.
    #[must_use]
    pub fn new(n: u64) -> Permutation {
        let bits = 64 - n.max(2).saturating_sub(1).leading_zeros();
        Permutation { n: n.max(1), half_bits: bits.div_ceil(2) }
    }

    /// Image of `x`; `x` < n.
    #[inline]
    #[must_use]
    pub fn apply(&self, x: u64) -> u64 {
        if self.n == 1 {
            return 0;
        }
        let mut y = self.feistel(x);
        // The network permutes the next power of four; walking its cycle from a point inside 0..n comes back inside.
        while y >= self.n {
            y = self.feistel(y);
        }
        y
    }

    /// What [`Permutation::apply`] makes this of; `y` < n.
    #[must_use]
    pub fn invert(&self, y: u64) -> u64 {
        if self.n == 1 {
            return 0;
        }
        let mut x = self.feistel_back(y);
        while x >= self.n {
            x = self.feistel_back(x);
        }
        x
    }

    fn feistel_back(&self, y: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (y >> self.half_bits, y & mask);
        for key in ROUND_KEYS.iter().rev() {
            let mixed = (left ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (left, right) = (right ^ ((mixed ^ (mixed >> 32)) & mask), left);
        }
        (left << self.half_bits) | right
    }

    fn feistel(&self, x: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (x >> self.half_bits, x & mask);
        for key in ROUND_KEYS {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (left, right) = (right, left ^ ((mixed ^ (mixed >> 32)) & mask));
        }
        (left << self.half_bits) | right
    }
}
