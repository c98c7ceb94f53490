//! The shape of response times: shares against time, tails, heat maps, sizes of objects.

use super::response::{BEYOND, distributions, frames};
use super::{Pick, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series, ShadedCell};
use crate::plot::metric::time_unit;
use crate::plot::source::HeatSlice;
use crate::plot::{Distribution, Picture, PlotError, PlotRun, Wishes as Options};

/// Rows and at most so many columns of a heat map.
const ROWS: usize = 48;
const MOST_COLUMNS: usize = 240;

#[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Share of operations that took no longer, against time.
pub fn ecdf(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    against_time(runs, options, "ecdf", "Share that took no longer", |distribution| {
        let total = float(distribution.count());
        let mut so_far = 0;
        let step = |(ms, count): &(f64, u64)| {
            so_far += count;
            (*ms, float(so_far) / total)
        };
        distribution.steps.iter().filter(|(ms, _)| ms.is_finite()).map(step).collect()
    })
}

/// Share of operations that took longer, on a log axis, which shows the tail.
pub fn ccdf(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    against_time(runs, options, "ccdf", "Share that took longer", |distribution| {
        let total = distribution.count();
        let mut so_far = 0;
        let step = |(ms, count): &(f64, u64)| {
            so_far += count;
            (*ms, total - so_far)
        };
        let beyond = distribution.steps.iter().filter(|(ms, _)| ms.is_finite()).map(step);
        beyond
            .take_while(|(_, left)| *left >= BEYOND)
            .map(|(ms, left)| (ms, float(left) / float(total)))
            .collect()
    })
}

fn against_time(
    runs: &[PlotRun],
    options: &Options,
    kind: &str,
    heading: &str,
    points_of: impl Fn(&Distribution) -> Vec<(f64, f64)>,
) -> Result<Vec<Picture>, PlotError> {
    let found = distributions(&picks(runs, options)?)?;
    let is_tail = kind == "ccdf";
    let mut pictures = Vec::new();
    for (name, own) in frames(&found) {
        let picks: Vec<Pick<'_>> = own.iter().map(|(pick, _)| pick.clone()).collect();
        let curves: Vec<Vec<(f64, f64)>> =
            own.iter().map(|(_, distribution)| points_of(distribution)).collect();
        if curves.iter().all(|curve| curve.len() < 2) {
            continue;
        }
        let all = || curves.iter().flatten().map(|(ms, _)| *ms).filter(|ms| *ms > 0.0);
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let (size, unit) = time_unit(most);
        let series = curves.into_iter().zip(&picks).enumerate().map(|(look, (curve, pick))| {
            let points = curve.into_iter().map(|(ms, share)| (ms / size, share)).collect();
            Series::new(name_of(pick, &picks), look, Mark::Levels, points)
        });
        let mut left = Axis::new(heading, if is_tail { Scale::Log } else { Scale::FromZero });
        left.at_least = Some(1.0);
        let ends = if is_tail {
            format!("A curve ends where fewer than {BEYOND} operations lie beyond. ")
        } else {
            String::new()
        };
        let chart = Chart {
            title: title(options, format!("{heading}: {name}")),
            x: Axis::new(
                format!("Response time ({unit})"),
                if most / least > 5.0 { Scale::Log } else { Scale::FromZero },
            ),
            left,
            right: None,
            series: series.collect(),
            note: format!("{ends}{}", note(&picks, true)),
        };
        pictures.push(Picture::chart(format!("{kind}-{name}"), chart));
    }
    if pictures.is_empty() {
        return Err(PlotError::Nothing(format!("a curve needs more than {BEYOND} operations")));
    }
    Ok(pictures)
}

/// How many operations took how long when.
pub fn heat(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    let mut pictures = Vec::new();
    for pick in picks(runs, options)? {
        let slices = pick.run.heat(pick.stage_at, pick.op)?;
        let Some((cells, unit)) = cells_of(&slices) else { continue };
        let mut series = Series::new("operations", 0, Mark::Cells, Vec::new());
        let most = cells.iter().map(|cell| cell.count).max().unwrap_or(0);
        series.cells = cells;
        let runs = if runs.len() > 1 { format!("{}, ", pick.run.label) } else { String::new() };
        let chart = Chart {
            title: title(
                options,
                format!("Response times of {} over time: {runs}stage {}", pick.label, pick.caption),
            ),
            x: Axis::new("Time since the load began (s)", Scale::FromZero),
            left: Axis::new(format!("Response time ({unit})"), Scale::Log),
            right: None,
            series: vec![series],
            note: format!(
                "The darker, the more operations, by their logarithm; darkest: {most}. Ramps are included. {}",
                note(std::slice::from_ref(&pick), true)
            ),
        };
        let run = if runs.is_empty() { String::new() } else { format!("{}-", pick.run.label) };
        pictures.push(Picture::chart(format!("heat-{run}{}-{}", pick.caption, pick.label), chart));
    }
    if pictures.is_empty() {
        let text = "a heat map needs the histogram log of a run, with two intervals or more";
        return Err(PlotError::Nothing(text.to_owned()));
    }
    Ok(pictures)
}

