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
use crate::directory::files::{HISTORY, WORKLOADS, safe_name};

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

/// What the history says of a run, or in which line of it something is wrong, and what.
type Said = Result<Option<HistoryEntry>, (u64, String)>;

/// What the `run-history.csv` of an archive says of some of its runs, in one reading however many they are. Nothing is
/// held of the other lines: there may be any number of them.
#[derive(Debug)]
pub struct Histories {
    path: PathBuf,
    /// By id and name.
    of: HashMap<String, HashMap<String, Said>>,
    /// The line from which on the file cannot be read, and why.
    broken: Option<(u64, String)>,
}

impl Histories {
    /// Of runs of these ids and names, in the archive in `root`; `None` without any, and where it has no history that can
    /// be opened.
    pub fn of(root: &Path, runs: impl IntoIterator<Item = (String, String)>) -> Option<Self> {
        let mut of: HashMap<String, HashMap<String, Said>> = HashMap::new();
        for (id, name) in runs {
            of.entry(id).or_default().insert(name, Ok(None));
        }
        if of.is_empty() {
            return None;
        }
        let path = root.join(HISTORY);
        let read = records_of(&path, |at, record| {
            if let Some(asked) = record.get(0).and_then(|id| of.get_mut(id)) {
                note(asked, at, record);
            }
            Ok(true)
        });
        let broken = match read {
            Ok(()) => None,
            Err(ArchiveError::Damaged { line, problem, .. }) => Some((line, problem)),
            Err(_) => return None,
        };
        Some(Self { path, of, broken })
    }

    /// What it says of the run `id` called `name`; `None` of one that was not asked for.
    pub fn of_run(&self, id: &str, name: &str) -> Option<Result<Option<HistoryEntry>, ArchiveError>> {
        let said = self.of.get(id)?.get(name)?;
        Some(match said.as_ref().err().or(self.broken.as_ref()) {
            Some((line, problem)) => Err(damaged(&self.path, *line, problem.clone())),
            None => Ok(said.as_ref().ok().cloned().flatten()),
        })
    }
}

/// Takes a line of the id of these runs. The last good one of a run counts; a line that is damaged, which may be of any of them,
/// only where there is no good one.
fn note(runs: &mut HashMap<String, Said>, at: u64, record: &StringRecord) {
    match Line::of(record) {
        Ok(line) => {
            for name in [safe_name(&line.name), line.name.clone()] {
                if let Some(said) = runs.get_mut(&name) {
                    take(said, at, line.entry().map(Some));
                }
            }
        }
        Err(problem) => runs.values_mut().for_each(|said| take(said, at, Err(problem.clone()))),
    }
}

fn take(said: &mut Said, at: u64, line: Result<Option<HistoryEntry>, String>) {
    match line {
        Ok(Some(entry)) => *said = Ok(Some(entry)),
        Err(problem) if matches!(said, Ok(None)) => *said = Err((at, problem)),
        Ok(None) | Err(_) => {}
    }
}

/// True where the history lies in the directory of the run itself.
pub fn has_own_history(dir: &Path) -> bool {
    dir.join(HISTORY).is_file()
}

/// The line of the run `id` called `name`. The last good one counts: numbers start again when somebody clears an archive.
pub fn history(dir: &Path, id: &str, name: &str) -> Result<Option<HistoryEntry>, ArchiveError> {
    let Some(path) = beside(dir, HISTORY) else { return Ok(None) };
    let mut found: Said = Ok(None);
    records_of(&path, |at, record| {
        if record.get(0) == Some(id) {
            take(&mut found, at, entry_of(record, name));
        }
        Ok(true)
    })?;
    found.map_err(|(line, problem)| damaged(&path, line, problem))
}

fn entry_of(record: &StringRecord, name: &str) -> Result<Option<HistoryEntry>, String> {
    let line = Line::of(record)?;
    if safe_name(&line.name) == name || line.name == name { line.entry().map(Some) } else { Ok(None) }
}

