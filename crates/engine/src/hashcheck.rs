//! COSBench's `hashCheck`: the last 40 bytes of an object are `!!!!`, the MD5 of all bytes before as 32 hex digits, and
//! `!!!!`. Objects of 40 bytes or less carry no hash. MD5 costs about 2.4 s per GB; the native `verify` does better.

use std::io;

use cosmark_adaptor_api::{BodySink, BodySource};
use md5::{Digest, Md5};

/// Length of the guard.
pub const GUARD: usize = 40;
const MARK: &[u8] = b"!!!!";

/// True when an object of this length carries a guard.
#[must_use]
pub fn is_guarded(len: u64) -> bool {
    len > GUARD as u64
}

fn guard_of(digest: &[u8]) -> [u8; GUARD] {
    let mut guard = [b'!'; GUARD];
    for (at, byte) in digest.iter().take(16).enumerate() {
        guard[4 + 2 * at] = b"0123456789abcdef"[usize::from(byte >> 4)];
        guard[5 + 2 * at] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    guard
}

/// A body whose last 40 bytes are the guard of the bytes before; its length does not change.
pub struct GuardedBody<'a> {
    inner: &'a dyn BodySource,
    payload: u64,
    guard: [u8; GUARD],
    total: u64,
}

impl<'a> GuardedBody<'a> {
    /// Hashes the body once; before the clock of the operation starts. `extend` = the guard comes after the whole body
    /// (file operations) instead of in place of its end.
    ///
    /// # Errors
    /// Of reading a file.
    pub fn new(inner: &'a dyn BodySource, extend: bool) -> io::Result<Self> {
        let total = if extend { inner.len() + GUARD as u64 } else { inner.len() };
        let payload = total - GUARD as u64;
        let mut hash = Md5::new();
        let mut buf = vec![0; 65536];
        let mut offset = 0;
        while offset < payload {
            let count = usize::try_from(payload - offset).unwrap_or(usize::MAX).min(buf.len());
            inner.copy_to(offset, &mut buf[..count])?;
            hash.update(&buf[..count]);
            offset += count as u64;
        }
        Ok(Self { inner, payload, guard: guard_of(&hash.finalize()), total })
    }
}

impl BodySource for GuardedBody<'_> {
    fn len(&self) -> u64 {
        self.total
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let before =
            usize::try_from(self.payload.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        let (content, tail) = buf.split_at_mut(before);
        if !content.is_empty() {
            self.inner.copy_to(offset, content)?;
        }
        let from = usize::try_from(offset.saturating_sub(self.payload)).unwrap_or(GUARD);
        tail.copy_from_slice(&self.guard[from..from + tail.len()]);
        Ok(())
    }
}

/// What a read with `hashCheck` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashVerdict {
    /// The guard is there and right.
    Right,
    /// The guard is there and the content is not what it says.
    Wrong,
    /// There is no guard.
    Missing,
}

/// Hashes a body as it comes in, holding back its last 40 bytes.
pub struct HashSink {
    hash: Md5,
    tail: Vec<u8>,
}

impl HashSink {
    #[must_use]
    pub fn new() -> Self {
        Self { hash: Md5::new(), tail: Vec::with_capacity(2 * GUARD) }
    }

    /// To be asked after the whole body.
    #[must_use]
    pub fn verdict(self) -> HashVerdict {
        let is_guard = self.tail.len() == GUARD && self.tail.starts_with(MARK) && self.tail.ends_with(MARK);
        if !is_guard {
            HashVerdict::Missing
        } else if self.tail == guard_of(&self.hash.finalize()) {
            HashVerdict::Right
        } else {
            HashVerdict::Wrong
        }
    }
}

impl BodySink for HashSink {
    fn accept(&mut self, chunk: &[u8]) {
        let keep = chunk.len().min(GUARD);
        let (body, end) = chunk.split_at(chunk.len() - keep);
        let spill = (self.tail.len() + keep).saturating_sub(GUARD);
        self.hash.update(&self.tail[..spill]);
        self.tail.drain(..spill);
        self.hash.update(body);
        self.tail.extend_from_slice(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_adaptor_api::BytesSource;

    fn guarded(content: &[u8], extend: bool) -> Vec<u8> {
        let source = BytesSource(content);
        let body = GuardedBody::new(&source, extend).unwrap();
        let mut bytes = vec![0; usize::try_from(body.len()).unwrap()];
        for (at, part) in bytes.chunks_mut(7).enumerate() {
            body.copy_to(at as u64 * 7, part).unwrap();
        }
        bytes
    }

    fn verdict(bytes: &[u8], size: usize) -> HashVerdict {
        let mut sink = HashSink::new();
        bytes.chunks(size).for_each(|chunk| sink.accept(chunk));
        sink.verdict()
    }

    #[test]
    fn the_guard_is_the_md5_of_what_stands_before_it() {
        let bytes = guarded(b"abc", true);
        assert_eq!(&bytes[3..], b"!!!!900150983cd24fb0d6963f7d28e17f72!!!!");
        assert_eq!(guarded(&[7; 100], false).len(), 100);
    }

    #[test]
    fn right_wrong_and_missing_guards_are_told_apart_in_any_chunks() {
        let right = guarded(&[9; 1000], false);
        let mut wrong = right.clone();
        wrong[3] ^= 1;
        for size in [1, 39, 40, 41, 500, 2000] {
            assert_eq!(verdict(&right, size), HashVerdict::Right, "chunks of {size}");
            assert_eq!(verdict(&wrong, size), HashVerdict::Wrong, "chunks of {size}");
            assert_eq!(verdict(&[1; 1000], size), HashVerdict::Missing, "chunks of {size}");
        }
    }
}
