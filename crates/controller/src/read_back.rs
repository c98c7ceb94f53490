//! When a run reads back what the store acknowledged: after its load and before the first of the stages at its end that only
//! delete. What is read and how is known to whoever can speak to the store; the controller asks for it and keeps what came out.

use std::time::Duration;

use cosmark_archive::DurabilityRecord;
use cosmark_workload::model::{Stage, Work, WorkKind, Workload};

use crate::job::{RunJob, StopLevel};
use crate::observe::Observer;

/// The ledger may take so long to be on the disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// Index of the stage before which it is done: the first of those at the end that only delete; their number where there is none.
pub(crate) fn due_before(workload: &Workload) -> Option<usize> {
    let deletes = |work: &Work| matches!(work.kind, WorkKind::Cleanup | WorkKind::Dispose);
    let only_deletes = |stage: &&Stage| !stage.works.is_empty() && stage.works.iter().all(deletes);
    let at_end = workload.stages.iter().rev().take_while(only_deletes).count();
    workload.durability.then(|| workload.stages.len() - at_end)
}

/// Does it, and says how it came out.
pub(crate) async fn read_back(job: &mut RunJob<'_>, observer: &mut dyn Observer) -> Option<DurabilityRecord> {
    let id = job.dir.record().id.clone();
    let later = format!("`cosmark verify-data {id}` reads back what was acknowledged");
    if job.reads_back.is_none() {
        observer.note(&format!("nothing is read back here: {later}"));
        return None;
    }
    if *job.stop.borrow() != StopLevel::Run {
        observer.note(&format!("the run is being ended: {later}"));
        return None;
    }
    let flushed = job.operation_log.as_ref().and_then(|(log, _)| log.flush_ledger(PATIENCE));
    let Some(missing) = flushed else {
        observer.note("the ledger could not be written, so nothing can be read back");
        return None;
    };
    let record = job.dir.record();
    let in_doubt = missing > 0 || record.stages.iter().any(|stage| !stage.missing.is_empty());
    let begun = |stage: &&cosmark_archive::StageRecord| stage.started.is_some();
    let after = record.stages.iter().rfind(begun).map(|stage| stage.id.clone());
    let path = job.dir.path().to_owned();
    let stop = job.stop.clone();
    let reads_back = job.reads_back.as_mut()?;
    match reads_back.read_back(&path, in_doubt, stop, observer).await {
        Ok(durability) => Some(DurabilityRecord { after, ..durability }),
        Err(problem) => {
            observer.note(&format!("what was acknowledged was not read back: {problem}; {later}"));
            Some(DurabilityRecord { after, note: Some(problem), ..DurabilityRecord::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    fn due(durability: &str, stages: &str) -> Option<usize> {
        let text = format!("name: x\n{durability}storage: {{type: mock}}\nstages:\n{stages}");
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        due_before(&workload.unwrap_or_else(|| panic!("{mistakes:?}")))
    }

    #[test]
    fn what_was_acknowledged_is_read_back_before_it_is_deleted_and_only_when_asked_for() {
        let of = |kind: &str| {
            format!(
                "- {{name: {kind}, works: [{{type: {kind}, containers: c(1), objects: 'r(1,2)', sizes: c(1)KB}}]}}\n"
            )
        };
        let (prepare, cleanup) = (of("prepare"), of("cleanup"));
        let dispose = "- {name: dispose, works: [{type: dispose, containers: c(1)}]}\n";
        assert_eq!(due("", &prepare), None);
        assert_eq!(due("check: durability\n", &prepare), Some(1));
        assert_eq!(due("check: durability\n", &format!("{prepare}{cleanup}{dispose}")), Some(1));
        assert_eq!(due("check: durability\n", &format!("{cleanup}{prepare}{cleanup}")), Some(2));
    }
}
