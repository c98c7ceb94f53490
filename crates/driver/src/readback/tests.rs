//! Reading back from stores that are made up, on a clock that stands still.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Auth, AuthDef, BodySink, BodySource, ByteRange, Client, Error, ErrorKind, ListPage,
    ListRequest, Marks, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Session, Settings,
};
use cosmark_ledger::{Change, Template, What};
use cosmark_workload::Span;
use cosmark_workload::model::Config;

use super::*;
use crate::catalog::{PluginRow, ReadsPlugins};

const CONTAINER: &str = "c";
/// Objects of the ledger: all of them were deleted, and the store acknowledged it.
const OBJECTS: u64 = 600;
/// The last object goes so long after the store was opened.
const GONE_AFTER: Duration = Duration::from_secs(7);

/// A store in which object 1 is never gone, and the last one is gone late.
#[derive(Clone, Copy)]
struct Lags {
    opened: Instant,
    /// The page behind a mark, so long after the store was opened, where it has listings.
    lists: Option<fn(&str, Duration) -> ListPage>,
    /// The first and the last object about which it says nothing; none where the first is behind the last.
    mute: (u64, u64),
}

impl Adaptor for Lags {
    fn capability(&self) -> Capability {
        if self.lists.is_some() { Capability::LIST } else { Capability::of(&[]) }
    }

    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn client(&self, _: &Arc<Session>) -> cosmark_adaptor_api::Result<Box<dyn Client>> {
        Ok(Box::new(*self))
    }
}

impl Client for Lags {
    fn set_session(&mut self, _: &Arc<Session>) {}

    fn probe<'a>(&'a mut self, _: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        _: Option<ByteRange>,
        _: Option<&'a mut dyn BodySink>,
        _: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        let number = name.object.strip_prefix("o-").and_then(|digits| digits.parse::<u64>().ok());
        if number.is_some_and(|number| (self.mute.0..=self.mute.1).contains(&number)) {
            return Box::pin(ready(Err(Error::new(ErrorKind::Status(503), "too few copies"))));
        }
        let is_there = match number {
            Some(1) => true,
            Some(OBJECTS) => self.opened.elapsed() < GONE_AFTER,
            _ => false,
        };
        let gone = || Error::new(ErrorKind::Status(404), "gone");
        Box::pin(ready(if is_there { Ok(ReadOutcome::default()) } else { Err(gone()) }))
    }

    fn put<'a>(
        &'a mut self,
        _: ObjectName<'a>,
        _: &'a dyn BodySource,
        _: PutOptions,
        _: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(ready(Ok(PutOutcome::default())))
    }

    fn delete<'a>(&'a mut self, _: ObjectName<'a>, _: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, _: &'a mut Marks) -> OpFuture<'a, ListPage> {
        let page = self.lists.map(|page_of| page_of(request.after.unwrap_or("0"), self.opened.elapsed()));
        Box::pin(ready(Ok(page.unwrap_or_default())))
    }
}

/// A page of ten names of others, and behind which mark the next one is.
fn page(from: u64, next: Option<u64>) -> ListPage {
    let names: Vec<String> = (from..from + 10).map(|at| format!("o-{}", 10_000 + at)).collect();
    ListPage { count: 10, names, next: next.map(|next| next.to_string()), bytes: 0 }
}

/// The same page for ever, behind marks that are new each time.
fn repeating(after: &str, _: Duration) -> ListPage {
    page(0, Some(after.parse::<u64>().unwrap() + 1))
}

/// Five hundred pages, of which the second one is that before it.
fn doubled(after: &str, _: Duration) -> ListPage {
    let at: u64 = after.parse().unwrap();
    page(if at == 1 { 0 } else { at * 10 }, Some(at + 1).filter(|next| *next < 500))
}

/// Objects that are gone, of which the listing hears later, or never.
fn behind(_: &str, since: Duration) -> ListPage {
    let names = if since < Duration::from_secs(25) { vec!["o-2".to_owned()] } else { Vec::new() };
    ListPage { count: names.len() as u64, names, next: None, bytes: 0 }
}

fn haunted(_: &str, _: Duration) -> ListPage {
    behind("", Duration::ZERO)
}

static LISTED: AtomicUsize = AtomicUsize::new(0);

/// Nothing, and how often it was asked for.
fn counted(_: &str, _: Duration) -> ListPage {
    LISTED.fetch_add(1, Ordering::Relaxed);
    ListPage::default()
}

pub(crate) struct Anybody;

impl Auth for Anybody {
    fn login(&self) -> OpFuture<'_, Session> {
        Box::pin(ready(Ok(Session::default())))
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(1)
    }
}

type Open = fn(&Settings) -> cosmark_adaptor_api::Result<Arc<dyn Adaptor>>;

