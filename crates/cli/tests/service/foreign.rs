//! What COSBench left and what its scripts do: its runs in the console, its `cli.sh` without a login.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::bed::{Controller, workload};
use super::support::{repository, run, stderr};

/// An archive of COSBench with a secret in each file that is no table.
fn foreign(directory: &Path) {
    let from = repository().join("crates/archive/tests/cosbench-runs");
    let archive = directory.join("archive");
    fs::create_dir(&archive).unwrap();
    fs::copy(from.join("run-history.csv"), archive.join("run-history.csv")).unwrap();
    fs::create_dir(archive.join("w3-mock-full")).unwrap();
    for file in fs::read_dir(from.join("w3-mock-full")).unwrap().flatten() {
        fs::copy(file.path(), archive.join("w3-mock-full").join(file.file_name())).unwrap();
    }
    let config = archive.join("w3-mock-full/workload-config.xml");
    let text = fs::read_to_string(&config).unwrap();
    let text =
        text.replace("storage type=\"mock\" config=\"", "storage type=\"s3\" config=\"secretkey=hunter2;");
    assert!(text.contains("hunter2"));
    fs::write(&config, text).unwrap();
    fs::write(archive.join("w3-mock-full/workload.log"), "secretkey=hunter2\n").unwrap();
}

#[test]
fn a_run_that_cosbench_made_opens_in_the_console_without_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    foreign(dir.path());
    // A name in the encoding of another machine.
    let table = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"s9-pr\xfcf.csv");
    fs::write(dir.path().join("archive/w3-mock-full").join(table), "a table\n").unwrap();
    let c = Controller::start(dir.path());
    let run = c.get("runs/w3");
    assert_eq!((&run["state"], &run["stages"]), (&"finished".into(), &6.into()), "{run:#}");
    let listed = c.get("runs");
    assert_eq!((&listed[0]["id"], &listed[0]["target"]), (&"w3".into(), &"COSBench".into()), "{listed:#}");
    assert!(listed[0]["reason"].as_str().unwrap().starts_with("made by COSBench"), "{listed:#}");
    let record = c.get("runs/w3/record");
    assert_eq!(
        (&record["made_by"], &record["verdict"]["overall"]),
        (&"COSBench 0.4.2".into(), &"not_proven".into())
    );
    let data = c.get("runs/w3/data");
    assert_eq!(data["run"]["made_by"], "COSBench 0.4.2");
    assert!(data["stages"][2]["operations"][0]["series"]["count"][0].as_u64().unwrap() > 0, "{data:#}");
    let files = c.get("runs/w3/files");
    let names: Vec<&str> =
        files.as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"w3-mock-full.csv") && names.iter().all(|name| name.contains(".csv")),
        "{names:?}"
    );
    assert!(names.contains(&"s9-pr\u{fc}f.csv"), "{names:?}");
    let (status, text) = c.with_token(&c.token, &[], "/api/v1/runs/w3/files/s9-pr%C3%BCf.csv");
    assert!(status == 200 && text.contains("a table"), "{status}: {text}");
    assert_eq!(c.with_token(&c.token, &[], "/api/v1/runs/w3/files/workload-config.xml").0, 404);
    let source = c.get("runs/w3/source");
    assert!(source["yaml"].as_str().unwrap().contains("mock-full"), "{source:#}");
    let paths = [
        "record",
        "data",
        "source",
        "log",
        "export?format=json",
        "export?format=prometheus",
        "archive.tar.gz",
    ];
    for path in paths {
        let file = dir.path().join("answer");
        let (status, _) =
            c.with_token(&c.token, &["-o", file.to_str().unwrap()], &format!("/api/v1/runs/w3/{path}"));
        assert_eq!(status, 200, "{path}");
        let mut bytes = fs::read(&file).unwrap();
        if path.ends_with(".gz") {
            let mut plain = Vec::new();
            std::io::copy(&mut flate2::read::GzDecoder::new(bytes.as_slice()), &mut plain).unwrap();
            bytes = plain;
        }
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{path}");
    }
}

