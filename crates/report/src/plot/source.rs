//! Runs as the pictures want them: those of ours and those of COSBench look the same from here.

use std::path::Path;

use cosmark_archive::cosbench::{CosbenchOperation, CosbenchRun, HistogramColumn};
use cosmark_archive::{ArchiveError, EventKind, HistogramLog, Run, TimeKind, TimelineEntry, open_run};

use cosmark_metrics::OperationResult;
use cosmark_metrics::results::{METRICS, Metric, Statistic};

use super::PlotError;

/// Work that is not what a run measures.
const AROUND: [&str; 6] = ["init", "prepare", "mprepare", "cleanup", "dispose", "delay"];

/// A run.
#[derive(Debug)]
pub struct PlotRun {
    /// What the pictures call it.
    pub label: String,
    /// Name of its workload.
    pub name: String,
    /// Runs of the same series (the same system) make one line where a line goes through several runs.
    pub series: String,
    /// Its stages.
    pub stages: Vec<PlotStage>,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Ours(Box<Run>),
    Cosbench(Box<CosbenchRun>, Vec<HistogramColumn>),
}

/// A stage.
#[derive(Debug, Clone)]
pub struct PlotStage {
    /// `s<k>-<name>`.
    pub id: String,
    /// Name as given.
    pub name: String,
    /// Its operations, in the order of its timeline.
    pub operations: Vec<PlotOperation>,
}

/// What one operation did in one stage.
#[derive(Debug, Clone, Default)]
pub struct PlotOperation {
    /// Op-Name.
    pub label: String,
    /// Name of the operation.
    pub name: String,
    /// What it does.
    pub op: String,
    /// Name of its work, where the archive tells.
    pub work: String,
    /// Tag in our histogram log; empty in archives of COSBench.
    pub tag: String,
    /// Workers, where the archive tells.
    pub workers: Option<u64>,
    /// Failures, where the archive tells.
    pub failures: Option<u64>,
    /// What was published.
    pub result: OperationResult,
}

/// Response times of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distribution {
    /// Upper edge in ms and count, ascending; only filled ones.
    pub steps: Vec<(f64, u64)>,
    /// Width of a bucket where the archive has no finer times: COSBench's 10 ms.
    pub bucket_ms: Option<f64>,
    /// False where the longest times are missing.
    pub complete: bool,
}

impl PlotOperation {
    /// A figure, where the archive tells and it is finite.
    #[must_use]
    pub fn figure(&self, metric: &Metric) -> Option<f64> {
        metric.of(&self.result).filter(|value| value.is_finite())
    }

    /// The percentile of the response times at `share` 0..=1.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let is_wanted = |metric: &&Metric| match metric.statistic {
            Statistic::Quantile(at) => (at - share).abs() < 1e-9,
            _ => share >= 1.0 && metric.id == "response_ms.max",
        };
        METRICS.iter().find(is_wanted).and_then(|metric| self.figure(metric))
    }

    /// True for what a run measures, false for what prepares and cleans up.
    #[must_use]
    pub fn is_main(&self) -> bool {
        !AROUND.contains(&self.op.as_str())
    }

    fn of_ours(op: &OperationResult) -> Self {
        let label = if op.name == op.sample { op.name.clone() } else { format!("{}-{}", op.name, op.sample) };
        Self {
            label,
            name: op.name.clone(),
            op: op.op.clone(),
            work: op.work.clone(),
            tag: op.tag.clone(),
            workers: Some(u64::from(op.workers)),
            failures: Some(op.failed),
            result: op.clone(),
        }
    }

    fn of_cosbench(op: &CosbenchOperation) -> Self {
        Self {
            label: op.label.clone(),
            name: op.label.clone(),
            op: op.op.clone(),
            work: String::new(),
            tag: String::new(),
            workers: op.workers,
            failures: None,
            result: op.result(),
        }
    }
}

