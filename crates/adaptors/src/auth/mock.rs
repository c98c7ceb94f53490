//! The `mock` auth: waits, then hands out the token it was given. Keys and defaults are COSBench's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Auth, AuthDef, Key, KeyKind, OpFuture, Result, Secret, Session, Settings};

const KEYS: &[Key] = &[
    Key::new("token", KeyKind::Text, "the token that a login gives").default("token").secret(),
    Key::new("delay", KeyKind::Duration, "time that a login takes").default("10ms"),
    super::LOGGING,
    super::RETRY,
    super::CACHING,
];

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "mock",
    aliases: &[],
    summary: "no server: a fixed delay and a fixed token, to try workloads out",
    keys: KEYS,
    open,
    gives: None,
};

struct MockAuth {
    token: Secret,
    delay: Duration,
}

fn open(settings: &Settings) -> Result<Arc<dyn Auth>> {
    let delay = settings.duration("delay").unwrap_or_default();
    Ok(Arc::new(MockAuth { token: settings.secret("token"), delay }))
}

impl Auth for MockAuth {
    fn login(&self) -> OpFuture<'_, Session> {
        Box::pin(async {
            let begun = Instant::now();
            crate::mock::wait(self.delay).await;
            Ok(Session { token: Some(self.token.clone()), login_time: begun.elapsed(), ..Session::default() })
        })
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(30).saturating_add(self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_login_takes_the_delay_and_gives_the_token() {
        let (settings, _) = Settings::parse(KEYS, [("token", "AUTH_tk1"), ("delay", "40")]);
        let before = tokio::time::Instant::now();
        let session = (DEF.open)(&settings).unwrap().login().await.unwrap();
        assert!(before.elapsed() >= Duration::from_millis(40));
        assert_eq!(session.token, Some(Secret::new("AUTH_tk1")));
    }
}
