//! The faults of an agent: those that its machine's operator has named, one at a time, made for whoever asks by name.
//! The agent itself is their guard: a fault is healed when its time is over, when nothing is heard of its run, when the
//! agent ends, and after a kill by the fault's guardian or at the next start, for it is written down before it is made.
//!
//! Who asks opens a fault and is given a ticket; a fault is made once for one ticket. Steps are numbered: the same
//! number again asks what the step came to, and a smaller one is of the past. What became of a ticket is written down, so
//! that its run hears it from the next start, too.

mod held;
mod past;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cosmark_archive::{FaultInForce, FaultJournal, FaultTicket, FaultTickets};
use cosmark_workload::model::faults::{AllowedFault, FaultSpec};

use crate::act::agent::{Said, Step, Wish};
use crate::act::proxy::Proxies;
use crate::act::{Answer, Means, Question};
use crate::left::first_line;
use held::{Healed, Held, Making, Terms};
use past::Ended;

/// How often it is looked whether a fault's time is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What could not be healed is tried again this often.
const AGAIN_EVERY: Duration = Duration::from_secs(30);
/// Who has just asked for a fault has so long to have it made before another run may ask.
const ITS_TURN: Duration = Duration::from_secs(3);
/// The longest names of runs, stages and slots that are repeated, in characters.
const LONGEST_NAME: usize = 120;
/// The longest id of a run, in bytes.
const LONGEST_RUN: usize = 80;

/// What an agent bears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A run of which nothing was heard for so long is gone.
    pub silent: Duration,
    /// So long after its time a fault may last that nobody heals who asked for it.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silent: Duration::from_secs(10), grace: Duration::from_secs(5) }
    }
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is being done.
    Busy,
    /// What it came to.
    Done(Said),
    /// It is not done, and why.
    Refused(String),
}

/// A fault that is held, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Its name in the agent's file.
    pub fault: String,
    /// For which run.
    pub run: String,
    /// The fault's name in that run's workload, and the number of its slot.
    pub slot: String,
    /// Since when.
    pub since: Instant,
}

/// Makes the faults that an operator has allowed.
pub struct Injector {
    core: Arc<Core>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// Hears what is done, one sentence at a time.
type Talk = Box<dyn Fn(&str) + Send + Sync>;

struct Core {
    allowed: Vec<AllowedFault>,
    journal: FaultJournal,
    /// Where that is, for people.
    place: String,
    tickets: Mutex<FaultTickets>,
    /// The program of a guardian, and its first words; empty where there is none.
    guardian: Vec<OsString>,
    patience: Patience,
    talk: Talk,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What an earlier start has left was looked after.
    is_ready: bool,
    open: Option<Open>,
    todo: Option<Todo>,
    holding: Option<Holding>,
    stop: bool,
}

/// What is to be done next.
#[derive(Clone, Copy)]
struct Todo {
    ticket: u64,
    number: u32,
    step: Step,
}

/// What was asked for last.
struct Open {
    ticket: u64,
    wish: Wish,
    spec: FaultSpec,
    /// When it was asked for.
    opened: Instant,
    /// When something was heard of its run last.
    heard: Instant,
    /// The newest step, and what it came to.
    number: u32,
    said: Option<Said>,
    was_made: bool,
    /// It is in force no more.
    ended: Option<Ended>,
}

impl Injector {
    /// Begins with these faults, and heals what an earlier start has left in force in `state`, a directory of this
    /// agent's alone. `guardian` is the program of a guardian and its first words.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn begin(
        allowed: Vec<AllowedFault>,
        state: &Path,
        guardian: Vec<OsString>,
        patience: Patience,
        talk: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let (tickets, problem) = FaultTickets::open(state);
        problem.iter().for_each(|problem| talk(&problem.to_string()));
        let core = Arc::new(Core {
            allowed,
            tickets: Mutex::new(tickets),
            journal: FaultJournal::of(state),
            place: state.display().to_string(),
            guardian,
            patience,
            talk: Box::new(talk),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&core);
        let work = move || {
            // What is in force is healed where it is dropped.
            if std::panic::catch_unwind(AssertUnwindSafe(|| own.work())).is_err() {
                (own.talk)("its faults ended by a bug in Cosmark; what was in force is healed");
                own.state().stop = true;
            }
        };
        let thread = std::thread::Builder::new().name("faults".to_owned()).spawn(work);
        let thread = thread.map_err(|cause| format!("no thread could be started: {cause}"))?;
        Ok(Self { core, thread: Mutex::new(Some(thread)) })
    }

