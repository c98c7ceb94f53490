//! Writes in parts (AWS API reference, CreateMultipartUpload to AbortMultipartUpload).

use data_encoding::HEXLOWER;
use std::sync::Arc;
use std::time::SystemTime;

use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CompletedPart, CreateMultipartUploadInput, CreateMultipartUploadOutput,
    ETag, UploadPartInput, UploadPartOutput,
};
use s3s::{S3Request, S3Result, s3_error};

use super::body_in::{Sink, copy_hashed, length, receive};
use super::condition::WriteCondition;
use super::write::attributes;
use super::{Protocol, refuse};
use crate::digest::{Algorithm, Claim, Digest, Hasher, composite, fill, given};
use crate::fault;
use crate::keys;
use crate::store::bucket::Bucket;
use crate::store::disk::Draft;
use crate::store::object::{Object, Record, Tag};
use crate::store::upload::{Part, Upload};

const MOST_PARTS: u16 = 10_000;
/// All parts but the last.
const SMALLEST_PART_BYTES: u64 = 5 << 20;

pub(super) fn part_number(number: i32) -> S3Result<u16> {
    match u16::try_from(number) {
        Ok(number) if (1..=MOST_PARTS).contains(&number) => Ok(number),
        _ => Err(s3_error!(InvalidArgument, "part number {number} is not between 1 and {MOST_PARTS}")),
    }
}

impl Protocol {
    pub(super) fn upload_create(
        &self,
        mut input: CreateMultipartUploadInput,
    ) -> S3Result<CreateMultipartUploadOutput> {
        refuse::write_extras!(input);
        let attributes = attributes!(input)?;
        let algorithm = Algorithm::named(input.checksum_algorithm.as_ref())?;
        let bucket = self.store.bucket(&input.bucket)?;
        let id = keys::random_hex::<16>().map_err(|error| fault::disk("make an upload id", &error))?;
        bucket.start_upload(&input.key, &id, Upload::new(attributes, algorithm))?;
        Ok(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(id),
            checksum_algorithm: input.checksum_algorithm,
            checksum_type: input.checksum_type,
            ..CreateMultipartUploadOutput::default()
        })
    }

    pub(super) async fn part_put(&self, request: S3Request<UploadPartInput>) -> S3Result<UploadPartOutput> {
        let S3Request { mut input, headers, trailing_headers, .. } = request;
        refuse::fields!(input; sse_customer_algorithm = "encryption");
        let number = part_number(input.part_number)?;
        let bucket = self.store.bucket(&input.bucket)?;
        let upload = bucket.upload(&input.key, &input.upload_id)?;
        let length = length(input.body.as_ref(), input.content_length)?;
        let claim = Claim::new(given!(input)?, &headers, trailing_headers)?;
        let draft = bucket.draft(length)?;
        let received = receive(input.body.take(), length, input.content_md5.as_deref(), claim, draft).await?;
        let part = Part {
            file: received.draft.number(),
            size_bytes: received.size_bytes,
            md5: received.md5,
            modified: SystemTime::now(),
            digest: received.digest.clone(),
        };
        let mut output = UploadPartOutput {
            e_tag: Some(ETag::Strong(HEXLOWER.encode(part.md5.as_ref()))),
            ..UploadPartOutput::default()
        };
        fill!(output, &part.digest);
        let draft = received.close().await?;
        bucket.enter_part(&input.upload_id, &upload, number, draft, part)?;
        Ok(output)
    }

    pub(super) async fn upload_complete(
        &self,
        mut input: CompleteMultipartUploadInput,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        refuse::fields!(input; sse_customer_algorithm = "encryption");
        let bucket = self.store.bucket(&input.bucket)?;
        let upload = bucket.upload(&input.key, &input.upload_id)?;
        let condition = WriteCondition::new(input.if_match.take(), input.if_none_match.take())?;
        bucket.check(&input.key, &condition)?;
        let promised = given!(input)?;
        let listed = input.multipart_upload.take().and_then(|list| list.parts).unwrap_or_default();
        let parts = chosen_parts(&upload, listed)?;
        let size_bytes = parts.iter().map(|part| part.size_bytes).sum();
        if input.mpu_object_size.is_some_and(|size| u64::try_from(size) != Ok(size_bytes)) {
            return Err(s3_error!(
                InvalidRequest,
                "the parts have {size_bytes} bytes together, not the announced size"
            ));
        }
        let step = {
            let (bucket, key, upload) = (Arc::clone(&bucket), input.key.clone(), Arc::clone(&upload));
            move || join(&bucket, &key, &upload, &parts, promised)
        };
        let (draft, object) =
            tokio::task::spawn_blocking(step).await.map_err(|error| fault::task(&error))??;
        let mut output = CompleteMultipartUploadOutput {
            location: Some(format!("/{}/{}", input.bucket, input.key)),
            e_tag: Some(ETag::Strong(object.tag.to_string())),
            checksum_type: object.digest.as_deref().map(Digest::kind),
            ..CompleteMultipartUploadOutput::default()
        };
        fill!(output, &object.digest);
        bucket.enter_upload((&input.key, &input.upload_id), draft, object, &condition)?;
        output.bucket = Some(input.bucket);
        output.key = Some(input.key);
        Ok(output)
    }

    pub(super) fn upload_abort(
        &self,
        input: &AbortMultipartUploadInput,
    ) -> S3Result<AbortMultipartUploadOutput> {
        self.store.bucket(&input.bucket)?.abort_upload(&input.key, &input.upload_id)?;
        Ok(AbortMultipartUploadOutput::default())
    }
}

