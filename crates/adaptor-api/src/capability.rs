//! What an adaptor can do: a set, and the one table of its members with their words.

use std::fmt;

/// What an adaptor can do; the conformance suite and `cosmark check` go by it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Capability(u32);

/// One member of the set.
#[derive(Debug, Clone, Copy)]
pub struct CapabilityRow {
    /// Which.
    pub capability: Capability,
    /// What `cosmark adaptors` calls it.
    pub word: &'static str,
    /// What a storage without it does not have, for messages.
    pub lack: &'static str,
}

const fn row(capability: Capability, word: &'static str, lack: &'static str) -> CapabilityRow {
    CapabilityRow { capability, word, lack }
}

impl Capability {
    /// Keeps what was written (without it: `none`, `mock`).
    pub const STORE: Self = Self(1);
    /// Creating and deleting containers.
    pub const CONTAINERS: Self = Self(1 << 1);
    /// Metadata of one object.
    pub const HEAD: Self = Self(1 << 2);
    /// Listings.
    pub const LIST: Self = Self(1 << 3);
    /// Part of an object.
    pub const RANGE: Self = Self(1 << 4);
    /// Writes in parts.
    pub const MULTIPART: Self = Self(1 << 5);
    /// Writes without an announced length.
    pub const CHUNKED: Self = Self(1 << 6);
    /// Copies inside the store.
    pub const COPY: Self = Self(1 << 7);
    /// Deleting many objects in one request.
    pub const BULK_DELETE: Self = Self(1 << 8);
    /// Changing an object's metadata or tags.
    pub const METADATA: Self = Self(1 << 9);
    /// Bringing archived objects back.
    pub const RESTORE: Self = Self(1 << 10);
    /// Deleting a missing object is an error there. A trait of the protocol and no ability: it has no row.
    pub const DELETE_MISSING_FAILS: Self = Self(1 << 31);

    /// Every ability with its words.
    pub const TABLE: &'static [CapabilityRow] = &[
        row(Self::STORE, "store", "place where objects stay"),
        row(Self::CONTAINERS, "containers", "containers of its own"),
        row(Self::HEAD, "head", "question for one object's metadata"),
        row(Self::LIST, "list", "listings"),
        row(Self::RANGE, "ranges", "reads of a part"),
        row(Self::MULTIPART, "multipart", "writes in parts"),
        row(Self::CHUNKED, "chunked writes", "writes without a length"),
        row(Self::COPY, "copies", "copies"),
        row(Self::BULK_DELETE, "bulk deletes", "deletion of many objects in one request"),
        row(Self::METADATA, "metadata", "change of metadata"),
        row(Self::RESTORE, "restores", "archived objects to restore"),
    ];

    /// All of these together.
    #[must_use]
    pub const fn of(members: &[Self]) -> Self {
        let (mut all, mut at) = (0, 0);
        while at < members.len() {
            all |= members[at].0;
            at += 1;
        }
        Self(all)
    }

    /// Whether everything in `wanted` is in it.
    #[must_use]
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// With these as well, if `condition` holds.
    #[must_use]
    pub const fn with_if(self, condition: bool, more: Self) -> Self {
        if condition { Self(self.0 | more.0) } else { self }
    }

    /// Without these.
    #[must_use]
    pub const fn without(self, less: Self) -> Self {
        Self(self.0 & !less.0)
    }

    /// The rows of what is in it.
    pub fn rows(self) -> impl Iterator<Item = &'static CapabilityRow> {
        Self::TABLE.iter().filter(move |row| self.has(row.capability))
    }
}

impl fmt::Debug for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.rows().map(|row| row.word)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ability_is_one_bit_of_its_own() {
        let mut seen = Capability::DELETE_MISSING_FAILS;
        for row in Capability::TABLE {
            assert_eq!(row.capability.0.count_ones(), 1, "{}", row.word);
            assert!(!seen.has(row.capability), "{} shares its bit", row.word);
            seen = seen.with_if(true, row.capability);
        }
        assert_eq!(seen.rows().count(), Capability::TABLE.len());
    }

    #[test]
    fn a_set_has_what_was_put_into_it_and_nothing_else() {
        let set = Capability::of(&[Capability::HEAD, Capability::LIST]);
        assert!(set.has(Capability::HEAD) && set.has(set) && set.has(Capability::default()));
        assert!(!set.has(Capability::COPY) && !set.without(Capability::HEAD).has(set));
        assert_eq!(format!("{set:?}"), r#"{"head", "list"}"#);
    }
}
