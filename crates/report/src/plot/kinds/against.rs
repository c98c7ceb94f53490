//! Stages and runs against each other: maxima, dots, workers, bars.

use super::{Pick, distinct, first_trial, group_of, labels, metrics, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
use crate::plot::metric::{named, unit_of};
use crate::plot::repeats::{Together, WHISKERS, together};
use cosmark_metrics::results::{Better, Metric, Unit};

use crate::plot::{Picture, PlotError, PlotRun, Wishes};
use cosmark_archive::FioJobRecord;

/// More are counted and not named.
const MOST_NAMED: usize = 4;
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
    picks.iter().filter(|pick| pick.label == label).cloned().collect()
}

/// Number of the run's workload among those of its series: runs of the same workload are repetitions.
fn position(pick: &Pick<'_>, runs: &[PlotRun]) -> usize {
    let before = runs.iter().take(pick.run_at + 1).filter(|run| run.series == pick.run.series);
    let names = distinct(before.map(|run| run.name.as_str()));
    names.iter().position(|name| *name == pick.run.name).unwrap_or(0)
}

/// The series of a run, and behind it the run's workload where the series has several.
fn line_of(pick: &Pick<'_>, picks: &[Pick<'_>], runs: &[PlotRun]) -> String {
    let own = picks.iter().filter(|other| other.run.series == pick.run.series);
    let several = distinct(own.map(|other| position(other, runs))).len() > 1;
    if several { format!("{}: {}", pick.run.series, pick.run.name) } else { pick.run.series.clone() }
}

/// What a line of a series and a group is called among others.
fn name_in(keys: &[(String, String)], wanted: &(String, String)) -> String {
    let several = keys.iter().any(|(line, _)| *line != wanted.0);
    let grouped = !wanted.1.is_empty() && keys.iter().any(|(_, group)| *group != wanted.1);
    match (several, grouped) {
        (true, true) => format!("{}: {}", wanted.0, wanted.1),
        (false, true) => wanted.1.clone(),
        _ => wanted.0.clone(),
    }
}

/// Adds what repetitions came to at `x`.
fn push(line: &mut Series, x: f64, values: Together) {
    line.points.push((x, values.mean));
    line.errors.push(values.ends());
}

/// Intervals are drawn only where there is one.
fn without_empty(mut line: Series) -> Series {
    if line
        .points
        .iter()
        .zip(&line.errors)
        .all(|((_, y), (low, high))| y.to_bits() == low.to_bits() && low.to_bits() == high.to_bits())
    {
        line.errors.clear();
    }
    line
}

/// What is said of whiskers, where there are any.
fn whiskers(series: &[Series]) -> &'static str {
    if series.iter().any(|line| !line.errors.is_empty()) { WHISKERS } else { "" }
}

/// Per workload the best of its stages, one line per series of runs.
pub fn maximum(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, wishes)?;
    let mut pictures = Vec::new();
    for label in labels(&picks) {
        let own = of_label(&picks, label);
        // Series are matched by position, as in cosbench-plot: the third workload of each belongs together.
        let key = |pick: &Pick<'_>| (position(pick, runs), group_of(pick));
        let keys = distinct(own.iter().map(key));
        if keys.len() < 2 || is_best_of_one(&own, runs) {
            continue;
        }
        // Repetitions of one workload have one name.
        let several = keys.iter().any(|(position, _)| *position > 0);
        let names: Vec<String> = keys
            .iter()
            .map(|(position, group)| {
                let alone = keys.iter().filter(|(other, _)| other == position).count() == 1;
                let run = own
                    .iter()
                    .find(|pick| key(pick).0 == *position)
                    .map_or("", |pick| pick.run.name.as_str());
                match (several, alone) {
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
                    let Some((values, workers)) = best_of(candidates, metric, size) else { continue };
                    push(&mut line, float(at), values);
                    let top = values.ends().1;
                    line.words.extend(workers.map(|workers| (float(at), top, workers.to_string())));
                }
                series.push(without_empty(line));
            }
            if series.iter().all(|line| line.points.iter().all(|(_, y)| *y <= 0.0)) {
                continue;
            }
            let whiskers = whiskers(&series);
            let chart = Chart {
                title: title(wishes, format!("{} of {label}: best stage of each workload", metric.title)),
                x: Axis::new("", Scale::Names(names.clone())),
                left: Axis::new(format!("{} ({unit})", metric.title), Scale::FromZero),
                right: None,
                series,
                note: format!("Numbers: workers of the best stage. {whiskers} {}", note(&own, false)),
            };
            pictures.push(Picture::chart(format!("maximum-{label}-{}", metric.names.plot), chart));
        }
    }
    if pictures.is_empty() {
        let text =
            "a maximum is shown for several workloads: give runs of several, or one with a matrix of stages";
        return Err(PlotError::Nothing(text.to_owned()));
    }
    Ok(pictures)
}

