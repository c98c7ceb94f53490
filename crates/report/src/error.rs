//! What can go wrong when something is made from an archive; every text names the remedy.

use std::path::PathBuf;

use cosmark_archive::ArchiveError;

/// A report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The archive cannot be read or written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// This binary was built without the page.
    #[error(
        "this cosmark was built without the page of the HTML report; with Node.js 20.19 or newer run `make console`, then \
         build cosmark again (`cargo build --release`)"
    )]
    NoPage,
    /// The page that was built in is not one of ours.
    #[error(
        "the page that is built into this cosmark has no place for data; run `make console` and build cosmark again"
    )]
    BadPage,
    /// The data could not be put into the page.
    #[error("the data of {} could not be written as JSON: {cause}; report this as a bug", path.display())]
    Json {
        /// Which run.
        path: PathBuf,
        /// Why.
        cause: serde_json::Error,
    },
}
