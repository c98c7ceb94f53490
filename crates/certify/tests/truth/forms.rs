//! Forms with a policy, taken by a store that looks at it, and by stores that do not: those write, behind a refusal,
//! what was in the form.

use std::pin::Pin;

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Session, Whom};
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{before, certified_by, not_right, speaking_s3};

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
