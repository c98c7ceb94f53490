//! Reading objects: GetObject and HeadObject.

use std::ops::Range as Span;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{ETAG, HeaderValue};
use s3s::dto::{
    ChecksumMode, ETag, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, Range,
    StorageClass,
};
use s3s::{S3Error, S3Result, s3_error};

use super::condition::{Outcome, ReadCondition};
use super::{Protocol, body_out, refuse};
use crate::digest::{Digest, fill};
use crate::fault;
use crate::store::object::Object;

/// What S3 answers for objects that were written without a type.
const DEFAULT_TYPE: &str = "binary/octet-stream";

/// Which bytes of the object are asked for.
struct Piece {
    span: Span<u64>,
    /// `Content-Range`, if it is not the whole object.
    content_range: Option<String>,
    parts_count: Option<i32>,
}

impl Piece {
    fn new(object: &Object, range: Option<Range>, part: Option<i32>) -> S3Result<Self> {
        let size = object.size_bytes;
        let whole = Self { span: 0..size, content_range: None, parts_count: None };
        let (span, parts_count) = match (range, part) {
            (None, None) => return Ok(whole),
            (Some(_), Some(_)) => {
                return Err(s3_error!(InvalidRequest, "a request takes a range or a part number, not both"));
            }
            // No byte of an empty object can be named; S3 gives the whole, which is nothing.
            (Some(Range::Suffix { length }), None) if size == 0 && length > 0 => return Ok(whole),
            (Some(range), None) => (range.check(size).map_err(|_| not_satisfiable(size))?, None),
            (None, Some(number)) => part_span(object, number)?,
        };
        if span.is_empty() {
            return Ok(Self { parts_count, ..whole });
        }
        let content_range = Some(format!("bytes {}-{}/{size}", span.start, span.end - 1));
        Ok(Self { span, content_range, parts_count })
    }
}

fn not_satisfiable(size: u64) -> S3Error {
    let mut error = s3_error!(InvalidRange, "the object has {size} bytes; the range begins behind them");
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{size}")) {
        error.set_headers(HeaderMap::from_iter([(hyper::header::CONTENT_RANGE, value)]));
    }
    error
}

/// Where part `number` lies, and how many there are if the object was written in parts.
fn part_span(object: &Object, number: i32) -> S3Result<(Span<u64>, Option<i32>)> {
    let whole = [object.size_bytes];
    let sizes = object.parts.as_deref().unwrap_or(&whole);
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let Some(size) = index.and_then(|index| sizes.get(index)) else {
        return Err(fault::no_such_part(number, sizes.len()));
    };
    let start = sizes.iter().take(index.unwrap_or(0)).sum::<u64>();
    let count = object.parts.as_ref().and_then(|parts| i32::try_from(parts.len()).ok());
    Ok((start..start + size, count))
}

fn check(object: &Object, condition: &ReadCondition) -> S3Result<()> {
    match condition.outcome(object) {
        Outcome::Holds => Ok(()),
        Outcome::Failed => Err(s3_error!(PreconditionFailed, "the object is not as the request demands")),
        Outcome::NotModified => {
            let mut error = S3Error::new(s3s::S3ErrorCode::NotModified);
            if let Ok(value) = HeaderValue::try_from(format!("\"{}\"", object.tag)) {
                error.set_headers(HeaderMap::from_iter([(ETAG, value)]));
            }
            Err(error)
        }
    }
}

/// Whether an `If-Range` names this version (RFC 9110, 13.1.5), so that a part of it fits what the client has. Of a date
/// nobody can say that: an object may be written twice within its second.
fn is_of_version(object: &Object, if_range: &HeaderValue) -> bool {
    if_range.as_bytes() == format!("\"{}\"", object.tag).as_bytes()
}

/// The checksum, if it was asked for and the whole object is given out.
fn digest_to_tell<'o>(object: &'o Object, piece: &Piece, mode: Option<&ChecksumMode>) -> Option<&'o Digest> {
    let asked = mode.is_some_and(|mode| mode.as_str() == ChecksumMode::ENABLED);
    if asked && piece.content_range.is_none() { object.digest.as_deref() } else { None }
}

/// Sets what GetObject and HeadObject tell alike.
macro_rules! describe {
    ($output:ident, $object:expr, $piece:expr, $digest:expr) => {{
        let attributes = &$object.attributes;
        let length = $piece.span.end - $piece.span.start;
        let mut output = $output {
            accept_ranges: Some("bytes".into()),
            cache_control: attributes.cache_control.clone(),
            checksum_type: $digest.map(Digest::kind),
            content_disposition: attributes.content_disposition.clone(),
            content_encoding: attributes.content_encoding.clone(),
            content_language: attributes.content_language.clone(),
            content_length: i64::try_from(length).ok(),
            content_range: $piece.content_range,
            content_type: Some(attributes.content_type.clone().unwrap_or_else(|| DEFAULT_TYPE.into())),
            e_tag: Some(ETag::Strong($object.tag.to_string())),
            expires: attributes.expires.clone(),
            last_modified: Some($object.modified.into()),
            metadata: attributes.metadata.clone(),
            parts_count: $piece.parts_count,
            storage_class: attributes.storage_class.clone().map(StorageClass::from),
            ..$output::default()
        };
        fill!(output, $digest);
        output
    }};
}

impl Protocol {
    pub(super) fn object_get(
        &self,
        input: GetObjectInput,
        if_range: Option<&HeaderValue>,
    ) -> S3Result<GetObjectOutput> {
        refuse::fields!(input; sse_customer_algorithm = "encryption");
        refuse::version(input.version_id.as_deref())?;
        let (object, file) = self.store.bucket(&input.bucket)?.open(&input.key)?;
        let condition = ReadCondition {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            if_modified_since: input.if_modified_since,
            if_unmodified_since: input.if_unmodified_since,
        };
        check(&object, &condition)?;
        let range = input.range.filter(|_| if_range.is_none_or(|given| is_of_version(&object, given)));
        let piece = Piece::new(&object, range, input.part_number)?;
        let body = body_out::send(&object, file, &piece.span)?;
        let digest = digest_to_tell(&object, &piece, input.checksum_mode.as_ref());
        let mut output = describe!(GetObjectOutput, object, piece, digest);
        output.body = Some(body);
        Ok(output)
    }

    pub(super) fn object_head(&self, input: HeadObjectInput) -> S3Result<HeadObjectOutput> {
        refuse::fields!(input; sse_customer_algorithm = "encryption");
        refuse::version(input.version_id.as_deref())?;
        let object: Arc<Object> = self.store.bucket(&input.bucket)?.object(&input.key)?;
        let condition = ReadCondition {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            if_modified_since: input.if_modified_since,
            if_unmodified_since: input.if_unmodified_since,
        };
        check(&object, &condition)?;
        let piece = Piece::new(&object, input.range, input.part_number)?;
        let digest = digest_to_tell(&object, &piece, input.checksum_mode.as_ref());
        Ok(describe!(HeadObjectOutput, object, piece, digest))
    }
}
