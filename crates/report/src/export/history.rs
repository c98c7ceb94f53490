//! What the probers beside a load did and saw, as histories for other checkers: Jepsen's EDN (Knossos, Elle) and Porcupine's operations.
//! Both take all times for those of one clock. What one driver did at its own objects is that; a reading of another driver's object
//! is given as long as the two clocks leave open, as done by a process of its own: then it accuses no store of what clocks may have done.
//! Nor of changes that nobody has heard of: a driver that is lost, or that deletes at the end what has failed, makes some.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use cosmark_archive::{ProbeLine, Run};
use cosmark_history::{ABSENT, Kind, Operation, Outcome, jepsen_edn, porcupine_json};
use cosmark_metrics::{ProbeKind, ProbeOperation};

use super::{ExportError, began_ns};

pub(super) fn jepsen(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    write(run, out, jepsen_edn)
}

pub(super) fn porcupine(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    write(run, out, porcupine_json)
}

/// A function of [`cosmark_history`] that writes a history down.
type Writes = fn(&[Operation], &mut dyn std::fmt::Write) -> std::fmt::Result;

fn write(run: &Run, out: &mut dyn Write, text_of: Writes) -> Result<(), ExportError> {
    let history = read(run)?;
    let mut text = String::new();
    // A string takes all that is written to it.
    let _ = text_of(&history, &mut text);
    Ok(out.write_all(text.as_bytes())?)
}

/// Numbers for names, in the order in which they come.
#[derive(Default)]
struct Numbers<T>(BTreeMap<T, u32>);

impl<T: Ord> Numbers<T> {
    fn of(&mut self, name: T) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(name).or_insert(next)
    }
}

/// Everything that a run's probers did, times in ns since its first load began.
fn read(run: &Run) -> Result<Vec<Operation>, ExportError> {
    let began = began_ns(run);
    let first_ns = began.values().min().copied().unwrap_or(0);
    let mut lines = Vec::new();
    let is_there = run.probes(|line| lines.push(line))?;
    if !is_there || lines.is_empty() {
        return Err(ExportError::Missing {
            what: "what a prober did (probes.csv)".to_owned(),
            remedy: "run with consistency: in the workload (docs/guide/consistency.md)".to_owned(),
        });
    }
    let since = |stage: &str| {
        let began_ns = began.get(stage).copied().unwrap_or(first_ns);
        u64::try_from(began_ns.saturating_sub(first_ns)).unwrap_or(0)
    };
    Ok(history(&lines, since))
}

/// Who changes a shared object, and the last change of it that was heard of.
struct Writer<'a> {
    driver: &'a str,
    /// By how much its clock may be off, ns.
    clock_error_ns: u64,
    last: ProbeOperation,
}

impl Writer<'_> {
    /// Whether all changes that a reading which is over by then can have seen are known. The next one is sent behind the
    /// answer of the last; one without an answer may be followed by the delete of what it left.
    fn knows_all_until(&self, over_ns: u64) -> bool {
        if self.last.is_done { over_ns <= self.last.return_ns } else { over_ns < self.last.call_ns }
    }
}

/// Who changes each shared object, by stage and key.
fn writers(lines: &[ProbeLine]) -> BTreeMap<(&str, u32), Writer<'_>> {
    let mut writers: BTreeMap<(&str, u32), Writer<'_>> = BTreeMap::new();
    let is_change = |line: &&ProbeLine| matches!(line.operation.kind, ProbeKind::Write | ProbeKind::Delete);
    let changes = lines.iter().filter(is_change);
    for line in changes.filter(|line| line.operation.writer().is_some()) {
        let (place, last) = ((line.stage.as_str(), line.operation.key), line.operation);
        let (driver, clock_error_ns) = (line.driver.as_str(), line.clock_error_ns);
        let writer = writers.entry(place).or_insert(Writer { driver, clock_error_ns, last });
        if last.call_ns >= writer.last.call_ns {
            writer.last = last;
        }
    }
    writers
}

/// The history of these lines; `since` gives how long after the first load a stage's load began, ns.
fn history(lines: &[ProbeLine], since: impl Fn(&str) -> u64) -> Vec<Operation> {
    let writers = writers(lines);
    // Who sees nothing at all of another driver's objects may reach another store: stage, reader and writer.
    let pair = |line: &ProbeLine| Some((line.stage.clone(), line.driver.clone(), line.operation.writer()?));
    let seen: BTreeSet<(String, String, u32)> = lines
        .iter()
        .filter(|line| line.operation.kind == ProbeKind::Read && line.operation.value != ABSENT)
        .filter_map(pair)
        .collect();
    let (mut keys, mut processes) = (Numbers::default(), Numbers::default());
    let mut history = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let (stage, driver, one) = (line.stage.as_str(), line.driver.as_str(), line.operation);
        let writer = writers.get(&(stage, one.key));
        let is_shared = one.writer().is_some();
        // A reading of an object whose changes nobody has heard of says nothing.
        if is_shared && writer.is_none() {
            continue;
        }
        let offset_ns = since(stage);
        let kind = match one.kind {
            ProbeKind::Write => Kind::Write,
            ProbeKind::Delete => Kind::Delete,
            ProbeKind::Read => Kind::Read,
            // It says of a register whether it is there, and not what is in it.
            ProbeKind::List => continue,
        };
        let mut operation = Operation {
            call_ns: one.call_ns.saturating_add(offset_ns),
            return_ns: one.return_ns.saturating_add(offset_ns),
            value: one.value,
            key: keys.of((stage, if is_shared { "" } else { driver }, one.key)),
            process: 0,
            kind,
            outcome: if one.is_done { Outcome::Done } else { Outcome::Unknown },
        };
        let own_number = u64::try_from(at).unwrap_or(u64::MAX);
        operation.process = match writer.filter(|writer| writer.driver != driver) {
            Some(writer) => {
                let error_ns = writer.clock_error_ns.saturating_add(line.clock_error_ns);
                let over_ns = one.return_ns.saturating_add(error_ns);
                let sees = pair(line).is_some_and(|pair| seen.contains(&pair));
                if !(sees && writer.knows_all_until(over_ns)) {
                    continue;
                }
                operation.call_ns = operation.call_ns.saturating_sub(error_ns);
                operation.return_ns = operation.return_ns.saturating_add(error_ns);
                processes.of((stage, driver, "reading", own_number))
            }
            None => processes.of((stage, driver, "", u64::from(one.process))),
        };
        history.push(operation);
    }
    history
}

