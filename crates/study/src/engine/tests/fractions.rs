//! Fractions of a factorial on virtual time: what is run of them, in which order, and whether planted effects are
//! found.

use super::*;
use crate::effects::{Effect, Found, effects, tables};
use crate::spec::{EffectTable, Said};

/// Four factors of two levels in eight cells.
const FRACTION: &str = "
name: f
title: a fraction
question: what does what
systems: [{name: a, bed: one}]
factors:
  - {name: size, levels: [small, large]}
  - {name: tls, levels: [without, with]}
  - {name: keep, levels: [none, all]}
  - {name: copies, within: true, levels: [1, 3]}
variables: {rampup: 1s, runtime: 9s}
scales:
  quick:
    fraction: {generators: [copies = size tls keep]}
    repetitions: {least: 4}
  full:
    repetitions: {least: 4}
workload:
  point: '- name: p-${{ copies }}'
  measured: p-${{ copies }}
effects:
  - {metric: throughput_per_s, where: {op: read}}
  - {metric: throughput_per_s, as: difference}
";

/// A large object halves the rate, TLS takes a tenth, both TLS and open connections or none of them make it half as
/// much again as one alone; copies do nothing.
fn planted(levels: &Levels) -> f64 {
    let is = |factor: &str, level: &str| levels.get(factor).is_some_and(|one| one == level);
    let size = if is("size", "large") { 0.5 } else { 1.0 };
    let tls = if is("tls", "with") { 0.9 } else { 1.0 };
    let together = if is("tls", "with") == is("keep", "all") { 1.2 } else { 0.8 };
    size * tls * together
}

/// Effects by name: the truth, and what it is aliased with.
const TRUTH: &[(&str, f64, &str)] = &[
    ("size: small to large", 0.5, "+ tls x keep x copies"),
    ("tls: without to with", 0.9, "+ size x keep x copies"),
    ("keep: none to all", 1.0, "+ size x tls x copies"),
    ("copies: 1 to 3", 1.0, "+ size x tls x keep"),
    ("size x tls", 1.0, "+ keep x copies"),
    ("size x keep", 1.0, "+ tls x copies"),
    // Of the pair that is aliased with the planted one.
    ("size x copies", 1.5, "+ tls x keep"),
];

fn effect<'a>(found: &'a Found, name: &str) -> &'a Effect {
    found.effects.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}: {found:#?}"))
}

/// A whole study with planted effects: its design and what it measured.
fn measured(spec: &Spec, scale: &str, runner: &mut Virtual) -> (Design<'static>, Vec<Observation>) {
    let design = design(spec, scale, 1);
    let directory = in_memory();
    assert_eq!(go(&design, directory.path(), runner, Limits::default()), Ok(Outcome::Complete));
    let steps = crate::journal::steps(directory.path()).unwrap();
    let all = observations(&design, &steps, &*runner);
    (design, all)
}

#[test]
fn planted_effects_are_recovered_within_their_intervals_from_half_of_the_combinations() {
    let spec = spec(FRACTION);
    for (seed, noise) in [(1, 0.001), (1, 0.02), (2, 0.02), (3, 0.05)] {
        let design = design(&spec, "quick", seed);
        let points: usize = design.cells.iter().map(|cell| cell.points.len()).sum();
        assert_eq!((design.cells.len(), points), (8, 8), "half of 16, each run with one of its two stages");
        let directory = in_memory();
        // The store becomes faster all the time: repetitions are blocks, and that is in no effect.
        let mut runner = Virtual { planted: Some(planted), drift: 0.2, ..Virtual::new() };
        runner.noise = BTreeMap::from([("a", noise)]);
        // It is cut off on its way.
        runner.dies_before = Some(11);
        assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Stopped));
        runner.dies_before = None;
        assert_eq!(go(&design, directory.path(), &mut runner, Limits::default()), Ok(Outcome::Complete));
        assert!(runner.ran.len() == 32 && counts(&runner.ran).values().all(|count| *count == 1));
        let steps = crate::journal::steps(directory.path()).unwrap();
        let found = effects(&design, &observations(&design, &steps, &runner), &spec.effects[0]);
        assert!(found.unknown.is_empty() && found.effects.len() == TRUTH.len(), "{found:#?}");
        for (name, truth, alias) in TRUTH {
            let one = effect(&found, name);
            let (low, high) = one.interval.unwrap();
            assert!((low..=high).contains(truth), "{noise}: {truth} is not in {one:#?}");
            assert!(high / low < 1.0 + 4.0 * noise, "{noise}: {one:#?}");
            assert!(one.aliases.iter().any(|other| other == alias), "{alias}: {one:#?}");
        }
        let says = |name: &str| effect(&found, name).words(Said::Ratio);
        assert_eq!((says("size: small to large"), says("size x copies")), ("less", "more"));
        assert_eq!(
            (says("copies: 1 to 3"), says("keep: none to all")),
            ("no effect shown", "no effect shown")
        );
    }
}

