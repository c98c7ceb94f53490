//! Each kind of picture from planted cells: what stands in it, what is left out with a word, and what must not break it.

use std::collections::BTreeMap;

use cosmark_archive::Overall;

use super::*;
use crate::course::Interval;
use crate::design::Choice;
use crate::published::{numbers, read as read_published};
use crate::spec::{Spec, read};

const TEXT: &str = "
name: t
title: a test
question: which is faster
systems: [{name: disk, label: raw disk}, {name: store}]
factors:
  - {name: size, levels: [4KB, 8KB]}
  - {name: n, label: clients, within: true, levels: [1, 8, 64, 512]}
scales: {quick: {}}
workload: {point: '- name: p-${{ n }}', measured: 'p-${{ n }}'}
slas: [{name: soon, p95_ms: 300, over: n}]
efficiencies:
  - {name: share of the disk, of: {where: {system: store, n: 8}}, to: {where: {system: disk, n: 8}}, over: size, published: 0.885}
published:
  - {table: rates, column: rate, where: {system: store, size: 4KB}, keys: {n: n}}
  - {table: rates, column: p95, metric: response_ms.p95, where: {system: store, size: 4KB}, keys: {n: n}}
  - {table: rates, column: share, where: {system: store, size: [4KB, 8KB], n: 8}, to: {system: disk}}
figures:
";
const RATES: &str = "# rates\nn,rate,p95,share\n1,100,2,\n8,400,4,0.5\n64,500,90,\n";

fn spec(figure: &str) -> Spec {
    let (spec, mistakes) = read(&format!("{TEXT}  - {{title: f, {figure}}}\n"));
    spec.unwrap_or_else(|| panic!("{figure}: {mistakes:#?}"))
}

/// Intervals of 5 s in which fewer and fewer was done; the runs of the disk have none.
struct Planted;

impl Courses for Planted {
    fn intervals(&self, place: &str, stage: &str, op: &str) -> Vec<Interval> {
        assert_eq!((&stage[..2], op), ("p-", "read"));
        let interval = |at: u32| {
            let rate = f64::from(100 - 10 * at);
            let done = u64::from(500 - 50 * at);
            Interval { at_s: 5.0 * f64::from(at), done, per_s: rate, bytes_per_s: rate * 4e6 }
        };
        if place.starts_with("disk") { Vec::new() } else { (0..8).map(interval).collect() }
    }
}

/// What a system did at a size with so many clients.
fn seen(system: &str, size: &str, n: &str, repetition: u32, rate: f64, p95: f64) -> Observation {
    let levels = [("system", system), ("size", size), ("n", n)];
    let values = [
        ("throughput_per_s", rate),
        ("bandwidth_bytes_per_s", rate * 4e6),
        ("response_ms.p50", p95 / 4.0),
        ("response_ms.p95", p95),
        ("response_ms.p99", p95 * 2.0),
    ];
    Observation {
        levels: levels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        op: "read".into(),
        repetition,
        values: values.map(|(id, value)| (id.to_owned(), value)).into_iter().collect::<BTreeMap<_, _>>(),
        verdict: Overall::True,
        place: format!("{system}-{size}-r{repetition}"),
        ..Observation::default()
    }
}

/// Two runs of both systems: a knee at 8 clients, the disk twice as fast.
fn all() -> Vec<Observation> {
    let loads = [("1", 100.0, 2.0), ("8", 700.0, 4.0), ("64", 800.0, 40.0), ("512", 790.0, 400.0)];
    let mut all = Vec::new();
    for repetition in 1..=2 {
        for (n, rate, p95) in loads {
            let rate = rate * (1.0 + 0.02 * f64::from(repetition));
            for size in ["4KB", "8KB"] {
                all.push(seen("store", size, n, repetition, rate, p95));
                all.push(seen("disk", size, n, repetition, 2.0 * rate, p95));
            }
        }
    }
    all
}

