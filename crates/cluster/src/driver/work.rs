//! The runs that this driver works on: it receives orders and fills outboxes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cosmark_driver::Catalog;
use cosmark_driver::Start;
use cosmark_driver::{LocalDriver, Options};
use cosmark_wire::lease::{Lease, Standing, Word};
use cosmark_wire::message::{Doing, Order, StageMessage};
use cosmark_wire::{
    DriverEvent, DriverLink, EventSender, Failure, FailureClass, TriggerOrder, TriggerReport,
};
use cosmark_workload::model::{ConfigValue, Stage};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Talk;
use super::outbox::{Outbox, is_last};
use super::sender::{Address, send_all};
use super::tenure::{PATIENCE, PATIENCE_AFTER_AWAY, Tenure};
use crate::nats::Bus;

/// Events between the load and the disk.
const MOST_WAITING: usize = 1024;
/// Marks the directory of a step that is a trigger.
const TRIGGER: &str = "trigger";
/// Answers of NATS about leases that may wait to be read.
const MOST_ANSWERS: usize = 1024;

/// What NATS says about the lease of a run.
pub struct Answer {
    run: String,
    asked: Instant,
    /// `None` = there is none.
    lease: Option<Lease>,
}

/// All runs.
pub struct Work {
    pub bus: Bus,
    pub catalog: Catalog,
    pub options: Options,
    /// One directory per run, and in it one per step.
    pub directory: PathBuf,
    pub most_bytes: u64,
    pub talk: Talk,
    runs: HashMap<String, Run>,
    answers: mpsc::Sender<Answer>,
    /// What keeps the state directory from being written, since it was tried last.
    pub trouble: Option<String>,
}

/// One run.
struct Run {
    tenure: Tenure,
    driver: LocalDriver,
    steps: BTreeMap<u32, Step>,
    /// Words about stages that have not come yet.
    early: Vec<Order>,
    /// It was said that its load is held.
    has_paused: bool,
    /// Host and port of the stores that its stages name.
    stores: BTreeSet<String>,
    /// Requests until the last look, and when that was.
    counted: (u64, Instant),
}

struct Step {
    outbox: Arc<Outbox>,
    sending: JoinHandle<()>,
    is_trigger: bool,
    /// Why this driver has stopped it by itself, if it has: its results are not whole.
    cut: Cut,
}

/// See [`Step::cut`].
#[derive(Clone, Default)]
struct Cut(Arc<Mutex<Option<String>>>);

impl Cut {
    fn is_because(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }

    /// The step's end says so.
    fn enter(&self, event: DriverEvent) -> DriverEvent {
        match (event, self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()) {
            (DriverEvent::Ended { missions, .. }, Some(text)) => {
                let gave_up = Some(Failure { work: String::new(), class: FailureClass::Stopped, text });
                DriverEvent::Ended { missions, gave_up }
            }
            (event, _) => event,
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.sending.abort();
    }
}

fn restarted() -> Failure {
    let text = "the driver was restarted".to_owned();
    Failure { work: String::new(), class: FailureClass::Restarted, text }
}

impl Work {
    /// Picks up what an earlier process left in the directory: sends what it had, and says of what was going on that it was
    /// restarted.
    ///
    /// # Errors
    /// When the directory cannot be read or written.
    pub fn new(
        bus: Bus,
        catalog: Catalog,
        options: Options,
        directory: PathBuf,
        most_bytes: u64,
        talk: Talk,
    ) -> io::Result<(Self, mpsc::Receiver<Answer>)> {
        fs::create_dir_all(&directory)?;
        let (answers, heard) = mpsc::channel(MOST_ANSWERS);
        let (runs, trouble) = (HashMap::new(), None);
        let mut work = Self { bus, catalog, options, directory, most_bytes, talk, runs, answers, trouble };
        for run in names_in(&work.directory)? {
            for name in names_in(&work.directory.join(&run))? {
                let Ok(step) = name.parse() else { continue };
                if let Err(error) = work.recover(&run, step) {
                    work.say_unwritable(&error);
                }
            }
            if !work.runs.contains_key(&run) {
                drop(fs::remove_dir_all(work.directory.join(&run)));
            }
        }
        Ok((work, heard))
    }

