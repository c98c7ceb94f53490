//! What drivers saw of each other, on readings and changes that are known.

use super::*;

const MS: u64 = 1_000_000;

fn operation(key: u32, kind: ProbeKind, (from_ms, to_ms): (u64, u64), value: u64) -> ProbeOperation {
    let (call_ns, return_ns) = (from_ms * MS, to_ms * MS);
    ProbeOperation { key, process: 0, kind, call_ns, return_ns, value, is_done: true }
}

/// Writes version 1 at 100 ms, 2 at 1100 ms, deletes at 2100 ms, writes 4 at 3100 ms; each is acknowledged 10 ms later.
fn writer() -> Vec<ProbeOperation> {
    let key = ProbeOperation::shared_key(0, 0);
    [(ProbeKind::Write, 1), (ProbeKind::Write, 2), (ProbeKind::Delete, 0), (ProbeKind::Write, 4)]
        .into_iter()
        .zip(0..)
        .map(|((kind, value), turn)| operation(key, kind, (100 + 1000 * turn, 110 + 1000 * turn), value))
        .collect()
}

/// The reader's clock is so many ms ahead of the writer's, and its readings are at these times of the writer's clock.
fn seen(ahead_ms: u64, error_ms: u64, looks: &[(u64, u64)]) -> BetweenDrivers {
    let key = ProbeOperation::shared_key(0, 0);
    let reads = looks.iter().map(|(at_ms, value)| {
        operation(key, ProbeKind::Read, (at_ms + ahead_ms, at_ms + ahead_ms + 1), *value)
    });
    let (writes, reads) = (writer(), reads.collect::<Vec<_>>());
    let driver = |name: &str, origin_ms: u64, error_ms: u64, operations| Driver {
        name: name.to_owned(),
        is_lost: false,
        origin_ns: origin_ms * MS,
        error_ns: error_ms * MS,
        operations,
    };
    between(&[driver("a", 0, 0, &writes[..]), driver("b", ahead_ms, error_ms, &reads[..])])
        .unwrap_or_default()
}

fn totals(found: &BetweenDrivers) -> (u64, u64) {
    found.classes.iter().fold((0, 0), |(looks, stale), class| (looks + class.looks, stale + class.stale))
}

#[test]
fn readings_by_another_clock_are_held_against_the_changes_that_were_acknowledged_before_them() {
    let fresh = seen(70_000, 5, &[(500, 1), (1500, 2), (2500, 0), (1104, 2), (2103, 0)]);
    assert_eq!(totals(&fresh), (5, 0), "{fresh:?}");
    // The old version 400 ms after the overwrite; and the first one 300 ms after the delete, 1300 ms after the overwrite.
    let stale = seen(70_000, 5, &[(1510, 1), (2410, 1)]);
    assert_eq!(totals(&stale), (2, 2), "{stale:?}");
    let longest = |class: LookClass| {
        let one = stale.classes.iter().find(|one| one.class == class);
        one.and_then(|one| one.longest_stale_ms)
    };
    assert_eq!(longest(LookClass::ReadAfterDelete), Some(300.0));
    assert_eq!(longest(LookClass::ReadAfterOverwrite), Some(1300.0));
    // Nothing where a version was acknowledged.
    assert_eq!(totals(&seen(70_000, 5, &[(500, 1), (1500, 0)])), (2, 1));
    assert_eq!((stale.changes, stale.clock_error_ms), (4, 5.0));
}

#[test]
fn what_lies_within_the_clocks_error_is_held_against_nobody() {
    // 20 ms after the overwrite was acknowledged, and the clocks may be off by 40 ms.
    let found = seen(0, 40, &[(1130, 1)]);
    assert_eq!((totals(&found), found.within_clock_error), ((1, 0), 1), "{found:?}");
    assert_eq!(totals(&seen(0, 10, &[(1130, 1)])), (1, 1));
}

#[test]
fn readings_that_no_known_change_surrounds_say_nothing_and_what_cannot_be_is_named() {
    // Before the first change, and behind the last one that is known: a lost driver may have made more.
    let found = seen(0, 5, &[(50, 0), (3200, 1), (3200, 4), (1500, 2)]);
    assert_eq!((found.unjudged, totals(&found)), (3, (1, 0)), "{found:?}");
    let found = seen(0, 5, &[(1500, 4), (1500, u64::MAX), (1500, 2)]);
    assert_eq!((found.before_sent, found.never_written, totals(&found)), (1, 1, (1, 0)), "{found:?}");
}

