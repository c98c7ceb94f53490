//! What is opened to who has no login: by an access list, by a policy, and to pages of others by CORS. Each opens what
//! it names and no more, and no longer than it is there. Source: S3 API, PutObject, PutBucketPolicy, PutBucketCors.

use std::time::Duration;

use cosmark_adaptor_api::{Reply, Whom};

use super::integrity::md5_base64;
use super::resources::another_bucket;
use super::{Group, Question, S3, by, pattern, row, stated};
use crate::request::{Finding, Found, Request, code_of, status_of};
use crate::room::Room;

const ERROR: (Group, super::Of) = (Group::Errors, S3);

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.acl.public",
        ERROR,
        (
            "Does x-amz-acl: public-read open an object to everybody, and an overwrite without it close it?",
            "200 without a login, then 403; or 400 AccessControlListNotSupported",
            "S3 API, PutObject; user guide, Access control list (ACL) overview",
        ),
        by!(list),
    ),
    row(
        "s3.policy.public",
        ERROR,
        (
            "Does a policy open the names that it names to everybody, no others, and no longer than it is there?",
            "200 without a login for one of its names; 403 for another name, and for all when it is deleted",
            "S3 API, PutBucketPolicy and DeleteBucketPolicy",
        ),
        by!(policy),
    ),
    row(
        "s3.cors",
        ERROR,
        (
            "Are pages let in by CORS from the origin that the bucket names, by its methods, and no others?",
            "Access-Control-Allow-Origin for its origin; none for another origin, and none for another method",
            "S3 API, PutBucketCors; user guide, Using cross-origin resource sharing (CORS)",
        ),
        by!(cors),
    ),
];

/// Rules may take a moment to be known.
const PAUSE: Duration = Duration::from_millis(700);
const LOOKS: usize = 4;
/// That a rule is gone may take longer: who has several servers passes it on from one to the other.
const LOOKS_AT_END: usize = 10;

/// What a refusal of a rule says; `None`: it was taken.
pub(super) fn refusal(what: &str, reply: &Reply) -> Option<Finding> {
    let seen = format!("{what} gave {}", status_of(reply));
    match reply.status {
        200..=299 => None,
        400..=499 | 501 => Some(Finding::differs(format!("not offered: {seen}"))),
        _ => Some(Finding::no(format!("the store failed: {seen}"))),
    }
}

/// Whether who has no login reads it.
async fn is_read(room: &mut Room, request: Request, content: &[u8]) -> Result<bool, Finding> {
    let reply = room.send(request.by(Whom::Nobody)).await?;
    match reply.status {
        200 if reply.body == content => Ok(true),
        200..=299 => Err(Finding::no(format!("without a login it gave {} and other bytes", reply.status))),
        300..=499 | 501 => Ok(false),
        _ => Err(Finding::no(format!("the store failed: {}", status_of(&reply)))),
    }
}

