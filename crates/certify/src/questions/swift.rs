//! What Swift's own API promises. Source: OpenStack Object Storage API v1 reference; Swift's "Large Object Support".

use cosmark_adaptor_api::Whom;
use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};

use super::integrity::bare;
use super::operations::late;
use super::{Group, Question, SWIFT, by, difference, pattern, refusal, row, stated};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const API: &str = "OpenStack Object Storage API";
const ERROR: (Group, super::Of) = (Group::Errors, SWIFT);
const KEPT: (Group, super::Of) = (Group::Integrity, SWIFT);
const NAME: (Group, super::Of) = (Group::Names, SWIFT);

/// A row for a name.
macro_rules! named {
    ($id:expr, $asks:expr, $label:expr) => {
        row($id, NAME, ($asks, "written, read, listed as it is, deleted", API), |room| {
            Box::pin(comes_back(room, $label.to_owned()))
        })
    };
}

pub(super) const ROWS: &[Question] = &[
    row(
        "swift.error.missing",
        ERROR,
        ("How is the read of a missing object refused?", "404", API),
        refusal!(404, &[], |room| Request::get(room.key("missing"))),
    ),
    row(
        "swift.error.no-container",
        ERROR,
        ("How is a write into a missing container refused?", "404", API),
        refusal!(404, &[], |room| Request::put("x", b"x")
            .of(format!("{}-{}-missing", room.container, room.word))),
    ),
    row("swift.error.wrong-token", ERROR, ("Is a request with a wrong token refused?", "401", API), |room| {
        Box::pin(read_as(room, Whom::WrongSecret))
    }),
    row("swift.error.no-token", ERROR, ("Is a request without a token refused?", "401", API), |room| {
        Box::pin(read_as(room, Whom::Nobody))
    }),
    row(
        "swift.auth.changes",
        ERROR,
        (
            "Are writes, deletes and listings refused that come without a token or with a wrong one?",
            "401, and nothing is written, deleted or listed",
            API,
        ),
        by!(super::errors::changes_of_others),
    ),
    row(
        "swift.error.etag",
        ERROR,
        ("Is a body refused that is not what its ETag says?", "422, and nothing is written", API),
        by!(wrong_etag),
    ),
    row(
        "swift.error.container-name",
        ERROR,
        ("Is a container name of more than 256 bytes refused?", "400", API),
        refusal!(400, &[], |room| Request::put("", b"").of(format!("{}-{}", room.word, "c".repeat(256)))),
    ),
    row(
        "swift.error.limit",
        (Group::Limits, SWIFT),
        ("Is a listing of more than 10000 names a page refused?", "412", API),
        refusal!(412, &[], |_| Request::get("").query("limit", "10001")),
    ),
    row(
        "swift.limit.announced-6-gib",
        (Group::Limits, SWIFT),
        (
            "Is a write refused whose length is announced as 6 GiB?",
            "413 (one request writes at most 5 GiB)",
            API,
        ),
        by!(announced),
    ),
    row(
        "swift.error.range",
        (Group::Ranges, SWIFT),
        ("Is a range refused that begins behind the object?", "416", API),
        by!(range),
    ),
    row(
        "swift.etag.md5",
        KEPT,
        ("Is the ETag the MD5 of the bytes?", "the MD5, without quotes", API),
        by!(etag),
    ),
    row(
        "swift.metadata",
        KEPT,
        (
            "Does X-Object-Meta come back, and does POST replace it?",
            "as written; after POST only the new",
            API,
        ),
        by!(metadata),
    ),
    row(
        "swift.delete-at",
        KEPT,
        ("Is X-Delete-After kept as X-Delete-At?", "a time; the object is there until then", API),
        by!(delete_after),
    ),
    row(
        "swift.slo",
        (Group::Multipart, SWIFT),
        (
            "Does a static large object give its segments in order?",
            "byte for byte; ETag of the manifest's segments",
            "Swift, Large Object Support",
        ),
        by!(static_large),
    ),
    row(
        "swift.slo.wrong-etag",
        (Group::Multipart, SWIFT),
        (
            "Is a manifest refused whose segment is another?",
            "400, and nothing is written",
            "Swift, Large Object Support",
        ),
        by!(static_wrong),
    ),
    row(
        "swift.dlo",
        (Group::Multipart, SWIFT),
        (
            "Does a dynamic large object give what begins with its prefix?",
            "byte for byte",
            "Swift, Large Object Support",
        ),
        by!(dynamic_large),
    ),
    row(
        "swift.list.json",
        (Group::Listings, SWIFT),
        ("Does a JSON listing tell name, bytes and hash?", "those of the object", API),
        by!(list_json),
    ),
    row(
        "swift.list.delimiter",
        (Group::Listings, SWIFT),
        ("Does a delimiter fold names?", "each prefix once, the other names beside them", API),
        by!(delimiter),
    ),
    row(
        "swift.list.window",
        (Group::Listings, SWIFT),
        (
            "Do marker and end_marker list what is between them?",
            "the names between, and neither of both",
            API,
        ),
        by!(between),
    ),
    row(
        "swift.list.reverse",
        (Group::Listings, SWIFT),
        (
            "Does reverse list from the end, from its marker on?",
            "the names between both markers, the last one first",
            API,
        ),
        by!(between_reversed),
    ),
    named!("swift.name.blank", "Is a name with blanks taken as it is?", "a b  c "),
    named!(
        "swift.name.reserved",
        "Are the reserved signs of URLs taken as they are?",
        "a?b#c&d=e;f:g@h+i%20j"
    ),
    named!("swift.name.xml", "Are the signs of XML taken as they are?", "<a>&amp;\"b'</a>"),
    named!(
        "swift.name.unicode",
        "Are letters of other scripts taken as they are?",
        "\u{e9}\u{416}\u{65e5}\u{1f600}"
    ),
    named!("swift.name.two-slashes", "Are two slashes in a row two slashes?", "a//b/"),
];

