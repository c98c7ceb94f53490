//! Texts of runs as they are on disk.

use std::path::Path;

/// A larger text of a run is none.
const MOST_TEXT_BYTES: u64 = 64 << 20;

/// What a file of a run holds; `None` where there is none, and for links, which lead anywhere in an archive that came from
/// elsewhere.
pub fn text_of(path: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    (meta.is_file() && meta.len() <= MOST_TEXT_BYTES).then(|| std::fs::read(path).ok()).flatten()
}
