//! Lies in what is said: conditions that never hold, lines of an answer and names in a listing that are not those of the
//! object. Each is found by the question about it, and by no other.

use std::cell::Cell;

use cosmark_adaptor_api::{Ask, Reply, Result, Whom};
use cosmark_certify::Answer;
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, SimStore};

use super::plants::replace;
use super::ways::asked_by_swift;
use super::{Lie, LyingAsker, are_found, not_right};

/// Which lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saying {
    /// Nothing was modified since any date.
    NothingModified,
    /// The same, by HEAD alone.
    NothingModifiedByHead,
    /// Everything was modified since any date.
    AllModified,
    /// A completion on a condition is refused, whatever is there.
    RefusesCompletions,
    /// A delete on a condition is refused, whatever is there.
    RefusesDeletes,
    /// On which date the source of a copy was modified is not looked at.
    CopiesOfAnyDate,
    /// A part at the end of an object is said to be one byte longer.
    EndsTooLate,
    /// A part of an object is said to be all of it.
    LengthOfPart,
    /// Dates are those of another zone, in HEAD and in listings.
    OtherZone,
    /// Dates in listings are those of the year before.
    ListsLastYear,
    /// A SHA-1 is never the right one.
    NoSha1IsRight,
    /// A read gives another SHA-256 than came with the write.
    GivesOtherSha256,
    /// The checksum of a whole object is looked at where it is right.
    TakesAnyWhole,
    /// Names of an encoded listing are encoded once more.
    EncodesTwice,
    /// Folded prefixes of an encoded listing are as they are.
    LeavesPrefixes,
    /// When an object is to go is not looked at where that is over.
    TakesTimesThatAreOver,
    /// An overwrite leaves the metadata of before.
    LeavesMetadata,
    /// A container is said to have twice as many bytes.
    CountsTwice,
    /// A page begins at the first name.
    IgnoresMarkers,
    /// Names in a listing as text have the signs of XML.
    EscapesText,
    /// Whom a container is opened to for reading may do everything.
    OpensMore,
    /// A copy by its own method is not done.
    OnlySaysCopied,
    /// Signatures of any time to come are good.
    TakesAhead,
    /// Who signed the frames of a body is not looked at.
    TakesForgedFrames,
    /// The answer to a copy has another ETag than the copy.
    OtherEtagOfCopy,
    /// Parts are listed with other ETags than they have.
    OtherEtagsOfParts,
    /// Of a delimiter the first sign counts.
    CutsDelimiters,
    /// A prefix that ends with a slash is listed itself, and not what is below it.
    ListsFolderItself,
}

thread_local! {
    /// A container was opened.
    static OPENED: Cell<bool> = const { Cell::new(false) };
}

/// The status of an answer that the lie gives without the store.
fn at_once(saying: Saying, ask: &Ask<'_>) -> Option<u16> {
    let has = |name: &str| ask.lines.iter().any(|line| line.0 == name);
    let is_on_condition = has("if-match") || has("if-none-match");
    let is_completion = ask.method == "POST" && ask.query.iter().any(|(name, _)| *name == "uploadId");
    let says_unmodified = has("if-modified-since") && !is_on_condition;
    match saying {
        Saying::NothingModified if says_unmodified && ask.method == "GET" => Some(304),
        Saying::NothingModifiedByHead if says_unmodified && ask.method == "HEAD" => Some(304),
        Saying::AllModified if has("if-unmodified-since") && !is_on_condition => Some(412),
        Saying::RefusesCompletions if is_on_condition && is_completion => Some(412),
        Saying::OnlySaysCopied if ask.method == "COPY" => Some(201),
        Saying::RefusesDeletes if is_on_condition && ask.method == "DELETE" => Some(412),
        _ => None,
    }
}

/// Whether a header line is not looked at.
fn is_overlooked(saying: Saying, ask: &Ask<'_>, (name, value): (&str, &str)) -> bool {
    match saying {
        Saying::TakesTimesThatAreOver => name == "x-delete-at" && value == "1000000000",
        Saying::CopiesOfAnyDate => name == "x-amz-copy-source-if-unmodified-since",
        Saying::TakesAnyWhole => {
            ask.method == "POST" && name == "x-amz-checksum-crc64nvme" && value == "AAAAAAAAAAA="
        }
        _ => false,
    }
}

