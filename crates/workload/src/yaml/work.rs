//! Works and operations of native YAML.

use std::time::Duration;

use cosmark_units::{Complaint, Plain};

use crate::assemble::{MAX_PER_PARENT, WORK_TYPES, WorkType, blank_work, no_target};
use crate::diagnostics::shown;
use crate::diagnostics::suggest;
use crate::keys::attributes::{self, AttributeRow};
use crate::keys::operation::{self, Dialect};
use crate::keys::values::{Access, parse_division};
use crate::keys::{Key, KeyId, ValueKind};
use crate::model::arrivals::{self, MAX_STEPS, Parts};
use crate::model::{Arrivals, Load, Operation, Work, WorkKind};
use crate::room;
use crate::xml::work::parse_op_word;
use crate::yaml::fields::{Fields, settings};
use crate::yaml::tree::{Node, NodeKind};
use crate::yaml::{Level, YamlReader};

/// Reads one work.
pub(crate) fn read(reader: &mut YamlReader<'_>, node: &Node, outer: &Level) -> Option<Work> {
    let fields = Fields::of(node, "a work", reader.mistakes)?;
    let work_type = match fields.get("type") {
        None => &WORK_TYPES[0],
        // Of an unknown type nothing more can be said.
        Some(_) => fields.read("type", reader.mistakes, parse_work_type)?,
    };
    fields.check(attributes::WORK, work_type.special.is_some(), reader.mistakes);
    let mut level = reader.enter(&fields, outer);
    if !reader.room.take(level.targets_bytes(), fields.span, reader.mistakes) {
        return None;
    }
    if work_type.special.is_some() {
        let mut own = settings(fields.pairs, reader.mistakes);
        // `name` is a field of the work here, and no key of its operation: that one's name stands in `defaults`.
        own.0.retain(|setting| setting.id != KeyId::Name);
        level.settings = level.settings.overridden(&own);
    }
    reader.stored &= level.storage.is_some();
    let mut work = Work {
        name: name(reader, &fields, work_type),
        auth: level.auth.clone().unwrap_or_else(no_target),
        storage: level.storage.clone().unwrap_or_else(no_target),
        span: fields.span,
        ..blank_work(work_type.kind)
    };
    if fields.get("workers").is_none() {
        let hint = "add workers: 8, the total over all drivers";
        reader.mistakes.error(fields.span, "must specify 'workers' for a work", hint);
    }
    // What a special work has no use for is read, to be refused where it is wrong, and forgotten.
    let mut unused = work.clone();
    for (row, value) in attributes::of_work() {
        let place = if row.normal_only && work_type.special.is_some() { &mut unused } else { &mut work };
        // An empty name of a driver is a mistake.
        let read = if row.value == ValueKind::Text && fields.get(row.yaml).is_some() {
            let name = fields.name(row.yaml, reader.mistakes);
            name.is_none_or(|name| (value.set)(place, &name).is_ok())
        } else {
            fields.put(row, value, place, reader.mistakes)
        };
        if !read {
            stand_in(row, |text| (value.set)(place, text));
        }
    }
    match work_type.special {
        Some((kind, division)) => {
            let own = unused.division == division;
            useless(reader, &fields, own, work_type.word);
            work.division = division;
            if !reader.room.take(room::of_settings(&level.settings.0), fields.span, reader.mistakes) {
                return None;
            }
            let mut operation =
                operation::build(kind, true, &level.settings, Dialect::Yaml, fields.span, reader.mistakes);
            operation.division = division;
            work.operations = vec![operation];
        }
        None => {
            work.load = load(reader, &fields);
            normal(reader, &mut work, &fields, &level);
        }
    }
    Some(work)
}

/// A limit that is given but cannot be read is reported once: the stand-in keeps the check from saying that it is missing.
fn stand_in(row: &AttributeRow, set: impl FnOnce(&str) -> Result<(), Complaint>) {
    let text = match row.value {
        ValueKind::Duration => "1s",
        ValueKind::Count | ValueKind::Integer | ValueKind::Bytes => "1",
        _ => return,
    };
    // A stand-in is always taken.
    drop(set(text));
}

fn name(reader: &mut YamlReader<'_>, fields: &Fields<'_>, work_type: &WorkType) -> String {
    if fields.get("name").is_none() && work_type.kind == WorkKind::Normal {
        reader.mistakes.error(fields.span, "work name cannot be empty", "add name: to the work");
    }
    fields.name("name", reader.mistakes).unwrap_or_else(|| work_type.word.to_owned())
}

fn parse_work_type(text: &str) -> Result<&'static WorkType, Complaint> {
    let word = text.trim();
    if let Some(found) = WORK_TYPES.iter().find(|t| t.word == word) {
        return Ok(found);
    }
    let hint = match word {
        "delay" => "for a pause write a stage with delay: 30s and no works".to_owned(),
        _ => suggest::hint(word, WORK_TYPES.iter().map(|t| t.word)),
    };
    Err((format!("unknown work type `{}`", shown(word)), hint))
}

