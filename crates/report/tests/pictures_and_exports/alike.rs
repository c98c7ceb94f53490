//! Stages and operations of one name: none takes the place of another, in exports and in comparisons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cosmark_archive::open_run;
use cosmark_report::compare::{Options, compare, load};
use cosmark_report::export::Format;
use serde_json::{Value, json};

use crate::support::ours;

/// A run whose stage has its operation twice, with times of the second that are `slower` times as long, and that has this
/// stage twice.
fn twice(root: &Path, slower: f64) -> PathBuf {
    let path = ours(root, "twice", 4, 1);
    let file = path.join("run.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let stage = &mut record["stages"][0];
    let mut second = stage["operations"][0].clone();
    (second["id"], second["tag"]) = (json!("op2"), json!("s1-main.second"));
    second["response_ms"]["mean"] = json!(second["response_ms"]["mean"].as_f64().unwrap() * slower);
    stage["operations"].as_array_mut().unwrap().push(second);
    let mut again = stage.clone();
    again["id"] = json!("s2-main");
    record["stages"].as_array_mut().unwrap().push(again);
    std::fs::write(&file, record.to_string()).unwrap();
    path
}

#[test]
fn operations_of_one_name_are_compared_each_with_its_own() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (a, b) = (twice(first.path(), 1.0), twice(second.path(), 45.0));
    let sides = [("a", a), ("b", b)].map(|(label, path)| vec![load(label, &path).unwrap()]);
    let own = sides[0][0].stages[0].operations[0].name.clone();
    let comparison = compare(&sides, &Options::default());
    let rows = comparison.rows().filter(|row| row.metric.names.compare == "mean");
    let found: Vec<(&str, &str, bool)> = rows
        .map(|row| (row.stage.as_str(), row.operation.as_str(), row.ratio.is_some_and(|ratio| ratio > 40.0)))
        .collect();
    let other = format!("{own} (2)");
    let expected =
        ["main", "main (2)"].map(|stage| [(stage, own.as_str(), false), (stage, other.as_str(), true)]);
    assert_eq!(found, expected.concat());
    // No warning says that they are rounds, or that one side lacks any.
    let warnings = &comparison.pairs[0].warnings;
    assert!(warnings.iter().any(|said| said.starts_with("one run on each side")), "{warnings:?}");
    assert!(!warnings.iter().any(|said| said.contains(": only ")), "{warnings:?}");
}

#[test]
fn operations_of_one_name_have_their_ids_in_metrics_and_in_tables() {
    let home = tempfile::tempdir().unwrap();
    let text = |path: &Path, format: &str| {
        let mut run = open_run(path).unwrap();
        // Timelines have no second operation.
        run.record.stages.iter_mut().for_each(|stage| stage.started = None);
        let mut out = Vec::new();
        Format::named(format).unwrap().write(&run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let path = twice(home.path(), 2.0);
    for format in ["prometheus", "openmetrics"] {
        let text = text(&path, format);
        let series: Vec<&str> = text.lines().filter_map(|line| Some(line.rsplit_once("} ")?.0)).collect();
        let known: BTreeSet<&str> = series.iter().copied().collect();
        assert!(series.len() > 20 && known.len() == series.len(), "{format}: {text}");
        assert!(text.contains("id=\"op1\"") && text.contains("id=\"op2\""), "{format}: {text}");
    }
    let table = text(&path, "csv");
    let mut table = csv::Reader::from_reader(table.as_bytes());
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    // Value is the tenth column, the id the last.
    let key = |row: &csv::StringRecord| -> Vec<String> {
        row.iter().enumerate().filter(|(at, _)| *at != 9).map(|(_, cell)| cell.to_owned()).collect()
    };
    let keys: BTreeSet<Vec<String>> = rows.iter().map(key).collect();
    assert_eq!(keys.len(), rows.len());
    assert!(rows.iter().any(|row| row.get(12) == Some("op2")));
    // The parts of their times are told apart in the same way.
    let parts = text(&path, "time");
    let mut parts = csv::Reader::from_reader(parts.as_bytes());
    assert_eq!(parts.headers().unwrap().get(10), Some("id"));
    let rows: Vec<csv::StringRecord> = parts.records().map(Result::unwrap).collect();
    let key = |row: &csv::StringRecord| [0, 1, 2, 3, 4, 5, 10].map(|at| row[at].to_owned());
    let keys: BTreeSet<[String; 7]> = rows.iter().map(key).collect();
    assert!(keys.len() == rows.len() && rows.iter().any(|row| &row[10] == "op2"), "{rows:?}");
    // What work and name tell apart has the labels and the columns that it always had.
    let alone = ours(&home.path().join("alone"), "alone", 4, 1);
    assert!(!text(&alone, "prometheus").contains("id=\"op"));
    assert!(
        text(&alone, "time")
            .starts_with("stage,work,operation,size,source,part,mean_ms,share,operations,measured_of\r\n")
    );
}
