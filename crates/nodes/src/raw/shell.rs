//! A shell on a machine that may run programs for us: this one, or another over ssh. What it runs ends with the one who asked,
//! also when that one is killed: the shell's input is held open, and its end is the sign. Source: POSIX, Shell Command
//! Language; ssh(1).

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::collect::ssh::SshSession;

/// Where a script runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    program: Vec<String>,
    /// This machine.
    pub is_local: bool,
}

/// More is no output of a measurement.
const MOST_OUTPUT: u64 = 16 << 20;
/// How long a script may take to end its programs and remove its file after its time.
const TO_CLEAN_UP: Duration = Duration::from_secs(15);

impl Shell {
    /// This machine.
    #[must_use]
    pub fn local() -> Self {
        Self { program: vec!["sh".to_owned(), "-s".to_owned()], is_local: true }
    }

    /// This machine with programs of a test before its own.
    #[cfg(test)]
    pub(crate) fn with_programs(directory: &std::path::Path) -> Self {
        let first = format!("PATH={}:$PATH exec sh -s", quoted(&directory.display().to_string()));
        Self { program: vec!["sh".to_owned(), "-c".to_owned(), first], is_local: true }
    }

    /// Another machine, by the `ssh` of this one.
    #[must_use]
    pub fn over(session: &SshSession) -> Self {
        let to = ["--", &session.host, "sh", "-s"].map(str::to_owned);
        Self { program: session.program.iter().cloned().chain(to).collect(), is_local: false }
    }

    /// Runs a script to its end and gives what it printed. `run PROGRAM ..` in it starts a program that ends with the script;
    /// `clean` may be defined, and is run at the end whatever happens.
    ///
    /// # Errors
    /// What it said on its error output, or that its time was up.
    pub async fn run(&self, script: &str, limit: Duration) -> Result<String, String> {
        let (program, options) = self.program.split_first().ok_or("no shell to run it")?;
        let mut child = Command::new(program)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|cause| format!("cannot start {program}: {cause}"))?;
        let mut input = child.stdin.take().ok_or("no way into the shell")?;
        let text = wrapped(script);
        // A shell that ended at once has said why.
        let _ = input.write_all(text.as_bytes()).await;
        let _ = input.flush().await;
        let output = tokio::time::timeout(limit, outputs(&mut child)).await;
        drop(input);
        if let Ok(output) = output {
            return output;
        }
        // Its input has ended: it ends its programs and removes its file.
        if tokio::time::timeout(TO_CLEAN_UP, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
        Err(format!("it did not end within {} s", limit.as_secs()))
    }
}

async fn outputs(child: &mut Child) -> Result<String, String> {
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("no way out of the shell".to_owned());
    };
    let (mut said, mut wrong) = (Vec::new(), Vec::new());
    let (mut output, mut errors) = (output.take(MOST_OUTPUT), errors.take(MOST_OUTPUT));
    let (first, second, ended) =
        tokio::join!(output.read_to_end(&mut said), errors.read_to_end(&mut wrong), child.wait());
    first.and(second).map_err(|cause| format!("what it printed cannot be read: {cause}"))?;
    let status = ended.map_err(|cause| format!("its end is not known: {cause}"))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&said).into_owned());
    }
    let wrong = String::from_utf8_lossy(&wrong);
    let words: Vec<&str> = wrong.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(match words.as_slice() {
        [] => format!("it ended with {status}"),
        [.., last] => cosmark_workload::units::shown(last),
    })
}

/// One compound command, so that the shell has read it before it begins, and the rest of its input is the sign of life.
fn wrapped(script: &str) -> String {
    format!(
        "{{\nexec 3<&0 0</dev/null\nchild=; clean() {{ :; }}\n\
         ( cat <&3 >/dev/null; kill -TERM $$ ) >/dev/null 2>&1 &\nwatch=$!\n\
         run() {{ \"$@\" 3<&- & child=$!; wait $child; code=$?; child=; return $code; }}\n\
         finish() {{ trap - EXIT HUP INT TERM PIPE; [ -z \"$child\" ] || {{ kill $child; wait $child; }} 2>/dev/null; \
         clean; kill $watch 2>/dev/null; exit $1; }}\n\
         trap 'finish $?' EXIT\ntrap 'finish 130' HUP INT TERM PIPE\n{script}\n}}\nexit\n"
    )
}

/// A word that the shell takes as it is.
#[must_use]
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const PATIENT: Duration = Duration::from_secs(120);

    fn place(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("cosmark-shell-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[tokio::test]
    async fn a_script_gives_what_it_printed_or_what_is_wrong() {
        let shell = Shell::local();
        assert_eq!(shell.run("run echo one; echo two", PATIENT).await.unwrap(), "one\ntwo\n");
        assert_eq!(shell.run("echo no room >&2; exit 3", PATIENT).await.unwrap_err(), "no room");
        let word = "it's $(id) \\ \"x\"\n; y";
        assert_eq!(shell.run(&format!("printf %s {}", quoted(word)), PATIENT).await.unwrap(), word);
        let none = Shell { program: vec!["/nonexistent/sh".into()], is_local: true };
        assert!(none.run("true", PATIENT).await.unwrap_err().contains("cannot start"));
    }

    /// The script's program would run for an hour; its file goes with it.
    #[tokio::test]
    async fn a_script_ends_with_who_asked_and_cleans_up() {
        let directory = place("ends");
        let file = directory.join("big.tmp");
        let script = format!(
            "file={}; clean() {{ rm -f \"$file\"; }}; : > \"$file\"; run sleep 3600",
            quoted(file.to_str().unwrap())
        );
        let shell = Shell::local();
        let asked = tokio::spawn(async move { shell.run(&script, PATIENT).await });
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Nobody holds the shell's input any more, as after a kill.
        asked.abort();
        while file.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test]
    async fn a_script_that_takes_too_long_is_ended_and_cleans_up() {
        let directory = place("late");
        let file = directory.join("big.tmp");
        let script = format!(
            "file={}; clean() {{ rm -f \"$file\"; }}; : > \"$file\"; run sleep 3600",
            quoted(file.to_str().unwrap())
        );
        let said = Shell::local().run(&script, Duration::from_secs(1)).await.unwrap_err();
        assert!(said.contains("within 1 s") && !file.exists(), "{said}");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
