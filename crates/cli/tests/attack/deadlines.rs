//! Every step has a deadline and every cancel ends a run, whatever drivers and NATS do: a driver that is there and does not answer,
//! one whose disk is full, a NATS that lost its data.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cosmark_archive::{RunRecord, StageState};
use cosmark_cluster::nats::{Bus, Identity, Limits, NatsOptions};

use crate::fleet_bed::{Bed, Process};
use crate::support::skipped;
use crate::table::Attacks;

/// Beats like a driver and does nothing else, until it is dropped.
struct Mute(Arc<AtomicBool>);

impl Mute {
    /// It looks like `d1` but for its name.
    fn start(url: String) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let options = NatsOptions { url, ..NatsOptions::default() };
                let bus = Bus::connect(&options, "mute", Limits::default()).await.unwrap();
                let mut like = bus.registered("d1").await.unwrap().unwrap();
                (like.name, like.life) = ("mute".into(), 7);
                let identity = Identity::derive(b"mute", "driver").unwrap();
                identity.public().clone_into(&mut like.identity);
                like.proof = identity.sign_bytes(&like.what_is_proved()).unwrap();
                while !over.load(Ordering::Acquire) {
                    drop(bus.register(&like).await);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
        });
        Self(is_over)
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn workload(more: &str) -> String {
    format!(
        "name: w\nstorage: {{type: mock, delay: 5ms}}\n{more}stages:\n- name: main\n  works:\n  - name: main\n    workers: 4\n    \
         runtime: 600s\n    operations:\n    - {{type: write, ratio: 1, containers: c(1), objects: 's(1,100)', sizes: c(1)KB}}\n"
    )
}

fn short() -> String {
    workload("").replace("runtime: 600s", "total_ops: 40")
}

