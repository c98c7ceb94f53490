//! Where a subcommand writes what it was asked for: a file, or standard output. The rules of files are in `archive/src/output.rs`.

use std::io::{self, Write};
use std::path::Path;

use cosmark_archive::{ArchiveError, write_output};

use crate::exit::Problem;
use crate::out::Reader;

/// Names of what this process prints to.
const STDOUT: &[&str] = &["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// What makes a directory one of a run, its report, and the directory in it with what was run.
const RECORD: &str = "run.json";
const REPORT: &str = "report.html";
const SOURCE: &str = "source";

/// The file that `--output` names; `None` = standard output.
pub fn file(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| !STDOUT.iter().any(|name| path.as_os_str() == *name))
}

/// Refuses an output in place of a file that is no result to be written again: the one that is read, and what a run
/// consists of, but for its report.
///
/// # Errors
/// When it is one of them, with what to do.
pub fn check(output: Option<&Path>, read: Option<&Path>) -> Result<(), Problem> {
    let Some(path) = file(output) else { return Ok(()) };
    // What is not there, or is a device, loses nothing.
    let Some(place) = path.canonicalize().ok().filter(|place| place.is_file()) else { return Ok(()) };
    let refused = |why: &str| Err(Problem::usage(format!("{}: {why}", path.display())));
    if read.and_then(|read| read.canonicalize().ok()).is_some_and(|read| read == place) {
        return refused("this is the file that is read; name another one to write");
    }
    let directory = place
        .parent()
        .map(|parent| if parent.ends_with(SOURCE) { parent.join("..") } else { parent.to_owned() });
    let is_of_a_run = directory.is_some_and(|directory| directory.join(RECORD).is_file());
    if is_of_a_run && !place.ends_with(REPORT) {
        return refused("a file of a run, none of which is written over; name one elsewhere");
    }
    Ok(())
}

/// A value as people and programs read it.
///
/// # Errors
/// When it has no form in JSON.
pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map_err(|cause| Problem::ours(cause.to_string()))
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
