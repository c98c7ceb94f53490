//! Lies that show only beside the plain way: in a part of an object, by HEAD, in a copy, behind the end of an upload,
//! by another signature, after so many others.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use cosmark_adaptor_api::{
    Ask, BodySink, BodySource, ByteRange, BytesSource, CollectSink, ListPage, ListRequest, Marks, ObjectName,
    PutOptions, PutOutcome, ReadOutcome, Reply, Result, Settings, Whom,
};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::Answer;
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, SimStore};

use super::super::opened;
use super::{Lie, LyingAsker, LyingClient, are_found, certified_by, lying, not_right};

/// Which lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plant {
    /// Objects of this length come back with a wrong bit.
    DamagesLength(usize),
    /// Zeros come back one shorter.
    DropsZeros,
    /// Of two objects that differ in one byte both have the bytes of the first.
    KeepsOneOfAlike,
    /// The byte behind 64 KiB is wrong in ranges that begin before it.
    WrongBehindBorder,
    /// Parts of an object that was overwritten are those of before.
    PartsOfBefore,
    /// HEAD tells the length of before.
    HeadOfBefore,
    /// HEAD finds what was deleted.
    HeadOfDeleted,
    /// A copy is another name of its source.
    LinksCopies,
    /// A page begins behind as many names as came before, of those that are left.
    CountsPages,
    /// An object is lost after so many other writes.
    LosesLater(u64),
    /// What was deleted is there again after so many other writes.
    ResurrectsLater(u64),
    /// Whose secret a write or delete was signed with is not looked at.
    TakesWritesOfOthers,
    /// When a request was signed is not looked at.
    TakesLateSignatures,
    /// A link is good for ever.
    TakesOldLinks,
    /// A link for reading is good for anything.
    TakesAnythingByLinks,
    /// A link is good for any object.
    TakesLinksToOthers,
    /// How long a link is good for is not signed.
    TakesStretchedLinks,
    /// Who may write by a link may read by it.
    ReadsByWriteLinks,
    /// If-Match is not looked at when a part is read.
    IgnoresConditionsOfParts,
    /// Of the checksums SHA-256 is not looked at.
    TakesAnySha256,
    /// An overwrite with a wrong MD5 is refused, and has emptied the object.
    RefusalEmpties,
    /// Last-Modified is the same for ever.
    DateStandsStill,
    /// A listing is the first one of its prefix.
    ListsOnce,
    /// A long value of metadata is cut.
    CutsMetadata,
    /// The conditions of a copy are not looked at.
    IgnoresConditionsOfCopies,
    /// A copy onto itself leaves nothing.
    EmptiesOwnCopies,
    /// The source of a copy is decoded twice.
    DecodesTwice,
    /// A copy has no type.
    CopiesLoseTypes,
    /// A second completion leaves nothing.
    SecondCompletionEmpties,
    /// Giving up a completed upload deletes the object.
    AbortDeletes,
    /// Giving up one upload ends all of its name.
    AbortEndsAll,
    /// The completion gives another ETag than the object has.
    OtherEtagOfCompletion,
    /// Content-MD5 of parts is not looked at.
    TakesPartsOfAnyMd5,
    /// What a range has of the second part is zeros.
    ZerosInSecondPart,
    /// A page of parts begins too late.
    SkipsParts,
    /// Segments of names end at 255 bytes.
    CutsSegments,
    /// Blanks at the end of names are dropped.
    TrimsNames,
    /// `/./` is `/`.
    DropsSingleDots,
    /// A delete takes all names with it that begin so.
    DeletesByPrefix,
    /// A write gets the body of the one before it.
    SwapsBodies,
    /// A listing tells the length of the last part.
    ListsLastPart,
    /// If-Match of a completion is not looked at.
    IgnoresConditionsOfCompletions,
    /// A suffix that is longer than the object lacks its last byte.
    CutsLongSuffixes,
    /// Content-MD5 of large bodies is not looked at.
    TakesLargeBodiesOfAnyMd5,
    /// If-Match is not looked at where a date stands beside it.
    DatesCountFirst,
    /// If-Range is not looked at, and parts have no ETag.
    IgnoresIfRange,
    /// HEAD of a part says where another one is.
    HeadOfOtherPart,
    /// Values of metadata are decoded.
    DecodesMetadata,
    /// What was asked of one answer stays with the object.
    OverridesStay,
    /// A write with an unknown storage class is refused, and done.
    RefusedClassWrites,
    /// Pages of uploads begin at the first.
    IgnoresUploadMarkers,
    /// The second page of uploads is the end.
    EndsUploads,
    /// CRC32C of a part is not looked at where it is wrong.
    TakesPartsOfAnyCrc,
    /// CRC64NVME is given back, and not looked at where it is wrong.
    TakesAnyCrc64,
    /// An object of parts has no type of its own.
    PartsLoseTypes,
    /// Names that were deleted stand on all pages but the first.
    ListsDeletedLater,
    /// Conditions with the ETag of an object made of parts are not looked at.
    IgnoresTagsOfParts,
    /// Of such an ETag only the digits are compared.
    ComparesDigits,
}

