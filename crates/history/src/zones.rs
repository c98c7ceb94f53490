//! Registers with any number of writers and without deletes, by the zones of their values.
//!
//! A value's operations are its write and its reads. In an atomic history all of them stand together between those of two other
//! values. Let `over` be when the first of them ended and `begun` when the last of them began: value A comes before value B if
//! `over(A) < begun(B)`, and the history is atomic if and only if no two values come before each other (a longer circle always holds
//! one of two: of its values take the one that began last; whatever follows it in the circle ended before that, too).
//! Source: P. Gibbons and E. Korach, "Testing shared memories", SIAM Journal on Computing 26, 1997.

use crate::{ABSENT, Key, Kind, Mistake, Outcome, Violation, Wrong};

/// A place that stands for the write of what was there at the beginning.
const NOBODY: u32 = u32::MAX;

/// A value.
#[derive(Debug, Clone, Copy)]
struct Value {
    value: u64,
    /// Its write.
    write: u32,
    /// When the write began; 0 for what was there at the beginning.
    call: u64,
    /// When the first of its operations was over, [`u64::MAX`] if none is known to be.
    over: u64,
    /// When the last of its operations began.
    begun: u64,
    first_over: u32,
    last_begun: u32,
}

/// Memory that is used for one key after the other.
#[derive(Default)]
pub(crate) struct Scratch {
    values: Vec<Value>,
    /// Place of a read, number of its value.
    reads: Vec<(u32, u32)>,
    /// Numbers of values by the time at which their writes began, and of those from there on the one that ended first: of all
    /// operations, and of the acknowledgement.
    by_call: Vec<u32>,
    first_over: Vec<u32>,
    first_acked: Vec<u32>,
    stale: Vec<Stale>,
}

/// A read that missed an acknowledged write.
struct Stale {
    read: u32,
    value: u32,
    missed: u32,
}

/// Times are counted from 1, so that 0 is before all of them.
fn after_zero(ns: u64) -> u64 {
    ns.saturating_add(1)
}

pub(crate) fn judge(
    key: &Key<'_>,
    scratch: &mut Scratch,
    found: &mut dyn FnMut(Violation),
) -> Result<(), Mistake> {
    collect_values(key, scratch)?;
    collect_reads(key, scratch, found);
    judge_reads(key, scratch, found);
    judge_zones(key, scratch, found);
    Ok(())
}

fn collect_values(key: &Key<'_>, scratch: &mut Scratch) -> Result<(), Mistake> {
    let values = &mut scratch.values;
    values.clear();
    values.push(Value {
        value: ABSENT,
        write: NOBODY,
        call: 0,
        over: 0,
        begun: 0,
        first_over: NOBODY,
        last_begun: NOBODY,
    });
    for (place, one) in key.operations().filter(|(_, one)| one.kind == Kind::Write) {
        let call = after_zero(one.call_ns);
        let over = if one.outcome == Outcome::Done { after_zero(key.over_ns(one)) } else { u64::MAX };
        values.push(Value {
            value: one.value,
            write: place,
            call,
            over,
            begun: call,
            first_over: place,
            last_begun: place,
        });
    }
    // What was refused has not happened: another write of its value, as of one who tried again, is the only one.
    let is_refused = |value: &Value| value.write != NOBODY && key.at(value.write).outcome == Outcome::Failed;
    values.sort_unstable_by_key(|value| (value.value, is_refused(value), value.write));
    values.dedup_by(|later, first| later.value == first.value && is_refused(later));
    match values.windows(2).find(|pair| pair[0].value == pair[1].value) {
        Some(pair) => Err(Mistake::ValueTwice(pair[0].write, pair[1].write)),
        None => Ok(()),
    }
}

