//! COSBench's `config` lists: `key=value;key=value`, the last one wins, `${other}` is replaced. What the baseline takes
//! from Apache commons-configuration 1.5: `${key}` and `${sys:property}`.

use std::collections::HashSet;

use crate::Environment;
use crate::assemble::MAX_ENTRIES;
use crate::diagnostics::suggest;
use crate::diagnostics::{Mistakes, Span, shown};
use crate::keys::{Found, Key};
use crate::xml::tree::Text;

/// Longest `config` attribute in bytes.
pub const MAX_CONFIG_BYTES: usize = 16 << 10;
/// Longest value after `${..}` is replaced, in bytes.
const MAX_VALUE_BYTES: usize = 16 << 10;
/// Deepest `${..}` within `${..}`.
const MAX_INTERPOLATION_DEPTH: usize = 16;

/// What replacing `${..}` may cost in a whole file: a file can ask for exponentially much.
#[derive(Debug)]
pub(crate) struct Budget {
    steps: u64,
    bytes: u64,
}

impl Budget {
    /// What a mistake costs: its message is dearer than a replacement.
    const MISTAKE_STEPS: u64 = 100;

    fn is_spent(&self) -> bool {
        self.steps == 0 || self.bytes == 0
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { steps: 2_000_000, bytes: 128 << 20 }
    }
}

/// One `key=value`.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: String,
    pub(crate) value_span: Span,
    /// Row of the table of keys, for the config of workloads; `None` also for keys that only `${..}` names.
    pub(crate) row: Option<&'static Key>,
    /// False when it comes from an outer level.
    pub(crate) own: bool,
}

impl Entry {
    pub(crate) fn span(&self) -> Span {
        Span::between(self.key_span.start, self.value_span.end())
    }
}

/// Splits a list; entries without `=` are reported and left out.
pub(crate) fn split(text: &Text, mistakes: &mut Mistakes) -> Vec<Entry> {
    if text.value.len() > MAX_CONFIG_BYTES {
        let hint = format!("at most {} KiB", MAX_CONFIG_BYTES >> 10);
        mistakes.error(text.span, "this config list is too long", hint);
        return Vec::new();
    }
    let mut entries = Vec::new();
    let mut at = 0;
    for piece in text.value.split(';') {
        let (start, end) = (at, at + piece.len());
        at = end + 1;
        if piece.trim().is_empty() {
            continue;
        }
        if entries.len() == MAX_ENTRIES {
            mistakes.error(
                text.span,
                "this config list has too many entries",
                format!("at most {MAX_ENTRIES}"),
            );
            break;
        }
        let Some((key, value)) = piece.split_once('=') else {
            let span = trimmed(text, start, end);
            let message = format!("`{}` is no key=value and is ignored", shown(piece.trim()));
            mistakes.warning(span, message, "entries are key=value, separated by `;`");
            continue;
        };
        let (key_end, value_start) = (start + key.len(), start + key.len() + 1);
        entries.push(Entry {
            key: key.trim().to_owned(),
            key_span: trimmed(text, start, key_end),
            value: value.trim().to_owned(),
            value_span: trimmed(text, value_start, end),
            row: None,
            own: true,
        });
    }
    entries
}

fn trimmed(text: &Text, start: usize, end: usize) -> Span {
    let piece = &text.value[start..end];
    let lead = piece.len() - piece.trim_start().len();
    let len = piece.trim().len();
    text.span_of(start + lead, start + lead + len)
}

/// The outer level's entries overridden by the inner ones: each key once, in order of first appearance.
pub(crate) fn merge(outer: &[Entry], inner: &[Entry]) -> Vec<Entry> {
    let mut merged: Vec<Entry> = outer.iter().map(|e| Entry { own: false, ..e.clone() }).collect();
    for entry in inner {
        match merged.iter_mut().find(|e| e.key == entry.key) {
            Some(old) => *old = entry.clone(),
            None => merged.push(entry.clone()),
        }
    }
    merged
}

/// Names inside `${..}`.
pub(crate) fn references(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let start = rest.find("${")? + 2;
        let len = rest[start..].find('}')?;
        let name = &rest[start..start + len];
        rest = &rest[start + len + 1..];
        Some(name)
    })
}

/// True for the name inside of a `${..}` that is replaced where keys of these names are in effect, as [`interpolate`] does:
/// those of the list and of the outer ones, in any spelling. Properties of the system are replaced besides.
pub(crate) fn is_replaced(name: &str, is_key: impl Fn(&str) -> bool) -> bool {
    let by_table = || match Key::find_in_xml(name) {
        Some(Found::Exact(key) | Found::OtherCase(key)) => is_key(key.xml),
        None => false,
    };
    is_key(name) || by_table()
}

