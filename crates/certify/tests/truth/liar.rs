//! An honest store behind an adaptor that lies for it: conditions and ranges that are ignored, ETags, listings and deletes that are
//! not what they say. Each lie is found by the questions about it, and by no others.

mod plants;
mod spoken;
mod ways;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Adaptor, Ask, Asker, BodySink, BodySource, ByteRange, BytesSource, Client, CollectSink, ListPage,
    ListRequest, Marks, ObjectName, OpFuture, Protocol, PutOptions, PutOutcome, ReadOutcome, Reply, Result,
    Session, Whom,
};
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{before, certified_by, certified_in_full, not_right, speaking_s3};
use plants::Plant;
use spoken::Saying;
use ways::Way;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    IgnoresWriteConditions,
    /// Of so many conditional writes one has its condition ignored.
    LosesRaces(u64),
    /// It looks whether an object is there and writes it a little later. Some connections take long to open.
    ChecksThenWrites,
    /// Writes of races that were refused are done all the same, a little later.
    LandsLate,
    IgnoresReadConditions,
    IgnoresRanges,
    GivesOtherRange,
    OtherEtag,
    EndsListings,
    HidesAName,
    ForgetsDeletes,
    ForgetsAborts,
    TakesAnySecret,
    TakesAnyMd5,
    /// A write that is broken off is done as far as it came.
    StoresHalves,
    /// A large object is there in part before it is there.
    ShowsHalves,
    /// Of so many pages one has a name of the page twice.
    RepeatsAName(u64),
    /// Of so many pages one lacks a name.
    SkipsAName(u64),
    /// For a second after an overwrite reads and HEAD give the ETag of before.
    ServesOldEtags,
    /// HEAD says another type than the read.
    HeadDiffers,
    /// Parts that never came are left out of a completion.
    LeavesOutParts,
    /// A weak ETag passes every condition of a write.
    TakesWeakEtags,
    /// What stands behind a body is not looked at.
    IgnoresTrailers,
    /// Every page has the token of the first.
    RepeatsTokens,
    /// Capital and small letters of a name are one.
    FoldsCase,
    /// A letter and its parts are one.
    Normalises,
    /// Of a page of 1000 names the last is missing.
    LosesTheThousandth,
    /// A read takes its time, and gives its second half of what is there then.
    MixesVersions,
    /// One that shows only beside the plain way.
    Planted(Plant),
    /// One beside the plain requests.
    OnItsWay(Way),
    /// One in what is said.
    Says(Saying),
    SaysNothing,
}

struct LyingAsker {
    inner: Box<dyn Asker>,
    lie: Lie,
    /// Of the connection.
    number: u64,
    adaptor: Arc<dyn Adaptor>,
    session: Arc<Session>,
}

