//! What newer programs ask of an object beside its bytes: the checksum that newer SDKs send unasked, and attributes
//! without a read. Source: S3 API, PutObject and GetObjectAttributes; user guide, "Checking object integrity".

use cosmark_adaptor_api::Reply;

use super::integrity::bare;
use super::multipart::{begin_by, complete, completion, sending};
use super::{Group, Question, S3, by, pattern, row, stated};
use crate::request::{Finding, Found, Request, code_of, refused, status_of};
use crate::room::Room;
use crate::xml;

const INTEGRITY: (Group, super::Of) = (Group::Integrity, S3);

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.checksum.crc64nvme",
        INTEGRITY,
        (
            "Is a CRC64NVME looked at when it comes with a write, and given back?",
            "200 and given back for the right one; 400 BadDigest or XAmzContentChecksumMismatch for another",
            "S3 user guide, Checking object integrity",
        ),
        by!(crc64nvme),
    ),
    row(
        "s3.checksum.given-back",
        INTEGRITY,
        (
            "Are a CRC32, SHA-1 and SHA-256 that came with a write taken and given back?",
            "200, and the same of HEAD and of a read, if x-amz-checksum-mode is ENABLED",
            "S3 user guide, Checking object integrity",
        ),
        by!(given_back),
    ),
    row(
        "s3.multipart.checksum-whole",
        (Group::Multipart, S3),
        (
            "Is a completion refused that is not what its CRC64NVME of the whole object says?",
            "200 and given back for the right one; 400 BadDigest or XAmzContentChecksumMismatch for another",
            "S3 user guide, Checking object integrity; S3 API, CompleteMultipartUpload",
        ),
        by!(of_whole),
    ),
    row(
        "s3.attributes",
        INTEGRITY,
        (
            "Do the attributes of an object tell its length and its ETag without a read?",
            "ObjectSize and ETag as those of the write, the ETag without quotes",
            "S3 API, GetObjectAttributes",
        ),
        by!(attributes),
    ),
];

const LINE: &str = "x-amz-checksum-crc64nvme";
/// That of the digits from 1 to 9.
const CRC64: &str = "rosUhgp5mIg=";
const DIGITS: &[u8] = b"123456789";
/// That of other bytes.
const OTHER_CRC64: &str = "AAAAAAAAAAA=";
/// How a body is refused that is not what its checksum says.
const MISMATCH: [&str; 2] = ["BadDigest", "XAmzContentChecksumMismatch"];

async fn crc64nvme(room: &mut Room) -> Found {
    let (right, wrong) = (room.key("right"), room.key("wrong"));
    let reply = room.send(Request::put(&right, DIGITS).line(LINE, CRC64)).await?;
    match reply.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("not offered: {}", status_of(&reply)))),
        _ => return Ok(Finding::no(format!("the write with the right checksum gave {}", status_of(&reply)))),
    }
    let head = room.given(Request::head(&right).line("x-amz-checksum-mode", "ENABLED")).await?;
    let given = head.line(LINE).map(str::to_owned);
    if given.as_deref().is_some_and(|given| given != CRC64) {
        return Ok(Finding::no(format!("another one is given back: {}", stated(given))));
    }
    let reply = room.send(Request::put(&wrong, b"987654321").line(LINE, CRC64)).await?;
    other_one(room, &wrong, &reply, given.as_deref()).await
}

/// What came of a checksum that is not that of the bytes, where the right one was taken and perhaps given back.
async fn other_one(room: &mut Room, key: &str, reply: &Reply, given: Option<&str>) -> Found {
    let finding = refused(reply, 400, &MISMATCH);
    if reply.is_success() {
        return Ok(match given {
            // Who says nothing of it has promised nothing.
            None => Finding::differs(format!("not offered: it is not looked at, {}", reply.status)),
            Some(_) => Finding::no(format!("it is given back, and a wrong one is taken: {}", reply.status)),
        });
    }
    if room.content(key).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    Ok(match given {
        Some(_) => finding,
        None => Finding::differs(format!("none is given back; another one: {}", finding.saw)),
    })
}

