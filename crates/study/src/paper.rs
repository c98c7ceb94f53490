//! The report of a study: question, set-up as found, figures and tables with published numbers beside, claims, what limits each
//! system, what the original got wrong.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::Timestamp;

use crate::bottleneck;
use crate::claims::{Finding, Judged, judge, short};
use crate::course::Courses;
use crate::design::Design;
use crate::differences::differences;
use crate::effects;
use crate::engine::{how_far, observations};
use crate::estimate;
use crate::figures::figures;
use crate::journal::{CellState, Step, ended};
use crate::measured::{Files, Observation};
use crate::page::{Field, Look, Paper, Part};
use crate::published::Published;
use crate::spec::{Block, System};
use crate::tables;
use crate::weighed::flaws;

/// Makes the report of what was measured so far; `is_changed` where the text of the study is another than the one that was run.
#[must_use]
pub fn paper(
    design: &Design<'_>,
    steps: &[Step],
    files: &Files<'_>,
    published: &[Published],
    is_changed: bool,
) -> Paper {
    let all = observations(design, steps, files);
    let (date, machine) = begun(steps);
    let spec = design.spec;
    let flawed = if design.choice.as_published { ", as published" } else { "" };
    let mut paper = Paper {
        title: spec.title.clone(),
        subtitle: format!("Study {}, scale {}{flawed}, {}", spec.name, design.choice.scale, date),
        parts: Vec::new(),
    };
    let parts = &mut paper.parts;
    parts.push(Part::Heading(2, "Question".to_owned()));
    parts.push(Part::Text(spec.question.clone()));
    if let Some(source) = &spec.source {
        parts.push(Part::Text(format!("Published numbers: {source}")));
    }
    if is_changed {
        parts.push(Part::Text(
            "study.yaml was changed since it was run: its claims, figures and tables are of the new text, what was measured is \
             of the old one."
                .to_owned(),
        ));
    }
    parts.extend(outside(design, steps).map(Part::Text));
    state(design, steps, parts);
    parts.extend(tables::verdicts(design, &all).map(Part::Text));
    claims(design, &all, parts);
    parts.extend(results(design, &all, published, files));
    parts.extend(bottleneck::section(design, steps, files));
    parts.push(Part::Heading(2, "Every cell".to_owned()));
    parts.push(tables::cells(design, &all));
    failures(steps, &all, parts);
    set_up(design, steps, machine, parts);
    original(design, &all, parts);
    paper
}

/// Figures and tables of what was measured so far: what a reader looks at while the study runs, and a part of its report.
#[must_use]
pub fn results(
    design: &Design<'_>,
    all: &[Observation],
    published: &[Published],
    courses: &dyn Courses,
) -> Vec<Part> {
    let mut parts = Vec::new();
    let drawn = figures(design, all, published, courses);
    if !drawn.is_empty() {
        parts.push(Part::Heading(2, "Figures".to_owned()));
        parts.extend(how_to_read(design, !published.is_empty()).map(Part::Text));
        parts.extend(drawn);
    }
    for (title, table) in [
        ("What searches found", tables::knees(design, all)),
        ("What faults cost", tables::faults(design, all)),
    ] {
        if let Some(table) = table {
            parts.push(Part::Heading(2, title.to_owned()));
            parts.push(table);
        }
    }
    let effects = effects::tables(design, all);
    if !effects.is_empty() {
        parts.push(Part::Heading(2, "Effects".to_owned()));
        parts.extend(design.selected.as_ref().map(|selected| Part::List(selected.lines())));
        parts.extend(effects);
    }
    let slas = tables::slas(design, all);
    if !slas.is_empty() {
        parts.push(Part::Heading(2, "Limits and best rows".to_owned()));
        parts.extend(slas);
    }
    if let Some(table) = tables::efficiencies(design, all) {
        parts.push(Part::Heading(2, "Efficiency".to_owned()));
        parts.push(table);
    }
    if let Some(table) = tables::beside(design, all, published) {
        parts.push(Part::Heading(2, "Published, here, ratio".to_owned()));
        parts.push(table);
    }
    between_systems(design, all, &mut parts);
    parts
}