fn part(figure: &str, all: &[Observation]) -> Part {
    let spec = spec(figure);
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    let published = numbers(&spec, &read_published(RATES).unwrap()).unwrap();
    figures(&design, all, &published, &Planted).remove(0)
}

fn svg(figure: &str, all: &[Observation]) -> String {
    match part(figure, all) {
        Part::Figure { svg, .. } => svg,
        other => panic!("{figure}: {other:?}"),
    }
}

/// The words of a picture without their places.
fn has(svg: &str, text: &str) -> bool {
    svg.contains(&format!(">{text}<"))
}

/// All words of a picture, its broken lines put together.
fn words(svg: &str) -> String {
    let texts = svg.lines().filter(|line| line.starts_with("<text"));
    let inner = texts.filter_map(|line| Some(line.split_once('>')?.1.trim_end_matches("</text>")));
    inner.collect::<Vec<&str>>().join(" ")
}

fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

#[test]
fn a_line_of_each_level_has_intervals_published_points_and_levels_across() {
    let figure = "x: n, lines: [system], where: {size: 4KB}, published: peak, log: true, limits: \
                  [{name: link, value: 900}, {name: half of the disk, of: {where: {system: disk, size: 4KB}, take: max, over: n}, times: 0.5}, \
                   {name: printed, published: {system: store, size: 4KB, n: 64}}]";
    let drawn = svg(figure, &all());
    for text in [
        "raw disk",
        "store",
        "store published",
        "link: 900",
        "half of the disk: 824",
        "printed: 500",
        "clients",
    ] {
        assert!(has(&drawn, text), "{text}: {drawn}");
    }
    assert!(!has(&drawn, "raw disk published"), "{drawn}");
    // Two lines, and the dotted one of what was published.
    assert_eq!(count(&drawn, "class=\"series\""), 3, "{drawn}");
    assert!(words(&drawn).contains("published values x 1.65"), "{drawn}");
    let without = svg(
        "x: n, where: {size: 4KB}, limits: [{name: late, of: {where: {system: disk, n: 8}, metric: success_ratio}}]",
        &all(),
    );
    assert!(words(&without).contains("late: its cells were run, but the figure is not known"), "{without}");
}

#[test]
fn a_baseline_of_the_machines_is_a_level_and_without_one_that_is_said() {
    let figure = "x: n, metric: bandwidth_bytes_per_s, where: {system: store, size: 4KB}, limits: \
                  [{name: disks, of: {metric: raw_disk_bytes_per_s, where: {system: store, n: 8}}}]";
    let mut all = all();
    let without = svg(figure, &all);
    assert!(words(&without).contains("disks: no baseline of the machines was in the archive"), "{without}");
    for one in &mut all {
        one.values.insert("raw_disk_bytes_per_s".to_owned(), 5e9);
    }
    let drawn = svg(figure, &all);
    assert!(has(&drawn, "disks: 5000"), "{drawn}");
}

#[test]
fn limits_of_response_times_stand_at_their_time() {
    let drawn =
        svg("x: n, metric: response_ms.p95, lines: [system], limits: [{name: SLA, sla: soon}]", &all());
    assert!(has(&drawn, "SLA: 300"), "{drawn}");
}

#[test]
fn bars_stand_side_by_side_and_one_that_nobody_believes_is_crossed_and_says_so() {
    let figure = "kind: bars, x: n, lines: [system], where: {size: 4KB}";
    let mut all = all();
    let plain = svg(figure, &all);
    assert_eq!((count(&plain, "class=\"bar\""), count(&plain, "class=\"doubted\"")), (8, 0), "{plain}");
    all.iter_mut()
        .filter(|one| one.levels["system"] == "store" && one.levels["n"] == "64")
        .for_each(|one| one.verdict = Overall::False);
    let doubted = svg(figure, &all);
    assert_eq!((count(&doubted, "class=\"bar\""), count(&doubted, "class=\"doubted\"")), (7, 1), "{doubted}");
    assert!(has(&doubted, "FALSE") && words(&doubted).contains("values marked FALSE"), "{doubted}");
    let beside = svg("kind: bars, x: n, lines: [system], where: {size: 4KB}, published: plain", &all);
    assert!(has(&beside, "store published"), "{beside}");
    assert_eq!(count(&beside, "class=\"bar\""), 7 + 3, "three published bars: {beside}");
}

