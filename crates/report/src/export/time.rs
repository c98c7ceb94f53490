//! What response times went into, as a table (RFC 4180): a row for each part, of each operation and size; and what the store's
//! own servers say of the same operations.

use std::collections::BTreeSet;
use std::io::{self, Write};

use cosmark_archive::{Run, StageRecord, harmless};
use cosmark_metrics::nodes::server_time;
use cosmark_metrics::results::{TIME_PARTS, TimeOf};

use super::{ExportError, id_of};

const HEAD: [&str; 10] =
    ["stage", "work", "operation", "size", "source", "part", "mean_ms", "share", "operations", "measured_of"];

/// A column more, behind the others, where stage, work and name do not tell all operations apart.
const ID: &str = "id";

/// What a row says beside its names: part, mean, share of the response time, and of how many operations it was measured.
type Cells = (String, f64, Option<f64>, String);

pub(super) fn table(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    if !run.record.stages.iter().flat_map(|stage| &stage.operations).any(|op| op.time.is_some()) {
        let remedy = if run.record.fio.is_some() {
            "fio does not say it"
        } else {
            "it is not known of runs of older versions, of those that were killed, and where nothing succeeded"
        };
        return Err(ExportError::Missing {
            what: "what its response times went into".to_owned(),
            remedy: remedy.to_owned(),
        });
    }
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let refused = |error: csv::Error| ExportError::Output(io::Error::other(error));
    let by_id = run.record.stages.iter().any(has_alike);
    table.write_record(HEAD.into_iter().chain(by_id.then_some(ID))).map_err(refused)?;
    for stage in &run.record.stages {
        for (row, id) in rows(stage) {
            let id = by_id.then(|| harmless(id));
            table.write_record(row.iter().map(String::as_str).chain(id.as_deref())).map_err(refused)?;
        }
    }
    Ok(table.flush()?)
}

/// Whether two operations of a stage have the same work and name.
fn has_alike(stage: &StageRecord) -> bool {
    let names: BTreeSet<_> = stage.operations.iter().map(|op| (&op.work, &op.name)).collect();
    names.len() < stage.operations.len()
}

/// Rows, each with the id of its operation.
fn rows(stage: &StageRecord) -> Vec<([String; 10], &str)> {
    let servers = server_time::of_stage(&stage.nodes);
    let mut rows = Vec::new();
    for operation in &stage.operations {
        let mut row = |size: &str, source: &str, figures: Cells, count: String| {
            let (part, mean_ms, share, measured_of) = figures;
            let names = [&stage.id, &operation.work, &operation.name].map(|name| harmless(name).into_owned());
            let [stage, work, name] = names;
            let share = share.map_or_else(String::new, |share| share.to_string());
            let cells =
                [size.to_owned(), source.to_owned(), part, mean_ms.to_string(), share, count, measured_of];
            let [size, source, part, mean_ms, share, count, measured_of] = cells;
            let cells = [stage, work, name, size, source, part, mean_ms, share, count, measured_of];
            rows.push((cells, id_of(operation)));
        };
        for times in operation.times() {
            let size = times.size.unwrap_or("all");
            client(&times).into_iter().for_each(|cells| row(size, "client", cells, times.count.to_string()));
        }
        if operation.time.is_some() {
            for one in servers.iter().filter(|one| one.sample == operation.sample) {
                let part = format!("{}, {}", one.server, one.of);
                let per_s = format!("{} requests/s", one.requests_per_s);
                row("all", &one.source, (part, one.mean_ms, None, per_s), String::new());
            }
        }
    }
    rows
}

fn client(times: &TimeOf<'_>) -> Vec<Cells> {
    let mean_ms = times.time.mean_ms;
    let share = |ms: f64| (mean_ms > 0.0).then(|| ms / mean_ms);
    let all = ("response".to_owned(), mean_ms, share(mean_ms), times.count.to_string());
    let parts = TIME_PARTS.iter().filter_map(|part| {
        let ms = (part.of)(times.time)?;
        let of = if part.id == "send" { times.time.sampled } else { times.count };
        Some((part.id.to_owned(), ms, share(ms), of.to_string()))
    });
    let added = times.client_added_ms;
    let added = added.mean.map(|ms| ("client_added".to_owned(), ms, share(ms), added.count.to_string()));
    std::iter::once(all).chain(parts).chain(added).collect()
}
