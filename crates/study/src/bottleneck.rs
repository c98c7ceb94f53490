//! What limits each system, of all its runs together: which name was said in how many of them, with the strongest sentence.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::{Overall, RunRecord, StageRecord, open_run};
use cosmark_metrics::BottleneckResult;

use crate::design::Design;
use crate::journal::{Step, ended};
use crate::measured::{Files, verdict_of};
use crate::page::{Field, Look, Part};

/// Answers from here on name a part of the store.
const NAMES: u8 = 5;

/// What a run says of one load.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    /// Number of the run among those of its system.
    run: usize,
    /// The operations of the stages that it is from: `read, write`.
    stages: String,
    /// The same in every answer that names the same.
    key: String,
    /// What it names, for people.
    name: String,
    /// How much it says.
    strength: u8,
    /// The numbers of a stage that it is from cannot be believed.
    is_false: bool,
    /// Its sentence.
    text: String,
}

/// The runs of a system that can be read, and all that they say.
#[derive(Debug, Clone, PartialEq, Default)]
struct Said {
    runs: Vec<String>,
    answers: Vec<Answer>,
}

/// What several answers name.
#[derive(Debug, Clone, Copy)]
struct Name<'a> {
    strongest: &'a Answer,
    /// Runs that name it.
    runs: usize,
    /// Those of them whose numbers can be believed.
    believed: usize,
}

/// The section of the report: a row for each system, and for each kind of its stages where these name different things.
pub fn section(design: &Design<'_>, steps: &[Step], files: &Files<'_>) -> Vec<Part> {
    let ended = ended(steps);
    if design.spec.fio.is_some() || ended.is_empty() {
        return Vec::new();
    }
    let most = design.scale.repetitions.most.unwrap_or(design.scale.repetitions.least);
    let mut systems: BTreeMap<usize, Said> = BTreeMap::new();
    for cell in &design.cells {
        for repetition in 1..=most {
            let run = cell.run_name(&design.spec.name, repetition);
            let Some(end) = ended.get(run.as_str()) else { continue };
            let place = files.run_directory(&end.place);
            let Some(run) = place.and_then(|place| open_run(&place).ok()) else { continue };
            let name = format!("{} r{repetition}", cell.id);
            systems.entry(cell.system).or_default().add(name, &run.record);
        }
    }
    let name = |at: usize| design.spec.systems[at].name.as_str();
    let said: Vec<(&str, Said)> = systems.into_iter().map(|(at, said)| (name(at), said)).collect();
    let mut parts = vec![Part::Heading(2, "What limits each system".to_owned())];
    parts.extend(table(&said));
    parts
}

/// The table, and the runs that say nothing.
fn table(systems: &[(&str, Said)]) -> Vec<Part> {
    let rows: Vec<Vec<Field>> = systems.iter().flat_map(|(system, said)| said.rows(system)).collect();
    if rows.is_empty() {
        let text = "Not known here: it takes several loads in one run, with the machines of the store among its `nodes:`.";
        return vec![Part::Text(text.to_owned())];
    }
    let caption = "From the machines of the store while the load rose. Of each system what most of its runs name, with the strongest \
                   of their sentences and the run that says it; what the others name stands behind, with one of their runs. Stages of \
                   other operations are rows of their own where they name something else. Every run's own report has all of its \
                   sentences.";
    let columns = ["system", "stages", "what limits it", "said in", "the strongest sentence", "others name"];
    let mut parts =
        vec![Part::Table { caption: caption.to_owned(), columns: columns.map(str::to_owned).to_vec(), rows }];
    let silent: Vec<String> = systems
        .iter()
        .filter(|(_, said)| said.silent() > 0)
        .map(|(system, said)| format!("{system} {} of {}", said.silent(), said.runs.len()))
        .collect();
    if !silent.is_empty() {
        parts.push(Part::Text(format!(
            "Runs that say nothing of it, without several loads or without the machines of the store: {}.",
            silent.join(", ")
        )));
    }
    parts
}

impl Said {
    fn add(&mut self, name: String, record: &RunRecord) {
        let run = self.runs.len();
        self.runs.push(name);
        self.answers.extend(record.bottlenecks.iter().map(|found| Answer::of(run, record, found)));
    }

    /// Runs that say nothing.
    fn silent(&self) -> usize {
        self.runs.len() - count(self.answers.iter())
    }

    fn rows(&self, system: &str) -> Vec<Vec<Field>> {
        let mut kinds: BTreeMap<&str, Vec<&Answer>> = BTreeMap::new();
        for one in &self.answers {
            kinds.entry(one.stages.as_str()).or_default().push(one);
        }
        let first = |some: &Vec<&Answer>| names(some).first().map(|name| name.strongest.key.clone());
        let firsts: BTreeSet<Option<String>> = kinds.values().map(first).collect();
        if firsts.len() > 1 {
            return kinds.iter().filter_map(|(stages, some)| self.row(system, stages, some)).collect();
        }
        let all: Vec<&Answer> = self.answers.iter().collect();
        self.row(system, "all", &all).into_iter().collect()
    }

