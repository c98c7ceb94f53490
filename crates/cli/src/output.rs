//! Where a subcommand writes what it was asked for: a file, or standard output. The rules of files are in `archive/src/output.rs`.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{ArchiveError, write_output};

use crate::exit::Problem;
use crate::out::Reader;

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
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.join(RECORD).is_file()
        || (directory.join(format!("{name}.csv")).is_file() && CosbenchRun::made(directory))
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
