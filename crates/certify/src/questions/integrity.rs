//! Checksums, metadata, and what comes back with an object. Source: S3 API, PutObject, GetObject, HeadObject, CopyObject; user
//! guide, "Checking object integrity".

use std::time::Duration;

use cosmark_adaptor_api::Protocol;
use data_encoding::{BASE64, HEXLOWER};
use md5::{Digest as _, Md5};

use super::{Group, Question, S3, by, pattern, row, stated};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;
use crate::xml;

const KEPT: (Group, super::Of) = (Group::Integrity, S3);
const PUT: &str = "S3 API, PutObject and GetObject";

pub(super) fn md5_base64(bytes: &[u8]) -> String {
    BASE64.encode(&Md5::digest(bytes))
}

/// An ETag without its quotes.
pub(super) fn bare(etag: Option<&str>) -> String {
    // An empty one says as little as none.
    etag.map(|etag| etag.trim_matches('"')).filter(|etag| !etag.is_empty()).unwrap_or("none").to_owned()
}

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.etag.md5",
        KEPT,
        (
            "Is the ETag of a plain write the MD5 of its bytes?",
            "the MD5 in hexadecimal digits, in quotes (without server-side encryption by KMS)",
            "S3 API, Object",
        ),
        by!(etag_is_md5),
    ),
    row(
        "s3.etag.same",
        KEPT,
        ("Do write, read, HEAD and listing give one ETag?", "the same in all four", PUT),
        by!(etag_is_the_same),
    ),
    row(
        "s3.etag.changes",
        KEPT,
        ("Do different bytes of one length have different ETags?", "yes", PUT),
        by!(etag_changes),
    ),
    row(
        "s3.etag.overwritten",
        KEPT,
        (
            "Do HEAD and read give the new ETag as soon as an overwrite is acknowledged?",
            "that of the last write, at once and from then on",
            "S3 user guide, Amazon S3 data consistency model",
        ),
        by!(etag_of_overwritten),
    ),
    row(
        "s3.head.same",
        KEPT,
        (
            "Does HEAD say of an object what its read says?",
            "the same ETag, length, type, date and metadata",
            "RFC 9110, section 9.3.2; S3 API, HeadObject",
        ),
        by!(head_is_the_same),
    ),
    row(
        "s3.metadata",
        KEPT,
        ("Does user metadata come back?", "x-amz-meta- lines as they were written", PUT),
        by!(metadata),
    ),
    row(
        "s3.content-headers",
        KEPT,
        (
            "Do Content-Type, Cache-Control, Content-Disposition and Content-Encoding come back?",
            "as they were written",
            PUT,
        ),
        by!(content_lines),
    ),
    row(
        "s3.response-headers",
        KEPT,
        (
            "Does response-content-type replace the type of an answer?",
            "the value that was asked for",
            "S3 API, GetObject",
        ),
        by!(response_lines),
    ),
    row(
        "s3.checksum.crc32c",
        KEPT,
        (
            "Is a CRC32C that came with a write given back?",
            "x-amz-checksum-crc32c, if x-amz-checksum-mode is ENABLED",
            "S3 user guide, Checking object integrity",
        ),
        by!(checksum),
    ),
    row(
        "s3.copy.metadata",
        KEPT,
        ("Does a copy take the metadata, or replace it if asked?", "both", "S3 API, CopyObject"),
        by!(copy_metadata),
    ),
    row(
        "s3.overwrite.metadata",
        KEPT,
        ("Does an overwrite drop the metadata of before?", "none of it is left", PUT),
        by!(overwrite_metadata),
    ),
    row(
        "s3.listing.size",
        KEPT,
        ("Does a listing tell the right size?", "the bytes that were written", "S3 API, ListObjectsV2"),
        by!(listed_size),
    ),
];

async fn etag_is_md5(room: &mut Room) -> Found {
    let (key, content) = (room.key("md5"), pattern(5000, 21));
    let reply = room.write(&key, &content).await?;
    let etag = bare(reply.line("etag"));
    let md5 = HEXLOWER.encode(&Md5::digest(&content));
    // The default of a bucket may ask for it.
    let by_kms = reply.line("x-amz-server-side-encryption").is_some_and(|how| how.starts_with("aws:kms"));
    Ok(match etag.len() {
        _ if etag == md5 => Finding::yes("the MD5"),
        _ if by_kms => Finding::differs("encrypted by KMS, where it is none"),
        // What looks like an MD5 and is that of other bytes is believed by clients.
        32 if etag.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Finding::no(format!("{etag} looks like an MD5 and is not that of the bytes"))
        }
        _ => Finding::differs(format!("`{etag}` is no MD5")),
    })
}

