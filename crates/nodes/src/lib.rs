//! The system under test: what the machines of a store were busy with while it was loaded. Collectors bring readings from
//! wherever a user has them (the files of `/proc` here or over ssh, a Prometheus exporter); all readings are put into the one
//! table of [`quantity::QUANTITIES`], and figures of a window of time are made from them.

pub mod collect;
pub mod figures;
pub mod filesystems;
pub mod frame;
pub mod groups;
pub mod lbn;
pub mod links;
pub mod prometheus;
pub mod raw;
pub mod requests;
pub mod source;
pub mod watch;

pub use cosmark_metrics::nodes::{quantity, reading};
