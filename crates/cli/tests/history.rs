//! A run and what is made of it afterwards, by the binary alone: live metrics, list, tags, baseline, exports, pictures.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

#[path = "history/baseline.rs"]
mod baseline;
#[path = "history/cosbench.rs"]
mod cosbench;
#[path = "history/fio.rs"]
mod fio;
#[path = "history/over_ssh.rs"]
mod over_ssh;
#[path = "history/planning.rs"]
mod planning;
#[path = "history/shell.rs"]
mod shell;
#[path = "history/sshd.rs"]
mod sshd;
mod support;

const WORKLOAD: &str = r#"<workload name="after"><storage type="mock" config="size=1000;delay=1"/><workflow>
  <workstage name="main"><work name="main" workers="2" runtime="10" interval="1">
    <operation type="read" ratio="100" config="containers=u(1,1);objects=u(1,10)"/>
  </work></workstage></workflow></workload>"#;

fn cosmark(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cosmark"));
    command.current_dir(home).stdin(Stdio::null());
    command
}

fn said(home: &Path, arguments: &str) -> Output {
    cosmark(home).args(arguments.split_whitespace()).output().unwrap()
}

fn good(home: &Path, arguments: &str) -> String {
    let output = said(home, arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Answers one request after another with 204; gives the address and what was asked for, with the bodies' lengths.
fn receiver() -> (std::net::SocketAddr, Receiver<(String, usize)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, asked) = sync_channel(1000);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                head.push_str(&line.to_lowercase());
                line.clear();
            }
            let length = head
                .split_once("content-length: ")
                .map_or(0, |(_, rest)| rest.lines().next().unwrap().trim().parse::<usize>().unwrap());
            reader.by_ref().take(length as u64).read_to_end(&mut Vec::new()).unwrap();
            let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            reader.get_mut().write_all(answer).unwrap();
            if tell.send((head.lines().next().unwrap_or_default().to_owned(), length)).is_err() {
                return;
            }
        }
    });
    (address, asked)
}

