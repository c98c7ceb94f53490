//! A stage that ends before its time because its figures are known well enough.

use std::time::Duration;

use cosmark_archive::StageState;

use super::StageRun;
use crate::observe::Observer;
use crate::settle::{applies_to, look};
use crate::thresholds::Measured;

/// What the looks at a stage came to.
#[derive(Debug, Default)]
pub struct Looks {
    /// The next one, since the window began.
    next: Duration,
    /// What was known worst at the last one.
    last: Option<String>,
    /// Why the load ended before its time.
    pub stopped: Option<String>,
}

impl StageRun<'_, '_> {
    /// True once, when the load is to end because enough is known.
    pub(super) fn is_settled(&mut self, observer: &mut dyn Observer) -> bool {
        let Some(settle) = self.job.settle.filter(|_| self.looks.stopped.is_none()) else { return false };
        if !applies_to(&self.stage) {
            return false;
        }
        let told = self.watermark(false);
        let works = &self.stage.works;
        let window = works.iter().map(|work| told.saturating_sub(work.rampup)).min().unwrap_or_default();
        if window < self.looks.next.max(settle.least) {
            return false;
        }
        self.looks.next = window + settle.every;
        let seconds =
            works.iter().map(|work| told.saturating_sub(work.rampup).min(work.runtime).as_secs_f64());
        let (windows, batches) = self.tally.windows_so_far();
        let measured = Measured::new(seconds.zip(windows).collect(), batches);
        let found = look(&self.stage, &measured, &settle);
        if !found.is_enough {
            self.looks.last = Some(found.worst);
            return false;
        }
        let text = format!(
            "stopped after {:.0} s: every headline figure is known well enough, the worst is {}",
            window.as_secs_f64(),
            found.worst
        );
        observer.note(&text);
        self.looks.stopped = Some(text);
        true
    }

    /// Who measured all the time that there was says what is still not known well enough.
    pub(super) fn tell_last_look(&mut self, state: StageState, observer: &mut dyn Observer) {
        if let Some(worst) = self.looks.last.take().filter(|_| state == StageState::Completed)
            && self.looks.stopped.is_none()
        {
            observer.note(&format!("measured all the time that it had, and knows {worst} only"));
        }
    }
}
