//! `cosmark plan` on the record of a ladder whose truth is known: reads that need 2 ms of one proxy and 1 ms of one disk.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{good, said};

/// Utilisations and throughput of `workers` by mean value analysis: two queues and 4 ms elsewhere.
fn solved(workers: u32) -> (f64, f64) {
    let (mut queues, mut rate, mut service_s) = ([0.0, 0.0], 0.0, 0.0);
    for many in 1..=workers {
        let times = [0.002 * (1.0 + queues[0]), 0.001 * (1.0 + queues[1])];
        service_s = times.iter().sum::<f64>() + 0.004;
        rate = f64::from(many) / service_s;
        queues = times.map(|time| rate * time);
    }
    (rate, service_s)
}

fn nodes(rate: f64) -> Value {
    let node = |name: &str, role: &str, kind: &str, unit: &str, busy: f64| {
        json!({"name": name, "role": role, "source": "local", "readings": 9, "renewed_every_s": 1.0, "clock_ahead_ms": null,
            "resets": 0, "lost": null, "quantities": [],
            "units": [{"kind": kind, "name": unit, "busy": busy, "highest_busy": busy, "waiting": null}]})
    };
    let mut all = json!([
        node("p1", "proxy", "machine", "cpu", 0.02 + 0.98 * rate * 0.002),
        node("s1", "storage", "disk", "sda", rate * 0.001)
    ]);
    // 20 W without load, and 0.1 J of each operation.
    let watts = 20.0 + 0.1 * rate;
    all[0]["quantities"] =
        json!([{"quantity": "energy_j", "unit": "package-0", "mean": watts, "highest": watts}]);
    all
}

fn stage(workers: u32) -> Value {
    let (rate, service_s) = solved(workers);
    let operation = json!({"work": "main", "name": "read", "op": "read", "sample": "read", "workers": workers,
        "arrival": "closed", "window_s": 30.0, "count": (rate * 30.0) as u64, "failures": 0, "missed": 0,
        "bytes": (rate * 30.0) as u64 * 65536, "throughput_per_s": rate, "bandwidth_bytes_per_s": rate * 65536.0,
        "success_ratio": 1.0, "in_flight_mean": workers, "response_ms": {"mean": service_s * 1e3},
        "service_ms": {"mean": service_s * 1e3}, "first_byte_ms": {}});
    json!({"id": format!("s{workers}-read"), "name": format!("read-{workers}"), "state": "completed",
        "operations": [operation], "nodes": nodes(rate)})
}

fn ladder(home: &Path, stages: &[Value]) {
    let directory = home.join("archive/w1-ladder");
    fs::create_dir_all(&directory).unwrap();
    let record = json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "ladder", "description": null, "state": "finished",
        "reason": null, "seed": 1, "submitted": null, "started": null, "ended": null, "process": null, "stages": stages,
        "idle_nodes": nodes(0.0)});
    fs::write(directory.join("run.json"), record.to_string()).unwrap();
}

#[test]
fn a_ladder_is_planned_from_checked_priced_and_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let stages: Vec<Value> = [1, 2, 4, 8, 16, 32].map(stage).into();
    ladder(home, &stages);
    fs::write(home.join("prices.yaml"), "currency: EUR\nnode_hour: {proxy: 1, storage: 2}\n").unwrap();

    let text = good(home, "plan w1 --nodes proxy=2x --prices prices.yaml");
    assert!(text.contains("disk sda of s1 (storage)") && text.contains("to refute: build it"), "{text}");
    let all: Value =
        serde_json::from_str(&good(home, "plan 1 --nodes proxy=2x --prices prices.yaml --json")).unwrap();
    let planned = &all[0]["planned"];
    let rate = planned["throughput_per_s"]["value"].as_f64().unwrap();
    let ceiling = planned["ceiling_per_s"]["value"].as_f64().unwrap();
    assert!((900.0..1000.0).contains(&rate) && (ceiling - 980.0).abs() < 25.0, "{planned}");
    assert_eq!((&planned["machines"]["proxy"], &planned["cost"]["per_hour"]), (&json!(2), &json!(4.0)));
    let energy = &planned["energy"];
    let (watts, joules) = (&energy["watts"]["proxy"], energy["joules_per_operation"].as_f64().unwrap());
    assert!((watts.as_f64().unwrap() - (40.0 + 0.1 * rate)).abs() < 1e-6, "{energy}");
    assert!((joules - (40.0 / rate + 0.1)).abs() < 1e-9 && energy["watts"]["storage"].is_null(), "{energy}");
    assert!(text.contains("energy of an operation, J") && text.contains("power (RAPL), W"), "{text}");
    assert!(all[0]["now"]["throughput_per_s"]["value"].as_f64().unwrap() < 505.0, "{all}");

    let of_one_kind = good(home, "plan w1 --workers-of read=16 --json");
    let of_one_kind: Value = serde_json::from_str(&of_one_kind).unwrap();
    let of_all: Value = serde_json::from_str(&good(home, "plan w1 --workers 16 --json")).unwrap();
    let rate = |all: &Value| all[0]["now"]["throughput_per_s"]["value"].as_f64().unwrap();
    assert!((rate(&of_one_kind) / rate(&of_all) - 1.0).abs() < 1e-6, "{of_one_kind} {of_all}");
    let each = &of_one_kind[0]["now"]["throughput_per_s_of"]["read"]["value"];
    assert_eq!(each.as_f64(), Some(rate(&of_one_kind)), "{of_one_kind}");

    let checked = good(home, "plan w1 --check");
    assert!(
        checked.contains("of its 6 loads the lower 4 alone were fitted; they predict the upper 2"),
        "{checked}"
    );
    assert!(checked.contains("the throughput of 2 of 2 lies within 15 %"), "{checked}");
    for (arguments, words) in [
        ("plan w1 --mix write=100", "operation write was not measured"),
        ("plan w1 --workers-of write=4", "operation write was not measured"),
        ("plan w1 --workers-of read", "write e.g. read=48,write=16"),
        ("plan w1 --size 1MiB", "what a byte costs is not known"),
        ("plan w1 --nodes gateway=2x", "the roles are proxy, storage"),
        ("plan w1 --rate 5000/s", "its ceiling is"),
        ("plan w9", "no run w9"),
    ] {
        let output = said(home, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(words), "{arguments}: {error}");
    }
    let mut bare = stages.clone();
    bare.iter_mut().for_each(|stage| stage["nodes"] = json!([]));
    ladder(home, &bare);
    let output = said(home, "plan w1");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("name them under nodes:"), "{error}");
}

/// Four loads are enough to plan from, and too few to hold some out of: whoever asks has to see that only two of them
/// count.
#[test]
fn a_check_says_how_many_loads_it_holds_out_where_it_can_say_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let stages: Vec<Value> = [1, 4, 16, 32].map(stage).into();
    ladder(home, &stages);
    good(home, "plan w1");
    let output = said(home, "plan w1 --check");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let words = "cannot be checked: --check fits the lower 2 of the 4 loads only, and holds the upper 2 out";
    assert!(output.status.code() == Some(2) && error.contains(words), "{error}");
    assert!(error.contains("measure at least five loads"), "{error}");
    ladder(home, &[1, 2, 4, 16, 32].map(stage));
    good(home, "plan w1 --check");
}
