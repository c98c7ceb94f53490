//! How long a run will take: the planned seconds of its stages, and what is left of them.

use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

/// The stages of a run as its workload plans them.
#[derive(Debug, Clone, Default)]
pub struct RunPlan {
    stages: Vec<PlannedStage>,
}

#[derive(Debug, Clone)]
struct PlannedStage {
    id: String,
    /// `None` = counts end it, or it is a search.
    planned_s: Option<f64>,
    is_search: bool,
}

/// What is left of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    /// Seconds, as far as stages say how long they last.
    pub known_s: f64,
    /// Stages that run or are to come of which nobody knows it.
    pub open: u32,
}

impl RunPlan {
    /// As `workload` says.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        let planned = |(index, stage): (usize, &Stage)| PlannedStage {
            id: stage.id(index),
            planned_s: stage
                .planned()
                .filter(|_| stage.search.is_none())
                .map(|planned| planned.as_secs_f64()),
            is_search: stage.search.is_some(),
        };
        Self { stages: workload.stages.iter().enumerate().map(planned).collect() }
    }

    /// Ids and planned seconds by index, up to the first search: its trials are stages of their own, which are not known before.
    pub fn known(&self) -> impl Iterator<Item = (usize, &str, Option<f64>)> {
        let before = self.stages.iter().take_while(|stage| !stage.is_search).enumerate();
        before.map(|(index, stage)| (index, stage.id.as_str(), stage.planned_s))
    }

    /// What is left while the stage before the last `behind` ones runs and says that it will do so for `own_s` more; `None` = it does
    /// not say, and what is planned for it counts.
    #[must_use]
    pub fn left(&self, behind: usize, own_s: Option<f64>) -> Left {
        let first = self.stages.len().saturating_sub(behind);
        let now = first.checked_sub(1).and_then(|at| self.stages.get(at));
        let is_search = now.is_some_and(|stage| stage.is_search);
        let own_s = own_s.or_else(|| now.and_then(|stage| stage.planned_s));
        let later = self.stages.get(first..).unwrap_or_default();
        let open = later.iter().filter(|stage| stage.planned_s.is_none()).count()
            + usize::from(now.is_some() && (own_s.is_none() || is_search));
        let known_s = own_s.unwrap_or(0.0) + later.iter().filter_map(|stage| stage.planned_s).sum::<f64>();
        Left { known_s: known_s.max(0.0), open: u32::try_from(open).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    fn plan(stages: &str) -> RunPlan {
        let text = format!("name: x\nstorage: {{type: mock}}\nstages:\n{stages}");
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        RunPlan::of(&workload.unwrap_or_else(|| panic!("{mistakes:?}")))
    }

    const READS: &str =
        "workers: 1, operations: [{type: read, ratio: 100, containers: c(1), objects: \"u(1,9)\"}]";

    #[test]
    fn what_is_left_is_counted_in_planned_seconds_and_not_in_stages() {
        let long = plan(&format!(
            "  - name: short\n    works: [{{{READS}, runtime: 96s}}]\n  - name: long\n    works: [{{{READS}, runtime: 24h, \
             rampup: 10s}}]\n"
        ));
        // At the end of the first of two stages almost all of a day is left.
        assert_eq!(long.left(1, Some(0.0)), Left { known_s: 86_410.0, open: 0 });
        assert_eq!(long.left(1, None), Left { known_s: 96.0 + 86_410.0, open: 0 });
        assert_eq!(long.left(0, Some(400.0)), Left { known_s: 400.0, open: 0 });
        assert_eq!(long.known().map(|one| one.2).collect::<Vec<_>>(), [Some(96.0), Some(86_410.0)]);
    }

    #[test]
    fn stages_that_counts_end_are_open_unless_they_say_how_long_they_take() {
        let counted = plan(&format!(
            "  - name: fill\n    works: [{{{READS}, total_ops: 1000}}]\n  - name: main\n    works: [{{{READS}, runtime: 60s}}]\n"
        ));
        assert_eq!(counted.left(1, None), Left { known_s: 60.0, open: 1 });
        assert_eq!(counted.left(1, Some(7.0)), Left { known_s: 67.0, open: 0 });
        // More stages behind than are planned are no panic.
        assert_eq!(counted.left(9, None), Left { known_s: 60.0, open: 1 });
    }
}