    fn say_unwritable(&mut self, error: &io::Error) -> String {
        let shown = self.directory.display();
        let text = format!("the state directory {shown} cannot be written: {error}; make room there");
        (self.talk)(&text);
        self.trouble = Some(text.clone());
        text
    }

    /// Looks whether the state directory can be written again, if it could not.
    pub fn try_directory(&mut self) {
        if self.trouble.is_none() {
            return;
        }
        let path = self.directory.join("room");
        // More than a file without a byte: that takes no room.
        let written = fs::write(&path, [0; 4096]);
        drop(fs::remove_file(&path));
        if written.is_ok() {
            (self.talk)("the state directory can be written again");
            self.trouble = None;
        }
    }

    fn recover(&mut self, run: &str, step: u32) -> io::Result<()> {
        let is_trigger = self.step_directory(run, step).join(TRIGGER).exists();
        let outbox = self.begin(run, step, is_trigger)?;
        if !outbox.is_ended() {
            outbox.append(if is_trigger {
                let error = Some("the driver was restarted while the script ran".to_owned());
                DriverEvent::Triggered(TriggerReport { output: String::new(), error })
            } else {
                DriverEvent::Ended { missions: Vec::new(), gave_up: Some(restarted()) }
            })?;
        }
        Ok(())
    }

    fn step_directory(&self, run: &str, step: u32) -> PathBuf {
        self.directory.join(run).join(step.to_string())
    }

    /// Opens the outbox of a step and begins to send it.
    fn begin(&mut self, run: &str, step: u32, is_trigger: bool) -> io::Result<Arc<Outbox>> {
        let directory = self.step_directory(run, step);
        let outbox = Outbox::open(&directory, step, self.most_bytes)?;
        if is_trigger {
            fs::write(directory.join(TRIGGER), b"")?;
        }
        self.enter(run, step, is_trigger, &outbox);
        Ok(outbox)
    }

    /// A step that cannot be kept on disk: who waits for it is told so, by what is only in memory.
    fn refuse_for_want_of_room(&mut self, run: &str, step: u32, is_trigger: bool, error: &io::Error) {
        let trouble = self.say_unwritable(error);
        let text = format!("driver {}: {trouble}", self.options.name);
        let outbox = Outbox::in_memory(&self.step_directory(run, step), step);
        self.enter(run, step, is_trigger, &outbox);
        drop(outbox.last_words(if is_trigger {
            DriverEvent::Triggered(TriggerReport { output: String::new(), error: Some(text) })
        } else {
            DriverEvent::Refused(Failure { work: String::new(), class: FailureClass::Driver, text })
        }));
    }

    /// Notes a step and begins to send what it has to tell.
    fn enter(&mut self, run: &str, step: u32, is_trigger: bool, outbox: &Arc<Outbox>) {
        let address = Address { run: run.to_owned(), step, driver: self.options.name.clone() };
        let talk = Arc::clone(&self.talk);
        let sending =
            tokio::spawn(send_all(self.bus.clone(), address, Arc::clone(outbox), move |text| talk(&text)));
        let (catalog, options) = (self.catalog, self.options.clone());
        let run = self.runs.entry(run.to_owned()).or_insert_with(|| {
            let tenure = Tenure::new();
            let driver = LocalDriver::new(catalog, options).under(Arc::clone(&tenure.permit));
            Run {
                tenure,
                driver,
                steps: BTreeMap::new(),
                early: Vec::new(),
                has_paused: false,
                stores: BTreeSet::new(),
                counted: (0, Instant::now()),
            }
        });
        let cut = Cut::default();
        run.steps.insert(step, Step { outbox: Arc::clone(outbox), sending, is_trigger, cut });
    }

