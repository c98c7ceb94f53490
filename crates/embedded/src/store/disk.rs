//! Files: one per object, named by a number.
//!
//! A file holds the object's bytes, then a JSON record of it, then a foot of fixed length that says how long both are.
//! It becomes an object only when the index points to it; a file without a foot is a write that did not end. Nothing
//! is synced to the device: this is a store to measure clients against, not one to keep data in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use s3s::S3Error;

use super::file::{MAGIC, file_path};
use super::object::Record;
use super::spares::{Spare, Spares};
use crate::fault::{self, is_full};

const FOOT_BYTES: usize = 8 + 4 + MAGIC.len();
/// Records are a key (1 KiB), metadata (2 KiB) and up to 10 000 part sizes.
const LONGEST_RECORD_BYTES: u32 = 1 << 20;

/// Space and file numbers of one store.
#[derive(Debug)]
pub(crate) struct Disk {
    max_bytes: Option<u64>,
    used_bytes: AtomicU64,
    next: AtomicU64,
    pub(crate) spares: Spares,
}

impl Disk {
    pub(crate) fn new(max_bytes: Option<u64>) -> Self {
        Self { max_bytes, used_bytes: AtomicU64::new(0), next: AtomicU64::new(1), spares: Spares::default() }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Numbers up to this one are taken.
    pub(crate) fn number_taken(&self, number: u64) {
        self.next.fetch_max(number.saturating_add(1), Ordering::Relaxed);
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn claim(&self, bytes: u64) -> Result<(), S3Error> {
        let limit = self.max_bytes.unwrap_or(u64::MAX);
        let step = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        match self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) {
            Ok(_) => Ok(()),
            Err(used) => Err(fault::limit_reached(bytes, used, limit)),
        }
    }

    pub(crate) fn claim_unchecked(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A file being written. Dropped before it is kept, it takes its file and its space back.
#[derive(Debug)]
pub(crate) struct Draft {
    disk: Arc<Disk>,
    path: PathBuf,
    number: u64,
    claimed_bytes: u64,
    /// Length that the file had before, if it is written again.
    stale_bytes: Option<u64>,
    file: Option<File>,
    kept: bool,
}

impl Draft {
    /// Claims the space; the file is made, or a spare one opened, by the first write.
    pub(crate) fn new(disk: &Arc<Disk>, folder: &Path, size_bytes: u64) -> Result<Self, S3Error> {
        disk.claim(size_bytes)?;
        let spare = disk.spares.take(folder, size_bytes);
        Ok(Self::with_claim(disk, folder, size_bytes, spare))
    }

    /// The same where the limit has been checked already: the bytes replace others that are in the store.
    pub(crate) fn in_place_of(disk: &Arc<Disk>, folder: &Path, size_bytes: u64) -> Self {
        disk.claim_unchecked(size_bytes);
        Self::with_claim(disk, folder, size_bytes, None)
    }

    fn with_claim(disk: &Arc<Disk>, folder: &Path, claimed_bytes: u64, spare: Option<Spare>) -> Self {
        let number = spare.map_or_else(|| disk.next_number(), |spare| spare.number);
        let path = file_path(folder, number);
        let stale_bytes = spare.map(|spare| spare.file_bytes);
        Self { disk: Arc::clone(disk), path, number, claimed_bytes, stale_bytes, file: None, kept: false }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.with_room(Self::make)?,
        };
        Ok(self.file.insert(file))
    }

    /// Tries a step again without the spare files when the disk is full.
    fn with_room<T>(&self, step: impl Fn(&Self) -> io::Result<T>) -> io::Result<T> {
        match step(self) {
            Err(error) if is_full(&error) && self.disk.spares.clear() => step(self),
            outcome => outcome,
        }
    }

    pub(crate) fn write_all(&mut self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            match self.file()?.write(data) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => data = &data[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) && self.disk.spares.clear() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Copies `range` of `source` behind what is written (`copy_file_range` where the system has it).
    pub(crate) fn copy(&mut self, mut source: &File, range: &Range<u64>) -> io::Result<()> {
        let start = self.file()?.stream_position()?;
        let len = range.end - range.start;
        loop {
            source.seek(SeekFrom::Start(range.start))?;
            match io::copy(&mut source.take(len), self.file()?) {
                Ok(copied) if copied == len => return Ok(()),
                Ok(_) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source is too short")),
                Err(error) if is_full(&error) && self.disk.spares.clear() => {
                    self.file()?.seek(SeekFrom::Start(start))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn make(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(self.stale_bytes.is_none());
        match options.open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.path.parent().ok_or(error)?;
                match fs::create_dir(folder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => options.open(&self.path),
                }
            }
            other => other,
        }
    }

    /// Writes `block`, the last bytes of a content that needs no record.
    pub(crate) fn close(&mut self, block: &[u8], size_bytes: u64) -> io::Result<()> {
        self.write_all(block)?;
        self.cut(size_bytes)
    }

    /// Takes away what a file that is written again held behind its new end.
    fn cut(&mut self, file_bytes: u64) -> io::Result<()> {
        match self.stale_bytes {
            Some(stale) if stale > file_bytes => self.file()?.set_len(file_bytes),
            _ => Ok(()),
        }
    }

    /// Writes `block`, the last bytes of the content, and the record behind it.
    pub(crate) fn seal(&mut self, mut block: Vec<u8>, size_bytes: u64, record: &Record) -> io::Result<()> {
        let content = block.len();
        serde_json::to_writer(&mut block, record)?;
        let record_bytes = u32::try_from(block.len() - content).unwrap_or(u32::MAX);
        if record_bytes > LONGEST_RECORD_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the record of the object is too long"));
        }
        block.extend_from_slice(&size_bytes.to_le_bytes());
        block.extend_from_slice(&record_bytes.to_le_bytes());
        block.extend_from_slice(MAGIC);
        self.write_all(&block)?;
        self.cut(size_bytes + u64::from(record_bytes) + FOOT_BYTES as u64)
    }

    /// The file stays; its space is given back by whoever removes it.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if self.file.take().is_some() || self.stale_bytes.is_some() {
            let _ = fs::remove_file(&self.path);
        }
        self.disk.release(self.claimed_bytes);
    }
}

/// Reads the record of a file that was closed earlier: the record and the length of the content, or `None` if the
/// write did not end.
pub(crate) fn read_record(path: &Path) -> io::Result<Option<(Record, u64)>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    if len < FOOT_BYTES as u64 {
        return Ok(None);
    }
    let mut foot = [0; FOOT_BYTES];
    file.seek(SeekFrom::Start(len - FOOT_BYTES as u64))?;
    file.read_exact(&mut foot)?;
    let [c0, c1, c2, c3, c4, c5, c6, c7, r0, r1, r2, r3, magic @ ..] = foot;
    let content = u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
    let record_bytes = u32::from_le_bytes([r0, r1, r2, r3]);
    let sum = content.checked_add(u64::from(record_bytes) + FOOT_BYTES as u64);
    if &magic != MAGIC || sum != Some(len) || record_bytes > LONGEST_RECORD_BYTES {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(content))?;
    file.take(u64::from(record_bytes)).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok().map(|record| (record, content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_draft_takes_its_file_and_its_space_back() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(Disk::new(Some(100)));
        let mut draft = Draft::new(&disk, folder.path(), 60).unwrap();
        draft.write_all(b"half").unwrap();
        let path = draft.path.clone();
        assert!(path.exists());
        assert!(Draft::new(&disk, folder.path(), 41).is_err());
        drop(draft);
        assert!(!path.exists());
        assert_eq!(disk.used_bytes(), 0);
        assert!(Draft::new(&disk, folder.path(), 100).is_ok());
    }

    #[test]
    fn a_torn_or_foreign_file_has_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut long = vec![0; 40];
        long.extend_from_slice(&u64::MAX.to_le_bytes());
        long.extend_from_slice(&7_u32.to_le_bytes());
        long.extend_from_slice(MAGIC);
        for content in [&b""[..], b"short", &[0; 200], &long] {
            fs::write(&path, content).unwrap();
            assert!(read_record(&path).unwrap().is_none(), "{} bytes", content.len());
        }
    }
}
