//! What a change has to show in every way in which an object is looked at, and what it must leave alone: ranges, HEAD,
//! other connections, copies, listings that go on while their names are deleted.

use std::time::Instant;

use cosmark_adaptor_api::{ByteRange, Capability, CollectSink, Error, ErrorKind, Marks, ObjectName, Reply};

use super::operations::late;
use super::{Group, Of, Question, by, difference, pattern, row, stated};
use crate::request::{Finding, Found};
use crate::room::{Room, unprepared, within};

const MODEL: &str = "S3 user guide, Amazon S3 data consistency model";
/// Overwrites and deletes that are looked at.
const ROUNDS: usize = 4;
/// Names that are listed and deleted page by page, and the names of a page.
const NAMES: usize = 11;
const PAGE: u32 = 3;

pub(super) const ROWS: &[Question] = &[
    row(
        "any.replaced",
        (Group::Operations, Of::Any(Capability::STORE)),
        (
            "Is an overwrite seen by every way of reading: a part, HEAD, another connection?",
            "the new bytes and the new length, by each of them",
            MODEL,
        ),
        by!(replaced),
    ),
    row(
        "any.gone",
        (Group::Operations, Of::Any(Capability::STORE)),
        (
            "Is a delete seen by every way of reading: a part, HEAD, another connection?",
            "404 by each of them",
            MODEL,
        ),
        by!(gone),
    ),
    row(
        "any.copy-apart",
        (Group::Operations, Of::Any(Capability::COPY)),
        (
            "Does a copy stay when its source is overwritten and deleted?",
            "the bytes that the source had when it was copied",
            "every protocol's object copy",
        ),
        by!(copy_apart),
    ),
    row(
        "any.neighbours",
        (Group::Operations, Of::Any(Capability::STORE)),
        (
            "Do a write and a delete leave objects alone whose names begin or end alike?",
            "each of them as it was",
            "every protocol's object write and delete",
        ),
        by!(neighbours),
    ),
    row(
        "any.cleanup",
        (Group::Listings, Of::Any(Capability::LIST)),
        (
            "Do pages lead to every name when those of each page are deleted before the next one?",
            "no name left out",
            "S3 API, ListObjectsV2; OpenStack Object Storage API",
        ),
        by!(cleanup),
    ),
];

/// A read by a connection of its own.
async fn read_elsewhere(room: &mut Room, key: &str) -> Result<Result<Vec<u8>, Error>, Finding> {
    let mut client = room.another()?;
    let (began, mut marks) = (Instant::now(), Marks::default());
    let mut sink = CollectSink::new(Reply::MOST_BYTES);
    let container = room.container.clone();
    let name = ObjectName { container: &container, object: key };
    let result = within(room.patience, client.get(name, None, Some(&mut sink), &mut marks)).await;
    let what = format!("read {} over another connection", room.short(key));
    Ok(room.operated(what, began, result).map(|_| sink.bytes))
}

/// The last bytes of an object, at most 100; `None`: this store gives no parts.
async fn read_end(room: &mut Room, key: &str, length: usize) -> Option<Result<Vec<u8>, Error>> {
    if !room.adaptor.capability().has(Capability::RANGE) || length == 0 {
        return None;
    }
    let range = ByteRange { first: length.saturating_sub(100) as u64, last: length as u64 - 1 };
    let read = room.get_range(key, Some(range)).await;
    Some(read).filter(|read| !matches!(read, Err(error) if error.kind() == ErrorKind::Unsupported))
}

fn failed(what: &str, error: &Error) -> Finding {
    Finding::no(format!("{what}: {}", error.message()))
}

/// A look that finds nothing, or no such range, may be one at what was there before.
fn not_seen(room: &Room, what: &str, error: &Error) -> Finding {
    match error.status() {
        Some(404 | 416) => late(room, format!("{what}: {}", error.message())),
        _ => failed(what, error),
    }
}

async fn replaced(room: &mut Room) -> Found {
    let key = room.key("replaced");
    for round in 0..ROUNDS {
        // Shorter and longer in turn, so that no length is right by chance.
        let length = 5000 + 700 * (round % 3);
        let content = pattern(length, round as u64 + 200);
        room.put(&key, &content).await.map_err(|error| unprepared(&error))?;
        if let Some(read) = read_end(room, &key, length).await {
            let read = read.map_err(|error| not_seen(room, "a part", &error))?;
            if let Some(wrong) = difference(&content[length.saturating_sub(100)..], &read) {
                return Ok(late(room, format!("overwrite {round}, its last bytes: {wrong}")));
            }
        }
        if room.adaptor.capability().has(Capability::HEAD) {
            let seen = room.length(&key).await.map_err(|error| not_seen(room, "HEAD", &error))?;
            if seen != Some(length as u64) {
                return Ok(late(
                    room,
                    format!("overwrite {round} has {length} bytes, HEAD says {}", stated(seen)),
                ));
            }
        }
        let read = read_elsewhere(room, &key).await?;
        let read = read.map_err(|error| not_seen(room, "another connection", &error))?;
        if let Some(wrong) = difference(&content, &read) {
            return Ok(late(room, format!("overwrite {round}, over another connection: {wrong}")));
        }
    }
    Ok(Finding::yes(format!("{ROUNDS} overwrites, by each way")))
}

