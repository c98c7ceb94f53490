//! Colour where it means something: what is wrong, what is doubtful, what is well. Sources: ECMA-48 (SGR), no-color.org,
//! and CLICOLOR_FORCE of bixense.com/clicolors.

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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((Ink::of_verdict("NOT PROVEN"), Ink::of_verdict("false")), (Ink::Doubtful, Ink::Bad));
        assert_eq!(always(Ink::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
