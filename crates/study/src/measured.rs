//! What cells measured: read from `run.json` of their runs, or, in older studies, from the JSON of fio. One
//! observation for each point and operation.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use cosmark_archive::{
    CheckStatus, HistogramLog, Overall, RunRecord, StageRecord, StageState, TimeKind, open_run,
};
use cosmark_metrics::nodes::costs;
use cosmark_metrics::nodes::quantity::Resource;
use cosmark_metrics::results::{Latencies, METRICS, Metric, Reading};
use cosmark_metrics::{EfficiencyResult, Latency, NodeResult, OperationResult};
use cosmark_workload::units::{parse_duration, parse_size};
use serde_json::Value;

use crate::design::{Levels, Order, Point};
use crate::failure::FaultCost;
use crate::journal::{CellEnd, CellState};
use crate::knee::{Knee, UNSETTLED};
use crate::metric::{ATTEMPTS, BINS, BUSY, DISTANCES, SPREAD, bin_id};
use crate::spec::{Block, Text};
use crate::template::fill;

/// How the JSON of a cell of fio is called in a study that has it beside its archive.
const OLD_FIO: &str = ".json";
/// What fio or a followed disk says is never larger.
const MOST_BYTES: u64 = 64 << 20;

/// One operation of one point of one cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observation {
    /// System and levels of all factors.
    pub levels: Levels,
    /// What was done: `read`, `write`, ..; of fio also `all`.
    pub op: String,
    /// Which repetition.
    pub repetition: u32,
    /// Figures by the id that they have in `run.json`.
    pub values: BTreeMap<String, f64>,
    /// Whether they can be believed.
    pub verdict: Overall,
    /// The gravest reason why not.
    pub why: Option<String>,
    /// Share of operations that failed.
    pub failed_share: f64,
    /// Responses took too long for the window: why.
    pub too_long: Option<String>,
    /// Directory of the run, or file.
    pub place: String,
    /// Its run is over and cannot be read: it has no figures and no operation.
    pub unreadable: bool,
    /// It is that of a search which found no load: it has no figures of one.
    pub no_knee: bool,
}

/// Where observations come from.
pub trait Origin {
    /// What a cell measured; where it cannot be read, its points without figures.
    fn measured(&self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation>;
}

/// The archive of a study, and the directory in which older ones have the JSON of their jobs of fio.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// Holds `archive` and `fio`.
    pub directory: &'a Path,
}

/// What a run that is over left.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Left {
    /// What it measured at the points of its cell.
    pub observations: Vec<Observation>,
    /// Bytes that its operations moved, also those of stages that prepare; of fio those of its job.
    pub bytes: u64,
}

impl Files<'_> {
    /// The directory of a run in the archive; `None` where the place is no name of one, or leads elsewhere.
    #[must_use]
    pub fn run_directory(&self, place: &str) -> Option<PathBuf> {
        let archive = self.directory.join("archive");
        let path = archive.join(place);
        (is_name(place) && is_directory(&archive) && is_directory(&path)).then_some(path)
    }

    /// Reads what a run left; where it cannot be read, the points of its cell without figures.
    #[must_use]
    pub fn left_by(&self, order: &Order<'_>, end: &CellEnd) -> Left {
        let read = if is_name(&end.place) { self.read(order, end) } else { None };
        read.unwrap_or_else(|| Left { observations: unreadable(order, &end.place), bytes: 0 })
    }

    fn read(&self, order: &Order<'_>, end: &CellEnd) -> Option<Left> {
        let is_fio = order.design.spec.fio.is_some();
        if is_fio && end.place.ends_with(OLD_FIO) {
            let path = self.directory.join("fio").join(&end.place);
            if end.state == CellState::Failed && !path.exists() {
                // A job that failed leaves nothing.
                return Some(Left::default());
            }
            let value: Value = serde_json::from_str(&text_of(&path)).ok()?;
            let observations = of_fio(order, &value, &end.place);
            let bytes = bytes_of_fio(&value);
            return (!observations.is_empty()).then_some(Left { observations, bytes });
        }
        let run = self.run_directory(&end.place).and_then(|path| open_run(&path).ok())?;
        if is_fio {
            let observations = of_fio_run(order, &run.record, &end.place);
            // One that failed has measured nothing.
            let is_read = end.state == CellState::Failed || !observations.is_empty();
            return is_read.then(|| Left { observations, bytes: bytes_of(&run.record) });
        }
        let mut observations = of_run(order, &run.record, &run.path, &end.place);
        let file = self.directory.join("requests").join(format!("{}.json", end.place));
        let values = distances(&text_of(&file));
        for observation in &mut observations {
            observation.values.extend(values.clone());
        }
        Some(Left { observations, bytes: bytes_of(&run.record) })
    }
}