impl LyingAsker {
    pub(super) async fn says(&mut self, saying: Saying, ask: &Ask<'_>) -> Result<Reply> {
        if let Some(status) = at_once(saying, ask) {
            return Ok(Reply { status, ..Reply::default() });
        }
        let heard = ask.lines.iter().copied().filter(|line| !is_overlooked(saying, ask, *line));
        let lines: Vec<(&str, &str)> = heard.collect();
        let mut query = ask.query.to_vec();
        query.retain(|(name, _)| saying != Saying::IgnoresMarkers || *name != "marker");
        for (name, value) in &mut query {
            match (saying, *name) {
                (Saying::CutsDelimiters, "delimiter") => *value = value.and_then(|all| all.get(..1)),
                (Saying::ListsFolderItself, "prefix") => *value = value.map(|all| all.trim_end_matches('/')),
                _ => {}
            }
        }
        if saying == Saying::OpensMore {
            OPENED.set(OPENED.get() || ask.lines.iter().any(|line| line.0 == "x-container-read"));
        }
        let whom = match (saying, ask.whom) {
            (Saying::TakesAhead, Whom::AnHourAhead) => Whom::Session,
            (Saying::TakesForgedFrames, Whom::ForgedFrames) => Whom::Frames,
            (Saying::OpensMore, _) if OPENED.get() => Whom::Session,
            (_, whom) => whom,
        };
        let reply = self.inner.ask(&Ask { lines: &lines, query: &query, whom, ..*ask }).await?;
        Ok(said(saying, ask, reply))
    }
}

/// What the lie answers.
fn said(saying: Saying, ask: &Ask<'_>, mut reply: Reply) -> Reply {
    let is_listing = ask.method == "GET" && ask.object.is_empty();
    let is_encoded = is_listing && ask.query.contains(&("encoding-type", Some("url")));
    match saying {
        Saying::EndsTooLate => replace(&mut reply, "content-range", |said| said.replace("-999/", "-1000/")),
        Saying::LengthOfPart => replace(&mut reply, "content-range", |said| match said.split_once('/') {
            Some((part, _)) => format!("{part}/100"),
            None => said.to_owned(),
        }),
        Saying::OtherZone if ask.method == "HEAD" => {
            // Seven hours later, or 17 before where that is another day.
            replace(&mut reply, "last-modified", |date| shifted(date, date.find(':').unwrap() - 2));
        }
        Saying::OtherZone if is_listing => in_texts(&mut reply, "LastModified", |date| shifted(date, 11)),
        Saying::ListsLastYear if is_listing => in_texts(&mut reply, "LastModified", |date| {
            let year: u32 = date[..4].parse().unwrap();
            format!("{}{}", year - 1, &date[4..])
        }),
        Saying::CountsTwice => replace(&mut reply, "x-container-bytes-used", |bytes| {
            (bytes.parse::<u64>().unwrap() * 2).to_string()
        }),
        Saying::EscapesText if is_listing && !ask.query.iter().any(|(name, _)| *name == "format") => {
            reply.body = String::from_utf8_lossy(&reply.body).replace('&', "&amp;").into_bytes();
        }
        Saying::EncodesTwice if is_encoded => in_texts(&mut reply, "Key", |name| name.replace('%', "%25")),
        Saying::LeavesPrefixes if is_encoded => {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            reply.body = text.replace("%26%C3%A9%2B%25/", "&amp;\u{e9}+%/").into_bytes();
        }
        Saying::OtherEtagOfCopy if ask.lines.iter().any(|line| line.0 == "x-amz-copy-source") => {
            in_texts(&mut reply, "ETag", |_| "&quot;0123456789abcdef0123456789abcdef&quot;".to_owned());
        }
        Saying::OtherEtagsOfParts
            if ask.method == "GET" && ask.query.iter().any(|(name, _)| *name == "uploadId") =>
        {
            in_texts(&mut reply, "ETag", |_| "&quot;0123456789abcdef0123456789abcdef&quot;".to_owned());
        }
        Saying::LeavesMetadata if ask.object.ends_with("-meta") && matches!(ask.method, "GET" | "HEAD") => {
            reply.lines.push(("x-object-meta-a".to_owned(), "old".to_owned()));
        }
        Saying::NoSha1IsRight if ask.lines.iter().any(|line| line.0 == "x-amz-checksum-sha1") => {
            let body = b"<Error><Code>BadDigest</Code></Error>".to_vec();
            reply = Reply { status: 400, body, ..Reply::default() };
        }
        Saying::GivesOtherSha256 if ask.method == "GET" => {
            replace(&mut reply, "x-amz-checksum-sha256", |own| own.replace('F', "G"));
        }
        _ => {}
    }
    reply
}

/// A date whose hour, which stands there, is another one.
fn shifted(date: &str, at: usize) -> String {
    let hour: u32 = date[at..at + 2].parse().unwrap();
    format!("{}{:02}{}", &date[..at], (hour + 7) % 24, &date[at + 2..])
}

/// Puts others into the elements of this name.
fn in_texts(reply: &mut Reply, name: &str, other: impl Fn(&str) -> String) {
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    let begin = format!("<{name}>");
    let mut parts = text.split(&begin);
    let mut body = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (own, rest) = part.split_once('<').unwrap();
        body.push_str(&format!("{begin}{}<{rest}", other(own)));
    }
    reply.body = body.into_bytes();
}

const fn says(saying: Saying) -> Lie {
    Lie::Says(saying)
}