/// The record of a run, by the beginning of its directory's name.
fn record(bed: &Bed, id: &str) -> RunRecord {
    let runs = std::fs::read_dir(bed.path().join("archive")).unwrap().filter_map(Result::ok);
    let mut found = runs.filter(|entry| entry.file_name().to_string_lossy().starts_with(id));
    let text = std::fs::read_to_string(found.next().unwrap().path().join("run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn bed_with_a_mute_driver() -> (Bed, Mute) {
    let bed = Bed::new(1);
    let mute = Mute::start(bed.url());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = NatsOptions { url: bed.url(), ..NatsOptions::default() };
        let bus = Bus::connect(&options, "test", Limits::default()).await.unwrap();
        while bus.registered("mute").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    (bed, mute)
}

#[test]
fn a_run_whose_driver_is_there_and_does_not_answer_can_be_aborted() {
    let (mut bed, _mute) = bed_with_a_mute_driver();
    std::fs::write(bed.path().join("w.yaml"), workload("lost_after: 300s\n")).unwrap();
    let mut run = bed.start_run("w.yaml", &["--drivers", "d1,mute"]);
    bed.wait_for_state(0, StageState::Authing, &mut run);
    run.signal(libc::SIGINT);
    run.wait_for("Ctrl-C again");
    run.signal(libc::SIGINT);
    run.wait();
    let log = run.log();
    assert!(log.contains("driver mute has not answered the word to stop"), "{log}");
    assert!(log.contains("if it is cut off its load may go on for up to 300 s"), "{log}");
    assert!(!log.contains("driver d1 has not answered"), "{log}");
    let state = record(&bed, "w1-").state.word();
    Attacks::on("deadlines").judge(
        "a driver beats and answers nothing; abort",
        "a run",
        state == "cancelled",
        state,
    );
}

#[test]
#[ignore = "takes two minutes"]
fn attack_long_a_driver_that_is_there_and_does_not_prepare_is_named_and_the_run_ends() {
    let (mut bed, _mute) = bed_with_a_mute_driver();
    std::fs::write(bed.path().join("w.yaml"), workload("lost_after: 4s\n")).unwrap();
    let mut run = bed.start_run("w.yaml", &["--drivers", "d1,mute"]);
    assert_eq!(run.wait(), 1, "{}", run.log());
    let reason = record(&bed, "w1-").reason.unwrap();
    let held = reason.contains("driver mute") && reason.contains("has not prepared its stage");
    Attacks::on("deadlines").judge("a driver beats and answers nothing", "a run", held, &reason);
    // To go on without it takes another one.
    std::fs::write(bed.path().join("w.yaml"), workload("lost_after: 4s\non_driver_loss: continue\n"))
        .unwrap();
    let mut run = bed.start_run("w.yaml", &["--drivers", "mute"]);
    assert_eq!(run.wait(), 1, "{}", run.log());
    let reason = record(&bed, "w2-").reason.unwrap();
    let held = reason.contains("every driver of the stage was lost");
    Attacks::on("deadlines").judge("the only driver beats and answers nothing", "a run", held, &reason);
}

/// A file system of so many KiB, unmounted when the test is over.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: &Path, kib: u32) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let size = format!("size={kib}k");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).status();
        mount.is_ok_and(|status| status.success()).then(|| Self(path.to_owned()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    while std::io::Write::write_all(&mut file, &[7; 1024]).is_ok() {}
}

#[test]
fn a_driver_whose_disk_is_full_says_so_and_takes_the_next_run_when_there_is_room() {
    let mut bed = Bed::new(0);
    let Some(_disk) = Tmpfs::mount(&bed.path().join("state"), 1024) else {
        return skipped("no file system can be mounted here");
    };
    bed.start_driver(1, &[]);
    std::fs::write(bed.path().join("w.yaml"), workload("")).unwrap();
    std::fs::write(bed.path().join("short.yaml"), short()).unwrap();
    let ballast = bed.path().join("state/ballast");
    // It has to know whom it trusts before it has no room to keep that.
    let mut run = bed.start_run("short.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    // Full before the run.
    fill(&ballast);
    let mut run = bed.start_run("w.yaml", &[]);
    assert_eq!(run.wait(), 1, "{}", bed.logs());
    let reason = record(&bed, "w2-").reason.unwrap();
    let held = reason.contains("driver d1") && reason.contains("make room");
    Attacks::on("deadlines").judge("the disk of a driver is full before a run", "the run", held, &reason);
    std::fs::remove_file(&ballast).unwrap();
    let mut run = bed.start_run("short.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    // Full in the middle of one.
    let mut run = bed.start_run("w.yaml", &[]);
    run.wait_for("main 00:0");
    fill(&ballast);
    assert_eq!(run.wait(), 1, "{}", bed.logs());
    let reason = record(&bed, "w4-").reason.unwrap();
    let held = reason.contains("driver d1 cannot keep its results") && reason.contains("make room");
    Attacks::on("deadlines").judge("the disk of a driver gets full in a run", "the run", held, &reason);
    std::fs::remove_file(&ballast).unwrap();
    let mut run = bed.start_run("short.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    assert_eq!(record(&bed, "w5-").stages[0].operations[0].ok, 40);
}

#[test]
fn a_nats_that_lost_its_data_under_living_drivers_ends_the_run_with_a_sentence_and_the_next_one_works() {
    let mut bed = Bed::new(2);
    std::fs::write(bed.path().join("short.yaml"), short()).unwrap();
    // Drivers have a place in the stream that is further than the new one will go for long.
    let mut run = bed.start_run("short.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    std::fs::write(bed.path().join("w.yaml"), workload("lost_after: 5s\n")).unwrap();
    let mut run = bed.start_run("w.yaml", &[]);
    run.wait_for("main 00:0");
    bed.nats.take().unwrap().kill();
    std::fs::remove_dir_all(bed.path().join("js")).unwrap();
    bed.start_nats();
    assert_eq!(run.wait(), 1, "{}", bed.logs());
    let reason = record(&bed, "w2-").reason.unwrap();
    let held = reason.contains("NATS lost its data");
    Attacks::on("deadlines").judge("NATS loses its data under living drivers", "a run", held, &reason);
    for driver in &mut bed.drivers {
        driver.wait_for("NATS lost its data");
    }
    // They register again when they next look, not at once.
    let mut run = bed.start_run("short.yaml", &["--drivers", "d1,d2", "--wait-for-drivers", "60s"]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    assert_eq!(record(&bed, "w3-").stages[0].operations[0].ok, 40);
}

#[test]
fn a_nats_whose_disk_was_full_is_told_with_what_to_do_and_a_restart_of_it_costs_nothing() {
    let mut bed = Bed::new(0);
    bed.nats.take().unwrap().kill();
    let Some(_disk) = Tmpfs::mount(&bed.path().join("small"), 6 * 1024) else {
        return skipped("no file system can be mounted here");
    };
    let config = format!(
        "listen: {}:{}\njetstream {{ store_dir: {:?}, max_file_store: 20GB }}\n",
        bed.host,
        bed.port,
        bed.path().join("small")
    );
    std::fs::write(bed.path().join("nats.conf"), config).unwrap();
    let start = |bed: &mut Bed| {
        let mut command = Command::new("nats-server");
        command.arg("-c").arg(bed.path().join("nats.conf"));
        bed.nats = Some(Process::start(command, bed.path().join("nats.log")));
        bed.wait_for_nats();
    };
    start(&mut bed);
    bed.start_driver(1, &[]);
    let counted = "name: counted\nlost_after: 120s\nstorage: {type: mock, delay: 5ms}\nstages:\n- name: main\n  works:\n  - {name: main, workers: 4, \
                   total_ops: 1600, interval: 1s, pace: {rate_per_worker: 20/s}, operations: [{type: read, containers: c(1), objects: \
                   'u(1,9)'}]}\n";
    std::fs::write(bed.path().join("counted.yaml"), counted).unwrap();
    let mut run = bed.start_run("counted.yaml", &[]);
    run.wait_for("main 00:0");
    let ballast = bed.path().join("small/ballast");
    fill(&ballast);
    run.wait_for("restart nats-server");
    std::fs::remove_file(&ballast).unwrap();
    bed.nats.take().unwrap().kill();
    start(&mut bed);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    let record = record(&bed, "w1-");
    let held = record.stages[0].operations[0].ok == 1600;
    Attacks::on("deadlines").judge("the disk of NATS gets full in a run", "the run", held, &run.log());
}
