//! One run from the queue to its end, on a thread of its own.

use std::fs::DirEntry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{
    Archive, DriversRecord, HostRecord, NewRun, RunDir, RunRecord, RunState, Source, Timestamp,
    directory_named, remove_unbegun, run_directory,
};
use cosmark_cluster::nats::Bus;
use cosmark_controller::{
    ArchiveWriter, EndClass, Ended, FaultsPlayed, JudgesFaults, NodesOfRun, StopLevel, Unwritten, recover,
};
use cosmark_driver::secrets::{Secrets as Hidden, hidden, hide_in_source};
use cosmark_driver::{cosbench_xml, native_yaml};
use cosmark_workload::Workload;
use tokio::sync::watch;

use crate::check::Reader;
use crate::drivers::{DriverPool, PoolJob};
use crate::live::{LiveRun, RunListener, RunPlan, Watcher};
use crate::queue::nodes::{self, Stores};
use crate::queue::store::QueueEntry;

/// The end of a run for which there was no room is tried again this often.
const ROOM_EVERY: Duration = Duration::from_secs(2);

/// Why a run ended that Cosmark could not go on with.
const BUG: &str = "the run ended by a bug in Cosmark: please report it, with what the controller wrote to its standard error";

/// Who plays the faults of a workload in the run of this id, over this connection to the NATS where agents are, with
/// this archive; `None` where it has none. The moment is that at which the run was taken up from another controller. A
/// sentence where nobody can.
pub type PlaysFaults = fn(
    &Workload,
    &str,
    Option<Bus>,
    &Path,
    Option<Timestamp>,
) -> Result<Option<Box<dyn FaultsPlayed>>, String>;

/// What every run needs.
#[derive(Clone)]
pub struct Runner {
    /// How submissions are read.
    pub reader: Arc<Reader>,
    /// Who makes the load.
    pub pool: Arc<dyn DriverPool>,
    /// The archive's directory.
    pub archive: PathBuf,
    /// This machine.
    pub host: HostRecord,
    /// Machines of stores, looked at while runs speak to these stores.
    pub stores: Arc<Stores>,
    /// Has the faults of runs played.
    pub faults: PlaysFaults,
    /// Judges the faults of runs that were cut off.
    pub judges: JudgesFaults,
    /// Called when the summary of a run has changed.
    pub changed: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What a run is told from outside.
pub struct Orders {
    /// Whether to go on.
    pub stop: watch::Receiver<StopLevel>,
    /// Becomes true when this controller is to let go of it.
    pub abandon: watch::Receiver<bool>,
    /// Another controller, or this one before its restart, has begun it.
    pub resumed: bool,
    /// It does not begin: it was cancelled before, or drivers that it asks for did not come.
    pub refused: Option<String>,
}

/// How a run ended.
pub struct Outcome {
    /// `finished`, `failed`, `terminated` or `cancelled`.
    pub state: String,
    /// Why.
    pub reason: Option<String>,
    /// What the exit code of a command is made of, where it came that far.
    pub class: Option<EndClass>,
}

impl Runner {
    /// Runs it to its end, or until it is let go (`None`). A panic is an end, too: the run would have its place in the queue for
    /// ever, and no cancelling would end it. Blocks.
    pub fn run(&self, entry: &QueueEntry, live: &Arc<LiveRun>, orders: Orders) -> Option<Outcome> {
        let ended = guarded(|| self.run_to_end(entry, live, orders));
        ended.unwrap_or_else(|| {
            // What closes it may meet the same bug.
            if guarded(|| self.give_up(entry, live, BUG)).is_none() {
                live.log("ERROR", "controller", "its archive is not complete: it could not be closed");
            }
            Some(terminated(BUG.to_owned()))
        })
    }

