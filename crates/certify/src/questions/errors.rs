//! Mistakes and how S3 refuses them. Source: Amazon S3 API reference, "Error responses", and the pages of the operations.

use cosmark_adaptor_api::{Protocol, Whom};

use super::{Group, Question, S3, by, refusal, row, stated};
use crate::certificate::Answer;
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const ERROR: (Group, super::Of) = (Group::Errors, S3);
const LIMIT: (Group, super::Of) = (Group::Limits, S3);
const CODES: &str = "S3 API, Error responses";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.error.no-such-key",
        ERROR,
        ("How is the read of a missing object refused?", "404 NoSuchKey", CODES),
        refusal!(404, &["NoSuchKey"], |room| Request::get(room.key("missing"))),
    ),
    row(
        "s3.error.no-such-bucket",
        ERROR,
        ("How is the listing of a missing bucket refused?", "404 NoSuchBucket", CODES),
        refusal!(404, &["NoSuchBucket"], |room| {
            Request::get("").of(format!("{}-{}-missing", room.container, room.word)).query("list-type", "2")
        }),
    ),
    row(
        "s3.error.write-no-such-bucket",
        ERROR,
        ("How is a write into a missing bucket refused?", "404 NoSuchBucket", CODES),
        refusal!(404, &["NoSuchBucket"], |room| {
            Request::put("x", b"x").of(format!("{}-{}-missing", room.container, room.word))
        }),
    ),
    row(
        "s3.error.wrong-secret",
        ERROR,
        ("Is a request refused that a wrong secret signed?", "403 SignatureDoesNotMatch", CODES),
        by!(wrong_secret),
    ),
    row(
        "s3.error.unknown-user",
        ERROR,
        ("Is a request of an unknown access key refused?", "403 InvalidAccessKeyId", CODES),
        by!(unknown_user),
    ),
    row(
        "s3.error.anonymous",
        ERROR,
        ("Is a read without a signature refused?", "403 AccessDenied", CODES),
        by!(anonymous),
    ),
    row(
        "s3.auth.changes",
        ERROR,
        (
            "Are writes, deletes and listings refused that nobody or a wrong secret signed?",
            "403, and nothing is written, deleted or listed",
            "S3 API, Authenticating requests",
        ),
        by!(changes_of_others),
    ),
    row(
        "s3.auth.late",
        ERROR,
        (
            "Is a request refused that was signed an hour ago?",
            "403 RequestTimeTooSkewed: after 15 minutes it is no longer taken",
            "S3 API, Authenticating requests; Error responses",
        ),
        by!(signed_late),
    ),
    row(
        "s3.auth.link",
        ERROR,
        (
            "Does a signed link let its owner read for its minute, and do nothing else and nothing later?",
            "200 within it; 403 an hour later, and 403 for a delete by it",
            "S3 API, Authenticating requests: Using query parameters",
        ),
        by!(by_link),
    ),
    row(
        "s3.auth.bent-link",
        ERROR,
        (
            "Is a signed link refused for another object, and when its time was made longer?",
            "403 SignatureDoesNotMatch for both: the signature covers the name and every parameter",
            "S3 API, Authenticating requests: Using query parameters",
        ),
        by!(by_bent_link),
    ),
    row(
        "s3.auth.write-link",
        ERROR,
        (
            "Does a signed link for a write let its owner write this object, and not read it?",
            "200 and the bytes; 403 for a read by it",
            "S3 API, Authenticating requests: Using query parameters",
        ),
        by!(by_write_link),
    ),
    row(
        "s3.error.body-hash",
        ERROR,
        (
            "Is a body refused that is not the one that was signed?",
            "400 XAmzContentSHA256Mismatch, and nothing is written",
            "S3 API, Authenticating requests",
        ),
        by!(body_hash),
    ),
    row(
        "s3.error.content-md5",
        ERROR,
        (
            "Is a body refused that is not what Content-MD5 says?",
            "400 BadDigest, and nothing is written",
            CODES,
        ),
        by!(content_md5),
    ),
    row(
        "s3.error.invalid-md5",
        ERROR,
        ("Is a Content-MD5 refused that is none?", "400 InvalidDigest", CODES),
        refusal!(400, &["InvalidDigest"], |room| {
            Request::put(room.key("md5"), b"x").line("content-md5", "nonsense")
        }),
    ),
    row(
        "s3.error.checksum",
        ERROR,
        (
            "Is a body refused that is not what its CRC32C says?",
            "400 BadDigest or XAmzContentChecksumMismatch, and nothing is written",
            "S3 user guide, Checking object integrity",
        ),
        by!(checksum),
    ),
    row(
        "s3.checksum.others",
        ERROR,
        (
            "Is a body refused that is not what its CRC32, SHA-1 or SHA-256 says?",
            "400 BadDigest or XAmzContentChecksumMismatch for each, and nothing is written",
            "S3 user guide, Checking object integrity",
        ),
        by!(other_checksums),
    ),
    row(
        "s3.error.trailer",
        ERROR,
        (
            "Is a body refused that is not what the CRC32C behind it says?",
            "200 and the bytes with the right one; 400 with another, and nothing is written",
            "S3 user guide, Checking object integrity; Signature calculations, trailing headers",
        ),
        by!(trailer),
    ),
    row(
        "s3.error.bucket-name",
        ERROR,
        (
            "Is a bucket name refused that the rules forbid?",
            "400 InvalidBucketName",
            "S3 user guide, Bucket naming rules",
        ),
        refusal!(400, &["InvalidBucketName"], |room| {
            Request::put("", b"").of(format!("-Cosmark_No..Name-{}", room.word))
        }),
    ),
    row(
        "s3.error.malformed-delete",
        ERROR,
        ("Is a delete of many refused whose document is none?", "400 MalformedXML", CODES),
        by!(malformed_delete),
    ),
    row(
        "s3.error.delete-1001",
        LIMIT,
        ("Is a delete of 1001 objects in one request refused?", "400 MalformedXML", "S3 API, DeleteObjects"),
        by!(delete_1001),
    ),
    row(
        "s3.error.copy-missing",
        ERROR,
        ("How is the copy of a missing object refused?", "404 NoSuchKey", "S3 API, CopyObject"),
        refusal!(404, &["NoSuchKey"], |room| {
            let source = format!("/{}/{}", room.container, room.key("missing"));
            Request::put(room.key("copy"), b"").line("x-amz-copy-source", source)
        }),
    ),
    row(
        "s3.error.copy-onto-itself",
        ERROR,
        ("Is a copy onto itself refused that changes nothing?", "400 InvalidRequest", "S3 API, CopyObject"),
        by!(copy_onto_itself),
    ),
    row(
        "s3.error.document",
        ERROR,
        (
            "Does a refusal say what was refused, in XML?",
            "Error with Code, Message and RequestId; Content-Type application/xml",
            CODES,
        ),
        by!(document),
    ),
    row(
        "s3.error.upload-unknown",
        ERROR,
        ("Is a part of an unknown upload refused?", "404 NoSuchUpload", "S3 API, UploadPart"),
        refusal!(404, &["NoSuchUpload"], |room| {
            Request::put(room.key("part"), b"x").query("partNumber", "1").query("uploadId", "cosmark-unknown")
        }),
    ),
    row(
        "s3.limit.announced-6-gib",
        LIMIT,
        (
            "Is a write refused whose length is announced as 6 GiB?",
            "400 EntityTooLarge (one request writes at most 5 GiB)",
            "S3 user guide, Uploading objects",
        ),
        by!(announced),
    ),
    row(
        "s3.limit.metadata",
        LIMIT,
        (
            "Is user metadata of more than 2 KB refused?",
            "400 MetadataTooLarge",
            "S3 API, PutObject; user guide",
        ),
        by!(much_metadata),
    ),
    row(
        "s3.limit.empty",
        LIMIT,
        ("Is a body of 0 bytes stored as an object?", "200, and HEAD says 0", "S3 API, PutObject"),
        by!(empty),
    ),
];

