//! A Swift whose objects have versions, honest and not: it remembers them itself, before a store that has none.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Settings};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate};
use cosmark_simstore::{Behaviour, Handle, SimStore};
use serde_json::json;

use super::{before, certified_by, not_right, opened};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// It says that it has versions, and refuses them: no promise is broken.
    Refuses,
    /// Two writes of the same bytes are one version.
    OneIdOfAlike,
    /// An id is not looked at.
    ReadsTheLast,
    /// A delete takes every version with it.
    DeleteTakesVersions,
    /// The delete of one version takes the older ones, too.
    TakesOlderOnes,
    /// Markers are in no listing for a while: it may be behind, and that is no lie.
    ListsLate,
    /// A version is listed twice.
    ListsTwice,
    /// Every version is the last: nothing is lost by it.
    CallsAllLast,
    /// Switching versions off takes those of before.
    OffTakesVersions,
}

struct Version {
    name: String,
    id: String,
    /// `None`: a delete marker.
    content: Option<Vec<u8>>,
}

#[derive(Default)]
struct Memory {
    is_on: bool,
    given: u64,
    /// The oldest first.
    versions: Vec<Version>,
}

struct Attic {
    inner: Box<dyn Asker>,
    memory: Arc<Mutex<Memory>>,
    lie: Lie,
}

fn answer(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, body: body.into(), ..Reply::default() }
}

impl Memory {
    fn push(&mut self, name: &str, content: Option<Vec<u8>>, lie: Lie) -> Reply {
        self.given += 1;
        let id = match (lie, &content) {
            _ if !self.is_on => "null".to_owned(),
            (Lie::OneIdOfAlike, Some(content)) => format!("of-{}-bytes", content.len()),
            _ => format!("{:010}.00000", self.given),
        };
        self.versions.retain(|version| version.name != name || version.id != id);
        self.versions.push(Version { name: name.to_owned(), id: id.clone(), content });
        Reply { lines: vec![("x-object-version-id".to_owned(), id)], ..answer(201, "") }
    }

    fn of_container(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let switch = ask.lines.iter().find(|line| line.0 == "x-versions-enabled").map(|line| line.1);
        match (ask.method, switch) {
            ("PUT", _) if lie == Lie::Refuses => answer(400, ""),
            ("PUT" | "POST", Some(text)) => {
                self.is_on = text == "true";
                if lie == Lie::OffTakesVersions && !self.is_on {
                    self.versions.clear();
                }
                answer(if ask.method == "PUT" { 201 } else { 204 }, "")
            }
            _ => answer(200, self.listing(ask, lie)),
        }
    }

    fn listing(&self, ask: &Ask<'_>, lie: Lie) -> String {
        let prefix = ask.query.iter().find(|(name, _)| *name == "prefix").and_then(|(_, value)| *value);
        let all: Vec<&Version> = self.versions.iter().rev().collect();
        let is_last = |at: usize| !all[..at].iter().any(|other| other.name == all[at].name);
        let row = |at: usize| {
            let kind = match all[at].content {
                Some(_) => "application/octet-stream",
                None => "application/x-deleted;swift_versions_deleted=1",
            };
            json!({
                "name": all[at].name,
                "version_id": all[at].id,
                "content_type": kind,
                "is_latest": is_last(at) || lie == Lie::CallsAllLast,
            })
        };
        let is_shown = |at: &usize| {
            let version = all[*at];
            version.name.starts_with(prefix.unwrap_or_default())
                // At the end all are seen.
                && (lie != Lie::ListsLate || version.content.is_some() || !self.is_on)
        };
        let mut rows: Vec<_> = (0..all.len()).filter(is_shown).map(row).collect();
        if lie == Lie::ListsTwice {
            rows.extend(rows.first().cloned());
        }
        serde_json::Value::Array(rows).to_string()
    }

