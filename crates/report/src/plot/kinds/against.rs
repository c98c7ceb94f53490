//! Stages and runs against each other: maxima, dots, workers, bars.

use super::{Pick, distinct, group_of, labels, metrics, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
use cosmark_metrics::results::Metric;

use crate::plot::metric::unit_of;
use crate::plot::{Picture, PlotError, PlotRun, Wishes};

/// More bars than this have no numbers above them.
const MOST_NUMBERED: usize = 16;

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn float(n: usize) -> f64 {
    n as f64
}

fn finite(pick: &Pick<'_>, metric: &Metric) -> Option<f64> {
    pick.op.figure(metric)
}

/// The unit for the greatest of these values.
fn unit(picks: &[Pick<'_>], metric: &Metric) -> (f64, &'static str) {
    unit_of(metric, picks.iter().filter_map(|pick| finite(pick, metric)).fold(0.0, f64::max))
}

fn of_label<'r>(picks: &[Pick<'r>], label: &str) -> Vec<Pick<'r>> {
    picks.iter().filter(|pick| pick.op.label == label).cloned().collect()
}

/// Number of the run among those of its series.
fn position(pick: &Pick<'_>, runs: &[PlotRun]) -> usize {
    runs.iter().take(pick.run_at).filter(|run| run.series == pick.run.series).count()
}

/// Per workload the best of its stages, one line per series of runs.
pub fn maximum(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, wishes)?;
    let several_runs =
        runs.iter().any(|run| runs.iter().filter(|other| other.series == run.series).count() > 1);
    let mut pictures = Vec::new();
    for label in labels(&picks) {
        let own = of_label(&picks, label);
        // Series are matched by position, as in cosbench-plot: the third workload of each belongs together.
        let key = |pick: &Pick<'_>| (position(pick, runs), group_of(pick));
        let keys = distinct(own.iter().map(key));
        if keys.len() < 2 {
            continue;
        }
        let names: Vec<String> = keys
            .iter()
            .map(|(position, group)| {
                let alone = keys.iter().filter(|(other, _)| other == position).count() == 1;
                let run = own
                    .iter()
                    .find(|pick| key(pick).0 == *position)
                    .map_or("", |pick| pick.run.name.as_str());
                match (several_runs, alone) {
                    (false, _) => group.clone(),
                    (true, true) => run.to_owned(),
                    (true, false) => format!("{run} {group}"),
                }
            })
            .collect();
        for metric in metrics(wishes, &["throughput", "bandwidth"]) {
            let (size, unit) = unit(&own, metric);
            let mut series = Vec::new();
            for (look, name) in
                distinct(own.iter().map(|pick| pick.run.series.as_str())).into_iter().enumerate()
            {
                let mut line = Series::new(name, look, Mark::Marked, Vec::new());
                for (at, wanted) in keys.iter().enumerate() {
                    let candidates =
                        own.iter().filter(|pick| pick.run.series == name && key(pick) == *wanted);
                    let best = candidates
                        .filter_map(|pick| Some((pick, finite(pick, metric)?)))
                        .max_by(|a, b| a.1.total_cmp(&b.1));
                    let Some((pick, value)) = best else { continue };
                    line.points.push((float(at), value / size));
                    if let Some(workers) = pick.op.workers {
                        line.words.push((float(at), value / size, workers.to_string()));
                    }
                }
                series.push(line);
            }
            if series.iter().all(|line| line.points.iter().all(|(_, y)| *y <= 0.0)) {
                continue;
            }
            let chart = Chart {
                title: title(wishes, format!("{} of {label}: best stage of each workload", metric.title)),
                x: Axis::new("", Scale::Names(names.clone())),
                left: Axis::new(format!("{} ({unit})", metric.title), Scale::FromZero),
                right: None,
                series,
                note: format!("Numbers: workers of the best stage. {}", note(&own, false)),
            };
            pictures.push(Picture::chart(format!("maximum-{label}-{}", metric.names.plot), chart));
        }
    }
    if pictures.is_empty() {
        let text =
            "a maximum is shown for several workloads: give several runs, or one with a matrix of stages";
        return Err(PlotError::Nothing(text.to_owned()));
    }
    Ok(pictures)
}

