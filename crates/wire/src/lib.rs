//! Messages between a controller and its drivers. A local run uses the same ones over [`DriverLink`] inside one
//! process: there is no second way to run a workload.

pub mod agent;
mod clock;
mod driver_link;
mod event;
pub mod lease;
pub mod message;
mod samples;
mod split;
mod stage_text;

pub use clock::{RunClock, unix_ns};
pub use driver_link::{DriverLink, EventSender, FromDriver, Gone, ProbeShare, StageOrder, TriggerOrder};
pub use event::{
    Began, ClockDrift, ClockFix, ContainersBefore, DriverEvent, Failure, FailureClass, FailureExample,
    Launched, MissionReport, PauseReason, TriggerReport,
};
pub use message::MESSAGE_VERSION;
pub use samples::SampleColumns;
pub use split::split;
pub use stage_text::{stage_from_text, stage_to_text};
