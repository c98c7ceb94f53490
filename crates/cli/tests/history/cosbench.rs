//! Runs that COSBench made, opened like ours: by their number, by every command that shows a run, without their secrets.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::skipped;
use super::{good, said};

/// A copy of COSBench's archive, with a secret in a configuration as COSBench leaves it.
fn archive() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/cosbench-runs");
    copy(&from, &home.path().join("archive"));
    let config = home.path().join("archive/w3-mock-full/workload-config.xml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("size=4000", "size=4000;secretkey=hunter2")).unwrap();
    home
}

fn copy(from: &Path, to: &PathBuf) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_run_that_cosbench_made_is_shown_judged_and_exported_by_its_number() {
    let home = archive();
    let home = home.path();
    let shown = good(home, "show w3");
    for text in ["w3 mock-full finished", "NOT PROVEN", "48 940", "4 079", "20.0"] {
        assert!(shown.contains(text), "{text} is not in\n{shown}");
    }
    assert!(!shown.contains("inf") && !shown.contains("service time"), "{shown}");
    // 50 ms is no figure of it, and the reason is not that there were too few operations.
    assert!(
        shown.contains("upper edges of buckets of 10 ms") && !shown.contains("too few operations"),
        "{shown}"
    );
    assert!(good(home, "show w2").contains("w2 delay-test terminated"), "a run without a result");
    let strange = good(home, "show w7");
    assert!(strange.contains("NOT PROVEN") && strange.contains("501220"), "{strange}");
    assert!(!strange.contains("inf ") && strange.contains("30 times the p99 of 500 s"), "{strange}");
    let record: serde_json::Value = serde_json::from_str(&good(home, "show w23 --json")).unwrap();
    assert_eq!(record["made_by"], "COSBench 0.4.2");
    let main = record["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == "main").unwrap();
    let read = &main["operations"][0];
    assert!(
        read["count"].as_u64().unwrap() > 0 && read["response_ms"]["p99"].as_f64().unwrap() > 0.0,
        "{read:#}"
    );
    assert!(main["started"].is_string() && main["load_started"].is_string(), "{main:#}");
    assert!(good(home, "judge w3").contains("made by COSBench 0.4.2"));
    assert!(good(home, "watch w3").contains("mock-full finished"));
    for format in ["csv", "json", "prometheus", "openmetrics", "otel", "influx"] {
        let text = good(home, &format!("export w3 --format {format}"));
        assert!(text.contains("48940"), "{format}: {text}");
        assert!(!text.contains("hunter2"), "{format}");
    }
    assert!(good(home, "compare w3 w23").contains("345.5"));
    assert!(good(home, "plot w3 w23 -o plots").contains("files in plots"));
    assert!(good(home, "baseline w3").contains("mock-full: w3-mock-full"));
    let listed = good(home, "list");
    for text in ["swift-real", "mock-full", "delay-test", "terminated", "6 783"] {
        assert!(listed.contains(text), "{text} is not in\n{listed}");
    }
    // Each is marked as COSBench's, for people and for programs.
    let line = listed.lines().find(|line| line.contains("swift-real")).unwrap();
    assert!(line.contains("COSBench"), "{line}");
    let rows: serde_json::Value = serde_json::from_str(&good(home, "list --json")).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "w3").unwrap();
    assert_eq!(row["target"], "COSBench", "{row:#}");
}

#[test]
fn what_cannot_be_done_with_a_run_of_cosbench_is_refused_in_a_sentence() {
    let home = archive();
    for command in
        ["clean w3", "verify-data w3", "plan w3", "note w3 hello", "recover w3", "export w3 --format hlog"]
    {
        let output = said(home.path(), command);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.starts_with("cosmark: ") && text.lines().count() < 3,
            "{text}"
        );
        assert!(!text.contains("panicked"), "{text}");
        if ["note", "recover", "verify-data"].iter().any(|one| command.starts_with(one)) {
            assert!(output.status.code() == Some(2) && text.contains("is a run of COSBench"), "{text}");
            assert!(!text.contains("--ledger"), "no option helps: {text}");
        }
    }
    // Without its line of the history its stages say how it ended.
    fs::remove_file(home.path().join("archive/run-history.csv")).unwrap();
    assert!(good(home.path(), "show w3").contains("mock-full finished"));
    // A table that was cut is named with its line.
    let table = home.path().join("archive/w3-mock-full/w3-mock-full.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, &text[..text.len() / 2]).unwrap();
    let output = said(home.path(), "show w3");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("w3-mock-full.csv: line "), "{text}");
}

