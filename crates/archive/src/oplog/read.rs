//! Reads the operation log back, row by row, in bounded memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::ArrowError;
use cosmark_metrics::{Outcome, Phase, Sample, WireTimes};
use jiff::Timestamp;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::oplog::{EPOCH_UNIX_NS, FILE_NAME, PHASES, schema};
use crate::{ArchiveError, phase_word};

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 8192;

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OpRow {
    /// Name of the driver.
    pub driver: Arc<str>,
    /// Id of the stage.
    pub stage: Arc<str>,
    /// Name of the work.
    pub work: Arc<str>,
    /// Op-Name.
    pub operation: Arc<str>,
    /// Where in the run it ended.
    pub phase: Phase,
    /// The record, its times in nanoseconds since [`OpLogReader::epoch`]. `op` is 0: the name above tells.
    pub sample: Sample,
}

/// Reads the rows of a run's log: of `operations.parquet`, or of the parts that a killed run left.
pub struct OpLogReader {
    epoch: Timestamp,
    files: vec::IntoIter<PathBuf>,
    current: Option<(PathBuf, ParquetRecordBatchReader)>,
    rows: vec::IntoIter<OpRow>,
}

impl OpLogReader {
    /// Opens the log of the run in `dir`; `None` when it has none.
    ///
    /// # Errors
    /// When a file is not an operation log.
    pub fn open(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let files = files_of(dir)?;
        let Some(first) = files.first() else { return Ok(None) };
        let builder = builder_of(first)?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let epoch = metadata
            .and_then(|pairs| pairs.iter().find(|pair| pair.key == EPOCH_UNIX_NS))
            .and_then(|pair| pair.value.as_deref()?.parse::<i128>().ok())
            .and_then(|ns| Timestamp::from_nanosecond(ns).ok())
            .ok_or_else(|| unreadable(first, format!("its metadata lacks {EPOCH_UNIX_NS}")))?;
        Ok(Some(Self { epoch, files: files.into_iter(), current: None, rows: Vec::new().into_iter() }))
    }

    /// The wall time that all times of the log count from.
    #[must_use]
    pub fn epoch(&self) -> Timestamp {
        self.epoch
    }

    /// Decodes the next rows; false at the end.
    fn fill(&mut self) -> Result<bool, ArchiveError> {
        loop {
            let Some((path, reader)) = &mut self.current else {
                let Some(path) = self.files.next() else { return Ok(false) };
                let reader = builder_of(&path)?
                    .with_batch_size(BATCH_ROWS)
                    .build()
                    .map_err(|error| unreadable(&path, error.to_string()))?;
                self.current = Some((path, reader));
                continue;
            };
            match next_batch(reader) {
                Some(Some(Ok(batch))) => {
                    self.rows = rows_of(&batch).map_err(|problem| unreadable(path, problem))?.into_iter();
                    return Ok(true);
                }
                Some(Some(Err(error))) => return Err(unreadable(path, error.to_string())),
                Some(None) => self.current = None,
                None => {
                    let error = unreadable(path, "it is damaged".to_owned());
                    self.current = None;
                    return Err(error);
                }
            }
        }
    }
}

