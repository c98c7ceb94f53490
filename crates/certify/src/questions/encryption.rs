//! Objects that are encrypted by a key which comes with each request (SSE-C), which a store need not have, and many
//! have over TLS only. Source: S3 API, PutObject and GetObject; user guide, "Using server-side encryption with
//! customer-provided keys".

use cosmark_adaptor_api::Reply;
use data_encoding::BASE64;

use super::access::refusal;
use super::copies::copy;
use super::integrity::{bare, md5_base64};
use super::multipart::{begin_by, complete, completion, sending};
use super::resources::said;
use super::{Group, Question, S3, by, difference, pattern, row, stated};
use crate::request::{self, Finding, Found, Request, status_of};
use crate::room::Room;

const KEYS: (Group, super::Of) = (Group::Encryption, S3);
const GUIDE: &str = "S3 user guide, Using server-side encryption with customer-provided keys (SSE-C)";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.sse-c.read",
        KEYS,
        (
            "Is what was written with a key of one's own read with it, and is the key in no answer?",
            "byte for byte, a range of it, too; HEAD tells its length; the algorithm comes back, and the key does not",
            GUIDE,
        ),
        by!(read),
    ),
    row(
        "s3.sse-c.without",
        KEYS,
        (
            "Is it read by nobody who has not the key, or another one?",
            "400 without a key, 400 or 403 with another one; of HEAD, too",
            GUIDE,
        ),
        by!(without),
    ),
    row(
        "s3.sse-c.wrong-key",
        KEYS,
        (
            "Are keys refused that are too short, missing, of another algorithm, or not what their MD5 says?",
            "400 each, and nothing is written",
            GUIDE,
        ),
        by!(wrong_keys),
    ),
    row(
        "s3.sse-c.multipart",
        KEYS,
        (
            "Do all parts of a write have the key with which it began?",
            "400 for a part with another key or without one; the object is read with the key, and not without",
            "S3 API, UploadPart; user guide, SSE-C",
        ),
        by!(parts),
    ),
    row(
        "s3.sse-c.copy",
        KEYS,
        (
            "Is it copied by who has the key of its source, and by nobody else?",
            "byte for byte with the key; 400 without one",
            "S3 API, CopyObject; user guide, SSE-C",
        ),
        by!(copied),
    ),
];

const ALGORITHM: &str = "x-amz-server-side-encryption-customer-algorithm";
const KEY: &str = "x-amz-server-side-encryption-customer-key";
const KEY_MD5: &str = "x-amz-server-side-encryption-customer-key-md5";
const SOURCE_ALGORITHM: &str = "x-amz-copy-source-server-side-encryption-customer-algorithm";
const SOURCE_KEY: &str = "x-amz-copy-source-server-side-encryption-customer-key";
const SOURCE_KEY_MD5: &str = "x-amz-copy-source-server-side-encryption-customer-key-md5";

/// A key as requests have it.
struct Key {
    text: String,
    md5: String,
}

impl Key {
    fn new(room: &mut Room, seed: u64) -> Self {
        Self::of(room, &pattern(32, seed))
    }

    fn of(room: &mut Room, bytes: &[u8]) -> Self {
        let text = BASE64.encode(bytes);
        // Nobody else's object has it; but keys are on no page.
        room.hidden.add(text.clone());
        Self { text, md5: md5_base64(bytes) }
    }

    fn with(&self, request: Request) -> Request {
        let request = request.line(ALGORITHM, "AES256").line(KEY, self.text.as_str());
        request.line(KEY_MD5, self.md5.as_str())
    }

    /// Whether an answer shows it.
    fn is_in(&self, reply: &Reply) -> bool {
        let key = self.text.as_bytes();
        reply.lines.iter().any(|(_, value)| value.contains(&self.text))
            || reply.body.windows(key.len()).any(|part| part == key)
    }
}

/// Whether the store takes such keys; `Err`: the answer of one that does not.
async fn probe(room: &mut Room) -> Result<(), Finding> {
    let (name, own) = (room.key("probe"), Key::new(room, 310));
    let reply = room.send(own.with(Request::put(&name, &pattern(900, 311)))).await?;
    if let Some(finding) = refusal("a write with a key", &reply) {
        return Err(finding);
    }
    if reply.line(ALGORITHM).is_some() {
        return Ok(());
    }
    let plain = room.send(Request::get(&name)).await?;
    if plain.is_success() {
        return Err(Finding::differs(
            "not offered: the key is overlooked, and the object is read without it",
        ));
    }
    Ok(())
}

/// Ends a question about what is not there.
async fn offered(room: &mut Room) -> Result<(), Finding> {
    if room.encrypts.is_none() {
        room.encrypts = Some(probe(room).await.map_err(|finding| finding.saw));
    }
    match &room.encrypts {
        Some(Err(why)) => Err(Finding::not_asked(format!("there is no such encryption: {why}"))),
        _ => Ok(()),
    }
}

