//! The one way in which a file is written for somebody: results, reports, pictures, exports. Whoever reads a file never sees half of
//! it, and what is no file stays what it is: only regular files, and new ones, are replaced under a temporary name; links are
//! followed; devices, FIFOs and sockets are opened and written. Source: open(2), rename(2), symlink(7), proc(5) `/proc/PID/fd`.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ArchiveError;

/// More links in a row are a circle, as for the kernel.
const MOST_LINKS: usize = 40;
/// Names that are tried for a temporary file; others of the same name are left by processes that were killed.
const MOST_NAMES: u64 = 100;
/// Bytes that are handed to the system at once.
const BUFFER: usize = 1 << 16;

/// Writes a whole output file. A regular file is replaced by one of the same permissions and owner, or stays as it was.
///
/// # Errors
/// When it cannot be written, or `fill` says so.
pub fn write_output<E: From<ArchiveError>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| ArchiveError::Output { path: path.to_owned(), source };
    let opened = open(path).map_err(&failed)?;
    write(opened, false, &failed, fill)
}

/// Writes a whole file of an archive, which may have come from anybody: what stands there and is no regular file, a link
/// above all, is replaced and not followed. `durable` waits until the disk has it.
pub(crate) fn write_own<E: From<ArchiveError>>(
    path: &Path,
    durable: bool,
    failed: &dyn Fn(io::Error) -> ArchiveError,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let is_own = fs::symlink_metadata(path).is_ok_and(|there| there.is_file() || there.is_dir());
    let opened = if is_own { open(path) } else { Temporary::beside(path, None).map(Opened::Beside) };
    write(opened.map_err(failed)?, durable, failed, fill)
}

fn write<E: From<ArchiveError>>(
    opened: Opened,
    durable: bool,
    failed: &dyn Fn(io::Error) -> ArchiveError,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    match opened {
        Opened::Stream(stream) => {
            let mut out = BufWriter::with_capacity(BUFFER, stream);
            fill(&mut out)?;
            out.flush().map_err(failed)?;
        }
        Opened::InPlace(file) => {
            let mut out = BufWriter::with_capacity(BUFFER, &file);
            fill(&mut out)?;
            out.flush().map_err(failed)?;
            drop(out);
            end(&file, durable).map_err(failed)?;
        }
        Opened::Beside(new) => {
            let mut out = BufWriter::with_capacity(BUFFER, &new.file);
            fill(&mut out)?;
            out.into_inner().map_err(|error| failed(error.into_error()))?;
            new.take_its_place(durable).map_err(failed)?;
        }
    }
    Ok(())
}

/// How what a path names is written.
enum Opened {
    /// Byte after byte: a device, a FIFO, a socket, an open file of a process.
    Stream(Box<dyn Write>),
    /// Over what is there, whose owner or directory does not let it be replaced; what was longer goes when all is written.
    InPlace(File),
    /// Under a temporary name.
    Beside(Temporary),
}

fn open(path: &Path) -> io::Result<Opened> {
    let place = follow(path)?;
    if is_open_file_of_a_process(&place) {
        // What it leads to may be a log that others write, too.
        let file = OpenOptions::new().append(true).open(&place)?;
        return Ok(Opened::Stream(Box::new(file)));
    }
    let there = match fs::metadata(&place) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Temporary::beside(&place, None).map(Opened::Beside);
        }
        Err(error) => return Err(error),
    };
    let kind = there.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if kind.is_socket() {
        return Ok(Opened::Stream(Box::new(UnixStream::connect(&place)?)));
    }
    // Also tells whether this user may write it at all: a directory would let anybody's file be replaced.
    let file = OpenOptions::new().write(true).open(&place)?;
    if !kind.is_file() {
        return Ok(Opened::Stream(Box::new(file)));
    }
    match Temporary::beside(&place, Some(&there)) {
        Ok(temporary) => Ok(Opened::Beside(temporary)),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err(error),
        Err(_) => Ok(Opened::InPlace(file)),
    }
}

/// Where the links at `path` lead to; what they lead to need not be there. A link of `/proc/PID/fd` is where it ends: what it
/// shows is no path, even where it looks like one.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        let directory = match place.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => fs::canonicalize(parent)?,
            _ => fs::canonicalize(".")?,
        };
        let Some(name) = place.file_name() else { return Err(ErrorKind::IsADirectory.into()) };
        place = directory.join(name);
        if is_open_file_of_a_process(&place) || !place.is_symlink() {
            return Ok(place);
        }
        place = directory.join(fs::read_link(&place)?);
    }
    Err(io::Error::other("too many symbolic links, one after the other"))
}

/// `/proc/self/fd/1`, to which `/dev/stdout` and `/dev/fd/1` lead.
fn is_open_file_of_a_process(place: &Path) -> bool {
    let parts: Vec<_> = place.iter().map(|part| part.to_string_lossy()).collect();
    let Some((_, [.., directory, number])) = parts.split_first() else { return false };
    place.starts_with("/proc") && directory == "fd" && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A file that is to take the place of another when it is whole; goes away when it does not come to that.
struct Temporary {
    file: File,
    path: PathBuf,
    place: PathBuf,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Temporary {
    /// A new file in the directory of `place`, with permissions and owner of what is `there`.
    fn beside(place: &Path, there: Option<&fs::Metadata>) -> io::Result<Self> {
        let name = place.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        // Room for what is put around it: names have at most 255 bytes.
        let end = (0..=200.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        let name = name.get(..end).unwrap_or_default();
        let mut last = ErrorKind::AlreadyExists.into();
        for _ in 0..MOST_NAMES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = place.with_file_name(format!(".{name}.tmp-{}-{number}", std::process::id()));
            // Never something that is there already: in a directory of everybody it may be somebody's link.
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let new = Self { file, path, place: place.to_owned() };
                    if let Some(there) = there {
                        new.become_like(there)?;
                    }
                    return Ok(new);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn become_like(&self, there: &fs::Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (there.uid(), there.gid()) {
            chown(&self.path, Some(there.uid()), Some(there.gid()))?;
        }
        // After the owner, whose change takes some of them away.
        let permissions: Permissions = there.permissions();
        if own.permissions() != permissions { self.file.set_permissions(permissions) } else { Ok(()) }
    }

    fn take_its_place(mut self, durable: bool) -> io::Result<()> {
        if durable {
            self.file.sync_all()?;
        }
        match fs::rename(&self.path, &self.place) {
            // A single file that is mounted, as containers have them.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                let mut file = OpenOptions::new().write(true).open(&self.place)?;
                self.file.rewind()?;
                io::copy(&mut self.file, &mut file)?;
                end(&file, durable)
            }
            renamed => renamed,
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is none; if it cannot be removed, the error that led here says more.
        let _ = fs::remove_file(&self.path);
    }
}

/// What was written is all of it.
fn end(mut file: &File, durable: bool) -> io::Result<()> {
    let written = file.stream_position()?;
    file.set_len(written)?;
    if durable { file.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
