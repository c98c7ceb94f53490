//! Results of fio as runs: imported, judged, shown, compared, exported, drawn.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{good, said};

/// Seconds that the jobs of these tests measured.
const WINDOW_S: u64 = 120;

/// What fio prints of random reads at a rate, and the log of its rates.
fn result(iops: u64, options: &Value) -> (Value, String) {
    let count = iops * WINDOW_S;
    let bins = json!({"90112": count / 2, "110592": count / 4, "301056": count - count / 2 - count / 4});
    let mut job_options = json!({"rw": "randread", "bs": "4k", "iodepth": "1", "time_based": "1",
        "runtime": WINDOW_S.to_string(), "size": "4G"});
    for (name, value) in options.as_object().unwrap() {
        job_options[name] = value.clone();
    }
    let value = json!({"fio version": "fio-3.36", "timestamp_ms": 1_764_000_000_381_i64, "jobs": [{
        "jobname": "cell", "groupid": 0, "error": 0, "job options": job_options, "usr_cpu": 3.1, "sys_cpu": 8.2,
        "read": {"io_bytes": count * 4096, "bw_bytes": iops * 4096, "iops": iops, "runtime": WINDOW_S * 1000,
            "total_ios": count, "clat_ns": {"min": 88000, "max": 305000, "mean": 148_000.5, "N": count,
                "percentile": {"50.000000": 90112, "99.000000": 301_056}, "bins": bins}}}]});
    let line = |at: u64| format!("{}, {}, 0, 0, 0\n", at * 1000, (iops + at * 7 % 11).saturating_sub(5));
    (value, (1..=WINDOW_S).map(line).collect())
}

fn put(home: &Path, name: &str, iops: u64, options: &Value) {
    let (value, log) = result(iops, options);
    fs::write(home.join(format!("{name}.json")), value.to_string()).unwrap();
    fs::write(home.join(format!("{name}_iops.1.log")), log).unwrap();
}

fn record(home: &Path, run: &str) -> Value {
    serde_json::from_str(&good(home, &format!("show {run} --json"))).unwrap()
}

fn check<'a>(record: &'a Value, id: &str) -> &'a Value {
    let checks = record["verdict"]["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}: {checks:?}"))
}

#[test]
fn a_result_of_fio_is_opened_by_every_command_like_any_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    put(home, "raw", 1000, &json!({"ioengine": "libaio", "direct": "1", "filename": "/dev/vdb"}));
    put(home, "rbd", 250, &json!({"ioengine": "rbd", "pool": "cosmark-study", "rbdname": "image"}));
    let text = good(home, "import raw.json --iops-log raw_iops.1.log --no-report");
    assert!(text.contains("w1 raw finished") && text.contains("archive/w1-raw"), "{text}");
    good(home, "import rbd.json --iops-log rbd_iops.1.log --no-report");
    let raw = record(home, "w1");
    let read = &raw["stages"][0]["operations"][0];
    assert_eq!((read["count"].as_u64(), read["throughput_per_s"].as_f64()), (Some(120_000), Some(1000.0)));
    assert_eq!(
        (read["response_ms"]["mean"].as_f64(), read["failures"].as_u64()),
        (Some(0.148_000_5), Some(0))
    );
    assert_eq!(raw["fio"]["jobs"][0]["target"], "/dev/vdb");
    // What is healthy is not called false, and no check is silent.
    let overall = raw["verdict"]["overall"].as_str().unwrap();
    assert!(["true", "true_with_limits"].contains(&overall), "{:#}", raw["verdict"]);
    for id in (1..=26).map(|number| format!("V{number}")) {
        assert!(!check(&raw, &id)["message"].as_str().unwrap().is_empty(), "{id}");
    }
    assert_eq!(
        (&check(&raw, "V8")["status"], &check(&raw, "V14")["status"]),
        (&json!("pass"), &json!("pass"))
    );
    assert_eq!(check(&raw, "V2")["status"], "not_run");
    // The same again, from the archive alone.
    let again: Value = serde_json::from_str(&good(home, "judge w1 --json")).unwrap();
    assert_eq!(again["overall"], raw["verdict"]["overall"]);

    // Beside the stage of another store.
    good(home, "import raw.json --stage main --name disk --no-report");
    assert_eq!(record(home, "w3")["stages"][0]["id"], "s1-main");
    let listed = good(home, "list");
    assert!(listed.contains("raw") && listed.contains("rbd"), "{listed}");
    assert!(good(home, "compare w1 w2").contains("250"), "what RBD has of the disk");
    for format in ["csv", "json", "prometheus", "openmetrics", "otel", "influx"] {
        let text = good(home, &format!("export w1 --format {format}"));
        assert!(text.contains("120000"), "{format}: {text}");
    }
    assert!(good(home, "plot w1 w2 -o plots").contains("files in plots"));
    if cosmark_report::html::page_is_built_in() {
        good(home, "report w1 -o w1.html");
        let page = fs::read_to_string(home.join("w1.html")).unwrap();
        assert!(page.contains("/dev/vdb") && page.contains("fio-3.36"), "what it was and who measured it");
    }
    // Only fio makes such a load.
    let cleaned = said(home, "clean w1");
    let text = String::from_utf8_lossy(&cleaned.stderr).into_owned();
    assert!(!cleaned.status.success() && !text.contains("panicked"), "{text}");
}

