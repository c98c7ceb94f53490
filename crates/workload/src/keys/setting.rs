//! `--set KEY=VALUE`: changes a workload that was read. KEY is `[stage.[work.]]attribute`; without a stage it means every
//! work that the attribute fits.

use cosmark_units::{Complaint, parse_integer};

use crate::diagnostics::shown;
use crate::diagnostics::suggest;
use crate::keys::attributes::{self, AttributeRow};
use crate::keys::operation::{self, Dialect, Setting, Settings, value_text};
use crate::keys::values::Value;
use crate::keys::{KEYS, Key, KeyId};
use crate::model::arrivals::Parts;
use crate::model::selector::IntSelector;
use crate::model::{ConfigEntry, OpKind, Stage, TargetSpec, Work, WorkKind, Workload};
use crate::xml::secret_reference;
use crate::{Diagnostic, Span, room};

/// COSBench's word for the acceptable failure ratio, which counts per million.
const AFR: &str = "afr";

/// The single values of works, of stages and of the workload, and the name; keys of operations come from their table.
fn words() -> impl Iterator<Item = &'static str> + Clone {
    let of_works = || attributes::of_work().map(|(row, _)| row.yaml);
    let of_loads = || attributes::of_load().map(|(row, _)| row.yaml);
    let outer = || {
        attributes::of_stage()
            .map(|(row, _)| row.yaml)
            .chain(attributes::of_workload().map(|(row, _)| row.yaml))
    };
    let words: Vec<&str> = of_works().chain(of_loads()).chain([AFR, "name"]).chain(outer()).collect();
    words.into_iter()
}

/// Applies one `KEY=VALUE`. Nothing is changed when it cannot be applied. The caller checks the workload again
/// ([`crate::check::check`]).
///
/// # Errors
/// What is wrong and what was probably meant.
pub fn apply_setting(workload: &mut Workload, setting: &str) -> Result<(), String> {
    let Some((path, value)) = setting.split_once('=') else {
        return Err(format!(
            "`{}` is no KEY=VALUE: write e.g. workers=16 or main.runtime=60s",
            shown(setting)
        ));
    };
    let (path, value) = (path.trim(), value.trim());
    room::has_room(workload, value.len(), 2 * value.len())
        .map_err(|(message, hint)| format!("{}: {message}: {hint}", shown(path)))?;
    let mut changed = workload.clone();
    let done = find_and_apply(&mut changed, path, value);
    done.map_err(|(message, hint)| format!("{}: {message}: {hint}", shown(path)))?;
    *workload = changed;
    Ok(())
}

/// Where an attribute is to be applied.
#[derive(Clone, Copy)]
struct Place<'p> {
    stage: Option<&'p str>,
    work: Option<&'p str>,
    attribute: &'p str,
}

fn is_attribute(word: &str) -> bool {
    let target = |prefix: &str| word.strip_prefix(prefix).is_some_and(|key| !key.is_empty());
    words().any(|known| known == word)
        || target("storage.")
        || target("auth.")
        || Key::find_in_yaml(word).is_some()
}

fn find_and_apply(workload: &mut Workload, path: &str, value: &str) -> Result<(), Complaint> {
    let place = place(workload, path)?;
    match (place.attribute, place.stage) {
        ("name", None) => {
            if value.is_empty() {
                return Err(complaint("a workload needs a name", value, "write e.g. name=mixed"));
            }
            value.clone_into(&mut workload.name);
            return Ok(());
        }
        (word, stage)
            if let Some((_, value_of)) = attributes::of_workload().find(|(row, _)| row.yaml == word) =>
        {
            if stage.is_some() {
                return Err(complaint("belongs to the workload", word, "write it without a stage"));
            }
            return (value_of.set)(workload, value);
        }
        _ => {}
    }
    let mut applied = false;
    for stage in &mut workload.stages {
        if place.stage.is_none_or(|name| name == stage.name) {
            applied |= apply_to_stage(stage, &place, value)?;
        }
    }
    if applied {
        return Ok(());
    }
    let hint = match Key::find_in_yaml(place.attribute) {
        Some(key) => read_by(key),
        None => "special works have no limits, mixes or rates".to_owned(),
    };
    Err(complaint("fits no work here", place.attribute, &hint))
}

