//! How many bytes of distinct objects the reads of a stage touch, as far as the workload alone tells: what a cache would have to
//! hold.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::selector::SizeSelector;
use crate::model::{OpKind, Stage, WorkKind, Workload};
use crate::reachability::areas::{Area, Naming, area, lying};
use crate::reachability::{Counts, is_write, size};

/// Bytes of the distinct objects that the reads of a stage touch, as far as the workload tells their sizes: `None` when a
/// read's objects are written nowhere in it. `reads` has how many reads each operation made, if that is known.
#[must_use]
pub fn read_bytes(workload: &Workload, stage: usize, counts: Option<Counts<'_>>) -> Option<f64> {
    let stages = workload.stages.get(..=stage)?;
    let mut written = Written::default();
    stages.iter().for_each(|stage| written.add(stage));
    written.read_bytes(stage, stages.last()?, counts)
}

/// The same of each stage before anything was done.
#[must_use]
pub fn read_bytes_of_stages(workload: &Workload) -> Vec<Option<f64>> {
    let mut written = Written::default();
    let stages = workload.stages.iter().enumerate();
    stages
        .map(|(index, stage)| {
            written.add(stage);
            written.read_bytes(index, stage, None)
        })
        .collect()
}

/// What was written under each naming so far: where, and how large on average.
#[derive(Default)]
struct Written(BTreeMap<Naming, Vec<(Area, f64)>>);

impl Written {
    /// Writes under one naming beyond which their sizes are not told apart by place.
    const MOST: usize = 200;

    fn add(&mut self, stage: &Stage) {
        let operations = stage.works.iter().flat_map(|work| &work.operations);
        for operation in operations.clone() {
            if let (Some((naming, area)), Some(used)) = (lying(operation), &operation.dataset) {
                let there = self.0.entry(naming).or_default();
                let one = (area, used.sizes.mean_bytes());
                if there.len() < Self::MOST && !there.contains(&one) {
                    there.push(one);
                }
            }
        }
        for operation in operations.filter(|operation| is_write(operation.kind)) {
            let Some((naming, area)) = area(operation) else { continue };
            let Some(mean) = operation.sizes.as_ref().map(SizeSelector::mean_bytes) else { continue };
            let writes = self.0.entry(naming).or_default();
            if writes.len() < Self::MOST && !writes.contains(&(area, mean)) {
                writes.push((area, mean));
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "lengths fit 53 bits")]
    fn read_bytes(&self, index: usize, stage: &Stage, counts: Option<Counts<'_>>) -> Option<f64> {
        let mut total = 0.0;
        let mut seen = BTreeSet::new();
        let works = stage.works.iter().enumerate().filter(|(_, work)| work.kind == WorkKind::Normal);
        for (work_index, work) in works {
            let reads = work.operations.iter().enumerate().filter(|(_, o)| o.kind == OpKind::Read);
            for (op_index, operation) in reads {
                let (naming, whole) = area(operation)?;
                if !seen.insert((naming.clone(), whole.containers, whole.objects)) {
                    continue;
                }
                let bytes = self.mean_size(&naming, whole)?;
                let bytes = operation.range.map_or(bytes, |range| bytes.max(range.chunk_length_bytes as f64));
                let objects = size(whole);
                let calls = counts.and_then(|counts| counts(index, work_index, op_index));
                total += calls.map_or(objects, |calls| objects * (1.0 - (-calls / objects).exp())) * bytes;
            }
        }
        Some(total)
    }

    #[expect(clippy::cast_precision_loss, reason = "a few operations")]
    fn mean_size(&self, naming: &Naming, wanted: Area) -> Option<f64> {
        let writes = self.0.get(naming)?;
        let sizes: Vec<f64> =
            writes.iter().filter(|(area, _)| area.overlaps(wanted)).map(|(_, mean)| *mean).collect();
        (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / sizes.len() as f64)
    }
}