async fn list(room: &mut Room) -> Found {
    if !room.owns_container {
        // Nothing is opened in what is somebody's: this may be seen and reported there.
        return Ok(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let (key, content) = (room.key("public"), pattern(700, 291));
    room.write(&key, &content).await?;
    if is_read(room, Request::get(&key), &content).await? {
        return Ok(Finding::not_asked("everybody may read everything here"));
    }
    let reply = room.send(Request::put(&key, &content).line("x-amz-acl", "public-read")).await?;
    if code_of(&reply).as_deref() == Some("AccessControlListNotSupported") {
        return Ok(Finding::yes(format!("refused: {}", status_of(&reply))));
    }
    if let Some(finding) = refusal("a write with one", &reply) {
        return Ok(finding);
    }
    if !is_read(room, Request::get(&key), &content).await? {
        return Ok(Finding::differs("it is taken and not looked at: nobody may read"));
    }
    room.write(&key, &content).await?;
    let is_open = is_read(room, Request::get(&key), &content).await?;
    Ok(Finding::holds(!is_open, if is_open { "still open after an overwrite" } else { "open, then closed" }))
}

/// Whether everybody reads an object, or nobody does, as it should come to be.
pub(super) async fn comes_to_be(
    room: &mut Room,
    (bucket, key): (&str, &str),
    content: &[u8],
    is_open: bool,
) -> Result<bool, Finding> {
    let looks = if is_open { LOOKS } else { LOOKS_AT_END };
    for _ in 0..looks {
        if is_read(room, Request::get(key).of(bucket), content).await? == is_open {
            return Ok(true);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(false)
}

async fn policy(room: &mut Room) -> Found {
    let (open, content) = (room.key("open/x"), pattern(900, 292));
    let (bucket, closed) = another_bucket(room, "policy", &content).await?;
    room.prepare(Request::put(&open, &content).of(&bucket)).await?;
    if is_read(room, Request::get(&closed).of(&bucket), &content).await? {
        return Ok(Finding::not_asked("everybody may read everything here"));
    }
    let document = serde_json::json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"AWS": ["*"]},
            "Action": ["s3:GetObject"],
            "Resource": [format!("arn:aws:s3:::{bucket}/{}*", room.key("open/"))],
        }],
    })
    .to_string();
    let md5 = md5_base64(document.as_bytes());
    let put = Request::put("", document.as_bytes()).flag("policy").line("content-md5", md5);
    let reply = room.send(put.of(&bucket)).await?;
    if let Some(finding) = refusal("a policy", &reply) {
        return Ok(finding);
    }
    if !comes_to_be(room, (&bucket, &open), &content, true).await? {
        return Ok(Finding::differs("it is taken and not looked at: nobody may read"));
    }
    if is_read(room, Request::get(&closed).of(&bucket), &content).await? {
        return Ok(Finding::no("a name that it does not name is open, too"));
    }
    let reply = room.send(Request::delete("").flag("policy").of(&bucket)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("it cannot be deleted: {}", status_of(&reply))));
    }
    let is_closed = comes_to_be(room, (&bucket, &open), &content, false).await?;
    Ok(Finding::holds(
        is_closed,
        if is_closed { "open, and closed without it" } else { "still open when it was deleted" },
    ))
}

const ORIGIN: &str = "https://one.example";
const OTHER_ORIGIN: &str = "https://other.example";

/// What a browser asks before it sends a request of a page; whether the page is let in, and what was said.
async fn is_let_in(
    room: &mut Room,
    (bucket, key): (&str, &str),
    (origin, method): (&str, &str),
) -> Result<(bool, String), Finding> {
    let request = Request::new("OPTIONS", key).of(bucket).line("origin", origin);
    let request = request.line("access-control-request-method", method).by(Whom::Nobody);
    let reply = room.send(request).await?;
    let allowed = reply.line("access-control-allow-origin");
    let methods = reply.line("access-control-allow-methods").unwrap_or_default();
    let is_named = methods.split(',').any(|own| ["*", method].contains(&own.trim()));
    let seen = format!("{}, origin {}, methods {methods}", status_of(&reply), stated(allowed));
    Ok((reply.is_success() && is_named && allowed.is_some_and(|own| own == origin || own == "*"), seen))
}

async fn cors(room: &mut Room) -> Found {
    let content = pattern(800, 293);
    let (bucket, key) = another_bucket(room, "cors", &content).await?;
    let document = format!(
        "<CORSConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><CORSRule>\
         <AllowedOrigin>{ORIGIN}</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>"
    );
    let md5 = md5_base64(document.as_bytes());
    let put = Request::put("", document.as_bytes()).flag("cors").line("content-md5", md5);
    let reply = room.send(put.of(&bucket)).await?;
    if let Some(finding) = refusal("a rule", &reply) {
        return Ok(finding);
    }
    let mut right = is_let_in(room, (&bucket, &key), (ORIGIN, "GET")).await?;
    for _ in 1..LOOKS {
        if right.0 {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        right = is_let_in(room, (&bucket, &key), (ORIGIN, "GET")).await?;
    }
    if !right.0 {
        return Ok(Finding::differs(format!("it is taken and not looked at: {}", right.1)));
    }
    for (origin, method) in [(OTHER_ORIGIN, "GET"), (ORIGIN, "PUT")] {
        let (is_in, seen) = is_let_in(room, (&bucket, &key), (origin, method)).await?;
        if !is_in {
            continue;
        }
        // The bucket of the other questions has no rule. Who lets in everybody there has promised nothing.
        let other = room.container.clone();
        if is_let_in(room, (&other, &key), (OTHER_ORIGIN, "PUT")).await?.0 {
            let always = format!("every page is let in, with a rule and without one: {seen}");
            return Ok(Finding::differs(always));
        }
        return Ok(Finding::no(format!("{method} from {origin} is let in: {seen}")));
    }
    Ok(Finding::yes("its origin, and neither another one nor another method"))
}
