//! Conditional requests (RFC 9110, section 13; for writes the AWS API reference, "Conditional writes").

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Result, s3_error};

use crate::store::object::{Object, Tag};

/// Under which condition an object may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteCondition {
    None,
    /// `If-None-Match: *`
    IfAbsent,
    /// `If-Match: <etag>`
    IfTag(String),
}

impl WriteCondition {
    pub(crate) fn new(
        if_match: Option<ETagCondition>,
        if_none_match: Option<ETagCondition>,
    ) -> S3Result<Self> {
        match (if_match, if_none_match) {
            (None, None) => Ok(Self::None),
            (None, Some(ETagCondition::Any)) => Ok(Self::IfAbsent),
            (Some(ETagCondition::ETag(ETag::Strong(tag))), None) => Ok(Self::IfTag(tag)),
            // RFC 9110, 13.1.1: the comparison is the strong one, which no weak tag passes.
            (Some(ETagCondition::ETag(ETag::Weak(tag))), None) => Ok(Self::IfTag(format!("W/\"{tag}\""))),
            _ => Err(s3_error!(
                NotImplemented,
                "a write takes If-None-Match: * or If-Match: <etag>, nothing else"
            )),
        }
    }

    /// Whether it holds for what is there now.
    pub(crate) fn check(&self, now: Option<Tag>) -> S3Result<()> {
        match (self, now) {
            (Self::None, _) | (Self::IfAbsent, None) => Ok(()),
            (Self::IfAbsent, Some(_)) => Err(s3_error!(PreconditionFailed, "the object exists already")),
            (Self::IfTag(_), None) => Err(s3_error!(NoSuchKey, "there is no object whose ETag could match")),
            (Self::IfTag(tag), Some(now)) if now.to_string() == *tag => Ok(()),
            (Self::IfTag(_), Some(now)) => Err(s3_error!(PreconditionFailed, "the object's ETag is {now}")),
        }
    }
}

/// Under which condition an object is given out.
#[derive(Debug, Default)]
pub(crate) struct ReadCondition {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
    pub(crate) if_modified_since: Option<Timestamp>,
    pub(crate) if_unmodified_since: Option<Timestamp>,
}

/// How a [`ReadCondition`] came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Holds,
    /// 412
    Failed,
    /// 304 for a read, 412 for a copy
    NotModified,
}

impl ReadCondition {
    /// In the order of RFC 9110, 13.2.2: a date counts only where no ETag is given.
    pub(crate) fn outcome(&self, object: &Object) -> Outcome {
        let tag = object.tag.to_string();
        let same = |condition: &ETagCondition| match condition {
            ETagCondition::Any => true,
            ETagCondition::ETag(given) => given.value() == tag,
        };
        let modified = || Timestamp::from(whole_seconds(object.modified));
        match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) if !same(condition) => return Outcome::Failed,
            (None, Some(since)) if modified() > *since => return Outcome::Failed,
            _ => {}
        }
        match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) if same(condition) => Outcome::NotModified,
            (None, Some(since)) if modified() <= *since => Outcome::NotModified,
            _ => Outcome::Holds,
        }
    }
}

/// HTTP dates have no fractions.
fn whole_seconds(time: SystemTime) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const TAG: Tag = Tag { md5: [0x11; 16], parts: 0 };

    fn tag(text: &str) -> ETagCondition {
        text.parse().unwrap()
    }

    #[test]
    fn a_weak_tag_names_no_version_that_may_be_written_over() {
        for (given, holds) in [("\"11\"", true), ("W/\"11\"", false)] {
            let given = given.replace("11", &TAG.to_string());
            let condition = WriteCondition::new(Some(tag(&given)), None).unwrap();
            assert_eq!(condition.check(Some(TAG)).is_ok(), holds, "{given}");
        }
    }

    #[test]
    fn a_write_condition_holds_only_for_what_it_names() {
        let ours = WriteCondition::IfTag(TAG.to_string());
        let other = WriteCondition::IfTag("22".repeat(16));
        let cases = [
            (&WriteCondition::None, None, None),
            (&WriteCondition::None, Some(TAG), None),
            (&WriteCondition::IfAbsent, None, None),
            (&WriteCondition::IfAbsent, Some(TAG), Some(412)),
            (&ours, None, Some(404)),
            (&ours, Some(TAG), None),
            (&other, Some(TAG), Some(412)),
        ];
        for (condition, now, expected) in cases {
            let status = condition.check(now).err().and_then(|e| e.status_code()).map(|s| s.as_u16());
            assert_eq!(status, expected, "{condition:?} {now:?}");
        }
        assert!(WriteCondition::new(Some(ETagCondition::Any), None).is_err());
        assert!(WriteCondition::new(None, Some(tag("\"x\""))).is_err());
    }

    #[test]
    fn read_conditions_come_out_in_the_order_of_rfc_9110() {
        let time = UNIX_EPOCH + Duration::from_millis(1_000_500);
        let object = Object {
            file: 1,
            size_bytes: 0,
            tag: TAG,
            modified: time,
            attributes: Arc::default(),
            digest: None,
            parts: None,
        };
        let at = |seconds| Some(Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds)));
        let ours = || Some(tag(&format!("\"{TAG}\"")));
        let other = || Some(tag("\"other\""));
        let cases = [
            (None, None, None, None, Outcome::Holds),
            (ours(), None, None, None, Outcome::Holds),
            (other(), None, None, None, Outcome::Failed),
            (Some(ETagCondition::Any), None, None, None, Outcome::Holds),
            (None, ours(), None, None, Outcome::NotModified),
            (None, other(), None, None, Outcome::Holds),
            (None, None, at(1000), None, Outcome::NotModified),
            (None, None, at(999), None, Outcome::Holds),
            (None, None, None, at(1000), Outcome::Holds),
            (None, None, None, at(999), Outcome::Failed),
            (ours(), None, None, at(999), Outcome::Holds),
            (None, other(), at(1000), None, Outcome::Holds),
            (other(), ours(), None, None, Outcome::Failed),
        ];
        for (if_match, if_none_match, if_modified_since, if_unmodified_since, expected) in cases {
            let condition = ReadCondition { if_match, if_none_match, if_modified_since, if_unmodified_since };
            assert_eq!(condition.outcome(&object), expected, "{condition:?}");
        }
    }
}
