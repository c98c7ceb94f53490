//! Changes that the store makes by itself: copies, many deletions in one request, tags, restores (Amazon S3 API reference,
//! `CopyObject`, `DeleteObjects`, `PutObjectTagging`, `RestoreObject`).

use cosmark_adaptor_api::{Error, ErrorKind, Marks, ObjectName, PutOutcome, Result};
use data_encoding::BASE64;
use md5::Digest as _;

use crate::http::xml_scan;
use crate::http::{Body, Take, push_escaped};
use crate::s3::channel::Call;
use crate::s3::client::{S3Client, check_bucket, check_name, holds_error};

/// The name space of S3's XML.
pub(super) const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

impl S3Client {
    pub(super) async fn copy_object(
        &mut self,
        from: ObjectName<'_>,
        to: ObjectName<'_>,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        check_name(from)?;
        check_name(to)?;
        let mut source = Vec::with_capacity(64);
        source.push(b'/');
        push_escaped(&mut source, from.container, true);
        source.push(b'/');
        push_escaped(&mut source, from.object, true);
        let class =
            self.config.storage_class.as_deref().map(|class| ("x-amz-storage-class", class.as_bytes()));
        let mut lines: Vec<(&str, &[u8])> = vec![("x-amz-copy-source", &source)];
        lines.extend(class);
        let call =
            Call { lines: &lines, content_length: Some(0), ..Call::new("PUT", to.container, to.object) };
        let take = Take::Keep { limit: super::ANSWER_LIMIT };
        let answer = self.main.exchange(&call, Body::None, take, marks).await?;
        let body = self.main.connection().body();
        // The status may be sent before the copy is done; then only the body tells that it failed.
        if answer.is_success() && xml_scan::find(body, "Code").is_none() {
            holds(body, "CopyObjectResult", "a copy")?;
            return Ok(PutOutcome { bytes: 0, accepted_only: answer.status == 202 });
        }
        Err(self.main.late_failure(answer, from.container, from.object))
    }

    pub(super) async fn delete_objects(
        &mut self,
        bucket: &str,
        objects: &[String],
        marks: &mut Marks,
    ) -> Result<()> {
        let all: Vec<(&str, Option<&str>)> = objects.iter().map(|object| (object.as_str(), None)).collect();
        self.delete_batch(bucket, &all, marks).await
    }

    /// Deletes objects, or versions of objects, with one request: at most 1000, which is what the protocol allows.
    pub(super) async fn delete_batch(
        &mut self,
        bucket: &str,
        objects: &[(&str, Option<&str>)],
        marks: &mut Marks,
    ) -> Result<()> {
        check_bucket(bucket)?;
        let mut text = format!("<Delete xmlns=\"{NAMESPACE}\"><Quiet>true</Quiet>");
        for (object, version) in objects {
            check_name(ObjectName { container: bucket, object })?;
            text.push_str("<Object><Key>");
            xml_scan::push_escaped(&mut text, object);
            text.push_str("</Key>");
            if let Some(version) = version {
                text.push_str("<VersionId>");
                xml_scan::push_escaped(&mut text, version);
                text.push_str("</VersionId>");
            }
            text.push_str("</Object>");
        }
        text.push_str("</Delete>");
        let sum = content_md5(&text);
        let call = Call {
            query: &[("delete", None)],
            lines: &[("content-md5", sum.as_bytes())],
            ..Call::new("POST", bucket, "")
        };
        let answer = self.main.exchange_text(call, &text, marks).await?;
        if !answer.is_success() {
            return Err(self.main.failure(answer, bucket, ""));
        }
        let body = self.main.connection().body();
        if holds_error(body) && memchr::memmem::find(body, b"DeleteResult").is_none() {
            return Err(self.main.late_failure(answer, bucket, ""));
        }
        holds(body, "DeleteResult", "a bulk delete")?;
        let refused: Vec<&str> = xml_scan::texts(body, "Error")
            .filter(|one| xml_scan::find(one.as_bytes(), "Code") != Some("NoSuchKey"))
            .collect();
        match refused.first() {
            None => Ok(()),
            Some(first) => Err(refusal(bucket, refused.len(), first.as_bytes(), marks)),
        }
    }

    pub(super) async fn tag_object(
        &mut self,
        name: ObjectName<'_>,
        key: &str,
        value: &str,
        marks: &mut Marks,
    ) -> Result<()> {
        check_name(name)?;
        let mut text = format!("<Tagging xmlns=\"{NAMESPACE}\"><TagSet><Tag><Key>");
        xml_scan::push_escaped(&mut text, key);
        text.push_str("</Key><Value>");
        xml_scan::push_escaped(&mut text, value);
        text.push_str("</Value></Tag></TagSet></Tagging>");
        let sum = content_md5(&text);
        let call = Call {
            query: &[("tagging", None)],
            lines: &[("content-md5", sum.as_bytes())],
            ..Call::new("PUT", name.container, name.object)
        };
        let answer = self.main.exchange_text(call, &text, marks).await?;
        self.main.done(answer, name.container, name.object)
    }

    /// 202 = the store will make it readable; 200 = it is.
    pub(super) async fn restore_object(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        check_name(name)?;
        let text = format!(
            "<RestoreRequest xmlns=\"{NAMESPACE}\"><Days>{}</Days><GlacierJobParameters><Tier>{}</Tier>\
             </GlacierJobParameters></RestoreRequest>",
            self.config.restore_days, self.config.restore_tier
        );
        let sum = content_md5(&text);
        let call = Call {
            query: &[("restore", None)],
            lines: &[("content-md5", sum.as_bytes())],
            ..Call::new("POST", name.container, name.object)
        };
        let answer = self.main.exchange_text(call, &text, marks).await?;
        self.main.done(answer, name.container, name.object)
    }
}

/// # Errors
/// `Protocol` where a success does not say that anything was done: an empty answer, somebody else's page, half a report.
pub(super) fn holds(body: &[u8], root: &str, what: &str) -> Result<()> {
    if xml_scan::closes(body, root) {
        return Ok(());
    }
    let message = format!(
        "the answer to {what} holds no whole {root}: nothing says that it was done ({} bytes)",
        body.len()
    );
    Err(Error::new(ErrorKind::Protocol, message).with_hint("check that the endpoint is the store's S3 port"))
}

/// The first object that was not deleted, as an error: the answer's own status is 200.
fn refusal(bucket: &str, count: usize, first: &[u8], marks: &mut Marks) -> Error {
    let part = |tag| xml_scan::find(first, tag).map(xml_scan::unescape).unwrap_or_default();
    let code = part("Code");
    let status = match code.as_str() {
        "AccessDenied" => 403,
        "SlowDown" | "ServiceUnavailable" => 503,
        "InternalError" => 500,
        _ => 400,
    };
    marks.status = status;
    let message = format!(
        "{count} objects of bucket {bucket} were not deleted, first {}: {} {code}",
        part("Key"),
        part("Message")
    );
    Error::new(ErrorKind::Status(status), message)
        .with_code(code)
        .with_hint("look for this object in the store's log")
}

pub(super) fn content_md5(text: &str) -> String {
    BASE64.encode(md5::Md5::digest(text.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests;
