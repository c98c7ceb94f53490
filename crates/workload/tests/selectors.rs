//! Selectors as text: every form is read, written back and read again; every mistake says where and what to do.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cosmark_workload::units::parse_size;
use cosmark_workload::{IntSelector, SizeSelector};
use proptest::prelude::*;

fn read(text: &str) -> IntSelector {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn every_form_is_read_and_written_in_its_canonical_spelling() {
    for (text, canonical) in [
        ("c(7)", "c(7)"),
        ("c(0)", "c(0)"),
        (" c( 7 ) ", "c(7)"),
        ("u(1,100)", "u(1,100)"),
        ("u( 1 , 100 )", "u(1,100)"),
        ("u(5)", "u(5,2147483647)"),
        ("r(1,4)", "r(1,4)"),
        ("1-4", "r(1,4)"),
        (" 1 - 4 ", "r(1,4)"),
        ("r(0,0)", "r(0,0)"),
        ("0-0", "r(0,0)"),
        ("s(1,50)", "s(1,50)"),
        ("h(1|64|10,64|512|70,512|2048|20)", "h(1|64|10,64|512|70,512|2048|20)"),
        ("h(64|512|70.5, 1|64|10)", "h(1|64|10,64|512|70.5)"),
        ("h(1||3)", "h(1||3)"),
        ("z(1,1000,0.99)", "z(1,1000,0.99)"),
        ("u(1,18446744073709551615)", "u(1,18446744073709551615)"),
    ] {
        let selector = read(text);
        assert_eq!(selector.to_string(), canonical, "{text}");
        assert_eq!(read(canonical), selector, "{text}");
    }
}

#[test]
fn sizes_take_every_unit_and_the_shorter_forms() {
    for (text, canonical, largest) in [
        ("c(64)KB", "c(64)KB", 64_000),
        ("c(64)KiB", "c(64)KiB", 65_536),
        ("u(1,10)MB", "u(1,10)MB", 10_000_000),
        ("r(100,750)KB", "r(100,750)KB", 750_000),
        ("c(0)B", "c(0)B", 0),
        ("64KiB", "c(64)KiB", 65_536),
        ("c(64KiB)", "c(64)KiB", 65_536),
        ("u(4KiB, 1MiB)", "u(4,1024)KiB", 1 << 20),
        ("u(1KB,1KiB)", "u(1000,1024)B", 1024),
        ("h(1KiB|2KiB|1,4KiB|8KiB|3)", "h(1|2|1,4|8|3)KiB", 8192),
        ("c(2) TiB", "c(2)TiB", 2 << 40),
        ("c(1)TB", "c(1)TB", 1_000_000_000_000),
    ] {
        let size: SizeSelector = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(size.to_string(), canonical, "{text}");
        assert_eq!(size.bounds_bytes().1, largest, "{text}");
        assert_eq!(canonical.parse(), Ok(size), "{text}");
    }
    assert_eq!(parse_size("5MiB"), Ok(5 << 20));
    assert!(parse_size("u(1,2)MiB").is_err());
}

#[test]
fn a_selector_that_cannot_be_says_where_and_what_to_write() {
    for (text, at, hint) in [
        ("", 0, "known: c(n)"),
        ("5", 0, "did you mean c(5) or r(1,5)?"),
        ("u(0,5)", 2, "numbers start at 1"),
        ("u(5,1)", 2, "swap them"),
        ("U(1,5)", 0, "did you mean u(..)?"),
        ("x(1,5)", 0, "known: c(n)"),
        ("u(1,5", 5, "the closing `)` is missing"),
        ("u(1,2,3)", 2, "two numbers"),
        ("u(1,b)", 4, "decimal digits"),
        ("u(1,)", 4, "a number is missing"),
        ("c(1,2)", 2, "c() takes one number"),
        ("h(1|2)", 2, "lo|hi|weight"),
        ("h(1|2|0)", 6, "drop a bucket"),
        ("h(1|2|x)", 6, "drop a bucket"),
        ("z(1,5)", 2, "z(lo,hi,theta)"),
        ("z(1,5,0)", 6, "0.99 is usual"),
        ("z(1,5,NaN)", 6, "0.99 is usual"),
        ("z(1,18446744073709551615,1)", 2, "smaller range"),
        ("u(1,99999999999999999999)", 4, "numbers end at"),
        ("u((1,2))", 2, "one pair"),
        ("1-2-3", 0, "known: c(n)"),
        ("s(0,0)", 2, "numbers start at 1"),
    ] {
        let error = text.parse::<IntSelector>().unwrap_err();
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.hint.contains(hint), "{text}: {error}");
    }
    for (text, hint) in [
        ("c(64)", "add a unit, e.g. c(64)KB"),
        ("c(64)kb", "did you mean KB?"),
        ("c(64)K", "did you mean KB (decimal) or KiB (binary)?"),
        ("c(64)XB", "known units"),
        ("c(1.5)MB", "next smaller unit"),
        ("4096", "add a unit"),
        ("c(99999999999)TiB", "sizes end at"),
        ("c(4kib)", "did you mean KiB?"),
        ("", "write a size such as"),
    ] {
        let error = text.parse::<SizeSelector>().unwrap_err();
        assert!(error.hint.contains(hint) || error.message.contains(hint), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_but_never_a_panic(text in "[curshzCB0-9(),| .KMiB-]{0,24}") {
        let _ = text.parse::<IntSelector>();
        let _ = text.parse::<SizeSelector>();
    }

    #[test]
    fn what_is_written_is_read_back(
        lo in 1..u64::MAX / 2, len in 0..1_000_000u64, theta in 0.01..50.0f64, weights in prop::collection::vec(0.001..1e6f64, 1..6),
    ) {
        let hi = lo + len;
        let buckets = weights.iter().map(|w| format!("{lo}|{hi}|{w}")).collect::<Vec<_>>().join(",");
        for text in [format!("u({lo},{hi})"), format!("z({lo},{hi},{theta})"), format!("h({buckets})")] {
            let selector: IntSelector = text.parse().unwrap();
            prop_assert_eq!(selector.to_string().parse::<IntSelector>().unwrap(), selector);
        }
    }
}
