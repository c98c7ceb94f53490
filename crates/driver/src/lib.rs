//! A driver: takes a stage's shares, opens adaptors, logs in, asks each store whether it is there, runs the engine and
//! reports. It knows no adaptor by name: the tables are given to it.

mod ask;
mod before;
mod beside;
mod canary;
mod catalog;
pub mod clean;
pub mod dataset;
pub mod describe;
mod health;
mod load;
mod local;
mod permit;
pub mod places;
pub mod proc;
pub mod readback;
mod recorded;
pub mod schema;
pub mod secrets;
mod slices;
mod start_barrier;
mod target;
mod trigger;
mod way;

pub use ask::try_target;
pub use catalog::{Catalog, Found, PluginRow, ReadsPlugins};
pub use load::{Reading, apply_settings, cosbench_xml, native_yaml, read_target, read_workload};
pub use local::{LocalDriver, Options, Stopper, too_many_workers};
pub use permit::{Origin, Permit};
pub use recorded::{RecordedFile, RecordedProblem, recorded_files};
pub use start_barrier::Start;
pub use target::{Opened, open_target};