#[test]
fn the_cells_of_a_fraction_are_in_the_order_of_the_study() {
    let spec = spec(FRACTION);
    let ids: Vec<String> = design(&spec, "quick", 1).cells.iter().map(|cell| cell.id.clone()).collect();
    let sizes = ["small", "large"].into_iter();
    let both = sizes.flat_map(|size| ["without", "with"].map(|tls| format!("a.{size}.{tls}")));
    let all: Vec<String> = both.flat_map(|one| ["none", "all"].map(|keep| format!("{one}.{keep}"))).collect();
    assert_eq!(ids, all);
}

/// Twenty factors of two levels, of which twelve follow from eight, and one more of so many levels.
fn wide(loads: usize) -> String {
    let factors: String = (0..20).map(|at| format!("  - {{name: f{at}, levels: [lo, up]}}\n")).collect();
    let pairs = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
    let generators = pairs.zip(8..20).map(|((a, b), made)| format!("f{made} = f{a} f{b}"));
    let levels: Vec<String> = (0..loads).map(|at| format!("n{at}")).collect();
    format!(
        "name: w\ntitle: t\nquestion: q\nsystems: [{{name: a, bed: one}}]\nfactors:\n{factors}  - {{name: load, levels: [{}]}}\n\
         scales:\n  quick:\n    fraction: {{generators: [{}]}}\nworkload:\n  point: '- name: p'\n  measured: p\n",
        levels.join(", "),
        generators.collect::<Vec<_>>().join(", ")
    )
}

/// All of them would not fit into memory.
#[test]
fn a_small_part_of_very_many_combinations_is_found_without_all_of_them() {
    let spec = spec(&wide(15));
    let design = design(&spec, "quick", 1);
    assert_eq!(design.cells.len(), 256 * 15, "of 2^20 * 15");
    assert!(design.cells.iter().all(|cell| cell.points.len() == 1));
    let ends = [&design.cells[0].id, &design.cells[256 * 15 - 1].id];
    let (first, rest) =
        ("a.".to_owned() + &"lo.".repeat(8) + &"up.".repeat(12), "a.".to_owned() + &"up.".repeat(20));
    assert_eq!(ends, [&format!("{first}n0"), &format!("{rest}n14")]);
    let (read, mistakes) = crate::spec::read(&wide(390));
    let why = mistakes.first().map(|one| one.message.clone()).unwrap_or_default();
    assert!(read.is_none() && why.contains("quick takes a part of 408944640 combinations"), "{mistakes:?}");
}

