//! Room on a disk, before something large is written there.

use std::path::Path;

use crate::units;

/// What stays free for everything else: logs, databases, the archive of the study.
const RESERVE_BYTES: u64 = 1 << 30;

/// Bytes that an ordinary user may still write below an existing directory; `None` where the system does not say.
pub fn free_bytes(directory: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(directory).ok()?;
    // A file system without a size of its own (a network's, a pseudo one) says zero blocks.
    (about.f_blocks > 0).then(|| about.f_bavail.saturating_mul(about.f_frsize))
}

/// Why a directory has no room for so many bytes; `None` where it has, or where nobody knows. Of none it says what has to stay.
pub fn lacks(directory: &Path, bytes: u64) -> Option<String> {
    lacks_of(free_bytes(directory)?, directory, bytes)
}

fn lacks_of(free: u64, directory: &Path, bytes: u64) -> Option<String> {
    let needed = bytes.saturating_add(RESERVE_BYTES);
    #[expect(clippy::cast_precision_loss, reason = "sizes for people")]
    let shown = |bytes: u64| units::bytes(bytes as f64);
    (free < needed).then(|| {
        if bytes == 0 {
            return format!(
                "{} has {} free, and {} have to be: free some space",
                directory.display(),
                shown(free),
                shown(RESERVE_BYTES)
            );
        }
        format!(
            "its data would take {}, and {} has {} free, of which {} stay for everything else",
            shown(bytes),
            directory.display(),
            shown(free),
            shown(RESERVE_BYTES)
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_disk_lacks_room_for_more_than_it_has_and_says_where() {
        let directory = tempfile::tempdir().unwrap();
        let free = free_bytes(directory.path()).unwrap();
        assert!(free > 0);
        // Others write beside this test: what no disk of this size could hold, and what any could that has the reserve.
        let why = lacks(directory.path(), u64::MAX).unwrap();
        assert!(why.contains(&directory.path().display().to_string()), "{why}");
        assert_eq!(
            lacks(directory.path(), 0).is_some(),
            free_bytes(directory.path()).unwrap() < RESERVE_BYTES
        );
        assert_eq!(lacks(&directory.path().join("nowhere"), u64::MAX), None, "nobody knows");
        // Nothing is asked for but what has to stay.
        let bare = lacks_of(2 << 20, Path::new("here"), 0).unwrap();
        assert!(bare.starts_with("here has 2.1") && bare.ends_with("free some space"), "{bare}");
        assert_eq!(lacks_of(RESERVE_BYTES, Path::new("here"), 0), None);
    }
}
