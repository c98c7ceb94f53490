//! Closed loop with a pace: a rate per worker on an absolute schedule, or a pause after each operation.

use std::rc::Rc;

use cosmark_adaptor_api::clock;

use super::Slot;
use crate::timer::Alarm;

/// One worker's due times.
pub struct Paced {
    alarm: Rc<Alarm>,
    /// Nanoseconds between due times; `None` = no schedule.
    period_ns: Option<u64>,
    think_ns: u64,
    next_due_ns: u64,
    /// Nothing is sent from then on.
    stop_ns: u64,
}

impl Paced {
    /// Due times every `period_ns` from `first_due_ns` on, or `think_ns` after each operation; with both, whichever is
    /// later; none from `stop_ns` on.
    #[must_use]
    pub fn new(
        alarm: Rc<Alarm>,
        first_due_ns: u64,
        period_ns: Option<u64>,
        think_ns: u64,
        stop_ns: u64,
    ) -> Self {
        Self { alarm, period_ns, think_ns, next_due_ns: first_due_ns, stop_ns }
    }

    /// Called when the last operation is over; `None` when the next one would come too late, which is said at once.
    pub async fn next(&mut self) -> Option<Slot> {
        let now_ns = clock::now_ns();
        let due_ns = match self.period_ns {
            // The schedule is absolute: a slow operation makes the next ones late, and their response times say so.
            Some(period_ns) => {
                let due_ns = self.next_due_ns;
                self.next_due_ns = due_ns + period_ns;
                due_ns
            }
            None => self.next_due_ns.max(now_ns + self.think_ns),
        };
        if self.period_ns.is_none() {
            self.next_due_ns = 0;
        }
        let earliest_ns = if self.period_ns.is_some() { due_ns.max(now_ns + self.think_ns) } else { due_ns };
        if earliest_ns >= self.stop_ns {
            return None;
        }
        self.alarm.until(earliest_ns).await;
        Some(Slot { due_ns, delayed: now_ns > due_ns })
    }
}
