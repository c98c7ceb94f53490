//! What can go wrong with a service; every text names the remedy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A service that cannot start, or a state that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The state directory.
    #[error("{}: {cause}; give another state directory with --state DIR", path.display())]
    State {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Two controllers, one directory.
    #[error(
        "another controller uses the state directory {}; end it, or give this one its own with --state DIR",
        path.display()
    )]
    Taken {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the state directory holds something else than it should.
    #[error("{}: {problem}; {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The archive.
    #[error(transparent)]
    Archive(#[from] cosmark_archive::ArchiveError),
    /// The address is taken.
    #[error("cannot listen on {listen}: {cause}; give another address with --listen ADDR:PORT")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// Why.
        cause: io::Error,
    },
    /// An address that other machines can reach, in the clear.
    #[error(
        "{listen} can be reached by other machines, and tokens would travel in the clear; add --tls (a certificate is made), \
         --tls-cert and --tls-key, or --insecure if the network is your own"
    )]
    InTheClear {
        /// The address.
        listen: SocketAddr,
    },
    /// Certificate or key.
    #[error("TLS: {0}")]
    Tls(String),
    /// NATS, or what is kept there.
    #[error("{0}")]
    Bus(String),
    /// This machine.
    #[error("cannot start: {0}")]
    Start(io::Error),
}
