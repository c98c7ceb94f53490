//! From config keys to an [`Operation`] and back: one place that says what each key means, for XML, YAML, `--set` and both
//! writers.

use cosmark_units::{bytes_text, parse_bool, parse_integer, parse_size};

use crate::diagnostics::{Mistakes, Span, shown};
use crate::keys::{KEYS, Key, KeyId, ValueKind};
use crate::model::dataset::DataSetUse;
use crate::model::selector::{IntSelector, SelectorError};
use crate::model::{Content, Division, FileSelection, ObjectNames, OpKind, Operation, RangeRead};

/// Multipart part size when nobody says otherwise.
pub const DEFAULT_PART_SIZE_BYTES: u64 = 5 << 20;
/// Parts in flight per operation when nobody says otherwise.
pub const DEFAULT_PART_CONCURRENCY: u32 = 4;

/// Objects per request of a bulk delete when nobody says otherwise.
pub const DEFAULT_BATCH: u32 = 100;
/// The most that S3 takes.
const MOST_BATCH: u32 = 1000;

/// Which of the two spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// COSBench's `config` lists: lenient where COSBench is.
    Xml,
    /// Native.
    Yaml,
}

/// One given key.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) id: KeyId,
    pub(crate) value: String,
    /// Where the value stands.
    pub(crate) span: Span,
    /// False when it comes from an outer level.
    pub(crate) own: bool,
}

/// Given keys in order of first appearance; a later value replaces an earlier one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings(pub(crate) Vec<Setting>);

