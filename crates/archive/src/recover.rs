//! A run whose process is gone: what it had measured is put together again from the files that grow while a run lasts. Counts are
//! those of `intervals.csv`, times those of `histograms.hlog` up to the same moment, so that the two belong together; nothing is
//! counted that was not done. Reading changes nothing; [`crate::Archive::take_up_killed`] writes it down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use cosmark_metrics::{
    ClientFacts, HealthSample, HealthSummary, Latency, MachineHealth, OpSnapshot, ThreadHealth,
};
use cosmark_workload::model::Stage;
use cosmark_workload::{Environment, Format, Workload, parse_what_is_there};
use jiff::Timestamp;

use crate::csv::layout::{StageLayout, layout_of_results, layout_of_stage};
use crate::{
    ClientLine, ClientRecord, DriverResult, EventKind, FaultInForce, FaultJournal, HistogramLog,
    IntervalLine, Run, RunRecord, StageRecord, StageState, StageTables,
};

mod faults;
pub mod rows;

/// What is on disk of a run.
pub struct Rebuilt {
    /// The workload as it was run; `None` when its copy is gone.
    pub workload: Option<Workload>,
    /// Names of its stages, works and operations: one of each stage of the record, as the workload tells them, and else
    /// as its results do.
    pub layout: Vec<StageLayout>,
    /// Response times of every stage, for COSBench's histogram.
    pub tables: Vec<StageTables>,
    /// How long the rows of each stage's timeline are; `None` where nothing names its works.
    pub row_lengths: Vec<Option<Duration>>,
}

/// Why nothing can be made of what is on disk of a stage.
const UNKNOWN: &str = "workload.yaml, which names its operations, has no stage of this name";

/// The measured window of one operation.
#[derive(Default)]
struct Cell {
    sums: OpSnapshot,
    /// Successes of each phase that times may be taken for; what goes beyond was not counted yet.
    open: BTreeMap<String, u64>,
    /// First and last moment of its window.
    window: Option<(f64, f64)>,
    by_driver: BTreeMap<String, OpSnapshot>,
}

/// What is on disk of one stage.
#[derive(Default)]
struct Found {
    /// Work by work, operation by operation.
    cells: Vec<Vec<Cell>>,
    /// End of the last interval, seconds since the load began.
    cut_s: f64,
    any: bool,
    /// Successes in the histogram log after that.
    beyond: u64,
}

/// Puts together what `run` had measured: fills in its stages that were cut, and gives what its tables are made of. What is
/// damaged is read up to there.
pub fn rebuild(run: &mut Run) -> Rebuilt {
    let text = run.workload_yaml().ok().flatten();
    let workload = text.and_then(|text| parse_what_is_there(&text, Format::Yaml, &Environment::default()).0);
    let stages: Vec<Option<Stage>> =
        (0..).zip(&run.record.stages).map(|(at, stage)| stage_of(workload.as_ref(), stage, at)).collect();
    let names = |(at, (stage, record)): (usize, (&Option<Stage>, &StageRecord))| match stage {
        Some(stage) => layout_of_stage(stage, at),
        None => layout_of_results(&record.id, &record.name, &record.operations),
    };
    let layout: Vec<StageLayout> = stages.iter().zip(&run.record.stages).enumerate().map(names).collect();
    let mut found: Vec<Found> = layout.iter().map(Found::of).collect();
    let mut places = BTreeMap::new();
    for (stage, names) in layout.iter().enumerate() {
        for (work, names) in names.works.iter().enumerate() {
            for (op, names) in names.operations.iter().enumerate() {
                places.insert(names.tag.clone(), (stage, work, op));
            }
        }
    }
    let damage = [read_counts(run, &places, &mut found), read_times(run, &places, &mut found)];
    let mut damage: Vec<String> = damage.into_iter().filter_map(Result::err).collect();
    if workload.is_none() {
        damage.push("workload.yaml, which names its operations, cannot be read".to_owned());
    }
    let tables = found.iter().map(tables_of).collect();
    let row_lengths = stages.iter().map(|stage| stage.as_ref().map(Stage::interval)).collect();
    let last = last_sign_of_life(&run.path);
    for (index, (stage, found)) in stages.iter().zip(&found).enumerate() {
        let (Some(stage), Some(record)) = (stage, run.record.stages.get_mut(index)) else { continue };
        if !record.state.is_over() && record.started.is_some() && found.any {
            fill(record, stage, index, found);
        }
    }
    add_clients(run);
    if let Ok(events) = run.events() {
        run.record.events = events;
    }
    let last = last_of_stages(&run.record).map_or(last, |end| end.min(last));
    add_faults(run, &stages, last);
    let is_unknown = |at: usize| workload.is_some() && stages.get(at).is_some_and(Option::is_none);
    for (index, record) in run.record.stages.iter_mut().enumerate() {
        let unknown = is_unknown(index).then(|| UNKNOWN.to_owned());
        let problems: Vec<String> = damage.iter().cloned().chain(unknown).collect();
        cut(record, found.get(index), last, &problems);
    }
    run.record.ended.get_or_insert(last);
    Rebuilt { workload, layout, tables, row_lengths }
}