fn open(lists: Option<fn(&str, Duration) -> ListPage>) -> cosmark_adaptor_api::Result<Arc<dyn Adaptor>> {
    Ok(Arc::new(Lags { opened: Instant::now(), lists, mute: (1, 0) }))
}

fn mute(first: u64, last: u64) -> cosmark_adaptor_api::Result<Arc<dyn Adaptor>> {
    Ok(Arc::new(Lags { opened: Instant::now(), lists: None, mute: (first, last) }))
}

const fn row(name: &'static str, open: Open) -> AdaptorDef {
    AdaptorDef {
        name,
        aliases: &[],
        summary: "for tests",
        keys: &[],
        capability: Capability::LIST,
        open,
        lacks: AdaptorDef::lacks_nothing,
        takes: AdaptorDef::takes_nothing,
    }
}

const CATALOG: Catalog = Catalog {
    adaptors: &[
        row("lags", |_| open(None)),
        row("repeats", |_| open(Some(repeating))),
        row("doubles", |_| open(Some(doubled))),
        row("behind", |_| open(Some(behind))),
        row("haunted", |_| open(Some(haunted))),
        row("counted", |_| open(Some(counted))),
        row("mute in part", |_| mute(100, 200)),
        row("mute", |_| mute(1, OBJECTS)),
    ],
    auths: &[AuthDef {
        name: "anybody",
        aliases: &[],
        summary: "for tests",
        keys: &[],
        open: |_| Ok(Arc::new(Anybody)),
        gives: None,
    }],
    not_built: &[],
    plugin: PluginRow {
        name: "plugin",
        key: "path",
        row_of: |path| unreachable!("{path}"),
        declares_secret: |_| false,
        reads: ReadsPlugins::Never,
    },
};

/// Notes what was found, and how often it was said how far the reading is.
#[derive(Default)]
struct Notes(Vec<(String, Class)>, usize);

impl ReadBackListener for Notes {
    fn found(&mut self, finding: &Finding) -> Result<(), String> {
        self.0.push((finding.object.clone(), finding.class));
        Ok(())
    }

    fn reached(&mut self, _: &Standing) -> Result<bool, String> {
        self.1 += 1;
        Ok(true)
    }
}

fn spec(kind: &str) -> TargetSpec {
    TargetSpec { kind: kind.to_owned(), config: Config::default(), span: Span::default() }
}

const SITE: Site = Site { stage: 0, work: 0 };

fn space() -> Space {
    let template = |prefix: &str, numbered| Template {
        prefix: prefix.to_owned(),
        suffix: String::new(),
        numbered,
        scattered: false,
    };
    Space {
        site: SITE,
        containers: template(CONTAINER, false),
        objects: Some(template("o-", true)),
        written: true,
        deleted: true,
        anonymous: false,
    }
}

/// A deletion that was acknowledged.
fn deleted(object: u64) -> Result<Numbered, String> {
    let change =
        Change { sent_ns: 0, end_ns: 1, what: What::Deleted, acknowledged: true, version: 1, bytes: 0 };
    Ok((object - 1, Key { space: 0, container: 0, object }, Entry::of(change)))
}

#[tokio::test(start_paused = true)]
async fn what_is_late_at_the_end_of_a_long_reading_has_its_time_although_a_lie_was_met_early() {
    let spaces = [space()];
    let manner = Manner {
        workers: 1,
        rate_per_s: Some(100.0),
        settle: Duration::from_secs(3),
        listings: false,
        in_doubt: false,
        removed: false,
    };
    let targets = [(SITE, (spec("anybody"), spec("lags")))].into();
    let what = ReadBack { catalog: CATALOG, targets, spaces: &spaces, manner };
    let (mut standing, mut notes) = (Standing::default(), Notes::default());
    let began = Instant::now();
    let mut objects = (1..=OBJECTS).map(deleted);
    assert_eq!(what.run(&mut objects, &mut standing, &mut notes).await, Ok(true));
    // The reading alone takes longer than what settles; the last object goes one second after it was read.
    assert!(began.elapsed() > Duration::from_secs(8), "{:?}", began.elapsed());
    let last = format!("o-{OBJECTS}");
    assert_eq!(notes.0, [("o-1".to_owned(), Class::Resurrected), (last, Class::Late)]);
    assert_eq!((standing.count(Class::Right), standing.broken()), (OBJECTS - 2, 1));
}

