//! The one table of operations: what each is called, does, reads and cannot do without. Parsing, `cosmark check`, the JSON
//! Schema, both reference pages and what is cleaned up after a run derive from it; what a storage has to be able to do for
//! one stands beside the call that it makes, in the engine's `ops`.

use crate::keys::id::KeyId;

/// What an operation does to the store. The word of each is [`OpKind::word`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpKind {
    /// Whole object, or a range with [`Operation::range`].
    Read,
    /// Whole object in one request.
    Write,
    /// One object.
    Delete,
    /// Listing of a container (or metadata of an object when objects are given, as COSBench does on Swift).
    List,
    /// Metadata of an object.
    Head,
    /// Copy of an object inside the store.
    Copy,
    /// Many objects in one request.
    BulkDelete,
    /// Change of an object's metadata or tags.
    Metadata,
    /// Request to bring an archived object back.
    Restore,
    /// Files of a directory on the driver, one request each.
    FileWrite,
    /// Multipart write of generated content.
    MultipartWrite,
    /// Multipart write of files.
    MultipartFileWrite,
    /// Write into a directory of the driver itself: the raw speed of the driver's disk.
    LocalWrite,
    /// Create a container (work `init`).
    Init,
    /// Write (work `prepare`).
    Prepare,
    /// Delete (work `cleanup`).
    Cleanup,
    /// Delete a container (work `dispose`).
    Dispose,
}

/// What an operation does to objects: what `cosmark check`, the expectation of misses and `cosmark clean` have to know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads bytes of an object.
    Reads,
    /// Asks about an object, or changes what the store knows of it; none of its bytes move.
    Touches,
    /// Reads names.
    Lists,
    /// Makes the numbered object, of content that Cosmark generates.
    Writes,
    /// Makes objects of files of the driver.
    WritesFiles,
    /// Writes a file of the driver and nothing into the store.
    WritesLocally,
    /// Makes another object of one that is there.
    Copies,
    /// Takes objects away.
    Deletes,
    /// Makes a container.
    MakesContainer,
    /// Takes a container away.
    RemovesContainer,
}

impl Effect {
    /// Whether bytes of bodies go over the wire.
    #[must_use]
    pub const fn moves_bytes(self) -> bool {
        match self {
            Self::Reads | Self::Lists | Self::Writes | Self::WritesFiles | Self::WritesLocally => true,
            Self::Touches | Self::Copies | Self::Deletes | Self::MakesContainer | Self::RemovesContainer => {
                false
            }
        }
    }

    /// Whether it fails when its object is not there.
    #[must_use]
    pub const fn needs_the_object(self) -> bool {
        matches!(self, Self::Reads | Self::Touches | Self::Copies)
    }
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationRow {
    /// Which.
    pub kind: OpKind,
    /// The word in a workload, as in `type="read"`.
    pub word: &'static str,
    /// The word that COSBench uses for its samples (`prepare` writes, `cleanup` deletes ..).
    pub sample_word: &'static str,
    /// What it does to objects.
    pub effect: Effect,
    /// A special work makes it; it is no line of a mix.
    pub is_special: bool,
    /// The config keys that it reads, in groups.
    pub keys: &'static [&'static [KeyId]],
    /// Keys that it cannot do without.
    pub required: &'static [KeyId],
    /// One sentence.
    pub help: &'static str,
}

const CONTAINER: &[KeyId] =
    &[KeyId::Containers, KeyId::ContainerName, KeyId::ContainerPrefix, KeyId::ContainerSuffix, KeyId::Name];
const OBJECT: &[KeyId] =
    &[KeyId::Objects, KeyId::ObjectPrefix, KeyId::ObjectSuffix, KeyId::ObjectNames, KeyId::DataSet];
const GENERATED: &[KeyId] = &[KeyId::Sizes, KeyId::Content];
const CHUNKED: &[KeyId] = &[KeyId::Chunked];
const HASHED: &[KeyId] = &[KeyId::HashCheck];
const VERIFIED: &[KeyId] = &[KeyId::Verify];
const CREATE: &[KeyId] = &[KeyId::CreateContainer];
const REMOVE: &[KeyId] = &[KeyId::DeleteContainer, KeyId::EmptyContainer];
const DIRECTORY: &[KeyId] = &[KeyId::Files];
const FROM_FILES: &[KeyId] = &[KeyId::Files, KeyId::FileSelection];
const PART_OF_AN_OBJECT: &[KeyId] =
    &[KeyId::RangeRead, KeyId::ObjectLength, KeyId::ChunkLength, KeyId::Prefetch];
