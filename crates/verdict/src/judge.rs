//! The verdict: on a run of ours from its archive, and on a workload before anything is sent.

use std::collections::BTreeMap;

use cosmark_archive::{Check, CheckStatus, Moved, Overall, Run, RunRecord, StageRecord, StageState, Verdict};
use cosmark_metrics::results::Bound;
use cosmark_workload::model::{Stage, WorkKind};
use cosmark_workload::{Environment, Format, Workload, parse_what_is_there};

use crate::bounds;
use crate::checks::{CheckRow, findings, row};
use crate::evidence::Evidence;
use crate::finding::{Allows, Finding, Status, rank};
use crate::fio;
use crate::from_archive::{self, Places};
use crate::numbers::{percent, plain};
use crate::overload;

/// The verdict on a run. `workload` is the one that was run; without it the copy in the archive is read. `others` are runs
/// of the same workload, for the check of repetition.
#[must_use]
pub fn judge(run: &Run, workload: Option<&Workload>, others: &[Run]) -> Verdict {
    look(run, workload, others, from_archive::of_whole_stage).0
}

/// Judges a run that has ended: its record with the verdict, and with the bounds of its figures beside them.
#[must_use]
pub fn judged(run: &Run, workload: Option<&Workload>) -> RunRecord {
    let (verdict, bounds) = look(run, workload, &[], from_archive::of_whole_stage);
    let mut record = RunRecord { verdict, ..run.record.clone() };
    for (stage, operation, bounds) in bounds {
        let stage = record.stages.get_mut(stage);
        if let Some(operation) = stage.and_then(|stage| stage.operations.get_mut(operation)) {
            operation.bounds = bounds;
        }
    }
    record
}

/// The bounds of an operation: 0-based places of its stage and of itself, and its figures by name.
type OperationBounds = (usize, usize, BTreeMap<String, Bound>);

/// Reads what an archive has on a stage.
type Reads = fn(&Run, usize, &StageRecord, Option<&Workload>) -> Evidence;

fn look(
    run: &Run,
    workload: Option<&Workload>,
    others: &[Run],
    reads: Reads,
) -> (Verdict, Vec<OperationBounds>) {
    let archived = if workload.is_none() { archived_workload(run) } else { None };
    let workload = workload.or(archived.as_ref());
    let (mut found, mut bounds) = (Vec::new(), Vec::new());
    let mut any = false;
    let places = workload.map(|workload| Places::of(&run.record.stages, workload)).unwrap_or_default();
    for (index, stage) in run.record.stages.iter().enumerate() {
        let plan = workload.and_then(|workload| places.plan(index, stage, workload));
        if is_measured(stage, plan.as_deref()) {
            any = true;
            let (checks, of_stage) = measured_stage(run, index, stage, workload, others, reads);
            found.extend(checks);
            // In the order of what measures something; what only prepares has none.
            let places =
                stage.operations.iter().enumerate().filter(|(_, op)| !from_archive::is_special(&op.op));
            bounds.extend(places.zip(of_stage).map(|((at, _), bounds)| (index, at, bounds)));
        } else {
            found.extend(unmeasured_stage(stage));
        }
    }
    if !any {
        let message =
            "no stage measures anything: init, prepare, cleanup and dispose are only looked at for errors";
        found.extend(row("V9").map(|row| check(row, None, Finding::too_little(0.0, 1.0, message))));
    }
    let spread = |index: usize| {
        let stage = run.record.stages.get(index)?;
        let plan = workload.and_then(|workload| places.plan(index, stage, workload));
        let plan = plan.filter(|plan| plan.name == stage.name)?;
        overload::spread_of(&plan)
    };
    overload::excuse_last_rungs(&mut found, &run.record.stages, &spread);
    (verdict_of(found), bounds)
}

/// The verdict as it forms, on the stages of a run that have begun; `None` while there is nothing to judge. That no stage
/// measures anything is known at the end. It does not look at each time that was logged, so that it may be asked for every
/// few seconds.
#[must_use]
pub fn judge_so_far(run: &Run) -> Option<Verdict> {
    let mut checks = look(run, None, &[], from_archive::of_stage).0.checks;
    checks.retain(|check| check.stage.is_some());
    (!checks.is_empty()).then(|| verdict_of(checks))
}

fn archived_workload(run: &Run) -> Option<Workload> {
    let text = run.workload_yaml().ok().flatten()?;
    parse_what_is_there(&text, Format::Yaml, &Environment::default()).0
}

