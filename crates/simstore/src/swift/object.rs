//! Swift objects: read, write, change metadata, delete, copy.

use std::rc::Rc;

use super::large::{self, Whole};
use super::{Done, NO_SPACE, Refusal, lacks_length, place, refusal, timestamp};
use crate::behaviour::EtagKind;
use crate::content::Content;
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::head::{Head, Method};
use crate::http::text::{decode, encode};
use crate::read::{
    Call, Found, content_of, etag_of, find, give, kept_fields, read_condition, write_condition,
};
use crate::rules::Script;
use crate::store::{Fields, Kind, MAX_NAME, Object, Place, Store};

const META: &str = "x-object-meta-";
/// When the object goes, s since 1970.
const DELETE_AT: &str = "x-delete-at";
const PLAIN: &[&str] =
    &["content-encoding", "content-disposition", "content-language", "cache-control", "expires"];

pub(super) fn read(store: &Store, script: &mut Script, call: &Call<'_>, answer: &mut Answer) -> Done {
    let object = match find(store, script, call, answer) {
        Found::Object(object) if !is_over(&object, call) => object,
        Found::NoContainer | Found::NoObject | Found::Object(_) => return Err(404.into()),
    };
    let whole = large::whole(store, call, &object)?;
    let etag = whole.etag.as_deref().unwrap_or(&object.etag);
    match read_condition(call.head, etag) {
        Some(304) => answer.status = 304,
        Some(status) => return Err(status.into()),
        None => give(call.head, etag, &whole.content, answer).map_err(|()| Refusal::from(416))?,
    }
    if whole.etag.is_some() {
        answer.header("Etag", &format!("\"{etag}\""));
    } else {
        answer.header("Etag", etag);
    }
    answer.date("Last-Modified", object.modified_ms / 1000);
    answer.header("X-Timestamp", &timestamp(object.modified_ms));
    answer.header(
        "Content-Type",
        if whole.manifest { "application/json; charset=utf-8" } else { &object.content_type },
    );
    match &object.kind {
        Kind::Static(_) => answer.header("X-Static-Large-Object", "True"),
        Kind::Dynamic { container, prefix } => {
            answer.header("X-Object-Manifest", &encode(&format!("{container}/{prefix}")));
        }
        Kind::Plain | Kind::Multipart(_) => {}
    }
    for (name, value) in &object.fields {
        answer.header(name, value);
    }
    Ok(())
}

fn content_type(head: &Head) -> Box<str> {
    head.get("content-type").filter(|value| !value.is_empty()).unwrap_or("application/octet-stream").into()
}

/// Whether the time of an object is over. Listings show it until somebody deletes it, as Swift's do until its expirer
/// comes.
fn is_over(object: &Object, call: &Call<'_>) -> bool {
    let at = object.fields.iter().find(|(name, _)| &**name == DELETE_AT);
    at.and_then(|(_, at)| at.parse::<u64>().ok()).is_some_and(|at| at <= call.now_ms / 1000)
}

/// The header fields to keep of a request: metadata, and when the object goes.
fn object_fields(call: &Call<'_>) -> Result<Fields, Refusal> {
    let mut fields = kept_fields(call.head, PLAIN, META);
    let now_s = call.now_ms / 1000;
    let at = match (call.head.get("x-delete-after"), call.head.get(DELETE_AT)) {
        (Some(after), _) => after.trim().parse::<u64>().ok().map(|after| now_s.saturating_add(after)),
        (None, Some(at)) => at.trim().parse::<u64>().ok(),
        (None, None) => return Ok(fields),
    };
    match at {
        Some(at) if at > now_s => fields.push((DELETE_AT.into(), at.to_string().into())),
        Some(_) => return Err(refusal(400, "X-Delete-At in past")),
        None => return Err(refusal(400, "Non-integer X-Delete-At or X-Delete-After")),
    }
    Ok(fields)
}

/// Stores a version; the container must exist.
fn keep(
    store: &mut Store,
    call: &Call<'_>,
    place: Place<'_>,
    object: Object,
    answer: &mut Answer,
) -> Result<Rc<Object>, Refusal> {
    answer.version = object.version;
    let (name, object) = store.put(place, object, call.now_ns).ok_or(404)?;
    answer.object = Some(name);
    Ok(object)
}

pub(super) fn put(store: &mut Store, call: &Call<'_>, mut body: Body, answer: &mut Answer) -> Done {
    answer.status = 201;
    if lacks_length(call.head) {
        return Err(411.into());
    }
    if store.is_null() {
        answer.header("Etag", "00000000000000000000000000000000");
        return Ok(());
    }
    let container = store.container(&call.route.account, &call.route.container).ok_or(404)?;
    answer.container = Some(container.name.clone());
    if call.route.object.len() > MAX_NAME {
        return Err(refusal(
            400,
            format!("Object name length of {} longer than {MAX_NAME}", call.route.object.len()),
        ));
    }
    let there = container.get(&call.route.object).1.filter(|object| !is_over(object, call));
    if !write_condition(call.head, there.as_deref()) {
        return Err(412.into());
    }
    let (kind, slo_etag) = large::kind_of_put(store, call, &body)?;
    let fields = object_fields(call)?;
    let reserved = store.reserve_object(&call.route.object, &fields).ok_or_else(|| refusal(507, NO_SPACE))?;
    let version = store.new_version();
    let etag = match slo_etag {
        Some(etag) => etag,
        None => {
            let etag = etag_of(store, version, &body);
            let stated = call.head.get("etag").map(|stated| stated.trim_matches('"'));
            if store.etag == EtagKind::Md5 && stated.is_some_and(|stated| !stated.eq_ignore_ascii_case(&etag))
            {
                return Err(422.into());
            }
            etag
        }
    };
    let object = Object {
        version,
        modified_ms: call.now_ms,
        etag,
        content_type: content_type(call.head),
        fields,
        checksums: Vec::new(),
        // A manifest is kept even where contents are not.
        content: match kind {
            Kind::Static(_) => Content::kept(std::mem::take(&mut body.data), body.reserved.take()),
            _ => content_of(store, &mut body),
        },
        kind,
        reserved: Some(reserved),
    };
    let object = keep(store, call, place(call), object, answer)?;
    match object.kind {
        Kind::Static(_) => answer.header("Etag", &format!("\"{}\"", object.etag)),
        _ => answer.header("Etag", &object.etag),
    }
    answer.date("Last-Modified", object.modified_ms / 1000);
    answer.header("Content-Type", "text/html; charset=UTF-8");
    Ok(())
}

