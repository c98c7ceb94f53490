//! Bodies: where the bytes of a write come from, and where the bytes of a read go.

use std::io;

/// A borrowed stretch of a body.
pub type Piece<'a> = io::IoSlice<'a>;

/// Content of a write. Random access, so that a body can be hashed first, cut into parts and sent over any transport.
pub trait BodySource {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// True for an empty body.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the bytes from `offset` on into `buf`; `offset + buf.len()` is at most [`BodySource::len`].
    ///
    /// # Errors
    /// Only sources that read a file can fail.
    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// The same bytes without a copy, where the source can lend them: fills `pieces` from `offset` on and returns how
    /// many pieces are filled; `scratch` holds small parts that exist nowhere else (at least 16 bytes per 4 KiB). The
    /// pieces may cover less than the rest of the body. 0 = this source cannot lend: use [`BodySource::copy_to`].
    fn lend<'a>(&'a self, offset: u64, scratch: &'a mut [u8], pieces: &mut [Piece<'a>]) -> usize {
        let _ = (offset, scratch, pieces);
        0
    }

    /// SHA-256 of the whole body, if it is known without reading it again.
    fn known_sha256(&self) -> Option<[u8; 32]> {
        None
    }
}

/// Receiver of a body's bytes. Where nobody looks at the bytes no sink is given, and the transport may drop them in the
/// kernel.
pub trait BodySink {
    /// The next bytes, in order. Must not block.
    fn accept(&mut self, chunk: &[u8]);
}

/// A body in memory.
#[derive(Debug, Clone)]
pub struct BytesSource<'a>(pub &'a [u8]);

impl BodySource for BytesSource<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let part = start.checked_add(buf.len()).and_then(|end| self.0.get(start..end));
        buf.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Keeps the first `limit` bytes and counts the rest.
#[derive(Debug, Default)]
pub struct CollectSink {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How much may be kept.
    pub limit: usize,
    /// All bytes seen.
    pub seen: u64,
}

impl CollectSink {
    /// Keeps at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, seen: 0 }
    }
}

impl BodySink for CollectSink {
    fn accept(&mut self, chunk: &[u8]) {
        self.seen += chunk.len() as u64;
        let room = self.limit.saturating_sub(self.bytes.len()).min(chunk.len());
        self.bytes.extend_from_slice(&chunk[..room]);
    }
}
