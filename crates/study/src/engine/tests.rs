//! Studies on virtual time: order, kills, budgets, repetitions, and what may be concluded.

mod fractions;

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::Overall;

use super::*;
use crate::claims::{Finding, judge};
use crate::design::{Choice, Levels};
use crate::differences::differences;
use crate::spec::{OneOrMore, Spec, System, Where, read};

const TEXT: &str = "
name: t
title: a test
question: which is faster
systems: [{name: a, bed: one}, {name: b, bed: two}, {name: c, bed: two}]
factors:
  - {name: size, levels: [4KB, 1MB]}
  - {name: n, within: true, levels: [1, 8]}
variables: {rampup: 1s, runtime: 9s}
scales:
  quick: {repetitions: {least: 2}}
  full: {repetitions: {least: 5, most: 9, within_percent: 5}}
workload:
  point: '- name: p-${{ n }}'
  measured: p-${{ n }}
claims:
  - id: FASTER
    says: c is twice as fast as a
    test: [{of: {where: {system: c}}, to: {where: {system: a}}, least: 1.9, most: 2.1}]
  - id: SLOWER
    says: c is slower than a
    test: [{of: {where: {system: c}}, to: {where: {system: a}}, most: 0.9}]
  - id: EQUAL
    says: b differs from a
    test: [{of: {where: {system: b}}, to: {where: {system: a}}, least: 0.99}]
  - id: SHAPED
    says: c is faster with a shaped link
    emulated: true
    test: [{of: {where: {system: c}}, to: {where: {system: a}}, least: 1.5}]
  - id: LINK
    says: the link is the limit
    needs: [shaped-link]
    test: [{of: {}, least: 1}]
  - {id: NEVER, says: disks seek, not_testable: there are none}
";

/// Each step is synced: on a disk that others use that is slow.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn spec(text: &str) -> Spec {
    let (spec, mistakes) = read(text);
    spec.unwrap_or_else(|| panic!("{mistakes:#?}"))
}

fn design(spec: &Spec, scale: &str, seed: u64) -> Design<'static> {
    let spec: &'static Spec = Box::leak(Box::new(spec.clone()));
    Design::new(spec, Choice { scale: scale.into(), seed, ..Choice::default() }).unwrap()
}

/// A machine on virtual time: what it ran is what its archive has, whatever became of the journal.
#[derive(Default)]
struct Virtual {
    clock_s: f64,
    cell_s: f64,
    archive: BTreeMap<String, CellEnd>,
    /// Every run that made load, in order.
    ran: Vec<String>,
    /// How far the study was before each.
    shown: Vec<(String, u64, u64, f64)>,
    up: Option<String>,
    ups: Vec<String>,
    /// Ends without a word before this many runs.
    dies_before: Option<usize>,
    fails: BTreeSet<String>,
    /// The bed ends in this run, which fails.
    loses_its_bed: Option<String>,
    /// Seconds that a bed takes to start.
    start_s: f64,
    /// Systems that cannot be here.
    cannot: BTreeSet<&'static str>,
    /// Why no bed starts, and why none that was started stops.
    never: Option<(&'static str, &'static str)>,
    /// Runs that are over and cannot be read.
    broken: BTreeSet<String>,
    /// Rates of systems.
    rates: BTreeMap<&'static str, f64>,
    /// Relative noise of a cell, by the beginning of its id.
    noise: BTreeMap<&'static str, f64>,
    verdict: Overall,
    /// Somebody asks that it stops after so many runs.
    stop_after: Option<usize>,
    /// Bytes that each bed's disk has free, from so many runs on.
    free: Option<(usize, u64)>,
    /// Somebody asks that it stops while a bed starts for this time.
    stopped_at_start: Option<usize>,
    /// What levels make of a rate.
    planted: Option<fn(&Levels) -> f64>,
    /// By what share of itself a rate grows from one repetition to the next.
    drift: f64,
}

impl Virtual {
    fn new() -> Self {
        let rates = BTreeMap::from([("a", 100.0), ("b", 100.0), ("c", 200.0)]);
        Self { cell_s: 30.0, rates, verdict: Overall::True, ..Self::default() }
    }
}

impl Runner for Virtual {
    fn now_s(&mut self) -> f64 {
        self.clock_s
    }

    fn date_s(&mut self) -> u64 {
        1_700_000_000
    }

    fn machine(&mut self) -> Vec<String> {
        vec!["a machine on virtual time".into()]
    }

    fn lacks_room(&mut self, _: &System, bytes: u64) -> Option<String> {
        let (from, free) = self.free?;
        (self.ran.len() >= from && bytes > free).then(|| format!("no room for {bytes}"))
    }

    fn cannot_be(&mut self, system: &System) -> Option<String> {
        self.cannot.contains(system.name.as_str()).then(|| "it needs root".to_owned())
    }

    fn serves(&mut self, system: &System) -> Result<bool, Trouble> {
        Ok(self.up.is_some() && self.up == system.bed)
    }

    fn up(&mut self, system: &System, is_left: bool) -> Result<Up, Trouble> {
        let bed = system.bed.clone().unwrap_or_default();
        let started = self.up.as_ref() != Some(&bed);
        assert!(self.up.is_none() || !started, "two beds at a time");
        assert_eq!(!started, is_left, "a bed that is up is one that was left");
        if let Some((why, _)) = self.never {
            return Err(Trouble::Failed(why.to_owned()));
        }
        if started {
            self.clock_s += self.start_s;
        }
        self.up = Some(bed.clone());
        self.ups.push(bed);
        if self.stopped_at_start == Some(self.ups.len()) {
            return Err(Trouble::Stopped);
        }
        Ok(Up { found: vec!["version 1".into()], started })
    }

    fn down(&mut self, _: &System, started: bool) -> Result<(), Trouble> {
        if let Some((_, why)) = self.never {
            return Err(Trouble::Failed(why.to_owned()));
        }
        if started {
            self.up = None;
        }
        Ok(())
    }

    fn earlier(&mut self, order: &Order<'_>) -> Option<CellEnd> {
        self.archive.get(order.run).filter(|_| !self.broken.contains(order.run)).cloned()
    }

    fn run(&mut self, order: &Order<'_>) -> Result<CellEnd, Trouble> {
        if self.dies_before == Some(self.ran.len()) {
            return Err(Trouble::Stopped);
        }
        let system = &order.design.spec.systems[order.cell.system];
        assert_eq!(self.up, system.bed, "{} runs on a bed that is not up", order.run);
        self.ran.push(order.run.to_owned());
        self.broken.remove(order.run);
        self.clock_s += self.cell_s;
        let dies = self.loses_its_bed.take_if(|run| run.as_str() == order.run).is_some();
        if dies {
            self.up = None;
        }
        let failed = dies || self.fails.contains(order.run);
        let state = if failed { CellState::Failed } else { CellState::Done };
        let why = failed.then(|| "it broke".to_owned());
        let end = CellEnd { state, place: order.run.to_owned(), took_s: self.cell_s, why };
        self.archive.insert(order.run.to_owned(), end.clone());
        Ok(end)
    }

