//! Messages between controllers and drivers on NATS, as MessagePack with named fields: a receiver ignores fields that it
//! does not know and fills in those that it misses, and a change of meaning has another [`MESSAGE_VERSION`].
//! Source: the MessagePack specification (msgpack.org).

use std::time::Duration;

use cosmark_workload::listed::ListedNames;
use cosmark_workload::read_sizes::ObjectLength;
use cosmark_workload::share::MissionShare;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lease::Standing;
use crate::{DriverEvent, StageOrder, TriggerOrder, stage_from_text, stage_to_text};

/// Version of the messages. Drivers and controllers work together only with the same.
pub const MESSAGE_VERSION: u32 = 3;

/// A message that cannot be read or written.
#[derive(Debug, Error)]
pub enum MessageError {
    /// It does not hold what it should.
    #[error("a message cannot be read: {0}")]
    Damaged(#[from] rmp_serde::decode::Error),
    /// It cannot be put into bytes.
    #[error("a message cannot be written: {0}")]
    Unwritable(#[from] rmp_serde::encode::Error),
}

/// The bytes of a message.
///
/// # Errors
/// [`MessageError::Unwritable`]
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, MessageError> {
    Ok(rmp_serde::to_vec_named(message)?)
}

/// The message in these bytes.
///
/// # Errors
/// [`MessageError::Damaged`]
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    Ok(rmp_serde::from_slice(bytes)?)
}

/// What a controller's signature covers beside the sealed bytes, so that a message says nothing to another driver, in another
/// run, or a second time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// [`MESSAGE_VERSION`] of what is sealed.
    pub version: u32,
    /// What is sealed.
    pub kind: EnvelopeKind,
    /// The driver that it is for.
    pub driver: String,
    /// The run that an order belongs to; empty for a question.
    pub run: String,
    /// Of an order [`Order::id`], of a question a number that no other has.
    pub id: String,
    /// The step that an order is about, for a driver that cannot open it.
    pub step: Option<u32>,
    /// When it was signed, ns since 1970 by the controller's clock.
    pub issued_ns: i64,
}

/// What is sealed in a signed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvelopeKind {
    /// An [`Order`].
    Order,
    /// A [`TargetQuestion`].
    Probe,
    /// A [`crate::agent::Look`], which is no secret and therefore not sealed.
    Look,
    /// A [`crate::agent::FaultAsk`]; not sealed either.
    Fault,
}

/// What a controller tells a driver. Each is complete in itself and may come twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Prepare a stage: open, log in, ask the stores.
    Stage(StageMessage),
    /// Begin.
    Go {
        /// The stage's step.
        step: u32,
        /// When, on the driver's clock.
        start_ns: u64,
        /// The same instant on the controller's clock, ns since 1970.
        unix_ns: i64,
        /// How the two were compared.
        clock: crate::ClockFix,
    },
    /// Start no further operation.
    Finish {
        /// The stage's step.
        step: u32,
    },
    /// Drop the operations in flight, too.
    Abort {
        /// The stage's step.
        step: u32,
    },
    /// Run a trigger script.
    Trigger {
        /// The trigger's step.
        step: u32,
        /// Which.
        trigger: TriggerOrder,
    },
    /// The run is over: stop what is still going on and forget it.
    Forget,
}

impl Order {
    /// What tells it from the other orders of its run to the same driver.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Stage(stage) => format!("{}/stage", stage.step),
            Self::Go { step, .. } => format!("{step}/go"),
            Self::Finish { step } => format!("{step}/finish"),
            Self::Abort { step } => format!("{step}/abort"),
            Self::Trigger { step, .. } => format!("{step}/trigger"),
            Self::Forget => "forget".to_owned(),
        }
    }

    /// The step that it is about.
    #[must_use]
    pub fn step(&self) -> Option<u32> {
        match self {
            Self::Stage(stage) => Some(stage.step),
            Self::Go { step, .. }
            | Self::Finish { step }
            | Self::Abort { step }
            | Self::Trigger { step, .. } => Some(*step),
            Self::Forget => None,
        }
    }
}

