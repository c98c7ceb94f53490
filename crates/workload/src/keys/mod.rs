//! The one table of config keys of operations and works: spelling in XML and in YAML, type, default, who reads it. From
//! it come parsing, hints for unknown keys, both writers, the JSON Schema and the reference pages. Keys and defaults:
//! COSBench user guide, "Operations"; fork keys: the `mwrite`/`head` forks' change logs.

pub mod attributes;
pub mod id;
pub mod operation;
pub mod reference;
pub mod schema;
pub mod setting;
pub(crate) mod values;

use crate::diagnostics::suggest;
pub use crate::keys::id::KeyId;
use crate::model::OpKind;

/// One config key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Which one.
    pub id: KeyId,
    /// Spelling in a COSBench `config` list.
    pub xml: &'static str,
    /// Spelling in native YAML.
    pub yaml: &'static str,
    /// What a value looks like.
    pub value: ValueKind,
    /// Value that holds when the key is not given, as written; empty = none.
    pub default: &'static str,
    /// Who reads it.
    pub scope: Scope,
    /// One sentence.
    pub help: &'static str,
}

/// Who reads a config key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Operations: their rows say which, [`crate::model::OperationRow::keys`].
    Operations,
    /// The operation's place in the mix (XML only; YAML has a field for it).
    Mix,
    /// The work (XML only; YAML has a field for it).
    Work,
    /// The stage (XML only; YAML has a field for it).
    Stage,
    /// The workload (XML only; YAML has a field for it).
    Workload,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// A directory of the driver's machine; see [`crate::places`].
    Directory,
    /// A selector, e.g. `u(1,100)`.
    Numbers,
    /// A size selector, e.g. `c(64)KB`.
    Sizes,
    /// true/yes/on, false/no/off.
    Bool,
    /// A whole number above 0.
    Count,
    /// A whole number, 0 included.
    Integer,
    /// A number of bytes, e.g. `5MiB`.
    Bytes,
    /// A duration, e.g. `30s`.
    Duration,
    /// A number above 0.
    Number,
    /// A share of 1.
    Share,
    /// A share of 1, or percent.
    Percent,
    /// Percent, with the sign.
    PercentSign,
    /// Bytes per second, e.g. `1MB/s`.
    Bandwidth,
    /// What a search varies: operations per second, or workers.
    Load,
    /// Operations per second: `5000/s`, or shape and numbers.
    Rate,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A nested map or list; the name of its definition in the schema.
    Nested(&'static str),
}

const fn op(
    id: KeyId,
    (xml, yaml): (&'static str, &'static str),
    value: ValueKind,
    default: &'static str,
    help: &'static str,
) -> Key {
    Key { id, xml, yaml, value, default, scope: Scope::Operations, help }
}

const fn outer(
    id: KeyId,
    (xml, yaml): (&'static str, &'static str),
    value: ValueKind,
    default: &'static str,
    scope: Scope,
    help: &'static str,
) -> Key {
    Key { id, xml, yaml, value, default, scope, help }
}