/// What a look at a deleted object says that is wrong.
fn still_there<T>(room: &Room, result: Result<T, Error>, what: &str) -> Result<(), Finding> {
    match result {
        Ok(_) => Err(late(room, format!("{what} finds it after its delete"))),
        Err(error) if error.status().is_some_and(|status| (400..500).contains(&status)) => Ok(()),
        Err(error) => Err(failed(what, &error)),
    }
}

async fn gone(room: &mut Room) -> Found {
    for round in 0..ROUNDS {
        let (key, length) = (room.key(&format!("gone-{round}")), 3000);
        room.put(&key, &pattern(length, round as u64 + 300)).await.map_err(|error| unprepared(&error))?;
        // Whoever has looked at it may remember it.
        drop(room.get(&key).await);
        drop(read_elsewhere(room, &key).await?);
        room.remove(&key).await.map_err(|error| unprepared(&error))?;
        if let Some(read) = read_end(room, &key, length).await {
            still_there(room, read, "a read of a part")?;
        }
        if room.adaptor.capability().has(Capability::HEAD) {
            let head = room.length(&key).await;
            still_there(room, head, "HEAD")?;
        }
        let read = read_elsewhere(room, &key).await?;
        still_there(room, read, "another connection")?;
    }
    Ok(Finding::yes(format!("{ROUNDS} deletes, by each way")))
}

async fn copy_apart(room: &mut Room) -> Found {
    let (from, to, content) = (room.key("source"), room.key("copy"), pattern(90_000, 25));
    room.put(&from, &content).await.map_err(|error| unprepared(&error))?;
    room.written.push(to.clone());
    let (began, mut marks) = (Instant::now(), Marks::default());
    let names = [&from, &to].map(|object| ObjectName { container: &room.container, object });
    let result = within(room.patience, room.client.copy(names[0], names[1], &mut marks)).await;
    let what = format!("copy {} to {}", room.short(&from), room.short(&to));
    room.operated(what, began, result).map_err(|error| unprepared(&error))?;
    room.put(&from, &pattern(90_000, 26)).await.map_err(|error| unprepared(&error))?;
    stays(room, &to, &content, "its source was overwritten").await?;
    room.remove(&from).await.map_err(|error| unprepared(&error))?;
    stays(room, &to, &content, "its source was deleted").await?;
    Ok(Finding::yes("it stays"))
}

async fn stays(room: &mut Room, key: &str, content: &[u8], why: &str) -> Result<(), Finding> {
    let read = room.get(key).await.map_err(|error| failed(&format!("the copy, after {why}"), &error))?;
    difference(content, &read).map_or(Ok(()), |wrong| Err(Finding::no(format!("after {why}: {wrong}"))))
}

async fn neighbours(room: &mut Room) -> Found {
    // Each begins with one before it, or ends like it.
    let labels = ["near", "near1", "near10", "near-1", "near_", "nea", "1near"];
    let keys = labels.map(|label| room.key(label));
    for (at, key) in keys.iter().enumerate() {
        room.put(key, &pattern(500 + at, at as u64 + 400)).await.map_err(|error| unprepared(&error))?;
    }
    room.put(&keys[0], &pattern(100, 450)).await.map_err(|error| unprepared(&error))?;
    others_stay(room, &keys, &[0], "an overwrite").await?;
    for (at, deleted) in [(1, &[0, 1][..]), (0, &[0, 1])] {
        room.remove(&keys[at]).await.map_err(|error| unprepared(&error))?;
        others_stay(room, &keys, deleted, "a delete").await?;
    }
    Ok(Finding::yes(format!("{} names beside it", labels.len() - 1)))
}

/// All but those that were changed hold what they held.
async fn others_stay(room: &mut Room, keys: &[String], changed: &[usize], by: &str) -> Result<(), Finding> {
    for (at, key) in keys.iter().enumerate().filter(|(at, _)| !changed.contains(at)) {
        let what = format!("{} after {by} of another name", room.short(key));
        let read = room.get(key).await.map_err(|error| failed(&what, &error))?;
        if let Some(wrong) = difference(&pattern(500 + at, at as u64 + 400), &read) {
            return Err(Finding::no(format!("{what}: {wrong}")));
        }
    }
    Ok(())
}

async fn cleanup(room: &mut Room) -> Found {
    let all: Vec<String> = (0..NAMES).map(|at| room.key(&format!("n{at:02}"))).collect();
    for key in &all {
        room.put(key, b"x").await.map_err(|error| unprepared(&error))?;
    }
    let (prefix, mut after, mut seen) = (room.key(""), None::<String>, Vec::<String>::new());
    let mut is_over = false;
    for _ in 0..NAMES * 2 {
        let page = room
            .page(&prefix, after.as_deref(), Some(PAGE), None)
            .await
            .map_err(|error| Finding::no(error.message()))?;
        for name in page.names.iter().filter(|name| all.contains(name) && !seen.contains(*name)) {
            room.remove(name).await.map_err(|error| unprepared(&error))?;
        }
        seen.extend(page.names);
        after = page.next;
        is_over = after.is_none();
        if is_over {
            break;
        }
    }
    if !is_over {
        return Ok(Finding::no(format!("the listing has not ended after {} pages", NAMES * 2)));
    }
    if let Some(name) = all.iter().find(|name| !seen.contains(name)) {
        let missed = all.iter().filter(|name| !seen.contains(name)).count();
        return Ok(late(
            room,
            format!("{missed} of {NAMES} names left out, {} among them", room.short(name)),
        ));
    }
    Ok(Finding::yes(format!("all of {NAMES} names on pages of {PAGE}")))
}
