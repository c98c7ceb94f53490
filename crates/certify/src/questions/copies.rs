//! Copies inside a store: their conditions, their names, and what they take along. Source: S3 API, CopyObject.

use cosmark_adaptor_api::Reply;

use super::conditional::LONG_AGO;
use super::integrity::bare;
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;
use crate::xml;

const COPY: (Group, super::Of) = (Group::Operations, S3);
const API: &str = "S3 API, CopyObject";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.copy.if-match",
        COPY,
        (
            "Are the conditions of a copy on its source honoured?",
            "412 PreconditionFailed for another ETag in x-amz-copy-source-if-match, and nothing is written",
            API,
        ),
        by!(if_match),
    ),
    row(
        "s3.copy.dates",
        COPY,
        (
            "Are the conditions of a copy on the date of its source honoured?",
            "412 PreconditionFailed where it was modified since or not, and nothing is written; done for its own date",
            API,
        ),
        by!(dates),
    ),
    row(
        "s3.copy.etag",
        COPY,
        ("Is the ETag in the answer to a copy that of the copy?", "the one that HEAD of the copy gives", API),
        by!(etag),
    ),
    row(
        "s3.copy.replace-own",
        COPY,
        (
            "Does a copy onto itself with new metadata leave the content?",
            "the new metadata, none of the old, and every byte",
            API,
        ),
        by!(replace_own),
    ),
    row(
        "s3.copy.escaped",
        COPY,
        (
            "Is the source of a copy the name that is escaped, decoded once?",
            "the object of that name, not one with other signs",
            API,
        ),
        by!(escaped),
    ),
    row(
        "s3.copy.headers",
        COPY,
        (
            "Does a copy take Content-Type, Cache-Control and Content-Encoding of its source?",
            "as they were written with the source",
            API,
        ),
        by!(headers),
    ),
    row(
        "s3.copy.overwrites",
        COPY,
        (
            "Does a copy onto an object that is there replace all of it?",
            "the bytes and the metadata of the source, and none of what was there",
            API,
        ),
        by!(overwrites),
    ),
    row(
        "s3.copy.without-slash",
        COPY,
        (
            "May the source of a copy be named without a slash before the bucket?",
            "the bytes of the source: SDKs send either form",
            API,
        ),
        by!(without_slash),
    ),
];

/// A copy within the container; the source is escaped here.
pub(super) fn copy(room: &Room, from: &str, to: &str) -> Request {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'/');
    let mut source = format!("/{}/", room.container);
    for byte in from.bytes() {
        if plain(byte) {
            source.push(char::from(byte));
        } else {
            source.push_str(&format!("%{byte:02X}"));
        }
    }
    Request::put(to, b"").line("x-amz-copy-source", source)
}

/// A copy that says that it failed, with status 200, has failed.
fn is_done(reply: &Reply) -> bool {
    reply.is_success() && crate::request::code_of(reply).is_none()
}

async fn if_match(room: &mut Room) -> Found {
    let (from, to) = (room.key("from"), room.key("to"));
    let reply = room.write(&from, b"source").await?;
    let Some(etag) = reply.line("etag").map(|etag| format!("\"{}\"", bare(Some(etag)))) else {
        return Ok(Finding::not_asked("the store gives no ETag"));
    };
    let other = "\"00000000000000000000000000000000\"".to_owned();
    let conditions =
        [("x-amz-copy-source-if-match", other), ("x-amz-copy-source-if-none-match", etag.clone())];
    let mut answered = Finding::yes("412 for both");
    for (name, value) in conditions {
        let reply = room.send(copy(room, &from, &to).line(name, value)).await?;
        if is_done(&reply) {
            return Ok(Finding::no(format!("{name} is ignored: {}", status_of(&reply))));
        }
        if room.content(&to).await?.is_some() {
            return Ok(Finding::no(format!("{name}: {}, and the copy is there", status_of(&reply))));
        }
        match reply.status {
            412 => {}
            500 | 502..=599 => {
                return Ok(Finding::no(format!("{name}: the store failed: {}", status_of(&reply))));
            }
            _ => answered = Finding::differs(format!("{name}: refused by {}", status_of(&reply))),
        }
    }
    let reply = room.send(copy(room, &from, &to).line("x-amz-copy-source-if-match", etag)).await?;
    if !is_done(&reply) || room.content(&to).await?.as_deref() != Some(b"source") {
        let seen = format!("the ETag that it has gave {}", status_of(&reply));
        return Ok(if reply.status == 501 { Finding::differs(seen) } else { Finding::no(seen) });
    }
    Ok(answered)
}

