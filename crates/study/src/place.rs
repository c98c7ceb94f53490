//! A study's directory for those who look at it while somebody else runs it: the text that is run stands beside the journal, and
//! a request to stop. Nothing here makes load, and nothing but that request is written by who looks.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::design::{Choice, Design, Levels, matches};
use crate::engine::how_far;
use crate::journal::{self, Call, JOURNAL, Rest, Step, digest, ended};
use crate::library;
use crate::published::{Published, numbers, read as read_published};
use crate::spec::{OneOrMore, Spec, Where, read};

/// The text of the study as it is run.
pub const TEXT: &str = "study.yaml";
/// The published numbers.
pub const PUBLISHED: &str = "published.csv";
/// Who asks that the study stops, by name.
const STOP: &str = "stop";
/// Lines of the text that name a target begin so.
pub const TARGET_LINE: &str = "# --system ";

/// A larger file is no text of a study.
const MOST_BYTES: u64 = 16 << 20;
/// Letters of the name of who asks for a stop.
const LONGEST_NAME: usize = 100;

/// How a study stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A process runs it.
    Running,
    /// A process runs it and was asked to stop.
    Stopping,
    /// Every cell was run as often as wanted.
    Complete,
    /// It was stopped, or not all of it was called for.
    Stopped,
    /// Its budget of time is spent.
    BudgetSpent,
    /// It could not go on.
    Trouble,
    /// What ran it was killed.
    CutOff,
}

/// What a directory holds.
#[derive(Debug, Clone)]
pub struct Look {
    /// The journal.
    pub steps: Vec<Step>,
    /// The study, where its text is there.
    pub spec: Option<Spec>,
    /// What was published.
    pub published: Vec<Published>,
    /// Why there is no study.
    pub trouble: Option<String>,
}

/// Keeps the text beside the journal, and what was published; files that are there with the same stay.
///
/// # Errors
/// When it cannot be written.
pub fn keep(directory: &Path, text: &str, published: &str) -> Result<(), String> {
    for (name, content) in [(TEXT, text), (PUBLISHED, published)] {
        let path = directory.join(name);
        if is_file(&path) && fs::read_to_string(path).is_ok_and(|there| there == content) {
            continue;
        }
        if name == PUBLISHED && content.is_empty() {
            continue;
        }
        write(directory, name, content)?;
    }
    Ok(())
}

/// Whether the text of a study, without the lines that name targets, is another than the one that was run. False where that
/// is not beside the journal.
#[must_use]
pub fn is_changed(directory: &Path, text: &str) -> bool {
    let path = directory.join(TEXT);
    let without_targets = |text: &str| {
        let end = text.find(&format!("\n{TARGET_LINE}")).unwrap_or(text.len());
        text[..end].to_owned()
    };
    let run = if is_file(&path) { fs::read_to_string(path).ok() } else { None };
    run.is_some_and(|run| without_targets(&run) != without_targets(text))
}

/// Writes a file under its name only when it is whole. A link of that name is replaced, not followed.
fn write(directory: &Path, name: &str, content: &str) -> Result<(), String> {
    let part = directory.join(format!(".{name}.{}.part", std::process::id()));
    let failed = |cause: std::io::Error| format!("{}: {cause}", directory.join(name).display());
    match fs::remove_file(&part) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(failed(cause)),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().create_new(true).write(true).open(&part).map_err(failed)?;
    let written = file.write_all(content.as_bytes()).and_then(|()| file.sync_data());
    written.and_then(|()| fs::rename(&part, directory.join(name))).map_err(|cause| {
        drop(fs::remove_file(&part));
        failed(cause)
    })
}

/// Asks whoever runs the study to stop.
///
/// # Errors
/// When the request cannot be written.
pub fn ask_to_stop(directory: &Path, who: &str) -> Result<(), String> {
    let name: String = who.chars().filter(|sign| !sign.is_control()).take(LONGEST_NAME).collect();
    write(directory, STOP, &name)
}

