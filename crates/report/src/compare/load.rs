//! Runs as a comparison sees them: of ours with their histogram log, of COSBench's with their timelines.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{ArchiveError, Overall, Run, StageRecord, TimelineEntry, Verdict, open_file, open_run};
use cosmark_metrics::nodes::costs;
use cosmark_metrics::{FaultResult, OperationResult};
use cosmark_stats::batches::{Batches, Slices};
use cosmark_workload::asked::{AskedSizes, asked_sizes};
use cosmark_workload::model::{Load, Stage};
use cosmark_workload::schedule::asked_per_s;
use cosmark_workload::search::Over;
use cosmark_workload::{Environment, Format, parse, read_unchecked};

use crate::rounds;

/// A step that is longer than so many others counts as often as these.
const LONGEST_STEP: f64 = 10_000.0;
/// So many steps say what there is to say, however many a file has made of them.
const MOST_STEPS: usize = 200_000;

/// A run that was read.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// How the user called it.
    pub label: String,
    /// Its directory, links followed; empty where it is not known.
    pub place: PathBuf,
    /// Name of the workload.
    pub workload: String,
    /// The machine that wrote it; empty where the archive does not say.
    pub host: String,
    /// `finished`, ..; a run that did not finish is told.
    pub state: String,
    /// Why its numbers cannot be believed, where its verdict is FALSE.
    pub refuted: Option<String>,
    /// COSBench wrote it: its operations are called by their labels.
    pub is_cosbench: bool,
    /// Stages in order.
    pub stages: Vec<LoadedStage>,
    /// What was made to fail, with the stage in which that was.
    pub faults: Vec<(String, FaultResult)>,
}

/// One of its stages.
#[derive(Debug, Clone)]
pub struct LoadedStage {
    /// Name, without its number.
    pub name: String,
    /// Share of the time for which load threads waited for a processor, of the worst driver; `None` where the archive does
    /// not say.
    pub waits: Option<f64>,
    /// Its operations.
    pub operations: Vec<LoadedOperation>,
}

/// One of their operations.
#[derive(Debug, Clone, Default)]
pub struct LoadedOperation {
    /// Work and operation, or COSBench's label.
    pub name: String,
    /// What it does.
    pub op: String,
    /// Workers, where known.
    pub workers: Option<u64>,
    /// True for arrivals by the clock; `None` where the archive does not say.
    pub open: Option<bool>,
    /// Operations per second that the clock asks of its work; `None` where no clock does, or nothing tells.
    pub asked_per_s: Option<f64>,
    /// Which sizes the workload asks for; `None` where nothing tells.
    pub sizes: Option<AskedSizes>,
    /// Seconds of the window.
    pub window_s: Option<f64>,
    /// Failures; `None` where the archive does not say.
    pub failures: Option<u64>,
    /// The window over time: all that ended, and failures among them; empty where the archive does not say.
    pub ended: Vec<(u64, u64)>,
    /// What was published.
    pub published: OperationResult,
    /// The window over time, with times of each operation.
    pub batches: Option<Batches>,
    /// The window over time where there are no times of each operation: counts and mean ms.
    pub intervals: Vec<(f64, Option<f64>)>,
}

/// Reads a run of ours, or one that COSBench wrote.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn load(label: &str, path: &Path) -> Result<Loaded, ArchiveError> {
    load_by(label, path, open_run)
}

/// The same, where runs of ours are opened by whom it is said, as by who judges those that were killed.
///
/// # Errors
/// As [`load`].
pub fn load_by(
    label: &str,
    path: &Path,
    open: impl FnOnce(&Path) -> Result<Run, ArchiveError>,
) -> Result<Loaded, ArchiveError> {
    if CosbenchRun::made(path) {
        return of_cosbench(label, path);
    }
    let run = open(path)?;
    let mut stages: Vec<LoadedStage> = Vec::new();
    let planned = Planned::of(path);
    for stage in &run.record.stages {
        let several = stage.operations.iter().any(|op| op.work != stage.operations[0].work);
        let operations = stage.operations.iter().map(|op| LoadedOperation {
            open: planned.open(&stage.name, op),
            asked_per_s: planned.asked_per_s(&stage.name, op),
            sizes: planned.sizes(&stage.name, op),
            ..of_record(op, several)
        });
        let mut operations: Vec<_> = operations.collect();
        operations.extend(costs(stage));
        let waits = stage.clients.iter().filter_map(|client| client.run_queue_wait_share_max);
        stages.push(LoadedStage { name: stage.name.clone(), waits: waits.reduce(f64::max), operations });
    }
    let began = add_failures(&run, &mut stages)?;
    if run.record.fio.is_some() {
        add_rates(&run, &mut stages)?;
    } else {
        add_times(&run, &mut stages, &began)?;
    }
    tell_apart(&mut stages);
    join_rounds(&mut stages);
    Ok(Loaded {
        label: label.to_owned(),
        place: std::fs::canonicalize(path).unwrap_or_default(),
        workload: run.record.name.clone(),
        host: run.record.host.hostname.clone(),
        state: run.record.state.word().to_owned(),
        refuted: refuted(&run.record.verdict),
        is_cosbench: false,
        stages,
        faults: faults(&run),
    })
}

