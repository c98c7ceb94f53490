//! Reads archives that COSBench wrote: the workload's result table, the timelines of its stages, its response-time
//! histogram, the expanded workload, and what the two index files above it say of it. Formats: the CSV exporters of
//! COSBench 0.4.2, of the widespread build 0.4.2.c4, of 0.3.3 and of sine-io's fork. The compatible tables of our own archives
//! read the same way.
//!
//! COSBench quotes nothing, writes `N/A` for what there is not, `∞` for a rate over no time, and
//! 9223372036854775807 for a percentile beyond its last bucket. Here these are `None` and [`f64::INFINITY`].

pub(crate) mod commas;
pub(crate) mod fields;
mod figures;
mod histogram;
mod index;
mod parts;
mod record;
mod results;
mod workers;

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;

pub use fields::LAST_BUCKET_MS;
pub use histogram::{HistogramColumn, ResponseBucket};
pub(crate) use index::Histories;
pub use index::HistoryEntry;
pub use workers::WorkerShare;

use crate::ArchiveError;
use crate::csv::timeline::{TimelineEntry, read_timeline};
use crate::directory::files::{has_record, place_named, read_bounded_bytes, safe_name, text_of_name};

/// A larger workload file is not one.
const MOST_CONFIG_BYTES: u64 = 64 << 20;
/// A directory of one run has a file per stage and driver, not more than this.
const MOST_FILES: usize = 20_000;

/// Which COSBench wrote the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// 0.4.2, or a compatible program.
    Plain,
    /// 0.4.2.c4, which adds a table per driver and, per stage, one of its workers.
    C4,
    /// 0.3.3 or what came before 0.4, which knows no time to the first byte.
    Old,
}

/// A run in COSBench's tables.
#[derive(Debug, Clone)]
pub struct CosbenchRun {
    /// Its directory.
    pub path: PathBuf,
    /// `w<N>`.
    pub id: String,
    /// Name of the workload, as in the names of its files.
    pub name: String,
    /// Which COSBench wrote it.
    pub variant: Variant,
    /// Stages in order.
    pub stages: Vec<CosbenchStage>,
    /// Its result table ends in the middle of a line: what came behind is missing.
    pub is_cut: bool,
    /// Text of `workload-config.xml`; `None` when the file is not there. It may hold secrets.
    pub config_xml: Option<String>,
    /// Its line of `run-history.csv`; `None` when that file is not beside it, or lacks it.
    pub history: Option<HistoryEntry>,
    /// Names of the drivers, where 0.4.2.c4 left a table of each.
    pub drivers: Vec<String>,
}

/// A stage and what came out.
#[derive(Debug, Clone, PartialEq)]
pub struct CosbenchStage {
    /// `s<k>-<name>`.
    pub id: String,
    /// Name as given.
    pub name: String,
    /// How it ended, COSBench's word: `completed`, `terminated`, ..
    pub state: String,
    /// Every state it went through.
    pub history: Vec<CosbenchState>,
    /// Results, one entry per line of the table; empty when the stage had none.
    pub operations: Vec<CosbenchOperation>,
}

/// A state and when it was entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CosbenchState {
    /// COSBench's word.
    pub state: String,
    /// Local time of the controller, whole seconds.
    pub at: DateTime,
}

/// Results of one operation. Percentiles are the upper edges of buckets of 10 ms, or true values where Cosmark wrote
/// the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CosbenchOperation {
    /// Op-Name: the operation's name, or `<name>-<sample type>` when the two differ.
    pub label: String,
    /// Op-Type: what it does, e.g. `read`, `prepare`.
    pub op: String,
    /// Successes.
    pub count: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Mean response time.
    pub response_ms: Option<f64>,
    /// Mean time to about the first byte.
    pub processing_ms: Option<f64>,
    /// 60th percentile of the response time.
    pub p60_ms: Option<f64>,
    /// 80th percentile.
    pub p80_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Greatest response time.
    pub max_ms: Option<f64>,
    /// Successes per second; COSBench adds up rates of its workers, each over a span of its own.
    pub throughput_per_s: Option<f64>,
    /// Body bytes per second, likewise.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Successes of all that ended, 0 to 1.
    pub success_ratio: Option<f64>,
    /// Workers that reported, from `workloads.csv`; `None` when that file is not beside the run.
    pub workers: Option<u64>,
    /// Share and config of the operation, from `workloads.csv`: `80% containers=u(1-4) ..`.
    pub config_info: Option<String>,
    /// Line of the result table.
    pub line: u64,
}