/// What a reader of the figures has to know who has the published work at hand.
fn how_to_read(design: &Design<'_>, has_published: bool) -> Option<String> {
    let is_numbered = |title: &str| {
        title
            .split_once(" - ")
            .is_some_and(|(number, _)| number.starts_with(|sign: char| sign.is_ascii_digit()))
    };
    let marks = "Filled marks were measured here; hollow ones on a dotted line were published, and a note says where they were \
                 multiplied so that both have the same greatest value.";
    let numbers = "A number before a title is that of the figure in the published work.";
    let said: Vec<&str> = [
        Some(marks).filter(|_| has_published),
        Some(numbers).filter(|_| design.spec.figures.iter().any(|figure| is_numbered(&figure.title))),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// Runs that are over and have no place in this report, for its text was changed or only some of its levels are looked at.
fn outside(design: &Design<'_>, steps: &[Step]) -> Option<String> {
    let most = design.scale.repetitions.most.unwrap_or(design.scale.repetitions.least);
    let cells = design.cells.iter().filter(|cell| cell.is_run());
    let names = cells.flat_map(|cell| (1..=most).map(move |at| cell.run_name(&design.spec.name, at)));
    let names: BTreeSet<String> = names.collect();
    let ended = ended(steps);
    let missing = ended.keys().filter(|run| !names.contains(**run)).count();
    (missing > 0).then(|| {
        format!(
            "Not in this report: {missing} of {} runs that are over, of levels or repetitions that its text or what was chosen by \
             --only has not.",
            ended.len()
        )
    })
}

/// The day on which a study was begun, and the machine that made the load.
fn begun(steps: &[Step]) -> (String, &[String]) {
    let first = steps.iter().find_map(|step| match step {
        Step::Design { at_s, machine, .. } => Some((*at_s, machine.as_slice())),
        _ => None,
    });
    let (at_s, machine) = first.unwrap_or((0, &[]));
    let day = i64::try_from(at_s).ok().and_then(|at| Timestamp::from_second(at).ok());
    (day.map_or_else(String::new, |day| day.to_string().chars().take(10).collect()), machine)
}

fn state(design: &Design<'_>, steps: &[Step], parts: &mut Vec<Part>) {
    let (done, of, _) = how_far(design, steps);
    if done < of {
        parts.push(Part::Text(format!(
            "This study is not complete: {done} of {of} runs are done. The same command goes on."
        )));
    }
    parts.push(Part::Heading(3, "What was made smaller".to_owned()));
    let repetitions = design.scale.repetitions;
    let mut lines = design.scale.shrunk.clone();
    // What is aliased stands beside the effects.
    lines.extend(design.selected.iter().flat_map(|selected| selected.lines().into_iter().take(1)));
    let was = if done < of { "is to be" } else { "was" };
    let times = match repetitions.least {
        1 => format!("Each cell {was} run once: no claim can read better than \"not shown\"."),
        times if times < 5 => format!("Each cell {was} run {times} times: fewer than 5 show no claim."),
        times => format!("Each cell {was} run {times} times or more."),
    };
    lines.push(times);
    parts.push(Part::List(lines));
    if design.choice.as_published {
        let back = design.spec.as_published.iter().flat_map(|variant| variant.brings_back.clone()).collect();
        parts.push(Part::Text("With the published flaws put back (--as-published):".to_owned()));
        parts.push(Part::List(back));
    }
}

fn claims(design: &Design<'_>, all: &[Observation], parts: &mut Vec<Part>) {
    if design.spec.claims.is_empty() {
        return;
    }
    let judged = judge(design, all);
    let sum = in_one_sentence(&judged);
    let rows = judged
        .into_iter()
        .map(|one| {
            let look = match one.finding {
                Finding::Agrees | Finding::Emulated => Look::Best,
                Finding::NotTestable => Look::NotRun,
                Finding::Disagrees | Finding::NotShown => Look::Plain,
            };
            let finding = Field { text: one.finding.words().to_owned(), look };
            vec![Field::new(one.id), Field::new(one.says), finding, Field::new(one.why)]
        })
        .map(|mut row: Vec<Field>| {
            // The mark of a best row says nothing here.
            if row[2].look == Look::Best {
                row[2].look = Look::Plain;
            }
            row
        })
        .collect();
    parts.push(Part::Heading(2, "Claims".to_owned()));
    parts.push(Part::Text(sum));
    parts.push(Part::Table {
        caption: "A claim agrees or disagrees only where the whole 95 % interval over at least 5 runs does; \"emulated\" holds with a \
                  throttle or a shaped link that stands for hardware."
            .to_owned(),
        columns: ["id", "claim", "finding", "why"].map(str::to_owned).to_vec(),
        rows,
    });
}

/// How many claims have which finding.
fn in_one_sentence(judged: &[Judged]) -> String {
    const ORDER: [Finding; 5] =
        [Finding::Agrees, Finding::Disagrees, Finding::Emulated, Finding::NotShown, Finding::NotTestable];
    let count = |finding: Finding| judged.iter().filter(|one| one.finding == finding).count();
    let said: Vec<String> = ORDER
        .into_iter()
        .filter(|finding| count(*finding) > 0)
        .map(|finding| format!("{} {}", count(finding), finding.words()))
        .collect();
    let claims = if judged.len() == 1 { "claim" } else { "claims" };
    format!("Of {} {claims}: {}.", judged.len(), said.join(", "))
}

fn between_systems(design: &Design<'_>, all: &[Observation], parts: &mut Vec<Part>) {
    let found = differences(design, all);
    if found.is_empty() {
        return;
    }
    let mut rows = Vec::new();
    for one in &found {
        let levels: Vec<String> = one
            .levels
            .iter()
            .map(|(factor, level)| if factor == "op" { level.clone() } else { format!("{factor}={level}") })
            .collect();
        let ratio = one.interval.map_or_else(
            || short(one.ratio),
            |(low, high)| format!("{} ({} to {})", short(one.ratio), short(low), short(high)),
        );
        let look = if one.is_false { Look::False } else { Look::Plain };
        rows.push(vec![
            Field::new(levels.join(" ")),
            Field::new(format!("{} / {}", one.system, one.base)),
            Field::with(ratio, look),
            Field::new(one.pairs.to_string()),
            Field::new(one.words()),
        ]);
    }
    parts.push(Part::Heading(2, "Systems beside each other".to_owned()));
    parts.push(Part::Table {
        caption: "Ratio of throughput, paired by repetition; the intervals hold for all rows together with 95 % confidence."
            .to_owned(),
        columns: ["cell", "ratio of", "ratio", "pairs", "finding"].map(str::to_owned).to_vec(),
        rows,
    });
}

/// Runs that failed or cannot be read, each with where it stands.
fn failures(steps: &[Step], all: &[Observation], parts: &mut Vec<Part>) {
    let mut by: BTreeMap<&str, Vec<&Observation>> = BTreeMap::new();
    for one in all {
        by.entry(one.place.as_str()).or_default().push(one);
    }
    let (mut failed, mut unreadable) = (Vec::new(), Vec::new());
    for (run, end) in ended(steps) {
        let own = by.get(end.place.as_str()).map(Vec::as_slice).unwrap_or_default();
        if let Some(one) = own.iter().find(|one| one.unreadable) {
            let why = one.why.clone().unwrap_or_default();
            unreadable.push(format!("{run}: {why}"));
        } else if end.state == CellState::Failed {
            let stands = match own {
                [] => "it measured nothing",
                own if own.iter().all(|one| one.is_false()) => "what it measured stands above, marked FALSE",
                own if own.iter().any(|one| one.is_false()) => {
                    "what it measured stands above, partly marked FALSE"
                }
                _ => "what it measured before stands above",
            };
            failed.push(format!("{run}: {}; {stands}", end.why.unwrap_or_else(|| "failed".to_owned())));
        }
    }
    for (what, runs) in [
        ("Runs that failed:", failed),
        ("Runs that cannot be read, hatched above; --retry runs them once more:", unreadable),
    ] {
        if !runs.is_empty() {
            parts.push(Part::Text(what.to_owned()));
            parts.push(Part::List(runs));
        }
    }
}

fn set_up(design: &Design<'_>, steps: &[Step], machine: &[String], parts: &mut Vec<Part>) {
    parts.push(Part::Heading(2, "Set-up as found".to_owned()));
    if !machine.is_empty() {
        parts.push(Part::List(machine.to_vec()));
    }
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in steps {
        if let Step::Up { system, found: lines, .. } = step {
            found.entry(system).or_default().extend(lines.iter().map(String::as_str));
        }
    }
    // One whose start was cut off says nothing.
    for (system, lines) in found.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        parts.push(Part::Heading(3, format!("System {system}")));
        parts.push(Part::List(lines.into_iter().map(str::to_owned).collect()));
    }
    let rows = working_sets(design, machine);
    if !rows.is_empty() {
        parts.push(Part::Table {
            caption: "Working sets: bytes of one copy of the data, and of all copies, and what they are of the memory that the store \
                      has: this machine's, or what its test bed was given. What is well below 1 is read from there."
                .to_owned(),
            columns: ["cell", "one copy (MB)", "all copies (MB)", "one copy / memory", "all copies / memory"]
                .map(str::to_owned)
                .to_vec(),
            rows,
        });
    }
    if let Some(setup) = &design.spec.setup {
        parts.push(Part::Heading(3, "The published set-up".to_owned()));
        parts.push(Part::Text(setup.clone()));
    }
}

/// Bytes of memory that a system has: what its bed was given, else those of the machine that makes the load, where it is on
/// that; `None` for a store of the user, of which nobody knows.
fn memory_of(system: &System, machine: &[String]) -> Option<f64> {
    let given = system.environment.iter().find(|(key, _)| key.ends_with("_MEMORY"));
    if let Some((_, text)) = given {
        let number = |unit: char| text.0.strip_suffix(unit)?.parse::<f64>().ok();
        return number('G').map(|giga| giga * GIB).or_else(|| number('M').map(|mega| mega * GIB / 1024.0));
    }
    let of_line = |line: &String| -> Option<f64> {
        line.split(", ").find_map(|part| part.strip_suffix(" GiB of memory")?.parse().ok())
    };
    let is_here = system.bed.is_some() || system.block == Some(Block::File);
    machine.iter().filter(|_| is_here).find_map(of_line).map(|giga| giga * GIB).filter(|bytes| *bytes > 0.0)
}

const GIB: f64 = 1_073_741_824.0;

/// The bytes of each cell; cells of a system that all have the same are one row. `machine` says what makes the load.
fn working_sets(design: &Design<'_>, machine: &[String]) -> Vec<Vec<Field>> {
    let mut rows = Vec::new();
    for (at, system) in design.spec.systems.iter().enumerate() {
        let own = design.cells.iter().filter(|cell| cell.is_run() && cell.system == at);
        let sizes = own.map(|cell| (cell.id.clone(), estimate::data_bytes(design, cell).unwrap_or(0)));
        let mut sizes: Vec<(String, u64)> = sizes.filter(|(_, bytes)| *bytes > 0).collect();
        if sizes.len() > 1 && sizes.windows(2).all(|two| two[0].1 == two[1].1) {
            let name = format!("{}, each of {} cells", system.name, sizes.len());
            sizes.truncate(1);
            sizes[0].0 = name;
        }
        let memory = memory_of(system, machine);
        rows.extend(sizes.into_iter().map(|(name, bytes)| {
            #[expect(clippy::cast_precision_loss, reason = "a size for people")]
            let one = bytes as f64;
            let all = one * f64::from(system.copies);
            let mut row = vec![Field::new(name)];
            row.extend([one, all].map(|bytes| Field::new(short(bytes / 1e6))));
            let share = |bytes: f64| memory.map_or_else(|| "-".to_owned(), |memory| short(bytes / memory));
            row.extend([one, all].map(|bytes| Field::new(share(bytes))));
            row
        }));
    }
    rows
}

/// What no single machine can show, for every report.
const ONE_MACHINE: &str = "Not testable on one machine: absolute rates and their ratio to the published ones; limits of real network \
                           cards, switches and many clients; seeks, spindles and RAID; a client apart from its servers, so that what is \
                           bound by processors may be bound by the client; several proxies, monitors or data centres; memory beyond \
                           what was set.";

fn original(design: &Design<'_>, all: &[Observation], parts: &mut Vec<Part>) {
    if !design.spec.flaws.is_empty() {
        parts.push(Part::Heading(2, "What the original got wrong".to_owned()));
        parts.push(flaws(design, all));
    }
    parts.push(Part::Heading(2, "Limits of this study".to_owned()));
    let mut notes = design.spec.notes.clone();
    notes.push(ONE_MACHINE.to_owned());
    parts.push(Part::List(notes));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::design::Choice;

    #[test]
    fn claims_are_counted_by_their_findings_before_their_table() {
        let one = |finding| Judged { id: "C".into(), says: "s".into(), finding, why: String::new() };
        let found = [Finding::NotShown, Finding::Disagrees, Finding::NotShown, Finding::Emulated];
        assert_eq!(in_one_sentence(&found.map(one)), "Of 4 claims: 1 disagrees, 1 emulated, 2 not shown.");
        assert_eq!(in_one_sentence(&[one(Finding::Agrees)]), "Of 1 claim: 1 agrees.");
    }

    #[test]
    fn runs_of_levels_that_are_no_longer_there_are_counted() {
        let text = "
name: t
title: t
question: q
systems: [{name: one}]
factors: [{name: size, levels: [1MB, 2MB]}]
scales: {quick: {repetitions: {least: 2}}}
skip: [{when: {size: 2MB}, why: it is large}]
workload: {point: '- name: p', measured: p}
";
        let (spec, mistakes) = crate::spec::read(text);
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
        let said = |runs: &[&str]| {
            let end = |run: &&str| {
                let (run, place) = ((*run).to_owned(), "w1".to_owned());
                Step::End { run, state: CellState::Done, place, took_s: 1.0, why: None }
            };
            outside(&design, &runs.iter().map(end).collect::<Vec<_>>())
        };
        assert_eq!((said(&[]), said(&["t.one.1MB.r1", "t.one.1MB.r2"])), (None, None));
        let all = ["t.one.1MB.r1", "t.one.1MB.r3", "t.one.2MB.r1", "t.one.3MB.r1", "t.two.1MB.r1"];
        assert!(
            said(&all).is_some_and(|text| text.starts_with("Not in this report: 4 of 5 runs that are over"))
        );
    }

    #[test]
    fn working_sets_that_are_all_the_same_are_one_row() {
        let text = "
name: t
title: t
question: q
systems: [{name: one, copies: 3}]
factors: [{name: size, levels: [1MB, 2MB]}]
variables: {image: 1MB}
scales: {quick: {}}
workload: {point: '- name: p', measured: p}
data_bytes: [BYTES]
";
        let rows = |system: &str, bytes: &str| {
            let text = text.replace("BYTES", bytes).replace("name: one, ", &format!("name: one, {system}"));
            let (spec, mistakes) = crate::spec::read(&text);
            let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
            let choice = Choice { scale: "quick".into(), ..Choice::default() };
            let machine = ["2 processors, 4 GiB of memory, Linux 6.18".to_owned(), "of memory".to_owned()];
            let rows = working_sets(&Design::new(&spec, choice).unwrap(), &machine);
            rows.iter()
                .map(|row| row.iter().map(Field::words).collect::<Vec<_>>().join(" | "))
                .collect::<Vec<_>>()
        };
        // Of a store of the user nobody knows the memory.
        assert_eq!(rows("", "image"), ["one, each of 2 cells | 1.00 | 3.00 | - | -"]);
        assert_eq!(rows("", "size"), ["one.1MB | 1.00 | 3.00 | - | -", "one.2MB | 2.00 | 6.00 | - | -"]);
        let bed = |more: &str| rows(&format!("bed: swift, {more}"), "image").remove(0);
        assert!(bed("").ends_with("| 1.00 | 3.00 | 2.33e-4 | 6.98e-4"), "{}", bed(""));
        let small = bed("environment: {SWIFT_MEMORY: 10M}, ");
        assert!(small.ends_with("| 1.00 | 3.00 | 0.095 | 0.29"), "{small}");
        assert!(bed("environment: {SWIFT_MEMORY: much}, ").ends_with("| - | -"));
    }
}