/// What the stage cost the store's machines, as an operation of its own; `None` where nothing is known.
fn costs(stage: &StageRecord) -> Option<LoadedOperation> {
    let published = costs::of_stage(&stage.nodes, &stage.operations);
    (!published.metrics.is_empty()).then(|| LoadedOperation {
        name: published.name.clone(),
        op: published.op.clone(),
        published,
        ..LoadedOperation::default()
    })
}

fn faults(run: &Run) -> Vec<(String, FaultResult)> {
    let of = |stage: &StageRecord| {
        let id = stage.id.clone();
        stage.faults.clone().into_iter().map(move |fault| (id.clone(), fault))
    };
    run.record.stages.iter().flat_map(of).collect()
}

fn refuted(verdict: &Verdict) -> Option<String> {
    (verdict.overall == Overall::False).then(|| verdict.reason.clone().unwrap_or_default())
}

/// What a workload says of its works and operations; nothing where it cannot be read.
#[derive(Default)]
struct Planned {
    /// In order.
    stages: Vec<Stage>,
    /// Which works had arrivals by the clock, by stage and work.
    open: BTreeMap<(String, String), Option<bool>>,
    /// How many operations a second the clock asks of works, by stage and work.
    asked_per_s: BTreeMap<(String, String), Option<f64>>,
    /// Which sizes operations ask for, by stage, work and operation.
    sizes: BTreeMap<(String, String, String), Option<AskedSizes>>,
}

/// Adds what is known of something; `None` where two of one name differ.
fn add<K: Ord, V: PartialEq>(known: &mut BTreeMap<K, Option<V>>, key: K, value: Option<V>) {
    match known.entry(key) {
        Entry::Vacant(place) => {
            place.insert(value);
        }
        Entry::Occupied(mut place) if *place.get() != value => {
            place.insert(None);
        }
        Entry::Occupied(_) => {}
    }
}

impl Planned {
    fn of(path: &Path) -> Self {
        const MOST_BYTES: u64 = 64 << 20;
        let mut text = String::new();
        let place = path.join("workload.yaml");
        let read =
            open_file(&place).ok().and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text).ok());
        let workload = read.and_then(|_| parse(&text, Format::Yaml, &Environment::default()).0);
        let mut planned = Self::default();
        let Some(workload) = workload else { return planned };
        let mut asked = asked_sizes(&workload);
        for (s, stage) in workload.stages.iter().enumerate() {
            for (w, work) in stage.works.iter().enumerate() {
                // Trials of rates have arrivals by the clock, whatever the work says.
                let is_of_rates = stage.search.as_ref().is_some_and(|search| search.over == Over::Rate);
                let open = is_of_rates || matches!(work.load, Load::Open { .. });
                let key = (stage.name.clone(), work.name.clone());
                add(&mut planned.open, key.clone(), Some(open));
                add(&mut planned.asked_per_s, key, asked_per_s(work).filter(|_| !is_of_rates));
                for (o, op) in work.operations.iter().enumerate() {
                    let key = (stage.name.clone(), work.name.clone(), op.name.clone());
                    add(&mut planned.sizes, key, asked.remove(&(s, w, o)));
                }
            }
        }
        planned.stages = workload.stages;
        planned
    }

    /// What the workload calls the stage of this name in the record: for a trial, the stage that is searched.
    fn stage<'n>(&'n self, name: &'n str) -> &'n str {
        let is_trial =
            |plan: &&Stage| plan.search.as_ref().is_some_and(|search| search.load_of(plan, name).is_some());
        if self.stages.iter().any(|plan| plan.name == name) {
            return name;
        }
        self.stages.iter().find(is_trial).map_or(name, |plan| plan.name.as_str())
    }

    /// Whether an operation of a stage of the record had arrivals by the clock.
    fn open(&self, stage: &str, op: &OperationResult) -> Option<bool> {
        self.open.get(&(self.stage(stage).to_owned(), op.work.clone())).copied().flatten()
    }

    /// How many operations a second the clock asks of the work of an operation of the record.
    fn asked_per_s(&self, stage: &str, op: &OperationResult) -> Option<f64> {
        self.asked_per_s.get(&(self.stage(stage).to_owned(), op.work.clone())).copied().flatten()
    }

    /// Which sizes an operation of a stage of the record asks for.
    fn sizes(&self, stage: &str, op: &OperationResult) -> Option<AskedSizes> {
        let key = (self.stage(stage).to_owned(), op.work.clone(), op.name.clone());
        self.sizes.get(&key).cloned().flatten()
    }
}