async fn wrong_secret(room: &mut Room) -> Found {
    let key = room.key("secret");
    room.write(&key, b"secret").await?;
    let reply = room.send(Request::get(&key).by(Whom::WrongSecret)).await?;
    Ok(refused(&reply, 403, &["SignatureDoesNotMatch"]))
}

async fn unknown_user(room: &mut Room) -> Found {
    let key = room.key("private");
    room.write(&key, b"private").await?;
    let reply = room.send(Request::get(&key).by(Whom::Unknown)).await?;
    Ok(refused(&reply, 403, &["InvalidAccessKeyId"]))
}

async fn anonymous(room: &mut Room) -> Found {
    let key = room.key("private");
    room.write(&key, b"private").await?;
    let reply = room.send(Request::get(&key).by(Whom::Nobody)).await?;
    Ok(refused(&reply, 403, &["AccessDenied"]))
}

/// What may not be done with an object by who is not let in.
pub(super) async fn changes_of_others(room: &mut Room) -> Found {
    let status = if room.protocol() == Some(Protocol::Swift) { 401 } else { 403 };
    let mut answered = Finding::yes(format!("{status} for each of 8"));
    for (number, whom) in [Whom::Nobody, Whom::WrongSecret].into_iter().enumerate() {
        let (key, other) = (room.key(&format!("own-{number}")), room.key(&format!("others-{number}")));
        room.write(&key, b"own").await?;
        let requests = [
            ("an overwrite", Request::put(&key, b"others'")),
            ("a new object", Request::put(&other, b"others'")),
            ("a delete", Request::delete(&key)),
            ("a listing", Request::get("").query("list-type", "2").query("prefix", &key)),
        ];
        for (what, request) in requests {
            let reply = room.send(request.by(whom)).await?;
            let finding = refused(&reply, status, &[]);
            let seen = format!("{what} by {whom:?}: {}", finding.saw);
            match finding.answer {
                Answer::No => return Ok(Finding::no(seen)),
                Answer::Differs => answered = Finding::differs(seen),
                Answer::Yes | Answer::NotAsked => {}
            }
        }
        if room.content(&key).await?.as_deref() != Some(b"own") || room.content(&other).await?.is_some() {
            return Ok(Finding::no(format!("all were refused to {whom:?}, and something was changed")));
        }
    }
    Ok(answered)
}

