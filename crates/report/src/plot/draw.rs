//! Draws a chart: frame, grid, ticks, series, legend, note. Colours are those of Okabe and Ito, which people tell apart
//! whatever their eyes; in shades of grey, dashes and marks tell.

mod names;
mod outlines;
mod stacked;
mod whiskers;
mod words;

use super::chart::{Axis, Chart, Mark, Outline, Scale, Series, Side};
use super::scale::{Fitted, fit};
use super::svg::{Hold, Stroke, Svg, width_of};

/// Colours, from the most to the least contrast with each other; the first is the strongest.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#000000", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
/// Dashes.
const DASHES: [&str; 5] = ["", "7 3", "2 2", "9 3 2 3", "14 4"];
/// So many series look different, and are named.
const LOOKS: usize = COLOURS.len() * DASHES.len();
const GREY: &str = "#4d4d4d";
const GRID: &str = "#dddddd";
const FAINT: &str = "#eeeeee";

/// As wide as a picture is drawn; its unit is a thirteenth of its text's size.
const WIDTH: f64 = 720.0;
/// Narrower there is no room for axes.
const LEAST_WIDTH: f64 = 240.0;
const TEXT: f64 = 13.0;
const SMALL: f64 = 11.0;
const TITLE: f64 = 15.0;
/// So far beyond the frame lines are seen: half of the thickest.
const EDGE: f64 = 1.2;
/// As far apart are points at one name whose intervals would cover each other.
const MOST_ASIDE: f64 = 9.0;

/// The paper: how wide, and how large a unit of the drawing is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sheet {
    /// Units that a picture is wide.
    pub width: f64,
    /// A unit in points (1/72 inch).
    pub unit_pt: f64,
}

impl Default for Sheet {
    fn default() -> Self {
        // 18 cm.
        Self { width: WIDTH, unit_pt: 18.0 / 2.54 * 72.0 / WIDTH }
    }
}

impl Sheet {
    /// A picture of this width with text of this size; `None` where too little fits beside each other.
    #[must_use]
    pub fn new(width_cm: f64, text_pt: f64) -> Option<Self> {
        let unit_pt = text_pt / TEXT;
        let width = width_cm / 2.54 * 72.0 / unit_pt;
        (width.is_finite() && (LEAST_WIDTH..=10_000.0).contains(&width)).then_some(Self { width, unit_pt })
    }

    /// Size of the text where nobody says another, pt.
    #[must_use]
    pub fn text_pt(self) -> f64 {
        TEXT * self.unit_pt
    }
}

/// Room around the frame and in it.
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame {
    fn x(&self, place: f64) -> f64 {
        self.left + place * self.width
    }
    fn y(&self, place: f64) -> f64 {
        self.top + (1.0 - place) * self.height
    }
}

struct Axes {
    x: Fitted,
    left: Fitted,
    right: Option<Fitted>,
}

impl Axes {
    fn of(chart: &Chart) -> Self {
        let bars = |series: &&Series| series.mark == Mark::Bars;
        let xs = chart.series.iter().flat_map(|series| {
            let cells = series.cells.iter().flat_map(|cell| [cell.x.0, cell.x.1]);
            let outlines = series.outlines.iter().map(|outline| outline.x);
            series.points.iter().map(|(x, _)| *x).chain(cells).chain(outlines)
        });
        let ys = |side: Side| {
            let reach = whiskers::reach(chart, side);
            let own = chart.series.iter().filter(move |series| series.side == side);
            own.flat_map(move |series| {
                let (least, most) = whiskers::limits(series, reach);
                let known = series.errors.iter().filter(|(low, high)| low.is_finite() && high.is_finite());
                let ends = known.flat_map(move |(low, high)| [low.max(least), high.min(most)]);
                let cells = series.cells.iter().flat_map(|cell| [cell.y.0, cell.y.1]);
                let outlines = series.outlines.iter().flat_map(Outline::values);
                series.points.iter().map(|(_, y)| *y).chain(ends).chain(cells).chain(outlines)
            })
            .collect::<Vec<_>>()
        };
        let mut left = ys(Side::Left);
        left.extend(stacked::tops(chart));
        if chart.series.iter().any(|series| bars(&series)) {
            left.push(1.0);
        }
        Self {
            x: fit(&chart.x, xs),
            left: fit(&chart.left, left.into_iter()),
            right: chart.right.as_ref().map(|axis| fit(axis, ys(Side::Right).into_iter())),
        }
    }