/// Other checksums of the digits: the catalogue of parametrised CRC algorithms; FIPS 180-4.
const OTHERS: [(&str, &str); 3] = [
    ("x-amz-checksum-crc32", "y/Q5Jg=="),
    ("x-amz-checksum-sha1", "98O8HYCOBHMq32eZZczDTKeuNEE="),
    ("x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
];

async fn given_back(room: &mut Room) -> Found {
    let mut others = Vec::new();
    for (line, sum) in OTHERS {
        let key = room.key(line);
        let reply = room.send(Request::put(&key, DIGITS).line(line, sum)).await?;
        let seen = format!("{line}: the write with the right one gave {}", status_of(&reply));
        let is_called_wrong = code_of(&reply).is_some_and(|code| MISMATCH.contains(&code.as_str()));
        match reply.status {
            200..=299 => {}
            400..=499 | 501 if !is_called_wrong => {
                others.push(seen);
                continue;
            }
            _ => return Ok(Finding::no(seen)),
        }
        for method in ["HEAD", "GET"] {
            let request = Request::new(method, &key).line("x-amz-checksum-mode", "ENABLED");
            let reply = room.given(request).await?;
            if method == "GET" && reply.body != DIGITS {
                return Ok(Finding::no(format!("{line}: the read gives other bytes")));
            }
            match reply.line(line) {
                Some(own) if own == sum => {}
                Some(own) => {
                    return Ok(Finding::no(format!(
                        "{line}: {method} gives another one, {}",
                        room.short(own)
                    )));
                }
                None => others.push(format!("{line}: {method} gives none")),
            }
        }
    }
    Ok(if others.is_empty() { Finding::yes("each of 3") } else { Finding::differs(others.join("; ")) })
}

/// Writes the digits as one part, and completes that with this checksum of the whole.
async fn completed(room: &mut Room, key: &str, sum: &str) -> Result<Reply, Finding> {
    let start = Request::post(key, b"").flag("uploads").line("x-amz-checksum-algorithm", "CRC64NVME");
    let upload = begin_by(room, start.line("x-amz-checksum-type", "FULL_OBJECT")).await?;
    let part = room.prepare(sending(key, &upload, 1, DIGITS).line(LINE, CRC64)).await?;
    let mut request = completion(key, &upload, &[(1, bare(part.line("etag")))]);
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let of_part = format!("<ChecksumCRC64NVME>{CRC64}</ChecksumCRC64NVME></Part>");
    request.body = text.replace("</Part>", &of_part).into_bytes();
    complete(room, request.line(LINE, sum).line("x-amz-checksum-type", "FULL_OBJECT")).await
}

async fn of_whole(room: &mut Room) -> Found {
    let (right, wrong) = (room.key("right"), room.key("wrong"));
    let reply = completed(room, &right, CRC64).await?;
    let seen = format!("the completion with the right checksum gave {}", status_of(&reply));
    match reply.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("not offered: {seen}"))),
        _ => return Ok(Finding::no(seen)),
    }
    if room.content(&right).await?.as_deref() != Some(DIGITS) {
        return Ok(Finding::no("the object has other bytes than the part"));
    }
    let head = room.given(Request::head(&right).line("x-amz-checksum-mode", "ENABLED")).await?;
    let given = head.line(LINE).map(str::to_owned);
    if given.as_deref().is_some_and(|given| given != CRC64) {
        return Ok(Finding::no(format!("another one is given back: {}", stated(given))));
    }
    let reply = completed(room, &wrong, OTHER_CRC64).await?;
    other_one(room, &wrong, &reply, given.as_deref()).await
}

async fn attributes(room: &mut Room) -> Found {
    let (key, content) = (room.key("attributes"), pattern(4321, 281));
    let etag = bare(room.write(&key, &content).await?.line("etag"));
    let request = Request::get(&key).flag("attributes").line("x-amz-object-attributes", "ETag,ObjectSize");
    let reply = room.send(request).await?;
    Ok(judged(&reply, &content, &etag))
}

fn judged(reply: &Reply, content: &[u8], etag: &str) -> Finding {
    let seen = status_of(reply);
    match reply.status {
        200..=299 if reply.body == content => {
            return Finding::differs(format!("not offered: {seen} with the object itself"));
        }
        200..=299 => {}
        400..=499 | 501 => return Finding::differs(format!("not offered: {seen}")),
        _ => return Finding::no(format!("the store failed: {seen}")),
    }
    let size = xml::text(&reply.body, "ObjectSize");
    let own = xml::text(&reply.body, "ETag");
    let said = format!("ObjectSize {}, ETag {}", stated(size.as_deref()), stated(own.as_deref()));
    let is_wrong = |said: Option<&str>, right: &str| said.is_some_and(|own| own != right);
    let bare_own = own.as_deref().map(|own| bare(Some(own)));
    if is_wrong(size.as_deref(), &content.len().to_string()) || is_wrong(bare_own.as_deref(), etag) {
        return Finding::no(format!("{said}, and not {} and {etag}", content.len()));
    }
    if size.is_some() && own.as_deref() == Some(etag) { Finding::yes(said) } else { Finding::differs(said) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn attributes_are_those_of_the_object_or_not_offered() {
        let of = |status: u16, body: &str| {
            let reply = Reply { status, body: body.as_bytes().to_vec(), ..Reply::default() };
            judged(&reply, b"12345", "abc").answer
        };
        for (body, answer) in [
            ("<A><ETag>abc</ETag><ObjectSize>5</ObjectSize></A>", Answer::Yes),
            ("<A><ETag>&quot;abc&quot;</ETag><ObjectSize>5</ObjectSize></A>", Answer::Differs),
            ("<A><ObjectSize>5</ObjectSize></A>", Answer::Differs),
            ("<A><ETag>abc</ETag><ObjectSize>7</ObjectSize></A>", Answer::No),
            ("<A><ETag>abd</ETag><ObjectSize>5</ObjectSize></A>", Answer::No),
            ("12345", Answer::Differs),
        ] {
            assert_eq!(of(200, body), answer, "{body}");
        }
        assert_eq!(
            [501, 405, 500].map(|status| of(status, "")),
            [Answer::Differs, Answer::Differs, Answer::No]
        );
    }
}