/// A new version with the old content and other metadata.
fn remade(
    store: &mut Store,
    name: &str,
    old: &Object,
    call: &Call<'_>,
    fields: Fields,
) -> Result<Object, Refusal> {
    let reserved = store.reserve_object(name, &fields).ok_or_else(|| refusal(507, NO_SPACE))?;
    let asked_type = call.head.get("content-type").filter(|_| call.head.method == Method::Post);
    Ok(Object {
        version: store.new_version(),
        modified_ms: call.now_ms,
        etag: old.etag.clone(),
        content_type: asked_type.map_or_else(|| old.content_type.clone(), Into::into),
        fields,
        checksums: Vec::new(),
        content: old.content.clone(),
        kind: old.kind.clone(),
        reserved: Some(reserved),
    })
}

pub(super) fn post(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 202;
    if store.is_null() {
        return Ok(());
    }
    let container = store.container(&call.route.account, &call.route.container).ok_or(404)?;
    answer.container = Some(container.name.clone());
    let old = container.get(&call.route.object).1.filter(|object| !is_over(object, call)).ok_or(404)?;
    // A POST replaces all metadata of an object, unlike that of a container.
    let fields = object_fields(call)?;
    let object = remade(store, &call.route.object, &old, call, fields)?;
    keep(store, call, place(call), object, answer)?;
    Ok(())
}

pub(super) fn delete(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    if store.is_null() {
        return Ok(());
    }
    let container = store.container(&call.route.account, &call.route.container).ok_or(404)?;
    answer.container = Some(container.name.clone());
    if call.route.query.get("multipart-manifest").as_deref() == Some("delete")
        && let Some(object) = container.get(&call.route.object).1
        && let Kind::Static(segments) = &object.kind
    {
        return large::delete_all(store, call, segments.clone(), answer);
    }
    let (name, object) = store.delete(place(call), call.now_ns).ok_or(404)?;
    answer.object = Some(name);
    answer.version = object.version;
    if is_over(&object, call) { Err(404.into()) } else { Ok(()) }
}

/// A `container/object` pair of a header field, with or without a slash before it.
fn pair(field: &str) -> Option<(String, String)> {
    let path = decode(field)?;
    let (container, object) = path.strip_prefix('/').unwrap_or(&path).split_once('/')?;
    (!container.is_empty() && !object.is_empty()).then(|| (container.to_owned(), object.to_owned()))
}

/// `COPY` with `Destination`, or `PUT` with `X-Copy-From`.
pub(super) fn copy(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 201;
    if store.is_null() {
        return Ok(());
    }
    let here = (call.route.container.to_string(), call.route.object.to_string());
    let by_copy = call.head.method == Method::Copy;
    let field = if by_copy { "destination" } else { "x-copy-from" };
    let there = call.head.get(field).and_then(pair);
    let there = there.ok_or_else(|| {
        refusal(412, format!("{field} header must be of the form <container name>/<object name>"))
    })?;
    let (from, to) = if by_copy { (here, there) } else { (there, here) };
    let account = &*call.route.account;
    let source = store.container(account, &from.0).ok_or(404)?.get(&from.1).1;
    let source = source.filter(|object| !is_over(object, call)).ok_or(404)?;
    let target = store.container(account, &to.0).ok_or(404)?;
    answer.container = Some(target.name.clone());
    if to.1.len() > MAX_NAME {
        return Err(refusal(400, format!("Object name length of {} longer than {MAX_NAME}", to.1.len())));
    }
    let fresh = call.head.get("x-fresh-metadata").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let mut fields = if fresh { Vec::new() } else { source.fields.clone() };
    for field in object_fields(call)? {
        fields.retain(|(name, _)| *name != field.0);
        fields.push(field);
    }
    let Whole { content, manifest, .. } = large::whole(store, call, &source)?;
    let mut object = remade(store, &to.1, &source, call, fields)?;
    if !manifest && !matches!(source.kind, Kind::Plain) {
        // A copy of a large object is one object with all of its content.
        (object.kind, object.content) = (Kind::Plain, content);
        object.etag = store.cheap_etag(object.version);
    }
    let place = Place { account, container: &to.0, object: &to.1 };
    let object = keep(store, call, place, object, answer)?;
    answer.header("Etag", &object.etag);
    answer.header("X-Copied-From", &encode(&format!("{}/{}", from.0, from.1)));
    answer.date("X-Copied-From-Last-Modified", source.modified_ms / 1000);
    answer.date("Last-Modified", object.modified_ms / 1000);
    Ok(())
}
