//! What the archive promises, seen from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod cosbench;
mod cosbench_runs;
mod damage;
mod fio;
mod histograms;
mod kill;
mod operations;
mod overview;
mod record;
mod sharing;
mod support;
mod tables;
