//! The kinds of pictures: each makes axes and series of what was measured.

use cosmark_metrics::results::METRICS;
use cosmark_report::plot::chart::{Axis, Mark, Scale, Series};

use super::across::Across;
use super::lines::{self, Dot, Drawn, groups, levels, overlay, values};
use super::{MOST_LINES, Sketch, Subject, axis_label, left_axis};
use crate::claims::{as_printed, short};
use crate::formula::efficiency;
use crate::metric::{BINS, bin_id};
use crate::select::Found;
use crate::spec::{Efficiency, OneOrMore, Overlay};

/// Fewer loads have no knee.
const LEAST_LOADS: usize = 3;

/// As many parts that are doubted are named.
const MOST_NAMED: usize = 6;

/// The throughput, which a knee has on its horizontal axis.
const RATE: &str = "throughput_per_s";

/// A line with marks for each chosen level.
pub fn lines(subject: &Subject<'_>) -> Option<Sketch> {
    let lines = measured(lines::lines(subject))?;
    let across = Across::of(subject, &subject.figure.x, &lines, subject.figure.log);
    let mut note = notes(&lines, true);
    let mut series = Vec::new();
    for (look, line) in lines.iter().take(MOST_LINES).enumerate() {
        series.extend(marked(line, look, &|dot| across.x(&dot.level), subject.figure.log));
        let Some((points, scaled)) = overlay(subject, line) else { continue };
        let places: Vec<(f64, f64)> = points.iter().map(|(level, value)| (across.x(level), *value)).collect();
        series.extend(beside(line, look, places));
        if scaled != 1.0 {
            note.push(format!("{}: published values x {}", line.name, short(scaled)));
        }
    }
    note.extend(off_the_axis(subject, &lines));
    let series = joined(series, &across);
    Some(Sketch { x: across.axis(), left: left_axis(subject.figure), series, note })
}

/// Series whose points are joined only where there is something between their levels.
fn joined(mut series: Vec<Series>, across: &Across) -> Vec<Series> {
    if !across.is_ordered() {
        series.retain(|one| one.mark != Mark::Guide);
        for one in series.iter_mut().filter(|one| one.mark == Mark::Marked) {
            one.mark = Mark::Dots;
        }
    }
    series
}

/// Bars side by side.
pub fn bars(subject: &Subject<'_>) -> Option<Sketch> {
    let lines = measured(lines::lines(subject))?;
    let across = Across::of(subject, &subject.figure.x, &lines, false);
    let mut note = notes(&lines, false);
    let shown = lines.len().min(MOST_LINES);
    let mut series = Vec::new();
    for (look, line) in lines.iter().take(MOST_LINES).enumerate() {
        let mut bar = Series::new(line.name.clone(), look, Mark::Bars, places(line, &across));
        bar.errors = line.points.iter().map(|dot| dot.ends.unwrap_or((f64::NAN, f64::NAN))).collect();
        bar.doubted = line.points.iter().filter(|dot| dot.is_false).map(|dot| across.x(&dot.level)).collect();
        series.push(bar);
        let Some((points, scaled)) = overlay(subject, line) else { continue };
        let places = points.iter().map(|(level, value)| (across.x(level), *value)).collect();
        // Bars of their own, since a mark at a name would stand between all bars.
        series.push(Series::new(format!("{} published", line.name), shown + look, Mark::Bars, places));
        if scaled != 1.0 {
            note.push(format!("{}: published values x {}", line.name, short(scaled)));
        }
    }
    Some(Sketch { x: across.axis(), left: left_axis(subject.figure), series, note })
}

