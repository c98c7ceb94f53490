//! The S3 protocol, a subset (Amazon S3 API reference, 2006-03-01): path-style requests for buckets, objects,
//! listings, multipart uploads. Signatures are read for the access key id only.

mod bucket;
mod list;
mod multipart;
mod object;
mod xml;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::behaviour::Op;
use crate::http::answer::{Answer, Payload};
use crate::http::body::{Body, Refused};
use crate::http::head::{Head, Method};
use crate::http::text::{Query, xml as escape};
use crate::read::Call;
use crate::rules::Script;
use crate::store::{Fields, Store};

/// An S3 error.
#[derive(Debug, Clone)]
pub(crate) struct Error {
    status: u16,
    code: Cow<'static, str>,
    message: Cow<'static, str>,
}

const fn error(status: u16, code: &'static str, message: &'static str) -> Error {
    Error { status, code: Cow::Borrowed(code), message: Cow::Borrowed(message) }
}

const NO_SUCH_BUCKET: Error = error(404, "NoSuchBucket", "The specified bucket does not exist");
const NO_SUCH_KEY: Error = error(404, "NoSuchKey", "The specified key does not exist.");
const INVALID_RANGE: Error = error(416, "InvalidRange", "The requested range is not satisfiable");
const PRECONDITION_FAILED: Error =
    error(412, "PreconditionFailed", "At least one of the preconditions you specified did not hold");
const MALFORMED_XML: Error = error(
    400,
    "MalformedXML",
    "The XML you provided was not well-formed or did not validate against our published schema",
);
const NO_SPACE: Error = error(
    507,
    "InsufficientStorage",
    "The simulated store's memory is used up; raise store.max_total_bytes or use store.mode headers",
);
const TOO_LARGE: Error =
    error(400, "EntityTooLarge", "The object is larger than store.max_object_bytes allows");
const KEY_TOO_LONG: Error = error(400, "KeyTooLongError", "Your key is too long");
const INCOMPLETE_BODY: Error = error(
    400,
    "IncompleteBody",
    "You did not provide the number of bytes specified by the Content-Length or x-amz-decoded-content-length header",
);
const BAD_DIGEST: Error =
    error(400, "BadDigest", "The Content-MD5 you specified did not match what we received");
const NOT_IMPLEMENTED: Error =
    error(501, "NotImplemented", "The simulated store does not serve this operation or sub-resource");

fn invalid_argument(message: &'static str) -> Error {
    error(400, "InvalidArgument", message)
}

type Done = Result<(), Error>;

/// Executes a request.
pub(crate) fn handle(
    store: &mut Store,
    script: &mut Script,
    call: &Call<'_>,
    body: Body,
    answer: &mut Answer,
) {
    if let Err(error) = dispatch(store, script, call, body, answer) {
        fail(call, &error, answer);
    }
}

fn dispatch(
    store: &mut Store,
    script: &mut Script,
    call: &Call<'_>,
    body: Body,
    answer: &mut Answer,
) -> Done {
    request_id(call.id, answer);
    match body.refused {
        Some(Refused::TooLarge) => return Err(TOO_LARGE),
        Some(Refused::NoSpace) => return Err(NO_SPACE),
        None => {}
    }
    match call.route.op {
        Op::ListContainers => bucket::list_all(store, answer),
        Op::PutContainer => bucket::create(store, call, answer),
        Op::HeadContainer => bucket::exists(store, call),
        Op::DeleteContainer => bucket::delete(store, call, answer),
        Op::List => list::objects(store, script, call, answer),
        Op::Get | Op::Head => object::read(store, script, call, answer),
        Op::Put => object::put(store, call, body, answer),
        Op::Delete => object::delete(store, call, answer),
        Op::Copy => object::copy(store, call, answer),
        Op::MultiDelete => object::delete_many(store, call, &body, answer),
        Op::MultipartStart => multipart::start(store, call, answer),
        Op::MultipartPart => multipart::part(store, call, body, answer),
        Op::MultipartComplete => multipart::complete(store, call, &body, answer),
        Op::MultipartAbort => multipart::abort(store, call, answer),
        Op::MultipartList => multipart::list(store, call, answer),
        _ => other(store, call, answer),
    }
}