    fn y(&self, side: Side) -> &Fitted {
        match (side, &self.right) {
            (Side::Right, Some(right)) => right,
            _ => &self.left,
        }
    }
}

/// Draws a chart.
pub fn draw(chart: &Chart, sheet: Sheet) -> String {
    let axes = Axes::of(chart);
    let width = sheet.width;
    let (legend, unnamed) = legend_rows(chart, width);
    let widest =
        |fitted: &Fitted| fitted.ticks.iter().map(|(_, text)| width_of(text, TEXT)).fold(0.0, f64::max);
    let turned = names_are_turned(&axes.x, chart, width);
    let below = if turned { (widest(&axes.x) * 0.58).min(170.0) + 14.0 } else { 20.0 };
    let title = if chart.title.is_empty() { 8.0 } else { 32.0 };
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    let legend_height = legend.len() as f64 * 19.0;
    let left = widest(&axes.left) + 38.0;
    // Turned names begin left of the frame.
    let overhang = widest(&axes.x) * SMALL / TEXT * 0.82;
    let left = if turned { left.max((overhang - 20.0).min(170.0)) } else { left };
    let right = axes.right.as_ref().map_or(18.0, |right| widest(right) + 38.0);
    // The last number of the axis stands half beyond the frame.
    let is_named = matches!(chart.x.scale, Scale::Names(_));
    let last = axes.x.ticks.last().filter(|(place, _)| *place > 0.9 && !is_named);
    let right = last.map_or(right, |(_, text)| right.max(width_of(text, TEXT) / 2.0 + 6.0));
    let frame = Frame {
        left,
        top: title + legend_height + 10.0,
        width: width - left - right,
        height: (width / 2.4).max(170.0),
    };
    let more = format!("{unnamed} more look like others and are not named; --format csv has them.");
    let words = words::Words::of(chart, &axes, &frame);
    let note = whiskers::and(&whiskers::note(chart), &words.note());
    let note = if unnamed > 0 { whiskers::and(&note, &more) } else { note };
    let note_lines = wrapped(&note, SMALL, width - 24.0);
    #[expect(clippy::cast_precision_loss, reason = "a few lines")]
    let note_height = note_lines.len() as f64 * 15.0;
    let label = if chart.x.label.is_empty() { 8.0 } else { 22.0 };
    let height = frame.top + frame.height + below + label + note_height + 10.0;
    let mut svg = Svg::new(width, height, sheet.unit_pt, &chart.title);
    if !chart.title.is_empty() {
        let size = fitting(&chart.title, TITLE, width);
        let title = cut_to(&chart.title, size * 1.06, width - 19.0);
        svg.words((width / 2.0, 22.0), size, Hold::Middle, 0.0, true, &title);
    }
    draw_legend(&mut svg, chart, &legend, title + 12.0, width);
    draw_grid(&mut svg, chart, &axes, &frame, turned);
    // A line along an edge is as thick as any other, and a mark at it is whole.
    svg.cut((frame.left - EDGE, frame.top - EDGE), (frame.width + 2.0 * EDGE, frame.height + 2.0 * EDGE));
    for (at, series) in chart.series.iter().enumerate() {
        draw_series(&mut svg, chart, series, at, &axes, &frame);
    }
    svg.uncut();
    for series in &chart.series {
        draw_marks(&mut svg, chart, series, &axes, &frame);
    }
    words.draw(&mut svg);
    draw_labels(&mut svg, chart, &frame, below, width);
    for (line, text) in note_lines.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a few lines")]
        let y = height - note_height + line as f64 * 15.0;
        svg.words((12.0, y), SMALL, Hold::Start, 0.0, false, text);
    }
    svg.end()
}

/// A size at which a long title fits.
pub fn fitting(text: &str, size: f64, room: f64) -> f64 {
    let width = width_of(text, size) * 1.06;
    if width > room - 20.0 { (size * (room - 20.0) / width).max(8.0) } else { size }
}

pub fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) + size * 0.4 < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn names_are_turned(x: &Fitted, chart: &Chart, width: f64) -> bool {
    let Scale::Names(names) = &chart.x.scale else { return false };
    #[expect(clippy::cast_precision_loss, reason = "numbers of names are small")]
    let room = (width - 110.0) / names.len().max(1) as f64;
    x.ticks.iter().any(|(_, text)| width_of(text, TEXT) > room - 6.0)
}

