//! Runs the cells of a study on this machine: each is a run of the study's archive, or a job of fio.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cosmark_archive::fio::FioJob;
use cosmark_archive::{Archive, ArchiveError, FioRun, NewFio, RunState, Timestamp, list, write_whole};
use cosmark_controller::EndClass;
use cosmark_nodes::requests::Beside;
use cosmark_study::design::{Design, Order};
use cosmark_study::engine::{Progress, Runner, Trouble, Up};
use cosmark_study::journal::{CellEnd, CellState};
use cosmark_study::measured::{Files, Observation, Origin};
use cosmark_study::spec::System;

use crate::args::{LiveOptions, RunOptions};
use crate::cmd::run::execute_and_tidy_up;
use crate::fio::{described, fill};
use crate::load::load_text;
use crate::registry::CATALOG;
use crate::signals::Ends;
use crate::study::bed::{Bed, Hold, wipes};
use crate::study::fio::Device;
use crate::study::inside::{check_no_link, directory_of};
use crate::study::room;
use crate::study::stops::Stops;
use crate::study::writeback::{LIMIT, SYNC, write_back};
use crate::{host, units, writable};

/// Directory of a study with the names of runs whose archive is not complete.
const INCOMPLETE: &str = "incomplete";
/// So long is looked whether a signal came that nobody waited for.
const A_MOMENT: Duration = Duration::from_millis(1);
/// Seeds of runs are below this, so that every JSON reader gives them back unchanged.
const LARGEST_SEED: u64 = 1 << 53;

/// Where things are, and what the user wants of every cell.
pub struct Here {
    settings: Settings,
    /// Runs of the archive that are over, by name.
    earlier: BTreeMap<String, CellEnd>,
    /// The bed that is up or comes up.
    hold: Option<Hold>,
    /// Looks for a request to stop.
    stops: Stops,
    /// What ends this program; from the first look on.
    ends: Option<Ends>,
    began: Instant,
    runtime: host::Runtime,
}

/// What the user decided about the runner.
pub struct Settings {
    /// The study's directory.
    pub directory: PathBuf,
    /// The directory of test beds.
    pub beds: PathBuf,
    /// Target files of systems, by name; they win over beds.
    pub targets: BTreeMap<String, PathBuf>,
    /// For fio.
    pub device: Device,
    /// Load threads.
    pub threads: Option<u16>,
    /// The store's machines are not looked at.
    pub no_nodes: bool,
    /// The user has read what the workload's faults do.
    pub allow_faults: bool,
    /// No progress.
    pub quiet: bool,
    /// Seed of the study.
    pub seed: u64,
}

impl Here {
    /// Looks what the archive of the study has already.
    ///
    /// # Errors
    /// When the archive cannot be read.
    pub fn new(settings: Settings) -> Result<Self, crate::exit::Problem> {
        let directory = &settings.directory;
        let archive = directory.join("archive");
        check_no_link(&archive).map_err(crate::exit::Problem::usage)?;
        let mut earlier = BTreeMap::new();
        if archive.is_dir() {
            for found in list(&archive)? {
                let place = found.path.file_name().map(|name| name.to_string_lossy().into_owned());
                let is_whole = |place: &String| !directory.join(INCOMPLETE).join(place).exists();
                let place = place.filter(is_whole);
                if let (Some(Ok(record)), Some(place)) = (found.record, place)
                    && let Some(state) = over(record.state)
                {
                    let took_s = match (record.submitted, record.ended) {
                        (Some(from), Some(to)) => to.duration_since(from).as_secs_f64().max(0.0),
                        _ => 0.0,
                    };
                    earlier.insert(record.name, CellEnd { state, place, took_s, why: record.reason });
                }
            }
        }
        let runtime = host::runtime()?;
        let began = Instant::now();
        let stops = Stops::look_for(&settings.directory)?;
        Ok(Self { settings, earlier, hold: None, stops, ends: None, began, runtime })
    }

    /// Whether Ctrl-C came since this was asked for the first time, also where nobody waited for one: while the end of
    /// a cell was written down, or a bed was stopped.
    fn is_ended(&mut self) -> bool {
        let Self { runtime, ends, .. } = self;
        runtime.block_on(async {
            if ends.is_none() {
                *ends = Ends::listen().ok();
            }
            match ends {
                Some(ends) => tokio::time::timeout(A_MOMENT, ends.next()).await.is_ok(),
                None => false,
            }
        })
    }

