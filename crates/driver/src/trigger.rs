//! Trigger scripts. Only files of the directory that the driver's operator named are run, arguments are passed as
//! arguments, time and output are bounded. What a script started in the background is ended at its kill order.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::Reach;
use cosmark_pipe::Printed;
use cosmark_wire::{TriggerOrder, TriggerReport};

use crate::permit::Permit;

/// A script that runs longer is ended.
const LONGEST: Duration = Duration::from_secs(60);
/// Output that is taken over; what a script prints beyond it is read and thrown away.
const MOST_OUTPUT: usize = 1 << 20;
/// The last bytes of those that a script sends its output through come at most so long after its end.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// Whether a script has ended is asked at least so often.
const PAUSE: Duration = Duration::from_millis(10);

/// Scripts of one directory.
#[derive(Debug)]
pub struct Triggers {
    permit: Permit,
    /// Process groups of scripts that have ended and left something running, to be ended with their kill order.
    groups: Vec<(String, libc::pid_t)>,
}

impl Triggers {
    pub fn new(permit: Permit) -> Self {
        Self { permit, groups: Vec::new() }
    }

    /// Runs a script to its end. A kill order (`-k` alone) also ends what earlier runs of it left behind.
    pub fn run(&mut self, order: &TriggerOrder) -> TriggerReport {
        let report = match self.start(order) {
            Ok((child, output)) => wait(child, output, LONGEST),
            Err(error) => TriggerReport { output: String::new(), error: Some(error) },
        };
        if order.args == ["-k"] {
            self.end_groups(&order.script);
        }
        self.groups.retain(|(_, group)| is_left_behind(*group));
        report
    }

    fn start(&mut self, order: &TriggerOrder) -> Result<(Child, Printed), String> {
        let shown = format!("trigger {}", order.script);
        let path = PathBuf::from(self.permit.admit(Reach::Script, &shown, &order.script)?);
        let fail = |cause: std::io::Error| format!("trigger {}: {cause}", path.display());
        // One byte more than is shown says that there is more.
        let (output, writer) = Printed::new(MOST_OUTPUT + 1).map_err(fail)?;
        let errors = writer.try_clone().map_err(fail)?;
        let child = Command::new("/bin/sh")
            .arg(&path)
            .args(&order.args)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(fail)?;
        if let Ok(group) = libc::pid_t::try_from(child.id()) {
            self.groups.push((order.script.clone(), group));
        }
        Ok((child, output))
    }

    fn end_groups(&mut self, script: &str) {
        self.groups.retain(|(name, group)| {
            if name == script && is_left_behind(*group) {
                // SAFETY: a plain system call; the group is that of a process that we started, and it was never empty since.
                unsafe { libc::killpg(*group, libc::SIGKILL) };
            }
            name != script
        });
    }
}

impl Drop for Triggers {
    fn drop(&mut self) {
        let names: Vec<String> = self.groups.iter().map(|(name, _)| name.clone()).collect();
        names.iter().for_each(|name| self.end_groups(name));
    }
}

