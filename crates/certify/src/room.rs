//! Where questions are asked: connections, a container and a prefix of the certification's own, and what was exchanged.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Adaptor, Ask, Asker, ByteRange, BytesSource, Client, CollectSink, Error, ErrorKind, ListPage,
    ListRequest, Marks, ObjectName, PutOptions, Reply, Session, Stars, plain,
};

use crate::certificate::Exchange;
use crate::request::{Finding, Request, status_of, succeeded};
use crate::restart::Restart;

/// Exchanges of one question that stay as its evidence.
const MOST_EVIDENCE: usize = 12;
/// A request without an answer is given up after this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a store that has not answered lately.
pub(crate) const LITTLE_PATIENCE: Duration = Duration::from_secs(2);

/// An object that is written early and looked at late.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) key: String,
    /// Seed and length of what it has to hold; `None`: it was deleted.
    pub(crate) content: Option<(u64, usize)>,
}

/// A store that is busy is asked again after these pauses, in the whole certification at most so often.
const BUSY_PAUSES: [Duration; 3] =
    [Duration::from_millis(300), Duration::from_secs(1), Duration::from_secs(2)];
const MOST_REPEATED: usize = 60;

/// 503 and 429 say that there will be an answer, and nothing of the question.
pub(crate) fn is_busy(status: Option<u16>) -> bool {
    matches!(status, Some(503 | 429))
}

/// What all questions share.
pub(crate) struct Room {
    pub(crate) adaptor: Arc<dyn Adaptor>,
    pub(crate) session: Arc<Session>,
    pub(crate) client: Box<dyn Client>,
    asker: Option<Box<dyn Asker>>,
    pub(crate) container: String,
    /// The container was made for this certification.
    pub(crate) owns_container: bool,
    /// The certification's own word.
    pub(crate) word: String,
    /// Every name begins so; nothing else is touched.
    pub(crate) prefix: String,
    /// Names of the question that is being asked begin so, behind the prefix.
    pub(crate) number: usize,
    pub(crate) patience: Duration,
    pub(crate) evidence: Vec<Exchange>,
    /// Requests of the question that is being asked, and those without any answer.
    pub(crate) requests: usize,
    pub(crate) unanswered: usize,
    /// Requests of the question that is being asked, and of all, that were sent again to a busy store.
    pub(crate) repeated: usize,
    repeated_in_all: usize,
    /// Texts that are never shown.
    pub(crate) hidden: Stars,
    /// What the store calls itself.
    pub(crate) server: Option<String>,
    /// Names that were written, as far as a listing might not show them.
    pub(crate) written: Vec<String>,
    /// What a store made that it should have refused: containers, and objects in containers of others' names.
    pub(crate) strays: Vec<(String, String)>,
    /// Writes in parts that were begun: key and upload.
    pub(crate) uploads: Vec<(String, String)>,
    /// The container whose objects have versions, as soon as it may be there.
    pub(crate) versions_in: Option<String>,
    /// It, once versions are switched on in it, or why they are not.
    pub(crate) versioned: Option<Result<String, String>>,
    /// The container whose versions can be locked, as soon as it may be there.
    pub(crate) locks_in: Option<String>,
    /// It, once the store says that it has locks, or why there are none.
    pub(crate) lockable: Option<Result<String, String>>,
    /// When the last lock is over, at the latest.
    pub(crate) locked_until: Option<Instant>,
    /// Whether the store encrypts by keys that come with requests, or why not, once that is known.
    pub(crate) encrypts: Option<Result<(), String>>,
    /// What has to be there until the end.
    pub(crate) planted: Vec<Planted>,
    /// What the probe for consistency found, once it was asked for.
    pub(crate) consistency: Option<cosmark_consistency::Outcome>,
    /// Asked quickly.
    pub(crate) is_quick: bool,
    /// How the store is restarted, where its operator allows it.
    pub(crate) restart: Option<Rc<dyn Restart>>,
}