/// Bytes that the operations of a run moved.
fn bytes_of(record: &RunRecord) -> u64 {
    let operations = record.stages.iter().flat_map(|stage| &stage.operations);
    operations.fold(0, |sum, one| sum.saturating_add(one.bytes))
}

impl Origin for Files<'_> {
    fn measured(&self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation> {
        self.left_by(order, end).observations
    }
}

/// Whether this names something in a directory, and nothing elsewhere.
fn is_name(place: &str) -> bool {
    let mut parts = Path::new(place).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// Whether there is a directory, and no link to one.
fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// The text of a regular file of a bearable size; empty otherwise.
fn text_of(path: &Path) -> String {
    let meta = std::fs::symlink_metadata(path);
    if !meta.is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES) {
        return String::new();
    }
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The points of a run that cannot be read.
#[must_use]
pub fn unreadable(order: &Order<'_>, place: &str) -> Vec<Observation> {
    let points = order.cell.points.iter().filter(|point| point.refused.is_none());
    let why = || "its run cannot be read".to_owned();
    points.map(|point| unreadable_point(order, levels_at(order, point), why(), place)).collect()
}

/// A point of which nothing can be read.
fn unreadable_point(order: &Order<'_>, levels: Levels, why: String, place: &str) -> Observation {
    Observation {
        levels,
        repetition: order.repetition,
        verdict: Overall::False,
        why: Some(why),
        place: place.to_owned(),
        unreadable: true,
        ..Observation::default()
    }
}

/// Bytes that a job of fio moved.
fn bytes_of_fio(value: &Value) -> u64 {
    let Some(job) = value.get("jobs").and_then(|jobs| jobs.get(0)) else { return 0 };
    let of = |op: &str| job.get(op).and_then(|side| side.get("io_bytes")?.as_u64()).unwrap_or(0);
    of("read").saturating_add(of("write"))
}

/// Shares of the distances of a followed disk.
fn distances(text: &str) -> BTreeMap<String, f64> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let count = |name: &str| value.get(name).and_then(Value::as_f64);
    let all = count("distances").filter(|all| *all > 0.0);
    let shares = DISTANCES.iter().filter_map(|(id, name)| Some(((*id).to_owned(), count(name)? / all?)));
    let mut found: BTreeMap<String, f64> = shares.collect();
    let by_log2 = value.get("by_log2").and_then(Value::as_object).filter(|bins| !bins.is_empty());
    if let (Some(all), Some(by_log2)) = (all, by_log2) {
        let bins: Vec<(u32, f64)> =
            by_log2.iter().filter_map(|(k, many)| Some((k.parse().ok()?, many.as_f64()?))).collect();
        let mut from = 0;
        for (at, (to, _)) in BINS.iter().enumerate() {
            let own = bins.iter().filter(|(k, _)| (from..=*to).contains(k));
            found.insert(bin_id(at), own.map(|(_, many)| many).sum::<f64>() / all);
            from = to + 1;
        }
    }
    found
}

/// What a run measured at the points of its cell; `directory` has its histogram log.
#[must_use]
pub fn of_run(order: &Order<'_>, record: &RunRecord, directory: &Path, place: &str) -> Vec<Observation> {
    let mut all = Vec::new();
    for point in order.cell.points.iter().filter(|point| point.refused.is_none()) {
        let levels = levels_at(order, point);
        if let Some(knee) = Knee::of(record, &point.stage) {
            all.extend(of_search(order, record, levels, knee, directory, place));
        } else if let Some(stage) = record.stages.iter().find(|stage| stage.name == point.stage) {
            all.extend(of_stage(order, record, stage, levels, directory, place));
        }
    }
    all
}