    fn run_to_end(&self, entry: &QueueEntry, live: &Arc<LiveRun>, orders: Orders) -> Option<Outcome> {
        if let Some(outcome) = orders.resumed.then(|| self.over_already(entry, live)).flatten() {
            return Some(outcome);
        }
        if let Some(reason) = &orders.refused {
            return Some(self.refuse(entry, live, reason));
        }
        Some(match self.try_run(entry, live, orders) {
            Ok(None) => return None,
            Ok(Some(mut ended)) => {
                if let Some(unwritten) = ended.unwritten.take() {
                    self.write_later(&entry.id, unwritten, ended.path.clone());
                }
                if let Some(trouble) = &ended.archive_trouble {
                    live.log("ERROR", "controller", &format!("the archive is not complete: {trouble}"));
                }
                self.write_report(&ended, live);
                Outcome {
                    state: ended.record.state.word().to_owned(),
                    reason: ended.record.reason.clone(),
                    class: Some(ended.class),
                }
            }
            Err(text) => {
                self.give_up(entry, live, &text);
                terminated(text)
            }
        })
    }

    fn give_up(&self, entry: &QueueEntry, live: &LiveRun, reason: &str) {
        live.log("ERROR", "controller", reason);
        if let Err(why) = self.close_failed(entry, reason) {
            live.log("ERROR", "controller", &format!("its archive is not complete: {why}"));
        }
    }

    /// The directory of this run, once it has one in this archive. Where runs of elsewhere were copied in, another may have its
    /// number, or even its name: that one is none of the queue's.
    #[must_use]
    pub fn begun(&self, entry: &QueueEntry) -> Option<PathBuf> {
        entry.started.as_ref()?;
        let dir = self.archive.join(directory_named(entry.number, &entry.name));
        let is_there = std::fs::symlink_metadata(&dir).is_ok_and(|meta| meta.is_dir());
        (is_there && !is_of_another(&dir, entry)).then_some(dir)
    }

    /// Ends in the archive a run that was begun there and could not go on: whoever was to write it has given it up.
    fn close_failed(&self, entry: &QueueEntry, reason: &str) -> Result<(), String> {
        let Some(path) = self.begun(entry) else { return Ok(()) };
        let record = cosmark_archive::open_run(&path).map_err(|error| error.to_string())?.record;
        let is_ours = record.process.as_ref().is_some_and(cosmark_archive::is_this_process);
        if record.state == RunState::Running && is_ours {
            self.recover(&path, Some(reason))?;
        }
        Ok(())
    }

    /// How a run that is to be taken up has ended, if its archive is complete: whoever wrote it died, or lost NATS, before
    /// the queue had the word. To run it again would write over its results.
    fn over_already(&self, entry: &QueueEntry, live: &LiveRun) -> Option<Outcome> {
        let path = self.begun(entry)?;
        let record = cosmark_archive::open_run(&path).ok()?.record;
        if matches!(record.state, RunState::Running | RunState::Killed) {
            return None;
        }
        live.begins_at(path);
        Some(Outcome { state: record.state.word().to_owned(), reason: record.reason, class: None })
    }

