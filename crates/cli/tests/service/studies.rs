//! A real study on a store with a known delay, seen through the controller: while it runs, killed, going on, stopped, complete, torn.

use std::fs;
use std::path::Path;

use cosmark_simstore::{Behaviour, Handle, SimStore};
use serde_json::{Value, json};

use crate::bed::{Controller, within};
use crate::fits;
use crate::support::cosmark;

const STUDY: &str = "name: seen
title: Two stores, seen while they are measured
question: Which is quicker?
systems: [{name: slow}, {name: quick}]
factors:
  - {name: workers, within: true, levels: [1, 2]}
scales:
  quick: {repetitions: {least: 2}}
workload:
  before: |
    - {name: init, works: [{type: init, workers: 1, container_prefix: '${{ prefix }}', containers: 'r(1,1)'}]}
    - {name: prepare, works: [{type: prepare, workers: 2, container_prefix: '${{ prefix }}', containers: 'r(1,1)', objects: 'r(1,4)', sizes: c(1)KB}]}
  point: |
    - name: read-${{ workers }}
      works:
        - {name: main, workers: '${{ workers }}', runtime: 2s, operations: [{type: read, container_prefix: '${{ prefix }}', containers: 'u(1,1)', objects: 'u(1,4)'}]}
  after: |
    - {name: cleanup, works: [{type: cleanup, workers: 2, container_prefix: '${{ prefix }}', containers: 'r(1,1)', objects: 'r(1,4)'}]}
  measured: read-${{ workers }}
figures:
  - {title: Reads, metric: throughput_per_s, x: workers, lines: [system], where: {op: read}}
claims:
  - {id: P1, says: quick is quicker, test: [{of: {where: {system: quick, op: read}}, to: {where: {system: slow, op: read}}, least: 1.5}]}
";

/// A store that answers reads after a fixed time, and the words that say where it is.
fn store(place: &Path, name: &str, delay_ms: u32) -> (Handle, String) {
    let behaviour =
        Behaviour::from_yaml(&format!("delay: [{{op: get, law: {{constant_ms: {delay_ms}}}}}]")).unwrap();
    let store = SimStore::start(behaviour, "127.0.0.1:0").unwrap();
    let target = place.join(format!("{name}.yaml"));
    let text = format!(
        "storage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: very-secret, path_style_access: true}}\n",
        store.url()
    );
    fs::write(&target, text).unwrap();
    (store, format!("{name}={name}.yaml"))
}

const ID: &str = "study-seen-quick";

fn study(c: &Controller) -> Value {
    c.get(&format!("studies/{ID}"))
}

fn until(c: &Controller, what: impl Fn(&Value) -> bool) -> Value {
    within(|| Some(study(c)).filter(|study| what(&study["summary"])))
}

fn post(c: &Controller, what: &str) -> (u16, Value) {
    c.send("POST", &format!("studies/{ID}/{what}"), &json!({}))
}