    fn row(&self, system: &str, stages: &str, answers: &[&Answer]) -> Option<Vec<Field>> {
        let of = count(answers.iter().copied());
        let all = names(answers);
        let (first, others) = all.split_first()?;
        let run = |answer: &Answer| self.runs.get(answer.run).map_or("", String::as_str);
        let others: Vec<String> = others
            .iter()
            .map(|one| format!("{}: {}, as in {}", one.strongest.name, one.said_in(of), run(one.strongest)))
            .collect();
        let look = if first.believed == 0 { Look::False } else { Look::Plain };
        let others = if others.is_empty() { "-".to_owned() } else { others.join("; ") };
        Some(vec![
            Field::new(system),
            Field::new(if stages.is_empty() { "-" } else { stages }),
            Field::with(first.strongest.name.as_str(), look),
            Field::new(first.said_in(of)),
            Field::new(format!("{} ({})", first.strongest.text, run(first.strongest))),
            Field::new(others),
        ])
    }
}

impl Name<'_> {
    /// `3 of 4 runs, 1 of them FALSE`.
    fn said_in(&self, of: usize) -> String {
        let runs = if of == 1 { "run" } else { "runs" };
        let mistaken = match self.runs - self.believed {
            0 => String::new(),
            count => format!(", {count} of them FALSE"),
        };
        format!("{} of {of} {runs}{mistaken}", self.runs)
    }

    /// The higher, the sooner it stands for all: what can be believed, what names a part of the store, what most runs say.
    fn rank(&self) -> (bool, bool, usize, usize, u8) {
        let strength = self.strongest.strength;
        (self.believed > 0, strength >= NAMES, self.believed, self.runs, strength)
    }
}

/// How many runs these answers are from.
fn count<'a>(answers: impl Iterator<Item = &'a Answer>) -> usize {
    answers.map(|one| one.run).collect::<BTreeSet<_>>().len()
}

/// What is named, what stands for all in front.
fn names<'a>(answers: &[&'a Answer]) -> Vec<Name<'a>> {
    let mut by: BTreeMap<&str, Vec<&'a Answer>> = BTreeMap::new();
    for one in answers.iter().copied() {
        by.entry(one.key.as_str()).or_default().push(one);
    }
    let of = |some: Vec<&'a Answer>| {
        let believed = count(some.iter().copied().filter(|one| !one.is_false));
        let runs = count(some.iter().copied());
        let strongest = some.into_iter().max_by_key(|one| (!one.is_false, one.strength, Reverse(one.run)))?;
        Some(Name { strongest, runs, believed })
    };
    let mut all: Vec<Name<'a>> = by.into_values().filter_map(of).collect();
    all.sort_by_key(|one| Reverse(one.rank()));
    all
}

impl Answer {
    fn of(run: usize, record: &RunRecord, found: &BottleneckResult) -> Self {
        let stages: Vec<&StageRecord> =
            record.stages.iter().filter(|stage| found.stages.contains(&stage.id)).collect();
        let operations: BTreeSet<&str> =
            stages.iter().flat_map(|stage| &stage.operations).map(|one| one.op.as_str()).collect();
        let (name, strength) = name_of(found);
        // In another order they are the same units.
        let units: BTreeSet<&str> = found.units.iter().map(String::as_str).collect();
        let units: Vec<&str> = units.into_iter().collect();
        let key = if units.is_empty() { name.clone() } else { units.join("\n") };
        Self {
            run,
            stages: operations.into_iter().collect::<Vec<_>>().join(", "),
            key: format!("{}\n{key}", found.answer),
            name,
            strength,
            is_false: stages.iter().any(|stage| verdict_of(record, stage).0 == Overall::False),
            text: found.text.clone(),
        }
    }
}

/// What an answer names, and how much that says.
fn name_of(found: &BottleneckResult) -> (String, u8) {
    // Its sentence begins with the name that people read.
    let before = |marks: &[&str]| {
        let name =
            marks.iter().find_map(|mark| found.text.split_once(*mark)).map(|(name, _)| name.to_owned());
        name.unwrap_or_else(|| found.units.join(", "))
    };
    let (name, strength) = match found.answer.as_str() {
        "named" => {
            let strength = match found.confidence.as_deref() {
                Some("high") => 8,
                Some("medium") => 7,
                _ => NAMES,
            };
            return (before(&[": the bottleneck", ": most likely the bottleneck"]), strength);
        }
        "several" => return (format!("{}, at the same rate", before(&[" are full at"])), 6),
        "shared" => return (format!("{}, which the client uses, too", before(&[": full at"])), 4),
        "client" => ("the client", 4),
        "refused" => ("the store refuses", 4),
        "limit" => ("no resource: a limit of workers, connections, rate or link", 3),
        "unexplained" => ("nothing that was looked at", 2),
        "not_reached" => ("nothing yet", 1),
        "too_few_steps" => ("not known: too few steps", 0),
        "nothing_measured" => ("not known: no machine was measured", 0),
        other => return (other.replace('_', " "), 0),
    };
    (name.to_owned(), strength)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
