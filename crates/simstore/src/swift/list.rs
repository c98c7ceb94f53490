//! Swift listings of accounts and containers, as text and as JSON.

use serde_json::{Value, json};

use super::{Done, Refusal, container, refusal};
use crate::http::answer::{Answer, Payload};
use crate::http::text::iso_date;
use crate::read::Call;
use crate::rules::Script;
use crate::store::{Listing, Row, Store};

/// Most rows of one page.
pub(super) const MAX_ROWS: u64 = 10_000;

/// `2014-01-01T00:00:00.000000`, as Swift's listings have it.
fn list_date(unix_ms: u64) -> String {
    iso_date(unix_ms).replace('Z', "000")
}

#[derive(PartialEq)]
enum Format {
    Text,
    Json,
}

fn format(call: &Call<'_>) -> Result<Format, Refusal> {
    match call.route.query.get("format").as_deref() {
        Some("json") => Ok(Format::Json),
        Some("xml") => Err(406.into()),
        Some(_) => Ok(Format::Text),
        None if call.head.get("accept").is_some_and(|accept| accept.contains("application/json")) => {
            Ok(Format::Json)
        }
        None => Ok(Format::Text),
    }
}

fn limit(call: &Call<'_>) -> Result<usize, Refusal> {
    match call.route.query.number("limit") {
        // Swift takes a limit that is no number for none.
        Ok(None) | Err(()) => Ok(MAX_ROWS as usize),
        Ok(Some(limit)) if limit > MAX_ROWS => Err(refusal(412, format!("Maximum limit is {MAX_ROWS}"))),
        Ok(Some(limit)) => Ok(limit as usize),
    }
}

fn give(format: &Format, rows: Vec<(String, Value)>, answer: &mut Answer) {
    match format {
        Format::Json => {
            let rows = rows.into_iter().map(|(_, row)| row).collect();
            super::json(answer, Value::Array(rows).to_string());
        }
        Format::Text if rows.is_empty() => answer.status = 204,
        Format::Text => {
            let text: String = rows.into_iter().flat_map(|(name, _)| [name, "\n".to_owned()]).collect();
            answer.header("Content-Type", "text/plain; charset=utf-8");
            answer.payload = Payload::Text(text.into_bytes());
        }
    }
}

/// Swift takes these words for true.
fn is_true(value: &str) -> bool {
    ["true", "1", "yes", "on", "t", "y"].iter().any(|word| word.eq_ignore_ascii_case(value))
}

pub(super) fn containers(store: &Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    let (format, limit, query) = (format(call)?, limit(call)?, call.route.query);
    let text = |name| query.get(name).unwrap_or_default();
    let (prefix, marker, end) = (text("prefix"), text("marker"), text("end_marker"));
    container::account_headers(store, call, answer);
    let rows = store
        .account(&call.route.account)
        .into_iter()
        .flat_map(|account| account.containers.values())
        .filter(|c| c.name.starts_with(&*prefix) && *c.name > *marker && (end.is_empty() || *c.name < *end))
        .take(limit)
        .map(|c| {
            let row = json!({
                "name": &*c.name, "count": c.count, "bytes": c.bytes, "last_modified": list_date(c.created_ms),
            });
            (c.name.to_string(), row)
        })
        .collect();
    give(&format, rows, answer);
    Ok(())
}

pub(super) fn objects(store: &Store, script: &mut Script, call: &Call<'_>, answer: &mut Answer) -> Done {
    let (format, limit, query) = (format(call)?, limit(call)?, call.route.query);
    let text = |name| query.get(name).unwrap_or_default();
    let past = script.lists_past(call.route.op, call.now_ns);
    let (prefix, delimiter, marker, end) =
        (text("prefix"), text("delimiter"), text("marker"), text("end_marker"));
    // From the end a page begins before its marker; what is before that one is known when all was seen.
    let is_reversed = query.get("reverse").is_some_and(|value| is_true(&value));
    let (after, before) = if is_reversed { (&end, &marker) } else { (&marker, &end) };
    let listing = Listing {
        prefix: &prefix,
        delimiter: &delimiter,
        after,
        before,
        limit: if is_reversed { usize::MAX } else { limit },
        past: past.as_ref().map(|(past, _)| *past),
        now_ns: call.now_ns,
    };
    let mut rows = match store.container(&call.route.account, &call.route.container) {
        None if store.is_null() => Vec::new(),
        None => return Err(404.into()),
        Some(container) => {
            container::headers(container, answer);
            container.list(&listing).rows
        }
    };
    answer.rule = past.map(|(_, rule)| rule);
    if is_reversed {
        rows.reverse();
        rows.truncate(limit);
    }
    let rows = rows
        .into_iter()
        .map(|row| match row {
            Row::Prefix(prefix) => (prefix.clone(), json!({"subdir": prefix})),
            Row::Object(name, object) => {
                let row = json!({
                    "name": &*name,
                    "bytes": object.len(),
                    "hash": &*object.etag,
                    "content_type": &*object.content_type,
                    "last_modified": list_date(object.modified_ms),
                });
                (name.to_string(), row)
            }
        })
        .collect();
    give(&format, rows, answer);
    Ok(())
}
