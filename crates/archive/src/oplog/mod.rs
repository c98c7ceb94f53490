//! `operations.parquet`: one row per operation, written by a thread of its own so that load threads only hand over what
//! they recorded. Source: the Apache Parquet format; any engine reads it.

mod columns;
pub(crate) mod read;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt16Array, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use cosmark_ledger::Plan;
use cosmark_metrics::{Outcome, Phase, Sample, SlicePlan};
use cosmark_workload::Workload;
use jiff::Timestamp;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::datasets::{Fills, note_overwriting};
use crate::ledger::LedgerWriter;
use crate::oplog::columns::Columns;
use crate::parts::names::{Names, words};
use crate::parts::{GROUP_ROWS, Parts, metadata};
use crate::{ArchiveError, RunDir, StageLayout};

/// Of the name of the log in a run directory, before `.parquet`.
pub(crate) const STEM: &str = "operations";

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
const SPARSE: [&str; 6] =
    ["wire_sent_ns", "wire_first_byte_ns", "wire_end_ns", "wire_ns", "wire_weight", "version"];
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
    /// By how much that may be off against other drivers.
    pub clock_error_ns: i64,
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
    /// So many samples never come.
    Missing(u64),
    /// Everything that came before is to be on the disk; who asked hears what is missing, or that there is no ledger.
    Flush(SyncSender<Option<u64>>),
    Finish,
}

/// An operation log that is being written.
#[derive(Debug)]
pub struct OpLog {
    sender: OpLogSender,
    thread: JoinHandle<Result<u64, ArchiveError>>,
    has_table: bool,
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

    /// So many operations were done that nobody can hand over any more: a ledger without them says so.
    pub fn miss(&self, count: u64) {
        // A writer that has stopped has not said that it has everything.
        drop(self.channel.send(Message::Missing(count)));
    }
}

impl OpLog {
    /// Starts the log of the run in `dir`. Times in it count from `epoch`, which must not lie after the first sample.
    ///
    /// # Errors
    /// When the first part cannot be written, or the thread not be started.
    pub fn create(dir: &Path, layout: &[StageLayout], epoch: Timestamp) -> Result<Self, ArchiveError> {
        Self::begin(dir, Some(layout), None, epoch)
    }

    /// What of a run is to be kept: every operation, if `operations`, a ledger, if `ledger` or the workload asks for that, and
    /// how far data sets are that it writes; `None` = nothing.
    ///
    /// # Errors
    /// As [`OpLog::create`], and when no ledger of this workload can be kept.
    pub fn wanted(
        run: &RunDir,
        workload: &Workload,
        (operations, ledger): (bool, bool),
        epoch: Timestamp,
    ) -> Result<Option<Self>, ArchiveError> {
        let plan = (ledger || workload.durability).then(|| Plan::of(workload)).transpose();
        let plan =
            plan.map_err(|problem| ArchiveError::OpLog(format!("no ledger can be kept: {problem}")))?;
        if let Some(archive) = run.path().parent() {
            note_overwriting(archive, &run.record().id, workload)?;
        }
        let fills = Fills::begin(run.path(), &run.record().id, workload)?;
        if !operations && plan.is_none() && fills.is_none() {
            return Ok(None);
        }
        Self::start(run.path(), operations.then(|| run.layout()), plan, fills, epoch).map(Some)
    }

    /// Starts what is asked for: the log of operations, for which there is a `layout`, and the ledger that `plan` describes.
    ///
    /// # Errors
    /// As [`OpLog::create`].
    pub fn begin(
        dir: &Path,
        layout: Option<&[StageLayout]>,
        plan: Option<Plan>,
        epoch: Timestamp,
    ) -> Result<Self, ArchiveError> {
        Self::start(dir, layout, plan, None, epoch)
    }

    fn start(
        dir: &Path,
        layout: Option<&[StageLayout]>,
        plan: Option<Plan>,
        fills: Option<Fills>,
        epoch: Timestamp,
    ) -> Result<Self, ArchiveError> {
        let opened = |layout| {
            let mut writer = PartWriter::new(dir, layout, epoch)?;
            writer.table.open()?;
            Ok::<_, ArchiveError>(writer)
        };
        let thread = LogThread {
            table: layout.map(opened).transpose()?,
            ledger: plan.map(|plan| LedgerWriter::create(dir, plan)).transpose()?,
            fills,
            trouble: None,
        };
        let (channel, receiver) = sync_channel(WAITING_BATCHES);
        let thread = std::thread::Builder::new()
            .name("operation-log".to_owned())
            .spawn(move || thread.run(&receiver))
            .map_err(|error| ArchiveError::OpLog(format!("no thread could be started ({error})")))?;
        Ok(Self { sender: OpLogSender { channel }, thread, has_table: layout.is_some() })
    }

    /// Every operation is kept, and not only what the ledger needs.
    #[must_use]
    pub fn has_table(&self) -> bool {
        self.has_table
    }

    /// A way to hand samples over.
    #[must_use]
    pub fn sender(&self) -> OpLogSender {
        self.sender.clone()
    }

