//! `operations.parquet`: one row per operation, written by a thread of its own so that load threads only hand over what
//! they recorded. Source: the Apache Parquet format; any engine reads it.

pub(crate) mod columns;
pub(crate) mod read;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmark_ledger::Plan;
use cosmark_metrics::{Outcome, Phase, Sample, SlicePlan};
use cosmark_workload::Workload;
use jiff::Timestamp;

use crate::datasets::{Fills, note_overwriting};
use crate::ledger::LedgerWriter;
use crate::oplog::columns::{COLUMNS, Row, WORDS};
use crate::parts::names::Names;
use crate::parts::{BATCH_ROWS, Parts};
use crate::{ArchiveError, RunDir, StageLayout};

/// Of the name of the log in a run directory, before `.parquet`.
pub(crate) const STEM: &str = "operations";

/// Batches that may wait for the writer.
const WAITING_BATCHES: usize = 64;

/// What the column `phase` can say.
pub const PHASES: [Phase; 4] = [Phase::Rampup, Phase::Window, Phase::Rampdown, Phase::Drain];

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
            let mut writer = PartWriter::new(dir, layout, epoch);
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
    table: Parts<Row>,
    /// Of the columns [`WORDS`].
    names: [Names; WORDS.len()],
    outcome_numbers: BTreeMap<Outcome, u16>,
    places: Vec<Vec<Place>>,
    rows: Vec<Row>,
}

impl PartWriter {
    fn new(dir: &Path, layout: &[StageLayout], epoch: Timestamp) -> Self {
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
        let phases = Names::of(PHASES.map(Phase::word));
        Self {
            table: Parts::new(dir, STEM, &COLUMNS, epoch),
            names: [Names::default(), stages, works, operations, Names::default(), phases],
            outcome_numbers: BTreeMap::new(),
            places,
            rows: Vec::with_capacity(BATCH_ROWS),
        }
    }

    fn add(&mut self, batch: &OpBatch) -> Result<(), ArchiveError> {
        let unknown = || ArchiveError::NoSuchPlace {
            what: format!("work {} of stage {}, counted from 0,", batch.work, batch.stage),
        };
        let [drivers, .., phases] = &mut self.names;
        let driver = drivers.number(&batch.driver);
        let (stage, work) = (usize::from(batch.stage), usize::from(batch.work));
        let phases = PHASES.map(|phase| (phase, phases.number(phase.word())));
        for sample in &batch.samples {
            let [.., outcomes, _] = &mut self.names;
            let outcome = match self.outcome_numbers.get(&sample.outcome) {
                Some(number) => *number,
                None => {
                    let number = outcomes.number(&sample.outcome.label());
                    *self.outcome_numbers.entry(sample.outcome).or_insert(number)
                }
            };
            let place = self.places.get(stage).and_then(|works| works.get(work)).ok_or_else(unknown)?;
            let operation = *place.operations.get(usize::from(sample.op)).ok_or_else(unknown)?;
            // What was given up is in no count of a window, whenever that was.
            let given_up = sample.outcome == Outcome::failed(Outcome::GIVEN_UP);
            let phase = if given_up { Phase::Drain } else { batch.plan.phase_at(sample.end_ns) };
            let phase = phases.iter().find(|(known, _)| *known == phase).map_or(0, |(_, number)| *number);
            self.rows.push(Row {
                driver,
                stage: place.stage,
                work: place.work,
                operation,
                outcome,
                phase,
                clock_offset_ns: batch.clock_offset_ns,
                sample: *sample,
            });
            if self.rows.len() >= BATCH_ROWS {
                self.encode()?;
            }
        }
        Ok(())
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