impl Settings {
    pub(crate) fn set(&mut self, setting: Setting) {
        match self.0.iter_mut().find(|s| s.id == setting.id) {
            Some(old) => *old = setting,
            None => self.0.push(setting),
        }
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<&Setting> {
        self.0.iter().find(|s| s.id == id)
    }

    /// These, overridden by `inner`.
    pub(crate) fn overridden(&self, inner: &Settings) -> Settings {
        let mut out = self.clone();
        for setting in &mut out.0 {
            setting.own = false;
        }
        for setting in &inner.0 {
            out.set(setting.clone());
        }
        out
    }

    /// The keys of a `config_text` that [`config_text`] wrote.
    pub(crate) fn from_config_text(text: &str) -> Settings {
        let mut settings = Settings::default();
        for (key, value) in text.split(';').filter_map(|entry| entry.split_once('=')) {
            if let Some(key) = KEYS.iter().find(|k| k.xml == key) {
                settings.set(Setting {
                    id: key.id,
                    value: value.to_owned(),
                    span: Span::default(),
                    own: true,
                });
            }
        }
        settings
    }
}

/// An operation with every default and no selector.
#[must_use]
pub fn blank(kind: OpKind) -> Operation {
    Operation {
        id: String::new(),
        kind,
        weight: 100.0,
        division: Division::None,
        name: kind.word().to_owned(),
        containers: None,
        objects: None,
        sizes: None,
        container_name: None,
        container_prefix: Key::of(KeyId::ContainerPrefix).default.to_owned(),
        container_suffix: String::new(),
        object_prefix: Key::of(KeyId::ObjectPrefix).default.to_owned(),
        object_suffix: String::new(),
        object_names: ObjectNames::default(),
        content: Content::Random,
        chunked: false,
        hash_check: false,
        verify: false,
        create_container: kind == OpKind::Init,
        delete_container: kind == OpKind::Dispose,
        empty_container: false,
        files: None,
        file_selection: FileSelection::Sequential,
        range: None,
        part_size_bytes: DEFAULT_PART_SIZE_BYTES,
        part_concurrency: DEFAULT_PART_CONCURRENCY,
        page_size: None,
        list_prefix: String::new(),
        delimiter: String::new(),
        copy_suffix: Key::of(KeyId::CopySuffix).default.to_owned(),
        batch: DEFAULT_BATCH,
        dataset: None,
        config_text: String::new(),
        span: Span::default(),
    }
}

/// Makes an operation of `kind` from its effective keys. `iterates` holds for special works: they walk ranges. Mistakes
/// go to the place of the value, missing keys to `span`.
pub(crate) fn build(
    kind: OpKind,
    iterates: bool,
    settings: &Settings,
    dialect: Dialect,
    span: Span,
    mistakes: &mut Mistakes,
) -> Operation {
    let mut operation = Operation { span, ..blank(kind) };
    for setting in &settings.0 {
        if !is_read(kind, setting, dialect) {
            continue;
        }
        let first = (dialect == Dialect::Xml).then(|| first_of_several(setting)).flatten();
        if let Some(first) = &first {
            let (given, first) = (shown(&setting.value), shown(first));
            let message = format!("`{given}` is read as {first}, as COSBench reads it");
            let hint = "c() takes one number; for a range write u(lo,hi) or r(lo,hi)";
            mistakes.warning(setting.span, message, hint);
        }
        let value = first.as_ref().unwrap_or(&setting.value);
        if let Err(problem) = assign(&mut operation, setting.id, value, dialect) {
            mistakes.error(problem.span_in(setting), problem.message, problem.hint);
        }
    }
    assign_range(&mut operation, settings, mistakes);
    if iterates {
        for (id, selector) in
            [(KeyId::Containers, &operation.containers), (KeyId::Objects, &operation.objects)]
        {
            let Some(selector) = selector else { continue };
            if !matches!(selector, IntSelector::Range { .. }) {
                let (lo, hi) = selector.bounds();
                let message = format!("unrecognized range expression: {selector}");
                let hint = format!("{} walks its numbers in order: write r({lo},{hi})", kind.word());
                mistakes.error(settings.get(id).map_or(span, |s| s.span), message, hint);
            }
        }
    }
    for id in kind.row().required {
        let key = Key::of(*id);
        if settings.get(*id).is_none() {
            let (name, example) = match dialect {
                Dialect::Xml => (key.xml, format!("{}={}", key.xml, example(key))),
                Dialect::Yaml => (key.yaml, format!("{}: {}", key.yaml, example(key))),
            };
            let message = format!("no such key defined: {name}, which {} needs", kind.word());
            mistakes.error(span, message, format!("add {example}"));
        }
    }
    operation.config_text = config_text(&operation, settings);
    operation
}

/// COSBench takes the first number of a `c()` that has several, as workloads of its own have them.
fn first_of_several(setting: &Setting) -> Option<String> {
    if !matches!(setting.id, KeyId::Containers | KeyId::Objects | KeyId::Sizes) {
        return None;
    }
    let (numbers, behind) = setting.value.strip_prefix("c(")?.split_once(')')?;
    let (first, _) = numbers.split_once(',')?;
    Some(format!("c({}){behind}", first.trim()))
}

/// Whether an operation of `kind` reads this setting here. In YAML `list` takes objects only when they are its own:
/// inherited ones would turn a listing into something else.
pub(crate) fn is_read(kind: OpKind, setting: &Setting, dialect: Dialect) -> bool {
    let inherited_objects = setting.id == KeyId::Objects && !setting.own;
    Key::of(setting.id).is_read_by(kind)
        && !(kind == OpKind::List && inherited_objects && dialect == Dialect::Yaml)
}

fn example(key: &Key) -> &'static str {
    match key.value {
        ValueKind::Numbers => "r(1,100)",
        ValueKind::Sizes => "c(64)KB",
        _ => "/some/directory",
    }
}

/// A value that cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// Byte offset in the value.
    at: usize,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Problem {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { at: 0, message: message.into(), hint: hint.into() }
    }

    /// The whole value, or its rest from the mistake on when the value stands in the source as it is.
    fn span_in(&self, setting: &Setting) -> Span {
        if setting.span.len == setting.value.len() && self.at < setting.span.len {
            return Span::between(setting.span.start + self.at, setting.span.end());
        }
        setting.span
    }
}

impl From<SelectorError> for Problem {
    fn from(error: SelectorError) -> Problem {
        Problem { at: error.at, message: error.message, hint: error.hint }
    }
}

impl From<(String, String)> for Problem {
    fn from((message, hint): (String, String)) -> Problem {
        Problem { at: 0, message, hint }
    }
}

