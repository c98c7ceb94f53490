//! Writes COSBench XML.

use std::fmt::Write as _;
use std::time::Duration;

use cosmark_units::parse_size;

use super::{is_nothing, shared};
use crate::assemble::{blank_work, division_word, type_of};
use crate::diagnostics::{Diagnostic, Mistakes, Span, shown};
use crate::keys::attributes::{self, AttributeRow};
use crate::keys::operation::{self, Dialect};
use crate::keys::values::{parse_share, parse_time};
use crate::keys::{KEYS, Key, KeyId, Scope, ValueKind};
use crate::model::arrivals::Parts;
use crate::model::{ConfigValue, Load, Operation, Stage, TargetSpec, Trigger, Work, WorkKind, Workload};
use crate::xml::config_list;
use crate::xml::secret_reference;

pub(super) fn write(
    workload: &Workload,
    expanded: bool,
    is_secret: fn(&str, &str) -> bool,
) -> (String, Vec<Diagnostic>) {
    let mut writer =
        Writer { out: String::new(), mistakes: Mistakes::default(), expanded, is_secret, outer: Vec::new() };
    writer.workload(workload);
    (writer.out, writer.mistakes.finish())
}

struct Writer {
    out: String,
    mistakes: Mistakes,
    /// Write everything out, as COSBench does in its archive.
    expanded: bool,
    is_secret: fn(&str, &str) -> bool,
    /// Keys of the lists around what is being written, which `${..}` in it would name.
    outer: Vec<String>,
}

/// Attributes of one tag, in order.
struct Tag<'w> {
    writer: &'w mut Writer,
    span: Span,
}

impl Tag<'_> {
    fn attribute(&mut self, name: &str, value: &str) -> &mut Self {
        let escaped = self.writer.escaped(value, self.span);
        // Writing to a String does not fail.
        let _ = write!(self.writer.out, " {name}=\"{escaped}\"");
        self
    }

    fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.attribute(name, &value.to_string())
    }
}

