//! Reads run directories, damaged ones included: every error says which file and line.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, MapAccess, Visitor};

use crate::csv::timeline::{TimelineEntry, read_timeline};
use crate::directory::files::{self, RECORD, read_bounded};
use crate::directory::{counts, process, signs};
use crate::{
    ArchiveError, HistogramLog, NodeLogReader, OpLogReader, ProcessRecord, RunRecord, RunState, SCHEMA,
    StageRecord, regular,
};

/// Why a run that says nothing else was over.
pub(crate) const WHY: &str = "the process was killed, or the machine went down; what it had measured is here";

/// A larger `run.json` is damage: 216 stages of 12 operations need about 8 MiB.
const MOST_RECORD_BYTES: u64 = 256 << 20;

/// The workload as it was run.
pub(crate) const WORKLOAD: &str = "workload.yaml";
/// A larger `workload.yaml` is not a workload: 216 stages need about 200 KiB.
pub(crate) const MOST_WORKLOAD_BYTES: u64 = 16 << 20;

/// One directory of an archive.
#[derive(Debug)]
pub struct FoundRun {
    /// `w<N>`.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// What it says; an error when it cannot be read, `None` when there is no `run.json` (COSBench wrote it).
    pub record: Option<Result<RunRecord, ArchiveError>>,
}

/// A run that was read.
#[derive(Debug)]
pub struct Run {
    /// Where it is.
    pub path: PathBuf,
    /// `run.json`; `state` is [`RunState::Killed`] when the file says `running` and its process is gone.
    pub record: RunRecord,
}

/// All runs of an archive by number. One that cannot be read does not hide the others.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn list(root: &Path) -> Result<Vec<FoundRun>, ArchiveError> {
    Ok(places(root)?.into_iter().map(FoundRun::read).collect())
}

/// The run of this number, as [`list`] has it. Of the other runs of the archive no more is read than their names.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn run_numbered(root: &Path, number: u64) -> Result<Option<FoundRun>, ArchiveError> {
    Ok(places(root)?.into_iter().find(|place| place.0 == number).map(FoundRun::read))
}

/// Number and place of every run of an archive, by number.
fn places(root: &Path) -> Result<Vec<(u64, PathBuf)>, ArchiveError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(ArchiveError::io("read directory", root))? {
        let entry = entry.map_err(ArchiveError::io("read directory", root))?;
        found.extend(files::run_directory(&entry).map(|(number, _)| (number, entry.path())));
    }
    found.sort();
    Ok(found)
}

impl FoundRun {
    fn read((number, path): (u64, PathBuf)) -> Self {
        let record = match read_record(&path) {
            Err(ArchiveError::NotARun { .. }) => None,
            other => Some(other),
        };
        Self { number, path, record }
    }
}

/// Number and place of every run of an archive whose process is gone, by number. Of each record no more is looked at than says
/// so, and none is held, however many runs there are.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn killed_runs(root: &Path) -> Result<Vec<(u64, PathBuf)>, ArchiveError> {
    let mut found = places(root)?;
    found.retain(|(_, path)| is_killed(path));
    Ok(found)
}

/// False also where the record cannot be read.
fn is_killed(dir: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Writer {
        schema: u64,
        state: RunState,
        process: Option<ProcessRecord>,
    }
    let text = files::has_record(dir).then(|| read_bounded(&dir.join(RECORD), MOST_RECORD_BYTES));
    let Some(Ok(text)) = text else { return false };
    serde_json::from_str::<Writer>(&text).is_ok_and(|writer| {
        writer.schema <= u64::from(SCHEMA)
            && writer.state == RunState::Running
            && writer.process.is_some_and(|process| !process::may_be_alive(&process))
    })
}

/// What `run.json` says, without a look at other files.
pub(crate) fn read_record(dir: &Path) -> Result<RunRecord, ArchiveError> {
    let path = dir.join(RECORD);
    if !files::has_record(dir) {
        return Err(ArchiveError::NotARun { path: dir.to_owned() });
    }
    let text = read_bounded(&path, MOST_RECORD_BYTES)?;
    let text = signs::without_hostile_signs(&text);
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u64,
    }
    let damaged = |error: serde_json::Error| ArchiveError::Damaged {
        path: path.clone(),
        line: error.line() as u64,
        problem: format!("not a run record: {error}"),
        remedy: "restore the file from a copy; the other files of the run can be read without it",
    };
    let found = match schema_first(&text) {
        Some(schema) => schema,
        None => serde_json::from_str::<Version>(&text).map_err(damaged)?.schema,
    };
    if found > u64::from(SCHEMA) {
        return Err(ArchiveError::TooNew { path, found });
    }
    if !counts::are_possible(&text).map_err(damaged)? {
        return Err(ArchiveError::Unreadable {
            path,
            problem: "its counts together are more than a run can have".to_owned(),
            remedy: "restore the file from a copy; the other files of the run can be read without it",
        });
    }
    let mut record: RunRecord = serde_json::from_str(&text).map_err(damaged)?;
    if record.state == RunState::Running && record.process.as_ref().is_some_and(|p| !process::may_be_alive(p))
    {
        record.state = RunState::Killed;
        record.reason.get_or_insert_with(|| WHY.to_owned());
    }
    Ok(record)
}

