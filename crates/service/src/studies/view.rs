//! A study as the interface shows it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cosmark_archive::{Overall, Timestamp};
use cosmark_study::claims::judge;
use cosmark_study::design::{Cell, Design, Levels};
use cosmark_study::engine::{how_far, observations};
use cosmark_study::grid::{RunOfCell, RunState, Spot, choices, runs, spots, together};
use cosmark_study::journal::{Call, CellState, Step, ended};
use cosmark_study::measured::{Files, Observation};
use cosmark_study::memory::Remembered;
use cosmark_study::page::{Field, Look as FieldLook, Part};
use cosmark_study::place::{Look, State};
use cosmark_study::spec::Level;

use super::Known;
use crate::api::types::{
    Study, StudyCell, StudyClaim, StudyFactor, StudyField, StudyGrid, StudyPart, StudyPoint, StudyRun,
    StudyRunState, StudyState, StudySummary,
};

/// Points of an answer.
const MOST_POINTS: usize = 20_000;
/// Runs that are read for one answer; the next one has the others.
const MOST_READS: u64 = 500;
/// Rows of a table of an answer.
const MOST_ROWS: usize = 2000;

fn count(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

/// A second since 1970 as text; none of 0, which stands for what was not written down.
fn moment(second: u64) -> Option<String> {
    let second = i64::try_from(second).ok().filter(|second| *second > 0)?;
    Timestamp::from_second(second).ok().map(|at| at.to_string())
}

fn state_of(state: State) -> StudyState {
    match state {
        State::Running => StudyState::Running,
        State::Stopping => StudyState::Stopping,
        State::Complete => StudyState::Complete,
        State::Stopped => StudyState::Stopped,
        State::BudgetSpent => StudyState::BudgetSpent,
        State::Trouble => StudyState::Trouble,
        State::CutOff => StudyState::CutOff,
    }
}

/// A study at a glance.
#[must_use]
pub fn summary(known: &Known) -> StudySummary {
    let mut shown = StudySummary {
        id: known.id.clone(),
        name: String::new(),
        title: known.id.clone(),
        scale: String::new(),
        as_published: false,
        state: StudyState::Unreadable,
        reason: None,
        begun: None,
        changed: known.changed(),
        done: 0,
        planned: 0,
        failed: 0,
        spent_s: 0.0,
        left_s: None,
        under_way: None,
        under_way_since: None,
        version: known.version(),
    };
    let look = match &known.look {
        Ok(look) => look,
        Err(why) => {
            shown.reason = Some(why.clone());
            return shown;
        }
    };
    if let Some(Step::Design { study, scale, as_published, at_s, .. }) = look.steps.first() {
        shown.name.clone_from(study);
        shown.title.clone_from(study);
        shown.scale.clone_from(scale);
        shown.as_published = *as_published;
        shown.begun = moment(*at_s);
    }
    let over = ended(&look.steps);
    shown.done = count(over.len());
    shown.failed = count(over.values().filter(|end| end.state == CellState::Failed).count());
    shown.spent_s = look.spent_s();
    if let Some((run, at_s)) = look.under_way() {
        shown.under_way = Some(run.to_owned());
        shown.under_way_since = moment(at_s);
    }
    let design = look.design();
    let (state, why) = look.state(design.as_ref().ok(), known.is_held, known.is_asked);
    (shown.state, shown.reason) = (state_of(state), why);
    match &design {
        Ok(design) => {
            let (done, of, left_s) = how_far(design, &look.steps);
            (shown.done, shown.planned, shown.left_s) = (count(done), count(of), Some(left_s));
            shown.title.clone_from(&design.spec.title);
        }
        Err(why) => {
            shown.reason = Some(why.clone());
            if !known.is_held {
                shown.state = StudyState::Unreadable;
            }
        }
    }
    shown
}

/// A study that can be read, with what was measured.
struct Read<'a> {
    look: &'a Look,
    design: Design<'a>,
    all: Vec<Observation>,
    bytes: u64,
    unread: u64,
}

fn read(known: &Known) -> Result<Read<'_>, String> {
    let look = known.look.as_ref().map_err(Clone::clone)?;
    let design = look.design()?;
    let origin = Remembered::new(Files { directory: &known.directory }, &known.memory, MOST_READS);
    let all = observations(&design, &look.steps, &origin);
    let (bytes, unread) = (origin.bytes(), origin.unread());
    Ok(Read { look, design, all, bytes, unread })
}