/// A stage that was to measure something, whether or not it came to it.
fn is_measured(stage: &StageRecord, plan: Option<&Stage>) -> bool {
    match plan.filter(|plan| plan.name == stage.name && !plan.works.is_empty()) {
        Some(plan) => plan.works.iter().any(|work| work.kind == WorkKind::Normal),
        None => from_archive::measured(stage).next().is_some(),
    }
}

fn measured_stage(
    run: &Run,
    index: usize,
    stage: &StageRecord,
    workload: Option<&Workload>,
    others: &[Run],
    reads: Reads,
) -> (Vec<Check>, Vec<BTreeMap<String, Bound>>) {
    let id = Some(stage.id.as_str());
    if stage.operations.is_empty() {
        let why = stage.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("the stage was {} and measured nothing{why}", stage.state.word());
        let found = row("V9").map(|row| check(row, id, Finding::too_little(0.0, 1.0, message)));
        return (found.into_iter().collect(), Vec::new());
    }
    let mut evidence = reads(run, index, stage, workload);
    evidence.repetitions = std::iter::once(run)
        .chain(others)
        .filter_map(|run| run.record.stages.iter().find(|other| other.name == stage.name))
        .map(from_archive::rate_of)
        .collect();
    bounds::add(&mut evidence);
    let by_fio = run.record.fio.as_ref();
    let of_fio = |row: &CheckRow, finding| match by_fio {
        Some(said) => fio::finding(row.id, said, stage, &evidence, finding),
        None => finding,
    };
    let mut found: Vec<Check> =
        findings(&evidence).into_iter().map(|(row, finding)| check(row, id, of_fio(row, finding))).collect();
    if let Some((search, trial)) = overload::trial_of(run, stage) {
        let message = "a trial of a search: trials of one load are as long together as their thresholds need";
        found.retain(|check| check.id != "V9");
        found.extend(row("V9").map(|row| check(row, id, Finding::does_not_apply(message))));
        overload::bound_the_answer(&mut found, search, trial);
    }
    if let Some(faults) = &evidence.in_faults {
        // Workers pause after failures.
        let is_of_it = |id: &str| OF_A_FAULT.contains(&id) && (id != IDLE || faults.failed > 0);
        found.iter_mut().filter(|check| is_of_it(&check.id)).for_each(excuse);
    }
    if matches!(stage.state, StageState::Cancelled | StageState::Terminated) {
        let why = stage.reason.as_deref().unwrap_or("its end was not reached");
        let message = format!(
            "the stage was {}: {why}; what it measured until then is all there is",
            stage.state.word()
        );
        found.retain(|check| check.id != "V9");
        found.extend(
            row("V9").map(|row| check(row, id, Finding::too_little(evidence.window_s, 1.0, message))),
        );
    }
    (found, evidence.operations.into_iter().map(|op| op.bounds).collect())
}

/// What a fault that was made on purpose does to a stage: less is achieved than offered, the rate is not steady, operations
/// are still under way, connections break and segments are lost. Failed operations are not among it: how many are due to the
/// fault is known, and only the others count.
const OF_A_FAULT: &[&str] = &[IDLE, "V4", "V5", "V8", "V10", "V18", "V19"];
/// Whether the workers of a closed loop were in requests.
const IDLE: &str = "V2";

/// The averages of a stage with faults are those of a curve, and the curve is what was to be measured.
fn excuse(check: &mut Check) {
    if check.status == CheckStatus::Fail {
        (check.status, check.allows) = (CheckStatus::Warn, Overall::TrueWithLimits);
        let found = &check.message;
        check.message = format!(
            "faults were made in this stage, so its averages are those of a curve: read what each fault cost ({found})"
        );
    }
}

/// Init, prepare, cleanup, dispose and delays: only errors count, and only where later stages rest on what was done.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn unmeasured_stage(stage: &StageRecord) -> Option<Check> {
    let ended: u64 = stage.operations.iter().map(|op| op.ok + op.failed).sum();
    let failed: u64 = stage.operations.iter().map(|op| op.failed).sum();
    if failed == 0 {
        return None;
    }
    let share = failed as f64 / ended as f64;
    let prepares =
        stage.operations.iter().any(|op| matches!(op.op.as_str(), "prepare" | "mprepare" | "init"));
    let class = stage.operations.iter().flat_map(|op| &op.errors).max_by_key(|(_, count)| **count);
    let class = class.map(|(class, _)| format!(", most of them {class}")).unwrap_or_default();
    let finding = if prepares && share > 0.01 {
        let message = format!(
            "{} of its operations failed{class}: what the next stages need is not there",
            percent(share)
        );
        Finding::fail(share, 0.01, message)
    } else {
        Finding::warn(share, 0.0, format!("{} of its operations failed{class}", percent(share)))
    };
    row("V12").map(|row| check(row, Some(&stage.id), finding))
}