/// Which operations read a key that none of them here does.
fn read_by(key: &Key) -> String {
    let readers = OpKind::TABLE.iter().filter(|row| key.is_read_by(row.kind));
    let words: Vec<&str> = readers.map(|row| row.word).collect();
    format!("of operations only these read it where they say it: {}", words.join(", "))
}

fn complaint(what: &str, value: &str, hint: &str) -> Complaint {
    (format!("{what}: `{}`", shown(value)), hint.to_owned())
}

/// Names may contain dots, so every stage and work is tried as the beginning of the path.
fn place<'p>(workload: &Workload, path: &'p str) -> Result<Place<'p>, Complaint> {
    if is_attribute(path) {
        return Ok(Place { stage: None, work: None, attribute: path });
    }
    let mut unknown = None;
    for stage in &workload.stages {
        let Some(rest) = path.strip_prefix(stage.name.as_str()).and_then(|rest| rest.strip_prefix('.'))
        else {
            continue;
        };
        let stage_name = &path[..stage.name.len()];
        if is_attribute(rest) {
            return Ok(Place { stage: Some(stage_name), work: None, attribute: rest });
        }
        unknown = Some(rest);
        for work in &stage.works {
            let Some(last) = rest.strip_prefix(work.name.as_str()).and_then(|rest| rest.strip_prefix('.'))
            else {
                continue;
            };
            let work_name = &rest[..work.name.len()];
            if is_attribute(last) {
                return Ok(Place { stage: Some(stage_name), work: Some(work_name), attribute: last });
            }
            unknown = Some(last);
        }
    }
    let word = unknown.unwrap_or(path);
    let attributes = words().chain(KEYS.iter().filter(|k| k.is_for_operations()).map(|k| k.yaml));
    if let Some(near) = suggest::nearest(word, attributes) {
        return Err(complaint("no such attribute", word, &format!("did you mean {near}?")));
    }
    if unknown.is_none()
        && let Some((first, _)) = path.split_once('.')
    {
        let stages = workload.stages.iter().map(|s| s.name.as_str());
        if ["storage", "auth"].contains(&first) {
            return Err(complaint("no such attribute", word, "write storage.KEY=VALUE or auth.KEY=VALUE"));
        }
        return Err(complaint("no such stage", first, &suggest::hint(first, stages)));
    }
    let hint = format!(
        "known: {} storage.KEY auth.KEY and the keys of operations",
        words().collect::<Vec<_>>().join(" ")
    );
    Err(complaint("no such attribute", word, &hint))
}

fn apply_to_stage(stage: &mut Stage, place: &Place<'_>, value: &str) -> Result<bool, Complaint> {
    if place.work.is_none()
        && let Some((_, value_of)) = attributes::of_stage().find(|(row, _)| row.yaml == place.attribute)
    {
        (value_of.set)(stage, value)?;
        return Ok(true);
    }
    if place.attribute == "name" && place.work.is_none() {
        return Err(complaint("stages keep their names", value, "rename the stage in the file"));
    }
    let mut applied = false;
    for work in &mut stage.works {
        if place.work.is_some_and(|name| name != work.name) {
            continue;
        }
        applied |= apply_to_work(work, place.attribute, value)?;
    }
    Ok(applied)
}

fn apply_to_work(work: &mut Work, attribute: &str, value: &str) -> Result<bool, Complaint> {
    if let Some(key) = attribute.strip_prefix("storage.") {
        set_target(&mut work.storage, key, value);
        return Ok(true);
    }
    if let Some(key) = attribute.strip_prefix("auth.") {
        set_target(&mut work.auth, key, value);
        return Ok(true);
    }
    let afr;
    let (attribute, value) = if attribute == AFR {
        afr = share_of_afr(value);
        ("acceptable_failure_ratio", afr.as_str())
    } else {
        (attribute, value)
    };
    let skipped = |row: &AttributeRow| row.normal_only && work.kind != WorkKind::Normal;
    if let Some((row, value_of)) = attributes::of_work().find(|(row, _)| row.yaml == attribute) {
        return if skipped(row) { Ok(false) } else { (value_of.set)(work, value).map(|()| true) };
    }
    if let Some((row, value_of)) = attributes::of_load().find(|(row, _)| row.yaml == attribute) {
        return if skipped(row) { Ok(false) } else { set_load(work, row, value_of, value).map(|()| true) };
    }
    if attribute == "name" {
        return Err(complaint("works keep their names", value, "rename the work in the file"));
    }
    apply_to_operations(work, attribute, value)
}

