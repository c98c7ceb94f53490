//! The cells of a study as a grid: each point with its state and the value of one figure.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::Overall;

use crate::design::{Cell, Design, Levels};
use crate::journal::{CellEnd, CellState, Step, ended};
use crate::measured::Observation;
use crate::metric::is_figure;
use crate::statistics::interval_of_amount;

/// How a run of a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunState {
    /// It was not begun.
    Waiting,
    /// It was begun, and nobody runs it any more.
    CutOff,
    /// It runs.
    Running,
    /// It was run to its end.
    Done,
    /// It failed.
    Failed,
}

/// A run of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOfCell {
    /// Its name.
    pub name: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// How it stands.
    pub state: RunState,
    /// How it ended, where it did.
    pub end: Option<CellEnd>,
}

/// What a point came to over its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// The mean.
    pub mean: f64,
    /// Where the mean lies with 95 % confidence, of two repetitions or more.
    pub ends: Option<(f64, f64)>,
    /// Repetitions that have the figure.
    pub repetitions: u32,
}

/// A measured point of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Number of its cell.
    pub cell: usize,
    /// System and levels of all factors.
    pub levels: Levels,
    /// Why it is not run.
    pub refused: Option<String>,
    /// The gravest verdict of its repetitions, where something was measured.
    pub verdict: Option<Overall>,
    /// Why it is that, or why its responses are too long for the window.
    pub why: Option<String>,
    /// The operation, where the point did not make the chosen one.
    pub operation: Option<String>,
    /// The chosen figure.
    pub worth: Option<Worth>,
}

/// The runs of each cell: those of the least number of repetitions, and those beyond that were begun. `is_held` says whether a
/// process runs the study.
#[must_use]
pub fn runs(design: &Design<'_>, steps: &[Step], is_held: bool) -> Vec<Vec<RunOfCell>> {
    let ended = ended(steps);
    let mut begun: BTreeSet<&str> = BTreeSet::new();
    let mut open: Option<&str> = None;
    for step in steps {
        match step {
            Step::Begin { run, .. } => {
                begun.insert(run);
                open = Some(run);
            }
            Step::End { .. } | Step::Called { .. } | Step::Rested { .. } => open = None,
            _ => {}
        }
    }
    let repetitions = design.scale.repetitions;
    let most = repetitions.most.unwrap_or(repetitions.least);
    let of_cell = |cell: &Cell| {
        let mut all = Vec::new();
        if !cell.is_run() {
            return all;
        }
        for repetition in 1..=most {
            let name = cell.run_name(&design.spec.name, repetition);
            let end = ended.get(name.as_str()).cloned();
            let is_open = open == Some(name.as_str());
            let state = match (&end, is_open) {
                (_, true) if is_held => RunState::Running,
                (Some(end), _) if end.state == CellState::Failed => RunState::Failed,
                (Some(_), _) => RunState::Done,
                (None, _) if begun.contains(name.as_str()) => RunState::CutOff,
                (None, _) => RunState::Waiting,
            };
            if repetition <= repetitions.least || state != RunState::Waiting {
                all.push(RunOfCell { name, repetition, state, end });
            }
        }
        all
    };
    design.cells.iter().map(of_cell).collect()
}

/// How the runs of a cell stand together: what runs, else what failed, else the least of them.
#[must_use]
pub fn together(runs: &[RunOfCell]) -> RunState {
    let states = || runs.iter().map(|run| run.state);
    for first in [RunState::Running, RunState::Failed] {
        if states().any(|state| state == first) {
            return first;
        }
    }
    states().min().unwrap_or(RunState::Waiting)
}

/// Every point with a figure of an operation, or of its own first one where it did not make that: points may measure different
/// operations.
#[must_use]
pub fn spots(design: &Design<'_>, all: &[Observation], metric: &str, op: &str) -> Vec<Spot> {
    let mut by: BTreeMap<&Levels, Vec<&Observation>> = BTreeMap::new();
    for one in all {
        by.entry(&one.levels).or_default().push(one);
    }
    for of_point in by.values_mut() {
        let own =
            of_point.iter().filter(|one| !one.unreadable).map(|one| one.op.as_str()).min().unwrap_or(op);
        let shown = if of_point.iter().any(|one| one.op == op) { op } else { own };
        of_point.retain(|one| one.unreadable || one.op == shown);
    }
    let mut spots = Vec::new();
    for (at, cell) in design.cells.iter().enumerate() {
        for point in &cell.points {
            let mut levels = cell.levels.clone();
            levels.extend(point.levels.clone());
            levels.insert("system".to_owned(), design.spec.systems[cell.system].name.clone());
            let seen = by.get(&levels).map(Vec::as_slice).unwrap_or_default();
            let worst = seen.iter().max_by_key(|one| one.verdict);
            let values: Vec<f64> = seen.iter().filter_map(|one| one.values.get(metric).copied()).collect();
            let repetitions = u32::try_from(values.len()).unwrap_or(u32::MAX);
            let worth = (!values.is_empty()).then(|| Worth {
                mean: cosmark_stats::bootstrap::mean(&values),
                ends: interval_of_amount(&values).map(|known| (known.low, known.high)),
                repetitions,
            });
            let too_long = || seen.iter().find_map(|one| one.too_long.clone());
            spots.push(Spot {
                cell: at,
                levels,
                refused: point.refused.clone(),
                verdict: worst.map(|one| one.verdict),
                why: worst.and_then(|one| one.why.clone()).or_else(too_long),
                operation: seen.iter().map(|one| &one.op).find(|own| !own.is_empty() && *own != op).cloned(),
                worth,
            });
        }
    }
    spots
}

/// Figures that something was measured of, those that are looked at first in front, and the operations.
#[must_use]
pub fn choices(all: &[Observation]) -> (Vec<String>, Vec<String>) {
    const FIRST: [&str; 6] = [
        "throughput_per_s",
        "bandwidth_bytes_per_s",
        "response_ms.mean",
        "response_ms.p50",
        "response_ms.p95",
        "response_ms.p99",
    ];
    let metrics: BTreeSet<&str> =
        all.iter().flat_map(|one| one.values.keys()).map(String::as_str).filter(|id| is_figure(id)).collect();
    let ops: BTreeSet<&str> = all.iter().filter(|one| !one.unreadable).map(|one| one.op.as_str()).collect();
    let first = FIRST.iter().copied().filter(|one| metrics.contains(one));
    let others = metrics.iter().copied().filter(|one| !FIRST.contains(one));
    (first.chain(others).map(str::to_owned).collect(), ops.into_iter().map(str::to_owned).collect())
}
