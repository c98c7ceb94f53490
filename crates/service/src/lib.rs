//! The controller as a service: queue, history, REST, server-sent events, COSBench's endpoints, and the console's files.
//!
//! The way of a submission: [`api`] lets it in, [`check`] reads it, [`desk`] keeps it in a [`Store`] and begins it when there is
//! room, [`runner`] takes it to its archive on a thread of its own with a [`Fleet`] of drivers, [`live`] tells those who watch.

pub mod access;
pub mod api;
mod check;
mod daemon;
mod desk;
mod error;
mod fleet;
pub mod live;
mod relay;
mod remote;
mod runner;
mod seal;
mod secrets;
mod serve;
mod state;
mod store;
pub mod tokens;

pub use daemon::{LocalSetup, Setup, run_local, run_with_nats};
pub use error::ServiceError;
pub use fleet::{Fleet, FleetJob, LocalFleet, Tried};
pub use seal::ClusterKey;
pub use serve::Tls;
pub use state::StateDir;
pub use store::{Answer, FileStore, Leader, QueueEntry, Store};
