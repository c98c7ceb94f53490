//! Signing: who said something. Keys are NATS' own NKeys (Ed25519, RFC 8032; docs.nats.io, "NKeys"), public ones are written as
//! NATS writes those of users: `U` and 55 letters and digits.

use cosmark_wire::message::{Envelope, decode, encode};
use nkeys::{KeyPair, KeyPairType};
use sha2::{Digest, Sha256};

use crate::nats::error::BusError;

/// Letters of a public key.
const KEY_BYTES: usize = 56;
/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 64;
/// What is signed begins so: a signature for something else is none for this.
const SIGNED: &[u8] = b"cosmark signed message\n";
const EVENT: &[u8] = b"cosmark event\n";
const NAME: &[u8] = b"cosmark message id\n";

/// Who a controller or a driver is: a key pair.
pub struct Identity {
    pair: KeyPair,
    public: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({})", self.public)
    }
}

/// A message whose signature is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Public key of who signed it.
    pub key: String,
    /// What it is about.
    pub envelope: Envelope,
    /// What is sealed in it.
    pub sealed: Vec<u8>,
}

/// Why a message counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsigned {
    /// It has not the form of one.
    Unreadable,
    /// Signed, it says, by this key, which nobody trusts.
    Untrusted(String),
    /// The signature is not that of this key.
    Forged(String),
}

/// True for what has the form of a public key, checksum included.
#[must_use]
pub fn is_public_key(text: &str) -> bool {
    text.len() == KEY_BYTES && text.starts_with('U') && KeyPair::from_public_key(text).is_ok()
}

/// The message, if a key that is trusted has signed it. A stranger's costs a comparison.
///
/// # Errors
/// Why it counts for nothing.
pub fn open_signed(bytes: &[u8], is_trusted: impl Fn(&str) -> bool) -> Result<Signed, Unsigned> {
    let (key, rest) = bytes.split_at_checked(KEY_BYTES).ok_or(Unsigned::Unreadable)?;
    let (signature, body) = rest.split_at_checked(SIGNATURE_BYTES).ok_or(Unsigned::Unreadable)?;
    let key = std::str::from_utf8(key).map_err(|_| Unsigned::Unreadable)?;
    if !is_public_key(key) {
        return Err(Unsigned::Unreadable);
    }
    if !is_trusted(key) {
        return Err(Unsigned::Untrusted(key.to_owned()));
    }
    if !is_by(key, &[SIGNED, body].concat(), signature) {
        return Err(Unsigned::Forged(key.to_owned()));
    }
    let (envelope, sealed) = parts_of(body).ok_or(Unsigned::Unreadable)?;
    Ok(Signed { key: key.to_owned(), envelope, sealed: sealed.to_vec() })
}

/// What a message says of itself, true or not: the key of who signed it, and what it is about. Costs no look at a signature.
#[must_use]
pub fn claimed(bytes: &[u8]) -> Option<(&str, Envelope)> {
    let (key, rest) = bytes.split_at_checked(KEY_BYTES)?;
    let (_, body) = rest.split_at_checked(SIGNATURE_BYTES)?;
    Some((std::str::from_utf8(key).ok()?, parts_of(body)?.0))
}

/// What is signed: the envelope, and what is sealed.
fn parts_of(body: &[u8]) -> Option<(Envelope, &[u8])> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (head, sealed) = rest.split_at_checked(length)?;
    Some((decode(head).ok()?, sealed))
}

/// True when the signature is that of this key's holder over these bytes.
#[must_use]
pub fn is_by(key: &str, bytes: &[u8], signature: &[u8]) -> bool {
    KeyPair::from_public_key(key).is_ok_and(|pair| pair.verify(bytes, signature).is_ok())
}

/// True when the driver with this key has signed this event.
#[must_use]
pub fn is_event_of(key: &str, subject: &str, payload: &[u8], signature: &str) -> bool {
    let Some(signature) = from_hex(signature) else { return false };
    is_by(key, &event_bytes(subject, payload), &signature)
}

