//! Signals to processes of this machine. Source: kill(2), signal(7).

use std::path::PathBuf;
use std::time::Duration;

use cosmark_archive::Heal;
use cosmark_workload::model::faults::{FaultProcesses, FaultSignal};

use super::command::{shell, until_over};
use super::process::{Process, find, is_stopped, key, state_of};
use super::{Hand, here};

pub struct Signal {
    signal: FaultSignal,
    who: FaultProcesses,
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
        Ok(Self { signal, who: who.clone(), processes: find(who)?, heal, directory: here()?, within })
    }

    fn by_command(&self, words: &[String], proof: Option<Vec<String>>) -> Heal {
        Heal::Command { words: words.to_vec(), directory: self.directory.clone(), within: self.within, proof }
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
        let Some(words) = &self.heal else { return Heal::Continue(self.processes.clone()) };
        // Whoever heals it later asks a shell: this goes through all processes and costs more than a look of this one's own.
        let again = super::far::runs_again(&self.who);
        let proof = format!("( {again} ) >/dev/null && exit 1; echo 'what was killed does not run again'");
        self.by_command(words, Some(shell(&proof)))
    }

    fn acts_on(&self) -> Vec<String> {
        self.processes.iter().map(|process| key(*process)).collect()
    }

    fn lasts(&self) -> bool {
        true
    }

    fn runs_again(&mut self) -> bool {
        matches!(self.signal, FaultSignal::Kill) && find(&self.who).is_ok()
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

    /// Of what was killed somebody has to run again, whatever the command that starts it says.
    fn heal(&mut self) -> Result<String, String> {
        let Some(words) = &self.heal else { return super::heal(&self.plan()) };
        let said = super::heal(&self.by_command(words, None))?;
        until_over(self.within, || {
            let found = find(&self.who).map(drop);
            found.map_err(|why| format!("what was killed does not run again after it was healed: {why}"))
        })?;
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Instant;

    use cosmark_workload::model::faults::FaultProcess;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn what_was_killed_is_healed_when_it_runs_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.pid");
        let mut child = sleeper();
        std::fs::write(&file, child.id().to_string()).unwrap();
        let process = FaultProcess::PidFile(file.to_string_lossy().into_owned());
        let who = FaultProcesses { process, children: false };
        let of = |heal: &str, within| Signal::of(FaultSignal::Kill, &who, Some(heal), within).unwrap();
        let mut lies = of("true", Duration::from_secs(1));
        let again = format!("sleep 600 >/dev/null 2>&1 & echo $! >{}", file.display());
        let mut starts = of(&again, Duration::from_secs(60));
        lies.inject(&mut |_| {}).unwrap();
        child.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while lies.landed().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!lies.runs_again());
        let why = lies.heal().unwrap_err();
        assert!(why.contains("what was killed does not run again"), "{why}");
        assert!(super::super::heal(&lies.plan()).unwrap_err().contains("does not run again"));
        assert_eq!(starts.heal(), Ok(String::new()));
        assert!(super::super::heal(&lies.plan()).is_ok(), "it runs");
        assert!(lies.runs_again(), "whoever has started it");
        let who = find(&who).unwrap();
        assert_eq!(who.len(), 1, "{who:?}");
        who.iter().for_each(|process| send(*process, libc::SIGKILL));
    }
}
