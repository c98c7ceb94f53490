//! Which positions of a pass the store has acknowledged: a bit each in `pass-K.done`, and in `pass-K.log` those that came since
//! it was written, eight bytes each, appended as they come. A process that is killed loses none that it was told of.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::ArchiveError;
use crate::directory::files::write_whole;
use crate::regular;

const MAGIC: &[u8; 8] = b"cosmfill";
/// Bytes of the log beyond which the bits are written, where they are fewer.
const LOG_BYTES: u64 = 1 << 20;

/// Positions of a pass that are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    bits: Vec<u64>,
    len: u64,
    count: u64,
}

/// What of a pass is left to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// Stretches of positions, as first and last.
    pub stretches: Vec<(u64, u64)>,
    /// Positions in them that are done already, and are done again.
    pub again: u64,
    /// Positions that are not done and in none of them: for the next run.
    pub later: u64,
}

fn length(stretches: &[(u64, u64)]) -> u64 {
    stretches.iter().map(|(first, last)| last - first + 1).sum()
}

fn done_path(dir: &Path, step: u32) -> PathBuf {
    dir.join(format!("pass-{step}.done"))
}

fn log_path(dir: &Path, step: u32) -> PathBuf {
    dir.join(format!("pass-{step}.log"))
}

/// The file's first bytes, at most so many; none where there is no file.
fn bytes_of(path: &Path, most_bytes: u64) -> Result<Vec<u8>, ArchiveError> {
    match regular::read_up_to(path, most_bytes) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ArchiveError::io("read", path)(error)),
    }
}

impl Done {
    /// None of `len`.
    #[must_use]
    pub fn none(len: u64) -> Self {
        let words = usize::try_from(len.div_ceil(64)).unwrap_or(usize::MAX);
        Self { bits: vec![0; words], len, count: 0 }
    }

    /// Those of pass `step` of the data set in `dir`, of `len`.
    pub(crate) fn read(dir: &Path, step: u32, len: u64) -> Result<Self, ArchiveError> {
        let mut done = Self::none(len);
        let path = done_path(dir, step);
        // A byte more than it may have, to see that it has more.
        let most_bytes = 17 + done.bits.len() as u64 * 8;
        let bytes = bytes_of(&path, most_bytes)?;
        if !bytes.is_empty() {
            let fits = bytes.len() == 16 + done.bits.len() * 8
                && bytes.starts_with(MAGIC)
                && bytes.get(8..16).is_some_and(|own| own == len.to_le_bytes());
            if !fits {
                return Err(ArchiveError::Unreadable {
                    path,
                    problem: "it does not say which objects were written".to_owned(),
                    remedy: "restore the file from a copy, or remove it: what it had is written again",
                });
            }
            for (word, bytes) in done.bits.iter_mut().zip(bytes[16..].chunks_exact(8)) {
                *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            }
            // No bit beyond the end.
            if let Some(last) = done.bits.last_mut().filter(|_| !len.is_multiple_of(64)) {
                *last &= (1 << (len % 64)) - 1;
            }
            done.count = done.bits.iter().map(|word| u64::from(word.count_ones())).sum();
        }
        // Each position once, and what was on its way when the bits were written.
        let most_log_bytes = len.saturating_mul(8).saturating_add(LOG_BYTES);
        for position in bytes_of(&log_path(dir, step), most_log_bytes)?.chunks_exact(8) {
            done.set(u64::from_le_bytes(position.try_into().unwrap_or_default()));
        }
        Ok(done)
    }

    /// Marks one; true when it was not done.
    pub fn set(&mut self, position: u64) -> bool {
        let word = usize::try_from(position / 64).ok().filter(|_| position < self.len);
        let Some(word) = word.and_then(|at| self.bits.get_mut(at)) else { return false };
        let bit = 1 << (position % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(new);
        new
    }

    /// Marks those that are not done and of which `is_so` says so.
    pub(crate) fn set_where(&mut self, is_so: impl Fn(u64) -> bool) {
        let mut from = 0;
        while let Some(position) = self.first_that(false, from, self.len) {
            if is_so(position) {
                self.set(position);
            }
            from = position + 1;
        }
    }

    /// True when it is done.
    #[must_use]
    pub fn has(&self, position: u64) -> bool {
        let word = usize::try_from(position / 64).ok().and_then(|at| self.bits.get(at));
        word.is_some_and(|word| word & (1 << (position % 64)) != 0)
    }

    /// How many are done.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True when there is nothing to do at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All are done.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.count == self.len
    }

    /// The first that is not done; how many there are where all are.
    #[must_use]
    pub fn first_missing(&self) -> u64 {
        let words = self.bits.iter().take_while(|word| **word == u64::MAX).count();
        let more = self.bits.get(words).map_or(0, |word| word.trailing_ones());
        (words as u64 * 64 + u64::from(more)).min(self.len)
    }

    /// How many there are up to the last one that is done.
    #[must_use]
    pub fn up_to(&self) -> u64 {
        let last = self.bits.iter().rposition(|word| *word != 0);
        last.map_or(0, |at| at as u64 * 64 + 64 - u64::from(self.bits[at].leading_zeros()))
    }

