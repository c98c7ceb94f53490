//! Objects that are there in part: a write that is broken off, and a new object that is read while it is being written.

use std::cell::Cell;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Ask, BytesSource, Capability, CollectSink, Marks, ObjectName, PutOptions, Reply};
use futures_util::future::{join, join_all};

use super::together::failure;
use super::{Group, Of, Question, S3, SWIFT, by, difference, pattern, row};
use crate::request::{Finding, Found, status_of};
use crate::room::{Room, is_busy, within};

/// Bytes that a write announces, and those that it sends.
const ANNOUNCED: usize = 400_000;
const SENT: usize = 200_000;
/// A store waits for the rest; after so long there will be none.
const BROKEN_AFTER: Duration = Duration::from_millis(500);
/// Looks at what is left, so long one after the other.
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(300), Duration::from_secs(1)];
/// Bytes of a new object that is read while it is written.
const LARGE: usize = 4 << 20;
const LARGE_ROUNDS: usize = 3;

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.write.broken-off",
        (Group::Integrity, S3),
        (
            "Does a write that is broken off after half of its body leave what was there?",
            "nothing where nothing was, else the old bytes, and never a part of the new ones",
            "S3 user guide, Amazon S3 data consistency model",
        ),
        by!(broken_off),
    ),
    row(
        "swift.write.broken-off",
        (Group::Integrity, SWIFT),
        (
            "Does a write that is broken off after half of its body leave what was there?",
            "nothing where nothing was, else the old bytes, and never a part of the new ones",
            "OpenStack Object Storage API, Create or replace object",
        ),
        by!(broken_off),
    ),
    row(
        "any.read-while-created",
        (Group::Concurrency, Of::Any(Capability::STORE)),
        (
            "Does a read beside the first write of a large object give nothing or the whole?",
            "404 until it is written, then every byte, never a part",
            "S3 user guide, Amazon S3 data consistency model",
        ),
        by!(read_while_created),
    ),
];

async fn broken_off(room: &mut Room) -> Found {
    let whole = pattern(ANNOUNCED, 5);
    for before in [None, Some(pattern(5000, 6))] {
        let key = room.key(if before.is_some() { "over" } else { "new" });
        if let Some(before) = &before {
            room.write(&key, before).await?;
        }
        if let Some(reply) = break_off(room, &key, &whole[..SENT]).await?
            && reply.is_success()
        {
            return Ok(Finding::no(format!("half a write was acknowledged: {}", status_of(&reply))));
        }
        for pause in LOOKS {
            tokio::time::sleep(pause).await;
            let now = room.content(&key).await?;
            if now == before {
                continue;
            }
            let there = now.map_or_else(|| "nothing".to_owned(), |now| format!("{} bytes", now.len()));
            let was = before.map_or_else(|| "nothing".to_owned(), |old| format!("{} bytes", old.len()));
            return Ok(Finding::no(format!("{there} where {was} was, of {ANNOUNCED} of which {SENT} came")));
        }
    }
    Ok(Finding::yes("nothing where nothing was, the old bytes where they were"))
}

/// Announces a body, sends half of it and closes the connection; gives what the store answered before, if it did.
async fn break_off(room: &mut Room, key: &str, half: &[u8]) -> Result<Option<Reply>, Finding> {
    let mut asker = room.another_asker()?;
    room.written.push(key.to_owned());
    let (began, container) = (Instant::now(), room.container.clone());
    let ask = Ask {
        body: half,
        // The hash of the whole is no matter here: the length alone says that there is more to come.
        payload: Some("UNSIGNED-PAYLOAD"),
        announce_bytes: Some(ANNOUNCED as u64),
        ..Ask::new("PUT", &container, key)
    };
    let reply = tokio::time::timeout(BROKEN_AFTER, asker.ask(&ask)).await.ok().and_then(Result::ok);
    // The connection closes with its owner.
    drop(asker);
    let shown = reply.as_ref().map_or_else(|| "no answer, as it should be".to_owned(), status_of);
    room.say(format!("PUT {}, {SENT} of {ANNOUNCED} bytes, then closed", room.short(key)), shown, began);
    Ok(reply)
}

