//! A store with lifecycle rules, honest and not: it remembers them itself, before a store that has none.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Session};
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{before, certified_by, not_right, speaking_s3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// It refuses all rules: no promise is broken.
    HasNone,
    /// Rules are acknowledged and gone.
    ForgetsRules,
    /// A rule for other names.
    DropsPrefixes,
    /// A rule has another ID than was set: nothing is lost by it.
    MakesUpIds,
    TakesZeroDays,
    /// Rules need no names: nothing is lost by it.
    TakesOneIdTwice,
    /// A refused document has taken the rules of before.
    RefusalForgets,
    RemembersDeleted,
}

struct Rules {
    inner: Box<dyn Asker>,
    lie: Lie,
    document: Arc<Mutex<Option<String>>>,
}

fn answer(status: u16, code: &str) -> Reply {
    let body = format!("<Error><Code>{code}</Code></Error>").into_bytes();
    Reply { status, body, ..Reply::default() }
}

impl Rules {
    fn set(&self, text: &str, document: &mut Option<String>) -> Reply {
        let ids: Vec<&str> =
            text.split("<ID>").skip(1).filter_map(|rest| rest.split("</ID>").next()).collect();
        let is_twice = ids.len() == 2 && ids[0] == ids[1] && self.lie != Lie::TakesOneIdTwice;
        let is_zero = text.contains("<Days>0</Days>") && self.lie != Lie::TakesZeroDays;
        if is_twice || is_zero {
            if self.lie == Lie::RefusalForgets {
                *document = None;
            }
            return answer(400, "InvalidArgument");
        }
        let prefix = if self.lie == Lie::DropsPrefixes { "" } else { "old/" };
        let id = if self.lie == Lie::MakesUpIds { "old" } else { "cosmark-one" };
        let text = text.replace("old/", prefix).replace("cosmark-one", id);
        *document = Some(text).filter(|_| self.lie != Lie::ForgetsRules);
        Reply { status: 200, ..Reply::default() }
    }

    fn about(&self, ask: &Ask<'_>) -> Reply {
        let mut document = self.document.lock().unwrap();
        match ask.method {
            _ if self.lie == Lie::HasNone => answer(501, "NotImplemented"),
            "PUT" => self.set(&String::from_utf8_lossy(ask.body), &mut document),
            "DELETE" => {
                *document = document.take().filter(|_| self.lie == Lie::RemembersDeleted);
                Reply { status: 204, ..Reply::default() }
            }
            _ => match &*document {
                Some(text) => Reply { status: 200, body: text.clone().into_bytes(), ..Reply::default() },
                None => answer(404, "NoSuchLifecycleConfiguration"),
            },
        }
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.query.iter().any(|(name, _)| *name == "lifecycle") {
            return Ok(self.about(ask));
        }
        self.inner.ask(ask).await
    }
}

impl Asker for Rules {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

async fn asked(lie: Lie) -> (Lie, Certificate, u64) {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let document = Arc::new(Mutex::new(None));
    let rules = before(
        speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key())),
        |client| client,
        move |inner, _| Box::new(Rules { inner, lie, document: Arc::clone(&document) }),
    );
    let certificate = certified_by(rules, Session::default(), &["s3.lifecycle"]).await.unwrap();
    (lie, certificate, store.used_bytes())
}

#[tokio::test]
async fn rules_that_are_not_what_was_set_are_found() {
    let cases = [
        (Lie::SaysNothing, Answer::Yes),
        (Lie::HasNone, Answer::Differs),
        (Lie::ForgetsRules, Answer::No),
        (Lie::DropsPrefixes, Answer::No),
        (Lie::MakesUpIds, Answer::Differs),
        (Lie::TakesZeroDays, Answer::No),
        (Lie::TakesOneIdTwice, Answer::Differs),
        (Lie::RefusalForgets, Answer::No),
        (Lie::RemembersDeleted, Answer::No),
    ];
    // Who is wrong is looked at for some seconds.
    let all = futures_util::future::join_all(cases.map(|(lie, _)| asked(lie))).await;
    for ((lie, certificate, used), (_, wanted)) in all.iter().zip(cases) {
        assert_eq!(not_right(certificate, wanted).len(), 1, "{lie:?}: {certificate:#?}");
        assert_eq!((certificate.left_behind.len(), *used), (0, 0), "{lie:?}: {certificate:#?}");
    }
}