/// Smallest part but the last, bytes.
const PART: u64 = 5 << 20;
const BORDER: u64 = 65_536;

/// What the lies need of what was done before.
#[derive(Default)]
struct Memory {
    /// The last content of each object, and the one before.
    last: BTreeMap<String, Vec<u8>>,
    before: BTreeMap<String, Vec<u8>>,
    /// Writes, and how many there were when each object was written.
    writes: u64,
    written_at: BTreeMap<String, u64>,
    deleted: BTreeSet<String>,
    links: BTreeMap<String, String>,
    /// One of two that are alike.
    alike: Option<Vec<u8>>,
    /// Deletes since the last page.
    deletes: u64,
    pages: BTreeMap<String, Vec<u8>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Another lie begins.
pub(super) fn forget() {
    MEMORY.take();
}

pub(super) fn link(from: &str, to: &str) {
    MEMORY.with_borrow_mut(|memory| memory.links.insert(to.to_owned(), from.to_owned()));
}

fn has(ask: &Ask<'_>, name: &str) -> bool {
    ask.query.iter().any(|(own, _)| *own == name)
}

/// Header lines that the lie does not look at.
fn is_ignored(plant: Plant, ask: &Ask<'_>, name: &str) -> bool {
    match plant {
        Plant::IgnoresConditionsOfParts => {
            name == "if-match" && ask.lines.iter().any(|line| line.0 == "range")
        }
        Plant::IgnoresConditionsOfCopies => name.starts_with("x-amz-copy-source-if"),
        Plant::TakesPartsOfAnyMd5 => name == "content-md5" && has(ask, "partNumber"),
        Plant::TakesLargeBodiesOfAnyMd5 => name == "content-md5" && ask.body.len() > 100_000,
        Plant::IgnoresConditionsOfCompletions => name == "if-match" && has(ask, "uploadId"),
        Plant::TakesAnySha256 => name == "x-amz-checksum-sha256",
        Plant::DatesCountFirst => {
            name == "if-match" && ask.lines.iter().any(|line| line.0 == "if-unmodified-since")
        }
        Plant::IgnoresIfRange => name == "if-range",
        Plant::PartsLoseTypes => name == "content-type" && has(ask, "uploads"),
        Plant::IgnoresTagsOfParts => {
            let is_of_parts = |line: &(&str, &str)| line.0 == name && line.1.ends_with("-1\"");
            matches!(name, "if-match" | "if-none-match") && ask.lines.iter().any(is_of_parts)
        }
        Plant::ComparesDigits => {
            name == "if-match" && ask.lines.iter().any(|line| line.0 == name && line.1.ends_with("-9\""))
        }
        Plant::TakesAnyCrc64 => name == "x-amz-checksum-crc64nvme" && ask.body == b"987654321",
        Plant::TakesPartsOfAnyCrc => name == "x-amz-checksum-crc32c" && ask.body == b"987654321",
        _ => false,
    }
}

fn renamed(plant: Plant, object: &str) -> String {
    match plant {
        Plant::CutsSegments => {
            let segments = object.split('/').map(|segment| segment.get(..255).unwrap_or(segment));
            segments.collect::<Vec<_>>().join("/")
        }
        Plant::TrimsNames => object.trim_end().to_owned(),
        Plant::DropsSingleDots => object.replace("/./", "/"),
        _ => object.to_owned(),
    }
}

fn taken_for(plant: Plant, ask: &Ask<'_>) -> Whom {
    match (plant, ask.whom) {
        (Plant::TakesWritesOfOthers, Whom::Nobody | Whom::WrongSecret)
            if matches!(ask.method, "PUT" | "DELETE") =>
        {
            Whom::Session
        }
        (Plant::TakesLateSignatures, Whom::AnHourAgo) => Whom::Session,
        (Plant::TakesOldLinks, Whom::OldLink) => Whom::Link,
        (Plant::TakesLinksToOthers, Whom::LinkToOther) => Whom::Link,
        (Plant::TakesStretchedLinks, Whom::StretchedLink) => Whom::Link,
        (Plant::ReadsByWriteLinks, Whom::WriteLink) if ask.method == "GET" => Whom::Link,
        (Plant::TakesAnythingByLinks, Whom::Link) if ask.method == "DELETE" => Whom::Session,
        (_, whom) => whom,
    }
}

impl LyingAsker {
    pub(super) async fn planted(&mut self, plant: Plant, ask: &Ask<'_>) -> Result<Reply> {
        let object = renamed(plant, ask.object);
        let lines: Vec<(&str, String)> = ask
            .lines
            .iter()
            .filter(|line| !is_ignored(plant, ask, line.0))
            .map(|line| match plant {
                Plant::DecodesTwice if line.0 == "x-amz-copy-source" => (line.0, line.1.replace("%25", "%")),
                _ => (line.0, line.1.to_owned()),
            })
            .collect();
        let lines: Vec<(&str, &str)> = lines.iter().map(|line| (line.0, line.1.as_str())).collect();
        let is_left_out = |name: &str| {
            plant == Plant::IgnoresUploadMarkers && name.ends_with("-marker") && has(ask, "uploads")
        };
        let query: Vec<(&str, Option<String>)> = ask
            .query
            .iter()
            .filter(|(name, _)| !is_left_out(name))
            .map(|(name, value)| match value {
                Some(value) if plant == Plant::SkipsParts && *name == "part-number-marker" => {
                    let later = value.parse::<u32>().unwrap() + 3;
                    (*name, Some(later.to_string()))
                }
                value => (*name, value.map(str::to_owned)),
            })
            .collect();
        let query: Vec<(&str, Option<&str>)> =
            query.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        let whom = taken_for(plant, ask);
        let asked = Ask { object: &object, lines: &lines, query: &query, whom, ..*ask };
        let reply = self.inner.ask(&asked).await?;
        self.does_more(plant, &asked, &reply).await?;
        Ok(said(plant, &asked, reply))
    }