    fn measured(&mut self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation> {
        Origin::measured(&*self, order, end)
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        let Progress { run, done, of, left_s } = *progress;
        self.shown.push((run.to_owned(), done, of, left_s));
    }

    fn is_to_stop(&mut self) -> bool {
        self.stop_after.is_some_and(|most| self.ran.len() >= most)
    }
}

impl Origin for Virtual {
    fn measured(&self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation> {
        if self.broken.contains(order.run) {
            return crate::measured::unreadable(order, &end.place);
        }
        let system = &order.design.spec.systems[order.cell.system].name;
        let noise = self
            .noise
            .iter()
            .find(|(start, _)| order.cell.id.starts_with(**start))
            .map_or(0.001, |one| *one.1);
        order
            .cell
            .points
            .iter()
            .map(|point| {
                let mut levels = order.cell.levels.clone();
                levels.extend(point.levels.clone());
                levels.insert("system".into(), system.clone());
                // The same on every machine, without a pattern over repetitions and systems.
                let hash = crate::journal::digest(&format!("{}{:?}", order.run, point.levels));
                let unit = u64::from_str_radix(&hash[8..], 16).unwrap() as f64 / 4_294_967_296.0;
                let planted = self.planted.map_or(1.0, |of| of(&levels));
                let later = 1.0 + self.drift * f64::from(order.repetition - 1);
                let rate = self.rates[system.as_str()] * planted * later * (1.0 + noise * (unit * 2.0 - 1.0));
                Observation {
                    levels,
                    op: "read".into(),
                    repetition: order.repetition,
                    values: BTreeMap::from([("throughput_per_s".into(), rate)]),
                    verdict: self.verdict,
                    place: end.place.clone(),
                    ..Observation::default()
                }
            })
            .collect()
    }
}

fn go(
    design: &Design<'_>,
    directory: &std::path::Path,
    runner: &mut Virtual,
    limits: Limits,
) -> Result<Outcome, String> {
    let mut journal = Journal::open(directory)?;
    Engine::new(design, "text", &mut journal, limits, runner)?.run(runner)
}

fn counts(runs: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for run in runs {
        *counts.entry(run.as_str()).or_default() += 1;
    }
    counts
}

#[test]
fn every_cell_is_run_as_often_as_stated_in_an_order_that_the_seed_draws_with_one_bed_up_at_a_time() {
    let spec = spec(TEXT);
    let mut orders = Vec::new();
    for seed in [1, 1, 2] {
        let directory = in_memory();
        let mut runner = Virtual::new();
        let outcome = go(&design(&spec, "quick", seed), directory.path(), &mut runner, Limits::default());
        assert_eq!(outcome, Ok(Outcome::Complete));
        // Three systems, two sizes, twice.
        assert_eq!(runner.ran.len(), 12, "{:?}", runner.ran);
        assert!(counts(&runner.ran).values().all(|count| *count == 1), "{:?}", runner.ran);
        assert_eq!(runner.up, None);
        // b and c share a bed: it is started once in each repetition.
        assert_eq!(runner.ups.len(), 4, "{:?}", runner.ups);
        let first: Vec<&String> = runner.ran.iter().take(6).collect();
        assert!(first.iter().all(|run| run.ends_with(".r1")), "{first:?}");
        orders.push(runner.ran);
    }
    assert_eq!(orders[0], orders[1]);
    assert_ne!(orders[0], orders[2]);
}

#[test]
fn a_journal_is_read_through_once_however_many_cells_a_study_has_and_goes_on_with() {
    let levels: Vec<String> = (1..=200).map(|size| format!("{size}KB")).collect();
    let text = TEXT.replace("levels: [4KB, 1MB]", &format!("levels: [{}]", levels.join(", ")));
    let spec = spec(&text);
    let design = design(&spec, "quick", 3);
    let directory = in_memory();
    let read_through = || crate::journal::READ_THROUGH.with(std::cell::Cell::get);
    let gone_through = || far::GONE_THROUGH.with(std::cell::Cell::get);
    let mut runner = Virtual { stop_after: Some(700), ..Virtual::new() };
    for (ran, outcome) in [(700, Outcome::Stopped), (1200, Outcome::Complete)] {
        let (before, cells_before) = (read_through(), gone_through());
        let limits = Limits { budget_s: Some(1e9), ..Limits::default() };
        assert_eq!(go(&design, directory.path(), &mut runner, limits), Ok(outcome));
        assert_eq!((runner.ran.len(), read_through() - before), (ran, 1));
        assert_eq!(gone_through() - cells_before, 1, "all cells, to say how far it is");
        runner.stop_after = None;
    }
    assert_eq!(runner.ran.iter().collect::<BTreeSet<_>>().len(), 1200, "none twice");
}

#[test]
fn the_levels_of_a_factor_are_gone_through_a_few_times_however_many_it_has() {
    let named = || crate::spec::NAMED.with(std::cell::Cell::get);
    let asked = |factor: &str, count: usize| {
        let levels: Vec<String> = (1..=count).map(|level| level.to_string()).collect();
        let text = TEXT.replace(&format!("levels: [{factor}]"), &format!("levels: [{}]", levels.join(", ")));
        let study = spec(&text);
        let before = named();
        let design = design(&study, "quick", 3);
        assert_eq!(estimate::cost(&design).unwrap().points, 3 * 2 * 2 * count as u64);
        for cell in &design.cells {
            assert!(design.rank("size", &cell.levels["size"]) < count);
        }
        named() - before
    };
    for factor in ["4KB, 1MB", "1, 8"] {
        let (few, many) = (asked(factor, 20), asked(factor, 200));
        assert!(many <= 11 * few, "{factor}: {few} of 20 levels, {many} of 200");
    }
}

#[test]
fn a_choice_of_levels_within_runs_is_the_same_in_any_order_and_another_one_is_refused() {
    let spec = spec(&TEXT.replace("levels: [1, 8]", "levels: [1, 8, 64]"));
    let spec: &'static Spec = Box::leak(Box::new(spec));
    let design = |levels: &[&str]| {
        let levels = OneOrMore(levels.iter().map(|level| (*level).to_owned()).collect());
        let only = Where::from([("n".to_owned(), levels)]);
        Design::new(spec, Choice { scale: "quick".into(), seed: 3, only, ..Choice::default() }).unwrap()
    };
    assert_eq!(design(&["64", "1", "64"]).only_within(), "n=1,64");
    // Journals have had the order of the call.
    assert!(design(&["1", "64"]).is_only_within("n=64,1"));
    assert!(!design(&["1", "64"]).is_only_within("n=1,8,64") && !design(&["1"]).is_only_within(""));
    let directory = in_memory();
    let mut runner = Virtual { stop_after: Some(2), ..Virtual::new() };
    assert_eq!(
        go(&design(&["1", "64"]), directory.path(), &mut runner, Limits::default()),
        Ok(Outcome::Stopped)
    );
    runner.stop_after = None;
    let why = go(&design(&["1", "8"]), directory.path(), &mut runner, Limits::default()).unwrap_err();
    assert!(why.contains("begun with --only n=1,64"), "{why}");
    assert_eq!(
        go(&design(&["64", "1"]), directory.path(), &mut runner, Limits::default()),
        Ok(Outcome::Complete)
    );
}

#[test]
fn a_study_that_was_cut_off_at_any_byte_of_its_journal_goes_on_without_a_double_or_a_gap() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 3);
    let directory = in_memory();
    let mut whole = Virtual::new();
    assert_eq!(go(&design, directory.path(), &mut whole, Limits::default()), Ok(Outcome::Complete));
    let journal = std::fs::read(directory.path().join("journal.jsonl")).unwrap();
    let line_ends: Vec<usize> = (1..=journal.len()).filter(|at| journal[at - 1] == b'\n').collect();
    let torn = in_memory();
    for cut in 0..=journal.len() {
        std::fs::write(torn.path().join("journal.jsonl"), &journal[..cut]).unwrap();
        let whole_lines = line_ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(crate::journal::steps(torn.path()).unwrap().len(), whole_lines, "cut {cut}");
    }
    // What a cut leaves are whole lines, and a torn one or none.
    let starts = std::iter::once(0).chain(line_ends.iter().copied());
    let cuts: BTreeSet<usize> = starts.flat_map(|start| [start, (start + 17).min(journal.len())]).collect();
    for cut in cuts {
        // The archive is ahead of the journal by the run that was begun, or is not.
        for ahead in [false, true] {
            let directory = in_memory();
            std::fs::write(directory.path().join("journal.jsonl"), &journal[..cut]).unwrap();
            let before = crate::journal::steps(directory.path()).unwrap();
            let done: BTreeSet<&str> = ended(&before).into_keys().collect();
            let begun = before.iter().filter_map(|step| match step {
                Step::Begin { run, .. } => Some(run.as_str()),
                _ => None,
            });
            let there: BTreeSet<&str> = if ahead { begun.collect() } else { done.clone() };
            let mut runner = Virtual::new();
            runner.archive = whole
                .archive
                .iter()
                .filter(|(run, _)| there.contains(run.as_str()))
                .map(|(run, end)| (run.clone(), end.clone()))
                .collect();
            // A bed may still be up.
            let last_up = before.iter().rev().find_map(|step| match step {
                Step::Up { system, .. } => {
                    Some(spec.systems.iter().find(|one| one.name == *system).unwrap().bed.clone())
                }
                Step::Down { .. } => Some(None),
                _ => None,
            });
            runner.up = last_up.flatten();
            assert_eq!(
                go(&design, directory.path(), &mut runner, Limits::default()),
                Ok(Outcome::Complete),
                "cut {cut}"
            );
            let steps = crate::journal::steps(directory.path()).unwrap();
            let ends: Vec<String> = steps
                .iter()
                .filter_map(|step| match step {
                    Step::End { run, .. } => Some(run.clone()),
                    _ => None,
                })
                .collect();
            assert_eq!(ends.len(), 12, "cut {cut}: {ends:?}");
            assert!(counts(&ends).values().all(|count| *count == 1), "cut {cut}: {ends:?}");
            assert!(
                runner.ran.iter().all(|run| !there.contains(run.as_str())),
                "cut {cut}: done twice: {:?}",
                runner.ran
            );
            assert_eq!(runner.up, None, "cut {cut}: a bed is left up");
        }
    }
}

