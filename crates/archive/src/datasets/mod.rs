//! The data sets of an archive, each a directory in `.datasets`: `dataset.json`, which says what it is, where it lies and who
//! wrote it, and for each of its passes the positions that the store has acknowledged. A run that writes one holds its lock.

mod admit;
mod progress;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use cosmark_metrics::{FillResult, Sample};
use cosmark_workload::dataset::{Cell, is_name, is_torn, number_of};
use cosmark_workload::logins::without_logins;
use cosmark_workload::model::target::PLACES;
use cosmark_workload::model::{Effect, Work};
use cosmark_workload::{DataSetFacts, DataSetUse, FillPass, Workload};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use admit::note_overwriting;
pub use admit::{admit, passes_as_begun};
pub use progress::{Done, Left};

use crate::datasets::progress::Progress;
use crate::directory::files::{read_bounded, write_whole};
use crate::{ArchiveError, regular};

const DIRECTORY: &str = ".datasets";
const HEAD: &str = "dataset.json";
const LOCK: &str = "lock";
const MOST_BYTES: u64 = 4 << 20;
/// Runs that are remembered of a data set.
const MOST_RUNS: usize = 1_000;
/// The status of an answer that there is no such object.
const NOT_FOUND: u16 = 404;

/// What an archive knows of a data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSetRecord {
    /// Format of the file.
    pub schema: u32,
    /// Its name.
    pub name: String,
    /// What its contents and sizes follow from.
    pub seed: u64,
    /// Where it lies: the storage's type, and the keys that say which store.
    pub store: Vec<String>,
    /// Objects over all containers.
    pub objects: u64,
    /// Numbers of the first and the last container.
    pub containers: (u64, u64),
    /// Object sizes, as in a workload.
    pub sizes: String,
    /// Container names, before the number.
    pub container_prefix: String,
    /// Object names, before the number.
    pub object_prefix: String,
    /// Its passes, in order: as in a workload, without what is left.
    pub passes: Vec<String>,
    /// What it came to, where it is filled until the store is full enough: `objects` is then the most that it may have. Null until
    /// that was reached, and while a run writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<DataSetFull>,
    /// The runs that wrote it, oldest first.
    pub runs: Vec<DataSetRun>,
    /// Later runs that have overwritten objects of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overwritten_by: Vec<String>,
    /// When it was removed from the store; null while it is there.
    #[serde(default)]
    pub cleaned: Option<Timestamp>,
}

/// A data set that was filled until the store was full enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSetFull {
    /// How much of the store's capacity was to be used, 0 to 1.
    pub goal: f64,
    /// How much of it was used after the load; null where nobody said it.
    pub share: Option<f64>,
    /// Objects from the first on of which none is missing: what may be read.
    pub objects: u64,
    /// When that was.
    pub at: Timestamp,
}

/// A run that wrote a data set, or went on with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSetRun {
    /// Id of the run.
    pub run: String,
    /// When it began.
    pub at: Timestamp,
    /// Positions of all passes that were done when it began.
    pub from: u64,
}

/// Nobody else writes the data set while this is there.
#[derive(Debug)]
pub struct DataSetHold {
    _lock: File,
}

/// How far a data set is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSetState {
    /// Everything was written and acknowledged.
    Whole,
    /// Some of it is still to be written.
    Partial,
    /// It was removed.
    Cleaned,
}

impl DataSetState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Partial => "partial",
            Self::Cleaned => "cleaned",
        }
    }
}

/// A data set in an archive.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// What it is.
    pub record: DataSetRecord,
    dir: PathBuf,
}

impl DataSet {
    /// The one of this name; `None` when the archive has none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn find(archive: &Path, name: &str) -> Result<Option<Self>, ArchiveError> {
        if !is_name(name) {
            return Ok(None);
        }
        let dir = archive.join(DIRECTORY).join(name);
        let path = dir.join(HEAD);
        let text = match read_bounded(&path, MOST_BYTES) {
            Ok(text) => text,
            Err(ArchiveError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let damaged = |problem: String| ArchiveError::Unreadable {
            path: path.clone(),
            problem,
            remedy: "restore the file from a copy, or remove the directory and fill under another name",
        };
        let record: DataSetRecord =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if record.schema != 1 {
            return Err(damaged(format!("its format {} is of a later version of Cosmark", record.schema)));
        }
        if record.name != name {
            return Err(damaged(format!("it says that it is `{}`", record.name)));
        }
        let set = Self { record, dir };
        set.passes().map_err(damaged)?;
        set.used().map_err(damaged)?;
        Ok(Some(set))
    }

    /// All of an archive, by name.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn all(archive: &Path) -> Result<Vec<Result<Self, ArchiveError>>, ArchiveError> {
        let dir = archive.join(DIRECTORY);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(ArchiveError::io("read directory", &dir)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(ArchiveError::io("read directory", &dir))?;
            names.extend(entry.file_name().to_str().filter(|name| is_name(name)).map(str::to_owned));
        }
        names.sort();
        Ok(names.iter().filter_map(|name| Self::find(archive, name).transpose()).collect())
    }

