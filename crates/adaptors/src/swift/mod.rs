//! The `swift` storage: OpenStack Swift's object API v1, as Swift and Ceph's RGW speak it. Source: OpenStack "Object
//! Storage API" reference and Swift's "Large Object Support"; keys, defaults and the escaping of names are COSBench's.
//!
//! Token and storage URL come from the session; without them (auth `none`) from the keys of the same names. What a
//! request has in common with all others of a session stands ready in [`request::Link`]. Every failed operation is reported
//! as such, deletes too (COSBench hid those), with Swift's transaction id for the operator.

mod ask;
mod errors;
mod large;
mod listing;
mod request;
mod server_side;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Asker, BodySink, BodySource, ByteRange, Capability, Client, Error, ErrorKind, Key,
    KeyKind, ListPage, ListRequest, Marks, ObjectName, PutOptions, PutOutcome, ReadOutcome, Result, Secret,
    Session, SessionPart, Settings,
};

use crate::common_keys::{LOGGING, TIMEOUT};
use crate::forward::forward;
use crate::http::{
    Body, Endpoint, PlainChunks, STORE_KEYS, Take, concat_keys, header, header_number, push_decimal,
};
use listing::Names;
use request::Link;

const OWN_KEYS: &[Key] = &[
    TIMEOUT,
    Key::new("token", KeyKind::Text, "token to use when the auth gives none").default("AUTH_xxx").secret(),
    Key::new("storage_url", KeyKind::Url, "the account's URL to use when the auth gives none")
        .default("http://127.0.0.1:8080/auth/v1.0"),
    Key::new("policy", KeyKind::Text, "storage policy of containers that are created (X-Storage-Policy)").default(""),
    Key::new("storage_url_override", KeyKind::Url, "the account's URL to use whatever the auth gives")
        .alias(&["override_storage_url"]),
    Key::new(
        "storage_host",
        KeyKind::Text,
        "host:port to use in place of the one in the auth's storage URL, where that one cannot be reached from here",
    )
    .alias(&["host"])
    .default(""),
    Key::new("x_newest", KeyKind::Bool, "reads ask all replicas for the newest one (X-Newest)").default("false"),
    Key::new(
        "large_object",
        KeyKind::Choice(&["slo", "dlo"]),
        "manifest of writes in parts: static (slo) or dynamic (dlo) large object",
    )
    .default("slo"),
    Key::new("segments_container", KeyKind::Text, "where parts go; without it the container's name with _segments")
        .default(""),
    Key::new(
        "delete_segments",
        KeyKind::Bool,
        "deleting a static large object deletes its parts too, and deleting a container its empty segments container; \
         objects that are not large cost a second request then",
    )
    .default("false"),
    LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + STORE_KEYS.len() }>(OWN_KEYS, STORE_KEYS);

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::MULTIPART,
    Capability::CHUNKED,
    Capability::COPY,
    Capability::BULK_DELETE,
    Capability::METADATA,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "swift",
    aliases: &[],
    summary: "OpenStack Swift, and Ceph RGW's Swift API",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: |_| &[SessionPart::AuthToken],
};

/// What the keys say.
struct Options {
    settings: Settings,
    timeout: Option<Duration>,
    token: Secret,
    storage_url: String,
    policy: String,
    storage_url_override: Option<String>,
    storage_host: String,
    x_newest: bool,
    is_static: bool,
    segments_container: String,
    delete_segments: bool,
    /// Made once for each URL: loading certificates takes time.
    endpoints: Mutex<Vec<(String, Arc<Endpoint>)>>,
}

struct Swift {
    options: Arc<Options>,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let storage_host = settings.text("storage_host");
    if storage_host.contains('/') {
        return Err(Error::new(ErrorKind::Config, format!("storage_host={storage_host} is not host:port"))
            .with_hint("give the host and port only; `storage_url_override` takes a whole URL"));
    }
    Ok(Arc::new(Swift {
        options: Arc::new(Options {
            timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
            token: settings.secret("token"),
            storage_url: settings.text("storage_url"),
            policy: settings.text("policy"),
            storage_url_override: settings.get("storage_url_override").map(str::to_owned),
            storage_host,
            x_newest: settings.flag("x_newest"),
            is_static: !settings.text("large_object").eq_ignore_ascii_case("dlo"),
            segments_container: settings.text("segments_container"),
            delete_segments: settings.flag("delete_segments"),
            endpoints: Mutex::default(),
            settings: settings.clone(),
        }),
    }))
}

