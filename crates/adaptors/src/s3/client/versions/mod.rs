//! Buckets that keep versions (Amazon S3 API reference, `PutBucketVersioning`, `ListObjectVersions`, `DeleteObjects`).

use cosmark_adaptor_api::{Error, ErrorKind, Marks, Result};

use crate::http::xml_scan;
use crate::http::{Body, Take};
use crate::s3::channel::Call;
use crate::s3::choice::Versioning;
use crate::s3::client::S3Client;
use crate::s3::client::server_side::{NAMESPACE, content_md5};
use crate::s3::listing;

/// A version of an object, or the mark of its deletion.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    key: String,
    version: String,
    is_latest: bool,
    is_delete_mark: bool,
}

/// One page of a listing of versions, and where the next begins.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    listed: Vec<Listed>,
    next: Option<(String, String)>,
}

impl S3Client {
    pub(super) async fn set_versioning(
        &mut self,
        bucket: &str,
        state: Versioning,
        marks: &mut Marks,
    ) -> Result<()> {
        let word = if state == Versioning::Enabled { "Enabled" } else { "Suspended" };
        let text = format!(
            "<VersioningConfiguration xmlns=\"{NAMESPACE}\"><Status>{word}</Status></VersioningConfiguration>"
        );
        let sum = content_md5(&text);
        let call = Call {
            query: &[("versioning", None)],
            lines: &[("content-md5", sum.as_bytes())],
            ..Call::new("PUT", bucket, "")
        };
        let answer = self.main.exchange_text(call, &text, marks).await?;
        self.main.done(answer, bucket, "")
    }

    /// Deletes what lies behind the names that are still there or were deleted. First the old versions, then the marks of
    /// deletion: a mark that goes first makes its object visible again. A bucket that is not there has none.
    pub(super) async fn purge_versions(&mut self, bucket: &str, marks: &mut Marks) -> Result<()> {
        for want_marks in [false, true] {
            let mut from: Option<(String, String)> = None;
            loop {
                let Some(page) = self.page_of_versions(bucket, from.as_ref(), marks).await? else {
                    return Ok(());
                };
                let is_wanted = |one: &&Listed| {
                    if want_marks { one.is_latest && one.is_delete_mark } else { !one.is_latest }
                };
                let wanted = page.listed.iter().filter(is_wanted);
                let wanted: Vec<(&str, Option<&str>)> =
                    wanted.map(|one| (one.key.as_str(), Some(one.version.as_str()))).collect();
                for batch in wanted.chunks(1000) {
                    self.delete_batch(bucket, batch, marks).await?;
                }
                if page.next.is_none() {
                    break;
                }
                if page.next == from {
                    return Err(not_a_listing("its next page is the same page again"));
                }
                from = page.next;
            }
        }
        Ok(())
    }

    /// `None` = there is no such bucket.
    async fn page_of_versions(
        &mut self,
        bucket: &str,
        from: Option<&(String, String)>,
        marks: &mut Marks,
    ) -> Result<Option<Page>> {
        let mut query: Vec<(&str, Option<&str>)> = Vec::with_capacity(4);
        if let Some((key, version)) = from {
            query.push(("key-marker", Some(key)));
            query.extend(Some(("version-id-marker", Some(version.as_str()))).filter(|_| !version.is_empty()));
        }
        query.push(("versions", None));
        query.sort_unstable();
        let call = Call { query: &query, ..Call::new("GET", bucket, "") };
        let take = Take::Keep { limit: listing::most_bytes(None) };
        let answer = self.main.exchange(&call, Body::None, take, marks).await?;
        match answer.status {
            200 => read(self.main.connection().body()).map(Some),
            404 => Ok(None),
            _ => Err(self.main.failure(answer, bucket, "")),
        }
    }
}

fn read(body: &[u8]) -> Result<Page> {
    if !xml_scan::closes(body, "ListVersionsResult") {
        return Err(not_a_listing("it holds no whole ListVersionsResult"));
    }
    let of_tag = |tag: &'static str| {
        xml_scan::texts(body, tag).map(move |text| {
            let part = |tag| xml_scan::find(text.as_bytes(), tag).map(xml_scan::unescape).unwrap_or_default();
            let is_latest = part("IsLatest") == "true";
            let is_delete_mark = tag == "DeleteMarker";
            Listed { key: part("Key"), version: part("VersionId"), is_latest, is_delete_mark }
        })
    };
    let listed: Vec<Listed> = of_tag("Version").chain(of_tag("DeleteMarker")).collect();
    if listed.iter().any(|one| one.key.is_empty() || one.version.is_empty()) {
        return Err(not_a_listing("an entry has no name or no version"));
    }
    let next = match xml_scan::find(body, "IsTruncated") {
        Some("true") => {
            let key = xml_scan::find(body, "NextKeyMarker");
            let key = key.ok_or_else(|| not_a_listing("more follows, but it does not say from where"))?;
            let version = xml_scan::find(body, "NextVersionIdMarker").unwrap_or_default();
            Some((xml_scan::unescape(key), xml_scan::unescape(version)))
        }
        _ => None,
    };
    Ok(Page { listed, next })
}

fn not_a_listing(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the listing of versions cannot be used: {what}"))
        .with_hint("set purge_versions=false and empty the bucket with the store's own tools")
}

#[cfg(test)]
mod tests;
