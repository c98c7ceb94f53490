//! What each driver did, out of the tables that 0.4.2.c4 left of them: their tasks are named nowhere, only their order says of
//! which stage and work they are. What does not add up to the results is left out.

use cosmark_metrics::{DriverResult, Latencies, PartResult};

use super::{CosbenchOperation, CosbenchRun, WorkerShare};

/// By stage and operation, what each driver did; empty where there are not several, where a table is missing or damaged, and
/// where the drivers together did not do what the results say.
pub fn by_driver(run: &CosbenchRun) -> Vec<Vec<Vec<DriverResult>>> {
    let mut shares: Vec<Vec<Vec<DriverResult>>> =
        run.stages.iter().map(|stage| vec![Vec::new(); stage.operations.len()]).collect();
    if run.drivers.len() < 2 {
        return shares;
    }
    for driver in &run.drivers {
        let Ok(tasks) = run.tasks(driver) else { continue };
        let mut next = Place::default();
        for task in tasks {
            let Some(place) = next.find(run, &task) else { break };
            next = Place { stage: place.stage, operation: place.operation + task.len() };
            for (at, share) in task.iter().enumerate() {
                let of = shares.get_mut(place.stage).and_then(|stage| stage.get_mut(place.operation + at));
                if let Some(of) = of {
                    of.push(result(driver, share));
                }
            }
        }
    }
    for (stage, of) in run.stages.iter().zip(&mut shares) {
        for (operation, drivers) in stage.operations.iter().zip(of) {
            let sum = |part: fn(&PartResult) -> u64| -> u128 {
                drivers.iter().map(|one| u128::from(part(&one.sums))).sum()
            };
            let adds_up = sum(|part| part.ok) == u128::from(operation.count)
                && sum(|part| part.bytes) == u128::from(operation.bytes);
            if operation.count == 0 || !adds_up {
                drivers.clear();
            }
        }
    }
    shares
}

/// From where on the tasks of a driver have not been placed.
#[derive(Default)]
struct Place {
    stage: usize,
    operation: usize,
}

impl Place {
    /// The next operations of one stage that are those of the task and did not do less.
    fn find(&self, run: &CosbenchRun, task: &[WorkerShare]) -> Option<Self> {
        for (number, stage) in run.stages.iter().enumerate().skip(self.stage) {
            let first = if number == self.stage { self.operation } else { 0 };
            for operation in first..stage.operations.len() {
                let of = stage.operations.get(operation..operation + task.len());
                if of.is_some_and(|of| of.iter().zip(task).all(|(whole, part)| is_part(whole, part))) {
                    return Some(Self { stage: number, operation });
                }
            }
        }
        None
    }
}

fn is_part(whole: &CosbenchOperation, part: &WorkerShare) -> bool {
    whole.op == part.op && part.count <= whole.count && part.bytes <= whole.bytes
}

fn result(driver: &str, share: &WorkerShare) -> DriverResult {
    let times = |mean| Latencies { count: share.count, mean, ..Latencies::default() };
    let sums = PartResult {
        ok: share.count,
        failed: super::figures::failures(share.count, share.success_ratio).unwrap_or(0),
        bytes: share.bytes,
        response_ms: times(share.response_ms),
        first_byte_ms: times(share.processing_ms),
        ..PartResult::default()
    };
    DriverResult { driver: driver.to_owned(), workers: 0, sums }
}
