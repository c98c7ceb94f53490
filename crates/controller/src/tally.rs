//! Merges the snapshots of one stage: into its timeline, into its results, and by driver.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_metrics::{OpSnapshot, Phase, Snapshot, SparseLatency};
use cosmark_stats::batches::Batches;
use cosmark_workload::model::{Stage, Work, slice_of};

/// Sums of one stage over all its drivers and threads.
pub struct Tally {
    works: Vec<WorkTally>,
    /// Intervals of the timeline that are not written yet, by their number.
    open: BTreeMap<u64, Vec<Vec<OpSnapshot>>>,
    interval_ns: u64,
    next_interval: u64,
    /// Sums of each driver: its windows, and the intervals that are not written yet.
    drivers: Vec<DriverTally>,
    /// The window in batches, work by work; kept where something has to be judged by them.
    batches: Option<Vec<Vec<Batches>>>,
    /// When the window begins, since the load began.
    rampups_ns: Vec<u64>,
    pub total_ok: u64,
    pub total_failed: u64,
}

/// What is told of one driver's part of an operation; small, because there may be hundreds of drivers.
#[derive(Debug, Clone, Default)]
pub struct DriverSums {
    ok: u64,
    failed: u64,
    bytes: u64,
    response: SparseLatency,
    service: SparseLatency,
    first_byte: SparseLatency,
}

impl DriverSums {
    fn add(&mut self, op: &OpSnapshot) {
        self.ok += op.ok;
        self.failed += op.failed;
        self.bytes += op.bytes;
        self.response.add(&op.response);
        self.service.add(&op.service);
        self.first_byte.add(&op.first_byte);
    }

    /// As sums of the whole that has only these.
    pub fn snapshot(&self) -> OpSnapshot {
        OpSnapshot {
            ok: self.ok,
            failed: self.failed,
            bytes: self.bytes,
            response: self.response.latency(),
            service: self.service.latency(),
            first_byte: self.first_byte.latency(),
            ..OpSnapshot::default()
        }
    }
}

#[derive(Default)]
struct DriverTally {
    windows: Vec<Vec<DriverSums>>,
    open: BTreeMap<IntervalKey, OpenInterval>,
}

/// Number of the interval, work, phase.
type IntervalKey = (u64, u16, Phase);

struct OpenInterval {
    start_ns: u64,
    end_ns: u64,
    operations: Vec<OpSnapshot>,
}

/// What one driver did of one work in one interval and phase.
pub struct WorkInterval {
    pub driver: usize,
    pub work: u16,
    pub phase: Phase,
    /// Start and end, since the load began.
    pub start: Duration,
    pub end: Duration,
    pub operations: Vec<OpSnapshot>,
}

struct WorkTally {
    /// What ended in the measured window, and the counts that belong to it.
    window: Vec<OpSnapshot>,
}

/// An interval of the timeline.
pub struct Interval {
    /// End, since the load began.
    pub ended: Duration,
    /// Length.
    pub seconds: f64,
    /// Operations, work by work.
    pub operations: Vec<OpSnapshot>,
}

/// A last row shorter than this part of the others belongs to the one before it.
const SHORTEST_ROW: u64 = 5;

/// When the window of a work begins, since the load began: what only counts end has no ramps.
fn window_begins_ns(work: &Work) -> u64 {
    if work.runtime.is_zero() { 0 } else { in_ns(work.rampup) }
}

fn in_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn empty(stage: &Stage) -> Vec<Vec<OpSnapshot>> {
    stage.works.iter().map(|work| vec![OpSnapshot::default(); work.operations.len()]).collect()
}