/// A study without its cells; what cannot be read is empty.
#[must_use]
pub fn show(known: &Known, may_operate: bool, may_go_on: bool) -> Study {
    let mut shown = Study {
        summary: known.summary(),
        question: String::new(),
        source: None,
        machine: Vec::new(),
        shrunk: Vec::new(),
        factors: Vec::new(),
        metrics: Vec::new(),
        operations: Vec::new(),
        bytes: 0,
        unread: 0,
        claims: Vec::new(),
        command: None,
        may_go_on: false,
    };
    if let Ok(look) = &known.look
        && may_operate
    {
        let call = look.calls().next_back().filter(|call| is_a_command(call));
        shown.command = call.map(command);
        shown.may_go_on = may_go_on && call.is_some();
    }
    let Ok(Read { look, design, all, bytes, unread }) = read(known) else { return shown };
    if let Some(Step::Design { machine, .. }) = look.steps.first() {
        shown.machine.clone_from(machine);
    }
    shown.question.clone_from(&design.spec.question);
    shown.source.clone_from(&design.spec.source);
    shown.shrunk.clone_from(&design.scale.shrunk);
    shown.factors = factors(&design);
    (shown.metrics, shown.operations) = choices(&all);
    (shown.bytes, shown.unread) = (bytes, count(unread));
    shown.claims = judge(&design, &all)
        .into_iter()
        .map(|one| StudyClaim {
            id: one.id,
            says: one.says,
            finding: one.finding.words().to_owned(),
            why: one.why,
        })
        .collect();
    shown
}

