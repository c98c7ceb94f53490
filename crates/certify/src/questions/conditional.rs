//! Reads and writes on a condition. Source: RFC 9110, section 13; S3 user guide, "Conditional requests": a write with
//! `If-None-Match: *` gives 412 where an object is and 409 ConditionalRequestConflict while another write is under way;
//! `If-Match` writes only over the named version.

use cosmark_adaptor_api::{Protocol, Reply};

use super::integrity::bare;
use super::{Group, Of, Question, S3, by, row};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const CONDITION: (Group, Of) = (Group::Conditions, S3);
const READS: &str = "RFC 9110, section 13; S3 API, GetObject";
const WRITES: &str = "S3 user guide, How to prevent object overwrites with conditional writes";
/// What is right of the conditions on a date.
pub(super) const DATED: &str =
    "304 and 412 for what is not so; 200 for a date that is older, and for its own";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.read.if-match",
        CONDITION,
        ("Is If-Match of a read honoured?", "200 for its ETag, 412 PreconditionFailed for another", READS),
        by!(read_if_match),
    ),
    row(
        "s3.read.if-none-match",
        CONDITION,
        ("Is If-None-Match of a read honoured?", "304 for its ETag, 200 for another", READS),
        by!(read_if_none_match),
    ),
    row(
        "s3.read.if-modified",
        CONDITION,
        ("Are If-Modified-Since and If-Unmodified-Since honoured?", DATED, READS),
        by!(read_if_modified),
    ),
    row(
        "s3.read.conditions-together",
        CONDITION,
        (
            "Of two conditions on one read, does the ETag count before the date, and If-Match before If-None-Match?",
            "200 where If-Match holds or If-None-Match does, whatever the date; 304 and 412 by the ETag alone",
            "RFC 9110, section 13.2.2; S3 API, GetObject",
        ),
        by!(read_together),
    ),
    row(
        "s3.write.create-once",
        CONDITION,
        (
            "Does a write with If-None-Match: * leave an object alone that is there?",
            "200 where nothing is, else 412 PreconditionFailed; the first bytes stay",
            WRITES,
        ),
        by!(create_once),
    ),
    row(
        "s3.write.create-after-delete",
        CONDITION,
        ("Does If-None-Match: * write again after a delete?", "200", WRITES),
        by!(create_after_delete),
    ),
    row(
        "s3.write.if-match",
        CONDITION,
        (
            "Does a write with If-Match replace the version that it names and no other?",
            "200 for its ETag, 412 PreconditionFailed for another; nothing else is written",
            WRITES,
        ),
        by!(write_if_match),
    ),
    row(
        "s3.write.if-match-weak",
        CONDITION,
        (
            "Is a write with a weak ETag in If-Match refused?",
            "412 PreconditionFailed: If-Match compares strongly, which no weak ETag passes",
            "RFC 9110, sections 8.8.3.2 and 13.1.1",
        ),
        by!(write_if_match_weak),
    ),
    row(
        "s3.write.if-match-missing",
        CONDITION,
        (
            "Is a write with If-Match refused where nothing is?",
            "404 NoSuchKey, and nothing is written",
            WRITES,
        ),
        by!(write_if_match_missing),
    ),
    row(
        "s3.write.if-none-match-etag",
        CONDITION,
        ("Is If-None-Match of a write refused with anything but *?", "501 NotImplemented", WRITES),
        by!(write_if_none_match_etag),
    ),
    row(
        "s3.multipart.create-once",
        CONDITION,
        (
            "Does completing a write in parts with If-None-Match: * leave an object alone?",
            "412 PreconditionFailed, and the first bytes stay; done where nothing is",
            WRITES,
        ),
        by!(complete_once),
    ),
    row(
        "s3.multipart.if-match",
        CONDITION,
        (
            "Does completing a write in parts with If-Match of another version leave the object?",
            "412 PreconditionFailed, and the first bytes stay; done with the ETag that it has",
            WRITES,
        ),
        by!(complete_if_match),
    ),
    row(
        "s3.multipart.read-conditions",
        CONDITION,
        (
            "Are If-Match and If-None-Match of a read honoured for an object made of parts?",
            "200 and 304 for its ETag, 412 and 200 for one of another number of parts",
            READS,
        ),
        by!(read_parts_on_condition),
    ),
    row(
        "s3.delete.if-match",
        CONDITION,
        (
            "Does a delete with If-Match of another version leave the object?",
            "412 PreconditionFailed, and the object stays; done with the ETag that it has",
            "S3 API, DeleteObject",
        ),
        by!(delete_if_match),
    ),
    row(
        "swift.write.create-once",
        (Group::Conditions, Of::Only(Protocol::Swift)),
        (
            "Does a write with If-None-Match: * leave an object alone that is there?",
            "201 where nothing is, else 412; the first bytes stay",
            "OpenStack Object Storage API, Create or replace object",
        ),
        by!(create_once),
    ),
    row(
        "swift.read.if-match",
        (Group::Conditions, Of::Only(Protocol::Swift)),
        ("Is If-Match of a read honoured?", "200 for its ETag, 412 for another", "RFC 9110, section 13"),
        by!(read_if_match),
    ),
    row(
        "swift.read.if-none-match",
        (Group::Conditions, Of::Only(Protocol::Swift)),
        ("Is If-None-Match of a read honoured?", "304 for its ETag, 200 for another", "RFC 9110, section 13"),
        by!(read_if_none_match),
    ),
];