/// Whether something that a script started runs on after the script, which was waited for. No process gets the number of a
/// group that is not empty: where one has it, the group was empty before, and what has its number now is a stranger's.
fn is_left_behind(group: libc::pid_t) -> bool {
    // SAFETY: a plain system call; signal 0 reaches nobody.
    if unsafe { libc::killpg(group, 0) } != 0 {
        return false;
    }
    // SAFETY: as before.
    let is_free = unsafe { libc::kill(group, 0) } != 0;
    is_free && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Waits for the end of a script, for at most `longest`; one that runs longer is ended with all that it started.
fn wait(mut child: Child, mut output: Printed, longest: Duration) -> TriggerReport {
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if begun.elapsed() > longest => {
                if let Ok(group) = libc::pid_t::try_from(child.id()) {
                    // SAFETY: a plain system call; the group is that of a process that we started and have not waited for.
                    unsafe { libc::killpg(group, libc::SIGKILL) };
                }
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("it ran longer than {longest:?} and was ended"));
            }
            Ok(None) => output.take_within(PAUSE),
            Err(cause) => break Err(cause.to_string()),
        }
    };
    let bytes = output.of_ended(LAST_OUTPUT);
    let error = match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("it ended with {status}")),
        Err(text) => Some(text),
    };
    TriggerReport { output: String::from_utf8_lossy(&bytes).into_owned(), error }.cut(MOST_OUTPUT)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(directory: &Path) -> Permit {
        Permit { scripts: Some(directory.to_owned()), ..Permit::here() }
    }

    fn order(script: &str, args: &[&str]) -> TriggerOrder {
        TriggerOrder { script: script.into(), args: args.iter().map(|arg| (*arg).into()).collect() }
    }

    #[test]
    fn a_script_gets_its_arguments_as_they_are_and_its_output_is_kept() {
        let directory = std::env::temp_dir().join(format!("cosmark-trigger-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("say.sh"), "echo \"$1|$2\"; test \"$1\" != bad").unwrap();
        let mut triggers = Triggers::new(of(&directory));
        let report = triggers.run(&order("say.sh", &["a b; rm -rf x", "$(id)"]));
        assert_eq!((report.output.trim(), report.error), ("a b; rm -rf x|$(id)", None));
        assert!(triggers.run(&order("say.sh", &["bad"])).error.unwrap().contains("exit status: 1"));
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_script_that_runs_too_long_is_ended_with_what_it_started() {
        let directory = std::env::temp_dir().join(format!("cosmark-late-trigger-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("late.sh"), "sleep 600 & echo $!; wait").unwrap();
        let mut triggers = Triggers::new(of(&directory));
        let (child, output) = triggers.start(&order("late.sh", &[])).unwrap();
        // Longer than a busy machine takes to start it.
        let report = wait(child, output, Duration::from_secs(6));
        assert!(report.error.unwrap().contains("ran longer"));
        let state = |number: &str| std::fs::read_to_string(format!("/proc/{number}/stat"));
        let started = report.output.trim().to_owned();
        assert!(started.parse::<u32>().is_ok(), "{started:?}");
        let is_over = || state(&started).map_or(true, |stat| stat.contains(") Z "));
        let over = (0..3000).any(|_| {
            is_over() || {
                std::thread::sleep(Duration::from_millis(20));
                false
            }
        });
        assert!(over, "what the script started in the background runs on");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_script_that_prints_more_than_is_taken_over_comes_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let script = "head -c 3000000 /dev/zero | tr '\\0' x && echo done > \"$1\"";
        std::fs::write(directory.path().join("loud.sh"), script).unwrap();
        // Each of these bytes is none of UTF-8 and has three when it is shown.
        std::fs::write(directory.path().join("raw.sh"), "head -c 1000000 /dev/zero | tr '\\0' '\\377'")
            .unwrap();
        let done = directory.path().join("done");
        let mut triggers = Triggers::new(of(directory.path()));
        let report = triggers.run(&order("loud.sh", &[done.to_str().unwrap()]));
        assert_eq!((report.error, done.exists()), (None, true));
        assert!(report.output.starts_with("xxx") && report.output.len() <= MOST_OUTPUT);
        assert!(report.output.trim_end().ends_with("left out]"), "{:?}", &report.output[MOST_OUTPUT - 100..]);
        let report = triggers.run(&order("raw.sh", &[]));
        assert_eq!(report.error, None);
        assert!(report.output.starts_with('\u{fffd}') && report.output.len() <= MOST_OUTPUT);
        assert!(report.output.trim_end().ends_with("left out]"));
    }

    #[test]
    fn what_a_script_left_running_takes_no_output_away_and_is_ended_by_its_kill_order_alone() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("watch.sh"), "test \"$1\" = -k || { sleep 600 & echo begun; }")
            .unwrap();
        std::fs::write(directory.path().join("done.sh"), "echo over").unwrap();
        let mut triggers = Triggers::new(of(directory.path()));
        assert_eq!(triggers.run(&order("done.sh", &[])).output, "over\n");
        assert!(triggers.groups.is_empty(), "nobody of the group is left: {:?}", triggers.groups);
        assert_eq!(triggers.run(&order("watch.sh", &[])).output, "begun\n");
        assert_eq!(triggers.groups.len(), 1);
        let (_, left) = triggers.groups[0];
        assert!(is_left_behind(left));
        // A number that was given again is that of a stranger's group.
        let mut stranger = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let group = libc::pid_t::try_from(stranger.id()).unwrap();
        triggers.groups.push(("watch.sh".to_owned(), group));
        assert_eq!(triggers.run(&order("watch.sh", &["-k"])).error, None);
        assert!(triggers.groups.is_empty());
        std::thread::sleep(Duration::from_millis(100));
        assert!(stranger.try_wait().unwrap().is_none(), "a stranger was ended");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        let is_over = |pid: libc::pid_t| {
            std::thread::sleep(Duration::from_millis(20));
            // Somebody else has to wait for what was ended.
            let stats = std::fs::read_dir("/proc").unwrap().flatten();
            let mut stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
            let of_group = |stat: &String| {
                let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
                let mut fields = rest.split(' ');
                fields.next() != Some("Z") && fields.nth(1) == Some(pid.to_string().as_str())
            };
            !stats.any(|stat| of_group(&stat))
        };
        assert!((0..3000).any(|_| is_over(left)), "what the script left running runs on");
    }

    #[test]
    fn paths_and_missing_scripts_are_refused() {
        let mut triggers = Triggers::new(of(Path::new("/nonexistent")));
        for script in ["../x.sh", "/bin/ls", "", "..", "gone.sh"] {
            assert!(triggers.run(&order(script, &[])).error.is_some(), "{script}");
        }
        assert!(
            Triggers::new(Permit::outside()).run(&order("x.sh", &[])).error.unwrap().contains("--scripts")
        );
    }
}
