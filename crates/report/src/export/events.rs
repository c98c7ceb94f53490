//! What happened in a run and when, as a table (RFC 4180): `events.csv` as it is, where it is gone the events of `run.json`,
//! and of a run of COSBench, which has neither, the states of its stages.

use std::io::{self, Write};

use cosmark_archive::{Run, harmless};

use super::{ExportError, copy};

pub(super) fn table(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let events = &run.record.events;
    if run.record.made_by.is_none() && (events.is_empty() || run.path.join("events.csv").is_file()) {
        return copy(run, "events.csv", "it was not written: the run is of an older version", out);
    }
    let mut table = csv::Writer::from_writer(out);
    let refused = |error: csv::Error| ExportError::Output(io::Error::other(error));
    table.write_record(["at", "kind", "stage", "text"]).map_err(refused)?;
    if run.record.made_by.is_none() {
        for event in events {
            let (at, stage) = (event.at.to_string(), event.stage.as_deref().unwrap_or_default());
            // A line of the table is a line of text, as in the file.
            let text = event.text.replace(['\n', '\r'], " | ");
            let (stage, text) = (harmless(stage), harmless(&text));
            let line = [at.as_str(), event.kind.word(), stage.as_ref(), text.as_ref()];
            table.write_record(line).map_err(refused)?;
        }
        return Ok(table.flush()?);
    }
    let stages = run.record.stages.iter();
    let mut changes: Vec<_> =
        stages.flat_map(|stage| stage.history.iter().map(move |change| (stage, change))).collect();
    // Of one second they stay in the order of the stages.
    changes.sort_by_key(|(_, change)| change.at);
    for (stage, change) in changes {
        let (at, stage) = (change.at.to_string(), harmless(&stage.id));
        table.write_record([at.as_str(), "stage", stage.as_ref(), change.state.word()]).map_err(refused)?;
    }
    Ok(table.flush()?)
}
