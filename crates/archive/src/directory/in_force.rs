//! Faults in force: what a run has made to fail and not healed yet, each a file in `.faults` of the archive. It is there,
//! on the disk, before the fault is, so that whoever comes after a kill knows what to heal.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::directory::files::{read_bounded, write_whole};
use crate::directory::notes::add_fault_event;
use crate::directory::process::{may_be_alive, this_process};
use crate::strict_modes::has_strict_modes;
use crate::{Archive, ArchiveError, ProcessRecord, regular};

/// Directory of the archive in which they stand.
const DIRECTORY: &str = ".faults";
/// What guardians have done, one line each; beside the files.
const LOG: &str = "guardian.log";
/// No such file is larger.
const MOST_BYTES: u64 = 1 << 20;

/// How a fault is healed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heal {
    /// By a command: program and arguments, and the directory in which it was to run.
    Command {
        /// Program and arguments.
        words: Vec<String>,
        /// Where.
        directory: PathBuf,
        /// How long it may take.
        within: Duration,
        /// A command that ends with 0 while the fault is still there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Vec<String>>,
    },
    /// By SIGCONT to these processes: number, and start in clock ticks since boot.
    Continue(Vec<(u32, u64)>),
    /// By putting the processes of these control groups back to where they were, and removing the groups.
    Groups(Vec<LimitedGroup>),
    /// By a script of the shell on another machine, over ssh.
    Elsewhere {
        /// `host` or `user@host`.
        host: String,
        /// What it does, in words.
        what: String,
        /// The script.
        script: String,
        /// How long it may take.
        within: Duration,
    },
    /// By the agent of the machine on which it is, when nothing is heard of the run any more.
    Agent {
        /// The agent's name.
        agent: String,
        /// The number by which that knows of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ticket: Option<u64>,
    },
    /// By itself: it was in the process that made it.
    Itself,
}

/// A control group that limits processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedGroup {
    /// Its directory, made for this.
    pub made: PathBuf,
    /// That of the group in which they were before.
    pub back: PathBuf,
}

impl fmt::Display for Heal {
    /// As the end of a sentence: what is done, or run and where.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { words, directory, .. } => {
                let text = format!("`{}` in {}", words.join(" "), directory.display());
                f.write_str(&shown(&text))
            }
            Self::Continue(processes) => {
                let numbers: Vec<String> = processes.iter().map(|(number, _)| number.to_string()).collect();
                write!(f, "SIGCONT to {}", numbers.join(", "))
            }
            Self::Groups(groups) => {
                let paths: Vec<_> = groups.iter().map(|group| group.made.display().to_string()).collect();
                write!(f, "taking processes out of {}", shown(&paths.join(", ")))
            }
            Self::Elsewhere { host, what, .. } => f.write_str(&shown(&format!("{what} on {host}"))),
            Self::Agent { agent, .. } => {
                let text =
                    format!("its agent {agent}, some seconds after it heard of the run for the last time");
                f.write_str(&shown(&text))
            }
            Self::Itself => f.write_str("the end of the process that made it"),
        }
    }
}

/// How often it is looked whether another process has ended its healing.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often a command that heals is tried by whoever has to.
const TRIES: u32 = 3;
/// Beside that: for whatever else belongs to it.
const BESIDE: Duration = Duration::from_secs(10);

impl Heal {
    /// How long another process may take that heals it: whoever wants to heal it, too, waits as long.
    #[must_use]
    pub fn longest(&self) -> Duration {
        match self {
            Self::Command { within, .. } => {
                // As long again, what was healed may take to be gone.
                let tried = within.saturating_mul(2);
                tried.saturating_mul(TRIES).saturating_add(BESIDE)
            }
            // Beside its tries: being connected, and waiting for that machine's own limit, which may heal it this moment.
            Self::Elsewhere { within, .. } => {
                within.saturating_mul(TRIES).saturating_add(BESIDE.saturating_mul(6))
            }
            Self::Continue(_) | Self::Groups(_) | Self::Agent { .. } | Self::Itself => {
                BESIDE.saturating_mul(2)
            }
        }
    }