thread_local! {
    /// Conditional writes so far.
    static CONDITIONAL: Cell<u64> = const { Cell::new(0) };
    /// Connections so far.
    static ASKERS: Cell<u64> = const { Cell::new(0) };
    /// Pages since the last one with a lie.
    static PAGES: Cell<u64> = const { Cell::new(0) };
    /// The writes of each object.
    static ETAGS: RefCell<BTreeMap<String, Written>> = const { RefCell::new(BTreeMap::new()) };
    /// The prefix that is listed, and the token of its first page.
    static TOKEN: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// The last write of an object.
struct Written {
    /// The ETag before it.
    before: Option<String>,
    etag: String,
    at: Instant,
}

/// A text without its last part of this kind.
fn without_last(text: &str, name: &str) -> Option<String> {
    let (begin, end) = (text.rfind(&format!("<{name}>"))?, text.rfind(&format!("</{name}>"))?);
    Some(format!("{}{}", &text[..begin], &text[end + name.len() + 3..]))
}

/// Notes the ETags of writes, and gives what was before to reads that come soon after.
fn with_old_etag(ask: &Ask<'_>, mut reply: Reply) -> Reply {
    let Some(etag) = reply.line("etag").map(str::to_owned) else { return reply };
    ETAGS.with_borrow_mut(|all| {
        if ask.method == "PUT" {
            let before = all.get(ask.object).map(|last| last.etag.clone());
            all.insert(ask.object.to_owned(), Written { before, etag, at: Instant::now() });
            return;
        }
        // Longer than a busy machine takes from a write to the read that it is for.
        let recent = all.get(ask.object).filter(|last| last.at.elapsed() < Duration::from_secs(10));
        if let Some(before) = recent.and_then(|last| last.before.as_ref()) {
            reply.lines.iter_mut().filter(|line| line.0 == "etag").for_each(|line| line.1.clone_from(before));
        }
    });
    reply
}

/// A page with the token of the first page of its prefix.
fn with_first_token(ask: &Ask<'_>, body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body).into_owned();
    let prefix = ask.query.iter().find(|(name, _)| *name == "prefix").and_then(|(_, value)| *value);
    let prefix = prefix.unwrap_or_default().to_owned();
    let (begin, end) = ("<NextContinuationToken>", "</NextContinuationToken>");
    let token = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map(|(token, _)| token);
    let Some(token) = token.map(str::to_owned) else { return text.into_bytes() };
    TOKEN.with_borrow_mut(|first| {
        if first.as_ref().is_none_or(|(known, _)| *known != prefix) {
            *first = Some((prefix, token.clone()));
        }
        let first = first.as_ref().map_or(token.as_str(), |(_, first)| first.as_str());
        text.replace(&format!("{begin}{token}{end}"), &format!("{begin}{first}{end}")).into_bytes()
    })
}

impl LyingAsker {
    /// Lies about versions, parts and names; nothing for the other lies.
    async fn about_versions(&mut self, ask: &Ask<'_>) -> Result<Option<Reply>> {
        let is_listing = ask.method == "GET" && ask.object.is_empty();
        let reply = match self.lie {
            Lie::FoldsCase => {
                let object = ask.object.to_ascii_lowercase();
                self.inner.ask(&Ask { object: &object, ..*ask }).await?
            }
            Lie::Normalises => {
                let object = ask.object.replace("e\u{301}", "\u{e9}");
                self.inner.ask(&Ask { object: &object, ..*ask }).await?
            }
            Lie::TakesWeakEtags => {
                let is_weak = |line: &(&str, &str)| line.0 == "if-match" && line.1.starts_with("W/");
                let lines: Vec<(&str, &str)> =
                    ask.lines.iter().copied().filter(|line| !is_weak(line)).collect();
                self.inner.ask(&Ask { lines: &lines, ..*ask }).await?
            }
            Lie::IgnoresTrailers if ask.lines.iter().any(|line| line.0 == "x-amz-trailer") => {
                let text = String::from_utf8_lossy(ask.body).into_owned();
                let body = text.split("\r\n").nth(1).unwrap_or_default().as_bytes();
                self.inner.ask(&Ask { lines: &[], body, payload: None, ..*ask }).await?
            }
            Lie::LeavesOutParts if ask.method == "POST" => {
                let reply = self.inner.ask(ask).await?;
                let text = String::from_utf8_lossy(ask.body).into_owned();
                let is_one = text.matches("<Part>").count() < 2;
                match without_last(&text, "Part").filter(|_| reply.status == 400 && !is_one) {
                    Some(fewer) => self.inner.ask(&Ask { body: fewer.as_bytes(), ..*ask }).await?,
                    None => reply,
                }
            }
            Lie::HeadDiffers if ask.method == "HEAD" => {
                let mut reply = self.inner.ask(ask).await?;
                let kinds = reply.lines.iter_mut().filter(|line| line.0 == "content-type");
                kinds.for_each(|line| line.1.push_str("; charset=other"));
                reply
            }
            Lie::ServesOldEtags if ask.query.is_empty() => with_old_etag(ask, self.inner.ask(ask).await?),
            Lie::RepeatsTokens if is_listing => {
                let reply = self.inner.ask(ask).await?;
                Reply { body: with_first_token(ask, &reply.body), ..reply }
            }
            Lie::LosesTheThousandth if is_listing => {
                let reply = self.inner.ask(ask).await?;
                let text = String::from_utf8_lossy(&reply.body).into_owned();
                let is_full = text.matches("<Contents>").count() == 1000;
                let fewer = without_last(&text, "Contents").filter(|_| is_full).unwrap_or(text);
                Reply { body: fewer.into_bytes(), ..reply }
            }
            _ => return Ok(None),
        };
        Ok(Some(reply))
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if let Lie::Planted(plant) = self.lie {
            return self.planted(plant, ask).await;
        }
        if let Lie::OnItsWay(way) = self.lie {
            return self.on_its_way(way, ask).await;
        }
        if let Lie::Says(saying) = self.lie {
            return self.says(saying, ask).await;
        }
        if let Some(reply) = self.about_versions(ask).await? {
            return Ok(reply);
        }
        let is_condition = |line: &&(&str, &str)| line.0.starts_with("if-");
        let without = |name: fn(&str) -> bool| -> Vec<(&str, &str)> {
            ask.lines.iter().copied().filter(|line| !name(line.0)).collect()
        };
        let conditions: fn(&str) -> bool = |name| name.starts_with("if-");
        let is_write = matches!(ask.method, "PUT" | "POST");
        let has_condition = ask.lines.iter().any(|line| is_condition(&line));
        let (mut lines, mut whom) = (ask.lines.to_vec(), ask.whom);
        match self.lie {
            Lie::IgnoresWriteConditions if is_write => lines = without(conditions),
            Lie::LosesRaces(every) if is_write && has_condition => {
                let count = CONDITIONAL.get() + 1;
                CONDITIONAL.set(count);
                if count.is_multiple_of(every) {
                    lines = without(conditions);
                }
            }
            Lie::ChecksThenWrites if ask.object.contains("once-") && ask.method == "HEAD" => {
                tokio::time::sleep(Duration::from_millis(40) * u32::try_from(self.number % 17).unwrap())
                    .await;
            }
            Lie::ChecksThenWrites if ask.object.contains("once-") && has_condition => {
                let look = Ask::new("HEAD", ask.container, ask.object);
                if !self.inner.ask(&look).await?.is_success() {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    lines = without(conditions);
                }
            }
            Lie::IgnoresReadConditions if !is_write => lines = without(conditions),
            Lie::IgnoresRanges => lines = without(|name| name == "range"),
            Lie::GivesOtherRange => {
                lines.iter_mut().filter(|line| line.0 == "range").for_each(|line| line.1 = "bytes=0-99");
            }
            Lie::StoresHalves if ask.announce_bytes.is_some() && !ask.body.is_empty() => {
                self.inner.ask(&Ask { announce_bytes: None, ..*ask }).await?;
                return std::future::pending().await;
            }
            Lie::TakesAnySecret => whom = Whom::Session,
            Lie::TakesAnyMd5 => lines = without(|name| name == "content-md5"),
            Lie::ForgetsDeletes if ask.method == "DELETE" && ask.query.is_empty() => return Ok(done()),
            Lie::ForgetsAborts if ask.method == "DELETE" && !ask.query.is_empty() => return Ok(done()),
            _ => {}
        }
        let mut reply = self.inner.ask(&Ask { lines: &lines, whom, ..*ask }).await?;
        let is_listing = ask.method == "GET"
            && ask.object.is_empty()
            && ask.query.iter().any(|(name, _)| *name == "prefix");
        match self.lie {
            Lie::LandsLate if reply.status == 412 && ask.body.len() == 3000 => self.lands_later(ask),
            Lie::OtherEtag if !is_write => {
                let etag = reply.lines.iter_mut().filter(|line| line.0 == "etag");
                etag.for_each(|line| line.1 = "\"11111111111111111111111111111111\"".to_owned());
            }
            Lie::EndsListings if is_listing => {
                let text = String::from_utf8_lossy(&reply.body).into_owned();
                let text = text.replace("<IsTruncated>true<", "<IsTruncated>false<");
                reply.body = text.into_bytes();
            }
            Lie::HidesAName if is_listing => reply.body = without_first(&reply.body),
            _ => {}
        }
        Ok(reply)
    }
}

impl LyingAsker {
    /// Does a write that was refused.
    fn lands_later(&self, ask: &Ask<'_>) {
        let (adaptor, session) = (Arc::clone(&self.adaptor), Arc::clone(&self.session));
        let (container, object, body) = (ask.container.to_owned(), ask.object.to_owned(), ask.body.to_vec());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut asker = adaptor.asker(&session).unwrap().unwrap();
            let late = Ask { body: &body, ..Ask::new("PUT", &container, &object) };
            let _refused_once_more = runtime.block_on(asker.ask(&late));
        });
    }
}

