//! The life of uploads beside each other and behind their end: what a client that resumes, repeats or gives up may
//! rely on. Source: S3 API, UploadPart, CompleteMultipartUpload, AbortMultipartUpload, ListParts,
//! ListMultipartUploads.

use std::collections::BTreeSet;
use std::time::Duration;

use data_encoding::BASE64;

use super::integrity::{CRC, bare, md5_base64};
use super::multipart::{SMALLEST, begin, begin_by, complete, completion, in_two, part, sending};
use super::ranges::each_of;
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, refused, status_of, succeeded};
use crate::room::Room;
use crate::xml;

const PARTS: (Group, super::Of) = (Group::Multipart, S3);
const COMPLETE: &str = "S3 API, CompleteMultipartUpload";
const ABORT: &str = "S3 API, AbortMultipartUpload";
/// An upload that was given up is out of the listing after these pauses together.
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(300), Duration::from_millis(1700)];

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.multipart.complete-twice",
        PARTS,
        (
            "Does the object stay whole when its completion is sent twice?",
            "200 again or 404 NoSuchUpload; every byte stays",
            COMPLETE,
        ),
        by!(complete_twice),
    ),
    row(
        "s3.multipart.abort-completed",
        PARTS,
        (
            "Does an object stay when its upload is given up after its completion?",
            "404 NoSuchUpload or 204; every byte stays",
            ABORT,
        ),
        by!(abort_completed),
    ),
    row(
        "s3.multipart.abort-other",
        PARTS,
        (
            "Does giving up one upload of a name leave another one of it?",
            "the other completes with its bytes",
            ABORT,
        ),
        by!(abort_other),
    ),
    row(
        "s3.multipart.abort-listed",
        PARTS,
        (
            "Is an upload that was given up no longer listed?",
            "not among the uploads under way, two seconds later at the latest",
            "S3 API, ListMultipartUploads",
        ),
        by!(abort_listed),
    ),
    row(
        "s3.multipart.etag-same",
        PARTS,
        (
            "Do completion, read, HEAD and listing give one ETag of an object in parts?",
            "the same in all four",
            COMPLETE,
        ),
        by!(etag_is_the_same),
    ),
    row(
        "s3.multipart.part-md5",
        PARTS,
        (
            "Is a part refused that is not what its Content-MD5 says?",
            "400 BadDigest, and the part is not listed",
            "S3 API, UploadPart",
        ),
        by!(part_md5),
    ),
    row(
        "s3.multipart.ranges",
        PARTS,
        (
            "Do ranges across the border of two parts give these bytes?",
            "206 and the bytes, each of 6 ranges",
            "RFC 9110, section 14; S3 API, GetObject",
        ),
        by!(ranges),
    ),
    row(
        "s3.multipart.size",
        PARTS,
        (
            "Do HEAD and listing tell the length of all parts together?",
            "the sum of both parts",
            "S3 API, HeadObject and ListObjectsV2",
        ),
        by!(size),
    ),
    row(
        "s3.multipart.list-parts-pages",
        PARTS,
        (
            "Are the parts of an upload listed once each over pages of two?",
            "every part once, in the order of numbers",
            "S3 API, ListParts",
        ),
        by!(list_parts_pages),
    ),
    row(
        "s3.multipart.list-uploads-pages",
        PARTS,
        (
            "Are three uploads of one name listed once each over pages of one?",
            "every upload once",
            "S3 API, ListMultipartUploads",
        ),
        by!(list_uploads_pages),
    ),
    row(
        "s3.multipart.checksum",
        PARTS,
        (
            "Is a part refused that is not what its CRC32C says, and does the whole object have one of its parts?",
            "400 BadDigest or XAmzContentChecksumMismatch; the CRC32C of the CRC32Cs, and -1 for one part",
            "S3 user guide, Checking object integrity",
        ),
        by!(checksum),
    ),
    row(
        "s3.multipart.headers",
        PARTS,
        (
            "Has an object written in parts the Content-Type, Cache-Control and Content-Encoding of its beginning?",
            "as an object that is written at once with them",
            "S3 API, CreateMultipartUpload",
        ),
        by!(headers),
    ),
];

/// An object of one part that was completed: its upload, the completion, its content.
async fn completed(room: &mut Room, key: &str) -> Result<(String, Request, Vec<u8>), Finding> {
    let (upload, content) = (begin(room, key).await?, pattern(70_000, 131));
    let etag = part(room, key, &upload, 1, &content).await?;
    let request = completion(key, &upload, &[(1, etag)]);
    let reply = complete(room, request.clone()).await?;
    if !reply.is_success() {
        return Err(Finding::not_asked(format!("it could not be completed: {}", status_of(&reply))));
    }
    Ok((upload, request, content))
}