    fn of_object(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let id = ask.query.iter().find(|(name, _)| *name == "version-id").and_then(|(_, value)| *value);
        match (ask.method, id) {
            ("PUT", _) => return self.push(ask.object, Some(ask.body.to_vec()), lie),
            ("DELETE", None) => {
                if lie == Lie::DeleteTakesVersions {
                    self.versions.retain(|version| version.name != ask.object);
                }
                return Reply { status: 204, ..self.push(ask.object, None, lie) };
            }
            _ => {}
        }
        let is_read = ask.method == "GET";
        let id = id.filter(|_| !is_read || lie != Lie::ReadsTheLast);
        let at = self
            .versions
            .iter()
            .rposition(|version| version.name == ask.object && id.is_none_or(|id| version.id == id));
        let Some(at) = at else { return answer(404, "") };
        if is_read {
            return match &self.versions[at].content {
                Some(content) => answer(200, content.clone()),
                None => answer(404, ""),
            };
        }
        let mut place = 0;
        self.versions.retain(|version| {
            let is_older = place < at && version.name == ask.object && lie == Lie::TakesOlderOnes;
            let is_it = place == at;
            place += 1;
            !is_it && !is_older
        });
        answer(204, "")
    }
}

impl Attic {
    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.container.is_empty() && ask.object == "info" {
            return Ok(answer(200, "{\"swift\": {}, \"object_versioning\": {}}"));
        }
        if !ask.container.ends_with("-v") {
            return self.inner.ask(ask).await;
        }
        let mut memory = self.memory.lock().unwrap();
        Ok(if ask.object.is_empty() {
            memory.of_container(ask, self.lie)
        } else {
            memory.of_object(ask, self.lie)
        })
    }
}

impl Asker for Attic {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

async fn asked(store: &Handle, lie: Lie) -> (Certificate, usize) {
    let url = format!("{}/auth/v1.0", store.url());
    let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
    let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
    let memory = Arc::new(Mutex::new(Memory::default()));
    let own = Arc::clone(&memory);
    let attic = before(
        opened(&cosmark_adaptors::swift::DEF, &[]),
        |client| client,
        move |inner, _| Box::new(Attic { inner, memory: Arc::clone(&own), lie }),
    );
    let certificate = certified_by(attic, session, &["swift.versions."]).await.unwrap();
    let left = memory.lock().unwrap().versions.len();
    (certificate, left)
}

#[tokio::test]
async fn lies_of_a_swift_about_versions_are_found_and_every_version_is_removed() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let cases: &[(Lie, usize, &[&str])] = &[
        (Lie::SaysNothing, 4, &[]),
        (Lie::Refuses, 0, &[]),
        (Lie::OneIdOfAlike, 1, &["swift.versions.delete", "swift.versions.list", "swift.versions.read"]),
        (Lie::ReadsTheLast, 1, &["swift.versions.delete", "swift.versions.off", "swift.versions.read"]),
        (Lie::DeleteTakesVersions, 1, &["swift.versions.delete", "swift.versions.off"]),
        (Lie::TakesOlderOnes, 3, &["swift.versions.delete"]),
        (Lie::ListsLate, 3, &[]),
        (Lie::ListsTwice, 3, &["swift.versions.list"]),
        (Lie::CallsAllLast, 3, &[]),
        (Lie::OffTakesVersions, 3, &["swift.versions.off"]),
    ];
    let mut wrong = Vec::new();
    for (lie, right, wanted) in cases {
        let (certificate, left) = asked(&store, *lie).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted || certificate.counts.yes != *right {
            wrong.push(format!("{lie:?} should be answered by {wanted:?}, and is by {certificate:#?}"));
        }
        assert_eq!((certificate.left_behind.len(), left), (0, 0), "{lie:?}: {certificate:#?}");
        if *lie == Lie::Refuses {
            let counts = certificate.counts;
            assert_eq!((counts.differs, counts.not_asked), (1, 3), "{certificate:#?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(store.counters().unwrap().objects, 0);
    drop(store);
}
