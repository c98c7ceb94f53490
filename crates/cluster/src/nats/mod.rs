//! NATS and JetStream between controllers and drivers: how to connect, the names of subjects, streams and buckets, and a
//! local `nats-server` for those who have none. Source: the NATS documentation (docs.nats.io), JetStream of server 2.9 or
//! newer.

pub mod config_file;
mod connect;
mod error;
mod keys;
pub mod names;
pub mod owner;
pub(crate) mod private_file;
mod publish;
mod registry;
pub mod roles;
mod run_leases;
mod seal;
pub mod server;
mod setup;
mod sign;
mod speaker;
mod stream_reader;
mod supervisor;
mod trust;

pub use connect::{Bus, LinkState, NatsOptions};
pub use error::BusError;
pub use publish::{Refused, Sent};
pub use registry::{Present, Registry};
pub use run_leases::{NotRenewed, Renewals};
pub use seal::{Key, seal};
pub use setup::{Limits, patiently};
pub use sign::{Identity, Signed, Unsigned, claimed, is_event_of, is_public_key, open_signed};
pub use stream_reader::{Message, StreamError, StreamNow, StreamReader};
pub use supervisor::SupervisedServer;
