//! What both protocols share: finding the version to show, conditions, ranges, ETags, kept header fields.

use data_encoding::HEXLOWER;
use std::rc::Rc;

use md5::{Digest as _, Md5};

use crate::behaviour::EtagKind;
use crate::content::Content;
use crate::http::answer::{Answer, Payload};
use crate::http::body::Body;
use crate::http::head::{Head, Method};
use crate::http::text::range;
use crate::route::Route;
use crate::rules::Script;
use crate::store::{Fields, Object, Store};

/// A request on its way through a protocol.
pub(crate) struct Call<'a> {
    pub(crate) head: &'a Head,
    pub(crate) route: &'a Route<'a>,
    pub(crate) now_ns: u64,
    /// Wall time, ms since 1970.
    pub(crate) now_ms: u64,
    /// Number of the request, unique in this server.
    pub(crate) id: u64,
    /// The connection is TLS.
    pub(crate) secure: bool,
}

/// Where a look-up ended.
pub(crate) enum Found {
    NoContainer,
    NoObject,
    Object(Rc<Object>),
}

/// Finds the version of an object that this request sees. The script may show the one before.
pub(crate) fn find(store: &Store, script: &mut Script, call: &Call<'_>, answer: &mut Answer) -> Found {
    let route = call.route;
    if store.is_null() {
        return Found::Object(store.null_object());
    }
    let Some(container) = store.container(&route.account, &route.container) else {
        return Found::NoContainer;
    };
    answer.container = Some(container.name.clone());
    let (name, mut object) = container.get(&route.object);
    answer.object = name;
    if store.past_ns > 0
        && let Some(recent) = container.recent(&route.object, call.now_ns)
        && let Some(rule) =
            script.shows_past(route.op, &route.object, call.now_ns, recent.age_ns, recent.change)
    {
        object = recent.before;
        answer.rule = Some(rule);
    }
    match object {
        Some(object) => {
            answer.version = object.version;
            Found::Object(object)
        }
        None => Found::NoObject,
    }
}

/// Whether an ETag is in a list of an `If-Match` or `If-None-Match` field.
fn listed(list: &str, etag: &str) -> bool {
    list.split(',')
        .map(|one| one.trim().trim_start_matches("W/").trim_matches('"'))
        .any(|one| one == "*" || one == etag)
}

/// The status that the conditions of a read demand instead of the object (RFC 9110, section 13). Conditions
/// on dates are not looked at.
pub(crate) fn read_condition(head: &Head, etag: &str) -> Option<u16> {
    if head.get("if-match").is_some_and(|list| !listed(list, etag)) {
        return Some(412);
    }
    head.get("if-none-match").is_some_and(|list| listed(list, etag)).then_some(304)
}

/// Whether the conditions that a copy of S3 puts to its source are met. Those on dates are not looked at.
pub(crate) fn source_condition(head: &Head, etag: &str) -> bool {
    head.get("x-amz-copy-source-if-match").is_none_or(|list| listed(list, etag))
        && head.get("x-amz-copy-source-if-none-match").is_none_or(|list| !listed(list, etag))
}

/// Whether the conditions of a write are met by what is there.
pub(crate) fn write_condition(head: &Head, there: Option<&Object>) -> bool {
    let etag = there.map(|object| &*object.etag);
    head.get("if-match").is_none_or(|list| etag.is_some_and(|etag| listed(list, etag)))
        && head.get("if-none-match").is_none_or(|list| !etag.is_some_and(|etag| listed(list, etag)))
}

/// Whether a range is of the version that the client means (RFC 9110, section 13.1.5). A weak ETag and a date name none.
fn is_of_version(head: &Head, etag: &str) -> bool {
    head.get("if-range").is_none_or(|given| given.trim_matches('"') == etag)
}

/// Makes the object with this ETag the body of the answer: whole, a range, or only its length for HEAD.
pub(crate) fn give(head: &Head, etag: &str, content: &Content, answer: &mut Answer) -> Result<(), ()> {
    let whole = content.len();
    answer.header("Accept-Ranges", "bytes");
    let part = match head.get("range").filter(|_| is_of_version(head, etag)) {
        Some(field) => range(field, whole)?,
        None => None,
    };
    let (from, length) = part.unwrap_or((0, whole));
    if part.is_some() {
        answer.status = 206;
        answer.header("Content-Range", &format!("bytes {from}-{}/{whole}", from + length - 1));
    }
    if head.method == Method::Head {
        answer.head_length = Some(length);
    } else {
        answer.payload = Payload::Object(content.slice(from, length));
    }
    Ok(())
}

/// MD5 as 32 hexadecimal digits.
pub(crate) fn md5_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(Md5::digest(bytes).as_ref())
}

/// The ETag of a new version.
pub(crate) fn etag_of(store: &Store, version: u64, body: &Body) -> Box<str> {
    match store.etag {
        EtagKind::Cheap => store.cheap_etag(version),
        EtagKind::Md5 => md5_hex(&body.data).into_boxed_str(),
    }
}

/// The content of a new version; takes the bytes out of the body.
pub(crate) fn content_of(store: &Store, body: &mut Body) -> Content {
    if store.keeps_content() {
        Content::kept(std::mem::take(&mut body.data), body.reserved.take())
    } else {
        Content::pattern(body.length)
    }
}

/// Header fields of a request to keep: those the protocol gives back as they came, and metadata.
pub(crate) fn kept_fields(head: &Head, plain: &[&str], meta_prefix: &str) -> Fields {
    head.fields()
        .filter_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            (name.starts_with(meta_prefix) || plain.contains(&name.as_str()))
                .then(|| (name.into(), value.into()))
        })
        .collect()
}
