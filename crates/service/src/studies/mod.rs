//! Studies whose directories lie in one directory of this machine, read through their journals. A study is asked for by the name
//! of its directory, which has to be among those that are there; nothing that a client sends becomes a path.

mod view;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use cosmark_archive::Timestamp;
use cosmark_study::journal::{Call, JOURNAL, Step, is_held};
use cosmark_study::memory::Memory;
use cosmark_study::place::{Look, ask_to_stop, asked_to_stop, is_study, look};

use crate::api::types::StudySummary;

pub use view::{grid, results, run_directory, show};

/// Studies that are listed at most.
const MOST_STUDIES: usize = 500;
/// Entries of the directory that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Letters of a name.
const LONGEST_NAME: usize = 120;

/// Starts a command again, as its operator called it; the directory is that of the study.
pub type GoOn = Arc<dyn Fn(&Path, &Call) -> Result<(), String> + Send + Sync>;

/// Where studies are, and whether they may be started from here.
#[derive(Clone)]
pub struct StudiesSetup {
    /// The directory that holds their directories.
    pub root: PathBuf,
    /// Starts one again, where the operator allows that.
    pub go_on: Option<GoOn>,
}

/// What was read of a study's directory, as long as its journal is the same.
pub struct Known {
    /// Name of the directory.
    pub id: String,
    /// The directory.
    pub directory: PathBuf,
    /// What it holds, or why that cannot be said.
    pub look: Result<Look, String>,
    /// Length and time of the journal.
    stamp: (u64, Option<SystemTime>),
    /// What was read of its runs.
    pub memory: Arc<Memory>,
    /// A process runs it.
    pub is_held: bool,
    /// That was asked to stop.
    pub is_asked: bool,
    /// The study at a glance, once somebody asked for it.
    glance: OnceLock<StudySummary>,
}

/// The studies of a directory.
pub struct Studies {
    setup: StudiesSetup,
    known: Mutex<BTreeMap<String, Arc<Known>>>,
}

impl Known {
    /// When the journal was last written, RFC 3339.
    #[must_use]
    pub fn changed(&self) -> Option<String> {
        self.stamp.1.and_then(|at| Timestamp::try_from(at).ok()).map(|at| at.to_string())
    }

    /// The study at a glance.
    #[must_use]
    pub fn summary(&self) -> StudySummary {
        self.glance.get_or_init(|| view::summary(self)).clone()
    }

    /// Changes whenever something of the study does.
    #[must_use]
    pub fn version(&self) -> String {
        let since = self.stamp.1.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let (held, asked) = (u8::from(self.is_held), u8::from(self.is_asked));
        format!("{:x}-{:x}-{held}{asked}", self.stamp.0, since.unwrap_or_default().as_millis())
    }

    /// The step with which it was begun: another one is another study in the same place.
    fn first(&self) -> Option<&Step> {
        self.look.as_ref().ok().and_then(|look| look.steps.first())
    }
}

impl Studies {
    /// Those of a directory, which need not be there.
    #[must_use]
    pub fn new(setup: StudiesSetup) -> Self {
        Self { setup, known: Mutex::new(BTreeMap::new()) }
    }

    /// What starts one again, where the operator allows that.
    #[must_use]
    pub fn go_on(&self) -> Option<&GoOn> {
        self.setup.go_on.as_ref()
    }

    /// All that are there, those that changed last in front.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Known>> {
        let Ok(entries) = fs::read_dir(&self.setup.root) else { return Vec::new() };
        let names =
            entries.take(MOST_ENTRIES).flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<(SystemTime, String)> = names
            .filter(|name| is_name(name))
            .filter_map(|name| {
                let directory = self.setup.root.join(&name);
                let meta =
                    is_study(&directory).then(|| fs::symlink_metadata(directory.join(JOURNAL)).ok())??;
                Some((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), name))
            })
            .collect();
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        found.truncate(MOST_STUDIES);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|id, _| found.iter().any(|(_, name)| name == id));
        drop(known);
        found.iter().filter_map(|(_, name)| self.find(name)).collect()
    }

    /// The study of this name, as it is now; `None` where there is none.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Arc<Known>> {
        if !is_name(id) {
            return None;
        }
        let directory = self.setup.root.join(id);
        if !is_study(&directory) {
            return None;
        }
        let meta = fs::symlink_metadata(directory.join(JOURNAL)).ok()?;
        let stamp = (meta.len(), meta.modified().ok());
        let is_held = is_held(&directory);
        let is_asked = is_held && asked_to_stop(&directory).is_some();
        let before = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        if let Some(before) = &before
            && (before.stamp, before.is_held, before.is_asked) == (stamp, is_held, is_asked)
            // Its text may come later.
            && !before.look.as_ref().is_ok_and(|look| look.spec.is_none())
        {
            return Some(Arc::clone(before));
        }
        let look = look(&directory).map_err(|why| why.replace(&format!("{}/", directory.display()), ""));
        let mut now = Known {
            id: id.to_owned(),
            directory,
            look,
            stamp,
            memory: Arc::default(),
            is_held,
            is_asked,
            glance: OnceLock::new(),
        };
        if let Some(before) =
            before.filter(|before| before.first().is_some() && before.first() == now.first())
        {
            now.memory = Arc::clone(&before.memory);
        }
        let now = Arc::new(now);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_STUDIES || known.contains_key(id) {
            known.insert(id.to_owned(), Arc::clone(&now));
        }
        Some(now)
    }

    /// Asks whoever runs a study to stop.
    ///
    /// # Errors
    /// When nobody runs it, or the request cannot be written.
    pub fn stop(&self, known: &Known, who: &str) -> Result<(), String> {
        if !known.is_held {
            return Err(format!("nobody runs {} on this machine: there is nothing to stop", known.id));
        }
        ask_to_stop(&known.directory, who)
            .map_err(|why| why.replace(&format!("{}/", known.directory.display()), ""))
    }
}

/// Whether this can be the name of a study's directory.
fn is_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.') && name.bytes().all(good)
}
