//! A store with Object Lock, honest and not: it remembers versions and their locks itself, before a store that has
//! none.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cosmark_adaptor_api::{Adaptor, Ask, Asker, Error, ErrorKind, Protocol, Reply, Result, Session};
use cosmark_certify::{Answer, Certificate, Progress};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{before, certified_by, certified_in_full, certifying, not_right, speaking_s3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// It has none, and overlooks that one is wanted: no promise is broken.
    HasNone,
    /// It has no versions, and what is locked is not written over: no promise is broken.
    HasNoVersions,
    /// The same, and whatever is locked is written over.
    WritesOverLocked,
    /// The first delete with the bypass has no answer, and is not done: no promise is broken.
    LosesAnAnswer,
    /// Versions can be switched off where there are locks.
    SuspendsVersions,
    /// Who deletes need not bypass anything.
    DeletesRetained,
    /// A write takes the versions of before with it.
    WritesOverRetained,
    /// A delete of many looks at no lock.
    DeletesAmongMany,
    /// A retention is whatever was said last.
    Shortens,
    /// The same, and it says that it refused.
    RefusesAndShortens,
    /// The same, and there is no retention any more.
    RefusesAndRemoves,
    /// A hold is taken and not looked at.
    OverlooksHolds,
    /// A hold that was taken off is there.
    HoldsForEver,
    /// Whatever is no mode and no time is one.
    TakesAnyDocument,
    /// Locks are taken where there are none.
    LocksAnywhere,
    /// Who may bypass GOVERNANCE may bypass COMPLIANCE.
    BypassesCompliance,
    /// No retention is ever over.
    NeverEnds,
}

impl Lie {
    fn has_no_versions(self) -> bool {
        matches!(self, Self::HasNoVersions | Self::WritesOverLocked)
    }
}

/// How long the question about COMPLIANCE locks.
const COMPLIANCE: Duration = Duration::from_secs(8);

struct Version {
    key: String,
    id: String,
    /// `None`: a delete marker.
    content: Option<Vec<u8>>,
    mode: Option<String>,
    until: String,
    is_held: bool,
    since: Instant,
}

#[derive(Default)]
struct Memory {
    given: u64,
    has_lost: bool,
    versions: Vec<Version>,
}

struct Vault {
    inner: Box<dyn Asker>,
    memory: Arc<Mutex<Memory>>,
    lie: Lie,
}

fn has(ask: &Ask<'_>, name: &str) -> bool {
    ask.query.iter().any(|(own, _)| *own == name)
}

fn line<'a>(ask: &Ask<'a>, name: &str) -> Option<&'a str> {
    ask.lines.iter().find(|line| line.0 == name).map(|line| line.1)
}

fn answer(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, body: body.into(), ..Reply::default() }
}

fn refusal(status: u16, code: &str) -> Reply {
    answer(status, format!("<Error><Code>{code}</Code></Error>"))
}

fn between<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    text.split_once(&open)?.1.split_once(&close).map(|(inner, _)| inner)
}

fn is_bypassing(ask: &Ask<'_>) -> bool {
    line(ask, "x-amz-bypass-governance-retention") == Some("true")
}

/// Whether a date of today, more or less, is over.
fn is_past(until: &str) -> bool {
    let part = |at: usize| until[at..at + 2].parse::<u64>().unwrap();
    let of_day = (part(11) * 60 + part(14)) * 60 + part(17);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % 86_400;
    (of_day + 86_400 - now) % 86_400 > 43_200
}

impl Version {
    fn is_locked(&self, is_bypassing: bool, lie: Lie) -> bool {
        let is_retained = match self.mode.as_deref() {
            Some("COMPLIANCE") => {
                let is_over = self.since.elapsed() >= COMPLIANCE && lie != Lie::NeverEnds;
                !(is_over || is_bypassing && lie == Lie::BypassesCompliance)
            }
            Some(_) => !is_bypassing && lie != Lie::DeletesRetained,
            None => false,
        };
        is_retained || (self.is_held && lie != Lie::OverlooksHolds)
    }

    fn retain(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let text = String::from_utf8_lossy(ask.body).into_owned();
        let (mode, until) = (between(&text, "Mode"), between(&text, "RetainUntilDate").unwrap_or_default());
        let is_known = mode.is_none_or(|mode| ["GOVERNANCE", "COMPLIANCE"].contains(&mode));
        let is_wrong = !is_known || (mode.is_some() && is_past(until));
        if is_wrong && lie != Lie::TakesAnyDocument {
            return refusal(400, "MalformedXML");
        }
        let is_compliance = self.mode.as_deref() == Some("COMPLIANCE");
        let is_weaker = self.mode.is_some()
            && (until < self.until.as_str() || (is_compliance && mode != Some("COMPLIANCE")));
        let is_allowed = is_bypassing(ask) && (!is_compliance || lie == Lie::BypassesCompliance);
        let is_refused = is_weaker && !is_allowed && lie != Lie::Shortens;
        if !is_refused || lie == Lie::RefusesAndShortens {
            (self.mode, self.until) = (mode.map(str::to_owned), until.to_owned());
        }
        if is_refused && lie == Lie::RefusesAndRemoves {
            self.mode = None;
        }
        if is_refused { refusal(403, "AccessDenied") } else { answer(200, "") }
    }

