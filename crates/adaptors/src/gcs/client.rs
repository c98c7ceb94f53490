//! One worker's operations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    BodySink, BodySource, ByteRange, BytesSource, Client, Error, ErrorKind, ListPage, ListRequest, Marks,
    MultipartPlan, ObjectName, PutOptions, PutOutcome, ReadOutcome, Result, Secret, Session,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::Options;
use super::errors::failure;
use crate::forward::forward;
use crate::http::date::unix_seconds;
use crate::http::request::{Link, checked_name};
use crate::http::{Answer, Body, PlainChunks, Take, header, header_number};
use crate::parts::Cut;
use crate::service_account::LIFETIME_S;

/// Most bytes of an answer that is kept whole (but listings).
const ANSWER_LIMIT: usize = 1 << 20;
/// Most bytes of one page of a listing (at most 1000 names).
const PAGE_LIMIT: usize = 32 << 20;
/// Chunks of a resumable upload are multiples of this.
const CHUNK_UNIT: u64 = 256 * 1024;
/// More chunks than any sensible upload has (5 TiB in chunks of 8 MiB are 655 360).
const MOST_CHUNKS: u64 = 1_000_000;
/// A self-signed token is replaced this long before it expires.
const RENEW_AHEAD: Duration = Duration::from_secs(300);

/// The token in its header line.
struct Authorization {
    line: Vec<u8>,
    /// Of a token that this client has signed itself.
    good_until: Option<Instant>,
}

impl Authorization {
    fn none() -> Self {
        Self { line: Vec::new(), good_until: None }
    }

    fn bearer(token: &Secret) -> Self {
        let mut line = Vec::with_capacity(token.expose().len() + 32);
        header(&mut line, "Authorization", &format!("Bearer {}", token.expose()));
        Self { line, good_until: None }
    }

    fn new(options: &Options, session: &Session) -> Result<Self> {
        if let Some(token) = session.token.as_ref().or(options.token.as_ref()) {
            return Ok(Self::bearer(token));
        }
        let Some(account) = &options.account else { return Ok(Self::none()) };
        let claims = json!({ "sub": account.email, "aud": "https://storage.googleapis.com/" });
        let token = account.sign(claims, unix_seconds())?;
        let lifetime = Duration::from_secs(LIFETIME_S).saturating_sub(RENEW_AHEAD);
        Ok(Self { good_until: Instant::now().checked_add(lifetime), ..Self::bearer(&token) })
    }

    fn is_stale(&self) -> bool {
        self.good_until.is_some_and(|until| Instant::now() >= until)
    }
}

/// One worker's client of the store.
pub(super) struct GcsClient {
    options: Arc<Options>,
    session: Arc<Session>,
    authorization: Authorization,
    link: Link,
}

impl GcsClient {
    pub(super) fn new(options: &Arc<Options>, session: &Arc<Session>) -> Result<Self> {
        Ok(Self {
            authorization: Authorization::new(options, session)?,
            link: Link::new(&options.endpoint),
            options: Arc::clone(options),
            session: Arc::clone(session),
        })
    }

    /// Begins a request; `path` is escaped.
    fn start(&mut self, path: &str) -> Result<()> {
        if self.authorization.is_stale() {
            self.authorization = Authorization::new(&self.options, &self.session)?;
        }
        self.link.start(path);
        self.link.lines.extend_from_slice(&self.authorization.line);
        Ok(())
    }

    fn start_bucket(&mut self, bucket: &str) -> Result<()> {
        checked_name(bucket)?;
        self.start("/storage/v1/b")?;
        self.link.push_name(bucket, false);
        Ok(())
    }

    fn start_object(&mut self, name: ObjectName<'_>) -> Result<()> {
        checked_name(name.object)?;
        self.start_bucket(name.container)?;
        self.link.target.extend_from_slice(b"/o");
        self.link.push_name(name.object, false);
        Ok(())
    }

    fn start_upload(&mut self, name: ObjectName<'_>, kind: &str) -> Result<()> {
        checked_name(name.container)?;
        checked_name(name.object)?;
        self.start("/upload/storage/v1/b")?;
        self.link.push_name(name.container, false);
        self.link.target.extend_from_slice(b"/o");
        self.link.push_query("uploadType", kind);
        self.link.push_query("name", name.object);
        // Of the object's metadata only this is sent back.
        self.link.push_query("fields", "size");
        Ok(())
    }