/// The stage of the workload that a stage of the record is, or the trial of a search that it is.
fn stage_of(workload: Option<&Workload>, record: &StageRecord, index: usize) -> Option<Stage> {
    let stages = &workload?.stages;
    let same = |stage: &&Stage| record.name == stage.name;
    let trial = |stage: &Stage| {
        let search = stage.search.as_ref()?;
        let (load, suffix) = search.load_of(stage, &record.name)?;
        Some(Stage { name: record.name.clone(), ..search.trial(stage, load, suffix) })
    };
    let found = stages.get(index).filter(same).or_else(|| stages.iter().find(same)).cloned();
    found.or_else(|| stages.iter().find_map(trial))
}

impl Found {
    fn of(layout: &StageLayout) -> Self {
        let cells = layout.works.iter().map(|work| work.operations.iter().map(|_| Cell::default()).collect());
        Self { cells: cells.collect(), ..Self::default() }
    }
}

type Places = BTreeMap<String, (usize, usize, usize)>;

fn cell<'a>(found: &'a mut [Found], place: (usize, usize, usize)) -> Option<(&'a mut Cell, Told<'a>)> {
    let (stage, work, op) = place;
    let Found { cells, cut_s, any, beyond } = found.get_mut(stage)?;
    Some((cells.get_mut(work)?.get_mut(op)?, Told { cut_s, any, beyond }))
}

/// What is kept of a stage as a whole.
struct Told<'a> {
    cut_s: &'a mut f64,
    any: &'a mut bool,
    beyond: &'a mut u64,
}

fn read_counts(run: &Run, places: &Places, found: &mut [Found]) -> Result<(), String> {
    let read = run.intervals(|line| {
        let Some((cell, told)) = places.get(&line.tag).and_then(|place| cell(found, *place)) else { return };
        *told.any = true;
        *told.cut_s = told.cut_s.max(line.end_s);
        *cell.open.entry(line.phase.clone()).or_default() += line.ok;
        cell.add(&line);
    });
    read.map(drop).map_err(|error| error.to_string())
}

impl Cell {
    fn add(&mut self, line: &IntervalLine) {
        let sums = line.sums();
        if line.phase == "window" {
            self.sums.merge(&sums);
            self.by_driver.entry(line.driver.clone()).or_default().merge(&sums);
            let (start, end) = self.window.unwrap_or((line.start_s, line.end_s));
            self.window = Some((start.min(line.start_s), end.max(line.end_s)));
        } else {
            // Only what is said about the window may come from outside it.
            self.sums.unfinished += sums.unfinished;
            self.sums.intended += sums.intended;
            self.sums.renewals += sums.renewals;
        }
    }
}

/// Times in the order in which they were written, as long as they are among what was counted.
fn read_times(run: &Run, places: &Places, found: &mut [Found]) -> Result<(), String> {
    let mut log = match HistogramLog::open(&run.path) {
        Ok(log) => log,
        Err(error) => return Err(error.to_string()),
    };
    // The last response times of each tag and phase, and whether they were taken: the other times of that slice go with them.
    let mut last: BTreeMap<(usize, usize, usize, String), (Duration, bool)> = BTreeMap::new();
    let mut known = |tag: &str| parts_of(tag).is_some_and(|(tag, _, _)| places.contains_key(tag));
    while let Some(entry) = log.next_wanted(&mut known) {
        let entry = entry.map_err(|error| error.to_string())?;
        let Some((tag, kind, phase)) = parts_of(&entry.tag) else { continue };
        let Some(place) = places.get(tag).copied() else { continue };
        let Some((cell, told)) = cell(found, place) else { continue };
        let key = (place.0, place.1, place.2, phase.to_owned());
        if kind == "response" {
            let left = cell.open.entry(phase.to_owned()).or_default();
            let count = entry.histogram.len();
            let taken = count <= *left;
            *left = if taken { *left - count } else { 0 };
            if !taken {
                *told.beyond += count;
            }
            last.insert(key.clone(), (entry.start, taken));
        }
        let taken = last.get(&key).is_some_and(|(start, taken)| *taken && *start == entry.start);
        if !taken || phase != "window" {
            continue;
        }
        match kind {
            "response" => cell.sums.response.add_histogram(&entry.histogram),
            "service" => cell.sums.service.add_histogram(&entry.histogram),
            "first_byte" => cell.sums.first_byte.add_histogram(&entry.histogram),
            // Of a class of sizes.
            _ => {}
        }
    }
    // Without pacing the two are the same, and stand in the log once.
    for cell in found.iter_mut().flat_map(|found| &mut found.cells).flatten() {
        if cell.sums.service.count() == 0 {
            cell.sums.service = std::mem::take(&mut cell.sums.response);
        }
    }
    Ok(())
}

