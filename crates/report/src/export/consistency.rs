//! How soon writes were seen beside the load, as a table (RFC 4180): a row for each stage, class, place and time.

use std::io::{self, Write};

use cosmark_archive::{Run, harmless};
use cosmark_metrics::{ConsistencyPoint, LookFrom};

use super::ExportError;

const HEAD: [&str; 11] =
    ["stage", "class", "from", "from_ms", "to_ms", "mean_ms", "looks", "stale", "share", "low", "high"];

pub(super) fn table(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let probed: Vec<_> =
        run.record.stages.iter().filter_map(|stage| Some((stage, stage.consistency.as_ref()?))).collect();
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let refused = |error: csv::Error| ExportError::Output(io::Error::other(error));
    table.write_record(HEAD).map_err(refused)?;
    for (stage, found) in probed {
        let others = found.between_drivers.iter().flat_map(|between| &between.classes);
        let own = found.classes.iter().map(|class| (class, "all"));
        for (class, whole) in own.chain(others.map(|class| (class, LookFrom::OtherDriver.name()))) {
            let whole = [(whole, &class.points)];
            let parts = class.from.iter().map(|part| (part.from.name(), &part.points));
            for (from, points) in whole.into_iter().chain(parts) {
                for point in points {
                    let cells =
                        [stage.id.as_str(), class.class.name(), from].map(|cell| harmless(cell).into_owned());
                    table.write_record(cells.into_iter().chain(numbers(point))).map_err(refused)?;
                }
            }
        }
    }
    Ok(table.flush()?)
}

fn numbers(point: &ConsistencyPoint) -> [String; 8] {
    let ConsistencyPoint { from_ms, to_ms, mean_ms, looks, stale, low, high } = point;
    let share = *stale as f64 / (*looks).max(1) as f64;
    [
        from_ms.to_string(),
        to_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        mean_ms.to_string(),
        looks.to_string(),
        stale.to_string(),
        format!("{share:.6}"),
        low.to_string(),
        high.to_string(),
    ]
}
