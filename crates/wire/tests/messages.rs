//! Messages come back as they were sent, to the last count; what is too large is cut without a loss.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::path::Path;

use cosmark_metrics::{
    ClientFacts, ConsistencySums, HealthSample, Latency, LookClass, LookFrom, MachineHealth, NicHealth,
    OpSnapshot, Outcome, Phase, ProbeKind, ProbeOperation, Sample, SlicePlan, Snapshot, ThreadHealth,
    WireTimes,
};
use cosmark_wire::message::{
    Control, Event, Order, Registration, ShareMessage, StageMessage, decode, encode,
};
use cosmark_wire::{
    Began, ClockFix, ContainersBefore, DriverEvent, Failure, FailureClass, FailureExample, Launched,
    MissionReport, ProbeShare, TriggerOrder, TriggerReport, split, stage_from_text, stage_to_text,
};
use cosmark_workload::{Environment, Format, parse};
use proptest::prelude::*;

fn sample() -> impl Strategy<Value = Sample> {
    let times = (any::<u32>(), any::<u32>(), any::<u32>(), 0u64..1 << 50);
    let names = (any::<u64>(), any::<u64>(), 0u16..4, 0u32..2000);
    let sizes = (prop::sample::select(vec![0u64, 100, 5000, 1 << 20, 1 << 33]), any::<u16>(), 0u16..4);
    let kinds = (0u16..6, 0u32..3, 0u32..3, any::<bool>());
    (times, names, sizes, kinds).prop_map(|(times, names, sizes, kinds)| {
        let sent_ns = times.3 + u64::from(times.0);
        Sample {
            op: names.2,
            worker: names.3,
            container: names.0,
            object: names.1,
            due_ns: times.3,
            sent_ns,
            first_byte_ns: if kinds.0 == 3 { 0 } else { sent_ns + u64::from(times.1) / 2 },
            end_ns: sent_ns + u64::from(times.1),
            connect_ns: u64::from(times.2),
            tls_ns: 0,
            request_sent_ns: 0,
            stands_for: 0,
            bytes: sizes.0,
            asked_bytes: sizes.0,
            version: 0xfff0_0001,
            endpoint: sizes.2,
            status: sizes.1,
            outcome: match kinds.0 {
                0 => Outcome::failed("http_503"),
                1 => Outcome::failed("timeout"),
                _ => Outcome::OK,
            },
            requests: kinds.1,
            retries: kinds.2,
            connections: kinds.2,
            accepted_only: kinds.3,
            wire: if kinds.1 == 0 {
                WireTimes::default()
            } else {
                WireTimes {
                    sent_ns: sent_ns.wrapping_sub(u64::from(times.2) % 7),
                    first_byte_ns: sent_ns + 5,
                    end_ns: sent_ns + u64::from(times.1),
                    spent_ns: u64::from(times.2),
                    weight: kinds.1,
                }
            },
        }
    })
}

fn sums(samples: &[Sample]) -> OpSnapshot {
    let mut op = OpSnapshot { in_flight_ns: u128::MAX / 3, missed: 3, ..OpSnapshot::default() };
    samples.iter().for_each(|sample| op.add(sample, true));
    samples.iter().for_each(|sample| op.lag.record(sample.connect_ns));
    op.add_code("SlowDown");
    op
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let ops = prop::collection::vec(prop::collection::vec(sample(), 0..12), 1..5);
    let phase = prop::sample::select(vec![Phase::Rampup, Phase::Window, Phase::Rampdown, Phase::Drain]);
    (ops, phase, any::<u16>(), any::<u32>()).prop_map(|(ops, phase, work, start)| Snapshot {
        work,
        phase,
        start_ns: u64::from(start),
        end_ns: u64::from(start) + 1_000_000_000,
        ops: ops.iter().map(|samples| sums(samples)).collect(),
    })
}

fn came_back(event: DriverEvent) -> DriverEvent {
    let event = Event { step: 7, seq: u64::MAX, event };
    let back: Event = decode(&encode(&event).unwrap()).unwrap();
    assert_eq!(back, event);
    back.event
}