    /// Its passes, in order.
    ///
    /// # Errors
    /// A sentence when the record is damaged.
    pub fn passes(&self) -> Result<Vec<FillPass>, String> {
        let passes: Result<Vec<FillPass>, String> =
            self.record.passes.iter().map(|text| text.parse::<FillPass>()).collect();
        let passes = passes?;
        let fit = |(pass, step): (&FillPass, u32)| {
            pass.objects == self.record.objects && pass.step == step && pass.dataset == self.record.name
        };
        if passes.is_empty() || !passes.iter().zip(0..).all(fit) {
            return Err("its passes do not fit its objects".to_owned());
        }
        Ok(passes)
    }

    /// What operations may read of it: objects that every container has.
    ///
    /// # Errors
    /// A sentence when the record is damaged.
    pub fn used(&self) -> Result<DataSetUse, String> {
        let (first, last) = self.record.containers;
        let grid = last.checked_sub(first).and_then(|more| more.checked_add(1));
        let objects = self.objects();
        let grid = grid.filter(|grid| *grid <= objects);
        let grid = grid.ok_or("its containers do not fit its objects")?;
        let sizes = self.record.sizes.parse();
        Ok(DataSetUse {
            name: self.record.name.clone(),
            containers: (first, last),
            objects: (1, objects / grid),
            sizes: sizes.map_err(|error: cosmark_workload::selector::SelectorError| error.to_string())?,
        })
    }

    /// Objects that it has, or may have while that is not known.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.record.full.as_ref().map_or(self.record.objects, |full| full.objects)
    }

    /// The share of the store's capacity until which it is filled, 0 to 1; `None` where it has a number of objects.
    #[must_use]
    pub fn full_at(&self) -> Option<f64> {
        self.passes().ok()?.first()?.full_at()
    }

    /// Positions of each pass that the store has acknowledged.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn done(&self) -> Result<Vec<Done>, ArchiveError> {
        let passes = self.passes().unwrap_or_default();
        passes.iter().map(|pass| Done::read(&self.dir, pass.step, pass.count)).collect()
    }

    /// The same, and those that are not to be done any more: what a later pass has done to an object counts for those before
    /// it, which would bring an old version back.
    fn over(&self) -> Result<Vec<Done>, ArchiveError> {
        let (passes, mut all) = (self.passes().unwrap_or_default(), self.done()?);
        for (at, pass) in passes.iter().enumerate() {
            let Some((own, later)) = all.get_mut(at..).and_then(<[Done]>::split_first_mut) else { break };
            let later: Vec<_> =
                passes.iter().skip(at + 1).zip(later.iter()).filter(|(_, done)| done.count() > 0).collect();
            if !later.is_empty() {
                own.set_where(|position| {
                    let object = pass.object_at(position);
                    later.iter().any(|(pass, done)| pass.position_of(object).is_some_and(|at| done.has(at)))
                });
            }
        }
        Ok(all)
    }

    /// How far it is.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn state(&self) -> Result<DataSetState, ArchiveError> {
        if self.record.cleaned.is_some() {
            return Ok(DataSetState::Cleaned);
        }
        let done = self.over()?;
        let whole = match (self.full_at(), &self.record.full) {
            (None, _) => done.iter().all(Done::is_whole),
            (Some(_), None) => false,
            (Some(_), Some(full)) => done.first().is_some_and(|done| done.first_missing() >= full.objects),
        };
        Ok(if whole { DataSetState::Whole } else { DataSetState::Partial })
    }

    /// What operations that name it are given.
    fn facts(&self) -> Option<DataSetFacts> {
        let name = &self.record.name;
        let refused = match self.state() {
            Ok(DataSetState::Whole) => None,
            Ok(DataSetState::Partial) => Some(format!(
                "it is not whole: run what fills it again, it goes on where it was (last: {})",
                self.record.runs.last().map_or("no run", |run| run.run.as_str())
            )),
            Ok(DataSetState::Cleaned) => Some("it was removed from the store; fill it again".to_owned()),
            Err(error) => Some(format!("what of it was written is not known: {error}")),
        };
        Some(DataSetFacts {
            of: self.used().ok().filter(|used| used.name == *name)?,
            container_names: (self.record.container_prefix.clone(), String::new()),
            object_names: (self.record.object_prefix.clone(), String::new()),
            refused,
        })
    }

    /// Keeps others from writing it until the hold is dropped.
    ///
    /// # Errors
    /// When a run writes it now.
    pub fn hold(&self) -> Result<DataSetHold, ArchiveError> {
        lock(&self.dir, &self.record.name).map(|file| DataSetHold { _lock: file })
    }

    /// Says that it is no longer in the store; what was acknowledged is forgotten.
    ///
    /// # Errors
    /// When its files cannot be changed.
    pub fn set_cleaned(&mut self, hold: &DataSetHold) -> Result<(), ArchiveError> {
        self.record.cleaned = Some(Timestamp::now());
        self.write()?;
        self.forget_written(hold)
    }

    /// Forgets what was acknowledged, before the first object of it is removed: where that is cut off it is not whole, and who
    /// fills it writes all of it again.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn forget_written(&self, _hold: &DataSetHold) -> Result<(), ArchiveError> {
        let mut passes = self.passes().unwrap_or_default().into_iter();
        passes.try_for_each(|pass| Done::forget(&self.dir, pass.step))
    }

    fn write(&self) -> Result<(), ArchiveError> {
        fs::create_dir_all(&self.dir).map_err(ArchiveError::io("make directory", &self.dir))?;
        let text = serde_json::to_vec_pretty(&self.record).unwrap_or_default();
        write_whole(&self.dir.join(HEAD), true, |out| out.write_all(&text))
    }
}

