//! A store with tags and versions, honest and not: it remembers them itself, before a store that has none.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Session};
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{before, certified_by, not_right, speaking_s3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// Tags are acknowledged and gone.
    LosesTags,
    /// What puts tags on an object is its new content.
    WritesTagsOver,
    /// An object goes with its tags.
    DeletesWithTags,
    /// An overwrite leaves the tags of before.
    LeavesTags,
    /// Tags that are refused have taken those of before.
    RefusalTakesTags,
    /// A copy has no tags.
    CopiesWithoutTags,
    /// An object of parts has no tags.
    PartsWithoutTags,
    /// Any number of tags: no promise is broken.
    TakesAnyTags,
    /// A copy always has the tags of its source: a feature that is not there.
    IgnoresDirective,
    /// The switch is acknowledged and not done.
    ForgetsTheSwitch,
    /// Two versions of the same bytes are one.
    OneIdOfAlike,
    /// A delete takes every version with it.
    DeleteTakesVersions,
    /// The delete of one version takes the older ones, too.
    TakesOlderOnes,
    /// A copy of a version is one of the last.
    CopiesTheLast,
    /// A delete of many looks at names alone.
    ManyTakesAll,
    /// A delete of many with ids is acknowledged and not done.
    ManyTakesNone,
    /// Markers are in no listing.
    HidesMarkers,
    /// The last version is called the last, whatever is above it.
    CallsAVersionLast,
    /// A page begins at the first version of its name.
    RepeatsPages,
    /// A write while versions are suspended takes those of before.
    SuspendedTakesAll,
    /// The first read of each version says that there is none, as Amazon's may soon after the switch.
    ShowsLate,
}

type Tags = BTreeMap<String, String>;

struct Version {
    key: String,
    id: String,
    /// `None`: a delete marker.
    content: Option<Vec<u8>>,
}

#[derive(Default)]
struct Memory {
    status: String,
    /// Ids given so far.
    given: u64,
    /// The oldest first.
    versions: Vec<Version>,
    /// Names and ids that were asked for.
    looked_for: BTreeSet<(String, Option<String>)>,
    tags: BTreeMap<String, Tags>,
    /// Tags of uploads, by the name that they write.
    of_uploads: BTreeMap<String, Tags>,
}

struct KeepingAsker {
    inner: Box<dyn Asker>,
    memory: Arc<Mutex<Memory>>,
    lie: Lie,
}

fn has(ask: &Ask<'_>, name: &str) -> bool {
    ask.query.iter().any(|(own, _)| *own == name)
}

fn value<'a>(ask: &Ask<'a>, name: &str) -> Option<&'a str> {
    ask.query.iter().find(|(own, _)| *own == name).and_then(|(_, value)| *value)
}

fn line<'a>(ask: &Ask<'a>, name: &str) -> Option<&'a str> {
    ask.lines.iter().find(|line| line.0 == name).map(|line| line.1)
}

fn answer(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, body: body.into(), ..Reply::default() }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(inner, _)| inner)
}

/// Pairs of a document of tags.
fn pairs(body: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(body).into_owned();
    let pair = |tag: &str| {
        let [key, value] = [("<Key>", "</Key>"), ("<Value>", "</Value>")]
            .map(|(open, close)| between(tag, open, close).unwrap_or_default().to_owned());
        (key, value)
    };
    text.split("<Tag>").skip(1).map(pair).collect()
}

