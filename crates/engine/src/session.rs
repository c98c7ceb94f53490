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
    logging_in: tokio::sync::Mutex<()>,
}

impl SessionCache {
    /// Around an auth; logs in at the first [`SessionCache::get`].
    #[must_use]
    pub fn new(auth: Arc<dyn Auth>) -> Arc<Self> {
        Arc::new(Self {
            auth,
            generation: AtomicU64::new(0),
            current: Mutex::new(None),
            logging_in: tokio::sync::Mutex::new(()),
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
    /// wait for one login.
    ///
    /// # Errors
    /// Of the login.
    pub async fn newer_than(&self, seen: u64) -> Result<(SharedSession, bool)> {
        if let Some(shared) = self.at_hand(seen) {
            return Ok((shared, false));
        }
        let _one_at_a_time = self.logging_in.lock().await;
        if let Some(shared) = self.at_hand(seen) {
            return Ok((shared, false));
        }
        let session = Arc::new(self.login().await?);
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
