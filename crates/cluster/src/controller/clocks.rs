//! A driver's clocks compared with ours: before a stage, every few seconds while it runs, and after it. The question that was
//! answered fastest says most: the answer was given somewhere between sent and received, and half of that time bounds the
//! error (Cristian, "Probabilistic clock synchronization", 1989). What the clock gains from one comparison to another is
//! its drift: no offset can correct that.

use std::future::Future;
use std::time::Duration;

use cosmark_wire::message::ClockAnswer;
use cosmark_wire::{ClockDrift, ClockFix};

/// Answers of a comparison that decides when the load begins.
pub const MANY: usize = 20;
/// And of one beside the load, or after it.
pub const SOME: usize = 8;
const PAUSE: Duration = Duration::from_millis(2);
const PAUSE_AFTER_SILENCE: Duration = Duration::from_millis(100);

/// Somebody who can be asked for his clocks, and our own.
pub trait Asked: Send + Sync {
    /// What his clocks say now; `None` = no answer.
    fn ask(&self) -> impl Future<Output = Option<ClockAnswer>> + Send;

    /// Ours, ns since 1970.
    fn now_ns(&self) -> i64;
}

/// One comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// When, on our clock.
    at_ns: i64,
    /// His run clock minus our clock.
    pub offset_ns: i64,
    /// What the driver is told of it.
    pub fix: ClockFix,
}