    /// Whoever made it needs no guardian: its end ends the fault.
    #[must_use]
    pub fn ends_with_its_maker(&self) -> bool {
        matches!(self, Self::Agent { .. } | Self::Itself)
    }
}

/// A fault that was made and not healed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultInForce {
    /// Id of the run.
    pub run: String,
    /// Id of the stage.
    pub stage: String,
    /// Name of the fault.
    pub fault: String,
    /// What was done, in words.
    pub what: String,
    /// Since when.
    pub since: Timestamp,
    /// Who made it.
    pub process: ProcessRecord,
    /// What heals it.
    pub heal: Heal,
    /// The ticket of an agent for which it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<u64>,
    /// The journal in which it was written down, while it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    journal: Option<Place>,
    /// It stood in another journal than the one in which it was written down.
    #[serde(skip)]
    is_moved: bool,
}

/// Which directory a journal is: one that was unpacked, copied or made anew is another, and whoever packs an archive can choose
/// neither. What is known of a boot stands in every record that somebody gives away. Source: statx(2), `stx_btime`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    inode: u64,
    /// When it was made, ns since 1970; `None` on a file system that does not know.
    made_ns: Option<u64>,
}

impl Place {
    fn of(directory: &Path) -> Option<Self> {
        let there = fs::metadata(directory).ok()?;
        let made = there.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let made_ns = made.and_then(|since| u64::try_from(since.as_nanos()).ok());
        Some(Self { inode: there.ino(), made_ns })
    }
}

impl FaultInForce {
    /// Made by this process, now.
    #[must_use]
    pub fn made_here(run: &str, stage: &str, fault: &str, what: &str, heal: Heal) -> Self {
        let [run, stage, fault, what] = [run, stage, fault, what].map(str::to_owned);
        let (since, process) = (Timestamp::now(), this_process());
        let (ticket, journal, is_moved) = (None, None, false);
        Self { run, stage, fault, what, since, process, heal, ticket, journal, is_moved }
    }

    /// The same, for this ticket of an agent.
    #[must_use]
    pub fn for_ticket(self, ticket: u64) -> Self {
        Self { ticket: Some(ticket), ..self }
    }

    /// Made on this machine since it was started, and written down where it stands. Only that is healed without being asked
    /// twice: what stands in an archive that came from elsewhere is nobody's order.
    #[must_use]
    pub fn was_made_here(&self) -> bool {
        let here = this_process();
        let same = self.process.hostname == here.hostname && self.process.boot_id == here.boot_id;
        same && here.boot_id.is_some() && !self.is_moved
    }

    /// Whoever made it is there and will heal it; also where that cannot be told.
    #[must_use]
    pub fn has_its_maker(&self) -> bool {
        may_be_alive(&self.process)
    }

    /// Writes what a guardian has done into the log of the journal in which it stood, at `note`, and into the timeline of its
    /// run where nobody writes that any more.
    ///
    /// # Errors
    /// When one of them cannot be written; the other one is tried all the same.
    pub fn log(&self, note: &Path, text: &str) -> Result<(), ArchiveError> {
        let Some(directory) = note.parent() else { return Ok(()) };
        let (path, text) = (directory.join(LOG), shown(text));
        let line = format!("{} {} {} {}: {text}\n", Timestamp::now(), self.run, self.stage, self.fault);
        let file = regular::open_to_write(&path, OpenOptions::new().append(true));
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        let of_run = directory.parent().map_or(Ok(false), |archive| {
            add_fault_event(archive, &self.run, &self.stage, &format!("{}: {text}", self.fault))
        });
        written.map_err(ArchiveError::io("write", &path))?;
        of_run.map(|_| ())
    }
}

/// Where faults in force are written down.
#[derive(Debug, Clone)]
pub struct FaultJournal {
    directory: PathBuf,
}

