//! The Swift protocol (OpenStack Object Storage API v1) with version 1 auth: accounts, containers, objects,
//! listings as text and JSON, static and dynamic large objects.

mod auth;
mod container;
mod large;
mod list;
mod object;

use crate::behaviour::{Op, SwiftOptions};
use crate::http::answer::{Answer, Payload};
use crate::http::body::{Body, Refused};
use crate::http::head::Head;
use crate::http::text::encode;
use crate::read::Call;
use crate::rules::Script;
use crate::store::{Fields, Place, Store, fields_bytes};

pub(crate) use auth::Tokens;
pub(crate) use large::is_manifest;

/// A refusal: its status and, if it is not the usual sentence, what to say.
#[derive(Debug, Clone)]
struct Refusal {
    status: u16,
    text: Option<String>,
}

impl From<u16> for Refusal {
    fn from(status: u16) -> Refusal {
        Refusal { status, text: None }
    }
}

fn refusal(status: u16, text: impl Into<String>) -> Refusal {
    Refusal { status, text: Some(text.into()) }
}

type Done = Result<(), Refusal>;

/// Executes a request.
pub(crate) fn handle(
    store: &mut Store,
    script: &mut Script,
    tokens: &mut Tokens,
    options: &SwiftOptions,
    call: &Call<'_>,
    body: Body,
    answer: &mut Answer,
) {
    transaction(call.id, answer);
    if let Err(refusal) = dispatch(store, script, tokens, options, call, body, answer) {
        answer.headers.clear();
        transaction(call.id, answer);
        if refusal.status == 401 {
            answer.header("Www-Authenticate", &format!("Swift realm=\"{}\"", encode(&call.route.account)));
        }
        answer.status = refusal.status;
        if refusal.status != 304 {
            html(answer, refusal.text.as_deref());
        }
    }
}

fn dispatch(
    store: &mut Store,
    script: &mut Script,
    tokens: &mut Tokens,
    options: &SwiftOptions,
    call: &Call<'_>,
    body: Body,
    answer: &mut Answer,
) -> Done {
    match body.refused {
        Some(Refused::TooLarge) => return Err(413.into()),
        Some(Refused::NoSpace) => return Err(refusal(507, NO_SPACE)),
        None => {}
    }
    if call.route.malformed {
        return Err(refusal(412, "Invalid UTF8 or contains NULL"));
    }
    if call.route.path == "/info" {
        return info(options, answer);
    }
    if call.route.op == Op::Auth {
        return tokens.issue(call, options, answer);
    }
    tokens.check(call, options)?;
    match call.route.op {
        Op::ListContainers => list::containers(store, call, answer),
        Op::Account => container::account(store, call, answer),
        Op::PutContainer => container::create(store, options, call, answer),
        Op::HeadContainer => container::head(store, call, answer),
        Op::PostContainer => container::post(store, call, answer),
        Op::DeleteContainer => container::delete(store, call, answer),
        Op::List => list::objects(store, script, call, answer),
        Op::Get | Op::Head => object::read(store, script, call, answer),
        Op::Put => object::put(store, call, body, answer),
        Op::Post => object::post(store, call, answer),
        Op::Delete => object::delete(store, call, answer),
        Op::Copy => object::copy(store, call, answer),
        _ => Err(405.into()),
    }
}

const NO_SPACE: &str =
    "The simulated store's memory is used up; raise store.max_total_bytes or use store.mode headers.";

fn transaction(id: u64, answer: &mut Answer) {
    let text = format!("tx{id:021x}-{:010x}", id >> 32);
    answer.header("X-Trans-Id", &text);
    answer.header("X-Openstack-Request-Id", &text);
}

