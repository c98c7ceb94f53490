//! What one worker asks for next: operation, container, object, size. Every stream of choices is fixed by the run's
//! seed and the worker's number.

use std::sync::Arc;

use cosmark_workload::choose::{ChooseError, Chooser, SizeChooser, below, unit};
use cosmark_workload::model::{Division, Effect, FileSelection, Operation};
use cosmark_workload::selector::IntSelector;
use cosmark_workload::share::{Slice, WorkerIndex};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::content::mix;
use crate::files::FileSet;

/// One request to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Index of the operation in its work.
    pub op: u16,
    /// Number of the container; 0 = none.
    pub container: u64,
    /// Number of the object or file; 0 = none.
    pub object: u64,
    /// Bytes to write; 0 where nothing is written or a file says how much.
    pub size_bytes: u64,
    /// First byte of a ranged read.
    pub first_byte: u64,
    /// The version that is written; `None` = one that no other write of the worker has.
    pub version: Option<u64>,
}

/// The generator of worker `worker` of a work: seeds of neighbours have nothing in common.
#[must_use]
pub fn generator(mission_seed: u64, worker: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(mix(mission_seed ^ mix(u64::from(worker) + 1)))
}

struct OpChoosers {
    cumulative: f64,
    containers: Option<Chooser>,
    objects: Option<Chooser>,
    sizes: Option<SizeChooser>,
    /// Chunks to choose from and their length, for ranged reads.
    range: Option<(u64, u64)>,
}

/// A random mix.
pub struct Mix {
    ops: Vec<OpChoosers>,
}

impl Mix {
    /// The mix of `operations` for `worker`; `files` holds one entry per operation.
    ///
    /// # Errors
    /// When this worker has nothing to choose from.
    pub fn new(
        operations: &[Operation],
        files: &[Option<Arc<FileSet>>],
        worker: WorkerIndex,
    ) -> Result<Self, ChooseError> {
        let mut cumulative = 0.0;
        let mut ops = Vec::with_capacity(operations.len());
        for (operation, files) in operations.iter().zip(files) {
            cumulative += operation.weight;
            ops.push(OpChoosers::new(operation, files.as_deref(), worker, cumulative)?);
        }
        Ok(Self { ops })
    }

    /// Draws an operation by its weight.
    #[inline]
    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u16 {
        if self.ops.len() == 1 {
            return 0;
        }
        let total = self.ops.last().map_or(0.0, |op| op.cumulative);
        let drawn = unit(rng) * total;
        let at = self.ops.iter().position(|op| drawn < op.cumulative).unwrap_or(self.ops.len() - 1);
        u16::try_from(at).unwrap_or(0)
    }

    /// The next request.
    #[inline]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Choice {
        let op = self.draw(rng);
        let choosers = &mut self.ops[usize::from(op)];
        let first_byte = match choosers.range {
            Some((chunks, length)) if chunks > 1 => below(rng, chunks) * length,
            _ => 0,
        };
        Choice {
            op,
            container: choosers.containers.as_mut().map_or(0, |chooser| chooser.pick(rng)),
            object: choosers.objects.as_mut().map_or(0, |chooser| chooser.pick(rng)),
            size_bytes: choosers.sizes.as_mut().map_or(0, |chooser| chooser.pick(rng)),
            first_byte,
            version: None,
        }
    }
}