#[test]
fn a_bed_whose_start_was_stopped_is_the_studys_and_does_not_stay() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 3);
    let directory = in_memory();
    let mut runner = Virtual { stopped_at_start: Some(1), ..Virtual::new() };
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Stopped));
    assert_eq!((runner.ran.len(), &runner.up), (0, &None), "the bed is left up");
    let steps = crate::journal::steps(directory.path()).unwrap();
    // A kill in place of the stop leaves the bed up, and the journal with the word that it is the study's.
    let begun = steps.iter().position(|step| matches!(step, Step::Up { started: true, .. })).unwrap();
    let text = std::fs::read_to_string(directory.path().join("journal.jsonl")).unwrap();
    let lines: String = text.lines().take(begun + 1).flat_map(|line| [line, "\n"]).collect();
    std::fs::write(directory.path().join("journal.jsonl"), lines).unwrap();
    (runner.up, runner.stopped_at_start) = (Some(runner.ups[0].clone()), None);
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    assert_eq!((runner.ran.len(), &runner.up), (12, &None), "the bed is left up");
}

/// Reads of a system at a size and a repetition.
fn seen(system: &str, size: &str, repetition: u32, rate: f64) -> Observation {
    let levels = [("system", system), ("size", size), ("n", "1")];
    Observation {
        levels: levels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        op: "read".into(),
        repetition,
        values: BTreeMap::from([("throughput_per_s".into(), rate)]),
        verdict: if rate > 0.0 { Overall::True } else { Overall::False },
        ..Observation::default()
    }
}

#[test]
fn a_repetition_of_the_wide_cells_alone_is_none_of_the_whole_and_a_cell_that_did_nothing_is_not_left_out() {
    let spec = spec(TEXT);
    let design = design(&spec, "full", 1);
    let mut all: Vec<Observation> = (1..=5)
        .flat_map(|repetition| {
            let of = |system, small, large| {
                [seen(system, "4KB", repetition, small), seen(system, "1MB", repetition, large)]
            };
            [of("a", 1000.0, 10.0), of("c", 2000.0, 20.0)].concat()
        })
        .collect();
    // A sixth of one cell of each: the ratio of these would be 0.02.
    all.extend([seen("a", "4KB", 6, 1000.0), seen("c", "1MB", 6, 20.0)]);
    let finding = |all: &[Observation]| {
        let judged = judge(&design, all).into_iter().find(|one| one.id == "FASTER").unwrap();
        (judged.finding, judged.why)
    };
    let (found, why) = finding(&all);
    assert!(found == Finding::Agrees && why.contains("5 runs"), "{why}");
    all.iter_mut().filter(|one| one.levels["system"] == "c" && one.levels["size"] == "1MB").for_each(|one| {
        *one = seen("c", "1MB", one.repetition, 0.0);
    });
    let (found, why) = finding(&all);
    assert!(found == Finding::NotShown && why.contains("FALSE"), "{found:?} {why}");
}

#[test]
fn a_claim_may_ask_whether_a_gain_grows() {
    let text = TEXT.replace(
        "claims:\n",
        "claims:
  - id: GROWS
    says: c gains more with large objects
    test: [{of: {where: {system: c, size: 1MB}}, to: {where: {system: a, size: 1MB}},
            than: {of: {where: {system: c, size: 4KB}}, to: {where: {system: a, size: 4KB}}}, least: 1.5}]
  - id: GROWS-MORE
    says: c gains thrice as much with large objects
    test: [{of: {where: {system: c, size: 1MB}}, to: {where: {system: a, size: 1MB}},
            than: {of: {where: {system: c, size: 4KB}}, to: {where: {system: a, size: 4KB}}}, least: 3}]
",
    );
    let spec = spec(&text);
    let design = design(&spec, "full", 1);
    let mut all: Vec<Observation> = (1..=5)
        .flat_map(|repetition| {
            let of = |system, small, large| {
                [seen(system, "4KB", repetition, small), seen(system, "1MB", repetition, large)]
            };
            [of("a", 1000.0, 10.0), of("c", 2000.0, 40.0)].concat()
        })
        .collect();
    let judged = |all: &[Observation], id: &str| {
        let one = judge(&design, all).into_iter().find(|one| one.id == id).unwrap();
        (one.finding, one.why)
    };
    let (finding, why) = judged(&all, "GROWS");
    assert!(finding == Finding::Agrees && why.starts_with("2.00 (2.00 to 2.00)"), "{finding:?} {why}");
    assert_eq!(judged(&all, "GROWS-MORE").0, Finding::Disagrees);
    all.retain(|one| one.levels["system"] != "a" || one.levels["size"] != "4KB");
    let (finding, why) = judged(&all, "GROWS");
    assert_eq!((finding, why.as_str()), (Finding::NotShown, "its cells were not run"));
    let limited =
        text.replace("{where: {system: a, size: 4KB}}}", "{where: {system: a, size: 4KB}}, most: 9}");
    let (none, mistakes) = read(&limited);
    assert!(
        none.is_none() && mistakes.iter().any(|one| one.message.contains("has no limits")),
        "{mistakes:#?}"
    );
}