impl Writer {
    fn tag(&mut self, depth: usize, name: &str, span: Span) -> Tag<'_> {
        let _ = write!(self.out, "{:width$}<{name}", "", width = depth * 2);
        Tag { writer: self, span }
    }

    fn escaped(&mut self, text: &str, span: Span) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\n' => out.push_str("&#10;"),
                '\r' => out.push_str("&#13;"),
                '\t' => out.push_str("&#9;"),
                c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                    let message = "XML cannot carry a control character";
                    self.mistakes.error(span, message, "remove it from the text");
                    out.push('\u{fffd}');
                }
                c => out.push(c),
            }
        }
        out
    }

    fn workload(&mut self, workload: &Workload) {
        self.out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (auth, storage) = (shared(workload, |w| &w.auth), shared(workload, |w| &w.storage));
        let mut config = ConfigText::default();
        for (row, of) in attributes::of_workload().filter(|(row, _)| row.xml.is_empty()) {
            let Some(value) = (of.get)(workload) else { continue };
            if let Some(key) = config_key(Scope::Workload, row) {
                config.push(key.xml, &value);
                continue;
            }
            let message = format!("XML has no `{}`, which is `{}` here", row.yaml, shown(&value));
            let hint = format!("keep the YAML, or give it to each run: --set {}=..", row.yaml);
            self.mistakes.warning(Span::default(), message, hint);
        }
        if !workload.nodes.is_empty() {
            let hint = "put them into a target file, which goes with either format";
            self.mistakes.warning(Span::default(), "XML has no nodes: it loses the store's machines", hint);
        }
        if workload.stages.iter().any(|stage| !stage.faults.is_empty()) {
            let hint = "keep the YAML";
            self.mistakes.warning(Span::default(), "XML has no faults: nothing is made to fail", hint);
        }
        if workload.stages.iter().any(|stage| stage.consistency.is_some()) {
            let message = "XML has no consistency: nothing is probed beside the load";
            self.mistakes.warning(Span::default(), message, "keep the YAML");
        }
        let mut tag = self.tag(0, "workload", Span::default());
        tag.attribute("name", &workload.name);
        if let Some(description) = &workload.description {
            tag.attribute("description", description);
        }
        trigger(&mut tag, workload.trigger.as_ref());
        config.write(&mut tag);
        self.outer.extend(config.keys());
        self.out.push_str(">\n");
        self.shared_targets(auth, storage);
        self.out.push_str("  <workflow>\n");
        for stage in &workload.stages {
            self.stage(stage, auth.is_some(), storage.is_some());
        }
        self.out.push_str("  </workflow>\n</workload>\n");
    }

    fn shared_targets(&mut self, auth: Option<&TargetSpec>, storage: Option<&TargetSpec>) {
        if let Some(auth) = auth.filter(|auth| self.expanded || !is_nothing(auth)) {
            self.target(1, "auth", auth);
        }
        if let Some(storage) = storage {
            self.target(1, "storage", storage);
        }
    }

    fn target(&mut self, depth: usize, name: &str, target: &TargetSpec) {
        let mut config = ConfigText::default();
        for entry in &target.config.entries {
            let value = match &entry.value {
                _ if (self.is_secret)(&target.kind, &entry.key) => "***".to_owned(),
                ConfigValue::Env(name) => format!("${{env:{name}}}"),
                ConfigValue::File(path) => format!("${{file:{path}}}"),
                ConfigValue::Secret(name) => format!("${{secret:{name}}}"),
                ConfigValue::Text(text) => {
                    if !matches!(secret_reference(text), ConfigValue::Text(_)) {
                        let message = format!("XML reads `{}` as a reference", shown(text));
                        self.mistakes.error(entry.span, message, "change the value");
                    }
                    text.clone()
                }
            };
            config.push(&entry.key, &value);
        }
        // Lists of an auth and a storage stand alone.
        config.report(&[], target.span, &mut self.mistakes);
        let mut tag = self.tag(depth, name, target.span);
        tag.attribute("type", &target.kind);
        config.write(&mut tag);
        self.out.push_str("/>\n");
    }

    fn stage(&mut self, stage: &Stage, shared_auth: bool, shared_storage: bool) {
        let mut config = ConfigText::default();
        let expanded = self.expanded;
        let mut tag = self.tag(2, "workstage", stage.span);
        tag.attribute("name", &stage.name);
        for (row, value) in attributes::of_stage() {
            let text = (value.get)(stage).filter(|_| expanded || !stage.closure_delay.is_zero());
            attribute(&mut tag, &mut config, Scope::Stage, row, text);
        }
        trigger(&mut tag, stage.trigger.as_ref());
        config.write(&mut tag);
        let around = self.outer.len();
        self.outer.extend(config.keys());
        self.out.push_str(">\n");
        if !stage.thresholds.is_empty() || stage.search.is_some() {
            let message =
                format!("XML has no thresholds and no search: stage `{}` loses them", shown(&stage.name));
            self.mistakes.warning(stage.span, message, "keep the YAML");
        }
        for work in &stage.works {
            self.work(work, shared_auth, shared_storage);
        }
        if stage.works.is_empty() {
            if stage.name != "delay" {
                let message = format!(
                    "COSBench itself only pauses in a stage named delay, not `{}`",
                    shown(&stage.name)
                );
                self.mistakes.warning(
                    stage.span,
                    message,
                    "rename the stage if COSBench has to run the file",
                );
            }
            self.out.push_str("      <work type=\"delay\" workers=\"1\"/>\n");
        }
        self.out.push_str("    </workstage>\n");
        self.outer.truncate(around);
    }

    fn work(&mut self, work: &Work, shared_auth: bool, shared_storage: bool) {
        let normal = work.kind == WorkKind::Normal;
        let work_type = type_of(work.kind, work.operations.first().map(|o| o.kind).filter(|_| !normal));
        let expanded = self.expanded;
        let mut config = ConfigText::default();
        let mut tag = self.tag(3, "work", work.span);
        tag.attribute("name", &work.name);
        if expanded || !normal {
            tag.attribute("type", work_type.word);
        }
        if let Some(pass) = &work.pass {
            let message = format!(
                "XML has no fill: this pass over `{}` becomes one over all its objects",
                shown(&pass.dataset)
            );
            tag.writer.mistakes.error(work.span, message, "keep the YAML");
        }
        let blank = blank_work(work.kind);
        for (row, value) in attributes::of_work() {
            let text = match (value.get)(work) {
                // Words that COSBench's own expanded files carry.
                _ if expanded && !normal && row.yaml == "total_ops" => Some(work.workers.to_string()),
                None if expanded && matches!(row.value, ValueKind::Integer | ValueKind::Bytes) => {
                    Some("0".to_owned())
                }
                text if expanded && !row.xml.is_empty() || row.is_required() => text,
                _ if !normal && row.normal_only => None,
                text => text.filter(|text| (value.get)(&blank).as_ref() != Some(text)),
            };
            attribute(&mut tag, &mut config, Scope::Work, row, text);
        }
        load(&mut config, &work.load);
        if !normal {
            work.operations
                .iter()
                .for_each(|o| operation_keys(&mut config, o, &[o.kind.word().to_owned()], 0));
        }
        config.report(&tag.writer.outer, work.span, &mut tag.writer.mistakes);
        config.write(&mut tag);
        let own_auth = expanded || !shared_auth && !is_nothing(&work.auth);
        let own_storage = expanded || !shared_storage;
        if !own_auth && !own_storage && !normal {
            self.out.push_str("/>\n");
            return;
        }
        self.out.push_str(">\n");
        if own_auth {
            self.target(4, "auth", &work.auth);
        }
        if own_storage {
            self.target(4, "storage", &work.storage);
        }
        let around = self.outer.len();
        self.outer.extend(config.keys());
        self.operations(work, work_type.word, normal);
        self.outer.truncate(around);
        self.out.push_str("      </work>\n");
    }

    fn operations(&mut self, work: &Work, type_word: &str, normal: bool) {
        if !normal && !self.expanded {
            return;
        }
        let names = operation::automatic_names(&work.operations);
        let ratios = percents(&work.operations);
        let exact = work.operations.iter().zip(&ratios).all(|(o, ratio)| o.weight == f64::from(*ratio));
        let expanded = self.expanded;
        for (index, operation) in work.operations.iter().enumerate() {
            let mut config = ConfigText::default();
            operation_keys(&mut config, operation, &names, index);
            if normal && !exact {
                config.push(Key::of(KeyId::Weight).xml, &operation.weight.to_string());
            }
            config.report(&self.outer, operation.span, &mut self.mistakes);
            let mut tag = self.tag(4, "operation", operation.span);
            tag.attribute("type", if normal { operation.kind.word() } else { type_word });
            tag.number("ratio", if normal { u64::from(ratios[index]) } else { 100 });
            if expanded || operation.division != work.division {
                tag.attribute("division", division_word(operation.division));
            }
            config.write(&mut tag);
            if expanded {
                tag.attribute("id", &operation.id);
            }
            self.out.push_str("/>\n");
        }
    }
}

