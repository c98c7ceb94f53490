//! One connection to an account, with the parts of a request that do not change standing ready.

use std::sync::Arc;

use cosmark_adaptor_api::{Error, ErrorKind, Marks, ObjectName, Result, Secret};

use crate::http::{Answer, Body, Connection, Endpoint, Request, Take, header, push_escaped};

/// What the server's log shows.
const USER_AGENT: &str = concat!("cosmark/", env!("CARGO_PKG_VERSION"));

/// A connection and the request being made.
pub(super) struct Link {
    pub(super) connection: Connection,
    /// The head of the current request; sending it ends it.
    pub(super) head: Vec<u8>,
    /// Token and user agent lines.
    common: Vec<u8>,
    target: Vec<u8>,
}

impl Link {
    pub(super) fn new(endpoint: &Arc<Endpoint>, token: &Secret) -> Self {
        let mut link = Self::without_token(endpoint);
        header(&mut link.common, "X-Auth-Token", token.expose());
        link
    }

    /// In nobody's name.
    pub(super) fn without_token(endpoint: &Arc<Endpoint>) -> Self {
        let mut common = Vec::with_capacity(256);
        header(&mut common, "User-Agent", USER_AGENT);
        Self {
            connection: Connection::new(endpoint),
            head: Vec::with_capacity(512),
            common,
            target: Vec::with_capacity(128),
        }
    }

    /// Another connection of the same session.
    pub(super) fn another(&self) -> Self {
        Self {
            connection: Connection::new(self.connection.endpoint()),
            head: Vec::with_capacity(512),
            common: self.common.clone(),
            target: Vec::with_capacity(128),
        }
    }

    /// Goes on with another session; the connection stays open if it leads to the same place.
    pub(super) fn take_over(&mut self, fresh: Self) {
        if Arc::ptr_eq(self.connection.endpoint(), fresh.connection.endpoint()) {
            self.common = fresh.common;
        } else {
            *self = fresh;
        }
    }

    /// Begins a request for an object; `query` with its question mark, or empty.
    ///
    /// # Errors
    /// `Config` for an empty name, which would mean the container or the account.
    pub(super) fn start(&mut self, method: &str, name: ObjectName<'_>, query: &[u8]) -> Result<()> {
        checked(name.container)?;
        checked(name.object)?;
        self.start_path(method, &[name.container, name.object], query);
        Ok(())
    }

    /// Begins a request for a container, or for the account if it is empty.
    pub(super) fn start_container(&mut self, method: &str, container: &str, query: &[u8]) {
        if container.is_empty() {
            self.start_path(method, &[], query);
        } else {
            self.start_path(method, &[container], query);
        }
    }

    pub(super) fn start_path(&mut self, method: &str, names: &[&str], query: &[u8]) {
        let endpoint = self.connection.endpoint();
        self.target.clear();
        self.target.extend_from_slice(endpoint.base_path().as_bytes());
        for name in names {
            self.target.push(b'/');
            push_escaped(&mut self.target, name, false);
        }
        if self.target.is_empty() {
            self.target.push(b'/');
        }
        self.target.extend_from_slice(query);
        self.head.clear();
        endpoint.start_head(&mut self.head, method, &self.target);
        self.head.extend_from_slice(&self.common);
    }

    /// Begins a request for what the server says of itself: beside the accounts, where the version of the API stands.
    pub(super) fn start_beside(&mut self, method: &str, name: &str, query: &[u8]) {
        let endpoint = self.connection.endpoint();
        let base = endpoint.base_path();
        self.target.clear();
        self.target.extend_from_slice(base.split("/v1").next().unwrap_or_default().as_bytes());
        self.target.push(b'/');
        push_escaped(&mut self.target, name, false);
        self.target.extend_from_slice(query);
        self.head.clear();
        endpoint.start_head(&mut self.head, method, &self.target);
        self.head.extend_from_slice(&self.common);
    }

    /// Ends the head and sends the request.
    pub(super) async fn send(&mut self, body: Body<'_>, take: Take<'_>, marks: &mut Marks) -> Result<Answer> {
        self.head.extend_from_slice(b"\r\n");
        #[expect(clippy::needless_match, reason = "put together anew, it may live as short as the head does")]
        let body = match body {
            Body::None => Body::None,
            Body::Sized(source) => Body::Sized(source),
            Body::Coded(source, coder) => Body::Coded(source, coder),
        };
        self.connection.exchange(Request::with_body(&self.head, body), take, marks).await
    }

    /// The same for a HEAD request.
    pub(super) async fn send_head(&mut self, marks: &mut Marks) -> Result<Answer> {
        self.head.extend_from_slice(b"\r\n");
        self.connection.exchange(Request::head(&self.head), Take::Discard, marks).await
    }

    /// The same for a request without a body whose answer's body nobody wants.
    pub(super) async fn ask(&mut self, marks: &mut Marks) -> Result<Answer> {
        self.send(Body::None, Take::Discard, marks).await
    }
}

/// # Errors
/// `Config` for an empty name.
pub(super) fn checked(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::new(ErrorKind::Config, "a container or object has an empty name")
            .with_hint("set `cprefix`/`oprefix` or a selector that gives names"));
    }
    Ok(())
}
