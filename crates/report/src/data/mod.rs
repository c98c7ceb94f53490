//! From an archive to [`ReportData`]: everything that the page shows, in bounded size. Series are reduced by merging
//! histograms and adding counts, so that every figure on the page is exact for the time that it covers.

mod axis;
mod bins;
mod clients;
mod consistency;
mod cosbench;
mod counts;
mod faults;
mod fill;
mod goals;
mod logged;
mod machines;
pub mod model;
mod nodes;
mod parts;
mod records;
mod series;
mod sparse;
mod spent;
#[cfg(test)]
mod tests;
mod times;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use cosmark_archive::{ArchiveError, HistogramLog, MissingRecord, Run, StageRecord, open_run};

use self::axis::Axis;
pub use self::consistency::remarks as consistency_remarks;
pub(crate) use self::faults::events;
use self::logged::{Logged, Place, logged, origin_s, places};
use self::model::{
    ClientSeries, CountSeries, Distribution, HeatMap, LatencySeries, NodeChartData, NodeGap, PhaseSpan,
    StageData,
};
pub use self::model::{ReportData, SeriesNews};
pub use self::parts::{PartName, PartSlice};
pub use self::series::{SeriesShown, StageSeries};
use self::sparse::steps_of;
use crate::ReportError;

/// How finely a report shows things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Bins of a stage's time axis.
    pub bins: u32,
    /// Columns of a heat map.
    pub heat_columns: u32,
}

impl Detail {
    /// For a run with so many operations: the more there are, the coarser each.
    #[must_use]
    pub fn for_operations(operations: usize) -> Self {
        let operations = u32::try_from(operations.max(1)).unwrap_or(u32::MAX);
        Self { bins: (9000 / operations).clamp(24, 600), heat_columns: (2400 / operations).clamp(12, 160) }
    }

    /// Half as fine.
    #[must_use]
    pub fn halved(self) -> Self {
        Self { bins: (self.bins / 2).max(8), heat_columns: (self.heat_columns / 2).max(4) }
    }
}

/// Reads the run in the directory `path`.
///
/// # Errors
/// When there is no run, or a file of it is damaged. A file that is missing is a note in the data.
pub fn read(path: &Path, detail: Option<Detail>) -> Result<ReportData, ReportError> {
    read_run(&open_run(path)?, detail)
}

/// The same for a run that was opened already.
///
/// # Errors
/// As [`read`].
pub fn read_run(run: &Run, detail: Option<Detail>) -> Result<ReportData, ReportError> {
    let record = &run.record;
    let operations = record.stages.iter().map(|stage| stage.operations.len()).sum();
    let detail = detail.unwrap_or_else(|| Detail::for_operations(operations));
    let foreign = cosbench::is_made_by_it(run);
    let mut notes = Vec::new();
    let places = places(record);
    let has_log = run.path.join("histograms.hlog").exists();
    let mut series: Vec<StageSeries> =
        record.stages.iter().map(|stage| StageSeries::new(stage.operations.len(), detail)).collect();
    let counted = read_intervals(run, &mut series)?;
    let logged = if has_log { logged(run, &places)? } else { vec![None; series.len()] };
    if foreign {
        notes.extend(cosbench::set_extents(run, &mut series)?);
    }
    let origins = origins_s(run, &mut series, &counted, &logged);
    let axes: Vec<Option<Axis>> = series.iter().map(StageSeries::axis).collect();
    let mut times: Vec<Option<Vec<OperationTimes>>> = record.stages.iter().map(|_| None).collect();
    if has_log {
        let late;
        (times, late) = read_times(run, &places, &mut series, &origins, detail.heat_columns)?;
        if late > 0 {
            notes.push(format!("{late} lines of histograms.hlog are out of order and are not shown."));
        }
        notes.extend(run.lost_times().map(|why| format!("{why}.")));
    }
    let workload = run.workload_yaml()?;
    let has_clients = read_clients(run, &mut series)?;
    if foreign {
        notes.extend(cosbench::NOTES.map(str::to_owned));
    } else {
        notes.extend(missing_files(has_log, workload.is_some(), counted.any, has_clients));
    }
    read_nodes(run, &mut series)?;
    let mut stages = Vec::new();
    for (at, stage) in record.stages.iter().enumerate() {
        let axis = axes.get(at).and_then(Option::as_ref);
        let own = StageSources {
            times: times.get_mut(at).and_then(Option::take).unwrap_or_default(),
            counts: axis.filter(|_| counted.any).and_then(|axis| {
                let own = series.get(at)?;
                Some((0..stage.operations.len()).map(|operation| own.counts(operation, axis, 0)).collect())
            }),
            courses: axis.zip(series.get(at)).map(|(axis, own)| own.clients(axis)).unwrap_or_default(),
            nodes: axis.zip(series.get(at)).map(|(axis, own)| own.nodes(axis)).unwrap_or_default(),
        };
        stages.push(stage_data(run, stage, axis, own)?);
    }
    if foreign {
        cosbench::add_distributions(run, &mut stages)?;
    }
    distinguish(&mut stages);
    Ok(ReportData {
        format: model::FORMAT,
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
        run: records::run_facts(run),
        verdict: records::verdict(record),
        stages,
        thresholds: goals::thresholds(record),
        searches: goals::searches(record),
        ladders: machines::ladders(record),
        raw_shares: machines::raw_shares(record),
        raw_limits: record.raw_limits.clone(),
        workload,
        notes,
    })
}

