//! Versions of objects, which a store need not have. They are switched on in a container of their own, so that every
//! other question is asked where there are none. Source: S3 API, PutBucketVersioning, ListObjectVersions, GetObject,
//! DeleteObject; user guide, "Retaining multiple versions of objects with S3 Versioning".

use std::collections::BTreeSet;
use std::time::Duration;

use cosmark_adaptor_api::{Marks, Reply};

use super::integrity::md5_base64;
use super::{Group, Question, S3, by, difference, pattern, row};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::{PATIENCE, Room, within};
use crate::xml;

pub(super) const VERSIONS: (Group, super::Of) = (Group::Versions, S3);
const GUIDE: &str = "S3 user guide, Retaining multiple versions of objects with S3 Versioning";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.versions.on",
        VERSIONS,
        (
            "Can versions be switched on, and has each write an id from then on?",
            "200, then Status Enabled, and x-amz-version-id of a write",
            "S3 API, PutBucketVersioning and GetBucketVersioning",
        ),
        by!(on),
    ),
    row(
        "s3.versions.read",
        VERSIONS,
        (
            "Is every overwrite a version of its own that can be read by its id?",
            "three ids, each with its own bytes; without an id the last",
            GUIDE,
        ),
        by!(read_by_id),
    ),
    row(
        "s3.versions.delete",
        VERSIONS,
        (
            "Does a delete leave every version, and bring the object back when its marker is deleted?",
            "404 without an id, the bytes with it; behind the delete of the marker the bytes without one",
            "S3 user guide, Deleting object versions from a versioning-enabled bucket",
        ),
        by!(delete_marker),
    ),
    row(
        "s3.versions.delete-one",
        VERSIONS,
        (
            "Does the delete of one version remove that one and no other?",
            "404 for its id; the others as they were; behind the delete of the last the one before is read",
            "S3 API, DeleteObject",
        ),
        by!(delete_one),
    ),
    row(
        "s3.versions.list",
        VERSIONS,
        (
            "Are all versions and markers of a name listed once each, on one page and over pages of one, and which is \
             the last?",
            "every id once; IsLatest of the delete marker alone; the newest first",
            "S3 API, ListObjectVersions",
        ),
        by!(list),
    ),
];

/// Behind all others, as nothing that is written has a version of its own then.
pub(super) const LATE: &[Question] = &[row(
    "s3.versions.suspended",
    VERSIONS,
    (
        "When versions are suspended, do those of before stay, and does a write replace the version null alone?",
        "the bytes of before by their id; the last bytes without an id and as null; null once in the listing",
        "S3 user guide, Adding objects to versioning-suspended buckets",
    ),
    by!(suspended),
)];

/// How long after the switch a write may be without its effect: Amazon's takes a while to be known everywhere.
const SETTLES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(12),
];
/// How long after the last change a listing may be without it, and a read by what was said of the switch: "you might
/// encounter intermittent HTTP 404" (user guide, "Enabling versioning on buckets").
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(300), Duration::from_millis(1700)];
/// Pages of versions that are removed at the end, 1000 a page.
const MOST_PAGES: usize = 20;

/// The id that an answer tells of a version.
pub(super) fn id_of(reply: &Reply) -> Option<String> {
    reply.line("x-amz-version-id").filter(|id| !id.is_empty()).map(str::to_owned)
}

/// What a request says to switch versions.
pub(super) fn switching(container: &str, status: &str) -> Request {
    let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
    let body = format!(
        "<VersioningConfiguration xmlns=\"{namespace}\"><Status>{status}</Status></VersioningConfiguration>"
    );
    let sum = md5_base64(body.as_bytes());
    Request::put("", body.as_bytes()).of(container).flag("versioning").line("content-md5", sum)
}