const MULTIPART: &[KeyId] = &[KeyId::PartSize, KeyId::PartConcurrency];
const LISTING: &[KeyId] = &[KeyId::PageSize, KeyId::ListPrefix, KeyId::Delimiter];
const COPY: &[KeyId] = &[KeyId::CopySuffix];
const BATCH: &[KeyId] = &[KeyId::Batch];

impl OpKind {
    /// Every operation, in the order of [`OpKind`].
    pub const TABLE: &'static [OperationRow] = &[
        OperationRow {
            kind: OpKind::Read,
            word: "read",
            sample_word: "read",
            effect: Effect::Reads,
            is_special: false,
            keys: &[CONTAINER, OBJECT, HASHED, VERIFIED, PART_OF_AN_OBJECT],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Reads an object, or a part of it.",
        },
        OperationRow {
            kind: OpKind::Write,
            word: "write",
            sample_word: "write",
            effect: Effect::Writes,
            is_special: false,
            keys: &[CONTAINER, OBJECT, GENERATED, CHUNKED, HASHED, VERIFIED],
            required: &[KeyId::Containers, KeyId::Objects, KeyId::Sizes],
            help: "Writes an object in one request.",
        },
        OperationRow {
            kind: OpKind::Delete,
            word: "delete",
            sample_word: "delete",
            effect: Effect::Deletes,
            is_special: false,
            keys: &[CONTAINER, OBJECT],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Deletes an object.",
        },
        OperationRow {
            kind: OpKind::List,
            word: "list",
            sample_word: "list",
            effect: Effect::Lists,
            is_special: false,
            keys: &[CONTAINER, OBJECT, LISTING],
            required: &[],
            help: "Lists a page of a container, or of the containers when none is given.",
        },
        OperationRow {
            kind: OpKind::Head,
            word: "head",
            sample_word: "head",
            effect: Effect::Touches,
            is_special: false,
            keys: &[CONTAINER, OBJECT],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Asks for an object's metadata.",
        },
        OperationRow {
            kind: OpKind::Copy,
            word: "copy",
            sample_word: "copy",
            effect: Effect::Copies,
            is_special: false,
            keys: &[CONTAINER, OBJECT, COPY],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Copies an object inside the store.",
        },
        OperationRow {
            kind: OpKind::BulkDelete,
            word: "bulkdelete",
            sample_word: "bulkdelete",
            effect: Effect::Deletes,
            is_special: false,
            keys: &[CONTAINER, OBJECT, BATCH],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Deletes many objects in one request.",
        },
        OperationRow {
            kind: OpKind::Metadata,
            word: "metadata",
            sample_word: "metadata",
            effect: Effect::Touches,
            is_special: false,
            keys: &[CONTAINER, OBJECT],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Changes an object's metadata or tags.",
        },
        OperationRow {
            kind: OpKind::Restore,
            word: "restore",
            sample_word: "restore",
            effect: Effect::Touches,
            is_special: false,
            keys: &[CONTAINER, OBJECT],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Asks for an archived object to be made readable again.",
        },
        OperationRow {
            kind: OpKind::FileWrite,
            word: "filewrite",
            sample_word: "filewrite",
            effect: Effect::WritesFiles,
            is_special: false,
            keys: &[CONTAINER, CHUNKED, HASHED, FROM_FILES],
            required: &[KeyId::Containers, KeyId::Files],
            help: "Writes files of a directory of the driver, one request each.",
        },
        OperationRow {
            kind: OpKind::MultipartWrite,
            word: "mwrite",
            sample_word: "mwrite",
            effect: Effect::Writes,
            is_special: false,
            keys: &[CONTAINER, OBJECT, GENERATED, HASHED, VERIFIED, MULTIPART],
            required: &[KeyId::Containers, KeyId::Objects, KeyId::Sizes],
            help: "Writes an object in parts.",
        },
        OperationRow {
            kind: OpKind::MultipartFileWrite,
            word: "mfilewrite",
            sample_word: "mfilewrite",
            effect: Effect::WritesFiles,
            is_special: false,
            keys: &[CONTAINER, HASHED, FROM_FILES, MULTIPART],
            required: &[KeyId::Containers, KeyId::Files],
            help: "Writes files of a directory of the driver in parts.",
        },
        OperationRow {
            kind: OpKind::LocalWrite,
            word: "localwrite",
            sample_word: "localwrite",
            effect: Effect::WritesLocally,
            is_special: false,
            keys: &[CONTAINER, OBJECT, GENERATED, DIRECTORY],
            required: &[KeyId::Files, KeyId::Objects, KeyId::Sizes],
            help: "Writes into a directory of the driver: the speed of its own disk.",
        },
        OperationRow {
            kind: OpKind::Init,
            word: "init",
            sample_word: "write",
            effect: Effect::MakesContainer,
            is_special: true,
            keys: &[CONTAINER, CREATE],
            required: &[KeyId::Containers],
            help: "Creates a container.",
        },
        OperationRow {
            kind: OpKind::Prepare,
            word: "prepare",
            sample_word: "write",
            effect: Effect::Writes,
            is_special: true,
            keys: &[CONTAINER, OBJECT, GENERATED, CHUNKED, HASHED, VERIFIED, CREATE],
            required: &[KeyId::Containers, KeyId::Objects, KeyId::Sizes],
            help: "Writes every object once.",
        },
        OperationRow {
            kind: OpKind::Cleanup,
            word: "cleanup",
            sample_word: "delete",
            effect: Effect::Deletes,
            is_special: true,
            keys: &[CONTAINER, OBJECT, REMOVE],
            required: &[KeyId::Containers, KeyId::Objects],
            help: "Deletes every object once.",
        },
        OperationRow {
            kind: OpKind::Dispose,
            word: "dispose",
            sample_word: "delete",
            effect: Effect::RemovesContainer,
            is_special: true,
            keys: &[CONTAINER, REMOVE],
            required: &[KeyId::Containers],
            help: "Deletes a container.",
        },
    ];

    /// The words of those that a mix may have.
    pub const USUAL_WORDS: &'static [&'static str] = &usual_words::<{ usual_count() }>();

    /// What the table says of it.
    #[must_use]
    pub const fn row(self) -> &'static OperationRow {
        &Self::TABLE[self as usize]
    }

    /// The word in a workload file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// COSBench's sample type.
    #[must_use]
    pub const fn sample_word(self) -> &'static str {
        self.row().sample_word
    }
}