/// One dot per stage, one column per run.
pub fn scatter(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, wishes)?;
    let columns = distinct(picks.iter().map(|pick| pick.run_at));
    let names: Vec<String> =
        columns.iter().filter_map(|at| runs.get(*at)).map(|run| run.label.clone()).collect();
    let mut pictures = Vec::new();
    for metric in metrics(wishes, &["throughput", "response"]) {
        let (size, unit) = unit(&picks, metric);
        let mut series = Vec::new();
        for (look, label) in labels(&picks).into_iter().enumerate() {
            let own = of_label(&picks, label);
            let dots = own.iter().enumerate().filter_map(|(number, pick)| {
                let column = columns.iter().position(|at| *at == pick.run_at)?;
                // Spread evenly and always the same: multiples of the golden section.
                let aside = (float(number) * 0.618_034).fract() - 0.5;
                Some((float(column) + aside * 0.5, finite(pick, metric)? / size))
            });
            series.push(Series::new(label, look, Mark::Dots, dots.collect()));
        }
        if series.iter().map(|dots| dots.points.len()).sum::<usize>() < 2 {
            continue;
        }
        let chart = Chart {
            title: title(wishes, format!("{}, one dot per stage", metric.title)),
            x: Axis::new("", Scale::Names(names.clone())),
            left: Axis::new(format!("{} ({unit})", metric.title), Scale::FromZero),
            right: None,
            series,
            note: note(&picks, false),
        };
        pictures.push(Picture::chart(format!("scatter-{}", metric.names.plot), chart));
    }
    if pictures.is_empty() {
        return Err(PlotError::Nothing("fewer than two stages have this value".to_owned()));
    }
    Ok(pictures)
}

/// A metric against the number of workers.
pub fn workers(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, wishes)?;
    let mut pictures = Vec::new();
    for label in labels(&picks) {
        let own = of_label(&picks, label);
        for metric in metrics(wishes, &["throughput", "p95"]) {
            let (size, unit) = unit(&own, metric);
            let key = |pick: &Pick<'_>| (pick.run.series.clone(), group_of(pick));
            let keys = distinct(own.iter().map(key));
            let groups = distinct(keys.iter().map(|(_, group)| group.as_str())).len();
            let several = distinct(keys.iter().map(|(series, _)| series.as_str())).len();
            let mut series = Vec::new();
            for (look, wanted) in keys.iter().enumerate() {
                let mut points: Vec<(f64, f64)> = own
                    .iter()
                    .filter(|pick| key(pick) == *wanted)
                    .filter_map(|pick| {
                        #[expect(clippy::cast_precision_loss, reason = "workers are few")]
                        let workers = pick.op.workers? as f64;
                        Some((workers, finite(pick, metric)? / size))
                    })
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let name = match (several > 1, groups > 1) {
                    (true, true) => format!("{}: {}", wanted.0, wanted.1),
                    (false, true) => wanted.1.clone(),
                    _ => wanted.0.clone(),
                };
                series.push(Series::new(name, look, Mark::Marked, points));
            }
            series.retain(|line| distinct(line.points.iter().map(|(x, _)| x.to_bits())).len() > 1);
            if series.is_empty() {
                continue;
            }
            let xs = || series.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x));
            let (least, most) = (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max));
            let scale = if most / least > 20.0 { Scale::Log } else { Scale::FromZero };
            let chart = Chart {
                title: title(wishes, format!("{} of {label} against workers", metric.title)),
                x: Axis::new("Workers", scale),
                left: Axis::new(format!("{} ({unit})", metric.title), Scale::FromZero),
                right: None,
                series,
                note: note(&own, metric.names.plot.starts_with('p')),
            };
            pictures.push(Picture::chart(format!("workers-{label}-{}", metric.names.plot), chart));
        }
    }
    if pictures.is_empty() {
        return Err(PlotError::Nothing(
            "all stages have the same number of workers, or the archive does not say".to_owned(),
        ));
    }
    Ok(pictures)
}

