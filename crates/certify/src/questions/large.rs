//! What Swift does with manifests and their segments, with objects that have an end, and with metadata beside a copy
//! and a POST. Source: OpenStack Object Storage API v1 reference; Swift's "Large Object Support".

use std::time::Duration;

use super::integrity::bare;
use super::operations::late;
use super::ranges::each_of;
use super::swift::segments;
use super::{Group, Question, SWIFT, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const LARGE: &str = "Swift, Large Object Support";
const API: &str = "OpenStack Object Storage API";
const BESIDE: (Group, super::Of) = (Group::Integrity, SWIFT);

pub(super) const ROWS: &[Question] = &[
    row(
        "swift.slo.ranges",
        (Group::Ranges, SWIFT),
        (
            "Do ranges across the borders of segments give these bytes and no others?",
            "206 and the bytes, each of 6 ranges",
            LARGE,
        ),
        by!(ranges),
    ),
    row(
        "swift.dlo.ranges",
        (Group::Ranges, SWIFT),
        (
            "Do ranges of a dynamic large object across the borders of segments give these bytes and no others?",
            "206 and the bytes, each of 6 ranges",
            LARGE,
        ),
        by!(dynamic_ranges),
    ),
    row(
        "swift.slo.part",
        (Group::Multipart, SWIFT),
        (
            "Does a manifest that names a part of a segment give this part of it?",
            "these bytes of it between the other segments, byte for byte",
            LARGE,
        ),
        by!(part),
    ),
    row(
        "swift.slo.changed",
        (Group::Multipart, SWIFT),
        (
            "Is the read of a manifest refused whose segment is another one since?",
            "409: bytes that the manifest does not name are never given for it",
            LARGE,
        ),
        by!(changed),
    ),
    row(
        "swift.slo.delete",
        (Group::Multipart, SWIFT),
        (
            "Does the delete of a manifest leave its segments, and with multipart-manifest=delete take them along?",
            "every segment, byte for byte; then none",
            LARGE,
        ),
        by!(delete),
    ),
    row(
        "swift.delete-at.over",
        BESIDE,
        (
            "Is an object gone when its time is over?",
            "404 a few seconds after X-Delete-After, whether or not it is listed until it is removed",
            API,
        ),
        by!(expires),
    ),
    row(
        "swift.post.keeps",
        BESIDE,
        (
            "Does a POST of metadata leave the bytes, the ETag and the Content-Type of an object?",
            "as they were",
            API,
        ),
        by!(post),
    ),
    row(
        "swift.copy.metadata",
        (Group::Operations, SWIFT),
        (
            "Does a copy add metadata to that of its source, and with X-Fresh-Metadata replace it?",
            "both values; then the new one alone",
            API,
        ),
        by!(copy),
    ),
];

/// What a refusal of what is not everywhere says; `None`: it was done.
fn refusal(reply: &cosmark_adaptor_api::Reply) -> Option<Finding> {
    let seen = status_of(reply);
    match reply.status {
        200..=299 => None,
        400..=499 | 501 => Some(Finding::differs(format!("refused by {seen}"))),
        _ => Some(Finding::no(format!("the store failed: {seen}"))),
    }
}

async fn ranges(room: &mut Room) -> Found {
    let (contents, manifest) = segments(room).await?;
    let (key, content) = (room.key("ranges"), contents.concat());
    room.prepare(Request::put(&key, manifest.as_bytes()).query("multipart-manifest", "put")).await?;
    across_borders(room, &key, &content).await
}

async fn across_borders(room: &mut Room, key: &str, content: &[u8]) -> Found {
    let last = content.len() - 1;
    // Segments end behind 1000, 2500 and 2800 bytes.
    let all = [(0, 0), (995, 1004), (999, 2500), (1000, 1000), (2490, last), (last, last)];
    each_of(room, key, content, &all).await
}

async fn dynamic_ranges(room: &mut Room) -> Found {
    let (contents, _) = segments(room).await?;
    let (key, content) = (room.key("dynamic-ranges"), contents.concat());
    let manifest = format!("{}/{}", room.container, room.key("segment-"));
    room.prepare(Request::put(&key, b"").line("x-object-manifest", manifest)).await?;
    let whole = room.content(&key).await?.unwrap_or_default();
    // Its segments come from a listing, which may lag.
    if whole.len() < content.len() {
        return Ok(late(room, format!("{} of {} bytes are there", whole.len(), content.len())));
    }
    across_borders(room, &key, &content).await
}

async fn part(room: &mut Room) -> Found {
    let (contents, manifest) = segments(room).await?;
    let key = room.key("part");
    let mut rows: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
    if let Some(row) = rows.get_mut(1) {
        row["range"] = "200-699".into();
    }
    let put = Request::put(&key, rows.to_string().as_bytes()).query("multipart-manifest", "put");
    let reply = room.send(put).await?;
    if let Some(finding) = refusal(&reply) {
        return Ok(finding);
    }
    let right = [&contents[0][..], &contents[1][200..700], &contents[2][..]].concat();
    let now = room.content(&key).await?.unwrap_or_default();
    Ok(difference(&right, &now).map_or_else(|| Finding::yes("500 of 1500 bytes of a segment"), Finding::no))
}

async fn changed(room: &mut Room) -> Found {
    let (contents, manifest) = segments(room).await?;
    let key = room.key("changed");
    room.prepare(Request::put(&key, manifest.as_bytes()).query("multipart-manifest", "put")).await?;
    let segment = room.key("segment-0");
    room.write(&segment, &pattern(contents[0].len(), 252)).await?;
    let reply = room.send(Request::get(&key)).await?;
    Ok(match refused(&reply, 409, &[]) {
        finding if !reply.is_success() => finding,
        _ if reply.body == contents.concat() => late(room, "the bytes of before are there".to_owned()),
        finding => Finding::no(format!("{}, and bytes that it does not name", finding.saw)),
    })
}

async fn delete(room: &mut Room) -> Found {
    let (contents, manifest) = segments(room).await?;
    let key = room.key("manifest");
    let put = || Request::put(&key, manifest.as_bytes()).query("multipart-manifest", "put");
    room.prepare(put()).await?;
    let reply = room.send(Request::delete(&key)).await?;
    if let Some(finding) = refusal(&reply) {
        return Ok(finding);
    }
    for (at, content) in contents.iter().enumerate() {
        let segment = room.key(&format!("segment-{at}"));
        let now = room.content(&segment).await?;
        let gone = || Some("it is gone".to_owned());
        if let Some(wrong) = now.map_or_else(gone, |now| difference(content, &now)) {
            return Ok(Finding::no(format!("the delete of the manifest changed segment {at}: {wrong}")));
        }
    }
    room.prepare(put()).await?;
    let reply = room.send(Request::delete(&key).query("multipart-manifest", "delete")).await?;
    if let Some(finding) = refusal(&reply) {
        return Ok(finding);
    }
    let mut left = 0;
    for at in 0..contents.len() {
        let segment = room.key(&format!("segment-{at}"));
        left += usize::from(room.content(&segment).await?.is_some());
    }
    Ok(match left {
        0 => Finding::yes("they stay, and go with it when that is asked for"),
        left => {
            late(room, format!("{left} of 3 segments are read after they were to go with their manifest"))
        }
    })
}

/// Pauses between looks at an object whose second is over; clocks of a store's machines differ a little.
const LOOKS: [Duration; 3] =
    [Duration::from_millis(1200), Duration::from_millis(1300), Duration::from_millis(2500)];

async fn expires(room: &mut Room) -> Found {
    let key = room.key("expires");
    let reply = room.send(Request::put(&key, b"x").line("x-delete-after", "1")).await?;
    if let Some(finding) = refusal(&reply) {
        return Ok(finding);
    }
    let mut passed = Duration::ZERO;
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        passed += pause;
        let reply = room.send(Request::get(&key)).await?;
        match reply.status {
            404 => return Ok(Finding::yes(format!("404 after {:.1} s", passed.as_secs_f64()))),
            200 => {}
            _ => return Ok(Finding::no(status_of(&reply))),
        }
    }
    Ok(Finding::no(format!("it is read {:.0} s after it was written for one", passed.as_secs_f64())))
}

