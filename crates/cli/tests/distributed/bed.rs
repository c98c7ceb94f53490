//! A NATS server, drivers and controllers as processes of their own, ended when the test is over.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test program uses its part, and may stop at a surprise"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cosmark_archive::{OperationResult, Run, RunRecord, StageState, open_run};
use cosmark_metrics::Phase;
use tempfile::TempDir;

use crate::support::cosmark;

/// How long anything may take on a slow, busy machine before it counts as a hang.
pub const PATIENCE: Duration = Duration::from_secs(150);

/// A process and what it says.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    pub fn start(mut command: Command, log: PathBuf) -> Self {
        let file = File::options().create(true).append(true).open(&log).unwrap();
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Self { child, log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: libc::c_int) {
        crate::support::signal(&self.child, signal);
    }

    /// Ends it without a chance to say anything.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.log().contains(text) {
            assert!(Instant::now() < until, "no {text:?} in\n{}", self.log());
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("{status} before {text:?}\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Its exit code; -1 when a signal ended it. A process that does not end is a hang.
    pub fn wait(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
            }
            assert!(Instant::now() < until, "it hangs:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A stopped process does not die before it goes on, but for SIGKILL.
        self.kill();
    }
}

/// A port that no other bed of this process has had, and that the system gives nobody: while NATS is away its port is free, and
/// a server that comes back finds it so.
fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id().wrapping_mul(211);
    let next = |_| own.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % 12_000 + 10_000;
    (0..1000)
        .filter_map(|at: u32| u16::try_from(next(at)).ok())
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

/// One test's machines.
pub struct Bed {
    pub directory: TempDir,
    pub port: u16,
    pub host: String,
    pub nats: Option<Process>,
    pub drivers: Vec<Process>,
    controllers: u32,
}

impl Bed {
    /// NATS and so many drivers, registered.
    pub fn new(drivers: usize) -> Self {
        Self::at("127.0.0.1", drivers)
    }

    /// The same at an address of this machine.
    pub fn at(host: &str, drivers: usize) -> Self {
        let mut bed = Self {
            directory: tempfile::tempdir().unwrap(),
            port: free_port(),
            host: host.to_owned(),
            nats: None,
            drivers: Vec::new(),
            controllers: 0,
        };
        bed.start_nats();
        for number in 1..=drivers {
            bed.start_driver(number, &[]);
        }
        bed
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn url(&self) -> String {
        format!("nats://{}:{}", self.host, self.port)
    }

    /// # Panics
    /// Where no `nats-server` is installed: a test that did not run must not look like one that passed.
    pub fn start_nats(&mut self) {
        let found = Command::new("nats-server").arg("--version").output();
        assert!(
            found.is_ok(),
            "there is no nats-server: `make setup` or `apt-get install nats-server` installs it"
        );
        let mut command = Command::new("nats-server");
        command.args(["-a", &self.host, "-p", &self.port.to_string(), "-js", "-sd"]);
        command.arg(self.path().join("js"));
        self.nats = Some(Process::start(command, self.path().join("nats.log")));
        self.wait_for_nats();
    }

    pub fn wait_for_nats(&self) {
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect((self.host.as_str(), self.port)).is_err() {
            assert!(Instant::now() < until, "NATS does not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn driver_command(&self, number: usize, more: &[&str]) -> Command {
        let mut command = cosmark(self.path());
        let name = format!("d{number}");
        command.args([
            "driver",
            "--join",
            &self.url(),
            "--name",
            &name,
            "--state",
            "state",
            "--threads",
            "1",
        ]);
        command.args(["--no-ceiling"]).args(more);
        command
    }

    pub fn start_driver(&mut self, number: usize, more: &[&str]) {
        let command = self.driver_command(number, more);
        self.start_driver_by(command, number);
    }

    /// Starts a driver by a command of one's own.
    pub fn start_driver_by(&mut self, command: Command, number: usize) {
        let log = self.path().join(format!("d{number}-{}.log", self.drivers.len()));
        let mut driver = Process::start(command, log);
        driver.wait_for("is registered");
        self.drivers.push(driver);
    }

    /// `cosmark run FILE --nats ..`
    pub fn start_run(&mut self, workload: &str, more: &[&str]) -> Process {
        let mut command = cosmark(self.path());
        command.args([
            "run",
            workload,
            "--nats",
            &self.url(),
            "--archive",
            "archive",
            "--oplog",
            "--no-report",
        ]);
        command.args(more);
        self.controllers += 1;
        Process::start(command, self.path().join(format!("run{}.log", self.controllers)))
    }

    /// The only run of the archive.
    pub fn run(&self) -> Run {
        open_run(&self.run_path().unwrap()).unwrap()
    }

    /// Its id on NATS, which `cosmark run` prints.
    pub fn run_on_nats(&self) -> String {
        let said = std::fs::read_to_string(self.path().join("run1.log")).unwrap();
        let id = said.split("cosmark: run ").nth(1).unwrap();
        id.split(' ').next().unwrap().to_owned()
    }

    fn run_path(&self) -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(self.path().join("archive")).ok()?.filter_map(Result::ok);
        entries.find(|entry| entry.file_name().to_string_lossy().starts_with("w1-")).map(|entry| entry.path())
    }

    /// Hears the messages on a subject from now on.
    pub fn hear(&self, subject: &str) -> Messages {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "CONNECT {{\"verbose\":false}}\r\nSUB {subject} 1\r\nPING\r\n").unwrap();
        let mut messages = Messages(BufReader::new(stream));
        while messages.line() != "PONG" {}
        messages
    }

    /// Waits until a stage has been in a state.
    pub fn wait_for_state(&self, stage: usize, state: StageState, run: &mut Process) {
        let until = Instant::now() + PATIENCE;
        let mut seen = String::new();
        let mut has_been = || {
            let text = std::fs::read_to_string(self.run_path()?.join("run.json")).ok()?;
            // It is looked at often, and seldom another one.
            if text == seen {
                return None;
            }
            let record: RunRecord = serde_json::from_str(&text).ok()?;
            seen = text;
            let history = &record.stages.get(stage)?.history;
            history.iter().any(|change| change.state == state).then_some(())
        };
        loop {
            if has_been().is_some() {
                return;
            }
            assert!(Instant::now() < until, "never {}:\n{}", state.word(), run.log());
            if let Some(status) = run.child.try_wait().unwrap() {
                panic!("{status} before {}:\n{}", state.word(), run.log());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What to show when something is wrong.
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(self.path()).unwrap().filter_map(Result::ok) {
            if entry.path().extension().is_some_and(|end| end == "log") && entry.file_name() != "nats.log" {
                let log = std::fs::read_to_string(entry.path()).unwrap_or_default();
                text.push_str(&format!("--- {}\n{log}", entry.file_name().to_string_lossy()));
            }
        }
        text
    }
}

/// A subscription, in NATS' own words (docs.nats.io, "Client protocol").
pub struct Messages(BufReader<TcpStream>);

impl Messages {
    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "NATS has hung up");
        line.trim_end().to_owned()
    }

    /// Waits for the next message; its bytes.
    pub fn next(&mut self) -> Vec<u8> {
        loop {
            let line = self.line();
            if line == "PING" {
                self.0.get_mut().write_all(b"PONG\r\n").unwrap();
            } else if line.starts_with("MSG ") {
                let length: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
                let mut payload = vec![0; length + 2];
                std::io::Read::read_exact(&mut self.0, &mut payload).unwrap();
                payload.truncate(length);
                return payload;
            }
        }
    }
}

/// What the operation logs of all drivers say of one operation in its window.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Logged {
    pub ok: u64,
    pub failed: u64,
    pub bytes: u64,
    pub service_sum_ns: u128,
    pub longest_ns: u64,
}