/// The parts that the client names, checked against those that were written.
fn chosen_parts(upload: &Upload, listed: Vec<CompletedPart>) -> S3Result<Vec<Arc<Part>>> {
    if listed.is_empty() {
        return Err(s3_error!(MalformedXML, "the request names no part"));
    }
    let written = upload.parts();
    let mut chosen: Vec<Arc<Part>> = Vec::with_capacity(listed.len());
    let mut before = 0;
    for mut named in listed {
        let number = part_number(named.part_number.unwrap_or(0))?;
        if number <= before {
            return Err(s3_error!(InvalidPartOrder, "part {number} is named after part {before}"));
        }
        before = number;
        let promised = given!(named)?;
        let same = |part: &&Arc<Part>| {
            named
                .e_tag
                .as_ref()
                .is_none_or(|tag| tag.value().eq_ignore_ascii_case(&HEXLOWER.encode(part.md5.as_ref())))
                && promised.as_ref().is_none_or(|digest| part.digest.as_ref() == Some(digest))
        };
        let Some(part) = written.by_number.get(&number).filter(same) else {
            return Err(s3_error!(
                InvalidPart,
                "part {number} was not written, or has another ETag or checksum"
            ));
        };
        if chosen.last().is_some_and(|part| part.size_bytes < SMALLEST_PART_BYTES) {
            return Err(s3_error!(
                EntityTooSmall,
                "all parts but the last must have at least {SMALLEST_PART_BYTES} bytes"
            ));
        }
        chosen.push(Arc::clone(part));
    }
    Ok(chosen)
}

/// Writes the parts into one file.
fn join(
    bucket: &Bucket,
    key: &str,
    upload: &Upload,
    parts: &[Arc<Part>],
    promised: Option<Digest>,
) -> S3Result<(Draft, Object)> {
    let size_bytes = parts.iter().map(|part| part.size_bytes).sum();
    let draft = bucket.draft_of_parts(size_bytes);
    let known = upload
        .algorithm
        .or(promised.as_ref().map(|digest| digest.algorithm))
        .and_then(|algorithm| composite(algorithm, parts.iter().map(|part| part.digest.as_ref())));
    let (mut draft, digest) = match promised {
        Some(promised) if !promised.composite => {
            let (draft, computed) = join_hashed(bucket, parts, draft, promised.algorithm)?;
            (draft, Claim::Header(promised).check(computed)?)
        }
        Some(promised) => (join_plain(bucket, parts, draft)?, Claim::Header(promised).check(known)?),
        None => (join_plain(bucket, parts, draft)?, known),
    };
    let mut md5 = Md5::new();
    for part in parts {
        md5.update(&part.md5);
    }
    let object = Object {
        file: draft.number(),
        size_bytes,
        tag: Tag { md5: md5.finalize(), parts: u16::try_from(parts.len()).unwrap_or(MOST_PARTS) },
        modified: SystemTime::now(),
        attributes: Arc::clone(&upload.attributes),
        digest: digest.map(Box::new),
        parts: Some(parts.iter().map(|part| part.size_bytes).collect()),
    };
    draft.seal(Vec::new(), size_bytes, &Record::of(key, &object)).map_err(|error| fault::write(&error))?;
    Ok((draft, object))
}

/// A part whose file is gone was replaced or aborted while the parts were joined.
fn open_part(bucket: &Bucket, part: &Part) -> S3Result<std::fs::File> {
    bucket.open_file(part.file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            s3_error!(InvalidPart, "a part was replaced or the upload was aborted meanwhile")
        }
        _ => fault::disk("open a part", &error),
    })
}

/// Those that have a file: one of no bytes has none, and adds nothing.
fn with_bytes(parts: &[Arc<Part>]) -> impl Iterator<Item = &Arc<Part>> {
    parts.iter().filter(|part| part.size_bytes > 0)
}

fn join_plain(bucket: &Bucket, parts: &[Arc<Part>], mut draft: Draft) -> S3Result<Draft> {
    for part in with_bytes(parts) {
        let file = open_part(bucket, part)?;
        draft.copy(&file, &(0..part.size_bytes)).map_err(|error| fault::write(&error))?;
    }
    Ok(draft)
}

fn join_hashed(
    bucket: &Bucket,
    parts: &[Arc<Part>],
    draft: Draft,
    algorithm: Algorithm,
) -> S3Result<(Draft, Option<Digest>)> {
    let mut sink = Sink::new(draft, Some(Hasher::new(algorithm)));
    for part in with_bytes(parts) {
        let file = open_part(bucket, part)?;
        copy_hashed(&file, &(0..part.size_bytes), &mut sink).map_err(|error| fault::write(&error))?;
    }
    let (draft, _, digest) = sink.finish();
    Ok((draft, digest))
}
