//! One connection with its signer: puts a request's head together, signs it, exchanges it.

use std::sync::Arc;

use cosmark_adaptor_api::{AwsKeys, Error, ErrorKind, Marks, Result, Secret};

use super::config::{Config, Signature, StoreAddress, is_host_label};
use super::errors::{About, failure};
use super::sigv2::{SigV2, Signable};
use super::sigv4::{Canonical, EMPTY_SHA256, Hex, SigV4, UNSIGNED};
use super::streaming::Streaming;
use crate::http::date::unix_seconds;
use crate::http::signed_headers::Lines;
use crate::http::{Answer, Body, Connection, Request, Take, header_number, push_escaped, push_query_escaped};

/// One request but for its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'static str,
    /// Empty = the account.
    pub(crate) bucket: &'a str,
    /// Empty = the bucket.
    pub(crate) object: &'a str,
    /// Parameters, sorted by name.
    pub(crate) query: &'a [(&'a str, Option<&'a str>)],
    /// Header lines that are signed, with lower-case names.
    pub(crate) lines: &'a [(&'a str, &'a [u8])],
    /// Whole header lines that are not signed.
    pub(crate) unsigned: &'a [u8],
    /// Value of `x-amz-content-sha256`.
    pub(crate) payload: &'a str,
    pub(crate) content_length: Option<u64>,
}

impl<'a> Call<'a> {
    /// A request without parameters and body.
    pub(crate) fn new(method: &'static str, bucket: &'a str, object: &'a str) -> Self {
        let payload = EMPTY_SHA256;
        Self { method, bucket, object, query: &[], lines: &[], unsigned: b"", payload, content_length: None }
    }
}

enum Signer {
    V4(Box<SigV4>),
    V2(Box<SigV2>),
    Bearer(Secret),
    None,
}

/// One connection with its signer.
pub(crate) struct Channel {
    address: StoreAddress,
    namespace: Option<String>,
    project: Option<String>,
    connection: Connection,
    signer: Signer,
    token: Option<Secret>,
    /// Requests are signed as so many seconds from now.
    shift_s: i64,
    /// What signs frames instead, with a secret that is not the user's.
    forger: Option<Box<SigV4>>,
    head: Vec<u8>,
    /// Escaped path and query.
    target: Vec<u8>,
    path_bytes: usize,
    /// Host line of the bucket that was used last.
    host: String,
    host_bucket: String,
}

impl Channel {
    pub(crate) fn new(config: &Arc<Config>, address: &StoreAddress, keys: &AwsKeys) -> Self {
        let mut channel = Self {
            address: address.clone(),
            namespace: config.namespace.clone(),
            project: config.project.clone(),
            connection: Connection::new(&address.endpoint),
            signer: Signer::None,
            token: None,
            shift_s: 0,
            forger: None,
            head: Vec::with_capacity(1024),
            target: Vec::with_capacity(256),
            path_bytes: 0,
            host: String::new(),
            host_bucket: String::new(),
        };
        channel.set_keys(config.signature, keys);
        channel
    }

    /// Signs with these keys from now on.
    pub(crate) fn set_keys(&mut self, signature: Signature, keys: &AwsKeys) {
        self.signer = match signature {
            Signature::V4 => Signer::V4(Box::new(SigV4::new(keys, &self.address.region))),
            Signature::V2 => Signer::V2(Box::new(SigV2::new(keys))),
            Signature::Bearer => Signer::Bearer(keys.secret_key.clone()),
            Signature::None => Signer::None,
        };
        self.token.clone_from(&keys.session_token);
    }

    /// Signs as so many seconds from now, or before it.
    pub(crate) fn sign_at(&mut self, shift_s: i64) {
        self.shift_s = shift_s;
    }

