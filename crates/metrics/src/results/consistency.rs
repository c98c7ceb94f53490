//! How soon what was written was seen: the sums of looks that probers beside a load count, and what they amount to.
//! P(stale | t) and t-visibility are those of P. Bailis and others, "Probabilistically bounded staleness", VLDB 2012.

use serde::{Deserialize, Serialize};

/// What is asked by a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LookClass {
    /// A read of a new object.
    ReadAfterCreate,
    /// A read of an object that was overwritten.
    ReadAfterOverwrite,
    /// A read of an object that was deleted.
    ReadAfterDelete,
    /// A listing after a new object.
    ListAfterCreate,
    /// A listing after a delete.
    ListAfterDelete,
}

impl LookClass {
    /// Every class with its name and words.
    pub const TABLE: &'static [(LookClass, &'static str, &'static str)] = &[
        (Self::ReadAfterCreate, "read_after_create", "reads after the first write"),
        (Self::ReadAfterOverwrite, "read_after_overwrite", "reads after an overwrite"),
        (Self::ReadAfterDelete, "read_after_delete", "reads after a delete"),
        (Self::ListAfterCreate, "list_after_create", "listings after a write"),
        (Self::ListAfterDelete, "list_after_delete", "listings after a delete"),
    ];

    /// Its words.
    #[must_use]
    pub fn words(self) -> &'static str {
        row(Self::TABLE, self).2
    }

    /// Its name, as in `run.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        row(Self::TABLE, self).1
    }
}

/// Who looked, seen from who wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LookFrom {
    /// The connection that had written.
    SameConnection,
    /// Another connection, to the same endpoint.
    OtherConnection,
    /// Another connection, to another endpoint of the store.
    OtherEndpoint,
    /// Another driver, by a clock of its own.
    OtherDriver,
}

impl LookFrom {
    /// All with their names and words.
    pub const TABLE: &'static [(LookFrom, &'static str, &'static str)] = &[
        (Self::SameConnection, "same_connection", "from the connection that wrote"),
        (Self::OtherConnection, "other_connection", "from other connections"),
        (Self::OtherEndpoint, "other_endpoint", "from other endpoints"),
        (Self::OtherDriver, "other_driver", "from other drivers"),
    ];

    /// Its words.
    #[must_use]
    pub fn words(self) -> &'static str {
        row(Self::TABLE, self).2
    }

    /// Its name, as in `run.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        row(Self::TABLE, self).1
    }
}

/// The row of `what`, with its name and words.
fn row<T: Copy + PartialEq>(
    table: &[(T, &'static str, &'static str)],
    what: T,
) -> (T, &'static str, &'static str) {
    table.iter().find(|row| row.0 == what).copied().unwrap_or((what, "", ""))
}

/// Times after an acknowledgement at which a new point begins, in us: 0, then six for each power of ten from 1 ms on.
pub const LOOK_EDGES_US: [u64; 31] = [
    0, 1_000, 1_500, 2_200, 3_300, 4_700, 6_800, 10_000, 15_000, 22_000, 33_000, 47_000, 68_000, 100_000,
    150_000, 220_000, 330_000, 470_000, 680_000, 1_000_000, 1_500_000, 2_200_000, 3_300_000, 4_700_000,
    6_800_000, 10_000_000, 15_000_000, 22_000_000, 33_000_000, 47_000_000, 68_000_000,
];

/// Looks between two edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LookBin {
    /// How many.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// Sum of the times since the acknowledgement, us.
    pub sum_us: u64,
}

/// Looks of one class from one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookCell {
    /// What was asked.
    pub class: LookClass,
    /// By whom.
    pub from: LookFrom,
    /// By [`LOOK_EDGES_US`]; as long as it has to be.
    pub bins: Vec<LookBin>,
    /// The latest look that missed the change, us after its acknowledgement.
    pub longest_stale_us: Option<u64>,
}

/// Changes of one class, by edge: how many were looked at from then on, and how many of these were missed by one such look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCell {
    /// What was asked.
    pub class: LookClass,
    /// By [`LOOK_EDGES_US`]: changes, and those that were missed.
    pub from_then_on: Vec<(u64, u64)>,
}

