//! Tags of objects, which a store need not have. Source: S3 API, PutObjectTagging, GetObjectTagging,
//! DeleteObjectTagging, PutObject, CopyObject, CreateMultipartUpload; user guide, "Categorizing your objects using tags".

use std::collections::BTreeMap;

use cosmark_adaptor_api::Reply;

use super::copies::copy;
use super::integrity::md5_base64;
use super::multipart::{begin_by, complete, completion, part};
use super::{Group, Question, S3, by, row};
use crate::Answer;
use crate::request::{Finding, Found, Request, code_of, refused, status_of};
use crate::room::Room;
use crate::xml;

const TAGS: (Group, super::Of) = (Group::Tags, S3);
const GUIDE: &str = "S3 user guide, Categorizing your objects using tags";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.tags.object",
        TAGS,
        (
            "Can tags be put on an object, replaced and taken off, and do its bytes stay?",
            "the tags as they were written, then the new ones alone, then none",
            "S3 API, PutObjectTagging, GetObjectTagging, DeleteObjectTagging",
        ),
        by!(object),
    ),
    row(
        "s3.tags.write",
        TAGS,
        (
            "Does a write take tags along, and an overwrite without any drop them?",
            "the tags of x-amz-tagging, decoded; none after the overwrite",
            "S3 API, PutObject",
        ),
        by!(write),
    ),
    row(
        "s3.tags.limit",
        TAGS,
        (
            "Are more than 10 tags refused, a name of 129 letters, and a name twice?",
            "400 for each, and the tags of before stay",
            GUIDE,
        ),
        by!(limit),
    ),
    row(
        "s3.tags.copy",
        TAGS,
        (
            "Does a copy take the tags of its source, or others if asked?",
            "those of the source; with x-amz-tagging-directive: REPLACE those of the request",
            "S3 API, CopyObject",
        ),
        by!(copied),
    ),
    row(
        "s3.tags.multipart",
        TAGS,
        (
            "Does an object written in parts have the tags that its upload began with?",
            "the tags of x-amz-tagging",
            "S3 API, CreateMultipartUpload",
        ),
        by!(of_upload),
    ),
];

type Tags = BTreeMap<String, String>;

fn tags(pairs: &[(&str, &str)]) -> Tags {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The signs that S3 allows beside letters and digits.
fn every_sign() -> Tags {
    tags(&[("colour", "dark blue"), ("a/b:c", "x=y+z_1@-.")])
}

/// Puts tags on an object; a name may be there twice.
fn putting<'a>(key: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Request {
    let tag = |(name, value): (&str, &str)| {
        format!("<Tag><Key>{}</Key><Value>{}</Value></Tag>", xml::escaped(name), xml::escaped(value))
    };
    let set: String = pairs.map(tag).collect();
    let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
    let body = format!("<Tagging xmlns=\"{namespace}\"><TagSet>{set}</TagSet></Tagging>");
    let sum = md5_base64(body.as_bytes());
    Request::put(key, body.as_bytes()).flag("tagging").line("content-md5", sum)
}

