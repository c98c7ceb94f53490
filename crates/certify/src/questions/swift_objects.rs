//! What stands in Swift's answers beside the bytes of an object, parts of it as header lines ask for them, when it
//! goes, and a copy by a method of its own. Source: OpenStack Object Storage API v1 reference.

use super::conditional::{DATED, on_dates};
use super::integrity::{NO_METADATA, head_is_the_same};
use super::operations::late;
use super::ranges::{beyond_end, ends, several, suffix, suffix_longer};
use super::{Group, Question, SWIFT, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const API: &str = "OpenStack Object Storage API";
const BESIDE: (Group, super::Of) = (Group::Integrity, SWIFT);
const RANGE: (Group, super::Of) = (Group::Ranges, SWIFT);
const RFC: &str = "RFC 9110, section 14; OpenStack Object Storage API";

pub(super) const ROWS: &[Question] = &[
    row(
        "swift.same",
        BESIDE,
        (
            "Does HEAD say of an object what its read says?",
            "the same ETag, length, type, date and metadata",
            "RFC 9110, section 9.3.2",
        ),
        by!(head_is_the_same),
    ),
    row(
        "swift.content-headers",
        BESIDE,
        (
            "Do Content-Type, Cache-Control, Content-Disposition and Content-Encoding come back?",
            "as they were written",
            API,
        ),
        by!(content_lines),
    ),
    row(
        "swift.overwrite.metadata",
        BESIDE,
        ("Does an overwrite drop the metadata of before?", "none of it is left", API),
        by!(overwritten),
    ),
    row(
        "swift.range.ends",
        RANGE,
        (
            "Do ranges of the first byte, of the last one and of all give these bytes and no others?",
            "206, the bytes and their Content-Range, each of 5 ranges",
            RFC,
        ),
        by!(ends),
    ),
    row(
        "swift.range.suffix",
        RANGE,
        ("Does `bytes=-100` give the last 100 bytes?", "206, Content-Range bytes 900-999/1000", RFC),
        by!(suffix),
    ),
    row(
        "swift.range.suffix-longer",
        RANGE,
        (
            "Does `bytes=-5000` give all of an object of 1000 bytes?",
            "206, Content-Range bytes 0-999/1000",
            RFC,
        ),
        by!(suffix_longer),
    ),
    row(
        "swift.range.beyond-end",
        RANGE,
        ("Is a range cut that ends behind the object?", "206, Content-Range bytes 900-999/1000", RFC),
        by!(beyond_end),
    ),
    row(
        "swift.range.several",
        RANGE,
        (
            "Does a read of two ranges give both, or all of the object?",
            "206 with both as multipart/byteranges; or 200 and the whole object",
            RFC,
        ),
        by!(several),
    ),
    row(
        "swift.read.if-modified",
        (Group::Conditions, SWIFT),
        ("Are If-Modified-Since and If-Unmodified-Since honoured?", DATED, "RFC 9110, section 13"),
        by!(read_if_modified),
    ),
    row(
        "swift.delete-at.past",
        BESIDE,
        (
            "Is X-Delete-At refused that is over, and stored as it is where it is not?",
            "400, and nothing is written; the time as it was written, and the object is there",
            API,
        ),
        by!(delete_at),
    ),
    row(
        "swift.copy.verb",
        (Group::Operations, SWIFT),
        (
            "Does COPY with a Destination copy an object, and leave its source?",
            "201, and the bytes in both",
            "OpenStack Object Storage API, Copy object",
        ),
        by!(copied),
    ),
];

const LINES: [(&str, &str); 4] = [
    ("content-type", "text/x-cosmark"),
    ("cache-control", "max-age=7"),
    ("content-disposition", "attachment; filename=a.txt"),
    ("content-encoding", "x-own"),
];

async fn content_lines(room: &mut Room) -> Found {
    let key = room.key("lines");
    let request =
        LINES.iter().fold(Request::put(&key, b"x"), |request, (name, value)| request.line(name, *value));
    room.prepare(request).await?;
    let head = room.given(Request::head(&key)).await?;
    let mut lacks = Vec::new();
    for (name, value) in LINES {
        match head.line(name) {
            Some(own) if own == value => {}
            // Which lines beside the type are taken is for the store's operator to say.
            None if name != "content-type" => lacks.push(name),
            own => return Ok(Finding::no(format!("{name} is {}", stated(own)))),
        }
    }
    Ok(if lacks.is_empty() {
        Finding::yes("all four")
    } else {
        Finding::differs(format!("it does not take {}", lacks.join(", ")))
    })
}

async fn overwritten(room: &mut Room) -> Found {
    let key = room.key("meta");
    room.prepare(Request::put(&key, b"x").line("x-object-meta-a", "old")).await?;
    if room.given(Request::head(&key)).await?.line("x-object-meta-a").is_none() {
        return Ok(Finding::not_asked(NO_METADATA));
    }
    room.write(&key, b"y").await?;
    let now = room.given(Request::get(&key)).await?;
    let own = now.line("x-object-meta-a");
    let seen = format!("{} with X-Object-Meta-A {}", String::from_utf8_lossy(&now.body), stated(own));
    Ok(match own {
        None => Finding::yes("none of it is left"),
        Some(_) if now.body == b"y" => Finding::no(seen),
        // A read that is behind has the byte of before, too.
        Some(_) => late(room, seen),
    })
}

async fn read_if_modified(room: &mut Room) -> Found {
    let key = room.key("conditional");
    room.write(&key, b"first").await?;
    on_dates(room, &key, "GET").await
}

/// A time that is over, and one that is not.
const OVER: &str = "1000000000";
const LATER: &str = "4102444800";

async fn delete_at(room: &mut Room) -> Found {
    let (over, later) = (room.key("over"), room.key("later"));
    let reply = room.send(Request::put(&over, b"x").line("x-delete-at", OVER)).await?;
    let finding = refused(&reply, 400, &[]);
    if !reply.is_success() && room.content(&over).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    let reply = room.send(Request::put(&later, b"x").line("x-delete-at", LATER)).await?;
    if !reply.is_success() {
        let seen = format!("one of the year 2100 is refused by {}", status_of(&reply));
        let is_refused = reply.status < 500 || reply.status == 501;
        return Ok(if is_refused { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let head = room.given(Request::head(&later)).await?;
    Ok(match head.line("x-delete-at") {
        Some(own) if own == LATER => finding,
        own => Finding::no(format!("{LATER} was written, X-Delete-At is {}", stated(own))),
    })
}

async fn copied(room: &mut Room) -> Found {
    let (from, to, content) = (room.key("from"), room.key("to"), pattern(3000, 371));
    room.write(&from, &content).await?;
    let destination = format!("{}/{to}", room.container);
    // The listing might not show it.
    room.written.push(to.clone());
    let reply = room.send(Request::new("COPY", &from).line("destination", destination)).await?;
    let seen = status_of(&reply);
    match reply.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("refused by {seen}"))),
        _ => return Ok(Finding::no(format!("the store failed: {seen}"))),
    }
    for (what, key) in [("the copy", &to), ("the source", &from)] {
        let Some(now) = room.content(key).await? else {
            return Ok(Finding::no(format!("{seen}, and {what} is not there")));
        };
        if let Some(wrong) = difference(&content, &now) {
            return Ok(Finding::no(format!("{what}: {wrong}")));
        }
    }
    Ok(if reply.status == 201 {
        Finding::yes("201, and both have the bytes")
    } else {
        Finding::differs(seen)
    })
}