#[test]
fn a_reader_that_sees_nothing_at_all_of_a_writer_is_named_and_accuses_nobody() {
    let found = seen(0, 5, &[(500, 0), (1500, 0), (1700, 0)]);
    assert_eq!((totals(&found), found.blind.len(), found.reads), ((0, 0), 1, 3), "{found:?}");
    assert_eq!(found.blind[0], ("b".to_owned(), "a".to_owned()));
}

#[test]
fn listings_by_other_drivers_are_held_against_writes_and_deletes_and_not_against_overwrites() {
    let key = ProbeOperation::shared_key(0, 0);
    let found = |error_ms: u64, looks: &[(u64, u64)]| {
        let lists = looks
            .iter()
            .map(|(at_ms, value)| operation(key, ProbeKind::List, (at_ms + 70_000, at_ms + 70_001), *value));
        let (writes, lists) = (writer(), lists.collect::<Vec<_>>());
        let driver = |name: &str, origin_ms: u64, error_ms: u64, operations| Driver {
            name: name.to_owned(),
            is_lost: false,
            origin_ns: origin_ms * MS,
            error_ns: error_ms * MS,
            operations,
        };
        between(&[driver("a", 0, 0, &writes[..]), driver("b", 70_000, error_ms, &lists[..])])
            .unwrap_or_default()
    };
    let of = |found: &BetweenDrivers, class: LookClass| {
        let one = found.classes.iter().find(|one| one.class == class);
        one.map(|one| (one.looks, one.stale, one.longest_stale_ms))
    };
    // The last one while the object is being written again, whose listing may have it.
    let fresh = found(0, &[(500, 1), (1500, 1), (2500, 0), (3105, 1), (3105, 0)]);
    assert_eq!((totals(&fresh), fresh.reads), ((5, 0), 0), "{fresh:?}");
    let stale = found(0, &[(2500, 1), (1500, 0), (1600, 1)]);
    assert_eq!(of(&stale, LookClass::ListAfterDelete), Some((1, 1, Some(390.0))), "{stale:?}");
    // Since it was written, and not since it was overwritten.
    assert_eq!(of(&stale, LookClass::ListAfterCreate), Some((2, 1, Some(1390.0))), "{stale:?}");
    // Within the clocks' error, before the first change and behind the last one.
    assert_eq!(totals(&found(40, &[(2130, 1)])), (1, 0));
    assert_eq!(totals(&found(0, &[(50, 0), (3500, 0)])), (0, 0));
}

#[test]
fn a_listing_behind_a_change_without_an_answer_may_show_either() {
    let key = ProbeOperation::shared_key(0, 0);
    let mut writes = writer();
    writes[2].is_done = false;
    writes.push(operation(key, ProbeKind::Write, (4100, 4110), 5));
    // The delete without an answer may come whenever it likes; what was there before it cannot be missed.
    for (looks, stale) in
        [(&[(2500, 1), (2500, 0), (3500, 1), (3500, 0)][..], 0), (&[(1500, 0), (500, 0)][..], 2)]
    {
        let mut lists: Vec<ProbeOperation> =
            looks.iter().map(|(at, value)| operation(key, ProbeKind::List, (*at, at + 1), *value)).collect();
        lists.sort_by_key(|one| one.call_ns);
        let driver = |name: &str, operations| Driver {
            name: name.to_owned(),
            is_lost: false,
            origin_ns: 0,
            error_ns: 0,
            operations,
        };
        let found = between(&[driver("a", &writes[..]), driver("b", &lists[..])]).unwrap_or_default();
        assert_eq!(totals(&found), (looks.len() as u64, stale), "{found:?}");
    }
}

#[test]
fn each_of_many_drivers_is_held_against_each_other_one_once() {
    let drivers = 30_u32;
    let key = |writer| ProbeOperation::shared_key(writer, 0);
    let operations: Vec<Vec<ProbeOperation>> = (0..drivers)
        .map(|number| {
            let own = [(100, 1), (1100, 2), (2100, 3)]
                .map(|(at, value)| operation(key(number), ProbeKind::Write, (at, at + 10), value));
            // Of its neighbour it sees the version before the last.
            let reads = (0..drivers).filter(|writer| *writer != number).map(|writer| {
                let value = if writer == number + 1 { 1 } else { 2 };
                operation(key(writer), ProbeKind::Read, (1500, 1501), value)
            });
            own.into_iter().chain(reads).collect()
        })
        .collect();
    let all: Vec<Driver<'_>> = operations
        .iter()
        .enumerate()
        .map(|(number, operations)| Driver {
            name: format!("d{number}"),
            is_lost: false,
            origin_ns: 0,
            error_ns: number as u64 * MS,
            operations,
        })
        .collect();
    let found = between(&all).unwrap_or_default();
    let pairs = u64::from(drivers * (drivers - 1));
    assert_eq!((found.reads, found.changes, totals(&found)), (pairs, 90, (pairs, 29)), "{found:?}");
    assert_eq!(found.clock_error_ms, 57.0, "the two that may be off most");
}