impl OpChoosers {
    fn new(
        operation: &Operation,
        files: Option<&FileSet>,
        worker: WorkerIndex,
        cumulative: f64,
    ) -> Result<Self, ChooseError> {
        let containers =
            chooser(operation.containers.as_ref(), Slice::of_containers(operation.division), worker)?;
        let objects = match files {
            Some(files) if operation.kind.row().effect != Effect::WritesLocally => {
                let slice = if operation.file_selection == FileSelection::Range {
                    Slice::of_objects(operation.division)
                } else {
                    Slice::Whole
                };
                let numbers = file_numbers(operation.file_selection, files.len());
                Some(Chooser::new(&numbers, slice, worker)?)
            }
            _ => chooser(operation.objects.as_ref(), Slice::of_objects(operation.division), worker)?,
        };
        let sizes = operation.sizes.as_ref().map(|sizes| SizeChooser::new(sizes, worker)).transpose()?;
        let range = operation.range.map(|range| {
            let length = range.chunk_length_bytes.max(1);
            (range.object_length_bytes.map_or(1, |object| object / length), length)
        });
        Ok(Self { cumulative, containers, objects, sizes, range })
    }
}

fn file_numbers(selection: FileSelection, count: u64) -> IntSelector {
    match selection {
        FileSelection::Sequential => IntSelector::Sequential { lo: 1, hi: count },
        FileSelection::Uniform => IntSelector::Uniform { lo: 1, hi: count },
        FileSelection::Range => IntSelector::Range { lo: 1, hi: count },
    }
}

fn chooser(
    selector: Option<&IntSelector>,
    slice: Slice,
    worker: WorkerIndex,
) -> Result<Option<Chooser>, ChooseError> {
    selector.map(|selector| Chooser::new(selector, slice, worker)).transpose()
}

/// Every container, or every object of every container, once: the pass of a special work.
#[derive(Debug)]
pub struct Walk {
    containers: std::ops::RangeInclusive<u64>,
    objects: Option<(u64, u64)>,
    sizes: Option<SizeChooser>,
    at: Option<(u64, u64)>,
}

impl Walk {
    /// The own part of `worker` in the ranges of `operation`.
    ///
    /// # Errors
    /// When sizes cannot be chosen.
    pub fn new(operation: &Operation, worker: WorkerIndex) -> Result<Self, ChooseError> {
        use cosmark_workload::share::own_numbers;
        let effect = operation.kind.row().effect;
        let per_container = matches!(effect, Effect::MakesContainer | Effect::RemovesContainer);
        let (cut_containers, cut_objects) = if per_container {
            (Slice::Own, Slice::Whole)
        } else {
            (Slice::of_containers(operation.division), Slice::of_objects(operation.division))
        };
        // Objects are cut by default; by container only where the user asked for that.
        let cut_objects =
            if operation.division == Division::None && !per_container { Slice::Own } else { cut_objects };
        // As in COSBench, where a preparer and a cleaner without objects do nothing else.
        let is_idle = match effect {
            Effect::MakesContainer => !operation.create_container,
            Effect::RemovesContainer => !operation.delete_container,
            _ => false,
        };
        let containers = operation.containers.as_ref().filter(|_| !is_idle);
        let numbers = containers.and_then(|own| own_numbers(own, cut_containers, worker));
        let objects = match (per_container, &operation.objects) {
            (true, _) | (false, None) => None,
            (false, Some(objects)) => own_numbers(objects, cut_objects, worker),
        };
        let nothing = !per_container && objects.is_none();
        let (first, last) = if nothing { (1, 0) } else { numbers.unwrap_or((1, 0)) };
        let sizes = match effect {
            Effect::Writes => {
                operation.sizes.as_ref().map(|sizes| SizeChooser::new(sizes, worker)).transpose()?
            }
            _ => None,
        };
        Ok(Self { containers: first..=last, objects, sizes, at: None })
    }

    /// The next one; `None` at the end.
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<Choice> {
        let Some((first, last)) = self.objects else {
            return self.containers.next().map(|container| Choice { container, ..Choice::default() });
        };
        let (container, object) = match self.at {
            Some((container, object)) if object < last => (container, object + 1),
            _ => (self.containers.next()?, first),
        };
        self.at = Some((container, object));
        let size_bytes = self.sizes.as_mut().map_or(0, |chooser| chooser.pick(rng));
        Some(Choice { container, object, size_bytes, ..Choice::default() })
    }
}