/// Writes down what became of a pass of the run in `run` that ends when the store is full enough: how many objects are there
/// without a gap, also in `fill`. The run writes the data set no more. Gives how many objects lie behind the first gap,
/// where these are many.
///
/// # Errors
/// When the record cannot be read or written, or another run writes the data set already.
pub fn note_full(run: &Path, fill: &mut FillResult) -> Result<Option<u64>, ArchiveError> {
    let Some((full, archive)) = fill.full.as_mut().zip(run.parent()) else { return Ok(None) };
    let Some(known) = DataSet::find(archive, &fill.dataset)? else { return Ok(None) };
    let _hold = known.hold()?;
    let Some(mut set) = DataSet::find(archive, &fill.dataset)? else { return Ok(None) };
    let done = set.done()?;
    let done = done.first();
    let objects = done.map_or(0, Done::first_missing);
    full.objects = Some(objects);
    let (first, last) = set.record.containers;
    // Every container is to have an object.
    if full.reached && objects > last.saturating_sub(first) {
        let share = full.after.or(full.at_end).or(full.before);
        set.record.full = Some(DataSetFull { goal: full.goal, share, objects, at: Timestamp::now() });
        set.write()?;
    }
    let torn = done.filter(|done| is_torn(objects, done.up_to()));
    Ok(torn.map(|done| done.count() - objects))
}

/// What operations may name in workloads that are read beside this archive. What cannot be read is not named.
#[must_use]
pub fn known_datasets(archive: &Path) -> BTreeMap<String, DataSetFacts> {
    let all = DataSet::all(archive).unwrap_or_default();
    let facts = all.into_iter().filter_map(Result::ok).filter_map(|set| set.facts());
    facts.map(|facts| (facts.of.name.clone(), facts)).collect()
}

/// The lock of a data set, let go when dropped, however the process ends.
fn lock(dir: &Path, name: &str) -> Result<File, ArchiveError> {
    fs::create_dir_all(dir).map_err(ArchiveError::io("make directory", dir))?;
    let path = dir.join(LOCK);
    let file = regular::open_to_write(&path, fs::OpenOptions::new().append(true));
    let file = file.map_err(ArchiveError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            let why = format!("another run writes the data set {name} now: wait for its end");
            Err(ArchiveError::InUse { path, why })
        }
        Err(fs::TryLockError::Error(error)) => Err(ArchiveError::io("lock", &path)(error)),
    }
}