    /// The faults that may be asked for: name, and the longest time of each.
    #[must_use]
    pub fn allowed(&self) -> Vec<(String, Duration)> {
        self.core.allowed.iter().map(|fault| (fault.name.clone(), fault.longest)).collect()
    }

    /// The one that is held.
    #[must_use]
    pub fn held(&self) -> Option<Holding> {
        self.core.state().holding.clone()
    }

    /// Begins to speak of a fault; its ticket. Nothing is made yet.
    ///
    /// # Errors
    /// Why it is not to be had, and the remedy.
    pub fn open(&self, wish: Wish) -> Result<u64, String> {
        self.core.open(wish)
    }

    /// Has a step done, or says what it came to. Does not wait.
    #[must_use]
    pub fn step(&self, ticket: u64, number: u32, step: Step) -> Progress {
        self.core.step(ticket, number, step)
    }

    /// The run of this ticket lives.
    pub fn alive(&self, ticket: u64) {
        if let Some(open) = self.core.state().open.as_mut().filter(|open| open.ticket == ticket) {
            open.heard = Instant::now();
        }
    }

    /// Heals what is in force, and makes nothing any more. Blocks until that is done, for no longer than the commands
    /// of a fault may take.
    pub fn end(&self) {
        self.core.state().stop = true;
        self.core.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        self.end();
    }
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tickets(&self) -> MutexGuard<'_, FaultTickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, wish: Wish) -> Result<u64, String> {
        let Some(allowed) = self.allowed.iter().find(|fault| fault.name == wish.fault) else {
            let known: Vec<&str> = self.allowed.iter().map(|fault| fault.name.as_str()).collect();
            return Err(format!(
                "its operator allows no fault of that name; allowed are: {}",
                known.join(", ")
            ));
        };
        if wish.hold.is_zero() || wish.hold > allowed.longest {
            return Err(format!(
                "it may be held for {:?} at most, and is to be held for {:?}: write a shorter hold:",
                allowed.longest, wish.hold
            ));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(1..=LONGEST_RUN).contains(&wish.run.len()) || !wish.run.bytes().all(plain) {
            return Err("that is no id of a run".to_owned());
        }
        let spec = allowed.held_for(wish.hold);
        let wish = Wish { stage: short(&wish.stage), slot: short(&wish.slot), ..wish };
        let mut state = self.state();
        if state.stop {
            return Err("the agent ends".to_owned());
        }
        if !state.is_ready {
            return Err("it still heals what an earlier start of it has left; try again".to_owned());
        }
        if let Some(Holding { fault, run, slot, since }) = &state.holding {
            let since_s = since.elapsed().as_secs();
            return Err(format!(
                "it holds {fault} for run {run} ({slot}) since {since_s} s, and makes one fault at a time"
            ));
        }
        if let Some(open) = state.about_to_begin(self.patience).filter(|open| open.wish.run != wish.run) {
            return Err(format!(
                "run {} is about to have {} made ({}), and it makes one fault at a time",
                open.wish.run, open.wish.fault, open.wish.slot
            ));
        }
        self.nothing_left()?;
        let ticket = draw();
        let Wish { run, stage, slot, .. } = wish.clone();
        let asked = FaultTicket { ticket, run, stage, slot, made: None, ended: None };
        self.tickets().add(asked).map_err(|error| {
            format!("it could not be written down on its machine, so it is not to be had: {error}")
        })?;
        let now = Instant::now();
        state.open = Some(Open {
            ticket,
            wish,
            spec,
            opened: now,
            heard: now,
            number: 0,
            said: None,
            was_made: false,
            ended: None,
        });
        state.todo = None;
        Ok(ticket)
    }

