//! Commands: each in a process group of its own, with a time limit after which the whole group is killed, and at most so much
//! of what it prints.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cosmark_archive::Heal;
use cosmark_pipe::Printed;

use super::process::{Process, running, state_of};
use super::{Hand, here};

/// What is kept of what a command prints.
const MOST_BYTES: usize = 64 << 10;
/// How often it is looked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the rest of its output is waited for: what it started may hold the pipe open for good.
const REST: Duration = Duration::from_millis(200);
/// How often it is looked whether what was healed is gone.
const GONE_EVERY: Duration = Duration::from_millis(100);

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed, both ways, cut.
    pub text: String,
}

impl Output {
    /// One sentence.
    #[must_use]
    pub fn failure(&self, words: &[String]) -> String {
        let how = self.code.map_or("was ended by a signal".to_owned(), |code| format!("ended with {code}"));
        format!("`{}` {how}: {}", words.join(" "), last_line(&self.text))
    }
}

/// The last line of what was printed that says something.
#[must_use]
pub fn last_line(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it printed nothing")
}

/// A command line for `sh`.
#[must_use]
pub fn shell(command: &str) -> Vec<String> {
    ["sh", "-c", command].map(str::to_owned).to_vec()
}

/// Runs a command and waits for it, for at most `within`.
///
/// # Errors
/// When it cannot be started, or took longer and was ended.
pub fn run(words: &[String], directory: &Path, within: Duration) -> Result<Output, String> {
    run_watched(words, directory, within, &mut |_| {})
}

/// As [`run`]; `begun` hears of its first process, whose number is that of the whole group, as soon as it runs.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    words: &[String],
    directory: &Path,
    within: Duration,
    begun: &mut dyn FnMut(Process),
) -> Result<Output, String> {
    let output = run_as_long(words, directory, within, begun, &|| true)?;
    output.ok_or_else(|| format!("`{}` was ended", words.join(" ")))
}

/// As [`run`], as long as it is `wanted`; `None` where it was not any more, and was ended.
///
/// # Errors
/// As [`run`].
pub fn run_wanted(
    words: &[String],
    directory: &Path,
    within: Duration,
    wanted: &dyn Fn() -> bool,
) -> Result<Option<Output>, String> {
    run_as_long(words, directory, within, &mut |_| {}, wanted)
}

fn run_as_long(
    words: &[String],
    directory: &Path,
    within: Duration,
    begun: &mut dyn FnMut(Process),
    wanted: &dyn Fn() -> bool,
) -> Result<Option<Output>, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let began = Instant::now();
    let unable = |cause: std::io::Error| format!("`{program}` cannot be run: {cause}");
    let (mut printed, writer) = Printed::new(MOST_BYTES).map_err(unable)?;
    let errors = writer.try_clone().map_err(unable)?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(unable)?;
    running(child.id()).into_iter().for_each(begun);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < within && wanted() => printed.take_within(LOOK_EVERY),
            ended => {
                end_group(child.id());
                drop(child.wait());
                // What has left the group runs on, and is not to be ended by a pipe without a reader.
                drop(printed.of_ended(Duration::ZERO));
                if ended.is_ok() && began.elapsed() < within {
                    return Ok(None);
                }
                let why = ended.err().map(|cause| cause.to_string());
                let after = format!("it took longer than {within:?} and was ended");
                return Err(format!("`{}`: {}", words.join(" "), why.unwrap_or(after)));
            }
        }
    };
    let bytes = printed.of_ended(REST);
    Ok(Some(Output { code: status.code(), text: String::from_utf8_lossy(&bytes).trim().to_owned() }))
}

fn end_group(id: u32) {
    let Ok(group) = libc::pid_t::try_from(id) else { return };
    // SAFETY: a signal to a process group that this process, or the one that it is the guardian of, has made; no memory is
    // involved.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Ends a command that another process has begun and that still runs, with all that it started in its group; false where it had
/// come to its end.
pub fn end(first: Process) -> bool {
    let runs = state_of(first).is_some();
    if runs {
        end_group(first.0);
    }
    runs
}

/// Waits until a proof does not end with 0 any more: what an exit code of healing says is not enough.
///
/// # Errors
/// What it proves all the time, or why nobody can say.
pub fn until_gone(proof: &[String], directory: &Path, within: Duration) -> Result<(), String> {
    until_over(within, || {
        let output = run(proof, directory, within)?;
        if output.code != Some(0) {
            return Ok(());
        }
        let said = match output.text.is_empty() {
            true => format!("`{}` ends with 0", proof.join(" ")),
            false => last_line(&output.text).to_owned(),
        };
        Err(format!("it is still there after it was healed: {said}"))
    })
}

/// Looks until `look` has nothing to say any more, for `within` at most: a service may take long to be there again.
///
/// # Errors
/// What it said last.
pub fn until_over(within: Duration, mut look: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let said = look();
        if said.is_ok() || began.elapsed() >= within {
            return said;
        }
        std::thread::sleep(GONE_EVERY);
    }
}

/// A fault by commands.
pub struct Commands {
    inject: Vec<String>,
    heal: Vec<String>,
    proof: Option<Vec<String>>,
    directory: PathBuf,
    within: Duration,
}

