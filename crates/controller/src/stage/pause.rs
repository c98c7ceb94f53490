//! The pause after a stage.

use std::time::Duration;

use cosmark_archive::StageState;

use super::{StageRun, wanted};
use crate::job::StopLevel;
use crate::observe::Observer;

impl StageRun<'_, '_> {
    /// The pause after the stage; false when the user cut it short.
    pub(super) async fn pause(&mut self, observer: &mut dyn Observer) -> bool {
        let delay = self.stage.closure_delay;
        let mut stop = self.job.stop.clone();
        if delay.is_zero() || *stop.borrow() != StopLevel::Run || self.failure.is_some() {
            return true;
        }
        self.enter(StageState::Sleeping);
        // Counted from when the stage ended, which may be long ago if the run is taken up.
        let ends = self.job.dir.now() + delay;
        let left = Duration::try_from(ends.duration_since(self.job.dir.present())).unwrap_or_default();
        if left.is_zero() {
            self.job.dir.set_past(i64::try_from(ends.as_nanosecond()).ok());
            return true;
        }
        observer.note(&format!("waiting {left:?} after stage {}", self.stage.id(self.index)));
        let slept = tokio::select! {
            () = tokio::time::sleep(left) => true,
            _ = wanted(&mut stop, StopLevel::Run) => false,
        };
        self.job.dir.set_past(None);
        slept
    }
}
