//! One connection to a WebDAV or HTTP server, its credentials, and the request being made.

use std::sync::Arc;

use cosmark_adaptor_api::{Error, ErrorKind, Marks, Result};

use crate::auth::http_credential::Credential;
use crate::http::path_names::push_file_name;
use crate::http::{Answer, Body, Connection, Endpoint, Request, Take, header, push_escaped};

/// What the server's log shows.
const USER_AGENT: &str = concat!("cosmark/", env!("CARGO_PKG_VERSION"));

/// One connection, its credentials, and the request being made.
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) credential: Credential,
    /// Escaped path that everything is below.
    base: String,
    pub(super) target: Vec<u8>,
    /// A member's name before it is escaped for the path.
    member: String,
    /// Header lines of the current request but for the first two and the credentials.
    pub(super) lines: Vec<u8>,
    head: Vec<u8>,
}

impl Link {
    /// Everything is below the endpoint's path and `base_path`.
    pub(super) fn new(endpoint: &Arc<Endpoint>, base_path: &str, credential: Credential) -> Self {
        Self {
            connection: Connection::new(endpoint),
            credential,
            base: format!("{}{base_path}", endpoint.base_path()),
            target: Vec::with_capacity(128),
            member: String::new(),
            lines: Vec::with_capacity(128),
            head: Vec::with_capacity(1024),
        }
    }

    /// Begins a request for a path below the base; a collection's ends in a slash.
    pub(super) fn start(
        &mut self,
        segments: &[&str],
        is_collection: bool,
        escapes_names: bool,
    ) -> Result<()> {
        self.lines.clear();
        self.target.clear();
        self.target.extend_from_slice(self.base.as_bytes());
        for segment in segments {
            if segment.is_empty() {
                return Err(Error::new(ErrorKind::Config, "a container or object has an empty name")
                    .with_hint("set `cprefix`/`oprefix` or a selector that gives names"));
            }
            self.target.push(b'/');
            if escapes_names {
                self.member.clear();
                push_file_name(&mut self.member, segment);
                push_escaped(&mut self.target, &self.member, false);
            } else {
                segment.split('/').try_for_each(checked_segment)?;
                push_escaped(&mut self.target, segment, true);
            }
        }
        if is_collection || self.target.is_empty() {
            self.target.push(b'/');
        }
        Ok(())
    }

    /// Makes the head anew (a Digest answer is good for one request only) and sends the request.
    pub(super) async fn send(
        &mut self,
        method: &str,
        mut body: Body<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        self.head.clear();
        self.connection.endpoint().start_head(&mut self.head, method, &self.target);
        header(&mut self.head, "User-Agent", USER_AGENT);
        self.credential.authorize(&mut self.head, method, &self.target);
        self.head.extend_from_slice(&self.lines);
        self.head.extend_from_slice(b"\r\n");
        // Taken apart and put together: so it may live as short as the head does.
        let body = match &mut body {
            Body::None => Body::None,
            Body::Sized(source) => Body::Sized(*source),
            Body::Coded(source, coder) => Body::Coded(*source, *coder),
        };
        let request = Request { is_head: method == "HEAD", ..Request::with_body(&self.head, body) };
        self.connection.exchange(request, take, marks).await
    }

    /// Looks at what the answer says about the credentials; true: the same request is worth sending again.
    pub(super) fn learn(&mut self, status: u16) -> bool {
        self.credential.learn(&self.connection, status)
    }
}

/// # Errors
/// `Config` for a segment that a server would not take as a name.
pub(super) fn checked_segment(segment: &str) -> Result<()> {
    if matches!(segment, "." | "..") {
        return Err(Error::new(ErrorKind::Config, format!("`{segment}` in a path would lead elsewhere"))
            .with_hint("use other names, or `names=escaped`"));
    }
    Ok(())
}
