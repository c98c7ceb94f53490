//! Regular fractions of factors with two levels, 2^(k-p): generators, the defining relation, resolution, aliases and
//! blocks. Source: G. E. P. Box, J. S. Hunter and W. G. Hunter, Statistics for Experimenters, chapters 5 and 6;
//! NIST/SEMATECH e-Handbook of Statistical Methods, 5.3.3.3 and 5.3.3.4.
//!
//! A word is a set of factors, a bit for each. The sign of a factor is + at its second level and - at its first; the
//! sign of a word is the product of the signs of its factors.

use std::collections::BTreeSet;

/// More factors of two levels are not taken apart.
pub const MOST_FACTORS: usize = 20;
/// More generators leave too little.
const MOST_GENERATORS: usize = 12;
/// More blocks than 2 to this are none of a study.
const MOST_BLOCK_WORDS: usize = 6;
/// More words of a defining relation are only counted.
const MOST_WORDS: usize = 15;
/// Aliases of more factors are only counted.
const LONGEST_NAMED: u32 = 3;
/// With less two factors are aliased with each other.
const LEAST_RESOLUTION: u32 = 3;

/// A word with its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    factors: u32,
    is_negative: bool,
}

/// A fraction of the combinations of factors with two levels; the whole where it has no generators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regular {
    names: Vec<String>,
    generators: Vec<Word>,
    /// The factors on their left sides.
    generated: u32,
    /// All products of generators, without the empty one.
    relation: Vec<Word>,
    blocks: Vec<u32>,
}

impl Regular {
    /// Of factors with two levels, by name, with generators such as `d = a b c` and blocks such as `a b`.
    ///
    /// # Errors
    /// What is no generator, and a fraction from which the effects of factors cannot be read.
    pub fn new(names: Vec<String>, generators: &[String], blocks: &[String]) -> Result<Self, String> {
        if names.len() > MOST_FACTORS {
            return Err(format!("{} factors have two levels, more than {MOST_FACTORS}", names.len()));
        }
        if generators.len() > MOST_GENERATORS || blocks.len() > MOST_BLOCK_WORDS {
            return Err(format!(
                "at most {MOST_GENERATORS} generators and {MOST_BLOCK_WORDS} products for blocks"
            ));
        }
        let mut regular =
            Self { names, generators: Vec::new(), generated: 0, relation: Vec::new(), blocks: Vec::new() };
        let mut generated = BTreeSet::new();
        for text in generators {
            let (left, word) = regular.generator(text)?;
            if !generated.insert(left) {
                return Err(format!("{text}: {} has a generator already", regular.names[left]));
            }
            regular.generators.push(word);
            regular.generated |= 1_u32 << left;
        }
        for (text, word) in generators.iter().zip(&regular.generators) {
            let made = generated.iter().filter(|at| word.factors & (1_u32 << **at) != 0).count();
            if made > 1 {
                return Err(format!(
                    "{text}: on its right side stands a factor that has a generator itself; write it by the others"
                ));
            }
        }
        regular.relation = products(&regular.generators);
        regular.refuse_aliased_factors()?;
        for text in blocks {
            let word = regular.product_of(text, text)?;
            regular.blocks.push(word.factors);
        }
        regular.refuse_blocks_of_effects()?;
        Ok(regular)
    }

    /// `d = -a b c` as the factor on its left and the word `a b c d`.
    fn generator(&self, text: &str) -> Result<(usize, Word), String> {
        let parts: Vec<&str> = text.split('=').collect();
        let [left, right] = parts[..] else {
            return Err(format!("{text}: a generator is a factor, =, and others, such as d = a b c"));
        };
        if left.trim() == "I" && self.factor("I").is_none() {
            return Err(format!(
                "{text}: write the relation as a generator, with a factor on its left: d = a b c"
            ));
        }
        let left = self.known(left.trim(), text)?;
        let word = self.product_of(right, text)?;
        if word.factors & (1_u32 << left) != 0 {
            return Err(format!("{text}: the same factor stands on both sides"));
        }
        Ok((left, Word { factors: word.factors | (1_u32 << left), ..word }))
    }

    /// `-a b c`, `a*b*c`, or `abc` where each letter is a factor.
    fn product_of(&self, product: &str, text: &str) -> Result<Word, String> {
        let product = product.trim();
        let is_negative = product.starts_with('-');
        let product = product.trim_start_matches(['-', '+']);
        let mut factors = 0_u32;
        for token in product.split(|sign: char| sign.is_whitespace() || sign == '*') {
            if token.is_empty() {
                continue;
            }
            let one_each: Option<Vec<usize>> =
                token.chars().map(|sign| self.factor(sign.encode_utf8(&mut [0; 4]))).collect();
            let own = match (self.factor(token), one_each) {
                (Some(one), _) => vec![one],
                (None, Some(several)) => several,
                (None, None) => vec![self.known(token, text)?],
            };
            for at in own {
                if factors & (1_u32 << at) != 0 {
                    return Err(format!("{text}: {} stands there twice", self.names[at]));
                }
                factors |= 1_u32 << at;
            }
        }
        if factors == 0 {
            return Err(format!("{text}: a product of at least two factors is needed"));
        }
        Ok(Word { factors, is_negative })
    }

