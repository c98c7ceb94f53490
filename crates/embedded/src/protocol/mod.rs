//! The S3 protocol on top of the store. `s3s` parses requests, checks signatures (V4 and V2, in headers and presigned)
//! and spells answers; what a request does is here. What is not here is answered `NotImplemented` by `s3s`.

pub(crate) mod body_in;
pub(crate) mod body_out;
mod buckets;
pub(crate) mod condition;
mod copy;
mod listings;
mod parts;
mod read;
mod refuse;
mod uploads;
mod write;

use std::sync::Arc;

use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CreateBucketInput, CreateBucketOutput,
    CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteBucketInput, DeleteBucketOutput,
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, GetBucketLocationInput,
    GetBucketLocationOutput, GetBucketVersioningInput, GetBucketVersioningOutput, GetObjectInput,
    GetObjectOutput, HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListBucketsInput,
    ListBucketsOutput, ListMultipartUploadsInput, ListMultipartUploadsOutput, ListObjectsInput,
    ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, ListPartsInput, ListPartsOutput,
    PutObjectInput, PutObjectOutput, UploadPartCopyInput, UploadPartCopyOutput, UploadPartInput,
    UploadPartOutput,
};
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};

use crate::store::Store;

/// Answers requests out of one store.
pub(crate) struct Protocol {
    store: Arc<Store>,
}

impl Protocol {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

/// The one pair of keys.
pub(crate) struct Keys {
    pub(crate) access: String,
    pub(crate) secret: SecretKey,
}

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        if access_key == self.access {
            Ok(self.secret.clone())
        } else {
            Err(s3_error!(
                InvalidAccessKeyId,
                "this store has another access key; it was told when the store started"
            ))
        }
    }
}

type Answer<T> = S3Result<S3Response<T>>;

fn answer<T>(output: S3Result<T>) -> Answer<T> {
    output.map(S3Response::new)
}

#[async_trait::async_trait]
impl S3 for Protocol {
    async fn create_bucket(&self, request: S3Request<CreateBucketInput>) -> Answer<CreateBucketOutput> {
        answer(self.bucket_create(&request.input))
    }

    async fn delete_bucket(&self, request: S3Request<DeleteBucketInput>) -> Answer<DeleteBucketOutput> {
        answer(self.bucket_delete(&request.input).await)
    }

    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> Answer<HeadBucketOutput> {
        answer(self.bucket_head(&request.input.bucket))
    }

    async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> Answer<GetBucketLocationOutput> {
        answer(self.bucket_location(&request.input.bucket))
    }

    async fn get_bucket_versioning(
        &self,
        request: S3Request<GetBucketVersioningInput>,
    ) -> Answer<GetBucketVersioningOutput> {
        // No status: versioning was never switched on.
        answer(self.store.bucket(&request.input.bucket).map(|_| GetBucketVersioningOutput::default()))
    }

    async fn list_buckets(&self, request: S3Request<ListBucketsInput>) -> Answer<ListBucketsOutput> {
        answer(self.buckets_list(&request.input))
    }

    async fn list_objects(&self, request: S3Request<ListObjectsInput>) -> Answer<ListObjectsOutput> {
        answer(self.list_v1(request.input))
    }

    async fn list_objects_v2(&self, request: S3Request<ListObjectsV2Input>) -> Answer<ListObjectsV2Output> {
        answer(self.list_v2(request.input))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> Answer<GetObjectOutput> {
        let if_range = request.headers.get(hyper::header::IF_RANGE).cloned();
        answer(self.object_get(request.input, if_range.as_ref()))
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> Answer<HeadObjectOutput> {
        answer(self.object_head(request.input))
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> Answer<PutObjectOutput> {
        answer(self.object_put(request).await)
    }

    async fn copy_object(&self, request: S3Request<CopyObjectInput>) -> Answer<CopyObjectOutput> {
        answer(self.object_copy(request.input).await)
    }

    async fn delete_object(&self, request: S3Request<DeleteObjectInput>) -> Answer<DeleteObjectOutput> {
        answer(self.object_delete(&request.input))
    }

    async fn delete_objects(&self, request: S3Request<DeleteObjectsInput>) -> Answer<DeleteObjectsOutput> {
        answer(self.objects_delete(request.input))
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> Answer<CreateMultipartUploadOutput> {
        answer(self.upload_create(request.input))
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> Answer<UploadPartOutput> {
        answer(self.part_put(request).await)
    }

    async fn upload_part_copy(
        &self,
        request: S3Request<UploadPartCopyInput>,
    ) -> Answer<UploadPartCopyOutput> {
        answer(self.part_copy(request.input).await)
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> Answer<CompleteMultipartUploadOutput> {
        answer(self.upload_complete(request.input).await)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> Answer<AbortMultipartUploadOutput> {
        answer(self.upload_abort(&request.input))
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> Answer<ListMultipartUploadsOutput> {
        answer(self.uploads_list(request.input))
    }

    async fn list_parts(&self, request: S3Request<ListPartsInput>) -> Answer<ListPartsOutput> {
        answer(self.parts_list(request.input))
    }
}
