//! Checks a submission: its mistakes, its stages, and what can be said before any load. Nothing is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use cosmark_archive::known_datasets;
use cosmark_cluster::agent::all_there;
use cosmark_cluster::nats::Bus;
use cosmark_driver::secrets::resolve;
use cosmark_driver::{Catalog, Permit, Reading, ReadsPlugins, apply_settings, read_target, read_workload};
use cosmark_workload::model::faults::FaultKind;
use cosmark_workload::model::{Effect, Operation, Stage, Work, WorkKind};
use cosmark_workload::{Diagnostic, Environment, Severity, Workload};

use crate::api::types::{CheckResult, Mistake, StagePreview, Submission};
use crate::auth::secrets::Secrets;
use crate::drivers::DriverPool;

/// What a workload is read with.
#[derive(Clone)]
pub struct Reader {
    /// The tables.
    pub catalog: Catalog,
    /// Values of `${sys:..}`.
    pub environment: Environment,
    /// Secrets by name.
    pub secrets: Secrets,
    /// What a driver in this process lets workloads reach: a submission that asks for more is told so before it waits.
    pub permit: Option<Permit>,
    /// The drivers. What none of those elsewhere allows is refused when it is submitted; about the rest they decide themselves.
    pub pool: Arc<dyn DriverPool>,
    /// The archive's directory, whose data sets submissions may name.
    pub archive: PathBuf,
}

/// A submission that was read.
pub struct Checked {
    /// Its mistakes, those of its target and settings after those of the workload.
    pub mistakes: Vec<Mistake>,
    /// What to do, secrets resolved; `None` when a mistake is an error.
    pub workload: Option<Workload>,
}

impl Reader {
    /// With a catalog that loads no plugin: reading a submission runs nobody's code. `permit` is that of a driver in this
    /// process.
    #[must_use]
    pub fn new(
        catalog: Catalog,
        environment: Environment,
        secrets: Secrets,
        permit: Option<Permit>,
        pool: Arc<dyn DriverPool>,
        archive: PathBuf,
    ) -> Self {
        Self { catalog: catalog.reading(ReadsPlugins::Never), environment, secrets, permit, pool, archive }
    }

    /// Reads a submission that is new: drivers that are there now would have to do it.
    #[must_use]
    pub fn read_new(&self, submission: &Submission) -> Checked {
        let mut checked = self.read(submission);
        let permit = self.pool.permit_elsewhere();
        if let (Some(workload), Some(permit)) = (&checked.workload, permit)
            && let Err(text) = permit.check(&self.catalog, workload)
        {
            checked.mistakes.push(of_all("error", text));
            checked.workload = None;
        }
        if let (Some(workload), Some(bus)) = (&checked.workload, self.pool.agents())
            && let Err(text) = faults_are_there(&bus, workload)
        {
            checked.mistakes.push(of_all("error", text));
            checked.workload = None;
        }
        checked
    }

    /// Reads a submission.
    #[must_use]
    pub fn read(&self, submission: &Submission) -> Checked {
        let mut mistakes = Vec::new();
        let mut target = None;
        let mut target_refused = false;
        if let Some(text) = submission.target.as_deref().filter(|text| !text.trim().is_empty()) {
            let (read, found) = read_target(&self.catalog, text);
            target_refused = read.is_none();
            target = read;
            mistakes.extend(found.iter().map(|one| without_place("target: ", one)));
        }
        let name = submission.file_name.as_deref().unwrap_or("workload");
        let environment = Environment { datasets: known_datasets(&self.archive), ..self.environment.clone() };
        let Reading { workload, mistakes: found, .. } =
            read_workload(&self.catalog, &environment, &submission.source, name, target.as_ref());
        mistakes.splice(0..0, placed(&submission.source, &found));
        let mut workload = workload.filter(|_| !target_refused);
        if let Some(read) = &mut workload {
            if !read.nodes.is_empty() {
                read.nodes.clear();
                mistakes.push(of_all("warning", NODES_ARE_THE_OPERATORS.to_owned()));
            }
            let applied = apply_settings(&self.catalog, read, &submission.settings)
                .and_then(|()| resolve(&self.catalog, read, &self.secrets))
                .and_then(|()| suits(read, submission))
                .and_then(|()| faults_suit(read, self.pool.agents().is_some()))
                .and_then(|()| {
                    self.permit.as_ref().map_or(Ok(()), |permit| permit.check(&self.catalog, read))
                });
            if let Err(text) = applied {
                mistakes.push(of_all("error", text));
                workload = None;
            }
        }
        Checked { mistakes, workload }
    }

    /// The answer to a check.
    #[must_use]
    pub fn check(&self, submission: &Submission) -> CheckResult {
        let Checked { mistakes, workload } = self.read_new(submission);
        let (stages, preflight) = match &workload {
            Some(workload) => (previews(workload), sentences(workload)),
            None => (Vec::new(), Vec::new()),
        };
        let name = workload.as_ref().map(|workload| workload.name.clone());
        CheckResult { ok: workload.is_some(), mistakes, name, stages, preflight }
    }
}

