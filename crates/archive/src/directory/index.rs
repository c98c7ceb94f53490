//! What is in an archive, fast: one line per run from an index (`.runs.index`) that is made again where a run changed. It is
//! believed only where this user wrote it, and of the very files of this disk: an archive of somebody else's says nothing
//! of its runs that they do not say themselves. Beside that, what users say of their runs: tags (`tags.json` in the run's
//! directory) and which run of a workload is its baseline (`.baselines.json` in the archive). Nothing of it is needed to
//! read a run; all of it can be deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cosbench::{CosbenchOperation, CosbenchRun, CosbenchStage, Histories, LAST_BUCKET_MS};
use crate::directory::LOCK;
use crate::directory::files::{
    Lock, RECORD, has_record, number_of, read_bounded, run_directory, text_of_name, write_whole,
};
use crate::directory::reader::{WORKLOAD, read_record};
use crate::directory::target::target_of;
use crate::strict_modes::effective_user;
use crate::{ArchiveError, Overall, RunRecord, RunState, StageRecord, regular};

/// Tags of a run.
const TAGS: &str = "tags.json";
/// Baselines of an archive.
const BASELINES: &str = ".baselines.json";
/// The index.
const INDEX: &str = ".runs.index";
/// Form of the index; another one is made again.
const INDEX_FORM: u32 = 4;
/// A run has at most this many tags.
pub const MOST_TAGS: usize = 100;
/// A tag has at most this many characters.
pub const LONGEST_TAG: usize = 64;
/// Larger files of tags or baselines are damage.
const MOST_BYTES: u64 = 16 << 20;
/// A larger index is thrown away: a million runs need about 300 MB.
const MOST_INDEX_BYTES: u64 = 512 << 20;

/// What a list says of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOverview {
    /// Its number.
    pub number: u64,
    /// Name of its directory.
    pub directory: String,
    /// Name of the workload; of the directory where the record cannot be read.
    pub name: String,
    /// How far it came; `None` when nothing of it can be read: `problem` says why.
    pub state: Option<RunState>,
    /// When it was submitted.
    pub submitted: Option<Timestamp>,
    /// When its first stage began.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// How many stages it has.
    pub stages: u64,
    /// Operations that succeeded, over all measured windows; of a run that is not over, of its stages that are.
    pub operations: u64,
    /// Operations that failed, likewise.
    pub failures: u64,
    /// Why it ended as it did.
    pub reason: Option<String>,
    /// Whether its numbers can be believed; `None` when the record cannot be read, or the run was killed before anybody looked.
    pub verdict: Option<Overall>,
    /// Why the verdict is no better.
    pub verdict_reason: Option<String>,
    /// What its operations do, each once, in order.
    pub kinds: Vec<String>,
    /// Names of its drivers.
    pub drivers: Vec<String>,
    /// Stages that were begun and are over.
    pub stages_over: u64,
    /// The store: type and address of the first storage of its workload; `None` where the workload does not tell.
    pub target: Option<String>,
    /// The headline: figures of the stage with the highest rate; `None` of a run that was killed, whose record lacks the stage that
    /// it was killed in.
    pub headline: Option<Headline>,
    /// Why its record cannot be read; `None` = it can.
    pub problem: Option<String>,
    /// True for a folder that has the name of a run and holds none, neither of Cosmark nor of COSBench.
    #[serde(skip)]
    pub is_hollow: bool,
    /// What the user calls it.
    #[serde(skip)]
    pub tags: BTreeSet<String>,
    /// True for the baseline of its workload.
    #[serde(skip)]
    pub baseline: bool,
}

/// What a run came to, in two numbers: of its stage with the highest rate, without what prepares and cleans up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// Id of the stage.
    pub stage: String,
    /// Successes per second, all operations together.
    pub throughput_per_s: f64,
    /// The 99th percentile of the response time of its slowest operation, ms; `None` where there are too few operations.
    pub p99_ms: Option<f64>,
    /// True: `p99_ms` is the least that it can be, since COSBench's tables say no more of what lies beyond their last bucket.
    #[serde(default)]
    pub p99_is_least: bool,
}

/// An entry of the index, and the `run.json` that it was read from.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Indexed {
    #[serde(flatten)]
    stamp: Stamp,
    #[serde(rename = "glance")]
    run: RunOverview,
}

