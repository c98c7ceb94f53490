//! Faults by the `faults` script of a test bed: what it makes fail, how it proves that, and the verb that heals it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_archive::Heal;

use super::command::run;
use super::{Hand, here, text_of};

/// A verb and the one that heals it.
const HEALED_BY: &[(&str, &str)] = &[
    ("kill", "restart"),
    ("pause", "resume"),
    ("devfail", "devheal"),
    ("partition", "heal"),
    ("delay", "heal"),
    ("fill", "heal"),
    ("out", "in"),
];

/// The script of a bed, by its whole path.
///
/// # Errors
/// When there is none.
pub fn script(bed: &str) -> Result<String, String> {
    let path = Path::new(bed).join("faults");
    let whole = path.canonicalize().map_err(|cause| {
        format!(
            "{}: {cause}; bed: is the directory of a test bed, seen from where cosmark runs",
            path.display()
        )
    })?;
    Ok(text_of(&whole))
}

/// Whether the script may be run: without the user's word only where nobody but the user and the administrator can have
/// written it.
///
/// # Errors
/// When there is none, or it belongs to somebody else.
pub fn check(bed: &str, allowed: bool) -> Result<(), String> {
    let path = script(bed)?;
    if allowed {
        return Ok(());
    }
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::geteuid() };
    let at = |path: &Path| {
        let meta = std::fs::metadata(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let safe = [0, own].contains(&meta.uid()) && meta.mode() & 0o002 == 0;
        let why =
            format!("{} belongs to or can be written by others; allow it by --allow-faults", path.display());
        if safe { Ok(()) } else { Err(why) }
    };
    let path = Path::new(&path);
    at(path)?;
    path.parent().map_or(Ok(()), at)
}

pub struct Bed {
    script: String,
    verb: String,
    target: String,
    argument: Option<String>,
    healing: &'static str,
    directory: PathBuf,
    within: Duration,
}

impl Bed {
    pub fn of(
        bed: &str,
        verb: &str,
        target: &str,
        argument: Option<&str>,
        within: Duration,
    ) -> Result<Self, String> {
        let known = || HEALED_BY.iter().map(|row| row.0).collect::<Vec<_>>().join(", ");
        let healing = HEALED_BY.iter().find(|row| row.0 == verb).map(|row| row.1);
        Ok(Self {
            script: script(bed)?,
            verb: verb.to_owned(),
            target: target.to_owned(),
            argument: argument.map(str::to_owned),
            healing: healing
                .ok_or_else(|| format!("verb {verb} is not known to be healed; known: {}", known()))?,
            directory: here()?,
            within,
        })
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        std::iter::once(self.script.as_str()).chain(words.iter().copied()).map(str::to_owned).collect()
    }

    fn call(&self, words: &[&str]) -> Result<String, String> {
        let words = self.words(words);
        let output = run(&words, &self.directory, self.within)?;
        if output.code == Some(0) { Ok(output.text) } else { Err(output.failure(&words)) }
    }
}

impl Hand for Bed {
    fn plan(&self) -> Heal {
        let words = self.words(&[self.healing, &self.target]);
        Heal::Command { words, directory: self.directory.clone(), within: self.within }
    }

    fn acts_on(&self) -> Vec<String> {
        vec![format!("{} {}", self.script, self.target)]
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self) -> Result<String, String> {
        let mut words = vec![self.verb.as_str(), self.target.as_str()];
        words.extend(self.argument.as_deref());
        self.call(&words)
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        let words = self.words(&["proof", &self.verb, &self.target]);
        let output = run(&words, &self.directory, self.within)?;
        Ok((output.code == Some(0)).then_some(output.text))
    }

    fn heal(&mut self) -> Result<String, String> {
        let said = self.call(&[self.healing, &self.target]);
        match self.landed() {
            // Healing twice is an error to some verbs; what counts is that nothing is broken.
            Ok(None) => Ok(said.unwrap_or_else(|why| why)),
            Ok(Some(proof)) => Err(said.err().unwrap_or_else(|| format!("it is still there: {proof}"))),
            Err(why) => said.and(Err(why)),
        }
    }
}