#[test]
fn a_claim_compares_the_same_points_of_both_sides_or_says_which_were_measured_on_one_alone() {
    let text = TEXT.replace(
        "claims:\n",
        "claims:
  - id: LAST
    says: c is slower than a with the most clients
    test: [{of: {metric: response_ms.p99, where: {system: c}, take: last, over: n},
            to: {metric: response_ms.p99, where: {system: a}, take: last, over: n}, least: 1.5}]
  - id: FIRST
    says: c is slower than a with one client
    test: [{of: {metric: response_ms.p99, where: {system: c}, take: first, over: n},
            to: {metric: response_ms.p99, where: {system: a}, take: first, over: n}, least: 1.5}]
  - id: GROWTH
    says: times grow with the clients
    test: [{of: {metric: response_ms.p99, where: {system: a}, take: last, over: n},
            to: {metric: response_ms.p99, where: {system: a}, take: first, over: n}, least: 1.5}]
",
    );
    let spec = spec(&text);
    let design = design(&spec, "full", 1);
    let at = |system: &str, clients: &str, repetition: u32, p99: Option<f64>| {
        let mut one = seen(system, "4KB", repetition, 100.0);
        one.levels.insert("n".into(), clients.into());
        one.values.extend(p99.map(|p99| ("response_ms.p99".to_owned(), p99)));
        one
    };
    // With the most clients the percentile of c is not known: its last is that of one client.
    let all: Vec<Observation> = (1..=5)
        .flat_map(|r| {
            [
                at("a", "1", r, Some(10.0)),
                at("a", "8", r, Some(90.0)),
                at("c", "1", r, Some(20.0)),
                at("c", "8", r, None),
            ]
        })
        .collect();
    let judged = judge(&design, &all);
    let of =
        |id: &str| judged.iter().find(|one| one.id == id).map(|one| (one.finding, one.why.as_str())).unwrap();
    let (finding, why) = of("LAST");
    assert_eq!(finding, Finding::NotShown, "{why}");
    assert!(why.contains("measured only on one side: size=4KB n=1") && why.contains("n=8"), "{why}");
    assert_eq!((of("FIRST").0, of("GROWTH").0), (Finding::Agrees, Finding::Agrees), "{judged:#?}");
    // A mean over sizes of which one side lacks some.
    let mut all: Vec<Observation> =
        (1..=5).flat_map(|r| [seen("a", "4KB", r, 100.0), seen("c", "4KB", r, 200.0)]).collect();
    all.extend((1..=5).map(|r| seen("a", "1MB", r, 1.0)));
    let judged = judge(&design, &all);
    let faster = judged.iter().find(|one| one.id == "FASTER").unwrap();
    assert_eq!(
        (faster.finding, faster.why.as_str()),
        (Finding::NotShown, "measured only on one side: size=1MB n=1 read")
    );
}

#[test]
fn cells_whose_levels_are_written_alike_do_not_share_their_containers() {
    let prefixes = |sizes: &str, only: &[(&str, &str)]| {
        let text = TEXT.replace("levels: [4KB, 1MB]", &format!("levels: [{sizes}]")).replace(
            "  - {name: n, within: true",
            "  - {name: rate, levels: [x, b-x]}\n  - {name: n, within: true",
        );
        let study = spec(&text);
        let chosen =
            |(factor, level): &(&str, &str)| ((*factor).to_owned(), OneOrMore(vec![(*level).to_owned()]));
        let only = only.iter().map(chosen).collect();
        let choice = Choice { scale: "quick".into(), only, ..Choice::default() };
        let design = Design::new(&study, choice).unwrap();
        let prefix = |cell: &crate::design::Cell| {
            // All points of a cell have that of their cell.
            assert!(cell.points.iter().all(|point| point.values["prefix"] == cell.values["prefix"]));
            (cell.id.clone(), cell.values["prefix"].0.clone())
        };
        design.cells.iter().filter(|cell| cell.system == 0).map(prefix).collect::<BTreeMap<_, _>>()
    };
    let long = "abcdefghijklmnopqrstuvwxyz";
    for sizes in ["A, a", "a.b, a-b, a_b", "a-b, a", "4KB, 1MB", &format!("{long}-b, {long}")] {
        let found = prefixes(sizes, &[]);
        let different: BTreeSet<&String> = found.values().collect();
        assert_eq!(different.len(), found.len(), "{found:?}");
        for prefix in different {
            let is_good = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
            assert!(prefix.chars().all(is_good) && prefix.len() <= 40, "{prefix}");
        }
    }
    // Names that nobody shares can be read, and a choice changes none.
    assert_eq!(prefixes("4KB, 1MB", &[])["a.4KB.x"], "cosmark-t-4kb-x-");
    assert_eq!(prefixes("A, a", &[("size", "a")])["a.a.x"], prefixes("A, a", &[])["a.a.x"]);
}

#[test]
fn a_choice_of_which_every_cell_is_left_out_says_why() {
    let skip = "skip:\n  - {when: {system: a}, why: it is slow}\n  - {when: {size: 4KB}, why: too small}\nvariables:";
    let study = spec(&TEXT.replace("variables:", skip));
    let why = |only: &[(&str, &str)]| {
        let chosen =
            |(factor, level): &(&str, &str)| ((*factor).to_owned(), OneOrMore(vec![(*level).to_owned()]));
        let only = only.iter().map(chosen).collect();
        let choice = Choice { scale: "quick".into(), only, ..Choice::default() };
        Design::new(&study, choice).unwrap().why_nothing_is_run()
    };
    assert_eq!((why(&[]), why(&[("system", "b")])), (None, None));
    assert!(why(&[("system", "a")]).is_some_and(|why| why.contains("left out (it is slow)")));
    assert!(why(&[("size", "4KB")]).is_some_and(|why| why.contains("left out (it is slow; too small)")));
}

#[test]
fn two_cells_that_would_have_one_name_are_refused() {
    let text = TEXT.replace(
        "  - {name: n, within: true, levels: [1, 8]}",
        "  - {name: rate, levels: [5, 9.5]}\n  - {name: n, within: true, levels: [1, 8]}",
    );
    let spec = spec(&text.replace("levels: [4KB, 1MB]", "levels: [0, 0.9]"));
    let choice = Choice { scale: "quick".into(), ..Choice::default() };
    let said = Design::new(&spec, choice).map(drop).unwrap_err();
    assert!(said.contains("two cells are called a.0.9.5"), "{said}");
}

