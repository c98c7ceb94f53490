//! Sums of a stage that runs, in intervals of a second: what the console draws. Intervals are given out once every driver
//! that is alive has told of them; what comes later counts in the next.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{MissingRecord, StageRecord, Timestamp};
use cosmark_controller::SliceNews;
use cosmark_metrics::{Latency, OpSnapshot, PartSums, Phase};
use cosmark_workload::model::Stage;

use crate::api::types::{Interval, IntervalRow};

/// Length of an interval; slices are no longer than that.
const WIDTH_NS: u64 = 1_000_000_000;
/// With more drivers or endpoints the rows of each are left out: the archive has them.
const MOST_PARTS: usize = 64;
/// Intervals that may be open; a gap in time longer than this is skipped.
const MOST_OPEN: usize = 600;

/// Of whom a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// All together.
    All,
    Driver(u16),
    Endpoint(u16),
}

/// Which row: work, operation, part, phase.
type RowKey = (u16, u16, Part, Phase);

/// Sums of one stage.
pub struct StageSums {
    stage: Stage,
    index: usize,
    id: String,
    drivers: Vec<String>,
    endpoints: Vec<String>,
    several: bool,
    open: BTreeMap<u64, BTreeMap<RowKey, OpSnapshot>>,
    given: u64,
    /// Sums of the measured window, work by work.
    window: Vec<Vec<OpSnapshot>>,
    watermark_s: f64,
    /// Up to where results were taken.
    taken_s: f64,
    /// Drivers whose part is missing from some moment on.
    missing: Vec<MissingRecord>,
}

impl StageSums {
    /// Of a stage that begins; `several` = more than one driver works on it.
    #[must_use]
    pub fn new(stage: &Stage, index: usize, several: bool) -> Self {
        let window =
            stage.works.iter().map(|work| vec![OpSnapshot::default(); work.operations.len()]).collect();
        Self {
            id: stage.id(index),
            stage: stage.clone(),
            index,
            drivers: Vec::new(),
            endpoints: Vec::new(),
            several,
            open: BTreeMap::new(),
            given: 0,
            window,
            watermark_s: 0.0,
            taken_s: 0.0,
            missing: Vec::new(),
        }
    }

    /// Drivers whose part is missing now; true when that is news.
    pub fn set_missing(&mut self, missing: &[MissingRecord]) -> bool {
        let is_news = self.missing != missing;
        if is_news {
            self.missing = missing.to_vec();
        }
        is_news
    }

    /// Adds a slice.
    pub fn add(&mut self, slice: &SliceNews<'_>) {
        let snapshot = slice.snapshot;
        let number = snapshot.start_ns.saturating_sub(slice.start_ns) / WIDTH_NS;
        let driver = self.several.then(|| number_of(&mut self.drivers, slice.driver)).flatten();
        let most = snapshot.ops.iter().map(|op| op.endpoints.len()).max().unwrap_or(0);
        let endpoints: Vec<Option<u16>> = (0..most.min(MOST_PARTS))
            .map(|at| match slice.endpoints.get(at) {
                Some(name) => number_of(&mut self.endpoints, name),
                // A driver that does not tell their names.
                None => number_of(&mut self.endpoints, &(at + 1).to_string()),
            })
            .collect();
        let open = self.open.entry(number.max(self.given)).or_default();
        for (op, sums) in (0_u16..).zip(&snapshot.ops) {
            let key = |part| (snapshot.work, op, part, snapshot.phase);
            open.entry(key(Part::All)).or_default().merge(sums);
            if let Some(number) = driver {
                open.entry(key(Part::Driver(number))).or_default().merge(sums);
            }
            for (endpoint, sums) in endpoints.iter().zip(&sums.endpoints) {
                if let Some(number) = endpoint {
                    add(open.entry(key(Part::Endpoint(*number))).or_default(), sums);
                }
            }
        }
    }

    /// Intervals that are complete when everything before `watermark` was reported; with `all`, whatever there is.
    pub fn take(&mut self, watermark: Duration, all: bool) -> Vec<Interval> {
        let complete = u64::try_from(watermark.as_nanos()).unwrap_or(u64::MAX) / WIDTH_NS;
        let mut taken = Vec::new();
        while let Some((number, _)) = self.open.first_key_value() {
            let number = *number;
            if !all && number >= complete && self.open.len() <= MOST_OPEN {
                break;
            }
            let rows = self.open.remove(&number).unwrap_or_default();
            self.given = number + 1;
            self.keep(&rows);
            taken.push(self.interval(number, &rows));
        }
        // Nothing happened in the last complete seconds: they are not reported late when something does.
        self.given = self.given.max(complete);
        taken
    }

