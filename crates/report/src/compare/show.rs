//! A comparison as text: aligned table, Markdown, JUnit XML. Source of the last: the JUnit schema that CI systems read
//! (testsuites, testsuite, testcase, failure, skipped).

use std::fmt::Write as _;

use cosmark_workload::units::{columns_of, signed_text};

use super::{Comparison, Outcome, Pair, Row, Within, unit};
use crate::escape;

const HEAD: [&str; 9] =
    ["stage", "operation", "metric", "A", "B", "B / A", "interval", "would see", "outcome"];
const STAGE: usize = 0;
const OPERATION: usize = 1;
const WOULD_SEE: usize = 7;

fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let size = value.abs();
    if size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.1 || size == 0.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.5}")
    }
}

fn change(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{} %", signed_text((ratio - 1.0) * 100.0, 1)))
}

/// A value with how far the truth may lie above and below it: `12.3 +0.0 -0.4`. A question mark stands where nothing limits it.
fn bounded(value: Option<f64>, within: Option<Within>) -> String {
    let (Some(at), Some(within)) = (value, within) else { return number(value) };
    // As many decimals as the value has.
    let decimals = number(value).split_once('.').map_or(0, |(_, behind)| behind.len());
    let side = |end: Option<f64>| {
        end.map_or_else(|| "?".to_owned(), |end| format!("{:.decimals$}", (end - at).abs()))
    };
    format!("{} +{} -{}", number(value), side(within.high), side(within.low))
}

fn cells(row: &Row) -> [String; 9] {
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |end| change(Some(end)));
    let interval = if row.low.is_none() && row.high.is_none() {
        "-".to_owned()
    } else {
        format!("{} to {}", end(row.low), end(row.high))
    };
    let fails = match (row.fails, row.untested) {
        (true, _) => " (fails)",
        (false, true) => " (condition)",
        (false, false) => "",
    };
    [
        row.stage.clone(),
        row.operation.clone(),
        format!("{} {}", row.metric.names.compare, row.unit),
        bounded(row.a, row.a_bounds),
        bounded(row.b, row.b_bounds),
        change(row.ratio),
        interval,
        row.detectable.map_or_else(|| "-".to_owned(), |d| format!("{:.1} %", d * 100.0)),
        format!("{}{fails}", row.outcome.word()),
    ]
}

fn title(pair: &Pair) -> String {
    format!("A = {}, B = {}", pair.a, pair.b)
}

fn foot(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![comparison.sentence()];
    if comparison.tests > 0 {
        lines.push(format!(
            "{} with {:.0} % confidence; differences below {:.1} % are not called differences.",
            if comparison.tests == 1 {
                "The one interval holds".to_owned()
            } else {
                format!("All {} intervals together hold", comparison.tests)
            },
            comparison.confidence * 100.0,
            comparison.least * 100.0
        ));
    }
    lines
}

/// Notes of rows, each once.
fn notes(pair: &Pair) -> Vec<String> {
    let mut notes: Vec<String> = pair.warnings.iter().map(|text| format!("note: {text}")).collect();
    for row in &pair.rows {
        if let Some(note) = &row.note {
            let text = match row.outcome {
                Outcome::WithinBounds => format!("note: within the bounds: {note}"),
                _ => format!("note: not tested: {note}"),
            };
            if !notes.contains(&text) && !notes.iter().any(|n| n.ends_with(note.as_str())) {
                notes.push(text);
            }
        }
    }
    notes
}

/// What of the table a terminal has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// All columns.
    Whole,
    /// Stage and operation stand above their rows.
    Grouped,
    /// Without the difference that would have been seen.
    Narrow,
    /// Without how far A and B may lie from what is shown, and with less between columns.
    Bare,
}

impl Room {
    const ALL: [Self; 4] = [Self::Whole, Self::Grouped, Self::Narrow, Self::Bare];

    fn has(self, column: usize) -> bool {
        match column {
            STAGE | OPERATION => self == Self::Whole,
            WOULD_SEE => self < Self::Narrow,
            _ => true,
        }
    }

    fn left_out(self) -> Option<&'static str> {
        match self {
            Self::Whole | Self::Grouped => None,
            Self::Narrow => Some("not shown for want of columns: the difference that would have been seen"),
            Self::Bare => Some(
                "not shown for want of columns: the difference that would have been seen, bounds of A and B",
            ),
        }
    }
}

