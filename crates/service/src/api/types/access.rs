//! Logins and secrets as the web service receives them. Neither is ever returned.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Login {
    /// The token.
    pub token: String,
}

/// A secret to be kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SecretValue {
    /// The secret. It is never given back.
    pub value: String,
    /// Where it may be sent: `https://host:port`, or a host alone for all its ports; a storage or auth type for that type's
    /// usual address. Nowhere else.
    #[serde(default)]
    pub endpoints: Vec<String>,
}
