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
use crate::journal::{CellEnd, CellState};
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
    let of = |point: &Point| {
        let mut levels = levels_of(order);
        levels.extend(point.levels.clone());
        Observation {
            levels,
            repetition: order.repetition,
            verdict: Overall::False,
            why: Some("its run cannot be read".to_owned()),
            place: place.to_owned(),
            unreadable: true,
            ..Observation::default()
        }
    };
    points.map(of).collect()
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
        let Some(stage) = record.stages.iter().find(|stage| stage.name == point.stage) else { continue };
        let mut levels = levels_of(order);
        levels.extend(point.levels.clone());
        let (verdict, why) = verdict_of(record, stage);
        // The machines do not know for which operation they work: a cost is that of all of the stage.
        let mut paid = costs::of_stage(&stage.nodes, &stage.operations).metrics;
        paid.extend(busy(&stage.nodes));
        for (op, results) in by_op(&stage.operations) {
            // One alone has its times in its result.
            let times = if results.len() > 1 { merged(directory, &results) } else { None };
            let judged = (verdict, why.clone());
            let mut one = observation(order, levels.clone(), op, &results, times, judged, place);
            one.values.extend(paid.clone());
            one.values.extend(raw(&stage.efficiency, op));
            all.push(one);
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

fn levels_of(order: &Order<'_>) -> Levels {
    let mut levels = order.cell.levels.clone();
    levels.insert("system".to_owned(), order.design.spec.systems[order.cell.system].name.clone());
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
    }
}

/// What the checks of a run leave possible for one of its stages.
fn verdict_of(record: &RunRecord, stage: &StageRecord) -> (Overall, Option<String>) {
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
            op: "all".to_owned(),
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
        all.push(fio_observation(order, "all", values, verdict_of_fio(order, value, reads), place));
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
    }
}

#[cfg(test)]
mod tests {
    use cosmark_archive::{HostRecord, Timestamp};
    use cosmark_metrics::QuantityResult;
    use cosmark_workload::{Environment, Format};

    use super::*;
    use crate::design::{Choice, Design};

    #[test]
    fn two_operations_that_do_the_same_have_the_times_of_both_or_none() {
        let latency = |ms: u64, count: u32| {
            let mut times = Latency::default();
            times.record_many(ms * 1_000_000, count);
            times
        };
        let result = |times: &Latency, rate: f64| OperationResult {
            ok: times.count(),
            throughput_per_s: Some(rate),
            in_flight_mean: Some(1.0),
            response_ms: Latencies::of(times),
            ..OperationResult::default()
        };
        let (hot, cold) = (latency(20, 270), latency(900, 730));
        let (first, second) = (result(&hot, 27.0), result(&cold, 73.0));
        let both = [&first, &second];
        let alone = figures(&both[..1], None);
        assert!((alone["response_ms.p95"] - 20.0).abs() < 0.1 && alone["in_flight_mean"] == 1.0, "{alone:?}");
        let unknown = figures(&both, None);
        assert_eq!((unknown["throughput_per_s"], unknown["count"]), (100.0, 1000.0));
        for figure in ["response_ms.p50", "response_ms.p95", "response_ms.mean", "in_flight_mean", "workers"]
        {
            assert!(!unknown.contains_key(figure), "{figure} is that of the first alone: {unknown:?}");
        }
        let mut times = hot.clone();
        times.merge(&cold);
        let known = figures(&both, Some(Latencies::of(&times)));
        assert!((known["response_ms.p95"] / 900.0 - 1.0).abs() < 0.01, "{known:?}");
        assert!((mean_ms(&both).unwrap() / 662.4 - 1.0).abs() < 0.001, "{:?}", mean_ms(&both));
        // Without a log there is nothing to put together.
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(merged(directory.path(), &both), None);
    }

