//! Requests for what belongs to an object or a bucket, `?acl` or `?policy`: who overlooks the word takes them for the
//! plain write or delete, and an access list is the object then. Documents that are none are sent, so that a store that
//! has these things changes nothing. Source: S3 API, the pages of these operations.

use cosmark_adaptor_api::{BytesSource, Marks, ObjectName, PutOptions, Reply};

use super::integrity::md5_base64;
use super::versions::may_be_there;
use super::{Group, Question, S3, by, difference, pattern, row};
use crate::request::{Finding, Found, Request, code_of, status_of};
use crate::room::{PATIENCE, Room, is_busy, within};

const ERROR: (Group, super::Of) = (Group::Errors, S3);

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.sub-resource.object",
        ERROR,
        (
            "Are requests for the access list, tags and locks of an object never taken for its write, read or delete?",
            "done, or refused as 501 NotImplemented; a document that is none is refused, and the object stays",
            "S3 API, PutObjectAcl, PutObjectRetention, PutObjectLegalHold, GetObjectAttributes, DeleteObjectTagging",
        ),
        by!(of_object),
    ),
    row(
        "s3.sub-resource.bucket",
        ERROR,
        (
            "Are requests for the rules of a bucket never taken for its making or delete?",
            "done, or refused as 501 NotImplemented; a document that is none is refused, and the bucket stays",
            "S3 API, PutBucketPolicy, PutBucketCors, PutBucketLifecycleConfiguration, DeleteBucketPolicy",
        ),
        by!(of_bucket),
    ),
];

/// No document of any of them.
const NONSENSE: &[u8] = b"<Nothing/>";
/// What is read beside an object, what is written, and what is deleted.
const READ: [&str; 5] = ["acl", "attributes", "legal-hold", "retention", "tagging"];
const WRITTEN: [&str; 4] = ["acl", "legal-hold", "retention", "tagging"];
const DELETED: [&str; 1] = ["tagging"];
/// The same of buckets; who sets one of these relies on it.
const RULES: [&str; 7] = ["acl", "cors", "encryption", "lifecycle", "policy", "tagging", "versioning"];
const TAKEN_AWAY: [&str; 5] = ["cors", "encryption", "lifecycle", "policy", "tagging"];

fn putting(object: &str, name: &str) -> Request {
    Request::put(object, NONSENSE).flag(name).line("content-md5", md5_base64(NONSENSE))
}

/// A store that fails over such a request. One that fails over a document that is none, and takes it for nothing else,
/// has refused it in a bad way, which is not what is asked here.
fn failed(method: &str, what: &str, reply: &Reply) -> Option<Finding> {
    let is_failed = reply.status >= 500 && reply.status != 501;
    let is_refusal = method == "PUT" && !is_busy(Some(reply.status));
    let finding = || Finding::no(format!("the store failed: {what} gave {}", status_of(reply)));
    (is_failed && !is_refusal).then(finding)
}

/// Whether a document that is none was not refused as such.
fn is_misread(method: &str, reply: &Reply) -> bool {
    method == "PUT" && (reply.is_success() || (reply.status >= 500 && reply.status != 501))
}

async fn of_object(room: &mut Room) -> Found {
    let (key, content) = (room.key("beside"), pattern(2500, 261));
    room.write(&key, &content).await?;
    let mut others = Vec::new();
    let reads = READ.map(|name| ("GET", name));
    let writes = WRITTEN.map(|name| ("PUT", name));
    let deletes = DELETED.map(|name| ("DELETE", name));
    for (method, name) in reads.into_iter().chain(writes).chain(deletes) {
        let what = format!("{method} ?{name}");
        let request = match method {
            "PUT" => putting(&key, name),
            method => Request::new(method, &key).flag(name),
        };
        let reply = room.send(request).await?;
        if let Some(finding) = failed(method, &what, &reply) {
            return Ok(finding);
        }
        let seen = format!("{what} gave {}", status_of(&reply));
        if method == "GET" {
            if reply.is_success() && reply.body == content {
                others.push(format!("{seen} and the object itself"));
            }
            continue;
        }
        let Some(now) = room.content(&key).await? else {
            return Ok(Finding::no(format!("{seen}, and the object is gone")));
        };
        if let Some(wrong) = difference(&content, &now) {
            return Ok(Finding::no(format!("{seen} and was taken for a write: {wrong}")));
        }
        if is_misread(method, &reply) {
            others.push(format!("{seen} for a document that is none"));
        }
    }
    Ok(said(&others, "none of 10 is taken for another"))
}