/// Which file it is, and as of when. When a file was last changed is the system's own word: whoever unpacks an archive or sets
/// times cannot choose it, so that no entry fits that was made elsewhere. Source: inode(7), `ctime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    inode: u64,
    modified_s: i64,
    modified_ns: i64,
    changed_s: i64,
    changed_ns: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TagFile {
    #[serde(default)]
    tags: BTreeSet<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct BaselineFile {
    /// Name of the workload to name of the run's directory.
    #[serde(default)]
    baselines: BTreeMap<String, String>,
}

/// A folder that has the name of a run.
struct Place {
    number: u64,
    path: PathBuf,
    directory: String,
    /// What is said of a link instead of reading it.
    link: Option<RunOverview>,
    /// Its record, once somebody has looked; `None` where there is none.
    stamp: Option<Stamp>,
}

/// All runs of the archive in `root`, by number. Runs that did not change since the last time are not read again.
///
/// # Errors
/// When the directory cannot be read, or the file of baselines is damaged.
pub fn overview(root: &Path) -> Result<Vec<RunOverview>, ArchiveError> {
    newest(root, usize::MAX).map(|(runs, _)| runs)
}

/// The `most` runs of the archive in `root` with the greatest numbers, by number, and how many runs it has. Older ones
/// are not read: of an archive with thousands the last few are there at once, with an index or without.
///
/// # Errors
/// As [`overview`].
pub fn newest(root: &Path, most: usize) -> Result<(Vec<RunOverview>, usize), ArchiveError> {
    let baselines = baselines(root)?;
    let mut older = places(root)?;
    let all = older.len();
    let mut wanted = older.split_off(all.saturating_sub(most));
    for place in wanted.iter_mut().filter(|place| place.link.is_none()) {
        place.stamp = stamp(&place.path.join(RECORD));
    }
    let histories = histories_of(root, &wanted);
    let paths: Vec<PathBuf> = wanted.iter().map(|place| place.path.clone()).collect();
    let mut index = read_index(root);
    let mut runs = Vec::new();
    let mut read = Vec::new();
    let mut changed = false;
    for Place { number, path, directory, link, stamp } in wanted {
        let known = index.remove(&directory);
        if let Some(link) = link {
            runs.push(link);
            continue;
        }
        let Some(stamp) = stamp else {
            runs.push(RunOverview::without_record(number, directory, &path, histories.as_ref()));
            continue;
        };
        let known = known.filter(|old| old.stamp == stamp);
        let fresh = known.is_none();
        let run = known.map_or_else(|| RunOverview::read(number, directory, &path), |old| old.run);
        // A run that goes on may end without a word; whether it did is looked up each time.
        if run.state != Some(RunState::Running) && run.state != Some(RunState::Killed) {
            read.push(Indexed { stamp, run: run.clone() });
            changed |= fresh;
        }
        runs.push(run);
    }
    for place in older {
        index.remove(&place.directory);
    }
    if changed || !index.is_empty() {
        // The index only saves time: a read-only archive is listed too.
        drop(write_index(root, read));
    }
    for (run, path) in runs.iter_mut().zip(&paths) {
        run.add_words_of_users(path, &baselines);
    }
    Ok((runs, all))
}

/// The run in the directory `dir`, as [`overview`] has it, without a look at the others of its archive.
///
/// # Errors
/// When it has no name of a run, is a link or not there, or the file of baselines is damaged.
pub fn overview_of(dir: &Path) -> Result<RunOverview, ArchiveError> {
    let directory = text_of_name(dir.file_name().unwrap_or_default());
    let is_there = fs::symlink_metadata(dir).is_ok_and(|there| there.is_dir());
    let number = number_of(&directory).filter(|_| is_there);
    let number = number.ok_or_else(|| ArchiveError::NotARun { path: dir.to_owned() })?;
    let root = root_of(dir);
    let mut run = if has_record(dir) {
        RunOverview::read(number, directory, dir)
    } else {
        RunOverview::without_record(number, directory, dir, None)
    };
    run.add_words_of_users(dir, &baselines(&root)?);
    Ok(run)
}

/// The folders of an archive that have the name of a run, by number.
fn places(root: &Path) -> Result<Vec<Place>, ArchiveError> {
    let mut places = Vec::new();
    for entry in fs::read_dir(root).map_err(ArchiveError::io("read directory", root))? {
        let entry = entry.map_err(ArchiveError::io("read directory", root))?;
        if let Some((number, directory)) = run_directory(&entry) {
            places.push(Place { number, path: entry.path(), directory, link: None, stamp: None });
        } else if let Some(link) = RunOverview::of_a_link(&entry) {
            let (number, directory) = (link.number, link.directory.clone());
            places.push(Place { number, path: entry.path(), directory, link: Some(link), stamp: None });
        }
    }
    places.sort_by(|a, b| (a.number, &a.directory).cmp(&(b.number, &b.directory)));
    Ok(places)
}

/// What the history of the archive says of those that COSBench made.
fn histories_of(root: &Path, places: &[Place]) -> Option<Histories> {
    let bare = places.iter().filter(|place| place.link.is_none() && place.stamp.is_none());
    Histories::of(root, bare.filter_map(|place| CosbenchRun::named_in(&place.path)))
}

/// What a file is now, a link as well; `None` when it is not there.
fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some(Stamp {
        bytes: meta.len(),
        inode: meta.ino(),
        modified_s: meta.mtime(),
        modified_ns: meta.mtime_nsec(),
        changed_s: meta.ctime(),
        changed_ns: meta.ctime_nsec(),
    })
}

