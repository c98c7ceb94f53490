//! A driver that is lost while its stage goes on, as those who watch are told.

use cosmark_archive::MissingRecord;
use cosmark_workload::model::Stage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A driver that a running stage has lost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LostDriver {
    /// Its name.
    pub driver: String,
    /// From when on its part is missing, seconds since the load began.
    pub from_s: f64,
    /// Share of the stage's workers that it had, 0 to 1.
    pub share: f64,
}

impl LostDriver {
    /// What is told of it.
    #[must_use]
    pub fn of(missing: &MissingRecord, stage: &Stage) -> Self {
        let all: u32 = stage.works.iter().map(|work| work.workers).sum();
        let share = f64::from(missing.workers) / f64::from(all.max(1));
        Self { driver: missing.driver.clone(), from_s: missing.from_s, share }
    }
}
