//! Studies as text: the library, and every mistake at its line.

use cosmark_workload::diagnostics::LineIndex;

use super::*;
use crate::design::{Cell, Choice, Design, matches};
use crate::library::{LIBRARY, NEW_PUBLISHED, NEW_STUDY};
use crate::published;

#[test]
fn every_study_of_the_library_can_be_read_planned_and_finds_its_published_numbers() {
    let new = [("mine", NEW_STUDY, NEW_PUBLISHED)];
    let all = LIBRARY.iter().map(|entry| (entry.name, entry.text, entry.published)).chain(new);
    for (name, text, csv) in all {
        let (spec, mistakes) = read(text);
        let spec = spec.unwrap_or_else(|| panic!("{name}: {mistakes:#?}"));
        assert!(mistakes.is_empty() && spec.name == name, "{name}: {mistakes:#?}");
        let tables = published::read(csv).unwrap();
        let numbers = published::numbers(&spec, &tables).unwrap();
        assert_eq!(numbers.is_empty(), spec.published.is_empty(), "{name}");
        for scale in spec.scales.keys() {
            let design = Design::new(&spec, Choice { scale: scale.clone(), ..Choice::default() }).unwrap();
            let cost = crate::estimate::cost(&design).unwrap();
            assert!(cost.time_s > 0.0 && cost.runs > 0, "{name} {scale}");
            if spec.workload.is_some() {
                for cell in &design.cells {
                    let text = design.workload(cell, 1).unwrap();
                    assert!(!text.contains("${{"), "{name} {scale} {}: {text}", cell.id);
                }
            }
        }
    }
}

/// A claim that nothing can answer is a promise in name only: then it has to say why it is not testable.
#[test]
fn what_claims_of_the_library_need_and_compare_is_there_at_full_scale() {
    for entry in LIBRARY {
        let spec = read(entry.text).0.unwrap();
        let design = Design::new(&spec, Choice { scale: "full".into(), ..Choice::default() }).unwrap();
        let mut run = Vec::new();
        for (at, system) in spec.systems.iter().enumerate() {
            let own: Vec<&Cell> = design.cells.iter().filter(|cell| cell.system == at).collect();
            assert!(own.iter().any(|cell| cell.is_run()), "{}: {} is never run", entry.name, system.name);
            for cell in own {
                run.extend(cell.points.iter().filter(|point| point.refused.is_none()).map(|point| {
                    let mut levels = cell.levels.clone();
                    levels.extend(point.levels.clone());
                    levels.insert("system".to_owned(), system.name.clone());
                    levels
                }));
            }
        }
        for claim in &spec.claims {
            let is_met = |need: &String| spec.systems.iter().any(|system| system.provides.contains(need));
            assert!(claim.needs.iter().all(is_met), "{} {}: {:?}", entry.name, claim.id, claim.needs);
            let mut conditions: Vec<&Condition> = claim.test.iter().collect();
            while let Some(one) = conditions.pop() {
                conditions.extend(one.than.as_deref());
                for side in std::iter::once(&one.of).chain(&one.to) {
                    let is_there = run.iter().any(|levels| matches(&side.cells, levels));
                    assert!(is_there, "{} {}: {:?}", entry.name, claim.id, side.cells);
                }
            }
        }
    }
}

/// Whole studies of the page about writing one.
fn examples() -> Vec<&'static str> {
    const PAGE: &str = include_str!("../../../../docs/guide/own-study.md");
    let blocks = PAGE.split("\n```text\n").skip(1);
    blocks.filter_map(|block| block.split_once("\n```")).map(|(text, _)| text).collect()
}

