//! What a run has done so far, summed up from its snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmark_archive::RunRecord;
use cosmark_metrics::results::{Metric, Reading};
use cosmark_metrics::{OpSnapshot, Snapshot};
use cosmark_report::export::point::{EDGES_S, Labels, Point, PointValue, buckets, exported};
use cosmark_workload::model::{Operation, Stage, Work};

/// Sums of a run.
pub struct Sums {
    run: String,
    workload: String,
    info: Labels,
    /// By stage, work and operation.
    operations: BTreeMap<(usize, u16, usize), OperationSums>,
    /// Workers of the works that run now, with their labels.
    workers: Vec<(Labels, u32)>,
}

struct OperationSums {
    labels: Labels,
    outcomes: BTreeMap<String, u64>,
    totals: Vec<u64>,
    counts: [u64; EDGES_S.len() + 1],
    sum_s: f64,
}

/// Figures that are plain sums.
fn totals() -> impl Iterator<Item = (&'static Metric, fn(&OpSnapshot) -> u64)> {
    exported().filter_map(|metric| match metric.reading {
        Reading::Count(sum, _) => Some((metric, sum)),
        _ => None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "metrics are doubles")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Labels of one operation, as in the export of the run when it is over: with its id where the other labels do
/// not tell it from all of the stage.
fn labels_of(
    run: &str,
    workload: &str,
    (stage, index): (&Stage, usize),
    work: &Work,
    operation: &Operation,
) -> Labels {
    let works = stage.works.iter().filter(|one| one.name == work.name);
    let is_alike = |one: &&Operation| one.name == operation.name && one.kind == operation.kind;
    let alike = works.flat_map(|one| &one.operations).filter(is_alike).count();
    let labels = [
        ("id", operation.id.clone()),
        ("op", operation.kind.word().to_owned()),
        ("operation", operation.name.clone()),
        ("run", run.to_owned()),
        ("stage", stage.id(index)),
        ("work", work.name.clone()),
        ("workload", workload.to_owned()),
    ];
    labels.into_iter().filter(|(name, _)| *name != "id" || alike > 1).collect()
}

impl Sums {
    /// Nothing yet.
    pub fn new(record: &RunRecord) -> Self {
        let (run, workload) = (record.id.clone(), record.name.clone());
        let info = Arc::from([
            ("run", run.clone()),
            ("state", "running".to_owned()),
            ("version", record.cosmark.clone()),
            ("workload", workload.clone()),
        ]);
        Self { run, workload, info, operations: BTreeMap::new(), workers: Vec::new() }
    }

    /// A stage begins.
    pub fn begin(&mut self, stage: &Stage, index: usize) {
        let id = stage.id(index);
        let labels = |work: &str| {
            Arc::from([
                ("run", self.run.clone()),
                ("stage", id.clone()),
                ("work", work.to_owned()),
                ("workload", self.workload.clone()),
            ])
        };
        // Works of one name have one number: two of the same labels would be taken for a mistake.
        let mut workers: BTreeMap<&str, u32> = BTreeMap::new();
        for work in &stage.works {
            let sum = workers.entry(&work.name).or_default();
            *sum = sum.saturating_add(work.workers);
        }
        self.workers = workers.into_iter().map(|(work, workers)| (labels(work), workers)).collect();
    }

    /// The stage is over.
    pub fn end(&mut self) {
        self.workers.iter_mut().for_each(|(_, workers)| *workers = 0);
    }

    /// Adds what a work did in a slice of time.
    pub fn add(&mut self, stage: &Stage, index: usize, snapshot: &Snapshot) {
        let Some(work) = stage.works.get(usize::from(snapshot.work)) else { return };
        for (at, (operation, op)) in work.operations.iter().zip(&snapshot.ops).enumerate() {
            if op.total() == 0 && op.missed == 0 && op.delayed == 0 {
                continue;
            }
            let (run, workload) = (&self.run, &self.workload);
            let sums = self.operations.entry((index, snapshot.work, at)).or_insert_with(|| OperationSums {
                labels: labels_of(run, workload, (stage, index), work, operation),
                outcomes: BTreeMap::new(),
                totals: totals().map(|_| 0).collect(),
                counts: [0; EDGES_S.len() + 1],
                sum_s: 0.0,
            });
            *sums.outcomes.entry("ok".to_owned()).or_default() += op.ok;
            for (outcome, count) in &op.errors {
                *sums.outcomes.entry(outcome.label()).or_default() += count;
            }
            for (sum, (_, own)) in sums.totals.iter_mut().zip(totals()) {
                *sum += own(op);
            }
            let times = op.response_or_service();
            if let Some(histogram) = times.filled() {
                for (sum, count) in sums.counts.iter_mut().zip(buckets(&histogram)) {
                    *sum += count;
                }
                sums.sum_s += times.mean_ns().unwrap_or(0.0) * float(times.count()) / 1e9;
            }
        }
    }

    /// All metrics as they are now.
    pub fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = Point::number("cosmark_run_info", &self.info, 1.0).into_iter().collect();
        for (labels, workers) in &self.workers {
            points.extend(Point::number("cosmark_workers", labels, f64::from(*workers)));
        }
        for sums in self.operations.values() {
            points.extend(sums.outcomes.iter().filter_map(|(outcome, count)| {
                let extra = ("outcome", outcome.clone());
                Point::with("cosmark_operations_total", &sums.labels, extra, float(*count))
            }));
            let totals = totals().zip(&sums.totals);
            points.extend(
                totals.filter_map(|((metric, _), sum)| Point::figure(metric, &sums.labels, float(*sum))),
            );
            let times = Point::number("cosmark_response_seconds", &sums.labels, 0.0);
            points.extend(times.map(|point| Point {
                value: PointValue::Histogram(Box::new((sums.counts, sums.sum_s))),
                ..point
            }));
        }
        points
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;

    use cosmark_metrics::Phase;
    use cosmark_workload::{Environment, Format, parse};

    use super::*;

    #[test]
    fn operations_of_works_of_one_name_are_no_two_series_of_the_same_labels() {
        let work =
            "{name: a, workers: 2, total_ops: 9, operations: [{type: list, name: x, containers: c(1)}]}";
        let other = work.replace("name: a", "name: b");
        let text = format!(
            "name: w\nstorage: {{type: mock}}\nstages:\n  - name: main\n    works: [{work}, {work}, {other}]\n"
        );
        let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
        let stage = workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0);
        let mut sums = Sums {
            run: "w1".to_owned(),
            workload: "w".to_owned(),
            info: Arc::from([]),
            operations: BTreeMap::new(),
            workers: Vec::new(),
        };
        sums.begin(&stage, 0);
        for work in 0..3 {
            let ops = vec![OpSnapshot { ok: 1, ..OpSnapshot::default() }];
            sums.add(&stage, 0, &Snapshot { work, phase: Phase::Window, start_ns: 0, end_ns: 1, ops });
        }
        let points = sums.points();
        let label = |point: &Point, name: &str| {
            point.all_labels().find(|(own, _)| *own == name).map(|(_, value)| value.to_owned())
        };
        let of = |name: &str| points.iter().filter(|point| point.name.name == name).collect::<Vec<&Point>>();
        let ids: Vec<Option<String>> =
            of("cosmark_operations_total").iter().map(|point| label(point, "id")).collect();
        assert_eq!(ids, [Some("op1".to_owned()), Some("op2".to_owned()), None]);
        let workers = of("cosmark_workers");
        let works: BTreeSet<Option<String>> = workers.iter().map(|point| label(point, "work")).collect();
        assert_eq!((workers.len(), works.len()), (2, 2), "{workers:?}");
        assert_eq!(workers[0].value, PointValue::Number(4.0));
    }
}