/// Parts of a whole, one upon the other.
pub fn stacked(subject: &Subject<'_>) -> Option<Sketch> {
    let lines = measured(lines::lines(subject))?;
    let across = Across::of(subject, &subject.figure.x, &lines, false);
    let mut note = notes(&lines, false);
    let part = |(look, line): (usize, &Drawn)| {
        Series::new(line.name.clone(), look, Mark::Stacked, places(line, &across))
    };
    let series = lines.iter().take(MOST_LINES).enumerate().map(part).collect();
    // Hatching tells the parts apart: what is doubted is named.
    let doubted = lines
        .iter()
        .flat_map(|line| line.points.iter().filter(|dot| dot.is_false).map(move |dot| (line, dot)));
    let names: Vec<String> = doubted.map(|(line, dot)| format!("{} at {}", line.name, dot.level)).collect();
    if !names.is_empty() {
        let more = names.len().saturating_sub(MOST_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let named: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
        note.push(format!("FALSE: {}{more}", named.join(", ")));
    }
    if lines.len() > MOST_LINES {
        note.push("the stacks are without them".to_owned());
    }
    Some(Sketch { x: across.axis(), left: left_axis(subject.figure), series, note })
}

/// A load of a knee.
struct Load {
    dot: Dot,
    /// Throughput, in the unit of its axis.
    rate: f64,
    is_false: bool,
}

/// A time over throughput, load by load.
pub fn knee(subject: &Subject<'_>) -> Option<Sketch> {
    let figure = subject.figure;
    let factor = subject.design.spec.factors.iter().find(|factor| factor.name == figure.x);
    let of = factor.and_then(|factor| factor.label.as_ref()).unwrap_or(&figure.x);
    let mut note = Vec::new();
    let (mut series, mut lines) = (Vec::new(), Vec::new());
    for (look, (name, cells)) in groups(subject).into_iter().enumerate() {
        let loads: Vec<Load> = levels(subject.design, subject.all, &figure.x, &cells)
            .into_iter()
            .filter_map(|level| {
                let mut own = cells.clone();
                own.insert(figure.x.clone(), OneOrMore(vec![level.clone()]));
                let rate = Dot::of(level.clone(), &values(subject, &own, RATE, 1.0))?;
                let time = values(subject, &own, &figure.metric, figure.times);
                let dot = Dot::of(level, &time)?;
                let is_false = rate.is_false || dot.is_false;
                Some(Load { rate: rate.value, is_false, dot: Dot { is_false, ..dot } })
            })
            .collect();
        if loads.is_empty() {
            continue;
        }
        let at = knee_of(&loads);
        note.extend(at.is_none().then(|| format!("{name}: no knee among its loads")));
        let rates: Vec<f64> = loads.iter().map(|load| load.rate).collect();
        let levels: Vec<String> = loads.iter().map(|load| load.dot.level.clone()).collect();
        let points = loads.into_iter().map(|load| load.dot).collect();
        let line = Drawn { name, cells, metric: figure.metric.clone(), times: figure.times, points };
        if look < MOST_LINES {
            let x = |dot: &Dot| {
                let at = levels.iter().position(|level| *level == dot.level);
                at.and_then(|at| rates.get(at)).copied().unwrap_or(f64::NAN)
            };
            let mut marks = marked(&line, look, &x, figure.log);
            if let (Some(at), Some(main)) = (at, marks.iter_mut().find(|one| one.mark == Mark::Marked))
                && let (Some(dot), Some(rate)) = (line.points.get(at), rates.get(at))
            {
                main.words.push((*rate, dot.value, format!("knee: {} {of}", dot.level)));
            }
            series.extend(marks);
            series.extend(published_knee(subject, &line, look, &rates, &mut note));
        }
        lines.push(line);
    }
    let lines = measured(lines)?;
    note.extend(notes(&lines, true));
    note.push("knee: the load at which throughput over this time is greatest".to_owned());
    let x_scale = if figure.log { Scale::Log } else { Scale::FromZero };
    Some(Sketch { x: Axis::new(axis_label(RATE), x_scale), left: left_axis(figure), series, note })
}

/// The load at which throughput over time is greatest, the power of Kleinrock (1979); at the first and at the last load it is
/// not known to be a knee.
fn knee_of(loads: &[Load]) -> Option<usize> {
    let known: Vec<(usize, f64)> = loads
        .iter()
        .enumerate()
        .filter(|(_, load)| !load.is_false && !load.dot.is_too_long && load.dot.value > 0.0)
        .map(|(at, load)| (at, load.rate / load.dot.value))
        .collect();
    let at = known.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| *at)?;
    let (first, last) = (known.first()?.0, known.last()?.0);
    (known.len() >= LEAST_LOADS && at != first && at != last).then_some(at)
}

