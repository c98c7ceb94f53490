//! Signals to processes of this machine. Source: kill(2), signal(7).

use std::path::PathBuf;
use std::time::Duration;

use cosmark_archive::Heal;
use cosmark_workload::model::faults::{FaultProcesses, FaultSignal};

use super::command::shell;
use super::process::{Process, find, is_stopped, key, state_of};
use super::{Hand, here};

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
        who: &FaultProcesses,
        heal: Option<&str>,
        within: Duration,
    ) -> Result<Self, String> {
        let heal = heal.map(shell);
        Ok(Self { signal, processes: find(who)?, heal, directory: here()?, within })
    }
}

fn send(process: Process, signal: libc::c_int) {
    if state_of(process).is_some()
        && let Ok(number) = libc::pid_t::try_from(process.0)
    {
        // SAFETY: a signal to a process that was just seen; no memory is involved.
        unsafe { libc::kill(number, signal) };
    }
}

/// SIGCONT to those that still are what they were.
pub fn go_on(processes: &[Process]) -> Result<String, String> {
    processes.iter().for_each(|process| send(*process, libc::SIGCONT));
    if processes.iter().any(|process| is_stopped(*process)) {
        return Err("a process still stands still".to_owned());
    }
    let there = processes.iter().filter(|process| state_of(**process).is_some()).count();
    Ok(format!("{there} of {} processes run again", processes.len()))
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

    fn acts_on(&self) -> Vec<String> {
        self.processes.iter().map(|process| key(*process)).collect()
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, _begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        let signal = match self.signal {
            FaultSignal::Stop => libc::SIGSTOP,
            FaultSignal::Kill => libc::SIGKILL,
        };
        self.processes.iter().for_each(|process| send(*process, signal));
        Ok(String::new())
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        let states: Vec<Option<char>> = self.processes.iter().map(|process| state_of(*process)).collect();
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
        super::heal(&self.plan())
    }
}
