//! Signatures that are good, and not for what they come with: for another time, for another region, without some lines
//! of the request, with a body whose frames somebody else signed. Source: S3 API, Authenticating requests (AWS
//! Signature Version 4); Signature calculations, Transferring payload in multiple chunks.

use cosmark_adaptor_api::{Reply, Whom};

use super::{Group, Question, S3, by, difference, pattern, row};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const ERROR: (Group, super::Of) = (Group::Errors, S3);

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.auth.ahead",
        ERROR,
        (
            "Is a request refused that is signed as an hour from now?",
            "403 RequestTimeTooSkewed: it would be good for longer than 15 minutes",
            "S3 API, Authenticating requests; Error responses",
        ),
        by!(ahead),
    ),
    row(
        "s3.auth.region",
        ERROR,
        (
            "Is a request refused that was signed for another region?",
            "400 AuthorizationHeaderMalformed",
            "S3 API, Authenticating requests; Error responses",
        ),
        by!(region),
    ),
    row(
        "s3.auth.unsigned",
        ERROR,
        (
            "Is a request refused with x-amz- lines that nobody signed?",
            "403 AccessDenied: whoever is on the way could add them",
            "S3 API, Authenticating requests: every x-amz- line has to be signed",
        ),
        by!(unsigned_lines),
    ),
    row(
        "s3.auth.frames",
        ERROR,
        (
            "Is a body refused whose frames another secret signed than its head?",
            "200 and the bytes where one did both; else 403 SignatureDoesNotMatch, and nothing is written",
            "S3 API, Signature calculations, Transferring payload in multiple chunks",
        ),
        by!(frames),
    ),
];

async fn ahead(room: &mut Room) -> Found {
    let key = room.key("ahead");
    room.write(&key, b"first").await?;
    let reply = room.send(Request::put(&key, b"ahead").by(Whom::AnHourAhead)).await?;
    let finding = refused(&reply, 403, &["RequestTimeTooSkewed"]);
    if !reply.is_success() && room.content(&key).await?.as_deref() != Some(b"first") {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    Ok(finding)
}

/// A success where a refusal is right that nothing is lost by: who may write has written what he meant to.
fn tolerated(reply: &Reply, status: u16, codes: &[&str], what: &str) -> Finding {
    match refused(reply, status, codes) {
        finding if reply.is_success() => Finding::differs(format!("{what}: {}", finding.saw)),
        finding => finding,
    }
}

async fn region(room: &mut Room) -> Found {
    let request = Request::put(room.key("region"), b"x").by(Whom::OtherRegion);
    let reply = room.send(request).await?;
    Ok(tolerated(&reply, 400, &["AuthorizationHeaderMalformed"], "a signature for any region is taken"))
}

async fn unsigned_lines(room: &mut Room) -> Found {
    let request = Request::put(room.key("unsigned"), b"x").line("x-amz-meta-a", "added");
    let reply = room.send(request.by(Whom::UnsignedLines)).await?;
    Ok(tolerated(&reply, 403, &["AccessDenied"], "lines that nobody signed are taken"))
}

async fn frames(room: &mut Room) -> Found {
    // More than two frames.
    let (right, forged, content) = (room.key("right"), room.key("forged"), pattern(150_000, 391));
    let reply = room.send(Request::put(&right, &content).by(Whom::Frames)).await?;
    let seen = format!("a body in signed frames gave {}", status_of(&reply));
    match reply.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("not offered: {seen}"))),
        _ => return Ok(Finding::no(format!("the store failed: {seen}"))),
    }
    let Some(now) = room.content(&right).await? else {
        return Ok(Finding::no(format!("{seen}, and the object is not there")));
    };
    if let Some(wrong) = difference(&content, &now) {
        return Ok(Finding::no(format!("{seen}: {wrong}")));
    }
    // One frame: a refusal that comes amid a body may be lost with its connection.
    let reply = room.send(Request::put(&forged, &content[..20_000]).by(Whom::ForgedFrames)).await?;
    let finding = refused(&reply, 403, &["SignatureDoesNotMatch"]);
    if !reply.is_success() && room.content(&forged).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn who_takes_what_is_to_be_refused_and_loses_nothing_by_it_differs() {
        for (status, answer) in [
            (400, Answer::Yes),
            (403, Answer::Differs),
            (200, Answer::Differs),
            (500, Answer::No),
            (307, Answer::No),
        ] {
            let reply = Reply { status, ..Reply::default() };
            assert_eq!(tolerated(&reply, 400, &["Code"], "it is taken").answer, answer, "{status}");
        }
    }
}
