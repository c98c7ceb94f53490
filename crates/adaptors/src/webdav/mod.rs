//! The `webdav` storage: HTTP's own GET, PUT, HEAD and DELETE (RFC 9110) under a path, with WebDAV's collections as
//! containers (RFC 4918: MKCOL, PROPFIND). With `dav=false`, or under the name `http`, plain HTTP without containers.
//!
//! Names: with `names=escaped` (the default with WebDAV) an object's name becomes a member's name as the `file` storage
//! writes it (`a/b` is the member `a%2Fb`, sent as `a%252Fb`), so that every name is possible and the same directory seen
//! by both storages has the same objects. With `names=plain` (the default without WebDAV) a name is a path as it is, which
//! suits existing trees; `.` and `..` are refused.
//!
//! Deleting a collection deletes what is in it (RFC 4918, section 9.6.1), so this storage looks first and leaves a full
//! one alone; `recursive_delete` is for servers without PROPFIND.
//!
//! Digest: the header is computed for each request from the session's challenge. A 401 with a fresh nonce fails the call
//! with status 401, and the next call uses the new nonce; with `renew_stale` a 401 that says `stale=true` (the
//! credentials are right, the nonce is too old) is answered within the same call, as a counted retry.

mod multistatus;
mod request;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Alias, BodySink, BodySource, ByteRange, BytesSource, Capability, Client, Error,
    ErrorKind, Key, KeyKind, ListPage, ListRequest, Marks, ObjectName, PutOptions, PutOutcome, ReadOutcome,
    Result, Session, SessionPart, Settings,
};

use crate::auth::http_credential::{Counters, Credential};
use crate::common_keys::{LOGGING, TIMEOUT};
use crate::forward::forward;
use crate::http::{
    Answer, Body, Endpoint, PlainChunks, STORE_KEYS, Take, concat_keys, header, header_number, push_decimal,
    push_escaped,
};
use crate::name_page::NamePage;
use multistatus::Members;
use request::{Link, checked_segment};

const OWN_KEYS: &[Key] = &[
    Key::new("endpoint", KeyKind::Url, "the server's URL; without it the auth's URL")
        .alias(&["url", "storage_url"]),
    Key::new("base_path", KeyKind::Text, "path under the endpoint that everything is below")
        .alias(&["root_path"])
        .default(""),
    Key::new("dav", KeyKind::Bool, "false: plain HTTP, without containers and listings").default("true"),
    Key::new(
        "names",
        KeyKind::Choice(&["escaped", "plain"]),
        "how an object's name becomes a path: escaped (every name is one member) or plain (a name is a path); without \
         it escaped with WebDAV and plain without",
    ),
    Key::new("recursive_delete", KeyKind::Bool, "deletes collections without looking whether they are empty")
        .default("false"),
    Key::new(
        "renew_stale",
        KeyKind::Bool,
        "answers a stale Digest nonce within the same operation, as a counted retry",
    )
    .default("false"),
    TIMEOUT,
    LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + STORE_KEYS.len() }>(OWN_KEYS, STORE_KEYS);

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::CHUNKED,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "webdav",
    aliases: &[
        Alias { name: "http", implied: &[("dav", "false")], note: "plain HTTP: no containers, no listings" },
        Alias { name: "https", implied: &[("dav", "false")], note: "the same; the URL decides about TLS" },
    ],
    summary: "a WebDAV or plain HTTP server: nginx, Apache, Nextcloud, dCache",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: |_| &[SessionPart::HttpCredential],
};

/// Asks for what tells collections from other members, and nothing more.
const PROPFIND_BODY: &[u8] =
    br#"<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>"#;

struct Options {
    settings: Settings,
    endpoint: Option<String>,
    /// Escaped; empty or begins with a slash.
    base_path: String,
    dav: bool,
    escapes_names: bool,
    recursive_delete: bool,
    renew_stale: bool,
    timeout: Option<Duration>,
    made: Mutex<Option<(String, Arc<Endpoint>)>>,
    counters: Counters,
}

