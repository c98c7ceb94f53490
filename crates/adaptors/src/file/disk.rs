//! The blocking half of the `file` storage: system calls relative to directory descriptors (`openat` and its family with
//! `O_NOFOLLOW`), so that no name and no symbolic link can lead out of the directory. Runs on the runtime's blocking pool.
//! Source: open(2), rename(2), unlink(2) of the Linux manual.

use std::fs::File;
use std::io::{self, ErrorKind as IoKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmark_adaptor_api::{ByteRange, Error, ErrorKind, ListPage, Result, clock};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::buffer::{ALIGNMENT, Buffer};
use super::errors::{self, Doing};
use super::named::{Named, checked_name};
use crate::http::path_names::{from_file_name, to_file_name};
use crate::name_page::NamePage;

/// Files that are being written begin so; no object's file name can.
const UNFINISHED: &str = ".cosmark-";

/// The file in each container that Cosmark made: only such a directory is ever deleted. No object's file name begins with a dot.
const MARK: &str = ".cosmark";

/// Makes names of unfinished files unique within this process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// A directory as a store.
pub(super) struct Disk {
    root: OwnedFd,
    path: PathBuf,
    /// Writes and deletes reach the device before they count as done.
    pub(super) fsync: bool,
    /// Past the page cache.
    pub(super) direct: bool,
    /// Objects appear whole or not at all.
    pub(super) atomic: bool,
}

impl Disk {
    /// # Errors
    /// `Config` when `path` is no directory that we may use.
    pub(super) fn open(path: &Path, fsync: bool, direct: bool, atomic: bool) -> Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root = fs::open(path, flags, Mode::empty()).map_err(|errno| errors::root(errno, path))?;
        Ok(Self { root, path: path.to_owned(), fsync, direct, atomic })
    }

    /// The directory is still there.
    pub(super) fn probe(&self) -> Result<()> {
        fs::statat(&self.root, ".", AtFlags::empty())
            .map(drop)
            .map_err(|errno| errors::store(errno, Doing::Reading, &self.path.to_string_lossy()))
    }

    fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn container(&self, container: &str) -> Result<OwnedFd> {
        let name = checked_name(container, "container")?;
        fs::openat(&self.root, &name, DIRECTORY, Mode::empty())
            .map_err(|errno| errors::container(errno, container, &self.shown(&name)))
    }

    fn fsync_directory(&self, directory: &OwnedFd, shown: &str) -> Result<()> {
        if self.fsync {
            fs::fsync(directory).map_err(|errno| errors::store(errno, Doing::Syncing, shown))?;
        }
        Ok(())
    }

    /// Length of an object.
    pub(super) fn length(&self, name: &Named) -> Result<u64> {
        let directory = self.container(&name.container)?;
        let stat = fs::statat(&directory, &name.file, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| errors::object(errno, Doing::Reading, name))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(errors::not_a_file(name));
        }
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Opens an object for reading `range` of it, or all.
    pub(super) fn open_object(&self, name: &Named, range: Option<ByteRange>) -> Result<Reading> {
        let directory = self.container(&name.container)?;
        // Without O_NONBLOCK a named pipe of that name would hang the open.
        let mut flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if self.direct {
            flags |= OFlags::DIRECT;
        }
        let file = fs::openat(&directory, &name.file, flags, Mode::empty())
            .map_err(|errno| errors::object(errno, Doing::Reading, name))?;
        let stat = fs::fstat(&file).map_err(|errno| errors::object(errno, Doing::Reading, name))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(errors::not_a_file(name));
        }
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        let (at, end) = match range {
            None => (0, length),
            Some(range) if range.first >= length || range.last < range.first => {
                let message =
                    format!("bytes {}-{} are not in {name}, which has {length}", range.first, range.last);
                return Err(Error::new(ErrorKind::Status(416), message).with_code("InvalidRange"));
            }
            Some(range) => (range.first, range.last.saturating_add(1).min(length)),
        };
        Ok(Reading { file: File::from(file), at, end })
    }

    /// Removes an object.
    pub(super) fn delete(&self, name: &Named) -> Result<()> {
        let directory = self.container(&name.container)?;
        fs::unlinkat(&directory, &name.file, AtFlags::empty())
            .map_err(|errno| errors::object(errno, Doing::Deleting, name))?;
        self.fsync_directory(&directory, &name.container)
    }

    /// Makes a sub-directory and marks it as ours; one that is there is fine, and stays whoever's it is.
    pub(super) fn create_container(&self, container: &str) -> Result<()> {
        let name = checked_name(container, "container")?;
        match fs::mkdirat(&self.root, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            // It may also be a file or a symbolic link: opening it tells.
            Err(Errno::EXIST) => return self.container(container).map(drop),
            Err(errno) => return Err(errors::store(errno, Doing::Creating, &self.shown(&name))),
        }
        self.container(container).and_then(|directory| self.put_mark(&directory, &name)).inspect_err(
            |_| {
                // Without its mark nobody would delete it.
                let _ = fs::unlinkat(&self.root, &name, AtFlags::REMOVEDIR);
            },
        )?;
        self.fsync_directory(&self.root, &self.shown(""))
    }

    fn put_mark(&self, directory: &OwnedFd, file_name: &str) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        fs::openat(directory, MARK, flags, Mode::from_raw_mode(0o666))
            .map_err(|errno| errors::store(errno, Doing::Creating, &self.shown(file_name)))?;
        self.fsync_directory(directory, file_name)
    }

    /// Removes an empty sub-directory that bears the mark; one that is not there is fine. What somebody else made stays.
    pub(super) fn delete_container(&self, container: &str) -> Result<()> {
        let name = checked_name(container, "container")?;
        let shown = self.shown(&name);
        let directory = match fs::openat(&self.root, &name, DIRECTORY, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errors::container(errno, container, &shown)),
        };
        let is_file = |stat: fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !fs::statat(&directory, MARK, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(is_file) {
            return Err(errors::somebody_elses(&shown, MARK));
        }
        if Contents::of(&directory, &shown)?.are_there() {
            return Err(self.not_empty(container, &name));
        }
        let failed = |errno| errors::store(errno, Doing::Deleting, &shown);
        match fs::unlinkat(&directory, MARK, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed(errno)),
        }
        match fs::unlinkat(&self.root, &name, AtFlags::REMOVEDIR) {
            Ok(()) => self.fsync_directory(&self.root, &self.shown("")),
            Err(Errno::NOENT) => Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                // Somebody wrote into it meanwhile: it is still ours.
                self.put_mark(&directory, &name)?;
                Err(self.not_empty(container, &name))
            }
            Err(errno) => Err(failed(errno)),
        }
    }

    fn not_empty(&self, container: &str, file_name: &str) -> Error {
        let counted = self
            .container(container)
            .and_then(|directory| Contents::of(&directory, &self.shown(file_name)))
            .ok();
        let message = match &counted {
            Some(Contents { objects, unfinished, foreign }) => format!(
                "container {container} is not empty: {objects} objects, {unfinished} unfinished writes, {foreign} files \
                 that Cosmark did not write"
            ),
            None => format!("container {container} is not empty"),
        };
        let hint = if counted.is_some_and(|counted| counted.objects > 0) {
            "delete its objects first (cleanup before dispose)".to_owned()
        } else {
            format!(
                "what is left in {} is not an object: look at it and remove it by hand",
                self.shown(file_name)
            )
        };
        Error::new(ErrorKind::Status(409), message).with_code("ContainerNotEmpty").with_hint(hint)
    }

    /// One page of the objects of a container, or of the containers.
    pub(super) fn list(&self, container: &str, mut page: NamePage) -> Result<ListPage> {
        let mut bytes = 0;
        let (directory, wanted, shown) = if container.is_empty() {
            // A fresh descriptor: reading moves its position.
            let root = fs::openat(&self.root, ".", DIRECTORY, Mode::empty())
                .map_err(|errno| errors::store(errno, Doing::Reading, &self.shown("")))?;
            (root, FileType::Directory, self.shown(""))
        } else {
            (self.container(container)?, FileType::RegularFile, self.shown(&to_file_name(container)))
        };
        let mut unsure = Vec::new();
        each_entry(&directory, &shown, |entry, kind| {
            bytes += entry.len() as u64;
            if let Some(name) = from_file_name(entry) {
                if kind == wanted {
                    page.offer(&name);
                } else if kind == FileType::Unknown {
                    unsure.push(name);
                }
            }
        })?;
        // Some file systems do not tell the type of an entry in the listing.
        for name in unsure {
            let stat = fs::statat(&directory, to_file_name(&name), AtFlags::SYMLINK_NOFOLLOW);
            if stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == wanted) {
                page.offer(&name);
            }
        }
        Ok(page.finish(bytes))
    }
}