    /// Has the bed, or takes it.
    fn hold(&mut self, bed: &Bed) -> Result<(), Trouble> {
        if !self.hold.as_ref().is_some_and(|hold| hold.is_of(bed)) {
            self.hold = Some(bed.hold().map_err(Trouble::Failed)?);
        }
        Ok(())
    }

    /// The target file of a system: the user's, or its bed's.
    fn target(&self, system: &System) -> Result<Option<PathBuf>, String> {
        if let Some(target) = self.settings.targets.get(&system.name) {
            return Ok(Some(target.clone()));
        }
        Ok(Bed::of(&self.settings.beds, system)?.map(|bed| bed.target(system)))
    }

    fn options(&self, repetition: u32) -> RunOptions {
        RunOptions {
            archive: self.settings.directory.join("archive"),
            threads: self.settings.threads,
            seed: Some(
                self.settings.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(repetition)) % LARGEST_SEED,
            ),
            repeat: None,
            oplog: false,
            ledger: false,
            allow_faults: self.settings.allow_faults,
            no_report: true,
            no_nodes: self.settings.no_nodes,
            json: false,
            quiet: true,
            strict: false,
            drain: None,
            usual_drain: 30,
            live: LiveOptions::default(),
        }
    }

    fn run_workload(&mut self, order: &Order<'_>) -> Result<CellEnd, Trouble> {
        let began = Instant::now();
        let system = &order.design.spec.systems[order.cell.system];
        let target = self.target(system).map_err(Trouble::Failed)?;
        self.prefill(order, system)?;
        let text = order.design.workload(order.cell, order.repetition).map_err(Trouble::Failed)?;
        let shown = format!("the workload of {}", order.run);
        let failed = |problem: crate::exit::Problem| Trouble::Failed(problem.to_string());
        let settings: Vec<String> =
            system.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let loaded = load_text(&CATALOG, text, &shown, "workload.yaml", target.as_deref(), &settings)
            .map_err(failed)?;
        let beside = match (&system.follow, Bed::of(&self.settings.beds, system).ok().flatten()) {
            // Why not was said when the bed came up.
            (Some(directory), Some(bed)) if !self.settings.targets.contains_key(&system.name) => {
                followed(&bed, system, directory).ok()
            }
            _ => None,
        };
        let ended = execute_and_tidy_up(loaded, None, &self.options(order.repetition)).map_err(failed)?;
        let distances = beside.and_then(Beside::end);
        let place =
            ended.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(trouble) = &ended.archive_trouble {
            // The run may say of itself that it is over: the next call does it once more all the same.
            let why = serde_json::json!({"why": trouble.to_string()});
            let noted = self.keep(INCOMPLETE, &place, &why).is_ok();
            let how = if noted { "" } else { ", and nobody could note that: remove that run" };
            return Err(Trouble::Failed(format!("the archive of {place} is not complete: {trouble}{how}")));
        }
        let state = match ended.class {
            EndClass::Cancelled => return Err(Trouble::Stopped),
            EndClass::Finished | EndClass::Missed => CellState::Done,
            EndClass::Failed | EndClass::Target | EndClass::Workload | EndClass::Internal => {
                CellState::Failed
            }
        };
        if let Some(distances) = distances {
            let value =
                serde_json::to_value(&distances).map_err(|cause| Trouble::Failed(cause.to_string()))?;
            self.keep("requests", &format!("{place}.json"), &value)?;
        }
        Ok(CellEnd { state, place, took_s: began.elapsed().as_secs_f64(), why: ended.record.reason })
    }

    /// Has the bed write the rows that a cell begins with.
    fn prefill(&self, order: &Order<'_>, system: &System) -> Result<(), Trouble> {
        let Some(rows) = order.design.prefilled(order.cell).map_err(Trouble::Failed)? else { return Ok(()) };
        let bed = if self.settings.targets.contains_key(&system.name) {
            None
        } else {
            Bed::of(&self.settings.beds, system).map_err(Trouble::Failed)?
        };
        let Some(bed) = bed else {
            return Err(Trouble::Failed(format!(
                "this cell wants {} rows without objects in a container, which only a test bed can write; leave such cells \
                 out with --only",
                rows.rows
            )));
        };
        if !self.settings.quiet {
            eprintln!(
                "cosmark: writing {} rows into each of {}",
                rows.rows,
                units::count(rows.containers, "container")
            );
        }
        let done = self.runtime.block_on(async {
            tokio::select! {
                done = bed.prefill(system, &rows) => Some(done),
                () = crate::signals::first() => None,
            }
        });
        done.ok_or(Trouble::Stopped)?.map_err(Trouble::Failed)
    }

    /// Writes a file of a directory of the study, under its name only when it is whole.
    fn keep(&self, directory: &str, place: &str, value: &serde_json::Value) -> Result<(), Trouble> {
        let directory = directory_of(&self.settings.directory, directory).map_err(Trouble::Failed)?;
        let text = serde_json::to_vec_pretty(value).map_err(|cause| Trouble::Failed(cause.to_string()))?;
        let written: Result<(), ArchiveError> =
            write_whole(&directory.join(place), false, |out| out.write_all(&text));
        written.map_err(|error| Trouble::Failed(error.to_string()))
    }

    fn run_fio(&mut self, order: &Order<'_>) -> Result<CellEnd, Trouble> {
        let began = Instant::now();
        let prepared = self.runtime.block_on(async {
            tokio::select! {
                done = self.settings.device.prepare(order) => Some(done),
                () = crate::signals::first() => None,
            }
        });
        let planned = match prepared {
            None => return Err(Trouble::Stopped),
            Some(done) => done.and_then(|()| self.settings.device.planned(order)),
        };
        let took_s = |began: Instant| began.elapsed().as_secs_f64();
        let job = match planned {
            Ok(job) => job,
            Err(why) => {
                // Nothing was begun: there is no run of that name.
                let (state, place) = (CellState::Failed, format!("{}.json", order.run));
                return Ok(CellEnd { state, place, took_s: took_s(began), why: Some(why) });
            }
        };
        let failed = |cause: cosmark_archive::ArchiveError| Trouble::Failed(cause.to_string());
        let note = self.write_back(&order.design.spec.systems[order.cell.system])?;
        let mut run = self.begin_fio(order, job, note.as_deref()).map_err(failed)?;
        run.start(Timestamp::now()).map_err(failed)?;
        let place = run.dir().path().file_name().map(|name| name.to_string_lossy().into_owned());
        let place = place.unwrap_or_default();
        let measured = self.runtime.block_on(async {
            tokio::select! {
                measured = self.settings.device.run(order) => Some(measured),
                () = crate::signals::first() => None,
            }
        });
        let (state, why) = match measured {
            None => {
                run.fail(RunState::Cancelled, "cancelled by the user").map_err(failed)?;
                return Err(Trouble::Stopped);
            }
            Some(Err(why)) => {
                run.fail(RunState::Failed, &why).map_err(failed)?;
                (CellState::Failed, Some(why))
            }
            Some(Ok((output, course))) => {
                fill(run, "fio.json", &output, &[course]).map_err(failed)?;
                (CellState::Done, None)
            }
        };
        Ok(CellEnd { state, place, took_s: took_s(began), why })
    }

    /// Has the disks below a bed write what earlier jobs left in memory: on a slow one the next would stand still for it. Gives
    /// why not all of it was written.
    fn write_back(&self, system: &System) -> Result<Option<String>, Trouble> {
        if system.bed.is_none() {
            return Ok(None);
        }
        let say = |text: &str| {
            if !self.settings.quiet {
                eprintln!("cosmark: {text}");
            }
        };
        let waits = || {
            say(&format!("writing back what earlier jobs left in memory, at most {} s", LIMIT.as_secs()));
        };
        let done = self.runtime.block_on(async {
            tokio::select! {
                done = write_back(SYNC, LIMIT, waits) => Some(done),
                () = crate::signals::first() => None,
            }
        });
        let note = done.ok_or(Trouble::Stopped)?;
        if let Some(note) = &note {
            say(note);
        }
        Ok(note)
    }

    /// The run of a cell of fio, before fio starts.
    fn begin_fio(
        &self,
        order: &Order<'_>,
        job: FioJob,
        note: Option<&str>,
    ) -> Result<FioRun, cosmark_archive::ArchiveError> {
        let jobs = [job];
        let what = described("", &jobs);
        let description = note.map_or_else(|| what.clone(), |note| format!("{what}; {note}"));
        Archive::open(&self.settings.directory.join("archive"))?.begin_fio(&NewFio {
            name: order.run,
            description: &description,
            jobs: &jobs,
            memory_bytes: Some(host::memory_bytes()),
            host: host::record(),
            submitted: Timestamp::now(),
        })
    }
}

