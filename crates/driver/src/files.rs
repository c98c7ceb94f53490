//! Which files of a driver's machine a workload may name: on a machine that takes orders from elsewhere only those below
//! one directory.

use std::path::{Path, PathBuf};

use cosmark_workload::model::{Arrivals, Load, Work};

/// The rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Files {
    /// Any: who runs Cosmark on this machine wrote the workload.
    Anywhere,
    /// None.
    Nowhere,
    /// Those below this directory.
    Below(PathBuf),
}

impl Files {
    /// Whether a work names only files that it may.
    ///
    /// # Errors
    /// One sentence with the remedy.
    pub fn check(&self, work: &Work) -> Result<(), String> {
        let directories = work.operations.iter().filter_map(|operation| operation.files.as_deref());
        let arrivals = match &work.load {
            Load::Open { arrivals: Arrivals::Recorded { path, .. }, .. } => Some(path.as_str()),
            _ => None,
        };
        directories.chain(arrivals).try_for_each(|path| self.check_path(Path::new(path)))
    }

    fn check_path(&self, path: &Path) -> Result<(), String> {
        let shown = path.display();
        match self {
            Self::Anywhere => Ok(()),
            Self::Nowhere => Err(format!(
                "this driver opens no files for workloads ({shown}); start it with --files DIR to allow those below DIR"
            )),
            Self::Below(root) => {
                let real =
                    |path: &Path| path.canonicalize().map_err(|cause| format!("{}: {cause}", path.display()));
                if real(path)?.starts_with(real(root)?) {
                    Ok(())
                } else {
                    Err(format!(
                        "{shown} is not below {}, the directory of this driver's --files",
                        root.display()
                    ))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_really_below_the_directory_may_be_named() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("files");
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::fs::create_dir_all(outer.path().join("secret")).unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret"), root.join("link")).unwrap();
        let rule = Files::Below(root.clone());
        assert_eq!(rule.check_path(&root.join("in")), Ok(()));
        assert_eq!(rule.check_path(&root.join("in/..")), Ok(()));
        for bad in ["../secret", "link", "in/../../secret", "/etc", "gone"] {
            assert!(rule.check_path(&root.join(bad)).is_err(), "{bad}");
        }
        assert!(Files::Nowhere.check_path(&root).unwrap_err().contains("--files"));
        assert_eq!(Files::Anywhere.check_path(Path::new("/etc")), Ok(()));
    }
}