/// What is in a container beside its mark.
#[derive(Default)]
struct Contents {
    objects: u64,
    unfinished: u64,
    foreign: u64,
}

impl Contents {
    fn of(directory: &OwnedFd, shown: &str) -> Result<Self> {
        let mut found = Self::default();
        each_entry(directory, shown, |entry, _| {
            if from_file_name(entry).is_some() {
                found.objects += 1;
            } else if entry.starts_with(UNFINISHED.as_bytes()) {
                found.unfinished += 1;
            } else if entry != MARK.as_bytes() {
                found.foreign += 1;
            }
        })?;
        Ok(found)
    }

    fn are_there(&self) -> bool {
        self.objects + self.unfinished + self.foreign > 0
    }
}

fn each_entry(directory: &OwnedFd, shown: &str, mut see: impl FnMut(&[u8], FileType)) -> Result<()> {
    let failed = |errno| errors::store(errno, Doing::Reading, shown);
    let mut entries = fs::Dir::read_from(directory).map_err(failed)?;
    while let Some(entry) = entries.read() {
        let entry = entry.map_err(failed)?;
        let file_name = entry.file_name().to_bytes();
        if !matches!(file_name, b"." | b"..") {
            see(file_name, entry.file_type());
        }
    }
    Ok(())
}

/// An object being read, piece by piece.
pub(super) struct Reading {
    file: File,
    at: u64,
    end: u64,
}

