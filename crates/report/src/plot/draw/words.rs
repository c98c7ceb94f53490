//! Words in a picture: names of levels and words at points, each where it covers no mark and no other word, on white.

use super::{Axes, Frame, SMALL, points_aside};
use crate::plot::chart::{Chart, Mark, Series};
use crate::plot::svg::{Hold, Svg, width_of};

/// Pictures of more points have no room left between them.
const MOST_POINTS: usize = 2_000;
/// Half of the room that a mark takes.
const MARK: f64 = 5.0;

/// A rectangle that is taken: left, top, right, bottom.
#[derive(Clone, Copy)]
struct Taken(f64, f64, f64, f64);

impl Taken {
    /// The room of a text whose base line begins at `x`, `y`.
    fn of_text(x: f64, y: f64, width: f64) -> Self {
        Self(x, y - SMALL * 0.8, x + width, y + SMALL * 0.25)
    }

    fn meets(&self, other: &Self) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }

    fn is_in(&self, frame: &Frame) -> bool {
        let slack = 0.5;
        self.0 >= frame.left - slack
            && self.2 <= frame.x(1.0) + slack
            && self.1 >= frame.top - slack
            && self.3 <= frame.y(0.0) + slack
    }
}

/// The first of some places for a text that lies in the frame and meets nothing; else the first that meets no other
/// word; else the first in the frame.
fn chosen(places: &[(f64, f64)], width: f64, frame: &Frame, marks: &[Taken], words: &[Taken]) -> (f64, f64) {
    let room = |place: &(f64, f64)| Taken::of_text(place.0, place.1, width);
    let is_in = |place: &&(f64, f64)| room(place).is_in(frame);
    let misses = |place: &(f64, f64), some: &[Taken]| !some.iter().any(|one| one.meets(&room(place)));
    let free = places.iter().filter(is_in).find(|place| misses(place, marks) && misses(place, words));
    let among_marks = || places.iter().filter(is_in).find(|place| misses(place, words));
    let any = || places.iter().find(|place| is_in(place)).or_else(|| places.first());
    free.or_else(among_marks).or_else(any).copied().unwrap_or_default()
}

/// Draws the names of levels across the picture, then the words at points.
pub(super) fn draw(svg: &mut Svg, chart: &Chart, axes: &Axes, frame: &Frame) {
    let marks = marks(chart, axes, frame);
    let mut words: Vec<Taken> = Vec::new();
    for series in chart.series.iter().filter(|series| series.mark == Mark::Limit) {
        limit(svg, series, axes, frame, &marks, &mut words);
    }
    for series in &chart.series {
        let aside = points_aside(chart, series, frame);
        for (px, py, text) in &series.words {
            if !is_shown(series, (*px, *py), axes) {
                continue;
            }
            // What stands at the end of an interval that leaves the frame stands at the frame.
            let place = axes.y(series.side).place(*py).clamp(0.0, 1.0);
            let (x, y) = (frame.x(axes.x.place(*px)) + aside, frame.y(place));
            let width = width_of(text, SMALL);
            let within = |x: f64| x.clamp(frame.left, (frame.x(1.0) - width).max(frame.left));
            let middle = within(x - width / 2.0);
            let (above, below) = ((middle, y - 8.0), (middle, y + 18.0));
            let first = if y < frame.top + 22.0 { [below, above] } else { [above, below] };
            let beside = [(x + 9.0, y + 4.0), (x - 9.0 - width, y + 4.0)];
            let farther = [(middle, y - 20.0), (middle, y + 30.0)];
            let places = [first, beside, farther].concat();
            let (x, y) = chosen(&places, width, frame, &marks, &words);
            put(svg, (x, y), width, text, &mut words);
        }
    }
}

/// Whether a place of an axis lies in the frame, but for rounding; axes may end where the user says.
fn is_within(place: f64) -> bool {
    (-1e-6..=1.0 + 1e-6).contains(&place)
}

