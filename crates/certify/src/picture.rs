//! The probability that a look misses a change, by time after it was acknowledged, as a picture: points with their 95 % intervals,
//! time on a logarithmic axis that begins with 0.

use std::fmt::Write as _;

use cosmark_consistency::Outcome;

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 46.0;
const COLOURS: [&str; 5] = ["#1f6fb4", "#c2572b", "#2e9e57", "#8a4fb0", "#a07a00"];

/// Where a time stands: 0 ms at the axis, then powers of ten.
fn across(after_ms: u64) -> f64 {
    let place = if after_ms == 0 { 0.0 } else { 0.6 + (after_ms as f64).log10() };
    LEFT + place / 5.4 * (WIDTH - LEFT - 20.0)
}

fn up(share: f64, most: f64) -> f64 {
    (HEIGHT - BOTTOM) - share / most * (HEIGHT - BOTTOM - 24.0)
}

/// The grid with its words.
fn axes(svg: &mut String, most: f64) {
    for part in 0..=4 {
        let share = most * f64::from(part) / 4.0;
        let y = up(share, most);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#8884\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{:.1} %</text>",
            WIDTH - 20.0,
            LEFT - 6.0,
            y + 4.0,
            share * 100.0
        );
    }
    for (after_ms, word) in [
        (0, "0"),
        (1, "1 ms"),
        (10, "10 ms"),
        (100, "100 ms"),
        (1000, "1 s"),
        (10_000, "10 s"),
        (60_000, "60 s"),
    ] {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{word}</text>",
            across(after_ms),
            HEIGHT - BOTTOM + 16.0
        );
    }
}

/// The section of the page.
pub(crate) fn consistency(outcome: &Outcome) -> String {
    let points = || outcome.classes.iter().flat_map(|class| &class.points);
    let most = points().map(|point| point.high).fold(0.02, f64::max).min(1.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"share of looks that miss a change, by time\" \
         style=\"max-width:56rem;width:100%\" font-size=\"12\" fill=\"currentColor\">"
    );
    axes(&mut svg, most);
    for (number, class) in outcome.classes.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        // Beside each other, so that intervals do not cover each other.
        let shift = number as f64 * 4.0 - 8.0;
        for point in &class.points {
            let x = across(point.after_ms) + shift + 8.0;
            let share = point.stale as f64 / point.looks.max(1) as f64;
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-opacity=\".5\"/>\
                 <circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{}: {} of {} from {} ms on</title></circle>",
                up(point.low, most),
                up(point.high, most),
                up(share, most),
                class.class.words(),
                point.stale,
                point.looks,
                point.after_ms
            );
        }
        let x = LEFT + number as f64 * 165.0;
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            HEIGHT - 10.0,
            x + 8.0,
            HEIGHT - 6.0,
            class.class.words()
        );
    }
    svg.push_str("</svg>");
    format!(
        "<h2>Looks that miss a change, by time after it was acknowledged</h2><p>{} changes, {} reads in {:.0} s. Points are shares, lines \
         their 95 % intervals: nothing seen in n looks excludes about 3/n.</p>{svg}",
        outcome.changes, outcome.reads, outcome.took_s
    )
}
