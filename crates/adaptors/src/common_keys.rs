//! Keys that every storage type takes, in one place.

use cosmark_adaptor_api::{Key, KeyKind};

/// How long an operation may take.
pub const TIMEOUT: Key =
    Key::new("timeout", KeyKind::Duration, "time limit of one operation, 0 for none").default("30s");

/// COSBench's storage types have it.
pub const LOGGING: Key = Key::new(
    "logging",
    KeyKind::Bool,
    "accepted for COSBench's sake, no effect: operations are never logged one by one",
)
.default("false");