/// The keys of an operation; its name when the automatic one would be another.
fn operation_keys(config: &mut ConfigText, operation: &Operation, names: &[String], index: usize) {
    let keys = operation::keys_to_write(operation);
    for id in &keys {
        if let Some(value) = operation::value_text(operation, *id, Dialect::Xml) {
            config.push(Key::of(*id).xml, &value);
        }
    }
    let automatic = names.get(index) == Some(&operation.name);
    if !keys.contains(&KeyId::Name) && !automatic {
        config.push(Key::of(KeyId::Name).xml, &operation.name);
    }
}

fn load(config: &mut ConfigText, load: &Load) {
    let parts = Parts::of(load);
    for (row, value) in attributes::of_load() {
        if let (Some(key), Some(text)) = (config_key(Scope::Work, row), (value.get)(&parts)) {
            config.push(key.xml, &text);
        }
    }
}

/// The config key that stands in for what XML has no attribute for.
fn config_key(scope: Scope, row: &AttributeRow) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.scope == scope && key.yaml == row.yaml)
}

/// A value as COSBench has it: times in whole seconds, shares per million, sizes in bytes. A fraction of a second is rounded
/// up there and exact in the config, where everything stands that is no attribute.
fn attribute(
    tag: &mut Tag<'_>,
    config: &mut ConfigText,
    scope: Scope,
    row: &AttributeRow,
    text: Option<String>,
) {
    let Some(text) = text else { return };
    let key = config_key(scope, row).map(|key| key.xml);
    let time =
        if row.value == ValueKind::Duration { parse_time(&text).unwrap_or_default() } else { Duration::ZERO };
    let is_exact = !row.xml.is_empty() && time.subsec_nanos() == 0;
    if let Some(key) = key.filter(|_| !is_exact) {
        config.push(key, &text);
    }
    if row.xml.is_empty() {
        return;
    }
    match row.value {
        ValueKind::Duration => tag.number(row.xml, time.as_secs() + u64::from(!is_exact)),
        ValueKind::Share => tag.number(row.xml, u64::from(parse_share(&text).unwrap_or_default())),
        ValueKind::Bytes => tag.number(row.xml, parse_size(&text).unwrap_or_default()),
        _ => tag.attribute(row.xml, &text),
    };
}