impl PlotRun {
    /// Opens the run in `dir`, of ours or of COSBench; `label` = what pictures call it, else its id and name.
    ///
    /// # Errors
    /// When there is no run, or it is damaged.
    pub fn open(dir: &Path, label: Option<&str>) -> Result<Self, PlotError> {
        if !CosbenchRun::made(dir) {
            let run = match open_run(dir) {
                Err(ArchiveError::NotARun { path }) => return Err(PlotError::NotARun(path)),
                opened => opened?,
            };
            let stages = run.record.stages.iter().map(|stage| PlotStage {
                id: stage.id.clone(),
                name: stage.name.clone(),
                operations: stage.operations.iter().map(PlotOperation::of_ours).collect(),
            });
            let label = label.map_or_else(|| format!("{} {}", run.record.id, run.record.name), str::to_owned);
            let (series, name) = (label.clone(), run.record.name.clone());
            return Ok(Self {
                label,
                name,
                series,
                stages: stages.collect(),
                origin: Origin::Ours(Box::new(run)),
            });
        }
        let run = CosbenchRun::open(dir)?;
        let stages: Vec<_> = run
            .stages
            .iter()
            .map(|stage| PlotStage {
                id: stage.id.clone(),
                name: stage.name.clone(),
                operations: stage.operations.iter().map(PlotOperation::of_cosbench).collect(),
            })
            .collect();
        let label = label.map_or_else(|| format!("{} {}", run.id, run.name), str::to_owned);
        let columns = run.histogram()?;
        let (series, name) = (label.clone(), run.name.clone());
        let origin = Origin::Cosbench(Box::new(run), columns);
        Ok(Self { label, name, series, stages, origin })
    }