/// Reads an object of a store that has listings, and looks again after this time.
async fn listed(kind: &str, object: u64, settle: Duration) -> (Standing, usize) {
    let spaces = [space()];
    let manner =
        Manner { workers: 1, rate_per_s: None, settle, listings: true, in_doubt: false, removed: false };
    let targets = [(SITE, (spec("anybody"), spec(kind)))].into();
    let what = ReadBack { catalog: CATALOG, targets, spaces: &spaces, manner };
    let (mut standing, mut notes) = (Standing::default(), Notes::default());
    let mut objects = std::iter::once(deleted(object));
    assert_eq!(what.run(&mut objects, &mut standing, &mut notes).await, Ok(true));
    (standing, notes.1)
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_repeats_itself_is_none_and_names_that_come_twice_are_counted() {
    let (standing, _) = listed("repeats", 2, Duration::ZERO).await;
    assert_eq!((standing.listed_containers, standing.unlisted_containers), (0, 1));
    let why = standing.unlisted_why.unwrap();
    assert!(why.contains("the listing repeats itself"), "{why}");

    let (standing, said) = listed("doubles", 2, Duration::ZERO).await;
    assert_eq!((standing.listed_containers, standing.unlisted_containers), (1, 0));
    assert_eq!((standing.listed_twice, standing.unlisted_why), (10, None));
    // After 100 to 400 pages of the listing, too.
    assert!(said >= 4, "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_is_behind_has_more_time_than_what_is_lost_and_one_that_stays_wrong_is_said_to() {
    let settle = Duration::from_secs(10);
    for (kind, class, waited_s) in [("behind", Class::Late, 30), ("haunted", Class::ListedNotThere, 60)] {
        let began = Instant::now();
        let (standing, _) = listed(kind, 2, settle).await;
        assert_eq!((standing.count(class), standing.decided()), (1, 1), "{kind}");
        assert_eq!(began.elapsed().as_secs(), waited_s, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_that_nobody_wrote_are_counted_once_where_a_reading_is_ended_among_them() {
    let spaces = [space()];
    let manner = Manner {
        workers: 1,
        rate_per_s: Some(100.0),
        settle: Duration::ZERO,
        listings: true,
        in_doubt: false,
        removed: false,
    };
    let targets = [(SITE, (spec("anybody"), spec("doubles")))].into();
    let what = ReadBack { catalog: CATALOG, targets, spaces: &spaces, manner };
    let (mut standing, mut notes) = (Standing::default(), Notes::default());
    let mut objects = std::iter::once(deleted(2));
    let over = tokio::time::sleep(Duration::from_secs(20));
    assert_eq!(what.run_until(&mut objects, &mut standing, &mut notes, over).await, Ok(false));
    assert_eq!((standing.decided(), standing.next), (1, 2));
    let mut objects = std::iter::once(deleted(2));
    assert_eq!(what.run(&mut objects, &mut standing, &mut notes).await, Ok(true));
    assert_eq!(
        (standing.count(Class::ListedNotThere), standing.decided(), notes.0.len()),
        (4990, 4991, 4990)
    );
}

/// Reads these objects without a second look; what it comes to.
async fn read(kind: &str, from: u64, to: u64, standing: &mut Standing) -> Result<bool, String> {
    let spaces = [space()];
    let manner = Manner {
        workers: 4,
        rate_per_s: None,
        settle: Duration::ZERO,
        listings: false,
        in_doubt: false,
        removed: false,
    };
    let targets = [(SITE, (spec("anybody"), spec(kind)))].into();
    let what = ReadBack { catalog: CATALOG, targets, spaces: &spaces, manner };
    what.run(&mut (from..=to).map(deleted), standing, &mut Notes::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_store_that_answers_nothing_is_unreadable_and_hides_nothing_of_the_rest() {
    let right = (OBJECTS - 102, 101, 1);
    let of = |standing: &Standing| {
        let count = |class| standing.count(class);
        (count(Class::Right), count(Class::Unreadable), count(Class::Resurrected))
    };
    let mut standing = Standing::default();
    assert_eq!(read("mute in part", 1, OBJECTS, &mut standing).await, Ok(true));
    assert_eq!(of(&standing), right);
    // Also where a reading that was ended goes on with that part.
    let mut standing = Standing::default();
    assert_eq!(read("mute in part", 1, 99, &mut standing).await, Ok(true));
    assert_eq!(read("mute in part", 100, OBJECTS, &mut standing).await, Ok(true));
    assert_eq!(of(&standing), right);
    // Who has never had an answer asks for nothing more.
    let why = read("mute", 1, OBJECTS, &mut Standing::default()).await.unwrap_err();
    assert!(
        why.starts_with("32 reads in a row gave no object and no word of it") && why.contains("--resume"),
        "{why}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_broken_by_itself_is_looked_up_in_no_listing_again() {
    let (standing, _) = listed("counted", 1, Duration::from_secs(10)).await;
    assert_eq!((standing.count(Class::Resurrected), standing.listed_containers), (1, 1));
    assert_eq!(LISTED.load(Ordering::Relaxed), 1, "the container, and nothing for the second look");
}
