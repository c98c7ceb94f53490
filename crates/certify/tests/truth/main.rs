//! Certifications of stores whose truth is known: an honest one is not slandered, each lie is found and nothing else is called one,
//! and no store can hold a certification up or spoil its page. `make certify-truth` runs these.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod access;
mod archives;
mod bad;
mod encryption;
mod forms;
mod honest;
mod liar;
mod lies;
mod lifecycle;
mod links;
mod locks;
mod restarted;
mod swift_versions;
mod versions;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Adaptor, AdaptorDef, Asker, Capability, Client, Session, Settings, Stars};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate, Certifying, Restart, Target};

/// What speaks S3 to a store.
fn speaking_s3(endpoint: &str, (access, secret): (&str, &str)) -> Arc<dyn Adaptor> {
    let entries =
        [("endpoint", endpoint), ("accesskey", access), ("secretkey", secret), ("path_style_access", "true")];
    opened(&cosmark_adaptors::s3::DEF, &entries)
}

fn opened(def: &AdaptorDef, entries: &[(&str, &str)]) -> Arc<dyn Adaptor> {
    let (settings, problems) = Settings::parse(def.keys, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (def.open)(&settings).unwrap()
}

/// An adaptor with somebody before its clients, and before its connections for requests as they stand.
struct Before<C, A> {
    inner: Arc<dyn Adaptor>,
    client: C,
    asker: A,
}

impl<C, A> Adaptor for Before<C, A>
where
    C: Fn(Box<dyn Client>) -> Box<dyn Client> + Send + Sync,
    A: Fn(Box<dyn Asker>, &Arc<Session>) -> Box<dyn Asker> + Send + Sync,
{
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    fn timeout(&self) -> Option<Duration> {
        self.inner.timeout()
    }

    fn client(&self, session: &Arc<Session>) -> cosmark_adaptor_api::Result<Box<dyn Client>> {
        self.inner.client(session).map(&self.client)
    }

    fn asker(&self, session: &Arc<Session>) -> cosmark_adaptor_api::Result<Option<Box<dyn Asker>>> {
        Ok(self.inner.asker(session)?.map(|inner| (self.asker)(inner, session)))
    }
}

fn before(
    inner: Arc<dyn Adaptor>,
    client: impl Fn(Box<dyn Client>) -> Box<dyn Client> + Send + Sync + 'static,
    asker: impl Fn(Box<dyn Asker>, &Arc<Session>) -> Box<dyn Asker> + Send + Sync + 'static,
) -> Arc<dyn Adaptor> {
    Arc::new(Before { inner, client, asker })
}

/// Asks a store by S3 what begins so (empty: everything).
async fn certified_s3(endpoint: &str, login: (&str, &str), only: &[&str]) -> Certificate {
    certified_by(speaking_s3(endpoint, login), Session::default(), only).await.unwrap()
}

/// The same by Swift's API, as simstore knows it.
async fn certified_swift(endpoint: &str, only: &[&str]) -> Certificate {
    let url = format!("{endpoint}/auth/v1.0");
    let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
    let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
    certified_by(opened(&cosmark_adaptors::swift::DEF, &[]), session, only).await.unwrap()
}

async fn certified_by(
    adaptor: Arc<dyn Adaptor>,
    session: Session,
    only: &[&str],
) -> Result<Certificate, String> {
    certified_with(adaptor, session, only, None).await
}

async fn certified_with(
    adaptor: Arc<dyn Adaptor>,
    session: Session,
    only: &[&str],
    restart: Option<Rc<dyn Restart>>,
) -> Result<Certificate, String> {
    certifying(adaptor, session, only, restart).run(&mut |_| {}, std::future::pending()).await
}

/// Also what takes long.
async fn certified_in_full(
    adaptor: Arc<dyn Adaptor>,
    session: Session,
    only: &[&str],
) -> Result<Certificate, String> {
    let full = Certifying { quick: false, ..certifying(adaptor, session, only, None) };
    full.run(&mut |_| {}, std::future::pending()).await
}

fn certifying(
    adaptor: Arc<dyn Adaptor>,
    session: Session,
    only: &[&str],
    restart: Option<Rc<dyn Restart>>,
) -> Certifying {
    Certifying {
        adaptor,
        session: Arc::new(session),
        target: Target { name: "truth".into(), ..Target::default() },
        container: None,
        id: "truth1".into(),
        quick: true,
        only: only.iter().map(|text| (*text).to_owned()).collect(),
        restart,
        hidden: Stars::default(),
        version: "test".into(),
        began: "2026-01-01T00:00:00Z".into(),
    }
}

/// The questions that were not answered "yes", by id.
fn not_right(certificate: &Certificate, answer: Answer) -> BTreeMap<String, String> {
    certificate.answered(answer).map(|one| (one.id.clone(), one.saw.clone())).collect()
}
