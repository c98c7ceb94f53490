//! The end of locks: what was locked is set free and deleted, and what cannot be is named.

use std::time::{Duration, Instant};

use super::integrity::md5_base64;
use super::locks::{bypassing, holding};
use super::versions;
use crate::request::{Request, status_of};
use crate::room::Room;
use crate::xml;

/// Pages of versions that are removed at the end, 1000 a page.
const MOST_PAGES: usize = 20;
/// What had no answer may have one after this.
const PAUSE: Duration = Duration::from_secs(2);

/// A version: the name, and the id where there are versions.
type Version = (String, Option<String>);

fn of_version(request: Request, container: &str, id: Option<&str>) -> Request {
    let request = request.of(container);
    id.into_iter().fold(request, |request, id| request.query("versionId", id))
}

/// The first page of what is in the container. `Err`: why it is not known.
async fn listed(room: &mut Room, container: &str) -> Result<Vec<Version>, String> {
    let request = Request::get("").of(container).flag("versions");
    let reply = room.send(request).await.map_err(|finding| finding.saw)?;
    let mut all: Vec<Version> = versions::entries(&reply.body)
        .into_iter()
        // Where versions are always on, there is none of this id; others call so what they have.
        .map(|(key, id)| (key, Some(id).filter(|id| id != "null")))
        .collect();
    if all.is_empty() {
        let reply = room.send(Request::get("").of(container)).await.map_err(|finding| finding.saw)?;
        let entries = xml::parts(&reply.body, "Contents");
        all.extend(entries.iter().filter_map(|entry| xml::text(entry, "Key")).map(|key| (key, None)));
    }
    Ok(all)
}

/// Deletes one version, and takes its hold off where that is what it needs. `Err`: why it stays.
async fn delete(room: &mut Room, container: &str, (key, id): &Version) -> Result<(), String> {
    let request = bypassing(of_version(Request::delete(key), container, id.as_deref()));
    if room.send(request.clone()).await.is_ok_and(|reply| reply.is_success()) {
        return Ok(());
    }
    let (name, document) = holding("OFF");
    let off = Request::put(key, document.as_bytes()).flag(name);
    let off = off.line("content-md5", md5_base64(document.as_bytes()));
    // Whether it is off shows in the delete.
    drop(room.send(of_version(off, container, id.as_deref())).await);
    match room.send(request).await {
        Ok(reply) if reply.is_success() => Ok(()),
        Ok(reply) => Err(status_of(&reply)),
        Err(finding) => Err(finding.saw),
    }
}

/// Takes every lock away that can be, and deletes what it locked; says what stays.
pub(crate) async fn lift(room: &mut Room, container: &str) -> Option<String> {
    let mut stays = None;
    for _ in 0..MOST_PAGES {
        let all = match listed(room, container).await {
            Ok(all) => all,
            Err(why) => return Some(format!("whatever is locked in {container}: {why}")),
        };
        let (mut removed, mut refused, mut why) = (0, 0, String::new());
        for version in &all {
            match delete(room, container, version).await {
                Ok(()) => removed += 1,
                Err(seen) => (refused, why) = (refused + 1, seen),
            }
        }
        stays = (refused > 0).then(|| format!("{refused} locked versions in {container}: {why}"));
        if removed == 0 {
            break;
        }
    }
    stays
}

/// The same, and waits for the end of the locks that cannot be taken away; says what even then stays.
pub(crate) async fn remove_all(room: &mut Room, container: &str) -> Option<String> {
    if lift(room, container).await.is_some() {
        let until = room.locked_until.take().map(|until| until.saturating_duration_since(Instant::now()));
        tokio::time::sleep(until.unwrap_or_default().max(PAUSE)).await;
        if let Some(stays) = lift(room, container).await {
            return Some(stays);
        }
    }
    versions::remove_all(room, container).await
}