#[test]
fn a_study_without_room_for_its_largest_cell_is_not_begun_and_one_that_loses_it_stops_and_goes_on() {
    let text = TEXT.replace("{name: c, bed: two}", "{name: c, bed: two, copies: 3}") + "data_bytes: [size]\n";
    let spec = spec(&text);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    // The largest are 1 MB in three copies.
    let mut runner = Virtual { free: Some((0, 2_999_999)), ..Virtual::new() };
    let outcome = go(&design, directory.path(), &mut runner, Limits::default());
    assert_eq!(outcome, Err("c: no room for 3000000".to_owned()));
    assert!(runner.ran.is_empty() && runner.ups.is_empty(), "{:?} {:?}", runner.ran, runner.ups);
    runner.free = Some((0, 3_000_000));
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));

    // The disk fills up after four runs.
    let directory = in_memory();
    let mut runner = Virtual { free: Some((4, 2_999_999)), ..Virtual::new() };
    let why = go(&design, directory.path(), &mut runner, Limits::default()).unwrap_err();
    assert!(why.contains("t.c.1MB.r") && why.contains("the same command goes on"), "{why}");
    let ran = runner.ran.len();
    assert!((4..12).contains(&ran), "{:?}", runner.ran);
    assert_eq!(runner.up, None, "what was started is stopped");
    runner.free = None;
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    assert!(
        runner.ran.len() == 12 && counts(&runner.ran).values().all(|count| *count == 1),
        "{:?}",
        runner.ran
    );
}

#[test]
fn a_budget_is_not_overrun_and_the_next_call_goes_on() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    let mut calls = 0;
    loop {
        calls += 1;
        let before = runner.clock_s;
        let limits = Limits { budget_s: Some(100.0), retry: false };
        let outcome = go(&design, directory.path(), &mut runner, limits).unwrap();
        assert!(runner.clock_s - before <= 100.0, "{}", runner.clock_s - before);
        assert_eq!(runner.up, None);
        if outcome == Outcome::Complete {
            break;
        }
        assert_eq!(outcome, Outcome::BudgetSpent);
        assert!(runner.clock_s > before && calls < 20, "no way forward");
    }
    assert!(calls >= 4, "{calls}");
    assert!(runner.ran.len() == 12 && counts(&runner.ran).values().all(|count| *count == 1));
}

#[test]
fn a_budget_starts_no_bed_for_nothing_and_is_not_misled_by_a_clock_that_was_set_back() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual { start_s: 20.0, ..Virtual::new() };
    let limits = Limits { budget_s: Some(120.0), retry: false };
    let mut calls = 0;
    loop {
        let (before, ups, ran) = (runner.clock_s, runner.ups.len(), runner.ran.len());
        let outcome = go(&design, directory.path(), &mut runner, limits).unwrap();
        assert!(runner.clock_s - before <= 120.0, "{}", runner.clock_s - before);
        let (ups, ran) = (runner.ups.len() - ups, runner.ran.len() - ran);
        assert!(ups <= ran, "{ups} starts for {ran} runs");
        calls += 1;
        if outcome == Outcome::Complete {
            break;
        }
        assert!(ran > 0 && calls < 20, "no way forward");
    }
    assert!(runner.ran.len() == 12 && counts(&runner.ran).values().all(|count| *count == 1));

    // The archive has a run of each cell that ended before it began, by the clock on the wall.
    let directory = in_memory();
    let mut runner = Virtual::new();
    for cell in &design.cells {
        let run = cell.run_name("t", 1);
        let end = CellEnd { state: CellState::Done, place: run.clone(), took_s: -1e6, why: None };
        runner.archive.insert(run, end);
    }
    let limits = Limits { budget_s: Some(70.0), retry: false };
    assert_eq!(go(&design, directory.path(), &mut runner, limits), Ok(Outcome::BudgetSpent));
    assert!(runner.clock_s <= 70.0 && !runner.ran.is_empty(), "{} {:?}", runner.clock_s, runner.ran);
}

#[test]
fn what_this_machine_cannot_be_is_said_before_anything_is_begun_with_what_can() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual { cannot: BTreeSet::from(["b"]), ..Virtual::new() };
    let why = go(&design, directory.path(), &mut runner, Limits::default()).unwrap_err();
    assert_eq!(why, "b: it needs root; --only system=a,c leaves that out");
    assert!(runner.ran.is_empty() && runner.ups.is_empty());
    // What is over needs nothing any more.
    runner.cannot.clear();
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    runner.cannot = BTreeSet::from(["a", "b", "c"]);
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
}

#[test]
fn a_bed_that_neither_starts_nor_stops_says_both_and_is_taken_down_by_the_next_call() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual { never: Some(("its port is taken", "a mount is busy")), ..Virtual::new() };
    let why = go(&design, directory.path(), &mut runner, Limits::default()).unwrap_err();
    for words in ["its port is taken", "a mount is busy", "the same command goes on"] {
        assert!(why.contains(words), "{why}");
    }
    assert!(runner.ran.is_empty());
    // Half of it is up, as the journal has it.
    let text = std::fs::read_to_string(directory.path().join(crate::journal::JOURNAL)).unwrap();
    assert!(text.contains("\"up\"") && !text.contains("\"down\""), "{text}");
    runner.never = None;
    let first = crate::journal::steps(directory.path()).unwrap().into_iter().find_map(|step| match step {
        Step::Up { system, .. } => design.spec.systems.iter().find(|one| one.name == system).cloned(),
        _ => None,
    });
    runner.up = first.and_then(|system| system.bed);
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    assert!(runner.ran.len() == 12 && runner.up.is_none(), "{:?}", runner.ran);
}

#[test]
fn a_bed_that_dies_in_a_cell_ends_the_call_and_the_next_does_that_cell_once_more() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    let lost = design.cells[2].run_name("t", 1);
    runner.loses_its_bed = Some(lost.clone());
    let why = go(&design, directory.path(), &mut runner, Limits::default()).unwrap_err();
    assert!(why.contains(&lost) && why.contains("does not serve any more"), "{why}");
    assert_eq!(runner.ran.last(), Some(&lost), "nothing is run on a bed that is gone");
    let limits = Limits { retry: true, budget_s: None };
    assert_eq!(go(&design, directory.path(), &mut runner, limits), Ok(Outcome::Complete));
    let counts = counts(&runner.ran);
    assert_eq!((counts[lost.as_str()], counts.len(), runner.ran.len()), (2, 12, 13), "{counts:?}");
    assert_eq!(runner.up, None);
}

#[test]
fn only_cells_whose_interval_is_too_wide_are_run_more_often_and_never_without_end() {
    let spec = spec(TEXT);
    let design = design(&spec, "full", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    runner.noise.insert("b.4KB", 0.9);
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    let of = |start: &str| runner.ran.iter().filter(|run| run.starts_with(start)).count();
    assert_eq!((of("t.a.4KB."), of("t.c.1MB."), of("t.b.1MB.")), (5, 5, 5));
    assert_eq!(of("t.b.4KB."), 9);
    // The same call finds nothing to do.
    let done = runner.ran.len();
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    assert_eq!(runner.ran.len(), done);
}

#[test]
fn three_failures_in_a_row_end_a_study_and_retry_runs_them_once_more() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    runner.fails = design.cells.iter().map(|cell| cell.run_name("t", 1)).collect();
    let said = go(&design, directory.path(), &mut runner, Limits::default()).unwrap_err();
    assert!(said.contains("3 cells in a row failed") && said.contains("it broke"), "{said}");
    assert_eq!((runner.ran.len(), runner.up.clone()), (3, None));
    runner.fails.clear();
    let failed: Vec<String> = runner.ran.clone();
    assert_eq!(
        go(&design, directory.path(), &mut runner, Limits { retry: true, budget_s: None }),
        Ok(Outcome::Complete)
    );
    for run in &failed {
        assert_eq!(runner.ran.iter().filter(|one| *one == run).count(), 2, "{run}");
    }
    assert_eq!(runner.ran.len(), 12 + 3);
}