impl Tally {
    /// For a stage; with `batches` its window is kept over time, as it is where thresholds ask for it.
    pub fn new(stage: &Stage, drivers: usize, batches: bool) -> Self {
        let windows: Vec<_> =
            stage.works.iter().map(|work| vec![DriverSums::default(); work.operations.len()]).collect();
        let drivers =
            (0..drivers).map(|_| DriverTally { windows: windows.clone(), open: BTreeMap::new() }).collect();
        let works = empty(stage).into_iter().map(|window| WorkTally { window }).collect();
        let interval_ns = in_ns(stage.interval());
        let batches = (batches || !stage.thresholds.is_empty()).then(|| {
            // Not finer than the slices that come; the rest is a matter of merging pairs.
            let width_ns = in_ns(slice_of(stage.interval()));
            let of_work = |work: &Work| {
                // Slices are counted from the start of the load, so that a window may begin in one.
                let head_ns = (width_ns - window_begins_ns(work) % width_ns) % width_ns;
                vec![Batches::behind(head_ns, width_ns); work.operations.len()]
            };
            stage.works.iter().map(of_work).collect()
        });
        Self {
            works,
            open: BTreeMap::new(),
            interval_ns,
            next_interval: 0,
            drivers,
            batches,
            rampups_ns: stage.works.iter().map(window_begins_ns).collect(),
            total_ok: 0,
            total_failed: 0,
        }
    }

    /// Whether a snapshot is of a work of the stage, and of no more operations than that has.
    pub fn knows(&self, snapshot: &Snapshot) -> bool {
        let work = self.works.get(usize::from(snapshot.work));
        work.is_some_and(|work| snapshot.ops.len() <= work.window.len())
    }

    /// Adds a snapshot of `driver`; `start_ns` is the common instant on the same clock.
    pub fn add(&mut self, driver: usize, snapshot: &Snapshot, start_ns: u64, stage: &Stage) {
        self.add_to_driver(driver, snapshot, start_ns);
        let Some(work) = self.works.get_mut(usize::from(snapshot.work)) else { return };
        for (sum, op) in work.window.iter_mut().zip(&snapshot.ops) {
            if snapshot.phase == Phase::Window {
                sum.merge(op);
            } else {
                // Only what is said about the window may come from outside it.
                sum.unfinished += op.unfinished;
                sum.unfinished_age.merge(&op.unfinished_age);
                sum.intended += op.intended;
                sum.renewals += op.renewals;
            }
            self.total_ok += op.ok;
            self.total_failed += op.failed;
        }
        if snapshot.phase == Phase::Window {
            let work = usize::from(snapshot.work);
            let rampup_ns = self.rampups_ns.get(work).copied().unwrap_or(0);
            let offset_ns = snapshot.start_ns.saturating_sub(start_ns).saturating_sub(rampup_ns);
            let batches = self.batches.as_mut().and_then(|batches| batches.get_mut(work));
            for (batches, op) in batches.into_iter().flatten().zip(&snapshot.ops) {
                batches.add(offset_ns, op);
            }
        }
        let number = snapshot.start_ns.saturating_sub(start_ns) / self.interval_ns;
        // An interval that was written already is not opened again: what comes late goes into the next row.
        let row = self.open.entry(number.max(self.next_interval)).or_insert_with(|| empty(stage));
        if let Some(ops) = row.get_mut(usize::from(snapshot.work)) {
            ops.iter_mut().zip(&snapshot.ops).for_each(|(sum, op)| sum.merge(op));
        }
    }

    fn add_to_driver(&mut self, driver: usize, snapshot: &Snapshot, start_ns: u64) {
        let several = self.drivers.len() > 1;
        let interval_ns = self.interval_ns;
        let Some(driver) = self.drivers.get_mut(driver) else { return };
        if several
            && snapshot.phase == Phase::Window
            && let Some(windows) = driver.windows.get_mut(usize::from(snapshot.work))
        {
            windows.iter_mut().zip(&snapshot.ops).for_each(|(sum, op)| sum.add(op));
        }
        let since_ns = |ns: u64| ns.saturating_sub(start_ns);
        let (from_ns, to_ns) = (since_ns(snapshot.start_ns), since_ns(snapshot.end_ns));
        let key = (from_ns / interval_ns, snapshot.work, snapshot.phase);
        let open = driver.open.entry(key).or_insert_with(|| OpenInterval {
            start_ns: from_ns,
            end_ns: to_ns,
            operations: vec![OpSnapshot::default(); snapshot.ops.len()],
        });
        open.start_ns = open.start_ns.min(from_ns);
        open.end_ns = open.end_ns.max(to_ns);
        open.operations.iter_mut().zip(&snapshot.ops).for_each(|(sum, op)| sum.merge_counts(op));
    }