/// Finds the value of each read; those that no order of operations can save are told at once.
fn collect_reads(key: &Key<'_>, scratch: &mut Scratch, found: &mut dyn FnMut(Violation)) {
    let Scratch { values, reads, .. } = scratch;
    reads.clear();
    for (place, one) in key.operations() {
        if one.kind != Kind::Read || one.outcome != Outcome::Done {
            continue;
        }
        let mut wrong = |wrong, evidence: Vec<u32>| found(Violation::new(wrong, one.key, place, evidence));
        let Ok(number) = values.binary_search_by_key(&one.value, |value| value.value) else {
            wrong(Wrong::NeverWritten, Vec::new());
            continue;
        };
        let value = &mut values[number];
        if value.write != NOBODY && key.at(value.write).outcome == Outcome::Failed {
            wrong(Wrong::Refused, vec![value.write]);
            continue;
        }
        let over = after_zero(key.over_ns(one));
        if over < value.call {
            wrong(Wrong::Future, vec![value.write]);
            continue;
        }
        if over < value.over {
            (value.over, value.first_over) = (over, place);
        }
        reads.push((place, u32::try_from(number).unwrap_or(NOBODY)));
    }
}

/// Tells the reads that are wrong by themselves; the others take part in the zones of their values.
fn judge_reads(key: &Key<'_>, scratch: &mut Scratch, found: &mut dyn FnMut(Violation)) {
    prepare(key, scratch);
    let Scratch { values, reads, by_call, first_over, first_acked, stale } = scratch;
    stale.clear();
    for (place, number) in reads.iter() {
        let one = key.at(*place);
        let call = after_zero(one.call_ns);
        let over = values[*number as usize].over;
        // Values whose writes began when this one was certainly there.
        let from = by_call.partition_point(|other| values[*other as usize].call <= over);
        let acked = first_acked.get(from).filter(|other| acked_at(key, &values[**other as usize]) < call);
        if let Some(missed) = acked {
            stale.push(Stale { read: *place, value: *number, missed: *missed });
            continue;
        }
        let shown = first_over.get(from).map(|other| &values[*other as usize]);
        if let Some(newer) = shown.filter(|newer| newer.over < call) {
            let own = values[*number as usize].write;
            let evidence = [own, newer.first_over].into_iter().filter(|place| *place != NOBODY).collect();
            found(Violation::new(Wrong::WentBack, one.key, *place, evidence));
            continue;
        }
        let value = &mut values[*number as usize];
        if call > value.begun {
            (value.begun, value.last_begun) = (call, *place);
        }
    }
    judge_stale(key, scratch, found);
}

/// When a write was acknowledged; [`u64::MAX`] if it was not.
fn acked_at(key: &Key<'_>, value: &Value) -> u64 {
    if value.write == NOBODY {
        return 0;
    }
    let write = key.at(value.write);
    if write.outcome == Outcome::Done { after_zero(key.over_ns(write)) } else { u64::MAX }
}

/// Sorts values by when their writes began, and says of each suffix which was over and acknowledged first.
fn prepare(key: &Key<'_>, scratch: &mut Scratch) {
    let Scratch { values, by_call, first_over, first_acked, .. } = scratch;
    by_call.clear();
    by_call
        .extend((0_u32..).zip(values.iter()).filter(|(_, value)| value.over != u64::MAX).map(|(at, _)| at));
    by_call.sort_unstable_by_key(|at| values[*at as usize].call);
    for (least, ends) in [
        (&mut *first_over, &(|value: &Value| value.over) as &dyn Fn(&Value) -> u64),
        (&mut *first_acked, &|value: &Value| acked_at(key, value)),
    ] {
        least.clear();
        least.resize(by_call.len(), 0);
        let mut best: Option<u32> = None;
        for at in (0..by_call.len()).rev() {
            let own = by_call[at];
            let is_less = best.is_none_or(|best| ends(&values[own as usize]) < ends(&values[best as usize]));
            if is_less {
                best = Some(own);
            }
            least[at] = best.unwrap_or(own);
        }
    }
}