/// Tags of a header line.
fn of_line(text: &str) -> Tags {
    let decoded = |text: &str| text.replace("%20", " ").replace("%2B", "+");
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

impl Memory {
    fn tagging(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        match ask.method {
            "PUT" => {
                let pairs = pairs(ask.body);
                let count = pairs.len();
                let tags: Tags = pairs.into_iter().collect();
                let is_wrong = count > 10 || tags.len() < count || tags.keys().any(|name| name.len() > 128);
                if is_wrong && lie != Lie::TakesAnyTags {
                    if lie == Lie::RefusalTakesTags {
                        self.tags.remove(ask.object);
                    }
                    return answer(400, "<Error><Code>InvalidTag</Code></Error>");
                }
                if lie != Lie::LosesTags {
                    self.tags.insert(ask.object.to_owned(), tags);
                }
                answer(200, "")
            }
            "DELETE" => {
                self.tags.remove(ask.object);
                answer(204, "")
            }
            _ => {
                let tags = self.tags.get(ask.object).into_iter().flatten();
                let set: String = tags
                    .map(|(name, value)| format!("<Tag><Key>{name}</Key><Value>{value}</Value></Tag>"))
                    .collect();
                answer(200, format!("<Tagging><TagSet>{set}</TagSet></Tagging>"))
            }
        }
    }

    /// What a request that was done makes of tags.
    fn follow(&mut self, ask: &Ask<'_>, lie: Lie) {
        let (object, given) = (ask.object.to_owned(), line(ask, "x-amz-tagging").map(of_line));
        match ask.method {
            "PUT" if !has(ask, "uploadId") => {
                let source = line(ask, "x-amz-copy-source").map(|source| {
                    let name = source.trim_start_matches('/').split_once('/').map_or("", |(_, name)| name);
                    self.tags.get(name).cloned().unwrap_or_default()
                });
                let is_replaced = line(ask, "x-amz-tagging-directive") == Some("REPLACE");
                let tags = match source {
                    Some(_) if lie == Lie::CopiesWithoutTags => Some(Tags::new()),
                    Some(source) if !is_replaced || lie == Lie::IgnoresDirective => Some(source),
                    _ if given.is_none() && lie == Lie::LeavesTags => None,
                    _ => Some(given.unwrap_or_default()),
                };
                self.tags.extend(tags.map(|tags| (object, tags)));
            }
            "POST" if has(ask, "uploads") => {
                self.of_uploads.insert(object, given.unwrap_or_default());
            }
            "POST" if has(ask, "uploadId") && lie != Lie::PartsWithoutTags => {
                let tags = self.of_uploads.remove(ask.object).unwrap_or_default();
                self.tags.insert(object, tags);
            }
            "DELETE" if !has(ask, "uploadId") => {
                self.tags.remove(ask.object);
            }
            _ => {}
        }
    }

    /// Everything that is asked of the container with versions.
    fn versioned(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        match (ask.method, ask.object.is_empty()) {
            ("PUT", true) => {
                let text = String::from_utf8_lossy(ask.body).into_owned();
                if lie != Lie::ForgetsTheSwitch {
                    self.status = between(&text, "<Status>", "</Status>").unwrap().to_owned();
                }
                answer(200, "")
            }
            ("POST", true) => self.delete_many(ask, lie),
            (_, true) if has(ask, "versioning") => answer(
                200,
                format!(
                    "<VersioningConfiguration><Status>{}</Status></VersioningConfiguration>",
                    self.status
                ),
            ),
            (_, true) if has(ask, "versions") => answer(200, self.listing(ask, lie)),
            (_, true) => answer(200, "<ListBucketResult></ListBucketResult>"),
            ("PUT", false) => self.write(ask, lie),
            ("DELETE", false) => self.delete(ask, lie),
            (_, false) => self.read(ask, lie),
        }
    }

    fn forget(&mut self, key: &str, id: &str) {
        self.versions.retain(|version| version.key != key || version.id != id);
    }

    fn push(&mut self, key: &str, id: &str, content: Option<&[u8]>) {
        self.forget(key, id);
        let (key, id) = (key.to_owned(), id.to_owned());
        self.versions.push(Version { key, id, content: content.map(<[u8]>::to_vec) });
    }

    fn delete_many(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let text = String::from_utf8_lossy(ask.body).into_owned();
        for object in text.split("<Object>").skip(1).filter(|_| lie != Lie::ManyTakesNone) {
            let [key, id] = [("<Key>", "</Key>"), ("<VersionId>", "</VersionId>")]
                .map(|(open, close)| between(object, open, close).unwrap());
            self.versions
                .retain(|version| version.key != key || (version.id != id && lie != Lie::ManyTakesAll));
        }
        answer(200, "<DeleteResult></DeleteResult>")
    }

    /// What is copied, where a write is a copy.
    fn source(&self, ask: &Ask<'_>, lie: Lie) -> Option<Vec<u8>> {
        let (place, id) = line(ask, "x-amz-copy-source")?.split_once("?versionId=").unwrap();
        let key = place.trim_start_matches('/').split_once('/').unwrap().1;
        let mut of_key = self.versions.iter().rev().filter(|version| version.key == key);
        let found = of_key.find(|version| version.id == id || lie == Lie::CopiesTheLast);
        found.unwrap().content.clone()
    }

    fn write(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let source = self.source(ask, lie);
        let ask = &Ask { body: source.as_deref().unwrap_or(ask.body), ..*ask };
        if self.status != "Enabled" {
            if lie == Lie::SuspendedTakesAll {
                self.versions.retain(|version| version.key != ask.object);
            }
            self.push(ask.object, "null", Some(ask.body));
            return answer(200, "");
        }
        self.given += 1;
        let id = match lie {
            Lie::OneIdOfAlike => format!("of-{}-bytes", ask.body.len()),
            _ => format!("version-{}", self.given),
        };
        self.push(ask.object, &id, Some(ask.body));
        Reply { lines: vec![("x-amz-version-id".to_owned(), id)], ..answer(200, "") }
    }

    fn read(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        let asked = (ask.object.to_owned(), value(ask, "versionId").map(str::to_owned));
        if self.looked_for.insert(asked) && lie == Lie::ShowsLate {
            return answer(404, "<Error><Code>NoSuchKey</Code></Error>");
        }
        let of_key = || self.versions.iter().filter(|version| version.key == ask.object);
        let found = match value(ask, "versionId") {
            Some(id) => of_key().find(|version| version.id == id),
            None => of_key().next_back(),
        };
        match found.and_then(|version| version.content.as_ref()) {
            Some(content) => answer(200, content.clone()),
            None => answer(404, "<Error><Code>NoSuchVersion</Code></Error>"),
        }
    }

    fn delete(&mut self, ask: &Ask<'_>, lie: Lie) -> Reply {
        if let Some(id) = value(ask, "versionId") {
            let at = self.versions.iter().position(|version| version.key == ask.object && version.id == id);
            let mut place = 0;
            self.versions.retain(|version| {
                let is_older = at.is_some_and(|at| place < at) && lie == Lie::TakesOlderOnes;
                place += 1;
                version.key != ask.object || (version.id != id && !is_older)
            });
            return answer(204, "");
        }
        if self.status != "Enabled" {
            self.push(ask.object, "null", None);
            return answer(204, "");
        }
        if lie == Lie::DeleteTakesVersions {
            self.versions.retain(|version| version.key != ask.object);
        }
        self.given += 1;
        let id = format!("version-{}", self.given);
        self.push(ask.object, &id, None);
        let lines = [("x-amz-version-id", id.as_str()), ("x-amz-delete-marker", "true")];
        let lines = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Reply { lines, ..answer(204, "") }
    }

    fn listing(&self, ask: &Ask<'_>, lie: Lie) -> String {
        let prefix = value(ask, "prefix").unwrap_or_default();
        let mut all: Vec<&Version> =
            self.versions.iter().rev().filter(|version| version.key.starts_with(prefix)).collect();
        all.sort_by(|one, other| one.key.cmp(&other.key));
        let is_first = |at: usize| at == 0 || all[at - 1].key != all[at].key;
        let entries: Vec<String> = (0..all.len())
            .map(|at| {
                let (version, name) =
                    (all[at], if all[at].content.is_some() { "Version" } else { "DeleteMarker" });
                let is_latest = match lie {
                    Lie::CallsAVersionLast => name == "Version",
                    _ => is_first(at),
                };
                format!(
                    "<{name}><Key>{}</Key><VersionId>{}</VersionId><IsLatest>{is_latest}</IsLatest></{name}>",
                    version.key, version.id
                )
            })
            .collect();
        let marker = value(ask, "key-marker").zip(value(ask, "version-id-marker"));
        let begins = match marker {
            Some((key, id)) if lie != Lie::RepeatsPages => {
                all.iter().position(|version| version.key == key && version.id == id).unwrap() + 1
            }
            _ => 0,
        };
        let most = value(ask, "max-keys").map_or(1000, |text| text.parse::<usize>().unwrap());
        let ends = (begins + most).min(all.len());
        let shown: String = entries[begins..ends]
            .iter()
            .filter(|entry| lie != Lie::HidesMarkers || !entry.starts_with("<DeleteMarker>"))
            .map(String::as_str)
            .collect();
        let next = all[begins..ends].last().filter(|_| ends < all.len()).map_or(String::new(), |version| {
            format!(
                "<NextKeyMarker>{}</NextKeyMarker><NextVersionIdMarker>{}</NextVersionIdMarker>",
                version.key, version.id
            )
        });
        let is_more = ends < all.len();
        format!("<ListVersionsResult><IsTruncated>{is_more}</IsTruncated>{next}{shown}</ListVersionsResult>")
    }
}

impl KeepingAsker {
    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.container.ends_with("-v") {
            return Ok(self.memory.lock().unwrap().versioned(ask, self.lie));
        }
        if has(ask, "tagging") {
            let plain = match (ask.method, self.lie) {
                ("PUT", Lie::WritesTagsOver) | ("DELETE", Lie::DeletesWithTags) => {
                    Some(Ask { query: &[], lines: &[], ..*ask })
                }
                _ => None,
            };
            if let Some(plain) = plain {
                self.inner.ask(&plain).await?;
            }
            return Ok(self.memory.lock().unwrap().tagging(ask, self.lie));
        }
        let lines: Vec<(&str, &str)> =
            ask.lines.iter().copied().filter(|line| !line.0.starts_with("x-amz-tagging")).collect();
        let reply = self.inner.ask(&Ask { lines: &lines, ..*ask }).await?;
        if reply.is_success() {
            self.memory.lock().unwrap().follow(ask, self.lie);
        }
        Ok(reply)
    }
}

