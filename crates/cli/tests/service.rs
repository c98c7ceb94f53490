//! The controller from outside: real processes on free ports, asked by curl and by the commands.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

#[path = "service/bed.rs"]
mod bed;
#[path = "service/foreign.rs"]
mod foreign;
#[path = "service/studies.rs"]
mod studies;
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bed::{Controller, within, workload};
use serde_json::{Value, json};
use support::{Server, cosmark, signal, stderr, stdout};

/// The documented schema of an answer, with everything that it refers to.
fn schema(document: &Value, name: &str, many: bool) -> Value {
    let definitions = document["components"]["schemas"].clone();
    let one = json!({ "$ref": format!("#/components/schemas/{name}") });
    let top = if many { json!({ "type": "array", "items": one }) } else { one };
    let mut schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "components": { "schemas": definitions } });
    schema.as_object_mut().unwrap().extend(top.as_object().unwrap().clone());
    schema
}

fn fits(document: &Value, name: &str, many: bool, value: &Value) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", schema(document, name, many)).unwrap();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(value, index) {
        panic!("an answer is not a {name}: {error:#}\n{value:#}");
    }
}

#[test]
fn a_workload_goes_through_the_queue_and_every_answer_is_what_the_document_says() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let (_, text) = c.curl(&[], "/api/openapi.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    // It is seen while it runs, also by one who is held up for some seconds.
    let submission = json!({ "source": workload("documented", 8), "tags": ["first"], "file_name": "w.yaml" });
    let (_, check) = c.send("POST", "check", &submission);
    fits(&document, "CheckResult", false, &check);
    assert_eq!(
        (&check["ok"], &check["stages"][0]["seconds"], &check["stages"][0]["workers"]),
        (&json!(true), &json!(8.0), &json!(2))
    );
    let (status, submitted) = c.send("POST", "runs", &submission);
    assert_eq!(status, 201);
    fits(&document, "Submitted", false, &submitted);
    let id = submitted["id"].as_str().unwrap().to_owned();
    c.wait_for(&id, &["processing"]);
    let ended = c.wait_for(&id, &["finished", "failed", "terminated", "cancelled"]);
    assert_eq!(
        (&ended["state"], &ended["class"], &ended["tags"]),
        (&json!("finished"), &json!("finished"), &json!(["first"]))
    );
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let content = &methods["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let of =
            |value: &Value| value["$ref"].as_str().map(|text| text.rsplit('/').next().unwrap().to_owned());
        let Some(short) = path.strip_prefix("/api/v1/").filter(|path| !path.contains("{study}")) else {
            continue;
        };
        let answer = || c.get(&short.replace("{id}", &id));
        if let Some(name) = of(content) {
            fits(&document, &name, false, &answer());
            seen += 1;
        } else if let Some(name) = of(&content["items"]) {
            fits(&document, &name, true, &answer());
            seen += 1;
        }
    }
    assert!(seen >= 9, "only {seen} answers were looked at");
    assert!(c.get("status")["join"].is_null(), "no driver of another machine can join this one");
    let record = c.get(&format!("runs/{id}/record"));
    assert_eq!(record["state"], "finished");
    let count = record["stages"][0]["operations"][0]["count"].as_u64().unwrap();
    assert!(count > 0 && c.get("matrix")[0]["count"] == json!(count));
    assert_eq!(c.get(&format!("runs/{id}/data"))["run"]["id"], json!(id));
    assert!(
        c.get("adaptors")
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["kind"] == "auth" && row["name"] == "keystone")
    );
    assert!(
        c.get("library")
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["name"] == "mixed" && row["kind"] == "workload")
    );
    assert_eq!(c.get("schema")["type"], "object");
    let (status, text) = c.with_token(&c.token, &[], "/metrics");
    assert!(status == 200 && text.contains("cosmark_runs_running 0"), "{text}");
    let (status, refusal) =
        c.send("POST", "runs", &json!({ "source": "name: x\nstages: [{name: a, works: [{workers: q}]}]" }));
    assert_eq!(status, 422);
    fits(&document, "Refusal", false, &refusal);
    assert!(refusal["mistakes"][0]["line"].as_u64().unwrap() > 0, "{refusal}");
    for (method, path, status) in [
        ("GET", "runs/w999", 404),
        ("GET", "nothing", 404),
        ("DELETE", "status", 405),
        ("PUT", "runs/w1/tags", 200),
    ] {
        let (found, answer) = c.send(method, path, &json!({}));
        assert_eq!(found, status, "{method} {path}: {answer}");
        if status >= 400 {
            fits(&document, "Refusal", false, &answer);
        }
    }
    let tar = dir.path().join("run.tar.gz");
    let (status, _) =
        c.with_token(&c.token, &["-o", tar.to_str().unwrap()], &format!("/api/v1/runs/{id}/archive.tar.gz"));
    assert_eq!(status, 200);
    let listed = Command::new("tar").arg("tzf").arg(&tar).output().unwrap();
    assert!(stdout(&listed).contains(&format!("{id}-documented/run.json")), "{}", stderr(&listed));
}

