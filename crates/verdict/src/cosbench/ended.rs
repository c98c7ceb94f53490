//! How a stage of COSBench ended, and what of it has no figures: states, rows of `N/A`, workers that never reported, listings
//! that were never sent. Sources: the states of COSBench 0.4.2 (WorkloadState, StageState), its StageRunner, and the adaptors
//! whose `getList` is that of NoneStorage.

use cosmark_archive::Check;
use cosmark_archive::cosbench::{CosbenchOperation, CosbenchRun, CosbenchStage};
use cosmark_workload::Workload;
use cosmark_workload::model::{Stage, WorkKind};

use super::StageView;
use crate::checks::row;
use crate::finding::Finding;
use crate::from_archive::is_special;
use crate::judge::check;
use crate::numbers::{grouped, list, percent, plain};

/// A stage that did all it was to do.
const COMPLETED: &str = "completed";
/// One with more failures than were acceptable, or an operation that never succeeded.
const FAILED: &str = "failed";

/// A stage that was to measure something.
pub fn measures(stage: &CosbenchStage, plan: Option<&Stage>) -> bool {
    match plan {
        Some(plan) => plan.works.iter().any(|work| work.kind == WorkKind::Normal),
        None => stage.operations.iter().any(|op| !is_special(&op.op)),
    }
}

/// A check of the common table on a stage.
fn of_row(id: &str, stage: Option<&str>, finding: Finding) -> Option<Check> {
    row(id).map(|row| check(row, stage, finding))
}

/// What is to be said of a stage that prepares or clears up: only where something went wrong.
pub fn unmeasured(stage: &CosbenchStage, plan: Option<&Stage>) -> Option<Check> {
    let later_needs_it = |op: &CosbenchOperation| matches!(op.op.as_str(), "init" | "prepare" | "mprepare");
    let prepares = stage.operations.iter().any(later_needs_it)
        || plan.is_some_and(|plan| {
            plan.works.iter().any(|work| matches!(work.kind, WorkKind::Init | WorkKind::Prepare))
        });
    let is_delay = plan.is_some_and(|plan| plan.works.is_empty());
    let worst = stage.operations.iter().filter_map(|op| op.success_ratio).fold(1.0, f64::min);
    let finding = if stage.state != COMPLETED && !is_delay {
        let message = format!("the stage was {}", stage.state);
        if prepares {
            Finding::fail(1.0, 0.0, format!("{message}: what the next stages need may not be there"))
        } else {
            Finding::warn(1.0, 0.0, message)
        }
    } else if worst < 0.99 && prepares {
        let message = format!(
            "{} of its operations failed: what the next stages need is not there",
            percent(1.0 - worst)
        );
        Finding::fail(1.0 - worst, 0.01, message)
    } else if worst < 1.0 {
        Finding::warn(1.0 - worst, 0.0, format!("{} of its operations failed", percent(1.0 - worst)))
    } else {
        return None;
    };
    of_row("V12", Some(&stage.id), finding)
}

/// Of a stage that was to measure something and has not one row.
pub fn without_figures(view: &StageView<'_>) -> Option<Check> {
    let id = Some(view.stage.id.as_str());
    if view.stage.state == COMPLETED {
        return of_row("V12", id, Finding::fail(1.0, 0.01, NO_FIGURE));
    }
    let message = format!("the stage was {} and measured nothing", view.stage.state);
    of_row("V9", id, Finding::too_little(0.0, 1.0, message))
}

/// A worker that dies of an error of Java's does not make its stage fail.
const NO_FIGURE: &str = "the stage was completed and has not one figure: nothing was sent, or all workers died (an error of \
                         Java's, which COSBench does not count as a failure; its log has it)";

/// Of a run in which no stage is known to measure.
pub fn nothing_measured(run: &CosbenchRun) -> Option<Check> {
    let state = run.history.as_ref().map_or("", |history| history.state.as_str());
    let has_figures = run.stages.iter().any(|stage| !stage.operations.is_empty());
    let stages = run.stages.len();
    if !has_figures && stages > 0 && run.stages.iter().all(|stage| stage.state == COMPLETED) {
        let message = format!(
            "none of its {stages} stages has a figure although all were completed: nothing was sent, or all workers died; \
             COSBench's log has the cause"
        );
        return of_row("V12", None, Finding::fail(1.0, 0.01, message));
    }
    let how = if matches!(state, "" | "finished") { String::new() } else { format!("; the run was {state}") };
    let message =
        format!("no stage measures anything: init, prepare, cleanup and dispose move no measured load{how}");
    of_row("V9", None, Finding::too_little(0.0, 1.0, message))
}

