//! Versions of a Swift's objects, where its `/info` names them. They are switched on in a container of their own.
//! Source: Swift's document of the middleware `object_versioning`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::access::refusal;
use super::middleware::offered;
use super::operations::late;
use super::{Group, Question, SWIFT, by, difference, pattern, row};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;

const VERSIONS: (Group, super::Of) = (Group::Versions, SWIFT);
const SOURCE: &str = "Swift, Object Versioning middleware";

pub(super) const ROWS: &[Question] = &[
    row(
        "swift.versions.read",
        VERSIONS,
        (
            "With X-Versions-Enabled, is every overwrite a version that can be read by its id?",
            "three X-Object-Version-Id, each with its own bytes; without an id the last",
            SOURCE,
        ),
        by!(read),
    ),
    row(
        "swift.versions.delete",
        VERSIONS,
        (
            "Does the delete of one version remove that one alone, and a delete without an id none of them?",
            "404 for its id, the others as they were; then 404 without an id, and the bytes with one",
            SOURCE,
        ),
        by!(delete),
    ),
    row(
        "swift.versions.list",
        VERSIONS,
        (
            "Are all versions of a name and its delete marker listed once each, and which is the last?",
            "every version_id once, and a row of type application/x-deleted, which is_latest is true of alone",
            SOURCE,
        ),
        by!(list),
    ),
    row(
        "swift.versions.off",
        VERSIONS,
        (
            "When versions are switched off, do those of before stay?",
            "the bytes of before by their id, whatever is written or deleted; the last write without an id",
            SOURCE,
        ),
        by!(off),
    ),
];

/// How long after a change a read or a listing may be without it.
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(200), Duration::from_millis(800)];
/// Pages of versions that are removed at the end.
const MOST_PAGES: usize = 20;
/// What a delete leaves.
const MARKER: &str = "application/x-deleted";

/// Makes the container; `Err`: the answer of a store where that cannot be.
async fn made(room: &mut Room) -> Result<String, Finding> {
    offered(room, "object_versioning").await?;
    if !room.owns_container {
        return Err(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let container = format!("cosmark-certify-{}-v", room.word);
    room.versions_in = Some(container.clone());
    let request = Request::put("", b"").of(&container).line("x-versions-enabled", "true");
    let reply = room.send(request).await?;
    refusal("a container with versions", &reply).map_or(Ok(container), Err)
}

/// The container with versions; where there is none, nothing further is asked.
async fn versioned(room: &mut Room) -> Result<String, Finding> {
    if room.versioned.is_none() {
        room.versioned = Some(made(room).await.map_err(|finding| finding.saw));
    }
    match &room.versioned {
        Some(Ok(container)) => Ok(container.clone()),
        Some(Err(why)) => Err(Finding::not_asked(why.clone())),
        None => Err(Finding::not_asked("there are no versions")),
    }
}

/// Writes one version; gives its id.
async fn version(room: &mut Room, container: &str, key: &str, body: &[u8]) -> Result<String, Finding> {
    let reply = room.prepare(Request::put(key, body).of(container)).await?;
    let id = reply.line("x-object-version-id").filter(|id| !id.is_empty() && *id != "null");
    id.map(str::to_owned).ok_or_else(|| Finding::no("a write has no X-Object-Version-Id"))
}

/// Three versions of one name: ids and contents, the first first.
async fn three(room: &mut Room, container: &str, key: &str) -> Result<(Vec<String>, Vec<Vec<u8>>), Finding> {
    // The third has the bytes of the first: versions are of writes, not of contents.
    let contents = vec![pattern(3000, 341), pattern(3100, 342), pattern(3000, 341)];
    let mut ids = Vec::new();
    for content in &contents {
        ids.push(version(room, container, key, content).await?);
    }
    if ids.iter().collect::<BTreeSet<_>>().len() != ids.len() {
        return Err(Finding::no(format!("two writes have one id: {}", ids.join(", "))));
    }
    Ok((ids, contents))
}

/// Reads a version, without an id the last; `Some`: what is wrong, and stays so for a while.
async fn wrong(
    room: &mut Room,
    (container, key, id): (&str, &str, Option<&str>),
    content: Option<&[u8]>,
) -> Result<Option<String>, Finding> {
    let whose = if id.is_some() { "by its id" } else { "without an id" };
    let mut seen = None;
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        let mut request = Request::get(key).of(container).line("x-newest", "true");
        if let Some(id) = id {
            request = request.query("version-id", id);
        }
        let reply = room.send(request).await?;
        seen = match (reply.status, content) {
            (200, Some(content)) => difference(content, &reply.body).map(|wrong| format!("{whose}: {wrong}")),
            (400..=499, None) => None,
            (_, Some(_)) => Some(format!("{whose}: {}", status_of(&reply))),
            (_, None) => Some(format!("{whose}: {} where nothing is to be", status_of(&reply))),
        };
        if seen.is_none() {
            break;
        }
    }
    Ok(seen)
}

async fn read(room: &mut Room) -> Found {
    let made = made(room).await;
    room.versioned = Some(made.clone().map_err(|finding| finding.saw));
    let (container, key) = (made?, room.key("versions"));
    let (ids, contents) = three(room, &container, &key).await?;
    for (id, content) in ids.iter().zip(&contents) {
        if let Some(wrong) = wrong(room, (&container, &key, Some(id)), Some(content)).await? {
            return Ok(Finding::no(wrong));
        }
    }
    let last = wrong(room, (&container, &key, None), contents.last().map(Vec::as_slice)).await?;
    Ok(last.map_or_else(|| Finding::yes("3 versions"), Finding::no))
}

async fn delete(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("deleted"));
    let (ids, contents) = three(room, &container, &key).await?;
    let [first, middle, last] = [0_usize, 1, 2].map(|at| ids.get(at).map(String::as_str).unwrap_or_default());
    let content = contents.first().map(Vec::as_slice);
    let reply = room.send(Request::delete(&key).of(&container).query("version-id", middle)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the delete of one version gave {}", status_of(&reply))));
    }
    for (id, right) in [(Some(middle), None), (Some(first), content), (Some(last), content), (None, content)]
    {
        if let Some(wrong) = wrong(room, (&container, &key, id), right).await? {
            return Ok(Finding::no(format!("the second of three was deleted; {wrong}")));
        }
    }
    let reply = room.send(Request::delete(&key).of(&container)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the delete gave {}", status_of(&reply))));
    }
    for (id, right) in [(None, None), (Some(first), content), (Some(last), content)] {
        if let Some(wrong) = wrong(room, (&container, &key, id), right).await? {
            return Ok(Finding::no(format!("deleted without an id; {wrong}")));
        }
    }
    Ok(Finding::yes("one alone, and none without an id"))
}

