//! `operations.parquet`: one row per operation, written by a thread of its own so that load threads only hand over what
//! they recorded. Source: the Apache Parquet format; any engine reads it.
//!
//! A Parquet file has its index at its end, so a file that a kill cut short is lost. The log is therefore written as
//! parts (`operations.part-00001.parquet`, ..), each closed after about a million rows or a minute; at the end of the run the
//! parts are joined into `operations.parquet` without decoding them. A killed run leaves its closed parts.

mod columns;
mod join;
pub(crate) mod read;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::types::UInt16Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray, UInt16Array, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema};
use cosmark_metrics::{Outcome, Phase, Sample, SlicePlan};
use jiff::Timestamp;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::oplog::columns::Columns;
use crate::oplog::join::copy_parts;
use crate::{ArchiveError, StageLayout, phase_word};

/// Name of the log in a run directory.
pub const FILE_NAME: &str = "operations.parquet";
/// Wall time of the epoch, in nanoseconds since 1970, in the file's metadata.
pub const EPOCH_UNIX_NS: &str = "cosmark.epoch_unix_ns";

/// Rows of a row group, which is also a part.
const GROUP_ROWS: usize = 1 << 20;
/// A part is closed after this time even if it is not full: that much a kill costs.
const PART_AGE: Duration = Duration::from_secs(60);
/// Rows that are gathered before they are encoded.
const BATCH_ROWS: usize = 1 << 16;
/// Batches that may wait for the writer.
const WAITING_BATCHES: usize = 64;

/// What the column `phase` can say.
pub const PHASES: [Phase; 4] = [Phase::Rampup, Phase::Window, Phase::Rampdown, Phase::Drain];

/// Columns of numbers: differences instead of a dictionary, which would have to look every value up in a hash table. Times hardly
/// repeat, and of what does repeat the differences are 0.
const NUMBERS: [&str; 15] = [
    "worker",
    "container",
    "object",
    "due_ns",
    "sent_ns",
    "first_byte_ns",
    "end_ns",
    "bytes",
    "status",
    "requests",
    "retries",
    "connections",
    "connect_ns",
    "endpoint",
    "asked_bytes",
];
/// Columns of few numbers among many nulls: as they are.
const SPARSE: [&str; 5] = ["wire_sent_ns", "wire_first_byte_ns", "wire_end_ns", "wire_ns", "wire_weight"];
/// Columns of words that hardly anybody looks for by their order: the least and the greatest of them are not kept, which would
/// mean to compare every one.
const WORDS: [&str; 5] = ["driver", "work", "operation", "outcome", "phase"];

/// Samples of one work from one driver.
#[derive(Debug, Clone)]
pub struct OpBatch {
    /// Name of the driver.
    pub driver: Arc<str>,
    /// 0-based index of the stage.
    pub stage: u16,
    /// 0-based index of the work in its stage.
    pub work: u16,
    /// What to add to a time of this driver's clock to get nanoseconds since the log's epoch.
    pub clock_offset_ns: i64,
    /// The work's plan on the driver's clock; it tells the phase of each sample.
    pub plan: SlicePlan,
    /// The samples; their `op` counts in the work.
    pub samples: Vec<Sample>,
}

/// A batch was not taken.
#[derive(Debug)]
pub enum SendError {
    /// The writer is behind: try again later.
    Full(OpBatch),
    /// The writer has stopped; [`OpLog::finish`] says why.
    Stopped,
}

enum Message {
    Batch(OpBatch),
    Finish,
}

/// An operation log that is being written.
#[derive(Debug)]
pub struct OpLog {
    sender: OpLogSender,
    thread: JoinHandle<Result<u64, ArchiveError>>,
}

/// Hands samples to the log; one per thread.
#[derive(Debug, Clone)]
pub struct OpLogSender {
    channel: SyncSender<Message>,
}