#[test]
fn a_stack_is_the_sum_of_its_parts() {
    let drawn = svg("kind: stacked, x: n, lines: [system], where: {size: 4KB}", &all());
    assert_eq!(count(&drawn, "class=\"part\""), 8, "{drawn}");
    // 824 of the store on 1648 of the disk.
    assert!(has(&drawn, "2500"), "{drawn}");
    let mut doubted = all();
    let of = |one: &&mut Observation| one.levels["system"] == "store" && one.levels["n"] == "64";
    doubted.iter_mut().filter(of).for_each(|one| one.verdict = Overall::False);
    let drawn = svg("kind: stacked, x: n, lines: [system], where: {size: 4KB}", &doubted);
    assert!(words(&drawn).contains("FALSE: store at 64"), "{drawn}");
}

#[test]
fn a_published_ratio_is_a_level_of_that_ratio_alone() {
    let limit = "limits: [{name: half, published: {system: store, size: [4KB, 8KB], n: 8}}]";
    let drawn = svg(&format!("x: n, where: {{system: store, size: 4KB}}, {limit}"), &all());
    assert!(words(&drawn).contains("half: no such number was published"), "{drawn}");
    let figure =
        format!("x: n, where: {{system: store, size: 4KB}}, to: {{where: {{system: disk}}}}, {limit}");
    let drawn = svg(&figure, &all());
    assert!(words(&drawn).contains("half: 0.5") && !words(&drawn).contains("no such number"), "{drawn}");
}

#[test]
fn a_knee_is_marked_where_throughput_over_time_is_greatest_and_nowhere_else() {
    let figure = "kind: knee, x: n, metric: response_ms.p95, lines: [system], where: {size: 4KB}, published: plain, log: true";
    let drawn = svg(figure, &all());
    assert_eq!(count(&drawn, ">knee: 8 clients<"), 2, "{drawn}");
    assert!(has(&drawn, "Throughput (operations/s)") && has(&drawn, "store published"), "{drawn}");
    let rising: Vec<Observation> =
        all().into_iter().filter(|one| ["1", "8"].contains(&one.levels["n"].as_str())).collect();
    let none = svg(figure, &rising);
    assert!(
        !none.contains(">knee: 8 clients<") && words(&none).contains("raw disk: no knee among its loads"),
        "{none}"
    );
    // A load that nobody believes is no knee.
    let mut doubted = all();
    doubted.iter_mut().filter(|one| one.levels["n"] == "8").for_each(|one| one.verdict = Overall::False);
    assert!(!svg(figure, &doubted).contains(">knee: 8 clients<"));
}

#[test]
fn percentiles_stand_at_their_shares() {
    let drawn = svg(
        "kind: percentiles, lines: [system], where: {size: 4KB, n: 8}, metric: response_ms.p95, log: true",
        &all(),
    );
    for text in ["99 %", "raw disk", "Response time (ms)"] {
        assert!(has(&drawn, text), "{text}: {drawn}");
    }
    assert_eq!(count(&drawn, "class=\"series\""), 2, "{drawn}");
}

