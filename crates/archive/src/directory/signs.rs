//! What a text of somebody else's archive may not do to a terminal, a log or a page: it is replaced where the text enters.
//! Of what Cosmark writes, names as a workload gives them may hold it, and tags do not; answers of stores are cleaned before.

use std::borrow::Cow;

/// Moves the cursor, changes colours, or turns the direction of writing. Marks of writing from right to left that turn
/// nothing else belong to names.
pub(crate) fn is_hostile(sign: char) -> bool {
    sign.is_control() || matches!(sign, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// False where no byte is one that such a sign begins with, as in most records: bytes are looked at many times faster
/// than signs.
fn may_hold_hostile(text: &[u8]) -> bool {
    let begins_one = |byte: u8| {
        (byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t')) || matches!(byte, 0x7f | 0xc2 | 0xe2)
    };
    text.chunks(256).any(|part| part.iter().fold(false, |found, byte| found | begins_one(*byte)))
}

/// A text in JSON of which no string holds hostile signs: each, spelt out or as `\u001b`, becomes `?`, and `\r` a blank. Line feeds and tabs
/// that are written `\n` and `\t` stay, and everything else as it is, places of mistakes included but for their columns.
pub(crate) fn without_hostile_signs(json: &str) -> Cow<'_, str> {
    let spelt_out = |sign: char| is_hostile(sign) && !matches!(sign, '\n' | '\r' | '\t');
    let escaped =
        json.contains('\\') && [r"\u", r"\b", r"\f", r"\r"].iter().any(|escape| json.contains(escape));
    if !(escaped || may_hold_hostile(json.as_bytes()) && json.contains(spelt_out)) {
        return Cow::Borrowed(json);
    }
    let mut clean = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(|sign: char| sign == '\\' || spelt_out(sign)) {
        let (before, from) = rest.split_at(at);
        clean.push_str(before);
        let taken = escape_of(from);
        let (own, after) = from.split_at(taken);
        clean.push_str(if own == r"\r" {
            " "
        } else if is_hostile_escape(own) {
            "?"
        } else {
            own
        });
        rest = after;
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Bytes of the escape, or of the sign, that a text begins with. What is no escape is left for the parser to refuse.
fn escape_of(from: &str) -> usize {
    let mut signs = from.chars();
    let first = signs.next().map_or(0, char::len_utf8);
    if !from.starts_with('\\') {
        return first;
    }
    match signs.next() {
        Some('u') if from.get(2..6).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())) => 6,
        Some(sign) => first + sign.len_utf8(),
        None => first,
    }
}

fn is_hostile_escape(own: &str) -> bool {
    match own.strip_prefix('\\') {
        None => true,
        Some("b" | "f") => true,
        Some(escape) => escape
            .strip_prefix('u')
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32)
            .is_some_and(is_hostile),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_hostile, may_hold_hostile, without_hostile_signs};

    #[test]
    fn no_hostile_sign_begins_with_a_byte_that_is_passed_over() {
        let hostile: Vec<char> =
            (char::MIN..=char::MAX).filter(|sign| is_hostile(*sign) && !"\n\r\t".contains(*sign)).collect();
        assert!(hostile.len() > 70, "{}", hostile.len());
        for sign in hostile {
            assert!(may_hold_hostile(format!("{}{sign}", "x".repeat(300)).as_bytes()), "{sign:?}");
        }
        assert!(!may_hold_hostile("{\n\t\"a\": \"\u{e4}\u{df} \u{20}\"\r\n}".as_bytes()));
        assert!(!may_hold_hostile(b""));
    }

    #[test]
    fn what_would_reach_a_terminal_is_replaced_and_everything_else_stays() {
        for (json, clean) in [
            (r#"{"a": "plain"}"#, r#"{"a": "plain"}"#),
            (r#""\u001b[31mred\u0007 \u009b \u202e \b\f\r\n""#, r#""?[31mred? ? ? ?? \n""#),
            // A backslash that is itself escaped begins nothing.
            (
                r#""\\u001b \\\u001b \" \n \t \u00e4 \ud83d\ude00""#,
                r#""\\u001b \\? \" \n \t \u00e4 \ud83d\ude00""#,
            ),
            ("\"\u{9b}31m \u{7f} \u{202e}x \u{2066} \u{200f}\"", "\"?31m ? ?x ? \u{200f}\""),
            ("{\n\t\"a\": 1\r\n}", "{\n\t\"a\": 1\r\n}"),
            // Not JSON: the parser says so.
            (r"\u00", r"\u00"),
            (r"\", r"\"),
            (r"\uäöü", r"\uäöü"),
        ] {
            assert_eq!(without_hostile_signs(json), clean, "{json}");
        }
    }
}
