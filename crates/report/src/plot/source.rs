//! Runs as the pictures want them: those of ours and those of COSBench look the same from here.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cosmark_archive::cosbench::{CosbenchOperation, CosbenchRun, HistogramColumn};
use cosmark_archive::{ArchiveError, EventKind, HistogramLog, Run, TimeKind, TimelineEntry, open_run};

use cosmark_metrics::OperationResult;
use cosmark_metrics::results::{METRICS, Metric, Statistic};

use super::PlotError;
use crate::row_ends::{RowEnds, TimedRows, with_seconds};

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
    /// Its directory, links followed; empty where it is not known.
    place: PathBuf,
    origin: Origin,
    /// When the rows of its timelines ended, once they were asked for.
    row_ends: OnceLock<RowEnds>,
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
                place: std::fs::canonicalize(dir).unwrap_or_default(),
                origin: Origin::Ours(Box::new(run)),
                row_ends: OnceLock::new(),
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
        let place = std::fs::canonicalize(dir).unwrap_or_default();
        Ok(Self { label, name, series, stages, place, origin, row_ends: OnceLock::new() })
    }

    /// The timeline of the stage at `index`, with seconds since its first row; empty when there is none.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn timeline(&self, index: usize) -> Result<Vec<(f64, TimelineEntry)>, PlotError> {
        Ok(self.timed(index)?.rows)
    }

    /// The same, and how long after the beginning of the load its first row ended.
    pub(super) fn timed(&self, index: usize) -> Result<TimedRows, PlotError> {
        match &self.origin {
            Origin::Ours(run) => match run.record.stages.get(index) {
                Some(stage) if stage.started.is_some() => {
                    let entries = run.timeline(stage)?;
                    Ok(self.row_ends(run).timed(&stage.id, entries))
                }
                _ => Ok(TimedRows::default()),
            },
            Origin::Cosbench(run, _) => match run.stages.get(index) {
                Some(stage) => Ok(with_seconds(run.timeline(stage)?)),
                None => Ok(TimedRows::default()),
            },
        }
    }

    /// Read once, for the pictures of all stages and operations.
    fn row_ends(&self, run: &Run) -> &RowEnds {
        self.row_ends.get_or_init(|| RowEnds::of(run))
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

/// Each run of a series once, and what is said of those that were named again, however their directory was written: they are no
/// repetitions.
#[must_use]
pub fn each_once(runs: Vec<PlotRun>) -> (Vec<PlotRun>, Vec<String>) {
    let (mut once, mut said): (Vec<PlotRun>, Vec<String>) = (Vec::new(), Vec::new());
    for run in runs {
        let is_known = !run.place.as_os_str().is_empty();
        if is_known && once.iter().any(|other| other.place == run.place && other.series == run.series) {
            said.push(format!("{} is named twice: it is one repetition and is drawn once", run.label));
        } else {
            once.push(run);
        }
    }
    said.dedup();
    (once, said)
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