/// What the second of two requests leaves has to be the object.
async fn stays(room: &mut Room, key: &str, content: &[u8], seen: String, is_failure: bool) -> Found {
    let now = room.content(key).await?;
    Ok(match now.as_deref().map(|now| difference(content, now)) {
        Some(None) if is_failure => Finding::no(format!("the store failed: {seen}")),
        Some(None) => Finding::yes(format!("{seen}; every byte stays")),
        Some(Some(wrong)) => Finding::no(format!("{seen}; {wrong}")),
        None => Finding::no(format!("{seen}; the object is gone")),
    })
}

async fn complete_twice(room: &mut Room) -> Found {
    let key = room.key("twice");
    let (_, request, content) = completed(room, &key).await?;
    let reply = complete(room, request).await?;
    let is_failure = reply.status >= 500 && reply.status != 501;
    stays(room, &key, &content, format!("the second gave {}", status_of(&reply)), is_failure).await
}

async fn abort_completed(room: &mut Room) -> Found {
    let key = room.key("completed");
    let (upload, _, content) = completed(room, &key).await?;
    let reply = room.send(Request::delete(&key).query("uploadId", upload)).await?;
    let is_failure = reply.status >= 500 && reply.status != 501;
    stays(room, &key, &content, format!("giving up gave {}", status_of(&reply)), is_failure).await
}

async fn abort_other(room: &mut Room) -> Found {
    let (key, content) = (room.key("two"), pattern(60_000, 141));
    let uploads = [begin(room, &key).await?, begin(room, &key).await?];
    part(room, &key, &uploads[0], 1, &pattern(50_000, 142)).await?;
    let etag = part(room, &key, &uploads[1], 1, &content).await?;
    let reply = room.send(Request::delete(&key).query("uploadId", &uploads[0])).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("giving up gave {}", status_of(&reply))));
    }
    let reply = complete(room, completion(&key, &uploads[1], &[(1, etag)])).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the completion of the other gave {}", status_of(&reply))));
    }
    stays(room, &key, &content, "the other was completed".to_owned(), false).await
}

async fn abort_listed(room: &mut Room) -> Found {
    let key = room.key("listed");
    let upload = begin(room, &key).await?;
    part(room, &key, &upload, 1, b"one").await?;
    let reply = room.send(Request::delete(&key).query("uploadId", &upload)).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("giving up gave {}", status_of(&reply))));
    }
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        let reply = room.send(Request::get("").flag("uploads").query("prefix", &key)).await?;
        if !reply.is_success() {
            return Ok(Finding::not_asked(format!("the listing of uploads gave {}", status_of(&reply))));
        }
        let ids = xml::texts(&reply.body, "UploadId");
        if !ids.contains(&upload) {
            return Ok(Finding::yes("it is not listed"));
        }
    }
    Ok(Finding::no("it is listed two seconds after it was given up"))
}

async fn etag_is_the_same(room: &mut Room) -> Found {
    let key = room.key("etag");
    let upload = begin(room, &key).await?;
    let sent = part(room, &key, &upload, 1, b"one part").await?;
    let reply = complete(room, completion(&key, &upload, &[(1, sent)])).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("it could not be completed: {}", status_of(&reply))));
    }
    let completed = bare(xml::text(&reply.body, "ETag").as_deref());
    let read = bare(room.send(Request::get(&key)).await?.line("etag"));
    let head = bare(room.send(Request::head(&key)).await?.line("etag"));
    let reply = room.send(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
    let listed = bare(xml::text(&reply.body, "ETag").as_deref());
    let seen = format!("completion {completed}, read {read}, HEAD {head}, listing {listed}");
    let all = [&completed, &read, &head, &listed];
    // Who gives none says nothing that is wrong; two that are given are one.
    let mut given = all.into_iter().filter(|etag| *etag != "none");
    let first = given.next();
    let is_one = given.all(|etag| Some(etag) == first);
    let lacks_some = all.iter().any(|etag| *etag == "none");
    Ok(if is_one && lacks_some { Finding::differs(seen) } else { Finding::holds(is_one, seen) })
}

async fn part_md5(room: &mut Room) -> Found {
    let key = room.key("md5");
    let upload = begin(room, &key).await?;
    let request = sending(&key, &upload, 1, b"these bytes").line("content-md5", md5_base64(b"others"));
    let reply = room.send(request).await?;
    let finding = refused(&reply, 400, &["BadDigest"]);
    let listed = room.send(Request::get(&key).query("uploadId", &upload)).await?;
    if !reply.is_success() && listed.is_success() && !xml::parts(&listed.body, "Part").is_empty() {
        return Ok(Finding::no(format!("{}, and the part is listed", finding.saw)));
    }
    Ok(finding)
}

