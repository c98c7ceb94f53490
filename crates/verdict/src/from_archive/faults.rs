//! What failed while faults were made on purpose.

use cosmark_archive::{Run, StageRecord};

use super::measured;
use crate::evidence::FaultEvidence;

/// Failures of the measured windows of a stage in the slots of faults that were proved to be there, in whole intervals; `None`
/// where no fault was. Where slots count their failures by the second it is no more than these.
pub(super) fn in_slots(run: &Run, stage: &StageRecord) -> Option<FaultEvidence> {
    let landed = || stage.faults.iter().flat_map(|fault| &fault.slots).filter(|slot| slot.landed_s.is_some());
    landed().next()?;
    let tags: Vec<&str> = measured(stage).map(|operation| operation.tag.as_str()).collect();
    let mut found = FaultEvidence::default();
    let read = run.intervals(|line| {
        let is_in_one = landed().any(|slot| line.start_s < slot.to_s && line.end_s > slot.from_s);
        if !is_in_one
            || line.stage != stage.id
            || line.phase != "window"
            || !tags.contains(&line.tag.as_str())
        {
            return;
        }
        found.failed = found.failed.saturating_add(line.failed);
        for (class, count) in line.errors {
            let own = found.errors.entry(class).or_default();
            *own = own.saturating_add(count);
        }
    });
    // A file that is damaged is read up to there.
    drop(read);
    let counted: Option<Vec<u64>> = landed().map(|slot| slot.failed_operations).collect();
    if let Some(most) = counted.map(|counts| counts.into_iter().fold(0, u64::saturating_add)) {
        found.failed = found.failed.min(most);
        found.errors.values_mut().for_each(|count| *count = (*count).min(most));
    }
    Some(found)
}
