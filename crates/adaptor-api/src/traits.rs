//! The traits and the two tables.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Asker, BodySink, BodySource, Capability, Error, ErrorKind, Key, Result, Session, SessionPart, Settings,
    WireMarks, clock,
};

/// A call in flight. It is not `Send`: a client lives on one load thread. Dropping it abandons the call; the client
/// must then not use the half-used connection again.
pub type OpFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Name of an object, as text, unescaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectName<'a> {
    /// Container, bucket or pool.
    pub container: &'a str,
    /// Object or key.
    pub object: &'a str,
}

/// Bytes `first..=last` of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub first: u64,
    /// Last byte, inclusive.
    pub last: u64,
}

/// What the adaptor observed while one call ran. The engine resets it before each call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Marks {
    /// When the first byte of the answer arrived ([`clock::now_ns`]); 0 = never.
    pub first_byte_ns: u64,
    /// Time spent opening connections, TLS included.
    pub connect_ns: u64,
    /// Part of it that TLS handshakes took, of connections that were opened.
    pub tls_ns: u64,
    /// When the system had taken the last byte of the last request, of calls whose time on the wire is asked for; 0 = not known.
    pub request_sent_ns: u64,
    /// Connections opened.
    pub connections: u32,
    /// Requests sent, more than 1 for calls made of several requests (multipart, redirects, asked-for retries).
    pub requests: u32,
    /// Retries among them, if the user asked for retries.
    pub retries: u32,
    /// Body bytes of the answer or of the request that were transferred so far, also when the call fails or is dropped.
    pub body_bytes: u64,
    /// Status of the last answer; 0 = none.
    pub status: u16,
    /// Number of the endpoint that was asked last, from 1, as in [`Adaptor::endpoints`]; 0 = there is only one.
    pub endpoint: u16,
    /// When its requests left this host and their answers reached it, where the system says so.
    pub wire: WireMarks,
}

impl Marks {
    /// Notes the first byte of the answer, once.
    pub fn first_byte(&mut self) {
        if self.first_byte_ns == 0 {
            self.first_byte_ns = clock::now_ns();
        }
    }

    /// For requests of the call that are observed apart; [`Marks::add_requests`] adds what was seen.
    #[must_use]
    pub fn part(&mut self) -> Self {
        Self { wire: self.wire.of_part(), ..Self::default() }
    }

    /// Adds requests and connections, but no bytes: for requests that carry no content.
    pub fn add_requests(&mut self, part: &Self) {
        self.connect_ns += part.connect_ns;
        self.tls_ns += part.tls_ns;
        self.connections += part.connections;
        self.requests += part.requests;
        self.wire.add_part(&part.wire);
    }
}

/// Result of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOutcome {
    /// Body bytes.
    pub bytes: u64,
}

/// Result of a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PutOutcome {
    /// Body bytes sent.
    pub bytes: u64,
    /// The store took it but has not made it durable or visible everywhere (Swift's 202).
    pub accepted_only: bool,
}

/// How to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct PutOptions {
    /// Do not announce the length (chunked transfer coding).
    pub chunked: bool,
}

/// How to write in parts.
#[derive(Debug, Clone, Copy)]
pub struct MultipartPlan {
    /// Size of each part but the last, in bytes.
    pub part_size_bytes: u64,
    /// Parts in flight at once.
    pub concurrency: u32,
}

/// What to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListRequest<'a> {
    /// Container; empty = list the account's containers.
    pub container: &'a str,
    /// Only names that start so.
    pub prefix: &'a str,
    /// Names after this one (or the server's continuation token from the page before).
    pub after: Option<&'a str>,
    /// Names per page; `None` = the server's default.
    pub page_size: Option<u32>,
    /// Names that have this after the prefix are folded into one, up to and with it (`/` lists like a directory).
    pub delimiter: Option<&'a str>,
    /// Give the names back; else they are only counted.
    pub want_names: bool,
    /// The page is held against what must be there: [`ListPage::next`] is `None` also where a store does not say that this was
    /// the last one, and no limit that such stores have can have ended it.
    pub holds_all: bool,
}