/// Said where a submission names machines. To read a machine's figures is to reach it from the controller's own.
const NODES_ARE_THE_OPERATORS: &str = "`nodes:` are left out: a controller looks at the machines that its operator names \
     (cosmark controller --nodes TARGET.yaml)";

/// What only shows when everything else is right.
fn suits(workload: &Workload, submission: &Submission) -> Result<(), String> {
    if submission.operation_log && workload.stages.iter().any(|stage| stage.search.is_some()) {
        return Err(
            "a search has no operation log: its stages are not known before the run; submit it without"
                .to_owned(),
        );
    }
    Ok(())
}

/// A controller runs no command of a submission: its faults are those that the operators of machines have named.
fn faults_suit(workload: &Workload, has_agents: bool) -> Result<(), String> {
    for fault in workload.stages.iter().flat_map(|stage| &stage.faults) {
        let name = &fault.name;
        match &fault.kind {
            FaultKind::Agent { .. } if !has_agents => {
                return Err(format!(
                    "fault {name}: this controller has no NATS, where agents are: start it without --local, or run the workload by \
                     `cosmark run --nats`"
                ));
            }
            FaultKind::Agent { .. } | FaultKind::None => {}
            kind => {
                return Err(format!(
                    "fault {name}: a controller makes no faults of type {} itself: have the operator of the machine name it \
                     (`cosmark node --faults FILE`) and write type: agent, run it by `cosmark run`, or submit it without `faults:`",
                    kind.word()
                ));
            }
        }
        if fault.noticed.is_some() || fault.whole.is_some() {
            return Err(format!(
                "fault {name}: noticed: and whole: are commands, and a controller runs none of a submission; they stand in the \
                 agent's file"
            ));
        }
    }
    Ok(())
}

/// Asks the agents of a NATS whether the faults of a workload are to be had. Blocks for about a second where it has
/// some.
fn faults_are_there(bus: &Bus, workload: &Workload) -> Result<(), String> {
    let is_by_agent = |kind: &FaultKind| matches!(kind, FaultKind::Agent { .. });
    let mut faults = workload.stages.iter().flat_map(|stage| &stage.faults);
    if !faults.any(|fault| is_by_agent(&fault.kind)) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|cause| format!("agents are not asked: {cause}"))?;
    runtime.block_on(async {
        let there = all_there(bus, workload).await;
        // What was subscribed to is given back by a task of this runtime.
        tokio::task::yield_now().await;
        there
    })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn of_all(severity: &str, message: String) -> Mistake {
    let severity = severity.to_owned();
    Mistake { severity, message, hint: None, line: 0, column: 0, end_line: 0, end_column: 0 }
}

fn without_place(what: &str, one: &Diagnostic) -> Mistake {
    let message = format!("{what}{}", one.message);
    Mistake { hint: one.hint.clone(), ..of_all(severity(one.severity), message) }
}

/// Mistakes at their places; columns count UTF-16 units, as editors do. The source is gone through once, however many there are.
#[must_use]
pub fn placed(source: &str, found: &[Diagnostic]) -> Vec<Mistake> {
    let on_character = |offset: usize| {
        let mut end = offset.min(source.len());
        while !source.is_char_boundary(end) {
            end -= 1;
        }
        end
    };
    let ends = |one: &Diagnostic| [on_character(one.span.start), on_character(one.span.end())];
    let wanted: BTreeSet<usize> = found.iter().flat_map(ends).collect();
    let mut places: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
    let (mut line, mut column, mut from) = (1_u32, 1_u32, 0);
    for end in wanted {
        for c in source.get(from..end).unwrap_or_default().chars() {
            if c == '\n' {
                (line, column) = (line.saturating_add(1), 1);
            } else {
                column = column.saturating_add(if c.len_utf16() == 2 { 2 } else { 1 });
            }
        }
        from = end;
        places.insert(end, (line, column));
    }
    let place = |end: usize| places.get(&end).copied().unwrap_or((1, 1));
    let mistake = |one: &Diagnostic| {
        let [(line, column), (end_line, end_column)] = ends(one).map(place);
        Mistake {
            severity: severity(one.severity).to_owned(),
            message: one.message.clone(),
            hint: one.hint.clone(),
            line,
            column,
            end_line,
            end_column,
        }
    };
    found.iter().map(mistake).collect()
}

fn sentences(workload: &Workload) -> Vec<String> {
    let checks = cosmark_verdict::preflight(workload);
    said_once(checks.into_iter().map(|check| (check.stage, format!("{} {}", check.id, check.message))))
}

