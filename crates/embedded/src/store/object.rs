//! What is known of one object: where its bytes are, its ETag, its attributes; and the record of it that is written
//! behind the bytes, from which a kept directory is read again.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3s::dto::{Metadata, Timestamp};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// An ETag: the MD5 of the content, or for an object written in parts the MD5 of the parts' MD5s and their number
/// (AWS, "Checking object integrity").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) md5: [u8; 16],
    /// 0 = written in one piece.
    pub(crate) parts: u16,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(self.md5.as_ref()))?;
        if self.parts > 0 {
            write!(f, "-{}", self.parts)?;
        }
        Ok(())
    }
}

impl FromStr for Tag {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (digits, parts) = match text.split_once('-') {
            Some((digits, parts)) => (digits, parts.parse().map_err(|_| ())?),
            None => (text, 0),
        };
        let md5 = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).map_err(|_| ())?;
        Ok(Self { md5: md5.try_into().map_err(|_| ())?, parts })
    }
}

/// What a client says about an object and gets back with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Attributes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_control: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_disposition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) storage_class: Option<String>,
}

/// One object as the index knows it.
#[derive(Debug)]
pub(crate) struct Object {
    /// Number of its file.
    pub(crate) file: u64,
    pub(crate) size_bytes: u64,
    pub(crate) tag: Tag,
    pub(crate) modified: SystemTime,
    pub(crate) attributes: Arc<Attributes>,
    pub(crate) digest: Option<Box<Digest>>,
    /// Sizes of the parts that it was written in.
    pub(crate) parts: Option<Box<[u64]>>,
}

/// The same as it stands behind the bytes in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) key: String,
    etag: String,
    modified_ns: u64,
    #[serde(default)]
    attributes: Arc<Attributes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Box<Digest>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<Box<[u64]>>,
}

impl Record {
    pub(crate) fn of(key: &str, object: &Object) -> Self {
        let since = object.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            key: key.to_owned(),
            etag: object.tag.to_string(),
            modified_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            attributes: Arc::clone(&object.attributes),
            digest: object.digest.clone(),
            parts: object.parts.clone(),
        }
    }

    /// The key and the object; `None` if the ETag is none.
    pub(crate) fn into_object(self, file: u64, size_bytes: u64) -> Option<(String, Object)> {
        let object = Object {
            file,
            size_bytes,
            tag: self.etag.parse().ok()?,
            modified: UNIX_EPOCH + Duration::from_nanos(self.modified_ns),
            attributes: self.attributes,
            digest: self.digest,
            parts: self.parts,
        };
        Some((self.key, object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_reads_back_as_it_was_written() {
        for tag in [Tag { md5: [7; 16], parts: 0 }, Tag { md5: [0xAB; 16], parts: 10_000 }] {
            assert_eq!(tag.to_string().parse(), Ok(tag));
        }
        for text in ["", "abc", "zz070707070707070707070707070707", "07070707070707070707070707070707-x"] {
            assert_eq!(text.parse::<Tag>(), Err(()), "{text}");
        }
    }

    #[test]
    fn a_record_gives_the_object_back() {
        let object = Object {
            file: 9,
            size_bytes: 3,
            tag: Tag { md5: [1; 16], parts: 2 },
            modified: UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789),
            attributes: Arc::new(Attributes {
                content_type: Some("text/plain".into()),
                ..Attributes::default()
            }),
            digest: None,
            parts: Some(vec![1, 2].into()),
        };
        let text = serde_json::to_vec(&Record::of("a/b", &object)).unwrap();
        let record: Record = serde_json::from_slice(&text).unwrap();
        let (key, back) = record.into_object(9, 3).unwrap();
        assert_eq!(key, "a/b");
        assert_eq!(format!("{back:?}"), format!("{object:?}"));
    }
}
