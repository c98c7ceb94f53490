//! Making faults and healing them: by a test bed's script, by commands, by signals, by control groups, by the packet filter, by
//! a proxy, by the agent of another machine; commands and signals also there by ssh. Each way says before it acts how it is
//! healed, and proves afterwards that it took hold.

pub mod agent;
mod bed;
mod cgroup;
pub mod command;
mod far;
pub mod in_use;
mod network;
mod process;
pub mod proxy;
mod signal;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::Heal;
use cosmark_workload::model::faults::{FaultKind, FaultPlace, FaultSpec};

use agent::{Agents, Asked as AskedOfAgent, ByAgent, Step, Wish};
pub use far::reach;
pub use process::Process;
use proxy::Proxies;

/// One fault that is about to be made.
pub trait Hand: Send {
    /// What heals it, for whoever comes after a kill.
    fn plan(&self) -> Heal;

    /// What it acts on, in words that are the same to each cosmark of this machine; empty where nobody else can.
    fn acts_on(&self) -> Vec<String> {
        Vec::new()
    }

    /// It stays until somebody heals it: where it is gone before, somebody else did.
    fn lasts(&self) -> bool {
        false
    }

    /// What it has ended runs again, though nobody has healed it.
    fn runs_again(&mut self) -> bool {
        false
    }

    /// Makes it; what was printed. `begun` hears of a command that makes it: the first process of a group of its own.
    ///
    /// # Errors
    /// Why it could not be made.
    fn inject(&mut self, begun: &mut dyn FnMut(Process)) -> Result<String, String>;

    /// What proves that it is there; `None` when it is not.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn landed(&mut self) -> Result<Option<String>, String>;

    /// The same, as long as an answer is `wanted`: a command that has not ended by then is ended, and proves nothing.
    ///
    /// # Errors
    /// As [`Hand::landed`].
    fn landed_while(&mut self, _wanted: &dyn Fn() -> bool) -> Result<Option<String>, String> {
        self.landed()
    }

    /// Heals it; what was printed. May be called again, and when nothing was made.
    ///
    /// # Errors
    /// Why it could not be healed.
    fn heal(&mut self) -> Result<String, String>;

    /// What is to be known of the last [`Hand::heal`] beside its result.
    fn outcome(&self) -> Outcome {
        Outcome::Plain
    }

    /// Steps that healing takes which the store does not take by itself.
    fn steps(&self) -> u32 {
        1
    }
}

/// What a healing came to beside its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The result says it.
    Plain,
    /// Somebody else had healed it before, though not asked to: why, and how long ago.
    Before(String, Duration),
    /// Whoever knows whether it is healed was not reached, or does not know.
    Unknown,
}

/// What a fault may be made with beside this process, and for whom.
pub struct Means<'a> {
    pub proxies: &'a Proxies,
    /// Who reaches agents on other machines; `None` where nobody does.
    pub agents: Option<&'a Arc<dyn Agents>>,
    /// Id of the run.
    pub run: &'a str,
    /// Id of the stage.
    pub stage: &'a str,
    /// The fault's name and the number of its slot.
    pub slot: &'a str,
}

impl Means<'_> {
    fn wish(&self, fault: &str, hold: Duration) -> Wish {
        let [run, stage, slot, fault] = [self.run, self.stage, self.slot, fault].map(str::to_owned);
        Wish { run, stage, slot, fault, hold }
    }
}

/// The hand of a fault; `None` for a slot without one.
///
/// # Errors
/// When what it acts on is not there.
pub fn hand(spec: &FaultSpec, means: &Means<'_>) -> Result<Option<Box<dyn Hand>>, String> {
    let within = spec.within;
    match spec.kind.place() {
        FaultPlace::Here => {}
        FaultPlace::Host(host) => return Ok(Some(Box::new(far::Elsewhere::of(host, spec)?))),
        FaultPlace::Node(node) => return Err(format!("there is no node {node} of type ssh in nodes:")),
    }
    Ok(Some(match &spec.kind {
        FaultKind::None => return Ok(None),
        FaultKind::Bed { bed, verb, target, argument } => {
            Box::new(bed::Bed::of(bed, verb, target, argument.as_deref(), within)?)
        }
        FaultKind::Command { inject, heal, proof, .. } => {
            Box::new(command::Commands::of(inject, heal, proof.as_deref(), within)?)
        }
        FaultKind::Signal { signal, who, heal, .. } => {
            Box::new(signal::Signal::of(*signal, who, heal.as_deref(), within)?)
        }
        FaultKind::Cgroup { who, limit } => Box::new(cgroup::Cgroup::of(who, limit)?),
        FaultKind::Network { of, how, netns } => {
            Box::new(network::Network::of(of, *how, netns.as_deref(), within)?.ready()?)
        }
        FaultKind::Proxy { of, how } => Box::new(means.proxies.hand(of, *how)?),
        FaultKind::Agent { agent, fault } => {
            Box::new(ByAgent::of(means.agents, agent, &means.wish(fault, spec.hold))?)
        }
    }))
}

/// A question to the store, by its exit code: noticed, whole.
pub struct Question {
    asks: Asks,
    within: Duration,
}

