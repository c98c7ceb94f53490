//! HEAD on a condition: what a cache asks before it serves, and a backup before it copies. Source: RFC 9110, section
//! 13; S3 API, HeadObject.

use cosmark_adaptor_api::Reply;

use super::conditional::{DATED, OTHER, on_dates, written};
use super::{Group, Question, S3, SWIFT, by, row};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;

const CONDITION: (Group, super::Of) = (Group::Conditions, S3);
const HEADS: &str = "RFC 9110, section 13; S3 API, HeadObject";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.head.if-match",
        CONDITION,
        ("Is If-Match of a HEAD honoured?", "200 for its ETag, 412 for another", HEADS),
        by!(if_match),
    ),
    row(
        "s3.head.if-none-match",
        CONDITION,
        ("Is If-None-Match of a HEAD honoured?", "304 for its ETag, 200 for another", HEADS),
        by!(if_none_match),
    ),
    row(
        "s3.head.if-modified",
        CONDITION,
        ("Are If-Modified-Since and If-Unmodified-Since of a HEAD honoured?", DATED, HEADS),
        by!(if_modified),
    ),
    row(
        "swift.head.if-match",
        (Group::Conditions, SWIFT),
        ("Is If-Match of a HEAD honoured?", "success for its ETag, 412 for another", "RFC 9110, section 13"),
        by!(if_match),
    ),
    row(
        "swift.head.if-none-match",
        (Group::Conditions, SWIFT),
        (
            "Is If-None-Match of a HEAD honoured?",
            "304 for its ETag, success for another",
            "RFC 9110, section 13",
        ),
        by!(if_none_match),
    ),
];

/// A HEAD whose condition fails and has to be answered by this status.
fn judged(reply: &Reply, status: u16) -> Finding {
    let seen = status_of(reply);
    match reply.status {
        own if own == status => Finding::yes(seen),
        200..=299 => Finding::no(format!("the condition is ignored: {seen} where it fails")),
        300..=499 | 501 => Finding::differs(format!("{seen} where {status} is right")),
        _ => Finding::no(format!("the store failed: {seen}")),
    }
}

/// Two HEADs: on a condition that holds and on one that fails.
async fn two_heads(
    room: &mut Room,
    key: &str,
    (line, status): (&'static str, u16),
    (holds, fails): (String, String),
) -> Found {
    let right = room.send(Request::head(key).line(line, holds)).await?;
    if !right.is_success() {
        return Ok(Finding::no(format!("a condition that holds gave {}", status_of(&right))));
    }
    let wrong = room.send(Request::head(key).line(line, fails)).await?;
    Ok(judged(&wrong, status))
}

async fn if_match(room: &mut Room) -> Found {
    let key = room.key("head");
    let etag = written(room, &key).await?;
    two_heads(room, &key, ("if-match", 412), (etag, OTHER.to_owned())).await
}

async fn if_none_match(room: &mut Room) -> Found {
    let key = room.key("head");
    let etag = written(room, &key).await?;
    two_heads(room, &key, ("if-none-match", 304), (OTHER.to_owned(), etag)).await
}

async fn if_modified(room: &mut Room) -> Found {
    let key = room.key("head");
    room.write(&key, b"first").await?;
    on_dates(room, &key, "HEAD").await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn a_head_whose_condition_fails_is_judged_by_its_status() {
        for (status, answer) in [
            (412, Answer::Yes),
            (200, Answer::No),
            (304, Answer::Differs),
            (403, Answer::Differs),
            (501, Answer::Differs),
            (500, Answer::No),
        ] {
            let reply = Reply { status, ..Reply::default() };
            assert_eq!(judged(&reply, 412).answer, answer, "{status}");
        }
    }
}
