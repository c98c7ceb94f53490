//! Publishing that survives interruptions: a message is sent again until JetStream acknowledges it; its id keeps a
//! second copy from becoming a second message.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::context::PublishErrorKind;
use cosmark_wire::MESSAGE_VERSION;

use crate::nats::connect::Bus;
use crate::nats::names::{MESSAGE_ID, SIGNATURE, STEP, VERSION};

/// JetStream has a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Its number in the stream.
    pub sequence: u64,
}

/// JetStream will never take a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What JetStream says when it has no room to keep a message (`server/errors.json`, server/stream.go of nats-server).
const FULL: [&str; 5] =
    ["insufficient", "no space left", "maximum bytes exceeded", "maximum messages exceeded", "resources"];

/// The sentence about a message that was not taken. A server whose disk was full may have switched JetStream off, and then does not
/// switch it on again by itself.
fn with_remedy(text: &str, kind: PublishErrorKind) -> String {
    let said = text.to_lowercase();
    if FULL.iter().any(|words| said.contains(words)) {
        return format!(
            "{text}: the store of NATS is full; free space where its store_dir is, or raise its limits. What was not taken is \
             kept and offered again; if that does not help within a minute, restart nats-server: it has switched JetStream off"
        );
    }
    if kind == PublishErrorKind::StreamNotFound {
        return format!(
            "{text}: JetStream does not answer. If the disk of NATS was full it has switched JetStream off: free space where its \
             store_dir is and restart nats-server. What was not taken is kept and offered again"
        );
    }
    text.to_owned()
}

impl Bus {
    /// The headers of a message about this; the same message has the same id ([`crate::nats::Identity::message_id`]).
    #[must_use]
    pub fn headers(&self, about: &str, step: Option<u32>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let id = self.identity().map_or_else(|| about.to_owned(), |identity| identity.message_id(about));
        headers.insert(MESSAGE_ID, id.as_str());
        headers.insert(VERSION, MESSAGE_VERSION.to_string().as_str());
        if let Some(step) = step {
            headers.insert(STEP, step.to_string().as_str());
        }
        headers
    }

    /// The same with this connection's signature over subject and payload.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn signed_headers(&self, about: &str, subject: &str, payload: &[u8]) -> Result<HeaderMap, String> {
        let identity = self.identity().ok_or("nobody speaks over this connection; report this as a bug")?;
        let mut headers = self.headers(about, None);
        headers.insert(SIGNATURE, identity.sign_event(subject, payload)?.as_str());
        Ok(headers)
    }

    /// Publishes to the stream of runs until it is taken, however long NATS is away. `trouble` is told the first failure
    /// of each kind.
    ///
    /// # Errors
    /// [`Refused`] when the message is too large for the server.
    pub async fn publish(
        &self,
        subject: &str,
        headers: &HeaderMap,
        payload: &[u8],
        mut trouble: impl FnMut(&str),
    ) -> Result<Sent, Refused> {
        let mut pause = FIRST_PAUSE;
        let mut reported = String::new();
        loop {
            let taken = async {
                self.jetstream()
                    .publish_with_headers(subject.to_owned(), headers.clone(), payload.to_vec().into())
                    .await?
                    .await
            };
            let error = match taken.await {
                Ok(ack) => return Ok(Sent { sequence: ack.sequence }),
                Err(error) => error,
            };
            let text = error.to_string();
            if error.kind() == PublishErrorKind::MaxPayloadExceeded {
                return Err(Refused(format!(
                    "{text}; raise max_payload of the nats-server to 8 MiB or more"
                )));
            }
            if reported != text {
                trouble(&with_remedy(&text, error.kind()));
                reported = text;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