    fn try_run(
        &self,
        entry: &QueueEntry,
        live: &Arc<LiveRun>,
        orders: Orders,
    ) -> Result<Option<Ended>, String> {
        let Orders { stop, abandon, resumed, .. } = orders;
        let mut workload = self.workload(entry)?;
        let begun = self.begun(entry).filter(|_| resumed);
        if !begun.is_some_and(|dir| cosmark_archive::passes_as_begun(&dir, &mut workload)) {
            let notes = cosmark_archive::admit(&self.archive, &mut workload)?;
            notes.iter().for_each(|note| live.log("INFO", "controller", note));
        }
        let known = Hidden::of(&self.reader.catalog, &workload);
        let mut dir = self.begin(entry, &workload, resumed).map_err(|error| error.to_string())?;
        live.begins_at(dir.path().to_owned());
        dir.set_drivers(drivers_of(entry)).map_err(|error| error.to_string())?;
        live.courses().show_as_report(&workload);
        live.plans(RunPlan::of(&workload));
        let changed: Arc<dyn Fn() + Send + Sync> = {
            let (changed, id) = (Arc::clone(&self.changed), entry.id.clone());
            Arc::new(move || changed(&id))
        };
        let for_watcher = known.clone();
        let redact = move |text: &str| for_watcher.hide(text);
        let mut watcher = Watcher::new(
            Arc::clone(live),
            self.pool.drivers().len() > 1,
            Box::new(redact),
            Arc::clone(&changed),
        );
        let redact = |text: &str| known.hide(text);
        let tags = &entry.submission.tags;
        if !tags.is_empty() {
            cosmark_archive::change_tags(dir.path(), tags, &[]).map_err(|error| error.to_string())?;
        }
        // Looks until the run is over.
        let (_looking, nodes) = self.look(&entry.id, &workload, resumed, (&stop, &abandon), live).unzip();
        let faults = self.faults_of(&entry.id, &workload, resumed, live)?;
        let job = PoolJob {
            nodes,
            faults,
            id: &entry.id,
            drivers: if resumed { &[] } else { &entry.drivers },
            workload: &workload,
            dir: ArchiveWriter::new(dir).heard_by(Box::new(RunListener::new(Arc::clone(live), changed))),
            operation_log: entry.submission.operation_log,
            stop,
            abandon,
            redact: &redact,
            observer: &mut watcher,
        };
        self.pool.run(job)
    }

    /// Looks at the machines of the stores that a run speaks to, and at those where agents are; what cannot be read costs the run
    /// nothing.
    fn look(
        &self,
        id: &str,
        workload: &Workload,
        resumed: bool,
        (stop, abandon): (&watch::Receiver<StopLevel>, &watch::Receiver<bool>),
        live: &LiveRun,
    ) -> Option<(nodes::Looking, NodesOfRun)> {
        let agents = self.pool.agents();
        let nobody = workload.nodes.is_empty() && agents.is_none();
        if nobody || *stop.borrow() != StopLevel::Run || *abandon.borrow() {
            return None;
        }
        let wanted = nodes::Wanted { nodes: workload.nodes.clone(), agents, run: id.to_owned() };
        match nodes::look(wanted, resumed, stop.clone(), abandon.clone()) {
            Ok((looking, troubles)) => {
                troubles.iter().for_each(|trouble| live.log("WARN", "controller", trouble));
                if let Some((_, seen)) = &looking {
                    let names: Vec<&str> = seen.idle.iter().map(|node| node.name.as_str()).collect();
                    let names = names.join(", ");
                    live.log("INFO", "controller", &format!("looking at the store's machines {names}"));
                }
                looking
            }
            Err(why) => {
                live.log("WARN", "controller", &format!("the store's machines are not looked at: {why}"));
                None
            }
        }
    }

    /// Who plays the faults of a run. Of one that is taken up those are made that had not begun: its agents have healed
    /// what the controller before this one has left.
    fn faults_of(
        &self,
        id: &str,
        workload: &Workload,
        resumed: bool,
        live: &LiveRun,
    ) -> Result<Option<Box<dyn FaultsPlayed>>, String> {
        if resumed && workload.stages.iter().any(|stage| !stage.faults.is_empty()) {
            let text = "this run was taken up: slots of its faults that may have begun before are void and not made again";
            live.log("WARN", "controller", text);
        }
        (self.faults)(workload, id, self.pool.agents(), &self.archive, resumed.then(Timestamp::now))
    }

    /// Archives a run that does not begin, with the reason.
    fn refuse(&self, entry: &QueueEntry, live: &LiveRun, reason: &str) -> Outcome {
        let (state, class) = match entry.cancelled {
            Some(_) => (RunState::Cancelled, EndClass::Cancelled),
            None => (RunState::Terminated, EndClass::Workload),
        };
        live.log(if entry.cancelled.is_some() { "INFO" } else { "ERROR" }, "controller", reason);
        let archived = self.workload(entry).and_then(|workload| {
            let archived = self.begin(entry, &workload, false).and_then(|mut dir| {
                live.begins_at(dir.path().to_owned());
                dir.set_drivers(drivers_of(entry))?;
                dir.end_unbegun(state, reason)
            });
            archived.map_err(|error| error.to_string())
        });
        if let Err(text) = archived {
            live.log("ERROR", "controller", &format!("the archive is not complete: {text}"));
        }
        Outcome { state: state.word().to_owned(), reason: Some(reason.to_owned()), class: Some(class) }
    }

