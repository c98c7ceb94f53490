//! From samples to snapshots, one per slice of time. A recorder belongs to one thread and one work.

use serde::{Deserialize, Serialize};

use crate::{Latency, OpSnapshot, Phase, Sample, Snapshot};

/// How a run is cut into slices: on a grid from its start, and at the borders of its phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlicePlan {
    /// Start of the run.
    pub start_ns: u64,
    /// Start of the measured window.
    pub window_start_ns: u64,
    /// End of the measured window; `u64::MAX` when only counts end it.
    pub window_end_ns: u64,
    /// End of the load.
    pub stop_ns: u64,
    /// Length of a slice.
    pub slice_ns: u64,
}

impl SlicePlan {
    /// The rule by which an operation belongs to a phase: the moment it *finished*, for counts, bytes, rates and
    /// percentiles alike. Borders belong to the phase before them.
    #[must_use]
    pub fn phase_at(&self, end_ns: u64) -> Phase {
        if end_ns <= self.window_start_ns && self.window_start_ns > self.start_ns {
            Phase::Rampup
        } else if end_ns <= self.window_end_ns {
            Phase::Window
        } else if end_ns <= self.stop_ns {
            Phase::Rampdown
        } else {
            Phase::Drain
        }
    }

    /// True for an arrival that was due in the measured window. The start belongs to it and the end does not, so that a
    /// window of `t` seconds has exactly `rate x t` arrivals.
    #[inline]
    #[must_use]
    pub fn is_due_in_window(&self, due_ns: u64) -> bool {
        (self.window_start_ns..self.window_end_ns).contains(&due_ns)
    }

    /// Start (exclusive) and end (inclusive) of the slice that holds `at_ns`.
    #[must_use]
    pub fn slice_at(&self, at_ns: u64) -> (u64, u64) {
        let since = at_ns.saturating_sub(self.start_ns).saturating_sub(1);
        let mut start = self.start_ns + since / self.slice_ns * self.slice_ns;
        let mut end = start.saturating_add(self.slice_ns);
        for border in [self.window_start_ns, self.window_end_ns, self.stop_ns] {
            if border > start && border < end {
                if at_ns <= border {
                    end = end.min(border);
                } else {
                    start = start.max(border);
                }
            }
        }
        (start, end)
    }
}

/// Slices that are closed one by one when a thread looks late.
const MOST_AT_ONCE: u32 = 64;

/// Sums samples; hands out a snapshot whenever a slice is over.
#[derive(Debug)]
pub struct Recorder {
    plan: SlicePlan,
    paced: bool,
    /// Times on the wire were among the samples.
    stamped: bool,
    current: Snapshot,
    ready: Vec<Snapshot>,
    /// Histograms for the next slice, made ahead.
    spare: Vec<Latency>,
}

impl Recorder {
    /// For `operations` operations of the work with index `work`; `paced` = due and sent can differ.
    #[must_use]
    pub fn new(work: u16, operations: usize, paced: bool, plan: SlicePlan) -> Self {
        let (start_ns, end_ns) = plan.slice_at(plan.start_ns + 1);
        let ops = (0..operations).map(|_| OpSnapshot::preallocated(paced)).collect();
        let phase = plan.phase_at(start_ns + 1);
        let current = Snapshot { work, phase, start_ns, end_ns, ops };
        Self { plan, paced, stamped: false, current, ready: Vec::new(), spare: Vec::new() }
    }

