//! Works of one stage that share a name, and operations of one work that do. Whatever is looked at here knows them by their
//! names, so each after the first has a number as well: as one work they would have more in flight than workers, and the
//! sizes and the pace of the first.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::StageRecord;
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

/// The stage and the workload with names of their own for each work and operation; `None` where that is so already, or where
/// the stage does not have what was planned for it.
pub(super) fn apart(
    stage: &StageRecord,
    plan: &Stage,
    workload: &Workload,
) -> Option<(StageRecord, Workload)> {
    let mut own = plan.clone();
    give_names(&mut own);
    if own == *plan {
        return None;
    }
    let planned = names_of(plan);
    if !planned.eq(stage.operations.iter().map(|result| (&result.work, &result.name))) {
        return None;
    }
    let mut stage = stage.clone();
    for (result, (work, name)) in stage.operations.iter_mut().zip(names_of(&own)) {
        result.work.clone_from(work);
        result.name.clone_from(name);
    }
    let mut workload = workload.clone();
    workload.stages.iter_mut().for_each(give_names);
    Some((stage, workload))
}

/// Names of each operation's work and of itself, in order.
fn names_of(stage: &Stage) -> impl Iterator<Item = (&String, &String)> {
    stage.works.iter().flat_map(|work| work.operations.iter().map(move |own| (&work.name, &own.name)))
}

fn give_names(stage: &mut Stage) {
    give_numbers(stage.works.iter_mut().map(|work| &mut work.name));
    for work in &mut stage.works {
        give_numbers(work.operations.iter_mut().map(|operation| &mut operation.name));
    }
}

/// Puts a number behind each name that was there before. A workload may have thousands of one name.
fn give_numbers<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        if taken.insert(name.clone()) {
            continue;
        }
        let number = numbers.entry(name.clone()).or_insert(1);
        *name = loop {
            *number += 1;
            let own = format!("{name} ({number})");
            if taken.insert(own.clone()) {
                break own;
            }
        };
    }
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
    fn works_of_one_name_are_separate_in_the_record_and_in_the_plan() {
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
    fn operations_of_one_name_are_separate_too() {
        let mut planned = workload(["main", "more", "most"]);
        planned.stages[0].works[1].operations[1].name = "a".to_owned();
        let (own, plan) = apart(&record(&planned), &planned.stages[0], &planned).unwrap();
        let names: Vec<&str> = own.operations.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a", "a (2)", "a", "b"]);
        assert_eq!(plan.stages[0].works[1].operations[1].name, "a (2)");
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

    #[test]
    fn thousands_of_one_name_take_no_time() {
        let mut names = vec!["read".to_owned(); 60_000];
        names[7] = "read (9)".to_owned();
        let began = std::time::Instant::now();
        give_numbers(names.iter_mut());
        assert_eq!(
            [&names[0], &names[6], &names[7], &names[8], &names[9]].map(String::as_str),
            ["read", "read (7)", "read (9)", "read (8)", "read (10)"]
        );
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        // Each held against each other one takes minutes.
        assert!(began.elapsed() < std::time::Duration::from_secs(45), "{:?}", began.elapsed());
    }
}
