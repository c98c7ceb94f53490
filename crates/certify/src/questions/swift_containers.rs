//! What Swift says of a container and of what is in it: counts, listings in each form and page by page, and who may
//! read without a login. Source: OpenStack Object Storage API v1 reference; Swift's document "Access Control Lists".

use std::time::Duration;

use cosmark_adaptor_api::Whom;
use serde_json::Value;

use super::access::comes_to_be;
use super::operations::late;
use super::{Group, Question, SWIFT, by, difference, pattern, row, stated};
use crate::Answer;
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;
use crate::xml;

const API: &str = "OpenStack Object Storage API";
const LISTING: (Group, super::Of) = (Group::Listings, SWIFT);

pub(super) const ROWS: &[Question] = &[
    row(
        "swift.counts",
        LISTING,
        (
            "Does HEAD of a container tell how many objects and bytes are in it?",
            "X-Container-Object-Count 3 and X-Container-Bytes-Used 5400, two seconds after the writes at the latest",
            "OpenStack Object Storage API, Show container metadata",
        ),
        by!(counts),
    ),
    row(
        "swift.json-and-xml",
        LISTING,
        (
            "Are names with signs of XML and of other scripts the same in listings as text, JSON and XML?",
            "each name as it is, in each form",
            API,
        ),
        by!(formats),
    ),
    row(
        "swift.pages",
        LISTING,
        ("Do limit and marker give each name once over pages of two?", "5 names on 3 pages, in order", API),
        by!(pages),
    ),
    row(
        "swift.acl",
        (Group::Errors, SWIFT),
        (
            "Does X-Container-Read: .r:* let everybody read what is in a container, do nothing else, and end?",
            "200 without a token; 401 for its listing, a write and a delete, and when it was removed",
            "Swift, Access Control Lists",
        ),
        by!(list_of_readers),
    ),
];

/// How long after the last change what is said of a container may be without it.
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_millis(1500)];

/// A container beside the others.
async fn another(room: &mut Room, word: &str) -> Result<String, Finding> {
    if !room.owns_container {
        return Err(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let container = format!("cosmark-certify-{}-{word}", room.word);
    room.prepare(Request::put("", b"").of(&container)).await?;
    Ok(container)
}

/// What is in the container: objects and bytes.
const COUNTS: [u64; 2] = [3, 5400];

async fn counts(room: &mut Room) -> Found {
    let container = another(room, "counts").await?;
    // One is overwritten by a longer one.
    for (name, length) in [("a", 100), ("b", 0), ("c", 5000), ("b", 300)] {
        room.prepare(Request::put(name, &pattern(length, 381)).of(&container)).await?;
    }
    let mut seen = [None; 2];
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        let head = room.given(Request::head("").of(&container)).await?;
        seen = ["x-container-object-count", "x-container-bytes-used"]
            .map(|name| head.line(name).and_then(|text| text.parse().ok()));
        if seen == COUNTS.map(Some) {
            break;
        }
    }
    Ok(counted(room, seen))
}

fn counted(room: &Room, seen: [Option<u64>; 2]) -> Finding {
    let words = format!("{} objects, {} bytes", stated(seen[0]), stated(seen[1]));
    if seen == COUNTS.map(Some) {
        return Finding::yes(words);
    }
    if seen.contains(&None) {
        return Finding::differs(words);
    }
    // Who is behind knows of fewer.
    let is_more = seen.iter().zip(COUNTS).any(|(own, right)| own.is_some_and(|own| own > right));
    if is_more { Finding::no(words) } else { late(room, words) }
}

/// The names of a listing in one form; `None`: it is refused.
async fn names_in(room: &mut Room, format: Option<&str>) -> Result<Option<Vec<String>>, Finding> {
    let request = Request::get("").query("prefix", room.key(""));
    let reply =
        room.send(format.into_iter().fold(request, |all, format| all.query("format", format))).await?;
    match reply.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(None),
        _ => return Err(Finding::no(format!("{}: {}", format.unwrap_or("text"), status_of(&reply)))),
    }
    Ok(Some(match format {
        Some("json") => {
            let rows: Vec<Value> = serde_json::from_slice(&reply.body)
                .map_err(|_| Finding::no("the listing that is to be JSON is none"))?;
            rows.iter().filter_map(|row| row["name"].as_str()).map(str::to_owned).collect()
        }
        Some(_) => xml::texts(&reply.body, "name"),
        None => String::from_utf8_lossy(&reply.body).lines().map(str::to_owned).collect(),
    }))
}

/// Whether names are some of these in their order: a listing that is behind lacks some.
fn is_behind(right: &[String], seen: &[String]) -> bool {
    let mut rest = right.iter();
    seen.len() < right.len() && seen.iter().all(|name| rest.any(|one| one == name))
}

