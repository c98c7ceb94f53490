//! A driver: takes a stage's shares, opens adaptors, logs in, asks each store whether it is there, runs the engine and
//! reports. It knows no adaptor by name: the tables are given to it.

mod catalog;
mod files;
mod gate;
mod health;
mod local;
mod proc;
pub mod remote;
mod slices;
mod target;
mod trigger;

pub use catalog::{Catalog, Found, PluginRow};
pub use files::Files;
pub use gate::Start;
pub use local::{LocalDriver, Options};
pub use target::{Opened, open_target};