/// A [`StageOrder`] on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageMessage {
    /// See [`StageOrder::step`].
    pub step: u32,
    /// Index of the stage.
    pub stage_index: usize,
    /// The stage as text, secrets included: the message is sealed.
    pub stage: String,
    /// The shares.
    pub shares: Vec<ShareMessage>,
    /// Seed of the run.
    pub seed: u64,
    /// Send every sample.
    #[serde(default)]
    pub log_operations: bool,
    /// See [`StageOrder::drain`].
    #[serde(default)]
    pub drain_ms: Option<u64>,
    /// See [`StageOrder::lengths`]: work, operation, least and most bytes.
    #[serde(default)]
    pub lengths: Vec<(usize, usize, u64, u64)>,
    /// See [`StageOrder::listings`]: work, operation, least names, and for how many milliseconds they may be behind.
    #[serde(default)]
    pub listings: Vec<(usize, usize, u64, u64)>,
    /// See [`StageOrder::probes`].
    #[serde(default)]
    pub probes: Option<crate::ProbeShare>,
}

/// A [`MissionShare`] on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareMessage {
    /// Index of the work.
    pub work: usize,
    /// Index of the driver.
    #[serde(default)]
    pub driver: usize,
    /// Global index of its first worker.
    pub first_worker: u32,
    /// Its workers.
    pub workers: u32,
}

impl StageMessage {
    /// For the way.
    #[must_use]
    pub fn of(order: &StageOrder) -> Self {
        let share = |share: &MissionShare| {
            let MissionShare { work, driver, first_worker, workers } = *share;
            ShareMessage { work, driver, first_worker, workers }
        };
        Self {
            step: order.step,
            stage_index: order.stage_index,
            stage: stage_to_text(&order.stage),
            shares: order.shares.iter().map(share).collect(),
            seed: order.seed,
            log_operations: order.log_operations,
            drain_ms: order.drain.map(|drain| u64::try_from(drain.as_millis()).unwrap_or(u64::MAX)),
            lengths: order
                .lengths
                .iter()
                .map(|one| (one.work, one.op, one.least_bytes, one.most_bytes))
                .collect(),
            listings: order
                .listings
                .iter()
                .map(|one| {
                    let settle_ms = u64::try_from(one.settle.as_millis()).unwrap_or(u64::MAX);
                    (one.work, one.op, one.least, settle_ms)
                })
                .collect(),
            probes: order.probes,
        }
    }

    /// What it was.
    ///
    /// # Errors
    /// One sentence when the stage is not understood, or a share does not fit it.
    pub fn order(&self) -> Result<StageOrder, String> {
        let stage = stage_from_text(&self.stage)?;
        let mut shares = Vec::with_capacity(self.shares.len());
        for share in &self.shares {
            let ShareMessage { work, driver, first_worker, workers } = *share;
            let of = stage.works.get(work).map_or(0, |work| work.workers);
            if workers == 0 || first_worker.checked_add(workers).is_none_or(|end| end > of) {
                return Err(format!("work {work} of stage {} has {of} workers, not these", stage.name));
            }
            shares.push(MissionShare { work, driver, first_worker, workers });
        }
        Ok(StageOrder {
            step: self.step,
            stage_index: self.stage_index,
            stage: std::sync::Arc::new(stage),
            shares,
            seed: self.seed,
            log_operations: self.log_operations,
            drain: self.drain_ms.map(Duration::from_millis),
            lengths: self.lengths.iter().map(of_length).collect(),
            listings: self.listings.iter().map(of_listing).collect(),
            probes: self.probes,
        })
    }
}

fn of_length(&(work, op, least_bytes, most_bytes): &(usize, usize, u64, u64)) -> ObjectLength {
    ObjectLength { work, op, least_bytes, most_bytes }
}

fn of_listing(&(work, op, least, settle_ms): &(usize, usize, u64, u64)) -> ListedNames {
    ListedNames { work, op, least, settle: Duration::from_millis(settle_ms) }
}

/// What a driver tells a controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The step that it is about.
    pub step: u32,
    /// Counts the events of this step of this driver, from 0. Duplicates and gaps are told by it.
    pub seq: u64,
    /// What.
    pub event: DriverEvent,
}

