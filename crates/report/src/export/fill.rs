//! The rate of passes over data sets by the objects stored, as a table (RFC 4180): a row for each stretch.

use std::io::{self, Write};

use cosmark_archive::{Run, harmless};

use super::ExportError;

const HEAD: [&str; 7] = ["stage", "dataset", "objects", "at_s", "rate_per_s", "bytes_per_s", "full"];

pub(super) fn table(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let refused = |error: csv::Error| ExportError::Output(io::Error::other(error));
    table.write_record(HEAD).map_err(refused)?;
    for (stage, fill) in run.record.stages.iter().filter_map(|stage| Some((stage, stage.fill.as_ref()?))) {
        for point in &fill.curve {
            let names = [stage.id.as_str(), fill.dataset.as_str()].map(|cell| harmless(cell).into_owned());
            let numbers = [
                point.objects.to_string(),
                point.at_s.to_string(),
                point.rate_per_s.to_string(),
                point.bytes_per_s.to_string(),
                point.full.map(|share| share.to_string()).unwrap_or_default(),
            ];
            table.write_record(names.into_iter().chain(numbers)).map_err(refused)?;
        }
    }
    Ok(table.flush()?)
}