    /// Puts everything that the ledger has got so far on the disk, and gives how many changes are missing in it; `None` when there is
    /// no ledger, or not within `patience`.
    #[must_use]
    pub fn flush_ledger(&self, patience: Duration) -> Option<u64> {
        let (answer, answered) = sync_channel(1);
        let asked = self.sender.channel.send(Message::Flush(answer)).is_ok();
        answered.recv_timeout(patience).ok().flatten().filter(|_| asked)
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

/// Who keeps what.
struct LogThread {
    table: Option<PartWriter>,
    ledger: Option<LedgerWriter>,
    fills: Option<Fills>,
    /// The first failure.
    trouble: Option<ArchiveError>,
}

impl LogThread {
    /// Until the end is said, or the sender is gone; gives the rows of the table.
    fn run(mut self, receiver: &Receiver<Message>) -> Result<u64, ArchiveError> {
        loop {
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok(Message::Batch(batch)) => self.add(&batch),
                Ok(Message::Missing(count)) => {
                    if let Some(ledger) = &mut self.ledger {
                        ledger.miss(count);
                    }
                }
                Ok(Message::Flush(answer)) => {
                    self.of_ledger(LedgerWriter::flush);
                    // Who asked may have gone.
                    answer.try_send(self.ledger.as_ref().map(LedgerWriter::missing)).ok();
                }
                Ok(Message::Finish) => return self.finish(),
                Err(RecvTimeoutError::Timeout) => {}
                // Dropped without a word: leave what a kill leaves.
                Err(RecvTimeoutError::Disconnected) => return self.leave(),
            }
            self.of_table(PartWriter::close_old_part);
            self.of_ledger(LedgerWriter::flush_old);
            if self.table.is_none() && self.ledger.is_none() && self.fills.is_none() {
                return self.trouble.map_or(Ok(0), Err);
            }
        }
    }

    fn of_table(&mut self, call: impl FnOnce(&mut PartWriter) -> Result<(), ArchiveError>) {
        if let Some(table) = &mut self.table
            && let Err(error) = call(table)
        {
            self.table = None;
            self.trouble.get_or_insert(error);
        }
    }

    /// A ledger that could not be written stays without its last word, so it is known to miss something.
    fn of_ledger(&mut self, call: impl FnOnce(&mut LedgerWriter) -> Result<(), ArchiveError>) {
        if let Some(ledger) = &mut self.ledger
            && let Err(error) = call(ledger)
        {
            self.ledger = None;
            self.trouble.get_or_insert(error);
        }
    }

    /// Data sets whose progress could not be written: what is not known to be done is written again by the next run.
    fn of_fills(&mut self, call: impl FnOnce(&mut Fills) -> Result<(), ArchiveError>) {
        if let Some(fills) = &mut self.fills
            && let Err(error) = call(fills)
        {
            self.fills = None;
            self.trouble.get_or_insert(error);
        }
    }

    fn add(&mut self, batch: &OpBatch) {
        self.of_fills(|fills| fills.add((batch.stage, batch.work), &batch.samples));
        self.of_table(|table| table.add(batch));
        self.of_ledger(|ledger| {
            ledger.add((batch.stage, batch.work), &batch.samples, batch.clock_offset_ns, batch.clock_error_ns)
        });
    }

    fn finish(mut self) -> Result<u64, ArchiveError> {
        self.of_fills(Fills::flush);
        if let Some(ledger) = self.ledger.take()
            && let Err(error) = ledger.finish()
        {
            self.trouble.get_or_insert(error);
        }
        let rows = self.table.take().map_or(Ok(0), PartWriter::finish);
        self.trouble.map_or(rows, Err)
    }

    fn leave(mut self) -> Result<u64, ArchiveError> {
        self.of_fills(Fills::flush);
        self.of_ledger(LedgerWriter::flush);
        self.of_table(PartWriter::close_part);
        let rows = self.table.as_ref().map_or(0, PartWriter::rows);
        self.trouble.map_or(Ok(rows), Err)
    }
}

/// Where a batch's operations are found in the dictionaries.
struct Place {
    stage: u16,
    work: u16,
    operations: Vec<u16>,
}

struct PartWriter {
    table: Parts,
    drivers: Names,
    stages: Names,
    works: Names,
    operations: Names,
    outcomes: Names,
    outcome_numbers: BTreeMap<Outcome, u16>,
    phases: Names,
    places: Vec<Vec<Place>>,
    columns: Columns,
}

/// The columns, in order. Documented in `docs/reference/archive.md`.
pub fn schema() -> Schema {
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
        ("version", DataType::UInt32, true),
    ];
    Schema::new(fields.map(|(name, kind, nullable)| Field::new(name, kind, nullable)).to_vec())
}

fn properties(epoch: Timestamp) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(metadata(epoch)));
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
            table: Parts::new(dir, STEM, Arc::new(schema()), properties(epoch)),
            drivers: Names::default(),
            stages,
            works,
            operations,
            outcomes: Names::default(),
            outcome_numbers: BTreeMap::new(),
            phases: Names::of(PHASES.map(Phase::word)),
            places,
            columns: Columns::default(),
        })
    }

    fn add(&mut self, batch: &OpBatch) -> Result<(), ArchiveError> {
        let unknown = || ArchiveError::NoSuchPlace {
            what: format!("work {} of stage {}, counted from 0,", batch.work, batch.stage),
        };
        let driver = self.drivers.number(&batch.driver);
        let (stage, work) = (usize::from(batch.stage), usize::from(batch.work));
        let phases = PHASES.map(|phase| (phase, self.phases.number(phase.word())));
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

    /// Gives the gathered rows to the table.
    fn encode(&mut self) -> Result<(), ArchiveError> {
        if self.columns.worker.is_empty() {
            return Ok(());
        }
        let batch = self.record_batch();
        self.table.write(|| batch)
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
            numbers::<UInt32Array, _>(&mut columns.version),
        ];
        Ok(RecordBatch::try_new(Arc::clone(self.table.schema()), arrays)?)
    }

    fn rows(&self) -> u64 {
        self.table.rows()
    }

    fn close_old_part(&mut self) -> Result<(), ArchiveError> {
        if self.table.is_old() { self.close_part() } else { Ok(()) }
    }

    fn close_part(&mut self) -> Result<(), ArchiveError> {
        self.encode()?;
        self.table.close()
    }

    fn finish(mut self) -> Result<u64, ArchiveError> {
        self.encode()?;
        self.table.finish()
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
