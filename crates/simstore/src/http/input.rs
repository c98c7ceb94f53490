//! The bytes that a connection has received and not used yet. Bounded: heads by their parser, bodies are
//! taken out as they arrive.

use std::io;

use tokio::io::AsyncReadExt as _;

use super::sock::Sock;

/// Room for one read.
const ROOM: usize = 16 * 1024;

/// A receive buffer.
pub(crate) struct Input {
    bytes: Vec<u8>,
    used: usize,
}

impl Input {
    pub(crate) fn new() -> Input {
        Input { bytes: Vec::new(), used: 0 }
    }

    /// What is there.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Marks bytes as used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.used = (self.used + count).min(self.bytes.len());
        if self.used == self.bytes.len() {
            self.bytes.clear();
            self.used = 0;
        }
    }

    /// Puts bytes that were read elsewhere by accident behind what is there.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads once; 0 means the peer ended.
    pub(crate) async fn fill<S: Sock>(&mut self, sock: &mut S) -> io::Result<usize> {
        if self.used > 0 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        self.bytes.reserve(ROOM);
        sock.read_buf(&mut self.bytes).await
    }
}
