//! What objects are made of. Every 4 KiB block of every write is different from every other, does not compress, and
//! can be checked when it comes back without knowing when or by whom it was written:
//!
//! ```text
//! block b of object k, version v  =  stamp (16 bytes: k ^ mix(b), v)  ++  4080 bytes of a fixed random pattern,
//!                                    from a place that depends on k, b and v, XORed with an 8-byte word that does, too
//! ```
//!
//! The word is there against compressors and deduplication with sliding windows: without it two blocks could share a
//! stretch of the pattern. It costs one pass at memory speed, about what a copy costs. A longer object begins like a
//! shorter one of the same name and version, so sizes need not be known to check content.

use std::io::{self, IoSlice};
use std::sync::OnceLock;

use cosmark_adaptor_api::{BodySink, BodySource};
use cosmark_workload::model::Content;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BLOCK: usize = 4096;
const STAMP: usize = 16;
const PLACES: usize = 1 << 15;
const ZEROS: &[u8] = &[0; 65536];

/// The shared random pattern (32 KiB and one block): small enough to stay in a core's nearest cache. That blocks then
/// often begin near one another in it does no harm, since each is covered by a word of its own.
#[derive(Debug)]
pub struct Pattern(Box<[u8]>);

impl Pattern {
    /// The one of this program; the same on every driver and in every run.
    #[must_use]
    pub fn shared() -> &'static Pattern {
        static SHARED: OnceLock<Pattern> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut bytes = vec![0; PLACES + BLOCK];
            Xoshiro256PlusPlus::seed_from_u64(0x00c0_53a4_bec4).fill_bytes(&mut bytes);
            Pattern(bytes.into_boxed_slice())
        })
    }

    /// The stretch of the pattern under a block, and the word that covers it.
    fn of_block(&self, key: u64, version: u64, block: u64) -> (&[u8], u64) {
        let place = mix(key ^ mix(version ^ block.rotate_left(32)));
        let start = usize::try_from(place % PLACES as u64).unwrap_or(0);
        (&self.0[start..start + BLOCK - STAMP], mix(place))
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): spreads every input bit over all output bits.
#[must_use]
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The key of an object's content: FNV-1a over `container/object`, mixed.
#[must_use]
pub(crate) fn key_of(container: &str, object: &str) -> u64 {
    let bytes = container.bytes().chain(std::iter::once(b'/')).chain(object.bytes());
    mix(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// Byte `at` of a block's covering word.
fn cover(word: u64, at: usize) -> u8 {
    word.to_le_bytes()[at % 8]
}

/// `out[i] = pattern[at + i] ^ word`, the word counted from the start of the pattern.
fn fill_covered(pattern: &[u8], word: u64, at: usize, out: &mut [u8]) {
    let head = ((8 - at % 8) % 8).min(out.len());
    let source = &pattern[at..at + out.len()];
    for (offset, (out, byte)) in out[..head].iter_mut().zip(source).enumerate() {
        *out = byte ^ cover(word, at + offset);
    }
    let whole = head + (out.len() - head) / 8 * 8;
    wide::fill(&source[head..whole], word, &mut out[head..whole]);
    for (offset, (out, byte)) in out[whole..].iter_mut().zip(&source[whole..]).enumerate() {
        *out = byte ^ cover(word, offset);
    }
}

/// True when `bytes` is what [`fill_covered`] writes.
fn is_covered(pattern: &[u8], word: u64, at: usize, bytes: &[u8]) -> bool {
    let head = ((8 - at % 8) % 8).min(bytes.len());
    let expected = &pattern[at..at + bytes.len()];
    let whole = head + (bytes.len() - head) / 8 * 8;
    let same = |from: usize, (offset, (byte, pattern)): (usize, (&u8, &u8))| {
        *byte == pattern ^ cover(word, from + offset)
    };
    let rest = bytes[whole..].iter().zip(&expected[whole..]).enumerate().all(|pair| same(0, pair));
    wide::is_same(&expected[head..whole], word, &bytes[head..whole])
        && rest
        && bytes[..head].iter().zip(expected).enumerate().all(|pair| same(at, pair))
}

/// The two loops over whole words, compiled a second time for processors with wide registers: programs for x86-64 in general
/// use 16 bytes at a time, which costs half as much again per verified byte as 32.
mod wide {
    use super::eight;

    /// `out = source ^ word`, eight bytes at a time; the lengths are the same multiple of 8.
    pub fn fill(source: &[u8], word: u64, out: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: this processor has the feature that the function is compiled for.
            return unsafe { fill_avx2(source, word, out) };
        }
        fill_words(source, word, out);
    }

    /// True when `bytes = source ^ word`; the lengths are the same multiple of 8.
    pub fn is_same(source: &[u8], word: u64, bytes: &[u8]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: this processor has the feature that the function is compiled for.
            return unsafe { is_same_avx2(source, word, bytes) };
        }
        is_same_words(source, word, bytes)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_avx2(source: &[u8], word: u64, out: &mut [u8]) {
        fill_words(source, word, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn is_same_avx2(source: &[u8], word: u64, bytes: &[u8]) -> bool {
        is_same_words(source, word, bytes)
    }

    #[inline(always)]
    fn fill_words(source: &[u8], word: u64, out: &mut [u8]) {
        for (out, source) in out.chunks_exact_mut(8).zip(source.chunks_exact(8)) {
            out.copy_from_slice(&(eight(source) ^ word).to_le_bytes());
        }
    }

    // Collected without a branch per word, so that the compiler can use wide registers.
    #[inline(always)]
    fn is_same_words(source: &[u8], word: u64, bytes: &[u8]) -> bool {
        let pairs = bytes.chunks_exact(8).zip(source.chunks_exact(8));
        pairs.fold(0, |all, (bytes, source)| all | (eight(bytes) ^ eight(source) ^ word)) == 0
    }
}

#[inline(always)]
fn eight(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn stamp(key: u64, version: u64, block: u64) -> [u8; STAMP] {
    let mut bytes = [0; STAMP];
    bytes[..8].copy_from_slice(&(key ^ mix(block)).to_le_bytes());
    bytes[8..].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// Content of one write.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    content: Content,
    key: u64,
    version: u64,
    len: u64,
}

impl Body {
    /// `len` bytes for the object with content key `key`; `version` is different in every write.
    #[must_use]
    pub fn new(content: Content, key: u64, version: u64, len: u64) -> Self {
        Self { content, key, version, len }
    }
}

impl BodySource for Body {
    fn len(&self) -> u64 {
        self.len
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if self.content == Content::Zero {
            buf.fill(0);
            return Ok(());
        }
        let mut offset = offset;
        let mut rest = buf;
        while !rest.is_empty() {
            let (block, within) = split(offset);
            let count = if within < STAMP {
                let stamp = stamp(self.key, self.version, block);
                let count = (STAMP - within).min(rest.len());
                rest[..count].copy_from_slice(&stamp[within..within + count]);
                count
            } else {
                let (pattern, word) = Pattern::shared().of_block(self.key, self.version, block);
                let count = (BLOCK - within).min(rest.len());
                fill_covered(pattern, word, within - STAMP, &mut rest[..count]);
                count
            };
            rest = &mut rest[count..];
            offset += count as u64;
        }
        Ok(())
    }

    fn lend<'a>(&'a self, offset: u64, _scratch: &'a mut [u8], pieces: &mut [IoSlice<'a>]) -> usize {
        match self.content {
            Content::Zero => lend_zeros(self.len.saturating_sub(offset), pieces),
            Content::Random => 0,
        }
    }
}

fn lend_zeros(mut left: u64, pieces: &mut [IoSlice<'_>]) -> usize {
    let mut filled = 0;
    for piece in pieces {
        if left == 0 {
            break;
        }
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        *piece = IoSlice::new(&ZEROS[..count]);
        left -= count as u64;
        filled += 1;
    }
    filled
}

fn split(offset: u64) -> (u64, usize) {
    (offset / BLOCK as u64, usize::try_from(offset % BLOCK as u64).unwrap_or(0))
}

/// Compares a body, as it comes in, with what Cosmark writes for that object, whatever its version.
#[derive(Debug)]
pub struct Verifier {
    key: u64,
    offset: u64,
    version: Option<u64>,
    /// Stamp bytes of the block at hand, as far as they have come.
    stamp: [u8; STAMP],
    wrong: bool,
}

impl Verifier {
    /// For the object with content key `key`, from byte `offset` of it on. The first block is checked from its stamp
    /// on; if `offset` lies inside a block, that block cannot be checked and is skipped.
    #[must_use]
    pub fn new(key: u64, offset: u64) -> Self {
        Self { key, offset, version: None, stamp: [0; STAMP], wrong: false }
    }

    /// True when every byte that could be checked was right.
    #[must_use]
    pub fn is_right(&self) -> bool {
        !self.wrong
    }

    fn take_stamp(&mut self, block: u64, within: usize, part: &[u8]) {
        self.stamp[within..within + part.len()].copy_from_slice(part);
        let have = within + part.len();
        let key = (self.key ^ mix(block)).to_le_bytes();
        // Also a stamp that is cut off by the end of the object has to be right as far as it goes.
        self.wrong |= self.stamp[..have.min(8)] != key[..have.min(8)];
        if have == STAMP {
            let mut version = [0; 8];
            version.copy_from_slice(&self.stamp[8..]);
            let version = u64::from_le_bytes(version);
            self.wrong |= self.version.is_some_and(|known| known != version);
            self.version = Some(version);
        }
    }
}

impl BodySink for Verifier {
    fn accept(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() && !self.wrong {
            let (block, within) = split(self.offset);
            let count = if within < STAMP {
                let count = rest.len().min(STAMP - within);
                self.take_stamp(block, within, &rest[..count]);
                count
            } else {
                let count = rest.len().min(BLOCK - within);
                if let Some(version) = self.version {
                    let (pattern, word) = Pattern::shared().of_block(self.key, version, block);
                    self.wrong |= !is_covered(pattern, word, within - STAMP, &rest[..count]);
                }
                count
            };
            rest = &rest[count..];
            self.offset += count as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn bytes(body: &Body) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(body.len()).unwrap()];
        body.copy_to(0, &mut bytes).unwrap();
        bytes
    }

    fn lent(body: &Body, from: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let mut offset = from;
        while offset < body.len() {
            let mut scratch = [0; 64];
            let mut pieces = [IoSlice::new(&[]); 8];
            let filled = body.lend(offset, &mut scratch, &mut pieces);
            assert!(filled > 0);
            let before = out.len();
            pieces[..filled].iter().for_each(|piece| out.extend_from_slice(piece));
            offset += (out.len() - before) as u64;
        }
        out
    }

    #[test]
    fn zeros_are_lent_without_a_copy_from_any_offset() {
        for len in [0, 1, 65_535, 65_536, 200_000] {
            let body = Body::new(Content::Zero, 11, 22, len);
            for from in [0, 1, 5000].into_iter().filter(|from| *from <= len) {
                assert_eq!(
                    lent(&body, from),
                    bytes(&body)[usize::try_from(from).unwrap()..],
                    "{len} from {from}"
                );
            }
        }
    }

    #[test]
    fn any_part_of_a_body_is_the_same_part_of_the_whole() {
        let body = Body::new(Content::Random, 11, 22, 20_000);
        let whole = bytes(&body);
        for from in [0_usize, 1, 7, 8, 15, 16, 17, 23, 24, 25, 4090, 4095, 4096, 4113, 12_345] {
            for len in [0, 1, 7, 8, 9, 16, 100, 4080, 4096, 7000] {
                let mut part = vec![0; len];
                body.copy_to(from as u64, &mut part).unwrap();
                assert_eq!(part, whole[from..from + len], "{len} from {from}");
            }
        }
    }

    /// What a compressor with a window over everything could use: strings of 16 bytes that occur twice.
    #[test]
    fn no_sixteen_bytes_stand_twice_in_many_objects() {
        let mut seen = HashSet::new();
        for object in 0..200_u64 {
            let content = bytes(&Body::new(Content::Random, key_of("c", &format!("o{object}")), 7, 16_384));
            for at in 0..content.len() - 16 {
                let place = at % BLOCK;
                // Stamps of one object share its version, 8 bytes of every block.
                if place >= STAMP && place + 16 <= BLOCK && at % 4 == 0 {
                    assert!(seen.insert(content[at..at + 16].to_vec()), "object {object}, byte {at}");
                }
            }
        }
    }

    #[test]
    fn no_block_of_four_kib_stands_twice_in_ten_thousand_objects() {
        let mut seen = HashSet::new();
        for object in 0..10_000_u64 {
            let body = Body::new(Content::Random, key_of("c", &format!("o{}", object / 2)), object, 8192);
            for block in bytes(&body).chunks(BLOCK) {
                assert!(seen.insert(block.to_vec()));
            }
        }
    }

    #[test]
    fn a_verifier_accepts_what_was_written_in_any_chunks_and_at_any_version() {
        for version in [0, 7, u64::MAX] {
            let written = bytes(&Body::new(Content::Random, 5, version, 20_001));
            for size in [1, 7, 16, 4095, 4096, 4097, 30_000] {
                let mut verifier = Verifier::new(5, 0);
                written.chunks(size).for_each(|chunk| verifier.accept(chunk));
                assert!(verifier.is_right(), "chunks of {size}");
            }
            let mut ranged = Verifier::new(5, 5000);
            ranged.accept(&written[5000..]);
            assert!(ranged.is_right());
        }
    }

    #[test]
    fn a_verifier_sees_every_flipped_byte() {
        let written = bytes(&Body::new(Content::Random, 5, 9, 9000));
        for at in (0..written.len()).filter(|at| at % 37 == 0 || at % BLOCK < 20) {
            let mut damaged = written.clone();
            damaged[at] ^= 1;
            let mut verifier = Verifier::new(5, 0);
            damaged.chunks(1000).for_each(|chunk| verifier.accept(chunk));
            assert!(!verifier.is_right(), "byte {at}");
        }
    }

    #[test]
    fn a_verifier_sees_another_object_and_a_mixture_of_two_versions() {
        let mut other = Verifier::new(6, 0);
        other.accept(&bytes(&Body::new(Content::Random, 5, 9, 100)));
        assert!(!other.is_right());
        let mut torn = bytes(&Body::new(Content::Random, 5, 1, 8192));
        torn[4096..].copy_from_slice(&bytes(&Body::new(Content::Random, 5, 2, 8192))[4096..]);
        let mut verifier = Verifier::new(5, 0);
        verifier.accept(&torn);
        assert!(!verifier.is_right());
    }
}