#[test]
fn the_report_of_a_run_of_cosbench_shows_its_timeline_and_its_buckets_and_no_secret() {
    let home = archive();
    if !cosmark_report::html::page_is_built_in() {
        return skipped("this binary was built without the page of the report: make console");
    }
    good(home.path(), "report w3 -o w3.html");
    let page = fs::read_to_string(home.path().join("w3.html")).unwrap();
    assert!(page.contains("COSBench 0.4.2") && !page.contains("hunter2"));
    // Its first interval of reads, and a bucket's edge.
    assert!(page.contains("COSBench made this run: percentiles are upper edges of buckets"));
    let data: serde_json::Value = data_of(&page);
    let main = data["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == "main").unwrap();
    let read = &main["operations"][0];
    let counted: u64 = read["series"]["count"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert!(counted > 40_000, "{counted}");
    let curve = &read["distributions"][0];
    let ms: Vec<f64> = curve["ms"].as_array().unwrap().iter().map(|ms| ms.as_f64().unwrap()).collect();
    assert!(ms.contains(&10.0) && ms.is_sorted(), "{ms:?}");
}

fn data_of(page: &str) -> serde_json::Value {
    let start = page.find("{\"format\":").unwrap();
    let mut all = serde_json::Deserializer::from_str(&page[start..]).into_iter();
    all.next().unwrap().unwrap()
}

#[test]
fn storages_whose_keys_cannot_work_together_are_refused_before_anything_is_sent() {
    let home = tempfile::tempdir().unwrap();
    let check = |storage: &str, more: &str| {
        let text = format!(
            "name: t\nstorage: {{{storage}}}\nstages:\n  - {{name: main, works: [{{name: w, workers: 1, runtime: 70s, \
             operations: [{{type: write, containers: c(1), objects: c(1), sizes: c(1)KB}}]}}]}}\n"
        );
        fs::write(home.path().join("t.yaml"), text).unwrap();
        let output = said(home.path(), &format!("check t.yaml {more}"));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (storage, expected) in [
        ("type: openio, ns: X", "OpenIO's own protocol"),
        ("type: openio", "no such key defined: endpoint"),
        ("type: librados, endpoint: 'http://127.0.0.1:8080'", "monitors are no web servers"),
        ("type: librados, accesskey: a", "no monitor is given"),
        ("type: librados, endpoint: h, pool: p, namespace: n", "exclude each other"),
        ("type: azureblob, access_tier: Hot", "no such key defined: account"),
    ] {
        let (code, text) = check(storage, "");
        assert!(
            code == Some(2) && text.contains(expected) && text.contains("stage main"),
            "{storage}: {code:?} {text}"
        );
    }
    for (storage, more) in [
        ("type: openio, endpoint: 'http://127.0.0.1:6007'", ""),
        ("type: librados, endpoint: '[v2:10.0.0.1:3300,v1:10.0.0.1:6789]'", ""),
        ("type: azure, account: '${env:ACCOUNT}'", ""),
        // What is missing may come later.
        ("type: azure, access_tier: Hot", "--set storage.account=a"),
    ] {
        let (code, text) = check(storage, more);
        assert_eq!(code, Some(0), "{storage}: {text}");
    }
}

#[test]
fn a_run_whose_record_is_no_file_is_damaged_and_none_of_cosbench() {
    let home = archive();
    let home = home.path();
    let record = home.join("archive/w3-mock-full/run.json");
    for what in ["a directory", "a link that leads nowhere"] {
        match what {
            "a directory" => fs::create_dir(&record).unwrap(),
            _ => std::os::unix::fs::symlink("nowhere", &record).unwrap(),
        }
        for command in
            ["show w3", "judge w3", "plan w3", "compare w3 w23", "plot w3", "export w3 --format csv"]
        {
            let output = said(home, command);
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && err.contains("w3-mock-full/run.json: "),
                "{what}: {command}: {err}"
            );
            assert!(!err.contains("COSBench"), "{what}: {command}: {err}");
        }
        fs::remove_dir(&record).or_else(|_| fs::remove_file(&record)).unwrap();
    }
    good(home, "show w3");
}
