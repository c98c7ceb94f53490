//! The client about itself: does a driver that is the bottleneck show, and one that is not?

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cosmark_archive::{ClientRecord, RunRecord};
use cosmark_simstore::{Behaviour, Handle, Op, SimStore};

use crate::bench::{READS, alone, alone_with, one_work, say};
use crate::support::{cosmark, stderr};

/// Two seconds on no store at all; a closed loop there is as fast as the client can be.
fn client_of(directory: &Path, command: &mut Command, load: &str) -> ClientRecord {
    let workload = format!(
        "name: client\nseed: 7\nstorage: {{type: none}}\nstages:\n  - name: main\n    works:\n      - {{name: main, \
         runtime: 2s, {load}, operations: [{{type: read, containers: c(1), objects: 'u(1,100)'}}]}}\n"
    );
    std::fs::write(directory.join("client.yaml"), workload).unwrap();
    let args = ["run", "client.yaml", "--threads", "1", "--json", "--quiet", "--archive", "archive"];
    let output = command.args(args).output().unwrap();
    let record: RunRecord =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", stderr(&output)));
    let [client] = record.stages[0].clients.as_slice() else { panic!("{:?}", record.stages[0].clients) };
    client.clone()
}

/// The time in which a load thread ran, or wanted to: it does neither while a hypervisor has its processor, of which no
/// more is known than the share of all of them.
fn wanted(client: &ClientRecord) -> f64 {
    let stolen = client.steal_share.unwrap_or(0.0) * f64::from(client.cpus.unwrap_or(1));
    client.thread_busy_max.unwrap() + client.run_queue_wait_share_max.unwrap() + stolen
}

#[test]
fn g22_a_saturated_driver_shows_and_an_idle_one_does_not() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let saturated = client_of(directory.path(), &mut cosmark(directory.path()), "workers: 16");
    assert!(wanted(&saturated) > 0.85, "{saturated:?}");
    let idle = client_of(directory.path(), &mut cosmark(directory.path()), "workers: 2, rate: 20/s");
    assert!(idle.thread_busy_max.unwrap() < 0.3, "{idle:?}");
    assert_eq!(idle.thread_busy_over_85_share, Some(0.0));
    say(&format!(
        "G22 saturated: busy {:.2} and waiting {:.2}; idle: busy {:.2}",
        saturated.thread_busy_max.unwrap(),
        saturated.run_queue_wait_share_max.unwrap(),
        idle.thread_busy_max.unwrap()
    ));
}

#[test]
fn g22_a_driver_that_others_keep_from_its_processor_says_so() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    // Two programs that never rest, on the one processor that the driver may use; a minute at most.
    const HOG: &str = "end=$(($(date +%s) + 60)); while [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt 99999 ]; do \
        i=$((i + 1)); done; done";
    let hogs: Vec<_> =
        (0..2).map(|_| Command::new("taskset").args(["-c", "0", "sh", "-c", HOG]).spawn().unwrap()).collect();
    let program = cosmark(directory.path());
    let mut pinned = Command::new("taskset");
    pinned.current_dir(directory.path()).args(["-c", "0"]).arg(program.get_program());
    let crowded = client_of(directory.path(), &mut pinned, "workers: 16");
    for mut hog in hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    say(&format!(
        "G22 crowded: busy {:.2}, waiting for a processor {:.2}",
        crowded.thread_busy_max.unwrap(),
        crowded.run_queue_wait_share_max.unwrap()
    ));
    assert!(crowded.run_queue_wait_share_max.unwrap() > 0.3, "{crowded:?}");
    assert!(crowded.thread_busy_max.unwrap() < 0.7, "{crowded:?}");
}

#[test]
fn each_of_several_endpoints_has_its_own_results_and_they_add_up() {
    let start = |ms: u32| {
        let rules = format!(
            "store: {{mode: 'null', null_bytes: 1024}}\ndelay: {{op: get, law: {{constant_ms: {ms}}}}}\n"
        );
        SimStore::start(Behaviour::from_yaml(&rules).unwrap(), "127.0.0.1:0").unwrap()
    };
    let (fast, slow) = (start(1), start(100));
    let workload = one_work(&format!("workers: 4, runtime: 2s, {READS}")).replace(
        "${STORE}",
        &format!(
            "{{type: s3, endpoint: '{},{}', accesskey: a, secretkey: b, path_style_access: true}}",
            fast.url(),
            slow.url()
        ),
    );
    let ran = alone_with(&workload);
    let served = |store: &Handle| store.counters().unwrap().of_op(Op::Get);
    let whole = ran.main();
    let [one, two] = whole.endpoints.as_slice() else { panic!("{:?}", whole.endpoints) };
    assert!(fast.url().ends_with(&one.endpoint) && slow.url().ends_with(&two.endpoint), "{one:?} {two:?}");
    assert_eq!(one.sums.ok + two.sums.ok, whole.ok);
    let logged = |number: u16| ran.rows.iter().filter(|row| row.sample.endpoint == number).count() as u64;
    // A server counts a request after its last byte, so the client may be done a moment earlier.
    let patience = Instant::now();
    while served(&fast) + served(&slow) < logged(1) + logged(2) && patience.elapsed().as_secs() < 60 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((logged(1), logged(2)), (served(&fast), served(&slow)), "the log, then the servers");
    assert!(two.sums.service_ms.min.unwrap() >= 100.0 && one.sums.service_ms.min.unwrap() < 100.0);
    fast.stop();
    slow.stop();
}

#[test]
fn sizes_of_several_classes_are_told_apart_and_one_size_makes_no_classes() {
    let work = |sizes: &str| {
        one_work(&format!(
            "workers: 4, runtime: 1s, operations: [{{type: write, containers: c(1), objects: 'u(1,100)', sizes: '{sizes}'}}]"
        ))
        .replace("${STORE}", "{type: none}")
        .replace("workers: 4, runtime: 1s", "workers: 4, runtime: 1s, total_ops: 4000")
    };
    let ran = alone_with(&work("h(1|1|25,8|9|75)KB"));
    let labels: Vec<&str> = ran.main().size_classes.iter().map(|class| class.label.as_str()).collect();
    assert_eq!(labels, ["0 B..1 KiB", "4 KiB..16 KiB"]);
    assert!(alone_with(&work("c(8)KB")).main().size_classes.is_empty());
}
