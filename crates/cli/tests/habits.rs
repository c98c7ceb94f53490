//! What people expect of any program in a shell: pipes that close, disks that are full, Ctrl-C, proxies and locales of the
//! environment, passwords in the wrong place, and servers that are not what was asked for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod support;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use cosmark_archive::{CheckStatus, Overall, RunState, open_run};
use support::{Server, cosmark, operation, repository, run, run_json, signal, stderr, stdout};

const MOCK: &str = "name: habit\nstorage: {type: mock, delay: 1ms}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: \
                    2, total_ops: 300, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";

/// Every file below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Answers every request with this on every connection, as long as the test program lives.
fn answers_everything(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_all(&stream, answer));
        }
    });
    port
}

fn answer_all(stream: &TcpStream, answer: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).ok()?;
        (&*stream).write_all(answer.as_bytes()).ok()?;
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_mistake() {
    let directory = tempfile::tempdir().unwrap();
    // Far more than a pipe holds.
    for args in [&["schema"][..], &["man"], &["adaptors", "--json"]] {
        let mut child = cosmark(directory.path())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_run_whose_progress_nobody_reads_goes_on_to_its_archive() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("habit.yaml"), MOCK).unwrap();
    let mut child = cosmark(directory.path())
        .args(["run", "habit.yaml", "--no-report"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let found = open_run(&directory.path().join("archive/w1-habit")).unwrap();
    assert_eq!(found.record.state, RunState::Finished);
}

/// As a proxy that lets no stream through.
fn refuses_events(listener: &TcpListener, refused: impl Fn(u32)) {
    const RUN: &str = r#"{"id":"w1","name":"n","state":"processing","priority":0,"stages_done":0,"stages":1,"operations":[],
        "tags":[],"baseline":false,"drivers":[]}"#;
    let mut times = 0;
    for stream in listener.incoming().flatten() {
        let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
        let is_of_events = head.next().unwrap_or_default().contains("/events");
        head.take_while(|line| !line.is_empty()).for_each(drop);
        let (status, body) =
            if is_of_events { ("503 Later", r#"{"error":"later"}"#) } else { ("200 OK", RUN) };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{body}"
        );
        drop((&stream).write_all(answer.as_bytes()));
        if is_of_events {
            times += 1;
            refused(times);
        }
    }
}

#[test]
fn a_watch_whose_events_do_not_come_says_so_once_though_its_controller_answers() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, asked) = sync_channel(1);
    thread::spawn(move || {
        refuses_events(&listener, |times| {
            if times == 4 {
                let _sent = tell.try_send(());
            }
        });
    });
    let mut child = cosmark(directory.path())
        .args(["watch", "w1", "--controller", &url])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_asked = asked.recv_timeout(Duration::from_secs(60));
    child.kill().unwrap();
    let said = stderr(&child.wait_with_output().unwrap());
    assert!(is_asked.is_ok(), "{said}");
    assert_eq!(said.matches("does not answer").count(), 1, "{said}");
    assert!(!said.contains("answers again"), "{said}");
}

#[test]
fn output_that_cannot_be_written_is_said_and_is_no_success() {
    let directory = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = cosmark(directory.path()).arg("schema").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("could not be written"), "{}", stderr(&output));
}

#[test]
fn quick_deletes_what_it_wrote_also_when_the_user_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    fs::create_dir(&store).unwrap();
    let mut child = cosmark(directory.path())
        .args([
            "quick",
            &format!("file://{}", store.display()),
            "--runtime",
            "600s",
            "--objects",
            "50",
            "--no-report",
        ])
        .args(["--workers", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("main begins") {
        assert!(told.read_line(&mut said).unwrap() > 0, "{said}");
    }
    assert!(!files_below(&store).is_empty());
    signal(&child, libc::SIGINT);
    told.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{said}");
    assert!(said.contains("deleting what was written"), "{said}");
    assert_eq!(fs::read_dir(&store).unwrap().count(), 0, "{:?}\n{said}", files_below(&store));
    let record = open_run(&directory.path().join("archive/w1-quick")).unwrap().record;
    assert_eq!(record.state, RunState::Cancelled);
}

#[test]
fn a_web_server_that_answers_every_request_with_a_page_is_not_taken_for_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let port = answers_everything("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n<html>hi</html>\r\n");
    let url = format!("s3+http://key:secret@127.0.0.1:{port}");
    let args = ["quick", &url, "--runtime", "4s", "--objects", "20", "--workers", "2"];
    let (output, record) = run_json(directory.path(), &args);
    assert_eq!(record.state, RunState::Failed, "{}", stderr(&output));
    let read = operation(&record, "main", "read");
    assert!(read.ok == 0 && read.failed > 0, "{read:?}");
    assert_eq!(read.errors.get("wrong_length"), Some(&read.failed), "{read:?}");
    let check = record.verdict.checks.iter().find(|check| check.id == "V20").unwrap();
    assert_eq!((check.status, record.verdict.overall), (CheckStatus::Fail, Overall::False), "{check:?}");
    assert!(check.message.contains("bodies were wrong or short"), "{check:?}");
}