/// Rectangles, and the unit of their times; `None` for fewer than two intervals.
fn cells_of(slices: &[HeatSlice]) -> Option<(Vec<ShadedCell>, &'static str)> {
    let times = || slices.iter().flat_map(|slice| &slice.steps).map(|(ms, _)| *ms).filter(|ms| *ms > 0.0);
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let end = slices.iter().map(|slice| slice.start_s + slice.length_s).fold(0.0, f64::max);
    let width = slices.iter().map(|slice| slice.length_s).fold(0.0, f64::max);
    if most <= 0.0 || width <= 0.0 || end < 1.5 * width {
        return None;
    }
    let (size, unit) = time_unit(most);
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let (rows, most_columns) = (ROWS as f64, MOST_COLUMNS as f64);
    let width = width * (end / width / most_columns).ceil().max(1.0);
    let low = (least / size).log10();
    let high = (most / size).log10().max(low + 0.3) + 1e-9;
    let edge = |row: f64| 10_f64.powf(low + (high - low) * row / rows);
    let mut counts = std::collections::BTreeMap::<(u32, u32), u64>::new();
    for slice in slices {
        // An interval that a ramp cut short lies in one column: its middle says in which.
        let column = ((slice.start_s + slice.length_s / 2.0) / width).floor().max(0.0);
        for (ms, count) in &slice.steps {
            let row = (((ms / size).max(f64::MIN_POSITIVE).log10() - low) / (high - low) * rows)
                .floor()
                .clamp(0.0, rows - 1.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred")]
            let place = (column as u32, row as u32);
            *counts.entry(place).or_default() += count;
        }
    }
    let darkest = counts.values().copied().max().map_or(1.0, float).ln_1p();
    let cell = |((column, row), count): ((u32, u32), u64)| {
        let from = f64::from(column) * width;
        let (below, above) = (edge(f64::from(row)), edge(f64::from(row) + 1.0));
        ShadedCell {
            x: (from, (from + width).min(end)),
            y: (below, above),
            shade: float(count).ln_1p() / darkest,
            count,
        }
    };
    Some((counts.into_iter().map(cell).collect(), unit))
}

/// Times by size of object: the median, with a line up to the 99th percentile.
pub fn sizes(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, options)?;
    let mut pictures = Vec::new();
    for label in super::labels(&picks) {
        let own: Vec<Pick<'_>> = picks
            .iter()
            .filter(|pick| pick.label == label && pick.op.result.size_classes.len() > 1)
            .cloned()
            .collect();
        let classes = || own.iter().flat_map(|pick| &pick.op.result.size_classes);
        let mut edges: Vec<(u64, String)> =
            classes().map(|class| (class.least_bytes, class.label.clone())).collect();
        edges.sort();
        edges.dedup();
        let most = classes()
            .filter_map(|class| class.sums.response_ms.p99.or(class.sums.response_ms.max))
            .fold(0.0, f64::max);
        if edges.is_empty() || most <= 0.0 {
            continue;
        }
        let (size, unit) = time_unit(most);
        let mut series = Vec::new();
        for (look, pick) in own.iter().enumerate() {
            let mut dots = Series::new(name_of(pick, &own), look, Mark::Marked, Vec::new());
            dots.is_span = true;
            for class in &pick.op.result.size_classes {
                let times = &class.sums.response_ms;
                let at = edges.iter().position(|(least, _)| *least == class.least_bytes);
                let (Some(at), Some(p50)) = (at, times.p50) else { continue };
                #[expect(clippy::cast_precision_loss, reason = "a few classes")]
                dots.points.push((at as f64, p50 / size));
                dots.errors.push((p50 / size, times.p99.or(times.p95).unwrap_or(p50) / size));
            }
            series.push(dots);
        }
        if series.iter().all(|dots| dots.points.is_empty()) {
            continue;
        }
        let chart = Chart {
            title: title(options, format!("Response time of {label} by size of object")),
            x: Axis::new("", Scale::Names(edges.into_iter().map(|(_, label)| label).collect())),
            left: Axis::new(format!("Response time ({unit})"), Scale::Log),
            right: None,
            series,
            note: format!(
                "Marks: median; lines: up to the 99th percentile (the 95th, or none, where there are too few). {}",
                note(&own, true)
            ),
        };
        pictures.push(Picture::chart(format!("sizes-{label}"), chart));
    }
    if pictures.is_empty() {
        return Err(PlotError::Nothing(
            "all objects are of one size, or the archive does not say".to_owned(),
        ));
    }
    Ok(pictures)
}
