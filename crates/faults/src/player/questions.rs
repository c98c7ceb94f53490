//! What the store is asked: while a fault holds whether it has noticed, and afterwards whether it is whole again, also when the
//! slot is over: the next fault, and whoever reads back, wait for that.

use std::time::Duration;

use cosmark_archive::{FAULT_NOTICED, FAULT_WHOLE};
use cosmark_workload::model::faults::FaultSpec;

use super::{Ends, Played, Stage};
use crate::act::{Answer, Hand, Question};
use crate::left::first_line;

const ASK_NOTICED_EVERY: Duration = Duration::from_millis(500);
const ASK_WHOLE_EVERY: Duration = Duration::from_secs(1);
/// Where an answer takes long, the store works for it: it is left alone for so many times as long before the next question.
const ASK_WHOLE_REST: u32 = 4;
/// A fault that was in force so much longer than it was to be is another one.
const LONGER_S: f64 = 2.0;
/// A last look that takes less than this is one at the moment of healing.
const LOOKS_S: f64 = 1.0;
/// A last look at a fault may take so much longer than it should, and is ended then.
const LAST_LOOK_S: f64 = 5.0;

/// A question that was begun in time may take so much longer.
const LAST_ANSWER_S: f64 = 30.0;

/// A store that was not whole when a slot ended.
pub(super) struct Lacking {
    /// The fault and the number of its slot.
    name: String,
    /// The same, as where its slot stands.
    of: (usize, usize),
    question: Question,
    /// How long it is waited for.
    within: Duration,
    /// Until when, seconds of the load.
    until_s: f64,
    was_said: bool,
}

impl Lacking {
    /// After a slot of the fault `at` that ended at `now_s`; `None` where nobody is to wait for it.
    pub(super) fn of(
        spec: &FaultSpec,
        (at, number): (usize, u32),
        now_s: f64,
        question: Question,
    ) -> Option<Self> {
        let within = spec.whole_within;
        (!within.is_zero()).then(|| Self {
            name: format!("{} {number}", spec.name),
            of: (at, usize::try_from(number).unwrap_or(0).saturating_sub(1)),
            question,
            within,
            until_s: now_s + within.as_secs_f64(),
            was_said: false,
        })
    }

    /// Why a slot says nothing that begins before it is whole.
    pub(super) fn since(&self) -> String {
        format!("redundancy is not whole since {}, also {:?} after that slot", self.name, self.within)
    }
}

