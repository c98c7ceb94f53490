//! What objects are made of. Every 4 KiB block of every write is different from every other, does not compress, and
//! can be checked when it comes back without knowing when or by whom it was written:
//!
//! ```text
//! block b of object k, version v  =  stamp (16 bytes: k ^ mix(b), v)  ++  4080 bytes of a fixed random pattern,
//!                                    from a place that depends on k, b and v
//! ```
//!
//! The pattern is shared by all and lent to the transport without a copy. A longer object begins like a shorter one of
//! the same name and version, so sizes need not be known to check content.

use std::io::{self, IoSlice};
use std::sync::OnceLock;

use cosmark_adaptor_api::{BodySink, BodySource};
use cosmark_workload::model::Content;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BLOCK: usize = 4096;
const STAMP: usize = 16;
const PLACES: usize = 1 << 18;
const ZEROS: &[u8] = &[0; 65536];

/// The shared random pattern (256 KiB and one block): small enough to stay in a core's cache.
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

    fn of_block(&self, key: u64, version: u64, block: u64) -> &[u8] {
        let place = mix(key ^ mix(version ^ block.rotate_left(32)));
        let start = usize::try_from(place % PLACES as u64).unwrap_or(0);
        &self.0[start..start + BLOCK - STAMP]
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

    fn block_parts(&self, block: u64) -> ([u8; STAMP], &'static [u8]) {
        (stamp(self.key, self.version, block), Pattern::shared().of_block(self.key, self.version, block))
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
            let (stamp, pattern) = self.block_parts(block);
            let source = if within < STAMP { &stamp[within..] } else { &pattern[within - STAMP..] };
            let count = source.len().min(rest.len());
            rest[..count].copy_from_slice(&source[..count]);
            rest = &mut rest[count..];
            offset += count as u64;
        }
        Ok(())
    }

    fn lend<'a>(&'a self, offset: u64, scratch: &'a mut [u8], pieces: &mut [IoSlice<'a>]) -> usize {
        let mut left = self.len.saturating_sub(offset);
        if self.content == Content::Zero {
            return lend_zeros(left, pieces);
        }
        let (first, within) = split(offset);
        let blocks = (scratch.len() / STAMP).min(pieces.len() / 2);
        for (at, slot) in scratch.chunks_exact_mut(STAMP).take(blocks).enumerate() {
            slot.copy_from_slice(&stamp(self.key, self.version, first + at as u64));
        }
        let stamps: &'a [u8] = scratch;
        let mut filled = 0;
        let mut skip = within;
        for (at, stamp) in stamps.chunks_exact(STAMP).take(blocks).enumerate() {
            if left == 0 {
                break;
            }
            let pattern = Pattern::shared().of_block(self.key, self.version, first + at as u64);
            for part in [stamp, pattern] {
                let start = skip.min(part.len());
                skip -= start;
                let count = (part.len() - start).min(usize::try_from(left).unwrap_or(usize::MAX));
                if count > 0 {
                    pieces[filled] = IoSlice::new(&part[start..start + count]);
                    filled += 1;
                    left -= count as u64;
                }
            }
        }
        filled
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
                    let pattern = Pattern::shared().of_block(self.key, version, block);
                    self.wrong |= rest[..count] != pattern[within - STAMP..within - STAMP + count];
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
    fn lent_pieces_and_copies_are_the_same_bytes_from_any_offset() {
        for content in [Content::Random, Content::Zero] {
            for len in [0, 1, 15, 16, 17, 4095, 4096, 4097, 70_000] {
                let body = Body::new(content, 11, 22, len);
                let whole = bytes(&body);
                for from in [0, 1, 15, 16, 17, 4000, 4096, 5000].into_iter().filter(|from| *from <= len) {
                    assert_eq!(
                        lent(&body, from),
                        whole[usize::try_from(from).unwrap()..],
                        "{len} from {from}"
                    );
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
