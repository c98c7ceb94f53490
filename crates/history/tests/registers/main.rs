//! The checker against what is known: cases by hand, a search through every order on small histories, and Porcupine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod exports;
mod made;
mod oracle;
mod porcupine;

use cosmark_history::{ABSENT, Kind, Mistake, Operation, Outcome, Report, Rules, Wrong, check};

fn one(process: u32, kind: Kind, value: u64, call_ns: u64, return_ns: u64) -> Operation {
    Operation { call_ns, return_ns, value, key: 1, process, kind, outcome: Outcome::Done }
}

fn write(process: u32, value: u64, call_ns: u64, return_ns: u64) -> Operation {
    one(process, Kind::Write, value, call_ns, return_ns)
}

fn delete(process: u32, call_ns: u64, return_ns: u64) -> Operation {
    one(process, Kind::Delete, ABSENT, call_ns, return_ns)
}

fn read(process: u32, value: u64, call_ns: u64, return_ns: u64) -> Operation {
    one(process, Kind::Read, value, call_ns, return_ns)
}

fn judged(history: &[Operation]) -> Report {
    check(history, Rules::default()).unwrap()
}

/// Kind of wrong, place of the read, evidence, versions behind, age.
fn told(report: &Report) -> Vec<(Wrong, u32, Vec<u32>, u64, u64)> {
    report
        .violations
        .iter()
        .map(|one| (one.wrong, one.read, one.evidence.clone(), one.versions, one.age_ns))
        .collect()
}

#[test]
fn a_read_that_missed_acknowledged_writes_is_stale_by_so_many_versions_and_so_long() {
    let history = [
        write(0, 1, 0, 10),
        write(0, 2, 20, 30),
        write(0, 3, 40, 50),
        read(1, 1, 90, 95),
        read(1, 3, 96, 99),
    ];
    let report = judged(&history);
    assert_eq!(told(&report), [(Wrong::Stale, 3, vec![0, 1], 2, 60)]);
    assert_eq!((report.most_versions, report.longest_ns), (2, 60));
    // The same with a delete in between, which another part decides.
    let history = [
        write(0, 1, 0, 10),
        delete(0, 20, 30),
        write(0, 3, 40, 50),
        read(1, 1, 90, 95),
        read(1, ABSENT, 96, 99),
    ];
    assert_eq!(
        told(&judged(&history)),
        [(Wrong::Stale, 3, vec![0, 1], 2, 60), (Wrong::Stale, 4, vec![1, 2], 1, 46)]
    );
}

#[test]
fn a_read_beside_a_write_may_show_either_and_later_ones_may_not_go_back() {
    for (middle, end) in [(write(0, 2, 20, 60), read(2, 1, 45, 50)), (delete(0, 20, 60), read(2, 1, 45, 50))]
    {
        let shown = if middle.kind == Kind::Write { 2 } else { ABSENT };
        let first = write(0, 1, 0, 10);
        assert!(judged(&[first, middle, read(1, 1, 30, 40), read(2, shown, 45, 50)]).is_atomic());
        let report = judged(&[first, middle, read(1, shown, 30, 40), end]);
        assert_eq!(told(&report), [(Wrong::WentBack, 3, vec![0, 2], 0, 0)]);
    }
}

#[test]
fn a_write_without_an_answer_may_have_happened_or_not() {
    let unknown = Operation { outcome: Outcome::Unknown, ..write(0, 2, 20, 25) };
    let first = write(0, 1, 0, 10);
    assert!(judged(&[first, unknown, read(1, 1, 500, 510)]).is_atomic());
    assert!(judged(&[first, unknown, read(1, 2, 500, 510), read(1, 2, 520, 530)]).is_atomic());
    // It takes effect once.
    let report = judged(&[first, unknown, read(1, 2, 500, 510), read(1, 1, 520, 530)]);
    assert_eq!(told(&report), [(Wrong::WentBack, 3, vec![0, 2], 0, 0)]);
    // A refused one never does.
    let refused = Operation { outcome: Outcome::Failed, ..unknown };
    assert_eq!(judged(&[first, refused, read(1, 2, 500, 510)]).counts.of(Wrong::Refused), 1);
    // Beside deletes it explains what it can explain, and that is said.
    let report =
        judged(&[first, unknown, delete(0, 30, 40), read(1, 2, 500, 510), read(1, ABSENT, 520, 530)]);
    assert!(report.is_atomic() && report.counts.undecided_reads == 1, "{report:?}");
}

