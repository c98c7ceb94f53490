//! Signals to processes of this machine. A process is known by its number and when it started, so that no other one is hit
//! that got its number since. Source: proc(5), kill(2).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use cosmark_archive::Heal;
use cosmark_workload::model::faults::{FaultProcess, FaultSignal};

use super::command::shell;
use super::{Hand, here};

/// More processes are not signalled: the name is too common.
const MOST: usize = 200;

/// A process: number, and start in clock ticks since boot.
type Process = (u32, u64);

pub struct Signal {
    signal: FaultSignal,
    processes: Vec<Process>,
    heal: Option<Vec<String>>,
    directory: PathBuf,
    within: Duration,
}

impl Signal {
    pub fn of(
        signal: FaultSignal,
        process: &FaultProcess,
        heal: Option<&str>,
        within: Duration,
    ) -> Result<Self, String> {
        let processes = match process {
            FaultProcess::Named(name) => named(name)?,
            FaultProcess::PidFile(file) => vec![of_file(file)?],
        };
        let own = std::process::id();
        if processes.iter().any(|process| process.0 == own || process.0 <= 1) {
            return Err("the signal would hit cosmark itself or the system's first process".to_owned());
        }
        Ok(Self { signal, processes, heal: heal.map(|heal| shell(heal, None)), directory: here()?, within })
    }
}

fn of_file(file: &str) -> Result<Process, String> {
    let text = fs::read_to_string(file).map_err(|cause| format!("{file}: {cause}"))?;
    let number = text.lines().next().unwrap_or_default().trim().parse::<u32>();
    let number = number.map_err(|_| format!("{file} does not hold the number of a process"))?;
    let started = stat(number).ok_or_else(|| format!("the process {number} of {file} does not run"))?.1;
    Ok((number, started))
}

fn named(name: &str) -> Result<Vec<Process>, String> {
    let entries = fs::read_dir("/proc").map_err(|cause| format!("/proc: {cause}"))?;
    let numbers =
        entries.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let found: Vec<Process> = numbers
        .filter(|number| is_called(*number, name))
        .filter_map(|number| stat(number).map(|(_, started)| (number, started)))
        .collect();
    match found.len() {
        0 => Err(format!("no process is called {name}")),
        1..=MOST => Ok(found),
        many => Err(format!("{many} processes are called {name}: too many to be meant")),
    }
}

/// By its command's name (15 bytes of it are kept by the kernel) or the last part of its first word.
fn is_called(number: u32, name: &str) -> bool {
    let short = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    let first =
        String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    let last = first.rsplit('/').next().unwrap_or_default();
    last == name || (short.trim_end() == name && (name.len() < 15 || last.starts_with(name)))
}

/// Its state and when it started; `None` when it is gone.
fn stat(number: u32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, 'Z' | 'X')).then_some((state, started))
}

fn lives((number, started): Process) -> Option<char> {
    stat(number).filter(|found| found.1 == started).map(|found| found.0)
}

fn send(process: Process, signal: libc::c_int) {
    if lives(process).is_some()
        && let Ok(number) = libc::pid_t::try_from(process.0)
    {
        // SAFETY: a signal to a process that was just seen; no memory is involved.
        unsafe { libc::kill(number, signal) };
    }
}

/// SIGCONT to those that still are what they were.
pub fn go_on(processes: &[Process]) {
    processes.iter().for_each(|process| send(*process, libc::SIGCONT));
}

impl Hand for Signal {
    fn plan(&self) -> Heal {
        match &self.heal {
            Some(words) => {
                Heal::Command { words: words.clone(), directory: self.directory.clone(), within: self.within }
            }
            None => Heal::Continue(self.processes.clone()),
        }
    }

    fn inject(&mut self) -> Result<String, String> {
        let signal = match self.signal {
            FaultSignal::Stop => libc::SIGSTOP,
            FaultSignal::Kill => libc::SIGKILL,
        };
        self.processes.iter().for_each(|process| send(*process, signal));
        Ok(String::new())
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        let states: Vec<Option<char>> = self.processes.iter().map(|process| lives(*process)).collect();
        let count = states.len();
        Ok(match self.signal {
            FaultSignal::Stop => {
                let stopped = states.iter().all(|state| matches!(state, Some('T' | 't')));
                stopped.then(|| format!("{count} of {count} processes stand still (state T)"))
            }
            FaultSignal::Kill => {
                states.iter().all(Option::is_none).then(|| format!("{count} of {count} processes are gone"))
            }
        })
    }

    fn heal(&mut self) -> Result<String, String> {
        let said = super::heal(&self.plan())?;
        let stopped = |process: &Process| matches!(lives(*process), Some('T' | 't'));
        if self.heal.is_none() && self.processes.iter().any(stopped) {
            return Err("a process still stands still".to_owned());
        }
        Ok(said)
    }
}
