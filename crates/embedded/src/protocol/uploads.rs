//! Listings of uploads and of their parts (AWS API reference, ListMultipartUploads and ListParts).

use data_encoding::HEXLOWER;
use std::collections::BTreeSet;

use s3s::S3Result;
use s3s::dto::{
    ChecksumType, CommonPrefix, ETag, ListMultipartUploadsInput, ListMultipartUploadsOutput, ListPartsInput,
    ListPartsOutput, MultipartUpload, StorageClass,
};

use super::Protocol;
use super::listings::{Spelling, delimiter, limit, owner};
use crate::digest::fill;
use crate::store::bucket::Uploads;

const MOST_ENTRIES: i32 = 1000;

struct Page {
    /// Key and id.
    names: Vec<(String, String)>,
    groups: BTreeSet<String>,
    more: bool,
}

/// Uploads are few: the page is found by walking over all of them.
fn page(uploads: &Uploads, input: &ListMultipartUploadsInput, limit: usize) -> Page {
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let delimiter = delimiter(input.delimiter.as_ref());
    let after = input.key_marker.as_deref().unwrap_or_default();
    let after_id = input.upload_id_marker.as_deref().unwrap_or_default();
    let mut page = Page { names: Vec::new(), groups: BTreeSet::new(), more: false };
    for (key, id) in uploads.keys() {
        let told = key.as_str() < after || (key == after && (after_id.is_empty() || id.as_str() <= after_id));
        let Some(rest) = key.strip_prefix(prefix).filter(|_| after.is_empty() || !told) else { continue };
        let group = delimiter.and_then(|text| rest.find(text).map(|at| prefix.len() + at + text.len()));
        let group = group.map(|end| &key[..end]);
        if group.is_some_and(|group| page.groups.contains(group) || (!after.is_empty() && group <= after)) {
            continue;
        }
        if page.names.len() + page.groups.len() == limit {
            page.more = limit > 0;
            break;
        }
        match group {
            Some(group) => drop(page.groups.insert(group.to_owned())),
            None => page.names.push((key.clone(), id.clone())),
        }
    }
    page
}

impl Protocol {
    pub(super) fn uploads_list(
        &self,
        input: ListMultipartUploadsInput,
    ) -> S3Result<ListMultipartUploadsOutput> {
        let bucket = self.store.bucket(&input.bucket)?;
        let spelling = Spelling::new(input.encoding_type.as_ref())?;
        let limit = limit(input.max_uploads, MOST_ENTRIES)?;
        let (page, uploads) = bucket.with_uploads(|uploads| {
            let page = page(uploads, &input, limit);
            let row = |name: &(String, String)| {
                let upload = uploads.get(name)?;
                Some(MultipartUpload {
                    key: Some(spelling.of(&name.0)),
                    upload_id: Some(name.1.clone()),
                    initiated: Some(upload.started.into()),
                    owner: Some(owner()),
                    storage_class: Some(StorageClass::from(
                        upload
                            .attributes
                            .storage_class
                            .clone()
                            .unwrap_or_else(|| StorageClass::STANDARD.into()),
                    )),
                    checksum_algorithm: upload.algorithm.map(crate::digest::Algorithm::to_dto),
                    ..MultipartUpload::default()
                })
            };
            let rows: Vec<_> = page.names.iter().filter_map(row).collect();
            (page, rows)
        });
        let last_key = page.names.last().map(|name| name.0.clone()).max(page.groups.last().cloned());
        let last_is_upload = page.names.last().is_some_and(|name| Some(&name.0) == last_key.as_ref());
        let next_id = if last_is_upload { page.names.last().map(|name| name.1.clone()) } else { None };
        Ok(ListMultipartUploadsOutput {
            is_truncated: Some(page.more),
            next_key_marker: spelling.of_given(last_key.as_deref()).filter(|_| page.more),
            next_upload_id_marker: next_id.filter(|_| page.more),
            uploads: Some(uploads),
            common_prefixes: Some(
                page.groups.iter().map(|group| CommonPrefix { prefix: Some(spelling.of(group)) }).collect(),
            ),
            max_uploads: i32::try_from(limit).ok(),
            prefix: spelling.of_given(input.prefix.as_deref()),
            delimiter: spelling.of_given(input.delimiter.as_deref()),
            key_marker: Some(spelling.of(input.key_marker.as_deref().unwrap_or_default())),
            upload_id_marker: Some(input.upload_id_marker.unwrap_or_default()),
            encoding_type: input.encoding_type,
            bucket: Some(input.bucket),
            ..ListMultipartUploadsOutput::default()
        })
    }

    pub(super) fn parts_list(&self, input: ListPartsInput) -> S3Result<ListPartsOutput> {
        let upload = self.store.bucket(&input.bucket)?.upload(&input.key, &input.upload_id)?;
        let limit = limit(input.max_parts, MOST_ENTRIES)?;
        let marker = input.part_number_marker.unwrap_or(0);
        let after = u16::try_from(marker.max(0)).unwrap_or(u16::MAX);
        let written = upload.parts();
        let mut rest =
            written.by_number.range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded));
        let mut rows = Vec::new();
        for (number, part) in rest.by_ref().take(limit) {
            let mut row = s3s::dto::Part {
                part_number: Some(i32::from(*number)),
                size: i64::try_from(part.size_bytes).ok(),
                e_tag: Some(ETag::Strong(HEXLOWER.encode(part.md5.as_ref()))),
                last_modified: Some(part.modified.into()),
                ..s3s::dto::Part::default()
            };
            fill!(row, &part.digest);
            rows.push(row);
        }
        let more = limit > 0 && rest.next().is_some();
        drop(written);
        Ok(ListPartsOutput {
            next_part_number_marker: rows.last().and_then(|row| row.part_number).filter(|_| more),
            is_truncated: Some(more),
            parts: Some(rows),
            max_parts: i32::try_from(limit).ok(),
            part_number_marker: Some(marker),
            checksum_algorithm: upload.algorithm.map(crate::digest::Algorithm::to_dto),
            checksum_type: upload.algorithm.map(|_| ChecksumType::from_static(ChecksumType::COMPOSITE)),
            owner: Some(owner()),
            storage_class: Some(StorageClass::from(
                upload.attributes.storage_class.clone().unwrap_or_else(|| StorageClass::STANDARD.into()),
            )),
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(input.upload_id),
            ..ListPartsOutput::default()
        })
    }
}
