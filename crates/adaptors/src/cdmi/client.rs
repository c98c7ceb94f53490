//! One worker's operations.

use std::sync::Arc;

use cosmark_adaptor_api::{
    BodySink, BodySource, ByteRange, BytesSource, Client, Error, ErrorKind, ListPage, ListRequest, Marks,
    ObjectName, PutOptions, PutOutcome, ReadOutcome, Result, Session,
};
use serde::Deserialize;

use super::json_body::{self, ValueCoder};
use super::{ContextKey, Options};
use crate::auth::http_credential::Credential;
use crate::forward::forward;
use crate::http::request::{Link, checked_name, one_line};
use crate::http::{Answer, Body, PlainChunks, Take, header, header_number};
use crate::name_page::NamePage;

/// Most bytes of a container's answer.
const LISTING_LIMIT: usize = 64 << 20;

const DATA_OBJECT: &str = "application/cdmi-object";
const CONTAINER: &str = "application/cdmi-container";

/// What goes out with every request of a session.
struct Channel {
    link: Link,
    credential: Credential,
    /// The token and the user's own header lines.
    common: Vec<u8>,
}

impl Channel {
    fn new(options: &Options, session: &Session) -> Result<Self> {
        let endpoint = options.endpoint_for(session)?;
        let mut common = Vec::new();
        if let Some(token) = &session.token {
            header(&mut common, "X-Auth-Token", token.expose());
        }
        for (name, key) in &options.custom_headers {
            let value = match key {
                ContextKey::Token => session.token.as_ref().map(|token| token.expose()),
                ContextKey::StorageUrl => session.storage_url.as_deref(),
            };
            let is_sent_already = name.eq_ignore_ascii_case("X-Auth-Token") && session.token.is_some();
            match value {
                Some(value) if !is_sent_already => header(&mut common, name, value),
                Some(_) => {}
                None => {
                    return Err(Error::new(
                        ErrorKind::Config,
                        format!("custom_headers: the auth gave nothing for the line {name}"),
                    )
                    .with_hint("use an auth that gives a token, such as swauth or keystone"));
                }
            }
        }
        Ok(Self {
            link: Link::new(&endpoint),
            credential: Credential::new(session, &options.counters)?,
            common,
        })
    }
}

/// One worker's client of the server.
pub(super) struct CdmiClient {
    options: Arc<Options>,
    /// An error after a session that cannot be used.
    channel: Result<Channel>,
}

impl CdmiClient {
    pub(super) fn new(options: &Arc<Options>, session: &Session) -> Result<Self> {
        Ok(Self { channel: Ok(Channel::new(options, session)?), options: Arc::clone(options) })
    }

    fn channel(&mut self) -> Result<&mut Channel> {
        self.channel.as_mut().map_err(|error| error.clone())
    }

    fn start_object(&mut self, name: ObjectName<'_>) -> Result<()> {
        checked_name(name.container)?;
        checked_name(name.object)?;
        let link = &mut self.channel()?.link;
        link.start("");
        link.push_name(name.container, false);
        link.push_name(name.object, false);
        Ok(())
    }

    /// The root for an empty name. A container's path ends in a slash (but not in Swift's proxy).
    fn start_container(&mut self, container: &str) -> Result<()> {
        let ends_in_slash = !self.options.over_swift || container.is_empty();
        let link = &mut self.channel()?.link;
        link.start("");
        if !container.is_empty() {
            link.push_name(container, false);
        }
        if ends_in_slash {
            link.target.push(b'/');
        }
        Ok(())
    }

    /// Adds what makes it a CDMI request.
    fn speak_cdmi(&mut self, accept: &str) -> Result<()> {
        let version = self.options.version.clone();
        let lines = &mut self.channel()?.link.lines;
        header(lines, "X-CDMI-Specification-Version", &version);
        if !accept.is_empty() {
            header(lines, "Accept", accept);
        }
        Ok(())
    }

    async fn send(
        &mut self,
        method: &str,
        body: Body<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        let channel = self.channel()?;
        channel.link.lines.extend_from_slice(&channel.common);
        channel.credential.authorize(&mut channel.link.lines, method, &channel.link.target);
        let answer = channel.link.send(method, body, take, marks).await?;
        channel.credential.learn(&channel.link.connection, answer.status);
        Ok(answer)
    }

