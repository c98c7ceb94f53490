//! `w<N>-<name>-rt-histogram.csv`: response times in buckets of 10 ms. Source: CSVLatencyExporter of COSBench 0.4.2.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use csv::StringRecord;
use flate2::read::MultiGzDecoder;

use super::fields::{count, records, shortened};
use super::{CosbenchOperation, CosbenchStage};
use crate::ArchiveError;
use crate::directory::files::place_named;
use crate::regular;

/// Ends of the names of such files.
const ENDINGS: [&str; 2] = ["rt-histogram.csv", "rt-histogram.csv.gz"];
/// Pairs of columns that are kept at most.
const MOST_COLUMNS: usize = 100_000;
/// Rows of a complete file: 50 000 buckets and one for the rest.
const ALL_ROWS: u64 = 50_001;

/// One column: the response times of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistogramColumn {
    /// The column's head, `<stage id>-w<work>-<work name>-<operation>`.
    pub label: String,
    /// Id of its stage; `None` when no stage of the run fits.
    pub stage: Option<String>,
    /// 1-based number of its work in the stage.
    pub work_number: Option<u32>,
    /// Name of the work, as far as it can be told from that of the operation.
    pub work: String,
    /// Name of the operation.
    pub operation: String,
    /// Place of the operation among the results of its stage, from 0: works may have operations of one name. `None` when none
    /// fits.
    pub operation_at: Option<usize>,
    /// Buckets that are not empty, from short to long times.
    pub buckets: Vec<ResponseBucket>,
    /// True when the file has all its rows; a file that was cut lacks the longest times.
    pub complete: bool,
}

/// Operations that took between two times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResponseBucket {
    /// Lower edge.
    pub from_ms: f64,
    /// Upper edge; infinite in the last bucket.
    pub to_ms: f64,
    /// How many.
    pub count: u64,
}

impl HistogramColumn {
    /// All operations of the column.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }
}

