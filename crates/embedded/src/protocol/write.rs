//! Writing and deleting objects: PutObject, DeleteObject, DeleteObjects.

use std::sync::Arc;
use std::time::SystemTime;

use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag,
    PutObjectInput, PutObjectOutput,
};
use s3s::{S3Request, S3Result, s3_error};

use super::body_in::{length, receive};
use super::condition::WriteCondition;
use super::{Protocol, refuse};
use crate::digest::{Claim, Digest, fill, given};
use crate::store::object::{Attributes, Object, Record, Tag};

/// Most keys of one DeleteObjects request.
const MOST_DELETIONS: usize = 1000;

/// Takes the attributes of an object out of an s3s input.
macro_rules! attributes {
    ($input:expr) => {
        $crate::protocol::write::checked($crate::store::object::Attributes {
            cache_control: $input.cache_control.take(),
            content_disposition: $input.content_disposition.take(),
            content_encoding: $input.content_encoding.take(),
            content_language: $input.content_language.take(),
            content_type: $input.content_type.take(),
            expires: $input.expires.take(),
            metadata: $input.metadata.take().filter(|map| !map.is_empty()),
            storage_class: $input.storage_class.take().map(|class| class.as_str().to_owned()),
        })
    };
}
pub(super) use attributes;

/// `aws-chunked` is how the body came, not how the object is encoded (AWS, "Signature calculations .. chunked upload").
pub(super) fn checked(mut attributes: Attributes) -> S3Result<Attributes> {
    refuse::metadata(attributes.metadata.as_ref())?;
    if let Some(encoding) = attributes.content_encoding.take() {
        let rest: Vec<_> = encoding.split(',').map(str::trim).filter(|name| *name != "aws-chunked").collect();
        attributes.content_encoding = Some(rest.join(",")).filter(|text| !text.is_empty());
    }
    Ok(attributes)
}

impl Protocol {
    pub(super) async fn object_put(&self, request: S3Request<PutObjectInput>) -> S3Result<PutObjectOutput> {
        let S3Request { mut input, headers, trailing_headers, .. } = request;
        refuse::write_extras!(input);
        refuse::fields!(input; write_offset_bytes = "appending");
        let attributes = attributes!(input)?;
        let bucket = self.store.bucket(&input.bucket)?;
        let condition = WriteCondition::new(input.if_match.take(), input.if_none_match.take())?;
        bucket.check(&input.key, &condition)?;
        let length = length(input.body.as_ref(), input.content_length)?;
        let claim = Claim::new(given!(input)?, &headers, trailing_headers)?;
        let draft = bucket.draft(length)?;
        let received = receive(input.body.take(), length, input.content_md5.as_deref(), claim, draft).await?;
        let object = Object {
            file: received.draft.number(),
            size_bytes: received.size_bytes,
            tag: Tag { md5: received.md5, parts: 0 },
            modified: SystemTime::now(),
            attributes: Arc::new(attributes),
            digest: received.digest.clone().map(Box::new),
            parts: None,
        };
        let mut output = PutObjectOutput {
            e_tag: Some(ETag::Strong(object.tag.to_string())),
            checksum_type: object.digest.as_deref().map(Digest::kind),
            ..PutObjectOutput::default()
        };
        fill!(output, &object.digest);
        let draft = received.seal(Record::of(&input.key, &object)).await?;
        bucket.enter(&input.key, draft, object, &condition)?;
        Ok(output)
    }

    pub(super) fn object_delete(&self, input: &DeleteObjectInput) -> S3Result<DeleteObjectOutput> {
        refuse::fields!(input;
            if_match = "conditional deletes",
            if_match_last_modified_time = "conditional deletes",
            if_match_size = "conditional deletes",
        );
        refuse::version(input.version_id.as_deref())?;
        self.store.bucket(&input.bucket)?.remove(&input.key)?;
        Ok(DeleteObjectOutput::default())
    }

    pub(super) fn objects_delete(&self, input: DeleteObjectsInput) -> S3Result<DeleteObjectsOutput> {
        let bucket = self.store.bucket(&input.bucket)?;
        let asked = input.delete.objects;
        if asked.is_empty() || asked.len() > MOST_DELETIONS {
            return Err(s3_error!(
                MalformedXML,
                "{} keys in one request; 1 to {MOST_DELETIONS} are allowed",
                asked.len()
            ));
        }
        let quiet = input.delete.quiet == Some(true);
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        for row in asked {
            let outcome = refuse::version(row.version_id.as_deref()).and_then(|()| bucket.remove(&row.key));
            match outcome {
                Ok(_) if quiet => {}
                Ok(_) => deleted.push(DeletedObject { key: Some(row.key), ..DeletedObject::default() }),
                Err(error) => errors.push(s3s::dto::Error {
                    code: Some(error.code().as_str().to_owned()),
                    message: error.message().map(str::to_owned),
                    key: Some(row.key),
                    version_id: row.version_id,
                }),
            }
        }
        Ok(DeleteObjectsOutput {
            deleted: Some(deleted),
            errors: Some(errors),
            ..DeleteObjectsOutput::default()
        })
    }
}
