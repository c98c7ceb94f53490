//! Ranges as header lines. Source: RFC 9110, section 14; S3 API, GetObject.

use cosmark_adaptor_api::Reply;

use super::integrity::bare;
use super::{Group, Question, S3, by, difference, pattern, row};
use crate::Answer;
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const RANGE: (Group, super::Of) = (Group::Ranges, S3);
const RFC: &str = "RFC 9110, section 14; S3 API, GetObject";
/// Bytes of the object that is read.
const LENGTH: usize = 1000;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.range.suffix",
        RANGE,
        ("Does `bytes=-100` give the last 100 bytes?", "206, Content-Range bytes 900-999/1000", RFC),
        by!(suffix),
    ),
    row(
        "s3.range.suffix-longer",
        RANGE,
        (
            "Does `bytes=-5000` give all of an object of 1000 bytes?",
            "206, Content-Range bytes 0-999/1000",
            RFC,
        ),
        by!(suffix_longer),
    ),
    row(
        "s3.range.open",
        RANGE,
        ("Does `bytes=900-` give all from byte 900?", "206, Content-Range bytes 900-999/1000", RFC),
        by!(open),
    ),
    row(
        "s3.range.beyond-end",
        RANGE,
        ("Is a range cut that ends behind the object?", "206, Content-Range bytes 900-999/1000", RFC),
        by!(beyond_end),
    ),
    row(
        "s3.range.unsatisfiable",
        RANGE,
        ("Is a range refused that begins behind the object?", "416 InvalidRange", RFC),
        by!(unsatisfiable),
    ),
    row(
        "s3.range.nonsense",
        RANGE,
        ("Is a Range line ignored that is none?", "200 and the whole object", RFC),
        by!(nonsense),
    ),
    row(
        "s3.range.if-match",
        RANGE,
        (
            "Is If-Match honoured when a part is read, so that a download that goes on mixes no two versions?",
            "206 for its ETag, 412 PreconditionFailed for the ETag of a version that was replaced",
            "RFC 9110, sections 13.1.1 and 14.2; S3 API, GetObject",
        ),
        by!(if_match),
    ),
    row(
        "s3.range.of-empty",
        RANGE,
        ("Is a range of an object of 0 bytes refused?", "416 InvalidRange", RFC),
        by!(of_empty),
    ),
    row(
        "s3.range.if-range",
        RANGE,
        (
            "Does If-Range give a part of the version that it names, and all of any other?",
            "206 for its ETag, 200 and the whole object for the ETag of a version that was replaced",
            "RFC 9110, section 13.1.5; S3's own documents do not name it",
        ),
        by!(if_range),
    ),
    row(
        "s3.range.head",
        RANGE,
        (
            "Does HEAD say of a part which bytes and how many its read would give?",
            "Content-Range bytes 100-299/1000, and a length of 200",
            "S3 API, HeadObject",
        ),
        by!(head),
    ),
    row(
        "s3.range.ends",
        RANGE,
        (
            "Do ranges of the first byte, of the last one and of all give these bytes and no others?",
            "206, the bytes and their Content-Range, each of 5 ranges",
            RFC,
        ),
        by!(ends),
    ),
    row(
        "s3.range.several",
        RANGE,
        (
            "Does a read of two ranges give all of the object, or both?",
            "200 and the whole object: S3 gives one range at a time; or 206 with both as multipart/byteranges",
            RFC,
        ),
        by!(several),
    ),
];

/// A refusal of one range that has bytes of the object. A store may do without ranges and say so (RFC 9110, section
/// 14.2); but 416 says of these bytes that they are not there (section 15.5.17), and who goes on with a download
/// believes that it is whole.
fn not_given(reply: &Reply) -> Finding {
    let seen = status_of(reply);
    match reply.status {
        416 => Finding::no(format!("{seen}: it says that these bytes are not there")),
        400 | 405 | 501 => Finding::differs(format!("the range is refused by {seen}")),
        _ => Finding::no(seen),
    }
}