/// Whether a call may be shown to be copied into a shell. Who wrote the journal of a study from elsewhere may have written
/// anything into it: another command of this program, or orders to the terminal into which it is pasted.
fn is_a_command(call: &Call) -> bool {
    let is_order =
        |sign: char| sign.is_control() || matches!(sign, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut words = call.arguments.iter().chain([&call.directory]);
    call.arguments.iter().any(|word| word == "study") && !words.any(|word| word.contains(is_order))
}

/// A command as a shell takes it.
fn command(call: &Call) -> String {
    let words: Vec<String> = call.arguments.iter().map(|word| quoted(word)).collect();
    format!("cd {} && cosmark {}", quoted(&call.directory), words.join(" "))
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=,:+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A factor with those of its levels that some point has.
struct Varied {
    name: String,
    label: String,
    within: bool,
    /// Names and labels.
    levels: Vec<(String, String)>,
}

/// What is varied, systems first.
fn varied(design: &Design<'_>) -> Vec<Varied> {
    let spec = design.spec;
    let systems: BTreeSet<usize> = design.cells.iter().map(|cell| cell.system).collect();
    let names = systems.into_iter().map(|at| {
        let system = &spec.systems[at];
        (system.name.clone(), system.label.clone().unwrap_or_else(|| system.name.clone()))
    });
    let name = "system".to_owned();
    let mut all = vec![Varied { label: name.clone(), name, within: false, levels: names.collect() }];
    for factor in &spec.factors {
        let of = |levels: &'_ Levels| levels.get(&factor.name).cloned();
        let used: BTreeSet<String> = design
            .cells
            .iter()
            .flat_map(|cell| {
                std::iter::once(of(&cell.levels)).chain(cell.points.iter().map(|point| of(&point.levels)))
            })
            .flatten()
            .collect();
        let names = factor.levels.iter().map(Level::name).filter(|name| used.contains(*name));
        all.push(Varied {
            name: factor.name.clone(),
            label: factor.label.clone().unwrap_or_else(|| factor.name.clone()),
            within: factor.within,
            levels: names.map(|name| (name.to_owned(), name.to_owned())).collect(),
        });
    }
    all
}

fn factors(design: &Design<'_>) -> Vec<StudyFactor> {
    let factor = |Varied { name, label, within, levels }: Varied| StudyFactor {
        name,
        label,
        levels: levels.into_iter().map(|(_, label)| label).collect(),
        within,
    };
    varied(design).into_iter().map(factor).collect()
}

fn run_state(state: RunState) -> StudyRunState {
    match state {
        RunState::Waiting => StudyRunState::Waiting,
        RunState::CutOff => StudyRunState::CutOff,
        RunState::Running => StudyRunState::Running,
        RunState::Done => StudyRunState::Done,
        RunState::Failed => StudyRunState::Failed,
    }
}

fn cell(cell: &Cell, runs: &[RunOfCell]) -> StudyCell {
    let state = if cell.is_run() { run_state(together(runs)) } else { StudyRunState::NotRun };
    let run = |run: &RunOfCell| StudyRun {
        name: run.name.clone(),
        repetition: run.repetition,
        state: run_state(run.state),
        took_s: run.end.as_ref().map(|end| end.took_s),
        reason: run.end.as_ref().and_then(|end| end.why.clone()),
    };
    StudyCell { id: cell.id.clone(), state, runs: runs.iter().map(run).collect() }
}

/// The word of a verdict in JSON.
fn verdict(verdict: Overall) -> &'static str {
    match verdict {
        Overall::True => "true",
        Overall::TrueWithLimits => "true_with_limits",
        Overall::NotProven => "not_proven",
        Overall::False => "false",
    }
}

/// All points with a figure of an operation; without a wish the first of those that were measured.
///
/// # Errors
/// When the study cannot be read.
pub fn grid(known: &Known, metric: Option<&str>, operation: Option<&str>) -> Result<StudyGrid, String> {
    let Read { look, design, all, .. } = read(known)?;
    let (metrics, operations) = choices(&all);
    let chosen = |wish: Option<&str>, known: &[String]| -> String {
        wish.filter(|wish| known.iter().any(|one| one == wish))
            .or_else(|| known.first().map(String::as_str))
            .unwrap_or_default()
            .to_owned()
    };
    let (metric, operation) = (chosen(metric, &metrics), chosen(operation, &operations));
    let factors = varied(&design);
    let point = |spot: Spot| StudyPoint {
        cell: count(spot.cell),
        levels: factors
            .iter()
            .map(|factor| {
                let level = spot.levels.get(&factor.name);
                count(factor.levels.iter().position(|(name, _)| Some(name) == level).unwrap_or(0))
            })
            .collect(),
        refused: spot.refused,
        verdict: spot.verdict.map(|one| verdict(one).to_owned()),
        why: spot.why,
        operation: spot.operation,
        value: spot.worth.as_ref().map(|worth| worth.mean).filter(|value| value.is_finite()),
        low: spot.worth.as_ref().and_then(|worth| worth.ends).map(|ends| ends.0),
        high: spot.worth.as_ref().and_then(|worth| worth.ends).map(|ends| ends.1),
        repetitions: spot.worth.as_ref().map_or(0, |worth| worth.repetitions),
    };
    let mut points: Vec<StudyPoint> =
        spots(&design, &all, &metric, &operation).into_iter().map(point).collect();
    let left_out = count(points.len().saturating_sub(MOST_POINTS));
    points.truncate(MOST_POINTS);
    let last = points.last().map_or(0, |point| point.cell as usize + 1);
    let runs = runs(&design, &look.steps, known.is_held);
    let cells = design.cells.iter().zip(&runs).take(last).map(|(one, runs)| cell(one, runs)).collect();
    Ok(StudyGrid { metric, operation, cells, points, left_out, version: known.version() })
}

fn field(field: &Field) -> StudyField {
    let look = match field.look {
        FieldLook::Plain => "plain",
        FieldLook::False => "false",
        FieldLook::Hollow => "hollow",
        FieldLook::Best => "best",
        FieldLook::NotRun => "not_run",
    };
    StudyField { text: field.words(), look: look.to_owned() }
}

/// Figures and tables of what was measured so far: those of the report.
///
/// # Errors
/// When the study cannot be read.
pub fn results(known: &Known) -> Result<Vec<StudyPart>, String> {
    let Read { look, design, all, .. } = read(known)?;
    let part = |part: Part| match part {
        Part::Heading(order, text) => StudyPart::Heading { order, text },
        Part::Text(text) => StudyPart::Text { text },
        Part::List(items) => StudyPart::List { items },
        Part::Table { caption, columns, rows } => {
            let left_out = rows.len().saturating_sub(MOST_ROWS);
            let more = if left_out > 0 {
                format!(" {left_out} more rows are in the report.")
            } else {
                String::new()
            };
            let rows = rows.iter().take(MOST_ROWS).map(|row| row.iter().map(field).collect()).collect();
            StudyPart::Table { caption: format!("{caption}{more}"), columns, rows }
        }
        Part::Figure { caption, svg, .. } => StudyPart::Figure { caption, svg },
    };
    let files = Files { directory: &known.directory };
    let parts = cosmark_study::paper::results(&design, &all, &look.published, &files);
    Ok(parts.into_iter().map(part).collect())
}

/// The directory of a run that is over, by its name; it has to be one of the study's.
#[must_use]
pub fn run_directory(known: &Known, run: &str) -> Option<PathBuf> {
    let look = known.look.as_ref().ok()?;
    let end = ended(&look.steps).remove(run)?;
    Files { directory: &known.directory }.run_directory(&end.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_of_a_journal_is_shown_that_is_no_study_or_commands_a_terminal() {
        let call = |directory: &str, words: &[&str]| {
            let arguments = words.iter().map(|word| (*word).to_owned()).collect();
            Call { arguments, directory: directory.to_owned(), ..Call::default() }
        };
        let good = call("/srv/it's here", &["study", "slides", "--only=system=a b"]);
        assert!(is_a_command(&good));
        assert_eq!(command(&good), "cd '/srv/it'\\''s here' && cosmark study slides '--only=system=a b'");
        for (directory, words) in [
            ("/srv", &["run", "theirs.yaml", "--allow-faults"][..]),
            // The end of a pasted text, and a line of its own.
            ("/srv\u{1b}[201~\nrm -r x\n", &["study", "slides"]),
            ("/srv", &["study", "slides\n"]),
            ("/srv", &["study", "\u{202e}sedils"]),
            ("/srv", &[]),
        ] {
            assert!(!is_a_command(&call(directory, words)), "{directory:?} {words:?}");
        }
    }
}