impl Stage<'_> {
    /// Waits until what was not whole is, or its time is over, or something ends it; whether it is whole. It is forgotten when
    /// it is whole or nobody can say that any more.
    pub(super) fn is_whole(&self, lacking: &mut Option<Lacking>, ends: Ends) -> bool {
        let Some(one) = lacking else { return true };
        while !self.is_ended(ends) {
            let asked_s = self.now_s();
            let last_s = one.until_s.max(asked_s + LAST_ANSWER_S);
            let mut unheard = None;
            match one.question.ask(&|| self.now_s() < last_s && !self.is_ended(ends)) {
                Answer::Yes(said) => {
                    self.tell(&format!("{}: {FAULT_WHOLE} {}", one.name, first_line(&said)));
                    if let Some(played) = self.shared.state().slot_mut(one.of) {
                        played.whole_s = Some(self.now_s());
                    }
                    *lacking = None;
                    return true;
                }
                Answer::CannotTell(why) => {
                    self.tell_unknown(&one.name, &why);
                    *lacking = None;
                    return true;
                }
                Answer::Unheard(why) => unheard = Some(why),
                Answer::No => {}
            }
            let now_s = self.now_s();
            if now_s >= one.until_s {
                if let Some(why) = unheard {
                    self.tell_unknown(&one.name, &why);
                    *lacking = None;
                    return true;
                }
                self.tell(&format!("{}: redundancy is not whole {:?} after its slot", one.name, one.within));
                return false;
            }
            if !one.was_said && !self.is_ended(ends) {
                one.was_said = true;
                let within = one.within;
                self.tell(&format!(
                    "{}: waiting until redundancy is whole, for {within:?} at most",
                    one.name
                ));
            }
            self.wait_or(pause(worked_s(unheard.is_some(), now_s - asked_s), one.until_s - now_s), ends);
        }
        false
    }

    fn tell_unknown(&self, name: &str, why: &str) {
        self.tell(&format!("{name}: nobody can say whether redundancy is whole: {}", first_line(why)));
    }

    /// Until it is to be healed, less the time for a last look, as its proof took `took_s`; asks meanwhile whether the
    /// store has noticed. No question keeps it in force for longer.
    pub(super) fn hold(&self, spec: &FaultSpec, name: &str, played: &mut Played, took_s: f64) {
        let healed_s = played.from_s + spec.hold.as_secs_f64();
        let until_s = if self.has_time(took_s, healed_s) { healed_s - took_s } else { healed_s };
        // Making and proving it may have taken longer than it was to hold.
        let due_s = until_s.max(self.now_s());
        self.ask_noticed(spec, name, played, until_s);
        self.wait_until_s(until_s);
        played.void = held_too_long(played.from_s, due_s, self.now_s(), spec.hold);
    }

    /// What lasts until it is healed is still there at the end of its time. A proof that takes longer than before, or
    /// hangs, keeps no fault in force. Where there is no time for another one, no more is known than that it was proved
    /// late, which is said of the slot.
    pub(super) fn look_again(&self, spec: &FaultSpec, hand: &mut dyn Hand, played: &mut Played, took_s: f64) {
        if !hand.lasts() || self.is_stopped() {
            return;
        }
        let (from_s, hold) = (played.from_s, spec.hold);
        let until_s = from_s + hold.as_secs_f64();
        let due_s = until_s.max(self.now_s());
        if self.has_time(took_s, until_s)
            && let Some(why) = self.is_gone(hand, played, due_s + LAST_LOOK_S)
        {
            played.void = Some(why);
            return;
        }
        self.wait_until_s(until_s);
        let now_s = self.now_s();
        played.void = played.void.take().or_else(|| held_too_long(from_s, due_s, now_s, hold));
    }

    /// A look that takes so long prolongs a fault hardly that is to be healed at `healed_s`, or now where that is over.
    fn has_time(&self, took_s: f64, healed_s: f64) -> bool {
        let now_s = self.now_s();
        now_s + took_s <= healed_s.max(now_s) + LONGER_S
    }

    /// Why a fault says nothing that was gone before it was to be healed, or of which that cannot be told by `last_s`.
    fn is_gone(&self, hand: &mut dyn Hand, played: &mut Played, last_s: f64) -> Option<String> {
        let cannot_tell =
            |why: &str| format!("whether it was there until it was to be healed cannot be told: {why}");
        match hand.landed_while(&|| self.now_s() < last_s && !self.is_stopped()) {
            Ok(Some(_)) => {
                played.runs_again = hand.runs_again();
                None
            }
            Ok(None) if self.is_stopped() => None,
            Ok(None) if self.now_s() >= last_s => Some(cannot_tell("its proof did not end in time")),
            Ok(None) => Some(
                "it was gone before it was to be healed: somebody else has healed it, or a program that looks after it"
                    .to_owned(),
            ),
            Err(why) => Some(cannot_tell(&why)),
        }
    }

    fn ask_noticed(&self, spec: &FaultSpec, name: &str, played: &mut Played, until_s: f64) {
        let Some(mut question) = Question::noticed(spec, &self.means(name)) else {
            played.noticed_unknown = Some("nothing was asked (noticed:)".to_owned());
            return;
        };
        let holds = || self.now_s() < until_s && !self.is_stopped();
        let mut unheard = None;
        while holds() {
            match question.ask(&holds) {
                Answer::Yes(said) => {
                    played.noticed_s = Some(self.now_s());
                    self.tell(&format!("{name}: {FAULT_NOTICED} {}", first_line(&said)));
                    return;
                }
                Answer::CannotTell(why) => {
                    played.noticed_unknown = Some(first_line(&why).to_owned());
                    return;
                }
                // What was not waited for is no answer.
                Answer::No if holds() => unheard = None,
                Answer::No => {}
                Answer::Unheard(why) => unheard = Some(why),
            }
            let left = Duration::from_secs_f64((until_s - self.now_s()).max(0.0));
            self.wait(ASK_NOTICED_EVERY.min(left));
        }
        let early_s = played.from_s + spec.hold.as_secs_f64() - until_s;
        let unknown = || match early_s < LOOKS_S {
            true => "the store had not noticed when it was healed".to_owned(),
            false => format!(
                "the store had not noticed {early_s:.0} s before it was to be healed, when the last look at the fault began"
            ),
        };
        played.noticed_unknown = Some(unheard.map_or_else(unknown, |why| first_line(&why).to_owned()));
    }

    /// Asks until the slot is over whether the store is whole again; the question where it was not.
    pub(super) fn await_whole(
        &self,
        spec: &FaultSpec,
        number: u32,
        played: &mut Played,
        until_s: f64,
    ) -> Option<Question> {
        let Some(mut question) = Question::whole(spec, &self.means(&format!("{} {number}", spec.name)))
        else {
            played.whole_unknown = Some("nothing was asked (whole:)".to_owned());
            return None;
        };
        let (mut asked_s, mut unheard) = (self.now_s(), None);
        // The last question may end a little after the slot.
        let wanted = || self.now_s() < until_s + LONGER_S && !self.is_stopped();
        while self.now_s() < until_s && !self.is_stopped() {
            asked_s = self.now_s();
            match question.ask(&wanted) {
                Answer::Yes(said) => {
                    played.whole_s = Some(self.now_s());
                    self.tell(&format!("{} {number}: {FAULT_WHOLE} {}", spec.name, first_line(&said)));
                    return None;
                }
                Answer::CannotTell(why) => {
                    played.whole_unknown = Some(first_line(&why).to_owned());
                    return None;
                }
                Answer::No if wanted() => unheard = None,
                Answer::No => {}
                Answer::Unheard(why) => unheard = Some(why),
            }
            let took_s = worked_s(unheard.is_some(), (self.now_s() - asked_s).max(0.0));
            self.wait(pause(took_s, until_s - self.now_s()));
        }
        let ago_s = (self.now_s() - asked_s).max(0.0);
        let unknown =
            || format!("redundancy was not whole before the slot ended (last asked {ago_s:.0} s before)");
        played.whole_unknown = Some(unheard.map_or_else(unknown, |why| {
            let why = first_line(&why);
            format!("nobody could say whether redundancy was whole before the slot ended: {why}")
        }));
        Some(question)
    }
}

