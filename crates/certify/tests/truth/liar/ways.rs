//! Lies beside the plain requests: on a HEAD, in a completion, in a delete of many, on a page of the old listing, in a
//! manifest of Swift's. Each is found by the question about it, and by no other.

use std::cell::{Cell, RefCell};

use cosmark_adaptor_api::{Ask, Reply, Result, Settings};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use super::super::opened;
use super::{Lie, LyingAsker, are_found, certified_by, lying, not_right};

/// Which lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Conditions of a HEAD are not looked at.
    HeadIgnoresConditions,
    /// HEAD finds every bucket.
    FindsEveryBucket,
    /// Making a container that is there empties it.
    MakesAnew,
    /// The first byte alone is the second.
    MissesTheFirst,
    /// The first byte alone is not there.
    SaysNoSuchBytes,
    /// It has no ranges, and says so.
    RefusesRanges,
    /// Two ranges are one that begins as the first.
    MergesRanges,
    /// NextMarker behind a folded prefix is too late.
    MarksTooLate,
    /// A page that has a start-after begins behind that.
    StartsAnew,
    /// The source of a copy has to begin with a slash.
    WantsASlash,
    /// A prefix is decoded as a form is.
    DecodesPrefixes,
    /// Names in a delete of many are decoded as a form is, too.
    DeletesDecoded,
    /// A quiet delete of many is none.
    QuietDoesNothing,
    /// A part that was left out is there.
    AddsPartsLeftOut,
    /// An upload that begins takes away what is there.
    EmptiesAtBegin,
    /// A range that is copied is cut at the end of its source.
    CutsCopiedRanges,
    /// Every part is the first.
    ReadsFirstPart,
    /// Parts are taken for uploads that are over.
    TakesLateParts,
    /// A slash at the begin of a name is dropped.
    DropsFirstSlash,
    /// A copy leaves metadata of what was there.
    CopiesKeepMetadata,
    /// The frame of a body is called its coding.
    KeepsChunkedCoding,
    /// A byte behind the border of a segment is wrong.
    WrongBehindSegment,
    /// A part of a segment is another one.
    GivesOtherPart,
    /// Whatever the segments of a manifest are now is its object.
    GivesChangedSegments,
    /// The delete of a manifest takes its segments along.
    DeletesSegments,
    /// Objects stay when their time is over.
    NeverExpires,
    /// A POST takes the type away.
    PostsLoseTypes,
    /// Metadata of the source stays on a copy that is to have none of it.
    CopiesAreNeverFresh,
    /// A page goes on behind its end.
    IgnoresEndMarkers,
    /// A listing from the end comes in order.
    ListsForwards,
    /// The attributes of an object tell a wrong length.
    TellsOtherSize,
    /// What belongs to an object or a bucket is taken for the object or the bucket.
    OverlooksSubResources,
    /// A document that is none is too much for it: no promise is broken.
    FailsOverNonsense,
    /// The same, and it is the object then.
    FailsAndWrites,
}

thread_local! {
    /// Objects that were written.
    static WRITTEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// Something was posted.
    static POSTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a header line is not looked at.
fn is_overheard(way: Way, ask: &Ask<'_>, name: &str) -> bool {
    match way {
        Way::HeadIgnoresConditions => ask.method == "HEAD" && name.starts_with("if-"),
        Way::NeverExpires => name == "x-delete-after",
        Way::CopiesAreNeverFresh => name == "x-fresh-metadata",
        _ => false,
    }
}

/// The name of a parameter as the lie reads it; `None`: it is not looked at.
fn name_of(way: Way, name: &str, is_reversed: bool) -> Option<&str> {
    match (way, name) {
        (Way::StartsAnew, "continuation-token") => None,
        (Way::OverlooksSubResources, "acl" | "policy" | "retention" | "attributes") => None,
        (Way::FailsAndWrites, "legal-hold") => None,
        (Way::IgnoresEndMarkers, "end_marker") | (Way::ListsForwards, "reverse") => None,
        (Way::ListsForwards, "marker") if is_reversed => Some("end_marker"),
        (Way::ListsForwards, "end_marker") if is_reversed => Some("marker"),
        _ => Some(name),
    }
}

/// A header line as the lie reads it.
fn line_of<'a>(way: Way, (name, value): (&str, &'a str)) -> &'a str {
    match (way, name, value) {
        (Way::MissesTheFirst, "range", "bytes=0-0") => "bytes=1-1",
        (Way::MergesRanges, "range", "bytes=0-9,990-999") => "bytes=0-19",
        (Way::CutsCopiedRanges, "x-amz-copy-source-range", "bytes=5244880-5246879") => {
            "bytes=5244880-5245879"
        }
        _ => value,
    }
}