#[cfg(test)]
mod tests {
    use cosmark_history::{Rules, check};

    use super::*;

    fn line(driver: &str, key: u32, kind: ProbeKind, at_ms: u64, value: u64, error_ms: u64) -> ProbeLine {
        let operation = ProbeOperation {
            key,
            process: 1,
            kind,
            call_ns: at_ms * 1_000_000,
            return_ns: (at_ms + 1) * 1_000_000,
            value,
            is_done: true,
        };
        ProbeLine {
            stage: "s1-main".to_owned(),
            driver: driver.to_owned(),
            operation,
            clock_error_ns: error_ms * 1_000_000,
        }
    }

    /// Two drivers with an object of their own each, of one number, and one that both know, read so long after its overwrite,
    /// and deleted in the end.
    fn lines(read_ms: u64) -> Vec<ProbeLine> {
        let shared = ProbeOperation::shared_key(0, 0);
        vec![
            line("a", 0, ProbeKind::Write, 10, 1, 3),
            line("b", 0, ProbeKind::Write, 11, 1, 4),
            line("b", 0, ProbeKind::Read, 20, 1, 4),
            line("a", shared, ProbeKind::Write, 30, 1, 3),
            line("a", shared, ProbeKind::Write, 40, 2, 3),
            line("b", shared, ProbeKind::Read, 41 + read_ms, 1, 4),
            line("b", ProbeOperation::shared_key(7, 0), ProbeKind::Read, 50, 0, 4),
            line("a", shared, ProbeKind::Delete, 100, 0, 3),
        ]
    }

    #[test]
    fn own_objects_of_drivers_stay_apart_and_readings_of_shared_ones_are_as_long_as_the_clocks_leave_open() {
        let history = history(&lines(5), |_| 0);
        assert_eq!(history.len(), 7, "nobody has written what the last reading is of: {history:?}");
        let keys: Vec<u32> = history.iter().map(|one| one.key).collect();
        assert_eq!(keys, [0, 1, 1, 2, 2, 2, 2]);
        let read = history[5];
        assert_eq!((read.call_ns, read.return_ns), (39_000_000, 54_000_000));
        assert!(history[..5].iter().all(|one| one.process != read.process));
        // 5 ms after the overwrite: the clocks may be off by 7.
        assert!(check(&history, Rules::default()).unwrap().violations.is_empty());
    }

    #[test]
    fn a_stale_reading_beyond_the_clocks_error_stays_one() {
        let history = history(&lines(20), |_| 1_000_000_000);
        assert_eq!(history[0].call_ns, 1_010_000_000);
        assert_eq!(check(&history, Rules::default()).unwrap().violations.len(), 1);
        let mut text = String::new();
        jepsen_edn(&history, &mut text).unwrap();
        assert_eq!(text.lines().count(), 14);
    }

    #[test]
    fn what_was_changed_unheard_is_held_against_no_store() {
        let shared = ProbeOperation::shared_key(0, 0);
        let judged = |more: &[ProbeLine]| {
            let mut lines = lines(5);
            lines.extend_from_slice(more);
            let history = history(&lines, |_| 0);
            (history.len(), check(&history, Rules::default()).unwrap().violations.len())
        };
        let read = |at_ms, value| line("b", shared, ProbeKind::Read, at_ms, value, 4);
        // Writer "a" was lost behind its delete at 100 ms: version 4 was not heard of. The clocks may be off by 7 ms.
        assert_eq!(judged(&[read(90, 2), read(94, 0), read(300, 4)]), (8, 0));
        // The write of version 4 has no answer, and what it may have left was deleted in the end, which is not recorded.
        let mut failed = line("a", shared, ProbeKind::Write, 200, 4, 3);
        failed.operation.is_done = false;
        assert_eq!(judged(&[failed.clone(), read(150, 0), read(193, 4), read(250, 4), read(300, 0)]), (9, 0));
        // What is known all the same is held against it.
        assert_eq!(judged(&[failed, read(150, 2)]), (9, 1));
    }

    #[test]
    fn a_driver_that_reaches_another_store_is_no_proof_against_either() {
        let shared = ProbeOperation::shared_key(0, 0);
        let read = |driver: &str, at_ms| line(driver, shared, ProbeKind::Read, at_ms, 0, 4);
        let mut lines = lines(5);
        lines.extend([read("c", 60), read("c", 70)]);
        let others = history(&lines, |_| 0);
        assert_eq!((others.len(), check(&others, Rules::default()).unwrap().violations.len()), (7, 0));
        // One that has seen something reaches the same.
        lines.push(read("b", 60));
        assert_eq!(check(&history(&lines, |_| 0), Rules::default()).unwrap().violations.len(), 1);
    }
}
