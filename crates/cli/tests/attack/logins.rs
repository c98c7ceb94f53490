//! Logins of the service: guessing locks nobody else out, what is told ends with the login, and strangers take no more than
//! their place.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::service_bed::{Controller, within};
use crate::support::{cosmark, stdout};
use crate::table::Attacks;

/// A curl that listens to events with these arguments.
fn listen(c: &Controller, args: &[&str]) -> Child {
    let mut child = Command::new("curl")
        .args(["--silent", "--no-buffer", "--max-time", "100"])
        .args(args)
        .arg(format!("{}/api/v1/events", c.url))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It hears something: the stream is open.
    let mut first = [0; 16];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    child
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

/// Reads what comes so that nothing is stopped by a full pipe, and waits for the end.
fn ends(mut child: Child) -> bool {
    let mut out = child.stdout.take().unwrap();
    std::thread::spawn(move || drop(std::io::copy(&mut out, &mut std::io::sink())));
    within(|| has_ended(&mut child).then_some(()));
    // 28 is curl's own patience: then it was not the controller that ended it.
    child.wait().unwrap().code() != Some(28)
}

#[test]
fn what_is_told_ends_with_the_login_and_guessing_locks_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut attacks = Attacks::on("logins of the service");
    let c = Controller::start(dir.path());
    // Every few seconds one more is looked at: that of the last depends on how long they took. One curl asks them all, since
    // forty that start one after the other take as long as it takes to be forgiven on a busy machine.
    let (last, before) = c.with_token("cosmark_wrong", &["-o", "/dev/null"], "/api/v1/status?n=[1-40]");
    let mut wrong: Vec<u16> = before.split_whitespace().map(|status| status.parse().unwrap()).collect();
    wrong.push(last);
    assert_eq!(wrong.len(), 40, "{before}");
    let (right, _) = c.with_token(&c.token, &[], "/api/v1/status");
    let is_bounded = wrong[..10].iter().all(|status| *status == 401) && wrong.contains(&429);
    let said = format!("wrong: {wrong:?}, right: {right}");
    attacks.judge(
        "forty wrong tokens",
        "who has a right one, at the same address",
        is_bounded && wrong.iter().all(|status| [401, 429].contains(status)) && right == 200,
        &said,
    );
    // Logging out.
    let jar = dir.path().join("jar").display().to_string();
    let login = json!({ "token": c.token }).to_string();
    let (status, _) = c.curl(&["-c", &jar, "-d", &login], "/api/v1/session");
    assert_eq!(status, 200);
    let stream = listen(&c, &["-b", &jar]);
    let other = listen(&c, &["-H", &format!("Authorization: Bearer {}", c.token)]);
    let (status, _) = c.curl(&["-b", &jar, "-X", "DELETE"], "/api/v1/session");
    assert_eq!(status, 204);
    attacks.judge("listen on after logging out", "events", ends(stream), "the stream has ended");
    // Taking a token away.
    let made = cosmark(dir.path())
        .args(["controller", "--state", "state", "--add-token", "screen", "--role", "view"])
        .output()
        .unwrap();
    let token = stdout(&made).trim().to_owned();
    let stream = listen(&c, &["-H", &format!("Authorization: Bearer {token}")]);
    let taken = cosmark(dir.path())
        .args(["controller", "--state", "state", "--remove-token", "screen"])
        .output()
        .unwrap();
    assert!(taken.status.success());
    attacks.judge("listen on with a token that is gone", "events", ends(stream), "the stream has ended");
    let mut other = other;
    attacks.judge("none: a login that holds", "events", !has_ended(&mut other), "its stream goes on");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn strangers_that_send_nothing_take_no_more_than_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let mut attacks = Attacks::on("logins of the service");
    let c = Controller::start(dir.path());
    let place = c.url.strip_prefix("http://").unwrap().to_owned();
    let begin = || {
        let mut stream = TcpStream::connect(&place).unwrap();
        let head = "POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..40).map(|_| begin()).collect();
    let login = json!({ "token": c.token }).to_string();
    let status = within(|| {
        let (status, _) = c.curl(&["-d", &login], "/api/v1/session");
        (status == 503).then_some(status)
    });
    attacks.judge(
        "forty bodies that never come",
        "memory and connections",
        status == 503,
        "the next one is told to wait",
    );
    let (status, _) = c.with_token(&c.token, &[], "/api/v1/status");
    attacks.judge("forty bodies that never come", "who has a token", status == 200, "is served");
    drop(held);
    let status = within(|| {
        let (status, _) = c.curl(&["-d", &login], "/api/v1/session");
        (status == 200).then_some(status)
    });
    attacks.judge("none: a login after they are gone", "the service", status == 200, "is served");
}

#[test]
fn strangers_fill_no_memory_and_who_has_a_login_sends_large_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut attacks = Attacks::on("logins of the service");
    let c = Controller::start(dir.path());
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let long = "x".repeat(8 << 20);
    let body = file("login.json", json!({ "token": long }).to_string());
    let (status, said) = c.curl(&["-d", &format!("@{body}")], "/api/v1/session");
    // 100 and nothing: it was cut in the middle of what curl sent after "go on".
    let is_cut = |status: u16, said: &str| matches!(status, 413 | 0) || (status == 100 && said.is_empty());
    attacks.judge("a token of 8 MiB", "memory", is_cut(status, &said), &format!("{status} {said}"));
    // A workload with a comment of 8 MiB.
    let source = format!(
        "<!-- {long} --><workload name=\"l\"><storage type=\"mock\"/><workflow><workstage name=\"s\"><work name=\"w\" \
         workers=\"1\" totalOps=\"1\"><operation type=\"list\"/></work></workstage></workflow></workload>"
    );
    let form = format!("config=@{}", file("workload.xml", source));
    let submit = "/controller/cli/submit.action";
    let password = format!("password={}", c.token);
    let (status, said) = c.curl(&["-F", &form, "-F", "username=u", "-F", &password], submit);
    let cut = is_cut(status, &said);
    attacks.judge("a file of 8 MiB before the login", "memory", cut, &format!("{status} {said}"));
    let (status, said) = c.curl(&["-F", &form], &format!("{submit}?username=u&password={}", c.token));
    let taken = status == 200 && said.starts_with("Accepted");
    attacks.judge("none: the same file behind a login", "the service", taken, &said);
}

#[test]
#[ignore = "waits for the patience of the service; make attack"]
fn attack_long_a_body_that_comes_drop_by_drop_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut attacks = Attacks::on("logins of the service");
    let c = Controller::start(dir.path());
    let mut stream = TcpStream::connect(c.url.strip_prefix("http://").unwrap()).unwrap();
    let head = "POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    let mut answer = Vec::new();
    let cut = within(|| {
        let gone = stream.write_all(b" ").is_err();
        let mut part = [0; 1024];
        match stream.read(&mut part) {
            Ok(0) => Some(true),
            Ok(count) => {
                answer.extend_from_slice(&part[..count]);
                None
            }
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                gone.then_some(true)
            }
            Err(_) => Some(true),
        }
    });
    attacks.judge("a body of a byte a second", "connections", cut, &String::from_utf8_lossy(&answer));
}
