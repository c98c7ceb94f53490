//! Names along an axis that are too long: cut, and still different where they were.

/// Longer names are cut.
const MOST: usize = 40;

/// As many signs of the beginning and of the end, with dots between them.
fn cut(name: &str, front: usize, back: usize) -> String {
    let count = name.chars().count();
    let end = name.chars().skip(count.saturating_sub(back));
    name.chars().take(front).chain(['\u{2026}']).chain(end).collect()
}

/// Of the different names that look as one does: which of them it is, from 0, and how many there are.
fn alike(names: &[&str], shown: &[String], at: usize) -> (usize, usize) {
    let mut different: Vec<&str> = Vec::new();
    for (name, text) in names.iter().zip(shown) {
        if Some(text) == shown.get(at) && !different.contains(name) {
            different.push(name);
        }
    }
    let own = different.iter().position(|name| Some(name) == names.get(at));
    (own.unwrap_or_default(), different.len())
}

/// The names as they are shown: cut at their end, those that would look the same in their middle, and what is still alike has a
/// number.
pub(super) fn shown(names: &[&str]) -> Vec<String> {
    let is_long = |name: &str| name.chars().count() > MOST;
    let whole = |name: &&str| if is_long(name) { cut(name, MOST - 1, 0) } else { (*name).to_owned() };
    let mut shown: Vec<String> = names.iter().map(whole).collect();
    for step in [0, 1] {
        let places: Vec<(usize, usize)> = (0..names.len()).map(|at| alike(names, &shown, at)).collect();
        for ((name, text), (own, all)) in names.iter().zip(&mut shown).zip(places) {
            if all < 2 || !is_long(name) {
                continue;
            }
            *text = if step == 0 {
                cut(name, MOST / 2 - 1, MOST / 2)
            } else {
                format!("{} {}", cut(name, MOST - 6, 0), own + 1)
            };
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_look_different_however_long_they_are() {
        let head = "a workload with a very long name that goes on and on";
        let (tail, middle) = ("reads of small objects", "x".repeat(30));
        let names = [
            "short".to_owned(),
            format!("{head} 1"),
            format!("{head} 2"),
            format!("{head} 1"),
            format!("{head} {middle}a{middle} {tail}"),
            format!("{head} {middle}b{middle} {tail}"),
            "another one that is longer than there is room".to_owned(),
        ];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let shown = shown(&names);
        for (one, own) in names.iter().zip(&shown) {
            assert!(own.chars().count() <= MOST, "{own}");
            for (other, text) in names.iter().zip(&shown) {
                assert_eq!(one == other, own == text, "{own} and {text}");
            }
        }
        assert_eq!(
            (shown[0].as_str(), shown[6].as_str()),
            ("short", "another one that is longer than there i\u{2026}")
        );
        assert!(shown[1].ends_with("goes on and on 1"), "{shown:?}");
    }
}
