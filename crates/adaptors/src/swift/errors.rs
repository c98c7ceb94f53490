//! What Swift's statuses mean and what to do about them. Swift has no error codes of its own: the short reason of its
//! error page (`Not Found`) serves as one; RGW gives a code in JSON.

use cosmark_adaptor_api::{Error, ErrorKind, ObjectName};

use crate::http::Connection;
use crate::swift::request::Link;

/// A request for an object was answered with this status.
pub(super) fn object(link: &Link, method: &str, name: ObjectName<'_>, status: u16) -> Error {
    let hint = match (method, status) {
        ("PUT", 404) => Some("the container is not there: create it with an init stage"),
        ("PUT", 411) => Some("this server does not take chunked writes: set `chunked=false`"),
        ("PUT", 413) => Some("larger than the cluster takes in one request, or over quota: write in parts"),
        ("PUT", 422) => Some("the content arrived damaged"),
        ("GET", 416) => Some("the range begins after the object's end"),
        _ => None,
    };
    explain(&link.connection, &format!("{method} {}/{}", name.container, name.object), status, hint)
}

/// A request for a container was answered with this status.
pub(super) fn container(link: &Link, method: &str, container: &str, status: u16) -> Error {
    let hint = match (method, status) {
        ("PUT", 400) => Some("the name, or the storage policy in `policy`, is unknown or not allowed there"),
        ("PUT", 409) => {
            Some("it is there with another storage policy: set `policy` to that one or take another name")
        }
        ("DELETE", 409) => Some("it is not empty: delete its objects first (cleanup before dispose)"),
        ("GET", 404) => Some("the container is not there: create it with an init stage"),
        ("GET", 412) => Some("the cluster does not give pages of this size"),
        _ => None,
    };
    let what = if container.is_empty() { "the account" } else { container };
    explain(&link.connection, &format!("{method} {what}"), status, hint)
}

/// The account itself was asked for.
pub(super) fn account(link: &Link, status: u16) -> Error {
    let hint = match status {
        404 | 412 => Some(
            "the storage URL is not an account's: it usually ends in /v1/AUTH_name (Ceph RGW: /swift/v1)",
        ),
        _ => None,
    };
    explain(&link.connection, "HEAD of the account", status, hint)
}

fn explain(connection: &Connection, what: &str, status: u16, hint: Option<&str>) -> Error {
    let (reason, detail) = reason(connection.body());
    let mut message = format!("{what}: status {status}");
    if let Some(reason) = &reason {
        message.push(' ');
        message.push_str(reason);
    }
    if let Some(detail) = detail {
        message.push_str(": ");
        message.push_str(&detail);
    }
    let transaction = connection.header("x-trans-id").or_else(|| connection.header("x-openstack-request-id"));
    if let Some(id) = transaction {
        message.push_str(" (transaction ");
        message.push_str(&printable(id, 80));
        message.push(')');
    }
    let mut error = Error::new(ErrorKind::Status(status), message);
    if let Some(reason) = reason {
        error = error.with_code(reason.replace(' ', ""));
    }
    match hint.or_else(|| general_hint(status)) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn general_hint(status: u16) -> Option<&'static str> {
    Some(match status {
        300..=399 => "the server redirects, which Swift does not: is this URL Swift's proxy?",
        401 => "the token is wrong or no longer valid",
        403 => "the user has no right to do that here",
        429 | 498 => "the cluster's rate limit stepped in: look at its ratelimit settings",
        500 => "look for the transaction in the proxy's log",
        502..=504 => "too few storage nodes answered in time: look for the transaction in the proxy's log",
        507 => "the devices that it belongs on are full or unmounted",
        _ => return None,
    })
}

/// Short reason and detail of an error page: Swift's HTML, RGW's JSON, or a line of plain text.
fn reason(body: &[u8]) -> (Option<String>, Option<String>) {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let text = text.trim();
    let between = |open: &str, close: &str| {
        let rest = &text[text.find(open)? + open.len()..];
        let found = printable(&rest[..rest.find(close)?], 160);
        (!found.is_empty()).then_some(found)
    };
    if text.starts_with('<') {
        return (between("<h1>", "</h1>"), between("<p>", "</p>"));
    }
    if text.starts_with('{') {
        return (between("\"Code\":\"", "\""), between("\"Message\":\"", "\""));
    }
    let line = printable(text.lines().next().unwrap_or_default(), 60);
    ((!line.is_empty()).then_some(line), None)
}

fn printable(text: &str, limit: usize) -> String {
    text.chars().filter(|character| !character.is_control()).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_on_swifts_and_rgws_error_pages() {
        let cases: &[(&str, Option<&str>, Option<&str>)] = &[
            (
                "<html><h1>Not Found</h1><p>The resource could not be found.</p></html>",
                Some("Not Found"),
                Some("The resource could not be found."),
            ),
            (r#"{"Code":"NoSuchBucket","RequestId":"tx1","HostId":"h"}"#, Some("NoSuchBucket"), None),
            ("NoSuchKey", Some("NoSuchKey"), None),
            ("", None, None),
            ("<html><h1>", None, None),
            ("{", None, None),
        ];
        for (body, code, detail) in cases {
            assert_eq!(
                reason(body.as_bytes()),
                (code.map(str::to_owned), detail.map(str::to_owned)),
                "{body}"
            );
        }
    }
}
