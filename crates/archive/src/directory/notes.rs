//! Notes of people on a run. While it is written by another process they wait in `notes.log`, from where whoever writes it
//! takes them; afterwards they are put into `run.json` and `events.csv` at once, as is what others do to its faults then. And
//! how a run that is written takes its events.

use std::path::Path;

use jiff::Timestamp;

use crate::csv::events::{self, EVENTS};
use crate::directory::files::RECORD;
use crate::directory::files::{append_shared, run_directory, write_whole};
use crate::directory::process::may_be_alive;
use crate::directory::reader::read_record;
use crate::directory::run_dir::{RunDir, take_log};
use crate::directory::waiting_notes::{NOTES, WaitingNotes};
use crate::record::events::{EventKind, EventRecord, LONGEST_EVENT, Room, SAID_NO_MORE};
use crate::{ArchiveError, RunRecord, RunState};

/// Why a note is not taken, and what can be done.
const TOO_MANY: &str = "the run has too many events";
const ELSEWHERE: &str = "keep notes elsewhere";
/// So often it is looked at the end of a run for more notes than are read at a time.
const LAST_TAKES: u32 = 64;

/// Adds what a person says to the run in `dir`; true when it is in its record already, false when whoever writes the run will
/// put it there.
///
/// # Errors
/// When the text is empty or too long, there is no room for it, or it cannot be written.
pub fn add_note(dir: &Path, text: &str) -> Result<bool, ArchiveError> {
    let text = text.trim();
    let refused = |problem: &str, remedy: &'static str| ArchiveError::Unreadable {
        path: dir.to_owned(),
        problem: problem.to_owned(),
        remedy,
    };
    if text.len() > LONGEST_EVENT {
        return Err(refused("the note is too long", "give at most 4000 bytes"));
    }
    let now = Timestamp::now();
    // What is written is without signs of a terminal.
    if EventRecord::new(now, EventKind::Note, None, text).text.is_empty() {
        return Err(refused("the note is empty", "give a text"));
    }
    if !is_written(&read_record(dir)?) {
        put(dir, now, EventKind::Note, None, text)?;
        return Ok(true);
    }
    if !has_room(dir) {
        return Err(refused(TOO_MANY, ELSEWHERE));
    }
    let line = text.replace(['\n', '\r'], " ");
    append_shared(&dir.join(NOTES), "", format!("{now} {line}\n").as_bytes())?;
    // Who ends the run looks for notes once more when it has said so: what was there before that is seen.
    if is_written(&read_record(dir)?) {
        return Ok(false);
    }
    put(dir, now, EventKind::Note, None, &line)?;
    Ok(true)
}

/// Whether another process writes it now.
fn is_written(record: &RunRecord) -> bool {
    record.state == RunState::Running && record.process.as_ref().is_some_and(may_be_alive)
}

/// Whether one more note has a place in the timeline behind those that wait.
fn has_room(dir: &Path) -> bool {
    // What is damaged is no reason to refuse a note.
    let events = events::read_all(dir).unwrap_or_default();
    let (mut room, mut waiting) = (Room::of(&events), WaitingNotes::beyond(dir, &events));
    for _ in (0..LAST_TAKES).flat_map(|_| waiting.take()) {
        room.take(EventKind::Note);
    }
    room.take(EventKind::Note)
}

/// Adds what happened to a fault to a run of this archive that nobody writes any more; false where somebody does, or where there
/// is no such run.
///
/// # Errors
/// When it cannot be written.
pub fn add_fault_event(archive: &Path, run: &str, stage: &str, text: &str) -> Result<bool, ArchiveError> {
    let own = format!("{run}-");
    let entries = std::fs::read_dir(archive).map_err(ArchiveError::io("read directory", archive))?;
    let mut names = entries.flatten().filter_map(|entry| run_directory(&entry)).map(|(_, name)| name);
    let Some(name) = names.find(|name| name.starts_with(&own)) else { return Ok(false) };
    let dir = archive.join(name);
    let record = read_record(&dir)?;
    if is_written(&record) {
        return Ok(false);
    }
    put(&dir, Timestamp::now(), EventKind::Fault, Some(stage.to_owned()), text)?;
    Ok(true)
}

fn append(dir: &Path, event: &EventRecord) -> Result<(), ArchiveError> {
    let mut line = Vec::new();
    events::push(&mut line, event);
    append_shared(&dir.join(EVENTS.file), &String::from_utf8_lossy(&EVENTS.head()), &line)
}

