//! Studies and tables of published numbers, cut, doubled and mixed: no panic, bounded time, and every mistake at a place that is there.

use cosmark_study::library::{LIBRARY, NEW_PUBLISHED, NEW_STUDY};
use cosmark_study::published::read as read_published;
use cosmark_study::spec::read;
use proptest::prelude::*;
use proptest::sample::select;

use self::changed::changed;

#[path = "../../workload/tests/hostile/changed.rs"]
mod changed;

const PIECES: &[&str] = &[
    "-1",
    "1e308",
    ".nan",
    "18446744073709551616",
    "100000000h",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ", ",
    "- ",
    "\n",
    "  ",
    "\t",
    "\0",
    "é",
    "\u{202e}",
    "&a ",
    "*a",
    "!!map ",
    "|\n",
    "${{ size }}",
    "${{",
    "# mine.read\n",
    "factors:\n",
    "repetitions: {least: 0}",
    "levels: []",
    "fraction: {cells: 0}",
];

fn study() -> impl Strategy<Value = String> {
    let texts: Vec<&'static str> = LIBRARY.iter().map(|entry| entry.text).chain([NEW_STUDY]).collect();
    changed(select(texts).prop_map(str::to_owned), PIECES, 200)
}

fn published() -> impl Strategy<Value = String> {
    changed(Just(NEW_PUBLISHED.to_owned()), PIECES, 200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_study_is_read_or_its_mistakes_stand_where_they_are(text in study()) {
        let (spec, mistakes) = read(&text);
        prop_assert!(spec.is_some() || !mistakes.is_empty());
        for one in &mistakes {
            prop_assert!(!one.message.is_empty());
            let is_there = text.is_char_boundary(one.span.start) && one.span.end() <= text.len();
            prop_assert!(is_there, "{:?}", one);
        }
    }

    #[test]
    fn published_numbers_are_rows_of_their_tables_or_the_line_is_named(text in published()) {
        match read_published(&text) {
            Ok(tables) => prop_assert!(
                tables.values().all(|table| table.rows.iter().all(|(_, row)| row.len() <= table.columns.len()))
            ),
            Err(why) => prop_assert!(why.contains("line "), "{}", why),
        }
    }
}
