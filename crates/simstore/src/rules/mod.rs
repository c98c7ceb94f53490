//! Decides what happens to each request: the compiled form of a behaviour.
//!
//! A request asks three times: when its head is read ([`Script::on_head`]: reset, error, pace), when it is
//! whole ([`Script::on_request`]: refusals, queue, delay, stall) and when it has an answer
//! ([`Script::on_answer`]: what is done to the answer). No rule sees the clock other than by the times given.

mod armed;
mod damage;
mod due;
mod instead;
mod load;
mod pick;
mod promises;
mod sampler;
mod verdict;

use std::sync::Arc;

pub(crate) use load::Link;
pub(crate) use pick::{below, stream};
pub(crate) use sampler::Moment;
pub(crate) use verdict::{Change, Decision, Due, Faults, Instead, InsteadKind, Pace, Past};

use self::armed::Fired;
use self::damage::{AnswerRules, PastRules};
use self::due::LoadRules;
use self::instead::HeadRules;
use self::promises::PromiseRules;
use crate::behaviour::{Behaviour, BrokenPromise, Op};

/// The compiled behaviour with the state of its rules.
pub(crate) struct Script {
    /// Clock time of the script's time 0, once it has begun.
    zero_ns: Option<u64>,
    /// No rule ever acts on a request: skip everything.
    quiet: bool,
    head: HeadRules,
    load: LoadRules,
    answer: AnswerRules,
    past: PastRules,
    promises: PromiseRules,
}

impl Script {
    /// Compiles a checked behaviour; fails only if a file of a law cannot be read.
    pub(crate) fn new(behaviour: &Behaviour, zero_ns: Option<u64>) -> Result<Script, String> {
        let head = HeadRules::new(behaviour);
        let load = LoadRules::new(behaviour)?;
        let answer = AnswerRules::new(behaviour);
        let quiet = head.is_quiet() && load.is_quiet() && answer.is_quiet();
        Ok(Script {
            zero_ns,
            quiet,
            head,
            load,
            answer,
            past: PastRules::new(behaviour),
            promises: PromiseRules::new(behaviour),
        })
    }

    /// How long the store must remember replaced and deleted versions; 0 when no rule shows the past.
    pub(crate) fn past_ns(&self) -> u64 {
        self.past.window_ns()
    }

    /// Time of the script; starts it if it waits for the first request.
    fn at(&mut self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(*self.zero_ns.get_or_insert(now_ns))
    }

    /// Whether a new connection is reset. Connections do not start the script.
    pub(crate) fn resets_connection(&mut self, now_ns: u64) -> bool {
        self.head.resets_connection(now_ns.saturating_sub(self.zero_ns.unwrap_or(now_ns)))
    }

    /// First question: the head of a request was read.
    pub(crate) fn on_head(&mut self, op: Op, key: &str, now_ns: u64) -> Decision {
        let at_ns = self.at(now_ns);
        if self.quiet { Decision::default() } else { self.head.decide(op, key, at_ns) }
    }

    /// Whether a law wants to know the size of the object.
    pub(crate) fn wants_bytes(&self) -> bool {
        self.load.wants_bytes()
    }

    /// Second question: the request is whole (at a time of the server's clock). May turn the decision into a refusal.
    pub(crate) fn on_request(&mut self, op: Op, key: &str, now: Moment, d: &mut Decision) -> Due {
        let now_ns = now.at_ns;
        if self.quiet {
            return Due { at_ns: now_ns, delay_ns: 0 };
        }
        let at_ns = self.at(now_ns);
        let (due_ns, delay_ns) = self.load.due(op, key, Moment { at_ns, ..now }, d);
        Due { at_ns: now_ns - at_ns + due_ns, delay_ns }
    }

    /// Third question: there is an answer with a body of this length (0: none that may be harmed).
    pub(crate) fn on_answer(
        &mut self,
        op: Op,
        key: &str,
        now_ns: u64,
        body: u64,
        rule: &mut Option<Arc<str>>,
    ) -> Faults {
        if self.quiet {
            return Faults::default();
        }
        let at_ns = self.at(now_ns);
        self.answer.faults(op, key, at_ns, body, rule)
    }

    /// Whether a read of an object changed `age_ns` ago shows what was before; by which rule.
    pub(crate) fn shows_past(
        &mut self,
        op: Op,
        key: &str,
        now_ns: u64,
        age_ns: u64,
        change: Change,
    ) -> Option<Arc<str>> {
        let at_ns = self.at(now_ns);
        self.past.shows(op, key, at_ns, age_ns, change)
    }

    /// What becomes of a change that will be acknowledged, if not what was asked.
    pub(crate) fn breaks_promise(
        &mut self,
        op: Op,
        key: &str,
        now_ns: u64,
    ) -> Option<(BrokenPromise, Arc<str>)> {
        let at_ns = self.at(now_ns);
        self.promises.breaks(op, key, at_ns)
    }

    /// How far back a listing looks; one draw for the whole listing.
    pub(crate) fn lists_past(&mut self, op: Op, now_ns: u64) -> Option<(Past, Arc<str>)> {
        let at_ns = self.at(now_ns);
        self.past.lists(op, at_ns)
    }

    /// Starts the script's clock anew, with full buckets and an empty queue; random streams go on.
    pub(crate) fn zero(&mut self, zero_ns: Option<u64>) {
        self.zero_ns = zero_ns;
        self.load.clear();
    }

    /// How often each rule acted.
    pub(crate) fn fired(&self) -> Fired {
        let mut out = Vec::new();
        self.load.report(&mut out);
        self.head.report(&mut out);
        self.answer.report(&mut out);
        self.past.report(&mut out);
        self.promises.report(&mut out);
        out
    }
}
