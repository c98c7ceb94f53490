//! Files that only their owner reads.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::nats::error::BusError;
use crate::nats::owner::Owner;

/// The error of a file.
pub(crate) fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> BusError {
    move |cause| BusError::File { what, path: path.display().to_string(), cause: cause.to_string() }
}

pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), BusError> {
    write_whole(path, text).map_err(io("file of the local NATS", path))
}

/// Writes a whole file that only its owner reads. What is there is replaced: no link is followed, and neither the rights of
/// an older file nor who has it open matter to what is written. Its owner does: root writes for services, too.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let fresh = path.with_file_name(format!(".{name}.new-{process}-{thread:?}"));
    // One that an earlier process of the same number left.
    drop(std::fs::remove_file(&fresh));
    let owner = Owner::of(path)?;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let given = owner.give(&file);
    let written =
        given.and_then(|()| file.write_all(text.as_bytes())).and_then(|()| std::fs::rename(&fresh, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&fresh)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_secret_goes_through_no_link_and_into_no_file_that_others_read() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("theirs"), "theirs").unwrap();
        symlink(at("theirs"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::write(at("open"), "old").unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o666)).unwrap();
        let watched = fs::File::open(at("open")).unwrap();
        for name in ["link", "dangling", "open", "fresh"] {
            write_private(&at(name), "secret").unwrap();
            let meta = fs::symlink_metadata(at(name)).unwrap();
            assert_eq!((meta.is_file(), meta.permissions().mode() & 0o777), (true, 0o600), "{name}");
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "secret", "{name}");
        }
        assert_eq!(std::io::read_to_string(watched).unwrap(), "old", "who had it open");
        assert_eq!(fs::read_to_string(at("theirs")).unwrap(), "theirs");
        assert!(!at("nowhere").exists());
        // Nothing half-written is left, also where it cannot be named.
        fs::create_dir(at("taken")).unwrap();
        assert!(write_private(&at("taken"), "secret").is_err());
        let left = fs::read_dir(directory.path()).unwrap().filter_map(Result::ok);
        assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().starts_with('.')));
    }

    #[test]
    fn a_directory_that_root_makes_for_a_service_is_the_services_and_no_other_is() {
        use std::os::unix::fs::{MetadataExt, chown};

        use crate::nats::owner::make_private;

        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let me = fs::metadata(directory.path()).unwrap().uid();
        // Only root can give directories away; who is not has his own alone.
        let may = chown(directory.path(), Some(4321), Some(4321)).is_ok();
        let them = if may { 4321 } else { me };
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), at("link")).unwrap();
        fs::create_dir(at("mine")).unwrap();
        for name in ["nats/jetstream", "mine/jetstream", "link/jetstream", "link"] {
            make_private(&at(name)).unwrap();
        }
        for (name, owner) in [
            ("nats", them),
            ("nats/jetstream", them),
            ("mine", me),
            ("mine/jetstream", me),
            ("link/jetstream", me),
            ("link", me),
        ] {
            assert_eq!(fs::metadata(at(name)).unwrap().uid(), owner, "{name}");
        }
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("nats"), mode("nats/jetstream")), (0o700, 0o700));
    }

    #[test]
    fn a_file_is_its_owners_whoever_writes_it_and_else_nothing_is_replaced() {
        use std::os::unix::fs::{MetadataExt, chown};

        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let owner = |name: &str| fs::metadata(at(name)).unwrap().uid();
        let me = fs::metadata(directory.path()).unwrap().uid();
        fs::write(at("theirs"), "old").unwrap();
        // Only root can give files away; who is not has his own alone.
        let may = chown(at("theirs"), Some(4321), Some(4321)).is_ok();
        let them = if may { 4321 } else { me };
        write_private(&at("theirs"), "new").unwrap();
        write_private(&at("mine"), "mine").unwrap();
        assert_eq!((owner("theirs"), owner("mine")), (them, me));
        if may {
            chown(directory.path(), Some(4321), Some(4321)).unwrap();
        }
        write_private(&at("fresh.nk"), "seed").unwrap();
        assert_eq!((owner("fresh.nk"), owner("mine")), (them, me), "a new one is its directory's");
        // Another user, who may write into the directory and not give away: in a thread that is that user towards files.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let path = at("theirs");
        let written = std::thread::spawn(move || {
            // SAFETY: a plain system call that changes only this thread, which ends here; it is refused to all but root.
            unsafe { libc::setfsuid(4322) };
            write_private(&path, "of another")
        });
        let written = written.join().unwrap();
        let text = fs::read_to_string(at("theirs")).unwrap();
        if may {
            let why = written.unwrap_err().to_string();
            assert!(
                why.contains("belongs to user 4321") && why.contains("--reuid 4321 --regid 4321"),
                "{why}"
            );
            assert_eq!(text, "new", "it is refused before anything is replaced");
        } else {
            assert_eq!((written.is_ok(), text.as_str()), (true, "of another"));
        }
        assert_eq!(owner("theirs"), them);
        let left = fs::read_dir(directory.path()).unwrap().filter_map(Result::ok);
        assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().starts_with('.')));
    }
}
