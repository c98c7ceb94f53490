//! One worker's operations.

use data_encoding::BASE64;
use std::sync::Arc;

use cosmark_adaptor_api::{
    BodySink, BodySource, ByteRange, BytesSource, Client, Error, ErrorKind, ListPage, ListRequest, Marks,
    MultipartPlan, ObjectName, PutOptions, PutOutcome, ReadOutcome, Result, Session,
};

use super::Options;
use super::errors::{failure, is_credential_problem};
use super::sign::{Access, Signable};
use crate::forward::forward;
use crate::http::date::{http as http_date, unix_seconds};
use crate::http::request::{Link, checked_name, one_line, push_range_value};
use crate::http::signed_headers::Lines;
use crate::http::xml_scan;
use crate::http::{Answer, Body, Take, header, header_number, push_decimal, push_escaped};
use crate::parts::{Cut, send_all};

/// Most bytes of one page of a listing (at most 5000 names).
const PAGE_LIMIT: usize = 32 << 20;
/// Most blocks of one blob.
const MOST_BLOCKS: u64 = 50_000;
/// Most names of one page.
const MOST_NAMES: u32 = 5000;

/// One request but for its body.
#[derive(Clone, Copy)]
struct Call<'a> {
    method: &'static str,
    /// Empty = the account.
    container: &'a str,
    /// Empty = the container.
    blob: &'a str,
    /// Parameters, sorted by name.
    query: &'a [(&'a str, &'a str)],
    /// `x-ms-` lines.
    lines: &'a [(&'a str, &'a [u8])],
    content_type: &'static str,
    content_length: Option<u64>,
}

impl<'a> Call<'a> {
    fn new(method: &'static str, container: &'a str, blob: &'a str) -> Self {
        Self { method, container, blob, query: &[], lines: &[], content_type: "", content_length: None }
    }

    fn what(&self) -> String {
        match (self.container, self.blob) {
            ("", _) => "the account".to_owned(),
            (container, "") => format!("container {container}"),
            (container, blob) => format!("{container}/{blob}"),
        }
    }
}

/// One connection and how its requests are authorised.
struct Channel {
    link: Link,
    access: Access,
    version: String,
}

impl Channel {
    fn new(options: &Options, access: &Access) -> Self {
        Self {
            link: Link::new(&options.endpoint),
            access: access.clone(),
            version: options.api_version.clone(),
        }
    }

    async fn exchange(
        &mut self,
        call: &Call<'_>,
        body: Body<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        let link = &mut self.link;
        link.start("");
        if call.container.is_empty() {
            link.target.push(b'/');
        } else {
            link.push_name(call.container, false);
        }
        if !call.blob.is_empty() {
            link.push_name(call.blob, true);
        }
        for (name, value) in call.query {
            link.push_query(name, value);
        }
        if !call.content_type.is_empty() {
            header(&mut link.lines, "Content-Type", call.content_type);
        }
        if let Some(length) = call.content_length {
            header_number(&mut link.lines, "Content-Length", length);
        }
        let date = http_date(unix_seconds());
        let mut lines = Lines::new();
        lines.add("x-ms-date", &date);
        lines.add("x-ms-version", self.version.as_bytes());
        for (name, value) in call.lines {
            lines.add(name, value);
        }
        for (name, value) in lines.iter() {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                link.lines.extend_from_slice(part);
            }
        }
        match &mut self.access {
            Access::SharedKey(signer) => {
                let signable = Signable {
                    method: call.method,
                    content_length: call.content_length,
                    content_type: call.content_type,
                    lines: &lines,
                    path: &link.target[..link.path().len()],
                    query: call.query,
                };
                signer.authorize(&mut link.lines, &signable);
            }
            Access::Sas(query) => link.push_raw_query(query.expose()),
            Access::Bearer(token) => {
                link.lines.extend_from_slice(b"Authorization: Bearer ");
                header_value(&mut link.lines, token.expose());
            }
            Access::Anonymous => {}
        }
        self.link.send(call.method, body, take, marks).await
    }

    fn failure(&self, call: &Call<'_>, status: u16) -> Error {
        failure(&self.link.connection, call.method, &call.what(), status)
    }

    /// A request whose answer matters only by its status.
    async fn ask(&mut self, call: &Call<'_>, marks: &mut Marks) -> Result<Answer> {
        self.exchange(call, Body::None, Take::Discard, marks).await
    }
}

/// The rest of a header line: nothing in the value may end it.
fn header_value(lines: &mut Vec<u8>, value: &str) {
    lines.extend(value.bytes().map(|byte| if byte < 0x20 || byte == 0x7f { b' ' } else { byte }));
    lines.extend_from_slice(b"\r\n");
}