    /// What nobody could heal would be measured.
    fn nothing_left(&self) -> Result<(), String> {
        let left = self.journal.all().map_err(|error| error.to_string())?;
        left.first().map_or(Ok(()), |(_, FaultInForce { run, fault, .. })| {
            Err(format!(
                "{fault} of run {run} is still in force there: heal it on that machine by `cosmark faults heal --archive {}`",
                self.place
            ))
        })
    }

    fn step(&self, ticket: u64, number: u32, step: Step) -> Progress {
        let mut state = self.state();
        let State { open, todo, is_ready, stop, .. } = &mut *state;
        let Some(open) = open.as_mut().filter(|open| open.ticket == ticket) else {
            return self.of_the_past(*is_ready, ticket, step);
        };
        // A request that comes so late makes nothing.
        if !open.was_made && open.heard.elapsed() > self.patience.silent {
            state.open = None;
            return self.of_the_past(true, ticket, step);
        }
        open.heard = Instant::now();
        if number < open.number {
            return Progress::Refused("a later step was asked for since".to_owned());
        }
        let is_newer = number > open.number;
        if !is_newer && let Some(said) = &open.said {
            return Progress::Done(said.clone());
        }
        // Where the agent ends nobody does steps any more.
        if let (Step::Heal, Some(ended)) = (step, &open.ended)
            && (is_newer || *stop)
        {
            return Progress::Done(ended.clone().said());
        }
        if !is_newer {
            return Progress::Busy;
        }
        (open.number, open.said) = (number, None);
        *todo = Some(Todo { ticket, number, step });
        self.changed.notify_all();
        Progress::Busy
    }

    /// Does what is asked for and watches over what is held, until the agent ends.
    fn work(&self) {
        let mut again = self.heal_left();
        self.state().is_ready = true;
        let mut held: Option<Held> = None;
        loop {
            if let Some((todo, wish, spec)) = self.next() {
                let said = self.take(&mut held, todo, &wish, &spec);
                let mut state = self.state();
                let is_newest = |open: &&mut Open| open.ticket == todo.ticket && open.number == todo.number;
                if let Some(open) = state.open.as_mut().filter(is_newest) {
                    open.said = Some(said);
                }
            }
            self.watch(&mut held);
            if self.state().stop {
                return;
            }
            if held.is_none() && again.is_some_and(|at| Instant::now() >= at) {
                again = self.heal_left();
            }
        }
    }

    /// Waits a little for something to do. What is about to be made is held from here on.
    fn next(&self) -> Option<(Todo, Wish, FaultSpec)> {
        let wait = |state: &mut State| state.todo.is_none() && !state.stop;
        let state = self.changed.wait_timeout_while(self.state(), LOOK_EVERY, wait);
        let mut state = state.unwrap_or_else(PoisonError::into_inner).0;
        let todo = state.todo.take().filter(|_| !state.stop)?;
        let open = state.open.as_mut().filter(|open| open.ticket == todo.ticket)?;
        let (wish, spec) = (open.wish.clone(), open.spec.clone());
        if todo.step == Step::Inject && !open.was_made {
            let Wish { fault, run, slot, .. } = wish.clone();
            state.holding = Some(Holding { fault, run, slot, since: Instant::now() });
        }
        Some((todo, wish, spec))
    }