/// Sums of the rows in the window that `choose` takes.
pub fn logged(run: &Run, stage: &str, operation: &OperationResult, driver: Option<&str>) -> Logged {
    let named = [operation.name.clone(), format!("{}-{}", operation.name, operation.sample)];
    let mut sum = Logged::default();
    for row in run.operations().unwrap().unwrap() {
        let row = row.unwrap();
        let meant = &*row.stage == stage
            && *row.work == operation.work
            && named.iter().any(|name| **name == *row.operation)
            && driver.is_none_or(|one| &*row.driver == one);
        if !meant || row.phase != Phase::Window {
            continue;
        }
        if row.sample.outcome.is_ok() {
            sum.ok += 1;
            sum.bytes += row.sample.bytes;
            sum.service_sum_ns += u128::from(row.sample.service_ns());
            sum.longest_ns = sum.longest_ns.max(row.sample.service_ns());
        } else {
            sum.failed += 1;
        }
    }
    sum
}

/// Every number that can be added up is that of the operation logs, operation by operation and driver by driver.
pub fn assert_sums_are_those_of_the_logs(run: &Run) {
    for stage in &run.record.stages {
        for operation in &stage.operations {
            let all = logged(run, &stage.id, operation, None);
            let what = format!("{} {}", stage.id, operation.name);
            assert_eq!(
                (operation.ok, operation.failed, operation.bytes),
                (all.ok, all.failed, all.bytes),
                "{what}"
            );
            if all.ok > 0 {
                let mean_ms = all.service_sum_ns as f64 / all.ok as f64 / 1e6;
                let shown = operation.service_ms.mean.unwrap();
                assert!((shown - mean_ms).abs() <= mean_ms * 1e-9, "{what}: {shown} {mean_ms}");
                let longest_ms = all.longest_ns as f64 / 1e6;
                let shown = operation.service_ms.max.unwrap();
                assert!(
                    shown >= longest_ms * 0.9999 && shown <= longest_ms * 1.002,
                    "{what}: {shown} {longest_ms}"
                );
            }
            let mut of_drivers = 0;
            for driver in &operation.drivers {
                let own = logged(run, &stage.id, operation, Some(&driver.driver));
                assert_eq!(
                    (driver.sums.ok, driver.sums.failed),
                    (own.ok, own.failed),
                    "{what} {}",
                    driver.driver
                );
                of_drivers += own.ok;
            }
            if !operation.drivers.is_empty() {
                assert_eq!(of_drivers, all.ok, "{what}");
            }
        }
    }
}