#[test]
fn a_password_in_an_endpoint_is_refused_and_written_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let secret = "hunter2hunter2";
    let s3 =
        format!("{{type: s3, endpoint: 'http://user:{secret}@127.0.0.1:9', accesskey: a, secretkey: bbbb}}");
    let login = format!(
        "{{type: swauth, auth_url: 'http://u:{secret}@127.0.0.1:9/auth/v1.0', username: a, password: b}}"
    );
    let written = [
        ("in.yaml", MOCK.replace("{type: mock, delay: 1ms}", &s3)),
        ("auth.yaml", MOCK.replace("{type: mock, delay: 1ms}", &format!("{{type: swift}}\nauth: {login}"))),
        (
            "in.xml",
            format!(
                "<workload name=\"habit\"><storage type=\"s3\" config=\"accesskey=a;secretkey=bbbb;endpoint=http://user:\
                 {secret}@127.0.0.1:9\"/><workflow><workstage name=\"main\"><work name=\"main\" workers=\"1\" \
                 totalOps=\"1\"><operation type=\"read\" ratio=\"100\" config=\"containers=c(1);objects=c(1)\"/></work>\
                 </workstage></workflow></workload>"
            ),
        ),
    ];
    for (name, text) in written {
        fs::write(directory.path().join(name), text).unwrap();
        let output = run(directory.path(), &["run", name, "--archive", "archive"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("holds a user name or password"), "{}", stderr(&output));
        assert!(!stderr(&output).contains(secret) && !stdout(&output).contains(secret));
    }
    let kept = files_below(&directory.path().join("archive"));
    assert!(kept.len() > 10, "{kept:?}");
    for path in kept {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(secret), "{}", path.display());
    }
}

