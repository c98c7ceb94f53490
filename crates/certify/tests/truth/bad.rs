//! Stores that hang, send garbage, or put into their answers what should not stand on a page.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    Ask, Asker, BytesSource, Marks, ObjectName, Protocol, PutOptions, Reply, Result, Session, Stars,
};
use cosmark_certify::{Answer, Certifying, html, markdown};
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use super::{before, certified_s3, certifying, not_right, speaking_s3};

fn store(yaml: &str) -> Handle {
    SimStore::start(Behaviour::from_yaml(yaml).unwrap(), "127.0.0.1:0").unwrap()
}

#[tokio::test]
async fn a_store_that_sends_garbage_or_breaks_off_is_named_and_ends_the_certification_soon() {
    for rule in [
        "garbage_status_line: {op: [get, put, head, delete, multipart_start]}",
        "reset: {at: reply, op: [get, put, head, delete, multipart_start]}",
        "endless_headers: {op: [get, put, head, delete, multipart_start], limit_bytes: 100000}",
    ] {
        let store = store(rule);
        let certificate =
            certified_s3(&store.url(), ("any", "anysecret"), &["any.", "s3.error", "s3.range"]).await;
        assert!(
            certificate.ended_early.as_deref().is_some_and(|why| why.contains("has not answered")),
            "{rule}"
        );
        assert!(certificate.answered(Answer::No).count() >= 1, "{rule}: {:?}", certificate.counts);
        assert_eq!(certificate.counts.yes, 0, "{rule}: {certificate:#?}");
        drop(store);
    }
}

#[tokio::test]
async fn a_store_that_is_busy_now_and_then_is_asked_again_and_not_slandered() {
    let only = ["any.read-back", "any.head", "s3.etag.same", "s3.listing.size"];
    for status in [503, 429] {
        let busy = store(&format!(
            "{{etag: md5, errors: {{op: [get, put, head, list], status: {status}, every_nth: 3}}}}"
        ));
        let certificate = certified_s3(&busy.url(), ("any", "anysecret"), &only).await;
        assert_eq!(certificate.counts.yes, only.len(), "{status}: {certificate:#?}");
        assert!(
            certificate.questions.iter().any(|one| one.saw.contains("was asked again"))
                && certificate
                    .questions
                    .iter()
                    .flat_map(|one| &one.evidence)
                    .any(|one| one.reply.contains("503") || one.reply.contains("429")),
            "{status}: {certificate:#?}"
        );
        drop(busy);
    }
    // Where all write at once nobody waits: it says nothing of what was asked, and nothing against the store.
    let busy = store("{etag: md5, errors: {op: [put], status: 503, every_nth: 3}}");
    let at_once = ["any.side-by-side", "any.read-while-written"];
    let certificate = certified_s3(&busy.url(), ("any", "anysecret"), &at_once).await;
    assert_eq!((certificate.counts.not_asked, certificate.counts.no), (2, 0), "{certificate:#?}");
    drop(busy);
    // Reads that were busy beside others say nothing, and the others count.
    let busy = store("{etag: md5, errors: {op: [get], status: 503, every_nth: 3}}");
    let beside = ["any.read-while-created", "any.read-while-written"];
    let certificate = certified_s3(&busy.url(), ("any", "anysecret"), &beside).await;
    assert_eq!(certificate.counts.yes, 2, "{certificate:#?}");
    drop(busy);
    // A delete is asked for once only, and is not done: nobody knows what would be gone.
    let busy = store("{etag: md5, errors: {op: [delete, multi_delete], status: 503}}");
    let certificate = certified_s3(&busy.url(), ("any", "anysecret"), &["any.delete"]).await;
    assert!(certificate.counts.no == 0 && certificate.counts.not_asked >= 2, "{certificate:#?}");
    assert!(
        certificate.questions.iter().any(|one| one.saw.contains("the store was busy: ")),
        "{certificate:#?}"
    );
    drop(busy);
    // What would have stood in an answer is not missing where there was none.
    let busy = store("{etag: md5, errors: {op: [head, list], status: 503}}");
    let looking = ["s3.etag.same", "s3.listing.size", "s3.metadata.signs", "s3.multipart.headers"];
    let certificate = certified_s3(&busy.url(), ("any", "anysecret"), &looking).await;
    assert_eq!((certificate.counts.not_asked, certificate.counts.no), (4, 0), "{certificate:#?}");
    drop(busy);
    // One that is busy all the time is none that answers.
    let never = store("errors: {op: [get, put, head, list], status: 503}");
    let certificate = certified_s3(&never.url(), ("any", "anysecret"), &only).await;
    assert_eq!(certificate.counts.yes, 0, "{certificate:#?}");
    drop(never);
}

#[tokio::test]
async fn a_read_that_breaks_off_is_no_object_that_is_gone() {
    let store = store("{etag: md5, truncate: [{op: get}]}");
    let certificate = certified_s3(&store.url(), ("any", "anysecret"), &["any.delete-many"]).await;
    assert_eq!((certificate.counts.yes, certificate.questions.len()), (0, 1), "{certificate:#?}");
    let saw = &certificate.questions[0].saw;
    assert!(!saw.contains("is gone") && !saw.contains("is there"), "{saw}");
    drop(store);
}

