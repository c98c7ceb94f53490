//! Forms with a policy, taken by a store that looks at it, and by stores that do not: those write, behind a refusal,
//! what was in the form. Forms of Swift's are looked at here, before a store that has none.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Session, Settings, Whom};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_simstore::{Behaviour, SimStore};

use super::{before, certified_by, not_right, opened, speaking_s3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// It has none: no promise is broken.
    HasNone,
    /// It answers with a success that is another one: no promise is broken, either.
    SaysOk,
    /// What becomes of such a form, by the end of its name, is written all the same.
    Takes(&'static str),
    /// The same, and it says that it was refused.
    RefusesAndTakes(&'static str),
    /// The type of what is written is not looked at.
    LosesTypes,
}

struct Desk {
    inner: Box<dyn Asker>,
    lie: Lie,
}

/// A field of a form.
fn field(body: &str, name: &str) -> Option<String> {
    let begin = format!("name=\"{name}\"\r\n\r\n");
    let (value, _) = body.split_once(&begin)?.1.split_once("\r\n")?;
    Some(value.to_owned())
}

/// What is in the file of a form.
fn file_in(body: &[u8]) -> Vec<u8> {
    let begin = b"Content-Type: text/cosmark\r\n\r\n";
    let at = body.windows(begin.len()).position(|part| part == begin).unwrap() + begin.len();
    let end = body.windows(4).rposition(|part| part == b"\r\n--").unwrap();
    body[at..end].to_vec()
}

impl Desk {
    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        let is_form =
            ask.lines.iter().any(|line| line.0 == "content-type" && line.1.starts_with("multipart/"));
        if !is_form {
            return self.inner.ask(ask).await;
        }
        if self.lie == Lie::HasNone {
            return Ok(Reply { status: 405, ..Reply::default() });
        }
        let text = String::from_utf8_lossy(ask.body).into_owned();
        let key = field(&text, "key").unwrap();
        let mut reply = self.inner.ask(ask).await?;
        let is_taken = match self.lie {
            Lie::Takes(label) | Lie::RefusesAndTakes(label) => key.ends_with(label) && !reply.is_success(),
            Lie::LosesTypes => reply.is_success(),
            _ => false,
        };
        if is_taken {
            let file = file_in(ask.body);
            let lines = [("x-amz-meta-form", "one")];
            let put = Ask { lines: &lines, body: &file, ..Ask::new("PUT", ask.container, &key) };
            let written = self.inner.ask(&put).await?;
            assert_eq!((written.status, ask.whom), (200, Whom::Nobody));
        }
        if matches!(self.lie, Lie::Takes(_)) && is_taken {
            reply = Reply { status: 204, ..Reply::default() };
        }
        if self.lie == Lie::SaysOk && reply.is_success() {
            reply.status = 200;
        }
        Ok(reply)
    }
}

impl Asker for Desk {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }

    fn form(&self, conditions: &str, ends_in_s: i64) -> Result<Vec<(&'static str, String)>> {
        self.inner.form(conditions, ends_in_s)
    }
}

async fn asked(store: &EmbeddedStore, lie: Lie) -> Certificate {
    let desk = before(
        speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key())),
        |client| client,
        move |inner, _| Box::new(Desk { inner, lie }),
    );
    certified_by(desk, Session::default(), &["s3.form."]).await.unwrap()
}

