//! What a collector brings from one machine at one moment.

use super::quantity::Quantity;

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What it is.
    pub quantity: &'static Quantity,
    /// Which one of the machine's: `cpu3`, `sda`, `eth0`; empty for what a machine has once.
    pub unit: String,
    /// In the unit of the quantity.
    pub value: f64,
}

/// Samples of one reading beyond these are left out: no machine has so many parts, whatever its exporter says.
const MOST_SAMPLES: usize = 20_000;

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
        if value.is_finite() && value >= 0.0 && self.samples.len() < MOST_SAMPLES {
            self.samples.push(Sample { quantity, unit: unit.to_owned(), value });
        }
    }
}