/// A parameter as the lie reads it.
fn parameter(way: Way, ask: &Ask<'_>, name: &str, value: &str) -> String {
    match way {
        Way::DecodesPrefixes if name == "prefix" => value.replace('+', " "),
        Way::ReadsFirstPart if name == "partNumber" && ask.method == "GET" => "1".to_owned(),
        _ => value.to_owned(),
    }
}

/// The keys in the document of a delete of many.
fn keys_in(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body).into_owned();
    let keys = text.split("<Key>").skip(1).filter_map(|part| part.split_once("</Key>"));
    keys.map(|(key, _)| key.to_owned()).collect()
}

/// The status of an answer that the lie gives without the store.
fn at_once(way: Way, ask: &Ask<'_>) -> Option<u16> {
    let has = |wanted: fn(&str, &str) -> bool| ask.lines.iter().any(|line| wanted(line.0, line.1));
    let is_quiet = || String::from_utf8_lossy(ask.body).contains("<Quiet>true</Quiet>");
    match way {
        Way::QuietDoesNothing if is_quiet() => Some(200),
        Way::WantsASlash if has(|name, value| name == "x-amz-copy-source" && !value.starts_with('/')) => {
            Some(400)
        }
        Way::SaysNoSuchBytes if has(|name, value| name == "range" && value == "bytes=0-0") => Some(416),
        Way::RefusesRanges if has(|name, _| name == "range") => Some(501),
        Way::FailsOverNonsense if ask.body == b"<Nothing/>" => Some(500),
        _ => None,
    }
}

impl LyingAsker {
    pub(super) async fn on_its_way(&mut self, way: Way, ask: &Ask<'_>) -> Result<Reply> {
        if let Some(status) = at_once(way, ask) {
            return Ok(Reply { status, ..Reply::default() });
        }
        let heard = ask.lines.iter().filter(|line| !is_overheard(way, ask, line.0));
        let lines: Vec<(&str, &str)> = heard.map(|line| (line.0, line_of(way, *line))).collect();
        let is_reversed = ask.query.iter().any(|(name, _)| *name == "reverse");
        let query: Vec<(&str, Option<String>)> = ask
            .query
            .iter()
            .filter_map(|(name, value)| {
                let value = value.map(|value| parameter(way, ask, name, value));
                Some((name_of(way, name, is_reversed)?, value))
            })
            .collect();
        let query: Vec<(&str, Option<&str>)> =
            query.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        let is_dropped = way == Way::DropsFirstSlash;
        let object = if is_dropped { ask.object.trim_start_matches('/') } else { ask.object };
        let reply = self.inner.ask(&Ask { object, lines: &lines, query: &query, ..*ask }).await?;
        if ask.method == "PUT" && !ask.object.is_empty() {
            WRITTEN.with_borrow_mut(|written| written.push(ask.object.to_owned()));
        }
        for object in taken_away(way, ask) {
            self.inner.ask(&Ask::new("DELETE", ask.container, &object)).await?;
        }
        Ok(answered(way, ask, reply))
    }
}