impl Commands {
    pub fn of(inject: &str, heal: &str, proof: Option<&str>, within: Duration) -> Result<Self, String> {
        Ok(Self {
            inject: shell(inject),
            heal: shell(heal),
            proof: proof.map(shell),
            directory: here()?,
            within,
        })
    }
}

impl Hand for Commands {
    fn plan(&self) -> Heal {
        Heal::Command {
            words: self.heal.clone(),
            directory: self.directory.clone(),
            within: self.within,
            proof: self.proof.clone(),
        }
    }

    fn acts_on(&self) -> Vec<String> {
        // The same words in another directory are another thing.
        vec![format!("{} in {}", self.inject.join(" "), self.directory.display())]
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        let output = run_watched(&self.inject, &self.directory, self.within, begun)?;
        if output.code == Some(0) { Ok(output.text) } else { Err(output.failure(&self.inject)) }
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        self.landed_while(&|| true)
    }

    fn landed_while(&mut self, wanted: &dyn Fn() -> bool) -> Result<Option<String>, String> {
        let Some(proof) = &self.proof else { return Ok(None) };
        let Some(output) = run_wanted(proof, &self.directory, self.within, wanted)? else { return Ok(None) };
        let said = if output.text.is_empty() { "it ended with 0" } else { &output.text };
        Ok((output.code == Some(0)).then(|| format!("`{}`: {said}", proof.join(" "))))
    }

    fn heal(&mut self) -> Result<String, String> {
        super::heal(&self.plan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(command: &str, within: Duration) -> Result<Output, String> {
        run(&shell(command), Path::new("/"), within)
    }

    #[test]
    fn a_command_says_what_it_printed_and_how_it_ended() {
        let long = Duration::from_secs(60);
        assert_eq!(sh("echo a; echo b >&2; exit 3", long).unwrap().code, Some(3));
        assert!(sh("echo no room >&2; exit 1", long).unwrap().failure(&["x".into()]).contains("no room"));
        assert!(run(&["/nonexistent/x".to_owned()], Path::new("/"), long).is_err());
        let much = sh("head -c 1000000 /dev/zero | tr '\\0' a", long).unwrap();
        assert_eq!(much.text.len(), MOST_BYTES);
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_all_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let command = format!("sleep 600 & echo $! > {}; wait", file.display());
        let error = sh(&command, Duration::from_secs(8)).unwrap_err();
        assert!(error.contains("took longer than"), "{error}");
        let pid = std::fs::read_to_string(&file).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let until = Instant::now() + Duration::from_secs(60);
        while !gone() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(gone());
    }

    #[test]
    fn a_command_that_nobody_wants_any_more_is_ended_and_says_nothing() {
        let (began, long) = (Instant::now(), Duration::from_secs(60));
        let wanted = || began.elapsed() < Duration::from_millis(300);
        assert_eq!(run_wanted(&shell("sleep 600"), Path::new("/"), long, &wanted), Ok(None));
        assert!(began.elapsed() < long, "{:?}", began.elapsed());
        let output = run_wanted(&shell("echo x"), Path::new("/"), long, &|| true).unwrap();
        assert_eq!(output.map(|output| output.text).as_deref(), Some("x"));
    }

    #[test]
    fn whoever_hears_of_a_command_can_end_it_and_what_has_ended_is_left_alone() {
        let (send, heard) = std::sync::mpsc::sync_channel(1);
        let words = shell("sleep 600 & wait");
        let long = Duration::from_secs(60);
        let runs = std::thread::spawn(move || {
            run_watched(&words, Path::new("/"), long, &mut |first| send.send(first).unwrap())
        });
        let first = heard.recv_timeout(long).unwrap();
        assert!(!end((first.0, first.1 + 1)), "another process got its number");
        assert!(end(first));
        assert_eq!(runs.join().unwrap().unwrap().code, None);
        assert!(!end(first));
    }

    #[test]
    fn what_a_command_says_that_it_has_healed_is_gone_or_it_is_not_healed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("there");
        let hand = |heal: &str, within| {
            let (inject, proof) =
                (format!("touch {}", file.display()), format!("ls {} 2>&1", file.display()));
            Commands::of(&inject, heal, Some(&proof), within).unwrap()
        };
        // Longer than a busy machine takes for each of its commands.
        let mut lies = hand("echo done; true", Duration::from_secs(6));
        lies.inject(&mut |_| {}).unwrap();
        let why = lies.heal().unwrap_err();
        assert!(why.contains("it is still there after it was healed") && why.contains("there"), "{why}");
        // Who heals it later knows that, too, and does not take it for what was healed before.
        assert!(super::super::heal_to_its_end(&lies.plan()).is_err());
        // What is gone a while later is healed then.
        let late = format!("(sleep 0.5; rm -f {}) >/dev/null 2>&1 & echo done", file.display());
        let mut late = hand(&late, Duration::from_secs(60));
        assert_eq!(late.heal(), Ok("done".to_owned()));
        assert!(!file.exists());
        assert_eq!(late.heal(), Ok("done".to_owned()), "and once more");
    }

    #[test]
    fn what_a_command_leaves_running_is_not_waited_for() {
        let began = Instant::now();
        let output = sh("(setsid sleep 20 &) ; echo done", Duration::from_secs(60)).unwrap();
        assert_eq!(output.text, "done");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