/// As `run.json` has it.
pub(crate) fn check(row: &CheckRow, stage: Option<&str>, finding: Finding) -> Check {
    named(row.id, row.name, stage, finding)
}

/// The same for a check that is not in the table.
pub(crate) fn named(id: &str, name: &str, stage: Option<&str>, finding: Finding) -> Check {
    let Finding { status, allows, value, limit, message, moves, because } = finding;
    Check {
        id: id.to_owned(),
        name: name.to_owned(),
        stage: stage.map(str::to_owned),
        status: match status {
            Status::Pass => CheckStatus::Pass,
            Status::Warn => CheckStatus::Warn,
            Status::Fail => CheckStatus::Fail,
            Status::NotRun => CheckStatus::NotRun,
        },
        allows: match allows {
            Allows::True => Overall::True,
            Allows::WithLimits => Overall::TrueWithLimits,
            Allows::NotProven => Overall::NotProven,
            Allows::False => Overall::False,
        },
        value,
        limit,
        message,
        moves: moves.map(|(figure, share)| Moved { figure: figure.to_owned(), share }),
        because: because.map(str::to_owned),
    }
}

/// All checks taken together; the first reason is the gravest.
pub(crate) fn verdict_of(checks: Vec<Check>) -> Verdict {
    let overall = checks.iter().map(|check| check.allows).max().unwrap_or_default();
    let well = || checks.iter().find(|check| check.id == FIGURES && check.status == CheckStatus::Pass);
    let reason = most_telling(&checks).or_else(well).map(|check| check.message.clone());
    Verdict { overall, reason, checks }
}

/// The check that says how well the figures are known, and the one that says whether the window was long enough.
const FIGURES: &str = "V25";
const LENGTH: &str = "V9";

/// Of findings of about the same weight the cause comes before what follows from it: answers that are wrong, missing or errors
/// make times mean nothing, a driver that is missing changes every other figure, and so does a load that was not made.
const CAUSES_FIRST: &[&str] = &["V20", "V24", "V13", "V12", "V16", "V3", "V5", "V4"];

/// Findings that move this part of what the gravest moves are about as grave.
const ALIKE: f64 = 1.0 / 3.0;
/// What moves a figure by less explains nothing.
const EXPLAINS: f64 = 0.01;

/// The checks from the one that says most to the one that says least: what the verdict is because of comes first, a finding
/// before what was not run, and among those of one weight the one that can have moved a headline figure most. What the
/// figures come to is said after what explains it.
#[must_use]
pub fn telling_order(checks: &[Check]) -> Vec<&Check> {
    let class = |check: &Check| (std::cmp::Reverse(check.allows), check.status == CheckStatus::NotRun);
    let mut left: Vec<&Check> = checks.iter().collect();
    left.sort_by_key(|check| class(check));
    let mut order = Vec::with_capacity(left.len());
    for alike in left.chunk_by(|a, b| class(a) == class(b)) {
        let mut alike = alike.to_vec();
        while let Some(first) = gravest(&alike) {
            order.push(alike.remove(first));
        }
    }
    causes_up(&mut order);
    order
}

/// Causes, the least part that they must move of what the consequence moves, and what they bring about by themselves. Where
/// both are found in a stage the cause is told, whatever each would leave of the verdict: a store that falls behind its
/// arrivals has response times that rise, and a stall makes a p99 for which the window is too short. What a finding says of
/// itself (`because`) needs no row.
const BRINGS_ABOUT: &[(&str, f64, &[&str])] = &[
    ("V16", 0.2, &["V2", "V4", "V8", "V17"]),
    ("V4", 0.0, &["V8", "V9", "V10"]),
    ("V3", 0.2, &["V8", "V9"]),
    ("V8", 0.2, &["V9"]),
];

/// What a cause has to move beside a finding of which nobody can say what it moves.
const CAUSE_ALONE: f64 = 0.05;
/// A window that is shorter than this is too short whatever else is found.
const SHORT_S: f64 = 60.0;