impl Room {
    pub(crate) fn new(
        adaptor: Arc<dyn Adaptor>,
        session: Arc<Session>,
        (container, word): (String, String),
        hidden: Stars,
        restart: Option<Rc<dyn Restart>>,
    ) -> Result<Self, Error> {
        Ok(Self {
            client: adaptor.client(&session)?,
            asker: adaptor.asker(&session)?,
            adaptor,
            session,
            container,
            owns_container: false,
            prefix: format!("cosmark-certify-{word}/"),
            word,
            number: 0,
            patience: PATIENCE,
            evidence: Vec::new(),
            requests: 0,
            unanswered: 0,
            repeated: 0,
            repeated_in_all: 0,
            hidden,
            server: None,
            written: Vec::new(),
            strays: Vec::new(),
            uploads: Vec::new(),
            versions_in: None,
            versioned: None,
            locks_in: None,
            lockable: None,
            locked_until: None,
            encrypts: None,
            planted: Vec::new(),
            consistency: None,
            is_quick: false,
            restart,
        })
    }

    /// What requests are sent by.
    pub(crate) fn protocol(&self) -> Option<cosmark_adaptor_api::Protocol> {
        self.asker.as_deref().map(Asker::protocol)
    }

    /// A name of this question's own.
    pub(crate) fn key(&self, label: &str) -> String {
        format!("{}{:03}-{label}", self.prefix, self.number)
    }

    /// Whether a request that had this answer is to be sent again, behind the pause that comes before it.
    async fn is_asked_again(
        &mut self,
        status: Option<u16>,
        pauses: &mut std::slice::Iter<'_, Duration>,
    ) -> bool {
        if !is_busy(status) || self.repeated_in_all >= MOST_REPEATED {
            return false;
        }
        let Some(pause) = pauses.next() else { return false };
        tokio::time::sleep(*pause).await;
        self.repeated += 1;
        self.repeated_in_all += 1;
        true
    }

    /// Sends a request; any status is an answer. A busy store is asked again, which the evidence shows, where that asks
    /// the same: a delete or a write on a condition may have been done the first time, and a POST begins or ends
    /// something.
    pub(crate) async fn send(&mut self, request: Request) -> Result<Reply, Finding> {
        let has_condition = request.lines.iter().any(|line| line.0.starts_with("if-"));
        let is_same = matches!(request.method, "GET" | "HEAD") || (request.method == "PUT" && !has_condition);
        let mut pauses = BUSY_PAUSES.iter();
        loop {
            let sent = self.send_once(&request).await;
            let status = sent.as_ref().ok().map(|reply| reply.status);
            if !is_same || !self.is_asked_again(status, &mut pauses).await {
                return sent;
            }
        }
    }

    async fn send_once(&mut self, request: &Request) -> Result<Reply, Finding> {
        let container = request.container.clone().unwrap_or_else(|| self.container.clone());
        let query: Vec<(&str, Option<&str>)> =
            request.query.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        let lines: Vec<(&str, &str)> =
            request.lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let ask = Ask {
            query: &query,
            lines: &lines,
            body: &request.body,
            whom: request.whom,
            payload: request.payload.as_deref(),
            announce_bytes: request.announce_bytes,
            ..Ask::new(request.method, &container, &request.object)
        };
        if request.method == "PUT" && !request.object.is_empty() && request.container.is_none() {
            self.written.push(request.object.clone());
        }
        let Some(asker) = self.asker.as_mut() else {
            return Err(Finding::not_asked("this adaptor sends no requests beside its operations"));
        };
        let began = Instant::now();
        let result = tokio::time::timeout(self.patience, asker.ask(&ask)).await;
        self.requests += 1;
        let shown = match &result {
            Ok(Ok(reply)) => {
                if self.server.is_none() {
                    let whole = reply.line("server").map(|text| self.without_secrets(text.to_owned()));
                    self.server = whole.map(|text| plain(text.chars().take(80).collect()));
                }
                status_of(reply)
            }
            Ok(Err(error)) => format!("no answer: {}", error.message()),
            Err(_) => format!("no answer within {:.0} s", self.patience.as_secs_f64()),
        };
        if let (Some(other), "PUT", Ok(Ok(reply))) = (&request.container, request.method, &result)
            && reply.is_success()
            && self.versions_in.as_ref() != Some(other)
            && self.locks_in.as_ref() != Some(other)
        {
            self.strays.push((other.clone(), request.object.clone()));
        }
        self.note(request, &container, &shown, began);
        match result {
            Ok(Ok(reply)) => Ok(reply),
            // The adaptor's, and not the store's.
            Ok(Err(error)) if error.kind() == ErrorKind::Unsupported => {
                Err(Finding::not_asked(error.message()))
            }
            _ => {
                self.unanswered += 1;
                Err(Finding::no(shown))
            }
        }
    }

