//! Where the file of an object is, and what it ends with.

use std::path::{Path, PathBuf};

/// The end of a file that is complete.
pub(crate) const MAGIC: &[u8; 8] = b"cosmark1";

/// Where file `number` of a bucket is: 256 sub-directories, so that writers seldom wait for the same one.
pub(crate) fn file_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{:02x}", number & 0xFF)).join(format!("{number:016x}"))
}
