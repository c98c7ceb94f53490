//! What the two index files say of a run: `run-history.csv` (dates, states) and `workloads.csv` (workers, configs).
//! They lie in the directory above the run; a copy in the run's own directory goes first. Sources: CSVRunExporter
//! and CSVMatrixExporter of COSBench 0.4.2.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use jiff::civil::DateTime;

use super::fields::{damaged, date, is_state, records_of, state};
use super::{CosbenchStage, CosbenchState};
use crate::ArchiveError;
use crate::directory::files::{HISTORY, WORKLOADS};

/// A run in `run-history.csv`. Times are local times of the controller in whole seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it was submitted.
    pub submitted: Option<DateTime>,
    /// When its first stage began.
    pub started: Option<DateTime>,
    /// When it was over.
    pub stopped: Option<DateTime>,
    /// Kinds of operations, in order.
    pub kinds: Vec<String>,
    /// How it ended, COSBench's word: `finished`, `terminated`, `cancelled`, ..
    pub state: String,
    /// Every state it went through.
    pub history: Vec<CosbenchState>,
}

fn beside(dir: &Path, file: &str) -> Option<PathBuf> {
    // `..` works for `.` too, and where `dir` has no parent in its text.
    [dir.join(file), dir.join("..").join(file)].into_iter().find(|path| path.is_file())
}

/// The `run-history.csv` of an archive by the ids of its runs: whoever lists many runs reads it once.
#[derive(Debug)]
pub struct Histories {
    path: PathBuf,
    /// Numbers of lines, and their cells.
    lines: HashMap<String, Vec<(u64, StringRecord)>>,
}

/// A longer one is read again for each run rather than held.
const MOST_HELD_BYTES: u64 = 64 << 20;

impl Histories {
    /// That of the archive in `root`; `None` where there is none, or it is damaged or too long.
    pub fn of(root: &Path) -> Option<Self> {
        let path = root.join(HISTORY);
        let file = std::fs::metadata(&path).ok()?;
        if !file.is_file() || file.len() > MOST_HELD_BYTES {
            return None;
        }
        let mut lines: HashMap<String, Vec<(u64, StringRecord)>> = HashMap::new();
        let read = records_of(&path, |line, record| {
            if let Some(id) = record.get(0) {
                lines.entry(id.to_owned()).or_default().push((line, record.clone()));
            }
            Ok(true)
        });
        read.ok().map(|()| Self { path, lines })
    }

    /// The line of the run `id` called `name`; the last one counts.
    pub fn of_run(&self, id: &str, name: &str) -> Result<Option<HistoryEntry>, ArchiveError> {
        let mut found = None;
        for (line, record) in self.lines.get(id).into_iter().flatten() {
            let entry = entry_of(record, name).map_err(|problem| damaged(&self.path, *line, problem))?;
            found = entry.or(found);
        }
        Ok(found)
    }
}

/// True where the history lies in the directory of the run itself.
pub fn has_own_history(dir: &Path) -> bool {
    dir.join(HISTORY).is_file()
}

/// The line of the run `id` called `name`. The last one counts: numbers start again when somebody clears an archive.
pub fn history(dir: &Path, id: &str, name: &str) -> Result<Option<HistoryEntry>, ArchiveError> {
    let Some(path) = beside(dir, HISTORY) else { return Ok(None) };
    let mut found = None;
    records_of(&path, |_, record| {
        if record.get(0) == Some(id) {
            let entry = entry_of(record, name)?;
            found = entry.or(found.take());
        }
        Ok(true)
    })?;
    Ok(found)
}

fn entry_of(record: &StringRecord, name: &str) -> Result<Option<HistoryEntry>, String> {
    let all: Vec<&str> = record.iter().collect();
    let fixed = all.iter().position(|cell| is_state(cell)).unwrap_or(all.len());
    let (head, states) = all.split_at(fixed);
    // Id, Name, three dates, Op-Info, State; a comma in the name moves the rest to the right.
    let Some(surplus) = head.len().checked_sub(7) else {
        return Err(format!("{} cells instead of 7 before the states; the line was cut short", head.len()));
    };
    let (names, rest) = head.split_at(surplus + 2);
    let found = names.get(1..).unwrap_or_default().join(",");
    if crate::directory::files::safe_name(&found) != name && found != name {
        return Ok(None);
    }
    let at = |index: usize| rest.get(index).copied().unwrap_or_default();
    Ok(Some(HistoryEntry {
        submitted: date(at(0)),
        started: date(at(1)),
        stopped: date(at(2)),
        kinds: at(3).split_whitespace().map(str::to_owned).collect(),
        state: at(4).to_owned(),
        history: states.iter().map(|cell| state(cell)).collect::<Result<_, _>>()?,
    }))
}

/// Fills in workers and configs. Lines that do not fit the results (another run with the same number) are passed over.
pub fn add_workers(dir: &Path, id: &str, stages: &mut [CosbenchStage]) -> Result<(), ArchiveError> {
    let Some(path) = beside(dir, WORKLOADS) else { return Ok(()) };
    let run = format!("{id}-");
    records_of(&path, |_, record| {
        let key = record.get(0).and_then(|key| key.strip_prefix(run.as_str()));
        if let Some((stage, number)) = key.and_then(|key| key.rsplit_once('-')) {
            let operation = stages
                .iter_mut()
                .find(|known| known.id == stage)
                .zip(number.parse::<usize>().ok())
                .and_then(|(stage, number)| stage.operations.get_mut(number.checked_sub(1)?));
            let same = |at: usize, expected: &str| record.get(at) == Some(expected);
            if let Some(op) = operation
                && same(1, &op.label)
                && same(2, &op.count.to_string())
                && same(3, &op.bytes.to_string())
            {
                op.workers = record.get(4).and_then(|cell| cell.parse().ok());
                // The last one: decimal commas move it to the right.
                op.config_info = record.iter().skip(16).last().map(str::to_owned);
            }
        }
        Ok(true)
    })
}
