//! S3 buckets: list, create, ask, delete.

use super::{Done, NO_SPACE, NO_SUCH_BUCKET, document, error};
use crate::http::answer::Answer;
use crate::http::text::{iso_date, xml as escape};
use crate::read::Call;
use crate::route::S3_ACCOUNT;
use crate::store::Store;

pub(super) fn list_all(store: &Store, answer: &mut Answer) -> Done {
    let mut inner = "<Owner><ID>simstore</ID><DisplayName>simstore</DisplayName></Owner><Buckets>".to_owned();
    if let Some(account) = store.account(S3_ACCOUNT) {
        for bucket in account.containers.values() {
            inner.push_str(&format!(
                "<Bucket><Name>{}</Name><CreationDate>{}</CreationDate></Bucket>",
                escape(&bucket.name),
                iso_date(bucket.created_ms)
            ));
        }
    }
    inner.push_str("</Buckets>");
    document(answer, "ListAllMyBucketsResult", &inner);
    Ok(())
}

/// The rules for bucket names that clients could trip over; the list of Amazon is longer.
fn valid_name(name: &str) -> bool {
    (3..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
        && !name.starts_with(['-', '.'])
        && !name.ends_with(['-', '.'])
}

pub(super) fn create(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    let name = &*call.route.container;
    if store.is_null() {
        return Ok(());
    }
    if !valid_name(name) {
        return Err(error(400, "InvalidBucketName", "The specified bucket is not valid."));
    }
    if store.container(S3_ACCOUNT, name).is_some() {
        return Err(error(
            409,
            "BucketAlreadyOwnedByYou",
            "Your previous request to create the named bucket succeeded and you already own it.",
        ));
    }
    if !store.create_container(S3_ACCOUNT, name, call.now_ms, Vec::new(), None) {
        return Err(NO_SPACE);
    }
    answer.header("Location", &format!("/{name}"));
    Ok(())
}

pub(super) fn exists(store: &Store, call: &Call<'_>) -> Done {
    if store.is_null() || store.container(S3_ACCOUNT, &call.route.container).is_some() {
        return Ok(());
    }
    Err(NO_SUCH_BUCKET)
}

pub(super) fn delete(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    if store.is_null() {
        return Ok(());
    }
    let bucket = store.container(S3_ACCOUNT, &call.route.container).ok_or(NO_SUCH_BUCKET)?;
    if bucket.count > 0 {
        return Err(error(409, "BucketNotEmpty", "The bucket you tried to delete is not empty"));
    }
    store.remove_container(S3_ACCOUNT, &call.route.container);
    Ok(())
}
