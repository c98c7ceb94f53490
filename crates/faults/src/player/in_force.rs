//! A fault from before it is made to when it is healed: its guardian, the claim of its healing, and who has healed it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_archive::{Claim, EventKind, FAULT_HEALED, FaultInForce, FaultNote, Heal};
use cosmark_workload::model::faults::FaultSpec;

use super::Stage;
use crate::act::{Hand, Outcome};
use crate::guardian::{Guardian, Terms};

/// Healing that fails is tried so often.
const HEAL_TRIES: u32 = 3;
/// An agent that is away, or does not know, is asked for so long what became of a fault.
const ASKED_FOR: Duration = Duration::from_secs(60);

/// Who has healed a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    /// This process.
    This,
    /// Its guardian, because this process stood still; what it says.
    Guardian(String),
    /// The agent that made it, or whoever else heals there, before it was asked to: what it says, and how long ago.
    Agent(String, Duration),
    Nobody,
    /// Nobody can say whether it is healed.
    Unknown,
}

/// A fault that may be in force: healed when this goes, if it was not before.
pub(super) struct InForce<'a> {
    stage: &'a Stage<'a>,
    name: &'a str,
    pub(super) hand: &'a mut dyn Hand,
    note: Option<FaultNote>,
    patience: Duration,
    guardian: Option<Guardian>,
    /// The claim of its healing, once it is this process's.
    claim: Option<Claim>,
    by_guardian: Option<String>,
    /// The agent that makes it.
    by_agent: Option<String>,
}

impl<'a> InForce<'a> {
    /// Before it is made; starts its guardian.
    pub(super) fn begin(
        stage: &'a Stage<'a>,
        spec: &FaultSpec,
        name: &'a str,
        hand: &'a mut dyn Hand,
        (note, noted): (FaultNote, FaultInForce),
    ) -> Self {
        let patience = noted.heal.longest();
        let guardian = if noted.heal.ends_with_its_maker() { None } else { guard(stage, spec, name, &note) };
        let by_agent = match noted.heal {
            Heal::Agent { agent, .. } => Some(agent),
            _ => None,
        };
        let (note, claim, by_guardian) = (Some(note), None, None);
        Self { stage, name, hand, note, patience, guardian, claim, by_guardian, by_agent }
    }

    /// Makes it; its guardian hears of the command that does, and when that is over.
    pub(super) fn inject(&mut self) -> Result<String, String> {
        let guardian = self.guardian.as_ref();
        let made = self.hand.inject(&mut |first| guardian.iter().for_each(|guardian| guardian.making(first)));
        guardian.into_iter().for_each(Guardian::made);
        made
    }

    /// What its guardian did while this process stood still in making it.
    pub(super) fn stood(&self) -> Option<String> {
        self.guardian.as_ref().and_then(Guardian::stood)
    }

    /// Its guardian has healed it already. From here on nobody else heals it.
    pub(super) fn was_healed(&mut self) -> bool {
        let Some(note) = self.note.as_ref().filter(|_| self.claim.is_none()) else {
            return self.by_guardian.is_some();
        };
        // What cannot be claimed, or whose healing by another one does not end, is better healed twice than not at all.
        let claim = note.claim_within(self.patience).unwrap_or(Claim::Mine(None));
        if matches!(claim, Claim::Gone) {
            self.by_guardian = self.guardian.as_ref().and_then(Guardian::healed);
        }
        self.claim = Some(claim);
        self.by_guardian.is_some()
    }

