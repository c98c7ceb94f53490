//! A store with access lists, policies and CORS, honest and not: they are looked at here, before a store that has none.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{
    Adaptor, Ask, Asker, BodySink, BodySource, ByteRange, BytesSource, Client, Error, ErrorKind, ListPage,
    ListRequest, Marks, ObjectName, OpFuture, Protocol, PutOptions, PutOutcome, ReadOutcome, Reply, Result,
    Session, Whom,
};
use cosmark_certify::{Answer, Certificate, Certifying};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{before, certified_by, certifying, not_right, speaking_s3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// Access lists are taken and not looked at: nothing is opened by it.
    OverhearsLists,
    /// What was open once stays so.
    OverwritesStayOpen,
    /// A policy opens the whole bucket.
    OpensAll,
    /// A policy that was deleted is there.
    RemembersPolicies,
    /// Pages of every origin are let in.
    LetsEveryOriginIn,
    /// Pages may send whatever they like.
    LetsEveryMethodIn,
    /// All pages are let in, also where no rule is: who set none has promised nothing.
    LetsAllInAlways,
}

#[derive(Default)]
struct Memory {
    /// Objects that are open by a list.
    open: BTreeSet<String>,
    /// Bucket and begin of the names that a policy opens.
    policy: Option<String>,
    /// The bucket that has a rule for pages of others.
    rule: Option<String>,
}

struct Door {
    inner: Box<dyn Asker>,
    lie: Lie,
    memory: Arc<Mutex<Memory>>,
}

fn line<'a>(ask: &Ask<'a>, name: &str) -> Option<&'a str> {
    ask.lines.iter().find(|line| line.0 == name).map(|line| line.1)
}

fn done(status: u16) -> Reply {
    Reply { status, ..Reply::default() }
}

impl Door {
    fn preflight(&self, ask: &Ask<'_>) -> Reply {
        let (origin, method) =
            (line(ask, "origin").unwrap(), line(ask, "access-control-request-method").unwrap());
        let has_rule = self.memory.lock().unwrap().rule.as_deref() == Some(ask.container);
        let is_named = (origin == "https://one.example" || self.lie == Lie::LetsEveryOriginIn)
            && (method == "GET" || self.lie == Lie::LetsEveryMethodIn);
        if self.lie != Lie::LetsAllInAlways && !(is_named && has_rule) {
            return done(403);
        }
        let lines = [("access-control-allow-origin", origin), ("access-control-allow-methods", method)];
        let lines = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Reply { lines, ..done(200) }
    }

    /// What is about rules, and not about objects.
    fn of_rules(&self, ask: &Ask<'_>) -> Option<Reply> {
        let has = |name: &str| ask.query.iter().any(|(own, _)| *own == name);
        if ask.method == "OPTIONS" {
            return Some(self.preflight(ask));
        }
        if has("cors") {
            self.memory.lock().unwrap().rule = Some(ask.container.to_owned());
            return Some(done(200));
        }
        if !has("policy") {
            return None;
        }
        let mut memory = self.memory.lock().unwrap();
        if ask.method == "PUT" {
            let text = String::from_utf8_lossy(ask.body).into_owned();
            let named = text.split("arn:aws:s3:::").nth(1).and_then(|rest| rest.split('*').next());
            memory.policy = named.map(str::to_owned);
        } else if self.lie != Lie::RemembersPolicies {
            memory.policy = None;
        }
        Some(done(204))
    }

    /// Whether somebody without a login is let in.
    fn is_open(&self, ask: &Ask<'_>) -> bool {
        let memory = self.memory.lock().unwrap();
        let name = format!("{}/{}", ask.container, ask.object);
        let by_policy =
            memory.policy.as_ref().is_some_and(|named| name.starts_with(named) || self.lie == Lie::OpensAll);
        ask.method == "GET" && (memory.open.contains(&name) || by_policy)
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if let Some(reply) = self.of_rules(ask) {
            return Ok(reply);
        }
        if ask.method == "PUT" {
            let name = format!("{}/{}", ask.container, ask.object);
            let mut memory = self.memory.lock().unwrap();
            if line(ask, "x-amz-acl").is_some() && self.lie != Lie::OverhearsLists {
                memory.open.insert(name);
            } else if self.lie != Lie::OverwritesStayOpen {
                memory.open.remove(&name);
            }
        }
        let whom = if ask.whom == Whom::Nobody && self.is_open(ask) { Whom::Session } else { ask.whom };
        let lines: Vec<(&str, &str)> =
            ask.lines.iter().copied().filter(|line| line.0 != "x-amz-acl").collect();
        self.inner.ask(&Ask { whom, lines: &lines, ..*ask }).await
    }
}