#[test]
fn beside_a_delete_without_an_answer_an_absence_may_be_older_than_the_next_delete() {
    let unknown = Operation { outcome: Outcome::Unknown, ..delete(0, 11, 12) };
    let rest = [
        write(0, 1, 0, 10),
        write(0, 2, 15, 30),
        delete(0, 40, 100),
        read(1, ABSENT, 20, 60),
        read(2, 2, 70, 80),
    ];
    // The delete that nobody answered may have come between the two writes, and been seen.
    let with = judged(&[&[unknown][..], &rest[..]].concat());
    assert!(with.is_atomic() && with.counts.undecided_reads == 0, "{with:?}");
    // Without it only the last delete explains the absence, and no write came after that.
    assert_eq!(told(&judged(&rest)), [(Wrong::WentBack, 4, vec![1, 3], 0, 0)]);
    // What was there when the absence began is not there again behind it, whichever delete it was.
    let back = [&[unknown][..], &rest[..4], &[read(2, 1, 61, 65)]].concat();
    assert_eq!(judged(&back).counts.of(Wrong::Stale), 1);
}

#[test]
fn what_a_process_has_seen_stays_seen_when_its_reads_follow_without_a_gap() {
    let history = [write(0, 6, 0, 1), read(4, 6, 0, 1), read(4, 6, 1, 3), read(4, ABSENT, 3, 3)];
    let report = check(&history, Rules { clock_error_ns: 3 }).unwrap();
    assert_eq!(told(&report), [(Wrong::WentBack, 3, vec![1], 0, 0)]);
    // Another process may have the clock of before.
    let other = [history[0], history[1], history[2], read(5, ABSENT, 3, 3)];
    assert!(check(&other, Rules { clock_error_ns: 3 }).unwrap().is_atomic());
}

#[test]
fn very_many_reads_of_one_process_that_last_long_take_no_longer_than_others() {
    let reads = 200_000;
    let mut history = vec![write(0, 1, 0, 1), delete(0, 2, 3)];
    history.extend((0..reads).map(|at| read(1, ABSENT, 10 + at, 1_000_000 + at)));
    // When all of them are over it has seen the delete.
    history.push(read(1, 1, 2_000_000, 2_000_001));
    let began = std::time::Instant::now();
    let report = judged(&history);
    let took = began.elapsed();
    assert_eq!((report.counts.reads, report.counts.of(Wrong::Stale)), (reads + 1, 1));
    // Each of them held against each other one takes minutes.
    assert!(took < std::time::Duration::from_secs(60), "{took:?}");
}

#[test]
fn what_began_at_one_instant_is_ordered_by_its_end_however_the_history_is_given() {
    let (write, delete) = (write(0, 1, 5, 5), delete(0, 5, 9));
    for history in [[write, delete, read(1, ABSENT, 20, 21)], [delete, write, read(1, ABSENT, 20, 21)]] {
        assert!(judged(&history).is_atomic(), "{history:?}");
    }
    let report = judged(&[delete, write, read(1, 1, 20, 21)]);
    assert_eq!(told(&report), [(Wrong::Stale, 2, vec![1, 0], 1, 11)]);
}

#[test]
fn a_refused_write_leaves_its_value_to_who_writes_it_again() {
    let refused =
        |process, call_ns| Operation { outcome: Outcome::Failed, ..write(process, 4, call_ns, call_ns + 5) };
    let unknown = Operation { outcome: Outcome::Unknown, ..write(0, 4, 10, 20) };
    // By one writer, by two, by one without an answer, and beside a delete.
    for history in [
        vec![refused(0, 0), write(0, 4, 10, 20), refused(0, 22), read(2, 4, 30, 31)],
        vec![refused(0, 0), refused(1, 2), write(1, 4, 10, 20), read(2, 4, 30, 31)],
        vec![refused(0, 0), unknown, read(2, 4, 30, 31)],
        vec![refused(0, 0), write(0, 4, 10, 20), delete(0, 40, 50), read(2, 4, 30, 31)],
        vec![refused(0, 0), unknown, delete(0, 40, 50), read(2, 4, 30, 31)],
        // Who was refused is no second writer.
        vec![write(0, 1, 0, 10), refused(1, 12), delete(0, 20, 30), read(2, ABSENT, 40, 41)],
    ] {
        assert!(judged(&history).is_atomic(), "{history:?}");
    }
    for rest in [vec![], vec![delete(0, 40, 50)]] {
        let only = [vec![refused(0, 0), refused(0, 10), read(2, 4, 30, 31)], rest].concat();
        assert_eq!(judged(&only).counts.of(Wrong::Refused), 1, "{only:?}");
    }
    let twice = [write(0, 4, 0, 5), refused(0, 6), write(0, 4, 12, 13)];
    assert_eq!(check(&twice, Rules::default()).unwrap_err(), Mistake::ValueTwice(0, 2));
}

