//! What a key may reach: every row of every storage and auth whose value names something of the driver's machine, and
//! every place that a workload names itself, from everywhere that is not that machine. Rows come from the tables of the
//! binary, so that an adaptor is covered on the day on which it is added.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::canary::Canary;
use crate::fleet_bed::Bed;
use crate::service_bed::{Controller, within};
use crate::support::{cosmark, run, stderr, stdout};
use crate::table::Attacks;

/// State directory of those whose orders the driver obeys.
const CLUSTER: &str = "service";

/// A key of a storage or an auth that reaches something.
#[derive(Clone)]
struct Row {
    /// `storage` or `auth`.
    what: String,
    kind: String,
    key: String,
    reach: String,
}

impl Row {
    /// The fields of a target that gives this key a value.
    fn target(&self, value: &str) -> String {
        let Self { what, kind, key, .. } = self;
        let other = if what == "auth" { "storage: {type: mock}\n" } else { "" };
        // What such a storage cannot be without: it is refused for the key, and for nothing else.
        let needed = match kind.as_str() {
            "librados" if key != "conf" => "  endpoint: 127.0.0.1:1\n",
            "azure" => "  account: a\n",
            _ => "",
        };
        format!("{what}:\n  type: {kind}\n  {key}: {value}\n{needed}{other}")
    }

    fn option(&self) -> &'static str {
        match self.reach.as_str() {
            "file" | "directory" => "--files",
            "library" => "--plugins",
            "address" => "--source-address",
            other => panic!("which option allows {other}?"),
        }
    }

    fn shown(&self) -> String {
        format!("{} {} {}", self.what, self.kind, self.key)
    }

    fn is_refused_by(&self, text: &str) -> bool {
        text.contains(self.option()) && text.contains(" DIR") | text.contains(" ADDR")
    }
}

/// Every such key, and every other spelling of it.
fn rows(directory: &Path, with_aliases: bool) -> Vec<Row> {
    let tables: Value = serde_json::from_str(&stdout(&run(directory, &["adaptors", "--json"]))).unwrap();
    let mut rows = Vec::new();
    for what in ["storage", "auth"] {
        for def in tables[what].as_array().unwrap() {
            for key in def["keys"].as_array().unwrap() {
                let Some(reach) = key["reach"].as_str() else { continue };
                let aliases = key["aliases"].as_array().unwrap().iter().filter(|_| with_aliases);
                for name in [&key["name"]].into_iter().chain(aliases) {
                    rows.push(Row {
                        what: what.to_owned(),
                        kind: def["name"].as_str().unwrap().to_owned(),
                        key: name.as_str().unwrap().to_owned(),
                        reach: reach.to_owned(),
                    });
                }
            }
        }
    }
    let known = [
        "storage librados library",
        "storage librados conf",
        "storage librados keyring",
        "storage plugin path",
        "storage file directory",
        "storage s3 ca_file",
        "storage s3 client_key",
        "storage s3 source_address",
        "auth google jsonkeyfile",
        "auth aws credentials_file",
        "auth aws web_identity_token_file",
    ];
    for one in known {
        assert!(rows.iter().any(|row| row.shown() == one), "{one} reaches the machine and does not say so");
    }
    rows
}

/// A workload of one stage with this target.
fn workload(target: &str) -> String {
    format!(
        "name: attack\n{target}stages:\n  - name: main\n    works:\n      - {{name: w, workers: 1, total_ops: 1, operations: \
         [{{type: read, containers: c(1), objects: c(1)}}]}}\n"
    )
}