/// Series with a name, row by row, and how many there is no look for.
fn legend_rows(chart: &Chart, room: f64) -> (Vec<Vec<&Series>>, usize) {
    let mut rows = Vec::<Vec<&Series>>::new();
    let mut used = f64::INFINITY;
    let mut seen = Vec::new();
    for series in &chart.series {
        if series.label.is_empty()
            || matches!(series.mark, Mark::Cells | Mark::Limit)
            || seen.contains(&(series.label.as_str(), series.mark))
        {
            continue;
        }
        seen.push((series.label.as_str(), series.mark));
        if seen.len() > LOOKS {
            continue;
        }
        let width = key_width(chart, series, room);
        if used + width > room - 24.0 {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(series);
        }
    }
    (rows, seen.len().saturating_sub(LOOKS))
}

/// True where the axis of a series is the right one of two.
fn points_right(chart: &Chart, series: &Series) -> bool {
    series.side == Side::Right && chart.right.is_some()
}

/// Room for a series in the legend; a longer name is cut.
fn key_width(chart: &Chart, series: &Series, room: f64) -> f64 {
    let arrow = if points_right(chart, series) { 20.0 } else { 0.0 };
    (width_of(&series.label, TEXT) + 48.0 + arrow).min(room - 24.0)
}

/// A text that fits the room, cut where it does not.
pub fn cut_to(text: &str, size: f64, room: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for sign in text.chars() {
        if width_of(&cut, size) + width_of("m…", size) > room {
            break;
        }
        cut.push(sign);
    }
    cut.push('…');
    cut
}

fn draw_legend(svg: &mut Svg, chart: &Chart, rows: &[Vec<&Series>], top: f64, width: f64) {
    let mut y = top;
    for row in rows {
        let total: f64 = row.iter().map(|series| key_width(chart, series, width)).sum();
        let mut x = ((width - total) / 2.0).max(8.0);
        for series in row {
            let middle = y - 4.0;
            match series.mark {
                Mark::Bars => {
                    svg.rectangle((x + 6.0, middle - 6.0), (22.0, 12.0), "key", colour(series.look), GREY);
                    hatch(svg, series.look, (x + 6.0, middle - 6.0), (22.0, 12.0));
                }
                Mark::Stacked => {
                    stacked::part(svg, "key", series.look, (x + 6.0, middle - 6.0), (22.0, 12.0))
                }
                Mark::Outlines => outlines::key(svg, series.look, (x + 17.0, middle)),
                Mark::Dots => sign(svg, (x + 17.0, middle), series.look),
                Mark::Hollow => shape(svg, (x + 17.0, middle), series.look, "#ffffff", colour(series.look)),
                mark => {
                    let stroke = stroke_of(series.look, mark);
                    svg.line((x, middle), (x + 34.0, middle), stroke);
                    if mark == Mark::Marked {
                        sign(svg, (x + 17.0, middle), series.look);
                    }
                }
            }
            let side = if points_right(chart, series) { " →" } else { "" };
            let room = key_width(chart, series, width);
            let name = cut_to(&series.label, TEXT, room - 48.0 + 0.5);
            svg.words((x + 39.0, y), TEXT, Hold::Start, 0.0, false, &format!("{name}{side}"));
            x += room;
        }
        y += 19.0;
    }
}