fn putting_all(key: &str, tags: &Tags) -> Request {
    putting(key, tags.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The tags of an object; of one without any some stores say that there is no set.
async fn read(room: &mut Room, key: &str) -> Result<Tags, Finding> {
    let reply = room.send(Request::get(key).flag("tagging")).await?;
    let has_none =
        reply.status == 404 && code_of(&reply).is_some_and(|code| code.starts_with("NoSuchTagSet"));
    if has_none {
        return Ok(Tags::new());
    }
    if !reply.is_success() {
        return Err(Finding::no(format!("reading the tags gave {}", status_of(&reply))));
    }
    let text = |tag: &[u8], name| xml::text(tag, name).unwrap_or_default();
    let all = xml::parts(&reply.body, "Tag");
    Ok(all.iter().map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect())
}

/// Whether a store that refuses so has no tags, and does not fail.
fn has_none(reply: &Reply) -> bool {
    matches!(reply.status, 400..=499 | 501)
}

/// An object with these tags, written first; a store without tags is asked nothing further.
async fn tagged(room: &mut Room, key: &str, body: &[u8], tags: &Tags) -> Result<(), Finding> {
    room.write(key, body).await?;
    let reply = room.send(putting_all(key, tags)).await?;
    if !reply.is_success() {
        return Err(Finding::not_asked(format!("tags are not offered: {}", status_of(&reply))));
    }
    if read(room, key).await? != *tags {
        return Err(Finding::not_asked("tags do not come back, which is another question"));
    }
    Ok(())
}

fn is_as(seen: &Tags, right: &Tags, what: &str) -> Finding {
    Finding::holds(seen == right, format!("{what}: {seen:?}"))
}

async fn object(room: &mut Room) -> Found {
    let key = room.key("tagged");
    room.write(&key, b"content").await?;
    let both = every_sign();
    let reply = room.send(putting_all(&key, &both)).await?;
    let seen = status_of(&reply);
    if room.content(&key).await?.as_deref() != Some(b"content") {
        return Ok(Finding::no(format!("{seen}, and the object is not what it was")));
    }
    if !reply.is_success() {
        let none = format!("not offered: {seen}");
        return Ok(if has_none(&reply) { Finding::differs(none) } else { Finding::no(seen) });
    }
    let finding = is_as(&read(room, &key).await?, &both, "put");
    if finding.answer != Answer::Yes {
        return Ok(finding);
    }
    let other = tags(&[("size", "7")]);
    room.prepare(putting_all(&key, &other)).await?;
    let finding = is_as(&read(room, &key).await?, &other, "replaced");
    if finding.answer != Answer::Yes {
        return Ok(finding);
    }
    let reply = room.send(Request::delete(&key).flag("tagging")).await?;
    if room.content(&key).await?.as_deref() != Some(b"content") {
        return Ok(Finding::no(format!("{}, and the object went with its tags", status_of(&reply))));
    }
    if !reply.is_success() {
        let seen = format!("they cannot be taken off: {}", status_of(&reply));
        return Ok(if has_none(&reply) { Finding::differs(seen) } else { Finding::no(seen) });
    }
    Ok(match is_as(&read(room, &key).await?, &Tags::new(), "taken off") {
        finding if finding.answer == Answer::Yes => Finding::yes("two, then another one, then none"),
        finding => finding,
    })
}

async fn write(room: &mut Room) -> Found {
    let key = room.key("tagged");
    tagged(room, &key, b"first", &every_sign()).await?;
    let request = Request::put(&key, b"second").line("x-amz-tagging", "colour=dark%20blue&sum=1%2B1");
    let reply = room.send(request).await?;
    if !reply.is_success() {
        let seen = format!("a write with tags gave {}", status_of(&reply));
        return Ok(if has_none(&reply) { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let right = tags(&[("colour", "dark blue"), ("sum", "1+1")]);
    let finding = is_as(&read(room, &key).await?, &right, "written");
    if finding.answer != Answer::Yes {
        return Ok(finding);
    }
    room.write(&key, b"third").await?;
    let left = read(room, &key).await?;
    Ok(if left.is_empty() { finding } else { is_as(&left, &Tags::new(), "after an overwrite without any") })
}

async fn limit(room: &mut Room) -> Found {
    let (key, before) = (room.key("tagged"), every_sign());
    tagged(room, &key, b"content", &before).await?;
    let names: Vec<String> = (0..11).map(|at| format!("name-{at}")).collect();
    let long = "n".repeat(129);
    let eleven: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let cases = [
        ("11 tags", eleven),
        ("a name of 129 letters", vec![(long.as_str(), "x")]),
        ("a name twice", vec![("same", "one"), ("same", "two")]),
    ];
    let mut others = Vec::new();
    for (what, pairs) in cases {
        let reply = room.send(putting(&key, pairs.into_iter())).await?;
        if reply.is_success() {
            others.push(format!("{what}: taken, {}", reply.status));
            room.prepare(putting_all(&key, &before)).await?;
            continue;
        }
        let finding = refused(&reply, 400, &[]);
        if finding.answer == Answer::No {
            return Ok(finding);
        }
        let left = read(room, &key).await?;
        if left != before {
            return Ok(Finding::no(format!("{what}: refused by {}, and it has {left:?}", reply.status)));
        }
        if finding.answer != Answer::Yes {
            others.push(format!("{what}: {}", finding.saw));
        }
    }
    let most = names.iter().take(10).map(|name| (name.as_str(), "x"));
    let reply = room.send(putting(&key, most)).await?;
    if !reply.is_success() {
        others.push(format!("10 tags: {}", status_of(&reply)));
    }
    Ok(if others.is_empty() {
        Finding::yes("10 are taken, the others refused")
    } else {
        Finding::differs(others.join("; "))
    })
}

async fn copied(room: &mut Room) -> Found {
    let (from, to, own) = (room.key("from"), room.key("to"), every_sign());
    tagged(room, &from, b"content", &own).await?;
    room.prepare(copy(room, &from, &to)).await?;
    let finding = is_as(&read(room, &to).await?, &own, "copied");
    if finding.answer != Answer::Yes {
        return Ok(finding);
    }
    let request =
        copy(room, &from, &to).line("x-amz-tagging-directive", "REPLACE").line("x-amz-tagging", "size=7");
    let reply = room.send(request).await?;
    if !reply.is_success() || code_of(&reply).is_some() {
        return Ok(Finding::differs(format!("others cannot be asked for: {}", status_of(&reply))));
    }
    let seen = read(room, &to).await?;
    Ok(if seen == own {
        Finding::differs("x-amz-tagging-directive is not looked at: they are those of the source")
    } else {
        is_as(&seen, &tags(&[("size", "7")]), "replaced")
    })
}

async fn of_upload(room: &mut Room) -> Found {
    let (plain, key) = (room.key("plain"), room.key("parts"));
    tagged(room, &plain, b"content", &every_sign()).await?;
    let start = Request::post(&key, b"").flag("uploads").line("x-amz-tagging", "colour=dark%20blue");
    let upload = begin_by(room, start).await?;
    let etag = part(room, &key, &upload, 1, b"one").await?;
    let reply = complete(room, completion(&key, &upload, &[(1, etag)])).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("it could not be completed: {}", status_of(&reply))));
    }
    Ok(is_as(&read(room, &key).await?, &tags(&[("colour", "dark blue")]), "completed"))
}
