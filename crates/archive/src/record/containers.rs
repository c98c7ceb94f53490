//! What `run.json` says of the containers that a stage was to make.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Containers that a stage was to make. One that stands in neither list was one of more than 1000, or the store did not say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContainersRecord {
    /// Names of those that were not there before: the run made them, and `cosmark clean` may remove them.
    pub created: Vec<String>,
    /// Names of those that were: they are somebody else's.
    pub found: Vec<String>,
}

impl ContainersRecord {
    pub(crate) fn is_empty(&self) -> bool {
        self.created.is_empty() && self.found.is_empty()
    }
}
