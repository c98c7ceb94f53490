//! What the faults of a stage cost whose run was killed: as in a run that ends by itself, from what is on disk of each second.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{
    ArchiveError, EventKind, HistogramLog, IntervalLine, Run, StageRecord, TimeKind, Timestamp,
};
use cosmark_metrics::{FaultResult, OpSnapshot, SlotResult};
use cosmark_stats::slots::figures;
use cosmark_workload::model::faults::{FaultKind, FaultSpec};
use cosmark_workload::model::{Load, Stage};

use crate::judge::seconds::Seconds;
use crate::judge::{Away, Played, Stretch, results, whole, without};

/// Failures of longer intervals are not known by the second.
const FINE_S: f64 = 1.5;
/// A slot of which no more than this is missing at its end counts.
const CUT_S: f64 = 1.5;
/// A driver looks at itself every second: with so many between two looks it stood still.
const STOOD_S: f64 = 3.0;
/// What the tags of times end in.
const PHASES: [&str; 4] = ["", ".rampup", ".rampdown", ".drain"];

/// The faults of the stage at this place of the record, judged where that is possible, and else as they stand there.
/// What the timeline says of them stands in the record already.
#[must_use]
pub fn judge_cut(run: &Run, stage: &Stage, at: usize) -> Vec<FaultResult> {
    let Some(record) = run.record.stages.get(at) else { return Vec::new() };
    let times = record.load_started.zip(run.record.submitted);
    let (Some(cut_s), Some((began, base)), true) =
        (record.cut_s, times, record.faults.len() == stage.faults.len())
    else {
        return record.faults.clone();
    };
    let offset = Duration::try_from(began.duration_since(base)).unwrap_or_default();
    let disk = OnDisk::of(run, record, offset, cut_s);
    let works = &stage.works;
    let ramp = works.iter().map(|work| work.rampup).max().unwrap_or_default();
    let is_timed = works.iter().all(|work| !work.runtime.is_zero());
    let ends = works.iter().map(|work| work.rampup + work.runtime).min().filter(|_| is_timed);
    let load_s = ends.map_or(f64::INFINITY, |load| load.as_secs_f64());
    let load = Stretch { from: whole(ramp.as_secs_f64().ceil()), to: whole(disk.end_s.min(load_s)) };
    let is_open = works.iter().all(|work| matches!(work.load, Load::Open { .. }));
    let of_fault = |(known, spec): (&FaultResult, &FaultSpec)| -> Vec<Played> {
        known.slots.iter().map(|slot| played(slot, spec, disk.end_s)).collect()
    };
    let slots: Vec<Vec<Played>> = record.faults.iter().zip(&stage.faults).map(of_fault).collect();
    let slots = without(&slots, &away(run, record, began), &disk.seconds, load);
    let mut all = results(&stage.faults, &slots, &disk.seconds, load, is_open);
    for (result, known) in all.iter_mut().zip(&record.faults) {
        if let Some(coarse_s) = disk.coarse_s {
            forget_failures(result, coarse_s);
        }
        result.remarks.extend(known.remarks.iter().cloned());
        if result.slots.iter().any(|slot| slot.void.is_none()) {
            result.remarks.push(format!(
                "the run was killed: its slots were judged from the {:.0} s of the load that are on disk; bytes are counted by the \
                 mean of each operation",
                disk.end_s
            ));
        }
    }
    all
}

/// What is on disk of each second of a load.
struct OnDisk {
    seconds: Seconds,
    /// Up to when that is whole.
    end_s: f64,
    /// Seconds of the intervals by which failures are known, where these are no seconds.
    coarse_s: Option<f64>,
}

