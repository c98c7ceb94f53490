//! Listings of objects, version 1 and 2 (AWS API reference, ListObjects and ListObjectsV2).

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::{
    ChecksumType, CommonPrefix, ETag, EncodingType, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input,
    ListObjectsV2Output, ObjectStorageClass, Owner,
};
use s3s::{S3Result, s3_error};

use super::Protocol;
use crate::store::listing::{Ask, Entry};
use crate::store::object::Object;

/// Most keys of one page.
const MOST_KEYS: i32 = 1000;

/// What `encoding-type=url` leaves as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// Everything belongs to one owner.
pub(super) fn owner() -> Owner {
    Owner { display_name: Some("cosmark".into()), id: Some("cosmark".into()) }
}

pub(super) fn limit(asked: Option<i32>, most: i32) -> S3Result<usize> {
    let asked = asked.unwrap_or(most);
    usize::try_from(asked.min(most))
        .map_err(|_| s3_error!(InvalidArgument, "{asked} entries cannot be listed; ask for 0 or more"))
}

/// A continuation token is the last name of the page before, in hexadecimal so that nobody mistakes it for one.
pub(super) fn to_token(name: &str) -> String {
    HEXLOWER.encode(name.as_ref())
}

pub(super) fn from_token(token: Option<&str>) -> S3Result<String> {
    let Some(token) = token else { return Ok(String::new()) };
    let name =
        HEXLOWER_PERMISSIVE.decode(token.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| s3_error!(InvalidArgument, "the continuation token is not one that this store gave"))
}

/// How names stand in the answer.
pub(super) struct Spelling(bool);

impl Spelling {
    pub(super) fn new(encoding: Option<&EncodingType>) -> S3Result<Self> {
        match encoding.map(EncodingType::as_str) {
            None => Ok(Self(false)),
            Some(EncodingType::URL) => Ok(Self(true)),
            Some(other) => {
                Err(s3_error!(InvalidArgument, "the encoding type {other} is unknown; there is only url"))
            }
        }
    }

    pub(super) fn of(&self, name: &str) -> String {
        if self.0 { utf8_percent_encode(name, PLAIN).to_string() } else { name.to_owned() }
    }

    pub(super) fn of_given(&self, name: Option<&str>) -> Option<String> {
        name.map(|name| self.of(name))
    }
}

/// An empty delimiter is none.
pub(super) fn delimiter(given: Option<&String>) -> Option<&str> {
    given.map(String::as_str).filter(|text| !text.is_empty())
}

struct Page {
    contents: Vec<s3s::dto::Object>,
    groups: Vec<CommonPrefix>,
    /// Name of the last entry if there are more.
    next: Option<String>,
}

impl Page {
    fn new((entries, more): (Vec<Entry<Arc<Object>>>, bool), spelling: &Spelling, with_owner: bool) -> Self {
        let next = if more { entries.last().map(|entry| entry.name().to_owned()) } else { None };
        let (mut contents, mut groups) = (Vec::with_capacity(entries.len()), Vec::new());
        for entry in entries {
            match entry {
                Entry::Group(name) => groups.push(CommonPrefix { prefix: Some(spelling.of(&name)) }),
                Entry::Key(name, object) => contents.push(row(&name, &object, spelling, with_owner)),
            }
        }
        Self { contents, groups, next }
    }
}

fn row(name: &str, object: &Object, spelling: &Spelling, with_owner: bool) -> s3s::dto::Object {
    let class = object.attributes.storage_class.clone();
    s3s::dto::Object {
        key: Some(spelling.of(name)),
        size: i64::try_from(object.size_bytes).ok(),
        e_tag: Some(ETag::Strong(object.tag.to_string())),
        last_modified: Some(object.modified.into()),
        owner: with_owner.then(owner),
        checksum_algorithm: object.digest.as_ref().map(|digest| vec![digest.algorithm.to_dto()]),
        checksum_type: object.digest.as_ref().map(|digest| -> ChecksumType { digest.kind() }),
        storage_class: Some(
            class.map_or(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD), Into::into),
        ),
        ..s3s::dto::Object::default()
    }
}

impl Protocol {
    pub(super) fn list_v1(&self, input: ListObjectsInput) -> S3Result<ListObjectsOutput> {
        let bucket = self.store.bucket(&input.bucket)?;
        let spelling = Spelling::new(input.encoding_type.as_ref())?;
        let ask = Ask {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_ref()),
            after: input.marker.as_deref().unwrap_or_default(),
            limit: limit(input.max_keys, MOST_KEYS)?,
        };
        let page = Page::new(bucket.list(ask), &spelling, true);
        Ok(ListObjectsOutput {
            max_keys: i32::try_from(ask.limit).ok(),
            is_truncated: Some(page.next.is_some()),
            next_marker: spelling.of_given(page.next.as_deref()),
            contents: Some(page.contents),
            common_prefixes: Some(page.groups),
            prefix: Some(spelling.of(ask.prefix)),
            marker: Some(spelling.of(ask.after)),
            delimiter: spelling.of_given(input.delimiter.as_deref()),
            encoding_type: input.encoding_type,
            name: Some(input.bucket),
            ..ListObjectsOutput::default()
        })
    }

    pub(super) fn list_v2(&self, input: ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
        let bucket = self.store.bucket(&input.bucket)?;
        let spelling = Spelling::new(input.encoding_type.as_ref())?;
        let token = from_token(input.continuation_token.as_deref())?;
        let start = input.start_after.as_deref().unwrap_or_default();
        let ask = Ask {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: delimiter(input.delimiter.as_ref()),
            after: if token.is_empty() { start } else { &token },
            limit: limit(input.max_keys, MOST_KEYS)?,
        };
        let page = Page::new(bucket.list(ask), &spelling, input.fetch_owner == Some(true));
        Ok(ListObjectsV2Output {
            max_keys: i32::try_from(ask.limit).ok(),
            key_count: i32::try_from(page.contents.len() + page.groups.len()).ok(),
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next.as_deref().map(to_token),
            contents: Some(page.contents),
            common_prefixes: Some(page.groups),
            prefix: Some(spelling.of(ask.prefix)),
            start_after: spelling.of_given(input.start_after.as_deref()),
            delimiter: spelling.of_given(input.delimiter.as_deref()),
            encoding_type: input.encoding_type,
            continuation_token: input.continuation_token,
            name: Some(input.bucket),
            ..ListObjectsV2Output::default()
        })
    }
}
