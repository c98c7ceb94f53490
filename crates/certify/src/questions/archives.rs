//! Archives that a Swift makes objects of, where its `/info` says so. Source: Swift's document of the middleware
//! `bulk`, "Extract Archive"; POSIX.1, `pax`, for the form of an archive.

use cosmark_adaptor_api::Reply;
use serde_json::Value;

use super::middleware::offered;
use super::{Group, Question, SWIFT, by, difference, pattern, row};
use crate::request::{Finding, Found, Request, status_of};
use crate::room::Room;

pub(super) const ROWS: &[Question] = &[row(
    "swift.bulk-upload",
    (Group::Operations, SWIFT),
    (
        "Does an archive become the objects that are in it, and is a body refused that is none?",
        "201 in its answer, and each file, byte for byte; 400, and nothing is written",
        "Swift, Bulk Operations middleware, Extract Archive",
    ),
    by!(extracted),
)];

/// An archive is made of blocks of so many bytes.
const BLOCK: usize = 512;

/// Puts a text where a header has it.
fn put(header: &mut [u8; BLOCK], at: usize, text: &str) {
    header.iter_mut().skip(at).zip(text.bytes()).for_each(|(place, byte)| *place = byte);
}

/// An archive (ustar) of these files; their names have at most 100 bytes.
fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, content) in files {
        let mut header = [0; BLOCK];
        put(&mut header, 0, name);
        // Mode, user, group, length, time, and blanks for the sum; a plain file of this form.
        put(&mut header, 100, "0000644");
        put(&mut header, 108, "0000000");
        put(&mut header, 116, "0000000");
        put(&mut header, 124, &format!("{:011o}", content.len()));
        put(&mut header, 136, "00000000000");
        put(&mut header, 148, "        0");
        put(&mut header, 257, "ustar\x0000");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        put(&mut header, 148, &format!("{sum:06o}\0"));
        all.extend_from_slice(&header);
        all.extend_from_slice(content);
        all.resize(all.len().next_multiple_of(BLOCK), 0);
    }
    all.resize(all.len() + 2 * BLOCK, 0);
    all
}

/// The status of what was done: the answer begins before that is known, and says it in its body.
fn outcome(reply: &Reply) -> u16 {
    let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let text = body.as_ref().and_then(|body| body["Response Status"].as_str());
    text.and_then(|text| text.get(..3)).and_then(|digits| digits.parse().ok()).unwrap_or(reply.status)
}

async fn extracted(room: &mut Room) -> Found {
    offered(room, "bulk_upload").await?;
    let files = [("a", pattern(1000, 351)), ("b/c", pattern(700, 352)), ("empty", Vec::new())];
    let folder = room.key("archive");
    let sending = |folder: &str, body: &[u8]| {
        Request::put(folder, body).query("extract-archive", "tar").line("accept", "application/json")
    };
    // The listing might not show them.
    room.written.extend(files.iter().map(|(name, _)| format!("{folder}/{name}")));
    let reply = room.send(sending(&folder, &archive(&files))).await?;
    match outcome(&reply) {
        200..=299 => {}
        status @ (400..=499 | 501) => {
            return Ok(Finding::differs(format!("an archive is refused by {status}")));
        }
        status => return Ok(Finding::no(format!("the store failed: an archive gave {status}"))),
    }
    for (name, content) in &files {
        let Some(now) = room.content(&format!("{folder}/{name}")).await? else {
            return Ok(Finding::no(format!("of 3 files in an archive {name} is not there")));
        };
        if let Some(wrong) = difference(content, &now) {
            return Ok(Finding::no(format!("{name}: {wrong}")));
        }
    }
    let other = room.key("none");
    let reply = room.send(sending(&other, &pattern(2000, 353))).await?;
    if room.content(&other).await?.is_some() {
        return Ok(Finding::no("a body that is no archive became an object"));
    }
    let seen =
        format!("3 files; a body that is no archive gave {} in {}", outcome(&reply), status_of(&reply));
    Ok(match outcome(&reply) {
        400 => Finding::yes(seen),
        401..=499 | 501 => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_a_header_with_a_sum_and_whole_blocks() {
        let files = [("one", b"123".to_vec()), ("two/three", vec![7; 513])];
        let made = archive(&files);
        // Each header, what is behind it in whole blocks, two empty blocks.
        assert_eq!(made.len(), BLOCK * (1 + 1 + 1 + 2 + 2));
        for (at, (name, content)) in [0, 2 * BLOCK].into_iter().zip(&files) {
            let header = &made[at..at + BLOCK];
            assert!(header.starts_with(name.as_bytes()) && header[257..265] == *b"ustar\x0000");
            let length = std::str::from_utf8(&header[124..135]).unwrap();
            assert_eq!(usize::from_str_radix(length, 8).unwrap(), content.len());
            let said = std::str::from_utf8(&header[148..154]).unwrap();
            let blanks = header.iter().enumerate().map(|(at, byte)| match at {
                148..156 => 32,
                _ => u32::from(*byte),
            });
            assert_eq!(u32::from_str_radix(said, 8).unwrap(), blanks.sum::<u32>());
            assert_eq!(&made[at + BLOCK..at + BLOCK + content.len()], &content[..]);
        }
    }

    #[test]
    fn what_was_done_is_said_in_the_body() {
        for (body, status) in [
            ("{\"Response Status\": \"201 Created\"}", 201),
            ("{\"Response Status\": \"400 Bad Request\", \"Errors\": []}", 400),
            ("{\"Response Status\": 7}", 200),
            ("Number Files Created: 3", 200),
            ("", 200),
        ] {
            let reply = Reply { status: 200, body: body.as_bytes().to_vec(), ..Reply::default() };
            assert_eq!(outcome(&reply), status, "{body}");
        }
    }
}
