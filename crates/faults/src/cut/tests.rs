//! Runs that were killed after a slot whose cost is known, as they lie on disk.

use std::fs;

use cosmark_archive::{Archive, EventRecord, HostRecord, NewRun, StageState, open_run};
use cosmark_metrics::{Latency, Outcome, Phase, Snapshot};
use cosmark_workload::{Environment, Format, parse_what_is_there};

use super::*;

const STAGE: &str = "name: x
storage: {type: mock}
stages:
- name: main
  faults: [{name: gone, type: command, inject: a, heal: b, proof: c, at: 60s, hold: 10s, slot: 60s, keep: 30s, limit: 200ms, repeats: 3}]
  works: [{name: w, workers: 9, runtime: 300s, interval: 1s, rate: {rate: 100/s, when_full: drop}, operations: [{type: read, containers: c(1), objects: c(1)}]}]
";
/// The run was killed then: in the second slot, and before the third one.
const KILLED_S: u32 = 130;

fn began() -> Timestamp {
    Timestamp::from_second(1_800_000_010).unwrap()
}

/// 100/s of 1000 bytes and 10 ms; from 60 on ten seconds of 20/s and 500 ms, in which 3/s fail.
fn second(at: u32) -> OpSnapshot {
    let (ok, failed, ms) = if (60..70).contains(&at) { (20_u32, 3, 500) } else { (100, 0, 10) };
    let times = || {
        let mut times = Latency::preallocated();
        times.record_many(ms * 1_000_000, ok);
        times
    };
    let (response, service) = (times(), times());
    let ok = u64::from(ok);
    let errors = (failed > 0).then_some((Outcome::failed("http_503"), failed)).into_iter().collect();
    OpSnapshot { ok, failed, bytes: ok * 1000, response, service, errors, ..OpSnapshot::default() }
}

fn slots() -> Vec<SlotResult> {
    let first = SlotResult {
        number: 1,
        from_s: 60.0,
        landed_s: Some(60.2),
        proof: Some("c ended with 0".to_owned()),
        heal_s: Some(70.0),
        healed_s: Some(70.0),
        to_s: 120.0,
        noticed_after_s: Some(4.0),
        whole_after_s: Some(15.0),
        ..SlotResult::default()
    };
    let cut = SlotResult {
        number: 2,
        void: Some("cut 50 s before its end".to_owned()),
        from_s: 120.0,
        landed_s: Some(120.2),
        to_s: 130.0,
        ..SlotResult::default()
    };
    vec![first, cut]
}

/// A run on disk, whose failures were written down once in `every` seconds.
fn killed(root: &std::path::Path, every: usize) -> (Run, Stage) {
    let (workload, mistakes) = parse_what_is_there(STAGE, Format::Yaml, &Environment::default());
    let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
    let new = NewRun {
        number: None,
        workload: &workload,
        seed: Some(7),
        source: None,
        config_xml: "<workload/>\n",
        config_yaml: STAGE,
        host: HostRecord { hostname: "bench1".into(), cpus: 4, kernel: "Linux 6.1".into() },
        submitted: began() - Duration::from_secs(10),
    };
    let mut dir = Archive::open(root).unwrap().begin(&new).unwrap();
    dir.set_load_started(0, began());
    dir.enter_stage(0, StageState::Running, began()).unwrap();
    let seconds: Vec<u32> = (0..KILLED_S).collect();
    for at in &seconds {
        let start_ns = u64::from(*at) * 1_000_000_000;
        let end_ns = start_ns + 1_000_000_000;
        let slice = Snapshot { work: 0, phase: Phase::Window, start_ns, end_ns, ops: vec![second(*at)] };
        dir.append_histograms(0, began() + Duration::from_secs(u64::from(*at)), &slice).unwrap();
    }
    for part in seconds.chunks(every) {
        let mut sum = OpSnapshot::default();
        part.iter().for_each(|at| sum.merge(&second(*at)));
        let (from_s, to_s) = (f64::from(part[0]), f64::from(part[part.len() - 1] + 1));
        let line = IntervalLine::of("d1", Phase::Window, from_s, to_s, &sum);
        dir.append_work_interval(0, 0, vec![line]).unwrap();
    }
    let path = dir.path().to_owned();
    drop(dir);
    let mut run = open_run(&path).unwrap();
    let record = &mut run.record.stages[0];
    (record.cut_s, record.load_started) = (Some(f64::from(KILLED_S)), Some(began()));
    let remarks = vec!["1 of its 3 slots had not begun".to_owned()];
    record.faults =
        vec![FaultResult { name: "gone".into(), slots: slots(), remarks, ..FaultResult::default() }];
    (run, workload.stages[0].clone())
}

