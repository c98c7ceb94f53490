//! What the black-box tests share: the binary, servers that it starts, and what a run leaves behind.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test program uses its part, and may stop at a surprise"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use cosmark_archive::{OperationResult, RunRecord};

/// The binary, away from the user's environment.
pub fn cosmark(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cosmark"));
    command.current_dir(directory).stdin(Stdio::null()).env_remove("AWS_ACCESS_KEY_ID").env_remove("ST_USER");
    command.env("XDG_STATE_HOME", directory.join(".state"));
    command
}

/// The public key of the controllers whose state is in this directory, as the runs of [`cosmark`] there are.
pub fn key_of_controllers(state: &Path) -> String {
    let state = cosmark_service::StateDir::open(state).unwrap();
    cosmark_service::ClusterKey::open(&state).unwrap().identity().unwrap().public().to_owned()
}

/// The repository's root.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Reports that this test could not run here. It writes past the capture of the test program's output: `make test` counts
/// such lines, as skipped and not as passed.
pub fn skipped(why: &str) {
    use std::io::Write;
    let test = std::thread::current();
    drop(writeln!(std::io::stderr(), "SKIPPED test {}: {why}", test.name().unwrap_or("?")));
}

/// The same for one of several cases of a test, which still proves the others.
pub fn skipped_part(case: &str, why: &str) {
    use std::io::Write;
    let test = std::thread::current();
    drop(writeln!(std::io::stderr(), "SKIPPED part of test {}: {case}: {why}", test.name().unwrap_or("?")));
}

/// Runs it to its end.
pub fn run(directory: &Path, args: &[&str]) -> Output {
    cosmark(directory).args(args).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `cosmark run` with `--json` and gives what it printed, which has to be nothing but run.json.
pub fn run_json(directory: &Path, args: &[&str]) -> (Output, RunRecord) {
    let output = cosmark(directory).args(args).args(["--json", "--archive", "archive"]).output().unwrap();
    let record = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", stdout(&output), stderr(&output)));
    (output, record)
}

/// The operation `name` of the stage called `stage`.
pub fn operation<'a>(record: &'a RunRecord, stage: &str, name: &str) -> &'a OperationResult {
    let stage = record.stages.iter().find(|one| one.name == stage).unwrap();
    stage.operations.iter().find(|one| one.name == name).unwrap()
}

/// A process that is ended when the test is over.
pub struct Server {
    child: Child,
    /// What it printed until it was ready, by the word before the colon.
    pub lines: Vec<String>,
}

impl Server {
    /// Sends it a signal, such as SIGSTOP.
    pub fn signal(&self, number: libc::c_int) {
        signal(&self.child, number);
    }

    /// `cosmark serve ..` on a free port.
    pub fn start(directory: &Path, args: &[&str]) -> Self {
        let mut command = cosmark(directory);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        Self::start_by(command)
    }

    /// The same by a command of the test.
    pub fn start_by(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 {
                break;
            }
            let ready = line.contains("Ctrl-C") || line.contains("any key");
            lines.push(line.trim().to_owned());
            if ready {
                break;
            }
        }
        // Keeps the pipe open: the server may print at its end.
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        Self { child, lines }
    }

    /// Its process.
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// The rest of the line that begins with `word:`.
    pub fn says(&self, word: &str) -> String {
        let line = self.lines.iter().find(|line| line.starts_with(word)).unwrap();
        line.split_once(':').unwrap().1.trim().to_owned()
    }

    /// A target file for it.
    pub fn target(&self, directory: &Path, secret: Option<&str>) -> PathBuf {
        let path = directory.join("target.yaml");
        let own = self.says("secret key");
        let text = format!(
            "storage:\n  type: s3\n  endpoint: {}\n  accesskey: {}\n  secretkey: \"{}\"\n  path_style_access: true\n",
            self.says("endpoint"),
            self.says("access key"),
            secret.unwrap_or(&own)
        );
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a child of ours.
pub fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: a plain system call on a process that this test started and has not waited for.
    unsafe { libc::kill(libc::pid_t::try_from(child.id()).unwrap(), signal) };
}