/// Whether the container says that versions are so.
pub(super) async fn is_said(room: &mut Room, container: &str, status: &str) -> Result<bool, Finding> {
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        let reply = room.send(Request::get("").of(container).flag("versioning")).await?;
        if reply.is_success() && xml::text(&reply.body, "Status").as_deref() == Some(status) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a container may be there whose making failed so: it is removed then. Without an answer, or with that of a
/// gateway that waited for one, nobody knows.
pub(super) fn may_be_there(status: Option<u16>) -> bool {
    !matches!(status, Some(300..=499 | 501))
}

/// Makes the container and switches versions on in it; `Err`: the answer of a store where that cannot be.
async fn switched_on(room: &mut Room) -> Result<String, Finding> {
    if !room.owns_container {
        return Err(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let container = format!("cosmark-certify-{}-v", room.word);
    // A question that ran out of time may have made it before.
    let is_again = room.versions_in.replace(container.clone()).is_some();
    let made = within(PATIENCE * 3, room.client.create_container(&container, &mut Marks::default())).await;
    if let Err(error) = made {
        if !is_again && !may_be_there(error.status()) {
            room.versions_in = None;
        }
        return Err(Finding::not_asked(format!("no second container can be made: {}", error.message())));
    }
    let reply = room.send(switching(&container, "Enabled")).await?;
    if !reply.is_success() {
        let seen = status_of(&reply);
        return Err(match reply.status {
            400..=499 | 501 => Finding::differs(format!("not offered: {seen}")),
            _ => Finding::no(format!("the store failed: {seen}")),
        });
    }
    if !is_said(room, &container, "Enabled").await? {
        return Err(Finding::no(format!("{}, and the container does not say Enabled", reply.status)));
    }
    let key = room.key("begin");
    for pause in SETTLES {
        tokio::time::sleep(pause).await;
        let reply = room.prepare(Request::put(&key, b"begin").of(&container)).await?;
        if id_of(&reply).is_some_and(|id| id != "null") {
            return Ok(container);
        }
    }
    let waited = SETTLES.iter().sum::<Duration>().as_secs();
    Err(Finding::no(format!("Enabled, and a write {waited} s later has no x-amz-version-id")))
}

async fn on(room: &mut Room) -> Found {
    let switched = switched_on(room).await;
    room.versioned = Some(switched.clone().map_err(|finding| finding.saw));
    switched.map(|_| Finding::yes("Enabled, and a write has an id"))
}

/// The container with versions; where there is none, nothing further is asked.
pub(super) async fn versioned(room: &mut Room) -> Result<String, Finding> {
    if room.versioned.is_none() {
        room.versioned = Some(switched_on(room).await.map_err(|finding| finding.saw));
    }
    match &room.versioned {
        Some(Ok(container)) => Ok(container.clone()),
        Some(Err(why)) => Err(Finding::not_asked(format!("there are no versions: {why}"))),
        None => Err(Finding::not_asked("there are no versions")),
    }
}

/// Writes one version; gives its id.
async fn version(room: &mut Room, container: &str, key: &str, body: &[u8]) -> Result<String, Finding> {
    let reply = room.prepare(Request::put(key, body).of(container)).await?;
    id_of(&reply).ok_or_else(|| Finding::no("a write has no x-amz-version-id"))
}

fn reading(container: &str, key: &str, id: Option<&str>) -> Request {
    let request = Request::get(key).of(container);
    match id {
        Some(id) => request.query("versionId", id),
        None => request,
    }
}

/// Reads a version, without an id the last; `Some`: what is wrong.
pub(super) async fn wrong(
    room: &mut Room,
    (container, key, id): (&str, &str, Option<&str>),
    content: Option<&[u8]>,
) -> Result<Option<String>, Finding> {
    let mut reply = room.send(reading(container, key, id)).await?;
    let whose = if id.is_some() { "by its id" } else { "without an id" };
    // Amazon's says so of what was written soon after the switch, and is right a little later.
    let was_late = reply.status == 404 && content.is_some();
    for pause in LOOKS.iter().skip(1).filter(|_| was_late) {
        if reply.status == 404 {
            tokio::time::sleep(*pause).await;
            reply = room.send(reading(container, key, id)).await?;
        }
    }
    if was_late && reply.status == 200 && content == Some(reply.body.as_slice()) {
        return Err(Finding::differs(format!("{whose}: 404 at first, and there a little later")));
    }
    Ok(match (reply.status, content) {
        (200, Some(content)) => difference(content, &reply.body).map(|wrong| format!("{whose}: {wrong}")),
        // An id that is gone may also be called none.
        (400..=499, None) => None,
        (_, Some(_)) => Some(format!("{whose}: {}", status_of(&reply))),
        (_, None) => Some(format!("{whose}: {} where nothing is to be", status_of(&reply))),
    })
}

/// Three versions of one name: ids and contents, the first first.
pub(super) async fn three(
    room: &mut Room,
    container: &str,
    key: &str,
) -> Result<(Vec<String>, Vec<Vec<u8>>), Finding> {
    // The third has the bytes of the first: versions are of writes, not of contents.
    let contents = vec![pattern(3000, 181), pattern(3100, 182), pattern(3000, 181)];
    let mut ids = Vec::new();
    for content in &contents {
        ids.push(version(room, container, key, content).await?);
    }
    if ids.iter().collect::<BTreeSet<_>>().len() != ids.len() {
        return Err(Finding::no(format!("two writes have one id: {}", ids.join(", "))));
    }
    Ok((ids, contents))
}

async fn read_by_id(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("versions"));
    let (ids, contents) = three(room, &container, &key).await?;
    for (id, content) in ids.iter().zip(&contents) {
        if let Some(wrong) = wrong(room, (&container, &key, Some(id)), Some(content)).await? {
            return Ok(Finding::no(wrong));
        }
    }
    let last = wrong(room, (&container, &key, None), contents.last().map(Vec::as_slice)).await?;
    Ok(last.map_or_else(|| Finding::yes("3 versions"), Finding::no))
}

async fn delete_marker(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("marker"));
    let content = pattern(2500, 183);
    let id = version(room, &container, &key, &content).await?;
    let reply = room.send(Request::delete(&key).of(&container)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the delete gave {}", status_of(&reply))));
    }
    if let Some(wrong) = wrong(room, (&container, &key, None), None).await? {
        return Ok(Finding::no(format!("deleted; {wrong}")));
    }
    if let Some(wrong) = wrong(room, (&container, &key, Some(&id)), Some(&content)).await? {
        return Ok(Finding::no(format!("deleted, and the version went with it; {wrong}")));
    }
    let (marker, is_said) = match id_of(&reply) {
        Some(marker) => (Some(marker), reply.line("x-amz-delete-marker") == Some("true")),
        None => (listed(room, &container, &key).await?.markers.into_iter().next(), false),
    };
    let Some(marker) = marker else {
        return Ok(Finding::no("there is no delete marker, neither in the answer nor in the listing"));
    };
    let request = Request::delete(&key).of(&container).query("versionId", marker);
    let gone = room.send(request).await?;
    if !gone.is_success() {
        return Ok(Finding::no(format!("the delete of the marker gave {}", status_of(&gone))));
    }
    if let Some(wrong) = wrong(room, (&container, &key, None), Some(&content)).await? {
        return Ok(Finding::no(format!("the marker was deleted; {wrong}")));
    }
    Ok(if is_said {
        Finding::yes("404, and the bytes again behind the delete of the marker")
    } else {
        Finding::differs("the answer does not tell of the marker")
    })
}

async fn delete_one(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("one"));
    let (ids, contents) = three(room, &container, &key).await?;
    let [first, middle, last] = [0_usize, 1, 2].map(|at| ids.get(at).cloned().unwrap_or_default());
    let at = |id: &str| Request::delete(&key).of(&container).query("versionId", id);
    let reply = room.send(at(&middle)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the delete of one version gave {}", status_of(&reply))));
    }
    let content = contents.first().map(Vec::as_slice);
    let looks = [(Some(&middle), None), (Some(&first), content), (Some(&last), content), (None, content)];
    for (id, right) in looks {
        let place = (container.as_str(), key.as_str(), id.map(String::as_str));
        if let Some(wrong) = wrong(room, place, right).await? {
            return Ok(Finding::no(format!("the second of three was deleted; {wrong}")));
        }
    }
    let reply = room.send(at(&last)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the delete of the last version gave {}", status_of(&reply))));
    }
    for id in [None, Some(first.as_str())] {
        if let Some(wrong) = wrong(room, (&container, &key, id), content).await? {
            return Ok(Finding::no(format!("the last was deleted, too; {wrong}")));
        }
    }
    Ok(Finding::yes("each of them alone"))
}

