//! What a picture shows, as text: CSV for programs, tables for LaTeX and Markdown.

use super::chart::{Chart, Scale};
use super::scale::number;
use super::table::TextTable;
use crate::escape;

/// Tables in papers have no more rows.
const MOST_ROWS: usize = 60;

/// As CSV (RFC 4180): one row per point with its interval, or per cell of a heat map.
pub fn csv(chart: &Chart) -> String {
    let mut out = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let x_name = if chart.x.label.is_empty() { "name" } else { chart.x.label.as_str() };
    // Writing to memory cannot fail.
    drop(out.write_record(["series", "axis", x_name, "value", "low", "high"]));
    let mut push = |cells: [String; 6]| {
        drop(out.write_record(cells.iter().map(|cell| cosmark_archive::harmless(cell).into_owned())));
    };
    for series in chart.series.iter().filter(|series| series.mark != super::chart::Mark::Guide) {
        let axis = match (&chart.right, series.side) {
            (Some(right), super::chart::Side::Right) => &right.label,
            _ => &chart.left.label,
        };
        for (at, (x, y)) in series.points.iter().enumerate().filter(|(_, (_, y))| y.is_finite()) {
            let (low, high) = series
                .errors
                .get(at)
                .map_or_else(Default::default, |(low, high)| (low.to_string(), high.to_string()));
            push([series.label.clone(), axis.clone(), place(chart, *x), y.to_string(), low, high]);
        }
        for cell in &series.cells {
            push([
                "count".to_owned(),
                axis.clone(),
                cell.x.0.to_string(),
                cell.count.to_string(),
                cell.y.0.to_string(),
                cell.y.1.to_string(),
            ]);
        }
    }
    out.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn place(chart: &Chart, x: f64) -> String {
    match &chart.x.scale {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of a name")]
        Scale::Names(names) => names.get(x.round().max(0.0) as usize).cloned().unwrap_or_default(),
        _ => x.to_string(),
    }
}

/// How finely a value is said among values of up to `most`: a thousandth of the greatest, and of what is smaller three digits
/// that count, since none but a nothing may become a 0.
fn precision(value: f64, most: f64) -> f64 {
    if value == 0.0 { most / 1e3 } else { (most / 1e3).min(value.abs() / 1e2) }
}

/// The chart as a table: a row per place, a column per series; `None` where it has too many places for one.
pub fn table(chart: &Chart) -> Option<TextTable> {
    let shown: Vec<_> =
        chart.series.iter().filter(|series| !series.points.is_empty() && !series.label.is_empty()).collect();
    let mut places: Vec<f64> = Vec::new();
    for (x, _) in shown.iter().flat_map(|series| &series.points) {
        if !places.iter().any(|known| known.to_bits() == x.to_bits()) {
            places.push(*x);
        }
    }
    if shown.is_empty() || places.is_empty() || places.len() > MOST_ROWS {
        return None;
    }
    places.sort_by(f64::total_cmp);
    let most = |series: &&super::chart::Series| {
        series.points.iter().map(|(_, y)| y.abs()).filter(|y| y.is_finite()).fold(0.0, f64::max)
    };
    let rows = places.iter().map(|x| {
        let cell = |series: &&super::chart::Series| {
            let found = series.points.iter().position(|(own, _)| own.to_bits() == x.to_bits());
            let Some((at, y)) =
                found.and_then(|at| Some((at, series.points.get(at)?.1))).filter(|(_, y)| y.is_finite())
            else {
                return "-".to_owned();
            };
            let said = |value: f64| number(value, precision(value, most(series)));
            match series.errors.get(at) {
                Some((low, high)) if low.to_bits() == high.to_bits() => said(y),
                // Cut at zero, or no interval of a mean: both ends are said.
                Some((low, high)) if ((high - y) - (y - low)).abs() > 1e-6 * (high - low).abs() => {
                    format!("{} [{}, {}]", said(y), said(*low), said(*high))
                }
                Some((low, high)) => format!("{} ± {}", said(y), said((high - low) / 2.0)),
                None => said(y),
            }
        };
        let name = match &chart.x.scale {
            Scale::Names(_) => place(chart, *x),
            _ => number(*x, x.abs() / 1e3),
        };
        std::iter::once(name).chain(shown.iter().map(cell)).collect()
    });
    let rows = rows.collect();
    // The note says what the left axis shows.
    let named = |series: &&super::chart::Series| match (&chart.right, series.side) {
        (Some(right), super::chart::Side::Right) => format!("{}: {}", series.label, right.label),
        _ => series.label.clone(),
    };
    let head = std::iter::once(chart.x.label.clone()).chain(shown.iter().map(named));
    let side = chart.left.label.clone();
    let title = if chart.title.is_empty() { side.clone() } else { chart.title.clone() };
    Some(TextTable { title, head: head.collect(), names: 1, rows, note: format!("{side}. {}", chart.note) })
}

/// For a wiki or a pull request (GitHub Flavored Markdown, 4.10).
pub fn markdown(table: &TextTable) -> String {
    let row = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|text| escape::markdown(text)).collect::<Vec<_>>().join(" | "))
    };
    let rules: Vec<&str> =
        (0..table.head.len()).map(|at| if at < table.names { "---" } else { "---:" }).collect();
    let mut text = String::new();
    if !table.title.is_empty() {
        text.push_str(&format!("**{}**\n\n", escape::markdown(&table.title)));
    }
    text.push_str(&row(&table.head));
    text.push_str(&format!("| {} |\n", rules.join(" | ")));
    table.rows.iter().for_each(|cells| text.push_str(&row(cells)));
    if !table.note.is_empty() {
        text.push_str(&format!("\n{}\n", escape::markdown_line(&table.note)));
    }
    text
}