/// Fields that a special work has no use for; `own_division` when the division is the one that it has anyway.
fn useless(reader: &mut YamlReader<'_>, fields: &Fields<'_>, own_division: bool, word: &str) {
    let useless = |key: &str| attributes::WORK.iter().any(|row| row.normal_only && row.yaml == key);
    for pair in fields.pairs.iter().filter(|p| useless(&p.key)) {
        if pair.key != "division" || !own_division {
            let message = format!("{} has no effect on {word}", pair.key);
            reader.mistakes.warning(
                pair.key_span,
                message,
                "it makes one pass over its range; drop the field",
            );
        }
    }
}

fn normal(reader: &mut YamlReader<'_>, work: &mut Work, fields: &Fields<'_>, level: &Level) {
    let Some(list) = fields.get("operations") else {
        let message = format!("the work `{}` has no operations", shown(&work.name));
        reader.mistakes.error(fields.span, message, "add operations: with at least one");
        return;
    };
    let mut own_names = Vec::new();
    let mut ratios = Vec::new();
    for node in reader.items(list, "operations") {
        if work.operations.len() == MAX_PER_PARENT {
            let hint = format!("at most {MAX_PER_PARENT}");
            reader.mistakes.error(node.span, "too many operations in one work", hint);
            break;
        }
        let Some(fields) = Fields::of(node, "an operation", reader.mistakes) else { continue };
        let Some((operation, own_name)) = read_operation(reader, &fields, level, work) else { continue };
        let ratio = fields.read("ratio", reader.mistakes, parse_ratio);
        ratios.push((ratio, fields.get("ratio").is_some(), fields.span));
        own_names.push(own_name);
        work.operations.push(operation);
    }
    let any = ratios.iter().any(|r| r.1);
    for (ratio, given, span) in &ratios {
        if any && !given {
            reader.mistakes.error(
                *span,
                "this operation has no ratio, others have",
                "give all of them or none",
            );
        } else if *ratio == Some(0.0) {
            reader.mistakes.warning(*span, "an operation with ratio 0 is dropped", "delete it");
        }
    }
    let weights = ratios.iter().map(|r| if any { r.0.unwrap_or(1.0) } else { 100.0 });
    for (operation, weight) in work.operations.iter_mut().zip(weights) {
        operation.weight = weight;
    }
    let mut keep = work.operations.iter().map(|o| o.weight > 0.0).collect::<Vec<_>>().into_iter();
    own_names.retain(|_| keep.next().unwrap_or(true));
    let before = work.operations.len();
    work.operations.retain(|o| o.weight > 0.0);
    if work.operations.is_empty() && before > 0 {
        reader.mistakes.error(list.span, "every ratio is 0", "give at least one operation a ratio");
    }
    operation::name_operations(&mut work.operations, &own_names);
}

/// A weight of the mix.
pub(crate) fn parse_ratio(text: &str) -> Result<f64, Complaint> {
    let ratio = text.trim().parse::<f64>().ok().filter(|r| (0.0..=1e9).contains(r));
    ratio.ok_or_else(|| {
        (
            format!("illegal operation ratio: {}", shown(text)),
            "a number, 0 or more; only the proportions count".to_owned(),
        )
    })
}

fn read_operation(
    reader: &mut YamlReader<'_>,
    fields: &Fields<'_>,
    level: &Level,
    work: &Work,
) -> Option<(Operation, bool)> {
    if reader.room.is_full() {
        return None;
    }
    fields.check(attributes::OPERATION, true, reader.mistakes);
    if fields.get("type").is_none() {
        let hint = "add type: read (or write, delete, list, head ..)";
        reader.mistakes.error(fields.span, "an operation needs a type", hint);
    }
    let kind = fields.read("type", reader.mistakes, |text| parse_op_word(text.trim()));
    let own = settings(fields.pairs, reader.mistakes);
    let division = fields.read("division", reader.mistakes, parse_division);
    let kind = kind?;
    for setting in &own.0 {
        let key = Key::of(setting.id);
        if !key.is_read_by(kind) {
            let message = format!("{} has no effect on {}", key.yaml, kind.word());
            reader.mistakes.warning(setting.span, message, "drop it");
        }
    }
    let effective = level.settings.overridden(&own);
    let read = effective.0.iter().filter(|setting| operation::is_read(kind, setting, Dialect::Yaml));
    if !reader.room.take(room::of_settings(read), fields.span, reader.mistakes) {
        return None;
    }
    let mut operation =
        operation::build(kind, false, &effective, Dialect::Yaml, fields.span, reader.mistakes);
    operation.division = division.unwrap_or(work.division);
    Some((operation, effective.get(KeyId::Name).is_some()))
}