proptest! {
    // Each case has some dozens of histograms.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_snapshot_comes_back_exactly_and_merges_as_the_original(one in snapshot(), two in snapshot()) {
        let DriverEvent::Snapshot(back) = came_back(DriverEvent::Snapshot(one.clone())) else { panic!() };
        let (mut merged, mut expected) = (back, one);
        merged.merge(&two);
        expected.merge(&two);
        prop_assert_eq!(merged, expected);
    }

    #[test]
    fn samples_come_back_exactly(samples in prop::collection::vec(sample(), 0..60)) {
        came_back(DriverEvent::Samples { work: 2, samples });
    }

    #[test]
    fn the_parts_of_a_snapshot_that_was_cut_are_the_whole(one in snapshot()) {
        let mut parts = vec![DriverEvent::Snapshot(one.clone())];
        for _ in 0..3 {
            parts = parts
                .into_iter()
                .flat_map(|part| match split(&part) {
                    Some((left, right)) => vec![left, right],
                    None => vec![part],
                })
                .collect();
        }
        let mut sum = Snapshot { ops: vec![OpSnapshot::default(); one.ops.len()], ..one.clone() };
        for part in parts {
            let DriverEvent::Snapshot(part) = part else { panic!() };
            sum.merge(&part);
        }
        prop_assert_eq!(sum, one);
    }

    #[test]
    fn damaged_messages_are_errors_and_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..400), one in snapshot()) {
        let _ = decode::<Event>(&bytes);
        let _ = decode::<Order>(&bytes);
        let mut real = encode(&Event { step: 0, seq: 0, event: DriverEvent::Snapshot(one) }).unwrap();
        for (at, byte) in bytes.drain(..).enumerate() {
            let place = at * 7919 % real.len();
            real[place] = byte;
        }
        let _ = decode::<Event>(&real);
    }
}

#[test]
fn every_kind_of_event_order_and_decision_comes_back() {
    let plan =
        SlicePlan { start_ns: 1, window_start_ns: 2, window_end_ns: 3, stop_ns: u64::MAX, slice_ns: 5 };
    let failure = Failure { work: "w".into(), class: FailureClass::Restarted, text: "why".into() };
    let mut pause = Latency::default();
    pause.record(1_000_000);
    let health = HealthSample {
        at_ns: 9,
        span_ns: 8,
        threads: vec![ThreadHealth { name: "load-0".into(), cpu_ns: 7, run_queue_wait_ns: None }],
        machine: Some(MachineHealth { cpus: 2, busy_ns: 3, steal_ns: Some(1) }),
        pause,
        nics: vec![NicHealth { name: "lo".into(), rx_bytes: 1, tx_bytes: 2, speed_bits_per_s: None }],
        ..HealthSample::default()
    };
    let example = FailureExample { op: 1, label: "timeout".into(), text: "slow".into() };
    let report = MissionReport {
        work: 1,
        workers: 3,
        window_s: 0.1,
        endpoints: vec!["http://a".into()],
        examples: vec![example],
        began: Some(Began { first_ns: 1, last_ns: 2 }),
    };
    let clock = ClockFix { wall_offset_ns: -5, error_ns: 6 };
    let mut probed = ConsistencySums { changes: 3, left: vec!["c/o".into()], ..ConsistencySums::default() };
    probed.look(LookClass::ListAfterDelete, LookFrom::OtherEndpoint, 12_345, true);
    probed.change(LookClass::ListAfterDelete, 12_345, Some(12_345));
    let probe = ProbeOperation {
        key: ProbeOperation::shared_key(2, 3),
        process: 1,
        kind: ProbeKind::Read,
        call_ns: 5,
        return_ns: 6,
        value: u64::MAX,
        is_done: true,
    };
    for event in [
        DriverEvent::Authed,
        DriverEvent::Probed,
        DriverEvent::Launched(Launched {
            start_ns: 1,
            origin_ns: 1,
            origin_unix_ns: -1,
            clock: Some(clock),
            plans: vec![(3, plan)],
            endpoints: vec![(3, vec!["http://a".into(), "http://b".into()])],
            containers: ContainersBefore { missing: vec!["c-1".into()], there: vec!["c-2".into()] },
        }),
        DriverEvent::Facts(ClientFacts { load_threads: 3, ..ClientFacts::default() }),
        DriverEvent::Health(health),
        DriverEvent::Told { up_to_ns: 3 },
        DriverEvent::SamplesLost { count: 1 },
        DriverEvent::Consistency(probed),
        DriverEvent::Probes { operations: vec![probe], missed: 4 },
        DriverEvent::Refused(failure.clone()),
        DriverEvent::Ended { missions: vec![report], gave_up: Some(failure) },
        DriverEvent::Triggered(TriggerReport { output: "o".into(), error: None }),
        DriverEvent::Lost { silent_ms: 20_000, late: None },
        DriverEvent::Lost { silent_ms: 60_000, late: Some("has not begun".into()) },
        DriverEvent::Paused { from_ns: 1, to_ns: 2, why: cosmark_wire::PauseReason::StoodStill },
    ] {
        came_back(event);
    }
    let stage = StageMessage {
        step: 1,
        stage_index: 2,
        stage: "name: s".into(),
        shares: vec![ShareMessage { work: 0, driver: 1, first_worker: 2, workers: 3 }],
        seed: u64::MAX,
        log_operations: true,
        drain_ms: Some(5),
        lengths: vec![(0, 1, 2, u64::MAX)],
        listings: vec![(0, 2, u64::MAX, 60_000)],
        probes: Some(ProbeShare { tag: u64::MAX, number: 1, of: 3 }),
    };
    let trigger = TriggerOrder { script: "s.sh".into(), args: vec!["a b".into()] };
    for order in [
        Order::Stage(stage),
        Order::Go { step: 1, start_ns: 2, unix_ns: 3, clock },
        Order::Finish { step: 1 },
        Order::Abort { step: 1 },
        Order::Trigger { step: 1, trigger },
        Order::Forget,
    ] {
        assert_eq!(decode::<Order>(&encode(&order).unwrap()).unwrap(), order);
    }
    for control in [
        Control::Drivers { part: 1, drivers: Vec::new() },
        Control::Started { unix_ns: 1, workload: "h".into(), drivers: Vec::new() },
        Control::Cancelled { step: 1, abort: true },
        Control::Lost { driver: "d".into(), step: 1, silent_ms: 2, late: None },
        Control::Absent { driver: "d".into(), step: 1 },
        Control::Ended,
    ] {
        assert_eq!(decode::<Control>(&encode(&control).unwrap()).unwrap(), control);
    }
}