    /// The workload of an entry, as it is run.
    fn workload(&self, entry: &QueueEntry) -> Result<Workload, String> {
        let checked = self.reader.read(&entry.submission);
        let mut workload = checked.workload.ok_or_else(|| {
            let first = checked.mistakes.iter().find(|one| one.severity == "error");
            first.map_or_else(|| "the workload can no longer be read".to_owned(), |one| one.message.clone())
        })?;
        workload.seed = Some(entry.seed);
        workload.nodes = self.stores.of(&self.reader.catalog, &workload);
        Ok(workload)
    }

    fn begin(
        &self,
        entry: &QueueEntry,
        workload: &Workload,
        resumed: bool,
    ) -> Result<RunDir, cosmark_archive::ArchiveError> {
        let catalog = &self.reader.catalog;
        let shown = hidden(catalog, workload);
        let is_xml = entry.submission.source.trim_start().starts_with('<');
        let fallback = if is_xml { "workload.xml" } else { "workload.yaml" };
        let file_name = entry.submission.file_name.as_deref().unwrap_or(fallback);
        let file_name =
            Path::new(file_name).file_name().map_or(fallback.into(), |name| name.to_string_lossy());
        let source = hide_in_source(catalog, &entry.submission.source, &file_name, workload);
        let archive = Archive::open(&self.archive)?;
        let new = NewRun {
            number: Some(entry.number),
            workload,
            seed: workload.seed,
            source: Some(Source { file_name: &file_name, text: &source }),
            config_xml: &cosbench_xml(catalog, &shown).0,
            config_yaml: &native_yaml(catalog, &shown),
            host: self.host.clone(),
            submitted: entry.submitted.parse().unwrap_or_else(|_| Timestamp::now()),
        };
        // Where a run of another lies in its place, it is refused and not written over.
        if resumed && self.begun(entry).is_some() { archive.begin_again(&new) } else { archive.begin(&new) }
    }

    /// The HTML report; that it could not be made does not make the run a failure.
    fn write_report(&self, ended: &Ended, live: &LiveRun) {
        if ended.archive_trouble.is_some() || !cosmark_report::html::page_is_built_in() {
            return;
        }
        if let Err(problem) = cosmark_report::html::write(&ended.path, None) {
            live.log("WARN", "controller", &format!("no report.html: {problem}"));
        }
    }

    /// Archives a run that was cut off with the controller before; `None` when it had not begun, so that it may wait again.
    ///
    /// # Errors
    /// One sentence.
    pub fn close_cut_off(&self, entry: &QueueEntry, reason: &str) -> Result<Option<Outcome>, String> {
        let Some(dir) = self.begun(entry) else { return Ok(None) };
        if remove_unbegun(&dir) {
            return Ok(None);
        }
        let record = match self.recover(&dir, Some(reason))? {
            Some(record) => record,
            None => cosmark_archive::open_run(&dir).map_err(|error| error.to_string())?.record,
        };
        Ok(Some(Outcome { state: record.state.word().to_owned(), reason: record.reason, class: None }))
    }

    /// Ends a run that another controller took up and has ended in an archive of its own; in one that both share there is nothing
    /// to be done.
    ///
    /// # Errors
    /// One sentence.
    pub fn close_let_go(&self, entry: &QueueEntry) -> Result<(), String> {
        let Some(dir) = self.begun(entry) else { return Ok(()) };
        let record = cosmark_archive::open_run(&dir).map_err(|error| error.to_string())?.record;
        let ours = record.process.as_ref().is_some_and(cosmark_archive::is_this_process);
        if record.state == RunState::Running && ours {
            let reason = "another controller took this run up: what came of it then is in that one's archive";
            self.recover(&dir, Some(reason))?;
        }
        Ok(())
    }

