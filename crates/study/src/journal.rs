//! What a study has done, one line of JSON for each step, appended and synced before the next step. What a kill cut off in the
//! middle of a line is dropped when the journal is opened again: that step is asked of the archive.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A larger journal is none of a study.
const MOST_BYTES: u64 = 256 << 20;

/// Name of the journal in a study's directory.
pub const JOURNAL: &str = "journal.jsonl";

/// What an error of a journal says where the disk has no room for it.
pub const DISK_FULL: &str = "the disk is full: free some space, then the same command goes on";

/// Who looks whether a study runs holds its journal for a moment: it is asked for so often, so far apart.
const ASKED: (u32, Duration) = (20, Duration::from_millis(50));

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// What is run: has to stay the same.
    Design {
        /// Name of the study.
        study: String,
        /// Scale.
        scale: String,
        /// With the published flaws.
        as_published: bool,
        /// Of the order.
        seed: u64,
        /// Of the text of `study.yaml`.
        digest: String,
        /// `--only` of factors that are within a run: a run that is over has no other points.
        #[serde(default)]
        within: String,
        /// Drawn letters in the names of containers on the user's own stores; empty on test beds.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tag: String,
        /// Digests of the files that said where systems are, without their secrets, by system; empty in journals that did not
        /// say.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        targets: BTreeMap<String, String>,
        /// Seconds since 1970.
        at_s: u64,
        /// The machine that makes the load, a line each.
        #[serde(default)]
        machine: Vec<String>,
    },
    /// A call of the command that finds something to do begins.
    Called {
        /// What was called.
        call: Call,
    },
    /// That call ended in order.
    Rested {
        /// Seconds since 1970.
        at_s: u64,
        /// How.
        how: Rest,
        /// Why it could not go on, where it could not.
        #[serde(default)]
        why: Option<String>,
    },
    /// A system serves.
    Up {
        /// Its name.
        system: String,
        /// What was found: versions, configuration.
        found: Vec<String>,
        /// True where the study started it and has to stop it.
        started: bool,
    },
    /// A system that the study started was stopped.
    Down {
        /// Its name.
        system: String,
    },
    /// A cell begins.
    Begin {
        /// Name of its run.
        run: String,
        /// Seconds since 1970; 0 in journals that did not say.
        #[serde(default)]
        at_s: u64,
    },
    /// A cell is over.
    End {
        /// Name of its run.
        run: String,
        /// How.
        state: CellState,
        /// Directory of its run in the archive, or its file.
        place: String,
        /// Seconds that it took.
        took_s: f64,
        /// Why it failed.
        why: Option<String>,
    },
}

/// A call of the command: what was asked for, and how to ask for it again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Call {
    /// Seconds since 1970.
    #[serde(default)]
    pub at_s: u64,
    /// `--only` of systems and factors that are not within a run, levels by factor.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// The arguments behind the program's name.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The directory in which it was called.
    #[serde(default)]
    pub directory: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// Every cell was run as often as wanted.
    Complete,
    /// The budget of time is spent.
    BudgetSpent,
    /// The user stopped it.
    Stopped,
    /// It could not go on.
    Trouble,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellState {
    /// It was run to its end.
    Done,
    /// A stage or the run failed: what it has is shown.
    Failed,
}

/// The end of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellEnd {
    /// How.
    pub state: CellState,
    /// Where it is.
    pub place: String,
    /// Seconds that it took.
    pub took_s: f64,
    /// Why it failed.
    pub why: Option<String>,
}

/// The open journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Bytes of whole steps.
    whole: u64,
    /// All steps so far.
    pub steps: Vec<Step>,
}

impl Journal {
    /// Opens or makes the journal of a directory, and holds it against others.
    ///
    /// # Errors
    /// When it cannot be read or written, is damaged in its middle, or another process has it.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let path = directory.join(JOURNAL);
        let shown = path.display().to_string();
        let at = path.clone();
        let failed = |cause: std::io::Error| with_remedy(&at, &cause);
        std::fs::create_dir_all(directory).map_err(|cause| with_remedy(directory, &cause))?;
        if path.exists() || path.is_symlink() {
            check_regular(&path).map_err(failed)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        hold(&file, &shown)?;
        let (text, whole) = whole_lines(&mut file).map_err(failed)?;
        let steps = steps_of(&text, &shown)?;
        let mut journal = Self { file, path, whole, steps };
        journal.cut().map_err(failed)?;
        Ok(journal)
    }

