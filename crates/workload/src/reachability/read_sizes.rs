//! How long the objects are that a read finds, as far as the workload alone tells.

use crate::model::{Effect, OpKind, TargetSpec, WorkKind, Workload};
use crate::reachability::areas::{Area, area};

/// Operations of a workload beyond which the lengths of objects are not followed.
pub(super) const MOST_FOLLOWED: usize = 5_000;

/// Smallest and largest size in bytes of the objects that operation `op` of work `work` of stage `stage` (all 0-based) reads.
/// `None` where the workload cannot tell: it reads parts of objects, or not all of them are prepared before, or something else
/// than made content of a given size is written over them.
#[must_use]
pub fn sizes_read(workload: &Workload, stage: usize, work: usize, op: usize) -> Option<(u64, u64)> {
    let read = workload.stages.get(stage)?.works.get(work)?.operations.get(op)?;
    if read.kind == OpKind::Read && read.range.is_none() {
        object_sizes(workload, stage, work, op)
    } else {
        None
    }
}

/// The objects of one operation of a stage can only be so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectLength {
    /// Index of the work in its stage.
    pub work: usize,
    /// Index of the operation in its work.
    pub op: usize,
    /// Bytes of the shortest.
    pub least_bytes: u64,
    /// Bytes of the longest.
    pub most_bytes: u64,
}

/// What the workload knows about the lengths of the objects that the stage's reads and heads find; nothing for stages beyond
/// some thousands of operations.
#[must_use]
pub fn lengths_of_stage(workload: &Workload, stage: usize) -> Vec<ObjectLength> {
    let Some(stages) = workload.stages.get(..=stage) else { return Vec::new() };
    let operations: usize =
        stages.iter().flat_map(|stage| &stage.works).map(|work| work.operations.len()).sum();
    let Some(own) = stages.last().filter(|_| operations <= MOST_FOLLOWED) else { return Vec::new() };
    let all = own
        .works
        .iter()
        .enumerate()
        .flat_map(|(work, own)| (0..own.operations.len()).map(move |op| (work, op)));
    all.filter_map(|(work, op)| {
        let (least_bytes, most_bytes) = object_sizes(workload, stage, work, op)?;
        Some(ObjectLength { work, op, least_bytes, most_bytes })
    })
    .collect()
}

/// Smallest and largest size of the objects that a read, of wholes or parts, or a head finds.
fn object_sizes(workload: &Workload, stage: usize, work: usize, op: usize) -> Option<(u64, u64)> {
    let reader = workload.stages.get(stage)?.works.get(work)?;
    let read = reader.operations.get(op).filter(|read| matches!(read.kind, OpKind::Read | OpKind::Head))?;
    let (naming, wanted) = area(read)?;
    let (mut uncovered, mut sizes) = (vec![wanted], None::<(u64, u64)>);
    for (index, own) in workload.stages.iter().enumerate().take(stage + 1) {
        for work in &own.works {
            for operation in &work.operations {
                if matches!(operation.kind.row().effect, Effect::WritesFiles | Effect::Copies) {
                    return None;
                }
                let Some((_, written)) = area(operation)
                    .filter(|(own, written)| *own == naming && written.overlaps(wanted))
                    .filter(|_| writes(operation.kind))
                else {
                    continue;
                };
                // Two ways to what may be one store: whose object it is cannot be told.
                if !same_target(&work.storage, &reader.storage) {
                    return None;
                }
                let (lo, hi) = operation.sizes.as_ref()?.bounds_bytes();
                sizes = Some(sizes.map_or((lo, hi), |(least, most)| (least.min(lo), most.max(hi))));
                if work.kind == WorkKind::Prepare && index < stage {
                    uncovered = uncovered.into_iter().flat_map(|area: Area| area.without(written)).collect();
                }
            }
        }
    }
    sizes.filter(|_| uncovered.is_empty())
}

fn writes(kind: OpKind) -> bool {
    kind.row().effect == Effect::Writes
}

