//! Reading back from stores that are made up, on a clock that stands still.

use std::future::ready;
use std::sync::Arc;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Auth, AuthDef, BodySink, BodySource, ByteRange, Client, Error, ErrorKind, Marks,
    ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Session, Settings,
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
struct Lags {
    opened: Instant,
}

impl Adaptor for Lags {
    fn capability(&self) -> Capability {
        Capability::of(&[])
    }

    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn client(&self, _: &Arc<Session>) -> cosmark_adaptor_api::Result<Box<dyn Client>> {
        Ok(Box::new(Self { opened: self.opened }))
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
        let is_there = match name.object.strip_prefix("o-").and_then(|digits| digits.parse::<u64>().ok()) {
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
}

struct Anybody;

impl Auth for Anybody {
    fn login(&self) -> OpFuture<'_, Session> {
        Box::pin(ready(Ok(Session::default())))
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(1)
    }
}

fn lags(_: &Settings) -> cosmark_adaptor_api::Result<Arc<dyn Adaptor>> {
    Ok(Arc::new(Lags { opened: Instant::now() }))
}

const CATALOG: Catalog = Catalog {
    adaptors: &[AdaptorDef {
        name: "lags",
        aliases: &[],
        summary: "for tests",
        keys: &[],
        capability: Capability::of(&[]),
        open: lags,
        lacks: AdaptorDef::lacks_nothing,
    }],
    auths: &[AuthDef {
        name: "anybody",
        aliases: &[],
        summary: "for tests",
        keys: &[],
        open: |_| Ok(Arc::new(Anybody)),
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

/// Notes what was found.
#[derive(Default)]
struct Notes(Vec<(String, Class)>);

impl ReadBackListener for Notes {
    fn found(&mut self, finding: &Finding) -> Result<(), String> {
        self.0.push((finding.object.clone(), finding.class));
        Ok(())
    }

    fn reached(&mut self, _: &Standing) -> Result<bool, String> {
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