/// What the machines can do without the store in the direction of an operation, and the share of it that users got.
fn raw(efficiency: &[EfficiencyResult], op: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for one in efficiency.iter().filter(|one| one.direction == op) {
        let (share, level) = match one.of.as_str() {
            "network_bytes" => ("share_of_raw_network", Some("raw_network_bytes_per_s")),
            "disk_bytes" => ("share_of_raw_disk", Some("raw_disk_bytes_per_s")),
            // Small objects are limited by requests.
            "disk_requests" => ("share_of_raw_disk", None),
            _ => continue,
        };
        found.insert(share.to_owned(), one.share);
        found.extend(level.map(|level| (level.to_owned(), one.raw_per_s)));
    }
    found
}

/// How busy the busiest of the store's machines was: all of its processors together, and one of its disks.
fn busy(nodes: &[NodeResult]) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for (id, _, quantity) in BUSY {
        let of_node = |node: &NodeResult| {
            let units = node.quantities.iter().filter(|one| one.quantity == quantity.id);
            let shares: Vec<f64> = units.map(|one| one.mean).collect();
            if quantity.of == Resource::Core {
                return (!shares.is_empty()).then(|| cosmark_stats::bootstrap::mean(&shares));
            }
            shares.into_iter().reduce(f64::max)
        };
        let covered = nodes.iter().filter(|node| node.is_covered() && node.readings >= 2);
        if let Some(share) = covered.filter_map(of_node).reduce(f64::max) {
            found.insert(id.to_owned(), share);
        }
    }
    found
}

/// What a stage measured; where a fault of it was never there, a point that cannot be read.
fn of_stage(
    order: &Order<'_>,
    record: &RunRecord,
    stage: &StageRecord,
    levels: Levels,
    directory: &Path,
    place: &str,
) -> Vec<Observation> {
    let (mut verdict, mut why) = verdict_of(record, stage);
    let cost = FaultCost::of(stage);
    if let Some(void) = cost.void.filter(|_| stage.state == StageState::Completed) {
        return vec![unreadable_point(order, levels, void, place)];
    }
    if cost.remark.is_some() && verdict < Overall::TrueWithLimits {
        (verdict, why) = (Overall::TrueWithLimits, cost.remark);
    }
    // The machines do not know for which operation they work: a cost is that of all of the stage.
    let mut paid = costs::of_stage(&stage.nodes, &stage.operations).metrics;
    paid.extend(busy(&stage.nodes));
    let mut all = Vec::new();
    for (op, results) in by_op(&stage.operations) {
        // One alone has its times in its result.
        let times = if results.len() > 1 { merged(directory, &results) } else { None };
        let judged = (verdict, why.clone());
        let mut one = observation(order, levels.clone(), op, &results, times, judged, place);
        one.values.extend(paid.clone());
        one.values.extend(raw(&stage.efficiency, op));
        one.values.extend(cost.values.clone());
        all.push(one);
    }
    all
}

/// What a search found: the trial at its knee with the figures of the search, or rows that say why there is none.
fn of_search(
    order: &Order<'_>,
    record: &RunRecord,
    levels: Levels,
    knee: Knee<'_>,
    directory: &Path,
    place: &str,
) -> Vec<Observation> {
    if let (None, Some(trial)) = (&knee.none, knee.trial) {
        let mut all = of_stage(order, record, trial, levels, directory, place);
        for one in all.iter_mut().filter(|one| !one.unreadable) {
            one.values.extend(knee.values.clone());
            if let Some(why) = knee.unsettled.as_ref().filter(|_| one.verdict < Overall::NotProven) {
                (one.verdict, one.why) = (Overall::NotProven, Some(format!("{UNSETTLED}{why}")));
            }
        }
        return all;
    }
    let why = knee.none.unwrap_or_else(|| "the trial at the knee is not in run.json".to_owned());
    let mut ops: Vec<String> =
        knee.trial.iter().flat_map(|trial| by_op(&trial.operations).into_keys()).map(str::to_owned).collect();
    if ops.is_empty() {
        ops.push("search".to_owned());
    }
    let row = |op: String| Observation {
        levels: levels.clone(),
        op,
        repetition: order.repetition,
        values: knee.values.clone(),
        verdict: Overall::False,
        why: Some(why.clone()),
        failed_share: knee.failed_share,
        place: place.to_owned(),
        no_knee: true,
        ..Observation::default()
    };
    ops.into_iter().map(row).collect()
}