impl ListRequest<'_> {
    /// For adaptors whose listings have no delimiter.
    ///
    /// # Errors
    /// `Unsupported`, when one was asked for.
    pub fn without_delimiter(&self) -> Result<()> {
        match self.delimiter {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::Unsupported, "listings of this adaptor have no delimiter")
                .with_hint("drop `delimiter`, or measure through s3 or swift")),
        }
    }
}

/// One page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Names on this page.
    pub count: u64,
    /// The names, if asked for.
    pub names: Vec<String>,
    /// Give this as [`ListRequest::after`] for the next page; `None` = this was the last.
    pub next: Option<String>,
    /// Body bytes of the answer.
    pub bytes: u64,
}

impl ListPage {
    /// Checks what is known about a page before it comes: no more names than were asked for, only names that were asked for,
    /// and that it leads on. What follows from [`ListRequest::after`] for single names is left to stores that order by bytes.
    ///
    /// # Errors
    /// `Protocol`.
    pub fn answers(&self, request: &ListRequest<'_>) -> Result<()> {
        let wrong = |what: String| {
            Err(Error::new(
                ErrorKind::Protocol,
                format!("the listing is not the one that was asked for: {what}"),
            )
            .with_hint(
                "a cache or gateway before the store may ignore parameters: look at what it was asked",
            ))
        };
        if let Some(most) = request.page_size.filter(|most| self.count > u64::from(*most)) {
            return wrong(format!("{} names where at most {most} were asked for", self.count));
        }
        if let Some(name) = self.names.iter().find(|name| !name.starts_with(request.prefix)) {
            let name: String = name.chars().take(80).collect();
            return wrong(format!("`{name}` does not begin with `{}`", request.prefix));
        }
        if self.next.is_some() && self.next.as_deref() == request.after {
            return wrong("its next page is the same page again".to_owned());
        }
        Ok(())
    }
}

/// One storage system under test, ready to be spoken to. Made once per work; shared by the load threads.
pub trait Adaptor: Send + Sync {
    /// What it can do with these settings.
    fn capability(&self) -> Capability;

    /// Time limit of one call; the engine enforces it by dropping the call. `None` = no limit.
    fn timeout(&self) -> Option<Duration>;

    /// The endpoints of this target, in the order of their numbers in [`Marks::endpoint`]; empty when there is only one. Where one name
    /// stands for several addresses, known once it was resolved, each of them is one.
    fn endpoints(&self) -> Vec<String> {
        Vec::new()
    }

    /// A client for one worker. Opens no connection yet. Called on the load thread that will use it.
    ///
    /// # Errors
    /// `Config` when the session lacks what the adaptor needs.
    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>>;

    /// A connection for requests as they stand; `None` where the protocol has none of them.
    ///
    /// # Errors
    /// As [`Adaptor::client`].
    fn asker(&self, session: &Arc<Session>) -> Result<Option<Box<dyn Asker>>> {
        let _ = session;
        Ok(None)
    }
}

/// One worker's handle of a store. Calls come one after another. Every call fills `marks` as it goes, ends with the whole
/// answer read, and leaves the connection usable or closed, whatever happened.
pub trait Client {
    /// Uses a renewed session from now on.
    fn set_session(&mut self, session: &Arc<Session>);

    /// The cheapest question that shows whether the store is there and accepts the credentials, or `Ok` at once where
    /// there is none.
    fn probe<'a>(&'a mut self, marks: &'a mut Marks) -> OpFuture<'a, ()>;

    /// Reads an object or a range of it; the bytes go to `sink`, or nowhere.
    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome>;

    /// Writes an object in one request.
    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome>;

    /// Deletes an object. A missing object is success where the protocol says so, else `Status(404)`.
    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()>;