#[test]
fn a_number_that_two_runs_have_is_answered_with_the_names_of_their_directories() {
    let dir = tempfile::tempdir().unwrap();
    foreign(dir.path());
    let archive = dir.path().join("archive");
    // A folder without a run takes nothing from one that has.
    fs::create_dir(archive.join("w3-empty")).unwrap();
    let c = Controller::start(dir.path());
    assert_eq!(c.get("runs/w3")["name"], "mock-full");
    // COSBench begins again at 1 where its `.meta` is gone.
    fs::create_dir(archive.join("w3-again")).unwrap();
    fs::copy(archive.join("w3-mock-full/w3-mock-full.csv"), archive.join("w3-again/w3-again.csv")).unwrap();
    for path in ["w3", "w3/record", "w3/data", "w3/files"] {
        let (status, text) = c.with_token(&c.token, &[], &format!("/api/v1/runs/{path}"));
        assert!(
            status == 409
                && text.contains("2 runs have the number of w3: w3-again, w3-mock-full; ask for one"),
            "{path}: {text}"
        );
    }
    // Each has the name of its directory for its id, in lists as well.
    for (id, name) in [("w3-again", "again"), ("w3-mock-full", "mock-full")] {
        let run = c.get(&format!("runs/{id}"));
        assert_eq!((&run["id"], &run["name"]), (&id.into(), &name.into()), "{run:#}");
        assert_eq!(c.get(&format!("runs/{id}/record"))["made_by"], "COSBench 0.4.2");
        for (list, key) in [("runs", "id"), ("runs?before=w4", "id"), ("matrix", "run")] {
            let listed = c.get(list);
            assert!(listed.as_array().unwrap().iter().any(|row| row[key] == id), "{list}: {listed:#}");
        }
    }
    assert_eq!(c.with_token(&c.token, &[], "/api/v1/runs/..%2Farchive%2Fw3-mock-full/record").0, 404);
    // And is asked for by it on the command line.
    for command in ["logs", "watch"] {
        let refused = c.command(&[command, "w3"]);
        assert!(
            !refused.status.success() && stderr(&refused).contains("w3-again, w3-mock-full"),
            "{command}"
        );
        let asked = c.command(&[command, "w3-mock-full"]);
        assert!(asked.status.success(), "{command}: {}", stderr(&asked));
    }
}