/// Puts one value into its field. The range keys are read by [`assign_range`].
pub(crate) fn assign(op: &mut Operation, id: KeyId, value: &str, dialect: Dialect) -> Result<(), Problem> {
    match id {
        KeyId::Containers => op.containers = Some(value.parse()?),
        KeyId::Objects => op.objects = Some(value.parse()?),
        KeyId::Sizes => op.sizes = Some(value.parse()?),
        KeyId::ContainerName => op.container_name = (!value.is_empty()).then(|| value.to_owned()),
        KeyId::ContainerPrefix => value.clone_into(&mut op.container_prefix),
        KeyId::ContainerSuffix => value.clone_into(&mut op.container_suffix),
        KeyId::ObjectPrefix => value.clone_into(&mut op.object_prefix),
        KeyId::ObjectSuffix => value.clone_into(&mut op.object_suffix),
        KeyId::ObjectNames => op.object_names = object_names(value)?,
        KeyId::Content => op.content = content(value, dialect)?,
        KeyId::Chunked => op.chunked = boolean(id, value)?,
        KeyId::HashCheck => op.hash_check = boolean(id, value)?,
        KeyId::Verify => op.verify = boolean(id, value)?,
        KeyId::CreateContainer => op.create_container = boolean(id, value)?,
        KeyId::DeleteContainer => op.delete_container = boolean(id, value)?,
        KeyId::EmptyContainer => op.empty_container = boolean(id, value)?,
        KeyId::Files => {
            if value.is_empty() {
                return Err(Problem::new("files is empty", "give a directory on the driver"));
            }
            op.files = Some(value.to_owned());
        }
        KeyId::FileSelection => op.file_selection = file_selection(value)?,
        KeyId::RangeRead | KeyId::Prefetch => {
            boolean(id, value)?;
        }
        KeyId::ObjectLength | KeyId::ChunkLength => {
            above_zero(id, value)?;
        }
        KeyId::PartSize => op.part_size_bytes = above_zero(id, value)?,
        KeyId::PartConcurrency => op.part_concurrency = count(id, value)?,
        KeyId::PageSize => op.page_size = Some(count(id, value)?),
        KeyId::ListPrefix => value.clone_into(&mut op.list_prefix),
        KeyId::Delimiter => value.clone_into(&mut op.delimiter),
        KeyId::CopySuffix => {
            if value.is_empty() {
                return Err(Problem::new(
                    "the copy would replace the object itself",
                    "give a suffix such as -copy",
                ));
            }
            value.clone_into(&mut op.copy_suffix);
        }
        KeyId::Batch => {
            op.batch = count(id, value)?;
            if op.batch > MOST_BATCH {
                let message = format!("stores take at most {MOST_BATCH} objects in one request");
                return Err(Problem::new(message, format!("set batch to {MOST_BATCH} or less")));
            }
        }
        KeyId::DataSet => {
            let hint = "`cosmark datasets list` shows what there is";
            op.dataset = Some(value.parse::<DataSetUse>().map_err(|message| Problem::new(message, hint))?);
        }
        KeyId::Name => {
            if value.is_empty() {
                return Err(Problem::new("the name is empty", "leave `name` out to use the type"));
            }
            value.clone_into(&mut op.name);
        }
        _ => {}
    }
    Ok(())
}

fn content(value: &str, dialect: Dialect) -> Result<Content, Problem> {
    match (value, dialect) {
        ("zero", _) => Ok(Content::Zero),
        // COSBench takes every other word for random.
        ("random", _) | (_, Dialect::Xml) => Ok(Content::Random),
        _ => Err(Problem::new(format!("unknown content `{}`", shown(value)), "known: random zero")),
    }
}

fn file_selection(value: &str) -> Result<FileSelection, Problem> {
    match value.chars().next() {
        Some('s') => Ok(FileSelection::Sequential),
        Some('u') => Ok(FileSelection::Uniform),
        Some('r') => Ok(FileSelection::Range),
        _ => Err(Problem::new(
            format!("unknown file selection `{}`", shown(value)),
            "known: sequential uniform range (the first letter is enough)",
        )),
    }
}

