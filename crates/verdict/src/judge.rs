//! The verdict: on a run of ours from its archive, and on a workload before anything is sent.

use cosmark_archive::{Check, CheckStatus, Overall, Run, StageRecord, StageState, Verdict};
use cosmark_workload::model::{Stage, WorkKind};
use cosmark_workload::{Environment, Format, Workload, parse_what_is_there};

use crate::checks::{CheckRow, findings, row};
use crate::finding::{Allows, Finding, Status, rank};
use crate::from_archive;
use crate::numbers::percent;

/// The verdict on a run. `workload` is the one that was run; without it the copy in the archive is read. `others` are runs
/// of the same workload, for the check of repetition.
#[must_use]
pub fn judge(run: &Run, workload: Option<&Workload>, others: &[Run]) -> Verdict {
    let archived = if workload.is_none() { archived_workload(run) } else { None };
    let workload = workload.or(archived.as_ref());
    let mut found = Vec::new();
    let mut any = false;
    for (index, stage) in run.record.stages.iter().enumerate() {
        let plan = workload.and_then(|workload| workload.stages.get(index));
        if is_measured(stage, plan) {
            any = true;
            found.extend(measured_stage(run, index, stage, workload, others));
        } else {
            found.extend(unmeasured_stage(stage));
        }
    }
    if !any {
        let message =
            "no stage measures anything: init, prepare, cleanup and dispose are only looked at for errors";
        found.extend(row("V9").map(|row| check(row, None, Finding::too_little(0.0, 1.0, message))));
    }
    verdict_of(found)
}

/// The verdict as it forms, on the stages of a run that have begun; `None` while there is nothing to judge. That no stage
/// measures anything is known at the end.
#[must_use]
pub fn judge_so_far(run: &Run) -> Option<Verdict> {
    let mut checks = judge(run, None, &[]).checks;
    checks.retain(|check| check.stage.is_some());
    (!checks.is_empty()).then(|| verdict_of(checks))
}

fn archived_workload(run: &Run) -> Option<Workload> {
    let text = run.workload_yaml().ok().flatten()?;
    parse_what_is_there(&text, Format::Yaml, &Environment::default()).0
}

/// A stage that was to measure something, whether or not it came to it.
fn is_measured(stage: &StageRecord, plan: Option<&Stage>) -> bool {
    match plan.filter(|plan| !plan.works.is_empty()) {
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
) -> Vec<Check> {
    let id = Some(stage.id.as_str());
    if stage.operations.is_empty() {
        let why = stage.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("the stage was {} and measured nothing{why}", stage.state.word());
        return row("V9")
            .map(|row| check(row, id, Finding::too_little(0.0, 1.0, message)))
            .into_iter()
            .collect();
    }
    let mut evidence = from_archive::of_stage(run, index, stage, workload);
    evidence.repetitions = std::iter::once(run)
        .chain(others)
        .filter_map(|run| run.record.stages.iter().find(|other| other.name == stage.name))
        .map(from_archive::rate_of)
        .collect();
    let mut found: Vec<Check> =
        findings(&evidence).into_iter().map(|(row, finding)| check(row, id, finding)).collect();
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
    found
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
    let Finding { status, allows, value, limit, message } = finding;
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
    }
}

/// All checks taken together; the first reason is that of the worst.
pub(crate) fn verdict_of(checks: Vec<Check>) -> Verdict {
    let overall = checks.iter().map(|check| check.allows).max().unwrap_or_default();
    let reason = most_telling(&checks).map(|check| check.message.clone());
    Verdict { overall, reason, checks }
}

/// What these find is mended first: answers that are wrong, missing or errors make times mean nothing, on whatever machine.
const ABOUT_ANSWERS: &[&str] = &["V20", "V13", "V12"];

/// What is told first: the worst, a finding before what was not run, and among those of one weight what is wrong with the answers.
#[must_use]
pub fn telling_order(check: &Check) -> (std::cmp::Reverse<Overall>, bool, usize) {
    let about_answers = ABOUT_ANSWERS.iter().position(|id| *id == check.id);
    let place = about_answers.unwrap_or(ABOUT_ANSWERS.len());
    (std::cmp::Reverse(check.allows), check.status == CheckStatus::NotRun, place)
}

/// The check because of which the verdict is no better.
#[must_use]
pub fn most_telling(checks: &[Check]) -> Option<&Check> {
    checks.iter().filter(|check| check.allows > Overall::True).min_by_key(|check| telling_order(check))
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
    const LEAST_S: f64 = 60.0;
    let works = stage.works.iter().filter(|work| work.kind == WorkKind::Normal);
    let longest = works.filter(|work| !work.runtime.is_zero()).max_by_key(|work| work.runtime)?;
    let (window, rampup) = (longest.runtime.as_secs_f64(), longest.rampup.as_secs_f64());
    let least = if from_archive::is_short_on_purpose(stage) { 0.0 } else { LEAST_S };
    let need = least.max(5.0 * rampup);
    let message = format!(
        "a window of {window} s is too short to prove much: below 60 s, or below 5 times the rampup, the verdict is NOT \
         PROVEN; set runtime to {need} s or more"
    );
    (window < need).then(|| Finding::too_little(window, need, message))
}
