//! Writes in parts. Each part is an object of the segments container, `<object>/<random>/<number>`; then a manifest is
//! written under the object's own name: a static large object (SLO: a list of the parts with their checksums) or a
//! dynamic one (DLO: only the common beginning of their names). Source: Swift's "Large Object Support".
//!
//! If anything fails, the parts that were written are deleted again. A call that is dropped cannot do that: its parts
//! stay in the segments container, where no manifest names them.

use std::cell::RefCell;
use std::hash::{BuildHasher as _, Hasher as _};

use cosmark_adaptor_api::{
    BodySource, BytesSource, Error, ErrorKind, Marks, MultipartPlan, ObjectName, PutOptions, PutOutcome,
    Result,
};
use serde::Serialize;

use super::{SwiftClient, errors, put_container};
use crate::http::{Body, Take, header, header_number, push_escaped};
use crate::parts::{Cut, Part, send_all};
use crate::swift::request::Link;
use crate::swift::server_side::{BulkReport, no_report};

/// More parts than any cluster lets a manifest have (Swift's default is 1000).
const MAX_PARTS: u64 = 100_000;

/// The answer to a delete with segments tells each failure; this is enough of it.
const MAX_DELETE_ANSWER_BYTES: usize = 1 << 20;

/// Writes one part; its checksum, as the server says it.
async fn put_part(
    lane: &mut Link,
    name: ObjectName<'_>,
    part: &Part<'_>,
    marks: &mut Marks,
) -> Result<String> {
    lane.start("PUT", name, b"")?;
    header(&mut lane.head, "Content-Type", "application/octet-stream");
    header_number(&mut lane.head, "Content-Length", part.len);
    let answer = lane.send(Body::Sized(part), Take::Discard, marks).await?;
    if !answer.is_success() {
        return Err(errors::object(lane, "PUT", name, answer.status));
    }
    let etag = lane.connection.header("etag").unwrap_or_default();
    Ok(etag.trim_matches('"').to_owned())
}

fn part_name(prefix: &str, number: u64) -> String {
    format!("{prefix}/{number:08}")
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// One line of a static manifest.
#[derive(Serialize)]
struct Segment<'a> {
    path: String,
    etag: &'a str,
    size_bytes: u64,
}

impl SwiftClient {
    pub(super) async fn put_large(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        plan: MultipartPlan,
        marks: &mut Marks,
    ) -> Result<PutOutcome> {
        // A segment has at least one byte.
        if body.is_empty() {
            return self.put_object(name, body, PutOptions::default(), marks).await;
        }
        crate::swift::request::checked(name.object)?;
        let cut = Cut::new(body.len(), plan, 1, MAX_PARTS)
            .map_err(|error| error.with_hint("raise the part size; Swift's default limit is 1000 parts"))?;
        let segments = self.options.segments_of(name.container);
        self.ensure_segments_container(&segments, marks).await?;
        let prefix =
            format!("{}/{:016x}", name.object, std::hash::RandomState::new().build_hasher().finish());
        self.open_lanes(cut.lanes)?;
        // Beside what the sending gives: where it fails, the parts that were written are deleted.
        let etags = RefCell::new(vec![None; place(cut.count)]);
        let lanes = &mut self.lanes[..cut.lanes];
        let sent = send_all(lanes, cut.count, marks, async |lane: &mut Link, number, marks: &mut Marks| {
            let object = part_name(&prefix, number);
            let name = ObjectName { container: &segments, object: &object };
            let etag = put_part(lane, name, &cut.part(body, number), marks).await?;
            etags.borrow_mut()[place(number)] = Some(etag);
            Ok(())
        })
        .await;
        let etags = etags.into_inner();
        let written = match sent {
            Err(error) => Err(error),
            Ok(_) if self.options.is_static => {
                self.put_static_manifest(name, &segments, &prefix, cut, &etags, marks).await
            }
            Ok(_) => self.put_dynamic_manifest(name, &segments, &prefix, marks).await,
        };
        match written {
            Ok(accepted_only) => Ok(PutOutcome { bytes: body.len(), accepted_only }),
            Err(error) => {
                self.remove_parts(&segments, &prefix, &etags, marks).await;
                if error.status() == Some(404) {
                    self.segments_made.retain(|made| *made != segments);
                }
                marks.status = error.status().unwrap_or(marks.status);
                Err(error.with_partial_bytes(marks.body_bytes))
            }
        }
    }

    /// Creates the segments container, once for each client: one more request of its first write in parts.
    async fn ensure_segments_container(&mut self, segments: &str, marks: &mut Marks) -> Result<()> {
        if self.segments_made.iter().any(|made| made == segments) {
            return Ok(());
        }
        let policy = self.options.policy.clone();
        let mut own = marks.part();
        let made = put_container(self.link()?, segments, &policy, &mut own).await;
        marks.add_requests(&own);
        made?;
        self.segments_made.push(segments.to_owned());
        Ok(())
    }

