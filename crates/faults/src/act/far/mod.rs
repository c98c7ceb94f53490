//! Faults on another machine over ssh, with nothing installed there: commands of the user, and signals to processes by name or by a
//! file with their number. Made, proved and healed there over one held session; a limit on that machine heals what nobody has healed,
//! also when this machine, or the way to it, is gone.

mod script;
mod session;

use std::time::Duration;

use cosmark_archive::Heal;
use cosmark_workload::model::faults::{FaultKind, FaultProcess, FaultProcesses, FaultSignal, FaultSpec};

use super::Hand;
use super::command::{Output, last_line};
use super::process::{Process, Seen, choose};
use script::{Far, Steps};
use session::{Session, nanoseconds};

/// Beside what a command may take: the shell's own work on a busy machine.
const BESIDE: Duration = Duration::from_secs(30);
/// Looking at all processes of a machine takes no longer.
const LOOK_WITHIN: Duration = Duration::from_secs(60);

/// A fault on another machine.
pub struct Elsewhere {
    host: String,
    session: Session,
    far: Far,
    /// What is acted on, in words that are the same to each cosmark of this machine.
    acts_on: Vec<String>,
    /// What heals it, in words.
    healed_by: String,
    /// It was asked for: its limit may run over there.
    asked: bool,
}

impl Elsewhere {
    /// Connects, looks whether that machine has what is needed, and finds out who is meant.
    ///
    /// # Errors
    /// When it cannot be reached, something is missing there, or there is no such process.
    pub fn of(host: &str, spec: &FaultSpec) -> Result<Self, String> {
        let mut session = ready(host)?;
        let within = spec.within;
        let (steps, acts_on, healed_by) = match &spec.kind {
            FaultKind::Command { inject, heal, proof, .. } => {
                let Some(proof) = proof else { return Err("there is no proof:".to_owned()) };
                let steps = script::commands(inject, proof, heal, within);
                (steps, vec![format!("{host} {inject}")], format!("`{heal}`"))
            }
            FaultKind::Signal { signal, who, heal, .. } => {
                signals(host, &mut session, *signal, who, heal.as_deref(), within)?
            }
            other => return Err(format!("a fault of type {} is made on this machine only", other.word())),
        };
        let name = format!("{}-{}", std::process::id(), nanoseconds());
        let far = Far { name, steps, limit: script::limit(spec.hold, within), within };
        Ok(Self { host: host.to_owned(), session, far, acts_on, healed_by, asked: false })
    }

    /// Asks over the held session, or over a new one where that is lost.
    fn ask(&mut self, script: &str, within: Duration) -> Result<Output, String> {
        if self.session.is_lost() {
            self.session = Session::open(&self.host)?;
        }
        self.session.ask(script, within)
    }

    /// The same for what may be asked twice: a session may end for reasons of its own.
    fn ask_again(&mut self, script: &str, within: Duration) -> Result<Output, String> {
        let was_lost = self.session.is_lost();
        match self.ask(script, within) {
            Err(_) if !was_lost => self.ask(script, within),
            done => done,
        }
    }

    fn most(&self) -> Duration {
        longest(self.far.within)
    }
}

/// A session with a machine that has what is needed.
fn ready(host: &str) -> Result<Session, String> {
    let mut session = Session::open(host)?;
    let ready = session.ask(&script::needs(), BESIDE)?;
    if ready.code != Some(0) {
        return Err(format!("{host}: {}", last_line(&ready.text)));
    }
    Ok(session)
}

/// Looks whether faults can be made on a machine. Nothing is done there.
///
/// # Errors
/// Why they cannot, and the remedy.
pub fn reach(host: &str) -> Result<(), String> {
    ready(host).map(drop)
}

/// So long a step may take: a command of its own, waiting for who heals it this moment, and the shell.
fn longest(within: Duration) -> Duration {
    within.saturating_mul(2).saturating_add(BESIDE.saturating_mul(2))
}

/// Finds the processes, and what is done to them; what it acts on, and what heals it.
fn signals(
    host: &str,
    session: &mut Session,
    signal: FaultSignal,
    who: &FaultProcesses,
    heal: Option<&str>,
    within: Duration,
) -> Result<(Steps, Vec<String>, String), String> {
    let (all, spared) = look(session)?;
    let of_file = match &who.process {
        FaultProcess::Named(_) => None,
        FaultProcess::PidFile(file) => {
            let output = session.ask(&format!("head -c 200 {}", script::quoted(file)), BESIDE)?;
            if output.code != Some(0) {
                return Err(format!("{host}: {file}: {}", last_line(&output.text)));
            }
            Some(output.text)
        }
    };
    let found = choose(who, of_file.as_deref(), &all, &spared).map_err(|why| format!("{host}: {why}"))?;
    let keys = found.iter().map(|(number, started)| format!("{host} process {number} {started}")).collect();
    let numbers = found.iter().map(|one| one.0.to_string()).collect::<Vec<_>>().join(", ");
    Ok(match (signal, heal) {
        (FaultSignal::Stop, _) => (script::stop(&found), keys, format!("SIGCONT to {numbers}")),
        (FaultSignal::Kill, heal) => {
            let again = runs_again(who);
            let heal = heal.unwrap_or("true");
            (script::kill(&found, heal, &again, within), keys, format!("`{heal}`"))
        }
    })
}

