//! From the text of `study.yaml` to a [`Spec`] and every mistake with its place. Each entry of each list is read by itself, so
//! that one mistake hides no other.

use cosmark_workload::diagnostics::{Diagnostic, Span, none_is_error, sort};
use cosmark_workload::document::{self, Node, NodeKind};
use serde_json::{Map, Value};

use super::{Spec, check};

/// Lists and maps whose entries are read one by one.
const LISTS: &[&str] = &[
    "systems",
    "factors",
    "skip",
    "published",
    "slas",
    "figures",
    "efficiencies",
    "effects",
    "claims",
    "flaws",
    "notes",
];

/// Reads a study and looks for every mistake in it, sorted by place. The study is there when none of them is an error.
#[must_use]
pub fn read(source: &str) -> (Option<Spec>, Vec<Diagnostic>) {
    let root = match document::read(source) {
        Ok(root) => root,
        Err(mistakes) => return (None, mistakes),
    };
    let mut mistakes = Vec::new();
    let spec = spec_of(&root, &mut mistakes);
    if let Some(spec) = &spec {
        mistakes.extend(check::check(spec, &root));
    }
    sort(&mut mistakes);
    let good = none_is_error(&mistakes);
    (spec.filter(|_| good), mistakes)
}

/// Reads the whole; where that fails, each part by itself, so that all mistakes are found.
fn spec_of(root: &Node, mistakes: &mut Vec<Diagnostic>) -> Option<Spec> {
    let NodeKind::Mapping(pairs) = &root.kind else {
        mistakes
            .push(Diagnostic::error(root.span, "a study is a map").with_hint("begin with name: and title:"));
        return None;
    };
    for pair in pairs {
        look_for_doubles(&pair.value, mistakes);
    }
    doubles_of(root, mistakes);
    if !mistakes.is_empty() {
        return None;
    }
    let whole = serde_json::from_value::<Spec>(json(root));
    let Err(error) = whole else { return whole.ok() };
    let mut trial = skeleton();
    for pair in pairs {
        let parts: Vec<(Value, &Node)> = match (&pair.value.kind, LISTS.contains(&pair.key.as_str())) {
            (NodeKind::Sequence(items), true) => {
                items.iter().map(|item| (Value::Array(vec![json(item)]), item)).collect()
            }
            (NodeKind::Mapping(entries), _) if pair.key == "scales" => entries
                .iter()
                .map(|entry| {
                    let one = Map::from_iter([(entry.key.clone(), json(&entry.value))]);
                    (Value::Object(one), &entry.value)
                })
                .collect(),
            _ => vec![(json(&pair.value), &pair.value)],
        };
        for (value, node) in parts {
            let before = trial.insert(pair.key.clone(), value);
            if let Err(error) = serde_json::from_value::<Spec>(Value::Object(trial.clone())) {
                let text = error.to_string();
                let unknown = text.starts_with(&format!("unknown field `{}`", pair.key));
                let span = if unknown { pair.key_span } else { place_of(&text, node, pair.key_span) };
                mistakes.push(said(&error, span));
            }
            match before {
                Some(before) => trial.insert(pair.key.clone(), before),
                None => trial.remove(&pair.key),
            };
        }
    }
    for needed in ["name", "title", "question", "systems", "factors", "scales"] {
        if !pairs.iter().any(|pair| pair.key == needed) {
            mistakes.push(
                Diagnostic::error(root.span, format!("{needed}: is missing")).with_hint(
                    "docs/guide/studies.md describes the file; `cosmark study new NAME` writes one",
                ),
            );
        }
    }
    if mistakes.is_empty() {
        mistakes.push(said(&error, root.span));
    }
    None
}

/// The least study that can be read: parts are tried in it one by one.
fn skeleton() -> Map<String, Value> {
    let least = serde_json::json!({"name": "", "title": "", "question": "", "systems": [], "factors": [], "scales": {}});
    if let Value::Object(map) = least { map } else { Map::new() }
}

/// Where a mistake is: at the key that it names, if that is in the part; at the part otherwise.
fn place_of(error: &str, part: &Node, key: Span) -> Span {
    let named = error.split('`').nth(1);
    let found = named.and_then(|name| find(part, name));
    found.unwrap_or(if part.span.len == 0 { key } else { Span { start: part.span.start, len: 1 } })
}

fn find(node: &Node, name: &str) -> Option<Span> {
    match &node.kind {
        NodeKind::Mapping(pairs) => pairs
            .iter()
            .find_map(|pair| if pair.key == name { Some(pair.key_span) } else { find(&pair.value, name) }),
        NodeKind::Sequence(items) => items.iter().find_map(|item| find(item, name)),
        NodeKind::Scalar(text) if text == name => Some(node.span),
        NodeKind::Scalar(_) | NodeKind::Null => None,
    }
}

fn said(error: &serde_json::Error, span: Span) -> Diagnostic {
    let text = error.to_string();
    let (message, hint) = match text.split_once(", expected") {
        Some((message, hint)) => (message.to_owned(), Some(format!("expected{hint}"))),
        None => (text, None),
    };
    let hint = hint.unwrap_or_else(|| "`cosmark study schema` prints what may stand where".to_owned());
    Diagnostic::error(span, message).with_hint(hint)
}

fn look_for_doubles(node: &Node, mistakes: &mut Vec<Diagnostic>) {
    doubles_of(node, mistakes);
    match &node.kind {
        NodeKind::Mapping(pairs) => pairs.iter().for_each(|pair| look_for_doubles(&pair.value, mistakes)),
        NodeKind::Sequence(items) => items.iter().for_each(|item| look_for_doubles(item, mistakes)),
        NodeKind::Scalar(_) | NodeKind::Null => {}
    }
}

fn doubles_of(node: &Node, mistakes: &mut Vec<Diagnostic>) {
    let NodeKind::Mapping(pairs) = &node.kind else { return };
    let mut seen = std::collections::BTreeSet::new();
    for pair in pairs {
        if !seen.insert(pair.key.as_str()) {
            let message = format!("{}: stands here twice", pair.key);
            mistakes.push(Diagnostic::error(pair.key_span, message).with_hint("remove one of them"));
        }
    }
}

/// Scalars that look like numbers and switches are such; what wants text takes them back as text.
fn json(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Null => Value::Null,
        NodeKind::Scalar(text) => scalar(text),
        NodeKind::Sequence(items) => Value::Array(items.iter().map(json).collect()),
        NodeKind::Mapping(pairs) => {
            Value::Object(pairs.iter().map(|pair| (pair.key.clone(), json(&pair.value))).collect())
        }
    }
}

fn scalar(text: &str) -> Value {
    let number = text.parse::<serde_json::Number>().ok().filter(|number| number.to_string() == text);
    match (text, number) {
        ("true", _) => Value::Bool(true),
        ("false", _) => Value::Bool(false),
        (_, Some(number)) => Value::Number(number),
        _ => Value::String(text.to_owned()),
    }
}
