//! Faults that the agent of another machine makes. This side knows the name of an agent and of a fault that its
//! operator has allowed, and no command of that machine: it asks for one step after another, and the agent keeps the
//! fault's limits.

use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::Heal;

use super::command::Output;
use super::process::Process;
use super::{CANNOT_TELL, Hand, Outcome};

/// What is asked of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Id of the run.
    pub run: String,
    /// Id of the stage.
    pub stage: String,
    /// The fault's name in the workload, and the number of its slot.
    pub slot: String,
    /// Its name in the agent's file.
    pub fault: String,
    /// From when it is made to when it is to be healed.
    pub hold: Duration,
}

/// One step of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
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

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It was done, or is so; what was printed.
    Yes(String),
    /// It is not so.
    No,
    /// It could not be done, or nobody can say, and why.
    Failed(String),
    /// It was to be healed and was in force no more, although its run had not asked for that: why, and how long ago.
    Ended {
        /// Why, and by whom.
        why: String,
        /// Since then.
        ago: Duration,
    },
}

/// Whoever reaches agents.
pub trait Agents: Send + Sync {
    /// Begins to speak with an agent about one of its faults. Nothing is made yet. Who asks for the same while it is
    /// spoken of speaks of the same. Blocks until the agent has answered, for some seconds at most.
    ///
    /// # Errors
    /// When it does not answer, knows no such fault, or holds another one.
    fn open(&self, agent: &str, wish: &Wish) -> Result<Box<dyn FaultThere>, String>;

    /// What became of a fault of a run that is gone, which is healed if it is in force. Blocks for some seconds at most.
    ///
    /// # Errors
    /// When the agent does not answer, or does not know.
    fn became(&self, agent: &str, ticket: u64) -> Result<Said, String>;
}

/// A fault that is spoken of with its agent. While this lives, the agent hears every other second that its run does.
pub trait FaultThere: Send {
    /// The number by which its agent knows of it.
    fn ticket(&self) -> Option<u64>;

    /// Has a step done and waits for it, as long as it is `wanted`; `None` where it was not any more. Never longer than
    /// the agent gives its commands, and some seconds.
    ///
    /// # Errors
    /// When the agent does not answer, or does not know of the fault any more.
    fn step(&mut self, step: Step, wanted: &dyn Fn() -> bool) -> Result<Option<Said>, String>;
}

/// Speaks with an agent.
///
/// # Errors
/// As [`Agents::open`], and where nobody reaches agents.
fn open(agents: Option<&Arc<dyn Agents>>, agent: &str, wish: &Wish) -> Result<Box<dyn FaultThere>, String> {
    let agents = agents.ok_or("this run does not go over a NATS, where agents are")?;
    agents.open(agent, wish)
}

/// A fault by an agent.
pub struct ByAgent {
    agent: String,
    there: Box<dyn FaultThere>,
    outcome: Outcome,
}

impl ByAgent {
    /// Asks the agent for it; nothing is made yet.
    ///
    /// # Errors
    /// As [`Agents::open`].
    pub fn of(agents: Option<&Arc<dyn Agents>>, agent: &str, wish: &Wish) -> Result<Self, String> {
        let there = open(agents, agent, wish)?;
        Ok(Self { agent: agent.to_owned(), there, outcome: Outcome::Plain })
    }

    fn step(&mut self, step: Step) -> Result<Said, String> {
        let said = self.there.step(step, &|| true)?;
        said.ok_or_else(|| format!("the answer of agent {} was not waited for", self.agent))
    }

    fn fails(&self, why: &str) -> String {
        format!("agent {}: {why}", self.agent)
    }
}

impl Hand for ByAgent {
    fn plan(&self) -> Heal {
        Heal::Agent { agent: self.agent.clone(), ticket: self.there.ticket() }
    }

    /// That nobody else of its machine makes the same thing fail is looked at there.
    fn acts_on(&self) -> Vec<String> {
        Vec::new()
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, _begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        match self.step(Step::Inject)? {
            Said::Yes(text) => Ok(text),
            Said::No => Err(self.fails("it was not made")),
            Said::Failed(why) | Said::Ended { why, .. } => Err(self.fails(&why)),
        }
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        match self.step(Step::Prove)? {
            Said::Yes(proof) => Ok(Some(format!("{}: {proof}", self.agent))),
            Said::No => Ok(None),
            Said::Failed(why) | Said::Ended { why, .. } => Err(self.fails(&why)),
        }
    }

    fn heal(&mut self) -> Result<String, String> {
        // Who does not answer, or does not know, says neither yes nor no.
        self.outcome = Outcome::Unknown;
        let said = self.step(Step::Heal)?;
        self.outcome = Outcome::Plain;
        match said {
            Said::Yes(text) => Ok(text),
            Said::Ended { why, ago } => {
                self.outcome = Outcome::Before(why, ago);
                Ok(String::new())
            }
            Said::No => Err(self.fails("it was not healed")),
            Said::Failed(why) => Err(self.fails(&why)),
        }
    }

    fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }
}

/// A question whose command the agent runs.
pub struct Asked {
    agents: Option<Arc<dyn Agents>>,
    agent: String,
    wish: Wish,
    step: Step,
    there: Option<Box<dyn FaultThere>>,
}

impl Asked {
    pub fn of(agents: Option<&Arc<dyn Agents>>, agent: &str, wish: Wish, step: Step) -> Self {
        Self { agents: agents.cloned(), agent: agent.to_owned(), wish, step, there: None }
    }

    /// Asks, as long as an answer is `wanted`; `None` where it was not any more.
    pub fn ask(&mut self, wanted: &dyn Fn() -> bool) -> Result<Option<Output>, String> {
        let held = self.there.take();
        let mut there = held.map_or_else(|| open(self.agents.as_ref(), &self.agent, &self.wish), Ok)?;
        // Who does not know of it any more, after a silence, is spoken to anew by the next question.
        let said = there.step(self.step, wanted)?;
        self.there = Some(there);
        Ok(said.map(|said| match said {
            Said::Yes(text) => Output { code: Some(0), text },
            Said::No => Output { code: Some(1), text: String::new() },
            Said::Failed(text) | Said::Ended { why: text, .. } => Output { code: Some(CANNOT_TELL), text },
        }))
    }
}
