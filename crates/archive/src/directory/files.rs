//! Names, locks and whole-file writes on a disk that may be full, read-only, or shared with another process.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use cosmark_workload::safe_name;

use crate::cosbench::fields::latin;
use crate::{ArchiveError, output, regular};

/// The record of a run, in its directory.
pub(crate) const RECORD: &str = "run.json";
/// One line for each run, in the archive's directory.
pub(crate) const HISTORY: &str = "run-history.csv";
/// One line for each operation of each run, in the archive's directory.
pub(crate) const WORKLOADS: &str = "workloads.csv";

/// No archive comes to so many runs, and a script reads no greater number exactly. A directory with one would be the last that an
/// archive could have.
pub(crate) const MOST_NUMBER: u64 = 1 << 53;

/// Something of the name of the record is in a directory: a link that leads nowhere and a directory, too, which are damage.
pub(crate) fn has_record(dir: &Path) -> bool {
    fs::symlink_metadata(dir.join(RECORD)).is_ok()
}

/// `17` of `w17-name`.
pub(crate) fn number_of(directory: &str) -> Option<u64> {
    let (number, _) = directory.strip_prefix('w')?.split_once('-')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|number| is_number && *number < MOST_NUMBER)
}

/// The name of a file as text. COSBench names its files as its JVM's locale has it: what is not UTF-8 is taken for ISO 8859-1, as
/// in its tables.
#[must_use]
pub fn text_of_name(name: &OsStr) -> String {
    name.to_str().map_or_else(|| latin(name.as_bytes()), str::to_owned)
}