async fn formats(room: &mut Room) -> Found {
    let right = ["a&b", "c<d>\"'", "e\u{e9}\u{65e5}"].map(|label| room.key(label));
    for key in &right {
        room.write(key, b"x").await?;
    }
    let mut others = Vec::new();
    for (what, format) in [("text", None), ("JSON", Some("json")), ("XML", Some("xml"))] {
        let Some(seen) = names_in(room, format).await? else {
            others.push(format!("{what} is refused"));
            continue;
        };
        if seen == right {
            continue;
        }
        let shown: Vec<String> = seen.iter().map(|name| room.short(name)).collect();
        let wrong = format!("{what}: {}", shown.join(", "));
        return Ok(if is_behind(&right, &seen) { late(room, wrong) } else { Finding::no(wrong) });
    }
    Ok(if others.is_empty() {
        Finding::yes("3 names in each of 3 forms")
    } else {
        Finding::differs(others.join("; "))
    })
}

async fn pages(room: &mut Room) -> Found {
    let right = ["a", "b", "c", "d", "e"].map(|label| room.key(label));
    for key in &right {
        room.write(key, b"x").await?;
    }
    let (mut seen, mut largest) = (Vec::<String>::new(), 0);
    for page in 0..right.len() * 2 {
        let request = Request::get("").query("prefix", room.key("")).query("limit", "2");
        let request = match seen.last() {
            Some(last) => request.query("marker", last.as_str()),
            None => request,
        };
        let reply = room.given(request).await?;
        let names: Vec<String> = String::from_utf8_lossy(&reply.body).lines().map(str::to_owned).collect();
        largest = largest.max(names.len());
        if names.is_empty() {
            let shown: Vec<String> = seen.iter().map(|name| room.short(name)).collect();
            let words = format!("{page} pages: {}", shown.join(", "));
            let finding = if seen != right {
                if is_behind(&right, &seen) { late(room, words) } else { Finding::no(words) }
            } else if largest > 2 {
                Finding::differs(format!("{largest} names on a page: limit is not looked at"))
            } else {
                Finding::yes(words)
            };
            return Ok(finding);
        }
        seen.extend(names);
    }
    Ok(Finding::no(format!("the listing has not ended after {} names", seen.len())))
}

async fn list_of_readers(room: &mut Room) -> Found {
    let (container, content) = (another(room, "acl").await?, pattern(900, 382));
    let (key, beside) = ("open", room.key("closed"));
    room.prepare(Request::put(key, &content).of(&container)).await?;
    room.write(&beside, &content).await?;
    if room.send(Request::get(key).of(&container).by(Whom::Nobody)).await?.is_success() {
        return Ok(Finding::not_asked("everybody may read everything here"));
    }
    let opened = room.send(Request::post("", b"").of(&container).line("x-container-read", ".r:*")).await?;
    let seen = format!("a list of readers gave {}", status_of(&opened));
    match opened.status {
        200..=299 => {}
        400..=499 | 501 => return Ok(Finding::differs(format!("not offered: {seen}"))),
        _ => return Ok(Finding::no(format!("the store failed: {seen}"))),
    }
    let found = while_open(room, (&container, key), &content, &beside).await;
    // Whatever was found, nothing stays open until the container goes.
    let ended =
        room.prepare(Request::post("", b"").of(&container).line("x-remove-container-read", "x")).await;
    let mut differ = found?;
    ended?;
    if !comes_to_be(room, (&container, key), &content, false).await? {
        // A proxy may know it a minute longer; there are stores that know an empty list only.
        room.prepare(Request::post("", b"").of(&container).line("x-container-read", "")).await?;
        differ.push("everybody still reads it a few seconds after its end".to_owned());
    }
    Ok(if differ.is_empty() {
        Finding::yes("open to read, and closed when it was removed")
    } else {
        Finding::differs(differ.join("; "))
    })
}

/// What who has no token may do while a container is open to readers, with the object in it, and with one beside it
/// that is not; gives what differs.
async fn while_open(
    room: &mut Room,
    (container, key): (&str, &str),
    content: &[u8],
    beside: &str,
) -> Result<Vec<String>, Finding> {
    if !comes_to_be(room, (container, key), content, true).await? {
        return Err(Finding::differs("it is taken and not looked at: nobody may read"));
    }
    let others = [
        ("its listing", Request::get("").of(container)),
        ("a write", Request::put("new", b"others'").of(container)),
        ("an overwrite", Request::put(key, b"others'").of(container)),
        ("a delete", Request::delete(key).of(container)),
        ("another container", Request::get(beside)),
    ];
    let mut differ = Vec::new();
    for (what, request) in others {
        let finding = refused(&room.send(request.by(Whom::Nobody)).await?, 401, &[]);
        let seen = format!("{what} without a token: {}", finding.saw);
        match finding.answer {
            Answer::Yes => {}
            Answer::No => return Err(Finding::no(seen)),
            _ => differ.push(seen),
        }
    }
    let now = room.given(Request::get(key).of(container)).await?;
    match difference(content, &now.body) {
        Some(wrong) => Err(Finding::no(format!("the object has changed: {wrong}"))),
        None => Ok(differ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_is_behind_lacks_names_and_has_no_others() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let right = of(&["a", "b", "c"]);
        for (seen, expected) in [
            (&[][..], true),
            (&["a", "c"], true),
            (&["a", "b", "c"], false),
            (&["b", "a"], false),
            (&["a", "a"], false),
            (&["a", "d"], false),
        ] {
            assert_eq!(is_behind(&right, &of(seen)), expected, "{seen:?}");
        }
    }
}
