//! Certifications of stores whose truth is known: an honest one is not slandered, each lie is found and nothing else is called one,
//! and no store can hold a certification up or spoil its page. `make certify-truth` runs these.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod bad;
mod honest;
mod liar;
mod lies;
mod restarted;
mod versions;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cosmark_adaptor_api::{Adaptor, AdaptorDef, Session, Settings};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate, Certifying, Restart, Target};

/// Asks a store by S3 what begins so (empty: everything).
async fn certified_s3(endpoint: &str, (access, secret): (&str, &str), only: &[&str]) -> Certificate {
    let entries =
        [("endpoint", endpoint), ("accesskey", access), ("secretkey", secret), ("path_style_access", "true")];
    certified(&cosmark_adaptors::s3::DEF, &entries, Session::default(), only).await.unwrap()
}

/// The same by Swift's API, as simstore knows it.
async fn certified_swift(endpoint: &str, only: &[&str]) -> Certificate {
    let url = format!("{endpoint}/auth/v1.0");
    let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
    let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
    certified(&cosmark_adaptors::swift::DEF, &[], session, only).await.unwrap()
}

async fn certified(
    def: &AdaptorDef,
    entries: &[(&str, &str)],
    session: Session,
    only: &[&str],
) -> Result<Certificate, String> {
    let (settings, problems) = Settings::parse(def.keys, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    certified_by((def.open)(&settings).unwrap(), session, only).await
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
        hidden: Vec::new(),
        version: "test".into(),
        began: "2026-01-01T00:00:00Z".into(),
    }
}

/// The questions that were not answered "yes", by id.
fn not_right(certificate: &Certificate, answer: Answer) -> BTreeMap<String, String> {
    certificate.answered(answer).map(|one| (one.id.clone(), one.saw.clone())).collect()
}
