//! What response times went into, on the terminal: a row for each operation and size, and what the store's own servers say.

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_metrics::nodes::server_time::{self, ServerTime};
use cosmark_metrics::results::{TIME_PARTS, TimeOf};

use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::units;

/// Rows of a table; `export --format time` has all.
const MOST_ROWS: usize = 40;

/// Of a run; empty where it is not known.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let stages = || record.stages.iter().filter(|stage| stage.operations.iter().any(|op| op.time.is_some()));
    let all: Vec<(String, String, TimeOf<'_>)> = stages().flat_map(of_stage).collect();
    if all.is_empty() {
        return String::new();
    }
    // Parts that are nothing everywhere have no column.
    let spent = |part: &&cosmark_metrics::TimePart| {
        all.iter().any(|(_, _, times)| (part.of)(times.time).is_some_and(|ms| ms > 0.0))
    };
    let parts: Vec<_> = TIME_PARTS.iter().filter(spent).collect();
    let heads =
        [Column::text("stage").least(8), Column::text("operation").least(12), Column::number("mean ms")];
    let heads: Vec<Column> =
        heads.into_iter().chain(parts.iter().map(|part| Column::number(part.title))).collect();
    let row = |(stage, name, times): &(String, String, TimeOf<'_>)| {
        let cells = parts.iter().map(|part| cell((part.of)(times.time), times.time.mean_ms));
        [stage.clone(), name.clone(), units::ms(times.time.mean_ms)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = all.iter().take(MOST_ROWS).map(row).collect();
    let mut lines =
        vec!["where the time of operations went, mean ms and share of the response time:".to_owned()];
    lines.push(fit::table(&heads, &rows, |_, _| Ink::Plain));
    if all.len() > MOST_ROWS {
        lines.push(format!("{} more rows: cosmark export --format time", all.len() - MOST_ROWS));
    }
    lines.extend(sending(&all));
    stages().for_each(|stage| lines.extend(servers(stage)));
    lines.join("\n")
}

fn of_stage(stage: &StageRecord) -> impl Iterator<Item = (String, String, TimeOf<'_>)> {
    stage.operations.iter().enumerate().flat_map(move |(at, operation)| {
        operation.times().map(move |times| {
            let name = times.size.map_or_else(|| operation.name.clone(), |size| format!("  {size}"));
            let first = at == 0 && times.size.is_none();
            (if first { stage.name.clone() } else { String::new() }, name, times)
        })
    })
}

fn cell(ms: Option<f64>, mean_ms: f64) -> String {
    match ms {
        None => "-".to_owned(),
        Some(ms) if ms <= 0.0 || mean_ms <= 0.0 => "0".to_owned(),
        Some(ms) => format!("{} {:.0}%", units::ms(ms), 100.0 * ms / mean_ms),
    }
}

/// Of how many operations the sending was seen.
fn sending(all: &[(String, String, TimeOf<'_>)]) -> Option<String> {
    let whole = || all.iter().filter(|(_, _, times)| times.size.is_none());
    let sampled: u64 = whole().map(|(_, _, times)| times.time.sampled).sum();
    let count: u64 = whole().map(|(_, _, times)| times.count).sum();
    match sampled {
        0 => Some(
            "send = not seen (no adaptor of HTTP, or wire_time=off); it is part of first byte".to_owned(),
        ),
        _ if sampled < count => Some(format!(
            "send = its share was seen of {} of {} operations, drawn by chance",
            units::grouped(sampled),
            units::grouped(count)
        )),
        _ => None,
    }
}

/// What the servers of the store say of the same time, or why they do not.
fn servers(stage: &StageRecord) -> Vec<String> {
    let known = server_time::of_stage(&stage.nodes);
    let measured =
        |one: &&ServerTime| stage.operations.iter().any(|op| op.sample == one.sample && op.time.is_some());
    let line = |one: &ServerTime| {
        format!(
            "{}: {} by the clock of {}, {}: {} ms (mean of {}/s by {})",
            stage.id,
            one.sample,
            one.server,
            one.of,
            units::ms(one.mean_ms),
            units::rate(one.requests_per_s),
            one.source
        )
    };
    let why = server_time::silence(&stage.nodes, &known).filter(|_| !stage.nodes.is_empty());
    let why = why.map(|why| format!("{}: {why}", stage.id));
    known.iter().filter(measured).map(line).chain(why).collect()
}
