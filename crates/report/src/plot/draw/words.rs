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

/// The first of some places for a text that lies in the frame and meets nothing; else the first that meets no other word; `None`
/// where each would cover one.
fn chosen(
    places: &[(f64, f64)],
    width: f64,
    frame: &Frame,
    marks: &[Taken],
    words: &[Taken],
) -> Option<(f64, f64)> {
    let room = |place: &(f64, f64)| Taken::of_text(place.0, place.1, width);
    let is_in = |place: &&(f64, f64)| room(place).is_in(frame);
    let misses = |place: &(f64, f64), some: &[Taken]| !some.iter().any(|one| one.meets(&room(place)));
    let free = places.iter().filter(is_in).find(|place| misses(place, marks) && misses(place, words));
    let among_marks = || places.iter().filter(is_in).find(|place| misses(place, words));
    free.or_else(among_marks).copied()
}

/// A word that has its place.
struct Word {
    at: (f64, f64),
    width: f64,
    text: String,
}

/// The words of a picture.
#[derive(Default)]
pub(super) struct Words {
    placed: Vec<Word>,
    taken: Vec<Taken>,
    /// What stands below the picture for want of room in it, as its numbers in the picture say.
    below: Vec<String>,
}

impl Words {
    /// Finds a place for the names of levels across the picture, then for the words at points.
    pub(super) fn of(chart: &Chart, axes: &Axes, frame: &Frame) -> Self {
        let marks = marks(chart, axes, frame);
        let mut words = Self::default();
        for series in chart.series.iter().filter(|series| series.mark == Mark::Limit) {
            words.limit(series, axes, frame, &marks);
        }
        for series in &chart.series {
            let aside = points_aside(chart, series, frame);
            for (px, py, text) in &series.words {
                if !is_shown(series, (*px, *py), axes) {
                    continue;
                }
                // What stands at the end of an interval that leaves the frame stands at the frame.
                let place = axes.y(series.side).place(*py).clamp(0.0, 1.0);
                let at = (frame.x(axes.x.place(*px)) + aside, frame.y(place));
                let line = series.points.first().filter(|_| series.mark == Mark::Guide);
                if let Some((line, _)) = line {
                    let line = frame.x(axes.x.place(*line)) + aside;
                    words.put_at_line(line, at, text, frame, &marks);
                } else {
                    words.put_at_point(at, text, frame, &marks);
                }
            }
        }
        words
    }

    /// What the numbers in the picture stand for; empty where there are none.
    pub(super) fn note(&self) -> String {
        let one = |(at, text): (usize, &String)| format!("{}: {text}", at + 1);
        let all: Vec<String> = self.below.iter().enumerate().map(one).collect();
        if all.is_empty() { String::new() } else { format!("{}.", all.join("; ")) }
    }

    /// Draws them, on white.
    pub(super) fn draw(&self, svg: &mut Svg) {
        for Word { at: (x, y), width, text } in &self.placed {
            svg.backing((x - 1.0, y - SMALL * 0.85), (width + 2.0, SMALL * 1.1));
            svg.words((*x, *y), SMALL, Hold::Start, 0.0, false, text);
        }
    }

    fn put(&mut self, at: (f64, f64), text: &str) {
        let width = width_of(text, SMALL);
        self.taken.push(Taken::of_text(at.0, at.1, width));
        self.placed.push(Word { at, width, text: text.to_owned() });
    }

    /// Above or below a point, or beside it; where all of that is taken, as near above or below it as there is room.
    fn put_at_point(&mut self, at: (f64, f64), text: &str, frame: &Frame, marks: &[Taken]) {
        let width = width_of(text, SMALL);
        let mut places = near(at, width, frame);
        let middle = places.first().map_or(at.0, |place| place.0);
        let mut others: Vec<f64> = rows(frame).collect();
        others.sort_by(|a, b| (a - at.1).abs().total_cmp(&(b - at.1).abs()));
        places.extend(others.into_iter().map(|y| (middle, y)));
        let any = |places: &[(f64, f64)]| {
            let in_frame = places.iter().find(|(x, y)| Taken::of_text(*x, *y, width).is_in(frame));
            in_frame.or(places.first()).copied()
        };
        let found = chosen(&places, width, frame, marks, &self.taken).or_else(|| any(&places));
        found.into_iter().for_each(|place| self.put(place, text));
    }

    /// At a line that goes down the picture, or beside its upper end. Where there is no room a number stands for the word, anywhere
    /// along the line: words over each other say nothing.
    fn put_at_line(&mut self, line: f64, at: (f64, f64), text: &str, frame: &Frame, marks: &[Taken]) {
        let beside = |width: f64| move |y: f64| [(line + 4.0, y), (line - 4.0 - width, y)];
        let width = width_of(text, SMALL);
        let mut places = near(at, width, frame);
        places.extend(rows(frame).take(UPPER_ROWS).flat_map(beside(width)));
        if let Some(place) = chosen(&places, width, frame, marks, &self.taken) {
            self.put(place, text);
            return;
        }
        // What was said of one line need not be said of the next once more.
        let known = self.below.iter().position(|other| other == text);
        let at = known.unwrap_or(self.below.len());
        if known.is_none() {
            self.below.push(text.to_owned());
        }
        let number = (at + 1).to_string();
        let width = width_of(&number, SMALL);
        let places: Vec<(f64, f64)> = rows(frame).flat_map(beside(width)).collect();
        let found = chosen(&places, width, frame, marks, &self.taken);
        found.into_iter().for_each(|place| self.put(place, &number));
    }

