//! Where a subcommand writes what it was asked for: a file, or standard output. The rules of files are in `archive/src/output.rs`.

use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{ArchiveError, write_output};

use crate::exit::Problem;
use crate::out::Reader;
use crate::paint::without_orders;

/// Names of what this process prints to.
const STDOUT: &[&str] = &["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// What makes a directory one of a run, its report, and the directories in it that a run fills.
const RECORD: &str = "run.json";
const REPORT: &str = "report.html";
const FILLED: &[&str] = &["source", "ledger"];
/// What an archive has beside its runs.
const META: &str = ".meta";
const OF_ARCHIVE: &[&str] =
    &[META, "run-history.csv", "workloads.csv", ".lock", ".runs.index", ".baselines.json"];

/// The file that `--output` names; `None` = standard output.
pub fn file(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| !STDOUT.iter().any(|name| path.as_os_str() == *name))
}

/// Refuses an output in place of a file that is no result to be written again: those that are read, and what an archive
/// and its runs consist of, but for reports.
///
/// # Errors
/// When it is one of them, with what to do.
pub fn check(output: Option<&Path>, read: &[&Path]) -> Result<(), Problem> {
    let Some(path) = file(output) else { return Ok(()) };
    // What is not there, or is a device, loses nothing.
    let Some(place) = path.canonicalize().ok().filter(|place| place.is_file()) else { return Ok(()) };
    let refused = |why: &str| Err(Problem::usage(format!("{}: {why}", path.display())));
    if read.iter().any(|read| is_same(read, &place)) {
        return refused("this is the file that is read; name another one to write to");
    }
    let Some(parent) = place.parent() else { return Ok(()) };
    let is_filled = FILLED.iter().any(|name| parent.ends_with(name));
    let is_of_a_run = is_run(parent) && !place.ends_with(REPORT);
    if is_of_a_run || (is_filled && parent.parent().is_some_and(is_run)) {
        return refused("this is a file of a run, which is never overwritten; name one elsewhere");
    }
    if parent.join(META).is_file() && OF_ARCHIVE.iter().any(|name| place.ends_with(name)) {
        return refused("this is a file of the archive, which is never overwritten; name one elsewhere");
    }
    Ok(())
}

/// Whether two names are of one file: by another way, another link, in other capitals where the file system minds none.
fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    file(one).is_some_and(|one| file(other) == Some(one))
}

/// A directory of a run, whoever made it. Where COSBench did, it is called as its table is.
fn is_run(directory: &Path) -> bool {
    let mut table = directory.file_name().unwrap_or_default().to_owned();
    table.push(".csv");
    directory.join(RECORD).is_file() || (directory.join(table).is_file() && CosbenchRun::made(directory))
}

/// A value as people and programs read it.
///
/// # Errors
/// When it has no form in JSON.
pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map_err(|cause| Problem::ours(cause.to_string()))
}

/// Text on its way to a terminal, in whole lines: without orders to it, whoever wrote the names in it.
struct Shown<W> {
    to: W,
    line: Vec<u8>,
}

impl<W: Write> Shown<W> {
    /// Prints what it holds.
    fn pass_on(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.line);
        self.to.write_all(without_orders(&String::from_utf8_lossy(&bytes)).as_bytes())
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.line.len();
        self.line.extend_from_slice(bytes);
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(before + at + 1);
            self.pass_on()?;
            self.line = rest;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes to the file that `--output` names, or prints.
///
/// # Errors
/// When it cannot be written, or `fill` says so.
pub fn write<E: From<ArchiveError>>(
    output: Option<&Path>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    match file(output) {
        Some(path) => write_output(path, fill),
        None if io::stdout().is_terminal() => {
            let mut shown = Shown { to: Reader, line: Vec::new() };
            let filled = fill(&mut shown);
            drop(shown.pass_on());
            filled
        }
        None => fill(&mut Reader),
    }
}

/// The same for a text that is there.
///
/// # Errors
/// When it cannot be written.
pub fn write_bytes(output: Option<&Path>, bytes: &[u8]) -> Result<(), Problem> {
    write(output, |out| {
        let failed = |source: io::Error| ArchiveError::Output {
            path: output.unwrap_or(Path::new("-")).to_owned(),
            source,
        };
        out.write_all(bytes).map_err(failed)
    })
    .map_err(Problem::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_on_a_terminal_gives_it_no_orders_however_it_comes_in_parts() {
        let text = "tag,driver\n\x1b]0;owned\x07read,d\u{9b}2J\u{202e}1\n日本語 \x1b[2J";
        for size in 1..text.len() {
            let mut shown = Shown { to: Vec::new(), line: Vec::new() };
            text.as_bytes().chunks(size).for_each(|part| shown.write_all(part).unwrap());
            shown.pass_on().unwrap();
            let printed = String::from_utf8(shown.to).unwrap();
            assert_eq!(printed, "tag,driver\n?]0;owned?read,d?2J?1\n日本語 ?[2J", "parts of {size}");
        }
    }
}