#[test]
fn what_was_read_is_found_among_any_number_of_changes() {
    // Every third change is a delete; some were not heard of.
    let made = |at: u64| Made {
        call_ns: at as i64 * 10,
        return_ns: at as i64 * 10 + 5,
        version: (!at.is_multiple_of(3)).then_some(at),
        is_done: true,
    };
    let heard: Vec<u64> = (1..=3000).filter(|at| at % 7 != 0).collect();
    let mut object = Object { changes: heard.iter().map(|at| made(*at)).collect(), ..Object::default() };
    object.sort();
    for end in [0, 1, 2, 100, 1500, object.changes.len()] {
        let values = [0, 1, 2, 4, 7, 100, 151, 2999];
        for value in values {
            let before = &object.changes[..end];
            let wanted = before.iter().rposition(|change| change.version.unwrap_or(0) == value);
            assert_eq!(object.last_with(value, end), wanted, "{value} before {end}");
        }
    }
    assert!(object.has(100) && !object.has(7) && !object.has(3) && !object.has(9_999));
}

#[test]
fn a_change_without_an_answer_is_judged_either_way_and_what_comes_after_it_as_ever() {
    // Version 2 at 1100 ms has no answer until 1110 ms, or the delete at 2100 ms has none.
    for (unanswered, looks, judged, unjudged) in [
        // Before the next answer both are right, and nothing is not; after it the old one is stale, and the open one may have come
        // later.
        (1, &[(1500, 1), (1500, 2), (1500, 0), (2500, 0), (2500, 1), (2500, 2)][..], (5, 2), 1),
        (2, &[(2500, 2), (2500, 0), (2500, 1), (3500, 4), (3500, 2), (3500, 0)][..], (5, 2), 1),
        // Also where the first change has none: nothing was known before the second.
        (0, &[(500, 1), (500, 0), (1500, 2), (1500, 1), (1500, 0)][..], (2, 1), 3),
    ] {
        let mut writes = writer();
        writes[unanswered].is_done = false;
        // One more, so that the last one is known.
        let key = ProbeOperation::shared_key(0, 0);
        writes.push(operation(key, ProbeKind::Delete, (4100, 4110), 0));
        let look = |(at_ms, value): &(u64, u64)| operation(key, ProbeKind::Read, (*at_ms, at_ms + 1), *value);
        let mut reads: Vec<ProbeOperation> = looks.iter().map(look).collect();
        reads.sort_by_key(|one| one.call_ns);
        let driver = |name: &str, operations| Driver {
            name: name.to_owned(),
            is_lost: false,
            origin_ns: 0,
            error_ns: 0,
            operations,
        };
        let found = between(&[driver("a", &writes[..]), driver("b", &reads[..])]).unwrap_or_default();
        assert_eq!((totals(&found), found.unjudged), (judged, unjudged), "{unanswered}: {found:?}");
        assert_eq!((found.changes, found.never_written), (4, 0), "{found:?}");
    }
}

#[test]
fn a_change_without_an_answer_ends_what_can_be_said() {
    let mut writes = writer();
    writes[3].is_done = false;
    let key = ProbeOperation::shared_key(0, 0);
    let look = |at_ms, value| operation(key, ProbeKind::Read, (at_ms, at_ms + 1), value);
    let reads = [look(2500, 2), look(3050, 0), look(3105, 0), look(4000, 2)];
    let driver = |name: &str, operations| Driver {
        name: name.to_owned(),
        is_lost: true,
        origin_ns: 0,
        error_ns: 0,
        operations,
    };
    let found = between(&[driver("a", &writes[..]), driver("b", &reads[..])]).unwrap_or_default();
    assert_eq!((totals(&found), found.unjudged), ((2, 1), 2), "{found:?}");
    assert_eq!(found.lost, ["a", "b"]);
    assert!(between(&[driver("a", &writes[..])]).is_none(), "nobody else reads it");
}
