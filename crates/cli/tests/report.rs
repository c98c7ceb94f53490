//! `cosmark report` against the binary: the page with a run's data in it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use support::{Server, operation, repository, run, run_json, skipped, stderr, stdout};

/// Its name would end the script that holds the data.
const WORKLOAD: &str = "name: 'a </script><!-- & b'\nstages:\n  \
    - {name: init, works: [{type: init, workers: 1, containers: \"r(1,1)\"}]}\n  \
    - {name: prepare, works: [{type: prepare, workers: 2, containers: \"r(1,1)\", objects: \"r(1,9)\", sizes: c(1)KiB}]}\n  \
    - name: main\n    works:\n      - name: main\n        workers: 2\n        runtime: 2s\n        interval: 1s\n        operations:\n          \
    - {type: read, ratio: 100, containers: \"c(1)\", objects: \"u(1,9)\"}\n";

/// What stands in the page between the marks of its data.
fn data_of(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"report-data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Whether this binary has the page; without it the command has to say how to get it.
fn has_page(output: &Output) -> bool {
    if output.status.success() {
        return true;
    }
    assert!(stderr(output).contains("make console"), "{}", stderr(output));
    assert!(
        !repository().join("console/dist/report.html").exists(),
        "the page is there and was not taken in"
    );
    false
}

fn file(directory: &Path) -> String {
    let path = directory.join("w.yaml");
    fs::write(&path, WORKLOAD).unwrap();
    path.display().to_string()
}

#[test]
fn a_report_has_the_figures_of_run_json_and_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let target = server.target(directory.path(), None);
    let target = target.to_str().unwrap();
    let args = ["run", &file(directory.path()), "--target", target, "--no-report"];
    let (output, record) = run_json(directory.path(), &args);
    assert!(output.status.success(), "{}", stderr(&output));
    let own = fs::read_dir(directory.path().join("archive")).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.join("run.json").exists().then_some(path)
    });
    let own = own.unwrap();
    assert!(!own.join("report.html").exists(), "--no-report");
    let output = run(directory.path(), &["report", "w1"]);
    if !has_page(&output) {
        return skipped("this binary was built without the page of the report: make console");
    }
    assert!(stdout(&output).contains("report.html"), "{}", stdout(&output));
    let html = fs::read_to_string(own.join("report.html")).unwrap();
    assert!(html.len() < 3_000_000 && !html.contains(&server.says("secret key")), "{}", html.len());
    let data = data_of(&html);
    assert_eq!(data["run"]["name"], "a </script><!-- & b");
    let read = operation(&record, "main", "read");
    let shown = &data["stages"][2]["operations"][0];
    assert_eq!(shown["count"], read.ok);
    assert_eq!(shown["response_ms"]["p99"].as_f64(), read.response_ms.p99);
    let sum: u64 =
        shown["series"]["count"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert!(sum >= read.ok, "{sum} over time, {} in the window", read.ok);
    assert!(data["workload"].as_str().unwrap().contains("stages:"));
    assert_eq!(data["verdict"]["checks"].as_array().unwrap().len(), record.verdict.checks.len());
}

#[test]
fn a_report_can_be_written_elsewhere_and_a_wrong_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let target = server.target(directory.path(), None);
    run_json(directory.path(), &["run", &file(directory.path()), "--target", target.to_str().unwrap()]);
    let output = run(directory.path(), &["report", "w1", "-o", "elsewhere.html"]);
    if has_page(&output) {
        let html = fs::read_to_string(directory.path().join("elsewhere.html")).unwrap();
        assert_eq!(data_of(&html)["run"]["id"], "w1");
        let output = run(directory.path(), &["report", "w1", "-o", "no/such/place.html"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("no/such/place.html"), "{}", stderr(&output));
        // Where the run's own directory takes none, another archive would not have the run.
        let mut runs =
            fs::read_dir(directory.path().join("archive")).unwrap().map(|entry| entry.unwrap().path());
        let own = runs.find(|path| path.join("run.json").exists()).unwrap();
        drop(fs::remove_file(own.join("report.html")));
        fs::create_dir(own.join("report.html")).unwrap();
        let text = stderr(&run(directory.path(), &["report", "w1"]));
        assert!(text.contains("--output FILE") && !text.contains("--archive"), "{text}");
    }
    let output = run(directory.path(), &["report", "w7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no run w7"), "{}", stderr(&output));
}