/// What holds for several stages is said once, with the first of them.
fn said_once(said: impl Iterator<Item = (Option<String>, String)>) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (stage, text) in said {
        match lines.iter_mut().find(|(known, _)| *known == text) {
            Some((_, stages)) => stages.extend(stage),
            None => lines.push((text, stage.into_iter().collect())),
        }
    }
    let line = |(text, stages): (String, Vec<String>)| match stages.as_slice() {
        [] => text,
        [first, second] => format!("{text} ({first}, {second})"),
        [first] => format!("{text} ({first})"),
        [first, others @ ..] => format!("{text} ({first} and {} more)", others.len()),
    };
    lines.into_iter().map(line).collect()
}

fn previews(workload: &Workload) -> Vec<StagePreview> {
    workload.stages.iter().enumerate().map(|(index, stage)| preview(stage, index)).collect()
}

fn preview(stage: &Stage, index: usize) -> StagePreview {
    let sum = |values: Vec<Option<u64>>| {
        values.into_iter().try_fold(0_u64, |sum, value| value.map(|value| sum.saturating_add(value)))
    };
    let works = &stage.works;
    StagePreview {
        id: stage.id(index),
        name: stage.name.clone(),
        works: works.iter().map(|work| work.name.clone()).collect(),
        workers: works.iter().fold(0, |sum, work| sum.saturating_add(work.workers)),
        seconds: stage.planned().map(|planned| planned.as_secs_f64()),
        operations: sum(works.iter().map(operations).collect()),
        bytes_written: sum(works.iter().map(bytes_written).collect()),
    }
}

/// How many operations a work makes, where counts end it.
fn operations(work: &Work) -> Option<u64> {
    if work.total_ops.is_some() || work.kind == WorkKind::Normal {
        return work.total_ops;
    }
    let op = work.operations.first()?;
    let containers = op.containers.as_ref().map_or(1, |containers| containers.count());
    Some(containers.saturating_mul(op.objects.as_ref().map_or(1, |objects| objects.count().max(1))))
}

/// How many bytes a work writes; `None` where time ends it and it writes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an estimate for people"
)]
fn bytes_written(work: &Work) -> Option<u64> {
    let is_file = |op: &Operation| op.kind.row().effect == Effect::WritesFiles;
    let writes =
        |op: &&Operation| op.sizes.is_some() || is_file(op) || op.kind.row().effect == Effect::Copies;
    let total: f64 = work.operations.iter().map(|op| op.weight).sum();
    if work.operations.iter().filter(writes).all(|op| op.weight <= 0.0) {
        return Some(0);
    }
    if work.operations.iter().filter(writes).any(|op| op.sizes.is_none()) {
        return None;
    }
    let operations = operations(work)? as f64;
    let share = |op: &Operation| if total > 0.0 { op.weight / total } else { 1.0 };
    let mean: f64 = work
        .operations
        .iter()
        .filter_map(|op| op.sizes.as_ref().map(|sizes| share(op) * sizes.mean_bytes()))
        .sum();
    Some((operations * mean).round() as u64)
}

#[cfg(test)]
mod tests {
    use cosmark_workload::Span;

    use super::*;

    #[test]
    fn mistakes_stand_where_an_editor_shows_them_in_whatever_order_they_come() {
        // A letter of two bytes, and one of four that are two units of UTF-16.
        let source = "a: 1\n\u{fc}\u{1f600}: x\n\nend";
        let at = |start, len| Diagnostic::error(Span { start, len }, "m");
        let found = [at(19, 99), at(0, 1), at(11, 3), at(6, 1), at(5, 0), at(15, 1), at(999, 0)];
        let places: Vec<_> = placed(source, &found)
            .iter()
            .map(|one| ((one.line, one.column), (one.end_line, one.end_column)))
            .collect();
        let expected = [
            ((4, 4), (4, 4)),
            ((1, 1), (1, 2)),
            ((2, 4), (2, 7)),
            // Inside a letter counts as its start.
            ((2, 1), (2, 2)),
            ((2, 1), (2, 1)),
            ((3, 1), (4, 1)),
            ((4, 4), (4, 4)),
        ];
        assert_eq!(places, expected);
        assert!(placed("", &[at(3, 2)]).iter().all(|one| (one.line, one.end_column) == (1, 1)));
    }

    #[test]
    fn what_is_known_before_a_run_is_said_once_however_many_stages_it_is_true_of() {
        let note = |stage: &str| (Some(stage.to_owned()), "V9 the window is short".to_owned());
        let said =
            said_once([note("s1-a"), (None, "V3 fine".to_owned()), note("s2-b"), note("s3-c")].into_iter());
        assert_eq!(said, ["V9 the window is short (s1-a and 2 more)", "V3 fine"]);
        assert_eq!(
            said_once([note("s1-a"), note("s2-b")].into_iter()),
            ["V9 the window is short (s1-a, s2-b)"]
        );
    }
}