#[test]
fn a_page_cache_a_run_that_was_cut_and_a_curve_are_found() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    put(home, "cached", 1000, &json!({"ioengine": "libaio", "filename": "/srv/f"}));
    good(home, "import cached.json --iops-log cached_iops.1.log --memory 64GiB --no-report");
    let cached = record(home, "w1");
    assert_eq!(
        (&cached["verdict"]["overall"], &check(&cached, "V14")["status"]),
        (&json!("false"), &json!("fail"))
    );
    assert!(check(&cached, "V14")["message"].as_str().unwrap().contains("page cache"));

    put(home, "cut", 1000, &json!({"direct": "1", "filename": "/dev/vdb", "runtime": "600"}));
    good(home, "import cut.json --no-report");
    let cut = record(home, "w2");
    assert_eq!((&cut["verdict"]["overall"], &check(&cut, "V4")["status"]), (&json!("false"), &json!("fail")));
    assert_eq!(check(&cut, "V8")["status"], "not_run", "without a log nobody knows");

    put(home, "curve", 1000, &json!({"direct": "1", "filename": "/dev/vdb"}));
    let falling: String =
        (1..=WINDOW_S).map(|at| format!("{}, {}, 0\n", at * 1000, 1600 - at * 10)).collect();
    fs::write(home.join("curve.log"), falling).unwrap();
    good(home, "import curve.json --iops-log curve.log --no-report");
    let curve = record(home, "w3");
    assert_eq!(check(&curve, "V8")["status"], "fail", "{:#}", curve["verdict"]);

    // The job of the thesis, without times.
    let (mut value, log) = result(1000, &json!({"direct": "1", "filename": "/dev/vdb", "gtod_reduce": "1"}));
    value["jobs"][0]["read"]["clat_ns"] = json!({"min": 0, "max": 0, "mean": 0.0, "N": 0});
    fs::write(home.join("rates.json"), value.to_string()).unwrap();
    fs::write(home.join("rates.log"), log).unwrap();
    good(home, "import rates.json --iops-log rates.log --no-report");
    let rates = record(home, "w4");
    assert_eq!(rates["fio"]["jobs"][0]["times"], "none");
    assert_ne!(rates["verdict"]["overall"], "false", "{:#}", rates["verdict"]);
    let refused = said(home, "clean w4");
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && text.contains("w4 is a run of fio"), "{text}");
}