struct LyingClient {
    inner: Box<dyn Client>,
    lie: Lie,
}

impl LyingClient {
    fn lie_on(&self, page: &mut ListPage) {
        let (Lie::RepeatsAName(every) | Lie::SkipsAName(every)) = self.lie else { return };
        PAGES.set(PAGES.get() + 1);
        let place = page.names.iter().position(|name| name.ends_with("-stays"));
        let Some(place) = place.filter(|_| PAGES.get() >= every) else { return };
        PAGES.set(0);
        if matches!(self.lie, Lie::SkipsAName(_)) {
            page.names.remove(place);
        } else {
            page.names.push(page.names[place].clone());
        }
        page.count = page.names.len() as u64;
    }
}

impl Client for LyingClient {
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
        if let Lie::Planted(plant) = self.lie {
            return Box::pin(self.get_planted(plant, name, range, sink, marks));
        }
        if self.lie != Lie::MixesVersions {
            return self.inner.get(name, range, sink, marks);
        }
        Box::pin(async move {
            let (mut first, mut second) = (CollectSink::new(8 << 20), CollectSink::new(8 << 20));
            self.inner.get(name, range, Some(&mut first), marks).await?;
            tokio::time::sleep(Duration::from_millis(3)).await;
            let outcome = self.inner.get(name, range, Some(&mut second), marks).await?;
            let half = (second.bytes.len() / 2).min(first.bytes.len());
            if let Some(sink) = sink {
                sink.accept(&first.bytes[..half]);
                sink.accept(&second.bytes[half..]);
            }
            Ok(outcome)
        })
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        if let Lie::Planted(plant) = self.lie {
            return Box::pin(self.put_planted(plant, name, body, options, marks));
        }
        Box::pin(async move {
            if self.lie == Lie::ShowsHalves && body.len() > 1 << 20 {
                let mut half = vec![0; 1 << 20];
                body.copy_to(0, &mut half).unwrap();
                self.inner.put(name, &BytesSource(&half), options, &mut Marks::default()).await?;
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            self.inner.put(name, body, options, marks).await
        })
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        match self.lie {
            Lie::Planted(plant) => Box::pin(self.delete_planted(plant, name, marks)),
            _ => self.inner.delete(name, marks),
        }
    }

