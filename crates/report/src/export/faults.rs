//! What faults cost, as a table (RFC 4180): a row for each figure of each slot, and one over all slots that count.

use std::io::{self, Write};

use cosmark_archive::{Run, harmless};
use cosmark_metrics::{FaultFigure, FaultResult, SLOT_FIGURES, SlotResult};

use super::ExportError;

/// The last ten are of a figure.
const HEAD: [&str; 14] = [
    "stage", "fault", "type", "what", "slot", "from_s", "void", "figure", "unit", "value", "low", "high",
    "slots", "unknown",
];

/// The place of a slot's number in rows over all slots that count.
const ALL: &str = "all";

pub(super) fn table(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let refused = |error: csv::Error| ExportError::Output(io::Error::other(error));
    table.write_record(HEAD).map_err(refused)?;
    for stage in &run.record.stages {
        for fault in &stage.faults {
            let FaultResult { name, kind, what, .. } = fault;
            for row in rows(fault) {
                let names =
                    [stage.id.as_str(), name.as_str(), kind.as_str(), what.as_str()].map(str::to_owned);
                let cells = names.into_iter().chain(row).map(|cell| harmless(&cell).into_owned());
                table.write_record(cells).map_err(refused)?;
            }
        }
    }
    Ok(table.flush()?)
}

fn rows(fault: &FaultResult) -> Vec<[String; 10]> {
    let of_slots = fault.slots.iter().flat_map(of_slot);
    of_slots.chain(fault.figures.iter().map(of_figure)).collect()
}

/// Every figure of a slot, and its failures by class; a figure that is not known has its reason.
fn of_slot(slot: &SlotResult) -> impl Iterator<Item = [String; 10]> {
    let figures = SLOT_FIGURES.iter().map(move |row| {
        let value = (row.of)(slot);
        let why = slot.unknown.get(row.figure).filter(|_| value.is_none());
        row_of(slot, row.figure, row.unit, number(value), why.cloned().unwrap_or_default())
    });
    let errors = slot.errors.iter().map(move |(class, count)| {
        row_of(slot, &format!("errors.{class}"), "count", count.to_string(), String::new())
    });
    figures.chain(errors)
}

fn row_of(slot: &SlotResult, figure: &str, unit: &str, value: String, why: String) -> [String; 10] {
    [
        slot.number.to_string(),
        slot.from_s.to_string(),
        slot.void.clone().unwrap_or_default(),
        figure.to_owned(),
        unit.to_owned(),
        value,
        String::new(),
        String::new(),
        String::new(),
        why,
    ]
}

/// The mean of a figure and its interval.
fn of_figure(figure: &FaultFigure) -> [String; 10] {
    [
        ALL.to_owned(),
        String::new(),
        String::new(),
        figure.figure.clone(),
        figure.unit.clone(),
        number(figure.mean),
        number(figure.low),
        number(figure.high),
        figure.slots.to_string(),
        figure.reason.clone().unwrap_or_default(),
    ]
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