/// Before any store.
pub(super) const LONG_AGO: &str = "Sat, 01 Jan 2000 00:00:00 GMT";
/// An ETag that no object has.
pub(super) const OTHER: &str = "\"00000000000000000000000000000000\"";

/// Writes an object; gives its ETag.
pub(super) async fn written(room: &mut Room, key: &str) -> Result<String, Finding> {
    let reply = room.write(key, b"first").await?;
    match reply.line("etag") {
        Some(etag) => Ok(format!("\"{}\"", bare(Some(etag)))),
        None => Err(Finding::not_asked("the store gives no ETag")),
    }
}

/// Two reads: by a condition that holds and by one that does not.
async fn two_reads(
    room: &mut Room,
    key: &str,
    (line, status): (&'static str, u16),
    (holds, fails): (String, String),
) -> Found {
    let right = room.send(Request::get(key).line(line, holds)).await?;
    if right.status != 200 || right.body != b"first" {
        return Ok(Finding::no(format!("a condition that holds gave {}", status_of(&right))));
    }
    let wrong = room.send(Request::get(key).line(line, fails)).await?;
    Ok(match wrong.status {
        seen if seen == status => Finding::yes(format!("200 and {status}")),
        200 => Finding::no("the condition is ignored: 200 where it fails"),
        _ => Finding::differs(format!("{} where {status} is right", status_of(&wrong))),
    })
}

async fn read_if_match(room: &mut Room) -> Found {
    let key = room.key("conditional");
    let etag = written(room, &key).await?;
    two_reads(room, &key, ("if-match", 412), (etag, OTHER.to_owned())).await
}

async fn read_if_none_match(room: &mut Room) -> Found {
    let key = room.key("conditional");
    let etag = written(room, &key).await?;
    two_reads(room, &key, ("if-none-match", 304), (OTHER.to_owned(), etag)).await
}

/// Statuses of conditions on a date: modified since its own, unmodified since long ago, modified since long ago,
/// unmodified since its own.
fn dated([since, unmodified, older, own]: [u16; 4]) -> Finding {
    let seen = format!("{since} and {unmodified}, {older} and {own}");
    match (since, unmodified, older, own) {
        (304, 412, 200, 200) => Finding::yes(seen),
        // Who ignores the first sends what the client has; who ignores the second breaks a promise.
        (_, 200..=299, ..) => Finding::no(format!("ignored: {seen}")),
        // Who hears that goes on with what he has for ever.
        (_, _, 304, _) => Finding::no(format!("what was modified is called unmodified: {seen}")),
        (.., 412) => Finding::no(format!("what was not modified is called modified: {seen}")),
        _ if [since, unmodified, older, own].iter().any(|status| *status >= 500 && *status != 501) => {
            Finding::no(format!("the store failed: {seen}"))
        }
        _ => Finding::differs(seen),
    }
}

/// Asks on conditions on the date of an object.
pub(super) async fn on_dates(room: &mut Room, key: &str, method: &'static str) -> Found {
    let head = room.given(Request::head(key)).await?;
    let Some(modified) = head.line("last-modified").map(str::to_owned) else {
        return Ok(Finding::differs("there is no Last-Modified"));
    };
    let (since, unmodified) = ("if-modified-since", "if-unmodified-since");
    let own = modified.as_str();
    let mut statuses = [0; 4];
    let cases = [(since, own), (unmodified, LONG_AGO), (since, LONG_AGO), (unmodified, own)];
    for (status, (line, date)) in statuses.iter_mut().zip(cases) {
        *status = room.send(Request::new(method, key).line(line, date)).await?.status;
    }
    Ok(dated(statuses))
}

async fn read_if_modified(room: &mut Room) -> Found {
    let key = room.key("conditional");
    room.write(&key, b"first").await?;
    on_dates(room, &key, "GET").await
}

async fn read_together(room: &mut Room) -> Found {
    let key = room.key("together");
    let etag = written(room, &key).await?;
    let head = room.send(Request::head(&key)).await?;
    let Some(now) = head.line("last-modified").map(str::to_owned) else {
        return Ok(Finding::differs("there is no Last-Modified"));
    };
    let (etag, now) = (etag.as_str(), now.as_str());
    let cases = [
        (("if-match", etag), ("if-unmodified-since", LONG_AGO), 200),
        (("if-match", OTHER), ("if-unmodified-since", now), 412),
        (("if-none-match", etag), ("if-modified-since", LONG_AGO), 304),
        (("if-none-match", OTHER), ("if-modified-since", now), 200),
        (("if-match", OTHER), ("if-none-match", etag), 412),
    ];
    let mut others = Vec::new();
    for (one, other, right) in cases {
        let request = Request::get(&key).line(one.0, one.1).line(other.0, other.1);
        let reply = room.send(request).await?;
        let seen = format!("{} and {}: {} where {right} is right", one.0, other.0, status_of(&reply));
        match reply.status {
            200 if reply.body != b"first" => return Ok(Finding::no(format!("{seen}, with other bytes"))),
            status if status == right => {}
            // The version that was asked for is not there, and another one is given.
            200 if right == 412 => return Ok(Finding::no(format!("If-Match is ignored: {seen}"))),
            200 | 304 | 400..=499 | 501 => others.push(seen),
            _ => return Ok(Finding::no(seen)),
        }
    }
    Ok(if others.is_empty() {
        Finding::yes(format!("{} pairs", cases.len()))
    } else {
        Finding::differs(others.join("; "))
    })
}

/// What the refusal of a conditional write has to leave.
async fn stays(room: &mut Room, key: &str, content: &[u8], finding: Finding) -> Found {
    let now = room.content(key).await?;
    if now.as_deref() == Some(content) {
        return Ok(finding);
    }
    Ok(Finding::no(format!("{}; the object is not what it was", finding.saw)))
}

/// A refusal of a conditional write; a store that says it has none loses nothing.
fn precondition(reply: &Reply) -> Finding {
    match reply.status {
        200..=299 => Finding::no(format!("the condition is ignored: {}", reply.status)),
        _ => refused(reply, 412, &["PreconditionFailed"]),
    }
}

async fn create_once(room: &mut Room) -> Found {
    let key = room.key("once");
    let once = |body: &[u8]| Request::put(&key, body).line("if-none-match", "*");
    let first = room.send(once(b"first")).await?;
    if !first.is_success() {
        let seen = format!("where nothing is: {}", status_of(&first));
        return Ok(if first.status == 501 { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let second = room.send(once(b"second")).await?;
    // Swift's refusals have no codes.
    let is_swift = room.protocol() == Some(Protocol::Swift) && second.status == 412;
    let finding = if is_swift { Finding::yes("412") } else { precondition(&second) };
    stays(room, &key, b"first", finding).await
}

async fn create_after_delete(room: &mut Room) -> Found {
    let key = room.key("once");
    let once = || Request::put(&key, b"again").line("if-none-match", "*");
    room.prepare(once()).await?;
    room.prepare(Request::delete(&key)).await?;
    room.succeeds(once(), &[200]).await
}

async fn write_if_match(room: &mut Room) -> Found {
    let key = room.key("match");
    let etag = written(room, &key).await?;
    let wrong = room.send(Request::put(&key, b"wrong").line("if-match", OTHER)).await?;
    let finding = precondition(&wrong);
    let finding = stays(room, &key, b"first", finding).await?;
    if finding.answer == crate::Answer::No {
        return Ok(finding);
    }
    let right = room.send(Request::put(&key, b"second").line("if-match", &etag)).await?;
    if !right.is_success() {
        let seen = format!("the ETag that it has gave {}", status_of(&right));
        return Ok(if right.status == 501 { Finding::differs(seen) } else { Finding::no(seen) });
    }
    // The version that was replaced is no longer there.
    let old = room.send(Request::put(&key, b"third").line("if-match", &etag)).await?;
    let last = precondition(&old);
    let last = stays(room, &key, b"second", last).await?;
    Ok(if last.answer == crate::Answer::Yes { finding } else { last })
}

async fn write_if_match_weak(room: &mut Room) -> Found {
    let key = room.key("match");
    let etag = written(room, &key).await?;
    let other = room.send(Request::put(&key, b"wrong").line("if-match", format!("W/{OTHER}"))).await?;
    let finding = stays(room, &key, b"first", precondition(&other)).await?;
    if finding.answer == crate::Answer::No {
        return Ok(finding);
    }
    let own = room.send(Request::put(&key, b"second").line("if-match", format!("W/{etag}"))).await?;
    if own.is_success() {
        // It is the version that was meant: nothing is lost.
        return Ok(Finding::differs("the weak form of its own ETag is taken for that"));
    }
    stays(room, &key, b"first", precondition(&own)).await
}

async fn write_if_match_missing(room: &mut Room) -> Found {
    let key = room.key("match");
    let reply = room.send(Request::put(&key, b"x").line("if-match", OTHER)).await?;
    if room.content(&key).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", status_of(&reply))));
    }
    Ok(refused(&reply, 404, &["NoSuchKey"]))
}

async fn write_if_none_match_etag(room: &mut Room) -> Found {
    let key = room.key("none-match");
    let etag = written(room, &key).await?;
    let reply = room.send(Request::put(&key, b"second").line("if-none-match", etag)).await?;
    if reply.status == 501 {
        return Ok(Finding::yes(status_of(&reply)));
    }
    let now = room.content(&key).await?;
    Ok(match (reply.is_success(), now.as_deref()) {
        (true, Some(b"second")) => Finding::no(format!("the condition is ignored: {}", reply.status)),
        _ => Finding::differs(status_of(&reply)),
    })
}

/// Completes a write in parts of `second` on a condition.
async fn completed(
    room: &mut Room,
    key: &str,
    (line, value): (&'static str, &str),
) -> Result<Reply, Finding> {
    let upload = super::multipart::begin(room, key).await?;
    let etag = super::multipart::part(room, key, &upload, 1, b"second").await?;
    let complete = super::multipart::completion(key, &upload, &[(1, etag)]).line(line, value);
    super::multipart::complete(room, complete).await
}

/// What a request has to do whose condition holds, where it was refused as it should be when it did not. A store that
/// refuses all of them keeps nobody's version: programs that ask so get nowhere.
async fn also_done(
    room: &mut Room,
    key: &str,
    (finding, reply): (Finding, &Reply),
    content: Option<&[u8]>,
) -> Found {
    let seen = format!("a condition that holds gave {}", status_of(reply));
    if !reply.is_success() {
        return Ok(if reply.status == 501 { Finding::differs(seen) } else { Finding::no(seen) });
    }
    let now = room.content(key).await?;
    if now.as_deref() == content {
        return Ok(finding);
    }
    let there =
        now.map_or_else(|| "nothing is there".to_owned(), |now| format!("{} bytes are there", now.len()));
    Ok(Finding::no(format!("{seen}, and {there}")))
}

async fn complete_once(room: &mut Room) -> Found {
    let (key, other) = (room.key("parts"), room.key("nothing"));
    room.write(&key, b"first").await?;
    let reply = completed(room, &key, ("if-none-match", "*")).await?;
    let finding = stays(room, &key, b"first", precondition(&reply)).await?;
    if finding.answer != crate::Answer::Yes {
        return Ok(finding);
    }
    let reply = completed(room, &other, ("if-none-match", "*")).await?;
    also_done(room, &other, (finding, &reply), Some(b"second")).await
}

async fn complete_if_match(room: &mut Room) -> Found {
    let key = room.key("parts");
    let own = written(room, &key).await?;
    let reply = completed(room, &key, ("if-match", OTHER)).await?;
    let finding = stays(room, &key, b"first", precondition(&reply)).await?;
    if finding.answer != crate::Answer::Yes {
        return Ok(finding);
    }
    let reply = completed(room, &key, ("if-match", &own)).await?;
    also_done(room, &key, (finding, &reply), Some(b"second")).await
}

async fn read_parts_on_condition(room: &mut Room) -> Found {
    let key = room.key("parts");
    let upload = super::multipart::begin(room, &key).await?;
    let etag = super::multipart::part(room, &key, &upload, 1, b"first").await?;
    let made = super::multipart::completion(&key, &upload, &[(1, etag)]);
    let reply = super::multipart::complete(room, made).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("the parts are not completed: {}", status_of(&reply))));
    }
    let head = room.send(Request::head(&key)).await?;
    let own = bare(head.line("etag"));
    if own.is_empty() {
        return Ok(Finding::not_asked("the store gives no ETag"));
    }
    // Who compares the digits alone takes the one for the other.
    let digits = own.split('-').next().unwrap_or_default();
    let (own, other) = (format!("\"{own}\""), format!("\"{digits}-9\""));
    let found = two_reads(room, &key, ("if-match", 412), (own.clone(), other.clone())).await?;
    if found.answer != crate::Answer::Yes {
        return Ok(Finding { saw: format!("If-Match: {}", found.saw), ..found });
    }
    let found = two_reads(room, &key, ("if-none-match", 304), (other, own)).await?;
    Ok(match found.answer {
        crate::Answer::Yes => Finding::yes("200 and 412, 200 and 304"),
        _ => Finding { saw: format!("If-None-Match: {}", found.saw), ..found },
    })
}

async fn delete_if_match(room: &mut Room) -> Found {
    let key = room.key("delete");
    let own = written(room, &key).await?;
    let reply = room.send(Request::delete(&key).line("if-match", OTHER)).await?;
    let finding = match reply.status {
        412 => Finding::yes(status_of(&reply)),
        200..=299 => Finding::no(format!("the condition is ignored: {}", reply.status)),
        _ => Finding::differs(status_of(&reply)),
    };
    let finding = stays(room, &key, b"first", finding).await?;
    if finding.answer != crate::Answer::Yes {
        return Ok(finding);
    }
    let reply = room.send(Request::delete(&key).line("if-match", &own)).await?;
    also_done(room, &key, (finding, &reply), None).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn conditions_on_a_date_have_to_hold_as_well_as_to_fail() {
        for (statuses, answer) in [
            ([304, 412, 200, 200], Answer::Yes),
            // Who sends what the client has loses nothing.
            ([200, 412, 200, 200], Answer::Differs),
            ([304, 200, 200, 200], Answer::No),
            ([200, 200, 200, 200], Answer::No),
            // Whatever the date is.
            ([304, 412, 304, 200], Answer::No),
            ([304, 412, 200, 412], Answer::No),
            ([304, 403, 200, 200], Answer::Differs),
            ([501, 501, 501, 501], Answer::Differs),
            ([304, 500, 200, 200], Answer::No),
            ([304, 412, 200, 502], Answer::No),
        ] {
            assert_eq!(dated(statuses).answer, answer, "{statuses:?}");
        }
    }
}