    fn head<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        match self.lie {
            Lie::Planted(plant) => Box::pin(self.head_planted(plant, name, marks)),
            _ => self.inner.head(name, marks),
        }
    }

    fn copy<'a>(
        &'a mut self,
        from: ObjectName<'a>,
        to: ObjectName<'a>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        if self.lie == Lie::Planted(Plant::LinksCopies) {
            plants::link(from.object, to.object);
        }
        self.inner.copy(from, to, marks)
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        if let Lie::Planted(plant) = self.lie {
            return Box::pin(self.list_planted(plant, request, marks));
        }
        Box::pin(async move {
            let mut page = self.inner.list(request, marks).await?;
            self.lie_on(&mut page);
            Ok(page)
        })
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.inner.create_container(container, marks)
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.inner.delete_container(container, marks)
    }
}

fn done() -> Reply {
    Reply { status: 204, ..Reply::default() }
}

/// A listing without its first object.
fn without_first(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body).into_owned();
    let cut = text.find("<Contents>").zip(text.find("</Contents>"));
    match cut {
        Some((begin, end)) => {
            format!("{}{}", &text[..begin], &text[end + "</Contents>".len()..]).into_bytes()
        }
        None => text.into_bytes(),
    }
}

impl Asker for LyingAsker {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

/// The questions that send requests as they stand.
const REQUESTS: &[&str] = &[
    "s3.error",
    "s3.range",
    "s3.etag",
    "s3.read",
    "s3.write",
    "s3.race",
    "s3.list",
    "s3.name.blank",
    "s3.name.file-and-folder",
    "s3.multipart.abort",
];

/// A liar before this store.
fn liar(store: &EmbeddedStore, lie: Lie) -> Arc<dyn Adaptor> {
    plants::forget();
    lying(speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key())), lie)
}