fn of_record(op: &OperationResult, several: bool) -> LoadedOperation {
    LoadedOperation {
        name: if several { format!("{} {}", op.work, op.name) } else { op.name.clone() },
        op: op.op.clone(),
        workers: Some(u64::from(op.workers)),
        open: None,
        asked_per_s: None,
        sizes: None,
        window_s: Some(op.window_s).filter(|s| *s > 0.0),
        failures: Some(op.failed),
        ended: Vec::new(),
        published: op.clone(),
        batches: None,
        intervals: Vec::new(),
    }
}

/// Reads what ended in each interval of a run of fio: its histogram is of all of its time and says nothing of the course.
fn add_rates(run: &Run, stages: &mut [LoadedStage]) -> Result<(), ArchiveError> {
    let mut places = BTreeMap::new();
    for (s, stage) in run.record.stages.iter().enumerate() {
        for (o, op) in stage.operations.iter().enumerate() {
            places.insert((stage.id.clone(), op.tag.clone()), (s, o));
        }
    }
    let mut found: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    run.intervals(|line| {
        let Some(place) = places.get(&(line.stage, line.tag)).filter(|_| line.phase == "window") else {
            return;
        };
        #[expect(clippy::cast_precision_loss, reason = "operations of one interval")]
        found.entry(*place).or_default().push((line.end_s - line.start_s, line.ok as f64));
    })?;
    for ((s, o), steps) in found {
        if let Some(op) = stages.get_mut(s).and_then(|stage| stage.operations.get_mut(o)) {
            op.intervals = rates(&steps);
        }
    }
    Ok(())
}

/// Operations per second of each step, from its seconds and how many ended in it. fio's logs have steps of any length
/// (`log_avg_msec`), and a longer one where nothing ended, which counts as often as it is longer than the others.
pub(super) fn rates(steps: &[(f64, f64)]) -> Vec<(f64, Option<f64>)> {
    let lengths: Vec<f64> = steps.iter().map(|(seconds, _)| *seconds).collect();
    let usual = cosmark_stats::bootstrap::median(&lengths).filter(|usual| *usual > 0.0);
    let Some(usual) = usual else { return Vec::new() };
    let mut rates = Vec::with_capacity(steps.len().min(MOST_STEPS));
    for (seconds, ok) in steps {
        // One that was cut at the end is none.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded, and above 0")]
        let times = (seconds / usual).round().clamp(0.0, LONGEST_STEP) as usize;
        let room = MOST_STEPS.saturating_sub(rates.len());
        rates.extend(std::iter::repeat_n((ok / seconds, None), times.min(room)));
    }
    rates
}

/// A stage of a run and an operation of it, by their numbers.
type Place = (usize, usize);

