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
        ["fast size=4KB+8KB n=1 read", "Throughput (operations/s), ratio to slow", "1.25", "2.00", "1.60"]
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
fn a_search_in_which_no_load_missed_says_up_to_which_it_looked() {
    let spec = spec();
    let found = |repetition: u32, more: &[(&str, f64)]| {
        let mut figures = vec![("knee_per_s", 100.0), ("knee_trials", 9.0), ("knee_highest", 800.0)];
        figures.extend_from_slice(more);
        Observation { repetition, ..seen("fast", "4KB", "1", &figures) }
    };
    let row = |all: &[Observation]| parts(knees(&design(&spec), all).unwrap()).1.remove(0);
    let mut never = found(1, &[]);
    never.verdict = Overall::NotProven;
    never.why =
        Some(format!("{}every load up to 800 met the thresholds: look higher", crate::knee::UNSETTLED));
    let said = row(std::slice::from_ref(&never));
    assert_eq!(said[5], "none up to 800", "{said:?}");
    assert!(said[11].ends_with("look higher"), "{said:?}");
    let missed = [("knee_missed_at", 200.0)];
    assert_eq!(row(&[never, found(2, &missed)])[5], "200 in 1 of 2 runs");
    assert_eq!(row(&[found(1, &missed), found(2, &missed)])[5], "200");
}

#[test]
fn the_sum_of_one_operation_is_not_said_again_and_that_of_two_is() {
    let spec = spec();
    let of = |op: &str, size: &str, rate: f64| Observation {
        op: op.to_owned(),
        ..seen("fast", size, "1", &[("throughput_per_s", rate)])
    };
    let all = [
        of("write", "4KB", 10.0),
        of("all", "4KB", 10.0),
        of("read", "8KB", 5.0),
        of("write", "8KB", 6.0),
        of("all", "8KB", 11.0),
    ];
    let (_, rows) = parts(cells(&design(&spec), &all));
    let mut said: Vec<(&str, &str)> = rows.iter().map(|row| (row[1].as_str(), row[3].as_str())).collect();
    said.sort_unstable();
    assert_eq!(said, [("4KB", "write"), ("8KB", "all"), ("8KB", "read"), ("8KB", "write")]);
}

#[test]
fn verdicts_are_counted_once_for_each_point_by_its_worst_run() {
    let spec = spec();
    let with = |verdict: Overall, repetition: u32, clients: &str, op: &str| Observation {
        verdict,
        repetition,
        op: op.to_owned(),
        ..seen("fast", "4KB", clients, &[("throughput_per_s", 10.0)])
    };
    let all = [
        with(Overall::True, 1, "1", "read"),
        with(Overall::False, 2, "1", "read"),
        with(Overall::NotProven, 1, "8", "read"),
        // The sum of one operation is that operation.
        with(Overall::NotProven, 1, "8", "all"),
    ];
    let said = verdicts(&design(&spec), &all).unwrap();
    assert!(said.contains(": 1 NOT PROVEN, 1 FALSE, 2 in all."), "{said}");
    assert_eq!(verdicts(&design(&spec), &[]), None);
}

#[test]
fn points_that_are_not_run_for_one_reason_are_one_row() {
    let skip = "skip: [{when: {system: slow, n: [8, 64]}, why: it is slow}, {when: {system: fast, size: 1MB, n: 1}, why: it is large}]";
    let (spec, mistakes) = read(&TEXT.replace("\nslas:", &format!("\n{skip}\nslas:")));
    let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
    let (_, rows) = parts(cells(&design(&spec), &[]));
    let said: Vec<[&str; 4]> = rows.iter().map(|row| [0, 1, 2, 3].map(|at| row[at].as_str())).collect();
    assert_eq!(
        said,
        [["slow", "", "", "not run, 6 points: it is slow"], ["fast", "1MB", "1", "not run: it is large"]]
    );
}

#[test]
fn no_interval_of_a_rate_reaches_below_0() {
    let spec = spec();
    let run = |repetition: u32, rate: f64| Observation {
        repetition,
        ..seen("fast", "4KB", "1", &[("throughput_per_s", rate)])
    };
    let all = [run(1, 10.0), run(2, 20.0), run(3, 69.0)];
    let (_, rows) = parts(cells(&design(&spec), &all));
    assert!(rows[0][5].starts_with("20.0 (") && !rows[0][5].contains('-'), "{rows:?}");
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

#[test]
fn a_search_that_found_no_load_is_a_hatched_row_with_its_reason_and_no_claim_is_shown_by_the_others() {
    let text = format!(
        "{TEXT}claims: [{{id: K, says: it serves 90 per second, test: [{{of: {{metric: knee_per_s, where: {{size: 4KB, n: 1}}}}, least: 90}}]}}]
figures: [{{title: knees, x: size, metric: knee_per_s, where: {{n: 1}}}}]\n"
    );
    let (spec, mistakes) = read(&text);
    let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
    let design = design(&spec);
    let found = |repetition: u32, load: f64| Observation {
        repetition,
        ..seen(
            "fast",
            "4KB",
            "1",
            &[("knee_per_s", load), ("knee_trials", 12.0), ("throughput_per_s", load - 1.0)],
        )
    };
    let mut all: Vec<Observation> = (0..5).map(|run| found(run + 1, 100.0 + f64::from(run))).collect();
    let judged = |all: &[Observation]| crate::claims::judge(&design, all).remove(0);
    assert_eq!(judged(&all).finding, crate::claims::Finding::Agrees);
    let lost = Observation {
        repetition: 6,
        no_knee: true,
        verdict: Overall::False,
        why: Some("no load met p95 <= 20 ms".to_owned()),
        ..seen("fast", "4KB", "1", &[("knee_trials", 3.0)])
    };
    all.push(lost.clone());
    let claim = judged(&all);
    assert_eq!(claim.finding, crate::claims::Finding::NotShown, "{claim:?}");
    assert!(claim.why.contains("a search of its cells found no load"), "{claim:?}");
    let Some(Part::Table { rows, .. }) = knees(&design, &all) else { panic!("no table") };
    let said: Vec<&str> = rows[0].iter().map(|field| field.text.as_str()).collect();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0][4].look, Look::False);
    assert!(said[4].starts_with("102 (") && said[4].ends_with("/s"), "{said:?}");
    assert_eq!((said[10], said[11]), ("5 of 6", "no load met p95 <= 20 ms"));
    let (_, rows) = parts(cells(&design, &all));
    assert_eq!(rows[0][3..5], ["read", "no load found"], "{rows:?}");
    assert_eq!(rows[0].last().map(String::as_str), Some("no load met p95 <= 20 ms"), "{rows:?}");
    let nowhere = crate::measured::Files { directory: std::path::Path::new("nowhere") };
    let drawn = crate::figures::figures(&design, &all, &[], &nowhere);
    let Some(Part::Figure { svg, .. }) = drawn.first() else { panic!("{drawn:?}") };
    assert!(svg.contains("found no load, in a run at least, of fast size=4KB n=1"), "{svg}");
    // Alone it is a row, too.
    let (_, rows) = parts(knees(&design, std::slice::from_ref(&lost)).unwrap());
    assert_eq!((rows[0][4].as_str(), rows[0][10].as_str()), ("-", "0 of 1"));
    let claim = judged(&[lost]);
    assert!(claim.why == "a search of its cells found no load", "{claim:?}");
    assert!(knees(&design, &[seen("fast", "4KB", "1", &[])]).is_none());
}