    fn failure(&self, method: &str, what: &str, status: u16) -> Error {
        let told = self
            .channel
            .as_ref()
            .map(|channel| String::from_utf8_lossy(channel.link.connection.body()).into_owned());
        failed(method, what, status, &told.unwrap_or_default())
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        self.start_object(name)?;
        let answer = if self.options.is_json && range.is_none() {
            self.speak_cdmi(DATA_OBJECT)?;
            let take = Take::Keep { limit: json_body::ANSWER_LIMIT };
            let answer = self.send("GET", Body::None, take, marks).await?;
            if answer.status == 200 {
                let bytes = json_body::read(self.channel()?.link.connection.body(), sink)?;
                marks.body_bytes = bytes;
                return Ok(ReadOutcome { bytes });
            }
            answer
        } else {
            if let Some(range) = range {
                self.channel()?.link.push_range(range);
            }
            self.send("GET", Body::None, Take::from_sink(sink), marks).await?
        };
        match self.channel()?.link.connection.checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(self.failure("GET", &shown(name), answer.status)),
        }
    }

    async fn write(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        options: PutOptions,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        self.start_object(name)?;
        let mut coder = ValueCoder::default();
        let mut chunks = PlainChunks;
        let content = if self.options.is_json {
            if options.chunked {
                return Err(Error::new(ErrorKind::Unsupported, "CDMI's JSON is sent with its length")
                    .with_hint("set chunked=false, or mode=non-cdmi"));
            }
            self.speak_cdmi(DATA_OBJECT)?;
            let lines = &mut self.channel()?.link.lines;
            header(lines, "Content-Type", DATA_OBJECT);
            header_number(lines, "Content-Length", json_body::encoded_bytes(body.len()));
            Body::Coded(body, &mut coder)
        } else {
            let lines = &mut self.channel()?.link.lines;
            header(lines, "Content-Type", "application/octet-stream");
            if options.chunked {
                header(lines, "Transfer-Encoding", "chunked");
                Body::Coded(body, &mut chunks)
            } else {
                header_number(lines, "Content-Length", body.len());
                Body::Sized(body)
            }
        };
        let answer = self.send("PUT", content, Take::Discard, marks).await?;
        match answer.status {
            200 | 201 | 204 => Ok(PutOutcome { bytes: body.len(), accepted_only: false }),
            202 => Ok(PutOutcome { bytes: body.len(), accepted_only: true }),
            status => Err(self.failure("PUT", &shown(name), status)),
        }
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        self.start_object(name)?;
        if self.options.is_json {
            self.speak_cdmi("")?;
        }
        let answer = self.send("DELETE", Body::None, Take::Discard, marks).await?;
        if answer.is_success() { Ok(()) } else { Err(self.failure("DELETE", &shown(name), answer.status)) }
    }

    async fn inspect(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        self.start_object(name)?;
        let answer = self.send("HEAD", Body::None, Take::Discard, marks).await?;
        if answer.is_success() {
            return Ok(answer.content_length);
        }
        Err(self.failure("HEAD", &shown(name), answer.status))
    }

    async fn page(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        #[derive(Deserialize)]
        struct Container {
            children: Vec<String>,
        }
        request.without_delimiter()?;
        self.start_container(request.container)?;
        self.speak_cdmi(CONTAINER)?;
        let answer = self.send("GET", Body::None, Take::Keep { limit: LISTING_LIMIT }, marks).await?;
        if answer.status != 200 {
            return Err(self.failure("GET", &shown_container(request.container), answer.status));
        }
        let body = self.channel()?.link.connection.body();
        let found: Container = serde_json::from_slice(body).map_err(|error| {
            let message = format!("the answer is no CDMI container with children (line {})", error.line());
            Error::new(ErrorKind::Protocol, message).with_hint("is the endpoint a CDMI server?")
        })?;
        let mut page = NamePage::new(&request);
        for child in &found.children {
            // Containers end in a slash there; in the root they are what is asked for.
            match child.strip_suffix('/') {
                Some(container) if request.container.is_empty() => page.offer(container),
                Some(_) => {}
                None if request.container.is_empty() => {}
                None => page.offer(&unescaped(child)),
            }
        }
        Ok(page.finish(answer.body_bytes))
    }

    async fn make_container(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        const EMPTY: BytesSource<'static> = BytesSource(b"{}");
        checked_name(container)?;
        self.start_container(container)?;
        self.speak_cdmi(CONTAINER)?;
        let lines = &mut self.channel()?.link.lines;
        header(lines, "Content-Type", CONTAINER);
        header_number(lines, "Content-Length", 2);
        let answer = self.send("PUT", Body::Sized(&EMPTY), Take::Discard, marks).await?;
        marks.body_bytes = 0;
        match answer.status {
            200..300 => Ok(()),
            409 => {
                let error = self.failure("PUT", &shown_container(container), 409);
                // It may be there already.
                self.start_container(container)?;
                self.speak_cdmi(CONTAINER)?;
                if self.send("GET", Body::None, Take::Discard, marks).await?.status == 200 {
                    return Ok(());
                }
                marks.status = 409;
                Err(error)
            }
            status => Err(self.failure("PUT", &shown_container(container), status)),
        }
    }

    async fn remove_container(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        checked_name(container)?;
        if !self.options.recursive_delete {
            self.start_container(container)?;
            self.speak_cdmi(CONTAINER)?;
            let answer = self.send("GET", Body::None, Take::Keep { limit: LISTING_LIMIT }, marks).await?;
            match answer.status {
                200 if has_no_children(self.channel()?.link.connection.body())? => {}
                200 => {
                    marks.status = 409;
                    let message = format!("container {container} is not empty");
                    return Err(Error::new(ErrorKind::Status(409), message).with_code("NotEmpty").with_hint(
                        "delete its objects first (cleanup before dispose); other objects are left alone",
                    ));
                }
                404 => return Ok(()),
                status => return Err(self.failure("GET", &shown_container(container), status)),
            }
        }
        self.start_container(container)?;
        self.speak_cdmi("")?;
        let answer = self.send("DELETE", Body::None, Take::Discard, marks).await?;
        match answer.status {
            200..300 | 404 => Ok(()),
            status => Err(self.failure("DELETE", &shown_container(container), status)),
        }
    }

    /// Asks for the root container.
    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        self.start_container("")?;
        self.speak_cdmi(CONTAINER)?;
        let answer = self.send("GET", Body::None, Take::Discard, marks).await?;
        match answer.status {
            // A root that may not be listed is an answer of a working server, too.
            200..300 | 403..=406 => Ok(()),
            status => Err(self.failure("GET", "the root container", status)),
        }
    }
}