/// One worker's client of the account.
pub(super) struct AzureClient {
    options: Arc<Options>,
    access: Access,
    main: Channel,
    /// Further connections for blocks that are sent at the same time.
    lanes: Vec<Channel>,
}

impl AzureClient {
    pub(super) fn new(options: &Arc<Options>, session: &Session) -> Self {
        let access = access_for(options, session);
        Self { main: Channel::new(options, &access), options: Arc::clone(options), access, lanes: Vec::new() }
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<ReadOutcome> {
        checked(name)?;
        let mut value = Vec::new();
        if let Some(range) = range {
            push_range_value(&mut value, range);
        }
        let lines = [("x-ms-range", value.as_slice())];
        let lines = if range.is_some() { &lines[..] } else { &[] };
        let call = Call { lines, ..Call::new("GET", name.container, name.object) };
        let answer = self.main.exchange(&call, Body::None, Take::from_sink(sink), marks).await?;
        match self.main.link.connection.checked_read(answer, range) {
            Some(bytes) => bytes.map(|bytes| ReadOutcome { bytes }),
            None => Err(self.main.failure(&call, answer.status)),
        }
    }

    async fn write(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        options: PutOptions,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        checked(name)?;
        if options.chunked {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "Azure wants to know the length before the content comes",
            )
            .with_hint("set chunked=false"));
        }
        let tier = self.options.access_tier.clone().unwrap_or_default();
        let lines = [("x-ms-blob-type", b"BlockBlob".as_slice()), ("x-ms-access-tier", tier.as_bytes())];
        let call = Call {
            lines: &lines[..if tier.is_empty() { 1 } else { 2 }],
            content_type: "application/octet-stream",
            content_length: Some(body.len()),
            ..Call::new("PUT", name.container, name.object)
        };
        let answer = self.main.exchange(&call, Body::Sized(body), Take::Discard, marks).await?;
        if answer.status == 201 {
            return Ok(PutOutcome { bytes: body.len(), accepted_only: false });
        }
        Err(self.main.failure(&call, answer.status))
    }

    async fn write_in_blocks(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        plan: MultipartPlan,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        checked(name)?;
        let cut = Cut::new(body.len(), plan, self.options.part_bytes, MOST_BLOCKS)?;
        while self.lanes.len() < cut.lanes {
            self.lanes.push(Channel::new(&self.options, &self.access));
        }
        let lanes = &mut self.lanes[..cut.lanes];
        let ids = send_all(lanes, cut.count, marks, async |lane: &mut Channel, number, marks: &mut Marks| {
            let part = cut.part(body, number);
            let id = block_id(number);
            let query = [("blockid", id.as_str()), ("comp", "block")];
            let call = Call {
                query: &query,
                content_length: Some(part.len()),
                ..Call::new("PUT", name.container, name.object)
            };
            let answer = lane.exchange(&call, Body::Sized(&part), Take::Discard, marks).await?;
            if answer.status == 201 { Ok(id) } else { Err(lane.failure(&call, answer.status)) }
        })
        .await?;
        self.put_block_list(name, &ids, marks).await?;
        Ok(PutOutcome { bytes: body.len(), accepted_only: false })
    }

    async fn put_block_list(
        &mut self,
        name: ObjectName<'_>,
        ids: &[String],
        marks: &mut Marks,
    ) -> Result<()> {
        let mut text = String::with_capacity(80 + ids.len() * 40);
        text.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
        for id in ids {
            text.push_str("<Latest>");
            text.push_str(id);
            text.push_str("</Latest>");
        }
        text.push_str("</BlockList>");
        let tier = self.options.access_tier.clone().unwrap_or_default();
        let lines = [("x-ms-access-tier", tier.as_bytes())];
        let call = Call {
            query: &[("comp", "blocklist")],
            lines: if tier.is_empty() { &[] } else { &lines },
            content_type: "application/xml",
            content_length: Some(text.len() as u64),
            ..Call::new("PUT", name.container, name.object)
        };
        let source = BytesSource(text.as_bytes());
        let mut own = marks.part();
        let answer = self.main.exchange(&call, Body::Sized(&source), Take::Discard, &mut own).await;
        // The list is no content.
        marks.add_requests(&own);
        (marks.first_byte_ns, marks.status) = (own.first_byte_ns, own.status);
        let answer = answer?;
        if answer.status == 201 { Ok(()) } else { Err(self.main.failure(&call, answer.status)) }
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        checked(name)?;
        let call = Call::new("DELETE", name.container, name.object);
        let answer = self.main.ask(&call, marks).await?;
        if answer.is_success() { Ok(()) } else { Err(self.main.failure(&call, answer.status)) }
    }

    async fn inspect(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Option<u64>> {
        checked(name)?;
        let call = Call::new("HEAD", name.container, name.object);
        let answer = self.main.ask(&call, marks).await?;
        if answer.is_success() {
            return Ok(answer.content_length);
        }
        Err(self.main.failure(&call, answer.status))
    }

    /// A copy inside the account. Azure may finish it after it has answered; it is not waited for, and counted as accepted.
    async fn duplicate(
        &mut self,
        from: ObjectName<'_>,
        to: ObjectName<'_>,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        checked(from)?;
        checked(to)?;
        let endpoint = &self.options.endpoint;
        let scheme = if endpoint.is_tls() { "https" } else { "http" };
        let mut source =
            format!("{scheme}://{}{}/", endpoint.host_header(), endpoint.base_path()).into_bytes();
        push_escaped(&mut source, from.container, false);
        source.push(b'/');
        push_escaped(&mut source, from.object, true);
        if let Access::Sas(query) = &self.access {
            source.push(b'?');
            source.extend_from_slice(query.expose().as_bytes());
        }
        let call = Call {
            lines: &[("x-ms-copy-source", source.as_slice())],
            content_length: Some(0),
            ..Call::new("PUT", to.container, to.object)
        };
        let answer = self.main.ask(&call, marks).await?;
        if !answer.is_success() {
            return Err(self.main.failure(&call, answer.status));
        }
        let status = self.main.link.connection.header("x-ms-copy-status").unwrap_or_default();
        let is_pending = status.eq_ignore_ascii_case("pending");
        let is_done =
            status.eq_ignore_ascii_case("success") || status.is_empty() && matches!(answer.status, 201 | 202);
        if is_pending || is_done {
            return Ok(PutOutcome { bytes: 0, accepted_only: is_pending });
        }
        let status = if status.is_empty() { "nothing".to_owned() } else { format!("`{}`", one_line(status)) };
        let message =
            format!("the answer to a copy says {status} of it: it was not done (status {})", answer.status);
        Err(Error::new(ErrorKind::Protocol, message).with_hint(
            "look for the blob's x-ms-copy-status-description; is the endpoint the account's blob service?",
        ))
    }

    async fn describe(
        &mut self,
        name: ObjectName<'_>,
        key: &str,
        value: &str,
        marks: &mut Marks,
    ) -> Result<()> {
        checked(name)?;
        let is_identifier = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_identifier || !value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
            return Err(Error::new(
                ErrorKind::Config,
                format!("Azure takes no metadata `{key}` with this value"),
            )
            .with_hint("names are letters, digits and _, values are plain ASCII"));
        }
        let line = format!("x-ms-meta-{}", key.to_ascii_lowercase());
        let call = Call {
            query: &[("comp", "metadata")],
            lines: &[(&line, value.trim().as_bytes())],
            content_length: Some(0),
            ..Call::new("PUT", name.container, name.object)
        };
        let answer = self.main.ask(&call, marks).await?;
        if answer.is_success() { Ok(()) } else { Err(self.main.failure(&call, answer.status)) }
    }

    async fn page(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        let mut digits = Vec::new();
        push_decimal(&mut digits, u64::from(request.page_size.unwrap_or(MOST_NAMES).clamp(1, MOST_NAMES)));
        let size = String::from_utf8_lossy(&digits);
        let mut query = vec![("comp", "list")];
        query.extend(request.delimiter.map(|delimiter| ("delimiter", delimiter)));
        query.extend(request.after.map(|after| ("marker", after)));
        query.extend(request.page_size.map(|_| ("maxresults", size.as_ref())));
        if !request.prefix.is_empty() {
            query.push(("prefix", request.prefix));
        }
        let tag = if request.container.is_empty() {
            "Container"
        } else {
            query.push(("restype", "container"));
            "Blob"
        };
        let call = Call { query: &query, ..Call::new("GET", request.container, "") };
        let take = Take::Keep { limit: PAGE_LIMIT };
        let answer = self.main.exchange(&call, Body::None, take, marks).await?;
        if answer.status != 200 {
            return Err(self.main.failure(&call, answer.status));
        }
        read_page(self.main.link.connection.body(), tag, request.want_names)
    }

    async fn make_container(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        checked_name(container)?;
        let call = Call {
            query: &[("restype", "container")],
            content_length: Some(0),
            ..Call::new("PUT", container, "")
        };
        let answer = self.main.ask(&call, marks).await?;
        if answer.status == 201 {
            return Ok(());
        }
        let error = self.main.failure(&call, answer.status);
        // Names of containers are the account's own: one that exists is ours.
        if error.code() == Some("ContainerAlreadyExists") { Ok(()) } else { Err(error) }
    }

    async fn remove_container(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        checked_name(container)?;
        if !self.options.recursive_delete {
            let request = ListRequest { container, page_size: Some(1), ..ListRequest::default() };
            match self.page(request, marks).await {
                Ok(page) if page.count == 0 => {}
                Ok(_) => {
                    marks.status = 409;
                    let message = format!("container {container} is not empty");
                    return Err(Error::new(ErrorKind::Status(409), message).with_code("NotEmpty").with_hint(
                        "delete its objects first (cleanup before dispose); other blobs are left alone",
                    ));
                }
                Err(error) if error.status() == Some(404) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let call = Call { query: &[("restype", "container")], ..Call::new("DELETE", container, "") };
        let answer = self.main.ask(&call, marks).await?;
        if answer.is_success() || answer.status == 404 {
            return Ok(());
        }
        Err(self.main.failure(&call, answer.status))
    }

    /// Asks for one container's name. That a signature is not for the account shows all the same that it is right.
    async fn check(&mut self, marks: &mut Marks) -> Result<()> {
        let call = Call { query: &[("comp", "list"), ("maxresults", "1")], ..Call::new("GET", "", "") };
        let answer = self.main.ask(&call, marks).await?;
        if answer.is_success() || matches!(self.access, Access::Anonymous) && answer.status < 500 {
            return Ok(());
        }
        let error = self.main.failure(&call, answer.status);
        let code = error.code().unwrap_or_default();
        if is_credential_problem(code) || answer.status == 401 {
            let denied = Error::new(ErrorKind::Denied, error.message()).with_code(code);
            return Err(error.hint().map_or(denied.clone(), |hint| denied.with_hint(hint)));
        }
        if code.starts_with("Authorization") { Ok(()) } else { Err(error) }
    }
}

/// A token that an auth obtained comes before the keys.
fn access_for(options: &Options, session: &Session) -> Access {
    match &session.token {
        Some(token) => Access::Bearer(token.clone()),
        None => options.access.clone(),
    }
}

/// All ids of a blob must have the same length.
fn block_id(number: u64) -> String {
    BASE64.encode(format!("cosmark-{number:08}").as_ref())
}

fn checked(name: ObjectName<'_>) -> Result<()> {
    checked_name(name.container)?;
    checked_name(name.object)
}

/// Reads the answer of List Blobs or List Containers.
pub(super) fn read_page(body: &[u8], tag: &str, want_names: bool) -> Result<ListPage> {
    if memchr::memmem::find(body, b"EnumerationResults").is_none() {
        return Err(Error::new(ErrorKind::Protocol, "the listing holds no EnumerationResults")
            .with_hint("check that the endpoint is the account's blob service"));
    }
    if !xml_scan::closes(body, "EnumerationResults") {
        return Err(Error::new(
            ErrorKind::Protocol,
            "the listing breaks off: its EnumerationResults has no end",
        )
        .with_hint("the service, or a proxy before it, sent a part of the page as if it were all of it"));
    }
    let mut names_found = if want_names { names(body, tag) } else { Vec::new() };
    // What a delimiter folds into one.
    let folded = xml_scan::count(body, "BlobPrefix");
    if want_names && folded > 0 {
        names_found.extend(names(body, "BlobPrefix"));
    }
    let next = xml_scan::find(body, "NextMarker").filter(|marker| !marker.is_empty()).map(xml_scan::unescape);
    let count = xml_scan::count(body, tag) + folded;
    Ok(ListPage { count, names: names_found, next, bytes: body.len() as u64 })
}

/// Names with characters that XML cannot hold come percent-encoded, and say so.
fn names(body: &[u8], tag: &str) -> Vec<String> {
    let entry_name = |entry: &str| {
        let name = xml_scan::find(entry.as_bytes(), "Name").map(xml_scan::unescape).unwrap_or_default();
        if entry.contains("<Name Encoded=\"true\">") {
            percent_encoding::percent_decode_str(&name).decode_utf8_lossy().into_owned()
        } else {
            name
        }
    };
    xml_scan::texts(body, tag).map(entry_name).collect()
}

impl Client for AzureClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        self.access = access_for(&self.options, session);
        for channel in std::iter::once(&mut self.main).chain(&mut self.lanes) {
            channel.access = self.access.clone();
        }
    }

    forward!(
        probe => check,
        get => read,
        put => write,
        delete => remove,
        head => inspect,
        list => page,
        copy => duplicate,
        set_metadata => describe,
        put_multipart => write_in_blocks,
        create_container => make_container,
        delete_container => remove_container,
    );
}
