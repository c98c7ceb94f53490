//! Events of a driver, on disk until NATS acknowledges them: those of one step are appended to files before they are
//! sent, and a file is deleted when all of it was acknowledged. A driver without a connection goes on working; one
//! that is restarted sends what it had.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmark_wire::message::{Event, MessageError, decode, encode};
use cosmark_wire::{DriverEvent, split};
use tokio::sync::watch;

/// A message is cut in parts above this, where that can be done.
const MOST_MESSAGE_BYTES: usize = 512 << 10;
/// What a script printed is cut at this, since its report cannot be: the rest of the message is much less than the difference.
const MOST_OUTPUT_BYTES: usize = MOST_MESSAGE_BYTES - (32 << 10);
/// A file is followed by another one at this length.
const SEGMENT_BYTES: u64 = 8 << 20;
/// A longer entry is damage.
const MOST_ENTRY_BYTES: usize = 64 << 20;

/// The events of one step.
#[derive(Debug)]
pub struct Outbox {
    directory: PathBuf,
    step: u32,
    state: Mutex<State>,
    /// The disk does not take it: there are only last words.
    is_in_memory: bool,
    /// Number of the next event; changes when there is something to send.
    written: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    segments: VecDeque<Segment>,
    /// The last of them.
    file: Option<File>,
    /// Last words, when the disk cannot take them.
    last_words: Vec<(u64, Vec<u8>)>,
    most_bytes: u64,
    next: u64,
    is_ended: bool,
}

#[derive(Debug, Clone)]
struct Segment {
    first: u64,
    bytes: u64,
}

/// An event on its way.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its number in its step.
    pub seq: u64,
    /// The encoded [`Event`].
    pub payload: Vec<u8>,
}

fn path_of(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("{first:012}.events"))
}

/// Nothing comes after it in its step.
pub fn is_last(event: &DriverEvent) -> bool {
    matches!(event, DriverEvent::Ended { .. } | DriverEvent::Refused(_) | DriverEvent::Triggered(_))
}

/// What NATS takes of an event that cannot be sent in parts.
fn fitting(event: DriverEvent) -> DriverEvent {
    match event {
        DriverEvent::Triggered(report) => DriverEvent::Triggered(report.cut(MOST_OUTPUT_BYTES)),
        other => other,
    }
}

