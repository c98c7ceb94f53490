//! What a driver may say at most. Its login lets it lie about what it measured, and about nothing more: a row is
//! written for each interval of the time that it speaks of, in the memory and on the disk of a controller that has
//! other runs as well.

use std::time::Duration;

use cosmark_wire::DriverEvent;
use tokio::time::Instant;

/// By how much a driver may be ahead of the time that has passed since the first event of its step.
const AHEAD: Duration = Duration::from_secs(3600);

/// No window is longer, seconds.
const LONGEST_S: f64 = 1e10;

/// What one driver says of one step.
#[derive(Debug, Default)]
pub struct Sayings {
    heard: Option<Heard>,
    /// What the driver's clock showed when its load began.
    origin_ns: Option<u64>,
}

/// How long one was heard. Of a run that is taken up only the stream knows that.
#[derive(Debug)]
struct Heard {
    /// When the first event came here.
    since: Instant,
    /// What the clock of the stream showed at the last event, ns since 1970.
    last_ns: i64,
    /// By how much it went on from event to event. It may be set back by hours between two.
    by_stream_ns: u64,
}

impl Heard {
    fn on(&mut self, unix_ns: i64) -> Duration {
        let step_ns = u64::try_from(unix_ns.saturating_sub(self.last_ns)).unwrap_or(0);
        self.by_stream_ns = self.by_stream_ns.saturating_add(step_ns);
        self.last_ns = unix_ns;
        self.since.elapsed().max(Duration::from_nanos(self.by_stream_ns))
    }
}

impl Sayings {
    /// Takes note of the next event, which the stream had at `unix_ns` at the latest; false when it cannot be true.
    pub fn are_credible(&mut self, unix_ns: i64, event: &DriverEvent) -> bool {
        let begin = || Heard { since: Instant::now(), last_ns: unix_ns, by_stream_ns: 0 };
        let passed = self.heard.get_or_insert_with(begin).on(unix_ns);
        if let DriverEvent::Launched(launched) = event {
            self.origin_ns.get_or_insert(launched.origin_ns);
        }
        let latest_ns = match event {
            DriverEvent::Snapshot(slice) if !slice.is_credible() => return false,
            DriverEvent::Health(sample) => return sample.is_credible(),
            DriverEvent::Ended { missions, .. } => {
                return missions.iter().all(|one| (0.0..=LONGEST_S).contains(&one.window_s));
            }
            DriverEvent::Snapshot(slice) => slice.start_ns.max(slice.end_ns),
            DriverEvent::Told { up_to_ns } => *up_to_ns,
            DriverEvent::Paused { from_ns, to_ns, .. } => *from_ns.max(to_ns),
            _ => return true,
        };
        // Before its load begins nothing of this is counted.
        let Some(origin_ns) = self.origin_ns else { return true };
        Duration::from_nanos(latest_ns.saturating_sub(origin_ns)) <= passed + AHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_metrics::{HealthSample, Latency, OpSnapshot, Phase, Snapshot};
    use cosmark_wire::{Launched, MissionReport, PauseReason};

    const SECOND: u64 = 1_000_000_000;
    /// What the driver's clock shows when its load begins: it has been up for months.
    const ORIGIN: u64 = 10_000_000 * SECOND;

    fn launched() -> DriverEvent {
        DriverEvent::Launched(Launched {
            start_ns: ORIGIN,
            origin_ns: ORIGIN,
            origin_unix_ns: 0,
            clock: None,
            plans: Vec::new(),
            endpoints: Vec::new(),
            containers: Default::default(),
        })
    }

    fn slice(end_ns: u64, ok: u64) -> DriverEvent {
        let ops = vec![OpSnapshot { ok, ..OpSnapshot::default() }];
        DriverEvent::Snapshot(Snapshot { work: 0, phase: Phase::Window, start_ns: ORIGIN, end_ns, ops })
    }

    /// Whether that is credible after a load of so long.
    fn after(seconds: u64, event: &DriverEvent) -> bool {
        let mut sayings = Sayings::default();
        let at_ns = |second: u64| 1_700_000_000_000_000_000 + (second * SECOND).cast_signed();
        assert!(sayings.are_credible(at_ns(0), &DriverEvent::Authed));
        assert!(sayings.are_credible(at_ns(0), &launched()));
        sayings.are_credible(at_ns(seconds), event)
    }

    #[test]
    fn a_driver_speaks_of_the_time_that_has_passed_and_of_none_that_has_not() {
        let up_to = |second: u64| DriverEvent::Told { up_to_ns: ORIGIN + second * SECOND };
        let paused = |second: u64| DriverEvent::Paused {
            from_ns: ORIGIN,
            to_ns: ORIGIN + second * SECOND,
            why: PauseReason::StoodStill,
        };
        for passed in [0, 60, 30 * 24 * 3600] {
            for (said, is_credible) in [(passed, true), (passed + 3000, true), (passed + 4000, false)] {
                assert_eq!(after(passed, &up_to(said)), is_credible, "{passed} {said}");
                assert_eq!(after(passed, &paused(said)), is_credible, "{passed} {said}");
                assert_eq!(after(passed, &slice(ORIGIN + said * SECOND, 5)), is_credible, "{passed} {said}");
            }
        }
        for lie in [DriverEvent::Told { up_to_ns: u64::MAX }, slice(u64::MAX, 5), slice(ORIGIN, u64::MAX)] {
            assert!(!after(60, &lie), "{lie:?}");
        }
        let mut pause = Latency::default();
        (0..3).for_each(|_| pause.record_many(u64::MAX, u32::MAX));
        assert!(!after(60, &DriverEvent::Health(HealthSample { pause, ..HealthSample::default() })));
        for (window_s, is_credible) in
            [(0.0, true), (1e6, true), (-1.0, false), (f64::NAN, false), (1e300, false)]
        {
            let report = MissionReport {
                work: 0,
                workers: 1,
                window_s,
                endpoints: Vec::new(),
                examples: Vec::new(),
                began: None,
            };
            let ended = DriverEvent::Ended { missions: vec![report], gave_up: None };
            assert_eq!(after(60, &ended), is_credible, "{window_s}");
        }
        // What is said before the load began is left out by the stage.
        assert!(Sayings::default().are_credible(0, &DriverEvent::Told { up_to_ns: u64::MAX }));
    }

    #[test]
    fn a_clock_of_the_stream_that_is_set_back_takes_nothing_from_what_has_passed() {
        let mut sayings = Sayings { origin_ns: Some(ORIGIN), ..Sayings::default() };
        let mut says = |at_s: i64, up_to_s: u64| {
            let all = DriverEvent::Told { up_to_ns: ORIGIN + up_to_s * SECOND };
            sayings.are_credible(1_700_000_000_000_000_000 + at_s * SECOND.cast_signed(), &all)
        };
        assert!(says(0, 0));
        assert!(says(10_000, 10_000));
        // Five hours back.
        assert!(says(-8_000, 10_001));
        assert!(says(2_000, 20_001));
        assert!(!says(2_001, 24_002));
    }
}
