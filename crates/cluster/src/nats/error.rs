//! Why NATS cannot be used.

use thiserror::Error;

/// Why NATS cannot be used. Each is one sentence with its remedy.
#[derive(Debug, Error)]
pub enum BusError {
    /// Nobody answers.
    #[error(
        "NATS at {url} cannot be reached ({cause}); start a nats-server with JetStream (`nats-server -js`), or give the \
         address of yours"
    )]
    Unreachable {
        /// Without credentials.
        url: String,
        /// What the system says.
        cause: String,
    },
    /// It does not know us.
    #[error(
        "NATS at {url} refuses us ({cause}); give --nats-token-file, --nats-user and --nats-password-file, \
         --nats-nkey-file or --nats-creds, whichever it wants"
    )]
    Denied {
        /// Without credentials.
        url: String,
        /// What it says.
        cause: String,
    },
    /// A file of the options.
    #[error("{what} {path}: {cause}")]
    File {
        /// Which.
        what: &'static str,
        /// Where.
        path: String,
        /// Why.
        cause: String,
    },
    /// The options contradict each other or the URL is none.
    #[error("{0}")]
    Options(String),
    /// It has no JetStream, or no room, or another Cosmark's streams.
    #[error("NATS at {url}: {problem}")]
    JetStream {
        /// Without credentials.
        url: String,
        /// One sentence with its remedy.
        problem: String,
    },
    /// A local server could not be started.
    #[error("{0}")]
    Server(String),
}
