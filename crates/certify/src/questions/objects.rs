//! What stands beside an object's bytes: dates, sizes and metadata, and what a write that is refused leaves of the
//! object that was there. Source: S3 API, PutObject, HeadObject, ListObjectsV2.

use std::time::{Duration, Instant};

use super::errors::with_trailer;
use super::integrity::{CRC, bare, md5_base64};
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::moment;
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;
use crate::xml;

const BESIDE: (Group, super::Of) = (Group::Integrity, S3);
/// Dates have whole seconds.
const A_SECOND: Duration = Duration::from_millis(1100);
/// A listing and HEAD may round a date to the second before and behind it, s.
const MOST_APART_S: u64 = 2;
/// A date of a write a moment ago may be so far from that of the answer which tells of it: clocks of a store's machines
/// differ. Farther is no matter of clocks that are set, s.
const CLOCKS_S: u64 = 5;
const MOST_OFF_S: u64 = 60;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.modified",
        BESIDE,
        (
            "Does Last-Modified move with an overwrite, is it the time of that, and say the listing and HEAD the same?",
            "a later date, about that of the answer, and the same in both but for rounding: backups copy by it",
            "S3 API, HeadObject and ListObjectsV2",
        ),
        by!(modified),
    ),
    row(
        "s3.listing.overwritten",
        BESIDE,
        (
            "Does a listing tell the size and the ETag of the last write?",
            "those of the overwrite, as soon as it is acknowledged",
            "S3 user guide, Amazon S3 data consistency model",
        ),
        by!(listed_after_overwrite),
    ),
    row(
        "s3.metadata.long",
        BESIDE,
        (
            "Does a long value of user metadata come back whole?",
            "1500 bytes, byte for byte (2 KB are allowed)",
            "S3 API, PutObject; user guide, Working with object metadata",
        ),
        by!(long_metadata),
    ),
    row(
        "s3.write.refused-stays",
        BESIDE,
        (
            "Does an overwrite that is refused for its Content-MD5 leave the object that was there?",
            "the old bytes, ETag and metadata",
            "S3 API, PutObject",
        ),
        by!(refused_stays),
    ),
    row(
        "s3.metadata.signs",
        BESIDE,
        (
            "Does user metadata come back as it was written: capitals, quotes, signs of lists and of escapes?",
            "the value, byte for byte: nobody decodes it",
            "S3 API, PutObject; user guide, Working with object metadata",
        ),
        by!(signs_of_metadata),
    ),
    row(
        "s3.response-headers.others",
        BESIDE,
        (
            "Do the other response-* parameters replace lines of one answer, and of no later one?",
            "Cache-Control, Content-Disposition, Content-Encoding, Content-Language and Expires as asked; then the \
             object's own",
            "S3 API, GetObject",
        ),
        by!(response_lines),
    ),
    row(
        "s3.storage-class",
        BESIDE,
        (
            "Is a storage class refused that does not exist?",
            "400 InvalidStorageClass, and nothing is written; STANDARD is taken",
            "S3 API, PutObject",
        ),
        by!(storage_class),
    ),
    row(
        "s3.write.in-chunks",
        BESIDE,
        (
            "Is the frame in which a body came no part of the object, nor of its Content-Encoding?",
            "the bytes alone, and the Content-Encoding without aws-chunked: the default of newer SDKs",
            "S3 API, PutObject; Signature calculations, chunked upload",
        ),
        by!(in_chunks),
    ),
];

/// What HEAD says of the date of an object and of its own, and what the listing says of that of the object.
struct Dates {
    modified: Option<String>,
    now: Option<String>,
    listed: Option<String>,
}

async fn dates(room: &mut Room, key: &str) -> Result<Dates, Finding> {
    let head = room.given(Request::head(key)).await?;
    let [modified, now] = ["last-modified", "date"].map(|name| head.line(name).map(str::to_owned));
    let reply = room.given(Request::get("").query("list-type", "2").query("prefix", key)).await?;
    Ok(Dates { modified, now, listed: xml::text(&reply.body, "LastModified") })
}

async fn modified(room: &mut Room) -> Found {
    let key = room.key("modified");
    room.write(&key, b"first").await?;
    let Some(before) = dates(room, &key).await?.modified else {
        return Ok(Finding::differs("HEAD gives no Last-Modified"));
    };
    tokio::time::sleep(A_SECOND).await;
    let began = Instant::now();
    room.write(&key, b"second").await?;
    let after = dates(room, &key).await?;
    Ok(judged(&before, &after, began.elapsed().as_secs()))
}

