//! A data set that is filled until the store is so full: a simulated store, and an exporter that says of it what Ceph's manager
//! would, from what was acknowledged.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use cosmark_archive::{CheckStatus, DataSet, DataSetState, StageState};
use cosmark_metrics::FullResult;
use cosmark_simstore::Handle;

use super::store;
use crate::support::{cosmark, run, run_json, stderr, stdout};

/// Objects have 1000 bytes, and the store has three copies of each.
const CAPACITY: u64 = 6_000_000;
const OF_OTHERS: u64 = 600_000;
/// 200 objects a second, whatever this machine does.
const SLOW: &str = "capacity: {servers: 4, service_ms: 20}";
const READS: &str = "stages:\n  - name: main\n    works:\n      - {name: main, workers: 2, total_ops: 200, operations: [{type: read, \
                     dataset: pebbles, verify: true}]}\n";

fn dataset(directory: &Path) -> Option<DataSet> {
    DataSet::find(&directory.join("archive"), "pebbles").ok().flatten()
}

fn stored(directory: &Path) -> Option<u64> {
    dataset(directory)?.done().ok()?.first().map(|done| done.count())
}

/// Where it answers, until the test program ends.
fn exporter(directory: PathBuf) -> String {
    let mut objects = 0;
    answering(move || {
        // What cannot be read in this moment has not become less.
        objects = stored(&directory).unwrap_or(objects).max(objects);
        let used = OF_OTHERS + 3000 * objects;
        format!("ceph_cluster_total_bytes {CAPACITY}\nceph_cluster_total_used_raw_bytes {used}\n")
    })
}

/// Where somebody answers with this text each time, until the test program ends.
fn answering(mut body: impl FnMut() -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                head.push(byte[0]);
            }
            let body = body();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    url
}

/// A workload in a file, by the store alone or with its manager.
fn workload(directory: &Path, name: &str, store: &Handle, manager: Option<&str>, stages: &str) {
    let nodes = manager.map_or_else(String::new, |url| {
        format!("nodes: [{{name: manager, role: ceph, type: prometheus, url: \"{url}\", interval: 200ms}}]\n")
    });
    let text = format!(
        "name: {name}\nstorage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: b, path_style_access: true}}\n{nodes}{stages}",
        store.url()
    );
    std::fs::write(directory.join(format!("{name}.yaml")), text).unwrap();
}

fn fill(goal: &str, objects: u64) -> String {
    format!(
        "stages:\n  - name: fill\n    fill: {{dataset: pebbles, to: {goal}, objects: {objects}, containers: 'r(1,2)', sizes: \
         c(1000)B, workers: 4, interval: 1s}}\n"
    )
}