    #[test]
    fn figures_of_fio_say_why_they_are_not_proven() {
        let text = "name: t
title: t
question: q
systems: [{name: image, bed: ceph, block: rbd}, {name: disk, block: file}]
factors: [{name: rw, levels: [randread]}]
scales: {quick: {}}
fio: {rw: randread, bs: 4KiB, iodepth: 1, size: 1GiB, runtime: 5s}
";
        let (spec, mistakes) = crate::spec::read(text);
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let choice = crate::design::Choice { scale: "quick".into(), ..Default::default() };
        let design = crate::design::Design::new(&spec, choice).unwrap();
        let why = |cell: usize, op: &str, error: u64| {
            let order = Order { design: &design, cell: &design.cells[cell], repetition: 1, run: "t" };
            let side = serde_json::json!({"total_ios": 5, "iops": 1.0, "bw_bytes": 4096.0});
            let mut value =
                serde_json::json!({"jobs": [{"error": error}], "cosmark": {"memory_bytes": 8_u64 << 30}});
            value["jobs"][0][op] = side;
            let found = of_fio(&order, &value, "t.json");
            assert_eq!(found.iter().map(|one| one.op.as_str()).collect::<Vec<_>>(), [op, "all"]);
            assert_eq!(found[0].why, found[1].why);
            (found[0].verdict, found[0].why.clone().unwrap())
        };
        let (verdict, said) = why(0, "read", 0);
        assert_eq!(verdict, Overall::NotProven);
        assert!(
            said.contains("5 s are short of 60 s") && said.contains("the image of 1073 MB fits"),
            "{said}"
        );
        assert!(!why(0, "write", 0).1.contains("fits"), "what is written was not read from memory");
        assert!(!why(1, "read", 0).1.contains("fits"), "a file is read past the memory");
        assert_eq!(why(1, "read", 5), (Overall::False, "fio ended with error 5".to_owned()));
    }

