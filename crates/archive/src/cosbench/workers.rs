//! The two tables that 0.4.2.c4 adds: `<stage>-worker.csv`, one line per worker and operation, and `<driver>.csv`. The
//! latter runs the cells of several operations together, so only its name is of use.

use std::path::Path;

use super::fields::{begins_with, count, number, ratio, records_of};
use crate::ArchiveError;

const HEAD: &str =
    "Op-Type,Sample-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio";
const COLUMNS: usize = 9;
/// More lines than this no stage has.
const MOST_ROWS: usize = 1_000_000;

/// What one worker did with one operation; workers are not numbered.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerShare {
    /// What it does, e.g. `read`, `prepare`.
    pub op: String,
    /// What its samples are.
    pub sample: String,
    /// Successes.
    pub count: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Mean response time.
    pub response_ms: Option<f64>,
    /// Mean time to about the first byte.
    pub processing_ms: Option<f64>,
    /// Successes per second over the span of this worker.
    pub throughput_per_s: Option<f64>,
    /// Body bytes per second over the span of this worker.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Successes of all that ended, 0 to 1.
    pub success_ratio: Option<f64>,
}

/// True for a table of workers.
pub fn is_workers(dir: &Path, file: &str) -> bool {
    file.ends_with("-worker.csv") && begins_with(&dir.join(file), HEAD)
}

/// Names of the drivers that left a table; `stem` is the name of the result table.
pub fn drivers(dir: &Path, files: &[String], stem: &str) -> Result<Vec<String>, ArchiveError> {
    let tables = files.iter().filter(|file| !is_workers(dir, file) && begins_with(&dir.join(file), HEAD));
    Ok(tables
        .filter_map(|file| file.strip_suffix(".csv"))
        .filter(|name| *name != stem)
        .map(str::to_owned)
        .collect())
}

/// Reads a table of workers.
pub fn read(path: &Path) -> Result<Vec<WorkerShare>, ArchiveError> {
    let mut shares = Vec::new();
    let mut head = true;
    records_of(path, |_, record| {
        if std::mem::take(&mut head) {
            return Ok(true);
        }
        if record.len() != COLUMNS {
            return Err(format!("{} cells instead of {COLUMNS}", record.len()));
        }
        if shares.len() >= MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} lines are not a table of workers"));
        }
        let cell = |at: usize| record.get(at).unwrap_or_default();
        shares.push(WorkerShare {
            op: cell(0).to_owned(),
            sample: cell(1).to_owned(),
            count: count(cell(2))?,
            bytes: count(cell(3))?,
            response_ms: number(cell(4))?,
            processing_ms: number(cell(5))?,
            throughput_per_s: number(cell(6))?,
            bandwidth_bytes_per_s: number(cell(7))?,
            success_ratio: ratio(cell(8))?,
        });
        Ok(true)
    })?;
    Ok(shares)
}
