//! What an application does all day, by the adaptor's own operations: every protocol is asked the same.

use cosmark_adaptor_api::{
    BytesSource, Capability, Error, ErrorKind, Marks, MultipartPlan, ObjectName, Protocol,
};
use std::time::Instant;

use super::{Group, Of, Question, by, difference, pattern, row, stated};
use crate::request::{Finding, Found};
use crate::room::{Room, is_busy, unprepared, within};

const STORE: (Group, Of) = (Group::Operations, Of::Any(Capability::STORE));
const LIST: (Group, Of) = (Group::Listings, Of::Any(Capability::LIST));
const API: &str = "every protocol's object read, write and delete";

pub(super) const ROWS: &[Question] = &[
    row(
        "any.read-back",
        STORE,
        ("Do objects of 0 bytes to 1 MiB come back as they were written?", "byte for byte", API),
        by!(reads_back),
    ),
    row(
        "any.overwrite",
        STORE,
        ("Does an overwrite replace the whole object?", "the new bytes and no old ones behind them", API),
        by!(overwrites),
    ),
    row("any.delete", STORE, ("Is an object gone after its delete?", "404", API), by!(deletes)),
    row(
        "any.delete-twice",
        STORE,
        (
            "How is the delete of an object answered that is not there?",
            "S3: success; Swift and others: 404",
            "S3 API, DeleteObject; OpenStack Object Storage API",
        ),
        by!(deletes_twice),
    ),
    row(
        "any.create-again",
        STORE,
        ("Can a deleted name be written again?", "it holds the new bytes", API),
        by!(creates_again),
    ),
    row(
        "any.read-missing",
        STORE,
        ("Is the read of a missing object refused?", "404", API),
        by!(reads_missing),
    ),
    row(
        "any.missing-container",
        (Group::Operations, Of::Any(Capability::CONTAINERS)),
        ("Is the read in a container refused that is not there?", "404", API),
        by!(reads_missing_container),
    ),
    row(
        "any.container-not-empty",
        (Group::Operations, Of::Any(Capability::CONTAINERS)),
        ("Is the delete of a container refused that has objects?", "409, and the object stays", API),
        by!(keeps_full_container),
    ),
    row(
        "any.head",
        (Group::Operations, Of::Any(Capability::HEAD)),
        ("Does HEAD tell the length, and 404 of what is missing?", "the bytes that were written; 404", API),
        by!(heads),
    ),
    row(
        "any.range",
        (Group::Ranges, Of::Any(Capability::RANGE)),
        (
            "Do ranges give these bytes and no others?",
            "each of 5 ranges, the last byte included",
            "RFC 9110, section 14",
        ),
        by!(ranges),
    ),
    row(
        "any.copy",
        (Group::Operations, Of::Any(Capability::COPY)),
        ("Does a copy inside the store hold the same bytes?", "byte for byte, and the source stays", API),
        by!(copies),
    ),
    row(
        "any.delete-many",
        (Group::Operations, Of::Any(Capability::BULK_DELETE)),
        (
            "Does one request delete many objects and no others?",
            "those that it names, also if one is missing",
            API,
        ),
        by!(deletes_many),
    ),
    row(
        "any.multipart",
        (Group::Multipart, Of::Any(Capability::MULTIPART)),
        ("Does an object written in parts come back whole?", "byte for byte", API),
        by!(multipart),
    )
    .slow(),
    row(
        "any.large",
        (Group::Limits, Of::Any(Capability::STORE)),
        ("Does an object of 24 MiB in one request come back?", "byte for byte", API),
        by!(large),
    )
    .slow(),
    row(
        "any.list",
        LIST,
        (
            "Does a listing after the last write show exactly what is there?",
            "every name that was written, none that was deleted",
            "S3: strong consistency since December 2020; Swift: eventually",
        ),
        by!(lists),
    ),
    row(
        "any.list-pages",
        LIST,
        ("Do small pages give each name once, in order?", "no name twice, none left out", API),
        by!(lists_pages),
    ),
];

async fn reads_back(room: &mut Room) -> Found {
    for length in [0, 1, 1000, 4096, 65_537, 1 << 20] {
        let (key, content) = (room.key(&format!("size-{length}")), pattern(length, length as u64 + 1));
        if let Err(error) = room.put(&key, &content).await {
            return Ok(Finding::no(format!("{length} bytes could not be written: {}", error.message())));
        }
        match room.get(&key).await {
            Err(error) => {
                return Ok(Finding::no(format!("{length} bytes could not be read: {}", error.message())));
            }
            Ok(read) => {
                if let Some(difference) = difference(&content, &read) {
                    return Ok(Finding::no(difference));
                }
            }
        }
    }
    Ok(Finding::yes("6 sizes, byte for byte"))
}