    async fn ask(&mut self, method: &str, take: Take<'_>, marks: &mut Marks) -> Result<Answer> {
        self.link.send(method, Body::None, take, marks).await
    }

    fn failure(&self, method: &str, what: &str, status: u16) -> Error {
        failure(&self.link.connection, method, what, status)
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        self.start_object(name)?;
        self.link.push_query("alt", "media");
        if let Some(range) = range {
            self.link.push_range(range);
        }
        let answer = self.ask("GET", Take::from_sink(sink), marks).await?;
        match self.link.connection.checked_read(answer, range) {
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
        self.start_upload(name, "media")?;
        let lines = &mut self.link.lines;
        header(lines, "Content-Type", "application/octet-stream");
        let mut chunks = PlainChunks;
        let content = if options.chunked {
            header(lines, "Transfer-Encoding", "chunked");
            Body::Coded(body, &mut chunks)
        } else {
            header_number(lines, "Content-Length", body.len());
            Body::Sized(body)
        };
        let answer = self.link.send("POST", content, Take::Keep { limit: ANSWER_LIMIT }, marks).await?;
        if answer.is_success() {
            check_stored(self.link.connection.body(), body.len())?;
            return Ok(PutOutcome { bytes: body.len(), accepted_only: false });
        }
        Err(self.failure("upload", &shown(name), answer.status))
    }

    async fn write_in_chunks(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        plan: MultipartPlan,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        if body.is_empty() {
            return self.write(name, body, PutOptions::default(), marks).await;
        }
        let asked = if plan.part_size_bytes == 0 { self.options.part_bytes } else { plan.part_size_bytes };
        let part_size_bytes = asked.div_ceil(CHUNK_UNIT).saturating_mul(CHUNK_UNIT);
        let rounded = MultipartPlan { part_size_bytes, ..plan };
        let cut = Cut::new(body.len(), rounded, part_size_bytes, MOST_CHUNKS)?;
        let place = self.begin_upload(name, body.len(), marks).await?;
        match self.send_chunks(name, &place, body, cut, marks).await {
            Ok(()) => Ok(PutOutcome { bytes: body.len(), accepted_only: false }),
            Err(error) => {
                self.give_up(&place, marks).await;
                Err(error.with_partial_bytes(marks.body_bytes))
            }
        }
    }

    /// Gives path and query of the upload's session.
    async fn begin_upload(&mut self, name: ObjectName<'_>, total: u64, marks: &mut Marks) -> Result<String> {
        self.start_upload(name, "resumable")?;
        header(&mut self.link.lines, "X-Upload-Content-Type", "application/octet-stream");
        header_number(&mut self.link.lines, "X-Upload-Content-Length", total);
        header_number(&mut self.link.lines, "Content-Length", 0);
        let mut own = marks.part();
        let answer = self.ask("POST", Take::Discard, &mut own).await;
        marks.add_requests(&own);
        marks.status = own.status;
        let answer = answer?;
        if !answer.is_success() {
            return Err(self.failure("upload", &shown(name), answer.status));
        }
        let location = self.link.connection.header("location").unwrap_or_default();
        upload_place(location).ok_or_else(|| {
            Error::new(ErrorKind::Protocol, "the store began an upload but did not say where it goes on")
        })
    }

    async fn send_chunks(
        &mut self,
        name: ObjectName<'_>,
        place: &str,
        body: &dyn BodySource,
        cut: Cut,
        marks: &mut Marks,
    ) -> Result<()> {
        for number in 0..cut.count {
            let part = cut.part(body, number);
            let (first, end, total) = (part.offset, part.offset + part.len, body.len());
            self.start_session(place)?;
            header_number(&mut self.link.lines, "Content-Length", part.len);
            let range = format!("bytes {first}-{}/{total}", end - 1);
            header(&mut self.link.lines, "Content-Range", &range);
            let take = Take::Keep { limit: ANSWER_LIMIT };
            let answer = self.link.send("PUT", Body::Sized(&part), take, marks).await?;
            let kept = self.link.connection.header("range").map_or(0, bytes_of_range);
            match answer.status {
                200 | 201 if end == total => check_stored(self.link.connection.body(), total)?,
                308 if end < total && kept == end => {}
                308 => {
                    return Err(Error::new(
                        ErrorKind::Protocol,
                        format!("the store has kept {kept} of {end} bytes of the upload"),
                    )
                    .with_hint("a real client would go on from there; here it is a failed write"));
                }
                status => return Err(self.failure("upload", &shown(name), status)),
            }
        }
        Ok(())
    }

    /// Begins a request to an upload's session, whose URL holds all that it needs.
    fn start_session(&mut self, place: &str) -> Result<()> {
        self.start("")?;
        self.link.target.clear();
        self.link.target.extend_from_slice(place.as_bytes());
        Ok(())
    }

    /// Best effort: the first failure is the one to tell, and the store forgets sessions after a week.
    async fn give_up(&mut self, place: &str, marks: &mut Marks) {
        let mut own = marks.part();
        if self.start_session(place).is_ok() {
            header_number(&mut self.link.lines, "Content-Length", 0);
            drop(self.ask("DELETE", Take::Discard, &mut own).await);
        }
        marks.add_requests(&own);
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        self.start_object(name)?;
        let answer = self.ask("DELETE", Take::Discard, marks).await?;
        if answer.is_success() { Ok(()) } else { Err(self.failure("DELETE", &shown(name), answer.status)) }
    }

    async fn inspect(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        #[derive(Deserialize)]
        struct Found {
            size: Option<String>,
        }
        self.start_object(name)?;
        self.link.push_query("fields", "size");
        let answer = self.ask("GET", Take::Keep { limit: ANSWER_LIMIT }, marks).await?;
        if answer.status != 200 {
            return Err(self.failure("HEAD", &shown(name), answer.status));
        }
        let found: Found = read_json(self.link.connection.body())?;
        Ok(found.size.and_then(|size| size.parse().ok()))
    }

    /// A copy inside the store; of a large object between locations it takes several requests.
    async fn duplicate(
        &mut self,
        from: ObjectName<'_>,
        to: ObjectName<'_>,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        #[derive(Deserialize)]
        struct Rewritten {
            done: bool,
            #[serde(default, rename = "rewriteToken")]
            token: String,
            #[serde(default, rename = "objectSize")]
            size: serde_json::Value,
        }
        checked_name(to.container)?;
        checked_name(to.object)?;
        let mut token = String::new();
        // The engine's time limit ends a copy that never does.
        loop {
            self.start_object(from)?;
            self.link.target.extend_from_slice(b"/rewriteTo/b");
            self.link.push_name(to.container, false);
            self.link.target.extend_from_slice(b"/o");
            self.link.push_name(to.object, false);
            self.link.push_query("fields", "done,rewriteToken,objectSize");
            if !token.is_empty() {
                self.link.push_query("rewriteToken", &token);
            }
            header_number(&mut self.link.lines, "Content-Length", 0);
            let answer = self.ask("POST", Take::Keep { limit: ANSWER_LIMIT }, marks).await?;
            if !answer.is_success() {
                return Err(self.failure("copy", &shown(from), answer.status));
            }
            let rewritten: Rewritten = read_json(self.link.connection.body())?;
            if rewritten.done {
                // A number in a text, as the API writes it, or a plain number.
                let size = rewritten.size.as_str().and_then(|text| text.parse().ok());
                let bytes = size.or_else(|| rewritten.size.as_u64()).unwrap_or(0);
                return Ok(PutOutcome { bytes, accepted_only: false });
            }
            token = rewritten.token;
            if token.is_empty() {
                return Err(Error::new(
                    ErrorKind::Protocol,
                    "the copy is not done, and no token says how to go on",
                ));
            }
        }
    }

    async fn describe(
        &mut self,
        name: ObjectName<'_>,
        key: &str,
        value: &str,
        marks: &mut Marks,
    ) -> Result<()> {
        self.start_object(name)?;
        self.link.push_query("fields", "name");
        let text = json!({ "metadata": { key: value } }).to_string();
        header(&mut self.link.lines, "Content-Type", "application/json");
        header_number(&mut self.link.lines, "Content-Length", text.len() as u64);
        let source = BytesSource(text.as_bytes());
        let answer = self.link.send("PATCH", Body::Sized(&source), Take::Discard, marks).await?;
        marks.body_bytes = 0;
        if answer.is_success() { Ok(()) } else { Err(self.failure("PATCH", &shown(name), answer.status)) }
    }

    async fn page(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        if request.container.is_empty() {
            self.start("/storage/v1/b")?;
            self.link.push_query("project", &self.options.project);
        } else {
            self.start_bucket(request.container)?;
            self.link.target.extend_from_slice(b"/o");
        }
        self.link.push_query("fields", "nextPageToken,items(name),prefixes");
        if !request.prefix.is_empty() {
            self.link.push_query("prefix", request.prefix);
        }
        if let Some(delimiter) = request.delimiter {
            self.link.push_query("delimiter", delimiter);
        }
        if let Some(token) = request.after {
            self.link.push_query("pageToken", token);
        }
        if let Some(size) = request.page_size {
            self.link.push_query("maxResults", &size.to_string());
        }
        let answer = self.ask("GET", Take::Keep { limit: PAGE_LIMIT }, marks).await?;
        if answer.status != 200 {
            return Err(self.failure("GET", &shown_bucket(request.container), answer.status));
        }
        read_page(self.link.connection.body(), request.want_names)
    }

    async fn make_bucket(&mut self, bucket: &str, marks: &mut Marks) -> Result<()> {
        checked_name(bucket)?;
        self.start("/storage/v1/b")?;
        self.link.push_query("project", &self.options.project);
        self.link.push_query("fields", "name");
        let mut wanted = json!({ "name": bucket });
        for (field, value) in
            [("location", &self.options.location), ("storageClass", &self.options.storage_class)]
        {
            if !value.is_empty() {
                wanted[field] = json!(value);
            }
        }
        let text = wanted.to_string();
        header(&mut self.link.lines, "Content-Type", "application/json");
        header_number(&mut self.link.lines, "Content-Length", text.len() as u64);
        let source = BytesSource(text.as_bytes());
        let answer = self.link.send("POST", Body::Sized(&source), Take::Discard, marks).await?;
        marks.body_bytes = 0;
        if answer.is_success() {
            return Ok(());
        }
        let error = self.failure("create", &shown_bucket(bucket), answer.status);
        // Names are global. One that this account may look at is there for it to use.
        if answer.status == 409 {
            self.start_bucket(bucket)?;
            self.link.push_query("fields", "name");
            if self.ask("GET", Take::Discard, marks).await?.is_success() {
                return Ok(());
            }
            marks.status = 409;
        }
        Err(match answer.status {
            400 if self.options.project.is_empty() => error.with_hint("set `project` to the project's id"),
            _ => error,
        })
    }

    async fn remove_bucket(&mut self, bucket: &str, marks: &mut Marks) -> Result<()> {
        self.start_bucket(bucket)?;
        let answer = self.ask("DELETE", Take::Discard, marks).await?;
        match answer.status {
            200..300 | 404 => Ok(()),
            // Some say 412 for a bucket that is not empty.
            412 => {
                marks.status = 409;
                Err(self.failure("DELETE", &shown_bucket(bucket), 409))
            }
            status => Err(self.failure("DELETE", &shown_bucket(bucket), status)),
        }
    }

    /// Asks for one bucket's name; with no project, for that of a bucket which nobody has: both need a token that is right.
    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        self.start("/storage/v1/b")?;
        let project = if self.options.project.is_empty() { "cosmark" } else { &self.options.project };
        self.link.push_query("project", project);
        self.link.push_query("maxResults", "1");
        self.link.push_query("fields", "items(name)");
        let answer = self.ask("GET", Take::Discard, marks).await?;
        match answer.status {
            200..300 => Ok(()),
            // The account is known, but may not list the project's buckets; or there is no such project.
            400 | 403 | 404 if !self.authorization.line.is_empty() => Ok(()),
            401 | 403 => {
                let error = self.failure("GET", "the project's buckets", answer.status);
                Err(Error::new(ErrorKind::Denied, error.message())
                    .with_hint("use the auth `google` with a key file or a token that is still valid"))
            }
            status => Err(self.failure("GET", "the project's buckets", status)),
        }
    }
}