#[test]
fn events_tell_a_run_from_its_start_to_its_end_and_go_on_where_they_broke_off() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let id = c.submit(&workload("live", 5));
    let path = format!("/api/v1/runs/{id}/events");
    let (_, all) = c.with_token(&c.token, &["-N"], &path);
    let of = |text: &str, name: &str| -> Vec<Value> {
        let mut found = Vec::new();
        for block in text.split("\n\n") {
            let line = |key: &str| block.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
            if line("event:") == Some(name) {
                found.push(serde_json::from_str(line("data:").unwrap()).unwrap());
            }
        }
        found
    };
    assert_eq!(of(&all, "end"), [json!({ "state": "finished" })]);
    let record = c.get(&format!("runs/{id}/record"));
    let total: u64 = of(&all, "interval")
        .iter()
        .flat_map(|one| one["rows"].as_array().unwrap().clone())
        .filter(|row| row["phase"] == "window" && row["driver"].is_null())
        .map(|row| row["count"].as_u64().unwrap())
        .sum();
    assert_eq!(
        json!(total),
        record["stages"][0]["operations"][0]["count"],
        "the intervals add up to the result"
    );
    let states: Vec<Value> = of(&all, "stage").iter().map(|stage| stage["state"].clone()).collect();
    assert!(states.contains(&json!("running")) && states.contains(&json!("completed")), "{states:?}");
    assert!(!of(&all, "verdict").is_empty() && !of(&all, "log").is_empty());
    // From the middle on: exactly what came after.
    let ids: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("id:")).map(str::trim).collect();
    let middle = ids[ids.len() / 2];
    let (_, rest) = c.with_token(&c.token, &["-N", "-H", &format!("Last-Event-ID: {middle}")], &path);
    let again: Vec<&str> = rest.lines().filter_map(|line| line.strip_prefix("id:")).map(str::trim).collect();
    assert_eq!(again, ids[ids.len() / 2 + 1..]);
    // Everything first, for who comes new.
    let mut watching = Command::new("curl")
        .args([
            "--silent",
            "-N",
            "--max-time",
            "60",
            "-H",
            &format!("Authorization: Bearer {}", c.token),
            &format!("{}/api/v1/events", c.url),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "event: everything");
    let data: Value =
        serde_json::from_str(lines.next().unwrap().unwrap().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(data["status"]["running"], json!([]));
    let second = c.submit(&workload("second", 1));
    let told = lines.map(Result::unwrap).find(|line| line.contains(&format!("\"id\":\"{second}\"")));
    assert!(told.is_some(), "a run that was submitted is told");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn notes_come_onto_the_timeline_of_a_run_that_runs_and_of_one_that_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let id = c.submit(&workload("noted", 6));
    let path = format!("runs/{id}/notes");
    // Before it begins there is no timeline.
    let until = Instant::now() + Duration::from_secs(180);
    loop {
        let (status, answer) = c.send("POST", &path, &json!({"text": " proxy 2 was\u{7} restarted "}));
        if status == 200 {
            break;
        }
        assert!(status == 409 && Instant::now() < until, "{status}: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (_, all) = c.with_token(&c.token, &["-N"], &format!("/api/v1/runs/{id}/events"));
    assert!(all.contains("finished"), "{all}");
    assert_eq!(c.send("POST", &path, &json!({"text": "the disk was full"})).0, 200);
    let record = c.get(&format!("runs/{id}/record"));
    let notes: Vec<(String, bool)> = record["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["kind"] == "note")
        .map(|event| (event["text"].as_str().unwrap().to_owned(), event["stage"].is_null()))
        .collect();
    let [(during, _), (after, is_outside)] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(during.contains(": proxy 2 was") && during.ends_with("restarted"), "{during}");
    assert!(!during.contains('\u{7}'), "a control character is no part of a text: {during:?}");
    assert!(after.ends_with(": the disk was full") && *is_outside, "{notes:?}");
    for text in ["", "   ", &"x".repeat(3001)] {
        let (status, answer) = c.send("POST", &path, &json!({ "text": text }));
        assert_eq!(status, 400, "{answer}");
    }
    assert_eq!(c.send("POST", "runs/w999/notes", &json!({"text": "x"})).0, 404);
}

#[test]
fn events_tell_of_each_endpoint_by_name_and_add_up_to_its_result() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let store = Server::start(dir.path(), &[]);
    let port = store.says("endpoint").rsplit(':').next().unwrap().to_owned();
    let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let text = format!(
        "name: two\nstorage: {{type: s3, endpoint: 'http://{},http://{}', accesskey: '{}', secretkey: '{}', path_style_access: \
         true}}\nstages:\n  - name: init\n    works: [{{type: init, workers: 1, containers: 'r(1,1)'}}]\n  - name: main\n    \
         works:\n      - {{name: w, workers: 4, runtime: 4s, interval: 1s, pace: {{rate_per_worker: 20/s}}, operations: \
         [{{type: write, containers: c(1), objects: 'u(1,100)', sizes: c(1)KB}}]}}\n",
        names[0],
        names[1],
        store.says("access key"),
        store.says("secret key"),
    );
    let id = c.submit(&text);
    let (_, all) = c.with_token(&c.token, &["-N"], &format!("/api/v1/runs/{id}/events"));
    let record = c.get(&format!("runs/{id}/record"));
    assert_eq!(record["state"], "finished", "{record}");
    let endpoints = record["stages"][1]["operations"][0]["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), 2, "{endpoints:?}");
    let rows: Vec<Value> = all
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str::<Value>(data).ok())
        .filter(|data| data["stage"] == "s2-main")
        .filter_map(|data| data["rows"].as_array().cloned())
        .flatten()
        .collect();
    for (endpoint, name) in endpoints.iter().zip(&names) {
        assert_eq!(endpoint["endpoint"], json!(name));
        let own = rows.iter().filter(|row| row["endpoint"] == json!(name) && row["phase"] == "window");
        let total: u64 = own.map(|row| row["count"].as_u64().unwrap()).sum();
        assert!(total > 0 && json!(total) == endpoint["count"], "{name}: {total} {endpoint}");
    }
}

#[test]
fn a_controller_looks_at_the_machines_that_its_operator_names_and_at_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = Server::start(dir.path(), &[]);
    let storage = format!(
        "storage: {{type: s3, endpoint: '{}', accesskey: '{}', secretkey: '{}', path_style_access: true}}\n",
        store.says("endpoint"),
        store.says("access key"),
        store.says("secret key"),
    );
    let machines = "nodes:\n  - {name: here, role: gateway, type: local, interval: 200ms}\n  - {name: gone, type: prometheus, \
                    url: 'http://127.0.0.1:1/metrics', token: {env: COSMARK_TEST_TOKEN}}\n";
    std::fs::write(dir.path().join("store.yaml"), format!("{storage}{machines}")).unwrap();
    let mut command = support::cosmark(dir.path());
    command.env("COSMARK_TEST_TOKEN", "bearer-of-nothing");
    let args = ["--local", "--threads", "1", "--no-ceiling", "--nodes", "store.yaml"];
    let c = Controller::launch_by(command, dir.path(), "state", &args);
    // Whoever submits names a machine that would have to be asked over the network.
    let forbidden = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    forbidden.set_nonblocking(true).unwrap();
    let theirs = format!(
        "nodes:\n  - {{name: theirs, type: prometheus, url: 'http://{}/metrics'}}\n",
        forbidden.local_addr().unwrap()
    );
    let stages = "stages:\n  - name: init\n    works: [{type: init, workers: 1, containers: 'r(1,1)'}]\n  - name: main\n    \
                  works:\n      - {name: w, workers: 1, runtime: 3s, operations: [{type: write, containers: c(1), objects: \
                  'u(1,9)', sizes: c(1)KB}]}\n";
    let text = format!("name: seen\n{storage}{theirs}{stages}");
    let (_, checked) = c.send("POST", "check", &json!({ "source": text }));
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(checked["mistakes"][0]["message"].as_str().unwrap().contains("--nodes TARGET.yaml"), "{checked}");
    let id = c.submit(&text);
    let (_, all) = c.with_token(&c.token, &["-N"], &format!("/api/v1/runs/{id}/events"));
    let record = c.get(&format!("runs/{id}/record"));
    assert_eq!(record["state"], "finished", "{record}");
    let names = |nodes: &Value| -> Vec<String> {
        nodes.as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect()
    };
    for nodes in [&record["idle_nodes"], &record["stages"][1]["nodes"]] {
        assert_eq!(names(nodes), ["here", "gone"]);
        assert!(nodes[0]["readings"].as_u64().unwrap() >= 2 && nodes[1]["lost"].is_string(), "{nodes}");
    }
    assert!(all.contains("\"lines\":[{\"name\":\"here\"") && all.contains("node gone: "), "live, too: {all}");
    assert!(dir.path().join(format!("archive/{id}-seen/nodes.parquet")).exists());
    let archived = std::fs::read_to_string(dir.path().join(format!("archive/{id}-seen/run.json"))).unwrap();
    assert!(!archived.contains("bearer-of-nothing") && !all.contains("bearer-of-nothing"));
    // A run of another store has nothing to do with these machines.
    let other = c.submit(&text.replace(&storage, "storage: {type: mock}\n"));
    c.wait_for(&other, &["finished"]);
    assert_eq!(c.get(&format!("runs/{other}/record"))["stages"][1]["nodes"], Value::Null);
    assert!(forbidden.accept().is_err(), "what a submission names is never asked");
}

#[test]
fn the_queue_keeps_priorities_moves_cancels_and_submits_again() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let long = c.submit(&workload("long", 600));
    c.wait_for(&long, &["processing"]);
    let running = c.get("runs?state=running");
    assert_eq!((running.as_array().unwrap().len(), &running[0]["id"]), (1, &json!(long)));
    let ids: Vec<String> = (0..3).map(|n| c.submit(&workload(&format!("n{n}"), 1))).collect();
    let (_, urgent) = c.send("POST", "runs", &json!({ "source": workload("urgent", 1), "priority": 9 }));
    let urgent = urgent["id"].as_str().unwrap().to_owned();
    let order = || -> Vec<String> {
        let mut waiting: Vec<(u64, String)> = c
            .get("runs?state=queuing")
            .as_array()
            .unwrap()
            .iter()
            .map(|run| (run["position"].as_u64().unwrap(), run["id"].as_str().unwrap().to_owned()))
            .collect();
        waiting.sort();
        waiting.into_iter().map(|(_, id)| id).collect()
    };
    assert_eq!(order(), [&urgent, &ids[0], &ids[1], &ids[2]].map(String::as_str));
    let (status, moved) = c.send("PATCH", &format!("runs/{}/queue", ids[2]), &json!({ "before": ids[0] }));
    assert_eq!((status, &moved["position"]), (200, &json!(1)), "{moved}");
    assert_eq!(order(), [&urgent, &ids[2], &ids[0], &ids[1]].map(String::as_str));
    let (status, _) = c.send("PATCH", &format!("runs/{long}/queue"), &json!({ "priority": 1 }));
    assert_eq!(status, 409, "what runs cannot be moved");
    let (status, answer) =
        c.send("POST", "runs", &json!({ "source": workload("tagged", 1), "tags": ["a,b"] }));
    assert!(status == 400 && answer["error"].as_str().unwrap().contains("is not a tag"), "{status} {answer}");
    for path in ["runs/%ff", "runs/%ff/files/a", "studies/%ff"] {
        let (status, text) = c.with_token(&c.token, &[], &format!("/api/v1/{path}"));
        let answer: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"));
        assert!(status == 400 && answer["error"].is_string(), "{path}: {status} {text}");
    }
    // Before a run has begun a directory of its name is somebody else's.
    let begun = dir.path().join(format!("archive/{}-n0", ids[0]));
    std::fs::create_dir(&begun).unwrap();
    let (status, answer) = c.with_token(&c.token, &[], &format!("/api/v1/runs/{}/record", ids[0]));
    assert!(status == 409 && answer.contains("waits in the queue"), "{status} {answer}");
    std::fs::remove_dir(&begun).unwrap();
    let cancelled = c.command(&["cancel", &ids[1]]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", stderr(&cancelled));
    let gone = c.wait_for(&ids[1], &["cancelled"]);
    assert_eq!(gone["state"], "cancelled");
    assert!(
        c.get(&format!("runs/{}/record", ids[1]))["stages"][0]["state"] == "aborted",
        "it is archived, too"
    );
    assert_eq!(c.send("POST", &format!("runs/{long}/cancel"), &json!({ "abort": true })).0, 200);
    assert_eq!(c.wait_for(&long, &["cancelled", "finished", "terminated"])["state"], "cancelled");
    assert_eq!(c.send("POST", &format!("runs/{long}/cancel"), &json!({})).0, 409);
    for id in [&urgent, &ids[2], &ids[0]] {
        c.wait_for(id, &["finished"]);
    }
    let (status, again) = c.send("POST", &format!("runs/{urgent}/resubmit"), &json!({}));
    assert_eq!(status, 201, "{again}");
    let again = again["id"].as_str().unwrap();
    assert_eq!(c.wait_for(again, &["finished"])["name"], "urgent");
    let (_, based) = c.send("PUT", &format!("runs/{again}/baseline"), &json!({ "baseline": true }));
    assert_eq!(based["baseline"], true);
    let comparison = c.get(&format!("compare?runs={urgent},{again}"));
    assert!(comparison["pairs"][0]["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{comparison}");
}

#[test]
fn a_kill_loses_nothing_that_waits_and_what_ran_says_that_it_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut c = Controller::start(dir.path());
    let one = workload("long", 600);
    let (_, stage) = one.split_once("stages:\n").unwrap();
    let later = stage.replace("name: main", "name: later").replace("600s", "1h");
    let long = c.submit(&format!("{one}{later}"));
    let waiting = c.submit(&workload("waiting", 1));
    let run = || Some(c.get(&format!("runs/{long}"))).filter(|run| run["progress"].as_f64() > Some(0.0));
    let run = within(run);
    // Runs of elsewhere with the numbers of both, whose directories come before theirs.
    fs::write(dir.path().join("short.yaml"), workload("short", 1)).unwrap();
    let made = cosmark(dir.path()).args(["run", "short.yaml", "--archive", "elsewhere"]).output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let brought = [&long, &waiting].map(|id| format!("{id}-aaa"));
    for name in &brought {
        let from = dir.path().join("elsewhere/w1-short");
        let copied =
            Command::new("cp").arg("-r").arg(from).arg(dir.path().join("archive").join(name)).status();
        assert!(copied.unwrap().success());
    }
    // What waits has no archive, whatever has its number; each is in the list.
    let (status, text) = c.with_token(&c.token, &[], &format!("/api/v1/runs/{waiting}/record"));
    assert!(status == 409 && text.contains("waits in the queue"), "{status}: {text}");
    assert_eq!(c.get(&format!("runs/{long}/record"))["name"], "long");
    let ids = |c: &Controller| -> Vec<String> {
        c.get("runs").as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&c), [waiting.as_str(), "w2-aaa", long.as_str(), "w1-aaa"]);
    let left_s = run["left_s"].as_f64().unwrap();
    assert!(left_s > 3600.0 && left_s <= 4200.0, "the stage that is to come counts, too: {run}");
    c.child.kill().unwrap();
    c.child.wait().unwrap();
    drop(c);
    let c = Controller::start(dir.path());
    let cut = c.wait_for(&long, &["terminated"]);
    assert!(cut["reason"].as_str().unwrap().contains("controller ended"), "{cut}");
    let ended = c.wait_for(&waiting, &["finished", "terminated"]);
    assert_eq!((&ended["state"], &ended["name"]), (&"finished".into(), &"waiting".into()), "{ended}");
    assert_eq!(c.get(&format!("runs/{waiting}/record"))["name"], "waiting");
    // What was brought is as it was, and has the name of its directory for its id.
    for name in &brought {
        let read = |path: &str| fs::read(dir.path().join(path).join("run.json")).unwrap();
        assert!(read(&format!("archive/{name}")) == read("elsewhere/w1-short"), "{name}");
        assert_eq!(c.get(&format!("runs/{name}"))["name"], "short");
    }
    assert_eq!(ids(&c), ["w2-aaa", "w2-waiting", "w1-aaa", "w1-long"]);
    let said = fs::read_to_string(dir.path().join("controller.log")).unwrap();
    assert!(said.contains(&format!("{long} was cut off: the controller ended")), "{said}");
    assert_eq!(said.matches("cosmark_").count(), 1, "the token is shown once: {said}");
    let history = fs::read_to_string(dir.path().join("archive/run-history.csv")).unwrap();
    assert!(
        history.lines().any(|line| line.starts_with(&format!("{long},long")) && line.contains("terminated")),
        "{history}"
    );
    // A polite end: what runs is stopped and archived, and the next start finds nothing to mend.
    let id = c.submit(&workload("polite", 600));
    c.wait_for(&id, &["processing"]);
    let mut c = c;
    signal(&c.child, libc::SIGTERM);
    assert!(within(|| c.child.try_wait().unwrap()).success());
    drop(c);
    let c = Controller::start(dir.path());
    assert_eq!(c.state(&id), "cancelled");
    let second = cosmark(dir.path())
        .args(["controller", "--local", "--listen", "127.0.0.1:0", "--state", "state"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("another controller uses the state directory"), "{}", stderr(&second));
}

#[test]
fn scripts_for_cosbench_go_on_working() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let file = dir.path().join("workload-config.xml");
    fs::write(
        &file,
        r#"<?xml version="1.0" encoding="UTF-8" ?>
<workload name="from-cosbench"><storage type="mock" config="delay=5"/><workflow>
<workstage name="main"><work name="w" workers="2" runtime="300"><operation type="write" ratio="100" config="containers=c(1);objects=u(1,10);sizes=c(1)KB"/></work></workstage>
</workflow></workload>"#,
    )
    .unwrap();
    let form = format!("config=@{}", file.display());
    let login = format!("username=anonymous&password={}", c.token);
    let cli = |action: &str| format!("/controller/cli/{action}.action?{login}");
    // cli.sh submit
    assert_eq!(c.curl(&["-F", &form], &cli("submit")), (200, "Accepted with ID: w1\n".to_owned()));
    c.wait_for("w1", &["processing"]);
    // cli.sh info
    let stage = within(|| {
        let (_, info) = c.curl(&[], &cli("index"));
        info.contains("s1-main").then_some(info)
    });
    let lines: Vec<&str> = stage.lines().collect();
    assert_eq!(
        (lines[0], lines[2], lines[3], lines[4]),
        ("Drivers:", "Total: 1 drivers", "", "Active Workloads:"),
        "{stage}"
    );
    let fields: Vec<&str> = lines[5].split('\t').collect();
    assert_eq!((fields[0], fields[2], fields[3]), ("w1", "PROCESSING", "s1-main"), "{stage}");
    assert_eq!(fields[1].split(' ').count(), 6, "a date as Java writes it: {stage}");
    assert_eq!(lines[6], "Total: 1 active workloads");
    let (_, one) = c.curl(&[], &format!("{}&id=w1", cli("workload")));
    assert_eq!(one.trim_end().split('\t').collect::<Vec<_>>()[..1], ["w1"]);
    assert!(one.ends_with("\tPROCESSING\n"), "{one}");
    // cli.sh cancel
    let (status, line) = c.curl(&["-d", "id=w1"], &cli("cancel"));
    assert!(status == 200 && line.starts_with("w1\t"), "{line}");
    c.wait_for("w1", &["cancelled"]);
    assert!(c.curl(&[], &format!("{}&id=w1", cli("workload"))).1.ends_with("\tCANCELLED\n"));
    let (status, csv) = c.curl(&[], &format!("/controller/timeline.csv?wid=w1&sid=s1-main&{login}"));
    assert!(status == 200 && csv.starts_with("Timestamp,Op-Count"), "{csv}");
    assert!(
        c.curl(&[], &format!("/controller/download-config.do?id=w1&{login}"))
            .1
            .contains("<workload name=\"from-cosbench\"")
    );
    assert!(c.curl(&[], &format!("/controller/download-log.do?id=w1&{login}")).1.contains("s1-main"));
    // Scripts wait for this line, as COSBench spells it, of runs that finish and of no others.
    let short = dir.path().join("short.xml");
    fs::write(&short, fs::read_to_string(&file).unwrap().replace("runtime=\"300\"", "totalOps=\"4\""))
        .unwrap();
    let form = format!("config=@{}", short.display());
    assert_eq!(c.curl(&["-F", &form], &cli("submit")), (200, "Accepted with ID: w2\n".to_owned()));
    c.wait_for("w2", &["finished"]);
    let said = || fs::read_to_string(dir.path().join("controller.log")).unwrap();
    within(|| said().contains("sucessfully processed workload w2").then_some(()));
    assert!(!said().contains("processed workload w1"), "{}", said());
    // Refusals, as COSBench words them, but for the status.
    assert_eq!(c.curl(&[], &format!("{}&id=w99", cli("workload"))), (404, "Not Found\n".to_owned()));
    assert_eq!(c.curl(&["-F", "other=x"], &cli("submit")), (200, "Bad Request".to_owned()));
    let bad = dir.path().join("bad.xml");
    fs::write(&bad, "<workload name=\"x\"><workflow/></workload>").unwrap();
    let (status, text) = c.curl(&["-F", &format!("config=@{}", bad.display())], &cli("config"));
    assert!(status == 200 && !text.contains("Accepted"), "{text}");
    fs::write(&bad, b"<workload name=\"x\"\n description=\"\xfcber\">").unwrap();
    let (status, text) = c.curl(&["-F", &format!("config=@{}", bad.display())], &cli("submit"));
    assert_eq!((status, text.as_str()), (200, "line 2 of the file is not UTF-8; save the file in UTF-8\n"));
    // Without a login, with half of one, with a wrong one; Basic and Bearer do as well.
    for (args, query, expected) in [
        (vec![], "", 401),
        (vec![], "?username=anonymous", 401),
        (vec![], "?username=anonymous&password=cosbench", 401),
        (vec!["-F", form.as_str()], "?username=anonymous&password=cosbench", 401),
    ] {
        let action = if args.is_empty() { "index" } else { "submit" };
        let (status, text) = c.curl(&args, &format!("/controller/cli/{action}.action{query}"));
        assert_eq!(status, expected, "{query}: {text}");
        let wanted =
            if query.contains("password") { "incorrect !" } else { "Please input complete user info" };
        assert!(text.contains(wanted), "{query}: {text}");
    }
    let basic = format!("any:{}", c.token);
    assert_eq!(c.curl(&["-u", &basic], "/controller/cli/index.action").0, 200);
    let (status, _) = c.curl(
        &["-F", "username=any", "-F", &format!("password={}", c.token), "-F", &form],
        "/controller/cli/submit.action",
    );
    assert_eq!(status, 200, "a login in the form");
}

#[test]
fn who_is_not_logged_in_gets_nothing_and_who_may_look_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let added = cosmark(dir.path())
        .args(["controller", "--state", "state", "--add-token", "wall", "--role", "view"])
        .output()
        .unwrap();
    let viewer = stdout(&added).trim().to_owned();
    let (_, text) = c.curl(&[], "/api/openapi.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut looked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace("{id}", "w1").replace("{name}", "x");
            let method = method.to_uppercase();
            let role = operation["description"].as_str().unwrap_or_default();
            if path == "/api/v1/session" && method != "GET" || operation["security"] == json!([]) {
                continue;
            }
            let args = ["-X", method.as_str()];
            assert_eq!(c.curl(&args, &path).0, 401, "{method} {path}");
            if role.contains("operate") {
                assert_eq!(c.with_token(&viewer, &args, &path).0, 403, "{method} {path}");
            }
            looked += 1;
        }
    }
    assert!(looked > 45, "only {looked} routes were tried");
    assert_eq!(c.with_token(&viewer, &[], "/api/v1/status").0, 200);
    let form = ["-F", "config=x"];
    assert_eq!(c.with_token(&viewer, &form, "/controller/cli/submit.action").0, 403);
    assert_eq!(c.get("runs"), json!([]), "nothing was submitted");
    // One of the same name would take its place, and whoever has it would be shut out.
    let again = cosmark(dir.path())
        .args(["controller", "--state", "state", "--add-token", "wall", "--role", "operate"])
        .output()
        .unwrap();
    let said = stderr(&again);
    assert!(again.status.code() == Some(2) && again.stdout.is_empty(), "{said}");
    assert!(
        said.contains("called wall already (role view)") && said.contains("--remove-token wall"),
        "{said}"
    );
    assert_eq!(c.with_token(&viewer, &[], "/api/v1/status").0, 200);
    // Who has a slip in a token hears of that, and who has none of what to give.
    let (status, text) = c.with_token(&viewer[1..], &[], "/api/v1/status");
    assert!(status == 401 && text.contains("this token is not known here"), "{text}");
    let (status, text) = c.curl(&[], "/api/v1/status");
    assert!(status == 401 && text.contains("Authorization: Bearer TOKEN"), "{text}");
    // A token that is taken back is worth nothing at once.
    let removed = cosmark(dir.path())
        .args(["controller", "--state", "state", "--remove-token", "wall"])
        .output()
        .unwrap();
    assert!(removed.status.success());
    assert_eq!(c.with_token(&viewer, &[], "/api/v1/status").0, 401);
}

