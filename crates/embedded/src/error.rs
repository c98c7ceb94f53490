//! What can go wrong while a store is started or stopped. Errors of single requests are S3 errors and go to the client.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a store did not start or was not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is taken, is not of this machine, or needs rights.
    #[error("the embedded store cannot listen on {address}: {source}; {}", listen_remedy(.source))]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The address can be reached from other machines and nobody allowed that.
    #[error(
        "{0} can be reached from other machines; use 127.0.0.1, or --allow-remote if this network is trusted: \
         there is no TLS and anyone who has the keys may write and delete"
    )]
    NotLoopback(SocketAddr),
    /// The directory cannot be made, read or written.
    #[error("the embedded store cannot {doing} {}: {source}; give another directory, or free space and check its rights", path.display())]
    Directory {
        /// The directory or file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The directory holds something else.
    #[error("{} is not empty and is no store of Cosmark; give an empty or a new directory", .0.display())]
    ForeignDirectory(PathBuf),
    /// Another store has the directory open.
    #[error("{} is in use by another embedded store; stop that one or give another directory", .0.display())]
    DirectoryInUse(PathBuf),
    /// An access key or secret key that no client could sign with.
    #[error("{0}")]
    Keys(&'static str),
    /// No random numbers for the keys.
    #[error("no random bytes for the keys from /dev/urandom: {0}; give an access key and a secret key")]
    Random(io::Error),
    /// Threads could not be started.
    #[error(
        "the threads of the embedded store did not start: {0}; is the limit of processes reached (ulimit -u)?"
    )]
    Threads(io::Error),
    /// The temporary directory is still there.
    #[error("{} could not be removed: {source}; remove it by hand", path.display())]
    Remove {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn listen_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "take another port, or port 0 for any that is free",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; 127.0.0.1 always works",
        io::ErrorKind::PermissionDenied => "ports below 1024 need rights; take one above",
        _ => "take another address, or 127.0.0.1:0",
    }
}
