//! `<work>` and `<operation>`: COSBench user guide, sections "work" and "operation"; special works discard their
//! operations and make their own.

use cosmark_units::{Complaint, Plain, has_no_unit};

use crate::assemble::{MAX_PER_PARENT, WORK_TYPES, WorkType, blank_work};
use crate::diagnostics::shown;
use crate::diagnostics::suggest;
use crate::keys::attributes;
use crate::keys::operation::{self, Dialect, Setting, Settings};
use crate::keys::values::parse_division;
use crate::keys::{Key, KeyId, Scope, ValueKind};
use crate::model::arrivals::{Parts, arrivals_text, parse_arrivals};
use crate::model::selector::IntSelector;
use crate::model::{ConfigEntry, ConfigValue, Division, OpKind, Operation, TargetSpec, Work, WorkKind};
use crate::room;
use crate::xml::config_list::Entry;
use crate::xml::tree::Element;
use crate::xml::{Level, XmlReader};

/// Reads one work.
pub(crate) fn read(reader: &mut XmlReader<'_>, element: &Element, outer: &Level) -> Option<Work> {
    reader.check_names(element, attributes::WORK, &["auth", "storage", "operation"]);
    let work_type = work_type(reader, element);
    let level = reader.enter(element, outer);
    let entries = match work_type.special {
        Some(_) => reader.interpolated(&level.entries),
        None => reader.interpolated_of(Scope::Work, &level.entries),
    };
    let (auth, storage) = reader.targets(&level);
    let bytes = room::of_target(&auth) + room::of_target(&storage);
    if !reader.room.take(bytes, element.span, reader.mistakes) {
        return None;
    }
    if reader.text(element, "workers").is_none() {
        let hint = "add workers=\"8\": it is the total over all drivers";
        reader.mistakes.error(element.span, "must specify 'workers' for a work", hint);
    }
    let mut work = Work {
        name: name(reader, element, work_type),
        auth,
        storage,
        span: element.span,
        ..blank_work(work_type.kind)
    };
    // What a special work has no use for is read, to be refused where it is wrong, and forgotten.
    let mut unused = work.clone();
    for (row, value) in attributes::of_work() {
        let place = if row.normal_only && work_type.special.is_some() { &mut unused } else { &mut work };
        reader.put(element, row, value, place);
    }
    work_keys(reader, &mut work, &entries);
    match work_type.special {
        Some((kind, division)) => {
            useless(reader, &unused, work.workers, element, division);
            let reads = |key: &Key| key.scope == Scope::Work || reads(kind, key);
            without_effect(reader, &level, outer, work_type.word, reads);
            special(reader, &mut work, element, &entries, kind, division);
        }
        None => {
            let passes_on = |key: &Key| !matches!(key.scope, Scope::Stage | Scope::Workload);
            without_effect(reader, &level, outer, "a <work>", passes_on);
            normal(reader, &mut work, element, &level);
        }
    }
    drop_taken(&mut work.storage);
    Some(work)
}