    fn factor(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn known(&self, name: &str, text: &str) -> Result<usize, String> {
        self.factor(name).ok_or_else(|| {
            let known = if self.names.is_empty() { "none".to_owned() } else { self.names.join(", ") };
            format!("{text}: {name} is no factor with two levels at this scale; those are {known}")
        })
    }

    fn refuse_aliased_factors(&self) -> Result<(), String> {
        let short = self.relation.iter().find(|word| word.factors.count_ones() < LEAST_RESOLUTION);
        match short {
            None => Ok(()),
            Some(word) if word.factors.count_ones() < 2 => {
                Err(format!("two generators leave one level of {}", self.name(word.factors)))
            }
            Some(word) => Err(format!(
                "the effects of {} would be aliased: give generators of two factors or more that differ in more",
                self.names_of(word.factors).join(" and ")
            )),
        }
    }

    fn refuse_blocks_of_effects(&self) -> Result<(), String> {
        for word in block_products(&self.blocks) {
            let own = self.with_aliases(word);
            if let Some(one) = own.iter().find(|word| word.factors.count_ones() < 2) {
                return Err(if one.factors == 0 {
                    "blocks: a product of them is the same in every cell".to_owned()
                } else {
                    format!("blocks: the effect of {} would be that of the blocks", self.name(one.factors))
                });
            }
        }
        Ok(())
    }

    /// Names of its factors, in the order of the study.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Factors of the products that make blocks.
    #[must_use]
    pub fn factors_of_blocks(&self) -> Vec<&str> {
        let all = self.blocks.iter().fold(0_u32, |all, word| all | *word);
        self.names_of(all)
    }

    /// Whether the combination is in the fraction whose factors of `high` are at their second level.
    #[must_use]
    pub fn has(&self, high: u32) -> bool {
        self.may_have(high, u32::MAX)
    }

    /// The same as far as only the levels of the factors of `known` tell it.
    #[must_use]
    pub fn may_have(&self, high: u32, known: u32) -> bool {
        let mut decided = self.generators.iter().filter(|word| word.factors & !known == 0);
        decided.all(|word| is_negative(word.factors, high) == word.is_negative)
    }

    /// Whether a factor's level follows from those of others.
    #[must_use]
    pub fn is_generated(&self, name: &str) -> bool {
        self.factor(name).is_some_and(|at| self.generated & (1_u32 << at) != 0)
    }

    /// The number of the block of a combination, from 0.
    #[must_use]
    pub fn block(&self, high: u32) -> usize {
        let bit = |(at, word): (usize, &u32)| usize::from(!is_negative(*word, high)) << at;
        self.blocks.iter().enumerate().map(bit).sum()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count_of_blocks(&self) -> usize {
        1 << self.blocks.len()
    }

    /// The shortest word of the defining relation; `None` of a whole.
    #[must_use]
    pub fn resolution(&self) -> Option<u32> {
        self.relation.iter().map(|word| word.factors.count_ones()).min()
    }

    /// A word with all that are aliased with it.
    fn with_aliases(&self, factors: u32) -> Vec<Word> {
        let own = Word { factors, is_negative: false };
        let others = self.relation.iter().map(|word| own.times(*word));
        let mut all: Vec<Word> = std::iter::once(own).chain(others).collect();
        all.sort_by_key(|word| (word.factors.count_ones(), word.factors));
        all
    }

    fn names_of(&self, factors: u32) -> Vec<&str> {
        let names = self.names.iter().enumerate();
        names.filter(|(at, _)| factors & (1_u32 << *at) != 0).map(|(_, name)| name.as_str()).collect()
    }

    fn name(&self, factors: u32) -> String {
        self.names_of(factors).join(" x ")
    }

    fn sum(&self, words: &[Word]) -> String {
        let mut text = String::new();
        let named = words.iter().take_while(|word| word.factors.count_ones() <= LONGEST_NAMED);
        for (at, word) in named.enumerate() {
            let sign = match (at, word.is_negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text.push_str(sign);
            text.push_str(&self.name(word.factors));
        }
        let more = words.iter().filter(|word| word.factors.count_ones() > LONGEST_NAMED).count();
        if more > 0 {
            text.push_str(&format!(", and {more} of more factors"));
        }
        text
    }

    /// What the fraction is and what is aliased in it, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let (k, p) = (self.names.len(), self.generators.len());
        let mut lines = Vec::new();
        if let Some(resolution) = self.resolution() {
            lines.push(format!(
                "a fraction 2^({k}-{p}) of resolution {}: {} of {} combinations of {}",
                roman(resolution),
                1_u64 << (k - p),
                1_u64 << k,
                self.names.join(", ")
            ));
            let words = self.relation.iter().take(MOST_WORDS).map(|word| {
                let sign = if word.is_negative { "-" } else { "" };
                format!("{sign}{}", self.name(word.factors))
            });
            let more = match self.relation.len().saturating_sub(MOST_WORDS) {
                0 => String::new(),
                more => format!(", and {more} longer ones"),
            };
            lines.push(format!("defining relation: I = {}{more}", words.collect::<Vec<_>>().join(" = ")));
            lines.extend(self.aliases());
        }
        if !self.blocks.is_empty() {
            let words: Vec<String> = block_products(&self.blocks)
                .into_iter()
                .map(|word| self.sum(&self.with_aliases(word)))
                .collect();
            lines.push(format!(
                "{} blocks; what differs between them is in {}",
                self.count_of_blocks(),
                words.join("; ")
            ));
        }
        lines
    }

    /// Each effect of a factor and of two with what it is aliased with, each group once.
    fn aliases(&self) -> Vec<String> {
        let k = self.names.len();
        let pairs = (0..k).flat_map(|a| (a + 1..k).map(move |b| (1_u32 << a) | (1_u32 << b)));
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for word in (0..k).map(|at| 1_u32 << at).chain(pairs) {
            if seen.contains(&word) {
                continue;
            }
            let group = self.with_aliases(word);
            seen.extend(group.iter().map(|word| word.factors));
            let is_alone = group.iter().filter(|word| word.factors.count_ones() <= 2).count() < 2;
            // Two factors that share their place only with more than two are not worth a line each.
            if word.count_ones() > 1 && is_alone {
                continue;
            }
            lines.push(format!("aliased: {}", self.sum(&group)));
        }
        lines
    }
}

impl Word {
    fn times(self, other: Self) -> Self {
        Self { factors: self.factors ^ other.factors, is_negative: self.is_negative != other.is_negative }
    }
}

/// The sign of a word where the factors of `high` are at their second level.
fn is_negative(factors: u32, high: u32) -> bool {
    (factors & !high).count_ones() % 2 == 1
}

/// All products of words but the empty one.
fn products(words: &[Word]) -> Vec<Word> {
    let mut all = vec![Word { factors: 0, is_negative: false }];
    for word in words {
        let more: Vec<Word> = all.iter().map(|one| one.times(*word)).collect();
        all.extend(more);
    }
    all.remove(0);
    all.sort_by_key(|word| (word.factors.count_ones(), word.factors));
    all
}

fn block_products(blocks: &[u32]) -> Vec<u32> {
    let words: Vec<Word> =
        blocks.iter().map(|factors| Word { factors: *factors, is_negative: false }).collect();
    products(&words).into_iter().map(|word| word.factors).collect()
}

/// Resolutions are written so.
fn roman(number: u32) -> String {
    const SIGNS: [(u32, &str); 5] = [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")];
    let mut left = number;
    let mut text = String::new();
    for (value, sign) in SIGNS {
        while left >= value {
            text.push_str(sign);
            left -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(names: &str) -> Vec<String> {
        names.chars().map(String::from).collect()
    }

    fn regular(names: &str, generators: &[&str], blocks: &[&str]) -> Result<Regular, String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Regular::new(letters(names), &owned(generators), &owned(blocks))
    }

    /// Factors, generators, resolution and defining relation of the designs that the textbooks print (Box, Hunter and
    /// Hunter, table 6.22; e-Handbook, 5.3.3.4.7).
    const PRINTED: &[(&str, &[&str], u32, &str)] = &[
        ("abc", &["c = a b"], 3, "I = a x b x c"),
        ("abcd", &["d = a b c"], 4, "I = a x b x c x d"),
        ("abcde", &["e = a b c d"], 5, "I = a x b x c x d x e"),
        ("abcde", &["d = ab", "e = ac"], 3, "I = a x b x d = a x c x e = b x c x d x e"),
        ("abcdef", &["e = abc", "f = bcd"], 4, "I = a x b x c x e = b x c x d x f = a x d x e x f"),
        ("abcdefg", &["d = ab", "e = ac", "f = bc", "g = abc"], 3, ""),
        ("abcdefg", &["e = abc", "f = bcd", "g = acd"], 4, ""),
        ("abcdefgh", &["e = bcd", "f = acd", "g = abc", "h = abd"], 4, ""),
        ("abcdefgh", &["g = abcd", "h = abef"], 5, ""),
    ];

    #[test]
    fn the_fractions_of_the_textbooks_have_their_resolution_and_defining_relation() {
        for (names, generators, resolution, relation) in PRINTED {
            let found = regular(names, generators, &[]).unwrap();
            assert_eq!(found.resolution(), Some(*resolution), "{names} {generators:?}");
            let lines = found.lines();
            assert!(lines[1].contains(relation), "{lines:?}");
            // As many combinations as it is to have, and each level of each factor in half of them.
            let k = names.len();
            let rows: Vec<u32> = (0..1_u32 << k).filter(|high| found.has(*high)).collect();
            assert_eq!(rows.len(), 1 << (k - generators.len()), "{names} {generators:?}");
            for at in 0..k {
                assert_eq!(rows.iter().filter(|high| **high & (1_u32 << at) != 0).count(), rows.len() / 2);
            }
            // What is called an alias has the same sign in each row, or the other one in each.
            for word in 1..1_u32 << k {
                for alias in found.with_aliases(word) {
                    let same = |high: &u32| {
                        is_negative(word, *high) == (is_negative(alias.factors, *high) != alias.is_negative)
                    };
                    assert!(rows.iter().all(same), "{names} {word:b} {alias:?}");
                }
            }
        }
    }

    #[test]
    fn aliases_are_named_with_their_signs_and_the_other_half_is_the_rest() {
        let half = regular("abcd", &["d = a b c"], &[]).unwrap();
        let lines = half.lines();
        assert_eq!(lines[0], "a fraction 2^(4-1) of resolution IV: 8 of 16 combinations of a, b, c, d");
        for pair in ["aliased: a x b + c x d", "aliased: b x c + a x d", "aliased: a + b x c x d"] {
            assert!(lines.iter().any(|line| line == pair), "{lines:#?}");
        }
        let other = regular("abcd", &["d = -a*b*c"], &[]).unwrap();
        assert!((0..16).all(|high| half.has(high) != other.has(high)));
        let lines = other.lines();
        assert!(lines.iter().any(|line| line == "aliased: a x b - c x d"), "{lines:#?}");
        assert!(lines[1].ends_with("I = -a x b x c x d"), "{lines:#?}");
    }

    /// Generators and blocks of four factors that are refused, and what is said.
    const REFUSED: &[(&[&str], &[&str], &str)] = &[
        (&["d = a"], &[], "would be aliased"),
        (&["d = a b", "c = a b"], &[], "would be aliased"),
        (&["d = a b", "c = a d"], &[], "has a generator itself"),
        (&["d = a b", "d = b c"], &[], "has a generator already"),
        (&["d = d a b"], &[], "both sides"),
        (&["d = a a b"], &[], "twice"),
        (&["x = a b"], &[], "no factor with two levels"),
        (&["d = a x"], &[], "no factor with two levels"),
        (&["d a b"], &[], "a generator is"),
        (&["d = "], &[], "product of at least two"),
        (&["I = a b c d"], &[], "as a generator"),
        (&["d = a b c"], &["a b c"], "the effect of d would be that of the blocks"),
        (&["d = a b c"], &["a b c d"], "the same in every cell"),
        (&[], &["a"], "the effect of a would be that of the blocks"),
        (&[], &["a b", "b"], "the effect of"),
        (&[], &["a b", "a b"], "the same in every cell"),
    ];

    #[test]
    fn what_cannot_be_estimated_or_is_no_generator_is_refused() {
        for (generators, blocks, why) in REFUSED {
            let found = regular("abcd", generators, blocks);
            assert!(
                found.as_ref().is_err_and(|said| said.contains(why)),
                "{generators:?} {blocks:?}: {found:?}"
            );
        }
        assert!(Regular::new(letters("abcdefghijklmnopqrstu"), &[], &[]).is_err());
    }

    #[test]
    fn blocks_are_of_one_size_and_confounded_with_what_is_named() {
        let found = regular("abcd", &["d = a b c"], &["a b"]).unwrap();
        let rows: Vec<u32> = (0..16).filter(|high| found.has(*high)).collect();
        for block in 0..2 {
            assert_eq!(rows.iter().filter(|high| found.block(**high) == block).count(), 4);
        }
        assert!(
            found
                .lines()
                .iter()
                .any(|line| line == "2 blocks; what differs between them is in a x b + c x d")
        );
        let four = regular("abcde", &[], &["a b c", "c d e"]).unwrap();
        for block in 0..4 {
            assert_eq!((0..32).filter(|high| four.block(*high) == block).count(), 8);
        }
    }
}
