//! S3 multipart uploads. The least size of a part (5 MiB at Amazon) is not enforced.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::collections::BTreeMap;

use md5::{Digest as _, Md5};

use super::object::{content_type, copied, keep, source_object};
use super::xml::walk;
use super::*;
use crate::behaviour::EtagKind;
use crate::content::Content;
use crate::http::text::iso_date;
use crate::read::{content_of, etag_of, write_condition};
use crate::route::S3_ACCOUNT;
use crate::store::{Container, Kind, MAX_NAME, Object, Upload, UploadPart};

const NO_SUCH_UPLOAD: Error = error(
    404,
    "NoSuchUpload",
    "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
);
const INVALID_PART: Error = error(
    400,
    "InvalidPart",
    "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified \
     entity tag may not match the part's entity tag.",
);

/// Most parts of an upload.
const MAX_PARTS: u32 = 10_000;

fn bucket<'a>(
    store: &'a mut Store,
    call: &Call<'_>,
    answer: &mut Answer,
) -> Result<&'a mut Container, Error> {
    let bucket = store.container_mut(S3_ACCOUNT, &call.route.container).ok_or(NO_SUCH_BUCKET)?;
    answer.container = Some(bucket.name.clone());
    Ok(bucket)
}

fn upload<'a>(bucket: &'a mut Container, call: &Call<'_>) -> Result<&'a mut Upload, Error> {
    let id = call.route.query.get("uploadId").unwrap_or_default();
    bucket.uploads.get_mut(&*id).filter(|upload| upload.key == call.route.object).ok_or(NO_SUCH_UPLOAD)
}

pub(super) fn start(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    let key = &*call.route.object;
    let mut id = "0".to_owned();
    if !store.is_null() {
        if key.len() > MAX_NAME {
            return Err(KEY_TOO_LONG);
        }
        let fields = object_fields(call.head);
        let reserved = store.reserve_object(key, &fields).ok_or(NO_SPACE)?;
        let version = store.new_version();
        id = format!("{}{version:x}", store.cheap_etag(version));
        let upload = Upload {
            key: key.to_owned(),
            started_ms: call.now_ms,
            content_type: content_type(call.head),
            fields,
            parts: BTreeMap::new(),
            reserved: Some(reserved),
        };
        bucket(store, call, answer)?.uploads.insert(id.clone(), upload);
    }
    let inner = format!(
        "<Bucket>{}</Bucket><Key>{}</Key><UploadId>{id}</UploadId>",
        escape(&call.route.container),
        escape(key)
    );
    document(answer, "InitiateMultipartUploadResult", &inner);
    Ok(())
}

pub(super) fn part(store: &mut Store, call: &Call<'_>, mut body: Body, answer: &mut Answer) -> Done {
    let number = call
        .route
        .query
        .number("partNumber")
        .ok()
        .flatten()
        .filter(|n| (1..=u64::from(MAX_PARTS)).contains(n));
    let number = number
        .ok_or(invalid_argument("Part number must be an integer between 1 and 10000, inclusive"))?
        as u32;
    let is_copy = call.head.get("x-amz-copy-source").is_some();
    if store.is_null() {
        let etag = "00000000000000000000000000000000";
        if is_copy {
            copied(answer, "CopyPartResult", etag, call.now_ms)
        } else {
            answer.header("ETag", &quoted(etag))
        }
        return Ok(());
    }
    upload(bucket(store, call, answer)?, call)?;
    check_body(store, call.head, &body)?;
    let version = store.new_version();
    let checksums = checksums(call.head, &body);
    let (content, etag) = if is_copy {
        let source = source_object(store, call.head)?;
        let slice = match call.head.get("x-amz-copy-source-range") {
            None => source.content.whole(),
            Some(field) => {
                let (from, length) = source_range(field, source.len()).ok_or(INVALID_RANGE)?;
                source.content.slice(from, length)
            }
        };
        let etag = match store.etag {
            EtagKind::Cheap => store.cheap_etag(version),
            EtagKind::Md5 => crate::read::md5_hex(&slice.to_vec()).into(),
        };
        (Content::joined([slice]), etag)
    } else {
        let etag = etag_of(store, version, &body);
        (content_of(store, &mut body), etag)
    };
    if is_copy {
        copied(answer, "CopyPartResult", &etag, call.now_ms);
    } else {
        answer.header("ETag", &quoted(&etag));
        for (name, value) in &checksums {
            answer.header(name, value);
        }
    }
    let part = UploadPart { etag, modified_ms: call.now_ms, content };
    upload(bucket(store, call, answer)?, call)?.parts.insert(number, part);
    Ok(())
}

