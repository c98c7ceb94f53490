//! The runs that this driver works on: orders in, outboxes out.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cosmark_bus::Bus;
use cosmark_wire::message::{Order, StageMessage};
use cosmark_wire::{
    DriverEvent, DriverLink, EventSender, Failure, FailureClass, TriggerOrder, TriggerReport,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Talk;
use super::outbox::Outbox;
use super::sender::{Address, send_all};
use crate::catalog::Catalog;
use crate::gate::Start;
use crate::local::{LocalDriver, Options};

/// Events between the load and the disk.
const MOST_WAITING: usize = 1024;
/// Marks the directory of a step that is a trigger.
const TRIGGER: &str = "trigger";

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
}

/// One run.
struct Run {
    driver: LocalDriver,
    steps: BTreeMap<u32, Step>,
    /// Words about stages that have not come yet.
    early: Vec<Order>,
}

struct Step {
    outbox: Arc<Outbox>,
    sending: JoinHandle<()>,
    is_trigger: bool,
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
    ) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let mut work = Self { bus, catalog, options, directory, most_bytes, talk, runs: HashMap::new() };
        for run in names_in(&work.directory)? {
            for name in names_in(&work.directory.join(&run))? {
                let Ok(step) = name.parse() else { continue };
                work.recover(&run, step)?;
            }
        }
        Ok(work)
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
        let address = Address { run: run.to_owned(), step, driver: self.options.name.clone() };
        let talk = Arc::clone(&self.talk);
        let sending =
            tokio::spawn(send_all(self.bus.clone(), address, Arc::clone(&outbox), move |text| talk(&text)));
        let (catalog, options) = (self.catalog, self.options.clone());
        let run = self.runs.entry(run.to_owned()).or_insert_with(|| Run {
            driver: LocalDriver::new(catalog, options),
            steps: BTreeMap::new(),
            early: Vec::new(),
        });
        run.steps.insert(step, Step { outbox: Arc::clone(&outbox), sending, is_trigger });
        Ok(outbox)
    }

    /// Runs that are going on.
    pub fn running(&self) -> Vec<String> {
        let at_work = |run: &Run| run.steps.values().any(|step| !step.outbox.is_ended());
        self.runs.iter().filter(|(_, run)| at_work(run)).map(|(name, _)| name.clone()).collect()
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
            (self.talk)(&format!("the state directory cannot be written: {error}"));
        }
    }

    /// Follows an order. One that came before changes nothing.
    pub fn follow(&mut self, run: &str, order: Order) {
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
            Err(error) => {
                return (self.talk)(&format!("the state directory cannot be written: {error}"));
            }
        };
        (self.talk)(&format!("run {run}: stage {}, {} works", order.stage.name, order.shares.len()));
        let Some(known) = self.runs.get_mut(run) else { return };
        let (sender, mut events) = mpsc::channel(MOST_WAITING);
        known.driver.start(order, EventSender::new(0, sender));
        let stopper = known.driver.stopper(step);
        let talk = Arc::clone(&self.talk);
        let keep = move || {
            let mut full: Option<String> = None;
            while let Some(from) = events.blocking_recv() {
                if full.is_some() {
                    continue;
                }
                if let Err(error) = outbox.append(from.event) {
                    talk(&format!("the outbox cannot be written: {error}"));
                    full = Some(error.to_string());
                    stopper.abort();
                }
            }
            if let Some(text) = full {
                let text = format!("the driver cannot keep its results: {text}");
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
            Err(error) => {
                return (self.talk)(&format!("the state directory cannot be written: {error}"));
            }
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
            if let Err(error) = outbox.append(DriverEvent::Triggered(report)) {
                talk(&format!("the outbox cannot be written: {error}"));
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

impl Run {
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