/// Why a fault says nothing that was asked for at `from_s`, was to be healed at `due_s`, and is at `now_s`.
fn held_too_long(from_s: f64, due_s: f64, now_s: f64, hold: Duration) -> Option<String> {
    let longer = now_s > due_s + LONGER_S;
    longer.then(|| format!("it was held for {:.0} s instead of {:.0} s", now_s - from_s, hold.as_secs_f64()))
}

/// How long a store had work with a question that took so long: none where whoever asks it was not reached.
fn worked_s(is_unheard: bool, took_s: f64) -> f64 {
    if is_unheard { 0.0 } else { took_s }
}

/// Between two questions whether all is whole: the last one took `took_s`, and the slot lasts `left_s` more. It leaves room for
/// a last question that ends with the slot.
fn pause(took_s: f64, left_s: f64) -> Duration {
    let every_s = ASK_WHOLE_EVERY.as_secs_f64();
    let full_s = (took_s * f64::from(ASK_WHOLE_REST)).max(every_s);
    let last_s = (left_s - took_s).max(every_s);
    Duration::try_from_secs_f64(full_s.min(last_s)).unwrap_or(ASK_WHOLE_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_takes_long_is_asked_seldom_and_once_more_at_the_end_of_the_slot() {
        let pauses = [
            // A quick one: every second.
            (0.0, 60.0, 1.0),
            (0.2, 60.0, 1.0),
            // One that takes longer: a fifth of the time at most.
            (0.5, 60.0, 2.0),
            (3.0, 60.0, 12.0),
            // Before the end there is time for one more.
            (3.0, 10.0, 7.0),
            (10.0, 30.0, 20.0),
            // Not enough for it: never less than a second, and the slot is over.
            (10.0, 3.0, 1.0),
            (10.0, -4.0, 1.0),
        ];
        for (took_s, left_s, expected_s) in pauses {
            let got = pause(took_s, left_s);
            assert!(
                (got.as_secs_f64() - expected_s).abs() < 1e-9,
                "{took_s} s, {left_s} s left: {got:?}, and not {expected_s} s"
            );
        }
        assert_eq!(pause(f64::INFINITY, f64::NAN), Duration::from_secs(1), "no panic");
    }

    #[test]
    fn a_fault_that_was_in_force_for_longer_than_it_was_to_be_says_nothing() {
        let hold = Duration::from_secs(10);
        assert_eq!(held_too_long(100.0, 110.0, 111.9, hold), None);
        let why = held_too_long(100.0, 110.0, 140.2, hold);
        assert_eq!(why.as_deref(), Some("it was held for 40 s instead of 10 s"));
        // Made and proved after 18 s, and healed then.
        assert_eq!(held_too_long(100.0, 118.0, 118.1, hold), None);
    }
}
