//! Controllers over NATS from outside: a NATS that dies under them, one that leads and one that stands by, what drivers do for
//! them, and what does not fit.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test may stop at a surprise")]

#[path = "cluster/beside.rs"]
mod beside;
#[path = "cluster/faults.rs"]
mod faults;
#[path = "distributed/bed.rs"]
mod machines;
#[path = "cluster/overtaken.rs"]
mod overtaken;
#[path = "cluster/seen.rs"]
mod seen;
#[path = "service/bed.rs"]
mod service;
mod support;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use machines::Bed;
use serde_json::{Value, json};
use service::{Controller, Driver, within, workload};
use support::{Server, run, signal, stderr};

/// Operations of a counted run.
const TOTAL: u64 = 480;

/// A workload against no store whose counts end it, after at least `seconds`.
fn counted(name: &str, seconds: u64) -> String {
    let rate = TOTAL / 4 / seconds;
    format!(
        "name: {name}\nlost_after: 60s\nstorage: {{type: mock, delay: 5ms}}\nstages:\n  - name: main\n    works:\n      - {{name: w, \
         workers: 4, total_ops: {TOTAL}, pace: {{rate_per_worker: {rate}/s}}, interval: 1s, operations: [{{type: write, \
         containers: c(1), objects: 'u(1,100)', sizes: c(1)KB}}]}}\n"
    )
}

/// Starts a controller at the bed's NATS, and waits until it leads.
fn leader(bed: &Bed, name: &str) -> Controller {
    let c = Controller::launch(bed.path(), name, &["--nats", &bed.url(), "--name", name]);
    within(|| (c.with_token(&c.token, &[], "/api/v1/status").0 == 200).then_some(()));
    c
}

/// Another one with the same keys and tokens.
fn standby(bed: &Bed, name: &str, of: &str) -> Controller {
    fs::create_dir(bed.path().join(name)).unwrap();
    for file in ["cluster.key", "tokens", "local-token"] {
        fs::copy(bed.path().join(of).join(file), bed.path().join(name).join(file)).unwrap();
    }
    Controller::launch(bed.path(), name, &["--nats", &bed.url(), "--name", name])
}

/// An answer, from whoever gives one.
fn ask(c: &Controller, path: &str) -> Option<Value> {
    let (status, text) = c.with_token(&c.token, &[], &format!("/api/v1/{path}"));
    if status == 200 { serde_json::from_str(&text).ok() } else { None }
}

fn wait_for_drivers(c: &Controller, count: usize) {
    within(|| (ask(c, "drivers")?.as_array()?.len() == count).then_some(()));
}

fn wait_for_progress(c: &Controller, id: &str, least: f64) {
    within(|| (ask(c, &format!("runs/{id}"))?["progress"].as_f64()? > least).then_some(()));
}

/// Waits for the end, which is a good one, and gives the first operation's results.
fn finished(c: &Controller, id: &str, log: impl Fn() -> String) -> Value {
    let ended = within(|| {
        let run = ask(c, &format!("runs/{id}"))?;
        ["finished", "failed", "terminated", "cancelled"].contains(&run["state"].as_str()?).then_some(run)
    });
    assert_eq!(ended["state"], "finished", "{ended}\n{}", log());
    within(|| ask(c, &format!("runs/{id}/record")))["stages"][0]["operations"][0].clone()
}

fn log_of(directory: &Path) -> String {
    fs::read_to_string(directory.join("controller.log")).unwrap_or_default()
}

