//! COSBench workload XML to a [`Workload`]. Semantics: COSBench 0.4.2, user guide and source, as described in
//! `docs/reference/workload-xml.md`; where it does otherwise, `docs/reference/cosbench-compatibility.md` says so.

pub(crate) mod config_list;
pub(crate) mod tree;
pub(crate) mod work;

use std::collections::HashSet;
use std::time::Duration;

use cosmark_units::MAX_DURATION;

use crate::Environment;
use crate::assemble::{self, MAX_OPERATIONS, MAX_PER_PARENT, MAX_STAGES, NO_STORAGE, no_target};
use crate::diagnostics::suggest;
use crate::diagnostics::{Mistakes, Span, shown};
use crate::keys::attributes::{self, AttributeRow};
use crate::keys::values::Value;
use crate::keys::{Found, KEYS, Key, Scope, ValueKind};
use crate::model::{Config, ConfigEntry, ConfigValue, Stage, TargetSpec, Workload};
use crate::room::{self, Room};
use crate::xml::config_list::{Budget, Entry};
use crate::xml::tree::{Attribute, Element};

/// Reads a workload; `None` when there is none to speak of.
pub(crate) fn parse(source: &str, environment: &Environment, mistakes: &mut Mistakes) -> Option<Workload> {
    let root = tree::read(source, mistakes)?;
    let name = root.name.as_str();
    if name == "mission" {
        let hint = "submit the workload that the mission was cut from: a <workload> with a <workflow>";
        let message = "this is a mission, one driver's share of one work, as COSBench's controller sends to its drivers";
        mistakes.error(root.span, message, hint);
        return None;
    }
    if name != "workload" {
        let message = format!("the root element is <{}>", shown(name));
        mistakes.error(root.span, message, "a workload starts with <workload name=\"..\">");
        return None;
    }
    let mut references = HashSet::new();
    collect_references(&root, &mut references);
    let mut reader = XmlReader {
        environment,
        mistakes,
        references,
        budget: Budget::default(),
        operations: 0,
        room: Room::default(),
        stored: true,
    };
    let mut workload = reader.workload(&root)?;
    assemble::number_operations(&mut workload);
    Some(workload)
}

fn collect_references(element: &Element, out: &mut HashSet<String>) {
    if let Some(config) = element.attribute("config") {
        out.extend(config_list::references(&config.text.value).map(str::to_owned));
    }
    for child in &element.children {
        collect_references(child, out);
    }
}

/// What an element inherits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level {
    pub(crate) entries: Vec<Entry>,
    pub(crate) auth: Option<TargetSpec>,
    pub(crate) storage: Option<TargetSpec>,
}

pub(crate) struct XmlReader<'a> {
    environment: &'a Environment,
    pub(crate) mistakes: &'a mut Mistakes,
    /// Keys that some `${..}` names: they need no meaning of their own.
    references: HashSet<String>,
    budget: Budget,
    pub(crate) operations: usize,
    /// For what works and operations hold.
    pub(crate) room: Room,
    /// False once a work without a storage was met.
    pub(crate) stored: bool,
}