/// Keys that say whose part of a store it is; where the store is, say [`PLACES`].
const PARTS: [&str; 5] = ["namespace", "username", "tenant", "project", "bucket"];

/// Where a work's store is, without secrets.
fn store_of(work: &Work) -> Vec<String> {
    let mut words = vec![work.storage.kind.clone()];
    for spec in [&work.storage, &work.auth] {
        for entry in &spec.config.entries {
            let key = entry.key.trim().to_ascii_lowercase();
            if let cosmark_workload::model::ConfigValue::Text(text) = &entry.value
                && PLACES.iter().chain(&PARTS).any(|place| *place == key)
            {
                // Two ways to write an address are one store.
                words.push(format!("{key}={}", without_logins(text.trim()).trim_end_matches('/')));
            }
        }
    }
    words.sort();
    words
}

/// The works of a workload that write a data set, by stage and work.
fn passes_of(workload: &Workload) -> impl Iterator<Item = ((usize, usize), &Work, &FillPass)> {
    workload.stages.iter().enumerate().flat_map(|(stage, own)| {
        let works = own.works.iter().enumerate();
        works.filter_map(move |(index, work)| Some(((stage, index), work, work.pass.as_deref()?)))
    })
}

/// The passes of one run, as the store acknowledges them.
pub(crate) struct Fills {
    passes: Vec<RunningPass>,
    /// Held as long as they run.
    _locks: Vec<File>,
}

struct RunningPass {
    place: (u16, u16),
    pass: FillPass,
    deletes: bool,
    first_container: u64,
    containers: u64,
    progress: Progress,
}

impl Fills {
    /// Begins those of `workload`, whose run has its directory at `run`; `None` when it writes no data set.
    pub(crate) fn begin(run: &Path, id: &str, workload: &Workload) -> Result<Option<Self>, ArchiveError> {
        let Some(archive) = run.parent() else { return Ok(None) };
        let (mut locks, mut passes, mut begun) = (Vec::new(), Vec::new(), Vec::<String>::new());
        for ((stage, index), work, pass) in passes_of(workload) {
            let dir = archive.join(DIRECTORY).join(&pass.dataset);
            if !begun.contains(&pass.dataset) {
                locks.push(lock(&dir, &pass.dataset)?);
                admit::enter(archive, &dir, id, workload, work, pass)?;
                begun.push(pass.dataset.clone());
            }
            let operation = work.operations.first();
            let numbers = operation.and_then(|operation| operation.containers.as_ref());
            let place = u16::try_from(stage).ok().zip(u16::try_from(index).ok());
            passes.push(RunningPass {
                place: place.ok_or_else(|| ArchiveError::NoSuchPlace { what: format!("stage {stage}") })?,
                pass: pass.clone(),
                deletes: operation.is_some_and(|operation| operation.kind.row().effect == Effect::Deletes),
                first_container: numbers.map_or(1, |numbers| numbers.bounds().0),
                containers: numbers.map_or(1, |numbers| numbers.count()),
                progress: Progress::open(&dir, pass.step, pass.count)?,
            });
        }
        Ok((!passes.is_empty()).then_some(Self { passes, _locks: locks }))
    }

    /// Adds what samples of a work say.
    pub(crate) fn add(&mut self, place: (u16, u16), samples: &[Sample]) -> Result<(), ArchiveError> {
        let Some(own) = self.passes.iter_mut().find(|own| own.place == place) else { return Ok(()) };
        let done = samples.iter().filter(|sample| {
            // What is to go and is not there has gone.
            (sample.outcome.is_ok() && !sample.accepted_only) || own.deletes && sample.status == NOT_FOUND
        });
        let positions = done.filter_map(|sample| {
            let container = sample.container.checked_sub(own.first_container)?;
            let cell = Cell { container, object: sample.object.checked_sub(1)? };
            own.pass.position_of(number_of(cell, own.containers)?)
        });
        own.progress.add(positions)
    }

    /// Puts everything on the disk.
    pub(crate) fn flush(&mut self) -> Result<(), ArchiveError> {
        self.passes.iter_mut().try_for_each(|own| own.progress.flush())
    }
}

#[cfg(test)]
mod tests;