#[test]
fn a_session_changes_something_only_from_the_consoles_own_pages() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let jar = dir.path().join("cookies");
    let jar = jar.to_str().unwrap();
    let login = json!({ "token": c.token }).to_string();
    let (status, info) = c.curl(&["-c", jar, "-d", &login], "/api/v1/session");
    assert_eq!(
        (status, serde_json::from_str::<Value>(&info).unwrap()["role"].clone()),
        (200, json!("operate"))
    );
    assert_eq!(c.curl(&["-b", jar], "/api/v1/status").0, 200);
    let body = json!({ "source": workload("x", 1) }).to_string();
    let ours = format!("Origin: {}", c.url);
    let attempts: [(&[&str], u16); 4] = [
        (&[], 403),
        (&["-H", "X-Cosmark: 1"], 403),
        (&["-H", "X-Cosmark: 1", "-H", "Origin: http://evil.example"], 403),
        (&["-H", "X-Cosmark: 1", "-H", &ours], 201),
    ];
    for (headers, expected) in attempts {
        let (status, text) = c.curl(&[&["-b", jar, "-d", body.as_str()], headers].concat(), "/api/v1/runs");
        assert_eq!(status, expected, "{headers:?}: {text}");
    }
    let foreign = ["-H", "Origin: http://evil.example", "-d", &login];
    assert_eq!(c.curl(&foreign, "/api/v1/session").0, 403, "nobody is logged in from elsewhere");
    assert_eq!(c.curl(&["-b", jar, "-X", "DELETE"], "/api/v1/session").0, 204);
    assert_eq!(
        c.curl(&["-b", jar], "/api/v1/status").0,
        401,
        "a session that was ended is over, whoever has the cookie"
    );
}

