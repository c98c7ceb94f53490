//! Bodies that are sent in chunks: the chunked transfer coding (RFC 9112, section 7.1) and whatever else frames a body
//! of the same shape (such as aws-chunked).

/// Frames a body: it is cut into chunks of [`ChunkCoder::chunk_bytes`], each gets a text before and after it, and
/// something follows the last one.
pub trait ChunkCoder {
    /// Size of each chunk but the last, in bytes; 1 to 1 MiB.
    fn chunk_bytes(&self) -> usize {
        64 * 1024
    }

    /// Appends what stands before `data`, which is never empty.
    fn before(&mut self, data: &[u8], out: &mut Vec<u8>);

    /// Appends what stands after each chunk's data.
    fn after(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n");
    }

    /// Appends what ends the body.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// The chunked transfer coding without trailers.
#[derive(Debug, Default, Clone, Copy)]
pub struct PlainChunks;

impl ChunkCoder for PlainChunks {
    fn before(&mut self, data: &[u8], out: &mut Vec<u8>) {
        push_hex(out, data.len());
        out.extend_from_slice(b"\r\n");
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"0\r\n\r\n");
    }
}

/// Appends a length in lower-case hex, as chunk lines have it.
pub(crate) fn push_hex(out: &mut Vec<u8>, value: usize) {
    let digits = (usize::BITS - value.leading_zeros()).div_ceil(4).max(1);
    out.extend((0..digits).rev().map(|place| b"0123456789abcdef"[(value >> (4 * place)) & 15]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_hex_without_leading_zeros() {
        let mut out = Vec::new();
        for value in [0, 9, 16, 0x1_0000, 0xabc_def0] {
            push_hex(&mut out, value);
            out.push(b' ');
        }
        assert_eq!(out, b"0 9 10 10000 abcdef0 ");
    }
}
