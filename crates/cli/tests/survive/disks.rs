//! Full disks: the run goes on, what it came to is kept before anything that can be made again, and what is listed is true.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use cosmark_archive::{RunRecord, RunState, open_run};
use serde_json::json;

use crate::bed::Controller;
use crate::eventually;
use crate::support::{cosmark, run, signal, skipped, stderr};

/// A small file system of our own, gone with the test; `None` where this user may not mount.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, kib: u32) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={kib}k");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "small"]).arg(at).output().ok()?;
        if !mounted.status.success() {
            return None;
        }
        Some(Self(at))
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        let written = std::io::copy(&mut std::io::repeat(1), &mut file);
        assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

const RUN: &str = "name: room\nstorage: {type: mock, delay: 2ms}\nstages:\n  - name: main\n    works:\n      - {name: w, workers: 2, \
                   runtime: 300s, interval: 1s, operations: [{type: write, containers: c(1), objects: 'u(1,100)', sizes: c(1)KB}]}\n";

fn begin(directory: &Path, small: &Path) -> Child {
    fs::write(directory.join("room.yaml"), RUN).unwrap();
    let child = cosmark(directory)
        .args(["run", "room.yaml", "--json", "--archive"])
        .arg(small)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("two seconds of load", || lines(small) > 2);
    child
}

fn lines(small: &Path) -> usize {
    fs::read_to_string(small.join("w1-room/intervals.csv")).map_or(0, |text| text.lines().count())
}

/// What the run printed, which knows nothing of disks.
fn printed(child: Child) -> (Option<i32>, RunRecord, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap(), said)
}

#[test]
fn what_a_run_came_to_is_kept_on_a_disk_that_others_have_filled() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    let Some(disk) = SmallDisk::mount(&small, 1024) else {
        return skipped("only root can mount a small file system");
    };
    let child = begin(directory.path(), &small);
    disk.fill();
    // Long enough for something to find no room.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    signal(&child, libc::SIGINT);
    let (code, record, said) = printed(child);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("disk is full") && said.contains("the archive is not complete"), "{said}");
    let kept = open_run(&small.join("w1-room")).unwrap().record;
    assert_eq!(kept.state, RunState::Cancelled);
    assert_eq!(kept.stages[0].operations, record.stages[0].operations);
    assert!(kept.stages[0].operations[0].ok > 0);
    // What is to be written down of it afterwards finds none either, and is no bad usage.
    disk.fill();
    let archive = small.display().to_string();
    for args in [&["tag", "w1", "+kept"][..], &["note", "w1", "others filled the disk"]] {
        let refused = run(directory.path(), &[args, &["--archive", &archive]].concat());
        assert_eq!(refused.status.code(), Some(1), "{args:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("disk is full"), "{args:?}: {}", stderr(&refused));
    }
    let no_tag = run(directory.path(), &["tag", "w1", "+no tag", "--archive", &archive]);
    assert_eq!(no_tag.status.code(), Some(2), "{}", stderr(&no_tag));
}

#[test]
fn a_run_catches_up_when_there_is_room_again() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    let Some(disk) = SmallDisk::mount(&small, 8 << 10) else {
        return skipped("only root can mount a small file system");
    };
    let child = begin(directory.path(), &small);
    disk.fill();
    std::thread::sleep(std::time::Duration::from_millis(3500));
    let before = lines(&small);
    disk.free();
    eventually("what had found no room", || lines(&small) >= before + 3);
    signal(&child, libc::SIGINT);
    let (code, record, said) = printed(child);
    // Cancelled, and not a failure of the archive: nothing is missing in it.
    assert_eq!(code, Some(5), "{said}");
    let run = open_run(&small.join("w1-room")).unwrap();
    let mut told = 0;
    run.intervals(|line| told += if line.phase == "window" { line.ok } else { 0 }).unwrap();
    assert_eq!(told, record.stages[0].operations[0].ok);
    assert!(
        small.join("w1-room/w1-room-rt-histogram.csv").exists() && !small.join("w1-room/.reserve").exists()
    );
}

#[test]
fn a_controller_lists_what_is_true_on_a_full_disk_and_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let Some(disk) = SmallDisk::mount(&archive, 8 << 10) else {
        return skipped("only root can mount a small file system");
    };
    let c = Controller::start(directory.path());
    let id = c.submit(RUN);
    eventually("two seconds of load", || lines(&archive) > 2);
    disk.fill();
    // Not even what was kept for the end.
    fs::remove_file(archive.join("w1-room/.reserve")).unwrap();
    disk.fill();
    let (status, answer) = c.send("POST", &format!("runs/{id}/cancel"), &json!({}));
    assert!(status < 300, "{status} {answer}");
    c.wait_for(&id, &["cancelled"]);
    let listed = c.get("runs");
    let row = listed.as_array().unwrap().iter().find(|row| row["id"] == id.as_str()).unwrap();
    assert_eq!(row["state"], "cancelled", "{row}");
    disk.free();
    eventually("the end of the run in its archive", || {
        open_run(&archive.join("w1-room")).is_ok_and(|run| run.record.state == RunState::Cancelled)
    });
    let next = c.submit(&RUN.replace("300s", "1s"));
    assert_eq!(c.wait_for(&next, &["finished", "terminated", "failed"])["state"], "finished");
}