#[test]
fn the_number_of_a_run_that_was_taken_out_is_that_of_no_other_run() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("archive");
    fs::write(dir.path().join("other.yaml"), workload("other", 1)).unwrap();
    let mut c = Controller::start(dir.path());
    let mut ids = Vec::new();
    for (name, store) in [("asked", "elsewhere"), ("hand", "elsewhere2"), ("unsure", "elsewhere3")] {
        let id = c.submit(&workload(name, 1));
        c.wait_for(&id, &["finished"]);
        let made = run(dir.path(), &["run", "other.yaml", "--archive", store]);
        assert!(made.status.success(), "{}", stderr(&made));
        fs::rename(dir.path().join(store).join("w1-other"), archive.join(format!("{id}-other"))).unwrap();
        assert_eq!(c.get(&format!("runs/{id}"))["name"], name);
        ids.push(id);
    }
    let [asked, hand, unsure] = [0, 1, 2].map(|place| ids[place].as_str());
    let is_there = |id: &str| archive.join(format!("{id}-other/run.json")).is_file();
    // Whoever asks again, as after an answer that was lost, takes no run of elsewhere out.
    let status = |c: &Controller, method: &str, path: &str| c.send(method, path, &json!({})).0;
    assert_eq!(status(&c, "DELETE", &format!("runs/{asked}")), 204);
    fs::remove_dir_all(archive.join(format!("{hand}-hand"))).unwrap();
    let missed = |c: &Controller| {
        for id in [asked, hand] {
            for id in [id.to_owned(), id.replace('w', "w0")] {
                let paths = ["", "/record", "/data", "/files", "/source"]
                    .map(|path| ("GET", format!("runs/{id}{path}")));
                let changes = [("DELETE", ""), ("POST", "/resubmit"), ("PUT", "/tags")];
                let changes = changes.map(|(method, path)| (method, format!("runs/{id}{path}")));
                for (method, path) in paths.into_iter().chain(changes) {
                    assert_eq!(status(c, method, &path), 404, "{method} {path}");
                }
            }
            assert!(is_there(id), "{id}");
            // By the name of its directory it is itself, with nothing of the one that had the number.
            let other = c.get(&format!("runs/{id}-other"));
            assert_eq!((&other["name"], &other["submitted_by"]), (&json!("other"), &Value::Null), "{other}");
        }
    };
    missed(&c);
    let listed = c.get("runs");
    let listed: Vec<&str> =
        listed.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let expected = [unsure, unsure, hand, asked];
    let names = ["-other", "-unsure", "-other", "-other"];
    let expected: Vec<String> = expected.iter().zip(names).map(|(id, name)| format!("{id}{name}")).collect();
    assert_eq!(listed, expected);
    c.child.kill().unwrap();
    c.child.wait().unwrap();
    drop(c);
    let c = Controller::start(dir.path());
    missed(&c);
    // Where the store cannot say whose a number is, nobody is told that it is that of two, and nothing is deleted.
    assert_eq!(c.get(&format!("runs/{unsure}/record"))["name"], "unsure");
    fs::write(dir.path().join("state/ended").join(unsure), "damage").unwrap();
    assert_eq!(status(&c, "GET", &format!("runs/{unsure}/record")), 503);
    fs::remove_dir_all(archive.join(format!("{unsure}-unsure"))).unwrap();
    assert_eq!(status(&c, "DELETE", &format!("runs/{unsure}")), 503);
    assert!(is_there(unsure));
    // And one that the queue never had is answered and deleted by its number.
    fs::rename(archive.join(format!("{asked}-other")), archive.join("w70-other")).unwrap();
    assert_eq!(c.get("runs/w70")["name"], "other");
    assert_eq!(status(&c, "DELETE", "runs/w70"), 204);
}

#[test]
fn links_in_a_run_of_somebody_else_show_nobody_a_file_of_the_controller() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret.txt");
    fs::write(&secret, "hunter2\n").unwrap();
    let workload = "name: t\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 1, total_ops: 9, \
                    operations: [{type: read, containers: c(1), objects: 'u(1,9)'}]}\n";
    fs::write(dir.path().join("t.yaml"), workload).unwrap();
    let made = run(dir.path(), &["run", "t.yaml", "--archive", "archive"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let place = dir.path().join("archive/w1-t");
    fs::create_dir_all(place.join("source")).unwrap();
    let link = |names: &[&str]| {
        for name in names {
            drop(fs::remove_file(place.join(name)));
            std::os::unix::fs::symlink(&secret, place.join(name)).unwrap();
        }
    };
    link(&["workload.yaml", "workload.log", "workload-config.xml", "source/t.yaml"]);
    // A directory of this machine that calls itself a run.
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    fs::write(dir.path().join("elsewhere/table.csv"), "hunter2\n").unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("archive/w2-t")).unwrap();
    let c = Controller::start(dir.path());
    let file = dir.path().join("answer");
    let (status, listed) = c.with_token(&c.token, &[], "/api/v1/runs/w2/files");
    assert!(status == 404 && !listed.contains("table.csv"), "{status}: {listed}");
    let asked = |path: &str| {
        drop(fs::remove_file(&file));
        let (status, _) =
            c.with_token(&c.token, &["-o", file.to_str().unwrap()], &format!("/api/v1/runs/w1/{path}"));
        let mut bytes = fs::read(&file).unwrap();
        if path.ends_with(".gz") {
            let mut plain = Vec::new();
            std::io::copy(&mut flate2::read::GzDecoder::new(bytes.as_slice()), &mut plain).unwrap();
            bytes = plain;
        }
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{path}");
        status
    };
    let whole = ["record", "data", "source", "log", "report", "files", "archive.tar.gz"];
    for path in whole {
        let status = asked(path);
        // A program that was built without the page of reports gives none.
        assert!(status == 200 || (status, path) == (503, "report"), "{path}: {status}");
    }
    // What was measured is links, too: that is damage, and what does not need it is there all the same.
    link(&["operations.parquet", "histograms.hlog", "intervals.csv", "events.csv", "s1-main.csv"]);
    for path in whole {
        let status = asked(path);
        assert!(status == 200 || ["data", "report"].contains(&path), "{path}: {status}");
    }
    let exports = ["parquet", "hlog", "csv", "events"].map(|format| format!("export?format={format}"));
    for path in exports.iter().map(String::as_str).chain(["plot?kind=timeline"]) {
        asked(path);
    }
    for path in ["files/operations.parquet", "files/s1-main.csv"] {
        assert_eq!(asked(path), 404, "{path}");
    }
}

