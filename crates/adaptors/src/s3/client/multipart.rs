//! Writes in parts (Amazon S3 API reference, `CreateMultipartUpload`, `UploadPart`, `CompleteMultipartUpload`,
//! `AbortMultipartUpload`). Parts go over connections of their own, so many at once as the plan says.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;

use cosmark_adaptor_api::{
    BodySource, Error, ErrorKind, Marks, MultipartPlan, ObjectName, Piece, PutOutcome, Result, SideBySide,
};

use crate::http::xml_scan;
use crate::http::{Body, Take};
use crate::s3::channel::{Call, Channel};
use crate::s3::checksum::Checksum;
use crate::s3::client::{S3Client, send_body};
use crate::s3::config::Config;

/// Most parts that an upload can have.
const PARTS_LIMIT: u64 = 10_000;
/// Most connections of one upload.
const LANES_LIMIT: u32 = 256;

/// An upload that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    bucket: String,
    object: String,
    id: String,
}

/// A part of a body. Notes how far it was read, for bytes that are on their way when a call is dropped.
struct Part<'a> {
    whole: &'a dyn BodySource,
    start: u64,
    length: u64,
    sent: &'a Cell<u64>,
}

impl BodySource for Part<'_> {
    fn len(&self) -> u64 {
        self.length
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.sent.set(offset);
        self.whole.copy_to(self.start + offset, buf)
    }

    fn lend<'a>(&'a self, offset: u64, scratch: &'a mut [u8], pieces: &mut [Piece<'a>]) -> usize {
        self.sent.set(offset);
        self.whole.lend(self.start + offset, scratch, pieces)
    }
}

/// What the lanes of one upload share.
struct Work<'a> {
    config: &'a Config,
    upload: &'a Upload,
    body: &'a dyn BodySource,
    part_bytes: u64,
    parts: u64,
    next: Cell<u64>,
    /// Part n's line of the completion, at n - 1.
    done: RefCell<Vec<String>>,
    failure: RefCell<Option<Error>>,
    on_wire: SideBySide,
}

/// One lane's account, readable while it works.
#[derive(Default)]
struct Account {
    /// Of parts that ended.
    marks: Cell<Marks>,
    /// Bytes of the part under way.
    sent: Cell<u64>,
}

impl S3Client {
    pub(crate) async fn write_in_parts(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        plan: MultipartPlan,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        let part_bytes =
            if plan.part_size_bytes == 0 { self.config.part_size_bytes } else { plan.part_size_bytes };
        let parts = body.len().div_ceil(part_bytes).max(1);
        if parts > PARTS_LIMIT {
            return Err(Error::new(
                ErrorKind::Config,
                format!("{parts} parts are more than the {PARTS_LIMIT} that S3 takes"),
            )
            .with_hint("use larger parts"));
        }
        if let Some(upload) = self.unfinished.take() {
            // Left by a call that was dropped; if it cannot be given up now, nothing more can be done from here.
            let _ = self.give_up(&upload, marks).await;
        }
        let upload = self.begin(name, marks).await?;
        self.unfinished = Some(upload.clone());
        let result = match self.send_parts(&upload, body, (part_bytes, parts), plan.concurrency, marks).await
        {
            Ok(lines) => self.complete(&upload, &lines, marks).await,
            Err(error) => Err(error),
        };
        if result.is_err() {
            // The first failure is the one to tell.
            let _ = self.give_up(&upload, marks).await;
        }
        self.unfinished = None;
        result.map(|()| PutOutcome { bytes: body.len(), accepted_only: false })
    }

