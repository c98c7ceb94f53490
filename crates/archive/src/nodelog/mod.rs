//! `nodes.parquet`: every number that was read of the store's machines, as it was read, one row each; written by a thread of
//! its own, since a machine of a hundred processors tells a thousand numbers a second. Source: the Apache Parquet format.

pub(crate) mod read;

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmark_metrics::nodes::quantity::Reads;
use cosmark_metrics::nodes::reading::{Found, NodeLook, Sample};
use jiff::Timestamp;

use crate::ArchiveError;
use crate::parts::column::{Column, Value};
use crate::parts::names::Names;
use crate::parts::{BATCH_ROWS, Parts};

/// Of its name in a run directory, before `.parquet`.
const STEM: &str = "nodes";
/// Batches that may wait for the writer.
const WAITING_BATCHES: usize = 64;
/// More rows are not kept: some 2 GB, a week of a thousand numbers a second is ten times that.
const MOST_ROWS: u64 = 500_000_000;

/// A number that was read, before it is written.
pub(crate) struct Row {
    time_ns: i64,
    /// Numbers of words, each among the names of its column of text.
    words: [u16; 9],
    value: Option<f64>,
    age_ns: Option<i64>,
    own_time_ns: Option<i64>,
}

/// The columns, in order; what comes later stands at the end. Documented in `docs/reference/archive.md`.
pub(crate) static COLUMNS: [Column<Row>; 13] = [
    Column::of("time_ns", Value::I64(|row: &Row| Some(row.time_ns))),
    Column::of("node", Value::Text(|row: &Row| row.words[0])),
    Column::of("role", Value::Text(|row: &Row| row.words[1])),
    Column::of("source", Value::Text(|row: &Row| row.words[2])),
    Column::of("name", Value::Text(|row: &Row| row.words[3])).nullable(),
    Column::of("quantity", Value::Text(|row: &Row| row.words[4])).nullable(),
    Column::of("unit", Value::Text(|row: &Row| row.words[5])).nullable(),
    Column::of("measured_in", Value::Text(|row: &Row| row.words[6])).nullable(),
    Column::of("reads", Value::Text(|row: &Row| row.words[7])).nullable(),
    Column::of("value", Value::F64(|row: &Row| row.value)).nullable(),
    Column::of("age_ns", Value::I64(|row: &Row| row.age_ns)).nullable(),
    Column::of("lost", Value::Text(|row: &Row| row.words[8])).nullable(),
    Column::of("own_time_ns", Value::I64(|row: &Row| row.own_time_ns)).nullable(),
];

/// How a quantity is read, as the column says it.
fn reads_word(reads: Reads) -> &'static str {
    match reads {
        Reads::Counter => "counter",
        Reads::Gauge => "gauge",
    }
}

/// No name: null in a column of words.
const NOTHING: u16 = u16::MAX;

struct Writer {
    table: Parts<Row>,
    epoch_ns: i128,
    /// Of the columns of text, in their order.
    names: [Names; 9],
    rows: Vec<Row>,
}

/// A table of nodes that is being written.
pub struct NodeLog {
    channel: SyncSender<Vec<NodeLook>>,
    thread: JoinHandle<Result<u64, ArchiveError>>,
    /// Looks for which there was no room in the channel.
    left_out: u64,
}

impl NodeLog {
    /// Starts the table of the run in `dir`. Times in it count from `epoch`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn create(dir: &Path, epoch: Timestamp) -> Result<Self, ArchiveError> {
        let writer = Writer {
            table: Parts::new(dir, STEM, &COLUMNS, epoch),
            epoch_ns: epoch.as_nanosecond(),
            names: Default::default(),
            rows: Vec::new(),
        };
        let (channel, receiver) = sync_channel(WAITING_BATCHES);
        let thread = std::thread::Builder::new()
            .name("node-log".to_owned())
            .spawn(move || writer.write_all(&receiver))
            .map_err(|error| ArchiveError::NodeLog(format!("no thread could be started ({error})")))?;
        Ok(Self { channel, thread, left_out: 0 })
    }

    /// Hands looks over without waiting. What a writer that is behind, or that has stopped, does not take is left out.
    pub fn add(&mut self, looks: Vec<NodeLook>) {
        if let Err(TrySendError::Full(looks)) = self.channel.try_send(looks) {
            self.left_out += looks.len() as u64;
        }
    }

    /// Writes what was handed over, and joins the parts.
    ///
    /// # Errors
    /// When anything could not be written, now or earlier.
    pub fn finish(self) -> Result<(), ArchiveError> {
        drop(self.channel);
        let ended =
            self.thread.join().map_err(|_| ArchiveError::NodeLog("its thread panicked".to_owned()))?;
        // What it could not write is lost, whether or not there is room by now.
        ended.map_err(|error| ArchiveError::NodeLog(error.to_string()))?;
        match self.left_out {
            0 => Ok(()),
            left_out => Err(ArchiveError::NodeLog(format!("the disk was too slow for {left_out} readings"))),
        }
    }
}

impl Writer {
    fn write_all(mut self, receiver: &Receiver<Vec<NodeLook>>) -> Result<u64, ArchiveError> {
        loop {
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok(looks) => looks.iter().try_for_each(|look| self.add(look))?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.table.is_old() {
                self.encode()?;
                self.table.close()?;
            }
        }
        self.encode()?;
        self.table.finish()
    }

    fn add(&mut self, look: &NodeLook) -> Result<(), ArchiveError> {
        if self.table.rows() + self.rows.len() as u64 >= MOST_ROWS {
            return Ok(());
        }
        match &look.found {
            Found::Lost { why, .. } => self.push(look, None, None, why),
            Found::Reading { reading, age_ns } => {
                let age_ns = i64::try_from(*age_ns).unwrap_or(i64::MAX);
                for sample in &reading.samples {
                    self.push(look, Some(sample), Some(age_ns), "");
                }
            }
        }
        if self.rows.len() >= BATCH_ROWS { self.encode() } else { Ok(()) }
    }

    fn push(&mut self, look: &NodeLook, sample: Option<&Sample>, age_ns: Option<i64>, lost: &str) {
        let [node, role, source, name, quantity, unit, measured_in, reads, losses] = &mut self.names;
        let word = |names: &mut Names, word: &str| if word.is_empty() { NOTHING } else { names.number(word) };
        let of = sample.map(|sample| {
            let quantity = sample.quantity;
            let (unit, name) = (sample.unit.as_str(), &*sample.name);
            (quantity.id, unit, quantity.measured_in(), reads_word(quantity.reads), name)
        });
        let (id, which, measure, how, called) = of.unwrap_or_default();
        let words = [
            // A node without a name or role has that in the table, too.
            node.number(&look.node.name),
            role.number(&look.node.role),
            source.number(&look.node.source),
            word(name, called),
            word(quantity, id),
            word(unit, which),
            word(measured_in, measure),
            word(reads, how),
            word(losses, lost),
        ];
        let since = |at_ns: u64| i64::try_from(i128::from(at_ns) - self.epoch_ns).unwrap_or(0);
        self.rows.push(Row {
            time_ns: since(look.at_ns()),
            words,
            value: sample.map(|sample| sample.value),
            age_ns,
            own_time_ns: sample.and_then(|sample| sample.at_ns).map(since),
        });
    }

    /// Gives the gathered rows to the table.
    fn encode(&mut self) -> Result<(), ArchiveError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let written = self.table.write(&self.rows, &self.names);
        self.rows.clear();
        written
    }
}

#[cfg(test)]
mod tests;
