//! Which writes of a stage were found again by reads that compared what they got: in the stage, or in those right behind it.

use cosmark_archive::{OperationResult, StageRecord};
use cosmark_workload::Workload;
use cosmark_workload::compared::{Compared, are_new};
use cosmark_workload::model::{Effect, Operation, Stage, Work};

use super::planned::Places;

/// Stages behind a stage beyond which no more are looked at.
const MOST_BEHIND: usize = 20;

/// Of each operation of a stage, in the order of its record, whether it wrote objects that were not there before, and all of
/// them were compared; nothing where nobody can say. Bytes of what was there before an overwrite are right, too.
pub(super) fn writes_compared(
    stages: &[StageRecord],
    places: &Places,
    (index, stage): (usize, &StageRecord),
    workload: &Workload,
) -> Vec<bool> {
    if !stage.operations.iter().any(|operation| operation.ok > 0 && operation.sample.contains("write")) {
        return Vec::new();
    }
    let own =
        places.get(index).filter(|own| workload.stages.get(*own).is_some_and(|plan| plan.search.is_none()));
    // The trials of a search overwrite what those before them wrote.
    let Some((own, plan)) = own.zip(places.plan(index, stage, workload)) else { return Vec::new() };
    let mut compared = Compared::default();
    add(&mut compared, &plan, stage);
    for (at, behind) in stages.iter().enumerate().skip(index + 1).take(MOST_BEHIND) {
        // What was written again, or is gone, is not what was written here.
        let Some(plan) = places.plan(at, behind, workload).filter(|plan| only_looks(plan)) else { break };
        add(&mut compared, &plan, behind);
    }
    let is_compared = |(work, operation, _): (&Work, &Operation, &OperationResult)| {
        compared.covers(work, operation) && are_new(workload, own, operation)
    };
    planned(&plan, stage).map(is_compared).collect()
}

/// Adds what reads of a stage compared, where they compared anything.
fn add(compared: &mut Compared, plan: &Stage, stage: &StageRecord) {
    for (work, operation, result) in planned(plan, stage) {
        if result.checked > 0 {
            compared.add(work, operation);
        }
    }
}

fn only_looks(plan: &Stage) -> bool {
    let mut operations = plan.works.iter().flat_map(|work| &work.operations);
    operations.all(|operation| {
        matches!(operation.kind.row().effect, Effect::Reads | Effect::Touches | Effect::Lists)
    })
}

/// Each operation that was planned, with what came of it; nothing where the record has others.
fn planned<'a>(
    plan: &'a Stage,
    stage: &'a StageRecord,
) -> impl Iterator<Item = (&'a Work, &'a Operation, &'a OperationResult)> {
    let count: usize = plan.works.iter().map(|work| work.operations.len()).sum();
    let results: &'a [OperationResult] =
        if count == stage.operations.len() { &stage.operations } else { &[] };
    let operations =
        plan.works.iter().flat_map(|work| work.operations.iter().map(move |operation| (work, operation)));
    operations.zip(results).map(|((work, operation), result)| (work, operation, result))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    const WRITE: &str = "{type: write, containers: c(1), objects: 'u(1,9)', sizes: c(1)KB, ratio: 50}";
    const READ: &str = "{type: read, containers: c(1), objects: 'u(1,9)', verify: true, ratio: 50}";
    const DELETE: &str = "{type: delete, containers: c(1), objects: 'u(1,9)', ratio: 50}";

    /// Of the stage at `own` of these; reads that verify have compared so many.
    fn of(own: usize, stages: &[&[&str]], checked: u64) -> Vec<bool> {
        let texts = stages.iter().enumerate().map(|(at, operations)| {
            format!(
                "  - {{name: s{at}, works: [{{name: main, workers: 1, runtime: 60s, operations: [{}]}}]}}\n",
                operations.join(", ")
            )
        });
        let text = format!(
            "name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n{}",
            texts.collect::<String>()
        );
        let workload = parse_what_is_there(&text, Format::Yaml, &Environment::default()).0.unwrap();
        let record = |plan: &Stage| {
            let text = serde_json::json!({"id": plan.name, "name": plan.name, "state": "completed"});
            let mut record: StageRecord = serde_json::from_value(text).unwrap();
            let result = |operation: &Operation| OperationResult {
                sample: operation.kind.sample_word().to_owned(),
                ok: 100,
                checked: if operation.verify { checked } else { 0 },
                ..OperationResult::default()
            };
            record.operations = plan.works[0].operations.iter().map(result).collect();
            record
        };
        let records: Vec<StageRecord> = workload.stages.iter().map(record).collect();
        let places = Places::of(&records, &workload);
        writes_compared(&records, &places, (own, &records[own]), &workload)
    }

    #[test]
    fn writes_count_as_compared_where_reads_beside_or_right_behind_them_compared_their_objects() {
        assert_eq!(of(0, &[&[READ, WRITE]], 100), [false, true]);
        assert_eq!(of(0, &[&[WRITE], &[READ]], 100), [true]);
        assert_eq!(of(0, &[&[READ, WRITE]], 0), [false, false], "none was compared");
        assert_eq!(of(0, &[&[WRITE]], 100), [false]);
        assert_eq!(of(0, &[&[WRITE], &[DELETE], &[READ]], 100), [false], "it is gone by then");
        assert_eq!(
            of(1, &[&[WRITE], &[READ, WRITE]], 100),
            [false, false],
            "the first stage may have written it"
        );
        assert_eq!(of(0, &[&[READ]], 100), Vec::<bool>::new(), "nothing was written");
    }
}