/// Stages of one name are called by their ids: else their tabs and rows would be alike.
fn distinguish(stages: &mut [StageData]) {
    let mut named = BTreeMap::<String, usize>::new();
    stages.iter().for_each(|stage| *named.entry(stage.name.clone()).or_default() += 1);
    for stage in stages.iter_mut().filter(|stage| named.get(&stage.name) != Some(&1)) {
        stage.name.clone_from(&stage.id);
    }
}

/// What the page cannot show, for want of which file.
fn missing_files(has_log: bool, has_workload: bool, counted: bool, has_clients: bool) -> Vec<String> {
    let rows = [
        (
            !has_log,
            "histograms.hlog is not in the archive: there are no times over time, no distributions and no heat maps.",
        ),
        (!has_workload, "workload.yaml is not in the archive: the configuration cannot be shown."),
        (
            !counted && has_log,
            "intervals.csv is not in the archive or empty: failures, dropped arrivals and operations in flight are not shown over time.",
        ),
        (
            !has_clients,
            "clients.csv is not in the archive or empty: how the load client itself did is not shown over time.",
        ),
    ];
    rows.into_iter().filter(|(missing, _)| *missing).map(|(_, note)| note.to_owned()).collect()
}

/// Reads `nodes.parquet`, where the run has one: each look belongs to the stage whose load was the last to begin before it.
fn read_nodes(run: &Run, series: &mut [StageSeries]) -> Result<(), ArchiveError> {
    let Some(looks) = run.node_looks()? else { return Ok(()) };
    let began = |stage: &StageRecord| {
        stage.load_started.and_then(|at| u64::try_from(at.as_nanosecond()).ok()).unwrap_or(u64::MAX)
    };
    let began: Vec<u64> = run.record.stages.iter().map(began).collect();
    for look in looks {
        let look = look?;
        let before = began.iter().enumerate().filter(|(_, began_ns)| **began_ns <= look.at_ns());
        if let Some((at, began_ns)) = before.max_by_key(|(_, began_ns)| **began_ns)
            && let Some(own) = series.get_mut(at)
        {
            own.add_node(&look, *began_ns);
        }
    }
    Ok(())
}

/// Reads `clients.csv`; false when it is not there or empty.
fn read_clients(run: &Run, series: &mut [StageSeries]) -> Result<bool, ArchiveError> {
    let stages: HashMap<&str, usize> =
        run.record.stages.iter().enumerate().map(|(at, stage)| (stage.id.as_str(), at)).collect();
    let mut found = false;
    run.clients(|line| {
        found = true;
        let at = stages.get(line.stage.as_str());
        if let Some(stage) = at.and_then(|at| series.get_mut(*at)) {
            stage.add_client(&line);
        }
    })?;
    Ok(found)
}

