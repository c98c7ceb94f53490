//! What the HTTP logins have in common: one endpoint, one exchange, and errors that say which login failed and why.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Error, ErrorKind, Marks, Result, Settings};

use crate::http::{Answer, Connection, Endpoint, Request, Take};

/// A token answer with a catalogue has some ten KiB; larger ones than this are refused.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// A session is renewed this long before its server forgets it.
const RENEW_AHEAD: Duration = Duration::from_secs(60);

/// Where a login goes.
pub(super) struct LoginUrl {
    pub(super) endpoint: Arc<Endpoint>,
    /// Path of the request.
    pub(super) path: String,
    /// The URL as given, for messages.
    pub(super) text: String,
}

impl LoginUrl {
    /// # Errors
    /// `Config` for a URL that cannot be used.
    pub(super) fn new(text: &str, settings: &Settings) -> Result<Self> {
        let endpoint = Endpoint::new(text, settings)?;
        let mut path = endpoint.base_path().to_owned();
        if path.is_empty() || text.trim_end().ends_with('/') {
            path.push('/');
        }
        Ok(Self { endpoint, path, text: text.trim().to_owned() })
    }

    /// One request; `keeps_body`: the body of the answer is wanted.
    ///
    /// # Errors
    /// Where no answer came: what the transport says, with the URL in front.
    pub(super) async fn exchange(
        &self,
        connection: &mut Connection,
        request: Request<'_>,
        keeps_body: bool,
    ) -> Result<Answer> {
        let take = if keeps_body { Take::Keep { limit: MAX_ANSWER_BYTES } } else { Take::Discard };
        let answer = connection.exchange(request, take, &mut Marks::default()).await;
        answer.map_err(|error| self.not_reached(&error))
    }

    fn not_reached(&self, error: &Error) -> Error {
        let named = Error::new(error.kind(), format!("login at {}: {}", self.text, error.message()));
        match error.hint() {
            Some(hint) => named.with_hint(hint),
            None => named,
        }
    }

    /// The server refused the credentials.
    pub(super) fn denied(&self, status: u16, what: &str, hint: &str) -> Error {
        Error::new(ErrorKind::Denied, format!("login at {} refused with status {status}: {what}", self.text))
            .with_code(format!("http_{status}"))
            .with_hint(hint)
    }

    /// The server answered, but not as an auth service would.
    pub(super) fn unexpected(&self, connection: &Connection, status: u16, usual: &str) -> Error {
        let text = &self.text;
        let (message, hint) = match status {
            300..=399 => {
                // What stands behind `?` may be a ticket or a signature.
                let target = connection.header("location").unwrap_or("nowhere");
                let target = target.split('?').next().unwrap_or_default();
                (
                    format!("{text} redirects to {target}"),
                    "give that URL, if it is the auth service".to_owned(),
                )
            }
            500.. => (
                format!("the auth service at {text} failed with status {status}"),
                "look at the auth service's own log".to_owned(),
            ),
            _ => {
                (format!("{text} answered with status {status}: probably not an auth URL"), usual.to_owned())
            }
        };
        Error::new(ErrorKind::Status(status), message).with_hint(hint)
    }

    /// A success that lacks what a login gives.
    pub(super) fn no_session(&self, status: u16, lacks: &str, usual: &str) -> Error {
        let message = format!(
            "{} answered with status {status} but without {lacks}: probably not an auth URL",
            self.text
        );
        Error::new(ErrorKind::Protocol, message).with_hint(usual)
    }
}

/// When to log in again, for a session that its server keeps for `lifetime` from now.
pub(super) fn renew_at(lifetime: Duration) -> Option<Instant> {
    let ahead = RENEW_AHEAD.min(lifetime / 10);
    Instant::now().checked_add(lifetime.saturating_sub(ahead))
}