    /// Intervals of each driver that are complete when everything up to `elapsed` after the load began was told; with `all`, whatever there is. What comes
    /// late is a line of its own with the same times.
    pub fn take_work_intervals(&mut self, elapsed: Duration, all: bool) -> Vec<WorkInterval> {
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let complete = elapsed_ns / self.interval_ns;
        let mut taken = Vec::new();
        for (number, driver) in self.drivers.iter_mut().enumerate() {
            let later =
                if all { BTreeMap::new() } else { driver.open.split_off(&(complete, 0, Phase::Rampup)) };
            for ((_, work, phase), open) in std::mem::replace(&mut driver.open, later) {
                taken.push(WorkInterval {
                    driver: number,
                    work,
                    phase,
                    start: Duration::from_nanos(open.start_ns),
                    end: Duration::from_nanos(open.end_ns),
                    operations: open.operations,
                });
            }
        }
        taken
    }

    /// Intervals of each driver that are not complete yet.
    pub fn open_work_intervals(&self) -> Vec<WorkInterval> {
        let drivers = self.drivers.iter().enumerate();
        let open = drivers.flat_map(|(number, driver)| driver.open.iter().map(move |open| (number, open)));
        open.map(|(driver, ((_, work, phase), open))| WorkInterval {
            driver,
            work: *work,
            phase: *phase,
            start: Duration::from_nanos(open.start_ns),
            end: Duration::from_nanos(open.end_ns),
            operations: open.operations.clone(),
        })
        .collect()
    }

    /// Results of each driver, work by work; empty unless there are several drivers.
    pub fn take_driver_windows(&mut self) -> Vec<Vec<Vec<DriverSums>>> {
        if self.drivers.len() < 2 {
            return Vec::new();
        }
        self.drivers.iter_mut().map(|driver| std::mem::take(&mut driver.windows)).collect()
    }

    /// Intervals that are complete when everything up to `elapsed` after the load began was told; with `all`, whatever there is.
    pub fn take_intervals(&mut self, elapsed: Duration, all: bool, stage: &Stage) -> Vec<Interval> {
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let last = self.open.keys().next_back().copied();
        let mut intervals = Vec::new();
        loop {
            let end_ns = (self.next_interval + 1).saturating_mul(self.interval_ns);
            // Held back until a rest that follows is long enough for a row of its own.
            let complete = elapsed_ns >= end_ns.saturating_add(self.interval_ns / SHORTEST_ROW);
            let ready = if all { last.is_some_and(|last| self.next_interval <= last) } else { complete };
            if !ready {
                return intervals;
            }
            let mut works = self.open.remove(&self.next_interval).unwrap_or_else(|| empty(stage));
            let begun_ns = self.next_interval * self.interval_ns;
            let mut ended_ns = if all { end_ns.min(elapsed_ns.max(begun_ns + 1)) } else { end_ns };
            let rest_ns = elapsed_ns.saturating_sub(end_ns);
            if all && last == Some(self.next_interval + 1) && rest_ns < self.interval_ns / SHORTEST_ROW {
                // One operation that ends a moment after the load is no rate of hundreds per second.
                let rest = self.open.remove(&(self.next_interval + 1)).unwrap_or_else(|| empty(stage));
                let anything = rest.iter().flatten().any(|op| op.total() > 0);
                works.iter_mut().flatten().zip(rest.iter().flatten()).for_each(|(sum, op)| sum.merge(op));
                ended_ns = if anything { elapsed_ns } else { ended_ns };
                self.next_interval += 1;
            }
            intervals.push(Interval {
                ended: Duration::from_nanos(ended_ns),
                seconds: Duration::from_nanos(ended_ns - begun_ns).as_secs_f64(),
                operations: works.into_iter().flatten().collect(),
            });
            self.next_interval += 1;
        }
    }

    /// The same as they are now.
    pub fn windows_so_far(&self) -> (Vec<Vec<OpSnapshot>>, Vec<Vec<Batches>>) {
        let windows = self.works.iter().map(|work| work.window.clone()).collect();
        (windows, self.batches.clone().unwrap_or_default())
    }