/// Workloads that reach for the machine by themselves: what they are called, their text, the option that allows it.
fn reaching_workloads(canary: &Canary) -> Vec<(String, String, &'static str)> {
    let (dir, fifo) = (canary.bait("directory"), canary.bait("file"));
    let with = |work: &str, more: &str| {
        format!(
            "name: attack\nstorage: {{type: none}}\n{more}stages:\n  - name: main\n    works:\n      - {{name: w, workers: 1, \
             {work}}}\n"
        )
    };
    let op = |kind: &str, keys: &str| {
        with(&format!("total_ops: 1, operations: [{{type: {kind}, containers: c(1), {keys}}}]"), "")
    };
    let read = "operations: [{type: read, containers: c(1), objects: c(1)}]";
    let xml = |config: &str| {
        format!(
            "<workload name=\"attack\"><storage type=\"file\" config=\"{config}\"/><workflow><workstage name=\"main\"><work \
             name=\"w\" workers=\"1\" totalOps=\"1\"><operation type=\"read\" ratio=\"100\" \
             config=\"containers=c(1);objects=c(1)\"/></work></workstage></workflow></workload>"
        )
    };
    let mut all = vec![
        ("filewrite".to_owned(), op("filewrite", &format!("files: {dir}")), "--files"),
        ("mfilewrite".to_owned(), op("mfilewrite", &format!("files: {dir}")), "--files"),
        (
            "localwrite".to_owned(),
            op("localwrite", &format!("objects: c(1), sizes: c(1)KB, files: {dir}")),
            "--files",
        ),
        (
            "recorded arrivals".to_owned(),
            with(&format!("runtime: 1s, rate: {{shape: recorded, file: {fifo}}}, {read}"), ""),
            "--files",
        ),
        (
            "trigger".to_owned(),
            with(&format!("total_ops: 1, {read}"), "trigger: {script: lib.sh}\n"),
            "--scripts",
        ),
        ("COSBench XML".to_owned(), xml(&format!("directory={dir}")), "--files"),
        ("COSBench XML, the last of two".to_owned(), xml(&format!("directory=;DIR={dir}")), "--files"),
        (
            "files as a default of the workload".to_owned(),
            with(
                "total_ops: 1, operations: [{type: filewrite, containers: c(1)}]",
                &format!("defaults: {{files: {dir}}}\n"),
            ),
            "--files",
        ),
        (
            "a matrix".to_owned(),
            format!(
                "name: attack\nstages:\n  - name: main ${{{{ matrix.d }}}}\n    matrix: {{d: [\"{dir}\"]}}\n    storage: \
                 {{type: file, directory: \"${{{{ matrix.d }}}}\"}}\n    works:\n      - {{name: w, workers: 1, total_ops: \
                 1, {read}}}\n"
            ),
            "--files",
        ),
    ];
    for (name, value) in [
        ("a file URL", format!("file://{dir}")),
        ("an escaped file URL", format!("file://{}", dir.replace("canary", "%63anary"))),
        ("dots", format!("{dir}/../dir/.")),
        ("a descriptor of the process", "/proc/self/cwd/canary/dir".to_owned()),
        ("a relative path", "canary/dir".to_owned()),
    ] {
        let text = workload(&format!("storage: {{type: posix, Dir: \"{value}\"}}\n"));
        all.push((format!("file storage, {name}"), text, "--files"));
    }
    all
}

