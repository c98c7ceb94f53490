//! Directories within that of a study. Who unpacks a study of somebody else may find a link in place of one: what is
//! written into it would be written wherever that leads.

use std::path::{Path, PathBuf};

/// A directory of a study that is written into, made where it is not there.
///
/// # Errors
/// When it is a link, or cannot be made.
pub fn directory_of(study: &Path, name: &str) -> Result<PathBuf, String> {
    let place = study.join(name);
    check_no_link(&place)?;
    std::fs::create_dir_all(&place).map_err(|cause| format!("{}: {cause}", place.display()))?;
    Ok(place)
}

/// Whether a directory may be written into; it need not be there.
///
/// # Errors
/// When it is a link.
pub fn check_no_link(place: &Path) -> Result<(), String> {
    if place.is_symlink() {
        let shown = place.display();
        return Err(format!(
            "{shown} is a link: nothing is written through it; move what it leads to here, or link the whole directory of the study"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_study_is_written_through_a_link_in_place_of_a_directory() {
        let place = tempfile::tempdir().unwrap();
        let (study, elsewhere) = (place.path().join("study"), place.path().join("elsewhere"));
        std::fs::create_dir_all(&elsewhere).unwrap();
        assert_eq!(directory_of(&study, "figures"), Ok(study.join("figures")));
        assert_eq!(directory_of(&study, "figures"), Ok(study.join("figures")), "also where it is there");
        for (name, target) in [("there", elsewhere.clone()), ("dangling", place.path().join("none"))] {
            std::os::unix::fs::symlink(&target, study.join(name)).unwrap();
            let why = directory_of(&study, name).unwrap_err();
            assert!(why.contains("is a link: nothing is written through it"), "{why}");
        }
        assert!(!place.path().join("none").exists());
        assert!(check_no_link(&study.join("figures")).is_ok() && check_no_link(&study.join("not")).is_ok());
    }
}
