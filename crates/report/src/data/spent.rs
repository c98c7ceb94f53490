//! What response times went into, as the page shows it: bars of operations and sizes, and the servers' own times beside them.

use cosmark_archive::{OperationResult, StageRecord};
use cosmark_metrics::nodes::server_time::{self, ServerTime};
use cosmark_metrics::results::TIME_PARTS;
use cosmark_workload::units::grouped;

use super::model::{ServerTimeData, TimePartData, TimeRow, TimeSpent};

/// Bars of one stage; the export has all.
const MOST_ROWS: usize = 60;

/// Of a stage; `None` where it is not known.
pub fn of_stage(stage: &StageRecord) -> Option<TimeSpent> {
    let first = stage.operations.first().map(|op| &op.work);
    let several_works = stage.operations.iter().any(|op| Some(&op.work) != first);
    let name = |op: &OperationResult| match several_works && op.work != op.name {
        true => format!("{} {}", op.work, op.name),
        false => op.name.clone(),
    };
    let all: Vec<_> =
        stage.operations.iter().flat_map(|op| op.times().map(move |times| (op, times))).collect();
    if all.is_empty() {
        return None;
    }
    let parts: Vec<_> = (0_u32..)
        .zip(TIME_PARTS)
        .filter(|(_, part)| all.iter().any(|(_, times)| (part.of)(times.time).is_some_and(|ms| ms > 0.0)))
        .collect();
    let rows = all.iter().take(MOST_ROWS).map(|(op, times)| TimeRow {
        operation: name(op),
        size: times.size.map(str::to_owned),
        count: times.count,
        mean_ms: times.time.mean_ms,
        ms: parts.iter().map(|(_, part)| (part.of)(times.time)).collect(),
        client_added_ms: times.client_added_ms.mean,
    });
    let known = server_time::of_stage(&stage.nodes);
    let whole: Vec<_> = all.iter().filter(|(_, times)| times.size.is_none()).collect();
    let (sampled, count) = whole
        .iter()
        .fold((0, 0), |(sampled, count), (_, times)| (sampled + times.time.sampled, count + times.count));
    let mut remarks: Vec<String> = sending(sampled, count).into_iter().collect();
    if let Some(why) = server_time::silence(&stage.nodes, &known) {
        let mut rest = why.chars();
        let head: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
        remarks.push(format!("{head}{}.", rest.as_str()));
    }
    if all.len() > MOST_ROWS {
        remarks.push(format!("{} more bars are in `cosmark export --format time`.", all.len() - MOST_ROWS));
    }
    Some(TimeSpent {
        rows: rows.collect(),
        parts: parts
            .iter()
            .map(|(colour, part)| TimePartData {
                id: part.id.to_owned(),
                title: part.title.to_owned(),
                help: part.help.to_owned(),
                colour: *colour,
            })
            .collect(),
        servers: known.iter().filter_map(|one| server(stage, one)).collect(),
        remarks,
    })
}

/// How much of the sending was seen, where it was not all of it.
fn sending(sampled: u64, count: u64) -> Option<String> {
    if sampled == 0 {
        return Some("Sending was not seen: it is part of the first byte.".to_owned());
    }
    (sampled < count).then(|| {
        format!(
            "The share of sending was seen of {} of {} operations, drawn by chance.",
            grouped(sampled),
            grouped(count)
        )
    })
}

/// Only of what the clients measured.
fn server(stage: &StageRecord, one: &ServerTime) -> Option<ServerTimeData> {
    let own = || stage.operations.iter().filter(|op| op.sample == one.sample && op.time.is_some());
    own().next()?;
    Some(ServerTimeData {
        sample: one.sample.to_owned(),
        server: one.server.to_owned(),
        of: one.of.to_owned(),
        source: one.source.clone(),
        mean_ms: one.mean_ms,
        requests_per_s: one.requests_per_s,
        measured_per_s: own().filter_map(|op| op.throughput_per_s).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_operations_have_their_digits_in_groups_as_in_the_terminal() {
        assert_eq!(
            sending(54_471, 115_604).as_deref(),
            Some("The share of sending was seen of 54 471 of 115 604 operations, drawn by chance.")
        );
        assert_eq!(sending(7, 7), None);
        assert!(sending(0, 7).is_some_and(|text| text.starts_with("Sending was not seen")));
    }
}