    /// Looks at the leases of all runs, and asks for those that are in doubt. `jumped`: this process stood still until now.
    /// `was_away`: the connection came back lately.
    pub fn look(&mut self, jumped: bool, was_away: bool) {
        let patience = if was_away { PATIENCE_AFTER_AWAY } else { PATIENCE };
        let name = self.options.name.clone();
        for (id, run) in &mut self.runs {
            let before = run.tenure.standing();
            if run.tenure.look(jumped, run.is_at_work(), patience) {
                ask(self.bus.clone(), id.clone(), self.answers.clone());
            }
            let now = run.tenure.standing();
            match (before, now) {
                (Standing::Makes { .. }, Standing::Asks { .. }) if run.is_at_work() => {
                    run.has_paused = true;
                    let why = if jumped { "this driver stood still" } else { "its lease was not renewed" };
                    (self.talk)(&format!("run {id}: {why}; no more load before it is known that it lives"));
                }
                (Standing::Asks { .. }, Standing::Rests) if run.is_at_work() => {
                    let text = format!(
                        "driver {name} has stopped by itself: no controller renews the lease of run {id}"
                    );
                    (self.talk)(&text);
                    run.cut_up_to(u32::MAX, &text);
                }
                _ => {}
            }
        }
    }

    /// A renewal of a run's lease.
    pub fn hears(&mut self, run: &str, lease: &Lease) {
        if let Some(known) = self.runs.get_mut(run) {
            let before = known.tenure.standing();
            known.tenure.hears(lease);
            self.obey(run, before);
        }
    }

    /// What NATS says of a lease.
    pub fn take_answer(&mut self, answer: &Answer) {
        let Answer { run, asked, lease } = answer;
        if let Some(known) = self.runs.get_mut(run) {
            let before = known.tenure.standing();
            known.tenure.is_told(*asked, lease.as_ref());
            // Of a run without a lease there is nothing to come: its controller writes that before it orders anything.
            if lease.is_none() && !known.is_at_work() {
                return self.forget(run);
            }
            self.obey(run, before);
        }
    }

    /// Follows what the lease says.
    fn obey(&mut self, id: &str, before: Standing) {
        let name = self.options.name.clone();
        let Some(run) = self.runs.get_mut(id) else { return };
        if run.tenure.standing() == Standing::Over {
            return self.forget(id);
        }
        let goes_on = run.tenure.standing().may_make_load() && !before.may_make_load();
        if goes_on && run.has_paused && run.is_at_work() {
            run.has_paused = false;
            (self.talk)(&format!("run {id} lives; its load goes on"));
        }
        let Some(lease) = run.tenure.lease().cloned() else { return };
        let held = run.tenure.permit.is_held();
        let open: Vec<u32> = run.open_steps();
        for step in open {
            match lease.word_to(&name, step) {
                Word::GoOn => {}
                Word::Finish if !held => run.driver.finish(step),
                Word::Finish | Word::Abort | Word::Forget => run.driver.abort(step),
                Word::GivenUp => {
                    let text =
                        format!("driver {name} was given up while nothing was heard of it, and has stopped");
                    run.cut_up_to(step, &text);
                }
            }
        }
    }

    /// Runs that are going on.
    pub fn running(&self) -> Vec<String> {
        self.runs.iter().filter(|(_, run)| run.is_at_work()).map(|(name, _)| name.clone()).collect()
    }

    /// What is really going on: runs that have not ended, and such as still send requests.
    pub fn doing(&mut self) -> Vec<Doing> {
        let mut doing = Vec::new();
        for (id, run) in &mut self.runs {
            let requests = run.driver.requests();
            let (before, at) = std::mem::replace(&mut run.counted, (requests, Instant::now()));
            let seconds = at.elapsed().as_secs_f64().max(1e-3);
            let new = u32::try_from(requests.saturating_sub(before)).unwrap_or(u32::MAX);
            if run.is_at_work() || new > 0 {
                let age = run.tenure.age().map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
                doing.push(Doing {
                    run: id.clone(),
                    requests_per_s: f64::from(new) / seconds,
                    standing: run.tenure.standing(),
                    lease_age_ms: age,
                    stores: run.stores.iter().cloned().collect(),
                });
            }
        }
        doing
    }

    /// Bytes that wait to be acknowledged.
    pub fn waiting_bytes(&self) -> u64 {
        self.runs.values().flat_map(|run| run.steps.values()).map(|step| step.outbox.waiting_bytes()).sum()
    }