impl RunOverview {
    fn empty(number: u64, directory: String, problem: Option<String>) -> Self {
        let name = directory.split_once('-').map_or("", |(_, name)| name).to_owned();
        Self {
            number,
            directory,
            name,
            state: None,
            submitted: None,
            started: None,
            ended: None,
            stages: 0,
            operations: 0,
            failures: 0,
            reason: None,
            verdict: None,
            verdict_reason: None,
            kinds: Vec::new(),
            drivers: Vec::new(),
            stages_over: 0,
            target: None,
            headline: None,
            problem,
            is_hollow: false,
            tags: BTreeSet::new(),
            baseline: false,
        }
    }

    fn read(number: u64, directory: String, path: &Path) -> Self {
        match read_record(path) {
            Ok(record) => {
                let operations = || record.stages.iter().flat_map(|stage| &stage.operations);
                Self {
                    state: Some(record.state),
                    submitted: record.submitted,
                    started: record.started,
                    ended: record.ended,
                    stages: record.stages.len() as u64,
                    operations: operations().map(|op| op.ok).sum(),
                    failures: operations().map(|op| op.failed).sum(),
                    reason: record.reason.clone(),
                    verdict: (record.state != RunState::Killed).then_some(record.verdict.overall),
                    verdict_reason: record.verdict.reason.clone(),
                    kinds: each_once(operations().map(|op| op.op.as_str())),
                    drivers: each_once(
                        record
                            .stages
                            .iter()
                            .flat_map(|stage| &stage.clients)
                            .map(|client| client.driver.as_str()),
                    ),
                    stages_over: record.stages.iter().filter(|stage| stage.state.is_done()).count() as u64,
                    target: target_of(path),
                    headline: headline_of(&record),
                    name: record.name.clone(),
                    ..Self::empty(number, directory, None)
                }
            }
            Err(error) => Self::empty(number, directory, Some(error.to_string())),
        }
    }

    /// Its tags, and whether it is the baseline of its workload.
    fn add_words_of_users(&mut self, path: &Path, baselines: &BTreeMap<String, String>) {
        let path = Some(path).filter(|path| regular::is_no_link(path));
        self.tags = path.and_then(|path| tags(path).ok()).unwrap_or_default();
        self.baseline = baselines.get(&self.name) == Some(&self.directory);
    }