impl Asker for Door {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

const ABOUT: &[&str] = &["s3.acl.", "s3.cors", "s3.policy."];

fn behind(store: &EmbeddedStore, lie: Lie) -> (Arc<dyn Adaptor>, Arc<Mutex<Memory>>) {
    behind_of(store, lie, |client| client)
}

fn behind_of(
    store: &EmbeddedStore,
    lie: Lie,
    client: impl Fn(Box<dyn Client>) -> Box<dyn Client> + Send + Sync + 'static,
) -> (Arc<dyn Adaptor>, Arc<Mutex<Memory>>) {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let own = Arc::clone(&memory);
    let adaptor = before(
        speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key())),
        client,
        move |inner, _| Box::new(Door { inner, lie, memory: Arc::clone(&memory) }),
    );
    (adaptor, own)
}

async fn asked(store: &EmbeddedStore, lie: Lie) -> Certificate {
    certified_by(behind(store, lie).0, Session::default(), ABOUT).await.unwrap()
}

#[tokio::test]
async fn nothing_is_opened_in_a_container_that_is_somebodys() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let (adaptor, memory) = behind(&store, Lie::OverwritesStayOpen);
    let mut client = adaptor.client(&Arc::new(Session::default())).unwrap();
    client.create_container("mine", &mut Marks::default()).await.unwrap();
    let asking = Certifying {
        container: Some("mine".to_owned()),
        ..certifying(adaptor, Session::default(), ABOUT, None)
    };
    let certificate = asking.run(&mut |_| {}, std::future::pending()).await.unwrap();
    assert_eq!((certificate.counts.not_asked, certificate.questions.len()), (3, 3), "{certificate:#?}");
    let memory = memory.lock().unwrap();
    assert_eq!((memory.open.len(), &memory.policy, &memory.rule), (0, &None, &None));
}

#[tokio::test]
async fn what_is_opened_to_everybody_is_found_where_it_is_more_or_longer_than_was_said() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, usize, &[&str])] = &[
        (Lie::SaysNothing, 3, &[]),
        (Lie::OverhearsLists, 2, &[]),
        (Lie::OverwritesStayOpen, 2, &["s3.acl.public"]),
        (Lie::OpensAll, 2, &["s3.policy.public"]),
        (Lie::RemembersPolicies, 2, &["s3.policy.public"]),
        (Lie::LetsEveryOriginIn, 2, &["s3.cors"]),
        (Lie::LetsEveryMethodIn, 2, &["s3.cors"]),
        (Lie::LetsAllInAlways, 2, &[]),
    ];
    let mut wrong = Vec::new();
    for (lie, right, wanted) in cases {
        let certificate = asked(&store, *lie).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted || certificate.counts.yes != *right {
            wrong.push(format!("{lie:?} should be answered by {wanted:?}, and is by {certificate:#?}"));
        }
        assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{certificate:#?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not there at once.
#[derive(Clone, Copy, PartialEq)]
enum Lag {
    /// A container whose objects were deleted is not empty yet when it is asked for the first time.
    Deletes,
    /// The same, and before the store is a gateway that does not wait until a container is made.
    Gateway,
    /// A write arrives when its container is about to be removed.
    Write,
    /// No object can be deleted when all is being removed, until the container of it was asked for.
    Busy,
}

/// A store that lags.
struct Lagging {
    inner: Box<dyn Client>,
    lag: Lag,
    /// What was deleted, in order: objects as `CONTAINER/OBJECT`.
    deleted: Arc<Mutex<Vec<String>>>,
}

impl Client for Lagging {
    fn set_session(&mut self, session: &Arc<Session>) {
        self.inner.set_session(session);
    }

    fn probe<'a>(&'a mut self, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.inner.probe(marks)
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        self.inner.get(name, range, sink, marks)
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        self.inner.put(name, body, options, marks)
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let mut deleted = self.deleted.lock().unwrap();
        deleted.push(format!("{}/{}", name.container, name.object));
        let is_end = deleted.iter().any(|one| one.ends_with("-policy"));
        if self.lag == Lag::Busy && is_end && !deleted.iter().any(|one| one == name.container) {
            return Box::pin(async { Err(Error::new(ErrorKind::Status(503), "come back later")) });
        }
        drop(deleted);
        self.inner.delete(name, marks)
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        self.inner.list(request, marks)
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move {
            self.inner.create_container(container, marks).await?;
            if self.lag == Lag::Gateway && container.ends_with("-cors") {
                return Err(Error::new(ErrorKind::Status(504), "the gateway waited too long"));
            }
            Ok(())
        })
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let mut deleted = self.deleted.lock().unwrap();
        let is_first = !deleted.iter().any(|one| one == container);
        deleted.push(container.to_owned());
        if is_first && container.ends_with("-policy") && self.lag != Lag::Busy {
            return Box::pin(async { Err(Error::new(ErrorKind::Status(409), "it is not empty")) });
        }
        let own = format!("{container}/");
        let written = deleted.iter().find_map(|one| one.strip_prefix(&own)).map(str::to_owned);
        drop(deleted);
        let late = written.filter(|_| is_first && self.lag == Lag::Write && container.ends_with("truth1"));
        Box::pin(async move {
            if let Some(object) = late {
                let name = ObjectName { container, object: &object };
                let body = BytesSource(b"late");
                self.inner.put(name, &body, PutOptions::default(), &mut Marks::default()).await?;
            }
            self.inner.delete_container(container, marks).await
        })
    }
}

