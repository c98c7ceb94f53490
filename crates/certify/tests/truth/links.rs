//! A Swift with temporary links and quotas, honest and not: they are looked at here, before a store that has neither.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Settings, Whom};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use super::{before, certified_by, not_right, opened};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// Links are good for ever.
    TakesOld,
    /// How long a link is good for is not signed.
    TakesStretched,
    /// The name is not signed.
    TakesOthers,
    /// The method is not signed.
    TakesAnyMethod,
    /// Any key is that of the container.
    TakesAnyKey,
    /// A prefix is not looked at.
    OverlooksPrefixes,
    /// A key that was taken away is good for a while: no promise is broken.
    RemembersKeys,
    /// A quota is taken and not looked at.
    ForgetsQuotas,
    /// A write beyond the quota is refused and done.
    WritesBeyondQuotas,
}

/// The most that the container with a quota takes, bytes.
const QUOTA: usize = 100_000;
const INFO: &str = r#"{"swift": {}, "tempurl": {"methods": ["GET", "PUT"]}, "container_quotas": {}}"#;

struct Gate {
    inner: Box<dyn Asker>,
    lie: Lie,
    key: Arc<Mutex<Option<String>>>,
}

fn answer(status: u16, body: &str) -> Reply {
    Reply { status, lines: Vec::new(), body: body.as_bytes().to_vec() }
}

impl Gate {
    /// Whether a link is good for this.
    fn lets_in(&self, ask: &Ask<'_>) -> bool {
        let given = ask.payload.map(str::to_owned);
        let has_key = given.is_some() && (given == *self.key.lock().unwrap() || self.lie == Lie::TakesAnyKey);
        let prefix = ask.query.iter().find(|(name, _)| *name == "temp_url_prefix").and_then(|(_, own)| *own);
        let is_below = prefix.is_none_or(|prefix| ask.object.starts_with(prefix));
        let is_signed = match ask.whom {
            Whom::OldLink => self.lie == Lie::TakesOld,
            Whom::StretchedLink => self.lie == Lie::TakesStretched,
            Whom::LinkToOther => self.lie == Lie::TakesOthers,
            _ => true,
        };
        let is_for = ask.method == ask.whom.method_of_link() || self.lie == Lie::TakesAnyMethod;
        has_key && (is_below || self.lie == Lie::OverlooksPrefixes) && is_signed && is_for
    }

    fn remembers_key(&self, ask: &Ask<'_>) {
        for (name, value) in ask.lines {
            match *name {
                "x-container-meta-temp-url-key" => *self.key.lock().unwrap() = Some((*value).to_owned()),
                "x-remove-container-meta-temp-url-key" if self.lie != Lie::RemembersKeys => {
                    *self.key.lock().unwrap() = None;
                }
                _ => {}
            }
        }
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.container.is_empty() && ask.object == "info" {
            return Ok(answer(200, INFO));
        }
        self.remembers_key(ask);
        if ask.whom.has_link() && !self.lets_in(ask) {
            return Ok(answer(401, "<html>401 Unauthorized</html>"));
        }
        let whom = if ask.whom.has_link() { Whom::Session } else { ask.whom };
        let query: Vec<(&str, Option<&str>)> =
            ask.query.iter().copied().filter(|(name, _)| *name != "temp_url_prefix").collect();
        let is_beyond = ask.method == "PUT" && ask.container.ends_with("-quota") && ask.body.len() > QUOTA;
        if is_beyond && !matches!(self.lie, Lie::ForgetsQuotas | Lie::WritesBeyondQuotas) {
            return Ok(answer(413, "<html>Upload exceeds quota.</html>"));
        }
        let reply = self.inner.ask(&Ask { whom, payload: None, query: &query, ..*ask }).await?;
        Ok(if is_beyond && self.lie == Lie::WritesBeyondQuotas { answer(413, "") } else { reply })
    }
}

impl Asker for Gate {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

async fn asked(store: &Handle, lie: Lie) -> (Certificate, Option<String>) {
    let url = format!("{}/auth/v1.0", store.url());
    let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
    let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
    let key = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&key);
    let adaptor = before(
        opened(&cosmark_adaptors::swift::DEF, &[]),
        |client| client,
        move |inner, _| Box::new(Gate { inner, lie, key: Arc::clone(&shared) }),
    );
    let certificate = certified_by(adaptor, session, &["swift.link.", "swift.quota"]).await.unwrap();
    let left = key.lock().unwrap().clone();
    (certificate, left)
}

#[tokio::test]
async fn a_store_with_links_and_quotas_is_right_and_has_no_key_and_nothing_else_left() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let (certificate, key) = asked(&store, Lie::SaysNothing).await;
    assert_eq!((certificate.counts.yes, certificate.questions.len()), (4, 4), "{certificate:#?}");
    assert_eq!((certificate.left_behind.len(), key), (0, None), "{:?}", certificate.left_behind);
    assert_eq!(store.counters().unwrap().objects, 0);
    // The key is on no page, although its request is.
    let text = serde_json::to_string(&certificate).unwrap();
    assert!(text.contains("temp-url-key: ***"), "{text}");
    drop(store);
}

#[tokio::test]
async fn lies_about_links_and_quotas_are_found_by_the_questions_about_them() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let cases: &[(Lie, &[&str])] = &[
        (Lie::TakesOld, &["swift.link.read"]),
        (Lie::TakesStretched, &["swift.link.read"]),
        (Lie::TakesOthers, &["swift.link.read"]),
        (Lie::TakesAnyMethod, &["swift.link.read", "swift.link.write"]),
        (Lie::TakesAnyKey, &["swift.link.write"]),
        (Lie::OverlooksPrefixes, &["swift.link.prefix"]),
        (Lie::RemembersKeys, &[]),
        (Lie::ForgetsQuotas, &["swift.quota"]),
        (Lie::WritesBeyondQuotas, &["swift.quota"]),
    ];
    let mut wrong = Vec::new();
    for (lie, wanted) in cases {
        let (certificate, _) = asked(&store, *lie).await;
        assert_eq!(certificate.left_behind, Vec::<String>::new(), "{lie:?}");
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted {
            wrong.push(format!("{lie:?} is answered by {no:#?}, and should be by {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    drop(store);
}
