//! Errors of a service; every text names the remedy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

impl ServiceError {
    /// It may be otherwise in a moment.
    #[must_use]
    pub fn passes(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::Bus(_))
    }
}

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
    /// A file of the state directory that is another user's.
    #[error("{}: {cause}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why, with the remedy.
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
    /// NATS is away for the moment.
    #[error("NATS at {url} is away: nothing can be changed until it is back; what runs goes on")]
    Away {
        /// Where it is, without credentials.
        url: String,
    },
    /// Two controllers, one name.
    #[error("a controller with the name {name} is {place} and uses this NATS; give each its own --name")]
    NameTaken {
        /// The name.
        name: String,
        /// Where the other is, or that it starts.
        place: String,
    },
    /// A message that NATS would not take.
    #[error(
        "the {what} takes {bytes} bytes and its NATS takes messages of {most} at most: raise max_payload in the configuration \
         of the nats-server, or make the workload smaller"
    )]
    TooLarge {
        /// What does not fit.
        what: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// NATS, or what is kept there.
    #[error("{0}")]
    Bus(String),
    /// This machine.
    #[error("cannot start: {0}")]
    Start(io::Error),
}