#[test]
fn fields_of_a_later_version_are_ignored_and_missing_ones_are_filled_in() {
    #[derive(serde::Serialize)]
    struct Later {
        name: &'static str,
        message_version: u32,
        version: &'static str,
        public_key: [u8; 32],
        life: u64,
        colour: &'static str,
    }
    let later =
        Later { name: "d", message_version: 9, version: "3.0", public_key: [7; 32], life: 1, colour: "red" };
    let read: Registration = decode(&encode(&later).unwrap()).unwrap();
    assert_eq!((read.name.as_str(), read.message_version, read.runs.len()), ("d", 9, 0));
}

#[test]
fn a_distribution_with_other_bounds_is_refused_before_it_is_unpacked() {
    let mut times = Latency::default();
    times.record(5);
    let mut bytes = encode(&times).unwrap();
    assert!(decode::<Latency>(&bytes).is_ok());
    // Behind two bytes of MessagePack, the sum, and three numbers: the digits of precision. 5 would ask for a histogram of
    // many megabytes.
    let digits = 2 + 16 + 12;
    assert_eq!(bytes[digits..digits + 4], 3_u32.to_be_bytes());
    bytes[digits + 3] = 5;
    let error = decode::<Latency>(&bytes).unwrap_err().to_string();
    assert!(error.contains("other bounds"), "{error}");
}

#[test]
fn every_stage_of_the_library_is_the_same_on_the_driver() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let mut seen = 0;
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            if !path.extension().is_some_and(|end| end == "xml" || end == "yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let format = Format::detect(&path.to_string_lossy(), &text);
            let (Some(workload), _) = parse(&text, format, &Environment::default()) else { continue };
            for stage in workload.stages.iter().filter(|stage| !stage.works.is_empty()) {
                let mut expected = stage.clone();
                (expected.trigger, expected.search) = (None, None);
                // Who makes faults is not a driver.
                expected.faults.clear();
                (expected.thresholds, expected.closure_delay) = (Vec::new(), std::time::Duration::ZERO);
                let sent = stage_to_text(stage);
                assert_eq!(stage_from_text(&sent).unwrap(), expected, "{path:?}\n{sent}");
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} stages");
    let text = "name: x\nstages:\n- name: y\n  works:\n  - {name: z, workers: 3, total_ops: 1, wrokers: 3}\n";
    let error = stage_from_text(text).unwrap_err();
    assert!(error.contains("does not understand") && error.contains("version"), "{error}");
}

#[test]
fn a_report_of_a_driver_that_does_not_tell_when_it_began_is_read() {
    #[derive(serde::Serialize)]
    struct Older {
        work: usize,
        workers: u32,
        window_s: f64,
        endpoints: Vec<String>,
        examples: Vec<FailureExample>,
        strange: bool,
    }
    let older =
        Older { work: 1, workers: 2, window_s: 3.0, endpoints: vec![], examples: vec![], strange: true };
    let report: MissionReport = decode(&encode(&older).unwrap()).unwrap();
    assert_eq!((report.work, report.began), (1, None));
}
