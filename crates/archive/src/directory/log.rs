//! `workload.log` of a run, for those who come to it beside the run itself: one line more, or its last lines. A line is local
//! time, level, where it comes from, what happened: `2026-11-22 05:01:02,345 [INFO] [controller] - text`.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::ArchiveError;
use crate::regular;

/// Name of the file.
const LOG: &str = "workload.log";
/// No more of its end is read.
const MOST_BYTES: u64 = 4 << 20;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedLine {
    /// When; `None` for what has no time of its own, such as what a driver's log holds.
    pub at: Option<Timestamp>,
    /// `INFO`, `WARN` or `ERROR`.
    pub level: String,
    /// Who says it.
    pub from: String,
    /// What it says; may have several lines.
    pub text: String,
}

/// A line as the log has it.
pub(crate) fn line_of(at: Timestamp, zone: &TimeZone, level: &str, from: &str, text: &str) -> String {
    let at = at.to_zoned(zone.clone());
    let text = text.trim_end().replace('\n', "\n    ");
    format!("{} [{level}] [{from}] - {text}\n", at.strftime("%F %T,%3f"))
}

/// Adds a line to the log of the run in `dir`, in one write.
///
/// # Errors
/// When the file cannot be written.
pub fn append_log(
    dir: &Path,
    at: Timestamp,
    level: &str,
    from: &str,
    text: &str,
) -> Result<(), ArchiveError> {
    let path = dir.join(LOG);
    let line = line_of(at, &TimeZone::system(), level, from, text);
    let file = regular::open_to_write(&path, OpenOptions::new().append(true));
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(ArchiveError::io("write", &path))
}

/// The last `most` lines of the log of the run in `dir`, oldest first; none when it has no log.
///
/// # Errors
/// When the file cannot be read.
pub fn last_lines(dir: &Path, most: usize) -> Result<Vec<LoggedLine>, ArchiveError> {
    let path = dir.join(LOG);
    // A link leads anywhere in an archive of somebody else's.
    if !regular::is_no_link(&path) {
        return Ok(Vec::new());
    }
    let fail = ArchiveError::io("read", &path);
    let read = || {
        let mut file = regular::open(&path)?;
        let len = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(len.saturating_sub(MOST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok((bytes, len > MOST_BYTES))
    };
    let (bytes, cut) = read().map_err(fail)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = if cut { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    let mut lines: Vec<LoggedLine> = Vec::new();
    for line in whole.lines() {
        match (parse(line), lines.last_mut()) {
            (Some(line), _) => lines.push(line),
            (None, Some(last)) if line.starts_with("    ") => {
                last.text.push('\n');
                last.text.push_str(line.trim_start());
            }
            (None, _) => lines.push(LoggedLine {
                at: None,
                level: "INFO".to_owned(),
                from: String::new(),
                text: line.to_owned(),
            }),
        }
    }
    let surplus = lines.len().saturating_sub(most);
    Ok(lines.split_off(surplus))
}

fn parse(line: &str) -> Option<LoggedLine> {
    let (at, rest) = (line.get(..23)?, line.get(23..)?);
    let at = DateTime::strptime("%Y-%m-%d %H:%M:%S.%f", at.replace(',', ".")).ok()?;
    let at = at.to_zoned(TimeZone::system()).ok()?.timestamp();
    let (level, rest) = rest.strip_prefix(" [")?.split_once("] [")?;
    let (from, text) = rest.split_once("] - ")?;
    Some(LoggedLine { at: Some(at), level: level.to_owned(), from: from.to_owned(), text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_went_in() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(last_lines(dir.path(), 10).unwrap(), []);
        let at: Timestamp = "2026-11-22T05:01:02.345Z".parse().unwrap();
        append_log(dir.path(), at, "WARN", "s1-main", "one\ntwo] - [three").unwrap();
        append_log(dir.path(), at, "INFO", "controller", "over").unwrap();
        let lines = last_lines(dir.path(), 10).unwrap();
        let line = |level: &str, from: &str, text: &str| LoggedLine {
            at: Some(at),
            level: level.into(),
            from: from.into(),
            text: text.into(),
        };
        assert_eq!(
            lines,
            [line("WARN", "s1-main", "one\ntwo] - [three"), line("INFO", "controller", "over")]
        );
        assert_eq!(last_lines(dir.path(), 1).unwrap(), [line("INFO", "controller", "over")]);
        std::fs::write(dir.path().join("workload.log"), "a driver's own words\n2026-99-99 05 [x]\n").unwrap();
        let strange = last_lines(dir.path(), 10).unwrap();
        assert!(strange.len() == 2 && strange.iter().all(|line| line.at.is_none()));
    }
}