/// The run of `filling.yaml`, which has to end well: successes, what was there before, how full the store became.
fn filled(directory: &Path) -> (u64, u64, FullResult) {
    let (output, record) = run_json(directory, &["run", "filling.yaml", "--no-report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let stage = &record.stages[1];
    assert_eq!(stage.state, StageState::Completed, "{:?}", stage.reason);
    let fill = stage.fill.as_ref().unwrap();
    let full = fill.full.clone().unwrap();
    // What was in flight at the end may have ended behind the window.
    let in_window = fill.before + stage.operations[0].ok;
    assert!((in_window..=in_window + 4).contains(&fill.done), "{fill:?}");
    if stage.operations[0].ok > 0 {
        assert!(fill.curve.last().unwrap().full.is_some(), "{:?}", fill.curve);
    }
    (stage.operations[0].ok, fill.before, full)
}

#[test]
fn a_store_is_filled_to_a_share_of_its_capacity_across_a_kill_and_what_is_there_is_what_later_runs_read() {
    let store = store(SLOW);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let manager = exporter(path.to_owned());
    workload(path, "filling", &store, Some(&manager), &fill("40 %", 1700));
    let plan = run(path, &["check", "filling.yaml"]);
    assert!(stdout(&plan).contains("at most 1 700 objects"), "{}", stdout(&plan));
    assert!(stdout(&plan).contains("until the store is 40.0 % full"), "{}", stdout(&plan));

    let mut first = cosmark(path).args(["run", "filling.yaml", "--quiet", "--no-report"]).spawn().unwrap();
    let begun = std::time::Instant::now();
    while stored(path).unwrap_or(0) < 100 && begun.elapsed().as_secs() < 120 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(dataset(path).unwrap().state().unwrap(), DataSetState::Partial);

    let (_, before, full) = filled(path);
    assert!(before >= 100, "it begins where it was killed");
    assert!(full.reached && full.before.unwrap() < 0.4 && full.at_end.unwrap() >= 0.4, "{full:?}");
    assert!(full.after >= full.at_end && full.after.unwrap() < 0.9, "{full:?}");
    let set = dataset(path).unwrap();
    assert_eq!(set.state().unwrap(), DataSetState::Whole);
    let objects = full.objects.unwrap();
    assert!((590..1700).contains(&objects), "600 objects are 40 %: {objects}");
    assert_eq!((set.objects(), set.used().unwrap().objects), (objects, (1, objects / 2)));
    // The same again has nothing to do.
    let (written, before, again) = filled(path);
    assert_eq!((written, again.objects, again.reached), (0, Some(objects), true), "{before}");
    assert_eq!(dataset(path).unwrap().state().unwrap(), DataSetState::Whole);
    what_is_there_is_read(path, &store, before);

    // A higher goal goes on from there.
    workload(path, "filling", &store, Some(&manager), &fill("70 %", 1700));
    let (written, there, higher) = filled(path);
    assert!(written > 0 && there == before && higher.objects.unwrap() > objects, "{higher:?}");
    assert!(higher.at_end.unwrap() >= 0.7, "{higher:?}");
    let shown = stdout(&run(path, &["datasets", "show", "pebbles"]));
    assert!(shown.contains("filled until the store is 70.0 % full: it was "), "{shown}");
    store.stop();
}

fn what_is_there_is_read(path: &Path, store: &Handle, stored: u64) {
    workload(path, "reading", store, None, READS);
    let (output, record) = run_json(path, &["run", "reading.yaml", "--no-report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((record.stages[0].operations[0].ok, record.stages[0].operations[0].failed), (200, 0));
    let known = record.verdict.checks.iter().find(|check| check.id == "V13").unwrap();
    assert_eq!(known.status, CheckStatus::Pass, "{known:?}");
    let target = format!(
        "storage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: b, path_style_access: true}}\n",
        store.url()
    );
    std::fs::write(path.join("target.yaml"), target).unwrap();
    let args =
        ["datasets", "check", "pebbles", "--sample", "0", "--json", "--quiet", "--target", "target.yaml"];
    let output = run(path, &args);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), found["right"].as_u64()), (Some(0), Some(stored)), "{found}");
}

#[test]
fn a_fill_that_nobody_can_measure_sends_nothing_and_one_that_has_too_few_objects_says_where_it_ended() {
    let store = store(SLOW);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    workload(path, "filling", &store, None, &fill("40 %", 1700));
    let plan = run(path, &["check", "filling.yaml"]);
    assert!(stdout(&plan).contains("nothing under nodes: says how full the store is"), "{}", stdout(&plan));
    let (output, record) = run_json(path, &["run", "filling.yaml", "--no-report"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(
        record.reason.as_deref().unwrap_or_default().contains("nobody says how full the store is"),
        "{record:?}"
    );
    assert!(store.log().unwrap().is_empty(), "something was sent");

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let manager = exporter(path.to_owned());
    workload(path, "filling", &store, Some(&manager), &fill("90 %", 60));
    let (output, record) = run_json(path, &["run", "filling.yaml", "--no-report"]);
    assert_ne!(output.status.code(), Some(0));
    let stage = &record.stages[1];
    assert_eq!((stage.state, stage.operations[0].ok), (StageState::Failed, 60), "{:?}", stage.reason);
    assert!(stage.reason.as_deref().unwrap_or_default().contains("and not 90.0 %"), "{:?}", stage.reason);
    assert!(!stage.fill.as_ref().unwrap().full.as_ref().unwrap().reached);
    assert_eq!(dataset(path).unwrap().state().unwrap(), DataSetState::Partial);
    store.stop();
}

#[test]
fn a_fill_between_two_stores_sends_nothing_until_it_is_said_by_whose_word_it_goes() {
    let store = store(SLOW);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let manager = exporter(path.to_owned());
    let gate = answering(|| {
        let [total, free] =
            ["total", "free"].map(|word| format!("minio_cluster_health_capacity_raw_{word}_bytes"));
        format!("{total} 1000\n{free} 999\n")
    });
    let filling = |by: &str| {
        workload(path, "filling", &store, Some(&manager), &fill(&format!("40 %{by}"), 1700));
        let file = path.join("filling.yaml");
        let more = format!(
            "200ms}}, {{name: gate, role: minio, type: prometheus, url: \"{gate}\", interval: 200ms}}]"
        );
        let text = std::fs::read_to_string(&file).unwrap().replacen("200ms}]", &more, 1);
        std::fs::write(file, text).unwrap();
    };
    for (by, words) in [
        ("", ["says how full Ceph is", "how full MinIO is, which are two stores", "nodes: manager"]),
        (
            ", nodes: 'manager, other'",
            ["goes by the node other", "none of this run is called so", "manager, gate"],
        ),
    ] {
        filling(by);
        let (output, record) = run_json(path, &["run", "filling.yaml", "--no-report"]);
        assert_ne!(output.status.code(), Some(0), "{by}");
        let plan = stdout(&run(path, &["check", "filling.yaml"]));
        assert_eq!(
            plan.contains("the node other, which is not under nodes:"),
            by.contains("other"),
            "{plan}"
        );
        let why = record.reason.unwrap_or_default();
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
        assert!(store.log().unwrap().is_empty(), "something was sent: {by}");
    }
    filling(", nodes: manager");
    let (_, _, full) = filled(path);
    assert!(full.reached && full.at_end.unwrap() >= 0.4, "{full:?}");
    store.stop();
}