fn trigger(tag: &mut Tag<'_>, trigger: Option<&Trigger>) {
    let Some(trigger) = trigger else { return };
    let carried = |text: &String| !text.contains([',', '(', ')']) && text.trim() == text;
    if !trigger.args.iter().all(carried) || !carried(&trigger.script) || trigger.args == [""] {
        let message = "XML cannot carry commas, parentheses or outer blanks in a trigger";
        tag.writer.mistakes.error(tag.span, message, "pass such values in a file that the script reads");
    }
    let args = if trigger.args.is_empty() { String::new() } else { format!("({})", trigger.args.join(",")) };
    tag.attribute("trigger", &format!("{}{args}", trigger.script));
}

/// Whole percents that sum to 100, by largest remainder.
fn percents(operations: &[Operation]) -> Vec<u32> {
    let total: f64 = operations.iter().map(|o| o.weight).sum();
    let exact: Vec<f64> =
        operations.iter().map(|o| if total > 0.0 { o.weight / total * 100.0 } else { 0.0 }).collect();
    let mut whole: Vec<u32> = exact.iter().map(|share| *share as u32).collect();
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|a, b| (exact[*b].fract()).total_cmp(&exact[*a].fract()));
    let missing = 100u32.saturating_sub(whole.iter().sum()) as usize;
    for index in order.into_iter().cycle().take(if exact.is_empty() { 0 } else { missing }) {
        whole[index] += 1;
    }
    whole
}

/// A `key=value;key=value` list.
#[derive(Default)]
struct ConfigText {
    entries: Vec<(String, String)>,
}

impl ConfigText {
    fn push(&mut self, key: &str, value: &str) {
        self.entries.push((key.to_owned(), value.to_owned()));
    }

    fn keys(&self) -> impl Iterator<Item = String> {
        self.entries.iter().map(|(key, _)| key.clone())
    }

    /// What the list cannot carry, inside of lists with the keys `outer`.
    fn report(&self, outer: &[String], span: Span, mistakes: &mut Mistakes) {
        let is_key =
            |name: &str| outer.iter().chain(self.entries.iter().map(|(key, _)| key)).any(|key| key == name);
        for (key, value) in &self.entries {
            let cut = value.contains(';') || key.contains([';', '=']) || key.is_empty();
            let trimmed = value.trim() != value || key.trim() != key;
            let replaced = config_list::references(value).any(|name| config_list::is_replaced(name, is_key));
            if cut || trimmed || replaced {
                let why = if cut {
                    "`;` ends an entry"
                } else if trimmed {
                    "outer blanks are cut off"
                } else {
                    "${..} is replaced"
                };
                let message = format!("XML cannot carry {}={}: {why}", shown(key), shown(value));
                mistakes.error(span, message, "change the value, or keep the workload in YAML");
            } else if config_list::references(value).any(|name| name.starts_with("sys:")) {
                let message = format!("XML replaces what it knows of {}={}", shown(key), shown(value));
                mistakes.warning(span, message, "change the value, or keep the workload in YAML");
            }
        }
    }

    fn write(&self, tag: &mut Tag<'_>) {
        if !self.entries.is_empty() {
            let text = self.entries.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
            tag.attribute("config", &text.join(";"));
        }
    }
}