fn work_type(reader: &mut XmlReader<'_>, element: &Element) -> &'static WorkType {
    let normal = &WORK_TYPES[0];
    let Some(attribute) = reader.text(element, "type") else { return normal };
    let word = attribute.text.value.trim();
    if word.is_empty() {
        return normal;
    }
    if let Some(found) = WORK_TYPES.iter().find(|t| t.word == word) {
        return found;
    }
    let words = WORK_TYPES.iter().map(|t| t.word).chain(["delay"]);
    let message = format!("unknown work type `{}` is treated as normal", shown(word));
    reader.mistakes.warning(attribute.text.span, message, suggest::hint(word, words));
    normal
}

fn name(reader: &mut XmlReader<'_>, element: &Element, work_type: &WorkType) -> String {
    let name = reader.text(element, "name").map(|a| a.text.value.trim().to_owned()).unwrap_or_default();
    if !name.is_empty() {
        return name;
    }
    if work_type.kind == WorkKind::Normal {
        reader.mistakes.error(element.span, "work name cannot be empty", "add name=\"..\" to <work>");
    }
    work_type.word.to_owned()
}

/// Keys of the `config` that speak of the work: histogram, pacing, times with a fraction.
fn work_keys(reader: &mut XmlReader<'_>, work: &mut Work, entries: &[Entry]) {
    let is_special = work.kind != WorkKind::Normal;
    let mut parts = Parts::default();
    let mut load_span = None;
    for entry in entries {
        let Some(key) = entry.row else { continue };
        if key.scope != Scope::Work {
            continue;
        }
        let of_work = attributes::of_work().find(|(row, _)| row.yaml == key.yaml);
        let of_load = attributes::of_load().find(|(row, _)| row.yaml == key.yaml);
        let row = of_work.map(|(row, _)| row).or(of_load.map(|(row, _)| row));
        if is_special && row.is_some_and(|row| row.normal_only) {
            if entry.own {
                let message = format!("{} has no effect on a special work", key.xml);
                reader.mistakes.warning(
                    entry.key_span,
                    message,
                    "a special work makes one pass over its range",
                );
            }
            continue;
        }
        let text = in_native_words(key.value, &entry.value);
        let mut set = |text: &str| match (of_work, of_load) {
            (Some((_, value)), _) => (value.set)(work, text),
            (_, Some((_, value))) => (value.set)(&mut parts, text),
            (None, None) => Ok(()),
        };
        if let Err((message, hint)) = text.and_then(|text| set(&text)) {
            reader.mistakes.error(entry.value_span, message, hint);
        } else if of_load.is_some() {
            load_span = Some(entry.value_span);
        }
    }
    match parts.load() {
        Ok(load) => work.load = load,
        Err((message, hint)) => reader.mistakes.error(load_span.unwrap_or(work.span), message, hint),
    }
}

/// What a special work has no use for.
fn useless(reader: &mut XmlReader<'_>, unused: &Work, workers: u32, element: &Element, division: Division) {
    let word = reader.text(element, "type").map(|a| a.text.value.trim().to_owned()).unwrap_or_default();
    if unused.division != division && unused.division != Division::None {
        let span = reader.text(element, "division").map_or(element.span, |a| a.text.span);
        let message = format!("a {word} work is always divided its own way");
        reader.mistakes.warning(span, message, "drop the division");
    }
    // COSBench's own expanded files carry totalOps=workers on special works.
    let usual = unused.total_ops.is_none_or(|n| n == u64::from(workers));
    let times = [unused.runtime, unused.rampup, unused.rampdown];
    if !usual || unused.total_bytes.is_some() || times.iter().any(|t| !t.is_zero()) {
        let message = format!("runtime, ramps, totalOps and totalBytes have no effect on a {word} work");
        reader.mistakes.warning(element.span, message, "it makes one pass over its range");
    }
}

/// Keys of COSBench that its files carry from one operation to the next, whether that reads them or not.
const CARRIED: [KeyId; 16] = [
    KeyId::Containers,
    KeyId::ContainerPrefix,
    KeyId::ContainerSuffix,
    KeyId::Objects,
    KeyId::ObjectPrefix,
    KeyId::ObjectSuffix,
    KeyId::Sizes,
    KeyId::Content,
    KeyId::Chunked,
    KeyId::HashCheck,
    KeyId::CreateContainer,
    KeyId::DeleteContainer,
    KeyId::EmptyContainer,
    KeyId::Files,
    KeyId::FileSelection,
    KeyId::Name,
];

fn reads(kind: OpKind, key: &Key) -> bool {
    key.is_for_operations() && (key.is_read_by(kind) || CARRIED.contains(&key.id))
}

/// Reports keys that somebody wrote into this config and nothing reads there. What stands around it with the same value was
/// not written for it: COSBench copies it inward into the files of its archive.
fn without_effect(
    reader: &mut XmlReader<'_>,
    level: &Level,
    outer: &Level,
    word: &str,
    reads: impl Fn(&Key) -> bool,
) {
    for entry in level.entries.iter().filter(|entry| entry.own) {
        let Some(key) = entry.row.filter(|key| !reads(key)) else { continue };
        let is_copy = outer.entries.iter().any(|o| o.key == entry.key && o.value == entry.value);
        if is_copy || reader.references.contains(&entry.key) {
            continue;
        }
        let message = format!("{} has no effect on {word}", key.xml);
        reader.mistakes.warning(entry.key_span, message, where_it_belongs(key));
    }
}

fn where_it_belongs(key: &Key) -> String {
    let element = match key.scope {
        Scope::Operations => {
            let rows = OpKind::TABLE.iter().filter(|row| key.is_read_by(row.kind));
            let words: Vec<&str> = rows.map(|row| row.word).collect();
            return format!("it belongs to {}", words.join(", "));
        }
        Scope::Mix => "operation",
        Scope::Work => "work",
        Scope::Stage => "workstage",
        Scope::Workload => "workload",
    };
    format!("put it into the config of the <{element}>")
}

/// The value of a config key as native YAML has it: times that say no unit are seconds here.
pub(crate) fn in_native_words(kind: ValueKind, text: &str) -> Result<String, Complaint> {
    match kind {
        ValueKind::Duration if has_no_unit(text) => Ok(format!("{}s", text.trim())),
        ValueKind::Rate if text.trim_start().starts_with("step") => {
            parse_arrivals(text, Plain::Seconds).map(|arrivals| arrivals_text(&arrivals))
        }
        _ => Ok(text.to_owned()),
    }
}

/// init, prepare, cleanup, dispose: one operation, a forced division, no limits.
fn special(
    reader: &mut XmlReader<'_>,
    work: &mut Work,
    element: &Element,
    entries: &[Entry],
    kind: OpKind,
    division: Division,
) {
    let word = reader.text(element, "type").map(|a| a.text.value.trim().to_owned()).unwrap_or_default();
    for child in element.children_named("operation") {
        if reader.text(child, "type").is_none_or(|a| a.text.value.trim() != word) {
            let message = format!("an operation inside a {word} work is discarded");
            let hint = format!("the config of a {word} work stands on the <work> itself");
            reader.mistakes.warning(child.span, message, hint);
        }
    }
    objects_without_effect(reader, entries, kind);
    work.division = division;
    let settings = settings(entries, kind, &work.storage);
    if !reader.room.take(room::of_settings(&settings.0), element.span, reader.mistakes) {
        return;
    }
    let mut operation = operation::build(kind, true, &settings, Dialect::Xml, element.span, reader.mistakes);
    operation.division = division;
    work.operations = vec![operation];
}

/// COSBench's init is its prepare with `objects=r(0,0)`, and its dispose is its cleanup so; objects of the user's own,
/// inherited ones too, win.
fn objects_without_effect(reader: &mut XmlReader<'_>, entries: &[Entry], kind: OpKind) {
    let (does, instead) = match kind {
        OpKind::Init => ("write these objects, too", "add a prepare stage with them"),
        OpKind::Dispose => ("delete these objects first", "add a cleanup stage with them before it"),
        _ => return,
    };
    let is_objects = |entry: &&Entry| entry.row.is_some_and(|key| key.id == KeyId::Objects);
    let Some(entry) = entries.iter().find(is_objects) else { return };
    if entry.value.parse::<IntSelector>().is_ok_and(|numbers| !numbers.is_nothing()) {
        let word = kind.word();
        let message = format!("objects has no effect on {word}: COSBench would {does}");
        reader.mistakes.warning(entry.span(), message, instead);
    }
}

fn normal(reader: &mut XmlReader<'_>, work: &mut Work, element: &Element, level: &Level) {
    let mut own_names = Vec::new();
    let (mut has_weights, mut unknown) = (false, false);
    for child in element.children_named("operation") {
        if work.operations.len() == MAX_PER_PARENT {
            let hint = format!("at most {MAX_PER_PARENT}");
            reader.mistakes.error(child.span, "too many operations in one work", hint);
            break;
        }
        let kind = op_kind(reader, child);
        unknown |= kind.is_none();
        let Some(read) = read_operation(reader, child, kind, level, work) else { continue };
        own_names.push(read.own_name);
        has_weights |= read.has_weight;
        work.operations.push(read.operation);
    }
    if element.children_named("operation").next().is_none() {
        let message = format!("the work `{}` has no <operation>", shown(&work.name));
        reader.mistakes.error(
            element.span,
            message,
            "add one, e.g. <operation type=\"read\" ratio=\"100\" config=\"..\"/>",
        );
    } else if !has_weights && !unknown && !reader.room.is_full() {
        // No ratio at all is 0, and not the -0 of an empty sum.
        let sum = work.operations.iter().map(|o| o.weight).sum::<f64>().abs();
        // An illegal ratio makes the sum NaN, which is not reported again.
        if (sum - 100.0).abs() > 1e-9 {
            let message = format!("op ratio should sum to 100, not {sum}");
            let hint = if work.operations.len() > 1 {
                "change the ratios; an operation without a ratio counts 100"
            } else {
                "a single operation needs no ratio"
            };
            reader.mistakes.error(element.span, message, hint);
        }
    }
    operation::name_operations(&mut work.operations, &own_names);
}

struct ReadOperation {
    operation: Operation,
    own_name: bool,
    has_weight: bool,
}

/// `None` for an operation that is dropped: ratio 0, or a type that nobody knows.
fn read_operation(
    reader: &mut XmlReader<'_>,
    element: &Element,
    kind: Option<OpKind>,
    outer: &Level,
    work: &Work,
) -> Option<ReadOperation> {
    if reader.room.is_full() {
        return None;
    }
    reader.check_names(element, attributes::OPERATION, &[]);
    let level = reader.enter(element, outer);
    let ratio = ratio(reader, element);
    let own_division = division(reader, element);
    let entries = reader.interpolated(&level.entries);
    let weight = weight(reader, &entries);
    let kind = kind?;
    if weight.is_none() && ratio == 0.0 {
        return None;
    }
    let reads = |key: &Key| key.scope == Scope::Mix || reads(kind, key);
    without_effect(reader, &level, outer, kind.word(), reads);
    let settings = settings(&entries, kind, &work.storage);
    let read = settings.0.iter().filter(|setting| operation::is_read(kind, setting, Dialect::Xml));
    if !reader.room.take(room::of_settings(read), element.span, reader.mistakes) {
        return None;
    }
    let mut operation = operation::build(kind, false, &settings, Dialect::Xml, element.span, reader.mistakes);
    operation.weight = weight.unwrap_or(ratio);
    operation.division = own_division.unwrap_or(work.division);
    Some(ReadOperation {
        operation,
        own_name: settings.get(KeyId::Name).is_some(),
        has_weight: weight.is_some(),
    })
}

fn division(reader: &mut XmlReader<'_>, element: &Element) -> Option<Division> {
    let attribute = reader.text(element, "division").filter(|a| !a.text.value.trim().is_empty())?;
    let (read, span) = (parse_division(&attribute.text.value), attribute.text.span);
    read.map_err(|(message, hint)| reader.mistakes.error(span, message, hint)).ok()
}

fn op_kind(reader: &mut XmlReader<'_>, element: &Element) -> Option<OpKind> {
    let Some(attribute) = reader.text(element, "type") else {
        let hint = "add type=\"read\" (or write, delete, list, head ..)";
        reader.mistakes.error(element.span, "an operation needs a type", hint);
        return None;
    };
    match parse_op_word(attribute.text.value.trim()) {
        Ok(kind) => Some(kind),
        Err((message, hint)) => {
            reader.mistakes.error(attribute.text.span, message, hint);
            None
        }
    }
}

/// The operation types of normal works.
pub(crate) fn parse_op_word(word: &str) -> Result<OpKind, Complaint> {
    let usual = || OpKind::TABLE.iter().filter(|row| !row.is_special);
    if let Some(row) = usual().find(|row| row.word == word) {
        return Ok(row.kind);
    }
    let hint = if OpKind::TABLE.iter().any(|row| row.word == word) || word == "mprepare" {
        format!("{word} is a type of work: <work type=\"{word}\" ..>")
    } else if word == "delay" {
        "for a pause write a stage of its own with <work type=\"delay\"/> and closuredelay".to_owned()
    } else {
        suggest::hint(word, usual().map(|row| row.word))
    };
    Err((format!("unrecognized operation: {}", shown(word)), hint))
}

fn ratio(reader: &mut XmlReader<'_>, element: &Element) -> f64 {
    let Some(attribute) = reader.text(element, "ratio") else { return 100.0 };
    let (value, span) = (attribute.text.value.trim().to_owned(), attribute.text.span);
    if value.is_empty() {
        reader.nothing("ratio", span);
        return 0.0;
    }
    match value.parse::<i64>() {
        Ok(ratio @ 0..=100) => ratio as f64,
        _ => {
            let message = format!("illegal operation ratio: {}", shown(&value));
            reader.mistakes.error(span, message, "a whole number of percent, 0 to 100");
            f64::NAN
        }
    }
}

fn weight(reader: &mut XmlReader<'_>, entries: &[Entry]) -> Option<f64> {
    let entry = entries.iter().find(|e| e.own && e.key == Key::of(KeyId::Weight).xml)?;
    let weight = entry.value.parse::<f64>().ok().filter(|w| *w > 0.0 && *w <= 1e9);
    if weight.is_none() {
        let message = format!("illegal weight: {}", shown(&entry.value));
        reader.mistakes.error(entry.value_span, message, "a number above 0");
    }
    weight
}

/// Keys of operations that forks of COSBench read from the storage: an operation that has none of its own takes them.
const FROM_STORAGE: [KeyId; 5] =
    [KeyId::PartSize, KeyId::RangeRead, KeyId::ObjectLength, KeyId::ChunkLength, KeyId::Prefetch];

/// Entries as settings; what forks of COSBench write on the storage holds where the operation names none.
fn settings(entries: &[Entry], kind: OpKind, storage: &TargetSpec) -> Settings {
    let mut settings = Settings::default();
    for entry in entries {
        let Some(key) = entry.row else { continue };
        if key.is_for_operations() {
            let (value, span) = (entry.value.clone(), entry.value_span);
            settings.set(Setting { id: key.id, value, span, own: entry.own });
        }
    }
    for id in FROM_STORAGE {
        let key = Key::of(id);
        if !key.is_read_by(kind) || settings.get(id).is_some() {
            continue;
        }
        let entry = storage.config.entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(key.xml));
        if let Some((ConfigValue::Text(value), span)) = entry.map(|entry| (&entry.value, entry.span)) {
            settings.set(Setting { id, value: value.clone(), span, own: false });
        }
    }
    settings
}

/// Takes from the storage what its operations have taken: no adaptor reads these keys. A part size stays, which some do.
fn drop_taken(storage: &mut TargetSpec) {
    let is_taken = |entry: &ConfigEntry| {
        matches!(entry.value, ConfigValue::Text(_))
            && FROM_STORAGE
                .iter()
                .any(|id| *id != KeyId::PartSize && entry.key.eq_ignore_ascii_case(Key::of(*id).xml))
    };
    storage.config.entries.retain(|entry| !is_taken(entry));
}