#[test]
fn what_was_measured_of_another_text_scale_or_seed_is_not_gone_on_with() {
    let spec = spec(TEXT);
    let directory = in_memory();
    let mut runner = Virtual::new();
    runner.dies_before = Some(2);
    assert_eq!(
        go(&design(&spec, "quick", 1), directory.path(), &mut runner, Limits::default()),
        Ok(Outcome::Stopped)
    );
    for (scale, seed, text) in [("full", 1, "text"), ("quick", 2, "text"), ("quick", 1, "other")] {
        let other = design(&spec, scale, seed);
        let mut journal = Journal::open(directory.path()).unwrap();
        let said = Engine::new(&other, text, &mut journal, Limits::default(), &mut runner).err().unwrap();
        assert!(said.contains("--dir"), "{said}");
    }
    // The names of containers stay those with which it was begun.
    let choice = Choice { scale: "quick".into(), seed: 1, tag: "a1b2c3".into(), ..Choice::default() };
    let tagged = Design::new(&spec, choice).unwrap();
    assert_eq!(tagged.cells[0].values["prefix"].0, "cosmark-a1b2c3-t-4kb-");
    let mut journal = Journal::open(directory.path()).unwrap();
    let said = Engine::new(&tagged, "text", &mut journal, Limits::default(), &mut runner).err().unwrap();
    assert!(said.contains("another call began this study"), "{said}");
    drop(journal);
    // The same path with another store behind it.
    let elsewhere = in_memory();
    let at = |digest: &str| {
        let targets = BTreeMap::from([("a".to_owned(), digest.to_owned())]);
        let choice = Choice { scale: "quick".into(), seed: 1, targets, ..Choice::default() };
        let mut journal = Journal::open(elsewhere.path()).unwrap();
        let design = Design::new(&spec, choice).unwrap();
        Engine::new(&design, "text", &mut journal, Limits::default(), &mut Virtual::new()).map(drop)
    };
    assert_eq!((at("1"), at("1")), (Ok(()), Ok(())));
    // Nothing was measured: nothing would be mixed.
    assert_eq!((at("2"), at("1")), (Ok(()), Ok(())));
    let (run, place) = ("t.a.4KB.r1".to_owned(), "w1".to_owned());
    let end = crate::journal::Step::End { run, state: CellState::Done, place, took_s: 1.0, why: None };
    Journal::open(elsewhere.path()).unwrap().append(end).unwrap();
    assert!(at("2").is_err_and(|why| why.contains("the target of a was changed") && why.contains("--dir")));
    // A report of it is refused in the same way, but for the text alone.
    let steps = crate::journal::steps(directory.path()).unwrap();
    let of = |scale: &str, text: &str| belongs(&design(&spec, scale, 1), text, &steps);
    assert!(of("full", "text").is_err_and(|why| why.contains("holds t --scale quick")));
    assert_eq!((of("quick", "text"), of("quick", "other")), (Ok(Belongs::Whole), Ok(Belongs::OtherText)));
    crate::place::keep(directory.path(), &format!("{TEXT}\n# --system a=x.yaml"), "").unwrap();
    assert!(!crate::place::is_changed(directory.path(), TEXT));
    assert!(crate::place::is_changed(directory.path(), &TEXT.replace("a test", "another")));
    let held = Journal::open(directory.path()).unwrap();
    assert!(Journal::open(directory.path()).is_err_and(|why| why.contains("another cosmark")));
    drop(held);
}

#[test]
fn a_study_that_has_measured_nothing_takes_another_text() {
    let spec = spec(TEXT);
    let (directory, design) = (in_memory(), design(&spec, "quick", 1));
    let begin = |text: &str, runner: &mut Virtual| {
        let mut journal = Journal::open(directory.path()).unwrap();
        let engine = Engine::new(&design, text, &mut journal, Limits::default(), runner);
        engine.map(|engine| engine.is_begun_again)
    };
    let mut runner = Virtual::new();
    let said: Vec<_> = ["one", "one", "two", "two"].map(|text| begin(text, &mut runner)).to_vec();
    assert_eq!(said, [Ok(false), Ok(false), Ok(true), Ok(false)]);
    let steps = crate::journal::steps(directory.path()).unwrap();
    assert_eq!(steps.len(), 1, "the journal is that of the new text: {steps:?}");
    assert_eq!(belongs(&design, "two", &steps), Ok(Belongs::Whole));
    // With another scale it is still another study.
    let full =
        super::Design::new(&spec, Choice { scale: "full".into(), seed: 1, ..Choice::default() }).unwrap();
    let mut journal = Journal::open(directory.path()).unwrap();
    assert!(Engine::new(&full, "two", &mut journal, Limits::default(), &mut runner).is_err());
    drop(journal);
    assert!(go(&design, directory.path(), &mut runner, Limits::default()).is_ok());
    assert!(begin("three", &mut runner).is_err_and(|why| why.contains("--dir")));
}

#[test]
fn a_run_that_cannot_be_read_is_shown_as_such_and_retry_runs_it_once_more() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    runner.broken =
        BTreeSet::from(["t.c.4KB.r1", "t.c.4KB.r2", "t.c.1MB.r1", "t.c.1MB.r2"].map(str::to_owned));
    let steps = crate::journal::steps(directory.path()).unwrap();
    let all = observations(&design, &steps, &runner);
    let broken: Vec<&Observation> = all.iter().filter(|one| one.unreadable).collect();
    assert_eq!((broken.len(), all.len()), (8, 24), "each point of each run");
    let judged = judge(&design, &all);
    let faster = judged.iter().find(|one| one.id == "FASTER").unwrap();
    assert_eq!(
        (faster.finding, faster.why.as_str()),
        (Finding::NotShown, "a run of its cells cannot be read")
    );
    let crate::page::Part::Table { rows, .. } = crate::tables::cells(&design, &all) else { panic!() };
    let hatched: Vec<String> = rows
        .iter()
        .filter(|row| row.iter().any(|field| field.look == crate::page::Look::False))
        .map(|row| row.last().unwrap().text.clone())
        .collect();
    assert_eq!(hatched, vec!["its run cannot be read"; 4], "{rows:?}");
    // They are not taken for what was measured.
    assert_eq!(crate::grid::choices(&all).1, ["read"]);
    let spots = crate::grid::spots(&design, &all, "throughput_per_s", "read");
    let unread = spots.iter().filter(|spot| spot.why.as_deref() == Some("its run cannot be read"));
    assert_eq!(unread.filter(|spot| spot.worth.is_none() && spot.operation.is_none()).count(), 4);
    // Without --retry nothing is run, with it those alone.
    let ran = runner.ran.len();
    assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
    assert_eq!(runner.ran.len(), ran);
    let limits = Limits { retry: true, budget_s: None };
    assert_eq!(go(&design, directory.path(), &mut runner, limits), Ok(Outcome::Complete));
    assert_eq!((runner.ran.len(), runner.broken.len()), (ran + 4, 0), "{:?}", runner.ran);
}

