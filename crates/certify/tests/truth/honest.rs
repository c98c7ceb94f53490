//! Stores that keep what they promise, as far as is known of them.

use cosmark_certify::{Answer, Certificate, QUESTIONS, compare, comparison_markdown, html, markdown};
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, SimStore};

use super::{certified_s3, certified_swift, not_right};

#[tokio::test]
async fn a_store_that_keeps_every_promise_is_not_slandered_and_nothing_is_left_in_it() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let certificate = certified_s3(&store.endpoint(), (store.access_key(), store.secret_key()), &[]).await;
    assert_eq!(not_right(&certificate, Answer::No), [].into(), "{certificate:#?}");
    let differs: Vec<String> = not_right(&certificate, Answer::Differs).into_keys().collect();
    // It has no access lists, attributes, CORS, encryption, lifecycle rules, locks, policies, tags and versions, and
    // says so; a storage class is any word, a signature is good for any region, and lines need none.
    let known = [
        "s3.acl.public",
        "s3.attributes",
        "s3.auth.region",
        "s3.auth.unsigned",
        "s3.cors",
        "s3.delete.if-match",
        "s3.error.document",
        "s3.lifecycle",
        "s3.lock.on",
        "s3.policy.public",
        "s3.range.nonsense",
        "s3.range.several",
        "s3.sse-c.read",
        "s3.storage-class",
        "s3.tags.object",
        "s3.versions.on",
    ];
    assert_eq!(differs, known);
    let offered =
        |one: &&cosmark_certify::Asked| ["s3.tags.", "s3.versions."].iter().any(|of| one.id.starts_with(of));
    assert_eq!(certificate.questions.iter().filter(offered).count(), 13);
    assert!(certificate.counts.yes > 95, "{:?}", certificate.counts);
    assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{:?}", certificate.left_behind);
    // No question that belongs to it was forgotten.
    let asked: Vec<&str> = certificate.questions.iter().map(|one| one.id.as_str()).collect();
    let all = QUESTIONS.iter().copied().flatten().map(|row| row.id).filter(|id| !id.starts_with("swift."));
    assert_eq!(asked, all.collect::<Vec<_>>());
    // The secret is nowhere, in whatever form the certificate is shown.
    for text in [serde_json::to_string(&certificate).unwrap(), markdown(&certificate), html(&certificate)] {
        assert!(text.contains("s3.read.if-match") || text.contains("s3\\.read"), "{text}");
        assert!(!text.contains(store.secret_key()));
    }
}

/// Its own files say what it does not do: it reads signatures for the access key only, looks at no conditions on dates and at none of
/// deletes, and verifies no checksums but MD5.
const NOT_IN_SIMSTORE_S3: &[&str] = &[
    "s3.auth.ahead",
    "s3.auth.bent-link",
    "s3.auth.changes",
    "s3.auth.frames",
    "s3.auth.late",
    "s3.auth.link",
    "s3.auth.write-link",
    "s3.checksum.crc64nvme",
    "s3.checksum.others",
    "s3.copy.dates",
    "s3.delete.if-match",
    "s3.error.anonymous",
    "s3.error.body-hash",
    "s3.error.checksum",
    "s3.error.content-md5",
    "s3.error.invalid-md5",
    "s3.error.trailer",
    "s3.error.unknown-user",
    "s3.error.wrong-secret",
    "s3.head.if-modified",
    "s3.multipart.checksum",
    "s3.read.if-modified",
];

/// The same of Swift's API: conditions on dates.
const NOT_IN_SIMSTORE_SWIFT: &[&str] = &["swift.read.if-modified"];

/// What the `/info` of a Swift does not name is not offered, and nothing is held against it.
fn is_not_offered_what_is_not_named(certificate: &Certificate) {
    let not_asked = not_right(certificate, Answer::NotAsked);
    for id in [
        "any.delete-many",
        "swift.bulk-upload",
        "swift.form",
        "swift.link.prefix",
        "swift.link.read",
        "swift.link.write",
        "swift.quota",
        "swift.versions.delete",
        "swift.versions.list",
        "swift.versions.off",
        "swift.versions.read",
    ] {
        let why = not_asked.get(id).unwrap_or_else(|| panic!("{id}: {not_asked:#?}"));
        assert!(why.starts_with("not offered: /info does not name "), "{id}: {why}");
    }
}

