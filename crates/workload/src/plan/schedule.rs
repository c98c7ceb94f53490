//! What the clock alone says of a load: how many operations an open loop or a rate per worker has due in a stretch of time.

use std::time::Duration;

use crate::model::{Arrivals, Load, Work};

/// Operations that are due in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Due {
    /// How many.
    pub count: f64,
    /// Standard deviation of that where chance has a part; 0 where it is exact.
    pub spread: f64,
}

/// What the schedule of `work` has due in its measured window; `None` where no clock says it: closed loops without a rate,
/// think times, arrivals from a file, works without a runtime.
#[must_use]
pub fn due_in_window(work: &Work) -> Option<Due> {
    if work.runtime.is_zero() {
        return None;
    }
    let length = work.rampup + work.runtime + work.rampdown;
    let window = (work.rampup.as_secs_f64(), (work.rampup + work.runtime).as_secs_f64());
    match &work.load {
        Load::Open { arrivals, .. } => due_between(arrivals, length, window),
        Load::Paced { think_time: None, rate_per_worker: Some(rate) } => {
            let count = rate * f64::from(work.workers) * work.runtime.as_secs_f64();
            Some(Due { count, spread: 0.0 })
        }
        Load::Paced { .. } | Load::Closed => None,
    }
}

/// How many operations a second the clock asks of `work` in its measured window on average, of all workers together; `None` where
/// no clock says it.
#[must_use]
pub fn asked_per_s(work: &Work) -> Option<f64> {
    let window_s = work.runtime.as_secs_f64();
    if window_s <= 0.0 {
        return None;
    }
    match &work.load {
        Load::Open { arrivals, .. } => {
            let start_s = work.rampup.as_secs_f64();
            let length_s = start_s + window_s + work.rampdown.as_secs_f64();
            let before = |at_s| accumulated(arrivals, length_s, at_s);
            Some((before(start_s + window_s)? - before(start_s)?) / window_s)
        }
        Load::Paced { think_time: None, rate_per_worker: Some(rate) } => Some(rate * f64::from(work.workers)),
        Load::Paced { .. } | Load::Closed => None,
    }
}

/// What an open loop has due in each of `steps` steps of `step_s`, of which the first begins `head_s` behind the start of its
/// window; empty where no clock says it.
#[must_use]
pub fn due_by_step(work: &Work, (head_s, step_s): (f64, f64), steps: usize) -> Vec<f64> {
    let Load::Open { arrivals, .. } = &work.load else { return Vec::new() };
    let length = work.rampup + work.runtime + work.rampdown;
    let at_s = |step: u32| work.rampup.as_secs_f64() + head_s + f64::from(step) * step_s;
    let due = |step| due_between(arrivals, length, (at_s(step), at_s(step + 1))).map(|due| due.count);
    (0..u32::try_from(steps).unwrap_or(u32::MAX)).map(due).collect::<Option<_>>().unwrap_or_default()
}

/// What `arrivals` have due from `from_s` on and before `to_s`, seconds since the load began; `length` is how long the work
/// runs, ramps included.
fn due_between(arrivals: &Arrivals, length: Duration, (from_s, to_s): (f64, f64)) -> Option<Due> {
    if let Arrivals::Poisson { rate_per_s } = arrivals {
        let count = rate_per_s * (to_s - from_s);
        return Some(Due { count, spread: count.sqrt() });
    }
    // Arrival k is due when as many as k have accumulated; a border that one falls upon is the start of what follows.
    let before =
        |at_s| accumulated(arrivals, length.as_secs_f64(), at_s).map(|sum| (sum - 1e-9).ceil().max(0.0));
    Some(Due { count: before(to_s)? - before(from_s)?, spread: 0.0 })
}

/// The integral of the rate from the start to `at_s`.
fn accumulated(arrivals: &Arrivals, length_s: f64, at_s: f64) -> Option<f64> {
    match arrivals {
        Arrivals::Constant { rate_per_s } | Arrivals::Poisson { rate_per_s } => Some(rate_per_s * at_s),
        Arrivals::Ramp { from_per_s, to_per_s } => {
            let in_ramp_s = at_s.min(length_s);
            let slope_per_s2 = (to_per_s - from_per_s) / length_s.max(1e-9);
            let ramp = from_per_s * in_ramp_s + slope_per_s2 * in_ramp_s * in_ramp_s / 2.0;
            Some(ramp + (at_s - in_ramp_s) * to_per_s)
        }
        Arrivals::Step { steps } => {
            let (mut sum, mut left_s) = (0.0, at_s);
            for (number, (rate_per_s, length)) in steps.iter().enumerate() {
                let last = number + 1 == steps.len();
                let own_s = if last { left_s } else { left_s.min(length.as_secs_f64()) };
                sum += rate_per_s * own_s;
                left_s -= own_s;
            }
            Some(sum)
        }
        Arrivals::Recorded { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(arrivals: &Arrivals, from_s: f64, to_s: f64) -> f64 {
        due_between(arrivals, Duration::from_secs(10), (from_s, to_s)).unwrap().count
    }

    #[test]
    fn what_is_due_is_counted_from_the_start_of_the_window_to_before_its_end() {
        let slow = Arrivals::Constant { rate_per_s: 0.2 };
        assert_eq!((due(&slow, 0.0, 20.0), due(&slow, 0.0, 20.1), due(&slow, 5.0, 10.0)), (4.0, 5.0, 1.0));
        assert_eq!(due(&slow, 1.0, 4.0), 0.0);
        let ramp = Arrivals::Ramp { from_per_s: 100.0, to_per_s: 300.0 };
        assert_eq!(
            (due(&ramp, 0.0, 5.0), due(&ramp, 0.0, 10.0), due(&ramp, 0.0, 11.0)),
            (750.0, 2000.0, 2300.0)
        );
        let second = Duration::from_secs(1);
        let steps = Arrivals::Step { steps: vec![(100.0, second), (0.0, second), (0.1, second)] };
        // Arrival 100 comes when the pause is over, the next one ten seconds later.
        assert_eq!(
            (due(&steps, 0.0, 1.0), due(&steps, 0.0, 2.5), due(&steps, 1.0, 13.0)),
            (100.0, 101.0, 2.0)
        );
        assert_eq!(
            due_between(&Arrivals::Recorded { path: String::new(), time_warp: 1.0 }, second, (0.0, 1.0)),
            None
        );
    }
}
