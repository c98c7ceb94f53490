//! Changes that the cluster makes by itself: copies, many deletions in one request, metadata (OpenStack Object Storage API
//! reference, "Copy object", "Create or update object metadata"; Swift's `bulk` middleware).

use cosmark_adaptor_api::{BytesSource, Error, ErrorKind, Marks, ObjectName, PutOutcome, Result};
use serde::Deserialize;

use super::{SwiftClient, errors, request};
use crate::http::request::one_line;
use crate::http::{Body, Take, header, header_number, push_escaped};

/// Most bytes of a report that are kept.
const MAX_REPORT_BYTES: usize = 1 << 20;

/// What the `bulk` middleware tells at the end; the status line comes before the work is done.
#[derive(Deserialize)]
pub(super) struct BulkReport {
    #[serde(rename = "Response Status")]
    status: String,
    #[serde(default, rename = "Errors")]
    pub(super) errors: Vec<(String, String)>,
    #[serde(default, rename = "Number Not Found")]
    pub(super) not_found: Option<u64>,
    #[serde(default, rename = "Number Deleted")]
    pub(super) deleted: Option<u64>,
}

impl BulkReport {
    /// The status that counts: one that there is, and no success beside failures.
    pub(super) fn status(&self) -> u16 {
        let reported: Option<u16> = self.status.split(' ').next().and_then(|code| code.parse().ok());
        let is_possible = |status: &u16| (200..600).contains(status);
        let is_true = |status: &u16| *status >= 300 || self.errors.is_empty();
        reported.filter(is_possible).filter(is_true).unwrap_or(500)
    }

    /// # Errors
    /// `Protocol` where it tells of fewer objects than it was asked to delete. One that gives no numbers says nothing of it.
    pub(super) fn covers(&self, asked: usize) -> Result<()> {
        let reported = match (self.deleted, self.not_found) {
            (None, None) => return Ok(()),
            (deleted, not_found) => deleted.unwrap_or(0).saturating_add(not_found.unwrap_or(0)),
        };
        if reported >= asked as u64 {
            return Ok(());
        }
        let message =
            format!("the report of a delete tells of {reported} objects where {asked} were to be deleted");
        Err(Error::new(ErrorKind::Protocol, message).with_hint("look for these objects in the proxy's log"))
    }

    /// The failure that the report tells of.
    pub(super) fn failure(&self, what: &str) -> Error {
        let detail = self
            .errors
            .first()
            .map(|(path, reason)| format!(", first: {}: {}", one_line(path), one_line(reason)))
            .unwrap_or_default();
        let message = format!("{what}: {} failed{detail}", self.errors.len());
        Error::new(ErrorKind::Status(self.status()), message)
            .with_hint("look for these objects in the proxy's log")
    }
}

impl SwiftClient {
    /// `PUT` with `X-Copy-From`, which every proxy with the `copy` middleware understands.
    pub(super) async fn copy_object(
        &mut self,
        from: ObjectName<'_>,
        to: ObjectName<'_>,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        request::checked(from.container)?;
        request::checked(from.object)?;
        let mut source = Vec::with_capacity(64);
        push_path(&mut source, from.container, from.object);
        let link = self.link()?;
        link.start("PUT", to, b"")?;
        header(&mut link.head, "X-Copy-From", std::str::from_utf8(&source).unwrap_or_default());
        header_number(&mut link.head, "Content-Length", 0);
        let answer = link.ask(marks).await?;
        match answer.status {
            201 => Ok(PutOutcome { bytes: 0, accepted_only: false }),
            202 => Ok(PutOutcome { bytes: 0, accepted_only: true }),
            status => Err(errors::object(link, "PUT (copy)", from, status)),
        }
    }

    /// `POST` of a list of paths to the account.
    pub(super) async fn delete_objects(
        &mut self,
        container: &str,
        objects: &[String],
        marks: &mut Marks,
    ) -> Result<()> {
        request::checked(container)?;
        let mut paths = Vec::with_capacity(objects.len() * 32);
        for object in objects {
            request::checked(object)?;
            push_path(&mut paths, container, object);
            paths.push(b'\n');
        }
        let link = self.link()?;
        link.start_container("POST", "", b"?bulk-delete");
        header(&mut link.head, "Content-Type", "text/plain");
        header(&mut link.head, "Accept", "application/json");
        header_number(&mut link.head, "Content-Length", paths.len() as u64);
        let (body, take) = (BytesSource(&paths), Take::Keep { limit: MAX_REPORT_BYTES });
        let transferred = marks.body_bytes;
        let result = link.send(Body::Sized(&body), take, marks).await;
        // A list of names is no object data.
        marks.body_bytes = transferred;
        let answer = result?;
        if !answer.is_success() {
            return Err(errors::container(link, "POST (bulk delete)", container, answer.status));
        }
        let report: BulkReport = serde_json::from_slice(link.connection.body()).map_err(|_| no_report())?;
        match report.status() {
            200..300 => report.covers(objects.len()),
            // Nothing of it was there, which is what was asked for.
            404 if report.errors.is_empty() => Ok(()),
            status => {
                marks.status = status;
                Err(report.failure(&format!("bulk delete in {container}")))
            }
        }
    }

    /// `POST` to the object; Swift answers 202.
    pub(super) async fn update_metadata(
        &mut self,
        name: ObjectName<'_>,
        key: &str,
        value: &str,
        marks: &mut Marks,
    ) -> Result<()> {
        let link = self.link()?;
        link.start("POST", name, b"")?;
        header(&mut link.head, &format!("X-Object-Meta-{key}"), value);
        header_number(&mut link.head, "Content-Length", 0);
        let answer = link.ask(marks).await?;
        if answer.is_success() { Ok(()) } else { Err(errors::object(link, "POST", name, answer.status)) }
    }
}

/// A success that does not say what was deleted.
pub(super) fn no_report() -> Error {
    Error::new(ErrorKind::Protocol, "the answer to a bulk delete is no report")
        .with_hint("the proxy needs the `bulk` middleware; Ceph's gateway has it under rgw_enable_apis=swift")
}

fn push_path(out: &mut Vec<u8>, container: &str, object: &str) {
    out.push(b'/');
    push_escaped(out, container, false);
    out.push(b'/');
    push_escaped(out, object, false);
}