#[test]
fn guessing_tokens_is_slowed_down() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let statuses: Vec<u16> =
        (0..15).map(|n| c.with_token(&format!("cosmark_{n}"), &[], "/api/v1/status").0).collect();
    assert_eq!(statuses.first(), Some(&401));
    // A busy machine asks so slowly that one more may be let in behind some.
    assert!(statuses.iter().skip(10).any(|status| *status == 429), "{statuses:?}");
}

#[test]
fn no_path_leads_out_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let id = c.submit(&workload("x", 1));
    c.wait_for(&id, &["finished"]);
    let secret = "outside-of-everything";
    fs::write(dir.path().join("archive/outside.txt"), secret).unwrap();
    std::os::unix::fs::symlink(
        dir.path().join("archive/outside.txt"),
        dir.path().join(format!("archive/{id}-x/link.txt")),
    )
    .unwrap();
    let (status, _) = c.with_token(&c.token, &[], &format!("/api/v1/runs/{id}/files/run.json"));
    assert_eq!(status, 200);
    for name in [
        "../outside.txt",
        "..%2foutside.txt",
        "%2e%2e/outside.txt",
        "%2e%2e%2foutside.txt",
        "source/../../outside.txt",
        "link.txt",
        "/etc/hostname",
        "%2fetc%2fhostname",
        "....//outside.txt",
        "..\\outside.txt",
        ".",
        "..",
        "%00",
        "../../state/tokens",
        "../../state/cluster.key",
    ] {
        // As it stands: curl would tidy the path up.
        let text = raw(&c, &format!("/api/v1/runs/{id}/files/{name}"));
        let status: u16 = text.split(' ').nth(1).unwrap().parse().unwrap();
        assert!((400..500).contains(&status) && !text.contains(secret), "{name}: {text}");
    }
    let foreign = ["w1-y", "w1-x%2f..", "w1-x/..", "w1-..", "w1-x%2f..%2fw1-x"];
    let no_number = ["..", "w1/../../..", "w1%2f..", "W1", "w+1", "w99999999999999999999999"];
    for run in foreign.into_iter().chain(no_number) {
        let text = raw(&c, &format!("/api/v1/runs/{run}/record"));
        assert!(text.starts_with("HTTP/1.1 40"), "{run}: {text}");
    }
    let (_, listing) = c.with_token(&c.token, &[], &format!("/api/v1/runs/{id}/files"));
    assert!(!listing.contains("link.txt"), "links are not followed, nor listed");
    let (status, _) = c.send("PUT", "secrets/..%2ftokens", &json!({ "value": "x" }));
    assert!((400..500).contains(&status));
}