async fn dates(room: &mut Room) -> Found {
    let (from, to) = (room.key("from"), room.key("to"));
    room.write(&from, b"source").await?;
    let head = room.given(Request::head(&from)).await?;
    let Some(own) = head.line("last-modified").map(str::to_owned) else {
        return Ok(Finding::differs("there is no Last-Modified"));
    };
    let (unmodified, since) =
        ("x-amz-copy-source-if-unmodified-since", "x-amz-copy-source-if-modified-since");
    let mut answered = Finding::yes("412 for both");
    for (name, date) in [(unmodified, LONG_AGO), (since, own.as_str())] {
        let reply = room.send(copy(room, &from, &to).line(name, date)).await?;
        let seen = format!("{name}: {}", status_of(&reply));
        match reply.status {
            // Who ignores that one copies what its owner has.
            200..=299 if is_done(&reply) && name == since => {
                answered = Finding::differs(format!("{seen}: it is not looked at"));
                continue;
            }
            _ if is_done(&reply) => return Ok(Finding::no(format!("{name} is ignored: {}", reply.status))),
            412 => {}
            200..=499 | 501 => answered = Finding::differs(seen.clone()),
            _ => return Ok(Finding::no(format!("the store failed: {seen}"))),
        }
        if room.content(&to).await?.is_some() {
            return Ok(Finding::no(format!("{seen}, and the copy is there")));
        }
    }
    let reply = room.send(copy(room, &from, &to).line(unmodified, own)).await?;
    if is_done(&reply) && room.content(&to).await?.as_deref() == Some(b"source") {
        return Ok(answered);
    }
    let seen = format!("its own date gave {}", status_of(&reply));
    Ok(if reply.status == 501 { Finding::differs(seen) } else { Finding::no(seen) })
}

async fn etag(room: &mut Room) -> Found {
    let (from, to) = (room.key("from"), room.key("to"));
    room.write(&from, &pattern(2500, 66)).await?;
    let reply = room.send(copy(room, &from, &to)).await?;
    if !is_done(&reply) {
        return Ok(Finding::not_asked(format!("it could not be copied: {}", status_of(&reply))));
    }
    let said = bare(xml::text(&reply.body, "ETag").as_deref());
    let own = bare(room.given(Request::head(&to)).await?.line("etag"));
    let seen = format!("the answer {said}, HEAD {own}");
    let is_there = said != "none" && own != "none";
    Ok(if is_there { Finding::holds(said == own, seen) } else { Finding::differs(seen) })
}

async fn replace_own(room: &mut Room) -> Found {
    let (key, content) = (room.key("own"), pattern(20_000, 61));
    room.prepare(Request::put(&key, &content).line("x-amz-meta-a", "old").line("x-amz-meta-b", "old"))
        .await?;
    let request =
        copy(room, &key, &key).line("x-amz-metadata-directive", "REPLACE").line("x-amz-meta-a", "new");
    let reply = room.send(request).await?;
    let now = room.content(&key).await?.unwrap_or_default();
    if let Some(wrong) = difference(&content, &now) {
        return Ok(Finding::no(format!("{}; the content is not what it was: {wrong}", status_of(&reply))));
    }
    if !is_done(&reply) {
        let seen = status_of(&reply);
        return Ok(if reply.status < 500 || reply.status == 501 {
            Finding::differs(seen)
        } else {
            Finding::no(seen)
        });
    }
    let head = room.given(Request::head(&key)).await?;
    let seen = [head.line("x-amz-meta-a"), head.line("x-amz-meta-b")];
    Ok(Finding::holds(
        seen == [Some("new"), None],
        format!("every byte; x-amz-meta-a is {}, -b is {}", stated(seen[0]), stated(seen[1])),
    ))
}