async fn read_as(room: &mut Room, whom: Whom) -> Found {
    let key = room.key("private");
    room.write(&key, b"private").await?;
    let reply = room.send(Request::get(&key).by(whom)).await?;
    Ok(refused(&reply, 401, &[]))
}

async fn wrong_etag(room: &mut Room) -> Found {
    let key = room.key("etag");
    let reply = room.send(Request::put(&key, b"these").line("etag", "0123456789abcdef".repeat(2))).await?;
    let finding = refused(&reply, 422, &[]);
    if !reply.is_success() && room.content(&key).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", finding.saw)));
    }
    Ok(finding)
}

async fn announced(room: &mut Room) -> Found {
    let patience = room.patience;
    room.patience = patience.min(std::time::Duration::from_secs(3));
    let mut request = Request::put(room.key("6-gib"), b"");
    request.announce_bytes = Some(6 << 30);
    let sent = room.send(request).await;
    room.patience = patience;
    match sent {
        Ok(reply) => Ok(refused(&reply, 413, &[])),
        Err(_) => {
            room.unanswered = room.unanswered.saturating_sub(1);
            Ok(Finding::differs("it waits for the 6 GiB: it does not refuse before the body"))
        }
    }
}

async fn range(room: &mut Room) -> Found {
    let key = room.key("range");
    room.write(&key, b"0123456789").await?;
    let reply = room.send(Request::get(&key).line("range", "bytes=10-19")).await?;
    Ok(refused(&reply, 416, &[]))
}

async fn etag(room: &mut Room) -> Found {
    let (key, content) = (room.key("etag"), pattern(4000, 3));
    let reply = room.write(&key, &content).await?;
    let md5 = HEXLOWER.encode(&Md5::digest(&content));
    let (written, head) =
        (bare(reply.line("etag")), bare(room.given(Request::head(&key)).await?.line("etag")));
    Ok(Finding::holds(written == md5 && head == md5, format!("write {written}, HEAD {head}")))
}

async fn metadata(room: &mut Room) -> Found {
    let key = room.key("meta");
    room.prepare(Request::put(&key, b"x").line("x-object-meta-a", "old").line("x-object-meta-b", "old"))
        .await?;
    let reply = room.given(Request::head(&key)).await?;
    if reply.line("x-object-meta-a") != Some("old") {
        return Ok(Finding::no(format!("X-Object-Meta-A is {}", stated(reply.line("x-object-meta-a")))));
    }
    room.prepare(Request::post(&key, b"").line("x-object-meta-a", "new")).await?;
    let reply = room.given(Request::head(&key)).await?;
    let seen = (reply.line("x-object-meta-a"), reply.line("x-object-meta-b"));
    Ok(Finding::holds(
        seen == (Some("new"), None),
        format!("after POST a is {}, b is {}", stated(seen.0), stated(seen.1)),
    ))
}