impl OnDisk {
    /// Of a load that began `offset` after the times of the log.
    fn of(run: &Run, record: &StageRecord, offset: Duration, cut_s: f64) -> Self {
        let (mut seconds, mut counts) = (Seconds::default(), Counts::default());
        // What is damaged is read up to there, as it was for the record.
        let read = run.intervals(|line| {
            if line.stage == record.id {
                counts.add(&line, &mut seconds);
            }
        });
        drop(read);
        let coarse_s = (counts.longest_s > FINE_S).then_some(counts.longest_s);
        if coarse_s.is_some() {
            seconds.failed.fill(0.0);
        }
        let mut times = Times { counted: 0, reach: Duration::ZERO };
        let is_damaged = times.read(run, &counts, (offset, cut_s), &mut seconds).is_err();
        // A store that was silent at the end leaves no times there, and no successes either.
        let is_short = is_damaged || times.counted < counts.ok();
        let end_s = if is_short { times.reach.as_secs_f64().min(cut_s) } else { cut_s };
        Self { seconds, end_s, coarse_s }
    }
}

/// Sums of what was written down by intervals.
#[derive(Default)]
struct Counts {
    /// Successes and their body bytes, by the tag of their operation.
    of: BTreeMap<String, (u64, u64)>,
    /// Seconds of the longest interval.
    longest_s: f64,
}

impl Counts {
    fn add(&mut self, line: &IntervalLine, seconds: &mut Seconds) {
        self.longest_s = self.longest_s.max(line.end_s - line.start_s);
        let (ok, bytes) = self.of.entry(line.tag.clone()).or_default();
        *ok = ok.saturating_add(line.ok);
        *bytes = bytes.saturating_add(line.bytes);
        let failed = OpSnapshot { failed: line.failed, errors: line.sums().errors, ..OpSnapshot::default() };
        seconds.add(nanos(line.start_s), nanos(line.end_s), &failed);
    }

    fn ok(&self) -> u64 {
        self.of.values().fold(0_u64, |sum, (ok, _)| sum.saturating_add(*ok))
    }
}

/// How far the log of times reaches.
struct Times {
    /// Successes up to the cut.
    counted: u64,
    /// The end of the last entry before it, since the load began.
    reach: Duration,
}

impl Times {
    fn read(
        &mut self,
        run: &Run,
        counts: &Counts,
        (offset, cut_s): (Duration, f64),
        seconds: &mut Seconds,
    ) -> Result<(), ArchiveError> {
        let mut by_tag: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (tag, sums) in &counts.of {
            let of_phase = |phase: &&str| format!("{tag}.{}{phase}", TimeKind::Response.word());
            by_tag.extend(PHASES.iter().map(|phase| (of_phase(phase), *sums)));
        }
        let mut log = HistogramLog::open(&run.path)?;
        while let Some(entry) = log.next_wanted(&mut |tag| by_tag.contains_key(tag)) {
            let entry = entry?;
            let start = entry.start.saturating_sub(offset);
            if start.as_secs_f64() >= cut_s {
                continue;
            }
            let end = start.saturating_add(entry.length);
            let ok = entry.histogram.len();
            let (all, bytes) = by_tag.get(&entry.tag).copied().unwrap_or_default();
            let bytes = u128::from(bytes) * u128::from(ok) / u128::from(all.max(1));
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            let mut op = OpSnapshot { ok, bytes, ..OpSnapshot::default() };
            op.response.add_histogram(&entry.histogram);
            let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            seconds.add(ns(start), ns(end), &op);
            self.counted = self.counted.saturating_add(ok);
            self.reach = self.reach.max(end);
        }
        Ok(())
    }
}

