//! What a prober beside a load did and saw, request by request: for other checkers of histories, and for readings of one driver at
//! what another one wrote.

use serde::{Deserialize, Serialize};

/// Keys from here on are shared by the drivers of a stage.
const SHARED: u32 = 1 << 31;
/// Bits of a shared key that tell the keys of one driver apart.
const KEY_BITS: u32 = 8;

/// What a request of a prober does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// Writes [`ProbeOperation::value`].
    Write,
    /// Deletes.
    Delete,
    /// Gave [`ProbeOperation::value`].
    Read,
    /// A listing that had the object ([`ProbeOperation::value`] 1) or had it not (0).
    List,
}

impl ProbeKind {
    /// All with their names.
    pub const TABLE: &'static [(ProbeKind, &'static str)] =
        &[(Self::Write, "write"), (Self::Delete, "delete"), (Self::Read, "read"), (Self::List, "list")];

    /// Its name in `probes.csv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

/// One request of a prober that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOperation {
    /// Its object. [`Self::shared_key`] where drivers share it, else a number that the driver counts from 0.
    pub key: u32,
    /// The connection of the driver.
    pub process: u32,
    /// What.
    pub kind: ProbeKind,
    /// When it was sent, ns on the driver's clock.
    pub call_ns: u64,
    /// When it had ended, ns on the same clock.
    pub return_ns: u64,
    /// The version that was written or read; 0: nothing was there. `u64::MAX`: what nobody writes. Of listings as in
    /// [`ProbeKind::List`].
    pub value: u64,
    /// It was answered; a change that was not may have happened.
    pub is_done: bool,
}

impl ProbeOperation {
    /// The key of driver `driver`'s object `number` (below 256), which the other drivers read.
    #[must_use]
    pub fn shared_key(driver: u32, number: u32) -> u32 {
        SHARED | ((driver << KEY_BITS) & (SHARED - 1)) | (number & ((1 << KEY_BITS) - 1))
    }

    /// The driver that writes its key, where drivers share it.
    #[must_use]
    pub fn writer(&self) -> Option<u32> {
        (self.key & SHARED != 0).then_some((self.key & (SHARED - 1)) >> KEY_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_key_says_who_writes_it_and_an_own_one_says_nobody() {
        let of = |key| ProbeOperation {
            key,
            process: 0,
            kind: ProbeKind::Read,
            call_ns: 1,
            return_ns: 2,
            value: 0,
            is_done: true,
        };
        for (driver, number) in [(0, 0), (1, 5), (40_000, 255)] {
            assert_eq!(of(ProbeOperation::shared_key(driver, number)).writer(), Some(driver));
        }
        assert_ne!(ProbeOperation::shared_key(1, 0), ProbeOperation::shared_key(0, 1));
        assert_eq!(of(77).writer(), None);
        for (kind, name) in ProbeKind::TABLE {
            assert_eq!((kind.name(), ProbeKind::named(name)), (*name, Some(*kind)));
        }
    }
}
