//! Requests about buckets.

use s3s::dto::{
    Bucket, BucketLocationConstraint, CreateBucketInput, CreateBucketOutput, DeleteBucketInput,
    DeleteBucketOutput, GetBucketLocationOutput, HeadBucketOutput, ListBucketsInput, ListBucketsOutput,
};
use s3s::{S3Result, s3_error};

use super::{Protocol, listings, refuse};
use crate::fault;

/// Most buckets of one page.
const MOST_BUCKETS: i32 = 10_000;

impl Protocol {
    pub(super) fn bucket_create(&self, input: &CreateBucketInput) -> S3Result<CreateBucketOutput> {
        refuse::fields!(input;
            grant_full_control = "access control lists",
            grant_read = "access control lists",
            grant_read_acp = "access control lists",
            grant_write = "access control lists",
            grant_write_acp = "access control lists",
        );
        refuse::acl(input.acl.as_ref().map(|acl| acl.as_str()))?;
        if input.object_lock_enabled_for_bucket == Some(true) {
            return Err(s3_error!(NotImplemented, "the embedded store has no object lock; leave it away"));
        }
        self.store.create_bucket(&input.bucket)?;
        Ok(CreateBucketOutput { location: Some(format!("/{}", input.bucket)) })
    }

    pub(super) async fn bucket_delete(&self, input: &DeleteBucketInput) -> S3Result<DeleteBucketOutput> {
        let folder = self.store.delete_bucket(&input.bucket)?;
        let removal = tokio::task::spawn_blocking(move || {
            // A write that began before may still add a file: then the rest goes with the store's directory.
            let _ = std::fs::remove_dir_all(folder);
        });
        removal.await.map_err(|error| fault::task(&error))?;
        Ok(DeleteBucketOutput {})
    }

    pub(super) fn bucket_head(&self, bucket: &str) -> S3Result<HeadBucketOutput> {
        self.store.bucket(bucket)?;
        Ok(HeadBucketOutput::default())
    }

    pub(super) fn bucket_location(&self, bucket: &str) -> S3Result<GetBucketLocationOutput> {
        self.store.bucket(bucket)?;
        // An empty constraint stands for us-east-1, the region of stores that have none.
        Ok(GetBucketLocationOutput { location_constraint: Some(BucketLocationConstraint::from_static("")) })
    }

    pub(super) fn buckets_list(&self, input: &ListBucketsInput) -> S3Result<ListBucketsOutput> {
        let prefix = input.prefix.as_deref().unwrap_or_default();
        let after = listings::from_token(input.continuation_token.as_deref())?;
        let limit = listings::limit(input.max_buckets, MOST_BUCKETS)?;
        let mut rows = self.store.list();
        rows.retain(|(name, _)| name.starts_with(prefix) && name.as_str() > after.as_str());
        let more = rows.len() > limit && limit > 0;
        rows.truncate(limit);
        let token = if more { rows.last().map(|(name, _)| listings::to_token(name)) } else { None };
        let bucket = |(name, created): (String, std::time::SystemTime)| Bucket {
            name: Some(name),
            creation_date: Some(created.into()),
            bucket_region: None,
        };
        Ok(ListBucketsOutput {
            buckets: Some(rows.into_iter().map(bucket).collect()),
            continuation_token: token,
            owner: Some(listings::owner()),
            prefix: input.prefix.clone(),
        })
    }
}
