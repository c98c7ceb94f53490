//! One worker's operations.

mod endpoints;
mod multipart;
mod server_side;
mod versions;

use std::sync::Arc;

use cosmark_adaptor_api::{
    BodySink, BodySource, ByteRange, Client, Error, ErrorKind, ListPage, ListRequest, Marks, ObjectName,
    PutOptions, PutOutcome, ReadOutcome, Result, Session,
};

use crate::forward::forward;
use crate::http::xml_scan;
use crate::http::{Answer, Body, Take, push_decimal};
use crate::s3::channel::{Call, Channel};
use crate::s3::checksum::{Checksum, sha256_hex};
use crate::s3::choice::Versioning;
use crate::s3::config::{Config, Payload, Signature, StoreAddress};
use crate::s3::errors::is_credential_problem;
use crate::s3::sigv4::{UNSIGNED, hex};
use crate::s3::streaming::Streaming;
use crate::s3::{ANSWER_LIMIT, listing};
use multipart::Upload;
use server_side::NAMESPACE;

/// One worker's handle of the store.
pub(crate) struct S3Client {
    pub(crate) config: Arc<Config>,
    pub(crate) address: StoreAddress,
    /// Which of the endpoints `address`, `main` and `lanes` belong to.
    pub(crate) at: usize,
    /// The connections to the other endpoints (`main` and `lanes` of each), once they were used.
    pub(crate) parked: Vec<Option<(Channel, Vec<Channel>)>>,
    pub(crate) session: Arc<Session>,
    pub(crate) main: Channel,
    /// Further connections for parts that are sent at the same time.
    pub(crate) lanes: Vec<Channel>,
    /// A write in parts that was neither completed nor given up, because its call was dropped.
    pub(crate) unfinished: Option<Upload>,
    /// The continuation token that the last listing ended with.
    token: Option<String>,
}