/// `rate` and `pace`.
fn load(reader: &mut YamlReader<'_>, fields: &Fields<'_>) -> Load {
    let mut parts = Parts::default();
    let mut span = fields.span;
    if let Some(node) = fields.get("rate") {
        span = node.span;
        rate(reader, node, &mut parts);
    }
    if let Some(node) = fields.get("pace") {
        span = node.span;
        if let Some(pace) = Fields::of(node, "pace", reader.mistakes) {
            pace.check(attributes::PACE, false, reader.mistakes);
            of_load(reader, &pace, attributes::PACE, &mut parts);
        }
    }
    parts.load().unwrap_or_else(|(message, hint)| {
        reader.mistakes.error(span, message, hint);
        Load::Closed
    })
}

/// The single values of `rows`.
fn of_load(reader: &mut YamlReader<'_>, fields: &Fields<'_>, rows: &[AttributeRow], parts: &mut Parts) {
    for row in rows {
        if let Access::Load(value) = row.access {
            fields.put(row, value, parts, reader.mistakes);
        }
    }
}

/// One line, or a map with a shape.
fn rate(reader: &mut YamlReader<'_>, node: &Node, parts: &mut Parts) {
    let NodeKind::Mapping(_) = node.kind else {
        let text = crate::yaml::fields::text_of(node, "rate", reader.mistakes);
        if let Some((text, span)) = text
            && let Err((message, hint)) = (attributes::ARRIVALS.set)(parts, text)
        {
            reader.mistakes.error(span, message, hint);
        }
        return;
    };
    let Some(fields) = Fields::of(node, "a rate", reader.mistakes) else { return };
    of_load(reader, &fields, attributes::RATE, parts);
    let shape = fields.text("shape", reader.mistakes).map_or("constant", |(text, _)| text);
    let mut fail = |message: String, hint: String| reader.mistakes.error(fields.span, message, hint);
    let known: &[&'static str] = match shape {
        "constant" | "poisson" => &["shape", "when_full", "rate"],
        "ramp" => &["shape", "when_full", "from", "to"],
        "step" => &["shape", "when_full", "steps"],
        "recorded" => &["shape", "when_full", "file", "time_warp"],
        other => {
            let hint = suggest::hint(other, ["constant", "poisson", "ramp", "step", "recorded"]);
            return fail(format!("unknown shape `{}`", shown(other)), hint);
        }
    };
    for key in known.iter().filter(|key| !["shape", "when_full", "time_warp"].contains(key)) {
        if fields.get(key).is_none() {
            fail(format!("the shape {shape} needs `{key}`"), format!("add {key}:"));
        }
    }
    fields.check_words(known, reader.mistakes);
    parts.arrivals = arrivals(reader, &fields, shape);
}

fn arrivals(reader: &mut YamlReader<'_>, fields: &Fields<'_>, shape: &str) -> Option<Arrivals> {
    let mistakes = &mut *reader.mistakes;
    match shape {
        "constant" => {
            Some(Arrivals::Constant { rate_per_s: fields.read("rate", mistakes, cosmark_units::parse_rate)? })
        }
        "poisson" => {
            Some(Arrivals::Poisson { rate_per_s: fields.read("rate", mistakes, cosmark_units::parse_rate)? })
        }
        "ramp" => {
            let from = fields.read("from", mistakes, cosmark_units::parse_rate_or_zero);
            let to = fields.read("to", mistakes, cosmark_units::parse_rate_or_zero);
            let ramp = arrivals::ramp(from?, to?);
            ramp.map_err(|(message, hint)| mistakes.error(fields.span, message, hint)).ok()
        }
        "step" => {
            let list = fields.get("steps")?;
            let items = reader.items(list, "steps");
            let steps = items.iter().take(MAX_STEPS + 1).map(|item| step(reader, item)).collect::<Vec<_>>();
            if steps.len() > MAX_STEPS {
                reader.mistakes.error(list.span, "too many steps", format!("at most {MAX_STEPS}"));
            }
            let steps = steps.into_iter().collect::<Option<Vec<_>>>()?;
            (!steps.is_empty()).then_some(Arrivals::Step { steps })
        }
        _ => {
            let path = fields.name("file", mistakes)?;
            let time_warp = match fields.get("time_warp") {
                Some(_) => fields.read("time_warp", mistakes, arrivals::parse_time_warp)?,
                None => 1.0,
            };
            Some(Arrivals::Recorded { path, time_warp })
        }
    }
}

fn step(reader: &mut YamlReader<'_>, node: &Node) -> Option<(f64, Duration)> {
    let fields = Fields::of(node, "a step", reader.mistakes)?;
    fields.check_words(&["rate", "for"], reader.mistakes);
    for key in ["rate", "for"] {
        if fields.get(key).is_none() {
            reader.mistakes.error(
                fields.span,
                format!("a step needs `{key}`"),
                "write {rate: 100/s, for: 10s}",
            );
        }
    }
    let rate = fields.read("rate", reader.mistakes, cosmark_units::parse_rate);
    let time = fields.read("for", reader.mistakes, |text| arrivals::step_time(text, Plain::Refused));
    Some((rate?, time?))
}