/// Begins to follow the disk below a directory of a bed.
fn followed(bed: &Bed, system: &System, directory: &str) -> Result<Beside, String> {
    Beside::of(bed.disk_below(system, directory)?)
}

/// How a run that is over counts; one that was cut off or cancelled is done again.
fn over(state: RunState) -> Option<CellState> {
    match state {
        RunState::Finished => Some(CellState::Done),
        RunState::Failed | RunState::Terminated => Some(CellState::Failed),
        RunState::Running | RunState::Cancelled | RunState::Killed => None,
    }
}

impl Runner for Here {
    fn now_s(&mut self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn date_s(&mut self) -> u64 {
        u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
    }

    fn machine(&mut self) -> Vec<String> {
        let record = host::record();
        #[expect(clippy::cast_precision_loss, reason = "a size for people")]
        let memory = host::memory_bytes() as f64 / f64::from(1 << 30);
        let kernel = record.kernel.split('-').next().unwrap_or_default();
        vec![
            format!("{} processors, {memory:.0} GiB of memory, {kernel}", record.cpus),
            "Client and store share this machine unless the target says otherwise.".to_owned(),
        ]
    }

    fn lacks_room(&mut self, system: &System, bytes: u64) -> Option<String> {
        // What the user's own store holds is not known here, but the archive is always on this machine.
        room::lacks(&self.settings.directory, 0)
            .map(|why| format!("for the study's archive {why}, or give another directory with --dir"))
            .or_else(|| {
                let why = writable::check(&self.settings.directory.join("archive")).err()?.to_string();
                Some(format!("the study's archive: {}", why.replace("--archive", "--dir")))
            })
            .or_else(|| {
                let bed = if self.settings.targets.contains_key(&system.name) {
                    None
                } else {
                    Bed::of(&self.settings.beds, system).ok()?
                };
                bed?.lacks_room(system, bytes)
            })
    }

    fn cannot_be(&mut self, system: &System) -> Option<String> {
        if self.settings.targets.contains_key(&system.name) {
            return None;
        }
        let bed = Bed::of(&self.settings.beds, system).ok()??;
        self.runtime.block_on(bed.cannot_be(system))
    }

    fn serves(&mut self, system: &System) -> Result<bool, Trouble> {
        if self.settings.targets.contains_key(&system.name) {
            return Ok(true);
        }
        let Some(bed) = Bed::of(&self.settings.beds, system).map_err(Trouble::Failed)? else {
            return Ok(true);
        };
        self.hold(&bed)?;
        let asked = self.runtime.block_on(async {
            tokio::select! {
                asked = bed.is_up(system) => Some(asked),
                () = crate::signals::first() => None,
            }
        });
        asked.ok_or(Trouble::Stopped)?.map_err(Trouble::Failed)
    }

    fn up(&mut self, system: &System, is_left: bool) -> Result<Up, Trouble> {
        self.settings.device.forget();
        if self.settings.targets.contains_key(&system.name) {
            return Ok(Up {
                found: vec!["a target of the user: what it runs on is not known to the study".to_owned()],
                started: false,
            });
        }
        let Some(bed) = Bed::of(&self.settings.beds, system).map_err(Trouble::Failed)? else {
            if system.block.is_some() {
                return Ok(Up { found: vec!["the disk of this machine".to_owned()], started: false });
            }
            let name = &system.name;
            return Err(Trouble::Failed(format!(
                "it has no test bed: give its target file with --system {name}=target.yaml"
            )));
        };
        self.hold(&bed)?;
        let quiet = self.settings.quiet;
        let whole = async {
            let was_up = match bed.is_up(system).await {
                // Its start was cut off.
                Err(_) if is_left => {
                    bed.down(system).await?;
                    false
                }
                other => other?,
            };
            if was_up && !is_left && !system.environment.is_empty() {
                return Err(format!(
                    "its bed is up, in whatever variant: take it down (testbeds/{}/down), the study starts its own",
                    system.bed.as_deref().unwrap_or_default()
                ));
            }
            if !was_up {
                if !quiet {
                    eprintln!("cosmark: starting the test bed of {}", system.name);
                }
                bed.up(system).await?;
            }
            let mut found = bed.found(system).await?;
            if let Some(directory) = &system.follow {
                found.push(match followed(&bed, system, directory) {
                    Ok(beside) => {
                        drop(beside.end());
                        format!("the requests of the disk below {directory} are followed")
                    }
                    Err(why) => format!("the requests of the disk below {directory} are not followed: {why}"),
                });
            }
            Ok((found, !was_up))
        };
        let done = self.runtime.block_on(async {
            tokio::select! {
                done = whole => Some(done),
                () = crate::signals::first() => None,
            }
        });
        match done {
            None => Err(Trouble::Stopped),
            Some(Err(why)) => Err(Trouble::Failed(why)),
            Some(Ok((found, started))) => Ok(Up { found, started }),
        }
    }

    fn down(&mut self, system: &System, started: bool) -> Result<(), Trouble> {
        let bed = if started { Bed::of(&self.settings.beds, system).map_err(Trouble::Failed)? } else { None };
        if let Some(bed) = &bed {
            self.hold(bed)?;
        }
        let Self { runtime, settings, .. } = self;
        let device = &mut settings.device;
        device.adopt(system);
        runtime.block_on(async {
            device.remove(bed.is_some() && wipes(system)).await.map_err(Trouble::Failed)?;
            if let Some(bed) = &bed {
                bed.down(system).await.map_err(Trouble::Failed)?;
            }
            Ok(())
        })?;
        self.hold = None;
        Ok(())
    }

    fn earlier(&mut self, order: &Order<'_>) -> Option<CellEnd> {
        let end = match self.earlier.get(order.run) {
            Some(end) => end.clone(),
            // Studies of before had the JSON of fio beside the archive.
            None if order.design.spec.fio.is_some() => {
                let place = format!("{}.json", order.run);
                CellEnd { state: CellState::Done, place, took_s: 0.0, why: None }
            }
            None => return None,
        };
        self.measured(order, &end).iter().all(|one| !one.unreadable).then_some(end)
    }

    fn run(&mut self, order: &Order<'_>) -> Result<CellEnd, Trouble> {
        if order.design.spec.fio.is_some() { self.run_fio(order) } else { self.run_workload(order) }
    }

    fn measured(&mut self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation> {
        Files { directory: &self.settings.directory }.measured(order, end)
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        if !self.settings.quiet {
            let Progress { run, done, of, left_s } = *progress;
            let all = units::count(of, "run");
            if done < of {
                eprintln!("cosmark: run {} of {all}, {} left: {run}", done + 1, minutes(left_s));
            } else {
                // One that is done again, or that an interval that is not small enough asks for.
                eprintln!("cosmark: one more run, {all} of the plan are over: {run}");
            }
        }
    }

    fn is_to_stop(&mut self) -> bool {
        self.stops.is_asked() || self.is_ended()
    }
}

/// `about 12 min`.
#[must_use]
pub fn minutes(time_s: f64) -> String {
    if time_s < 90.0 {
        format!("about {time_s:.0} s")
    } else if time_s < 5400.0 {
        format!("about {:.0} min", time_s / 60.0)
    } else {
        format!("about {:.1} h", time_s / 3600.0)
    }
}

/// The systems of a design, each once.
#[must_use]
pub fn systems<'a>(design: &'a Design<'_>) -> Vec<&'a System> {
    let used: std::collections::BTreeSet<usize> = design.cells.iter().map(|cell| cell.system).collect();
    used.into_iter().map(|at| &design.spec.systems[at]).collect()
}