#[test]
fn ratios_are_of_the_same_cells_and_published_ratios_stand_at_each_of_their_levels() {
    let figure = "x: size, lines: [system], where: {n: 8}, to: {where: {system: disk}}, published: plain, limits: \
                  [{name: the disk, value: 1}]";
    let drawn = svg(figure, &all());
    for text in ["store published", "the disk: 1.00", "Throughput, ratio"] {
        assert!(has(&drawn, text), "{text}: {drawn}");
    }
    let spec = spec(figure);
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    let published = numbers(&spec, &read_published(RATES).unwrap()).unwrap();
    let all = all();
    let subject = Subject {
        design: &design,
        figure: &spec.figures[0],
        all: &all,
        published: &published,
        courses: &Planted,
    };
    let found = lines::lines(&subject);
    let values = |name: &str| {
        let line = found.iter().find(|line| line.name == name).unwrap();
        line.points.iter().map(|dot| dot.value).collect::<Vec<f64>>()
    };
    for (name, ratio) in [("store", 0.5), ("raw disk", 1.0)] {
        let found = values(name);
        assert!(found.len() == 2 && found.iter().all(|one| (one - ratio).abs() < 1e-9), "{name}: {found:?}");
    }
    let store = found.iter().find(|line| line.name == "store").unwrap();
    assert_eq!(
        lines::overlay(&subject, store).unwrap().0,
        [("4KB".to_owned(), 0.5), ("8KB".to_owned(), 0.5)]
    );
    // Without the other side there is no ratio.
    let alone: Vec<Observation> = all.iter().filter(|one| one.levels["system"] == "store").cloned().collect();
    let Part::Text(said) = part(figure, &alone) else { panic!("drawn without the disk") };
    assert!(said.contains("no figures of disk size=4KB n=8"), "{said}");
}

#[test]
fn published_numbers_of_both_sides_give_the_published_ratio() {
    let spec = spec("x: size, lines: [system], where: {n: 8}, to: {where: {system: disk}}, published: plain");
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    let of = |system: &str, size: &str, value: f64| {
        let mut one = numbers(&spec, &read_published(RATES).unwrap()).unwrap().remove(0);
        let level = |name: &str| crate::spec::OneOrMore(vec![name.to_owned()]);
        one.cells = [("system", system), ("size", size), ("n", "8")]
            .map(|(factor, name)| (factor.to_owned(), level(name)))
            .into();
        one.value = value;
        one
    };
    let published = [of("store", "4KB", 30.0), of("disk", "4KB", 60.0), of("store", "8KB", 30.0)];
    let all = all();
    let subject = Subject {
        design: &design,
        figure: &spec.figures[0],
        all: &all,
        published: &published,
        courses: &Planted,
    };
    let found: Vec<_> = lines::lines(&subject)
        .iter()
        .filter_map(|line| Some((line.name.clone(), lines::overlay(&subject, line)?.0)))
        .collect();
    assert_eq!(found, [("store".to_owned(), vec![("4KB".to_owned(), 0.5)])]);
}

#[test]
fn a_line_over_its_own_base_begins_at_one_and_the_published_one_over_its_own() {
    let figures = [
        ("to: {where: {n: 1}}", [1.0, 7.0, 8.0, 7.9], [1.0, 4.0, 5.0]),
        ("to: {take: max, over: n}", [0.125, 0.875, 1.0, 0.9875], [0.2, 0.8, 1.0]),
    ];
    for (to, own, there) in figures {
        let spec = spec(&format!("x: n, where: {{system: store, size: 4KB}}, {to}, published: plain"));
        let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
        let published = numbers(&spec, &read_published(RATES).unwrap()).unwrap();
        let all = all();
        let subject = Subject {
            design: &design,
            figure: &spec.figures[0],
            all: &all,
            published: &published,
            courses: &Planted,
        };
        let line = lines::lines(&subject).remove(0);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(line.points.iter().zip(own).all(|(dot, value)| near(dot.value, value)), "{to}");
        let (points, scaled) = lines::overlay(&subject, &line).unwrap();
        assert!(points.iter().zip(there).all(|((_, one), value)| near(*one, value)), "{to}: {points:?}");
        assert_eq!((points.len(), scaled), (3, 1.0), "{to}");
    }
}