async fn delete_after(room: &mut Room) -> Found {
    let key = room.key("delete-after");
    room.prepare(Request::put(&key, b"x").line("x-delete-after", "3600")).await?;
    let reply = room.send(Request::head(&key)).await?;
    let at = reply.line("x-delete-at").map(str::to_owned);
    let is_time = at.as_ref().is_some_and(|at| at.parse::<u64>().is_ok());
    Ok(match (reply.status, is_time) {
        (200 | 204, true) => Finding::yes("X-Delete-At"),
        (200 | 204, false) => Finding::differs(format!("X-Delete-At is {}", stated(at))),
        _ => Finding::no(status_of(&reply)),
    })
}

/// Writes three segments; gives their contents and the manifest of all.
pub(super) async fn segments(room: &mut Room) -> Result<(Vec<Vec<u8>>, String), Finding> {
    let contents: Vec<Vec<u8>> =
        [1000, 1500, 300].iter().map(|length| pattern(*length, *length as u64)).collect();
    let mut manifest = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let key = room.key(&format!("segment-{at}"));
        let etag = bare(room.write(&key, content).await?.line("etag"));
        manifest.push(serde_json::json!({
            "path": format!("/{}/{key}", room.container), "etag": etag, "size_bytes": content.len()
        }));
    }
    Ok((contents, serde_json::Value::Array(manifest).to_string()))
}

async fn static_large(room: &mut Room) -> Found {
    let (contents, manifest) = segments(room).await?;
    let key = room.key("large");
    let reply = room.send(Request::put(&key, manifest.as_bytes()).query("multipart-manifest", "put")).await?;
    if !reply.is_success() {
        return Ok(Finding::differs(format!("the manifest gave {}", status_of(&reply))));
    }
    let read = room.content(&key).await?.unwrap_or_default();
    Ok(difference(&contents.concat(), &read).map_or_else(|| Finding::yes("3 segments"), Finding::no))
}

async fn static_wrong(room: &mut Room) -> Found {
    let (_, manifest) = segments(room).await?;
    let key = room.key("large");
    let manifest = manifest.replace("\"size_bytes\":300", "\"size_bytes\":301");
    let reply = room.send(Request::put(&key, manifest.as_bytes()).query("multipart-manifest", "put")).await?;
    if !reply.is_success() && room.content(&key).await?.is_some() {
        return Ok(Finding::no(format!("{}, and the object was written", status_of(&reply))));
    }
    Ok(refused(&reply, 400, &[]))
}

async fn dynamic_large(room: &mut Room) -> Found {
    let (contents, _) = segments(room).await?;
    let key = room.key("dynamic");
    let manifest = format!("{}/{}", room.container, room.key("segment-"));
    room.prepare(Request::put(&key, b"").line("x-object-manifest", manifest)).await?;
    let wanted = contents.concat();
    let read = room.content(&key).await?.unwrap_or_default();
    Ok(match difference(&wanted, &read) {
        None => Finding::yes("3 segments"),
        // Its segments come from a listing, which may lag.
        Some(difference) if read.len() < wanted.len() => {
            Finding::differs(format!("right after the writes: {difference}"))
        }
        Some(difference) => Finding::no(difference),
    })
}

/// Names of a JSON listing and of its folded prefixes.
async fn listed(room: &mut Room, request: Request) -> Result<Vec<serde_json::Value>, Finding> {
    let reply = room.send(request.query("format", "json")).await?;
    if reply.status != 200 {
        return Err(Finding::no(status_of(&reply)));
    }
    serde_json::from_slice(&reply.body).map_err(|_| Finding::no("the listing is no JSON"))
}

