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
    if let Some(Err(error)) = &answer
        && may_be_over(error)
    {
        match sessions.newer_than(shared.generation).await {
            Ok((renewed, _)) => answer = probe(opened, &renewed.session).await,
            Err(why) if error.is_session_over() => return Err(denied(why)),
            // What the store said of a session that may be good counts.
            Err(_) => {}
        }
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

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::atomic::{AtomicBool, Ordering};

    use cosmark_adaptor_api::{Adaptor, Capability, OpFuture};
    use cosmark_workload::diagnostics::Span;
    use cosmark_workload::model::Config;

    use super::*;

    /// Lets somebody in once.
    #[derive(Default)]
    struct Once(AtomicBool);

    impl Auth for Once {
        fn login(&self) -> OpFuture<'_, Session> {
            let is_over = self.0.swap(true, Ordering::Relaxed);
            let closed = || Err(Error::new(ErrorKind::Denied, "the office is closed"));
            Box::pin(ready(if is_over { closed() } else { Ok(Session::default()) }))
        }

        fn timeout(&self) -> Duration {
            Duration::from_secs(60)
        }
    }

    /// Has this answer for everybody.
    struct Refuses(ErrorKind);

    impl Adaptor for Refuses {
        fn capability(&self) -> Capability {
            Capability::of(&[])
        }

        fn timeout(&self) -> Option<Duration> {
            None
        }

        fn client(&self, _: &Arc<Session>) -> cosmark_adaptor_api::Result<Box<dyn Client>> {
            Err(Error::new(self.0, "this bucket is not yours"))
        }
    }

    #[tokio::test]
    async fn where_a_new_login_fails_what_the_store_said_counts_unless_the_session_is_known_to_be_over() {
        let spec = TargetSpec { kind: "x".to_owned(), config: Config::default(), span: Span::default() };
        for (said, counts) in [
            (ErrorKind::Denied, "storage x: this bucket is not yours"),
            (ErrorKind::Status(401), "auth x: the office is closed"),
        ] {
            let opened = Opened { auth: Arc::new(Once::default()), adaptor: Arc::new(Refuses(said)) };
            let sessions = SessionCache::new(Arc::clone(&opened.auth));
            sessions.get().await.unwrap();
            let failure = ask("w", (&spec, &spec), &opened, &sessions).await.unwrap_err();
            assert_eq!(failure.text, counts);
        }
    }
}