/// Reads what ended and failed over time, where something failed, and gives when the window of each operation began, since the
/// load of its stage did. A file that is not there leaves both out.
fn add_failures(run: &Run, stages: &mut [LoadedStage]) -> Result<BTreeMap<Place, Duration>, ArchiveError> {
    let mut places: BTreeMap<(&str, &str), Place> = BTreeMap::new();
    let mut failed: BTreeMap<Place, BTreeMap<u64, (u64, u64)>> = BTreeMap::new();
    for (s, stage) in run.record.stages.iter().enumerate() {
        for (o, op) in stage.operations.iter().enumerate() {
            places.insert((stage.id.as_str(), op.tag.as_str()), (s, o));
            if op.failed > 0 {
                failed.insert((s, o), BTreeMap::new());
            }
        }
    }
    let mut began: BTreeMap<Place, f64> = BTreeMap::new();
    let read = run.intervals(|line| {
        let place = places.get(&(line.stage.as_str(), line.tag.as_str()));
        let Some(place) = place.filter(|_| line.phase == "window") else { return };
        let start_s = line.start_s.max(0.0);
        let first_s = began.entry(*place).or_insert(start_s);
        *first_s = first_s.min(start_s);
        // Drivers and late lines share an interval that begins at the same moment.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "ms since the stage began"
        )]
        let at_ms = (start_s * 1e3) as u64;
        if let Some(over_time) = failed.get_mut(place) {
            let (ended, failed) = over_time.entry(at_ms).or_default();
            *ended += line.ok + line.failed;
            *failed += line.failed;
        }
    });
    if !failed.is_empty() {
        read?;
    }
    for ((s, o), over_time) in failed {
        if let Some(op) = stages.get_mut(s).and_then(|stage| stage.operations.get_mut(o)) {
            op.ended = over_time.into_values().collect();
        }
    }
    let since = |(place, began_s): (Place, f64)| Some((place, Duration::try_from_secs_f64(began_s).ok()?));
    Ok(began.into_iter().filter_map(since).collect())
}

/// Each name as it is, and the second and every further of the same with its number behind it.
fn numbered<'n>(names: impl Iterator<Item = &'n String>) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let number = |name: &'n String| {
        let count = seen.entry(name).or_default();
        *count += 1;
        if *count > 1 { format!("{name} ({count})") } else { name.clone() }
    };
    names.map(number).collect()
}

/// Stages of one name, and operations of one name in a stage, are matched by their order: the second `read` of each run belongs
/// to that of the others. Rounds of a repeated stage have other names here.
fn tell_apart(stages: &mut [LoadedStage]) {
    let names = numbered(stages.iter().map(|stage| &stage.name));
    for (stage, name) in stages.iter_mut().zip(names) {
        stage.name = name;
        number_operations(stage);
    }
}

/// Gives the second and every further operation of one name in a stage its number.
pub fn number_operations(stage: &mut LoadedStage) {
    let names = numbered(stage.operations.iter().map(|one| &one.name));
    stage.operations.iter_mut().zip(names).for_each(|(one, name)| one.name = name);
}

/// Gives the rounds of a repeated stage (`main-r1`, `main-r2`, ..) the name that they share, so that they count as runs of it.
pub(super) fn join_rounds(stages: &mut [LoadedStage]) {
    let does = |stage: &LoadedStage| -> Option<Vec<(String, String, u64)>> {
        let each = stage.operations.iter();
        let own = each.filter_map(|op| Some((op.name.clone(), op.op.clone(), op.workers?)));
        Some(own.collect()).filter(|all: &Vec<_>| !all.is_empty())
    };
    let own: Vec<_> = stages.iter().map(|stage| (stage.name.as_str(), does(stage))).collect();
    let names: Vec<String> = rounds::of(&own).into_iter().map(|(name, _)| name.to_owned()).collect();
    for (stage, name) in stages.iter_mut().zip(names) {
        stage.name = name;
    }
}

