//! A comparison as text: aligned table, Markdown, JUnit XML. Source of the last: the JUnit schema that CI systems read
//! (testsuites, testsuite, testcase, failure, skipped).

use std::fmt::Write as _;

use super::{Comparison, Outcome, Pair, Row, Within};

const HEAD: [&str; 9] =
    ["stage", "operation", "metric", "A", "B", "B / A", "interval", "would see", "outcome"];

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
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:+.1} %", (ratio - 1.0) * 100.0))
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

/// For the terminal.
#[must_use]
pub fn table(comparison: &Comparison) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let mut grid = vec![HEAD.map(str::to_owned)];
        let mut last = (String::new(), String::new());
        for row in &pair.rows {
            let mut cells = cells(row);
            let place = (cells[0].clone(), cells[1].clone());
            if place == last {
                cells[0].clear();
                cells[1].clear();
            }
            last = place;
            grid.push(cells);
        }
        let width = |at: usize| grid.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let _ = writeln!(out, "{}", title(pair));
        for row in &grid {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                let right = (3..8).contains(&at);
                let _ = if right { write!(line, "{pad}{cell}  ") } else { write!(line, "{cell}{pad}  ") };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        notes(pair).iter().for_each(|note| {
            let _ = writeln!(out, "{note}");
        });
    }
    if let Some(faults) = &comparison.faults {
        let _ = write!(out, "{}", faults.table());
    }
    foot(comparison).iter().for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
    out
}

/// For a pull request or a wiki.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let _ = writeln!(out, "{}\n\n| {} |", title(pair), HEAD.join(" | "));
        let _ = writeln!(out, "|---|---|---|--:|--:|--:|--:|--:|---|");
        for row in &pair.rows {
            let cells = cells(row).map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        let _ = writeln!(out);
        notes(pair).iter().for_each(|note| {
            let _ = writeln!(out, "- {note}");
        });
    }
    if let Some(faults) = &comparison.faults {
        let _ = write!(out, "\n{}", faults.markdown());
    }
    foot(comparison).iter().for_each(|line| {
        let _ = writeln!(out, "\n{line}");
    });
    out
}

/// Every value relative to the first side, which is 1.
#[must_use]
pub fn normalised(comparison: &Comparison) -> String {
    let mut out = String::new();
    let Some(first) = comparison.pairs.first() else { return out };
    let mut sides = vec![first.a.as_str()];
    sides.extend(comparison.pairs.iter().map(|pair| pair.b.as_str()));
    let _ = writeln!(out, "relative to {}: {}", first.a, sides.join("  "));
    for row in &first.rows {
        let mut line = format!("{} {} {}: 1.000", row.stage, row.operation, row.metric.names.compare);
        for pair in &comparison.pairs {
            let same = |other: &&Row| {
                other.stage == row.stage && other.operation == row.operation && other.metric == row.metric
            };
            let ratio = pair.rows.iter().find(same).and_then(|row| row.ratio);
            let _ = write!(line, "  {}", ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")));
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