/// Of a run whose result table was cut short. A run that somebody ended has fewer stages, and whole lines.
pub fn cut_table(run: &CosbenchRun) -> Option<Check> {
    let message = "the result table ends in the middle of a line: operations and stages that came behind are missing; restore \
                   it from a copy";
    of_row("V9", None, Finding::warn(1.0, 0.0, message)).filter(|_| run.is_cut)
}

/// Whether the configuration beside the results is theirs: the stages of the table are its first ones. The table of a run that
/// somebody ended lacks those that never began.
pub fn is_of(workload: &Workload, run: &CosbenchRun) -> bool {
    let (planned, all) = (&workload.stages, &run.stages);
    let is_begin = || all.iter().zip(planned).all(|(stage, plan)| stage.name == plan.name);
    planned.len() == all.len() || (planned.len() > all.len() && is_begin())
}

/// Of a configuration beside the results that is not theirs, and of results that lack its last stages although the run came to its
/// end.
pub fn other_stages(run: &CosbenchRun, asked: Option<&Workload>) -> Option<Check> {
    run.config_xml.as_ref()?;
    let has = run.stages.len();
    let is_finished = || run.history.as_ref().is_some_and(|history| history.state == "finished");
    let message = match asked {
        None => {
            "workload-config.xml cannot be read as a workload: what was asked for is not known".to_owned()
        }
        Some(workload) if !is_of(workload, run) => format!(
            "workload-config.xml has {} stages, and the {has} of the result table are not its first: it is that of another run, \
             and what was asked for is not known",
            workload.stages.len()
        ),
        Some(workload) if workload.stages.len() > has && is_finished() => format!(
            "the run was finished, and the result table has {has} of its {} stages: those that came behind are missing; \
             restore it from a copy",
            workload.stages.len()
        ),
        Some(_) => return None,
    };
    of_row("V9", None, Finding::warn(1.0, 0.0, message))
}

/// The length of a stage that did not come to its end.
pub fn cut_off(view: &StageView<'_>) -> Option<Finding> {
    let state = view.stage.state.as_str();
    if matches!(state, COMPLETED | FAILED) {
        return None;
    }
    let why = match state {
        "terminated" => ": an error stopped it, or one of its drivers or workers died",
        "cancelled" => " by somebody",
        "aborted" => ": a stage before it had not come to its end",
        _ => "",
    };
    let message = format!("the stage was {state}{why}; what it measured until then is all there is");
    Some(Finding::too_little(view.window_s().unwrap_or(0.0), 1.0, message))
}

/// Operations of which no figure is there, which the sums over the others would hide.
pub fn without_success(view: &StageView<'_>) -> Option<Finding> {
    const LIMIT: f64 = 0.01;
    let (state, all) = (view.stage.state.as_str(), view.measured().count());
    let without: Vec<&CosbenchOperation> = view.measured().filter(|op| op.count == 0).collect();
    if without.is_empty() {
        let all_succeeded = view.measured().all(|op| op.success_ratio.is_none_or(|ratio| ratio >= 1.0));
        return (state == FAILED && all_succeeded).then(|| {
            let message = "COSBench calls the stage failed, and every row says 100 %: failures are missing from these figures; \
                           its log has them";
            Finding::fail(1.0, LIMIT, message)
        });
    }
    let refused = without.iter().any(|op| op.success_ratio.is_some());
    let names: Vec<String> = without.iter().map(|op| op.label.clone()).collect();
    let names = list(&names);
    let log = "COSBench keeps the answers of the store only in its log";
    if refused || state == FAILED {
        let marked = if state == FAILED { ", and COSBench calls the stage failed" } else { "" };
        let what = if refused { "every operation of it failed" } else { "Succ-Ratio is N/A" };
        let message = format!("no {names} succeeded ({what}{marked}): {log}");
        return Some(Finding::fail(1.0, LIMIT, message));
    }
    if state != COMPLETED {
        let message = format!("the stage was {state}, and of {names} it has no figure");
        return Some(Finding::too_little(0.0, 1.0, message));
    }
    if without.len() == all {
        return Some(Finding::fail(1.0, LIMIT, NO_FIGURE));
    }
    let message = format!(
        "of {names} there is no figure (Op-Count 0, Succ-Ratio N/A): nothing of it was sent, or its workers died"
    );
    Some(if expected(view, &without) >= LEAST_EXPECTED {
        Finding::fail(1.0, LIMIT, message)
    } else {
        Finding::warn(0.0, LIMIT, message)
    })
}