impl XmlReader<'_> {
    fn workload(&mut self, root: &Element) -> Option<Workload> {
        self.check_names(root, attributes::WORKLOAD, &["auth", "storage", "workflow"]);
        let given = self.text(root, "name");
        let name = given.map(|a| a.text.value.trim().to_owned()).unwrap_or_default();
        if name.is_empty() {
            self.mistakes.error(root.span, "workload name cannot be empty", "add name=\"..\" to <workload>");
        }
        assemble::workload_name(&name, given.map_or(root.span, |a| a.text.span), self.mistakes);
        let description = self.text(root, "description").map(|a| a.text.value.clone());
        let trigger = self.trigger(root);
        let level = self.enter(root, &Level::default());
        let mut flows = root.children_named("workflow");
        let Some(flow) = flows.next() else {
            self.mistakes.error(
                root.span,
                "there is no <workflow>",
                "put the stages inside <workflow> .. </workflow>",
            );
            return None;
        };
        if let Some(second) = flows.next() {
            self.mistakes.error(
                second.span,
                "there is a second <workflow>",
                "put all stages into one workflow",
            );
        }
        self.check_names(flow, attributes::WORKFLOW, &["workstage"]);
        // A workflow has no auth and no storage, as in COSBench's mapping: what stands there holds nowhere.
        let entries = self.entries(flow, &level).unwrap_or_default();
        let level = Level { entries, ..level };
        let mut workload = Workload { name, description, trigger, ..Workload::default() };
        self.values(&mut workload, &level);
        let stages = &mut workload.stages;
        for element in flow.children_named("workstage") {
            if self.operations > MAX_OPERATIONS || self.room.is_full() {
                break;
            }
            if stages.len() == MAX_STAGES {
                self.mistakes.error(element.span, "too many stages", format!("at most {MAX_STAGES}"));
                break;
            }
            stages.push(self.stage(element, &level));
        }
        if stages.is_empty() {
            self.mistakes.error(flow.span, "the workflow has no <workstage>", "add at least one");
        }
        if self.operations > MAX_OPERATIONS {
            self.mistakes.error(
                flow.span,
                "too many operations",
                format!("at most {MAX_OPERATIONS} over all stages"),
            );
        }
        if !self.stored {
            let hint =
                "without one every operation succeeds at once and nothing is measured but Cosmark itself";
            self.mistakes.warning(root.span, NO_STORAGE, hint);
        }
        Some(workload)
    }

    fn stage(&mut self, element: &Element, outer: &Level) -> Stage {
        self.check_names(element, attributes::STAGE, &["auth", "storage", "work"]);
        if let Some(division) = element.attribute("division") {
            let hint = "move it to the <work>";
            self.mistakes.warning(division.name_span, "division has no effect on a <workstage>", hint);
        }
        let name = self.text(element, "name").map(|a| a.text.value.trim().to_owned()).unwrap_or_default();
        if name.is_empty() {
            self.mistakes.error(element.span, "stage name cannot be empty", "add name=\"..\" to <workstage>");
        }
        let trigger = self.trigger(element);
        let level = self.enter(element, outer);
        let mut stage = assemble::blank_stage(name, trigger, element.span);
        let entries = self.interpolated_of(Scope::Stage, &level.entries);
        for (row, value) in attributes::of_stage() {
            self.put(element, row, value, &mut stage);
            let is_own = |e: &&Entry| {
                e.own && e.row.is_some_and(|key| key.scope == Scope::Stage && key.yaml == row.yaml)
            };
            let Some(entry) = entries.iter().find(is_own) else { continue };
            let text = work::in_native_words(row.value, &entry.value);
            if let Err((message, hint)) = text.and_then(|text| (value.set)(&mut stage, &text)) {
                self.mistakes.error(entry.value_span, message, hint);
            }
        }
        let (mut works, mut delays) = (Vec::new(), Vec::new());
        for child in element.children_named("work") {
            if self.operations > MAX_OPERATIONS || self.room.is_full() {
                break;
            }
            if works.len() == MAX_PER_PARENT {
                self.mistakes.error(
                    child.span,
                    "too many works in one stage",
                    format!("at most {MAX_PER_PARENT}"),
                );
                break;
            }
            if child.attribute("type").is_some_and(|a| a.text.value.trim() == "delay") {
                delays.push(child);
            } else if let Some(work) = work::read(self, child, &level) {
                self.operations += work.operations.len();
                works.push(work);
            }
        }
        self.delays(element, &delays, !works.is_empty(), stage.closure_delay);
        Stage { works, ..stage }
    }

    /// A stage of nothing but delay works is a pause; beside other works they have no meaning.
    fn delays(&mut self, stage: &Element, delays: &[&Element], has_works: bool, closure_delay: Duration) {
        for delay in delays {
            self.check_names(delay, attributes::WORK, &["auth", "storage", "operation"]);
            if has_works {
                let message = "a delay work beside other works does nothing and is dropped";
                self.mistakes.warning(
                    delay.span,
                    message,
                    "use closuredelay=\"..\" of the stage for a pause after it",
                );
            }
        }
        let no_work = stage.children_named("work").next().is_none();
        if no_work {
            self.mistakes.error(
                stage.span,
                "this stage has no <work>",
                "add one, or <work type=\"delay\"/> for a pause",
            );
        } else if !has_works
            && closure_delay.is_zero()
            && delays.len() == stage.children_named("work").count()
        {
            let hint = "give the pause in seconds: closuredelay=\"30\"";
            self.mistakes.warning(stage.span, "this delay stage does not wait", hint);
        }
    }

    /// Config keys that speak of the workload.
    fn values(&mut self, workload: &mut Workload, level: &Level) {
        for (row, value) in attributes::of_workload() {
            let key = KEYS.iter().find(|key| key.scope == Scope::Workload && key.yaml == row.yaml);
            let Some(entry) = key.and_then(|key| level.entries.iter().find(|e| e.key == key.xml)) else {
                continue;
            };
            if let Err((message, hint)) = (value.set)(workload, &entry.value) {
                self.mistakes.error(entry.value_span, message, hint);
            }
        }
    }

    /// What the children of `element` inherit: its own auth, storage and config over the outer ones.
    pub(crate) fn enter(&mut self, element: &Element, outer: &Level) -> Level {
        let Some(entries) = self.entries(element, outer) else {
            return Level { auth: Some(no_target()), storage: Some(no_target()), ..Level::default() };
        };
        Level {
            entries,
            auth: self.target(element, "auth").or_else(|| outer.auth.clone()),
            storage: self.target(element, "storage").or_else(|| outer.storage.clone()),
        }
    }

    /// Its config over the outer one; `None` when there is no room for more.
    fn entries(&mut self, element: &Element, outer: &Level) -> Option<Vec<Entry>> {
        let entries = outer.entries.iter().map(|entry| entry.key.len() + entry.value.len());
        let targets = [&outer.auth, &outer.storage].into_iter().flatten().map(room::of_target);
        if !self.room.pass(entries.chain(targets).sum(), element.span, self.mistakes) {
            return None;
        }
        let mut own = match element.attribute("config") {
            Some(config) => config_list::split(&config.text, self.mistakes),
            None => Vec::new(),
        };
        self.check_keys(&mut own);
        Some(config_list::merge(&outer.entries, &own))
    }

    /// The level's entries with `${..}` replaced.
    pub(crate) fn interpolated(&mut self, entries: &[Entry]) -> Vec<Entry> {
        self.interpolated_where(entries, |_| true)
    }

    /// Those of this scope alone: a key of operations may name what only they will have.
    pub(crate) fn interpolated_of(&mut self, scope: Scope, entries: &[Entry]) -> Vec<Entry> {
        self.interpolated_where(entries, |entry| entry.row.is_some_and(|key| key.scope == scope))
    }

    fn interpolated_where(&mut self, entries: &[Entry], is_wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        config_list::interpolate(entries, is_wanted, self.environment, &mut self.budget, self.mistakes)
    }

    /// Finds the row of every key. One key has one spelling from here on: else an inner level could not override another
    /// spelling. What nobody knows and no `${..}` names is reported and dropped.
    fn check_keys(&mut self, entries: &mut Vec<Entry>) {
        for entry in &mut *entries {
            let found = Key::find_in_xml(&entry.key);
            if let Some(Found::OtherCase(key)) = found {
                let message = format!("`{}` is read as {}", shown(&entry.key), key.xml);
                let hint = format!("write {}: COSBench does not see the key spelled this way", key.xml);
                self.mistakes.warning(entry.key_span, message, hint);
            }
            if let Some(Found::Exact(key) | Found::OtherCase(key)) = found {
                key.xml.clone_into(&mut entry.key);
                entry.row = Some(key);
            } else if !self.references.contains(&entry.key) && !self.mistakes.is_full() {
                let message =
                    format!("the config key `{}` is not known and has no effect", shown(&entry.key));
                self.mistakes.warning(entry.key_span, message, Key::hint_in_xml(&entry.key));
            }
        }
        entries.retain(|entry| entry.row.is_some() || self.references.contains(&entry.key));
    }

    fn target(&mut self, element: &Element, which: &str) -> Option<TargetSpec> {
        let mut found = element.children_named(which);
        let target = found.next()?;
        if let Some(second) = found.next() {
            let message = format!("there is a second <{which}>");
            self.mistakes.error(second.span, message, "keep one of them");
        }
        self.check_names(target, attributes::TARGET, &[]);
        let kind = self.text(target, "type").map(|a| a.text.value.trim().to_owned()).unwrap_or_default();
        if kind.is_empty() {
            let message = format!("{which} type cannot be empty");
            self.mistakes.error(target.span, message, format!("name one, e.g. <{which} type=\"none\"/>"));
        }
        let own = match target.attribute("config") {
            Some(config) => config_list::split(&config.text, self.mistakes),
            None => Vec::new(),
        };
        let entries = self.interpolated(&config_list::merge(&[], &own));
        let entries = entries.into_iter().map(|e| ConfigEntry {
            span: e.span(),
            value: self.config_value(&e),
            key: e.key,
        });
        Some(TargetSpec { kind, config: Config { entries: entries.collect() }, span: target.span })
    }

    /// `${env:NAME}`, `${file:PATH}` and `${secret:NAME}` stay references, as in YAML.
    fn config_value(&mut self, entry: &Entry) -> ConfigValue {
        let value = secret_reference(&entry.value);
        let inside = config_list::references(&entry.value).any(config_list::is_for_the_run);
        if inside && matches!(value, ConfigValue::Text(_)) {
            let hint = "make it the whole value: key=${env:NAME}";
            self.mistakes.warning(entry.value_span, "a reference inside a value stays as it is", hint);
        }
        value
    }

    pub(crate) fn text<'e>(&self, element: &'e Element, name: &str) -> Option<&'e Attribute> {
        element
            .attribute(name)
            .or_else(|| element.attributes.iter().find(|a| a.name.eq_ignore_ascii_case(name)))
    }

    /// A whole number from 0 to `most`. What cannot be read is reported and stands as 1, so that the check does not call
    /// it missing as well.
    pub(crate) fn whole(&mut self, element: &Element, name: &str, most: u64) -> Option<u64> {
        let attribute = self.text(element, name)?;
        let (value, span) = (attribute.text.value.trim(), attribute.text.span);
        let stand_in = Some(1);
        if value.is_empty() {
            return self.nothing(name, span);
        }
        match value.strip_prefix('+').unwrap_or(value).parse::<u64>() {
            Ok(number) if number <= most => Some(number),
            Ok(_) => {
                self.mistakes.error(
                    span,
                    format!("{name} is too large: {}", shown(value)),
                    format!("at most {most}"),
                );
                stand_in
            }
            Err(_) => {
                let negative = value.starts_with('-');
                let what = if negative { "must not be negative" } else { "is not a whole number" };
                let message = format!("{name} {what}: `{}`", shown(value));
                self.mistakes.error(span, message, format!("write {name}=\"..\" with decimal digits only"));
                stand_in
            }
        }
    }

    /// COSBench reads a number without a digit as 0.
    pub(crate) fn nothing(&mut self, name: &str, span: Span) -> Option<u64> {
        let message = format!("{name} is empty and read as 0, as COSBench reads it");
        self.mistakes.warning(span, message, "write a number, or leave the attribute out");
        Some(0)
    }

    /// Reads the attribute of `row` into `whole`, as COSBench has it: times in whole seconds, shares per million, an empty
    /// text as nothing.
    pub(crate) fn put<T>(&mut self, element: &Element, row: &AttributeRow, value: Value<T>, whole: &mut T) {
        let name = row.xml;
        let text = match row.value {
            _ if name.is_empty() => None,
            ValueKind::Duration => {
                self.whole(element, name, MAX_DURATION.as_secs()).map(|seconds| format!("{seconds}s"))
            }
            ValueKind::Share => {
                self.whole(element, name, 1_000_000).map(|number| (number as f64 / 1e6).to_string())
            }
            ValueKind::Count => {
                self.whole(element, name, u64::from(u32::MAX)).map(|number| number.to_string())
            }
            ValueKind::Integer | ValueKind::Bytes => {
                self.whole(element, name, u64::MAX).map(|number| number.to_string())
            }
            _ => self
                .text(element, name)
                .map(|a| a.text.value.trim().to_owned())
                .filter(|text| !text.is_empty()),
        };
        if let Some(text) = text
            && let Err((message, hint)) = (value.set)(whole, &text)
        {
            let span = self.text(element, name).map_or(element.span, |attribute| attribute.text.span);
            self.mistakes.error(span, message, hint);
        }
    }

    fn trigger(&mut self, element: &Element) -> Option<crate::model::Trigger> {
        let attribute = self.text(element, "trigger")?;
        if attribute.text.value.trim().is_empty() {
            return None;
        }
        let read = assemble::parse_trigger(&attribute.text.value);
        read.map_err(|(message, hint)| self.mistakes.error(attribute.text.span, message, hint)).ok()
    }

    /// Reports attributes and children that mean nothing here; COSBench ignores them without a word.
    pub(crate) fn check_names(&mut self, element: &Element, known: &[AttributeRow], children: &[&str]) {
        if self.mistakes.is_full() {
            return;
        }
        for attribute in &element.attributes {
            if known.iter().any(|row| row.xml == attribute.name) || attribute.name.starts_with("xmlns") {
                continue;
            }
            let name = shown(&attribute.name);
            if let Some(row) = known.iter().find(|row| row.xml.eq_ignore_ascii_case(&attribute.name)) {
                let hint = format!("write {}: COSBench does not see the attribute spelled this way", row.xml);
                self.mistakes.warning(attribute.name_span, format!("`{name}` is read as {}", row.xml), hint);
                continue;
            }
            let message = format!("<{}> has no attribute `{name}`; it is ignored", shown(&element.name));
            let hint = match Key::find_in_xml(&attribute.name) {
                Some(Found::Exact(key)) if key.is_for_operations() => {
                    format!("put it into config=\"{}=..\"", key.xml)
                }
                _ => suggest::hint(&attribute.name, attributes::xml_names(known)),
            };
            self.mistakes.warning(attribute.name_span, message, hint);
        }
        for child in element.children.iter().filter(|c| !children.contains(&c.name.as_str())) {
            if self.mistakes.is_full() {
                return;
            }
            let name = shown(&child.name);
            let message = format!("<{name}> has no meaning inside <{}>; it is ignored", shown(&element.name));
            self.mistakes.warning(child.span, message, suggest::hint(&child.name, children.iter().copied()));
        }
    }

    /// The targets of a work; `none` where nothing is said.
    pub(crate) fn targets(&mut self, level: &Level) -> (TargetSpec, TargetSpec) {
        if level.storage.is_none() {
            self.stored = false;
        }
        let or_none = |target: &Option<TargetSpec>| target.clone().unwrap_or_else(no_target);
        (or_none(&level.auth), or_none(&level.storage))
    }
}

/// `${env:NAME}`, `${file:PATH}` and `${secret:NAME}` as references, everything else as text.
pub(crate) fn secret_reference(value: &str) -> ConfigValue {
    let inner =
        value.strip_prefix("${").and_then(|v| v.strip_suffix('}')).filter(|v| !v.contains(['{', '}']));
    match inner.and_then(|v| v.split_once(':')) {
        Some(("env", name)) if !name.is_empty() => ConfigValue::Env(name.to_owned()),
        Some(("file", path)) if !path.is_empty() => ConfigValue::File(path.to_owned()),
        Some(("secret", name)) if !name.is_empty() => ConfigValue::Secret(name.to_owned()),
        _ => ConfigValue::Text(value.to_owned()),
    }
}
