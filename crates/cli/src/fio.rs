//! Runs of fio in an archive: filled from what it printed, judged, ended.

use std::path::PathBuf;

use cosmark_archive::fio::{Course, FioJob, FioOutput};
use cosmark_archive::{ArchiveError, FioRun, Run, RunRecord, RunState};

/// What was measured, in a sentence.
#[must_use]
pub fn described(version: &str, jobs: &[FioJob]) -> String {
    let Some(first) = jobs.first().map(|job| &job.facts) else { return version.to_owned() };
    let block = first.block.as_deref().unwrap_or("4k");
    let target = if first.target.is_empty() { "its file" } else { first.target.as_str() };
    let more = match jobs.len() {
        0 | 1 => String::new(),
        many => format!(", and {} more jobs", many - 1),
    };
    let by = if version.is_empty() { "fio" } else { version };
    format!(
        "{by}: {} of {block} at a depth of {} on {target}, engine {}{more}",
        first.pattern, first.depth, first.engine
    )
}

/// Fills a run from what fio printed, judges it and ends it. Gives its record and its directory.
///
/// # Errors
/// When it is none of its jobs, or the archive cannot be written; the run then says so.
pub fn fill(
    mut run: FioRun,
    file: &str,
    output: &FioOutput,
    courses: &[Option<Course>],
) -> Result<(RunRecord, PathBuf), ArchiveError> {
    let path = run.dir().path().to_owned();
    let (record, tables) = match run.add(file, output, courses) {
        Ok(added) => added,
        Err(error) => {
            drop(run.fail(RunState::Terminated, &error.to_string()));
            return Err(error);
        }
    };
    let measured = Run { path: path.clone(), record };
    let judged = cosmark_verdict::judged(&measured, Some(run.workload()));
    let record = run.finish(&judged, &tables)?;
    Ok((record, path))
}