/// The published loads of a line, where both their throughput and their time are known.
fn published_knee(
    subject: &Subject<'_>,
    line: &Drawn,
    look: usize,
    rates: &[f64],
    note: &mut Vec<String>,
) -> Vec<Series> {
    let figure = subject.figure;
    let (Some(times), Some(there)) =
        (lines::published(subject, line, &figure.metric), lines::published(subject, line, RATE))
    else {
        return Vec::new();
    };
    let of = |level: &String| there.iter().find(|(other, _)| other == level).map(|(_, rate)| *rate);
    let both: Vec<(f64, f64)> =
        times.iter().filter_map(|(level, time)| Some((of(level)? / line.times, *time))).collect();
    let most = both.iter().map(|point| point.0).fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let scaled = match figure.published {
        Overlay::Peak => rates.iter().copied().fold(0.0, f64::max) / most,
        Overlay::Plain | Overlay::None => 1.0,
    };
    if scaled != 1.0 {
        note.push(format!("{}: published throughput x {}", line.name, short(scaled)));
    }
    beside(line, look, both.into_iter().map(|(rate, time)| (rate * scaled, time)).collect()).to_vec()
}

/// Percentiles of the response time that a run can have, as shares.
fn percentiles_of_a_run() -> Vec<(&'static str, f64)> {
    let share = |id: &'static str| {
        let digits = id.strip_prefix("response_ms.p")?.replace('_', ".");
        Some((id, digits.parse::<f64>().ok()? / 100.0))
    };
    METRICS.iter().filter_map(|metric| share(metric.id)).collect()
}

/// Percentiles of the response time, each line those of its cells.
pub fn percentiles(subject: &Subject<'_>) -> Option<Sketch> {
    let figure = subject.figure;
    let known = percentiles_of_a_run();
    let place = |id: &str| known.iter().find(|(one, _)| *one == id).map_or(f64::NAN, |(_, share)| *share);
    let mut lines = Vec::new();
    let mut series = Vec::new();
    for (look, (name, cells)) in groups(subject).into_iter().enumerate() {
        let dot =
            |(id, _): &(&str, f64)| Dot::of((*id).to_owned(), &values(subject, &cells, id, figure.times));
        let points: Vec<Dot> = known.iter().filter_map(dot).collect();
        let line = Drawn { name, cells, metric: figure.metric.clone(), times: figure.times, points };
        if look < MOST_LINES && !line.points.is_empty() {
            series.extend(marked(&line, look, &|dot| place(&dot.level), figure.log));
            let there = published_percentiles(subject, &line, &known);
            if !there.is_empty() {
                series.extend(beside(&line, look, there));
            }
        }
        lines.push(line);
    }
    let lines = measured(lines)?;
    let scale = if figure.log { Scale::Log } else { Scale::FromZero };
    let mut note = notes(&lines, true);
    note.extend(off_the_axis(subject, &lines));
    Some(Sketch {
        x: Axis::new("Share of operations", Scale::Percentile),
        left: Axis::new("Response time (ms)", scale),
        series,
        note,
    })
}

fn published_percentiles(subject: &Subject<'_>, line: &Drawn, known: &[(&str, f64)]) -> Vec<(f64, f64)> {
    if subject.figure.published == Overlay::None {
        return Vec::new();
    }
    let at = |(id, share): &(&str, f64)| {
        let found = subject.published.iter().find(|one| {
            let is_here =
                line.cells.iter().all(|(factor, own)| one.cells.get(factor).is_some_and(|some| some == own));
            one.metric == *id && one.to.is_empty() && is_here
        });
        found.map(|one| (*share, one.value * line.times))
    };
    known.iter().filter_map(at).collect()
}