#[tokio::test]
async fn forms_that_are_taken_although_their_policy_does_not_allow_it_are_found() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, usize, &[&str])] = &[
        (Lie::SaysNothing, 3, &[]),
        (Lie::HasNone, 0, &[]),
        (Lie::SaysOk, 2, &[]),
        (Lie::LosesTypes, 2, &["s3.form.write"]),
        (Lie::Takes("/changed"), 2, &["s3.form.policy"]),
        (Lie::Takes("/bent"), 2, &["s3.form.policy"]),
        (Lie::Takes("/over"), 2, &["s3.form.policy"]),
        (Lie::Takes("/unsigned"), 2, &["s3.form.policy"]),
        (Lie::RefusesAndTakes("/over"), 2, &["s3.form.policy"]),
        (Lie::Takes("-beside"), 2, &["s3.form.conditions"]),
        (Lie::Takes("/meta"), 2, &["s3.form.conditions"]),
        (Lie::Takes("/field"), 2, &["s3.form.conditions"]),
        (Lie::Takes("/large"), 2, &["s3.form.conditions"]),
        (Lie::RefusesAndTakes("/small"), 2, &["s3.form.conditions"]),
    ];
    let mut wrong = Vec::new();
    for (lie, right, wanted) in cases {
        let certificate = asked(&store, *lie).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted || certificate.counts.yes != *right {
            wrong.push(format!("{lie:?} should be answered by {wanted:?}, and is by {certificate:#?}"));
        }
        assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{certificate:#?}");
        if *lie == Lie::HasNone {
            let differs = not_right(&certificate, Answer::Differs);
            assert!(differs["s3.form.write"].starts_with("not offered: "), "{differs:#?}");
            assert_eq!((differs.len(), certificate.counts.not_asked), (1, 2), "{certificate:#?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Forms of Swift's that were signed: signature, most bytes and end.
type Signed = Arc<Mutex<Vec<[String; 3]>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwiftLie {
    SaysNothing,
    /// No form is good: no promise is broken.
    Refuses,
    TakesAnySignature,
    TakesAnyLength,
    TakesOld,
    TakesLarge,
    /// A form is refused, and its file is written.
    RefusesAndWrites,
}

struct Counter {
    inner: Box<dyn Asker>,
    lie: SwiftLie,
    signed: Signed,
}

impl Counter {
    /// The status of a form, where it is refused.
    fn refusal(&self, text: &str, bytes: usize) -> Option<u16> {
        let [signature, most, ends] =
            ["signature", "max_file_size", "expires"].map(|name| field(text, name).unwrap());
        let signed = self.signed.lock().unwrap();
        let found = signed.iter().find(|one| one[0] == signature);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        if self.lie == SwiftLie::Refuses || (found.is_none() && self.lie != SwiftLie::TakesAnySignature) {
            return Some(401);
        }
        if found.is_some_and(|one| one[1] != most) && self.lie != SwiftLie::TakesAnyLength {
            return Some(401);
        }
        if ends.parse::<u64>().unwrap() < now && self.lie != SwiftLie::TakesOld {
            return Some(401);
        }
        (bytes > most.parse().unwrap() && self.lie != SwiftLie::TakesLarge).then_some(400)
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.container.is_empty() && ask.object == "info" {
            let body = b"{\"swift\": {}, \"formpost\": {}}".to_vec();
            return Ok(Reply { status: 200, body, ..Reply::default() });
        }
        let is_form =
            ask.lines.iter().any(|line| line.0 == "content-type" && line.1.starts_with("multipart/"));
        if !is_form {
            return self.inner.ask(ask).await;
        }
        let (text, file) = (String::from_utf8_lossy(ask.body).into_owned(), file_in(ask.body));
        let refused = self.refusal(&text, file.len());
        if refused.is_none() || self.lie == SwiftLie::RefusesAndWrites {
            let object = format!("{}form.txt", ask.object);
            let put = Ask { body: &file, ..Ask::new("PUT", ask.container, &object) };
            let written = self.inner.ask(&put).await?;
            assert_eq!((written.status, ask.whom), (201, Whom::Nobody));
        }
        Ok(Reply { status: refused.unwrap_or(201), ..Reply::default() })
    }
}

impl Asker for Counter {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }

    fn form_by_key(
        &self,
        key: &str,
        place: (&str, &str),
        most_bytes: u64,
        ends_in_s: i64,
    ) -> Result<Vec<(&'static str, String)>> {
        let fields = self.inner.form_by_key(key, place, most_bytes, ends_in_s)?;
        let value = |name| fields.iter().find(|field| field.0 == name).unwrap().1.clone();
        self.signed.lock().unwrap().push(["signature", "max_file_size", "expires"].map(value));
        Ok(fields)
    }
}

#[tokio::test]
async fn forms_of_a_swift_that_are_taken_although_nobody_signed_them_so_are_found() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    for (lie, wanted) in [
        (SwiftLie::SaysNothing, Answer::Yes),
        (SwiftLie::Refuses, Answer::Differs),
        (SwiftLie::TakesAnySignature, Answer::No),
        (SwiftLie::TakesAnyLength, Answer::No),
        (SwiftLie::TakesOld, Answer::No),
        (SwiftLie::TakesLarge, Answer::No),
        (SwiftLie::RefusesAndWrites, Answer::No),
    ] {
        let url = format!("{}/auth/v1.0", store.url());
        let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
        let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
        assert!(problems.is_empty(), "{problems:?}");
        let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
        let signed = Signed::default();
        let counter = before(
            opened(&cosmark_adaptors::swift::DEF, &[]),
            |client| client,
            move |inner, _| Box::new(Counter { inner, lie, signed: Arc::clone(&signed) }),
        );
        let certificate = certified_by(counter, session, &["swift.form"]).await.unwrap();
        assert_eq!(not_right(&certificate, wanted).len(), 1, "{lie:?}: {certificate:#?}");
        assert_eq!(certificate.left_behind, Vec::<String>::new(), "{lie:?}");
        // The key is on no page, although its request is.
        assert!(serde_json::to_string(&certificate).unwrap().contains("temp-url-key: ***"), "{lie:?}");
    }
    assert_eq!(store.counters().unwrap().objects, 0);
    drop(store);
}
