//! Reads the operation log back, row by row, in bounded memory.

use std::path::Path;
use std::sync::Arc;
use std::vec;

use cosmark_metrics::{Outcome, Phase, Sample, WireTimes};
use jiff::Timestamp;

use crate::ArchiveError;
use crate::oplog::columns::{COLUMNS, Row};
use crate::oplog::{PHASES, STEM};
use crate::parts::read::{Expected, TableReader};
use crate::parts::rows::Rows;

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
    table: TableReader<Row>,
    rows: vec::IntoIter<OpRow>,
}

impl OpLogReader {
    /// Opens the log of the run in `dir`; `None` when it has none.
    ///
    /// # Errors
    /// When a file is not an operation log.
    pub fn open(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let expected = Expected {
            stem: STEM,
            what: "an operation log",
            columns: &COLUMNS,
            first_columns: FIRST_COLUMNS,
        };
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

fn rows_of(rows: &Rows) -> Result<Vec<OpRow>, String> {
    let (driver, stage, work) = (rows.text("driver"), rows.text("stage"), rows.text("work"));
    let (operation, outcome, phase) = (rows.text("operation"), rows.text("outcome"), rows.text("phase"));
    let (container, object, bytes) = (u64s(rows, "container"), u64s(rows, "object"), u64s(rows, "bytes"));
    let (due_ns, sent_ns, end_ns) = (u64s(rows, "due_ns"), u64s(rows, "sent_ns"), u64s(rows, "end_ns"));
    let (first_byte_ns, connect_ns) = (u64s(rows, "first_byte_ns"), u64s(rows, "connect_ns"));
    let (worker, requests, retries) = (u32s(rows, "worker"), u32s(rows, "requests"), u32s(rows, "retries"));
    let (connections, version) = (u32s(rows, "connections"), u32s(rows, "version"));
    let (status, endpoint) = (u16s(rows, "status"), u16s(rows, "endpoint"));
    let (accepted_only, asked_bytes) = (rows.bools("accepted_only"), u64s(rows, "asked_bytes"));
    let wire = wire_times(rows);
    let mut made = Vec::with_capacity(rows.count());
    for row in 0..rows.count() {
        let word = phase(row);
        let phase = PHASES.into_iter().find(|phase| phase.word() == &**word);
        let outcome = match &**outcome(row) {
            "ok" => Outcome::OK,
            label => Outcome::failed(label),
        };
        made.push(OpRow {
            driver: Arc::clone(driver(row)),
            stage: Arc::clone(stage(row)),
            work: Arc::clone(work(row)),
            operation: Arc::clone(operation(row)),
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
                asked_bytes: asked_bytes(row),
                version: version(row),
                endpoint: endpoint(row),
                status: status(row),
                outcome,
                requests: requests(row),
                retries: retries(row),
                connections: connections(row),
                accepted_only: accepted_only(row).unwrap_or(false),
                wire: wire(row),
                ..Sample::default()
            },
        });
    }
    Ok(made)
}

/// Numbers of a column, 0 for null and for what is beyond the type; so are those of columns that a log of an earlier version lacks.
fn u64s<'a>(rows: &'a Rows, name: &str) -> impl Fn(usize) -> u64 + use<'a> {
    let values = rows.whole(name);
    move |row| values(row).and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}

fn u32s<'a>(rows: &'a Rows, name: &str) -> impl Fn(usize) -> u32 + use<'a> {
    let values = rows.whole(name);
    move |row| values(row).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

fn u16s<'a>(rows: &'a Rows, name: &str) -> impl Fn(usize) -> u16 + use<'a> {
    let values = rows.whole(name);
    move |row| values(row).and_then(|value| u16::try_from(value).ok()).unwrap_or(0)
}

/// When the operation of a row was on the wire; logs of earlier versions do not say.
fn wire_times(rows: &Rows) -> impl Fn(usize) -> WireTimes + '_ {
    let times = ["wire_sent_ns", "wire_first_byte_ns", "wire_end_ns", "wire_ns"].map(|name| rows.whole(name));
    let weights = rows.whole("wire_weight");
    move |row| {
        let number = |at: usize| u64::try_from(times[at](row)?).ok();
        let read = || {
            let weight = u32::try_from(weights(row)?).ok()?;
            let (sent_ns, first_byte_ns) = (number(0)?, number(1)?);
            Some(WireTimes { sent_ns, first_byte_ns, end_ns: number(2)?, spent_ns: number(3)?, weight })
        };
        read().unwrap_or_default()
    }
}
