//! Reads objects by several clients side by side. A failure says nothing about an object until it was asked for several
//! times; a store that does not answer anybody ends the reading.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, Auth, Capability, Client, Error, ErrorKind, ListPage, ListRequest, Marks, ObjectName,
};
use cosmark_engine::BodyProbe;
use cosmark_ledger::{Entry, Found, Space, What};
use cosmark_workload::model::TargetSpec;
use tokio::time::Instant;

use super::Numbered;
use crate::ask::{limited, login, renew};
use crate::catalog::Catalog;
use crate::permit::Permit;
use crate::target::open_target;

/// A call without a time limit of its own has this one.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pauses before an object is asked for again.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];
/// So many reads in a row without any answer, of the same objects again too: the store is away.
const MOST_SILENT: u64 = 32;

/// What reading one object gave.
#[derive(Debug, Clone)]
pub struct Looked {
    /// By the changes of its entry.
    pub found: Found,
    /// Bytes that were read.
    pub bytes: u64,
    /// Why it could not be read, or what is wrong.
    why: Option<String>,
}

impl Looked {
    /// Whether it is there; `None` = not known.
    pub fn is_there(&self) -> Option<bool> {
        match self.found {
            Found::Absent => Some(false),
            Found::Present { .. } => Some(true),
            Found::Unreadable => None,
        }
    }

    /// What was expected and what was found, one sentence.
    pub fn detail(&self, entry: &Entry) -> String {
        let expected: Vec<String> = entry.changes().iter().map(said).collect();
        let expected = if expected.is_empty() { "no change".to_owned() } else { expected.join(" or ") };
        let found = match &self.found {
            Found::Absent => "no such object".to_owned(),
            Found::Present { .. } => format!("{} bytes", self.bytes),
            Found::Unreadable => "no answer that says anything".to_owned(),
        };
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("expected {expected}; found {found}{why}")
    }
}

fn said(change: &cosmark_ledger::Change) -> String {
    let answer = if change.acknowledged { "" } else { ", not answered" };
    let at_s = change.sent_ns / 1_000_000_000;
    match change.what {
        What::Random | What::Guarded | What::Zeros => {
            format!("{} bytes of write {:08x} sent at {at_s} s{answer}", change.bytes, change.version)
        }
        What::Copied => format!("a copy made at {at_s} s{answer}"),
        What::Deleted | What::Emptied => format!("nothing, deleted at {at_s} s{answer}"),
        What::NotThere => format!("nothing, not there when it was to be deleted at {at_s} s"),
        What::Anything => "anything".to_owned(),
    }
}

/// A store that is logged in to, and who reads from it.
pub struct Reader {
    auth: Arc<dyn Auth>,
    adaptor: Arc<dyn Adaptor>,
    clients: Vec<Box<dyn Client>>,
    limit: Duration,
    /// Time between two objects.
    gap: Duration,
    /// When the next object may be asked for.
    free: Instant,
    silent: u64,
    /// Container and object that were answered for last.
    pub answered: Option<(String, String)>,
}

