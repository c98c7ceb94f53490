//! Plays the faults of a stage, one slot after another, on a thread of its own: waits for the moment, writes down what is
//! about to be made, makes it, proves it, holds it, heals it, and waits until all is whole. Whatever ends it heals first what
//! is in force.

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cosmark_archive::{EventKind, FAULT_LANDED, FAULT_VOID, FaultInForce, FaultJournal, Timestamp};
use cosmark_metrics::{FaultResult, OpSnapshot};
use cosmark_workload::model::faults::{FaultAt, FaultKind, FaultSpec};

use crate::act::agent::Agents;
use crate::act::in_use::InUse;
use crate::act::proxy::Proxies;
use crate::act::{Hand, Means, Question, hand};
use crate::judge::seconds::Seconds;
use crate::judge::{Away, Played, Stretch, mean, results, without};
use crate::left::first_line;
use in_force::{By, InForce};
use questions::Lacking;
use taken_up::TakenUp;

mod in_force;
mod questions;
mod taken_up;
#[cfg(test)]
mod tests;

/// What is to be played.
pub struct Playing {
    /// The faults of the stage.
    pub faults: Vec<FaultSpec>,
    /// Id of the run.
    pub run: String,
    /// Id of the stage.
    pub stage: String,
    /// When its load began.
    pub began: Timestamp,
    /// When another controller took the run up; `None` where none did. Of loads that had begun by then, slots that may have begun,
    /// too, are not made.
    pub taken_up: Option<Timestamp>,
    /// Seconds of the ramp before the measured window.
    pub ramp_s: f64,
    /// Seconds of load, the ramp included, where time ends it.
    pub load_s: Option<f64>,
    /// Arrivals come by the clock.
    pub is_open: bool,
    /// Where faults in force are written down.
    pub journal: FaultJournal,
    /// Proxies that stand before stores.
    pub proxies: Proxies,
    /// Who reaches agents on other machines; `None` where nobody does.
    pub agents: Option<Arc<dyn Agents>>,
    /// The program of a guardian, and its first words; empty where there is none.
    pub guardian: Vec<OsString>,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub struct News {
    /// When.
    pub at: Timestamp,
    /// A step of a fault, or what a command printed.
    pub kind: EventKind,
    /// One sentence, or the output.
    pub text: String,
}

/// Faults that are played.
pub struct Player {
    shared: Arc<Shared>,
    playing: Arc<Playing>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    seconds: Seconds,
    written: u64,
    news: Vec<News>,
    played: Vec<Vec<Played>>,
    stop: bool,
    /// Nobody waits any more for what is not needed to heal.
    left: bool,
    over: bool,
}

impl State {
    /// A slot that was played: the number of its fault in the list, and its own, both from 0.
    fn slot_mut(&mut self, (fault, slot): (usize, usize)) -> Option<&mut Played> {
        self.played.get_mut(fault)?.get_mut(slot)
    }
}

/// What ends a wait.
type Ends = fn(&State) -> bool;

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a load that began at `began`, and on the clock of this process at `zero`.
    fn news(&self, began: Timestamp, zero: Instant, kind: EventKind, text: &str) {
        let at = began.checked_add(zero.elapsed()).unwrap_or_else(|_| Timestamp::now());
        self.state().news.push(News { at, kind, text: text.trim().to_owned() });
    }
}

impl Player {
    /// Begins.
    #[must_use]
    pub fn begin(playing: Playing) -> Self {
        let playing = Arc::new(playing);
        let shared = Arc::new(Shared::default());
        shared.state().played = vec![Vec::new(); playing.faults.len()];
        let (own, of) = (Arc::clone(&shared), Arc::clone(&playing));
        let thread = std::thread::Builder::new().name("faults".to_owned()).spawn(move || {
            let zero = instant_of(of.began);
            let stage = Stage { playing: &of, shared: &own, zero };
            let done = std::panic::catch_unwind(AssertUnwindSafe(|| stage.play()));
            if done.is_err() {
                stage.tell("the faults ended by a bug in Cosmark; what was in force is healed");
            }
            own.state().over = true;
        });
        let thread = thread.ok();
        if thread.is_none() {
            shared.state().over = true;
        }
        Self { shared, playing, thread }
    }

