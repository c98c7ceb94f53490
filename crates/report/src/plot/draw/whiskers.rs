//! Intervals at points. One of few runs that differ much is many times as long as all values: it leaves the frame, and is
//! said to, where else the picture would show nothing but it.

use crate::plot::chart::{Chart, Scale, Series, Side};
use crate::plot::svg::{Stroke, Svg};

/// An even axis goes on for intervals up to so many times the greatest value.
const EVEN: f64 = 2.5;
/// An axis by decades goes on for intervals by this factor at both of its ends.
const DECADES: f64 = 10.0;

/// Between which values ends of intervals make the axis of a side longer.
pub(super) fn reach(chart: &Chart, side: Side) -> (f64, f64) {
    let own = chart.series.iter().filter(|series| series.side == side).flat_map(|series| &series.points);
    let values = own.map(|(_, y)| *y).filter(|y| y.is_finite());
    let is_log = match side {
        Side::Left => chart.left.scale == Scale::Log,
        Side::Right => chart.right.as_ref().is_some_and(|axis| axis.scale == Scale::Log),
    };
    let values: Vec<f64> = values.filter(|y| !is_log || *y > 0.0).collect();
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    match (values.is_empty(), is_log) {
        (true, _) => (f64::NEG_INFINITY, f64::INFINITY),
        (false, true) => (least / DECADES, most * DECADES),
        // Where all values are 0 nothing says how long is too long.
        (false, false) if most <= 0.0 => (f64::NEG_INFINITY, f64::INFINITY),
        (false, false) => (f64::NEG_INFINITY, most * EVEN),
    }
}

/// The same of one series, where `reach` is that of its side.
pub(super) fn limits(series: &Series, reach: (f64, f64)) -> (f64, f64) {
    if series.is_span { (f64::NEG_INFINITY, f64::INFINITY) } else { reach }
}

/// The note of a chart, with a word on intervals that leave the frame.
pub(super) fn note(chart: &Chart) -> String {
    let is_beyond = |side: Side| {
        let (least, most) = reach(chart, side);
        let own = chart.series.iter().filter(|series| series.side == side && !series.is_span);
        let mut ends = own.flat_map(|series| &series.errors);
        ends.any(|(low, high)| *high > most || *low < least)
    };
    if ![Side::Left, Side::Right].into_iter().any(is_beyond) {
        return chart.note.clone();
    }
    and(&chart.note, "Whiskers that end at the frame go on beyond it.")
}

/// A note with one more sentence, where there is one.
pub(super) fn and(note: &str, sentence: &str) -> String {
    let note = note.trim_end();
    if sentence.is_empty() {
        return note.to_owned();
    }
    let stop = if note.is_empty() || note.ends_with('.') { "" } else { "." };
    format!("{note}{stop} {sentence}").trim_start().to_owned()
}

/// An interval: a line with short ends.
pub(super) fn draw(svg: &mut Svg, low: (f64, f64), high: (f64, f64), colour: &str) {
    if !(low.1.is_finite() && high.1.is_finite()) {
        return;
    }
    let stroke = Stroke::plain(colour, 1.3);
    svg.line(low, high, stroke);
    for (x, y) in [low, high] {
        svg.line((x - 4.0, y), (x + 4.0, y), stroke);
    }
}

#[cfg(test)]
mod tests {
    use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
    use crate::plot::draw::{Sheet, draw};

    fn drawn(scale: Scale, errors: &[(f64, f64)]) -> String {
        let mut one = Series::new("a", 0, Mark::Marked, vec![(1.0, 10.0), (2.0, 20.0)]);
        one.errors = errors.to_vec();
        let chart = Chart {
            title: String::new(),
            x: Axis::new("n", Scale::FromZero),
            left: Axis::new("rate", scale),
            right: None,
            series: vec![one],
            note: "as measured".to_owned(),
        };
        draw(&chart, Sheet::default())
    }

    #[test]
    fn an_interval_of_many_times_the_values_leaves_the_frame_and_that_is_said() {
        let even = drawn(Scale::FromZero, &[(1.0, 4000.0), (19.0, 21.0)]);
        assert!(even.contains("as measured. Whiskers that end at the frame go on beyond it."), "{even}");
        assert!(even.contains(">50<") && !even.contains(">1000<"), "{even}");
        let decades = drawn(Scale::Log, &[(0.001, 4000.0), (19.0, 21.0)]);
        assert!(decades.contains("go on beyond it") && !decades.contains(">1000<"), "{decades}");
        for scale in [Scale::FromZero, Scale::Log] {
            // One point has no interval.
            let within = drawn(scale.clone(), &[(f64::NAN, f64::NAN), (15.0, 30.0)]);
            assert!(!within.contains("beyond") && within.contains("as measured"), "{within}");
            assert!(
                !within.contains("NaN") && (scale == Scale::FromZero || !within.contains(">5<")),
                "{within}"
            );
        }
    }
}