#[test]
fn what_happens_within_runs_is_drawn_over_time_and_over_objects() {
    let figure =
        "kind: over_time, lines: [system, n], where: {size: 4KB, n: [1, 8]}, metric: bandwidth_bytes_per_s";
    let drawn = svg(figure, &all());
    // The disk has no intervals; the store one line for each number of clients.
    assert_eq!(count(&drawn, "class=\"series\""), 2, "{drawn}");
    assert!(
        has(&drawn, "store, clients 8")
            && !has(&drawn, "raw disk, clients 8")
            && has(&drawn, "Bandwidth (MB/s)"),
        "{drawn}"
    );
    let drawn = svg("kind: over_objects, lines: [system], where: {size: 4KB, n: 8}", &all());
    assert!(
        has(&drawn, "Objects done") && words(&drawn).contains("thin: the rate of each interval"),
        "{drawn}"
    );
    assert_eq!(count(&drawn, "class=\"series\""), 2, "each interval, and since the start: {drawn}");
    let several = svg("kind: over_objects, where: {system: store, size: 4KB}", &all());
    assert!(words(&several).contains("3 more cells of these lines are not drawn"), "{several}");
    let disk = part("kind: over_time, where: {system: disk, n: 8}", &all());
    assert!(matches!(&disk, Part::Text(said) if said.contains("figures are not known")), "{disk:?}");
}

#[test]
fn distances_of_a_disk_are_bars_by_bin() {
    let mut all = all();
    for one in all.iter_mut().filter(|one| one.levels["system"] == "store") {
        for (at, share) in [0.5, 0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 0.25, 0.0].into_iter().enumerate() {
            one.values.insert(crate::metric::bin_id(at), share);
        }
    }
    let drawn = svg("kind: distances, lines: [system], where: {size: 4KB, n: 8}", &all);
    assert_eq!(count(&drawn, "class=\"bar\""), 9, "{drawn}");
    assert!(has(&drawn, "below 8") && has(&drawn, "Share of requests"), "{drawn}");
    assert!(words(&drawn).contains("no figures of disk size=4KB n=8"), "{drawn}");
}

#[test]
fn efficiencies_are_drawn_over_their_factor_with_what_was_published() {
    let drawn = svg("kind: formulas, formulas: [share of the disk]", &all());
    for text in ["share of the disk", "share of the disk published: 0.885", "Ratio", "8KB"] {
        assert!(has(&drawn, text), "{text}: {drawn}");
    }
}

#[test]
fn the_same_cells_times_something_are_a_line_more() {
    let figure = "x: n, lines: [system], where: {size: 4KB}, metric: bandwidth_bytes_per_s, also: \
                  [{name: 3 x store, where: {system: store}, times: 3}]";
    let drawn = svg(figure, &all());
    assert!(has(&drawn, "3 x store") && has(&drawn, "Bandwidth (MB/s)"), "{drawn}");
    assert_eq!(count(&drawn, "class=\"series\""), 3, "{drawn}");
}

#[test]
fn what_all_lines_have_in_common_is_said_once_and_a_bare_number_says_of_what() {
    let held = svg("x: n, lines: [system, size], where: {size: 4KB}", &all());
    assert!(has(&held, "raw disk") && has(&held, "store") && !held.contains("store, "), "{held}");
    assert!(words(&held).contains("all lines: 4KB"), "{held}");
    let both = svg("x: size, lines: [system, n], where: {n: [1, 8]}", &all());
    assert!(has(&both, "store, clients 8") && !words(&both).contains("all lines"), "{both}");
    let alone = svg("x: n, lines: [system], where: {system: store, size: 4KB}", &all());
    assert!(has(&alone, "store") && !words(&alone).contains("all lines"), "{alone}");
}

#[test]
fn nothing_is_drawn_between_levels_that_have_no_order() {
    let drawn = svg("x: system, lines: [size], where: {n: 8}", &all());
    assert_eq!(count(&drawn, "class=\"series\""), 0, "{drawn}");
    assert!(count(&drawn, "class=\"mark\"") >= 4, "{drawn}");
    assert!(has(&drawn, "raw disk") && !has(&drawn, "disk"), "a system has its label: {drawn}");
}