    fn take(&self, held: &mut Option<Held>, todo: Todo, wish: &Wish, spec: &FaultSpec) -> Said {
        match todo.step {
            Step::Inject => self.inject(held, todo, wish, spec),
            Step::Prove => match held {
                Some(held) => self.prove(held),
                None => self.state().ended().map_or(Said::No, |ended| Said::Failed(ended.why)),
            },
            Step::Heal if held.is_some() => {
                let said = self.heal(held, "its run asked for it", false);
                said.unwrap_or_else(Said::Failed)
            }
            Step::Heal => self.state().ended().map_or_else(|| Said::Yes(String::new()), Ended::said),
            Step::Noticed | Step::Whole => self.ask(held.as_ref(), todo, wish, spec),
        }
    }

    fn inject(&self, held: &mut Option<Held>, todo: Todo, wish: &Wish, spec: &FaultSpec) -> Said {
        {
            let mut state = self.state();
            let Some(open) = state.open.as_mut().filter(|open| !open.was_made) else {
                // What is not held was not made: it was given up in this moment.
                if held.is_none() {
                    state.holding = None;
                }
                return Said::Failed("it was made already: a fault is made once for one asking".to_owned());
            };
            open.was_made = true;
        }
        let written = self.tickets().make(todo.ticket);
        if let Err(error) = written {
            self.state().holding = None;
            return Said::Failed(format!("it could not be written down, so it was not made: {error}"));
        }
        let making = Making {
            spec,
            wish,
            journal: &self.journal,
            guardian: &self.guardian,
            grace: self.patience.grace,
            ticket: todo.ticket,
        };
        let made = making.make(&|| self.is_given_up(todo.ticket), &self.talk);
        match made {
            Ok((made, text)) => {
                (self.talk)(&format!(
                    "made {} for run {} ({}): {}",
                    wish.fault,
                    wish.run,
                    wish.slot,
                    spec.kind.text()
                ));
                *held = Some(made);
                Said::Yes(text)
            }
            Err((why, Some(made))) => {
                *held = Some(*made);
                match self.heal(held, "it was not made as a whole", false) {
                    Ok(_) => Said::Failed(why),
                    Err(worse) => Said::Failed(format!("{why}; {worse}")),
                }
            }
            Err((why, None)) => {
                self.state().holding = None;
                self.wrote(self.tickets().end(todo.ticket, &format!("it was not made: {why}"), false));
                Said::Failed(why)
            }
        }
    }

    /// Nobody wants a fault any more that is about to be made: the agent ends, its run is silent, or has asked for another
    /// step.
    fn is_given_up(&self, ticket: u64) -> bool {
        let state = self.state();
        let open = state.open.as_ref().filter(|open| open.ticket == ticket);
        let is_silent = open.is_none_or(|open| open.heard.elapsed() > self.patience.silent);
        state.stop || state.todo.is_some() || is_silent
    }

    /// A proof that does not end keeps no fault in force.
    fn prove(&self, held: &mut Held) -> Said {
        let terms = held.terms();
        let wanted = || self.is_free_for(Some(terms));
        match held.hand.landed_while(&wanted) {
            Ok(Some(text)) => Said::Yes(text),
            Ok(None) if !wanted() => Said::Failed(
                "its proof had not ended when it was to be healed, or another step was asked for".to_owned(),
            ),
            Ok(None) => Said::No,
            Err(why) => Said::Failed(why),
        }
    }

    /// Nothing else is to be done than what is done for a fault of these terms; without any, for none.
    fn is_free_for(&self, held: Option<Terms>) -> bool {
        let state = self.state();
        state.todo.is_none() && !state.stop && held.is_none_or(|held| self.reason(&state, held).is_none())
    }

