//! Files and directories that only their owner reads.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::nats::error::BusError;

/// The error of a file.
pub(crate) fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> BusError {
    move |cause| BusError::File { what, path: path.display().to_string(), cause: cause.to_string() }
}

pub(crate) fn make_private(directory: &Path) -> Result<(), BusError> {
    let mut builder = std::fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(io("directory of the local NATS", directory))
}

pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), BusError> {
    let fail = io("file of the local NATS", path);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(&fail)?;
    file.write_all(text.as_bytes()).map_err(&fail)
}