/// Who asked that the study stops, if somebody did.
#[must_use]
pub fn asked_to_stop(directory: &Path) -> Option<String> {
    let path = directory.join(STOP);
    if !is_file(&path) {
        return None;
    }
    let text = fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&text);
    Some(text.chars().filter(|sign| !sign.is_control()).take(LONGEST_NAME).collect())
}

/// Forgets a request to stop.
///
/// # Errors
/// When it cannot be removed.
pub fn forget_stop(directory: &Path) -> Result<(), String> {
    match fs::remove_file(directory.join(STOP)) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {cause}", directory.join(STOP).display()))
        }
        _ => Ok(()),
    }
}

/// A regular file of a bearable size, and no link to one.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES)
}

/// Whether a directory, which is no link, holds the journal of a study.
#[must_use]
pub fn is_study(directory: &Path) -> bool {
    let plain =
        |path: &Path, is: fn(&fs::Metadata) -> bool| fs::symlink_metadata(path).is_ok_and(|meta| is(&meta));
    plain(directory, fs::Metadata::is_dir) && plain(&directory.join(JOURNAL), fs::Metadata::is_file)
}

/// Looks what a directory holds.
///
/// # Errors
/// When its journal cannot be read or is none.
pub fn look(directory: &Path) -> Result<Look, String> {
    let steps = journal::steps(directory)?;
    let Some(Step::Design { study, digest: wanted, .. }) = steps.first() else {
        let why = if steps.is_empty() { "is empty" } else { "does not begin with a design" };
        return Err(format!("{JOURNAL} {why}: no study was begun here"));
    };
    let stored = |name: &str| {
        let path = directory.join(name);
        is_file(&path).then(|| fs::read_to_string(path).ok()).flatten()
    };
    let entry = library::find(study);
    let (text, csv) = match (stored(TEXT), entry) {
        (Some(text), _) if digest(&text) == *wanted => (text, stored(PUBLISHED).unwrap_or_default()),
        (_, Some(entry)) if digest(entry.text) == *wanted => {
            (entry.text.to_owned(), entry.published.to_owned())
        }
        (stored, _) => {
            let why = if stored.is_some() { "is not the one that was run" } else { "is not here" };
            let trouble = format!("{TEXT} {why}: run the same command once more, which keeps it");
            return Ok(Look { steps, spec: None, published: Vec::new(), trouble: Some(trouble) });
        }
    };
    let (mut spec, mistakes) = read(&text);
    for name in text.lines().filter_map(|line| line.strip_prefix(TARGET_LINE)?.split('=').next()) {
        // The user's store is no bed.
        let systems = spec.iter_mut().flat_map(|spec| &mut spec.systems);
        for system in systems.filter(|system| system.name == name) {
            system.bed = None;
            system.environment.clear();
        }
    }
    let published =
        spec.as_ref().and_then(|spec| numbers(spec, &read_published(&csv).ok()?).ok()).unwrap_or_default();
    let trouble = spec.is_none().then(|| {
        let first = mistakes.first().map(|one| one.message.clone()).unwrap_or_default();
        format!("{TEXT} cannot be read by this version: {first}")
    });
    Ok(Look { steps, spec, published, trouble })
}

