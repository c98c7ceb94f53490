//! Writes in parts and their misuse. Source: S3 API, CreateMultipartUpload, UploadPart, CompleteMultipartUpload,
//! AbortMultipartUpload, ListParts, ListMultipartUploads; user guide, "Multipart upload limits".

use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};

use super::integrity::bare;
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, code_of, refused, status_of};
use crate::room::Room;
use crate::xml;

const PARTS: (Group, super::Of) = (Group::Multipart, S3);
const COMPLETE: &str = "S3 API, CompleteMultipartUpload";
/// Smallest part but the last, bytes.
pub(super) const SMALLEST: usize = 5 << 20;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.multipart.invisible",
        PARTS,
        ("Is an object invisible until its parts are completed?", "404 before, the bytes after", COMPLETE),
        by!(invisible),
    ),
    row(
        "s3.multipart.etag",
        PARTS,
        (
            "Does the ETag tell the number of parts?",
            "the MD5 of the parts' MD5s in hexadecimal digits, and -1 for one part",
            "S3 API, Object",
        ),
        by!(etag),
    ),
    row(
        "s3.multipart.order",
        PARTS,
        ("Is a completion refused whose parts are out of order?", "400 InvalidPartOrder", COMPLETE),
        by!(order),
    ),
    row(
        "s3.multipart.sent-out-of-order",
        PARTS,
        (
            "May parts be sent in any order?",
            "the object has them in the order of their numbers",
            "S3 API, UploadPart",
        ),
        by!(sent_out_of_order),
    )
    .slow(),
    row(
        "s3.multipart.too-small",
        PARTS,
        (
            "Is a first part of less than 5 MiB refused?",
            "400 EntityTooSmall",
            "S3 user guide, Multipart upload limits",
        ),
        by!(too_small),
    ),
    row(
        "s3.multipart.missing-part",
        PARTS,
        ("Is a completion refused that names a part that never came?", "400 InvalidPart", COMPLETE),
        by!(missing_part),
    ),
    row(
        "s3.multipart.one-missing",
        PARTS,
        (
            "Is a completion refused that names a part that came and one that did not?",
            "400 InvalidPart, and no object of the part that came",
            COMPLETE,
        ),
        by!(one_missing),
    ),
    row(
        "s3.multipart.wrong-etag",
        PARTS,
        ("Is a completion refused that names another ETag?", "400 InvalidPart", COMPLETE),
        by!(wrong_etag),
    ),
    row(
        "s3.multipart.no-parts",
        PARTS,
        ("Is a completion refused that names no part?", "400 MalformedXML", COMPLETE),
        by!(no_parts),
    ),
    row(
        "s3.multipart.overwrite-part",
        PARTS,
        (
            "Does a part that is sent again replace the first?",
            "the object has the second",
            "S3 API, UploadPart",
        ),
        by!(overwrite_part),
    ),
    row(
        "s3.multipart.part-number",
        PARTS,
        (
            "Are part numbers 0 and 10001 refused?",
            "400 InvalidArgument",
            "S3 user guide, Multipart upload limits",
        ),
        by!(part_number),
    ),
    row(
        "s3.multipart.abort",
        PARTS,
        (
            "Is an upload gone after it was given up?",
            "204; then 404 NoSuchUpload, and no object",
            "S3 API, AbortMultipartUpload",
        ),
        by!(abort),
    ),
    row(
        "s3.multipart.list-parts",
        PARTS,
        ("Are the parts of an upload listed?", "number, size and ETag of each", "S3 API, ListParts"),
        by!(list_parts),
    ),
    row(
        "s3.multipart.list-uploads",
        PARTS,
        ("Are uploads under way listed?", "the key and its upload", "S3 API, ListMultipartUploads"),
        by!(list_uploads),
    ),
    row(
        "s3.multipart.two-uploads",
        PARTS,
        ("Do two uploads of one name stay apart?", "each completes with its own bytes", COMPLETE),
        by!(two_uploads),
    ),
    row(
        "s3.multipart.copy-part",
        PARTS,
        ("Can a part be a range of another object?", "the object has these bytes", "S3 API, UploadPartCopy"),
        by!(copy_part),
    ),
    row(
        "s3.multipart.metadata",
        PARTS,
        (
            "Does metadata that an upload began with come back?",
            "x-amz-meta- lines as they were given",
            "S3 API, CreateMultipartUpload",
        ),
        by!(metadata),
    ),
];