#[test]
fn a_picture_says_what_its_points_and_whiskers_are() {
    let figure = "x: n, lines: [system], where: {size: 4KB}, metric: response_ms.p95";
    let several = svg("x: n, lines: [system], where: {size: 4KB}", &all());
    assert!(words(&several).contains("medians of the runs, whiskers their 95 % intervals"), "{several}");
    let once: Vec<Observation> = all().into_iter().filter(|one| one.repetition == 1).collect();
    let drawn = svg(figure, &once);
    assert!(words(&drawn).contains("one run of each cell") && !words(&drawn).contains("whiskers"), "{drawn}");
    assert!(has(&drawn, "95th percentile of the response time (ms)"), "{drawn}");
    for (id, label) in [
        ("response_ms.p50", "Median response time (ms)"),
        ("response_ms.p99_9", "99.9th percentile of the response time (ms)"),
        ("lbn_beyond_2500000_share", "Share of requests more than 2 500 000 blocks apart"),
        ("bandwidth_bytes_per_s", "Bandwidth (MB/s)"),
    ] {
        assert_eq!(axis_label(id), label);
    }
}

#[test]
fn a_picture_says_which_of_its_cells_have_no_figures() {
    let figure = "x: n, lines: [system], where: {size: 4KB}";
    let fewer: Vec<Observation> = all()
        .into_iter()
        .filter(|one| (one.levels["system"] == "store" && one.levels["n"] != "8") || one.levels["n"] == "1")
        .collect();
    let drawn = svg(figure, &fewer);
    assert!(
        words(&drawn).contains("no figures of disk size=4KB n=8") && words(&drawn).contains("n=512"),
        "{drawn}"
    );
    let Part::Text(said) = part("x: n, metric: success_ratio", &all()) else { panic!("drawn from nothing") };
    assert!(
        said.starts_with("Not drawn - f: no figures of disk size=4KB n=1") && said.contains("and 12 more"),
        "{said}"
    );
    assert!(figures_of_nothing().is_empty());
}

#[test]
fn a_picture_says_how_many_of_its_points_are_not_run_and_names_none_of_them() {
    let skip = "skip: [{when: {system: disk, n: [8, 64, 512]}, why: it is slow}]";
    let drawn = |figure: &str, all: &[Observation]| {
        let (spec, mistakes) = read(&format!("{TEXT}  - {{title: f, {figure}}}\n{skip}\n"));
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
        figures(&design, all, &[], &Planted).remove(0)
    };
    let run: Vec<Observation> =
        all().into_iter().filter(|one| one.levels["system"] == "store" || one.levels["n"] == "1").collect();
    let Part::Figure { svg, .. } = drawn("x: n, lines: [system], where: {size: 4KB}", &run) else {
        panic!("not drawn")
    };
    let said = words(&svg);
    assert!(said.contains("3 points are not run") && !said.contains("no figures of"), "{svg}");
    let Part::Text(said) = drawn("x: n, where: {system: disk, n: [8, 64]}", &run) else {
        panic!("drawn from nothing")
    };
    assert!(said.contains("nothing of it is run: it is slow"), "{said}");
}

fn figures_of_nothing() -> Vec<Part> {
    let spec = spec("x: n");
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    figures(&design, &[], &[], &Planted)
}