/// What a listing of versions says of one name.
#[derive(Debug, Default)]
struct Listed {
    /// Ids of versions and of markers, in the order of the listing.
    versions: Vec<String>,
    markers: Vec<String>,
    /// Ids that are said to be the last.
    latest: Vec<String>,
}

impl Listed {
    fn read(&mut self, body: &[u8], key: &str) {
        for (name, ids) in [("Version", &mut self.versions), ("DeleteMarker", &mut self.markers)] {
            for entry in xml::parts(body, name) {
                let text = |name| xml::text(&entry, name);
                let Some(id) = text("VersionId").filter(|_| text("Key").as_deref() == Some(key)) else {
                    continue;
                };
                if text("IsLatest").as_deref() == Some("true") {
                    self.latest.push(id.clone());
                }
                ids.push(id);
            }
        }
    }

    /// Every id, in an order that is the same for the same ids.
    fn all(&self) -> Vec<String> {
        let mut all = [self.versions.as_slice(), self.markers.as_slice()].concat();
        all.sort_unstable();
        all
    }
}

/// All versions of a name on one page.
async fn listed(room: &mut Room, container: &str, key: &str) -> Result<Listed, Finding> {
    let request = Request::get("").of(container).flag("versions").query("prefix", key);
    let reply = room.send(request).await?;
    if !reply.is_success() {
        return Err(match reply.status {
            501 => Finding::differs("501: the store does not list versions"),
            _ => Finding::no(format!("the listing of versions gave {}", status_of(&reply))),
        });
    }
    let mut listed = Listed::default();
    listed.read(&reply.body, key);
    Ok(listed)
}

