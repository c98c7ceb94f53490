//! How long a study will take and how much room it needs, before it is run: from its own times, and from what its cells took so
//! far.

use std::collections::BTreeMap;

use cosmark_workload::model::Stage;
use cosmark_workload::search::{Loads, Search};
use cosmark_workload::{Environment, Format};

use crate::design::{Cell, Design, product, seconds};

/// A run's own time: looking at machines before the load, logging in, writing the archive.
const RUN_S: f64 = 8.0;
/// The same of a job of fio, whose JSON is all that there is.
const JOB_S: f64 = 2.0;
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

/// Seconds that one run of a cell takes; of fio without [`fill_s`].
///
/// # Errors
/// A value that is no number or duration.
pub fn cell_s(design: &Design<'_>, cell: &Cell) -> Result<f64, String> {
    let spec = design.spec;
    let mut time_s = if spec.fio.is_some() { JOB_S } else { RUN_S };
    let planned = planned(design, cell)?;
    for point in cell.points.iter().filter(|point| point.refused.is_none()) {
        time_s += match planned.get(&point.stage) {
            Some(stage_s) => *stage_s,
            None => {
                STAGE_S
                    + seconds("rampup", &point.values)?
                    + seconds("runtime", &point.values)?
                    + seconds("pause", &point.values)?
            }
        };
    }
    if spec.fio.is_some() {
        return Ok(time_s);
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

/// Seconds in which the file or image of a cell of fio is written, once for all cells of a system that are run one after the
/// other; 0 without fio.
///
/// # Errors
/// A value that is no size.
pub fn fill_s(design: &Design<'_>, cell: &Cell) -> Result<f64, String> {
    if design.spec.fio.is_none() {
        return Ok(0.0);
    }
    Ok(real(data_bytes(design, cell)?) / FILL_BYTES_PER_S)
}

/// Seconds of the stages with a search, which is many trials, or with faults, whose slots need their time: the variables of a
/// study say neither. By the stage's name; empty where the workload has none of both.
fn planned(design: &Design<'_>, cell: &Cell) -> Result<BTreeMap<String, f64>, String> {
    if design.spec.workload.is_none() {
        return Ok(BTreeMap::new());
    }
    let text = design.workload(cell, 1)?;
    if !may_be_planned(&text) {
        return Ok(BTreeMap::new());
    }
    // Whether a store is named is the target's affair; mistakes are shown when the workload is checked.
    let text = format!("storage: {{type: mock}}\n{text}");
    let (workload, _) = cosmark_workload::parse_what_is_there(&text, Format::Yaml, &Environment::default());
    let stages = workload.map(|workload| workload.stages).unwrap_or_default();
    Ok(stages.iter().filter_map(|stage| Some((stage.name.clone(), planned_s(stage)?))).collect())
}

/// False for the text of a workload that has neither a search nor faults, which is not read for them: there may be
/// thousands.
fn may_be_planned(text: &str) -> bool {
    // `defaults`, which most workloads have, ends as they do.
    let text = text.replace("defaults", "");
    ["search", "faults"].iter().any(|key| text.contains(key))
}

/// Seconds of a stage with a search or with faults; `None` for others, and where no time ends it.
fn planned_s(stage: &Stage) -> Option<f64> {
    let once_s = stage.planned()?.as_secs_f64() + STAGE_S;
    match &stage.search {
        // No trial begins after `max_time`.
        Some(search) => Some((once_s * trials(search)).min(search.max_time.as_secs_f64() + once_s)),
        None => (!stage.faults.is_empty()).then_some(once_s),
    }
}

/// Trials of a search that goes all the way to its highest load and repeats none.
fn trials(search: &Search) -> f64 {
    let most = f64::from(search.max_trials.max(1));
    // Both ends of the answer are tried again.
    let confirmed = 2.0 * f64::from(search.confirm);
    let known = match &search.loads {
        Loads::Steps(steps) => real(steps.len() as u64) + confirmed,
        Loads::Between(from, to) => {
            // Doubling, then halving the logarithm of the gap until it is narrow enough, and one above.
            let doubled = (to / from).log2().ceil().max(0.0) + 1.0;
            let halved = (2.0_f64.ln() / search.width.ln_1p()).log2().ceil().max(0.0);
            doubled + halved + 1.0 + confirmed
        }
    };
    // What is not finite is no number of trials.
    if known.is_finite() { known.min(most) } else { most }
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
    cost_of(design, &times(design)?)
}

/// Seconds that one run of each cell takes, in the order of the cells; 0 of one that is not run.
///
/// # Errors
/// A value that is no number or duration.
pub fn times(design: &Design<'_>) -> Result<Vec<f64>, String> {
    let time_of = |cell: &Cell| if cell.is_run() { cell_s(design, cell) } else { Ok(0.0) };
    design.cells.iter().map(time_of).collect()
}

/// What all cells cost with the least number of repetitions, of the [`times`] of each.
///
/// # Errors
/// A value that is no number.
pub fn cost_of(design: &Design<'_>, times: &[f64]) -> Result<Cost, String> {
    let mut cost = Cost::default();
    let least = u64::from(design.scale.repetitions.least);
    let mut groups = std::collections::BTreeSet::new();
    let mut filled = std::collections::BTreeSet::new();
    for (cell, time_s) in design.cells.iter().zip(times).filter(|(cell, _)| cell.is_run()) {
        let system = &design.spec.systems[cell.system];
        cost.time_s += time_s * real(least);
        if filled.insert((design.part(cell), cell.system, data_bytes(design, cell)?)) {
            cost.time_s += fill_s(design, cell)? * real(least);
        }
        cost.space_bytes = cost.space_bytes.max(stored_bytes(design, cell)?);
        cost.runs += least;
        cost.points += least * cell.points.iter().filter(|point| point.refused.is_none()).count() as u64;
        if system.bed.is_some() {
            groups.insert((design.part(cell), design.group(cell.system)));
        }
    }
    cost.time_s += BED_S * real(least) * real(groups.len() as u64);
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cosmark_workload::search::Over;

    use super::*;
    use crate::design::Choice;

    const TEXT: &str = "name: t
title: t
question: q
systems: [{name: a}]
factors: [{name: n, within: true, levels: [1]}]
variables: {rampup: 5s, runtime: 10s}
scales: {quick: {}}
workload:
  point: |
    - name: p-${{ n }}
      GOALS
      works: [{name: main, workers: 9, rampup: 5s, runtime: 10s, rate: {rate: 20/s}, operations: [{type: read, containers: c(1), objects: c(1)}]}]
  measured: p-${{ n }}
";

    fn seconds_of(goals: &str) -> f64 {
        let (spec, mistakes) = crate::spec::read(&TEXT.replace("GOALS", goals));
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let choice = Choice { scale: "quick".into(), ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        cell_s(&design, &design.cells[0]).unwrap()
    }

    #[test]
    fn a_search_takes_the_time_of_its_trials_and_a_fault_that_of_its_load() {
        let plain = seconds_of("# nothing beside it");
        assert_eq!(plain, RUN_S + STAGE_S + 15.0);
        // 20, 40, .. 640, four halvings, one above, two at each end: 6 + 4 + 1 + 4 trials.
        let goals = "thresholds: [p95 <= 50 ms]\n      search: {over: rate, from: 20/s, to: 640/s, width: 5 %, confirm: 2}";
        assert_eq!(seconds_of(goals), RUN_S + 15.0 * 16.0);
        let steps = goals.replace(
            "from: 20/s, to: 640/s, width: 5 %, confirm: 2",
            "steps: [20/s, 40/s, 80/s], confirm: 2",
        );
        assert_eq!(seconds_of(&steps), RUN_S + 7.0 * 16.0);
        let soon = goals.replace("confirm: 2", "confirm: 2, max_time: 30s");
        assert_eq!(seconds_of(&soon), RUN_S + 30.0 + 16.0);
        let fault = "faults: [{name: slow, type: none, at: 5s, slot: 4s, repeats: 1}]";
        assert_eq!(seconds_of(fault), plain);
    }

    #[test]
    fn a_workload_is_read_for_its_times_where_it_has_a_search_or_faults_and_not_for_its_defaults() {
        let plain = "name: x\ndefaults: {containers: c(1)}\nstages:\n  - name: p\n";
        assert!(!may_be_planned(plain));
        for more in
            ["    search: {over: rate}\n", "    faults: []\n", "    \"faults\": []\n", "    {search: {}}\n"]
        {
            assert!(may_be_planned(&format!("{plain}{more}")), "{more}");
        }
        for library in crate::library::LIBRARY {
            let (spec, _) = crate::spec::read(library.text);
            let spec = spec.unwrap_or_else(|| panic!("{}", library.name));
            for scale in spec.scales.keys() {
                let choice = Choice { scale: scale.clone(), ..Choice::default() };
                let design = Design::new(&spec, choice).unwrap();
                let times = times(&design).unwrap();
                assert_eq!(times.len(), design.cells.len());
                assert_eq!(cost_of(&design, &times), cost(&design), "{}", library.name);
            }
        }
    }

    #[test]
    fn the_image_of_fio_is_filled_once_for_all_cells_of_a_system() {
        let text = "name: t
title: t
question: q
systems: [{name: a, block: file}, {name: b, block: file}]
factors: [{name: block, levels: [4k, 64k, 1m]}]
variables: {image: 1000MB}
data_bytes: [image]
scales: {quick: {repetitions: {least: 2}}}
fio: {rw: randread, bs: 4KiB, iodepth: 1, size: '${{ image }}', runtime: 10s}
";
        let of = |text: &str| {
            let (spec, mistakes) = crate::spec::read(text);
            let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
            let choice = Choice { scale: "quick".into(), ..Choice::default() };
            let design = Design::new(&spec, choice).unwrap();
            (cost(&design).unwrap().time_s, cell_s(&design, &design.cells[0]).unwrap())
        };
        let (all_s, one_s) = of(text);
        assert_eq!(all_s, 2.0 * (6.0 * one_s + 2.0 * 10.0), "two repetitions of two systems");
        // Twice the image: twice the time to write it, and no more.
        assert_eq!(of(&text.replace("1000MB", "2000MB")), (all_s + 2.0 * 2.0 * 10.0, one_s));
    }

    #[test]
    fn no_search_is_expected_to_make_more_trials_than_it_may() {
        let mut search = Search::new(Over::Rate, Loads::Between(1.0, 1e9));
        (search.max_trials, search.max_time) = (7, Duration::from_secs(1));
        assert_eq!(trials(&search), 7.0);
        search.loads = Loads::Between(0.0, 1.0);
        assert_eq!(trials(&search), 7.0, "nothing is doubled without end");
        search.loads = Loads::Between(10.0, 10.0);
        search.max_trials = 60;
        assert!((1.0..=60.0).contains(&trials(&search)), "{}", trials(&search));
    }
}
