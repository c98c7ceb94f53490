//! Ladders that are known to the last digit: of limits that are no resource, and of loads that come by the clock.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cosmark_capacity::bottleneck::{Answer, Confidence, diagnose};
use cosmark_capacity::ladder::{Kind, Ladder, Step, Unit, Usage, Waiting};
use cosmark_capacity::sentence::say;

/// One disk, that does so many operations a second.
fn with_disk(steps: Vec<Step>, most_per_s: f64) -> Ladder {
    let busy = |step: Step| {
        let busy = Some((step.throughput_per_s / most_per_s).min(1.0));
        let usage = Usage { busy, waiting: Some(Waiting::Queue(step.in_flight)), ..Usage::default() };
        Step { usage: vec![usage], ..step }
    };
    let disk = Unit { node: "s1".into(), role: "storage".into(), kind: Kind::Disk, name: "sda".into() };
    Ladder { units: vec![disk], idle: vec![Some(0.0)], steps: steps.into_iter().map(busy).collect() }
}

/// Workers that wait for answers, of a store that serves no more than so many a second.
fn closed(most_per_s: f64, alone_s: f64, bytes_each: f64) -> Ladder {
    let step = |workers: f64| {
        let throughput_per_s = most_per_s.min(workers / alone_s);
        let service_s = workers / throughput_per_s;
        Step {
            throughput_per_s,
            in_flight: workers,
            service_s,
            client_clear: true,
            bytes_each,
            ..Step::default()
        }
    };
    with_disk([1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(step).into(), most_per_s * 4.0)
}

fn text(ladder: &Ladder) -> String {
    say(ladder, &diagnose(ladder)).text
}

#[test]
fn what_has_time_left_at_the_plateau_is_cleared_without_a_load_below_it() {
    // All loads but one lie above 60 % of the plateau, of which the disk could do more.
    let of_disk = |most_per_s: f64| {
        let steps = [4.0, 8.0, 16.0, 32.0, 64.0].map(|workers| Step {
            throughput_per_s: 250.0,
            in_flight: workers,
            service_s: workers / 250.0,
            client_clear: true,
            ..Step::default()
        });
        with_disk(steps.into(), most_per_s)
    };
    let (spared, full) = (of_disk(310.0), of_disk(250.0));
    assert_eq!(diagnose(&spared).answer, Answer::Unexplained);
    let said = text(&spared);
    assert!(said.contains("explains the plateau of 250/s (none was busier than 81 %)"), "{said}");
    assert_eq!(diagnose(&full).answer, Answer::TooFewSteps);
}

#[test]
fn only_a_whole_number_of_operations_inside_is_called_a_limit_of_workers() {
    // Four workers of 5 ms each, and one lock that is held throughout.
    for (most, words) in [(800.0, "about 4.0 operations are let in at once"), (200.0, "one lock")] {
        let ladder = closed(most, 0.005, 0.0);
        assert!(matches!(diagnose(&ladder).answer, Answer::Limit(_)), "{most}");
        let said = text(&ladder);
        assert!(said.contains(words) && said.contains("limit of workers"), "{said}");
    }
    // A limit of the rate, a link of 40 Mbit/s that an operation of 64 KiB keeps for 13.1 of its 18.1 ms, and a lock that is held
    // for 2 of 5 ms.
    for (most, alone_s, bytes, words) in [
        (300.0, 0.005_25, 0.0, "limit of the rate or a link (300/s)"),
        (5e6 / 65_536.0, 0.005 + 65_536.0 / 5e6, 65_536.0, "limit of the rate or a link (76.3/s, 5 MB/s)"),
        (500.0, 0.005, 0.0, "2.50 operations are inside at once"),
    ] {
        let said = text(&closed(most, alone_s, bytes));
        assert!(said.contains(words) && said.contains("a lock"), "{said}");
        assert!(said.contains("no number of workers") && !said.contains("let in at once"), "{said}");
    }
}

#[test]
fn a_unit_that_was_busy_at_one_level_load_does_not_hide_a_limit_that_is_no_resource() {
    // A lock, and a disk that somebody else uses at one of the last three loads, or at two.
    let with = |loads: &[usize]| {
        let mut ladder = closed(500.0, 0.005, 0.0);
        loads.iter().for_each(|load| ladder.steps[*load].usage[0].busy = Some(0.95));
        diagnose(&ladder).answer
    };
    assert!(matches!(with(&[6]), Answer::Limit(about) if (about - 2.5).abs() < 1e-9), "{:?}", with(&[6]));
    assert_eq!(with(&[6, 7]), Answer::Unexplained);
}

#[test]
fn a_store_that_does_less_beyond_its_peak_is_limited_by_what_was_full_there() {
    // A disk that does 1000/s, and beyond 32 workers ever less: it is full all the same, with retries and seeks. A cache may
    // have answered the first step, or may not.
    let rates = [100.0, 200.0, 300.0, 400.0, 800.0, 1000.0, 1000.0, 990.0, 980.0, 550.0, 300.0];
    for (steps, first) in [(9, 100.0), (10, 100.0), (11, 100.0), (11, 1100.0)] {
        let step = |(at, rate): (usize, &f64)| {
            let rate = if at == 0 { &first } else { rate };
            let in_flight = [1.0, 2.0, 3.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0][at];
            let mut step = Step {
                throughput_per_s: *rate,
                in_flight,
                service_s: in_flight / rate,
                client_clear: true,
                ..Step::default()
            };
            let busy = if in_flight < 12.0 { rate / 1000.0 } else { 1.0 };
            let waiting = Some(Waiting::Queue((in_flight - 9.0).max(0.1)));
            step.usage = vec![Usage { busy: Some(busy), waiting, ..Usage::default() }];
            step
        };
        let mut ladder = with_disk(Vec::new(), 1.0);
        ladder.steps = rates.iter().enumerate().take(steps).map(step).collect();
        let found = diagnose(&ladder);
        assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{steps}: {found:#?}");
        let ceiling = found.candidates[0].ceiling_per_s();
        assert!((ceiling / 1000.0 - 1.0).abs() < 0.01, "{steps}: {ceiling}");
    }
}

/// Operations that come by the clock, for each of which one of `workers` has to be free.
fn open(rates: &[f64], workers: f64, most_per_s: f64, alone_s: f64) -> Vec<Step> {
    let step = |rate: &f64| {
        let most = most_per_s.min(workers / alone_s);
        let throughput_per_s = rate.min(most);
        let in_flight = if *rate < most { rate * alone_s } else { workers };
        Step {
            throughput_per_s,
            in_flight,
            service_s: in_flight / throughput_per_s,
            client_clear: true,
            offered_per_s: Some(*rate),
            ..Step::default()
        }
    };
    rates.iter().map(step).collect()
}

#[test]
fn a_rate_far_beyond_what_is_served_is_more_load_although_no_more_is_under_way() {
    let rates = [50.0, 100.0, 200.0, 400.0, 800.0, 1600.0];
    // The disk is the limit, or something that nobody looks at, which holds an operation 12 times as long as alone.
    let found = diagnose(&with_disk(open(&rates, 64.0, 500.0, 0.01), 500.0));
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    let found = diagnose(&with_disk(open(&rates, 64.0, 500.0, 0.01), 2500.0));
    assert!(matches!(found.answer, Answer::Limit(about) if (about - 5.0).abs() < 1e-9), "{found:?}");
}

#[test]
fn two_rates_just_beyond_what_is_served_show_the_limit_where_operations_take_ten_times_as_long() {
    // Even steps to 200/s, of a store that serves 170/s: 180/s and 200/s are due at the last two.
    let rates: Vec<f64> = (1..=10_u8).map(|at| f64::from(at) * 20.0).collect();
    let full = with_disk(open(&rates, 64.0, 170.0, 0.01), 170.0);
    let found = diagnose(&full);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert_eq!(found.plateau_per_s, Some(170.0));
    // Something that nobody looks at.
    let found = diagnose(&with_disk(open(&rates, 64.0, 170.0, 0.01), 680.0));
    assert!(matches!(found.answer, Answer::Limit(about) if (about - 1.7).abs() < 1e-9), "{found:?}");
    // Workers that hold an operation for less than that may be what there are too few of, and a rate that is served is no limit.
    for (workers, most) in [(8.0, 170.0), (64.0, 1000.0)] {
        let found = diagnose(&with_disk(open(&rates, workers, most, 0.01), most));
        assert!(matches!(found.answer, Answer::NotReached(_)), "{workers} {most}: {found:?}");
    }
}

#[test]
fn workers_that_are_all_in_use_are_no_limit_of_the_store_and_are_said_to_be() {
    let rates = [50.0, 100.0, 200.0, 300.0, 800.0, 1600.0];
    for most in [500.0, 2500.0] {
        // Four workers of 10 ms each.
        let ladder = with_disk(open(&rates, 4.0, 2500.0, 0.01), most);
        assert!(matches!(diagnose(&ladder).answer, Answer::NotReached(_)), "{:?}", diagnose(&ladder));
        let said = text(&ladder);
        assert!(said.contains("stayed at 400/s of the 1600/s that were due"), "{said}");
        assert!(said.contains("allow more of them (workers:)"), "{said}");
    }
}

#[test]
fn one_rate_beyond_what_is_served_is_too_few_and_not_nothing() {
    let ladder = with_disk(open(&[100.0, 200.0, 400.0, 800.0], 64.0, 500.0, 0.01), 500.0);
    assert!(matches!(diagnose(&ladder).answer, Answer::NotReached(grew) if (grew - 0.25).abs() < 1e-9));
    let said = text(&ladder);
    assert!(said.contains("served 500/s of the 800/s that were due: something limits it there"), "{said}");
    assert!(!said.contains("nothing limits the store yet"), "{said}");
    // Workers that wait for answers, too few of them.
    let steps = [1.0, 2.0, 4.0].map(|workers| Step {
        throughput_per_s: workers * 100.0,
        in_flight: workers,
        service_s: 0.01,
        client_clear: true,
        ..Step::default()
    });
    assert!(text(&with_disk(steps.into(), 5000.0)).contains("nothing limits the store yet"));
}

#[test]
fn a_limit_that_is_used_up_while_throughput_grows_is_said_to_be() {
    // A group may write 300 times a second, and the more operations wait the more of them a write carries.
    let steps =
        [(2.0, 5.0), (4.0, 8.0), (8.0, 14.0), (16.0, 20.0), (32.0, 29.0)].map(|(workers, rate)| Step {
            throughput_per_s: rate,
            in_flight: workers,
            service_s: workers / rate,
            client_clear: true,
            usage: vec![Usage { busy: Some(1.0), ..Usage::default() }],
            ..Step::default()
        });
    let unit =
        Unit { node: "s1".into(), role: "osd".into(), kind: Kind::IoLimit, name: "osds 8:0 writes".into() };
    let mut ladder = Ladder { units: vec![unit], idle: vec![Some(0.0)], steps: steps.into() };
    let said = text(&ladder);
    assert!(said.contains("still grew by 45 %") && said.contains("osds 8:0 writes"), "{said}");
    assert!(said.contains("had nothing left there") && !said.contains("nothing limits"), "{said}");
    for step in &mut ladder.steps {
        step.usage[0].busy = Some(0.8);
    }
    assert!(text(&ladder).contains("nothing limits the store yet"));
}

/// A group that may write 300 times a second, and that at loads which double writes `more` times as many operations with each: how
/// busy the limit is without load, at the lowest load and at the others, and the processor beside it.
fn of_shared_writes(more: f64, limit: [f64; 3], processor: f64) -> Ladder {
    let loads = [0.5, 1.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let step = |(at, workers): (usize, &f64)| {
        let rate = [6.0, 12.0].get(at).copied().unwrap_or_else(|| 24.0 * more.powf((workers / 4.0).log2()));
        let busy = if at < 2 { limit[1] * [0.5, 1.0][at] } else { limit[2] };
        Step {
            throughput_per_s: rate,
            in_flight: *workers,
            service_s: workers / rate,
            client_clear: true,
            usage: vec![
                Usage { busy: Some(busy), waiting: Some(Waiting::Share(busy.powi(3))), ..Usage::default() },
                Usage { busy: Some(processor), waiting: Some(Waiting::Queue(0.0)), ..Usage::default() },
            ],
            ..Step::default()
        }
    };
    let unit = |kind, name: &str| Unit { node: "s1".into(), role: "osd".into(), kind, name: name.into() };
    let units = vec![unit(Kind::IoLimit, "osds 8:0 writes"), unit(Kind::Core, "cpu0")];
    let idle = vec![Some(limit[0]), Some(0.01)];
    Ladder { units, idle, steps: loads.iter().enumerate().map(step).collect() }
}

#[test]
fn a_limit_that_ever_more_operations_share_is_named_though_throughput_grows_with_each_load() {
    for more in [1.08, 1.15, 1.3] {
        let ladder = of_shared_writes(more, [0.01, 0.6, 1.0], 0.3);
        let found = diagnose(&ladder);
        let Answer::Named { units, confidence } = &found.answer else { panic!("{more}: {found:?}") };
        assert_eq!((units.as_slice(), *confidence), ([0].as_slice(), Confidence::Medium), "{found:?}");
        let best = ladder.steps.last().unwrap().throughput_per_s;
        assert_eq!((ladder.plateau(), found.plateau_per_s), (None, Some(best)), "{more}");
        let said = text(&ladder);
        assert!(said.contains("osds 8:0 writes") && said.contains("still grew by"), "{said}");
        assert!(said.contains("had nothing left since half of that load"), "{said}");
    }
    // It is so without load; it has time left; a processor is as full; throughput grows nearly as the load does; operations fail.
    let failing = {
        let mut ladder = of_shared_writes(1.15, [0.01, 0.6, 1.0], 0.3);
        ladder.steps[5].failed_share = 0.2;
        ladder
    };
    for ladder in [
        of_shared_writes(1.15, [0.7, 0.9, 1.0], 0.3),
        of_shared_writes(1.15, [0.01, 0.6, 0.9], 0.3),
        of_shared_writes(1.15, [0.01, 0.6, 1.0], 0.95),
        of_shared_writes(1.6, [0.01, 0.6, 1.0], 0.3),
        failing,
    ] {
        let found = diagnose(&ladder);
        assert!(matches!(found.answer, Answer::NotReached(_)), "{found:?}");
    }
}

/// What `benches/bottleneck --bed ceph` measured of a limit of 300 writes a second: rate and operations under way.
const OF_WRITES: [(f64, f64); 12] = [
    (5.8, 2.0),
    (8.4, 4.0),
    (9.9, 4.6),
    (13.3, 8.0),
    (19.8, 13.7),
    (20.7, 16.0),
    (29.6, 26.7),
    (28.6, 32.0),
    (33.1, 53.7),
    (34.6, 62.9),
    (34.2, 64.0),
    (38.0, 96.0),
];

#[test]
fn what_was_nearly_full_is_nearer_than_what_was_half_idle_and_has_a_ceiling_that_fits() {
    // A limit of which a group uses no more than 0.82, as it waits for one write after the other, and a processor that is nearly as
    // busy.
    let loads = [0.1, 0.2, 0.5, 0.8, 2.0, 4.0, 8.0, 16.0, 32.0];
    let step = |(at, in_flight): (usize, f64)| {
        let throughput_per_s = [3.0, 6.0, 9.0, 12.0].get(at).copied().unwrap_or(27.0);
        let busy = |demand: f64, most: f64| Some((throughput_per_s * demand).min(most));
        Step {
            throughput_per_s,
            in_flight,
            service_s: in_flight / throughput_per_s,
            client_clear: true,
            usage: [busy(0.033, 0.82), busy(0.037, 0.65)]
                .map(|busy| Usage { busy, ..Usage::default() })
                .into(),
            ..Step::default()
        }
    };
    let unit = |kind, name: &str| Unit { node: "s1".into(), role: "disks".into(), kind, name: name.into() };
    let units = vec![unit(Kind::IoLimit, "writes"), unit(Kind::Core, "cpu0")];
    let steps = loads.into_iter().enumerate().map(step).collect();
    let said = text(&Ladder { units, idle: vec![Some(0.0); 2], steps });
    assert!(said.contains("nearest: limit of input and output writes of s1 (disks)"), "{said}");
    assert!(said.contains("only 82 % busy"), "{said}");
}

/// What `benches/bottleneck --bed swift` measured of a limit of 600 writes a second on the object servers: operations under way, rate,
/// and how busy the limit was.
const IN_TURN: [(f64, f64, f64); 14] = [
    (0.04, 2.0, 0.07),
    (0.10, 4.0, 0.13),
    (0.16, 6.0, 0.20),
    (0.18, 8.0, 0.27),
    (0.24, 10.0, 0.33),
    (0.29, 12.0, 0.40),
    (0.32, 15.0, 0.50),
    (2.0, 25.0, 0.83),
    (4.0, 25.8, 0.83),
    (8.0, 26.6, 0.82),
    (12.0, 26.7, 0.83),
    (16.0, 27.1, 0.83),
    (24.0, 27.8, 0.81),
    (32.0, 27.4, 0.84),
];

/// The same with these, and a processor beside it that is as busy at the level loads.
fn of_turns(rows: &[(f64, f64, f64)], processor: f64, waiting: Option<f64>) -> Ladder {
    let step = |&(in_flight, rate, busy): &(f64, f64, f64)| Step {
        throughput_per_s: rate,
        in_flight,
        service_s: in_flight / rate,
        client_clear: true,
        usage: vec![
            Usage { busy: Some(busy), waiting: waiting.map(Waiting::Share), ..Usage::default() },
            Usage { busy: Some(processor * rate / 27.0), ..Usage::default() },
        ],
        ..Step::default()
    };
    let unit = |kind, name: &str| Unit { node: "s1".into(), role: "swift".into(), kind, name: name.into() };
    let units = vec![unit(Kind::IoLimit, "objects 8:0 writes"), unit(Kind::Core, "cpu0")];
    Ladder { units, idle: vec![Some(0.002), Some(0.01)], steps: rows.iter().map(step).collect() }
}

#[test]
fn a_limit_that_waits_in_turn_with_its_device_is_named_where_the_same_part_of_it_is_used_at_all_level_loads()
{
    for (waiting, sure) in [(None, Confidence::Low), (Some(0.7), Confidence::Medium)] {
        let ladder = of_turns(&IN_TURN, 0.4, waiting);
        let found = diagnose(&ladder);
        let Answer::Named { units, confidence } = &found.answer else { panic!("{found:?}") };
        assert_eq!((units.as_slice(), *confidence), ([0].as_slice(), sure), "{found:?}");
        assert_eq!(found.plateau_per_s, ladder.plateau());
        let said = text(&ladder);
        assert!(
            said.contains("83 % busy") && said.contains("waits in turn for it and for its device"),
            "{said}"
        );
        // Of each write 0.83 parts are over in half the time.
        let refute = say(&ladder, &found).refute.unwrap();
        assert!(refute.contains("twice the limit") && refute.contains("about 46."), "{refute}");
    }
    // Another run, in which throughput crept up and only the last three loads count as level.
    let mut crept = IN_TURN;
    for (row, rate) in crept[7..].iter_mut().zip([25.1, 25.4, 26.2, 25.7, 26.6, 27.7, 27.9]) {
        row.1 = rate;
    }
    let found = diagnose(&of_turns(&crept, 0.4, None));
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    // Other shares of other limits.
    for (share, per_s) in [(0.9, 1.0), (0.95, 40.0), (0.85, 200.0)] {
        let rows = IN_TURN.map(|(load, rate, busy)| (load, rate * per_s, busy * share / 0.83));
        let found = diagnose(&of_turns(&rows, 0.4 / per_s, None));
        assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{share}: {found:?}");
    }
}

#[test]
fn a_limit_that_is_used_in_part_is_not_named_where_anything_else_may_be_the_limit() {
    let level = |busy: &dyn Fn(f64) -> f64| {
        IN_TURN.map(|(load, rate, used)| (load, rate, if load >= 2.0 { busy(load) } else { used }))
    };
    // Much of it is left; ever more of it is used; a processor is nearly as busy; nothing waits for it.
    for (what, ladder) in [
        ("left", of_turns(&level(&|_| 0.7), 0.4, None)),
        ("grows", of_turns(&level(&|load| 0.8 + load / 300.0), 0.4, None)),
        ("processor", of_turns(&IN_TURN, 0.66, None)),
        ("nothing waits", of_turns(&IN_TURN, 0.4, Some(0.0))),
        // Whoever waits for a lock tries again and again: an operation costs the limit twice what it costs at low loads.
        ("spins", of_turns(&IN_TURN.map(|(l, r, b)| (l, r, if l < 2.0 { b / 2.0 } else { b })), 0.4, None)),
        // A handful of loads that are hardly more than the first.
        ("short", of_turns(&IN_TURN[..9], 0.4, None)),
        // The same part of it is used at each, and an operation costs it ever less.
        (
            "creeps",
            of_turns(
                &IN_TURN.map(|(l, r, b)| (l, if l < 2.0 { r } else { 20.0 * l.powf(0.12) }, b)),
                0.4,
                None,
            ),
        ),
    ] {
        let found = diagnose(&ladder);
        assert!(!matches!(found.answer, Answer::Named { .. } | Answer::Several(_)), "{what}: {found:?}");
    }
    // It is used so without any load.
    let mut ladder = of_turns(&IN_TURN, 0.4, None);
    ladder.idle[0] = Some(0.6);
    assert!(!matches!(diagnose(&ladder).answer, Answer::Named { .. }));
}

#[test]
fn a_limit_that_is_used_up_at_every_load_and_not_without_is_named() {
    let like = of_shared_writes(1.15, [0.022, 1.0, 1.0], 0.25);
    let of_rows = |rows: &[(f64, f64)], idle: Option<f64>| {
        let step = |(throughput_per_s, in_flight): &(f64, f64)| {
            let service_s = in_flight / throughput_per_s;
            let mut step = like.steps[6].clone();
            step.usage[0].waiting = None;
            Step { throughput_per_s: *throughput_per_s, in_flight: *in_flight, service_s, ..step }
        };
        Ladder { idle: vec![idle, Some(0.1)], steps: rows.iter().map(step).collect(), ..like.clone() }
    };
    let ladder = of_rows(&OF_WRITES, Some(0.022));
    let found = diagnose(&ladder);
    assert!(
        matches!(&found.answer, Answer::Named { units, confidence: Confidence::Low } if units == &[0]),
        "{found:?}"
    );
    let said = text(&ladder);
    assert!(said.contains("25.7 ms where it is full, 85 % less than the 169 ms"), "{said}");
    assert!(said.contains("ceiling 38.0/s by the former") && said.contains("still grew by 11 %"), "{said}");
    // Level from the lowest load on, as where each write is one of the device's.
    let level = OF_WRITES.map(|(_, in_flight)| (33.0, in_flight));
    let found = diagnose(&of_rows(&level, Some(0.022)));
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    // Nobody looked before the first load.
    let found = diagnose(&of_rows(&OF_WRITES, None));
    assert!(!matches!(found.answer, Answer::Named { .. }), "{found:?}");
}

#[test]
fn a_limit_that_is_used_up_behind_the_operations_backs_is_not_named() {
    let of_waiting = |waiting: Option<Waiting>| {
        let mut ladder = of_shared_writes(1.15, [0.01, 0.6, 1.0], 0.3);
        ladder.steps.iter_mut().for_each(|step| step.usage[0].waiting = waiting);
        ladder
    };
    let confidence = |ladder: &Ladder| match diagnose(ladder).answer {
        Answer::Named { units, confidence } => (units == [0]).then_some(confidence),
        _ => None,
    };
    // Pages are written back while nothing waits for them: what makes operations wait is something else.
    let ladder = of_waiting(Some(Waiting::Share(0.01)));
    assert!(matches!(diagnose(&ladder).answer, Answer::NotReached(_)), "{:?}", diagnose(&ladder));
    // As much waits at the lowest load, as journals have it.
    let ladder = of_waiting(Some(Waiting::Share(0.9)));
    assert_eq!(confidence(&ladder), Some(Confidence::Medium), "{:?}", diagnose(&ladder));
    assert!(!text(&ladder).contains("not measured"), "{}", text(&ladder));
    let ladder = of_waiting(None);
    assert_eq!(confidence(&ladder), Some(Confidence::Low), "{:?}", diagnose(&ladder));
    assert!(text(&ladder).contains("whether work waits for it was not measured"), "{}", text(&ladder));
}

#[test]
fn what_was_not_predicted_is_named_only_where_nothing_else_comes_near_it() {
    // A processor that has little time left; limits of two roles, of which nobody knows which comes first.
    let two_roles = {
        let mut ladder = of_shared_writes(1.15, [0.01, 0.6, 1.0], 0.3);
        ladder.units.push(Unit {
            role: "proxy".into(),
            name: "proxies 8:0 writes".into(),
            ..ladder.units[0].clone()
        });
        ladder.idle.push(Some(0.01));
        for step in &mut ladder.steps {
            step.usage.push(step.usage[0]);
        }
        ladder
    };
    let mut one_role = two_roles.clone();
    one_role.units[2].role = "osd".into();
    // A group that looks for work as long as operations are under way, and one that takes several at once.
    let quota = |more: f64| {
        let mut ladder = of_shared_writes(more, [0.01, 0.6, 1.0], 0.3);
        ladder.units[0].kind = Kind::CpuQuota;
        ladder
    };
    for ladder in [of_shared_writes(1.15, [0.01, 0.6, 1.0], 0.8), two_roles, quota(1.3)] {
        let found = diagnose(&ladder);
        assert!(matches!(found.answer, Answer::NotReached(_)), "{found:?}");
    }
    for (ladder, right) in [(one_role, vec![0, 2]), (quota(1.12), vec![0])] {
        let found = diagnose(&ladder);
        assert!(matches!(&found.answer, Answer::Named { units, .. } if *units == right), "{found:?}");
    }
}

#[test]
fn a_limit_that_is_used_up_from_the_lowest_loads_on_is_named_where_nothing_else_is_full() {
    // A group that may write 300 times a second does so at 10/s, and at 37/s, where a write carries more operations.
    let rows = [
        (0.3, 10.0),
        (1.0, 16.0),
        (1.5, 18.0),
        (2.0, 21.0),
        (8.0, 30.0),
        (16.0, 37.0),
        (32.0, 37.5),
        (64.0, 37.0),
    ];
    let with = |idle: f64, processor: f64| {
        let step = |(workers, rate): (f64, f64)| Step {
            throughput_per_s: rate,
            in_flight: workers,
            service_s: workers / rate,
            client_clear: true,
            usage: [if rate > 10.0 { 1.0 } else { 0.96 }, processor]
                .map(|busy| Usage { busy: Some(busy), ..Usage::default() })
                .into(),
            ..Step::default()
        };
        let unit = |kind, name: &str| Unit { node: "s1".into(), role: "osd".into(), kind, name: name.into() };
        let units = vec![unit(Kind::IoLimit, "osds 8:0 writes"), unit(Kind::Core, "cpu0")];
        Ladder { units, idle: vec![Some(idle), Some(0.0)], steps: rows.map(step).into() }
    };
    let ladder = with(0.01, 0.2);
    let found = diagnose(&ladder);
    assert!(
        matches!(&found.answer, Answer::Named { units, confidence: Confidence::Low } if units == &[0]),
        "{found:?}"
    );
    assert_eq!((found.plateau_per_s, found.still_grew), (ladder.plateau(), None), "{found:?}");
    let said = text(&ladder);
    assert!(said.contains("limit of input and output osds 8:0 writes of s1 (osd): most likely"), "{said}");
    // Beside a processor that is as full it is what to look at.
    let beside = with(0.01, 0.95);
    assert_eq!(diagnose(&beside).answer, Answer::Unexplained);
    let said = text(&beside);
    assert!(said.contains("nearest: limit of input and output osds 8:0 writes of s1 (osd)"), "{said}");
    assert!(said.contains("nothing left at any load from 16.0/s on"), "{said}");
    // What is so without load is no sign.
    assert_eq!(diagnose(&with(0.98, 0.2)).answer, Answer::Unexplained);
    assert!(!text(&with(0.98, 0.2)).contains("nothing left"), "{}", text(&with(0.98, 0.2)));
}

#[test]
fn a_quota_that_those_who_wait_for_a_lock_use_up_is_not_named() {
    // By the low loads the quota is full at 1000/s; a lock lets 400/s through, for which the more threads spin the more wait.
    let rows =
        [(1.0, 100.0), (2.0, 200.0), (4.0, 395.0), (8.0, 398.0), (16.0, 400.0), (32.0, 401.0), (64.0, 399.0)];
    let step = |(workers, rate): (f64, f64)| Step {
        throughput_per_s: rate,
        in_flight: workers,
        service_s: workers / rate,
        client_clear: true,
        usage: vec![Usage {
            busy: Some(if workers < 8.0 { rate / 1000.0 } else { 1.0 }),
            waiting: Some(Waiting::Share(if workers < 8.0 { 0.0 } else { 1.0 })),
            ..Usage::default()
        }],
        ..Step::default()
    };
    let unit = Unit { node: "g".into(), role: "gateway".into(), kind: Kind::CpuQuota, name: "quota".into() };
    let ladder = Ladder { units: vec![unit], idle: vec![Some(0.01)], steps: rows.map(step).into() };
    assert_eq!(diagnose(&ladder).answer, Answer::Unexplained, "{}", text(&ladder));
}

#[test]
fn a_client_that_paused_at_a_low_load_is_not_the_limit_of_a_ladder_that_ends_while_throughput_grows() {
    let steps = [1.0, 2.0, 3.0, 4.0].map(|workers| Step {
        throughput_per_s: workers * 100.0,
        in_flight: workers,
        service_s: 0.01,
        client_clear: true,
        ..Step::default()
    });
    let said = |paused: usize| {
        let mut ladder = with_disk(steps.clone().into(), 5000.0);
        ladder.steps[paused].client_clear = false;
        diagnose(&ladder).answer
    };
    for paused in [0, 1] {
        assert!(matches!(said(paused), Answer::NotReached(_)), "{paused}");
    }
    // At either of the two highest loads it may be why no more was done.
    for paused in [2, 3] {
        assert_eq!(said(paused), Answer::Client, "{paused}");
    }
}

/// What `benches/bottleneck --bed ceph` measured of the quota of a gateway: rate, operations under way, share of it that was used,
/// share of its periods in which it stopped the group.
const GATEWAY: &[(f64, f64, f64, f64)] = &[
    (15.0, 0.037, 0.21807, 0.0),
    (30.0, 0.073, 0.42415, 0.0),
    (45.0, 0.105, 0.62871, 0.0),
    (60.0, 0.169, 0.85923, 0.15714),
    (75.0, 0.558, 0.96643, 0.77143),
    (90.75, 1.843, 0.95611, 1.0),
    (80.0, 1.999, 0.91358, 1.0),
    (105.0, 3.011, 0.96214, 1.0),
    (118.75, 3.999, 0.9055, 1.0),
    (128.5, 7.999, 0.96634, 1.0),
    (121.0, 12.0, 0.9706, 1.0),
    (138.0, 16.0, 0.9651, 1.0),
    (134.25, 24.0, 0.97093, 1.0),
    (145.0, 32.0, 0.97332, 1.0),
];

fn gateway(last_per_s: f64) -> Ladder {
    let row =
        |row: &(f64, f64, f64, f64)| if row.1 >= 32.0 { (last_per_s, row.1, row.2, row.3) } else { *row };
    of_gateway(GATEWAY.iter().map(row))
}

fn of_gateway(rows: impl Iterator<Item = (f64, f64, f64, f64)>) -> Ladder {
    let step = |(rate, under_way, busy, stopped): (f64, f64, f64, f64)| {
        let usage = Usage { busy: Some(busy), waiting: Some(Waiting::Share(stopped)), ..Usage::default() };
        Step {
            throughput_per_s: rate,
            in_flight: under_way,
            service_s: under_way / rate,
            client_clear: true,
            usage: vec![usage],
            ..Step::default()
        }
    };
    let unit = Unit { node: "g".into(), role: "gateway".into(), kind: Kind::CpuQuota, name: "quota".into() };
    Ladder { units: vec![unit], idle: vec![Some(0.0171)], steps: rows.map(step).collect() }
}

#[test]
fn throughput_that_creeps_up_under_a_quota_that_stops_its_group_in_every_period_is_level() {
    let found = diagnose(&gateway(145.0));
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert_eq!(found.plateau_per_s, Some(138.0));
    let (value, low, high) = found.candidates[0].forecast_per_s().unwrap();
    assert!(low <= 138.0 && 138.0 <= high && (value / 138.0 - 1.0).abs() < 0.12, "{value} [{low}, {high}]");
    // A fifth more is no chance.
    assert!(matches!(diagnose(&gateway(165.0)).answer, Answer::NotReached(_)));
}

#[test]
fn throughput_that_creeps_up_is_level_also_where_each_load_is_twice_the_one_before() {
    // The loads by the clock and the lowest loops, and three that double: the last comes to 8 % more than the one before.
    let with = |rates: [f64; 3]| {
        let loops =
            [16.0, 32.0, 64.0].into_iter().zip(rates).map(|(workers, rate)| (rate, workers, 0.97, 1.0));
        diagnose(&of_gateway(GATEWAY.iter().take(10).copied().chain(loops)))
    };
    let found = with([134.0, 138.0, 149.0]);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert_eq!(found.plateau_per_s, Some(138.0));
    // More with each load, and much more with the last.
    for rates in [[120.0, 138.0, 149.0], [134.0, 138.0, 160.0]] {
        let found = with(rates);
        assert!(matches!(found.answer, Answer::NotReached(_)), "{found:?}");
    }
}

/// A store of one thread, of which an operation takes 3.2 ms beside 1 ms elsewhere: rates of 12 loads, and from which of them on
/// the thread is full.
fn of_one_thread(rates: [f64; 12], full_from: f64) -> Ladder {
    let loads = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];
    let step = |(in_flight, rate): (f64, f64)| {
        let busy = if in_flight >= full_from { 0.995 } else { (rate * 3.2e-3).min(0.96) };
        let waiting = Some(Waiting::Share(0.001));
        Step {
            throughput_per_s: rate,
            in_flight,
            service_s: in_flight / rate,
            client_clear: true,
            usage: vec![Usage { busy: Some(busy), waiting, ..Usage::default() }],
            ..Step::default()
        }
    };
    let unit =
        Unit { node: "s1".into(), role: "store".into(), kind: Kind::Thread, name: "plain-store/7".into() };
    let steps = loads.into_iter().zip(rates).map(step).collect();
    Ladder { units: vec![unit], idle: vec![Some(0.001)], steps }
}

/// One rate of each ladder, and from which load on the thread is full: the last step is 11 % more than the one before.
const CREEPING: [f64; 12] =
    [90.0, 150.0, 185.0, 260.0, 290.0, 300.0, 305.0, 302.0, 308.0, 304.0, 309.0, 343.0];

#[test]
fn a_thread_that_has_been_full_since_half_of_the_load_is_named_though_the_last_step_came_to_more() {
    let ladder = of_one_thread(CREEPING, 12.0);
    let found = diagnose(&ladder);
    assert_eq!(ladder.plateau(), None, "{found:?}");
    let Answer::Named { units, confidence } = &found.answer else { panic!("{found:?}") };
    assert_eq!((units.as_slice(), *confidence), ([0].as_slice(), Confidence::Medium), "{found:?}");
    let (plateau, ceiling) = (found.plateau_per_s.unwrap(), found.candidates[0].ceiling_per_s());
    assert!((ceiling / plateau - 1.0).abs() < 0.1, "{ceiling} for {plateau}");
    let said = text(&ladder);
    assert!(said.contains("still grew by 11 % with the last step"), "{said}");
}

/// What `benches/bottleneck --bed swift` measured of a proxy with one worker: operations under way, rate, how much of the time its
/// thread ran and how much it was ready to.
const OF_ONE_WORKER: [(f64, f64, f64, f64); 14] = [
    (0.17, 20.0, 0.09, 0.03),
    (0.32, 40.0, 0.19, 0.03),
    (0.51, 70.0, 0.32, 0.04),
    (0.70, 100.0, 0.47, 0.048),
    (0.87, 130.0, 0.57, 0.042),
    (1.46, 160.0, 0.72, 0.065),
    (2.0, 199.2, 0.80, 0.086),
    (2.36, 185.0, 0.81, 0.079),
    (4.0, 214.5, 0.86, 0.10),
    (8.0, 241.3, 0.90, 0.099),
    (12.0, 260.4, 0.91, 0.091),
    (16.0, 241.2, 0.89, 0.112),
    (24.0, 246.3, 0.90, 0.103),
    (32.0, 301.1, 0.91, 0.093),
];

/// The ladder of `OF_ONE_WORKER`.
fn of_one_worker(rows: &[(f64, f64, f64, f64)]) -> Ladder {
    let step = |&(in_flight, rate, ran, ready): &(f64, f64, f64, f64)| Step {
        throughput_per_s: rate,
        in_flight,
        service_s: in_flight / rate,
        client_clear: true,
        usage: vec![Usage { busy: Some(ran), waiting: Some(Waiting::Share(ready)), ..Usage::default() }],
        ..Step::default()
    };
    let (node, role, name) = ("s1".into(), "proxy".into(), "swift-proxy/7".into());
    let unit = Unit { node, role, kind: Kind::Thread, name };
    Ladder { units: vec![unit], idle: vec![Some(0.001)], steps: rows.iter().map(step).collect() }
}

/// Another run of the same, in which throughput fell again at the highest loads.
const OF_ONE_WORKER_TIRED: [(f64, f64, f64, f64); 14] = [
    (0.17, 20.0, 0.12, 0.03),
    (0.32, 40.0, 0.22, 0.03),
    (0.56, 70.0, 0.35, 0.04),
    (0.67, 100.2, 0.47, 0.048),
    (1.17, 130.1, 0.62, 0.058),
    (1.86, 159.9, 0.69, 0.087),
    (1.93, 185.0, 0.78, 0.055),
    (2.0, 194.3, 0.78, 0.085),
    (4.0, 231.7, 0.86, 0.103),
    (8.0, 279.7, 0.90, 0.10),
    (12.0, 289.5, 0.89, 0.106),
    (16.0, 298.4, 0.89, 0.108),
    (24.0, 275.6, 0.90, 0.096),
    (32.0, 241.6, 0.87, 0.127),
];

/// What `make bottleneck` measured of a store of one thread on a machine whose hypervisor gave much to others at two loads: operations
/// under way, rate, how much of the time the thread ran or was kept from it by the hypervisor, how much of that the latter was, and how
/// much it was ready to run.
const OF_STOLEN: [(f64, f64, f64, f64, f64); 12] = [
    (1.0, 132.8, 0.206, 0.0, 0.024),
    (2.0, 261.8, 0.396, 0.0, 0.048),
    (3.0, 367.8, 0.556, 0.0, 0.060),
    (4.0, 458.5, 0.670, 0.0, 0.066),
    (6.0, 563.8, 0.875, 0.052, 0.081),
    (8.0, 672.5, 0.904, 0.007, 0.077),
    (12.0, 506.5, 0.964, 0.171, 0.086),
    (16.0, 531.2, 0.952, 0.138, 0.102),
    (24.0, 670.5, 0.922, 0.005, 0.081),
    (32.0, 782.2, 0.933, 0.0, 0.067),
    (48.0, 725.8, 0.937, 0.0, 0.063),
    (64.0, 790.8, 0.934, 0.0, 0.065),
];

#[test]
fn a_load_at_which_a_hypervisor_kept_a_thread_from_running_is_none_at_which_it_was_full_with_less() {
    let of = |stolen: bool| {
        let rows = OF_STOLEN.map(|(load, rate, ran, _, ready)| (load, rate, ran, ready));
        let mut ladder = of_one_worker(&rows);
        for (step, row) in ladder.steps.iter_mut().zip(OF_STOLEN) {
            step.usage[0].stolen = if stolen { row.3 } else { 0.0 };
        }
        diagnose(&ladder)
    };
    let found = of(true);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert_eq!(of(false).answer, Answer::Unexplained);
}

#[test]
fn a_thread_that_waits_for_its_processor_for_the_rest_of_the_time_is_full() {
    let named = |found: &Answer| matches!(found, Answer::Named { units, .. } if units == &[0]);
    let found = diagnose(&of_one_worker(&OF_ONE_WORKER_TIRED));
    assert!(named(&found.answer), "{found:?}");
    // One that sleeps now and then has time left, and one that waits for most of the time lacks a processor.
    for (ran, ready) in [(0.89, 0.04), (0.5, 0.49)] {
        let rows = OF_ONE_WORKER_TIRED.map(|(load, rate, own, waits)| match load >= 8.0 {
            true => (load, rate, ran, ready),
            false => (load, rate, own.min(ran), waits),
        });
        let found = diagnose(&of_one_worker(&rows));
        assert!(!named(&found.answer), "{ran}: {found:?}");
    }
}

/// A third run, whose low loads let expect that an operation costs ever less up to 341/s, and it did not.
const OF_ONE_WORKER_UNFALLEN: [(f64, f64, f64, f64); 14] = [
    (0.146, 20.0, 0.10288, 0.0174),
    (0.29, 40.0, 0.20043, 0.0407),
    (0.512, 70.0, 0.34107, 0.0613),
    (0.643, 100.0, 0.44932, 0.0298),
    (0.781, 130.0, 0.53958, 0.0366),
    (1.086, 159.9, 0.62701, 0.0462),
    (1.434, 185.1, 0.73873, 0.0519),
    (1.998, 182.6, 0.8154, 0.0827),
    (3.997, 219.4, 0.8558, 0.1095),
    (7.997, 249.4, 0.90452, 0.0911),
    (11.997, 273.5, 0.91514, 0.0858),
    (15.997, 259.9, 0.9149, 0.0851),
    (23.997, 239.8, 0.90708, 0.0927),
    (31.997, 270.8, 0.88972, 0.11),
];

#[test]
fn a_thread_that_is_full_is_named_though_its_costs_stopped_to_fall() {
    let of = |most_per_s: f64| {
        let rows =
            OF_ONE_WORKER_UNFALLEN.map(|(load, rate, ran, ready)| (load, rate.min(most_per_s), ran, ready));
        let mut ladder = of_one_worker(&rows);
        ladder.idle = vec![Some(0.010_86)];
        for step in &mut ladder.steps {
            step.counted = Some((step.throughput_per_s * 10.0) as u64);
        }
        diagnose(&ladder)
    };
    let found = of(1000.0);
    assert!(
        matches!(&found.answer, Answer::Named { units, confidence: Confidence::Medium } if units == &[0]),
        "{found:?}"
    );
    assert!(found.candidates[0].demand.waking > 0.0 && found.candidates[0].demand.ceiling_per_s() > 300.0);
    // Below what it can do at the costs of the lowest loads it is full with something else.
    let found = of(150.0);
    assert!(!matches!(found.answer, Answer::Named { .. }), "{found:?}");
}

#[test]
fn one_lucky_step_behind_many_at_which_a_thread_is_full_and_throughput_level_hides_no_limit() {
    let ladder = of_one_worker(&OF_ONE_WORKER);
    let found = diagnose(&ladder);
    assert!(
        matches!(&found.answer, Answer::Named { units, confidence: Confidence::Medium } if units == &[0]),
        "{found:?}"
    );
    let said = text(&ladder);
    assert!(said.contains("still grew by 22 % with the last step"), "{said}");
    // Two lucky steps are no chance, nor is one of as much behind few.
    let mut two = OF_ONE_WORKER;
    two[12].1 = 280.0;
    let mut few = OF_ONE_WORKER.to_vec();
    few.drain(10..12);
    for rows in [two.to_vec(), few] {
        assert!(matches!(diagnose(&of_one_worker(&rows)).answer, Answer::NotReached(_)), "{rows:?}");
    }
}

#[test]
fn a_thread_that_is_full_at_too_few_loads_or_at_any_is_not_named_while_throughput_grows() {
    let unnamed = |ladder: &Ladder| {
        let found = diagnose(ladder);
        assert!(matches!(found.answer, Answer::NotReached(_)), "{found:?}");
        assert_eq!((found.still_grew, found.plateau_per_s), (None, None));
    };
    // Full at the last loads only, and a thread that looks for work all the time, in a store that a lock holds back.
    unnamed(&of_one_thread(CREEPING, 48.0));
    unnamed(&of_one_thread(CREEPING, 1.0));
    // A thread that is not full.
    unnamed(&of_one_thread(CREEPING, 100.0));
    // A load that doubles throughput is no chance.
    let mut growing = CREEPING;
    growing[11] = 400.0;
    unnamed(&of_one_thread(growing, 12.0));
    // Another unit that is full beside it as long.
    let mut ladder = of_one_thread(CREEPING, 12.0);
    let disk = Unit { node: "s2".into(), role: "disks".into(), kind: Kind::Disk, name: "sda".into() };
    ladder.units.push(disk);
    ladder.idle.push(Some(0.0));
    for step in &mut ladder.steps {
        let thread = step.usage[0];
        step.usage.push(Usage { waiting: Some(Waiting::Queue(step.in_flight)), ..thread });
    }
    unnamed(&ladder);
    // Where the client was full at one of the loads, more is not known of the store.
    let mut ladder = of_one_thread(CREEPING, 100.0);
    ladder.steps[10].client_clear = false;
    assert_eq!(diagnose(&ladder).answer, Answer::Client);
}

#[test]
fn a_thread_whose_ceiling_was_exceeded_is_named_by_one_last_step_and_not_by_rates_that_rise_all_the_way() {
    // By the low steps it is full at 312/s.
    let lucky = [90.0, 150.0, 185.0, 260.0, 290.0, 340.0, 345.0, 342.0, 348.0, 344.0, 349.0, 388.0];
    let ladder = of_one_thread(lucky, 12.0);
    let found = diagnose(&ladder);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert!(found.candidates[0].when_full.is_some() && ladder.plateau().is_none(), "{found:?}");
    // A lock lets through more and more, beside a thread that has become full with what nobody waits for.
    let rising = [90.0, 150.0, 185.0, 215.0, 240.0, 262.0, 285.0, 305.0, 330.0, 350.0, 365.0, 394.0];
    let found = diagnose(&of_one_thread(rising, 24.0));
    assert!(matches!(found.answer, Answer::NotReached(_)), "{found:?}");
}

#[test]
fn what_was_full_while_throughput_grew_is_said_also_of_threads_and_of_quotas_whose_slices_are_not_used_up() {
    // Of each processor's slice a part is left, though the group is stopped in every period.
    let mut quota = gateway(165.0);
    for usage in quota.steps.iter_mut().flat_map(|step| &mut step.usage) {
        usage.busy = usage.busy.map(|busy| busy.min(0.95));
    }
    let said = text(&quota);
    assert!(said.contains("though CPU quota quota of g (gateway) had nothing left there"), "{said}");
    let mut growing = CREEPING;
    growing[11] = 400.0;
    let said = text(&of_one_thread(growing, 12.0));
    assert!(said.contains("though thread plain-store/7 of s1 (store) had nothing left there"), "{said}");
    assert!(said.contains("beside it") && !said.contains("nothing limits"), "{said}");
    // At the last load alone, at every load, at none.
    let said = text(&of_one_thread(growing, 64.0));
    assert!(said.contains("nothing left for the first time: add two loads"), "{said}");
    for full_from in [1.0, 100.0] {
        let said = text(&of_one_thread(growing, full_from));
        assert!(said.contains("nothing limits the store yet"), "{said}");
    }
}

/// Closed loads of a machine of 16 processors and a disk: throughput, and how busy the processors are.
fn beside_a_disk(loads: &[(f64, f64, f64)], disk_s: f64) -> Ladder {
    let step = |(workers, rate, busy): &(f64, f64, f64)| {
        let used = rate * disk_s;
        let usage =
            |busy: f64, waiting| Usage { busy: Some(busy), waiting: Some(waiting), ..Usage::default() };
        Step {
            throughput_per_s: *rate,
            in_flight: *workers,
            service_s: workers / rate,
            client_clear: true,
            usage: vec![
                usage(*busy, Waiting::Queue((workers * busy - 16.0).max(0.0))),
                usage(used, Waiting::Queue(used / (1.0 - used))),
            ],
            ..Step::default()
        }
    };
    let unit = |kind, name: &str| Unit { node: "s1".into(), role: "storage".into(), kind, name: name.into() };
    let units = vec![unit(Kind::Machine, "cpu"), unit(Kind::Disk, "sda")];
    Ladder { units, idle: vec![Some(0.0); 2], steps: loads.iter().map(step).collect() }
}

#[test]
fn a_lock_for_which_threads_wait_on_their_processors_is_no_lack_of_processors() {
    // 1 ms of a processor, 2 ms elsewhere, and half a millisecond with the lock, for which a thread spins.
    for (disk_s, cores) in [(0.4e-3, 16.0), (0.465e-3, 16.0), (0.4e-3, 4.0)] {
        let loads = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 16.0, 32.0, 64.0].map(|workers: f64| {
            let rate = (workers / 3.5e-3).min(2000.0);
            let spins = workers - rate * 3.5e-3;
            (workers, rate, ((rate * 1.5e-3 + spins) / cores).min(1.0))
        });
        let ladder = beside_a_disk(&loads, disk_s);
        let found = diagnose(&ladder);
        // On four processors three are busy when the lock is full.
        assert!(!matches!(found.answer, Answer::Named { .. } | Answer::Several(_)), "{cores}: {found:?}");
        assert!(text(&ladder).contains("look at locks"), "{}", text(&ladder));
    }
}

#[test]
fn processors_that_slow_each_other_down_are_named_themselves_or_nothing_is() {
    for dearer in [0.05, 0.3, 0.6, 1.0] {
        // The more of them are busy, the longer an operation takes each: their memory, or threads that share a core.
        let busy_at = |rate: f64| rate * 1e-3 / 16.0 / (1.0 - rate * 1e-3 / 16.0 * dearer);
        let most = 16.0 / (1e-3 * (1.0 + dearer));
        let workers = [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0];
        let loads = workers.map(|workers: f64| {
            let rate = (workers * 1000.0 / 3.0).min(most);
            (workers, rate, busy_at(rate).min(1.0))
        });
        // Its disk is 93 % busy where the processors are full.
        let found = diagnose(&beside_a_disk(&loads, 0.93 / most));
        let is_right = match &found.answer {
            Answer::Named { units, .. } => units == &[0],
            answer => !matches!(answer, Answer::Several(_)),
        };
        assert!(is_right, "{dearer}: {found:?}");
    }
}

#[test]
fn noise_of_a_tenth_is_no_cost_that_changes_and_a_curve_is() {
    // Ten low loads, each with an error of 11 % of how busy the disk is, and four beyond.
    let with = |times: &dyn Fn(usize, f64) -> f64| {
        let low = (0..10_u8).map(|at| (f64::from(at + 1) * 0.12, f64::from(at + 1) * 30.0));
        let steps: Vec<Step> = low
            .chain([4.0, 8.0, 16.0, 32.0].map(|workers| (workers, 500.0)))
            .map(|(in_flight, throughput_per_s)| Step {
                throughput_per_s,
                in_flight,
                service_s: in_flight / throughput_per_s,
                client_clear: true,
                ..Step::default()
            })
            .collect();
        let mut ladder = with_disk(steps, 500.0);
        for (at, step) in ladder.steps.iter_mut().enumerate().take(10) {
            step.usage[0].busy =
                Some(step.throughput_per_s / 500.0 * times(at, step.throughput_per_s / 500.0));
        }
        diagnose(&ladder)
    };
    let signs = [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0];
    let found = with(&|at: usize, _: f64| 1.0 + 0.11 * signs[at]);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert!(found.candidates[0].demand.residual > 0.05, "{found:?}");
    // As far from a line, but by a cost that doubles and falls again.
    let found = with(&|_: usize, work: f64| 1.0 + (work * 5.0).sin() * 0.5);
    assert!(!found.candidates[0].demand.constant, "{found:?}");
    assert_eq!(found.answer, Answer::Unexplained, "{found:?}");
}

/// Workers that let in five operations of 10 ms each, on a machine whose first processor is full then, and whose second is this
/// much as busy.
fn of_two_cores(second: f64) -> Ladder {
    let step = |workers: f64| {
        let rate = (workers * 100.0).min(500.0);
        let busy = |share: f64| Usage { busy: Some(share * rate / 500.0), ..Usage::default() };
        Step {
            throughput_per_s: rate,
            in_flight: workers,
            service_s: workers / rate,
            client_clear: true,
            usage: vec![busy(1.0), busy(second), busy(f64::midpoint(1.0, second))],
            ..Step::default()
        }
    };
    let unit = |kind, name: &str| Unit { node: "s1".into(), role: "storage".into(), kind, name: name.into() };
    let units = vec![unit(Kind::Core, "cpu0"), unit(Kind::Core, "cpu1"), unit(Kind::Machine, "cpu")];
    let steps = [1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(step).into();
    Ladder { units, idle: vec![Some(0.0); 3], steps }
}

#[test]
fn one_full_processor_is_the_limit_of_what_is_bound_to_it_and_not_where_others_take_its_work() {
    let named = |second: f64| match diagnose(&of_two_cores(second)).answer {
        Answer::Named { units, .. } => units,
        answer => {
            assert_eq!(answer, Answer::Unexplained, "{second}");
            Vec::new()
        }
    };
    for second in [0.0, 0.3, 0.6] {
        assert_eq!(named(second), [0], "{second}");
    }
    // Interrupts that only one of them gets make it busier than the other.
    for second in [0.75, 0.85, 0.92] {
        assert_eq!(named(second), [0; 0], "{second}");
    }
    assert_eq!(named(1.0), [2], "the machine");
}

/// A store that is bound to the first processor, and a client that is bound to the second (`taskset`, a cpuset).
#[test]
fn a_processor_is_named_beside_a_client_on_processors_of_its_own() {
    let with = |by_client: [f64; 2]| {
        let mut ladder = of_two_cores(0.9);
        for step in &mut ladder.steps {
            let rate = step.throughput_per_s / 500.0;
            step.usage[0].by_client = Some(by_client[0] * rate);
            step.usage[1].by_client = Some(by_client[1] * rate);
            step.usage[2].by_client = Some((by_client[0] + by_client[1]) / 2.0 * rate);
        }
        diagnose(&ladder).answer
    };
    let said = with([0.0, 0.8]);
    assert!(matches!(&said, Answer::Named { units, .. } if units == &[0]), "{said:?}");
    // One that may run on both, and one that leaves the second to the store.
    for by_client in [[0.4, 0.4], [0.0, 0.1]] {
        assert_eq!(with(by_client), Answer::Unexplained, "{by_client:?}");
    }
}

#[test]
fn processors_that_are_all_full_beside_one_that_is_left_alone_are_what_the_store_is_bound_to() {
    let with = |others: f64| {
        let busy: Vec<f64> = std::iter::once(1.0).chain([others; 6]).chain([0.05]).collect();
        let mut ladder = of_two_cores(0.0);
        let unit = ladder.units[0].clone();
        let name = |at: usize| Unit { name: format!("cpu{at}"), ..unit.clone() };
        ladder.units = (0..busy.len()).map(name).collect();
        ladder.idle = vec![Some(0.0); busy.len()];
        for step in &mut ladder.steps {
            let rate = step.throughput_per_s / 500.0;
            step.usage =
                busy.iter().map(|share| Usage { busy: Some(share * rate), ..Usage::default() }).collect();
        }
        diagnose(&ladder).answer
    };
    let said = with(1.0);
    assert!(matches!(&said, Answer::Named { units, .. } if units.len() == 7), "{said:?}");
    assert_eq!(with(0.85), Answer::Unexplained);
}

#[test]
fn a_processor_that_is_full_a_moment_before_its_machine_is_contradicts_another_name() {
    // Beside it a link whose ceiling, too, meets the plateau.
    let with_link = |second: f64| {
        let mut ladder = of_two_cores(second);
        ladder.units.push(Unit {
            node: "p1".into(),
            role: "proxy".into(),
            kind: Kind::NetworkTransmit,
            name: "eth0".into(),
        });
        ladder.idle.push(Some(0.0));
        for step in &mut ladder.steps {
            let busy = Some(step.throughput_per_s / 505.0);
            step.usage.push(Usage { busy, ..Usage::default() });
        }
        diagnose(&ladder).answer
    };
    assert_eq!(with_link(0.9), Answer::Several(vec![3, 0]));
    // Bound to one processor, as before.
    assert!(matches!(with_link(0.3), Answer::Several(units) if units.contains(&0) && units.contains(&3)));
}

/// Of a unit: its machine, its kind, how busy it is without load, and at each of four loads how busy it is and what waits for it.
type Seen = (&'static str, Kind, f64, [f64; 4], [Waiting; 4]);

/// What is said of two units by few loads, with noise.
fn of_two(units: [Seen; 2]) -> Answer {
    let loads = [(2.0, 52.2), (8.0, 212.4), (32.0, 470.6), (128.0, 459.5)];
    let step = |(at, (workers, rate)): (usize, (f64, f64))| {
        let usage =
            |own: &Seen| Usage { busy: Some(own.3[at]), waiting: Some(own.4[at]), ..Usage::default() };
        Step {
            throughput_per_s: rate,
            in_flight: workers,
            service_s: workers / rate,
            client_clear: true,
            usage: units.iter().map(usage).collect(),
            ..Step::default()
        }
    };
    let steps = loads.into_iter().enumerate().map(step).collect();
    let unit = |own: &Seen| Unit { node: own.0.into(), role: own.0.into(), kind: own.1, name: "x".into() };
    let idle = units.iter().map(|own| Some(own.2)).collect();
    diagnose(&Ladder { units: units.iter().map(unit).collect(), idle, steps }).answer
}

/// By the low steps the ceiling of the processors lies 11 % below the plateau, and that of what is as busy as the disk 6 % above.
const FULL_PROCESSORS: [f64; 4] = [0.186, 0.554, 1.0, 1.0];
const FULL_DISK: [f64; 4] = [0.1, 0.433, 0.95, 0.978];
/// It is longer with more load, and does not take up what is added.
const LEVEL_QUEUE: [f64; 4] = [0.11, 0.56, 4.16, 4.74];

fn processors(busy: [f64; 4]) -> Seen {
    ("p1", Kind::Machine, 0.073, busy, [0.0, 0.0, 0.97, 1.0].map(Waiting::Share))
}

/// The processors are the limit.
#[test]
fn a_unit_that_is_as_full_as_the_one_whose_ceiling_meets_the_plateau_by_chance_is_named_beside_it() {
    let disk = ("s1", Kind::Disk, 0.0, FULL_DISK, LEVEL_QUEUE.map(Waiting::Queue));
    assert_eq!(of_two([processors(FULL_PROCESSORS), disk]), Answer::Several(vec![1, 0]));
    // Processors with time left, and such as are as busy at any load, leave the disk alone.
    for busy in [[0.12, 0.3, 0.6, 0.6], [0.186, 0.554, 0.95, 0.95], [1.0; 4]] {
        let said = of_two([processors(busy), disk]);
        assert!(matches!(&said, Answer::Named { units, .. } if units == &[1]), "{said:?}");
    }
}

/// By what waits for it, so that another unit that is full raises no doubt.
#[test]
fn a_unit_that_shows_itself_that_it_is_the_limit_is_named_alone_whatever_else_is_full() {
    let grows = [0.11, 0.56, 20.0, 110.0].map(Waiting::Queue);
    let stops = |last: f64| [0.0, 0.1, last, last].map(Waiting::Share);
    let said = |kind, waiting| of_two([processors(FULL_PROCESSORS), ("s1", kind, 0.0, FULL_DISK, waiting)]);
    for (kind, waiting) in [(Kind::Disk, grows), (Kind::CpuQuota, stops(0.99)), (Kind::IoLimit, stops(0.99))]
    {
        let said = said(kind, waiting);
        assert!(matches!(&said, Answer::Named { units, .. } if units == &[1]), "{kind:?}: {said:?}");
    }
    // A quota that leaves its group something in four periods of ten does not.
    assert_eq!(said(Kind::CpuQuota, stops(0.6)), Answer::Several(vec![1, 0]));
}

/// A quota of 2 ms for each operation, and a disk of 1.9 ms whose queue grows over as few loads.
#[test]
fn a_unit_whose_queue_grows_is_not_named_alone_beside_a_busier_one_that_is_nearly_as_slow() {
    let grows = [0.11, 0.56, 20.0, 110.0].map(Waiting::Queue);
    let disk = ("s1", Kind::Disk, 0.0, [0.1, 0.433, 0.9, 0.928], grows);
    let quota = |last: f64| {
        let stops = [0.0, 0.1, 0.45, 0.69].map(Waiting::Share);
        ("p1", Kind::CpuQuota, 0.0, [0.113, 0.46, last, last], stops)
    };
    assert_eq!(of_two([quota(0.975), disk]), Answer::Several(vec![1, 0]));
    let said = of_two([quota(0.91), disk]);
    assert!(matches!(&said, Answer::Named { units, .. } if units == &[1]), "{said:?}");
}

/// A thread whose operations cost less where it is full has no ceiling that meets the plateau, and needs to be the only one.
#[test]
fn a_unit_without_a_predicted_ceiling_is_not_named_beside_one_that_is_as_full() {
    let thread = ("p1", Kind::Thread, 0.0, [0.15, 0.6, 1.0, 1.0], [Waiting::Share(0.0); 4]);
    let disk = |busy| ("s1", Kind::Disk, 0.073, busy, LEVEL_QUEUE.map(Waiting::Queue));
    assert_eq!(of_two([thread, disk(FULL_PROCESSORS)]), Answer::Unexplained);
    let alone = of_two([thread, disk([0.1, 0.2, 0.4, 0.4])]);
    assert!(matches!(&alone, Answer::Named { units, .. } if units == &[0]), "{alone:?}");
}

#[test]
fn a_ceiling_that_meets_the_plateau_by_chance_is_not_named_with_high_confidence() {
    let step = |(workers, rate): (f64, f64)| Step {
        throughput_per_s: rate,
        in_flight: workers,
        service_s: workers / rate,
        client_clear: true,
        ..Step::default()
    };
    let loads = [(1.0, 100.0), (2.0, 200.0), (8.0, 500.0), (16.0, 500.0), (32.0, 500.0)];
    for (idle, low, expected) in [
        (0.0, [0.2, 0.4], Confidence::High),
        (0.01, [0.202, 0.405], Confidence::High),
        (0.02, [0.16, 0.44], Confidence::Medium),
    ] {
        let mut ladder = with_disk(loads.map(step).into(), 500.0);
        ladder.idle[0] = Some(idle);
        for (step, busy) in ladder.steps.iter_mut().zip(low) {
            step.usage[0].busy = Some(busy);
        }
        let found = diagnose(&ladder);
        let is_so = |confidence: &Confidence| *confidence == expected;
        assert!(
            matches!(&found.answer, Answer::Named { confidence, .. } if is_so(confidence)),
            "{idle} {low:?}: {found:?}"
        );
    }
}