fn shown(name: ObjectName<'_>) -> String {
    format!("{}/{}", name.container, name.object)
}

fn shown_bucket(bucket: &str) -> String {
    if bucket.is_empty() { "the project's buckets".to_owned() } else { format!("bucket {bucket}") }
}

/// Path and query of an upload's URL. Its host is the endpoint that we speak to, whatever it calls itself.
pub(super) fn upload_place(location: &str) -> Option<String> {
    let after_scheme = location.split_once("://").map_or(location, |(_, rest)| rest);
    let place = &after_scheme[after_scheme.find('/')?..];
    let is_plain = place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    (is_plain && place.len() > 1).then(|| place.to_owned())
}

/// How many bytes a store has of an upload that says `bytes=0-LAST`; 0 for what says something else.
pub(super) fn bytes_of_range(range: &str) -> u64 {
    let last = range.rsplit_once('-').and_then(|(_, last)| last.parse::<u64>().ok());
    last.and_then(|last| last.checked_add(1)).unwrap_or(0)
}

fn read_json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        Error::new(ErrorKind::Protocol, format!("the answer is not what the JSON API gives ({error})"))
            .with_hint("check that the endpoint is Cloud Storage or an emulator of its JSON API")
    })
}

/// Whether the answer to an upload is one, and has all of its bytes where it tells how many there are.
///
/// # Errors
/// `Protocol`.
pub(super) fn check_stored(body: &[u8], sent: u64) -> Result<()> {
    #[derive(Deserialize)]
    struct Kept {
        #[serde(default)]
        size: serde_json::Value,
    }
    let Kept { size } = read_json(body)?;
    // A number in a text, as the API writes it, or a plain number.
    match size.as_str().and_then(|text| text.parse().ok()).or_else(|| size.as_u64()) {
        Some(stored) if stored != sent => {
            let message =
                format!("the store says that it has {stored} of the {sent} bytes that were written");
            Err(Error::new(ErrorKind::Protocol, message).with_hint("look at proxies and at the store's log"))
        }
        _ => Ok(()),
    }
}

