//! Cells of COSBench's tables, and tables as a stream of lines.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use csv::{ByteRecord, StringRecord};
use jiff::civil::DateTime;

use super::CosbenchState;
use crate::ArchiveError;
use crate::csv::number::NOT_AVAILABLE;
use crate::regular;

/// A larger table is damage, not data.
pub const MOST_BYTES: u64 = 1 << 29;

/// No table has more of anything, bytes included: they are added up.
const MOST_COUNTED: u64 = 1 << 56;

/// A percentile beyond the last bucket: the greatest `long` of Java.
pub const BEYOND_ALL_BUCKETS: &str = "9223372036854775807";

/// Where the last bucket of COSBench's times ends, ms: of a percentile beyond it only that is known.
pub const LAST_BUCKET_MS: f64 = 500_000.0;

/// What is wrong in a line of a table.
pub fn damaged(path: &Path, line: u64, problem: String) -> ArchiveError {
    ArchiveError::Damaged {
        path: path.to_owned(),
        line,
        problem,
        remedy: "restore the file from a copy, or correct the line",
    }
}

/// Calls `each` with the 1-based line and the cells of every line of `input` that has any, until it gives `false`.
pub fn records(
    path: &Path,
    input: impl Read,
    mut each: impl FnMut(u64, &StringRecord) -> Result<bool, String>,
) -> Result<(), ArchiveError> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    let damaged = |line, problem| damaged(path, line, problem);
    let mut input = BufReader::with_capacity(1 << 16, WithoutReturns(input).take(MOST_BYTES + 1));
    let (mut text, mut cells) = (Vec::new(), ByteRecord::new());
    let (mut line, mut total) = (0_u64, 0_u64);
    loop {
        line += 1;
        text.clear();
        let read = input.read_until(b'\n', &mut text);
        let read = read.map_err(|_| damaged(line, "cannot be read".to_owned()))?;
        if read == 0 {
            return Ok(());
        }
        total += read as u64;
        if total > MOST_BYTES {
            return Err(damaged(line, format!("more than {MOST_BYTES} bytes are too many for a table")));
        }
        let row = text.strip_suffix(b"\n").unwrap_or(&text);
        let row = row.strip_prefix(MARK).filter(|_| line == 1).unwrap_or(row);
        if row.is_empty() {
            continue;
        }
        split(row, &mut cells);
        let record = text_of(std::mem::take(&mut cells));
        if !each(line, &record).map_err(|problem| damaged(line, problem))? {
            return Ok(());
        }
        cells = record.into_byte_record();
    }
}

/// The cells of a line. COSBench quotes nothing, and Cosmark where RFC 4180 asks for it: a quote that begins a cell counts as one
/// only where it is closed before a comma or the end of the line.
fn split(line: &[u8], cells: &mut ByteRecord) {
    cells.clear();
    let mut unquoted = Vec::new();
    let mut rest = Some(line);
    while let Some(from) = rest {
        rest = if let Some(behind) = quoted(from, &mut unquoted) {
            cells.push_field(&unquoted);
            behind
        } else {
            let end = from.iter().position(|byte| *byte == b',');
            cells.push_field(end.map_or(from, |end| &from[..end]));
            end.map(|end| &from[end + 1..])
        };
    }
}

/// Puts what stands between quotes at the start of `from` into `cell` and gives what comes behind the comma after it; `None`
/// where there is no such cell.
fn quoted<'l>(from: &'l [u8], cell: &mut Vec<u8>) -> Option<Option<&'l [u8]>> {
    cell.clear();
    let mut rest = from.strip_prefix(b"\"")?;
    loop {
        let end = rest.iter().position(|byte| *byte == b'"')?;
        cell.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.first() {
            None => return Some(None),
            Some(b',') => return Some(Some(&rest[1..])),
            Some(b'"') => {
                cell.push(b'"');
                rest = &rest[1..];
            }
            Some(_) => return None,
        }
    }
}

/// What is read, without the carriage returns that Windows puts before the ends of lines: the CSV reader would count a line
/// when it comes to the next one.
struct WithoutReturns<R>(R);

impl<R: Read> Read for WithoutReturns<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.0.read(buffer)?;
            let mut length = 0;
            for at in 0..read {
                if buffer[at] != b'\r' {
                    buffer[length] = buffer[at];
                    length += 1;
                }
            }
            if length > 0 || read == 0 {
                return Ok(length);
            }
        }
    }
}

/// COSBench writes as its JVM's locale has it: what is not UTF-8 is taken for ISO 8859-1.
fn text_of(bytes: ByteRecord) -> StringRecord {
    StringRecord::from_byte_record(bytes)
        .unwrap_or_else(|error| error.into_byte_record().iter().map(latin).collect())
}

/// Bytes of ISO 8859-1 as text; what stands for a control or for a sign of Windows' own there is replaced.
pub fn latin(bytes: &[u8]) -> String {
    let sign = |byte: &u8| match byte {
        0x80..=0x9f => char::REPLACEMENT_CHARACTER,
        byte => char::from(*byte),
    };
    bytes.iter().map(sign).collect()
}

