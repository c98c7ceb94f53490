//! Secrets that the controller keeps by name, so that workloads need not hold them: one file each, for its owner alone. They
//! can be set and removed from outside, never read.

use std::sync::Arc;

use cosmark_driver::places::{Place, first_foreign};
use cosmark_driver::secrets::SecretSource;

use crate::ServiceError;
use crate::state::StateDir;

const DIRECTORY: &str = "secrets";
/// Longer ones are no secrets of an object store.
pub const LONGEST: usize = 64 << 10;

/// A file that says where its secret may be sent begins so.
const HEAD: &str = "cosmark secret 2\n";

/// What a file holds.
#[derive(serde::Deserialize)]
struct Stored {
    value: String,
    endpoints: Vec<String>,
}

/// The secrets of a state directory.
#[derive(Clone)]
pub struct Secrets {
    state: Arc<StateDir>,
}

/// True for what can be the name of a secret: 1 to 64 letters, digits, `-`, `_`, `.`, not beginning with a dot.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.chars().all(good)
}

impl Secrets {
    /// Those of this state directory.
    ///
    /// # Errors
    /// When their directory cannot be made.
    pub fn open(state: Arc<StateDir>) -> Result<Self, ServiceError> {
        state.directory(DIRECTORY)?;
        Ok(Self { state })
    }

    /// Their names, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn names(&self) -> Result<Vec<String>, ServiceError> {
        self.state.names(DIRECTORY)
    }

    /// Keeps one, for these endpoints. The name is a name ([`is_name`]).
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set(&self, name: &str, value: &str, endpoints: &[String]) -> Result<(), ServiceError> {
        // In one file, so that no value is ever seen with the places of another.
        let stored = serde_json::json!({ "value": value, "endpoints": endpoints });
        self.state.write(&format!("{DIRECTORY}/{name}"), format!("{HEAD}{stored}").as_bytes())
    }

    fn read(&self, name: &str) -> Result<Option<Stored>, String> {
        if !is_name(name) {
            return Ok(None);
        }
        let bytes = self.state.read(&format!("{DIRECTORY}/{name}"));
        let Some(bytes) = bytes.map_err(|error| format!("which cannot be read: {error}"))? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|_| "which is not UTF-8; set it again".to_owned())?;
        match text.strip_prefix(HEAD) {
            Some(stored) => {
                let stored =
                    serde_json::from_str(stored).map_err(|_| "which is damaged; set it again".to_owned())?;
                Ok(Some(stored))
            }
            // As versions before this one wrote it: nobody said where it may go.
            None => {
                let value = text.trim_end_matches(['\n', '\r']).to_owned();
                Ok(Some(Stored { value, endpoints: Vec::new() }))
            }
        }
    }

    /// Forgets one; false when there is none of this name.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<bool, ServiceError> {
        let there = self.names()?.iter().any(|known| known == name);
        if there {
            self.state.remove(&format!("{DIRECTORY}/{name}"))?;
        }
        Ok(there)
    }
}

/// Who submits a workload must not read the controller's environment and files by it.
impl SecretSource for Secrets {
    fn variable(&self, _name: &str) -> Result<String, String> {
        Err("and a controller gives away nothing of its environment; use {secret: NAME}, or `cosmark submit`, which takes \
             the variable from where it runs"
            .to_owned())
    }

    fn file(&self, _path: &str) -> Result<String, String> {
        Err("a controller gives away none of its files; use {secret: NAME}, or `cosmark submit`, which reads the file \
             where it runs"
            .to_owned())
    }

    fn named(&self, name: &str) -> Result<String, String> {
        let unknown = || {
            "which this controller does not have; set it in the console, or with PUT /api/v1/secrets/NAME"
                .to_owned()
        };
        self.read(name)?.map(|stored| stored.value).ok_or_else(unknown)
    }

    fn may_go(&self, name: &str, places: &[Place]) -> Result<(), String> {
        let Some(Stored { endpoints, .. }) = self.read(name)? else { return Ok(()) };
        if endpoints.is_empty() {
            return Err(format!(
                "which was stored without saying where it may be sent; set it again with its endpoints, in the console or with \
                 PUT /api/v1/secrets/{name}"
            ));
        }
        match first_foreign(&endpoints, places) {
            None => Ok(()),
            Some(place) => Err(format!(
                "which is kept for {} and may not be sent to {place}; store it for that place, too, if it is meant",
                endpoints.join(", ")
            )),
        }
    }

    fn habitual(&self, _name: &str) -> Option<String> {
        None
    }

    fn home(&self) -> Option<String> {
        None
    }
}
