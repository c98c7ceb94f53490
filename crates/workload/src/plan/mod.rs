//! What a workload comes to before it runs: which numbers are chosen, who does which share, what is due when, on which drivers.

pub mod choose;
pub mod drivers;
pub mod permutation;
pub mod schedule;
pub mod share;