/// Where in `dir` that is what has this name as text, whatever its bytes are: the name in UTF-8 where there is none.
#[must_use]
pub fn place_named(dir: &Path, name: &str) -> PathBuf {
    let plain = dir.join(name);
    if name.is_ascii() || fs::symlink_metadata(&plain).is_ok() {
        return plain;
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut others = entries.map(|entry| entry.file_name()).filter(|own| own.to_str().is_none());
    others.find(|own| text_of_name(own) == name).map_or(plain, |own| dir.join(own))
}

/// Number and name of an entry of an archive that is the directory of a run. A link is none, wherever it leads: no run is written
/// so, and an archive that came from elsewhere could call any directory of this machine one of its own.
#[must_use]
pub fn run_directory(entry: &DirEntry) -> Option<(u64, String)> {
    let name = text_of_name(&entry.file_name());
    let number = number_of(&name)?;
    entry.file_type().is_ok_and(|kind| kind.is_dir()).then_some((number, name))
}

/// How long another process may hold the archive's lock; it is held for single milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// Writes a whole file under a temporary name and renames it, so that nobody ever sees half of it. A link of its name is
/// replaced. `durable` waits until the disk has it.
///
/// # Errors
/// When it cannot be written, or `fill` says so.
pub fn write_whole(
    path: &Path,
    durable: bool,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::io("write", path)(source);
    output::write_own(path, durable, &failed, |out| fill(out).map_err(failed))
}

/// No line of a file that grows has more bytes: what has more behind its last line end was not written by a run, such as a file
/// that somebody made longer.
const MOST_LINE_BYTES: u64 = 4 << 20;

/// What a full disk did not take is kept for later, up to this many bytes of a file.
const MOST_WAITING_BYTES: usize = 4 << 20;

/// A file that grows while a run lasts.
#[derive(Debug)]
pub struct GrowingFile {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    len: u64,
    /// Whole lines for which there was no room yet.
    waiting: Vec<u8>,
    /// There was no room for them, and no room to keep them until there is.
    lost: bool,
}

impl GrowingFile {
    /// Starts with `head`, which is there at once and whole.
    pub fn create(path: &Path, head: &[u8]) -> Result<Self, ArchiveError> {
        write_whole(path, false, |out| out.write_all(head))?;
        Self::open(path, head.len() as u64)
    }

    /// Goes on with what another process left; a last line that was cut short goes away, and one that is longer than any is ended.
    pub fn reopen(path: &Path, head: &[u8]) -> Result<Self, ArchiveError> {
        match whole_lines(path) {
            Ok(Some(0)) => Self::create(path, head),
            Ok(len) => Self::open(path, 0)?.cut(len),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(path, head),
            Err(error) => Err(ArchiveError::io("read", path)(error)),
        }
    }

    /// The same for a file that several may want to go on with: `None` when somebody else has its lock.
    pub fn take(path: &Path) -> Result<Option<Self>, ArchiveError> {
        let file = regular::open_to_write(path, OpenOptions::new().append(true));
        let file = file.map_err(ArchiveError::io("open", path))?;
        let taken = Self { path: path.to_owned(), file, len: 0, waiting: Vec::new(), lost: false };
        if !taken.lock()? {
            return Ok(None);
        }
        let len = whole_lines(path).map_err(ArchiveError::io("read", path))?;
        taken.cut(len).map(Some)
    }

    /// Takes away what stands behind the `len` bytes of whole lines. Where no line ends nearby, nothing goes away: what stands there
    /// becomes a line of its own.
    fn cut(mut self, len: Option<u64>) -> Result<Self, ArchiveError> {
        let meta = self.file.metadata().map_err(ArchiveError::io("read", &self.path))?;
        self.len = len.unwrap_or(meta.len());
        match len {
            Some(len) if len == meta.len() => return Ok(self),
            Some(len) => self.file.set_len(len).map_err(ArchiveError::io("write", &self.path))?,
            // A disk that is full takes it with the next lines.
            None => drop(self.append(b"\n")),
        }
        // When it was written last says how long its run lived.
        drop(meta.modified().and_then(|modified| self.file.set_modified(modified)));
        Ok(self)
    }

    fn open(path: &Path, len: u64) -> Result<Self, ArchiveError> {
        let file = regular::open_to_write(path, OpenOptions::new().append(true));
        let file = file.map_err(ArchiveError::io("open", path))?;
        Ok(Self { path: path.to_owned(), file, len, waiting: Vec::new(), lost: false })
    }

    /// Adds `text` in one write, so that a kill leaves whole lines. What a full disk took of it goes away again, so that
    /// later lines stay whole too; it is tried again with the next ones.
    pub fn append(&mut self, text: &[u8]) -> Result<(), ArchiveError> {
        if self.waiting.is_empty() {
            return self.write(text).inspect_err(|_| self.keep(text));
        }
        self.keep(text);
        self.catch_up()
    }

    /// Tries again what there was no room for.
    pub fn catch_up(&mut self) -> Result<(), ArchiveError> {
        let waiting = std::mem::take(&mut self.waiting);
        let written = if waiting.is_empty() { Ok(()) } else { self.write(&waiting) };
        if written.is_err() {
            self.waiting = waiting;
        }
        written
    }

    fn write(&mut self, text: &[u8]) -> Result<(), ArchiveError> {
        if let Err(error) = self.file.write_all(text) {
            drop(self.file.set_len(self.len));
            return Err(ArchiveError::io("write", &self.path)(error));
        }
        self.len += text.len() as u64;
        Ok(())
    }

    fn keep(&mut self, text: &[u8]) {
        if self.waiting.len() + text.len() <= MOST_WAITING_BYTES {
            self.waiting.extend_from_slice(text);
        } else {
            self.lost = true;
        }
    }

    /// Everything that was added is in it.
    pub fn is_whole(&self) -> bool {
        self.waiting.is_empty() && !self.lost
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock of this file, which others who write a run ask for, too; false when somebody else has it.
    pub fn lock(&self) -> Result<bool, ArchiveError> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            // A file system without locks has nobody who could hold one.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
            Err(TryLockError::Error(error)) => Err(ArchiveError::io("lock", &self.path)(error)),
        }
    }
}

/// Bytes up to and with the last line end; `None` where none is as near to the end as those of all lines are.
fn whole_lines(path: &Path) -> io::Result<Option<u64>> {
    use std::io::{Seek, SeekFrom};
    let mut file = regular::open(path)?;
    let whole = file.seek(SeekFrom::End(0))?;
    let mut end = whole;
    let mut block = vec![0; 1 << 16];
    while end > 0 {
        if whole - end >= MOST_LINE_BYTES {
            return Ok(None);
        }
        let size = usize::try_from(end).unwrap_or(usize::MAX).min(block.len());
        let start = end - size as u64;
        file.seek(SeekFrom::Start(start))?;
        let part = block.get_mut(..size).unwrap_or_default();
        file.read_exact(part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(start + at as u64 + 1));
        }
        end = start;
    }
    Ok(Some(0))
}