#[test]
fn a_study_is_seen_as_it_runs_is_killed_goes_on_stops_when_asked_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    fs::write(place.join("study.yaml"), STUDY).unwrap();
    // Further apart than a busy machine moves them.
    let stores = [store(place, "slow", 200), store(place, "quick", 2)];
    let c = Controller::start_with(place, &["--studies-go-on"]);
    let (_, text) = c.curl(&[], "/api/openapi.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(c.get("studies"), json!([]));
    let mut args = vec!["study", "study.yaml", "--no-nodes", "--quiet"];
    stores.iter().for_each(|(_, system)| args.extend(["--system", system]));
    let mut child = cosmark(place).args(&args).spawn().unwrap();
    let seen = within(|| {
        let (status, text) = c.with_token(&c.token, &[], &format!("/api/v1/studies/{ID}"));
        let seen: Value = serde_json::from_str(&text).unwrap_or_default();
        (status == 200 && !seen["summary"]["under_way"].is_null()).then_some(seen)
    });
    fits(&document, "Study", false, &seen);
    assert_eq!((&seen["summary"]["state"], &seen["summary"]["planned"]), (&json!("running"), &json!(4)));
    assert!(!seen.to_string().contains("very-secret"));
    // Killed in a cell: said so, and nobody is there to be stopped.
    child.kill().unwrap();
    child.wait().unwrap();
    let seen = until(&c, |summary| summary["state"] == "cut_off");
    assert!(seen["summary"]["under_way"].as_str().unwrap().starts_with("seen."), "{seen}");
    assert_eq!(post(&c, "stop").0, 409);
    // Goes on from here, and stops in a cell when asked.
    let (status, answer) = post(&c, "go-on");
    assert_eq!(status, 200, "{answer}");
    fits(&document, "Study", false, &answer);
    assert_eq!(post(&c, "go-on").0, 409, "one is enough");
    until(&c, |summary| summary["done"].as_u64() >= Some(1));
    let (status, answer) = post(&c, "stop");
    assert_eq!(status, 200, "{answer}");
    let seen = until(&c, |summary| !["running", "stopping"].contains(&summary["state"].as_str().unwrap()));
    assert_eq!(seen["summary"]["state"], "stopped", "{seen}");
    assert!(seen["summary"]["done"].as_u64() < Some(4), "{seen}");
    let grid = c.get(&format!("studies/{ID}/grid"));
    fits(&document, "StudyGrid", false, &grid);
    assert_eq!(grid["points"].as_array().unwrap().len(), 4, "two systems, two numbers of workers");
    who_may_only_look_changes_nothing(&c, place);
    // To its end, each run once.
    assert_eq!(post(&c, "go-on").0, 200);
    let seen = until(&c, |summary| summary["state"] == "complete");
    assert_eq!((&seen["summary"]["done"], &seen["summary"]["failed"]), (&json!(4), &json!(0)), "{seen}");
    assert_eq!((&seen["unread"], &seen["claims"][0]["finding"]), (&json!(0), &json!("not shown")), "{seen}");
    assert!(seen["bytes"].as_u64() > Some(4 * 1000), "{seen}");
    let journal = fs::read_to_string(place.join(ID).join("journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"step\":\"end\"").count(), 4, "{journal}");
    what_was_measured_is_shown(&c, &document);
    what_a_client_sends_is_no_path(&c, place);
    what_was_called_elsewhere_is_not_run(&c, place);
    what_is_torn_or_gone_is_said(&c, place);
}

fn who_may_only_look_changes_nothing(c: &Controller, place: &Path) {
    let args = ["controller", "--state", "state", "--add-token", "wall", "--role", "view"];
    let made = cosmark(place).args(args).output().unwrap();
    let token = String::from_utf8_lossy(&made.stdout).trim().lines().last().unwrap().to_owned();
    let looked = within(|| {
        let (status, text) = c.with_token(&token, &[], &format!("/api/v1/studies/{ID}"));
        (status == 200).then_some(text)
    });
    let looked: Value = serde_json::from_str(&looked).unwrap();
    assert_eq!((&looked["command"], &looked["may_go_on"]), (&Value::Null, &json!(false)), "{looked}");
    assert!(study(c)["command"].as_str().unwrap().contains("cosmark study study.yaml"));
    for what in ["stop", "go-on"] {
        let path = format!("/api/v1/studies/{ID}/{what}");
        assert_eq!(c.with_token(&token, &["-X", "POST", "-d", "{}"], &path).0, 403);
        assert_eq!(c.curl(&["-X", "POST", "-d", "{}"], &path).0, 401);
    }
    assert_eq!(study(c)["summary"]["state"], "stopped");
}

fn what_was_measured_is_shown(c: &Controller, document: &Value) {
    let grid = c.get(&format!("studies/{ID}/grid?metric=response_ms.mean&operation=read"));
    assert_eq!((&grid["metric"], &grid["operation"]), (&json!("response_ms.mean"), &json!("read")));
    let value = |at: usize| grid["points"][at]["value"].as_f64().unwrap();
    assert!((0..2).all(|at| value(at) > 199.0 && value(at + 2) < value(at)), "{grid}");
    assert!(grid["cells"].as_array().unwrap().iter().all(|cell| cell["state"] == "done"), "{grid}");
    let parts = c.get(&format!("studies/{ID}/figures"));
    fits(document, "StudyPart", true, &parts);
    let figure = parts.as_array().unwrap().iter().find(|part| part["kind"] == "figure").unwrap();
    assert!(figure["svg"].as_str().unwrap().contains("<svg"), "{figure}");
    let run = grid["cells"][0]["runs"][0]["name"].as_str().unwrap();
    let data = c.get(&format!("studies/{ID}/runs/{run}/data"));
    assert_eq!((&data["run"]["name"], &data["run"]["state"]), (&json!(run), &json!("finished")));
    let all = c.get("studies");
    fits(document, "StudySummary", true, &all);
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
}

