//! The thread's one big buffer. Bytes in it are used up before the task waits again, so all connections of a thread
//! share it and it stays in the processor's cache.

use std::cell::Cell;

/// Size of the buffer: larger gains less than 5 % in bandwidth, smaller costs up to 50 %.
pub(crate) const BUFFER_BYTES: usize = 256 * 1024;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lends the thread's buffer of [`BUFFER_BYTES`] to `job`.
pub(crate) fn with_buffer<R>(job: impl FnOnce(&mut [u8]) -> R) -> R {
    let mut buffer = BUFFER.take();
    if buffer.len() != BUFFER_BYTES {
        buffer = vec![0; BUFFER_BYTES];
    }
    let result = job(&mut buffer);
    BUFFER.set(buffer);
    result
}