fn request_id(id: u64, answer: &mut Answer) {
    answer.headers.extend_from_slice(b"x-amz-request-id: ");
    let digits: [u8; 16] =
        std::array::from_fn(|place| b"0123456789ABCDEF"[(id >> (60 - 4 * place) & 15) as usize]);
    answer.headers.extend_from_slice(&digits);
    answer.headers.extend_from_slice(b"\r\n");
}

/// Sub-resources that clients ask for on their way.
fn other(store: &Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    if call.route.malformed {
        return Err(error(400, "InvalidURI", "Couldn't parse the specified URI."));
    }
    let get = call.head.method == Method::Get && call.route.object.is_empty();
    if !get || call.route.container.is_empty() {
        return Err(NOT_IMPLEMENTED);
    }
    if !store.is_null() && store.container(&call.route.account, &call.route.container).is_none() {
        return Err(NO_SUCH_BUCKET);
    }
    if call.route.query.has("location") {
        document(answer, "LocationConstraint", "");
        return Ok(());
    }
    if call.route.query.has("versioning") {
        document(answer, "VersioningConfiguration", "");
        return Ok(());
    }
    Err(NOT_IMPLEMENTED)
}

/// Makes a document of the S3 namespace the body of the answer.
fn document(answer: &mut Answer, root: &str, inner: &str) {
    answer.header("Content-Type", "application/xml");
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{inner}</{root}>"
    );
    answer.payload = Payload::Text(text.into_bytes());
}

fn error_document(answer: &mut Answer, call_id: u64, path: &str, code: &str, message: &str) {
    answer.header("Content-Type", "application/xml");
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message><Resource>{}</Resource>\
         <RequestId>{call_id:016X}</RequestId></Error>",
        escape(code),
        escape(message),
        escape(path),
    );
    answer.payload = Payload::Text(text.into_bytes());
}

/// Makes an error the answer; what was collected before is dropped.
fn fail(call: &Call<'_>, error: &Error, answer: &mut Answer) {
    answer.headers.clear();
    request_id(call.id, answer);
    answer.status = error.status;
    error_document(answer, call.id, call.route.path, &error.code, &error.message);
}

/// The usual code of a status, for errors of the script.
fn code_of(status: u16) -> &'static str {
    match status {
        301 | 307 | 308 => "TemporaryRedirect",
        400 => "BadRequest",
        401 | 403 => "AccessDenied",
        404 => "NoSuchKey",
        405 => "MethodNotAllowed",
        408 => "RequestTimeout",
        409 => "OperationAborted",
        412 => "PreconditionFailed",
        416 => "InvalidRange",
        429 => "TooManyRequests",
        501 => "NotImplemented",
        503 => "SlowDown",
        507 => "InsufficientStorage",
        _ => "InternalError",
    }
}

/// Makes an error of the script the answer.
pub(crate) fn scripted_error(id: u64, path: &str, status: u16, code: Option<&str>, answer: &mut Answer) {
    request_id(id, answer);
    answer.status = status;
    let code = code.unwrap_or(code_of(status));
    let message = if code == "SlowDown" {
        "Please reduce your request rate."
    } else {
        "Scripted by the simulated store."
    };
    error_document(answer, id, path, code, message);
}

/// Refuses access keys that are not known. Any signature passes.
pub(crate) fn check_key(head: &Head, query: Query<'_>, keys: &BTreeMap<String, String>) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    match access_key(head, query) {
        Some(key) if keys.contains_key(key.as_ref()) => Ok(()),
        Some(_) => Err(error(
            403,
            "InvalidAccessKeyId",
            "The AWS Access Key Id you provided does not exist in our records.",
        )),
        None => Err(error(403, "AccessDenied", "Access Denied")),
    }
}

