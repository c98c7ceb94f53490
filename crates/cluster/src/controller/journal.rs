//! The decisions about a run that earlier controllers recorded in its stream, for the controller that takes it over.

use std::collections::BTreeSet;

use cosmark_controller::StopLevel;
use cosmark_wire::message::{Control, Registration, decode};

use super::RemoteError;
use crate::nats::names::{self, About, read};
use crate::nats::{Bus, Identity, Message, open_signed};

/// The decisions of a run so far.
#[derive(Debug, Default)]
pub struct Journal {
    /// How it began; `None` = it has not.
    pub started: Option<Started>,
    /// Drivers that were named before it began.
    announced: Vec<Registration>,
    /// In which step the user wanted it to end, and how urgently.
    pub cancelled: Vec<(u32, StopLevel)>,
    /// Drivers that were not there when a step began.
    pub absent: BTreeSet<(u32, String)>,
    /// Steps that were ordered, and from whom.
    pub ordered: BTreeSet<(u32, String)>,
}

/// How a run began.
#[derive(Debug)]
pub struct Started {
    pub unix_ns: i64,
    pub workload: String,
    pub drivers: Vec<Registration>,
}

/// Whether a controller with our key wrote this down, or ordered it.
fn is_signed_by_us(bus: &Bus, message: &Message) -> bool {
    let me = bus.identity().map(Identity::public).unwrap_or_default();
    match read(&message.subject) {
        Some((_, About::Order(_))) => open_signed(&message.payload, |key| key == me).is_ok(),
        _ => message.is_by(me),
    }
}

impl Journal {
    /// Reads the run up to message `last`.
    pub async fn read(bus: &Bus, run: &str, last: u64) -> Result<Self, RemoteError> {
        let mut journal = Self::default();
        for filter in [names::control(run), names::order(run, "*")] {
            for message in bus.history(&filter, last).await.map_err(RemoteError::Bus)? {
                if is_signed_by_us(bus, &message) {
                    journal.record(run, &message)?;
                }
            }
        }
        Ok(journal)
    }

    fn record(&mut self, run: &str, message: &Message) -> Result<(), RemoteError> {
        match read(&message.subject) {
            Some((_, About::Order(driver))) => {
                if let Some(step) = message.step() {
                    self.ordered.insert((step, driver.to_owned()));
                }
            }
            Some((_, About::Control)) => match decode(&message.payload) {
                Ok(Control::Drivers { mut drivers, .. }) => self.announced.append(&mut drivers),
                Ok(Control::Started { unix_ns, workload, mut drivers }) if self.started.is_none() => {
                    let mut all = std::mem::take(&mut self.announced);
                    all.append(&mut drivers);
                    self.started = Some(Started { unix_ns, workload, drivers: all });
                }
                Ok(Control::Cancelled { step, abort }) => {
                    let level = if abort { StopLevel::Abort } else { StopLevel::Finish };
                    self.cancelled.push((step, level));
                }
                Ok(Control::Absent { driver, step }) => {
                    self.absent.insert((step, driver));
                }
                Ok(Control::Ended) => return Err(RemoteError::Over(run.to_owned())),
                Ok(Control::Started { .. } | Control::Lost { .. }) | Err(_) => {}
            },
            _ => {}
        }
        Ok(())
    }
}
