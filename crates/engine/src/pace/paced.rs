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
        let scheduled_ns = self.next_due_ns;
        // The schedule is absolute: a slow operation makes the next ones late, and their response times say so.
        self.next_due_ns = self.period_ns.map_or(0, |period_ns| scheduled_ns.saturating_add(period_ns));
        // The pause is the client's own: no store is late while it lasts.
        let due_ns = if self.think_ns == 0 && self.period_ns.is_some() {
            scheduled_ns
        } else {
            scheduled_ns.max(now_ns.saturating_add(self.think_ns))
        };
        if due_ns >= self.stop_ns {
            return None;
        }
        self.alarm.until(due_ns).await;
        Some(Slot { due_ns, delayed: now_ns > due_ns })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    #[tokio::test(flavor = "current_thread")]
    async fn with_a_rate_and_a_pause_whichever_is_later_is_due() {
        let alarm = Alarm::new(false, Arc::default()).unwrap();
        // Nobody sleeps until what is due.
        alarm.release();
        let begun_ns = clock::now_ns();
        let paced =
            |period_ns, think_ns| Paced::new(Rc::clone(&alarm), begun_ns, period_ns, think_ns, u64::MAX);
        let mut pause = paced(Some(1), HOUR_NS);
        for _ in 0..3 {
            let done_ns = clock::now_ns();
            let slot = pause.next().await.unwrap();
            assert!(slot.due_ns >= done_ns + HOUR_NS && !slot.delayed, "the pause is nobody's delay");
        }
        let mut schedule = paced(Some(HOUR_NS), 1);
        assert!(schedule.next().await.unwrap().due_ns > begun_ns);
        for number in 1..4 {
            assert_eq!(schedule.next().await.unwrap().due_ns, begun_ns + number * HOUR_NS);
        }
        let mut late = paced(Some(1), 0);
        for number in 0..3 {
            assert_eq!(late.next().await.unwrap().due_ns, begun_ns + number);
        }
    }
}