impl Outbox {
    /// Opens the outbox of a step; what is in it already will be sent again.
    ///
    /// # Errors
    /// When the directory cannot be made, read or written.
    pub fn open(directory: &Path, step: u32, most_bytes: u64) -> io::Result<Arc<Self>> {
        fs::create_dir_all(directory)?;
        let mut firsts: Vec<u64> = fs::read_dir(directory)?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".events")?.parse().ok())
            .collect();
        firsts.sort_unstable();
        let mut segments = VecDeque::new();
        let (mut next, mut is_ended) = (firsts.last().copied().unwrap_or(0), false);
        for first in &firsts {
            let path = path_of(directory, *first);
            let (entries, bytes) = read_entries(&path)?;
            // A kill may have cut the last entry.
            OpenOptions::new().write(true).open(&path)?.set_len(bytes)?;
            if let Some(event) = entries.last().and_then(|payload| decode::<Event>(payload).ok()) {
                (next, is_ended) = (event.seq + 1, is_last(&event.event));
            }
            segments.push_back(Segment { first: *first, bytes });
        }
        if segments.is_empty() {
            segments.push_back(Segment { first: 0, bytes: 0 });
        }
        let newest = segments.back().map_or(0, |segment| segment.first);
        let file = OpenOptions::new().create(true).append(true).open(path_of(directory, newest))?;
        let file = Some(file);
        let state = State { segments, file, last_words: Vec::new(), most_bytes, next, is_ended };
        Ok(Arc::new(Self {
            directory: directory.to_owned(),
            step,
            state: Mutex::new(state),
            is_in_memory: false,
            written: watch::channel(next).0,
        }))
    }

    /// One for a step whose directory cannot be made or written: it takes [`Outbox::last_words`] only, so that whoever waits
    /// for the step is told why.
    pub fn in_memory(directory: &Path, step: u32) -> Arc<Self> {
        let state = State {
            segments: VecDeque::new(),
            file: None,
            last_words: Vec::new(),
            most_bytes: 0,
            next: 0,
            is_ended: false,
        };
        Arc::new(Self {
            directory: directory.to_owned(),
            step,
            state: Mutex::new(state),
            is_in_memory: true,
            written: watch::channel(0).0,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when the step's last event is in it.
    pub fn is_ended(&self) -> bool {
        self.state().is_ended
    }

    /// Events that wait to be acknowledged, about.
    pub fn waiting_bytes(&self) -> u64 {
        self.state().segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Adds an event, in parts if it is large.
    ///
    /// # Errors
    /// When the disk does not take it, or the outbox is as large as it may be.
    pub fn append(&self, event: DriverEvent) -> io::Result<()> {
        let mut parts = VecDeque::from([fitting(event)]);
        while let Some(part) = parts.pop_front() {
            let seq = self.state().next;
            let message = Event { step: self.step, seq, event: part };
            let payload = encode(&message).map_err(unwritable)?;
            if payload.len() > MOST_MESSAGE_BYTES
                && let Some((left, right)) = split(&message.event)
            {
                parts.push_front(right);
                parts.push_front(left);
                continue;
            }
            self.write(&payload, is_last(&message.event))?;
        }
        Ok(())
    }

    fn write(&self, payload: &[u8], is_last: bool) -> io::Result<()> {
        let mut state = self.state();
        let all: u64 = state.segments.iter().map(|segment| segment.bytes).sum();
        let length = u32::try_from(payload.len()).map_err(|_| io::Error::other("an event is too large"))?;
        let bytes = u64::from(length) + 4;
        if all + bytes > state.most_bytes {
            return Err(io::Error::other(format!(
                "the outbox has {} MiB that NATS has not taken: it was away for too long",
                all >> 20
            )));
        }
        if state.segments.back().is_some_and(|segment| segment.bytes >= SEGMENT_BYTES) {
            let first = state.next;
            let next = OpenOptions::new().create(true).append(true).open(path_of(&self.directory, first))?;
            state.file = Some(next);
            state.segments.push_back(Segment { first, bytes: 0 });
        }
        let entry = [&length.to_le_bytes(), payload].concat();
        let whole = state.segments.back().map_or(0, |segment| segment.bytes);
        let Some(file) = &mut state.file else { return Err(io::Error::other("it has no file")) };
        if let Err(error) = file.write_all(&entry) {
            // Half an entry would hide the ones behind it.
            file.set_len(whole)?;
            return Err(error);
        }
        if let Some(segment) = state.segments.back_mut() {
            segment.bytes += bytes;
        }
        state.next += 1;
        state.is_ended = is_last;
        self.written.send_replace(state.next);
        Ok(())
    }

    /// The last event of a step whose disk does not take it: kept in memory only.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn last_words(&self, event: DriverEvent) -> io::Result<()> {
        let event = fitting(event);
        let mut state = self.state();
        let payload = encode(&Event { step: self.step, seq: state.next, event }).map_err(unwritable)?;
        let seq = state.next;
        state.last_words.push((seq, payload));
        state.next += 1;
        state.is_ended = true;
        self.written.send_replace(state.next);
        Ok(())
    }

    /// Changes when something was added.
    pub fn written(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Up to `most` events from number `from` on.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(&self, from: u64, most: usize) -> io::Result<Vec<Entry>> {
        let (segment, last_words) = {
            let state = self.state();
            let words = state.last_words.iter().filter(|(seq, _)| *seq >= from);
            if self.is_in_memory {
                let entries =
                    words.take(most).map(|(seq, payload)| Entry { seq: *seq, payload: payload.clone() });
                return Ok(entries.collect());
            }
            let at = state.segments.iter().rposition(|segment| segment.first <= from).unwrap_or(0);
            let words: Vec<_> = state.last_words.iter().filter(|(seq, _)| *seq >= from).cloned().collect();
            (state.segments.get(at).cloned(), words)
        };
        let mut entries = Vec::new();
        if let Some(segment) = segment {
            let mut file = File::open(path_of(&self.directory, segment.first))?;
            let mut seq = segment.first;
            let mut left = segment.bytes;
            while left > 4 && entries.len() < most {
                let mut length = [0; 4];
                file.read_exact(&mut length)?;
                let length = u32::from_le_bytes(length);
                left = left.saturating_sub(u64::from(length) + 4);
                if seq < from {
                    file.seek(SeekFrom::Current(i64::from(length)))?;
                } else {
                    let mut payload = vec![0; length as usize];
                    file.read_exact(&mut payload)?;
                    entries.push(Entry { seq, payload });
                }
                seq += 1;
            }
        }
        if entries.is_empty() {
            entries.extend(last_words.into_iter().map(|(seq, payload)| Entry { seq, payload }));
        }
        Ok(entries)
    }

    /// Number of the first event that is still here.
    pub fn first(&self) -> u64 {
        self.state().segments.front().map_or(0, |segment| segment.first)
    }

    /// All events before `seq` were acknowledged: files that hold only such are deleted.
    pub fn acknowledged(&self, seq: u64) {
        let mut state = self.state();
        while state.segments.len() > 1 && state.segments.get(1).is_some_and(|second| second.first <= seq) {
            if let Some(segment) = state.segments.pop_front() {
                drop(fs::remove_file(path_of(&self.directory, segment.first)));
            }
        }
    }
}

fn unwritable(error: MessageError) -> io::Error {
    io::Error::other(error.to_string())
}

/// The whole entries of a file, and how many bytes they are.
fn read_entries(path: &Path) -> io::Result<(Vec<Vec<u8>>, u64)> {
    let bytes = fs::read(path)?;
    let mut entries = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        if length > MOST_ENTRY_BYTES {
            break;
        }
        let Some((entry, behind)) = behind.split_at_checked(length) else { break };
        entries.push(entry.to_vec());
        rest = behind;
    }
    Ok((entries, (bytes.len() - rest.len()) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(up_to_ns: u64) -> DriverEvent {
        DriverEvent::Told { up_to_ns }
    }

    fn all(outbox: &Outbox) -> Vec<(u64, DriverEvent)> {
        let mut found = Vec::new();
        let mut from = outbox.first();
        loop {
            let entries = outbox.read(from, 3).unwrap();
            let Some(last) = entries.last() else { return found };
            from = last.seq + 1;
            for entry in &entries {
                let event: Event = decode(&entry.payload).unwrap();
                assert_eq!(event.seq, entry.seq);
                found.push((event.seq, event.event));
            }
        }
    }

    #[test]
    fn what_was_added_is_there_again_after_a_kill_that_cut_the_last_entry() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path(), 3, 1 << 30).unwrap();
        (0..10).for_each(|ns| outbox.append(told(ns)).unwrap());
        drop(outbox);
        let path = path_of(directory.path(), 0);
        let length = fs::metadata(&path).unwrap().len();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 3).unwrap();
        let outbox = Outbox::open(directory.path(), 3, 1 << 30).unwrap();
        assert!(!outbox.is_ended());
        outbox.append(DriverEvent::Ended { missions: Vec::new(), gave_up: None }).unwrap();
        let found = all(&outbox);
        assert_eq!(found.len(), 10);
        assert!(found[..9].iter().enumerate().all(|(at, one)| *one == (at as u64, told(at as u64))));
        assert!(Outbox::open(directory.path(), 3, 1 << 30).unwrap().is_ended());
    }

    #[test]
    fn files_are_deleted_when_all_of_them_was_acknowledged_and_a_large_event_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path(), 0, 1 << 30).unwrap();
        let sample =
            |at: u64| cosmark_metrics::Sample { object: at << 30, ..cosmark_metrics::Sample::default() };
        let samples: Vec<_> = (0..400_000).map(sample).collect();
        outbox.append(DriverEvent::Samples { work: 0, samples: samples.clone() }).unwrap();
        let parts = all(&outbox);
        assert!(parts.len() > 10);
        let again: Vec<_> = parts
            .iter()
            .flat_map(|(_, event)| match event {
                DriverEvent::Samples { samples, .. } => samples.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(again, samples);
        let files = || fs::read_dir(directory.path()).unwrap().count();
        assert!(files() > 1);
        outbox.acknowledged(parts.len() as u64);
        assert_eq!(files(), 1);
        assert_eq!(Outbox::open(directory.path(), 0, 1 << 30).unwrap().state().next, parts.len() as u64);
    }

    #[test]
    fn the_report_of_a_script_fits_into_a_message_whatever_it_printed() {
        let directory = tempfile::tempdir().unwrap();
        for (step, sign) in (0..).zip(["x", "\u{fffd}", "\0", "\u{1f600}"]) {
            let output = sign.repeat(1 << 20);
            let report = cosmark_wire::TriggerReport { output, error: Some("it ended with 1".to_owned()) };
            let outbox = Outbox::open(&directory.path().join(step.to_string()), step, 1 << 30).unwrap();
            outbox.append(DriverEvent::Triggered(report.clone())).unwrap();
            outbox.last_words(DriverEvent::Triggered(report)).unwrap();
            let entries = [outbox.read(0, 1).unwrap(), outbox.read(1, 1).unwrap()].concat();
            assert_eq!(entries.len(), 2);
            for entry in entries {
                assert!(entry.payload.len() <= MOST_MESSAGE_BYTES, "{sign:?}: {}", entry.payload.len());
                let event: Event = decode(&entry.payload).unwrap();
                let DriverEvent::Triggered(report) = event.event else { panic!("no report") };
                assert!(report.output.starts_with(sign) && report.output.trim_end().ends_with("left out]"));
                assert_eq!(report.error.as_deref(), Some("it ended with 1"));
            }
        }
    }

    #[test]
    fn an_outbox_that_is_full_says_so_and_still_has_last_words() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path(), 0, 200).unwrap();
        let full = (0..100).find_map(|ns| outbox.append(told(ns)).err()).unwrap();
        assert!(full.to_string().contains("away for too long"), "{full}");
        let before = all(&outbox).len();
        outbox.last_words(DriverEvent::Ended { missions: Vec::new(), gave_up: None }).unwrap();
        let found = all(&outbox);
        assert_eq!(found.len(), before + 1);
        assert!(matches!(found.last().unwrap().1, DriverEvent::Ended { .. }));
    }
}
