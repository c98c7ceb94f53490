//! Histories for other checkers: Porcupine (Go; `Operation{ClientId, Input, Call, Output, Return}`) as JSON lines, and Jepsen's
//! EDN (invocations and completions in the order of time, values as `[key value]` as its independent registers have them).

use std::collections::{HashMap, HashSet};
use std::fmt::{Result, Write};

use crate::{ABSENT, Kind, Operation, Outcome};

/// One JSON object a line, of fields that Go's `encoding/json` reads into Porcupine's `Operation`: `ClientId`, `Input` with `Key`,
/// `Op` (`read`, `write`, `delete`) and `Value`, `Call`, `Output` with `Value`, `Return`; times in ns. A write that may or may not
/// have happened returns after everything else, a refused one is left out; so are reads without an answer.
///
/// # Errors
/// Those of `out`.
pub fn porcupine_json(history: &[Operation], out: &mut dyn Write) -> Result {
    let last = history.iter().map(|one| one.call_ns.max(if_done(one))).max().unwrap_or(0);
    // Each of them stands alone there: two without an answer have no order.
    let never = last.saturating_add(1);
    for one in history {
        let is_write = one.kind != Kind::Read;
        if one.outcome == Outcome::Failed || (!is_write && one.outcome == Outcome::Unknown) {
            continue;
        }
        let written = if one.kind == Kind::Write { shown(one.value) } else { ABSENT };
        let read = if is_write { ABSENT } else { shown(one.value) };
        let returned = if one.outcome == Outcome::Unknown { never } else { one.return_ns };
        writeln!(
            out,
            "{{\"ClientId\":{},\"Input\":{{\"Key\":{},\"Op\":\"{}\",\"Value\":{written}}},\"Call\":{},\"Output\":{{\"Value\":{read}}},\
             \"Return\":{returned}}}",
            one.process,
            one.key,
            word(one.kind),
            one.call_ns,
        )?;
    }
    Ok(())
}

/// A value that fits into what others read: Go's and Clojure's integers have a sign. What nobody has written is the largest one.
fn shown(value: u64) -> u64 {
    value.min(i64::MAX.cast_unsigned())
}

fn if_done(one: &Operation) -> u64 {
    if one.outcome == Outcome::Unknown { 0 } else { one.return_ns }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Write => "write",
        Kind::Delete => "delete",
        Kind::Read => "read",
    }
}

/// Jepsen's history: one map a line, `{:index 0, :type :invoke, :f :write, :value [key value], :process 1, :time ns}`. A delete is a
/// write of `nil`, a read of nothing gives `nil`. `:info` ends what may or may not have happened, `:fail` what has not.
/// Knossos takes no invocation of a process that has one open, and an `:info` closes none: whoever goes on then has a
/// number that nobody had before, as in Jepsen's own histories.
///
/// # Errors
/// Those of `out`.
pub fn jepsen_edn(history: &[Operation], out: &mut dyn Write) -> Result {
    // At one time what begins comes first: such operations overlap.
    let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(history.len() * 2);
    for (place, one) in history.iter().enumerate() {
        events.push((one.call_ns, false, place));
        events.push((one.return_ns.max(one.call_ns), true, place));
    }
    events.sort_unstable();
    let mut numbers = Processes::of(history);
    for (index, (time, is_end, place)) in events.into_iter().enumerate() {
        let one = &history[place];
        let process = if is_end { numbers.ends(one, place) } else { numbers.begins(one, place) };
        let kind = match (is_end, one.outcome) {
            (false, _) => "invoke",
            (true, Outcome::Done) => "ok",
            (true, Outcome::Unknown) => "info",
            (true, Outcome::Failed) => "fail",
        };
        let f = if one.kind == Kind::Read { "read" } else { "write" };
        let is_known =
            one.kind == Kind::Write || (one.kind == Kind::Read && is_end && one.outcome == Outcome::Done);
        write!(out, "{{:index {index}, :type :{kind}, :f :{f}, :value [{} ", one.key)?;
        if is_known && one.value != ABSENT {
            write!(out, "{}", shown(one.value))?;
        } else {
            out.write_str("nil")?;
        }
        writeln!(out, "], :process {process}, :time {time}}}")?;
    }
    Ok(())
}

/// The numbers that processes have in a history in which each has one operation open at most.
struct Processes {
    /// Of each process the number that it has now.
    now: HashMap<u32, u64>,
    /// Numbers with an operation that has not ended, or of which nobody knows whether it has.
    open: HashSet<u64>,
    /// Of each operation, by its place.
    given: Vec<u64>,
    /// Nobody has had it.
    next: u64,
}

impl Processes {
    fn of(history: &[Operation]) -> Self {
        let next = history.iter().map(|one| u64::from(one.process) + 1).max().unwrap_or(0);
        Self { now: HashMap::new(), open: HashSet::new(), given: vec![0; history.len()], next }
    }

    fn begins(&mut self, one: &Operation, place: usize) -> u64 {
        let number = self.now.entry(one.process).or_insert(u64::from(one.process));
        if !self.open.insert(*number) {
            *number = self.next;
            self.next += 1;
            self.open.insert(*number);
        }
        self.given[place] = *number;
        *number
    }

    fn ends(&mut self, one: &Operation, place: usize) -> u64 {
        let number = self.given[place];
        if one.outcome != Outcome::Unknown {
            self.open.remove(&number);
        }
        number
    }
}