impl FaultJournal {
    /// That of a directory: of an archive, or of an agent's state. Nothing is made there before a fault is noted.
    #[must_use]
    pub fn of(root: &Path) -> Self {
        Self { directory: root.join(DIRECTORY) }
    }

    /// Writes one down; it is on the disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written: then the fault is not to be made.
    pub fn note(&self, fault: &FaultInForce) -> Result<FaultNote, ArchiveError> {
        fs::create_dir_all(&self.directory).map_err(ArchiveError::io("make directory", &self.directory))?;
        let noted = FaultInForce { journal: Place::of(&self.directory), ..fault.clone() };
        let text = serde_json::to_string_pretty(&noted)
            .map_err(|cause| ArchiveError::io("write", &self.directory)(cause.into()))?;
        let name = format!("{}-{}.json", fault.run, fault.since.as_nanosecond());
        let path = self.directory.join(name);
        write_whole(&path, true, |out| out.write_all(text.as_bytes()))?;
        if let Err(cause) = close_to_others(&path) {
            drop(fs::remove_file(&path));
            return Err(ArchiveError::io("write", &path)(cause));
        }
        self.sync();
        Ok(FaultNote { path })
    }

    /// What a guardian wrote last of a fault of this run, stage and name since then, and when.
    #[must_use]
    pub fn last_word(
        &self,
        (run, stage, fault): (&str, &str, &str),
        since: Timestamp,
    ) -> Option<(Timestamp, String)> {
        let mut file = regular::open(&self.directory.join(LOG)).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES))).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        let of = format!("{} {} {}: ", shown(run), shown(stage), shown(fault));
        let text = String::from_utf8_lossy(&bytes);
        text.lines().rev().find_map(|line| {
            let (at, rest) = line.split_once(' ')?;
            let at = at.parse::<Timestamp>().ok().filter(|at| *at >= since)?;
            Some((at, rest.strip_prefix(&of)?.to_owned()))
        })
    }

    /// It is there: whoever deletes the whole of it has healed nothing.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.directory.is_dir()
    }

    fn sync(&self) {
        // The name is on the disk when the directory is.
        drop(File::open(&self.directory).and_then(|directory| directory.sync_all()));
    }

    /// All that are in force, the latest first: they are healed in this order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn all(&self) -> Result<Vec<(FaultNote, FaultInForce)>, ArchiveError> {
        let (found, damaged) = self.found()?;
        damaged.into_iter().next().map_or(Ok(found), Err)
    }

    /// The same as far as they can be read, and why the others cannot: one that is damaged keeps none from being
    /// healed.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn found(&self) -> Result<Found, ArchiveError> {
        let (mut found, mut damaged) = (Vec::new(), Vec::new());
        if !self.directory.exists() {
            return Ok((found, damaged));
        }
        let cannot = ArchiveError::io("read directory", &self.directory);
        for entry in fs::read_dir(&self.directory).map_err(cannot)? {
            let path = entry.map_err(ArchiveError::io("read directory", &self.directory))?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read(&path) {
                Ok(one) => found.push(one),
                // It was healed in this moment.
                Err(_) if is_gone(&path) => {}
                Err(error) => damaged.push(error),
            }
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.1.since));
        Ok((found, damaged))
    }
}

/// Faults that are in force, and why others that may be cannot be read.
type Found = (Vec<(FaultNote, FaultInForce)>, Vec<ArchiveError>);

