//! A buffer that begins at a block border, as `O_DIRECT` wants it (open(2), "O_DIRECT").

/// Start and length of direct transfers are multiples of this; every common device accepts it.
pub(super) const ALIGNMENT: usize = 4096;

/// Zeroed, aligned, owned.
pub(super) struct Buffer {
    space: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// `len` is rounded up to whole blocks, at least one.
    pub(super) fn new(len: usize) -> Self {
        let len = len.max(1).div_ceil(ALIGNMENT) * ALIGNMENT;
        let space = vec![0; len + ALIGNMENT];
        let start = space.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { space, start, len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.space[self.start..self.start + self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.space[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_begins_at_a_block_border_and_holds_whole_blocks() {
        for len in [0, 1, 4096, 4097, 1 << 20] {
            let buffer = Buffer::new(len);
            assert_eq!(buffer.bytes().as_ptr().align_offset(ALIGNMENT), 0);
            assert_eq!(buffer.bytes().len() % ALIGNMENT, 0);
            assert!(buffer.len() >= len.max(1) && buffer.len() < len + ALIGNMENT + 1);
        }
    }
}