    /// What the lie does behind a request.
    async fn does_more(&mut self, plant: Plant, ask: &Ask<'_>, reply: &Reply) -> Result<()> {
        let has_line = |name: &str| ask.lines.iter().any(|line| line.0 == name);
        let is_abort = ask.method == "DELETE" && has(ask, "uploadId");
        let emptied = match plant {
            Plant::EmptiesOwnCopies => {
                let source = ask.lines.iter().find(|line| line.0 == "x-amz-copy-source");
                source.is_some_and(|line| line.1.ends_with(ask.object))
            }
            Plant::SecondCompletionEmpties => {
                ask.method == "POST" && has(ask, "uploadId") && matches!(reply.status, 400 | 404)
            }
            Plant::RefusalEmpties => {
                ask.method == "PUT" && ask.query.is_empty() && has_line("content-md5") && reply.status == 400
            }
            _ => false,
        };
        if emptied {
            let of_object = |line: &(&str, &str)| line.0.starts_with("x-amz-meta-");
            let lines: Vec<(&str, &str)> = ask.lines.iter().copied().filter(of_object).collect();
            self.inner.ask(&Ask { lines: &lines, ..Ask::new("PUT", ask.container, ask.object) }).await?;
        }
        if plant == Plant::AbortDeletes && is_abort && reply.status == 404 {
            self.inner.ask(&Ask::new("DELETE", ask.container, ask.object)).await?;
        }
        if plant == Plant::AbortEndsAll && is_abort {
            let query = [("prefix", Some(ask.object)), ("uploads", None)];
            let listed = self.inner.ask(&Ask { query: &query, ..Ask::new("GET", ask.container, "") }).await?;
            let text = String::from_utf8_lossy(&listed.body).into_owned();
            let ids = text.split("<UploadId>").skip(1).filter_map(|part| part.split_once("</UploadId>"));
            for (id, _) in ids {
                let query = [("uploadId", Some(id))];
                let give_up = Ask { query: &query, ..Ask::new("DELETE", ask.container, ask.object) };
                self.inner.ask(&give_up).await?;
            }
        }
        Ok(())
    }
}

/// Puts another value into a header line.
pub(super) fn replace(reply: &mut Reply, name: &str, value: impl Fn(&str) -> String) {
    reply.lines.iter_mut().filter(|line| line.0 == name).for_each(|line| line.1 = value(&line.1));
}

/// What the lie answers.
fn said(plant: Plant, ask: &Ask<'_>, mut reply: Reply) -> Reply {
    let is_listing = ask.method == "GET" && ask.object.is_empty();
    match plant {
        Plant::DateStandsStill => {
            replace(&mut reply, "last-modified", |_| "Fri, 27 Nov 2026 01:52:16 GMT".to_owned());
        }
        Plant::CutsMetadata => {
            replace(&mut reply, "x-amz-meta-long", |value| value.chars().take(1024).collect());
        }
        Plant::IgnoresIfRange if reply.status == 206 => reply.lines.retain(|line| line.0 != "etag"),
        Plant::HeadOfOtherPart if ask.method == "HEAD" => {
            replace(&mut reply, "content-range", |_| "bytes 0-199/1000".to_owned());
        }
        Plant::DecodesMetadata => {
            replace(&mut reply, "x-amz-meta-signs-1", |value| value.replace("%2f", "/"));
        }
        Plant::OverridesStay => replace(&mut reply, "cache-control", |_| "max-age=9".to_owned()),
        // The store behind it takes any class.
        Plant::RefusedClassWrites if ask.lines.contains(&("x-amz-storage-class", "COSMARK_HAS_NONE")) => {
            reply = Reply { status: 400, ..Reply::default() };
        }
        Plant::EndsUploads if has(ask, "uploads") && has(ask, "upload-id-marker") => {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            reply.body = text.replace("<IsTruncated>true<", "<IsTruncated>false<").into_bytes();
        }
        Plant::CopiesLoseTypes if ask.object.ends_with("-to") => {
            replace(&mut reply, "content-type", |_| "binary/octet-stream".to_owned());
        }
        Plant::OtherEtagOfCompletion if ask.method == "POST" && has(ask, "uploadId") => {
            reply.body = String::from_utf8_lossy(&reply.body).replace("-1", "-2").into_bytes();
        }
        Plant::ListsOnce if is_listing && reply.is_success() => {
            let prefix = ask.query.iter().find(|(name, _)| *name == "prefix").and_then(|(_, value)| *value);
            let prefix = prefix.unwrap_or_default();
            if prefix.ends_with("-listed") {
                let body = std::mem::take(&mut reply.body);
                reply.body = MEMORY
                    .with_borrow_mut(|memory| memory.pages.entry(prefix.to_owned()).or_insert(body).clone());
            }
        }
        Plant::ListsLastPart if is_listing => {
            let size = format!("<Size>{}</Size>", PART + 700);
            let text = String::from_utf8_lossy(&reply.body).replace(&size, "<Size>700</Size>");
            reply.body = text.into_bytes();
        }
        Plant::CutsLongSuffixes if reply.status == 206 && ask.lines.contains(&("range", "bytes=-5000")) => {
            reply.body.truncate(reply.body.len() - 1);
        }
        Plant::ZerosInSecondPart if reply.status == 206 => {
            let range = ask.lines.iter().find(|line| line.0 == "range").map_or("", |line| line.1);
            let first: u64 = range
                .trim_start_matches("bytes=")
                .split('-')
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap();
            if first < PART {
                let own = usize::try_from(PART - first).unwrap();
                reply.body.iter_mut().skip(own).for_each(|byte| *byte = 0);
            }
        }
        _ => {}
    }
    reply
}

/// Another object that is read instead.
fn instead(plant: Plant, object: &str) -> Option<String> {
    MEMORY.with_borrow(|memory| {
        let behind = memory.written_at.get(object).map_or(0, |at| memory.writes - at);
        let nothing = || Some(format!("{object}-nowhere"));
        match plant {
            Plant::LinksCopies => memory.links.get(object).cloned(),
            Plant::LosesLater(others) if object.ends_with("planted-56") && behind > others => nothing(),
            Plant::ResurrectsLater(others) if memory.deleted.contains(object) && behind <= others => {
                nothing()
            }
            _ => None,
        }
    })
}

/// What the lie gives for these bytes.
fn shown(plant: Plant, object: &str, range: Option<ByteRange>, mut bytes: Vec<u8>) -> Vec<u8> {
    match (plant, range) {
        (Plant::DamagesLength(length), None) if bytes.len() == length => bytes[length / 2] ^= 1,
        (Plant::DropsZeros, None) if bytes.len() > 1 && bytes.iter().all(|byte| *byte == 0) => {
            bytes.truncate(bytes.len() - 1);
        }
        (Plant::WrongBehindBorder, Some(range)) if range.first < BORDER && BORDER <= range.last => {
            bytes[usize::try_from(BORDER - range.first).unwrap()] ^= 1;
        }
        (Plant::PartsOfBefore, Some(range)) => {
            let before = MEMORY.with_borrow(|memory| memory.before.get(object).cloned());
            let [first, last] = [range.first, range.last].map(|at| usize::try_from(at).unwrap());
            if let Some(part) = before.as_ref().and_then(|before| before.get(first..=last)) {
                bytes = part.to_vec();
            }
        }
        _ => {}
    }
    bytes
}

impl LyingClient {
    pub(super) async fn get_planted<'a>(
        &'a mut self,
        plant: Plant,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> Result<ReadOutcome> {
        let instead = instead(plant, name.object);
        let other = ObjectName { object: instead.as_deref().unwrap_or(name.object), ..name };
        let mut read = CollectSink::new(32 << 20);
        self.inner.get(other, range, Some(&mut read), marks).await?;
        let bytes = shown(plant, name.object, range, read.bytes);
        if let Some(sink) = sink {
            sink.accept(&bytes);
        }
        Ok(ReadOutcome { bytes: bytes.len() as u64 })
    }