fn raw(c: &Controller, path: &str) -> String {
    let mut stream = TcpStream::connect(c.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        c.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Every file below a directory whose content has one of the texts.
fn files_with(directory: &Path, texts: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_with(&path, texts, found);
        } else if let Ok(bytes) = fs::read(&path)
            && texts.iter().any(|text| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path);
        }
    }
}

#[test]
fn the_list_of_a_controller_has_all_of_its_runs_and_their_figures() {
    let dir = tempfile::tempdir().unwrap();
    // COSBench's 99th percentile above 500 s.
    const BEYOND: &str = "9223372036854775807";
    let table = support::repository().join("crates/archive/tests/cosbench-runs/w7-c4/w7-c4.csv");
    let table = fs::read_to_string(table).unwrap();
    assert!(table.contains(BEYOND));
    for number in 1..=1005 {
        let run = dir.path().join(format!("archive/w{number}-c4"));
        fs::create_dir_all(&run).unwrap();
        let beyond = if number == 1 { BEYOND } else { "N/A" };
        fs::write(run.join(format!("w{number}-c4.csv")), table.replace(BEYOND, beyond)).unwrap();
    }
    let c = Controller::start(dir.path());
    let listed = |more: &[&str]| {
        let output = c.command(&[&["list"][..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let all: Vec<Value> = serde_json::from_str(&listed(&["--limit", "0", "--json"])).unwrap();
    let ids: Vec<&str> = all.iter().filter_map(|run| run["id"].as_str()).collect();
    assert_eq!((ids.len(), ids.first(), ids.last()), (1005, Some(&"w1005"), Some(&"w1")));
    let p99 = |run: Option<&Value>| run.map(|run| (run["p99_ms"].as_f64(), run["p99_is_least"].as_bool()));
    assert_eq!(p99(all.last()), Some((Some(500_000.0), Some(true))));
    assert_eq!(p99(all.first()), Some((None, Some(false))));
    let two = listed(&["--limit", "2"]);
    for text in ["op/s", "target", "w1004", "12.5", "older runs not shown"] {
        assert!(two.contains(text), "{text} is not in\n{two}");
    }
    assert!(!two.contains("p99 ms"), "a column without any figure takes room:\n{two}");
    assert!(listed(&["--limit", "0"]).contains("> 500000"));
}

#[test]
fn a_secret_is_in_no_answer_no_file_no_log_and_no_process_list() {
    let dir = tempfile::tempdir().unwrap();
    let (inline, named, from_env) = ("inl1ne-s3cret-0", "n4med-s3cret-11", "fr0m-env-s3cret");
    let store = Server::start(dir.path(), &[]);
    let own = store.says("secret key");
    let c = Controller::start(dir.path());
    let (status, _) = c.send("PUT", "secrets/ceph-key", &json!({ "value": named }));
    assert_eq!(status, 400, "nobody said where it may be sent");
    let endpoints = json!([store.says("endpoint")]);
    let (status, _) = c.send("PUT", "secrets/ceph-key", &json!({ "value": named, "endpoints": endpoints }));
    assert_eq!(status, 204);
    assert_eq!(c.get("secrets"), json!(["ceph-key"]));
    let (status, _) = c.send("PUT", "secrets/store", &json!({ "value": own, "endpoints": endpoints }));
    assert_eq!(status, 204);
    let with = |secret: &str, seconds: u32| {
        let storage = format!(
            "storage: {{type: s3, endpoint: '{}', accesskey: '{}', secretkey: {secret}, path_style_access: true}}\n",
            store.says("endpoint"),
            store.says("access key")
        );
        let text = workload("hush", seconds);
        let rest = text.split_once("storage").unwrap().1.split_once('\n').unwrap().1;
        format!("name: hush\n{storage}{rest}")
    };
    // Wrong secrets: the store refuses them, and its words go into the record. A right one: everything else is written.
    let target = dir.path().join("target.yaml");
    let mut ids = vec![
        c.submit(&with(inline, 1)),
        c.submit(&with("{secret: ceph-key}", 1)),
        c.submit(&with("{secret: store}", 2)),
    ];
    fs::write(&target, with("{env: HUSH_KEY}", 1).lines().nth(1).unwrap()).unwrap();
    fs::write(dir.path().join("w.yaml"), workload("hush", 1)).unwrap();
    let submitted = cosmark(dir.path())
        .env("HUSH_KEY", from_env)
        .env("COSMARK_CONTROLLER", &c.url)
        .args(["submit", "w.yaml", "--target", "target.yaml", "--state-dir", "state"])
        .output()
        .unwrap();
    assert!(submitted.status.success(), "{}", stderr(&submitted));
    ids.push(stdout(&submitted).trim().to_owned());
    let (status, refused) = c.send("POST", "runs", &json!({ "source": with("{file: /etc/hostname}", 1) }));
    assert_eq!(status, 422, "a submission reads no file of the controller: {refused}");
    let (status, refused) = c.send("POST", "runs", &json!({ "source": with("{env: HOME}", 1) }));
    assert_eq!(status, 422, "nor its environment: {refused}");
    let texts = [inline, named, from_env, own.as_str()];
    let processes = Command::new("ps").args(["-ww", "-eo", "args"]).output().unwrap();
    assert!(!texts.iter().any(|text| stdout(&processes).contains(text)), "the process list");
    let (_, tested) = c.send(
        "POST",
        "targets/test",
        &json!({ "target": with("{secret: store}", 1).lines().nth(1).unwrap() }),
    );
    assert_eq!(tested["ok"], json!(true), "{tested}");
    let (_, tested) =
        c.send("POST", "targets/test", &json!({ "target": with(inline, 1).lines().nth(1).unwrap() }));
    assert!(tested["ok"] == json!(false) && !tested.to_string().contains(inline), "{tested}");
    for id in &ids {
        c.wait_for(id, &["finished", "terminated", "failed"]);
        for path in [
            "",
            "/record",
            "/source",
            "/log",
            "/data",
            "/files",
            "/export?format=csv",
            "/files/workload-config.xml",
            "/files/workload.yaml",
            "/events",
        ] {
            let (status, text) =
                c.with_token(&c.token, &["--max-time", "20"], &format!("/api/v1/runs/{id}{path}"));
            assert!(status == 200 || path.starts_with("/export"), "{id}{path}: {text}");
            assert!(!texts.iter().any(|secret| text.contains(secret)), "{id}{path} has a secret");
        }
    }
    for path in ["runs", "secrets", "status", "matrix", "drivers"] {
        let text = c.get(path).to_string();
        assert!(!texts.iter().any(|secret| text.contains(secret)), "{path}");
    }
    let mut found = Vec::new();
    files_with(dir.path(), &texts, &mut found);
    let expected = ["state/secrets/ceph-key", "state/secrets/store"].map(|name| dir.path().join(name));
    found.sort();
    assert_eq!(found, expected, "secrets lie where they are kept, and nowhere else");
    assert_ne!(c.state(&ids[2]), "terminated", "the store knows the secret that has a name");
}

#[test]
fn a_first_start_that_cannot_listen_leaves_its_token_to_the_start_that_can() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let args = ["--local", "--threads", "1", "--no-ceiling", "--state", "state", "--listen", &address];
    let failed = cosmark(dir.path()).arg("controller").args(args).output().unwrap();
    assert!(!failed.status.success() && stderr(&failed).contains("cannot listen"), "{}", stderr(&failed));
    let c = Controller::start(dir.path());
    let said = fs::read_to_string(dir.path().join("controller.log")).unwrap();
    let shown = said.split("shown this once: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let token = shown.unwrap_or_else(|| panic!("no token was shown: {said}"));
    assert_eq!(c.with_token(token, &[], "/api/v1/session").0, 200);
}

#[test]
fn tls_is_made_on_the_spot_and_the_clear_is_refused_where_others_can_listen() {
    let dir = tempfile::tempdir().unwrap();
    let open = cosmark(dir.path())
        .args(["controller", "--local", "--listen", "0.0.0.0:0", "--state", "state"])
        .output()
        .unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("--tls"), "{}", stderr(&open));
    let c = Controller::start_with(dir.path(), &["--tls"]);
    assert!(c.url.starts_with("https://"));
    let said = fs::read_to_string(dir.path().join("controller.log")).unwrap();
    assert!(said.contains("certificate's SHA-256 is "), "{said}");
    fs::write(dir.path().join("w.yaml"), workload("secure", 1)).unwrap();
    let output = c.command(&["submit", "w.yaml", "--wait", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["state"], "finished");
    // A run waits for the measurement, so it would be over.
    assert!(c.get("drivers")[0]["ceiling_ops_per_s"].is_null(), "started with --no-ceiling");
    let unknown = cosmark(dir.path())
        .args(["list", "--controller", &c.url])
        .env("COSMARK_TOKEN", &c.token)
        .env("HOME", dir.path())
        .env_remove("XDG_STATE_HOME")
        .output()
        .unwrap();
    assert_ne!(unknown.status.code(), Some(0), "a certificate that nobody vouches for is not taken");
}

#[test]
fn waiting_for_a_run_gives_its_own_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::launch(dir.path(), "state", &["--local", "--threads", "1"]);
    let missed = workload("missed", 1).replace("    works:", "    thresholds: p95 <= 1 ms\n    works:");
    let nowhere = workload("nowhere", 1).replace(
        "{type: mock, delay: 5ms}",
        "{type: s3, endpoint: 'http://127.0.0.1:1', accesskey: a, secretkey: b, timeout: 2s}",
    );
    let failing = workload("failing", 1).replace("delay: 5ms", "delay: 5ms, errors: 0.7");
    let cases = [
        ("done", workload("done", 1), 0),
        ("missed", missed, 6),
        ("nowhere", nowhere, 3),
        ("failing", failing, 4),
        ("bad", "name: [".to_owned(), 2),
    ];
    for (name, text, code) in cases {
        let file = format!("{name}.yaml");
        fs::write(dir.path().join(&file), text).unwrap();
        let output = c.command(&["submit", &file, "--wait"]);
        assert_eq!(output.status.code(), Some(code), "{name}: {}{}", stdout(&output), stderr(&output));
    }
    let listed = c.command(&["list"]);
    assert!(
        stdout(&listed).contains("nowhere") && stdout(&listed).contains("terminated"),
        "{}",
        stdout(&listed)
    );
    let ceiling = || c.get("drivers")[0]["ceiling_ops_per_s"].as_f64().filter(|rate| *rate > 1000.0);
    assert!(within(ceiling) > 1000.0, "measured by itself, as drivers that join do");
    within(|| c.get("drivers")[0]["load"].as_f64().filter(|load| *load > 0.0));
    let logs = c.command(&["logs", "w1"]);
    assert!(stdout(&logs).contains("stage s1-main begins"), "{}", stdout(&logs));
    let drivers = c.command(&["drivers", "--drain", "local"]);
    assert!(stdout(&drivers).contains("drained"), "{}{}", stdout(&drivers), stderr(&drivers));
    let dry = c.command(&["submit", "done.yaml", "--dry-run"]);
    assert!(stdout(&dry).contains("s1-main: 2 workers, 1 s"), "{}", stdout(&dry));
    fs::write(dir.path().join("token"), "wrong\n").unwrap();
    let wrong = c.command(&["list", "--token-file", "token"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    let nobody = cosmark(dir.path())
        .args(["submit", "done.yaml", "--controller", "http://127.0.0.1:1", "--state-dir", "none"])
        .output()
        .unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("no controller answers"), "{}", stderr(&nobody));
}

#[test]
fn the_console_or_what_stands_for_it_comes_with_headers_that_keep_others_out() {
    let dir = tempfile::tempdir().unwrap();
    let c = Controller::start(dir.path());
    let (status, text) = c.curl(&["-i"], "/");
    assert_eq!(status, 200);
    let head = text.to_lowercase();
    for wanted in [
        "content-security-policy: default-src 'self'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "<html",
    ] {
        assert!(head.contains(wanted), "{wanted}: {text}");
    }
    // The page may say so once more; nobody may say more than that.
    let scripts: Vec<&str> = head.match_indices("script-src").map(|(at, _)| &head[at..]).collect();
    assert!(
        scripts.iter().all(|policy| policy.starts_with("script-src 'self';")),
        "scripts come from here alone"
    );
    assert_eq!(c.curl(&[], "/runs/w1").0, 200, "a page of the console");
    assert_eq!(c.curl(&[], "/assets/nothing.js").0, 404);
    assert_eq!(c.curl(&["-X", "POST"], "/anything").0, 404);
    let big = dir.path().join("big");
    fs::write(&big, vec![b' '; 65 << 20]).unwrap();
    let body = format!("@{}", big.display());
    assert_eq!(c.with_token(&c.token, &["--data-binary", &body], "/api/v1/check").0, 413);
}