    /// What is not done, in at most `most` stretches: all that lies behind the last position that is done is one of them.
    /// Where there would be more some are joined if it `may_repeat` what lies between them: no more than is missing in them,
    /// or than a tenth of the work.
    #[must_use]
    pub fn left(&self, most: usize, may_repeat: bool) -> Left {
        let end = self.up_to();
        let behind = (end < self.len).then(|| (end, self.len - 1));
        let room = most.saturating_sub(usize::from(behind.is_some()));
        let missing = end - self.count;
        let (mut holes, mut covered) = self.holes(end, 0, room);
        let mut bridge = 1;
        while may_repeat && covered < missing && bridge <= end {
            let (wider, more) = self.holes(end, bridge, room);
            if length(&wider) - more > more.max((more + self.len - end) / 10) {
                break;
            }
            (holes, covered, bridge) = (wider, more, bridge * 2);
        }
        let again = length(&holes) - covered;
        holes.extend(behind);
        Left { stretches: holes, again, later: missing - covered }
    }

    /// The first stretches before `end` that are not done, at most `room`, and how many positions in them are not: between
    /// two of them more than `bridge` are done.
    fn holes(&self, end: u64, bridge: u64, room: usize) -> (Vec<(u64, u64)>, u64) {
        let mut holes: Vec<(u64, u64)> = Vec::new();
        let (mut position, mut missing) = (0, 0);
        while let Some(first) = self.first_that(false, position, end) {
            let next = self.first_that(true, first, end).unwrap_or(end);
            let is_full = holes.len() == room;
            match holes.last_mut() {
                Some(before) if first - before.1 - 1 <= bridge => before.1 = next - 1,
                _ if is_full => break,
                _ => holes.push((first, next - 1)),
            }
            missing += next - first;
            position = next;
        }
        (holes, missing)
    }

    /// The first position from `from` on and before `end` that is done, or that is not.
    fn first_that(&self, is_done: bool, from: u64, end: u64) -> Option<u64> {
        let mut position = from;
        while position < end {
            let word =
                usize::try_from(position / 64).ok().and_then(|at| self.bits.get(at)).copied().unwrap_or(0);
            let wanted = if is_done { word } else { !word };
            // Whole words at once: a billion positions are looked at in a moment.
            let wanted = wanted & (u64::MAX << (position % 64));
            let begin = position / 64 * 64;
            if wanted != 0 {
                return Some(begin + u64::from(wanted.trailing_zeros())).filter(|found| *found < end);
            }
            position = begin + 64;
        }
        None
    }

    fn write(&self, dir: &Path, step: u32) -> Result<(), ArchiveError> {
        write_whole(&done_path(dir, step), true, |out| {
            out.write_all(MAGIC)?;
            out.write_all(&self.len.to_le_bytes())?;
            let mut buffer = Vec::with_capacity(1 << 16);
            for words in self.bits.chunks(1 << 13) {
                buffer.clear();
                words.iter().for_each(|word| buffer.extend_from_slice(&word.to_le_bytes()));
                out.write_all(&buffer)?;
            }
            Ok(())
        })
    }