#[test]
fn where_every_run_measures_the_same_no_factor_has_an_effect() {
    let spec = spec(FRACTION);
    let design = design(&spec, "full", 1);
    for number in 1..=100_u32 {
        // Sums of the same number are not always what the number times their count is.
        let rate = 1.0 + f64::from(number) / 7.0;
        let mut all = Vec::new();
        for cell in &design.cells {
            for (point, repetition) in cell.points.iter().flat_map(|point| (1..=4).map(move |at| (point, at)))
            {
                let mut levels = cell.levels.clone();
                levels.extend(point.levels.clone());
                levels.insert("system".to_owned(), "a".to_owned());
                let values = BTreeMap::from([("throughput_per_s".to_owned(), rate)]);
                let (op, verdict) = ("read".to_owned(), Overall::True);
                all.push(Observation { levels, op, repetition, values, verdict, ..Observation::default() });
            }
        }
        for table in &spec.effects {
            let found = effects(&design, &all, table);
            assert!(found.unknown.is_empty() && found.effects.len() == 10, "{found:#?}");
            for one in &found.effects {
                assert_eq!(one.words(table.said), "no effect shown", "{rate}: {one:#?}");
            }
        }
    }
}

#[test]
fn effects_of_a_fraction_that_lacks_a_cell_are_not_known_and_say_so() {
    let spec = spec(FRACTION);
    let mut runner = Virtual { planted: Some(planted), ..Virtual::new() };
    let (design, all) = measured(&spec, "quick", &mut runner);
    // Of a repetition that lacks a run the other runs say nothing either.
    let fewer = effects(&design, &all[1..], &spec.effects[0]);
    let without: Vec<Observation> =
        all.iter().filter(|one| one.repetition != all[0].repetition).cloned().collect();
    assert!(fewer.effects.len() == TRUTH.len() && fewer == effects(&design, &without, &spec.effects[0]));
    // A cell that was never measured leaves nothing to say.
    let gone: Vec<Observation> = all.iter().filter(|one| one.levels != all[0].levels).cloned().collect();
    let none = effects(&design, &gone, &spec.effects[0]);
    assert!(none.effects.is_empty() && none.unknown.len() == 1, "{none:#?}");
    assert_eq!(none.unknown[0].1, "no repetition has the figure in all 8 cells, the best in 7");
    let text = format!("{:?}", tables(&design, &gone));
    assert!(text.contains("not known: no repetition has the figure in all 8 cells"), "{text}");
    // One repetition has effects and no intervals.
    let once: Vec<Observation> = all.iter().filter(|one| one.repetition == 1).cloned().collect();
    let found = effects(&design, &once, &spec.effects[1]);
    assert!(found.effects.iter().all(|one| one.interval.is_none()), "{found:#?}");
    let size = effect(&found, "size: small to large");
    // 100 x (1 + 0.9) / 2, less by a half: the other product is 1 in the mean.
    assert!(
        (size.value + 47.5).abs() < 1.0 && size.words(Said::Difference) == "not shown: one repetition",
        "{size:?}"
    );
    // Where a factor varies what is done, its levels are compared all the same; two operations of one point are not mixed.
    let mut varied = all.clone();
    varied.iter_mut().filter(|one| one.levels["size"] == "large").for_each(|one| one.op = "write".to_owned());
    let found = effects(&design, &varied, &EffectTable::default());
    assert!(found.unknown.is_empty() && found.effects.iter().all(|one| one.of == "a"), "{found:#?}");
    assert!((effect(&found, "size: small to large").value / 0.5 - 1.0).abs() < 0.01, "{found:#?}");
    let more: Vec<Observation> =
        all.iter().cloned().map(|one| Observation { op: "write".into(), ..one }).collect();
    let found = effects(&design, &[&all[..], &more].concat(), &EffectTable::default());
    let of: BTreeSet<&str> = found.effects.iter().map(|one| one.of.as_str()).collect();
    assert_eq!(of, BTreeSet::from(["a read", "a write"]));
    // What cannot be believed shows nothing.
    let mut wrong = all.clone();
    wrong[0].verdict = Overall::False;
    let found = effects(&design, &wrong, &spec.effects[0]);
    assert!(!found.effects.is_empty(), "{found:#?}");
    assert!(
        found.effects.iter().all(|one| one.words(Said::Ratio) == "not shown: a cell is FALSE"),
        "{found:#?}"
    );
    // A ratio of nothing is none.
    let mut still = all;
    still[0].values.insert("throughput_per_s".to_owned(), 0.0);
    let none = effects(&design, &still, &spec.effects[0]);
    assert!(none.unknown[0].1.contains("as: difference"), "{none:#?}");
    assert_eq!(effects(&design, &still, &spec.effects[1]).effects.len(), TRUTH.len());
}

