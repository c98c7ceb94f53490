//! What became of each fault that an agent was asked for, by its ticket: a file beside the agent's journal. Its run hears
//! it also from the agent's next start, and also where another run has asked since.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ArchiveError;
use crate::directory::files::{read_bounded, write_whole};

/// Name of the file.
const FILE: &str = "fault-tickets.json";
/// So many are remembered; of those that were never made the oldest goes first.
const REMEMBERED: usize = 256;
/// No such file is larger.
const MOST_BYTES: u64 = 1 << 20;
/// The longest reason, in characters.
const LONGEST_WHY: usize = 400;

/// A fault that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultTicket {
    /// Its number: a fault is made once for one.
    pub ticket: u64,
    /// Id of the run.
    pub run: String,
    /// Id of the stage.
    pub stage: String,
    /// The fault's name in the workload, and the number of its slot.
    pub slot: String,
    /// When it was about to be made; `None` = it never was.
    #[serde(default)]
    pub made: Option<Timestamp>,
    /// Its end; `None` = it is in force, or nobody has written down that it is not.
    #[serde(default)]
    pub ended: Option<TicketEnd>,
}

/// How a fault ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketEnd {
    /// When that was known.
    pub at: Timestamp,
    /// Why it was healed, and by whom, as a sentence.
    pub why: String,
    /// Its run had not asked for it.
    pub unasked: bool,
}

/// The tickets of an agent.
#[derive(Debug)]
pub struct FaultTickets {
    path: PathBuf,
    known: VecDeque<FaultTicket>,
}

impl FaultTickets {
    /// Those of a directory of an agent's state; none of them where the file cannot be read, and why.
    #[must_use]
    pub fn open(root: &Path) -> (Self, Option<ArchiveError>) {
        let path = root.join(FILE);
        let (known, problem) = match read(&path) {
            Ok(known) => (known, None),
            Err(problem) => (VecDeque::new(), Some(problem)),
        };
        (Self { path, known }, problem)
    }

    /// A fault is asked for.
    ///
    /// # Errors
    /// When it cannot be written: then it is not to be made.
    pub fn add(&mut self, ticket: FaultTicket) -> Result<(), ArchiveError> {
        self.known.push_back(ticket);
        if self.known.len() > REMEMBERED {
            // Never the one that has just come.
            let unmade = self.known.iter().take(REMEMBERED).position(|one| one.made.is_none());
            self.known.remove(unmade.unwrap_or(0));
        }
        self.write()
    }

    /// It is about to be made.
    ///
    /// # Errors
    /// When it cannot be written: then it is not to be made.
    pub fn make(&mut self, ticket: u64) -> Result<(), ArchiveError> {
        self.change(ticket, |one| one.made = Some(Timestamp::now()))
    }

    /// It is in force no more, for this reason; `unasked` says that its run had not asked for that. The first word counts.
    ///
    /// # Errors
    /// When it cannot be written; it is remembered all the same.
    pub fn end(&mut self, ticket: u64, why: &str, unasked: bool) -> Result<(), ArchiveError> {
        self.end_at(ticket, Timestamp::now(), why, unasked)
    }

    /// The same, at another moment.
    ///
    /// # Errors
    /// As [`FaultTickets::end`].
    pub fn end_at(
        &mut self,
        ticket: u64,
        at: Timestamp,
        why: &str,
        unasked: bool,
    ) -> Result<(), ArchiveError> {
        let why: String = why.replace(char::is_control, " ").chars().take(LONGEST_WHY).collect();
        self.change(ticket, |one| {
            one.ended.get_or_insert(TicketEnd { at, why, unasked });
        })
    }

    /// What is known of one.
    #[must_use]
    pub fn find(&self, ticket: u64) -> Option<&FaultTicket> {
        self.known.iter().find(|one| one.ticket == ticket)
    }

    /// Those that were made and have no end.
    #[must_use]
    pub fn unsettled(&self) -> Vec<FaultTicket> {
        self.known.iter().filter(|one| one.made.is_some() && one.ended.is_none()).cloned().collect()
    }

    fn change(&mut self, ticket: u64, change: impl FnOnce(&mut FaultTicket)) -> Result<(), ArchiveError> {
        if let Some(one) = self.known.iter_mut().find(|one| one.ticket == ticket) {
            change(one);
        }
        self.write()
    }

    fn write(&self) -> Result<(), ArchiveError> {
        let text = serde_json::to_string(&self.known)
            .map_err(|cause| ArchiveError::io("write", &self.path)(cause.into()))?;
        write_whole(&self.path, true, |out| out.write_all(text.as_bytes()))
    }
}

fn read(path: &Path) -> Result<VecDeque<FaultTicket>, ArchiveError> {
    if !path.exists() {
        return Ok(VecDeque::new());
    }
    let text = read_bounded(path, MOST_BYTES)?;
    serde_json::from_str(&text).map_err(|cause| ArchiveError::Damaged {
        path: path.to_owned(),
        line: cause.line() as u64,
        problem: cause.to_string(),
        remedy: "delete the file; runs that ask after what stood in it are answered that it is not known",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ticket: u64) -> FaultTicket {
        let [run, stage, slot] = ["w1", "s1-main", "gone 1"].map(str::to_owned);
        FaultTicket { ticket, run, stage, slot, made: None, ended: None }
    }

    #[test]
    fn what_became_of_a_ticket_is_known_to_the_next_start_and_the_first_word_counts() {
        let directory = tempfile::tempdir().unwrap();
        let (mut tickets, problem) = FaultTickets::open(directory.path());
        assert!(problem.is_none());
        for ticket in [u64::MAX, 7] {
            tickets.add(asked(ticket)).unwrap();
        }
        tickets.make(u64::MAX).unwrap();
        assert_eq!(tickets.unsettled().len(), 1);
        tickets.end(u64::MAX, "its\ntime is over", true).unwrap();
        tickets.end(u64::MAX, "another word", false).unwrap();
        let (again, problem) = FaultTickets::open(directory.path());
        assert!(problem.is_none() && again.unsettled().is_empty());
        let ended = again.find(u64::MAX).unwrap().ended.clone().unwrap();
        assert_eq!((ended.why.as_str(), ended.unasked), ("its time is over", true));
        assert_eq!(again.find(7), Some(&asked(7)));
        std::fs::write(directory.path().join(FILE), "[{").unwrap();
        let (damaged, problem) = FaultTickets::open(directory.path());
        assert!(damaged.find(7).is_none() && problem.unwrap().to_string().contains("delete the file"));
    }

    #[test]
    fn askings_of_which_nothing_was_made_push_out_none_that_was() {
        let directory = tempfile::tempdir().unwrap();
        let (mut tickets, _) = FaultTickets::open(directory.path());
        tickets.add(asked(1)).unwrap();
        tickets.make(1).unwrap();
        let most = u64::try_from(REMEMBERED).unwrap();
        (2..most + 20).for_each(|ticket| tickets.add(asked(ticket)).unwrap());
        assert!(tickets.find(1).is_some() && tickets.find(2).is_none());
        assert!(tickets.find(most + 19).is_some() && tickets.known.len() == REMEMBERED);
    }
}