    fn hold(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let text = String::from_utf8_lossy(ask.body).into_owned();
        match between(&text, "Status") {
            Some("ON") => self.is_held = true,
            Some("OFF") => self.is_held = self.is_held && lie == Lie::HoldsForEver,
            _ if lie == Lie::TakesAnyDocument => {}
            _ => return refusal(400, "MalformedXML"),
        }
        answer(200, "")
    }

    fn about(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        match (ask.method, has(ask, "retention")) {
            ("PUT", true) => self.retain(ask, lie),
            ("PUT", false) => self.hold(ask, lie),
            (_, true) if self.mode.is_none() => refusal(404, "NoSuchObjectLockConfiguration"),
            (_, true) => answer(
                200,
                format!(
                    "<Retention><Mode>{}</Mode><RetainUntilDate>{}</RetainUntilDate></Retention>",
                    self.mode.as_deref().unwrap_or_default(),
                    self.until
                ),
            ),
            (_, false) => {
                let status = if self.is_held { "ON" } else { "OFF" };
                answer(200, format!("<LegalHold><Status>{status}</Status></LegalHold>"))
            }
        }
    }

    fn read(&self) -> Reply {
        let Some(content) = &self.content else { return refusal(404, "NoSuchKey") };
        let mut lines = Vec::new();
        if let Some(mode) = &self.mode {
            lines.push(("x-amz-object-lock-mode".to_owned(), mode.clone()));
            // Some have parts of a second.
            let until = self.until.replace('Z', ".000Z");
            lines.push(("x-amz-object-lock-retain-until-date".to_owned(), until));
        }
        Reply { lines, ..answer(200, content.clone()) }
    }
}

impl Memory {
    fn push(&mut self, ask: &Ask<'_>, content: Option<Vec<u8>>) -> Reply {
        self.given += 1;
        let id = format!("version-{}", self.given);
        self.versions.push(Version {
            key: ask.object.to_owned(),
            id: id.clone(),
            content,
            mode: line(ask, "x-amz-object-lock-mode").map(str::to_owned),
            until: line(ask, "x-amz-object-lock-retain-until-date").unwrap_or_default().to_owned(),
            is_held: line(ask, "x-amz-object-lock-legal-hold") == Some("ON"),
            since: Instant::now(),
        });
        Reply { lines: vec![("x-amz-version-id".to_owned(), id)], ..answer(200, "") }
    }

    fn place(&self, key: &str, id: Option<&str>) -> Option<usize> {
        self.versions.iter().rposition(|version| version.key == key && id.is_none_or(|id| version.id == id))
    }

    fn of_container(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        match ask.method {
            "PUT" if has(ask, "versioning") && lie != Lie::SuspendsVersions => {
                refusal(409, "InvalidBucketState")
            }
            "POST" => {
                let text = String::from_utf8_lossy(ask.body).into_owned();
                let (key, id) = (between(&text, "Key").unwrap(), between(&text, "VersionId"));
                let at = self.place(key, id).unwrap();
                if lie == Lie::DeletesAmongMany || !self.versions[at].is_locked(false, lie) {
                    self.versions.remove(at);
                }
                answer(200, "<DeleteResult></DeleteResult>")
            }
            "GET" if has(ask, "object-lock") && lie == Lie::HasNone => {
                refusal(404, "ObjectLockConfigurationNotFoundError")
            }
            "GET" if has(ask, "object-lock") => answer(200, "<ObjectLockEnabled>Enabled</ObjectLockEnabled>"),
            "GET" if lie.has_no_versions() && (has(ask, "versioning") || has(ask, "versions")) => {
                refusal(501, "VersioningNotConfigured")
            }
            "GET" if has(ask, "versioning") => answer(200, "<Status>Enabled</Status>"),
            "GET" if has(ask, "versions") => {
                let entry = |version: &Version| {
                    let name = if version.content.is_some() { "Version" } else { "DeleteMarker" };
                    format!(
                        "<{name}><Key>{}</Key><VersionId>{}</VersionId></{name}>",
                        version.key, version.id
                    )
                };
                let entries: String = self.versions.iter().map(entry).collect();
                answer(200, format!("<ListVersionsResult>{entries}</ListVersionsResult>"))
            }
            _ => {
                let all = self.versions.iter().filter(|_| lie.has_no_versions());
                let entries: String =
                    all.map(|version| format!("<Contents><Key>{}</Key></Contents>", version.key)).collect();
                answer(200, format!("<ListBucketResult>{entries}</ListBucketResult>"))
            }
        }
    }

