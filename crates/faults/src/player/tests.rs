//! How often a store is asked whether it is whole again.

use std::time::{Duration, Instant};

use cosmark_archive::{Archive, Timestamp};
use cosmark_workload::diagnostics::Span;
use cosmark_workload::model::faults::{FaultAt, FaultKind, FaultPlace, FaultSpec};

use super::{Player, Playing, pause};
use crate::act::proxy::Proxies;

#[test]
fn a_question_that_takes_long_is_asked_seldom_and_once_more_at_the_end_of_the_slot() {
    let pauses = [
        // A quick one: every second.
        (0.0, 60.0, 1.0),
        (0.2, 60.0, 1.0),
        // One that takes longer: a fifth of the time at most.
        (0.5, 60.0, 2.0),
        (3.0, 60.0, 12.0),
        // Before the end there is time for one more.
        (3.0, 10.0, 7.0),
        (10.0, 30.0, 20.0),
        // Not enough for it: never less than a second, and the slot is over.
        (10.0, 3.0, 1.0),
        (10.0, -4.0, 1.0),
    ];
    for (took_s, left_s, expected_s) in pauses {
        let got = pause(took_s, left_s);
        assert!(
            (got.as_secs_f64() - expected_s).abs() < 1e-9,
            "{took_s} s, {left_s} s left: {got:?}, and not {expected_s} s"
        );
    }
    assert_eq!(pause(f64::INFINITY, f64::NAN), Duration::from_secs(1), "no panic");
}

/// A fault that is made and healed at once: a file that is there.
fn healed_at_once(file: &str, whole: String, slot: Duration) -> FaultSpec {
    FaultSpec {
        name: "gone".to_owned(),
        kind: FaultKind::Command {
            inject: format!("touch {file}"),
            heal: format!("rm -f {file}"),
            proof: Some(format!("test -e {file}")),
            place: FaultPlace::Here,
        },
        at: FaultAt::After(Duration::ZERO),
        hold: Duration::from_millis(100),
        slot,
        repeats: 1,
        keep: Duration::from_secs(1),
        within: Duration::from_secs(60),
        noticed: None,
        whole: Some(whole),
        limit: None,
        span: Span::default(),
    }
}

#[test]
fn a_store_that_works_for_its_answer_is_left_alone_for_four_times_as_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let asked = path.join("asked");
    // When each question began and ended, in nanoseconds.
    let whole = format!("date +%s%N >>{0}; sleep 0.8; date +%s%N >>{0}; false", asked.display());
    let player = Player::begin(Playing {
        faults: vec![healed_at_once(path.join("gone").to_str().unwrap(), whole, Duration::from_secs(14))],
        run: "w1".to_owned(),
        stage: "s1".to_owned(),
        began: Timestamp::now(),
        ramp_s: 0.0,
        load_s: None,
        is_open: true,
        journal: Archive::open(path).unwrap().fault_journal(),
        proxies: Proxies::default(),
        guardian: Vec::new(),
    });
    let until = Instant::now() + Duration::from_secs(120);
    while !player.is_over() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let results = player.results();
    let slot = &results[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}");
    let why = format!("{slot:?}");
    assert!(why.contains("redundancy was not whole before the slot ended (last asked "), "{why}");
    let text = std::fs::read_to_string(asked).unwrap();
    let times: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let questions: Vec<&[i64]> = times.chunks_exact(2).collect();
    assert!(questions.len() >= 3, "{times:?}");
    // The last one is asked where the slot ends, however short the pause before it is.
    for pair in questions.windows(2).take(questions.len() - 2) {
        let (took, rest) = (pair[0][1] - pair[0][0], pair[1][0] - pair[0][1]);
        assert!(rest >= 4 * took, "took {took} ns, the next one {rest} ns later: {times:?}");
    }
}
