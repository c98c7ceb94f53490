//! What a Swift may have beside its API, as its `/info` says: temporary links, quotas; and reads of the newest. Source:
//! OpenStack Object Storage API v1 reference; Swift's documents of the middleware `tempurl` and `container_quotas`.

use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use cosmark_adaptor_api::{Reply, Whom};
use data_encoding::HEXLOWER;

use super::{Group, Question, SWIFT, by, difference, pattern, row};
use crate::Answer;
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;

const LINKS: (Group, super::Of) = (Group::Errors, SWIFT);
const TEMPURL: &str = "Swift, TempURL middleware";

pub(super) const ROWS: &[Question] = &[
    row(
        "swift.newest",
        (Group::Consistency, SWIFT),
        (
            "Does a read with X-Newest give the last write?",
            "the bytes of each of 5 overwrites right behind it, and 404 behind a delete",
            "OpenStack Object Storage API, Get object content and metadata",
        ),
        by!(newest),
    ),
    row(
        "swift.link.read",
        LINKS,
        (
            "Does a temporary link let its owner read until it ends, and do nothing else?",
            "200; 401 when its time is over, for another object, with a longer time, for a write, for a delete, and \
             when its key is gone",
            TEMPURL,
        ),
        by!(read),
    ),
    row(
        "swift.link.write",
        LINKS,
        (
            "Does a temporary link for a write let its owner write this object, and not read it?",
            "201 and the bytes; 401 for a read by it, and for one that another key signed",
            TEMPURL,
        ),
        by!(write),
    ),
    row(
        "swift.link.prefix",
        LINKS,
        (
            "Does a temporary link for a prefix lead to the names below it, and to no other?",
            "200 for each of two; 401 for a name beside them",
            TEMPURL,
        ),
        by!(prefix),
    ),
    row(
        "swift.quota",
        (Group::Limits, SWIFT),
        (
            "Is a write refused that is larger than what the quota of its container leaves?",
            "201 within it, 413 beyond it, and nothing is written",
            "Swift, Container Quotas middleware",
        ),
        by!(quota),
    ),
];

/// Another look at what a proxy may know a moment later, and how many.
const PAUSE: Duration = Duration::from_millis(700);
const LOOKS: usize = 3;
/// A longer `/info` is none: as JSON it would take ten times its bytes.
const MOST_INFO_BYTES: usize = 1 << 20;

/// Whether `/info` names a feature; `None`: the store does not say what it has.
pub(super) async fn names(room: &mut Room, feature: &str) -> Option<bool> {
    let reply = room.send(Request::get("info").of("")).await.ok()?;
    has_named(&reply, feature)
}

fn has_named(reply: &Reply, feature: &str) -> Option<bool> {
    if !reply.is_success() || reply.body.len() > MOST_INFO_BYTES {
        return None;
    }
    let all: serde_json::Value = serde_json::from_slice(&reply.body).ok()?;
    all.is_object().then(|| all.get(feature).is_some())
}

/// Ends a question about what is not there.
pub(super) async fn offered(room: &mut Room, feature: &str) -> Result<(), Finding> {
    match names(room, feature).await {
        Some(true) => Ok(()),
        Some(false) => Err(Finding::not_asked(format!("not offered: /info does not name {feature}"))),
        None => Err(Finding::not_asked("the store does not say at /info what it has")),
    }
}

async fn newest(room: &mut Room) -> Found {
    let key = room.key("newest");
    let get = || Request::get(&key).line("x-newest", "true");
    for round in 0..5 {
        let content = pattern(1000 + round, 270 + round as u64);
        room.write(&key, &content).await?;
        let reply = room.send(get()).await?;
        if reply.status != 200 {
            return Ok(Finding::no(format!(
                "the read behind write {} gave {}",
                round + 1,
                status_of(&reply)
            )));
        }
        if let Some(wrong) = difference(&content, &reply.body) {
            return Ok(Finding::no(format!("behind write {}: {wrong}", round + 1)));
        }
    }
    room.prepare(Request::delete(&key)).await?;
    let reply = room.send(get()).await?;
    Ok(refused(&reply, 404, &[]))
}

