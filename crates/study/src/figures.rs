//! The paper's figures redrawn: each kind is a row of [`KINDS`]. Intervals over repetitions, published points beside, levels
//! across; what cannot be believed is marked, what was not measured is named.

mod across;
mod courses;
mod kinds;
mod limits;
mod lines;
mod missing;

use std::collections::BTreeSet;

use cosmark_metrics::nodes::costs::COSTS;
use cosmark_metrics::results::METRICS;
use cosmark_report::plot::chart::{Axis, Chart, Scale, Series};
use cosmark_report::plot::chart_svg;

use crate::course::Courses;
use crate::design::Design;
use crate::measured::Observation;
use crate::metric::{DISTANCES, is_bandwidth, own_title};
use crate::page::Part;
use crate::published::Published;
use crate::spec::{Figure, FigureKind};

/// More lines nobody tells apart.
const MOST_LINES: usize = 12;

/// A picture that is wanted, and what there is to draw it from.
#[derive(Clone, Copy)]
struct Subject<'a> {
    design: &'a Design<'a>,
    figure: &'a Figure,
    all: &'a [Observation],
    published: &'a [Published],
    courses: &'a dyn Courses,
}

/// A kind of picture.
struct Kind {
    kind: FigureKind,
    /// `None` where nothing of it was measured.
    draw: fn(&Subject<'_>) -> Option<Sketch>,
}

/// Every kind of picture.
const KINDS: &[Kind] = &[
    Kind { kind: FigureKind::Lines, draw: kinds::lines },
    Kind { kind: FigureKind::Bars, draw: kinds::bars },
    Kind { kind: FigureKind::Stacked, draw: kinds::stacked },
    Kind { kind: FigureKind::Knee, draw: kinds::knee },
    Kind { kind: FigureKind::Percentiles, draw: kinds::percentiles },
    Kind { kind: FigureKind::Formulas, draw: kinds::formulas },
    Kind { kind: FigureKind::OverTime, draw: courses::over_time },
    Kind { kind: FigureKind::OverObjects, draw: courses::over_objects },
    Kind { kind: FigureKind::Distances, draw: kinds::distances },
];

/// What a kind draws: axes, series, and what a reader has to know.
struct Sketch {
    x: Axis,
    left: Axis,
    series: Vec<Series>,
    note: Vec<String>,
}

/// Bandwidth is drawn in megabytes per second.
fn scale_of(metric: &str) -> f64 {
    if is_bandwidth(metric) { 1e-6 } else { 1.0 }
}

/// Unit and title of a figure of a run.
#[must_use]
pub fn axis_label(metric: &str) -> String {
    if metric == "bandwidth_bytes_per_s" {
        return "Bandwidth (MB/s)".to_owned();
    }
    if let Some(title) = own_title(metric) {
        return title;
    }
    if DISTANCES.iter().any(|(id, _)| *id == metric) {
        return format!("Share of requests more than {} blocks apart", beyond(metric));
    }
    if let Some(percentile) = percentile_of(metric) {
        return format!("{percentile} response time (ms)");
    }
    METRICS.iter().chain(COSTS).find(|one| one.id == metric).map_or_else(
        || metric.to_owned(),
        |one| {
            let sign = match one.unit.sign().trim() {
                "/s" => "operations/s".to_owned(),
                sign => sign.to_owned(),
            };
            if sign.is_empty() { one.title.to_owned() } else { format!("{} ({sign})", one.title) }
        },
    )
}

/// How many blocks the id of a share of distances names.
fn beyond(id: &str) -> String {
    let digits: Vec<char> = id.chars().filter(char::is_ascii_digit).collect();
    let groups: Vec<String> = digits.rchunks(3).rev().map(|three| three.iter().collect()).collect();
    groups.join(" ")
}

/// What the percentile of an id is called: the median, the 95th percentile.
fn percentile_of(id: &str) -> Option<String> {
    let digits = id.strip_prefix("response_ms.p")?.replace('_', ".");
    let number: f64 = digits.parse().ok()?;
    let ending = match digits.as_bytes() {
        [.., b'1', b'1' | b'2' | b'3'] => "th",
        [.., b'1'] => "st",
        [.., b'2'] => "nd",
        [.., b'3'] => "rd",
        _ => "th",
    };
    Some(if number == 50.0 { "Median".to_owned() } else { format!("{digits}{ending} percentile of the") })
}

/// What a reader has to know of points and whiskers; `None` where the runs of a picture are several and it shows no interval.
fn repetitions(subject: &Subject<'_>, series: &[Series]) -> Option<String> {
    let figure = subject.figure;
    if matches!(figure.kind, FigureKind::OverTime | FigureKind::OverObjects) {
        return None;
    }
    let has_intervals = |one: &Series| one.errors.iter().any(|(low, high)| low < high);
    if series.iter().any(has_intervals) {
        return Some("values are medians of the runs, whiskers their 95 % intervals".to_owned());
    }
    let own = subject.all.iter().filter(|one| one.is_in(&figure.cells));
    let runs: BTreeSet<u32> = own.map(|one| one.repetition).collect();
    (runs.len() == 1).then(|| "one run of each cell: no intervals".to_owned())
}

/// Draws every figure; of one for which nothing was measured it is said why. Before anything is measured there are none.
#[must_use]
pub fn figures(
    design: &Design<'_>,
    all: &[Observation],
    published: &[Published],
    courses: &dyn Courses,
) -> Vec<Part> {
    if all.is_empty() {
        return Vec::new();
    }
    let part = |(at, figure): (usize, &Figure)| {
        let subject = Subject { design, figure, all, published, courses };
        draw(&subject, at).unwrap_or_else(|| {
            let why = missing::words(&subject).unwrap_or_else(|| "its figures are not known".to_owned());
            Part::Text(format!("Not drawn - {}: {why}.", figure.title))
        })
    };
    design.spec.figures.iter().enumerate().map(part).collect()
}

/// The cells of a picture in which a search found no load, as words; `None` where there is no such cell.
fn lost(subject: &Subject<'_>) -> Option<String> {
    let is_lost = |one: &&Observation| one.no_knee && one.is_in(&subject.figure.cells);
    let names = subject.all.iter().filter(is_lost).map(|one| subject.design.named(&one.levels));
    let names: Vec<String> = names.collect::<BTreeSet<_>>().into_iter().collect();
    (!names.is_empty()).then(|| format!("a search found no load, in a run at least, of {}", names.join(", ")))
}

fn draw(subject: &Subject<'_>, at: usize) -> Option<Part> {
    let figure = subject.figure;
    let kind = KINDS.iter().find(|kind| kind.kind == figure.kind)?;
    let mut sketch = (kind.draw)(subject)?;
    let (limits, without) = limits::series(subject, &sketch.series);
    sketch.series.extend(limits);
    sketch.note.extend(without);
    sketch.note.extend(missing::words(subject));
    sketch.note.extend(missing::not_run(subject));
    sketch.note.extend(lost(subject));
    sketch.note.extend(lines::held(subject));
    sketch.note.extend(repetitions(subject, &sketch.series));
    let chart = Chart {
        title: figure.title.clone(),
        x: sketch.x,
        left: sketch.left,
        right: None,
        series: sketch.series,
        note: sketch.note.join("; "),
    };
    Some(Part::Figure {
        name: format!("figure-{}", at + 1),
        caption: figure.title.clone(),
        svg: chart_svg(&chart),
    })
}

/// The vertical axis of a figure.
fn left_axis(figure: &Figure) -> Axis {
    let scale = if figure.log { Scale::Log } else { Scale::FromZero };
    let unit = axis_label(&figure.metric);
    let label = match &figure.to {
        None if figure.times == 1.0 => unit,
        None => format!("{} x {unit}", crate::claims::short(figure.times)),
        // A ratio has no unit.
        Some(_) => format!("{}, ratio", unit.split(" (").next().unwrap_or(&unit)),
    };
    Axis::new(label, scale)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