/// True of one workload, run once or again, whose stages are all groups of their own: none is the best of several.
fn is_best_of_one(own: &[Pick<'_>], runs: &[PlotRun]) -> bool {
    let workloads = distinct(runs.iter().map(|run| (run.series.as_str(), run.name.as_str())));
    let is_alone = |group: String| {
        let same = own.iter().filter(|pick| group_of(pick) == group);
        let places: Vec<_> = same.map(Pick::repetition).collect();
        distinct(places.iter()).len() == places.len()
    };
    workloads.len() == 1 && own.iter().map(group_of).all(is_alone)
}

/// The best stage of each repetition, and its workers where they are the same.
fn best_of<'p, 'r: 'p>(
    candidates: impl Iterator<Item = &'p Pick<'r>>,
    metric: &Metric,
    size: f64,
) -> Option<(Together, Option<u64>)> {
    let candidates: Vec<_> = candidates.filter_map(|pick| Some((pick, finite(pick, metric)?))).collect();
    let best = |repetition: &(usize, Option<u32>)| {
        let own = candidates.iter().filter(|(pick, _)| pick.repetition() == *repetition);
        own.max_by(|a, b| {
            let order = a.1.total_cmp(&b.1);
            if metric.better == Better::Less { order.reverse() } else { order }
        })
        .copied()
    };
    let repeats = distinct(candidates.iter().map(|(pick, _)| pick.repetition()));
    let found: Vec<_> = repeats.iter().filter_map(best).collect();
    let values: Vec<f64> = found.iter().map(|(_, value)| value / size).collect();
    let workers = distinct(found.iter().map(|(pick, _)| pick.op.workers));
    let same = if let [workers] = workers.as_slice() { *workers } else { None };
    together(&values).map(|values| (values, same))
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
            // Runs of one workload are repetitions; others of a series are lines of their own.
            let key = |pick: &Pick<'_>| (line_of(pick, &picks, runs), group_of(pick));
            let keys = distinct(own.iter().map(key));
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
                let xs = distinct(points.iter().map(|(x, _)| *x));
                let mut line = Series::new(name_in(&keys, wanted), look, Mark::Marked, Vec::new());
                for x in xs {
                    // Repetitions, and the trials of a search that are made again.
                    let same = points.iter().filter(|(own, _)| own.to_bits() == x.to_bits());
                    let values: Vec<f64> = same.map(|(_, y)| *y).collect();
                    together(&values).into_iter().for_each(|values| push(&mut line, x, values));
                }
                series.push(without_empty(line));
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
                note: format!("{} {}", whiskers(&series), note(&own, metric.names.plot.starts_with('p'))),
                series,
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

/// Latency against throughput, load by load: where it turns up is the knee. What a matrix varies beside the workers (sizes,
/// say) makes lines of their own; stages without workers in their names are the loads of one ladder.
pub fn knee(runs: &[PlotRun], options: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, options)?;
    let own_keys = ladders(&picks, runs);
    let keys = distinct(own_keys.iter().cloned());
    let mut pictures = Vec::new();
    for metric in metrics(options, &["p95"]).into_iter().filter(|metric| metric.unit == Unit::Ms) {
        let (size, unit) = unit(&picks, metric);
        let (mut series, mut without) = (Vec::new(), Vec::new());
        for (look, wanted) in keys.iter().enumerate() {
            let own = picks.iter().zip(&own_keys).filter(|(_, key)| *key == wanted);
            let own: Vec<&Pick<'_>> = own.map(|(pick, _)| pick).collect();
            let mut line = Series::new(name_in(&keys, wanted), look, Mark::Marked, Vec::new());
            let (points, counts) = loads_of(&own, metric, size);
            points.into_iter().for_each(|(x, y)| push(&mut line, x, y));
            if line.points.len() > 1 {
                without.extend(counts);
                series.push(without_empty(line));
            }
        }
        if series.is_empty() {
            continue;
        }
        let chart = Chart {
            title: title(options, format!("{} against throughput", metric.title)),
            x: Axis::new("Throughput (op/s)", Scale::FromZero),
            left: Axis::new(format!("{} ({unit})", metric.title), Scale::FromZero),
            right: None,
            note: format!(
                "One point per stage, joined by rising load; of several operations the slowest. {} {}{}",
                whiskers(&series),
                left_out(&without),
                note(&picks, true)
            ),
            series,
        };
        pictures.push(Picture::chart(format!("knee-{}", metric.names.plot), chart));
    }
    if pictures.is_empty() {
        let is_fio = |run: &PlotRun| run.record().is_some_and(|run| run.record.fio.is_some());
        let jobs =
            if runs.iter().any(is_fio) { "; of fio's jobs those that differ in depth alone" } else { "" };
        let text =
            format!("a knee needs two stages or more with a throughput and this metric (a time){jobs}");
        return Err(PlotError::Nothing(text));
    }
    Ok(pictures)
}