    /// The name of a level: at its right or its left end, above or below its line, or in its middle.
    fn limit(&mut self, series: &Series, axes: &Axes, frame: &Frame, marks: &[Taken]) {
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
        places.extend(rows(frame).flat_map(|y| [(right, y), (left, y), (middle, y)]));
        let place = chosen(&places, width, frame, marks, &self.taken).or_else(|| places.first().copied());
        place.into_iter().for_each(|place| self.put(place, &name));
    }
}

/// So many rows below the upper edge have words at lines; farther down they would stand in the curves.
const UPPER_ROWS: usize = 4;

/// Base lines of words from the upper edge of the frame to the lower one.
fn rows(frame: &Frame) -> impl Iterator<Item = f64> {
    let (top, bottom) = (frame.top + SMALL, frame.y(0.0));
    (0..200_u32).map(move |row| top + f64::from(row) * (SMALL + 2.0)).take_while(move |y| *y < bottom)
}

/// The places next to a point, the best first.
fn near((x, y): (f64, f64), width: f64, frame: &Frame) -> Vec<(f64, f64)> {
    let middle = (x - width / 2.0).clamp(frame.left, (frame.x(1.0) - width).max(frame.left));
    let (above, below) = ((middle, y - 8.0), (middle, y + 18.0));
    let first = if y < frame.top + 22.0 { [below, above] } else { [above, below] };
    let beside = [(x + 9.0, y + 4.0), (x - 9.0 - width, y + 4.0)];
    let farther = [(middle, y - 20.0), (middle, y + 30.0)];
    [first, beside, farther].concat()
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

#[cfg(test)]
mod tests {
    use super::{SMALL, Taken, width_of};
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

    /// A picture over time with these marks, as high as the values go.
    fn marked(marks: &[(f64, &str)], sheet: Sheet) -> String {
        let line = Series::new("", 0, Mark::Line, (0..70).map(|at| (f64::from(at), 100.0)).collect());
        let mark = |(at, word): &(f64, &str)| {
            let mut mark = Series::new("", 0, Mark::Guide, vec![(*at, 0.0), (*at, 100.0)]);
            mark.words = vec![(*at, 100.0, (*word).to_owned())];
            mark
        };
        let series = std::iter::once(line).chain(marks.iter().map(mark)).collect();
        let x = Axis::new("Time since the first interval (s)", Scale::FromZero);
        draw(&Chart { x, note: "As measured".to_owned(), ..chart(series, Scale::FromZero) }, sheet)
    }

    /// The texts that cover each other.
    fn covered(texts: &[(f64, f64, String)]) -> Option<[&str; 2]> {
        let room = |(x, y, text): &(f64, f64, String)| Taken::of_text(*x, *y, width_of(text, SMALL));
        texts.iter().enumerate().find_map(|(at, one)| {
            let other = texts.iter().skip(at + 1).find(|other| room(one).meets(&room(other)))?;
            Some([one.2.as_str(), other.2.as_str()])
        })
    }

    #[test]
    fn marks_that_lie_near_each_other_have_words_or_numbers_that_do_not_cover_each_other() {
        let marks = [
            (26.0, "none 1: a slot without a fault begins"),
            (38.02, "touch 1: touch /tmp/ff"),
            (38.05, "touch 1: it is there: `sh -c test -e /t .."),
            (41.07, "touch 1: healed"),
            (50.06, "touch 2: touch /tmp/ff"),
            (50.09, "touch 2: it is there: `sh -c test -e /t .."),
            (53.1, "touch 2: healed"),
        ];
        let drawn = marked(&marks, Sheet::default());
        let texts = small_texts(&drawn);
        assert_eq!(covered(&texts), None, "{texts:?}");
        let said: String = texts.iter().map(|(.., text)| format!("{text} ")).collect();
        let all: Vec<&str> = marks.iter().map(|(_, word)| *word).collect();
        assert!(all.iter().all(|word| said.contains(word)), "in the picture or below it: {said}");
        // Whatever else there is: a number for each that has no room, explained below.
        let same: Vec<(f64, String)> =
            (0..12).map(|at| (40.0, format!("machine {at} of the store is gone"))).collect();
        let same: Vec<(f64, &str)> = same.iter().map(|(at, word)| (*at, word.as_str())).collect();
        for sheet in [Sheet::default(), Sheet { width: 300.0, ..Sheet::default() }] {
            let drawn = marked(&same, sheet);
            let texts = small_texts(&drawn);
            assert_eq!(covered(&texts), None, "{texts:?}");
            let said: String = texts.iter().map(|(.., text)| format!("{text} ")).collect();
            assert!(said.contains("As measured. 1: machine "), "{said}");
            assert!(same.iter().all(|(_, word)| said.contains(word)), "{said}");
            let numbers = texts.iter().filter(|(.., text)| text.parse::<u32>().is_ok()).count();
            let words = texts.iter().filter(|(.., text)| text.starts_with("machine ")).count();
            assert!(numbers > 0 && numbers + words >= same.len(), "{numbers} and {words}: {texts:?}");
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
