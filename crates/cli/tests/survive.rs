//! What outlives a kill, a full disk, a closed terminal; and what is no file and stays what it is.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may stop at the first surprise")]

#[path = "survive/apart.rs"]
mod apart;
#[path = "service/bed.rs"]
mod bed;
#[path = "survive/clean.rs"]
mod clean;
#[path = "survive/daemons.rs"]
mod daemons;
#[path = "survive/datasets.rs"]
mod datasets;
#[path = "survive/disks.rs"]
mod disks;
#[path = "survive/far.rs"]
mod far;
#[path = "survive/faults.rs"]
mod faults;
#[path = "survive/guardian.rs"]
mod guardian;
#[path = "survive/network.rs"]
mod network;
#[path = "survive/outputs.rs"]
mod outputs;
#[path = "survive/plain_store.rs"]
mod plain_store;
#[path = "survive/recover.rs"]
mod recover;
#[path = "survive/sessions.rs"]
mod sessions;
#[path = "survive/signals.rs"]
mod signals;
#[path = "history/sshd.rs"]
mod sshd;
#[path = "survive/study.rs"]
mod study;
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use support::{run, stderr};

/// Waits for something, within a bound.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run of the mock store that is over, `w1` of `archive`.
fn short_run(directory: &Path) {
    std::fs::write(
        directory.join("short.yaml"),
        "name: short\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 2, \
         total_ops: 50, operations: [{type: read, containers: c(1), objects: u(1,9)}]}\n",
    )
    .unwrap();
    let output = run(directory, &["run", "short.yaml", "--quiet", "--oplog"]);
    assert!(matches!(output.status.code(), Some(0)), "{}", stderr(&output));
}
