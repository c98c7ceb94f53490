//! Whether an archive can be written, before something is started for a run in it: a store, a test bed.

use std::path::Path;

use cosmark_archive::{Archive, write_whole};

use crate::exit::Problem;

/// No run takes less, before its first byte of load.
const PROBE: [u8; 16 << 10] = [0; 16 << 10];
/// Stands there for a moment, with the number of the process: who looks at the same time has its own.
const NAME: &str = ".cosmark-probe";

/// Makes the archive where it is not there, and has it take as much as a run begins with.
///
/// # Errors
/// When it cannot be made or written, or its disk has no room.
pub fn check(archive: &Path) -> Result<(), Problem> {
    Archive::open(archive)?;
    let probe = archive.join(format!("{NAME}-{}", std::process::id()));
    let written = write_whole(&probe, true, |out| out.write_all(&PROBE));
    drop(std::fs::remove_file(&probe));
    Ok(written?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_can_be_written_has_nothing_more_in_it_and_one_that_cannot_is_said() {
        let place = tempfile::tempdir().unwrap();
        let archive = place.path().join("deep/archive");
        let names = || -> std::collections::BTreeSet<_> {
            std::fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        check(&archive).unwrap();
        let before = names();
        // What stands under the name itself is in nobody's way.
        std::fs::create_dir(archive.join(NAME)).unwrap();
        check(&archive).unwrap();
        std::fs::remove_dir(archive.join(NAME)).unwrap();
        assert_eq!(names(), before);
        assert!(!before.iter().any(|name| name.to_string_lossy().starts_with(NAME)), "{before:?}");
        let file = place.path().join("file");
        std::fs::write(&file, "precious").unwrap();
        let why = check(&file).unwrap_err().to_string();
        assert!(why.contains(&file.display().to_string()), "{why}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    }
}
