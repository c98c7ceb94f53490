//! The `none` storage: does nothing at once, as COSBench's type of that name: reads return 0 bytes, writes do not read
//! their body. It shows the tool's own ceiling.

use std::sync::Arc;

use cosmark_adaptor_api::null::{CAPABILITY, Null};
use cosmark_adaptor_api::{Adaptor, AdaptorDef, Key, Result, Settings};

use crate::common_keys::LOGGING;

const KEYS: &[Key] = &[LOGGING];

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "none",
    aliases: &[],
    summary: "nothing at all: the ceiling of this machine as a load generator",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: AdaptorDef::takes_nothing,
};

fn open(_settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    Ok(Arc::new(Null))
}
