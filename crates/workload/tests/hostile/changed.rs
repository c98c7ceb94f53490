//! A text cut, doubled and mixed, for the hostile tests of every crate that reads texts.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The text with up to eight changes: a part of at most `longest` signs goes or comes twice, a piece comes in between, or all
/// behind a place goes.
pub fn changed(
    text: impl Strategy<Value = String>,
    pieces: &'static [&'static str],
    longest: usize,
) -> impl Strategy<Value = String> {
    let change = (any::<Index>(), any::<Index>(), 0_u8..5, select(pieces));
    (text, prop::collection::vec(change, 0..8)).prop_map(move |(text, changes)| {
        let mut signs: Vec<char> = text.chars().collect();
        for (from, to, what, piece) in changes {
            let (from, to) = (from.index(signs.len() + 1), to.index(signs.len() + 1));
            let (from, to) = (from.min(to), from.max(to).min(from.min(to) + longest));
            match what {
                0 => signs.truncate(to),
                1 => drop(signs.drain(from..to)),
                2 => {
                    let again = signs[from..to].to_vec();
                    drop(signs.splice(to..to, again));
                }
                _ => drop(signs.splice(from..from, piece.chars())),
            }
        }
        signs.into_iter().collect()
    })
}