/// Reads the histogram log twice, for all operations: where the slices of each lie, then what is in them. `began` is when the
/// window of an operation began, since the load of its stage did.
fn add_times(
    run: &Run,
    stages: &mut [LoadedStage],
    began: &BTreeMap<Place, Duration>,
) -> Result<(), ArchiveError> {
    let mut places = BTreeMap::new();
    for (s, stage) in run.record.stages.iter().enumerate() {
        for (o, op) in stage.operations.iter().enumerate().filter(|(_, op)| op.ok > 0) {
            places.insert(format!("{}.response", op.tag), (s, o));
        }
    }
    if places.is_empty() {
        return Ok(());
    }
    let mut seen: BTreeMap<Place, Slices> = BTreeMap::new();
    for entry in run.histograms()? {
        let entry = entry?;
        let Some(place) = places.get(&entry.tag) else { continue };
        let before = seen.get(place).copied();
        seen.insert(*place, Slices::and(before, entry.start, entry.length));
    }
    let mut slices = BTreeMap::new();
    for (place, seen) in &seen {
        let (s, o) = *place;
        let loads = run.record.stages.get(s).and_then(|stage| stage.load_started).zip(run.record.submitted);
        let load = loads.and_then(|(load, base)| Duration::try_from(load.duration_since(base)).ok());
        let began = load.zip(began.get(place)).map(|(load, began)| load.saturating_add(*began));
        let op = stages.get(s).and_then(|stage| stage.operations.get(o));
        let window = op.and_then(|op| Duration::try_from_secs_f64(op.window_s?.min(1e9)).ok());
        slices.insert(*place, seen.whole(began, window));
    }
    for entry in run.histograms()? {
        let entry = entry?;
        let Some(place) = places.get(&entry.tag) else { continue };
        let Some(whole) = slices.get(place) else { continue };
        let Some(op) = stages.get_mut(place.0).and_then(|stage| stage.operations.get_mut(place.1)) else {
            continue;
        };
        let batches = op.batches.get_or_insert_with(|| whole.batches());
        whole.add(batches, entry.start, entry.length, &entry.histogram);
    }
    for ((s, o), whole) in slices {
        let op = stages.get_mut(s).and_then(|stage| stage.operations.get_mut(o));
        if let Some(batches) = op.and_then(|op| op.batches.as_mut()) {
            whole.close(batches);
        }
    }
    Ok(())
}

/// Which sizes the workload of a run of COSBench asks for, by stage and line of its table. Nothing of a stage whose lines are
/// not the operations that stand beside them.
fn asked_of_cosbench(run: &CosbenchRun) -> BTreeMap<(usize, usize), AskedSizes> {
    let mut found = BTreeMap::new();
    let text = run.config_xml.as_deref();
    let workload = text.and_then(|text| read_unchecked(text, Format::Xml, &Environment::default()));
    let Some(workload) = workload else { return found };
    let mut asked = asked_sizes(&workload);
    for (s, (stage, plan)) in run.stages.iter().zip(&workload.stages).enumerate() {
        let works = plan.works.iter().enumerate();
        let planned: Vec<_> = works
            .flat_map(|(w, work)| {
                work.operations.iter().enumerate().map(move |(o, op)| ((s, w, o), op.kind.word()))
            })
            .collect();
        let are_same = stage.name == plan.name
            && planned.len() == stage.operations.len()
            && planned.iter().zip(&stage.operations).all(|((_, word), op)| *word == op.op);
        for (at, (place, _)) in planned.iter().enumerate().filter(|_| are_same) {
            found.extend(asked.remove(place).map(|sizes| ((s, at), sizes)));
        }
    }
    found
}

fn of_cosbench(label: &str, path: &Path) -> Result<Loaded, ArchiveError> {
    let run = CosbenchRun::open(path)?;
    let mut stages = Vec::new();
    let mut asked = asked_of_cosbench(&run);
    for (s, stage) in run.stages.iter().enumerate() {
        let timeline = run.timeline(stage)?;
        let operations = stage.operations.iter().enumerate().map(|(at, op)| LoadedOperation {
            name: op.label.clone(),
            op: op.op.clone(),
            workers: op.workers,
            open: Some(false),
            asked_per_s: None,
            sizes: asked.remove(&(s, at)),
            window_s: None,
            failures: op.failures(),
            ended: Vec::new(),
            published: op.result(),
            batches: None,
            intervals: intervals(&timeline, at),
        });
        stages.push(LoadedStage { name: stage.name.clone(), waits: None, operations: operations.collect() });
    }
    tell_apart(&mut stages);
    let state = run.history.as_ref().map(|history| history.state.clone()).unwrap_or_default();
    Ok(Loaded {
        label: label.to_owned(),
        place: std::fs::canonicalize(path).unwrap_or_default(),
        workload: run.name.clone(),
        host: String::new(),
        state,
        refuted: None,
        is_cosbench: true,
        stages,
        faults: Vec::new(),
    })
}

