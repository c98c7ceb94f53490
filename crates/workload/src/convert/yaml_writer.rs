//! Writes native YAML in block style: no line means something else to another YAML tool.

use std::fmt::Write as _;

use cosmark_units::{duration_text, rate_text, speed_text};

use super::{is_nothing, shared};
use crate::assemble::{blank_work, division_word, type_of};
use crate::convert::faults;
use crate::keys::attributes;
use crate::keys::operation::{self, Dialect};
use crate::keys::{Key, KeyId};
use crate::model::arrivals::{Parts, when_full_text};
use crate::model::consistency::ConsistencySpec;
use crate::model::faults::FaultSpec;
use crate::model::nodes::NodeSpec;
use crate::model::search::{Loads, load_text};
use crate::model::{
    Arrivals, ConfigValue, Load, Operation, Stage, TargetSpec, Trigger, WhenFull, Work, WorkKind, Workload,
};
use crate::plan::drivers::DriversWanted;
use crate::yaml::matrix;

pub(super) fn write(workload: &Workload) -> String {
    let mut writer = Writer { out: String::new(), indent: 0, item: false, in_stage: false };
    writer.workload(workload);
    writer.out
}

struct Writer {
    out: String,
    indent: usize,
    /// The next line begins an item of a list.
    item: bool,
    /// Inside of a stage, where `${{` begins a reference.
    in_stage: bool,
}

impl Writer {
    fn begin(&mut self) {
        let dash = std::mem::take(&mut self.item);
        let width = self.indent.saturating_sub(if dash { 2 } else { 0 });
        let _ = write!(self.out, "{:width$}{}", "", if dash { "- " } else { "" });
    }

    /// `key: value`, the value as it stands.
    fn line(&mut self, key: &str, value: &str) {
        self.begin();
        let _ = writeln!(self.out, "{key}: {value}");
    }

    /// `key: value`, the value quoted where needed.
    fn text(&mut self, key: &str, value: &str) {
        let value = self.value(value);
        self.line(&scalar(key), &value);
    }

    /// Text as a scalar that means it where it stands.
    fn value(&self, text: &str) -> String {
        if self.in_stage { scalar(&matrix::escaped(text)) } else { scalar(text) }
    }

    fn open(&mut self, key: &str) {
        self.begin();
        let _ = writeln!(self.out, "{key}:");
        self.indent += 2;
    }

    fn close(&mut self) {
        self.indent -= 2;
    }

    /// The items of a list stand two deeper than its key.
    fn list<T>(&mut self, key: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.open(key);
        self.indent += 2;
        for item in items {
            self.item = true;
            write(self, item);
        }
        self.indent -= 2;
        self.close();
    }

    fn workload(&mut self, workload: &Workload) {
        self.text("name", &workload.name);
        for (row, value) in attributes::of_workload() {
            match (value.get)(workload) {
                Some(_) if row.yaml == "drivers" && workload.drivers.wait.is_some() => {
                    self.drivers(&workload.drivers)
                }
                Some(text) => self.text(row.yaml, &text),
                None => {}
            }
        }
        self.trigger(workload.trigger.as_ref());
        let (auth, storage) = (shared(workload, |w| &w.auth), shared(workload, |w| &w.storage));
        if let Some(auth) = auth.filter(|auth| !is_nothing(auth)) {
            self.target("auth", auth);
        }
        if let Some(storage) = storage {
            self.target("storage", storage);
        }
        if !workload.nodes.is_empty() {
            self.list("nodes", &workload.nodes, Self::node);
        }
        let (auth, storage) = (auth.is_some(), storage.is_some());
        self.in_stage = true;
        self.list("stages", &workload.stages, |writer, stage| writer.stage(stage, auth, storage));
    }

    fn drivers(&mut self, wanted: &DriversWanted) {
        self.open("drivers");
        if let Some(count) = wanted.count {
            self.line("count", &count.to_string());
        }
        if !wanted.which.is_empty() {
            self.text("labels", &wanted.which.join(","));
        }
        if let Some(wait) = wanted.wait {
            self.line("wait", &duration_text(wait));
        }
        self.close();
    }

    fn trigger(&mut self, trigger: Option<&Trigger>) {
        let Some(trigger) = trigger else { return };
        self.open("trigger");
        self.text("script", &trigger.script);
        if !trigger.args.is_empty() {
            self.list("args", &trigger.args, |writer, arg| {
                writer.begin();
                let _ = writeln!(writer.out, "{}", writer.value(arg));
            });
        }
        self.close();
    }