#[test]
fn mistakes_are_shown_in_their_lines_without_the_secrets_that_stand_there() {
    let directory = tempfile::tempdir().unwrap();
    let written = [
        (
            "bad.xml",
            "<workload name=\"b\"><storage type=\"s3\" config=\"acceskey=a;secretkey=hunter2hunter2;endpoint=http://h\"/>\n\
             <workflow><workstage name=\"m\"><work name=\"m\" workers=\"1\" totalOps=\"1\"><operation type=\"reed\" \
             ratio=\"100\" config=\"containers=c(1);objects=c(1)\"/></work></workstage></workflow></workload>",
        ),
        (
            "bad.yaml",
            "name: b\nstorage:\n  type: s3\n  acceskey: k\n  secretkey: 'hunter2hunter2'\nstages: []\n",
        ),
        ("flow.yaml", "name: b\nauth: {type: swauth, \"password\": hunter2hunter2, usrname: ü}\nstages: [\n"),
    ];
    for (name, text) in written {
        fs::write(directory.path().join(name), text).unwrap();
        let output = run(directory.path(), &["check", name]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("**************") && !said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_workload_that_is_printed_holds_no_secret_of_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    // A session token goes with the keys of the environment, and not with those of an address.
    for (url, has_token) in [("s3+http://127.0.0.1:9", true), ("s3+http://own:w0rd@127.0.0.1:9", false)] {
        let output = cosmark(directory.path())
            .args(["quick", url, "--print"])
            .envs([
                ("AWS_ACCESS_KEY_ID", "key"),
                ("AWS_SECRET_ACCESS_KEY", "s3cret"),
                ("AWS_SESSION_TOKEN", "t0ken"),
            ])
            .output()
            .unwrap();
        let text = stdout(&output);
        assert!(text.contains("accesskey") && text.contains("session_token") == has_token, "{text}");
        assert!(!["t0ken", "s3cret", "w0rd"].iter().any(|secret| text.contains(secret)), "{text}");
    }
}

#[test]
fn a_quick_run_of_less_than_a_minute_has_a_point_each_second() {
    let directory = tempfile::tempdir().unwrap();
    let has = |options: &[&str]| {
        let quick: &[&str] = &["quick", "s3+http://k:s@127.0.0.1:9", "--print"];
        let output = run(directory.path(), &[quick, options].concat());
        let text = stdout(&output);
        assert!(text.contains("runtime:"), "{text}{}", stderr(&output));
        text.contains("interval: 1s")
    };
    for runtime in ["10s", "30", "0.5m", "59999ms"] {
        assert!(has(&["--runtime", runtime]), "{runtime}");
    }
    // Trials of a search decide by themselves when they know enough.
    for options in ["--runtime 1m", "--runtime 5m", "", "--search p95<=5ms --runtime 10s"] {
        assert!(!has(&options.split_whitespace().collect::<Vec<_>>()), "{options}");
    }
}

#[test]
fn quick_takes_the_login_that_amazons_tools_would_find() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("home");
    fs::create_dir_all(home.join(".aws")).unwrap();
    let printed = |address: &str, variables: &[(&str, &str)]| {
        let mut command = cosmark(directory.path());
        for name in
            ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "SHARED_CREDENTIALS_FILE"]
        {
            command.env_remove(format!("AWS_{name}"));
        }
        command.env_remove("AWS_WEB_IDENTITY_TOKEN_FILE").env("HOME", &home);
        command.args(["quick", address, "--print", "--insecure"]).envs(variables.iter().copied());
        let output = command.output().unwrap();
        (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
    };
    let (bare, aws) = ("s3+https://127.0.0.1:9", "auth: {type: \"aws\"}");
    let (code, said) = printed(bare, &[]);
    assert!(code == Some(2) && said.contains("no access key") && said.contains("AWS_PROFILE"), "{said}");
    let regions = [("AWS_PROFILE", "bench"), ("AWS_REGION", ""), ("AWS_DEFAULT_REGION", "eu-west-1")];
    let (code, said) = printed(bare, &regions);
    assert!(code == Some(0) && said.contains(aws) && said.contains("region: \"eu-west-1\""), "{said}");
    assert!(!said.contains("accesskey"), "{said}");
    fs::write(home.join(".aws/credentials"), "[default]\n").unwrap();
    assert!(printed(bare, &[]).1.contains(aws));
    // Keys come first, and a secret belongs to the key beside it.
    let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s3cret"), ("AWS_PROFILE", "bench")];
    let (_, said) = printed(bare, &keys);
    assert!(said.contains("accesskey: \"k\"") && !said.contains(aws) && !said.contains("s3cret"), "{said}");
    let (code, said) = printed("s3+https://:s3cret@127.0.0.1:9", &[("AWS_PROFILE", "bench")]);
    assert!(code == Some(2) && said.contains("no access key") && !said.contains("s3cret"), "{said}");
}

#[test]
fn a_locale_without_utf_8_gets_ascii() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("habit.yaml"), MOCK).unwrap();
    fs::write(directory.path().join("bad.yaml"), MOCK.replace("read", "reed")).unwrap();
    for args in [
        &["run", "habit.yaml", "--no-report"][..],
        &["list"],
        &["judge", "w1"],
        &["check", "bad.yaml"],
        &["adaptors", "s3"],
    ] {
        let with =
            |locale: &str| cosmark(directory.path()).args(args).env("LC_ALL", locale).output().unwrap();
        let (plain, rich) = (with("C"), with("C.UTF-8"));
        let all = [plain.stdout.clone(), plain.stderr.clone()].concat();
        assert!(all.is_ascii(), "{args:?}: {}{}", stdout(&plain), stderr(&plain));
        assert!(!all.is_empty() && ![rich.stdout, rich.stderr].concat().is_ascii(), "{args:?}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_not_asked_for_the_controller_or_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let controller = answers_everything(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]",
    );
    let proxied = |args: &[&str]| {
        let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
        // Nothing listens there.
        let through = names.map(|name| (name, "http://127.0.0.1:9"));
        cosmark(directory.path()).args(args).envs(through).env_remove("NO_PROXY").output().unwrap()
    };
    let output = proxied(&["list", "--controller", &format!("http://127.0.0.1:{controller}")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let target = server.target(directory.path(), None);
    let file = repository().join("workloads/smoke.yaml");
    let args =
        ["run", file.to_str().unwrap(), "--target", target.to_str().unwrap(), "--set", "main.runtime=1s"];
    let output = proxied(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn more_workers_than_memory_holds_are_refused_and_not_tried() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("habit.yaml"), MOCK).unwrap();
    let mut command = cosmark(directory.path());
    command.args([
        "run",
        "habit.yaml",
        "--no-report",
        "--set",
        "main.workers=4000000000",
        "--set",
        "main.total_ops=4000000000",
    ]);
    // Should it be tried, it ends there and not with the machine.
    let most = libc::rlimit { rlim_cur: 8 << 30, rlim_max: 8 << 30 };
    // SAFETY: one system call, between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_AS, &raw const most) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("4000000000 workers take at least"), "{}", stderr(&output));
    // Known before the first stage, which may write for hours.
    assert!(stderr(&output).contains("nothing was sent"), "{}", stderr(&output));
    assert!(!directory.path().join("archive").exists(), "no run began");
}

#[test]
fn a_directory_that_is_no_run_is_told_from_a_run_that_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("some/where")).unwrap();
    fs::create_dir(directory.path().join("archive")).unwrap();
    let here = run(directory.path(), &["show", "some/where"]);
    assert!(stderr(&here).contains("some/where is no run"), "{}", stderr(&here));
    let missing = run(directory.path(), &["show", "w9"]);
    assert!(stderr(&missing).contains("no run w9 in archive"), "{}", stderr(&missing));
    fs::write(directory.path().join("notes.txt"), "x").unwrap();
    fs::create_dir_all(directory.path().join("other/w3-mixed")).unwrap();
    fs::write(directory.path().join("other/w3-mixed/run.json"), "{}").unwrap();
    // What is called w3 here is not what was asked for there.
    fs::create_dir(directory.path().join("w3")).unwrap();
    fs::write(directory.path().join("w3/run.json"), "{}").unwrap();
    for (name, said) in [
        ("some", "some is no run"),
        ("notes.txt", "notes.txt is a file and no run"),
        ("nowhere/w1", "there is no nowhere/w1"),
        ("other/w4", "no run w4 in other"),
        // It is found, and no record.
        ("other/w3", "other/w3-mixed/run.json"),
    ] {
        for command in ["show", "report"] {
            let refused = run(directory.path(), &[command, name]);
            let text = stderr(&refused);
            assert!(refused.status.code() != Some(0) && text.contains(said), "{command} {name}: {text}");
        }
    }
    // What has the name of a run and is none hides nothing that there is to say of its number.
    for name in ["w1", "w5", "w7"] {
        fs::write(directory.path().join(name), "x").unwrap();
    }
    for name in ["w5-a", "w5-b"] {
        fs::create_dir(directory.path().join("other").join(name)).unwrap();
        fs::write(directory.path().join("other").join(name).join("run.json"), "{}").unwrap();
    }
    for (name, said) in [("w5", "w5-a, w5-b"), ("7", "no run 7 in other"), ("w7", "no run w7 in other")] {
        let refused = run(directory.path(), &["show", name, "--archive", "other"]);
        assert!(stderr(&refused).contains(said), "{name}: {}", stderr(&refused));
    }
    fs::remove_dir(directory.path().join("archive")).unwrap();
    let first = run(directory.path(), &["show", "w1"]);
    assert!(stderr(&first).contains("there is no archive at archive"), "{}", stderr(&first));
    let other = run(directory.path(), &["show", "some"]);
    assert!(stderr(&other).contains("some is no run"), "{}", stderr(&other));
}

