//! Reads run directories, damaged ones included: every error says which file and line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cosbench::CosbenchRun;
use crate::cosbench::fields::{count, number, ratio};
use crate::csv::cosbench::TIMELINE_METRICS;
use crate::csv::line::read_records;
use crate::directory::files::{self, read_bounded};
use crate::directory::number_of;
use crate::directory::process;
use crate::directory::run_dir::RECORD;
use crate::{
    ArchiveError, HistogramLog, NodeLogReader, OpLogReader, RunRecord, RunState, SCHEMA, StageRecord, recover,
};

/// A larger `run.json` is damage: 216 stages of 12 operations need about 8 MiB.
const MOST_RECORD_BYTES: u64 = 256 << 20;

/// The workload as it was run.
pub(crate) const WORKLOAD: &str = "workload.yaml";
/// A larger `workload.yaml` is not a workload: 216 stages need about 200 KiB.
const MOST_WORKLOAD_BYTES: u64 = 16 << 20;

/// One directory of an archive.
#[derive(Debug)]
pub struct FoundRun {
    /// `w<N>`.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// What it says; an error when it cannot be read, `None` when there is no `run.json` (COSBench wrote it).
    pub record: Option<Result<RunRecord, ArchiveError>>,
}

/// A run that was read.
#[derive(Debug)]
pub struct Run {
    /// Where it is.
    pub path: PathBuf,
    /// `run.json`; `state` is [`RunState::Killed`] when the file says `running` and its process is gone.
    pub record: RunRecord,
}

/// One interval of a stage's timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineEntry {
    /// End of the interval, local time `HH:mm:ss` of the machine that ran it.
    pub time: String,
    /// One entry per operation of the stage, in order.
    pub operations: Vec<TimelineValue>,
}

/// What one operation did in one interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimelineValue {
    /// Op-Name.
    pub label: String,
    /// Successes.
    pub count: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Mean response time; `None` when nothing succeeded.
    pub response_ms: Option<f64>,
    /// Mean time to first byte; `None` when nothing succeeded.
    pub processing_ms: Option<f64>,
    /// Successes per second.
    pub throughput_per_s: f64,
    /// Body bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// 0 to 1; `None` when nothing ended.
    pub success_ratio: Option<f64>,
}

/// All runs of an archive by number. One that cannot be read does not hide the others.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn list(root: &Path) -> Result<Vec<FoundRun>, ArchiveError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(ArchiveError::io("read directory", root))? {
        let entry = entry.map_err(ArchiveError::io("read directory", root))?;
        let Some(number) = number_of(&entry.file_name().to_string_lossy()) else { continue };
        let path = entry.path();
        if !path.is_dir() {
            continue;
        }
        let record = match read_record(&path) {
            Err(ArchiveError::NotARun { .. }) => None,
            other => Some(other),
        };
        found.push(FoundRun { number, path, record });
    }
    found.sort_by(|a, b| (a.number, &a.path).cmp(&(b.number, &b.path)));
    Ok(found)
}

/// Reads the run in the directory `path`. Of one whose process was killed, what it had measured is put together from its files;
/// one that COSBench made is read from its tables, and its record says so (`made_by`). Nothing is written.
///
/// # Errors
/// When there is no run, its record is damaged, or a later Cosmark wrote it.
pub fn open_run(path: &Path) -> Result<Run, ArchiveError> {
    let record = match read_record(path) {
        Err(ArchiveError::NotARun { .. }) if path.is_dir() && CosbenchRun::is_at(path) => {
            CosbenchRun::open(path)?.record()
        }
        other => other?,
    };
    let mut run = Run { path: path.to_owned(), record };
    if run.record.state == RunState::Killed {
        drop(recover::rebuild(&mut run));
    }
    Ok(run)
}

/// What `run.json` says, without a look at other files.
pub(crate) fn read_record(dir: &Path) -> Result<RunRecord, ArchiveError> {
    let path = dir.join(RECORD);
    if !path.exists() {
        return Err(ArchiveError::NotARun { path: dir.to_owned() });
    }
    let text = read_bounded(&path, MOST_RECORD_BYTES)?;
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u64,
    }
    let damaged = |error: serde_json::Error| ArchiveError::Damaged {
        path: path.clone(),
        line: error.line() as u64,
        problem: format!("not a run record: {error}"),
        remedy: "restore the file from a copy; the other files of the run can be read without it",
    };
    let version: Version = serde_json::from_str(&text).map_err(damaged)?;
    if version.schema > u64::from(SCHEMA) {
        return Err(ArchiveError::TooNew { path, found: version.schema });
    }
    let mut record: RunRecord = serde_json::from_str(&text).map_err(damaged)?;
    if record.state == RunState::Running && record.process.as_ref().is_some_and(|p| !process::may_be_alive(p))
    {
        record.state = RunState::Killed;
        record.reason.get_or_insert_with(|| recover::WHY.to_owned());
    }
    Ok(record)
}

