//! The machines of the store that is measured: `nodes:` of a workload or of a target.

use crate::model::TargetSpec;

/// More machines are not looked at in one run.
pub const MOST_NODES: usize = 1_000;

/// One machine, and how its figures are had.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSpec {
    /// Its name in the results; no two of a workload have the same.
    pub name: String,
    /// What it does for the store, in the user's words: proxy, storage, gateway. Machines of one role are compared.
    pub role: String,
    /// Interfaces whose speed the user knows better than the machine, and bytes per second of each direction.
    pub links: Vec<(String, f64)>,
    /// Who gives its figures, and the keys of that way.
    pub source: TargetSpec,
}
