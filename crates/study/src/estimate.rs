//! How long a study will take and how much room it needs, before it is run: from its own times, and from what its cells took so
//! far.

use crate::design::{Cell, Design, product, seconds};

/// A run's own time: looking at machines before the load, logging in, writing the archive.
const RUN_S: f64 = 8.0;
/// Between two stages.
const STAGE_S: f64 = 1.0;
/// Starting and stopping a bed.
const BED_S: f64 = 60.0;
/// Objects prepared or deleted per second where the study does not say.
const OBJECTS_PER_S: f64 = 40.0;
/// Rows per second that a bed writes into the databases of containers, all copies.
const ROWS_PER_S: f64 = 15_000.0;
/// Bytes per second at which an image is filled.
const FILL_BYTES_PER_S: f64 = 100e6;

/// What a study costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Seconds.
    pub time_s: f64,
    /// Bytes on the disks of the store at a time, all copies.
    pub space_bytes: u64,
    /// Runs.
    pub runs: u64,
    /// Measured stages.
    pub points: u64,
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn real(count: u64) -> f64 {
    count as f64
}

/// Seconds that one run of a cell takes.
///
/// # Errors
/// A value that is no number or duration.
pub fn cell_s(design: &Design<'_>, cell: &Cell) -> Result<f64, String> {
    let spec = design.spec;
    let mut time_s = RUN_S;
    for point in cell.points.iter().filter(|point| point.refused.is_none()) {
        time_s += seconds("rampup", &point.values)?
            + seconds("runtime", &point.values)?
            + seconds("pause", &point.values)?;
        time_s += STAGE_S;
    }
    if spec.fio.is_some() {
        let bytes = data_bytes(design, cell)?;
        return Ok(time_s + real(bytes) / FILL_BYTES_PER_S);
    }
    if !spec.objects.is_empty() {
        let objects = product(&spec.objects, &cell.values)?;
        time_s += 2.0 * real(objects) / spec.objects_per_s.unwrap_or(OBJECTS_PER_S);
    }
    if let Some(rows) = design.prefilled(cell)? {
        time_s += real(rows.containers.saturating_mul(rows.rows)) / ROWS_PER_S;
    }
    Ok(time_s)
}

/// Bytes of one copy of a cell's data.
///
/// # Errors
/// A value that is no size.
pub fn data_bytes(design: &Design<'_>, cell: &Cell) -> Result<u64, String> {
    if design.spec.data_bytes.is_empty() { Ok(0) } else { product(&design.spec.data_bytes, &cell.values) }
}

/// Bytes of all copies of a cell's data.
///
/// # Errors
/// A value that is no size.
pub fn stored_bytes(design: &Design<'_>, cell: &Cell) -> Result<u64, String> {
    let copies = design.spec.systems[cell.system].copies;
    Ok(data_bytes(design, cell)?.saturating_mul(u64::from(copies)))
}

/// What all cells cost with the least number of repetitions.
///
/// # Errors
/// A value that is no number or duration.
pub fn cost(design: &Design<'_>) -> Result<Cost, String> {
    let mut cost = Cost::default();
    let times = u64::from(design.scale.repetitions.least);
    let mut groups = std::collections::BTreeSet::new();
    for cell in design.cells.iter().filter(|cell| cell.is_run()) {
        let system = &design.spec.systems[cell.system];
        cost.time_s += cell_s(design, cell)? * real(times);
        cost.space_bytes = cost.space_bytes.max(stored_bytes(design, cell)?);
        cost.runs += times;
        cost.points += times * cell.points.iter().filter(|point| point.refused.is_none()).count() as u64;
        if system.bed.is_some() {
            groups.insert(design.group(cell.system));
        }
    }
    cost.time_s += BED_S * real(times) * real(groups.len() as u64);
    Ok(cost)
}