fn levels_of(order: &Order<'_>) -> Levels {
    let mut levels = order.cell.levels.clone();
    levels.insert("system".to_owned(), order.design.spec.systems[order.cell.system].name.clone());
    levels
}

fn levels_at(order: &Order<'_>, point: &Point) -> Levels {
    let mut levels = levels_of(order);
    levels.extend(point.levels.clone());
    levels
}

/// Operations that do the same are one: `write` and a second `write` of other keys.
fn by_op(results: &[OperationResult]) -> BTreeMap<&str, Vec<&OperationResult>> {
    let mut all: BTreeMap<&str, Vec<&OperationResult>> = BTreeMap::new();
    for result in results {
        all.entry(result.op.as_str()).or_default().push(result);
    }
    all
}

/// The operation that is the sum of those of a point.
pub const SUM: &str = "all";

/// A window that is shorter than this many mean responses of each worker says more about its edges than about the
/// store.
const LEAST_RESPONSES_IN_A_WINDOW: f64 = 5.0;

/// The figures of operations that do the same, together: what can be added is, and `times` are those of all of them.
fn figures(results: &[&OperationResult], times: Option<Latencies>) -> BTreeMap<String, f64> {
    let sum = |of: fn(&OperationResult) -> Option<f64>| -> Option<f64> {
        let all: Vec<f64> = results.iter().filter_map(|result| of(result)).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    };
    let together = OperationResult {
        throughput_per_s: sum(|result| result.throughput_per_s),
        bandwidth_bytes_per_s: sum(|result| result.bandwidth_bytes_per_s),
        response_ms: times.unwrap_or_default(),
        ..OperationResult::default()
    };
    let added = ["throughput_per_s", "bandwidth_bytes_per_s"];
    let figure = |metric: &Metric| match (results, metric.reading) {
        ([one], _) => metric.of(one),
        #[expect(clippy::cast_precision_loss, reason = "figures need no more than 53 bits")]
        (_, Reading::Count(_, field)) => Some(results.iter().map(|one| field(one) as f64).sum()),
        (_, Reading::Response(_)) => metric.of(&together),
        _ => metric.of(&together).filter(|_| added.contains(&metric.id)),
    };
    let known = METRICS.iter().filter_map(|metric| Some((metric.id.to_owned(), figure(metric)?)));
    known.filter(|(_, value)| value.is_finite()).collect()
}

/// The mean response time of operations that do the same, in ms.
#[expect(clippy::cast_precision_loss, reason = "numbers of operations")]
fn mean_ms(results: &[&OperationResult]) -> Option<f64> {
    let timed = results.iter().filter_map(|one| Some((one.ok as f64, one.response_ms.mean?)));
    let (count, sum) = timed.fold((0.0, 0.0), |(count, sum), (ok, mean)| (count + ok, sum + ok * mean));
    (count > 0.0).then(|| sum / count)
}

/// The response times of all of them from the histogram log of their run; `None` where it does not have all.
fn merged(directory: &Path, results: &[&OperationResult]) -> Option<Latencies> {
    let mut times = Latency::default();
    for result in results.iter().filter(|result| result.ok > 0) {
        times.add_histogram(&HistogramLog::merged(directory, &result.tag, TimeKind::Response).ok()??);
    }
    let ok: u64 = results.iter().map(|result| result.ok).sum();
    // The log has the buckets of times, the results their means.
    (times.count() == ok).then(|| Latencies { mean: mean_ms(results), ..Latencies::of(&times) })
}