/// The same over pages of one.
async fn listed_by_pages(
    room: &mut Room,
    container: &str,
    key: &str,
    most: usize,
) -> Result<(Listed, usize), Finding> {
    let (mut listed, mut marker) = (Listed::default(), None::<(String, Option<String>)>);
    for page in 1..=most {
        let mut request = Request::get("").of(container).flag("versions").query("prefix", key);
        request = request.query("max-keys", "1");
        if let Some((name, id)) = marker.take() {
            request = request.query("key-marker", name);
            request = id.into_iter().fold(request, |request, id| request.query("version-id-marker", id));
        }
        let reply = room.send(request).await?;
        if !reply.is_success() {
            let seen = format!("a page of one gave {}", status_of(&reply));
            return Err(match reply.status {
                400..=499 | 501 => Finding::differs(seen),
                _ => Finding::no(seen),
            });
        }
        listed.read(&reply.body, key);
        if xml::text(&reply.body, "IsTruncated").as_deref() != Some("true") {
            return Ok((listed, page));
        }
        let Some(name) = xml::text(&reply.body, "NextKeyMarker") else {
            return Err(Finding::no("IsTruncated is true, and there is no NextKeyMarker"));
        };
        marker = Some((name, xml::text(&reply.body, "NextVersionIdMarker").filter(|id| !id.is_empty())));
    }
    Err(Finding::no(format!("the listing has not ended after {most} pages of one")))
}

async fn list(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("listed"));
    let (ids, _) = three(room, &container, &key).await?;
    // Its name begins alike, and it is none of them.
    version(room, &container, &format!("{key}-other"), b"other").await?;
    let marker = id_of(&room.prepare(Request::delete(&key).of(&container)).await?);
    let mut seen = listed(room, &container, &key).await?;
    for pause in &LOOKS[1..] {
        if seen.versions.len() + seen.markers.len() == ids.len() + 1 {
            break;
        }
        tokio::time::sleep(*pause).await;
        seen = listed(room, &container, &key).await?;
    }
    let mut right = ids.clone();
    right.extend(marker.or_else(|| seen.markers.first().cloned()));
    right.sort_unstable();
    if seen.all() != right || seen.markers.len() != 1 {
        return Ok(Finding::no(format!(
            "{} versions and {} delete markers are listed, 3 and 1 are there",
            seen.versions.len(),
            seen.markers.len()
        )));
    }
    if seen.latest != seen.markers {
        return Ok(Finding::no(format!(
            "IsLatest is true of {} ids, and has to be of the marker",
            seen.latest.len()
        )));
    }
    let most = right.len() * 2 + 2;
    let (by_pages, pages) = listed_by_pages(room, &container, &key, most).await?;
    if by_pages.all() != right {
        return Ok(Finding::no(format!("{} of 4 ids over {pages} pages of one", by_pages.all().len())));
    }
    let newest_first: Vec<String> = ids.into_iter().rev().collect();
    Ok(if pages == 1 {
        Finding::differs("all on the first page: max-keys is not looked at")
    } else if seen.versions != newest_first {
        Finding::differs("they are not listed with the newest first")
    } else {
        Finding::yes(format!("3 versions and a delete marker, over {pages} pages, too"))
    })
}