/// What Content-Range says of a part with the right bytes. A part without it, or that leaves the length open, can be
/// used; one that is said to be another one is put elsewhere by who puts parts together, or is taken for the end.
fn placed(reply: &Reply, (first, last): (usize, usize), length: usize) -> Finding {
    let Some(said) = reply.line("content-range") else {
        return Finding::differs("the bytes are right, there is no Content-Range");
    };
    let is = |length: &str| said.eq_ignore_ascii_case(&format!("bytes {first}-{last}/{length}"));
    if is(&length.to_string()) {
        return Finding::yes("206");
    }
    let seen = format!("the bytes are right, Content-Range is {said}");
    if is("*") { Finding::differs(seen) } else { Finding::no(seen) }
}

/// Reads ranges, each from its first byte to its last one, of an object with this content.
pub(super) async fn each_of(room: &mut Room, key: &str, content: &[u8], all: &[(usize, usize)]) -> Found {
    for (first, last) in all.iter().copied() {
        let reply = room.send(Request::get(key).line("range", format!("bytes={first}-{last}"))).await?;
        match reply.status {
            206 => {}
            200 => return Ok(Finding::differs("200: the range is not honoured")),
            _ => {
                let finding = not_given(&reply);
                return Ok(Finding::new(finding.answer, format!("bytes {first}-{last}: {}", finding.saw)));
            }
        }
        if let Some(wrong) = difference(&content[first..=last], &reply.body) {
            return Ok(Finding::no(format!("bytes {first}-{last}: {wrong}")));
        }
        let finding = placed(&reply, (first, last), content.len());
        if finding.answer != Answer::Yes {
            return Ok(Finding::new(finding.answer, format!("bytes {first}-{last}: {}", finding.saw)));
        }
    }
    Ok(Finding::yes(format!("{} ranges", all.len())))
}

async fn read(room: &mut Room, range: &str) -> Result<(Reply, Vec<u8>), Finding> {
    let (key, content) = (room.key("range"), pattern(LENGTH, 11));
    room.write(&key, &content).await?;
    let reply = room.send(Request::get(&key).line("range", range)).await?;
    Ok((reply, content))
}

async fn last_hundred(room: &mut Room, range: &str) -> Found {
    let (reply, content) = read(room, range).await?;
    let said = reply.line("content-range").unwrap_or("none").to_owned();
    Ok(match reply.status {
        206 if reply.body == content[900..] => placed(&reply, (900, 999), LENGTH),
        206 => Finding::no(format!("206 with other bytes; Content-Range is {said}")),
        200 => Finding::differs("200: the range is not honoured"),
        _ => not_given(&reply),
    })
}

pub(super) async fn suffix(room: &mut Room) -> Found {
    last_hundred(room, "bytes=-100").await
}

pub(super) async fn suffix_longer(room: &mut Room) -> Found {
    let (reply, content) = read(room, "bytes=-5000").await?;
    Ok(match reply.status {
        206 | 200 if reply.body != content => {
            Finding::no(format!("{} with {} other bytes", reply.status, reply.body.len()))
        }
        206 => placed(&reply, (0, LENGTH - 1), LENGTH),
        200 => Finding::differs("200: the range is not honoured"),
        _ => not_given(&reply),
    })
}

async fn open(room: &mut Room) -> Found {
    last_hundred(room, "bytes=900-").await
}

pub(super) async fn beyond_end(room: &mut Room) -> Found {
    last_hundred(room, "bytes=900-4999").await
}

async fn unsatisfiable(room: &mut Room) -> Found {
    let (reply, _) = read(room, "bytes=1000-1999").await?;
    Ok(refused(&reply, 416, &["InvalidRange"]))
}

async fn nonsense(room: &mut Room) -> Found {
    let (reply, content) = read(room, "bytes=b-a").await?;
    Ok(match reply.status {
        200 if reply.body == content => Finding::yes("200"),
        400..=499 => Finding::differs(format!("refused by {}", status_of(&reply))),
        _ => Finding::no(format!("{} with {} bytes", status_of(&reply), reply.body.len())),
    })
}