async fn ranges(room: &mut Room) -> Found {
    let key = room.key("ranges");
    let content = pattern(SMALLEST + 700, 151);
    in_two(room, &key, &content).await?;
    let last = content.len() - 1;
    let all = [
        (0, 0),
        (SMALLEST - 10, SMALLEST + 9),
        (SMALLEST - 1, SMALLEST - 1),
        (SMALLEST, SMALLEST),
        (SMALLEST - 70_000, last),
        (last, last),
    ];
    each_of(room, &key, &content, &all).await
}

async fn size(room: &mut Room) -> Found {
    let key = room.key("size");
    let upload = begin(room, &key).await?;
    let one = part(room, &key, &upload, 1, &pattern(SMALLEST, 161)).await?;
    let two = part(room, &key, &upload, 2, &pattern(700, 162)).await?;
    let reply = complete(room, completion(&key, &upload, &[(1, one), (2, two)])).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("it could not be completed: {}", status_of(&reply))));
    }
    let wanted = (SMALLEST + 700).to_string();
    let head = room.given(Request::head(&key)).await?.line("content-length").map(str::to_owned);
    let reply = room.given(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
    let listed = xml::text(&reply.body, "Size");
    let is_right = [head.as_ref(), listed.as_ref()].iter().all(|seen| *seen == Some(&wanted));
    Ok(Finding::holds(
        is_right,
        format!("HEAD {}, listing {}, written {wanted}", stated(head), stated(listed)),
    ))
}

async fn list_parts_pages(room: &mut Room) -> Found {
    let key = room.key("pages");
    let upload = begin(room, &key).await?;
    let numbers = [1, 2, 5, 7, 9];
    for number in numbers {
        part(room, &key, &upload, number, b"a part").await?;
    }
    let (mut seen, mut marker) = (Vec::new(), None::<String>);
    for _ in 0..numbers.len() * 2 {
        let mut request = Request::get(&key).query("uploadId", &upload).query("max-parts", "2");
        if let Some(marker) = marker.take() {
            request = request.query("part-number-marker", marker);
        }
        let reply = room.send(request).await?;
        if !reply.is_success() {
            return Ok(succeeded(&reply, &[200]));
        }
        let parts = xml::parts(&reply.body, "Part");
        seen.extend(parts.iter().filter_map(|part| xml::text(part, "PartNumber")));
        if xml::text(&reply.body, "IsTruncated").as_deref() != Some("true") {
            let wanted = numbers.map(|number| number.to_string());
            return Ok(Finding::holds(seen == wanted, format!("parts {}", seen.join(", "))));
        }
        marker = xml::text(&reply.body, "NextPartNumberMarker");
        if marker.is_none() {
            return Ok(Finding::no("IsTruncated is true, and there is no NextPartNumberMarker"));
        }
    }
    Ok(Finding::no(format!("the listing has not ended; parts {}", seen.join(", "))))
}

async fn list_uploads_pages(room: &mut Room) -> Found {
    let key = room.key("uploads");
    let mut begun = BTreeSet::new();
    for _ in 0..3 {
        begun.insert(begin(room, &key).await?);
    }
    let mut finding = uploads_by_pages(room, &key, &begun).await?;
    for pause in &LOOKS[1..] {
        if finding.answer != crate::Answer::No {
            break;
        }
        tokio::time::sleep(*pause).await;
        finding = uploads_by_pages(room, &key, &begun).await?;
    }
    Ok(finding)
}

async fn uploads_by_pages(room: &mut Room, key: &str, begun: &BTreeSet<String>) -> Found {
    let (mut seen, mut marker) = (Vec::new(), None::<(String, String)>);
    for page in 1..=begun.len() * 2 {
        let mut request = Request::get("").flag("uploads").query("prefix", key).query("max-uploads", "1");
        if let Some((name, upload)) = marker.take() {
            request = request.query("key-marker", name).query("upload-id-marker", upload);
        }
        let reply = room.send(request).await?;
        if !reply.is_success() {
            return Ok(match reply.status {
                400..=499 => Finding::differs(format!("refused by {}", status_of(&reply))),
                _ => succeeded(&reply, &[200]),
            });
        }
        seen.extend(xml::parts(&reply.body, "Upload").iter().filter_map(|part| xml::text(part, "UploadId")));
        if xml::text(&reply.body, "IsTruncated").as_deref() != Some("true") {
            let found: BTreeSet<String> = seen.iter().cloned().collect();
            let listed = format!("{} on {page} pages, {} were begun", seen.len(), begun.len());
            let is_right = seen.len() == found.len() && found == *begun;
            return Ok(if is_right && page == 1 {
                Finding::differs("all on the first page: max-uploads is not looked at")
            } else {
                Finding::holds(is_right, listed)
            });
        }
        let name = xml::text(&reply.body, "NextKeyMarker").filter(|name| !name.is_empty());
        let Some(upload) = xml::text(&reply.body, "NextUploadIdMarker") else {
            return Ok(Finding::no("IsTruncated is true, and there is no NextUploadIdMarker"));
        };
        marker = Some((name.unwrap_or_else(|| key.to_owned()), upload));
    }
    Ok(Finding::no(format!("the listing has not ended; {} uploads so far", seen.len())))
}

