//! Lines of COSBench's tables. Fields are quoted where RFC 4180 asks for it (COSBench never quotes), lines end with `\n`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Terminator, WriterBuilder};

use crate::ArchiveError;

/// A larger file is damage, not data: a day of 1 s intervals of 12 operations needs 90 MiB.
const MOST_BYTES: u64 = 1 << 30;

/// Adds one line to `out`.
pub fn push_line<S: AsRef<[u8]>>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = S>) {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    // Writing to memory, records of any length: neither can fail.
    drop(writer.write_record(fields));
    drop(writer.flush());
}

/// Calls `each` with the 1-based line and the fields of every record. A last line without its newline was cut short by
/// a kill and is left out.
pub fn read_records(
    path: &Path,
    mut each: impl FnMut(u64, &StringRecord) -> Result<(), String>,
) -> Result<(), ArchiveError> {
    let damaged = |line, problem| ArchiveError::Damaged {
        path: path.to_owned(),
        line,
        problem,
        remedy: "restore the file from a copy, or delete the line",
    };
    let file = File::open(path).map_err(ArchiveError::io("read", path))?;
    let whole = file.metadata().map_err(ArchiveError::io("read", path))?.len();
    if whole > MOST_BYTES {
        return Err(damaged(1, format!("{whole} bytes are too many for a table")));
    }
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(BufReader::with_capacity(1 << 16, file));
    let ends_whole = ends_with_newline(path)?;
    let mut record = StringRecord::new();
    loop {
        let line = reader.position().line();
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                let line = error.position().map_or(line, csv::Position::line);
                return Err(damaged(line, "not UTF-8, or not CSV".to_owned()));
            }
        }
        if !ends_whole && reader.position().byte() >= whole {
            return Ok(());
        }
        each(line, &record).map_err(|problem| damaged(line, problem))?;
    }
}

fn ends_with_newline(path: &Path) -> Result<bool, ArchiveError> {
    Ok(matches!(crate::files::last_byte(path).map_err(ArchiveError::io("read", path))?, Some(b'\n')))
}
