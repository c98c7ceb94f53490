//! A file of recorded arrivals: a time in each line, in seconds since the first, in rising order; what stands behind a comma
//! or a `#` is for people.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use thiserror::Error;

/// A line beyond this many bytes is none of such a file.
const LONGEST_LINE: u64 = 64 << 10;

/// No replay is as long, three years in seconds: a later time is a date, as seconds since 1970.
const LATEST_S: f64 = 1e8;

/// Why arrivals cannot be had.
#[derive(Debug, Error)]
pub enum ArrivalError {
    /// The file of recorded arrivals.
    #[error("cannot read the recorded arrivals {path}: {cause}")]
    Read {
        /// As given.
        path: String,
        /// The reason.
        cause: std::io::Error,
    },
    /// A line of it.
    #[error(
        "{path}, line {line}: expected seconds since the start in rising order, such as `12.345`, and no dates"
    )]
    Line {
        /// As given.
        path: String,
        /// From 1.
        line: usize,
    },
    /// Not a single time.
    #[error("{path} has no arrivals: write seconds since the start, one a line, such as `12.345`")]
    Empty {
        /// As given.
        path: String,
    },
}

/// What a file of recorded arrivals holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recorded {
    /// How many.
    pub count: u64,
    /// When the last one came, in seconds since the start, as recorded.
    pub last_s: f64,
}

/// Reads a whole file of recorded arrivals, and keeps nothing of it.
///
/// # Errors
/// What a load that replays it would end with.
pub fn look_at_recorded(path: &str) -> Result<Recorded, ArrivalError> {
    let mut found = Recorded { count: 0, last_s: 0.0 };
    for seconds in RecordedTimes::open(path)? {
        found = Recorded { count: found.count + 1, last_s: seconds? };
    }
    if found.count == 0 { Err(ArrivalError::Empty { path: path.to_owned() }) } else { Ok(found) }
}

/// The times of a file in seconds, one after the other; the first error ends them.
pub(super) struct RecordedTimes<'a> {
    path: &'a str,
    file: BufReader<File>,
    line: usize,
    last_s: f64,
    is_over: bool,
}

impl<'a> RecordedTimes<'a> {
    pub fn open(path: &'a str) -> Result<Self, ArrivalError> {
        let file = File::open(path).map_err(|cause| ArrivalError::Read { path: path.to_owned(), cause })?;
        Ok(Self { path, file: BufReader::new(file), line: 0, last_s: 0.0, is_over: false })
    }

    /// The next line that has a time.
    fn read(&mut self) -> Result<Option<f64>, ArrivalError> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            self.line += 1;
            let wrong = || ArrivalError::Line { path: self.path.to_owned(), line: self.line };
            let mut line = (&mut self.file).take(LONGEST_LINE);
            let read = line
                .read_until(b'\n', &mut bytes)
                .map_err(|cause| ArrivalError::Read { path: self.path.to_owned(), cause })?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 == LONGEST_LINE {
                return Err(wrong());
            }
            let text = std::str::from_utf8(&bytes).map_err(|_| wrong())?;
            let text = text.split(['#', ',']).next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let seconds = text.parse::<f64>().ok().filter(|at| (self.last_s..=LATEST_S).contains(at));
            self.last_s = seconds.ok_or_else(wrong)?;
            return Ok(seconds);
        }
    }
}

impl Iterator for RecordedTimes<'_> {
    type Item = Result<f64, ArrivalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.read().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_its_end_or_to_its_first_mistake() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let long = format!("1,{}\n", "x".repeat(100_000));
        for (text, right) in [
            ("# seconds,operation\n0.5,read,12\n\n1.5 # two\n1.5", Ok((3, 1.5))),
            ("0.5\n1.5\n1.0\n", Err("line 3: expected seconds")),
            ("0.5\nsoon\n", Err("line 2: expected seconds")),
            ("-1\n", Err("line 1: expected seconds")),
            ("nan\n", Err("line 1: expected seconds")),
            ("0\n1e300\n", Err("line 2: expected seconds")),
            (
                "1764190000.5\n1764190001\n",
                Err("line 1: expected seconds since the start in rising order, such as"),
            ),
            ("1764190000.5\n", Err("and no dates")),
            (long.as_str(), Err("line 1: expected seconds")),
            ("# nothing\n", Err("has no arrivals")),
        ] {
            std::fs::write(path, text).unwrap();
            match (look_at_recorded(path), right) {
                (Ok(found), Ok((count, last_s))) => assert_eq!(found, Recorded { count, last_s }, "{text}"),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (found, _) => panic!("{text:.100}: {found:?}"),
            }
        }
        std::fs::write(path, [b'1', 0xff, b'\n']).unwrap();
        assert!(look_at_recorded(path).unwrap_err().to_string().contains("line 1"));
        assert!(look_at_recorded("/no/such/times").unwrap_err().to_string().contains("/no/such/times"));
        assert!(look_at_recorded("/").is_err());
    }
}