struct WebDav {
    options: Arc<Options>,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let dav = settings.flag("dav");
    let names = settings.get("names").map(str::to_ascii_lowercase);
    let mut base_path = Vec::new();
    for segment in settings.text("base_path").split('/').filter(|segment| !segment.is_empty()) {
        checked_segment(segment)?;
        base_path.push(b'/');
        push_escaped(&mut base_path, segment, false);
    }
    let options = Options {
        endpoint: settings.get("endpoint").map(str::to_owned),
        base_path: String::from_utf8_lossy(&base_path).into_owned(),
        dav,
        escapes_names: names.map_or(dav, |names| names == "escaped"),
        recursive_delete: settings.flag("recursive_delete"),
        renew_stale: settings.flag("renew_stale"),
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
        made: Mutex::default(),
        counters: Counters::default(),
        settings: settings.clone(),
    };
    Ok(Arc::new(WebDav { options: Arc::new(options) }))
}

impl Options {
    fn endpoint_for(&self, session: &Session) -> Result<Arc<Endpoint>> {
        let url = self.endpoint.as_deref().or(session.storage_url.as_deref()).ok_or_else(|| {
            Error::new(ErrorKind::Config, "no such key defined: endpoint")
                .with_hint("add `endpoint=http://host:port/path`")
        })?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((known, endpoint)) if known == url => Ok(Arc::clone(endpoint)),
            _ => {
                let endpoint = Endpoint::new(url, &self.settings)?;
                *made = Some((url.to_owned(), Arc::clone(&endpoint)));
                Ok(endpoint)
            }
        }
    }

    fn link(&self, session: &Session) -> Result<Link> {
        let endpoint = self.endpoint_for(session)?;
        let credential = Credential::new(session, &self.counters)?;
        Ok(Link::new(&endpoint, &self.base_path, credential))
    }
}

impl Adaptor for WebDav {
    fn capability(&self) -> Capability {
        let dav = self.options.dav;
        if dav {
            return CAPABILITY;
        }
        CAPABILITY.without(Capability::CONTAINERS).without(Capability::LIST)
    }

    fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    fn endpoints(&self) -> Vec<String> {
        let made = self.options.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.as_ref().map(|(_, endpoint)| endpoint.spread()).unwrap_or_default()
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        let link = self.options.link(session)?;
        Ok(Box::new(DavClient { options: Arc::clone(&self.options), link: Ok(link) }))
    }
}

struct DavClient {
    options: Arc<Options>,
    /// An error after a session that cannot be used.
    link: Result<Link>,
}

impl DavClient {
    fn link(&mut self) -> Result<&mut Link> {
        self.link.as_mut().map_err(|error| error.clone())
    }

    /// The request that [`Link::start`] began; once more after a stale nonce, if the user asked for that.
    async fn ask(
        &mut self,
        method: &str,
        content: Content<'_>,
        mut sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        let may_repeat = self.options.renew_stale;
        let link = self.link()?;
        let mut is_repeated = false;
        loop {
            let mut chunks = PlainChunks;
            let body = match content {
                Content::None => Body::None,
                Content::Sized(source) => Body::Sized(source),
                Content::Chunked(source) => Body::Coded(source, &mut chunks),
            };
            let take = match &mut sink {
                Some(sink) => Take::Sink(&mut **sink),
                None => Take::Discard,
            };
            let answer = link.send(method, body, take, marks).await?;
            if link.learn(answer.status) && may_repeat && !is_repeated {
                is_repeated = true;
                marks.retries += 1;
                (marks.first_byte_ns, marks.body_bytes) = (0, 0);
                continue;
            }
            return Ok(answer);
        }
    }

    fn start(&mut self, name: ObjectName<'_>) -> Result<()> {
        let escapes = self.options.escapes_names;
        self.link()?.start(&[name.container, name.object], false, escapes)
    }