    /// Says that a step cannot be done here, if it has not begun.
    pub fn refuse(&mut self, run: &str, step: u32, text: String) {
        if self.runs.get(run).is_some_and(|run| run.steps.contains_key(&step)) {
            return;
        }
        (self.talk)(&text);
        let failure = Failure { work: String::new(), class: FailureClass::Driver, text };
        let refused =
            self.begin(run, step, false).and_then(|outbox| outbox.append(DriverEvent::Refused(failure)));
        if let Err(error) = refused {
            self.refuse_for_want_of_room(run, step, false, &error);
        }
    }

    /// Follows an order. One that came before changes nothing.
    pub fn follow(&mut self, run: &str, order: Order) {
        if let Some(known) = self.runs.get_mut(run) {
            known.tenure.is_ordered();
        }
        match order {
            Order::Stage(stage) => self.stage(run, &stage),
            Order::Trigger { step, trigger } => self.trigger(run, step, trigger),
            Order::Forget => self.forget(run),
            Order::Go { step, .. } | Order::Finish { step } | Order::Abort { step } => {
                let known = self.runs.get_mut(run);
                match known {
                    Some(known) if known.steps.contains_key(&step) => known.follow(&order),
                    Some(known) => known.early.push(order),
                    // Of a run that was forgotten, or never begun here.
                    None => {}
                }
            }
        }
    }

