//! `matrix:` of a stage, as CI systems spell it: lists of values, the stage is repeated for every combination with
//! `${{ matrix.x }}` replaced; `exclude` drops combinations, `include` extends or adds some.

use std::borrow::Cow;

use crate::assemble::MAX_STAGES;
use crate::diagnostics::suggest;
use crate::diagnostics::{Mistakes, Span, shown};
use crate::yaml::tree::{Node, NodeKind, Pair};

/// Longest value of an axis.
const MAX_VALUE_BYTES: usize = 200;
/// Most that all copies of one stage may weigh together, in bytes of text and 32 for each value.
const MAX_EXPANDED_BYTES: usize = 256 << 20;

/// One combination: axis and value, in the order of the axes.
pub(crate) type Combination = Vec<(String, String)>;

/// The combinations of a matrix, in the order of the file: the last axis moves fastest.
pub(crate) fn combinations(node: &Node, mistakes: &mut Mistakes) -> Option<Vec<Combination>> {
    let NodeKind::Mapping(pairs) = &node.kind else {
        let message = format!("a matrix is a map of axes and their values, not {}", node.what());
        mistakes.error(node.span, message, "write matrix: {workers: [1, 8], size: [4KiB, 1MiB]}");
        return None;
    };
    let mut axes: Vec<(String, Vec<String>)> = Vec::new();
    for pair in pairs.iter().filter(|p| p.key != "include" && p.key != "exclude") {
        axes.push((axis_name(&pair.key, pair.key_span, mistakes)?, axis_values(pair, mistakes)?));
    }
    let count =
        axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.1.len())).filter(|n| *n <= MAX_STAGES);
    if count.is_none() {
        let message = "the matrix has too many combinations";
        mistakes.error(node.span, message, format!("at most {MAX_STAGES} stages in a workload"));
        return None;
    }
    let mut all: Vec<Combination> = if axes.is_empty() { Vec::new() } else { vec![Vec::new()] };
    for (axis, values) in &axes {
        let with =
            |c: &Combination, v: &String| c.iter().cloned().chain([(axis.clone(), v.clone())]).collect();
        all = all.iter().flat_map(|c| values.iter().map(move |v| with(c, v))).collect();
    }
    let names: Vec<&str> = axes.iter().map(|a| a.0.as_str()).collect();
    for rule in rules(pairs, "exclude", mistakes)? {
        for (axis, _) in &rule.0 {
            if !names.contains(&axis.as_str()) {
                let message = format!("exclude names no axis: `{}`", shown(axis));
                mistakes.error(rule.1, message, suggest::hint(axis, names.iter().copied()));
            }
        }
        let before = all.len();
        all.retain(|c| !rule.0.iter().all(|pair| c.contains(pair)));
        if all.len() == before {
            mistakes.warning(rule.1, "this exclude matches no combination", "values are compared as written");
        }
    }
    let original = all.len();
    for rule in rules(pairs, "include", mistakes)? {
        include(&mut all, original, &names, rule.0);
    }
    if all.is_empty() {
        mistakes.error(node.span, "the matrix has no combination", "give at least one axis with one value");
        return None;
    }
    if all.len() > MAX_STAGES {
        mistakes.error(node.span, "the matrix has too many combinations", format!("at most {MAX_STAGES}"));
        return None;
    }
    Some(all)
}

/// Extends every original combination whose axes agree; adds a combination of its own when none does.
fn include(all: &mut Vec<Combination>, original: usize, axes: &[&str], rule: Combination) {
    let mut extended = false;
    for combination in &mut all[..original] {
        let clashes = rule.iter().any(|(axis, value)| {
            axes.contains(&axis.as_str()) && combination.iter().any(|(a, v)| a == axis && v != value)
        });
        if clashes {
            continue;
        }
        for (axis, value) in &rule {
            match combination.iter_mut().find(|(a, _)| a == axis) {
                Some(old) => old.1.clone_from(value),
                None => combination.push((axis.clone(), value.clone())),
            }
        }
        extended = true;
    }
    if !extended {
        all.push(rule);
    }
}

fn axis_name(name: &str, span: Span, mistakes: &mut Mistakes) -> Option<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty()
        && name.len() <= 64
        && name.chars().all(good)
        && !name.starts_with(|c: char| c.is_ascii_digit())
    {
        return Some(name.to_owned());
    }
    let message = format!("`{}` cannot be the name of an axis", shown(name));
    mistakes.error(span, message, "letters, digits, _ and -, a letter first");
    None
}

fn axis_values(pair: &Pair, mistakes: &mut Mistakes) -> Option<Vec<String>> {
    let items = match &pair.value.kind {
        NodeKind::Sequence(items) => &items[..],
        _ => std::slice::from_ref(&pair.value),
    };
    if items.is_empty() {
        let message = format!("the axis `{}` has no values", pair.key);
        mistakes.error(pair.value.span, message, format!("write {}: [1, 2]", pair.key));
        return None;
    }
    items.iter().map(|item| single(item, mistakes)).collect()
}

fn single(node: &Node, mistakes: &mut Mistakes) -> Option<String> {
    if let NodeKind::Scalar(text) = &node.kind {
        if text.len() <= MAX_VALUE_BYTES {
            return Some(text.trim().to_owned());
        }
        mistakes.error(
            node.span,
            "a value of a matrix is too long",
            format!("at most {MAX_VALUE_BYTES} bytes"),
        );
        return None;
    }
    mistakes.error(
        node.span,
        format!("a value of a matrix is a single value, not {}", node.what()),
        "write a number or a word",
    );
    None
}

