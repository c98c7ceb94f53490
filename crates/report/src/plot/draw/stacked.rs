//! Bars of parts, one upon the other. Neighbours differ in lightness and in their hatching, so that they are told apart in shades
//! of grey and by people with any colour vision; hues after Okabe and Ito.

use super::super::chart::{Chart, Mark, Scale, Series};
use super::super::svg::{Stroke, Svg};
use super::{Axes, Frame};

/// Lines over a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hatching {
    Plain,
    Level,
    Upright,
    Rising,
    Falling,
    Crossed,
}

/// How the parts look, by number: dark and light in turns. The colour of the lines is the other of the two.
const PARTS: [(&str, &str, Hatching); 8] = [
    ("#e8e8e8", "#4d4d4d", Hatching::Rising),
    ("#000000", "#ffffff", Hatching::Plain),
    ("#f0c4de", "#4d4d4d", Hatching::Level),
    ("#00664b", "#ffffff", Hatching::Falling),
    ("#f2b632", "#4d4d4d", Hatching::Plain),
    ("#0a5a94", "#ffffff", Hatching::Rising),
    ("#a9dbf5", "#4d4d4d", Hatching::Upright),
    ("#a34400", "#ffffff", Hatching::Crossed),
];

const EDGE: &str = "#1a1a1a";
const STEP: f64 = 7.0;

/// The places that have a value, and the sums up to and with each series.
fn sums(series: &[Series]) -> Vec<(f64, f64)> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    let parts = series.iter().filter(|series| series.mark == Mark::Stacked).flat_map(|series| &series.points);
    for (x, y) in parts.filter(|(_, y)| y.is_finite()) {
        match sums.iter_mut().find(|(known, _)| known.to_bits() == x.to_bits()) {
            Some((_, sum)) => *sum += y,
            None => sums.push((*x, *y)),
        }
    }
    sums
}

#[expect(clippy::cast_precision_loss, reason = "a few bars")]
fn float(count: usize) -> f64 {
    count.max(1) as f64
}

/// How many stacks stand side by side at one name.
fn most_at_a_name(series: &[Series]) -> usize {
    let places: Vec<f64> = sums(series).into_iter().map(|(x, _)| x.round()).collect();
    places
        .iter()
        .map(|x| places.iter().filter(|other| other.to_bits() == x.to_bits()).count())
        .max()
        .unwrap_or(1)
}

/// How high the stacks are.
pub fn tops(chart: &Chart) -> Vec<f64> {
    sums(&chart.series).into_iter().map(|(_, sum)| sum).collect()
}

/// Draws the part at `at` of each stack.
pub fn draw(svg: &mut Svg, chart: &Chart, series: &Series, at: usize, axes: &Axes, frame: &Frame) {
    let Scale::Names(names) = &chart.x.scale else { return };
    let width = (frame.width / float(names.len()) / float(most_at_a_name(&chart.series)) * 0.74).min(70.0);
    let below = sums(chart.series.get(..at).unwrap_or_default());
    for (x, y) in series.points.iter().filter(|(_, y)| y.is_finite() && *y > 0.0) {
        let from =
            below.iter().find(|(other, _)| other.to_bits() == x.to_bits()).map_or(0.0, |(_, sum)| *sum);
        let (top, bottom) = (frame.y(axes.left.place(from + y)), frame.y(axes.left.place(from)));
        let middle = frame.x(axes.x.place(*x));
        part(svg, "part", series.look, (middle - width / 2.0, top), (width, bottom - top));
    }
}

/// A rectangle that looks as the part with this number does.
pub fn part(svg: &mut Svg, class: &str, look: usize, at: (f64, f64), size: (f64, f64)) {
    let Some((fill, lines, hatching)) = PARTS.get(look % PARTS.len()).copied() else { return };
    svg.rectangle(at, size, class, fill, EDGE);
    let stroke = Stroke { colour: lines, width: 1.1, dash: "", opacity: 0.85 };
    for (from, to) in hatches(hatching, size) {
        svg.line((at.0 + from.0, at.1 + from.1), (at.0 + to.0, at.1 + to.1), stroke);
    }
}

/// A line from here to there.
type Hatch = ((f64, f64), (f64, f64));

/// Lines within a rectangle of this size, counted from its upper left corner.
fn hatches(hatching: Hatching, (width, height): (f64, f64)) -> Vec<Hatch> {
    let steps = |end: f64| (1..500_u32).map(|at| f64::from(at) * STEP).take_while(move |at| *at < end);
    // From the left edge or the lower one up to the upper or the right one, at 45 degrees.
    let rising = || {
        let ends = |sum: f64| {
            let (from_x, to_x) = ((sum - height).max(0.0), sum.min(width));
            ((from_x, sum - from_x), (to_x, sum - to_x))
        };
        steps(width + height).map(ends).collect::<Vec<Hatch>>()
    };
    let mirrored = |lines: Vec<Hatch>| {
        lines.into_iter().map(|(from, to)| ((width - from.0, from.1), (width - to.0, to.1)))
    };
    match hatching {
        Hatching::Plain => Vec::new(),
        Hatching::Level => steps(height).map(|y| ((0.0, y), (width, y))).collect(),
        Hatching::Upright => steps(width).map(|x| ((x, 0.0), (x, height))).collect(),
        Hatching::Rising => rising(),
        Hatching::Falling => mirrored(rising()).collect(),
        Hatching::Crossed => rising().into_iter().chain(mirrored(rising())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2) of `#rrggbb`.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn parts_are_told_apart_in_shades_of_grey() {
        let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
        for (at, (fill, lines, hatching)) in PARTS.iter().enumerate() {
            assert!(contrast(luminance(fill), luminance(lines)) > 3.0, "{fill}: its lines are not seen");
            let next = PARTS[(at + 1) % PARTS.len()];
            assert!(contrast(luminance(fill), luminance(next.0)) > 3.0, "{fill} beside {}", next.0);
            // Two of one hatching are not both dark or both light.
            for (other, _, same) in PARTS.iter().skip(at + 1).filter(|(_, _, same)| same == hatching) {
                assert!(contrast(luminance(fill), luminance(other)) > 3.0, "{fill}, {other}: {same:?}");
            }
        }
    }

    #[test]
    fn no_hatch_leaves_its_rectangle() {
        let all =
            [Hatching::Level, Hatching::Upright, Hatching::Rising, Hatching::Falling, Hatching::Crossed];
        for hatching in all {
            for size in [(22.0, 12.0), (70.0, 300.0), (3.0, 0.5), (0.0, 0.0)] {
                for (from, to) in hatches(hatching, size) {
                    for (x, y) in [from, to] {
                        let inside =
                            (-1e-9..=size.0 + 1e-9).contains(&x) && (-1e-9..=size.1 + 1e-9).contains(&y);
                        assert!(inside, "{hatching:?} in {size:?}: {x}, {y}");
                    }
                }
            }
            assert!(hatches(hatching, (70.0, 60.0)).len() > 5, "{hatching:?}");
        }
    }
}