impl OpLogSender {
    /// Hands a batch over without waiting.
    ///
    /// # Errors
    /// When the writer is behind (the batch comes back) or has stopped.
    pub fn try_send(&self, batch: OpBatch) -> Result<(), SendError> {
        match self.channel.try_send(Message::Batch(batch)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(Message::Batch(batch))) => Err(SendError::Full(batch)),
            Err(_) => Err(SendError::Stopped),
        }
    }

    /// Hands a batch over and waits until the writer has room. Never call this from a thread that makes load.
    ///
    /// # Errors
    /// When the writer has stopped.
    pub fn send(&self, batch: OpBatch) -> Result<(), SendError> {
        self.channel.send(Message::Batch(batch)).map_err(|_| SendError::Stopped)
    }
}

impl OpLog {
    /// Starts the log of the run in `dir`. Times in it count from `epoch`, which must not lie after the first sample.
    ///
    /// # Errors
    /// When the first part cannot be written, or the thread not be started.
    pub fn create(dir: &Path, layout: &[StageLayout], epoch: Timestamp) -> Result<Self, ArchiveError> {
        let mut writer = PartWriter::new(dir, layout, epoch)?;
        writer.open_part()?;
        let (channel, receiver) = sync_channel(WAITING_BATCHES);
        let thread = std::thread::Builder::new()
            .name("operation-log".to_owned())
            .spawn(move || write_all(writer, &receiver))
            .map_err(|error| ArchiveError::OpLog(format!("no thread could be started ({error})")))?;
        Ok(Self { sender: OpLogSender { channel }, thread })
    }

    /// A way to hand samples over.
    #[must_use]
    pub fn sender(&self) -> OpLogSender {
        self.sender.clone()
    }

    /// Writes what was sent so far, joins the parts, and tells how many rows there are.
    ///
    /// # Errors
    /// When anything could not be written, now or earlier.
    pub fn finish(self) -> Result<u64, ArchiveError> {
        // A writer that stopped no longer takes messages; its reason is in the thread's result.
        drop(self.sender.channel.send(Message::Finish));
        self.thread.join().map_err(|_| ArchiveError::OpLog("its thread panicked".to_owned()))?
    }
}

fn write_all(mut writer: PartWriter, receiver: &Receiver<Message>) -> Result<u64, ArchiveError> {
    loop {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok(Message::Batch(batch)) => writer.add(&batch)?,
            Ok(Message::Finish) => return writer.finish(),
            Err(RecvTimeoutError::Timeout) => {}
            // Dropped without a word: leave what a kill leaves.
            Err(RecvTimeoutError::Disconnected) => return writer.close_part().map(|()| writer.rows),
        }
        writer.close_old_part()?;
    }
}

/// Names, and the number of each in the dictionary of its column.
#[derive(Debug, Default)]
struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, u16>,
}

impl Names {
    fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut this = Self::default();
        for name in names {
            this.number(name);
        }
        this
    }

    /// Its number; `u16::MAX` stands for all names beyond 65 534 different ones.
    fn number(&mut self, name: &str) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        if number < u16::MAX {
            self.names.push(name.to_owned());
            self.numbers.insert(name.to_owned(), number);
        }
        number
    }

    fn column(&self, numbers: &mut Vec<u16>) -> Result<ArrayRef, ParquetError> {
        let keys: UInt16Array = numbers
            .drain(..)
            .map(|number| (usize::from(number) < self.names.len()).then_some(number))
            .collect();
        let values = StringArray::from_iter_values(&self.names);
        Ok(Arc::new(DictionaryArray::<UInt16Type>::try_new(keys, Arc::new(values))?))
    }
}

/// Where a batch's operations are found in the dictionaries.
struct Place {
    stage: u16,
    work: u16,
    operations: Vec<u16>,
}

struct Part {
    temporary: PathBuf,
    path: PathBuf,
    writer: ArrowWriter<File>,
    rows: usize,
    began: Instant,
}

