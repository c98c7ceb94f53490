//! Which runs the index files of an archive have: their lines byte for byte, because COSBench writes names as its machine's
//! locale has them.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::ArchiveError;
use crate::cosbench::fields::date;
use crate::csv::line::push_line;
use crate::directory::files::MOST_NUMBER;
use crate::regular;

/// What is longer is looked at in pieces.
const MOST_LINE_BYTES: u64 = 1 << 16;
/// A date of the table, such as `2026-11-21 18:54:25`.
const DATE_BYTES: usize = 19;
/// Zones lie no further from UTC, in steps of a quarter of an hour.
const MOST_OFFSET_S: i64 = 15 * 3600;
const OFFSET_STEP_S: i64 = 900;

/// The greatest number of a run of `run-history.csv` (`w3,name,..`) or `workloads.csv` (`w3-s1-main-1,..`); 0 without any.
pub fn last_number(path: &Path) -> Result<u64, ArchiveError> {
    let mut last = 0;
    each_line(path, |line| {
        last = last.max(number_of(line).unwrap_or(0));
        true
    })?;
    Ok(last)
}

/// The history has a line of the run `id` called `name` that was submitted then. One of this id and another name or time is a run
/// of somebody else.
pub fn has_run(
    path: &Path,
    id: &str,
    name: &str,
    mut submitted: Option<Timestamp>,
) -> Result<bool, ArchiveError> {
    let mut begin = Vec::new();
    push_line(&mut begin, [id, name]);
    begin.pop();
    begin.push(b',');
    if let Some(end) = begin.iter().position(|byte| *byte == b'\n') {
        // What follows the name is not in its line.
        begin.truncate(end);
        submitted = None;
    }
    let mut is_there = false;
    each_line(path, |line| {
        let rest = line.strip_prefix(begin.as_slice());
        is_there = rest.is_some_and(|rest| submitted.is_none_or(|at| begins_with_moment(rest, at)));
        !is_there
    })?;
    Ok(is_there)
}

/// Whether the date there is this moment in some zone: who wrote the line may have been in another one than who looks for it.
fn begins_with_moment(text: &[u8], at: Timestamp) -> bool {
    let local = text.get(..DATE_BYTES).and_then(|text| std::str::from_utf8(text).ok()).and_then(date);
    let Some(Ok(local)) = local.map(|local| local.to_zoned(TimeZone::UTC)) else { return false };
    let apart_s = local.timestamp().as_second() - at.as_second();
    apart_s.abs() <= MOST_OFFSET_S && apart_s % OFFSET_STEP_S == 0
}

fn number_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"w")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, behind) = rest.split_at(end);
    let number = std::str::from_utf8(digits).ok()?.parse::<u64>().ok()?;
    (matches!(behind.first(), Some(b',' | b'-')) && number < MOST_NUMBER).then_some(number)
}

/// Calls `each` with every line, until it gives `false`. A file that is not there has none.
fn each_line(path: &Path, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), ArchiveError> {
    let file = match regular::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ArchiveError::io("read", path)(error)),
    };
    let mut input = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(ArchiveError::io("read", path))? == 0 || !each(&line) {
            return Ok(());
        }
    }
}