    /// What was done from `start_ns` to `end_ns` after the load began; `written`: objects among it.
    pub fn add<'a>(&self, start_ns: u64, end_ns: u64, ops: impl Iterator<Item = (&'a OpSnapshot, bool)>) {
        let mut state = self.shared.state();
        for (op, writes) in ops {
            state.seconds.add(start_ns, end_ns, op);
            state.written += if writes { op.ok } else { 0 };
        }
    }

    /// What happened since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<News> {
        std::mem::take(&mut self.shared.state().news)
    }

    /// No further fault is made, and what is in force is healed.
    pub fn stop(&self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_all();
    }

    /// As [`Player::stop`], and no store is waited for until it is whole.
    pub fn leave(&self) {
        self.shared.state().left = true;
        self.stop();
    }

    /// All is done and healed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.shared.state().over
    }

    /// What the faults cost; `away`: when drivers made no load.
    #[must_use]
    pub fn results(&self, away: &[Away]) -> Vec<FaultResult> {
        let state = self.shared.state();
        let playing = &self.playing;
        let measured = state.seconds.len();
        let end = playing.load_s.map_or(measured, |load_s| whole(load_s).min(measured));
        let load = Stretch { from: whole(playing.ramp_s.ceil()), to: end };
        let played = without(&state.played, away, &state.seconds, load);
        let mut all = results(&playing.faults, &played, &state.seconds, load, playing.is_open);
        for (result, spec) in all.iter_mut().zip(&playing.faults) {
            if let FaultKind::Proxy { of, .. } = &spec.kind {
                result.proxy = playing.proxies.cost(of);
            }
        }
        all
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.leave();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// A rate is steady when the means of two stretches of this many seconds are alike, or of some seconds more: of a store that
/// pauses every ten seconds one of two stretches may always have a pause more than the other.
const STEADY_HALF: usize = 15;
const STEADY_MORE: usize = 5;
const STEADY_WITHIN: f64 = 0.05;
/// How often conditions, proofs and questions are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A fault that nothing meets for so long did not land.
const PROOF_WITHIN: Duration = Duration::from_secs(15);
/// A slot that the end of the load cuts by less than this counts.
const CUT_S: f64 = 1.5;
/// Why no slot is made any more.
const LOAD_ENDED: &str = "the load had ended";
const UNHEALED: &str = "the fault before it is not known to be healed";

struct Stage<'a> {
    playing: &'a Playing,
    shared: &'a Arc<Shared>,
    zero: Instant,
}

