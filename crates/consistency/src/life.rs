//! The lives of keys: written, overwritten, deleted, and read at set times after each acknowledgement.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use cosmark_adaptor_api::{
    BytesSource, Client, CollectSink, Error, ListRequest, Marks, ObjectName, PutOptions, clock,
};
use cosmark_history::{ABSENT, Kind, Operation, Outcome};
use futures_util::future::{join, join_all};

use crate::{Class, OFFSETS_MS, Plan, SHORT};

/// Bytes of a version.
pub(crate) const BYTES: usize = 1024;
/// Changes of a key: a first write, overwrites, a delete, and once more.
pub(crate) const CHANGES: u64 = 5;

/// One look at the store.
pub(crate) struct Look {
    pub(crate) class: Class,
    /// From the acknowledgement to the begin of the request, ns.
    pub(crate) after_ns: u64,
    pub(crate) is_stale: bool,
}

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
    let field = Field { plan, seen: RefCell::default(), began_ns: clock::now_ns(), next_key: Cell::new(0) };
    // Every third key is looked at for long after each change.
    join_all(
        hands.into_iter().enumerate().map(|(number, hands)| field.keys_of(number, hands, number % 3 == 2)),
    )
    .await;
    let mut seen = field.seen.into_inner();
    seen.took = Duration::from_nanos(clock::now_ns().saturating_sub(field.began_ns));
    Ok(seen)
}

pub(crate) fn content(key: u32, version: u64) -> Vec<u8> {
    let mut bytes = format!("cosmark probe, key {key}, version {version}, ").into_bytes();
    bytes.resize(BYTES, b'.');
    bytes
}