const fn usual_count() -> usize {
    let (mut count, mut at) = (0, 0);
    while at < OpKind::TABLE.len() {
        if !OpKind::TABLE[at].is_special {
            count += 1;
        }
        at += 1;
    }
    count
}

const fn usual_words<const COUNT: usize>() -> [&'static str; COUNT] {
    let mut words = [""; COUNT];
    let (mut found, mut at) = (0, 0);
    while at < OpKind::TABLE.len() {
        if !OpKind::TABLE[at].is_special {
            words[found] = OpKind::TABLE[at].word;
            found += 1;
        }
        at += 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_stand_in_the_order_of_the_kinds_and_share_no_word() {
        for (at, row) in OpKind::TABLE.iter().enumerate() {
            assert_eq!(row.kind as usize, at, "{}", row.word);
            assert_eq!(
                OpKind::TABLE.iter().filter(|other| other.word == row.word).count(),
                1,
                "{}",
                row.word
            );
            assert!(!row.help.is_empty());
        }
        assert_eq!(OpKind::Dispose as usize + 1, OpKind::TABLE.len(), "a kind without a row");
    }

    #[test]
    fn an_operation_reads_the_keys_that_it_needs_and_none_twice() {
        for row in OpKind::TABLE {
            let read: Vec<KeyId> = row.keys.concat();
            assert!(row.required.iter().all(|key| read.contains(key)), "{}", row.word);
            let mut once = read.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), read.len(), "{}", row.word);
        }
    }

    #[test]
    fn a_mix_has_every_operation_that_is_no_special_work() {
        assert!(OpKind::USUAL_WORDS.contains(&"read") && OpKind::USUAL_WORDS.contains(&"localwrite"));
        assert!(!OpKind::USUAL_WORDS.contains(&"prepare"));
    }
}
