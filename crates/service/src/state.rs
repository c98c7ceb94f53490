//! The state directory: what a controller stores beside the archive. Only its owner can read it. Files are written
//! under a temporary name and renamed, so that a kill leaves the old one or the new one. What root writes for a service is
//! the service's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cosmark_cluster::nats::owner::{Foreign, Owner, make_private};

use crate::ServiceError;

/// Files larger than this are no state of ours.
const MOST_BYTES: u64 = 256 << 20;

/// A directory that one controller uses.
pub struct StateDir {
    path: PathBuf,
    /// Held as long as the controller lives.
    lock: Option<File>,
}

impl StateDir {
    /// Makes the directory if it is not there, and closes it to others.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(path: &Path) -> Result<Self, ServiceError> {
        make_private(path)
            .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
            .map_err(|cause| failed(path, cause))?;
        Ok(Self { path: path.to_owned(), lock: None })
    }

    /// The same, for the one controller that may use it.
    ///
    /// # Errors
    /// When another one does.
    pub fn claim(path: &Path) -> Result<Self, ServiceError> {
        let mut state = Self::open(path)?;
        let file = state.path.join("lock");
        let open = |owner: Owner| {
            match OpenOptions::new().create_new(true).write(true).mode(0o600).open(&file) {
                // Only what was made here is given away: what is there may be a link to anything of this machine.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                    OpenOptions::new().write(true).open(&file)
                }
                made => made.and_then(|lock| owner.give(&lock).map(|()| lock)),
            }
        };
        let lock = Owner::of(&file).and_then(open).map_err(|cause| failed(&file, cause))?;
        lock.try_lock().map_err(|_| ServiceError::Taken { path: path.to_owned() })?;
        state.lock = Some(lock);
        Ok(state)
    }

    /// True for the controller that holds it.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.lock.is_some()
    }

    /// Where something lies in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What a file holds; `None` when it is not there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ServiceError> {
        read(&self.path.join(name))
    }

    /// Writes a whole file that only its owner can read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ServiceError> {
        write(&self.path.join(name), bytes)
    }

    /// Writes a whole file that only its owner can read, unless there is one: who comes first is right, and the others have what
    /// it wrote. Gives what the file holds.
    ///
    /// # Errors
    /// When it cannot be written or read.
    pub fn write_first(&self, name: &str, bytes: &[u8]) -> Result<Vec<u8>, ServiceError> {
        let path = self.path.join(name);
        let no_links = [io::ErrorKind::Unsupported, io::ErrorKind::PermissionDenied];
        put(&path, bytes, |temporary| {
            let named = match fs::hard_link(temporary, &path) {
                // Not on every file system can two names be one file. Who reads it before it is whole finds it damaged.
                Err(cause) if no_links.contains(&cause.kind()) => write_new(&path, bytes, Owner::of(&path)?),
                other => other,
            };
            match named {
                Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(cause),
                _ => fs::remove_file(temporary),
            }
        })?;
        Ok(self.read(name)?.unwrap_or_default())
    }

    /// Removes a file; one that is not there is no mistake.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), ServiceError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(ServiceError::State { path, cause }),
            _ => Ok(()),
        }
    }

    /// Makes a directory in it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn directory(&self, name: &str) -> Result<PathBuf, ServiceError> {
        let path = self.path.join(name);
        make_private(&path).map_err(|cause| failed(&path, cause))?;
        Ok(path)
    }

    /// Names of the files of a directory in it, sorted; those of half-written files are left out.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn names(&self, directory: &str) -> Result<Vec<String>, ServiceError> {
        let path = self.path.join(directory);
        let fail = |cause| ServiceError::State { path: path.clone(), cause };
        let entries = match fs::read_dir(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(fail)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

fn failed(path: &Path, cause: io::Error) -> ServiceError {
    let path = path.to_owned();
    if cause.get_ref().is_some_and(|inner| inner.is::<Foreign>()) {
        ServiceError::Foreign { path, cause }
    } else {
        ServiceError::State { path, cause }
    }
}

/// What a private file holds; `None` when it is not there.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, ServiceError> {
    let fail = |cause| ServiceError::State { path: path.to_owned(), cause };
    match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(fail(cause)),
        Ok(meta) if meta.len() > MOST_BYTES => {
            return Err(fail(io::Error::other("the file is too large to be ours; move it away")));
        }
        Ok(_) => {}
    }
    fs::read(path).map(Some).map_err(fail)
}

/// Writes a private file under a temporary name, waits until the disk has it, and renames it.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), ServiceError> {
    put(path, bytes, |temporary| fs::rename(temporary, path))
}

/// Writes a private file that is not there yet, and waits until the disk has it.
fn write_new(path: &Path, bytes: &[u8], owner: Owner) -> io::Result<()> {
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    owner.give(&file)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Writes a private file under a temporary name, waits until the disk has it, and has it given its own name.
fn put(path: &Path, bytes: &[u8], name_it: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), ServiceError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let temporary = path.with_file_name(format!(".{name}.tmp-{process}-{thread:?}"));
    // One that an earlier process of the same number left may have other rights.
    drop(fs::remove_file(&temporary));
    let written = Owner::of(path).and_then(|owner| write_new(&temporary, bytes, owner));
    written.and_then(|()| name_it(&temporary)).map_err(|cause| {
        drop(fs::remove_file(&temporary));
        failed(path, cause)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, chown};

    use super::*;

    #[test]
    fn what_root_writes_into_the_directory_of_a_service_is_the_services() {
        let dir = tempfile::tempdir().unwrap();
        let me = fs::metadata(dir.path()).unwrap().uid();
        // Only root can give files away; for another user both are himself.
        let may = chown(dir.path(), Some(4321), Some(4321)).is_ok();
        let (service, other) = if may { (4321, 4322) } else { (me, me) };
        let root = dir.path().join("above/state");
        let state = StateDir::claim(&root).unwrap();
        state.write("tokens", b"one").unwrap();
        state.write_first("cluster.key", b"key").unwrap();
        state.directory("queue").unwrap();
        state.write("queue/w1", b"w1").unwrap();
        let owner = |name: &str| fs::metadata(root.join(name)).unwrap().uid();
        for name in ["..", "", "lock", "tokens", "cluster.key", "queue", "queue/w1"] {
            assert_eq!(owner(name), service, "{name:?}");
        }
        if may {
            chown(root.join("tokens"), Some(other), Some(other)).unwrap();
        }
        state.write("tokens", b"two").unwrap();
        assert_eq!(owner("tokens"), other, "of a file that is replaced the owner stays");
        assert_eq!(state.write_first("cluster.key", b"later").unwrap(), b"key");
        assert_eq!(owner("cluster.key"), service);
        let mode = fs::metadata(root.join("tokens")).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, state.read("tokens").unwrap().unwrap()), (0o600, b"two".to_vec()));
        // What root left there before is the service's from now on, and a lock that leads elsewhere gives nothing away.
        if may {
            chown(root.join("tokens"), Some(0), Some(0)).unwrap();
        }
        state.write("tokens", b"three").unwrap();
        assert_eq!(owner("tokens"), service);
        drop(state);
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        fs::remove_file(root.join("lock")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join("lock")).unwrap();
        let _claimed = StateDir::claim(&root).unwrap();
        assert_eq!(fs::metadata(elsewhere.path()).unwrap().uid(), me);
    }
}
