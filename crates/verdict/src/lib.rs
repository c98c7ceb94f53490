//! Whether the numbers of a run can be believed: the verdict, of runs of ours, of runs that COSBench made, and of a workload
//! before anything is sent.
//!
//! [`evidence::Evidence`] is read from an archive ([`from_archive`]) or from COSBench's tables; each row of [`CHECKS`] makes
//! one [`Finding`] of it, purely; [`judge()`] and [`judge_cosbench`] put these together. The checks and where each comes
//! from: Little's law (J. D. C. Little, 1961) as an audit, coordinated omission (G. Tene), steady state (MSER-5,
//! E-divisive), censoring (Kaplan and Meier), SNIA PTS, MLPerf Storage, Hoefler and Belli, "Scientific benchmarking of
//! parallel computing systems" (SC 2015). Limits are constants of the check that uses them.

mod bottleneck;
pub mod bounds;
mod checks;
mod cosbench;
pub mod evidence;
mod finding;
mod fio;
pub mod from_archive;
mod judge;
mod numbers;
mod observed;
mod open;
mod overload;

pub use bottleneck::bottlenecks;
pub use checks::{CHECKS, CheckRow, findings, misses_of, row};
pub use cosbench::judge_cosbench;
pub use finding::{Allows, Finding, Status, rank};
pub use judge::{judge, judge_so_far, judged, most_telling, preflight, telling_order};
pub use numbers::{percent, plain};
pub use observed::{ObservedLoads, all_loads, ladders};
pub use open::open_judged;