/// Where in the buffer the bytes of a piece are.
pub(super) struct PieceRead {
    pub(super) start: usize,
    pub(super) len: usize,
    /// When the system call returned, [`clock::now_ns`].
    pub(super) done_ns: u64,
}

impl Reading {
    /// True when all was read.
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    /// Reads on; fills as much of the buffer as the object has left.
    pub(super) fn next_piece(&mut self, buffer: &mut Buffer, name: &Named) -> Result<PieceRead> {
        // Direct reads begin at block borders; what stands before the wanted byte is skipped.
        let block = ALIGNMENT as u64;
        let from = self.at / block * block;
        let skip = usize::try_from(self.at - from).unwrap_or(0);
        let wanted = usize::try_from(self.end - from).unwrap_or(usize::MAX).min(buffer.len());
        let aligned = wanted.div_ceil(ALIGNMENT) * ALIGNMENT;
        let space = buffer.bytes_mut();
        let room = aligned.min(space.len());
        let mut got = 0;
        while got < wanted {
            match self.file.read_at(&mut space[got..room], from + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) => return Err(errors::io(&error, Doing::Reading, name)),
            }
        }
        let done_ns = clock::now_ns();
        let len = got.min(wanted).saturating_sub(skip);
        if got < wanted {
            let message = format!("{name} ended {} bytes early: it was cut while it was read", wanted - got);
            return Err(Error::new(ErrorKind::ShortBody, message).with_partial_bytes(len as u64));
        }
        self.at += len as u64;
        Ok(PieceRead { start: skip, len, done_ns })
    }
}

/// An object being written; dropped before [`Writing::finish`], an atomic write leaves nothing behind.
pub(super) struct Writing {
    disk: Arc<Disk>,
    directory: OwnedFd,
    file: File,
    name: Arc<Named>,
    unfinished: Option<String>,
    at: u64,
}

impl Writing {
    /// Opens the file that the bytes go to.
    pub(super) fn create(disk: Arc<Disk>, name: Arc<Named>) -> Result<Self> {
        let directory = disk.container(&name.container)?;
        let mut flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if disk.direct {
            flags |= OFlags::DIRECT;
        }
        let unfinished = disk.atomic.then(|| {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            format!("{UNFINISHED}{}-{serial}", std::process::id())
        });
        flags |= if disk.atomic { OFlags::EXCL } else { OFlags::TRUNC };
        let target = unfinished.as_deref().unwrap_or(&name.file);
        let file = fs::openat(&directory, target, flags, Mode::from_raw_mode(0o666))
            .map_err(|errno| errors::object(errno, Doing::Writing, &name))?;
        if unfinished.is_none() {
            let stat = fs::fstat(&file).map_err(|errno| errors::object(errno, Doing::Writing, &name))?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(errors::not_a_file(&name));
            }
        }
        Ok(Self { disk, directory, file: File::from(file), name, unfinished, at: 0 })
    }

    /// Appends the first `len` bytes of the buffer. Only the last piece may be no multiple of [`ALIGNMENT`].
    pub(super) fn write(&mut self, buffer: &mut Buffer, len: usize) -> Result<()> {
        let padded = if self.disk.direct { len.div_ceil(ALIGNMENT) * ALIGNMENT } else { len };
        let space = buffer.bytes_mut();
        space[len..padded].fill(0);
        self.file
            .write_all_at(&space[..padded], self.at)
            .and_then(|()| if padded > len { self.file.set_len(self.at + len as u64) } else { Ok(()) })
            .map_err(|error| errors::io(&error, Doing::Writing, &self.name).with_partial_bytes(self.at))?;
        self.at += len as u64;
        Ok(())
    }

    /// Makes the object visible under its name.
    pub(super) fn finish(mut self) -> Result<()> {
        let failed = |errno| errors::object(errno, Doing::Writing, &self.name);
        if self.disk.fsync {
            self.file.sync_all().map_err(|error| errors::io(&error, Doing::Syncing, &self.name))?;
        }
        if let Some(unfinished) = &self.unfinished {
            fs::renameat(&self.directory, unfinished, &self.directory, &self.name.file).map_err(failed)?;
        }
        self.unfinished = None;
        self.disk.fsync_directory(&self.directory, &self.name.container)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            // Nobody is left to tell; the next `dispose` reports a leftover.
            let _ = fs::unlinkat(&self.directory, unfinished, AtFlags::empty());
        }
    }
}

/// For errors of a source's own file.
pub(super) fn source_failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::LocalIo, format!("cannot read the content to write: {error}"))
}