    /// What is done with an object where there are no versions.
    fn of_plain(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let at = self.place(ask.object, None);
        let is_locked = at.is_some_and(|at| self.versions[at].is_locked(is_bypassing(ask), lie));
        match (ask.method, at) {
            ("PUT" | "DELETE", Some(_)) if is_locked && lie != Lie::WritesOverLocked => {
                refusal(403, "AccessDenied")
            }
            ("PUT", _) => {
                self.versions.retain(|version| version.key != ask.object);
                Reply { lines: Vec::new(), ..self.push(ask, Some(ask.body.to_vec())) }
            }
            ("DELETE", Some(at)) => {
                self.versions.remove(at);
                answer(204, "")
            }
            (_, Some(at)) => self.versions[at].read(),
            (_, None) => refusal(404, "NoSuchKey"),
        }
    }

    fn of_object(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        if lie.has_no_versions() {
            return self.of_plain(ask, lie);
        }
        let id = ask.query.iter().find(|(name, _)| *name == "versionId").and_then(|(_, value)| *value);
        let is_about = has(ask, "retention") || has(ask, "legal-hold");
        match (ask.method, id) {
            ("PUT", _) if !is_about => {
                if lie == Lie::WritesOverRetained {
                    self.versions.retain(|version| version.key != ask.object);
                }
                return self.push(ask, Some(ask.body.to_vec()));
            }
            ("DELETE", None) => return self.push(ask, None),
            _ => {}
        }
        let Some(at) = self.place(ask.object, id) else { return refusal(404, "NoSuchVersion") };
        if is_about {
            return self.versions[at].about(ask, lie);
        }
        if ask.method != "DELETE" {
            return self.versions[at].read();
        }
        if self.versions[at].is_locked(is_bypassing(ask), lie) {
            return refusal(403, "AccessDenied");
        }
        self.versions.remove(at);
        answer(204, "")
    }
}

impl Vault {
    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if !ask.container.ends_with("-lock") {
            let is_about = has(ask, "retention") || has(ask, "legal-hold");
            return match (is_about, self.lie) {
                (true, Lie::LocksAnywhere) => Ok(answer(200, "")),
                (true, _) => Ok(refusal(400, "InvalidRequest")),
                (false, _) => self.inner.ask(ask).await,
            };
        }
        let mut memory = self.memory.lock().unwrap();
        if self.lie == Lie::LosesAnAnswer
            && is_bypassing(ask)
            && !std::mem::replace(&mut memory.has_lost, true)
        {
            return Err(Error::new(ErrorKind::Timeout, "nobody answers"));
        }
        Ok(if ask.object.is_empty() {
            memory.of_container(ask, self.lie)
        } else {
            memory.of_object(ask, self.lie)
        })
    }
}

impl Asker for Vault {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

fn behind(store: &EmbeddedStore, lie: Lie) -> (Arc<dyn Adaptor>, Arc<Mutex<Memory>>) {
    let inner = speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key()));
    let memory = Arc::new(Mutex::new(Memory::default()));
    let own = Arc::clone(&memory);
    let vault = before(
        inner,
        |client| client,
        move |inner, _| Box::new(Vault { inner, memory: Arc::clone(&own), lie }),
    );
    (vault, memory)
}