    /// Ends a run whose process is gone, with its report; `None` when it was over.
    fn recover(&self, dir: &Path, reason: Option<&str>) -> Result<Option<RunRecord>, String> {
        let archive = Archive::open(&self.archive).map_err(|error| error.to_string())?;
        let ended = recover(&archive, dir, reason, reason.is_some(), self.judges)
            .map_err(|error| error.to_string())?;
        if ended.is_some() && cosmark_report::html::page_is_built_in() {
            // It can be made at any time; that it could not be made now costs nothing.
            drop(cosmark_report::html::write(dir, None));
        }
        Ok(ended)
    }

    /// Ends all runs of the archive whose processes are gone, but those with these numbers, which go on. Gives a sentence for each.
    #[must_use]
    pub fn recover_all(&self, but: &[u64]) -> Vec<String> {
        let found = cosmark_archive::killed_runs(&self.archive).unwrap_or_default();
        let killed = found.into_iter().filter(|(number, _)| !but.contains(number));
        killed
            .filter_map(|(number, path)| match self.recover(&path, None) {
                Ok(Some(record)) => {
                    Some(format!("{} was killed: {}", record.id, record.reason.unwrap_or_default()))
                }
                Ok(None) => None,
                Err(text) => Some(format!("w{number} was killed and cannot be archived: {text}")),
            })
            .collect()
    }

