//! What the terminal says of passes over data sets: how far they are, and the rate over the objects stored.

use comfy_table::{Cell, CellAlignment, Table};
use cosmark_archive::RunRecord;
use cosmark_metrics::{FillPoint, FillResult};

use crate::units::{self, grouped};

/// Rows of a pass; the archive has all.
const ROWS: usize = 8;

/// Of a run; empty without any.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let passes: Vec<(&str, &FillResult)> =
        record.stages.iter().filter_map(|stage| Some((stage.name.as_str(), stage.fill.as_ref()?))).collect();
    if passes.is_empty() {
        return String::new();
    }
    let mut lines = Vec::new();
    let mut table = Table::new();
    table.load_style(crate::out::frame());
    table.set_header(["pass", "objects stored", "op/s", "bandwidth"]);
    let mut any = false;
    for (stage, fill) in &passes {
        lines.push(said(stage, fill));
        for point in stretches(fill) {
            any = true;
            let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
            table.add_row([
                Cell::new(stage),
                right(grouped(point.objects)),
                right(units::rate(point.rate_per_s).trim_end_matches("/s").to_owned()),
                right(units::bandwidth(point.bytes_per_s)),
            ]);
        }
    }
    if any {
        lines.push("rate over the objects stored:".to_owned());
        lines.push(table.to_string());
    }
    lines.join("\n")
}

fn said(stage: &str, fill: &FillResult) -> String {
    let from = match fill.before {
        0 => String::new(),
        before if before >= fill.objects => ": nothing was left to do".to_owned(),
        before => format!(", from {} on", grouped(before)),
    };
    let rest = fill.objects.saturating_sub(fill.done);
    let rest =
        if rest > 0 { format!("; {} are left: repeat the command", grouped(rest)) } else { String::new() };
    format!(
        "data set {}, {stage}: {} of {}{from}{rest}",
        fill.dataset,
        grouped(fill.done),
        grouped(fill.objects)
    )
}

/// A few stretches of about equal length in time, each put together of the points that it has.
#[expect(clippy::cast_precision_loss, reason = "counts of objects fit 53 bits")]
fn stretches(fill: &FillResult) -> Vec<FillPoint> {
    let each = fill.curve.len().div_ceil(ROWS).max(1);
    let (mut from_s, mut from) = (0.0, fill.before);
    let mut rows = Vec::new();
    for points in fill.curve.chunks(each) {
        let Some(last) = points.last() else { continue };
        let seconds = (last.at_s - from_s).max(1e-3);
        let mut before_s = from_s;
        let bytes: f64 = points
            .iter()
            .map(|point| {
                let bytes = point.bytes_per_s * (point.at_s - before_s);
                before_s = point.at_s;
                bytes
            })
            .sum();
        rows.push(FillPoint {
            objects: last.objects,
            at_s: last.at_s,
            rate_per_s: last.objects.saturating_sub(from) as f64 / seconds,
            bytes_per_s: bytes / seconds,
        });
        (from_s, from) = (last.at_s, last.objects);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_pass_keep_its_counts_and_its_bytes() {
        let curve = (1..=100_u32).map(|second| FillPoint {
            objects: 40 + 10 * u64::from(second),
            at_s: f64::from(second),
            rate_per_s: 10.0,
            bytes_per_s: 50.0,
        });
        let fill = FillResult {
            dataset: "d".into(),
            objects: 2000,
            before: 40,
            done: 1040,
            curve: curve.collect(),
            ..FillResult::default()
        };
        let rows = stretches(&fill);
        assert!(rows.len() <= ROWS && rows.last().unwrap().objects == 1040, "{rows:?}");
        assert!(
            rows.iter()
                .all(|row| (row.rate_per_s - 10.0).abs() < 1e-9 && (row.bytes_per_s - 50.0).abs() < 1e-9),
            "{rows:?}"
        );
        assert_eq!(
            said("fill", &fill),
            "data set d, fill: 1 040 of 2 000, from 40 on; 960 are left: repeat the command"
        );
    }
}