fn observation(
    order: &Order<'_>,
    levels: Levels,
    op: &str,
    results: &[&OperationResult],
    times: Option<Latencies>,
    (verdict, why): (Overall, Option<String>),
    place: &str,
) -> Observation {
    let mut values = figures(results, times);
    let percentile = |name: &str| values.get(name).copied().filter(|time| *time > 0.0);
    if let (Some(most), Some(half)) = (percentile("response_ms.p99"), percentile("response_ms.p50")) {
        values.insert(SPREAD.0.to_owned(), most / half);
    }
    let (ok, failed) =
        results.iter().fold((0_u64, 0_u64), |(ok, failed), one| (ok + one.ok, failed + one.failed));
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let failed_share = if ok + failed == 0 { 1.0 } else { failed as f64 / (ok + failed) as f64 };
    values.insert("success_ratio".to_owned(), 1.0 - failed_share);
    if let Some(rate) = values.get("throughput_per_s").copied().filter(|_| failed_share < 1.0) {
        values.insert(ATTEMPTS.0.to_owned(), rate / (1.0 - failed_share));
    }
    let mean_s = mean_ms(results).unwrap_or(0.0) / 1e3;
    let window_s = results.iter().map(|one| one.window_s).fold(f64::INFINITY, f64::min);
    let too_long = (window_s > 0.0 && mean_s * LEAST_RESPONSES_IN_A_WINDOW > window_s).then(|| {
        format!(
            "a response takes {mean_s:.1} s on average, the window has {window_s:.0} s: too long for the window"
        )
    });
    Observation {
        levels,
        op: op.to_owned(),
        repetition: order.repetition,
        values,
        verdict,
        why,
        failed_share,
        too_long,
        place: place.to_owned(),
        unreadable: false,
        no_knee: false,
    }
}

/// What the checks of a run leave possible for one of its stages.
pub(crate) fn verdict_of(record: &RunRecord, stage: &StageRecord) -> (Overall, Option<String>) {
    if stage.state != StageState::Completed {
        let why = stage.reason.clone().unwrap_or_else(|| format!("the stage is {}", stage.state.word()));
        return (Overall::False, Some(why));
    }
    let about =
        record.verdict.checks.iter().filter(|check| check.stage.as_ref().is_none_or(|id| *id == stage.id));
    let mut worst =
        (if record.verdict.checks.is_empty() { record.verdict.overall } else { Overall::True }, None);
    for check in about.filter(|check| check.status != CheckStatus::Pass) {
        if check.allows > worst.0 {
            worst = (check.allows, Some(check.message.clone()));
        }
    }
    worst
}

/// What the run of a job of fio measured, by direction and both together.
#[must_use]
pub fn of_fio_run(order: &Order<'_>, record: &RunRecord, place: &str) -> Vec<Observation> {
    let Some(stage) = record.stages.first() else { return Vec::new() };
    let judged = verdict_of(record, stage);
    let of = |(op, results): (&str, Vec<&OperationResult>)| {
        observation(order, levels_of(order), op, &results, None, judged.clone(), place)
    };
    let mut all: Vec<Observation> = by_op(&stage.operations).into_iter().map(of).collect();
    all.retain(|one| one.failed_share < 1.0);
    if !all.is_empty() {
        let sum = |name: &str| all.iter().filter_map(|one| one.values.get(name)).sum::<f64>();
        let values = ["throughput_per_s", "bandwidth_bytes_per_s"].map(|name| (name.to_owned(), sum(name)));
        let failed_share = all.iter().map(|one| one.failed_share).fold(0.0, f64::max);
        all.push(Observation {
            levels: levels_of(order),
            op: SUM.to_owned(),
            repetition: order.repetition,
            values: BTreeMap::from(values),
            verdict: judged.0,
            why: judged.1,
            failed_share,
            place: place.to_owned(),
            ..Observation::default()
        });
    }
    all
}