async fn overwrites(room: &mut Room) -> Found {
    let key = room.key("overwritten");
    for length in [10_000, 3, 20_000, 0] {
        let content = pattern(length, length as u64 + 7);
        room.put(&key, &content).await.map_err(|error| unprepared(&error))?;
        let read = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
        if let Some(difference) = difference(&content, &read) {
            return Ok(Finding::no(format!("after an overwrite: {difference}")));
        }
    }
    Ok(Finding::yes("longer, shorter and empty"))
}

/// A read that has to find nothing.
fn missing(result: Result<Vec<u8>, Error>, what: &str) -> Finding {
    match result {
        Ok(read) => Finding::no(format!("{what} gave {} bytes", read.len())),
        Err(error) if error.status() == Some(404) => Finding::yes("404"),
        Err(error) if error.status().is_some_and(|status| (400..500).contains(&status)) => {
            Finding::differs(error.kind().label())
        }
        Err(error) => Finding::no(error.message()),
    }
}

async fn deletes(room: &mut Room) -> Found {
    let key = room.key("deleted");
    room.put(&key, b"x").await.map_err(|error| unprepared(&error))?;
    if let Err(error) = room.remove(&key).await {
        return Ok(Finding::no(format!("it could not be deleted: {}", error.message())));
    }
    Ok(missing(room.get(&key).await, "a read after the delete"))
}

async fn deletes_twice(room: &mut Room) -> Found {
    let key = room.key("never");
    let fails = room.adaptor.capability().has(Capability::DELETE_MISSING_FAILS);
    Ok(match (room.remove(&key).await, fails) {
        (Ok(()), false) => Finding::yes("success"),
        (Ok(()), true) => Finding::differs("success, where this protocol answers 404"),
        (Err(error), true) if error.status() == Some(404) => Finding::yes("404"),
        (Err(error), _) if error.status() == Some(404) => {
            Finding::differs("404, where this protocol answers success")
        }
        (Err(error), _) => Finding::no(error.message()),
    })
}

async fn creates_again(room: &mut Room) -> Found {
    let key = room.key("again");
    for round in 0..3_u64 {
        let content = pattern(500, round + 31);
        room.put(&key, &content).await.map_err(|error| Finding::no(error.message()))?;
        let read = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
        if let Some(difference) = difference(&content, &read) {
            return Ok(Finding::no(difference));
        }
        room.remove(&key).await.map_err(|error| Finding::no(error.message()))?;
    }
    Ok(Finding::yes("three times"))
}

async fn reads_missing(room: &mut Room) -> Found {
    let key = room.key("missing");
    Ok(missing(room.get(&key).await, "a read of what was never written"))
}

async fn reads_missing_container(room: &mut Room) -> Found {
    let (began, mut marks) = (Instant::now(), Marks::default());
    let container = format!("{}-{}-missing", room.container, room.word);
    let name = ObjectName { container: &container, object: "x" };
    let result = within(room.patience, room.client.get(name, None, None, &mut marks)).await;
    let result = room.operated(format!("read {container}/x"), began, result);
    Ok(missing(result.map(|_| Vec::new()), "a read in a container that was never made"))
}

async fn keeps_full_container(room: &mut Room) -> Found {
    if !room.owns_container {
        return Ok(Finding::not_asked(
            "the container is not the certification's own, so its delete is not tried",
        ));
    }
    let key = room.key("there");
    room.put(&key, b"there").await.map_err(|error| unprepared(&error))?;
    let (began, mut marks) = (Instant::now(), Marks::default());
    let result = within(room.patience, room.client.delete_container(&room.container, &mut marks)).await;
    let result = room.operated(format!("delete container {}", room.container), began, result);
    let stays = room.get(&key).await.is_ok_and(|read| read == b"there");
    Ok(match result {
        _ if !stays => Finding::no("the object is gone"),
        Ok(()) => Finding::no("it answered success"),
        Err(error) if error.status() == Some(409) => Finding::yes("409"),
        Err(error) => Finding::differs(error.kind().label()),
    })
}

async fn heads(room: &mut Room) -> Found {
    let (key, other) = (room.key("head"), room.key("missing"));
    for length in [0, 12_345] {
        room.put(&key, &pattern(length, 3)).await.map_err(|error| unprepared(&error))?;
        match room.length(&key).await {
            Ok(Some(seen)) if seen == length as u64 => {}
            Ok(seen) => {
                return Ok(Finding::no(format!("{length} bytes were written, HEAD says {}", stated(seen))));
            }
            Err(error) => return Ok(Finding::no(error.message())),
        }
    }
    Ok(missing(room.length(&other).await.map(|_| Vec::new()), "HEAD of what was never written"))
}