#[tokio::test]
async fn conditions_that_never_hold_are_found_as_those_that_always_do() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only =
        ["s3.copy.", "s3.delete.", "s3.head.if-", "s3.multipart.create-once", "s3.multipart.if-", "s3.read."];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::NothingModified), &["s3.read.if-modified"]),
        (says(Saying::NothingModifiedByHead), &["s3.head.if-modified"]),
        (says(Saying::AllModified), &["s3.head.if-modified", "s3.read.if-modified"]),
        (says(Saying::RefusesCompletions), &["s3.multipart.create-once", "s3.multipart.if-match"]),
        (says(Saying::RefusesDeletes), &["s3.delete.if-match"]),
        (says(Saying::CopiesOfAnyDate), &["s3.copy.dates"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn parts_that_are_said_to_be_others_and_dates_of_another_time_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["s3.modified", "s3.multipart.ranges", "s3.range.", "s3.head.same"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (
            says(Saying::EndsTooLate),
            &[
                "s3.range.beyond-end",
                "s3.range.ends",
                "s3.range.open",
                "s3.range.suffix",
                "s3.range.suffix-longer",
            ],
        ),
        (
            says(Saying::LengthOfPart),
            &[
                "s3.multipart.ranges",
                "s3.range.beyond-end",
                "s3.range.ends",
                "s3.range.head",
                "s3.range.open",
                "s3.range.suffix",
                "s3.range.suffix-longer",
            ],
        ),
        (says(Saying::ListsLastYear), &["s3.modified"]),
    ];
    are_found(&store, &only, cases).await;
    // HEAD and the read say then another date, too.
    are_found(&store, &["s3.modified"], &[(says(Saying::OtherZone), &["s3.modified"])]).await;
}

#[tokio::test]
async fn checksums_that_are_refused_or_others_than_came_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["s3.checksum.given-back", "s3.checksum.crc", "s3.multipart.checksum"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::NoSha1IsRight), &["s3.checksum.given-back"]),
        (says(Saying::GivesOtherSha256), &["s3.checksum.given-back"]),
        (says(Saying::TakesAnyWhole), &["s3.multipart.checksum-whole"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn encoded_names_that_are_others_when_they_are_decoded_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::EncodesTwice), &["s3.list.encoding"]),
        (says(Saying::LeavesPrefixes), &["s3.list.encoding"]),
    ];
    are_found(&store, &["s3.list.encoding"], cases).await;
}

#[tokio::test]
async fn a_swift_that_says_of_objects_and_containers_what_is_not_so_is_found() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let only = [
        "swift.acl",
        "swift.content-headers",
        "swift.copy.verb",
        "swift.counts",
        "swift.delete-at.past",
        "swift.json-and-xml",
        "swift.overwrite.",
        "swift.pages",
        "swift.range.",
        "swift.same",
    ];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (Lie::HeadDiffers, &["swift.content-headers", "swift.same"]),
        (says(Saying::OnlySaysCopied), &["swift.copy.verb"]),
        (says(Saying::CountsTwice), &["swift.counts"]),
        (says(Saying::LeavesMetadata), &["swift.overwrite.metadata"]),
        (says(Saying::TakesTimesThatAreOver), &["swift.delete-at.past"]),
        (says(Saying::EscapesText), &["swift.json-and-xml"]),
        (says(Saying::IgnoresMarkers), &["swift.pages"]),
        (
            says(Saying::EndsTooLate),
            &[
                "swift.range.beyond-end",
                "swift.range.ends",
                "swift.range.suffix",
                "swift.range.suffix-longer",
            ],
        ),
        (says(Saying::OpensMore), &["swift.acl"]),
    ];
    let mut wrong = Vec::new();
    for (lie, wanted) in cases {
        let certificate = asked_by_swift(&store, *lie, &only).await;
        let of_readers = certificate.questions.iter().find(|one| one.id == "swift.acl").unwrap();
        let last = of_readers.evidence.last().unwrap();
        assert!(last.request.contains("x-remove-container-read"), "{lie:?} leaves it open: {last:?}");
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted {
            wrong.push(format!("{lie:?} is answered by {no:#?}, and should be by {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    drop(store);
}

#[tokio::test]
async fn signatures_of_another_time_and_frames_of_another_secret_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::TakesAhead), &["s3.auth.ahead"]),
        (says(Saying::TakesForgedFrames), &["s3.auth.frames"]),
    ];
    are_found(&store, &["s3.auth."], cases).await;
}

#[tokio::test]
async fn etags_of_copies_and_of_listed_parts_that_are_others_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only = ["s3.copy.", "s3.multipart.etag", "s3.multipart.list-parts"];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::OtherEtagOfCopy), &["s3.copy.etag"]),
        (says(Saying::OtherEtagsOfParts), &["s3.multipart.list-parts"]),
    ];
    are_found(&store, &only, cases).await;
}

#[tokio::test]
async fn prefixes_and_delimiters_that_are_taken_for_others_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::CutsDelimiters), &["s3.list.delimiters"]),
        (says(Saying::ListsFolderItself), &["s3.list.delimiters"]),
    ];
    are_found(&store, &["s3.list.delimiter"], cases).await;
}
