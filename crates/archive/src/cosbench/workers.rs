//! The two tables that 0.4.2.c4 and the forks that came of it add: `<stage>-worker.csv`, one line per worker and operation,
//! and `<driver>.csv`, one entry per task (stage and work) of that driver. Source: CSVWorkerExporter and CSVTaskExporter.
//! The latter writes a task's cells column by column, and ends the line behind each share of successes: `n` operations are a
//! line of 8n + 1 cells and n - 1 lines of one.

use std::path::Path;

use super::commas::{self, Effort};
use super::fields::{begins_with, count, mean, number, ratio, records_of};
use crate::ArchiveError;
use crate::directory::files::place_named;

const HEAD: &str =
    "Op-Type,Sample-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio";
const COLUMNS: usize = 9;
/// More lines than this no stage has.
const MOST_ROWS: usize = 1_000_000;

/// What one worker, or one driver in one task, did with one operation; workers are not numbered.
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
    file.ends_with("-worker.csv") && begins_with(&place_named(dir, file), HEAD)
}

/// Names of the drivers that left a table; `stem` is the name of the result table.
pub fn drivers(dir: &Path, files: &[String], stem: &str) -> Result<Vec<String>, ArchiveError> {
    let tables =
        files.iter().filter(|file| !is_workers(dir, file) && begins_with(&place_named(dir, file), HEAD));
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
    let mut effort = Effort::default();
    records_of(path, |_, record| {
        if std::mem::take(&mut head) {
            return Ok(true);
        }
        if shares.len() >= MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} lines are not a table of workers"));
        }
        let cells: Vec<&str> = record.iter().collect();
        shares.push(share_of(&cells, &mut effort)?);
        Ok(true)
    })?;
    Ok(shares)
}

/// Reads a driver's table: its tasks in the order of stages and works, with the operations of each.
pub fn tasks(path: &Path) -> Result<Vec<Vec<WorkerShare>>, ArchiveError> {
    let mut tasks = Vec::new();
    // Cells of the task whose shares of successes have not all come.
    let mut open: Option<Task> = None;
    let mut seen = 0_usize;
    let mut effort = Effort::default();
    records_of(path, |_, record| {
        seen += 1;
        if seen > MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} lines are not a table of a driver"));
        }
        if seen == 1 {
            return Ok(true);
        }
        let cells = record.iter().map(str::to_owned);
        let mut task = match open.take() {
            Some(mut task) if record.len() <= 2 => {
                task.cells.extend(cells);
                task
            }
            Some(task) => {
                return Err(format!("a task of {} operations lacks shares of successes", task.operations));
            }
            None => Task::begin(cells.collect())?,
        };
        if task.is_whole() {
            tasks.push(task.shares(&mut effort)?);
        } else {
            open = Some(task);
        }
        Ok(true)
    })?;
    // The last task of a run that was killed has not all its lines.
    Ok(tasks)
}

/// A task while its lines are read.
struct Task {
    operations: usize,
    /// Shares of successes that its first line does not have.
    ends: usize,
    cells: Vec<String>,
}

impl Task {
    /// Its first line: operations and their samples are words, and what follows are numbers.
    fn begin(cells: Vec<String>) -> Result<Self, String> {
        let is_word = |cell: &&String| cell.starts_with(|c: char| c.is_ascii_alphabetic()) && *cell != "N/A";
        let words = cells.iter().take_while(is_word).count();
        if words == 0 || !words.is_multiple_of(2) {
            return Err(format!("{words} words do not name operations and their samples"));
        }
        let operations = words / 2;
        if cells.len() < 8 * operations + 1 {
            return Err(format!(
                "{} cells instead of {} of {operations} operations; the line was cut short",
                cells.len(),
                8 * operations + 1
            ));
        }
        Ok(Self { operations, ends: 0, cells })
    }

    fn is_whole(&mut self) -> bool {
        self.ends += 1;
        self.ends >= self.operations
    }

    fn shares(&self, effort: &mut Effort) -> Result<Vec<WorkerShare>, String> {
        let (n, words) = (self.operations, 2 * self.operations);
        let cells: Vec<&str> = self.cells.iter().map(String::as_str).collect();
        let numbers = cells.get(words..).unwrap_or_default();
        let joined = if cells.len() > COLUMNS * n { commas::shares(numbers, n, effort) } else { None };
        let whole: Vec<&str> = match &joined {
            Some(numbers) => {
                cells.iter().take(words).copied().chain(numbers.iter().map(String::as_str)).collect()
            }
            None => cells,
        };
        if whole.len() != COLUMNS * n {
            let counted =
                || format!("{} cells instead of {} of a task of {n} operations", whole.len(), COLUMNS * n);
            return Err(effort.problem().unwrap_or_else(counted));
        }
        let of = |op: usize| whole.iter().skip(op).step_by(n).copied().collect::<Vec<&str>>();
        (0..n).map(|op| share_of(&of(op), effort)).collect()
    }
}

/// The nine cells of an operation, more of them where numbers have decimal commas.
fn share_of(cells: &[&str], effort: &mut Effort) -> Result<WorkerShare, String> {
    if cells.len() > COLUMNS
        && let [op, sample, numbers @ ..] = cells
        && let Some(numbers) = commas::shares(numbers, 1, effort)
    {
        let whole: Vec<&str> = [*op, *sample].into_iter().chain(numbers.iter().map(String::as_str)).collect();
        return share_of(&whole, effort);
    }
    if cells.len() != COLUMNS {
        let counted = || format!("{} cells instead of {COLUMNS}", cells.len());
        return Err(effort.problem().unwrap_or_else(counted));
    }
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
    Ok(WorkerShare {
        op: cell(0).to_owned(),
        sample: cell(1).to_owned(),
        count: count(cell(2))?,
        bytes: count(cell(3))?,
        response_ms: mean(cell(4))?,
        processing_ms: mean(cell(5))?,
        throughput_per_s: number(cell(6))?,
        bandwidth_bytes_per_s: number(cell(7))?,
        success_ratio: ratio(cell(8))?,
    })
}