impl Stage<'_> {
    fn play(&self) {
        let mut lacking = None;
        let mut taken_up = TakenUp::of(self);
        let (mut ended, mut left): (Option<&str>, u32) = (None, 0);
        let all = self.playing.faults.iter().enumerate();
        let all = all.flat_map(|(at, spec)| (1..=spec.repeats).map(move |number| (at, spec, number)));
        for (place, (at, spec, number)) in all.enumerate() {
            // Each slot that was to be made has its place in what comes of them.
            if let Some(why) = ended {
                left += 1;
                self.add(at, Played { void: Some(why.to_owned()), ..Played::default() });
                continue;
            }
            if let Some(skipped) = taken_up.skips(self, place, spec) {
                let why = skipped.void.clone().unwrap_or_default();
                self.tell(&format!("{} {number}: {FAULT_VOID}{why}", spec.name));
                self.add(at, skipped);
                continue;
            }
            let (played, question) = self.slot(spec, number, &mut lacking);
            let is_unhealed = played.heal_s.is_some() && played.healed_s.is_none();
            if let Some(question) = question {
                lacking = Lacking::of(spec, (at, number), self.now_s(), question);
            }
            self.add(at, played);
            if is_unhealed {
                ended = Some(UNHEALED);
            } else if self.is_stopped() {
                ended = Some(LOAD_ENDED);
            }
        }
        if let Some(why) = ended.filter(|_| left > 0) {
            let which = if left == 1 { "slot is" } else { "slots are" };
            self.tell(&format!("{left} further {which} not made: {why}"));
        }
        if ended == Some(UNHEALED) {
            return;
        }
        // What is read back, or measured by the next stage, is not to be half a store.
        self.is_whole(&mut lacking, |state| state.left);
    }

    /// A slot of the fault `at` is over.
    fn add(&self, at: usize, played: Played) {
        if let Some(slots) = self.shared.state().played.get_mut(at) {
            slots.push(played);
        }
    }

    /// Plays a slot; with it the question that still has to be answered, where the store is not known to be whole after it.
    fn slot(
        &self,
        spec: &FaultSpec,
        number: u32,
        lacking: &mut Option<Lacking>,
    ) -> (Played, Option<Question>) {
        let void = |why: &str| {
            self.tell(&format!("{} {number}: {FAULT_VOID}{why}", spec.name));
            (Played { void: Some(why.to_owned()), ..Played::default() }, None)
        };
        if number == 1
            && let Err(why) = self.await_moment(spec)
        {
            return void(&why);
        }
        if let Err(why) = self.may_begin(spec, lacking) {
            return void(&why);
        }
        let slot = format!("{} {number}", spec.name);
        let means = self.means(&slot);
        let mut hand = match hand(spec, &means) {
            Ok(hand) => hand,
            Err(why) => return void(&why),
        };
        let mut played = Played { from_s: self.now_s(), to_s: self.now_s(), ..Played::default() };
        match &mut hand {
            Some(hand) => self.with_fault(spec, number, hand.as_mut(), &mut played),
            None => self.tell(&format!("{} {number}: a slot without a fault begins", spec.name)),
        }
        let planned_s = played.from_s + spec.slot.as_secs_f64();
        let mut question = None;
        if hand.is_some() && played.healed_s.is_some() {
            // A fault that says nothing has disturbed the store all the same.
            question = match played.void {
                None => self.await_whole(spec, number, &mut played, planned_s),
                Some(_) => Question::whole(spec, &means),
            };
        }
        // Also of a slot that is void: what it has disturbed is over before the next one begins.
        self.wait_until_s(planned_s);
        played.to_s = self.now_s().min(planned_s);
        if played.to_s + CUT_S < planned_s && played.void.is_none() {
            played.void = Some("the load ended before its slot did".to_owned());
        }
        if let Some(why) = &played.void {
            self.tell(&format!("{} {number}: {FAULT_VOID}{why}", spec.name));
        }
        (played, question)
    }

    /// What the slot of this name is made with.
    fn means<'s>(&'s self, slot: &'s str) -> Means<'s> {
        let Playing { run, stage, proxies, agents, .. } = self.playing;
        Means { proxies, agents: agents.as_ref(), run, stage, slot }
    }

    /// Whether there is time for a slot, on a store that is whole; waits for that.
    fn may_begin(&self, spec: &FaultSpec, lacking: &mut Option<Lacking>) -> Result<(), String> {
        let is_too_late = || {
            let left_s = self.playing.load_s.map(|load_s| load_s - self.now_s());
            left_s.is_some_and(|left_s| left_s + CUT_S < spec.slot.as_secs_f64())
        };
        let too_late = "the load ends before its slot would";
        if is_too_late() {
            return Err(too_late.to_owned());
        }
        let since = lacking.as_ref().map(Lacking::since);
        let is_whole = self.is_whole(lacking, |state| state.stop);
        if self.is_stopped() {
            return Err(LOAD_ENDED.to_owned());
        }
        match since {
            Some(since) if !is_whole => Err(since),
            Some(_) if is_too_late() => {
                Err(format!("{too_late}, since it waited until redundancy was whole"))
            }
            _ => Ok(()),
        }
    }

    /// From before it is made to when it is healed.
    fn with_fault(&self, spec: &FaultSpec, number: u32, hand: &mut dyn Hand, played: &mut Played) {
        let name = format!("{} {number}", spec.name);
        let what = spec.kind.text();
        let in_use = InUse::take(&hand.acts_on()).and_then(|in_use| self.is_free(hand).map(|()| in_use));
        let _held = match in_use {
            Ok(in_use) => in_use,
            Err(why) => {
                played.void = Some(why);
                return;
            }
        };
        let noted =
            FaultInForce::made_here(&self.playing.run, &self.playing.stage, &name, &what, hand.plan());
        let note = match self.playing.journal.note(&noted) {
            Ok(note) => note,
            Err(error) => {
                played.void = Some(format!("it could not be written down, so it was not made: {error}"));
                return;
            }
        };
        // From here on it is healed whatever happens.
        let mut in_force = InForce::begin(self, spec, &name, hand, (note, noted));
        played.from_s = self.now_s();
        self.tell(&format!("{name}: {what}"));
        played.steps = in_force.hand.steps();
        let mut took_s = 0.0;
        match in_force.inject() {
            Ok(output) => {
                self.tell_output(&name, &output);
                took_s = self.prove(spec, &name, in_force.hand, played);
            }
            Err(why) => played.void = Some(why),
        }
        if played.void.is_none() {
            self.hold(spec, &name, played, took_s);
            if !in_force.was_healed() {
                self.look_again(spec, in_force.hand, played, took_s);
            }
        }
        played.heal_s = Some(self.now_s());
        let healed_by = in_force.heal();
        if !matches!(healed_by, By::Nobody | By::Unknown) {
            played.healed_s = Some(self.now_s());
        }
        match healed_by {
            // A load that has ended meanwhile is the lesser reason.
            By::This => played.void = in_force.stood().or(played.void.take()),
            By::Guardian(text) => played.void = Some(text),
            By::Agent(text, ago) => {
                let healed_s = (self.now_s() - ago.as_secs_f64()).max(played.from_s);
                (played.heal_s, played.healed_s) = (Some(healed_s), Some(healed_s));
                played.void = Some(text);
            }
            By::Nobody => {
                played.void.get_or_insert_with(|| "it could not be healed".to_owned());
            }
            By::Unknown => played.void = Some("it is not known whether it was healed".to_owned()),
        }
    }

    /// What is to be made is not there yet. What healed it last may take a while to show.
    fn is_free(&self, hand: &mut dyn Hand) -> Result<(), String> {
        if hand.acts_on().is_empty() {
            return Ok(());
        }
        let until = Instant::now() + PROOF_WITHIN;
        // Where it cannot be told, it cannot be proved later either, and that is said then.
        while let Ok(Some(proof)) = hand.landed_while(&|| !self.is_stopped()) {
            if Instant::now() > until || self.is_stopped() {
                let proof = first_line(&proof);
                return Err(format!(
                    "it was there before it was made ({proof}): heal what somebody else has made"
                ));
            }
            self.wait(LOOK_EVERY);
        }
        // To look may have taken long.
        if self.is_stopped() { Err("the load ended before it was made".to_owned()) } else { Ok(()) }
    }

    /// Gives how long the proof took, s; 0 where nobody looks again. One that does not end keeps no fault in force
    /// beyond its time, and no load from ending.
    fn prove(&self, spec: &FaultSpec, name: &str, hand: &mut dyn Hand, played: &mut Played) -> f64 {
        let until = Instant::now() + PROOF_WITHIN.min(spec.hold.max(Duration::from_secs(1)));
        let last_s = self.now_s() + PROOF_WITHIN.max(spec.hold).as_secs_f64();
        let is_wanted = || self.now_s() < last_s && !self.is_stopped();
        let mut why = None;
        while played.landed.is_none() && !self.is_stopped() {
            let asked_s = self.now_s();
            match hand.landed_while(&is_wanted) {
                Ok(Some(proof)) => {
                    self.tell(&format!("{name}: {FAULT_LANDED}{}", first_line(&proof)));
                    played.landed = Some((self.now_s(), proof));
                    return if hand.lasts() { self.now_s() - asked_s } else { 0.0 };
                }
                Ok(None) if asked_s < last_s && self.now_s() >= last_s => {
                    why = Some("its proof did not end in time".to_owned());
                }
                Ok(None) => {}
                Err(error) => why = Some(error),
            }
            if Instant::now() > until {
                break;
            }
            self.wait(LOOK_EVERY);
        }
        if self.is_stopped() {
            played.void = Some("the load ended before it was proved".to_owned());
            return 0.0;
        }
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        played.void = Some(format!("nothing proves that the fault was there{why}"));
        0.0
    }

    /// Until the first slot of a fault may begin.
    fn await_moment(&self, spec: &FaultSpec) -> Result<(), String> {
        loop {
            let is_there = match spec.at {
                FaultAt::After(time) => self.now_s() >= time.as_secs_f64(),
                FaultAt::Steady => self.is_steady(),
                FaultAt::Objects(count) => self.shared.state().written >= count,
            };
            if is_there {
                return Ok(());
            }
            if self.is_stopped() {
                return Err("the load ended before its moment came".to_owned());
            }
            if let FaultAt::After(time) = spec.at {
                self.wait_until_s(time.as_secs_f64());
            } else {
                self.wait(LOOK_EVERY);
            }
        }
    }

    fn is_steady(&self) -> bool {
        let state = self.shared.state();
        // The last second is not over.
        let end = state.seconds.ok.len().saturating_sub(1);
        let from = whole(self.playing.ramp_s.ceil()) + 2;
        state.seconds.ok.get(from..end).is_some_and(is_steady)
    }

    fn now_s(&self) -> f64 {
        self.zero.elapsed().as_secs_f64()
    }

    fn is_stopped(&self) -> bool {
        self.is_ended(|state| state.stop)
    }

    fn is_ended(&self, ends: Ends) -> bool {
        ends(&self.shared.state())
    }

    fn wait_until_s(&self, moment_s: f64) {
        while !self.is_stopped() {
            let left_s = moment_s - self.now_s();
            if left_s <= 0.0 {
                return;
            }
            self.wait(Duration::from_secs_f64(left_s.min(3600.0)));
        }
    }

    /// For so long, or until it is to stop.
    fn wait(&self, time: Duration) {
        self.wait_or(time, |state| state.stop);
    }

    /// For so long, or until something else ends it.
    fn wait_or(&self, time: Duration, ends: Ends) {
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, time, |state| !ends(state));
        drop(waited);
    }

    fn tell(&self, text: &str) {
        self.news(EventKind::Fault, text);
    }

    fn tell_output(&self, name: &str, output: &str) {
        if !output.trim().is_empty() {
            self.news(EventKind::Command, &format!("{name}: {output}"));
        }
    }

    fn news(&self, kind: EventKind, text: &str) {
        self.shared.news(self.playing.began, self.zero, kind, text);
    }
}

/// Whether a rate is steady in its last seconds.
fn is_steady(rates: &[f64]) -> bool {
    (STEADY_HALF..=STEADY_HALF + STEADY_MORE).any(|half| {
        let Some(from) = rates.len().checked_sub(2 * half) else { return false };
        let part = |from: usize| mean(rates.get(from..from + half).unwrap_or_default());
        let (first, second) = (part(from), part(from + half));
        first > 0.0 && (second / first - 1.0).abs() <= STEADY_WITHIN
    })
}

/// A moment of the wall clock, on the clock that this thread waits by.
fn instant_of(at: Timestamp) -> Instant {
    let (now, here) = (Timestamp::now(), Instant::now());
    let since =
        |from: Timestamp, to: Timestamp| Duration::try_from(to.duration_since(from)).unwrap_or_default();
    let moment = if at > now { here.checked_add(since(now, at)) } else { here.checked_sub(since(at, now)) };
    moment.unwrap_or(here)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a load, at least 0")]
fn whole(seconds: f64) -> usize {
    seconds.max(0.0) as usize
}