fn rules(pairs: &[Pair], which: &str, mistakes: &mut Mistakes) -> Option<Vec<(Combination, Span)>> {
    let Some(pair) = pairs.iter().find(|p| p.key == which) else { return Some(Vec::new()) };
    let NodeKind::Sequence(items) = &pair.value.kind else {
        let message = format!("{which} is a list of maps, not {}", pair.value.what());
        mistakes.error(pair.value.span, message, format!("write {which}: [{{workers: 64, size: 1MiB}}]"));
        return None;
    };
    if items.len() > 1000 {
        mistakes.error(pair.value.span, format!("{which} has too many rules"), "at most 1000");
        return None;
    }
    let mut out = Vec::new();
    for item in items {
        let NodeKind::Mapping(pairs) = &item.kind else {
            mistakes.error(item.span, format!("{which} is a list of maps"), "write {axis: value}");
            return None;
        };
        let mut rule = Vec::new();
        for pair in pairs {
            rule.push((axis_name(&pair.key, pair.key_span, mistakes)?, single(&pair.value, mistakes)?));
        }
        out.push((rule, item.span));
    }
    Some(out)
}

/// False, with a mistake, when `count` copies of `stage` would fill the memory.
pub(crate) fn fits(stage: &Node, count: usize, mistakes: &mut Mistakes) -> bool {
    let fits = weight(stage).saturating_mul(count) <= MAX_EXPANDED_BYTES;
    if !fits {
        mistakes.error(
            stage.span,
            "this stage is too large to be repeated so often",
            "make the stage smaller, or its matrix or repeat",
        );
    }
    fits
}

fn weight(node: &Node) -> usize {
    32 + match &node.kind {
        NodeKind::Null => 0,
        NodeKind::Scalar(text) => text.len(),
        NodeKind::Sequence(items) => items.iter().map(weight).sum(),
        NodeKind::Mapping(pairs) => pairs.iter().map(|p| p.key.len() + weight(&p.value)).sum(),
    }
}

/// What stands between `${{` and `}}` when a text means these signs themselves: `${{ '${{' }}` is `${{`.
const LITERAL: &str = "'${{'";

/// The text as it has to be written inside of a stage: what looks like a reference there is one.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains("${{") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("${{", &format!("${{{{ {LITERAL} }}}}")))
}

/// Replaces every `${{ matrix.x }}` in `node`; outside of a matrix (`None`) there is nothing to refer to.
pub(crate) fn substitute(node: &mut Node, values: Option<&Combination>, mistakes: &mut Mistakes) {
    match &mut node.kind {
        NodeKind::Null => {}
        NodeKind::Scalar(text) => {
            if let Some(new) = replaced(text, values, node.span, mistakes) {
                *text = new;
            }
        }
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| substitute(item, values, mistakes)),
        NodeKind::Mapping(pairs) => {
            pairs.iter_mut().for_each(|pair| substitute(&mut pair.value, values, mistakes))
        }
    }
}

/// The text with references replaced; `None` when it has none.
fn replaced(text: &str, values: Option<&Combination>, span: Span, mistakes: &mut Mistakes) -> Option<String> {
    text.find("${{")?;
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, expression)) = next_expression(rest) {
        out.push_str(before);
        let Some((whole, inner)) = expression else { break };
        rest = &rest[before.len() + whole.len()..];
        if inner == LITERAL {
            out.push_str("${{");
            continue;
        }
        let Some(values) = values else {
            outside(text, span, mistakes);
            return None;
        };
        let axis = inner.strip_prefix("matrix.").map(str::trim);
        match axis.and_then(|axis| values.iter().find(|(a, _)| a == axis)) {
            Some((_, value)) => out.push_str(value),
            None => {
                let hint = match axis {
                    Some(axis) => suggest::hint(axis, values.iter().map(|v| v.0.as_str())),
                    None => "write ${{ matrix.NAME }}".to_owned(),
                };
                mistakes.error(span, format!("{} names no axis of the matrix", shown(whole)), hint);
            }
        }
    }
    if values.is_none() && rest.contains("${{") {
        outside(text, span, mistakes);
        return None;
    }
    // An expression that is never closed is text, and what stood before it is out already.
    out.push_str(rest.find("${{").map_or(rest, |at| &rest[at..]));
    Some(out)
}

fn outside(text: &str, span: Span, mistakes: &mut Mistakes) {
    let message = format!("`{}` stands outside of a matrix", shown(text));
    mistakes.error(
        span,
        message,
        format!("add matrix: to this stage, or write ${{{{ {LITERAL} }}}} for the signs"),
    );
}

/// What stands before the next expression, and the expression with what is inside of it, if it is closed.
fn next_expression(text: &str) -> Option<(&str, Option<(&str, &str)>)> {
    let at = text.find("${{")?;
    let expression =
        text[at..].find("}}").map(|len| (&text[at..at + len + 2], text[at + 3..at + len].trim()));
    Some((&text[..at], expression))
}

/// True when the text refers to the matrix, or seems to.
pub(crate) fn refers(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, expression)) = next_expression(rest) {
        match expression {
            Some((whole, LITERAL)) => rest = &rest[before.len() + whole.len()..],
            _ => return true,
        }
    }
    false
}

/// True when some value below `node` has the signs of a reference.
pub(crate) fn has_expressions(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Null => false,
        NodeKind::Scalar(text) => text.contains("${{"),
        NodeKind::Sequence(items) => items.iter().any(has_expressions),
        NodeKind::Mapping(pairs) => pairs.iter().any(|pair| has_expressions(&pair.value)),
    }
}

/// What a combination adds to the name of its stage: `-workers8-size4KiB`.
pub(crate) fn suffix(values: &Combination) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' };
    values.iter().flat_map(|(axis, value)| ["-", axis, value]).flat_map(str::chars).map(clean).collect()
}
