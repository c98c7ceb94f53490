//! `events.csv`: the timeline of a run, a line for each event as it happens.

use std::path::Path;

use jiff::Timestamp;

use crate::csv::line::push_line;
use crate::csv::table::{Fields, Table};
use crate::record::events::{EventKind, EventRecord, Room};
use crate::{ArchiveError, Run};

pub(crate) const EVENTS: Table =
    Table { file: "events.csv", columns: &["at", "kind", "stage", "text"], first: 4, figures: false };

pub(crate) fn push(out: &mut Vec<u8>, event: &EventRecord) {
    // A line of the file is a line of text: a kill leaves whole events.
    let text = event.text.replace(['\n', '\r'], " | ");
    let stage = event.stage.clone().unwrap_or_default();
    push_line(out, [event.at.to_string(), event.kind.word().to_owned(), stage, text]);
}

fn read(fields: &Fields<'_>) -> Result<EventRecord, String> {
    let at = fields.text(0).parse::<Timestamp>().map_err(|error| format!("at: {error}"))?;
    let kind = EventKind::of_word(&fields.text(1)).ok_or_else(|| format!("kind: `{}`", fields.text(1)))?;
    let stage = Some(fields.text(2)).filter(|stage| !stage.is_empty());
    Ok(EventRecord { at, kind, stage, text: fields.text(3) })
}

/// All events of the run in this directory; none where it has no such file.
pub(crate) fn read_all(dir: &Path) -> Result<Vec<EventRecord>, ArchiveError> {
    let (mut all, mut room) = (Vec::new(), Room::default());
    EVENTS.read(dir, |fields| {
        let event = read(fields)?;
        if room.take(event.kind) {
            all.push(event);
        }
        Ok(())
    })?;
    Ok(all)
}

impl Run {
    /// What happened to it, in order: as `run.json` says, and what `events.csv` has beyond where the run was killed.
    ///
    /// # Errors
    /// When `events.csv` is damaged.
    pub fn events(&self) -> Result<Vec<EventRecord>, ArchiveError> {
        let logged = read_all(&self.path)?;
        let known = &self.record.events;
        Ok(if logged.len() > known.len() { logged } else { known.clone() })
    }
}