async fn ranges(room: &mut Room) -> Found {
    use cosmark_adaptor_api::ByteRange;

    let (key, content) = (room.key("range"), pattern(10_000, 4));
    room.put(&key, &content).await.map_err(|error| unprepared(&error))?;
    for (first, last) in [(0, 0), (0, 9999), (9999, 9999), (100, 4196), (5000, 9998)] {
        let range = ByteRange { first: first as u64, last: last as u64 };
        let read = room.get_range(&key, Some(range)).await.map_err(|error| match error.kind() {
            ErrorKind::Unsupported => Finding::not_asked(error.message()),
            _ => Finding::no(error.message()),
        })?;
        if let Some(difference) = difference(&content[first..=last], &read) {
            return Ok(Finding::no(format!("bytes {first}-{last}: {difference}")));
        }
    }
    Ok(Finding::yes("5 ranges"))
}

async fn copies(room: &mut Room) -> Found {
    let (from, to, content) = (room.key("source"), room.key("copy"), pattern(70_000, 5));
    room.put(&from, &content).await.map_err(|error| unprepared(&error))?;
    room.written.push(to.clone());
    let (began, mut marks) = (Instant::now(), Marks::default());
    let names = [&from, &to].map(|object| ObjectName { container: &room.container, object });
    let result = within(room.patience, room.client.copy(names[0], names[1], &mut marks)).await;
    let what = format!("copy {} to {}", room.short(&from), room.short(&to));
    room.operated(what, began, result).map_err(|error| Finding::no(error.message()))?;
    for key in [&to, &from] {
        let read = room.get(key).await.map_err(|error| Finding::no(error.message()))?;
        if let Some(difference) = difference(&content, &read) {
            return Ok(Finding::no(difference));
        }
    }
    Ok(Finding::yes("both hold the bytes"))
}

async fn deletes_many(room: &mut Room) -> Found {
    if room.protocol() == Some(Protocol::Swift)
        && super::middleware::names(room, "bulk_delete").await == Some(false)
    {
        return Ok(Finding::not_asked("not offered: /info does not name bulk_delete"));
    }
    let keys: Vec<String> = (0..20).map(|at| room.key(&format!("many & <{at}>"))).collect();
    let stays = room.key("many & <stays>");
    for key in keys.iter().chain([&stays]) {
        room.put(key, b"x").await.map_err(|error| unprepared(&error))?;
    }
    let mut named = keys.clone();
    named.push(room.key("many & never"));
    let (began, mut marks) = (Instant::now(), Marks::default());
    let result = within(room.patience, room.client.delete_many(&room.container, &named, &mut marks)).await;
    let result = room.operated(format!("delete {} objects in one request", named.len()), began, result);
    result.map_err(|error| Finding::no(error.message()))?;
    for key in &keys {
        match room.get(key).await {
            Ok(_) => {
                return Ok(Finding::no(format!("it answered success, and {} is there", room.short(key))));
            }
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(unprepared(&error)),
        }
    }
    Ok(match room.get(&stays).await {
        Ok(_) => Finding::yes("20 of 20 gone, another stays"),
        Err(error) if is_missing(&error) => Finding::no("an object that it did not name is gone"),
        Err(error) => {
            Finding::no(format!("an object that it did not name cannot be read: {}", error.message()))
        }
    })
}

/// What is not there is refused; a read that breaks off says nothing of it.
fn is_missing(error: &Error) -> bool {
    error.status().is_some_and(|status| (400..500).contains(&status) && !is_busy(Some(status)))
}

async fn multipart(room: &mut Room) -> Found {
    let part = 5 << 20;
    let (key, content) = (room.key("parts"), pattern(2 * part + 4321, 6));
    room.written.push(key.clone());
    let (began, mut marks) = (Instant::now(), Marks::default());
    let plan = MultipartPlan { part_size_bytes: part as u64, concurrency: 2 };
    let (name, source) = (ObjectName { container: &room.container, object: &key }, BytesSource(&content));
    let result = within(room.patience * 6, room.client.put_multipart(name, &source, plan, &mut marks)).await;
    let what = format!("write {} in parts, {} bytes", room.short(&key), content.len());
    room.operated(what, began, result).map_err(|error| Finding::no(error.message()))?;
    let read = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
    Ok(difference(&content, &read).map_or_else(|| Finding::yes("3 parts, the last one short"), Finding::no))
}