#[test]
fn nothing_and_one_point_and_fifty_lines_and_long_names_break_no_picture() {
    let mut all = all();
    for one in all.iter_mut().filter(|one| one.levels["n"] == "64") {
        one.values.insert("throughput_per_s".to_owned(), 0.0);
    }
    let kinds = [
        "x: n, log: true",
        "x: n, lines: [system, size], log: true, limits: [{name: none, value: 0}]",
        "kind: bars, x: n, lines: [system, size]",
        "kind: stacked, x: n, lines: [system, size]",
        "kind: knee, x: n, metric: response_ms.p95, log: true",
        "kind: knee, x: n, metric: response_ms.p95",
        "kind: percentiles, lines: [n], metric: response_ms.p95",
        "kind: formulas, formulas: [share of the disk], log: true",
        "x: n, to: {take: max, over: n}, log: true",
    ];
    let one: Vec<Observation> = all[..1].to_vec();
    let broken: Vec<Observation> = all
        .iter()
        .cloned()
        .map(|mut one| {
            one.values.insert("throughput_per_s".to_owned(), f64::NAN);
            one
        })
        .collect();
    for figure in kinds {
        for some in [&all, &one, &broken] {
            if let Part::Figure { svg, .. } = part(figure, some) {
                assert!(
                    !svg.contains("NaN") && !svg.contains("inf") && svg.ends_with("</svg>\n"),
                    "{figure}: {svg}"
                );
            }
        }
    }
    let zero = svg("x: n, lines: [system, size], log: true, limits: [{name: none, value: 0}]", &all);
    assert!(
        words(&zero).contains("0, which an axis by decades does not have: raw disk, 4KB at 64 and 3 more"),
        "{zero}"
    );
    assert!(words(&zero).contains("none is 0, which an axis by decades does not have"), "{zero}");
}

#[test]
fn fifty_lines_of_long_names_keep_their_words_within_the_picture() {
    let sizes: Vec<String> =
        (1..=50).map(|size| format!("{size}{}", "-quite-a-long-name".repeat(3))).collect();
    let text = format!(
        "name: t\ntitle: t\nquestion: q\nsystems: [{{name: one}}]\nfactors: [{{name: size, levels: [{}]}}, \
         {{name: n, within: true, levels: [1, 8]}}]\nscales: {{quick: {{}}}}\n\
         workload: {{point: '- name: p-${{{{ n }}}}', measured: 'p-${{{{ n }}}}'}}\n\
         figures:\n  - {{title: '{}', x: n, lines: [size, system], limits: [{{name: '{}', value: 5}}]}}\n  \
         - {{title: f, kind: bars, x: size, lines: [n]}}\n",
        sizes.join(", "),
        "a title of many words ".repeat(20),
        "a limit of many words ".repeat(20),
    );
    let (spec, mistakes) = read(&text);
    let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    let all: Vec<Observation> =
        sizes.iter().flat_map(|size| ["1", "8"].map(|n| seen("one", size, n, 1, 10.0, 5.0))).collect();
    let drawn = figures(&design, &all, &[], &Planted);
    assert_eq!(drawn.len(), 2, "{drawn:?}");
    for part in drawn {
        let Part::Figure { svg, .. } = part else { panic!("{part:?}") };
        let mut texts = 0;
        for line in svg.lines().filter(|line| line.starts_with("<text")) {
            let words = line.split_once('>').unwrap().1.trim_end_matches("</text>");
            assert!(words.chars().count() < 200, "{line}");
            texts += 1;
        }
        assert!(texts > 2, "{svg}");
    }
}

#[test]
fn a_picture_says_how_many_lines_it_leaves_out_and_which_points_took_too_long() {
    let sizes: Vec<String> = (1..=14).map(|size| format!("{size}KB")).collect();
    let text = format!(
        "name: t
title: t
question: q
systems: [{{name: one}}]
factors: [{{name: size, levels: [{}]}}, {{name: n, within: true, levels: [1, 8]}}]
scales: {{quick: {{}}}}
workload: {{point: '- name: p-${{{{ n }}}}', measured: 'p-${{{{ n }}}}'}}
figures: [{{title: f, x: n, lines: [size]}}]
",
        sizes.join(", ")
    );
    let (spec, mistakes) = read(&text);
    let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    let mut all: Vec<Observation> =
        sizes.iter().flat_map(|size| ["1", "8"].map(|n| seen("one", size, n, 1, 10.0, 5.0))).collect();
    let svg = |all: &[Observation]| match figures(&design, all, &[], &Planted).remove(0) {
        Part::Figure { svg, .. } => svg,
        other => panic!("{other:?}"),
    };
    let plain = svg(&all);
    assert!(
        words(&plain).contains("2 more lines are in the tables") && !plain.contains("too long"),
        "{plain}"
    );
    all.truncate(4);
    all[1].too_long = Some("a response takes 5 s".to_owned());
    let marked = svg(&all);
    assert!(marked.contains(">too long<") && words(&marked).contains("hollow points of a line"), "{marked}");
    assert!(!words(&marked).contains("more lines"), "{marked}");
}

