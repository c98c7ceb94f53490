//! What newer programs ask of an object beside its bytes: the checksum that newer SDKs send unasked, and attributes
//! without a read. Source: S3 API, PutObject and GetObjectAttributes; user guide, "Checking object integrity".

use cosmark_adaptor_api::Reply;

use super::integrity::bare;
use super::{Group, Question, S3, by, pattern, row, stated};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;
use crate::xml;

const KEPT: (Group, super::Of) = (Group::Integrity, S3);

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.checksum.crc64nvme",
        KEPT,
        (
            "Is a CRC64NVME looked at when it comes with a write, and given back?",
            "200 and given back for the right one; 400 BadDigest or XAmzContentChecksumMismatch for another",
            "S3 user guide, Checking object integrity",
        ),
        by!(crc64nvme),
    ),
    row(
        "s3.attributes",
        KEPT,
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

async fn crc64nvme(room: &mut Room) -> Found {
    let (right, wrong) = (room.key("right"), room.key("wrong"));
    let reply = room.send(Request::put(&right, b"123456789").line(LINE, CRC64)).await?;
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
    let finding = refused(&reply, 400, &["BadDigest", "XAmzContentChecksumMismatch"]);
    if reply.is_success() {
        return Ok(match given {
            // Who says nothing of it has promised nothing.
            None => Finding::differs(format!("not offered: it is not looked at, {}", reply.status)),
            Some(_) => Finding::no(format!("it is given back, and a wrong one is taken: {}", reply.status)),
        });
    }
    if room.content(&wrong).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    Ok(match given {
        Some(_) => finding,
        None => Finding::differs(format!("none is given back; another one: {}", finding.saw)),
    })
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