/// Efficiencies over their factor, each with its published value across.
pub fn formulas(subject: &Subject<'_>) -> Option<Sketch> {
    let (design, figure) = (subject.design, subject.figure);
    let find = |name: &String| design.spec.efficiencies.iter().find(|one| one.name == *name);
    let chosen: Vec<&Efficiency> = figure.formulas.iter().filter_map(find).collect();
    let over = chosen.first()?.over.clone();
    let factor = design.spec.factors.iter().find(|factor| factor.name == over)?;
    let line = |one: &&Efficiency| {
        let dot = |level: &str| {
            let (values, is_false) = efficiency(design, subject.all, one, level);
            let found: Vec<Found> = values
                .into_iter()
                .map(|value| Found { value: value * figure.times, is_false, is_too_long: false })
                .collect();
            Dot::of(level.to_owned(), &found)
        };
        let points = factor.levels.iter().map(crate::spec::Level::name).filter_map(dot).collect();
        let (cells, metric) = (one.of.cells.clone(), one.of.metric.clone());
        Drawn { name: one.name.clone(), cells, metric, times: figure.times, points }
    };
    let all: Vec<Drawn> = chosen.iter().map(line).collect();
    let lines = measured(all)?;
    let across = Across::of(subject, &over, &lines, figure.log);
    let mut series = Vec::new();
    for (look, line) in lines.iter().take(MOST_LINES).enumerate() {
        series.extend(marked(line, look, &|dot| across.x(&dot.level), figure.log));
        let published = chosen.iter().find(|one| one.name == line.name).and_then(|one| one.published);
        let first = line.points.first().map(|dot| across.x(&dot.level));
        if let (Some(value), Some(x)) = (published.map(|value| value * figure.times), first) {
            let name = format!("{} published: {}", line.name, as_printed(value));
            series.push(Series::new(name, look, Mark::Limit, vec![(x, value)]));
        }
    }
    let mut note = notes(&lines, true);
    note.extend(off_the_axis(subject, &lines));
    let scale = if figure.log { Scale::Log } else { Scale::FromZero };
    let series = joined(series, &across);
    Some(Sketch { x: across.axis(), left: Axis::new("Ratio", scale), series, note })
}

/// Shares of the distances between successive requests of a disk, bin by bin.
pub fn distances(subject: &Subject<'_>) -> Option<Sketch> {
    let mut lines = Vec::new();
    for (name, cells) in groups(subject) {
        let bin = |(at, (_, label)): (usize, &(u32, &str))| {
            Dot::of((*label).to_owned(), &values(subject, &cells, &bin_id(at), 1.0))
        };
        let points: Vec<Dot> = BINS.iter().enumerate().filter_map(bin).collect();
        lines.push(Drawn { name, cells, metric: String::new(), times: 1.0, points });
    }
    let lines = measured(lines)?;
    let place = |label: &str| {
        let at = BINS.iter().position(|(_, name)| *name == label);
        #[expect(clippy::cast_precision_loss, reason = "a few bins")]
        let place = at.map_or(f64::NAN, |at| at as f64);
        place
    };
    let bars = |(look, line): (usize, &Drawn)| {
        let points = line.points.iter().map(|dot| (place(&dot.level), dot.value)).collect();
        let mut bar = Series::new(line.name.clone(), look, Mark::Bars, points);
        bar.errors = line.points.iter().map(|dot| dot.ends.unwrap_or((f64::NAN, f64::NAN))).collect();
        bar.doubted = line.points.iter().filter(|dot| dot.is_false).map(|dot| place(&dot.level)).collect();
        bar
    };
    let names = BINS.iter().map(|(_, label)| (*label).to_owned()).collect();
    Some(Sketch {
        x: Axis::new("Blocks of 512 bytes between successive requests", Scale::Names(names)),
        left: Axis::new("Share of requests", Scale::FromZero),
        series: lines.iter().take(MOST_LINES).enumerate().map(bars).collect(),
        note: notes(&lines, false),
    })
}