    /// Sends a request that has to succeed before the question can be asked.
    pub(crate) async fn prepare(&mut self, request: Request) -> Result<Reply, Finding> {
        let what = format!("{} of {}", request.method, self.short(&request.object));
        let reply = self.send(request).await?;
        if reply.is_success() {
            return Ok(reply);
        }
        Err(Finding::not_asked(format!("it could not be prepared: {what} gave {}", status_of(&reply))))
    }

    /// Sends a request whose answer has what the question looks at. A refusal says nothing of that, and stands as such.
    pub(crate) async fn given(&mut self, request: Request) -> Result<Reply, Finding> {
        let what = if request.object.is_empty() { "the listing" } else { request.method };
        let reply = self.send(request).await?;
        if reply.is_success() {
            return Ok(reply);
        }
        Err(Finding::no(format!("{what} gave {}", status_of(&reply))))
    }

    /// Writes an object that the question needs.
    pub(crate) async fn write(&mut self, key: &str, body: &[u8]) -> Result<Reply, Finding> {
        self.prepare(Request::put(key, body)).await
    }

    /// Sends and judges a success by its status.
    pub(crate) async fn succeeds(&mut self, request: Request, statuses: &[u16]) -> Result<Finding, Finding> {
        let reply = self.send(request).await?;
        Ok(succeeded(&reply, statuses))
    }

    /// What is in an object now.
    pub(crate) async fn content(&mut self, key: &str) -> Result<Option<Vec<u8>>, Finding> {
        let reply = self.send(Request::get(key)).await?;
        match reply.status {
            200 => Ok(Some(reply.body)),
            404 => Ok(None),
            _ => Err(Finding::no(format!("reading it back gave {}", status_of(&reply)))),
        }
    }

    fn note(&mut self, request: &Request, container: &str, reply: &str, began: Instant) {
        let mut text = format!("{} /{container}", request.method);
        if !request.object.is_empty() {
            text.push('/');
            text.push_str(&self.short(&request.object));
        }
        for (at, (name, value)) in request.query.iter().enumerate() {
            text.push(if at == 0 { '?' } else { '&' });
            text.push_str(name);
            if let Some(value) = value {
                text.push('=');
                text.push_str(&self.short(value));
            }
        }
        let mut lines: Vec<String> =
            request.lines.iter().map(|(name, value)| format!("{name}: {}", self.short(value))).collect();
        lines.extend(request.announce_bytes.map(|bytes| format!("content-length: {bytes}, and no body")));
        if request.whom != cosmark_adaptor_api::Whom::Session {
            lines.push(format!("as {:?}", request.whom));
        }
        if !lines.is_empty() {
            text.push_str(&format!(" ({})", lines.join(", ")));
        }
        if !request.body.is_empty() {
            text.push_str(&format!(", {} bytes", request.body.len()));
        }
        self.exchanged(text, reply.to_owned(), began);
    }

    /// A name as the evidence shows it: without the certification's prefix, and not longer than a line.
    pub(crate) fn short(&self, text: &str) -> String {
        let text = text.strip_prefix(&self.prefix).unwrap_or(text);
        let length = text.chars().count();
        if length <= 72 {
            return plain(text.to_owned());
        }
        plain(format!("{}.. ({} bytes)", text.chars().take(60).collect::<String>(), text.len()))
    }