fn event_bytes(subject: &str, payload: &[u8]) -> Vec<u8> {
    [EVENT, subject.as_bytes(), b"\n", payload].concat()
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 2 * SIGNATURE_BYTES || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

impl Identity {
    /// The one that belongs to a secret. `purpose` tells it from others of the same secret.
    ///
    /// # Errors
    /// Never with a key of this length, as far as is known.
    pub fn derive(secret: &[u8], purpose: &str) -> Result<Self, BusError> {
        let raw: [u8; 32] =
            Sha256::new().chain_update(purpose).chain_update(b"\n").chain_update(secret).finalize().into();
        let pair = KeyPair::new_from_raw(KeyPairType::User, raw)
            .map_err(|cause| BusError::Options(format!("a key cannot be made: {cause}")))?;
        let public = pair.public_key();
        Ok(Self { pair, public })
    }

    /// Its public key.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.public
    }

    /// Its seed, as NATS' tools and clients take it.
    ///
    /// # Errors
    /// Never with a pair that has one, as these have.
    pub fn seed(&self) -> Result<String, BusError> {
        self.pair.seed().map_err(|cause| BusError::Options(format!("a key cannot be written: {cause}")))
    }

    /// The bytes on their way: key, signature, and what it covers.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn sign(&self, envelope: &Envelope, sealed: &[u8]) -> Result<Vec<u8>, String> {
        let head = encode(envelope).map_err(|cause| cause.to_string())?;
        let length = u32::try_from(head.len()).map_err(|cause| cause.to_string())?;
        let body = [&length.to_be_bytes()[..], &head, sealed].concat();
        let signature = self.sign_bytes(&[SIGNED, &body].concat())?;
        Ok([self.public.as_bytes(), &signature, &body].concat())
    }

    /// The signature over bytes.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn sign_bytes(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.pair.sign(bytes).map_err(|cause| format!("a message cannot be signed: {cause}"))
    }

    /// The signature over an event, for its header.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn sign_event(&self, subject: &str, payload: &[u8]) -> Result<String, String> {
        self.sign_bytes(&event_bytes(subject, payload)).map(|signature| to_hex(&signature))
    }

    /// The id under which JetStream knows a message. The same message has the same, and nobody else can foretell it: whoever may
    /// publish anything to the stream could use the id up before, and the message would be dropped as a second one. (Ed25519 is
    /// deterministic: RFC 8032, 5.1.6.)
    #[must_use]
    pub fn message_id(&self, about: &str) -> String {
        let signature = self.sign_bytes(&[NAME, about.as_bytes()].concat()).unwrap_or_default();
        let digest: [u8; 32] = Sha256::digest(signature).into();
        to_hex(digest.first_chunk::<16>().unwrap_or(&[0; 16]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_wire::MESSAGE_VERSION;
    use cosmark_wire::message::EnvelopeKind;

    fn envelope() -> Envelope {
        Envelope {
            version: MESSAGE_VERSION,
            kind: EnvelopeKind::Order,
            driver: "d1".into(),
            run: "w1".into(),
            id: "0/stage".into(),
            step: Some(0),
            issued_ns: 17,
        }
    }

    #[test]
    fn every_changed_byte_of_a_signed_message_makes_it_count_for_nothing() {
        let me = Identity::derive(b"secret", "controller").unwrap();
        let bytes = me.sign(&envelope(), b"sealed").unwrap();
        let trusted = |key: &str| key == me.public();
        let signed = open_signed(&bytes, trusted).unwrap();
        assert_eq!((signed.envelope, signed.sealed.as_slice()), (envelope(), &b"sealed"[..]));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(open_signed(&changed, trusted).is_err(), "byte {at}");
            assert!(open_signed(&bytes[..at], trusted).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn another_key_is_untrusted_and_a_stolen_name_of_a_key_is_forged() {
        let me = Identity::derive(b"secret", "controller").unwrap();
        let stranger = Identity::derive(b"another", "controller").unwrap();
        assert_ne!(Identity::derive(b"secret", "driver").unwrap().public(), me.public());
        assert!(is_public_key(me.public()) && !is_public_key("UABC") && !is_public_key(&"U".repeat(56)));
        let trusted = |key: &str| key == me.public();
        let mut bytes = stranger.sign(&envelope(), b"sealed").unwrap();
        assert_eq!(open_signed(&bytes, trusted), Err(Unsigned::Untrusted(stranger.public().to_owned())));
        bytes[..KEY_BYTES].copy_from_slice(me.public().as_bytes());
        assert_eq!(open_signed(&bytes, trusted), Err(Unsigned::Forged(me.public().to_owned())));
    }

    #[test]
    fn an_event_is_that_of_its_driver_its_subject_and_its_bytes() {
        let (me, other) =
            (Identity::derive(b"1", "driver").unwrap(), Identity::derive(b"2", "driver").unwrap());
        let signature = me.sign_event("a.b", b"event").unwrap();
        assert!(is_event_of(me.public(), "a.b", b"event", &signature));
        assert!(!is_event_of(other.public(), "a.b", b"event", &signature));
        assert!(!is_event_of(me.public(), "a.c", b"event", &signature));
        assert!(!is_event_of(me.public(), "a.b", b"Event", &signature));
        for bad in ["", "zz", &"é".repeat(64), &"zz".repeat(64)] {
            assert!(!is_event_of(me.public(), "a.b", b"event", bad), "{bad}");
        }
    }

    #[test]
    fn the_id_of_a_message_is_the_same_again_and_needs_the_key() {
        let (me, other) = (Identity::derive(b"1", "x").unwrap(), Identity::derive(b"2", "x").unwrap());
        assert_eq!(me.message_id("w1/d1/0/stage"), me.message_id("w1/d1/0/stage"));
        assert_ne!(me.message_id("w1/d1/0/stage"), me.message_id("w1/d1/0/go"));
        assert_ne!(me.message_id("w1/d1/0/stage"), other.message_id("w1/d1/0/stage"));
        let seed = me.seed().unwrap();
        assert_eq!(KeyPair::from_seed(&seed).unwrap().public_key(), me.public());
    }
}
