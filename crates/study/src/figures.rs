//! The paper's figures redrawn: a line for each chosen level with intervals over repetitions, published points beside.

use std::collections::BTreeMap;

use cosmark_metrics::nodes::costs::COSTS;
use cosmark_metrics::results::METRICS;
use cosmark_report::plot::chart::{Axis, Chart, Mark, Scale, Series as Line};
use cosmark_report::plot::chart_svg;

use crate::design::{Design, matches};
use crate::measured::Observation;
use crate::metric::SPREAD;
use crate::page::Part;
use crate::published::Published;
use crate::select::{quantity, repetitions};
use crate::spec::{Figure, OneOrMore, Overlay, Quantity, Take, Where};
use crate::statistics::{interval_of_mean, interval_of_ratio, median};

/// More lines nobody tells apart.
const MOST_LINES: usize = 12;

/// A line: its points with intervals, and whether a cell of a point is FALSE.
struct Drawn {
    name: String,
    points: Vec<Dot>,
}

struct Dot {
    level: String,
    value: f64,
    ends: Option<(f64, f64)>,
    is_false: bool,
    is_too_long: bool,
}

/// Bandwidth is drawn in megabytes per second.
fn scale_of(metric: &str) -> f64 {
    if metric == "bandwidth_bytes_per_s" { 1e-6 } else { 1.0 }
}

/// Unit and title of a figure of a run.
#[must_use]
pub fn axis_label(metric: &str) -> String {
    if metric == "bandwidth_bytes_per_s" {
        return "Bandwidth (MB/s)".to_owned();
    }
    if metric == SPREAD.0 {
        return SPREAD.1.to_owned();
    }
    METRICS.iter().chain(COSTS).find(|one| one.id == metric).map_or_else(
        || metric.to_owned(),
        |one| {
            let sign = one.unit.sign().trim().to_owned();
            if sign.is_empty() { one.title.to_owned() } else { format!("{} ({sign})", one.title) }
        },
    )
}

/// Draws every figure for which something was measured.
#[must_use]
pub fn figures(design: &Design<'_>, all: &[Observation], published: &[Published]) -> Vec<Part> {
    let specs = design.spec.figures.iter().enumerate();
    specs.filter_map(|(at, figure)| draw(design, figure, at, all, published)).collect()
}

fn draw(
    design: &Design<'_>,
    figure: &Figure,
    at: usize,
    all: &[Observation],
    published: &[Published],
) -> Option<Part> {
    let lines = lines(design, figure, all);
    if lines.iter().all(|line| line.points.is_empty()) {
        return None;
    }
    let names = levels_on_axis(design, figure, &lines);
    let numeric = figure.log && names.iter().all(|name| name.parse::<f64>().is_ok_and(|value| value > 0.0));
    let x_of = |level: &str| {
        #[expect(clippy::cast_precision_loss, reason = "numbers of levels")]
        let place = names.iter().position(|name| name == level).map_or(f64::NAN, |place| place as f64);
        if numeric { level.parse().unwrap_or(f64::NAN) } else { place }
    };
    let label = design
        .spec
        .factors
        .iter()
        .find(|factor| factor.name == figure.x)
        .and_then(|factor| factor.label.clone());
    let x_scale = if numeric { Scale::Log } else { Scale::Names(names.clone()) };
    let y_scale = if figure.log { Scale::Log } else { Scale::FromZero };
    let mut series = Vec::new();
    let mut note = Vec::new();
    for (look, line) in lines.iter().take(MOST_LINES).enumerate() {
        series.extend(drawn(line, look, &x_of));
        if let Some((points, scaled)) = overlay(design, figure, line, published) {
            let places = points.iter().map(|(level, value)| (x_of(level), *value)).collect();
            let mut dots = Line::new(format!("{} published", line.name), look, Mark::Guide, places);
            dots.label = String::new();
            series.push(dots);
            let places = points.iter().map(|(level, value)| (x_of(level), *value)).collect();
            series.push(Line::new(format!("{} published", line.name), look, Mark::Hollow, places));
            if scaled != 1.0 {
                note.push(format!("{}: published values x {}", line.name, crate::claims::short(scaled)));
            }
        }
    }
    if lines.iter().any(|line| line.points.iter().any(|dot| dot.is_false)) {
        note.push("points marked FALSE come from cells whose numbers cannot be believed".to_owned());
    }
    if lines.iter().any(|line| line.points.iter().any(|dot| dot.is_too_long)) {
        note.push("hollow points of a line: responses too long for the window".to_owned());
    }
    match lines.len().saturating_sub(MOST_LINES) {
        0 => {}
        1 => note.push("1 more line is in the tables".to_owned()),
        more => note.push(format!("{more} more lines are in the tables")),
    }
    let chart = Chart {
        title: figure.title.clone(),
        x: Axis::new(label.unwrap_or_else(|| figure.x.clone()), x_scale),
        left: Axis::new(axis_label(&figure.metric), y_scale),
        right: None,
        series,
        note: note.join("; "),
    };
    Some(Part::Figure {
        name: format!("figure-{}", at + 1),
        caption: figure.title.clone(),
        svg: chart_svg(&chart),
    })
}