    /// The timeline of the stage at `index`, with seconds since its first row; empty when there is none.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn timeline(&self, index: usize) -> Result<Vec<(f64, TimelineEntry)>, PlotError> {
        let entries = match &self.origin {
            Origin::Ours(run) => match run.record.stages.get(index) {
                Some(stage) if stage.started.is_some() => run.timeline(stage)?,
                _ => Vec::new(),
            },
            Origin::Cosbench(run, _) => match run.stages.get(index) {
                Some(stage) => run.timeline(stage)?,
                None => Vec::new(),
            },
        };
        Ok(with_seconds(entries))
    }

    /// Response times of one operation of this stage; `None` where the archive does not have them.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn distribution(
        &self,
        stage: &PlotStage,
        op: &PlotOperation,
    ) -> Result<Option<Distribution>, PlotError> {
        match &self.origin {
            Origin::Ours(run) => {
                let merged = HistogramLog::merged(&run.path, &op.tag, TimeKind::Response)?;
                let steps = merged.as_ref().map(steps_of);
                Ok(steps.map(|steps| Distribution { steps, bucket_ms: None, complete: true }))
            }
            Origin::Cosbench(_, columns) => {
                // Works of the stage may have operations of one name.
                let at = stage.operations.iter().position(|one| std::ptr::eq(one, op));
                let fits = |column: &&HistogramColumn| {
                    column.stage.as_deref() == Some(&stage.id) && at.is_some() && column.operation_at == at
                };
                Ok(columns.iter().find(fits).map(|column| Distribution {
                    steps: column.buckets.iter().map(|bucket| (bucket.to_ms, bucket.count)).collect(),
                    bucket_ms: Some(10.0),
                    complete: column.complete,
                }))
            }
        }
    }

    /// Response times of one operation of the stage at `index`, interval by interval, ramps included; none where there is no log.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn heat(&self, index: usize, op: &PlotOperation) -> Result<Vec<HeatSlice>, PlotError> {
        let Some(run) = self.record() else { return Ok(Vec::new()) };
        let began = run.record.stages.get(index).and_then(|stage| stage.load_started.or(stage.started));
        let (Some(began), Some(base)) = (began, run.record.submitted) else { return Ok(Vec::new()) };
        let offset_s = began.duration_since(base).as_secs_f64();
        let head = format!("{}.response", op.tag);
        let mut slices = Vec::new();
        let Ok(log) = HistogramLog::open(&run.path) else { return Ok(Vec::new()) };
        for entry in log {
            let entry = entry?;
            let phase = entry.tag.strip_prefix(&head);
            let is_own = phase.is_some_and(|rest| matches!(rest, "" | ".rampup" | ".rampdown" | ".drain"));
            if is_own {
                slices.push(HeatSlice {
                    start_s: (entry.start.as_secs_f64() - offset_s).max(0.0),
                    length_s: entry.length.as_secs_f64(),
                    steps: steps_of(&entry.histogram),
                });
            }
        }
        Ok(slices)
    }

    /// Response times of one operation by class of size, with the least size of each in bytes, ascending; empty where all were of one
    /// class, or the archive does not have them.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn distributions_by_size(&self, op: &PlotOperation) -> Result<Vec<(u64, Distribution)>, PlotError> {
        let Some(run) = self.record().filter(|_| op.result.size_classes.len() > 1) else {
            return Ok(Vec::new());
        };
        let found = HistogramLog::by_size(&run.path, &op.tag)?.into_iter().map(|(least_bytes, times)| {
            (least_bytes, Distribution { steps: steps_of(&times), bucket_ms: None, complete: true })
        });
        Ok(found.filter(|(_, times)| times.count() > 0).collect())
    }

    /// What happened in the stage at `index`, in order: seconds since its load began, and a few words. Drivers that were lost, came
    /// back or paused, steps of faults, and notes of people.
    ///
    /// # Errors
    /// When the table of events is damaged.
    pub fn marks(&self, index: usize) -> Result<Vec<(f64, String)>, PlotError> {
        let Some(run) = self.record() else { return Ok(Vec::new()) };
        let Some(stage) = run.record.stages.get(index) else { return Ok(Vec::new()) };
        let lost = stage.missing.iter().map(|missing| (missing.from_s, format!("{} lost", missing.driver)));
        let paused = stage.pauses.iter().map(|pause| (pause.from_s, format!("{} paused", pause.driver)));
        let mut marks: Vec<(f64, String)> = lost.chain(paused).collect();
        // The record says since when a driver was missing, its event when that was noticed.
        let is_new = |kind: EventKind, text: &str| match kind {
            EventKind::Note | EventKind::Fault => true,
            EventKind::Driver => text.ends_with("is back") || marks.is_empty(),
            EventKind::Stage | EventKind::Command => false,
        };
        let events = crate::data::events(run, stage)?.into_iter();
        let new: Vec<(f64, String)> = events
            .filter(|event| event.at_s >= 0.0)
            .filter(|event| EventKind::of_word(&event.kind).is_some_and(|kind| is_new(kind, &event.text)))
            .map(|event| (event.at_s, in_few_words(&event.text)))
            .collect();
        marks.extend(new);
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(marks)
    }

    /// The archive, of a run of ours.
    #[must_use]
    pub fn record(&self) -> Option<&Run> {
        match &self.origin {
            Origin::Ours(run) => Some(run),
            Origin::Cosbench(..) => None,
        }
    }

    /// True when COSBench wrote it.
    #[must_use]
    pub fn is_cosbench(&self) -> bool {
        matches!(self.origin, Origin::Cosbench(..))
    }
}

/// What one operation did in one interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatSlice {
    /// Since the load of the stage began.
    pub start_s: f64,
    /// How long it is.
    pub length_s: f64,
    /// Upper edge in ms and count, ascending; only filled ones.
    pub steps: Vec<(f64, u64)>,
}

/// The first line of a text, cut to what fits beside a line of a picture.
fn in_few_words(text: &str) -> String {
    const MOST: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(MOST).collect();
    if shown.len() < line.len() { format!("{} ..", shown.trim_end()) } else { shown }
}

#[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
fn steps_of(histogram: &hdrhistogram::Histogram<u64>) -> Vec<(f64, u64)> {
    let step = |step: hdrhistogram::iterators::IterationValue<u64>| {
        (step.value_iterated_to() as f64 / 1e6, step.count_since_last_iteration())
    };
    histogram.iter_recorded().map(step).collect()
}

impl Distribution {
    /// All operations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps.iter().map(|(_, count)| count).sum()
    }
}

