//! A fault from before it is made to when it is healed: its guardian, the claim of its healing, and who has healed it.

use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{Claim, EventKind, FaultInForce, FaultNote, Heal};
use cosmark_workload::model::faults::FaultSpec;

use super::Stage;
use crate::act::Hand;
use crate::guardian::{Guardian, Terms};

/// Healing that fails is tried so often.
const HEAL_TRIES: u32 = 3;

/// Who has healed a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    /// This process.
    This,
    /// Its guardian, because this process stood still; what it says.
    Guardian(String),
    Nobody,
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
            Heal::Agent { agent } => Some(agent),
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
        let mut last = String::new();
        for attempt in 0..HEAL_TRIES {
            if attempt > 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            match self.hand.heal() {
                Ok(output) => {
                    self.send_away();
                    self.stage.tell_output(self.name, &output);
                    self.stage.tell(&format!("{}: healed", self.name));
                    if let Err(error) = note.forget() {
                        self.stage.tell(&format!(
                            "{}: healed, and still written down as in force: {error}",
                            self.name
                        ));
                    }
                    return By::This;
                }
                Err(why) => last = why,
            }
        }
        self.send_away();
        let remedy = match &self.by_agent {
            Some(agent) => format!(
                "Agent {agent} heals it by itself when its time is over; if it does not, run `cosmark faults heal` on its machine"
            ),
            None => format!("Heal it by `cosmark faults heal {}`", self.stage.playing.run),
        };
        self.stage
            .tell(&format!("{} COULD NOT BE HEALED: {last}; no further fault is made. {remedy}", self.name));
        By::Nobody
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