fn findings(scale: &str, runner: &mut Virtual) -> BTreeMap<String, (Finding, String)> {
    let spec = spec(TEXT);
    let design = design(&spec, scale, 1);
    let directory = in_memory();
    go(&design, directory.path(), runner, Limits::default()).unwrap();
    let steps = crate::journal::steps(directory.path()).unwrap();
    let all = observations(&design, &steps, runner);
    judge(&design, &all).into_iter().map(|one| (one.id, (one.finding, one.why))).collect()
}

#[test]
fn a_scale_may_leave_systems_out() {
    let spec = spec(&TEXT.replace("quick: {rep", "quick: {levels: {system: [a, c], n: [8]}, rep"));
    let systems = |scale: &str| -> BTreeSet<String> {
        let design = design(&spec, scale, 1);
        design.cells.iter().map(|cell| design.spec.systems[cell.system].name.clone()).collect()
    };
    assert_eq!(systems("quick"), BTreeSet::from(["a".to_owned(), "c".to_owned()]));
    assert_eq!(systems("full").len(), 3);
    let (_, mistakes) = read(&TEXT.replace("quick: {rep", "quick: {levels: {system: [d]}, rep"));
    assert!(mistakes.iter().any(|one| one.message.contains("d: no level of system")), "{mistakes:#?}");
}

#[test]
fn what_a_claim_needs_is_provided_by_a_system_that_is_run_and_by_no_other() {
    let spec = spec(&TEXT.replace("{name: c, bed: two}", "{name: c, bed: two, provides: [shaped-link]}"));
    let judged = |systems: &[&str]| {
        let systems = systems.iter().map(|name| (*name).to_owned()).collect();
        let only = Where::from([("system".to_owned(), OneOrMore(systems))]);
        let choice = Choice { scale: "quick".into(), seed: 1, only, ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        let found = judge(&design, &[]).into_iter().find(|one| one.id == "LINK").unwrap();
        (found.finding, found.why)
    };
    let (finding, why) = judged(&["a", "b"]);
    assert_eq!(finding, Finding::NotTestable);
    assert!(why.contains("needs shaped-link, which no system of this run has"), "{why}");
    assert_eq!(judged(&["a", "c"]).0, Finding::NotShown, "nothing was measured yet");
}

#[test]
fn a_planted_winner_is_found_equal_systems_differ_by_nothing_and_few_runs_show_nothing() {
    let spec = spec(TEXT);
    let design = design(&spec, "full", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    runner.noise = BTreeMap::from([("a", 0.03), ("b", 0.03), ("c", 0.03)]);
    go(&design, directory.path(), &mut runner, Limits::default()).unwrap();
    let steps = crate::journal::steps(directory.path()).unwrap();
    let all = observations(&design, &steps, &runner);
    let found = differences(&design, &all);
    assert_eq!(found.len(), 8);
    for one in &found {
        let expected = if one.system == "c" { Some("c") } else { None };
        assert_eq!(one.winner(), expected, "{one:?}");
        assert_eq!(one.words().contains("no difference shown"), expected.is_none());
    }
    let found = findings("full", &mut runner);
    let of = |id: &str| found[id].0;
    assert_eq!(
        (of("FASTER"), of("SLOWER"), of("EQUAL")),
        (Finding::Agrees, Finding::Disagrees, Finding::NotShown),
        "{found:#?}"
    );
    assert_eq!(
        (of("SHAPED"), of("LINK"), of("NEVER")),
        (Finding::Emulated, Finding::NotTestable, Finding::NotTestable)
    );
    // Twice is not five times, however clear it looks.
    let found = findings("quick", &mut Virtual::new());
    for id in ["FASTER", "SLOWER", "EQUAL", "SHAPED"] {
        assert_eq!(found[id].0, Finding::NotShown, "{found:#?}");
    }
    assert!(
        found["FASTER"].1.contains("points the way") && found["SHAPED"].1.contains("emulated"),
        "{found:#?}"
    );
    // What cannot be believed shows nothing either.
    let mut wrong = Virtual::new();
    wrong.verdict = Overall::False;
    assert_eq!(findings("full", &mut wrong)["FASTER"].0, Finding::NotShown);
}

/// A call of the study's text, as the command makes it.
fn called(design: &Design<'_>, directory: &std::path::Path, runner: &mut Virtual) -> Result<Outcome, String> {
    let mut journal = Journal::open(directory)?;
    crate::place::keep(directory, TEXT, "")?;
    let only = design.choice.only.iter().map(|(factor, levels)| (factor.clone(), levels.0.clone())).collect();
    let call = Call { at_s: 5, only, arguments: vec!["study".into(), "t".into()], directory: "/lab".into() };
    Engine::new(design, TEXT, &mut journal, Limits::default(), runner)?.on_call(call).run(runner)
}

#[test]
fn a_study_that_is_asked_to_stop_begins_no_other_cell_and_says_how_it_stands() {
    use crate::place::{State, look};
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let state = |held| {
        let look = look(directory.path()).unwrap();
        let state = look.state(look.design().as_ref().ok(), held, false).0;
        (state, look)
    };
    let mut runner = Virtual { stop_after: Some(5), ..Virtual::new() };
    assert_eq!(called(&design, directory.path(), &mut runner), Ok(Outcome::Stopped));
    assert_eq!((runner.ran.len(), runner.up.take()), (5, None), "what was started is stopped");
    assert_eq!(
        (state(false).0, state(true).0),
        (State::Stopped, State::Stopping),
        "while it writes its report"
    );
    // Killed in a cell: the journal ends with its beginning.
    let journal = directory.path().join("journal.jsonl");
    runner.stop_after = None;
    assert_eq!(called(&design, directory.path(), &mut runner), Ok(Outcome::Complete));
    let whole = std::fs::read_to_string(&journal).unwrap();
    let cut = whole.rfind("\"step\":\"end\"").map(|at| whole[..at].rfind('\n').unwrap() + 1).unwrap();
    std::fs::write(&journal, &whole[..cut]).unwrap();
    let (found, seen) = state(false);
    assert_eq!(found, State::CutOff);
    assert_eq!(
        seen.under_way().map(|(run, at_s)| (run.starts_with("t."), at_s)),
        Some((true, 1_700_000_000))
    );
    std::fs::write(&journal, &whole).unwrap();
    let (found, seen) = state(false);
    assert_eq!((found, seen.under_way(), seen.calls().count()), (State::Complete, None, 2));
    assert_eq!(seen.spent_s(), 12.0 * 30.0);
    // A call that finds nothing to do changes nothing.
    assert_eq!(called(&design, directory.path(), &mut runner), Ok(Outcome::Complete));
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), whole);
    // Another text beside the journal is not taken for the one that was run.
    std::fs::write(directory.path().join("study.yaml"), TEXT.replace("a test", "another")).unwrap();
    let seen = look(directory.path()).unwrap();
    assert!(seen.design().unwrap_err().contains("is not the one that was run"), "{seen:?}");
}