struct PartWriter {
    dir: PathBuf,
    schema: Arc<Schema>,
    properties: WriterProperties,
    drivers: Names,
    stages: Names,
    works: Names,
    operations: Names,
    outcomes: Names,
    outcome_numbers: BTreeMap<Outcome, u16>,
    phases: Names,
    places: Vec<Vec<Place>>,
    columns: Columns,
    part: Option<Part>,
    parts: Vec<PathBuf>,
    rows: u64,
}

/// The columns, in order. Documented in `docs/reference/archive.md`.
pub fn schema() -> Schema {
    let words = || DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8));
    let fields = [
        ("driver", words(), true),
        ("stage", words(), false),
        ("work", words(), false),
        ("worker", DataType::UInt32, false),
        ("operation", words(), false),
        ("container", DataType::Int64, true),
        ("object", DataType::Int64, true),
        ("due_ns", DataType::Int64, false),
        ("sent_ns", DataType::Int64, false),
        ("first_byte_ns", DataType::Int64, true),
        ("end_ns", DataType::Int64, false),
        ("bytes", DataType::Int64, false),
        ("status", DataType::UInt16, true),
        ("outcome", words(), false),
        ("requests", DataType::UInt32, false),
        ("retries", DataType::UInt32, false),
        ("connections", DataType::UInt32, false),
        ("connect_ns", DataType::Int64, false),
        ("accepted_only", DataType::Boolean, false),
        ("phase", words(), false),
        ("endpoint", DataType::UInt16, true),
        ("asked_bytes", DataType::Int64, true),
        ("wire_sent_ns", DataType::Int64, true),
        ("wire_first_byte_ns", DataType::Int64, true),
        ("wire_end_ns", DataType::Int64, true),
        ("wire_ns", DataType::Int64, true),
        ("wire_weight", DataType::UInt32, true),
    ];
    Schema::new(fields.map(|(name, kind, nullable)| Field::new(name, kind, nullable)).to_vec())
}