/// Whether two entries of a workload name the same with the same keys.
pub(super) fn same_target(one: &TargetSpec, other: &TargetSpec) -> bool {
    let keys = |target: &TargetSpec| target.config.entries.len();
    let pairs = one.config.entries.iter().zip(&other.config.entries);
    one.kind == other.kind
        && keys(one) == keys(other)
        && pairs.into_iter().all(|(one, other)| one.key == other.key && one.value == other.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    fn sizes(prepare: &str, operations: &str) -> Option<(u64, u64)> {
        let text = format!(
            "name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - {{name: prepare, works: [{{type: prepare, \
             workers: 1, containers: 'r(1,2)', {prepare}}}]}}\n  - {{name: main, works: [{{name: main, workers: 1, runtime: \
             60s, operations: [{operations}]}}]}}\n"
        );
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        sizes_read(&workload.unwrap_or_else(|| panic!("{mistakes:?}")), 1, 0, 0)
    }

    const READ: &str = "{type: read, ratio: 80, containers: 'u(1,2)', objects: 'u(1,100)'}";

    #[test]
    fn objects_that_are_prepared_are_as_long_as_prepared_or_written_again() {
        assert_eq!(sizes("objects: 'r(1,100)', sizes: c(4)KiB", READ), Some((4096, 4096)));
        let again = "{type: write, ratio: 20, containers: c(1), objects: 'u(50,60)', sizes: 'u(1,8)KiB'}";
        assert_eq!(
            sizes("objects: 'r(1,100)', sizes: c(4)KiB", &format!("{READ}, {again}")),
            Some((1024, 8192))
        );
        let elsewhere =
            "{type: write, ratio: 20, containers: c(1), objects: 'u(101,200)', sizes: 'u(1,8)KiB'}";
        assert_eq!(
            sizes("objects: 'r(1,100)', sizes: c(4)KiB", &format!("{READ}, {elsewhere}")),
            Some((4096, 4096))
        );
    }

    #[test]
    fn what_may_have_been_there_before_has_any_length() {
        assert_eq!(sizes("objects: 'r(1,99)', sizes: c(4)KiB", READ), None);
        assert_eq!(sizes("objects: 'r(1,100)', object_prefix: other, sizes: c(4)KiB", READ), None);
        let part = "{type: read, containers: 'u(1,2)', objects: 'u(1,100)', range_read: true, object_length: 4KiB, \
                    chunk_length: 1KiB}";
        assert_eq!(sizes("objects: 'r(1,100)', sizes: c(4)KiB", part), None);
    }

    #[test]
    fn lengths_are_known_of_parts_and_heads_and_not_across_two_ways_to_a_store() {
        let lengths = |storage: &str| {
            let text = format!(
                "name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - {{name: p, works: [{{type: prepare, workers: 1, \
                 containers: 'r(1,2)', objects: 'r(1,100)', sizes: c(4)KiB}}]}}\n  - {{name: main, works: [{{name: main, workers: 1, \
                 runtime: 60s, operations: [{{type: read, containers: c(1), objects: 'u(1,9)', range_read: true, chunk_length: \
                 1KiB}}, {{type: head, containers: c(1), objects: 'u(1,9)'}}, {{type: delete, containers: c(1), objects: \
                 'u(20,30)'}}]}}, {{name: other, {storage} workers: 1, runtime: 60s, operations: [{{type: write, containers: c(1), \
                 objects: 'u(1,9)', sizes: c(1)KiB}}]}}]}}\n"
            );
            let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
            lengths_of_stage(&workload.unwrap_or_else(|| panic!("{mistakes:?}")), 1)
        };
        let length = |op| ObjectLength { work: 0, op, least_bytes: 1024, most_bytes: 4096 };
        assert_eq!(lengths(""), [length(0), length(1)]);
        assert_eq!(lengths("storage: {type: s3, endpoint: 'http://other-gateway'},"), []);
    }
}
