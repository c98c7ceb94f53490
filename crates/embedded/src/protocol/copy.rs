//! Copies inside the store: CopyObject and UploadPartCopy. The bytes go from file to file, in the kernel where their
//! hashes are known already.

use data_encoding::HEXLOWER;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopyPartResult, CopySource, ETag, MetadataDirective,
    UploadPartCopyInput, UploadPartCopyOutput,
};
use s3s::{S3Result, s3_error};

use super::body_in::{Sink, copy_hashed};
use super::condition::{Outcome, ReadCondition, WriteCondition};
use super::parts::part_number;
use super::write::attributes;
use super::{Protocol, refuse};
use crate::digest::{Algorithm, Digest, Hasher, fill};
use crate::fault;
use crate::store::disk::Draft;
use crate::store::object::{Object, Record, Tag};
use crate::store::upload::Part;

/// Copies `range` into the draft and gives its MD5, known or computed, and the checksum asked for.
pub(super) fn transfer(
    source: &File,
    range: &Range<u64>,
    known: Option<[u8; 16]>,
    algorithm: Option<Algorithm>,
    mut draft: Draft,
) -> S3Result<(Draft, [u8; 16], Option<Digest>)> {
    match (known, algorithm) {
        (Some(md5), None) => {
            draft.copy(source, range).map_err(|error| fault::write(&error))?;
            Ok((draft, md5, None))
        }
        _ => {
            let mut sink = Sink::new(draft, algorithm.map(Hasher::new));
            copy_hashed(source, range, &mut sink).map_err(|error| fault::write(&error))?;
            Ok(sink.finish())
        }
    }
}

/// MD5 of the content, if the ETag is one.
fn known_md5(object: &Object) -> Option<[u8; 16]> {
    (object.tag.parts == 0).then_some(object.tag.md5)
}

impl Protocol {
    fn copy_source(&self, source: &CopySource, condition: &ReadCondition) -> S3Result<(Arc<Object>, File)> {
        let CopySource::Bucket { bucket, key, version_id } = source else {
            return Err(s3_error!(NotImplemented, "the embedded store copies from <bucket>/<key> only"));
        };
        refuse::version(version_id.as_deref())?;
        let (object, file) = self.store.bucket(bucket)?.open(key)?;
        match condition.outcome(&object) {
            Outcome::Holds => Ok((object, file)),
            _ => Err(s3_error!(PreconditionFailed, "the source is not as the request demands")),
        }
    }

    pub(super) async fn object_copy(&self, mut input: CopyObjectInput) -> S3Result<CopyObjectOutput> {
        refuse::write_extras!(input);
        refuse::fields!(input; copy_source_sse_customer_algorithm = "encryption");
        let bucket = self.store.bucket(&input.bucket)?;
        let condition = ReadCondition {
            if_match: input.copy_source_if_match.take(),
            if_none_match: input.copy_source_if_none_match.take(),
            if_modified_since: input.copy_source_if_modified_since.take(),
            if_unmodified_since: input.copy_source_if_unmodified_since.take(),
        };
        let (source, file) = self.copy_source(&input.copy_source, &condition)?;
        let replace =
            input.metadata_directive.as_ref().is_some_and(|word| word.as_str() == MetadataDirective::REPLACE);
        let to_itself = matches!(&input.copy_source, CopySource::Bucket { bucket, key, .. }
            if **bucket == *input.bucket && **key == *input.key);
        if to_itself && !replace && input.storage_class.is_none() {
            return Err(s3_error!(
                InvalidRequest,
                "a copy of an object to itself changes nothing; give x-amz-metadata-directive: REPLACE"
            ));
        }
        let class = input.storage_class.clone();
        let attributes = if replace {
            Arc::new(attributes!(input)?)
        } else {
            let mut kept = Arc::clone(&source.attributes);
            if let Some(class) = class {
                Arc::make_mut(&mut kept).storage_class = Some(class.as_str().to_owned());
            }
            kept
        };
        let algorithm = Algorithm::named(input.checksum_algorithm.as_ref())?;
        let fresh = algorithm.filter(|wanted| {
            !source.digest.as_ref().is_some_and(|digest| digest.algorithm == *wanted && !digest.composite)
        });
        let draft = bucket.draft(source.size_bytes)?;
        let key = input.key.clone();
        let step = move || copy_object(&source, &file, draft, fresh, attributes, &key);
        let (draft, object) =
            tokio::task::spawn_blocking(step).await.map_err(|error| fault::task(&error))??;
        let mut result = CopyObjectResult {
            e_tag: Some(ETag::Strong(object.tag.to_string())),
            last_modified: Some(object.modified.into()),
            checksum_type: object.digest.as_deref().map(Digest::kind),
            ..CopyObjectResult::default()
        };
        fill!(result, &object.digest);
        bucket.enter(&input.key, draft, object, &WriteCondition::None)?;
        Ok(CopyObjectOutput { copy_object_result: Some(result), ..CopyObjectOutput::default() })
    }

