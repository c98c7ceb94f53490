//! What stands beside an object's bytes: dates, sizes and metadata, and what a write that is refused leaves of the
//! object that was there. Source: S3 API, PutObject, HeadObject, ListObjectsV2.

use std::time::Duration;

use super::integrity::{bare, md5_base64};
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;
use crate::xml;

const BESIDE: (Group, super::Of) = (Group::Integrity, S3);
/// Dates have whole seconds.
const A_SECOND: Duration = Duration::from_millis(1100);
/// A listing and HEAD may round a date to the second before and behind it, s.
const MOST_APART_S: i64 = 2;
const DAY_S: i64 = 86_400;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.modified",
        BESIDE,
        (
            "Does Last-Modified move with an overwrite, and say the listing and HEAD the same?",
            "a later date, and the same in both but for rounding: backups copy what has changed by it",
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
];

/// Seconds of the day of `Fri, 27 Nov 2026 01:52:16 GMT` or `2026-11-27T01:52:16.123Z`.
fn second_of_day(date: &str) -> Option<i64> {
    let at = date.find(':')?.checked_sub(2)?;
    let numbers: Option<Vec<i64>> = date.get(at..at + 8)?.split(':').map(|part| part.parse().ok()).collect();
    let [hours, minutes, seconds] = numbers?[..] else { return None };
    Some((hours * 60 + minutes) * 60 + seconds)
}

/// How far two times of a day are from each other, s, over midnight, too.
fn apart_s(one: i64, other: i64) -> i64 {
    let apart = (one - other).rem_euclid(DAY_S);
    apart.min(DAY_S - apart)
}

async fn dates(room: &mut Room, key: &str) -> Result<(Option<String>, Option<String>), Finding> {
    let head = room.send(Request::head(key)).await?.line("last-modified").map(str::to_owned);
    let reply = room.send(Request::get("").query("list-type", "2").query("prefix", key)).await?;
    Ok((head, xml::text(&reply.body, "LastModified")))
}

async fn modified(room: &mut Room) -> Found {
    let key = room.key("modified");
    room.write(&key, b"first").await?;
    let (Some(before), _) = dates(room, &key).await? else {
        return Ok(Finding::differs("HEAD gives no Last-Modified"));
    };
    tokio::time::sleep(A_SECOND).await;
    room.write(&key, b"second").await?;
    let (Some(after), listed) = dates(room, &key).await? else {
        return Ok(Finding::no("HEAD gives no Last-Modified after the overwrite"));
    };
    if before == after {
        return Ok(Finding::no(format!("{before}, and the same after an overwrite a second later")));
    }
    let Some(listed) = listed else {
        return Ok(Finding::differs("the listing gives no LastModified"));
    };
    let both = second_of_day(&after).zip(second_of_day(&listed));
    let seen = format!("HEAD {after}, listing {listed}");
    Ok(match both {
        Some((head, list)) => Finding::holds(apart_s(head, list) <= MOST_APART_S, seen),
        None => Finding::differs(seen),
    })
}

async fn listed_after_overwrite(room: &mut Room) -> Found {
    let key = room.key("listed");
    for length in [4000, 250, 7000] {
        let written = bare(room.write(&key, &pattern(length, length as u64 + 3)).await?.line("etag"));
        let reply = room.send(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
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
    let head = room.send(Request::head(&key)).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_a_listing_and_of_an_answer_are_compared_by_their_seconds_also_over_midnight() {
        let [http, iso] = ["Fri, 27 Nov 2026 23:59:59 GMT", "2026-11-28T00:00:00.250Z"];
        let both = second_of_day(http).zip(second_of_day(iso));
        assert_eq!(both, Some((86_399, 0)));
        assert_eq!(both.map(|(one, other)| (apart_s(one, other), apart_s(other, one))), Some((1, 1)));
        assert_eq!(apart_s(100, 3700), 3600);
        for wrong in ["", ":", "yesterday", "2026-11-28", "T1:2:3"] {
            assert_eq!(second_of_day(wrong), None, "{wrong}");
        }
    }
}
