//! The lives of keys: written, overwritten, deleted, and read at drawn times after each acknowledgement.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use cosmark_adaptor_api::{Client, Error, Marks, clock};
use cosmark_history::Operation;
use futures_util::future::{join, join_all};

use crate::Plan;
use crate::change::{CHANGES, Change, Place};
use crate::when::{Look, When};

/// Everything that was seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) looks: Vec<Look>,
    pub(crate) history: Vec<Operation>,
    /// Requests that gave no answer that could be judged, with the last reason.
    pub(crate) failed: u64,
    pub(crate) why: Option<String>,
    pub(crate) requests: u64,
    pub(crate) names: Vec<String>,
    pub(crate) took: Duration,
}

/// What lives share.
struct Field<'a> {
    plan: &'a Plan,
    seen: RefCell<Seen>,
    when: When,
    began_ns: u64,
    next_key: Cell<u32>,
}

/// One key's connections.
struct Hands {
    writer: Box<dyn Client>,
    readers: Vec<Box<dyn Client>>,
    lister: Box<dyn Client>,
}

pub(crate) async fn live(
    plan: &Plan,
    connect: &mut dyn FnMut() -> Result<Box<dyn Client>, String>,
) -> Result<Seen, String> {
    let mut hands = Vec::new();
    for _ in 0..plan.keys.clamp(1, 64) {
        let readers = (0..plan.readers.clamp(1, 16)).map(|_| connect()).collect::<Result<_, _>>()?;
        hands.push(Hands { writer: connect()?, readers, lister: connect()? });
    }
    let began_ns = clock::now_ns();
    let when = When::new(began_ns);
    let field = Field { plan, seen: RefCell::default(), when, began_ns, next_key: Cell::new(0) };
    // Every third key is looked at for long after each change.
    join_all(
        hands.into_iter().enumerate().map(|(number, hands)| field.keys_of(number, hands, number % 3 == 2)),
    )
    .await;
    let mut seen = field.seen.into_inner();
    seen.took = Duration::from_nanos(clock::now_ns().saturating_sub(field.began_ns));
    Ok(seen)
}