impl CosbenchRun {
    /// Reads the run in the directory `dir`, without its timelines and histogram.
    ///
    /// # Errors
    /// When there is no result table, or a file is damaged.
    pub fn open(dir: &Path) -> Result<Self, ArchiveError> {
        let mut run = Self::of_its_directory(dir)?;
        run.history = index::history(dir, &run.id, &run.name)?;
        index::add_workers(dir, &run.id, &mut run.stages)?;
        Ok(run)
    }

    /// The same for a list of runs, which reads the history of the archive once: without workers and configs, which
    /// stand in a table of all operations of all runs.
    pub(crate) fn open_in_list(dir: &Path, histories: Option<&Histories>) -> Result<Self, ArchiveError> {
        let mut run = Self::of_its_directory(dir)?;
        let histories = histories.filter(|_| !index::has_own_history(dir));
        let said = histories.and_then(|all| all.of_run(&run.id, &run.name));
        run.history = said.unwrap_or_else(|| index::history(dir, &run.id, &run.name))?;
        Ok(run)
    }

    /// Id and name of the run in `dir`, without a look into its tables; `None` where COSBench left none.
    pub(crate) fn named_in(dir: &Path) -> Option<(String, String)> {
        let stem = stem_of(dir, &names_in(dir).ok()?).ok()?;
        let (id, name) = id_and_name(&stem);
        Some((id.to_owned(), name.to_owned()))
    }

    /// What lies in its own directory.
    fn of_its_directory(dir: &Path) -> Result<Self, ArchiveError> {
        let files = names_in(dir)?;
        let stem = stem_of(dir, &files)?;
        let (id, name) = id_and_name(&stem);
        let table = results::read(&place_named(dir, &format!("{stem}.csv")))?;
        let drivers = workers::drivers(dir, &files, &stem)?;
        let c4 = !drivers.is_empty() || files.iter().any(|file| workers::is_workers(dir, file));
        let config = dir.join("workload-config.xml");
        let config_xml = if config.is_file() { Some(config_of(&config)?) } else { None };
        Ok(Self {
            path: dir.to_owned(),
            id: id.to_owned(),
            name: name.to_owned(),
            variant: match (c4, table.has_processing) {
                (true, _) => Variant::C4,
                (false, true) => Variant::Plain,
                (false, false) => Variant::Old,
            },
            stages: table.stages,
            is_cut: table.is_cut,
            config_xml,
            history: None,
            drivers,
        })
    }

    /// True when `dir` holds a result table of COSBench.
    #[must_use]
    pub fn is_at(dir: &Path) -> bool {
        names_in(dir).and_then(|files| stem_of(dir, &files)).is_ok()
    }

    /// True when COSBench made the run in `dir`. What Cosmark made has tables of the same form, and a `run.json` beside them,
    /// readable or not.
    #[must_use]
    pub fn made(dir: &Path) -> bool {
        !has_record(dir) && Self::is_at(dir)
    }

