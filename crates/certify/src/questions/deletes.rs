//! Deletes of many in one request: which names they mean, and what their answer says. Source: S3 API, DeleteObjects.

use cosmark_adaptor_api::Reply;

use super::integrity::md5_base64;
use super::{Group, Question, S3, by, row};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;
use crate::xml;

const MANY: (Group, super::Of) = (Group::Operations, S3);
const API: &str = "S3 API, DeleteObjects";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.delete-many.names",
        MANY,
        (
            "Does a delete of many take names with signs of URLs and XML as they are?",
            "the objects of these names go, and not those of the names that they would be when they were decoded",
            API,
        ),
        by!(names),
    ),
    row(
        "s3.delete-many.quiet",
        MANY,
        (
            "Does a delete of many name what it deleted, and with Quiet only what it did not?",
            "each key as Deleted, one that was not there, too; with Quiet none, and all are gone",
            API,
        ),
        by!(quiet),
    ),
];

fn delete_many(keys: &[String], is_quiet: bool) -> Request {
    let objects: String =
        keys.iter().map(|key| format!("<Object><Key>{}</Key></Object>", xml::escaped(key))).collect();
    let quiet = if is_quiet { "<Quiet>true</Quiet>" } else { "" };
    let body = format!("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{quiet}{objects}</Delete>");
    let md5 = md5_base64(body.as_bytes());
    Request::post("", body.as_bytes()).flag("delete").line("content-md5", md5)
}

/// What a refusal of the whole request says; `None`: it was taken.
fn refusal(reply: &Reply) -> Option<Finding> {
    let seen = status_of(reply);
    match reply.status {
        200..=299 => None,
        400..=499 | 501 => Some(Finding::differs(format!("refused by {seen}"))),
        _ => Some(Finding::no(format!("the store failed: {seen}"))),
    }
}

/// Names to be deleted, each with what becomes of it when it is decoded once more.
const PAIRS: [(&str, &str); 3] = [("a+b", "a b"), ("x%20y", "x y"), ("p&amp;q", "p&q")];

async fn names(room: &mut Room) -> Found {
    let mut keys = Vec::new();
    for (name, other) in PAIRS {
        let (key, beside) = (room.key(name), room.key(other));
        for (key, label) in [(&key, name), (&beside, other)] {
            let reply = room.send(Request::put(key, label.as_bytes())).await?;
            if !reply.is_success() {
                let seen = status_of(&reply);
                return Ok(Finding::not_asked(format!("such a name is refused, {label:?}: {seen}")));
            }
        }
        keys.push(key);
    }
    let reply = room.send(delete_many(&keys, false)).await?;
    if let Some(finding) = refusal(&reply) {
        return Ok(finding);
    }
    for (name, other) in PAIRS {
        let (key, beside) = (room.key(name), room.key(other));
        if room.content(&beside).await?.as_deref() != Some(other.as_bytes()) {
            return Ok(Finding::no(format!("{name:?} was to be deleted, and {other:?} is gone")));
        }
        if room.content(&key).await?.is_some() {
            let said = xml::text(&reply.body, "Code").unwrap_or_else(|| "nothing of it".to_owned());
            return Ok(Finding::no(format!("{name:?} is still there; the answer says {said}")));
        }
    }
    Ok(Finding::yes(format!("{} names, and those beside them stay", PAIRS.len())))
}

/// The keys that an answer calls deleted.
fn called_deleted(reply: &Reply) -> Vec<String> {
    xml::parts(&reply.body, "Deleted").iter().filter_map(|part| xml::text(part, "Key")).collect()
}

async fn quiet(room: &mut Room) -> Found {
    let mut others = Vec::new();
    for is_quiet in [false, true] {
        let word = if is_quiet { "quiet" } else { "loud" };
        let keys = ["there", "missing"].map(|label| room.key(&format!("{word}-{label}")));
        room.write(&keys[0], b"x").await?;
        let reply = room.send(delete_many(&keys, is_quiet)).await?;
        if let Some(finding) = refusal(&reply) {
            return Ok(finding);
        }
        if room.content(&keys[0]).await?.is_some() {
            return Ok(Finding::no(format!("{word}: the object is still there: {}", status_of(&reply))));
        }
        let named = called_deleted(&reply);
        let is_right = if is_quiet { named.is_empty() } else { keys.iter().all(|key| named.contains(key)) };
        if !is_right {
            others.push(format!("{word}: {} of 2 are called deleted", named.len()));
        }
    }
    Ok(if others.is_empty() {
        Finding::yes("both are named; with Quiet none")
    } else {
        Finding::differs(others.join("; "))
    })
}