/// What is wrong with a read of `content`; `None`: it is the whole.
fn unlike(content: &[u8], sink: &CollectSink) -> Option<String> {
    if sink.seen != content.len() as u64 {
        return Some(format!("a read gave {} of {} bytes", sink.seen, content.len()));
    }
    difference(content, &sink.bytes).map(|wrong| format!("a read beside the write: {wrong}"))
}

async fn read_while_created(room: &mut Room) -> Found {
    let (mut absent, mut whole) = (0, 0);
    for round in 0..LARGE_ROUNDS {
        let (key, content) = (room.key(&format!("large-{round}")), pattern(LARGE, 40 + round as u64));
        room.written.push(key.clone());
        let (began, mut writer) = (Instant::now(), room.another()?);
        let mut readers = [room.another()?, room.another()?, room.another()?];
        let (patience, container) = (room.patience, room.container.clone());
        let (name, is_over) = (ObjectName { container: &container, object: &key }, Cell::new(false));
        let write = async {
            let (source, mut marks) = (BytesSource(&content), Marks::default());
            let call = writer.put(name, &source, PutOptions::default(), &mut marks);
            let wrote = within(patience * 3, call).await;
            is_over.set(true);
            wrote
        };
        let reads = join_all(readers.iter_mut().map(|reader| {
            let (content, is_over) = (&content, &is_over);
            async move {
                let (mut absent, mut whole) = (0, 0);
                while !is_over.get() {
                    let (mut sink, mut marks) = (CollectSink::new(LARGE + 1), Marks::default());
                    match within(patience, reader.get(name, None, Some(&mut sink), &mut marks)).await {
                        Ok(_) => match unlike(content, &sink) {
                            None => whole += 1,
                            Some(wrong) => return Err(wrong),
                        },
                        Err(error) if error.status() == Some(404) => absent += 1,
                        Err(error) if is_busy(error.status()) => {}
                        Err(error) => return Err(format!("a read failed: {}", error.message())),
                    }
                }
                Ok((absent, whole))
            }
        }));
        let (wrote, reads) = join(write, reads).await;
        room.say(
            format!("write {} beside 3 readers, {LARGE} bytes", room.short(&key)),
            wrote.as_ref().map_or_else(|error| error.message().to_owned(), |_| "done".to_owned()),
            began,
        );
        // What a read was given wrong stays wrong, whatever the write failed with.
        for read in reads {
            let (none, all) = read.map_err(Finding::no)?;
            absent += none;
            whole += all;
        }
        if let Err(error) = wrote {
            return Ok(failure("the write failed", Some(&error)));
        }
        let now = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
        if now != content {
            return Ok(Finding::no(format!("{} of {LARGE} bytes after the write", now.len())));
        }
    }
    if absent + whole == 0 {
        return Ok(Finding::not_asked("the store was busy in every read"));
    }
    Ok(Finding::yes(format!(
        "{LARGE_ROUNDS} objects: {absent} reads before them, {whole} reads of the whole"
    )))
}

#[cfg(test)]
mod tests {
    use cosmark_adaptor_api::BodySink;

    use super::*;

    #[test]
    fn a_read_of_the_right_length_with_other_bytes_says_where_it_differs() {
        let content = pattern(1000, 7);
        let read = |bytes: &[u8]| {
            let mut sink = CollectSink::new(content.len() + 1);
            sink.accept(bytes);
            unlike(&content, &sink)
        };
        assert_eq!(read(&content), None);
        assert_eq!(read(&content[..400]).unwrap(), "a read gave 400 of 1000 bytes");
        assert_eq!(read(&[&content[..], &content[..]].concat()).unwrap(), "a read gave 2000 of 1000 bytes");
        let mut flipped = content.clone();
        flipped[123] ^= 1;
        assert!(read(&flipped).unwrap().ends_with("they differ from byte 123"));
    }
}