#[tokio::test]
async fn a_read_that_never_ends_is_no_answer_and_the_questions_that_need_no_read_are_asked() {
    let store = store("slow_trickle: {op: get, bytes: 1, every_ms: 60000}");
    let certificate = tokio::time::timeout(
        Duration::from_secs(110),
        certified_s3(&store.url(), ("any", "anysecret"), &["any.head", "any.overwrite", "s3.etag.changes"]),
    )
    .await
    .unwrap();
    assert_eq!(not_right(&certificate, Answer::No).into_keys().collect::<Vec<_>>(), ["any.overwrite"]);
    assert_eq!(certificate.counts.yes, 2, "{certificate:#?}");
    drop(store);
}

#[tokio::test]
async fn what_a_store_says_stays_text_on_every_page() {
    let code = "<script>alert(1)</script>\u{1b}[2J|*x*";
    let yaml = format!("errors: {{op: get, status: 403, code: {}}}", serde_json::Value::from(code));
    let store = store(&yaml);
    let certificate =
        certified_s3(&store.url(), ("any", "anysecret"), &["s3.error.no-such-key", "any.read-missing"]).await;
    let page = html(&certificate);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");
    let text = markdown(&certificate);
    assert!(!text.contains('\u{1b}') && !text.contains("<script>") && !text.contains("]|*"), "{text}");
    drop(store);
}

#[tokio::test]
async fn a_given_container_that_is_not_there_is_a_mistake_and_no_answer_of_the_store() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let adaptor = speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key()));
    let asking = |container: &str| Certifying {
        container: Some(container.to_owned()),
        ..certifying(Arc::clone(&adaptor), Session::default(), &["any.read-back", "any.list"], None)
    };
    let missing = asking("nowhere").run(&mut |_| {}, std::future::pending()).await.unwrap_err();
    assert!(missing.contains("nowhere") && missing.contains("make it before"), "{missing}");
    // One that is there is asked, and what else is in it stays alone.
    let mut client = adaptor.client(&Arc::new(Session::default())).unwrap();
    let mut marks = Marks::default();
    client.create_container("mine", &mut marks).await.unwrap();
    let other = ObjectName { container: "mine", object: "other" };
    let body = BytesSource(b"mine");
    client.put(other, &body, PutOptions::default(), &mut marks).await.unwrap();
    let certificate = asking("mine").run(&mut |_| {}, std::future::pending()).await.unwrap();
    assert_eq!(not_right(&certificate, Answer::No), [].into(), "{certificate:#?}");
    assert!(certificate.counts.yes >= 2, "{:?}", certificate.counts);
    assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 4), "{:?}", certificate.left_behind);
}

/// A store that gives back a secret wherever it says something.
struct Echo {
    inner: Box<dyn Asker>,
}

const SECRET: &str = "Zq7xWv93LmTb42KdRs81YhPc65";

impl Asker for Echo {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(async move {
            let mut reply = self.inner.ask(ask).await?;
            // Where a page cuts the line.
            reply.lines.insert(0, ("server".to_owned(), format!("{}{SECRET}", "s".repeat(70))));
            if ask.object.contains("missing") {
                let code = format!("<Error><Code>{}{SECRET}</Code></Error>", "c".repeat(55));
                reply.body = code.into_bytes();
            }
            Ok(reply)
        })
    }
}

#[tokio::test]
async fn a_secret_that_a_store_gives_back_is_on_no_page_not_even_a_part_of_it() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let inner = speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key()));
    let adaptor = before(inner, |client| client, |inner, _| Box::new(Echo { inner }));
    let asking = Certifying {
        hidden: Stars::new(vec![SECRET.to_owned()], Vec::new()),
        ..certifying(adaptor, Session::default(), &["s3.error.no-such-key", "s3.bucket.head"], None)
    };
    let certificate = asking.run(&mut |_| {}, std::future::pending()).await.unwrap();
    assert_eq!(certificate.questions.len(), 2, "{certificate:#?}");
    let json = serde_json::to_string(&certificate).unwrap();
    assert!(certificate.target.server.is_some() && json.contains("404"), "{json}");
    for text in [json, markdown(&certificate), html(&certificate)] {
        assert!(!text.contains(&SECRET[..6]), "{text}");
    }
}

/// A store that keeps no metadata and calls all bytes by one ETag.
struct Blank {
    inner: Box<dyn Asker>,
}

impl Asker for Blank {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(async move {
            let mut reply = self.inner.ask(ask).await?;
            reply.lines.retain(|line| !line.0.starts_with("x-amz-meta-"));
            reply
                .lines
                .iter_mut()
                .filter(|line| line.0 == "etag")
                .for_each(|line| line.1 = "\"same\"".to_owned());
            Ok(reply)
        })
    }
}

#[tokio::test]
async fn nothing_is_answered_yes_because_there_is_nothing_to_see() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let inner = speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key()));
    let adaptor = before(inner, |client| client, |inner, _| Box::new(Blank { inner }));
    let only = ["s3.etag.overwritten", "s3.overwrite.metadata"];
    let asking = certifying(adaptor, Session::default(), &only, None);
    let certificate = asking.run(&mut |_| {}, std::future::pending()).await.unwrap();
    let answers: Vec<Answer> = certificate.questions.iter().map(|one| one.answer).collect();
    assert_eq!(answers, [Answer::No, Answer::NotAsked], "{certificate:#?}");
}
