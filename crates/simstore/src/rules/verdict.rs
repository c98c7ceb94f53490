//! What the script decides about a request.

use std::rc::Rc;
use std::sync::Arc;

use super::load::Link;
use crate::behaviour::ResetAt;

/// What is answered instead of doing what was asked.
#[derive(Debug, Clone)]
pub(crate) struct Instead {
    pub(crate) status: u16,
    pub(crate) kind: InsteadKind,
    /// Fixed time to the answer; `None` takes as long as a success would.
    pub(crate) delay_ns: Option<u64>,
    pub(crate) retry_after_s: Option<u32>,
    pub(crate) before_body: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum InsteadKind {
    /// An error with this code, or the usual one of the status.
    Error(Option<String>),
    /// A redirect to the same URL.
    Redirect,
    /// An error document under status 200.
    Hidden(String),
}

/// Paced bodies.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    pub(crate) download_per_s: Option<f64>,
    pub(crate) upload_per_s: Option<f64>,
    pub(crate) first_byte_ns: u64,
    /// Links shared with all other connections.
    pub(crate) download: Option<Rc<Link>>,
    pub(crate) upload: Option<Rc<Link>>,
}

/// What was decided about a request before its answer is made.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) instead: Option<Instead>,
    pub(crate) reset: Option<ResetAt>,
    pub(crate) pace: Option<Pace>,
    /// The last rule that harmed the request.
    pub(crate) rule: Option<Arc<str>>,
}

/// When the answer is due.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Due {
    /// Time of the server's clock.
    pub(crate) at_ns: u64,
    /// What the delay laws gave, without queueing and stalls.
    pub(crate) delay_ns: u64,
}

/// What is done to an answer.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Send so many bytes of the body, then close.
    pub(crate) stop_at: Option<u64>,
    pub(crate) chunked: bool,
    /// Flip a bit of the byte at this place.
    pub(crate) flip_at: Option<u64>,
    /// Added to the stated Content-Length.
    pub(crate) length_by: Option<i64>,
    pub(crate) garbage: Option<String>,
    pub(crate) endless_limit: Option<u64>,
    /// Piece in bytes and interval in nanoseconds.
    pub(crate) trickle: Option<(u32, u64)>,
}

impl Faults {
    /// Whether nothing is done.
    pub(crate) fn is_none(&self) -> bool {
        let Faults { stop_at, chunked, flip_at, length_by, garbage, endless_limit, trickle } = self;
        stop_at.is_none()
            && !chunked
            && flip_at.is_none()
            && length_by.is_none()
            && garbage.is_none()
            && endless_limit.is_none()
            && trickle.is_none()
    }
}

/// Which change an object underwent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Create,
    Overwrite,
    Delete,
}

/// How far back a listing looks, and which changes it may miss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Past {
    pub(crate) window_ns: u64,
    pub(crate) create: bool,
    pub(crate) delete: bool,
}
