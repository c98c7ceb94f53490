//! What happened to a run and when: the timeline in `run.json` and `events.csv`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More events of one run are not kept.
pub const MOST_EVENTS: usize = 10_000;
/// Longer texts are cut.
pub const LONGEST_EVENT: usize = 4_000;

/// How a step of a fault is said, after the name of its slot and a colon: it was proved to be there, and by what.
pub const FAULT_LANDED: &str = "it is there: ";
/// The same: it is healed; by whom, and why, follows where that was not the run when it was time.
pub const FAULT_HEALED: &str = "healed";
/// The same: nothing can be said of its slot, and why.
pub const FAULT_VOID: &str = "void: ";

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A stage was entered, its load began, it was left.
    Stage,
    /// A driver was lost, came back, or made no load for some time.
    Driver,
    /// A step of a fault: asked for, proved, healed, void.
    Fault,
    /// What a command of a fault printed.
    Command,
    /// A person said so.
    Note,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Stage, Self::Driver, Self::Fault, Self::Command, Self::Note];

    /// As files say it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Driver => "driver",
            Self::Fault => "fault",
            Self::Command => "command",
            Self::Note => "note",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// When.
    pub at: Timestamp,
    /// What it is about.
    pub kind: EventKind,
    /// Id of the stage that was running; null between stages.
    #[serde(default)]
    pub stage: Option<String>,
    /// One sentence, or what was printed.
    pub text: String,
}

impl EventRecord {
    /// With a text that is not longer than it may be.
    #[must_use]
    pub fn new(at: Timestamp, kind: EventKind, stage: Option<String>, text: &str) -> Self {
        let end =
            (0..=LONGEST_EVENT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        // What a command prints may try to write to the terminal of whoever reads it later.
        let harmless = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
        let shown: String = text.get(..end).unwrap_or_default().chars().map(harmless).collect();
        let mut stored = shown.trim().to_owned();
        if end < text.len() {
            stored.push_str(" [the rest was cut]");
        }
        Self { at, kind, stage, text: stored }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_prints_stays_text() {
        let event = |text: &str| EventRecord::new(Timestamp::UNIX_EPOCH, EventKind::Command, None, text).text;
        assert_eq!(event("\u{1b}[31mred\u{1b}[0m\r\nsecond\tline\u{7}\n"), "[31mred [0m \nsecond\tline");
        let long = event(&"ä".repeat(LONGEST_EVENT));
        assert!(long.ends_with("ä [the rest was cut]") && long.len() < LONGEST_EVENT + 40, "{}", long.len());
    }
}
