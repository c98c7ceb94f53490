//! `dataset: NAME` in native YAML: the keys of the data set are put beside it, where they are not written already. What is
//! filled in a stage is known to the stages behind it, what earlier runs filled to all of them.

use std::collections::BTreeMap;

use crate::Environment;
use crate::assemble::WORK_TYPES;
use crate::diagnostics::{Mistakes, shown};
use crate::keys::Key;
use crate::model::dataset::{DataSetFacts, is_name};
use crate::xml::work::parse_op_word;
use crate::yaml::fill;
use crate::yaml::tree::{Node, NodeKind, Pair};

const KEY: &str = "dataset";
/// Most text that may be put beside the names of data sets, in bytes.
const MOST_ADDED_BYTES: usize = 64 << 20;

/// The data sets that may be named, and what may still be added for them.
struct Known {
    facts: BTreeMap<String, DataSetFacts>,
    bytes_left: usize,
}

/// Expands every data set that a workload names.
pub(super) fn expand(root: &mut Node, environment: &Environment, mistakes: &mut Mistakes) {
    let NodeKind::Mapping(pairs) = &mut root.kind else { return };
    let mut known = Known { facts: environment.datasets.clone(), bytes_left: MOST_ADDED_BYTES };
    for pair in pairs.iter_mut() {
        match &mut pair.value.kind {
            NodeKind::Sequence(stages) if pair.key == "stages" => {
                for stage in stages {
                    match fill::facts(stage) {
                        Some(facts) => {
                            known.facts.extend(facts.map(|facts| (facts.of.name.clone(), facts)));
                        }
                        None => inside(stage, &mut known, mistakes),
                    }
                }
            }
            _ if pair.key == "defaults" => inside(&mut pair.value, &mut known, mistakes),
            _ => {}
        }
    }
}

fn inside(node: &mut Node, known: &mut Known, mistakes: &mut Mistakes) {
    match &mut node.kind {
        NodeKind::Null | NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| inside(item, known, mistakes)),
        NodeKind::Mapping(pairs) => {
            beside(pairs, known, mistakes);
            let nested = pairs.iter_mut().filter(|pair| !matches!(pair.key.as_str(), "storage" | "auth"));
            nested.for_each(|pair| inside(&mut pair.value, known, mistakes));
        }
    }
}

/// Puts the keys of a data set beside its name.
fn beside(pairs: &mut Vec<Pair>, known: &mut Known, mistakes: &mut Mistakes) {
    let Some(at) = pairs.iter().position(|pair| pair.key == KEY) else { return };
    let (key_span, span) = (pairs[at].key_span, pairs[at].value.span);
    let NodeKind::Scalar(text) = &pairs[at].value.kind else { return };
    // With its numbers behind it, it was expanded before.
    let name = text.trim().to_owned();
    if name.contains(char::is_whitespace) {
        return;
    }
    let unknown;
    let facts = match known.facts.get(&name).filter(|_| is_name(&name)) {
        Some(facts) => facts,
        None => {
            mistakes.error(span, format!("no data set is called `{}`", shown(&name)), hint(&known.facts));
            let Some(facts) = stand_in(&name) else {
                pairs.remove(at);
                return;
            };
            unknown = facts;
            &unknown
        }
    };
    if let Some(why) = &facts.refused {
        mistakes.error(
            span,
            format!("the data set `{name}` cannot be used: {why}"),
            "`cosmark datasets show NAME` tells more",
        );
    }
    let word = |pair: &&Pair| pair.key == "type";
    let kind = pairs.iter().find(word).and_then(|pair| match &pair.value.kind {
        NodeKind::Scalar(text) => Some(text.trim().to_owned()),
        _ => None,
    });
    let special = kind.as_deref().and_then(|word| WORK_TYPES.iter().find(|row| row.word == word)?.special);
    let reads = |key: &str| {
        let kind = special.map(|special| special.0);
        let kind = kind.or_else(|| kind_of(pairs));
        kind.is_none_or(|kind| Key::find_in_yaml(key).is_some_and(|key| key.is_read_by(kind)))
    };
    let missing = |key: &str| !pairs.iter().any(|pair| pair.key == key);
    let new: Vec<_> =
        facts.keys(special.is_some()).into_iter().filter(|(key, _)| missing(key) && reads(key)).collect();
    let bytes = new.iter().map(|(_, value)| value.len()).sum();
    let Some(bytes_left) = known.bytes_left.checked_sub(bytes) else {
        let hint = format!("data sets add at most {} MiB to a workload", MOST_ADDED_BYTES >> 20);
        mistakes.error(span, "too much text, that of data sets included", hint);
        known.bytes_left = 0;
        return;
    };
    known.bytes_left = bytes_left;
    pairs[at].value.kind = NodeKind::Scalar(facts.of.to_string());
    pairs.extend(new.into_iter().map(|(key, value)| Pair {
        key: key.to_owned(),
        key_span,
        value: Node { kind: NodeKind::Scalar(value), span },
    }));
}

/// What to do about a name that no data set has.
fn hint(facts: &BTreeMap<String, DataSetFacts>) -> String {
    let names: Vec<&str> = facts.keys().map(String::as_str).take(10).collect();
    let there = if names.is_empty() {
        "none is known here".to_owned()
    } else {
        format!("known: {}", names.join(" "))
    };
    format!(
        "{there}; a stage with fill: writes one, `cosmark datasets list --archive DIR` shows those there are"
    )
}

/// What stands for a data set that is not known: nothing that it would have given is called missing beside its name.
fn stand_in(name: &str) -> Option<DataSetFacts> {
    let of = format!("{name} r(1,100000) r(1,100000000) c(1)KB").parse().ok()?;
    let names = || (format!("{name}-"), String::new());
    Some(DataSetFacts { of, container_names: names(), object_names: names(), refused: None })
}

fn kind_of(pairs: &[Pair]) -> Option<crate::model::OpKind> {
    let word = pairs.iter().find(|pair| pair.key == "type")?;
    let NodeKind::Scalar(text) = &word.value.kind else { return None };
    parse_op_word(text.trim()).ok()
}