/// What a driver's prober has counted. Sums merge in any order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConsistencySums {
    /// Requests of the prober.
    pub requests: u64,
    /// Operations of the load beside it.
    pub load_operations: u64,
    /// Changes that were acknowledged.
    pub changes: u64,
    /// Reads that gave an answer.
    pub reads: u64,
    /// Reads of a connection that gave an older version than one of its earlier reads of the same object.
    pub back_on_a_connection: u64,
    /// Reads that gave an older version than a read of anybody that had ended before, and missed no acknowledged one.
    pub went_back: u64,
    /// Reads that gave what nobody had written.
    pub never_written: u64,
    /// Requests without an answer that could be judged.
    pub unanswered: u64,
    /// Why the first of them had none.
    pub unanswered_why: Option<String>,
    /// Objects and containers that the prober could not take away again.
    pub left: Vec<String>,
    /// Looks.
    pub looks: Vec<LookCell>,
    /// Changes.
    pub seen: Vec<ChangeCell>,
}

/// Names of what is left behind that are kept.
const MOST_LEFT: usize = 100;

impl ConsistencySums {
    /// The bin of a time.
    #[must_use]
    pub fn bin_of(after_us: u64) -> usize {
        LOOK_EDGES_US.partition_point(|edge| *edge <= after_us).saturating_sub(1)
    }

    /// Counts a look.
    pub fn look(&mut self, class: LookClass, from: LookFrom, after_us: u64, is_stale: bool) {
        let cell = self.cell(class, from);
        let at = Self::bin_of(after_us);
        if cell.bins.len() <= at {
            cell.bins.resize(at + 1, LookBin::default());
        }
        if let Some(bin) = cell.bins.get_mut(at) {
            bin.looks += 1;
            bin.stale += u64::from(is_stale);
            bin.sum_us = bin.sum_us.saturating_add(after_us);
        }
        if is_stale {
            cell.longest_stale_us = cell.longest_stale_us.max(Some(after_us));
        }
    }

    /// Notes that a look of this class missed a change so long after it was acknowledged, us; the look itself is counted by
    /// [`Self::look`], by the last change before it.
    pub fn missed(&mut self, class: LookClass, from: LookFrom, after_us: u64) {
        let cell = self.cell(class, from);
        cell.longest_stale_us = cell.longest_stale_us.max(Some(after_us));
    }

    /// Counts a change by its last look and by the last one that missed it, us after the acknowledgement.
    pub fn change(&mut self, class: LookClass, last_us: u64, last_stale_us: Option<u64>) {
        let cell = self.changes_of(class);
        let edges = Self::bin_of(last_us) + 1;
        if cell.from_then_on.len() < edges {
            cell.from_then_on.resize(edges, (0, 0));
        }
        for ((looked, stale), edge) in cell.from_then_on.iter_mut().zip(LOOK_EDGES_US).take(edges) {
            *looked += 1;
            *stale += u64::from(last_stale_us.is_some_and(|at_us| at_us >= edge));
        }
    }

    fn cell(&mut self, class: LookClass, from: LookFrom) -> &mut LookCell {
        let at = self.looks.iter().position(|cell| (cell.class, cell.from) == (class, from));
        let at = at.unwrap_or_else(|| {
            self.looks.push(LookCell { class, from, bins: Vec::new(), longest_stale_us: None });
            self.looks.len() - 1
        });
        &mut self.looks[at]
    }

    fn changes_of(&mut self, class: LookClass) -> &mut ChangeCell {
        let at = self.seen.iter().position(|cell| cell.class == class).unwrap_or_else(|| {
            self.seen.push(ChangeCell { class, from_then_on: Vec::new() });
            self.seen.len() - 1
        });
        &mut self.seen[at]
    }