#[test]
fn a_nats_that_dies_under_a_controller_costs_nothing_and_requests_are_told_so_meanwhile() {
    let mut bed = Bed::new(2);
    let c = leader(&bed, "a");
    wait_for_drivers(&c, 2);
    let id = c.submit(&counted("survives", 30));
    let waits = c.submit(&workload("waits", 1));
    wait_for_progress(&c, &id, 0.05);
    // Shorter than the lease, and longer: then this controller lets go of the run, and takes it up again.
    for seconds in [3, 12] {
        bed.nats.take().unwrap().kill();
        std::thread::sleep(Duration::from_secs(1));
        let began = Instant::now();
        let body = json!({ "source": workload("refused", 1) }).to_string();
        let (status, text) = c.with_token(&c.token, &["-i", "-d", &body], "/api/v1/runs");
        assert_eq!(status, 503, "{text}");
        assert!(text.to_lowercase().contains("retry-after: ") && text.contains("NATS at nats://"), "{text}");
        let (status, text) = c.with_token(&c.token, &["-X", "POST"], &format!("/api/v1/runs/{id}/cancel"));
        assert_eq!(status, 503, "what is not kept is not done: {text}");
        let (status, text) = c.with_token(&c.token, &[], "/api/v1/runs");
        assert!(status == 200 || status == 503 && text.contains("NATS"), "{status} {text}");
        assert_eq!(c.curl(&[], "/healthz").0, 200);
        // Each of them at once, however slow this machine is.
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        std::thread::sleep(Duration::from_secs(seconds).saturating_sub(began.elapsed()));
        bed.start_nats();
        within(|| ask(&c, "status").filter(|status| status["nats_connected"] == true));
    }
    let log = || log_of(bed.path());
    let operation = finished(&c, &id, log);
    assert_eq!((&operation["count"], &operation["failures"]), (&json!(TOTAL), &json!(0)), "{operation}");
    assert_eq!(operation["drivers"].as_array().unwrap().len(), 2, "{operation}");
    finished(&c, &waits, log);
    assert_eq!(within(|| ask(&c, "runs")).as_array().unwrap().len(), 2, "what was refused is not there");
}

#[test]
fn a_controllers_own_nats_server_that_dies_is_started_again_and_the_run_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut c = Controller::launch(dir.path(), "a", &["--name", "a"]);
    let status = within(|| ask(&c, "status"));
    let token = dir.path().join("a/nats/driver.nk");
    // What the console shows to copy leads to this server, with a login that lies beside it.
    let join = status["join"].as_str().unwrap();
    assert!(join.starts_with("cosmark driver ") && join.contains("--nats-nkey-file driver.nk "), "{join}");
    let url = join.split("--join ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert!(log_of(dir.path()).contains(&format!("--join {url} ")), "{join}: {}", log_of(dir.path()));
    let _drivers = ["d1", "d2"].map(|name| Driver::join(dir.path(), name, &url, &token));
    wait_for_drivers(&c, 2);
    let id = c.submit(&counted("survives", 15));
    wait_for_progress(&c, &id, 0.1);
    let first = c.own_server().unwrap();
    c.kill_own_server();
    within(|| c.own_server().filter(|pid| *pid != first));
    within(|| log_of(dir.path()).contains("was started again").then_some(()));
    let operation = finished(&c, &id, || log_of(dir.path()));
    assert_eq!((&operation["count"], &operation["failures"]), (&json!(TOTAL), &json!(0)), "{operation}");
    // It goes with the controller.
    signal(&c.child, libc::SIGTERM);
    assert!(c.child.wait().unwrap().success());
    assert_eq!(c.own_server(), None);
}