/// A script of the shell that ends with 0 where one of these runs.
pub fn runs_again(who: &FaultProcesses) -> String {
    match &who.process {
        FaultProcess::Named(name) => script::runs_by_name(name),
        FaultProcess::PidFile(file) => script::runs_by_file(file),
    }
}

/// All processes over there, and those without which nothing could be healed: the session's own and whoever has started them.
fn look(session: &mut Session) -> Result<(Vec<Seen>, Vec<u32>), String> {
    let output = session.ask(
        "echo \"shell $$\"; for p in /proc/[0-9]*; do { read -r s <$p/stat; } 2>/dev/null && echo \"stat $s\"; done; grep -a -m 1 '' \
         /proc/[0-9]*/cmdline /dev/null 2>/dev/null; :",
        LOOK_WITHIN,
    )?;
    let mut all: Vec<Seen> =
        output.text.lines().filter_map(|line| Seen::of(line.strip_prefix("stat ")?)).collect();
    for line in output.text.lines() {
        let Some((number, words)) = line.strip_prefix("/proc/").and_then(|rest| rest.split_once("/cmdline:"))
        else {
            continue;
        };
        let first = words.split('\0').next().unwrap_or_default();
        let Ok(number) = number.parse::<u32>() else { continue };
        if let Some(one) = all.iter_mut().find(|one| one.number == number && one.first.is_empty()) {
            first.clone_into(&mut one.first);
        }
    }
    let shell = output.text.lines().find_map(|line| line.strip_prefix("shell ")?.trim().parse::<u32>().ok());
    let Some(mut next) = shell.filter(|_| !all.is_empty()) else {
        return Err("its processes cannot be seen: there is no /proc as Linux has it".to_owned());
    };
    let mut spared = vec![next];
    // Each is one's parent at most as often as there are processes.
    while let Some(one) = all.iter().find(|one| one.number == next).filter(|_| spared.len() <= all.len()) {
        next = one.parent;
        spared.push(next);
    }
    Ok((all, spared))
}

impl Hand for Elsewhere {
    fn plan(&self) -> Heal {
        Heal::Elsewhere {
            host: self.host.clone(),
            what: self.healed_by.clone(),
            script: self.far.heal(),
            within: self.far.within,
        }
    }

    fn acts_on(&self) -> Vec<String> {
        self.acts_on.clone()
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, _begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        self.asked = true;
        let (script, most) = (self.far.inject(), self.most());
        let output = self.ask(&script, most)?;
        match output.code {
            Some(0) => Ok(format!(
                "{}\n{} heals it by itself {} s after it was made, if nobody else does",
                output.text,
                self.host,
                self.far.limit.as_secs()
            )),
            _ => Err(format!("{}: {}", self.host, last_line(&output.text))),
        }
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        let (script, most) = (self.far.steps.proof.clone(), self.most());
        let output = self.ask_again(&script, most)?;
        let said = if output.text.is_empty() { "the proof ended with 0" } else { last_line(&output.text) };
        Ok((output.code == Some(0)).then(|| format!("{}: {said}", self.host)))
    }

    fn heal(&mut self) -> Result<String, String> {
        let (script, most) = (self.far.heal(), self.most());
        let found = self.ask_again(&script, most).and_then(|output| healed(&self.host, output));
        found.map_err(|why| match self.asked {
            true => format!(
                "{why}; {} heals it by itself at the latest {} s after it was made",
                self.host,
                self.far.limit.as_secs()
            ),
            false => why,
        })
    }
}

fn healed(host: &str, output: Output) -> Result<String, String> {
    match output.code {
        Some(0) => Ok(output.text),
        _ => Err(format!("{host}: {}", last_line(&output.text))),
    }
}

/// Heals what another process has made over there. The inner error is that of a script that came to its end and said no.
///
/// # Errors
/// When that machine cannot be reached, or the session with it ended.
pub fn heal(host: &str, script: &str, within: Duration) -> Result<Result<String, String>, String> {
    Session::open(host)?.ask(script, longest(within)).map(|output| healed(host, output))
}

/// A question whose command runs over there, over a session of its own.
pub struct Asked {
    host: String,
    script: String,
    within: Duration,
    session: Option<Session>,
}

impl Asked {
    pub fn of(host: &str, command: &str, within: Duration) -> Self {
        let script = script::limited(command, within);
        Self { host: host.to_owned(), script, within, session: None }
    }

    /// Asks, as long as an answer is `wanted`; `None` where it was not any more. That machine ends the command in its time.
    pub fn ask(&mut self, wanted: &dyn Fn() -> bool) -> Result<Option<Output>, String> {
        let held = self.session.take().filter(|session| !session.is_lost());
        let mut session = held.map_or_else(|| Session::open(&self.host), Ok)?;
        let output = session.ask_wanted(&self.script, self.within.saturating_add(BESIDE), wanted);
        self.session = Some(session);
        output
    }
}