fn nanos(seconds: f64) -> u64 {
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A slot as its timeline tells it; void where it ends after `end_s`, or where its proof or healing is not written down.
fn played(slot: &SlotResult, spec: &FaultSpec, end_s: f64) -> Played {
    let is_fault = !matches!(spec.kind, FaultKind::None);
    let missing_s = slot.from_s + spec.slot.as_secs_f64() - end_s;
    let why = || {
        if missing_s > CUT_S {
            return Some(format!(
                "what was done in its last {missing_s:.0} s is not on disk: the run was killed"
            ));
        }
        match (slot.landed_s, slot.healed_s) {
            _ if !is_fault => None,
            (None, _) => Some("nothing on disk says that the fault was proved to be there".to_owned()),
            (_, None) => Some("nothing on disk says when the fault was healed".to_owned()),
            _ => None,
        }
    };
    let at = |after_s: Option<f64>| after_s.map(|after_s| slot.from_s + after_s);
    let unsaid = |what: &str| Some(format!("{what} is not in the timeline of the run, which was killed"));
    Played {
        void: slot.void.clone().or_else(why),
        from_s: slot.from_s,
        landed: slot.landed_s.map(|landed_s| (landed_s, slot.proof.clone().unwrap_or_default())),
        heal_s: slot.heal_s,
        healed_s: slot.healed_s,
        noticed_s: at(slot.noticed_after_s),
        noticed_unknown: unsaid("that the store had noticed"),
        whole_s: at(slot.whole_after_s),
        whole_unknown: unsaid("that redundancy was whole again"),
        to_s: slot.to_s,
        steps: u32::from(is_fault && !matches!(spec.kind, FaultKind::Proxy { .. })),
        runs_again: false,
    }
}

/// When drivers made no load, as the timeline says it and their own looks at themselves.
fn away(run: &Run, record: &StageRecord, began: Timestamp) -> Vec<Away> {
    let mut all: Vec<Away> = Vec::new();
    let events = run.record.events.iter().filter(|event| event.stage.as_ref() == Some(&record.id));
    for event in events.filter(|event| event.kind == EventKind::Driver) {
        let at_s = event.at.duration_since(began).as_secs_f64();
        let Some(text) = event.text.strip_prefix("driver ") else { continue };
        if let Some((driver, why)) = text.split_once(" is lost: ") {
            let from_s = at_s - seconds_in(why);
            all.push(Away { driver: driver.to_owned(), from_s, to_s: f64::INFINITY });
        } else if let Some((driver, how_long)) = text.split_once(" made no load for ") {
            let from_s = at_s - seconds_in(how_long);
            all.push(Away { driver: driver.to_owned(), from_s, to_s: at_s });
        } else if let Some(driver) = text.strip_suffix(" is back") {
            let lost = all.iter_mut().filter(|one| one.driver == driver && one.to_s.is_infinite());
            lost.for_each(|one| one.to_s = at_s);
        }
    }
    // What is damaged is read up to there.
    let read = run.clients(|line| {
        if line.stage == record.id && line.thread == "process" && line.span_s >= STOOD_S {
            let from_s = line.time_s - line.span_s;
            all.push(Away { driver: line.driver, from_s, to_s: line.time_s });
        }
    });
    drop(read);
    all
}

/// The first `N s` of a sentence; 0 where there is none.
fn seconds_in(text: &str) -> f64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let of = |pair: &[&str]| match pair {
        [number, unit] if unit.trim_end_matches([':', ';', ',']) == "s" => number.parse::<f64>().ok(),
        _ => None,
    };
    words.windows(2).find_map(of).unwrap_or(0.0)
}

/// Figures that need failures by the second.
fn forget_failures(result: &mut FaultResult, coarse_s: f64) {
    let why = format!("failures of a run that was killed are known by {coarse_s:.0} s only, its interval:");
    for slot in &mut result.slots {
        slot.first_error_after_s = None;
        slot.failed_operations = None;
        slot.errors.clear();
        if slot.void.is_some() {
            continue;
        }
        for figure in ["first_error_after_s", "failed_operations"] {
            slot.unknown.insert(figure.to_owned(), why.clone());
        }
        if slot.beyond_limit_s.take().is_some() {
            slot.unknown.insert("beyond_limit_s".to_owned(), why.clone());
        }
    }
    result.figures = figures(result.slots.iter());
}

#[cfg(test)]
mod tests;