impl S3Client {
    pub(crate) fn new(config: &Arc<Config>, turn: usize, session: &Arc<Session>) -> Result<Self> {
        let keys = config.keys(session)?;
        let at = turn % config.addresses.len();
        let address = config.addresses[at].clone();
        Ok(Self {
            main: Channel::new(config, &address, &keys),
            config: Arc::clone(config),
            address,
            at,
            parked: Vec::new(),
            session: Arc::clone(session),
            lanes: Vec::new(),
            unfinished: None,
            token: None,
        })
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        check_name(name)?;
        let mut line = [0; 64];
        let call = Call {
            unsigned: range.map_or(&[], |range| range_line(range, &mut line)),
            payload: self.config.bodyless_payload(),
            ..Call::new("GET", name.container, name.object)
        };
        let answer = self.main.exchange(&call, Body::None, Take::from_sink(sink), marks).await?;
        match self.main.connection().checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(self.main.failure(answer, name.container, name.object)),
        }
    }

    async fn write(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        options: PutOptions,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        check_name(name)?;
        let call = Call::new("PUT", name.container, name.object);
        let class = self.config.storage_class.as_deref();
        let answer =
            send_body(&self.config, &mut self.main, call, class, body, options.chunked, marks).await?;
        self.main.done(answer, name.container, name.object)?;
        Ok(PutOutcome { bytes: body.len(), accepted_only: answer.status == 202 })
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        check_name(name)?;
        let call = Call::new("DELETE", name.container, name.object);
        let answer = self.main.exchange(&call, Body::None, Take::Keep { limit: ANSWER_LIMIT }, marks).await?;
        match self.main.done(answer, name.container, name.object) {
            // S3 itself answers 204 for an object that is not there; others tell it by a 404.
            Err(error) if answer.status == 404 && matches!(error.code(), Some("NoSuchKey" | "NotFound")) => {
                Ok(())
            }
            other => other,
        }
    }

    async fn inspect(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        check_name(name)?;
        let call = Call::new("HEAD", name.container, name.object);
        let answer = self.main.exchange(&call, Body::None, Take::Discard, marks).await?;
        if answer.is_success() {
            return Ok(answer.content_length);
        }
        Err(self.main.failure(answer, name.container, name.object))
    }

    async fn page(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        let mut digits = Vec::new();
        push_decimal(&mut digits, u64::from(request.page_size.unwrap_or(0)));
        let size = std::str::from_utf8(&digits).unwrap_or_default();
        let version = self.config.list_version;
        let mut query: Vec<(&str, Option<&str>)> = Vec::with_capacity(6);
        let kind = if request.container.is_empty() {
            listing::Kind::Buckets
        } else {
            if let Some(after) = request.after {
                let is_token = self.token.as_deref() == Some(after);
                let key = match (version, is_token) {
                    (1, _) => "marker",
                    (_, true) => "continuation-token",
                    (_, false) => "start-after",
                };
                query.push((key, Some(after)));
            }
            if version == 2 {
                query.push(("list-type", Some("2")));
            }
            query.extend(request.page_size.map(|_| ("max-keys", Some(size))));
            if !request.prefix.is_empty() {
                query.push(("prefix", Some(request.prefix)));
            }
            query.extend(request.delimiter.map(|delimiter| ("delimiter", Some(delimiter))));
            query.sort_unstable();
            listing::Kind::Objects { version }
        };
        let call = Call { query: &query, ..Call::new("GET", request.container, "") };
        let answer = self
            .main
            .exchange(&call, Body::None, Take::Keep { limit: listing::most_bytes(request.page_size) }, marks)
            .await?;
        if answer.status != 200 {
            return Err(self.main.failure(answer, request.container, ""));
        }
        let body = self.main.connection().body();
        // A store that fails on the way through a page tells it where the page breaks off.
        if holds_error(body) {
            return Err(self.main.late_failure(answer, request.container, ""));
        }
        let page = listing::read(kind, body, request.want_names)?;
        self.token.clone_from(&page.next);
        Ok(page)
    }

    async fn create_bucket(&mut self, bucket: &str, marks: &mut Marks) -> Result<()> {
        check_bucket(bucket)?;
        let mut place = String::new();
        if self.address.region != "us-east-1" {
            place.push_str(&format!("<CreateBucketConfiguration xmlns=\"{NAMESPACE}\"><LocationConstraint>"));
            xml_scan::push_escaped(&mut place, &self.address.region);
            place.push_str("</LocationConstraint></CreateBucketConfiguration>");
        }
        let answer = self.main.exchange_text(Call::new("PUT", bucket, ""), &place, marks).await?;
        if let Err(error) = self.main.done(answer, bucket, "") {
            let may_be_used = match error.code() {
                Some("BucketAlreadyOwnedByYou") => true,
                Some("BucketAlreadyExists") => self.config.bucket_exists_ok,
                _ => false,
            };
            if !may_be_used {
                return Err(error);
            }
        }
        match self.config.versioning {
            Versioning::Unchanged => Ok(()),
            state => self.set_versioning(bucket, state, marks).await,
        }
    }

    async fn delete_bucket(&mut self, bucket: &str, marks: &mut Marks) -> Result<()> {
        check_bucket(bucket)?;
        if self.config.purge_versions {
            self.purge_versions(bucket, marks).await?;
        }
        let call = Call::new("DELETE", bucket, "");
        let answer = self.main.exchange(&call, Body::None, Take::Keep { limit: ANSWER_LIMIT }, marks).await?;
        match self.main.done(answer, bucket, "") {
            Err(error) if answer.status == 404 && error.code().is_some() => Ok(()),
            other => other,
        }
    }

    /// Lists the account's buckets: the one signed question that needs no bucket. That the user may not list them shows
    /// all the same that the keys are right.
    async fn ask(&mut self, marks: &mut Marks) -> Result<()> {
        let call = Call::new("GET", "", "");
        let answer = self.main.exchange(&call, Body::None, Take::Discard, marks).await?;
        if answer.is_success() {
            return Ok(());
        }
        let error = self.main.failure(answer, "", "");
        let code = error.code().unwrap_or_default();
        match code {
            "AccessDenied" | "MethodNotAllowed" | "NotImplemented" | "NoSuchBucket" => Ok(()),
            _ if is_credential_problem(code) => {
                let denied = Error::new(ErrorKind::Denied, error.message()).with_code(code);
                Err(match error.hint() {
                    Some(hint) => denied.with_hint(hint),
                    None => denied,
                })
            }
            _ => Err(error),
        }
    }
}