#[test]
fn nothing_of_a_controllers_machine_is_reached_by_a_submission_without_its_operators_option() {
    let directory = tempfile::tempdir().unwrap();
    let canary = Canary::new(directory.path());
    let c = Controller::start(directory.path());
    let mut attacks = Attacks::on("keys");
    let mut judge = |attack: &str, victim: &str, refused: bool, text: &str| {
        let what = if canary.is_touched() { "the canary was touched" } else { text };
        attacks.judge(attack, victim, refused && what == text, what);
    };
    for row in rows(directory.path(), true) {
        let target = row.target(&canary.bait(&row.reach));
        let (status, answer) = c.send("POST", "runs", &json!({ "source": workload(&target) }));
        let text = first_error(&answer);
        judge(&row.shown(), "REST, submission", status == 422 && row.is_refused_by(&text), &text);
        let (_, answer) = c.send("POST", "targets/test", &json!({ "target": target }));
        let text = tried(&answer);
        judge(&row.shown(), "REST, target test", row.is_refused_by(&text), &text);
    }
    for (attack, source, option) in reaching_workloads(&canary) {
        let (status, answer) = c.send("POST", "runs", &json!({ "source": source }));
        let text = first_error(&answer);
        judge(&attack, "REST, submission", status == 422 && text.contains(option), &text);
    }
    let settings =
        json!(["storage.directory=/nonexistent", format!("storage.dir={}", canary.bait("directory"))]);
    let source = workload("storage: {type: file}\n");
    let (status, answer) = c.send("POST", "runs", &json!({ "source": source, "settings": settings }));
    let text = first_error(&answer);
    judge("a setting", "REST, submission", status == 422 && text.contains("--files"), &text);
    // What is not kept secret takes no secret: it would be in answers and archives.
    assert_eq!(
        c.send("PUT", "secrets/place", &json!({ "value": canary.bait("directory"), "endpoints": ["file"] }))
            .0,
        204
    );
    for (attack, storage) in [
        ("a secret as a path", "{type: file, directory: {secret: place}}"),
        ("a secret as a number", "{type: mock, delay: {secret: place}}"),
        ("a secret as an address", "{type: s3, endpoint: {secret: place}}"),
        ("a secret as a fact about the store", "{type: mock, sut_background: {secret: place}}"),
    ] {
        let (status, answer) =
            c.send("POST", "runs", &json!({ "source": workload(&format!("storage: {storage}\n")) }));
        let text = answer.to_string();
        let held = status == 422 && !text.contains(&canary.bait("directory"));
        judge(attack, "REST, submission", held, &text);
        let target = format!("storage: {storage}\n");
        let (_, answer) = c.send("POST", "targets/test", &json!({ "target": target }));
        let text = answer.to_string();
        let held = answer["ok"] != json!(true) && !text.contains(&canary.bait("directory"));
        judge(attack, "REST, target test", held, &text);
    }
}

fn first_error(answer: &Value) -> String {
    let mistakes = answer["mistakes"].as_array().into_iter().flatten();
    let errors =
        mistakes.filter(|one| one["severity"] == "error").map(|one| one["message"].as_str().unwrap());
    errors.collect::<Vec<_>>().join("; ")
}

/// What came of a trial, of which the service cuts the hint off.
fn tried(answer: &Value) -> String {
    assert_ne!(answer["ok"], json!(true), "{answer}");
    format!(
        "{}; {}",
        answer["message"].as_str().unwrap_or_default(),
        answer["hint"].as_str().unwrap_or_default()
    )
}

#[test]
fn nothing_of_a_drivers_machine_is_reached_over_nats_without_its_operators_option() {
    let mut bed = Bed::new(0);
    let canary = Canary::new(bed.path());
    let url = bed.url();
    // First the controller: a driver trusts the key that is published when it joins.
    let c = Controller::launch(bed.path(), CLUSTER, &["--nats", &url]);
    bed.start_driver(1, &[]);
    within(|| c.get("drivers").as_array().is_some_and(|all| !all.is_empty()).then_some(()));
    let mut attacks = Attacks::on("keys");
    let judge = |attacks: &mut Attacks, attack: &str, victim: &str, refused: bool, text: &str| {
        let what = if canary.is_touched() { "the canary was touched" } else { text };
        attacks.judge(attack, victim, refused && what == text, what);
    };
    for row in rows(bed.path(), false) {
        let target = row.target(&canary.bait(&row.reach));
        let (_, answer) = c.send("POST", "targets/test", &json!({ "target": target }));
        let text = tried(&answer);
        judge(&mut attacks, &row.shown(), "driver, target test", row.is_refused_by(&text), &text);
    }
    let mut seen = Vec::new();
    for row in rows(bed.path(), false) {
        // One order for each thing that can be reached; each row as an order takes a minute more.
        if !seen.contains(&row.reach) {
            seen.push(row.reach.clone());
            let (refused, text) = order(&bed, &workload(&row.target(&canary.bait(&row.reach))), row.option());
            judge(&mut attacks, &row.shown(), "driver, order", refused, &text);
        }
    }
    for (attack, source, option) in reaching_workloads(&canary).into_iter().take(5) {
        let (refused, text) = order(&bed, &source, option);
        judge(&mut attacks, &attack, "driver, order", refused, &text);
    }
}

