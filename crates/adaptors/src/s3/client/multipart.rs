//! Writes in parts (Amazon S3 API reference, `CreateMultipartUpload`, `UploadPart`, `CompleteMultipartUpload`,
//! `AbortMultipartUpload`). Parts go over connections of their own, so many at once as the plan says.

use cosmark_adaptor_api::{
    BodySource, Error, ErrorKind, Marks, MultipartPlan, ObjectName, PutOutcome, Result,
};

use crate::http::xml_scan;
use crate::http::{Body, Take};
use crate::parts::{Cut, Part, send_all};
use crate::s3::channel::{Call, Channel};
use crate::s3::checksum::Checksum;
use crate::s3::client::server_side::holds;
use crate::s3::client::{S3Client, send_body};
use crate::s3::config::Config;

/// Most parts that an upload can have.
const PARTS_LIMIT: u64 = 10_000;

/// An upload that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    bucket: String,
    object: String,
    id: String,
}

impl S3Client {
    pub(crate) async fn write_in_parts(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        plan: MultipartPlan,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        let cut = Cut::new(body.len(), plan, self.config.part_size_bytes, PARTS_LIMIT)?;
        if let Some(upload) = self.unfinished.take() {
            // Left by a call that was dropped; if it cannot be given up now, nothing more can be done from here.
            let _ = self.give_up(&upload, marks).await;
        }
        let upload = self.begin(name, marks).await?;
        self.unfinished = Some(upload.clone());
        let result = match self.send_parts(&upload, body, cut, marks).await {
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
        self.main.done(answer, name.container, name.object)?;
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

    /// The lines of the completion, in the order of the parts.
    async fn send_parts(
        &mut self,
        upload: &Upload,
        body: &dyn BodySource,
        cut: Cut,
        marks: &mut Marks,
    ) -> Result<Vec<String>> {
        let keys = self.config.keys(&self.session)?;
        while self.lanes.len() + 1 < cut.lanes {
            self.lanes.push(Channel::new(&self.config, &self.address, &keys));
        }
        let config: &Config = &self.config;
        let mut channels: Vec<&mut Channel> =
            std::iter::once(&mut self.main).chain(&mut self.lanes).take(cut.lanes).collect();
        let lanes = &mut channels[..];
        send_all(lanes, cut.count, marks, async |lane: &mut &mut Channel, number, marks: &mut Marks| {
            send_part(config, lane, upload, (number + 1, &cut.part(body, number)), marks).await
        })
        .await
    }

    async fn complete(&mut self, upload: &Upload, lines: &[String], marks: &mut Marks) -> Result<()> {
        let text = format!(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{}</CompleteMultipartUpload>",
            lines.concat()
        );
        let query = [("uploadId", Some(upload.id.as_str()))];
        let call = Call { query: &query, ..Call::new("POST", &upload.bucket, &upload.object) };
        let answer = self.main.exchange_text(call, &text, marks).await?;
        // The status may be sent before the parts are joined, and blanks until they are: only the body tells what came of it.
        let body = self.main.connection().body();
        if answer.is_success() && xml_scan::find(body, "Code").is_none() {
            return holds(body, "CompleteMultipartUploadResult", "the completion of an upload");
        }
        Err(self.main.late_failure(answer, &upload.bucket, &upload.object))
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

/// Sends a part, numbered from 1, and makes its line of the completion.
async fn send_part(
    config: &Config,
    channel: &mut Channel,
    upload: &Upload,
    (number, part): (u64, &Part<'_>),
    marks: &mut Marks,
) -> Result<String> {
    let digits = number.to_string();
    let query = [("partNumber", Some(digits.as_str())), ("uploadId", Some(upload.id.as_str()))];
    let call = Call { query: &query, ..Call::new("PUT", &upload.bucket, &upload.object) };
    let answer = send_body(config, channel, call, None, part, false, marks).await?;
    if !answer.is_success() {
        return Err(channel.failure(answer, &upload.bucket, &upload.object));
    }
    // An empty one names no part either.
    let named = |etag: &&str| !etag.trim_matches([' ', '"']).is_empty();
    let Some(etag) = channel.connection().header("etag").filter(named) else {
        return Err(Error::new(ErrorKind::Protocol, format!("the store gave no ETag for part {number}")));
    };
    let mut line = format!("<Part><PartNumber>{number}</PartNumber><ETag>");
    xml_scan::push_escaped(&mut line, etag);
    line.push_str("</ETag>");
    let checksum = config.checksum;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cosmark_adaptor_api::{BytesSource, Session, Settings};

    use super::*;
    use crate::s3::DEF;
    use crate::scripted::{Script, serve_with};

    /// Writes two parts to a store that answers the completion so.
    async fn completed(script: Script) -> (Result<PutOutcome>, String) {
        let server = serve_with(move |request| match request.split(' ').next() {
            Some("PUT") => Script::status("200 OK", "ETag: \"tag\"\r\n", ""),
            Some("DELETE") => Script::status("204 Gone", "", ""),
            _ if request.contains("?uploads") => {
                Script::status("200 OK", "", "<R><UploadId>1</UploadId></R>")
            }
            _ => script.clone(),
        });
        let url = server.url("");
        let entries = [("endpoint", url.as_str()), ("accesskey", "AKID"), ("secretkey", "hunter2")];
        let mut client = (DEF.open)(&Settings::parse(DEF.keys, entries).0)
            .unwrap()
            .client(&Arc::<Session>::default())
            .unwrap();
        let name = ObjectName { container: "b-1", object: "o" };
        let plan = MultipartPlan { part_size_bytes: 10, concurrency: 1 };
        let result = client.put_multipart(name, &BytesSource(&[b'x'; 20]), plan, &mut Marks::default()).await;
        (result, server.requests().pop().unwrap())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_upload_is_completed_only_where_the_answer_says_so() {
        let ok = |body: &str| Script::status("200 OK", "", body);
        let whole = "<?xml version=\"1.0\"?>\n  <CompleteMultipartUploadResult xmlns=\"x\"><ETag>e</ETag></CompleteMultipartUploadResult>";
        assert_eq!(completed(ok(whole)).await.0.unwrap().bytes, 20);
        let broken_off =
            Script::answer("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n     ");
        for (script, kind) in [
            (ok(""), ErrorKind::Protocol),
            (broken_off, ErrorKind::Protocol),
            (ok("<html><body>log in</body></html>"), ErrorKind::Protocol),
            (ok("<CompleteMultipartUploadResult><ETag>e</ET"), ErrorKind::Protocol),
            (ok("<Error><Message>no</Message></Error>"), ErrorKind::Protocol),
            (ok("  <Error><Code>InternalError</Code></Error>"), ErrorKind::Status(500)),
        ] {
            let (result, last) = completed(script).await;
            assert_eq!(result.unwrap_err().kind(), kind);
            assert!(last.starts_with("DELETE "), "it is given up: {last}");
        }
    }
}