/// The dates of an object whose overwrite and these answers took so long.
fn judged(before: &str, after: &Dates, took_s: u64) -> Finding {
    let Some(modified) = after.modified.as_deref() else {
        return Finding::no("HEAD gives no Last-Modified after the overwrite");
    };
    if before == modified {
        return Finding::no(format!("{before}, and the same after an overwrite a second later"));
    }
    let modified_s = moment::of_http(modified);
    let off_s = modified_s.zip(after.now.as_deref().and_then(moment::of_http));
    // The date may be that of the begin of a write that took long.
    let off_s = off_s.map_or(0, |(modified_s, now_s)| modified_s.abs_diff(now_s).saturating_sub(took_s));
    if off_s > MOST_OFF_S {
        let now = stated(after.now.as_deref());
        return Finding::no(format!("written a moment ago, HEAD {modified}, and it is {now}"));
    }
    let Some(listed) = after.listed.as_deref() else {
        return Finding::differs("the listing gives no LastModified");
    };
    let seen = format!("HEAD {modified}, listing {listed}");
    match modified_s.zip(moment::of_rfc3339(listed)) {
        Some((head, list)) if head.abs_diff(list) > MOST_APART_S => Finding::no(seen),
        Some(_) if off_s <= CLOCKS_S => Finding::yes(seen),
        Some(_) => Finding::differs(format!("{seen}, {off_s} s from the date of the answer")),
        None => Finding::differs(format!("{seen}, of which one is no date")),
    }
}