    fn open_lanes(&mut self, count: usize) -> Result<()> {
        let missing = count.saturating_sub(self.lanes.len());
        let link = self.link()?;
        let fresh: Vec<Link> = (0..missing).map(|_| link.another()).collect();
        self.lanes.extend(fresh);
        Ok(())
    }

    async fn put_static_manifest(
        &mut self,
        name: ObjectName<'_>,
        segments: &str,
        prefix: &str,
        cut: Cut,
        etags: &[Option<String>],
        marks: &mut Marks,
    ) -> Result<bool> {
        let entries: Vec<Segment<'_>> = (0_u64..)
            .zip(etags)
            .map(|(number, etag)| Segment {
                path: format!("/{segments}/{}", part_name(prefix, number)),
                etag: etag.as_deref().unwrap_or_default(),
                size_bytes: cut.len_of(number),
            })
            .collect();
        let manifest = serde_json::to_vec(&entries).map_err(|error| {
            Error::new(ErrorKind::Protocol, format!("the manifest cannot be written: {error}"))
        })?;
        let link = self.link()?;
        link.start("PUT", name, b"?multipart-manifest=put")?;
        header(&mut link.head, "Content-Type", "application/octet-stream");
        header_number(&mut link.head, "Content-Length", manifest.len() as u64);
        let source = BytesSource(&manifest);
        put_manifest(link, name, Body::Sized(&source), marks).await
    }

    async fn put_dynamic_manifest(
        &mut self,
        name: ObjectName<'_>,
        segments: &str,
        prefix: &str,
        marks: &mut Marks,
    ) -> Result<bool> {
        let link = self.link()?;
        link.start("PUT", name, b"")?;
        link.head.extend_from_slice(b"X-Object-Manifest: ");
        push_escaped(&mut link.head, segments, false);
        link.head.push(b'/');
        push_escaped(&mut link.head, prefix, true);
        link.head.extend_from_slice(b"/\r\n");
        header(&mut link.head, "Content-Type", "application/octet-stream");
        header_number(&mut link.head, "Content-Length", 0);
        put_manifest(link, name, Body::None, marks).await
    }

    /// Best effort: what cannot be deleted stays in the segments container.
    async fn remove_parts(
        &mut self,
        segments: &str,
        prefix: &str,
        etags: &[Option<String>],
        marks: &mut Marks,
    ) {
        for (number, _) in (0_u64..).zip(etags).filter(|(_, etag)| etag.is_some()) {
            let object = part_name(prefix, number);
            let mut own = marks.part();
            let Ok(link) = self.link() else { return };
            let asked = match link.start("DELETE", ObjectName { container: segments, object: &object }, b"") {
                Ok(()) => link.ask(&mut own).await,
                Err(error) => Err(error),
            };
            marks.add_requests(&own);
            if asked.is_err() {
                return;
            }
        }
    }
}

/// Writes the manifest; its bytes are no content and are not counted as such.
async fn put_manifest(
    link: &mut Link,
    name: ObjectName<'_>,
    body: Body<'_>,
    marks: &mut Marks,
) -> Result<bool> {
    let mut own = marks.part();
    let answer = link.send(body, Take::Discard, &mut own).await;
    marks.add_requests(&own);
    (marks.first_byte_ns, marks.status) = (own.first_byte_ns, own.status);
    match answer?.status {
        201 => Ok(false),
        202 => Ok(true),
        status => Err(errors::object(link, "PUT", name, status)),
    }
}

/// Deletes a static large object and its segments; false: it is no such object and nothing was deleted.
pub(super) async fn delete_with_segments(
    link: &mut Link,
    name: ObjectName<'_>,
    marks: &mut Marks,
) -> Result<bool> {
    link.start("DELETE", name, b"?multipart-manifest=delete")?;
    header(&mut link.head, "Accept", "application/json");
    let take = Take::Keep { limit: MAX_DELETE_ANSWER_BYTES };
    let answer = link.send(Body::None, take, marks).await?;
    if !answer.is_success() {
        return Err(errors::object(link, "DELETE", name, answer.status));
    }
    let body = link.connection.body();
    // A server without static large objects just deleted it (204, no report).
    if body.is_empty() {
        return Ok(true);
    }
    let report: BulkReport = serde_json::from_slice(body).map_err(|_| no_report())?;
    if report.errors.iter().any(|(_, reason)| reason.contains("Not an SLO")) {
        return Ok(false);
    }
    match report.status() {
        200..300 if report.deleted.is_some_and(|count| count > 0) => Ok(true),
        200..300 | 404 if report.not_found.is_some_and(|count| count > 0) => {
            marks.status = 404;
            Err(errors::object(link, "DELETE", name, 404))
        }
        200..300 => report.covers(1).map(|()| true),
        status => {
            marks.status = status;
            Err(report.failure(&format!("DELETE {}/{} with its segments", name.container, name.object)))
        }
    }
}