/// Begins an upload; gives its id.
pub(super) async fn begin(room: &mut Room, key: &str) -> Result<String, Finding> {
    begin_by(room, Request::post(key, b"").flag("uploads")).await
}

pub(super) async fn begin_by(room: &mut Room, request: Request) -> Result<String, Finding> {
    let key = request.object.clone();
    let reply = room.prepare(request).await?;
    let Some(upload) = xml::text(&reply.body, "UploadId").filter(|upload| !upload.is_empty()) else {
        return Err(Finding::not_asked("the store gave no UploadId"));
    };
    room.written.push(key.clone());
    room.uploads.push((key, upload.clone()));
    Ok(upload)
}

pub(super) fn sending(key: &str, upload: &str, number: u32, body: &[u8]) -> Request {
    Request::put(key, body).query("partNumber", number.to_string()).query("uploadId", upload)
}

/// Sends a part; gives its ETag.
pub(super) async fn part(
    room: &mut Room,
    key: &str,
    upload: &str,
    number: u32,
    body: &[u8],
) -> Result<String, Finding> {
    let reply = room.prepare(sending(key, upload, number, body)).await?;
    Ok(bare(reply.line("etag")))
}

pub(super) fn completion(key: &str, upload: &str, parts: &[(u32, String)]) -> Request {
    let parts: String = parts
        .iter()
        .map(|(number, etag)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>\"{etag}\"</ETag></Part>")
        })
        .collect();
    let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
    let body = format!("<CompleteMultipartUpload xmlns=\"{namespace}\">{parts}</CompleteMultipartUpload>");
    Request::post(key, body.as_bytes()).query("uploadId", upload)
}

/// Writes an object in two parts, the first as small as the store has to take one.
pub(super) async fn in_two(room: &mut Room, key: &str, content: &[u8]) -> Result<(), Finding> {
    let upload = begin(room, key).await?;
    let one = part(room, key, &upload, 1, &content[..SMALLEST]).await?;
    let two = part(room, key, &upload, 2, &content[SMALLEST..]).await?;
    let reply = complete(room, completion(key, &upload, &[(1, one), (2, two)])).await?;
    let why = || Finding::not_asked(format!("it could not be completed: {}", status_of(&reply)));
    if reply.is_success() { Ok(()) } else { Err(why()) }
}

/// Completes; a status 200 may hold an error.
pub(super) async fn complete(
    room: &mut Room,
    request: Request,
) -> Result<cosmark_adaptor_api::Reply, Finding> {
    let mut reply = room.send(request).await?;
    if reply.status == 200 && code_of(&reply).is_some() {
        reply.status = 400;
    }
    Ok(reply)
}

/// A completion that has to be refused and to leave no object.
async fn refuses(room: &mut Room, key: &str, request: Request, codes: &[&str]) -> Found {
    let reply = complete(room, request).await?;
    let finding = refused(&reply, 400, codes);
    if !reply.is_success() && room.content(key).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object is there", finding.saw)));
    }
    Ok(finding)
}

/// Completes and compares.
async fn gives(room: &mut Room, key: &str, request: Request, content: &[u8]) -> Found {
    let reply = complete(room, request).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the completion gave {}", status_of(&reply))));
    }
    let read = room.content(key).await?.unwrap_or_default();
    Ok(difference(content, &read).map_or_else(|| Finding::yes("byte for byte"), Finding::no))
}

async fn invisible(room: &mut Room) -> Found {
    let (key, content) = (room.key("parts"), pattern(1000, 41));
    let upload = begin(room, &key).await?;
    let etag = part(room, &key, &upload, 1, &content).await?;
    if room.content(&key).await?.is_some() {
        return Ok(Finding::no("it can be read before it is completed"));
    }
    gives(room, &key, completion(&key, &upload, &[(1, etag)]), &content).await
}

async fn etag(room: &mut Room) -> Found {
    let key = room.key("parts");
    let upload = begin(room, &key).await?;
    let sent = part(room, &key, &upload, 1, b"one part").await?;
    let reply = complete(room, completion(&key, &upload, &[(1, sent)])).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the completion gave {}", status_of(&reply))));
    }
    let etag = bare(room.send(Request::head(&key)).await?.line("etag"));
    let right = format!("{}-1", HEXLOWER.encode(&Md5::digest(Md5::digest(b"one part"))));
    Ok(if etag == right {
        Finding::yes(etag)
    } else {
        Finding::differs(format!("{etag}, which is not the MD5 of the parts' MD5s and their number"))
    })
}