/// Tag of the operation, kind of time, phase.
fn parts_of(tag: &str) -> Option<(&str, &str, &'static str)> {
    let phases = [(".rampup", "rampup"), (".rampdown", "rampdown"), (".drain", "drain")];
    let ramp = phases.iter().find_map(|(ending, phase)| Some((tag.strip_suffix(ending)?, *phase)));
    let (rest, phase) = ramp.unwrap_or((tag, "window"));
    let (tag, kind) = rest.rsplit_once('.')?;
    Some((tag, kind, phase))
}

fn tables_of(found: &Found) -> StageTables {
    if found.any {
        StageTables::of(found.cells.iter().flatten().map(|cell| &cell.sums))
    } else {
        StageTables::default()
    }
}

fn fill(record: &mut StageRecord, stage: &Stage, index: usize, found: &Found) {
    let results: Vec<(f64, Vec<OpSnapshot>)> = found
        .cells
        .iter()
        .map(|cells| {
            let windows = || cells.iter().filter_map(|cell| cell.window);
            let start = windows().map(|window| window.0).reduce(f64::min).unwrap_or(0.0);
            let end = windows().map(|window| window.1).reduce(f64::max).unwrap_or(0.0);
            (end - start, cells.iter().map(|cell| cell.sums.clone()).collect())
        })
        .collect();
    record.set_results(stage, index, &results);
    record.forget_ages();
    let cells = found.cells.iter().flatten();
    for (operation, cell) in record.operations.iter_mut().zip(cells) {
        if cell.by_driver.len() > 1 {
            let of = |(name, sums): (&String, &OpSnapshot)| DriverResult::of(name, 0, sums);
            operation.drivers = cell.by_driver.iter().map(of).collect();
        }
    }
    record.cut_s = Some(found.cut_s);
}

/// Says of a stage that was not over how far it came.
fn cut(record: &mut StageRecord, found: Option<&Found>, last: Timestamp, damage: &[String]) {
    if record.state.is_over() {
        return;
    }
    if record.started.is_none() {
        record.enter(StageState::Aborted, last);
        return;
    }
    let mut reason = match record.cut_s {
        Some(cut_s) => {
            format!("cut at {cut_s:.0} s: the process that ran it was killed, or its machine went down")
        }
        None => format!(
            "cut while {}: the process that ran it was killed, or its machine went down, and nothing of its load can be told",
            record.state.word()
        ),
    };
    if let Some(beyond) = found.map(|found| found.beyond).filter(|beyond| *beyond > 0) {
        let which = if record.cut_s.is_some() { "after that" } else { "of an interval that was not over" };
        reason.push_str(&format!("; {beyond} successes {which} stand in histograms.hlog only"));
    }
    for problem in damage {
        reason.push_str(&format!("; {problem}"));
    }
    record.reason.get_or_insert(reason);
    record.enter(StageState::Terminated, last);
}

/// What is known of the faults of stages that were cut.
fn add_faults(run: &mut Run, stages: &[Option<Stage>], last: Timestamp) {
    let RunRecord { id, events, stages: records, .. } = &mut run.record;
    let open = |record: &StageRecord| !record.state.is_over() && record.started.is_some();
    let wanted = |stage: &Stage, record: &StageRecord| {
        !stage.faults.is_empty() && open(record) && record.faults.is_empty()
    };
    for (record, stage) in records.iter_mut().zip(stages) {
        let Some(stage) = stage.as_ref().filter(|stage| wanted(stage, record)) else { continue };
        // What is damaged says nothing.
        let left = run.path.parent().and_then(|archive| FaultJournal::of(archive).all().ok());
        let left: Option<Vec<FaultInForce>> = left
            .map(|left| left.into_iter().map(|(_, fault)| fault).filter(|fault| fault.run == *id).collect());
        record.faults = faults::of_cut_stage(stage, record, events, left.as_deref(), last);
    }
}