impl Options {
    /// The account's URL for this session.
    fn url_for(&self, session: &Session) -> Result<String> {
        if let Some(url) = &self.storage_url_override {
            return Ok(url.clone());
        }
        let given = session.storage_url.as_deref().unwrap_or(&self.storage_url);
        if self.storage_host.is_empty() {
            return Ok(given.to_owned());
        }
        let (scheme, rest) = given.split_once("://").ok_or_else(|| {
            Error::new(ErrorKind::Config, "the storage URL is not a URL: it has no http:// or https://")
                .with_hint("set `storage_url_override` to the whole URL")
        })?;
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        Ok(format!("{scheme}://{}{path}", self.storage_host))
    }

    fn endpoint(&self, url: &str) -> Result<Arc<Endpoint>> {
        let mut known = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, endpoint)) = known.iter().find(|(known, _)| known == url) {
            return Ok(Arc::clone(endpoint));
        }
        let endpoint = Endpoint::new(url, &self.settings)?;
        // A session's URL hardly ever changes; a handful is plenty.
        known.truncate(7);
        known.push((url.to_owned(), Arc::clone(&endpoint)));
        Ok(endpoint)
    }

    fn link(&self, session: &Session) -> Result<Link> {
        let endpoint = self.endpoint(&self.url_for(session)?)?;
        Ok(Link::new(&endpoint, session.token.as_ref().unwrap_or(&self.token)))
    }

    /// Where the parts of a container's large objects go.
    fn segments_of(&self, container: &str) -> String {
        if self.segments_container.is_empty() {
            format!("{container}_segments")
        } else {
            self.segments_container.clone()
        }
    }
}

impl Adaptor for Swift {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    fn endpoints(&self) -> Vec<String> {
        let known = self.options.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        // Addresses have numbers within one URL.
        match known.as_slice() {
            [(_, only)] => only.spread(),
            _ => Vec::new(),
        }
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        let link = self.options.link(session)?;
        let options = Arc::clone(&self.options);
        Ok(Box::new(SwiftClient { options, link: Ok(link), lanes: Vec::new(), segments_made: Vec::new() }))
    }

    fn asker(&self, session: &Arc<Session>) -> Result<Option<Box<dyn Asker>>> {
        Ok(Some(Box::new(ask::SwiftAsker::new(self.options.link(session)?))))
    }
}

struct SwiftClient {
    options: Arc<Options>,
    /// An error after a session whose URL cannot be used.
    link: Result<Link>,
    /// Further connections for parts.
    lanes: Vec<Link>,
    /// Segments containers that this client has created.
    segments_made: Vec<String>,
}

impl SwiftClient {
    fn link(&mut self) -> Result<&mut Link> {
        self.link.as_mut().map_err(|error| error.clone())
    }