/// Every run against the first.
pub fn compare(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    if runs.len() < 2 {
        return Err(PlotError::Nothing("give two runs or more to compare".to_owned()));
    }
    let picks = picks(runs, wishes)?;
    let key = |pick: &Pick<'_>| (pick.caption.clone(), pick.op.label.clone());
    let first: Vec<&Pick<'_>> = picks.iter().filter(|pick| pick.run_at == 0).collect();
    let mut pictures = Vec::new();
    for metric in metrics(wishes, &["throughput", "response", "p99"]) {
        let mut names = Vec::new();
        let mut series: Vec<Series> = runs
            .iter()
            .enumerate()
            .map(|(look, run)| Series::new(run.label.clone(), look, Mark::Bars, Vec::new()))
            .collect();
        for pick in &first {
            let Some(base) = finite(pick, metric).filter(|value| *value > 0.0) else { continue };
            let others: Vec<Option<f64>> = (0..runs.len())
                .map(|run_at| {
                    let same = picks.iter().find(|other| other.run_at == run_at && key(other) == key(pick));
                    same.and_then(|other| finite(other, metric))
                })
                .collect();
            if others.iter().flatten().count() < 2 {
                continue;
            }
            let at = float(names.len());
            names.push(name_in_first(pick, &first));
            for (bar, value) in series.iter_mut().zip(others) {
                bar.points.extend(value.map(|value| (at, value / base)));
            }
        }
        if names.is_empty() {
            continue;
        }
        let bars: usize = series.iter().map(|bar| bar.points.len()).sum();
        add_numbers(&mut series, bars, names.len());
        let edges = (-0.5, float(names.len()) - 0.5);
        series.push(Series::new("", 0, Mark::Guide, vec![(edges.0, 1.0), (edges.1, 1.0)]));
        let base = runs.first().map_or("", |run| run.label.as_str());
        let most = series.iter().flat_map(|bar| &bar.points).map(|(_, y)| *y).fold(1.0, f64::max);
        let mut left = Axis::new(format!("{} ({base} = 1.0)", metric.title), Scale::FromZero);
        // Room for the numbers.
        left.at_least = Some(most * 1.08);
        let chart = Chart {
            title: title(wishes, format!("{}, {base} = 1.0", metric.title)),
            x: Axis::new("", Scale::Names(names)),
            left,
            right: None,
            series,
            note: format!(
                "One value per run: without repetitions a difference may be chance. {}",
                note(&picks, metric.names.plot.starts_with('p'))
            ),
        };
        pictures.push(Picture::chart(format!("compare-{}", metric.names.plot), chart));
    }
    if pictures.is_empty() {
        let text = "the runs share no stage and operation with results; stages are matched by name";
        return Err(PlotError::Nothing(text.to_owned()));
    }
    Ok(pictures)
}

fn name_in_first(pick: &Pick<'_>, first: &[&Pick<'_>]) -> String {
    let own: Vec<Pick<'_>> = first.iter().map(|pick| (*pick).clone()).collect();
    let stages = distinct(own.iter().map(|pick| pick.caption.as_str())).len();
    let operations = labels(&own).len();
    match (stages > 1, operations > 1) {
        (true, true) => format!("{} {}", name_of(pick, &own), pick.op.label),
        (true, false) => name_of(pick, &own),
        _ => pick.op.label.clone(),
    }
}

/// Two digits that count.
fn factor(y: f64) -> String {
    if y > 0.0 && y < 0.1 { format!("{y:.1e}") } else { format!("{y:.2}") }
}

/// The factor above each bar, where there is room.
fn add_numbers(series: &mut [Series], bars: usize, groups: usize) {
    if bars > MOST_NUMBERED {
        return;
    }
    let number = float(series.len());
    // As wide as the bars are drawn: 80 % of a group, at most 80 units of a frame of about 600.
    let width = (0.8 / number).min(80.0 / (600.0 / float(groups)));
    for (own, bar) in series.iter_mut().enumerate() {
        let aside = (float(own) + 0.47 - number / 2.0) * width;
        bar.words = bar.points.iter().map(|(x, y)| (x + aside, *y, factor(*y))).collect();
    }
}