/// Reads the answer of `objects.list` or `buckets.list`.
pub(super) fn read_page(body: &[u8], want_names: bool) -> Result<ListPage> {
    #[derive(Deserialize)]
    struct Item<'a> {
        #[serde(borrow)]
        name: std::borrow::Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct Page<'a> {
        #[serde(default, borrow)]
        items: Vec<Item<'a>>,
        /// What a delimiter folds into one.
        #[serde(default)]
        prefixes: Vec<String>,
        #[serde(default, rename = "nextPageToken")]
        next: String,
        /// What stands in place of a page where there is none.
        error: Option<IgnoredAny>,
    }
    let page: Page<'_> = read_json(body)?;
    if page.error.is_some() {
        return Err(Error::new(ErrorKind::Protocol, "the listing is an error under a status of success")
            .with_hint("look at the store's log, or at a proxy before it"));
    }
    let count = (page.items.len() + page.prefixes.len()) as u64;
    let names = if want_names {
        page.items.into_iter().map(|item| item.name.into_owned()).chain(page.prefixes).collect()
    } else {
        Vec::new()
    };
    let next = Some(page.next).filter(|next| !next.is_empty());
    Ok(ListPage { count, names, next, bytes: body.len() as u64 })
}

impl Client for GcsClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        // A key that does not sign leaves the old token: the store's refusal says more than we can.
        if let Ok(authorization) = Authorization::new(&self.options, session) {
            self.authorization = authorization;
        }
        self.session = Arc::clone(session);
    }

    forward!(
        probe => check,
        get => read,
        put => write,
        delete => remove,
        head => inspect,
        list => page,
        copy => duplicate,
        set_metadata => describe,
        put_multipart => write_in_chunks,
        create_container => make_bucket,
        delete_container => remove_bucket,
    );
}