fn draw_grid(svg: &mut Svg, chart: &Chart, axes: &Axes, frame: &Frame, turned: bool) {
    let bottom = frame.y(0.0);
    for place in &axes.left.minor {
        svg.line((frame.left, frame.y(*place)), (frame.x(1.0), frame.y(*place)), Stroke::plain(FAINT, 0.6));
    }
    for place in &axes.x.minor {
        svg.line((frame.x(*place), frame.top), (frame.x(*place), bottom), Stroke::plain(FAINT, 0.6));
    }
    for (place, text) in &axes.left.ticks {
        let y = frame.y(*place);
        svg.line((frame.left, y), (frame.x(1.0), y), Stroke::plain(GRID, 0.8));
        svg.line((frame.left - 4.0, y), (frame.left, y), Stroke::plain(GREY, 1.0));
        svg.words((frame.left - 7.0, y + 4.5), TEXT, Hold::End, 0.0, false, text);
    }
    if let Some(right) = &axes.right {
        for (place, text) in &right.ticks {
            let (x, y) = (frame.x(1.0), frame.y(*place));
            svg.line((x, y), (x + 4.0, y), Stroke::plain(GREY, 1.0));
            svg.words((x + 7.0, y + 4.5), TEXT, Hold::Start, 0.0, false, text);
        }
    }
    let names = matches!(chart.x.scale, Scale::Names(_));
    let mut last = f64::NEG_INFINITY;
    let shown = names::shown(&axes.x.ticks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>());
    for ((place, text), shown) in axes.x.ticks.iter().zip(&shown) {
        let x = frame.x(*place);
        if !names {
            svg.line((x, frame.top), (x, bottom), Stroke::plain(GRID, 0.8));
        }
        svg.line((x, bottom), (x, bottom + 4.0), Stroke::plain(GREY, 1.0));
        if turned {
            svg.words((x + 4.0, bottom + 15.0), SMALL, Hold::End, -35.0, false, shown);
        } else if x - width_of(text, TEXT) / 2.0 > last {
            svg.words((x, bottom + 18.0), TEXT, Hold::Middle, 0.0, false, text);
            last = x + width_of(text, TEXT) / 2.0 + 4.0;
        }
    }
    svg.rectangle((frame.left, frame.top), (frame.width, frame.height), "frame", "none", GREY);
}

fn draw_series(svg: &mut Svg, chart: &Chart, series: &Series, at: usize, axes: &Axes, frame: &Frame) {
    let y = axes.y(series.side);
    let aside = points_aside(chart, series, frame);
    let place = |(px, py): &(f64, f64)| (frame.x(axes.x.place(*px)) + aside, frame.y(y.place(*py)));
    match series.mark {
        Mark::Bars => return draw_bars(svg, chart, series, at, axes, frame),
        Mark::Cells => return draw_cells(svg, series, axes, frame),
        Mark::Stacked => return stacked::draw(svg, chart, series, at, axes, frame),
        Mark::Outlines => return outlines::draw(svg, chart, series, at, axes, frame),
        Mark::Limit => return draw_limit(svg, series, axes, frame),
        Mark::Dots | Mark::Hollow => {}
        mark => {
            let stroke = stroke_of(series.look, mark);
            for run in series.points.split(|(x, y)| !x.is_finite() || !y.is_finite()) {
                let places: Vec<(f64, f64)> = run.iter().map(place).collect();
                let places =
                    if matches!(mark, Mark::Steps | Mark::Levels) { stepped(&places) } else { places };
                match places.as_slice() {
                    [] => {}
                    [alone] => sign(svg, *alone, series.look),
                    several => svg.polyline(several, "series", stroke),
                }
            }
        }
    }
    for ((x, _), (low, high)) in series.points.iter().zip(&series.errors) {
        whiskers::draw(svg, place(&(*x, *low)), place(&(*x, *high)), colour(series.look));
    }
}

/// The marks of a series at points in the frame; one at its edge is whole.
fn draw_marks(svg: &mut Svg, chart: &Chart, series: &Series, axes: &Axes, frame: &Frame) {
    if !matches!(series.mark, Mark::Dots | Mark::Marked | Mark::Hollow) {
        return;
    }
    let aside = points_aside(chart, series, frame);
    for (x, y) in series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
        let (x, y) = (axes.x.place(*x), axes.y(series.side).place(*y));
        if ![x, y].iter().all(|place| (-1e-6..=1.0 + 1e-6).contains(place)) {
            continue;
        }
        let at = (frame.x(x) + aside, frame.y(y));
        match series.mark {
            Mark::Hollow => shape(svg, at, series.look, "#ffffff", colour(series.look)),
            _ => sign(svg, at, series.look),
        }
    }
}

/// How far the points of a series stand aside of their name, where several series have intervals there.
fn points_aside(chart: &Chart, series: &Series, frame: &Frame) -> f64 {
    let Scale::Names(names) = &chart.x.scale else { return 0.0 };
    let has_intervals = |one: &&Series| {
        matches!(one.mark, Mark::Dots | Mark::Marked) && one.errors.iter().any(|(low, high)| low < high)
    };
    let mut looks: Vec<usize> = chart.series.iter().filter(has_intervals).map(|one| one.look).collect();
    looks.sort_unstable();
    looks.dedup();
    let is_of_points = matches!(series.mark, Mark::Dots | Mark::Marked | Mark::Hollow | Mark::Guide);
    let Some(own) = looks.iter().position(|look| is_of_points && *look == series.look) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, reason = "a few series and names")]
    let (own, number, names) = (own as f64, looks.len() as f64, names.len().max(1) as f64);
    (own - (number - 1.0) / 2.0) * (frame.width / names * 0.5 / number).min(MOST_ASIDE)
}

