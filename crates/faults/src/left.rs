//! Faults that a process has left in force and another one heals: `cosmark faults heal`, the next run, a guardian. Whoever
//! heals one has claimed it, so that no two do so at once.

use std::time::Duration;

use cosmark_archive::{Claim, FaultInForce, FaultNote, Heal};

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
    let claim = match note.claim_within(patience) {
        Ok(Claim::Gone) => return Done::ByAnother,
        Ok(Claim::Busy) => return Done::Failed("another process heals it and does not end".to_owned()),
        Ok(Claim::Mine(lock)) => Ok(lock),
        // What cannot be claimed is better healed twice than not at all.
        Err(error) => Err(error),
    };
    let said = match tried(fault, tries) {
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
    let mut last = String::new();
    for attempt in 0..tries {
        if attempt > 0 {
            std::thread::sleep(BETWEEN);
        }
        match crate::act::heal(&fault.heal) {
            Ok(said) => {
                let said = first_line(&said).replace(char::is_control, " ");
                let more = if said.is_empty() { said } else { format!(": {said}") };
                return Ok(format!("{}{more}", fault.heal));
            }
            Err(why) => last = why,
        }
    }
    Err(last)
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
            waits(&format!("{name} is being healed, as a rule by its guardian; waiting for that"));
        }
        match heal(note, &fault, fault.heal.longest(), 1) {
            Done::Healed(_) if fault.heal == Heal::Itself => {
                healed.push(format!("{name} ended with its process"));
            }
            Done::Healed(how) => healed.push(format!("{name} is healed by {how}")),
            Done::ByAnother => healed.push(format!("{name} was healed by its guardian")),
            Done::Failed(why) => failed.push(format!("{name} could not be healed: {why}")),
        }
    }
    (healed, failed)
}

/// The first line of what a command printed.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}