/// True for the XML of an error, whatever the status says.
pub(super) fn holds_error(body: &[u8]) -> bool {
    // Of a write that was done there is hardly ever a body, and nothing is allocated to look into none.
    !body.is_empty()
        && xml_scan::find(body, "Error")
            .is_some_and(|error| xml_scan::find(error.as_bytes(), "Code").is_some())
}

impl Config {
    /// `x-amz-content-sha256` of a request without a body.
    fn bodyless_payload(&self) -> &'static str {
        if self.payload == Payload::Unsigned { UNSIGNED } else { crate::s3::sigv4::EMPTY_SHA256 }
    }
}

impl Channel {
    /// What the answer to a change comes to that gives nothing back. Gateways that send their status early tell in the body
    /// that it failed.
    ///
    /// # Errors
    /// Of the store, whatever its status; `Protocol` for a page that is no store's.
    pub(super) fn done(&self, answer: Answer, bucket: &str, object: &str) -> Result<()> {
        let body = self.connection().body();
        if !answer.is_success() || holds_error(body) {
            return Err(self.late_failure(answer, bucket, object));
        }
        if xml_scan::is_page(body) {
            let message =
                format!("status {} with a page for people: nothing says that it was done", answer.status);
            return Err(Error::new(ErrorKind::Protocol, message)
                .with_hint("check that the endpoint is the store's S3 port, and that no portal or proxy stands before it"));
        }
        Ok(())
    }

    /// Exchanges a request with a small text for a body and keeps the answer.
    pub(crate) async fn exchange_text(
        &mut self,
        call: Call<'_>,
        text: &str,
        marks: &mut Marks,
    ) -> Result<Answer> {
        use sha2::Digest as _;

        let hash = hex(&sha2::Sha256::digest(text.as_bytes()).into());
        let call = Call {
            payload: std::str::from_utf8(&hash).unwrap_or_default(),
            content_length: Some(text.len() as u64),
            ..call
        };
        let source = cosmark_adaptor_api::BytesSource(text.as_bytes());
        let body = if text.is_empty() { Body::None } else { Body::Sized(&source) };
        let transferred = marks.body_bytes;
        let result = self.exchange(&call, body, Take::Keep { limit: ANSWER_LIMIT }, marks).await;
        // These texts are no object data.
        marks.body_bytes = transferred;
        result
    }
}

