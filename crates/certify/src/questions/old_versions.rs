//! What is done with old versions: copies of one, deletes of many. Source: S3 API, CopyObject, DeleteObjects.

use super::copies::copy;
use super::integrity::md5_base64;
use super::multipart::complete;
use super::versions::{VERSIONS, id_of, three, versioned, wrong};
use super::{Question, by, row};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;
use crate::xml;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.versions.copy",
        VERSIONS,
        (
            "Does a copy of an old version have the bytes of that one?",
            "byte for byte, onto its own name, too, where it is the last version then; the others as they were",
            "S3 API, CopyObject; user guide, Restoring previous versions",
        ),
        by!(copied),
    ),
    row(
        "s3.versions.delete-many",
        VERSIONS,
        (
            "Does a delete of many with version ids take these versions and no others?",
            "404 for the ids that it names, the others as they were; the version before the last is read",
            "S3 API, DeleteObjects",
        ),
        by!(many),
    ),
];

async fn copied(room: &mut Room) -> Found {
    let (container, key) = (versioned(room).await?, room.key("copied"));
    let (ids, contents) = three(room, &container, &key).await?;
    let (Some(old), Some(content)) = (ids.get(1), contents.get(1)) else {
        return Ok(Finding::not_asked("there are no three versions"));
    };
    for to in [room.key("copy"), key.clone()] {
        let mut request = copy(room, &key, &to).of(&container);
        for (name, source) in &mut request.lines {
            if *name == "x-amz-copy-source" {
                let object = source.trim_start_matches('/').split_once('/').map_or("", |(_, object)| object);
                *source = format!("/{container}/{object}?versionId={old}");
            }
        }
        let reply = complete(room, request).await?;
        if !reply.is_success() {
            let seen = format!("the copy gave {}", status_of(&reply));
            let is_refused = reply.status < 500 || reply.status == 501;
            return Ok(if is_refused { Finding::differs(seen) } else { Finding::no(seen) });
        }
        if let Some(wrong) = wrong(room, (&container, &to, None), Some(content)).await? {
            return Ok(Finding::no(format!("a copy of the second of three; {wrong}")));
        }
        let id = id_of(&reply);
        if to == key && id.is_some_and(|id| ids.contains(&id)) {
            return Ok(Finding::no("a copy onto its own name has the id of a version of before"));
        }
    }
    for (id, content) in ids.iter().zip(&contents) {
        if let Some(wrong) = wrong(room, (&container, &key, Some(id)), Some(content)).await? {
            return Ok(Finding::no(format!("behind a copy onto its own name; {wrong}")));
        }
    }
    Ok(Finding::yes("the second of three, onto another name and its own"))
}

async fn many(room: &mut Room) -> Found {
    let (container, key, beside) = (versioned(room).await?, room.key("many"), room.key("many-beside"));
    let (ids, contents) = three(room, &container, &key).await?;
    let (others, other_contents) = three(room, &container, &beside).await?;
    // The first and the last of one name, the second of the other.
    let named = [(&key, ids.first()), (&key, ids.last()), (&beside, others.get(1))];
    let objects: String = named
        .iter()
        .map(|(name, id)| {
            let (name, id) = (xml::escaped(name), xml::escaped(id.map_or("", String::as_str)));
            format!("<Object><Key>{name}</Key><VersionId>{id}</VersionId></Object>")
        })
        .collect();
    let body = format!("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{objects}</Delete>");
    let request = Request::post("", body.as_bytes()).of(&container).flag("delete");
    let reply = room.send(request.line("content-md5", md5_base64(body.as_bytes()))).await?;
    if !reply.is_success() {
        let seen = format!("refused by {}", status_of(&reply));
        let is_refused = reply.status < 500 || reply.status == 501;
        return Ok(if is_refused { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let all = ids.iter().zip(&contents).map(|one| (&key, one));
    let all = all.chain(others.iter().zip(&other_contents).map(|one| (&beside, one)));
    for (name, (id, content)) in all {
        let is_named = named.contains(&(name, Some(id)));
        let right = Some(content.as_slice()).filter(|_| !is_named);
        if let Some(wrong) = wrong(room, (&container, name, Some(id)), right).await? {
            let whether = if is_named { "named" } else { "not named" };
            return Ok(Finding::no(format!("a version that was {whether}; {wrong}")));
        }
    }
    let before_last = contents.get(1).map(Vec::as_slice);
    if let Some(wrong) = wrong(room, (&container, &key, None), before_last).await? {
        return Ok(Finding::no(format!("the last of three was deleted; {wrong}")));
    }
    Ok(Finding::yes("3 of 6 versions of two names"))
}
