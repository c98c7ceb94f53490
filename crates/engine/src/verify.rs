//! Compares what comes back with what Cosmark writes (`content.rs`), whatever its version: every byte of whole objects
//! and of ranges, wherever they begin.
//!
//! All bytes of a body but the keys in its stamps depend on the version of the write, which a reader does not know. It is
//! told by a whole stamp, or worked out from 16 bytes in a row under one covering word: the word falls out of the
//! difference of two neighbours, which names their place in the pattern, and place and word are a function of the
//! version that can be turned round. Bytes of another object or another block tell a version, too, but none that fits
//! this key. Any 32 bytes in a row hold one or the other. So that nothing is passed over, what comes
//! before the version is known is held back and compared then.

use cosmark_adaptor_api::BodySink;

use crate::content::{BLOCK, Pattern, STAMP, is_sealed, split, stamp};

/// Bytes of the key in a stamp, which do not depend on the version; the version follows.
const KEY: usize = 8;
/// Bytes under one covering word that tell the version.
const RUN: usize = 16;
/// Any so many bytes in a row tell the version: at worst 15 bytes at the end of a block and the stamp of the next.
const HELD: usize = 32;
/// Bytes that depend on the version: eight of them could be those of some version whatever they are, and only what is beyond
/// them shows that they are right. With four more a wrong byte goes unseen once in 2^32.
const TELLING: u64 = 12;

/// What a comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// Every byte is what Cosmark writes there.
    Right,
    /// At least one is not.
    Wrong,
    /// Nothing contradicts, but there was too little to tell: no byte, or a few of a version that nothing else shows.
    TooShort,
}

/// Takes a body as it comes in.
#[derive(Debug)]
pub struct Verifier {
    key: u64,
    /// Of the first byte, and of the next one, in the object.
    first: u64,
    next: u64,
    version: Option<u64>,
    /// What came before the version was known.
    held: [u8; HELD],
    wrong: bool,
}

impl Verifier {
    /// For the object with content key `key`, from byte `offset` of it on.
    #[must_use]
    pub fn new(key: u64, offset: u64) -> Self {
        // Made before the clock of the operation starts.
        Pattern::shared().prepare_to_find();
        Self { key, first: offset, next: offset, version: None, held: [0; HELD], wrong: false }
    }

    /// What came of it; to be asked after the whole body.
    #[must_use]
    pub fn verdict(&self) -> Verified {
        let held = self.held();
        if self.wrong || (self.version.is_none() && !self.keys_are_right(held)) {
            return Verified::Wrong;
        }
        let keys = keys_before(self.next) - keys_before(self.first);
        let others = self.next - self.first - keys;
        match (others, self.version) {
            (0, _) if keys > 0 => Verified::Right,
            (TELLING.., Some(_)) => Verified::Right,
            _ => Verified::TooShort,
        }
    }

    /// The version that the bytes have.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// What is held back.
    fn held(&self) -> &[u8] {
        let count = if self.version.is_some() { 0 } else { self.next - self.first };
        &self.held[..usize::try_from(count).unwrap_or(HELD).min(HELD)]
    }

    /// Holds bytes back until they tell the version; gives the rest.
    fn hold<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let have = self.held().len();
        let count = chunk.len().min(HELD - have);
        let (own, rest) = chunk.split_at(count);
        self.held[have..have + count].copy_from_slice(own);
        self.next += count as u64;
        let held = self.held;
        let held = &held[..have + count];
        match version_in(self.key, self.first, held) {
            Told::Version(version) => {
                self.version = Some(version);
                self.wrong = !is_written(self.key, version, self.first, held);
            }
            Told::Impossible => self.wrong = true,
            Told::Nothing => {}
        }
        rest
    }

    fn keys_are_right(&self, held: &[u8]) -> bool {
        held.iter().zip(self.first..).all(|(byte, at)| {
            let (block, within) = split(at);
            within >= KEY || stamp(self.key, 0, block)[within] == *byte
        })
    }
}

impl BodySink for Verifier {
    fn accept(&mut self, chunk: &[u8]) {
        if self.wrong {
            return;
        }
        let rest = if self.version.is_none() { self.hold(chunk) } else { chunk };
        if let Some(version) = self.version
            && !self.wrong
            && !rest.is_empty()
        {
            self.wrong = !is_written(self.key, version, self.next, rest);
            self.next += rest.len() as u64;
        }
    }
}

