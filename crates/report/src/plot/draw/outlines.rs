//! Shapes of distributions: violins after Hintze and Nelson (1998), the median with the sign of its series, the middle half as a bar,
//! quantiles above it as ticks.

use super::super::chart::{Chart, Mark, Outline, Scale, Series};
use super::super::svg::{Stroke, Svg};
use super::{Axes, Frame, colour, shape};

/// Half of the length of the ticks at quantiles.
const TICK: f64 = 6.0;
const EDGE: &str = "#1a1a1a";

/// A colour with much white in it.
fn pale(colour: &str) -> String {
    let part = |at: usize| {
        let value = colour.get(at..at + 2).and_then(|text| u8::from_str_radix(text, 16).ok()).unwrap_or(0);
        255 - (255 - value) / 3
    };
    format!("#{:02x}{:02x}{:02x}", part(1), part(3), part(5))
}

/// Draws the outlines of one series beside those of the others.
pub fn draw(svg: &mut Svg, chart: &Chart, series: &Series, at: usize, axes: &Axes, frame: &Frame) {
    let Scale::Names(names) = &chart.x.scale else { return };
    let is_own = |series: &&Series| series.mark == Mark::Outlines;
    let count = |part: &[Series]| part.iter().filter(is_own).count();
    let (number, own) = (count(&chart.series), count(chart.series.get(..at).unwrap_or_default()));
    #[expect(clippy::cast_precision_loss, reason = "a few shapes")]
    let (number, own, places) = (number.max(1) as f64, own as f64, names.len().max(1) as f64);
    let width = (frame.width / places * 0.86 / number).min(110.0);
    for outline in &series.outlines {
        let middle = frame.x(axes.x.place(outline.x)) + (own - (number - 1.0) / 2.0) * width;
        let y = |value: f64| frame.y(axes.left.place(value));
        draw_one(svg, outline, series.look, (middle, width * 0.46), y);
    }
}

fn draw_one(svg: &mut Svg, outline: &Outline, look: usize, (x, half): (f64, f64), y: impl Fn(f64) -> f64) {
    let side = |sign: f64| move |(value, width): &(f64, f64)| (sign * width * half, *value);
    let right = outline.widths.iter().map(side(1.0));
    let left = outline.widths.iter().rev().map(side(-1.0));
    let edge: Vec<(f64, f64)> = right.chain(left).map(|(aside, value)| (x + aside, y(value))).collect();
    if !edge.is_empty() {
        svg.polygon(&edge, "outline", &pale(colour(look)), colour(look));
    }
    if let Some((low, high)) = outline.middle {
        svg.line((x, y(low)), (x, y(high)), Stroke::plain(EDGE, 4.5));
    }
    for value in &outline.marked {
        svg.line((x - TICK, y(*value)), (x + TICK, y(*value)), Stroke::plain(EDGE, 1.6));
    }
    shape(svg, (x, y(outline.median)), look, "#ffffff", EDGE);
}

/// The same in a legend.
pub fn key(svg: &mut Svg, look: usize, (x, y): (f64, f64)) {
    svg.polygon(
        &[(x - 12.0, y), (x, y - 6.5), (x + 12.0, y), (x, y + 6.5)],
        "key",
        &pale(colour(look)),
        colour(look),
    );
    shape(svg, (x, y), look, "#ffffff", EDGE);
}
