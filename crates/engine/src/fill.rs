//! The pass of a data set: which object comes next, how long it is and which version is written follow from the data set's
//! numbers alone, so a pass that was cut off goes on from what is left, by any number of workers and drivers.

use std::sync::Arc;

use cosmark_workload::FillPass;
use cosmark_workload::choose::{ChooseError, SizeChooser};
use cosmark_workload::dataset::cell_of;
use cosmark_workload::model::{Effect, Operation};
use cosmark_workload::share::WorkerIndex;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::choice::Choice;

/// One worker's part: of the positions that are left, in order, every so-many-th.
#[derive(Debug)]
pub struct FillWalk {
    pass: Arc<FillPass>,
    seed: u64,
    first_container: u64,
    containers: u64,
    sizes: Option<SizeChooser>,
    /// Index of the stretch that is left, and how far into it.
    stretch: usize,
    offset: u64,
    step: u64,
}

impl FillWalk {
    /// The part of `worker` in what `pass` leaves to do; `seed` holds where the pass has none.
    ///
    /// # Errors
    /// When sizes cannot be chosen.
    pub fn new(
        pass: &Arc<FillPass>,
        operation: &Operation,
        seed: u64,
        worker: WorkerIndex,
    ) -> Result<Self, ChooseError> {
        let writes = operation.kind.row().effect == Effect::Writes;
        let sizes = operation.sizes.as_ref().filter(|_| writes);
        let (first_container, containers) =
            operation.containers.as_ref().map_or((1, 1), |numbers| (numbers.bounds().0, numbers.count()));
        Ok(Self {
            seed: pass.seed.unwrap_or(seed),
            first_container,
            containers,
            sizes: sizes
                .map(|sizes| SizeChooser::new(sizes, WorkerIndex { index: 0, total: 1 }))
                .transpose()?,
            stretch: 0,
            offset: u64::from(worker.index),
            step: u64::from(worker.total.max(1)),
            pass: Arc::clone(pass),
        })
    }

    /// The next one; `None` at the end.
    pub fn advance(&mut self) -> Option<Choice> {
        let position = self.position()?;
        let object = self.pass.object_at(position);
        let cell = cell_of(object, self.containers);
        let size_bytes = self.sizes.as_mut().map_or(0, |sizes| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(FillPass::size_seed(self.seed, object));
            sizes.pick(&mut rng)
        });
        Some(Choice {
            container: self.first_container + cell.container,
            object: 1 + cell.object,
            size_bytes,
            version: Some(FillPass::version(self.seed, self.pass.round, object)),
            ..Choice::default()
        })
    }

    fn position(&mut self) -> Option<u64> {
        let whole = [(0, self.pass.count - 1)];
        let left = self.pass.left.as_deref().unwrap_or(&whole);
        loop {
            let (first, last) = *left.get(self.stretch)?;
            let length = last - first + 1;
            if self.offset < length {
                let position = first + self.offset;
                self.offset += self.step;
                return Some(position);
            }
            self.offset -= length;
            self.stretch += 1;
        }
    }
}

/// What of the version says which write of this object a pass of `round` makes; see [`crate::BodyProbe`].
#[must_use]
pub fn which_of(seed: u64, round: u32, object: u64) -> u32 {
    crate::content::which(FillPass::version(seed, round, object))
}

/// How long the object (0-based, of the whole data set) is in bytes.
///
/// # Errors
/// When sizes cannot be chosen.
pub fn size_of(sizes: &cosmark_workload::SizeSelector, seed: u64, object: u64) -> Result<u64, ChooseError> {
    let mut chooser = SizeChooser::new(sizes, WorkerIndex { index: 0, total: 1 })?;
    Ok(chooser.pick(&mut Xoshiro256PlusPlus::seed_from_u64(FillPass::size_seed(seed, object))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cosmark_workload::{Environment, Format, parse};

    use super::*;

    /// Everything that `workers` workers do, by container and object: size and version.
    fn all(left: Option<Vec<(u64, u64)>>, workers: u32) -> BTreeMap<(u64, u64), (u64, u64)> {
        let text = "name: x\nstorage: {type: mock}\nstages:\n- {name: f, fill: {dataset: d, objects: 103, containers: 'r(3,6)', \
                    sizes: 'u(1,100)KB', order: scattered}}\n";
        let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        let work = &workload.stages[1].works[0];
        let pass = Arc::new(FillPass { left, ..work.pass.as_deref().unwrap().clone() });
        let mut seen = BTreeMap::new();
        for index in 0..workers {
            let place = WorkerIndex { index, total: workers };
            let mut walk = FillWalk::new(&pass, &work.operations[0], 5, place).unwrap();
            while let Some(choice) = walk.advance() {
                let what = (choice.size_bytes, choice.version.unwrap());
                assert!(seen.insert((choice.container, choice.object), what).is_none(), "{choice:?}");
            }
        }
        seen
    }

    #[test]
    fn any_number_of_workers_write_the_same_objects_once_and_what_is_left_is_the_rest() {
        let one = all(None, 1);
        assert_eq!(one.len(), 103);
        assert_eq!(all(None, 7), one);
        assert_eq!(all(None, 200), one);
        assert!(
            one.keys().all(|(container, object)| (3..=6).contains(container) && (1..=26).contains(object))
        );
        let left = all(Some(vec![(0, 0), (10, 49), (100, 102)]), 3);
        let done = all(Some(vec![(1, 9), (50, 99)]), 4);
        assert_eq!((left.len(), done.len()), (44, 59));
        let both: BTreeMap<_, _> = left.into_iter().chain(done).collect();
        assert_eq!(both, one);
        assert!(all(Some(Vec::new()), 4).is_empty());
    }
}
