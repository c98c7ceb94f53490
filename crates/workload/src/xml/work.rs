//! `<work>` and `<operation>`: COSBench user guide, sections "work" and "operation"; special works discard their
//! operations and make their own.

use cosmark_units::{Complaint, parse_bool, parse_duration};

use crate::assemble::{DEFAULT_AFR_PER_MILLION, DIVISIONS, MAX_PER_PARENT, WORK_TYPES, WorkType};
use crate::diagnostics::shown;
use crate::diagnostics::suggest;
use crate::keys::attributes;
use crate::keys::operation::{self, Dialect, Setting, Settings};
use crate::keys::{Key, KeyId, Scope};
use crate::model::arrivals::{self, Parts};
use crate::model::{ConfigValue, Division, Load, OpKind, Operation, TargetSpec, Work, WorkKind};
use crate::xml::config_list::Entry;
use crate::xml::tree::Element;
use crate::xml::{Level, XmlReader};

/// Reads one work.
pub(crate) fn read(reader: &mut XmlReader<'_>, element: &Element, outer: &Level) -> Option<Work> {
    reader.check_names(element, attributes::WORK, &["auth", "storage", "operation"]);
    let work_type = work_type(reader, element);
    let level = reader.enter(element, outer);
    let entries = reader.interpolated(&level.entries);
    let (auth, storage) = reader.targets(&level);
    let mut work = Work {
        name: name(reader, element, work_type),
        kind: work_type.kind,
        workers: workers(reader, element),
        interval: reader.seconds(element, "interval").unwrap_or(std::time::Duration::from_secs(5)),
        division: division(reader, element).unwrap_or_default(),
        runtime: reader.seconds(element, "runtime").unwrap_or_default(),
        rampup: reader.seconds(element, "rampup").unwrap_or_default(),
        rampdown: reader.seconds(element, "rampdown").unwrap_or_default(),
        total_ops: reader.whole(element, "totalOps", u64::MAX).filter(|n| *n > 0),
        total_bytes: reader.whole(element, "totalBytes", u64::MAX).filter(|n| *n > 0),
        afr_per_million: afr(reader, element, work_type),
        driver: driver(reader, element),
        load: Load::Closed,
        histogram: true,
        auth,
        storage,
        operations: Vec::new(),
        span: element.span,
    };
    work_keys(reader, &mut work, &entries);
    match work_type.special {
        Some((kind, division)) => special(reader, &mut work, element, &entries, kind, division),
        None => normal(reader, &mut work, element, &level),
    }
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

fn workers(reader: &mut XmlReader<'_>, element: &Element) -> u32 {
    let given = reader.text(element, "workers").is_some();
    let number = reader.whole(element, "workers", u64::from(u32::MAX));
    if !given {
        let hint = "add workers=\"8\": it is the total over all drivers";
        reader.mistakes.error(element.span, "must specify 'workers' for a work", hint);
    }
    // A number that cannot be read was reported; 1 keeps the check from saying it again.
    number.and_then(|n| u32::try_from(n).ok()).unwrap_or(1)
}

fn afr(reader: &mut XmlReader<'_>, element: &Element, work_type: &WorkType) -> u32 {
    let default = if work_type.kind == WorkKind::Normal { DEFAULT_AFR_PER_MILLION } else { 0 };
    let afr = reader.whole(element, "afr", 1_000_000);
    afr.and_then(|n| u32::try_from(n).ok()).unwrap_or(default)
}

fn driver(reader: &XmlReader<'_>, element: &Element) -> Option<String> {
    let driver = reader.text(element, "driver")?.text.value.trim().to_owned();
    (!driver.is_empty() && driver != "none").then_some(driver)
}

fn division(reader: &mut XmlReader<'_>, element: &Element) -> Option<Division> {
    let attribute = reader.text(element, "division")?;
    let word = attribute.text.value.trim();
    if word.is_empty() {
        return None;
    }
    let found = DIVISIONS.iter().find(|row| row.0 == word).map(|row| row.1);
    if found.is_none() {
        let message = format!("unrecognized division strategy: {}", shown(word));
        let hint = suggest::hint(word, DIVISIONS.iter().map(|row| row.0));
        reader.mistakes.error(attribute.text.span, message, hint);
    }
    found
}

/// Keys of the `config` that speak of the work: histogram, pacing, times with a fraction.
fn work_keys(reader: &mut XmlReader<'_>, work: &mut Work, entries: &[Entry]) {
    let special = work.kind != WorkKind::Normal;
    let mut parts = Parts::default();
    let mut load_span = None;
    for entry in entries {
        let Some(key) = entry.row else { continue };
        if key.scope != Scope::Work {
            continue;
        }
        if special && !matches!(key.id, KeyId::Histogram | KeyId::Interval) {
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
        if let Err((message, hint)) = work_key(work, &mut parts, key.id, &entry.value) {
            reader.mistakes.error(entry.value_span, message, hint);
        } else if matches!(key.id, KeyId::Rate | KeyId::WhenFull | KeyId::ThinkTime | KeyId::RatePerWorker) {
            load_span = Some(entry.value_span);
        }
    }
    match parts.load() {
        Ok(load) => work.load = load,
        Err((message, hint)) => reader.mistakes.error(load_span.unwrap_or(work.span), message, hint),
    }
}

fn work_key(work: &mut Work, parts: &mut Parts, id: KeyId, value: &str) -> Result<(), Complaint> {
    match id {
        KeyId::Histogram => {
            let message = || format!("histogram is neither true nor false: `{}`", shown(value));
            work.histogram =
                parse_bool(value).ok_or_else(|| (message(), "write true or false".to_owned()))?;
        }
        KeyId::Rate => parts.arrivals = Some(arrivals::parse_arrivals(value)?),
        KeyId::WhenFull => parts.when_full = Some(arrivals::parse_when_full(value)?),
        KeyId::ThinkTime => parts.think_time = Some(parse_duration(value)?),
        KeyId::RatePerWorker => parts.rate_per_worker = Some(cosmark_units::parse_rate(value)?),
        KeyId::Runtime => work.runtime = parse_duration(value)?,
        KeyId::Rampup => work.rampup = parse_duration(value)?,
        KeyId::Rampdown => work.rampdown = parse_duration(value)?,
        KeyId::Interval => work.interval = parse_duration(value)?,
        _ => {}
    }
    Ok(())
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
    if work.division != division && work.division != Division::None {
        let span = reader.text(element, "division").map_or(element.span, |a| a.text.span);
        let message = format!("a {word} work is always divided its own way");
        reader.mistakes.warning(span, message, "drop the division");
    }
    // COSBench's own expanded files carry totalOps=workers on special works.
    let usual = work.total_ops.is_none_or(|n| n == u64::from(work.workers));
    let times = [work.runtime, work.rampup, work.rampdown];
    if !usual || work.total_bytes.is_some() || times.iter().any(|t| !t.is_zero()) {
        let message = format!("runtime, ramps, totalOps and totalBytes have no effect on a {word} work");
        reader.mistakes.warning(element.span, message, "it makes one pass over its range");
    }
    (work.runtime, work.rampup, work.rampdown) = Default::default();
    (work.total_ops, work.total_bytes, work.division) = (None, None, division);
    let settings = settings(entries, kind, &work.storage);
    let mut operation = operation::build(kind, true, &settings, Dialect::Xml, element.span, reader.mistakes);
    operation.division = division;
    work.operations = vec![operation];
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
    } else if !has_weights && !unknown {
        let sum: f64 = work.operations.iter().map(|o| o.weight).sum();
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
    let settings = settings(&entries, kind, &work.storage);
    let mut operation = operation::build(kind, false, &settings, Dialect::Xml, element.span, reader.mistakes);
    operation.weight = weight.unwrap_or(ratio);
    operation.division = own_division.unwrap_or(work.division);
    Some(ReadOperation {
        operation,
        own_name: settings.get(KeyId::Name).is_some(),
        has_weight: weight.is_some(),
    })
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

/// Entries as settings; multipart takes its part size from the storage when the operation names none.
fn settings(entries: &[Entry], kind: OpKind, storage: &TargetSpec) -> Settings {
    let mut settings = Settings::default();
    for entry in entries {
        let Some(key) = entry.row else { continue };
        if key.is_for_operations() {
            let (value, span) = (entry.value.clone(), entry.value_span);
            settings.set(Setting { id: key.id, value, span, own: entry.own });
        }
    }
    let part_size = Key::of(KeyId::PartSize);
    if part_size.is_read_by(kind) && settings.get(KeyId::PartSize).is_none() {
        let entry = storage.config.entries.iter().find(|e| e.key == part_size.xml);
        if let Some((ConfigValue::Text(value), span)) = entry.map(|e| (&e.value, e.span)) {
            settings.set(Setting { id: KeyId::PartSize, value: value.clone(), span, own: false });
        }
    }
    settings
}