#[test]
fn scripts_of_this_machine_need_no_login_where_the_operator_says_so_and_nobody_else_does_without() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("workload-config.xml");
    let text = "<workload name=\"cbt\"><storage type=\"mock\"/><workflow><workstage name=\"main\"><work name=\"w\" \
                workers=\"1\" totalOps=\"10\"><operation type=\"write\" ratio=\"100\" \
                config=\"containers=c(1);objects=u(1,10);sizes=c(1)KB\"/></work></workstage></workflow></workload>";
    fs::write(&file, text).unwrap();
    let form = format!("config=@{}", file.display());
    let c = Controller::start_with(dir.path(), &["--anonymous-loopback"]);
    let plain = |args: &[&str], path: &str| c.curl(args, path);
    let submit = "/controller/cli/submit.action";
    assert_eq!(plain(&["-F", &form], submit), (200, "Accepted with ID: w1\n".to_owned()));
    // What COSBench's own script says where nobody gave it a login.
    let usual = format!("{submit}?username=anonymous&password=cosbench");
    assert_eq!(plain(&["-F", &form], &usual).1, "Accepted with ID: w2\n");
    // And by the header, more often than wrong logins of one address are taken.
    let header = ["-u", "anonymous:cosbench"];
    for _ in 0..12 {
        let (status, said) = plain(&header, "/controller/cli/index.action");
        assert!(status == 200 && said.contains("Active Workloads"), "{status}: {said}");
    }
    assert_eq!(plain(&["-u", "anonymous:other"], "/controller/cli/index.action").0, 401);
    assert_eq!(plain(&["-u", "me:cosbench"], "/controller/cli/index.action").0, 401);
    c.wait_for("w2", &["finished"]);
    assert!(plain(&[], "/controller/cli/workload.action?id=w2").1.ends_with("\tFINISHED\n"));
    // Pages, proxies, other names of this machine and wrong logins are not taken for it; our own interface stays closed.
    for header in [
        "Origin: http://evil.example",
        "Sec-Fetch-Site: cross-site",
        "X-Forwarded-For: 192.0.2.7",
        "Forwarded: for=192.0.2.7",
        "Host: evil.example",
        "Host: localhost.evil.example",
        "X-Cosmark-Relayed: x",
    ] {
        assert_eq!(plain(&["-H", header, "-F", &form], submit).0, 401, "{header}");
    }
    let usual = ["-u", "anonymous:cosbench", "-H", "Origin: http://evil.example"];
    assert_eq!(plain(&usual, "/controller/cli/index.action").0, 401);
    assert_eq!(plain(&[], "/controller/cli/index.action?username=me&password=wrong").0, 401);
    assert_eq!(plain(&[], "/api/v1/runs").0, 401);
    drop(c);
    let c = Controller::launch(dir.path(), "other", &["--local", "--threads", "1", "--no-ceiling"]);
    assert_eq!(c.curl(&["-F", &form], submit).0, 401, "without the option");
}
