//! DuckDB, which knows nothing of Cosmark, computes the published numbers again from the operation log, and runs every
//! query of `docs/reference/exports.md`. It is installed from PyPI into `target/`; without Python or PyPI the test says
//! SKIPPED.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{FAILED, READS, ours};

const PAGE: &str = include_str!("../../../../docs/reference/exports.md");

/// A Python with DuckDB.
fn python() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duckdb-venv");
    let python = home.join("bin/python3");
    let works = |python: &Path| {
        let tried = Command::new(python).args(["-c", "import duckdb"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    if works(&python) {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&home).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let install = ["-m", "pip", "install", "--quiet", "--timeout", "20", "--retries", "1", "duckdb"];
    drop(Command::new(&python).args(install).output());
    works(&python).then_some(python)
}

/// Reports that this test could not run here. It writes past the capture of the test program's output: `make test` counts
/// such lines, as skipped and not as passed.
fn skipped(why: &str) {
    use std::io::Write;
    let test = std::thread::current();
    drop(writeln!(std::io::stderr(), "SKIPPED test {}: {why}", test.name().unwrap_or("?")));
}

/// What Python prints, as JSON.
fn answer(python: &Path, script: &str, arguments: &[&str]) -> serde_json::Value {
    let output = Command::new(python).arg("-c").arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn queries() -> Vec<String> {
    PAGE.split("```sql\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(sql, _)| sql.to_owned()))
        .collect()
}

#[test]
fn published_numbers_are_those_of_an_independent_query_to_a_thousandth() {
    let queries = queries();
    assert!(queries.len() >= 6, "{}", queries.len());
    let Some(python) = python() else {
        return skipped("it needs python3 with venv, and duckdb from PyPI");
    };
    let home = tempfile::tempdir().unwrap();
    let run = ours(home.path(), "independent", 4, 1);
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(run.join("run.json")).unwrap()).unwrap();
    let op = &record["stages"][0]["operations"][0];
    let log = run.join("operations.parquet").display().to_string();
    let script = "import duckdb, json, sys
print(json.dumps(duckdb.sql(sys.argv[1]).fetchall(), default=str))";
    let sql = format!(
        "SELECT count(*) FILTER (outcome = 'ok'), count(*) FILTER (outcome <> 'ok'),
         quantile_disc((end_ns - due_ns) / 1e6, [0.5, 0.6, 0.8, 0.9, 0.95, 0.99]) FILTER (outcome = 'ok'),
         avg((end_ns - due_ns) / 1e6) FILTER (outcome = 'ok'), max((end_ns - due_ns) / 1e6) FILTER (outcome = 'ok')
         FROM '{log}' WHERE phase = 'window'"
    );
    let row = &answer(&python, script, &[&sql])[0];
    assert_eq!((row[0].as_u64(), row[1].as_u64()), (Some(READS), Some(FAILED)));
    assert_eq!((op["count"].as_u64(), op["failures"].as_u64()), (Some(READS), Some(FAILED)));
    let mut published: Vec<(&str, f64)> = ["p50", "p60", "p80", "p90", "p95", "p99"]
        .into_iter()
        .enumerate()
        .map(|(at, name)| (name, row[2][at].as_f64().unwrap()))
        .collect();
    published.extend([("mean", row[3].as_f64().unwrap()), ("max", row[4].as_f64().unwrap())]);
    for (name, independent) in published {
        let ours = op["response_ms"][name].as_f64().unwrap();
        assert!(
            (ours / independent - 1.0).abs() <= 1e-3,
            "{name}: {ours} published, {independent} from the log"
        );
    }
    for query in queries {
        let rows = answer(&python, script, &[&query.replace("operations.parquet", &log)]);
        assert!(!rows.as_array().unwrap().is_empty(), "no rows:\n{query}");
    }
}
