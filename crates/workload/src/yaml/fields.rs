//! Reading the fields of YAML maps: unknown ones are mistakes with a hint, wrong values too, each at its place.

use std::time::Duration;

use cosmark_units::Complaint;

use crate::assemble::MAX_ENTRIES;
use crate::diagnostics::suggest;
use crate::diagnostics::{Mistakes, Span, shown};
use crate::keys::attributes::{AttributeRow, yaml_names};
use crate::keys::operation::{Setting, Settings};
use crate::keys::values::{Value, parse_time};
use crate::keys::{KEYS, Key};
use crate::model::{Config, ConfigEntry, ConfigValue, TargetSpec};
use crate::yaml::tree::{Node, NodeKind, Pair};

/// The fields of one map.
pub(crate) struct Fields<'n> {
    pub(crate) pairs: &'n [Pair],
    /// What the map is, for messages: "a stage".
    what: &'static str,
    pub(crate) span: Span,
}

impl<'n> Fields<'n> {
    /// The map in `node`; anything else is a mistake.
    pub(crate) fn of(node: &'n Node, what: &'static str, mistakes: &mut Mistakes) -> Option<Fields<'n>> {
        if let NodeKind::Mapping(pairs) = &node.kind {
            let span = pairs.first().map_or(node.span, |pair| pair.key_span);
            return Some(Fields { pairs, what, span });
        }
        let message = format!("{what} is a map of keys and values, not {}", node.what());
        mistakes.error(node.span, message, "write `key: value` lines");
        None
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.pairs.iter().find(|pair| pair.key == key).map(|pair| &pair.value)
    }

    /// Reports keys that are neither in `rows` nor, where `keys_too`, keys of operations.
    pub(crate) fn check(&self, rows: &[AttributeRow], keys_too: bool, mistakes: &mut Mistakes) {
        for pair in self.pairs {
            if mistakes.is_full() {
                return;
            }
            let known = yaml_names(rows).any(|name| name == pair.key);
            if known || keys_too && Key::find_in_yaml(&pair.key).is_some() {
                continue;
            }
            let hint = if !keys_too && Key::find_in_yaml(&pair.key).is_some() {
                format!("put `{}` into `defaults` or into an operation", pair.key)
            } else {
                let keys = KEYS.iter().filter(|k| keys_too && k.is_for_operations()).map(|k| k.yaml);
                hint_for(&pair.key, yaml_names(rows).chain(keys))
            };
            let message = format!("{} has no field `{}`", self.what, shown(&pair.key));
            mistakes.error(pair.key_span, message, hint);
        }
    }

    /// Reports keys that are not in `known`.
    pub(crate) fn check_words(&self, known: &[&'static str], mistakes: &mut Mistakes) {
        for pair in self.pairs.iter().filter(|pair| !known.contains(&pair.key.as_str())) {
            if mistakes.is_full() {
                return;
            }
            let message = format!("{} has no field `{}`", self.what, shown(&pair.key));
            mistakes.error(pair.key_span, message, suggest::hint(&pair.key, known.iter().copied()));
        }
    }

    /// A single value.
    pub(crate) fn text(&self, key: &str, mistakes: &mut Mistakes) -> Option<(&'n str, Span)> {
        text_of(self.get(key)?, key, mistakes)
    }

    /// A single value, read by `parse`.
    pub(crate) fn read<T>(
        &self,
        key: &str,
        mistakes: &mut Mistakes,
        parse: impl FnOnce(&str) -> Result<T, Complaint>,
    ) -> Option<T> {
        let (text, span) = self.text(key, mistakes)?;
        parse(text).map_err(|(message, hint)| mistakes.error(span, message, hint)).ok()
    }

    /// A time that says its unit.
    pub(crate) fn time(&self, key: &str, mistakes: &mut Mistakes) -> Option<Duration> {
        self.read(key, mistakes, parse_time)
    }

    /// Reads the value of `row` into `whole`; false when it is given and cannot be read.
    pub(crate) fn put<T>(
        &self,
        row: &AttributeRow,
        value: Value<T>,
        whole: &mut T,
        mistakes: &mut Mistakes,
    ) -> bool {
        let given = self.get(row.yaml).is_some();
        !given || self.read(row.yaml, mistakes, |text| (value.set)(whole, text)).is_some()
    }

    /// A name that may not be empty.
    pub(crate) fn name(&self, key: &str, mistakes: &mut Mistakes) -> Option<String> {
        let (text, span) = self.text(key, mistakes)?;
        if text.trim().is_empty() {
            mistakes.error(span, format!("{key} is empty"), "give it a value or leave it out");
            return None;
        }
        Some(text.trim().to_owned())
    }
}

/// The text of a single value; a list, a map or nothing is a mistake.
pub(crate) fn text_of<'n>(node: &'n Node, key: &str, mistakes: &mut Mistakes) -> Option<(&'n str, Span)> {
    match &node.kind {
        NodeKind::Scalar(text) => Some((text, node.span)),
        NodeKind::Null => {
            let message = format!("{} has no value", shown(key));
            mistakes.error(node.span, message, "give it a value, \"\" for an empty text, or leave it out");
            None
        }
        _ => {
            let message = format!("{} takes a single value, not {}", shown(key), node.what());
            let hint = match &node.kind {
                NodeKind::Sequence(_) => {
                    "write one value behind the colon; where a key takes several, with commas: a,b"
                }
                _ => "write one value behind the colon",
            };
            mistakes.error(node.span, message, hint);
            None
        }
    }
}