/// The ladder that each pick is a rung of: series, and group where stages of one group have several numbers of workers.
fn ladders(picks: &[Pick<'_>], runs: &[PlotRun]) -> Vec<(String, String)> {
    let kinds = kinds_of_jobs(picks);
    let group = |pick: &Pick<'_>, kind: &Option<String>| kind.clone().unwrap_or_else(|| group_of(pick));
    let each = picks.iter().zip(&kinds);
    let whole: Vec<_> = each.map(|(pick, kind)| (line_of(pick, picks, runs), group(pick, kind))).collect();
    let has_several = |key: &(String, String)| {
        let own = || picks.iter().zip(&whole).filter(|(_, own)| *own == key).map(|(pick, _)| pick);
        let place = |pick: &Pick<'_>| (pick.run_at, pick.stage_at);
        // Works of one stage may have workers of their own.
        let workers = |wanted: (usize, usize)| -> Option<u64> {
            own().filter(|pick| place(pick) == wanted).map(|pick| pick.op.workers).sum()
        };
        distinct(distinct(own().map(place)).into_iter().map(workers)).len() > 1
    };
    // Each series for itself: one of a matrix says nothing of the names of another.
    let laddered = distinct(whole.iter()).into_iter().filter(|key| has_several(key));
    let split: Vec<String> = laddered.map(|(line, _)| line.clone()).collect();
    let group_in = |((line, group), kind): (&(String, String), &Option<String>)| {
        let group = if split.contains(line) || kind.is_some() { group.clone() } else { String::new() };
        (line.clone(), group)
    };
    whole.iter().zip(&kinds).map(group_in).collect()
}

/// Of each pick of a run of fio what its jobs do, whatever their depth: only jobs that do the same are loads of one ladder.
/// As short as it tells them apart.
fn kinds_of_jobs(picks: &[Pick<'_>]) -> Vec<Option<String>> {
    let whole: Vec<Option<(String, String)>> = picks.iter().map(kind_of_jobs).collect();
    let alike = |short: &str| distinct(whole.iter().flatten().filter(|kind| kind.0 == short)).len() == 1;
    let name = |(short, full): &(String, String)| if alike(short) { short.clone() } else { full.clone() };
    whole.iter().map(|kind| kind.as_ref().map(name)).collect()
}

/// Pattern and block of the jobs of a stage of fio, and with all else that tells them apart; `None` for other runs.
fn kind_of_jobs(pick: &Pick<'_>) -> Option<(String, String)> {
    let fio = pick.run.record()?.record.fio.as_ref()?;
    let jobs: Vec<_> = fio.jobs.iter().filter(|job| job.stage == pick.stage.name).collect();
    let joined = |of: &dyn Fn(&FioJobRecord) -> String| distinct(jobs.iter().copied().map(of)).join(" + ");
    let short = |job: &FioJobRecord| match &job.block {
        Some(block) => format!("{} {block}", job.pattern),
        None => job.pattern.clone(),
    };
    let full = |job: &FioJobRecord| {
        // The share of reads of a mix is in no fact of a job: names alone tell mixes apart.
        let mix = if job.pattern.ends_with("rw") || job.pattern == "readwrite" {
            group_of(pick)
        } else {
            String::new()
        };
        let direct = if job.direct == Some(true) { "direct" } else { "" };
        let synced = if job.synced || job.synced_every.is_some() { "synced" } else { "" };
        let size = job.size_bytes.map(|bytes| format!("{bytes} B")).unwrap_or_default();
        let parts =
            [short(job), mix, job.engine.clone(), job.target.clone(), direct.into(), synced.into(), size];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    };
    (!jobs.is_empty()).then(|| (joined(&short), joined(&full)))
}

/// Throughput and time of each load of one series, in the order of the load: beyond the knee a store may do less than before.
fn loads_of(own: &[&Pick<'_>], metric: &Metric, size: f64) -> (Vec<(f64, Together)>, Vec<Without>) {
    let rate = named("throughput");
    let load = |pick: &Pick<'_>| (first_trial(&pick.joined_caption()).to_owned(), pick.op.workers);
    let (mut points, mut without): (Vec<(f64, f64, Together)>, Vec<Without>) = Default::default();
    for wanted in distinct(own.iter().map(|pick| load(pick))) {
        // One stage in each repetition: its operations together, the slowest of them.
        let mut stages: Vec<(f64, f64, f64)> = Vec::new();
        let same: Vec<&&Pick<'_>> = own.iter().filter(|pick| load(pick) == wanted).collect();
        let places = distinct(same.iter().map(|pick| (pick.run_at, pick.stage_at)));
        let all = places.len();
        for place in places {
            let own = || same.iter().filter(|pick| (pick.run_at, pick.stage_at) == place);
            let rates = own().filter_map(|pick| rate.and_then(|rate| finite(pick, rate)));
            let in_flight = own().filter_map(|pick| pick.op.result.in_flight_mean).sum();
            let slowest = own().filter_map(|pick| finite(pick, metric)).max_by(f64::total_cmp);
            stages.extend(slowest.map(|ms| (in_flight, rates.sum(), ms / size)));
        }
        without.push(Without { name: wanted.0, known: stages.len(), all });
        let mean = |of: fn(&(f64, f64, f64)) -> f64| together(&stages.iter().map(of).collect::<Vec<_>>());
        if let (Some(load), Some(x), Some(y)) = (mean(|s| s.0), mean(|s| s.1), mean(|s| s.2)) {
            points.push((load.mean, x.mean, y));
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    (points.into_iter().map(|(_, x, y)| (x, y)).collect(), without)
}

/// Every run against the first.
pub fn compare(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    if runs.len() < 2 {
        return Err(PlotError::Nothing("give two runs or more to compare".to_owned()));
    }
    let each_round = picks(runs, wishes)?;
    let mut picks = each_round.clone();
    for pick in &mut picks {
        pick.caption = pick.joined_caption();
    }
    // Runs of one workload are repetitions; others of a side are matched by position.
    let key = |pick: &Pick<'_>| (position(pick, runs), pick.caption.clone(), pick.label.clone());
    // Repetitions of one side are one bar.
    let sides = distinct(runs.iter().map(|run| run.series.as_str()));
    if sides.len() < 2 {
        return Err(PlotError::Nothing(
            "give two runs or more to compare; NAME=RUN,RUN is one side".to_owned(),
        ));
    }
    let mut first: Vec<&Pick<'_>> = Vec::new();
    for pick in picks.iter().filter(|pick| Some(&pick.run.series.as_str()) == sides.first()) {
        if !first.iter().any(|known| key(known) == key(pick)) {
            first.push(pick);
        }
    }
    let mut pictures = Vec::new();
    for metric in metrics(wishes, &["throughput", "response", "p99"]) {
        let (names, mut series, without) = bars_of(&picks, &first, &sides, metric, runs);
        if names.is_empty() {
            continue;
        }
        let bars: usize = series.iter().map(|bar| bar.points.len()).sum();
        add_numbers(&mut series, bars, names.len());
        let edges = (-0.5, float(names.len()) - 0.5);
        series.push(Series::new("", 0, Mark::Guide, vec![(edges.0, 1.0), (edges.1, 1.0)]));
        let base = sides.first().copied().unwrap_or_default();
        let highest = series.iter().flat_map(|bar| &bar.points).map(|(_, y)| *y).fold(1.0, f64::max);
        // As long as the picture is still one of the bars.
        let ends = series.iter().flat_map(|bar| &bar.errors).map(|(_, high)| high.min(highest * 2.5));
        let most = ends.fold(highest, f64::max);
        let chance = match whiskers(&series) {
            "" => "One value per run: without repetitions a difference may be chance.",
            whiskers => whiskers,
        };
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
                "{chance} {}{}",
                left_out(&without),
                note(&each_round, metric.names.plot.starts_with('p'))
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

/// How many repetitions of something have a value.
struct Without {
    name: String,
    known: usize,
    all: usize,
}

/// What is said of repetitions without a value, which a mean leaves out.
fn left_out(counts: &[Without]) -> String {
    let own = counts.iter().filter(|one| one.known > 0 && one.known < one.all);
    let all: Vec<String> = own.map(|one| format!("{} {} of {}", one.name, one.known, one.all)).collect();
    if all.is_empty() {
        return String::new();
    }
    let more =
        if all.len() > MOST_NAMED { format!(", and {} more", all.len() - MOST_NAMED) } else { String::new() };
    let named: Vec<String> = all.into_iter().take(MOST_NAMED).collect();
    format!("Repetitions that have this value: {}{more}. ", named.join(", "))
}

/// A place for each operation of the first side, and of each side its bars: what it came to over the first.
fn bars_of(
    picks: &[Pick<'_>],
    first: &[&Pick<'_>],
    sides: &[&str],
    metric: &Metric,
    runs: &[PlotRun],
) -> (Vec<String>, Vec<Series>, Vec<Without>) {
    let key = |pick: &Pick<'_>| (position(pick, runs), pick.caption.clone(), pick.label.clone());
    let (mut names, mut without) = (Vec::new(), Vec::new());
    let mut series: Vec<Series> = sides
        .iter()
        .enumerate()
        .map(|(look, side)| Series::new(*side, look, Mark::Bars, Vec::new()))
        .collect();
    for pick in first {
        let of_side = |side: &&str| {
            let same = picks.iter().filter(|other| other.run.series == **side && key(other) == key(pick));
            let values: Vec<Option<f64>> = same.map(|other| finite(other, metric)).collect();
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            let name = format!("{side} {}", name_in_first(pick, first));
            (together(&known), Without { name, known: known.len(), all: values.len() })
        };
        let (others, counts): (Vec<Option<Together>>, Vec<Without>) = sides.iter().map(of_side).unzip();
        let Some(base) = others.first().copied().flatten().map(|base| base.mean).filter(|mean| *mean > 0.0)
        else {
            continue;
        };
        if others.iter().flatten().count() < 2 {
            continue;
        }
        let at = float(names.len());
        without.extend(counts);
        names.push(name_in_first(pick, first));
        for (bar, value) in series.iter_mut().zip(others) {
            value.into_iter().for_each(|value| push(bar, at, value.over(base)));
        }
    }
    (names, series.into_iter().map(without_empty).collect(), without)
}

fn name_in_first(pick: &Pick<'_>, first: &[&Pick<'_>]) -> String {
    let own: Vec<Pick<'_>> = first.iter().map(|pick| (*pick).clone()).collect();
    let stages = distinct(own.iter().map(|pick| pick.caption.as_str())).len();
    let operations = labels(&own).len();
    let workloads = distinct(own.iter().map(|pick| pick.run.name.as_str())).len();
    let name = match (stages > 1, operations > 1) {
        (true, true) => format!("{} {}", name_of(pick, &own), pick.label),
        (true, false) => name_of(pick, &own),
        _ => pick.label.clone(),
    };
    if workloads > 1 { format!("{} {name}", pick.run.name) } else { name }
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
        let top = |at: usize, y: f64| bar.errors.get(at).map_or(y, |(_, high)| *high);
        let words = bar.points.iter().enumerate();
        bar.words = words.map(|(at, (x, y))| (x + aside, top(at, *y), factor(*y))).collect();
    }
}
