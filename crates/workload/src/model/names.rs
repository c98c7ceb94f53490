//! How the number of an object stands in its name.

use std::fmt::Write as _;

/// How the number of an object stands in its name. Each number has one text, and each text is that of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ObjectNames {
    /// As it is, in decimal: neighbours in number are neighbours in every sorted index of the store.
    #[default]
    Counted,
    /// 16 hexadecimal digits of a permutation of all 64-bit numbers: neighbours in number lie anywhere in a sorted index, as
    /// random names do. They are the same in every run.
    Scattered,
}

impl ObjectNames {
    /// All, with their words.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Counted, "counted"), (Self::Scattered, "scattered")];

    /// Its word in a workload.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Scattered => "scattered",
        }
    }

    /// Appends the text of a number.
    pub fn push(self, number: u64, text: &mut String) {
        let written = match self {
            Self::Counted => write!(text, "{number}"),
            Self::Scattered => write!(text, "{:016x}", scatter(number)),
        };
        debug_assert!(written.is_ok(), "writing into memory does not fail");
    }

    /// The name of a number between a prefix and a suffix.
    #[must_use]
    pub fn name(self, prefix: &str, number: u64, suffix: &str) -> String {
        let mut name = String::with_capacity(prefix.len() + 20 + suffix.len());
        name.push_str(prefix);
        self.push(number, &mut name);
        name.push_str(suffix);
        name
    }

    /// The number whose text this is; `None` for a text that no number has, such as one with zeros before it.
    #[must_use]
    pub fn number_in(self, text: &str) -> Option<u64> {
        match self {
            Self::Counted => {
                let plain =
                    text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
                plain.then(|| text.parse().ok()).flatten()
            }
            Self::Scattered => {
                let plain = text.len() == 16 && text.bytes().all(|byte| self.may_have(byte));
                plain.then(|| u64::from_str_radix(text, 16).ok().map(gather)).flatten()
            }
        }
    }

    /// True for a sign that stands in the text of some number.
    #[must_use]
    pub fn may_have(self, byte: u8) -> bool {
        byte.is_ascii_digit() || (self == Self::Scattered && matches!(byte, b'a'..=b'f'))
    }
}

/// The two factors of the last step of MurmurHash3 for 64 bits (Appleby, `MurmurHash3.cpp`, public domain) and their inverses
/// modulo 2^64. Each step can be undone, so that the whole is a permutation.
const FACTORS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
const INVERSES: [u64; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

/// A shift by more than half of the bits undoes itself.
const SHIFT: u32 = 33;

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the digits that are right, from 3.
const fn inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut step = 0;
    while step < 5 {
        found = found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}

fn scatter(number: u64) -> u64 {
    let mixed = (number ^ (number >> SHIFT)).wrapping_mul(FACTORS[0]);
    let mixed = (mixed ^ (mixed >> SHIFT)).wrapping_mul(FACTORS[1]);
    mixed ^ (mixed >> SHIFT)
}

fn gather(mixed: u64) -> u64 {
    let before = (mixed ^ (mixed >> SHIFT)).wrapping_mul(INVERSES[1]);
    let before = (before ^ (before >> SHIFT)).wrapping_mul(INVERSES[0]);
    before ^ (before >> SHIFT)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const NUMBERS: [u64; 8] = [0, 1, 2, 9, 10, 1_000_003, u64::MAX - 1, u64::MAX];

    #[test]
    fn every_number_is_found_in_its_text() {
        for (names, word) in ObjectNames::ALL {
            assert_eq!(names.word(), word);
            for number in NUMBERS.into_iter().chain((0..64).map(|bit| 1 << bit)).chain(1000..3000) {
                let text = names.name("", number, "");
                assert_eq!(names.number_in(&text), Some(number), "{text}");
                assert!(text.bytes().all(|byte| names.may_have(byte)), "{text}");
            }
        }
    }

    #[test]
    fn a_text_of_no_number_gives_none() {
        for text in ["", "01", "+1", "-1", "1 ", "18446744073709551616", "x"] {
            assert_eq!(ObjectNames::Counted.number_in(text), None, "{text}");
        }
        for text in ["", "1", "00000000000000000", "000000000000000G", "00000000000000AB", "+000000000000001"]
        {
            assert_eq!(ObjectNames::Scattered.number_in(text), None, "{text}");
        }
    }

    #[test]
    fn neighbours_lie_far_apart_and_in_no_order() {
        let first: Vec<u64> = (1..=4096).map(scatter).collect();
        let mut sorted = first.clone();
        sorted.sort_unstable();
        let rising = first.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((1900..2200).contains(&rising), "{rising} of 4095 steps rise");
        // Sixteen equal parts of all numbers have about as many names each.
        for part in 0..16u64 {
            let inside = first.iter().filter(|value| *value >> 60 == part).count();
            assert!((190..330).contains(&inside), "part {part} has {inside} of 4096");
        }
    }
}