/// Asks until there are so many answers; whoever does not need them any more stops it.
pub async fn look(asked: &impl Asked, answers: usize) -> Look {
    let mut best: Option<Look> = None;
    let mut had = 0;
    loop {
        let sent_ns = asked.now_ns();
        let answer = asked.ask().await;
        let received_ns = asked.now_ns();
        if let Some(answer) = answer {
            had += 1;
            let at_ns = sent_ns + (received_ns - sent_ns) / 2;
            let error_ns = u64::try_from((received_ns - sent_ns + 1) / 2).unwrap_or(u64::MAX);
            if best.is_none_or(|best| error_ns < best.fix.error_ns) {
                let driver_ns = i64::try_from(answer.now_ns).unwrap_or(i64::MAX);
                best = Some(Look {
                    at_ns,
                    offset_ns: driver_ns.saturating_sub(at_ns),
                    fix: ClockFix { wall_offset_ns: answer.unix_ns.saturating_sub(at_ns), error_ns },
                });
            }
        } else {
            tokio::time::sleep(PAUSE_AFTER_SILENCE).await;
        }
        if had >= answers
            && let Some(best) = best
        {
            return best;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The comparisons of one stage, however many.
#[derive(Debug, Default)]
pub struct Looks {
    first: Option<Look>,
    last: Option<Look>,
    strayed_ns: u64,
}

impl Looks {
    /// Adds the newest.
    pub fn add(&mut self, look: Look) {
        let first = *self.first.get_or_insert(look);
        self.strayed_ns = self.strayed_ns.max(look.offset_ns.abs_diff(first.offset_ns));
        self.last = Some(look);
    }

    /// The one before the load.
    pub fn first(&self) -> Option<Look> {
        self.first
    }

    /// What became of the clocks from the first to the last; `None` with fewer than two.
    pub fn drift(&self) -> Option<ClockDrift> {
        let (first, last) = (self.first?, self.last?);
        let over_ns =
            u64::try_from(last.at_ns.saturating_sub(first.at_ns)).ok().filter(|over_ns| *over_ns > 0)?;
        Some(ClockDrift {
            last: last.fix,
            over_ns,
            gained_ns: last.offset_ns.saturating_sub(first.offset_ns),
            gained_error_ns: last.fix.error_ns.saturating_add(first.fix.error_ns),
            strayed_ns: self.strayed_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

    use super::*;

    /// A driver whose clocks are ours, but for what is scripted; time is ours to move.
    struct Scripted {
        now_ns: AtomicI64,
        asked: AtomicU32,
        wall_ahead_ns: i64,
        /// Its run clock goes this much faster.
        fast: f64,
    }

    const BEGAN_NS: i64 = 1_700_000_000_000_000_000;

    impl Scripted {
        fn new(wall_ahead_ns: i64, fast: f64) -> Self {
            Self { now_ns: AtomicI64::new(BEGAN_NS), asked: AtomicU32::new(0), wall_ahead_ns, fast }
        }

        fn wait(&self, ns: i64) {
            self.now_ns.fetch_add(ns, Ordering::Relaxed);
        }
    }

    impl Asked for Scripted {
        async fn ask(&self) -> Option<ClockAnswer> {
            // Every third question is lost; the others take 0.1 to 3 ms, there longer than back.
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            if number % 3 == 1 {
                self.wait(1_000_000_000);
                return None;
            }
            let there_ns = 70_000 + i64::from(number % 7) * 300_000;
            self.wait(there_ns);
            let since_ns = (self.now_ns() - BEGAN_NS) as f64 * (1.0 + self.fast);
            let answer = ClockAnswer {
                now_ns: 5_000_000_000 + since_ns as u64,
                unix_ns: self.now_ns() + self.wall_ahead_ns,
                life: 1,
            };
            self.wait(there_ns / 2);
            Some(answer)
        }

        fn now_ns(&self) -> i64 {
            self.now_ns.load(Ordering::Relaxed)
        }
    }

    fn drift_of(driver: &Scripted) -> (Look, ClockDrift) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut looks = Looks::default();
            for pause_s in [0, 10, 10, 40] {
                driver.wait(pause_s * 1_000_000_000);
                looks.add(look(driver, SOME).await);
            }
            (looks.first().unwrap(), looks.drift().unwrap())
        })
    }

    #[test]
    fn an_offset_of_two_seconds_and_a_drift_of_one_percent_are_seen_as_what_they_are() {
        let (first, drift) = drift_of(&Scripted::new(2_000_000_000, 0.01));
        let off = (first.fix.wall_offset_ns - 2_000_000_000).unsigned_abs();
        assert!(off <= first.fix.error_ns && first.fix.error_ns < 100_000, "{first:?}");
        let gained = drift.gained_ns as f64 / drift.over_ns as f64;
        let error = drift.gained_error_ns as f64 / drift.over_ns as f64;
        assert!((gained - 0.01).abs() <= error && error < 1e-5, "{gained} give or take {error}");
        assert_eq!(drift.strayed_ns, drift.gained_ns.unsigned_abs());
        assert!((drift.last.wall_offset_ns - 2_000_000_000).unsigned_abs() <= drift.last.error_ns);
    }

    #[test]
    fn clocks_that_agree_gain_nothing_but_what_the_questions_leave_open() {
        for ahead_ns in [0, -2_000_000_000] {
            let (first, drift) = drift_of(&Scripted::new(ahead_ns, 0.0));
            assert!((first.fix.wall_offset_ns - ahead_ns).unsigned_abs() <= first.fix.error_ns);
            assert!(drift.gained_ns.unsigned_abs() <= drift.gained_error_ns, "{drift:?}");
            assert!(drift.over_ns >= 60_000_000_000, "{drift:?}");
        }
    }

    /// Whoever has a login of a driver may answer anything.
    #[test]
    fn clocks_that_cannot_be_are_compared_without_an_overflow() {
        let look = |at_ns: i64, offset_ns: i64| {
            let fix = ClockFix { wall_offset_ns: offset_ns, error_ns: 1 };
            Look { at_ns, offset_ns, fix }
        };
        let mut looks = Looks::default();
        looks.add(look(BEGAN_NS, i64::MIN));
        looks.add(look(BEGAN_NS + 1, i64::MAX));
        let drift = looks.drift().unwrap();
        assert_eq!((drift.over_ns, drift.gained_ns, drift.strayed_ns), (1, i64::MAX, u64::MAX));
    }
}