#[test]
fn what_was_never_written_and_what_was_read_before_it_was_written_are_told() {
    let report = judged(&[write(0, 1, 100, 110), read(1, 7, 120, 130), read(1, 1, 20, 30)]);
    assert_eq!(told(&report), [(Wrong::Future, 2, vec![0], 0, 0), (Wrong::NeverWritten, 1, vec![], 0, 0)]);
    let report =
        judged(&[write(0, 1, 100, 110), delete(0, 120, 130), read(1, 7, 140, 150), read(1, 1, 20, 30)]);
    assert_eq!(told(&report), [(Wrong::Future, 3, vec![0], 0, 0), (Wrong::NeverWritten, 2, vec![], 0, 0)]);
}

#[test]
fn reads_of_two_values_that_contradict_each_other_are_told_with_all_four_operations() {
    // Two writes at once; one reader sees 1, 2, 1.
    let history = [
        write(0, 1, 0, 1000),
        write(1, 2, 0, 1000),
        read(2, 1, 100, 110),
        read(2, 2, 200, 210),
        read(2, 1, 300, 310),
    ];
    let report = judged(&history);
    assert_eq!(told(&report), [(Wrong::Crossed, 4, vec![2, 3], 0, 0)]);
    assert!(judged(&history[..4]).is_atomic());
}

#[test]
fn a_reading_is_stale_only_beyond_the_error_of_the_clocks() {
    let history = [write(0, 1, 0, 10), write(0, 2, 20, 30), read(1, 1, 80, 90)];
    for (clock_error_ns, is_atomic) in [(0, false), (49, false), (50, true), (1000, true)] {
        let report = check(&history, Rules { clock_error_ns }).unwrap();
        assert_eq!(report.is_atomic(), is_atomic, "{clock_error_ns}");
    }
    let history = [write(0, 1, 0, 10), delete(0, 20, 30), read(1, 1, 80, 90)];
    for (clock_error_ns, is_atomic) in [(49, false), (50, true)] {
        let report = check(&history, Rules { clock_error_ns }).unwrap();
        assert_eq!(report.is_atomic(), is_atomic, "{clock_error_ns}");
    }
}

#[test]
fn what_is_no_history_is_refused_with_its_operations() {
    let cases: &[(&[Operation], Mistake)] = &[
        (&[write(0, 1, 10, 5)], Mistake::EndsBeforeItBegins(0)),
        (&[write(0, ABSENT, 1, 5)], Mistake::WritesNothing(0)),
        (&[write(0, 4, 1, 5), write(1, 4, 6, 7)], Mistake::ValueTwice(0, 1)),
        (&[write(0, 4, 1, 5), delete(0, 6, 7), write(0, 4, 8, 9)], Mistake::ValueTwice(0, 2)),
        (&[write(0, 4, 1, 5), delete(1, 6, 7)], Mistake::DeletesOfSeveral(0, 1)),
        (&[write(0, 4, 1, 5), delete(0, 3, 7)], Mistake::WriterOverlaps(0, 1)),
    ];
    for (history, mistake) in cases {
        assert_eq!(check(history, Rules::default()).unwrap_err(), *mistake);
        assert!(mistake.to_string().contains(": "), "{mistake}");
    }
    assert_eq!(judged(&[]), Report::default());
}

#[test]
fn the_counts_are_those_of_the_history_and_every_violation_is_counted() {
    let mut history = vec![write(0, 1, 0, 1), write(0, 2, 2, 3)];
    history.extend((0..3000).map(|at| read(1, 1, 10 + at * 2, 11 + at * 2)));
    let report = judged(&history);
    assert_eq!(report.counts.of(Wrong::Stale), 3000);
    assert_eq!(report.violations.len(), cosmark_history::MOST_SHOWN);
    assert_eq!((report.counts.keys, report.counts.reads, report.counts.writes), (1, 3000, 2));
}