/// Adds lines to a file that several processes share, under the archive's lock. A missing file starts with `head`; a
/// last line that a crash cut short is ended first.
pub fn append_shared(path: &Path, head: &str, lines: &[u8]) -> Result<(), ArchiveError> {
    let cannot = |action| ArchiveError::io(action, path);
    let mut text = Vec::with_capacity(head.len() + lines.len() + 1);
    match last_byte(path) {
        Ok(None) => text.extend_from_slice(head.as_bytes()),
        Ok(Some(b'\n')) => {}
        Ok(Some(_)) => text.push(b'\n'),
        Err(error) => return Err(cannot("read")(error)),
    }
    text.extend_from_slice(lines);
    let file = regular::open_to_write(path, OpenOptions::new().append(true));
    let mut file = file.map_err(cannot("open"))?;
    file.write_all(&text).map_err(cannot("write"))
}

/// The last byte; `None` when the file is empty or not there.
pub fn last_byte(path: &Path) -> io::Result<Option<u8>> {
    use std::io::{Seek, SeekFrom};
    let mut file = match regular::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(Some(byte[0]))
}

/// Content of a file of at most `most_bytes` bytes.
pub fn read_bounded_bytes(path: &Path, most_bytes: u64) -> Result<Vec<u8>, ArchiveError> {
    let file = regular::open(path).map_err(ArchiveError::io("read", path))?;
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(ArchiveError::io("read", path))?;
    if bytes.len() as u64 > most_bytes {
        return Err(ArchiveError::Unreadable {
            path: path.to_owned(),
            problem: format!("larger than {most_bytes} bytes"),
            remedy: "no run writes such a file; restore it from a copy",
        });
    }
    Ok(bytes)
}

/// Text of a file of at most `most_bytes` bytes.
pub fn read_bounded(path: &Path, most_bytes: u64) -> Result<String, ArchiveError> {
    String::from_utf8(read_bounded_bytes(path, most_bytes)?).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        ArchiveError::Damaged {
            path: path.to_owned(),
            line: 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64,
            problem: "not UTF-8".to_owned(),
            remedy: "restore the file from a copy",
        }
    })
}

/// The archive's lock (flock), let go when dropped or when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for it, for at most half a minute.
    pub fn take(path: &Path) -> Result<Self, ArchiveError> {
        let file = regular::open_to_write(path, OpenOptions::new().write(true));
        let file = file.map_err(ArchiveError::io("open", path))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(ArchiveError::Locked {
                        path: path.to_owned(),
                        waited_s: LOCK_PATIENCE.as_secs(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(ArchiveError::io("lock", path)(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        write_whole(&path, true, |out| out.write_all(b"old")).unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = write_whole(&path, true, |out| {
            out.write_all(b"half")?;
            Err(full())
        })
        .unwrap_err()
        .to_string();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(error.contains("run.json") && error.contains("disk is full"), "{error}");
        assert!(error.contains("--archive"), "{error}");
    }

    #[test]
    fn a_file_that_somebody_made_longer_than_any_line_is_not_read_to_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        // Nothing but holes behind the line: a cut one, a long one, one of which nobody waits for the beginning.
        for (name, len, kept) in
            [("cut", 1 << 20, 6), ("long", 8 << 20, (8 << 20) + 1), ("huge", 200 << 30, (200 << 30) + 1)]
        {
            let path = dir.path().join(name);
            let go_on: [fn(&Path) -> GrowingFile; 2] = [
                |path| GrowingFile::take(path).unwrap().unwrap(),
                |path| GrowingFile::reopen(path, b"head\n").unwrap(),
            ];
            for go_on in go_on {
                fs::write(&path, "first\n").unwrap();
                File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
                let mut file = go_on(&path);
                file.append(b"next\n").unwrap();
                assert_eq!(fs::metadata(&path).unwrap().len(), kept + 5, "{name}");
                assert_eq!(whole_lines(&path).unwrap(), Some(kept + 5), "{name}");
                file.cut(Some(kept)).unwrap();
                assert_eq!(last_byte(&path).unwrap(), Some(b'\n'), "{name}: it has a line of its own");
            }
        }
    }

    #[test]
    fn a_line_that_a_crash_cut_short_does_not_swallow_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run-history.csv");
        append_shared(&path, "Id,Name\n", b"w1,a\n").unwrap();
        fs::write(&path, "Id,Name\nw1,a\nw2,").unwrap();
        append_shared(&path, "Id,Name\n", b"w3,c\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "Id,Name\nw1,a\nw2,\nw3,c\n");
    }
}
