//! What is asked of a whole container: whether it is there, and what making it once more leaves in it. Source: S3 API,
//! HeadBucket and CreateBucket; OpenStack Object Storage API, Create container.

use super::{Group, Question, S3, SWIFT, by, difference, pattern, row};
use crate::request::{Finding, Found, Request, code_of, status_of};
use crate::room::Room;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.bucket.head",
        (Group::Operations, S3),
        (
            "Does HEAD of a bucket tell whether it is there?",
            "200, and 404 where none is: programs that make their bucket ask so",
            "S3 API, HeadBucket",
        ),
        by!(head),
    ),
    row(
        "s3.bucket.again",
        (Group::Operations, S3),
        (
            "Does making a bucket that is there leave what is in it?",
            "409 BucketAlreadyOwnedByYou, or 200 as in us-east-1; every object stays",
            "S3 API, CreateBucket",
        ),
        by!(again),
    ),
    row(
        "swift.container.again",
        (Group::Operations, SWIFT),
        (
            "Does making a container that is there leave what is in it?",
            "202; every object stays",
            "OpenStack Object Storage API, Create container",
        ),
        by!(again),
    ),
];

async fn head(room: &mut Room) -> Found {
    let there = room.send(Request::head("")).await?;
    let none = format!("{}-{}-missing", room.container, room.word);
    let missing = room.send(Request::head("").of(none)).await?;
    let seen = format!("{}, and where none is {}", status_of(&there), status_of(&missing));
    Ok(match (there.status, missing.status) {
        (200 | 204, 404) => Finding::yes(seen),
        // Who makes no bucket for that answer writes into none.
        (_, 200..=299) => Finding::no(format!("a bucket that is not there is found: {seen}")),
        (200 | 204 | 400..=499 | 501, 300..=499 | 501) => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

async fn again(room: &mut Room) -> Found {
    if !room.owns_container {
        return Ok(Finding::not_asked("the container is not the certification's own"));
    }
    let (key, content) = (room.key("stays"), pattern(5000, 201));
    room.write(&key, &content).await?;
    let reply = room.send(Request::put("", b"")).await?;
    let seen = status_of(&reply);
    let now = room.content(&key).await?;
    let gone = || Some("the object in it is gone".to_owned());
    if let Some(wrong) = now.map_or_else(gone, |now| difference(&content, &now)) {
        return Ok(Finding::no(format!("{seen}; {wrong}")));
    }
    Ok(match (reply.status, code_of(&reply).as_deref()) {
        (200 | 202 | 204, _) | (409, Some("BucketAlreadyOwnedByYou")) => Finding::yes(seen),
        // Without its place, S3 looks for one in us-east-1.
        (400, Some("IllegalLocationConstraintException")) => {
            Finding::not_asked(format!("the store wants to be told where: {seen}"))
        }
        (201 | 400..=499 | 501, _) => Finding::differs(seen),
        _ => Finding::no(format!("the store failed: {seen}")),
    })
}