#[test]
fn of_all_combinations_each_pair_of_factors_has_an_effect_of_its_own() {
    let spec = spec(FRACTION);
    let mut runner = Virtual { planted: Some(planted), ..Virtual::new() };
    let (design, all) = measured(&spec, "full", &mut runner);
    let found = effects(&design, &all, &spec.effects[0]);
    assert_eq!(found.effects.len(), 10, "{found:#?}");
    assert!(found.effects.iter().all(|one| one.aliases.is_empty()), "{found:#?}");
    let (pair, other) = (effect(&found, "tls x keep"), effect(&found, "size x copies"));
    assert!((pair.value / 1.5 - 1.0).abs() < 0.01 && (other.value - 1.0).abs() < 0.01, "{found:#?}");
}

/// What befalls a whole run, by its factors and repetition: no pattern of either.
fn befallen(one: &Observation) -> f64 {
    let is = |factor: &str, level: &str| u32::from(one.levels[factor] == level);
    let run = is("size", "large") + 2 * is("tls", "with") + 4 * is("keep", "all") + 8 * one.repetition;
    1.0 + 0.05 * (f64::from(run * 37 % 17) / 8.0 - 1.0)
}

#[test]
fn what_befalls_a_whole_run_is_in_the_error_of_what_differs_between_runs() {
    let spec = spec(FRACTION);
    let mut runner = Virtual { planted: Some(planted), ..Virtual::new() };
    let (design, mut all) = measured(&spec, "full", &mut runner);
    assert!(design.cells.len() == 8 && design.cells.iter().all(|cell| cell.points.len() == 2));
    let alone = effects(&design, &all, &spec.effects[0]);
    for one in &mut all {
        let befallen = befallen(one);
        one.values.values_mut().for_each(|value| *value *= befallen);
    }
    let found = effects(&design, &all, &spec.effects[0]);
    let width = |found: &Found, name: &str| {
        let (low, high) = effect(found, name).interval.unwrap();
        high / low - 1.0
    };
    // Both points of a run had the same: it is in no difference between them.
    for name in ["copies: 1 to 3", "size x copies", "keep x copies"] {
        let (before, after) = (width(&alone, name), width(&found, name));
        assert!((before / after - 1.0).abs() < 0.05 && after < 0.01, "{name}: {before} {after}");
    }
    for name in ["size: small to large", "keep: none to all", "size x tls"] {
        let (before, after) = (width(&alone, name), width(&found, name));
        assert!(before < 0.01 && after > 0.03, "{name}: {before} {after}");
    }
    // That of runs is as if each had one point.
    let of_one: Vec<Observation> = all.iter().filter(|one| one.levels["copies"] == "1").cloned().collect();
    let table = EffectTable {
        cells: Where::from([("copies".to_owned(), OneOrMore(vec!["1".to_owned()]))]),
        ..EffectTable::default()
    };
    let one_each = width(&effects(&design, &of_one, &table), "size: small to large");
    let (wide, narrow) = (1.1 * width(&found, "size: small to large"), one_each);
    assert!(narrow < wide && narrow > wide / 1.6, "fewer rows need a narrower one: {narrow} {wide}");
}