/// The rows of a pair in lines.
fn lines_of(pair: &Pair, room: Room) -> Vec<String> {
    let mut grid = vec![HEAD.map(str::to_owned)];
    grid.extend(pair.rows.iter().map(|row| match room {
        Room::Bare => cells(&Row { a_bounds: None, b_bounds: None, ..row.clone() }),
        _ => cells(row),
    }));
    let width = |at: usize| grid.iter().map(|row| columns_of(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut lines = Vec::new();
    let mut last: Option<(String, String)> = None;
    for (at, mut row) in grid.into_iter().enumerate() {
        let place = (row[STAGE].clone(), row[OPERATION].clone());
        if at > 0 && last.as_ref() == Some(&place) {
            row[STAGE].clear();
            row[OPERATION].clear();
        } else if at > 0 && room != Room::Whole {
            lines.push(format!("{} {}", place.0, place.1));
        }
        last = Some(place);
        let mut line = if room == Room::Whole { String::new() } else { "  ".to_owned() };
        let gap = if room == Room::Bare { " " } else { "  " };
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate().filter(|(at, _)| room.has(*at)) {
            let pad = " ".repeat(width - columns_of(cell));
            let right = (3..8).contains(&column);
            let _ = if right { write!(line, "{pad}{cell}{gap}") } else { write!(line, "{cell}{pad}{gap}") };
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// For a terminal of so many columns; `None` = no bound. Where it is too narrow, stage and operation stand above their rows,
/// and columns that are worth least go.
#[must_use]
pub fn table(comparison: &Comparison, columns: Option<usize>) -> String {
    let mut out = String::new();
    let fits = |room: &Room| {
        let widest = |pair: &Pair| lines_of(pair, *room).iter().map(|line| columns_of(line)).max();
        columns
            .is_none_or(|columns| comparison.pairs.iter().filter_map(widest).all(|widest| widest <= columns))
    };
    let room = Room::ALL.into_iter().find(fits).unwrap_or(Room::Bare);
    for pair in &comparison.pairs {
        let _ = writeln!(out, "{}", title(pair));
        lines_of(pair, room).iter().for_each(|line| {
            let _ = writeln!(out, "{line}");
        });
        notes(pair).iter().for_each(|note| {
            let _ = writeln!(out, "{note}");
        });
    }
    if let Some(faults) = &comparison.faults {
        let _ = write!(out, "{}", faults.table());
    }
    foot(comparison).iter().map(String::as_str).chain(room.left_out()).for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
    out
}

/// For a pull request or a wiki.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let _ = writeln!(out, "{}\n\n| {} |", escape::markdown(&title(pair)), HEAD.join(" | "));
        let _ = writeln!(out, "|---|---|---|--:|--:|--:|--:|--:|---|");
        for row in &pair.rows {
            let cells = cells(row).map(|cell| escape::markdown(&cell));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        let _ = writeln!(out);
        notes(pair).iter().for_each(|note| {
            let _ = writeln!(out, "- {}", escape::markdown(note));
        });
    }
    if let Some(faults) = &comparison.faults {
        let _ = write!(out, "\n{}", faults.markdown());
    }
    foot(comparison).iter().for_each(|line| {
        let _ = writeln!(out, "\n{}", escape::markdown(line));
    });
    out
}

/// Every value relative to the first side, which is 1. Where that has none, or 0, nothing can be relative to it, and each side's
/// own value stands there with its unit.
#[must_use]
pub fn normalised(comparison: &Comparison) -> String {
    let mut out = String::new();
    let Some(first) = comparison.pairs.first() else { return out };
    let mut sides = vec![first.a.as_str()];
    sides.extend(comparison.pairs.iter().map(|pair| pair.b.as_str()));
    let _ = writeln!(out, "relative to {}: {}", first.a, sides.join("  "));
    for row in &comparison.values {
        let mut line = format!("{} {} {}:", row.stage, row.operation, row.metric.names.compare);
        let plain = |value: &Option<f64>| match value {
            Some(_) => format!("{} {}", number(*value), unit(row.metric)),
            None => "-".to_owned(),
        };
        let Some((base, others)) = row.values.split_first() else { continue };
        let is_base = base.is_some_and(|base| base > 0.0);
        let _ = write!(line, " {}", if is_base { "1.000".to_owned() } else { plain(base) });
        for (pair, value) in comparison.pairs.iter().zip(others) {
            let same = |other: &&Row| {
                other.stage == row.stage && other.operation == row.operation && other.metric == row.metric
            };
            let ratio = || pair.rows.iter().find(same).and_then(|row| row.ratio);
            let cell = if is_base { ratio().map(|ratio| format!("{ratio:.3}")) } else { Some(plain(value)) };
            let _ = write!(line, "  {}", cell.as_deref().unwrap_or("-"));
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

/// For CI systems: a row is a test case; it fails by `--fail-on`, or without one where B is worse, and is an error where
/// `--fail-on` asks for it and no test could be made.
#[must_use]
pub fn junit(comparison: &Comparison, by_conditions: bool) -> String {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cosmark compare\">\n");
    for pair in &comparison.pairs {
        let failed = |row: &&Row| if by_conditions { row.fails } else { row.outcome == Outcome::Worse };
        let skipped = |row: &&Row| row.outcome.is_open() && !row.untested;
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
            escaped(&title(pair)),
            pair.rows.len(),
            pair.rows.iter().filter(failed).count(),
            pair.rows.iter().filter(|row| row.untested).count(),
            pair.rows.iter().filter(skipped).count()
        );
        for row in &pair.rows {
            let name = format!("{} {}", row.operation, row.metric.names.compare);
            let text = cells(row)[3..].join(", ");
            let _ = write!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\"",
                escaped(&row.stage),
                escaped(&name)
            );
            let _ = if failed(&row) {
                writeln!(out, "><failure message=\"{}\"/></testcase>", escaped(&text))
            } else if row.untested {
                let why = row.note.as_deref().unwrap_or("too short to tell");
                writeln!(out, "><error message=\"{}\"/></testcase>", escaped(why))
            } else if skipped(&row) {
                let why = row.note.as_deref().unwrap_or("not tested");
                writeln!(out, "><skipped message=\"{}\"/></testcase>", escaped(why))
            } else {
                writeln!(out, "/>")
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