    fn stage(&mut self, run: &str, message: &StageMessage) {
        let step = message.step;
        if self.runs.get(run).is_some_and(|run| run.steps.contains_key(&step)) {
            return;
        }
        let order = match message.order() {
            Ok(order) => order,
            Err(text) => return self.refuse(run, step, text),
        };
        let outbox = match self.begin(run, step, false) {
            Ok(outbox) => outbox,
            Err(error) => return self.refuse_for_want_of_room(run, step, false, &error),
        };
        (self.talk)(&format!("run {run}: stage {}, {} works", order.stage.name, order.shares.len()));
        let Some(known) = self.runs.get_mut(run) else { return };
        known.stores.extend(stores_of(&order.stage));
        let (sender, mut events) = mpsc::channel(MOST_WAITING);
        known.driver.start(order, EventSender::new(0, sender));
        let stopper = known.driver.stopper(step);
        let cut = known.steps.get(&step).map(|step| step.cut.clone()).unwrap_or_default();
        let name = self.options.name.clone();
        let talk = Arc::clone(&self.talk);
        let keep = move || {
            let mut full: Option<String> = None;
            while let Some(from) = events.blocking_recv() {
                let is_last = is_last(&from.event);
                if full.is_none()
                    && let Err(error) = outbox.append(cut.enter(from.event))
                {
                    talk(&format!("the outbox cannot be written: {error}"));
                    full = Some(error.to_string());
                    stopper.abort();
                }
                if is_last {
                    break;
                }
            }
            if let Some(text) = full {
                let text = format!(
                    "driver {name} cannot keep its results: {text}; make room in its state directory"
                );
                let gave_up = Some(Failure { work: String::new(), class: FailureClass::Driver, text });
                drop(outbox.last_words(DriverEvent::Ended { missions: Vec::new(), gave_up }));
            } else if !outbox.is_ended() {
                let text = "the driver's own thread broke; this is a bug in Cosmark".to_owned();
                let failure = Failure { work: String::new(), class: FailureClass::Driver, text };
                drop(outbox.append(DriverEvent::Refused(failure)));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("outbox".into()).spawn(keep) {
            (self.talk)(&format!("cannot start a thread: {error}"));
            known.driver.abort(step);
        }
        let early: Vec<Order> = std::mem::take(&mut known.early);
        for order in early {
            self.follow(run, order);
        }
    }

    fn trigger(&mut self, run: &str, step: u32, trigger: TriggerOrder) {
        if self.runs.get(run).is_some_and(|run| run.steps.contains_key(&step)) {
            return;
        }
        let outbox = match self.begin(run, step, true) {
            Ok(outbox) => outbox,
            Err(error) => return self.refuse_for_want_of_room(run, step, true, &error),
        };
        (self.talk)(&format!("run {run}: trigger {}", trigger.script));
        let Some(known) = self.runs.get_mut(run) else { return };
        let mut report = known.driver.trigger(step, trigger);
        let talk = Arc::clone(&self.talk);
        tokio::spawn(async move {
            let report = report.recv().await.unwrap_or_else(|| TriggerReport {
                output: String::new(),
                error: Some("the script's thread broke".to_owned()),
            });
            if let Err(error) = outbox.append(DriverEvent::Triggered(report.clone())) {
                talk(&format!("the outbox cannot be written: {error}"));
                drop(outbox.last_words(DriverEvent::Triggered(report)));
            }
        });
    }

    fn forget(&mut self, run: &str) {
        if let Some(known) = self.runs.remove(run) {
            known.steps.keys().for_each(|step| known.driver.abort(*step));
            (self.talk)(&format!("run {run} is over"));
        }
        let directory = self.directory.join(run);
        if directory.exists()
            && let Err(error) = fs::remove_dir_all(&directory)
        {
            (self.talk)(&format!("{} cannot be removed: {error}", directory.display()));
        }
    }

    /// Stops everything; operations in flight may end, unless at once.
    pub fn stop(&self, at_once: bool) {
        for run in self.runs.values() {
            for step in run.steps.keys() {
                if at_once { run.driver.abort(*step) } else { run.driver.finish(*step) }
            }
        }
    }

    /// True when every step has ended and NATS has all of it.
    pub fn is_quiet(&self) -> bool {
        let mut steps = self.runs.values().flat_map(|run| run.steps.values());
        steps.all(|step| step.outbox.is_ended() && step.sending.is_finished())
    }
}

/// Host and port of every URL among the keys of a stage's targets.
fn stores_of(stage: &Stage) -> BTreeSet<String> {
    let specs = stage.works.iter().flat_map(|work| [&work.auth, &work.storage]);
    let texts = specs.flat_map(|spec| &spec.config.entries).filter_map(|entry| match &entry.value {
        ConfigValue::Text(text) => Some(text.as_str()),
        ConfigValue::Env(_) | ConfigValue::File(_) | ConfigValue::Secret(_) => None,
    });
    let urls = texts.flat_map(|text| text.split([',', ' ', ';']));
    urls.filter_map(|url| {
        let (_, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        // Without a login.
        authority.rsplit('@').next().filter(|host| !host.is_empty()).map(str::to_ascii_lowercase)
    })
    .collect()
}

/// Asks NATS for the lease of a run.
fn ask(bus: Bus, run: String, answers: mpsc::Sender<Answer>) {
    let asked = Instant::now();
    tokio::spawn(async move {
        if let Ok(lease) = bus.lease_of(&run).await {
            let _ = answers.send(Answer { run, asked, lease: lease.map(|(lease, _)| lease) }).await;
        }
    });
}

impl Run {
    /// Something of it has not ended.
    fn is_at_work(&self) -> bool {
        self.steps.values().any(|step| !step.outbox.is_ended())
    }

    fn open_steps(&self) -> Vec<u32> {
        let open = self.steps.iter().filter(|(_, step)| !step.outbox.is_ended());
        open.map(|(number, _)| *number).collect()
    }

    /// Stops the steps up to this one; what they have done is told, with why they are not whole.
    fn cut_up_to(&self, last: u32, why: &str) {
        for (number, step) in self.steps.range(..=last).filter(|(_, step)| !step.outbox.is_ended()) {
            step.cut.is_because(why.to_owned());
            self.driver.abort(*number);
        }
    }

    fn follow(&mut self, order: &Order) {
        match order {
            Order::Go { step, start_ns, unix_ns, clock } => {
                if self.steps.get(step).is_some_and(|step| !step.is_trigger) {
                    let start =
                        Start { at_ns: Some(*start_ns), unix_ns: Some(*unix_ns), clock: Some(*clock) };
                    self.driver.go_at(*step, start);
                }
            }
            Order::Finish { step } => self.driver.finish(*step),
            Order::Abort { step } => self.driver.abort(*step),
            Order::Stage(_) | Order::Trigger { .. } | Order::Forget => {}
        }
    }
}

fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    Ok(names)
}
