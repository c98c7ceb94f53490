//! What a controller and an agent on one of the store's machines (`cosmark node`) say to each other. An agent reads its own
//! machine's counters for a while and sends them; it can be asked for nothing else.

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
}