/// Where it is asked.
enum Asks {
    Here { words: Vec<String>, directory: PathBuf },
    There(far::Asked),
    ByAgent(AskedOfAgent),
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, and what was printed.
    Yes(String),
    /// Not yet.
    No,
    /// It cannot be asked, and why.
    CannotTell(String),
    /// Whoever can say it was not reached, and why: it may be with the next question.
    Unheard(String),
}

/// The exit code of a bed's script that cannot tell.
const CANNOT_TELL: i32 = 77;

impl Question {
    /// Whether the store has noticed.
    #[must_use]
    pub fn noticed(spec: &FaultSpec, means: &Means<'_>) -> Option<Self> {
        Self::of(spec, spec.noticed.as_deref(), ("noticed", Step::Noticed), means)
    }

    /// Whether redundancy is whole.
    #[must_use]
    pub fn whole(spec: &FaultSpec, means: &Means<'_>) -> Option<Self> {
        Self::of(spec, spec.whole.as_deref(), ("whole", Step::Whole), means)
    }

    fn of(
        spec: &FaultSpec,
        own: Option<&str>,
        (verb, step): (&str, Step),
        means: &Means<'_>,
    ) -> Option<Self> {
        let within = spec.within;
        let words = match (own, &spec.kind) {
            (_, FaultKind::Agent { agent, fault }) => {
                let asked = AskedOfAgent::of(means.agents, agent, means.wish(fault, spec.hold), step);
                return Some(Self { asks: Asks::ByAgent(asked), within });
            }
            (Some(command), kind) => match kind.place() {
                FaultPlace::Host(host) => {
                    return Some(Self { asks: Asks::There(far::Asked::of(host, command, within)), within });
                }
                _ => command::shell(command),
            },
            (None, FaultKind::Bed { bed, target, .. }) => {
                vec![bed::script(bed).ok()?, verb.to_owned(), target.clone()]
            }
            (None, _) => return None,
        };
        Some(Self { asks: Asks::Here { words, directory: here().ok()? }, within })
    }

    /// Asks, as long as an answer is `wanted`: what has not come by then is no.
    #[must_use]
    pub fn ask(&mut self, wanted: &dyn Fn() -> bool) -> Answer {
        let output = match &mut self.asks {
            Asks::Here { words, directory } => command::run_wanted(words, directory, self.within, wanted),
            Asks::There(asked) => asked.ask(wanted),
            // Who is not reached, or has been started again, is asked anew by the next question.
            Asks::ByAgent(asked) => match asked.ask(wanted) {
                Err(why) => return Answer::Unheard(why),
                said => said,
            },
        };
        match output {
            Ok(Some(output)) if output.code == Some(0) => Answer::Yes(output.text),
            Ok(Some(output)) if output.code == Some(CANNOT_TELL) => Answer::CannotTell(output.text),
            Ok(_) => Answer::No,
            Err(why) => Answer::CannotTell(why),
        }
    }
}

/// Heals what another process has made.
///
/// # Errors
/// Why it could not be healed.
pub fn heal(plan: &Heal) -> Result<String, String> {
    heal_to_its_end(plan)?
}

/// Heals what another process has made. The inner error is that of what came to its end and said no.
///
/// # Errors
/// Why it did not come to its end, or what is still there after it: what it did is not known.
pub fn heal_to_its_end(plan: &Heal) -> Result<Result<String, String>, String> {
    match plan {
        Heal::Command { words, directory, within, proof } => {
            let output = command::run(words, directory, *within)?;
            match output.code {
                Some(0) => {
                    proof.iter().try_for_each(|proof| command::until_gone(proof, directory, *within))?;
                    Ok(Ok(output.text))
                }
                Some(_) => Ok(Err(output.failure(words))),
                None => Err(output.failure(words)),
            }
        }
        Heal::Continue(processes) => Ok(signal::go_on(processes)),
        Heal::Groups(groups) => Ok(cgroup::heal(groups)),
        Heal::Elsewhere { host, script, within, .. } => far::heal(host, script, *within),
        Heal::Agent { .. } | Heal::Itself => Ok(Ok(String::new())),
    }
}

/// Whether a fault of a workload may be made on this machine: `allowed` is the user's explicit word. The script of a test bed
/// may be run without it where it belongs to this user or the administrator, and one of them has started that bed: `beds` is
/// where test beds have their data.
///
/// # Errors
/// What it needs.
pub fn may_run(spec: &FaultSpec, allowed: bool, beds: Option<&Path>) -> Result<(), String> {
    let commands = spec.noticed.is_some() || spec.whole.is_some();
    match &spec.kind {
        FaultKind::Command { .. }
        | FaultKind::Signal { .. }
        | FaultKind::Cgroup { .. }
        | FaultKind::Network { .. }
            if !allowed =>
        {
            Err(format!(
                "fault {}: {} acts on a machine; read it, and allow it by --allow-faults",
                spec.name,
                spec.kind.text()
            ))
        }
        _ if commands && !allowed => Err(format!(
            "fault {}: noticed: and whole: run commands; read them, and allow it by --allow-faults",
            spec.name
        )),
        FaultKind::Bed { bed, .. } => {
            bed::check(bed, allowed, beds).map_err(|why| format!("fault {}: {why}", spec.name))
        }
        _ => Ok(()),
    }
}

/// The directory in which commands run.
pub(crate) fn here() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|cause| format!("the current directory cannot be read: {cause}"))
}

pub(crate) fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
