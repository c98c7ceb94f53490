//! Who does what: the arithmetic that cuts ranges, counts and workers, so that nobody has to talk during a run.
//! Slices as in COSBench (the first workers get one more); counts are exact here, where COSBench drops the remainder.

use crate::model::selector::IntSelector;
use crate::model::{Division, Stage};
pub use crate::plan::drivers::Candidate;

/// One worker of a work, counted over all drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorkerIndex {
    /// 0-based, below `total`.
    pub index: u32,
    /// Workers of the work over all drivers; > 0.
    pub total: u32,
}

/// Which numbers of a range a worker sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slice {
    /// All of them.
    Whole,
    /// Its own slice: [`slice_of`].
    Own,
}

impl Slice {
    /// How `division` cuts containers.
    #[must_use]
    pub fn of_containers(division: Division) -> Slice {
        if division == Division::Container { Slice::Own } else { Slice::Whole }
    }

    /// How `division` cuts objects.
    #[must_use]
    pub fn of_objects(division: Division) -> Slice {
        if division == Division::Object { Slice::Own } else { Slice::Whole }
    }
}

/// A stretch of a range: `len` numbers from `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubRange {
    /// Numbers before it.
    pub offset: u64,
    /// Numbers in it; 0 when there are more workers than numbers.
    pub len: u64,
}

/// The slice of `worker` of a range of `len` numbers. The slices of all workers partition the range.
#[must_use]
pub fn slice_of(len: u64, worker: WorkerIndex) -> SubRange {
    let (index, total) = (u64::from(worker.index), u64::from(worker.total.max(1)));
    let (base, extra) = (len / total, len % total);
    SubRange { offset: base * index + index.min(extra), len: base + u64::from(index < extra) }
}

/// First and last number that an iterating work's `worker` visits; `None` when there is nothing for it to do.
#[must_use]
pub fn own_numbers(selector: &IntSelector, slice: Slice, worker: WorkerIndex) -> Option<(u64, u64)> {
    if selector.is_nothing() {
        return None;
    }
    let (lo, hi) = selector.bounds();
    match slice {
        Slice::Whole => Some((lo, hi)),
        Slice::Own => {
            let part = slice_of(selector.count(), worker);
            (part.len > 0).then(|| (lo + part.offset, lo + part.offset + part.len - 1))
        }
    }
}

/// The share of worker `index` of `workers` in a total of operations or bytes: the shares sum to `total`.
#[must_use]
pub fn share_of_total(total: u64, index: u32, workers: u32) -> u64 {
    slice_of(total, WorkerIndex { index, total: workers }).len
}

/// One mission: a driver's share of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MissionShare {
    /// 0-based index of the work in its stage.
    pub work: usize,
    /// 0-based index of the driver.
    pub driver: usize,
    /// Global index of its first worker.
    pub first_worker: u32,
    /// Its workers; > 0.
    pub workers: u32,
}

/// No driver is left for a work that is not pinned to one, or none has the label that it is pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoFreeDriver {
    /// Name of the work.
    pub work: String,
    /// The label, if that is what no driver has.
    pub label: Option<String>,
}

impl std::fmt::Display for NoFreeDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(label) = &self.label {
            return write!(
                f,
                "no driver has the label {label} that work `{}` asks for; start one with --labels {label}",
                self.work
            );
        }
        write!(
            f,
            "no free driver available for work `{}`: every driver is taken by a work with `driver=`; \
             add a driver or unpin a work",
            self.work
        )
    }
}

impl std::error::Error for NoFreeDriver {}

/// The same for drivers without labels.
///
/// # Errors
/// [`NoFreeDriver`]
pub fn spread_stage(stage: &Stage, drivers: &[&str]) -> Result<Vec<MissionShare>, NoFreeDriver> {
    let drivers: Vec<_> = drivers.iter().map(|name| Candidate { name, labels: &[] }).collect();
    spread_over(stage, &drivers)
}

/// Spreads the works of a stage over drivers, COSBench's way: a pinned work goes whole to its driver and takes it out
/// of the pool; the others get equal shares, the remainder dealt one each from a pointer that moves on from work to work.
/// A name that no driver has pins nothing. A work that is pinned to a label is spread over the drivers that have it.
///
/// # Errors
/// [`NoFreeDriver`] when pinned works leave no driver for another work, or no driver has a label.
pub fn spread_over(stage: &Stage, drivers: &[Candidate<'_>]) -> Result<Vec<MissionShare>, NoFreeDriver> {
    let pinned = |pin: &Option<String>| -> Vec<usize> {
        let Some(pin) = pin else { return Vec::new() };
        (0..drivers.len()).filter(|at| drivers[*at].is_meant(pin)).collect()
    };
    let taken: Vec<usize> = stage.works.iter().flat_map(|work| pinned(&work.driver)).collect();
    let pool: Vec<usize> = (0..drivers.len()).filter(|d| !taken.contains(d)).collect();
    let mut missions = Vec::new();
    let mut pointer = 0;
    for (index, work) in stage.works.iter().enumerate() {
        let own = pinned(&work.driver);
        let is_label = work.driver.as_ref().is_some_and(|pin| pin.contains('='));
        let (places, counts) = if !own.is_empty() || is_label {
            let counts = workers_over_drivers(work.workers, own.len(), &mut 0);
            (own.as_slice(), counts)
        } else {
            (pool.as_slice(), workers_over_drivers(work.workers, pool.len(), &mut pointer))
        };
        if places.is_empty() {
            let label = work.driver.clone().filter(|_| is_label);
            return Err(NoFreeDriver { work: work.name.clone(), label });
        }
        let mut first_worker = 0;
        for (slot, workers) in counts.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            missions.push(MissionShare { work: index, driver: places[slot], first_worker, workers });
            first_worker += workers;
        }
    }
    Ok(missions)
}

/// Workers of each of `drivers` drivers: equal shares, the remainder dealt one each from `pointer` on, which moves past
/// the last driver that got one.
#[must_use]
pub fn workers_over_drivers(workers: u32, drivers: usize, pointer: &mut usize) -> Vec<u32> {
    if drivers == 0 {
        return Vec::new();
    }
    let count = u32::try_from(drivers).unwrap_or(u32::MAX);
    let mut shares = vec![workers / count; drivers];
    for _ in 0..workers % count {
        shares[*pointer % drivers] += 1;
        *pointer = (*pointer + 1) % drivers;
    }
    shares
}
