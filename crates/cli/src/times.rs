//! What response times went into, on the terminal: a row for each operation and size, and what the store's own servers say.

use std::cmp::Ordering;

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_metrics::nodes::server_time::{self, ServerTime};
use cosmark_metrics::results::{TIME_PARTS, TimeOf};

use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::screen::room;
use crate::units;

/// Rows of a table; `export --format time` has all.
const MOST_ROWS: usize = 40;

/// Of a run; empty where it is not known.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    text_in(room(), record)
}

/// The same in this width.
fn text_in(room: Option<usize>, record: &RunRecord) -> String {
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
    let spent_ms = |part: &&cosmark_metrics::TimePart| {
        all.iter().filter_map(|(_, _, times)| (part.of)(times.time)).sum::<f64>()
    };
    let goes = going(&parts.iter().map(spent_ms).collect::<Vec<f64>>());
    let columns = parts.iter().zip(goes).map(|(part, goes)| Column::number(part.title).goes(goes));
    let heads: Vec<Column> = heads.into_iter().chain(columns).collect();
    let row = |(stage, name, times): &(String, String, TimeOf<'_>)| {
        let cells = parts.iter().map(|part| cell((part.of)(times.time), times.time.mean_ms));
        [stage.clone(), name.clone(), units::ms(times.time.mean_ms)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = all.iter().take(MOST_ROWS).map(row).collect();
    let mut lines =
        vec!["where the time of operations went, mean ms and share of the response time:".to_owned()];
    lines.push(fit::table_in(room, &heads, &rows, |_, _| Ink::Plain));
    if all.len() > MOST_ROWS {
        lines.push(format!("{} more rows: cosmark export --format time", all.len() - MOST_ROWS));
    }
    lines.extend(sending(&all));
    stages().for_each(|stage| lines.extend(servers(stage)));
    lines.extend(silent(&stages().collect::<Vec<_>>()));
    lines.join("\n")
}

/// Why no server's time stands beside the client's, with the stages of which that is so where it is not so of all.
fn silent(stages: &[&StageRecord]) -> Vec<String> {
    let why = |stage: &StageRecord| {
        let why = server_time::silence(&stage.nodes, &server_time::of_stage(&stage.nodes));
        why.filter(|_| !stage.nodes.is_empty())
    };
    let mut reasons: Vec<&str> = stages.iter().filter_map(|stage| why(stage)).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let of = |reason: &str| {
        let ids = stages.iter().filter(|stage| why(stage) == Some(reason)).map(|stage| stage.id.as_str());
        let ids: Vec<&str> = ids.collect();
        if ids.len() == stages.len() { reason.to_owned() } else { format!("{}: {reason}", ids.join(", ")) }
    };
    reasons.into_iter().map(of).collect()
}

/// Parts that stay where the terminal is narrow: those that took most.
const STAY: usize = 2;

/// How soon each part goes where there is no room, by its time: the shortest first.
fn going(spent_ms: &[f64]) -> Vec<u8> {
    let is_longer = |(other, ms): (usize, &f64), at: usize| match ms.total_cmp(&spent_ms[at]) {
        Ordering::Greater => true,
        Ordering::Equal => other < at,
        Ordering::Less => false,
    };
    let rank =
        |at: usize| spent_ms.iter().enumerate().filter(|(other, ms)| is_longer((*other, *ms), at)).count();
    let goes = |at: usize| u8::try_from((rank(at) + 1).saturating_sub(STAY)).unwrap_or(u8::MAX);
    (0..spent_ms.len()).map(goes).collect()
}

fn of_stage(stage: &StageRecord) -> impl Iterator<Item = (String, String, TimeOf<'_>)> {
    stage.operations.iter().enumerate().flat_map(move |(at, operation)| {
        operation.times().map(move |times| {
            let whole = || stage.name_of(&operation.work, &operation.name);
            let name = times.size.map_or_else(whole, |size| format!("  {size}"));
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

/// What the servers of the store say of the same time.
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
    known.iter().filter(measured).map(line).collect()
}

#[cfg(test)]
mod tests {
    use cosmark_archive::OperationResult;
    use cosmark_metrics::{NodeResult, TimeResult};
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn parts_fit_from_forty_columns_on_and_those_that_took_most_stay_longest() {
        let time = TimeResult {
            mean_ms: 2_345.0,
            wait_ms: 1_200.0,
            connect_ms: 20.0,
            tls_ms: 25.0,
            send_ms: Some(100.0),
            first_byte_ms: 900.0,
            body_ms: 60.0,
            several_ms: 30.0,
            rest_ms: 10.0,
            ..TimeResult::default()
        };
        let operation = OperationResult {
            name: "read-of-what-was-written".into(),
            time: Some(time),
            ..OperationResult::default()
        };
        let mut stage: StageRecord =
            from_value(json!({"id": "s1-main", "name": "main", "state": "completed"})).unwrap();
        stage.operations = vec![operation];
        let mut record: RunRecord = from_value(json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n",
            "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null, "started": null,
            "ended": null, "process": null}))
        .unwrap();
        record.stages = vec![stage];
        for room in [40, 60, 80, 120, 200] {
            let text = text_in(Some(room), &record);
            // The heading and the remark below are sentences, which are wrapped where they are printed.
            let is_table = |line: &&str| !line.starts_with("where the time") && !line.starts_with("send = ");
            for line in text.lines().filter(is_table) {
                assert!(crate::screen::columns_of(line) <= room, "{room}: {line}\n{text}");
            }
            assert!(text.contains("1200 51%") && text.contains("900 38%"), "{room}:\n{text}");
        }
        let of = |room| text_in(Some(room), &record);
        assert!(of(40).contains("\n  TLS: 25.0 1%") && of(200).contains("25.0 1%"), "{}", of(40));
        assert!(!of(80).contains("25.0 1%") && of(80).contains("first byte"), "{}", of(80));
    }

    #[test]
    fn the_shortest_part_goes_first() {
        assert_eq!(going(&[12.0, 0.5, 900.0, 3.0, 3.0]), [0, 3, 0, 1, 2]);
        assert_eq!(going(&[1.0]), [0]);
        assert!(going(&[]).is_empty());
    }

    #[test]
    fn why_no_server_tells_its_times_is_said_once() {
        let time = TimeResult { mean_ms: 5.0, first_byte_ms: 5.0, ..TimeResult::default() };
        let stage = |id: &str, is_read: bool| {
            let mut stage: StageRecord =
                from_value(json!({"id": id, "name": id, "state": "completed"})).unwrap();
            stage.nodes = if is_read { vec![NodeResult::default()] } else { Vec::new() };
            let time = Some(time.clone());
            stage.operations =
                vec![OperationResult { name: "read".into(), time, ..OperationResult::default() }];
            stage
        };
        let said = |stages: &[StageRecord]| silent(&stages.iter().collect::<Vec<_>>());
        let all = said(&[stage("s1-a", true), stage("s2-b", true)]);
        assert_eq!(all.len(), 1);
        assert!(all[0].starts_with("the store's own time is not known: what is listed"), "{all:?}");
        let some = said(&[stage("s1-a", true), stage("s2-b", false), stage("s3-c", true)]);
        assert_eq!(some.len(), 1);
        assert!(some[0].starts_with("s1-a, s3-c: the store's own time"), "{some:?}");
        assert_eq!(said(&[stage("s1-a", false)]), Vec::<String>::new());
    }
}