/// Every key.
pub const KEYS: &[Key] = &[
    op(
        KeyId::Containers,
        ("containers", "containers"),
        ValueKind::Numbers,
        "",
        "Container numbers; special works take ranges only. Optional for `list` and `localwrite`.",
    ),
    op(
        KeyId::Objects,
        ("objects", "objects"),
        ValueKind::Numbers,
        "",
        "Object numbers; special works take ranges only. `list` with objects asks for the metadata of that object.",
    ),
    op(
        KeyId::Sizes,
        ("sizes", "sizes"),
        ValueKind::Sizes,
        "",
        "Object sizes; KB is 1000 bytes, KiB is 1024.",
    ),
    op(
        KeyId::ContainerName,
        ("container_name", "container_name"),
        ValueKind::Text,
        "",
        "The one container to use, by its whole name: no number is added. `containers` is still needed, e.g. `r(1,1)`.",
    ),
    op(
        KeyId::ContainerPrefix,
        ("cprefix", "container_prefix"),
        ValueKind::Text,
        "mycontainers",
        "Container names are prefix, number, suffix.",
    ),
    op(
        KeyId::ContainerSuffix,
        ("csuffix", "container_suffix"),
        ValueKind::Text,
        "",
        "End of container names.",
    ),
    op(
        KeyId::ObjectPrefix,
        ("oprefix", "object_prefix"),
        ValueKind::Text,
        "myobjects",
        "Object names are prefix, number, suffix.",
    ),
    op(KeyId::ObjectSuffix, ("osuffix", "object_suffix"), ValueKind::Text, "", "End of object names."),
    op(
        KeyId::ObjectNames,
        ("onames", "object_names"),
        ValueKind::Words(&["counted", "scattered"]),
        "counted",
        "`counted`: the number as it is, so that names follow each other in a store's index; `scattered`: 16 hexadecimal \
         digits made of it, so that they lie in it as random names do.",
    ),
    op(
        KeyId::Content,
        ("content", "content"),
        ValueKind::Words(&["random", "zero"]),
        "random",
        "`random`: incompressible, every 4 KiB block different; `zero`: zero bytes.",
    ),
    op(
        KeyId::Chunked,
        ("chunked", "chunked"),
        ValueKind::Bool,
        "false",
        "Send without announcing the length (chunked transfer coding).",
    ),
    op(
        KeyId::HashCheck,
        ("hashCheck", "hash_check"),
        ValueKind::Bool,
        "false",
        "COSBench's guard: the last 40 bytes of an object carry the MD5 of the rest; reads check it.",
    ),
    op(
        KeyId::Verify,
        ("verify", "verify"),
        ValueKind::Bool,
        "false",
        "Compare every byte read with what Cosmark wrote.",
    ),
    op(
        KeyId::CreateContainer,
        ("createContainer", "create_container"),
        ValueKind::Bool,
        "false (init: true)",
        "Create each container first.",
    ),
    op(
        KeyId::DeleteContainer,
        ("deleteContainer", "delete_container"),
        ValueKind::Bool,
        "false (dispose: true)",
        "Delete each container afterwards.",
    ),
    op(
        KeyId::EmptyContainer,
        ("emptyContainer", "empty_container"),
        ValueKind::Bool,
        "false",
        "Before a container is deleted, delete everything in it, whoever wrote it. The storage `file` does so only with \
         directories that Cosmark made.",
    ),
    op(
        KeyId::Files,
        ("files", "files"),
        ValueKind::Directory,
        "",
        "Directory on the driver: where the files to send are, or where `localwrite` writes.",
    ),
    op(
        KeyId::FileSelection,
        ("fileselection", "file_selection"),
        ValueKind::Words(&["sequential", "uniform", "range"]),
        "sequential",
        "How the next file is chosen; the first letter is enough.",
    ),
    op(
        KeyId::RangeRead,
        ("is_range_request", "range_read"),
        ValueKind::Bool,
        "false",
        "Read one chunk of the object instead of all of it. In XML these three keys may stand on the storage, as forks have \
         it.",
    ),
    op(
        KeyId::ObjectLength,
        ("file_length", "object_length"),
        ValueKind::Bytes,
        "",
        "Range read: length of the objects; chunks start at random below it. Without it chunks start at 0.",
    ),
    op(
        KeyId::ChunkLength,
        ("chunk_length", "chunk_length"),
        ValueKind::Bytes,
        "",
        "Range read: bytes per read.",
    ),
    op(
        KeyId::Prefetch,
        ("is_prefetch", "prefetch"),
        ValueKind::Bool,
        "false",
        "Known from COSBench forks; has no effect.",
    ),
    op(
        KeyId::PartSize,
        ("part_size", "part_size"),
        ValueKind::Bytes,
        "5MiB",
        "Multipart: size of a part. In XML the storage's `part_size` holds when the operation has none.",
    ),
    op(
        KeyId::PartConcurrency,
        ("partConcurrency", "part_concurrency"),
        ValueKind::Count,
        "4",
        "Multipart: parts in flight per operation.",
    ),
    op(
        KeyId::PageSize,
        ("page_size", "page_size"),
        ValueKind::Count,
        "",
        "Keys asked for per page; the server's default if not given.",
    ),
    op(KeyId::ListPrefix, ("list_prefix", "list_prefix"), ValueKind::Text, "", "Only names that begin so."),
    op(
        KeyId::Delimiter,
        ("delimiter", "delimiter"),
        ValueKind::Text,
        "",
        "Names are folded where this follows the prefix; `/` lists like a directory.",
    ),
    op(
        KeyId::CopySuffix,
        ("copy_suffix", "copy_suffix"),
        ValueKind::Text,
        "-copy",
        "The copy of an object has its name with this behind it, in the same container.",
    ),
    op(
        KeyId::Batch,
        ("batch", "batch"),
        ValueKind::Count,
        "100",
        "Objects per request. The number that is chosen from `objects` stands for the batch in which it lies: 1 to 100, 101 to 200, ..",
    ),
    op(
        KeyId::DataSet,
        ("dataset", "dataset"),
        ValueKind::Text,
        "",
        "Name of a data set that a stage with `fill` or an earlier run wrote: gives `containers`, `objects`, `sizes` and the names; \
         what is written beside it holds instead.",
    ),
    op(
        KeyId::Name,
        ("name", "name"),
        ValueKind::Text,
        "the type",
        "Name in the results. Two operations of one type in a work get the names 1-read, 2-read ..",
    ),
    outer(
        KeyId::Weight,
        ("weight", "ratio"),
        ValueKind::Number,
        "",
        Scope::Mix,
        "Share of the mix with a fraction; stands in for `ratio`, which takes whole percents in XML.",
    ),
    outer(
        KeyId::Histogram,
        ("histogram", "histogram"),
        ValueKind::Bool,
        "true",
        Scope::Work,
        "Taken for COSBench's sake, no effect: the verdict needs the response times.",
    ),
    outer(
        KeyId::Rate,
        ("rate", "rate"),
        ValueKind::Rate,
        "",
        Scope::Work,
        "Open loop: operations per second over all drivers, whatever the store does.",
    ),
    outer(
        KeyId::WhenFull,
        ("when_full", "when_full"),
        ValueKind::Words(&["wait", "drop"]),
        "wait",
        Scope::Work,
        "Open loop: an operation that finds no free worker waits, or is dropped and counted as missed.",
    ),
    outer(
        KeyId::ThinkTime,
        ("think_time", "think_time"),
        ValueKind::Duration,
        "",
        Scope::Work,
        "Closed loop: pause of a worker after each operation.",
    ),
    outer(
        KeyId::RatePerWorker,
        ("rate_per_worker", "rate_per_worker"),
        ValueKind::Rate,
        "",
        Scope::Work,
        "Closed loop: at most this many operations per second and worker.",
    ),
    outer(
        KeyId::Runtime,
        ("runtime", "runtime"),
        ValueKind::Duration,
        "",
        Scope::Work,
        "Stands in for the attribute when it is no whole number of seconds.",
    ),
    outer(
        KeyId::Rampup,
        ("rampup", "rampup"),
        ValueKind::Duration,
        "",
        Scope::Work,
        "Stands in for the attribute when it is no whole number of seconds.",
    ),
    outer(
        KeyId::Rampdown,
        ("rampdown", "rampdown"),
        ValueKind::Duration,
        "",
        Scope::Work,
        "Stands in for the attribute when it is no whole number of seconds.",
    ),
    outer(
        KeyId::Interval,
        ("interval", "interval"),
        ValueKind::Duration,
        "",
        Scope::Work,
        "Stands in for the attribute when it is no whole number of seconds.",
    ),
    outer(
        KeyId::ClosureDelay,
        ("closuredelay", "closure_delay"),
        ValueKind::Duration,
        "",
        Scope::Stage,
        "Stands in for the attribute when it is no whole number of seconds.",
    ),
    outer(
        KeyId::Seed,
        ("seed", "seed"),
        ValueKind::Integer,
        "",
        Scope::Workload,
        "Seed of every random choice; the same seed gives the same requests, over any number of drivers and threads. Each worker has a stream of its own: with another number of workers the first ones choose as before, and share the work differently.",
    ),
];

