//! Disks that do so many requests a second and no more: the low loads show nothing of it, and their queues do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use cosmark_capacity::bottleneck::{Answer, Confidence, diagnose};
use cosmark_capacity::ladder::{Kind, Ladder, Step, Unit, Usage, Waiting};
use cosmark_capacity::sentence::say;

/// A unit: its machine, its kind and name, how busy it is at a rate and a load, and what waits for it there.
type Seen = (&'static str, Kind, &'static str, fn(f64) -> f64, fn(f64) -> Option<f64>);

const MOST: f64 = 1000.0;
/// Of these 0.3 ms with the disk.
const ALONE_S: f64 = 0.0043;
/// More than these wait.
const KNEE: f64 = 4.0;

/// Workers that wait for a store which does [`MOST`] operations a second. What waits is given by the number of workers.
fn ladder(units: &[Seen]) -> Ladder {
    let step = |workers: f64| {
        let throughput_per_s = MOST.min(workers / ALONE_S);
        let usage = units.iter().map(|(.., busy, waiting)| Usage {
            busy: Some(busy(throughput_per_s)),
            waiting: waiting(workers).map(Waiting::Queue),
            ..Usage::default()
        });
        Step {
            throughput_per_s,
            in_flight: workers,
            service_s: workers / throughput_per_s,
            client_clear: true,
            usage: usage.collect(),
            ..Step::default()
        }
    };
    let steps = [1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(step).into();
    let unit =
        |one: &Seen| Unit { node: one.0.into(), role: "storage".into(), kind: one.1, name: one.2.into() };
    Ladder { units: units.iter().map(unit).collect(), idle: vec![Some(0.0); units.len()], steps }
}

/// 0.3 ms of a disk for each operation, until it does no more.
fn limited(rate: f64) -> f64 {
    if rate < MOST { rate * 0.3e-3 } else { 1.0 }
}

/// All that is there waits for it, but for what is elsewhere.
fn all(workers: f64) -> Option<f64> {
    Some(if workers > KNEE { workers - KNEE } else { workers * 0.07 })
}

fn third(workers: f64) -> Option<f64> {
    all(workers).map(|many| many / 3.0)
}

fn named(units: &[Seen]) -> Vec<usize> {
    match diagnose(&ladder(units)).answer {
        Answer::Named { units, .. } => units,
        answer => {
            assert_eq!(answer, Answer::Unexplained);
            Vec::new()
        }
    }
}

const VOLUME: Seen = ("s1", Kind::Disk, "vdb", limited, all);

#[test]
fn a_disk_that_does_so_many_requests_a_second_and_no_more_is_named_by_its_queue() {
    let processors: Seen = ("s1", Kind::Machine, "cpu", |rate| rate * 0.4e-3, |_| Some(0.1));
    let ladder = ladder(&[VOLUME, processors]);
    let found = diagnose(&ladder);
    let Answer::Named { units, confidence } = &found.answer else { panic!("{found:?}") };
    assert_eq!((units.as_slice(), *confidence), ([0].as_slice(), Confidence::Medium));
    let one = found.candidates.iter().find(|one| one.unit == 0).unwrap();
    assert!((one.ceiling_per_s() - MOST).abs() < 1.0 && one.forecast_per_s().is_none(), "{one:?}");
    let said = say(&ladder, &found);
    let (text, refute) = (said.text, said.refute.unwrap());
    assert!(text.contains("(100 % busy; 1000/s observed; its queue takes up all"), "{text}");
    assert!(text.contains("a straight line says 3333/s"), "{text}");
    assert!(refute.contains("twice the disks: if throughput does not rise to about 2000/s"), "{refute}");
}

#[test]
fn a_disk_is_not_named_by_a_queue_that_takes_up_a_part_or_beside_another_that_is_full() {
    assert_eq!(named(&[VOLUME]), [0]);
    let level: Seen = ("s1", Kind::Disk, "vdb", limited, |workers| Some(5.0_f64.min(workers * 0.7)));
    assert_eq!(named(&[level]), [0; 0]);
    // Four of ten wait here, the others nobody knows where.
    let part: Seen = ("s1", Kind::Disk, "vdb", limited, |workers| all(workers).map(|many| many * 0.4));
    assert_eq!(named(&[part]), [0; 0]);
    // Processors that are nearly full, or a quota of another machine that is.
    let full = |rate: f64| if rate < MOST { rate * 0.5e-3 } else { 0.95 };
    for (node, kind) in [("s1", Kind::Machine), ("p1", Kind::CpuQuota)] {
        let other: Seen = (node, kind, "other", full, |_| None);
        assert_eq!(named(&[VOLUME, other]), [0; 0], "{kind:?}");
    }
    // One that others fill.
    let filled: Seen = ("s1", Kind::Disk, "vdb", |_| 1.0, all);
    let mut anyway = ladder(&[filled]);
    anyway.idle[0] = Some(0.99);
    assert!(!matches!(diagnose(&anyway).answer, Answer::Named { .. }));
}

#[test]
fn disks_that_share_what_is_added_are_named_together_and_what_lies_on_them_is_not() {
    let disk = |name: &'static str| -> Seen { ("s1", Kind::Disk, name, limited, third) };
    assert_eq!(named(&[disk("vdb"), disk("vdc"), disk("vdd")]).len(), 3);
    let on_it: Seen = ("s1", Kind::Disk, "loop0", limited, all);
    assert_eq!(named(&[on_it, VOLUME]), [1]);
    assert_eq!(named(&[on_it]), [0]);
}

/// As a test bed has it whose disk is made slow below the images of its devices.
#[test]
fn a_loop_whose_disk_is_limited_waits_for_the_limit_and_does_not_hide_it() {
    let limit: Seen = ("s1", Kind::IoLimit, "/ 7:0 writes", |rate| rate / MOST, |_| None);
    let shares: [fn(f64) -> f64; 2] = [limited, |rate| rate / MOST];
    for busy in shares {
        for (node, name, expected) in
            [("s1", "loop4", 1), ("s1", "dm-0", 1), ("s1", "vdb", 0), ("s2", "loop4", 0)]
        {
            let disk: Seen = (node, Kind::Disk, name, busy, all);
            let found = diagnose(&ladder(&[disk, limit]));
            let is_named = matches!(&found.answer, Answer::Named { units, .. } if units == &[1]);
            assert_eq!(is_named, expected == 1, "{node} {name}: {found:?}");
        }
    }
}