async fn escaped(room: &mut Room) -> Found {
    let to = room.key("to");
    // What it becomes when it is decoded twice, or as a query is.
    let names = ["a+b %2F%20c", "a b %2F%20c", "a+b / c", "a b / c", "a%2Bb%20%252F%2520c"];
    let keys = names.map(|name| room.key(name));
    let mut missing = 0;
    for (at, key) in keys.iter().enumerate() {
        let reply = room.send(Request::put(key, format!("number {at}").as_bytes())).await?;
        if at == 0 && !reply.is_success() {
            return Ok(Finding::differs(format!("such a name is refused: {}", status_of(&reply))));
        }
        missing += usize::from(!reply.is_success());
    }
    let reply = room.send(copy(room, &keys[0], &to)).await?;
    if !is_done(&reply) {
        return Ok(Finding::no(format!("the copy gave {}", status_of(&reply))));
    }
    let copied = room.content(&to).await?.unwrap_or_default();
    let other = (1..names.len()).find(|at| copied == format!("number {at}").as_bytes());
    Ok(match other.and_then(|at| names.get(at)) {
        Some(name) => Finding::no(format!("{name:?} was copied instead")),
        None if copied == b"number 0" => {
            Finding::yes(format!("{} names beside it, and not one of them", names.len() - 1 - missing))
        }
        None => Finding::no(format!("the copy has {} other bytes", copied.len())),
    })
}

async fn headers(room: &mut Room) -> Found {
    const LINES: [(&str, &str); 3] =
        [("content-type", "text/x-cosmark"), ("cache-control", "max-age=7"), ("content-encoding", "x-own")];
    let (from, to) = (room.key("from"), room.key("to"));
    let request =
        LINES.iter().fold(Request::put(&from, b"x"), |request, (name, value)| request.line(name, *value));
    room.prepare(request).await?;
    room.prepare(copy(room, &from, &to)).await?;
    let (source, reply) = (room.send(Request::head(&from)).await?, room.given(Request::head(&to)).await?);
    // What the source itself has not is another question's.
    let asked = LINES.iter().filter(|(name, value)| source.line(name) == Some(value));
    let wrong: Vec<String> = asked
        .clone()
        .filter(|(name, value)| reply.line(name) != Some(value))
        .map(|(name, _)| format!("{name} is {}", stated(reply.line(name))))
        .collect();
    Ok(match (asked.count(), wrong.is_empty()) {
        (0, _) => Finding::not_asked("the source has none of them"),
        (3, true) => Finding::yes("all three"),
        (asked, true) => Finding::yes(format!("the {asked} that the source has")),
        (_, false) => Finding::no(wrong.join(", ")),
    })
}

async fn overwrites(room: &mut Room) -> Found {
    let (from, onto, content) = (room.key("from"), room.key("onto"), pattern(3000, 63));
    room.prepare(Request::put(&from, &content).line("x-amz-meta-a", "source")).await?;
    let before = Request::put(&onto, &pattern(9000, 64));
    room.prepare(before.line("x-amz-meta-a", "before").line("x-amz-meta-b", "before")).await?;
    let reply = room.send(copy(room, &from, &onto)).await?;
    if !is_done(&reply) {
        return Ok(Finding::not_asked(format!("it could not be copied: {}", status_of(&reply))));
    }
    let read = room.given(Request::get(&onto)).await?;
    if let Some(wrong) = difference(&content, &read.body) {
        return Ok(Finding::no(wrong));
    }
    let seen = [read.line("x-amz-meta-a"), read.line("x-amz-meta-b")];
    Ok(Finding::holds(
        seen == [Some("source"), None],
        format!("every byte; x-amz-meta-a is {}, -b is {}", stated(seen[0]), stated(seen[1])),
    ))
}

async fn without_slash(room: &mut Room) -> Found {
    let (from, target, content) = (room.key("from"), room.key("target"), pattern(2000, 65));
    room.write(&from, &content).await?;
    let source = format!("{}/{from}", room.container);
    let reply = room.send(Request::put(&target, b"").line("x-amz-copy-source", source)).await?;
    if !is_done(&reply) {
        return Ok(Finding::no(format!("it is refused: {}", status_of(&reply))));
    }
    let Some(read) = room.content(&target).await? else {
        return Ok(Finding::no(format!("{}, and there is no copy", status_of(&reply))));
    };
    Ok(difference(&content, &read).map_or_else(|| Finding::yes("byte for byte"), Finding::no))
}
