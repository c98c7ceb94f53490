//! A rule of the behaviour with its picker and its count.

use std::sync::Arc;

use super::pick::Picker;
use crate::behaviour::{Op, Rule};

/// A rule at work.
pub(super) struct Armed<R> {
    pub(super) rule: R,
    pub(super) picker: Picker,
    /// Its place in the behaviour, such as `errors[0]`.
    pub(super) label: Arc<str>,
    /// How often it acted.
    pub(super) fired: u64,
}

/// How often each rule acted.
pub(super) type Fired = Vec<(Arc<str>, u64)>;

/// Arms all rules of one list.
pub(super) fn arm<R: Rule + Clone>(rules: &[R], name: &str, seed: u64) -> Vec<Armed<R>> {
    rules
        .iter()
        .enumerate()
        .map(|(index, rule)| {
            let label = format!("{name}[{index}]");
            let picker = Picker::new(rule.select(), seed, &label);
            Armed { rule: rule.clone(), picker, label: label.into(), fired: 0 }
        })
        .collect()
}

/// The first rule that takes the request; those behind it are not asked.
pub(super) fn first<'a, R>(
    rules: &'a mut [Armed<R>],
    op: Op,
    key: &str,
    at_ns: u64,
) -> Option<&'a mut Armed<R>> {
    let armed = rules.iter_mut().find_map(|armed| armed.picker.takes(op, key, at_ns).then_some(armed))?;
    armed.fired += 1;
    Some(armed)
}

/// Appends how often the rules of a list acted.
pub(super) fn report<R>(rules: &[Armed<R>], out: &mut Fired) {
    out.extend(rules.iter().map(|armed| (armed.label.clone(), armed.fired)));
}