    /// Results, work by work, and over time where they were kept.
    pub fn into_windows(self) -> (Vec<Vec<OpSnapshot>>, Vec<Vec<Batches>>) {
        (self.works.into_iter().map(|work| work.window).collect(), self.batches.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::SlicePlan;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    fn stage() -> Stage {
        stage_of("5s")
    }

    fn stage_of(interval: &str) -> Stage {
        stage_with(&[format!("runtime: 10s, interval: {interval}").as_str()])
    }

    fn stage_with(works: &[&str]) -> Stage {
        let mut text = "name: x\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n".to_owned();
        for (number, work) in works.iter().enumerate() {
            text += &format!(
                "      - {{name: w{number}, workers: 1, {work}, operations: [{{type: read, containers: c(1), objects: c(1)}}]}}\n"
            );
        }
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0)
    }

    /// `ok` operations that ended between these two moments.
    fn ended(from_ms: u64, to_ms: u64, ok: u64) -> Snapshot {
        let ops = vec![OpSnapshot { ok, ..OpSnapshot::default() }];
        Snapshot {
            work: 0,
            phase: Phase::Window,
            start_ns: from_ms * 1_000_000,
            end_ns: to_ms * 1_000_000,
            ops,
        }
    }

    /// Successes and seconds of all rows, told every `step_ms` up to `end_ms`.
    fn rows(snapshots: &[Snapshot], step_ms: usize, end_ms: u64) -> Vec<(u64, f64)> {
        let stage = stage();
        let mut tally = Tally::new(&stage, 1, false);
        let mut rows = Vec::new();
        let mut waiting = snapshots.iter().peekable();
        for now_ms in (0..end_ms).step_by(step_ms) {
            while let Some(snapshot) = waiting.next_if(|one| one.end_ns <= now_ms * 1_000_000) {
                tally.add(0, snapshot, 0, &stage);
            }
            rows.extend(tally.take_intervals(Duration::from_millis(now_ms), false, &stage));
        }
        waiting.for_each(|snapshot| tally.add(0, snapshot, 0, &stage));
        rows.extend(tally.take_intervals(Duration::from_millis(end_ms), true, &stage));
        rows.iter().map(|row| (row.operations.iter().map(|op| op.ok).sum(), row.seconds)).collect()
    }

    #[test]
    fn what_ends_a_moment_after_the_load_makes_no_row_of_a_wild_rate_whenever_it_is_told() {
        let steady = [ended(0, 5_000, 500), ended(5_000, 10_000, 500), ended(10_000, 10_003, 4)];
        for step_ms in [100, 700, 1_000, 5_000] {
            let rows = rows(&steady, step_ms, 10_003);
            assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [500, 504], "{step_ms}: {rows:?}");
            assert!(
                rows.iter().all(|row| (99.0..102.0).contains(&(row.0 as f64 / row.1))),
                "{step_ms}: {rows:?}"
            );
        }
    }

    #[test]
    fn every_interval_has_as_many_slices_as_the_others() {
        let stage = stage_of("1500ms");
        let slice_ms = u64::try_from(slice_of(stage.interval()).as_millis()).unwrap();
        let mut tally = Tally::new(&stage, 1, false);
        for from_ms in (0..6_000).step_by(usize::try_from(slice_ms).unwrap()) {
            tally.add(0, &ended(from_ms, from_ms + slice_ms, slice_ms), 0, &stage);
        }
        let all = Duration::from_secs(6);
        let lines = tally.take_work_intervals(all, true);
        let times = lines.iter().map(|line| (line.start.as_millis(), line.end.as_millis()));
        assert!(times.eq([(0, 1_500), (1_500, 3_000), (3_000, 4_500), (4_500, 6_000)]));
        let rows = tally.take_intervals(all, true, &stage);
        let counts = rows.iter().map(|row| (row.operations[0].ok, row.seconds));
        assert!(counts.eq([(1_500, 1.5); 4]));
    }