async fn etag_is_the_same(room: &mut Room) -> Found {
    let key = room.key("etag");
    let written = bare(room.write(&key, b"etag").await?.line("etag"));
    let read = bare(room.given(Request::get(&key)).await?.line("etag"));
    let head = bare(room.given(Request::head(&key)).await?.line("etag"));
    let reply = room.given(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
    let listed = bare(xml::text(&reply.body, "ETag").as_deref());
    let is_same = written != "none" && [&read, &head, &listed].iter().all(|other| **other == written);
    Ok(Finding::holds(is_same, format!("write {written}, read {read}, HEAD {head}, listing {listed}")))
}

async fn etag_changes(room: &mut Room) -> Found {
    let key = room.key("etag");
    let first = bare(room.write(&key, &pattern(100, 1)).await?.line("etag"));
    let second = bare(room.write(&key, &pattern(100, 2)).await?.line("etag"));
    Ok(Finding::holds(first != second, format!("{first}, then {second}")))
}

/// How long after an overwrite its ETag is looked at.
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(200), Duration::from_millis(800)];

async fn etag_of_overwritten(room: &mut Room) -> Found {
    let key = room.key("etag");
    let mut old = bare(room.write(&key, &pattern(100, 31)).await?.line("etag"));
    for round in 0..3 {
        let new = bare(room.write(&key, &pattern(100, 32 + round)).await?.line("etag"));
        // Nobody could tell a new one that looks like the one of before.
        if new == old {
            return Ok(Finding::no(format!(
                "other bytes were acknowledged with {new}, as those before them"
            )));
        }
        for pause in LOOKS {
            tokio::time::sleep(pause).await;
            let head = bare(room.given(Request::head(&key)).await?.line("etag"));
            let read = bare(room.given(Request::get(&key)).await?.line("etag"));
            for (what, seen) in [("HEAD", head), ("the read", read)] {
                if seen != new {
                    let whose = if seen == old { "that of before" } else { "another one" };
                    return Ok(Finding::no(format!("{new} was acknowledged, {what} gives {seen}, {whose}")));
                }
            }
        }
        old = new;
    }
    Ok(Finding::yes("3 overwrites"))
}

/// Header lines that say something of an object, and not of an answer.
const OF_OBJECTS: [&str; 7] = [
    "etag",
    "content-length",
    "content-type",
    "last-modified",
    "cache-control",
    "x-amz-meta-a",
    "x-object-meta-a",
];

pub(super) async fn head_is_the_same(room: &mut Room) -> Found {
    let key = room.key("same");
    let is_swift = room.protocol() == Some(Protocol::Swift);
    let request = Request::put(&key, &pattern(3210, 36))
        .line("content-type", "text/x-cosmark")
        .line("cache-control", "max-age=7")
        .line(if is_swift { "x-object-meta-a" } else { "x-amz-meta-a" }, "given");
    room.prepare(request).await?;
    let (head, read) = (room.send(Request::head(&key)).await?, room.send(Request::get(&key)).await?);
    if (head.status, read.status) != (200, 200) {
        return Ok(Finding::no(format!("HEAD {}, read {}", status_of(&head), status_of(&read))));
    }
    // Whoever leaves a line out says nothing; two that differ cannot both be right.
    let differs = |name: &&&str| match (head.line(name), read.line(name)) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    let length = read.body.len().to_string();
    if head.line("content-length").is_some_and(|said| said != length) {
        return Ok(Finding::no(format!(
            "HEAD says {} bytes, the read has {length}",
            stated(head.line("content-length"))
        )));
    }
    Ok(match OF_OBJECTS.iter().find(differs) {
        Some(name) => {
            Finding::no(format!("{name}: HEAD {}, read {}", stated(head.line(name)), stated(read.line(name))))
        }
        None => Finding::yes("the same"),
    })
}

async fn metadata(room: &mut Room) -> Found {
    let key = room.key("meta");
    let request =
        Request::put(&key, b"x").line("x-amz-meta-colour", "dark blue").line("x-amz-meta-empty-not", "0");
    room.prepare(request).await?;
    let reply = room.given(Request::head(&key)).await?;
    let seen = [reply.line("x-amz-meta-colour"), reply.line("x-amz-meta-empty-not")];
    let text = format!("{}, {}", stated(seen[0]), stated(seen[1]));
    Ok(Finding::holds(seen == [Some("dark blue"), Some("0")], text))
}

