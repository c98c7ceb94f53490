//! The ledger of a run, a directory of its own in that of the run: `ledger.json`, which says what names there are and
//! whether everything is in it, and sorted runs of changes. A run is written every ten seconds, or when there are many
//! changes; sixteen of one size become one of the next. Memory stays the same however many objects there are, and a kill costs
//! ten seconds. A change that stands in two files counts once, so no order of writing and removing can spoil anything.

mod merge;
mod run_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cosmark_ledger::{Change, Entry, Key, Plan, Row, Site, Space};
use cosmark_metrics::Sample;
use serde::{Deserialize, Serialize};

use crate::ArchiveError;
use crate::directory::files::write_whole;
use crate::ledger::merge::{Entries, Merged, rows_of};
pub(crate) use crate::ledger::run_file::checksum;
use crate::ledger::run_file::write_run;
use crate::regular;

/// The directory in that of the run.
pub(crate) const DIRECTORY: &str = "ledger";
const HEAD: &str = "ledger.json";
/// Changes that are gathered before they are sorted and written; 64 bytes each.
const MOST_ROWS: usize = 1 << 18;
/// They are written after this time even if they are fewer: that much a kill costs.
const RUN_AGE: Duration = Duration::from_secs(10);
/// No ledger has so many files: a name with a greater number is none of its own.
const MOST_NUMBER: u64 = 1 << 48;
/// Runs of one size that become one.
const FAN_IN: usize = 16;

/// What a ledger says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHead {
    /// Format of the directory.
    pub schema: u32,
    /// Everything that was acknowledged while it was kept is in it.
    pub complete: bool,
    /// Changes that were made and are not in it, as far as that is known.
    pub missing: u64,
    /// Kinds of names.
    pub spaces: Vec<Space>,
    /// Names of its files, once it is over: without one of them objects would be gone, or look older than they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
}

/// A ledger that is being written.
pub struct LedgerWriter {
    dir: PathBuf,
    plan: Plan,
    rows: Vec<Row>,
    began: Instant,
    /// Files by size class, oldest first.
    runs: BTreeMap<u32, Vec<PathBuf>>,
    next: u64,
    missing: u64,
}

impl LedgerWriter {
    /// In the directory of a run.
    pub fn create(run: &Path, plan: Plan) -> Result<Self, ArchiveError> {
        let dir = run.join(DIRECTORY);
        std::fs::create_dir_all(&dir).map_err(ArchiveError::io("make directory", &dir))?;
        let mut writer = Self {
            runs: BTreeMap::new(),
            next: 0,
            dir,
            plan,
            rows: Vec::new(),
            began: Instant::now(),
            missing: 0,
        };
        // A run that is taken up goes on with what there is.
        for path in runs_in(&writer.dir)? {
            let (class, number) = class_and_number(&path).unwrap_or((0, 0));
            writer.next = writer.next.max(number + 1);
            writer.runs.entry(class).or_default().push(path);
        }
        writer.write_head(false, None)?;
        Ok(writer)
    }

    fn write_head(&self, complete: bool, files: Option<Vec<String>>) -> Result<(), ArchiveError> {
        let (missing, spaces) = (self.missing, self.plan.spaces.clone());
        let head = LedgerHead { schema: 1, complete, missing, spaces, files };
        let text = serde_json::to_vec_pretty(&head).unwrap_or_default();
        write_whole(&self.dir.join(HEAD), true, |out| out.write_all(&text))
    }

    /// Adds what samples of a work say. Times move by `offset_ns`, and are known to `error_ns`.
    pub fn add(
        &mut self,
        (stage, work): (u16, u16),
        samples: &[Sample],
        offset_ns: i64,
        error_ns: i64,
    ) -> Result<(), ArchiveError> {
        for sample in samples {
            let role = self.plan.role(usize::from(stage), usize::from(work), usize::from(sample.op));
            if let Some(role) = role {
                if self.rows.is_empty() {
                    self.began = Instant::now();
                }
                role.rows(sample, offset_ns, error_ns, &mut self.rows);
            }
        }
        if self.rows.len() >= MOST_ROWS { self.flush() } else { Ok(()) }
    }

    /// So many operations were made that will not be heard of.
    pub fn miss(&mut self, count: u64) {
        self.missing += count;
    }

    /// Changes that were made and are not in it.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Writes what has waited long enough.
    pub fn flush_old(&mut self) -> Result<(), ArchiveError> {
        if self.began.elapsed() >= RUN_AGE { self.flush() } else { Ok(()) }
    }