#[test]
fn what_no_driver_that_has_joined_allows_is_refused_before_anything_is_ordered() {
    let mut bed = Bed::new(0);
    let canary = Canary::new(bed.path());
    let c = Controller::launch(bed.path(), CLUSTER, &["--nats", &bed.url()]);
    let check = |source: &str| c.send("POST", "check", &json!({ "source": source })).1;
    let library = workload("storage: {type: plugin, path: /nonexistent.so}\n");
    let file = workload("storage: {type: file, directory: /nonexistent}\n");
    assert_eq!(check(&library)["ok"], json!(true), "nobody has joined who could say");
    bed.start_driver(1, &[]);
    within(|| (c.get("drivers").as_array()?.len() == 1).then_some(()));
    let mut attacks = Attacks::on("keys");
    for row in rows(bed.path(), false) {
        let source = workload(&row.target(&canary.bait(&row.reach)));
        let text = first_error(&check(&source));
        attacks.judge(&row.shown(), "NATS, check", row.is_refused_by(&text), &text);
        let (status, answer) = c.send("POST", "runs", &json!({ "source": source }));
        attacks.judge(&row.shown(), "NATS, submission", status == 422, &answer.to_string());
    }
    // One that allows files changes that for files alone, and what it says of the value is still its own.
    let files = bed.path().join("files");
    fs::create_dir(&files).unwrap();
    bed.start_driver(2, &["--files", files.to_str().unwrap()]);
    within(|| (c.get("drivers").as_array()?.len() == 2).then_some(()));
    let answer = check(&file);
    assert_eq!(answer["ok"], json!(true), "{answer}");
    let text = first_error(&check(&library));
    assert!(text.contains("--plugins DIR") && text.contains("no driver that has joined"), "{text}");
}

#[test]
#[ignore = "takes a minute: make attack"]
fn attack_long_every_key_that_reaches_the_machine_as_an_order_to_a_driver() {
    let bed = Bed::new(1);
    let canary = Canary::new(bed.path());
    let mut attacks = Attacks::on("keys");
    for row in rows(bed.path(), false) {
        let (refused, text) = order(&bed, &workload(&row.target(&canary.bait(&row.reach))), row.option());
        let untouched = !canary.is_touched();
        attacks.judge(&row.shown(), "driver, order", refused && untouched, &text);
    }
}

/// Orders a workload from the machine of a `cosmark run`; whether the driver refused it with its option, and what it said.
fn order(bed: &Bed, source: &str, option: &str) -> (bool, String) {
    let name = if source.starts_with('<') { "order.xml" } else { "order.yaml" };
    fs::write(bed.path().join(name), source).unwrap();
    let output = cosmark(bed.path())
        .args([
            "run",
            name,
            "--nats",
            &bed.url(),
            "--archive",
            "orders",
            "--no-report",
            "--state-dir",
            CLUSTER,
        ])
        .output()
        .unwrap();
    let said = stderr(&output);
    let text = said.lines().find(|line| line.contains(option)).unwrap_or(&said).to_owned();
    // A trigger that fails is told, and the run goes on.
    let ended = !output.status.success() || option == "--scripts";
    (ended && text.contains(option), text)
}