    /// Adds a step; it is on the disk when this returns. What a full disk took of one goes away again, so that the next stands on
    /// a line of its own.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, step: Step) -> Result<(), String> {
        let mut line = serde_json::to_string(&step).map_err(|cause| cause.to_string())?;
        line.push('\n');
        let mut written = self.cut();
        if written.is_ok() {
            written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        }
        if let Err(cause) = written {
            drop(self.cut());
            return Err(with_remedy(&self.path, &cause));
        }
        self.whole += line.len() as u64;
        self.steps.push(step);
        Ok(())
    }

    /// Forgets every step, so that the next one is the first; what was begun has measured nothing.
    ///
    /// # Errors
    /// When the file cannot be cut.
    pub fn begin_again(&mut self) -> Result<(), String> {
        self.whole = 0;
        self.steps.clear();
        let cut = self.cut().and_then(|()| self.file.sync_data());
        cut.map_err(|cause| with_remedy(&self.path, &cause))
    }

    /// Takes away what stands behind the last whole step; the next is written there.
    fn cut(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.whole)?;
        self.file.seek(SeekFrom::Start(self.whole)).map(drop)
    }
}

/// The error of a file, and what helps.
fn with_remedy(path: &Path, cause: &std::io::Error) -> String {
    use std::io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    let shown = path.display();
    match cause.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => format!("{shown}: {cause}; {DISK_FULL}"),
        PermissionDenied | ReadOnlyFilesystem => {
            format!("{shown}: {cause}; a study writes into its directory: give another --dir")
        }
        _ => format!("{shown}: {cause}"),
    }
}

/// Takes the journal for this process.
fn hold(file: &File, shown: &str) -> Result<(), String> {
    for asked in 1..=ASKED.0 {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if asked < ASKED.0 => std::thread::sleep(ASKED.1),
            Err(std::fs::TryLockError::WouldBlock) => break,
            Err(std::fs::TryLockError::Error(cause)) => return Err(format!("{shown}: {cause}")),
        }
    }
    Err(format!("{shown}: another cosmark runs this study; wait for it"))
}

/// Who unpacks a study of somebody else may find a pipe there, which would be waited for without end, a device, or a link to a
/// file of his own, of which the last line would be cut off and to which steps would be added.
fn check_regular(path: &Path) -> std::io::Result<()> {
    if std::fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "a link, or no regular file"))
}

fn open_to_read(path: &Path) -> std::io::Result<File> {
    check_regular(path)?;
    File::open(path)
}

/// Whether a process runs the study of a directory: it holds the journal. False where that cannot be asked.
#[must_use]
pub fn is_held(directory: &Path) -> bool {
    let Ok(file) = open_to_read(&directory.join(JOURNAL)) else { return false };
    // What is held here is let go of with the file.
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

/// Reads the journal of a directory without holding it; empty where there is none.
///
/// # Errors
/// When it cannot be read.
pub fn steps(directory: &Path) -> Result<Vec<Step>, String> {
    let path = directory.join(JOURNAL);
    let shown = path.display().to_string();
    let mut file = match open_to_read(&path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(format!("{shown}: {cause}")),
    };
    let (text, _) = whole_lines(&mut file).map_err(|cause| format!("{shown}: {cause}"))?;
    steps_of(&text, &shown)
}

/// The lines that have an end, and how many bytes of the file they are.
fn whole_lines(file: &mut File) -> std::io::Result<(String, u64)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("larger than any journal of a study"));
    }
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    bytes.truncate(whole);
    // What is no UTF-8 is longer as text than in the file.
    Ok((String::from_utf8_lossy(&bytes).into_owned(), whole as u64))
}

fn steps_of(text: &str, shown: &str) -> Result<Vec<Step>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|cause| {
                format!(
                    "{shown}, line {}: no step of a study ({cause}); remove the line, or give another --dir",
                    at + 1
                )
            })
        })
        .collect()
}

/// Whether a study was begun and has nothing to show for it: no cell is over, each that began was stopped in order, and
/// nothing that it started is left up. What a kill left of a cell may still be somewhere.
#[must_use]
pub fn is_untouched(steps: &[Step]) -> bool {
    let last = |is: fn(&Step) -> bool| steps.iter().rposition(is);
    let began = last(|step| matches!(step, Step::Begin { .. }));
    let rested = last(|step| matches!(step, Step::Rested { .. }));
    let started = last(|step| matches!(step, Step::Up { started: true, .. }));
    let stopped = last(|step| matches!(step, Step::Down { .. }));
    // Nothing is before everything.
    last(|step| matches!(step, Step::End { .. })).is_none() && began <= rested && started <= stopped
}

/// The cells that are over, by the name of their run. Where one was done again, the last counts.
#[must_use]
pub fn ended(steps: &[Step]) -> BTreeMap<&str, CellEnd> {
    #[cfg(test)]
    READ_THROUGH.with(|times| times.set(times.get() + 1));
    let mut all = BTreeMap::new();
    for step in steps {
        if let Step::End { run, state, place, took_s, why } = step {
            let end = CellEnd { state: *state, place: place.clone(), took_s: *took_s, why: why.clone() };
            all.insert(run.as_str(), end);
        }
    }
    all
}

