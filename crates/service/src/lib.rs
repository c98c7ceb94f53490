//! The controller as a service: queue, history, REST, server-sent events, COSBench's endpoints, and the console's files.
//!
//! The way of a submission: [`api`] lets it in, [`check`] reads it, [`queue`] keeps it in a [`Store`] and begins it when there is
//! room, [`queue::runner`] takes it to its archive on a thread of its own with a [`DriverPool`] of drivers, [`live`] tells those who watch.

pub mod api;
pub mod auth;
mod check;
mod daemon;
mod drivers;
mod error;
mod http;
pub mod live;
mod queue;
mod reach;
mod state;
mod studies;

pub use auth::keys::ClusterKey;
pub use daemon::{LocalSetup, Setup, run_local, run_with_nats};
pub use drivers::{DriverPool, LocalPool, PoolJob, Tried};
pub use error::ServiceError;
pub use http::serve::Tls;
pub use queue::nodes::Stores;
pub use queue::runner::PlaysFaults;
pub use queue::store::{Answer, FileStore, Leader, QueueEntry, Store};
pub use reach::reached_at;
pub use state::StateDir;
pub use studies::{GoOn, StudiesSetup};