    /// A link that has the name of a run. What is behind it may be anything of this machine, so nothing of it is read.
    fn of_a_link(entry: &DirEntry) -> Option<Self> {
        let directory = text_of_name(&entry.file_name());
        let number = number_of(&directory)?;
        let problem =
            "a link: an archive is read without following any; name the directory of the run itself";
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink()) && entry.path().is_dir();
        is_link.then(|| Self::empty(number, directory, Some(problem.to_owned())))
    }

    /// A folder without `run.json`: a run that COSBench made, or none at all.
    fn without_record(number: u64, directory: String, path: &Path, histories: Option<&Histories>) -> Self {
        let problem = match CosbenchRun::open_in_list(path, histories) {
            Ok(run) => return Self::of_cosbench(number, directory, &run),
            Err(error) if CosbenchRun::is_at(path) => error.to_string(),
            Err(_) => {
                let problem = match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
                    Ok(true) => "an empty folder".to_owned(),
                    // Before its record nothing of a run says how it came out.
                    Ok(false) if path.join(WORKLOAD).is_file() => {
                        "no run.json is in it: a run that was cut off as it began, or lost its record"
                            .to_owned()
                    }
                    Ok(false) => "neither run.json nor a result table of COSBench is in it".to_owned(),
                    Err(error) => format!("the folder cannot be read: {error}"),
                };
                return Self { is_hollow: true, ..Self::empty(number, directory, Some(problem)) };
            }
        };
        Self::empty(number, directory, Some(problem))
    }

    /// A run that COSBench made, from its tables; times of day are those of this machine's zone.
    fn of_cosbench(number: u64, directory: String, run: &CosbenchRun) -> Self {
        let operations = || run.operations().map(|(_, operation)| operation);
        let main = |operation: &&CosbenchOperation| !AROUND.contains(&operation.op.as_str());
        let of_stage = |stage: &CosbenchStage| {
            let main = || stage.operations.iter().filter(main);
            // Without one of its rates a stage has no sum of them.
            let rates: Option<Vec<f64>> = main()
                .filter(|op| op.count > 0 || op.throughput_per_s.is_some())
                .map(|op| op.throughput_per_s.filter(|rate| rate.is_finite()))
                .collect();
            let rates = rates.filter(|rates| !rates.is_empty())?;
            // One beyond the last bucket is the slowest, and more than that is not known of it.
            let slowest = main().filter_map(|op| op.p99_ms).max_by(f64::total_cmp);
            Some(Headline {
                stage: stage.id.clone(),
                throughput_per_s: rates.iter().sum(),
                p99_ms: slowest.map(|ms| if ms.is_finite() { ms } else { LAST_BUCKET_MS }),
                p99_is_least: slowest.is_some_and(|ms| !ms.is_finite()),
            })
        };
        let headline = run
            .stages
            .iter()
            .filter_map(of_stage)
            .max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s));
        let record = run.record_in_list();
        Self {
            name: run.name.clone(),
            state: Some(record.state),
            submitted: record.submitted,
            started: record.started,
            ended: record.ended,
            stages: run.stages.len() as u64,
            stages_over: record.stages.iter().filter(|stage| stage.state.is_done()).count() as u64,
            operations: operations().map(|operation| operation.count).fold(0, u64::saturating_add),
            failures: operations().filter_map(CosbenchOperation::failures).fold(0, u64::saturating_add),
            kinds: each_once(operations().map(|operation| operation.op.as_str())),
            drivers: run.drivers.clone(),
            target: Some("COSBench".to_owned()),
            headline,
            reason: Some(record.reason.map_or_else(|| MADE.to_owned(), |reason| format!("{MADE}; {reason}"))),
            ..Self::empty(number, directory, None)
        }
    }
}

/// What is said of a run that another program made.
const MADE: &str = "made by COSBench";

/// What prepares and cleans up.
const AROUND: [&str; 6] = ["init", "prepare", "mprepare", "cleanup", "dispose", "delay"];

fn headline_of(record: &RunRecord) -> Option<Headline> {
    if record.state == RunState::Killed {
        return None;
    }
    let of_stage = |stage: &StageRecord| {
        let main = || stage.operations.iter().filter(|op| !AROUND.contains(&op.op.as_str()));
        let rates: Vec<f64> = main().filter_map(|op| op.throughput_per_s).collect();
        let p99_ms = main().filter_map(|op| op.response_ms.p99).max_by(f64::total_cmp);
        let throughput_per_s = rates.iter().sum();
        (!rates.is_empty()).then(|| Headline {
            stage: stage.id.clone(),
            throughput_per_s,
            p99_ms,
            p99_is_least: false,
        })
    };
    record.stages.iter().filter_map(of_stage).max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.iter().any(|known| known == name) {
            seen.push(name.to_owned());
        }
    }
    seen
}

/// The index by directory. One that is damaged, too large or of another form counts as none, and so does one that another user
/// wrote or may write.
fn read_index(root: &Path) -> BTreeMap<String, Indexed> {
    if !is_own(&root.join(INDEX)).unwrap_or(false) {
        return BTreeMap::new();
    }
    let Ok(text) = read_bounded(&root.join(INDEX), MOST_INDEX_BYTES) else { return BTreeMap::new() };
    let mut lines = text.lines();
    if lines.next() != Some(&index_head()) {
        return BTreeMap::new();
    }
    lines
        .filter_map(|line| serde_json::from_str::<Indexed>(line).ok())
        .map(|indexed| (indexed.run.directory.clone(), indexed))
        .collect()
}

/// True for a file of this user that nobody else may write.
fn is_own(path: &Path) -> io::Result<bool> {
    let there = fs::symlink_metadata(path)?;
    Ok(there.is_file() && effective_user() == Some(there.uid()) && there.mode() & 0o022 == 0)
}

fn index_head() -> String {
    format!("cosmark index {INDEX_FORM}; can be deleted")
}