    pub(super) async fn put_planted<'a>(
        &'a mut self,
        plant: Plant,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        options: PutOptions,
        marks: &'a mut Marks,
    ) -> Result<PutOutcome> {
        let mut bytes = vec![0; usize::try_from(body.len()).unwrap()];
        body.copy_to(0, &mut bytes).unwrap();
        MEMORY.with_borrow_mut(|memory| {
            if plant == Plant::KeepsOneOfAlike && bytes.len() == 300_000 {
                let first = memory.alike.get_or_insert_with(|| bytes.clone());
                if first.iter().zip(&bytes).filter(|(a, b)| a != b).count() == 1 {
                    bytes.clone_from(first);
                }
            }
            if plant == Plant::SwapsBodies && name.object.contains("-side-") {
                let before = memory.alike.replace(bytes.clone());
                bytes = before.unwrap_or(bytes.clone());
            }
            memory.writes += 1;
            memory.written_at.insert(name.object.to_owned(), memory.writes);
            memory.deleted.remove(name.object);
            if let Some(before) = memory.last.insert(name.object.to_owned(), bytes.clone()) {
                memory.before.insert(name.object.to_owned(), before);
            }
        });
        self.inner.put(name, &BytesSource(&bytes), options, marks).await
    }

    pub(super) async fn delete_planted<'a>(
        &'a mut self,
        plant: Plant,
        name: ObjectName<'a>,
        marks: &'a mut Marks,
    ) -> Result<()> {
        let is_first = MEMORY.with_borrow_mut(|memory| {
            memory.deletes += 1;
            memory.deleted.insert(name.object.to_owned())
        });
        if plant == Plant::DeletesByPrefix {
            let all = MEMORY.with_borrow(|memory| memory.last.keys().cloned().collect::<Vec<_>>());
            for other in all.iter().filter(|other| other.starts_with(name.object)) {
                let other = ObjectName { object: other, ..name };
                self.inner.delete(other, &mut Marks::default()).await?;
            }
        }
        // The certification deletes it once more when it cleans up.
        if matches!(plant, Plant::ResurrectsLater(_)) && is_first && name.object.ends_with("planted-58") {
            return Ok(());
        }
        self.inner.delete(name, marks).await
    }

    pub(super) async fn head_planted<'a>(
        &'a mut self,
        plant: Plant,
        name: ObjectName<'a>,
        marks: &'a mut Marks,
    ) -> Result<Option<u64>> {
        let lie = MEMORY.with_borrow(|memory| match plant {
            Plant::HeadOfBefore => memory.before.get(name.object).map(|before| before.len() as u64),
            Plant::HeadOfDeleted => memory
                .last
                .get(name.object)
                .filter(|_| memory.deleted.contains(name.object))
                .map(|last| last.len() as u64),
            _ => None,
        });
        match lie {
            Some(length) => Ok(Some(length)),
            None => self.inner.head(name, marks).await,
        }
    }

    pub(super) async fn list_planted<'a>(
        &'a mut self,
        plant: Plant,
        request: ListRequest<'a>,
        marks: &'a mut Marks,
    ) -> Result<ListPage> {
        let mut page = self.inner.list(request, marks).await?;
        let deletes = MEMORY.with_borrow_mut(|memory| std::mem::take(&mut memory.deletes));
        if plant == Plant::CountsPages && request.after.is_some() {
            let skipped = usize::try_from(deletes).unwrap().min(page.names.len());
            page.names.drain(..skipped);
            page.count = page.names.len() as u64;
        }
        if plant == Plant::ListsDeletedLater
            && let Some(after) = request.after
        {
            let last = page.names.last().filter(|_| page.next.is_some()).cloned();
            let is_here = |name: &&String| {
                name.starts_with(request.prefix)
                    && name.as_str() > after
                    && last.as_ref().is_none_or(|last| *name < last)
            };
            let ghosts: Vec<String> =
                MEMORY.with_borrow(|memory| memory.deleted.iter().filter(is_here).cloned().collect());
            page.names.extend(ghosts);
            page.names.sort();
            page.count = page.names.len() as u64;
        }
        Ok(page)
    }
}

