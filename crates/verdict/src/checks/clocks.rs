//! Check of the drivers' clocks. An offset is corrected for and only told; what is left is how well it is known, what the
//! clock strayed from it since, and how fast it goes: nothing corrects that.

use super::client::ONE_DRIVER;
use crate::evidence::{ClockEvidence, Evidence};
use crate::finding::Finding;
use crate::numbers::{percent, plain};

/// Rates and times of a driver are off by as much as its clock is too fast or too slow.
const DRIFT_WARNS: f64 = 0.001;
const DRIFT_FAILS: f64 = 0.005;
/// Two drivers' times this far apart.
const APART_WARNS_MS: f64 = 10.0;
const APART_FAILS_MS: f64 = 100.0;
/// Who set a wall clock by more than this while the stage ran is told so.
const SET_MS: f64 = 10.0;

impl ClockEvidence {
    /// By how much times of this driver may be off those of the controller.
    fn off_ms(&self) -> f64 {
        // What the comparisons themselves leave open is no straying.
        self.error_ms + self.strayed_ms.map_or(0.0, |strayed_ms| (strayed_ms - 2.0 * self.error_ms).max(0.0))
    }

    /// As much drift as is certain.
    fn certain_drift(&self) -> f64 {
        self.drift.map_or(0.0, |drift| (drift.abs() - self.drift_error).max(0.0))
    }
}

/// V15.
pub(super) fn clocks(evidence: &Evidence) -> Finding {
    if evidence.drivers < 2 {
        return Finding::does_not_apply(ONE_DRIVER);
    }
    let clocks = &evidence.clocks;
    let [first, second, ..] = clocks.as_slice() else {
        return Finding::unknown("the offset between the drivers' clocks was not measured");
    };
    let offset = |a: &&ClockEvidence, b: &&ClockEvidence| a.offset_ms.total_cmp(&b.offset_ms);
    let ahead = clocks.iter().max_by(offset).unwrap_or(first);
    let behind = clocks.iter().min_by(offset).unwrap_or(second);
    let told = format!(
        "the clock of driver {} is {} ms ahead of that of {}, which is corrected for",
        ahead.driver,
        plain(ahead.offset_ms - behind.offset_ms),
        behind.driver
    );
    if let Some(fastest) = clocks.iter().max_by(|a, b| a.certain_drift().total_cmp(&b.certain_drift()))
        && fastest.certain_drift() > DRIFT_WARNS
    {
        let (drift, slow) = (fastest.drift.unwrap_or(0.0), fastest.drift.is_some_and(|drift| drift < 0.0));
        let message = format!(
            "the clock of driver {} goes {} too {} (give or take {}): its times and rates are off by as much, and it strayed \
             {} ms from the others in this stage; {told}",
            fastest.driver,
            percent(drift.abs()),
            if slow { "slow" } else { "fast" },
            percent(fastest.drift_error),
            plain(fastest.strayed_ms.unwrap_or(0.0))
        );
        return Finding::graded(drift.abs(), DRIFT_WARNS, DRIFT_FAILS, String::new, || message);
    }
    let mut off: Vec<f64> = clocks.iter().map(ClockEvidence::off_ms).collect();
    off.sort_by(|a, b| b.total_cmp(a));
    let apart_ms: f64 = off.iter().take(2).sum();
    let course = course_of(clocks);
    let good = || format!("{told}; after that their times agree within {} ms{course}", plain(apart_ms));
    Finding::graded(apart_ms, APART_WARNS_MS, APART_FAILS_MS, good, || {
        format!(
            "times of two drivers may be {} ms apart although their offsets are corrected for: the order of events across \
             drivers is not known below that; {told}{course}",
            plain(apart_ms)
        )
    })
}

/// What is known of the clocks while the stage ran.
fn course_of(clocks: &[ClockEvidence]) -> String {
    if clocks.iter().any(|clock| clock.strayed_ms.is_none()) {
        return "; they were not compared again after the stage".to_owned();
    }
    let set = clocks.iter().find_map(|clock| {
        let by_ms = clock.offset_after_ms? - clock.offset_ms;
        (by_ms.abs() > SET_MS + clock.strayed_ms.unwrap_or(0.0) + 2.0 * clock.error_ms)
            .then_some((clock, by_ms))
    });
    let set = set.map_or_else(String::new, |(clock, by_ms)| {
        format!(
            "; the wall clock of driver {} was set by {} ms meanwhile, which its times do not follow",
            clock.driver,
            plain(by_ms)
        )
    });
    format!(", before and after the stage{set}")
}