#[test]
fn a_run_is_watched_listed_tagged_exported_and_drawn() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("w.xml"), WORKLOAD).unwrap();
    let (address, asked) = receiver();
    let mut run = cosmark(home);
    run.args(["run", "w.xml", "--oplog", "--threads", "1", "--metrics-listen", "127.0.0.1:0"]);
    run.args(["--remote-write", "http://127.0.0.1:1"]);
    // A proxy of the environment would see the login of each receiver.
    run.envs(["http_proxy", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:1"))).env_remove("NO_PROXY");
    run.args(["--otlp", &format!("http://{address}"), "--influx", &format!("http://{address}/write?db=x")]);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let at = lines.find_map(|line| {
        Some(line.split_once("metrics at http://")?.1.trim_end_matches("/metrics").to_owned())
    });
    let at = at.unwrap();
    let fetch = |path: &str| {
        let mut stream = TcpStream::connect(&at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let metrics = fetch("/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 ") && metrics.contains("cosmark_run_info{"), "{metrics}");
    assert!(fetch("/").starts_with("HTTP/1.1 404 "));
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success(), "a dead receiver does not disturb a run: {rest:?}");
    let told =
        |start: &str| rest.iter().find(|line| line.contains(start)).unwrap_or_else(|| panic!("{rest:?}"));
    assert!(told("--remote-write: metrics sent 0 times, ").contains("times not"));
    assert!(told("--otlp: metrics sent ").ends_with("times"));
    let requests: Vec<(String, usize)> = asked.try_iter().collect();
    let got = |path: &str| requests.iter().any(|(line, length)| line.contains(path) && *length > 100);
    assert!(got("/v1/metrics") && got("/write?db=x"), "{requests:?}");

    good(home, "tag last +fast +nvme");
    good(home, "tag w1 -nvme");
    good(home, "baseline 1");
    let listed = good(home, "list --tag fast --state finished --since 1d --search after");
    assert!(listed.contains("w1") && listed.contains("(baseline) fast"), "{listed}");
    assert!(good(home, "list --tag nvme").contains("no runs that fit (of 1)"));
    let shown = good(home, "show baseline");
    assert!(shown.contains("baseline of after") && shown.contains("tags: fast"), "{shown}");
    assert!(!said(home, "show w7").status.success());
    assert!(!said(home, "tag w1 fast").status.success());
    // Where the archive is may stand before, between and behind.
    for order in [
        "--archive archive w1 +any",
        "w1 --archive archive -any",
        "w1 +any --archive archive",
        "w1 -any --archive=archive",
    ] {
        assert!(good(home, &format!("tag {order}")).contains("w1-"), "{order}");
    }
    assert_eq!(said(home, "tag w1 +any --archive").status.code(), Some(2));

    for format in ["csv", "json", "hlog", "prometheus", "openmetrics", "otel", "influx", "warp", "parquet"] {
        good(home, &format!("export baseline --format {format} -o out.{format}"));
        assert!(fs::metadata(home.join(format!("out.{format}"))).unwrap().len() > 100, "{format}");
    }
    assert!(good(home, "export 1 --format csv").starts_with("run,workload,"));
    for (format, file, own) in
        [("parquet", "x.csv", ".parquet"), ("csv", "x.Parquet", ".csv"), ("warp", "x.csv", ".csv.zst")]
    {
        let output = said(home, &format!("export 1 --format {format} -o {file}"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_refused = output.status.code() == Some(2) && text.contains(&format!("end with {own},"));
        assert!(is_refused && !home.join(file).exists(), "{format} to {file}: {text}");
    }
    let drawn = good(home, "plot a=1 b=w1 --format svg,png -o pictures --kind cdf,compare,percentiles");
    assert!(drawn.contains("files in pictures"), "{drawn}");
    for file in ["cdf-read.svg", "cdf-read.png", "compare-throughput.svg", "percentiles.csv"] {
        assert!(home.join("pictures").join(file).is_file(), "{file}");
    }
}

#[test]
fn runs_under_one_name_are_drawn_as_one_system_with_intervals() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let stages = [("small", 1), ("small", 2), ("big", 1), ("big", 2)].map(|(size, workers)| {
        format!(
            "  - name: {size}-{workers}\n    works: [{{name: main, workers: {workers}, total_ops: 100, operations: \
             [{{type: read, containers: c(1), objects: \"u(1,9)\"}}]}}]\n"
        )
    });
    let text = format!("name: ladder\nstorage: {{type: mock, delay: 1ms}}\nstages:\n{}", stages.concat());
    fs::write(home.join("w.yaml"), text).unwrap();
    good(home, "run w.yaml --no-report --quiet");
    good(home, "run w.yaml --no-report --quiet");
    let kinds = "--kind compare,workers,maximum --metric throughput --format csv -o pictures";
    good(home, &format!("plot twice=w1,w2 once=w1 {kinds}"));
    for (file, points) in
        [("compare-throughput", 4), ("workers-read-throughput", 4), ("maximum-read-throughput", 2)]
    {
        let text = fs::read_to_string(home.join(format!("pictures/{file}.csv"))).unwrap();
        let of = |name: &str| -> Vec<Vec<f64>> {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines.map(|line| line.split(',').skip(3).filter_map(|cell| cell.parse().ok()).collect()).collect()
        };
        let (twice, once) = (of("twice"), of("once"));
        assert_eq!((twice.len(), once.len()), (points, points), "{file}: {text}");
        let has_interval =
            |cells: &Vec<f64>| matches!(cells[..], [value, low, high] if low < value && value < high);
        assert!(twice.iter().all(has_interval), "{file}: {text}");
        assert!(once.iter().all(|cells| cells.len() == 1), "{file}: {text}");
    }
}

#[test]
fn limits_of_an_axis_may_lie_below_0_but_not_of_one_in_decades() {
    let home = tempfile::tempdir().unwrap();
    for (limits, expected) in [
        ("--log y --ylim 0..50", "--ylim: an axis in decades never reaches 0"),
        ("--log x,y --xlim -3..", "--xlim: an axis in decades never reaches -3"),
        ("--log y --xlim -3..20", "archive"),
        ("--ylim -3..20", "archive"),
        ("--xlim ..-3", "archive"),
        ("--xlim 5..-3", "5 is not below -3"),
    ] {
        let output = said(home.path(), &format!("plot w1 {limits}"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        // Without a run whose limits are right.
        let is_refused = output.status.code() == Some(2) && text.contains(expected);
        assert!(is_refused && !text.contains("unexpected"), "{limits}: {text}");
    }
}

#[test]
fn metrics_leave_the_machine_only_when_told() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("w.xml"), WORKLOAD).unwrap();
    for (arguments, expected) in [
        ("run w.xml --metrics-listen 0.0.0.0:0", "--metrics-allow-remote"),
        ("run w.xml --otlp ftp://x", "--otlp: give a URL"),
        ("run w.xml --influx nonsense", "--influx: not a URL"),
    ] {
        let output = said(home.path(), arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && text.contains(expected),
            "{arguments}: {:?} {text}",
            output.status
        );
    }
    assert!(!home.path().join("archive").exists(), "nothing was begun");
}
