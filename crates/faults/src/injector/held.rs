//! A fault that an agent makes: written down before, with a guardian of its own, healed at the latest when this goes.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use cosmark_archive::{Claim, FaultInForce, FaultJournal, FaultNote};
use cosmark_workload::model::faults::FaultSpec;

use super::Talk;
use crate::act::agent::Wish;
use crate::act::in_use::InUse;
use crate::act::proxy::Proxies;
use crate::act::{Hand, Means, hand};
use crate::guardian::{self, Guardian};
use crate::left::first_line;

/// Healing that fails is tried so often.
const TRIES: u32 = 3;
/// Between two tries.
const BETWEEN: Duration = Duration::from_secs(1);
/// What healed it last may take so long to show.
const FREE_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A fault that is about to be made.
pub struct Making<'a> {
    pub spec: &'a FaultSpec,
    pub wish: &'a Wish,
    pub journal: &'a FaultJournal,
    pub guardian: &'a [OsString],
    pub grace: Duration,
    pub ticket: u64,
}

/// A fault that may be in force: healed when this goes, if it was not before.
pub struct Held {
    pub ticket: u64,
    /// For people.
    pub name: String,
    pub hand: Box<dyn Hand>,
    /// It is healed then, whoever asked for it.
    pub until: Instant,
    /// When healing is tried again that has failed.
    pub again: Option<Instant>,
    note: Option<FaultNote>,
    guardian: Option<Guardian>,
    patience: Duration,
    _in_use: InUse,
}

/// A fault that is in force no more.
pub struct Healed {
    /// What was printed, or who has healed it.
    pub text: String,
    /// Somebody else had healed it.
    pub by_another: bool,
}

/// Whose fault it is, and how long it may last.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub ticket: u64,
    pub until: Instant,
}

/// Why it was not made, and what may be in force all the same.
pub type NotMade = (String, Option<Box<Held>>);

/// Nothing is in force.
fn nothing(why: String) -> NotMade {
    (why, None)
}

impl Making<'_> {
    /// Makes it; what was printed. `stops` says that nobody wants it any more: then it is not made.
    pub fn make(self, stops: &dyn Fn() -> bool, talk: &Talk) -> Result<(Held, String), NotMade> {
        let (mut hand, in_use) = self.ready(stops).map_err(nothing)?;
        let Wish { run, stage, slot, .. } = self.wish;
        let plan = hand.plan();
        let patience = plan.longest();
        let noted = FaultInForce::made_here(run, stage, slot, &self.spec.kind.text(), plan);
        let noted = noted.for_ticket(self.ticket);
        let note = self.journal.note(&noted);
        let note = note
            .map_err(|error| nothing(format!("it could not be written down, so it was not made: {error}")))?;
        let guardian = self.guard(&note, talk);
        let made = hand.inject(&mut |first| guardian.iter().for_each(|guardian| guardian.making(first)));
        guardian.iter().for_each(Guardian::made);
        let held = Held {
            ticket: self.ticket,
            name: format!("{} of run {run} ({slot})", self.wish.fault),
            hand,
            until: Instant::now() + self.spec.hold.saturating_add(self.grace),
            again: None,
            note: Some(note),
            guardian,
            patience,
            _in_use: in_use,
        };
        match made {
            Ok(text) => Ok((held, text)),
            Err(why) => Err((why, Some(Box::new(held)))),
        }
    }

    /// Nobody else makes the same thing fail, and it is not there yet.
    fn ready(&self, stops: &dyn Fn() -> bool) -> Result<(Box<dyn Hand>, InUse), String> {
        let proxies = Proxies::default();
        let Wish { run, stage, slot, .. } = self.wish;
        let means = Means { proxies: &proxies, agents: None, run, stage, slot };
        let mut hand = hand(self.spec, &means)?.ok_or("it is a slot without a fault")?;
        let in_use = InUse::take(&hand.acts_on())?;
        let until = Instant::now() + FREE_WITHIN;
        // Where nobody can say, it cannot be proved later either, and that is said then.
        while let Ok(Some(proof)) = hand.landed_while(&|| !stops()) {
            if Instant::now() > until {
                let proof = first_line(&proof);
                return Err(format!(
                    "it was there before it was made ({proof}): heal what somebody else has made"
                ));
            }
            if stops() {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        // To look may have taken long.
        if stops() {
            return Err("it was not made, because nobody asks for it any more".to_owned());
        }
        Ok((hand, in_use))
    }

    fn guard(&self, note: &FaultNote, talk: &Talk) -> Option<Guardian> {
        if self.guardian.is_empty() {
            return None;
        }
        let name = self.wish.fault.clone();
        // What a guardian says later is in the log beside the note, and the agent misses it where it heals.
        let begun = Guardian::begin(self.guardian, note, guardian::Terms::of(self.spec), |_| ());
        begun
            .inspect_err(|why| {
                talk(&format!(
                    "{name} has no guardian ({why}); should this agent be killed now, its next start heals it"
                ));
            })
            .ok()
    }
}

impl Held {
    pub fn terms(&self) -> Terms {
        Terms { ticket: self.ticket, until: self.until }
    }

    /// Heals it, several times where that does not work. May be called again.
    pub fn heal(&mut self) -> Result<Healed, String> {
        let by_this = |text: String| Healed { text, by_another: false };
        let Some(note) = self.note.take() else { return Ok(by_this(String::new())) };
        // What cannot be claimed, or whose healing by another one does not end, is better healed twice than not at all.
        let claim = note.claim_within(self.patience).unwrap_or(Claim::Mine(None));
        if matches!(claim, Claim::Gone) {
            let by_guardian = self.guardian.as_ref().and_then(Guardian::healed);
            // Who deletes the whole journal has healed nothing.
            if by_guardian.is_some() || note.was_forgotten() {
                let text = by_guardian.unwrap_or_else(|| "somebody else has healed it".to_owned());
                return Ok(Healed { text, by_another: true });
            }
        }
        let mut last = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(BETWEEN);
            }
            match self.hand.heal() {
                Ok(text) => {
                    self.guardian.iter().for_each(Guardian::over);
                    let text = match note.forget() {
                        Ok(()) => text,
                        Err(error) => format!("{text}\nit is still written down as in force: {error}"),
                    };
                    drop(claim);
                    return Ok(by_this(text));
                }
                Err(why) => last = why,
            }
        }
        self.note = Some(note);
        Err(last)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What could not be healed lately is left to its guardian, which heals when this process is gone, and to the
        // next start.
        if self.note.is_some() && self.again.is_none() {
            drop(self.heal());
        }
        if self.note.is_none() {
            self.guardian.iter().for_each(Guardian::over);
        }
    }
}