/// Objects that the lie deletes behind a request.
fn taken_away(way: Way, ask: &Ask<'_>) -> Vec<String> {
    let has = |name: &str| ask.query.iter().any(|(own, _)| *own == name);
    match way {
        Way::DeletesDecoded if ask.method == "POST" && has("delete") => {
            keys_in(ask.body).iter().map(|key| key.replace('+', " ")).collect()
        }
        Way::EmptiesAtBegin if ask.method == "POST" && has("uploads") => vec![ask.object.to_owned()],
        Way::MakesAnew if ask.method == "PUT" && ask.object.is_empty() => WRITTEN.take(),
        Way::DeletesSegments if ask.method == "DELETE" && ask.query.is_empty() => {
            let manifest = ask.object.strip_suffix("-manifest");
            manifest.map(|own| (0..3).map(|at| format!("{own}-segment-{at}")).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// What the lie answers.
fn answered(way: Way, ask: &Ask<'_>, mut reply: Reply) -> Reply {
    let is_read = |end: &str| ask.method == "GET" && ask.object.ends_with(end);
    match way {
        Way::FindsEveryBucket if ask.method == "HEAD" && ask.object.is_empty() => reply.status = 200,
        Way::FailsAndWrites if ask.body == b"<Nothing/>" => reply.status = 500,
        Way::TellsOtherSize if ask.query.iter().any(|(name, _)| *name == "attributes") => {
            let body =
                b"<GetObjectAttributesResponse><ObjectSize>7</ObjectSize></GetObjectAttributesResponse>";
            reply = Reply { status: 200, body: body.to_vec(), ..Reply::default() };
        }
        Way::MarksTooLate if ask.method == "GET" && ask.object.is_empty() => {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            reply.body = text.replace("a/</NextMarker>", "b</NextMarker>").into_bytes();
        }
        Way::TakesLateParts if ask.method == "PUT" && reply.status == 404 => reply.status = 200,
        Way::AddsPartsLeftOut if is_read("-left-out") => reply.body.extend_from_slice(b"more"),
        Way::CopiesKeepMetadata if is_read("-onto") => {
            reply.lines.push(("x-amz-meta-b".to_owned(), "before".to_owned()));
        }
        Way::KeepsChunkedCoding if is_read("-chunks") => {
            let codings = reply.lines.iter_mut().filter(|line| line.0 == "content-encoding");
            codings.for_each(|line| line.1.push_str(",aws-chunked"));
        }
        Way::WrongBehindSegment if is_read("-ranges") && reply.body.len() > 6 => reply.body[6] ^= 1,
        Way::GivesOtherPart if is_read("-part") && reply.is_success() => reply.body[1000] ^= 1,
        Way::GivesChangedSegments if is_read("-changed") && reply.status == 409 => {
            reply = Reply { status: 200, body: vec![1; 2800], ..Reply::default() };
        }
        Way::PostsLoseTypes if ask.method == "POST" => POSTED.set(true),
        Way::PostsLoseTypes if is_read("-keeps") && POSTED.get() => {
            let kinds = reply.lines.iter_mut().filter(|line| line.0 == "content-type");
            kinds.for_each(|line| line.1 = "application/octet-stream".to_owned());
        }
        _ => {}
    }
    reply
}

const fn by(way: Way) -> Lie {
    Lie::OnItsWay(way)
}

#[tokio::test]
async fn lies_on_heads_in_ranges_in_listings_and_in_deletes_of_many_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "s3.attributes",
        "s3.bucket.",
        "s3.delete-many.",
        "s3.head.if-",
        "s3.list.prefix-signs",
        "s3.list.start-after-pages",
        "s3.list.version-1-delimiter",
        "s3.range.ends",
        "s3.range.several",
        "s3.sub-resource.",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (by(Way::TellsOtherSize), &["s3.attributes"]),
        (by(Way::OverlooksSubResources), &["s3.sub-resource.bucket", "s3.sub-resource.object"]),
        (by(Way::FailsOverNonsense), &[]),
        (by(Way::FailsAndWrites), &["s3.sub-resource.object"]),
        (by(Way::FindsEveryBucket), &["s3.bucket.head"]),
        (by(Way::MakesAnew), &["s3.bucket.again"]),
        (by(Way::DeletesDecoded), &["s3.delete-many.names"]),
        (by(Way::QuietDoesNothing), &["s3.delete-many.quiet"]),
        (
            by(Way::HeadIgnoresConditions),
            &["s3.head.if-match", "s3.head.if-modified", "s3.head.if-none-match"],
        ),
        (by(Way::DecodesPrefixes), &["s3.list.prefix-signs"]),
        (by(Way::StartsAnew), &["s3.list.start-after-pages"]),
        (by(Way::MarksTooLate), &["s3.list.version-1-delimiter"]),
        (by(Way::MissesTheFirst), &["s3.range.ends"]),
        (by(Way::SaysNoSuchBytes), &["s3.range.ends"]),
        // Nothing is lost by that.
        (by(Way::RefusesRanges), &[]),
        (by(Way::MergesRanges), &["s3.range.several"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn lies_about_what_parts_copies_and_frames_leave_in_an_object_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "s3.copy.overwrites",
        "s3.copy.without-slash",
        "s3.multipart.beside-writes",
        "s3.multipart.copy-beyond",
        "s3.multipart.left-out",
        "s3.multipart.part-late",
        "s3.multipart.read-part",
        "s3.name.first-slash",
        "s3.write.in-chunks",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (by(Way::CopiesKeepMetadata), &["s3.copy.overwrites"]),
        (by(Way::WantsASlash), &["s3.copy.without-slash"]),
        (by(Way::EmptiesAtBegin), &["s3.multipart.beside-writes", "s3.multipart.part-late"]),
        (by(Way::CutsCopiedRanges), &["s3.multipart.copy-beyond"]),
        (by(Way::AddsPartsLeftOut), &["s3.multipart.left-out"]),
        (by(Way::TakesLateParts), &["s3.multipart.part-late"]),
        (by(Way::ReadsFirstPart), &["s3.multipart.read-part"]),
        (by(Way::DropsFirstSlash), &["s3.name.first-slash"]),
        (by(Way::KeepsChunkedCoding), &["s3.write.in-chunks"]),
    ];
    are_found(&store, &only, cases).await;
}

pub(super) async fn asked_by_swift(store: &Handle, lie: Lie, only: &[&str]) -> Certificate {
    let url = format!("{}/auth/v1.0", store.url());
    let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
    let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
    let adaptor = lying(opened(&cosmark_adaptors::swift::DEF, &[]), lie);
    certified_by(adaptor, session, only).await.unwrap()
}

#[tokio::test]
async fn lies_of_a_swift_about_manifests_windows_and_metadata_are_found() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let only = [
        "swift.container.",
        "swift.copy.",
        "swift.dlo.",
        "swift.head.",
        "swift.list.",
        "swift.post.",
        "swift.slo",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (by(Way::MakesAnew), &["swift.container.again"]),
        (by(Way::CopiesAreNeverFresh), &["swift.copy.metadata"]),
        (by(Way::HeadIgnoresConditions), &["swift.head.if-match", "swift.head.if-none-match"]),
        (by(Way::ListsForwards), &["swift.list.reverse"]),
        (by(Way::IgnoresEndMarkers), &["swift.list.reverse", "swift.list.window"]),
        (by(Way::PostsLoseTypes), &["swift.post.keeps"]),
        (by(Way::DeletesSegments), &["swift.slo.delete"]),
        (by(Way::WrongBehindSegment), &["swift.dlo.ranges", "swift.slo.ranges"]),
        (by(Way::GivesOtherPart), &["swift.slo.part"]),
        (by(Way::GivesChangedSegments), &["swift.slo.changed"]),
    ];
    let mut wrong = Vec::new();
    for (lie, wanted) in cases {
        let certificate = asked_by_swift(&store, *lie, &only).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted {
            wrong.push(format!("{lie:?} is answered by {no:#?}, and should be by {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    drop(store);
}

#[tokio::test]
async fn a_swift_whose_objects_never_go_is_found() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let certificate = asked_by_swift(&store, by(Way::NeverExpires), &["swift.delete-at.over"]).await;
    let no: Vec<String> = not_right(&certificate, Answer::No).into_keys().collect();
    assert_eq!(no, ["swift.delete-at.over"], "{certificate:#?}");
    drop(store);
}