#[test]
fn the_examples_of_the_page_about_writing_a_study_can_be_run_as_they_stand() {
    let examples = examples();
    let mut names = Vec::new();
    for text in examples {
        let text = format!("{text}\n");
        let (spec, mistakes) = read(&text);
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}\n{text}"));
        names.push(spec.name.clone());
        for scale in spec.scales.keys() {
            let design = Design::new(&spec, Choice { scale: scale.clone(), ..Choice::default() }).unwrap();
            let cost = crate::estimate::cost(&design).unwrap();
            assert!(cost.time_s > 0.0, "{}", spec.name);
            for cell in &design.cells {
                let workload = format!("storage: {{type: mock}}\n{}", design.workload(cell, 1).unwrap());
                let (found, mistakes) = cosmark_workload::parse(
                    &workload,
                    cosmark_workload::Format::Yaml,
                    &cosmark_workload::Environment::default(),
                );
                let found = found.unwrap_or_else(|| panic!("{mistakes:#?}\n{workload}"));
                assert!(found.stages.iter().any(|stage| stage.name == cell.points[0].stage), "{workload}");
            }
            if let Some(selected) = &design.selected {
                // What the page shows of its plan is what is printed.
                let page = include_str!("../../../../docs/guide/own-study.md");
                let lines = selected.lines();
                assert!(lines.iter().take(3).all(|line| page.contains(line.as_str())), "{lines:#?}");
                assert!(lines.iter().any(|line| line == "aliased: size x kind + workers x containers"));
            }
        }
    }
    assert_eq!(names, ["what-matters", "knees", "dips"]);
}

#[test]
fn the_published_numbers_of_the_slides_stand_at_their_cells() {
    let entry = crate::library::find("slides").unwrap();
    let spec = read(entry.text).0.unwrap();
    let numbers = published::numbers(&spec, &published::read(entry.published).unwrap()).unwrap();
    // And the peaks of the four tables.
    assert_eq!(numbers.len(), 84);
    let of = |table: &str, workers: &str, metric: &str| {
        let fits = |one: &&published::Published| {
            let at = |factor: &str, level: &str| one.cells.get(factor).is_some_and(|some| some.0 == [level]);
            at("table", table) && at("workers", workers) && one.metric == metric
        };
        numbers.iter().find(fits).unwrap().value
    };
    assert_eq!(
        (of("A", "320", "throughput_per_s"), of("D", "2560", "response_ms.p95")),
        (5019.85, 200_306.67)
    );
}