/// A line of the history.
struct Line<'a> {
    name: String,
    /// Three dates, Op-Info, State.
    rest: Vec<&'a str>,
    states: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn of(record: &'a StringRecord) -> Result<Self, String> {
        let mut head: Vec<&str> = record.iter().collect();
        let fixed = head.iter().position(|cell| is_state(cell)).unwrap_or(head.len());
        let states = head.split_off(fixed);
        // Id, Name, three dates, Op-Info, State; a comma in the name moves the rest to the right.
        let Some(surplus) = head.len().checked_sub(7) else {
            return Err(format!(
                "{} cells instead of 7 before the states; the line was cut short",
                head.len()
            ));
        };
        let rest = head.split_off(surplus + 2);
        Ok(Self { name: head.get(1..).unwrap_or_default().join(","), rest, states })
    }

    fn entry(&self) -> Result<HistoryEntry, String> {
        let at = |index: usize| self.rest.get(index).copied().unwrap_or_default();
        Ok(HistoryEntry {
            submitted: date(at(0)),
            started: date(at(1)),
            stopped: date(at(2)),
            kinds: at(3).split_whitespace().map(str::to_owned).collect(),
            state: at(4).to_owned(),
            history: self.states.iter().map(|cell| state(cell)).collect::<Result<_, _>>()?,
        })
    }
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
                // The last one: decimal commas move it to the right. Before 0.4 there is a column less.
                let old = || record.get(15).filter(|cell| record.len() == 16 && cell.contains("% "));
                op.config_info = record.iter().skip(16).last().or_else(old).map(str::to_owned);
            }
        }
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(run: &str, state: &str, states: &str) -> String {
        let dates = ["10", "11", "25"].map(|second| format!("2026-11-21 18:54:{second}")).join(",");
        format!("{run},{dates},read write,{state},processing @ 2026-11-21 18:54:11{states}\n")
    }

    #[test]
    fn one_reading_says_of_many_runs_what_it_says_of_each_and_holds_no_other() {
        let archive = tempfile::tempdir().unwrap();
        let dir = archive.path().join("w0-of-any");
        fs::create_dir(&dir).unwrap();
        let mut text = "Id,Name,Submit-Time,Start-Time,End-Time,Op-Info,State\n".to_owned();
        for number in 100..3000 {
            text += &line(&format!("w{number},other"), "finished", "");
        }
        for (run, state, states) in [
            ("w1,a", "finished", ""),
            ("w1,b", "cancelled", ",cancelled @ 2026-11-21 18:54:25"),
            ("w1,a", "terminated", ""),
            ("w2,x,y", "finished", ""),
            ("w2,x/y", "failed", ""),
            ("w3,c", "finished", ""),
            ("w4,d", "finished", ",no state"),
            ("w4,e", "finished", ""),
            ("w4,d", "finished", ""),
            ("w6,h", "finished", ",no state"),
        ] {
            text += &line(run, state, states);
        }
        // A line that was cut short hides no good one of its run, whichever comes first.
        text += "w3,c\nw3,c,1\nw5,g\n";
        text += &line("w3,f", "finished", "");
        fs::write(archive.path().join(HISTORY), text).unwrap();
        let asked = [
            "w1,a", "w1,b", "w1,gone", "w2,x,y", "w2,x_y", "w3,c", "w3,f", "w4,d", "w4,e", "w5,g", "w6,h",
            "w9,none",
        ];
        let asked = asked.map(|run| run.split_once(',').unwrap());
        let both = asked.map(|(id, name)| (id.to_owned(), name.to_owned()));
        let mut all = Histories::of(archive.path(), both).unwrap();
        assert_eq!(all.of.len(), 7, "of no other run");
        let mut states = Vec::new();
        for (id, name) in asked {
            let plain = |error: ArchiveError| error.to_string().replace("w0-of-any/../", "");
            let said = all.of_run(id, name).unwrap().map_err(plain);
            assert_eq!(said, history(&dir, id, name).map_err(plain), "{id} {name}");
            let word = |entry: Option<HistoryEntry>| entry.map_or_else(|| "none".to_owned(), |one| one.state);
            states.push(said.map_or_else(|_| "damaged".to_owned(), word));
        }
        assert_eq!(
            states.join(" "),
            "terminated cancelled none finished failed finished finished finished finished damaged damaged none"
        );
        assert!(all.of_run("w1", "other").is_none() && all.of_run("w100", "other").is_none());
        // What is wrong with the whole file is said of each, and of one that is damaged itself what is so there.
        all.broken = Some((4000, "too long".to_owned()));
        let problem = |id: &str, name: &str| all.of_run(id, name).unwrap().unwrap_err().to_string();
        assert!(problem("w1", "a").contains("line 4000: too long"), "{}", problem("w1", "a"));
        assert!(problem("w5", "g").contains("the line was cut short"), "{}", problem("w5", "g"));
    }

    #[test]
    fn a_history_is_opened_for_runs_that_are_asked_for_and_where_there_is_one() {
        let archive = tempfile::tempdir().unwrap();
        let ask = |runs: &[(&str, &str)]| {
            let runs = runs.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
            Histories::of(archive.path(), runs)
        };
        assert!(ask(&[("w1", "a")]).is_none(), "there is none");
        fs::write(archive.path().join(HISTORY), line("w1,a", "finished", "")).unwrap();
        assert!(ask(&[("w1", "a")]).is_some() && ask(&[]).is_none());
        fs::rename(archive.path().join(HISTORY), archive.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", archive.path().join(HISTORY)).unwrap();
        assert!(ask(&[("w1", "a")]).is_none(), "no link is followed");
    }
}