fn properties(epoch: Timestamp) -> WriterProperties {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(vec![
            pair("cosmark.schema", "1".to_owned()),
            pair(EPOCH_UNIX_NS, epoch.as_nanosecond().to_string()),
            pair("cosmark.epoch", epoch.to_string()),
        ]));
    for column in WORDS {
        let none = EnabledStatistics::None;
        builder = builder.set_column_statistics_enabled(ColumnPath::from(column), none);
    }
    for column in SPARSE {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(column), false);
    }
    for column in NUMBERS {
        let path = ColumnPath::from(column);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

impl PartWriter {
    fn new(dir: &Path, layout: &[StageLayout], epoch: Timestamp) -> Result<Self, ArchiveError> {
        let (mut stages, mut works, mut operations) = (Names::default(), Names::default(), Names::default());
        let mut places = Vec::new();
        for stage in layout {
            let number = stages.number(&stage.id);
            let place = |work: &crate::WorkLayout| Place {
                stage: number,
                work: works.number(&work.name),
                operations: work.operations.iter().map(|op| operations.number(&op.label)).collect(),
            };
            places.push(stage.works.iter().map(place).collect());
        }
        Ok(Self {
            dir: dir.to_owned(),
            schema: Arc::new(schema()),
            properties: properties(epoch),
            drivers: Names::default(),
            stages,
            works,
            operations,
            outcomes: Names::default(),
            outcome_numbers: BTreeMap::new(),
            phases: Names::of(PHASES.map(phase_word)),
            places,
            columns: Columns::default(),
            part: None,
            parts: Vec::new(),
            rows: 0,
        })
    }

    fn open_part(&mut self) -> Result<(), ArchiveError> {
        let name = format!("operations.part-{:05}.parquet", self.parts.len() + 1);
        let path = self.dir.join(&name);
        let temporary = self.dir.join(format!(".{name}.tmp-{}", std::process::id()));
        let file = File::create(&temporary).map_err(ArchiveError::io("write", &path))?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&self.schema), Some(self.properties.clone()))
            .map_err(refused(&path))?;
        self.part = Some(Part { temporary, path, writer, rows: 0, began: Instant::now() });
        Ok(())
    }

    fn add(&mut self, batch: &OpBatch) -> Result<(), ArchiveError> {
        let unknown = || ArchiveError::NoSuchPlace {
            what: format!("work {} of stage {}, counted from 0,", batch.work, batch.stage),
        };
        let driver = self.drivers.number(&batch.driver);
        let (stage, work) = (usize::from(batch.stage), usize::from(batch.work));
        let phases = PHASES.map(|phase| (phase, self.phases.number(phase_word(phase))));
        for sample in &batch.samples {
            let outcome = match self.outcome_numbers.get(&sample.outcome) {
                Some(number) => *number,
                None => {
                    let number = self.outcomes.number(&sample.outcome.label());
                    *self.outcome_numbers.entry(sample.outcome).or_insert(number)
                }
            };
            let place = self.places.get(stage).and_then(|works| works.get(work)).ok_or_else(unknown)?;
            let operation = *place.operations.get(usize::from(sample.op)).ok_or_else(unknown)?;
            // What was given up is in no count of a window, whenever that was.
            let given_up = sample.outcome == Outcome::failed(Outcome::GIVEN_UP);
            let phase = if given_up { Phase::Drain } else { batch.plan.phase_at(sample.end_ns) };
            let phase = phases.iter().find(|(known, _)| *known == phase).map_or(0, |(_, number)| *number);
            let columns = &mut self.columns;
            columns.driver.push(driver);
            columns.stage.push(place.stage);
            columns.work.push(place.work);
            columns.operation.push(operation);
            columns.outcome.push(outcome);
            columns.phase.push(phase);
            columns.push_sample(sample, batch.clock_offset_ns);
            if columns.worker.len() >= BATCH_ROWS {
                self.encode()?;
            }
        }
        Ok(())
    }

    /// Gives the gathered rows to the part, and closes it when it is full.
    fn encode(&mut self) -> Result<(), ArchiveError> {
        let rows = self.columns.worker.len();
        if rows == 0 {
            return Ok(());
        }
        if self.part.is_none() {
            self.open_part()?;
        }
        let Some(mut part) = self.part.take() else { return Ok(()) };
        let written = self.record_batch().and_then(|batch| part.writer.write(&batch));
        written.map_err(refused(&part.path))?;
        part.rows += rows;
        self.rows += rows as u64;
        let full = part.rows >= GROUP_ROWS;
        self.part = Some(part);
        if full { self.close_part() } else { Ok(()) }
    }

    fn record_batch(&mut self) -> Result<RecordBatch, ParquetError> {
        fn numbers<A: From<Vec<N>> + arrow_array::Array + 'static, N>(column: &mut Vec<N>) -> ArrayRef {
            Arc::new(A::from(std::mem::take(column)))
        }
        let columns = &mut self.columns;
        let arrays = vec![
            self.drivers.column(&mut columns.driver)?,
            self.stages.column(&mut columns.stage)?,
            self.works.column(&mut columns.work)?,
            numbers::<UInt32Array, _>(&mut columns.worker),
            self.operations.column(&mut columns.operation)?,
            numbers::<Int64Array, _>(&mut columns.container),
            numbers::<Int64Array, _>(&mut columns.object),
            numbers::<Int64Array, _>(&mut columns.due_ns),
            numbers::<Int64Array, _>(&mut columns.sent_ns),
            numbers::<Int64Array, _>(&mut columns.first_byte_ns),
            numbers::<Int64Array, _>(&mut columns.end_ns),
            numbers::<Int64Array, _>(&mut columns.bytes),
            numbers::<UInt16Array, _>(&mut columns.status),
            self.outcomes.column(&mut columns.outcome)?,
            numbers::<UInt32Array, _>(&mut columns.requests),
            numbers::<UInt32Array, _>(&mut columns.retries),
            numbers::<UInt32Array, _>(&mut columns.connections),
            numbers::<Int64Array, _>(&mut columns.connect_ns),
            numbers::<BooleanArray, _>(&mut columns.accepted_only),
            self.phases.column(&mut columns.phase)?,
            numbers::<UInt16Array, _>(&mut columns.endpoint),
            numbers::<Int64Array, _>(&mut columns.asked_bytes),
            numbers::<Int64Array, _>(&mut columns.wire_sent_ns),
            numbers::<Int64Array, _>(&mut columns.wire_first_byte_ns),
            numbers::<Int64Array, _>(&mut columns.wire_end_ns),
            numbers::<Int64Array, _>(&mut columns.wire_ns),
            numbers::<UInt32Array, _>(&mut columns.wire_weight),
        ];
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }

    fn close_old_part(&mut self) -> Result<(), ArchiveError> {
        let old = self.part.as_ref().is_some_and(|part| part.began.elapsed() >= PART_AGE);
        if old { self.close_part() } else { Ok(()) }
    }

    /// Closes the part, which from then on can be read. An empty one goes away.
    fn close_part(&mut self) -> Result<(), ArchiveError> {
        if !self.columns.worker.is_empty() {
            // Rows that were gathered, which may fill the part and come back here.
            return self.encode().and_then(|()| self.close_part());
        }
        let Some(part) = self.part.take() else { return Ok(()) };
        if part.rows == 0 {
            return fs::remove_file(&part.temporary).map_err(ArchiveError::io("remove", &part.temporary));
        }
        part.writer.close().map_err(refused(&part.path))?;
        fs::rename(&part.temporary, &part.path).map_err(ArchiveError::io("write", &part.path))?;
        self.parts.push(part.path);
        Ok(())
    }

    fn finish(mut self) -> Result<u64, ArchiveError> {
        self.close_part()?;
        let path = self.dir.join(FILE_NAME);
        match self.parts.as_slice() {
            [only] => fs::rename(only, &path).map_err(ArchiveError::io("write", &path))?,
            parts => {
                self.join(parts, &path)?;
                for part in parts {
                    fs::remove_file(part).map_err(ArchiveError::io("remove", part))?;
                }
            }
        }
        Ok(self.rows)
    }

    /// Copies the row groups of all parts, as they are, into one file.
    fn join(&self, parts: &[PathBuf], path: &Path) -> Result<(), ArchiveError> {
        let temporary = self.dir.join(format!(".{FILE_NAME}.tmp-{}", std::process::id()));
        let joined = File::create(&temporary)
            .map_err(ArchiveError::io("write", path))
            .and_then(|file| match parts.first() {
                Some(first) => copy_parts(file, first, parts).map_err(refused(path)),
                None => ArrowWriter::try_new(file, Arc::clone(&self.schema), Some(self.properties.clone()))
                    .and_then(ArrowWriter::close)
                    .map(drop)
                    .map_err(refused(path)),
            })
            .and_then(|()| fs::rename(&temporary, path).map_err(ArchiveError::io("write", path)));
        if joined.is_err() {
            // The parts are still there and are read instead.
            drop(fs::remove_file(&temporary));
        }
        joined
    }
}

/// A refusal of the library: the system's error where there is one inside.
fn refused(path: &Path) -> impl FnOnce(ParquetError) -> ArchiveError {
    let path = path.to_owned();
    move |error| match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => ArchiveError::Io { action: "write", path, source: *source },
            Err(inner) => ArchiveError::OpLog(format!("{}: {inner}", path.display())),
        },
        other => ArchiveError::OpLog(format!("{}: {other}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_users_names_every_column_and_its_type() {
        let page = include_str!("../../../../docs/reference/archive.md");
        for field in schema().fields() {
            let kind = match field.data_type() {
                DataType::Dictionary(..) => "text".to_owned(),
                DataType::Boolean => "bool".to_owned(),
                other => other.to_string().to_lowercase(),
            };
            let row = format!("| `{}` | {kind} | ", field.name());
            assert!(page.contains(&row), "archive.md has no row {row}");
        }
    }
}