/// Gives the container a key for links and forms; it goes with the container, if not before.
pub(super) async fn with_key(room: &mut Room) -> Result<String, Finding> {
    if !room.owns_container {
        return Err(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let key =
        random_key().map_err(|why| Finding::not_asked(format!("no random numbers for a key: {why}")))?;
    room.hidden.add(key.clone());
    room.prepare(Request::post("", b"").line("x-container-meta-temp-url-key", key.clone())).await?;
    Ok(key)
}

/// 128 bits that nobody can guess.
fn random_key() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(HEXLOWER.encode(&bytes))
}

/// Takes the key away again, whatever was found with it.
pub(super) async fn without_key(room: &mut Room, found: Found) -> Found {
    let request = Request::post("", b"").line("x-remove-container-meta-temp-url-key", "x");
    let taken = room.prepare(request).await;
    let finding = found?;
    if finding.answer == Answer::Yes {
        taken?;
    }
    Ok(finding)
}

fn linked(request: Request, whom: Whom, key: &str) -> Request {
    Request { payload: Some(key.to_owned()), ..request.by(whom) }
}

/// Sends what has to be let in by a link.
async fn let_in(room: &mut Room, request: Request) -> Result<Reply, Finding> {
    let mut reply = room.send(request.clone()).await?;
    for _ in 0..LOOKS {
        if reply.status != 401 {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        reply = room.send(request.clone()).await?;
    }
    match reply.status {
        200..=299 => Ok(reply),
        // Some know no keys of containers, others no digest of this kind.
        400..=499 | 501 => Err(Finding::differs(format!("a good link is refused by {}", status_of(&reply)))),
        _ => Err(Finding::no(format!("the store failed: {}", status_of(&reply)))),
    }
}

/// Sends what each has to be refused by 401.
async fn shut_out(room: &mut Room, all: Vec<(Request, &str)>) -> Found {
    let mut others = Vec::new();
    let count = all.len();
    for (request, what) in all {
        let finding = refused(&room.send(request).await?, 401, &[]);
        let seen = format!("{what}: {}", finding.saw);
        match finding.answer {
            Answer::Yes => {}
            Answer::No => return Ok(Finding::no(seen)),
            _ => others.push(seen),
        }
    }
    Ok(if others.is_empty() {
        Finding::yes(format!("it is let in, and 401 for {count} others"))
    } else {
        Finding::differs(others.join("; "))
    })
}

async fn read(room: &mut Room) -> Found {
    offered(room, "tempurl").await?;
    let key = with_key(room).await?;
    let found = reads(room, &key).await;
    let finding = without_key(room, found).await?;
    if finding.answer != Answer::Yes {
        return Ok(finding);
    }
    let link = linked(Request::get(room.key("link")), Whom::Link, &key);
    let gone = room.send(link).await?;
    Ok(match refused(&gone, 401, &[]) {
        late if late.answer == Answer::Yes => finding,
        // A proxy may know it a minute longer.
        late => Finding::differs(format!("right behind the end of its key: {}", late.saw)),
    })
}

async fn reads(room: &mut Room, key: &str) -> Found {
    let (name, content) = (room.key("link"), pattern(3000, 271));
    room.write(&name, &content).await?;
    let reply = let_in(room, linked(Request::get(&name), Whom::Link, key)).await?;
    if let Some(wrong) = difference(&content, &reply.body) {
        return Ok(Finding::no(wrong));
    }
    let others = vec![
        (linked(Request::get(&name), Whom::OldLink, key), "when its time is over"),
        (linked(Request::get(&name), Whom::LinkToOther, key), "for another object"),
        (linked(Request::get(&name), Whom::StretchedLink, key), "with a longer time"),
        (linked(Request::put(&name, b"other"), Whom::Link, key), "a write"),
        (linked(Request::delete(&name), Whom::Link, key), "a delete"),
    ];
    let finding = shut_out(room, others).await?;
    stays(room, &name, &content, finding).await
}

/// The finding, where the object is as it was.
async fn stays(room: &mut Room, name: &str, content: &[u8], finding: Finding) -> Found {
    let Some(now) = room.content(name).await? else {
        return Ok(Finding::no(format!("{}; the object is gone", finding.saw)));
    };
    let wrong = difference(content, &now);
    Ok(wrong.map_or_else(|| finding.clone(), |wrong| Finding::no(format!("{}; {wrong}", finding.saw))))
}

async fn write(room: &mut Room) -> Found {
    offered(room, "tempurl").await?;
    let key = with_key(room).await?;
    let found = writes(room, &key).await;
    without_key(room, found).await
}

async fn writes(room: &mut Room, key: &str) -> Found {
    let (name, beside, content) = (room.key("by-link"), room.key("by-link-2"), pattern(2500, 272));
    let_in(room, linked(Request::put(&name, &content), Whom::WriteLink, key)).await?;
    let mut to_other = linked(Request::put(&beside, b"other"), Whom::WriteLink, key);
    // A key that the container has not signs nothing.
    to_other.payload = Some(format!("{key}-not"));
    let others = vec![
        (linked(Request::get(&name), Whom::WriteLink, key), "a read"),
        (to_other, "signed by another key"),
    ];
    let finding = shut_out(room, others).await?;
    if room.content(&beside).await?.is_some() {
        return Ok(Finding::no(format!("{}; it was written", finding.saw)));
    }
    stays(room, &name, &content, finding).await
}

async fn prefix(room: &mut Room) -> Found {
    offered(room, "tempurl").await?;
    let key = with_key(room).await?;
    let found = below(room, &key).await;
    without_key(room, found).await
}

async fn below(room: &mut Room, key: &str) -> Found {
    for label in ["below/a", "below/b", "beside"] {
        let name = room.key(label);
        room.write(&name, label.as_bytes()).await?;
    }
    let prefix = room.key("below/");
    let link =
        |name: String| linked(Request::get(name).query("temp_url_prefix", prefix.clone()), Whom::Link, key);
    for label in ["below/a", "below/b"] {
        let request = link(room.key(label));
        let reply = let_in(room, request).await?;
        if let Some(wrong) = difference(label.as_bytes(), &reply.body) {
            return Ok(Finding::no(wrong));
        }
    }
    let beside = link(room.key("beside"));
    shut_out(room, vec![(beside, "a name beside the prefix")]).await
}

async fn quota(room: &mut Room) -> Found {
    offered(room, "container_quotas").await?;
    if !room.owns_container {
        return Ok(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let container = format!("cosmark-certify-{}-quota", room.word);
    // Some count blocks of 4 KiB.
    let bounded = Request::put("", b"").line("x-container-meta-quota-bytes", "100000");
    room.prepare(bounded.of(&container)).await?;
    let small = room.send(Request::put("small", &pattern(40_000, 273)).of(&container)).await?;
    if !small.is_success() {
        return Ok(Finding::differs(format!("40000 of 100000 bytes: {}", status_of(&small))));
    }
    // A refusal may have been written, too.
    room.strays.push((container.clone(), "large".to_owned()));
    let large = room.send(Request::put("large", &pattern(140_000, 274)).of(&container)).await?;
    let finding = refused(&large, 413, &[]);
    let look = room.send(Request::get("large").of(&container)).await?;
    if !large.is_success() && look.is_success() {
        return Ok(Finding::no(format!("{}, and it was written", finding.saw)));
    }
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_has_is_read_where_it_says_it_and_where_that_is_not_endless() {
        let long = format!("{{\"tempurl\": [{}0]}}", "0,".repeat(MOST_INFO_BYTES));
        for (status, body, has) in [
            (200, "{\"tempurl\": {}}", Some(true)),
            (200, "{\"swift\": {}}", Some(false)),
            (200, "[\"tempurl\"]", None),
            (200, "<html>", None),
            (404, "{\"tempurl\": {}}", None),
            (200, long.as_str(), None),
        ] {
            let reply = Reply { status, body: body.as_bytes().to_vec(), ..Reply::default() };
            assert_eq!(has_named(&reply, "tempurl"), has, "{status} {} bytes", body.len());
        }
    }
}
