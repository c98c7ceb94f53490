//! What Cloud Storage's error answers mean (Google, "HTTP status and error codes for JSON").

use cosmark_adaptor_api::{Error, ErrorKind};
use serde::Deserialize;

use crate::http::Connection;
use crate::http::request::one_line;

#[derive(Deserialize)]
struct Answer {
    error: Inner,
}

#[derive(Deserialize)]
struct Inner {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    #[serde(default)]
    reason: String,
}

/// An answer that is no success, as an error. `what` was asked for by `method`.
pub(super) fn failure(connection: &Connection, method: &str, what: &str, status: u16) -> Error {
    let body = connection.body();
    let told = serde_json::from_slice::<Answer>(body).ok().map(|answer| answer.error);
    let (text, reason) = match told {
        Some(inner) => {
            (inner.message, inner.errors.into_iter().next().map(|one| one.reason).unwrap_or_default())
        }
        // Some answers are a line of text.
        None if body.first().is_some_and(|first| *first != b'<') => {
            (String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned(), String::new())
        }
        None => (String::new(), String::new()),
    };
    let mut message = format!("{method} {what}: status {status}");
    for (separator, text) in [(" ", one_line(&reason)), (": ", one_line(&text))] {
        if !text.is_empty() {
            message.push_str(separator);
            message.push_str(&text);
        }
    }
    let error = Error::new(ErrorKind::Status(status), message);
    let error = if reason.is_empty() { error } else { error.with_code(one_line(&reason)) };
    match hint(method, status, &reason) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(method: &str, status: u16, reason: &str) -> Option<&'static str> {
    Some(match (status, reason) {
        (_, "userProjectMissing") => "the bucket is requester-pays",
        (403, "rateLimitExceeded") | (429, _) => "the project's or the bucket's limits stepped in",
        (401, _) => "the token is wrong or no longer valid: use the auth `google`, or jsonkeyfile",
        (403, _) => {
            "the account has no right to do that: it needs a role such as Storage Admin in the project or bucket"
        }
        (404, _) if method == "upload" => "the bucket is not there: create it with an init stage",
        (404, _) => "it is not there: buckets come from an init stage, objects from a prepare stage",
        (409, _) if method == "DELETE" => {
            "the bucket is not empty: delete its objects first (cleanup before dispose)"
        }
        (409, _) => "somebody else owns a bucket of this name: choose another cprefix",
        (411, _) => "the store wants a length: set chunked=false",
        (416, _) => "the range begins after the object's end",
        (500..=599, _) => "the store failed or asks for less load",
        (300..=399, _) => "the endpoint is not the store itself",
        _ => return None,
    })
}