impl Iterator for OpLogReader {
    type Item = Result<OpRow, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.files = Vec::new().into_iter();
                    self.current = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

fn files_of(dir: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let whole = dir.join(FILE_NAME);
    if whole.exists() {
        return Ok(vec![whole]);
    }
    let mut parts = Vec::new();
    for entry in fs::read_dir(dir).map_err(ArchiveError::io("read directory", dir))? {
        let entry = entry.map_err(ArchiveError::io("read directory", dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("operations.part-") && name.ends_with(".parquet") {
            parts.push(entry.path());
        }
    }
    parts.sort();
    Ok(parts)
}

/// Columns that every log has.
const FIRST_COLUMNS: usize = 20;

fn builder_of(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ArchiveError> {
    let file = File::open(path).map_err(ArchiveError::io("read", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| unreadable(path, error.to_string()))?;
    let (found, expected) = (builder.schema(), schema());
    let same = |(found, expected): (&Arc<arrow_schema::Field>, &Arc<arrow_schema::Field>)| {
        found.name() == expected.name() && found.data_type() == expected.data_type()
    };
    // Columns after the first ones came later: an older log has fewer.
    if !(FIRST_COLUMNS..=expected.fields().len()).contains(&found.fields().len())
        || !found.fields().iter().zip(expected.fields()).all(same)
    {
        return Err(unreadable(path, "its columns are not those of an operation log".to_owned()));
    }
    // The library takes for granted that what the file says of its own places is true.
    let placed = builder.metadata().row_groups().iter().flat_map(|group| group.columns()).all(|column| {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        start >= 0 && column.data_page_offset() >= 0 && column.compressed_size() >= 0
    });
    if placed { Ok(builder) } else { Err(unreadable(path, "its index is damaged".to_owned())) }
}

fn unreadable(path: &Path, problem: String) -> ArchiveError {
    ArchiveError::Unreadable {
        path: path.to_owned(),
        problem,
        remedy: "restore the file from a copy; the results in run.json do not need it",
    }
}

/// The words of a dictionary column, one per row.
fn words(batch: &RecordBatch, name: &str) -> Result<impl Fn(usize) -> Arc<str>, String> {
    let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
    let column = column
        .as_dictionary_opt::<UInt16Type>()
        .ok_or_else(|| format!("column {name} is not a dictionary"))?
        .clone();
    let values =
        column.values().as_string_opt::<i32>().ok_or_else(|| format!("column {name} has no words"))?;
    let values: Vec<Arc<str>> = values.iter().map(|word| Arc::from(word.unwrap_or(""))).collect();
    let none: Arc<str> = Arc::from("");
    Ok(move |row| {
        let value = column.key(row).and_then(|key| values.get(key));
        Arc::clone(value.unwrap_or(&none))
    })
}

fn rows_of(batch: &RecordBatch) -> Result<Vec<OpRow>, String> {
    let column = |name: &str| batch.column_by_name(name).ok_or_else(|| format!("no column {name}"));
    let wrong = |name: &str| format!("column {name} has another type");
    let i64s =
        |name: &str| {
            let array = column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong(name))?;
            Ok::<_, String>(move |row: usize| {
                if array.is_valid(row) { u64::try_from(array.value(row)).unwrap_or(0) } else { 0 }
            })
        };
    let u32s = |name: &str| {
        let array = column(name)?.as_primitive_opt::<UInt32Type>().ok_or_else(|| wrong(name))?;
        Ok::<_, String>(move |row: usize| array.value(row))
    };
    let status = column("status")?.as_primitive_opt::<UInt16Type>().ok_or_else(|| wrong("status"))?;
    let accepted = column("accepted_only")?.as_boolean_opt().ok_or_else(|| wrong("accepted_only"))?;
    let endpoint = batch.column_by_name("endpoint").and_then(|array| array.as_primitive_opt::<UInt16Type>());
    let asked = batch.column_by_name("asked_bytes").and_then(|array| array.as_primitive_opt::<Int64Type>());
    let wire = wire_times(batch);
    let (driver, stage, work) = (words(batch, "driver")?, words(batch, "stage")?, words(batch, "work")?);
    let (operation, outcome, phase) =
        (words(batch, "operation")?, words(batch, "outcome")?, words(batch, "phase")?);
    let (worker, requests, retries) = (u32s("worker")?, u32s("requests")?, u32s("retries")?);
    let (connections, connect_ns, bytes) = (u32s("connections")?, i64s("connect_ns")?, i64s("bytes")?);
    let (container, object, due_ns) = (i64s("container")?, i64s("object")?, i64s("due_ns")?);
    let (sent_ns, first_byte_ns, end_ns) = (i64s("sent_ns")?, i64s("first_byte_ns")?, i64s("end_ns")?);
    let row = |row: usize| {
        let word = phase(row);
        let phase = PHASES.into_iter().find(|phase| phase_word(*phase) == &*word);
        let outcome = match &*outcome(row) {
            "ok" => Outcome::OK,
            label => Outcome::failed(label),
        };
        Ok(OpRow {
            driver: driver(row),
            stage: stage(row),
            work: work(row),
            operation: operation(row),
            phase: phase.ok_or_else(|| format!("`{word}` is not a phase"))?,
            sample: Sample {
                op: 0,
                worker: worker(row),
                container: container(row),
                object: object(row),
                due_ns: due_ns(row),
                sent_ns: sent_ns(row),
                first_byte_ns: first_byte_ns(row),
                end_ns: end_ns(row),
                connect_ns: connect_ns(row),
                bytes: bytes(row),
                asked_bytes: asked
                    .filter(|asked| asked.is_valid(row))
                    .map_or(0, |asked| u64::try_from(asked.value(row)).unwrap_or(0)),
                endpoint: endpoint
                    .filter(|endpoint| endpoint.is_valid(row))
                    .map_or(0, |endpoint| endpoint.value(row)),
                status: if status.is_valid(row) { status.value(row) } else { 0 },
                outcome,
                requests: requests(row),
                retries: retries(row),
                connections: connections(row),
                accepted_only: accepted.value(row),
                wire: wire(row),
            },
        })
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The next rows; `None` of damage that the library takes for its own mistake: it panics (parquet 60, differences of numbers).
fn next_batch(reader: &mut ParquetRecordBatchReader) -> Option<Option<Result<RecordBatch, ArrowError>>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reader.next())).ok()
}

/// When the operation of a row was on the wire; logs of earlier versions do not say.
fn wire_times(batch: &RecordBatch) -> impl Fn(usize) -> WireTimes + '_ {
    let i64s =
        |name: &str| batch.column_by_name(name).and_then(|array| array.as_primitive_opt::<Int64Type>());
    let times = ["wire_sent_ns", "wire_first_byte_ns", "wire_end_ns", "wire_ns"].map(i64s);
    let weights =
        batch.column_by_name("wire_weight").and_then(|array| array.as_primitive_opt::<UInt32Type>());
    move |row| {
        let number = |at: usize| {
            let column = times[at].filter(|column| column.is_valid(row))?;
            u64::try_from(column.value(row)).ok()
        };
        let read = || {
            let weight = weights.filter(|column| column.is_valid(row))?.value(row);
            let (sent_ns, first_byte_ns) = (number(0)?, number(1)?);
            Some(WireTimes { sent_ns, first_byte_ns, end_ns: number(2)?, spent_ns: number(3)?, weight })
        };
        read().unwrap_or_default()
    }
}