async fn read(room: &mut Room) -> Found {
    let probed = probe(room).await;
    room.encrypts = Some(probed.clone().map_err(|finding| finding.saw));
    probed?;
    let (name, own, content) = (room.key("encrypted"), Key::new(room, 312), pattern(3000, 313));
    let write = room.prepare(own.with(Request::put(&name, &content))).await?;
    let part = Request::get(&name).line("range", "bytes=1000-1999");
    let reads = [("GET", Request::get(&name), &content[..]), ("a range", part, &content[1000..2000])];
    let mut replies = vec![write];
    for (what, request, right) in reads {
        let reply = room.send(own.with(request)).await?;
        if !reply.is_success() {
            return Ok(Finding::no(format!("{what} with the key gave {}", status_of(&reply))));
        }
        // Who has no ranges gives the whole; that is another question.
        let right = if reply.status == 200 { &content[..] } else { right };
        if let Some(wrong) = difference(right, &reply.body) {
            return Ok(Finding::no(format!("{what} with the key: {wrong}")));
        }
        replies.push(reply);
    }
    let head = room.send(own.with(Request::head(&name))).await?;
    let (length, algorithm) = (head.line("content-length"), head.line(ALGORITHM));
    let seen = format!("HEAD with the key gave {}, Content-Length {}", status_of(&head), stated(length));
    if !head.is_success() || length != Some("3000") {
        return Ok(Finding::no(seen));
    }
    let seen = format!("{seen}, algorithm {}", stated(algorithm));
    let is_right = algorithm == Some("AES256");
    replies.push(head);
    if replies.iter().any(|reply| own.is_in(reply)) {
        return Ok(Finding::no("the key itself is in an answer"));
    }
    Ok(if is_right { Finding::yes(seen) } else { Finding::differs(seen) })
}

/// Sends what has to be refused for its key.
async fn shut_out(room: &mut Room, what: &str, request: Request) -> Result<Option<String>, Finding> {
    let reply = complete(room, request).await?;
    request::shut_out(&reply, what, &[400, 403])
}

async fn without(room: &mut Room) -> Found {
    offered(room).await?;
    let (name, own, other) = (room.key("closed"), Key::new(room, 314), Key::new(room, 315));
    room.prepare(own.with(Request::put(&name, &pattern(2000, 316)))).await?;
    let all = [
        ("GET without a key", Request::get(&name)),
        ("HEAD without a key", Request::head(&name)),
        ("GET with another key", other.with(Request::get(&name))),
        ("HEAD with another key", other.with(Request::head(&name))),
    ];
    let mut others = Vec::new();
    for (what, request) in all {
        others.extend(shut_out(room, what, request).await?);
    }
    Ok(said(&others, "refused without its key and with another one"))
}

async fn wrong_keys(room: &mut Room) -> Found {
    offered(room).await?;
    let (name, own, other) = (room.key("wrong-key"), Key::new(room, 317), Key::new(room, 318));
    let put = || Request::put(&name, b"wrong-key");
    let short = Key::of(room, &pattern(16, 319));
    let mixed = Key { text: own.text.clone(), md5: other.md5 };
    let all = [
        ("a key of 16 bytes", short.with(put())),
        ("the MD5 of another key", mixed.with(put())),
        ("an algorithm and no key", put().line(ALGORITHM, "AES256")),
        (
            "an algorithm that does not exist",
            put().line(ALGORITHM, "COSMARK").line(KEY, own.text.as_str()).line(KEY_MD5, own.md5.as_str()),
        ),
    ];
    let mut others = Vec::new();
    for (what, request) in all {
        others.extend(shut_out(room, what, request).await?);
    }
    let look = room.send(Request::head(&name)).await?;
    match look.status {
        404 => {}
        200..=299 | 400 => {
            let seen = status_of(&look);
            return Ok(Finding::no(format!("refused, and written all the same: HEAD gave {seen}")));
        }
        _ => others.push(format!("HEAD of what was not written: {}", status_of(&look))),
    }
    Ok(said(&others, "400 for 4, and nothing is written"))
}

async fn parts(room: &mut Room) -> Found {
    offered(room).await?;
    let (name, own, other) = (room.key("parts"), Key::new(room, 320), Key::new(room, 321));
    let content = pattern(4000, 322);
    let upload = begin_by(room, own.with(Request::post(&name, b"").flag("uploads"))).await?;
    let part = || sending(&name, &upload, 1, &content);
    let mut others = Vec::new();
    for (what, request) in [("a part with another key", other.with(part())), ("a part without one", part())] {
        others.extend(shut_out(room, what, request).await?);
    }
    let etag = bare(room.prepare(own.with(part())).await?.line("etag"));
    let reply = complete(room, completion(&name, &upload, &[(1, etag)])).await?;
    if let Some(finding) = refusal("its completion", &reply) {
        return Ok(finding);
    }
    let reply = room.send(own.with(Request::get(&name))).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("GET with the key gave {}", status_of(&reply))));
    }
    if let Some(wrong) = difference(&content, &reply.body) {
        return Ok(Finding::no(wrong));
    }
    others.extend(shut_out(room, "GET without a key", Request::get(&name)).await?);
    Ok(said(&others, "parts with its key alone; read with it alone"))
}

async fn copied(room: &mut Room) -> Found {
    offered(room).await?;
    let (from, to, own) = (room.key("from"), room.key("to"), Key::new(room, 323));
    let content = pattern(3500, 324);
    room.prepare(own.with(Request::put(&from, &content))).await?;
    let plain = copy(room, &from, &to);
    let mut others = Vec::new();
    let reply = complete(room, plain.clone()).await?;
    // Whose copies are encrypted still has opened nothing.
    if reply.is_success() && !room.send(Request::get(&to)).await?.is_success() {
        others.push(format!("a copy without the key: {}, and it cannot be read", status_of(&reply)));
    } else {
        others.extend(request::shut_out(&reply, "a copy without the key", &[400, 403])?);
    }
    let with_key = plain.line(SOURCE_ALGORITHM, "AES256").line(SOURCE_KEY, own.text.as_str());
    let reply = complete(room, with_key.line(SOURCE_KEY_MD5, own.md5.as_str())).await?;
    if let Some(finding) = refusal("a copy with the key", &reply) {
        return Ok(finding);
    }
    let now = room.content(&to).await?.unwrap_or_default();
    Ok(difference(&content, &now).map_or_else(
        || said(&others, "copied with the key alone"),
        |wrong| Finding::no(format!("copied with the key: {wrong}")),
    ))
}
