//! The directory of a store: made, marked, locked, removed.
//!
//! A store marks its directory with [`MARKER`] and holds a lock (`flock`) on that file as long as it lives. The lock
//! tells the living from the dead also where process ids are reused or belong to another container, so that what a
//! killed process left can be removed by the next start without touching anything else.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, keys};

/// The file that makes a directory a store of ours.
pub(crate) const MARKER: &str = "cosmark-store.json";
const NEW_MARKER: &str = "cosmark-store.json.new";
const NAME_START: &str = "cosmark-store-";
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    store: String,
    format: u32,
    temporary: bool,
    pid: u32,
}

impl Marker {
    fn new(temporary: bool) -> Self {
        Self { store: "cosmark".into(), format: FORMAT, temporary, pid: std::process::id() }
    }
}

/// An open directory. The lock ends with it.
#[derive(Debug)]
pub(crate) struct Home {
    path: PathBuf,
    temporary: bool,
    _lock: File,
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Directory { path: path.to_owned(), doing, source }
}

impl Home {
    /// A fresh directory in `parent`, after the leftovers of killed processes there were removed.
    pub(crate) fn temporary(parent: &Path) -> Result<Self, Error> {
        remove_leftovers(parent);
        let random = keys::random_hex::<6>().map_err(Error::Random)?;
        let path = parent.join(format!("{NAME_START}{}-{random}", std::process::id()));
        make_private(&path).map_err(failed(&path, "make the directory"))?;
        match mark(&path, true) {
            Ok(lock) => Ok(Self { path, temporary: true, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// A directory of the user's, new, empty, or left by an earlier store; it stays when the store stops.
    pub(crate) fn kept(path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(failed(path, "make the directory"))?;
        let path = path.canonicalize().map_err(failed(path, "find the directory"))?;
        let lock = match OpenOptions::new().read(true).write(true).open(path.join(MARKER)) {
            Ok(file) => reopen(&path, file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut entries = fs::read_dir(&path).map_err(failed(&path, "read the directory"))?;
                if entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != NEW_MARKER)) {
                    return Err(Error::ForeignDirectory(path));
                }
                mark(&path, false)?
            }
            Err(error) => return Err(failed(&path.join(MARKER), "open")(error)),
        };
        Ok(Self { path, temporary: false, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a temporary directory; a kept one stays. Files that a last write adds meanwhile are met by trying again.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        if !self.temporary {
            return Ok(());
        }
        let mut outcome = Ok(());
        for _ in 0..20 {
            outcome = fs::remove_dir_all(&self.path);
            match &outcome {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.path.exists() => return Ok(()),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        }
        outcome.map_err(|source| Error::Remove { path: self.path.clone(), source })
    }
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Writes the marker so that it is locked before it can be seen under its name.
fn mark(path: &Path, temporary: bool) -> Result<File, Error> {
    let new = path.join(NEW_MARKER);
    let step = || -> io::Result<File> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&new)?;
        file.try_lock().map_err(io::Error::from)?;
        file.write_all(&serde_json::to_vec(&Marker::new(temporary))?)?;
        fs::rename(&new, path.join(MARKER))?;
        Ok(file)
    };
    step().map_err(failed(path, "write its marker file in"))
}

fn reopen(path: &Path, mut file: File) -> Result<File, Error> {
    let marker = path.join(MARKER);
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::DirectoryInUse(path.to_owned())),
        Err(TryLockError::Error(error)) => return Err(failed(&marker, "lock")(error)),
    }
    let found = read_marker(&mut file).map_err(failed(&marker, "read"))?;
    if found.store != "cosmark" || found.format != FORMAT {
        return Err(Error::ForeignDirectory(path.to_owned()));
    }
    let rewrite = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&serde_json::to_vec(&Marker::new(false))?)
    };
    rewrite(&mut file).map_err(failed(&marker, "write"))?;
    Ok(file)
}

fn read_marker(file: &mut File) -> io::Result<Marker> {
    let mut text = Vec::new();
    file.take(4096).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Removes temporary stores in `parent` whose process is gone. What cannot be read or removed is left alone: it may
/// belong to another user.
fn remove_leftovers(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(pid_in_name) else { continue };
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || is_alive(pid) {
            continue;
        }
        let path = entry.path();
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(path.join(MARKER)) else {
            continue;
        };
        if file.try_lock().is_err() {
            continue;
        }
        let Ok(marker) = read_marker(&mut file) else { continue };
        if marker.store == "cosmark" && marker.temporary && marker.pid == pid {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// The process id in `cosmark-store-<pid>-<12 hexadecimal digits>`.
fn pid_in_name(name: &str) -> Option<u32> {
    let (pid, random) = name.strip_prefix(NAME_START)?.split_once('-')?;
    if random.len() != 12 || !random.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    pid.parse().ok()
}

/// Where there is no `/proc`, the lock alone decides.
fn is_alive(pid: u32) -> bool {
    pid == std::process::id() || Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests;