fn lying(inner: Arc<dyn Adaptor>, lie: Lie) -> Arc<dyn Adaptor> {
    let adaptor = Arc::clone(&inner);
    before(
        inner,
        move |inner| Box::new(LyingClient { inner, lie }),
        move |inner, session| {
            let number = ASKERS.replace(ASKERS.get() + 1);
            let (adaptor, session) = (Arc::clone(&adaptor), Arc::clone(session));
            Box::new(LyingAsker { inner, lie, number, adaptor, session })
        },
    )
}

async fn asked(store: &EmbeddedStore, lie: Lie, only: &[&str]) -> Certificate {
    certified_by(liar(store, lie), Session::default(), only).await.unwrap()
}

// Each case waits for its races: in three tests they wait side by side.
#[tokio::test]
async fn lies_about_writes_and_races_are_found_by_the_questions_about_them_and_by_no_others() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (
            Lie::IgnoresWriteConditions,
            &[
                "s3.race.create-once",
                "s3.race.if-match",
                "s3.write.create-once",
                "s3.write.if-match",
                "s3.write.if-match-missing",
                "s3.write.if-match-weak",
                "s3.write.if-none-match-etag",
            ],
        ),
        (Lie::LosesRaces(17), &["s3.race.create-once", "s3.race.if-match"]),
        (Lie::ChecksThenWrites, &["s3.race.create-once"]),
        (Lie::LandsLate, &["s3.race.create-once", "s3.race.if-match"]),
    ];
    are_found(&store, REQUESTS, cases).await;
}

#[tokio::test]
async fn lies_about_reads_and_ranges_are_found_by_the_questions_about_them_and_by_no_others() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (
            Lie::IgnoresReadConditions,
            &[
                "s3.range.if-match",
                "s3.read.conditions-together",
                "s3.read.if-match",
                "s3.read.if-modified",
                "s3.read.if-none-match",
            ],
        ),
        (Lie::IgnoresRanges, &["s3.range.unsatisfiable"]),
        (
            Lie::GivesOtherRange,
            &[
                "s3.range.beyond-end",
                "s3.range.ends",
                "s3.range.head",
                "s3.range.if-match",
                "s3.range.if-range",
                "s3.range.nonsense",
                "s3.range.open",
                "s3.range.several",
                "s3.range.suffix",
                "s3.range.suffix-longer",
                "s3.range.unsatisfiable",
            ],
        ),
        (Lie::OtherEtag, &["s3.etag.overwritten", "s3.etag.same", "s3.write.refused-stays"]),
        (Lie::TakesAnySecret, &["s3.error.anonymous", "s3.error.unknown-user", "s3.error.wrong-secret"]),
        (Lie::TakesAnyMd5, &["s3.error.content-md5", "s3.error.invalid-md5"]),
    ];
    are_found(&store, REQUESTS, cases).await;
}

