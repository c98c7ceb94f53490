//! A study for programs: how far it is, its cells, and every figure of every point and repetition. Described in
//! docs/guide/studies.md.

use std::collections::BTreeMap;
use std::path::Path;

use cosmark_archive::Timestamp;
use cosmark_study::claims::judge;
use cosmark_study::design::{Cell, Design, Levels};
use cosmark_study::engine::{how_far, observations};
use cosmark_study::grid::{RunOfCell, RunState, runs};
use cosmark_study::journal::{CellState, Step, ended, is_held};
use cosmark_study::measured::{Files, Observation};
use cosmark_study::place::{Look, State, asked_to_stop};
use cosmark_study::spec::Level;
use serde_json::{Value, json};

/// A study whose journal or text cannot be read.
#[must_use]
pub fn unreadable(directory: &str, why: &str) -> Value {
    json!({"directory": directory, "state": "unreadable", "reason": why})
}

/// How far a study is; `with_cells` adds what was measured.
#[must_use]
pub fn study(place: &Path, directory: &str, look: &Look, with_cells: bool) -> Value {
    let Some(Step::Design { study, scale, as_published, at_s, .. }) = look.steps.first() else {
        return unreadable(directory, "its journal does not begin with a design");
    };
    let held = is_held(place);
    let design = match look.design() {
        Ok(design) => design,
        Err(why) => return unreadable(directory, &why),
    };
    let (state, reason) = look.state(Some(&design), held, held && asked_to_stop(place).is_some());
    let (done, planned, left_s) = how_far(&design, &look.steps);
    let failed = ended(&look.steps).values().filter(|end| end.state == CellState::Failed).count();
    let mut value = json!({
        "directory": directory,
        "study": study,
        "title": design.spec.title,
        "question": design.spec.question,
        "scale": scale,
        "as_published": as_published,
        "begun": moment(*at_s),
        "state": state_word(state),
        "reason": reason,
        "done": done,
        "planned": planned,
        "failed": failed,
        "left_s": left_s,
        "under_way": look.under_way().map(|(run, _)| run),
    });
    if with_cells {
        let all = observations(&design, &look.steps, &Files { directory: place });
        value["factors"] = factors(&design);
        value["cells"] = cells(&design, &runs(&design, &look.steps, held));
        value["points"] = points(&design);
        value["observations"] = all.iter().map(observation).collect();
        value["claims"] = claims(&design, &all);
    }
    value
}

/// A second since 1970 as RFC 3339.
fn moment(second: u64) -> Option<String> {
    Timestamp::from_second(i64::try_from(second).ok()?).ok().map(|at| at.to_string())
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Stopping => "stopping",
        State::Complete => "complete",
        State::Stopped => "stopped",
        State::BudgetSpent => "budget_spent",
        State::Trouble => "trouble",
        State::CutOff => "cut_off",
    }
}

fn run_word(state: RunState) -> &'static str {
    match state {
        RunState::Waiting => "waiting",
        RunState::CutOff => "cut_off",
        RunState::Running => "running",
        RunState::Done => "done",
        RunState::Failed => "failed",
    }
}

/// What is varied, systems first.
fn factors(design: &Design<'_>) -> Value {
    let systems: Vec<&str> = design.spec.systems.iter().map(|system| system.name.as_str()).collect();
    let system = json!({"name": "system", "within": false, "levels": systems});
    let others = design.spec.factors.iter().map(|factor| {
        let levels: Vec<&str> = factor.levels.iter().map(Level::name).collect();
        json!({"name": factor.name, "within": factor.within, "levels": levels})
    });
    std::iter::once(system).chain(others).collect()
}

fn cells(design: &Design<'_>, of_cells: &[Vec<RunOfCell>]) -> Value {
    let run = |run: &RunOfCell| {
        let end = run.end.as_ref();
        json!({
            "name": run.name,
            "repetition": run.repetition,
            "state": run_word(run.state),
            "run": end.map(|end| &end.place),
            "took_s": end.map(|end| end.took_s),
            "reason": end.and_then(|end| end.why.as_ref()),
        })
    };
    let cell = |(cell, runs): (&Cell, &Vec<RunOfCell>)| json!({"id": cell.id, "runs": runs.iter().map(run).collect::<Vec<_>>()});
    design.cells.iter().zip(of_cells).map(cell).collect()
}

/// Every point of every cell, also those that are not run.
fn points(design: &Design<'_>) -> Value {
    let of = |cell: &Cell| {
        let system = &design.spec.systems[cell.system].name;
        let mut all = Vec::new();
        for point in &cell.points {
            let mut levels: Levels = cell.levels.clone();
            levels.extend(point.levels.clone());
            levels.insert("system".to_owned(), system.clone());
            all.push(
                json!({"cell": cell.id, "levels": levels, "stage": point.stage, "refused": point.refused}),
            );
        }
        all
    };
    design.cells.iter().flat_map(of).collect()
}

/// What one repetition of a point did; figures by their ids in `run.json`.
fn observation(one: &Observation) -> Value {
    let values: BTreeMap<&str, f64> = one.values.iter().map(|(id, value)| (id.as_str(), *value)).collect();
    json!({
        "levels": one.levels,
        "operation": one.op,
        "repetition": one.repetition,
        "run": one.place,
        "verdict": one.verdict,
        "reason": one.why,
        "too_long": one.too_long,
        "failed_share": one.failed_share,
        "is_readable": !one.unreadable,
        "found_no_load": one.no_knee,
        "values": values,
    })
}

fn claims(design: &Design<'_>, all: &[Observation]) -> Value {
    judge(design, all)
        .into_iter()
        .map(|one| json!({"id": one.id, "says": one.says, "finding": one.finding.words(), "reason": one.why}))
        .collect()
}
