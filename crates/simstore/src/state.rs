//! What the tasks of the server's thread share, and what the handle asks of it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::behaviour::{Behaviour, StoreMode, TimeZero};
use crate::clock::Clock;
use crate::log::{Counters, Log, Snapshot};
use crate::rules::Script;
use crate::store::Store;
use crate::swift::Tokens;
use crate::timer::Timer;

/// What the handle asks of the server.
pub(crate) enum Command {
    Log(SyncSender<Snapshot>),
    Counters(SyncSender<Counters>),
    Zero(SyncSender<()>),
    Clear(SyncSender<()>),
    Set(Box<Behaviour>, SyncSender<Result<(), String>>),
    /// The content of an object, whatever the account.
    Object(String, String, SyncSender<Option<Vec<u8>>>),
    /// The names in a container, whatever the account.
    Names(String, SyncSender<Option<Vec<String>>>),
}

/// A connection that is open.
pub(crate) struct Open {
    pub(crate) abort: AbortHandle,
    pub(crate) alive: Rc<Cell<u64>>,
}

/// Everything that the tasks of the server's thread share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) timer: Timer,
    pub(crate) behaviour: RefCell<Rc<Behaviour>>,
    pub(crate) store: RefCell<Store>,
    pub(crate) script: RefCell<Script>,
    pub(crate) tokens: RefCell<Tokens>,
    pub(crate) log: RefCell<Log>,
    pub(crate) requests: Cell<u64>,
    pub(crate) open: RefCell<HashMap<u64, Open>>,
}

impl Shared {
    /// Builds the state; fails if a file of the behaviour cannot be read or made.
    pub(crate) fn new(clock: Clock, behaviour: Behaviour) -> Result<Shared, String> {
        let script = Script::new(&behaviour, start_of(&behaviour, 0))?;
        let store = Store::new(behaviour.store.clone(), behaviour.etag, behaviour.seed, script.past_ns());
        let mut log_options = behaviour.log.clone();
        // The ceiling mode measures the wire, not a hash set.
        log_options.distinct_keys &= behaviour.store.mode != StoreMode::Null;
        let log = Log::new(&log_options)
            .map_err(|error| format!("cannot make the log file: {error}; check log.csv"))?;
        Ok(Shared {
            timer: Timer::new(clock, u64::from(behaviour.spin_us) * 1000, true),
            clock,
            store: RefCell::new(store),
            script: RefCell::new(script),
            tokens: RefCell::new(Tokens::new(behaviour.seed)),
            log: RefCell::new(log),
            requests: Cell::new(0),
            open: RefCell::new(HashMap::new()),
            behaviour: RefCell::new(Rc::new(behaviour)),
        })
    }

    /// The counters of all parts together.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.log.borrow().counters();
        let store = self.store.borrow();
        counters.objects = store.objects();
        counters.stored_bytes = store.budget.used();
        counters.connections_open = self.open.borrow().len() as u64;
        counters.rules = self
            .script
            .borrow()
            .fired()
            .into_iter()
            .map(|(label, count)| (label.to_string(), count))
            .collect();
        counters
    }

    /// Starts the script's clock anew.
    pub(crate) fn zero(&self) {
        let start = start_of(&self.behaviour.borrow(), self.clock.now_ns());
        self.script.borrow_mut().zero(start);
    }

    /// Exchanges the script. Store, log, TLS and the thread's own options stay as they were.
    fn set(&self, mut behaviour: Behaviour) -> Result<(), String> {
        let script = Script::new(&behaviour, start_of(&behaviour, self.clock.now_ns()))?;
        let mut store = self.store.borrow_mut();
        store.past_ns = script.past_ns();
        behaviour.store = store.options.clone();
        behaviour.etag = store.etag;
        self.script.replace(script);
        self.behaviour.replace(Rc::new(behaviour));
        Ok(())
    }

    pub(crate) fn obey(&self, command: Command) {
        // A handle that no longer waits for its answer has no use for it.
        match command {
            Command::Log(to) => _ = to.send(self.log.borrow().snapshot()),
            Command::Counters(to) => _ = to.send(self.counters()),
            Command::Zero(to) => {
                self.zero();
                _ = to.send(());
            }
            Command::Clear(to) => {
                self.log.borrow_mut().clear();
                _ = to.send(());
            }
            Command::Set(behaviour, to) => _ = to.send(self.set(*behaviour)),
            Command::Object(container, object, to) => {
                let store = self.store.borrow();
                let found = store.find_container(&container).and_then(|container| container.get(&object).1);
                _ = to.send(found.map(|object| object.content.whole().to_vec()));
            }
            Command::Names(container, to) => {
                let store = self.store.borrow();
                let names = store
                    .find_container(&container)
                    .map(|c| c.names().map(|name| name.to_string()).collect());
                _ = to.send(names);
            }
        }
    }

    pub(crate) async fn close_idle(&self) {
        let mut every = tokio::time::interval(Duration::from_secs(1));
        loop {
            every.tick().await;
            self.log.borrow_mut().hand_over(false);
            let idle_ns = u64::from(self.behaviour.borrow().idle_timeout_s) * 1_000_000_000;
            if idle_ns == 0 {
                continue;
            }
            let now_ns = self.clock.now_ns();
            self.open.borrow_mut().retain(|_, open| {
                let idle = now_ns.saturating_sub(open.alive.get()) > idle_ns;
                if idle {
                    open.abort.abort();
                }
                !idle
            });
        }
    }
}

/// Clock time of the script's time 0, if it is known already.
fn start_of(behaviour: &Behaviour, now_ns: u64) -> Option<u64> {
    (behaviour.time_zero == TimeZero::Start).then_some(now_ns)
}
