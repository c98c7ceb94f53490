//! S3 objects: read, write, delete, copy.

use std::rc::Rc;

use super::xml::walk;
use super::*;
use crate::behaviour::EtagKind;
use crate::http::text::{decode, iso_date};
use crate::read::{
    Found, content_of, etag_of, find, give, read_condition, source_condition, write_condition,
};
use crate::route::S3_ACCOUNT;
use crate::store::{Kind, MAX_NAME, Object, Place};

/// The place that a request names.
pub(super) fn place<'a>(call: &'a Call<'_>) -> Place<'a> {
    Place { account: S3_ACCOUNT, container: &call.route.container, object: &call.route.object }
}

pub(super) fn read(store: &Store, script: &mut Script, call: &Call<'_>, answer: &mut Answer) -> Done {
    let object = match find(store, script, call, answer) {
        Found::NoContainer => return Err(NO_SUCH_BUCKET),
        Found::NoObject => return Err(NO_SUCH_KEY),
        Found::Object(object) => object,
    };
    match read_condition(call.head, &object.etag) {
        Some(304) => answer.status = 304,
        Some(_) => return Err(PRECONDITION_FAILED),
        None => give(call.head, &object.etag, &object.content, answer).map_err(|()| INVALID_RANGE)?,
    }
    answer.headers.extend_from_slice(b"ETag: \"");
    answer.headers.extend_from_slice(object.etag.as_bytes());
    answer.headers.extend_from_slice(b"\"\r\n");
    answer.date("Last-Modified", object.modified_ms / 1000);
    answer.header("Content-Type", &object.content_type);
    for (name, value) in &object.fields {
        answer.header(name, value);
    }
    if let Kind::Multipart(parts) = object.kind
        && call.route.query.has("partNumber")
    {
        answer.number("x-amz-mp-parts-count", u64::from(parts));
    }
    let wants_checksum =
        call.head.get("x-amz-checksum-mode").is_some_and(|mode| mode.eq_ignore_ascii_case("enabled"));
    if wants_checksum && answer.status == 200 {
        for (name, value) in &object.checksums {
            answer.header(name, value);
        }
    }
    Ok(())
}

/// The content type of a request, or S3's default.
pub(super) fn content_type(head: &Head) -> Box<str> {
    head.get("content-type").filter(|value| !value.is_empty()).unwrap_or("binary/octet-stream").into()
}

/// Stores a version and notes it in the answer.
pub(super) fn keep(
    store: &mut Store,
    call: &Call<'_>,
    object: Object,
    answer: &mut Answer,
) -> Result<Rc<Object>, Error> {
    answer.version = object.version;
    let (name, object) = store.put(place(call), object, call.now_ns).ok_or(NO_SUCH_BUCKET)?;
    answer.object = Some(name);
    Ok(object)
}

pub(super) fn put(store: &mut Store, call: &Call<'_>, mut body: Body, answer: &mut Answer) -> Done {
    if store.is_null() {
        answer.header("ETag", "\"00000000000000000000000000000000\"");
        return Ok(());
    }
    let bucket = store.container(S3_ACCOUNT, &call.route.container).ok_or(NO_SUCH_BUCKET)?;
    answer.container = Some(bucket.name.clone());
    if call.route.object.len() > MAX_NAME {
        return Err(KEY_TOO_LONG);
    }
    let conditional = call.head.get("if-none-match").is_some() || call.head.get("if-match").is_some();
    if conditional && !write_condition(call.head, bucket.get(&call.route.object).1.as_deref()) {
        return Err(PRECONDITION_FAILED);
    }
    check_body(store, call.head, &body)?;
    let fields = object_fields(call.head);
    let checksums = checksums(call.head, &body);
    let reserved = store.reserve_object(&call.route.object, &fields).ok_or(NO_SPACE)?;
    let version = store.new_version();
    let etag = etag_of(store, version, &body);
    let object = Object {
        version,
        modified_ms: call.now_ms,
        etag,
        content_type: content_type(call.head),
        fields,
        checksums: if store.keeps_content() { checksums.clone() } else { Vec::new() },
        content: content_of(store, &mut body),
        kind: Kind::Plain,
        reserved: Some(reserved),
    };
    let object = keep(store, call, object, answer)?;
    answer.header("ETag", &quoted(&object.etag));
    for (name, value) in &checksums {
        answer.header(name, value);
    }
    Ok(())
}