    /// Adds another driver's.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            requests,
            load_operations,
            changes,
            reads,
            back_on_a_connection,
            went_back,
            never_written,
            unanswered,
            unanswered_why,
            left,
            looks,
            seen,
        } = other;
        for (sum, more) in [
            (&mut self.requests, requests),
            (&mut self.load_operations, load_operations),
            (&mut self.changes, changes),
            (&mut self.reads, reads),
            (&mut self.back_on_a_connection, back_on_a_connection),
            (&mut self.went_back, went_back),
            (&mut self.never_written, never_written),
            (&mut self.unanswered, unanswered),
        ] {
            *sum = sum.saturating_add(*more);
        }
        if self.unanswered_why.is_none() {
            self.unanswered_why.clone_from(unanswered_why);
        }
        let room = MOST_LEFT.saturating_sub(self.left.len());
        self.left.extend(left.iter().take(room).cloned());
        for LookCell { class, from, bins, longest_stale_us } in looks {
            let cell = self.cell(*class, *from);
            cell.longest_stale_us = cell.longest_stale_us.max(*longest_stale_us);
            let size = cell.bins.len().max(bins.len()).min(LOOK_EDGES_US.len());
            cell.bins.resize(size, LookBin::default());
            for (sum, LookBin { looks, stale, sum_us }) in cell.bins.iter_mut().zip(bins) {
                sum.looks = sum.looks.saturating_add(*looks);
                sum.stale = sum.stale.saturating_add(*stale);
                sum.sum_us = sum.sum_us.saturating_add(*sum_us);
            }
        }
        for ChangeCell { class, from_then_on } in seen {
            let cell = self.changes_of(*class);
            let size = cell.from_then_on.len().max(from_then_on.len()).min(LOOK_EDGES_US.len());
            cell.from_then_on.resize(size, (0, 0));
            for (sum, (looked, stale)) in cell.from_then_on.iter_mut().zip(from_then_on) {
                *sum = (sum.0.saturating_add(*looked), sum.1.saturating_add(*stale));
            }
        }
    }
}

/// How soon what was written was seen while a stage's load ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ConsistencyResult {
    /// Requests of the prober; they are in no figure of the load.
    pub requests: u64,
    /// Operations of the load in the same time, ramps included.
    pub load_operations: u64,
    /// Writes and deletes of the prober that were acknowledged.
    pub changes: u64,
    /// Reads that gave an answer.
    pub reads: u64,
    /// Reads of a connection that gave an older version than one of its earlier reads of the same object (monotonic reads).
    pub back_on_a_connection: u64,
    /// Reads that gave an older version than a read of anybody that had ended before, and missed no acknowledged one.
    pub went_back: u64,
    /// Reads that gave what nobody had written.
    pub never_written: u64,
    /// Requests without an answer that could be judged.
    pub unanswered: u64,
    /// Why the first of them had none; null where all were answered.
    pub unanswered_why: Option<String>,
    /// Objects and containers that the prober could not take away again.
    pub left: Vec<String>,
    /// What was looked at, by class; empty when there was no look. Writer and reader are one driver, whose clock says both times.
    pub classes: Vec<ConsistencyClass>,
    /// What drivers saw of what other drivers wrote; null with fewer than two drivers.
    pub between_drivers: Option<BetweenDrivers>,
    /// Requests of probers that are not in `probes.csv`: there were too many.
    pub not_recorded: u64,
}

/// Readings of drivers at what other drivers wrote. Their clocks differ: a reading is held against the changes that had been acknowledged
/// before it by more than the clocks may be off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BetweenDrivers {
    /// Drivers that wrote and read.
    pub drivers: Vec<String>,
    /// Those of them that were lost: of their objects only readings up to the last change that was heard of count.
    pub lost: Vec<String>,
    /// Changes of objects that drivers share.
    pub changes: u64,
    /// Readings by other drivers that gave an answer.
    pub reads: u64,
    /// Those that say nothing: before the first change of their object, or behind the last one that is known.
    pub unjudged: u64,
    /// Readings beside which a change was acknowledged within the clocks' error: that one is not held against them.
    pub within_clock_error: u64,
    /// Readings of what had not been sent by the clocks: these are further off than their comparison says.
    pub before_sent: u64,
    /// Readings that gave what nobody had written.
    pub never_written: u64,
    /// Pairs of drivers, reader and writer, of which the first saw nothing at all of the second: they may reach different stores. Their
    /// readings are in no figure.
    pub blind: Vec<(String, String)>,
    /// By how much the clocks of two drivers may have been off at most, ms: times in `classes` are right within it.
    pub clock_error_ms: f64,
    /// What was looked at, by class.
    pub classes: Vec<ConsistencyClass>,
}

