//! A driver that connects to NATS, registers, and carries out the orders of controllers. Its events are stored on disk
//! until NATS acknowledges them, so a lost connection, a NATS that restarts or a controller that is gone loses
//! nothing.

mod ceiling;
mod member;
mod outbox;
mod questions;
mod registration;
mod sender;
mod state;
mod stillness;
mod tenure;
pub(crate) mod trust;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use cosmark_driver::{Catalog, Options};
use thiserror::Error;
use tokio::sync::watch;

use crate::nats::{Bus, BusError, names};
pub use ceiling::measure as measure_ceiling;
use member::Member;
pub use registration::Busy;

/// Says a sentence to whoever watches the driver.
pub type Talk = Arc<dyn Fn(&str) + Send + Sync>;

/// What a driver is and where it keeps its state.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// How it works; its name is the one that it registers.
    pub options: Options,
    /// Labels.
    pub labels: Vec<(String, String)>,
    /// Directory for keys and outboxes; several drivers may share it.
    pub state: PathBuf,
    /// Most bytes that may wait for NATS.
    pub most_bytes: u64,
    /// Host name.
    pub host: String,
    /// Processors.
    pub cores: u32,
    /// Version of Cosmark.
    pub version: String,
    /// Measure its own ceiling at the start, about a second.
    pub measure_ceiling: bool,
    /// Public keys of the controllers that it obeys; none = the one that the cluster publishes when it first joins.
    pub trust: Vec<String>,
}

/// How urgently a driver is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leave {
    /// Not at all.
    Stay,
    /// Operations in flight may end, and what it has to tell is told.
    Politely,
    /// At once.
    AtOnce,
}

/// Why a driver cannot work. Each is one sentence with its remedy.
#[derive(Debug, Error)]
pub enum DriverError {
    /// NATS.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// Its name is taken or none.
    #[error("{0}")]
    Name(String),
    /// Its state directory.
    #[error("the state directory {path}: {cause}")]
    State {
        /// Where.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
}

/// Registers and works until it is told to leave.
///
/// # Errors
/// [`DriverError`] when it cannot begin.
pub async fn serve(
    bus: Bus,
    catalog: Catalog,
    options: RemoteOptions,
    mut leave: watch::Receiver<Leave>,
    talk: Talk,
) -> Result<(), DriverError> {
    let name = &options.options.name;
    if !names::is_token(name) {
        return Err(DriverError::Name(format!(
            "`{name}` cannot be the name of a driver: up to 64 of A to Z, a to z, 0 to 9, - and _; give --name"
        )));
    }
    let (mut member, answers) = Member::open(bus, catalog, options, talk).await?;
    let answering = member.answer_questions();
    let renewals = member.renewals().await?;
    member.register().await?;
    member.follow(renewals, answers, &mut leave).await;
    member.say_farewell(&leave).await;
    answering.abort();
    member.deregister().await;
    Ok(())
}
