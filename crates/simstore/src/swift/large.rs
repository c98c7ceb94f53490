//! Swift large objects: dynamic (a prefix) and static (a manifest in JSON).

use std::rc::Rc;

use serde::Deserialize;

use super::{Done, Refusal, place, refusal};
use crate::behaviour::Op;
use crate::content::Content;
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::text::{Query, decode, range};
use crate::read::{Call, md5_hex};
use crate::store::{Kind, Listing, Object, Place, Segment, Store};

/// Most segments of a static large object.
pub(super) const MAX_SEGMENTS: usize = 1000;
/// Most segments of a dynamic large object that are put together.
const MAX_DYNAMIC: usize = 100_000;

/// Whether a request carries a manifest, which must be kept whatever the store keeps.
pub(crate) fn is_manifest(op: Op, query: Query<'_>) -> bool {
    op == Op::Put && query.get("multipart-manifest").as_deref() == Some("put")
}

/// What a reader of an object gets.
pub(super) struct Whole {
    pub(super) content: Content,
    /// ETag of a large object; others have their own.
    pub(super) etag: Option<Box<str>>,
    /// This is the manifest itself.
    pub(super) manifest: bool,
}

/// Puts a large object together.
pub(super) fn whole(store: &Store, call: &Call<'_>, object: &Object) -> Result<Whole, Refusal> {
    let asks_manifest = call.route.query.get("multipart-manifest").as_deref() == Some("get");
    match &object.kind {
        Kind::Plain | Kind::Multipart(_) => {
            Ok(Whole { content: object.content.clone(), etag: None, manifest: false })
        }
        _ if asks_manifest => Ok(Whole { content: object.content.clone(), etag: None, manifest: true }),
        Kind::Dynamic { container, prefix } => Ok(dynamic(store, call, container, prefix)),
        Kind::Static(segments) => {
            let mut parts = Vec::with_capacity(segments.len());
            for segment in segments.iter() {
                let there = store
                    .container(&call.route.account, &segment.container)
                    .and_then(|container| container.get(&segment.object).1)
                    .filter(|object| object.etag == segment.etag && object.len() == segment.bytes);
                // Swift cannot read on when a segment is gone or changed.
                let there = there.ok_or(409)?;
                let (from, length) = segment.range.unwrap_or((0, segment.bytes));
                parts.push(there.content.slice(from, length));
            }
            Ok(Whole { content: Content::joined(parts), etag: Some(object.etag.clone()), manifest: false })
        }
    }
}

fn dynamic(store: &Store, call: &Call<'_>, container: &str, prefix: &str) -> Whole {
    let listing = Listing { prefix, limit: MAX_DYNAMIC, now_ns: call.now_ns, ..Listing::default() };
    let rows = store.container(&call.route.account, container).map_or(Vec::new(), |c| c.list(&listing).rows);
    let objects: Vec<Rc<Object>> = rows
        .into_iter()
        .filter_map(|row| match row {
            crate::store::Row::Object(_, object) => Some(object),
            crate::store::Row::Prefix(_) => None,
        })
        .collect();
    let etags: String = objects.iter().map(|object| &*object.etag).collect();
    Whole {
        content: Content::joined(objects.iter().map(|object| object.content.whole())),
        etag: Some(md5_hex(etags.as_bytes()).into()),
        manifest: false,
    }
}

/// What kind of object a PUT makes, and the ETag if it is a static large object.
pub(super) fn kind_of_put(
    store: &Store,
    call: &Call<'_>,
    body: &Body,
) -> Result<(Kind, Option<Box<str>>), Refusal> {
    if is_manifest(call.route.op, call.route.query) {
        let segments = read_manifest(store, call, &body.data)?;
        let etags: String = segments.iter().map(|segment| &*segment.etag).collect();
        return Ok((Kind::Static(segments.into()), Some(md5_hex(etags.as_bytes()).into())));
    }
    let Some(field) = call.head.get("x-object-manifest") else { return Ok((Kind::Plain, None)) };
    let path = decode(field).unwrap_or_default();
    match path.trim_start_matches('/').split_once('/') {
        Some((container, prefix)) if !container.is_empty() && !prefix.is_empty() => {
            Ok((Kind::Dynamic { container: container.into(), prefix: prefix.into() }, None))
        }
        _ => Err(refusal(400, "X-Object-Manifest must be in the format container/prefix")),
    }
}

#[derive(Deserialize)]
struct ManifestRow {
    path: String,
    etag: Option<String>,
    size_bytes: Option<u64>,
    range: Option<String>,
}

fn read_manifest(store: &Store, call: &Call<'_>, text: &[u8]) -> Result<Vec<Segment>, Refusal> {
    let rows: Vec<ManifestRow> = serde_json::from_slice(text)
        .map_err(|error| refusal(400, format!("Manifest must be valid JSON: {error}")))?;
    if rows.is_empty() || rows.len() > MAX_SEGMENTS {
        return Err(refusal(
            400,
            format!("A manifest has 1 to {MAX_SEGMENTS} segments, this one has {}", rows.len()),
        ));
    }
    let mut errors = Vec::new();
    let segments: Vec<Segment> = rows
        .iter()
        .filter_map(|row| match read_segment(store, call, row) {
            Ok(segment) => Some(segment),
            Err(error) => {
                errors.push(format!("{}, {error}", row.path));
                None
            }
        })
        .collect();
    if errors.is_empty() { Ok(segments) } else { Err(refusal(400, format!("Errors: {}", errors.join("; ")))) }
}

fn read_segment(store: &Store, call: &Call<'_>, row: &ManifestRow) -> Result<Segment, &'static str> {
    let path = row.path.strip_prefix('/').unwrap_or(&row.path);
    let (container, object) = path.split_once('/').ok_or("Invalid path")?;
    let there = store
        .container(&call.route.account, container)
        .and_then(|c| c.get(object).1)
        .ok_or("404 Not Found")?;
    if !matches!(there.kind, Kind::Plain) {
        return Err("Segments that are large objects themselves are not served");
    }
    if row.etag.as_ref().is_some_and(|etag| *etag != *there.etag) {
        return Err("Etag Mismatch");
    }
    if row.size_bytes.is_some_and(|bytes| bytes != there.len()) {
        return Err("Size Mismatch");
    }
    let range = match &row.range {
        None => None,
        Some(text) => {
            Some(range(&format!("bytes={text}"), there.len()).ok().flatten().ok_or("Invalid Range")?)
        }
    };
    Ok(Segment {
        container: container.into(),
        object: object.into(),
        etag: there.etag.clone(),
        bytes: there.len(),
        range,
    })
}

/// Deletes a static large object with its segments.
pub(super) fn delete_all(
    store: &mut Store,
    call: &Call<'_>,
    segments: Rc<[Segment]>,
    answer: &mut Answer,
) -> Done {
    let (mut deleted, mut missing) = (0, 0);
    let account = &*call.route.account;
    for segment in segments.iter() {
        let place = Place { account, container: &segment.container, object: &segment.object };
        let gone = store.delete(place, call.now_ns).is_some();
        (deleted, missing) = (deleted + u32::from(gone), missing + u32::from(!gone));
    }
    if let Some((name, object)) = store.delete(place(call), call.now_ns) {
        deleted += 1;
        answer.object = Some(name);
        answer.version = object.version;
    }
    answer.status = 200;
    let text = serde_json::json!({
        "Number Deleted": deleted, "Number Not Found": missing,
        "Response Status": "200 OK", "Response Body": "", "Errors": [],
    });
    super::json(answer, text.to_string());
    Ok(())
}