/// Swift's sentences for statuses.
fn sentence(status: u16) -> (&'static str, &'static str) {
    match status {
        400 => (
            "Bad Request",
            "The server could not comply with the request since it is either malformed or otherwise incorrect.",
        ),
        401 => (
            "Unauthorized",
            "This server could not verify that you are authorized to access the document you requested.",
        ),
        403 => ("Forbidden", "Access was denied to this resource."),
        404 => ("Not Found", "The resource could not be found."),
        405 => ("Method Not Allowed", "The method is not allowed for this resource."),
        406 => ("Not Acceptable", "The resource is not available in a format acceptable to your browser."),
        409 => ("Conflict", "There was a conflict when trying to complete your request."),
        411 => ("Length Required", "Content-Length header required."),
        412 => ("Precondition Failed", "A precondition for this request was not met."),
        413 => ("Request Entity Too Large", "The body of your request was too large for this server."),
        416 => ("Requested Range Not Satisfiable", "The Range requested is not available."),
        422 => ("Unprocessable Entity", "Unable to process the contained instructions"),
        429 => ("Too Many Requests", "Scripted by the simulated store."),
        503 => {
            ("Service Unavailable", "The server is currently unavailable. Please try again at a later time.")
        }
        507 => ("Insufficient Storage", "There was not enough space to save the resource."),
        _ => ("Error", "Scripted by the simulated store."),
    }
}

fn html(answer: &mut Answer, text: Option<&str>) {
    let (title, usual) = sentence(answer.status);
    answer.header("Content-Type", "text/html; charset=UTF-8");
    let text = format!("<html><h1>{title}</h1><p>{}</p></html>", text.unwrap_or(usual));
    answer.payload = Payload::Text(text.into_bytes());
}

/// Makes an error of the script the answer.
pub(crate) fn scripted_error(id: u64, status: u16, answer: &mut Answer) {
    transaction(id, answer);
    answer.status = status;
    html(answer, None);
}

fn info(options: &SwiftOptions, answer: &mut Answer) -> Done {
    let policies: Vec<_> = options
        .policies
        .iter()
        .enumerate()
        .map(|(index, name)| {
            if index == 0 {
                serde_json::json!({"name": name, "aliases": name, "default": true})
            } else {
                serde_json::json!({"name": name, "aliases": name})
            }
        })
        .collect();
    let text = serde_json::json!({
        "swift": {
            "version": "simstore",
            "account_listing_limit": list::MAX_ROWS,
            "container_listing_limit": list::MAX_ROWS,
            "max_object_name_length": crate::store::MAX_NAME,
            "max_container_name_length": container::MAX_NAME,
            "policies": policies,
        },
        "slo": {"max_manifest_segments": large::MAX_SEGMENTS, "min_segment_size": 1},
        "dlo": {},
        "tempauth": {"account_acls": false},
    });
    json(answer, text.to_string());
    Ok(())
}

fn json(answer: &mut Answer, text: String) {
    answer.header("Content-Type", "application/json; charset=utf-8");
    answer.payload = Payload::Text(text.into_bytes());
}

/// `1400000000.12345`, Swift's time stamp.
fn timestamp(unix_ms: u64) -> String {
    format!("{}.{:05}", unix_ms / 1000, unix_ms % 1000 * 100)
}

/// Merges metadata of a POST: an empty value or `X-Remove-...` removes a field. Returns what to keep.
fn merged(old: &Fields, head: &Head, prefix: &str) -> Fields {
    let mut fields = old.clone();
    let remove_prefix = format!("x-remove-{}", prefix.trim_start_matches("x-"));
    for (name, value) in head.fields() {
        let name = name.to_ascii_lowercase();
        if let Some(rest) = name.strip_prefix(&remove_prefix) {
            let gone = format!("{prefix}{rest}");
            fields.retain(|(name, _)| **name != *gone);
        } else if name.starts_with(prefix) {
            fields.retain(|(n, _)| **n != *name);
            if !value.is_empty() {
                fields.push((name.into(), value.into()));
            }
        }
    }
    fields
}

/// Most bytes of metadata on one account or container.
const MAX_METADATA: u64 = 64 * 1024;

fn checked_merge(old: &Fields, head: &Head, prefix: &str) -> Result<Fields, Refusal> {
    let fields = merged(old, head, prefix);
    if fields_bytes(&fields) > MAX_METADATA {
        return Err(refusal(400, "Total metadata too large"));
    }
    Ok(fields)
}

/// Whether a request must state the length of its body and does not.
fn lacks_length(head: &Head) -> bool {
    head.get("content-length").is_none() && head.get("transfer-encoding").is_none()
}

/// What a request is about.
fn place<'a>(call: &'a Call<'_>) -> Place<'a> {
    Place { account: &call.route.account, container: &call.route.container, object: &call.route.object }
}