fn object_names(value: &str) -> Result<ObjectNames, Problem> {
    let found = ObjectNames::ALL.into_iter().find(|(_, word)| *word == value);
    found.map(|(names, _)| names).ok_or_else(|| {
        Problem::new(format!("unknown kind of names `{}`", shown(value)), "known: counted scattered")
    })
}

fn boolean(id: KeyId, value: &str) -> Result<bool, Problem> {
    parse_bool(value).ok_or_else(|| {
        let message = format!("{} is neither true nor false: `{}`", Key::of(id).xml, shown(value));
        Problem::new(message, "write true or false")
    })
}

fn count(id: KeyId, value: &str) -> Result<u32, Problem> {
    parse_integer(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0).ok_or_else(|| {
        let message = format!("{} is not a whole number above 0: `{}`", Key::of(id).yaml, shown(value));
        Problem::new(message, format!("write a number from 1 to {}", u32::MAX))
    })
}

fn above_zero(id: KeyId, value: &str) -> Result<u64, Problem> {
    match parse_size(value)? {
        0 => Err(Problem::new(format!("{} is 0", Key::of(id).xml), "give a size such as 5MiB")),
        bytes => Ok(bytes),
    }
}

/// The range keys belong together: `is_range_request=true` needs a chunk, a chunk alone is enough.
fn assign_range(op: &mut Operation, settings: &Settings, mistakes: &mut Mistakes) {
    if op.kind != OpKind::Read {
        return;
    }
    let bytes = |id| settings.get(id).and_then(|s| parse_size(&s.value).ok()).filter(|n| *n > 0);
    let asked = settings.get(KeyId::RangeRead).and_then(|s| parse_bool(&s.value));
    let (chunk, length) = (bytes(KeyId::ChunkLength), bytes(KeyId::ObjectLength));
    match (asked, chunk) {
        (Some(false), _) | (None, None) => {}
        (Some(true), None) => {
            if settings.get(KeyId::ChunkLength).is_none() {
                let span = settings.get(KeyId::RangeRead).map_or(op.span, |s| s.span);
                mistakes.error(
                    span,
                    "a range read needs the length of a chunk",
                    "add chunk_length, e.g. 1MiB",
                );
            }
        }
        (_, Some(chunk_length_bytes)) => {
            if let Some(length) = length.filter(|length| *length < chunk_length_bytes) {
                let span = settings.get(KeyId::ChunkLength).map_or(op.span, |s| s.span);
                let message = format!(
                    "the chunk of {} is longer than the object of {}",
                    bytes_text(chunk_length_bytes),
                    bytes_text(length)
                );
                mistakes.error(span, message, "make the chunk smaller");
            }
            op.range = Some(RangeRead { object_length_bytes: length, chunk_length_bytes });
        }
    }
    if let Some(setting) = settings.get(KeyId::Prefetch).filter(|s| parse_bool(&s.value) == Some(true)) {
        mistakes.warning(setting.span, "prefetch has no effect", "drop it");
    }
}