/// First byte and length of a part that is copied. Unlike a range that is read it names both ends, and is not cut at
/// that of its source.
fn source_range(field: &str, length: u64) -> Option<(u64, u64)> {
    let (first, last) = field.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    (first <= last && last < length).then(|| (first, last - first + 1))
}

/// Part numbers and ETags of a CompleteMultipartUpload document.
fn asked_parts(text: &[u8]) -> Result<Vec<(u32, String)>, Error> {
    let (mut asked, mut number, mut etag) = (Vec::new(), None, None);
    walk(text, |item| match item.name {
        "PartNumber" => number = item.text.parse().ok(),
        "ETag" => etag = Some(item.text.trim_matches('"').to_owned()),
        "Part" => asked.push((number.take(), etag.take())),
        _ => {}
    })
    .map_err(|()| MALFORMED_XML)?;
    if asked.is_empty() {
        return Err(MALFORMED_XML);
    }
    asked.into_iter().map(|(number, etag)| number.zip(etag).ok_or(MALFORMED_XML)).collect()
}

pub(super) fn complete(store: &mut Store, call: &Call<'_>, body: &Body, answer: &mut Answer) -> Done {
    let asked = asked_parts(&body.data)?;
    let mut etag: Box<str> = format!("00000000000000000000000000000000-{}", asked.len()).into();
    if !store.is_null() {
        let bucket = bucket(store, call, answer)?;
        let there = bucket.get(&call.route.object).1;
        let upload = upload(bucket, call)?;
        if !asked.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(error(400, "InvalidPartOrder", "The list of parts was not in ascending order."));
        }
        let chosen: Option<Vec<&UploadPart>> = asked
            .iter()
            .map(|(number, etag)| upload.parts.get(number).filter(|part| *part.etag == **etag))
            .collect();
        let chosen = chosen.ok_or(INVALID_PART)?;
        if !write_condition(call.head, there.as_deref()) {
            return Err(PRECONDITION_FAILED);
        }
        let content = Content::joined(chosen.iter().map(|part| part.content.whole()));
        let of_parts: Vec<u8> = chosen
            .iter()
            .flat_map(|part| HEXLOWER_PERMISSIVE.decode(part.etag.as_bytes()).unwrap_or_default())
            .collect();
        let id = call.route.query.get("uploadId").unwrap_or_default();
        let Some(upload) = bucket.uploads.remove(&*id) else { return Err(NO_SUCH_UPLOAD) };
        let version = store.new_version();
        etag = match store.etag {
            EtagKind::Cheap => format!("{}-{}", store.cheap_etag(version), asked.len()).into(),
            EtagKind::Md5 => {
                format!("{}-{}", HEXLOWER.encode(Md5::digest(&of_parts).as_ref()), asked.len()).into()
            }
        };
        let object = Object {
            version,
            modified_ms: call.now_ms,
            etag: etag.clone(),
            content_type: upload.content_type,
            fields: upload.fields,
            checksums: Vec::new(),
            content,
            kind: Kind::Multipart(asked.len() as u32),
            reserved: upload.reserved,
        };
        keep(store, call, object, answer)?;
    }
    let inner = format!(
        "<Location>{path}</Location><Bucket>{}</Bucket><Key>{}</Key><ETag>&quot;{etag}&quot;</ETag>",
        escape(&call.route.container),
        escape(&call.route.object),
        path = escape(call.route.path),
    );
    document(answer, "CompleteMultipartUploadResult", &inner);
    Ok(())
}

pub(super) fn abort(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    if store.is_null() {
        return Ok(());
    }
    let bucket = bucket(store, call, answer)?;
    upload(bucket, call)?;
    let id = call.route.query.get("uploadId").unwrap_or_default();
    bucket.uploads.remove(&*id);
    Ok(())
}