async fn if_match(room: &mut Room) -> Found {
    let (key, content) = (room.key("goes-on"), pattern(LENGTH, 12));
    let old = room.write(&key, &pattern(LENGTH, 13)).await?.line("etag").map(str::to_owned);
    let new = room.write(&key, &content).await?.line("etag").map(str::to_owned);
    let (Some(old), Some(new)) = (old, new) else {
        return Ok(Finding::not_asked("the store gives no ETag"));
    };
    let part = |etag: String| Request::get(&key).line("range", "bytes=500-999").line("if-match", etag);
    let right = room.send(part(new)).await?;
    let stale = room.send(part(old)).await?;
    let seen = format!("{} and {}", status_of(&right), status_of(&stale));
    Ok(match (right.status, stale.status) {
        (206, _) if right.body != content[500..] => Finding::no("206 with other bytes"),
        (_, 200 | 206) => Finding::no(format!("the condition is ignored: {seen}")),
        (206, 412) => Finding::yes(seen),
        (200, 412) => Finding::differs(format!("{seen}: the range is not honoured")),
        (206, 400..=499) => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

async fn of_empty(room: &mut Room) -> Found {
    let key = room.key("empty");
    room.write(&key, b"").await?;
    let reply = room.send(Request::get(&key).line("range", "bytes=0-9")).await?;
    Ok(match refused(&reply, 416, &["InvalidRange"]) {
        finding if reply.is_success() && reply.body.is_empty() => Finding::differs(finding.saw),
        finding => finding,
    })
}

async fn if_range(room: &mut Room) -> Found {
    let (key, content) = (room.key("goes-on"), pattern(LENGTH, 14));
    let old = room.write(&key, &pattern(LENGTH, 15)).await?.line("etag").map(str::to_owned);
    let new = room.write(&key, &content).await?.line("etag").map(str::to_owned);
    let (Some(old), Some(new)) = (old, new) else {
        return Ok(Finding::not_asked("the store gives no ETag"));
    };
    let part = |etag: &str| Request::get(&key).line("range", "bytes=500-999").line("if-range", etag);
    let right = room.send(part(&new)).await?;
    let stale = room.send(part(&old)).await?;
    for reply in [&right, &stale] {
        let is_other = match reply.status {
            206 => reply.body != content[500..],
            200 => reply.body != content,
            _ => false,
        };
        if is_other {
            return Ok(Finding::no(format!("{} with other bytes", reply.status)));
        }
    }
    let seen = format!("{} and {}", status_of(&right), status_of(&stale));
    Ok(match (right.status, stale.status) {
        (206, 200) => Finding::yes(seen),
        (206, 206) if bare(stale.line("etag")) == bare(Some(&new)) => {
            Finding::differs(format!("{seen}: it is not looked at; that it is another version the ETag says"))
        }
        (206, 206) => {
            Finding::no(format!("{seen}: it is not looked at, and no ETag says that it is another version"))
        }
        (200, 200) => Finding::differs(format!("{seen}: the range is not honoured")),
        (400..=499 | 501, _) | (_, 400..=499 | 501) => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

async fn head(room: &mut Room) -> Found {
    let key = room.key("head");
    room.write(&key, &pattern(LENGTH, 16)).await?;
    let reply = room.send(Request::head(&key).line("range", "bytes=100-299")).await?;
    let length = reply.line("content-length").unwrap_or("none");
    let said = reply.line("content-range").unwrap_or("none");
    let seen = format!("{}, length {length}, Content-Range {said}", status_of(&reply));
    Ok(match (reply.status, length, said) {
        (200 | 206, "200", "bytes 100-299/1000") => Finding::yes(seen),
        (200, "1000", "none") => Finding::differs(format!("{seen}: the range is not looked at")),
        // What is left out is not wrong.
        (200 | 206, "200" | "none", "none" | "bytes 100-299/1000") => Finding::differs(seen),
        (400..=499 | 501, ..) => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

pub(super) async fn ends(room: &mut Room) -> Found {
    let (key, content) = (room.key("ends"), pattern(LENGTH, 17));
    room.write(&key, &content).await?;
    let last = LENGTH - 1;
    let all =
        [("0-0", 0, 0), ("999-999", last, last), ("-1", last, last), ("0-", 0, last), ("0-999", 0, last)];
    let mut others = Vec::new();
    for (range, first, last) in all {
        let reply = room.send(Request::get(&key).line("range", format!("bytes={range}"))).await?;
        let wanted = &content[first..=last];
        match reply.status {
            206 if reply.body != wanted => {
                let bytes = reply.body.len();
                return Ok(Finding::no(format!("bytes={range}: 206 with {bytes} bytes, not those")));
            }
            206 => {
                let finding = placed(&reply, (first, last), LENGTH);
                let seen = format!("bytes={range}: {}", finding.saw);
                match finding.answer {
                    Answer::Yes => {}
                    Answer::No => return Ok(Finding::no(seen)),
                    _ => others.push(seen),
                }
            }
            // Who gives all where all is asked for has given it.
            200 if reply.body == content && wanted.len() == LENGTH => {}
            200 if reply.body == content => {
                others.push(format!("bytes={range}: 200: the range is not honoured"));
            }
            _ => {
                let finding = not_given(&reply);
                let seen = format!("bytes={range}: {}", finding.saw);
                if finding.answer == Answer::No {
                    return Ok(Finding::no(seen));
                }
                others.push(seen);
            }
        }
    }
    Ok(if others.is_empty() {
        Finding::yes(format!("{} ranges", all.len()))
    } else {
        Finding::differs(others.join("; "))
    })
}

pub(super) async fn several(room: &mut Room) -> Found {
    let (reply, content) = read(room, "bytes=0-9,990-999").await?;
    let said = reply.line("content-range").unwrap_or("none").to_owned();
    let is_of_parts = reply.line("content-type").is_some_and(|kind| kind.starts_with("multipart/byteranges"));
    let has = |part: &[u8]| reply.body.windows(part.len()).any(|window| window == part);
    let alone = [("bytes 0-9/1000", &content[..10]), ("bytes 990-999/1000", &content[990..])];
    Ok(match reply.status {
        200 if reply.body == content => Finding::yes("200"),
        206 if is_of_parts && has(&content[..10]) && has(&content[990..]) => {
            Finding::yes("206 with both of them")
        }
        206 if alone.iter().any(|(range, bytes)| said == *range && reply.body == *bytes) => {
            Finding::differs(format!("206 with one of them alone, as Content-Range says: {said}"))
        }
        // A set of ranges may be refused, also by 416 (RFC 9110, section 14.2): nothing is said of any of them.
        400..=499 | 501 => Finding::differs(format!("refused by {}", status_of(&reply))),
        status => Finding::no(format!("{status} with {} bytes, Content-Range is {said}", reply.body.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_without_ranges_differs_and_who_says_that_bytes_are_not_there_is_wrong() {
        for (status, answer) in [
            (400, Answer::Differs),
            (405, Answer::Differs),
            (501, Answer::Differs),
            (416, Answer::No),
            (404, Answer::No),
            (500, Answer::No),
        ] {
            let reply = Reply { status, ..Reply::default() };
            assert_eq!(not_given(&reply).answer, answer, "{status}");
        }
    }

    #[test]
    fn a_part_that_is_said_to_be_another_one_is_wrong_and_one_of_which_nothing_is_said_is_not() {
        for (said, answer) in [
            (Some("bytes 900-999/1000"), Answer::Yes),
            (Some("Bytes 900-999/1000"), Answer::Yes),
            (Some("bytes 900-999/*"), Answer::Differs),
            (None, Answer::Differs),
            (Some("bytes 900-1000/1000"), Answer::No),
            (Some("bytes 900-999/100"), Answer::No),
            (Some("bytes 0-99/1000"), Answer::No),
            (Some("900-999/1000"), Answer::No),
            (Some(""), Answer::No),
        ] {
            let lines = said.map(|said| ("content-range".to_owned(), said.to_owned())).into_iter().collect();
            let reply = Reply { status: 206, lines, ..Reply::default() };
            assert_eq!(placed(&reply, (900, 999), LENGTH).answer, answer, "{said:?}");
        }
    }
}