    async fn get_object(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        let newest = self.options.x_newest;
        let link = self.link()?;
        link.start("GET", name, b"")?;
        if newest {
            header(&mut link.head, "X-Newest", "true");
        }
        if let Some(range) = range {
            link.head.extend_from_slice(b"Range: bytes=");
            push_decimal(&mut link.head, range.first);
            link.head.push(b'-');
            push_decimal(&mut link.head, range.last);
            link.head.extend_from_slice(b"\r\n");
        }
        let answer = link.send(Body::None, Take::from_sink(sink), marks).await?;
        match link.connection.checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(errors::object(link, "GET", name, answer.status)),
        }
    }

    async fn put_object(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        options: PutOptions,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        let link = self.link()?;
        link.start("PUT", name, b"")?;
        header(&mut link.head, "Content-Type", "application/octet-stream");
        let mut chunks = PlainChunks;
        let answer = if options.chunked {
            header(&mut link.head, "Transfer-Encoding", "chunked");
            link.send(Body::Coded(body, &mut chunks), Take::Discard, marks).await?
        } else {
            header_number(&mut link.head, "Content-Length", body.len());
            link.send(Body::Sized(body), Take::Discard, marks).await?
        };
        match answer.status {
            201 => Ok(PutOutcome { bytes: body.len(), accepted_only: false }),
            202 => Ok(PutOutcome { bytes: body.len(), accepted_only: true }),
            status => Err(errors::object(link, "PUT", name, status)),
        }
    }

    async fn delete_object(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        if self.options.delete_segments && self.options.is_static {
            let link = self.link()?;
            if large::delete_with_segments(link, name, marks).await? {
                return Ok(());
            }
        }
        let link = self.link()?;
        link.start("DELETE", name, b"")?;
        let answer = link.ask(marks).await?;
        if answer.is_success() { Ok(()) } else { Err(errors::object(link, "DELETE", name, answer.status)) }
    }

    async fn head_object(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        let newest = self.options.x_newest;
        let link = self.link()?;
        link.start("HEAD", name, b"")?;
        if newest {
            header(&mut link.head, "X-Newest", "true");
        }
        let answer = link.send_head(marks).await?;
        if !answer.is_success() {
            return Err(errors::object(link, "HEAD", name, answer.status));
        }
        Ok(answer.content_length)
    }

    async fn list_names(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        let newest = self.options.x_newest;
        let link = self.link()?;
        let query = listing::query(&request);
        link.start_container("GET", request.container, &query);
        if newest {
            header(&mut link.head, "X-Newest", "true");
        }
        let mut names = Names::new(request.want_names);
        let answer = link.send(Body::None, Take::Sink(&mut names), marks).await?;
        match answer.status {
            200 | 204 => {
                listing::check_kind(link.connection.header("content-type"), answer.body_bytes)?;
                let page = names.finish(request.page_size, answer.body_bytes)?;
                Ok(listing::ended(page, &request))
            }
            status => Err(errors::container(link, "GET", request.container, status)),
        }
    }

    async fn make_container(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        let options = Arc::clone(&self.options);
        put_container(self.link()?, container, &options.policy, marks).await
    }

    async fn remove_container(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        let segments = self.options.delete_segments.then(|| self.options.segments_of(container));
        let link = self.link()?;
        delete_container(link, container, marks).await?;
        match segments {
            Some(segments) if segments != container => {
                self.segments_made.retain(|made| *made != segments);
                match delete_container(self.link()?, &segments, marks).await {
                    // Other containers' parts are in it, or those of objects that still exist.
                    Err(error) if error.status() == Some(409) => Ok(()),
                    other => other,
                }
            }
            _ => Ok(()),
        }
    }

    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        let link = self.link()?;
        link.start_container("HEAD", "", b"");
        let answer = link.send_head(marks).await?;
        if answer.is_success() { Ok(()) } else { Err(errors::account(link, answer.status)) }
    }
}

async fn put_container(link: &mut Link, container: &str, policy: &str, marks: &mut Marks) -> Result<()> {
    request::checked(container)?;
    link.start_container("PUT", container, b"");
    if !policy.is_empty() {
        header(&mut link.head, "X-Storage-Policy", policy);
    }
    header_number(&mut link.head, "Content-Length", 0);
    let answer = link.ask(marks).await?;
    if answer.is_success() { Ok(()) } else { Err(errors::container(link, "PUT", container, answer.status)) }
}

async fn delete_container(link: &mut Link, container: &str, marks: &mut Marks) -> Result<()> {
    request::checked(container)?;
    link.start_container("DELETE", container, b"");
    let answer = link.ask(marks).await?;
    match answer.status {
        200..300 | 404 => Ok(()),
        status => Err(errors::container(link, "DELETE", container, status)),
    }
}

impl Client for SwiftClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        let fresh = self.options.link(session);
        match (&mut self.link, fresh) {
            (Ok(old), Ok(fresh)) => old.take_over(fresh),
            (old, fresh) => *old = fresh,
        }
        self.lanes.clear();
    }

    forward!(
        probe => check,
        get => get_object,
        put => put_object,
        delete => delete_object,
        head => head_object,
        list => list_names,
        put_multipart => put_large,
        copy => copy_object,
        delete_many => delete_objects,
        set_metadata => update_metadata,
        create_container => make_container,
        delete_container => remove_container,
    );
}

#[cfg(test)]
mod tests;
