//! Every kind of target that an output may have.

use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::*;

fn write_text(path: &Path, text: &str) -> Result<(), ArchiveError> {
    write_output(path, |out| out.write_all(text.as_bytes()).map_err(ArchiveError::io("write", path)))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// A device like `/dev/null`, made here; `None` where this user may not, or the file system has none.
fn null_device(dir: &Path) -> Option<PathBuf> {
    let path = dir.join("null");
    let made = Command::new("mknod").arg(&path).args(["c", "1", "3"]).output().ok()?;
    let opens = || OpenOptions::new().write(true).open(&path).is_ok();
    (made.status.success() && opens()).then_some(path)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Reports that this test could not run here. It writes past the capture of the test program's output: `make test` counts
/// such lines, as skipped and not as passed.
fn skipped(why: &str) {
    use std::io::Write;
    let test = std::thread::current();
    drop(writeln!(std::io::stderr(), "SKIPPED test {}: {why}", test.name().unwrap_or("?")));
}

#[test]
fn a_device_stays_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let Some(device) = null_device(dir.path()) else {
        return skipped("only root can make a device node, on a file system that has them");
    };
    let before = fs::symlink_metadata(&device).unwrap();
    write_text(&device, "swallowed").unwrap();
    let link = dir.path().join("link");
    symlink("null", &link).unwrap();
    write_text(&link, "swallowed").unwrap();
    let after = fs::symlink_metadata(&device).unwrap();
    assert!(after.file_type().is_char_device());
    assert_eq!((after.ino(), after.rdev(), after.mode()), (before.ino(), before.rdev(), before.mode()));
    assert_eq!(names(dir.path()), ["link", "null"]);
}

#[test]
fn what_a_device_refuses_is_told() {
    // Opened for writing and nothing else: it would be there afterwards whatever this test did.
    let error = write_text(Path::new("/dev/full"), "no room").unwrap_err().to_string();
    assert!(error.contains("/dev/full") && error.contains("disk is full"), "{error}");
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn a_fifo_and_a_socket_are_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::read_to_string(fifo).unwrap())
    };
    write_text(&fifo, "through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());

    let socket = dir.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    write_text(&socket, "across").unwrap();
    let mut heard = String::new();
    listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "across");
    assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!(names(dir.path()), ["fifo", "socket"]);
}

#[test]
fn links_stay_and_what_they_lead_to_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("far")).unwrap();
    fs::write(at("far/target"), "old").unwrap();
    symlink("far/target", at("one")).unwrap();
    symlink("one", at("two")).unwrap();
    symlink("far/new", at("dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    write_text(&at("two"), "new").unwrap();
    write_text(&at("dangling"), "made").unwrap();
    for link in ["one", "two", "dangling"] {
        assert!(at(link).is_symlink(), "{link}");
    }
    assert_eq!((text(&at("far/target")), text(&at("far/new"))), ("new".to_owned(), "made".to_owned()));
    let error = write_text(&at("circle"), "x").unwrap_err().to_string();
    assert!(error.contains("links"), "{error}");
    assert_eq!(names(&at("far")), ["new", "target"]);
}

#[test]
fn permissions_and_owner_of_a_file_stay() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("private"), "old and much longer than what comes").unwrap();
    fs::set_permissions(at("private"), Permissions::from_mode(0o640)).unwrap();
    // Only root may give a file away; for anybody else this line does nothing and the test holds all the same.
    drop(chown(at("private"), Some(12_345), Some(23_456)));
    let before = fs::metadata(at("private")).unwrap();
    write_text(&at("private"), "new").unwrap();
    let after = fs::metadata(at("private")).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_eq!(text(&at("private")), "new");
}

#[test]
fn what_fails_leaves_the_old_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results");
    fs::write(&path, "old").unwrap();
    let failed: Result<(), ArchiveError> = write_output(&path, |out| {
        out.write_all(b"half").unwrap();
        Err(ArchiveError::io("read", Path::new("elsewhere"))(ErrorKind::StorageFull.into()))
    });
    assert!(failed.unwrap_err().to_string().contains("elsewhere"));
    assert_eq!(text(&path), "old");
    let error = write_text(dir.path(), "x").unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
    assert!(write_text(&dir.path().join("none/file"), "x").is_err());
    assert_eq!(names(dir.path()), ["results"]);
}

#[test]
fn the_temporary_name_of_another_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results");
    fs::write(dir.path().join("somebodys"), "precious").unwrap();
    // Whoever guesses the next names and puts links there gets nothing written through them.
    let next = NUMBER.load(Ordering::Relaxed);
    for number in next..next + 20 {
        let guessed = format!(".results.tmp-{}-{number}", std::process::id());
        symlink("somebodys", dir.path().join(guessed)).unwrap();
    }
    write_text(&path, "new").unwrap();
    assert_eq!(text(&dir.path().join("somebodys")), "precious");
    assert_eq!(text(&path), "new");
    assert!(!path.is_symlink());
}

#[test]
fn an_open_file_of_a_process_is_added_to_and_stays_the_same_file() {
    use std::os::fd::AsRawFd;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, "before\n").unwrap();
    let open = OpenOptions::new().append(true).open(&path).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    for way in ["/dev/fd", "/proc/self/fd"] {
        write_text(&Path::new(way).join(open.as_raw_fd().to_string()), "more\n").unwrap();
    }
    assert_eq!(text(&path), "before\nmore\nmore\n");
    assert_eq!(fs::metadata(&path).unwrap().ino(), before);
    assert_eq!(names(dir.path()), ["log"]);
}

#[test]
fn a_file_that_cannot_be_replaced_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results");
    fs::write(&path, "old and much longer than what comes").unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    (&file).write_all(b"new").unwrap();
    end(&file, true).unwrap();
    assert_eq!(text(&path), "new");
}