fn what_a_client_sends_is_no_path(c: &Controller, place: &Path) {
    let outside = tempfile::tempdir().unwrap();
    fs::copy(place.join(ID).join("journal.jsonl"), outside.path().join("journal.jsonl")).unwrap();
    std::os::unix::fs::symlink(outside.path(), place.join("linked")).unwrap();
    fs::create_dir(place.join(".hidden")).unwrap();
    fs::copy(place.join(ID).join("journal.jsonl"), place.join(".hidden/journal.jsonl")).unwrap();
    let outside = outside.path().display().to_string().replace('/', "%2F");
    let names = [
        "linked",
        ".hidden",
        "%2E%2E",
        "..%2Fx",
        "study-seen-quick%2F",
        "study-seen-quick%00",
        "nothing",
        &outside,
    ];
    for name in names {
        let (status, text) = c.with_token(&c.token, &["--path-as-is"], &format!("/api/v1/studies/{name}"));
        assert_eq!(status, 404, "{name}: {text}");
    }
    for run in ["..%2F..%2Fstate", "w1", "%2Fetc", "seen.slow.r9"] {
        let path = format!("/api/v1/studies/{ID}/runs/{run}/data");
        let (status, text) = c.with_token(&c.token, &["--path-as-is"], &path);
        assert_eq!(status, 404, "{run}: {text}");
    }
    assert_eq!(c.get("studies").as_array().unwrap().len(), 1);
}

/// Whoever unpacks a study of somebody else's owns its journal.
fn what_was_called_elsewhere_is_not_run(c: &Controller, place: &Path) {
    let unpacked = place.join("study-unpacked-quick");
    fs::create_dir(&unpacked).unwrap();
    let own = fs::read_to_string(place.join(ID).join("journal.jsonl")).unwrap();
    let go_on = || c.send("POST", "studies/study-unpacked-quick/go-on", &json!({}));
    let harmless =
        json!({"step": "called", "call": {"at_s": 1, "arguments": ["study", "list"], "directory": place}});
    for journal in [own.clone(), format!("{}\n{harmless}\n", own.lines().next().unwrap())] {
        fs::write(unpacked.join("journal.jsonl"), journal).unwrap();
        let (status, answer) = go_on();
        assert_eq!(status, 409, "{answer}");
        assert!(answer.to_string().contains("run the command once in a shell"), "{answer}");
        assert!(!unpacked.join("go-on.log").exists());
    }
    fs::remove_dir_all(unpacked).unwrap();
}

fn what_is_torn_or_gone_is_said(c: &Controller, place: &Path) {
    let journal = place.join(ID).join("journal.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{whole}{{\"step\":\"beg")).unwrap();
    assert_eq!(study(c)["summary"]["state"], "complete", "half a line is a line that is being written");
    // A place that leads out of the archive is nowhere.
    let led = whole.replace("\"place\":\"w", "\"place\":\"../archive/w");
    fs::write(&journal, &led).unwrap();
    assert!(led != whole, "{whole}");
    let run = led.lines().find(|line| line.contains("../archive/")).unwrap();
    let run: Value = serde_json::from_str(run).unwrap();
    let path = format!("/api/v1/studies/{ID}/runs/{}/data", run["run"].as_str().unwrap());
    assert_eq!(c.with_token(&c.token, &[], &path).0, 404);
    fs::write(&journal, format!("{whole}garbage\n")).unwrap();
    let seen = study(c);
    assert_eq!((&seen["summary"]["state"], &seen["factors"]), (&json!("unreadable"), &json!([])), "{seen}");
    let reason = seen["summary"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("journal.jsonl, line ") && !reason.contains('/'), "{reason}");
    for rest in ["grid", "figures"] {
        assert_eq!(c.with_token(&c.token, &[], &format!("/api/v1/studies/{ID}/{rest}")).0, 409);
    }
    assert_eq!(post(c, "go-on").0, 409);
    fs::remove_dir_all(place.join(ID)).unwrap();
    assert_eq!(c.with_token(&c.token, &[], &format!("/api/v1/studies/{ID}")).0, 404);
    assert_eq!(c.get("studies"), json!([]));
}