#[test]
fn a_slot_that_was_over_when_its_run_was_killed_costs_what_it_would_have() {
    let directory = tempfile::tempdir().unwrap();
    let (run, stage) = killed(directory.path(), 1);
    let found = judge_cut(&run, &stage, 0);
    let [result] = &found[..] else { panic!("{found:?}") };
    let [slot, cut] = &result.slots[..] else { panic!("{result:?}") };
    assert_eq!((slot.void.as_ref(), slot.dip, slot.depth), (None, Some(true), Some(0.8)));
    assert_eq!((slot.lost_operations, slot.lost_bytes), (Some(800.0), Some(800_000.0)));
    assert_eq!((slot.first_error_after_s, slot.failed_operations), (Some(0.0), Some(30)));
    assert_eq!(slot.errors, BTreeMap::from([("http_503".to_owned(), 30)]));
    assert_eq!((slot.back_after_s, slot.beyond_limit_s), (Some(10.0), Some(10.0)));
    assert_eq!((slot.noticed_after_s, slot.whole_after_s), (Some(4.0), Some(15.0)));
    assert_eq!((slot.manual_steps, slot.landed_s, slot.healed_s), (Some(1), Some(60.2), Some(70.0)));
    assert_eq!(cut.void.as_deref(), Some("cut 50 s before its end"));
    assert_eq!((cut.lost_operations, cut.landed_s), (None, Some(120.2)));
    let lost = result.figures.iter().find(|one| one.figure == "lost_operations").unwrap();
    assert_eq!((lost.mean, lost.slots), (Some(800.0), 1));
    assert!(result.healthy.is_some() && result.false_dips.is_some(), "{result:?}");
    let remarks = result.remarks.join("\n");
    assert!(
        remarks.contains("1 of its 3 slots had not begun") && remarks.contains("130 s of the load"),
        "{remarks}"
    );
}

#[test]
fn failures_that_were_written_down_by_longer_intervals_are_in_no_second() {
    let directory = tempfile::tempdir().unwrap();
    let (run, stage) = killed(directory.path(), 5);
    let result = judge_cut(&run, &stage, 0).remove(0);
    let slot = &result.slots[0];
    assert_eq!((slot.void.as_ref(), slot.lost_operations), (None, Some(800.0)));
    assert_eq!(
        (slot.first_error_after_s, slot.failed_operations, slot.beyond_limit_s),
        (None, None, None),
        "{slot:?}"
    );
    assert!(slot.errors.is_empty(), "{slot:?}");
    for figure in ["first_error_after_s", "failed_operations", "beyond_limit_s"] {
        assert!(slot.unknown[figure].contains("known by 5 s only"), "{figure}: {slot:?}");
    }
}

#[test]
fn what_is_missing_in_the_log_of_times_is_no_dip_and_its_slot_is_void() {
    let directory = tempfile::tempdir().unwrap();
    let (run, stage) = killed(directory.path(), 1);
    let log = run.path.join("histograms.hlog");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&log, lines[..lines.len() / 2].join("\n") + "\n").unwrap();
    let result = judge_cut(&run, &stage, 0).remove(0);
    let slot = &result.slots[0];
    assert!(slot.void.as_ref().is_some_and(|why| why.contains("is not on disk")), "{slot:?}");
    assert_eq!(slot.lost_operations, None);
}

#[test]
fn a_slot_in_which_a_driver_was_away_is_void_also_when_its_run_was_killed() {
    for (text, is_void) in [
        ("driver d1 made no load for 3.0 s: it stood still", true),
        ("driver d1 is lost: nothing was heard of it for 15 s", true),
        ("driver d1 is back", false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (mut run, stage) = killed(directory.path(), 1);
        let at = began() + Duration::from_secs(100);
        let id = run.record.stages[0].id.clone();
        run.record.events.push(EventRecord::new(at, EventKind::Driver, Some(id), text));
        let result = judge_cut(&run, &stage, 0).remove(0);
        assert_eq!(result.slots[0].void.is_some(), is_void, "{text}: {:?}", result.slots[0]);
    }
}

#[test]
fn what_says_nothing_of_a_proof_or_of_healing_is_void() {
    for says_no_proof in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (mut run, stage) = killed(directory.path(), 1);
        let slot = &mut run.record.stages[0].faults[0].slots[0];
        if says_no_proof {
            slot.landed_s = None;
        } else {
            slot.healed_s = None;
        }
        let result = judge_cut(&run, &stage, 0).remove(0);
        let slot = &result.slots[0];
        assert!(slot.void.as_ref().is_some_and(|why| why.starts_with("nothing on disk says")), "{slot:?}");
    }
}