/// What a job of fio measured in a study that has its JSON beside its archive, by direction and both together.
#[must_use]
pub fn of_fio(order: &Order<'_>, value: &Value, place: &str) -> Vec<Observation> {
    let Some(job) = value.get("jobs").and_then(|jobs| jobs.get(0)) else { return Vec::new() };
    let mut all: Vec<Observation> = Vec::new();
    let mut sums = (0.0, 0.0);
    for op in ["read", "write"] {
        let Some(side) = job.get(op) else { continue };
        let of = |key: &str| side.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        if of("total_ios") <= 0.0 {
            continue;
        }
        sums = (sums.0 + of("iops"), sums.1 + of("bw_bytes"));
        let mut values = BTreeMap::from([
            ("throughput_per_s".to_owned(), of("iops")),
            ("bandwidth_bytes_per_s".to_owned(), of("bw_bytes")),
        ]);
        let times = side.get("clat_ns");
        let percentile = |name: &str| times?.get("percentile")?.get(name)?.as_f64();
        let named =
            [("p50", "50.000000"), ("p95", "95.000000"), ("p99", "99.000000"), ("p99_9", "99.900000")];
        for (id, name) in named {
            if let Some(ns) = percentile(name) {
                values.insert(format!("response_ms.{id}"), ns / 1e6);
            }
        }
        if let Some(ns) = times.and_then(|times| times.get("mean")?.as_f64()) {
            values.insert("response_ms.mean".to_owned(), ns / 1e6);
        }
        all.push(fio_observation(order, op, values, verdict_of_fio(order, value, op == "read"), place));
    }
    if !all.is_empty() {
        let values = BTreeMap::from([
            ("throughput_per_s".to_owned(), sums.0),
            ("bandwidth_bytes_per_s".to_owned(), sums.1),
        ]);
        let reads = all.iter().any(|one| one.op == "read");
        all.push(fio_observation(order, SUM, values, verdict_of_fio(order, value, reads), place));
    }
    all
}

/// A shorter job says little of a device whose memory fills or which tidies up.
const LEAST_FIO_S: f64 = 60.0;

/// How far fio's figures of a direction can be believed, and why.
fn verdict_of_fio(order: &Order<'_>, value: &Value, reads: bool) -> (Overall, String) {
    let error = value.get("jobs").and_then(|jobs| jobs.get(0)?.get("error")?.as_i64()).unwrap_or(0);
    if error != 0 {
        return (Overall::False, format!("fio ended with error {error}"));
    }
    let mut why = vec!["fio's own figures: nobody checked them".to_owned()];
    let Some(template) = &order.design.spec.fio else { return (Overall::NotProven, why.remove(0)) };
    let filled = |text: &Text| fill(&text.0, &order.cell.values).unwrap_or_default();
    let runtime_s = parse_duration(filled(&template.runtime).trim()).map_or(0.0, |time| time.as_secs_f64());
    if runtime_s < LEAST_FIO_S {
        why.push(format!("{runtime_s:.0} s are short of {LEAST_FIO_S:.0} s"));
    }
    let image = parse_size(filled(&template.size).trim()).unwrap_or(0);
    let memory = value.get("cosmark").and_then(|about| about.get("memory_bytes")?.as_u64()).unwrap_or(0);
    let is_rbd = order.design.spec.systems[order.cell.system].block == Some(Block::Rbd);
    // Of a file fio reads past the memory of this machine; the store of an image does not.
    if reads && is_rbd && image < memory {
        why.push(format!(
            "the image of {} MB fits the memory of {} MB, from which the store may have read",
            image / 1_000_000,
            memory / 1_000_000
        ));
    }
    (Overall::NotProven, why.join("; "))
}

fn fio_observation(
    order: &Order<'_>,
    op: &str,
    values: BTreeMap<String, f64>,
    (verdict, why): (Overall, String),
    place: &str,
) -> Observation {
    Observation {
        levels: levels_of(order),
        op: op.to_owned(),
        repetition: order.repetition,
        values,
        verdict,
        why: Some(why),
        failed_share: 0.0,
        too_long: None,
        place: place.to_owned(),
        unreadable: false,
        no_knee: false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