impl Asker for KeepingAsker {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

/// What a store with this lie answers, and what is left in its memory.
async fn asked(store: &EmbeddedStore, lie: Lie) -> (Certificate, Arc<Mutex<Memory>>) {
    let inner = speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key()));
    let memory = Arc::new(Mutex::new(Memory::default()));
    let own = Arc::clone(&memory);
    let keeper = before(
        inner,
        |client| client,
        move |inner, _| Box::new(KeepingAsker { inner, memory: Arc::clone(&own), lie }),
    );
    let certificate = certified_by(keeper, Session::default(), &["s3.tags.", "s3.versions."]).await.unwrap();
    (certificate, memory)
}

#[tokio::test]
async fn tags_and_versions_that_are_as_they_should_be_are_all_answered_yes_and_removed() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let (certificate, memory) = asked(&store, Lie::SaysNothing).await;
    let yes = certificate.questions.iter().filter(|one| one.answer == Answer::Yes).count();
    assert_eq!((yes, certificate.questions.len()), (13, 13), "{certificate:#?}");
    assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{:?}", certificate.left_behind);
    assert!(memory.lock().unwrap().versions.is_empty());
}

#[tokio::test]
async fn lies_about_tags_and_versions_are_found_and_what_is_not_offered_is_none() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (Lie::LosesTags, &["s3.tags.object"]),
        (Lie::WritesTagsOver, &["s3.tags.object"]),
        (Lie::DeletesWithTags, &["s3.tags.object"]),
        (Lie::LeavesTags, &["s3.tags.write"]),
        (Lie::RefusalTakesTags, &["s3.tags.limit"]),
        (Lie::CopiesWithoutTags, &["s3.tags.copy"]),
        (Lie::PartsWithoutTags, &["s3.tags.multipart"]),
        (Lie::TakesAnyTags, &[]),
        (Lie::IgnoresDirective, &[]),
        (Lie::ForgetsTheSwitch, &["s3.versions.on"]),
        (
            Lie::OneIdOfAlike,
            &[
                "s3.versions.copy",
                "s3.versions.delete-many",
                "s3.versions.delete-one",
                "s3.versions.list",
                "s3.versions.read",
            ],
        ),
        (Lie::CopiesTheLast, &["s3.versions.copy"]),
        (Lie::ManyTakesAll, &["s3.versions.delete-many"]),
        (Lie::ManyTakesNone, &["s3.versions.delete-many"]),
        (Lie::DeleteTakesVersions, &["s3.versions.delete", "s3.versions.list"]),
        (Lie::TakesOlderOnes, &["s3.versions.delete", "s3.versions.delete-one"]),
        (Lie::HidesMarkers, &["s3.versions.list"]),
        (Lie::CallsAVersionLast, &["s3.versions.list"]),
        (Lie::RepeatsPages, &["s3.versions.list"]),
        (Lie::SuspendedTakesAll, &["s3.versions.suspended"]),
        (Lie::ShowsLate, &[]),
    ];
    let mut wrong = Vec::new();
    for (lie, wanted) in cases {
        let (certificate, _) = asked(&store, *lie).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted {
            wrong.push(format!("{lie:?} is answered by {no:#?}, and should be by {wanted:?}"));
        }
        let is_late =
            not_right(&certificate, Answer::Differs).values().any(|saw| saw.contains("404 at first"));
        if is_late != (*lie == Lie::ShowsLate) {
            wrong.push(format!("{lie:?}: {certificate:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
