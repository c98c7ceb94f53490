//! What the terminal says of passes over data sets: how far they are, and the rate over the objects stored.

use cosmark_archive::RunRecord;
use cosmark_metrics::{FillPoint, FillResult, FullResult};

use crate::fit;
use crate::units::{self, grouped, percent};

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
    let has_full = passes.iter().any(|(_, fill)| fill.full.is_some());
    let mut heads = vec!["pass", "objects stored", "op/s", "bandwidth"];
    heads.extend(has_full.then_some("store full"));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (stage, fill) in &passes {
        lines.push(said(stage, fill));
        for point in stretches(fill) {
            let mut row = vec![
                (*stage).to_owned(),
                grouped(point.objects),
                units::rate(point.rate_per_s).trim_end_matches("/s").to_owned(),
                units::bandwidth(point.bytes_per_s),
            ];
            row.extend(has_full.then(|| point.full.map_or_else(|| "-".to_owned(), percent)));
            rows.push(row);
        }
    }
    if !rows.is_empty() {
        lines.push("rate over the objects stored:".to_owned());
        lines.push(fit::plain(&heads, 1, &rows));
    }
    lines.join("\n")
}

fn said(stage: &str, fill: &FillResult) -> String {
    if let Some(full) = &fill.full {
        return said_of_full(stage, fill, full);
    }
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

/// What a store came to that was filled until it was full enough: nobody knew the number of objects before.
fn said_of_full(stage: &str, fill: &FillResult, full: &FullResult) -> String {
    let shown = |share: Option<f64>| share.map_or_else(|| "unknown".to_owned(), percent);
    let became = match full.after.or(full.at_end) {
        Some(share) => format!("the store {} full", percent(share)),
        None => "how full the store became is unknown".to_owned(),
    };
    let written = fill.done.saturating_sub(fill.before);
    let mut text = format!(
        "data set {}, {stage}: {} objects written, {became}, {} before, asked for {}",
        fill.dataset,
        grouped(written),
        shown(full.before),
        percent(full.goal)
    );
    if let (true, Some(at_end), Some(age_s)) = (full.reached && written > 0, full.at_end, full.age_s) {
        text += &format!("; the load ended at a figure of {}, {age_s:.0} s old", percent(at_end));
    }
    if let (Some(share), Some(device)) = (full.fullest, &full.fullest_device) {
        text += &format!("; its fullest device, {device}, {}", percent(share));
    }
    if let Some(objects) = full.objects {
        text += &format!("; later runs may read {}", grouped(objects));
        let behind = fill.done.saturating_sub(objects);
        if behind > 0 {
            text += &format!(", {} lie behind a gap", grouped(behind));
        }
    }
    if !full.reached {
        text += "; the goal was not reached";
    }
    text
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
            full: last.full,
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
            full: Some(f64::from(second) / 200.0),
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
        assert_eq!(rows.last().unwrap().full, Some(0.5), "the last figure of a stretch");
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

    #[test]
    fn a_store_that_was_filled_says_what_it_came_to_and_how_much_of_that_is_known() {
        let full = FullResult {
            goal: 0.6,
            reached: true,
            before: Some(0.1),
            at_end: Some(0.604),
            age_s: Some(2.4),
            after: Some(0.62),
            fullest: Some(0.7),
            fullest_device: Some("d3".into()),
            objects: Some(990),
        };
        let fill = FillResult { dataset: "d".into(), objects: 5000, done: 1000, ..FillResult::default() };
        let mut fill = FillResult { full: Some(full), ..fill };
        assert_eq!(
            said("fill", &fill),
            "data set d, fill: 1 000 objects written, the store 62.0 % full, 10.0 % before, asked for 60.0 %; the load ended at \
             a figure of 60.4 %, 2 s old; its fullest device, d3, 70.0 %; later runs may read 990, 10 lie behind a gap"
        );
        fill.full = Some(FullResult { goal: 0.6, before: Some(0.1), ..FullResult::default() });
        assert_eq!(
            said("fill", &fill),
            "data set d, fill: 1 000 objects written, how full the store became is unknown, 10.0 % before, asked for 60.0 %; the \
             goal was not reached"
        );
    }
}