async fn two_parts(
    room: &mut Room,
    key: &str,
    first: usize,
) -> Result<(String, Vec<(u32, String)>), Finding> {
    let upload = begin(room, key).await?;
    let one = part(room, key, &upload, 1, &pattern(first, 51)).await?;
    let two = part(room, key, &upload, 2, &pattern(700, 52)).await?;
    Ok((upload, vec![(1, one), (2, two)]))
}

async fn order(room: &mut Room) -> Found {
    let key = room.key("order");
    let upload = begin(room, &key).await?;
    // Both may stand first.
    let one = part(room, &key, &upload, 1, &pattern(SMALLEST, 53)).await?;
    let two = part(room, &key, &upload, 2, &pattern(SMALLEST, 54)).await?;
    let parts = [(2, two), (1, one)];
    refuses(room, &key, completion(&key, &upload, &parts), &["InvalidPartOrder"]).await
}

async fn sent_out_of_order(room: &mut Room) -> Found {
    let key = room.key("order");
    let upload = begin(room, &key).await?;
    let (first, last) = (pattern(SMALLEST, 61), pattern(1234, 62));
    let seven = part(room, &key, &upload, 7, &last).await?;
    let three = part(room, &key, &upload, 3, &first).await?;
    let request = completion(&key, &upload, &[(3, three), (7, seven)]);
    gives(room, &key, request, &[first, last].concat()).await
}

async fn too_small(room: &mut Room) -> Found {
    let key = room.key("small");
    let (upload, parts) = two_parts(room, &key, 1000).await?;
    let reply = complete(room, completion(&key, &upload, &parts)).await?;
    Ok(match refused(&reply, 400, &["EntityTooSmall"]) {
        finding if reply.is_success() => {
            Finding::differs(format!("it takes smaller parts than S3: {}", finding.saw))
        }
        finding => finding,
    })
}

async fn missing_part(room: &mut Room) -> Found {
    let key = room.key("missing");
    let upload = begin(room, &key).await?;
    let one = part(room, &key, &upload, 1, b"one").await?;
    let request = completion(&key, &upload, &[(2, one)]);
    refuses(room, &key, request, &["InvalidPart"]).await
}

async fn one_missing(room: &mut Room) -> Found {
    let key = room.key("missing");
    let upload = begin(room, &key).await?;
    // Large enough to stand before another one.
    let one = part(room, &key, &upload, 1, &pattern(SMALLEST, 55)).await?;
    let request = completion(&key, &upload, &[(1, one.clone()), (2, one)]);
    refuses(room, &key, request, &["InvalidPart"]).await
}

async fn wrong_etag(room: &mut Room) -> Found {
    let key = room.key("etag");
    let upload = begin(room, &key).await?;
    part(room, &key, &upload, 1, b"one").await?;
    let request = completion(&key, &upload, &[(1, "0123456789abcdef".repeat(2))]);
    refuses(room, &key, request, &["InvalidPart"]).await
}

async fn no_parts(room: &mut Room) -> Found {
    let key = room.key("none");
    let upload = begin(room, &key).await?;
    refuses(room, &key, completion(&key, &upload, &[]), &["MalformedXML"]).await
}

async fn overwrite_part(room: &mut Room) -> Found {
    let key = room.key("again");
    let upload = begin(room, &key).await?;
    part(room, &key, &upload, 1, &pattern(900, 71)).await?;
    let content = pattern(800, 72);
    let etag = part(room, &key, &upload, 1, &content).await?;
    gives(room, &key, completion(&key, &upload, &[(1, etag)]), &content).await
}

async fn part_number(room: &mut Room) -> Found {
    let key = room.key("number");
    let upload = begin(room, &key).await?;
    let mut last = Finding::yes("both");
    for number in [0, 10_001] {
        let reply = room.send(sending(&key, &upload, number, b"x")).await?;
        let finding = refused(&reply, 400, &["InvalidArgument"]);
        if finding.answer != crate::Answer::Yes && last.answer != crate::Answer::No {
            last = Finding::new(finding.answer, format!("part {number}: {}", finding.saw));
        }
    }
    Ok(last)
}

