//! The `none` auth: an empty session. For stores whose adaptor has its own keys, or that ask for nothing.

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Auth, AuthDef, Key, OpFuture, Result, Session, Settings};

const KEYS: &[Key] = &[super::LOGGING, super::RETRY, super::CACHING];

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "none",
    aliases: &[],
    summary: "no login; the storage adaptor's own keys are used",
    keys: KEYS,
    open,
    gives: None,
};

struct NoAuth;

fn open(_settings: &Settings) -> Result<Arc<dyn Auth>> {
    Ok(Arc::new(NoAuth))
}

impl Auth for NoAuth {
    fn login(&self) -> OpFuture<'_, Session> {
        Box::pin(std::future::ready(Ok(Session::default())))
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }
}