/// Puts before each finding what brings it about. No two findings bring each other about, so this ends.
fn causes_up(order: &mut Vec<&Check>) {
    let mut at = 0;
    while let Some(own) = order.get(at).copied() {
        match order.iter().skip(at + 1).position(|cause| brings_about(cause, own)) {
            Some(further) => {
                let cause = order.remove(at + 1 + further);
                order.insert(at, cause);
            }
            None => at += 1,
        }
    }
}

fn brings_about(cause: &Check, other: &Check) -> bool {
    if other.because.as_ref() == Some(&cause.id) && cause.stage == other.stage {
        return matches!(cause.status, CheckStatus::Warn | CheckStatus::Fail);
    }
    let known = BRINGS_ABOUT.iter().find(|(id, ..)| *id == cause.id);
    let Some((_, part, _)) = known.filter(|(.., others)| others.contains(&other.id.as_str())) else {
        return false;
    };
    let least = if other.moves.is_none() && *part > 0.0 { CAUSE_ALONE } else { part * moved(other) };
    cause.stage == other.stage
        && matches!(cause.status, CheckStatus::Warn | CheckStatus::Fail)
        && cause.moves.as_ref().is_none_or(|cause| cause.share >= least)
        && (other.id != "V9" || other.limit.is_some_and(|need_s| need_s > SHORT_S))
}

/// Which of these to tell first.
fn gravest(alike: &[&Check]) -> Option<usize> {
    let is_sum = |check: &Check| check.id == FIGURES;
    let explained = alike.iter().any(|check| !is_sum(check) && moved(check) >= EXPLAINS);
    let most = alike.iter().filter(|check| !(explained && is_sum(check))).map(|check| moved(check));
    let most = most.fold(0.0, f64::max);
    // Because the window is short other checks could not be made, and it alone can be mended.
    let is_length = |check: &Check| check.id == LENGTH && check.status == CheckStatus::NotRun;
    let rank = |check: &Check| {
        let place = CAUSES_FIRST.iter().position(|id| *id == check.id).unwrap_or(CAUSES_FIRST.len());
        (explained && is_sum(check), !is_length(check), moved(check) < ALIKE * most, place)
    };
    let order = |(_, a): &(usize, &&Check), (_, b): &(usize, &&Check)| {
        rank(a).cmp(&rank(b)).then(moved(b).total_cmp(&moved(a)))
    };
    alike.iter().enumerate().min_by(order).map(|(at, _)| at)
}

/// The share of a headline figure that a finding can have moved.
fn moved(check: &Check) -> f64 {
    check.moves.as_ref().map_or(0.0, |moved| moved.share)
}

/// The check because of which the verdict is no better.
#[must_use]
pub fn most_telling(checks: &[Check]) -> Option<&Check> {
    telling_order(checks).into_iter().find(|check| check.allows > Overall::True)
}

/// What the workload alone says, before anything is sent: missing objects (V13) and the working set (V14) of each stage
/// that measures, and whether it is long enough (V9). Only what is worth a word: warnings and failures.
#[must_use]
pub fn preflight(workload: &Workload) -> Vec<Check> {
    let mut found = Vec::new();
    for ((index, stage), evidence) in workload.stages.iter().enumerate().zip(from_archive::before(workload)) {
        if stage.works.iter().all(|work| work.kind != WorkKind::Normal) {
            continue;
        }
        let id = stage.id(index);
        let mut findings: Vec<_> =
            findings(&evidence).into_iter().filter(|(row, _)| matches!(row.id, "V13" | "V14")).collect();
        findings.extend(row("V9").zip(length_of(stage)));
        findings.sort_by_key(|(_, finding)| rank(finding));
        let telling = findings.into_iter().filter(|(_, finding)| {
            finding.allows == Allows::NotProven || matches!(finding.status, Status::Warn | Status::Fail)
        });
        found.extend(telling.map(|(row, finding)| check(row, Some(&id), finding)));
    }
    found
}