#[test]
fn an_option_allows_what_is_below_its_directory_and_nothing_that_links_or_dots_lead_to() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let canary = Canary::new(&root);
    fs::create_dir_all(root.join("allowed/store")).unwrap();
    fs::create_dir_all(root.join("allowed-too")).unwrap();
    std::os::unix::fs::symlink(canary.path("dir"), root.join("allowed/link")).unwrap();
    std::os::unix::fs::symlink("/", root.join("allowed/all")).unwrap();
    let c = Controller::start_with(&root, &["--files", "allowed", "--plugins", "canary"]);
    let mut attacks = Attacks::on("keys");
    let file = |path: String| {
        let target = format!("storage: {{type: file, directory: \"{path}\"}}\n");
        c.send("POST", "targets/test", &json!({ "target": target })).1
    };
    let allowed = root.join("allowed").display().to_string();
    for inside in ["", "/store", "/store/../store/."] {
        let answer = file(format!("{allowed}{inside}"));
        assert_eq!(answer["ok"], json!(true), "{inside}: {answer}");
    }
    let canary_dir = canary.bait("directory");
    for (attack, path) in [
        ("a link to the outside", format!("{allowed}/link")),
        ("a link to the root", format!("{allowed}/all{canary_dir}")),
        ("dots", format!("{allowed}/../canary/dir")),
        ("the same letters and more", format!("{allowed}-too")),
        ("a file URL with escaped dots", format!("file://{allowed}/%2e%2e/canary/dir")),
        ("a descriptor of the process", "/proc/self/cwd/canary/dir".to_owned()),
        ("a bare outside", canary_dir.clone()),
    ] {
        let text = tried(&file(path));
        attacks.judge(
            attack,
            "--files",
            text.contains("is not below allowed") && !canary.is_touched(),
            &text,
        );
    }
    // The bait is live: below the directory of --plugins a library is loaded, and says so.
    let target = format!("storage: {{type: plugin, path: {}}}\n", canary.bait("library"));
    let (_, answer) = c.send("POST", "targets/test", &json!({ "target": target }));
    assert!(tried(&answer).contains("no plugin") && canary.path("ran").exists(), "{answer}");
}

#[test]
fn reading_a_workload_runs_nobodys_code_unless_plugins_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let canary = Canary::new(directory.path());
    let library = canary.bait("library");
    let c = Controller::start(directory.path());
    let mut attacks = Attacks::on("code in a text");
    for (name, target) in [
        ("plugin", format!("storage: {{type: plugin, path: {library}}}\n")),
        ("librados", format!("storage: {{type: librados, endpoint: h, library: {library}}}\n")),
    ] {
        fs::write(directory.path().join("w.yaml"), workload(&target)).unwrap();
        fs::write(directory.path().join("target.yaml"), &target).unwrap();
        let study = format!(
            "name: planned\ntitle: t\nquestion: q\nsystems: [{{name: a}}, {{name: b}}]\nfactors:\n  - {{name: workers, within: \
             true, levels: [1]}}\nscales: {{quick: {{repetitions: {{least: 1}}}}}}\nworkload:\n  point: |\n    - name: \
             read-${{{{ workers }}}}\n      works:\n        - {{name: main, workers: 1, total_ops: 9, {}, operations: [{{type: read, \
             containers: 'c(1)', objects: 'u(1,9)'}}]}}\n  measured: read-${{{{ workers }}}}\n",
            target.trim()
        );
        fs::write(directory.path().join("study.yaml"), study).unwrap();
        for command in [
            &["check", "w.yaml"][..],
            &["study", "study.yaml", "--plan"],
            &["study", "study.yaml", "--report"],
            &["check", "w.yaml", "--target", "target.yaml"],
            &["convert", "w.yaml"],
            &["submit", "w.yaml"],
            &["submit", "w.yaml", "--dry-run"],
            &["submit", "w.yaml", "--target", "target.yaml"],
            &["adaptors", &library],
            &["adaptors", &library, "--json"],
        ] {
            let output =
                if command[0] == "submit" { c.command(command) } else { run(directory.path(), command) };
            let text = format!("{}{}", stdout(&output), stderr(&output));
            let held = !canary.is_touched();
            let told = text.lines().next().unwrap_or_default();
            attacks.judge(&format!("{name}: cosmark {}", command[0]), "who reads it", held, told);
        }
        for path in ["check", "convert"] {
            let (_, answer) = c.send("POST", path, &json!({ "source": workload(&target) }));
            attacks.judge(
                &format!("{name}: POST {path}"),
                "controller",
                !canary.is_touched(),
                &first_error(&answer),
            );
        }
    }
    let output = run(directory.path(), &["adaptors", &library]);
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains("--plugins DIR"),
        "{}",
        stderr(&output)
    );
    let elsewhere = run(directory.path(), &["adaptors", &library, "--plugins", "canary/dir"]);
    assert!(
        stderr(&elsewhere).contains("not below") && !canary.path("ran").exists(),
        "{}",
        stderr(&elsewhere)
    );
    let loaded = run(directory.path(), &["adaptors", &library, "--plugins", "canary"]);
    assert!(stderr(&loaded).contains("no plugin") && canary.path("ran").exists(), "{}", stderr(&loaded));
}

