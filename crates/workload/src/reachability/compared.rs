//! Which objects that are written are compared byte by byte when they are read.

use crate::model::{Effect, OpKind, Operation, TargetSpec, Work, Workload};
use crate::reachability::areas::{Area, Naming, area};
use crate::reachability::read_sizes::same_target;

/// Reads beyond which no more are looked at.
const MOST_READS: usize = 200;

/// Objects that reads compared with what was written.
#[derive(Debug, Default)]
pub struct Compared(Vec<(TargetSpec, Naming, Area)>);

impl Compared {
    /// Adds what an operation of a work compares: the objects of a read with `verify` or `hash_check`, and nothing of others.
    pub fn add(&mut self, work: &Work, operation: &Operation) {
        let compares = operation.kind == OpKind::Read && (operation.verify || operation.hash_check);
        if let Some((naming, read)) = area(operation).filter(|_| compares && self.0.len() < MOST_READS) {
            self.0.push((work.storage.clone(), naming, read));
        }
    }

    /// Whether all objects that an operation of a work writes are among them.
    #[must_use]
    pub fn covers(&self, work: &Work, operation: &Operation) -> bool {
        let writes = operation.kind.row().effect == Effect::Writes;
        let Some((naming, written)) = area(operation).filter(|_| writes) else { return false };
        let mut left = vec![written];
        for (storage, own, read) in &self.0 {
            if *own == naming && same_target(storage, &work.storage) {
                left = left.into_iter().flat_map(|area| area.without(*read)).collect();
            }
        }
        left.is_empty()
    }
}

/// Whether an operation of a stage (0-based) writes objects that are in no data set, and that nothing in the stages before it
/// writes: what is read of them later is what it wrote, and not what was there.
#[must_use]
pub fn are_new(workload: &Workload, stage: usize, operation: &Operation) -> bool {
    let Some((naming, own)) = area(operation).filter(|_| operation.dataset.is_none()) else { return false };
    let before = workload.stages.get(..stage).unwrap_or_default();
    let mut others = before.iter().flat_map(|stage| &stage.works).flat_map(|work| &work.operations);
    !others.any(|other| {
        other.kind.row().effect == Effect::Writes
            && area(other).is_some_and(|(of, written)| of == naming && written.overlaps(own))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    #[test]
    fn writes_are_covered_by_reads_that_compare_all_of_their_objects() {
        let covers = |reads: &[&str], write: &str| {
            let operations: Vec<String> =
                reads.iter().chain([&write]).map(|one| format!("{{{one}}}")).collect();
            let text = format!(
                "name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - {{name: main, works: [{{name: main, workers: 1, \
                 runtime: 60s, operations: [{}]}}]}}\n",
                operations.join(", ")
            );
            let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
            let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
            let work = &workload.stages[0].works[0];
            let mut compared = Compared::default();
            work.operations.iter().for_each(|operation| compared.add(work, operation));
            work.operations.last().is_some_and(|operation| compared.covers(work, operation))
        };
        const READ: &str = "type: read, containers: c(1), objects: 'u(1,50)', verify: true, ratio: 50";
        const MORE: &str = "type: read, containers: c(1), objects: 'u(51,80)', hash_check: true, ratio: 50";
        const BLIND: &str = "type: read, containers: c(1), objects: 'u(1,80)', ratio: 50";
        let write = |objects: &str| {
            format!("type: write, containers: c(1), objects: '{objects}', sizes: c(1)KB, ratio: 50")
        };
        assert!(covers(&[READ], &write("u(1,50)")) && covers(&[READ, MORE], &write("u(11,80)")));
        assert!(!covers(&[READ, MORE], &write("u(11,81)")), "not all of them");
        assert!(!covers(&[READ], &write("u(51,99)")) && !covers(&[BLIND], &write("u(1,50)")));
        assert!(!covers(&[READ], &format!("{}, object_prefix: other", write("u(1,50)"))));
        assert!(!covers(&[READ], "type: delete, containers: c(1), objects: 'u(1,50)', ratio: 50"));
    }
}
