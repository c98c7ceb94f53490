//! What the workload planned for the stages of a run: of a search it has one stage, and the record one for each trial.

use std::borrow::Cow;

use cosmark_archive::StageRecord;
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

/// Which stage of the workload each stage of the record is of, in the order of the record.
#[derive(Debug, Default)]
pub struct Places(Vec<Option<usize>>);

impl Places {
    /// Without a search they stand in the same order; with one, names tell.
    #[must_use]
    pub fn of(stages: &[StageRecord], workload: &Workload) -> Self {
        let planned = &workload.stages;
        if planned.iter().all(|plan| plan.search.is_none()) {
            return Self((0..stages.len()).map(|at| Some(at).filter(|at| *at < planned.len())).collect());
        }
        let mut from = 0;
        let place = |stage: &StageRecord| {
            let at = (from..planned.len())
                .find(|at| planned.get(*at).is_some_and(|plan| holds(plan, &stage.name)))?;
            // Further trials follow.
            from = if planned.get(at).is_some_and(|plan| plan.search.is_some()) { at } else { at + 1 };
            Some(at)
        };
        Self(stages.iter().map(place).collect())
    }

    /// The place in the workload of the stage at 0-based `index` of the record.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<usize> {
        self.0.get(index).copied().flatten()
    }

    /// The first stage of the record that is of the stage at 0-based `at` of the workload.
    #[must_use]
    pub fn first_of(&self, at: usize) -> Option<usize> {
        self.0.iter().position(|own| *own == Some(at))
    }

    /// What was planned for a stage of the record; for a trial with its own load.
    #[must_use]
    pub fn plan<'a>(
        &self,
        index: usize,
        stage: &StageRecord,
        workload: &'a Workload,
    ) -> Option<Cow<'a, Stage>> {
        let plan = workload.stages.get(self.get(index)?)?;
        let Some(search) = &plan.search else { return Some(Cow::Borrowed(plan)) };
        let (load, suffix) = search.load_of(plan, &stage.name)?;
        Some(Cow::Owned(search.trial(plan, load, suffix)))
    }
}

fn holds(plan: &Stage, name: &str) -> bool {
    match &plan.search {
        Some(search) => search.load_of(plan, name).is_some(),
        None => plan.name == name,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use cosmark_workload::schedule::due_in_window;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    const TEXT: &str = "name: s
storage: {type: mock}
stages:
  - {name: prepare, works: [{type: prepare, workers: 1, objects: 'r(1,9)'}]}
  - name: main
    search: {over: rate, from: 150, to: 700}
    thresholds: ['p95 <= 10 ms']
    works: [{name: main, workers: 4, runtime: 4s, rate: 1/s, operations: [{type: read, objects: 'u(1,9)'}]}]
  - name: main-soak
    works: [{name: main, workers: 4, runtime: 600s, rate: 7/s, operations: [{type: read, objects: 'u(1,9)'}]}]
";

    fn record(name: &str) -> StageRecord {
        let text = serde_json::json!({"id": format!("s1-{name}"), "name": name, "state": "completed"});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_trial_has_the_plan_of_its_search_with_its_own_load_and_what_follows_has_its_own() {
        let workload = parse_what_is_there(TEXT, Format::Yaml, &Environment::default()).0.unwrap();
        let names =
            ["prepare", "main-rate150", "main-rate300-2", "main-rate262.5-confirm1", "main-soak", "odd"];
        let stages: Vec<StageRecord> = names.map(record).into();
        let places = Places::of(&stages, &workload);
        let found: Vec<Option<usize>> = (0..names.len()).map(|at| places.get(at)).collect();
        assert_eq!(found, [Some(0), Some(1), Some(1), Some(1), Some(2), None]);
        assert_eq!((places.first_of(1), places.first_of(2), places.first_of(3)), (Some(1), Some(4), None));
        let due = |at: usize| {
            let plan = places.plan(at, &stages[at], &workload).unwrap();
            assert_eq!(plan.name, names[at]);
            due_in_window(&plan.works[0]).unwrap().count.round()
        };
        assert_eq!([1, 2, 3, 4].map(due), [600.0, 1200.0, 1050.0, 4200.0]);
        // Trials of 4 s have sixteen intervals, as they were run.
        let interval_ms = |at: usize| {
            let plan = places.plan(at, &stages[at], &workload).unwrap();
            plan.interval().as_millis()
        };
        assert_eq!([1, 3, 4].map(interval_ms), [250, 250, 5000]);
    }

    #[test]
    fn without_a_search_the_order_tells() {
        let text = TEXT.replace("    search: {over: rate, from: 150, to: 700}\n", "");
        let workload = parse_what_is_there(&text, Format::Yaml, &Environment::default()).0.unwrap();
        let stages: Vec<StageRecord> = ["prepare", "main-r1", "main-r2", "more"].map(record).into();
        let places = Places::of(&stages, &workload);
        assert_eq!([0, 1, 2, 3].map(|at| places.get(at)), [Some(0), Some(1), Some(2), None]);
    }
}