fn has_no_children(body: &[u8]) -> Result<bool> {
    #[derive(Deserialize)]
    struct Container {
        children: Vec<serde::de::IgnoredAny>,
    }
    let found: Container = serde_json::from_slice(body).map_err(|_| {
        Error::new(ErrorKind::Protocol, "the answer does not say what is in the container")
            .with_hint("recursive_delete=true deletes it without looking")
    })?;
    Ok(found.children.is_empty())
}

/// Names in a listing may be percent-encoded as they were in the path.
fn unescaped(name: &str) -> String {
    percent_encoding::percent_decode_str(name).decode_utf8_lossy().into_owned()
}

fn shown(name: ObjectName<'_>) -> String {
    format!("{}/{}", name.container, name.object)
}

fn shown_container(container: &str) -> String {
    if container.is_empty() { "the root container".to_owned() } else { format!("container {container}") }
}

fn failed(method: &str, what: &str, status: u16, told: &str) -> Error {
    let told = if told.trim_start().starts_with('<') { String::new() } else { one_line(told) };
    let separator = if told.is_empty() { "" } else { ": " };
    let error =
        Error::new(ErrorKind::Status(status), format!("{method} {what}: status {status}{separator}{told}"));
    let hint = match (method, status) {
        (_, 401) => "the server wants a login: use the auth `httpauth` with this server's URL",
        (_, 403) => "the user has no right to do that there",
        ("PUT", 404) => "the container is not there: create it with an init stage",
        ("PUT", 406 | 415) => {
            "the server does not take this form: try mode=non-cdmi, or another cdmi_version"
        }
        (_, 400) => "the server does not take this request: try mode=non-cdmi, or another cdmi_version",
        (_, 404) => "it is not there; if nothing is, check root_path",
        (_, 500..=599) => "look at the server's log",
        _ => return error,
    };
    error.with_hint(hint)
}

impl Client for CdmiClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        let fresh = Channel::new(&self.options, session);
        match (&mut self.channel, fresh) {
            (Ok(old), Ok(fresh))
                if Arc::ptr_eq(old.link.connection.endpoint(), fresh.link.connection.endpoint()) =>
            {
                (old.credential, old.common) = (fresh.credential, fresh.common);
            }
            (old, fresh) => *old = fresh,
        }
    }

    forward!(
        probe => check,
        get => read,
        put => write,
        delete => remove,
        head => inspect,
        list => page,
        create_container => make_container,
        delete_container => remove_container,
    );
}