    fn target(&mut self, which: &str, target: &TargetSpec) {
        self.open(which);
        self.type_and_keys(target, &["type", "config"]);
        self.close();
    }

    /// Keys that mean something else where they stand go into `config`.
    fn type_and_keys(&mut self, target: &TargetSpec, taken: &[&str]) {
        self.text("type", &target.kind);
        let clashes = |key: &str| taken.contains(&key);
        for entry in target.config.entries.iter().filter(|e| !clashes(&e.key)) {
            self.config_value(&entry.key, &entry.value);
        }
        if target.config.entries.iter().any(|e| clashes(&e.key)) {
            self.open("config");
            for entry in target.config.entries.iter().filter(|e| clashes(&e.key)) {
                self.config_value(&entry.key, &entry.value);
            }
            self.close();
        }
    }

    fn node(&mut self, node: &NodeSpec) {
        self.text("name", &node.name);
        self.text("role", &node.role);
        if !node.links.is_empty() {
            self.open("links");
            node.links.iter().for_each(|(name, speed)| self.text(name, &speed_text(*speed)));
            self.close();
        }
        self.type_and_keys(&node.source, &["name", "role", "links", "type", "config"]);
    }

    fn config_value(&mut self, key: &str, value: &ConfigValue) {
        let (kind, text) = match value {
            ConfigValue::Text(text) => return self.text(key, text),
            ConfigValue::Env(name) => ("env", name),
            ConfigValue::File(path) => ("file", path),
            ConfigValue::Secret(name) => ("secret", name),
        };
        self.open(&scalar(key));
        self.text(kind, text);
        self.close();
    }

    fn stage(&mut self, stage: &Stage, shared_auth: bool, shared_storage: bool) {
        self.text("name", &stage.name);
        if stage.works.is_empty() {
            self.line("delay", &duration_text(stage.closure_delay));
            self.trigger(stage.trigger.as_ref());
            return;
        }
        for (row, value) in attributes::of_stage().filter(|_| !stage.closure_delay.is_zero()) {
            if let Some(text) = (value.get)(stage) {
                self.text(row.yaml, &text);
            }
        }
        self.trigger(stage.trigger.as_ref());
        self.goals(stage);
        if !stage.faults.is_empty() {
            self.list("faults", &stage.faults, Self::fault);
        }
        if let Some(spec) = &stage.consistency {
            self.consistency(spec);
        }
        self.list("works", &stage.works, |writer, work| writer.work(work, shared_auth, shared_storage));
    }

    fn consistency(&mut self, spec: &ConsistencySpec) {
        let ConsistencySpec { share_per_million, readers, lists, reach, container } = spec;
        self.open("consistency");
        self.line("share", &format!("{}", f64::from(*share_per_million) / 1e6));
        self.line("readers", &readers.to_string());
        self.line("lists", &lists.to_string());
        self.line("reach", &duration_text(*reach));
        if let Some(container) = container {
            self.text("container", container);
        }
        self.close();
    }

    fn fault(&mut self, fault: &FaultSpec) {
        self.text("name", &fault.name);
        self.line("type", fault.kind.word());
        for (key, value) in faults::of_kind(&fault.kind) {
            self.text(key, &value);
        }
        for (key, value) in faults::of_fault(fault) {
            self.text(key, &value);
        }
    }

    fn goals(&mut self, stage: &Stage) {
        if !stage.thresholds.is_empty() {
            self.list("thresholds", &stage.thresholds, |writer, threshold| {
                writer.begin();
                let _ = writeln!(writer.out, "{}", writer.value(&threshold.text));
            });
        }
        let Some(search) = &stage.search else { return };
        self.open("search");
        self.line("over", search.over.word());
        match &search.loads {
            Loads::Between(from, to) => {
                self.line("from", &load_text(*from));
                self.line("to", &load_text(*to));
            }
            Loads::Steps(steps) => {
                let steps: Vec<String> = steps.iter().map(|load| load_text(*load)).collect();
                self.line("steps", &format!("[{}]", steps.join(", ")));
            }
        }
        for (row, value) in attributes::of_search() {
            if let Some(text) = (value.get)(search) {
                self.text(row.yaml, &text);
            }
        }
        self.close();
    }

