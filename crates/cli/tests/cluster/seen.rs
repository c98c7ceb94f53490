//! What drivers see of what other drivers write: each is a process with a clock that the controller has compared.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cosmark_archive::{Run, RunRecord, open_run};
use cosmark_metrics::{BetweenDrivers, ProbeKind};
use cosmark_simstore::{Behaviour, SimStore};

use crate::machines::{Bed, PATIENCE};

/// Lines of `probes.csv` of the only run that are of this driver, as far as it has come.
fn lines_of(bed: &Bed, driver: &str) -> usize {
    let Ok(archive) = std::fs::read_dir(bed.path().join("archive")) else { return 0 };
    let texts =
        archive.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("probes.csv")).ok());
    let word = format!(",{driver},");
    texts.map(|text| text.lines().filter(|line| line.contains(&word)).count()).sum()
}

/// A load with a prober on both drivers, and what came of it; `is_lost`: the second driver is killed while it probes. Probers send
/// a share of what the machine lets the load do: where that is little the load is longer.
fn seen(behaviour: &str, is_lost: bool) -> (Bed, RunRecord) {
    if is_lost {
        return seen_for(30, behaviour, true);
    }
    let has_enough = |seen: &(Bed, RunRecord)| {
        let found = between(&seen.1);
        totals(found).0 > 30 && found.changes > 10
    };
    let enough = [15, 45].into_iter().map(|seconds| seen_for(seconds, behaviour, false)).find(has_enough);
    enough.unwrap_or_else(|| seen_for(80, behaviour, false))
}