    /// Signs frames with these keys, and all else as before.
    pub(crate) fn forge_frames(&mut self, keys: &AwsKeys) {
        let mut forger = SigV4::new(keys, &self.address.region);
        forger.set_time(unix_seconds());
        self.forger = Some(Box::new(forger));
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The error that an answer without success means.
    pub(crate) fn failure(&self, answer: Answer, bucket: &str, object: &str) -> Error {
        let bucket_region = self.connection.header("x-amz-bucket-region");
        let location = self.connection.header("location");
        let about = About { bucket, object, region: &self.address.region, bucket_region, location };
        failure(answer.status, self.connection.body(), about)
    }

    /// The same of an answer whose status may have been sent before the store knew: then it counts as 500.
    pub(crate) fn late_failure(&self, answer: Answer, bucket: &str, object: &str) -> Error {
        let answer = if answer.is_success() { Answer { status: 500, ..answer } } else { answer };
        self.failure(answer, bucket, object)
    }

    /// Signs and exchanges a request.
    pub(crate) async fn exchange(
        &mut self,
        call: &Call<'_>,
        body: Body<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        self.write_head(call)?;
        let is_head = call.method == "HEAD";
        let request = Request { head: &self.head, body: body.shorten(), is_head, expects_continue: false };
        self.connection.exchange(request, take, marks).await
    }

    /// Signs and exchanges a write whose body goes in aws-chunked frames.
    pub(crate) async fn exchange_streaming(
        &mut self,
        call: &Call<'_>,
        source: &dyn cosmark_adaptor_api::BodySource,
        how: Streaming,
        marks: &mut Marks,
    ) -> Result<Answer> {
        let seed = self.write_head(call)?;
        let signer = match (&mut self.forger, &mut self.signer) {
            (Some(forger), _) => Some(forger.as_mut()),
            (None, Signer::V4(signer)) => Some(signer.as_mut()),
            (None, _) => None,
        };
        let mut coder = how.coder(signer, seed);
        let request = Request::with_body(&self.head, Body::Coded(source, &mut coder));
        self.connection.exchange(request, Take::Keep { limit: super::ANSWER_LIMIT }, marks).await
    }

    /// Writes the whole head into `self.head`; gives the signature, which seeds those of chunks.
    fn write_head(&mut self, call: &Call<'_>) -> Result<Hex> {
        if call.bucket.is_empty() && !call.object.is_empty() || call.bucket == "." || call.bucket == ".." {
            return Err(Error::new(ErrorKind::Config, "the bucket has no usable name")
                .with_hint("check cprefix and containers"));
        }
        let in_host = !self.address.path_style && is_host_label(call.bucket);
        self.write_target(call, in_host);
        let endpoint = Arc::clone(self.connection.endpoint());
        let host = if in_host {
            self.set_host(call.bucket);
            self.host.as_str()
        } else {
            endpoint.host_header()
        };
        let (head, target) = (&mut self.head, &self.target);
        head.clear();
        endpoint.start_head_for(head, call.method, target, host);
        head.extend_from_slice(b"User-Agent: cosmark\r\n");
        head.extend_from_slice(call.unsigned);
        if let Some(length) = call.content_length {
            header_number(head, "Content-Length", length);
        }
        let mut lines = Lines::new();
        for (name, value) in call.lines {
            lines.add(name, value);
        }
        if let Some(token) = &self.token {
            lines.add("x-amz-security-token", token.expose().as_bytes());
        }
        if let Some(namespace) = &self.namespace {
            lines.add("x-emc-namespace", namespace.as_bytes());
        }
        if let Some(project) = &self.project {
            lines.add("x-goog-project-id", project.as_bytes());
        }
        let mut seed = [b'0'; 64];
        match &mut self.signer {
            Signer::V4(signer) => {
                let date = signer.set_time(unix_seconds().saturating_add_signed(self.shift_s));
                lines.add("x-amz-content-sha256", call.payload.as_bytes());
                lines.add("x-amz-date", &date);
                push_lines(head, &lines);
                lines.add("host", host.as_bytes());
                let path = &target[..self.path_bytes];
                let query = target.get(self.path_bytes + 1..).unwrap_or_default();
                let canonical =
                    Canonical { method: call.method, path, query, lines: &lines, payload: call.payload };
                seed = signer.sign(&canonical);
                signer.push_authorization(head, &lines, &seed);
            }
            Signer::V2(signer) => {
                let date = signer.set_time(unix_seconds().saturating_add_signed(self.shift_s));
                head.extend_from_slice(b"Date: ");
                head.extend_from_slice(&date);
                head.extend_from_slice(b"\r\n");
                push_lines(head, &lines);
                let signable = Signable {
                    method: call.method,
                    content_md5: call
                        .lines
                        .iter()
                        .find(|line| line.0 == "content-md5")
                        .map_or(b"", |line| line.1),
                    content_type: b"",
                    lines: &lines,
                    host_bucket: if in_host { call.bucket } else { "" },
                    path: &target[..self.path_bytes],
                    query: call.query,
                };
                signer.push_authorization(head, &signable);
            }
            Signer::Bearer(token) => {
                push_lines(head, &lines);
                for part in [b"Authorization: Bearer ", token.expose().as_bytes(), b"\r\n"] {
                    head.extend_from_slice(part);
                }
            }
            Signer::None => push_lines(head, &lines),
        }
        head.extend_from_slice(b"\r\n");
        Ok(seed)
    }

    /// The signature of a link by which whoever has it may do what a call asks for. The call's query is the link's, but
    /// for the signature.
    pub(crate) fn sign_link(&mut self, call: &Call<'_>, signer: &mut SigV4) -> Hex {
        let in_host = !self.address.path_style && is_host_label(call.bucket);
        self.write_target(call, in_host);
        let endpoint = Arc::clone(self.connection.endpoint());
        let host = if in_host {
            self.set_host(call.bucket);
            self.host.as_str()
        } else {
            endpoint.host_header()
        };
        let mut lines = Lines::new();
        lines.add("host", host.as_bytes());
        let path = &self.target[..self.path_bytes];
        let query = self.target.get(self.path_bytes + 1..).unwrap_or_default();
        signer.sign(&Canonical { method: call.method, path, query, lines: &lines, payload: UNSIGNED })
    }

    fn write_target(&mut self, call: &Call<'_>, in_host: bool) {
        let target = &mut self.target;
        target.clear();
        target.extend_from_slice(self.connection.endpoint().base_path().as_bytes());
        if !call.bucket.is_empty() && !in_host {
            target.push(b'/');
            push_escaped(target, call.bucket, false);
        }
        if !call.object.is_empty() || in_host || call.bucket.is_empty() {
            target.push(b'/');
            push_escaped(target, call.object, true);
        }
        self.path_bytes = target.len();
        // Version 4 signs a parameter without a value as `name=`, version 2 as `name`: it is sent as it is signed.
        let bare = matches!(self.signer, Signer::V2(_));
        for (at, (name, value)) in call.query.iter().enumerate() {
            target.push(if at == 0 { b'?' } else { b'&' });
            push_query_escaped(target, name);
            if value.is_some() || !bare {
                target.push(b'=');
            }
            push_query_escaped(target, value.unwrap_or_default());
        }
    }

    fn set_host(&mut self, bucket: &str) {
        if self.host_bucket != bucket {
            self.host_bucket.clear();
            self.host_bucket.push_str(bucket);
            self.host.clear();
            self.host.push_str(bucket);
            self.host.push('.');
            self.host.push_str(self.connection.endpoint().host_header());
        }
    }
}

fn push_lines(head: &mut Vec<u8>, lines: &Lines<'_>) {
    for (name, value) in lines.iter() {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
}