/// Sends a write's body as the payload and checksum settings say. `call` names the object and its parameters.
pub(crate) async fn send_body(
    config: &Config,
    channel: &mut Channel,
    call: Call<'_>,
    storage_class: Option<&str>,
    body: &dyn BodySource,
    chunked: bool,
    marks: &mut Marks,
) -> Result<Answer> {
    let unreadable = |error: std::io::Error| {
        Error::new(ErrorKind::LocalIo, format!("the body cannot be read: {error}"))
            .with_hint("check the source file on the driver's machine")
    };
    let class = storage_class.map(|class| ("x-amz-storage-class", class.as_bytes()));
    let streaming = match config.payload {
        Payload::Streaming(how) => Some(how),
        _ if chunked && config.signature == Signature::V4 => {
            Some(Streaming { signed: true, checksum: config.checksum })
        }
        _ => None,
    };
    let mut lines: [(&str, &[u8]); 3] = [("", b""); 3];
    let mut count = 0;
    let mut add = |line| {
        lines[count] = line;
        count += 1;
    };
    if let Some(how) = streaming {
        let mut decoded = Vec::with_capacity(20);
        push_decimal(&mut decoded, body.len());
        add(("x-amz-decoded-content-length", &decoded));
        class.into_iter().for_each(&mut add);
        if how.checksum != Checksum::None {
            add(("x-amz-trailer", how.checksum.header().as_bytes()));
        }
        let call = Call {
            lines: &lines[..count],
            unsigned: b"Content-Encoding: aws-chunked\r\n",
            payload: how.payload(),
            content_length: Some(how.encoded_bytes(body.len())),
            ..call
        };
        return channel.exchange_streaming(&call, body, how, marks).await;
    }
    let checksum = config.checksum.of(body).map_err(unreadable)?;
    if config.checksum != Checksum::None {
        add((config.checksum.header(), checksum.as_bytes()));
    }
    class.into_iter().for_each(&mut add);
    let hash = match config.payload {
        Payload::Signed if config.signature == Signature::V4 => Some(sha256_hex(body).map_err(unreadable)?),
        _ => None,
    };
    let payload = hash.as_ref().and_then(|hash| std::str::from_utf8(hash).ok()).unwrap_or(UNSIGNED);
    let call = Call { lines: &lines[..count], payload, ..call };
    let take = Take::Keep { limit: ANSWER_LIMIT };
    if chunked {
        let call = Call { unsigned: b"Transfer-Encoding: chunked\r\n", ..call };
        return channel.exchange(&call, Body::Coded(body, &mut crate::http::PlainChunks), take, marks).await;
    }
    let call = Call { content_length: Some(body.len()), ..call };
    channel.exchange(&call, Body::Sized(body), take, marks).await
}

/// `Range: bytes=first-last` as a header line.
fn range_line(range: ByteRange, buffer: &mut [u8; 64]) -> &[u8] {
    use std::io::Write as _;

    let mut rest = &mut buffer[..];
    // 64 bytes hold two numbers of 20 digits and the words.
    if write!(rest, "Range: bytes={}-{}\r\n", range.first, range.last).is_err() {
        return &[];
    }
    let left = rest.len();
    &buffer[..64 - left]
}

pub(super) fn check_name(name: ObjectName<'_>) -> Result<()> {
    if name.object.is_empty() {
        return Err(
            Error::new(ErrorKind::Config, "the object has no name").with_hint("check oprefix and objects")
        );
    }
    check_bucket(name.container)
}

pub(super) fn check_bucket(bucket: &str) -> Result<()> {
    if bucket.is_empty() {
        return Err(
            Error::new(ErrorKind::Config, "the bucket has no name").with_hint("check cprefix and containers")
        );
    }
    Ok(())
}

impl Client for S3Client {
    fn set_session(&mut self, session: &Arc<Session>) {
        // Keys that cannot be used leave the old ones: the store's refusal says more than we can.
        if let Ok(keys) = self.config.keys(session) {
            let parked = self.parked.iter_mut().flatten().map(|(main, lanes)| (main, lanes));
            for (main, lanes) in std::iter::once((&mut self.main, &mut self.lanes)).chain(parked) {
                for channel in std::iter::once(main).chain(lanes) {
                    channel.set_keys(self.config.signature, &keys);
                }
            }
            self.session = Arc::clone(session);
        }
    }

    forward!(
        holding choose_endpoint;
        probe => ask,
        get => read,
        put => write,
        delete => remove,
        head => inspect,
        list => page,
        put_multipart => write_in_parts,
        copy => copy_object,
        delete_many => delete_objects,
        set_metadata => tag_object,
        restore => restore_object,
        create_container => create_bucket,
        delete_container => delete_bucket,
    );
}