async fn abort(room: &mut Room) -> Found {
    let key = room.key("abort");
    let upload = begin(room, &key).await?;
    let etag = part(room, &key, &upload, 1, b"one").await?;
    let reply = room.send(Request::delete(&key).query("uploadId", &upload)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("giving up gave {}", status_of(&reply))));
    }
    let reply = complete(room, completion(&key, &upload, &[(1, etag)])).await?;
    let finding = refused(&reply, 404, &["NoSuchUpload"]);
    if room.content(&key).await?.is_some() {
        return Ok(Finding::no("the object is there all the same"));
    }
    Ok(finding)
}

async fn list_parts(room: &mut Room) -> Found {
    let key = room.key("list");
    let (upload, sent) = two_parts(room, &key, 100).await?;
    let reply = room.send(Request::get(&key).query("uploadId", &upload)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(status_of(&reply)));
    }
    // Who goes on with an upload completes it by these.
    for (part, (number, etag)) in xml::parts(&reply.body, "Part").iter().zip(&sent) {
        let listed = bare(xml::text(part, "ETag").as_deref());
        if listed != *etag && listed != "none" && etag != "none" {
            return Ok(Finding::no(format!("part {number} has the ETag {etag}, and {listed} is listed")));
        }
    }
    let seen: Vec<String> = xml::parts(&reply.body, "Part")
        .iter()
        .map(|part| {
            let text = |name| xml::text(part, name).unwrap_or_default();
            format!("{}: {} bytes", text("PartNumber"), text("Size"))
        })
        .collect();
    Ok(Finding::holds(seen == ["1: 100 bytes", "2: 700 bytes"], format!("{seen:?}")))
}

async fn list_uploads(room: &mut Room) -> Found {
    let key = room.key("listed");
    let upload = begin(room, &key).await?;
    let reply = room.send(Request::get("").flag("uploads").query("prefix", &key)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(status_of(&reply)));
    }
    let is_there = xml::parts(&reply.body, "Upload").iter().any(|part| {
        xml::text(part, "Key").as_ref() == Some(&key) && xml::text(part, "UploadId").as_ref() == Some(&upload)
    });
    Ok(Finding::holds(is_there, if is_there { "listed" } else { "it is not listed" }))
}

async fn two_uploads(room: &mut Room) -> Found {
    let key = room.key("two");
    let contents = [pattern(500, 81), pattern(600, 82)];
    let uploads = [begin(room, &key).await?, begin(room, &key).await?];
    let mut etags = Vec::new();
    for (upload, content) in uploads.iter().zip(&contents) {
        etags.push(part(room, &key, upload, 1, content).await?);
    }
    for ((upload, content), etag) in uploads.iter().zip(&contents).zip(etags).rev() {
        let finding = gives(room, &key, completion(&key, upload, &[(1, etag)]), content).await?;
        if finding.answer != crate::Answer::Yes {
            return Ok(finding);
        }
    }
    Ok(Finding::yes("each its own bytes"))
}

async fn copy_part(room: &mut Room) -> Found {
    let (from, to, content) = (room.key("from"), room.key("to"), pattern(3000, 91));
    room.write(&from, &content).await?;
    let upload = begin(room, &to).await?;
    let copy = sending(&to, &upload, 1, b"")
        .line("x-amz-copy-source", format!("/{}/{from}", room.container))
        .line("x-amz-copy-source-range", "bytes=1000-1999");
    let reply = room.send(copy).await?;
    if !reply.is_success() {
        let seen = status_of(&reply);
        return Ok(if reply.status == 501 { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let etag = bare(xml::text(&reply.body, "ETag").as_deref());
    gives(room, &to, completion(&to, &upload, &[(1, etag)]), &content[1000..2000]).await
}

async fn metadata(room: &mut Room) -> Found {
    let key = room.key("meta");
    let upload =
        begin_by(room, Request::post(&key, b"").flag("uploads").line("x-amz-meta-a", "given")).await?;
    let etag = part(room, &key, &upload, 1, b"one").await?;
    let reply = complete(room, completion(&key, &upload, &[(1, etag)])).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the completion gave {}", status_of(&reply))));
    }
    let seen = room.given(Request::head(&key)).await?.line("x-amz-meta-a").map(str::to_owned);
    Ok(Finding::holds(seen.as_deref() == Some("given"), stated(seen)))
}