pub(super) fn said(others: &[String], right: &str) -> Finding {
    if others.is_empty() { Finding::yes(right) } else { Finding::differs(others.join("; ")) }
}

/// A bucket that may be deleted by mistake, or opened to everybody, with an object in it.
pub(super) async fn another_bucket(
    room: &mut Room,
    word: &str,
    content: &[u8],
) -> Result<(String, String), Finding> {
    if !room.owns_container {
        return Err(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let (bucket, key) = (format!("cosmark-certify-{}-{word}", room.word), room.key("stays"));
    let mut marks = Marks::default();
    let made = within(PATIENCE * 3, room.client.create_container(&bucket, &mut marks)).await;
    if made.as_ref().err().is_none_or(|error| may_be_there(error.status())) {
        room.strays.push((bucket.clone(), key.clone()));
    }
    made.map_err(|error| {
        Finding::not_asked(format!("no second container can be made: {}", error.message()))
    })?;
    let (source, name) = (BytesSource(content), ObjectName { container: &bucket, object: &key });
    let put = within(PATIENCE, room.client.put(name, &source, PutOptions::default(), &mut marks)).await;
    put.map_err(|error| Finding::not_asked(format!("it could not be prepared: {}", error.message())))?;
    Ok((bucket, key))
}

async fn of_bucket(room: &mut Room) -> Found {
    let content = pattern(1200, 262);
    let (bucket, key) = another_bucket(room, "sub", &content).await?;
    let mut others = Vec::new();
    let writes = RULES.map(|name| ("PUT", name));
    let deletes = TAKEN_AWAY.map(|name| ("DELETE", name));
    for (method, name) in writes.into_iter().chain(deletes) {
        let what = format!("{method} ?{name}");
        let request = if method == "PUT" { putting("", name) } else { Request::delete("").flag(name) };
        let reply = room.send(request.of(&bucket)).await?;
        if let Some(finding) = failed(method, &what, &reply) {
            return Ok(finding);
        }
        let seen = format!("{what} gave {}", status_of(&reply));
        match code_of(&reply).as_deref() {
            Some("BucketNotEmpty") => {
                return Ok(Finding::no(format!("{seen}: it was taken for the delete of the bucket")));
            }
            Some("BucketAlreadyOwnedByYou" | "BucketAlreadyExists") => {
                others.push(format!("{seen}: it was taken for the making of a bucket"));
            }
            _ if is_misread(method, &reply) => {
                others.push(format!("{seen} for a document that is none"));
            }
            _ => {}
        }
    }
    let reply = room.send(Request::get(&key).of(&bucket)).await?;
    if reply.status != 200 {
        return Ok(Finding::no(format!("reading what was in the bucket gave {}", status_of(&reply))));
    }
    let wrong = difference(&content, &reply.body);
    Ok(wrong.map_or_else(|| said(&others, "none of 12 is taken for another"), Finding::no))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn a_refusal_is_no_failure() {
        for (method, status, is_failure, is_wrong) in [
            ("PUT", 200, false, true),
            ("PUT", 400, false, false),
            ("PUT", 405, false, false),
            ("PUT", 501, false, false),
            // A document that is none may be too much for it, as long as nothing is written.
            ("PUT", 500, false, true),
            ("PUT", 503, true, true),
            ("GET", 200, false, false),
            ("GET", 500, true, false),
            ("DELETE", 500, true, false),
            ("DELETE", 501, false, false),
        ] {
            let reply = Reply { status, ..Reply::default() };
            assert_eq!(failed(method, "?acl", &reply).is_some(), is_failure, "{method} {status}");
            assert_eq!(is_misread(method, &reply), is_wrong, "{method} {status}");
        }
        assert_eq!(said(&[], "all").answer, Answer::Yes);
        assert_eq!(said(&["one".to_owned()], "all").answer, Answer::Differs);
    }
}
