//! What the operating system's error numbers mean for a store, and what to do about each (errno(3)).

use std::io;
use std::path::Path;

use cosmark_adaptor_api::{Error, ErrorKind};
use rustix::io::Errno;

use super::named::Named;

/// What was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Writing,
    Deleting,
    Creating,
    Syncing,
}

impl Doing {
    fn verb(self) -> &'static str {
        match self {
            Self::Reading => "read",
            Self::Writing => "write",
            Self::Deleting => "delete",
            Self::Creating => "create",
            Self::Syncing => "sync",
        }
    }
}

/// The directory itself, when it is opened.
pub(super) fn root(errno: Errno, path: &Path) -> Error {
    let shown = path.display();
    let (message, hint) = match errno {
        Errno::NOENT => (
            format!("the directory {shown} does not exist"),
            format!("create it with `mkdir -p {shown}`, after mounting what it stands on"),
        ),
        Errno::NOTDIR => {
            (format!("{shown} is not a directory"), "give a directory as `directory=`".to_owned())
        }
        Errno::ACCESS => {
            (format!("this user may not open the directory {shown}"), "change its owner or mode".to_owned())
        }
        errno => (format!("cannot open the directory {shown}: {errno}"), advice(errno).to_owned()),
    };
    Error::new(ErrorKind::Config, message).with_code(code(errno)).with_hint(hint)
}

/// A container's directory, when it is opened.
pub(super) fn container(errno: Errno, container: &str, shown: &str) -> Error {
    match errno {
        Errno::NOENT => Error::new(ErrorKind::Status(404), format!("no container {container}"))
            .with_code("NoSuchContainer")
            .with_hint("create it with an init stage"),
        Errno::NOTDIR | Errno::LOOP => {
            Error::new(ErrorKind::LocalIo, format!("{shown} is a file or a symbolic link, not a container"))
                .with_code(code(errno))
                .with_hint("containers are real sub-directories; links are not followed")
        }
        errno => store(errno, Doing::Reading, shown),
    }
}

/// A container that is to be deleted and does not bear our mark. Not "not empty": it must not be emptied either.
pub(super) fn somebody_elses(shown: &str, mark: &str) -> Error {
    let message = format!("{shown} was not made by Cosmark (it holds no file {mark}), so it is not deleted");
    Error::new(ErrorKind::Denied, message).with_code("NotOurs").with_hint(
        "remove it by hand if it is not needed; a workload deletes what its own init, or one before it, has made",
    )
}

/// An object's file.
pub(super) fn object(errno: Errno, doing: Doing, name: &Named) -> Error {
    match errno {
        Errno::NOENT if matches!(doing, Doing::Reading | Doing::Deleting) => {
            Error::new(ErrorKind::Status(404), format!("no object {name}")).with_code("NoSuchKey")
        }
        Errno::LOOP | Errno::ISDIR | Errno::NXIO => not_a_file(name),
        errno => store(errno, doing, &name.to_string()),
    }
}

/// Something of that name is there, but no object.
pub(super) fn not_a_file(name: &Named) -> Error {
    Error::new(
        ErrorKind::LocalIo,
        format!("{name} is a directory, a symbolic link or a device, not an object"),
    )
    .with_hint("remove it or choose another directory; links are not followed")
}

/// While the bytes of an object went to or fro.
pub(super) fn io(error: &io::Error, doing: Doing, name: &Named) -> Error {
    match Errno::from_io_error(error) {
        Some(errno) => object(errno, doing, name),
        None => Error::new(ErrorKind::LocalIo, format!("cannot {} {name}: {error}", doing.verb())),
    }
}

/// Anything else in the store.
pub(super) fn store(errno: Errno, doing: Doing, shown: &str) -> Error {
    Error::new(ErrorKind::LocalIo, format!("cannot {} {shown}: {errno}", doing.verb()))
        .with_code(code(errno))
        .with_hint(advice(errno))
}

fn code(errno: Errno) -> String {
    let name = match errno {
        Errno::NOENT => "ENOENT",
        Errno::NOTDIR => "ENOTDIR",
        Errno::LOOP => "ELOOP",
        Errno::ACCESS => "EACCES",
        Errno::PERM => "EPERM",
        Errno::NOSPC => "ENOSPC",
        Errno::DQUOT => "EDQUOT",
        Errno::ROFS => "EROFS",
        Errno::MFILE => "EMFILE",
        Errno::NFILE => "ENFILE",
        Errno::IO => "EIO",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::FBIG => "EFBIG",
        Errno::INVAL => "EINVAL",
        Errno::STALE => "ESTALE",
        errno => return format!("errno_{}", errno.raw_os_error()),
    };
    name.to_owned()
}

fn advice(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC => {
            "the file system is full (of bytes or of inodes): free space, write less, or use another directory"
        }
        Errno::DQUOT => "this user's quota is used up: raise it or write less",
        Errno::ACCESS | Errno::PERM => {
            "this user may not do that there: change owner or mode, or run as another user"
        }
        Errno::ROFS => {
            "the file system is mounted read-only: look at the kernel log, then mount it for writing"
        }
        Errno::MFILE | Errno::NFILE => {
            "too many open files: raise the limit (`ulimit -n`) or use fewer workers"
        }
        Errno::IO => "the device failed: look at the kernel log (`dmesg`)",
        Errno::NAMETOOLONG => "most file systems hold 255 bytes of escaped name: use shorter names",
        Errno::FBIG => "the file system or `ulimit -f` does not allow files of this size",
        Errno::INVAL => "if `direct=true` is set: this file system may not offer direct I/O",
        Errno::STALE => "the network file system lost the directory: mount it again",
        _ => "look at the kernel log (`dmesg`) and at the file system's mount options",
    }
}