fn seen_for(seconds: u32, behaviour: &str, is_lost: bool) -> (Bed, RunRecord) {
    let mut bed = Bed::new(2);
    let store = SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap();
    // Of those that are there a busy machine holds none up for so long.
    let lost_after_s = if is_lost { 5 } else { 30 };
    let text = format!(
        "name: seen\non_driver_loss: continue\nlost_after: {lost_after_s}s\nstorage: {{type: s3, endpoint: '{}', accesskey: a, secretkey: b, \
         path_style_access: true}}\ndefaults: {{sizes: c(1)KiB, \
         containers: 'r(1,1)', objects: 'r(1,50)'}}\nstages:\n  - name: init\n    works: [{{type: init, workers: 1}}]\n  - name: prepare\n    \
         works: [{{type: prepare, workers: 2}}]\n  - name: main\n    consistency: {{share: 10%, reach: 5s}}\n    works:\n      - {{name: main, \
         workers: 8, runtime: {seconds}s, pace: {{rate_per_worker: 60/s}}, operations: [{{type: read}}]}}\n",
        store.url()
    );
    std::fs::write(bed.path().join("seen.yaml"), text).unwrap();
    let more = ["--drivers", "2", "--wait-for-drivers", "2m", "--state-dir", "a"];
    let mut run = bed.start_run("seen.yaml", &more);
    if is_lost {
        let until = Instant::now() + PATIENCE;
        while lines_of(&bed, "d2") < 120 {
            assert!(Instant::now() < until, "driver d2 probes nothing: {}\n{}", run.log(), bed.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
        bed.drivers[1].kill();
    }
    assert_eq!(run.wait(), 0, "{}\n{}", run.log(), bed.logs());
    store.stop();
    let record = run_of(&bed).record;
    (bed, record)
}

/// The only run.
fn run_of(bed: &Bed) -> Run {
    let mut directories = std::fs::read_dir(bed.path().join("archive")).unwrap().flatten();
    let directory = directories.find(|entry| entry.path().join("run.json").exists()).unwrap().path();
    open_run(&directory).unwrap()
}

fn between(record: &RunRecord) -> &BetweenDrivers {
    let found = record.stages.iter().find_map(|stage| stage.consistency.as_ref()).unwrap();
    found.between_drivers.as_ref().unwrap()
}

/// Readings that were held against something, and those that missed it.
fn totals(between: &BetweenDrivers) -> (u64, u64) {
    between.classes.iter().fold((0, 0), |(looks, stale), class| (looks + class.looks, stale + class.stale))
}

#[test]
fn drivers_that_read_what_others_wrote_accuse_a_store_that_keeps_its_word_of_nothing() {
    let (bed, record) = seen("etag: md5\n", false);
    let found = between(&record);
    let (looks, stale) = totals(found);
    assert!(looks > 30 && found.changes > 10, "{found:#?}");
    assert_eq!((stale, found.before_sent, found.never_written), (0, 0, 0), "{found:#?}");
    assert_eq!((found.drivers.len(), found.lost.len(), found.blind.len()), (2, 0, 0), "{found:#?}");
    // One machine, one clock, and comparisons over its loopback.
    assert!(found.clock_error_ms > 0.0 && found.clock_error_ms < 400.0, "{found:#?}");
    let (mut own, mut shared) = (0, 0);
    let read = run_of(&bed).probes(|line| {
        if line.operation.writer().is_some() {
            shared += 1;
        } else {
            own += 1;
        }
    });
    assert!(read.unwrap() && own > 30 && shared > 30, "{own} and {shared}");
}

#[test]
fn a_window_in_which_other_drivers_see_nothing_new_is_found_between_them() {
    let rule = "stale: {window_ms: 450, op: get, overwrite: true, delete: true, create: true}\n";
    let (_bed, record) = seen(rule, false);
    let found = between(&record);
    let (looks, stale) = totals(found);
    assert!(stale > 3 && stale < looks, "{found:#?}");
    let longest_ms = found.classes.iter().filter_map(|class| class.longest_stale_ms).fold(0.0, f64::max);
    assert!(longest_ms < 450.0 + found.clock_error_ms + 5.0 && longest_ms > 50.0, "{found:#?}");
}

#[test]
fn a_driver_that_is_lost_is_named_and_what_it_wrote_unheard_accuses_nobody() {
    let (_bed, record) = seen("etag: md5\n", true);
    let found = between(&record);
    let (looks, stale) = totals(found);
    assert_eq!(found.lost, ["d2"], "{found:#?}");
    assert_eq!((stale, found.never_written), (0, 0), "{found:#?}");
    // The other one went on to read what nobody writes any more.
    assert!(looks > 2 && found.unjudged > 5, "{found:#?}");
}

#[test]
fn writes_that_fail_while_a_store_is_in_trouble_do_not_end_what_can_be_said_of_their_objects() {
    // A third of the probers' writes have no answer that can be built on; readings of what came afterwards still count.
    let (bed, record) =
        seen("errors: {op: put, key_prefix: cosmark-probe, status: 503, every_nth: 3}\n", false);
    let found = between(&record);
    let (looks, stale) = totals(found);
    assert!(looks > 20, "{found:#?}");
    // Of each shared object in their order: whether its changes have an answer.
    let mut changes: BTreeMap<u32, Vec<(u64, bool)>> = BTreeMap::new();
    let read = run_of(&bed).probes(|line| {
        let one = &line.operation;
        let is_change = matches!(one.kind, ProbeKind::Write | ProbeKind::Delete);
        if one.writer().is_some() && is_change {
            changes.entry(one.key).or_default().push((one.call_ns, one.is_done));
        }
    });
    assert!(read.unwrap());
    changes.values_mut().for_each(|changes| changes.sort_unstable());
    let goes_on = |changes: &&Vec<(u64, bool)>| {
        let open = changes.iter().position(|change| !change.1);
        open.is_some_and(|open| changes[open..].iter().any(|change| change.1))
    };
    let met = changes.values().filter(|changes| changes.iter().any(|change| !change.1)).count();
    assert!(met > 0 && changes.values().filter(goes_on).count() * 2 > met, "{changes:?}");
    assert_eq!((stale, found.never_written, found.before_sent), (0, 0, 0), "{found:#?}");
}