#[tokio::test]
async fn the_honest_simstore_lies_to_nobody_by_either_protocol() {
    let behaviour = Behaviour::from_yaml("etag: md5").unwrap();
    let store = SimStore::start(behaviour, "127.0.0.1:0").unwrap();
    let by_s3 = certified_s3(&store.url(), ("any", "anysecret"), &[]).await;
    let mut wrong = not_right(&by_s3, Answer::No);
    wrong.retain(|id, _| !NOT_IN_SIMSTORE_S3.contains(&id.as_str()));
    assert_eq!(wrong, [].into());
    let is_yes = |id: &str| by_s3.questions.iter().any(|one| one.id == id && one.answer == Answer::Yes);
    let answered = [
        "s3.copy.overwrites",
        "s3.delete-many.names",
        "s3.head.if-match",
        "s3.list.prefix-signs",
        "s3.metadata.signs",
        "s3.multipart.beside-writes",
        "s3.multipart.copy-beyond",
        "s3.multipart.left-out",
        "s3.multipart.part-late",
        "s3.name.first-slash",
        "s3.multipart.headers",
        "s3.multipart.list-uploads-pages",
        "s3.range.head",
        "s3.range.if-range",
        "s3.read.conditions-together",
        "s3.sub-resource.bucket",
        "s3.sub-resource.object",
    ];
    assert!(answered.iter().all(|id| is_yes(id)), "{by_s3:#?}");
    // What it has not it refuses, and what it does not look at loses nothing.
    let differs = not_right(&by_s3, Answer::Differs);
    let others = [
        "s3.form.write",
        "s3.lifecycle",
        "s3.lock.on",
        "s3.response-headers.others",
        "s3.sse-c.read",
        "s3.storage-class",
        "s3.tags.object",
        "s3.versions.on",
    ];
    assert!(others.iter().all(|id| differs.contains_key(*id)), "{differs:#?}");
    let by_swift = certified_swift(&store.url(), &[]).await;
    let mut wrong = not_right(&by_swift, Answer::No);
    wrong.retain(|id, _| !NOT_IN_SIMSTORE_SWIFT.contains(&id.as_str()));
    assert_eq!(wrong, [].into());
    is_not_offered_what_is_not_named(&by_swift);
    assert_eq!((by_s3.left_behind.len(), by_swift.left_behind.len()), (0, 0), "{:?}", by_s3.left_behind);
    assert!(by_swift.counts.yes > 30, "{:?}", by_swift.counts);
    let is_yes = |id: &str| by_swift.questions.iter().any(|one| one.id == id && one.answer == Answer::Yes);
    let answered = [
        "swift.container.again",
        "swift.content-headers",
        "swift.copy.metadata",
        "swift.copy.verb",
        "swift.counts",
        "swift.delete-at.over",
        "swift.delete-at.past",
        "swift.head.if-match",
        "swift.head.if-none-match",
        "swift.list.reverse",
        "swift.list.window",
        "swift.newest",
        "swift.dlo.ranges",
        "swift.overwrite.metadata",
        "swift.pages",
        "swift.post.keeps",
        "swift.range.ends",
        "swift.range.several",
        "swift.range.suffix-longer",
        "swift.same",
        "swift.slo.changed",
        "swift.slo.delete",
        "swift.slo.part",
        "swift.slo.ranges",
    ];
    assert!(answered.iter().all(|id| is_yes(id)), "{by_swift:#?}");
    let differs = not_right(&by_swift, Answer::Differs);
    assert!(["swift.acl", "swift.json-and-xml"].iter().all(|id| differs.contains_key(*id)), "{differs:#?}");
    // Both were asked what belongs to no protocol; certificates compare by question.
    let differences = compare(&by_s3, &by_swift);
    assert!(differences.iter().any(|one| one.id.starts_with("swift.") && one.first.is_none()));
    assert!(comparison_markdown(&by_s3, &by_swift).contains("not put to it"));
    assert_eq!(compare(&by_s3, &by_s3), []);
    let text = serde_json::to_string(&by_s3).unwrap();
    // The history is in files of its own, and in no certificate.
    let written = Certificate { history: Default::default(), ..by_s3.clone() };
    assert_eq!(Certificate::from_json(&text).unwrap(), written);
    let (lines, events) = (by_s3.history.porcupine(), by_s3.history.jepsen());
    assert!(lines.lines().count() > 100 && events.lines().count() >= lines.lines().count() * 2, "{lines}");
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["Input"]["Op"].is_string() && events.starts_with("{:index 0, :type :invoke"), "{first}");
    drop(store);
}

#[test]
fn what_is_no_certificate_or_a_later_one_is_refused_with_a_sentence() {
    for (text, words) in [("{}", "no certificate"), ("[", "no certificate"), ("{\"schema\": 9}", "version 9")]
    {
        assert!(Certificate::from_json(text).unwrap_err().contains(words), "{text}");
    }
}