/// A level across the picture; its name comes with the other words.
fn draw_limit(svg: &mut Svg, series: &Series, axes: &Axes, frame: &Frame) {
    let Some((_, level)) = series.points.iter().find(|(_, y)| y.is_finite()) else { return };
    let y = frame.y(axes.y(series.side).place(*level));
    svg.line((frame.left, y), (frame.x(1.0), y), stroke_of(series.look, Mark::Limit));
}

/// Shades of one hue from white to dark, which are shades of grey in print.
fn draw_cells(svg: &mut Svg, series: &Series, axes: &Axes, frame: &Frame) {
    let y = axes.y(series.side);
    for cell in &series.cells {
        let (left, right) = (frame.x(axes.x.place(cell.x.0)), frame.x(axes.x.place(cell.x.1)));
        let (bottom, top) = (frame.y(y.place(cell.y.0)), frame.y(y.place(cell.y.1)));
        let shade = cell.shade.clamp(0.0, 1.0);
        let mixed = |light: f64, dark: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
            let part = (light + (dark - light) * shade).round() as u8;
            part
        };
        let fill = format!("#{:02x}{:02x}{:02x}", mixed(222.0, 8.0), mixed(235.0, 29.0), mixed(247.0, 88.0));
        // A little larger, so that no white shows between neighbours.
        svg.filled((left, top), (right - left + 0.3, bottom - top + 0.3), &fill);
    }
}

/// A level up to each point.
fn stepped(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut steps = Vec::with_capacity(2 * places.len());
    for (x, y) in places {
        if let Some((_, before)) = steps.last().copied() {
            steps.push((*x, before));
        }
        steps.push((*x, *y));
    }
    steps
}

fn draw_bars(svg: &mut Svg, chart: &Chart, series: &Series, at: usize, axes: &Axes, frame: &Frame) {
    let bars: Vec<usize> = chart
        .series
        .iter()
        .enumerate()
        .filter(|(_, other)| other.mark == Mark::Bars)
        .map(|(at, _)| at)
        .collect();
    let Scale::Names(names) = &chart.x.scale else { return };
    let own = bars.iter().position(|bar| *bar == at).unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a few bars")]
    let (number, group, own) = (bars.len() as f64, frame.width / names.len().max(1) as f64, own as f64);
    let width = (group * 0.8 / number).min(80.0);
    for (x, y) in series.points.iter().filter(|(_, y)| y.is_finite()) {
        let middle = frame.x(axes.x.place(*x));
        let left = middle - width * number / 2.0 + own * width;
        let (top, bottom) = (frame.y(axes.left.place(*y)), frame.y(0.0));
        let (corner, size) = ((left, top), (width * 0.94, bottom - top));
        if series.doubted.contains(x) {
            doubted_bar(svg, series.look, corner, size);
        } else {
            svg.rectangle(corner, size, "bar", colour(series.look), "#1a1a1a");
            hatch(svg, series.look, corner, size);
        }
    }
    for ((x, _), (low, high)) in series.points.iter().zip(&series.errors) {
        let middle = frame.x(axes.x.place(*x)) - width * number / 2.0 + own * width + width * 0.47;
        whiskers::draw(
            svg,
            (middle, frame.y(axes.left.place(*low))),
            (middle, frame.y(axes.left.place(*high))),
            "#000000",
        );
    }
}

/// A bar whose number cannot be believed: white with lines of its colour, and a word above or beside it.
fn doubted_bar(svg: &mut Svg, look: usize, at: (f64, f64), size: (f64, f64)) {
    svg.rectangle(at, size, "doubted", "#ffffff", colour(look));
    let stroke = Stroke::plain(colour(look), 1.2);
    for line in 1..200_u32 {
        let sum = f64::from(line) * 6.0;
        if sum >= size.0 + size.1 {
            break;
        }
        // From the left or the upper edge down to the right or the lower one.
        let (from, to) = ((sum - size.1).max(0.0), sum.min(size.0));
        svg.line((at.0 + from, at.1 + sum - from), (at.0 + to, at.1 + sum - to), stroke);
    }
    let middle = at.0 + size.0 / 2.0 + SMALL * 0.35;
    let above = (at.1 - 4.0, Hold::Start);
    let room = width_of("FALSE", SMALL);
    // Upright, since bars are narrow; of one that reaches the top, within it.
    let (y, hold) = if at.1 - room < 40.0 { (at.1 + 4.0, Hold::End) } else { above };
    svg.words((middle, y), SMALL, hold, -90.0, false, "FALSE");
}

