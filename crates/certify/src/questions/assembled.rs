//! What a write in parts makes: of the parts that are named and no others, over what was there before, of ranges of
//! other objects; and its parts read one by one. Source: S3 API, CompleteMultipartUpload, UploadPartCopy, GetObject.

use super::integrity::bare;
use super::multipart::{SMALLEST, begin, begin_by, complete, completion, in_two, part, sending};
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;
use crate::xml;

const PARTS: (Group, super::Of) = (Group::Multipart, S3);

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.multipart.left-out",
        PARTS,
        (
            "Has an object only the parts that its completion names, and none that came and was left out?",
            "byte for byte the part that is named",
            "S3 API, CompleteMultipartUpload",
        ),
        by!(left_out),
    ),
    row(
        "s3.multipart.beside-writes",
        PARTS,
        (
            "Does an object stay as it is beside an upload of its name, and does the completion replace it?",
            "the bytes of the last write until then; then those of the part, and no metadata of before",
            "S3 API, CreateMultipartUpload and CompleteMultipartUpload",
        ),
        by!(beside_writes),
    ),
    row(
        "s3.multipart.copy-beyond",
        PARTS,
        (
            "Is a part refused that is a range of another object and ends behind it?",
            "400 or 416, InvalidArgument or InvalidRange: a part that is cut would be missed by nobody",
            "S3 API, UploadPartCopy",
        ),
        by!(copy_beyond),
    ),
    row(
        "s3.multipart.read-part",
        PARTS,
        (
            "Can a part be read by its number?",
            "206 and its bytes; 416 for a number that no part has",
            "S3 API, GetObject",
        ),
        by!(read_part),
    ),
    row(
        "s3.multipart.part-late",
        PARTS,
        (
            "Is a part refused whose upload was completed or given up?",
            "404 NoSuchUpload: what is taken then belongs to nothing, and is paid for; the object stays",
            "S3 API, UploadPart",
        ),
        by!(part_late),
    ),
];

/// Completes and compares; who refuses has lost nothing.
async fn made(room: &mut Room, key: &str, request: Request, content: &[u8]) -> Found {
    let reply = complete(room, request).await?;
    let seen = status_of(&reply);
    match reply.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("the completion is refused by {seen}"))),
        _ => return Ok(Finding::no(format!("the completion gave {seen}"))),
    }
    let Some(read) = room.content(key).await? else {
        return Ok(Finding::no(format!("the completion gave {seen}, and the object is not there")));
    };
    Ok(difference(content, &read).map_or_else(|| Finding::yes("byte for byte"), Finding::no))
}

async fn left_out(room: &mut Room) -> Found {
    let (key, content) = (room.key("left-out"), pattern(1500, 212));
    let upload = begin(room, &key).await?;
    part(room, &key, &upload, 1, &pattern(2000, 211)).await?;
    let named = part(room, &key, &upload, 2, &content).await?;
    part(room, &key, &upload, 3, &pattern(700, 213)).await?;
    made(room, &key, completion(&key, &upload, &[(2, named)]), &content).await
}

async fn beside_writes(room: &mut Room) -> Found {
    let (key, content) = (room.key("beside"), pattern(4000, 221));
    room.prepare(Request::put(&key, b"first").line("x-amz-meta-b", "before")).await?;
    let start = Request::post(&key, b"").flag("uploads").line("x-amz-meta-a", "parts");
    let upload = begin_by(room, start).await?;
    let etag = part(room, &key, &upload, 1, &content).await?;
    if room.content(&key).await?.as_deref() != Some(b"first") {
        return Ok(Finding::no("an upload under way has changed the object"));
    }
    room.prepare(Request::put(&key, b"second").line("x-amz-meta-b", "before")).await?;
    if room.content(&key).await?.as_deref() != Some(b"second") {
        return Ok(Finding::no("a write beside an upload of its name was not done"));
    }
    let finding = made(room, &key, completion(&key, &upload, &[(1, etag)]), &content).await?;
    if finding.answer != crate::Answer::Yes {
        return Ok(finding);
    }
    let head = room.given(Request::head(&key)).await?;
    let seen = [head.line("x-amz-meta-a"), head.line("x-amz-meta-b")];
    Ok(Finding::holds(
        seen == [Some("parts"), None],
        format!("every byte; x-amz-meta-a is {}, -b is {}", stated(seen[0]), stated(seen[1])),
    ))
}

