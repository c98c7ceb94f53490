//! Lines of COSBench's tables. Fields are quoted where RFC 4180 asks for it (COSBench never quotes), lines end with `\n`.

use std::borrow::Cow;
use std::io::BufReader;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Terminator, WriterBuilder};

use crate::ArchiveError;
use crate::regular;

/// A larger file is damage, not data: a day of 1 s intervals of 12 operations needs 90 MiB.
const MOST_BYTES: u64 = 1 << 30;

/// Adds one line to `out`.
pub fn push_line<S: AsRef<str>>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = S>) {
    let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
    // Writing to memory, records of any length: neither can fail.
    for field in fields {
        drop(writer.write_field(harmless(field.as_ref()).as_bytes()));
    }
    drop(writer.write_record(None::<&[u8]>));
    drop(writer.flush());
}

/// A cell that no spreadsheet takes for a formula: a text that begins as one gets an apostrophe before it, which spreadsheets
/// take for "this is text". Numbers stay, and so does every name that begins with a letter or a digit.
#[must_use]
pub fn harmless(cell: &str) -> Cow<'_, str> {
    if is_formula(cell) && cell.parse::<f64>().is_err() {
        return Cow::Owned(format!("'{cell}"));
    }
    Cow::Borrowed(cell)
}

/// What [`harmless`] made this of.
fn as_it_was(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(cell)
}

/// Begins as a formula, behind any number of apostrophes.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
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
    let file = regular::open(path).map_err(ArchiveError::io("read", path))?;
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
        if record.iter().any(|cell| cell.starts_with('\'')) {
            record = record.iter().map(as_it_was).collect();
        }
        each(line, &record).map_err(|problem| damaged(line, problem))?;
    }
}

fn ends_with_newline(path: &Path) -> Result<bool, ArchiveError> {
    Ok(matches!(
        crate::directory::files::last_byte(path).map_err(ArchiveError::io("read", path))?,
        Some(b'\n')
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_texts_in_every_table_and_come_back_as_they_were() {
        let names = [
            "=1+1",
            "@SUM(A1)",
            "+x",
            "-x",
            "\tx",
            "\r=x",
            "'=x",
            "''@x",
            "-",
            "=a,\"b\"\n",
            "'x",
            "plain",
            "",
            "a=b",
        ];
        let numbers = ["-1", "-1.5", "+3", "1e9", "-1e-3"];
        let mut text = Vec::new();
        push_line(&mut text, names.iter().chain(&numbers));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        std::fs::write(&path, &text).unwrap();
        let mut reader = ReaderBuilder::new().has_headers(false).from_path(&path).unwrap();
        let raw = reader.records().next().unwrap().unwrap();
        for (cell, name) in raw.iter().zip(names) {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{name:?} is {cell:?}");
        }
        assert_eq!(raw.iter().skip(names.len()).collect::<Vec<_>>(), numbers);
        let mut back = Vec::new();
        read_records(&path, |_, record| {
            back.extend(record.iter().map(str::to_owned));
            Ok(())
        })
        .unwrap();
        assert_eq!(back, names.iter().chain(&numbers).copied().collect::<Vec<_>>());
    }
}