/// Counts and means of one column; idle rows at both ends are the ramps and the end.
fn intervals(timeline: &[TimelineEntry], column: usize) -> Vec<(f64, Option<f64>)> {
    let rows: Vec<_> = timeline.iter().filter_map(|entry| entry.operations.get(column)).collect();
    let first = rows.iter().position(|row| row.count > 0).unwrap_or(rows.len());
    let last = rows.iter().rposition(|row| row.count > 0).map_or(first, |last| last + 1);
    #[expect(clippy::cast_precision_loss, reason = "operations of one interval")]
    rows.get(first..last).unwrap_or_default().iter().map(|row| (row.count as f64, row.response_ms)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_says_of_what_sizes_its_objects_are() {
        let sizes = |containers: &str, written: &str| {
            let home = tempfile::tempdir().unwrap();
            let text = format!(
                "name: x\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - {{name: prepare, works: [{{type: prepare, workers: \
                 1, containers: 'r(1,1)', objects: 'r(1,9)', sizes: \"{written}\"}}]}}\n  - name: main\n    works:\n      - name: w\n        \
                 workers: 1\n        runtime: 9s\n        operations:\n          - {{type: read, ratio: 50, containers: {containers}, \
                 objects: \"u(1,9)\"}}\n          - {{type: write, ratio: 50, containers: c(1), objects: \"u(1,9)\", sizes: \
                 \"{written}\"}}\n"
            );
            std::fs::write(home.path().join("workload.yaml"), text).unwrap();
            let planned = Planned::of(home.path());
            ["read", "write"].map(|name| {
                let op =
                    OperationResult { work: "w".into(), name: name.into(), ..OperationResult::default() };
                planned.sizes("main", &op)
            })
        };
        let [read, write] = sizes("c(1)", "u(1,64)KB");
        assert_eq!(write.as_ref().unwrap().text, "u(1,64)KB");
        assert_eq!(read.as_ref().map(|read| (read.least_bytes, read.most_bytes)), Some((1_000, 64_000)));
        assert_eq!([read.clone(), write], sizes("c(1)", "u(1,64)KB"));
        // What is read depends on what is written there, and nobody says what lies where nothing is.
        assert_eq!(sizes("c(2)", "u(1,64)KB")[0], None);
        assert_ne!(read, sizes("c(1)", "u(1,32)KB")[0]);
        assert!(Planned::of(Path::new("/nowhere")).sizes.is_empty());
    }

    #[test]
    fn trials_of_a_search_ask_for_what_its_stage_does_and_rounds_for_their_own() {
        const GOAL: &str = "thresholds: ['p95 <= 10 ms'], works: [{name: w, workers: 1, runtime: 9s";
        const READ: &str = "operations: [{type: read, containers: c(1), objects: 'u(1,9)'}]}]}";
        let home = tempfile::tempdir().unwrap();
        let text = format!(
            "name: x\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - {{name: prepare, works: [{{type: prepare, workers: \
             1, containers: 'r(1,1)', objects: 'r(1,9)', sizes: 'u(1,64)KB'}}]}}\n  - {{name: main, search: {{over: workers, from: \
             1, to: 8}}, {GOAL}, {READ}\n  - {{name: fast, search: {{over: rate, from: 50/s, to: 400/s}}, {GOAL}, {READ}\n  - \
             {{name: slow, search: {{over: workers, from: 1, to: 8}}, {GOAL}, rate: 5/s, {READ}\n  - {{name: again-r1, {GOAL}, \
             {READ}\n"
        );
        std::fs::write(home.path().join("workload.yaml"), text).unwrap();
        let planned = Planned::of(home.path());
        let op = OperationResult { work: "w".into(), name: "read".into(), ..OperationResult::default() };
        for (stage, open) in [
            ("main-w1", Some(false)),
            ("main-w2-confirm1", Some(false)),
            ("fast-rate150-2", Some(true)),
            ("slow-w4", Some(true)),
            ("again-r1", Some(false)),
            ("main-wide", None),
        ] {
            assert_eq!(planned.open(stage, &op), open, "{stage}");
            // Each trial of a search has another rate.
            assert_eq!(planned.asked_per_s(stage, &op), (stage == "slow-w4").then_some(5.0), "{stage}");
            let most = planned.sizes(stage, &op).map(|sizes| sizes.most_bytes);
            assert_eq!(most, open.map(|_| 64_000), "{stage}");
        }
    }
}