/// The line itself, its intervals, and words at points that are FALSE.
fn drawn(line: &Drawn, look: usize, x_of: &dyn Fn(&str) -> f64) -> Vec<Line> {
    let points = line.points.iter().map(|dot| (x_of(&dot.level), dot.value)).collect();
    let mut main = Line::new(line.name.clone(), look, Mark::Marked, points);
    let word = |dot: &Dot| match (dot.is_false, dot.is_too_long) {
        (true, _) => Some("FALSE"),
        (false, true) => Some("too long"),
        (false, false) => None,
    };
    main.words = line
        .points
        .iter()
        .filter_map(|dot| Some((x_of(&dot.level), dot.value, word(dot)?.to_owned())))
        .collect();
    let mut ends = Vec::new();
    for dot in &line.points {
        if let Some((low, high)) = dot.ends {
            let x = x_of(&dot.level);
            ends.extend([(x, low.max(0.0)), (x, high), (x, f64::NAN)]);
        }
    }
    let mut lines = Vec::new();
    if !ends.is_empty() {
        lines.push(Line::new("", look, Mark::Thin, ends));
    }
    lines.push(main);
    let hollow: Vec<(f64, f64)> =
        line.points.iter().filter(|dot| dot.is_too_long).map(|dot| (x_of(&dot.level), dot.value)).collect();
    if !hollow.is_empty() {
        // Over the marks of the line.
        lines.push(Line::new("", look, Mark::Hollow, hollow));
    }
    lines
}

/// The levels of the horizontal axis, in the order of the study: those that were measured.
fn levels_on_axis(design: &Design<'_>, figure: &Figure, lines: &[Drawn]) -> Vec<String> {
    let mut names: Vec<String> =
        lines.iter().flat_map(|line| line.points.iter().map(|dot| dot.level.clone())).collect();
    names.sort_by_key(|name| design.rank(&figure.x, name));
    names.dedup();
    names
}

/// The chosen levels of a line, as conditions.
fn lines(design: &Design<'_>, figure: &Figure, all: &[Observation]) -> Vec<Drawn> {
    let chosen: Vec<&Observation> =
        all.iter().filter(|one| !one.unreadable && one.is_in(&figure.cells)).collect();
    let mut groups: BTreeMap<Vec<(usize, String, String)>, ()> = BTreeMap::new();
    for one in &chosen {
        let levels = one.all_levels();
        let key = figure
            .lines
            .iter()
            .map(|factor| {
                let level = levels.get(factor).cloned().unwrap_or_default();
                (design.rank(factor, &level), factor.clone(), level)
            })
            .collect();
        groups.insert(key, ());
    }
    let mut found = Vec::new();
    for key in groups.into_keys() {
        let mut cells: Where = figure.cells.clone();
        for (_, factor, level) in &key {
            cells.insert(factor.clone(), OneOrMore(vec![level.clone()]));
        }
        let name = key
            .iter()
            .map(|(_, factor, level)| label_of(design, factor, level))
            .collect::<Vec<_>>()
            .join(", ");
        let name = if name.is_empty() { "here".to_owned() } else { name };
        found.push(Drawn { name, points: dots(design, figure, all, &cells) });
    }
    found
}

fn label_of(design: &Design<'_>, factor: &str, level: &str) -> String {
    let system = design.spec.systems.iter().find(|system| factor == "system" && system.name == level);
    system.and_then(|system| system.label.clone()).unwrap_or_else(|| level.to_owned())
}

