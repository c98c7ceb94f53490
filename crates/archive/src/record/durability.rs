//! What `run.json` says of what was acknowledged and read back.

use cosmark_workload::units::grouped;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One reading back of what the store acknowledged. Each object that was read is in one of the counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DurabilityRecord {
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// Id of the stage after which it was made; null when it was made after the run.
    pub after: Option<String>,
    /// Types of the storages that it was read through.
    pub through: Vec<String>,
    /// It came to its end.
    pub complete: bool,
    /// The ledger has every change that was made; else what its gaps may explain is undecided.
    pub ledger_complete: bool,
    /// Objects in the ledger.
    pub objects: u64,
    /// Objects that were to be read, drawn at random; null = all.
    pub sample: Option<u64>,
    /// Bytes that were read.
    pub bytes: u64,
    /// As acknowledged, byte by byte.
    pub right: u64,
    /// Acknowledged, and not there.
    pub lost: u64,
    /// There, and not what was written.
    pub corrupt: u64,
    /// There as before a write that was acknowledged.
    pub stale: u64,
    /// Deleted, which was acknowledged, and there.
    pub resurrected: u64,
    /// In the listing of their container, and not there.
    pub listed_not_there: u64,
    /// There, and not in the listing of their container.
    pub there_not_listed: u64,
    /// Something else at first, and right when they were looked at again.
    pub late: u64,
    /// A change without an answer has taken effect.
    pub unanswered_done: u64,
    /// A change without an answer has not taken effect.
    pub unanswered_not_done: u64,
    /// Not as acknowledged, which changes that are missing in the ledger may explain.
    pub undecided: u64,
    /// The store gave no answer, asked several times.
    pub unreadable: u64,
    /// Containers whose listing was compared.
    pub listed_containers: u64,
    /// Containers that could not be listed.
    pub unlisted_containers: u64,
    /// Why the last of them could not; null where all could.
    pub unlisted_why: Option<String>,
    /// Names that the listing of their container had more than once.
    pub listed_twice: u64,
    /// Objects in listings that are there and that the run has not written.
    pub others: u64,
    /// The share of all objects that is broken is below this with 95 % confidence, by what was read (Clopper-Pearson); null when all
    /// were read or none.
    pub broken_share_below: Option<f64>,
    /// The first of what is broken.
    pub examples: Vec<DurabilityFinding>,
    /// File of the archive with all that was found.
    pub findings: Option<String>,
    /// Why it did not come to its end, or what is not in the file.
    pub note: Option<String>,
}

/// One object that is not as acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DurabilityFinding {
    /// `lost`, `corrupt`, `stale`, `resurrected`, `listed_not_there`, `there_not_listed`, ..
    pub class: String,
    /// Name of its container.
    pub container: String,
    /// Its name.
    pub object: String,
    /// What was expected and what was found.
    pub detail: String,
}

impl DurabilityRecord {
    /// Objects of which the store broke its word.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.lost
            + self.corrupt
            + self.stale
            + self.resurrected
            + self.listed_not_there
            + self.there_not_listed
    }

    /// Objects that were decided about or could not be read.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.right
            + self.broken()
            + self.late
            + self.unanswered_done
            + self.unanswered_not_done
            + self.undecided
            + self.unreadable
    }

    /// What is broken, in words: `2 lost, 1 stale`.
    #[must_use]
    pub fn broken_words(&self) -> String {
        let words = [
            (self.lost, "lost"),
            (self.corrupt, "corrupt"),
            (self.stale, "stale"),
            (self.resurrected, "resurrected"),
            (self.listed_not_there, "listed and not there"),
            (self.there_not_listed, "there and not listed"),
        ];
        let parts: Vec<String> = words
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", grouped(*count)))
            .collect();
        parts.join(", ")
    }
}