const fn planted(plant: Plant) -> Lie {
    Lie::Planted(plant)
}

#[tokio::test]
async fn damage_of_lengths_of_contents_and_at_borders_is_found_by_the_questions_about_it() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["any.sizes", "any.contents", "any.range-borders"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (planted(Plant::DamagesLength(131_073)), &["any.sizes"]),
        (planted(Plant::DamagesLength(1 << 20)), &["any.sizes"]),
        (planted(Plant::DropsZeros), &["any.contents"]),
        (planted(Plant::KeepsOneOfAlike), &["any.contents"]),
        (planted(Plant::WrongBehindBorder), &["any.range-borders"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn changes_that_one_way_of_reading_does_not_show_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "any.replaced",
        "any.gone",
        "any.copy-apart",
        "any.neighbours",
        "any.cleanup",
        "any.side-by-side",
        "any.list-pages",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (planted(Plant::PartsOfBefore), &["any.replaced"]),
        (planted(Plant::HeadOfBefore), &["any.replaced"]),
        (planted(Plant::HeadOfDeleted), &["any.gone"]),
        (planted(Plant::LinksCopies), &["any.copy-apart"]),
        (planted(Plant::DeletesByPrefix), &["any.neighbours"]),
        (planted(Plant::CountsPages), &["any.cleanup"]),
        (planted(Plant::SwapsBodies), &["any.side-by-side"]),
        (planted(Plant::ListsDeletedLater), &["any.list-pages"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn what_is_lost_or_comes_back_only_after_other_writes_is_found_at_the_end() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["any.many-written", "any.replaced", "any.gone", "any.cleanup", "any.still-there"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (planted(Plant::LosesLater(15)), &["any.still-there"]),
        (planted(Plant::ResurrectsLater(15)), &["any.still-there"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn lies_about_signatures_digests_dates_and_metadata_are_found_by_the_questions_about_them() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "s3.auth",
        "s3.checksum.crc64nvme",
        "s3.checksum.others",
        "s3.error.content-md5",
        "s3.listing.overwritten",
        "s3.metadata.long",
        "s3.modified",
        "s3.range.if-match",
        "s3.range.suffix-longer",
        "s3.write.refused-stays",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (planted(Plant::TakesWritesOfOthers), &["s3.auth.changes"]),
        (planted(Plant::TakesLateSignatures), &["s3.auth.late"]),
        (planted(Plant::TakesOldLinks), &["s3.auth.link"]),
        (planted(Plant::TakesAnythingByLinks), &["s3.auth.link"]),
        (planted(Plant::TakesLinksToOthers), &["s3.auth.bent-link"]),
        (planted(Plant::TakesStretchedLinks), &["s3.auth.bent-link"]),
        (planted(Plant::ReadsByWriteLinks), &["s3.auth.write-link"]),
        (planted(Plant::TakesAnyCrc64), &["s3.checksum.crc64nvme"]),
        (planted(Plant::TakesAnySha256), &["s3.checksum.others"]),
        (planted(Plant::TakesLargeBodiesOfAnyMd5), &["s3.error.content-md5"]),
        (planted(Plant::ListsOnce), &["s3.listing.overwritten"]),
        (planted(Plant::CutsMetadata), &["s3.metadata.long"]),
        (planted(Plant::DateStandsStill), &["s3.modified"]),
        (planted(Plant::IgnoresConditionsOfParts), &["s3.range.if-match"]),
        (planted(Plant::CutsLongSuffixes), &["s3.range.suffix-longer"]),
        // Where nothing was it leaves an empty object.
        (planted(Plant::RefusalEmpties), &["s3.error.content-md5", "s3.write.refused-stays"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn lies_about_pairs_of_conditions_parts_and_lines_of_an_answer_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "s3.metadata",
        "s3.multipart.checksum",
        "s3.multipart.headers",
        "s3.multipart.list-uploads",
        "s3.multipart.read-conditions",
        "s3.range.",
        "s3.read.",
        "s3.response-headers",
        "s3.storage-class",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (planted(Plant::DatesCountFirst), &["s3.read.conditions-together"]),
        (planted(Plant::IgnoresIfRange), &["s3.range.if-range"]),
        (planted(Plant::HeadOfOtherPart), &["s3.range.head"]),
        (planted(Plant::DecodesMetadata), &["s3.metadata.signs"]),
        (planted(Plant::OverridesStay), &["s3.response-headers.others"]),
        (planted(Plant::RefusedClassWrites), &["s3.storage-class"]),
        (planted(Plant::IgnoresUploadMarkers), &["s3.multipart.list-uploads-pages"]),
        (planted(Plant::EndsUploads), &["s3.multipart.list-uploads-pages"]),
        (planted(Plant::TakesPartsOfAnyCrc), &["s3.multipart.checksum"]),
        (planted(Plant::PartsLoseTypes), &["s3.multipart.headers"]),
        (planted(Plant::IgnoresTagsOfParts), &["s3.multipart.read-conditions"]),
        (planted(Plant::ComparesDigits), &["s3.multipart.read-conditions"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn lies_about_copies_and_names_are_found_by_the_questions_about_them() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["s3.copy.", "s3.name.long-segments", "s3.name.end-blank", "s3.name.single-dot"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (planted(Plant::IgnoresConditionsOfCopies), &["s3.copy.dates", "s3.copy.if-match"]),
        (planted(Plant::EmptiesOwnCopies), &["s3.copy.replace-own"]),
        (planted(Plant::DecodesTwice), &["s3.copy.escaped"]),
        (planted(Plant::CopiesLoseTypes), &["s3.copy.headers"]),
        (planted(Plant::CutsSegments), &["s3.name.long-segments"]),
        (planted(Plant::TrimsNames), &["s3.name.end-blank"]),
        (planted(Plant::DropsSingleDots), &["s3.name.single-dot"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn lies_about_uploads_beside_each_other_and_behind_their_end_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = [
        "s3.multipart.abort-",
        "s3.multipart.complete-twice",
        "s3.multipart.etag-same",
        "s3.multipart.if-match",
        "s3.multipart.list-parts-pages",
        "s3.multipart.part-md5",
        "s3.multipart.ranges",
        "s3.multipart.size",
        "s3.race.complete",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (Lie::ForgetsAborts, &["s3.multipart.abort-listed"]),
        (planted(Plant::AbortDeletes), &["s3.multipart.abort-completed"]),
        (planted(Plant::AbortEndsAll), &["s3.multipart.abort-other"]),
        (planted(Plant::SecondCompletionEmpties), &["s3.multipart.complete-twice", "s3.race.complete"]),
        (planted(Plant::OtherEtagOfCompletion), &["s3.multipart.etag-same"]),
        (planted(Plant::IgnoresConditionsOfCompletions), &["s3.multipart.if-match"]),
        (planted(Plant::ListsLastPart), &["s3.multipart.size"]),
        (planted(Plant::SkipsParts), &["s3.multipart.list-parts-pages"]),
        (planted(Plant::TakesPartsOfAnyMd5), &["s3.multipart.part-md5"]),
        (planted(Plant::ZerosInSecondPart), &["s3.multipart.ranges"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn a_swift_that_takes_changes_of_others_is_found() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    for (lie, wanted) in [(Lie::SaysNothing, 0), (planted(Plant::TakesWritesOfOthers), 1)] {
        let url = format!("{}/auth/v1.0", store.url());
        let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
        let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
        assert!(problems.is_empty(), "{problems:?}");
        let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
        let adaptor = lying(opened(&cosmark_adaptors::swift::DEF, &[]), lie);
        let certificate = certified_by(adaptor, session, &["swift.auth"]).await.unwrap();
        let no = not_right(&certificate, Answer::No);
        assert_eq!((certificate.questions.len(), no.len()), (1, wanted), "{lie:?}: {no:?}");
    }
    drop(store);
}