/// A result of several jobs, one behind the other: name, requests per second, and options of each.
fn of_jobs(jobs: &[(&str, u64, Value)]) -> Value {
    let mut whole = result(1, &json!({})).0;
    let each = jobs.iter().enumerate().map(|(at, (name, iops, options))| {
        let mut job = result(*iops, options).0["jobs"][0].clone();
        job["jobname"] = json!(name);
        job["groupid"] = json!(at);
        job["job options"]["stonewall"] = json!("1");
        job
    });
    whole["jobs"] = each.collect();
    whole
}

#[test]
fn a_knee_joins_jobs_that_differ_in_depth_alone() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let job = |block: &str, depth: &str| json!({"direct": "1", "bs": block, "iodepth": depth});
    let unlike =
        [("small", 900, job("4k", "1")), ("large", 300, job("64k", "4")), ("huge", 20, job("1m", "8"))];
    fs::write(home.join("unlike.json"), of_jobs(&unlike).to_string()).unwrap();
    good(home, "import unlike.json --no-report");
    let refused = said(home, "plot w1 --kind knee -o plots");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && why.contains("differ in depth alone"), "{why}");
    let drawn = said(home, "plot w1 --kind time -o plots");
    let why = String::from_utf8_lossy(&drawn.stderr).into_owned();
    assert!(why.contains("fio does not say") && !why.contains("COSBench"), "{why}");

    let alike = [
        ("a", 900, job("4k", "1")),
        ("b", 1500, job("4k", "4")),
        ("c", 100, job("64k", "1")),
        ("d", 150, job("64k", "4")),
        ("e", 5, job("1m", "4")),
    ];
    fs::write(home.join("alike.json"), of_jobs(&alike).to_string()).unwrap();
    good(home, "import alike.json --no-report");
    good(home, "plot w2 --kind knee --format csv -o plots");
    let csv = fs::read_to_string(home.join("plots/knee-p95.csv")).unwrap();
    let mut lines: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["randread 4k", "randread 4k", "randread 64k", "randread 64k"], "{csv}");
}

#[test]
fn what_is_no_result_of_fio_is_refused_with_its_place_and_leaves_no_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (whole, _) = result(1000, &json!({"direct": "1"}));
    let text = whole.to_string();
    let failed = text.replace("\"error\":0", "\"error\":5");
    let old = text.replace("fio-3.36", "fio-2.21");
    let none = text.replace("\"total_ios\":120000", "\"total_ios\":0");
    for (name, text, words) in [
        ("cut.json", &text[..text.len() / 2], "line 1, column"),
        ("failed.json", failed.as_str(), "jobs[0] (cell): `error` is 5"),
        ("old.json", old.as_str(), "none of fio 3"),
        ("none.json", none.as_str(), "no operation"),
        ("other.json", "{\"a\": 1}", "no JSON of fio"),
        ("empty.json", "", "empty"),
    ] {
        fs::write(home.join(name), text).unwrap();
        let output = said(home, &format!("import {name}"));
        let error = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        assert!(error.contains(name) && error.contains(words), "{name}: {error}");
    }
    fs::write(home.join("good.json"), &text).unwrap();
    fs::write(home.join("other.log"), "1000, 1, 0\n2000, 1, 0\n3000, 1, 0\n").unwrap();
    fs::write(home.join("single.log"), "1, 1, 0\n2, 1, 0\n3, 1, 0\n4, 1, 0\n").unwrap();
    for (arguments, words) in [
        ("import good.json --iops-log single.log", "--log_avg_msec"),
        ("import good.json --iops-log other.log", "the log of another job"),
        (
            "import good.json --iops-log single.log --iops-log single.log",
            "more logs (2) than jobs of fio (1)",
        ),
        ("import good.json --memory much", "--memory much"),
        ("import good.json --stage a/b", "--stage a/b"),
        ("import nowhere.json", "cannot read nowhere.json"),
    ] {
        let output = said(home, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(words), "{arguments}: {error}");
    }
    assert!(!home.join("archive").exists(), "nothing that was refused is in the archive");
}
