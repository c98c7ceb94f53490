//! The table of checks: what is looked at, what it needs, when it warns and fails, what to do. The verdict, `cosmark
//! judge` and the page `docs/guide/believing-a-result.md` are all made from it.

mod alike;
mod client;
mod clocks;
mod content;
mod context;
mod data;
mod load;
mod nodes;
mod steadiness;
#[cfg(test)]
mod tests;

use crate::bounds;
use crate::evidence::Evidence;
use crate::finding::{Finding, Status};

pub use content::misses_of;

/// One check.
#[derive(Debug)]
pub struct CheckRow {
    /// `V1` to `V26`.
    pub id: &'static str,
    /// Name in `run.json`.
    pub name: &'static str,
    /// What it asks.
    pub question: &'static str,
    /// What it needs to be made.
    pub needs: &'static str,
    /// When it warns.
    pub warns: &'static str,
    /// When it fails; for `length` when the result is not proven.
    pub fails: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// What its value says about the headline figures, unless the finding says it itself.
    moves: Moves,
    /// Looks.
    look: fn(&Evidence) -> Finding,
}

/// How much of a headline figure a finding can have moved, by its value. The gravest reason of a verdict is the one that moves
/// most.
#[derive(Debug, Clone, Copy)]
enum Moves {
    /// This share of the figure.
    Share(&'static str),
    /// All of it: the figure is about something else.
    Whole(&'static str),
    /// The finding says it, or nobody knows.
    Unsaid,
}

impl Moves {
    fn of(self, finding: &Finding) -> Option<(&'static str, f64)> {
        let value = finding.value?;
        match self {
            Self::Share(figure) => Some((figure, value)),
            Self::Whole(figure) => Some((figure, 1.0)),
            Self::Unsaid => None,
        }
    }

    /// Adds it to a finding that is not fine.
    fn said(self, finding: Finding) -> Finding {
        if finding.moves.is_some() || !matches!(finding.status, Status::Warn | Status::Fail) {
            return finding;
        }
        match self.of(&finding) {
            Some((figure, share)) => finding.moving(figure, share),
            None => finding,
        }
    }
}

const RATE: &str = "throughput_per_s";
const MEDIAN: &str = "response_ms.p50";
const P95: &str = "response_ms.p95";
const TAIL: &str = "response_ms.p99";

/// The row with this id.
#[must_use]
pub fn row(id: &str) -> Option<&'static CheckRow> {
    CHECKS.iter().find(|row| row.id == id)
}

/// All checks on one measured stage, in the order of the table.
#[must_use]
pub fn findings(evidence: &Evidence) -> Vec<(&'static CheckRow, Finding)> {
    if evidence.operations.iter().all(|op| op.bounds.is_empty()) && !evidence.operations.is_empty() {
        let mut bounded = evidence.clone();
        bounds::add(&mut bounded);
        return looked(&bounded);
    }
    looked(evidence)
}

fn looked(evidence: &Evidence) -> Vec<(&'static CheckRow, Finding)> {
    CHECKS.iter().map(|row| (row, row.moves.said((row.look)(evidence)))).collect()
}

/// All checks.
pub const CHECKS: &[CheckRow] = &[
    CheckRow {
        id: "V1",
        name: "littles_law",
        question: "Do concurrency, rate and time in the store fit together (N = X R), each measured on its own?",
        needs: "a measured window",
        warns: "off by more than 2 %, and what the client's longest pause may hide of whole operations; what is under way at the edges of the window is accounted for by its age, or where that is not recorded allowed for by 2 R / T; what a load that was cut, or a driver that was lost, had under way is in no record, and then a lack says nothing",
        fails: "off by more than 5 %, and the same",
        remedy: "operations are missing from the record: report it as a bug of Cosmark, with the archive",
        moves: Moves::Share(RATE),
        look: load::littles_law,
    },
    CheckRow {
        id: "V2",
        name: "idle_workers",
        question: "Were the workers of a closed loop always in a request?",
        needs: "a closed loop without think time; where a total ended it, operations enough to tell the share from its error",
        warns: "idle more than 3 % of their time, and where a total ended the work 1 / sqrt(operations) + workers / (2 operations); \
                done with their share of a total, and waiting for slower ones, more than 5 % of their time: not idling, and never FALSE",
        fails: "idle more than 10 %, and the same",
        remedy: "give the client more load threads or drivers, or fewer workers; a dead or refusing store idles them too; where \
                 workers waited for slower ones, end the work by a runtime instead of a total",
        moves: Moves::Share(RATE),
        look: load::idle_workers,
    },
    CheckRow {
        id: "V3",
        name: "schedule_lag",
        question: "Did the client send what was due when it was due?",
        needs: "an open loop",
        warns: "being late can have moved a headline figure by more than 5 %",
        fails: "more than 0.5 % of the arrivals unaccounted for, but for one of each worker where a load was cut or a driver lost; being late alone never fails a run, its figures say how much",
        remedy: "more load threads, more drivers, a quieter machine, or a lower rate",
        moves: Moves::Unsaid,
        look: load::schedule_lag,
    },
    CheckRow {
        id: "V4",
        name: "offered_is_achieved",
        question: "Was offered what the schedule says, over the time that was planned, and did the store serve it?",
        needs: "an open loop or a rate per worker; for the length of the window a runtime",
        warns: "in flight grows by more than 1 % of the rate per second, or less than 99 % of what a rate per worker asks for was made, or what was not served came due while drivers made no load (V16)",
        fails: "less than 99 % of what was due was served, one operation allowed and by how many more may be under way at one end of the window than at the other by chance; a window more than 0.5 % off the runtime, or arrivals off the schedule by more than that and one",
        remedy: "offer less; at this rate the queue only grows and no steady latency exists. A window or a schedule that is off is a bug of Cosmark: report it, with the archive",
        moves: Moves::Unsaid,
        look: load::offered_is_achieved,
    },
    CheckRow {
        id: "V5",
        name: "client_cpu",
        question: "Had the load threads processor time to spare?",
        needs: "the client's own measurements",
        warns: "waiting for a processor, or for a load thread that was busy, can have moved a headline figure by more than 5 %; a hypervisor took more than 5 %",
        fails: "an open loop was not served while a load thread was busy, or waited, more than 85 % of the time, or the quota of its control group was used up in more than half of the periods; else never, the figures that it moves say by how much (V25)",
        remedy: "more load threads (--threads), another machine for the client, fewer workers per driver",
        moves: Moves::Unsaid,
        look: client::cpu,
    },
    CheckRow {
        id: "V6",
        name: "client_pauses",
        question: "Did the client's machine itself pause?",
        needs: "the client's own measurements",
        warns: "pauses can have moved a headline figure by more than 5 %, or the machine was suspended",
        fails: "suspended for more than 5 % of the window; pauses alone never, the figures that they move say by how much (V25)",
        remedy: "measure from a machine that does nothing else",
        moves: Moves::Unsaid,
        look: client::pauses,
    },
    CheckRow {
        id: "V7",
        name: "client_network",
        question: "Had the client's network room to spare?",
        needs: "an interface whose speed the system tells",
        warns: "busiest direction above 80 % of the link",
        fails: "above 92 %, where the run itself moved at least half of what the link carries",
        remedy: "more drivers, or a faster link",
        moves: Moves::Whole(RATE),
        look: client::network,
    },
    CheckRow {
        id: "V8",
        name: "steadiness",
        question: "Is it a number, or a curve?",
        needs: "at least 10 intervals in the window of each work; works are looked at one by one",
        warns: "drift above 5 %, five rounds more than 20 % apart, a change of level above 10 %, a start-up in the window, a stall in its middle, or a stretch without any success in which some were due",
        fails: "drift above 10 %, rounds more than 50 % apart, a change of level above 25 %, a stall that took more than 10 %, or no success in more than 5 % of the window",
        remedy: "for a start-up a longer rampup, for a stall the cause at the place that is named; if it goes on, report it over time or over the number of objects, not as one number",
        moves: Moves::Share(RATE),
        look: steadiness::steadiness,
    },
    CheckRow {
        id: "V9",
        name: "length",
        question: "Was the window long enough?",
        needs: "a measured window",
        warns: "shorter than 60 s where the storage says sut_window: short",
        fails: "not proven when shorter than 60 s, than 30 times the p99 or than 5 times the rampup, or fewer than 20 operations per worker of a closed loop",
        remedy: "a longer runtime",
        moves: Moves::Unsaid,
        look: data::length,
    },
    CheckRow {
        id: "V10",
        name: "censoring",
        question: "Are the slowest operations in the numbers, or were they still running?",
        needs: "the ages of what was in flight at the end",
        warns: "older than the p99 and still running: more than 0.5 % of all where a p99 is shown (2.5 % where p95 is the highest, 10 % with p50 alone), or 1 % of the workers' time",
        fails: "more than 2 % of all (10 %, 25 %); in a closed loop those that hung for more than half of the window took more than 5 % of its workers' time",
        remedy: "a longer window; until then percentiles and means are lower bounds. For operations that hang a timeout",
        moves: Moves::Unsaid,
        look: data::censoring,
    },
    CheckRow {
        id: "V11",
        name: "percentile_support",
        question: "Do enough operations lie beyond the p99?",
        needs: "operations",
        warns: "fewer than 100 of an operation's times lie beyond its p99; below 10 it is withheld",
        fails: "never",
        remedy: "a longer runtime, or a smaller percentile",
        moves: Moves::Unsaid,
        look: data::percentile_support,
    },
    CheckRow {
        id: "V12",
        name: "errors",
        question: "How much failed, and with what?",
        needs: "operations",
        warns: "more than 0.1 % of the operations, or of the workers' time, went into failures",
        fails: "more than 1 %; what failed in the slots of faults that were made and proved warns, and only what failed beside them fails",
        remedy: "mend the cause that the sentence names; the rate of successes alone is not a service rate",
        moves: Moves::Share(RATE),
        look: data::errors,
    },
    CheckRow {
        id: "V13",
        name: "objects_exist",
        question: "Do operations find their objects?",
        needs: "operations that need an object; before a run the workload. What the store answered decides; the workload names the cause",
        warns: "more than 0.1 % are answered 404; before a run, nothing in the workload writes what is read; deletes find nothing, which some stores call success, or all succeeds although deletes took objects away",
        fails: "more than 1 % are answered 404; before a run, deletes of the workload take away more than 0.1 % of what it reads",
        remedy: "prepare what is read; delete other numbers than are read, and write them again",
        moves: Moves::Share(RATE),
        look: content::objects_exist,
    },
    CheckRow {
        id: "V14",
        name: "working_set",
        question: "Do reads reach the disks, or only memory?",
        needs: "nodes that tell their memory, or sut_ram in the storage or target, unless the data set is tiny",
        warns: "data read below 5 times the store's memory, or so small that any machine keeps it in memory; with nodes, less than half of the bytes came from their disks",
        fails: "data read below the memory that sut_ram states; never where nodes show that at least half of the bytes came from their disks",
        remedy: "more or larger objects; sut_cache: intended if a cache is what you measure",
        moves: Moves::Whole(MEDIAN),
        look: content::working_set,
    },
    CheckRow {
        id: "V15",
        name: "clocks",
        question: "Do the drivers' clocks agree?",
        needs: "two drivers",
        warns: "times more than 10 ms apart after their offsets are corrected for, or a clock that goes more than 0.1 % too fast or too slow",
        fails: "more than 100 ms apart, or more than 0.5 % too fast or too slow; an offset alone is told and is no fault",
        remedy: "synchronise the drivers' clocks; replace a machine whose clock drifts",
        moves: Moves::Unsaid,
        look: clocks::clocks,
    },
    CheckRow {
        id: "V16",
        name: "common_window",
        question: "Were all drivers at work for the whole window?",
        needs: "two drivers, or one that was lost or paused",
        warns: "first and last worker began more than 1 % of the window apart, or any part of a driver missing, or a driver that made no load for a while",
        fails: "apart by more than 5 %, or more than 5 % of the load missing",
        remedy: "look at the driver that came late or was lost; a longer rampup hides small differences",
        moves: Moves::Share(RATE),
        look: client::common_window,
    },
    CheckRow {
        id: "V17",
        name: "drivers_alike",
        question: "Do the drivers see the same store?",
        needs: "two drivers",
        warns: "p50, p99 or rate per worker differ by more than a quarter beyond what chance makes of so few operations; where a percentile lies at a leap that the times of both have, as between hits and misses of a cache, the mean does",
        fails: "by more than a factor of 2",
        remedy: "read the drivers' numbers one by one; look at the network path of the slow one",
        moves: Moves::Unsaid,
        look: alike::drivers_alike,
    },
    CheckRow {
        id: "V18",
        name: "connections",
        question: "Were connections kept?",
        needs: "requests over a network",
        warns: "more than 1 % of the requests opened a new connection, or TIME_WAIT fills half of the ports",
        fails: "more than 20 %",
        remedy: "let the store keep connections alive; sut_connections: new if new ones are what you measure",
        moves: Moves::Share(MEDIAN),
        look: client::connections,
    },
    CheckRow {
        id: "V19",
        name: "network_health",
        question: "Did the network lose data?",
        needs: "TCP counters of the driver's own connections to the store, or nodes with TCP counters",
        warns: "more than 0.1 % of the segments sent again at either end, as many of the packets of a node's link dropped or damaged, or connections dropped by a node because a queue was full",
        fails: "more than 1 % of the driver's own",
        remedy: "mend the network first: retransmissions shape the tail",
        moves: Moves::Share(TAIL),
        look: client::network_health,
    },
    CheckRow {
        id: "V20",
        name: "integrity",
        question: "Did reads and listings give what was written, and was that real data?",
        needs: "reads with verify, or hash checks; listings of containers that a prepare stage of the workload fills",
        warns: "zeros are written, which a store may compress or deduplicate",
        fails: "a body that was wrong, or short without a fault that was made, or reads of a size that nobody wrote; a listing that ends \
                with fewer names than were prepared and nothing deletes, or that has a name twice",
        remedy: "find out why; until then speed does not matter. content: random instead of zero",
        moves: Moves::Whole(RATE),
        look: content::integrity,
    },
    CheckRow {
        id: "V21",
        name: "hidden_retries",
        question: "Is one operation one attempt?",
        needs: "counts of requests on the wire",
        warns: "any retry inside an operation",
        fails: "more than 1 % of the requests",
        remedy: "turn retries off: a retried operation hides an error in a time",
        moves: Moves::Share(TAIL),
        look: content::hidden_retries,
    },
    CheckRow {
        id: "V22",
        name: "repetition",
        question: "Would it come out again?",
        needs: "five runs of one workload, given together to `cosmark judge`",
        warns: "the 95 % interval of the median is wider than 5 % to either side",
        fails: "wider than 20 %",
        remedy: "repeat the run; compare only what was repeated",
        moves: Moves::Share(RATE),
        look: context::repetition,
    },
    CheckRow {
        id: "V23",
        name: "background",
        question: "Was the store busy with something else?",
        needs: "sut_background in the storage or target, or nodes that tell of recovery, scrubbing and lost drives; other runs of Cosmark are seen by themselves",
        warns: "you say that it was, another run loaded its drivers or the store at the same time, nodes show copies or drives that are missing or fail, recovery or scrubbing, more that is damaged or pending than before, or a machine or disk was more than 30 % busy before the load",
        fails: "never",
        remedy: "wait until recovery, rebalancing and scrubbing are over, and say sut_background: none",
        moves: Moves::Unsaid,
        look: context::background,
    },
    CheckRow {
        id: "V24",
        name: "bounds",
        question: "Is it possible at all?",
        needs: "results",
        warns: "the storage only pretends (mock, none)",
        fails: "more in flight than workers, faster than the wire, reads without bytes, percentiles out of order",
        remedy: "do not use these numbers; if the storage is real, report it as a bug of Cosmark",
        moves: Moves::Whole(RATE),
        look: context::bounds,
    },
    CheckRow {
        id: "V25",
        name: "figures_hold",
        question: "Which figures hold, and to how much?",
        needs: "operations that ended in a measured window",
        warns: "a headline figure (throughput, p50, p95 or p99 of an operation) is known only within more than 5 %, with what the client can have added and the sampling error",
        fails: "no headline figure is known within 50 % because of the client; not proven when there is too little data for any, or too much of it had not finished or was dropped",
        remedy: "mend the cause that the sentence names; for sampling a longer runtime",
        moves: Moves::Unsaid,
        look: bounds::figures_hold,
    },
    CheckRow {
        id: "V26",
        name: "durability",
        question: "Is what the store acknowledged still there?",
        needs: "`check: durability` in the workload, or `cosmark verify-data` after the run; without them nothing is known of what was \
                written, unless reads with `verify` compare all of it and it was not there before",
        warns: "objects that were late, undecided or could not be read, or only some were read",
        fails: "anything that was acknowledged is lost, corrupt, stale or back, or a listing and its objects differ",
        remedy: "find out why before anything else is measured: the table of findings names every object",
        moves: Moves::Whole(RATE),
        look: content::durability,
    },
];
