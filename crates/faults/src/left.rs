//! Faults that a process has left in force and another one heals: `cosmark faults heal`, the next run, a guardian. Whoever
//! heals one has claimed it, so that no two do so at once.

use std::time::Duration;

use cosmark_archive::{Claim, FAULT_HEALED, FaultInForce, FaultNote, Heal};

use crate::act::heal_to_its_end;

/// How a sentence ends about a fault that another process has healed meanwhile.
pub const BY_GUARDIAN: &str = "was healed by its guardian";
/// Between two tries.
const BETWEEN: Duration = Duration::from_secs(1);

/// What healing one came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// This process has healed it; how, as the end of a sentence.
    Healed(String),
    /// Another process had healed it.
    ByAnother,
    /// Nobody has, and why.
    Failed(String),
}

/// Heals one and forgets it; `tries`: how often what fails is tried.
pub fn heal(note: FaultNote, fault: &FaultInForce, patience: Duration, tries: u32) -> Done {
    match claimed(&note, patience) {
        Ok(claim) => forgotten(note, claim, tried(fault, tries)),
        Err(done) => done,
    }
}

/// The claim of one's healing, to be held until that is over; `None` where it cannot be claimed, which is better healed twice
/// than not at all.
///
/// # Errors
/// When there is nothing to do any more, or another process is at it.
pub fn claimed(note: &FaultNote, patience: Duration) -> Result<Option<Claim>, Done> {
    match note.claim_within(patience) {
        Ok(Claim::Gone) => Err(Done::ByAnother),
        Ok(Claim::Busy) => Err(Done::Failed("another process heals it and does not end".to_owned())),
        Ok(claim) => Ok(Some(claim)),
        Err(_) => Ok(None),
    }
}

/// Forgets one where it was healed.
pub fn forgotten(note: FaultNote, claim: Option<Claim>, said: Result<String, String>) -> Done {
    let said = match said {
        Ok(said) => said,
        Err(why) => return Done::Failed(why),
    };
    if let Err(error) = note.forget() {
        return Done::Failed(format!("it is healed, and still written down as in force: {error}"));
    }
    drop(claim);
    Done::Healed(said)
}

/// Heals one that this process has claimed; how, as the end of a sentence.
///
/// # Errors
/// Why the last try failed.
pub fn tried(fault: &FaultInForce, tries: u32) -> Result<String, String> {
    asked(fault, tries)?.map(|said| how(fault, &said))
}

/// Heals one once more that this process has claimed, `first` being what the first time came to. To be healed twice is an
/// error to some commands: one that was healed stays so where the second time came to its end and said no.
///
/// # Errors
/// Why it is not healed, or not known to be.
pub fn tried_again(
    fault: &FaultInForce,
    first: Result<String, String>,
    tries: u32,
) -> Result<String, String> {
    match (asked(fault, tries), first) {
        (Ok(Ok(said)), Ok(first)) => Ok(format!("{first}; and a second time{}", more(&said))),
        (Ok(Ok(said)), Err(first)) => Ok(format!("{}; the first time: {first}", how(fault, &said))),
        (Ok(Err(why)), Ok(first)) => Ok(format!("{first}; the second time: {why}")),
        (Ok(Err(why)) | Err(why), _) => Err(why),
    }
}

/// As [`heal_to_its_end`], several times where that does not heal it.
fn asked(fault: &FaultInForce, tries: u32) -> Result<Result<String, String>, String> {
    let mut last = Err("it was not tried".to_owned());
    for attempt in 0..tries {
        if attempt > 0 {
            std::thread::sleep(BETWEEN);
        }
        last = heal_to_its_end(&fault.heal);
        if matches!(last, Ok(Ok(_))) {
            break;
        }
    }
    last
}

/// What healed it, and what that printed.
fn how(fault: &FaultInForce, said: &str) -> String {
    format!("{}{}", fault.heal, more(said))
}

fn more(said: &str) -> String {
    let said = first_line(said).replace(char::is_control, " ");
    if said.is_empty() { said } else { format!(": {said}") }
}

/// Heals what runs that are gone have left in force; what was done, and what could not be healed, one sentence each. `waits` is
/// called before another process is waited for that heals one already.
pub fn heal_left(
    left: Vec<(FaultNote, FaultInForce)>,
    waits: &mut dyn FnMut(&str),
) -> (Vec<String>, Vec<String>) {
    let (mut healed, mut failed) = (Vec::new(), Vec::new());
    for (note, fault) in left {
        let name = format!("{} {} {} ({})", fault.run, fault.stage, fault.fault, fault.what);
        if matches!(note.claim(), Ok(Claim::Busy)) {
            waits(&format!(
                "{name} is being healed, as a rule by its guardian, and twice where it may still be made; waiting for that, for \
                 at most {:.0} s: it goes on where Ctrl-C ends this, which may then be begun again",
                fault.heal.longest().as_secs_f64()
            ));
        }
        let path = note.path().to_owned();
        let done = heal(note, &fault, fault.heal.longest(), 1);
        // Of what an agent has made it says so itself.
        if let Done::Healed(how) = &done
            && !matches!(fault.heal, Heal::Agent { .. })
        {
            // Also in the timeline of the run that is gone.
            drop(fault.log(&path, &format!("{FAULT_HEALED} after its run was gone: {how}")));
        }
        match done {
            Done::Healed(how) => healed.push(match &fault.heal {
                Heal::Itself => format!("{name} ended with its process"),
                // Only the agent heals what it has made, and knows of it.
                Heal::Agent { agent, .. } => format!(
                    "{name} is forgotten here; agent {agent} heals it by itself, and `cosmark faults list --nats URL` shows what it \
                     holds"
                ),
                _ => format!("{name} is healed by {how}"),
            }),
            Done::ByAnother => healed.push(format!("{name} {BY_GUARDIAN}")),
            Done::Failed(why) => failed.push(format!("{name} could not be healed: {why}")),
        }
    }
    (healed, failed)
}

/// The first line of what a command printed.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use cosmark_archive::FaultJournal;

    use super::*;

    #[test]
    fn how_long_another_process_is_waited_for_is_said_before_it_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let words = ["sh", "-c", "echo x >> heals"].map(str::to_owned).to_vec();
        let within = Duration::from_secs(60);
        let heal = Heal::Command { words, directory: directory.path().to_owned(), within, proof: None };
        let fault = FaultInForce::made_here("w1", "s1", "gone 1", "x", heal);
        let note = FaultJournal::of(directory.path()).note(&fault).unwrap();
        let (other, _) = FaultNote::read(note.path()).unwrap();
        let mut at_it = Some(other.claim().unwrap());
        assert!(matches!(at_it, Some(Claim::Mine(Some(_)))));
        let mut said = Vec::new();
        let (healed, failed) = heal_left(vec![(note, fault)], &mut |text| {
            said.push(text.to_owned());
            // It ends, and has not healed it.
            drop(at_it.take());
        });
        let [waits] = &said[..] else { panic!("{said:?}") };
        assert!(waits.contains("for at most 370 s") && waits.contains("Ctrl-C"), "{waits}");
        assert_eq!((healed.len(), failed), (1, Vec::new()), "{healed:?}");
        assert_eq!(std::fs::read_to_string(directory.path().join("heals")).unwrap(), "x\n");
        assert!(!other.path().exists());
    }
}
