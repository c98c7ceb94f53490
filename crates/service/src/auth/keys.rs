//! Keys: the cluster's own, with which submissions are sealed where they are kept (X25519 sealed boxes, libsodium's
//! `crypto_box_seal`) and from which the key of the session cookies comes; and random bytes.

use cosmark_cluster::nats::Identity;
use crypto_box::SecretKey;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use rustls::crypto::aws_lc_rs::default_provider;
use sha2::{Digest, Sha256};

use crate::ServiceError;
use crate::state::StateDir;

/// Name of the file with the cluster's key.
const FILE: &str = "cluster.key";

/// The cluster's key. Controllers that share a queue share it.
pub struct ClusterKey {
    secret: SecretKey,
    /// A block of SHA-256, the second half empty: the same HMAC as with the half (RFC 2104).
    cookies: [u8; 64],
}

/// Random bytes from the operating system's generator.
///
/// # Errors
/// When it has none to give.
pub fn random<const N: usize>() -> Result<[u8; N], ServiceError> {
    let mut bytes = [0; N];
    default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| ServiceError::Start(std::io::Error::other("the system gives no random numbers")))?;
    Ok(bytes)
}

/// SHA-256.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

impl ClusterKey {
    /// Reads the key, or makes it.
    ///
    /// # Errors
    /// When the file is damaged or cannot be written.
    pub fn open(state: &StateDir) -> Result<Self, ServiceError> {
        let text = match state.read(FILE)? {
            // Several may begin at once, and what drivers trust is one key.
            None => {
                let fresh = random::<32>()?;
                state.write_first(FILE, format!("{}\n", HEXLOWER.encode(fresh.as_ref())).as_bytes())?
            }
            Some(text) => text,
        };
        let text = String::from_utf8_lossy(&text);
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).ok();
        let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| ServiceError::Damaged {
            path: state.path(FILE),
            problem: "not a key of 64 hexadecimal digits".to_owned(),
            remedy: "copy the file from another controller of the cluster; without it, what is queued is lost",
        })?;
        let mut seed = b"cosmark session cookies".to_vec();
        seed.extend_from_slice(&bytes);
        let mut cookies = [0; 64];
        cookies[..32].copy_from_slice(&digest(&seed));
        Ok(Self { secret: SecretKey::from(bytes), cookies })
    }

    /// Seals a text for whoever holds the key.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn seal(&self, bytes: &[u8]) -> Result<Vec<u8>, ServiceError> {
        self.secret.public_key().seal(&mut crypto_box::aead::OsRng, bytes).map_err(|_| {
            ServiceError::Bus("a submission could not be sealed; report this as a bug".to_owned())
        })
    }

    /// Opens what was sealed; `None` when it was sealed for another key, or changed.
    #[must_use]
    pub fn open_sealed(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.secret.unseal(bytes).ok()
    }

    /// Who the controllers of this cluster are to their drivers: their orders are signed by it.
    ///
    /// # Errors
    /// See [`Identity::derive`].
    pub fn identity(&self) -> Result<Identity, ServiceError> {
        Identity::derive(&self.secret.to_bytes(), "cosmark controller")
            .map_err(|error| ServiceError::Bus(error.to_string()))
    }

    /// Tells one key from another without telling it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        HEXLOWER.encode(digest(self.secret.public_key().as_bytes()).as_ref())
    }

    /// The signature of a session cookie.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.mac(bytes).finalize().into_bytes().to_vec()
    }

    /// True when the signature is that of the bytes.
    #[must_use]
    pub fn is_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        self.mac(bytes).verify_slice(signature).is_ok()
    }

    fn mac(&self, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&self.cookies.into());
        mac.update(bytes);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_key_alone() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, two) = (StateDir::open(one.path()).unwrap(), StateDir::open(two.path()).unwrap());
        let key = ClusterKey::open(&one).unwrap();
        let sealed = key.seal(b"a secret").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"a secret"));
        assert_eq!(ClusterKey::open(&one).unwrap().open_sealed(&sealed).unwrap(), b"a secret");
        assert!(ClusterKey::open(&two).unwrap().open_sealed(&sealed).is_none());
        let signature = key.sign(b"cookie");
        assert!(key.is_signed(b"cookie", &signature) && !key.is_signed(b"Cookie", &signature));
    }

    #[test]
    fn all_who_begin_at_once_have_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        for _ in 0..20 {
            let first = std::sync::Barrier::new(8);
            let key = || {
                first.wait();
                ClusterKey::open(&state).unwrap().identity().unwrap().public().to_owned()
            };
            let keys: Vec<String> = std::thread::scope(|scope| {
                let begun: Vec<_> = (0..8).map(|_| scope.spawn(key)).collect();
                begun.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
            state.remove(FILE).unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing half-written is left");
    }

    #[test]
    fn a_damaged_key_is_named_and_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.write(FILE, b"not a key").unwrap();
        let Err(error) = ClusterKey::open(&state) else { panic!("a damaged key was read") };
        assert!(error.to_string().contains("cluster.key"), "{error}");
        assert_eq!(state.read(FILE).unwrap().unwrap(), b"not a key");
    }
}