/// How a key in a `config` list was found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    /// Spelled as in the table.
    Exact(&'static Key),
    /// Spelled with other capitals: COSBench would not have seen it.
    OtherCase(&'static Key),
}

impl Key {
    /// The row of `id`.
    #[must_use]
    pub fn of(id: KeyId) -> &'static Key {
        // Every id has its row: a test walks over both.
        KEYS.iter().find(|key| key.id == id).unwrap_or(&KEYS[0])
    }

    /// True when operations of this kind read it.
    #[must_use]
    pub fn is_read_by(&self, kind: OpKind) -> bool {
        kind.row().keys.iter().any(|group| group.contains(&self.id))
    }

    /// True when operations read it at all.
    #[must_use]
    pub fn is_for_operations(&self) -> bool {
        self.scope == Scope::Operations
    }

    /// Looks a key up as XML spells it; the YAML spelling is taken too.
    pub(crate) fn find_in_xml(word: &str) -> Option<Found> {
        let exact = KEYS.iter().find(|key| key.xml == word);
        let yaml = || KEYS.iter().find(|key| key.is_for_operations() && key.yaml == word);
        if let Some(key) = exact.or_else(yaml) {
            return Some(Found::Exact(key));
        }
        KEYS.iter().find(|key| key.xml.eq_ignore_ascii_case(word)).map(Found::OtherCase)
    }

    /// Looks a key of operations up as YAML spells it.
    pub(crate) fn find_in_yaml(word: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.is_for_operations() && key.yaml == word)
    }

    /// Hint for a key that XML does not know.
    pub(crate) fn hint_in_xml(word: &str) -> String {
        suggest::hint(word, KEYS.iter().filter(|key| key.is_for_operations()).map(|key| key.xml))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_row_and_spellings_are_not_shared() {
        for key in KEYS {
            assert!(!key.help.is_empty());
            assert_eq!(KEYS.iter().filter(|k| k.id == key.id).count(), 1, "{:?}", key.id);
            let same_xml = KEYS.iter().filter(|k| k.xml.eq_ignore_ascii_case(key.xml)).count();
            assert_eq!(same_xml, 1, "{}", key.xml);
        }
        let mut ids: Vec<_> = KEYS.iter().map(|k| k.id).collect();
        ids.sort();
        assert_eq!(ids.len(), KeyId::Seed as usize + 1, "an id without a row");
    }

    #[test]
    fn a_key_with_other_capitals_is_found_as_such() {
        assert!(matches!(Key::find_in_xml("hashCheck"), Some(Found::Exact(k)) if k.id == KeyId::HashCheck));
        assert!(
            matches!(Key::find_in_xml("hashcheck"), Some(Found::OtherCase(k)) if k.id == KeyId::HashCheck)
        );
        assert!(
            matches!(Key::find_in_xml("container_prefix"), Some(Found::Exact(k)) if k.id == KeyId::ContainerPrefix)
        );
        assert!(Key::find_in_xml("colour").is_none());
        assert_eq!(Key::hint_in_xml("cprefx"), "did you mean cprefix?");
    }
}