/// How many of an object's first `count` bytes are keys of stamps.
fn keys_before(count: u64) -> u64 {
    let (blocks, within) = split(count);
    blocks * KEY as u64 + within.min(KEY) as u64
}

/// True when `bytes` stand at `offset` of the object with this key and version.
fn is_written(key: u64, version: u64, offset: u64, bytes: &[u8]) -> bool {
    let mut offset = offset;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (block, within) = split(offset);
        let (count, is_right) = if within < STAMP {
            let count = rest.len().min(STAMP - within);
            (count, rest[..count] == stamp(key, version, block)[within..within + count])
        } else {
            let count = rest.len().min(BLOCK - within);
            (count, Pattern::shared().is_under(key, version, block, within - STAMP, &rest[..count]))
        };
        if !is_right {
            return false;
        }
        rest = &rest[count..];
        offset += count as u64;
    }
    true
}

/// What some bytes say about the version they were written with.
enum Told {
    Version(u64),
    /// No version makes these bytes.
    Impossible,
    Nothing,
}

/// Looks for a whole version in a stamp, then for [`RUN`] bytes in a row under one word.
fn version_in(key: u64, offset: u64, held: &[u8]) -> Told {
    let mut run = None;
    let mut at = 0;
    while at < held.len() {
        let (block, within) = split(offset + at as u64);
        let end = if within < STAMP { STAMP } else { BLOCK };
        let count = (held.len() - at).min(end - within);
        let part = &held[at..at + count];
        if within <= KEY
            && let Some(version) = part.get(KEY - within..STAMP - within)
        {
            return Told::Version(crate::content::eight(version));
        }
        if within >= STAMP
            && run.is_none()
            && let Some(part) = part.first_chunk::<RUN>()
        {
            run = Some((block, within - STAMP, part));
        }
        at += count;
    }
    match run {
        None if held.len() == HELD => Told::Impossible,
        None => Told::Nothing,
        Some((block, within, part)) => Pattern::shared()
            .version_of(key, block, within, part)
            .filter(|version| is_sealed(key, *version))
            .map_or(Told::Impossible, Told::Version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Body;
    use cosmark_adaptor_api::BodySource;
    use cosmark_workload::check::SHORTEST_VERIFIED_BYTES;
    use cosmark_workload::model::Content;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    const BLOCK_BYTES: u64 = BLOCK as u64;

    /// What the checks of a workload promise.
    #[test]
    fn any_range_that_a_workload_may_verify_tells_the_version() {
        assert_eq!(HELD as u64, SHORTEST_VERIFIED_BYTES);
    }

    fn part(key: u64, version: u64, offset: u64, len: u64) -> Vec<u8> {
        let body = Body::new(Content::Random, key, version, offset + len);
        let mut bytes = vec![0; usize::try_from(len).unwrap()];
        body.copy_to(offset, &mut bytes).unwrap();
        bytes
    }

    fn verdict(key: u64, offset: u64, bytes: &[u8], chunk: usize) -> Verified {
        let mut verifier = Verifier::new(key, offset);
        bytes.chunks(chunk).for_each(|chunk| verifier.accept(chunk));
        verifier.verdict()
    }

    /// Places where a range can begin that differ: around both edges of a stamp and of a block, and anywhere.
    fn offsets(random: &mut Xoshiro256PlusPlus) -> Vec<u64> {
        let near = [
            0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 100, 1024, 2048, 3071, 4064, 4065, 4079, 4080, 4081, 4087,
            4088, 4095,
        ];
        let anywhere = (0..20).map(|_| random.next_u64() % (40 * BLOCK_BYTES)).collect::<Vec<_>>();
        near.iter().flat_map(|at| [*at, at + BLOCK_BYTES, at + 999 * BLOCK_BYTES]).chain(anywhere).collect()
    }

    #[test]
    fn every_flipped_byte_of_every_range_is_found_and_nothing_else_is() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let (mut ranges, mut flips) = (0, 0);
        for offset in offsets(&mut random) {
            for len in [32, 33, 40, 47, 48, 100, 1000, 1024, 3072, 4096, 4097, 9000] {
                let (key, version) = (random.next_u64(), random.next_u64());
                let written = part(key, version, offset, len);
                for chunk in [1, 13, 4096, 1 << 20] {
                    assert_eq!(verdict(key, offset, &written, chunk), Verified::Right, "{len} from {offset}");
                }
                assert_eq!(verdict(key ^ 1, offset, &written, 4096), Verified::Wrong, "{len} from {offset}");
                ranges += 1;
                // All places of a short range, and the first, the last and some of a long one.
                let len = written.len();
                let all = len <= 100;
                let some =
                    (0..len).filter(|at| all || *at < 48 || at + 48 >= len || random.next_u64() % 41 == 0);
                for at in some.collect::<Vec<_>>() {
                    let mut damaged = written.clone();
                    damaged[at] ^= 1 << (random.next_u64() % 8);
                    let chunk = [1, 16, 1000, 1 << 20][at % 4];
                    assert_eq!(
                        verdict(key, offset, &damaged, chunk),
                        Verified::Wrong,
                        "byte {at} of {len} from {offset}"
                    );
                    flips += 1;
                }
            }
        }
        assert!(ranges > 900 && flips > 100_000, "{ranges} {flips}");
    }

    #[test]
    fn what_is_called_right_had_every_byte_compared_however_short_it_is() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
        let mut by_verdict = [0_u32; 2];
        for offset in offsets(&mut random) {
            for len in 0..SHORTEST_VERIFIED_BYTES {
                let (key, version) = (random.next_u64(), random.next_u64());
                let written = part(key, version, offset, len);
                match verdict(key, offset, &written, 5) {
                    Verified::Wrong => panic!("{len} from {offset}"),
                    Verified::TooShort => by_verdict[0] += 1,
                    Verified::Right => {
                        by_verdict[1] += 1;
                        for at in 0..written.len() {
                            let mut damaged = written.clone();
                            damaged[at] ^= 0x10;
                            assert_eq!(
                                verdict(key, offset, &damaged, 7),
                                Verified::Wrong,
                                "byte {at} of {len} from {offset}"
                            );
                        }
                    }
                }
            }
        }
        assert!(by_verdict.iter().all(|count| *count > 500), "{by_verdict:?}");
    }

    #[test]
    fn objects_of_any_size_are_compared_to_their_last_byte() {
        for len in [1, 8, 20, 24, 31, 32, 4095, 4096, 4097, 4100, 4111, 4112, 4113, 8191, 10_000, 20_001] {
            let written = part(5, 9, 0, len);
            for chunk in [1, 7, 4096, 30_000] {
                assert_eq!(verdict(5, 0, &written, chunk), Verified::Right, "{len}");
            }
            for at in
                (0..written.len()).filter(|at| at % 31 == 0 || at % BLOCK < 33 || at + 33 > written.len())
            {
                let mut damaged = written.clone();
                damaged[at] ^= 0x80;
                assert_eq!(verdict(5, 0, &damaged, 4000), Verified::Wrong, "byte {at} of {len}");
            }
        }
        // Nothing but a key and a version that nothing confirms.
        for len in [0, 9, 16, 19] {
            assert_eq!(verdict(5, 0, &part(5, 9, 0, len), 100), Verified::TooShort, "{len}");
        }
    }

    #[test]
    fn the_wrong_range_another_object_zeros_and_a_mixture_of_two_versions_are_wrong() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
        for offset in offsets(&mut random) {
            let (key, version) = (random.next_u64(), random.next_u64());
            let shifted = part(key, version, offset + 1, 1024);
            let elsewhere = part(key, version, offset + 1024, 1024);
            let next_block = part(key, version, offset + BLOCK_BYTES, 1024);
            let other = part(key ^ 2, version, offset, 1024);
            let mut torn = part(key, version, offset, 1024);
            torn[512..].copy_from_slice(&part(key, version + 1, offset + 512, 512));
            for (what, bytes) in [
                ("shifted", shifted),
                ("elsewhere", elsewhere),
                ("the same place of the next block", next_block),
                ("other", other),
                ("torn", torn),
                ("zeros", vec![0; 1024]),
            ] {
                assert_eq!(verdict(key, offset, &bytes, 300), Verified::Wrong, "{what} at {offset}");
            }
        }
    }
}