impl Run {
    /// The workload as it was run, native YAML without secrets; `None` when the file is not there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn workload_yaml(&self) -> Result<Option<String>, ArchiveError> {
        let path = self.path.join(WORKLOAD);
        if path.exists() { read_bounded(&path, MOST_WORKLOAD_BYTES).map(Some) } else { Ok(None) }
    }

    /// The timeline of one of its stages; empty when the stage never ran.
    ///
    /// # Errors
    /// When the file is damaged, or is missing in a run of ours: COSBench leaves none of some stages.
    pub fn timeline(&self, stage: &StageRecord) -> Result<Vec<TimelineEntry>, ArchiveError> {
        let path = self.path.join(format!("{}.csv", files::safe_name(&stage.id)));
        if self.record.made_by.is_some() && !path.exists() { Ok(Vec::new()) } else { read_timeline(&path) }
    }

    /// The same as it lies in its file; empty when the stage never ran.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn timeline_text(&self, stage: &StageRecord) -> Result<Vec<u8>, ArchiveError> {
        let path = self.path.join(format!("{}.csv", files::safe_name(&stage.id)));
        if path.exists() { fs::read(&path).map_err(ArchiveError::io("read", &path)) } else { Ok(Vec::new()) }
    }

    /// Writes `report.html` under a temporary name and renames it; gives its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&self, html: &[u8]) -> Result<PathBuf, ArchiveError> {
        let path = self.path.join("report.html");
        files::write_whole(&path, false, |out| out.write_all(html))?;
        Ok(path)
    }

    /// The histogram log.
    ///
    /// # Errors
    /// When there is none.
    pub fn histograms(&self) -> Result<HistogramLog, ArchiveError> {
        HistogramLog::open(&self.path)
    }

    /// Bytes of the histogram log; 0 when there is none.
    #[must_use]
    pub fn histogram_bytes(&self) -> u64 {
        let file = self.path.join(crate::directory::histograms::FILE_NAME);
        std::fs::metadata(file).map(|file| file.len()).unwrap_or(0)
    }

    /// The operation log; `None` when the run had none.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn operations(&self) -> Result<Option<OpLogReader>, ArchiveError> {
        OpLogReader::open(&self.path)
    }

    /// What was read of the store's machines; `None` when the run looked at none.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn node_looks(&self) -> Result<Option<NodeLogReader>, ArchiveError> {
        NodeLogReader::open(&self.path)
    }
}

/// Reads a timeline, COSBench's own included.
pub(crate) fn read_timeline(path: &Path) -> Result<Vec<TimelineEntry>, ArchiveError> {
    let mut labels = Vec::new();
    let mut entries = Vec::new();
    let mut seen = 0_u64;
    read_records(path, |_, record| {
        seen += 1;
        let fields: Vec<&str> = record.iter().collect();
        match seen {
            1 => check_head(&fields),
            2 => {
                labels = labels_of(&fields)?;
                Ok(())
            }
            _ => {
                entries.push(parse_row(&labels, &fields)?);
                Ok(())
            }
        }
    })?;
    Ok(entries)
}

fn check_head(fields: &[&str]) -> Result<(), String> {
    let named = fields.iter().filter(|field| !field.is_empty());
    let expected = ["Timestamp"].iter().chain(&TIMELINE_METRICS).chain(&["Version-Info"]);
    if named.eq(expected) { Ok(()) } else { Err("not the header of a timeline".to_owned()) }
}

fn labels_of(fields: &[&str]) -> Result<Vec<String>, String> {
    let columns = fields.len().saturating_sub(4);
    if columns == 0 || !columns.is_multiple_of(TIMELINE_METRICS.len()) {
        return Err(format!("{} columns do not make a timeline", fields.len()));
    }
    Ok(fields
        .iter()
        .skip(1)
        .take(columns / TIMELINE_METRICS.len())
        .map(|label| (*label).to_owned())
        .collect())
}

fn parse_row(labels: &[String], fields: &[&str]) -> Result<TimelineEntry, String> {
    let expected = labels.len() * TIMELINE_METRICS.len() + 4;
    if fields.len() == TIMELINE_METRICS.len() + 4 && labels.len() > 1 {
        // COSBench writes an interval in which nothing was seen as that of one operation called `na`.
        let nothing = |label: &String| TimelineValue { label: label.clone(), ..TimelineValue::default() };
        return Ok(TimelineEntry {
            time: fields.first().map(|time| (*time).to_owned()).unwrap_or_default(),
            operations: labels.iter().map(nothing).collect(),
        });
    }
    if fields.len() != expected {
        return Err(format!("{} fields instead of {expected}", fields.len()));
    }
    let field = |metric: usize, op: usize| fields.get(1 + metric * labels.len() + op).copied().unwrap_or("");
    let operations = labels.iter().enumerate().map(|(op, label)| {
        Ok(TimelineValue {
            label: label.clone(),
            count: count(field(0, op))?,
            bytes: count(field(1, op))?,
            response_ms: number(field(2, op))?,
            processing_ms: number(field(3, op))?,
            throughput_per_s: number(field(4, op))?.unwrap_or(0.0),
            bandwidth_bytes_per_s: number(field(5, op))?.unwrap_or(0.0),
            success_ratio: ratio(field(6, op))?,
        })
    });
    Ok(TimelineEntry {
        time: fields.first().map(|time| (*time).to_owned()).unwrap_or_default(),
        operations: operations.collect::<Result<_, String>>()?,
    })
}