#[test]
fn studies_are_listed_for_programs_and_one_that_is_not_there_is_no_empty_list() {
    let directory = tempfile::tempdir().unwrap();
    let json = |args: &[&str]| -> serde_json::Value {
        let output = run(directory.path(), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let library = json(&["study", "list", "--json"]);
    let slides = library.as_array().unwrap().iter().find(|one| one["name"] == "slides").unwrap();
    assert_eq!(slides["scales"][0]["name"], "quick", "{slides:#}");
    assert!(slides["scales"][0]["runs"].as_u64() > Some(0) && !slides["title"].as_str().unwrap().is_empty());
    assert_eq!(json(&["study", "status", "--json"]), serde_json::json!([]));
    assert_eq!(run(directory.path(), &["study", "status", "slides", "--json"]).status.code(), Some(2));
    // One that cannot be read is named with the reason.
    fs::create_dir(directory.path().join("study-x")).unwrap();
    fs::write(directory.path().join("study-x/journal.jsonl"), "{}\n").unwrap();
    let bad = json(&["study", "status", "--json"]);
    assert_eq!(bad[0]["state"], "unreadable", "{bad:#}");
    assert_eq!(bad[0]["directory"], "study-x");
    assert!(!bad[0]["reason"].as_str().unwrap().is_empty());
}