    fn start_collection(&mut self, container: &str) -> Result<()> {
        let escapes = self.options.escapes_names;
        let segments: &[&str] = if container.is_empty() { &[] } else { &[container] };
        self.link()?.start(segments, true, escapes)
    }

    async fn get_object(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        self.start(name)?;
        if let Some(range) = range {
            let lines = &mut self.link()?.lines;
            lines.extend_from_slice(b"Range: bytes=");
            push_decimal(lines, range.first);
            lines.push(b'-');
            push_decimal(lines, range.last);
            lines.extend_from_slice(b"\r\n");
        }
        let answer = self.ask("GET", Content::None, sink, marks).await?;
        match self.link()?.connection.checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(failed("GET", &shown(name), answer.status)),
        }
    }

    async fn put_object(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        options: PutOptions,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        self.start(name)?;
        let lines = &mut self.link()?.lines;
        header(lines, "Content-Type", "application/octet-stream");
        let content = if options.chunked {
            header(lines, "Transfer-Encoding", "chunked");
            Content::Chunked(body)
        } else {
            header_number(lines, "Content-Length", body.len());
            Content::Sized(body)
        };
        let answer = self.ask("PUT", content, None, marks).await?;
        match answer.status {
            200 | 201 | 204 => Ok(PutOutcome { bytes: body.len(), accepted_only: false }),
            202 => Ok(PutOutcome { bytes: body.len(), accepted_only: true }),
            status => Err(failed("PUT", &shown(name), status)),
        }
    }

    async fn delete_object(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        self.start(name)?;
        let answer = self.ask("DELETE", Content::None, None, marks).await?;
        match answer.status {
            200 | 202 | 204 => Ok(()),
            status => Err(failed("DELETE", &shown(name), status)),
        }
    }

    async fn head_object(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        self.start(name)?;
        let answer = self.ask("HEAD", Content::None, None, marks).await?;
        match answer.status {
            200 | 204 => Ok(answer.content_length),
            status => Err(failed("HEAD", &shown(name), status)),
        }
    }

    /// The members of a collection go to `page`.
    async fn find_members(
        &mut self,
        container: &str,
        page: NamePage,
        marks: &mut Marks,
    ) -> Result<(NamePage, Members, u64)> {
        self.start_collection(container)?;
        let escapes = self.options.escapes_names;
        let link = self.link()?;
        header(&mut link.lines, "Depth", "1");
        header(&mut link.lines, "Content-Type", "application/xml; charset=utf-8");
        header_number(&mut link.lines, "Content-Length", PROPFIND_BODY.len() as u64);
        let mut members = Members::new(&link.target, escapes, container.is_empty(), page);
        let source = BytesSource(PROPFIND_BODY);
        let answer = self.ask("PROPFIND", Content::Sized(&source), Some(&mut members), marks).await?;
        // The request's body is no content.
        marks.body_bytes = answer.body_bytes;
        match answer.status {
            207 => {
                let page = members.finish()?;
                Ok((page, members, answer.body_bytes))
            }
            status => Err(failed(
                "PROPFIND",
                if container.is_empty() { "the base path" } else { container },
                status,
            )),
        }
    }

    async fn list_names(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        request.without_delimiter()?;
        self.needs_dav("listings")?;
        let (page, _, bytes) = self.find_members(request.container, NamePage::new(&request), marks).await?;
        Ok(page.finish(bytes))
    }

    async fn make_collection(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        self.needs_dav("containers")?;
        named(container)?;
        self.start_collection(container)?;
        header_number(&mut self.link()?.lines, "Content-Length", 0);
        let answer = self.ask("MKCOL", Content::None, None, marks).await?;
        match answer.status {
            // 405: something of that name is there (RFC 4918, section 9.3.1).
            200 | 201 | 204 | 405 => Ok(()),
            status => Err(failed("MKCOL", container, status)),
        }
    }

    async fn remove_collection(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        self.needs_dav("containers")?;
        named(container)?;
        if !self.options.recursive_delete {
            let request = ListRequest { page_size: Some(1), ..ListRequest::default() };
            match self.find_members(container, NamePage::new(&request), marks).await {
                Ok((_, members, _)) if members.count == 0 => {}
                Ok((_, members, _)) => {
                    marks.status = 409;
                    let message = format!("collection {container} is not empty: {} members", members.count);
                    return Err(Error::new(ErrorKind::Status(409), message).with_code("NotEmpty").with_hint(
                        "delete its objects first (cleanup before dispose); other files are left alone",
                    ));
                }
                Err(error) if error.status() == Some(404) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.start_collection(container)?;
        let answer = self.ask("DELETE", Content::None, None, marks).await?;
        match answer.status {
            200 | 202 | 204 | 404 => Ok(()),
            status => Err(failed("DELETE", container, status)),
        }
    }

    fn needs_dav(&self, what: &str) -> Result<()> {
        if self.options.dav {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unsupported, format!("plain HTTP has no {what}"))
            .with_hint("use `dav=true` if the server speaks WebDAV"))
    }

    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        self.start_collection("")?;
        let answer = self.ask("HEAD", Content::None, None, marks).await?;
        match answer.status {
            // A base path that is no page of its own is an answer of a working server, too.
            200..=399 | 403..=405 | 501 => Ok(()),
            status => Err(failed("HEAD", "the base path", status)),
        }
    }
}