#[test]
fn what_the_operator_keeps_in_his_home_and_environment_is_no_outsiders_login() {
    let directory = tempfile::tempdir().unwrap();
    let canary = Canary::new(directory.path());
    let home = directory.path().join("home");
    fs::create_dir_all(home.join(".aws")).unwrap();
    fs::write(
        home.join(".aws/credentials"),
        "[default]\naws_access_key_id = OPERATORS\naws_secret_access_key = geheim-geheim\n",
    )
    .unwrap();
    canary.watch(&home.join(".aws"));
    let mut command = cosmark(directory.path());
    command
        .env("HOME", &home)
        .env("AWS_ACCESS_KEY_ID", "OPERATORS")
        .env("AWS_SECRET_ACCESS_KEY", "geheim-geheim");
    let args = ["--local", "--threads", "1", "--no-ceiling"];
    let c = Controller::launch_by(command, directory.path(), "state", &args);
    let mut attacks = Attacks::on("keys");
    for (attack, auth) in [
        ("aws without a key", "{type: aws}"),
        ("aws, a profile", "{type: aws, profile: default}"),
        ("aws, the home's own words", "{type: aws, credentials_file: ~/.aws/credentials}"),
        (
            "aws, a variable",
            "{type: aws, accesskey: {env: AWS_ACCESS_KEY_ID}, secretkey: {env: AWS_SECRET_ACCESS_KEY}}",
        ),
        ("aws, a file", "{type: aws, accesskey: a, secretkey: {file: ~/.aws/credentials}}"),
    ] {
        let storage = "storage: {type: s3, endpoint: 'http://127.0.0.1:1', path_style_access: true}\n";
        let (_, answer) =
            c.send("POST", "targets/test", &json!({ "target": format!("auth: {auth}\n{storage}") }));
        let text = answer.to_string();
        // Who comes as far as a connection has a login.
        let held = answer["ok"] != json!(true)
            && !canary.is_touched()
            && !text.contains("127.0.0.1:1")
            && !text.contains("OPERATORS");
        attacks.judge(attack, "REST, target test", held, &text);
    }
}

#[test]
fn a_directory_that_no_run_has_made_outlives_every_dispose() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("allowed/holidays")).unwrap();
    fs::create_dir_all(root.join("allowed/empty")).unwrap();
    // Named as Cosmark names objects, so that emptying would find it.
    fs::write(root.join("allowed/holidays/photo1"), "precious").unwrap();
    let c = Controller::start_with(&root, &["--files", "allowed"]);
    let mut attacks = Attacks::on("disposal");
    let dispose = |container: &str, more: &str| {
        format!(
            "name: d\nstorage: {{type: file, directory: {}}}\nstages:\n{more}  - name: dispose\n    works:\n      - {{type: \
             dispose, workers: 1, defaults: {{containers: 'r(1,1)', container_name: {container}, empty_container: true}}}}\n",
            root.join("allowed").display()
        )
    };
    let init = |container: &str| {
        format!(
            "  - name: init\n    works:\n      - {{type: init, workers: 1, defaults: {{containers: 'r(1,1)', container_name: \
             {container}}}}}\n"
        )
    };
    let ended = ["finished", "failed", "terminated", "cancelled"];
    for (attack, container, more) in [
        ("dispose and empty", "holidays", String::new()),
        ("dispose of an empty one", "empty", String::new()),
        ("init of it first, then dispose", "holidays", init("holidays")),
    ] {
        let run = c.wait_for(&c.submit(&dispose(container, &more)), &ended);
        let held = root.join("allowed").join(container).is_dir()
            && fs::read(root.join("allowed/holidays/photo1")).unwrap() == b"precious";
        attacks.judge(attack, "--files", held && run["state"] != "finished", &run["reason"].to_string());
    }
    let run = c.wait_for(&c.submit(&dispose("own", &init("own"))), &ended);
    assert_eq!(
        (run["state"].as_str(), root.join("allowed/own").exists()),
        (Some("finished"), false),
        "{run}"
    );
}