/// Whether what a word is said of is in the picture: of a mark its place, or a point below or above it; bars and lines across the
/// picture are there at any height, with words beside them.
fn is_shown(series: &Series, (x, y): (f64, f64), axes: &Axes) -> bool {
    let is_along = |x: f64| is_within(axes.x.place(x));
    let is_up = |y: f64| is_within(axes.y(series.side).place(y));
    let mut points = series.points.iter();
    if has_marks(series) {
        is_along(x) && (is_up(y) || points.any(|point| point.0.total_cmp(&x).is_eq() && is_up(point.1)))
    } else {
        is_along(x) || points.any(|point| is_along(point.0))
    }
}

fn has_marks(series: &Series) -> bool {
    matches!(series.mark, Mark::Dots | Mark::Marked | Mark::Hollow)
}

/// Where the marks of points are.
fn marks(chart: &Chart, axes: &Axes, frame: &Frame) -> Vec<Taken> {
    let mut taken = Vec::new();
    for series in chart.series.iter().filter(|series| has_marks(series)) {
        let aside = points_aside(chart, series, frame);
        for (x, y) in series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            if taken.len() == MOST_POINTS {
                return Vec::new();
            }
            let (x, y) = (frame.x(axes.x.place(*x)) + aside, frame.y(axes.y(series.side).place(*y)));
            taken.push(Taken(x - MARK, y - MARK, x + MARK, y + MARK));
        }
    }
    taken
}

/// The name of a level: at its right or its left end, above or below its line, or in its middle.
fn limit(
    svg: &mut Svg,
    series: &Series,
    axes: &Axes,
    frame: &Frame,
    marks: &[Taken],
    words: &mut Vec<Taken>,
) {
    let Some((_, level)) = series.points.iter().find(|(_, y)| y.is_finite()) else { return };
    let place = axes.y(series.side).place(*level);
    if !is_within(place) {
        return;
    }
    let y = frame.y(place);
    let name = super::cut_to(&series.label, SMALL, frame.width * 0.6);
    let width = width_of(&name, SMALL);
    let (left, right) = (frame.left + 5.0, frame.x(1.0) - 5.0 - width);
    let middle = (left + right) / 2.0;
    let mut places = Vec::new();
    for step in 0..3 {
        let farther = f64::from(step) * (SMALL + 2.0);
        for x in [right, left, middle] {
            places.extend([(x, y - 4.0 - farther), (x, y + 12.0 + farther)]);
        }
    }
    let place = chosen(&places, width, frame, marks, words);
    put(svg, place, width, &name, words);
}

fn put(svg: &mut Svg, (x, y): (f64, f64), width: f64, text: &str, words: &mut Vec<Taken>) {
    svg.backing((x - 1.0, y - SMALL * 0.85), (width + 2.0, SMALL * 1.1));
    svg.words((x, y), SMALL, Hold::Start, 0.0, false, text);
    words.push(Taken::of_text(x, y, width));
}

#[cfg(test)]
mod tests {
    use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
    use crate::plot::draw::{Sheet, draw};

    /// Place of the base line, and text, of each text of a drawing in the small size.
    fn small_texts(svg: &str) -> Vec<(f64, f64, String)> {
        let value = |line: &str, name: &str| {
            let from = line.find(name)? + name.len();
            line[from..].split('"').next()?.parse::<f64>().ok()
        };
        let lines = svg.lines().filter(|line| line.starts_with("<text") && line.contains("font-size=\"11\""));
        lines
            .filter_map(|line| {
                let text = line.split('>').nth(1)?.split('<').next()?.to_owned();
                Some((value(line, " x=\"")?, value(line, " y=\"")?, text))
            })
            .collect()
    }

    fn chart(series: Vec<Series>, left: Scale) -> Chart {
        Chart {
            title: String::new(),
            x: Axis::new("n", Scale::Names(["a", "b", "c"].map(str::to_owned).to_vec())),
            left: Axis::new("rate", left),
            right: None,
            series,
            note: String::new(),
        }
    }

    #[test]
    fn more_series_than_look_different_have_no_names_and_that_is_said() {
        let of = |many: u32| {
            let one = |at: u32| {
                Series::new(format!("line {at}"), at as usize, Mark::Dots, vec![(0.0, f64::from(at))])
            };
            draw(&chart((0..many).map(one).collect(), Scale::FromZero), Sheet::default())
        };
        let (few, many) = (of(35), of(300));
        let named = |svg: &str| svg.lines().filter(|line| line.contains(">line ")).count();
        assert_eq!((named(&few), named(&many)), (35, 35));
        let says =
            |svg: &str| small_texts(svg).iter().map(|(.., text)| text.clone()).collect::<Vec<_>>().join(" ");
        assert!(!says(&few).contains("not named"), "{few}");
        assert!(says(&many).contains("265 more look like others and are not named; --format csv has them."));
    }