/// Looks of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConsistencyClass {
    /// What was asked.
    pub class: LookClass,
    /// For people.
    pub title: String,
    /// Looks.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// Changes that were looked at.
    pub changes: u64,
    /// Those that at least one look missed.
    pub missed_changes: u64,
    /// Upper end of the 95 % interval of their share (Clopper and Pearson).
    pub missed_at_most: f64,
    /// How long after the acknowledgement the latest look that missed a change began, ms; null where none did.
    pub longest_stale_ms: Option<f64>,
    /// When changes are visible.
    pub visible: Vec<ConsistencyVisible>,
    /// By time since the acknowledgement.
    pub points: Vec<ConsistencyPoint>,
    /// The same by who looked; empty where only one did.
    pub from: Vec<ConsistencyFrom>,
}

/// From when on so large a share of changes is missed by no look any more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConsistencyVisible {
    /// The share.
    pub share: f64,
    /// The least time since the acknowledgement after which that holds with 95 % confidence, ms; null where there were too few
    /// changes to say so, or it held at no time that was looked at.
    pub after_ms: Option<f64>,
}

/// Looks between two times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConsistencyPoint {
    /// From so long after the acknowledgement, ms.
    pub from_ms: f64,
    /// Up to before this, ms; null: without an end.
    pub to_ms: Option<f64>,
    /// Mean of the times, ms.
    pub mean_ms: f64,
    /// Looks.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// Lower end of the 95 % interval of the share that does (Clopper and Pearson).
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Looks of one class from one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConsistencyFrom {
    /// Who looked, seen from who wrote.
    pub from: LookFrom,
    /// Looks.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// How long after the acknowledgement the latest look that missed a change began, ms; null where none did.
    pub longest_stale_ms: Option<f64>,
    /// By time since the acknowledgement.
    pub points: Vec<ConsistencyPoint>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(seed: u64) -> ConsistencySums {
        let mut sums = ConsistencySums {
            requests: seed,
            reads: 3,
            left: vec![format!("o{seed}")],
            ..Default::default()
        };
        for number in 0..40 {
            let after_us = (number * seed * 7_919) % 90_000_000;
            let from = LookFrom::TABLE[number as usize % 3].0;
            sums.look(LookClass::TABLE[number as usize % 5].0, from, after_us, number % 3 == 0);
            sums.change(LookClass::ReadAfterCreate, after_us, (number % 2 == 0).then_some(after_us / 2));
        }
        sums
    }

    #[test]
    fn sums_of_drivers_are_the_sums_of_their_looks_in_any_order() {
        let (a, b) = (some(3), some(11));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        let total = |sums: &ConsistencySums| -> (u64, u64) {
            let bins = sums.looks.iter().flat_map(|cell| &cell.bins);
            bins.fold((0, 0), |sum, bin| (sum.0 + bin.looks, sum.1 + bin.stale))
        };
        assert_eq!(total(&ab), (80, 28));
        assert_eq!(total(&ab), total(&ba));
        assert_eq!(ab.requests, 14);
        let changes = |sums: &ConsistencySums| sums.seen[0].from_then_on.clone();
        assert_eq!(changes(&ab), changes(&ba));
        assert_eq!(changes(&ab)[0].0, 80);
        assert!(changes(&ab).windows(2).all(|pair| pair[0].0 >= pair[1].0 && pair[0].1 >= pair[1].1));
    }

    #[test]
    fn a_time_is_in_the_bin_that_begins_with_it() {
        for (at, edge) in LOOK_EDGES_US.iter().enumerate() {
            assert_eq!(ConsistencySums::bin_of(*edge), at);
            assert_eq!(ConsistencySums::bin_of(edge + 1), at);
        }
        assert_eq!(ConsistencySums::bin_of(999), 0);
        assert_eq!(ConsistencySums::bin_of(u64::MAX), LOOK_EDGES_US.len() - 1);
    }
}
