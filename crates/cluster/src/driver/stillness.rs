//! Notices gaps in a driver's time: its process was stopped, its machine was suspended, or NATS was away.

use std::time::Duration;

use cosmark_engine::{JUMP, coarse_ns, suspended_ns};
use tokio::time::Instant;

/// Others may still be away for so long after NATS is back for us.
const RECONNECTING: Duration = Duration::from_secs(20);

/// Notices that this process stood still, or its machine was suspended, and that NATS was away.
pub struct Stillness {
    looked_ns: u64,
    suspended_ns: u64,
    is_away: bool,
    back: Option<Instant>,
    /// The connection is away, or came back lately.
    pub was_away: bool,
}

impl Default for Stillness {
    fn default() -> Self {
        let (looked_ns, suspended_ns) = (coarse_ns(), suspended_ns());
        Self { looked_ns, suspended_ns, is_away: false, back: None, was_away: false }
    }
}

impl Stillness {
    /// True once after each time of standing still.
    pub fn is_over(&mut self) -> bool {
        let (looked_ns, suspended_ns) = (coarse_ns(), suspended_ns());
        let still_ns = looked_ns.saturating_sub(std::mem::replace(&mut self.looked_ns, looked_ns));
        let asleep_ns = suspended_ns.saturating_sub(std::mem::replace(&mut self.suspended_ns, suspended_ns));
        Duration::from_nanos(still_ns + asleep_ns) >= JUMP
    }

    pub fn note_link(&mut self, is_connected: bool) {
        if is_connected && self.is_away {
            self.back = Some(Instant::now());
        }
        self.is_away = !is_connected;
        self.was_away = self.is_away || self.back.is_some_and(|at| at.elapsed() < RECONNECTING);
    }
}
