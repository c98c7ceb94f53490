//! `nodes.parquet`: every number that was read of the store's machines, as it was read, one row each; written by a thread of
//! its own, since a machine of a hundred processors tells a thousand numbers a second. Source: the Apache Parquet format.

pub(crate) mod read;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use cosmark_metrics::nodes::quantity::{Quantity, Reads};
use cosmark_metrics::nodes::reading::{Found, NodeLook};
use jiff::Timestamp;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::ArchiveError;
use crate::parts::names::{Names, words};
use crate::parts::{GROUP_ROWS, Parts, metadata};

/// Of its name in a run directory, before `.parquet`.
const STEM: &str = "nodes";
/// Rows that are gathered before they are encoded.
const BATCH_ROWS: usize = 1 << 16;
/// Batches that may wait for the writer.
const WAITING_BATCHES: usize = 64;
/// More rows are not kept: some 2 GB, a week of a thousand numbers a second is ten times that.
const MOST_ROWS: u64 = 500_000_000;

/// The columns, in order. Documented in `docs/reference/archive.md`.
pub fn schema() -> Schema {
    let fields = [
        ("time_ns", DataType::Int64, false),
        ("node", words(), false),
        ("role", words(), false),
        ("source", words(), false),
        ("name", words(), true),
        ("quantity", words(), true),
        ("unit", words(), true),
        ("measured_in", words(), true),
        ("reads", words(), true),
        ("value", DataType::Float64, true),
        ("age_ns", DataType::Int64, true),
        ("lost", words(), true),
    ];
    Schema::new(fields.map(|(name, kind, nullable)| Field::new(name, kind, nullable)).to_vec())
}

/// How a quantity is read, as the column says it.
fn reads_word(reads: Reads) -> &'static str {
    match reads {
        Reads::Counter => "counter",
        Reads::Gauge => "gauge",
    }
}

/// No name: null in a column of words.
const NOTHING: u16 = u16::MAX;

#[derive(Default)]
struct Columns {
    time_ns: Vec<i64>,
    words: [Vec<u16>; 8],
    value: Vec<Option<f64>>,
    age_ns: Vec<Option<i64>>,
}

/// The columns of words, as they stand in [`Columns::words`].
#[derive(Default)]
struct Words {
    node: Names,
    role: Names,
    source: Names,
    name: Names,
    quantity: Names,
    unit: Names,
    measured_in: Names,
    reads: Names,
    lost: Names,
}

struct Writer {
    table: Parts,
    epoch_ns: i128,
    words: Words,
    columns: Columns,
    lost: Vec<u16>,
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
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_key_value_metadata(Some(metadata(epoch)))
            .build();
        let writer = Writer {
            table: Parts::new(dir, STEM, Arc::new(schema()), properties),
            epoch_ns: epoch.as_nanosecond(),
            words: Words::default(),
            columns: Columns::default(),
            lost: Vec::new(),
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
        if self.table.rows() + self.columns.time_ns.len() as u64 >= MOST_ROWS {
            return Ok(());
        }
        match &look.found {
            Found::Lost { why, .. } => self.push(look, None, None, why),
            Found::Reading { reading, age_ns } => {
                let age_ns = i64::try_from(*age_ns).unwrap_or(i64::MAX);
                for sample in &reading.samples {
                    let place = (sample.quantity, sample.unit.as_str(), sample.name.as_ref());
                    self.push(look, Some((place, sample.value)), Some(age_ns), "");
                }
            }
        }
        if self.columns.time_ns.len() >= BATCH_ROWS { self.encode() } else { Ok(()) }
    }

    fn push(
        &mut self,
        look: &NodeLook,
        sample: Option<((&Quantity, &str, &str), f64)>,
        age_ns: Option<i64>,
        lost: &str,
    ) {
        let Words { node, role, source, name, quantity, unit, measured_in, reads, lost: losses } =
            &mut self.words;
        let word = |names: &mut Names, word: &str| if word.is_empty() { NOTHING } else { names.number(word) };
        let of = sample.map(|((quantity, unit, name), _)| {
            (quantity.id, unit, quantity.measured_in(), reads_word(quantity.reads), name)
        });
        let (id, which, measure, how, called) = of.unwrap_or_default();
        let numbers = [
            // A node without a name or role has that in the table, too.
            node.number(&look.node.name),
            role.number(&look.node.role),
            source.number(&look.node.source),
            word(name, called),
            word(quantity, id),
            word(unit, which),
            word(measured_in, measure),
            word(reads, how),
        ];
        self.columns.words.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
        self.lost.push(word(losses, lost));
        let since_ns = i128::from(look.at_ns()) - self.epoch_ns;
        self.columns.time_ns.push(i64::try_from(since_ns).unwrap_or(0));
        self.columns.value.push(sample.map(|(_, value)| value));
        self.columns.age_ns.push(age_ns);
    }

    /// Gives the gathered rows to the table.
    fn encode(&mut self) -> Result<(), ArchiveError> {
        if self.columns.time_ns.is_empty() {
            return Ok(());
        }
        let batch = self.record_batch();
        self.table.write(|| batch)
    }

    fn record_batch(&mut self) -> Result<RecordBatch, ParquetError> {
        let Columns {
            time_ns,
            words: [node, role, source, name, quantity, unit, measured_in, reads],
            value,
            age_ns,
        } = &mut self.columns;
        let words = &self.words;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(std::mem::take(time_ns))),
            words.node.column(node)?,
            words.role.column(role)?,
            words.source.column(source)?,
            words.name.column(name)?,
            words.quantity.column(quantity)?,
            words.unit.column(unit)?,
            words.measured_in.column(measured_in)?,
            words.reads.column(reads)?,
            Arc::new(Float64Array::from(std::mem::take(value))),
            Arc::new(Int64Array::from(std::mem::take(age_ns))),
            words.lost.column(&mut self.lost)?,
        ];
        Ok(RecordBatch::try_new(Arc::clone(self.table.schema()), columns)?)
    }
}

#[cfg(test)]
mod tests;