/// The value of a key as text; `None` when the operation has none, or does not read the key.
pub(crate) fn value_text(op: &Operation, id: KeyId, dialect: Dialect) -> Option<String> {
    if !Key::of(id).is_read_by(op.kind) {
        return None;
    }
    let size = |bytes: u64| match dialect {
        Dialect::Xml => bytes.to_string(),
        Dialect::Yaml => bytes_text(bytes),
    };
    match id {
        KeyId::Containers => op.containers.as_ref().map(ToString::to_string),
        KeyId::Objects => op.objects.as_ref().map(ToString::to_string),
        KeyId::Sizes => op.sizes.as_ref().map(ToString::to_string),
        KeyId::ContainerName => op.container_name.clone(),
        KeyId::ContainerPrefix => Some(op.container_prefix.clone()),
        KeyId::ContainerSuffix => Some(op.container_suffix.clone()),
        KeyId::ObjectPrefix => Some(op.object_prefix.clone()),
        KeyId::ObjectSuffix => Some(op.object_suffix.clone()),
        KeyId::ObjectNames => Some(op.object_names.word().to_owned()),
        KeyId::Content => Some(if op.content == Content::Zero { "zero" } else { "random" }.to_owned()),
        KeyId::Chunked => Some(op.chunked.to_string()),
        KeyId::HashCheck => Some(op.hash_check.to_string()),
        KeyId::Verify => Some(op.verify.to_string()),
        KeyId::CreateContainer => Some(op.create_container.to_string()),
        KeyId::DeleteContainer => Some(op.delete_container.to_string()),
        KeyId::EmptyContainer => Some(op.empty_container.to_string()),
        KeyId::Files => op.files.clone(),
        KeyId::FileSelection => Some(
            match op.file_selection {
                FileSelection::Sequential => "sequential",
                FileSelection::Uniform => "uniform",
                FileSelection::Range => "range",
            }
            .to_owned(),
        ),
        KeyId::RangeRead => Some(op.range.is_some().to_string()),
        KeyId::ObjectLength => op.range.and_then(|r| r.object_length_bytes).map(size),
        KeyId::ChunkLength => op.range.map(|r| size(r.chunk_length_bytes)),
        KeyId::PartSize => Some(size(op.part_size_bytes)),
        KeyId::PartConcurrency => Some(op.part_concurrency.to_string()),
        KeyId::PageSize => op.page_size.map(|n| n.to_string()),
        KeyId::ListPrefix => Some(op.list_prefix.clone()).filter(|text| !text.is_empty()),
        KeyId::Delimiter => Some(op.delimiter.clone()).filter(|text| !text.is_empty()),
        KeyId::CopySuffix => Some(op.copy_suffix.clone()),
        KeyId::Batch => Some(op.batch.to_string()),
        KeyId::DataSet => op.dataset.as_ref().map(ToString::to_string),
        KeyId::Name => Some(op.name.clone()),
        _ => None,
    }
}

/// Keys that have to be written to get this operation back: those of its `config_text`, in that order, then those that
/// differ from the defaults. The name is left to the caller.
pub(crate) fn keys_to_write(op: &Operation) -> Vec<KeyId> {
    let mut ids: Vec<KeyId> = Settings::from_config_text(&op.config_text).0.iter().map(|s| s.id).collect();
    ids.retain(|id| value_text(op, *id, Dialect::Xml).is_some());
    let defaults = blank(op.kind);
    for key in KEYS {
        if key.id == KeyId::Name || ids.contains(&key.id) {
            continue;
        }
        // A chunk length says already that it is a range read.
        let implied = key.id == KeyId::RangeRead && op.range.is_some();
        let value = value_text(op, key.id, Dialect::Xml);
        if !implied && value.is_some() && value != value_text(&defaults, key.id, Dialect::Xml) {
            ids.push(key.id);
        }
    }
    ids
}

/// The effective config, COSBench style, without repeats: what Config-Info shows.
pub(crate) fn config_text(op: &Operation, settings: &Settings) -> String {
    let entry = |setting: &Setting| {
        let key = Key::of(setting.id);
        value_text(op, setting.id, Dialect::Xml).map(|value| format!("{}={value}", key.xml))
    };
    settings.0.iter().filter_map(entry).collect::<Vec<_>>().join(";")
}

/// COSBench's rule for names: in a work with two operations of one type every operation without a name of its own is
/// called `<n>-<type>`, n counted per type.
pub(crate) fn name_operations(operations: &mut [Operation], has_own_name: &[bool]) {
    let names = automatic_names(operations);
    for ((operation, name), own) in operations.iter_mut().zip(names).zip(has_own_name) {
        if !own {
            operation.name = name;
        }
    }
}

/// The names that [`name_operations`] gives.
pub(crate) fn automatic_names(operations: &[Operation]) -> Vec<String> {
    let count = |kind| operations.iter().filter(|o| o.kind == kind).count();
    let twice = operations.iter().any(|o| count(o.kind) > 1);
    let nth = |index: usize| operations[..=index].iter().filter(|o| o.kind == operations[index].kind).count();
    operations
        .iter()
        .enumerate()
        .map(
            |(index, o)| {
                if twice { format!("{}-{}", nth(index), o.kind.word()) } else { o.kind.word().to_owned() }
            },
        )
        .collect()
}
