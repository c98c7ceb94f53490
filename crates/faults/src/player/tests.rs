//! Faults that are played: how often a store is asked, and what a question that hangs does to them.

use std::path::Path;
use std::time::{Duration, Instant};

use cosmark_archive::{Archive, Timestamp};
use cosmark_workload::diagnostics::Span;
use cosmark_workload::model::faults::{FaultAt, FaultKind, FaultPlace, FaultSpec};

use super::{Player, Playing};
use crate::act::proxy::Proxies;

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

fn begin(path: &Path, faults: Vec<FaultSpec>) -> Player {
    Player::begin(Playing {
        faults,
        run: "w1".to_owned(),
        stage: "s1".to_owned(),
        began: Timestamp::now(),
        ramp_s: 0.0,
        load_s: None,
        is_open: true,
        journal: Archive::open(path).unwrap().fault_journal(),
        proxies: Proxies::default(),
        guardian: Vec::new(),
    })
}

fn until_over(player: &Player) {
    let until = Instant::now() + Duration::from_secs(120);
    while !player.is_over() {
        assert!(Instant::now() < until, "the faults do not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_question_that_hangs_holds_no_fault_and_no_end_of_the_load_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = path.join("gone");
    let hangs = |hold: Duration| FaultSpec {
        noticed: Some("sleep 600".to_owned()),
        hold,
        within: Duration::from_secs(300),
        ..healed_at_once(file.to_str().unwrap(), "true".to_owned(), hold + Duration::from_secs(1))
    };
    let player = begin(path, vec![hangs(Duration::from_secs(2))]);
    until_over(&player);
    let slot = &player.results()[0].slots[0];
    assert!(slot.heal_s.unwrap() - slot.from_s < 60.0, "{slot:?}");
    assert!(!file.exists());
    // A machine that is busy beyond measure may make it void, and says so.
    let said = format!("{slot:?}");
    let good =
        ["had not noticed when it was healed", "it was held for"].iter().any(|words| said.contains(words));
    assert!(good, "{said}");

    let player = begin(path, vec![hangs(Duration::from_secs(500))]);
    let until = Instant::now() + Duration::from_secs(60);
    while !player.take().iter().any(|news| news.text.contains("it is there")) {
        assert!(Instant::now() < until, "it does not land");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    player.stop();
    until_over(&player);
    assert!(!file.exists());
}

#[test]
fn a_store_that_works_for_its_answer_is_left_alone_for_four_times_as_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let asked = path.join("asked");
    // When each question began and ended, in nanoseconds.
    let whole = format!("date +%s%N >>{0}; sleep 0.8; date +%s%N >>{0}; false", asked.display());
    let player = begin(
        path,
        vec![healed_at_once(path.join("gone").to_str().unwrap(), whole, Duration::from_secs(14))],
    );
    until_over(&player);
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