impl Field<'_> {
    fn left(&self) -> Duration {
        let passed = Duration::from_nanos(clock::now_ns().saturating_sub(self.began_ns));
        self.plan.runtime.saturating_sub(passed)
    }

    /// Waits until so many more requests keep within the rate.
    async fn pace(&self, requests: u64) {
        let due_s = {
            let mut seen = self.seen.borrow_mut();
            seen.requests += requests;
            (seen.requests - requests) as f64 / self.plan.rate_per_s.max(0.1)
        };
        let passed_s = clock::now_ns().saturating_sub(self.began_ns) as f64 / 1e9;
        if due_s > passed_s {
            tokio::time::sleep(Duration::from_secs_f64((due_s - passed_s).min(60.0))).await;
        }
    }

    /// One key after the other, while there is time.
    async fn keys_of(&self, number: usize, mut hands: Hands, is_long: bool) {
        let processes = u32::try_from(number).unwrap_or(0) * 100;
        let mut silent = 0;
        while !self.left().is_zero() && silent < 3 {
            let key = self.next_key.replace(self.next_key.get() + 1);
            let object = format!("{}{key:06}-probe", self.plan.prefix);
            self.seen.borrow_mut().names.push(object.clone());
            for version in 1..=CHANGES {
                if self.left().is_zero() {
                    break;
                }
                let change = Change { key, version, object: &object, processes };
                let reads = self.when.offsets(change.class(), 1, is_long, self.left());
                let wanted = change.class_of_list().filter(|_| self.plan.lists);
                let lists = wanted.map(|class| self.when.offsets(class, 2, is_long, self.left()));
                let lists = lists.unwrap_or_default();
                self.pace((reads.len() + lists.len()) as u64 + 2).await;
                if !self.change(&change, &mut hands, (&reads, &lists)).await {
                    // Whether it happened is not known: this key is of no more use.
                    silent += 1;
                    break;
                }
                silent = 0;
            }
        }
    }

    /// Changes the key and looks at it, at these times by reads and by listings; `false`: the change has no answer that can be built
    /// on.
    async fn change(
        &self,
        change: &Change<'_>,
        hands: &mut Hands,
        (reads, lists): (&[Duration], &[Duration]),
    ) -> bool {
        let Hands { writer, readers, lister } = hands;
        let first = readers.len().min(1);
        let (during, others) = readers.split_at_mut(first);
        let beside = async {
            if let Some(reader) = during.first_mut() {
                self.read(change, reader.as_mut(), 1, None, false).await;
            }
        };
        let (acked_ns, ()) = join(self.write(change, writer.as_mut()), beside).await;
        let Some(acked_ns) = acked_ns else { return false };
        let count = during.len() + others.len();
        let each = during.iter_mut().chain(others).enumerate();
        let reading = join_all(each.map(|(number, reader)| async move {
            let mut looks = Vec::new();
            for offset in reads.iter().skip(number).step_by(count) {
                until(acked_ns, *offset).await;
                let process = process_of(number);
                looks.extend(self.read(change, reader.as_mut(), process, Some(acked_ns), false).await);
            }
            looks
        }));
        let listing = async {
            let mut looks = Vec::new();
            for offset in lists {
                until(acked_ns, *offset).await;
                looks.extend(self.list(change, lister.as_mut(), acked_ns, false).await);
            }
            looks
        };
        let (read, listed) = join(reading, listing).await;
        let read: Vec<Look> = read.into_iter().flatten().collect();
        join(
            self.read_until_seen(change, readers, acked_ns, &read),
            self.list_until_seen(change, lister.as_mut(), acked_ns, &listed),
        )
        .await;
        true
    }

    /// Goes on reading where the last reads did not see the change.
    async fn read_until_seen(
        &self,
        change: &Change<'_>,
        readers: &mut [Box<dyn Client>],
        acked_ns: u64,
        looks: &[Look],
    ) {
        let Some(mut wait) = self.when.wait(change.class(), looks) else { return };
        let count = readers.len().max(1);
        for number in (0..count).cycle() {
            let Some(offset) = wait.next().filter(|offset| self.has_time(acked_ns, *offset)) else { break };
            let Some(reader) = readers.get_mut(number) else { break };
            until(acked_ns, offset).await;
            let process = process_of(number);
            let look = self.read(change, reader.as_mut(), process, Some(acked_ns), true).await;
            self.seen.borrow_mut().requests += 1;
            wait.saw(offset, look);
        }
        self.when.end(&wait);
    }

    /// The same by listings.
    async fn list_until_seen(
        &self,
        change: &Change<'_>,
        lister: &mut dyn Client,
        acked_ns: u64,
        looks: &[Look],
    ) {
        let Some(mut wait) = change.class_of_list().and_then(|class| self.when.wait(class, looks)) else {
            return;
        };
        while let Some(offset) = wait.next().filter(|offset| self.has_time(acked_ns, *offset)) {
            until(acked_ns, offset).await;
            let look = self.list(change, lister, acked_ns, true).await;
            self.seen.borrow_mut().requests += 1;
            wait.saw(offset, look);
        }
        self.when.end(&wait);
    }

    /// The runtime has a look so long after this acknowledgement.
    fn has_time(&self, acked_ns: u64, offset: Duration) -> bool {
        let at_ns = acked_ns.saturating_add(offset.as_nanos() as u64);
        let is_within = Duration::from_nanos(at_ns.saturating_sub(self.began_ns)) <= self.plan.runtime;
        is_within && !self.left().is_zero()
    }

    /// Gives when it was acknowledged.
    async fn write(&self, change: &Change<'_>, client: &mut dyn Client) -> Option<u64> {
        let mut marks = Marks::default();
        let (operation, result) = change.make(self.place(), client, &mut marks, change.processes).await;
        let return_ns = operation.return_ns;
        self.add(operation);
        match result {
            Ok(()) => Some(return_ns),
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    /// Gives the look, where the change was acknowledged before it. It is a further one where it waits for the change.
    async fn read(
        &self,
        change: &Change<'_>,
        client: &mut dyn Client,
        process: u32,
        acked_ns: Option<u64>,
        is_further: bool,
    ) -> Option<Look> {
        let mut marks = Marks::default();
        let read = change.read(self.place(), client, &mut marks, change.processes + process).await;
        let operation = match read {
            Ok(operation) => operation,
            Err(error) => {
                self.failed(&error);
                return None;
            }
        };
        self.add(operation);
        let after_ns = operation.call_ns.saturating_sub(acked_ns?);
        let is_stale = operation.value != change.value();
        let (class, number) = (change.class(), change.number());
        Some(self.look(Look { class, change: number, after_ns, is_stale, is_further }))
    }

    async fn list(
        &self,
        change: &Change<'_>,
        client: &mut dyn Client,
        acked_ns: u64,
        is_further: bool,
    ) -> Option<Look> {
        let class = change.class_of_list()?;
        let (mut marks, call_ns) = (Marks::default(), clock::now_ns());
        match change.list(self.place(), client, &mut marks).await {
            Ok(is_stale) => {
                let after_ns = call_ns.saturating_sub(acked_ns);
                Some(self.look(Look { class, change: change.number(), after_ns, is_stale, is_further }))
            }
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    fn place(&self) -> Place<'_> {
        Place { container: &self.plan.container, patience: self.plan.patience }
    }

    fn add(&self, operation: Operation) {
        self.seen.borrow_mut().history.push(operation);
    }

    fn look(&self, look: Look) -> Look {
        self.when.note(&look);
        self.seen.borrow_mut().looks.push(look);
        look
    }

    fn failed(&self, error: &Error) {
        let mut seen = self.seen.borrow_mut();
        seen.failed += 1;
        seen.why = Some(error.message().to_owned());
    }
}

/// The process of the history that a reader is, behind its writer.
fn process_of(reader: usize) -> u32 {
    u32::try_from(reader).unwrap_or(0) + 1
}

/// Waits until so long after an acknowledgement.
async fn until(acked_ns: u64, offset: Duration) {
    let passed = Duration::from_nanos(clock::now_ns().saturating_sub(acked_ns));
    if let Some(left) = offset.checked_sub(passed).filter(|left| !left.is_zero()) {
        tokio::time::sleep(left).await;
    }
}