#[cfg(test)]
thread_local! {
    /// How often steps were read through.
    pub static READ_THROUGH: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// A number for a text that is almost surely not that of another: FNV-1a, 64 bit.
#[must_use]
pub fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down(system: &str) -> Step {
        Step::Down { system: system.to_owned() }
    }

    #[test]
    fn a_pipe_in_place_of_a_journal_is_refused_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(directory.path().join(JOURNAL)).status();
        assert!(made.unwrap().success());
        let (to, from) = std::sync::mpsc::sync_channel(1);
        let place = directory.path().to_owned();
        std::thread::spawn(move || to.send((is_held(&place), steps(&place), Journal::open(&place).err())));
        let found = from.recv_timeout(Duration::from_secs(60));
        let Ok((false, Err(read), Some(opened))) = &found else { panic!("{found:?}") };
        assert!(read.contains("no regular file") && opened.contains("no regular file"), "{read}, {opened}");
    }

    #[test]
    fn a_link_in_place_of_a_journal_is_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        std::fs::write(&precious, "{\"step\":\"down\",\"system\":\"a\"}\nno end").unwrap();
        for target in [&precious, &directory.path().join("new")] {
            let place = directory.path().join("study");
            std::fs::create_dir(&place).unwrap();
            std::os::unix::fs::symlink(target, place.join(JOURNAL)).unwrap();
            let refused = Journal::open(&place).err().unwrap();
            assert!(refused.contains("a link") && !is_held(&place), "{refused}");
            std::fs::remove_dir_all(&place).unwrap();
        }
        assert!(std::fs::read_to_string(&precious).unwrap().ends_with("no end"));
        assert!(!directory.path().join("new").exists());
    }

    #[test]
    fn what_may_not_be_written_says_what_to_do_and_so_does_a_full_disk() {
        let said = |kind: std::io::ErrorKind| with_remedy(Path::new("there"), &kind.into());
        for kind in [std::io::ErrorKind::PermissionDenied, std::io::ErrorKind::ReadOnlyFilesystem] {
            assert!(
                said(kind).starts_with("there: ") && said(kind).ends_with("give another --dir"),
                "{kind}"
            );
        }
        assert!(said(std::io::ErrorKind::StorageFull).ends_with(DISK_FULL));
        assert!(!said(std::io::ErrorKind::NotADirectory).contains("--dir"));
    }

    #[test]
    fn what_a_full_disk_took_of_a_step_harms_no_later_one() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(directory.path()).unwrap();
        journal.append(down("a")).unwrap();
        // As a write leaves it that had no room for its end.
        journal.file.write_all(b"{\"step\":\"begin\",\"run\":\"x").unwrap();
        journal.append(down("b")).unwrap();
        journal.append(down("c")).unwrap();
        assert_eq!(steps(directory.path()), Ok(vec![down("a"), down("b"), down("c")]));
        drop(journal);
        assert_eq!(Journal::open(directory.path()).unwrap().steps.len(), 3);
    }

    #[test]
    fn a_study_is_untouched_until_a_cell_is_over_or_a_kill_may_have_left_something() {
        let begin = || Step::Begin { run: "x".to_owned(), at_s: 1 };
        let up = |started| Step::Up { system: "a".to_owned(), found: Vec::new(), started };
        let rested = || Step::Rested { at_s: 2, how: Rest::Stopped, why: None };
        let (run, place) = ("x".to_owned(), "w1".to_owned());
        let end = Step::End { run, state: CellState::Failed, place, took_s: 1.0, why: None };
        for (steps, untouched) in [
            (vec![], true),
            (vec![up(false), rested()], true),
            (vec![up(true), down("a"), rested()], true),
            (vec![up(true), begin(), down("a"), rested()], true),
            (vec![up(true), rested()], false),
            (vec![up(false), begin()], false),
            (vec![rested(), begin()], false),
            (vec![begin(), end, rested()], false),
        ] {
            assert_eq!(is_untouched(&steps), untouched, "{steps:?}");
        }
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(directory.path()).unwrap();
        journal.append(down("a")).unwrap();
        journal.begin_again().unwrap();
        journal.append(down("b")).unwrap();
        assert_eq!(steps(directory.path()), Ok(vec![down("b")]));
    }

    #[test]
    fn a_journal_with_bytes_that_are_no_text_is_as_long_as_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(JOURNAL);
        let bytes = b"{\"step\":\"down\",\"system\":\"\xff\xff\"}\n{\"step\"";
        std::fs::write(&path, bytes).unwrap();
        let mut journal = Journal::open(directory.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes.len() as u64 - 7);
        journal.append(down("b")).unwrap();
        assert_eq!(steps(directory.path()).unwrap(), [down("\u{fffd}\u{fffd}"), down("b")]);
    }
}