pub(super) fn delete(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    if store.is_null() {
        return Ok(());
    }
    let bucket = store.container(S3_ACCOUNT, &call.route.container).ok_or(NO_SUCH_BUCKET)?;
    answer.container = Some(bucket.name.clone());
    // S3 does not tell whether there was anything to delete; the log does, by the version.
    if let Some((name, object)) = store.delete(place(call), call.now_ns) {
        answer.object = Some(name);
        answer.version = object.version;
    }
    Ok(())
}

/// The bucket and key of an `x-amz-copy-source` field.
pub(super) fn copy_source(head: &Head) -> Option<(String, String)> {
    let field = head.get("x-amz-copy-source")?;
    let path = field.split_once("?versionId=").map_or(field, |(path, _)| path);
    let path = decode(path)?;
    let (bucket, key) = path.strip_prefix('/').unwrap_or(&path).split_once('/')?;
    Some((bucket.to_owned(), key.to_owned()))
}

/// The object that a copy reads.
pub(super) fn source_object(store: &Store, head: &Head) -> Result<Rc<Object>, Error> {
    if store.is_null() {
        return Ok(store.null_object());
    }
    let (bucket, key) = copy_source(head).ok_or(invalid_argument(
        "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
    ))?;
    let bucket = store.container(S3_ACCOUNT, &bucket).ok_or(NO_SUCH_BUCKET)?;
    bucket.get(&key).1.ok_or(NO_SUCH_KEY)
}

pub(super) fn copy(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    let source = source_object(store, call.head)?;
    if !source_condition(call.head, &source.etag) {
        return Err(PRECONDITION_FAILED);
    }
    let replace =
        call.head.get("x-amz-metadata-directive").is_some_and(|d| d.eq_ignore_ascii_case("replace"));
    let mut etag = source.etag.clone();
    if !store.is_null() {
        let bucket = store.container(S3_ACCOUNT, &call.route.container).ok_or(NO_SUCH_BUCKET)?;
        answer.container = Some(bucket.name.clone());
        if call.route.object.len() > MAX_NAME {
            return Err(KEY_TOO_LONG);
        }
        let fields = if replace { object_fields(call.head) } else { source.fields.clone() };
        let reserved = store.reserve_object(&call.route.object, &fields).ok_or(NO_SPACE)?;
        let version = store.new_version();
        if store.etag == EtagKind::Cheap {
            etag = store.cheap_etag(version);
        }
        let object = Object {
            version,
            modified_ms: call.now_ms,
            etag: etag.clone(),
            content_type: if replace { content_type(call.head) } else { source.content_type.clone() },
            fields,
            checksums: source.checksums.clone(),
            content: source.content.clone(),
            kind: Kind::Plain,
            reserved: Some(reserved),
        };
        keep(store, call, object, answer)?;
    }
    copied(answer, "CopyObjectResult", &etag, call.now_ms);
    Ok(())
}

/// The document that a copy answers with.
pub(super) fn copied(answer: &mut Answer, root: &str, etag: &str, modified_ms: u64) {
    let inner =
        format!("<LastModified>{}</LastModified><ETag>&quot;{etag}&quot;</ETag>", iso_date(modified_ms));
    document(answer, root, &inner);
}

/// Most keys of one DeleteObjects request.
const MAX_DELETES: usize = 1000;

pub(super) fn delete_many(store: &mut Store, call: &Call<'_>, body: &Body, answer: &mut Answer) -> Done {
    let (mut keys, mut quiet) = (Vec::new(), false);
    walk(&body.data, |item| match item.name {
        "Key" => keys.push(item.text.to_owned()),
        "Quiet" => quiet = item.text == "true",
        _ => {}
    })
    .map_err(|()| MALFORMED_XML)?;
    if keys.is_empty() || keys.len() > MAX_DELETES {
        return Err(MALFORMED_XML);
    }
    if !store.is_null() && store.container(S3_ACCOUNT, &call.route.container).is_none() {
        return Err(NO_SUCH_BUCKET);
    }
    let mut inner = String::new();
    for key in &keys {
        store.delete(Place { object: key, ..place(call) }, call.now_ns);
        if !quiet {
            inner.push_str(&format!("<Deleted><Key>{}</Key></Deleted>", escape(key)));
        }
    }
    document(answer, "DeleteResult", &inner);
    Ok(())
}