#[test]
fn every_example_of_the_guide_is_a_part_of_a_study() {
    let guide = include_str!("../../../../docs/guide/studies.md");
    let whole = "name: t
title: t
question: q
systems: [{name: disk}, {name: store}]
factors: [{name: size, levels: [4KB, 8KB]}, {name: n, within: true, levels: [1, 8, 64]}]
scales: {quick: {}}
workload: {point: '- name: p-${{ n }}', measured: 'p-${{ n }}'}
slas: [{name: soon, p95_ms: 300, over: n}]
";
    let blocks: Vec<&str> =
        guide.split("```yml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert!(blocks.len() >= 2, "{blocks:?}");
    for block in blocks {
        let (spec, mistakes) = read(&format!("{whole}{block}"));
        assert!(spec.is_some() && mistakes.is_empty(), "{block}: {mistakes:#?}");
    }
}

/// (line, words) of every mistake.
fn mistakes(text: &str) -> Vec<(usize, String)> {
    let (spec, mistakes) = read(text);
    assert!(spec.is_none());
    let lines = LineIndex::new(text);
    mistakes.into_iter().map(|one| (lines.position(one.span.start).line, one.message)).collect()
}

#[test]
fn all_mistakes_are_found_at_once_each_at_its_line() {
    let text = "name: bad
title: t
question: q
sytems: []
systems: [{name: a, colour: red}, {name: b}]
factors:
  - {name: n, levels: 5}
  - {name: m, levels: [1]}
scales: {quick: {repetitions: {least: many}}}
workload: {point: '- name: x', measured: x}
";
    let found = mistakes(text);
    for (line, words) in [
        (4, "unknown field `sytems`"),
        (5, "unknown field `colour`"),
        (7, "invalid type"),
        (9, "invalid type"),
    ] {
        assert!(
            found.iter().any(|(at, said)| *at == line && said.contains(words)),
            "{line} {words}: {found:#?}"
        );
    }
    let text = "name: bad
title: t
question: q
systems:
  - {name: a, bed: swift, environment: {LD_PRELOAD: x}, follow: ../../../dev, place: images}
  - {name: b, bed: ../../etc}
  - {name: b, target: /etc/passwd, settings: {storage.endpoint: x}}
factors:
  - {name: n, levels: [1, 1]}
  - {name: op, levels: [1]}
scales:
  huge: {levels: {n: [7]}, repetitions: {least: 2, most: 4}}
skip: [{when: {colour: red}, why: no}]
workload:
  point: 'nothing of ${{ this }}'
  measured: x
figures: [{title: f, x: y, metric: speed}]
claims:
  - {id: A, says: s, test: [{of: {take: max}, least: 0}]}
  - {id: A, says: s}
slas: [{name: s, p95_ms: 0, over: n}]
effects: [{metric: throughput_per_s, where: {op: [read, all, raed]}}]
";
    let found = mistakes(text);
    for (line, words) in [
        (5, "LD_PRELOAD: no knob"),
        (5, "no directory of a bed's data"),
        (5, "no directory of a bed's data for a file of fio"),
        (6, "no test bed's name"),
        (7, "there twice"),
        (7, "no file of the bed"),
        (7, "storage.endpoint: a study may not change"),
        (9, "no good name of a level"),
        (10, "op: no good name"),
        (12, "huge: no scale"),
        (12, "7: no level of n"),
        (12, "most needs within_percent"),
        (13, "colour: no factor"),
        (15, "point has no stage"),
        (15, "this: no variable"),
        (17, "y: no factor"),
        (17, "speed: no figure"),
        (19, "every value would agree"),
        (19, "take needs over"),
        (20, "A is there twice"),
        (20, "give one of test and not_testable"),
        (21, "a limit is above 0"),
        (22, "raed: no level of op"),
    ] {
        assert!(
            found.iter().any(|(at, said)| *at == line && said.contains(words)),
            "{line} {words}: {found:#?}"
        );
    }
}

#[test]
fn what_is_no_study_is_refused_and_nothing_panics() {
    for text in ["", "5", "[a]", "a: [", "name: x", "name: [1]\ntitle: {}\n", "&a [*a]", "? {a: b}\n: c\n"] {
        assert!(!mistakes(text).is_empty(), "{text}");
    }
    let deep = "a: ".to_owned() + &"[".repeat(10_000);
    assert!(!mistakes(&deep).is_empty());
    // Cells beyond counting are refused, not made.
    let levels: Vec<String> = (0..400).map(|n| n.to_string()).collect();
    let many = format!("{{levels: [{}], name: ", levels.join(","));
    let text = format!(
        "name: x\ntitle: t\nquestion: q\nsystems: [{{name: a}}]\nfactors: [{many}f}}, {many}g}}, {many}h}}]\nscales: {{quick: {{}}}}\n\
         workload: {{point: '- name: x', measured: x}}\n"
    );
    assert!(mistakes(&text).iter().any(|(_, said)| said.contains("cells")), "{:?}", mistakes(&text));
}

/// The keys that the reader takes in a part of a study: those that it names when it refuses another.
fn taken<T: serde::de::DeserializeOwned>() -> std::collections::BTreeSet<String> {
    let refused = serde_json::from_value::<T>(serde_json::json!({"no key of a study": 1})).err().unwrap();
    let text = refused.to_string();
    let (_, expected) = text.split_once("expected").unwrap_or_else(|| panic!("{text}"));
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_schema_has_every_key_that_the_reader_takes_and_no_other() {
    macro_rules! parts {
        ($($part:ident),+) => { [$((stringify!($part), taken::<$part>())),+] };
    }
    let parts = parts!(
        System,
        Factor,
        FullLevel,
        Scale,
        Fraction,
        Adjust,
        Repetitions,
        AsPublished,
        Skip,
        Template,
        Prefill,
        FioTemplate,
        PublishedMap,
        Sla,
        Claim,
        Condition,
        Quantity,
        Efficiency,
        Figure,
        Base,
        Also,
        Limit,
        EffectTable,
        Flaw,
        Weigh,
        Way
    );
    let schema = json_schema();
    let keys = |part: &serde_json::Value| -> std::collections::BTreeSet<String> {
        part["properties"].as_object().into_iter().flat_map(|all| all.keys().cloned()).collect()
    };
    assert_eq!(keys(&schema), taken::<Spec>());
    let definitions = schema["$defs"].as_object().unwrap();
    for (name, taken) in &parts {
        assert!(!taken.is_empty() && definitions.contains_key(*name), "{name}: {:?}", definitions.keys());
        assert_eq!(keys(&definitions[*name]), *taken, "{name}");
    }
    // A part that is added has its row above.
    for (name, part) in definitions {
        let is_known = parts.iter().any(|(known, _)| known == name);
        assert!(is_known || keys(part).is_empty(), "{name} has keys that are not compared");
    }
}

#[test]
fn phases_that_build_on_each_other_keep_their_order_and_others_are_drawn() {
    let spec = read(crate::library::find("zmanda-ssd").unwrap().text).0.unwrap();
    let orders = |spec: &Spec| -> std::collections::BTreeSet<Vec<usize>> {
        let (mut orders, stages) = (std::collections::BTreeSet::new(), ["put", "get", "delete"]);
        for seed in 0..20 {
            let choice = crate::design::Choice { scale: "quick".to_owned(), seed, ..Default::default() };
            let design = crate::design::Design::new(spec, choice).unwrap();
            for cell in design.cells.iter().filter(|cell| cell.is_run()) {
                let text = design.workload(cell, 1).unwrap();
                let places = stages.map(|stage| text.find(&format!("name: {stage}\n")).unwrap());
                let mut order = vec![0, 1, 2];
                order.sort_by_key(|at| places[*at]);
                orders.insert(order);
            }
        }
        orders
    };
    assert_eq!(orders(&spec).into_iter().collect::<Vec<_>>(), [vec![0, 1, 2]]);
    let mut free = spec.clone();
    free.factors.iter_mut().for_each(|factor| factor.in_order = false);
    assert_eq!(orders(&free).len(), 6, "every order is drawn sometimes");
}

#[test]
fn the_mix_of_iccl_deletes_what_was_written_for_it_and_meets_each_object_once() {
    let spec = read(crate::library::find("iccl").unwrap().text).0.unwrap();
    let shared = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    for (scale, as_published) in [("quick", false), ("scaled", false), ("full", false), ("quick", true)] {
        let choice = Choice { scale: scale.to_owned(), as_published, ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        let mut looked_at = 0;
        for cell in &design.cells {
            let text = design.workload(cell, 1).unwrap();
            if as_published {
                assert!(!text.contains("again-") && !text.contains("s(1,"), "{}: {text}", cell.id);
                continue;
            }
            let mixes = cell.points.iter().filter(|point| point.levels["mix"] == "r80w15d5");
            for point in mixes.filter(|point| point.refused.is_none()) {
                let number = |name: &str| point.values[name].0.parse::<u64>().unwrap();
                let (first, last) = (number("first_delete"), number("last_delete"));
                let (containers, keys) = (number("containers"), last - first + 1);
                let place = format!("{scale} {} {}", cell.id, point.stage);
                // Containers and keys are counted in order side by side, by each worker in steps of all workers.
                assert_eq!(shared(containers, keys), 1, "{place}");
                assert!(containers * keys >= 4 * number("workers"), "{place}");
                let again = format!("again-{}-{}\"", cell.levels["workload"], point.levels["workers"]);
                let at = text.find(&again).unwrap_or_else(|| panic!("{place}: {text}"));
                let main = text.find(&format!("name: {}\n", point.stage)).unwrap();
                assert!(at < main && text[at..main].contains(&format!("r({first},{last})")), "{place}");
                assert!(text[main..].contains(&format!("s({first},{last})")), "{place}");
                looked_at += 1;
            }
        }
        assert!(as_published || looked_at >= 30, "{scale}: {looked_at}");
    }
}

#[test]
fn ratios_of_the_thesis_and_gains_of_zmanda_stand_at_their_cells() {
    let value = |study: &str, wanted: &[(&str, &str)], table: &str| {
        let entry = crate::library::find(study).unwrap();
        let spec = read(entry.text).0.unwrap();
        let numbers = published::numbers(&spec, &published::read(entry.published).unwrap()).unwrap();
        let fits = |one: &published::Published| {
            let at = |(factor, level): &(&str, &str)| one.cells[*factor].0.iter().any(|some| some == level);
            one.table == table && !one.to.is_empty() && wanted.iter().all(at)
        };
        numbers.into_iter().find(fits).unwrap().value
    };
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
    near(value("thesis-object", &[("test", "write"), ("size", "10MB")], "thesis.object_ratio"), 0.588);
    near(value("thesis-block", &[("system", "rbd"), ("pattern", "mixed")], "thesis.block"), 0.922 / 3.0);
    near(value("zmanda-ssd", &[("phase", "delete"), ("containers", "20000")], "zmanda.ssd_speedup"), 2.09);
    near(value("zmanda-pebbles", &[("rows", "1000000")], "zmanda.pebbles"), 1.68);
    near(value("iccl-replicas", &[("size", "128KB"), ("workers", "1")], "iccl.replicas"), 2.0);
}