/// COSBench's parts per million when it is a whole number above 1, else a share of 1 as it stands.
fn share_of_afr(value: &str) -> String {
    let per_million = parse_integer(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 1);
    per_million.map_or_else(|| value.to_owned(), |n| (f64::from(n) / 1e6).to_string())
}

/// A rate opens the loop; a pause or a rate per worker closes it.
fn set_load(
    work: &mut Work,
    row: &AttributeRow,
    value_of: Value<Parts>,
    value: &str,
) -> Result<(), Complaint> {
    let mut parts = Parts::of(&work.load);
    let is_open = parts.arrivals.is_some();
    (value_of.set)(&mut parts, value)?;
    if row.yaml == "when_full" && !is_open {
        return Err(complaint("belongs to an open loop", value, "set a rate first"));
    }
    let paces = attributes::PACE.iter().any(|pace| pace.yaml == row.yaml);
    parts = if paces {
        Parts { arrivals: None, when_full: None, ..parts }
    } else {
        Parts { think_time: None, rate_per_worker: None, ..parts }
    };
    work.load = parts.load()?;
    Ok(())
}

fn set_target(target: &mut TargetSpec, key: &str, value: &str) {
    if key == "type" {
        value.clone_into(&mut target.kind);
        return;
    }
    let value = secret_reference(value);
    match target.config.entries.iter_mut().find(|e| e.key == key) {
        Some(entry) => entry.value = value,
        None => target.config.entries.push(ConfigEntry { key: key.to_owned(), value, span: Span::default() }),
    }
}

/// Sets a key of every operation that reads it, by building the operation again from its keys.
fn apply_to_operations(work: &mut Work, word: &str, value: &str) -> Result<bool, Complaint> {
    let Some(key) = Key::find_in_yaml(word) else { return Ok(false) };
    if key.id == KeyId::Name {
        return Ok(false);
    }
    let iterates = work.kind != WorkKind::Normal;
    let mut applied = false;
    for operation in &mut work.operations {
        // A list without objects lists; giving it objects would make it something else.
        let turns = key.id == KeyId::Objects && operation.objects.is_none();
        if !key.is_read_by(operation.kind) || turns {
            continue;
        }
        if iterates && matches!(key.id, KeyId::Containers | KeyId::Objects) {
            let selector: IntSelector =
                value.parse().map_err(|e: crate::model::selector::SelectorError| (e.message, e.hint))?;
            if !matches!(selector, IntSelector::Range { .. }) {
                let (lo, hi) = selector.bounds();
                let hint = format!("special works walk ranges: write r({lo},{hi}), or name a stage");
                return Err(complaint("unrecognized range expression", value, &hint));
            }
        }
        let mut settings = Settings::default();
        for id in operation::keys_to_write(operation) {
            if let Some(value) = value_text(operation, id, Dialect::Xml) {
                settings.set(Setting { id, value, span: Span::default(), own: true });
            }
        }
        settings.set(Setting { id: key.id, value: value.to_owned(), span: Span::default(), own: true });
        let mut mistakes = crate::diagnostics::Mistakes::default();
        let rebuilt = operation::build(
            operation.kind,
            iterates,
            &settings,
            Dialect::Yaml,
            operation.span,
            &mut mistakes,
        );
        if let Some(Diagnostic { message, hint, .. }) = mistakes.finish().into_iter().next() {
            return Err((message, hint.unwrap_or_default()));
        }
        let old = std::mem::replace(operation, rebuilt);
        (operation.id, operation.name) = (old.id, old.name);
        (operation.weight, operation.division) = (old.weight, old.division);
        applied = true;
    }
    Ok(applied)
}