/// The version that a content says; `None`: it is none of this key.
pub(crate) fn version_of(bytes: &[u8], key: u32) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(&format!("cosmark probe, key {key}, version "))?;
    let version = rest.split(',').next()?.parse().ok()?;
    (content(key, version) == bytes).then_some(version)
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
                let offsets = self.offsets(is_long);
                self.pace(offsets.len() as u64 * 3 / 2 + 2).await;
                let change = Change { key, version, object: &object, processes };
                if !self.change(&change, &mut hands, &offsets).await {
                    // Whether it happened is not known: this key is of no more use.
                    silent += 1;
                    break;
                }
                silent = 0;
            }
        }
    }

    /// Times at which is looked, as far as the runtime has them.
    fn offsets(&self, is_long: bool) -> Vec<Duration> {
        let left = self.left();
        let all = if is_long { &OFFSETS_MS[..] } else { &OFFSETS_MS[..SHORT] };
        all.iter().map(|ms| Duration::from_millis(*ms)).filter(|offset| *offset <= left).collect()
    }

    /// Changes the key and looks at it; `false`: the change has no answer that can be built on.
    async fn change(&self, change: &Change<'_>, hands: &mut Hands, offsets: &[Duration]) -> bool {
        let first = hands.readers.len().min(1);
        let (during, others) = hands.readers.split_at_mut(first);
        let beside = async {
            if let Some(reader) = during.first_mut() {
                self.read(change, reader.as_mut(), 1, None).await;
            }
        };
        let (acked_ns, ()) = join(self.write(change, hands.writer.as_mut()), beside).await;
        let Some(acked_ns) = acked_ns else { return false };
        let count = during.len() + others.len();
        let readers = during.iter_mut().chain(others).enumerate();
        let reads = join_all(readers.map(|(number, reader)| async move {
            for offset in offsets.iter().skip(number).step_by(count) {
                until(acked_ns, *offset).await;
                let process = u32::try_from(number).unwrap_or(0) + 1;
                self.read(change, reader.as_mut(), process, Some(acked_ns)).await;
            }
        }));
        let lists = async {
            let wanted = self.plan.lists && change.class_of_list().is_some();
            for offset in offsets.iter().step_by(2).filter(|_| wanted) {
                until(acked_ns, *offset).await;
                self.list(change, hands.lister.as_mut(), acked_ns).await;
            }
        };
        join(reads, lists).await;
        true
    }

    /// Gives when it was acknowledged.
    async fn write(&self, change: &Change<'_>, client: &mut dyn Client) -> Option<u64> {
        let name = ObjectName { container: &self.plan.container, object: change.object };
        let bytes = content(change.key, change.version);
        let (source, mut marks, call_ns) = (BytesSource(&bytes), Marks::default(), clock::now_ns());
        let result = if change.is_delete() {
            self.within(client.delete(name, &mut marks)).await
        } else {
            self.within(client.put(name, &source, PutOptions::default(), &mut marks)).await.map(drop)
        };
        let return_ns = clock::now_ns();
        let (kind, value) =
            if change.is_delete() { (Kind::Delete, ABSENT) } else { (Kind::Write, change.version) };
        let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Unknown };
        self.add(Operation {
            call_ns,
            return_ns,
            value,
            key: change.key,
            process: change.processes,
            kind,
            outcome,
        });
        match result {
            Ok(()) => Some(return_ns),
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    async fn read(&self, change: &Change<'_>, client: &mut dyn Client, process: u32, acked_ns: Option<u64>) {
        let name = ObjectName { container: &self.plan.container, object: change.object };
        let (mut sink, mut marks) = (CollectSink::new(BYTES * 4), Marks::default());
        let call_ns = clock::now_ns();
        let result = self.within(client.get(name, None, Some(&mut sink), &mut marks)).await;
        let return_ns = clock::now_ns();
        let value = match result {
            // What is no version of this key was written by nobody.
            Ok(_) => version_of(&sink.bytes, change.key).unwrap_or(u64::MAX),
            Err(error) if error.status() == Some(404) => ABSENT,
            Err(error) => return self.failed(&error),
        };
        let process = change.processes + process;
        let outcome = Outcome::Done;
        self.add(Operation {
            call_ns,
            return_ns,
            value,
            key: change.key,
            process,
            kind: Kind::Read,
            outcome,
        });
        if let Some(acked_ns) = acked_ns {
            let after_ns = call_ns.saturating_sub(acked_ns);
            self.look(Look { class: change.class(), after_ns, is_stale: value != change.value() });
        }
    }

    async fn list(&self, change: &Change<'_>, client: &mut dyn Client, acked_ns: u64) {
        let Some(class) = change.class_of_list() else { return };
        let request = ListRequest {
            container: &self.plan.container,
            prefix: change.object,
            page_size: Some(10),
            want_names: true,
            ..ListRequest::default()
        };
        let (mut marks, call_ns) = (Marks::default(), clock::now_ns());
        match self.within(client.list(request, &mut marks)).await {
            Ok(page) => {
                let is_there = page.names.iter().any(|name| name == change.object);
                let after_ns = call_ns.saturating_sub(acked_ns);
                self.look(Look { class, after_ns, is_stale: is_there == change.is_delete() });
            }
            Err(error) => self.failed(&error),
        }
    }

    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.plan.patience, call).await.unwrap_or_else(|_| {
            let message = format!("no answer within {:.0} s", self.plan.patience.as_secs_f64());
            Err(Error::new(cosmark_adaptor_api::ErrorKind::Timeout, message))
        })
    }

    fn add(&self, operation: Operation) {
        self.seen.borrow_mut().history.push(operation);
    }

    fn look(&self, look: Look) {
        self.seen.borrow_mut().looks.push(look);
    }

    fn failed(&self, error: &Error) {
        let mut seen = self.seen.borrow_mut();
        seen.failed += 1;
        seen.why = Some(error.message().to_owned());
    }
}

/// Waits until so long after an acknowledgement.
async fn until(acked_ns: u64, offset: Duration) {
    let passed = Duration::from_nanos(clock::now_ns().saturating_sub(acked_ns));
    if let Some(left) = offset.checked_sub(passed).filter(|left| !left.is_zero()) {
        tokio::time::sleep(left).await;
    }
}

/// One change of a key.
pub(crate) struct Change<'a> {
    pub(crate) key: u32,
    pub(crate) version: u64,
    pub(crate) object: &'a str,
    /// Its writer; its readers have the numbers behind.
    pub(crate) processes: u32,
}

impl Change<'_> {
    /// The third is a delete; the fourth writes what was deleted again.
    pub(crate) fn is_delete(&self) -> bool {
        self.version == 3 || self.version == CHANGES
    }

    /// What the register holds after it.
    pub(crate) fn value(&self) -> u64 {
        if self.is_delete() { ABSENT } else { self.version }
    }

    pub(crate) fn class(&self) -> Class {
        match self.version {
            1 | 4 => Class::ReadAfterCreate,
            2 => Class::ReadAfterOverwrite,
            _ => Class::ReadAfterDelete,
        }
    }

    pub(crate) fn class_of_list(&self) -> Option<Class> {
        match self.class() {
            Class::ReadAfterCreate => Some(Class::ListAfterCreate),
            Class::ReadAfterDelete => Some(Class::ListAfterDelete),
            _ => None,
        }
    }
}