/// The least that a window needs, known before the run only for what time ends.
fn length_of(stage: &Stage) -> Option<Finding> {
    // How long the trials of a search are together is decided by what they have to tell.
    if stage.search.is_some() {
        return None;
    }
    const LEAST_S: f64 = 60.0;
    let works = stage.works.iter().filter(|work| work.kind == WorkKind::Normal);
    let longest = works.filter(|work| !work.runtime.is_zero()).max_by_key(|work| work.runtime)?;
    let (window, rampup) = (longest.runtime.as_secs_f64(), longest.rampup.as_secs_f64());
    let least = if from_archive::is_short_on_purpose(stage) { 0.0 } else { LEAST_S };
    let need = least.max(5.0 * rampup);
    let message = format!(
        "a window of {} s is too short to prove much: below 60 s, or below 5 times the rampup, the verdict is NOT PROVEN; set \
         runtime to {} s or more",
        plain(window),
        plain(need)
    );
    (window < need).then(|| Finding::too_little(window, need, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, finding: Finding) -> Check {
        named(id, "name", Some("s1-main"), finding)
    }

    fn order(checks: &[Check]) -> Vec<&str> {
        telling_order(checks).into_iter().map(|check| check.id.as_str()).collect()
    }

    #[test]
    fn the_gravest_reason_comes_first_and_not_the_first_by_number() {
        let late = Finding::fail(0.03, 0.01, "late").moving("response_ms.p99", 0.03);
        let lost = Finding::fail(0.436, 0.05, "lost").moving("throughput_per_s", 0.436);
        let errors = Finding::warn(0.9, 0.0, "a warning").moving("throughput_per_s", 0.9);
        let checks = [finding("V3", late), finding("V16", lost), finding("V12", errors)];
        assert_eq!(order(&checks), ["V16", "V3", "V12"]);
        assert_eq!(verdict_of(checks.to_vec()).reason.as_deref(), Some("lost"));
    }

    #[test]
    fn of_reasons_that_move_about_as_much_the_cause_comes_first_and_the_sum_last() {
        let moving = |share: f64| Finding::warn(share, 0.0, "w").moving("response_ms.p99", share);
        let checks = [
            finding("V8", moving(0.5)),
            finding("V12", moving(0.2)),
            finding("V25", moving(0.9)),
            finding("V2", moving(0.05)),
        ];
        assert_eq!(order(&checks), ["V12", "V8", "V2", "V25"]);
        let alone = [
            finding("V25", moving(0.2)),
            finding("V12", moving(0.001)),
            finding("V3", Finding::unknown("u")),
        ];
        assert_eq!(order(&alone), ["V25", "V12", "V3"]);
    }

    #[test]
    fn a_window_that_is_too_short_is_told_before_what_could_not_be_looked_at_because_of_it() {
        let checks = [
            finding("V3", Finding::warn(0.1, 0.05, "late").moving("response_ms.p50", 0.1)),
            finding("V8", Finding::too_little(4.0, 10.0, "4 intervals")),
            finding("V9", Finding::too_little(4.0, 60.0, "set runtime to 60 s")),
            finding("V25", Finding::too_little(0.0, 1.0, "too little data")),
        ];
        assert_eq!(verdict_of(checks.to_vec()).reason.as_deref(), Some("set runtime to 60 s"));
        // Said on purpose it is a remark like others, and stands where it stood.
        let remark = [
            finding("V12", Finding::warn(0.002, 0.001, "errors").moving("throughput_per_s", 0.002)),
            finding("V9", Finding::warn(4.0, 60.0, "short on purpose")),
        ];
        assert_eq!(order(&remark), ["V12", "V9"]);
    }

    #[test]
    fn a_verdict_against_which_nothing_speaks_says_how_well_the_figures_are_known() {
        let checks = vec![
            finding("V1", Finding::pass(0.0, 1.0, "p")),
            finding("V25", Finding::pass(0.01, 0.05, "they hold")),
        ];
        let verdict = verdict_of(checks);
        assert_eq!((verdict.overall, verdict.reason.as_deref()), (Overall::True, Some("they hold")));
    }

    #[test]
    fn a_fault_excuses_what_it_does_to_averages_and_nothing_else() {
        let of = |finding: Finding| check(row("V8").unwrap(), Some("s1-main"), finding);
        let mut unsteady = of(Finding::fail(0.5, 0.1, "the store stood still"));
        excuse(&mut unsteady);
        assert_eq!((unsteady.status, unsteady.allows), (CheckStatus::Warn, Overall::TrueWithLimits));
        assert!(unsteady.message.contains("(the store stood still)"), "{}", unsteady.message);
        let mut fine = of(Finding::pass(0.0, 0.1, "it held"));
        excuse(&mut fine);
        assert_eq!((fine.status, fine.message.as_str()), (CheckStatus::Pass, "it held"));
        assert!(OF_A_FAULT.iter().all(|id| row(id).is_some()));
        assert!(
            ["V1", "V12", "V20", "V26"].iter().all(|id| !OF_A_FAULT.contains(id)),
            "no matter of a fault"
        );
    }
}