/// Adds an event to a run that is over, of the stage that ran then where none is given.
fn put(
    dir: &Path,
    now: Timestamp,
    kind: EventKind,
    stage: Option<String>,
    text: &str,
) -> Result<(), ArchiveError> {
    // Who ends a killed run holds the same lock.
    let Some(lock) = take_log(dir)? else {
        // What it writes would be lost, or this.
        let why = "another process writes this run now: try again when it has ended".to_owned();
        return Err(ArchiveError::InUse { path: dir.to_owned(), why });
    };
    let mut record = read_record(dir)?;
    if matches!(record.state, RunState::Running | RunState::Killed) {
        // Whoever ends it takes it from there; when its record was written last says how long the run lived.
        return append(dir, &EventRecord::new(now, kind, stage, text));
    }
    let said = EventRecord::new(now, kind, None, text).text;
    if record.events.iter().any(|event| (event.at, event.kind) == (now, kind) && event.text == said) {
        // Whoever ended the run has taken it meanwhile.
        return Ok(());
    }
    if !Room::of(&record.events).take(kind) {
        return Err(ArchiveError::Unreadable {
            path: dir.to_owned(),
            problem: TOO_MANY.to_owned(),
            remedy: ELSEWHERE,
        });
    }
    let during = record.stages.iter().find(|stage| {
        stage.started.is_some_and(|from| from <= now) && stage.ended.is_none_or(|to| now <= to)
    });
    let found =
        during.filter(|_| record.ended.is_none_or(|ended| now <= ended)).map(|stage| stage.id.clone());
    let event = EventRecord::new(now, kind, stage.or(found), text);
    append(dir, &event)?;
    record.events.push(event);
    write_whole(&dir.join(RECORD), true, |out| {
        serde_json::to_writer_pretty(&mut *out, &record)?;
        out.write_all(b"\n")
    })?;
    drop(lock);
    Ok(())
}

impl RunDir {
    /// Adds an event to the timeline: to `events.csv` at once, to `run.json` when that is written next. Where there is
    /// no room for one of its kind it is left out.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn event(&mut self, event: EventRecord) -> Result<(), ArchiveError> {
        let mut room = Room::of(&self.record.events);
        if !room.take(event.kind) {
            return Ok(());
        }
        let last = room.is_all_said(event.kind).then(|| {
            let EventRecord { at, kind, stage, .. } = &event;
            EventRecord::new(*at, *kind, stage.clone(), SAID_NO_MORE)
        });
        let mut lines = Vec::new();
        for event in [Some(event), last].into_iter().flatten() {
            events::push(&mut lines, &event);
            self.record.events.push(event);
        }
        self.events.append(&lines)
    }

    /// Takes notes that people have left meanwhile; `stage` is the id of the one that runs.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn take_notes(&mut self, stage: Option<&str>) -> Result<(), ArchiveError> {
        let (notes, mut room) = (self.notes.take(), Room::of(&self.record.events));
        let notes = notes.into_iter().take_while(|_| room.take(EventKind::Note));
        // One that cannot be appended stands in the record, and so do those behind it.
        let mut all = Ok(());
        for (at, text) in notes {
            let one = self.event(EventRecord::new(at, EventKind::Note, stage.map(str::to_owned), &text));
            all = all.and(one);
        }
        all
    }

    /// Takes all that wait when the run is over.
    pub(super) fn take_last_notes(&mut self) -> Result<(), ArchiveError> {
        let mut all = Ok(());
        for _ in 0..LAST_TAKES {
            let one = self.take_notes(None);
            all = all.and(one);
        }
        all
    }

    /// Takes those that came while the record was written: whoever looks at it afterwards sees that the run is over.
    pub(super) fn take_notes_behind_the_end(&mut self) -> Result<(), ArchiveError> {
        let before = self.record.events.len();
        let noted = self.take_last_notes();
        if self.record.events.len() > before {
            self.write_record(true)?;
        }
        noted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::process::this_process;

    #[test]
    fn a_note_behind_one_that_a_full_disk_cut_is_a_note_of_its_own() {
        let run = tempfile::tempdir().unwrap();
        let record = serde_json::json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n", "description": null,
            "state": "running", "reason": null, "seed": 1, "submitted": null, "started": null, "ended": null,
            "process": this_process()});
        std::fs::write(run.path().join(RECORD), record.to_string()).unwrap();
        std::fs::write(run.path().join(NOTES), "2026-11-26T10:00:00Z ha").unwrap();
        assert!(!add_note(run.path(), "whole\nand one line").unwrap());
        let notes = WaitingNotes::of(run.path()).take();
        assert_eq!(notes.last().map(|(_, text)| text.as_str()), Some("whole and one line"), "{notes:?}");
    }

    #[test]
    fn a_note_of_nothing_that_can_be_seen_is_refused_and_one_of_a_mebibyte_too() {
        let run = tempfile::tempdir().unwrap();
        for (text, problem) in [("", "empty"), (" \n\t", "empty"), ("\u{7}\u{1b} \u{0}", "empty")] {
            let error = add_note(run.path(), text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text:?}: {error}");
        }
        let error = add_note(run.path(), &"\u{1f4a5}".repeat(1 << 18)).unwrap_err().to_string();
        assert!(error.contains("too long"), "{error}");
    }

    #[test]
    fn however_many_notes_there_are_faults_and_stages_are_in_the_timeline() {
        let dir = tempfile::tempdir().unwrap();
        let event = |kind, text: &str| EventRecord::new(Timestamp::UNIX_EPOCH, kind, None, text);
        let mut lines = EVENTS.head();
        for number in 0..12_000 {
            events::push(&mut lines, &event(EventKind::Note, &number.to_string()));
        }
        events::push(&mut lines, &event(EventKind::Fault, "a 1: healed"));
        std::fs::write(dir.path().join(EVENTS.file), lines).unwrap();
        let all = events::read_all(dir.path()).unwrap();
        assert_eq!(all.len(), crate::record::events::MOST_SAID + 1);
        assert_eq!(all.last().map(|event| event.text.as_str()), Some("a 1: healed"));
    }
}
