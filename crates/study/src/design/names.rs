//! What the names of a cell's containers begin with.

use std::collections::BTreeSet;

use crate::journal::digest;

/// Longer words become a number.
const LONGEST_PREFIX: usize = 30;

/// Words as a part of a container's name; a number where that is too long.
fn plain(words: &[&str]) -> String {
    let words = words.join("-");
    let plain = |sign: char| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' };
    if words.len() <= LONGEST_PREFIX { words.chars().map(plain).collect() } else { digest(&words) }
}

/// Plain names that several cells have, such as those of `a.b` and `a-b`, `A` and `a`: one would meet what the other has left.
pub(super) fn shared<'s>(all: impl Iterator<Item = Vec<&'s str>>) -> BTreeSet<String> {
    let (mut seen, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for words in all {
        let name = plain(&words);
        if !seen.insert(name.clone()) {
            shared.insert(name);
        }
    }
    shared
}

/// The beginning: small letters, digits and hyphens, with the study's tag, short enough for every store.
pub(super) fn beginning(words: &[&str], shared: &BTreeSet<String>, tag: &str) -> String {
    let plain = plain(words);
    let name = if shared.contains(&plain) { digest(&words.join("\n")) } else { plain };
    let tag = if tag.is_empty() { String::new() } else { format!("{tag}-") };
    format!("cosmark-{tag}{name}-")
}