/// Hint for an unknown field: COSBench's spelling, or the nearest known one.
fn hint_for<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let cosbench = [
        ("closuredelay", "closure_delay"),
        ("totalOps", "total_ops"),
        ("totalBytes", "total_bytes"),
        ("afr", "acceptable_failure_ratio"),
        ("config", "defaults"),
        ("weight", "ratio"),
        ("<<", "defaults"),
        ("workstages", "stages"),
        ("workflow", "stages"),
    ];
    let from_keys = KEYS.iter().filter(|k| k.xml != k.yaml).map(|k| (k.xml, k.yaml));
    let spelled = cosbench.into_iter().chain(from_keys).find(|row| row.0.eq_ignore_ascii_case(word));
    match spelled {
        Some((_, yaml)) => format!("in YAML it is `{yaml}`"),
        None => suggest::hint(word, known),
    }
}

/// Operation keys of a map as settings; other keys are left to [`Fields::check`].
pub(crate) fn settings(pairs: &[Pair], mistakes: &mut Mistakes) -> Settings {
    let mut settings = Settings::default();
    for pair in pairs {
        let Some(key) = Key::find_in_yaml(&pair.key) else { continue };
        if let Some((text, span)) = text_of(&pair.value, &pair.key, mistakes) {
            settings.set(Setting { id: key.id, value: text.to_owned(), span, own: true });
        }
    }
    settings
}

/// `auth` or `storage`: a type and its keys.
pub(crate) fn target(node: &Node, which: &'static str, mistakes: &mut Mistakes) -> Option<TargetSpec> {
    let fields = Fields::of(node, which, mistakes)?;
    let kind = match fields.get("type") {
        Some(_) => fields.name("type", mistakes)?,
        None => {
            let near = fields.pairs.iter().find(|pair| suggest::nearest(&pair.key, ["type"]).is_some());
            let hint = match near {
                Some(pair) => format!("did you mean type instead of {}?", shown(&pair.key)),
                None if which == "node" => "name one, e.g. type: local; also ssh and prometheus".to_owned(),
                None => format!("name one, e.g. {which}: {{type: none}}"),
            };
            mistakes.error(fields.span, format!("{which} type cannot be empty"), hint);
            return None;
        }
    };
    let mut config = Config::default();
    for pair in fields.pairs {
        match pair.key.as_str() {
            "type" => {}
            "config" => {
                if let Some(inner) = Fields::of(&pair.value, "config", mistakes) {
                    inner.pairs.iter().for_each(|pair| push_entry(pair, &mut config, node.span, mistakes));
                }
            }
            _ => push_entry(pair, &mut config, node.span, mistakes),
        }
    }
    Some(TargetSpec { kind, config, span: node.span })
}

fn push_entry(pair: &Pair, config: &mut Config, of: Span, mistakes: &mut Mistakes) {
    if config.entries.len() == MAX_ENTRIES {
        return mistakes.error(of, "too many keys in one auth or storage", format!("at most {MAX_ENTRIES}"));
    }
    let Some(value) = config_value(&pair.value, &pair.key, mistakes) else { return };
    if config.entries.iter().any(|e| e.key == pair.key) {
        let message = format!("the key `{}` is given twice", shown(&pair.key));
        mistakes.error(pair.key_span, message, "keep one of them");
        return;
    }
    let span = Span::between(pair.key_span.start, pair.value.span.end());
    config.entries.push(ConfigEntry { key: pair.key.trim().to_owned(), value, span });
}

/// A text, `{env: NAME}`, `{file: PATH}` or `{secret: NAME}`.
fn config_value(node: &Node, key: &str, mistakes: &mut Mistakes) -> Option<ConfigValue> {
    let NodeKind::Mapping(pairs) = &node.kind else {
        return text_of(node, key, mistakes).map(|(text, _)| ConfigValue::Text(text.trim().to_owned()));
    };
    let [pair] = &pairs[..] else {
        let hint = format!("write {}: {{env: NAME}}, {{file: PATH}} or {{secret: NAME}}", shown(key));
        mistakes.error(node.span, "a reference has one key", hint);
        return None;
    };
    let (text, _) = text_of(&pair.value, &pair.key, mistakes)?;
    let value = text.trim().to_owned();
    if value.is_empty() {
        mistakes.error(pair.value.span, "the reference is empty", "name a variable, a file or a secret");
        return None;
    }
    match pair.key.as_str() {
        "env" => Some(ConfigValue::Env(value)),
        "file" => Some(ConfigValue::File(value)),
        "secret" => Some(ConfigValue::Secret(value)),
        _ => {
            let message = format!(
                "a value is a text, {{env: NAME}}, {{file: PATH}} or {{secret: NAME}}, not `{}`",
                shown(&pair.key)
            );
            mistakes.error(pair.key_span, message, suggest::hint(&pair.key, ["env", "file", "secret"]));
            None
        }
    }
}