fn is_gone(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Whatever the mask of this process lets a group do: a note that others may write is not read again. Who may read it stays as
/// that mask says, for it has commands in it.
fn close_to_others(path: &Path) -> io::Result<()> {
    let made = fs::metadata(path)?;
    if !has_strict_modes(&made) {
        fs::set_permissions(path, Permissions::from_mode(made.mode() & 0o755))?;
    }
    if has_strict_modes(&fs::metadata(path)?) {
        return Ok(());
    }
    Err(io::Error::other(
        "what is written there belongs to somebody else, as over NFS with root_squash, or others may write it, so that nobody would \
         heal by it; name an archive on another file system",
    ))
}

fn read(path: &Path) -> Result<(FaultNote, FaultInForce), ArchiveError> {
    // Whoever may write its directory makes no file there that is this user's.
    let file = fs::metadata(path).map_err(ArchiveError::io("read", path))?;
    if !has_strict_modes(&file) {
        return Err(ArchiveError::Damaged {
            path: path.to_owned(),
            line: 1,
            problem: "it belongs to somebody else, or others may write it".to_owned(),
            remedy: "read what it would run, heal that by hand, then delete the file",
        });
    }
    let text = read_bounded(path, MOST_BYTES)?;
    let mut fault: FaultInForce = serde_json::from_str(&text).map_err(|cause| ArchiveError::Damaged {
        path: path.to_owned(),
        line: cause.line() as u64,
        problem: cause.to_string(),
        remedy: "heal what it names by hand, then delete the file",
    })?;
    for text in [&mut fault.run, &mut fault.stage, &mut fault.fault, &mut fault.what] {
        *text = shown(text);
    }
    let own = fault.journal.take();
    fault.is_moved = own.is_none() || own != path.parent().and_then(Place::of);
    Ok((FaultNote { path: path.to_owned() }, fault))
}

/// What stands in an archive may be anybody's, and is shown on terminals.
fn shown(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The file of one fault.
#[derive(Debug)]
pub struct FaultNote {
    path: PathBuf,
}

/// Whether this process may heal a fault now: no two do so at once.
#[derive(Debug)]
pub enum Claim {
    /// It may, until this goes; `None` on a file system that has no locks.
    Mine(Option<File>),
    /// Another process heals it right now.
    Busy,
    /// It was healed, and its file is gone.
    Gone,
}

impl FaultNote {
    /// The fault that stands in this file.
    ///
    /// # Errors
    /// When it cannot be read, or others may have written it.
    pub fn read(path: &Path) -> Result<(Self, FaultInForce), ArchiveError> {
        read(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Claims the healing, without waiting. The claim ends with the process that holds it, however that ends. Source: flock(2).
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub fn claim(&self) -> Result<Claim, ArchiveError> {
        let file = match OpenOptions::new().read(true).write(true).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Claim::Gone),
            Err(error) => return Err(ArchiveError::io("open", &self.path)(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Claim::Busy),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(Claim::Mine(None));
            }
            Err(TryLockError::Error(error)) => return Err(ArchiveError::io("lock", &self.path)(error)),
        }
        // Whoever held it before may have deleted it.
        let links = file.metadata().map_err(ArchiveError::io("read", &self.path))?.nlink();
        Ok(if links == 0 { Claim::Gone } else { Claim::Mine(Some(file)) })
    }

    /// Claims the healing; waits while another process heals it, for at most `patience`.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub fn claim_within(&self, patience: Duration) -> Result<Claim, ArchiveError> {
        let until = Instant::now() + patience;
        loop {
            match self.claim()? {
                Claim::Busy if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
                claim => return Ok(claim),
            }
        }
    }

    /// The file is gone although its journal is there: whoever has healed the fault has deleted it. With the whole journal it
    /// was deleted by somebody who has healed nothing.
    #[must_use]
    pub fn was_forgotten(&self) -> bool {
        !self.path.exists() && self.path.parent().is_some_and(Path::is_dir)
    }

    /// The fault is healed.
    ///
    /// # Errors
    /// When the file cannot be deleted.
    pub fn forget(self) -> Result<(), ArchiveError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(ArchiveError::io("delete", &self.path)),
        }
    }
}

impl Archive {
    /// Where its runs write down what they have made to fail.
    #[must_use]
    pub fn fault_journal(&self) -> FaultJournal {
        FaultJournal::of(self.root())
    }
}

#[cfg(test)]
mod tests;