    fn keep(&mut self, rows: &BTreeMap<RowKey, OpSnapshot>) {
        for ((work, op, part, phase), sums) in rows {
            let slot = self.window.get_mut(usize::from(*work)).and_then(|ops| ops.get_mut(usize::from(*op)));
            if let Some(slot) = slot.filter(|_| *part == Part::All && *phase == Phase::Window) {
                slot.merge(sums);
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
    fn interval(&mut self, number: u64, rows: &BTreeMap<RowKey, OpSnapshot>) -> Interval {
        let (start_s, end_s) = (number as f64, (number + 1) as f64);
        self.watermark_s = end_s;
        let mut totals: Vec<IntervalRow> = Vec::new();
        let mut parts = Vec::new();
        for ((work, op, part, phase), sums) in rows {
            let Some(row) = self.row(*work, *op, *phase, sums) else { continue };
            match part {
                Part::All => totals.push(row),
                Part::Driver(number) => {
                    let driver = self.drivers.get(usize::from(*number)).cloned();
                    parts.push(IntervalRow { driver, heat: Vec::new(), ..row });
                }
                Part::Endpoint(number) => {
                    let endpoint = self.endpoints.get(usize::from(*number)).cloned();
                    parts.push(IntervalRow { endpoint, heat: Vec::new(), ..row });
                }
            }
        }
        totals.extend(parts);
        Interval { stage: self.id.clone(), start_s, end_s, rows: totals }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
    fn row(&self, work: u16, op: u16, phase: Phase, sums: &OpSnapshot) -> Option<IntervalRow> {
        let work = self.stage.works.get(usize::from(work))?;
        let operation = work.operations.get(usize::from(op))?;
        let latency = sums.response_or_service();
        Some(IntervalRow {
            work: work.name.clone(),
            operation: operation.name.clone(),
            driver: None,
            endpoint: None,
            phase: phase.word().to_owned(),
            count: sums.ok,
            failures: sums.failed,
            missed: sums.missed,
            bytes: sums.bytes,
            in_flight: sums.in_flight_ns as f64 / WIDTH_NS as f64,
            response_ms: response_ms(latency),
            errors: sums.errors.iter().map(|(outcome, count)| (outcome.label(), *count)).collect(),
            heat: heat(latency),
        })
    }

    /// Puts what is known so far into the stage's record, as its end will.
    pub fn fill(&self, record: &mut StageRecord) {
        let results: Vec<(f64, Vec<OpSnapshot>)> = self
            .stage
            .works
            .iter()
            .zip(&self.window)
            .map(|(work, ops)| {
                let so_far = (self.watermark_s - work.rampup.as_secs_f64()).max(0.0);
                let runtime = work.runtime.as_secs_f64();
                let window_s = if work.runtime.is_zero() { so_far } else { so_far.min(runtime) };
                (window_s, ops.clone())
            })
            .collect();
        if results.iter().any(|(window_s, _)| *window_s > 0.0) {
            record.set_results(&self.stage, self.index, &results);
            record.forget_ages();
            record.missing.clone_from(&self.missing);
        }
    }

    /// The results so far, when they are others than those that were taken last.
    pub fn take_results(&mut self) -> Option<StageRecord> {
        if self.watermark_s <= self.taken_s {
            return None;
        }
        self.taken_s = self.watermark_s;
        let mut record = StageRecord::waiting(&self.stage, self.index, Timestamp::UNIX_EPOCH);
        self.fill(&mut record);
        Some(record)
    }

    /// 0-based index of the stage.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }
}

/// The number of a part by its name; none for one too many.
fn number_of(names: &mut Vec<String>, name: &str) -> Option<u16> {
    let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
        if names.len() < MOST_PARTS {
            names.push(name.to_owned());
            return names.len() - 1;
        }
        MOST_PARTS
    });
    u16::try_from(at).ok().filter(|_| at < MOST_PARTS)
}

/// Adds what an endpoint did, of which less is known than of the whole: the time in flight is that of its successes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds in flight, not negative"
)]
#[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
fn add(sums: &mut OpSnapshot, endpoint: &PartSums) {
    let PartSums { ok, failed, bytes, connections, response, service, first_byte, wire, time } = endpoint;
    sums.connections += connections;
    sums.ok += ok;
    sums.failed += failed;
    sums.bytes += bytes;
    sums.response.merge(response);
    sums.service.merge(service);
    sums.first_byte.merge(first_byte);
    sums.wire.merge(wire);
    sums.time.merge(time);
    sums.in_flight_ns += (service.mean_ns().unwrap_or(0.0) * service.count() as f64) as u128;
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
fn response_ms(latency: &Latency) -> Option<[f64; 7]> {
    let ms = |ns: u64| ns as f64 / 1e6;
    let at = |quantile: f64| latency.quantile_ns(quantile).map(ms);
    Some([
        latency.mean_ns()? / 1e6,
        at(0.5)?,
        at(0.9)?,
        at(0.95)?,
        at(0.99)?,
        at(0.999)?,
        latency.max_ns().map(ms)?,
    ])
}

/// Class `i` holds times up to `2^(i/4)` microseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an hour is class 127"
)]
fn heat(latency: &Latency) -> Vec<(u16, u64)> {
    let mut classes: BTreeMap<u16, u64> = BTreeMap::new();
    for (ns, count) in latency.steps() {
        let us = (ns as f64 / 1e3).max(1.0);
        let class = (us.log2() * 4.0 - 1e-9).ceil().max(0.0) as u16;
        *classes.entry(class).or_default() += count;
    }
    classes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_metrics::Snapshot;
    use cosmark_workload::{Environment, Format, parse};

    fn stage() -> Stage {
        let text = "name: n\nstorage: {type: none}\nstages:\n  - name: main\n    works:\n      - {name: w, workers: 2, \
                    runtime: 10s, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
        let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0)
    }

    fn slice(from_ms: u64, phase: Phase, ok: u64) -> Snapshot {
        let mut op = OpSnapshot::default();
        for _ in 0..ok {
            op.ok += 1;
            op.service.record(2_000_000);
        }
        let start_ns = 5_000_000_000 + from_ms * 1_000_000;
        Snapshot { work: 0, phase, start_ns, end_ns: start_ns + 500_000_000, ops: vec![op] }
    }

    #[test]
    fn intervals_add_up_to_what_came_whatever_the_order_and_the_driver() {
        let stage = stage();
        let mut sums = StageSums::new(&stage, 0, true);
        let mut taken = Vec::new();
        let add = |sums: &mut StageSums, driver: &str, snapshot: Snapshot| {
            sums.add(&SliceNews {
                stage: &stage,
                index: 0,
                driver,
                load_started: Timestamp::now(),
                start_ns: 5_000_000_000,
                endpoints: &[],
                snapshot: &snapshot,
            });
        };
        add(&mut sums, "a", slice(0, Phase::Window, 3));
        add(&mut sums, "b", slice(500, Phase::Window, 4));
        add(&mut sums, "a", slice(1500, Phase::Window, 5));
        assert!(sums.take(Duration::from_millis(900), false).is_empty(), "a slice may still come");
        taken.extend(sums.take(Duration::from_millis(1100), false));
        add(&mut sums, "b", slice(0, Phase::Window, 1));
        taken.extend(sums.take(Duration::ZERO, true));
        let total = |row: &&IntervalRow| row.driver.is_none() && row.endpoint.is_none();
        let counts: Vec<u64> =
            taken.iter().flat_map(|i| &i.rows).filter(total).map(|row| row.count).collect();
        assert_eq!(counts, [7, 6], "the late slice counts in the next interval");
        let of = |name: &str| {
            taken
                .iter()
                .flat_map(|i| &i.rows)
                .filter(|row| row.driver.as_deref() == Some(name))
                .map(|row| row.count)
                .sum::<u64>()
        };
        assert_eq!((of("a"), of("b")), (8, 5));
        let heat = &taken[0].rows[0].heat;
        assert_eq!(heat, &[(44, 7)], "2 ms lie below 2^11 us");
        let mut record = StageRecord::waiting(&stage, 0, Timestamp::now());
        sums.fill(&mut record);
        assert_eq!(record.operations[0].ok, 13);
    }

    #[test]
    fn endpoints_have_rows_of_their_own_by_name_whatever_number_they_have_on_a_driver() {
        let stage = stage();
        let mut sums = StageSums::new(&stage, 0, true);
        for (driver, names, counts) in [("a", ["x:1", "y:1"], [3, 4]), ("b", ["y:1", "x:1"], [5, 6])] {
            let mut snapshot = slice(0, Phase::Window, 0);
            for ok in counts {
                let mut part = PartSums { ok, ..PartSums::default() };
                (0..ok).for_each(|_| part.service.record(2_000_000));
                snapshot.ops[0].ok += ok;
                snapshot.ops[0].endpoints.push(part);
            }
            sums.add(&SliceNews {
                stage: &stage,
                index: 0,
                driver,
                load_started: Timestamp::now(),
                start_ns: 5_000_000_000,
                endpoints: &names.map(str::to_owned),
                snapshot: &snapshot,
            });
        }
        let taken = sums.take(Duration::ZERO, true);
        let rows: Vec<(Option<&str>, u64)> = taken[0]
            .rows
            .iter()
            .filter(|row| row.driver.is_none())
            .map(|row| (row.endpoint.as_deref(), row.count))
            .collect();
        assert_eq!(rows, [(None, 18), (Some("x:1"), 9), (Some("y:1"), 9)]);
        let of_x = taken[0].rows.iter().find(|row| row.endpoint.as_deref() == Some("x:1")).unwrap();
        assert!((of_x.in_flight - 0.018).abs() < 1e-4, "{of_x:?}");
        let mut record = StageRecord::waiting(&stage, 0, Timestamp::now());
        sums.fill(&mut record);
        assert_eq!(record.operations[0].ok, 18, "the parts are not added to the whole");
    }
}
