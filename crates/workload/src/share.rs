//! Who does what: the arithmetic that cuts ranges, counts and workers, so that nobody has to talk during a run.
//! Slices as in COSBench (the first workers get one more); counts are exact here, where COSBench drops the remainder.

use crate::model::{Division, Stage};
use crate::selector::IntSelector;

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

/// No driver is left for a work that is not pinned to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoFreeDriver {
    /// Name of the work.
    pub work: String,
}

impl std::fmt::Display for NoFreeDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no free driver available for work `{}`: every driver is taken by a work with `driver=`; \
             add a driver or unpin a work",
            self.work
        )
    }
}

impl std::error::Error for NoFreeDriver {}

/// Spreads the works of a stage over drivers, COSBench's way: a pinned work goes whole to its driver and takes it out
/// of the pool; the others get equal shares, the remainder dealt one each from a pointer that moves on from work to work.
/// A name that no driver has pins nothing.
///
/// # Errors
/// [`NoFreeDriver`] when pinned works leave no driver for another work.
pub fn spread_stage(stage: &Stage, drivers: &[&str]) -> Result<Vec<MissionShare>, NoFreeDriver> {
    let pin = |name: &Option<String>| name.as_deref().and_then(|n| drivers.iter().position(|d| *d == n));
    let taken: Vec<usize> = stage.works.iter().filter_map(|w| pin(&w.driver)).collect();
    let pool: Vec<usize> = (0..drivers.len()).filter(|d| !taken.contains(d)).collect();
    let mut missions = Vec::new();
    let mut pointer = 0;
    for (index, work) in stage.works.iter().enumerate() {
        if let Some(driver) = pin(&work.driver) {
            missions.push(MissionShare { work: index, driver, first_worker: 0, workers: work.workers });
            continue;
        }
        if pool.is_empty() {
            return Err(NoFreeDriver { work: work.name.clone() });
        }
        let counts = workers_over_drivers(work.workers, pool.len(), &mut pointer);
        let mut first_worker = 0;
        for (slot, workers) in counts.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            missions.push(MissionShare { work: index, driver: pool[slot], first_worker, workers });
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