    /// Asks for an object's metadata; gives its length in bytes, if the store told it.
    fn head<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        let _ = (name, marks);
        unsupported("head")
    }

    /// One page of a listing.
    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        let _ = (request, marks);
        unsupported("list")
    }

    /// Writes an object in parts; all parts are cleaned up if it fails.
    fn put_multipart<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        plan: MultipartPlan,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let _ = (name, body, plan, marks);
        unsupported("multipart write")
    }

    /// Copies an object inside the store; its bytes do not come here. `bytes` of the outcome is 0 where the store does not
    /// tell the length.
    fn copy<'a>(
        &'a mut self,
        from: ObjectName<'a>,
        to: ObjectName<'a>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let _ = (from, to, marks);
        unsupported("copy")
    }

    /// Deletes many objects of a container in one request. Objects that are not there count as deleted. When the store
    /// refuses some, the error is that of the first.
    fn delete_many<'a>(
        &'a mut self,
        container: &'a str,
        objects: &'a [String],
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ()> {
        let _ = (container, objects, marks);
        unsupported("deleting of many objects in one request")
    }

    /// Sets one piece of user metadata (where the store has tags for that: one tag) of an object, replacing those that
    /// were there.
    fn set_metadata<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        key: &'a str,
        value: &'a str,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ()> {
        let _ = (name, key, value, marks);
        unsupported("changing of metadata")
    }

    /// Asks for an archived object to be made readable again for a while. Success means that the store has taken the request, or
    /// that a readable copy is there already.
    fn restore<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let _ = (name, marks);
        unsupported("restoring of archived objects")
    }

    /// Creates a container; one that is there already and is ours is success.
    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let _ = (container, marks);
        unsupported("creating a container")
    }

    /// Deletes an empty container; one that is not there is success. One that is not empty is `Status(409)`.
    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let _ = (container, marks);
        unsupported("deleting a container")
    }
}

fn unsupported<'a, T: 'a>(what: &'static str) -> OpFuture<'a, T> {
    Box::pin(std::future::ready(Err(Error::new(
        ErrorKind::Unsupported,
        format!("this adaptor has no {what}"),
    )
    .with_hint("`cosmark adaptors` shows what each can do"))))
}

/// Obtains a session.
pub trait Auth: Send + Sync {
    /// Logs in once, with no retry of its own.
    fn login(&self) -> OpFuture<'_, Session>;

    /// Time limit of a login.
    fn timeout(&self) -> Duration;

    /// Further attempts that the user asked for (COSBench's `retry`), each counted.
    fn retries(&self) -> u32 {
        0
    }
}

/// Another name that a workload may use.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// Settings that go with it, as `key=value` texts that the user's own keys override.
    pub implied: &'static [(&'static str, &'static str)],
    /// One sentence for `cosmark adaptors`.
    pub note: &'static str,
}

/// A row of the table of adaptors.
#[derive(Clone, Copy)]
pub struct AdaptorDef {
    /// The `type` in a workload.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [Alias],
    /// One line.
    pub summary: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// What it can do at best.
    pub capability: Capability,
    /// Makes one.
    pub open: fn(&Settings) -> Result<Arc<dyn Adaptor>>,
    /// What its keys lack together, told before anything is opened or sent: it looks at the settings and at nothing else.
    pub lacks: fn(&Settings) -> Result<()>,
    /// The parts of a session that it uses with these settings.
    pub takes: fn(&Settings) -> &'static [SessionPart],
}

impl AdaptorDef {
    /// For storages whose keys each stand for themselves.
    ///
    /// # Errors
    /// Never.
    pub fn lacks_nothing(_: &Settings) -> Result<()> {
        Ok(())
    }

    /// For storages that have no use for any login.
    #[must_use]
    pub fn takes_nothing(_: &Settings) -> &'static [SessionPart] {
        &[]
    }
}

/// A row of the table of auths.
#[derive(Clone, Copy)]
pub struct AuthDef {
    /// The `type` in a workload.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [Alias],
    /// One line.
    pub summary: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Makes one.
    pub open: fn(&Settings) -> Result<Arc<dyn Auth>>,
    /// The part of a session that a login gives; `None` where nobody is asked for one.
    pub gives: Option<SessionPart>,
}
