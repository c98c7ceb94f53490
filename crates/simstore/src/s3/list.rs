//! ListObjects, versions 1 and 2.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::borrow::Cow;

use super::{Done, NO_SUCH_BUCKET, document, invalid_argument};
use crate::http::answer::Answer;
use crate::http::text::{encode, iso_date, xml as escape};
use crate::read::Call;
use crate::route::S3_ACCOUNT;
use crate::rules::Script;
use crate::store::{Listing, Page, Row, Store};

/// Most rows of one page.
const MAX_KEYS: u64 = 1000;

/// How names are written: as they are, or encoded like URLs when the client asked for that.
#[derive(Clone, Copy)]
struct Names {
    url: bool,
}

impl Names {
    fn write(self, name: &str) -> Cow<'_, str> {
        if self.url { Cow::Owned(encode(name)) } else { escape(name) }
    }
}

pub(super) fn objects(store: &Store, script: &mut Script, call: &Call<'_>, answer: &mut Answer) -> Done {
    let query = call.route.query;
    let version_2 = query.get("list-type").as_deref() == Some("2");
    let max_keys = query.number("max-keys").map_err(|()| invalid_argument("max-keys is not a number"))?;
    let max_keys = max_keys.unwrap_or(MAX_KEYS).min(MAX_KEYS);
    let text = |name| query.get(name).unwrap_or_default();
    let (prefix, delimiter) = (text("prefix"), text("delimiter"));
    let token = query.get("continuation-token");
    let after = match (version_2, &token) {
        (false, _) => text("marker"),
        (true, None) => text("start-after"),
        (true, Some(token)) => {
            Cow::Owned(from_token(token).ok_or(invalid_argument("The continuation token is not ours"))?)
        }
    };
    let names = Names { url: query.get("encoding-type").as_deref() == Some("url") };
    let past = script.lists_past(call.route.op, call.now_ns);
    let listing = Listing {
        prefix: &prefix,
        delimiter: &delimiter,
        after: &after,
        before: "",
        limit: max_keys as usize,
        past: past.as_ref().map(|(past, _)| *past),
        now_ns: call.now_ns,
    };
    let empty = Page { rows: Vec::new(), truncated: false, last: None };
    let page = match store.container(S3_ACCOUNT, &call.route.container) {
        None if store.is_null() => empty,
        None => return Err(NO_SUCH_BUCKET),
        Some(bucket) => {
            answer.container = Some(bucket.name.clone());
            // A page of no rows is never truncated, or clients would ask for ever.
            if max_keys == 0 { empty } else { bucket.list(&listing) }
        }
    };
    answer.rule = past.map(|(_, rule)| rule);
    let mut inner = String::with_capacity(512 + page.rows.len() * 256);
    push(&mut inner, "Name", &escape(&call.route.container));
    push(&mut inner, "Prefix", &names.write(&prefix));
    if !delimiter.is_empty() {
        push(&mut inner, "Delimiter", &names.write(&delimiter));
    }
    push(&mut inner, "MaxKeys", &max_keys.to_string());
    if names.url {
        push(&mut inner, "EncodingType", "url");
    }
    push(&mut inner, "IsTruncated", if page.truncated { "true" } else { "false" });
    let last = page.last.as_deref().filter(|_| page.truncated);
    if version_2 {
        push(&mut inner, "KeyCount", &page.rows.len().to_string());
        if let Some(token) = &token {
            push(&mut inner, "ContinuationToken", &escape(token));
        }
        if query.has("start-after") {
            push(&mut inner, "StartAfter", &names.write(&text("start-after")));
        }
        if let Some(last) = last {
            push(&mut inner, "NextContinuationToken", &to_token(last));
        }
    } else {
        push(&mut inner, "Marker", &names.write(&after));
        if let Some(last) = last {
            push(&mut inner, "NextMarker", &names.write(last));
        }
    }
    let with_owner = !version_2 || query.get("fetch-owner").as_deref() == Some("true");
    rows(&mut inner, &page, names, with_owner);
    document(answer, "ListBucketResult", &inner);
    Ok(())
}

fn rows(inner: &mut String, page: &Page, names: Names, with_owner: bool) {
    for row in &page.rows {
        if let Row::Object(name, object) = row {
            inner.push_str("<Contents>");
            push(inner, "Key", &names.write(name));
            push(inner, "LastModified", &iso_date(object.modified_ms));
            push(inner, "ETag", &format!("&quot;{}&quot;", object.etag));
            push(inner, "Size", &object.len().to_string());
            if with_owner {
                inner.push_str("<Owner><ID>simstore</ID><DisplayName>simstore</DisplayName></Owner>");
            }
            inner.push_str("<StorageClass>STANDARD</StorageClass></Contents>");
        }
    }
    for row in &page.rows {
        if let Row::Prefix(prefix) = row {
            inner.push_str("<CommonPrefixes>");
            push(inner, "Prefix", &names.write(prefix));
            inner.push_str("</CommonPrefixes>");
        }
    }
}

fn push(inner: &mut String, name: &str, value: &str) {
    for part in ["<", name, ">", value, "</", name, ">"] {
        inner.push_str(part);
    }
}

/// A continuation token is the last name in hexadecimal: opaque enough, and it needs no memory here.
fn to_token(name: &str) -> String {
    HEXLOWER.encode(name.as_ref())
}

fn from_token(token: &str) -> Option<String> {
    String::from_utf8(HEXLOWER_PERMISSIVE.decode(token.as_bytes()).ok()?).ok()
}
