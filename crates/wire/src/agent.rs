//! What a controller and an agent on one of the store's machines (`cosmark node`) say to each other. An agent reads its own
//! machine's counters for a while and sends them, and makes the faults that its operator has named, by their names; it can be
//! asked for nothing else.

use serde::{Deserialize, Serialize};

/// An agent reads for so long at most before it has to be asked again, seconds.
pub const LONGEST_LOOK_S: u32 = 15;

/// "Read your machine for this run": sealed for nobody, signed by a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// For which run, for whoever watches the agent.
    pub run: String,
    /// For how many seconds from now, [`LONGEST_LOOK_S`] at most.
    pub for_s: u32,
}

/// The answer, by which the clocks are compared, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookAnswer {
    /// The agent's clock, ns since 1970.
    pub unix_ns: i64,
    /// See [`AgentPresence::life`].
    pub life: u64,
}

/// What an agent says about itself to whoever asks who is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPresence {
    /// Its name: that of the machine in results.
    pub name: String,
    /// What the machine does for the store.
    pub role: String,
    /// Version of the messages that it speaks.
    pub message_version: u32,
    /// Version of Cosmark.
    pub version: String,
    /// Host name.
    #[serde(default)]
    pub host: String,
    /// Drawn at each start: tells two agents of one name from each other.
    pub life: u64,
    /// Public keys of the controllers that it obeys; none = nobody yet.
    #[serde(default)]
    pub trusts: Vec<String>,
    /// The faults that its operator allows.
    #[serde(default)]
    pub faults: Vec<AgentFault>,
    /// The one that it holds, in words: which, for which run, since when.
    #[serde(default)]
    pub held: Option<String>,
}

/// A fault that the operator of a machine allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFault {
    /// Its name.
    pub name: String,
    /// How long it may be held, milliseconds.
    pub longest_ms: u64,
}

/// A request about a fault: sealed for nobody, signed by a controller. It names the fault and never what is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultAsk {
    /// "I shall want this one": nothing is made yet.
    Open {
        /// Id of the run.
        run: String,
        /// Id of the stage.
        stage: String,
        /// The fault's name in the workload, and the number of its slot.
        slot: String,
        /// Its name with the agent.
        fault: String,
        /// From when it is made to when it is to be healed, milliseconds.
        hold_ms: u64,
    },
    /// Do a step, or say what it came to.
    Step {
        /// From [`FaultAnswer::Opened`].
        ticket: u64,
        /// From 1; the same number again is the same step.
        number: u32,
        /// Which.
        step: FaultStep,
    },
    /// "My run lives."
    Alive {
        /// From [`FaultAnswer::Opened`].
        ticket: u64,
    },
}

/// A step of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultStep {
    /// Make it.
    Inject,
    /// Look whether it is there.
    Prove,
    /// Heal it.
    Heal,
    /// Ask whether the store has noticed.
    Noticed,
    /// Ask whether redundancy is whole.
    Whole,
}

/// The answer to a [`FaultAsk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultAnswer {
    /// It may be asked for with this ticket.
    Opened {
        /// The ticket: each fault is made once for one.
        ticket: u64,
    },
    /// It is not done, and why.
    Refused(String),
    /// The step is being done; ask again.
    Busy,
    /// It was done, or is so; what was printed, cut.
    Yes(String),
    /// It is not so.
    No,
    /// It could not be done, and why.
    Failed(String),
    /// It was to be healed and was in force no more, although its run had not asked for that.
    Ended {
        /// Why, and by whom.
        why: String,
        /// How long ago, milliseconds.
        ago_ms: u64,
    },
    /// The run is heard of.
    Heard,
}

/// What the machine's counters said at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentReading {
    /// See [`AgentPresence::life`].
    pub life: u64,
    /// When, by the agent's clock, ns since 1970.
    pub unix_ns: i64,
    /// Name of the quantity, which part of the machine, and how much.
    pub samples: Vec<(String, String, f64)>,
    /// Numbers that had no room in the message.
    #[serde(default)]
    pub left_out: u64,
    /// What of the machine says nothing while the rest does, in one sentence.
    #[serde(default)]
    pub missing: Option<String>,
}
