//! Controllers and drivers as processes of their own, asked by curl and by the commands, ended when the test is over.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test program uses its part, and may stop at a surprise"
)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{cosmark, stdout};

/// Whatever takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A controller with its driver in one process.
pub struct Controller {
    pub child: Child,
    pub directory: PathBuf,
    pub url: String,
    pub token: String,
    /// Where a server of NATS of its own would note its process.
    own_server: PathBuf,
}

impl Controller {
    pub fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    pub fn start_with(directory: &Path, args: &[&str]) -> Self {
        Self::launch(directory, "state", &[&["--local", "--threads", "1", "--no-ceiling"], args].concat())
    }

    pub fn launch(directory: &Path, state: &str, args: &[&str]) -> Self {
        Self::launch_by(cosmark(directory), directory, state, args)
    }

    /// By a command of one's own, such as one with another environment.
    pub fn launch_by(mut command: Command, directory: &Path, state: &str, args: &[&str]) -> Self {
        let said =
            fs::OpenOptions::new().create(true).append(true).open(directory.join("controller.log")).unwrap();
        let address = directory.join(state).join("address");
        drop(fs::remove_file(&address));
        let mut child = command
            .args(["controller", "--listen", "127.0.0.1:0", "--state", state])
            .args(args)
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .unwrap();
        let url = within(|| {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{}",
                fs::read_to_string(directory.join("controller.log")).unwrap()
            );
            fs::read_to_string(&address)
                .ok()
                .filter(|text| text.ends_with('\n'))
                .map(|text| text.trim().to_owned())
        });
        let token = fs::read_to_string(directory.join(state).join("local-token")).unwrap().trim().to_owned();
        let own_server = directory.join(state).join("nats/pid");
        let controller = Self { child, directory: directory.to_owned(), url, token, own_server };
        within(|| (controller.curl(&["-o", "/dev/null"], "/healthz").0 == 200).then_some(()));
        controller
    }

    /// The process of the server of NATS that it started, if there is one.
    pub fn own_server(&self) -> Option<libc::pid_t> {
        fs::read_to_string(&self.own_server).ok()?.trim().parse().ok()
    }

    /// `kill -9` of that server.
    pub fn kill_own_server(&self) {
        if let Some(pid) = self.own_server() {
            // SAFETY: a plain system call; the process is the server that this controller started and noted.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// What curl prints, and the status.
    pub fn curl(&self, args: &[&str], path: &str) -> (u16, String) {
        let output = Command::new("curl")
            .args(["--silent", "--max-time", "60", "--write-out", "\n%{http_code}", "--cacert"])
            .arg(self.directory.join("state/tls-cert.pem"))
            .args(args)
            .arg(format!("{}{path}", self.url))
            .output()
            .unwrap();
        let text = stdout(&output);
        let (body, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
        (status.parse().unwrap_or(0), body.to_owned())
    }

    /// By curl where there is more to it than a question, and where it goes over TLS.
    pub fn with_token(&self, token: &str, args: &[&str], path: &str) -> (u16, String) {
        if let Some(place) = self.url.strip_prefix("http://").filter(|_| args.is_empty()) {
            return got(place, token, path).unwrap_or_default();
        }
        let header = format!("Authorization: Bearer {token}");
        self.curl(&[&["-H", header.as_str()], args].concat(), path)
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.with_token(
            &self.token,
            &["-X", method, "-d", &body.to_string()],
            &format!("/api/v1/{path}"),
        );
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, text) = self.with_token(&self.token, &[], &format!("/api/v1/{path}"));
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
    }

    /// Puts a workload into the queue.
    pub fn submit(&self, source: &str) -> String {
        let (status, answer) = self.send("POST", "runs", &json!({ "source": source }));
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().unwrap().to_owned()
    }

    pub fn state(&self, id: &str) -> String {
        self.get(&format!("runs/{id}"))["state"].as_str().unwrap().to_owned()
    }

    pub fn wait_for(&self, id: &str, states: &[&str]) -> Value {
        within(|| {
            let run = self.get(&format!("runs/{id}"));
            states.contains(&run["state"].as_str().unwrap()).then_some(run)
        })
    }

    /// One of the commands, against this controller.
    pub fn command(&self, args: &[&str]) -> Output {
        cosmark(&self.directory)
            .env("COSMARK_CONTROLLER", &self.url)
            .args(args)
            .args(["--state-dir", "state"])
            .output()
            .unwrap()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A controller that is killed leaves it for the next one: here there is none.
        self.kill_own_server();
    }
}

/// A question without a process: tests ask some again and again, and each curl takes ten milliseconds of a processor. The status,
/// and the body.
fn got(place: &str, token: &str, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(place)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    // Of this version of HTTP an answer is in one piece, and ends with the connection.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {place}\r\nAuthorization: Bearer {token}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.unwrap_or(0), body.to_owned()))
}

/// Looks until there is something.
pub fn within<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "nothing came within {PATIENCE:?}");
        // Some looks start a process that asks over TLS.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A workload against no store that lasts `seconds`.
pub fn workload(name: &str, seconds: u32) -> String {
    format!(
        "name: {name}\nstorage: {{type: mock, delay: 5ms}}\nstages:\n  - name: main\n    works:\n      - {{name: w, workers: 2, \
         runtime: {seconds}s, interval: 1s, operations: [{{type: write, containers: c(1), objects: 'u(1,100)', sizes: c(1)KB}}]}}\n"
    )
}

/// A driver in a process of its own.
pub struct Driver(Child);

impl Driver {
    pub fn join(directory: &Path, name: &str, url: &str, token: &Path) -> Self {
        let child = cosmark(directory)
            .args([
                "driver",
                "--join",
                url,
                "--name",
                name,
                "--state",
                name,
                "--threads",
                "1",
                "--no-ceiling",
            ])
            .arg("--nats-nkey-file")
            .arg(token)
            .stdout(Stdio::null())
            .stderr(fs::File::create(directory.join(format!("{name}.log"))).unwrap())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