impl Reader {
    /// Logs in and asks the store one cheap question.
    pub async fn open(
        catalog: Catalog,
        auth: &TargetSpec,
        storage: &TargetSpec,
        workers: usize,
        rate_per_s: Option<f64>,
    ) -> Result<Self, String> {
        let opened = open_target(&catalog, &Permit::here(), auth, storage)?;
        let session = login(opened.auth.as_ref()).await;
        let session = session.map_err(|error| format!("login at {}: {error}", storage.kind))?;
        let clients: Result<Vec<_>, Error> =
            (0..workers.max(1)).map(|_| opened.adaptor.client(&session)).collect();
        let mut reader = Self {
            limit: opened.adaptor.timeout().unwrap_or(PATIENCE),
            clients: clients.map_err(|error| error.to_string())?,
            auth: opened.auth,
            adaptor: opened.adaptor,
            gap: rate_per_s.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate.max(1e-3))),
            free: Instant::now(),
            silent: 0,
            answered: None,
        };
        let mut marks = Marks::default();
        let limit = reader.limit;
        if let Some(client) = reader.clients.first_mut() {
            let probe = limited(limit, client.probe(&mut marks)).await;
            probe.map_err(|error| format!("storage {}: {error}", storage.kind))?;
        }
        Ok(reader)
    }

    /// Whether the store has this.
    pub fn can(&self, capability: Capability) -> bool {
        self.adaptor.capability().has(capability)
    }

    /// One page of a listing, asked for again where it fails.
    pub async fn list(&mut self, request: ListRequest<'_>) -> Result<ListPage, Error> {
        let (limit, auth) = (self.limit, Arc::clone(&self.auth));
        let Some(client) = self.clients.first_mut() else {
            return Err(Error::new(ErrorKind::Config, "nobody reads"));
        };
        let mut pauses = PAUSES.iter();
        loop {
            let mut marks = Marks::default();
            let page = limited(limit, client.list(request, &mut marks)).await;
            let error = match page.and_then(|page| page.answers(&request).map(|()| page)) {
                Ok(page) => return Ok(page),
                Err(error) => error,
            };
            let Some(pause) = pauses.next().filter(|_| error.kind() != ErrorKind::Status(404)) else {
                return Err(error);
            };
            tokio::time::sleep(*pause).await;
            renew(client.as_mut(), auth.as_ref(), &error).await;
        }
    }

    /// Reads these objects of a space; the answers are in their order. Where many in a row are not answered for, and one is
    /// that was before, only a part of the store is away.
    ///
    /// # Errors
    /// One sentence, when the store has gone.
    pub async fn look(&mut self, space: &Space, objects: &[Numbered]) -> Result<Vec<Looked>, String> {
        let looked: RefCell<Vec<Option<Looked>>> = RefCell::new(vec![None; objects.len()]);
        let next = Cell::new(0_usize);
        loop {
            self.look_on(space, objects, &looked, &next).await;
            if self.silent >= MOST_SILENT && !self.answers().await {
                break;
            }
            if self.silent < MOST_SILENT {
                return Ok(looked.into_inner().into_iter().flatten().collect());
            }
            self.silent = 0;
        }
        let why = looked.into_inner().into_iter().flatten().find_map(|one| one.why);
        Err(format!(
            "{MOST_SILENT} reads in a row gave no object and no word of it ({}): see that the store is there and \
             lets this login read, then go on with --resume",
            why.unwrap_or_default()
        ))
    }

    /// From the object `next` on, until too many in a row are not answered for.
    async fn look_on(
        &mut self,
        space: &Space,
        objects: &[Numbered],
        looked: &RefCell<Vec<Option<Looked>>>,
        next: &Cell<usize>,
    ) {
        let (free, silent) = (Cell::new(self.free), Cell::new(self.silent));
        let answered = RefCell::new(self.answered.take());
        let (limit, gap, auth) = (self.limit, self.gap, &self.auth);
        let clients = self.clients.iter_mut().map(|client| {
            let (free, silent, answered) = (&free, &silent, &answered);
            async move {
                while silent.get() < MOST_SILENT
                    && let Some((_, key, entry)) = objects.get(next.get())
                {
                    let at = next.replace(next.get() + 1);
                    let due = free.get().max(Instant::now());
                    free.set(due + gap);
                    if !gap.is_zero() {
                        tokio::time::sleep_until(due).await;
                    }
                    let names = space.names(*key);
                    let one = read(client.as_mut(), auth.as_ref(), limit, &names, entry).await;
                    if one.found == Found::Unreadable {
                        silent.set(silent.get() + 1);
                    } else {
                        silent.set(0);
                        answered.replace(Some(names));
                    }
                    if let Some(place) = looked.borrow_mut().get_mut(at) {
                        *place = Some(one);
                    }
                }
            }
        });
        futures_util::future::join_all(clients).await;
        (self.free, self.silent, self.answered) = (free.get(), silent.get(), answered.into_inner());
    }

    /// Whether what was answered for last is again.
    async fn answers(&mut self) -> bool {
        let (limit, auth, names) = (self.limit, Arc::clone(&self.auth), self.answered.clone());
        let Some((names, client)) = names.zip(self.clients.first_mut()) else { return false };
        let one = read(client.as_mut(), auth.as_ref(), limit, &names, &Entry::default()).await;
        one.found != Found::Unreadable
    }
}

/// Reads one object, several times if need be.
async fn read(
    client: &mut dyn Client,
    auth: &dyn Auth,
    limit: Duration,
    (container, object): &(String, String),
    entry: &Entry,
) -> Looked {
    let hashed = entry.changes().iter().any(|change| change.what == What::Guarded);
    let mut pauses = PAUSES.iter();
    loop {
        let mut probe = BodyProbe::new(container, object, hashed);
        let mut marks = Marks::default();
        let got =
            limited(limit, client.get(ObjectName { container, object }, None, Some(&mut probe), &mut marks))
                .await;
        let bytes = probe.bytes();
        let error = match got {
            Ok(_) => return Looked { found: compare(probe, entry), bytes, why: None },
            Err(error) if error.kind() == ErrorKind::Status(404) => {
                return Looked { found: Found::Absent, bytes: 0, why: None };
            }
            Err(error) => error,
        };
        let Some(pause) = pauses.next() else {
            let why = Some(error.to_string());
            // A body that ends too early every time is there, and is not what was written.
            let is_cut = matches!(
                error.kind(),
                ErrorKind::ShortBody | ErrorKind::WrongLength | ErrorKind::CorruptBody
            );
            let found =
                if is_cut { Found::Present { by: Vec::new(), is_own: false } } else { Found::Unreadable };
            return Looked { found, bytes, why };
        };
        tokio::time::sleep(*pause).await;
        renew(client, auth, &error).await;
    }
}

/// Which of the changes may have left what was read.
fn compare(probe: BodyProbe, entry: &Entry) -> Found {
    let body = probe.end();
    let by = entry.changes().iter().enumerate().filter(|(_, change)| match change.what {
        What::Random => body.is_random(change.version, change.bytes),
        What::Guarded => body.is_guarded(change.version, change.bytes),
        What::Zeros => body.is_zeros(change.bytes),
        // What it was made of is not kept.
        What::Copied => true,
        What::Deleted | What::Emptied | What::NotThere | What::Anything => false,
    });
    let by: Vec<usize> = by.map(|(at, _)| at).collect();
    let versions: Vec<u32> = entry.changes().iter().map(|change| change.version).collect();
    Found::Present { by, is_own: body.is_another_version(&versions) }
}
