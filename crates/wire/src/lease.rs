//! The lease to make load. A run's controller renews it while the run lives; a driver makes load only while it hears that, and
//! asks before it sends one more request when it has doubts: nothing was renewed for long, or its own clock jumped. The end of
//! a run is a state of its lease, which stays for whoever comes late. Time is not in here: who calls says what happened.
//! `tests/lease_model.rs` explores these states completely, with everything that NATS, machines and clocks may do to them.
//! Source: C. Gray, D. Cheriton, "Leases: an efficient fault-tolerant mechanism for distributed file cache consistency", 1989.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a controller says of its run, again and again while it lives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Who renews it; each process that takes a run up draws its own.
    pub holder: u64,
    /// Counts the renewals, over all holders: of two leases the one with the higher number was said later.
    pub beat: u64,
    /// A driver that heard no renewal for so long makes no more load.
    pub lost_after_ms: u64,
    /// How the run stands.
    pub life: Life,
    /// Drivers that were counted lost, each with the last step in which it was: it makes no more load for that.
    #[serde(default)]
    pub given_up: BTreeMap<String, u32>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Life {
    /// It is going on.
    Lives,
    /// The user wants it to end: no load up to this step. What comes after only deletes what was written.
    Ends {
        /// The step in which it was said.
        step: u32,
        /// Operations in flight are dropped, too.
        at_once: bool,
    },
    /// There will be nothing more of it.
    Over,
}

/// What a lease means for one driver in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// Make load.
    GoOn,
    /// Begin no further operation.
    Finish,
    /// Drop what is in flight, too.
    Abort,
    /// The step goes on without this driver.
    GivenUp,
    /// The run is over.
    Forget,
}

impl Lease {
    /// Of a run that begins.
    #[must_use]
    pub fn begin(holder: u64, lost_after_ms: u64) -> Self {
        Self { holder, beat: 1, lost_after_ms, life: Life::Lives, given_up: BTreeMap::new() }
    }

    /// The next word of the same run: by another holder, if it is taken up.
    #[must_use]
    pub fn renewed(&self, holder: u64) -> Self {
        Self { holder, beat: self.beat + 1, ..self.clone() }
    }

    /// The user wants an end. One that was wanted before stays wanted, at once or for a later step.
    pub fn end_at(&mut self, step: u32, at_once: bool) {
        self.life = match self.life {
            Life::Over => Life::Over,
            Life::Ends { step: before, at_once: was } if before > step || (before == step && was) => {
                Life::Ends { step: before, at_once: was }
            }
            Life::Ends { .. } | Life::Lives => Life::Ends { step, at_once },
        };
    }

    /// A driver was counted lost.
    pub fn give_up(&mut self, driver: &str, step: u32) {
        let last = self.given_up.entry(driver.to_owned()).or_insert(step);
        *last = step.max(*last);
    }

    /// What it means for a driver in a step.
    #[must_use]
    pub fn word_to(&self, driver: &str, step: u32) -> Word {
        match self.life {
            Life::Over => Word::Forget,
            Life::Ends { step: last, at_once: true } if step <= last => Word::Abort,
            _ if self.given_up.get(driver).is_some_and(|last| step <= *last) => Word::GivenUp,
            Life::Ends { step: last, .. } if step <= last => Word::Finish,
            Life::Ends { .. } | Life::Lives => Word::GoOn,
        }
    }
}

/// How a driver stands to a run that it has orders of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Standing {
    /// It does not know whether the run lives, and sends nothing before it does. `told` is the beat that stood in the answer to
    /// its question: what it hears beyond that was said after it had begun to doubt.
    Asks {
        /// `None` = not answered yet.
        told: Option<u64>,
    },
    /// It makes load, and has heard this beat.
    Makes {
        /// The last one.
        beat: u64,
    },
    /// Nobody renews the lease: it has stopped by itself, and is free for other runs.
    Rests,
    /// The run is over.
    Over,
}

