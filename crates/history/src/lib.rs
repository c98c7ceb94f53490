//! Whether a history of reads and writes is that of atomic registers (linearizable, Herlihy and Wing, TOPLAS 12, 1990), one
//! register a key, in O(n log n), and which operations say that it is not.
//!
//! Every written value is unique in its key. Then no search is needed: P. Gibbons and E. Korach, "Testing shared memories", SIAM
//! Journal on Computing 26, 1997, decide by the zones of the values ([`zones`]). Deletes write a value that is not unique; with one
//! writer a key, whose versions have an order, they are decided as well ([`versions`]).
//!
//! A write without an answer may have happened at any time after it began, or never. Clocks of different hosts differ: an operation
//! counts as before another only when it ended earlier by more than [`Rules::clock_error_ns`]; what one process did stays in its order
//! where its key has one writer who got every answer.
//!
//! Pure: no input or output, no clock.

mod export;
mod report;
mod versions;
mod zones;

pub use export::{jepsen_edn, porcupine_json};
pub use report::{Counts, MOST_SHOWN, Report, Violation, Wrong};

/// What a read gives where no object is, and what a register holds at the beginning.
pub const ABSENT: u64 = 0;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Sets the register to [`Operation::value`].
    Write,
    /// Sets the register to [`ABSENT`].
    Delete,
    /// Gave [`Operation::value`].
    Read,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Done,
    /// No answer, or one that does not tell: it may have happened, may happen later, or never.
    Unknown,
    /// It was refused: it has not happened and will not.
    Failed,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// When it was sent, ns of one clock.
    pub call_ns: u64,
    /// When its answer was complete, ns; of an [`Outcome::Unknown`] one when it was given up (not looked at).
    pub return_ns: u64,
    /// Written or read; unique among the writes of its key that were not refused, never [`ABSENT`] for a write.
    pub value: u64,
    /// Which register.
    pub key: u32,
    /// Who did it; one does one thing at a time.
    pub process: u32,
    /// What.
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
}

/// How to judge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// The clocks of two processes differ by no more than this, ns. 0: one clock.
    pub clock_error_ns: u64,
}

/// Why a history cannot be judged. Numbers are places in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// More operations than a place has room for (2^32 - 2).
    TooMany,
    /// It ended before it began.
    EndsBeforeItBegins(u32),
    /// It writes [`ABSENT`].
    WritesNothing(u32),
    /// Two writes of one value to one key, neither of them refused.
    ValueTwice(u32, u32),
    /// A key with deletes has two writers: which of its absences a read saw cannot be told.
    DeletesOfSeveral(u32, u32),
    /// The only writer of a key with deletes began the second before the first had ended.
    WriterOverlaps(u32, u32),
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooMany => {
                write!(f, "the history has more than 4294967294 operations: judge its keys in groups")
            }
            Self::EndsBeforeItBegins(at) => {
                write!(f, "operation {at} ends before it begins: give both times of one clock")
            }
            Self::WritesNothing(at) => {
                write!(f, "operation {at} writes 0, which stands for nothing: use a delete")
            }
            Self::ValueTwice(a, b) => {
                write!(f, "operations {a} and {b} write the same value: values have to be unique")
            }
            Self::DeletesOfSeveral(a, b) => write!(
                f,
                "operations {a} and {b} are by different writers of a key that has deletes: give each such key one writer"
            ),
            Self::WriterOverlaps(a, b) => {
                write!(
                    f,
                    "operation {b} began before {a} of the same writer had ended: one writer does one thing at a time"
                )
            }
        }
    }
}

impl std::error::Error for Mistake {}

/// Judges a history, in any order; the report keeps the first [`MOST_SHOWN`] violations of it.
///
/// # Errors
/// What makes it no history of registers with unique values.
pub fn check(history: &[Operation], rules: Rules) -> Result<Report, Mistake> {
    check_each(history, rules, &mut |_| {})
}

/// The same; `report_to` hears of every violation.
///
/// # Errors
/// As [`check`].
pub fn check_each(
    history: &[Operation],
    rules: Rules,
    report_to: &mut dyn FnMut(&Violation),
) -> Result<Report, Mistake> {
    let length =
        u32::try_from(history.len()).ok().filter(|length| *length < u32::MAX).ok_or(Mistake::TooMany)?;
    for (at, operation) in (0_u32..).zip(history) {
        if operation.outcome != Outcome::Unknown && operation.return_ns < operation.call_ns {
            return Err(Mistake::EndsBeforeItBegins(at));
        }
        if operation.kind == Kind::Write && operation.value == ABSENT {
            return Err(Mistake::WritesNothing(at));
        }
    }
    let mut order: Vec<u32> = (0..length).collect();
    order.sort_unstable_by_key(|at| {
        let one = &history[*at as usize];
        // What one process did within an instant came before what it began in that instant and ended later.
        (one.key, one.call_ns, one.return_ns, *at)
    });
    let mut report = Report::default();
    let mut scratch = zones::Scratch::default();
    for places in order.chunk_by(|a, b| history[*a as usize].key == history[*b as usize].key) {
        report.counts.keys += 1;
        for one in places.iter().map(|at| &history[*at as usize]) {
            report.counts.count(one);
        }
        let key = Key { history, places, clock_error_ns: rules.clock_error_ns };
        let mut found = |violation: Violation| {
            report_to(&violation);
            report.add(violation);
        };
        let has_delete = key.operations().any(|(_, one)| one.kind == Kind::Delete);
        if has_delete || versions::is_ordered(&key) {
            report.counts.undecided_reads += versions::judge(&key, &mut found)?;
        } else {
            zones::judge(&key, &mut scratch, &mut found)?;
        }
    }
    Ok(report)
}

/// The operations of one key, by the time at which they began.
struct Key<'a> {
    history: &'a [Operation],
    places: &'a [u32],
    clock_error_ns: u64,
}

impl<'a> Key<'a> {
    fn operations(&self) -> impl Iterator<Item = (u32, &'a Operation)> + '_ {
        self.places.iter().map(|at| (*at, &self.history[*at as usize]))
    }

    fn at(&self, place: u32) -> &'a Operation {
        &self.history[place as usize]
    }

    /// From when on it counts as over, for whoever has another clock.
    fn over_ns(&self, operation: &Operation) -> u64 {
        operation.return_ns.saturating_add(self.clock_error_ns)
    }
}
