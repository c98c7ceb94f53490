//! Sentences in lines that fit a terminal: broken between words, what goes on stands below where the text began. Tables and drawings
//! stay as they are. (`textwrap` would be one more crate for a third of this, and would not know where a text begins.)

use std::borrow::Cow;

use crate::screen::columns_of;

/// Narrower than this nobody reads.
const LEAST: usize = 20;

/// What goes on stands so much further in than its beginning.
const HANG: usize = 2;

/// The text with each line of at most so many columns, as far as its words allow.
#[must_use]
pub fn wrapped(text: &str, columns: usize) -> Cow<'_, str> {
    let columns = columns.max(LEAST);
    if text.lines().all(|line| line.len() <= columns) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(|line| one(line, columns)).collect();
    Cow::Owned(lines.join("\n"))
}

/// One line in as many as it takes.
fn one(line: &str, columns: usize) -> Cow<'_, str> {
    if shown(line) <= columns || is_drawn(line) {
        return Cow::Borrowed(line);
    }
    Cow::Owned(broken(line, columns, hang(line, columns)))
}

/// A line in as many as it takes, broken between words; those after the first stand `hang` further in. Only a word that is longer
/// alone makes a line longer than `columns`.
#[must_use]
pub fn broken(line: &str, columns: usize, hang: usize) -> String {
    let mut text = String::with_capacity(line.len() + 16);
    let (mut used, mut blanks, mut has_word) = (0, 0, false);
    for word in words(line) {
        if word.is_empty() {
            // Another blank between two words, or before the first.
            blanks += 1;
            continue;
        }
        let between = blanks + usize::from(has_word);
        if has_word && used > hang && used + between + shown(word) > columns {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', hang));
            used = hang;
        } else {
            text.extend(std::iter::repeat_n(' ', between));
            used += between;
        }
        text.push_str(word);
        used += shown(word);
        (blanks, has_word) = (0, true);
    }
    text
}

/// Columns of the longest word of a line, which cannot be broken.
#[must_use]
pub fn longest_word(line: &str) -> usize {
    words(line).into_iter().map(shown).max().unwrap_or(0)
}

/// What stands between blanks, empty between two of them; a number whose thousands are set apart (`12 345`) is one word.
fn words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let (mut start, mut at) = (0, 0);
    for word in line.split(' ') {
        let end = at + word.len();
        if words.last().is_some_and(|last| is_one_number(last, word)) {
            words.pop();
        } else {
            start = at;
        }
        words.push(&line[start..end]);
        at = end + 1;
    }
    words
}

/// True where `word` begins with the next three digits of the number that ends before it.
fn is_one_number(before: &str, word: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    // A look (CSI .. m) that stands before the number is none of its signs.
    let before =
        before.rfind("\x1b[").and_then(|at| before[at..].split_once('m')).map_or(before, |(_, after)| after);
    let first = before.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let is_begun = !first.ends_with(|sign: char| sign.is_alphanumeric() || matches!(sign, '.' | ',' | ':'));
    (1..=3).contains(&(before.len() - first.len())) && is_begun && digits(word) == 3
}

/// Where the text of a line begins: after its bullet, else below the second of its columns, else a little further in.
fn hang(line: &str, columns: usize) -> usize {
    let text = line.trim_start_matches(' ');
    let start = line.len() - text.len();
    if text.starts_with("- ") || text.starts_with("* ") {
        return start + HANG;
    }
    let second = text.find("  ").map(|gap| {
        let rest = text.get(gap..).unwrap_or_default();
        start + shown(text.get(..gap).unwrap_or_default()) + rest.len() - rest.trim_start_matches(' ').len()
    });
    second.filter(|second| *second <= columns / 2).unwrap_or_else(|| (start + HANG).min(columns / 2))
}

/// A row of a table, a frame, a bar: lines and blocks of Unicode, or what stands for them where there are none.
fn is_drawn(line: &str) -> bool {
    line.contains(|sign| ('\u{2500}'..='\u{259f}').contains(&sign)) || line.starts_with(['|', '+'])
}

/// Columns that a text takes; orders to the terminal (ECMA-48: CSI, parameters, a final sign) take none.
fn shown(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let first = parts.next().map_or(0, columns_of);
    let after = |part: &str| {
        part.find(|sign| ('@'..='~').contains(&sign)).map_or(0, |end| columns_of(&part[end + 1..]))
    };
    first + parts.map(after).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_broken_between_words_and_goes_on_below_its_beginning() {
        assert_eq!(wrapped("a text that is a little longer", 20), "a text that is a\n  little longer");
        assert_eq!(
            wrapped("  warn s1-main: it is far too short", 20),
            "  warn s1-main: it\n    is far too short"
        );
        assert_eq!(wrapped("name  a text that is longer", 20), "name  a text that is\n      longer");
        assert_eq!(wrapped("  - a point that is longer", 20), "  - a point that is\n    longer");
        assert_eq!(
            wrapped("one\n\ntwo words and some more words\n", 20),
            "one\n\ntwo words and some\n  more words\n"
        );
        assert_eq!(wrapped("figures  1.0   2.0 and what", 20), "figures  1.0   2.0\n         and what");
    }

    #[test]
    fn no_word_is_lost_none_is_cut_and_no_line_is_too_long_but_of_one_word() {
        let texts = [
            "verdict: \u{1b}[31mFALSE\u{1b}[0m: s1-main: the client's processors were busy for 97 % of the window (V3)",
            "   deep inside    a gap of four and then ein längerer Text mit 日本語 dazwischen, bis er umbricht",
            "http://127.0.0.1:8080/a/rather/long/path/that/has/no/blank/anywhere/and/goes/on is an address",
            "                                                            far to the right and on",
        ];
        for text in texts {
            for columns in 20..130 {
                let broken = wrapped(text, columns);
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(words(&broken), words(text), "{columns}");
                for line in broken.lines().filter(|line| shown(line) > columns) {
                    assert_eq!(line.split_whitespace().count(), 1, "{columns}: {line:?}");
                }
            }
            assert_eq!(wrapped(text, 1000), text);
        }
    }

    #[test]
    fn a_number_whose_thousands_are_set_apart_is_broken_nowhere() {
        for number in ["1 540", "-12 345 678", "(123 456)", "1 000.5", "\u{1b}[31m99 999\u{1b}[0m"] {
            let text = format!("of {number} operations and {number} of others, most {number}");
            for columns in 20..60 {
                let broken = wrapped(&text, columns);
                assert_eq!(broken.matches(number).count(), 3, "{columns}: {broken}");
            }
            assert_eq!(longest_word(&text), shown(number).max("operations".len()));
        }
        // These are two words.
        for text in ["V12 345", "0.5 123", "1234 567", "12 34", "12 3456", "at 10:30 200"] {
            assert_eq!(longest_word(text), text.split(' ').map(str::len).max().unwrap(), "{text}");
        }
    }

    #[test]
    fn tables_and_drawings_stay_as_they_are() {
        for line in [
            "│ a cell with words │ another one │",
            "| a cell with words | another one |",
            "████ ▁▂▃ and words beside it",
        ] {
            assert_eq!(wrapped(line, 20), line);
        }
    }
}