impl Standing {
    /// With the first order of a run.
    pub const FIRST: Self = Self::Asks { told: None };

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Asks { .. } => "asks",
            Self::Makes { .. } => "makes",
            Self::Rests => "rests",
            Self::Over => "over",
        }
    }

    /// Whether load may be made.
    #[must_use]
    pub fn may_make_load(self) -> bool {
        matches!(self, Self::Makes { .. })
    }

    /// A renewal is heard; by itself, so that it may have been said long ago.
    #[must_use]
    pub fn hears(self, lease: &Lease) -> Self {
        match self {
            _ if lease.life == Life::Over => Self::Over,
            Self::Asks { told: Some(told) } if lease.beat > told => Self::Makes { beat: lease.beat },
            Self::Makes { beat } => Self::Makes { beat: beat.max(lease.beat) },
            other => other,
        }
    }

    /// The lease as it stood after the question was asked; `None` when there is none.
    #[must_use]
    pub fn is_told(self, lease: Option<&Lease>) -> Self {
        match (self, lease) {
            (_, Some(lease)) if lease.life == Life::Over => Self::Over,
            (Self::Asks { told: Some(told) }, Some(lease)) if lease.beat > told => {
                Self::Makes { beat: lease.beat }
            }
            (Self::Asks { told: None }, Some(lease)) => Self::Asks { told: Some(lease.beat) },
            (other, _) => other,
        }
    }

    /// Nothing was renewed for long, or the clock jumped: what was heard until now says nothing.
    #[must_use]
    pub fn doubts(self) -> Self {
        match self {
            Self::Makes { .. } | Self::Asks { .. } => Self::FIRST,
            other => other,
        }
    }

    /// It has asked for long enough, and was answered: nobody renews the lease.
    #[must_use]
    pub fn gives_up(self) -> Self {
        if matches!(self, Self::Asks { .. }) { Self::Rests } else { self }
    }

    /// There is a new order of the run: somebody took it up.
    #[must_use]
    pub fn is_ordered(self) -> Self {
        if self == Self::Rests { Self::FIRST } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_doubts_believes_only_what_was_said_after_it_asked() {
        let mut lease = Lease::begin(7, 20_000);
        let asks = Standing::FIRST;
        assert_eq!(asks.hears(&lease), asks, "that may be old");
        let told = asks.is_told(Some(&lease));
        assert_eq!(told.hears(&lease), told, "the same beat again");
        lease = lease.renewed(7);
        let makes = told.hears(&lease);
        assert_eq!(makes, Standing::Makes { beat: 2 });
        assert_eq!(told.is_told(Some(&lease)), makes, "a second answer is as good");
        assert_eq!(makes.doubts().hears(&lease.renewed(7)), asks, "it was said before it asked, perhaps");
        assert_eq!(asks.is_told(None).gives_up(), Standing::Rests);
        assert_eq!(Standing::Rests.hears(&lease.renewed(8)), Standing::Rests);
        assert_eq!(Standing::Rests.is_ordered(), asks);
    }

    #[test]
    fn the_end_is_heard_whenever_it_was_said_and_is_never_taken_back() {
        let mut lease = Lease::begin(1, 1000);
        lease.life = Life::Over;
        for standing in [Standing::FIRST, Standing::Makes { beat: 9 }, Standing::Rests] {
            assert_eq!(standing.hears(&lease), Standing::Over);
            assert_eq!(standing.is_told(Some(&lease)), Standing::Over);
        }
        lease.end_at(3, true);
        assert_eq!(lease.life, Life::Over);
        assert_eq!(Standing::Over.hears(&Lease::begin(1, 1000)).is_ordered(), Standing::Over);
    }

    #[test]
    fn a_word_is_about_the_step_in_which_it_was_said_and_those_before() {
        let mut lease = Lease::begin(1, 1000);
        lease.give_up("d2", 1);
        assert_eq!(lease.word_to("d2", 1), Word::GivenUp);
        assert_eq!(lease.word_to("d2", 2), Word::GoOn);
        assert_eq!(lease.word_to("d1", 1), Word::GoOn);
        lease.end_at(3, false);
        lease.end_at(2, true);
        assert_eq!(lease.word_to("d1", 3), Word::Finish, "the later word counts");
        lease.end_at(3, true);
        lease.end_at(3, false);
        assert_eq!(lease.word_to("d1", 2), Word::Abort);
        assert_eq!(lease.word_to("d1", 4), Word::GoOn, "it only deletes what was written");
        assert_eq!(lease.renewed(9).word_to("d2", 1), Word::Abort);
    }
}