    pub(super) async fn part_copy(&self, mut input: UploadPartCopyInput) -> S3Result<UploadPartCopyOutput> {
        refuse::fields!(input;
            sse_customer_algorithm = "encryption",
            copy_source_sse_customer_algorithm = "encryption",
        );
        let number = part_number(input.part_number)?;
        let bucket = self.store.bucket(&input.bucket)?;
        let upload = bucket.upload(&input.key, &input.upload_id)?;
        let condition = ReadCondition {
            if_match: input.copy_source_if_match.take(),
            if_none_match: input.copy_source_if_none_match.take(),
            if_modified_since: input.copy_source_if_modified_since.take(),
            if_unmodified_since: input.copy_source_if_unmodified_since.take(),
        };
        let (source, file) = self.copy_source(&input.copy_source, &condition)?;
        let size = source.size_bytes;
        let range = match input.copy_source_range.as_deref() {
            Some(text) => source_range(text, size)?,
            None => 0..size,
        };
        let known = if range == (0..size) { known_md5(&source) } else { None };
        let draft = bucket.draft(range.end - range.start)?;
        let algorithm = upload.algorithm;
        let size_bytes = range.end - range.start;
        let step = move || {
            let outcome = transfer(&file, &range, known, algorithm, draft);
            // Held until here, so that its file was not written again.
            drop(source);
            outcome
        };
        let outcome = tokio::task::spawn_blocking(step).await.map_err(|error| fault::task(&error))?;
        let (draft, md5, digest) = outcome?;
        let part = Part { file: draft.number(), size_bytes, md5, modified: SystemTime::now(), digest };
        let mut result = CopyPartResult {
            e_tag: Some(ETag::Strong(HEXLOWER.encode(md5.as_ref()))),
            last_modified: Some(part.modified.into()),
            ..CopyPartResult::default()
        };
        fill!(result, &part.digest);
        bucket.enter_part(&input.upload_id, &upload, number, draft, part)?;
        Ok(UploadPartCopyOutput { copy_part_result: Some(result), ..UploadPartCopyOutput::default() })
    }
}

fn copy_object(
    source: &Object,
    file: &File,
    draft: Draft,
    fresh: Option<Algorithm>,
    attributes: Arc<crate::store::object::Attributes>,
    key: &str,
) -> S3Result<(Draft, Object)> {
    let size_bytes = source.size_bytes;
    let (mut draft, md5, digest) = transfer(file, &(0..size_bytes), known_md5(source), fresh, draft)?;
    let inherited = source.digest.clone().filter(|digest| !digest.composite);
    let object = Object {
        file: draft.number(),
        size_bytes,
        tag: Tag { md5, parts: 0 },
        modified: SystemTime::now(),
        attributes,
        digest: digest.map(Box::new).or(inherited),
        parts: None,
    };
    let record = Record::of(key, &object);
    draft.seal(Vec::new(), size_bytes, &record).map_err(|error| fault::write(&error))?;
    Ok((draft, object))
}

/// `bytes=<first>-<last>`, both within the source (AWS API reference, UploadPartCopy).
fn source_range(text: &str, size: u64) -> S3Result<Range<u64>> {
    let bounds = text.strip_prefix("bytes=").and_then(|text| text.split_once('-'));
    let parsed =
        bounds.and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?)));
    match parsed {
        Some((first, last)) if first <= last && last < size => Ok(first..last + 1),
        Some(_) => Err(s3_error!(InvalidRange, "{text} does not lie within the {size} bytes of the source")),
        None => Err(s3_error!(InvalidArgument, "{text} is no range of the form bytes=<first>-<last>")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_range_lies_within_the_source() {
        for (text, expected) in [("bytes=0-9", 0..10), ("bytes=3-3", 3..4)] {
            assert_eq!(source_range(text, 10).unwrap(), expected, "{text}");
        }
        for text in ["bytes=0-10", "bytes=5-4", "bytes=5-", "bytes=-5", "0-1", "bytes=a-b", ""] {
            assert!(source_range(text, 10).is_err(), "{text}");
        }
    }
}
