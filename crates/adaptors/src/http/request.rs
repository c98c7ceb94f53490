//! One connection to an HTTP store and the request being made on it, for adaptors whose requests differ only in path,
//! query and header lines.

use std::sync::Arc;

use cosmark_adaptor_api::{ByteRange, Error, ErrorKind, Marks, Result};

use crate::http::{
    Answer, Body, Connection, Endpoint, Request, Take, header, push_decimal, push_escaped, push_query_escaped,
};

/// What the server's log shows.
const USER_AGENT: &str = concat!("cosmark/", env!("CARGO_PKG_VERSION"));

/// A connection, and the request being made.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    /// Escaped path and query.
    pub(crate) target: Vec<u8>,
    /// Length of the path in `target`, once a query was begun.
    path_bytes: Option<usize>,
    /// Whole header lines.
    pub(crate) lines: Vec<u8>,
    head: Vec<u8>,
}

impl Link {
    pub(crate) fn new(endpoint: &Arc<Endpoint>) -> Self {
        Self {
            connection: Connection::new(endpoint),
            target: Vec::with_capacity(128),
            path_bytes: None,
            lines: Vec::with_capacity(512),
            head: Vec::with_capacity(1024),
        }
    }

    /// Begins a request below the endpoint's own path; `path` is escaped already.
    pub(crate) fn start(&mut self, path: &str) {
        self.lines.clear();
        self.path_bytes = None;
        self.target.clear();
        self.target.extend_from_slice(self.connection.endpoint().base_path().as_bytes());
        self.target.extend_from_slice(path.as_bytes());
    }

    /// Appends a name to the path, after a slash.
    pub(crate) fn push_name(&mut self, name: &str, keep_slash: bool) {
        self.target.push(b'/');
        push_escaped(&mut self.target, name, keep_slash);
    }

    /// Appends a parameter to the query.
    pub(crate) fn push_query(&mut self, name: &str, value: &str) {
        self.push_separator();
        push_query_escaped(&mut self.target, name);
        self.target.push(b'=');
        push_query_escaped(&mut self.target, value);
    }

    /// Appends a whole query that is escaped already.
    pub(crate) fn push_raw_query(&mut self, query: &str) {
        self.push_separator();
        self.target.extend_from_slice(query.as_bytes());
    }

    fn push_separator(&mut self) {
        let separator = if self.path_bytes.is_none() { b'?' } else { b'&' };
        self.path_bytes.get_or_insert(self.target.len());
        self.target.push(separator);
    }

    /// The escaped path, with the endpoint's own.
    pub(crate) fn path(&self) -> &[u8] {
        &self.target[..self.path_bytes.unwrap_or(self.target.len())]
    }

    /// Appends a `Range` line, under this name.
    pub(crate) fn push_range(&mut self, range: ByteRange) {
        self.lines.extend_from_slice(b"Range: ");
        push_range_value(&mut self.lines, range);
        self.lines.extend_from_slice(b"\r\n");
    }

    /// Sends the request.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        body: Body<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        if self.target.is_empty() {
            self.target.push(b'/');
        }
        self.head.clear();
        self.connection.endpoint().start_head(&mut self.head, method, &self.target);
        header(&mut self.head, "User-Agent", USER_AGENT);
        self.head.extend_from_slice(&self.lines);
        self.head.extend_from_slice(b"\r\n");
        let request = Request { is_head: method == "HEAD", ..Request::with_body(&self.head, body.shorten()) };
        self.connection.exchange(request, take, marks).await
    }
}

/// `bytes=first-last`.
pub(crate) fn push_range_value(out: &mut Vec<u8>, range: ByteRange) {
    out.extend_from_slice(b"bytes=");
    push_decimal(out, range.first);
    out.push(b'-');
    push_decimal(out, range.last);
}

/// # Errors
/// `Config` for an empty name, which would mean what it lies in.
pub(crate) fn checked_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::new(ErrorKind::Config, "a container or object has an empty name")
            .with_hint("set `cprefix`/`oprefix` or a selector that gives names"));
    }
    Ok(())
}

/// A server's text for one line of ours: printable and not long.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end_matches('.');
    line.chars().filter(|character| !character.is_control()).take(300).collect()
}