/// Timelines have times of day: a run may cross midnight, and a clock may be set back (the end of summer time, a
/// correction), where it is as if it had gone on. Of several rows of one second the fullest stands for it: where a ramp
/// ends or the load is over, slices of an interval have rows of their own, and would be drawn as a fall to nothing.
fn with_seconds(entries: Vec<TimelineEntry>) -> Vec<(f64, TimelineEntry)> {
    let of_day = |entry: TimelineEntry| Some((second_of_day(&entry.time)?, entry));
    let rows: Vec<(f64, TimelineEntry)> = entries.into_iter().filter_map(of_day).collect();
    let usual_s = usual_step(rows.iter().map(|(second, _)| *second));
    let mut before = None;
    let mut at = 0.0;
    let mut timed = Vec::new();
    for (second, entry) in rows {
        at += before.map_or(0.0, |before| step(before, second, usual_s));
        before = Some(second);
        let ended = |entry: &TimelineEntry| entry.operations.iter().map(|op| op.count).sum::<u64>();
        match timed.last_mut() {
            Some((last, other)) if *last == at => {
                if ended(&entry) > ended(other) {
                    *other = entry;
                }
            }
            _ => timed.push((at, entry)),
        }
    }
    timed
}

const DAY_S: f64 = 86_400.0;

/// How much later a row is than the one before; no clock is set by half a day.
fn step(before: f64, second: f64, usual_s: f64) -> f64 {
    let later = second - before;
    if later < -DAY_S / 2.0 {
        later + DAY_S
    } else if (0.0..DAY_S / 2.0).contains(&later) {
        later
    } else {
        usual_s
    }
}

/// The middle one of the distances between rows; a second where there are none.
fn usual_step(seconds: impl Iterator<Item = f64> + Clone) -> f64 {
    let pairs = seconds.clone().zip(seconds.skip(1));
    let mut steps: Vec<f64> = pairs
        .map(|(before, after)| after - before)
        .filter(|step| *step > 0.0 && *step < DAY_S / 2.0)
        .collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.0)
}

fn second_of_day(time: &str) -> Option<f64> {
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61)
        .then(|| f64::from(hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_archive::TimelineValue;

    #[test]
    fn a_timeline_may_cross_midnight() {
        let entry = |time: &str| TimelineEntry { time: time.to_owned(), operations: Vec::new() };
        let timed = with_seconds(["23:59:58", "00:00:03", "00:00:08", "broken"].map(entry).to_vec());
        assert_eq!(timed.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0.0, 5.0, 10.0]);
    }

    #[test]
    fn a_clock_that_is_set_back_adds_no_day() {
        let entry = |time: &str| TimelineEntry { time: time.to_owned(), operations: Vec::new() };
        let seconds = |times: &[&str]| -> Vec<f64> {
            with_seconds(times.iter().map(|time| entry(time)).collect()).iter().map(|(at, _)| *at).collect()
        };
        // The end of summer time, a correction of two seconds, and both beside a midnight.
        let summer = ["02:59:50", "02:59:55", "02:00:00", "02:00:05"];
        assert_eq!(seconds(&summer), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(seconds(&["12:00:00", "12:00:05", "12:00:03", "12:00:08"]), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(seconds(&["23:59:55", "00:00:05", "23:59:58"]), [0.0, 10.0, 11.0]);
        assert_eq!(seconds(&["00:30:00", "00:29:59"]), [0.0, 1.0]);
    }

    #[test]
    fn the_last_moments_of_a_stage_are_not_drawn_as_a_fall() {
        let entry = |time: &str, count: u64| TimelineEntry {
            time: time.to_owned(),
            operations: vec![TimelineValue { count, ..TimelineValue::default() }],
        };
        let rows = [("08:00:05", 3), ("08:00:05", 900), ("08:00:10", 1000), ("08:00:10", 4)];
        let timed = with_seconds(rows.map(|(time, count)| entry(time, count)).to_vec());
        let shown: Vec<_> = timed.iter().map(|(at, entry)| (*at, entry.operations[0].count)).collect();
        assert_eq!(shown, [(0.0, 900), (5.0, 1000)]);
    }
}