#[tokio::test]
async fn lies_about_locks_are_found_and_nothing_that_was_locked_is_left() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, usize, &[&str])] = &[
        (Lie::SaysNothing, 6, &[]),
        (Lie::HasNone, 0, &[]),
        (Lie::HasNoVersions, 0, &[]),
        (Lie::WritesOverLocked, 0, &["s3.lock.on"]),
        (Lie::SuspendsVersions, 5, &["s3.lock.on"]),
        (Lie::DeletesRetained, 4, &["s3.lock.retention", "s3.lock.shorter"]),
        (Lie::WritesOverRetained, 5, &["s3.lock.retention"]),
        (Lie::DeletesAmongMany, 5, &["s3.lock.retention"]),
        (Lie::Shortens, 5, &["s3.lock.shorter"]),
        (Lie::RefusesAndShortens, 5, &["s3.lock.shorter"]),
        (Lie::RefusesAndRemoves, 5, &["s3.lock.shorter"]),
        (Lie::OverlooksHolds, 5, &["s3.lock.hold"]),
        (Lie::TakesAnyDocument, 5, &["s3.lock.document"]),
        (Lie::LocksAnywhere, 5, &["s3.lock.without"]),
    ];
    let mut wrong = Vec::new();
    for (lie, right, wanted) in cases {
        let (vault, memory) = behind(&store, *lie);
        let certificate = certified_by(vault, Session::default(), &["s3.lock."]).await.unwrap();
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted || certificate.counts.yes != *right {
            wrong.push(format!("{lie:?} should be answered by {wanted:?}, and is by {certificate:#?}"));
        }
        assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{certificate:#?}");
        assert!(memory.lock().unwrap().versions.is_empty(), "{lie:?}");
        // Who takes locks where there are none may look at them.
        let without = certificate.questions.iter().find(|one| one.id == "s3.lock.without").unwrap();
        let is_freed = without.evidence.iter().any(|one| one.request.contains("bypass-governance"));
        assert_eq!(is_freed, *lie == Lie::LocksAnywhere, "{without:#?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn who_has_no_locks_or_no_versions_is_asked_once_whether_he_has_some() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    for (lie, said) in [(Lie::HasNone, "not offered: "), (Lie::HasNoVersions, "it has no versions: ")] {
        let (vault, _) = behind(&store, lie);
        let certificate = certified_by(vault, Session::default(), &["s3.lock."]).await.unwrap();
        let differs = not_right(&certificate, Answer::Differs);
        assert!(differs["s3.lock.on"].starts_with(said), "{differs:#?}");
        assert_eq!((differs.len(), certificate.counts.not_asked), (1, 6), "{certificate:#?}");
    }
}

#[tokio::test]
async fn a_lock_is_taken_away_where_a_request_for_that_has_no_answer() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let (vault, memory) = behind(&store, Lie::LosesAnAnswer);
    let certificate = certified_by(vault, Session::default(), &["s3.lock.retention"]).await.unwrap();
    assert_eq!((certificate.counts.yes, certificate.left_behind.len()), (1, 0), "{certificate:#?}");
    let memory = memory.lock().unwrap();
    assert!(memory.has_lost && memory.versions.is_empty());
}

#[tokio::test]
async fn a_hold_that_cannot_be_taken_off_is_found_and_what_it_holds_is_named_at_the_end() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let (vault, _) = behind(&store, Lie::HoldsForEver);
    let certificate = certified_by(vault, Session::default(), &["s3.lock.hold"]).await.unwrap();
    assert_eq!((certificate.counts.no, certificate.questions.len()), (1, 1), "{certificate:#?}");
    let left = certificate.left_behind.join("\n");
    assert!(left.contains("1 locked versions in cosmark-certify-truth1-lock: 403 AccessDenied"), "{left}");
}

#[tokio::test]
async fn locks_are_taken_away_where_the_certification_is_ended_early() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let (vault, memory) = behind(&store, Lie::SaysNothing);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let (mut end, mut locked) = (Some(end), 0);
    let asking = certifying(vault, Session::default(), &["s3.lock."], None);
    let mut hear = |progress: Progress<'_>| {
        if progress.last.id == "s3.lock.retention"
            && let Some(end) = end.take()
        {
            locked = memory
                .lock()
                .unwrap()
                .versions
                .iter()
                .filter(|one| one.is_locked(false, Lie::SaysNothing))
                .count();
            end.send(()).unwrap();
        }
    };
    let why = async {
        ended.await.unwrap();
        "somebody ended it".to_owned()
    };
    let certificate = asking.run(&mut hear, why).await.unwrap();
    assert_eq!(certificate.ended_early.as_deref(), Some("somebody ended it"));
    assert_eq!((locked, certificate.left_behind.len()), (1, 0), "{certificate:#?}");
    // A request that was under way may reach the store when its container is gone: it is refused then, a moment later.
    let until = Instant::now() + Duration::from_secs(60);
    while store.used_bytes() > 0 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((memory.lock().unwrap().versions.len(), store.used_bytes()), (0, 0));
}

async fn asked_about_compliance(lie: Lie) -> (Certificate, usize) {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let (vault, memory) = behind(&store, lie);
    let certificate = certified_in_full(vault, Session::default(), &["s3.lock.compliance"]).await.unwrap();
    let left = memory.lock().unwrap().versions.len();
    (certificate, left)
}

#[tokio::test]
#[ignore = "18 seconds; make certify-truth runs it"]
async fn a_compliance_that_is_bypassed_or_never_over_is_found() {
    let all = [Lie::SaysNothing, Lie::BypassesCompliance, Lie::NeverEnds].map(asked_about_compliance);
    let all = futures_util::future::join_all(all).await;
    let counts: Vec<(usize, usize, usize)> =
        all.iter().map(|(found, left)| (found.counts.yes, found.counts.no, *left)).collect();
    assert_eq!(counts, [(1, 0, 0), (0, 1, 0), (0, 1, 1)], "{all:#?}");
    let said = all.iter().map(|(found, _)| found.left_behind.len());
    assert_eq!(said.collect::<Vec<_>>(), [0, 0, 1]);
}