/// The content of a request, to be sent as often as needed.
#[derive(Clone, Copy)]
enum Content<'a> {
    None,
    Sized(&'a dyn BodySource),
    Chunked(&'a dyn BodySource),
}

fn named(container: &str) -> Result<()> {
    if container.is_empty() {
        return Err(Error::new(ErrorKind::Config, "the container has no name").with_hint("set `cprefix`"));
    }
    Ok(())
}

fn shown(name: ObjectName<'_>) -> String {
    format!("{}/{}", name.container, name.object)
}

fn failed(method: &str, what: &str, status: u16) -> Error {
    let hint = match (method, status) {
        (_, 401) => {
            "the server wants a login, or its nonce has changed: use the auth `httpauth` with this server's URL"
        }
        ("PUT", 404 | 409) => "the collection is not there: create it with an init stage",
        ("PUT", 405) => "the server does not allow writing there: turn on WebDAV or PUT for this path",
        ("PUT", 411) => "the server does not take chunked writes: set `chunked=false`",
        ("PUT", 413) => "larger than the server takes: raise its limit (nginx: client_max_body_size)",
        ("PROPFIND", 405 | 501) => {
            "the server cannot list collections (nginx cannot without a module); `recursive_delete=true` deletes them \
             without looking"
        }
        ("MKCOL", 409) => "the path above it is not there: make it, or set `base_path` to one that is",
        ("MKCOL", 501) => "the server does not speak WebDAV: set `dav=false`",
        (_, 403) => "the server does not allow that to this user or at this path",
        (_, 423) => "it is locked by another client",
        (_, 507) => "the server's disk is full",
        (_, 300..=399) => "the server redirects: give the URL that it redirects to",
        (_, 500..=599) => "look at the server's error log",
        _ => return Error::new(ErrorKind::Status(status), format!("{method} {what}: status {status}")),
    };
    Error::new(ErrorKind::Status(status), format!("{method} {what}: status {status}")).with_hint(hint)
}

impl Client for DavClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        let fresh = self.options.link(session);
        match (&mut self.link, fresh) {
            (Ok(old), Ok(fresh)) if Arc::ptr_eq(old.connection.endpoint(), fresh.connection.endpoint()) => {
                old.credential = fresh.credential;
            }
            (old, fresh) => *old = fresh,
        }
    }

    forward!(
        probe => check,
        get => get_object,
        put => put_object,
        delete => delete_object,
        head => head_object,
        list => list_names,
        create_container => make_collection,
        delete_container => remove_collection,
    );
}

#[cfg(test)]
mod tests;