    #[test]
    fn the_run_of_a_job_of_fio_has_its_directions_and_both_together() {
        let text = "name: t
title: t
question: q
systems: [{name: disk, block: file}]
factors: [{name: rw, levels: [randrw]}]
scales: {quick: {}}
fio: {rw: randrw, bs: 4KiB, iodepth: 1, size: 1GiB, runtime: 60s}
";
        let spec = crate::spec::read(text).0.unwrap();
        let choice = Choice { scale: "quick".to_owned(), ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        let order = Order { design: &design, cell: &design.cells[0], repetition: 1, run: "t.c1.r1" };
        let workload = cosmark_workload::parse(WORKLOAD, Format::Yaml, &Environment::default()).0.unwrap();
        let mut record =
            RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
        let of = |op: &str, ok: u64, rate: f64| OperationResult {
            op: op.to_owned(),
            ok,
            bytes: ok * 4096,
            throughput_per_s: Some(rate),
            bandwidth_bytes_per_s: Some(rate * 4096.0),
            response_ms: Latencies { count: ok, mean: Some(1.0), p50: Some(1.0), ..Latencies::default() },
            window_s: 60.0,
            ..OperationResult::default()
        };
        record.stages[0].state = StageState::Completed;
        record.stages[0].operations = vec![of("read", 4200, 70.0), of("write", 1800, 30.0)];
        record.verdict.overall = Overall::TrueWithLimits;
        let found = of_fio_run(&order, &record, "w1-t.c1.r1");
        let ops: Vec<&str> = found.iter().map(|one| one.op.as_str()).collect();
        assert_eq!(ops, ["read", "write", "all"]);
        assert_eq!(found[0].values.get("response_ms.p50"), Some(&1.0));
        assert_eq!(found[2].values.get("throughput_per_s"), Some(&100.0));
        assert_eq!(found[2].values.get("bandwidth_bytes_per_s"), Some(&409_600.0));
        assert!(found.iter().all(|one| one.verdict == Overall::TrueWithLimits && !one.unreadable));
        assert_eq!(bytes_of(&record), 6000 * 4096);
        // One that failed has nothing, and one that was written whole and is empty cannot be read.
        record.stages[0].operations.clear();
        assert!(of_fio_run(&order, &record, "w1-t.c1.r1").is_empty());
    }

    #[test]
    fn distances_of_a_followed_disk_become_shares_and_none_of_none() {
        let found =
            distances(r#"{"requests": 41, "distances": 40, "far": 4, "beyond_125000": 10, "by_log2": {}}"#);
        assert_eq!(found.get("lbn_beyond_125000_share"), Some(&0.25));
        assert_eq!(found.get("lbn_beyond_2500000_share"), Some(&0.1));
        assert_eq!(found.len(), 2, "without a histogram there are no bins: {found:?}");
        let text = r#"{"distances": 40, "by_log2": {"0": 10, "2": 4, "3": 6, "7": 8, "19": 8, "22": 4}}"#;
        let found = distances(text);
        let shares: Vec<f64> = (0..BINS.len()).map(|at| found[&bin_id(at)]).collect();
        assert_eq!(shares, [0.25, 0.25, 0.0, 0.2, 0.0, 0.0, 0.0, 0.2, 0.1]);
        for nothing in [r#"{"requests": 1, "distances": 0, "far": 0, "beyond_125000": 0}"#, "{", "[]"] {
            assert!(distances(nothing).is_empty(), "{nothing}");
        }
    }

    const STUDY: &str = "name: t
title: t
question: q
systems: [{name: a}]
factors: [{name: n, within: true, levels: [1]}]
scales: {quick: {}}
workload: {point: '- name: p-${{ n }}', measured: 'p-${{ n }}'}
";
    const WORKLOAD: &str = "name: w
storage: {type: none}
stages:
  - name: p-1
    works: [{name: main, workers: 1, runtime: 9s, operations: [{type: write, containers: c(1), objects: c(1), sizes: c(1)KB}]}]
";

    #[test]
    fn a_point_has_what_it_cost_the_stores_machines_and_how_unevenly_it_was_served() {
        let spec = crate::spec::read(STUDY).0.unwrap();
        let choice = Choice { scale: "quick".to_owned(), ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        let order = Order { design: &design, cell: &design.cells[0], repetition: 1, run: "r" };
        let workload = cosmark_workload::parse(WORKLOAD, Format::Yaml, &Environment::default()).0.unwrap();
        let mut record =
            RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
        let cpu =
            QuantityResult { quantity: "cpu_busy_s".into(), unit: String::new(), mean: 0.5, highest: 0.5 };
        record.stages[0].nodes =
            vec![NodeResult { readings: 9, quantities: vec![cpu], ..NodeResult::default() }];
        record.stages[0].operations = vec![OperationResult {
            op: "write".to_owned(),
            ok: 900,
            failed: 300,
            throughput_per_s: Some(100.0),
            response_ms: Latencies { p50: Some(4.0), p99: Some(10.0), ..Latencies::default() },
            ..OperationResult::default()
        }];
        let share = |of: &str, raw_per_s: f64, share: f64| EfficiencyResult {
            direction: "write".to_owned(),
            of: of.to_owned(),
            user_per_s: raw_per_s * share,
            raw_per_s,
            share,
        };
        record.stages[0].efficiency = vec![share("disk_bytes", 4e8, 0.25), share("network_bytes", 1e8, 0.5)];
        let nowhere = Path::new("nowhere");
        let found = of_run(&order, &record, nowhere, "r");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].values.get("server_cpu_ms_per_op"), Some(&5.0));
        assert_eq!(found[0].values.get("server_cpu_share"), Some(&0.5));
        assert_eq!(found[0].values.get("server_disk_share"), None, "no disk was looked at");
        for (id, value) in [
            ("share_of_raw_disk", 0.25),
            ("raw_disk_bytes_per_s", 4e8),
            ("share_of_raw_network", 0.5),
            ("raw_network_bytes_per_s", 1e8),
        ] {
            assert_eq!(found[0].values.get(id), Some(&value), "{id}");
        }
        assert!(raw(&record.stages[0].efficiency, "read").is_empty(), "of the other direction");
        assert_eq!(found[0].values.get(SPREAD.0), Some(&2.5));
        let tried = found[0].values[ATTEMPTS.0];
        assert!((tried - 400.0 / 3.0).abs() < 1e-6, "a quarter of them failed: {tried}");
        // Where a percentile is withheld there is no ratio of it, and without machines no cost.
        record.stages[0].operations[0].response_ms.p99 = None;
        record.stages[0].nodes.clear();
        let values = &of_run(&order, &record, nowhere, "r")[0].values;
        assert!(!values.contains_key(SPREAD.0) && !values.contains_key("server_cpu_ms_per_op"), "{values:?}");
    }
}