/// Lines over a bar, so that bars differ without colour.
fn hatch(svg: &mut Svg, look: usize, at: (f64, f64), size: (f64, f64)) {
    let stroke = Stroke { colour: "#ffffff", width: 1.2, dash: "", opacity: 0.75 };
    let step = 7.0;
    match look % 4 {
        1 => {
            let mut y = at.1 + step;
            while y < at.1 + size.1 {
                svg.line((at.0, y), (at.0 + size.0, y), stroke);
                y += step;
            }
        }
        2 => {
            let mut x = at.0 + step;
            while x < at.0 + size.0 {
                svg.line((x, at.1), (x, at.1 + size.1), stroke);
                x += step;
            }
        }
        3 => {
            let mut y = at.1 + size.0.min(size.1) * 0.2;
            while y < at.1 + size.1 {
                let rise = size.0.min(y - at.1);
                svg.line((at.0, y), (at.0 + rise, y - rise), stroke);
                y += step * 1.3;
            }
        }
        _ => {}
    }
}

fn draw_labels(svg: &mut Svg, chart: &Chart, frame: &Frame, below: f64, width: f64) {
    let middle = (frame.x(0.5), frame.y(0.5));
    let size = |axis: &Axis| {
        let width = width_of(&axis.label, TEXT);
        if width > frame.height { (TEXT * frame.height / width).max(8.0) } else { TEXT }
    };
    let label = |axis: &Axis| cut_to(&axis.label, size(axis), frame.height + 24.0);
    let across = cut_to(&chart.x.label, TEXT, width - 24.0);
    svg.words((middle.0, frame.y(0.0) + below + 16.0), TEXT, Hold::Middle, 0.0, false, &across);
    svg.words((16.0, middle.1), size(&chart.left), Hold::Middle, -90.0, false, &label(&chart.left));
    if let Some(right) = &chart.right {
        svg.words((width - 10.0, middle.1), size(right), Hold::Middle, -90.0, false, &label(right));
    }
}

fn colour(look: usize) -> &'static str {
    COLOURS.get(look % COLOURS.len()).copied().unwrap_or("#000000")
}

fn stroke_of(look: usize, mark: Mark) -> Stroke<'static> {
    let dash = DASHES.get(look % DASHES.len()).copied().unwrap_or("");
    match mark {
        Mark::Thin => Stroke { colour: colour(look), width: 0.9, dash: "", opacity: 0.55 },
        Mark::Steps => Stroke { colour: colour(look), width: 1.3, dash: "1.5 1.5", opacity: 1.0 },
        Mark::Limit => Stroke { colour: "#1a1a1a", width: 1.4, dash: "10 3 2 3", opacity: 1.0 },
        Mark::Guide => Stroke { colour: GREY, width: 1.0, dash: "3 3", opacity: 1.0 },
        _ => Stroke { colour: colour(look), width: 2.0, dash, opacity: 1.0 },
    }
}

/// A mark: its shape differs with the look.
fn sign(svg: &mut Svg, at: (f64, f64), look: usize) {
    shape(svg, at, look, colour(look), "#ffffff");
}

/// The shape of a look in any colours.
fn shape(svg: &mut Svg, (x, y): (f64, f64), look: usize, fill: &str, edge: &str) {
    let r = 4.0;
    match look % 5 {
        0 => svg.circle((x, y), r, "mark", fill, edge),
        1 => svg.rectangle((x - r, y - r), (2.0 * r, 2.0 * r), "mark", fill, edge),
        2 => svg.polygon(&[(x, y - r * 1.3), (x + r * 1.2, y + r), (x - r * 1.2, y + r)], "mark", fill, edge),
        3 => svg.polygon(
            &[(x, y - r * 1.4), (x + r * 1.4, y), (x, y + r * 1.4), (x - r * 1.4, y)],
            "mark",
            fill,
            edge,
        ),
        _ => svg.polygon(&[(x, y + r * 1.3), (x + r * 1.2, y - r), (x - r * 1.2, y - r)], "mark", fill, edge),
    }
}
