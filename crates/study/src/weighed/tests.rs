//! What flaws come to: planted differences between two ways are computed from cells, and nothing is said where none can tell.

use std::collections::BTreeMap;

use cosmark_archive::Overall;

use super::*;
use crate::design::Choice;

const TEXT: &str = "
name: t
title: a test
question: how much does it matter
systems: [{name: one}, {name: other}]
factors:
  - {name: size, levels: [4KB, 8KB]}
  - {name: n, within: true, levels: [1, 8, 64]}
scales: {quick: {}}
workload:
  point: '- name: p-${{ n }}'
  measured: p-${{ n }}
slas:
  - {name: printed, p95_ms: 50, over: n}
  - {name: meant, p95_ms: 500, over: n}
efficiencies:
  - {name: plain, of: {where: {system: one, n: 8}}, to: {where: {system: other, n: 8}}, over: size}
  - {name: tripled, times: 3, of: {where: {system: one, n: 8}}, to: {where: {system: other, n: 8}}, over: size}
flaws:
  - what: the limit is that of another size
    matters: unknown
    weighs:
      - says: best load
        original: {take: arg_best, over: n, sla: printed, where: {system: one, size: 4KB}}
        right: {take: arg_best, over: n, sla: meant, where: {system: one, size: 4KB}}
  - what: buckets
    weighs:
      - says: p95
        original: {metric: response_ms.p95, bucket_ms: 10, where: {system: one, size: 4KB, n: 1}}
        right: {metric: response_ms.p95, where: {system: one, size: 4KB, n: 1}}
  - what: best of N
    weighs:
      - says: rate
        original: {across: best, where: {system: one, size: 4KB, n: 8}}
        right: {across: mean, where: {system: one, size: 4KB, n: 8}}
  - what: failures are not seen
    weighs:
      - says: rate
        original: {metric: attempts_per_s, where: {system: one, size: 4KB, n: 64}}
        right: {where: {system: one, size: 4KB, n: 64}}
  - what: reads are tripled
    weighs: [{says: mean, original: {formula: tripled}, right: {formula: plain}}]
  - {what: nothing weighs it}
";

fn seen(system: &str, n: &str, repetition: u32, rate: f64, p95: f64) -> Observation {
    let levels = [("system", system), ("size", "4KB"), ("n", n)];
    let values = [("throughput_per_s", rate), ("attempts_per_s", rate / 0.75), ("response_ms.p95", p95)];
    Observation {
        levels: levels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        op: "read".into(),
        repetition,
        values: values.map(|(id, value)| (id.to_owned(), value)).into_iter().collect::<BTreeMap<_, _>>(),
        verdict: Overall::True,
        ..Observation::default()
    }
}

fn rows(all: &[Observation]) -> Vec<Vec<Field>> {
    let (spec, mistakes) = crate::spec::read(TEXT);
    let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
    let design = Design::new(&spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap();
    let Part::Table { rows, .. } = flaws(&design, all) else { panic!("no table") };
    rows
}

#[test]
fn flaws_are_weighed_by_the_cells_and_by_nothing_else() {
    let mut all = Vec::new();
    for repetition in 1..=3 {
        let more = f64::from(repetition);
        all.push(seen("one", "1", repetition, 10.0, 2.5));
        all.push(seen("one", "8", repetition, 80.0 + 10.0 * more, 40.0));
        all.push(seen("one", "64", repetition, 300.0, 400.0));
        all.push(seen("other", "8", repetition, 200.0, 40.0));
    }
    let rows = rows(&all);
    let says: Vec<&str> = rows.iter().map(|row| row[2].text.as_str()).collect();
    assert!(says[0].starts_with("best load: 8 the original's way, 64 the right way, x 0.1"), "{}", says[0]);
    assert!(says[1].starts_with("p95: 10.0 the original's way, 2.50 the right way, x 4.00"), "{}", says[1]);
    assert_eq!(says[2], "rate: 110 the original's way, 100 the right way, x 1.10");
    assert!(says[3].starts_with("rate: 400 the original's way, 300 the right way, x 1.33"), "{}", says[3]);
    assert!(says[4].starts_with("mean: 1.49 the original's way, 0.50 the right way, x 3.00"), "{}", says[4]);
    assert_eq!(says[5], "");
    assert!(rows.iter().all(|row| row.len() == 4 && row[2].look == Look::Plain));
}

#[test]
fn what_cells_cannot_tell_is_not_said_and_what_is_false_says_so() {
    let one_run = [seen("one", "8", 1, 90.0, 40.0), seen("one", "64", 1, 300.0, 400.0)];
    let rows_of_one = rows(&one_run);
    assert_eq!(rows_of_one[1][2].text, "p95: not known, its cells were not run");
    assert_eq!(rows_of_one[2][2].text, "rate: not known, one run has no spread");
    assert_eq!(rows_of_one[4][2].text, "mean: not known, its cells were not run");
    let mut doubted = one_run;
    doubted[1].verdict = Overall::False;
    let rows = rows(&doubted);
    assert_eq!((rows[3][2].look, rows[1][2].look), (Look::False, Look::Plain));
    assert!(rows[3][2].words().ends_with("(FALSE)"));
}

#[test]
fn a_time_on_an_edge_is_in_the_bucket_below() {
    let all = [(2.5, 10.0), (10.0, 10.0), (10.1, 20.0), (0.0, 10.0), (30.000_000_000_000_004, 30.0)];
    for (time, edge) in all {
        assert_eq!(upper_edge(time, 10.0), edge, "{time}");
    }
}

#[test]
fn two_ways_that_are_one_and_a_way_of_all_beside_one_of_each_are_mistakes() {
    let right = "right: {metric: response_ms.p95, where: {system: one, size: 4KB, n: 1}}";
    for (with, words) in [
        (
            "right: {metric: response_ms.p95, bucket_ms: 10, where: {system: one, size: 4KB, n: 1}}",
            "both ways are the same",
        ),
        ("right: {across: mean, where: {system: one}}", "one way is of each run"),
        ("right: {formula: nothing}", "nothing: no efficiency"),
        ("right: {metric: throughput_per_s, bucket_ms: 10}", "no buckets of a time"),
        ("right: {metric: speed}", "speed: no figure of a run"),
        ("right: {take: arg_best, over: n}", "best needs the name of a limit"),
    ] {
        let (spec, mistakes) = crate::spec::read(&TEXT.replace(right, with));
        let found = mistakes.iter().any(|one| one.message.contains(words));
        assert!(spec.is_none() && found, "{with}: {mistakes:#?}");
    }
}
