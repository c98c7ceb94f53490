//! A body that is read back to compare it with writes that are known: whether it is what one of them wrote, to the last
//! byte, or what some write under this name wrote.

use cosmark_adaptor_api::{BodySink, BodySource};
use cosmark_workload::model::Content;

use crate::content::{Body, STAMP, is_sealed, key_of, stamp, which};
use crate::hashcheck::{GUARD, HashSink, HashVerdict, is_guarded};
use crate::verify::{Verified, Verifier};

/// Bodies up to this length are kept and compared as they are: they may be too short to tell their version.
const SHORT: usize = 64;

/// Takes a body as it comes in.
pub struct BodyProbe {
    key: u64,
    verifier: Verifier,
    head: [u8; SHORT],
    len: u64,
    zeros: bool,
    /// Hashing costs 2.4 s per GB, so it is done only where a hash is expected.
    hash: Option<HashSink>,
}

impl BodyProbe {
    /// For an object with these names; `hashed` = its last bytes may be a hash.
    #[must_use]
    pub fn new(container: &str, object: &str, hashed: bool) -> Self {
        let key = key_of(container, object);
        let hash = hashed.then(HashSink::new);
        Self { key, verifier: Verifier::new(key, 0), head: [0; SHORT], len: 0, zeros: true, hash }
    }

    /// Bytes that came.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// To be asked after the whole body, and before anything else is.
    #[must_use]
    pub fn end(self) -> ProbedBody {
        let hash_is_right = self.hash.map(HashSink::verdict) == Some(HashVerdict::Right);
        ProbedBody {
            key: self.key,
            verdict: self.verifier.verdict(),
            version: self.verifier.version(),
            head: self.head,
            len: self.len,
            zeros: self.zeros,
            hash_is_right,
        }
    }
}

impl BodySink for BodyProbe {
    fn accept(&mut self, chunk: &[u8]) {
        let have = usize::try_from(self.len).unwrap_or(SHORT).min(SHORT);
        let count = chunk.len().min(SHORT - have);
        if let (Some(to), Some(from)) = (self.head.get_mut(have..have + count), chunk.get(..count)) {
            to.copy_from_slice(from);
        }
        self.len += chunk.len() as u64;
        self.zeros = self.zeros && chunk.iter().all(|byte| *byte == 0);
        self.verifier.accept(chunk);
        if let Some(hash) = &mut self.hash {
            hash.accept(chunk);
        }
    }
}

/// A body that came whole.
#[derive(Debug, Clone, Copy)]
pub struct ProbedBody {
    key: u64,
    verdict: Verified,
    version: Option<u64>,
    head: [u8; SHORT],
    len: u64,
    zeros: bool,
    hash_is_right: bool,
}

impl ProbedBody {
    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// It is all of the write with this version and length.
    #[must_use]
    pub fn is_random(&self, version: u32, bytes: u64) -> bool {
        self.len == bytes && self.begins_as(version) && (self.is_short() || self.verdict == Verified::Right)
    }

    /// The same of a write with a hash in its last bytes.
    #[must_use]
    pub fn is_guarded(&self, version: u32, bytes: u64) -> bool {
        if !is_guarded(bytes) {
            return self.is_random(version, bytes);
        }
        self.len == bytes && self.hash_is_right && self.begins_as(version)
    }

    /// It is so many zeros.
    #[must_use]
    pub fn is_zeros(&self, bytes: u64) -> bool {
        self.len == bytes && self.zeros
    }

    /// Whole content of a write under this name with another version than these, as far as so few bytes can tell.
    #[must_use]
    pub fn is_another_version(&self, versions: &[u32]) -> bool {
        let Some(version) = self.version_in_head() else { return false };
        let whole = self.hash_is_right
            || self.verdict == Verified::Right
            || (self.is_short() && self.begins_as(version));
        whole && !versions.contains(&version)
    }

    fn is_short(&self) -> bool {
        self.len <= SHORT as u64
    }

    /// The first bytes that are kept, without a hash that may stand at the end of them.
    fn stored(&self) -> &[u8] {
        let len = usize::try_from(self.len).unwrap_or(SHORT);
        let guard = if self.hash_is_right { GUARD } else { 0 };
        self.head.get(..len.saturating_sub(guard).min(SHORT)).unwrap_or_default()
    }