/// Adds what was `read` to the index. Another program may have written it since it was looked at, or know runs that
/// were not looked at here: what it says of them stays where it is true. While one writes nobody else does, or waits.
fn write_index(root: &Path, read: Vec<Indexed>) -> Result<(), ArchiveError> {
    // No lock is made for it: it would be the file of whoever only looks at somebody's runs.
    let lock = regular::open(&root.join(LOCK)).ok();
    if lock.as_ref().is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock))) {
        return Ok(());
    }
    let mut index = read_index(root);
    index.extend(read.into_iter().map(|indexed| (indexed.run.directory.clone(), indexed)));
    index.retain(|directory, indexed| {
        let is_name = number_of(directory).is_some() && !directory.contains('/');
        is_name && stamp(&root.join(directory).join(RECORD)) == Some(indexed.stamp)
    });
    let path = root.join(INDEX);
    write_whole(&path, false, |out| {
        writeln!(out, "{}", index_head())?;
        for indexed in index.values() {
            serde_json::to_writer(&mut *out, indexed)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    // Whatever this user lets groups do with new files.
    let only_own = Permissions::from_mode(0o600);
    fs::set_permissions(&path, only_own).map_err(ArchiveError::io("set the permissions of", &path))
}

/// Tags of the run in `dir`; none when it has no such file.
///
/// # Errors
/// When the file is damaged.
pub fn tags(dir: &Path) -> Result<BTreeSet<String>, ArchiveError> {
    Ok(read_small::<TagFile>(&dir.join(TAGS))?.tags)
}

/// Adds and removes tags of the run in `dir`; gives those that it has then. The archive's lock is held, so that two
/// programs do not undo each other's.
///
/// # Errors
/// When a tag is not one, there would be too many, or the file cannot be written.
pub fn change_tags(dir: &Path, add: &[String], remove: &[String]) -> Result<BTreeSet<String>, ArchiveError> {
    let path = dir.join(TAGS);
    let refused = |problem: String| ArchiveError::Unreadable {
        path: path.clone(),
        problem,
        remedy: "a tag is a word without blanks and commas, up to 64 characters; a run has up to 100",
    };
    for tag in add {
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == ',';
        if tag.is_empty() || tag.chars().count() > LONGEST_TAG || tag.contains(bad) {
            return Err(refused(format!("{tag:?} is not a tag")));
        }
    }
    let lock = Lock::take(&dir.join("..").join(LOCK))?;
    let mut file: TagFile = read_small(&path)?;
    file.tags.retain(|tag| !remove.contains(tag));
    file.tags.extend(add.iter().cloned());
    if file.tags.len() > MOST_TAGS {
        return Err(refused(format!("{} tags are too many", file.tags.len())));
    }
    write_small(&path, &file)?;
    drop(lock);
    Ok(file.tags)
}

/// Name of each workload that has a baseline, and the directory of that run.
///
/// # Errors
/// When the file is damaged.
pub fn baselines(root: &Path) -> Result<BTreeMap<String, String>, ArchiveError> {
    let mut all = read_small::<BaselineFile>(&root.join(BASELINES))?.baselines;
    // Names of directories in the archive, and no ways out of it.
    all.retain(|_, directory| number_of(directory).is_some() && !directory.contains('/'));
    Ok(all)
}

/// Makes the run in `dir` the baseline of the workload `name`, or with `set` = false no longer; gives the directory of the
/// one before.
///
/// # Errors
/// When the file is damaged or cannot be written.
pub fn set_baseline(dir: &Path, name: &str, set: bool) -> Result<Option<String>, ArchiveError> {
    let dir = fs::canonicalize(dir).map_err(ArchiveError::io("read", dir))?;
    let (root, directory) = (root_of(&dir), text_of_name(dir.file_name().unwrap_or_default()));
    let lock = Lock::take(&root.join(LOCK))?;
    let path = root.join(BASELINES);
    let mut file: BaselineFile = read_small(&path)?;
    let before = file.baselines.get(name).cloned();
    if set {
        file.baselines.insert(name.to_owned(), directory);
    } else if before.as_ref() == Some(&directory) {
        file.baselines.remove(name);
    }
    write_small(&path, &file)?;
    drop(lock);
    Ok(before)
}

fn root_of(dir: &Path) -> PathBuf {
    dir.parent().map(Path::to_owned).unwrap_or_default()
}

fn read_small<T: Default + serde::de::DeserializeOwned>(path: &Path) -> Result<T, ArchiveError> {
    if !path.exists() {
        return Ok(T::default());
    }
    serde_json::from_str(&read_bounded(path, MOST_BYTES)?).map_err(|error| ArchiveError::Damaged {
        path: path.to_owned(),
        line: error.line() as u64,
        problem: error.to_string(),
        remedy: "correct it, or delete it: no result is lost",
    })
}

fn write_small(path: &Path, value: &impl Serialize) -> Result<(), ArchiveError> {
    write_whole(path, false, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}
