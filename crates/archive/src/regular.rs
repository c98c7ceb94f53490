//! Opening files that are read. An archive may come from anybody: a pipe in place of a file would be waited for without end, a
//! device has none.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file, also behind a link.
pub fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"))
    }
}

/// Whether something of this name is there, and is no link.
pub fn is_no_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_symlink())
}

/// All bytes of one.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use crate::cosbench::CosbenchRun;
    use crate::{HistogramLog, Run, last_lines, list};

    /// What is waited for without end fails the test.
    fn soon<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
        let (to, from) = mpsc::sync_channel(1);
        std::thread::spawn(move || to.send(look()));
        from.recv_timeout(Duration::from_secs(20)).unwrap()
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