/// Tells stale reads with the number of versions that they are behind: the acknowledged writes that began after the read's value
/// was there and were over before the read began. Counted for all of them in one pass with a tree of sums (P. Fenwick, "A new
/// data structure for cumulative frequency tables", Software 24, 1994).
fn judge_stale(key: &Key<'_>, scratch: &mut Scratch, found: &mut dyn FnMut(Violation)) {
    let Scratch { values, by_call, stale, .. } = scratch;
    if stale.is_empty() {
        return;
    }
    // Numbers of values by acknowledgement.
    let mut by_ack: Vec<(u64, u32)> = (0_u32..)
        .zip(by_call.iter())
        .map(|(at, number)| (acked_at(key, &values[*number as usize]), at))
        .filter(|(acked, _)| *acked != u64::MAX)
        .collect();
    by_ack.sort_unstable();
    stale.sort_unstable_by_key(|one| (key.at(one.read).call_ns, one.read));
    let mut sums = vec![0_u64; by_call.len() + 1];
    let mut next = 0;
    let mut in_all = 0;
    for Stale { read, value, missed } in stale.iter() {
        let one = key.at(*read);
        let call = after_zero(one.call_ns);
        while by_ack.get(next).is_some_and(|(acked, _)| *acked < call) {
            let mut at = by_ack[next].1 as usize + 1;
            while at < sums.len() {
                sums[at] += 1;
                at += at & at.wrapping_neg();
            }
            next += 1;
            in_all += 1;
        }
        let over = values[*value as usize].over;
        let mut at = by_call.partition_point(|other| values[*other as usize].call <= over);
        let mut before = 0;
        while at > 0 {
            before += sums[at];
            at -= at & at.wrapping_neg();
        }
        let own = values[*value as usize].write;
        let missed = values[*missed as usize].write;
        let evidence = [own, missed].into_iter().filter(|place| *place != NOBODY).collect();
        found(Violation {
            versions: in_all - before,
            age_ns: one.call_ns.saturating_sub(key.at(missed).return_ns),
            ..Violation::new(Wrong::Stale, one.key, *read, evidence)
        });
    }
}

/// Tells values that come before each other by the reads that were right so far. Those that were told began after the first operation
/// of their value was over, so they have not made it be over earlier. A write that may not have happened and that nobody saw is left
/// out: it has not.
fn judge_zones(key: &Key<'_>, scratch: &mut Scratch, found: &mut dyn FnMut(Violation)) {
    let Scratch { values, by_call: backward, first_over: forward, .. } = scratch;
    let numbers = |forward: bool| {
        let is_part = move |value: &Value| value.over != u64::MAX && (value.over < value.begun) == forward;
        (0_u32..).zip(values.iter()).filter(move |(_, value)| is_part(value)).map(|(at, _)| at)
    };
    forward.clear();
    forward.extend(numbers(true));
    forward.sort_unstable_by_key(|at| values[*at as usize].over);
    backward.clear();
    backward.extend(numbers(false));
    // Of the values up to each place of `forward` the one whose operations began last.
    let mut longest: Vec<u32> = Vec::with_capacity(forward.len());
    for number in forward.iter() {
        let own = &values[*number as usize];
        if let Some(last) = longest.last().copied() {
            let other = &values[last as usize];
            if own.over < other.begun {
                found(crossed(key, other, own));
            }
            longest.push(if own.begun > other.begun { *number } else { last });
        } else {
            longest.push(*number);
        }
    }
    for number in backward.iter() {
        let own = &values[*number as usize];
        let before = forward.partition_point(|other| values[*other as usize].over < own.begun);
        let Some(other) = before.checked_sub(1).map(|at| &values[longest[at] as usize]) else { continue };
        if own.over < other.begun {
            found(crossed(key, other, own));
        }
    }
}

fn crossed(key: &Key<'_>, first: &Value, second: &Value) -> Violation {
    let places = [first.last_begun, first.first_over, second.first_over, second.last_begun];
    let mut places: Vec<u32> = places.into_iter().filter(|place| *place != NOBODY).collect();
    places.dedup();
    let read = places.remove(0);
    Violation::new(Wrong::Crossed, key.at(read).key, read, places)
}
