//! warp's operation log: a table with tabs in zstd, columns as in warp's `pkg/bench/csv.go`. `warp analyze` reads it.
//! Operations of the measured window only: warp cuts no ramps.

use std::io::{self, BufWriter, Write};

use cosmark_archive::{OpRow, Run, Timestamp};
use cosmark_metrics::Phase;

use super::ExportError;

const HEAD: &str = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\tduration_ns\n";

/// What warp calls what an operation does; others keep their name in capitals.
const NAMES: &[(&str, &str)] = &[
    ("read", "GET"),
    ("write", "PUT"),
    ("prepare", "PUT"),
    ("mprepare", "PUT"),
    ("delete", "DELETE"),
    ("cleanup", "DELETE"),
    ("head", "STAT"),
    ("list", "LIST"),
    ("mwrite", "PUTPART"),
];

/// Writes the operations of all stages but those that only prepare and clean up.
pub fn operations(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let Some(log) = run.operations()? else {
        return Err(ExportError::Missing {
            what: "the operation log".to_owned(),
            remedy: super::without_table(run, "operations", super::NO_OPLOG),
        });
    };
    let epoch = log.epoch();
    let mut packed = BufWriter::new(zstd::stream::write::Encoder::new(out, 3)?);
    packed.write_all(HEAD.as_bytes())?;
    let mut number = 0_u64;
    for row in log {
        let row = row?;
        let Some(name) = name_of(run, &row) else { continue };
        if row.phase != Phase::Window {
            continue;
        }
        line(&mut packed, number, &name, &row, epoch)?;
        number += 1;
    }
    writeln!(packed, "# cosmark {}: {}", run.record.cosmark, one_line(&run.record.name))?;
    let encoder = packed.into_inner().map_err(io::IntoInnerError::into_error)?;
    encoder.finish()?;
    Ok(())
}

/// warp's name of the operation; `None` for what it should not analyse.
fn name_of(run: &Run, row: &OpRow) -> Option<String> {
    let stage = run.record.stages.iter().find(|stage| stage.id == *row.stage)?;
    let labelled = |name: &str, sample: &str| {
        if name == sample { *name == *row.operation } else { format!("{name}-{sample}") == *row.operation }
    };
    let op = stage.operations.iter().find(|op| op.work == *row.work && labelled(&op.name, &op.sample))?;
    let around = ["init", "prepare", "mprepare", "cleanup", "dispose"];
    if around.contains(&op.op.as_str())
        && run
            .record
            .stages
            .iter()
            .any(|stage| stage.operations.iter().any(|op| !around.contains(&op.op.as_str())))
    {
        return None;
    }
    let known = NAMES.iter().find(|(ours, _)| *ours == op.op).map(|(_, theirs)| (*theirs).to_owned());
    Some(known.unwrap_or_else(|| op.op.to_uppercase()))
}

fn line(
    out: &mut impl Write,
    number: u64,
    name: &str,
    row: &OpRow,
    epoch: Timestamp,
) -> Result<(), ExportError> {
    let op = &row.sample;
    let at = |ns: u64| {
        let wall = epoch.as_nanosecond() + i128::from(ns);
        Timestamp::from_nanosecond(wall).map(|at| format!("{at:.9}")).unwrap_or_default()
    };
    let first_byte = if op.first_byte_ns > 0 { at(op.first_byte_ns) } else { String::new() };
    let error = if op.outcome.is_ok() { String::new() } else { one_line(&op.outcome.label()) };
    let bytes = if op.outcome.is_ok() { op.bytes } else { 0 };
    // Operations without an object (list) still have one key for warp.
    writeln!(
        out,
        "{number}\t{}\t{name}\t{}\t1\t{bytes}\t{}\tc{}/o{}\t{error}\t{}\t{first_byte}\t{}\t{}",
        op.worker,
        one_line(&row.driver),
        one_line(&row.stage),
        op.container,
        op.object,
        at(op.sent_ns),
        at(op.end_ns),
        op.end_ns.saturating_sub(op.sent_ns),
    )?;
    Ok(())
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
