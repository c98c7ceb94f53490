//! The first word with a store: a login and one cheap question, and what a failure of them means for a stage.

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Error, ErrorKind, Marks};
use cosmark_engine::SessionCache;
use cosmark_wire::{Failure, FailureClass};
use cosmark_workload::model::TargetSpec;

use crate::catalog::Catalog;
use crate::permit::Permit;
use crate::target::{Opened, open_target};

/// Logs in and asks the store one cheap question, so that a wrong key or host is one sentence within seconds.
pub async fn ask(
    work: &str,
    (auth, storage): (&TargetSpec, &TargetSpec),
    opened: &Opened,
    sessions: &SessionCache,
) -> Result<(), Failure> {
    let fail = |what: &str, error: &Error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        failure(work, class_of(error.kind()), format!("{what}: {}{hint}", error.message()))
    };
    let auth = format!("auth {}", auth.kind);
    let storage = format!("storage {}", storage.kind);
    let shared = sessions.get().await.map_err(|error| fail(&auth, &error))?;
    let mut client = opened.adaptor.client(&shared.session).map_err(|error| fail(&storage, &error))?;
    let limit = opened.adaptor.timeout().unwrap_or(Duration::from_secs(30));
    let mut marks = Marks::default();
    match tokio::time::timeout(limit, client.probe(&mut marks)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(fail(&storage, &error)),
        Err(_) => {
            let text =
                format!("{storage}: no answer to the first question within {limit:?}; check the endpoint");
            Err(failure(work, FailureClass::Target, text))
        }
    }
}

/// Logs in at a target and asks it one cheap question, as before a stage. Blocks for as long as the target's own patience.
///
/// # Errors
/// What went wrong, in one sentence with its remedy.
pub fn try_target(
    catalog: &Catalog,
    permit: &Permit,
    auth: &TargetSpec,
    storage: &TargetSpec,
) -> Result<(), String> {
    let opened = open_target(catalog, permit, auth, storage)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| format!("cannot start: {cause}"))?;
    let sessions = SessionCache::new(Arc::clone(&opened.auth));
    let asked = tokio::task::LocalSet::new()
        .block_on(&runtime, ask("", (auth, storage), &opened, &sessions))
        .map_err(|failure| failure.text);
    runtime.shutdown_background();
    asked
}

/// Of a failure of this kind.
pub fn class_of(kind: ErrorKind) -> FailureClass {
    match kind {
        ErrorKind::Config | ErrorKind::Unsupported => FailureClass::Workload,
        _ => FailureClass::Target,
    }
}

/// One of a work.
pub fn failure(work: &str, class: FailureClass, text: String) -> Failure {
    Failure { work: work.to_owned(), class, text }
}
