//! What became of faults that nobody speaks of any more: those of earlier starts of an agent, and of runs after which another
//! one has asked.

use std::time::{Duration, Instant};

use cosmark_archive::{ArchiveError, FaultTicket, TicketEnd, Timestamp};

use super::{AGAIN_EVERY, Core, LOOK_EVERY, Progress};
use crate::act::agent::{Said, Step};
use crate::left::{BY_GUARDIAN, heal_left};

/// A guardian that has healed says so within this time.
const WORD_WITHIN: Duration = Duration::from_secs(2);

/// The end of a fault.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) why: String,
    /// Its run had not asked for it.
    pub(super) unasked: bool,
    pub(super) at: Instant,
}

impl Ended {
    pub(super) fn said(self) -> Said {
        match self.unasked {
            true => Said::Ended { why: self.why, ago: self.at.elapsed() },
            false => Said::Yes(self.why),
        }
    }
}

/// What was written down of one.
fn said_of(end: &TicketEnd) -> Said {
    let why = end.why.clone();
    match end.unasked {
        true => {
            let ago = Timestamp::now().duration_since(end.at);
            Said::Ended { why, ago: Duration::try_from(ago).unwrap_or_default() }
        }
        false => Said::Yes(why),
    }
}

impl Core {
    /// What is said of a ticket that is not spoken of any more: another run has asked since, or the agent was started again.
    pub(super) fn of_the_past(&self, is_ready: bool, ticket: u64, step: Step) -> Progress {
        let Some(one) = self.tickets().find(ticket).cloned() else { return unknown() };
        match (step, one.made, &one.ended) {
            (Step::Heal, None, _) => Progress::Done(Said::Yes("it was never made".to_owned())),
            (Step::Heal, Some(_), Some(end)) => Progress::Done(said_of(end)),
            (Step::Prove, Some(_), Some(end)) => Progress::Done(Said::Failed(end.why.clone())),
            (Step::Heal | Step::Prove, Some(_), None) if !is_ready => Progress::Busy,
            (Step::Heal, Some(_), None) if self.is_noted(ticket) => Progress::Done(Said::Failed(
                "an earlier start of the agent made it, and it is still in force: healing it failed"
                    .to_owned(),
            )),
            (Step::Heal, Some(_), None) => Progress::Refused(
                "it was made, and the journal in which it stood is gone: what became of it cannot be known"
                    .to_owned(),
            ),
            _ => unknown(),
        }
    }

    fn is_noted(&self, ticket: u64) -> bool {
        // What cannot be read may well be in force.
        self.journal.all().map_or(true, |left| left.iter().any(|(_, fault)| fault.ticket == Some(ticket)))
    }

    /// Heals what an earlier start has left, and writes down what became of it; when that is to be tried again.
    pub(super) fn heal_left(&self) -> Option<Instant> {
        let again = || Some(Instant::now() + AGAIN_EVERY);
        let (left, damaged) = match self.journal.found() {
            Ok(found) => found,
            Err(error) => {
                (self.talk)(&error.to_string());
                return again();
            }
        };
        damaged.iter().for_each(|error| (self.talk)(&error.to_string()));
        let (with_maker, left): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, fault)| fault.has_its_maker());
        // A start before this one that has not ended yet heals it, or leaves it.
        let (mut by_this, mut is_whole) = (Vec::new(), with_maker.is_empty() && damaged.is_empty());
        for (note, fault) in left {
            let ticket = fault.ticket;
            let (healed, failed) = heal_left(vec![(note, fault)], &mut |text| (self.talk)(text));
            healed.iter().chain(&failed).for_each(|text| (self.talk)(text));
            is_whole &= failed.is_empty();
            let is_own = failed.is_empty() && !healed.iter().any(|text| text.ends_with(BY_GUARDIAN));
            by_this.extend(ticket.filter(|_| is_own));
        }
        self.settle(&by_this);
        if is_whole { None } else { again() }
    }

    /// Writes down how faults ended that an earlier start had made: those of `by_this` were healed by this one.
    fn settle(&self, by_this: &[u64]) {
        // Who deletes the whole journal has healed nothing.
        if !self.journal.is_there() {
            return;
        }
        let unsettled = self.tickets().unsettled();
        for one in unsettled {
            let FaultTicket { ticket, run, stage, slot, made, .. } = &one;
            if !by_this.contains(ticket) && self.is_noted(*ticket) {
                continue;
            }
            let made = made.unwrap_or(Timestamp::MIN);
            let is_own = by_this.contains(ticket);
            let patience = if is_own { Duration::ZERO } else { WORD_WITHIN };
            let by_guardian =
                self.word_of_guardian((run.as_str(), stage.as_str(), slot.as_str()), made, patience);
            let (at, why) = by_guardian.unwrap_or_else(|| {
                let who = match is_own {
                    true => "the agent that made it was gone, and its next start healed it",
                    false => {
                        "while its agent was gone somebody else healed it, as a rule `cosmark faults heal`, or it was never made"
                    }
                };
                (Timestamp::now(), who.to_owned())
            });
            self.wrote(self.tickets().end_at(*ticket, at, &why, true));
        }
    }

    /// What the guardian of a fault of this run, stage and name has written since then; it does so after it has healed.
    fn word_of_guardian(
        &self,
        of: (&str, &str, &str),
        since: Timestamp,
        patience: Duration,
    ) -> Option<(Timestamp, String)> {
        let until = Instant::now() + patience;
        loop {
            let word = self.journal.last_word(of, since);
            let word = word.filter(|(_, text)| text.starts_with("healed by its guardian"));
            if word.is_some() || Instant::now() >= until {
                return word;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// What is not written down is known to this start alone.
    pub(super) fn wrote(&self, done: Result<(), ArchiveError>) {
        if let Err(error) = done {
            (self.talk)(&format!("what became of a fault is not written down: {error}"));
        }
    }
}

fn unknown() -> Progress {
    Progress::Refused(
        "it does not know of this fault any more: its state directory is another one, another run has asked since, or the request \
         came late"
            .to_owned(),
    )
}
