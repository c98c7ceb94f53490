//! What people say about runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a person says about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Note {
    /// One paragraph, up to 3000 bytes.
    pub text: String,
}
