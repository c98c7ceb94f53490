//! Load beside a run: on one of its drivers, or on its store by somebody else's. It shows while it is made, and in the verdict.

use serde_json::{Value, json};

use crate::machines::Bed;
use crate::service::{Controller, within};
use crate::support::Server;
use crate::{ask, finished, leader_of_two, log_of, submit_with, wait_for_drivers};

/// Two workers that write for so long.
fn writes(name: &str, runtime_s: u32) -> String {
    format!(
        "name: {name}\nstages:\n- name: init\n  works: [{{type: init, workers: 1, containers: 'r(1,1)', container_prefix: {name}}}]\n- name: \
         main\n  works:\n  - name: main\n    workers: 2\n    runtime: {runtime_s}s\n    pace: {{rate_per_worker: 20/s}}\n    \
         operations:\n    - {{type: write, ratio: 1, containers: c(1), container_prefix: {name}, objects: 'u(1,100)', sizes: c(1)KB}}\n"
    )
}

/// What the verdict says of load beside the main stage.
fn background(record: &Value) -> Value {
    let checks = record["verdict"]["checks"].as_array().unwrap().iter();
    let mut of_main = checks.filter(|check| check["id"] == "V23" && check["stage"] == "s2-main");
    of_main.next().unwrap_or(&Value::Null).clone()
}

/// Requests that a driver makes for runs which this controller has not ordered.
fn foreign(c: &Controller, driver: &str) -> Option<Value> {
    let all = ask(c, "drivers")?;
    let one = all.as_array()?.iter().find(|one| one["name"] == driver)?.clone();
    let doing = one["doing"].as_array()?.iter().find(|doing| doing["ordered"] == false)?.clone();
    (doing["requests_per_s"].as_f64()? > 0.0 && doing["lease"] == "makes").then_some(doing)
}

#[test]
fn a_driver_that_works_for_somebody_else_shows_and_a_run_against_the_same_store_says_so() {
    let bed = Bed::new(2);
    let c = leader_of_two(&bed);
    wait_for_drivers(&c, 2);
    let server = Server::start(bed.path(), &[]);
    server.target(bed.path(), None);
    let target = std::fs::read_to_string(bed.path().join("target.yaml")).unwrap();
    std::fs::write(bed.path().join("theirs.yaml"), writes("theirs", 600)).unwrap();
    let mut bed = bed;
    let more = ["--target", "target.yaml", "--drivers", "d1", "--state-dir", "a"];
    let mut theirs = bed.start_run("theirs.yaml", &more);
    let doing = within(|| foreign(&c, "d1"));
    let store = server.says("endpoint").trim_start_matches("http://").to_owned();
    assert_eq!(doing["stores"], json!([store]), "{doing}");
    // It is busy from its next sign of life on.
    within(|| {
        let all = ask(&c, "drivers")?;
        let states: Vec<_> = all.as_array()?.iter().map(|one| (&one["name"], &one["state"])).collect();
        (states == [(&json!("d1"), &json!("busy")), (&json!("d2"), &json!("idle"))]).then_some(())
    });
    let args = ["drivers", "--controller", &c.url, "--state-dir", "a"];
    let shown = crate::support::stdout(&crate::support::run(bed.path(), &args));
    assert!(shown.contains("not of this controller"), "{shown}");
    // Our own run gets the other driver, and meets the first one's load at the store.
    let ours = submit_with(&c, &(writes("ours", 6) + &target), &json!({ "drivers": "d2" }));
    finished(&c, &ours, || log_of(bed.path()));
    let record = within(|| ask(&c, &format!("runs/{ours}/record")));
    let check = background(&record);
    assert_eq!(check["status"], "warn", "{check}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains(&format!("loaded {store}, too (driver d1 sent up to ")), "{message}");
    let beside = &record["stages"][1]["beside"];
    assert_eq!(
        (beside.as_array().unwrap().len(), &beside[0]["driver"], &beside[0]["same_driver"]),
        (1, &json!("d1"), &json!(false)),
        "{beside}"
    );
    theirs.signal(libc::SIGINT);
    theirs.wait();
    // Nobody makes foreign load any more, and a run on its own says nothing of it.
    within(|| foreign(&c, "d1").is_none().then_some(()));
    let alone = submit_with(&c, &(writes("alone", 3) + &target), &json!({}));
    finished(&c, &alone, || log_of(bed.path()));
    let record = within(|| ask(&c, &format!("runs/{alone}/record")));
    assert_eq!(
        (&background(&record)["status"], &record["stages"][1]["beside"]),
        (&json!("not_run"), &Value::Null)
    );
}

#[test]
fn two_runs_that_share_a_driver_say_so() {
    let text = |name: &str| {
        format!(
            "name: {name}\nstorage: {{type: mock, delay: 5ms}}\nstages:\n- name: main\n  works:\n  - {{name: main, workers: 2, runtime: 8s, \
             pace: {{rate_per_worker: 20/s}}, operations: [{{type: read, containers: c(1), objects: 'u(1,9)'}}]}}\n"
        )
    };
    // A driver that has a run gets no other; two that look before it says so both get it. That may be missed.
    let both = (0..10).find_map(|_| {
        let mut bed = Bed::new(0);
        bed.start_driver(1, &[]);
        for name in ["one", "two"] {
            std::fs::write(bed.path().join(format!("{name}.yaml")), text(name)).unwrap();
        }
        let more = ["--drivers", "2", "--wait-for-drivers", "2m", "--state-dir", "a"];
        let mut one = bed.start_run("one.yaml", &more);
        one.wait_for("waiting for 2 drivers");
        let mut two = bed.start_run("two.yaml", &more);
        two.wait_for("waiting for 2 drivers");
        bed.start_driver(2, &[]);
        assert_eq!((one.wait(), two.wait()), (0, 0), "{}", bed.logs());
        let archive = std::fs::read_dir(bed.path().join("archive")).unwrap().flatten();
        let records: Vec<Value> = archive
            .filter_map(|entry| std::fs::read(entry.path().join("run.json")).ok())
            .map(|bytes| serde_json::from_slice(&bytes).unwrap())
            .collect();
        assert_eq!(records.len(), 2);
        let met = records.iter().all(|record| record["stages"][0]["beside"].is_array());
        met.then_some(records)
    });
    for record in both.unwrap_or_else(|| panic!("the two runs never met")) {
        let beside = record["stages"][0]["beside"].as_array().unwrap();
        assert!(beside.iter().all(|one| one["same_driver"] == true), "{beside:?}");
        let check = record["verdict"]["checks"].as_array().unwrap().iter().find(|check| check["id"] == "V23");
        let message = check.unwrap()["message"].as_str().unwrap();
        assert!(message.contains("loaded one of the drivers, too (driver d"), "{message}");
    }
}