#[tokio::test]
async fn lies_of_listings_deletes_and_halves_are_found_by_the_questions_about_them_and_by_no_others() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (
            Lie::EndsListings,
            &[
                "s3.list.delimiter-pages",
                "s3.list.max-keys",
                "s3.list.start-after-pages",
                "s3.list.version-1",
                "s3.list.version-1-delimiter",
            ],
        ),
        (
            Lie::HidesAName,
            &[
                "s3.etag.same",
                "s3.list.delimiter",
                "s3.list.delimiter-pages",
                "s3.list.delimiters",
                "s3.list.encoding",
                "s3.list.max-keys",
                "s3.list.order",
                "s3.list.prefix-signs",
                "s3.list.start-after",
                "s3.list.start-after-pages",
                "s3.list.version-1",
                "s3.list.version-1-delimiter",
                "s3.listing.overwritten",
                "s3.listing.size",
                "s3.name.blank",
                "s3.name.file-and-folder",
            ],
        ),
        (Lie::ForgetsDeletes, &["s3.name.blank", "s3.write.create-after-delete"]),
        (Lie::ForgetsAborts, &["s3.multipart.abort", "s3.multipart.abort-listed"]),
        (Lie::StoresHalves, &["s3.write.broken-off"]),
    ];
    are_found(&store, REQUESTS, cases).await;
}

#[tokio::test]
async fn lies_of_listings_and_of_large_objects_are_found_by_the_questions_about_them() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["any.pages-while-written", "any.read-while-", "any.sixteen-writers"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (Lie::RepeatsAName(90), &["any.pages-while-written"]),
        (Lie::SkipsAName(90), &["any.pages-while-written"]),
        (Lie::ShowsHalves, &["any.read-while-created"]),
        (Lie::MixesVersions, &["any.read-while-written"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn lies_about_versions_parts_and_names_are_found_by_the_questions_about_them() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "s3.error.trailer",
        "s3.etag",
        "s3.head",
        "s3.list.delimiter-pages",
        "s3.list.max-keys",
        "s3.multipart.missing-part",
        "s3.multipart.one-missing",
        "s3.name.case",
        "s3.name.normal-forms",
        "s3.write.if-match",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (Lie::ServesOldEtags, &["s3.etag.overwritten"]),
        (Lie::HeadDiffers, &["s3.head.same"]),
        (Lie::LeavesOutParts, &["s3.multipart.one-missing"]),
        (Lie::TakesWeakEtags, &["s3.write.if-match-weak"]),
        (Lie::IgnoresTrailers, &["s3.error.trailer"]),
        (Lie::RepeatsTokens, &["s3.list.delimiter-pages"]),
        (Lie::FoldsCase, &["s3.name.case"]),
        (Lie::Normalises, &["s3.name.normal-forms"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn a_listing_that_loses_exactly_the_thousandth_name_is_found_when_all_is_asked() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    for (lie, wanted) in [(Lie::SaysNothing, 0), (Lie::LosesTheThousandth, 1)] {
        let adaptor = liar(&store, lie);
        let certificate = certified_in_full(adaptor, Session::default(), &["s3.list.many"]).await.unwrap();
        let no = not_right(&certificate, Answer::No);
        assert_eq!((certificate.questions.len(), no.len()), (1, wanted), "{lie:?}: {no:?}");
    }
}

async fn are_found(store: &EmbeddedStore, only: &[&str], cases: &[(Lie, &[&str])]) {
    let mut wrong = Vec::new();
    for (lie, wanted) in cases {
        let certificate = asked(store, *lie, only).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted {
            wrong.push(format!("{lie:?} is answered by {no:#?}, and should be by {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