    /// The window of 30 s of each work of a stage, with a success every microsecond.
    fn even_windows(stage: &Stage) -> Vec<Batches> {
        let mut tally = Tally::new(stage, 1, true);
        for (index, work) in (0..).zip(&stage.works) {
            let window_start_ns = if work.runtime.is_zero() { 0 } else { in_ns(work.rampup) };
            let window_end_ns = window_start_ns + 30_000_000_000;
            let slice_ns = in_ns(slice_of(stage.interval()));
            let plan =
                SlicePlan { start_ns: 0, window_start_ns, window_end_ns, stop_ns: window_end_ns, slice_ns };
            let mut at_ns = window_start_ns;
            while at_ns < window_end_ns {
                let (start_ns, end_ns) = plan.slice_at(at_ns + 1);
                let ops = vec![OpSnapshot { ok: (end_ns - start_ns) / 1_000, ..OpSnapshot::default() }];
                let slice = Snapshot { work: index, phase: Phase::Window, start_ns, end_ns, ops };
                tally.add(0, &slice, 0, stage);
                at_ns = end_ns;
            }
        }
        let mut windows: Vec<Batches> = tally.into_windows().1.into_iter().flatten().collect();
        windows.iter_mut().for_each(|window| window.close(30_000_000_000));
        windows
    }

    #[test]
    fn batches_of_an_even_load_are_even_wherever_in_a_slice_its_window_begins() {
        // Works, the length of a batch in ms, and how many of them each window has.
        type Case<'a> = (&'a [&'a str], f64, &'a [usize]);
        let cases: [Case<'_>; 8] = [
            (&["runtime: 30s, interval: 5s"], 1000.0, &[30]),
            (&["runtime: 30s, rampup: 5s, interval: 5s"], 1000.0, &[30]),
            (&["runtime: 30s, rampup: 7s, interval: 5s"], 1000.0, &[30]),
            (&["runtime: 30s, rampup: 2s, interval: 1500ms"], 750.0, &[39]),
            (&["runtime: 30s, rampup: 5s, interval: 1875ms"], 937.5, &[31]),
            (&["runtime: 30s, rampup: 300ms, interval: 5s"], 1000.0, &[29]),
            (&["runtime: 30s, rampup: 5s, interval: 1500ms", "runtime: 30s, rampup: 3s"], 750.0, &[39, 40]),
            // Nothing ramps where counts end the load.
            (&["total_ops: 9, rampup: 2s, interval: 1500ms"], 750.0, &[40]),
        ];
        for (works, width_ms, expected) in cases {
            let windows = even_windows(&stage_with(works));
            let counts: Vec<usize> = windows.iter().map(|window| window.batches().len()).collect();
            assert_eq!(counts, expected, "{works:?}");
            for window in &windows {
                let in_ms: Vec<f64> = window.per_width(|batch| batch.ok as f64 / 1e3).collect();
                assert!(in_ms.iter().all(|ms| (ms - width_ms).abs() < 1e-6), "{works:?}: {in_ms:?}");
                // Only what is no whole batch at the end is left out.
                let left_ms = 30_000.0 - window.total().ok as f64 / 1e3;
                assert!((-1e-6..width_ms).contains(&left_ms), "{works:?}: {left_ms}");
            }
        }
    }

    #[test]
    fn only_works_and_operations_of_the_stage_are_known() {
        let tally = Tally::new(&stage(), 1, false);
        let own = ended(0, 5_000, 1);
        assert!(tally.knows(&own) && tally.knows(&Snapshot { ops: Vec::new(), ..own.clone() }));
        assert!(!tally.knows(&Snapshot { work: 1, ..own.clone() }));
        assert!(!tally.knows(&Snapshot { ops: vec![OpSnapshot::default(); 2], ..own }));
    }

    #[test]
    fn a_rest_that_is_long_enough_has_its_own_row_and_nothing_is_lost() {
        let steady = [ended(0, 5_000, 500), ended(5_000, 10_000, 500), ended(10_000, 12_500, 250)];
        let rows = rows(&steady, 400, 12_500);
        assert_eq!(rows, [(500, 5.0), (500, 5.0), (250, 2.5)]);
    }
}