/// Lists the parts of an upload, or the uploads of a bucket.
pub(super) fn list(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    let of_bucket = call.route.object.is_empty();
    let root = if of_bucket { "ListMultipartUploadsResult" } else { "ListPartsResult" };
    if store.is_null() {
        document(answer, root, "<IsTruncated>false</IsTruncated>");
        return Ok(());
    }
    let bucket = bucket(store, call, answer)?;
    let mut inner = format!("<Bucket>{}</Bucket>", escape(&call.route.container));
    if of_bucket {
        uploads(bucket, call, &mut inner)?;
    } else {
        parts(upload(bucket, call)?, call, &mut inner)?;
    }
    document(answer, root, &inner);
    Ok(())
}

fn uploads(bucket: &Container, call: &Call<'_>, inner: &mut String) -> Done {
    let query = call.route.query;
    let max = query.number("max-uploads").map_err(|()| invalid_argument("max-uploads is not a number"))?;
    let max = max.unwrap_or(1000).clamp(1, 1000) as usize;
    let text = |name| query.get(name).unwrap_or_default();
    let (prefix, key_marker, id_marker) = (text("prefix"), text("key-marker"), text("upload-id-marker"));
    let behind = |key: &str, id: &str| match key.cmp(&key_marker) {
        std::cmp::Ordering::Equal => !id_marker.is_empty() && id > &*id_marker,
        order => order.is_gt(),
    };
    let mut found: Vec<(&str, &str, u64)> = bucket
        .uploads
        .iter()
        .filter(|(id, upload)| upload.key.starts_with(&*prefix) && behind(&upload.key, id))
        .map(|(id, upload)| (upload.key.as_str(), id.as_str(), upload.started_ms))
        .collect();
    found.sort_unstable();
    let truncated = found.len() > max;
    found.truncate(max);
    inner.push_str(&format!("<MaxUploads>{max}</MaxUploads><IsTruncated>{truncated}</IsTruncated>"));
    if let Some((key, id, _)) = found.last().filter(|_| truncated) {
        inner.push_str(&format!(
            "<NextKeyMarker>{}</NextKeyMarker><NextUploadIdMarker>{id}</NextUploadIdMarker>",
            escape(key)
        ));
    }
    for (key, id, started_ms) in found {
        inner.push_str(&format!(
            "<Upload><Key>{}</Key><UploadId>{id}</UploadId><StorageClass>STANDARD</StorageClass><Initiated>{}</Initiated></Upload>",
            escape(key),
            iso_date(started_ms)
        ));
    }
    Ok(())
}

fn parts(upload: &Upload, call: &Call<'_>, inner: &mut String) -> Done {
    let query = call.route.query;
    let max = query
        .number("max-parts")
        .map_err(|()| invalid_argument("max-parts is not a number"))?
        .unwrap_or(1000);
    let max = max.clamp(1, 1000) as usize;
    let after = query
        .number("part-number-marker")
        .map_err(|()| invalid_argument("part-number-marker is not a number"))?;
    let after = after.unwrap_or(0).min(u64::from(MAX_PARTS)) as u32;
    let parts = &upload.parts;
    let page: Vec<_> = parts.range(after + 1..).take(max).collect();
    let truncated = parts.range(after + 1..).nth(max).is_some();
    let id = query.get("uploadId").unwrap_or_default();
    inner.push_str(&format!(
        "<Key>{}</Key><UploadId>{}</UploadId><PartNumberMarker>{after}</PartNumberMarker>\
         <NextPartNumberMarker>{}</NextPartNumberMarker><MaxParts>{max}</MaxParts><IsTruncated>{truncated}</IsTruncated>",
        escape(&call.route.object),
        escape(&id),
        page.last().map_or(after, |(number, _)| **number),
    ));
    for (number, part) in page {
        inner.push_str(&format!(
            "<Part><PartNumber>{number}</PartNumber><LastModified>{}</LastModified><ETag>&quot;{}&quot;</ETag><Size>{}</Size></Part>",
            iso_date(part.modified_ms),
            part.etag,
            part.content.len()
        ));
    }
    Ok(())
}
