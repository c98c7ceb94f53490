//! The rows of what limits systems: grouped over runs, nothing left out, and nothing that is FALSE in front.

use cosmark_archive::{HostRecord, OperationResult, StageState, Timestamp};
use cosmark_workload::{Environment, Format};

use super::*;
use crate::page::{Paper, html, latex, markdown};

const WORKLOAD: &str = "name: w
storage: {type: none}
stages:
  - name: reads
    works: [{name: main, workers: 1, runtime: 9s, operations: [{type: write, containers: c(1), objects: c(1), sizes: c(1)KB}]}]
  - name: writes
    works: [{name: main, workers: 1, runtime: 9s, operations: [{type: write, containers: c(1), objects: c(1), sizes: c(1)KB}]}]
";

/// The number of a stage, the answer, its confidence, the units and the sentence.
type Given<'a> = (usize, &'a str, Option<&'a str>, &'a [&'a str], &'a str);

/// A run with these answers.
fn run(overall: Overall, answers: &[Given<'_>]) -> RunRecord {
    let workload = cosmark_workload::parse(WORKLOAD, Format::Yaml, &Environment::default()).0.unwrap();
    let mut record =
        RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
    record.verdict.overall = overall;
    for (stage, op) in record.stages.iter_mut().zip(["read", "write"]) {
        stage.state = StageState::Completed;
        stage.operations = vec![OperationResult { op: op.to_owned(), ..OperationResult::default() }];
    }
    for (stage, answer, confidence, units, text) in answers {
        record.bottlenecks.push(BottleneckResult {
            answer: (*answer).to_owned(),
            confidence: confidence.map(str::to_owned),
            units: units.iter().map(|unit| (*unit).to_owned()).collect(),
            text: (*text).to_owned(),
            stages: vec![record.stages[*stage].id.clone()],
            ..BottleneckResult::default()
        });
    }
    record
}

fn said(runs: &[RunRecord]) -> Said {
    let mut said = Said::default();
    for (at, record) in runs.iter().enumerate() {
        said.add(format!("a.{} r1", at + 1), record);
    }
    said
}

fn rows(said: &Said) -> Vec<String> {
    let words = |row: &Vec<Field>| row.iter().map(Field::words).collect::<Vec<_>>().join(" | ");
    said.rows("a").iter().map(words).collect()
}

const DISK: &[&str] = &["s1 disk sdb"];
const NOTHING: &[&str] = &[];

#[test]
fn runs_that_name_the_same_are_one_row_with_the_strongest_sentence() {
    let disk = |confidence: &'static str, text: &'static str| {
        run(Overall::True, &[(0, "named", Some(confidence), DISK, text)])
    };
    let low = "disk sdb of s1: most likely the bottleneck (1)";
    let high = "disk sdb of s1: the bottleneck (2)";
    let other = run(Overall::True, &[(0, "not_reached", None, NOTHING, "throughput still grew")]);
    let all = said(&[disk("low", low), disk("high", high), other.clone(), other]);
    assert_eq!(
        rows(&all),
        [format!(
            "a | all | disk sdb of s1 | 2 of 4 runs | {high} (a.2 r1) | nothing yet: 2 of 4 runs, as in a.3 r1"
        )]
    );
    let one = said(&[disk("low", low)]);
    assert_eq!(rows(&one), [format!("a | all | disk sdb of s1 | 1 of 1 run | {low} (a.1 r1) | -")]);
}

#[test]
fn the_same_units_in_another_order_are_the_same_name() {
    let two = |units: &'static [&'static str], text: &'static str| {
        run(Overall::True, &[(0, "several", None, units, text)])
    };
    let first = two(&["s1 disk sda", "s2 disk sdb"], "sda and sdb are full at the same rate, 9/s: which");
    let second = two(&["s2 disk sdb", "s1 disk sda"], "sdb and sda are full at the same rate, 8/s: which");
    let found = rows(&said(&[first, second]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("a | all | sda and sdb, at the same rate | 2 of 2 runs | "), "{found:?}");
}

#[test]
fn stages_are_rows_of_their_own_only_where_they_name_something_else() {
    let disk = "disk sdb of s1: the bottleneck (1)";
    let same =
        run(Overall::True, &[(0, "named", Some("high"), DISK, disk), (1, "named", Some("high"), DISK, disk)]);
    let found = rows(&said(&[same]));
    assert_eq!(found.len(), 1, "{found:?}");
    // One that says it of both is counted once.
    assert!(found[0].contains("| 1 of 1 run |"), "{found:?}");
    let apart = run(
        Overall::True,
        &[(0, "client", None, NOTHING, "the client"), (1, "named", Some("high"), DISK, disk)],
    );
    let found = rows(&said(&[apart]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("a | read | the client | 1 of 1 run | "), "{found:?}");
    assert!(found[1].starts_with("a | write | disk sdb of s1 | 1 of 1 run | "), "{found:?}");
}

#[test]
fn what_is_false_stands_behind_what_is_not_and_is_marked() {
    let (disk, cpu) = ("disk sdb of s1: the bottleneck (1)", "core 1 of s1: most likely the bottleneck (2)");
    let wrong = run(Overall::False, &[(0, "named", Some("high"), DISK, disk)]);
    let right = run(Overall::True, &[(0, "named", Some("low"), &["s1 core 1"], cpu)]);
    let found = rows(&said(&[wrong.clone(), wrong.clone(), right]));
    assert_eq!(
        found,
        [format!(
            "a | all | core 1 of s1 | 1 of 3 runs | {cpu} (a.3 r1) | disk sdb of s1: 2 of 3 runs, 2 of them FALSE, as in a.1 r1"
        )]
    );
    let found = rows(&said(&[wrong]));
    assert!(
        found[0].starts_with("a | all | disk sdb of s1 (FALSE) | 1 of 1 run, 1 of them FALSE"),
        "{found:?}"
    );
}

#[test]
fn all_forms_have_each_name_and_the_runs_that_say_nothing() {
    let disk = run(Overall::True, &[(0, "named", Some("high"), DISK, "disk sdb of s1: the bottleneck (1)")]);
    let one = said(&[disk, run(Overall::True, &[])]);
    let none = said(&[run(Overall::True, &[])]);
    let paper = Paper { parts: table(&[("a", one), ("b", none.clone())]), ..Paper::default() };
    for text in [html(&paper), markdown(&paper, "figures"), latex(&paper)] {
        assert!(text.contains("disk sdb of s1") && text.contains("1 of 1 run"), "{text}");
    }
    for text in [html(&paper), markdown(&paper, "figures")] {
        assert!(text.contains("a 1 of 2, b 1 of 1."), "{text}");
    }
    let empty = table(&[("b", none)]);
    assert!(matches!(&empty[..], [Part::Text(text)] if text.starts_with("Not known here")), "{empty:?}");
}