/// A network namespace with a link of its own to this machine; both go when the test is over.
pub struct Namespace {
    name: String,
    link: String,
    /// This machine's address on the link.
    pub address: String,
}

fn ip(args: &str) -> bool {
    let run = Command::new("ip").args(args.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

impl Namespace {
    /// `None` where this user or machine cannot make one. `number` tells those of one test program apart.
    pub fn new(number: usize) -> Option<Self> {
        let id = format!("{}-{number}", std::process::id());
        let net = format!("10.{}.{}", 200 + number, std::process::id() % 250);
        let name = format!("cosmark-{id}");
        let made = ip(&format!("netns add {name}"));
        let space = Self { link: format!("cm{id}"), address: format!("{net}.1"), name };
        let peer = "inside";
        let linked = made
            && ip(&format!("link add {} type veth peer name {peer} netns {}", space.link, space.name))
            && ip(&format!("addr add {net}.1/24 dev {}", space.link))
            && ip(&format!("link set {} up", space.link))
            && ip(&format!("-n {} addr add {net}.2/24 dev {peer}", space.name))
            && ip(&format!("-n {} link set lo up", space.name))
            && ip(&format!("-n {} link set {peer} up", space.name));
        linked.then_some(space)
    }

    /// The command, run inside.
    pub fn command(&self, inner: &Command) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(inner.get_program()).args(inner.get_args());
        command.stdin(Stdio::null());
        if let Some(directory) = inner.get_current_dir() {
            command.current_dir(directory);
        }
        command
    }

    pub fn cut(&self) {
        assert!(ip(&format!("link set {} down", self.link)));
    }

    pub fn mend(&self) {
        assert!(ip(&format!("link set {} up", self.link)));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.link));
        ip(&format!("netns del {}", self.name));
    }
}

/// An HTTP server that speaks just enough Swift, and answers the first question of each connection late until it is told
/// to go on.
pub struct SlowLogin {
    host: String,
    port: u16,
    held: Arc<AtomicU32>,
    asked: Arc<AtomicU32>,
}

impl SlowLogin {
    pub fn start(host: &str) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let held = Arc::new(AtomicU32::new(1));
        let asked = Arc::new(AtomicU32::new(0));
        let (hold, count) = (Arc::clone(&held), Arc::clone(&asked));
        let at = host.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (hold, count) = (Arc::clone(&hold), Arc::clone(&count));
                let host = at.clone();
                std::thread::spawn(move || answer(stream, &format!("{host}:{port}"), &hold, &count));
            }
        });
        Self { host: host.to_owned(), port, held, asked }
    }

    /// Waits until so many questions have come.
    pub fn wait_for_questions(&self, count: u32) {
        let until = Instant::now() + PATIENCE;
        while self.asked.load(Ordering::Acquire) < count {
            assert!(Instant::now() < until, "not all drivers log in");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Questions so far.
    pub fn questions(&self) -> u32 {
        self.asked.load(Ordering::Acquire)
    }

    /// From now on it answers nobody until it goes on.
    pub fn hold(&self) {
        self.held.store(1, Ordering::Release);
    }

    /// From now on it answers at once.
    pub fn go_on(&self) {
        self.held.store(0, Ordering::Release);
    }

    pub fn target(&self) -> String {
        let (host, port) = (&self.host, self.port);
        format!(
            "auth: {{type: swauth, url: 'http://{host}:{port}/auth/v1.0', username: 'a:u', password: geheim}}\n\
             storage: {{type: swift}}\n"
        )
    }
}

fn answer(stream: TcpStream, place: &str, held: &AtomicU32, asked: &AtomicU32) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse::<usize>().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if std::io::Read::read_exact(&mut reader, &mut body).is_err() {
            return;
        }
        asked.fetch_add(1, Ordering::AcqRel);
        let until = Instant::now() + PATIENCE;
        while held.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let status = if first.starts_with("PUT") { "201 Created" } else { "204 No Content" };
        let length = if first.starts_with("PUT") { "Content-Length: 0\r\n" } else { "" };
        let said = write!(
            writer,
            "HTTP/1.1 {status}\r\nX-Storage-Url: http://{place}/v1/AUTH_a\r\nX-Auth-Token: t\r\n{length}\r\n"
        );
        if said.is_err() {
            return;
        }
    }
}
