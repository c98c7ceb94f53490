//! The `Authorization` line of a client's requests.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use cosmark_adaptor_api::{Error, ErrorKind, HttpCredential, Result, Session};

use crate::auth::digest::{self, Challenge, DigestState};
use crate::http::Connection;

/// How often a nonce was used, for all clients that share a session; the last nonce only.
#[derive(Default)]
pub(crate) struct Counters(Mutex<Option<(String, Arc<AtomicU32>)>>);

impl Counters {
    fn of(&self, challenge: &str) -> Arc<AtomicU32> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, uses)) if known == challenge => Arc::clone(uses),
            _ => {
                // The login itself was the first use.
                let uses = Arc::new(AtomicU32::new(1));
                *last = Some((challenge.to_owned(), Arc::clone(&uses)));
                uses
            }
        }
    }
}

/// How requests are authorised.
pub(crate) enum Credential {
    None,
    /// The whole value.
    Basic(cosmark_adaptor_api::Secret),
    Digest(Box<DigestState>),
}

impl Credential {
    /// # Errors
    /// `Config` for a challenge that cannot be answered.
    pub(crate) fn new(session: &Session, counters: &Counters) -> Result<Self> {
        Ok(match &session.http {
            None => Self::None,
            Some(HttpCredential::Basic { username, password }) => {
                Self::Basic(digest::basic(username, password))
            }
            Some(HttpCredential::Digest { username, password, challenge }) => {
                let parsed = Challenge::parse(challenge).map_err(|reason| {
                    Error::new(
                        ErrorKind::Config,
                        format!("the session's Digest challenge cannot be used: {reason}"),
                    )
                    .with_hint("use Basic over https, or another digest algorithm at the server")
                })?;
                let uses = counters.of(challenge);
                Self::Digest(Box::new(DigestState::new(username, password, parsed, uses)))
            }
        })
    }

    /// Appends the header line for one request.
    pub(crate) fn authorize(&mut self, head: &mut Vec<u8>, method: &str, target: &[u8]) {
        let begin = head.len();
        head.extend_from_slice(b"Authorization: ");
        match self {
            Self::None => {
                head.truncate(begin);
                return;
            }
            Self::Basic(value) => head.extend_from_slice(value.expose().as_bytes()),
            // The target is ASCII: everything else in it is escaped.
            Self::Digest(state) => state.authorize(head, method, &String::from_utf8_lossy(target)),
        }
        // From the server's and the user's texts: nothing in them may end the line.
        for byte in &mut head[begin..] {
            if *byte < 0x20 || *byte == 0x7f {
                *byte = b' ';
            }
        }
        head.extend_from_slice(b"\r\n");
    }

    /// Takes over a new nonce from an answer; true: the answer was 401 only because the old one was stale.
    pub(crate) fn learn(&mut self, connection: &Connection, status: u16) -> bool {
        let Self::Digest(state) = self else { return false };
        if status != 401 {
            if let Some(info) = connection.header("authentication-info") {
                state.take_next_nonce(info);
            }
            return false;
        }
        let offers = digest::offers(connection.header_all("www-authenticate"));
        let Some(challenge) = offers.digest.and_then(|text| Challenge::parse(&text).ok()) else {
            return false;
        };
        let is_stale = challenge.stale;
        state.renew(challenge);
        is_stale
    }
}
