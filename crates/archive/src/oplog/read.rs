//! Reads the operation log back, row by row, in bounded memory.

use std::path::Path;
use std::sync::Arc;
use std::vec;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use cosmark_metrics::{Outcome, Phase, Sample, WireTimes};
use jiff::Timestamp;

use crate::ArchiveError;
use crate::oplog::{PHASES, STEM, schema};
use crate::parts::read::{Expected, TableReader, words_of};

/// Columns that every log has.
const FIRST_COLUMNS: usize = 20;

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
    table: TableReader,
    rows: vec::IntoIter<OpRow>,
}

impl OpLogReader {
    /// Opens the log of the run in `dir`; `None` when it has none.
    ///
    /// # Errors
    /// When a file is not an operation log.
    pub fn open(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let expected =
            Expected { stem: STEM, what: "an operation log", schema: schema(), first_columns: FIRST_COLUMNS };
        let table = TableReader::open(dir, expected)?;
        Ok(table.map(|table| Self { table, rows: Vec::new().into_iter() }))
    }

    /// The wall time that all times of the log count from.
    #[must_use]
    pub fn epoch(&self) -> Timestamp {
        self.table.epoch()
    }
}

impl Iterator for OpLogReader {
    type Item = Result<OpRow, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            match self.table.next(rows_of) {
                Ok(Some(rows)) => self.rows = rows.into_iter(),
                Ok(None) => return None,
                Err(error) => {
                    self.table.stop();
                    return Some(Err(error));
                }
            }
        }
    }
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
    let (version, wire) = (number_if_any(batch, "version"), wire_times(batch));
    let (driver, stage, work) =
        (words_of(batch, "driver")?, words_of(batch, "stage")?, words_of(batch, "work")?);
    let (operation, outcome, phase) =
        (words_of(batch, "operation")?, words_of(batch, "outcome")?, words_of(batch, "phase")?);
    let (worker, requests, retries) = (u32s("worker")?, u32s("requests")?, u32s("retries")?);
    let (connections, connect_ns, bytes) = (u32s("connections")?, i64s("connect_ns")?, i64s("bytes")?);
    let (container, object, due_ns) = (i64s("container")?, i64s("object")?, i64s("due_ns")?);
    let (sent_ns, first_byte_ns, end_ns) = (i64s("sent_ns")?, i64s("first_byte_ns")?, i64s("end_ns")?);
    let row = |row: usize| {
        let word = phase(row);
        let phase = PHASES.into_iter().find(|phase| phase.word() == &*word);
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
                version: version(row),
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
                ..Sample::default()
            },
        })
    };
    (0..batch.num_rows()).map(row).collect()
}

/// A number of a row, 0 where it has none; logs of earlier versions lack the column.
fn number_if_any<'a>(batch: &'a RecordBatch, name: &str) -> impl Fn(usize) -> u32 + use<'a> {
    let column = batch.column_by_name(name).and_then(|array| array.as_primitive_opt::<UInt32Type>());
    move |row| column.filter(|column| column.is_valid(row)).map_or(0, |column| column.value(row))
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