async fn signed_late(room: &mut Room) -> Found {
    let key = room.key("late");
    room.write(&key, b"first").await?;
    let reply = room.send(Request::put(&key, b"late").by(Whom::AnHourAgo)).await?;
    let finding = refused(&reply, 403, &["RequestTimeTooSkewed"]);
    if !reply.is_success() && room.content(&key).await?.as_deref() != Some(b"first") {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    Ok(finding)
}

async fn by_link(room: &mut Room) -> Found {
    let (key, content) = (room.key("link"), super::pattern(3000, 18));
    room.write(&key, &content).await?;
    let deleted = room.send(Request::delete(&key).by(Whom::Link)).await?;
    let seen = format!("a delete by a link for reading gave {}", status_of(&deleted));
    if deleted.is_success() || room.content(&key).await?.as_ref() != Some(&content) {
        return Ok(Finding::no(seen));
    }
    let old = room.send(Request::get(&key).by(Whom::OldLink)).await?;
    if old.is_success() {
        return Ok(Finding::no(format!("a link of an hour ago for a minute gave {}", status_of(&old))));
    }
    let new = room.send(Request::get(&key).by(Whom::Link)).await?;
    let seen = format!("{}, later {}; {seen}", status_of(&new), status_of(&old));
    Ok(match new.status {
        200 if new.body != content => Finding::no(format!("{seen}; other bytes")),
        200 if (old.status, deleted.status) == (403, 403) => Finding::yes(seen),
        200 | 400..=499 | 501 => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

async fn by_bent_link(room: &mut Room) -> Found {
    let (key, content) = (room.key("link"), super::pattern(3000, 19));
    room.write(&key, &content).await?;
    let straight = room.send(Request::get(&key).by(Whom::Link)).await?;
    if !straight.is_success() {
        // A store that takes no links refuses bent ones for another reason.
        return Ok(Finding::not_asked(format!("a link gave {}", status_of(&straight))));
    }
    let mut others = Vec::new();
    for (whom, what) in
        [(Whom::LinkToOther, "a link to another object"), (Whom::StretchedLink, "an old link made longer")]
    {
        let finding = refused(&room.send(Request::get(&key).by(whom)).await?, 403, &[]);
        let seen = format!("{what}: {}", finding.saw);
        match finding.answer {
            Answer::Yes => {}
            Answer::No => return Ok(Finding::no(seen)),
            _ => others.push(seen),
        }
    }
    Ok(if others.is_empty() { Finding::yes("403 for both") } else { Finding::differs(others.join("; ")) })
}

async fn by_write_link(room: &mut Room) -> Found {
    let (key, content) = (room.key("by-link"), super::pattern(2500, 20));
    let written = room.send(Request::put(&key, &content).by(Whom::WriteLink)).await?;
    let seen = status_of(&written);
    match written.status {
        200..=299 => {}
        400..=499 | 501 => {
            return Ok(Finding::differs(format!("a write by a good link is refused by {seen}")));
        }
        _ => return Ok(Finding::no(format!("a write by a good link gave {seen}"))),
    }
    if room.content(&key).await?.as_ref() != Some(&content) {
        return Ok(Finding::no(format!("{seen}, and the object does not hold what was written")));
    }
    let finding = refused(&room.send(Request::get(&key).by(Whom::WriteLink)).await?, 403, &[]);
    Ok(Finding::new(finding.answer, format!("{seen}; a read by it: {}", finding.saw)))
}

/// A write that has to be refused and to leave nothing.
async fn refused_write(room: &mut Room, request: Request, codes: &[&str]) -> Found {
    let key = request.object.clone();
    let reply = room.send(request).await?;
    let finding = refused(&reply, 400, codes);
    match room.content(&key).await? {
        Some(_) if !reply.is_success() => {
            Ok(Finding::no(format!("{}, and the object was written", finding.saw)))
        }
        _ => Ok(finding),
    }
}

/// Lengths of bodies that are not what is said of them: a small one is looked at in memory, a large one as it comes.
const WRONG: [usize; 2] = [11, 400_000];

async fn body_hash(room: &mut Room) -> Found {
    let mut last = Finding::yes("");
    for length in WRONG {
        let mut request = Request::put(room.key(&format!("hash-{length}")), &super::pattern(length, 15));
        request.payload = Some("0123456789abcdef".repeat(4));
        last = refused_write(room, request, &["XAmzContentSHA256Mismatch"]).await?;
        if last.answer != Answer::Yes {
            return Ok(Finding::new(last.answer, format!("{length} bytes: {}", last.saw)));
        }
    }
    Ok(last)
}

async fn content_md5(room: &mut Room) -> Found {
    let mut last = Finding::yes("");
    for length in WRONG {
        let request = Request::put(room.key(&format!("md5-{length}")), &super::pattern(length, 16))
            .line("content-md5", super::integrity::md5_base64(b"others"));
        last = refused_write(room, request, &["BadDigest"]).await?;
        if last.answer != Answer::Yes {
            return Ok(Finding::new(last.answer, format!("{length} bytes: {}", last.saw)));
        }
    }
    Ok(last)
}

async fn checksum(room: &mut Room) -> Found {
    let request = Request::put(room.key("crc"), b"these bytes").line("x-amz-checksum-crc32c", "AAAAAA==");
    refused_write(room, request, &["BadDigest", "XAmzContentChecksumMismatch"]).await
}

/// Checksums beside CRC32C, each with a value that no body of the question has.
const OTHERS: [(&str, &str); 3] = [
    ("x-amz-checksum-crc32", "AAAAAA=="),
    ("x-amz-checksum-sha1", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
    ("x-amz-checksum-sha256", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
];

async fn other_checksums(room: &mut Room) -> Found {
    let mut answered = Finding::yes("each of 3");
    for (name, value) in OTHERS {
        let request = Request::put(room.key(name), b"these bytes").line(name, value);
        let codes = &["BadDigest", "XAmzContentChecksumMismatch"];
        let finding = refused_write(room, request, codes).await?;
        let seen = format!("{name}: {}", finding.saw);
        match finding.answer {
            Answer::No => return Ok(Finding::no(seen)),
            Answer::Yes => {}
            Answer::Differs | Answer::NotAsked => answered = Finding::new(finding.answer, seen),
        }
    }
    Ok(answered)
}

/// A write of `123456789` in one aws-chunked frame, with this CRC32C behind it.
pub(super) fn with_trailer(key: &str, crc: &str, coding: &str) -> Request {
    let body = format!("9\r\n123456789\r\n0\r\nx-amz-checksum-crc32c:{crc}\r\n\r\n");
    let mut request = Request::put(key, body.as_bytes())
        .line("content-encoding", coding)
        .line("x-amz-decoded-content-length", "9")
        .line("x-amz-trailer", "x-amz-checksum-crc32c");
    request.payload = Some("STREAMING-UNSIGNED-PAYLOAD-TRAILER".to_owned());
    request
}

async fn trailer(room: &mut Room) -> Found {
    let (right, wrong) = (room.key("right"), room.key("wrong"));
    let reply = room.send(with_trailer(&right, super::integrity::CRC, "aws-chunked")).await?;
    if !reply.is_success() {
        let seen = format!("it takes no checksum behind a body: {}", status_of(&reply));
        return Ok(if reply.status < 500 || reply.status == 501 {
            Finding::differs(seen)
        } else {
            Finding::no(seen)
        });
    }
    if room.content(&right).await?.as_deref() != Some(b"123456789") {
        return Ok(Finding::no("the frame of the body became part of the object"));
    }
    refused_write(room, with_trailer(&wrong, "AAAAAA==", "aws-chunked"), &[]).await
}

async fn malformed_delete(room: &mut Room) -> Found {
    let body = b"<Delete><Object><Key>";
    let request =
        Request::post("", body).flag("delete").line("content-md5", super::integrity::md5_base64(body));
    let reply = room.send(request).await?;
    Ok(refused(&reply, 400, &["MalformedXML"]))
}

async fn delete_1001(room: &mut Room) -> Found {
    let keys: String =
        (0..1001).map(|at| format!("<Object><Key>{}</Key></Object>", room.key(&at.to_string()))).collect();
    let body = format!("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{keys}</Delete>");
    let md5 = super::integrity::md5_base64(body.as_bytes());
    let reply = room.send(Request::post("", body.as_bytes()).flag("delete").line("content-md5", md5)).await?;
    Ok(match refused(&reply, 400, &["MalformedXML"]) {
        finding if reply.status == 200 => {
            Finding::differs(format!("it deletes more than 1000: {}", finding.saw))
        }
        finding => finding,
    })
}

async fn copy_onto_itself(room: &mut Room) -> Found {
    let key = room.key("itself");
    room.write(&key, b"itself").await?;
    let source = format!("/{}/{key}", room.container);
    let reply = room.send(Request::put(&key, b"").line("x-amz-copy-source", source)).await?;
    if reply.is_success() {
        let stays = room.content(&key).await?.as_deref() == Some(b"itself");
        return Ok(if stays {
            Finding::differs("it is done and changes nothing")
        } else {
            Finding::no("the content is lost")
        });
    }
    Ok(refused(&reply, 400, &["InvalidRequest"]))
}

async fn document(room: &mut Room) -> Found {
    let reply = room.send(Request::get(room.key("missing"))).await?;
    let lacks: Vec<&str> = ["Code", "Message", "RequestId"]
        .into_iter()
        .filter(|name| crate::xml::text(&reply.body, name).is_none_or(|text| text.is_empty()))
        .collect();
    let is_xml = reply.line("content-type").is_some_and(|kind| kind.contains("xml"));
    Ok(match (lacks.is_empty(), is_xml) {
        (true, true) => Finding::yes("all of it"),
        (true, false) => Finding::differs(format!("Content-Type is {}", stated(reply.line("content-type")))),
        (false, _) => Finding::differs(format!("it lacks {}", lacks.join(", "))),
    })
}

async fn announced(room: &mut Room) -> Found {
    let patience = room.patience;
    room.patience = patience.min(std::time::Duration::from_secs(3));
    let mut request = Request::put(room.key("6-gib"), b"");
    request.announce_bytes = Some(6 << 30);
    let sent = room.send(request).await;
    room.patience = patience;
    match sent {
        Ok(reply) => Ok(refused(&reply, 400, &["EntityTooLarge"])),
        // It waits for the body: that is no hang of the store's.
        Err(_) => {
            room.unanswered = room.unanswered.saturating_sub(1);
            Ok(Finding::differs("it waits for the 6 GiB: it does not refuse before the body"))
        }
    }
}

async fn much_metadata(room: &mut Room) -> Found {
    let reply =
        room.send(Request::put(room.key("meta"), b"x").line("x-amz-meta-much", "m".repeat(4000))).await?;
    Ok(match refused(&reply, 400, &["MetadataTooLarge"]) {
        finding if reply.is_success() => Finding::differs(format!("it takes more than S3: {}", finding.saw)),
        finding => finding,
    })
}

async fn empty(room: &mut Room) -> Found {
    let key = room.key("empty");
    room.write(&key, b"").await?;
    let reply = room.send(Request::head(&key)).await?;
    let length = reply.line("content-length");
    Ok(Finding::holds(
        reply.status == 200 && length == Some("0"),
        format!("{}, Content-Length {}", reply.status, stated(length)),
    ))
}
