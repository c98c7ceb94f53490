//! The S3 errors that need more than a code: what happened, and what to do.

use std::io;

use hyper::StatusCode;
use s3s::{S3Error, S3ErrorCode, StdError, s3_error};

use crate::bodies::STALLED;

/// An error code that s3s has no name for.
fn custom(code: &str, status: StatusCode, message: String) -> S3Error {
    let code = code.parse().unwrap_or(S3ErrorCode::InternalError);
    let mut error = S3Error::with_message(code, message);
    error.set_status_code(status);
    error
}

pub(crate) fn no_such_key(key: &str) -> S3Error {
    s3_error!(NoSuchKey, "there is no object {key}")
}

pub(crate) fn no_such_upload(id: &str) -> S3Error {
    s3_error!(
        NoSuchUpload,
        "there is no upload {id} of this key: it was completed or aborted, or never begun"
    )
}

pub(crate) fn no_such_part(number: i32, parts: usize) -> S3Error {
    let message = format!("the object has {parts} parts, none with number {number}");
    custom("InvalidPartNumber", StatusCode::RANGE_NOT_SATISFIABLE, message)
}

pub(crate) fn no_trailer(header: &str) -> S3Error {
    custom(
        "MalformedTrailerError",
        StatusCode::BAD_REQUEST,
        format!("the announced trailer {header} did not come"),
    )
}

pub(crate) fn limit_reached(asked: u64, used: u64, limit: u64) -> S3Error {
    let message = format!(
        "{asked} more bytes do not fit: the embedded store holds {used} of at most {limit} bytes; delete objects or \
         start it with a higher limit"
    );
    custom("InsufficientStorage", StatusCode::INSUFFICIENT_STORAGE, message)
}

/// An error of the file system below the store. A full disk is 507, too many open files 503, all else 500.
pub(crate) fn disk(doing: &str, error: &io::Error) -> S3Error {
    if is_full(error) {
        let message = format!(
            "the embedded store cannot {doing}: {error}; free space, or start it in a directory with more of it"
        );
        return custom("InsufficientStorage", StatusCode::INSUFFICIENT_STORAGE, message);
    }
    if too_many_files(error) {
        return s3_error!(
            SlowDown,
            "the embedded store cannot {doing}: {error}; raise the limit of open files (ulimit -n)"
        );
    }
    s3_error!(InternalError, "the embedded store cannot {doing}: {error}; is its directory still there?")
}

/// An error of writing an object's file: its directory goes when the bucket is deleted meanwhile.
pub(crate) fn write(error: &io::Error) -> S3Error {
    if error.kind() == io::ErrorKind::NotFound {
        return s3_error!(NoSuchBucket, "the bucket was deleted while the object was written");
    }
    disk("write the object's file", error)
}

/// `EMFILE` and `ENFILE` have no kind of their own; the numbers are those of Linux, macOS and the BSDs.
fn too_many_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// An error that ended a request body. s3s tells its kinds only as text.
pub(crate) fn body(error: &StdError) -> S3Error {
    let text = error.to_string();
    if text.contains(STALLED) {
        return s3_error!(RequestTimeout, "{STALLED}");
    }
    if text.contains("Sha256Mismatch") {
        let message = "the body is not the one whose SHA-256 stands in x-amz-content-sha256".to_owned();
        return custom("XAmzContentSHA256Mismatch", StatusCode::BAD_REQUEST, message);
    }
    if text.contains("SignatureMismatch") {
        return s3_error!(SignatureDoesNotMatch, "the signature of a chunk of the body is wrong");
    }
    if text.contains("Incomplete") || text.contains("LengthMismatch") || text.contains("Underlying") {
        return s3_error!(
            IncompleteBody,
            "the body did not have the announced length, or the connection broke"
        );
    }
    s3_error!(InvalidRequest, "the body is not in the announced form: {text}")
}

/// A task of the store that was cancelled (the store is stopping) or panicked.
pub(crate) fn task(error: &tokio::task::JoinError) -> S3Error {
    if error.is_cancelled() {
        s3_error!(ServiceUnavailable, "the embedded store is stopping")
    } else {
        s3_error!(InternalError, "a task of the embedded store failed; this is a mistake in Cosmark")
    }
}

/// The errors that more space would heal.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