    /// A question is left where something else is to be done.
    fn ask(&self, held: Option<&Held>, todo: Todo, wish: &Wish, spec: &FaultSpec) -> Said {
        let proxies = Proxies::default();
        let Wish { run, stage, slot, .. } = wish;
        let means = Means { proxies: &proxies, agents: None, run, stage, slot };
        let (question, key) = match todo.step {
            Step::Noticed => (Question::noticed(spec, &means), "noticed"),
            _ => (Question::whole(spec, &means), "whole"),
        };
        let Some(mut question) = question else {
            return Said::Failed(format!("nothing was asked ({key}: in the agent's file)"));
        };
        let held = held.map(Held::terms);
        match question.ask(&|| self.is_free_for(held)) {
            Answer::Yes(text) => Said::Yes(text),
            Answer::No => Said::No,
            Answer::CannotTell(why) | Answer::Unheard(why) => Said::Failed(why),
        }
    }

    /// Why the agent heals a fault by itself.
    fn reason(&self, state: &State, held: Terms) -> Option<String> {
        if state.stop {
            return Some("the agent ends".to_owned());
        }
        if Instant::now() >= held.until {
            return Some("its time is over, and its run did not have it healed".to_owned());
        }
        let heard = state.open.as_ref().filter(|open| open.ticket == held.ticket).map(|open| open.heard);
        let silent = heard.map_or(Duration::MAX, |heard| heard.elapsed());
        (silent > self.patience.silent)
            .then(|| format!("nothing was heard of its run for {} s", self.patience.silent.as_secs_f64()))
    }

    fn watch(&self, held: &mut Option<Held>) {
        let Some(one) = held else { return };
        let why = self.reason(&self.state(), one.terms());
        let is_due = one.again.is_none_or(|at| Instant::now() >= at) || self.state().stop;
        let Some(why) = why.filter(|_| is_due) else { return };
        // Whoever asks after it is answered that it is gone, and why.
        drop(self.heal(held, &why, true));
    }

    /// Heals what is held, for this reason; it is held no more where that worked. `unasked`: its run has not asked for it.
    fn heal(&self, held: &mut Option<Held>, why: &str, unasked: bool) -> Result<Said, String> {
        let Some(one) = held else { return Ok(Said::Yes(String::new())) };
        let (ticket, name) = (one.ticket, one.name.clone());
        match one.heal() {
            Ok(Healed { text, by_another }) => {
                *held = None;
                let said = first_line(&text);
                let more = if said.is_empty() { String::new() } else { format!(": {said}") };
                (self.talk)(&match by_another {
                    true => format!("{name} is in force no more{more}"),
                    false => format!("healed {name}, because {why}{more}"),
                });
                let (why, unasked) = match by_another {
                    true => (text.clone(), true),
                    false => (format!("it was healed already, because {why}"), unasked),
                };
                self.wrote(self.tickets().end(ticket, &why, unasked));
                let ended = Ended { why, unasked, at: Instant::now() };
                let said = if by_another { ended.clone().said() } else { Said::Yes(text) };
                let mut state = self.state();
                state.holding = None;
                if let Some(open) = state.open.as_mut().filter(|open| open.ticket == ticket) {
                    open.ended = Some(ended);
                }
                Ok(said)
            }
            Err(what) => {
                one.again = Some(Instant::now() + AGAIN_EVERY);
                let text = format!("COULD NOT HEAL {name} ({why}): {what}");
                (self.talk)(&text);
                Err(what)
            }
        }
    }
}

impl State {
    /// Whoever has just asked for a fault, or waits until it is made.
    fn about_to_begin(&self, patience: Patience) -> Option<&Open> {
        let is_waited_for = self.todo.is_some_and(|todo| todo.step == Step::Inject);
        self.open.as_ref().filter(|open| match is_waited_for {
            true => open.heard.elapsed() <= patience.silent,
            false => open.number == 0 && open.opened.elapsed() < ITS_TURN,
        })
    }

    /// Why what was asked for last is not there any more.
    fn ended(&self) -> Option<Ended> {
        self.open.as_ref().and_then(|open| open.ended.clone())
    }
}

/// What others write is shown on terminals and in files.
fn short(text: &str) -> String {
    text.chars().take(LONGEST_NAME).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// A number that nobody guesses and no other ticket has.
fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