async fn large(room: &mut Room) -> Found {
    let (key, content) = (room.key("large"), pattern(24 << 20, 8));
    room.put(&key, &content).await.map_err(|error| Finding::no(error.message()))?;
    let read = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
    Ok(difference(&content, &read).map_or_else(|| Finding::yes("byte for byte"), Finding::no))
}

/// Names of a listing against those that are there.
pub(super) fn names_differ(
    there: &[String],
    listed: &[String],
    short: impl Fn(&str) -> String,
) -> Option<String> {
    let mut sorted = listed.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("{} is listed twice", short(&pair[0])));
    }
    if let Some(name) = there.iter().find(|name| sorted.binary_search(name).is_err()) {
        return Some(format!(
            "{} of {} names are listed; {} is missing",
            listed.len(),
            there.len(),
            short(name)
        ));
    }
    let ghost = sorted.iter().find(|name| !there.contains(name))?;
    Some(format!("{} is listed and not there", short(ghost)))
}

/// What a listing or a read says that is behind the writes and deletes before it. Swift promises both only eventually.
pub(super) fn late(room: &Room, wrong: String) -> Finding {
    match room.protocol() {
        Some(Protocol::Swift) => Finding::differs(format!("right after the writes: {wrong}")),
        _ => Finding::no(wrong),
    }
}

/// A listing may only be behind: it has each name once, and none that never was there (`ever`).
fn is_behind(ever: &[String], listed: &[String]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    listed.iter().all(|name| ever.contains(name) && seen.insert(name))
}

/// What a listing says that is not as it should be.
fn wrongly_listed(room: &Room, ever: &[String], listed: &[String], wrong: String) -> Finding {
    if is_behind(ever, listed) { late(room, wrong) } else { Finding::no(wrong) }
}

async fn lists(room: &mut Room) -> Found {
    let all: Vec<String> = (0..30).map(|at| room.key(&format!("n{at:02}"))).collect();
    for key in &all {
        room.put(key, b"x").await.map_err(|error| unprepared(&error))?;
    }
    for key in &all[..10] {
        room.remove(key).await.map_err(|error| unprepared(&error))?;
    }
    let listed = room.names(&room.key(""), None, 5).await.map_err(|error| Finding::no(error.message()))?;
    Ok(match names_differ(&all[10..], &listed, |name| room.short(name)) {
        None => Finding::yes("20 names, the 10 deleted ones are not among them"),
        Some(wrong) => wrongly_listed(room, &all, &listed, wrong),
    })
}

async fn lists_pages(room: &mut Room) -> Found {
    let all: Vec<String> = (0..23).map(|at| room.key(&format!("n{at:02}"))).collect();
    for key in &all {
        room.put(key, b"x").await.map_err(|error| unprepared(&error))?;
    }
    let listed =
        room.names(&room.key(""), Some(5), 30).await.map_err(|error| Finding::no(error.message()))?;
    if let Some(wrong) = names_differ(&all, &listed, |name| room.short(name)) {
        return Ok(wrongly_listed(room, &all, &listed, wrong));
    }
    if !listed.is_sorted() {
        return Ok(Finding::differs("they are not in the order of their bytes"));
    }
    // Some of each page go: what is listed of them may be found on a later page alone.
    let (gone, left): (Vec<_>, Vec<_>) = all.iter().cloned().enumerate().partition(|(at, _)| at % 3 == 1);
    for (_, key) in &gone {
        room.remove(key).await.map_err(|error| unprepared(&error))?;
    }
    let left: Vec<String> = left.into_iter().map(|(_, key)| key).collect();
    let listed =
        room.names(&room.key(""), Some(5), 30).await.map_err(|error| Finding::no(error.message()))?;
    Ok(match names_differ(&left, &listed, |name| room.short(name)) {
        None => Finding::yes("23 names on 5 pages, and 15 on 3 when 8 of them are deleted"),
        Some(wrong) => wrongly_listed(room, &all, &listed, format!("{} of 23 deleted: {wrong}", gone.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_is_behind_is_told_from_one_that_gives_what_never_was() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let ever = of(&["a", "b", "c"]);
        for (listed, expected) in [
            (of(&[]), true),
            (of(&["a", "c"]), true),
            (of(&["c", "b", "a"]), true),
            (of(&["a", "a"]), false),
            (of(&["a", "d"]), false),
        ] {
            assert_eq!(is_behind(&ever, &listed), expected, "{listed:?}");
        }
    }
}