/// The end of the last interval of a stage that was cut, or what happened after it: files of an archive that was copied are as old
/// as the copy. `None` where no interval was over.
fn last_of_stages(record: &RunRecord) -> Option<Timestamp> {
    let end = |stage: &StageRecord| {
        let cut = Duration::try_from_secs_f64(stage.cut_s?).ok()?;
        stage.load_started?.checked_add(cut).ok()
    };
    let cut = record.stages.iter().filter(|stage| !stage.state.is_over()).filter_map(end).max()?;
    // A note is put beside a run at any time.
    let happened =
        record.events.iter().filter(|event| event.kind != EventKind::Note).map(|event| event.at).max();
    Some(happened.map_or(cut, |at| at.max(cut)))
}

/// When something was written last.
fn last_sign_of_life(dir: &Path) -> Timestamp {
    ["histograms.hlog", "intervals.csv", "clients.csv", "workload.log", "run.json"]
        .iter()
        .filter_map(|name| fs::metadata(dir.join(name)).ok()?.modified().ok())
        .max()
        .and_then(|time| Timestamp::try_from(time).ok())
        .unwrap_or_default()
}

/// Looks at a driver that stand in `clients.csv`, by stage, driver and time in ms.
type Looks = BTreeMap<(String, String, i64), HealthSample>;

/// How the drivers of a stage that was cut were doing, as far as `clients.csv` tells.
fn add_clients(run: &mut Run) {
    let open =
        |stage: &StageRecord| !stage.state.is_over() && stage.cut_s.is_some() && stage.clients.is_empty();
    let wanted: Vec<String> =
        run.record.stages.iter().filter(|stage| open(stage)).map(|stage| stage.id.clone()).collect();
    if wanted.is_empty() {
        return;
    }
    let mut looks = Looks::new();
    // What is damaged is read up to there.
    drop(run.clients(|line| {
        if wanted.contains(&line.stage) {
            add_look(&mut looks, &line);
        }
    }));
    let cpus = run.record.host.cpus;
    for stage in run.record.stages.iter_mut().filter(|stage| open(stage)) {
        let mut drivers: BTreeMap<&str, (HealthSummary, u32)> = BTreeMap::new();
        for ((_, driver, _), look) in looks.iter().filter(|((id, _, _), _)| *id == stage.id) {
            let (summary, threads) = drivers.entry(driver).or_default();
            summary.add(look);
            *threads = (*threads).max(u32::try_from(look.threads.len()).unwrap_or(u32::MAX));
        }
        let own = drivers.len() == 1;
        let records = drivers.into_iter().map(|(driver, (summary, load_threads))| ClientRecord {
            // These need more than the table keeps.
            pause_p99_9_ms: None,
            paused_share: None,
            cpus: (own && driver == "local").then_some(cpus),
            ..summary.client().with(driver, ClientFacts { load_threads, ..ClientFacts::default() })
        });
        stage.clients = records.collect();
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times and shares of a second")]
fn add_look(looks: &mut Looks, line: &ClientLine) {
    let key = (line.stage.clone(), line.driver.clone(), (line.time_s * 1e3) as i64);
    let span_ns = (line.span_s * 1e9).max(0.0);
    let part = |share: f64| (share.max(0.0) * span_ns) as u64;
    let look = looks.entry(key).or_default();
    look.span_ns = span_ns as u64;
    match line.thread.as_str() {
        "process" => look.process_cpu_ns = line.cpu_share.map(part),
        "machine" => {
            let steal_ns = line.steal_share.map(part);
            look.machine =
                line.cpu_share.map(|busy| MachineHealth { cpus: 1, busy_ns: part(busy), steal_ns });
            let mut pause = Latency::default();
            line.pause_max_ms.iter().for_each(|ms| pause.record((ms * 1e6).max(0.0) as u64));
            look.pause = pause;
            look.tcp_segments_out = line.tcp_segments_out;
            look.tcp_segments_retransmitted = line.tcp_retransmitted;
            look.sockets_in_use = line.sockets;
            look.sockets_time_wait = line.time_wait;
        }
        name => look.threads.push(ThreadHealth {
            name: name.to_owned(),
            cpu_ns: line.cpu_share.map_or(0, part),
            run_queue_wait_ns: line.run_queue_wait_share.map(part),
        }),
    }
}