    /// Nothing of pass `step` is done any more.
    pub(crate) fn forget(dir: &Path, step: u32) -> Result<(), ArchiveError> {
        for path in [done_path(dir, step), log_path(dir, step)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ArchiveError::io("remove", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Those of a pass that runs.
pub(crate) struct Progress {
    dir: PathBuf,
    step: u32,
    done: Done,
    log: File,
    log_bytes: u64,
    /// There was no room for some of them in the log: they are in memory alone.
    behind: bool,
}

impl Progress {
    /// Goes on with what there is.
    pub(crate) fn open(dir: &Path, step: u32, len: u64) -> Result<Self, ArchiveError> {
        let done = Done::read(dir, step, len)?;
        let path = log_path(dir, step);
        let log = regular::open_to_write(&path, OpenOptions::new().append(true));
        let log = log.map_err(ArchiveError::io("open", &path))?;
        // An entry that a kill cut short would shift those behind it.
        let log_bytes = u64::from(log.metadata().map_err(ArchiveError::io("read", &path))?.len() > 0);
        let mut progress = Self { dir: dir.to_owned(), step, done, log, log_bytes, behind: false };
        progress.flush()?;
        Ok(progress)
    }

    pub(crate) fn add(&mut self, positions: impl Iterator<Item = u64>) -> Result<(), ArchiveError> {
        let mut new = Vec::new();
        for position in positions {
            if self.done.set(position) {
                new.extend_from_slice(&position.to_le_bytes());
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.log.write_all(&new) {
            self.cut();
            return Err(ArchiveError::io("write", &log_path(&self.dir, self.step))(error));
        }
        self.log_bytes += new.len() as u64;
        let bits = self.done.len / 8;
        if self.log_bytes > bits.max(LOG_BYTES) { self.flush() } else { Ok(()) }
    }

    /// Takes away what a full disk took of entries: a part of one would shift those behind it, and others would count as done.
    fn cut(&mut self) {
        self.behind = true;
        drop(self.log.set_len(self.log_bytes));
    }

    /// Writes the bits; the log begins anew.
    pub(crate) fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.log_bytes == 0 && !self.behind {
            return Ok(());
        }
        self.done.write(&self.dir, self.step)?;
        let path = log_path(&self.dir, self.step);
        self.log.set_len(0).map_err(ArchiveError::io("write", &path))?;
        (self.log_bytes, self.behind) = (0, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_disk_took_of_an_entry_makes_no_other_position_done() {
        let dir = tempfile::tempdir().unwrap();
        let mut progress = Progress::open(dir.path(), 0, 1000).unwrap();
        progress.add([1, 2].into_iter()).unwrap();
        // As a write leaves it that had no room for its end.
        let mut half = OpenOptions::new().append(true).open(log_path(dir.path(), 0)).unwrap();
        half.write_all(&[7, 0, 0]).unwrap();
        progress.cut();
        progress.add([300, 301].into_iter()).unwrap();
        let found = Done::read(dir.path(), 0, 1000).unwrap();
        let done: Vec<u64> = (0..1000).filter(|at| found.has(*at)).collect();
        assert_eq!(done, [1, 2, 300, 301]);
        // What the log had no room for is written with the bits, also where nothing came after it.
        let mut progress = Progress::open(dir.path(), 1, 1000).unwrap();
        progress.done.set(5);
        progress.cut();
        progress.flush().unwrap();
        assert!(Done::read(dir.path(), 1, 1000).unwrap().has(5));
    }

    /// Of `len` positions those that are done.
    fn of(len: u64, is_done: impl Fn(u64) -> bool) -> Done {
        let mut done = Done::none(len);
        (0..len).filter(|position| is_done(*position)).for_each(|position| {
            done.set(position);
        });
        done
    }

    /// Positions in `left` that are not done, and all in it.
    fn within(done: &Done, left: &Left) -> (u64, u64) {
        let all = left.stretches.iter().flat_map(|(first, last)| *first..=*last);
        all.fold((0, 0), |(missing, all), position| (missing + u64::from(!done.has(position)), all + 1))
    }

    #[test]
    fn what_is_left_is_every_stretch_that_is_not_done_where_there_is_room_for_them() {
        let left = |done: &Done| done.left(100, true);
        let only = |stretches: &[(u64, u64)]| Left { stretches: stretches.to_vec(), ..Left::default() };
        assert_eq!(left(&of(200, |_| false)), only(&[(0, 199)]));
        assert_eq!(left(&of(200, |_| true)), only(&[]));
        assert_eq!(left(&of(0, |_| true)), only(&[]));
        assert_eq!(left(&of(200, |at| at < 64)), only(&[(64, 199)]));
        assert_eq!(left(&of(200, |at| (64..128).contains(&at) || at == 199)), only(&[(0, 63), (128, 198)]));
        assert_eq!(left(&of(130, |at| at % 64 != 63)), only(&[(63, 63), (127, 127)]));
    }

    #[test]
    fn what_many_workers_have_left_between_each_other_is_written_in_one_run_with_all_behind_it() {
        // Of twelve workers each has come a little farther than the one before it.
        let done = of(60_000, |at| at / 12 < 1000 + at % 12 * 30);
        let left = done.left(40, true);
        let (missing, all) = within(&done, &left);
        assert!(left.stretches.len() <= 40, "{}", left.stretches.len());
        assert_eq!((missing, left.later), (60_000 - done.count(), 0), "all of it");
        assert_eq!(left.again, all - missing);
        assert!(left.again <= (60_000 - done.count()) / 10, "{}", left.again);
        // What is deleted is not deleted twice, and what lies behind everything is not left out.
        let once = done.left(40, false);
        let (missing, all) = within(&done, &once);
        assert_eq!((once.stretches.len(), once.again, all), (40, 0, missing));
        assert_eq!(once.later, 60_000 - done.count() - missing);
        assert_eq!(once.stretches.last(), Some(&(done.up_to(), 59_999)));
    }

    #[test]
    fn a_few_failures_far_from_each_other_have_nothing_between_them_written_again() {
        let done = of(100_000, |at| at % 1000 != 7);
        let left = done.left(40, true);
        let (missing, all) = within(&done, &left);
        assert_eq!((left.stretches.len(), missing, all), (40, 40, 40));
        assert_eq!((left.again, left.later), (0, 60));
        assert_eq!(left.stretches.first(), Some(&(7, 7)));
        // No room is no reason to look for ever.
        assert_eq!(done.left(0, true), Left { stretches: Vec::new(), again: 0, later: 100 });
    }

    #[test]
    fn files_that_are_longer_than_they_may_be_are_not_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        for path in [done_path(dir.path(), 0), log_path(dir.path(), 1)] {
            File::create(path).unwrap().set_len(1 << 36).unwrap();
        }
        assert!(Done::read(dir.path(), 0, 1000).is_err());
        assert_eq!(Done::read(dir.path(), 1, 1000).unwrap().count(), 1, "position 0, again and again");
    }
}