    pub(super) fn heal(&mut self) -> By {
        if self.was_healed() {
            self.note = None;
            let text = self.by_guardian.take().unwrap_or_default();
            self.stage.tell(&format!("{}: {text}", self.name));
            return By::Guardian(text);
        }
        let Some(note) = self.note.take() else { return By::This };
        let (begun, mut attempt) = (Instant::now(), 0);
        let last = loop {
            match self.hand.heal() {
                Ok(output) => return self.healed(note, &output),
                Err(why) => {
                    attempt += 1;
                    if !self.is_tried_again(attempt, begun) {
                        break why;
                    }
                    if attempt == 1 && self.hand.outcome() == Outcome::Unknown {
                        self.stage.tell(&format!(
                            "{}: {why}; it is asked again for up to {} s, and the run waits as long",
                            self.name,
                            ASKED_FOR.as_secs()
                        ));
                    }
                }
            }
            std::thread::sleep(Duration::from_secs(1));
        };
        self.send_away();
        let name = self.name;
        let remedy = match &self.by_agent {
            Some(agent) if self.hand.outcome() == Outcome::Unknown => {
                self.stage.tell(&format!(
                    "{name}: IT IS NOT KNOWN WHETHER IT IS HEALED: {last}; no further fault is made. Agent {agent}, its guardian or \
                     its next start heals it some seconds after its time without being asked: see `cosmark faults list --nats \
                     URL` when it is there again, or on its machine `cosmark faults list --archive STATE/agents/{agent}`"
                ));
                return By::Unknown;
            }
            Some(agent) => format!(
                "Agent {agent} tries it again every 30 s; should that not help, heal it on its machine by hand or by `cosmark faults \
                 heal --archive STATE/agents/{agent} --force`"
            ),
            None => format!("Heal it by `cosmark faults heal {}`", self.stage.playing.run),
        };
        self.stage.tell(&format!("{name} COULD NOT BE HEALED: {last}; no further fault is made. {remedy}"));
        By::Nobody
    }

    /// Whether what failed so often is tried again. Who cannot be reached may be soon, and the load goes on meanwhile.
    fn is_tried_again(&self, attempt: u32, begun: Instant) -> bool {
        let is_unknown = self.hand.outcome() == Outcome::Unknown;
        let is_left = self.stage.is_ended(|state| state.left);
        attempt < HEAL_TRIES || (is_unknown && !is_left && begun.elapsed() < ASKED_FOR)
    }

    /// It is in force no more.
    fn healed(&self, note: FaultNote, output: &str) -> By {
        self.send_away();
        self.stage.tell_output(self.name, output);
        let by = match (self.hand.outcome(), &self.by_agent) {
            (Outcome::Before(why, ago), Some(agent)) => {
                let text = format!(
                    "{FAULT_HEALED} {:.0} s before its run asked for it, says agent {agent}: {why}",
                    ago.as_secs_f64()
                );
                self.stage.tell(&format!("{}: {text}", self.name));
                By::Agent(text, ago)
            }
            _ => {
                self.stage.tell(&format!("{}: {FAULT_HEALED}", self.name));
                By::This
            }
        };
        if let Err(error) = note.forget() {
            self.stage.tell(&format!("{}: it is still written down as in force: {error}", self.name));
        }
        by
    }

    /// What this process has healed, or could not heal, is no work for its guardian.
    fn send_away(&self) {
        self.guardian.iter().for_each(Guardian::over);
    }
}

impl Drop for InForce<'_> {
    fn drop(&mut self) {
        if self.note.is_some() {
            self.heal();
        }
        self.send_away();
    }
}

fn guard(stage: &Stage<'_>, spec: &FaultSpec, name: &str, note: &FaultNote) -> Option<Guardian> {
    let program = &stage.playing.guardian;
    if program.is_empty() {
        return None;
    }
    let (shared, began, own) = (Arc::clone(stage.shared), stage.playing.began, name.to_owned());
    let zero = stage.zero;
    let news = move |text: &str| shared.news(began, zero, EventKind::Fault, &format!("{own}: {text}"));
    let guardian = Guardian::begin(program, note, Terms::of(spec), news);
    guardian
        .inspect_err(|why| {
            stage.tell(&format!(
                "{name}: it has no guardian ({why}); should this run be killed, `cosmark faults heal` heals it"
            ));
        })
        .ok()
}
