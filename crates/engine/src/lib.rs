//! Runs one driver's share of one stage: makes the load, times it, verifies what comes back, stops when it should.
//!
//! One thread per core; each has its own runtime, connections, workers, generators and recorders, and shares nothing
//! with the others while operations run. Only [`worker`] loops over operations: [`pace`] says when the next one is due,
//! [`source`] says which it is, [`ops`] asks the adaptor for it.

mod choice;
mod content;
mod files;
pub mod fill;
mod flow;
mod guard;
mod hashcheck;
mod memory;
mod mission;
mod names;
mod ops;
mod pace;
mod permit;
mod probe;
mod recorder;
mod sample_log;
mod session;
mod share;
mod source;
mod thread;
mod timer;
mod verify;
mod worker;

pub use content::{Body, Pattern};
pub use flow::{Flow, GiveUp};
pub use mission::{
    Began, EngineError, EngineEvent, ErrorExample, Known, LoadEnd, Mission, MissionTimes, StageShare,
};
pub use ops::needs;
pub use pace::{ArrivalError, Recorded, look_at_recorded};
pub use permit::{Held, JUMP, LoadPermit, Pause, Pulse, coarse_ns, suspended_ns};
pub use probe::BodyProbe;
pub use session::{SessionCache, SharedSession};
pub use share::{LoadThread, LoadThreads, ShareHandle, start};
