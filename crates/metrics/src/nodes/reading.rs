//! What a collector brings from one machine at one moment, and how it is handed on to whoever keeps or shows it.

use std::borrow::Cow;
use std::sync::Arc;

use super::quantity::Quantity;
use crate::NodeResult;

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What it is.
    pub quantity: &'static Quantity,
    /// Which one of the machine's: `cpu3`, `sda`, `eth0`; empty for what a machine has once.
    pub unit: String,
    /// As the source calls it: `node_disk_reads_completed_total`; empty where it has no names of its own.
    pub name: Cow<'static, str>,
    /// In the unit of the quantity.
    pub value: f64,
    /// When it was true, by the clock of its reading, where its source says so of each number.
    pub at_ns: Option<u64>,
}

/// Samples of one reading beyond these are left out: no machine has so many parts, whatever its exporter says.
const MOST_SAMPLES: usize = 20_000;

/// Nothing of a machine is more, in whatever unit. Rates and sums of larger numbers, whatever an exporter says, could be
/// none, which no record can hold.
const MOST_VALUE: f64 = 1e24;

/// All that was read at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// When it was true, nanoseconds since 1970 by the clock of the controller.
    pub at_ns: u64,
    /// The numbers.
    pub samples: Vec<Sample>,
}

impl Reading {
    /// Adds a number; what is no number is left out.
    pub fn add(&mut self, quantity: &'static Quantity, unit: &str, value: f64) {
        self.add_named(quantity, unit, "", value);
    }

    /// The same of a source that has a name for it.
    pub fn add_named(
        &mut self,
        quantity: &'static Quantity,
        unit: &str,
        name: impl Into<Cow<'static, str>>,
        value: f64,
    ) {
        self.add_at(quantity, unit, name, value, None);
    }

    /// The same of a number that was true at a time of its own.
    pub fn add_at(
        &mut self,
        quantity: &'static Quantity,
        unit: &str,
        name: impl Into<Cow<'static, str>>,
        value: f64,
        at_ns: Option<u64>,
    ) {
        if (0.0..=MOST_VALUE).contains(&value) && self.samples.len() < MOST_SAMPLES {
            self.samples.push(Sample { quantity, unit: unit.to_owned(), name: name.into(), value, at_ns });
        }
    }
}

/// Who looks at the store's machines while a run goes on, for whoever writes the run down.
pub trait NodesSeen {
    /// What each machine was busy with between two moments, nanoseconds since 1970. What lies before is forgotten.
    fn between(&self, from_ns: u64, to_ns: u64) -> Vec<NodeResult>;

    /// Every look since the last call.
    fn take(&self) -> Vec<NodeLook>;

    /// A sentence for each machine that does not answer now, or of which a part does not.
    fn troubles(&self) -> Vec<String>;
}

/// A machine of the store, as the workload has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName {
    /// Its name.
    pub name: String,
    /// What it does for the store.
    pub role: String,
    /// Who gives its figures.
    pub source: String,
}

/// What came of looking at a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLook {
    /// Which one.
    pub node: Arc<NodeName>,
    /// What was found.
    pub found: Found,
}

/// Numbers, or why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// What it tells.
    Reading {
        /// The numbers.
        reading: Arc<Reading>,
        /// For how long they had been the same when they were read, nanoseconds.
        age_ns: u64,
    },
    /// It does not answer.
    Lost {
        /// Since when, nanoseconds since 1970 by the clock of the controller.
        at_ns: u64,
        /// Why, one sentence.
        why: String,
    },
}

impl NodeLook {
    /// When, nanoseconds since 1970 by the clock of the controller.
    #[must_use]
    pub fn at_ns(&self) -> u64 {
        match &self.found {
            Found::Reading { reading, .. } => reading.at_ns,
            Found::Lost { at_ns, .. } => *at_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::quantity::quantity;

    #[test]
    fn numbers_that_no_machine_has_are_left_out() {
        let busy = quantity("cpu_busy_s").unwrap();
        let mut reading = Reading::default();
        for value in [0.0, 1.5, MOST_VALUE, 1.7e308, f64::INFINITY, f64::NAN, -1.0] {
            reading.add(busy, "cpu0", value);
        }
        let values: Vec<f64> = reading.samples.iter().map(|sample| sample.value).collect();
        assert_eq!(values, [0.0, 1.5, MOST_VALUE]);
    }
}
