//! What a request may ask for and this store has not: refused aloud, never ignored.

use s3s::{S3Result, s3_error};

/// Largest sum of the names and values of `x-amz-meta-*` (AWS, "Working with object metadata").
const MOST_METADATA_BYTES: usize = 2048;

/// Fails with `NotImplemented` if one of the fields is given.
macro_rules! fields {
    ($input:expr; $($field:ident = $what:literal),+ $(,)?) => {
        $(
            if $input.$field.is_some() {
                return Err(s3s::s3_error!(
                    NotImplemented,
                    concat!("the embedded store has no ", $what, "; leave it away")
                ));
            }
        )+
    };
}
pub(crate) use fields;

/// The fields that all ways to write an object share.
macro_rules! write_extras {
    ($input:expr) => {
        $crate::protocol::refuse::fields!($input;
            sse_customer_algorithm = "encryption",
            server_side_encryption = "encryption",
            ssekms_key_id = "encryption",
            tagging = "tags",
            object_lock_mode = "object lock",
            object_lock_legal_hold_status = "object lock",
            object_lock_retain_until_date = "object lock",
            website_redirect_location = "web site",
            grant_full_control = "access control lists",
            grant_read = "access control lists",
            grant_read_acp = "access control lists",
            grant_write_acp = "access control lists",
        );
        $crate::protocol::refuse::acl($input.acl.as_ref().map(|acl| acl.as_str()))?;
    };
}
pub(crate) use write_extras;

/// All belongs to the one who has the keys; lists that say just that are accepted.
pub(crate) fn acl(canned: Option<&str>) -> S3Result<()> {
    match canned {
        None | Some("private" | "bucket-owner-full-control" | "bucket-owner-read") => Ok(()),
        Some(other) => Err(s3_error!(
            NotImplemented,
            "the embedded store has no access control list {other}; leave it away"
        )),
    }
}

/// Objects have one version, which S3 calls `null`.
pub(crate) fn version(id: Option<&str>) -> S3Result<()> {
    match id {
        None | Some("null") => Ok(()),
        Some(id) => {
            Err(s3_error!(NoSuchVersion, "the embedded store has no versions, so none with the id {id}"))
        }
    }
}

pub(crate) fn metadata(metadata: Option<&s3s::dto::Metadata>) -> S3Result<()> {
    let bytes =
        metadata.map_or(0, |map| map.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>());
    if bytes > MOST_METADATA_BYTES {
        return Err(s3_error!(
            MetadataTooLarge,
            "{bytes} bytes of metadata; at most {MOST_METADATA_BYTES} are allowed"
        ));
    }
    Ok(())
}
