//! The first word with a store: a login and one cheap question, and what a failure of them means for a stage.

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Auth, Client, Error, ErrorKind, Marks, Session};
use cosmark_engine::{SessionCache, SharedSession};
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
    let denied = |error: Error| fail(&auth, &error);
    let seen = sessions.generation();
    let shared = still_valid(sessions).await.map_err(denied)?;
    let is_new = shared.generation != seen;
    let mut answer = probe(opened, &shared.session).await;
    // A session of an earlier stage may be over by now, however long it was to last: a new login tells. Some adaptors
    // call the first question denied then.
    let may_be_over = |error: &Error| error.is_session_over() || error.kind() == ErrorKind::Denied && !is_new;
    if answer.as_ref().is_some_and(|answer| answer.as_ref().is_err_and(may_be_over)) {
        let (renewed, _) = sessions.newer_than(shared.generation).await.map_err(denied)?;
        answer = probe(opened, &renewed.session).await;
    }
    match answer {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => Err(fail(&storage, &error)),
        None => {
            let limit = patience(opened);
            let text =
                format!("{storage}: no answer to the first question within {limit:?}; check the endpoint");
            Err(failure(work, FailureClass::Target, text))
        }
    }
}

/// The session at hand, or a new one where that is about to expire; a renewal that fails is no failure while the old one lasts.
async fn still_valid(sessions: &SessionCache) -> Result<SharedSession, Error> {
    if sessions.is_expiring()
        && let Ok((renewed, _)) = sessions.newer_than(sessions.generation()).await
    {
        return Ok(renewed);
    }
    sessions.get().await
}

/// The answer to one cheap question; `None` where there was none in time.
async fn probe(opened: &Opened, session: &Arc<Session>) -> Option<Result<(), Error>> {
    let mut client = match opened.adaptor.client(session) {
        Ok(client) => client,
        Err(error) => return Some(Err(error)),
    };
    tokio::time::timeout(patience(opened), client.probe(&mut Marks::default())).await.ok()
}

fn patience(opened: &Opened) -> Duration {
    opened.adaptor.timeout().unwrap_or(Duration::from_secs(30))
}

/// A call with this time limit.
pub(crate) async fn limited<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result,
        Err(_) => Err(Error::new(ErrorKind::Timeout, format!("no answer within {} s", limit.as_secs()))),
    }
}

/// A login within its own time limit.
pub(crate) async fn login(auth: &dyn Auth) -> Result<Arc<Session>, Error> {
    limited(auth.timeout(), auth.login()).await.map(Arc::new)
}

/// A call within this time limit, and once more where its session was over and a new one could be had.
pub(crate) async fn with_session<T>(
    limit: Duration,
    client: &mut dyn Client,
    auth: &dyn Auth,
    call: impl AsyncFn(&mut dyn Client) -> Result<T, Error>,
) -> Result<T, Error> {
    let answer = limited(limit, call(client)).await;
    if let Err(error) = &answer
        && renew(client, auth, error).await
    {
        return limited(limit, call(client)).await;
    }
    answer
}

/// Gives a client a new session where this error says that its own is over; true where it has one now.
pub(crate) async fn renew(client: &mut dyn Client, auth: &dyn Auth, error: &Error) -> bool {
    if error.is_session_over()
        && let Ok(session) = login(auth).await
    {
        client.set_session(&session);
        return true;
    }
    false
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