    /// True when the current slice is over at `now_ns`, and [`Recorder::roll`] has to come before anything else.
    #[inline]
    #[must_use]
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns > self.current.end_ns
    }

    /// Adds one sample to the slice of its end. Where other operations may be in flight, [`Recorder::roll`] comes first if
    /// the slice [is over](Recorder::is_over).
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        if self.is_over(sample.end_ns) {
            self.roll(sample.end_ns, |_| {});
        }
        if let Some(op) = self.current.ops.get_mut(usize::from(sample.op)) {
            let since_ns = sample.sent_ns.max(self.current.start_ns);
            op.in_flight_ns += u128::from(sample.end_ns.saturating_sub(since_ns));
            op.add(sample, self.paced);
            self.stamped |= sample.wire.weight != 0;
        }
    }

    /// An operation that was sent at `sent_ns` goes away at `now_ns` without a sample.
    pub fn give_up(&mut self, op: u16, sent_ns: u64, now_ns: u64) {
        let since_ns = sent_ns.max(self.current.start_ns);
        let until_ns = now_ns.min(self.current.end_ns);
        if let Some(op) = self.current.ops.get_mut(usize::from(op)) {
            op.in_flight_ns += u128::from(until_ns.saturating_sub(since_ns));
            if self.current.phase == Phase::Window {
                op.age_at_end_ns += u128::from(until_ns.saturating_sub(sent_ns));
            }
        }
    }

    /// A worker has done its share at `now_ns`, and waits until the others have: what it could have done is neither in flight
    /// nor its own idling. Counts in the window alone, with the first operation.
    pub fn worker_done(&mut self, now_ns: u64) {
        let start_ns = self.plan.window_start_ns;
        if self.current.phase == Phase::Window
            && let Some(op) = self.current.ops.first_mut()
        {
            op.workers_done += 1;
            op.workers_done_at_ns += u128::from(now_ns.saturating_sub(start_ns));
        }
    }

    /// The sums of operation `op` in the current slice, for counts that are not samples.
    pub fn op_mut(&mut self, op: u16) -> Option<&mut OpSnapshot> {
        self.current.ops.get_mut(usize::from(op))
    }

    /// Closes the slices that are over at `now_ns`. `in_flight` names every operation in flight: its index and when it was
    /// sent. What it spent in a slice belongs to that slice, whenever it will end.
    pub fn roll(&mut self, now_ns: u64, in_flight: impl Fn(&mut dyn FnMut(u16, u64))) {
        for closed in 1.. {
            let Snapshot { start_ns, end_ns, ops, .. } = &mut self.current;
            let (start_ns, end_ns) = (*start_ns, *end_ns);
            if now_ns <= end_ns {
                return;
            }
            in_flight(&mut |op, sent_ns| {
                if let Some(op) = ops.get_mut(usize::from(op)) {
                    op.in_flight_ns += u128::from(end_ns.saturating_sub(sent_ns.max(start_ns)));
                    if end_ns == self.plan.window_end_ns {
                        op.age_at_end_ns += u128::from(end_ns.saturating_sub(sent_ns));
                    }
                }
            });
            // A thread that stood still for long leaves a hole rather than thousands of empty slices.
            let next_ns = if closed < MOST_AT_ONCE { end_ns + 1 } else { now_ns };
            let turned_ns = end_ns;
            let (start_ns, end_ns) = self.plan.slice_at(next_ns);
            self.turn(start_ns, end_ns, self.plan.phase_at(next_ns));
            if turned_ns == self.plan.window_start_ns {
                let ops = &mut self.current.ops;
                in_flight(&mut |op, sent_ns| {
                    if let Some(op) = ops.get_mut(usize::from(op)) {
                        op.age_at_start_ns += u128::from(turned_ns.saturating_sub(sent_ns));
                    }
                });
            }
        }
    }

    /// Closes the current slice at `now_ns`, whatever its length; for the end of a run.
    pub fn finish(&mut self, now_ns: u64) {
        self.roll(now_ns, |_| {});
        let end_ns = self.current.end_ns;
        self.current.end_ns = now_ns.clamp(self.current.start_ns, end_ns);
        self.turn(now_ns, end_ns, self.current.phase);
    }

    fn turn(&mut self, start_ns: u64, end_ns: u64, phase: Phase) {
        let mut next = || self.spare.pop().unwrap_or_else(Latency::preallocated);
        let ops = self
            .current
            .ops
            .iter()
            .map(|_| OpSnapshot::made_of(self.paced, self.stamped, &mut next))
            .collect();
        let next = Snapshot { work: self.current.work, phase, start_ns, end_ns, ops };
        let full = std::mem::replace(&mut self.current, next);
        self.ready.push(full);
    }

    /// Makes one histogram for the next slice, if there are not enough of them yet. Zeroing their memory takes some ten
    /// microseconds each; all at once, at the moment the slice turns, would be a pause that the load shows.
    pub fn prepare(&mut self) {
        let needed = OpSnapshot::histograms(self.paced, self.stamped);
        if self.spare.len() < self.current.ops.len().saturating_mul(needed) {
            self.spare.push(Latency::preallocated());
        }
    }

    /// Snapshots of the slices that are over.
    pub fn take_ready(&mut self) -> std::vec::Drain<'_, Snapshot> {
        self.ready.drain(..)
    }

    /// Puts one back that could not be delivered; it is the first to be taken next time.
    pub fn put_back(&mut self, snapshot: Snapshot) {
        self.ready.insert(0, snapshot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    const PLAN: SlicePlan = SlicePlan {
        start_ns: 1000,
        window_start_ns: 1150,
        window_end_ns: 1450,
        stop_ns: 1500,
        slice_ns: 100,
    };

    #[test]
    fn slices_lie_on_a_grid_and_end_at_the_borders_of_phases() {
        let slices: Vec<_> = [1001, 1100, 1101, 1150, 1151, 1200, 1401, 1450, 1451, 1500, 1501]
            .into_iter()
            .map(|at| (PLAN.slice_at(at), PLAN.phase_at(at)))
            .collect();
        use Phase::{Drain, Rampdown, Rampup, Window};
        assert_eq!(
            slices,
            [
                ((1000, 1100), Rampup),
                ((1000, 1100), Rampup),
                ((1100, 1150), Rampup),
                ((1100, 1150), Rampup),
                ((1150, 1200), Window),
                ((1150, 1200), Window),
                ((1400, 1450), Window),
                ((1400, 1450), Window),
                ((1450, 1500), Rampdown),
                ((1450, 1500), Rampdown),
                ((1500, 1600), Drain),
            ]
        );
    }

    #[test]
    fn time_in_flight_belongs_to_the_slices_in_which_it_was_spent() {
        let mut recorder = Recorder::new(0, 1, false, PLAN);
        let sample = |sent_ns, end_ns| Sample { sent_ns, end_ns, ..Sample::default() };
        // One operation is in flight from 1050 on and ends at 1320; another one lasts from 1310 to 1315.
        recorder.record(&sample(1000, 1040));
        recorder.roll(1315, |each| each(0, 1050));
        recorder.record(&sample(1310, 1315));
        recorder.record(&sample(1050, 1320));
        recorder.give_up(0, 1390, 1395);
        recorder.finish(1396);
        let spent: Vec<_> =
            recorder.take_ready().map(|slice| (slice.end_ns, slice.ops[0].in_flight_ns)).collect();
        assert_eq!(spent, [(1100, 40 + 50), (1150, 50), (1200, 50), (1300, 100), (1396, 5 + 20 + 5)]);
    }

    #[test]
    fn workers_that_are_done_count_in_the_window_alone() {
        let mut recorder = Recorder::new(0, 2, false, PLAN);
        recorder.worker_done(1100);
        recorder.roll(1200, |_| {});
        recorder.worker_done(1200);
        recorder.roll(1400, |_| {});
        recorder.worker_done(1390);
        recorder.roll(1460, |_| {});
        recorder.worker_done(1460);
        recorder.finish(1470);
        let (mut first, mut second) = (OpSnapshot::default(), OpSnapshot::default());
        for slice in recorder.take_ready() {
            first.merge(&slice.ops[0]);
            second.merge(&slice.ops[1]);
        }
        // Done after 50 and 240 of 300 ns: one of two for 250, the other for 60.
        assert_eq!((first.workers_done, first.workers_done_at_ns, second.workers_done), (2, 290, 0));
        let mean = crate::OperationResult::of(&first, 300e-9).workers_done_mean.unwrap();
        assert!((mean - 310.0 / 300.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn a_run_without_ramp_has_its_first_operation_in_the_window() {
        let plan = SlicePlan { window_start_ns: 1000, ..PLAN };
        assert_eq!(plan.phase_at(1001), Phase::Window);
        assert_eq!(plan.phase_at(1000), Phase::Window);
    }

    proptest::proptest! {
        // Operations of one worker after another, in any lengths: what was in flight over the window is what the times of
        // all that ended in it say, less what they took before it, and what the unfinished took in it.
        #[test]
        fn time_in_flight_is_the_sum_of_times_and_of_the_ages_at_both_ends(
            lengths in proptest::collection::vec((0u64..40, 1u64..400), 1..40),
            give_up_after in proptest::option::of(1u64..300),
        ) {
            let mut recorder = Recorder::new(0, 1, false, PLAN);
            let mut now_ns = PLAN.start_ns;
            let mut all = Vec::new();
            for (pause_ns, length_ns) in lengths {
                let sent_ns = now_ns + pause_ns;
                recorder.roll(sent_ns, |_| {});
                now_ns = sent_ns + length_ns;
                recorder.roll(now_ns, |each| each(0, sent_ns));
                recorder.record(&Sample { sent_ns, due_ns: sent_ns, end_ns: now_ns, ..Sample::default() });
            }
            if let Some(age_ns) = give_up_after {
                recorder.roll(now_ns + age_ns, |each| each(0, now_ns));
                recorder.give_up(0, now_ns, now_ns + age_ns);
                now_ns += age_ns;
            }
            recorder.finish(now_ns + 1);
            all.extend(recorder.take_ready());
            let mut window = OpSnapshot::default();
            all.iter().filter(|slice| slice.phase == Phase::Window).for_each(|slice| window.merge(&slice.ops[0]));
            let ended_ns = window.service.mean_ns().unwrap_or(0.0) * window.service.count() as f64;
            let told_ns = window.in_flight_ns as f64 + window.age_at_start_ns as f64 - window.age_at_end_ns as f64;
            proptest::prop_assert!((told_ns - ended_ns).abs() < 1e-3, "{told_ns} {ended_ns}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_sample_is_lost_and_each_lands_in_the_phase_of_its_end(
            mut ends in proptest::collection::vec(1001u64..1800, 1..200),
        ) {
            ends.sort_unstable();
            let mut recorder = Recorder::new(0, 1, false, PLAN);
            let mut all = Vec::new();
            for end_ns in &ends {
                let sample = Sample { end_ns: *end_ns, sent_ns: end_ns - 1, due_ns: end_ns - 1, ..Sample::default() };
                recorder.record(&sample);
                all.extend(recorder.take_ready());
            }
            recorder.finish(1801);
            all.extend(recorder.take_ready());
            for phase in [Phase::Rampup, Phase::Window, Phase::Rampdown, Phase::Drain] {
                let counted: u64 = all.iter().filter(|s| s.phase == phase).map(|s| s.ops[0].ok).sum();
                let expected = ends.iter().filter(|end| PLAN.phase_at(**end) == phase).count();
                proptest::prop_assert_eq!(counted, expected as u64);
            }
        }
    }

    proptest::proptest! {
        // Each case compares some sixty histograms.
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]

        #[test]
        fn merging_the_parts_gives_the_whole_in_any_order(
            samples in proptest::collection::vec((1u64..10_000_000, 0u16..3, 0u64..5000, 0u16..3), 1..100),
            cut in 0usize..100,
        ) {
            let make = |(ns, kind, bytes, endpoint): &(u64, u16, u64, u16)| Sample {
                due_ns: 5, sent_ns: 10, first_byte_ns: 10 + ns / 2, end_ns: 10 + ns, bytes: *bytes, requests: 1,
                asked_bytes: *bytes, endpoint: *endpoint,
                wire: crate::WireTimes { spent_ns: ns / 2, weight: u32::from(*kind) + u32::try_from(ns % 3).unwrap(), ..Default::default() },
                outcome: match kind { 0 => Outcome::OK, 1 => Outcome::failed("http_503"), _ => Outcome::failed("reset") },
                ..Sample::default()
            };
            let sum = |part: &[(u64, u16, u64, u16)]| {
                let mut op = OpSnapshot::default();
                part.iter().for_each(|sample| op.add(&make(sample), true));
                op
            };
            let cut = cut.min(samples.len());
            let whole = sum(&samples);
            let (mut left, mut right) = (sum(&samples[..cut]), sum(&samples[cut..]));
            let parts = (left.clone(), right.clone());
            left.merge(&parts.1);
            right.merge(&parts.0);
            proptest::prop_assert_eq!(&left, &whole);
            proptest::prop_assert_eq!(&right, &whole);
        }
    }
}