/// Writes until a write is one of suspended versions; gives whether it is.
async fn is_suspended(room: &mut Room, container: &str, key: &str) -> Result<bool, Finding> {
    for pause in SETTLES {
        tokio::time::sleep(pause).await;
        let reply = room.prepare(Request::put(key, b"settles").of(container)).await?;
        if id_of(&reply).is_none_or(|id| id == "null") {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn suspended(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("suspended"));
    let (old, content) = (pattern(2000, 184), pattern(2100, 185));
    let id = version(room, &container, &key, &old).await?;
    let reply = room.send(switching(&container, "Suspended")).await?;
    if !reply.is_success() {
        return Ok(match reply.status {
            400..=499 | 501 => Finding::differs(format!("they cannot be suspended: {}", status_of(&reply))),
            _ => Finding::no(format!("the store failed: {}", status_of(&reply))),
        });
    }
    if !is_said(room, &container, "Suspended").await? || !is_suspended(room, &container, &key).await? {
        return Ok(Finding::differs(format!("{}, and writes have ids as before", reply.status)));
    }
    room.prepare(Request::put(&key, &content).of(&container)).await?;
    let place = |id| (container.as_str(), key.as_str(), id);
    for (id, right) in [(Some(id.as_str()), &old), (None, &content)] {
        if let Some(wrong) = wrong(room, place(id), Some(right)).await? {
            return Ok(Finding::no(format!("suspended and written twice; {wrong}")));
        }
    }
    let as_null = wrong(room, place(Some("null")), Some(&content)).await?;
    let nulls = listed(room, &container, &key).await?.versions.iter().filter(|id| *id == "null").count();
    // A delete now takes the version null, and leaves those with an id.
    room.prepare(Request::delete(&key).of(&container)).await?;
    for (id, right) in [(None, None), (Some(id.as_str()), Some(old.as_slice()))] {
        if let Some(wrong) = wrong(room, place(id), right).await? {
            return Ok(Finding::no(format!("suspended and deleted; {wrong}")));
        }
    }
    Ok(match (as_null, nulls) {
        (Some(wrong), _) => Finding::differs(format!("as null {wrong}")),
        (None, 1) => Finding::yes("the version of before stays, and null is one"),
        (None, nulls) => Finding::differs(format!("the version null is listed {nulls} times")),
    })
}

/// Names and ids of the versions and markers on a page.
pub(super) fn entries(body: &[u8]) -> Vec<(String, String)> {
    let entries = ["Version", "DeleteMarker"].into_iter().flat_map(|name| xml::parts(body, name));
    entries.filter_map(|entry| xml::text(&entry, "Key").zip(xml::text(&entry, "VersionId"))).collect()
}

/// Deletes every version in the container; says what stays.
pub(crate) async fn remove_all(room: &mut Room, container: &str) -> Option<String> {
    for _ in 0..MOST_PAGES {
        let reply = room.send(Request::get("").of(container).flag("versions")).await.ok()?;
        let mut removed = 0;
        for (key, id) in entries(&reply.body) {
            let request = Request::delete(key).of(container).query("versionId", id);
            removed += usize::from(room.send(request).await.is_ok_and(|reply| reply.is_success()));
        }
        if removed == 0 {
            break;
        }
    }
    // A store without versions has one object at most: that of the first write.
    let left = room.send(Request::get("").of(container)).await.ok()?;
    for key in xml::parts(&left.body, "Contents").iter().filter_map(|entry| xml::text(entry, "Key")) {
        let reply = room.send(Request::delete(key.as_str()).of(container)).await.ok()?;
        if !reply.is_success() {
            return Some(format!("{container}/{}: {}", room.short(&key), status_of(&reply)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_says_that_a_container_was_not_made() {
        for status in [None, Some(500), Some(502), Some(503), Some(504)] {
            assert!(may_be_there(status), "{status:?}");
        }
        for status in [301, 400, 403, 409, 429, 501] {
            assert!(!may_be_there(Some(status)), "{status}");
        }
    }
}