impl Look {
    /// The calls so far.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.steps.iter().filter_map(|step| match step {
            Step::Called { call } => Some(call),
            _ => None,
        })
    }

    /// What is or was to be run: the cells of all calls, and those that were run.
    ///
    /// # Errors
    /// When the text does not fit the journal.
    pub fn design(&self) -> Result<Design<'_>, String> {
        let (Some(spec), Some(Step::Design { scale, as_published, seed, tag, .. })) =
            (&self.spec, self.steps.first())
        else {
            return Err(self.trouble.clone().unwrap_or_else(|| "no study was begun here".to_owned()));
        };
        let is_within = |name: &str| spec.factors.iter().any(|factor| factor.name == name && factor.within);
        let part = |only: &BTreeMap<String, Vec<String>>, within: bool| -> Where {
            let some = only.iter().filter(|(name, _)| is_within(name) == within);
            some.map(|(name, levels)| (name.clone(), OneOrMore(levels.clone()))).collect()
        };
        let calls: Vec<Where> = self.calls().map(|call| part(&call.only, false)).collect();
        let only = self.calls().next_back().map(|call| part(&call.only, true)).unwrap_or_default();
        let choice = Choice {
            scale: scale.clone(),
            as_published: *as_published,
            only,
            seed: *seed,
            tag: tag.clone(),
            ..Choice::default()
        };
        let mut design = Design::new(spec, choice)?;
        if !calls.is_empty() {
            let begun: Vec<&str> = self.steps.iter().filter_map(begun_run).collect();
            let name = spec.name.as_str();
            design.cells.retain(|cell| {
                let mut levels: Levels = cell.levels.clone();
                levels.insert("system".to_owned(), spec.systems[cell.system].name.clone());
                calls.iter().any(|only| matches(only, &levels)) || {
                    let start = format!("{name}.{}.r", cell.id);
                    begun.iter().any(|run| run.starts_with(&start))
                }
            });
        }
        Ok(design)
    }

    /// How it stands, and why; `is_held` says whether a process runs it, `is_asked` whether that was asked to stop.
    #[must_use]
    pub fn state(
        &self,
        design: Option<&Design<'_>>,
        is_held: bool,
        is_asked: bool,
    ) -> (State, Option<String>) {
        if is_held {
            // It still writes its report.
            let is_asked =
                is_asked || matches!(self.steps.last(), Some(Step::Rested { how: Rest::Stopped, .. }));
            return (if is_asked { State::Stopping } else { State::Running }, None);
        }
        let last = self.steps.iter().rev().find_map(|step| match step {
            Step::Called { .. } => Some(None),
            Step::Rested { how, why, .. } => Some(Some((*how, why.clone()))),
            _ => None,
        });
        let is_done = design.is_some_and(|design| {
            let (done, of, _) = how_far(design, &self.steps);
            done >= of
        });
        let cut_off = || (State::CutOff, Some("what ran it ended without a word".to_owned()));
        match last {
            Some(Some((Rest::Trouble, why))) => (State::Trouble, why),
            Some(Some((Rest::BudgetSpent, why))) => (State::BudgetSpent, why),
            Some(Some((Rest::Stopped, why))) => (State::Stopped, why),
            Some(Some((Rest::Complete, why))) => (State::Complete, why),
            _ if is_done => (State::Complete, None),
            Some(None) => cut_off(),
            // Journals that do not name their calls.
            None => match self.steps.last() {
                Some(Step::Begin { .. } | Step::Up { .. }) => cut_off(),
                _ => (State::Stopped, None),
            },
        }
    }

    /// The run that was begun and did not end, with the second since 1970 at which it was.
    #[must_use]
    pub fn under_way(&self) -> Option<(&str, u64)> {
        let last = self.steps.iter().rev().find_map(|step| match step {
            Step::Begin { run, at_s } => Some(Some((run.as_str(), *at_s))),
            Step::End { .. } | Step::Rested { .. } | Step::Called { .. } => Some(None),
            _ => None,
        });
        last.flatten()
    }

    /// Seconds that the runs took which are over.
    #[must_use]
    pub fn spent_s(&self) -> f64 {
        ended(&self.steps).values().map(|end| end.took_s).filter(|took_s| took_s.is_finite()).sum()
    }
}

fn begun_run(step: &Step) -> Option<&str> {
    match step {
        Step::Begin { run, .. } | Step::End { run, .. } => Some(run),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_or_a_link_in_place_of_the_text_is_replaced_and_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let (text, published) = (directory.path().join(TEXT), directory.path().join(PUBLISHED));
        // Whoever opens it waits for who writes.
        let made = std::process::Command::new("mkfifo").arg(&text).status();
        assert!(made.unwrap().success());
        let precious = directory.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, &published).unwrap();
        keep(directory.path(), "title: x", "a,b").unwrap();
        assert_eq!(fs::read_to_string(&text).unwrap(), "title: x");
        assert_eq!(fs::read_to_string(&published).unwrap(), "a,b");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
        assert!(is_file(&text) && is_file(&published));
    }
}
