//! Opening files of an archive, which may come from anybody: a pipe in place of a file would be waited for without end, a device
//! has none, and a link leads to any file of whoever reads or writes. No file of an archive is a link.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// So often another file may take the place of one while it is opened.
const MOST_TRIES: u32 = 100;

/// Opens a regular file to read it.
///
/// # Errors
/// When it is not there or may not be read, or it is a link, a directory, a pipe or a device.
pub fn open(path: &Path) -> io::Result<File> {
    again(|| {
        let there = look(path)?;
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => same(opened?, &there),
        }
    })
}

/// Opens a regular file as `how` says, which says nothing about making it: where there is none it is made.
pub fn open_to_write(path: &Path, how: &OpenOptions) -> io::Result<File> {
    again(|| {
        let there = match look(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return match how.clone().create_new(true).open(path) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
                    made => made.map(Some),
                };
            }
            looked => looked?,
        };
        match how.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => same(opened?, &there),
        }
    })
}

/// Until nobody has put another file there meanwhile.
fn again(mut open: impl FnMut() -> io::Result<Option<File>>) -> io::Result<File> {
    for _ in 0..MOST_TRIES {
        if let Some(file) = open()? {
            return Ok(file);
        }
    }
    Err(unfit())
}

fn look(path: &Path) -> io::Result<Metadata> {
    let there = fs::symlink_metadata(path)?;
    if there.is_file() { Ok(there) } else { Err(unfit()) }
}

/// The file that was looked at; `None` for another one that has taken its place since.
fn same(file: File, there: &Metadata) -> io::Result<Option<File>> {
    let opened = file.metadata()?;
    Ok(((opened.dev(), opened.ino()) == (there.dev(), there.ino())).then_some(file))
}

fn unfit() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "a link, or no regular file")
}

/// Whether something of this name is there, and is no link.
pub fn is_no_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_symlink())
}

/// A larger file is read line by line, or is none of ours.
const MOST_BYTES: u64 = 1 << 30;

/// All bytes of one; a file may be as long as it likes where nothing is in it.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_up_to(path, MOST_BYTES + 1)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("larger than {MOST_BYTES} bytes")));
    }
    Ok(bytes)
}

/// The first bytes of one, at most so many.
pub fn read_up_to(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use crate::cosbench::CosbenchRun;
    use crate::directory::files::{GrowingFile, Lock, append_shared, write_whole};
    use crate::{HistogramLog, Run, last_lines, list};

    /// What is waited for without end fails the test.
    fn soon<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
        let (to, from) = mpsc::sync_channel(1);
        std::thread::spawn(move || to.send(look()));
        from.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn no_link_of_an_archive_is_shown_as_its_workload_or_its_log() {
        let archive = tempfile::tempdir().unwrap();
        let place = archive.path().join("w1-links");
        std::fs::create_dir(&place).unwrap();
        let secret = archive.path().join("secret");
        std::fs::write(&secret, "2026-11-26 10:00:00,000 [INFO] [x] password\n").unwrap();
        let record: crate::RunRecord = serde_json::from_value(serde_json::json!({"schema": 1, "cosmark": "0", "id": "w1",
            "name": "links", "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null,
            "started": null, "ended": null, "process": null}))
        .unwrap();
        let run = Run { path: place.clone(), record };
        for (name, linked) in [
            ("workload.yaml", false),
            ("workload.log", false),
            ("workload.yaml", true),
            ("workload.log", true),
        ] {
            let path = place.join(name);
            drop(std::fs::remove_file(&path));
            if linked {
                std::os::unix::fs::symlink(&secret, &path).unwrap();
            } else {
                std::fs::copy(&secret, &path).unwrap();
            }
            let shown = match name {
                "workload.yaml" => run.workload_yaml().unwrap().is_some(),
                _ => !last_lines(&place, 9).unwrap().is_empty(),
            };
            assert_eq!(shown, !linked, "{name}");
        }
    }

    #[test]
    fn nothing_is_read_or_written_through_a_link() {
        let outer = tempfile::tempdir().unwrap();
        let place = outer.path().join("w1-links");
        std::fs::create_dir(&place).unwrap();
        let (precious, new) = (outer.path().join("precious"), outer.path().join("new"));
        std::fs::write(&precious, "precious").unwrap();
        for (name, target) in [("there", &precious), ("dangling", &new)] {
            let link = place.join(name);
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(super::open(&link).is_err(), "{name}");
            assert!(super::open_to_write(&link, OpenOptions::new().append(true)).is_err(), "{name}");
            assert!(append_shared(&link, "head\n", b"line\n").is_err(), "{name}");
            assert!(GrowingFile::take(&link).is_err() && GrowingFile::reopen(&link, b"").is_err(), "{name}");
            assert!(Lock::take(&link).is_err(), "{name}");
            // Written as a whole, the file takes the place of the link.
            write_whole(&link, true, |out| out.write_all(b"ours")).unwrap();
            assert!(super::is_no_link(&link) && std::fs::read(&link).unwrap() == b"ours", "{name}");
        }
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
        assert!(!new.exists());
        let made = place.join("made");
        append_shared(&made, "head\n", b"one\n").unwrap();
        append_shared(&made, "head\n", b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&made).unwrap(), "head\none\ntwo\n");
        let nowhere = place.join("none/file");
        let error = super::open_to_write(&nowhere, OpenOptions::new().append(true)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_is_replaced_all_the_time_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        write_whole(&path, false, |out| out.write_all(b"0")).unwrap();
        let (written, over) = (path.clone(), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    write_whole(&written, false, |out| out.write_all(b"1")).unwrap();
                }
            });
            let read: Vec<_> = (0..2000).map(|_| super::read(&path)).collect();
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(read.iter().all(Result::is_ok), "{:?}", read.iter().find(|one| one.is_err()));
        });
    }

    #[test]
    fn a_pipe_or_a_device_in_place_of_a_file_is_not_waited_for() {
        let archive = tempfile::tempdir().unwrap();
        let place = archive.path().join("w1-pipes");
        std::fs::create_dir(&place).unwrap();
        for name in ["run.json", "histograms.hlog", "workload.log", "w1-pipes.csv"] {
            assert!(Command::new("mkfifo").arg(place.join(name)).status().unwrap().success());
        }
        let endless = archive.path().join("w2-endless");
        std::fs::create_dir(&endless).unwrap();
        std::os::unix::fs::symlink("/dev/zero", endless.join("run.json")).unwrap();
        let root = archive.path().to_owned();
        let runs = soon(move || list(&root)).unwrap();
        assert_eq!(runs.len(), 2);
        for run in runs {
            let why = run.record.unwrap().unwrap_err().to_string();
            assert!(why.contains("no regular file"), "{why}");
        }
        let own = place.clone();
        assert!(soon(move || HistogramLog::open(&own).is_err()));
        let own = place.clone();
        assert!(soon(move || last_lines(&own, 9).is_err()));
        assert!(soon(move || CosbenchRun::open(&place).is_err()));
    }
}