/// So many operations that were to be made and were not are no chance.
const LEAST_EXPECTED: f64 = 20.0;

/// How many there should be of the operation without figures that has the greatest share of the mix.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn expected(view: &StageView<'_>, without: &[&CosbenchOperation]) -> f64 {
    let Some(plan) = view.plan else { return f64::INFINITY };
    let weights = plan.works.iter().flat_map(|work| &work.operations).map(|op| op.weight);
    let rows: Vec<(f64, &CosbenchOperation)> = weights.zip(&view.stage.operations).collect();
    let made: u64 = rows.iter().map(|(_, op)| op.count).sum();
    let weight: f64 = rows.iter().filter(|(_, op)| op.count > 0).map(|(weight, _)| weight).sum();
    let missing = rows.iter().filter(|(_, op)| without.iter().any(|own| own.line == op.line));
    let greatest = missing.map(|(weight, _)| *weight).fold(0.0, f64::max);
    if weight > 0.0 { made as f64 * greatest / weight } else { 0.0 }
}

/// Workers that reported: of each work what the index file has, or what 0.4.2.c4's table of workers has of a stage with one.
pub fn reported_workers(run: &CosbenchRun, stage: &CosbenchStage, plan: Option<&Stage>) -> Option<u64> {
    let mut operations = stage.operations.iter();
    let each: Option<u64> = match plan {
        Some(plan) => plan
            .works
            .iter()
            .map(|work| operations.by_ref().take(work.operations.len()).filter_map(|op| op.workers).max())
            .sum(),
        None => operations.filter_map(|op| op.workers).max(),
    };
    if each.is_some() || plan.is_some_and(|plan| plan.works.len() != 1) {
        return each;
    }
    let rows = run.workers(stage).ok().flatten()?;
    let first = rows.first()?;
    let of_one = stage.operations.iter().filter(|op| op.op == first.op).count().max(1);
    let same = rows.iter().filter(|row| row.op == first.op && row.sample == first.sample).count();
    u64::try_from(same / of_one).ok()
}

/// C6. Workers that died leave no figure: the rate is that of fewer than were asked for.
#[expect(clippy::cast_precision_loss, reason = "workers fit 53 bits")]
pub fn missing_workers(view: &StageView<'_>) -> Finding {
    let (Some(planned), Some(reported)) = (view.planned_workers(), view.reported) else {
        return Finding::unknown(
            "how many workers reported is not known: workloads.csv is not beside the run",
        );
    };
    let share = 1.0 - reported as f64 / planned as f64;
    let numbers = format!("{} of {} workers reported", grouped(reported), grouped(planned));
    Finding::graded(
        share.max(0.0),
        0.0,
        0.05,
        || numbers.clone(),
        || format!("{numbers}: the others died or were lost, and the figures are those of a smaller load"),
    )
}

/// C7. Most of COSBench's adaptors cannot list: they count a success and send nothing.
pub fn listings_sent(view: &StageView<'_>) -> Finding {
    const LEAST_MS: f64 = 1.0;
    let lists = |op: &&CosbenchOperation| op.op == "list" && op.count > 0;
    let Some(op) = view
        .measured()
        .filter(lists)
        .min_by(|a, b| a.response_ms.unwrap_or(0.0).total_cmp(&b.response_ms.unwrap_or(0.0)))
    else {
        return Finding::does_not_apply("nothing was listed");
    };
    let works = view.plan.map(|plan| plan.works.as_slice()).unwrap_or_default();
    let kinds: Vec<&str> = works.iter().map(|work| work.storage.kind.as_str()).collect();
    let can_list = !kinds.is_empty() && kinds.iter().all(|kind| *kind == "swift");
    let mean_ms = op.response_ms.unwrap_or(0.0);
    let numbers =
        format!("{} took {} ms on average and brought {} bytes", op.label, plain(mean_ms), grouped(op.bytes));
    if can_list || op.bytes > 0 || mean_ms >= LEAST_MS {
        return Finding::pass(mean_ms, LEAST_MS, numbers);
    }
    let message = format!(
        "{numbers}: nothing was sent; COSBench's adaptors without listings (all but Swift's) count a success for nothing, \
         and its rate is in the sum"
    );
    Finding::fail(mean_ms, LEAST_MS, message)
}