/// Reads the most complete of the histogram files among `files`.
pub fn read(
    dir: &Path,
    files: &[String],
    stages: &[CosbenchStage],
) -> Result<Vec<HistogramColumn>, ArchiveError> {
    let mut best: (u64, Vec<HistogramColumn>) = (0, Vec::new());
    let mut failed = None;
    let mut candidates: Vec<&String> =
        files.iter().filter(|file| ENDINGS.iter().any(|ending| file.ends_with(ending))).collect();
    // The plain file is the one that COSBench wrote.
    candidates.sort_by_key(|file| file.ends_with(".gz"));
    for file in candidates {
        match read_one(&place_named(dir, file), stages) {
            Ok((rows, columns)) if rows > best.0 => best = (rows, columns),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
        if best.0 >= ALL_ROWS {
            break;
        }
    }
    let (rows, mut columns) = best;
    if let (0, Some(error)) = (rows, failed) {
        return Err(error);
    }
    for column in &mut columns {
        column.complete = rows >= ALL_ROWS;
    }
    columns.retain(|column| !column.buckets.is_empty());
    Ok(columns)
}

/// Rows with buckets, and the columns.
fn read_one(path: &Path, stages: &[CosbenchStage]) -> Result<(u64, Vec<HistogramColumn>), ArchiveError> {
    let file = regular::open(path).map_err(ArchiveError::io("read", path))?;
    let zipped = path.extension().is_some_and(|extension| extension == "gz");
    let input: Box<dyn Read> = if zipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut columns = Vec::new();
    let mut timed = Vec::new();
    let mut seen = 0_u64;
    records(path, input, |_, record| {
        seen += 1;
        if seen == 1 {
            columns = heads(record)?;
            columns.iter_mut().for_each(|column| place(column, stages));
            find_operations(&mut columns, stages);
            timed = with_times(&columns, stages);
        } else if seen <= ALL_ROWS + 1 {
            add_row(&mut columns, &timed, record)?;
        } else {
            return Err(format!("more than {ALL_ROWS} buckets"));
        }
        // Without a column the rest says nothing.
        Ok(!columns.is_empty())
    })?;
    Ok((seen.saturating_sub(1), columns))
}

fn heads(record: &StringRecord) -> Result<Vec<HistogramColumn>, String> {
    if record.get(0) != Some("ResTime") {
        return Err("not the head of a response-time histogram".to_owned());
    }
    let cells: Vec<&str> = record.iter().skip(1).collect();
    if cells.len() > 2 * MOST_COLUMNS {
        return Err(format!("more than {MOST_COLUMNS} operations"));
    }
    // Names with commas fall apart; `(%)` ends each.
    let mut columns = Vec::new();
    let mut name = Vec::new();
    for cell in cells {
        if cell == "(%)" {
            columns.push(HistogramColumn { label: name.join(","), ..HistogramColumn::default() });
            name.clear();
        } else {
            name.push(cell);
        }
    }
    if name.iter().all(|cell| cell.is_empty()) {
        Ok(columns)
    } else {
        Err("a column without its (%)".to_owned())
    }
}

/// Finds the operation of each column. Of operations of one name the lines stand in the order of their columns.
fn find_operations(columns: &mut [HistogramColumn], stages: &[CosbenchStage]) {
    let mut seen: HashMap<(&str, String), usize> = HashMap::new();
    for column in columns {
        let Some(stage) = stages.iter().find(|stage| Some(&stage.id) == column.stage.as_ref()) else {
            continue;
        };
        let before = seen.entry((stage.id.as_str(), column.operation.clone())).or_default();
        let named = |op: &CosbenchOperation| op.label == column.operation;
        let begins = |op: &CosbenchOperation| {
            op.label.rsplit_once('-').is_some_and(|(name, _)| name == column.operation)
        };
        let is_named = stage.operations.iter().any(named);
        let is_its = |(_, op): &(usize, &CosbenchOperation)| if is_named { named(op) } else { begins(op) };
        column.operation_at =
            stage.operations.iter().enumerate().filter(is_its).nth(*before).map(|(at, _)| at);
        *before += 1;
    }
}

/// Columns of operations that have percentiles in the results. COSBench names all columns, and leaves the cells of the others
/// out of every row: of works with `histogram=false`, and of stages that did not come to their end.
fn with_times(columns: &[HistogramColumn], stages: &[CosbenchStage]) -> Vec<usize> {
    let result = |column: &HistogramColumn| {
        let stage = stages.iter().find(|stage| Some(&stage.id) == column.stage.as_ref())?;
        stage.operations.get(column.operation_at?)
    };
    let is_timed = |(_, column): &(usize, &HistogramColumn)| result(column).is_none_or(has_times);
    columns.iter().enumerate().filter(is_timed).map(|(at, _)| at).collect()
}

fn has_times(op: &CosbenchOperation) -> bool {
    [op.p60_ms, op.p80_ms, op.p90_ms, op.p95_ms, op.p99_ms, op.max_ms].iter().any(Option::is_some)
}

fn add_row(columns: &mut [HistogramColumn], timed: &[usize], record: &StringRecord) -> Result<(), String> {
    let edges = record.get(0).unwrap_or_default();
    let wrong = || format!("`{}` is not a bucket, such as 10~20", shortened(edges));
    let (from, to) = edges.split_once('~').ok_or_else(wrong)?;
    let from_ms: f64 = from.parse::<u32>().map_err(|_| wrong())?.into();
    let to_ms: f64 = match to {
        "+INF" => f64::INFINITY,
        to => to.parse::<u32>().map_err(|_| wrong())?.into(),
    };
    if to_ms <= from_ms {
        return Err(wrong());
    }
    let counts = counts_of(record);
    let lacks = counts.len() < columns.len();
    if lacks && counts.len() != timed.len() {
        return Err(format!(
            "counts of {} operations instead of {}; the line was cut short",
            counts.len(),
            columns.len()
        ));
    }
    for (nth, cell) in counts.into_iter().enumerate() {
        let at = if lacks { timed.get(nth).copied() } else { Some(nth) };
        let Some(column) = at.and_then(|at| columns.get_mut(at)) else { break };
        let count = count(cell)?;
        if count == 0 {
            continue;
        }
        if column.buckets.last().is_some_and(|last| last.from_ms >= from_ms) {
            return Err("buckets are not in order".to_owned());
        }
        column.buckets.push(ResponseBucket { from_ms, to_ms, count });
    }
    Ok(())
}

/// The counts of a row: each has its share behind it, in two cells where that has a decimal comma.
fn counts_of(record: &StringRecord) -> Vec<&str> {
    let mut cells = record.iter().skip(1);
    let mut counts = Vec::new();
    while let (Some(count), Some(share)) = (cells.next(), cells.next()) {
        counts.push(count);
        if !share.ends_with('%') && share.bytes().all(|byte| byte.is_ascii_digit()) {
            cells.next();
        }
    }
    counts
}

/// Takes the head of a column apart, with the help of the stages that there are.
fn place(column: &mut HistogramColumn, stages: &[CosbenchStage]) {
    let label = column.label.as_str();
    let stage = stages
        .iter()
        .filter(|stage| label.strip_prefix(stage.id.as_str()).is_some_and(|rest| rest.starts_with("-w")))
        .max_by_key(|stage| stage.id.len());
    let rest = stage.and_then(|stage| label.strip_prefix(stage.id.as_str())?.strip_prefix("-w"));
    let Some((stage, (number, rest))) = stage.zip(rest.and_then(|rest| rest.split_once('-'))) else {
        column.operation = label.to_owned();
        return;
    };
    // An operation's name may have a hyphen (`1-read`); its Op-Name in the results begins with it.
    let known = stage.operations.iter().filter_map(|op| {
        let names = [Some(op.label.as_str()), op.label.rsplit_once('-').map(|(name, _)| name)];
        names
            .into_iter()
            .flatten()
            .find(|name| rest.strip_suffix(name).is_some_and(|work| work.ends_with('-')))
    });
    let operation = known
        .max_by_key(|name| name.len())
        .or_else(|| rest.rsplit_once('-').map(|(_, name)| name))
        .unwrap_or(rest);
    let (operation, work) =
        (operation.to_owned(), rest.strip_suffix(operation).unwrap_or(rest).trim_end_matches('-').to_owned());
    column.stage = Some(stage.id.clone());
    column.work_number = number.parse().ok();
    column.work = work;
    column.operation = operation;
}
