//! One login for all workers of a mission's target: cached, renewed on 401 and before it expires, each renewal counted.
//! Renewals happen between operations, never inside the time of one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Auth, Error, ErrorKind, Result, Session};

/// A session and the number of the login it came from.
#[derive(Debug, Clone)]
pub struct SharedSession {
    /// 1 for the first login.
    pub generation: u64,
    /// The session.
    pub session: Arc<Session>,
}

/// Sessions are renewed this long before they expire.
const EARLY: Duration = Duration::from_secs(30);

/// The cache. Operations only compare a generation number; the lock is taken to log in.
pub struct SessionCache {
    auth: Arc<dyn Auth>,
    generation: AtomicU64,
    current: Mutex<Option<Arc<Session>>>,
    /// Held by who logs in. Why the last login failed; `None` = it did not.
    logging_in: tokio::sync::Mutex<Option<Error>>,
    /// Logins that failed so far.
    failures: AtomicU64,
}

impl SessionCache {
    /// Around an auth; logs in at the first [`SessionCache::get`].
    #[must_use]
    pub fn new(auth: Arc<dyn Auth>) -> Arc<Self> {
        Arc::new(Self {
            auth,
            generation: AtomicU64::new(0),
            current: Mutex::new(None),
            logging_in: tokio::sync::Mutex::new(None),
            failures: AtomicU64::new(0),
        })
    }

    /// Number of the last login; 0 = none yet.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The session at hand, logging in if there is none.
    ///
    /// # Errors
    /// Of the login.
    pub async fn get(&self) -> Result<SharedSession> {
        self.newer_than(0).await.map(|(shared, _)| shared)
    }

    /// A session from a later login than `seen`; true when this very call logged in. Callers that come at the same time
    /// wait for one login, and have its outcome; who gives up waiting leaves it to the next one.
    ///
    /// # Errors
    /// Of the login.
    pub async fn newer_than(&self, seen: u64) -> Result<(SharedSession, bool)> {
        if let Some(shared) = self.at_hand(seen) {
            return Ok((shared, false));
        }
        let failures = self.failures.load(Ordering::Acquire);
        let mut failure = self.logging_in.lock().await;
        if let Some(shared) = self.at_hand(seen) {
            return Ok((shared, false));
        }
        // Somebody tried meanwhile: many callers would wait for as many logins that fail, one after the other.
        if self.failures.load(Ordering::Acquire) != failures
            && let Some(error) = failure.as_ref()
        {
            return Err(error.clone());
        }
        let session = match self.login().await {
            Ok(session) => Arc::new(session),
            Err(error) => {
                *failure = Some(error.clone());
                self.failures.fetch_add(1, Ordering::Release);
                return Err(error);
            }
        };
        *failure = None;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        let generation = self.generation.fetch_add(1, Ordering::Release) + 1;
        Ok((SharedSession { generation, session }, true))
    }

    fn at_hand(&self, seen: u64) -> Option<SharedSession> {
        let generation = self.generation();
        if generation <= seen {
            return None;
        }
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some(SharedSession { generation, session: current })
    }

    async fn login(&self) -> Result<Session> {
        let mut attempt = 0;
        loop {
            let limit = self.auth.timeout();
            let result = match tokio::time::timeout(limit, self.auth.login()).await {
                Ok(result) => result,
                Err(_) => {
                    Err(Error::new(ErrorKind::Timeout, format!("no answer to the login within {limit:?}"))
                        .with_hint("check the auth URL, or raise `timeout`"))
                }
            };
            match result {
                Err(error) if attempt < self.auth.retries() && error.kind() != ErrorKind::Denied => {
                    attempt += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                other => return other,
            }
        }
    }

    /// True when the session at hand is about to expire.
    #[must_use]
    pub fn is_expiring(&self) -> bool {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let expires_at = current.as_ref().and_then(|session| session.expires_at);
        expires_at.is_some_and(|at| at.saturating_duration_since(Instant::now()) < EARLY)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use cosmark_adaptor_api::OpFuture;
    use tokio::sync::Semaphore;

    use super::*;

    /// Lets logins end one by one, and fails them as long as it is asked to.
    struct Door {
        asked: AtomicU64,
        answers: Semaphore,
        fails: AtomicBool,
    }

    impl Auth for Door {
        fn login(&self) -> OpFuture<'_, Session> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Box::pin(async {
                self.answers.acquire().await.unwrap().forget();
                match self.fails.load(Ordering::Relaxed) {
                    true => Err(Error::new(ErrorKind::Status(503), "not now")),
                    false => Ok(Session::default()),
                }
            })
        }

        fn timeout(&self) -> Duration {
            Duration::from_secs(600)
        }
    }

    fn door() -> (Arc<Door>, Arc<SessionCache>) {
        let (asked, fails) = (AtomicU64::new(0), AtomicBool::new(true));
        let door = Arc::new(Door { asked, answers: Semaphore::new(0), fails });
        (Arc::clone(&door), SessionCache::new(door))
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_waits_for_a_login_has_its_failure_and_who_comes_later_tries_again() {
        let (door, cache) = door();
        let open = async { door.answers.add_permits(9) };
        let (a, b, c, ()) = tokio::join!(cache.newer_than(0), cache.newer_than(0), cache.newer_than(0), open);
        assert!([a, b, c].iter().all(|one| one.as_ref().is_err_and(|error| error.message() == "not now")));
        assert_eq!(door.asked.load(Ordering::Relaxed), 1);
        assert!(cache.get().await.is_err());
        assert_eq!(door.asked.load(Ordering::Relaxed), 2);
        door.fails.store(false, Ordering::Relaxed);
        let (a, b) = tokio::join!(cache.newer_than(0), cache.newer_than(0));
        let came = [a, b].map(|one| one.map(|(shared, did_it)| (shared.generation, did_it)).unwrap());
        assert_eq!((came, door.asked.load(Ordering::Relaxed)), ([(1, true), (1, false)], 3));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_login_that_is_given_up_is_no_failure_of_those_who_wait_for_it() {
        let (door, cache) = door();
        door.fails.store(false, Ordering::Relaxed);
        let given_up = async {
            tokio::select! {
                biased;
                _ = cache.newer_than(0) => panic!("nobody has let it end"),
                () = tokio::task::yield_now() => door.answers.add_permits(1),
            }
        };
        let ((), waited) = tokio::join!(given_up, cache.newer_than(0));
        assert_eq!(waited.map(|(shared, did_it)| (shared.generation, did_it)).unwrap(), (1, true));
        assert_eq!(door.asked.load(Ordering::Relaxed), 2);
    }
}