    fn exchanged(&mut self, request: String, reply: String, began: Instant) {
        if self.evidence.len() == MOST_EVIDENCE {
            self.evidence.remove(0);
        }
        let took_ms = (began.elapsed().as_secs_f64() * 1e5).round() / 100.0;
        let (request, reply) = (self.without_secrets(plain(request)), self.without_secrets(plain(reply)));
        self.evidence.push(Exchange { request, reply, took_ms });
    }

    /// A text without what is never shown.
    pub(crate) fn without_secrets(&self, text: String) -> String {
        self.hidden.hide(&text)
    }

    /// Notes an operation of the adaptor's.
    pub(crate) fn operated<T>(
        &mut self,
        what: String,
        began: Instant,
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        self.requests += 1;
        let shown = match &result {
            Ok(_) => "done".to_owned(),
            Err(error) => {
                self.unanswered += usize::from(error.status().is_none());
                format!("{}: {}", error.kind().label(), error.message())
            }
        };
        self.exchanged(what, shown, began);
        result
    }

    /// Writes by the adaptor.
    pub(crate) async fn put(&mut self, key: &str, body: &[u8]) -> Result<(), Error> {
        self.written.push(key.to_owned());
        let what = format!("write {}, {} bytes", self.short(key), body.len());
        let mut pauses = BUSY_PAUSES.iter();
        loop {
            let (began, mut marks) = (Instant::now(), Marks::default());
            let (source, name) = (BytesSource(body), ObjectName { container: &self.container, object: key });
            let call = self.client.put(name, &source, PutOptions::default(), &mut marks);
            let result = within(self.patience, call).await;
            let result = self.operated(what.clone(), began, result.map(drop));
            if !self.is_asked_again(status_in(&result), &mut pauses).await {
                return result;
            }
        }
    }

    /// Reads by the adaptor.
    pub(crate) async fn get(&mut self, key: &str) -> Result<Vec<u8>, Error> {
        self.get_range(key, None).await
    }

    /// Reads a range by the adaptor.
    pub(crate) async fn get_range(&mut self, key: &str, range: Option<ByteRange>) -> Result<Vec<u8>, Error> {
        let mut what = format!("read {}", self.short(key));
        what.extend(range.map(|range| format!(", bytes {}-{}", range.first, range.last)));
        let mut pauses = BUSY_PAUSES.iter();
        loop {
            let (began, mut marks) = (Instant::now(), Marks::default());
            let mut sink = CollectSink::new(Reply::MOST_BYTES);
            let name = ObjectName { container: &self.container, object: key };
            let call = self.client.get(name, range, Some(&mut sink), &mut marks);
            let result = within(self.patience, call).await;
            let result = self.operated(what.clone(), began, result);
            if !self.is_asked_again(status_in(&result), &mut pauses).await {
                return result.map(|_| sink.bytes);
            }
        }
    }

    /// Deletes by the adaptor.
    pub(crate) async fn remove(&mut self, key: &str) -> Result<(), Error> {
        let what = format!("delete {}", self.short(key));
        let (began, mut marks) = (Instant::now(), Marks::default());
        let name = ObjectName { container: &self.container, object: key };
        // Once only: what was done the first time is not there the second.
        let result = within(self.patience, self.client.delete(name, &mut marks)).await;
        self.operated(what, began, result)
    }

    /// Asks for a length by the adaptor.
    pub(crate) async fn length(&mut self, key: &str) -> Result<Option<u64>, Error> {
        let what = format!("head {}", self.short(key));
        let mut pauses = BUSY_PAUSES.iter();
        loop {
            let (began, mut marks) = (Instant::now(), Marks::default());
            let name = ObjectName { container: &self.container, object: key };
            let result = within(self.patience, self.client.head(name, &mut marks)).await;
            let result = self.operated(what.clone(), began, result);
            if !self.is_asked_again(status_in(&result), &mut pauses).await {
                return result;
            }
        }
    }