/// The same of a file.
pub fn records_of(
    path: &Path,
    each: impl FnMut(u64, &StringRecord) -> Result<bool, String>,
) -> Result<(), ArchiveError> {
    let file = regular::open(path).map_err(ArchiveError::io("read", path))?;
    records(path, file, each)
}

/// True when the file begins with this text, with or without the mark that some editors put before it.
pub fn begins_with(path: &Path, head: &str) -> bool {
    // With room for quotes around each of its names.
    head_of(path, 2 * head.len()).is_some_and(|line| line.starts_with(head))
}

/// The first line of a file, no more than its first `most` bytes, without such a mark and the quotes that a spreadsheet puts around
/// each cell; `None` of what is no file to read.
pub fn head_of(path: &Path, most: usize) -> Option<String> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    let mut bytes = Vec::new();
    let file = regular::open(path).ok()?;
    file.take((MARK.len() + most) as u64).read_to_end(&mut bytes).ok()?;
    let text = bytes.strip_prefix(MARK).unwrap_or(&bytes);
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).replace('"', ""))
}

/// A count; `N/A` is 0.
pub fn count(cell: &str) -> Result<u64, String> {
    if cell == NOT_AVAILABLE {
        return Ok(0);
    }
    let count = cell.parse().ok().filter(|count| *count <= MOST_COUNTED);
    count.ok_or_else(|| format!("`{}` is not a count", shortened(cell)))
}

/// A number; `N/A` is `None`, `∞` and a percentile beyond all buckets are infinite. `?` stands for `∞` and for what is no
/// number where COSBench's locale has neither sign.
pub fn number(cell: &str) -> Result<Option<f64>, String> {
    match cell {
        NOT_AVAILABLE | "NaN" | "\u{fffd}" | "?" => return Ok(None),
        "∞" | "Infinity" | BEYOND_ALL_BUCKETS => return Ok(Some(f64::INFINITY)),
        _ => {}
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
        _ => Err(format!("`{}` is not a number", shortened(cell))),
    }
}

/// A mean time; what is negative (a clock that was set back) or infinite says nothing.
pub fn mean(cell: &str) -> Result<Option<f64>, String> {
    let is_negative = cell.strip_prefix('-').is_some_and(|rest| {
        rest.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.')
            && rest.parse::<f64>().is_ok_and(f64::is_finite)
    });
    if is_negative { Ok(None) } else { Ok(number(cell)?.filter(|value| value.is_finite())) }
}

/// `99.96%` as 0 to 1; `N/A` is `None`.
pub fn ratio(cell: &str) -> Result<Option<f64>, String> {
    let value = number(cell.trim_end_matches('%'))?.map(|percent| percent / 100.0);
    match value {
        Some(value) if value > 1.0 => Err(format!("`{}` is more than 100 %", shortened(cell))),
        _ => Ok(value),
    }
}

/// `completed @ 2026-11-21 18:54:25`.
pub fn state(cell: &str) -> Result<CosbenchState, String> {
    let wrong = || format!("`{}` is not a state and its date", shortened(cell));
    let (state, at) = cell.split_once(" @ ").ok_or_else(wrong)?;
    Ok(CosbenchState { state: state.to_owned(), at: date(at).ok_or_else(wrong)? })
}

/// True for a cell such as `completed @ 2026-11-21 18:54:25`.
pub fn is_state(cell: &str) -> bool {
    cell.split_once(" @ ").is_some_and(|(_, at)| date(at).is_some())
}

/// `2026-11-21 18:54:25`.
pub fn date(text: &str) -> Option<DateTime> {
    DateTime::strptime("%Y-%m-%d %H:%M:%S", text).ok()
}

/// Enough of a cell for a message.
pub fn shortened(cell: &str) -> String {
    cell.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_one_only_where_it_is_closed_in_its_cell() {
        let text =
            "\u{feff}w1,\"my run,2026\r\n\nw2,\"a,b\",x\nw3,\"a \"\"b\"\"\",\nw4,\"a\"b,c\nw5,\",\"\nw6,\"";
        let mut seen = Vec::new();
        records(Path::new("t.csv"), text.as_bytes(), |line, record| {
            seen.push((line, record.iter().map(str::to_owned).collect::<Vec<_>>()));
            Ok(true)
        })
        .unwrap();
        let expected: [(u64, &[&str]); 6] = [
            (1, &["w1", "\"my run", "2026"]),
            (3, &["w2", "a,b", "x"]),
            (4, &["w3", "a \"b\"", ""]),
            (5, &["w4", "\"a\"b", "c"]),
            (6, &["w5", ","]),
            (7, &["w6", "\""]),
        ];
        assert_eq!(seen.len(), expected.len(), "{seen:?}");
        for ((line, cells), (wanted_line, wanted)) in seen.iter().zip(expected) {
            assert_eq!(
                (*line, cells.iter().map(String::as_str).collect::<Vec<_>>()),
                (wanted_line, wanted.to_vec())
            );
        }
    }
}
