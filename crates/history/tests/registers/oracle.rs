//! A search through every order in which operations can have taken effect, for small histories.

use std::collections::HashSet;

use cosmark_history::{ABSENT, Kind, Operation, Outcome, Rules, check};

use super::made::{Draw, Shape, changed, valid};

/// One process did all writes, one after the other, and got every answer.
fn is_ordered(history: &[Operation]) -> bool {
    let writes: Vec<&Operation> = history.iter().filter(|one| one.kind != Kind::Read).collect();
    writes.iter().all(|one| one.process == writes[0].process && one.outcome != Outcome::Unknown)
}

/// Whether an atomic register can have done it, by trying.
fn is_atomic(history: &[Operation], clock_error_ns: u64) -> bool {
    let part: Vec<&Operation> = history
        .iter()
        .filter(|one| match one.kind {
            Kind::Read => one.outcome == Outcome::Done,
            _ => one.outcome != Outcome::Failed,
        })
        .collect();
    assert!(part.len() <= 32, "too many to try");
    // The order of one process counts whatever the clocks say, where one writer got every answer.
    let own_order = is_ordered(history);
    let is_before = |a: &Operation, b: &Operation| {
        let error = if own_order && a.process == b.process { 0 } else { clock_error_ns };
        a.outcome == Outcome::Done && a.return_ns + error < b.call_ns
    };
    let all_done = (0..part.len())
        .filter(|at| part[*at].outcome == Outcome::Done)
        .fold(0_u32, |bits, at| bits | 1 << at);
    let mut seen = HashSet::new();
    let mut open = vec![(0_u32, ABSENT)];
    while let Some((done, holds)) = open.pop() {
        if done & all_done == all_done {
            return true;
        }
        if !seen.insert((done, holds)) {
            continue;
        }
        let left = || (0..part.len()).filter(|at| done & (1 << at) == 0);
        for at in left() {
            let one = part[at];
            if left().any(|other| is_before(part[other], one)) {
                continue;
            }
            match one.kind {
                Kind::Read if one.value != holds => {}
                Kind::Read => open.push((done | 1 << at, holds)),
                Kind::Write => open.push((done | 1 << at, one.value)),
                Kind::Delete => open.push((done | 1 << at, ABSENT)),
            }
        }
    }
    false
}

#[test]
fn on_small_histories_the_checker_says_what_trying_every_order_says() {
    let mut draw = Draw(1);
    let (mut right, mut wrong) = (0, 0);
    for round in 0..12_000_u64 {
        let shape = Shape {
            operations: 3 + draw.below(10) as usize,
            processes: 2 + draw.below(4),
            one_writer: !round.is_multiple_of(3),
            deletes: round % 3 == 2,
            unknown: if round % 3 == 2 { 0 } else { [0, 25, 60][(round / 3 % 3) as usize] },
        };
        let mut history = valid(&mut draw, shape);
        let clock_error_ns = if round.is_multiple_of(5) { draw.below(40) } else { 0 };
        assert!(is_atomic(&history, clock_error_ns), "what a register did is atomic: {history:?}");
        for _ in 0..round % 4 {
            history = changed(&mut draw, history);
        }
        let wanted = is_atomic(&history, clock_error_ns);
        let report = check(&history, Rules { clock_error_ns }).unwrap();
        assert_eq!(
            report.is_atomic(),
            wanted,
            "round {round}, clock error {clock_error_ns}\n{history:#?}\n{:#?}",
            report.violations
        );
        if wanted { right += 1 } else { wrong += 1 }
    }
    assert!(right > 3000 && wrong > 2000, "{right} right and {wrong} wrong: the histories prove too little");
}

#[test]
fn beside_deletes_a_write_without_an_answer_never_makes_a_right_history_wrong() {
    let mut draw = Draw(2);
    let (mut wrong, mut told, mut undecided) = (0, 0, 0);
    for round in 0..6000_u64 {
        let shape = Shape {
            operations: 4 + draw.below(9) as usize,
            processes: 2 + draw.below(3),
            one_writer: true,
            deletes: true,
            unknown: 40,
        };
        let mut history = valid(&mut draw, shape);
        for _ in 0..round % 3 {
            history = changed(&mut draw, history);
        }
        let is_right = is_atomic(&history, 0);
        let report = check(&history, Rules::default()).unwrap();
        assert!(report.is_atomic() || !is_right, "{history:#?}\n{:#?}", report.violations);
        wrong += u32::from(!is_right);
        told += u32::from(!report.is_atomic());
        undecided += u32::from(!is_right && report.is_atomic());
    }
    assert!(told > 500 && undecided * 2 < wrong, "{told} told, {undecided} of {wrong} not seen");
}