/// True for the name inside of a `${..}` that is left to the run: a reference to a secret.
pub(crate) fn is_for_the_run(name: &str) -> bool {
    ["env:", "file:", "secret:"].iter().any(|kind| name.starts_with(kind))
}

/// The entries that are wanted with `${..}` replaced in their values by any of them all. What is not known stays as it is,
/// with a warning; a cycle is an error.
pub(crate) fn interpolate(
    entries: &[Entry],
    is_wanted: impl Fn(&Entry) -> bool,
    environment: &Environment,
    budget: &mut Budget,
    mistakes: &mut Mistakes,
) -> Vec<Entry> {
    let wanted = entries.iter().filter(|entry| is_wanted(entry));
    if budget.is_spent() || wanted.clone().all(|e| !e.value.contains("${")) {
        return wanted.cloned().collect();
    }
    let mut expander = Expander { entries, environment, budget, mistakes, open: Vec::new(), bytes_left: 0 };
    let mut out = Vec::new();
    for entry in wanted {
        expander.bytes_left = MAX_VALUE_BYTES;
        expander.open.clear();
        expander.open.push(&entry.key);
        let value = expander.expand(&entry.value, entry.value_span);
        out.push(Entry { value: value.trim().to_owned(), ..entry.clone() });
    }
    out
}

struct Expander<'a, 'm> {
    entries: &'a [Entry],
    environment: &'a Environment,
    budget: &'m mut Budget,
    mistakes: &'m mut Mistakes,
    /// Keys whose values are being expanded.
    open: Vec<&'a str>,
    bytes_left: usize,
}

impl<'a> Expander<'a, '_> {
    fn expand(&mut self, value: &'a str, span: Span) -> String {
        let mut out = String::new();
        let mut rest = value;
        while let Some(at) = rest.find("${") {
            let Some(len) = rest[at + 2..].find('}') else { break };
            out.push_str(&rest[..at]);
            let (whole, name) = (&rest[at..at + len + 3], &rest[at + 2..at + 2 + len]);
            out.push_str(&self.resolve(name, span).unwrap_or_else(|| whole.to_owned()));
            rest = &rest[at + len + 3..];
        }
        out.push_str(rest);
        self.budget.bytes = self.budget.bytes.saturating_sub(out.len() as u64);
        if out.len() > self.bytes_left {
            self.mistakes.error(
                span,
                "a value grows too long by ${..}",
                format!("at most {MAX_VALUE_BYTES} bytes"),
            );
            self.bytes_left = 0;
            return String::new();
        }
        self.bytes_left -= out.len();
        out
    }

    fn resolve(&mut self, name: &'a str, span: Span) -> Option<String> {
        if let Some(property) = name.strip_prefix("sys:") {
            let known = self.environment.system.get(property).cloned();
            if known.is_none() {
                let message = format!("the property `{}` is not known and stays as it is", shown(property));
                self.mistakes.warning(span, message, "write the value itself");
            }
            return known;
        }
        if is_for_the_run(name) {
            return None;
        }
        let spelled = |name: &str| self.entries.iter().find(|e| e.key == name);
        let other = || match Key::find_in_xml(name)? {
            Found::Exact(key) | Found::OtherCase(key) => spelled(key.xml),
        };
        let Some(entry) = spelled(name).or_else(other) else {
            let message = format!("${{{}}} names no key of this config and stays as it is", shown(name));
            let keys: HashSet<&str> = self.entries.iter().map(|e| e.key.as_str()).collect();
            let hint = match suggest::nearest(name, keys) {
                Some(key) => format!("did you mean ${{{key}}}?"),
                None if name.starts_with('{') => "${{ matrix.x }} works in YAML workloads".to_owned(),
                None => "define it here or at an outer level".to_owned(),
            };
            self.mistakes.warning(span, message, hint);
            return None;
        };
        if self.open.contains(&entry.key.as_str()) || self.open.len() >= MAX_INTERPOLATION_DEPTH {
            let path = self.open.iter().map(|key| shown(key)).collect::<Vec<_>>().join(" -> ");
            let message = format!("${{..}} runs in a circle: {path} -> {}", shown(name));
            self.mistakes.error(span, message, "write one of the values without ${..}");
            self.budget.steps = self.budget.steps.saturating_sub(Budget::MISTAKE_STEPS);
            return None;
        }
        self.budget.steps = self.budget.steps.saturating_sub(1);
        if self.budget.is_spent() {
            self.mistakes.error(
                span,
                "replacing ${..} takes too long in this file",
                "write values without ${..}",
            );
            return Some(String::new());
        }
        self.open.push(&entry.key);
        let value = self.expand(&entry.value, span);
        self.open.pop();
        Some(value)
    }
}