async fn content_lines(room: &mut Room) -> Found {
    const LINES: [(&str, &str); 4] = [
        ("content-type", "text/x-cosmark"),
        ("cache-control", "max-age=7"),
        ("content-disposition", "attachment; filename=a.txt"),
        ("content-encoding", "x-own"),
    ];
    let key = room.key("lines");
    let request =
        LINES.iter().fold(Request::put(&key, b"x"), |request, (name, value)| request.line(name, *value));
    room.prepare(request).await?;
    let reply = room.given(Request::head(&key)).await?;
    let wrong: Vec<String> = LINES
        .iter()
        .filter(|(name, value)| reply.line(name) != Some(value))
        .map(|(name, _)| format!("{name} is {}", stated(reply.line(name))))
        .collect();
    Ok(if wrong.is_empty() { Finding::yes("all four") } else { Finding::no(wrong.join(", ")) })
}

async fn response_lines(room: &mut Room) -> Found {
    let key = room.key("lines");
    room.write(&key, b"x").await?;
    let reply = room.send(Request::get(&key).query("response-content-type", "text/x-asked")).await?;
    let kind = reply.line("content-type");
    Ok(match (reply.status, kind) {
        (200, Some("text/x-asked")) => Finding::yes("text/x-asked"),
        (200, kind) => Finding::differs(format!("Content-Type is {}", stated(kind))),
        _ => Finding::differs(status_of(&reply)),
    })
}

/// CRC32C of `123456789`, of every table of CRCs, in base64.
pub(super) const CRC: &str = "4waSgw==";

async fn checksum(room: &mut Room) -> Found {
    let key = room.key("crc");
    let request = Request::put(&key, b"123456789").line("x-amz-checksum-crc32c", CRC);
    let reply = room.send(request).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the write with the right checksum gave {}", status_of(&reply))));
    }
    let reply = room.send(Request::head(&key).line("x-amz-checksum-mode", "ENABLED")).await?;
    Ok(match reply.line("x-amz-checksum-crc32c") {
        Some(CRC) => Finding::yes("given back"),
        Some(other) => Finding::no(format!("another one is given back: {other}")),
        None => Finding::differs("none is given back"),
    })
}

async fn copy_metadata(room: &mut Room) -> Found {
    let (from, to) = (room.key("from"), room.key("to"));
    room.prepare(Request::put(&from, b"x").line("x-amz-meta-a", "old")).await?;
    let source = format!("/{}/{from}", room.container);
    let copy = || Request::put(&to, b"").line("x-amz-copy-source", source.clone());
    room.prepare(copy()).await?;
    let taken = room.given(Request::head(&to)).await?.line("x-amz-meta-a").map(str::to_owned);
    let replace = copy().line("x-amz-metadata-directive", "REPLACE").line("x-amz-meta-a", "new");
    room.prepare(replace).await?;
    let replaced = room.given(Request::head(&to)).await?.line("x-amz-meta-a").map(str::to_owned);
    let is_right = taken.as_deref() == Some("old") && replaced.as_deref() == Some("new");
    Ok(Finding::holds(is_right, format!("copied {}, replaced {}", stated(taken), stated(replaced))))
}

/// Why nobody asks what becomes of it.
pub(super) const NO_METADATA: &str =
    "the object was written with metadata and has none: there is nothing to drop";

async fn overwrite_metadata(room: &mut Room) -> Found {
    let key = room.key("meta");
    room.prepare(Request::put(&key, b"x").line("x-amz-meta-a", "old")).await?;
    if room.given(Request::head(&key)).await?.line("x-amz-meta-a").is_none() {
        return Ok(Finding::not_asked(NO_METADATA));
    }
    room.write(&key, b"y").await?;
    let left = room.given(Request::head(&key)).await?.line("x-amz-meta-a").map(str::to_owned);
    Ok(Finding::holds(left.is_none(), format!("x-amz-meta-a is {}", stated(left))))
}

async fn listed_size(room: &mut Room) -> Found {
    let key = room.key("size");
    room.write(&key, &pattern(4321, 1)).await?;
    let reply = room.given(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
    let size = xml::text(&reply.body, "Size");
    Ok(Finding::holds(size.as_deref() == Some("4321"), stated(size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_that_is_empty_is_none() {
        for (etag, is) in [
            (Some("\"ab\""), "ab"),
            (Some("ab"), "ab"),
            (Some("\"\""), "none"),
            (Some(""), "none"),
            (None, "none"),
        ] {
            assert_eq!(bare(etag), is, "{etag:?}");
        }
    }
}