/// The number of the form that a record begins with, as ours do: nothing behind it is read. `None` for another text.
fn schema_first(json: &str) -> Option<u64> {
    struct First<'a>(&'a mut Option<u64>);

    impl<'de> Visitor<'de> for First<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a record")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
            if fields.next_key::<String>()?.as_deref() == Some("schema") {
                *self.0 = Some(fields.next_value()?);
            }
            Ok(())
        }
    }

    let mut found = None;
    let mut text = serde_json::Deserializer::from_str(json);
    // An error where the rest of the record is: it was not read.
    drop(text.deserialize_map(First(&mut found)));
    found
}

impl Run {
    /// The workload as it was run, native YAML without secrets; `None` when the file is not there, and for a link, which in an
    /// archive of somebody else's leads to any file of this machine: the text is shown to others.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn workload_yaml(&self) -> Result<Option<String>, ArchiveError> {
        let path = self.path.join(WORKLOAD);
        if regular::is_no_link(&path) { read_bounded(&path, MOST_WORKLOAD_BYTES).map(Some) } else { Ok(None) }
    }

    /// The timeline of one of its stages; empty when the stage never ran.
    ///
    /// # Errors
    /// When the file is damaged, or is missing in a run of ours: COSBench leaves none of some stages.
    pub fn timeline(&self, stage: &StageRecord) -> Result<Vec<TimelineEntry>, ArchiveError> {
        let path = files::place_named(&self.path, &format!("{}.csv", files::safe_name(&stage.id)));
        if self.record.made_by.is_some() && !path.exists() { Ok(Vec::new()) } else { read_timeline(&path) }
    }

    /// The same as it lies in its file; empty when the stage never ran.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn timeline_text(&self, stage: &StageRecord) -> Result<Vec<u8>, ArchiveError> {
        let path = files::place_named(&self.path, &format!("{}.csv", files::safe_name(&stage.id)));
        if path.exists() {
            regular::read(&path).map_err(ArchiveError::io("read", &path))
        } else {
            Ok(Vec::new())
        }
    }

    /// Writes `report.html` under a temporary name and renames it; gives its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&self, html: &[u8]) -> Result<PathBuf, ArchiveError> {
        let path = self.path.join("report.html");
        files::write_whole(&path, false, |out| out.write_all(html))?;
        Ok(path)
    }

    /// The histogram log.
    ///
    /// # Errors
    /// When there is none.
    pub fn histograms(&self) -> Result<HistogramLog, ArchiveError> {
        HistogramLog::open(&self.path)
    }

    /// Bytes of the histogram log; 0 when there is none.
    #[must_use]
    pub fn histogram_bytes(&self) -> u64 {
        let file = self.path.join(crate::directory::histograms::FILE_NAME);
        std::fs::metadata(file).map(|file| file.len()).unwrap_or(0)
    }

    /// The operation log; `None` when the run had none.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn operations(&self) -> Result<Option<OpLogReader>, ArchiveError> {
        OpLogReader::open(&self.path)
    }

    /// Whether closed parts of the table `STEM.parquet` are there, and whether one is that is not closed: the table itself is
    /// there when its run has ended.
    #[must_use]
    pub fn parts_of(&self, stem: &str) -> (bool, bool) {
        crate::parts::parts_of(&self.path, stem)
    }

    /// What was read of the store's machines; `None` when the run looked at none.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn node_looks(&self) -> Result<Option<NodeLogReader>, ArchiveError> {
        NodeLogReader::open(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::schema_first;

    #[test]
    fn the_form_of_a_record_is_read_without_the_rest_where_it_comes_first() {
        for (json, form) in [
            (r#"{"schema": 1, "id": "w1"}"#, Some(1)),
            ("{\n  \"schema\": 7, \"of a later form\": [{", Some(7)),
            (r#"{"id": "w1", "schema": 1}"#, None),
            (r#"{"schema": "1"}"#, None),
            (r#"{"schema": -1}"#, None),
            (r#"{"a": {"schema": 1}}"#, None),
            ("{}", None),
            ("[1]", None),
            ("", None),
        ] {
            assert_eq!(schema_first(json), form, "{json}");
        }
    }
}