/// For a paper: a `tabular` with the rules of the package booktabs, and the rest as comments.
pub fn latex(table: &TextTable) -> String {
    let row = |cells: &[String]| {
        format!("{} \\\\\n", cells.iter().map(|text| escape::latex(text)).collect::<Vec<_>>().join(" & "))
    };
    let columns: String = (0..table.head.len()).map(|at| if at < table.names { 'l' } else { 'r' }).collect();
    let mut text = String::new();
    for line in [&table.title, &table.note].into_iter().filter(|line| !line.trim().is_empty()) {
        text.push_str(&format!("% {}\n", line.replace(['\n', '\r'], " ").trim()));
    }
    text.push_str(&format!("% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n"));
    text.push_str(&row(&table.head));
    text.push_str("\\midrule\n");
    table.rows.iter().for_each(|cells| text.push_str(&row(cells)));
    text.push_str("\\bottomrule\n\\end{tabular}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Axis, Mark, Series};
    use super::*;

    fn chart() -> Chart {
        let mut a = Series::new("a_1", 0, Mark::Bars, vec![(0.0, 1.0), (1.0, 2.5)]);
        a.errors = vec![(0.9, 1.1), (2.0, 3.0)];
        let b = Series::new("=b|c", 1, Mark::Bars, vec![(1.0, f64::NAN)]);
        let guide = Series::new("", 0, Mark::Guide, vec![(-0.5, 1.0)]);
        Chart {
            title: "50 % & more".into(),
            x: Axis::new("", Scale::Names(vec!["read".into(), "write".into()])),
            left: Axis::new("Throughput", Scale::FromZero),
            right: None,
            series: vec![a, b, guide],
            note: String::new(),
        }
    }

    #[test]
    fn every_point_is_in_the_data_with_its_interval_and_no_name_is_a_formula() {
        let text = csv(&chart());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "series,axis,name,value,low,high");
        assert_eq!(lines[1..], ["a_1,Throughput,read,1,0.9,1.1", "a_1,Throughput,write,2.5,2,3"]);
        let mut other = chart();
        other.series[1].points = vec![(0.0, 7.0)];
        assert!(csv(&other).contains("'=b|c,Throughput,read,7,,"), "{}", csv(&other));
    }

    #[test]
    fn a_table_says_the_same_and_its_texts_give_no_orders() {
        let table = table(&chart()).unwrap();
        assert_eq!(table.rows[1], ["write", "2.5 ± 0.5", "-"]);
        let md = markdown(&table);
        assert!(md.contains("| write | 2.5 ± 0.5 | - |") && md.contains("=b\\|c"), "{md}");
        // A dash that begins a line would be a list, and not be shown.
        let with_note = TextTable { note: "- = nothing there".into(), ..table.clone() };
        assert!(markdown(&with_note).ends_with("|\n\n\\- = nothing there\n"), "{}", markdown(&with_note));
        let tex = latex(&table);
        assert!(
            tex.contains("write & 2.5 $\\pm$ 0.5 & - \\\\") && tex.contains("a\\_1") && tex.contains("{lrr}"),
            "{tex}"
        );
        assert_eq!(escape::latex("a_b\\{%}"), "a\\_b\\textbackslash{}\\{\\%\\}");
        let mut two = chart();
        two.series[0].side = super::super::chart::Side::Right;
        two.right = Some(Axis::new("Share (%)", Scale::FromZero));
        assert_eq!(super::table(&two).unwrap().head, ["", "a_1: Share (%)", "=b|c"]);
        // A store that is ten thousand times as fast is no store that does nothing.
        let mut wide = chart();
        wide.series[0].points = vec![(0.0, 100_000.0), (1.0, 0.0123)];
        wide.series[0].errors = vec![(99_000.0, 101_000.0), (0.0113, 0.0133)];
        let rows = super::table(&wide).unwrap().rows;
        assert_eq!((rows[0][1].as_str(), rows[1][1].as_str()), ("100\u{202f}000 ± 1000", "0.0123 ± 0.001"));
        wide.series[0].errors.clear();
        wide.series[0].points = vec![(0.0, 0.0), (1.0, 4321.0)];
        let rows = super::table(&wide).unwrap().rows;
        assert_eq!((rows[0][1].as_str(), rows[1][1].as_str()), ("0", "4321"));
        let mut long = chart();
        long.series[0].points = (0..100).map(|at| (f64::from(at), 1.0)).collect();
        assert!(super::table(&long).is_none());
    }
}