#[test]
fn whoever_asks_the_controller_that_stands_by_is_answered_by_the_one_that_leads() {
    let bed = Bed::new(2);
    let mut a = leader(&bed, "a");
    let b = standby(&bed, "b", "a");
    // As a client that follows no redirect, over the one that does not lead.
    let status = within(|| ask(&b, "status"));
    assert_eq!((&status["controller"], &status["leader"]), (&json!("a"), &json!("a")));
    let join = status["join"].as_str().unwrap();
    assert!(join.starts_with(&format!("cosmark driver --join {} --trust ", bed.url())), "{join}");
    wait_for_drivers(&b, 2);
    fs::write(bed.path().join("short.yaml"), workload("short", 1)).unwrap();
    let made = run(bed.path(), &["run", "short.yaml", "--archive", "elsewhere"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let id = b.submit(&counted("outlives", 30));
    assert_eq!(ask(&a, &format!("runs/{id}")).unwrap()["name"], "outlives");
    let waits = b.submit(&workload("waits", 1));
    // Cookies and their rules hold for the address that the browser sees.
    let jar = bed.path().join("cookies");
    let jar = jar.to_str().unwrap();
    let (status, text) =
        b.curl(&["-c", jar, "-d", &json!({ "token": b.token }).to_string()], "/api/v1/session");
    assert_eq!(status, 200, "{text}");
    let tags = json!({ "add": ["by-cookie"] }).to_string();
    let ours = format!("Origin: {}", b.url);
    let change = |origin: &str| {
        let args = ["-b", jar, "-X", "PUT", "-H", "X-Cosmark: 1", "-H", origin, "-d", tags.as_str()];
        b.curl(&args, &format!("/api/v1/runs/{id}/tags")).0
    };
    within(|| (change(&ours) == 200).then_some(()));
    assert_eq!(change("Origin: http://evil.example"), 403);
    // Events come as they happen, not when the run is over.
    wait_for_progress(&b, &id, 0.1);
    let (_, events) =
        b.with_token(&b.token, &["-N", "--max-time", "6"], &format!("/api/v1/runs/{id}/events"));
    assert!(events.contains("event: interval"), "{events}");
    assert_eq!(ask(&b, &format!("runs/{id}")).unwrap()["state"], "processing");
    assert_eq!(b.curl(&[], "/").0, 200, "pages it has itself");
    // A run of elsewhere with its number, whose directory comes before its own: whoever takes it up does not take that for its end.
    let brought = bed.path().join(format!("archive/{id}-aaa"));
    fs::rename(bed.path().join("elsewhere/w1-short"), brought).unwrap();
    // Wrong tokens count for who sends them, not for the controller between; a right one passes all the same.
    // One curl asks often: as many that start one after the other take so long on a busy machine that the first are forgiven.
    let often = |address, token: &str, path| {
        b.with_token(token, &["--interface", address, "-o", "/dev/null"], path).0
    };
    let from = |address, token: &str| often(address, token, "/api/v1/status");
    assert_eq!(often("127.0.0.2", "cosmark_wrong", "/api/v1/status?n=[1-16]"), 429);
    assert_eq!(from("127.0.0.2", &b.token), 200);
    assert_eq!(from("127.0.0.3", "cosmark_wrong"), 401);
    assert!(ask(&b, "status").is_some());
    a.child.kill().unwrap();
    a.child.wait().unwrap();
    // Until the lease has run out: a sentence.
    let (status, text) = b.with_token(&b.token, &["-i"], "/api/v1/status");
    assert!(status == 200 || status == 503 && text.to_lowercase().contains("retry-after"), "{text}");
    within(|| ask(&b, "status").filter(|status| status["leader"] == "b"));
    let operation = finished(&b, &id, || log_of(bed.path()));
    assert_eq!((&operation["count"], &operation["failures"]), (&json!(TOTAL), &json!(0)), "{operation}");
    assert_eq!(operation["drivers"].as_array().unwrap().len(), 2, "{operation}");
    // Every second of both drivers is there, also those before the first controller died.
    let csv = fs::read_to_string(bed.path().join(format!("archive/{id}-outlives/intervals.csv"))).unwrap();
    for driver in ["d1", "d2"] {
        let rows = csv.lines().filter(|line| line.contains(&format!(",{driver},window,"))).count();
        assert!(rows >= 18, "{driver} has {rows} intervals:\n{csv}");
    }
    assert_eq!(ask(&b, &format!("runs/{id}")).unwrap()["name"], "outlives");
    finished(&b, &waits, || log_of(bed.path()));
}

#[test]
fn requests_are_passed_on_over_tls_to_the_certificate_that_leads_and_no_other() {
    let bed = Bed::new(0);
    let args = |name| ["--nats".to_owned(), bed.url(), "--name".to_owned(), name, "--tls".to_owned()];
    let launch = |name: &str, more: &[&str]| {
        let all = args(name.to_owned());
        let all: Vec<&str> = all.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Controller::launch(bed.path(), name, &all)
    };
    // The certificate of `state` is the one that curl is told to take.
    let a = launch("state", &[]);
    within(|| ask(&a, "status"));
    fs::create_dir(bed.path().join("b")).unwrap();
    for file in ["cluster.key", "tokens", "local-token", "tls-cert.pem", "tls-key.pem"] {
        fs::copy(bed.path().join("state").join(file), bed.path().join("b").join(file)).unwrap();
    }
    let b = launch("b", &[]);
    let status = within(|| ask(&b, "status"));
    assert_eq!(status["controller"], "state");
}

#[test]
fn a_target_is_tried_by_a_driver_and_its_secrets_travel_sealed() {
    let mut bed = Bed::new(0);
    let c = leader(&bed, "a");
    let store = Server::start(bed.path(), &[]);
    let secret = store.says("secret key");
    let target = |secret: &str| {
        format!(
            "storage: {{type: s3, endpoint: '{}', accesskey: '{}', secretkey: '{secret}', path_style_access: true}}\n",
            store.says("endpoint"),
            store.says("access key")
        )
    };
    let try_it = |secret: &str| c.send("POST", "targets/test", &json!({ "target": target(secret) })).1;
    let nobody = try_it(&secret);
    assert_eq!((&nobody["ok"], &nobody["driver"]), (&json!(false), &Value::Null), "{nobody}");
    assert!(nobody["message"].as_str().unwrap().contains("no driver is there"), "{nobody}");
    bed.start_driver(1, &[]);
    wait_for_drivers(&c, 1);
    let mut questions = bed.hear("cosmark.driver.d1.probe");
    let good = try_it(&secret);
    assert_eq!((&good["ok"], &good["driver"]), (&json!(true), &json!("d1")), "{good}");
    let question = questions.next();
    assert!(!question.windows(secret.len()).any(|part| part == secret.as_bytes()), "it is sealed");
    let wrong = try_it("wrong-0123456789");
    assert_eq!((&wrong["ok"], &wrong["driver"]), (&json!(false), &json!("d1")), "{wrong}");
    assert!(!wrong.to_string().contains("wrong-0123456789"), "{wrong}");
    // A driver that is at work tries it as well.
    let id = c.submit(&workload("long", 60));
    wait_for_progress(&c, &id, 0.01);
    assert_eq!(try_it(&secret)["ok"], json!(true));
}

#[test]
fn a_drained_driver_stays_drained_whoever_leads() {
    let bed = Bed::new(2);
    let a = leader(&bed, "a");
    wait_for_drivers(&a, 2);
    let (status, answer) = a.send("PATCH", "drivers/d1", &json!({ "drained": true }));
    assert_eq!((status, &answer["state"]), (200, &json!("drained")), "{answer}");
    drop(a);
    let b = standby(&bed, "b", "a");
    let states = |c: &Controller| -> Option<Vec<String>> {
        let drivers = ask(c, "drivers")?;
        let of = |driver: &Value| driver["state"].as_str().map(str::to_owned);
        drivers.as_array()?.iter().map(of).collect()
    };
    assert_eq!(within(|| states(&b).filter(|states| states.len() == 2)), ["drained", "idle"]);
    let id = b.submit(&workload("one", 1));
    finished(&b, &id, || log_of(bed.path()));
    let record = ask(&b, &format!("runs/{id}/record")).unwrap();
    let clients = record["stages"][0]["clients"].as_array().unwrap();
    let names: Vec<&Value> = clients.iter().map(|client| &client["driver"]).collect();
    assert_eq!(names, ["d2"], "{record}");
    let (status, answer) = b.send("PATCH", "drivers/d1", &json!({ "drained": false }));
    assert_eq!(status, 200, "{answer}");
    assert_ne!(answer["state"], "drained", "{answer}");
    drop(b);
    let again = Controller::launch(bed.path(), "b", &["--nats", &bed.url(), "--name", "b"]);
    within(|| states(&again).filter(|states| *states == ["idle", "idle"]));
}

#[test]
fn each_driver_has_its_percentiles_as_they_come_and_its_clock_at_the_end() {
    let bed = Bed::new(2);
    let c = leader(&bed, "a");
    wait_for_drivers(&c, 2);
    let id = c.submit(&workload("two", 3));
    let (_, all) = c.with_token(&c.token, &["-N"], &format!("/api/v1/runs/{id}/events"));
    finished(&c, &id, || log_of(bed.path()));
    let news = all.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
    let rows: Vec<Value> =
        news.filter_map(|event: Value| event["rows"].as_array().cloned()).flatten().collect();
    let record = ask(&c, &format!("runs/{id}/record")).unwrap();
    let clients = record["stages"][0]["clients"].as_array().unwrap();
    for name in ["d1", "d2"] {
        let is_own = |row: &&Value| row["driver"] == name && row["count"].as_u64() > Some(0);
        let own: Vec<&Value> = rows.iter().filter(is_own).collect();
        assert!(!own.is_empty(), "no interval of {name}: {all}");
        for row in own {
            let ms: Vec<f64> =
                row["response_ms"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
            assert!(ms.len() == 7 && ms[1] >= 5.0 && ms[1..].windows(2).all(|two| two[0] <= two[1]), "{row}");
        }
        let client = clients.iter().find(|client| client["driver"] == name).unwrap();
        let (offset, error) = (client["clock_offset_ms"].as_f64(), client["clock_error_ms"].as_f64());
        assert!(offset.is_some() && error.is_some_and(|error| error > 0.0), "{client}");
    }
}

#[test]
fn the_table_of_drivers_has_each_clock_without_any_run() {
    let mut bed = Bed::new(1);
    let c = leader(&bed, "a");
    let clock_of = |name: &str| {
        let drivers = ask(&c, "drivers")?;
        let driver = drivers.as_array()?.iter().find(|driver| driver["name"] == name)?;
        Some((driver["clock_offset_ns"].as_f64()?, driver["clock_error_ns"].as_f64()?))
    };
    within(|| clock_of("d1"));
    // One that comes later, too. All of this machine have its clock, so that the answers bound the difference.
    bed.start_driver(2, &[]);
    for name in ["d1", "d2"] {
        let (offset_ns, error_ns) = within(|| clock_of(name));
        assert!(error_ns > 0.0 && offset_ns.abs() <= error_ns + 1e6, "{name}: {offset_ns} of {error_ns}");
    }
}

#[test]
fn what_no_message_can_hold_is_refused_with_the_limit() {
    let bed = Bed::new(0);
    let c = leader(&bed, "a");
    let body = bed.path().join("body");
    // Too long for an argument of curl.
    let submit = |source: &str| {
        fs::write(&body, json!({ "source": source }).to_string()).unwrap();
        c.with_token(&c.token, &["--data-binary", &format!("@{}", body.display())], "/api/v1/runs")
    };
    let refused = |source: &str, what: &str| {
        let (status, text) = submit(source);
        assert_eq!(status, 413, "{text}");
        assert!(text.contains(what) && text.contains("1048576") && text.contains("max_payload"), "{text}");
    };
    let comment = format!("# {}\n", "x".repeat(1 << 20));
    refused(&(workload("large", 1) + &comment), "the submission takes");
    // Small where it is kept, large on its way: there the secrets are in it.
    let large = json!({ "value": "k".repeat(60_000), "endpoints": ["http://127.0.0.1:1"] });
    let (status, answer) = c.send("PUT", "secrets/large", &large);
    assert_eq!(status, 204, "{answer}");
    let works: String = (0..40)
        .map(|n| {
            format!(
                "      - {{name: w{n}, workers: 1, total_ops: 1, storage: {{type: s3, endpoint: 'http://127.0.0.1:1', accesskey: \
                 a{n}, secretkey: {{secret: large}}}}, operations: [{{type: write, containers: c(1), objects: 'u(1,9)', sizes: \
                 c(1)KB}}]}}\n"
            )
        })
        .collect();
    refused(&format!("name: many\nstages:\n  - name: main\n    works:\n{works}"), "the stage main takes");
    assert_eq!(ask(&c, "runs").unwrap(), json!([]));
    let small = workload("fits", 1) + &format!("# {}\n", "x".repeat(500_000));
    let (status, text) = submit(&small);
    assert_eq!(status, 201, "{text}");
}

/// A leader that runs two at a time.
fn leader_of_two(bed: &Bed) -> Controller {
    let c = Controller::launch(bed.path(), "a", &["--nats", &bed.url(), "--name", "a", "--concurrency", "2"]);
    within(|| (c.with_token(&c.token, &[], "/api/v1/status").0 == 200).then_some(()));
    c
}

fn submit_with(c: &Controller, source: &str, more: &Value) -> String {
    let mut body = json!({ "source": source });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, answer) = c.send("POST", "runs", &body);
    assert_eq!(status, 201, "{answer}");
    answer["id"].as_str().unwrap().to_owned()
}

fn drivers_of(c: &Controller, id: &str) -> Value {
    within(|| ask(c, &format!("runs/{id}/record")))["drivers"].clone()
}

fn waits_for(c: &Controller, id: &str, wanted: &str) {
    within(|| (ask(c, &format!("runs/{id}"))?["waits_for"].as_str()? == wanted).then_some(()));
}

#[test]
fn two_equal_runs_take_all_drivers_one_after_the_other_and_what_is_missing_is_waited_for() {
    let bed = Bed::new(0);
    let command = bed.driver_command(0, &["--copies", "8"]);
    let _copies = machines::Process::start(command, bed.path().join("copies.log"));
    let c = leader_of_two(&bed);
    wait_for_drivers(&c, 8);
    // Each wait is seen while it lasts, also by one who is held up for some seconds.
    let (one, two) = (c.submit(&workload("one", 6)), c.submit(&workload("two", 6)));
    waits_for(&c, &two, "waiting for all drivers, 8 are there and none is free");
    for id in [&one, &two] {
        finished(&c, id, || log_of(bed.path()));
        let drivers = drivers_of(&c, id);
        assert_eq!(
            (&drivers["wanted"], drivers["got"].as_array().unwrap().len()),
            (&json!("all"), 8),
            "{drivers}"
        );
    }
    // More than there are: seen while it waits, and the reason at its end.
    let many = submit_with(&c, &workload("many", 1), &json!({ "drivers": "20", "wait_for_drivers": "9s" }));
    waits_for(&c, &many, "waiting for 20 drivers, 8 are there");
    let listed =
        support::stdout(&support::run(bed.path(), &["list", "--controller", &c.url, "--state-dir", "a"]));
    let ended = c.wait_for(&many, &["terminated"]);
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("20 drivers") && reason.contains("8 are there within 9s"), "{reason}");
    assert!(listed.contains("waiting for 20") || listed.contains("terminated"), "{listed}");
    // No stage of it began, so none is done.
    assert_eq!((&ended["stages_done"], &ended["stages"]), (&json!(0), &json!(1)), "{ended}");
    let record = within(|| ask(&c, &format!("runs/{many}/record")));
    assert_eq!(
        (&record["state"], &record["drivers"]["wanted"]),
        (&json!("terminated"), &json!("20")),
        "{record}"
    );
    // By the workload, and cancelled while it waits.
    let source = format!("{}drivers: {{count: 9, wait: 1h}}\n", workload("patient", 1));
    let patient = c.submit(&source);
    waits_for(&c, &patient, "waiting for 9 drivers, 8 are there");
    assert_eq!(c.send("POST", &format!("runs/{patient}/cancel"), &json!({})).0, 200);
    c.wait_for(&patient, &["cancelled"]);
    // Three of eight.
    let three = submit_with(&c, &workload("three", 1), &json!({ "drivers": "3" }));
    finished(&c, &three, || log_of(bed.path()));
    assert_eq!(drivers_of(&c, &three)["got"].as_array().unwrap().len(), 3);
    let (status, answer) = c.send("POST", "runs", &json!({ "source": workload("w", 1), "drivers": "0" }));
    assert!(status >= 400 && answer.to_string().contains("drivers"), "{status} {answer}");
}

#[test]
fn runs_that_want_disjoint_labels_run_side_by_side_and_a_command_waits_for_drivers() {
    let mut bed = Bed::new(0);
    bed.start_driver(1, &["--labels", "zone=a"]);
    bed.start_driver(2, &["--labels", "zone=b"]);
    let c = leader_of_two(&bed);
    wait_for_drivers(&c, 2);
    let a = submit_with(&c, &workload("a", 12), &json!({ "drivers": "zone=a" }));
    let b = submit_with(&c, &workload("b", 12), &json!({ "drivers": "zone=b" }));
    within(|| {
        let state = |id: &str| Some(ask(&c, &format!("runs/{id}"))?["state"].as_str()?.to_owned());
        (state(&a)? == "processing" && state(&b)? == "processing").then_some(())
    });
    for (id, driver) in [(&a, "d1"), (&b, "d2")] {
        finished(&c, id, || log_of(bed.path()));
        assert_eq!(drivers_of(&c, id)["got"], json!([driver]));
    }
    drop(c);
    // The drivers follow the key of that controller.
    fs::write(bed.path().join("w.yaml"), workload("w", 1)).unwrap();
    let mut short =
        bed.start_run("w.yaml", &["--drivers", "3", "--wait-for-drivers", "1s", "--state-dir", "a"]);
    assert_eq!(short.wait(), 2, "{}", short.log());
    assert!(short.log().contains("the run wants 3 drivers, and 2 have joined: d1, d2"), "{}", short.log());
    let mut waiting =
        bed.start_run("w.yaml", &["--drivers", "3", "--wait-for-drivers", "5m", "--state-dir", "a"]);
    waiting.wait_for("waiting for 3 drivers, 2 are there");
    bed.start_driver(3, &[]);
    assert_eq!(waiting.wait(), 0, "{}", waiting.log());
}
