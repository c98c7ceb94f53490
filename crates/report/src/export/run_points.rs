//! The results of a finished run as metrics.

use std::sync::Arc;

use cosmark_archive::{HistogramLog, OperationResult, Run, StageRecord, TimeKind};

use cosmark_metrics::nodes::costs;

use super::point::{BOUNDS, Labels, Point, exported};
use super::{ExportError, id_of};

/// Start of the run, nanoseconds since 1970.
pub fn start_ns(run: &Run) -> i128 {
    let start = run.record.started.or(run.record.submitted).unwrap_or_default();
    start.as_nanosecond()
}

/// End of the run, or its start where it did not end.
pub fn end_ns(run: &Run) -> i128 {
    let ends = run.record.stages.iter().filter_map(|stage| stage.ended).max();
    run.record.ended.or(ends).map_or_else(|| start_ns(run), |end| end.as_nanosecond())
}

#[expect(clippy::cast_precision_loss, reason = "metrics are doubles")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Labels of one operation, with its id where the others do not tell it from all of the stage.
pub fn labels_of(run: &Run, stage: &StageRecord, op: &OperationResult) -> Labels {
    let own = (&op.op, &op.work, &op.name);
    let alike = stage.operations.iter().filter(|one| (&one.op, &one.work, &one.name) == own).count();
    let labels = [
        ("id", id_of(op).to_owned()),
        ("op", op.op.clone()),
        ("operation", op.name.clone()),
        ("run", run.record.id.clone()),
        ("stage", stage.id.clone()),
        ("work", op.work.clone()),
        ("workload", run.record.name.clone()),
    ];
    labels.into_iter().filter(|(name, _)| *name != "id" || alike > 1).collect()
}

/// Every metric of a run, over the measured windows.
///
/// # Errors
/// When the histogram log is damaged.
pub fn run_points(run: &Run) -> Result<Vec<Point>, ExportError> {
    let mut points = Vec::new();
    let info: Labels = Arc::from([
        ("run", run.record.id.clone()),
        ("state", run.record.state.word().to_owned()),
        ("version", run.record.cosmark.clone()),
        ("workload", run.record.name.clone()),
    ]);
    points.extend(Point::number("cosmark_run_info", &info, 1.0));
    for stage in &run.record.stages {
        for op in &stage.operations {
            let labels = labels_of(run, stage, op);
            points_of(&mut points, &labels, op);
            // COSBench leaves buckets of 10 ms and no log.
            if run.record.made_by.is_none()
                && let Some(histogram) = HistogramLog::merged(&run.path, &op.tag, TimeKind::Response)?
            {
                let sum_s = op.response_ms.mean.unwrap_or(0.0) * float(histogram.len()) / 1e3;
                points.extend(Point::times(&labels, &histogram, sum_s));
            }
        }
        points_of_nodes(&mut points, run, stage);
    }
    Ok(points)
}

/// What the store's machines did in the measured window of a stage, and what that cost.
fn points_of_nodes(points: &mut Vec<Point>, run: &Run, stage: &StageRecord) {
    let labels = |more: &[(&'static str, &str)]| -> Labels {
        let own = [("run", run.record.id.as_str()), ("stage", &stage.id), ("workload", &run.record.name)];
        let mut all: Vec<_> =
            own.iter().chain(more).map(|(name, value)| (*name, (*value).to_owned())).collect();
        all.sort();
        all.into()
    };
    let whole = labels(&[]);
    let costs = costs::of_stage(&stage.nodes, &stage.operations);
    points.extend(costs::known(&costs).filter_map(|(metric, value)| Point::figure(metric, &whole, value)));
    for node in &stage.nodes {
        let of_node = [("node", node.name.as_str()), ("role", &node.role)];
        for unit in &node.units {
            let labels = labels(&[of_node[0], of_node[1], ("kind", unit.kind.word()), ("unit", &unit.name)]);
            points.extend(Point::number("cosmark_node_busy_ratio", &labels, unit.busy));
        }
        for one in &node.quantities {
            let labels = labels(&[of_node[0], of_node[1], ("quantity", &one.quantity), ("unit", &one.unit)]);
            points.extend(Point::number("cosmark_node_quantity", &labels, one.mean));
        }
    }
}

fn points_of(points: &mut Vec<Point>, labels: &Labels, op: &OperationResult) {
    // COSBench counts failures without their kinds.
    let of_a_kind = op.errors.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let others = Some(op.failed.saturating_sub(of_a_kind)).filter(|n| *n > 0);
    let outcomes = std::iter::once(("ok", op.ok))
        .chain(op.errors.iter().map(|(kind, n)| (kind.as_str(), *n)))
        .chain(others.map(|n| ("failed", n)));
    points.extend(outcomes.filter_map(|(outcome, count)| {
        Point::with("cosmark_operations_total", labels, ("outcome", outcome.to_owned()), float(count))
    }));
    points.extend(exported().filter_map(|metric| Point::figure(metric, labels, metric.of(op)?)));
    let response = &op.response_ms;
    let percentiles = [
        ("50", response.p50),
        ("90", response.p90),
        ("95", response.p95),
        ("99", response.p99),
        ("99.9", response.p99_9),
        ("99.99", response.p99_99),
        ("100", response.max),
    ];
    points.extend(percentiles.into_iter().filter_map(|(percentile, ms)| {
        let extra = ("percentile", percentile.to_owned());
        Point::with("cosmark_response_percentile_seconds", labels, extra, ms? / 1e3)
    }));
    for (figure, bound) in op.bounds.iter().filter(|(_, bound)| bound.holds()) {
        let ends = BOUNDS.into_iter().zip([bound.low, bound.high]);
        points.extend(
            ends.filter_map(|(name, end)| Point::with(name, labels, ("figure", figure.clone()), end?)),
        );
    }
}
