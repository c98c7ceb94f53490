//! Sealing: what only the holder of a key can open (X25519 sealed boxes, libsodium's `crypto_box_seal`).

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crypto_box::aead::OsRng;
use crypto_box::{PublicKey, SecretKey};

use crate::nats::error::BusError;
use crate::nats::sign::Identity;

/// A secret key.
#[derive(Clone)]
pub struct Key(SecretKey);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// Seals for the holder of `public_key`; nobody can tell who did.
///
/// # Errors
/// A sentence; only for messages of many gigabytes.
pub fn seal(public_key: [u8; 32], plain: &[u8]) -> Result<Vec<u8>, String> {
    PublicKey::from(public_key).seal(&mut OsRng, plain).map_err(|_| "a message cannot be sealed".to_owned())
}

impl Key {
    /// A new one.
    #[must_use]
    pub fn generate() -> Self {
        Self(SecretKey::generate(&mut OsRng))
    }

    /// The key in `path`; made and written there (0600) if there is none.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is no key.
    pub fn load_or_create(path: &Path) -> Result<Self, BusError> {
        let fail = |cause: String| BusError::File { what: "key", path: path.display().to_string(), cause };
        match std::fs::read(path) {
            Ok(bytes) => {
                let bytes: [u8; 32] = bytes
                    .try_into()
                    .map_err(|_| fail("it does not hold 32 bytes; move it away for a new one".to_owned()))?;
                Ok(Self(SecretKey::from(bytes)))
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                let key = Self::generate();
                let mut file = std::fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(path)
                    .map_err(|cause| fail(cause.to_string()))?;
                file.write_all(&key.0.to_bytes()).map_err(|cause| fail(cause.to_string()))?;
                Ok(key)
            }
            Err(cause) => Err(fail(cause.to_string())),
        }
    }

    /// For those who seal.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.0.public_key().to_bytes()
    }

    /// Who the holder is: a key pair that comes from the same secret.
    ///
    /// # Errors
    /// See [`Identity::derive`].
    pub fn identity(&self) -> Result<Identity, BusError> {
        Identity::derive(&self.0.to_bytes(), "cosmark driver")
    }

    /// What was sealed; `None` when it was sealed for another key, or is damaged.
    #[must_use]
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.0.unseal(sealed).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_holder_of_the_key_can_open_and_damage_shows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("driver.key");
        let key = Key::load_or_create(&path).unwrap();
        let again = Key::load_or_create(&path).unwrap();
        let mut sealed = seal(key.public(), b"a secret").unwrap();
        assert_eq!(again.open(&sealed).as_deref(), Some(&b"a secret"[..]));
        assert_eq!(Key::generate().open(&sealed), None);
        *sealed.last_mut().unwrap() ^= 1;
        assert_eq!(key.open(&sealed), None);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "short").unwrap();
        assert!(Key::load_or_create(&path).unwrap_err().to_string().contains("32 bytes"));
    }
}