/// The rows about versions of names that begin so; none where there is no such listing.
async fn rows(room: &mut Room, container: &str, prefix: &str) -> Result<Vec<Value>, Finding> {
    let request = Request::get("").of(container).flag("versions").query("format", "json");
    let reply = room.send(request.query("prefix", prefix)).await?;
    if !reply.is_success() {
        return Err(Finding::no(format!("the listing of versions gave {}", status_of(&reply))));
    }
    // An empty one may have no body.
    if reply.body.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_slice(&reply.body).map_err(|_| Finding::no("the listing of versions is no JSON"))
}

fn is_marker(row: &Value) -> bool {
    row["content_type"].as_str().is_some_and(|kind| kind.starts_with(MARKER))
}

async fn list(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("listed"));
    let (mut ids, _) = three(room, &container, &key).await?;
    room.prepare(Request::delete(&key).of(&container)).await?;
    let mut all = Vec::new();
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        all = rows(room, &container, &key).await?;
        if all.len() == ids.len() + 1 {
            break;
        }
    }
    let (markers, versions): (Vec<&Value>, Vec<&Value>) = all.iter().partition(|row| is_marker(row));
    let mut seen: Vec<&str> = versions.iter().filter_map(|row| row["version_id"].as_str()).collect();
    seen.sort_unstable();
    ids.sort_unstable();
    let text = format!(
        "{} versions and {} delete markers are listed, 3 and 1 are there",
        versions.len(),
        markers.len()
    );
    if seen != ids || markers.len() != 1 {
        // A listing that is behind lacks some, and has nothing else.
        let is_behind = all.len() < ids.len() + 1 && seen.iter().all(|id| ids.iter().any(|own| own == id));
        return Ok(if is_behind { late(room, text) } else { Finding::no(text) });
    }
    let latest: Vec<&Value> = all.iter().filter(|row| row["is_latest"] == true).collect();
    Ok(if latest == markers {
        Finding::yes("3 versions and a delete marker, which is the last")
    } else {
        Finding::differs(format!("is_latest is true of {} rows, and has to be of the marker", latest.len()))
    })
}

fn switching_off(container: &str) -> Request {
    Request::post("", b"").of(container).line("x-versions-enabled", "false")
}

async fn off(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("off"));
    let (old, new) = (pattern(2000, 343), pattern(2100, 344));
    let id = version(room, &container, &key, &old).await?;
    let reply = room.send(switching_off(&container)).await?;
    if let Some(finding) = refusal("switching them off", &reply) {
        return Ok(finding);
    }
    room.prepare(Request::put(&key, b"between").of(&container)).await?;
    room.prepare(Request::put(&key, &new).of(&container)).await?;
    let place = |id| (container.as_str(), key.as_str(), id);
    for (id, right) in [(None, &new), (Some(id.as_str()), &old)] {
        if let Some(wrong) = wrong(room, place(id), Some(right)).await? {
            return Ok(Finding::no(format!("switched off and written twice; {wrong}")));
        }
    }
    room.prepare(Request::delete(&key).of(&container)).await?;
    for (id, right) in [(None, None), (Some(id.as_str()), Some(old.as_slice()))] {
        if let Some(wrong) = wrong(room, place(id), right).await? {
            return Ok(Finding::no(format!("switched off and deleted; {wrong}")));
        }
    }
    Ok(Finding::yes("those of before stay"))
}

/// Switches versions off and deletes every one; says what stays.
pub(crate) async fn remove_all(room: &mut Room, container: &str) -> Option<String> {
    // A container with versions that are on cannot be deleted.
    room.send(switching_off(container)).await.ok()?;
    for _ in 0..MOST_PAGES {
        let mut removed = 0;
        for row in rows(room, container, "").await.ok()? {
            let Some(name) = row["name"].as_str() else { continue };
            let mut request = Request::delete(name).of(container);
            if let Some(id) = row["version_id"].as_str() {
                request = request.query("version-id", id);
            }
            removed += usize::from(room.send(request).await.is_ok_and(|reply| reply.is_success()));
        }
        if removed == 0 {
            break;
        }
    }
    None
}
