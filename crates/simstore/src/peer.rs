//! The other end of a connection, and what becomes of the connection after a request.

use std::cell::Cell;
use std::rc::Rc;

/// Whose connection it is.
pub(crate) struct Peer {
    pub(crate) number: u64,
    pub(crate) peer_port: u16,
    /// Time of the last sign of life; `u64::MAX` while the script makes it wait.
    pub(crate) alive: Rc<Cell<u64>>,
    pub(crate) secure: bool,
}

/// What happens to the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    /// End it in order.
    Close,
    /// End it in order, but read on for a moment: the client still sends, and a close with unread bytes
    /// would become a reset that eats the answer.
    Linger,
    /// Drop it.
    Drop,
}