    /// Goes on trying to write down how a run ended, until there is room or this process ends.
    fn write_later(&self, id: &str, mut unwritten: Unwritten, path: PathBuf) {
        let changed = Arc::clone(&self.changed);
        let id = id.to_owned();
        let trying = move || {
            while !unwritten.write() {
                std::thread::sleep(ROOM_EVERY);
            }
            drop(unwritten);
            if cosmark_report::html::page_is_built_in() {
                drop(cosmark_report::html::write(&path, None));
            }
            changed(&id);
        };
        // Without a thread it stays as a killed run does, and the next start ends it.
        drop(std::thread::Builder::new().name("room".to_owned()).spawn(trying));
    }
}

fn terminated(reason: String) -> Outcome {
    Outcome { state: "terminated".to_owned(), reason: Some(reason), class: None }
}

/// What this gives; `None` where it panics.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// What `run.json` says about its drivers.
fn drivers_of(entry: &QueueEntry) -> DriversRecord {
    DriversRecord {
        wanted: if entry.wants.is_empty() { "all".to_owned() } else { entry.wants.clone() },
        waited_ms: entry.waited_ms,
        got: entry.drivers.clone(),
    }
}

/// Whether the run in `dir` is another one than this: each was submitted at a moment of its own. One without a record that can be
/// read passes for this.
fn is_of_another(dir: &Path, entry: &QueueEntry) -> bool {
    let Ok(submitted) = entry.submitted.parse::<Timestamp>() else { return false };
    let is_another =
        |run: &cosmark_archive::RunOverview| run.state.is_some() && run.submitted != Some(submitted);
    cosmark_archive::overview_of(dir).is_ok_and(|run| is_another(&run))
}

/// The directories with this number, sorted. There are several where an archive was copied into this one, or where COSBench began
/// again at 1.
#[must_use]
pub fn find_runs(archive: &Path, number: u64) -> Vec<PathBuf> {
    let mut found = runs_in(archive, |own, _| own == number);
    found.sort();
    found
}

/// The directory of the run that is called so.
#[must_use]
pub fn find_called(archive: &Path, directory: &str) -> Option<PathBuf> {
    runs_in(archive, |_, name| name == directory).into_iter().next()
}

/// Directories of runs whose number and name are such.
fn runs_in(archive: &Path, fits: impl Fn(u64, &str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(archive).ok().into_iter().flatten().flatten();
    let is_meant = |entry: &DirEntry| run_directory(entry).is_some_and(|(number, name)| fits(number, &name));
    entries.filter(is_meant).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use cosmark_driver::{Catalog, PluginRow, ReadsPlugins};
    use cosmark_workload::Environment;
    use cosmark_workload::model::TargetSpec;

    use super::*;
    use crate::api::types::{DriverInfo, Submission};
    use crate::auth::secrets::Secrets;
    use crate::drivers::Tried;
    use crate::queue::store::Answer;
    use crate::queue::summary_of;
    use crate::state::StateDir;

    const NO_ADAPTORS: Catalog = Catalog {
        adaptors: &[],
        auths: &[],
        not_built: &[],
        plugin: PluginRow {
            name: "plugin",
            key: "path",
            row_of: |path| unreachable!("{path}"),
            declares_secret: |_| false,
            reads: ReadsPlugins::Never,
        },
    };

    /// Drivers over which every run panics.
    struct Broken;

    impl DriverPool for Broken {
        fn drivers(&self) -> Vec<DriverInfo> {
            Vec::new()
        }

        fn drain<'a>(&'a self, _name: &'a str, _drained: bool) -> Answer<'a, bool> {
            Box::pin(std::future::ready(Ok(false)))
        }

        fn forget(&self, _name: &str) -> Result<bool, String> {
            Ok(false)
        }

        fn run(&self, _job: PoolJob<'_>) -> Result<Option<Ended>, String> {
            panic!("a bug")
        }

        fn try_target(&self, _auth: &TargetSpec, _storage: &TargetSpec) -> Tried {
            Tried { driver: None, ms: 0.0, outcome: Ok(()) }
        }
    }

    fn entry() -> QueueEntry {
        let now = Timestamp::now().to_string();
        let source = "name: d\nstages:\n- {name: d, delay: 1s}\n".to_owned();
        QueueEntry {
            id: "w1".to_owned(),
            number: 1,
            submission: Submission { source, ..Submission::default() },
            submitted: now.clone(),
            submitted_by: "admin".to_owned(),
            name: "d".to_owned(),
            stages: 1,
            operations: Vec::new(),
            priority: 0,
            order: 0,
            seed: 1,
            started: Some(now),
            cancelled: None,
            wants: String::new(),
            wait_for_drivers_ms: None,
            drivers: Vec::new(),
            waited_ms: 0,
        }
    }

    #[test]
    fn a_run_that_panics_has_ended_in_the_queue_and_in_the_archive() {
        let dir = tempfile::tempdir().unwrap();
        let state = Arc::new(StateDir::open(&dir.path().join("state")).unwrap());
        let archive = dir.path().join("archive");
        let pool: Arc<dyn DriverPool> = Arc::new(Broken);
        let secrets = Secrets::open(state).unwrap();
        let (environment, known) = (Environment::default(), Arc::clone(&pool));
        let reader = Reader::new(NO_ADAPTORS, environment, secrets, None, known, archive.clone());
        let runner = Runner {
            reader: Arc::new(reader),
            pool,
            archive: archive.clone(),
            host: HostRecord { hostname: "here".to_owned(), cpus: 1, kernel: "Linux".to_owned() },
            stores: Arc::default(),
            faults: |_, _, _, _, _| Ok(None),
            judges: |_, _, _| Vec::new(),
            changed: Arc::new(|_: &str| {}),
        };
        let entry = entry();
        let live = LiveRun::new(summary_of(&entry));
        let (stop, abandon) = (watch::channel(StopLevel::Run).1, watch::channel(false).1);
        let orders = Orders { stop, abandon, resumed: false, refused: None };
        let outcome = runner.run(&entry, &live, orders).unwrap();
        assert_eq!((outcome.state.as_str(), outcome.reason.as_deref()), ("terminated", Some(BUG)));
        let record = cosmark_archive::open_run(&archive.join("w1-d")).unwrap().record;
        assert_eq!((record.state, record.reason.as_deref()), (RunState::Terminated, Some(BUG)));
    }
}
