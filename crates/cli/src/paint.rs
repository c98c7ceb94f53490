//! Colour where it means something: what is wrong, what is doubtful, what is well. Sources: ECMA-48 (SGR), no-color.org,
//! and CLICOLOR_FORCE of bixense.com/clicolors.

use std::borrow::Cow;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::OnceLock;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set; anywhere with CLICOLOR_FORCE
    #[default]
    Auto,
    /// Anywhere
    Always,
    /// Nowhere
    Never,
}

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Results.
    Stdout,
    /// Progress and remarks.
    Stderr,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// As the terminal writes.
    #[default]
    Plain,
    /// It is well.
    Good,
    /// It is doubtful.
    Doubtful,
    /// It is wrong.
    Bad,
    /// It is beside the point.
    Faint,
    /// It is a head.
    Strong,
}

impl Ink {
    /// The ink of a verdict's word, in any case and with blanks or underlines.
    #[must_use]
    pub fn of_verdict(word: &str) -> Self {
        match word.to_ascii_lowercase().replace('_', " ").as_str() {
            "true" => Self::Good,
            "true with limits" | "not proven" => Self::Doubtful,
            "false" => Self::Bad,
            _ => Self::Plain,
        }
    }

    /// The ink of a run's state.
    #[must_use]
    pub fn of_state(word: &str) -> Self {
        match word {
            "failed" | "terminated" | "killed" | "damaged" => Self::Bad,
            "cancelled" => Self::Doubtful,
            "running" | "processing" => Self::Good,
            _ => Self::Plain,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "32",
            Self::Doubtful => "33",
            Self::Bad => "31",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }
}

static WHEN: OnceLock<When> = OnceLock::new();

/// Says when colour is wanted; the first word counts.
pub fn choose(when: When) {
    let _ = WHEN.set(when);
}

fn is_wanted(when: When, is_terminal: bool, says: impl Fn(&str) -> Option<String>) -> bool {
    let has = |name: &str| says(name).is_some_and(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if has("NO_COLOR") => false,
        When::Auto if says("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") => true,
        When::Auto => is_terminal && says("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// True where colour is wanted.
#[must_use]
pub fn is_on(to: To) -> bool {
    let is_terminal = match to {
        To::Stdout => stdout().is_terminal(),
        To::Stderr => stderr().is_terminal(),
    };
    is_wanted(WHEN.get().copied().unwrap_or_default(), is_terminal, |name| std::env::var(name).ok())
}

/// The text in this ink, where colour is wanted.
#[must_use]
pub fn paint(to: To, ink: Ink, text: &str) -> String {
    if ink == Ink::Plain || text.is_empty() || !is_on(to) { text.to_owned() } else { always(ink, text) }
}

/// The text in this ink.
#[must_use]
pub fn always(ink: Ink, text: &str) -> String {
    if ink == Ink::Plain { text.to_owned() } else { format!("\x1b[{}m{text}\x1b[0m", ink.code()) }
}

/// A sign that moves the cursor, begins an order to the terminal, or turns the direction of writing.
#[must_use]
pub fn is_order(sign: char) -> bool {
    sign.is_control() || matches!(sign, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The parameters of an order that changes how letters look and hides none: what this program and its libraries write.
fn is_look(codes: &str) -> bool {
    let number = |code: &str| code.parse::<u8>().ok();
    if let Some(colour) = codes.strip_prefix("38;5;") {
        return number(colour).is_some_and(|colour| (1..16).contains(&colour));
    }
    let is_known = |code: u8| matches!(code, 0..=4 | 22..=24 | 31..=37 | 39 | 91..=97);
    codes.is_empty() || codes.split(';').all(|code| number(code).is_some_and(is_known))
}

/// Bytes of the order that changes looks with which a text begins (ECMA-48: CSI, parameters, `m`); `None` where it is another.
fn length_of_look(text: &str) -> Option<usize> {
    let order = text.strip_prefix("\x1b[")?;
    let end = order.find(|sign: char| !sign.is_ascii_digit() && sign != ';')?;
    let is_one = order[end..].starts_with('m') && is_look(&order[..end]);
    is_one.then_some("\x1b[m".len() + end)
}

/// A text in which nothing but looks is left of orders to a terminal, whoever wrote its names: other signs become `?`, a carriage
/// return a blank. Line feeds and tabs stay.
#[must_use]
pub fn without_orders(text: &str) -> Cow<'_, str> {
    let has_any = |sign: char| is_order(sign) && !matches!(sign, '\n' | '\t');
    if !text.contains(has_any) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(has_any) {
        let (before, from) = rest.split_at(at);
        clean.push_str(before);
        let sign = from.chars().next().unwrap_or_default();
        rest = if let Some(length) = length_of_look(from) {
            let (order, after) = from.split_at(length);
            clean.push_str(order);
            after
        } else {
            clean.push(if sign == '\r' { ' ' } else { '?' });
            &from[sign.len_utf8()..]
        };
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_orders_to_a_terminal_only_looks_are_left() {
        for stays in [
            "plain\n\tä 日本語 \u{200f}",
            "\x1b[31mFALSE\x1b[0m and \x1b[38;5;2mTRUE\x1b[39m, \x1b[1m\x1b[4mUsage:\x1b[0m \x1b[m",
        ] {
            assert_eq!(without_orders(stays), stays);
        }
        for (text, clean) in [
            ("\x1b[2J\x1b[Hm", "?[2J?[Hm"),
            ("\x1b]0;owned\x07 \x1b]52;c;ZQ==\x1b\\", "?]0;owned? ?]52;c;ZQ==?\\"),
            // Hidden, black, and an order with no end.
            ("\x1b[8mx\x1b[30mx\x1b[0;8mx\x1b[38;5;0mx\x1b[", "?[8mx?[30mx?[0;8mx?[38;5;0mx?["),
            ("right\rwrong \u{9b}31m \u{202e}x\x08\x7f", "right wrong ?31m ?x??"),
            ("\x1b[31mred\x1b[2K\x1b[0m", "\x1b[31mred?[2K\x1b[0m"),
        ] {
            assert_eq!(without_orders(text), clean, "{text:?}");
        }
    }

    #[test]
    fn no_color_and_pipes_get_none_unless_it_is_asked_for() {
        let says = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        assert!(is_wanted(When::Auto, true, says(&[("TERM", "xterm")])));
        assert!(
            !is_wanted(When::Auto, false, says(&[]))
                && !is_wanted(When::Auto, true, says(&[("TERM", "dumb")]))
        );
        assert!(!is_wanted(When::Auto, true, says(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")])));
        assert!(is_wanted(When::Auto, true, says(&[("NO_COLOR", "")])), "an empty NO_COLOR is none");
        assert!(is_wanted(When::Auto, false, says(&[("CLICOLOR_FORCE", "1")])));
        assert!(
            is_wanted(When::Always, false, says(&[("NO_COLOR", "1")]))
                && !is_wanted(When::Never, true, says(&[]))
        );
        let words = ["TRUE", "true_with_limits", "NOT PROVEN", "false", "none"];
        let inks = [Ink::Good, Ink::Doubtful, Ink::Doubtful, Ink::Bad, Ink::Plain];
        assert_eq!(words.map(Ink::of_verdict), inks);
        assert_eq!(always(Ink::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
