//! The one rule by which a file counts as written by nobody but this user and the administrator: what it says is run here.
//! Source: sshd_config(5) `StrictModes`, chmod(2), path_resolution(7).

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// More links on a way are a circle, as for the kernel.
const MOST_LINKS: usize = 40;
/// Others may write it: its group, anybody.
const OTHERS: u32 = 0o022;
/// In a directory of this kind nobody replaces what belongs to somebody else.
const STICKY: u32 = 0o1000;

/// Nobody but this user and the administrator may write a file or directory of this kind.
#[must_use]
pub fn has_strict_modes(meta: &Metadata) -> bool {
    is_owned(meta) && meta.mode() & OTHERS == 0
}

fn is_owned(meta: &Metadata) -> bool {
    meta.uid() == 0 || effective_user() == Some(meta.uid())
}

/// The user whose rights this process has. Whom its directory of /proc belongs to is another one where the program was given
/// capabilities of its own (setcap(8)), and counts only where nothing else says it (gVisor). Source: proc(5), `/proc/pid/status`.
pub(crate) fn effective_user() -> Option<u32> {
    let said = fs::read("/proc/self/status").ok();
    let said = said.and_then(|status| effective_of(&String::from_utf8_lossy(&status)));
    said.or_else(|| fs::metadata("/proc/self").ok().map(|own| own.uid()))
}

/// Real, effective, saved and file system's user stand in one line.
fn effective_of(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().nth(1)?.parse().ok()
}

