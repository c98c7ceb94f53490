//! `report.html`: the page that `console/` builds, with a run's data in it. One file, no request to anywhere.

use std::path::{Path, PathBuf};

use cosmark_archive::{ArchiveError, Run, open_run, write_output};

use crate::ReportError;
use crate::data::{self, Detail, ReportData};

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where in the page the data goes; `console/report.html` has it once.
const PLACE: &str = "\"cosmark-report-data\"";

/// The data may take this many bytes, so that the whole report stays below 3 MB.
const MOST_DATA_BYTES: usize = 1_900_000;

/// How often the data may be made coarser until it fits.
const MOST_ROUNDS: u32 = 6;

/// True when the page was built before this binary was.
#[must_use]
pub fn page_is_built_in() -> bool {
    PAGE.is_some()
}

/// Makes the report of the run in `directory` and writes it there, or to `output`; gives its path.
///
/// # Errors
/// When the archive cannot be read, the file cannot be written, or the page is not built in.
pub fn write(directory: &Path, output: Option<&Path>) -> Result<PathBuf, ReportError> {
    write_run(&open_run(directory)?, output)
}

/// The same for a run that was opened already.
///
/// # Errors
/// As [`write`].
pub fn write_run(run: &Run, output: Option<&Path>) -> Result<PathBuf, ReportError> {
    let html = page_of(run)?;
    match output {
        None => Ok(run.write_report(html.as_bytes())?),
        Some(path) => {
            write_output(path, |out| {
                let failed = |source| ArchiveError::Output { path: path.to_owned(), source };
                out.write_all(html.as_bytes()).map_err(failed)
            })?;
            Ok(path.to_owned())
        }
    }
}

/// The report of a run that was opened already, as a text.
///
/// # Errors
/// When the archive cannot be read, or the page is not built in.
pub fn page_of(run: &Run) -> Result<String, ReportError> {
    fill(PAGE.ok_or(ReportError::NoPage)?, &json(run)?)
}

/// The data as JSON that may stand in an HTML document, small enough.
fn json(run: &Run) -> Result<String, ReportError> {
    let operations = run.record.stages.iter().map(|stage| stage.operations.len()).sum();
    let mut detail = Detail::for_operations(operations);
    let mut text = String::new();
    for _ in 0..MOST_ROUNDS {
        let data: ReportData = data::read_run(run, Some(detail))?;
        text = serde_json::to_string(&data)
            .map_err(|cause| ReportError::Json { path: run.path.clone(), cause })?;
        if text.len() <= MOST_DATA_BYTES {
            break;
        }
        detail = detail.halved();
    }
    Ok(escaped(&text))
}

/// JSON without what an HTML parser or an old script parser takes for its own: `</script>`, `<!--`, line separators.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

fn fill(page: &str, json: &str) -> Result<String, ReportError> {
    match page.split_once(PLACE) {
        Some((head, tail)) if !tail.contains(PLACE) => Ok([head, json, tail].concat()),
        _ => Err(ReportError::BadPage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_the_script_that_holds_it() {
        let text = "</script><!-- & \u{2028}\u{2029} \"quoted\" \\ end";
        let json = escaped(&serde_json::to_string(text).unwrap());
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn the_data_takes_the_one_place_that_the_page_has_for_it() {
        let page = "<script>\"cosmark-report-data\"</script>";
        assert_eq!(fill(page, "{}").unwrap(), "<script>{}</script>");
        assert!(matches!(fill("<html>", "{}"), Err(ReportError::BadPage)));
        assert!(matches!(fill(&page.repeat(2), "{}"), Err(ReportError::BadPage)));
    }
}