#[tokio::test]
async fn what_was_open_is_removed_first_and_once_more_where_it_is_not_empty_yet() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&deleted);
    let (adaptor, _) = behind_of(&store, Lie::SaysNothing, move |inner| {
        Box::new(Lagging { inner, lag: Lag::Deletes, deleted: Arc::clone(&own) })
    });
    let certificate = certified_by(adaptor, Session::default(), ABOUT).await.unwrap();
    assert_eq!((certificate.counts.yes, certificate.left_behind.len()), (3, 0), "{certificate:#?}");
    assert_eq!(store.used_bytes(), 0);
    let deleted = deleted.lock().unwrap();
    let at = |name: &str| deleted.iter().position(|one| one.starts_with(name)).unwrap();
    assert!(at("cosmark-certify-truth1-policy/") < at("cosmark-certify-truth1/"), "{deleted:?}");
    let tried = deleted.iter().filter(|one| *one == "cosmark-certify-truth1-policy").count();
    assert_eq!(tried, 2, "{deleted:?}");
}

#[tokio::test]
async fn a_write_that_arrives_when_all_is_being_removed_is_removed_as_well() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&deleted);
    let (adaptor, _) = behind_of(&store, Lie::SaysNothing, move |inner| {
        Box::new(Lagging { inner, lag: Lag::Write, deleted: Arc::clone(&own) })
    });
    let certificate = certified_by(adaptor, Session::default(), ABOUT).await.unwrap();
    assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{certificate:#?}");
    let deleted = deleted.lock().unwrap();
    let tried = deleted.iter().filter(|one| *one == "cosmark-certify-truth1").count();
    assert_eq!(tried, 2, "{deleted:?}");
}

#[tokio::test]
async fn what_could_not_be_removed_at_first_and_went_with_its_container_is_not_left_behind() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&deleted);
    let (adaptor, _) = behind_of(&store, Lie::SaysNothing, move |inner| {
        Box::new(Lagging { inner, lag: Lag::Busy, deleted: Arc::clone(&own) })
    });
    let certificate = certified_by(adaptor, Session::default(), ABOUT).await.unwrap();
    assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{certificate:#?}");
    let deleted = deleted.lock().unwrap();
    let tried = deleted.iter().filter(|one| *one == "cosmark-certify-truth1").count();
    assert_eq!(tried, 2, "what stayed was not tried again: {deleted:?}");
}

#[tokio::test]
async fn a_container_that_a_gateway_did_not_wait_for_is_removed() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&deleted);
    let (adaptor, _) = behind_of(&store, Lie::SaysNothing, move |inner| {
        Box::new(Lagging { inner, lag: Lag::Gateway, deleted: Arc::clone(&own) })
    });
    let certificate = certified_by(adaptor, Session::default(), &["s3.cors"]).await.unwrap();
    assert_eq!((certificate.counts.not_asked, certificate.left_behind.len()), (1, 0), "{certificate:#?}");
    let deleted = deleted.lock().unwrap();
    assert!(deleted.iter().any(|one| one == "cosmark-certify-truth1-cors"), "{deleted:?}");
}