#[test]
fn a_picture_that_cannot_be_drawn_is_a_mistake_at_its_line() {
    for (figure, words) in [
        ("lines: [system]", "no factor to draw along"),
        ("kind: percentiles, x: n", "this kind of picture has no x"),
        ("kind: bars, x: n, log: true", "cannot be drawn so"),
        ("kind: knee, x: n", "cannot be drawn so"),
        ("kind: formulas", "cannot be drawn so"),
        ("kind: formulas, formulas: [nothing]", "cannot be drawn so"),
        ("x: n, formulas: [share of the disk]", "cannot be drawn so"),
        ("kind: stacked, x: n, published: peak", "cannot be drawn so"),
        ("kind: knee, x: n, metric: response_ms.p95, to: {where: {n: 1}}", "cannot be drawn so"),
        ("x: n, to: {}", "a ratio to itself"),
        ("x: n, to: {where: {colour: red}}", "colour: no factor"),
        ("x: n, to: {take: arg_max, over: n}", "nothing is divided by that"),
        ("x: n, times: 0", "a factor is above 0"),
        ("x: n, also: [{name: more, times: -1}]", "a factor is above 0"),
        ("x: n, also: [{name: more, metric: speed}]", "speed: no figure of a run"),
        ("x: n, limits: [{name: l}]", "l: give one of four"),
        ("x: n, limits: [{name: l, value: 1, sla: soon}]", "l: give one of four"),
        ("x: n, limits: [{name: l, value: -1}]", "l: no level of a figure"),
        ("x: n, limits: [{name: l, sla: soon}]", "soon: no limit of this picture"),
        ("x: n, limits: [{name: l, of: {where: {n: 9}}}]", "9: no level of n"),
        ("kind: over_time, x: n", "this kind of picture has no x"),
        ("kind: over_time, metric: response_ms.p95", "cannot be drawn so"),
        ("kind: over_objects, metric: bandwidth_bytes_per_s", "cannot be drawn so"),
        ("kind: over_objects, log: true", "cannot be drawn so"),
        ("kind: distances, x: n", "this kind of picture has no x"),
        ("kind: distances, log: true", "cannot be drawn so"),
        ("kind: cake, x: n", "unknown variant"),
    ] {
        let (spec, mistakes) = read(&format!("{TEXT}  - {{title: f, {figure}}}\n"));
        let found = mistakes.iter().any(|one| one.message.contains(words));
        assert!(spec.is_none() && found, "{figure}: {mistakes:#?}");
    }
}

#[test]
fn figures_of_a_published_work_say_how_their_marks_and_numbers_are_read() {
    let said = |title: &str, published: &[Published]| {
        let (spec, mistakes) = read(&format!("{TEXT}  - {{title: '{title}', x: n, where: {{size: 4KB}}}}\n"));
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
        let parts = crate::paper::results(&design, &all(), published, &Planted);
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            _ => None,
        });
        texts.collect::<Vec<String>>().join(" ")
    };
    let spec = spec("x: n");
    let published = numbers(&spec, &read_published(RATES).unwrap()).unwrap();
    assert!(said("16 - writes", &published).contains("A number before a title"));
    let plain = said("writes - all", &published);
    assert!(plain.contains("hollow ones") && !plain.contains("A number before"), "{plain}");
    assert_eq!(said("writes", &[]), "");
}