/// What a controller writes down for itself, so that another one that takes the run up decides the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Control {
    /// Some of those who take part, where they are too many for one message; said before the run begins.
    Drivers {
        /// Counts these messages of a run, from 0.
        part: u32,
        /// Who.
        drivers: Vec<Registration>,
    },
    /// The run begins.
    Started {
        /// When, ns since 1970.
        unix_ns: i64,
        /// The workload that is run: a hash of its text.
        workload: String,
        /// Who takes part beside those of [`Control::Drivers`].
        drivers: Vec<Registration>,
    },
    /// A user wants it to end.
    Cancelled {
        /// The step that was going on.
        step: u32,
        /// At once, without waiting for operations in flight.
        abort: bool,
    },
    /// A driver was not heard of for too long.
    Lost {
        /// Which.
        driver: String,
        /// The step that was going on.
        step: u32,
        /// How long nothing was heard.
        silent_ms: u64,
        /// What it did not do in time although it was there; `None` = it was not there.
        #[serde(default)]
        late: Option<String>,
    },
    /// A driver was not there when a step began.
    Absent {
        /// Which.
        driver: String,
        /// The step.
        step: u32,
    },
    /// The run is over.
    Ended,
}

/// A network interface of a driver's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Such as `eth0`.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// Speed in bits per second, where the system tells.
    pub speed_bits_per_s: Option<u64>,
}

/// What a driver says about itself when it joins, and every two seconds from then on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    /// Its name.
    pub name: String,
    /// [`MESSAGE_VERSION`] that it speaks.
    pub message_version: u32,
    /// Version of Cosmark.
    pub version: String,
    /// Labels, sorted by key.
    #[serde(default)]
    pub labels: Vec<(String, String)>,
    /// Host name.
    #[serde(default)]
    pub host: String,
    /// Processors it may use.
    #[serde(default)]
    pub cores: u32,
    /// Memory of the machine.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Network interfaces.
    #[serde(default)]
    pub nics: Vec<Nic>,
    /// Storage types that it speaks.
    #[serde(default)]
    pub adaptors: Vec<String>,
    /// What its start options let workloads reach on its machine, in the words of the table of keys; `None` = it does not say.
    #[serde(default)]
    pub reaches: Option<Vec<String>>,
    /// Operations per second of its null adaptor on one load thread.
    #[serde(default)]
    pub ceiling_ops_per_s: Option<f64>,
    /// Public key for which its orders are sealed.
    pub public_key: [u8; 32],
    /// Drawn at each start: tells a restarted driver from one that was silent.
    pub life: u64,
    /// The runs that it works on.
    #[serde(default)]
    pub runs: Vec<String>,
    /// Share of its processors that is busy, 0 to 1.
    #[serde(default)]
    pub load: Option<f64>,
    /// Events that wait to be acknowledged.
    #[serde(default)]
    pub waiting: u64,
    /// What keeps it from working, one sentence.
    #[serde(default)]
    pub trouble: Option<String>,
    /// What it is really doing, whoever ordered it.
    #[serde(default)]
    pub doing: Vec<Doing>,
    /// Public keys of the controllers that it obeys; none = the one that the cluster publishes first.
    #[serde(default)]
    pub trusts: Vec<String>,
    /// Orders and questions since its start that no controller which it trusts had signed.
    #[serde(default)]
    pub forged: u64,
    /// Its own public key (NKey): its events are signed by it.
    #[serde(default)]
    pub identity: String,
    /// Its signature over [`Registration::what_is_proved`].
    #[serde(default)]
    pub proof: Vec<u8>,
}

/// What a driver does for one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doing {
    /// The run.
    pub run: String,
    /// Requests that it sends to stores.
    pub requests_per_s: f64,
    /// Whether it may.
    pub standing: Standing,
    /// How long ago it heard a renewal of the run's lease, ms; `None` = never.
    #[serde(default)]
    pub lease_age_ms: Option<u64>,
    /// The stores: host and port.
    #[serde(default)]
    pub stores: Vec<String>,
}

impl Registration {
    /// What makes a registration that of the holder of [`Registration::identity`]: nobody else's key for sealing can stand in it.
    #[must_use]
    pub fn what_is_proved(&self) -> Vec<u8> {
        let mut bytes = b"cosmark driver\n".to_vec();
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.public_key);
        bytes
    }
}

/// The answer to a clock probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockAnswer {
    /// The driver's run clock, ns.
    pub now_ns: u64,
    /// Its wall clock, ns since 1970.
    pub unix_ns: i64,
    /// See [`Registration::life`].
    pub life: u64,
}

/// A question whether a target can be reached from a driver; sealed, because it holds the target's secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetQuestion {
    /// A stage of one work with the target, as text.
    pub stage: String,
}

/// The answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetAnswer {
    /// How long it took, ms.
    pub ms: u64,
    /// Why it failed; `None` = the store answered.
    pub failure: Option<crate::Failure>,
}
