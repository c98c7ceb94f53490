//! A run that another controller takes up: slots that may have begun before are not made a second time, the others are.

use std::time::Duration;

use cosmark_workload::model::faults::{FaultAt, FaultSpec};

use super::{STEADY_HALF, Stage, whole};
use crate::judge::{Played, real};

/// Clocks of two controllers differ by no more, and a slot that was about to begin has begun by then.
const MARGIN: Duration = Duration::from_secs(5);

/// Which slots are made after a run was taken up.
pub(super) struct TakenUp {
    /// Seconds since the load began; `None` where the load began afterwards, or nobody took it up.
    at_s: Option<f64>,
    /// When each slot can have begun at the earliest, in their order.
    earliest_s: Vec<f64>,
    /// Until then what was made before may disturb.
    free_s: f64,
}

/// When each slot can have begun at the earliest, seconds since the load began, in their order.
fn earliest_s(faults: &[FaultSpec], ramp_s: f64) -> Vec<f64> {
    let (mut all, mut free_s) = (Vec::new(), 0.0_f64);
    for spec in faults {
        free_s = free_s.max(match spec.at {
            FaultAt::After(time) => time.as_secs_f64(),
            FaultAt::Steady => real(whole(ramp_s.ceil()) + 2 + 2 * STEADY_HALF),
            FaultAt::Objects(_) => 0.0,
        });
        for _ in 0..spec.repeats {
            all.push(free_s);
            free_s += spec.slot.as_secs_f64();
        }
    }
    all
}

impl TakenUp {
    pub(super) fn of(stage: &Stage<'_>) -> Self {
        let playing = stage.playing;
        let since_s = playing.taken_up.map(|at| at.duration_since(playing.began).as_secs_f64());
        let at_s = since_s.filter(|since_s| *since_s > 0.0);
        Self { at_s, earliest_s: earliest_s(&playing.faults, playing.ramp_s), free_s: 0.0 }
    }

    /// What is said of slot `place` of all, which may have begun before the run was taken up; `None` where it is to be made,
    /// after waiting until what was made before is over.
    pub(super) fn skips(&mut self, stage: &Stage<'_>, place: usize, spec: &FaultSpec) -> Option<Played> {
        let (at_s, earliest_s) = (self.at_s?, *self.earliest_s.get(place)?);
        if earliest_s > at_s + MARGIN.as_secs_f64() {
            stage.wait_until_s(self.free_s.max(earliest_s));
            return None;
        }
        self.free_s = self.free_s.max(at_s + spec.slot.as_secs_f64());
        let why = format!(
            "the run was taken up by another controller {at_s:.0} s after the load began: whether it was made before that is not \
             known here, and it is not made a second time"
        );
        Some(Played { void: Some(why), from_s: earliest_s, to_s: self.free_s, ..Played::default() })
    }
}

#[cfg(test)]
mod tests {
    use cosmark_workload::diagnostics::Span;
    use cosmark_workload::model::faults::FaultKind;

    use super::*;

    #[test]
    fn no_slot_is_taken_for_one_that_has_begun_later_than_it_can_have() {
        let fault = |at: FaultAt, slot_s: u64, repeats: u32| FaultSpec {
            name: "x".to_owned(),
            kind: FaultKind::None,
            at,
            hold: Duration::from_secs(1),
            slot: Duration::from_secs(slot_s),
            repeats,
            keep: Duration::ZERO,
            within: Duration::ZERO,
            noticed: None,
            whole: None,
            whole_within: Duration::ZERO,
            limit: None,
            span: Span::default(),
        };
        let after = |s: u64| FaultAt::After(Duration::from_secs(s));
        let faults = [
            fault(after(60), 30, 2),
            fault(after(10), 20, 1),
            fault(after(500), 5, 2),
            fault(FaultAt::Steady, 5, 1),
        ];
        assert_eq!(earliest_s(&faults, 3.5), [60.0, 90.0, 120.0, 500.0, 505.0, 510.0]);
        assert_eq!(earliest_s(&[fault(FaultAt::Steady, 5, 2)], 3.5), [36.0, 41.0]);
        assert_eq!(earliest_s(&[fault(FaultAt::Objects(7), 5, 1)], 3.5), [0.0]);
    }
}