    /// One page of names by the adaptor.
    pub(crate) async fn page(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        page_size: Option<u32>,
        delimiter: Option<&str>,
    ) -> Result<ListPage, Error> {
        let what = format!(
            "list {}{}",
            self.short(prefix),
            page_size.map(|size| format!(", {size} a page")).unwrap_or_default()
        );
        let mut pauses = BUSY_PAUSES.iter();
        loop {
            let (began, mut marks) = (Instant::now(), Marks::default());
            let request = ListRequest {
                container: &self.container,
                prefix,
                after,
                page_size,
                delimiter,
                want_names: true,
                holds_all: false,
            };
            let result = within(self.patience, self.client.list(request, &mut marks)).await;
            let result = self.operated(what.clone(), began, result);
            if !self.is_asked_again(status_in(&result), &mut pauses).await {
                return result;
            }
        }
    }

    /// All names that begin so, page by page, at most `most` pages.
    pub(crate) async fn names(
        &mut self,
        prefix: &str,
        size: Option<u32>,
        most: usize,
    ) -> Result<Vec<String>, Error> {
        let (mut names, mut after) = (Vec::new(), None);
        for _ in 0..most {
            let page = self.page(prefix, after.as_deref(), size, None).await?;
            names.extend(page.names);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(names),
            }
        }
        Err(Error::new(ErrorKind::Protocol, format!("the listing has not ended after {most} pages")))
    }

    /// Another connection of the same session.
    pub(crate) fn another(&self) -> Result<Box<dyn Client>, Finding> {
        self.adaptor.client(&self.session).map_err(|error| Finding::not_asked(error.message()))
    }

    /// Another connection for requests.
    pub(crate) fn another_asker(&self) -> Result<Box<dyn Asker>, Finding> {
        match self.adaptor.asker(&self.session) {
            Ok(Some(asker)) => Ok(asker),
            Ok(None) => Err(Finding::not_asked("this adaptor sends no requests beside its operations")),
            Err(error) => Err(Finding::not_asked(error.message())),
        }
    }

    /// The fields of a form that is signed now, by which whoever has it writes what the conditions say.
    pub(crate) fn form(
        &self,
        conditions: &str,
        ends_in_s: i64,
    ) -> Result<Vec<(&'static str, String)>, Finding> {
        let none = || Finding::not_asked("this adaptor sends no requests beside its operations");
        let form = self.asker.as_ref().ok_or_else(none)?.form(conditions, ends_in_s);
        form.map_err(|error| Finding::not_asked(error.message()))
    }

    /// The same of a container by its key: one file of at most so many bytes, below a prefix.
    pub(crate) fn form_by_key(
        &self,
        key: &str,
        prefix: &str,
        most_bytes: u64,
        ends_in_s: i64,
    ) -> Result<Vec<(&'static str, String)>, Finding> {
        let none = || Finding::not_asked("this adaptor sends no requests beside its operations");
        let asker = self.asker.as_ref().ok_or_else(none)?;
        let form = asker.form_by_key(key, (&self.container, prefix), most_bytes, ends_in_s);
        form.map_err(|error| Finding::not_asked(error.message()))
    }

    /// Notes something that was done by other connections.
    pub(crate) fn say(&mut self, request: String, reply: String, began: Instant) {
        self.requests += 1;
        self.exchanged(request, reply, began);
    }
}

/// The status of a refusal.
fn status_in<T>(result: &Result<T, Error>) -> Option<u16> {
    result.as_ref().err().and_then(Error::status)
}

/// A failure of an operation that the question needs.
pub(crate) fn unprepared(error: &Error) -> Finding {
    Finding::not_asked(format!("it could not be prepared: {}", error.message()))
}

/// A call with a time limit.
pub(crate) async fn within<T>(
    patience: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(patience, call).await.unwrap_or_else(|_| {
        let message = format!("no answer within {:.0} s", patience.as_secs_f64());
        Err(Error::new(ErrorKind::Timeout, message))
    })
}