    /// Writes everything that was added.
    pub fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.sort_unstable();
        let path = self.new_path(0);
        write_run(&path, rows_of(Entries::of(self.rows.iter().map(|row| Ok(*row)))))?;
        self.rows.clear();
        self.runs.entry(0).or_default().push(path);
        self.compact()
    }

    fn new_path(&mut self, class: u32) -> PathBuf {
        self.next += 1;
        self.dir.join(format!("{class}-{:08}.run", self.next))
    }

    fn compact(&mut self) -> Result<(), ArchiveError> {
        let mut class = 0;
        while let Some(full) = self.runs.get(&class).filter(|runs| runs.len() >= FAN_IN).cloned() {
            let path = self.new_path(class + 1);
            write_run(&path, rows_of(Entries::of(Merged::of(&full)?)))?;
            self.runs.remove(&class);
            class += 1;
            self.runs.entry(class).or_default().push(path);
            for old in &full {
                std::fs::remove_file(old).map_err(ArchiveError::io("remove", old))?;
            }
        }
        Ok(())
    }

    /// Writes the last of it and says that it is whole.
    pub fn finish(mut self) -> Result<(), ArchiveError> {
        self.flush()?;
        let files = self.runs.values().flatten().filter_map(|path| name_of(path)).collect();
        self.write_head(self.missing == 0, Some(files))
    }
}

fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

fn class_and_number(path: &Path) -> Option<(u32, u64)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".run")?;
    let (class, number) = name.split_once('-')?;
    let number = number.parse::<u64>().ok().filter(|number| *number <= MOST_NUMBER)?;
    Some((class.parse().ok()?, number))
}

fn runs_in(dir: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(ArchiveError::io("read directory", dir))? {
        let path = entry.map_err(ArchiveError::io("read directory", dir))?.path();
        if class_and_number(&path).is_some() {
            runs.push(path);
        }
    }
    runs.sort();
    Ok(runs)
}

/// The ledger of a run.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// What it says of itself.
    pub head: LedgerHead,
    runs: Vec<PathBuf>,
}

impl Ledger {
    /// That of the run in `run`; `None` when it has none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(run: &Path) -> Result<Option<Self>, ArchiveError> {
        let directory = run.join(DIRECTORY);
        let path = directory.join(HEAD);
        let text = match regular::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ArchiveError::io("read", &path)(error)),
        };
        let unreadable = |problem: String| ArchiveError::Unreadable {
            path: path.clone(),
            problem,
            remedy: "restore the file from a copy: without it nobody knows what was acknowledged",
        };
        let head: LedgerHead =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if head.schema != 1 {
            return Err(unreadable(format!("its format {} is of a later version of Cosmark", head.schema)));
        }
        let runs = runs_in(&directory)?;
        let is_gone = |name: &&String| runs.iter().all(|path| name_of(path).as_ref() != Some(*name));
        let gone = head.files.iter().flatten().find(is_gone).cloned();
        match gone {
            None => Ok(Some(Self { head, runs })),
            Some(name) => Err(ArchiveError::Unreadable {
                path: directory.join(name),
                problem: "it is gone".to_owned(),
                remedy: "restore the file from a copy: without it nobody knows what was acknowledged",
            }),
        }
    }

    /// Every object with the changes that may be its last, in order. What was done to a whole container is done to each of its objects.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn entries(&self) -> Result<LedgerEntries, ArchiveError> {
        Ok(LedgerEntries {
            entries: Entries::of(Merged::of(&self.runs)?),
            spaces: self.head.spaces.clone(),
            emptied: BTreeMap::new(),
        })
    }

    /// How many objects it has.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn count(&self) -> Result<u64, ArchiveError> {
        let mut count = 0;
        for entry in self.entries()? {
            entry?;
            count += 1;
        }
        Ok(count)
    }
}

/// Objects of a ledger, in order.
pub struct LedgerEntries {
    entries: Entries<Merged>,
    spaces: Vec<Space>,
    /// Containers that were emptied, by store and name: their spaces come first.
    emptied: BTreeMap<(Site, String), Vec<Change>>,
}

impl Iterator for LedgerEntries {
    type Item = Result<(Key, Entry), ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, mut entry) = match self.entries.next()? {
                Ok(next) => next,
                Err(error) => return Some(Err(error)),
            };
            let Some(space) = self.spaces.get(usize::from(key.space)) else {
                let text = "the ledger has objects of names that it does not know".to_owned();
                return Some(Err(ArchiveError::OpLog(text)));
            };
            if space.objects.is_none() {
                let place = (space.site, space.containers.name(key.container));
                self.emptied.entry(place).or_default().extend(entry.changes());
                continue;
            }
            if !self.emptied.is_empty() {
                let place = (space.site, space.containers.name(key.container));
                self.emptied.get(&place).into_iter().flatten().for_each(|change| entry.add(*change));
            }
            return Some(Ok((key, entry)));
        }
    }
}

#[cfg(test)]
mod tests;