    /// The timeline of one of its stages; empty when the stage left none.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn timeline(&self, stage: &CosbenchStage) -> Result<Vec<TimelineEntry>, ArchiveError> {
        let path = place_named(&self.path, &format!("{}.csv", safe_name(&stage.id)));
        if path.is_file() { read_timeline(&path) } else { Ok(Vec::new()) }
    }

    /// The response-time histogram, one entry per column that has operations; empty when there is no such file. Of
    /// several copies (`*-rt-histogram.csv`, plain or `.gz`) the most complete one is read.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn histogram(&self) -> Result<Vec<HistogramColumn>, ArchiveError> {
        histogram::read(&self.path, &names_in(&self.path)?, &self.stages)
    }

    /// What each worker of a stage did; `None` where there is no `<stage>-worker.csv`, which only 0.4.2.c4 writes.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn workers(&self, stage: &CosbenchStage) -> Result<Option<Vec<WorkerShare>>, ArchiveError> {
        let file = format!("{}-worker.csv", stage.id);
        if workers::is_workers(&self.path, &file) {
            workers::read(&place_named(&self.path, &file)).map(Some)
        } else {
            Ok(None)
        }
    }

    /// What a driver did, task by task (each is its part of a work) in the order of stages and works; only 0.4.2.c4 and the
    /// forks that came of it leave that.
    ///
    /// # Errors
    /// When there is no table of such a driver, or it is damaged.
    pub fn tasks(&self, driver: &str) -> Result<Vec<Vec<WorkerShare>>, ArchiveError> {
        workers::tasks(&place_named(&self.path, &format!("{driver}.csv")))
    }

    /// All results, with their stage.
    pub fn operations(&self) -> impl Iterator<Item = (&CosbenchStage, &CosbenchOperation)> {
        self.stages.iter().flat_map(|stage| stage.operations.iter().map(move |op| (stage, op)))
    }
}

impl CosbenchStage {
    /// Seconds from `running` to the next state, in whole seconds as COSBench writes them; `None` when it never ran.
    #[must_use]
    pub fn running_s(&self) -> Option<f64> {
        let began = self.history.iter().position(|change| change.state == "running")?;
        let (from, to) = (self.history.get(began)?, self.history.get(began + 1)?);
        Some(to.at.duration_since(from.at).as_secs_f64())
    }
}

/// The expanded workload, in the encoding of COSBench's locale.
fn config_of(path: &Path) -> Result<String, ArchiveError> {
    let bytes = read_bounded_bytes(path, MOST_CONFIG_BYTES)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| fields::latin(error.as_bytes())))
}

/// Names of the files in a directory, sorted.
fn names_in(dir: &Path) -> Result<Vec<String>, ArchiveError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(ArchiveError::io("read directory", dir))? {
        let entry = entry.map_err(ArchiveError::io("read directory", dir))?;
        if names.len() >= MOST_FILES {
            return Err(ArchiveError::Unreadable {
                path: dir.to_owned(),
                problem: format!("more than {MOST_FILES} files"),
                remedy: "give the directory of one run, such as archive/w1-name",
            });
        }
        names.push(text_of_name(&entry.file_name()));
    }
    names.sort();
    Ok(names)
}

/// `w3` and `name` of `w3-name`.
fn id_and_name(stem: &str) -> (&str, &str) {
    stem.split_once('-').unwrap_or((stem, ""))
}

/// `w3-name` of `w3-name.csv`, the result table. A directory that was renamed still has it.
fn stem_of(dir: &Path, files: &[String]) -> Result<String, ArchiveError> {
    let own = dir.file_name().map(|name| format!("{}.csv", text_of_name(name))).unwrap_or_default();
    let mut candidates: Vec<&String> = files
        .iter()
        .filter(|file| file.ends_with(".csv") && crate::directory::files::number_of(file).is_some())
        .collect();
    candidates.sort_by_key(|file| **file != own);
    let found = candidates.into_iter().find(|file| results::is_at(&place_named(dir, file)));
    found.and_then(|file| file.strip_suffix(".csv")).map(str::to_owned).ok_or_else(|| {
        ArchiveError::Unreadable {
            path: dir.to_owned(),
            problem: "no result table w<N>-<name>.csv here".to_owned(),
            remedy: "give the directory of one run, such as archive/w1-name",
        }
    })
}