async fn list_json(room: &mut Room) -> Found {
    let key = room.key("listed");
    let etag = bare(room.write(&key, &pattern(4321, 1)).await?.line("etag"));
    let rows = listed(room, Request::get("").query("prefix", &key)).await?;
    let Some(row) = rows.first() else {
        return Ok(late(room, "it is not listed".to_owned()));
    };
    let is_right = row["name"] == key.as_str() && row["bytes"] == 4321 && row["hash"] == etag.as_str();
    Ok(Finding::holds(is_right, format!("bytes {}, hash {}", row["bytes"], row["hash"])))
}

async fn delimiter(room: &mut Room) -> Found {
    for label in ["a/1", "a/2", "b", "c/1/2"] {
        let key = room.key(label);
        room.write(&key, b"x").await?;
    }
    let rows = listed(room, Request::get("").query("prefix", room.key("")).query("delimiter", "/")).await?;
    let name = |row: &serde_json::Value| {
        let name = row["name"].as_str().or(row["subdir"].as_str()).unwrap_or_default();
        room.short(name)
    };
    let seen: Vec<String> = rows.iter().map(name).collect();
    let wanted = ["a/", "b", "c/"].map(|label| room.short(&room.key(label)));
    Ok(in_order(room, &wanted, &seen))
}

/// A listing that has to give these names in this order; one that is behind lacks some.
fn in_order(room: &Room, wanted: &[String], seen: &[String]) -> Finding {
    let mut rest = wanted.iter();
    let is_behind = seen.len() < wanted.len() && seen.iter().all(|name| rest.any(|one| one == name));
    match seen.join(", ") {
        names if is_behind => late(room, format!("{} of {} are listed: {names}", seen.len(), wanted.len())),
        names => Finding::holds(seen == wanted, names),
    }
}

/// Names between the first and the last of five.
async fn names_between(room: &mut Room, is_reversed: bool) -> Result<Vec<String>, Finding> {
    let (first, last) = (room.key("a"), room.key("e"));
    let (marker, end) = if is_reversed { (last, first) } else { (first, last) };
    let request = Request::get("").query("prefix", room.key(""));
    let request = request.query("marker", marker).query("end_marker", end);
    let request = if is_reversed { request.query("reverse", "true") } else { request };
    let rows = listed(room, request).await?;
    Ok(rows.iter().filter_map(|row| row["name"].as_str()).map(|name| room.short(name)).collect())
}

async fn five(room: &mut Room) -> Result<[String; 3], Finding> {
    for label in ["a", "b", "c", "d", "e"] {
        let key = room.key(label);
        room.write(&key, b"x").await?;
    }
    Ok(["b", "c", "d"].map(|label| room.short(&room.key(label))))
}

async fn between(room: &mut Room) -> Found {
    let wanted = five(room).await?;
    let seen = names_between(room, false).await?;
    Ok(in_order(room, &wanted, &seen))
}

async fn between_reversed(room: &mut Room) -> Found {
    let mut wanted = five(room).await?;
    let seen = names_between(room, true).await?;
    // Forwards nothing is behind the last and before the first.
    if seen.is_empty() && names_between(room, false).await? == wanted {
        return Ok(Finding::differs("reverse is not looked at: nothing is listed"));
    }
    wanted.reverse();
    Ok(in_order(room, &wanted, &seen))
}

async fn comes_back(room: &mut Room, label: String) -> Found {
    let key = room.key(&label);
    let content = key.as_bytes().to_vec();
    let reply = room.send(Request::put(&key, &content)).await?;
    if !reply.is_success() {
        return Ok(Finding::differs(format!("the write gave {}", status_of(&reply))));
    }
    if room.content(&key).await?.as_ref() != Some(&content) {
        return Ok(Finding::no("it was written, and the read gives something else"));
    }
    let rows = listed(room, Request::get("").query("prefix", room.key(""))).await?;
    let listed = match &rows[..] {
        [] => late(room, "it is not listed".to_owned()),
        [row] if row["name"] == key.as_str() => Finding::yes("as it is"),
        [first, ..] => {
            let names = rows.len();
            return Ok(Finding::no(format!("{names} names are listed, the first is {}", first["name"])));
        }
    };
    let reply = room.send(Request::delete(&key)).await?;
    Ok(if reply.is_success() { listed } else { Finding::no(status_of(&reply)) })
}
