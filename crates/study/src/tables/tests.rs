//! What the tables say of cells that were measured, of which nothing is known, and that were not run.

use std::collections::BTreeMap;

use cosmark_archive::Overall;

use super::*;
use crate::design::Choice;
use crate::published::{Published, numbers, read as read_published};
use crate::spec::{Spec, read};

const TEXT: &str = "
name: t
title: a test
question: which is faster
systems: [{name: slow}, {name: fast}]
factors:
  - {name: size, levels: [4KB, 8KB, 1MB]}
  - {name: n, within: true, levels: [1, 8, 64]}
scales: {quick: {}}
workload:
  point: '- name: p-${{ n }}'
  measured: p-${{ n }}
slas: [{name: soon, p95_ms: 100, over: n, where: {op: read}}]
published:
  - table: gains
    column: percent
    rows: {what: small}
    times: 0.01
    plus: 1
    where: {system: fast, size: [4KB, 8KB], n: 1, op: read}
    to: {system: slow}
  - {table: gains, column: percent, rows: {what: large}, times: 0.01, plus: 1, where: {system: fast, size: 1MB, n: 1}, to: {system: slow}}
  - {table: gains, column: percent, rows: {what: late}, metric: response_ms.p95, where: {system: fast, size: 4KB, n: 1}}
  - {table: gains, column: percent, rows: {what: plain}, where: {system: fast, size: 4KB, n: 64}}
";
const GAINS: &str = "# gains\nwhat,percent\nsmall,25\nlarge,70\nlate,9\nplain,7\n";

fn spec() -> Spec {
    let (spec, mistakes) = read(TEXT);
    spec.unwrap_or_else(|| panic!("{mistakes:#?}"))
}

fn design(spec: &Spec) -> Design<'_> {
    Design::new(spec, Choice { scale: "quick".into(), ..Choice::default() }).unwrap()
}

fn published(spec: &Spec) -> Vec<Published> {
    numbers(spec, &read_published(GAINS).unwrap()).unwrap()
}

/// Reads of a system at a size and a number of clients.
fn seen(system: &str, size: &str, clients: &str, figures: &[(&str, f64)]) -> Observation {
    let levels = [("system", system), ("size", size), ("n", clients)];
    Observation {
        levels: levels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        op: "read".into(),
        repetition: 1,
        values: figures.iter().map(|(id, value)| ((*id).to_owned(), *value)).collect::<BTreeMap<_, _>>(),
        verdict: Overall::True,
        ..Observation::default()
    }
}

/// Caption and rows of a table.
fn parts(part: Part) -> (String, Vec<Vec<String>>) {
    let Part::Table { caption, rows, .. } = part else { panic!("no table: {part:?}") };
    (caption, rows.iter().map(|row| row.iter().map(|field| field.text.clone()).collect()).collect())
}

#[test]
fn a_published_ratio_stands_beside_that_from_here_and_what_is_missing_says_why() {
    let (spec, rate) = (spec(), |rate| [("throughput_per_s", rate)]);
    let published = published(&spec);
    let printed: Vec<String> = published.iter().map(|one| format!("{:.3}", one.value)).collect();
    assert_eq!(printed, ["1.250", "1.700", "9.000", "7.000"]);
    assert_eq!(published[3].levels().map(|levels| levels.len()), Some(3));
    assert!(
        published[..2].iter().all(|one| one.levels().is_none()),
        "no ratio and no mean is a point of a picture"
    );
    let all = [
        seen("slow", "4KB", "1", &rate(100.0)),
        seen("slow", "8KB", "1", &rate(50.0)),
        seen("fast", "4KB", "1", &rate(200.0)),
        seen("fast", "8KB", "1", &rate(100.0)),
        // Nothing of the other system at this size.
        seen("fast", "1MB", "1", &rate(10.0)),
    ];
    let (caption, rows) = parts(beside(&design(&spec), &all, &published).unwrap());
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        rows[0][..5],
        ["fast size=4KB+8KB n=1 read", "Throughput (/s), ratio to slow", "1.25", "2.00", "1.60"]
    );
    let fewer: Vec<Observation> = all.iter().filter(|one| one.levels["size"] != "8KB").cloned().collect();
    assert!(beside(&design(&spec), &fewer, &published).is_none(), "a mean over other sizes");
    assert!(caption.contains("Of 2 further published numbers the cells were not run."), "{caption}");
    assert!(
        caption.contains("Of 1 further published numbers the cells were run, but the figure is not known"),
        "{caption}"
    );
}

#[test]
fn a_row_is_within_a_limit_only_where_it_is_believed_and_next_to_nothing_failed() {
    let spec = spec();
    let row = |clients: &str, p95: f64| {
        seen("fast", "4KB", clients, &[("throughput_per_s", 10.0), ("response_ms.p95", p95)])
    };
    let mut all = [row("1", 50.0), row("8", 50.0), row("64", 50.0)];
    all[1].verdict = Overall::False;
    all[2].failed_share = 0.25;
    let (caption, rows) = parts(slas(&design(&spec), &all).remove(0));
    let said: Vec<&str> = rows.iter().map(|row| row[3].as_str()).collect();
    assert_eq!(said, ["yes", "not known: FALSE", "no: 25.0 % failed"]);
    assert!(caption.contains("Best row here: 1."), "{caption}");
}

#[test]
fn a_published_ratio_to_the_same_cells_is_a_mistake() {
    let (spec, mistakes) = read(&TEXT.replace("    to: {system: slow}", "    to: {system: fast}"));
    assert!(
        spec.is_none() && mistakes.iter().any(|one| one.message == "a ratio to the same cells"),
        "{mistakes:#?}"
    );
    let (spec, mistakes) = read(&TEXT.replace("    to: {system: slow}", "    to: {colour: red}"));
    assert!(spec.is_none() && mistakes.iter().any(|one| one.message == "colour: no factor"), "{mistakes:#?}");
}
