//! After a stage: how far the drivers' clocks drifted while it ran.

use std::time::Duration;

use super::StageRun;
use crate::job::StopLevel;

/// All of them together; a driver that does not answer by then is left out.
const PATIENCE: Duration = Duration::from_millis(1500);

impl StageRun<'_, '_> {
    /// Asks every driver that had a part and is still there. Whoever wants the run to end does not wait for this.
    pub(super) async fn compare_clocks_again(&mut self) {
        if *self.job.stop.borrow() == StopLevel::Abort {
            return;
        }
        let step = self.step;
        let asked: Vec<_> = (self.job.drivers.iter_mut().zip(&self.peers))
            .map(
                |(link, peer)| {
                    if peer.was_compared() && !peer.is_lost { link.compare_again(step) } else { None }
                },
            )
            .collect();
        let until = tokio::time::Instant::now() + PATIENCE;
        for (peer, answer) in self.peers.iter_mut().zip(asked) {
            let Some(mut answer) = answer else { continue };
            if let Ok(Some(drift)) = tokio::time::timeout_at(until, answer.recv()).await {
                peer.set_clock_drift(drift);
            }
        }
    }
}