/// What `intervals.csv` has.
struct IntervalsRead {
    /// Anything at all; false also when a kill left nothing but its head.
    any: bool,
    /// Start of the first interval with a success, stage by stage.
    first_success_s: Vec<Option<f64>>,
}

fn read_intervals(run: &Run, series: &mut [StageSeries]) -> Result<IntervalsRead, ArchiveError> {
    let mut places = HashMap::new();
    for (at, stage) in run.record.stages.iter().enumerate() {
        for (operation, record) in stage.operations.iter().enumerate() {
            places.insert((stage.id.clone(), record.tag.clone()), (at, operation));
        }
    }
    let mut read = IntervalsRead { any: false, first_success_s: vec![None; series.len()] };
    run.intervals(|line| {
        read.any = true;
        let key = (line.stage.clone(), line.tag.clone());
        let Some((stage, operation)) = places.get(&key).copied() else { return };
        if let Some(own) = series.get_mut(stage) {
            own.add_interval(operation, &line);
        }
        if let Some(first_s) = read.first_success_s.get_mut(stage).filter(|_| line.ok > 0) {
            *first_s = Some(first_s.map_or(line.start_s, |first_s: f64| first_s.min(line.start_s)));
        }
    })?;
    Ok(read)
}

/// When the load of each stage began on the log's clock. A stage of which nothing was counted reaches as far as the log.
fn origins_s(
    run: &Run,
    series: &mut [StageSeries],
    counted: &IntervalsRead,
    logged: &[Option<Logged>],
) -> Vec<f64> {
    let mut origins_s = Vec::new();
    for (at, (stage, own)) in run.record.stages.iter().zip(series).enumerate() {
        let Some(Some(logged)) = logged.get(at) else {
            origins_s.push(0.0);
            continue;
        };
        let first_s = counted.first_success_s.get(at).copied().flatten();
        let origin_s = origin_s(logged, first_s, stage, &run.record);
        if own.is_empty() {
            own.set_extent(logged.extent(origin_s));
        }
        own.settle();
        origins_s.push(origin_s);
    }
    origins_s
}

/// What one operation took over time.
#[derive(Default)]
struct OperationTimes {
    /// Successes per bin.
    count: Vec<u64>,
    latency: Vec<LatencySeries>,
    distributions: Vec<Distribution>,
    heat: Option<HeatMap>,
}

/// Times of each operation of each stage; `None` for a stage without an axis.
type AllTimes = Vec<Option<Vec<OperationTimes>>>;

/// Reads the histogram log; one stage's histograms are in memory at a time. The second value counts lines that came after
/// their stage was over.
fn read_times(
    run: &Run,
    places: &HashMap<String, Place>,
    series: &mut [StageSeries],
    origins_s: &[f64],
    heat_columns: u32,
) -> Result<(AllTimes, u64), ReportError> {
    let mut all: AllTimes = series.iter().map(|_| None).collect();
    let (mut open, mut late) = (None, 0);
    for line in HistogramLog::open(&run.path)? {
        let line = line?;
        let Some(place) = places.get(&line.tag) else { continue };
        if open != Some(place.stage) {
            if all.get(place.stage).is_some_and(Option::is_some) {
                late += 1;
                continue;
            }
            if let Some(before) = open.replace(place.stage) {
                close_times(before, series, heat_columns, &mut all);
            }
        }
        let origin_s = origins_s.get(place.stage).copied().unwrap_or_default();
        let span = (line.start.as_secs_f64() - origin_s, line.length.as_secs_f64());
        if let Some(own) = series.get_mut(place.stage) {
            own.add_times(place.operation, place.kind, place.phase, span, steps_of(&line.histogram));
        }
    }
    if let Some(last) = open {
        close_times(last, series, heat_columns, &mut all);
    }
    Ok((all, late))
}