async fn copy_beyond(room: &mut Room) -> Found {
    let (from, to) = (room.key("from"), room.key("to"));
    // Of shorter ones S3 copies no range.
    room.write(&from, &pattern(SMALLEST + 3000, 231)).await?;
    let upload = begin(room, &to).await?;
    let copy = sending(&to, &upload, 1, b"")
        .line("x-amz-copy-source", format!("/{}/{from}", room.container))
        .line("x-amz-copy-source-range", format!("bytes={}-{}", SMALLEST + 2000, SMALLEST + 3999));
    let reply = room.send(copy).await?;
    if !reply.is_success() || crate::request::code_of(&reply).is_some() {
        let status = if reply.status == 416 { 416 } else { 400 };
        return Ok(match refused(&reply, status, &["InvalidArgument", "InvalidRange"]) {
            // An error behind a status 200 is a refusal, too.
            finding if reply.is_success() => Finding::differs(finding.saw),
            finding => finding,
        });
    }
    let listed = room.send(Request::get(&to).query("uploadId", &upload)).await?;
    let size = xml::parts(&listed.body, "Part").first().and_then(|part| xml::text(part, "Size"));
    Ok(Finding::no(format!("it was taken: 2000 bytes were asked for, the part has {}", stated(size))))
}

async fn read_part(room: &mut Room) -> Found {
    let (key, content) = (room.key("by-number"), pattern(SMALLEST + 700, 241));
    in_two(room, &key, &content).await?;
    let etag = bare(room.given(Request::head(&key)).await?.line("etag"));
    let reply = room.send(Request::get(&key).query("partNumber", "2")).await?;
    let seen = status_of(&reply);
    match reply.status {
        200 if reply.body == content => return Ok(Finding::differs("200: the number is not looked at")),
        200 if reply.body == content[SMALLEST..] => return Ok(Finding::differs("200 where 206 is right")),
        200 | 206 if reply.body != content[SMALLEST..] => {
            let bytes = reply.body.len();
            return Ok(Finding::no(format!("{seen} with {bytes} bytes that are not those of part 2")));
        }
        206 if bare(reply.line("etag")) != etag => {
            return Ok(Finding::differs(format!(
                "206 with an ETag of its own, {}",
                bare(reply.line("etag"))
            )));
        }
        206 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("refused by {seen}"))),
        _ => return Ok(Finding::no(seen)),
    }
    let none = room.send(Request::get(&key).query("partNumber", "3")).await?;
    Ok(match none.status {
        416 => Finding::yes("206, and 416 for part 3"),
        400..=499 | 501 => Finding::differs(format!("206, and for part 3 {}", status_of(&none))),
        _ => Finding::no(format!("there is no part 3, and it gave {}", status_of(&none))),
    })
}

async fn part_late(room: &mut Room) -> Found {
    let (key, content) = (room.key("late"), pattern(900, 251));
    let upload = begin(room, &key).await?;
    let etag = part(room, &key, &upload, 1, &content).await?;
    let reply = complete(room, completion(&key, &upload, &[(1, etag)])).await?;
    if !reply.is_success() {
        return Ok(Finding::not_asked(format!("it could not be completed: {}", status_of(&reply))));
    }
    let given_up = begin(room, &key).await?;
    room.prepare(Request::delete(&key).query("uploadId", &given_up)).await?;
    let mut answered = Finding::yes("404 for both");
    for (when, upload, number) in [("completed", &upload, 2), ("given up", &given_up, 1)] {
        let reply = room.send(sending(&key, upload, number, b"late")).await?;
        let finding = refused(&reply, 404, &["NoSuchUpload"]);
        let seen = format!("after it was {when}: {}", finding.saw);
        match finding.answer {
            crate::Answer::Yes => {}
            crate::Answer::No => return Ok(Finding::no(seen)),
            answer => answered = Finding::new(answer, seen),
        }
    }
    match room.content(&key).await?.map(|now| difference(&content, &now)) {
        Some(None) => Ok(answered),
        Some(Some(wrong)) => Ok(Finding::no(wrong)),
        None => Ok(Finding::no("the object is gone")),
    }
}