/// The lines, where one of them has a point.
fn measured(mut lines: Vec<Drawn>) -> Option<Vec<Drawn>> {
    lines.retain(|line| !line.points.is_empty());
    (!lines.is_empty()).then_some(lines)
}

fn places(line: &Drawn, across: &Across) -> Vec<(f64, f64)> {
    line.points.iter().map(|dot| (across.x(&dot.level), dot.value)).collect()
}

/// The line itself with its intervals, and words at points that are FALSE or too long.
fn marked(line: &Drawn, look: usize, x_of: &dyn Fn(&Dot) -> f64, by_decades: bool) -> Vec<Series> {
    // What an axis by decades cannot have breaks the line.
    let y_of = |dot: &Dot| if by_decades && dot.value <= 0.0 { f64::NAN } else { dot.value };
    let points = line.points.iter().map(|dot| (x_of(dot), y_of(dot))).collect();
    let mut main = Series::new(line.name.clone(), look, Mark::Marked, points);
    let end = |end: f64| if by_decades && end <= 0.0 { f64::NAN } else { end };
    if line.points.iter().any(|dot| dot.ends.is_some()) {
        let ends = |dot: &Dot| dot.ends.map_or((f64::NAN, f64::NAN), |(low, high)| (end(low), end(high)));
        main.errors = line.points.iter().map(ends).collect();
    }
    let word = |dot: &Dot| match (dot.is_false, dot.is_too_long) {
        (true, _) => Some("FALSE"),
        (false, true) => Some("too long"),
        (false, false) => None,
    };
    let at_word = |dot: &Dot| Some((x_of(dot), y_of(dot), word(dot)?.to_owned()));
    main.words = line.points.iter().filter(|dot| y_of(dot).is_finite()).filter_map(at_word).collect();
    let hollow: Vec<(f64, f64)> = line
        .points
        .iter()
        .filter(|dot| dot.is_too_long || dot.is_false)
        .map(|dot| (x_of(dot), y_of(dot)))
        .collect();
    let mut all = vec![main];
    if !hollow.is_empty() {
        // Over the marks of the line.
        all.push(Series::new("", look, Mark::Hollow, hollow));
    }
    all
}

/// Published points: hollow marks, with a dotted line that leads the eye.
fn beside(line: &Drawn, look: usize, places: Vec<(f64, f64)>) -> [Series; 2] {
    let name = format!("{} published", line.name);
    let guide = Series::new("", look, Mark::Guide, places.clone());
    [guide, Series::new(name, look, Mark::Hollow, places)]
}

/// What a reader has to know of the lines.
fn notes(lines: &[Drawn], has_marks: bool) -> Vec<String> {
    let any = |is: fn(&Dot) -> bool| lines.iter().any(|line| line.points.iter().any(is));
    let mut note = Vec::new();
    if any(|dot| dot.is_false) {
        let what = if has_marks { "points marked FALSE come" } else { "values marked FALSE come" };
        note.push(format!("{what} from cells whose numbers cannot be believed"));
    }
    if has_marks && any(|dot| dot.is_too_long && !dot.is_false) {
        note.push("hollow points of a line: responses too long for the window".to_owned());
    }
    match lines.len().saturating_sub(MOST_LINES) {
        0 => {}
        1 => note.push("1 more line is in the tables".to_owned()),
        more => note.push(format!("{more} more lines are in the tables")),
    }
    note
}

/// Points that an axis by decades cannot have.
fn off_the_axis(subject: &Subject<'_>, lines: &[Drawn]) -> Option<String> {
    let is_off = |dot: &&Dot| subject.figure.log && dot.value <= 0.0;
    let names: Vec<String> = lines
        .iter()
        .flat_map(|line| {
            line.points.iter().filter(is_off).map(move |dot| format!("{} at {}", line.name, dot.level))
        })
        .collect();
    let first = names.first()?;
    let more = names.len() - 1;
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("0, which an axis by decades does not have: {first}{more}"))
}