async fn listed_after_overwrite(room: &mut Room) -> Found {
    let key = room.key("listed");
    for length in [4000, 250, 7000] {
        let written = bare(room.write(&key, &pattern(length, length as u64 + 3)).await?.line("etag"));
        let reply = room.given(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
        let (size, etag) = (xml::text(&reply.body, "Size"), bare(xml::text(&reply.body, "ETag").as_deref()));
        if size != Some(length.to_string()) {
            return Ok(Finding::no(format!(
                "{length} bytes were written, the listing says {}",
                stated(size)
            )));
        }
        if etag != written && etag != "none" && written != "none" {
            return Ok(Finding::no(format!("the write has the ETag {written}, the listing {etag}")));
        }
    }
    Ok(Finding::yes("3 writes"))
}

async fn long_metadata(room: &mut Room) -> Found {
    let key = room.key("long");
    // No two stretches are alike, so that a value that was cut and filled up is another one.
    let value: String = (0..300).map(|at| format!("{at:04}-")).collect();
    let reply = room.send(Request::put(&key, b"x").line("x-amz-meta-long", value.as_str())).await?;
    if !reply.is_success() {
        let seen = format!("refused by {}", status_of(&reply));
        return Ok(if reply.status < 500 { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let head = room.given(Request::head(&key)).await?;
    let back = head.line("x-amz-meta-long").unwrap_or_default();
    Ok(difference(value.as_bytes(), back.as_bytes()).map_or_else(|| Finding::yes("1500 bytes"), Finding::no))
}

async fn refused_stays(room: &mut Room) -> Found {
    let (key, content) = (room.key("stays"), pattern(9000, 171));
    let first = Request::put(&key, &content).line("x-amz-meta-a", "first");
    let etag = bare(room.prepare(first).await?.line("etag"));
    let second = Request::put(&key, &pattern(5000, 172))
        .line("content-md5", md5_base64(b"others"))
        .line("x-amz-meta-a", "second");
    let reply = room.send(second).await?;
    if reply.is_success() {
        return Ok(Finding::not_asked("the overwrite is not refused, which is another question"));
    }
    let read = room.send(Request::get(&key)).await?;
    let seen = status_of(&reply);
    if read.status != 200 {
        return Ok(Finding::no(format!("refused by {seen}, and a read gives {}", status_of(&read))));
    }
    if let Some(wrong) = difference(&content, &read.body) {
        return Ok(Finding::no(format!("refused by {seen}, and the object is another one: {wrong}")));
    }
    let (meta, now) = (read.line("x-amz-meta-a"), bare(read.line("etag")));
    let is_same = meta.is_none_or(|meta| meta == "first") && now == etag;
    Ok(Finding::holds(
        is_same,
        format!("refused by {seen}; every byte, ETag {now}, x-amz-meta-a {}", stated(meta)),
    ))
}

async fn signs_of_metadata(room: &mut Room) -> Found {
    const VALUE: &str = "Mixed CASE, a;b=\"c\" %C3%A4%2f + / =~";
    let key = room.key("signs");
    let reply = room.send(Request::put(&key, b"x").line("x-amz-meta-signs-1", VALUE)).await?;
    if !reply.is_success() {
        let seen = format!("refused by {}", status_of(&reply));
        return Ok(match reply.status {
            400..=499 | 501 => Finding::differs(seen),
            _ => Finding::no(seen),
        });
    }
    let head = room.given(Request::head(&key)).await?;
    let back = head.line("x-amz-meta-signs-1");
    Ok(Finding::holds(back == Some(VALUE), stated(back)))
}

/// Lines of an answer, the parameters that replace them, and a value.
const OVERRIDES: [(&str, &str, &str); 5] = [
    ("cache-control", "response-cache-control", "max-age=9"),
    ("content-disposition", "response-content-disposition", "attachment; filename=asked.txt"),
    ("content-encoding", "response-content-encoding", "x-asked"),
    ("content-language", "response-content-language", "sw"),
    ("expires", "response-expires", "Thu, 01 Jan 2037 00:00:00 GMT"),
];

async fn response_lines(room: &mut Room) -> Found {
    let key = room.key("overrides");
    room.prepare(Request::put(&key, b"x").line("cache-control", "max-age=7")).await?;
    let request =
        OVERRIDES.iter().fold(Request::get(&key), |request, (_, name, value)| request.query(name, *value));
    let reply = room.send(request).await?;
    match reply.status {
        200 if reply.body == b"x" => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("refused by {}", status_of(&reply)))),
        _ => return Ok(Finding::no(format!("{} with {} bytes", status_of(&reply), reply.body.len()))),
    }
    let later = room.send(Request::get(&key)).await?;
    let stays = OVERRIDES.iter().find(|(line, _, value)| later.line(line) == Some(value));
    if let Some((line, _, value)) = stays {
        return Ok(Finding::no(format!("{line} is {value} in an answer that was not asked for it")));
    }
    let others: Vec<String> = OVERRIDES
        .iter()
        .filter(|(line, _, value)| reply.line(line) != Some(value))
        .map(|(line, ..)| format!("{line} is {}", stated(reply.line(line))))
        .collect();
    Ok(if others.is_empty() { Finding::yes("all five") } else { Finding::differs(others.join(", ")) })
}

async fn storage_class(room: &mut Room) -> Found {
    let key = room.key("class");
    let of_class = |body: &[u8], class: &str| Request::put(&key, body).line("x-amz-storage-class", class);
    let standard = room.send(of_class(b"first", "STANDARD")).await?;
    if !standard.is_success() {
        let seen = format!("STANDARD is refused by {}", status_of(&standard));
        return Ok(match standard.status {
            400..=499 | 501 => Finding::differs(seen),
            _ => Finding::no(seen),
        });
    }
    let reply = room.send(of_class(b"second", "COSMARK_HAS_NONE")).await?;
    if reply.is_success() {
        return Ok(Finding::differs("it takes any name for one"));
    }
    let finding = refused(&reply, 400, &["InvalidStorageClass"]);
    match room.content(&key).await?.as_deref() {
        Some(b"first") => Ok(finding),
        _ => Ok(Finding::no(format!("{}, and the object is not what it was", finding.saw))),
    }
}

async fn in_chunks(room: &mut Room) -> Found {
    let key = room.key("chunks");
    let reply = room.send(with_trailer(&key, CRC, "x-own,aws-chunked")).await?;
    if !reply.is_success() {
        let seen = format!("it takes no body in such a frame: {}", status_of(&reply));
        return Ok(match reply.status {
            400..=499 | 501 => Finding::differs(seen),
            _ => Finding::no(seen),
        });
    }
    let read = room.given(Request::get(&key)).await?;
    if let Some(wrong) = difference(b"123456789", &read.body) {
        return Ok(Finding::no(format!("the frame of the body became part of the object: {wrong}")));
    }
    let coding = read.line("content-encoding");
    Ok(Finding::holds(coding == Some("x-own"), format!("every byte; Content-Encoding is {}", stated(coding))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn dates_are_those_of_the_write_in_head_and_in_the_listing_also_over_midnight() {
        const NOW: &str = "Sat, 28 Nov 2026 00:00:00 GMT";
        let of_slow = |modified: &str, now: Option<&str>, listed: &str, took_s: u64| {
            let [modified, listed] = [modified, listed].map(|text| Some(text.to_owned()));
            let after = Dates { modified, now: now.map(str::to_owned), listed };
            judged("Fri, 27 Nov 2026 23:59:50 GMT", &after, took_s).answer
        };
        let of = |modified: &str, now: Option<&str>, listed: &str| of_slow(modified, now, listed, 0);
        let modified = "Fri, 27 Nov 2026 23:59:59 GMT";
        for (modified, now, listed, answer) in [
            (modified, Some(NOW), "2026-11-28T00:00:00.250Z", Answer::Yes),
            (modified, None, "2026-11-27T23:59:58Z", Answer::Yes),
            // At this time of another day.
            (modified, Some(NOW), "2026-11-26T23:59:59Z", Answer::No),
            (modified, Some(NOW), "2026-11-27T23:59:50Z", Answer::No),
            (modified, Some(NOW), "yesterday", Answer::Differs),
            // Another zone of time, in both.
            ("Fri, 27 Nov 2026 22:59:59 GMT", Some(NOW), "2026-11-27T22:59:59Z", Answer::No),
            ("Sat, 28 Nov 2026 01:00:00 GMT", Some(NOW), "2026-11-28T01:00:00Z", Answer::No),
            ("Fri, 27 Nov 2026 23:59:40 GMT", Some(NOW), "2026-11-27T23:59:40Z", Answer::Differs),
            ("Fri, 27 Nov 2026 23:59:50 GMT", Some(NOW), "2026-11-27T23:59:50Z", Answer::No),
        ] {
            assert_eq!(of(modified, now, listed), answer, "{modified}, {now:?}, {listed}");
        }
        // A slow store says when the write began.
        let (slow, listed) = ("Fri, 27 Nov 2026 23:59:46 GMT", "2026-11-27T23:59:46.999Z");
        for (took_s, answer) in [(8, Answer::Differs), (9, Answer::Yes), (20, Answer::Yes)] {
            assert_eq!(of_slow(slow, Some(NOW), listed, took_s), answer, "{took_s}");
        }
    }
}