#[test]
fn the_grid_has_every_point_of_all_calls_once_with_its_state_and_value() {
    use crate::grid::{RunState, choices, runs, spots, together};
    let spec = spec(TEXT);
    let directory = in_memory();
    let only = |system: &str| {
        let only = Where::from([("system".to_owned(), OneOrMore(vec![system.to_owned()]))]);
        let choice = Choice { scale: "quick".into(), seed: 1, only, ..Choice::default() };
        Design::new(Box::leak(Box::new(spec.clone())), choice).unwrap()
    };
    let mut runner = Virtual::new();
    runner.fails.insert("t.a.4KB.r2".to_owned());
    assert_eq!(called(&only("a"), directory.path(), &mut runner), Ok(Outcome::Complete));
    let seen = crate::place::look(directory.path()).unwrap();
    assert_eq!(seen.design().unwrap().cells.len(), 2, "cells that nobody called for are not planned");
    runner.stop_after = Some(5);
    assert_eq!(called(&only("c"), directory.path(), &mut runner), Ok(Outcome::Stopped));
    let seen = crate::place::look(directory.path()).unwrap();
    let design = seen.design().unwrap();
    let ids: Vec<&str> = design.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids, ["a.4KB", "a.1MB", "c.4KB", "c.1MB"]);
    let all = observations(&design, &seen.steps, &runner);
    assert_eq!(choices(&all), (vec!["throughput_per_s".to_owned()], vec!["read".to_owned()]));
    let spots = spots(&design, &all, "throughput_per_s", "read");
    assert_eq!(spots.len(), 8);
    let worth: Vec<u32> =
        spots.iter().map(|spot| spot.worth.as_ref().map_or(0, |worth| worth.repetitions)).collect();
    assert_eq!((&worth[..4], worth[4..].iter().sum::<u32>()), (&[2, 2, 2, 2][..], 2));
    assert!(
        spots[0]
            .worth
            .as_ref()
            .is_some_and(|worth| (99.0..101.0).contains(&worth.mean) && worth.ends.is_some())
    );
    assert!(spots.iter().all(|spot| spot.operation.is_none()));
    let others = crate::grid::spots(&design, &all, "throughput_per_s", "write");
    assert_eq!(others[0].operation.as_deref(), Some("read"), "nothing else was measured there");
    assert_eq!(others[0].worth, spots[0].worth);
    let states =
        |held| runs(&design, &seen.steps, held).iter().map(|runs| together(runs)).collect::<Vec<_>>();
    assert_eq!(&states(false)[..2], [RunState::Failed, RunState::Done]);
    assert!(states(false)[2..].iter().all(|state| *state == RunState::Waiting), "{:?}", states(false));
    // The same journal while a cell is under way.
    let mut steps = seen.steps.clone();
    steps.push(Step::Begin { run: "t.c.1MB.r2".into(), at_s: 7 });
    for (held, wanted) in [(true, RunState::Running), (false, RunState::CutOff)] {
        let runs = runs(&design, &steps, held);
        assert_eq!(runs[3].iter().find(|run| run.repetition == 2).map(|run| run.state), Some(wanted));
    }
}

#[test]
fn what_is_left_of_a_study_is_known_better_by_what_is_over() {
    let spec = spec(TEXT);
    let design = design(&spec, "quick", 1);
    let (_, of, estimated_s) = how_far(&design, &[]);
    let run = design.cells[0].run_name("t", 1);
    let expected_s = estimated_s / of as f64;
    let end = |state| Step::End {
        run: run.clone(),
        state,
        place: "w1".into(),
        took_s: 2.0 * expected_s,
        why: None,
    };
    let (done, _, left_s) = how_far(&design, &[end(CellState::Done)]);
    assert!(
        done == 1 && (left_s / (estimated_s - expected_s) - 2.0).abs() < 0.01,
        "{left_s} of {estimated_s}"
    );
    let (_, _, left_s) = how_far(&design, &[end(CellState::Failed)]);
    assert!((left_s - (estimated_s - expected_s)).abs() < 0.01, "{left_s} of {estimated_s}");
}

#[test]
fn how_far_a_study_is_stays_right_after_each_end_also_where_a_run_is_done_again() {
    let spec = spec(&TEXT.replace("levels: [4KB, 1MB]", "levels: [{name: 4KB, set: {runtime: 61s}}, 1MB]"));
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual { stop_after: Some(5), ..Virtual::new() };
    // A kill came between its end and the journal.
    let known = "t.a.1MB.r2".to_owned();
    let end = CellEnd { state: CellState::Done, place: known.clone(), took_s: 7.0, why: None };
    runner.archive.insert(known, end);
    let names = |runs: &[&str]| runs.iter().map(|run| (*run).to_owned()).collect::<BTreeSet<_>>();
    let calls = [
        (20.0, names(&["t.a.4KB.r2", "t.c.1MB.r1"]), names(&[]), 5),
        (47.0, names(&["t.a.4KB.r2", "t.c.1MB.r1"]), names(&[]), 11),
        // One that was done fails when it is done again.
        (90.0, names(&["t.b.4KB.r1"]), names(&["t.b.4KB.r1", "t.b.1MB.r1"]), 15),
        (3.0, names(&[]), names(&[]), 16),
    ];
    for (call, (cell_s, fails, broken, ran)) in calls.into_iter().enumerate() {
        (runner.cell_s, runner.fails, runner.broken) = (cell_s, fails, broken);
        let limits = Limits { retry: call > 1, budget_s: None };
        let outcome = if call == 0 { Outcome::Stopped } else { Outcome::Complete };
        assert_eq!(go(&design, directory.path(), &mut runner, limits), Ok(outcome));
        assert_eq!(runner.ran.len(), ran, "{:?}", runner.ran);
        runner.stop_after = None;
    }
    let steps = crate::journal::steps(directory.path()).unwrap();
    let begins = steps.iter().enumerate().filter_map(|(at, step)| match step {
        Step::Begin { run, .. } => Some((at, run)),
        _ => None,
    });
    let begins: Vec<(usize, &String)> = begins.collect();
    assert_eq!(begins.len(), runner.shown.len());
    for ((at, run), (shown, done, of, left_s)) in begins.into_iter().zip(&runner.shown) {
        let right = how_far(&design, &steps[..at]);
        assert_eq!((run, *done, *of), (shown, right.0, right.1));
        assert!((left_s - right.2).abs() <= 1e-9 * right.2.max(1.0), "{run}: {left_s}, not {}", right.2);
    }
    assert_eq!(how_far(&design, &steps), (12, 12, 0.0));
}

#[test]
fn a_claim_without_figures_says_whether_cells_were_not_run_not_known_or_beyond_the_limit() {
    let text = TEXT.replace("claims:\n", "slas: [{name: soon, p95_ms: 1, over: n}]\nclaims:\n")
        + "  - {id: LATE, says: s, test: [{of: {take: arg_best, over: n, sla: soon}, least: 1},
                                     {of: {take: best, over: n, sla: soon}, least: 1}]}
  - {id: FEW, says: s, test: [{of: {metric: response_ms.p95}, least: 1}]}
  - {id: NOTHING, says: s, test: [{of: {where: {system: c}}, to: {where: {op: write}}, least: 1}]}
";
    let spec = spec(&text);
    let design = design(&spec, "quick", 1);
    let directory = in_memory();
    let mut runner = Virtual::new();
    go(&design, directory.path(), &mut runner, Limits::default()).unwrap();
    let steps = crate::journal::steps(directory.path()).unwrap();
    let found = judge(&design, &observations(&design, &steps, &runner));
    let why = |id: &str| found.iter().find(|one| one.id == id).map(|one| one.why.as_str()).unwrap();
    assert_eq!(why("LATE"), "no row of its cells is known to keep the limit");
    assert_eq!(why("FEW"), "its cells were run, but the figure is not known: too few operations");
    assert_eq!(why("NOTHING"), "its cells were not run");
}
