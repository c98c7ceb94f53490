//! Works of one stage that share a name. Whatever is looked at here knows a work by its name, so each after the first has a
//! number as well: as one work they would have more in flight than workers, and the sizes and the pace of the first.

use cosmark_archive::StageRecord;
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

/// The stage and the workload with a name of its own for each work; `None` where that is so already, or where the stage does
/// not have what was planned for it.
pub(super) fn apart(
    stage: &StageRecord,
    plan: &Stage,
    workload: &Workload,
) -> Option<(StageRecord, Workload)> {
    let names = names_apart(plan);
    if names.iter().zip(&plan.works).all(|(name, work)| *name == work.name) {
        return None;
    }
    let planned =
        plan.works.iter().flat_map(|work| work.operations.iter().map(move |own| (&work.name, &own.name)));
    if !planned.eq(stage.operations.iter().map(|own| (&own.work, &own.name))) {
        return None;
    }
    let mut stage = stage.clone();
    let own =
        plan.works.iter().zip(&names).flat_map(|(work, name)| work.operations.iter().map(move |_| name));
    for (operation, name) in stage.operations.iter_mut().zip(own) {
        operation.work.clone_from(name);
    }
    let mut workload = workload.clone();
    for planned in &mut workload.stages {
        let names = names_apart(planned);
        for (work, name) in planned.works.iter_mut().zip(names) {
            work.name = name;
        }
    }
    Some((stage, workload))
}

fn names_apart(plan: &Stage) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(plan.works.len());
    for work in &plan.works {
        let numbered = (2..).map(|number: usize| format!("{} ({number})", work.name));
        let mut all = std::iter::once(work.name.clone()).chain(numbered);
        let name = all.find(|name| !names.contains(name)).unwrap_or_default();
        names.push(name);
    }
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use cosmark_metrics::OperationResult;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    fn workload(names: [&str; 3]) -> Workload {
        let work = |name: &str| {
            format!(
                "      - {{name: '{name}', workers: 4, runtime: 60s, operations: [{{type: read, name: a, ratio: 1, \
                 containers: c(1), objects: 'u(1,9)'}}, {{type: head, name: b, ratio: 1, containers: c(1), objects: \
                 'u(1,9)'}}]}}\n"
            )
        };
        let works: String = names.map(work).concat();
        let text = format!("name: s\nstorage: {{type: mock}}\nstages:\n  - name: main\n    works:\n{works}");
        parse_what_is_there(&text, Format::Yaml, &Environment::default()).0.unwrap()
    }

    fn record(workload: &Workload) -> StageRecord {
        let text = serde_json::json!({"id": "s1-main", "name": "main", "state": "completed"});
        let mut stage: StageRecord = serde_json::from_value(text).unwrap();
        for work in &workload.stages[0].works {
            stage.operations.extend(work.operations.iter().map(|own| OperationResult {
                work: work.name.clone(),
                name: own.name.clone(),
                ..OperationResult::default()
            }));
        }
        stage
    }

    #[test]
    fn works_of_one_name_are_told_apart_in_the_record_and_in_the_plan() {
        let planned = workload(["main", "main", "main (2)"]);
        let stage = record(&planned);
        let (own, plan) = apart(&stage, &planned.stages[0], &planned).unwrap();
        let names: Vec<&str> = plan.stages[0].works.iter().map(|work| work.name.as_str()).collect();
        assert_eq!(names, ["main", "main (2)", "main (2) (2)"]);
        let works: Vec<&str> = own.operations.iter().map(|own| own.work.as_str()).collect();
        assert_eq!(works, ["main", "main", "main (2)", "main (2)", "main (2) (2)", "main (2) (2)"]);
        assert!(apart(&own, &plan.stages[0], &plan).is_none(), "once is enough");
    }

    #[test]
    fn works_with_names_of_their_own_and_a_record_of_another_plan_are_left_as_they_are() {
        let usual = workload(["a", "b", "c"]);
        assert!(apart(&record(&usual), &usual.stages[0], &usual).is_none());
        let planned = workload(["main", "main", "main"]);
        let mut stage = record(&planned);
        stage.operations.pop();
        assert!(apart(&stage, &planned.stages[0], &planned).is_none());
    }
}