#[test]
fn blocks_of_a_fraction_are_run_one_after_the_other_and_are_in_no_effect_of_a_factor() {
    let spec = spec(&FRACTION.replace("generators: [copies = size tls keep]", "blocks: [size tls keep]"));
    let mut runner = Virtual::new();
    let (design, all) = measured(&spec, "quick", &mut runner);
    assert_eq!((design.cells.len(), runner.ran.len()), (8, 32));
    let part = |run: &String| {
        let is_of = |cell: &&crate::design::Cell| run.starts_with(&format!("f.{}.r", cell.id));
        design.part(design.cells.iter().find(is_of).unwrap())
    };
    for repetition in runner.ran.chunks(8) {
        let parts: Vec<usize> = repetition.iter().map(part).collect();
        assert!(parts[..4].iter().all(|one| *one == parts[0]), "{parts:?}");
        assert!(parts[4..].iter().all(|one| *one == 1 - parts[0]), "{parts:?}");
    }
    let found = effects(&design, &all, &spec.effects[0]);
    let mains: Vec<&Effect> = found.effects.iter().filter(|one| one.name.contains(':')).collect();
    assert!(mains.len() == 4 && mains.iter().all(|one| one.aliases.is_empty()), "{found:#?}");
}

#[test]
fn a_part_of_factors_with_more_levels_is_chosen_by_the_seed_with_each_level_equally_often() {
    let text = FRACTION
        .replace("levels: [small, large]", "levels: [small, middle, large]")
        .replace("levels: [without, with]", "levels: [without, with, new]")
        .replace("levels: [none, all]", "levels: [none, all, some]")
        .replace("generators: [copies = size tls keep]", "cells: 9");
    let spec = spec(&text);
    let ids = |seed: u64| -> Vec<String> {
        design(&spec, "quick", seed).cells.iter().map(|cell| cell.id.clone()).collect()
    };
    let (first, again) = (ids(1), ids(1));
    assert!(first.len() == 9 && first == again, "{first:?} {again:?}");
    assert!((2..20).any(|seed| ids(seed) != first), "the seed chooses");
    let mut runner = Virtual { planted: Some(planted), ..Virtual::new() };
    let (part, all) = measured(&spec, "quick", &mut runner);
    assert!(part.cells.iter().all(|cell| cell.points.len() == 2), "what is within a run is there whole");
    for factor in &spec.factors[..3] {
        for level in &factor.levels {
            let count = part.cells.iter().filter(|cell| cell.levels[&factor.name] == level.name()).count();
            assert_eq!(count, 3, "{} {}", factor.name, level.name());
        }
    }
    // A Latin square has the effect of each level, and none of pairs.
    let found = effects(&part, &all, &spec.effects[0]);
    assert_eq!(found.effects.len(), 7, "{found:#?}");
    let large = effect(&found, "size: small to large");
    assert!((large.value / 0.5 - 1.0).abs() < 0.35, "{large:?}");
    assert!((effect(&found, "copies: 1 to 3").value - 1.0).abs() < 0.01, "{found:#?}");
}

#[test]
fn a_fraction_that_cannot_be_run_whole_or_read_is_a_mistake() {
    let (none, mistakes) = read(&FRACTION.replace("copies = size tls keep", "copies = size"));
    let says = |what: &str| mistakes.iter().any(|one| one.message.contains(what));
    assert!(none.is_none() && says("would be aliased"), "{mistakes:#?}");
    let text = format!("{FRACTION}skip: [{{when: {{size: large, tls: with}}, why: too slow}}]\n");
    let skipped = spec(&text);
    let choice = || Choice { scale: "quick".into(), ..Choice::default() };
    let why = Design::new(&skipped, choice()).map(drop).unwrap_err();
    assert!(why.contains("which is not run (too slow)"), "{why}");
    let spec = spec(FRACTION);
    let large = Where::from([("size".to_owned(), OneOrMore(vec!["large".to_owned()]))]);
    let some = Design::new(&spec, Choice { only: large, ..choice() }).unwrap();
    let whole = design(&spec, "quick", 0);
    let ids = |design: &Design<'_>| -> BTreeSet<String> {
        design.cells.iter().map(|cell| cell.id.clone()).collect()
    };
    assert!(
        some.cells.len() == 4 && ids(&some).is_subset(&ids(&whole)),
        "of the chosen levels the same cells"
    );
}