/// Makes a refused key the answer.
pub(crate) fn refuse(call: &Call<'_>, error: &Error, answer: &mut Answer) {
    fail(call, error, answer);
}

/// The access key id of a signed request: Signature Version 4 or 2, in a header or in the query.
fn access_key<'a>(head: &'a Head, query: Query<'a>) -> Option<Cow<'a, str>> {
    if let Some(field) = head.get("authorization") {
        if let Some(rest) = field.strip_prefix("AWS4-HMAC-SHA256") {
            let credential = rest.split_once("Credential=")?.1;
            return Some(Cow::Borrowed(credential.split(['/', ',']).next().unwrap_or_default().trim()));
        }
        let rest = field.strip_prefix("AWS ")?;
        return Some(Cow::Borrowed(rest.split_once(':')?.0.trim()));
    }
    if let Some(credential) = query.get("X-Amz-Credential") {
        return Some(Cow::Owned(credential.split('/').next().unwrap_or_default().to_owned()));
    }
    query.get("AWSAccessKeyId")
}

/// Whether a body is aws-chunked.
pub(crate) fn is_aws_chunked(head: &Head) -> bool {
    head.get("x-amz-content-sha256").is_some_and(|value| value.starts_with("STREAMING-"))
        || head.get("content-encoding").is_some_and(|list| list.split(',').any(|c| c.trim() == "aws-chunked"))
}

/// Header fields that S3 gives back as they came.
const PLAIN: &[&str] =
    &["cache-control", "content-disposition", "content-encoding", "content-language", "expires"];

/// The fields to keep with an object. The aws-chunked coding is of the transfer, not of the object.
fn object_fields(head: &Head) -> Fields {
    let mut fields = crate::read::kept_fields(head, PLAIN, "x-amz-meta-");
    fields.retain_mut(|(name, value)| {
        if &**name != "content-encoding" {
            return true;
        }
        let codings: Vec<&str> = value.split(',').map(str::trim).filter(|c| *c != "aws-chunked").collect();
        *value = codings.join(", ").into();
        !value.is_empty()
    });
    fields
}

const CHECKSUMS: &[&str] = &[
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
];

/// The checksums that came with a body, in the head or in the trailers. They are not verified.
fn checksums(head: &Head, body: &Body) -> Fields {
    let trailers = body.trailers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    head.fields()
        .chain(trailers)
        .filter_map(|(name, value)| {
            let name = CHECKSUMS.iter().find(|known| known.eq_ignore_ascii_case(name))?;
            Some(((*name).into(), value.into()))
        })
        .collect()
}

/// Checks what the request says about its body.
fn check_body(store: &Store, head: &Head, body: &Body) -> Done {
    if let Some(stated) = head.get("x-amz-decoded-content-length")
        && stated.parse() != Ok(body.length)
    {
        return Err(INCOMPLETE_BODY);
    }
    if store.etag == crate::behaviour::EtagKind::Md5
        && let Some(stated) = head.get("content-md5")
        && stated != base64_md5(&body.data)
    {
        return Err(BAD_DIGEST);
    }
    Ok(())
}

/// MD5 in base64, as `Content-MD5` has it.
fn base64_md5(bytes: &[u8]) -> String {
    use md5::{Digest as _, Md5};
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Md5::digest(bytes);
    let mut out = String::with_capacity(24);
    for group in digest.chunks(3) {
        let bits = group
            .iter()
            .enumerate()
            .fold(0_u32, |bits, (place, byte)| bits | u32::from(*byte) << (16 - 8 * place));
        for digit in 0..4 {
            let at =
                if digit <= group.len() { DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] } else { b'=' };
            out.push(at as char);
        }
    }
    out
}

/// An ETag in its quotes.
fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}