    async fn begin(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<Upload> {
        let mut lines: Vec<(&str, &[u8])> = Vec::new();
        if self.config.checksum != Checksum::None {
            lines.push(("x-amz-checksum-algorithm", self.config.checksum.algorithm().as_bytes()));
        }
        if let Some(class) = &self.config.storage_class {
            lines.push(("x-amz-storage-class", class.as_bytes()));
        }
        let call = Call {
            query: &[("uploads", None)],
            lines: &lines,
            ..Call::new("POST", name.container, name.object)
        };
        let answer = self.main.exchange_text(call, "", marks).await?;
        if !answer.is_success() {
            return Err(self.main.failure(answer, name.container, name.object));
        }
        let id = xml_scan::find(self.main.connection().body(), "UploadId")
            .map(xml_scan::unescape)
            .unwrap_or_default();
        if id.is_empty() {
            return Err(Error::new(
                ErrorKind::Protocol,
                "the store began an upload in parts but gave no UploadId",
            ));
        }
        Ok(Upload { bucket: name.container.to_owned(), object: name.object.to_owned(), id })
    }

    async fn send_parts(
        &mut self,
        upload: &Upload,
        body: &dyn BodySource,
        (part_bytes, parts): (u64, u64),
        concurrency: u32,
        marks: &mut Marks,
    ) -> Result<Vec<String>> {
        let wanted = u64::from(concurrency.clamp(1, LANES_LIMIT)).min(parts);
        let wanted = usize::try_from(wanted).unwrap_or(1);
        let keys = self.config.keys(&self.session)?;
        while self.lanes.len() + 1 < wanted {
            self.lanes.push(Channel::new(&self.config, &self.address, &keys));
        }
        let work = Work {
            config: &self.config,
            upload,
            body,
            part_bytes,
            parts,
            next: Cell::new(1),
            done: RefCell::new(vec![String::new(); usize::try_from(parts).unwrap_or(0)]),
            failure: RefCell::new(None),
            on_wire: SideBySide::of(&mut marks.wire),
        };
        let accounts: Vec<Account> = (0..wanted).map(|_| Account::default()).collect();
        let channels = std::iter::once(&mut self.main).chain(&mut self.lanes).take(wanted);
        let mut lanes: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::with_capacity(wanted);
        for (channel, account) in channels.zip(&accounts) {
            lanes.push(Box::pin(lane(&work, channel, account)));
        }
        let before = *marks;
        poll_fn(|cx| {
            lanes.retain_mut(|lane| lane.as_mut().poll(cx).is_pending());
            sum(&before, &accounts, marks);
            // After a failure too, parts under way end first: one that arrives after the upload is given up would stay.
            if lanes.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        drop(lanes);
        work.on_wire.add_to(&mut marks.wire);
        match work.failure.into_inner() {
            Some(error) => Err(error.with_partial_bytes(marks.body_bytes)),
            None => Ok(work.done.into_inner()),
        }
    }

    async fn complete(&mut self, upload: &Upload, lines: &[String], marks: &mut Marks) -> Result<()> {
        let text = format!(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{}</CompleteMultipartUpload>",
            lines.concat()
        );
        let query = [("uploadId", Some(upload.id.as_str()))];
        let call = Call { query: &query, ..Call::new("POST", &upload.bucket, &upload.object) };
        let answer = self.main.exchange_text(call, &text, marks).await?;
        // The status may be sent before the parts are joined; then only the body tells that it failed.
        let body = self.main.connection().body();
        if answer.is_success() && xml_scan::find(body, "Code").is_none() {
            return Ok(());
        }
        let answer = if answer.is_success() { crate::http::Answer { status: 500, ..answer } } else { answer };
        Err(self.main.failure(answer, &upload.bucket, &upload.object))
    }

    async fn give_up(&mut self, upload: &Upload, marks: &mut Marks) -> Result<()> {
        let query = [("uploadId", Some(upload.id.as_str()))];
        let call = Call { query: &query, ..Call::new("DELETE", &upload.bucket, &upload.object) };
        // How the upload failed is told by the marks as they are, not by the clean-up.
        let mut own = marks.part();
        let result = self.main.exchange(&call, Body::None, Take::Discard, &mut own).await;
        marks.add_requests(&own);
        let answer = result?;
        if answer.is_success() || answer.status == 404 {
            return Ok(());
        }
        Err(self.main.failure(answer, &upload.bucket, &upload.object))
    }
}

/// Sends one part after the other until none is left or one fails anywhere.
async fn lane(work: &Work<'_>, channel: &mut Channel, account: &Account) {
    while work.failure.borrow().is_none() && work.next.get() <= work.parts {
        let number = work.next.replace(work.next.get() + 1);
        match send_part(work, channel, number, account).await {
            Ok(line) => work.done.borrow_mut()[usize::try_from(number - 1).unwrap_or(0)] = line,
            Err(error) => {
                work.failure.borrow_mut().get_or_insert(error);
            }
        }
    }
}

async fn send_part(work: &Work<'_>, channel: &mut Channel, number: u64, account: &Account) -> Result<String> {
    let start = (number - 1) * work.part_bytes;
    let length = work.part_bytes.min(work.body.len() - start);
    let part = Part { whole: work.body, start, length, sent: &account.sent };
    let digits = number.to_string();
    let query = [("partNumber", Some(digits.as_str())), ("uploadId", Some(work.upload.id.as_str()))];
    let call = Call { query: &query, ..Call::new("PUT", &work.upload.bucket, &work.upload.object) };
    let mut marks = Marks { wire: work.on_wire.part(), ..account.marks.get() };
    let result = send_body(work.config, channel, call, None, &part, false, &mut marks).await;
    work.on_wire.note(&marks.wire);
    account.sent.set(0);
    account.marks.set(marks);
    let answer = result?;
    if !answer.is_success() {
        return Err(channel.failure(answer, &work.upload.bucket, &work.upload.object));
    }
    // An empty one names no part either.
    let named = |etag: &&str| !etag.trim_matches([' ', '"']).is_empty();
    let Some(etag) = channel.connection().header("etag").filter(named) else {
        return Err(Error::new(ErrorKind::Protocol, format!("the store gave no ETag for part {number}")));
    };
    let mut line = format!("<Part><PartNumber>{number}</PartNumber><ETag>");
    xml_scan::push_escaped(&mut line, etag);
    line.push_str("</ETag>");
    let checksum = work.config.checksum;
    if let Some(told) = channel.connection().header(checksum.header()).filter(|_| checksum != Checksum::None)
    {
        let tag = checksum.algorithm();
        line.push_str(&format!("<Checksum{tag}>"));
        xml_scan::push_escaped(&mut line, told);
        line.push_str(&format!("</Checksum{tag}>"));
    }
    line.push_str("</Part>");
    Ok(line)
}

/// Puts the lanes' accounts together, on top of what was before.
fn sum(before: &Marks, accounts: &[Account], marks: &mut Marks) {
    let mut total = *before;
    for account in accounts {
        let own = account.marks.get();
        total.connect_ns += own.connect_ns;
        total.tls_ns += own.tls_ns;
        total.connections += own.connections;
        total.requests += own.requests;
        total.body_bytes += own.body_bytes + account.sent.get();
        if own.status != 0 {
            total.status = own.status;
        }
        if own.first_byte_ns != 0 && total.first_byte_ns == 0 {
            total.first_byte_ns = own.first_byte_ns;
        }
    }
    *marks = total;
}
