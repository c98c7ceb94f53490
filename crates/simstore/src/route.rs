//! From a request's head to what is asked: protocol, kind of request, account, container, object.

use std::borrow::Cow;

use crate::behaviour::Op;
use crate::http::head::{Head, Method};
use crate::http::text::{Query, decode};

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// Amazon S3, path style.
    S3,
    /// OpenStack Swift with version 1 auth.
    Swift,
    /// The server's own paths below `/_simstore/`.
    Admin,
}

impl Protocol {
    /// The name used in logs.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::S3 => "s3",
            Protocol::Swift => "swift",
            Protocol::Admin => "admin",
        }
    }
}

/// The account that holds all S3 buckets. Swift accounts begin with `AUTH_`.
pub(crate) const S3_ACCOUNT: &str = "s3";

/// What a request asks.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) op: Op,
    pub(crate) account: Cow<'a, str>,
    /// Decoded; empty if the path has none.
    pub(crate) container: Cow<'a, str>,
    /// Decoded; empty if the path has none.
    pub(crate) object: Cow<'a, str>,
    /// The path as sent, without the query.
    pub(crate) path: &'a str,
    pub(crate) query: Query<'a>,
    /// The path is not UTF-8 when decoded.
    pub(crate) malformed: bool,
}

impl<'a> Route<'a> {
    /// Finds the route of a request.
    pub(crate) fn of(head: &'a Head) -> Route<'a> {
        let target = origin_form(head.target());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query(query);
        if path.starts_with("/_simstore/") {
            return Route::new(Protocol::Admin, Op::Other, "", ("", ""), path, query);
        }
        let asks_token = head.get("x-auth-user").is_some() || head.get("x-storage-user").is_some();
        if asks_token && (path == "/auth/v1.0" || path == "/auth/v1" || path == "/auth/v1.0/") {
            return Route::new(Protocol::Swift, Op::Auth, "", ("", ""), path, query);
        }
        // A bucket may have this name too; S3 clients sign, or ask with a query.
        if path == "/info" && query.0.is_empty() && head.get("authorization").is_none() {
            return Route::new(Protocol::Swift, Op::Other, "", ("", ""), path, query);
        }
        if let Some(rest) = path.strip_prefix("/v1/")
            && rest.starts_with("AUTH_")
        {
            let (account, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let names = rest.split_once('/').unwrap_or((rest, ""));
            let op = swift_op(head, names.0, names.1);
            return Route::new(Protocol::Swift, op, account, names, path, query);
        }
        let rest = path.strip_prefix('/').unwrap_or(path);
        let names = rest.split_once('/').unwrap_or((rest, ""));
        Route::new(Protocol::S3, s3_op(head, names.0, names.1, query), S3_ACCOUNT, names, path, query)
    }

    fn new(
        protocol: Protocol,
        op: Op,
        account: &'a str,
        (container, object): (&'a str, &'a str),
        path: &'a str,
        query: Query<'a>,
    ) -> Route<'a> {
        let (account, container, object) = (decode(account), decode(container), decode(object));
        let malformed = account.is_none() || container.is_none() || object.is_none();
        Route {
            protocol,
            op: if malformed { Op::Other } else { op },
            account: account.unwrap_or_default(),
            container: container.unwrap_or_default(),
            object: object.unwrap_or_default(),
            path,
            query,
            malformed,
        }
    }
}

/// The path and query of a target that may be a whole URL (RFC 9112, section 3.2).
fn origin_form(target: &str) -> &str {
    let Some((_, rest)) = target.split_once("://").filter(|_| !target.starts_with('/')) else {
        return target;
    };
    rest.find('/').map_or("/", |at| &rest[at..])
}

fn s3_op(head: &Head, bucket: &str, key: &str, query: Query<'_>) -> Op {
    match (head.method, bucket.is_empty(), key.is_empty()) {
        (Method::Get, true, _) => Op::ListContainers,
        (_, true, _) => Op::Other,
        (Method::Get, _, true) if query.has("uploads") => Op::MultipartList,
        (Method::Post, _, true) if query.has("delete") => Op::MultiDelete,
        (_, _, true) if s3_sub_resource(query) => Op::Other,
        (Method::Get, _, true) => Op::List,
        (Method::Put, _, true) => Op::PutContainer,
        (Method::Head, _, true) => Op::HeadContainer,
        (Method::Delete, _, true) => Op::DeleteContainer,
        (Method::Post, _, false) if query.has("uploads") => Op::MultipartStart,
        (Method::Post, _, false) if query.has("uploadId") => Op::MultipartComplete,
        (Method::Put, _, false) if query.has("uploadId") => Op::MultipartPart,
        (Method::Delete, _, false) if query.has("uploadId") => Op::MultipartAbort,
        (Method::Get, _, false) if query.has("uploadId") => Op::MultipartList,
        (_, _, false) if s3_sub_resource(query) => Op::Other,
        (Method::Get, _, false) => Op::Get,
        (Method::Head, _, false) => Op::Head,
        (Method::Delete, _, false) => Op::Delete,
        (Method::Put, _, false) if head.get("x-amz-copy-source").is_some() => Op::Copy,
        (Method::Put, _, false) => Op::Put,
        _ => Op::Other,
    }
}

/// Sub-resources of S3 that would be mistaken for the plain operation if they were overlooked.
const S3_SUB_RESOURCES: &[&str] = &[
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
    "torrent",
    "versioning",
    "versions",
    "website",
];

fn s3_sub_resource(query: Query<'_>) -> bool {
    !query.0.is_empty() && S3_SUB_RESOURCES.iter().any(|name| query.has(name))
}

fn swift_op(head: &Head, container: &str, object: &str) -> Op {
    match (head.method, container.is_empty(), object.is_empty()) {
        (Method::Get, true, _) => Op::ListContainers,
        (Method::Head | Method::Post | Method::Put | Method::Delete, true, _) => Op::Account,
        (Method::Get, _, true) => Op::List,
        (Method::Put, _, true) => Op::PutContainer,
        (Method::Head, _, true) => Op::HeadContainer,
        (Method::Delete, _, true) => Op::DeleteContainer,
        (Method::Post, _, true) => Op::PostContainer,
        (Method::Get, _, false) => Op::Get,
        (Method::Put, _, false) if head.get("x-copy-from").is_some() => Op::Copy,
        (Method::Put, _, false) => Op::Put,
        (Method::Head, _, false) => Op::Head,
        (Method::Delete, _, false) => Op::Delete,
        (Method::Post, _, false) => Op::Post,
        (Method::Copy, _, false) => Op::Copy,
        _ => Op::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(head: &str) -> (Protocol, Op, String, String, String) {
        let mut parsed = Head::new();
        parsed.parse(format!("{head}\r\n\r\n").as_bytes()).unwrap().unwrap();
        let r = Route::of(&parsed);
        (r.protocol, r.op, r.account.into_owned(), r.container.into_owned(), r.object.into_owned())
    }

    #[test]
    fn every_request_line_finds_its_operation() {
        use Op::*;
        for (line, op) in [
            ("GET / HTTP/1.1", ListContainers),
            ("PUT /b HTTP/1.1", PutContainer),
            ("HEAD /b/ HTTP/1.1", HeadContainer),
            ("DELETE /b HTTP/1.1", DeleteContainer),
            ("GET /b?list-type=2 HTTP/1.1", List),
            ("GET /b?location HTTP/1.1", Other),
            ("GET /b?uploads HTTP/1.1", MultipartList),
            ("POST /b?delete HTTP/1.1", MultiDelete),
            ("PUT /b/k HTTP/1.1", Put),
            ("PUT /b/k?x-id=PutObject HTTP/1.1", Put),
            ("PUT /b/k HTTP/1.1\r\nx-amz-copy-source: /b/j", Copy),
            ("GET /b/k HTTP/1.1", Get),
            ("GET /b/k?tagging HTTP/1.1", Other),
            ("HEAD /b/k HTTP/1.1", Head),
            ("DELETE /b/k HTTP/1.1", Delete),
            ("POST /b/k?uploads HTTP/1.1", MultipartStart),
            ("PUT /b/k?partNumber=1&uploadId=x HTTP/1.1", MultipartPart),
            ("POST /b/k?uploadId=x HTTP/1.1", MultipartComplete),
            ("DELETE /b/k?uploadId=x HTTP/1.1", MultipartAbort),
            ("GET /b/k?uploadId=x HTTP/1.1", MultipartList),
            ("BREW /b/k HTTP/1.1", Other),
            ("OPTIONS * HTTP/1.1", Other),
        ] {
            let found = route(line);
            assert_eq!((found.0, found.1), (Protocol::S3, op), "{line}");
        }
        for (line, op) in [
            ("GET /auth/v1.0 HTTP/1.1\r\nX-Auth-User: a:u", Auth),
            ("GET /info HTTP/1.1", Other),
            ("GET /v1/AUTH_a HTTP/1.1", ListContainers),
            ("HEAD /v1/AUTH_a HTTP/1.1", Account),
            ("GET /v1/AUTH_a/c HTTP/1.1", List),
            ("POST /v1/AUTH_a/c HTTP/1.1", PostContainer),
            ("PUT /v1/AUTH_a/c/ HTTP/1.1", PutContainer),
            ("PUT /v1/AUTH_a/c/o HTTP/1.1", Put),
            ("PUT /v1/AUTH_a/c/o HTTP/1.1\r\nX-Copy-From: c/p", Copy),
            ("COPY /v1/AUTH_a/c/o HTTP/1.1", Copy),
            ("POST /v1/AUTH_a/c/o HTTP/1.1", Post),
        ] {
            let found = route(line);
            assert_eq!((found.0, found.1), (Protocol::Swift, op), "{line}");
        }
    }

    #[test]
    fn names_are_decoded_and_keep_their_slashes() {
        let (.., bucket, key) = route("GET /b/a%20b//c%2Fd?x=/y HTTP/1.1");
        assert_eq!((bucket.as_str(), key.as_str()), ("b", "a b//c/d"));
        let (.., account, container, object) = route("GET /v1/AUTH_t/c%C3%A9/o/p HTTP/1.1");
        assert_eq!((account.as_str(), container.as_str(), object.as_str()), ("AUTH_t", "c\u{e9}", "o/p"));
        assert_eq!(route("GET http://h:1/b/k HTTP/1.1").4, "k");
        assert_eq!(route("GET /b/k://x HTTP/1.1").4, "k://x");
        assert_eq!(route("GET /b/%ff HTTP/1.1").1, Op::Other);
        assert_eq!(route("GET /v1/notaccount HTTP/1.1").0, Protocol::S3);
        assert_eq!(route("GET /info?list-type=2 HTTP/1.1").1, Op::List);
    }
}
