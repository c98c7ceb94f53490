//! Tests of where the store keeps its objects.

use super::*;

/// A process id that is not in use: above the largest that Linux gives.
const DEAD: u32 = 4_194_304 + 7;

fn leftover(parent: &Path, name: &str, marker: Option<&str>) -> PathBuf {
    let path = parent.join(name);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("object"), b"x").unwrap();
    if let Some(text) = marker {
        fs::write(path.join(MARKER), text).unwrap();
    }
    path
}

#[test]
fn only_marked_temporary_directories_of_dead_processes_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let good = format!(r#"{{"store":"cosmark","format":1,"temporary":true,"pid":{DEAD}}}"#);
    let gone = leftover(parent.path(), &format!("cosmark-store-{DEAD}-0123456789ab"), Some(&good));
    let alive = std::process::id();
    let cases = [
        (format!("cosmark-store-{DEAD}-0123456789ac"), None),
        (format!("cosmark-store-{DEAD}-0123456789ad"), Some("{}".to_owned())),
        (format!("cosmark-store-{DEAD}-0123456789ae"), Some(good.replace("true", "false"))),
        (format!("cosmark-store-{DEAD}-0123456789af"), Some(good.replace("cosmark", "other"))),
        (format!("cosmark-store-{DEAD}-01234567"), Some(good.clone())),
        (format!("cosmark-store-{DEAD}"), Some(good.clone())),
        (format!("cosmark-{DEAD}-0123456789ab"), Some(good.clone())),
        (
            format!("cosmark-store-{alive}-0123456789ab"),
            Some(good.replace(&DEAD.to_string(), &alive.to_string())),
        ),
        (format!("cosmark-store-{}-0123456789ab", DEAD + 1), Some(good.clone())),
    ];
    let kept: Vec<_> =
        cases.iter().map(|(name, marker)| leftover(parent.path(), name, marker.as_deref())).collect();
    fs::write(parent.path().join(format!("cosmark-store-{DEAD}-ffffffffffff")), b"a file").unwrap();
    let home = Home::temporary(parent.path()).unwrap();
    assert!(!gone.exists());
    for path in kept {
        assert!(path.join("object").exists(), "{} was removed", path.display());
    }
    home.remove().unwrap();
    assert!(!home.path().exists());
}

#[test]
fn a_directory_that_is_locked_is_not_a_leftover_whatever_its_name_says() {
    let parent = tempfile::tempdir().unwrap();
    let name = format!("cosmark-store-{DEAD}-0123456789ab");
    let marker = format!(r#"{{"store":"cosmark","format":1,"temporary":true,"pid":{DEAD}}}"#);
    let path = leftover(parent.path(), &name, Some(&marker));
    let holder = File::open(path.join(MARKER)).unwrap();
    holder.try_lock().unwrap();
    remove_leftovers(parent.path());
    assert!(path.exists());
    drop(holder);
    remove_leftovers(parent.path());
    assert!(!path.exists());
}

#[test]
fn a_symbolic_link_is_never_followed_when_leftovers_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let marker = format!(r#"{{"store":"cosmark","format":1,"temporary":true,"pid":{DEAD}}}"#);
    let target = leftover(parent.path(), "precious", Some(&marker));
    let link = parent.path().join(format!("cosmark-store-{DEAD}-0123456789ab"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    remove_leftovers(parent.path());
    assert!(target.join("object").exists() && link.exists());
}

#[test]
fn a_temporary_directory_is_for_its_owner_only_and_marked() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let home = Home::temporary(parent.path()).unwrap();
    let mode = fs::metadata(home.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(home.path().join(MARKER).is_file());
    let name = home.path().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(pid_in_name(&name), Some(std::process::id()));
}

#[test]
fn a_kept_directory_stays_and_opens_again_but_not_twice_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("store/below");
    let home = Home::kept(&path).unwrap();
    assert!(matches!(Home::kept(&path), Err(Error::DirectoryInUse(_))));
    home.remove().unwrap();
    drop(home);
    assert!(Home::kept(&path).is_ok());
}

#[test]
fn a_directory_with_other_files_is_not_taken() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("thesis.tex"), b"x").unwrap();
    let error = Home::kept(parent.path()).unwrap_err();
    assert!(matches!(error, Error::ForeignDirectory(_)), "{error}");
    assert!(error.to_string().contains("empty"), "{error}");
    fs::write(parent.path().join(MARKER), b"not json").unwrap();
    assert!(Home::kept(parent.path()).is_err());
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, b"x").unwrap();
    let text = Home::kept(&file.join("below")).unwrap_err().to_string();
    assert!(text.contains("file") && text.contains("give another directory"), "{text}");
}