/// Nobody but this user and the administrator can have written this file, or have put another one in its place: it and each
/// directory and link on the way to it belong to one of the two, and neither a group nor others may write them. A directory that
/// anybody may write is borne where it is sticky, as /tmp is.
///
/// # Errors
/// What is wrong and where, all of it at once, with the remedy.
pub fn check_strict_modes(path: &Path) -> Result<(), String> {
    let cannot = |place: &Path, cause: io::Error| format!("{}: {cause}", place.display());
    let whole = std::path::absolute(path).map_err(|cause| cannot(path, cause))?;
    let mut left: Vec<PathBuf> = parts(&whole);
    let mut place = PathBuf::from("/");
    let mut links = 0;
    let mut bad = Vec::new();
    look_at_directory(&place, &mut bad)?;
    while let Some(part) = left.pop() {
        if part == Path::new("..") {
            place.pop();
            continue;
        }
        let next = place.join(part);
        let meta = fs::symlink_metadata(&next).map_err(|cause| cannot(&next, cause))?;
        if meta.is_symlink() {
            // Where anybody makes links, whose it is says who chooses what is run.
            if !is_owned(&meta) {
                note(&next, &mut bad);
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(format!("{}: too many symbolic links, one after the other", path.display()));
            }
            let to = fs::read_link(&next).map_err(|cause| cannot(&next, cause))?;
            if to.is_absolute() {
                place = PathBuf::from("/");
            }
            left.extend(parts(&to));
            continue;
        }
        place = next;
        if meta.is_dir() {
            look_at_directory(&place, &mut bad)?;
        } else if !has_strict_modes(&meta) {
            note(&place, &mut bad);
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(wrong(&bad)) }
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut named: Vec<PathBuf> = named.collect();
    named.reverse();
    named
}

fn look_at_directory(place: &Path, bad: &mut Vec<PathBuf>) -> Result<(), String> {
    let meta = fs::metadata(place).map_err(|cause| format!("{}: {cause}", place.display()))?;
    if !is_owned(&meta) || (meta.mode() & OTHERS != 0 && meta.mode() & STICKY == 0) {
        note(place, bad);
    }
    Ok(())
}

/// A way may lead through a place twice.
fn note(place: &Path, bad: &mut Vec<PathBuf>) {
    if !bad.iter().any(|known| known == place) {
        bad.push(place.to_owned());
    }
}

fn wrong(bad: &[PathBuf]) -> String {
    let shown: Vec<String> = bad.iter().map(|place| place.display().to_string()).collect();
    let belong = if bad.len() == 1 { "belongs" } else { "belong" };
    format!(
        "{} {belong} to somebody else, or others may write it; chown it (a link by `chown -h`), and `chmod go-w {}`",
        shown.join(", "),
        shown.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_has_strict_modes_where_nobody_else_may_write_it_or_any_directory_on_the_way_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("outer/inner");
        fs::create_dir_all(&deep).unwrap();
        let (outer, file) = (directory.path().join("outer"), deep.join("file"));
        fs::write(&file, "").unwrap();
        for place in [&outer, &deep] {
            mode(place, 0o755);
        }
        mode(&file, 0o644);
        check_strict_modes(&file).unwrap();
        for (place, bad, good) in
            [(&file, 0o664, 0o600), (&file, 0o646, 0o640), (&deep, 0o775, 0o750), (&outer, 0o777, 0o700)]
        {
            mode(place, bad);
            let why = check_strict_modes(&file).unwrap_err();
            let named = why.starts_with(&format!("{} belongs", place.canonicalize().unwrap().display()));
            assert!(named && why.contains("chmod go-w"), "{why}");
            mode(place, good);
            check_strict_modes(&file).unwrap();
        }
        // All that is wrong is said at once, so that one command mends it.
        for place in [&outer, &deep, &file] {
            mode(place, 0o775);
        }
        let why = check_strict_modes(&file).unwrap_err();
        let places = [&outer, &deep, &file].map(|place| place.canonicalize().unwrap().display().to_string());
        assert!(why.contains(&format!("`chmod go-w {}`", places.join(" "))), "{why}");
        for place in [&outer, &deep, &file] {
            mode(place, 0o755);
        }
        // Who may write a sticky directory replaces nothing there that is somebody else's.
        mode(&outer, 0o1777);
        check_strict_modes(&file).unwrap();
        assert!(check_strict_modes(&deep.join("none")).is_err());
    }

    #[test]
    fn the_effective_user_counts() {
        let status = "Name:\tUid: 7\nUmask:\t0002\nUid:\t1000\t1001\t1002\t1003\nGid:\t1\t2\t3\t4\n";
        assert_eq!((effective_of(status), effective_of("Name:\tx\nUid:\t1000\n")), (Some(1001), None));
        let made = tempfile::tempfile().unwrap().metadata().unwrap();
        assert_eq!(effective_user(), Some(made.uid()));
    }

    /// Whoever made a link in a directory of everybody leads it elsewhere after it was looked at.
    #[test]
    fn a_link_of_somebody_else_is_refused_wherever_it_leads() {
        let directory = tempfile::tempdir().unwrap();
        let (shared, file, link) = (
            directory.path().join("shared"),
            directory.path().join("file"),
            directory.path().join("shared/link"),
        );
        fs::create_dir(&shared).unwrap();
        mode(&shared, 0o1777);
        fs::write(&file, "").unwrap();
        mode(&file, 0o644);
        symlink(&file, &link).unwrap();
        check_strict_modes(&link).unwrap();
        // Only root gives links away.
        if lchown(&link, Some(65_534), None).is_ok() {
            assert!(check_strict_modes(&link).unwrap_err().contains("link belongs to somebody else"));
        }
        let of_link = fs::symlink_metadata(&link).unwrap();
        assert_eq!(check_strict_modes(&link).is_ok(), is_owned(&of_link));
    }

    #[test]
    fn a_link_is_followed_and_the_way_to_it_and_from_it_is_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let (open, shut) = (directory.path().join("open"), directory.path().join("shut"));
        for place in [&open, &shut] {
            fs::create_dir(place).unwrap();
            mode(place, 0o755);
        }
        let file = shut.join("file");
        fs::write(&file, "").unwrap();
        mode(&file, 0o644);
        symlink("../shut/file", open.join("link")).unwrap();
        // Out of the open directory and through it, although it is on neither end.
        symlink(open.join("link"), shut.join("way")).unwrap();
        symlink("circle", shut.join("circle")).unwrap();
        for path in [open.join("link"), shut.join("way"), open.join("../shut/./file")] {
            check_strict_modes(&path).unwrap();
        }
        mode(&open, 0o777);
        for path in [open.join("link"), shut.join("way"), open.join("../shut/file")] {
            assert!(check_strict_modes(&path).unwrap_err().contains("open belongs to"), "{}", path.display());
        }
        check_strict_modes(&file).unwrap();
        assert!(check_strict_modes(&shut.join("circle")).unwrap_err().contains("too many"));
    }
}