fn close_times(stage: usize, series: &mut [StageSeries], heat_columns: u32, all: &mut AllTimes) {
    let (Some(own), Some(slot)) = (series.get_mut(stage), all.get_mut(stage)) else { return };
    let Some(axis) = own.axis() else { return };
    let of = |operation| {
        let times = own.times(operation)?;
        let latency = times.latency(&axis, 0, &mut Default::default());
        Some(OperationTimes {
            count: times.counts(&axis),
            latency: latency.into_iter().map(|news| news.series).collect(),
            distributions: times.distributions(),
            heat: times.heat(&axis, heat_columns, 0, &mut 0).map(|news| news.map),
        })
    };
    *slot = Some((0..own.operations()).map_while(of).collect());
    own.drop_times();
}

/// What only prepares a measurement, or cleans up after it.
/// Phases of the load, and the stretches in which a driver's part is missing.
fn spans_of(stage: &StageRecord, axis: &Axis) -> Vec<PhaseSpan> {
    let missing = missing_spans(&stage.missing, axis.time.end_s);
    axis.phases.iter().cloned().chain(missing).collect()
}

/// Stretches in which parts of drivers are missing, up to the end of the axis: charts show them as they show phases.
#[must_use]
pub fn missing_spans(missing: &[MissingRecord], end_s: f64) -> Vec<PhaseSpan> {
    let span = |one: &MissingRecord| PhaseSpan {
        phase: format!("without driver {}", one.driver),
        from_s: one.from_s,
        to_s: one.to_s.unwrap_or(end_s).min(end_s),
    };
    missing.iter().map(span).filter(|span| span.to_s > span.from_s).collect()
}

const SETUP: [&str; 6] = ["init", "prepare", "mprepare", "cleanup", "dispose", "delay"];

/// What was read of one stage beside its record.
struct StageSources {
    times: Vec<OperationTimes>,
    counts: Option<Vec<CountSeries>>,
    courses: BTreeMap<String, ClientSeries>,
    nodes: (Vec<NodeChartData>, Vec<NodeGap>),
}

fn stage_data(
    run: &Run,
    stage: &StageRecord,
    axis: Option<&Axis>,
    mut own: StageSources,
) -> Result<StageData, ReportError> {
    let mut operations: Vec<_> = stage.operations.iter().map(records::operation).collect();
    let counts = match (own.counts.take(), axis) {
        (None, Some(axis)) => counts::from_timeline(run, stage, axis)?,
        (counts, _) => counts,
    };
    let mut counts = counts.map(Vec::into_iter);
    own.times.resize_with(operations.len(), OperationTimes::default);
    for (operation, times) in operations.iter_mut().zip(own.times) {
        let counted = counts.as_mut().and_then(Iterator::next);
        // COSBench's table leaves init and dispose at 0: then the histograms know more.
        let known =
            counted.filter(|counts| counts.failures.is_some() || counts.count.iter().sum::<u64>() > 0);
        let counted =
            known.or_else(|| (!times.count.is_empty()).then(|| counts::from_histograms(&times.count)));
        operation.series = counted;
        operation.latency = times.latency;
        operation.distributions = times.distributions;
        operation.heat = times.heat;
    }
    let clients =
        stage.clients.iter().map(|one| clients::client(one, own.courses.remove(&one.driver))).collect();
    let took_s = stage.started.zip(stage.ended).map(|(from, to)| to.duration_since(from).as_secs_f64());
    Ok(StageData {
        id: stage.id.clone(),
        name: stage.name.clone(),
        state: stage.state.word().to_owned(),
        reason: stage.reason.clone(),
        started: stage.started.map(|at| at.to_string()),
        took_s,
        window_s: stage.window_s,
        setup: stage.operations.iter().all(|operation| SETUP.contains(&operation.op.as_str())),
        arrival: stage.load_loop.map(|kind| kind.word().to_owned()),
        time: axis.map(|axis| axis.time),
        phases: axis.map(|axis| spans_of(stage, axis)).unwrap_or_default(),
        operations,
        spent: spent::of_stage(stage),
        clients,
        nodes: machines::nodes(&run.record, stage),
        node_costs: machines::costs(stage),
        node_charts: own.nodes.0,
        node_gaps: own.nodes.1,
        events: faults::events(run, stage)?,
        faults: stage.faults.iter().map(faults::fault).collect(),
        consistency: stage.consistency.as_ref().map(consistency::seen),
        fill: stage.fill.as_ref().map(fill::pass),
    })
}