    fn begins_as(&self, version: u32) -> bool {
        let mut expected = [0; SHORT];
        let body = Body::new(Content::Random, self.key, u64::from(version), SHORT as u64);
        body.copy_to(0, &mut expected).is_ok() && expected.starts_with(self.stored())
    }

    fn version_in_head(&self) -> Option<u32> {
        let own = self.stored().first_chunk::<STAMP>()?;
        let (key, version) = own.split_at(STAMP / 2);
        let version = crate::content::eight(version);
        let is_own = stamp(self.key, version, 0).starts_with(key) && is_sealed(self.key, version);
        let agrees = self.version.is_none_or(|other| other == version || self.hash_is_right);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half says which write it was")]
        let lower = version as u32;
        debug_assert!(which(u64::from(lower)) == lower, "a version of 32 bits is itself");
        (is_own && agrees).then_some(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashcheck::GuardedBody;

    fn probed(bytes: &[u8], chunk: usize, hashed: bool) -> ProbedBody {
        let mut probe = BodyProbe::new("c1", "o7", hashed);
        bytes.chunks(chunk).for_each(|chunk| probe.accept(chunk));
        assert_eq!(probe.bytes(), bytes.len() as u64);
        probe.end()
    }

    fn written(name: &str, version: u32, len: u64, content: Content) -> Vec<u8> {
        let body = Body::new(content, key_of("c1", name), u64::from(version), len);
        let mut bytes = vec![0; usize::try_from(len).unwrap()];
        body.copy_to(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn each_write_is_told_from_every_other_by_every_byte_whatever_its_length() {
        for len in [1, 7, 16, 17, 40, 41, 63, 64, 65, 100, 4096, 5000] {
            let bytes = written("o7", 0xfff0_1234, len, Content::Random);
            for chunk in [1, 50, 10_000] {
                let body = probed(&bytes, chunk, false);
                assert!(body.is_random(0xfff0_1234, len), "{len} in {chunk}");
                assert!(!body.is_random(0xfff0_1234, len + 1), "{len}");
                // Eight bytes of the key are the same in every write.
                assert_eq!(body.is_random(5, len), len <= 8, "{len}");
                assert_eq!(body.is_another_version(&[5]), len >= 16, "{len}");
                assert!(!body.is_another_version(&[5, 0xfff0_1234]) && !body.is_zeros(len), "{len}");
            }
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 80) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x40;
                let body = probed(&damaged, 33, false);
                assert!(
                    !body.is_random(0xfff0_1234, len) && !body.is_another_version(&[5]),
                    "byte {at} of {len}"
                );
            }
            assert!(!probed(&written("o8", 5, len, Content::Random), 64, false).is_random(5, len), "{len}");
        }
    }

    #[test]
    fn content_with_a_hash_and_zeros_are_known_too() {
        for len in [30, 41, 50, 56, 60, 200, 9000] {
            let body = Body::new(Content::Random, key_of("c1", "o7"), 77, len);
            let mut bytes = vec![0; usize::try_from(len).unwrap()];
            if is_guarded(len) {
                GuardedBody::new(&body, false).unwrap().copy_to(0, &mut bytes).unwrap();
            } else {
                body.copy_to(0, &mut bytes).unwrap();
            }
            let good = probed(&bytes, 100, true);
            assert!(good.is_guarded(77, len) && !good.is_guarded(77, len - 1), "{len}");
            assert!(!good.is_another_version(&[77]), "{len}");
            if len >= 56 || len <= 40 {
                assert!(!good.is_guarded(78, len) && good.is_another_version(&[78]), "{len}");
            }
            let last = bytes.len() - 10;
            bytes[last] ^= 1;
            assert!(!probed(&bytes, 100, true).is_guarded(77, len), "{len}");
        }
        let zeros = probed(&written("o7", 1, 5000, Content::Zero), 999, false);
        assert!(zeros.is_zeros(5000) && !zeros.is_zeros(4999) && !zeros.is_random(1, 5000));
        assert!(!zeros.is_another_version(&[]));
    }
}
