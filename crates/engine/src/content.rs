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

use cosmark_adaptor_api::BodySource;
use cosmark_workload::model::Content;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What is stamped and covered on its own, in bytes.
pub(crate) const BLOCK: usize = 4096;
/// Bytes of a block's stamp: key, version.
pub(crate) const STAMP: usize = 16;
const PLACES: usize = 1 << 15;
const ZEROS: &[u8] = &[0; 65536];

/// The shared random pattern (32 KiB and one block): small enough to stay in a core's nearest cache. That blocks then
/// often begin near one another in it does no harm, since each is covered by a word of its own.
#[derive(Debug)]
pub struct Pattern {
    bytes: Box<[u8]>,
    /// Where in it 16 bytes stand whose halves differ by a word, see [`Pattern::version_of`]; made when first needed.
    places: OnceLock<Box<[u16]>>,
}

impl Pattern {
    /// The one of this program; the same on every driver and in every run.
    #[must_use]
    pub fn shared() -> &'static Pattern {
        static SHARED: OnceLock<Pattern> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut bytes = vec![0; PLACES + BLOCK];
            Xoshiro256PlusPlus::seed_from_u64(0x00c0_53a4_bec4).fill_bytes(&mut bytes);
            Pattern { bytes: bytes.into_boxed_slice(), places: OnceLock::new() }
        })
    }

    /// The stretch of the pattern under a block, and the word that covers it.
    fn of_block(&self, key: u64, version: u64, block: u64) -> (&[u8], u64) {
        let place = mix(key ^ mix(version ^ block.rotate_left(32)));
        let start = usize::try_from(place % PLACES as u64).unwrap_or(0);
        (&self.bytes[start..start + BLOCK - STAMP], mix(place))
    }

    /// True when `bytes` stand at `at` of the covered part of this block.
    pub(crate) fn is_under(&self, key: u64, version: u64, block: u64, at: usize, bytes: &[u8]) -> bool {
        let (pattern, word) = self.of_block(key, version, block);
        is_covered(pattern, word, at, bytes)
    }

    /// Makes the table that [`Pattern::version_of`] looks into.
    pub(crate) fn prepare_to_find(&self) {
        self.places.get_or_init(|| places(&self.bytes));
    }

    /// The version with which `run` stands at `at` of the covered part of this block, if there is one. The word that covers
    /// both halves of `run` is not in their difference, which says where in the pattern they come from; that gives the word, from
    /// which [`Pattern::of_block`] is calculated backwards.
    pub(crate) fn version_of(&self, key: u64, block: u64, at: usize, run: &[u8; 16]) -> Option<u64> {
        let table = self.places.get_or_init(|| places(&self.bytes));
        let first = eight(&run[..8]);
        let difference = first ^ eight(&run[8..]);
        let mut slot = slot_of(difference);
        while table[slot] != FREE {
            let place = usize::from(table[slot]);
            slot = (slot + 1) % table.len();
            if difference_at(&self.bytes, place) != difference {
                continue;
            }
            let turned = first ^ eight(&self.bytes[place..place + 8]);
            let word = turned.rotate_left(8 * u32::try_from(at % 8).unwrap_or(0));
            let mixed = unmix(word);
            if place.checked_sub(at).is_some_and(|start| start as u64 == mixed % PLACES as u64) {
                return Some(unmix(unmix(mixed) ^ key) ^ block.rotate_left(32));
            }
        }
        None
    }
}

/// A slot of the table of places that holds none.
const FREE: u16 = u16::MAX;

fn difference_at(pattern: &[u8], place: usize) -> u64 {
    eight(&pattern[place..place + 8]) ^ eight(&pattern[place + 8..place + 16])
}

fn slot_of(difference: u64) -> usize {
    usize::try_from(difference.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48).unwrap_or(0)
}

/// All places of the pattern by the difference of the two words there: open addressing, 128 KiB, half full.
fn places(pattern: &[u8]) -> Box<[u16]> {
    let mut table = vec![FREE; 1 << 16].into_boxed_slice();
    for place in 0..=pattern.len() - STAMP {
        let mut slot = slot_of(difference_at(pattern, place));
        while table[slot] != FREE {
            slot = (slot + 1) % table.len();
        }
        table[slot] = u16::try_from(place).unwrap_or(FREE);
    }
    table
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): spreads every input bit over all output bits.
#[must_use]
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// What [`mix`] made this of.
fn unmix(mixed: u64) -> u64 {
    const FIRST: u64 = inverse(0xBF58_476D_1CE4_E5B9);
    const SECOND: u64 = inverse(0x94D0_49BB_1331_11EB);
    let value = (mixed ^ (mixed >> 31) ^ (mixed >> 62)).wrapping_mul(SECOND);
    let value = (value ^ (value >> 27) ^ (value >> 54)).wrapping_mul(FIRST);
    (value ^ (value >> 30) ^ (value >> 60)).wrapping_sub(0x9E37_79B9_7F4A_7C15)
}

/// What an odd number has to be multiplied by to give 1 modulo 2^64, by Newton's iteration: each step doubles the right bits.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut right_bits = 3;
    while right_bits < 64 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        right_bits *= 2;
    }
    inverse
}

/// A version that fits the key: half of it says which write, the other half is a function of that and of the key. A few bytes
/// out of a block tell a version whatever they are; that it fits shows that they are of this object and of this block.
fn sealed(key: u64, version: u64) -> u64 {
    seal(key, u64::from(which(version)))
}

/// What of a version tells which write it was.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "both halves are in the lower one")]
pub fn which(version: u64) -> u32 {
    (version ^ (version >> 32)) as u32
}

/// True for what [`sealed`] gives for this key.
pub(crate) fn is_sealed(key: u64, version: u64) -> bool {
    seal(key, version & LOW_HALF) == version
}

fn seal(key: u64, which: u64) -> u64 {
    which | (mix(key ^ mix(which)) & !LOW_HALF)
}

const LOW_HALF: u64 = 0xffff_ffff;

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
pub(crate) fn eight(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The first bytes of a block.
pub(crate) fn stamp(key: u64, version: u64, block: u64) -> [u8; STAMP] {
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
        Self { content, key, version: sealed(key, version), len }
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

/// The block and the place in it of a byte of an object.
pub(crate) fn split(offset: u64) -> (u64, usize) {
    (offset / BLOCK as u64, usize::try_from(offset % BLOCK as u64).unwrap_or(0))
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
    fn what_was_mixed_can_be_told() {
        for value in [0, 1, 7, u64::MAX, 0x0123_4567_89AB_CDEF].into_iter().chain((0..1000).map(mix)) {
            assert_eq!(unmix(mix(value)), value);
        }
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
}