fn dots(design: &Design<'_>, figure: &Figure, all: &[Observation], cells: &Where) -> Vec<Dot> {
    let mut levels: Vec<String> = all
        .iter()
        .filter(|one| one.is_in(cells))
        .filter_map(|one| one.all_levels().get(&figure.x).cloned())
        .collect();
    levels.sort_by_key(|level| design.rank(&figure.x, level));
    levels.dedup();
    let mut dots = Vec::new();
    for level in levels {
        let mut own = cells.clone();
        own.insert(figure.x.clone(), OneOrMore(vec![level.clone()]));
        let wanted = Quantity {
            metric: figure.metric.clone(),
            cells: own,
            take: figure.take,
            over: figure.over.clone(),
            sla: None,
        };
        let found: Vec<crate::select::Found> = repetitions(all)
            .into_iter()
            .filter_map(|repetition| quantity(design, all, &wanted, repetition))
            .collect();
        let scale = scale_of(&figure.metric);
        let values: Vec<f64> = found.iter().map(|one| one.value * scale).collect();
        if let Some(value) = median(&values) {
            // Where the axis is one of logarithms the interval is theirs: its lower end is above 0.
            let known = if figure.log {
                interval_of_ratio(&values).and_then(|(_, known)| known)
            } else {
                interval_of_mean(&values)
            };
            let ends = known.map(|known| (known.low, known.high));
            let is_false = found.iter().any(|one| one.is_false);
            let is_too_long = found.iter().any(|one| one.is_too_long);
            dots.push(Dot { level, value, ends, is_false, is_too_long });
        }
    }
    dots
}

/// The published points of a line, and what they were multiplied by.
fn overlay(
    design: &Design<'_>,
    figure: &Figure,
    line: &Drawn,
    published: &[Published],
) -> Option<(Vec<(String, f64)>, f64)> {
    if figure.published == Overlay::None {
        return None;
    }
    let wanted_take = if figure.over.is_some() { figure.take } else { Take::Each };
    let point = |one: &Published| {
        let levels = one.levels()?;
        let on_line = figure.lines.iter().all(|factor| {
            levels
                .get(factor)
                .is_none_or(|level| line.name.split(", ").any(|part| part == label_of(design, factor, level)))
        });
        let fits = one.metric == figure.metric && one.take == wanted_take && matches(&figure.cells, &levels);
        let level = levels.get(&figure.x).filter(|_| fits && on_line)?;
        Some((level.clone(), one.value * scale_of(&figure.metric)))
    };
    let mut points: Vec<(String, f64)> = published.iter().filter_map(point).collect();
    points.retain(|(level, _)| line.points.iter().any(|dot| dot.level == *level));
    points.sort_by_key(|(level, _)| design.rank(&figure.x, level));
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let own = line.points.iter().map(|dot| dot.value).fold(0.0, f64::max);
    if points.is_empty() || most <= 0.0 {
        return None;
    }
    let scaled = if figure.published == Overlay::Peak { own / most } else { 1.0 };
    Some((points.into_iter().map(|(level, value)| (level, value * scaled)).collect(), scaled))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::design::Choice;

    #[test]
    fn a_picture_says_how_many_lines_it_leaves_out_and_which_points_took_too_long() {
        let sizes: Vec<String> = (1..=14).map(|size| format!("{size}KB")).collect();
        let text = format!(
            "name: t
title: t
question: q
systems: [{{name: one}}]
factors: [{{name: size, levels: [{}]}}, {{name: n, within: true, levels: [1, 8]}}]
scales: {{quick: {{}}}}
workload: {{point: '- name: p-${{{{ n }}}}', measured: 'p-${{{{ n }}}}'}}
figures: [{{title: f, x: n, lines: [size]}}]
",
            sizes.join(", ")
        );
        let (spec, mistakes) = crate::spec::read(&text);
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
        let seen = |size: &str, clients: &str| Observation {
            levels: [("system", "one"), ("size", size), ("n", clients)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            op: "read".into(),
            repetition: 1,
            values: BTreeMap::from([("throughput_per_s".to_owned(), 10.0)]),
            verdict: cosmark_archive::Overall::True,
            ..Observation::default()
        };
        let mut all: Vec<Observation> =
            sizes.iter().flat_map(|size| [seen(size, "1"), seen(size, "8")]).collect();
        let svg = |all: &[Observation]| match figures(&design, all, &[]).remove(0) {
            Part::Figure { svg, .. } => svg,
            other => panic!("{other:?}"),
        };
        let plain = svg(&all);
        assert!(plain.contains("2 more lines are in the tables") && !plain.contains("too long"), "{plain}");
        all.truncate(4);
        all[1].too_long = Some("a response takes 5 s".to_owned());
        let marked = svg(&all);
        assert!(marked.contains(">too long<") && marked.contains("hollow points of a line"), "{marked}");
        assert!(!marked.contains("more lines"), "{marked}");
    }
}