/// CRC32C, bit by bit: it is taken of a few bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    })
}

async fn checksum(room: &mut Room) -> Found {
    const CONTENT: &[u8] = b"123456789";
    let key = room.key("crc");
    let start = Request::post(&key, b"").flag("uploads").line("x-amz-checksum-algorithm", "CRC32C");
    let upload = begin_by(room, start).await?;
    let of_part = |body: &[u8]| sending(&key, &upload, 1, body).line("x-amz-checksum-crc32c", CRC);
    let wrong = room.send(of_part(b"987654321")).await?;
    let right = room.prepare(of_part(CONTENT)).await?;
    let is_offered = right.line("x-amz-checksum-crc32c").is_some();
    let mut request = completion(&key, &upload, &[(1, bare(right.line("etag")))]);
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let sum = format!("<ChecksumCRC32C>{CRC}</ChecksumCRC32C></Part>");
    request.body = text.replace("</Part>", &sum).into_bytes();
    let reply = complete(room, request).await?;
    if !reply.is_success() {
        let seen = format!("the completion that names the checksum gave {}", status_of(&reply));
        return Ok(match reply.status {
            400..=499 | 501 => Finding::differs(seen),
            _ => Finding::no(seen),
        });
    }
    if room.content(&key).await?.as_deref() != Some(CONTENT) {
        return Ok(Finding::no("the object has other bytes than the part"));
    }
    let head = room.send(Request::head(&key).line("x-amz-checksum-mode", "ENABLED")).await?;
    let said = head.line("x-amz-checksum-crc32c").map(str::to_owned);
    let said = said.or_else(|| xml::text(&reply.body, "ChecksumCRC32C"));
    let composite = format!("{}-1", BASE64.encode(&crc32c(&crc32c(CONTENT).to_be_bytes()).to_be_bytes()));
    let refusal = refused(&wrong, 400, &["BadDigest", "XAmzContentChecksumMismatch", "InvalidRequest"]);
    Ok(match said {
        // That of the whole object is another kind, which a store may choose.
        Some(said) if said != composite && said != CRC => {
            Finding::no(format!("{said} is given back, and it is {composite}"))
        }
        None if !is_offered => Finding::differs("none is given back: it has none of parts"),
        _ if wrong.is_success() => Finding::no(format!("another part was not refused: {}", wrong.status)),
        None => Finding::differs("none is given back of the whole object"),
        Some(_) => refusal,
    })
}

async fn headers(room: &mut Room) -> Found {
    const LINES: [(&str, &str); 3] =
        [("content-type", "text/x-cosmark"), ("cache-control", "max-age=7"), ("content-encoding", "x-own")];
    let with =
        |request: Request| LINES.iter().fold(request, |request, (name, value)| request.line(name, *value));
    let (plain, key) = (room.key("plain"), room.key("parts"));
    room.prepare(with(Request::put(&plain, b"one"))).await?;
    let upload = begin_by(room, with(Request::post(&key, b"").flag("uploads"))).await?;
    let etag = part(room, &key, &upload, 1, b"one").await?;
    let reply = complete(room, completion(&key, &upload, &[(1, etag)])).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("it could not be completed: {}", status_of(&reply))));
    }
    let (at_once, parts) =
        (room.prepare(Request::head(&plain)).await?, room.given(Request::head(&key)).await?);
    // What an object that is written at once has not is another question's.
    let asked = LINES.iter().filter(|(name, value)| at_once.line(name) == Some(value));
    let wrong: Vec<String> = asked
        .clone()
        .filter(|(name, value)| parts.line(name) != Some(value))
        .map(|(name, _)| format!("{name} is {}", stated(parts.line(name))))
        .collect();
    Ok(match (asked.count(), wrong.is_empty()) {
        (0, _) => Finding::not_asked("an object that is written at once has none of them"),
        (asked, true) => Finding::yes(format!("the {asked} that an object written at once has")),
        (_, false) => Finding::no(wrong.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crc32c_is_that_of_every_table() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(BASE64.encode(&crc32c(b"123456789").to_be_bytes()), CRC);
        assert_eq!(crc32c(b""), 0);
    }
}
