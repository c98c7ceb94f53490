//! Files of deleted objects, kept to be written again.
//!
//! Overwriting objects by new files and removing the old ones is slow on ext4: it does not give out an inode that was
//! freed in the last seconds and looks at all of them on each creation (`recently_deleted` in `fs/ext4/ialloc.c`). With
//! some thousand deletions a second a creation takes 300 us instead of 15. Writing a small file again costs neither.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::file::{MAGIC, file_path};

/// Larger files are removed.
pub(crate) const LARGEST_BYTES: u64 = 256 << 10;
/// Space that all spare files may take; it does not count as used, and is given back when the disk is full.
const MOST_BYTES: u64 = 32 << 20;
const MOST_FILES: usize = 4096;

/// A file that nobody reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spare {
    pub(crate) number: u64,
    /// With record and foot.
    pub(crate) file_bytes: u64,
}

#[derive(Debug, Default)]
struct Inner {
    by_bucket: BTreeMap<PathBuf, Vec<Spare>>,
    files: usize,
    bytes: u64,
}

/// The spare files of a store, by directory of their bucket.
#[derive(Debug, Default)]
pub(crate) struct Spares(Mutex<Inner>);

impl Spares {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file for content of this length.
    pub(crate) fn take(&self, folder: &Path, size_bytes: u64) -> Option<Spare> {
        if size_bytes > LARGEST_BYTES {
            return None;
        }
        let mut inner = self.lock();
        let spare = inner.by_bucket.get_mut(folder)?.pop()?;
        inner.files -= 1;
        inner.bytes -= spare.file_bytes;
        Some(spare)
    }

    /// Keeps the file of an object that is gone; false if it is to be removed instead.
    pub(crate) fn keep(&self, folder: &Path, number: u64) -> bool {
        let Ok(file_bytes) = blank(&file_path(folder, number)) else { return false };
        let mut inner = self.lock();
        if inner.files >= MOST_FILES || inner.bytes + file_bytes > MOST_BYTES {
            return false;
        }
        inner.files += 1;
        inner.bytes += file_bytes;
        let spare = Spare { number, file_bytes };
        match inner.by_bucket.get_mut(folder) {
            Some(list) => list.push(spare),
            None => drop(inner.by_bucket.insert(folder.to_owned(), vec![spare])),
        }
        true
    }

    /// Forgets those of a bucket that goes with all its files.
    pub(crate) fn forget(&self, folder: &Path) {
        let mut inner = self.lock();
        for spare in inner.by_bucket.remove(folder).unwrap_or_default() {
            inner.files -= 1;
            inner.bytes -= spare.file_bytes;
        }
    }

    /// Removes all of them, to make room; false if there were none.
    pub(crate) fn clear(&self) -> bool {
        let gone = std::mem::take(&mut *self.lock());
        for (folder, list) in &gone.by_bucket {
            for spare in list {
                let _ = fs::remove_file(file_path(folder, spare.number));
            }
        }
        gone.files > 0
    }
}

/// Takes the foot away, so that the file is no object when the directory is read again; gives its length.
fn blank(path: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let back = i64::try_from(MAGIC.len()).unwrap_or(0);
    let at = file.seek(SeekFrom::End(-back))?;
    file.write_all(&[0; MAGIC.len()])?;
    Ok(at + MAGIC.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(n: u64) -> u64 {
        (n << 8) | 1
    }

    fn make(folder: &Path, n: u64, bytes: u64) {
        fs::create_dir_all(folder.join("01")).unwrap();
        fs::File::create(file_path(folder, number(n))).unwrap().set_len(bytes).unwrap();
    }

    #[test]
    fn files_are_kept_up_to_the_limit_and_given_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let spares = Spares::default();
        let most = MOST_BYTES / LARGEST_BYTES;
        for n in 0..=most {
            make(folder.path(), n, LARGEST_BYTES);
            assert_eq!(spares.keep(folder.path(), number(n)), n < most, "{n}");
        }
        assert_eq!(spares.take(folder.path(), LARGEST_BYTES + 1), None);
        assert_eq!(spares.take(Path::new("/elsewhere"), 1), None);
        let taken = std::iter::from_fn(|| spares.take(folder.path(), 1)).map(|spare| spare.number);
        let mut seen: Vec<_> = taken.collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..most).map(number).collect::<Vec<_>>());
        assert!(!spares.keep(folder.path(), 77 << 8), "a file that is not there");
    }

    #[test]
    fn clearing_removes_the_files_and_forgetting_leaves_them() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let spares = Spares::default();
        for folder in [one.path(), two.path()] {
            make(folder, 1, 100);
            assert!(spares.keep(folder, number(1)));
        }
        spares.forget(two.path());
        assert!(spares.clear());
        assert!(!file_path(one.path(), number(1)).exists());
        assert!(file_path(two.path(), number(1)).exists());
        assert!(!spares.clear());
        assert_eq!(spares.take(one.path(), 1), None);
    }
}