    #[test]
    fn words_at_points_that_lie_near_each_other_do_not_cover_each_other() {
        let at = |look: usize, y: f64| {
            let mut one = Series::new(format!("line {look}"), look, Mark::Marked, vec![(0.0, y), (1.0, y)]);
            one.words = vec![(0.0, y, "FALSE".to_owned()), (1.0, y, "FALSE".to_owned())];
            one
        };
        let drawn =
            draw(&chart(vec![at(0, 50.0), at(1, 51.0), at(2, 100.0)], Scale::FromZero), Sheet::default());
        let texts: Vec<_> = small_texts(&drawn).into_iter().filter(|(.., text)| text == "FALSE").collect();
        assert_eq!(texts.len(), 6, "{drawn}");
        for (at, (x, y, _)) in texts.iter().enumerate() {
            let meets = |(other_x, other_y, _): &&(f64, f64, String)| {
                (x - other_x).abs() < 30.0 && (y - other_y).abs() < 11.0
            };
            assert_eq!(texts.iter().skip(at + 1).find(meets), None, "{texts:?}");
        }
    }

    #[test]
    fn what_lies_beyond_bounds_of_an_axis_has_no_words_in_the_picture() {
        let mut line = Series::new("line", 0, Mark::Marked, vec![(1.0, 10.0), (2.0, 400.0), (9.0, 20.0)]);
        line.errors = vec![(5.0, 300.0), (390.0, 410.0), (19.0, 21.0)];
        // The first one stands at the end of its interval, which leaves the frame; of the others the point does.
        line.words = [(1.0, 300.0, "low"), (2.0, 400.0, "high"), (9.0, 20.0, "right")]
            .map(|(x, y, text)| (x, y, text.to_owned()))
            .to_vec();
        let level = |y: f64| Series::new(format!("level {y}"), 1, Mark::Limit, vec![(0.0, y)]);
        let mut bounded = chart(vec![line, level(40.0), level(200.0)], Scale::FromZero);
        bounded.x = Axis::new("n", Scale::FromZero);
        (bounded.x.bounds, bounded.left.bounds) = ((Some(0.0), Some(4.0)), (Some(0.0), Some(50.0)));
        let drawn = draw(&bounded, Sheet::default());
        let texts: Vec<String> = small_texts(&drawn).into_iter().map(|(.., text)| text).collect();
        let has = |text: &str| texts.iter().any(|one| one == text);
        assert!(has("low") && has("level 40"), "{texts:?}");
        assert!(!has("high") && !has("right") && !has("level 200"), "{texts:?}");
    }

    #[test]
    fn names_of_levels_stay_in_the_frame_and_apart() {
        let level =
            |look: usize, y: f64| Series::new(format!("level {y}"), look, Mark::Limit, vec![(0.0, y)]);
        let line = Series::new("line", 0, Mark::Marked, vec![(0.0, 0.5), (2.0, 1.0)]);
        let levels = [1.0, 0.97, 0.94, 0.91];
        let series = std::iter::once(line).chain(levels.iter().enumerate().map(|(at, y)| level(at, *y)));
        let drawn = draw(&chart(series.collect(), Scale::FromZero), Sheet::default());
        let texts = small_texts(&drawn);
        assert_eq!(texts.len(), 4, "{drawn}");
        let frame = drawn.lines().find(|line| line.contains("class=\"frame\"")).unwrap();
        let top: f64 = frame.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        for (at, (x, y, text)) in texts.iter().enumerate() {
            assert!(*y > top + 8.0, "{text} at {y} is cut at {top}");
            let meets = |(other_x, other_y, _): &&(f64, f64, String)| {
                (x - other_x).abs() < 60.0 && (y - other_y).abs() < 11.0
            };
            assert_eq!(texts.iter().skip(at + 1).find(meets), None, "{texts:?}");
        }
    }
}