    fn work(&mut self, work: &Work, shared_auth: bool, shared_storage: bool) {
        let normal = work.kind == WorkKind::Normal;
        let work_type = type_of(work.kind, work.operations.first().map(|o| o.kind).filter(|_| !normal));
        if normal {
            self.text("name", &work.name);
        } else {
            self.line("type", work_type.word);
            if work.name != work_type.word {
                self.text("name", &work.name);
            }
        }
        let blank = blank_work(work.kind);
        for (row, value) in attributes::of_work().filter(|(row, _)| normal || !row.normal_only) {
            let text = (value.get)(work)
                .filter(|text| row.is_required() || (value.get)(&blank).as_ref() != Some(text));
            if let Some(text) = text {
                self.text(row.yaml, &text);
            }
        }
        self.load(&work.load);
        if !shared_auth && !is_nothing(&work.auth) {
            self.target("auth", &work.auth);
        }
        if !shared_storage {
            self.target("storage", &work.storage);
        }
        self.operations(work, normal);
    }

    fn operations(&mut self, work: &Work, normal: bool) {
        if normal {
            let names = operation::automatic_names(&work.operations);
            let ratio = work.operations.len() > 1 || work.operations.iter().any(|o| o.weight != 100.0);
            let mut names = names.iter();
            self.list("operations", &work.operations, |writer, operation| {
                writer.line("type", operation.kind.word());
                if ratio {
                    writer.line("ratio", &operation.weight.to_string());
                }
                if operation.division != work.division {
                    writer.line("division", division_word(operation.division));
                }
                let keys = operation::keys_to_write(operation);
                writer.keys(operation, &keys);
                let automatic = names.next() == Some(&operation.name);
                if !keys.contains(&KeyId::Name) && !automatic {
                    writer.text("name", &operation.name);
                }
            });
        } else if let Some(operation) = work.operations.first() {
            // `name` is a field of the work: a name of the operation has to stand in `defaults`, and with it all keys,
            // in their order.
            let keys = operation::keys_to_write(operation);
            let renamed = operation.name != operation.kind.word();
            if keys.contains(&KeyId::Name) || renamed {
                self.open("defaults");
                self.keys(operation, &keys);
                if !keys.contains(&KeyId::Name) {
                    self.text("name", &operation.name);
                }
                self.close();
            } else {
                self.keys(operation, &keys);
            }
        }
    }

    fn keys(&mut self, operation: &Operation, keys: &[KeyId]) {
        for id in keys {
            if let Some(value) = operation::value_text(operation, *id, Dialect::Yaml) {
                self.text(Key::of(*id).yaml, &value);
            }
        }
    }

    fn load(&mut self, load: &Load) {
        match load {
            Load::Closed => {}
            Load::Paced { .. } => {
                self.open("pace");
                let parts = Parts::of(load);
                for (row, value) in attributes::of_load() {
                    if let Some(text) = (value.get)(&parts) {
                        self.text(row.yaml, &text);
                    }
                }
                self.close();
            }
            Load::Open { arrivals: Arrivals::Constant { rate_per_s }, when_full: WhenFull::Wait } => {
                self.line("rate", &rate_text(*rate_per_s));
            }
            Load::Open { arrivals, when_full } => {
                self.open("rate");
                self.arrivals(arrivals);
                if *when_full != WhenFull::Wait {
                    self.line("when_full", when_full_text(*when_full));
                }
                self.close();
            }
        }
    }

    fn arrivals(&mut self, arrivals: &Arrivals) {
        match arrivals {
            Arrivals::Constant { rate_per_s } => {
                self.line("shape", "constant");
                self.line("rate", &rate_text(*rate_per_s));
            }
            Arrivals::Poisson { rate_per_s } => {
                self.line("shape", "poisson");
                self.line("rate", &rate_text(*rate_per_s));
            }
            Arrivals::Ramp { from_per_s, to_per_s } => {
                self.line("shape", "ramp");
                self.line("from", &rate_text(*from_per_s));
                self.line("to", &rate_text(*to_per_s));
            }
            Arrivals::Step { steps } => {
                self.line("shape", "step");
                self.list("steps", steps, |writer, (rate, time)| {
                    writer.line("rate", &rate_text(*rate));
                    writer.line("for", &duration_text(*time));
                });
            }
            Arrivals::Recorded { path, time_warp } => {
                self.line("shape", "recorded");
                self.text("file", path);
                if *time_warp != 1.0 {
                    self.line("time_warp", &time_warp.to_string());
                }
            }
        }
    }
}

/// Text as a YAML scalar: plain where every YAML reader takes it for this text or this number, else in double quotes.
fn scalar(text: &str) -> String {
    let first =
        text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.'));
    let inner = |c: char| c.is_ascii_alphanumeric() || "_./()|@%+,=-: ".contains(c);
    let plain = first
        && text.chars().all(inner)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !matches!(text, "null" | "Null" | "NULL");
    if plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
