//! From an archive to [`ReportData`]: everything that the page shows, in bounded size. Series are reduced by merging
//! histograms and adding counts, so that every figure on the page is exact for the time that it covers.

mod axis;
mod clients;
mod counts;
pub mod model;
mod records;
mod sparse;
#[cfg(test)]
mod tests;
mod times;

use std::collections::BTreeMap;
use std::path::Path;

use cosmark_archive::{Run, StageRecord, open_run};

use self::axis::Axis;
pub use self::model::ReportData;
use self::model::{ClientSeries, CountSeries, StageData};
use self::times::OperationTimes;
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
    let mut notes = Vec::new();
    let places = axis::places(record);
    let has_log = run.path.join("histograms.hlog").exists();
    let axes: Vec<Option<Axis>> = record
        .stages
        .iter()
        .zip(axis::seen(run, &places, has_log)?)
        .map(|(stage, seen)| Axis::of(&seen, stage, record, detail.bins))
        .collect();
    let mut times = record.stages.iter().map(|_| None).collect();
    if has_log {
        let late;
        (times, late) = times::read(run, &places, &axes, detail.heat_columns)?;
        if late > 0 {
            notes.push(format!("{late} lines of histograms.hlog are out of order and are not shown."));
        }
    } else {
        notes.push(
            "histograms.hlog is not in the archive: there are no times over time, no distributions and no heat maps."
                .to_owned(),
        );
    }
    let workload = run.workload_yaml()?;
    if workload.is_none() {
        notes.push("workload.yaml is not in the archive: the configuration cannot be shown.".to_owned());
    }
    let mut counts = counts::from_intervals(run, &axes)?;
    if counts.is_none() && has_log {
        notes.push(
            "intervals.csv is not in the archive or empty: failures, dropped arrivals and operations in flight are not shown over time."
                .to_owned(),
        );
    }
    let mut courses = clients::courses(run, &axes)?;
    if courses.is_none() {
        notes.push(
            "clients.csv is not in the archive or empty: how the load client itself did is not shown over time."
                .to_owned(),
        );
    }
    let mut stages = Vec::new();
    for (at, stage) in record.stages.iter().enumerate() {
        let axis = axes.get(at).and_then(Option::as_ref);
        let own = StageSources {
            times: times.get_mut(at).and_then(Option::take).unwrap_or_default(),
            counts: counts.as_mut().and_then(|all| all.get_mut(at)).and_then(Option::take),
            courses: courses.as_mut().and_then(|all| all.get_mut(at)).map(std::mem::take).unwrap_or_default(),
        };
        stages.push(stage_data(run, stage, axis, own)?);
    }
    Ok(ReportData {
        format: model::FORMAT,
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
        run: records::run_facts(run),
        verdict: records::verdict(record),
        stages,
        workload,
        notes,
    })
}

/// What only prepares a measurement, or cleans up after it.
const SETUP: [&str; 5] = ["init", "prepare", "cleanup", "dispose", "delay"];

/// What was read of one stage beside its record.
struct StageSources {
    times: Vec<OperationTimes>,
    counts: Option<Vec<CountSeries>>,
    courses: BTreeMap<String, ClientSeries>,
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
        phases: axis.map(|axis| axis.phases.clone()).unwrap_or_default(),
        operations,
        clients,
    })
}
