//! What happened to a run and when: the timeline in `run.json` and `events.csv`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More events of one run are not kept.
pub const MOST_EVENTS: usize = 10_000;
/// Of them, so many may be what people say and commands print, however much that is: the steps of stages, drivers and
/// faults have room behind any number of notes.
pub const MOST_SAID: usize = 5_000;
/// What stands behind the last of these.
pub const SAID_NO_MORE: &str = "no further notes and outputs of commands are taken down: there are too many";
/// Longer texts are cut.
pub const LONGEST_EVENT: usize = 4_000;

/// How a step of a fault is said, after the name of its slot and a colon: it was proved to be there, and by what.
pub const FAULT_LANDED: &str = "it is there: ";
/// The same: it is healed; by whom, and why, follows where that was not the run when it was time.
pub const FAULT_HEALED: &str = "healed";
/// The same: the store's own state showed it.
pub const FAULT_NOTICED: &str = "the store has noticed";
/// The same: what it had cost of redundancy is whole again.
pub const FAULT_WHOLE: &str = "redundancy is whole again";
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

    /// Whether a person or a command says it, in any number.
    fn is_said(self) -> bool {
        matches!(self, Self::Command | Self::Note)
    }

    /// The one with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// How many events there are, for whoever adds more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Room {
    all: usize,
    said: usize,
}

impl Room {
    /// Beside these.
    pub fn of(events: &[EventRecord]) -> Self {
        let said = events.iter().filter(|event| event.kind.is_said()).count();
        Self { all: events.len(), said }
    }

    /// Takes room for one of this kind; false where there is none.
    pub fn take(&mut self, kind: EventKind) -> bool {
        let has_room = self.all < MOST_EVENTS && (!kind.is_said() || self.said < MOST_SAID);
        self.all += usize::from(has_room);
        self.said += usize::from(has_room && kind.is_said());
        has_room
    }

    /// Whether that was the last that may be said.
    pub fn is_all_said(self, kind: EventKind) -> bool {
        kind.is_said() && self.said == MOST_SAID
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
    fn what_is_said_leaves_room_for_what_happens_and_nothing_is_beyond_the_most() {
        for said in [EventKind::Note, EventKind::Command] {
            let mut room = Room::default();
            let taken = (0..2 * MOST_EVENTS).filter(|_| room.take(said)).count();
            assert_eq!(taken, MOST_SAID);
            assert!(room.is_all_said(said) && !room.is_all_said(EventKind::Fault));
            let taken = (0..2 * MOST_EVENTS).filter(|_| room.take(EventKind::Fault)).count();
            assert_eq!(taken, MOST_EVENTS - MOST_SAID);
        }
        let event = |kind| EventRecord::new(Timestamp::UNIX_EPOCH, kind, None, "x");
        let events = vec![event(EventKind::Stage); MOST_EVENTS - 1];
        let mut room = Room::of(&events);
        assert!(room.take(EventKind::Note) && !room.take(EventKind::Note) && !room.take(EventKind::Fault));
    }

    #[test]
    fn what_a_command_prints_stays_text() {
        let event = |text: &str| EventRecord::new(Timestamp::UNIX_EPOCH, EventKind::Command, None, text).text;
        assert_eq!(event("\u{1b}[31mred\u{1b}[0m\r\nsecond\tline\u{7}\n"), "[31mred [0m \nsecond\tline");
        let long = event(&"ä".repeat(LONGEST_EVENT));
        assert!(long.ends_with("ä [the rest was cut]") && long.len() < LONGEST_EVENT + 40, "{}", long.len());
    }
}