async fn post(room: &mut Room) -> Found {
    let (key, content) = (room.key("keeps"), pattern(2000, 251));
    room.prepare(Request::put(&key, &content).line("content-type", "text/x-cosmark")).await?;
    let before = room.given(Request::get(&key)).await?;
    room.prepare(Request::post(&key, b"").line("x-object-meta-a", "new")).await?;
    let after = room.given(Request::get(&key)).await?;
    if let Some(wrong) = difference(&content, &after.body) {
        return Ok(Finding::no(wrong));
    }
    let said = |reply: &cosmark_adaptor_api::Reply| {
        format!("ETag {}, Content-Type {}", bare(reply.line("etag")), stated(reply.line("content-type")))
    };
    let (before, after) = (said(&before), said(&after));
    Ok(if before == after {
        Finding::yes("as they were")
    } else {
        Finding::no(format!("{before}; after a POST {after}"))
    })
}

async fn copy(room: &mut Room) -> Found {
    let from = room.key("from");
    room.prepare(Request::put(&from, b"x").line("x-object-meta-a", "old")).await?;
    let source = format!("/{}/{from}", room.container);
    let mut seen = Vec::new();
    // Each onto a name of its own: a read right behind an overwrite may be late.
    for (label, fresh) in [("added", None), ("fresh", Some("true"))] {
        let key = room.key(label);
        let request = Request::put(&key, b"").line("x-copy-from", source.as_str());
        let request = request.line("x-object-meta-b", "new");
        let request = match fresh {
            Some(fresh) => request.line("x-fresh-metadata", fresh),
            None => request,
        };
        let reply = room.send(request).await?;
        if let Some(finding) = refusal(&reply) {
            return Ok(finding);
        }
        let head = room.given(Request::head(&key)).await?;
        let [a, b] = ["x-object-meta-a", "x-object-meta-b"].map(|name| stated(head.line(name)));
        seen.push(format!("{label}: a is {a}, b is {b}"));
    }
    let is_right = seen == ["added: a is old, b is new", "fresh: a is not there, b is new"];
    Ok(Finding::holds(is_right, seen.join("; ")))
}
