//! One page of a listing out of a sorted map: prefix, delimiter, marker and limit as in ListObjects (AWS API reference).

use std::collections::BTreeMap;
use std::ops::Bound;

/// What to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) prefix: &'a str,
    /// Keys that hold this text behind the prefix are rolled up into one group each.
    pub(crate) delimiter: Option<&'a str>,
    /// Only keys and groups behind this text; empty = from the start.
    pub(crate) after: &'a str,
    pub(crate) limit: usize,
}

/// A line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry<V> {
    Key(String, V),
    /// A common prefix.
    Group(String),
}

impl<V> Entry<V> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Key(name, _) | Self::Group(name) => name,
        }
    }
}

/// At most `limit` entries in the order of their names' bytes, and whether there are more.
pub(crate) fn page<V: Clone>(map: &BTreeMap<Box<str>, V>, ask: Ask<'_>) -> (Vec<Entry<V>>, bool) {
    let mut entries = Vec::new();
    if ask.limit == 0 {
        return (entries, false);
    }
    let mut start = if ask.after.is_empty() || ask.after < ask.prefix {
        Bound::Included(ask.prefix.to_owned())
    } else {
        Bound::Excluded(ask.after.to_owned())
    };
    loop {
        let from = match &start {
            Bound::Included(text) => Bound::Included(text.as_str()),
            Bound::Excluded(text) => Bound::Excluded(text.as_str()),
            Bound::Unbounded => Bound::Unbounded,
        };
        let mut skip = None;
        for (key, value) in map.range::<str, _>((from, Bound::Unbounded)) {
            if !key.starts_with(ask.prefix) {
                return (entries, false);
            }
            let group = group_of(key, ask);
            let told = group.is_some_and(|group| !ask.after.is_empty() && group <= ask.after);
            if !told && entries.len() == ask.limit {
                return (entries, true);
            }
            let Some(group) = group else {
                entries.push(Entry::Key(key.to_string(), value.clone()));
                continue;
            };
            if !told {
                entries.push(Entry::Group(group.to_owned()));
            }
            skip = Some(behind_all_with(group));
            break;
        }
        match skip {
            Some(Some(next)) => start = Bound::Included(next),
            _ => return (entries, false),
        }
    }
}

fn group_of<'k>(key: &'k str, ask: Ask<'_>) -> Option<&'k str> {
    let delimiter = ask.delimiter?;
    let rest = &key[ask.prefix.len()..];
    rest.find(delimiter).map(|at| &key[..ask.prefix.len() + at + delimiter.len()])
}

/// The smallest text that is greater than every text with this prefix.
fn behind_all_with(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            other => char::from_u32(u32::from(other) + 1),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(keys: &[&str]) -> BTreeMap<Box<str>, ()> {
        keys.iter().map(|key| ((*key).into(), ())).collect()
    }

    fn names(keys: &[&str], ask: Ask<'_>) -> Vec<String> {
        page(&map(keys), ask).0.iter().map(|entry| entry.name().to_owned()).collect()
    }

    const KEYS: &[&str] = &["a", "b/1", "b/2", "b/c/3", "b0", "c//x", "c/y", "d\u{10FFFF}z", "e"];

    #[test]
    fn prefix_delimiter_and_marker_choose_what_is_listed() {
        let cases: &[(&str, Option<&str>, &str, &[&str])] = &[
            ("", None, "", KEYS),
            ("", Some("/"), "", &["a", "b/", "b0", "c/", "d\u{10FFFF}z", "e"]),
            ("b/", Some("/"), "", &["b/1", "b/2", "b/c/"]),
            ("b", Some("/"), "", &["b/", "b0"]),
            ("c/", Some("/"), "", &["c//", "c/y"]),
            ("", Some("\u{10FFFF}"), "c/y", &["d\u{10FFFF}", "e"]),
            ("", Some("/"), "b/", &["b0", "c/", "d\u{10FFFF}z", "e"]),
            ("", None, "b/", &["b/1", "b/2", "b/c/3", "b0", "c//x", "c/y", "d\u{10FFFF}z", "e"]),
            ("b/", None, "a", &["b/1", "b/2", "b/c/3"]),
            ("b/", None, "b/1", &["b/2", "b/c/3"]),
            ("b/", None, "c", &[]),
            ("x", None, "", &[]),
        ];
        for (prefix, delimiter, after, expected) in cases {
            let ask = Ask { prefix, delimiter: *delimiter, after, limit: 1000 };
            assert_eq!(&names(KEYS, ask), expected, "{ask:?}");
        }
    }

    #[test]
    fn pages_of_any_size_give_every_entry_once() {
        for delimiter in [None, Some("/"), Some("b"), Some("\u{10FFFF}")] {
            let whole = names(KEYS, Ask { prefix: "", delimiter, after: "", limit: 1000 });
            for limit in 1..=whole.len() + 1 {
                let (mut seen, mut after) = (Vec::new(), String::new());
                for _ in 0..=whole.len() {
                    let (entries, more) =
                        page(&map(KEYS), Ask { prefix: "", delimiter, after: &after, limit });
                    assert!(entries.len() <= limit);
                    seen.extend(entries.iter().map(|entry| entry.name().to_owned()));
                    if !more {
                        break;
                    }
                    assert_eq!(entries.len(), limit);
                    after = seen.last().unwrap().clone();
                }
                assert_eq!(seen, whole, "{delimiter:?} {limit}");
            }
        }
    }

    #[test]
    fn a_limit_of_nothing_lists_nothing_and_does_not_promise_more() {
        let ask = Ask { prefix: "", delimiter: None, after: "", limit: 0 };
        assert_eq!(page(&map(KEYS), ask), (Vec::new(), false));
    }
}
